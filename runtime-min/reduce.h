/* reduce.h - sums, means, extremes ... over any set of axes, and the index of an extreme along one axis. */
#ifndef ONNXCC_REDUCE_H
#define ONNXCC_REDUCE_H
#include "rt.h"
#include "math.h"

/* x: (keep0, axis0, keep1, axis1, keep2, axis2, keep3, axis3, keep4), y: only the keeps. Adjacent axes of one kind are
 * merged and the pattern is right-aligned, so that keep4 (1 if the last axis is reduced) has stride 1. */
#define reduce_PARAMS(X, V) V(idx, keep, 5) V(idx, axis, 4)
#define reduce_sum_PARAMS reduce_PARAMS
#define reduce_mean_PARAMS reduce_PARAMS
#define reduce_l1_PARAMS reduce_PARAMS
#define reduce_l2_PARAMS reduce_PARAMS
#define reduce_sum_square_PARAMS reduce_PARAMS
#define reduce_log_sum_PARAMS reduce_PARAMS
#define reduce_log_sum_exp_PARAMS reduce_PARAMS
#define reduce_prod_PARAMS reduce_PARAMS
#define reduce_max_PARAMS reduce_PARAMS
#define reduce_min_PARAMS reduce_PARAMS
PARAMS(reduce_sum)
PARAMS(reduce_mean)
PARAMS(reduce_l1)
PARAMS(reduce_l2)
PARAMS(reduce_sum_square)
PARAMS(reduce_log_sum)
PARAMS(reduce_log_sum_exp)
PARAMS(reduce_prod)
PARAMS(reduce_max)
PARAMS(reduce_min)

/* x: (outer, axis, inner), y: (outer, inner) of int64; last: of equal elements the last one, else the first. */
#define arg_max_PARAMS(X, V) X(idx, outer) X(idx, axis) X(idx, inner) X(int, last)
#define arg_min_PARAMS arg_max_PARAMS
PARAMS(arg_max)
PARAMS(arg_min)

enum {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_SUM_SQUARE,
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP,
    REDUCE_PROD,
    REDUCE_MAX,
    REDUCE_MIN
};
#define REDUCE_TILE 32  /* adjacent outputs computed together */
#define REDUCE_LANES 16 /* partial results of a contiguous run */
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_IS_INT(T) || RT_IS_BOOL(T)
#if RT_IS_FLOAT(T)
#define R A
#elif RT_IS_SIGNED(T)
#define R i64
#else
#define R u64
#endif

/* The result over no elements. */
HELPER R FN(reduce_none)(int how)
{
    if (how == REDUCE_PROD)
        return 1;
    if (how != REDUCE_MAX && how != REDUCE_MIN)
        return 0;
#if RT_IS_FLOAT(T)
    return how == REDUCE_MAX ? (R)-RT_INF : (R)RT_INF;
#elif RT_IS_BOOL(T)
    return how == REDUCE_MIN;
#elif RT_IS_SIGNED(T)
    return how == REDUCE_MAX ? -(R)(((u64)1 << (8 * sizeof(T) - 1)) - 1) - 1 : (R)(((u64)1 << (8 * sizeof(T) - 1)) - 1);
#else
    return how == REDUCE_MAX ? 0 : (u64)-1 >> (64 - 8 * sizeof(T));
#endif
}

/* The contribution of one element to the result. */
HELPER R FN(reduce_map)(A v, A shift, int how)
{
#if RT_IS_FLOAT(T)
    if (how == REDUCE_LOG_SUM_EXP)
        return M(exp)(v - shift);
    if (how == REDUCE_L1)
        return v < 0 ? -v : v;
    return how == REDUCE_L2 || how == REDUCE_SUM_SQUARE ? v * v : v;
#else
    const u64 w = (u64)v;
    (void)shift;
#if RT_IS_SIGNED(T)
    if (how == REDUCE_L1)
        return (R)(w >> 63 ? 0 - w : w);
#endif
    return (R)(how == REDUCE_L2 || how == REDUCE_SUM_SQUARE ? w * w : w);
#endif
}

HELPER int FN(reduce_nan)(R v)
{
#if RT_IS_FLOAT(T)
    return v != v;
#else
    (void)v;
    return 0;
#endif
}

/* Combines two partial results. A NaN is kept. */
HELPER R FN(reduce_join)(R a, R b, int how)
{
    if (how == REDUCE_MAX)
        return b > a || FN(reduce_nan)(b) ? b : a;
    if (how == REDUCE_MIN)
        return b < a || FN(reduce_nan)(b) ? b : a;
#if RT_IS_FLOAT(T)
    return how == REDUCE_PROD ? a * b : a + b;
#else
    return (R)(how == REDUCE_PROD ? (u64)a * (u64)b : (u64)a + (u64)b);
#endif
}

