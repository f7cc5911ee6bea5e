/* bifurcation.h - BifurcationDetector: tokens predicted from a source text, and where a text continues in it. */
#ifndef ONNXCC_BIFURCATION_H
#define ONNXCC_BIFURCATION_H
#include "rt.h"

#define bifurcation_PARAMS(X, V) X(idx, upper) X(idx, source) X(idx, have) X(idx, predicted)
#define suffix_match_PARAMS(X, V) X(idx, source) X(idx, have) X(idx, shortest) X(idx, longest) /* <= have */
PARAMS(bifurcation)
PARAMS(suffix_match)
#define BIFURCATION_TYPE_i64 1
#endif

#if defined T && !defined U
#if RT_TAKES(BIFURCATION_TYPE_, T)
/* y: x, then the predicted tokens up to the first that differs from the source's from *at on; at most `upper`. */
KERNEL int FN(bifurcation)(const T *source, const T *x, const T *at, const T *predicted, T *y, i64 *found,
                           struct bifurcation p)
{
    idx n = 0;
    if (*at < 0 || *at > p.source || p.predicted != p.source - (idx)*at + 1)
        return RT_BAD_SIZE;
    while (n < p.predicted - 1 && predicted[n] == source[*at + n])
        n++;
    *found = p.have + n + 1;
    if (*found > p.upper)
        return RT_BAD_SIZE;
    for (idx i = 0; i < *found; i++)
        y[i] = i < p.have ? x[i] : predicted[i - p.have];
    return RT_OK;
}
REGISTER_FALLIBLE(bifurcation, 6, 4, SIZES(1))

/* The first index from `from` on at which the source has these n tokens; its size: none. */
HELPER idx FN(suffix_find)(const T *source, idx size, idx from, const T *tokens, idx n)
{
    for (; from <= size - n; from++) {
        idx k = 0;
        while (k < n && source[from + k] == tokens[k])
            k++;
        if (k == n)
            return from;
    }
    return size;
}

/* *y: behind the only place in the source that has the last tokens of x; -1: no number of these, from the shortest to
 * the longest, has one. */
KERNEL void FN(suffix_match)(const T *source, const T *x, T *y, struct suffix_match p)
{
    *y = -1;
    for (idx n = p.shortest; n <= p.longest; n++) {
        const T *const tail = x + p.have - n;
        const idx at = FN(suffix_find)(source, p.source, 0, tail, n);
        if (at == p.source)
            break;
        *y = at + n;
        if (at + n == p.source)
            break;
        if (FN(suffix_find)(source, p.source, at + 1, tail, n) != p.source)
            *y = -1;
    }
}
REGISTER_KERNEL(suffix_match, 3, 2, 0)
#endif
#endif
