/* text.h - strings: concatenation, comparison, change of case, splitting, matching. */
#ifndef ONNXCC_TEXT_H
#define ONNXCC_TEXT_H
#include "characters.h"

#define text_join_PARAMS(X, V) X(idx, count) X(idx, at) X(idx, upper)
PARAMS(text_join)

#define text_equal_PARAMS(X, V) X(idx, count)
PARAMS(text_equal)

#define text_normal_PARAMS(X, V) X(idx, count) X(idx, stops) X(int, fold) X(int, change) X(idx, at) X(idx, upper) X(idx, room)
PARAMS(text_normal)

#define text_split_PARAMS(X, V) X(idx, count) X(idx, pieces) X(idx, upper)
PARAMS(text_split)

#define text_match_PARAMS(X, V) X(idx, count) X(idx, classes) X(idx, start) X(idx, accept)
PARAMS(text_match)

#endif

#if defined T && !defined U
#if RT_IS_STRING(T)
/* y[i] = a[i] followed by b[i]; the bytes are stored in text[p.at .. p.upper). */
KERNEL int FN(text_join)(const str *restrict a, const str *restrict b, str *restrict y, u8 *restrict text,
                         struct text_join p)
{
    char *to = (char *)text;
    const u64 upper = (u64)p.upper;
    u64 used = (u64)p.at;
    for (idx i = 0; i < p.count; i++) {
        const u64 n = a[i].length + b[i].length;
        if (n > upper - used)
            return RT_BAD_SIZE;
        if (a[i].length)
            memcpy(to + used, a[i].text, (size_t)a[i].length);
        if (b[i].length)
            memcpy(to + used + a[i].length, b[i].text, (size_t)b[i].length);
        y[i].text = to + used;
        y[i].length = n;
        used += n;
    }
    return RT_OK;
}
REGISTER_FALLIBLE(text_join, 4, 2, 0)

KERNEL void FN(text_equal)(const str *restrict a, const str *restrict b, b8 *restrict y, struct text_equal p)
{
    for (idx i = 0; i < p.count; i++)
        y[i] = rt_text_compare(a[i], b[i]) == 0;
}
REGISTER_KERNEL(text_equal, 3, 2, 0)

/* y: the strings that are not stop words (fold: without regard to case), in lower (-1) or upper (1) case; "" if none
 * remains. *found: their number, at most p.room. */
KERNEL int FN(text_normal)(const str *restrict x, const str *restrict stop, str *restrict y, u8 *restrict text,
                           int64_t *restrict found, struct text_normal p)
{
    char *to = (char *)text;
    const u64 upper = (u64)p.upper;
    u64 used = (u64)p.at;
    idx k = 0;
    for (idx i = 0; i < p.count; i++) {
        idx s = 0;
        while (s < p.stops && !rt_text_same(x[i], stop[s], p.fold))
            s++;
        if (s < p.stops)
            continue;
        if (k >= p.room || (p.change && x[i].length > upper - used))
            return RT_BAD_SIZE;
        y[k].length = x[i].length;
        y[k].text = x[i].text;
        if (p.change) {
            rt_text_change(to + used, x[i], p.change);
            y[k].text = to + used;
            used += x[i].length;
        }
        k++;
    }
    if (!k && p.room) {
        y[0].text = "";
        y[0].length = 0;
        k = 1;
    }
    *found = k;
    return RT_OK;
}
REGISTER_FALLIBLE(text_normal, 5, 2, SIZES(1))

/* Row i of y: the pieces of x[i] between marks, at most p.pieces (0: no limit), then "" up to the longest row.
 * count[i]: the number of pieces. *found: the longest row, at most p.upper. */
KERNEL int FN(text_split)(const str *restrict x, const str *restrict mark, str *restrict y, i64 *restrict count,
                          int64_t *restrict found, struct text_split p)
{
    idx longest = 0;
    str piece;
    for (idx i = 0; i < p.count; i++) {
        u64 at = 0;
        idx k = 0;
        while (rt_text_next(x[i], *mark, &at, p.pieces && k + 1 == p.pieces, &piece))
            k++;
        count[i] = k;
        longest = k > longest ? k : longest;
    }
    if (longest > p.upper)
        return RT_BAD_SIZE;
    for (idx i = 0; i < p.count; i++) {
        u64 at = 0;
        for (idx k = 0; k < longest; k++) {
            if (k >= count[i] || !rt_text_next(x[i], *mark, &at, p.pieces && k + 1 == p.pieces, &piece)) {
                piece.text = "";
                piece.length = 0;
            }
            y[i * longest + k] = piece;
        }
    }
    *found = longest;
    return RT_OK;
}
REGISTER_FALLIBLE(text_split, 5, 2, SIZES(1))

/* Does all of x[i] match? table: the class of each of 256 bytes, then a row per state with the next state by class.
 * p.start: the first state; states >= p.accept are accepting. */
KERNEL void FN(text_match)(const str *restrict x, const u16 *restrict table, b8 *restrict y, struct text_match p)
{
    for (idx i = 0; i < p.count; i++) {
        idx state = p.start;
        for (u64 k = 0; k < x[i].length; k++)
            state = table[256 + state * p.classes + table[(u8)x[i].text[k]]];
        y[i] = state >= p.accept;
    }
}
REGISTER_KERNEL(text_match, 3, 2, 0)
#endif
#endif
