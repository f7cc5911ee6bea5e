/* experts.h - products with one matrix out of several, which an index selects. */
#ifndef ONNXCC_EXPERTS_H
#define ONNXCC_EXPERTS_H
#include "rt.h"

/* x: (rows, each, depth), or (rows, depth) if shared; w: (experts, columns, depth), bias: (experts, columns) or NULL;
 * at: (rows, each), the expert; y: (rows, each, columns). */
#define experts_PARAMS(X, V) X(idx, rows) X(idx, each) X(idx, depth) X(idx, columns) X(idx, experts) X(int, shared)
PARAMS(experts)

#define EXPERTS_LANES 8

#define EXPERTS_NOT_f64 1
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) && !RT_TAKES(EXPERTS_NOT_, T)
HELPER A FN(experts_sum)(const T *x, const T *w, idx n)
{
    A lane[EXPERTS_LANES] = {0}, sum = 0;
    idx i = 0;
    for (; i + EXPERTS_LANES <= n; i += EXPERTS_LANES)
        for (int l = 0; l < EXPERTS_LANES; l++)
            lane[l] += LD(x, i + l) * LD(w, i + l);
    for (; i < n; i++)
        sum += LD(x, i) * LD(w, i);
    for (int l = 0; l < EXPERTS_LANES; l++)
        sum += lane[l];
    return sum;
}

KERNEL int FN(experts)(const T *x, const T *w, const i64 *at, const T *bias, T *y, struct experts p)
{
    for (idx r = 0; r < p.rows * p.each; r++) {
        if (at[r] < 0 || at[r] >= p.experts)
            return RT_BAD_INDEX;
        const idx e = (idx)at[r] * p.columns, from = (p.shared ? r / p.each : r) * p.depth;
        for (idx c = 0; c < p.columns; c++) {
            const A sum = FN(experts_sum)(x + from, w + (e + c) * p.depth, p.depth);
            ST(y, r * p.columns + c, bias ? sum + LD(bias, e + c) : sum);
        }
    }
    return RT_OK;
}
REGISTER_FALLIBLE(experts, 5, 4, 0)
#endif
#endif
