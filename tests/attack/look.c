/* look.c - checks onnxcc's output: the C has no text of the model outside comments and strings, and its brackets match;
 * messages have no control sequences of a terminal. */
#include "mutate.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void found(const char *what, const char *s, size_t n, size_t at)
{
    const size_t from = at > 100 ? at - 100 : 0;
    fprintf(stderr, "%s at byte %zu: %.*s\n", what, at, (int)(n - from < 200 ? n - from : 200), s + from);
    abort();
}

/* ---- C ----------------------------------------------------------------------------------------------------------- */

/* The byte after the comment, string or character that begins at i; i: none begins there; n: it has no end. */
static size_t skip_dead(const char *s, size_t n, size_t i)
{
    if (s[i] == '/' && i + 1 < n && (s[i + 1] == '*' || s[i + 1] == '/')) {
        const char *end = s[i + 1] == '*' ? memmem(s + i + 2, n - i - 2, "*/", 2) : memchr(s + i, '\n', n - i);
        return end ? (size_t)(end - s) + (s[i + 1] == '*' ? 2 : 0) : n;
    }
    if (s[i] != '"' && s[i] != '\'')
        return i;
    for (size_t k = i + 1; k < n && s[k] != '\n'; k++) {
        if (s[k] == s[i])
            return k + 1;
        k += s[k] == '\\';
    }
    return n;
}

void check_c(const char *s, size_t n)
{
    static const char mark[] = LIVE_MARK;
    char open[256];
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        if ((s[i] < ' ' && s[i] != '\n') || s[i] > '~' || (s[i] == '?' && i + 1 < n && s[i + 1] == '?'))
            found("a byte that C does not have", s, n, i);
    }
    for (size_t i = 0, next; i < n; i = next) {
        next = skip_dead(s, n, i);
        if (next == n)
            found("a comment or string without an end", s, n, i);
        if (next > i)
            continue;
        next = i + 1;
        if (strchr("([{", s[i]) && depth < sizeof open)
            open[depth++] = s[i] == '(' ? ')' : s[i] == '[' ? ']' : '}';
        else if (strchr(")]}", s[i]) && (!depth || open[--depth] != s[i]))
            found("a bracket without another", s, n, i);
        else if (s[i] == mark[0] && n - i >= sizeof mark - 1 && !memcmp(s + i, mark, sizeof mark - 1))
            found("live text", s, n, i);
    }
    if (depth)
        found("open brackets", s, n, n);
}

/* ---- a terminal -------------------------------------------------------------------------------------------------- */

static bool is_shown(uint32_t c)
{
    const bool direction = c == 0x61C || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
                           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
    return c == '\n' || (c >= ' ' && c < 0x7F) ||
           (c > 0x9F && c < 0x110000 && !direction && (c < 0xD800 || c > 0xDFFF));
}

void check_shown(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const unsigned char *b = (const unsigned char *)s + i;
        const size_t k = *b < 0x80 ? 1 : *b >= 0xF0 ? 4 : *b >= 0xE0 ? 3 : 2;
        if (k > n - i) /* a character cut off at the end of a part */
            return;
        uint32_t c = k == 1 ? *b : *b & (0x7Fu >> k);
        for (size_t j = 1; j < k; j++)
            c = c << 6 | (b[j] & 0x3F);
        if (!is_shown(c))
            found("a terminal would obey", s, n, i);
        i += k;
    }
}
