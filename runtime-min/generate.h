/* generate.h - text generation: what the tokens so far make of the scores of the next one. */
#ifndef ONNXCC_GENERATE_H
#define ONNXCC_GENERATE_H
#include "rt.h"

/* x, y: (rows, vocabulary); tokens: (rows, room), of which `length` are there; shortest, penalty: (1); allowed:
 * (vocabulary), first: (rows / beams, vocabulary), 0: excluded. ngram: the length of those that may not repeat, or 0.
 * Of the inputs only x and tokens must be given. */
#define token_scores_PARAMS(X, V)                                                                                      \
    X(idx, rows) X(idx, vocabulary) X(idx, room) X(idx, length) X(idx, beams) X(idx, ngram) X(idx, end)
PARAMS(token_scores)

#define GENERATE_TYPE_f32 1
#define GENERATE_EXCLUDED (-0x1.fffffep127f) /* the lowest float */

/* Do n tokens from `a` and from `b` agree? */
HELPER int rt_tokens_repeat(const i32 *a, const i32 *b, idx n)
{
    while (n > 0 && a[n - 1] == b[n - 1])
        n--;
    return n == 0;
}
#endif

#if defined T && !defined U
#if RT_TAKES(GENERATE_TYPE_, T)
/* The penalty divides the scores of tokens that are there, or multiplies negative ones. */
KERNEL int FN(token_scores)(const T *x, const i32 *tokens, const i32 *shortest, const T *penalty, const i32 *allowed,
                            const i32 *first, T *y, struct token_scores p)
{
    const T factor = penalty ? *penalty : 1;
    const idx v = p.vocabulary, prefix = p.ngram - 1, last = p.length - p.ngram;
    if (!(factor > 0))
        return RT_BAD_VALUE;
    for (idx r = 0; r < p.rows; r++, x += v, y += v, tokens += p.room) {
        for (idx i = 0; i < v; i++)
            y[i] = x[i];
        for (idx i = 0; i < p.length && (factor != 1 || p.ngram); i++)
            if (tokens[i] < 0 || tokens[i] >= v)
                return RT_BAD_INDEX;
        for (idx i = 0; i < p.length && factor != 1; i++)
            y[tokens[i]] = x[tokens[i]] < 0 ? x[tokens[i]] * factor : x[tokens[i]] / factor;
        for (idx i = 0; i <= last && p.ngram; i++)
            if (rt_tokens_repeat(tokens + i, tokens + last + 1, prefix))
                y[tokens[i + prefix]] = GENERATE_EXCLUDED;
        for (idx i = 0; i < v; i++)
            if ((allowed && !allowed[i]) || (first && !first[r / p.beams * v + i]))
                y[i] = GENERATE_EXCLUDED;
        if (shortest && p.length < *shortest && p.end >= 0 && p.end < v)
            y[p.end] = GENERATE_EXCLUDED;
    }
    return RT_OK;
}
REGISTER_FALLIBLE(token_scores, 7, 6, 0)
#endif
#endif
