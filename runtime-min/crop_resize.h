/* crop_resize.h - CropAndResize: regions of images, resized. */
#ifndef ONNXCC_CROP_RESIZE_H
#define ONNXCC_CROP_RESIZE_H
#include "rt.h"
#include "math.h"

/* x: (batch, channels, in[0], in[1]), rois: (rois, y1 x1 y2 x2), from 0 to 1; of: the image of each; y: (rois,
 * channels, out[0], out[1]); outside: the value outside of the image */
#define crop_resize_PARAMS(X, V)                                                                                       \
    X(idx, batch) X(idx, channels) V(idx, in, 2) X(idx, rois) V(idx, out, 2) X(f64, outside) X(int, nearest)
PARAMS(crop_resize)

#define CROP_RESIZE_NOT_bf16 1
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) && !RT_TAKES(CROP_RESIZE_NOT_, T)
/* The elements around element i of n, where these span the part from low to high of an axis of `size`, and the weight
 * of the second. 0: outside. */
HELPER int FN(crop_place)(A low, A high, idx i, idx n, idx size, int nearest, idx *at, A *weight)
{
    const A last = (A)(size - 1), step = n > 1 ? (high - low) * last / (A)(n - 1) : 0;
    const A v = n > 1 ? low * last + (A)i * step : (low + high) * last / 2;
    if (!(v >= 0 && v <= last))
        return 0;
    at[0] = (idx)(nearest ? M(floor)(v + (A)0.5) : v);
    at[1] = at[0] + 1 < size ? at[0] + 1 : at[0];
    *weight = nearest || at[1] == at[0] ? 0 : v - (A)at[0];
    return 1;
}

KERNEL int FN(crop_resize)(const T *x, const T *rois, const i32 *of, T *y, struct crop_resize p)
{
    for (idx r = 0; r < p.rois; r++) {
        if (of[r] < 0 || of[r] >= p.batch)
            return RT_BAD_INDEX;
        for (idx i = 0; i < p.out[0]; i++)
            for (idx j = 0; j < p.out[1]; j++) {
                idx h[2] = {0, 0}, w[2] = {0, 0};
                A v = 0, u = 0;
                const int inside =
                    FN(crop_place)(LD(rois, r * 4), LD(rois, r * 4 + 2), i, p.out[0], p.in[0], p.nearest, h, &v) &
                    FN(crop_place)(LD(rois, r * 4 + 1), LD(rois, r * 4 + 3), j, p.out[1], p.in[1], p.nearest, w, &u);
                for (idx c = 0; c < p.channels; c++) {
                    const idx at = (of[r] * p.channels + c) * p.in[0] * p.in[1];
                    A value = (A)p.outside;
                    if (inside) {
                        const A a = LD(x, at + h[0] * p.in[1] + w[0]), b = LD(x, at + h[0] * p.in[1] + w[1]);
                        const A d = LD(x, at + h[1] * p.in[1] + w[0]), e = LD(x, at + h[1] * p.in[1] + w[1]);
                        const A top = a + (b - a) * u, low = d + (e - d) * u;
                        value = top + (low - top) * v;
                    }
                    ST(y, ((r * p.channels + c) * p.out[0] + i) * p.out[1] + j, value);
                }
            }
    }
    return RT_OK;
}
REGISTER_FALLIBLE(crop_resize, 4, 3, 0)
#endif
#endif
