/* grid.h - GridSample: an image sampled at the positions of a grid; AffineGrid: a grid. */
#ifndef ONNXCC_GRID_H
#define ONNXCC_GRID_H
#include "rt.h"
#include "math.h"

/* x: (batch, channels, in[0], in[1], in[2], part), grid: (batch, out[0], out[1], out[2], axes), y: (batch, channels,
 * out[0], out[1], out[2], part). The grid has coordinates from -1 to 1, of the last axis first; align: these are the
 * centres of the outer elements, else their edges. part: the numbers per element, 2 for complex ones. */
#define GRID_IMAGE(X, V)                                                                                               \
    X(idx, batch) X(idx, channels) V(idx, in, 3) V(idx, out, 3) X(int, axes) X(int, padding) X(int, align)
#define grid_nearest_PARAMS(X, V) GRID_IMAGE(X, V)
/* taps: along each axis, 2 (linear) or 4 (cubic) */
#define grid_sample_PARAMS(X, V) GRID_IMAGE(X, V) X(int, taps) X(int, part)
/* theta: (batch, axes, axes + 1), grid: (batch, size[3 - axes], ... size[2], axes) */
#define affine_grid_PARAMS(X, V) X(idx, batch) V(idx, size, 3) X(int, axes) X(int, align)
PARAMS(grid_nearest)
PARAMS(grid_sample)
PARAMS(affine_grid)

enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

/* the type of an element's weighted sum */
#define GRID_SUM_f16 f32
#define GRID_SUM_bf16 f32
#define GRID_SUM_f32 f32
#define GRID_SUM_f64 f64
#define GRID_SUM_i8 f32
#define GRID_SUM_i16 f32
#define GRID_SUM_i32 f64
#define GRID_SUM_i64 f64
#define GRID_SUM_u8 f32
#define GRID_SUM_u16 f32
#define GRID_SUM_u32 f64
#define GRID_SUM_u64 f64
#define GRID_SUM_b8 f32
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
/* The i-th of n coordinates from -1 to 1. */
HELPER A FN(affine_grid_place)(idx i, idx n, int align)
{
    return align ? (n > 1 ? (A)(2 * i - (n - 1)) / (A)(n - 1) : -1) : (A)(2 * i + 1 - n) / (A)n;
}

/* y = theta (w, h, d, 1) */
KERNEL void FN(affine_grid)(const T *theta, T *y, struct affine_grid p)
{
    idx to = 0;
    for (idx n = 0; n < p.batch; n++)
        for (idx d = 0; d < p.size[0]; d++)
            for (idx h = 0; h < p.size[1]; h++)
                for (idx w = 0; w < p.size[2]; w++)
                    for (int r = 0; r < p.axes; r++, to++) {
                        const idx row = (n * p.axes + r) * (p.axes + 1);
                        A v = LD(theta, row + p.axes) + LD(theta, row) * FN(affine_grid_place)(w, p.size[2], p.align);
                        v += p.axes > 1 ? LD(theta, row + 1) * FN(affine_grid_place)(h, p.size[1], p.align) : 0;
                        v += p.axes > 2 ? LD(theta, row + 2) * FN(affine_grid_place)(d, p.size[0], p.align) : 0;
                        ST(y, to, v);
                    }
}
REGISTER_KERNEL(affine_grid, 2, 1, 0)
#endif
#endif

#if defined T && defined U
#if RT_IS_FLOAT(U) && (RT_IS_WHOLE(T) || RT_IS_FLOAT(T) || RT_IS_INT(T) || RT_IS_BOOL(T))
#define MU(f) RT_CAT3(math_##f, , AU)

/* x reflected at low and high into their range */
HELPER AU FN2(grid_reflect)(AU x, AU low, AU high)
{
    const AU range = high - low, d = x < low ? low - x : x - high;
    if (!(d > 0))
        return x;
    if (!(range > 0))
        return low;
    const AU n = MU(floor)(d / range), r = d - n * range;
    return (x < low) == (n == 2 * MU(floor)(n / 2)) ? low + r : high - r;
}

/* Coordinate g as a position on an axis of n elements, with padding applied; for cubic, padding is applied to the
 * elements read. */
HELPER AU FN2(grid_place)(AU g, idx n, int padding, int align, int taps)
{
    const AU low = align ? 0 : (AU)-0.5, high = (AU)(n - 1) - low;
    AU x = align ? (g + 1) / 2 * (AU)(n - 1) : ((g + 1) * (AU)n - 1) / 2;
    if (taps == 1)
        x = MU(round)(x);
    if (padding == GRID_BORDER && taps < 4)
        return x<0 ? 0 : x>(AU)(n - 1) ? (AU)(n - 1) : x;
    return padding == GRID_REFLECTION ? FN2(grid_reflect)(x, low, high) : x;
}