/* Reduces up to 1024 contiguous elements, in 16 lanes that are combined pairwise: the same bits on every processor. */
HELPER R FN(reduce_run)(const T *x, idx at, idx n, A shift, int how)
{
    R lane[REDUCE_LANES];
    idx i = 0;
    if (n < REDUCE_LANES) {
        R r = FN(reduce_none)(how);
        for (; i < n; i++)
            r = FN(reduce_join)(r, FN(reduce_map)(LD(x, at + i), shift, how), how);
        return r;
    }
    for (int j = 0; j < REDUCE_LANES; j++)
        lane[j] = FN(reduce_none)(how);
    for (; i + REDUCE_LANES <= n; i += REDUCE_LANES)
        for (int j = 0; j < REDUCE_LANES; j++)
            lane[j] = FN(reduce_join)(lane[j], FN(reduce_map)(LD(x, at + i + j), shift, how), how);
    for (int j = 0; i < n; i++, j++)
        lane[j] = FN(reduce_join)(lane[j], FN(reduce_map)(LD(x, at + i), shift, how), how);
    for (int w = REDUCE_LANES / 2; w; w /= 2)
        for (int j = 0; j < w; j++)
            lane[j] = FN(reduce_join)(lane[j], lane[j + w], how);
    return lane[0];
}

/* sum += v; for floats err accumulates the rounding error, so that long sums are exact up to the last bit. */
HELPER void FN(reduce_add)(R *sum, R *err, R v, int how)
{
    const R old = *sum;
    *sum = FN(reduce_join)(old, v, how);
#if RT_IS_FLOAT(T)
    if (how < REDUCE_PROD) {
        const R back = *sum - old;
        *err += (old - (*sum - back)) + (v - back);
    }
#else
    (void)err;
#endif
}

/* Reduces `width` adjacent outputs, whose first elements are at `at`; step: strides of the four axes. */
HELPER void FN(reduce_fold)(const T *x, idx at, idx width, const idx *axis, const idx *step, const A *shift, R *sum,
                            int how)
{
    R err[REDUCE_TILE], part[REDUCE_TILE];
    for (idx j = 0; j < width; j++) {
        sum[j] = FN(reduce_none)(how);
        err[j] = 0;
    }
    for (idx a = 0; a < axis[0]; a++)
        for (idx b = 0; b < axis[1]; b++)
            for (idx c = 0; c < axis[2]; c++)
                for (idx d = 0, n; d < axis[3]; d += n) {
                    const idx from = at + a * step[0] + b * step[1] + c * step[2] + d * step[3];
                    if (step[3] == 1) {
                        n = axis[3] - d < 1024 ? axis[3] - d : 1024;
                        FN(reduce_add)(sum, err, FN(reduce_run)(x, from, n, shift[0], how), how);
                        continue;
                    }
                    n = axis[3] - d < 128 ? axis[3] - d : 128;
                    for (idx j = 0; j < width; j++)
                        part[j] = FN(reduce_none)(how);
                    for (idx i = 0; i < n; i++)
                        for (idx j = 0; j < width; j++)
                            part[j] = FN(reduce_join)(
                                part[j], FN(reduce_map)(LD(x, from + i * step[3] + j), shift[j], how), how);
                    for (idx j = 0; j < width; j++)
                        FN(reduce_add)(&sum[j], &err[j], part[j], how);
                }
#if RT_IS_FLOAT(T)
    for (idx j = 0; j < width; j++) /* after an overflow err is infinite or NaN */
        sum[j] = err[j] - err[j] == 0 ? sum[j] + err[j] : sum[j];
#endif
}

#if !RT_IS_FLOAT(T)
/* The root of the sum of squares of an output whose first element is at `at`; exact: the sum modulo 2^64. */
HELPER A FN(reduce_norm)(const T *x, idx at, const idx *axis, const idx *step, R exact)
{
    f64 sum = 0;
    for (idx a = 0; a < axis[0]; a++)
        for (idx b = 0; b < axis[1]; b++)
            for (idx c = 0; c < axis[2]; c++)
                for (idx d = 0; d < axis[3]; d++) {
                    const f64 v = (f64)LD(x, at + a * step[0] + b * step[1] + c * step[2] + d * step[3]);
                    sum += v * v;
                }
    return RT_CAT3(to_, A, f64)(math_sqrt_f64(sum < 0x1p62 ? (f64)exact : sum));
}
#endif

/* The same, with the results stored from y[to] on. */
HELPER void FN(reduce_tile)(const T *x, T *y, idx at, idx to, idx width, const idx *axis, const idx *step, int how)
{
    A shift[REDUCE_TILE];
    R sum[REDUCE_TILE];
    const R count = (R)(axis[0] * axis[1] * axis[2] * axis[3]);
    for (idx j = 0; j < width; j++)
        shift[j] = 0;
#if RT_IS_FLOAT(T)
    if (how == REDUCE_LOG_SUM_EXP) {
        FN(reduce_fold)(x, at, width, axis, step, shift, sum, REDUCE_MAX);
        for (idx j = 0; j < width; j++)
            shift[j] = sum[j] - sum[j] == 0 ? sum[j] : 0;
    }
#endif
    FN(reduce_fold)(x, at, width, axis, step, shift, sum, how);
    for (idx j = 0; j < width; j++) {
        R r = sum[j];
#if RT_IS_FLOAT(T)
        if (how == REDUCE_MEAN)
            r = r / count;
        else if (how == REDUCE_L2)
            r = M(sqrt)(r);
        else if (how == REDUCE_LOG_SUM)
            r = M(log)(r);
        else if (how == REDUCE_LOG_SUM_EXP)
            r = M(log)(r) + shift[j];
#else
        if (how == REDUCE_MEAN)
            r = count ? r / count : 0;
        else if (how == REDUCE_L2)
            r = (R)FN(reduce_norm)(x, at + j, axis, step, r);
#endif
        ST(y, to + j, (A)r);
    }
}

