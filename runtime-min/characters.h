/* characters.h - what kernels of strings share: comparison, letter case, pieces. */
#ifndef ONNXCC_CHARACTERS_H
#define ONNXCC_CHARACTERS_H
#include "rt.h"

HELPER int rt_text_compare(str a, str b)
{
    const u64 n = a.length < b.length ? a.length : b.length;
    for (u64 i = 0; i < n; i++)
        if (a.text[i] != b.text[i])
            return (u8)a.text[i] < (u8)b.text[i] ? -1 : 1;
    return a.length < b.length ? -1 : a.length > b.length;
}

/* The UTF-8 character at s in lower (-1) or upper (1) case, for Latin, Greek and Cyrillic letters whose length does not
 * change. *n: its bytes; others are taken as single bytes, unchanged. */
HELPER u32 rt_text_case(const char *s, u64 left, int change, u32 *n)
{
    const u32 a = (u8)s[0], b = left > 1 ? (u8)s[1] : 0;
    u32 c = a;
    *n = 1;
    if (a >= 0xC3 && a <= 0xD1 && (b & 0xC0) == 0x80) {
        *n = 2;
        c = (a & 31) << 6 | (b & 63);
    } else if (a > 127)
        return c;
    if (change < 0) {
        if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) ||
            (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) || (c >= 0x410 && c <= 0x42F))
            c += 32;
        else if (c >= 0x400 && c <= 0x40F)
            c += 80;
    } else if (change > 0) {
        if ((c >= 'a' && c <= 'z') || (c >= 0xE0 && c <= 0xFE && c != 0xF7) ||
            (c >= 0x3B1 && c <= 0x3C9 && c != 0x3C2) || (c >= 0x430 && c <= 0x44F))
            c -= 32;
        else if (c >= 0x450 && c <= 0x45F)
            c -= 80;
    }
    return c;
}

/* Writes s in another case, with the same number of bytes. */
HELPER void rt_text_change(char *y, str s, int change)
{
    u32 n;
    for (u64 i = 0; i < s.length; i += n) {
        const u32 c = rt_text_case(s.text + i, s.length - i, change, &n);
        if (n == 2) {
            y[i] = (char)(0xC0 | c >> 6);
            y[i + 1] = (char)(0x80 | (c & 63));
        } else
            y[i] = (char)c;
    }
}

HELPER int rt_text_same(str a, str b, int fold)
{
    u32 n, m;
    if (a.length != b.length)
        return 0;
    for (u64 i = 0; i < a.length; i += n)
        if (rt_text_case(a.text + i, a.length - i, fold ? -1 : 0, &n) !=
            rt_text_case(b.text + i, b.length - i, fold ? -1 : 0, &m))
            return 0;
    return 1;
}

HELPER int rt_text_space(char c) { return c == ' ' || (c >= 9 && c <= 13); }

/* The next piece of s from *at on; with an empty mark: words separated by spaces. False: none. */
HELPER int rt_text_next(str s, str mark, u64 *at, int last, str *piece)
{
    u64 i = *at, from;
    if (!mark.length) {
        while (i < s.length && rt_text_space(s.text[i]))
            i++;
        if (i == s.length)
            return 0;
        from = i;
        while (i < s.length && (last || !rt_text_space(s.text[i])))
            i++;
        piece->length = i - from;
        *at = i;
    } else {
        if (i > s.length || !s.length)
            return 0;
        from = i;
        for (; !last && i + mark.length <= s.length; i++) {
            u64 k = 0;
            while (k < mark.length && s.text[i + k] == mark.text[k])
                k++;
            if (k == mark.length)
                break;
        }
        if (last || i + mark.length > s.length)
            i = s.length;
        piece->length = i - from;
        *at = i == s.length ? s.length + 1 : i + mark.length;
    }
    piece->text = s.text ? s.text + from : s.text;
    return 1;
}
#endif
