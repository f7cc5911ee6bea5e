/* resize.h - resampling along axes: tables of positions and weights, then copies or weighted sums. */
#ifndef ONNXCC_RESIZE_H
#define ONNXCC_RESIZE_H
#include "rt.h"

/* From run-time scales (scaled) or sizes, computes both, for `count` axes of sizes in[]. policy: 0: sizes unchanged; 1,
 * 2: the smallest or largest scale for all axes. */
#define resize_sizes_PARAMS(X, V) X(int, count) X(int, scaled) X(int, policy) V(idx, in, 16)
PARAMS(resize_sizes)
/* The table of an axis from `in` to `out` elements: `taps` positions and weights per output element. scale: the model's
 * (0: out / in); start, end: the region of interest; a: the cubic coefficient. Run-time ones are in arrays: element
 * `of` of scales, elements `of` and count + of of roi. */
#define resize_table_PARAMS(X, V)                                                                                      \
    X(idx, in) X(idx, out) X(int, taps) X(int, of) X(int, count) X(int, mode) X(int, transform) X(int, nearest) X(int, antialias)               \
    X(int, exclude) X(f32, scale) X(f32, start) X(f32, end) X(f32, a)
PARAMS(resize_table)
/* x: (outer, in0, in1, inner), y: (outer, out0, out1, inner); NULL instead of a table: that axis is unchanged */
#define resize_nearest_PARAMS(X, V) X(idx, outer) X(idx, in0) X(idx, in1) X(idx, out0) X(idx, out1) X(idx, inner)
PARAMS(resize_nearest)
#define resize_PARAMS(X, V)                                                                                            \
    X(idx, outer) X(idx, in0) X(idx, in1) X(idx, out0) X(idx, out1) X(idx, inner) V(int, taps, 2) X(f32, outside)
PARAMS(resize)

