/* generate.h - text generation: what the tokens so far make of the scores of the next one, and the beams of a search:
 * the rows of a sample that are continued side by side. */
#ifndef ONNXCC_GENERATE_H
#define ONNXCC_GENERATE_H
#include "math.h"

/* x, y: (rows, vocabulary); tokens: (rows, room), of which `length` are there; shortest, penalty: (1); allowed:
 * (vocabulary), first: (rows / beams, vocabulary), 0: excluded. ngram: the length of those that may not repeat, or 0.
 * Of the inputs only x and tokens must be given. */
#define token_scores_PARAMS(X, V)                                                                                      \
    X(idx, rows) X(idx, vocabulary) X(idx, room) X(idx, length) X(idx, beams) X(i64, ngram) X(i64, end)
/* top, at: (batch, 2 * beams), the best scores of a sample and where they are in (beams, vocabulary); tokens: (batch *
 * beams, room), of which `length` are there. The ended texts of a sample, best first: texts: (batch, beams, room),
 * text_scores: (batch, beams), found: (batch), their number, or beams + 1 if the search for others is over; penalty:
 * (1) or NULL. The results are these with the next token, and for every beam its score, last token and the row that it
 * continues. */
#define beam_step_PARAMS(X, V)                                                                                         \
    X(idx, batch) X(idx, beams) X(idx, vocabulary) X(idx, room) X(idx, length) X(i64, end) X(i64, pad) X(int, early)
/* The same, where the tokens of beams, `length` in each, become texts. */
#define beam_end_PARAMS(X, V) X(idx, batch) X(idx, beams) X(idx, room) X(idx, length) X(i64, pad)
/* x, y: (rows, vocabulary); tokens: (rows, room), of which `length` are there; processor: (1), 1: whisper's rules about
 * timestamps, the tokens from `begin` on, apply. never: tokens that are excluded then; inside: only after the first
 * timestamp. */
#define timestamps_PARAMS(X, V)                                                                                        \
    X(idx, rows) X(idx, vocabulary) X(idx, room) X(idx, length) X(i64, begin) X(i64, end) V(i64, never, 2)             \
    V(i64, inside, 3)
/* x: (rows, vocabulary); sorted: its softmax, in ascending order, or descending if `custom`, and at: the tokens; seed:
 * (1), the state of the generator. token: (rows, 1), drawn from those that are left, next: (1). Scratch: vocabulary. */
#define sample_PARAMS(X, V)                                                                                            \
    X(idx, rows) X(idx, vocabulary) X(idx, keep) X(int, custom) X(f32, share) X(f32, filler)
PARAMS(token_scores)
PARAMS(timestamps)
PARAMS(sample)
PARAMS(beam_step)
PARAMS(beam_end)

#define GENERATE_TYPE_f32 1
#define GENERATE_EXCLUDED (-0x1.fffffep127f) /* the lowest float */

/* A number in [0, 1) by two steps of the generator x' = 16807 x mod 2^31 - 1 (Park and Miller 1988), as in ONNX Runtime
 * where C++'s standard library is GCC's. */
HELPER f64 rt_sample_uniform(u64 *x)
{
    const u64 modulus = 0x7fffffff;
    const f64 range = 0x7ffffffe;
    const u64 low = *x * 16807 % modulus, high = low * 16807 % modulus;
    *x = high;
    return ((f64)(i64)(low - 1) + (f64)(i64)(high - 1) * range) / (range * range);
}

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
    const idx v = p.vocabulary, n = p.ngram > 0 && p.ngram <= p.length ? (idx)p.ngram : 0, last = p.length - n;
    if (!(factor > 0))
        return RT_BAD_VALUE;
    for (idx r = 0; r < p.rows; r++, x += v, y += v, tokens += p.room) {
        for (idx i = 0; i < v; i++)
            y[i] = x[i];
        for (idx i = 0; i < p.length && (factor != 1 || n); i++)
            if (tokens[i] < 0 || tokens[i] >= v)
                return RT_BAD_INDEX;
        for (idx i = 0; i < p.length && factor != 1; i++)
            y[tokens[i]] = x[tokens[i]] < 0 ? x[tokens[i]] * factor : x[tokens[i]] / factor;
        for (idx i = 0; i <= last && n; i++)
            if (rt_tokens_repeat(tokens + i, tokens + last + 1, n - 1))
                y[tokens[i + n - 1]] = GENERATE_EXCLUDED;
        for (idx i = 0; i < v; i++)
            if ((allowed && !allowed[i]) || (first && !first[r / p.beams * v + i]))
                y[i] = GENERATE_EXCLUDED;
        if (shortest && p.length < *shortest && p.end >= 0 && p.end < v)
            y[p.end] = GENERATE_EXCLUDED;
    }
    return RT_OK;
}
REGISTER_FALLIBLE(token_scores, 7, 6, 0)

