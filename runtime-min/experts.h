/* experts.h - products with one matrix out of several, which an index selects. */
#ifndef ONNXCC_EXPERTS_H
#define ONNXCC_EXPERTS_H
#include "rt.h"
#include "codes.h"

/* x: (tokens, each, depth), or (tokens, depth) if shared; w: (experts, columns, depth), bias: (experts, columns) or NULL;
 * at: (tokens, each), the expert; y: (tokens, each, columns). */
#define experts_PARAMS(X, V) X(idx, tokens) X(idx, each) X(idx, depth) X(idx, columns) X(idx, experts) X(int, shared)
PARAMS(experts)

/* The same for w in panels of codes, of which the chosen experts' are expanded, EXPERTS_RUN values of k at a time, in
 * EXPERTS_RUN * 16 floats of scratch. */
#define experts_coded_PARAMS(X, V) experts_PARAMS(X, V) CODED_PARAMS(X)
PARAMS(experts_coded)

#define EXPERTS_LANES 8
#define EXPERTS_RUN 32
#define EXPERTS_CODED_f32 1

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
    for (idx r = 0; r < p.tokens * p.each; r++) {
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

#if RT_TAKES(EXPERTS_CODED_, T)
/* to += x w for k from `from` on, each `step`. */
HELPER void experts_add(f32 *to, const f32 *x, const f32 *w, idx from, idx end, idx step)
{
    for (idx j = 0; j < TILE_PANEL; j += RT_VEC) {
        vec sum = vec_load(to + j);
        for (idx k = from; k < end; k += step)
            sum += vec_splat(x[k]) * vec_load(w + k * TILE_PANEL + j);
        vec_store(to + j, sum);
    }
}

/* sum = the products of x with a panel, added in the order of experts_sum. */
HELPER void experts_panel(f32 *sum, const f32 *x, const struct coded *w, CODED_REF expand, idx panel, idx n, f32 *part)
{
    f32 lane[EXPERTS_LANES][TILE_PANEL] = {{0}}, rest[TILE_PANEL] = {0};
    for (idx k = 0; k < n; k += EXPERTS_RUN) {
        const idx run = n - k < EXPERTS_RUN ? n - k : EXPERTS_RUN;
        const idx whole = run / EXPERTS_LANES * EXPERTS_LANES;
        TILE_DO(coded_expand, expand, part, w, panel, k, run);
        for (int l = 0; l < EXPERTS_LANES; l++)
            experts_add(lane[l], x + k, part, l, whole, EXPERTS_LANES);
        experts_add(rest, x + k, part, whole, run, 1);
    }
    for (int l = 0; l < EXPERTS_LANES; l++)
        for (int j = 0; j < TILE_PANEL; j++)
            rest[j] += lane[l][j];
    for (int j = 0; j < TILE_PANEL; j++)
        sum[j] = rest[j];
}

KERNEL int FN(experts_coded)(const f32 *x, const void *w, const i64 *at, const f32 *bias, const void *scale,
                             const void *zero, f32 *y, f32 *part, struct experts_coded p)
{
    const struct coded c = CODED_OF(p, w, scale, zero);
    const idx panels = (p.columns + TILE_PANEL - 1) / TILE_PANEL;
    for (idx r = 0; r < p.tokens * p.each; r++) {
        if (at[r] < 0 || at[r] >= p.experts)
            return RT_BAD_INDEX;
        const idx e = (idx)at[r], from = (p.shared ? r / p.each : r) * p.depth;
        for (idx of = 0; of < panels; of++) {
            f32 sum[TILE_PANEL];
            experts_panel(sum, x + from, &c, coded_of(p.kind), e * panels + of, p.depth, part);
            for (idx j = of * TILE_PANEL; j < p.columns && j < (of + 1) * TILE_PANEL; j++)
                y[r * p.columns + j] = bias ? sum[j % TILE_PANEL] + bias[e * p.columns + j] : sum[j % TILE_PANEL];
        }
    }
    return RT_OK;
}
REGISTER_FALLIBLE(experts_coded, 8, 6, SCRATCH)
#endif
#endif
#endif