enum { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
enum {
    RESIZE_HALF_PIXEL,
    RESIZE_HALF_PIXEL_SYMMETRIC,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS,
    RESIZE_ASYMMETRIC,
    RESIZE_TF_HALF_PIXEL_FOR_NN,
    RESIZE_TF_CROP_AND_RESIZE
};
enum { RESIZE_ROUND_PREFER_FLOOR, RESIZE_ROUND_PREFER_CEIL, RESIZE_FLOOR, RESIZE_CEIL, RESIZE_BEFORE_OR_AFTER };

#define RESIZE_IS_f32 1
#define RESIZE_SUM_i8 f32
#define RESIZE_SUM_u8 f32
#define RESIZE_SUM_i16 f32
#define RESIZE_SUM_u16 f32
#define RESIZE_SUM_i32 f64
#define RESIZE_SUM_u32 f64
#define RESIZE_SUM_i64 f64
#define RESIZE_SUM_u64 f64
#endif

#if defined T && !defined U
#if RT_TAKES(RESIZE_IS_, T)
KERNEL int FN(resize_sizes)(const f32 *restrict scales, const i64 *restrict sizes, i64 *restrict y,
                            f32 *restrict y_scales, struct resize_sizes p)
{
    f32 all = 0;
    for (int i = 0; i < p.count; i++) {
        const f32 scale = p.scaled ? scales[i] : (f32)sizes[i] / (f32)p.in[i];
        if (!(scale > 0) || scale > 0x1p24f)
            return RT_BAD_VALUE;
        all = i == 0 || (p.policy == 1 ? scale < all : scale > all) ? scale : all;
        y_scales[i] = scale;
    }
    for (int i = 0; i < p.count; i++) {
        y_scales[i] = p.policy ? all : y_scales[i];
        y[i] = p.policy   ? (i64)((f64)all * (f64)p.in[i] + 0.5)
               : p.scaled ? (i64)(y_scales[i] * (f32)p.in[i])
                          : sizes[i];
    }
    return RT_OK;
}
REGISTER_FALLIBLE(resize_sizes, 4, 2, 0)
#endif

#if RT_IS_REAL(T)
/* The position of output element o on the input's axis. */
HELPER A FN(resize_origin)(struct resize_table p, idx o, A scale)
{
    const A x = (A)o, in = (A)p.in, length = scale * in, half = (A)0.5;
    switch (p.transform) {
    case RESIZE_HALF_PIXEL_SYMMETRIC: return (x + half + (length - (A)p.out) / 2) / scale - half;
    case RESIZE_PYTORCH_HALF_PIXEL: return p.out > 1 ? (x + half) / scale - half : 0;
    case RESIZE_ALIGN_CORNERS: return p.out > 1 ? x * (in - 1) / (length - 1) : 0;
    case RESIZE_ASYMMETRIC: return x / scale;
    case RESIZE_TF_HALF_PIXEL_FOR_NN: return (x + half) / scale;
    case RESIZE_TF_CROP_AND_RESIZE:
        if (p.out <= 1)
            return half * ((A)p.start + (A)p.end) * (in - 1);
        return (A)p.start * (in - 1) + x * ((A)p.end - (A)p.start) * (in - 1) / (length - 1);
    default: return (x + half) / scale - half;
    }
}

/* x; if it is far outside the axis, a number outside near the end; NaN: 0, as in ONNX Runtime. */
HELPER A FN(resize_near)(A x, idx in)
{
    const A end = (A)in + 1;
    return x != x ? 0 : x < -2 ? -2 : x < end ? x : end;
}

/* The weight of an element at distance d. */
HELPER A FN(resize_weight)(A d, int mode, A a)
{
    d = d < 0 ? -d : d;
    if (mode == RESIZE_LINEAR)
        return d < 1 ? 1 - d : 0;
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Stores the positions of every output element, clamped to the axis (-1: outside, for crop), and their weights.
 * Computed in the type of the sums, since the rounding of coordinates decides ties in nearest. */
KERNEL void FN(resize_table)(const f32 *restrict scales, const f32 *restrict roi, i32 *restrict at, T *restrict weight,
                             struct resize_table p)
{
    p.scale = scales ? scales[p.of] : p.scale;
    p.start = roi ? roi[p.of] : p.start;
    p.end = roi ? roi[p.count + p.of] : p.end;
    const A scale = p.scale > 0 ? (A)p.scale : (A)p.out / (A)p.in, squeeze = p.antialias && scale < 1 ? scale : 1;
    for (idx o = 0; o < p.out; o++) {
        const A x = FN(resize_near)(FN(resize_origin)(p, o, scale), p.in), cut = (A)(i64)x;
        const A left = cut > x ? cut - 1 : cut, ratio = x - left;
        const int outside = p.transform == RESIZE_TF_CROP_AND_RESIZE && (x < 0 || x > (A)(p.in - 1));
        idx first = (idx)left - p.taps / 2 + 1;
        A sum = 0;
        if (p.mode == RESIZE_NEAREST) {
            const int up = p.nearest == RESIZE_CEIL                 ? ratio > 0
                           : p.nearest == RESIZE_FLOOR              ? 0
                           : p.nearest == RESIZE_BEFORE_OR_AFTER    ? scale < 1 && ratio > 0
                           : p.nearest == RESIZE_ROUND_PREFER_FLOOR ? ratio > (A)0.5
                                                                    : ratio >= (A)0.5;
            first = (idx)left + up;
        }
        for (int pass = 0; pass < 2; pass++) /* first the sum of the weights, then the normalised weights */
            for (int k = 0; k < p.taps; k++) {
                const idx i = first + k;
                A w = FN(resize_weight)(((A)(i - (idx)left) - ratio) * squeeze, p.mode, (A)p.a);
                if (p.exclude && (i < 0 || i >= p.in))
                    w = 0;
                sum += pass ? 0 : w;
                if (!pass)
                    continue;
                at[o * p.taps + k] = outside ? -1 : (i32)(i < 0 ? 0 : i >= p.in ? p.in - 1 : i);
                if (weight)
                    ST(weight, o * p.taps + k, (p.exclude || p.antialias) && (sum > 0 || sum < 0) ? w / sum : w);
            }
    }
}
REGISTER_KERNEL(resize_table, 4, 2, 0)
#endif

#if RT_IS_WHOLE(T)
/* y[o][i][j] = x[o][at0[i]][at1[j]], or *beyond where a position is -1 */
KERNEL void FN(resize_nearest)(const void *restrict from, const i32 *restrict at0, const i32 *restrict at1,
                               const void *restrict beyond, void *restrict to, struct resize_nearest p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    const idx row = p.out1 * p.inner;
    const A none = {0}, outside = beyond ? LD((const T *)beyond, 0) : none;
    for (idx o = 0; o < p.outer; o++)
        for (idx i = 0; i < p.out0; i++) {
            const idx k0 = at0 ? at0[i] : i, in = (o * p.in0 + k0) * p.in1, out = (o * p.out0 + i) * row;
            if (at0 && i > 0 && k0 == at0[i - 1]) {
                MOVE(y, out, y, out - row, row);
                continue;
            }
            for (idx j = 0; j < p.out1; j++) {
                const idx k1 = at1 ? at1[j] : j;
                for (idx c = 0; c < p.inner; c++)
                    ST(y, out + j * p.inner + c, k0 < 0 || k1 < 0 ? outside : LD(x, (in + k1) * p.inner + c));
            }
        }
}
REGISTER_KERNEL(resize_nearest, 5, 4, 0)
#endif

#if RT_IS_FLOAT(T) || RT_IS_INT(T)
#if RT_IS_FLOAT(T)
#define W A /* type of weights and sums */
#else
#define W RT_CAT(RESIZE_SUM_, T)
#endif

/* Integers: rounded to even, saturated. */
HELPER void FN(resize_store)(T *y, idx i, W v)
{
#if RT_IS_FLOAT(T)
    ST(y, i, v);
#else
    const A top = (A)(RT_IS_SIGNED(T) ? ((u64)1 << (8 * sizeof(T) - 1)) - 1 : (u64)-1 >> (64 - 8 * sizeof(T)));
    const A low = RT_IS_SIGNED(T) ? (A)(0 - top - 1) : 0;
    if (v >= (W)top) {
        ST(y, i, top);
    } else if (v <= (W)low) {
        ST(y, i, low);
    } else {
        A r = (A)v;
        r = (W)r > v ? (A)(r - 1) : r; /* now the floor */
        const W rest = v - (W)r;
        ST(y, i, rest > (W)0.5 || (rest >= (W)0.5 && (r & 1)) ? (A)(r + 1) : r);
    }
#endif
}

/* y = sum over the taps of both axes of weight * x; `outside` where a position is -1. row: in1 * inner sums along
 * axis 0, for one row of y. */
KERNEL void FN(resize)(const T *restrict x, const i32 *restrict at0, const W *restrict weight0, const i32 *restrict at1,
                       const W *restrict weight1, T *restrict y, W *restrict row, struct resize p)
{
    const idx width = p.in1 * p.inner;
    for (idx o = 0; o < p.outer; o++, x += p.in0 * width)
        for (idx i = 0; i < p.out0; i++, y += p.out1 * p.inner) {
            const int beyond = at0 && at0[i * p.taps[0]] < 0;
            for (idx c = 0; !at0 && c < width; c++)
                row[c] = (W)LD(x, i * width + c);
            for (int k = 0; at0 && !beyond && k < p.taps[0]; k++) {
                const idx from = at0[i * p.taps[0] + k] * width;
                const W w = weight0[i * p.taps[0] + k];
                if (k == 0)
                    for (idx c = 0; c < width; c++)
                        row[c] = w * (W)LD(x, from + c);
                else
                    for (idx c = 0; c < width; c++)
                        row[c] += w * (W)LD(x, from + c);
            }
            for (idx j = 0; j < p.out1; j++) {
                const i32 *const at = at1 + j * p.taps[1];
                const W *const weight = weight1 + j * p.taps[1];
                for (idx c = 0; c < p.inner; c++) {
                    W sum = (W)p.outside;
                    if (!beyond && at[0] >= 0) {
                        sum = weight[0] * row[at[0] * p.inner + c];
                        for (int k = 1; k < p.taps[1]; k++)
                            sum += weight[k] * row[at[k] * p.inner + c];
                    }
                    FN(resize_store)(y, j * p.inner + c, sum);
                }
            }
        }
}
REGISTER_KERNEL(resize, 7, 5, SCRATCH)
#undef W
#endif
#endif
