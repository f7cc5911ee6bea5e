/* tokenize.h - Tokenizer: texts cut into tokens by regular expressions. */
#ifndef ONNXCC_TOKENIZE_H
#define ONNXCC_TOKENIZE_H
#include "characters.h"

/* keep: the matches are the tokens, rather than separators; min_characters: of a token; mark: rows begin and end with
 * marks; upper: the maximal tokens of a row, marks included */
#define tokenize_PARAMS(X, V) X(idx, count) X(idx, levels) X(int, keep) X(idx, min_characters) X(int, mark) X(idx, upper)
PARAMS(tokenize)

/* What precedes a byte of a text, or is the byte: nothing, a word character, a newline, another byte. */
enum { TOKEN_EDGE, TOKEN_WORD, TOKEN_LINE, TOKEN_OTHER };
/* An automaton, as numbers: its place in the table, its classes, the dead state, the first state by what precedes. */
enum { TOKEN_TABLE, TOKEN_CLASSES, TOKEN_DEAD, TOKEN_START, TOKEN_HEAD = TOKEN_START + 4 };

/* A text whose bytes from `at` on are not cut yet; at > s.length: nothing is left, not even an empty string. */
typedef struct rt_rest {
    str s;
    u64 at;
} rt_rest;

HELPER int rt_token_kind(char c)
{
    if (c == '\n')
        return TOKEN_LINE;
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')
        return TOKEN_WORD;
    return TOKEN_OTHER;
}

HELPER int rt_token_inside(char c) { return ((u8)c & 0xC0) == 0x80; } /* a character's second to fourth byte */

HELPER u64 rt_token_characters(const char *s, u64 n)
{
    u64 k = 0;
    for (u64 i = 0; i < n; i++)
        k += !rt_token_inside(s[i]);
    return k;
}

/* Is s UTF-8? */
HELPER int rt_token_valid(str s)
{
    for (u64 i = 0; i < s.length;) {
        const u8 c = (u8)s.text[i++];
        for (u64 more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3; more; more--, i++)
            if (c < 0xC2 || c > 0xF4 || i == s.length || !rt_token_inside(s.text[i]))
                return 0;
    }
    return 1;
}

/* The first match at or after *at, and of these the longest. False: none. */
HELPER int rt_token_search(const i32 *head, const u16 *table, str s, u64 *at, u64 *length)
{
    const u16 *const t = table + head[TOKEN_TABLE];
    const idx row = head[TOKEN_CLASSES] + 1;
    for (; *at <= s.length; ++*at) {
        i32 state = head[TOKEN_START + (*at ? rt_token_kind(s.text[*at - 1]) : TOKEN_EDGE)];
        int found = 0;
        for (u64 k = *at;; k++) {
            const u16 *const r = t + 256 + state * row;
            if (r[0] >> (k < s.length ? rt_token_kind(s.text[k]) : TOKEN_EDGE) & 1) {
                found = 1;
                *length = k - *at;
            }
            if (k == s.length || state == head[TOKEN_DEAD])
                break;
            state = r[1 + t[(u8)s.text[k]]];
        }
        if (found)
            return 1;
    }
    return 0;
}

/* The next match, or the next piece between matches, of at least p.min_characters characters. False: none. */
HELPER int rt_token_cut(const i32 *head, const u16 *table, rt_rest *of, struct tokenize p, str *piece)
{
    const str s = of->s;
    while (of->at <= s.length) {
        const u64 from = of->at;
        u64 at = from, n = 0;
        const int found = rt_token_search(head, table, s, &at, &n);
        if (!found && p.keep)
            at = s.length;
        const u64 begin = p.keep ? at : from, end = p.keep ? at + n : found ? at : s.length;
        of->at = !found ? s.length + 1 : at + n;
        piece->text = s.text ? s.text + begin : s.text;
        piece->length = end - begin;
        const int enough = rt_token_characters(piece->text, piece->length) >= (u64)p.min_characters;
        if (found && (p.keep ? !enough : !n)) /* goes on behind one character */
            for (of->at = at + 1; of->at < s.length && rt_token_inside(s.text[of->at]);)
                of->at++;
        if (enough)
            return 1;
    }
    return 0;
}

/* The next token of the text in rest[0]: each automaton cuts what the one before left. *level: the last one of which
 * something is left. */
HELPER int rt_token_next(const i32 *heads, const u16 *table, rt_rest *rest, idx *level, struct tokenize p, str *piece)
{
    for (;;) {
        if (rt_token_cut(heads + *level * TOKEN_HEAD, table, &rest[*level], p, piece)) {
            if (*level + 1 == p.levels)
                return 1;
            ++*level;
            rest[*level].s = *piece;
            rest[*level].at = 0;
        } else if (--*level < 0)
            return 0;
    }
}
#endif

#if defined T && !defined U
#if RT_IS_STRING(T)
/* Row i of y: x[i]'s tokens, between the marks words[1] and words[2], then words[0] up to the longest row. *found: the
 * length of the rows; 0 if there is no token. Scratch: an rt_rest for each automaton. */
KERNEL int FN(tokenize)(const str *restrict x, const str *restrict words, const i32 *restrict heads,
                        const u16 *restrict table, str *restrict y, rt_rest *restrict rest, int64_t *restrict found,
                        struct tokenize p)
{
    idx longest = 0;
    str piece;
    for (idx i = 0; i < p.count; i++) {
        idx n = 0, level = 0;
        if (!rt_token_valid(x[i]))
            return RT_BAD_VALUE;
        rest[0].s = x[i];
        rest[0].at = 0;
        while (rt_token_next(heads, table, rest, &level, p, &piece))
            n++;
        longest = n > longest ? n : longest;
    }
    longest += longest && p.mark ? 2 : 0;
    if (longest > p.upper)
        return RT_BAD_SIZE;
    for (idx i = 0; i < p.count && longest; i++) {
        str *const row = y + i * longest;
        idx n = 0, level = 0;
        if (p.mark)
            row[n++] = words[1];
        rest[0].s = x[i];
        rest[0].at = 0;
        while (rt_token_next(heads, table, rest, &level, p, &piece))
            row[n++] = piece;
        if (p.mark)
            row[n++] = words[2];
        while (n < longest)
            row[n++] = words[0];
    }
    *found = longest;
    return RT_OK;
}
REGISTER_FALLIBLE(tokenize, 7, 4, SCRATCH | SIZES(1))
#endif
#endif
