/* nearest.c - the known name nearest to an unknown one: with the smallest edit distance, without regard to case. */
#include "base/nearest.h"

#include <ctype.h>

#include "base/error.h"

enum { LONGEST = 64, FAR = 1000 }; /* the longest difference of two names that are compared */

static int low(char c) { return tolower((unsigned char)c); }
static int min(int a, int b) { return a < b ? a : b; }

/* Insertions, deletions, replacements, and swaps of neighbours, that make a of b. */
static int edits(const char *a, int n, const char *b, int m)
{
    int rows[3][LONGEST + 1];
    for (int i = 0; i <= n; i++)
        for (int k = 0; k <= m; k++) {
            int *const to = &rows[i % 3][k], *const above = rows[(i + 2) % 3];
            if (!i || !k) {
                *to = i + k;
                continue;
            }
            *to = min(min(above[k], to[-1]) + 1, above[k - 1] + (low(a[i - 1]) != low(b[k - 1])));
            if (i > 1 && k > 1 && low(a[i - 1]) == low(b[k - 2]) && low(a[i - 2]) == low(b[k - 1]))
                *to = min(*to, rows[(i + 1) % 3][k - 2] + 1);
        }
    return rows[n % 3][m];
}

/* Names may be long, but what they have in common at both ends costs nothing. */
static int distance(const char *a, size_t n, const char *b, size_t m)
{
    while (n && m && low(*a) == low(*b))
        a++, b++, n--, m--;
    while (n && m && low(a[n - 1]) == low(b[m - 1]))
        n--, m--;
    return n > LONGEST || m > LONGEST ? FAR : edits(a, (int)n, b, (int)m);
}

Nearest nearest_to(const char *wanted, size_t n) { return (Nearest){wanted, NULL, n, 0, n < 6 ? 1 : n < 9 ? 2 : 3}; }

void nearest_try(Nearest *f, const char *s, size_t n)
{
    const size_t longer = n > f->n ? n - f->n : f->n - n;
    const int d = n && longer <= (size_t)f->distance ? distance(f->wanted, f->n, s, n) : FAR;
    if (d > f->distance || (size_t)d >= (n > f->n ? n : f->n))
        return;
    if (d == f->distance && f->best) {
        const int order = memcmp(s, f->best, n < f->best_n ? n : f->best_n);
        if (order > 0 || (order == 0 && n >= f->best_n))
            return;
    }
    f->best = s;
    f->best_n = n;
    f->distance = d;
}

void nearest_try_words(Nearest *f, const char *words)
{
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        nearest_try(f, words, n);
    }
}

bool nearest_help(const Nearest *f)
{
    if (f->best)
        note_help("did you mean '%s'?", printable(name_bytes(f->best, f->best_n)));
    return f->best;
}