HELPER void FN(exclude)(T *y, idx from, idx to)
{
    for (idx i = from; i < to; i++)
        y[i] = GENERATE_EXCLUDED;
}

/* The greatest of n scores. */
HELPER T FN(best)(const T *y, idx n)
{
    T best = y[0];
    for (idx i = 1; i < n; i++)
        best = y[i] > best ? y[i] : best;
    return best;
}

/* Timestamps are in pairs but for the first, do not decrease, and come if together they are likelier than any word. */
HELPER void FN(timestamps_row)(const i32 *tokens, T *y, struct timestamps p)
{
    enum { MAX_FIRST = 50 };
    const idx v = p.vocabulary, begin = (idx)p.begin;
    idx first = 0, latest = -1;
    for (idx i = p.length - 1; i >= 0; i--)
        if (tokens[i] >= begin) {
            latest = latest < 0 ? tokens[i] : latest;
            first = i + 1;
        }
    first = first ? first : p.length;
    for (int i = 0; i < 2; i++)
        if (p.never[i] >= 0 && p.never[i] < v)
            y[p.never[i]] = GENERATE_EXCLUDED;
    for (int i = 0; i < 3; i++)
        if (p.length > first && p.inside[i] >= 0 && p.inside[i] < v)
            y[p.inside[i]] = GENERATE_EXCLUDED;
    const int is_last = tokens[p.length - 1] >= begin;
    const int is_pair = p.length <= first || tokens[p.length - 2] >= begin, is_open = is_last && !is_pair;
    if (is_last && is_pair)
        FN(exclude)(y, begin, v);
    else if (is_open)
        FN(exclude)(y, 0, p.end < v ? (idx)p.end : v);
    if (latest >= 0)
        FN(exclude)(y, begin, is_open ? latest : latest + 1);
    if (p.length == first)
        FN(exclude)(y, begin + MAX_FIRST + 1, v);
    const T top = FN(best)(y + begin, v - begin);
    T sum = 0;
    for (idx i = begin; i < v; i++)
        if (y[i] > (T)GENERATE_EXCLUDED)
            sum += M(exp)(y[i] - top);
    if (sum > 0 && M(log)(sum) + top > FN(best)(y, begin))
        FN(exclude)(y, 0, begin);
}

KERNEL int FN(timestamps)(const T *x, const i32 *tokens, const i32 *processor, T *y, struct timestamps p)
{
    const idx v = p.vocabulary;
    if (*processor < 0 || (*processor == 1 && (p.begin <= 0 || p.begin >= v)))
        return RT_BAD_VALUE;
    for (idx i = 0; i < p.rows * v; i++)
        y[i] = x[i];
    for (idx r = 0; r < p.rows && *processor == 1; r++) {
        for (idx i = 0; i < p.length; i++)
            if (tokens[r * p.room + i] >= v) /* the decoder may know more of them */
                return RT_BAD_INDEX;
        FN(timestamps_row)(tokens + r * p.room, y + r * v, p);
    }
    return RT_OK;
}
REGISTER_FALLIBLE(timestamps, 4, 3, 0)

/* Sets `filler` as the score of the least likely tokens, which together have at most the probability 1 - share; custom:
 * of those after the most likely ones, which together have more than `share`. */
HELPER void FN(sample_filter)(const T *sorted, const i64 *at, T *y, struct sample p)
{
    T sum = 0;
    for (idx i = 0; i < p.vocabulary; i++) {
        sum += sorted[i];
        if (p.custom ? i + 1 < p.vocabulary && sum > (T)p.share : (!i || i < p.keep) && sum <= 1 - (T)p.share)
            y[at[i + p.custom]] = (T)p.filler;
    }
}

KERNEL int FN(sample)(const T *x, const T *sorted, const i64 *at, const i64 *seed, i32 *token, i64 *next, T *y,
                      struct sample p)
{
    const idx v = p.vocabulary;
    u64 state = (u64)*seed % 0x7fffffff;
    if (*seed < 0)
        return RT_BAD_VALUE;
    state = state ? state : 1;
    for (idx r = 0; r < p.rows; r++, x += v) {
        for (idx i = 0; i < v; i++)
            y[i] = x[i];
        FN(sample_filter)(sorted + r * v, at + r * v, y, p);
        T top = -RT_INF;
        f64 sum = 0;
        for (idx i = 0; i < v; i++)
            top = y[i] > top && y[i] < RT_INF ? y[i] : top;
        for (idx i = 0; i < v; i++)
            sum += y[i] - y[i] == 0 ? math_exp_f64((f64)y[i] - (f64)top) : 0;
        const f64 drawn = rt_sample_uniform(&state) * sum;
        idx i = 0;
        for (sum = 0; i < v; i++) {
            sum += y[i] - y[i] == 0 ? math_exp_f64((f64)y[i] - (f64)top) : 0;
            if (sum > drawn)
                break;
        }
        token[r] = (i32)i; /* v without a finite score, as in ONNX Runtime; decoders then fail */
    }
    *next = (i64)state;
    return RT_OK;
}
REGISTER_FALLIBLE(sample, 7, 4, SCRATCH)

