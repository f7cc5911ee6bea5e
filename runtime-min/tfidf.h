/* tfidf.h - TfIdfVectorizer: counts of n-grams of tokens. */
#ifndef ONNXCC_TFIDF_H
#define ONNXCC_TFIDF_H
#include "rt.h"

#define tfidf_PARAMS(X, V)                                                                                             \
    X(idx, rows) X(idx, tokens) X(idx, columns) X(idx, shortest) X(idx, longest) X(idx, skips) X(int, mode)
PARAMS(tfidf)
#endif

#if defined T && !defined U
#if RT_IS_INDEX(T)
/* Compares the n tokens at x, x + step, ... with the n at g: -1, 0, 1. */
HELPER int FN(rt_compare_grams)(const T *x, idx step, const i64 *g, idx n)
{
    for (idx i = 0; i < n; i++)
        if (x[i * step] != g[i])
            return x[i * step] < g[i] ? -1 : 1;
    return 0;
}

/* gram: the n-grams of each length from 1 on, sorted; table: for each length, the start, the number of shorter ones,
 * and the count; column: of each n-gram, in y. Tokens of a match have distances from 1 to 1 + skips. mode 0: counts; 1:
 * the column's weight if the count is not 0; 2: the product of both. */
KERNEL void FN(tfidf)(const T *restrict x, const i64 *restrict gram, const i64 *restrict column,
                      const i64 *restrict table, const f32 *restrict weight, f32 *restrict y, struct tfidf p)
{
    for (idx i = 0; i < p.rows * p.columns; i++)
        y[i] = 0;
    for (idx r = 0; r < p.rows; r++)
        for (idx n = p.shortest; n <= p.longest; n++)
            for (idx step = 1; step == 1 || (n > 1 && step - 1 <= p.skips && (n - 1) * step < p.tokens); step++)
                for (idx i = 0; i + (n - 1) * step < p.tokens; i++) {
                    const T *const here = x + r * p.tokens + i;
                    const i64 *const t = table + 3 * (n - 1);
                    idx low = 0, high = (idx)t[2];
                    while (low < high) {
                        const idx k = low + (high - low) / 2;
                        if (FN(rt_compare_grams)(here, step, gram + t[0] + k * n, n) > 0)
                            low = k + 1;
                        else
                            high = k;
                    }
                    if (low < t[2] && FN(rt_compare_grams)(here, step, gram + t[0] + low * n, n) == 0)
                        y[r * p.columns + column[t[1] + low]] += 1;
                }
    for (idx i = 0; i < p.rows * p.columns && p.mode; i++)
        y[i] = weight[i % p.columns] * (p.mode == 1 ? (f32)(y[i] > 0) : y[i]);
}
REGISTER_KERNEL(tfidf, 6, 5, 0)
#endif
#endif
