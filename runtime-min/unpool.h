/* unpool.h - MaxUnpool: elements stored at MaxPool's indices, zeros elsewhere. */
#ifndef ONNXCC_UNPOOL_H
#define ONNXCC_UNPOOL_H
#include "rt.h"

/* x, at: (count), y: (planes, out[0], out[1], out[2]); `at`: indices in (planes, size[0], size[1], size[2]), a part of
 * y from its first element on */
#define max_unpool_PARAMS(X, V) X(idx, count) X(idx, planes) V(idx, size, 3) V(idx, out, 3)
PARAMS(max_unpool)
#define UNPOOL_TYPE_u16 1
#define UNPOOL_TYPE_u32 1
#define UNPOOL_TYPE_u64 1
#endif

#if defined T && !defined U
#if RT_TAKES(UNPOOL_TYPE_, T)
KERNEL int FN(max_unpool)(const void *from, const i64 *at, void *to, struct max_unpool p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    const idx plane = p.size[0] * p.size[1] * p.size[2];
    memset(y, 0, (size_t)(p.planes * p.out[0] * p.out[1] * p.out[2]) * sizeof *y);
    for (idx i = 0; i < p.count; i++) {
        if (at[i] < 0 || at[i] >= p.planes * plane)
            return RT_BAD_INDEX;
        const idx k = (idx)at[i], w = k % p.size[2], h = k / p.size[2] % p.size[1];
        const idx d = k / (p.size[2] * p.size[1]) % p.size[0];
        if (d >= p.out[0] || h >= p.out[1] || w >= p.out[2])
            return RT_BAD_INDEX;
        y[((k / plane * p.out[0] + d) * p.out[1] + h) * p.out[2] + w] = x[i];
    }
    return RT_OK;
}
REGISTER_FALLIBLE(max_unpool, 3, 2, 0)
#endif
#endif
