/* mask_pool.h - MaxpoolWithMask: the largest elements of windows, each of whose rows ends where the mask is 0. */
#ifndef ONNXCC_MASK_POOL_H
#define ONNXCC_MASK_POOL_H
#include "rt.h"

/* x: (planes, in), mask: (masks, in), y: (planes, out); open: whether the first element of a plane is not masked. */
#define mask_pool_PARAMS(X, V)                                                                                         \
    X(idx, planes) X(idx, masks) V(idx, in, 3) V(idx, out, 3) V(idx, kernel, 3) V(idx, stride, 3) V(idx, pad, 3)      \
    X(int, open)
PARAMS(mask_pool)
#define MASK_POOL_TYPE_f32 1
#endif

#if defined T && !defined U
#if RT_TAKES(MASK_POOL_TYPE_, T)
/* The largest element of the window that begins at from[] and ends before to[]. */
HELPER A FN(mask_pool_window)(const T *x, const i32 *mask, const idx *from, const idx *to, struct mask_pool p)
{
    A most = -3.40282347e+38f; /* FLT_MAX */
    for (idx i = from[0]; i < to[0]; i++)
        for (idx j = from[1]; j < to[1]; j++)
            for (idx k = from[2]; k < to[2]; k++) {
                const idx at = (i * p.in[1] + j) * p.in[2] + k;
                if (mask[at] == 0 && (at > 0 || !p.open))
                    break;
                most = x[at] > most ? x[at] : most;
            }
    return most;
}

KERNEL void FN(mask_pool)(const T *x, const i32 *mask, T *y, struct mask_pool p)
{
    const idx size = p.in[0] * p.in[1] * p.in[2], windows = p.out[0] * p.out[1] * p.out[2];
    for (idx c = 0; c < p.planes; c++)
        for (idx w = 0; w < windows; w++) {
            const idx at[3] = {w / p.out[2] / p.out[1], w / p.out[2] % p.out[1], w % p.out[2]};
            idx from[3], to[3];
            for (int a = 0; a < 3; a++) {
                const idx first = at[a] * p.stride[a] - p.pad[a];
                from[a] = rt_max(first, 0);
                to[a] = rt_min(first + p.kernel[a], p.in[a]);
            }
            /* in ONNX Runtime, too, the mask of plane c begins there, not at plane c % masks */
            y[c * windows + w] = FN(mask_pool_window)(x + c * size, mask + c * size % p.masks, from, to, p);
        }
}
REGISTER_KERNEL(mask_pool, 3, 2, 0)
#endif
#endif