/* All outputs: loops over the kept axes, in tiles of adjacent ones along the last. */
HELPER void FN(reduce)(const T *x, T *y, const idx *keep, const idx *axis, int how)
{
    idx step[4], next[4], to = 0; /* strides of axis and keep */
    step[3] = keep[4];
    for (int i = 3; i >= 0; i--) {
        next[i] = axis[i] * step[i];
        if (i > 0)
            step[i - 1] = keep[i] * next[i];
    }
    for (idx a = 0; a < keep[0]; a++)
        for (idx b = 0; b < keep[1]; b++)
            for (idx c = 0; c < keep[2]; c++)
                for (idx d = 0; d < keep[3]; d++) {
                    const idx at = a * next[0] + b * next[1] + c * next[2] + d * next[3];
                    idx j = 0;
                    for (; j + REDUCE_TILE <= keep[4]; j += REDUCE_TILE)
                        FN(reduce_tile)(x, y, at + j, to + j, REDUCE_TILE, axis, step, how);
                    if (j < keep[4])
                        FN(reduce_tile)(x, y, at + j, to + j, keep[4] - j, axis, step, how);
                    to += keep[4];
                }
}

#define REDUCE_KERNEL(k, how)                                                                                          \
    KERNEL void FN(k)(const T *restrict x, T *restrict y, struct k p) { FN(reduce)(x, y, p.keep, p.axis, how); } \
    REGISTER_KERNEL(k, 2, 1, 0)
#define REDUCE_EXTREMES_i8 1
#define REDUCE_EXTREMES_u8 1
#if !RT_IS_INT(T) || RT_IS_WIDE(T) || RT_TAKES(REDUCE_EXTREMES_, T)
REDUCE_KERNEL(reduce_max, REDUCE_MAX)
REDUCE_KERNEL(reduce_min, REDUCE_MIN)
#endif
#if RT_IS_FLOAT(T) || RT_IS_WIDE(T)
REDUCE_KERNEL(reduce_sum, REDUCE_SUM)
REDUCE_KERNEL(reduce_mean, REDUCE_MEAN)
REDUCE_KERNEL(reduce_l1, REDUCE_L1)
REDUCE_KERNEL(reduce_l2, REDUCE_L2)
REDUCE_KERNEL(reduce_sum_square, REDUCE_SUM_SQUARE)
REDUCE_KERNEL(reduce_prod, REDUCE_PROD)
#endif
#if RT_IS_FLOAT(T)
REDUCE_KERNEL(reduce_log_sum, REDUCE_LOG_SUM)
/* log sum exp(x), computed relative to the largest x, which avoids overflow. */
REDUCE_KERNEL(reduce_log_sum_exp, REDUCE_LOG_SUM_EXP)
#endif
#undef REDUCE_KERNEL

#if !RT_IS_BOOL(T)
/* The index of the largest (min: smallest) element along the axis; the first NaN, if any, as in numpy. */
HELPER void FN(arg_extreme)(const T *x, i64 *y, idx outer, idx axis, idx inner, int last, int min)
{
    for (idx o = 0; o < outer; o++)
        for (idx t = 0; t < inner; t += REDUCE_TILE) {
            const idx at = o * axis * inner + t, w = inner - t < REDUCE_TILE ? inner - t : REDUCE_TILE;
            A top[REDUCE_TILE];
            i64 *const where = y + o * inner + t;
            for (idx j = 0; j < w; j++) {
                top[j] = axis ? LD(x, at + j) : 0;
                where[j] = 0;
            }
            for (idx k = 1; k < axis; k++)
                for (idx j = 0; j < w; j++) {
                    const A v = LD(x, at + k * inner + j);
                    const int more = (min ? v < top[j] : v > top[j]) || (last && v == top[j]) ||
                                     (FN(reduce_nan)(v) && (last || !FN(reduce_nan)(top[j])));
                    where[j] = more ? (i64)k : where[j];
                    top[j] = more ? v : top[j];
                }
        }
}

KERNEL void FN(arg_max)(const T *restrict x, i64 *restrict y, struct arg_max p)
{
    FN(arg_extreme)(x, y, p.outer, p.axis, p.inner, p.last, 0);
}
REGISTER_KERNEL(arg_max, 2, 1, 0)

KERNEL void FN(arg_min)(const T *restrict x, i64 *restrict y, struct arg_min p)
{
    FN(arg_extreme)(x, y, p.outer, p.axis, p.inner, p.last, 1);
}
REGISTER_KERNEL(arg_min, 2, 1, 0)
#endif
#undef R
#endif
#endif
