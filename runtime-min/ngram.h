/* ngram.h - NGramHashMapping: hashes of each token with those before it. */
#ifndef ONNXCC_NGRAM_H
#define ONNXCC_NGRAM_H
#include "rt.h"

/* x: the tokens of `batch` texts, `time` each or, if starts is given, those of text b from starts[b] to starts[b + 1]
 * of x's `tokens`. factors: at least `order`; sizes, offsets: (order - 1, heads); past: (batch, order - 1) tokens
 * before each text; end: a token; segments: like x, past_segments: like past; captured: (batch). y: (tokens,
 * order - 1, heads); present, present_segments: like past; captures: (batch, room, order - 1). Only x, factors, sizes
 * and y are not NULL. Without starts, offsets are not negative, and fit into T with the sizes added. resets: no hash
 * goes beyond a token `end`. */
#define ngram_hash_PARAMS(X, V)                                                                                        \
    X(idx, batch) X(idx, time) X(idx, tokens) X(idx, order) X(idx, heads) X(idx, room) X(i64, pad) X(int, resets)
PARAMS(ngram_hash)
#define NGRAM_TYPE_i32 1
#define NGRAM_TYPE_i64 1
#endif

#if defined T && !defined U
#if RT_TAKES(NGRAM_TYPE_, T)
/* Modulo 2 to the number of bits. */
HELPER T FN(ngram_sum)(T a, T b)
{
    const u64 u = (u64)a, v = (u64)b;
    return (T)(u + v);
}
HELPER T FN(ngram_product)(T a, T b)
{
    const u64 u = (u64)a, v = (u64)b;
    return (T)(u * v);
}

/* Element i of a text at x after its past. */
HELPER T FN(ngram_at)(const T *x, const T *past, idx i, T missing, idx before)
{
    return i >= before ? x[i - before] : past ? past[i] : missing;
}

KERNEL int FN(ngram_hash)(const T *x, const T *factors, const T *sizes, const i32 *starts, const T *past,
                          const T *offsets, const T *end, const i32 *segments, const i32 *past_segments,
                          const i32 *captured, T *y, T *present, i32 *present_segments, T *captures,
                          struct ngram_hash p)
{
    const idx before = p.order - 1, columns = before * p.heads;
    const T missing = end ? *end : (T)p.pad;
    for (idx h = 0; h < columns; h++)
        if (sizes[h] <= 0 || (offsets && !starts && (offsets[h] < 0 || FN(ngram_sum)(offsets[h], sizes[h]) < 0)))
            return RT_BAD_VALUE;
    for (idx b = 0, at = 0; b < p.batch; b++) {
        const idx stop = starts ? (idx)starts[b + 1] : at + p.time, n = stop - at;
        if (starts && (starts[b] != at || n < 1 || stop > p.tokens))
            return RT_BAD_SIZE;
        const T *const own = x + at, *const old = past ? past + b * before : past;
        const i32 *const parts = segments ? segments + at : segments;
        const i32 *const old_parts = past_segments ? past_segments + b * before : past_segments;
        idx hidden = 0; /* elements that hashes do not reach */
        for (idx i = 0; i < before; i++)
            if ((p.resets && end && FN(ngram_at)(own, old, i, missing, before) == *end) ||
                (old_parts && old_parts[i] != (i + 1 < before ? old_parts[i + 1] : parts[0])))
                hidden = i + 1;
        for (idx t = 0; t < n; t++) {
            const idx i = before + t;
            T mix = FN(ngram_product)(own[t], factors[0]);
            if (t > 0 && ((p.resets && end && own[t - 1] == *end) || (parts && parts[t] != parts[t - 1])))
                hidden = i;
            for (idx k = 1, h = 0; k < p.order; k++) {
                const T token = i - k < hidden ? missing : FN(ngram_at)(own, old, i - k, missing, before);
                mix ^= FN(ngram_product)(token, factors[k]);
                for (idx end_of = h + p.heads; h < end_of; h++) {
                    const T rest = (T)(mix % sizes[h]), hash = rest < 0 ? (T)(rest + sizes[h]) : rest;
                    y[(at + t) * columns + h] = offsets ? FN(ngram_sum)(hash, offsets[h]) : hash;
                }
            }
        }
        for (idx i = 0; present && i < before; i++)
            present[b * before + i] = FN(ngram_at)(own, old, n + i, missing, before);
        for (idx i = 0; present_segments && i < before; i++)
            present_segments[b * before + i] = n + i >= before ? parts[n + i - before]
                                               : old_parts     ? old_parts[n + i]
                                                               : parts[0];
        for (idx c = 0; captures && c < p.room; c++)
            for (idx i = 0; i < before; i++)
                captures[(b * p.room + c) * before + i] =
                    c < captured[b] && c < n ? FN(ngram_at)(own, old, c + 1 + i, missing, before) : (T)p.pad;
        at = stop;
    }
    return starts && starts[p.batch] != p.tokens ? RT_BAD_SIZE : RT_OK;
}
REGISTER_FALLIBLE(ngram_hash, 14, 10, 0)
#endif
#endif