/* The element that padding gives for position x on an axis of n; -1: a zero. */
HELPER idx FN2(grid_element)(AU x, idx n, int padding, int align)
{
    const AU low = align ? 0 : (AU)-0.5;
    i64 i = RT_CAT(to_i64_, AU)(padding == GRID_REFLECTION ? FN2(grid_reflect)(x, low, (AU)(n - 1) - low) : x);
    if (padding != GRID_ZEROS)
        i = i >= n ? n - 1 : i < 0 ? 0 : i;
    return i >= 0 && i < n ? (idx)i : -1;
}

#if RT_IS_WHOLE(T)
KERNEL void FN2(grid_nearest)(const void *from, const U *grid, void *to, struct grid_nearest p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    T zero[1];
    memset(zero, 0, sizeof zero);
    const idx size = p.in[0] * p.in[1] * p.in[2], points = p.out[0] * p.out[1] * p.out[2];
    for (idx n = 0; n < p.batch; n++)
        for (idx i = 0; i < points; i++) {
            idx at = 0;
            for (int a = 3 - p.axes; a < 3; a++) {
                const AU place =
                    FN2(grid_place)(LDU(grid, (n * points + i) * p.axes + 2 - a), p.in[a], p.padding, p.align, 1);
                const idx k = FN2(grid_element)(place, p.in[a], p.padding, p.align);
                at = at < 0 || k < 0 ? -1 : at * p.in[a] + k;
            }
            for (idx c = 0; c < p.channels; c++)
                ST(y, (n * p.channels + c) * points + i,
                   at < 0 ? LD(zero, 0) : LD(x, (n * p.channels + c) * size + at));
        }
}
REGISTER_KERNEL2(grid_nearest, 3, 2, 0)
#endif

#if RT_IS_FLOAT(T) || RT_IS_INT(T) || RT_IS_BOOL(T)
#define S RT_CAT(GRID_SUM_, T)
#if RT_IS_FLOAT(T)
#define RESULT(v) v
#else
#define RESULT(v) RT_CAT4(cast, , T, S)(v)
#endif

/* The weights of the two (four) elements around a position at distance f after the first (second) of them. */
HELPER void FN2(grid_weights)(AU f, int taps, S *w)
{
    const AU a = (AU)-0.75, g = 1 - f;
    if (taps == 2) {
        w[0] = (S)g;
        w[1] = (S)f;
    } else {
        w[0] = (S)(((a * (f + 1) - 5 * a) * (f + 1) + 8 * a) * (f + 1) - 4 * a);
        w[1] = (S)(((a + 2) * f - (a + 3)) * f * f + 1);
        w[2] = (S)(((a + 2) * g - (a + 3)) * g * g + 1);
        w[3] = (S)(((a * (g + 1) - 5 * a) * (g + 1) + 8 * a) * (g + 1) - 4 * a);
    }
}

/* An output element: the weighted sum of those around the position; at: their indices along each axis, -1: a zero. */
HELPER S FN2(grid_sum)(const T *x, idx base, idx at[3][4], S weight[3][4], struct grid_sample p)
{
    S sum = 0;
    for (int a = 0; a < (p.axes > 2 ? p.taps : 1); a++)
        for (int b = 0; b < (p.axes > 1 ? p.taps : 1); b++) {
            S row = 0;
            for (int c = 0; c < p.taps; c++)
                if (at[0][a] >= 0 && at[1][b] >= 0 && at[2][c] >= 0)
                    row +=
                        weight[2][c] * (S)LD(x, base + ((at[0][a] * p.in[1] + at[1][b]) * p.in[2] + at[2][c]) * p.part);
            sum += weight[0][a] * weight[1][b] * row;
        }
    return sum;
}

KERNEL void FN2(grid_sample)(const void *from, const U *grid, void *to, struct grid_sample p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    const idx size = p.in[0] * p.in[1] * p.in[2], points = p.out[0] * p.out[1] * p.out[2];
    idx at[3][4] = {{0}};
    S weight[3][4] = {{1}, {1}, {1}};
    for (idx n = 0; n < p.batch; n++)
        for (idx i = 0; i < points; i++) {
            for (int a = 3 - p.axes; a < 3; a++) {
                const AU place =
                    FN2(grid_place)(LDU(grid, (n * points + i) * p.axes + 2 - a), p.in[a], p.padding, p.align, p.taps);
                const AU first = MU(floor)(place);
                FN2(grid_weights)(place - first, p.taps, weight[a]);
                for (int k = 0; k < p.taps; k++)
                    at[a][k] = FN2(grid_element)(first + (AU)(k + 1 - p.taps / 2), p.in[a], p.padding, p.align);
            }
            for (idx c = 0; c < p.channels; c++)
                for (int e = 0; e < p.part; e++) {
                    const S sum = FN2(grid_sum)(x, (n * p.channels + c) * size * p.part + e, at, weight, p);
                    ST(y, ((n * p.channels + c) * points + i) * p.part + e, RESULT(sum));
                }
        }
}
REGISTER_KERNEL2(grid_sample, 3, 2, 0)
#undef RESULT
#undef S
#endif
#undef MU
#endif
#endif
