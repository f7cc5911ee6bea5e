/* softmax.h - Softmax, LogSoftmax and Hardmax along one axis. */
#ifndef ONNXCC_SOFTMAX_H
#define ONNXCC_SOFTMAX_H
#include "rt.h"
#include "math.h"

/* x, y: (outer, axis, inner), over the middle one; x and y may be the same */
#define softmax_PARAMS(X, V) X(idx, outer) X(idx, axis) X(idx, inner)
#define log_softmax_PARAMS softmax_PARAMS
#define hardmax_PARAMS softmax_PARAMS
PARAMS(softmax)
PARAMS(log_softmax)
PARAMS(hardmax)

#define SOFTMAX_LANES 16
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
/* Does the second pass store exp(x - top), for the third to scale? Types that would round it compute it twice. */
#define SOFTMAX_KEEPS (sizeof(T) == sizeof(A))

/* One contiguous row of n >= 16 elements, in blocks that are buffered in an array: x and y may be the same. */
HELPER void FN(softmax_row)(const T *x, T *y, idx n, int log)
{
    A v[SOFTMAX_LANES], top[SOFTMAX_LANES], sum[SOFTMAX_LANES];
    idx i;
    for (int j = 0; j < SOFTMAX_LANES; j++)
        top[j] = LD(x, j);
    for (i = SOFTMAX_LANES; i < n; i += SOFTMAX_LANES) {
        const idx at = i + SOFTMAX_LANES <= n ? i : n - SOFTMAX_LANES; /* the last block may overlap the one before */
        for (int j = 0; j < SOFTMAX_LANES; j++)
            top[j] = LD(x, at + j) > top[j] ? LD(x, at + j) : top[j];
    }
    for (int w = SOFTMAX_LANES / 2; w; w /= 2)
        for (int j = 0; j < w; j++)
            top[j] = top[j + w] > top[j] ? top[j + w] : top[j];

    for (int j = 0; j < SOFTMAX_LANES; j++)
        sum[j] = 0;
    for (i = 0; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES) {
        for (int j = 0; j < SOFTMAX_LANES; j++)
            v[j] = M(exp)(LD(x, i + j) - top[0]);
        for (int j = 0; j < SOFTMAX_LANES; j++)
            sum[j] += v[j];
        if (SOFTMAX_KEEPS && !log)
            for (int j = 0; j < SOFTMAX_LANES; j++)
                ST(y, i + j, v[j]);
    }
    for (int j = 0; i < n; i++, j++) {
        const A e = M(exp)(LD(x, i) - top[0]);
        sum[j] += e;
        if (SOFTMAX_KEEPS && !log)
            ST(y, i, e);
    }
    for (int w = SOFTMAX_LANES / 2; w; w /= 2)
        for (int j = 0; j < w; j++)
            sum[j] += sum[j + w];

    const A scale = 1 / sum[0], shift = log ? M(log)(sum[0]) : 0;
    for (i = 0; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES) {
        for (int j = 0; j < SOFTMAX_LANES; j++)
            v[j] = log             ? LD(x, i + j) - top[0] - shift
                   : SOFTMAX_KEEPS ? LD(y, i + j) * scale
                                   : M(exp)(LD(x, i + j) - top[0]) * scale;
        for (int j = 0; j < SOFTMAX_LANES; j++)
            ST(y, i + j, v[j]);
    }
    for (; i < n; i++)
        ST(y, i,
           log             ? LD(x, i) - top[0] - shift
           : SOFTMAX_KEEPS ? LD(y, i) * scale
                           : M(exp)(LD(x, i) - top[0]) * scale);
}

/* `width` adjacent columns of n elements with stride `step`: the inner loops are over the columns. */
HELPER void FN(softmax_columns)(const T *x, T *y, idx n, idx step, idx width, int log)
{
    A v[SOFTMAX_LANES], top[SOFTMAX_LANES], sum[SOFTMAX_LANES];
    for (idx j = 0; j < width; j++) {
        top[j] = LD(x, j);
        sum[j] = 0;
    }
    for (idx k = 1; k < n; k++)
        for (idx j = 0; j < width; j++)
            top[j] = LD(x, k * step + j) > top[j] ? LD(x, k * step + j) : top[j];
    for (idx k = 0; k < n; k++) {
        for (idx j = 0; j < width; j++)
            v[j] = M(exp)(LD(x, k * step + j) - top[j]);
        for (idx j = 0; j < width; j++)
            sum[j] += v[j];
        if (SOFTMAX_KEEPS && !log)
            for (idx j = 0; j < width; j++)
                ST(y, k * step + j, v[j]);
    }
    for (idx j = 0; j < width; j++)
        sum[j] = log ? M(log)(sum[j]) : 1 / sum[j];
    for (idx k = 0; k < n; k++) {
        for (idx j = 0; j < width; j++)
            v[j] = log             ? LD(x, k * step + j) - top[j] - sum[j]
                   : SOFTMAX_KEEPS ? LD(y, k * step + j) * sum[j]
                                   : M(exp)(LD(x, k * step + j) - top[j]) * sum[j];
        for (idx j = 0; j < width; j++)
            ST(y, k * step + j, v[j]);
    }
}

HELPER void FN(softmax_any)(const T *x, T *y, idx outer, idx axis, idx inner, int log)
{
    for (idx o = 0; axis && o < outer; o++, x += axis * inner, y += axis * inner) {
        idx j = 0;
        if (inner == 1 && axis >= SOFTMAX_LANES) {
            FN(softmax_row)(x, y, axis, log);
            continue;
        }
        for (; j + SOFTMAX_LANES <= inner; j += SOFTMAX_LANES)
            FN(softmax_columns)(x + j, y + j, axis, inner, SOFTMAX_LANES, log);
        if (j < inner)
            FN(softmax_columns)(x + j, y + j, axis, inner, inner - j, log);
    }
}

/* y = exp(x - max x) / sum exp(x - max x) */
KERNEL void FN(softmax)(const T *x, T *y, struct softmax p) { FN(softmax_any)(x, y, p.outer, p.axis, p.inner, 0); }
REGISTER_KERNEL(softmax, 2, 1, 0)

/* y = x - max x - log sum exp(x - max x) */
KERNEL void FN(log_softmax)(const T *x, T *y, struct log_softmax p)
{
    FN(softmax_any)(x, y, p.outer, p.axis, p.inner, 1);
}
REGISTER_KERNEL(log_softmax, 2, 1, 0)
#undef SOFTMAX_KEEPS

/* y = 1 at the first maximum (a NaN is a maximum), 0 elsewhere */
KERNEL void FN(hardmax)(const T *x, T *y, struct hardmax p)
{
    for (idx o = 0; o < p.outer; o++)
        for (idx i = 0; i < p.inner; i++) {
            const idx at = o * p.axis * p.inner + i;
            idx where = 0;
            for (idx k = 1; k < p.axis; k++) {
                const A v = LD(x, at + k * p.inner), top = LD(x, at + where * p.inner);
                where = v > top || (v != v && top == top) ? k : where;
            }
            for (idx k = 0; k < p.axis; k++)
                ST(y, at + k * p.inner, k == where);
        }
}
REGISTER_KERNEL(hardmax, 2, 1, 0)
#endif
#endif