/* Adds a text of `length` tokens, if it is among the best ones, of which there are n, in order; returns how many. */
HELPER idx FN(beam_add)(const i32 *tokens, idx length, T score, i32 *texts, T *scores, idx n, struct beam_end p)
{
    idx at = n == p.beams ? n - 1 : n;
    if (n == p.beams && score <= scores[at])
        return n;
    for (; at > 0 && score > scores[at - 1]; at--) {
        scores[at] = scores[at - 1];
        for (idx i = 0; i < p.room; i++)
            texts[at * p.room + i] = texts[(at - 1) * p.room + i];
    }
    scores[at] = score;
    for (idx i = 0; i < p.room; i++)
        texts[at * p.room + i] = i < length ? tokens[i] : (i32)p.pad;
    return n < p.beams ? n + 1 : n;
}

/* The token that each row of a sample continues with. Of twice as many candidates as beams at most one per beam is the
 * end, so that there are enough. */
KERNEL void FN(beam_step)(const T *top, const i64 *at, const i32 *tokens, const i32 *texts, const T *text_scores,
                          const i32 *found, const T *penalty, T *score, i32 *token, i64 *parent, i32 *next_tokens,
                          i32 *next_texts, T *next_text_scores, i32 *next_found, struct beam_step p)
{
    const struct beam_end e = {p.batch, p.beams, p.room, p.length, p.pad};
    const T weight = M(pow)((T)p.length, penalty ? *penalty : 1);
    const idx k = p.beams;
    for (idx i = 0; i < p.batch * k * p.room; i++)
        next_texts[i] = texts[i];
    for (idx i = 0; i < p.batch * k; i++)
        next_text_scores[i] = text_scores[i];
    for (idx b = 0; b < p.batch; b++) {
        const int is_over = found[b] > k;
        idx n = found[b], rows = 0;
        for (idx j = 0; j < 2 * k && rows < k; j++) {
            const i64 word = at[2 * k * b + j] % p.vocabulary, beam = at[2 * k * b + j] / p.vocabulary;
            const idx row = b * k + rows, from = is_over ? 0 : b * k + (idx)beam;
            if (!is_over && word == p.end) {
                if (j < k)
                    n = FN(beam_add)(tokens + from * p.room, p.length, top[2 * k * b + j] / weight,
                                     next_texts + b * k * p.room, next_text_scores + b * k, n, e);
                continue;
            }
            for (idx i = 0; i < p.room; i++)
                next_tokens[row * p.room + i] = tokens[from * p.room + i];
            token[row] = (i32)(is_over ? p.pad : word);
            next_tokens[row * p.room + p.length] = token[row];
            score[row] = is_over ? 0 : top[2 * k * b + j];
            /* as in ONNX Runtime; which it is matters only to the scores of a search that is over */
            parent[row] = k > 1 ? from : row;
            rows++;
        }
        T best = top[k * b]; /* ONNX Runtime looks here, not at 2 * k * b */
        for (idx j = 1; j < 2 * k; j++)
            best = top[k * b + j] > best ? top[k * b + j] : best;
        const int improves = !p.early && next_text_scores[b * k + k - 1] < best / weight;
        next_found[b] = (i32)(n == k && !improves ? k + 1 : n);
    }
}
REGISTER_KERNEL(beam_step, 14, 7, 0)

/* Adds the beams of samples whose search is not over. */
KERNEL void FN(beam_end)(const i32 *tokens, const T *score, const i32 *texts, const T *text_scores, const i32 *found,
                         const T *penalty, i32 *end_texts, T *end_scores, struct beam_end p)
{
    const T weight = M(pow)((T)p.length, penalty ? *penalty : 1);
    for (idx i = 0; i < p.batch * p.beams * p.room; i++)
        end_texts[i] = texts[i];
    for (idx i = 0; i < p.batch * p.beams; i++)
        end_scores[i] = text_scores[i];
    for (idx b = 0; b < p.batch; b++) {
        const idx first = b * p.beams;
        idx n = found[b];
        for (idx r = first; r < first + p.beams && found[b] <= p.beams; r++)
            n = FN(beam_add)(tokens + r * p.room, p.length, score[r] / weight, end_texts + first * p.room,
                             end_scores + first, n, p);
    }
}
REGISTER_KERNEL(beam_end, 8, 6, 0)
#endif
#endif
