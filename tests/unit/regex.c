/* regex.c - unit tests of compiler/base/regex.c: patterns with the results of RE2's syntax; random patterns, compared
 * with the C library.
 * Parts: base/regex, base/regex_parse. */
#include <regex.h>
#include "unit.h"

#include "onnxcc.h"
#include "base/regex.h"

/* cmocka's fail(), whose name the compiler's function has. */
#define FAIL_TEST(...) (print_error(__VA_ARGS__), _fail(__FILE__, __LINE__))

static bool accepts(const Regex *r, const char *text)
{
    int state = r->start;
    for (; *text; text++)
        state = r->table[256 + state * r->classes + r->table[(unsigned char)*text]];
    return state >= r->accept;
}

static const struct {
    const char *pattern, *yes, *no; /* texts apart by a space; an empty word is the empty text */
} rows[] = {
    {"", "", "a"},
    {"abc", "abc", " ab abcd"},
    {"a*", " a aaa", "b aab"},
    {"a+?b", "ab aab", "b a"},
    {"(?:ab){2,3}", "abab ababab", "ab abababab aba"},
    {"x{2}", "xx", "x xxx"},
    {"x{2,}", "xx xxxxx", "x"},
    {"[a-c]\\d", "a0 c9", "d0 a ab"},
    {"[^a-c]", "d \xC3\xA4 \xE2\x82\xAC", "a dd"},
    {".", "x \xC3\xA4 \xF0\x9F\x98\x80", "xx"},
    {"\\w+@\\w+\\.com", "me@here.com", "me@here,com @here.com"},
    {"a|bc|", "a bc ", "b abc"},
    {"(?i)StraSSe", "strasse STRASSE", "strase"},
    {"[[:alpha:]]+[[:digit:]]?", "ab ab1", "1 ab12"},
    {"\\x41\\x{42}", "AB", "ab"},
    {"\\Qa.b|)\\E+c\\Q*", "a.b|)c* a.b|)))c*", "axb|)c* a.b|)cc"},
    {"(?i)\\QK\\E[r-t]", "ks \xE2\x84\xAA\xC5\xBF", "kk"},
    {"^a$", "a", "aa"},
    {"\\bab\\b", "ab", "xab"},
    {"[]a]+", "] a]", "b"},
    {"\xC3\xA4+", "\xC3\xA4\xC3\xA4", "\xC3"},
};

static const char *const wrong[] = {"(",     "a)", "[a",    "*",   "a{3,2}", "\\1",
                                    "(?=a)", "\\", "[b-a]", "a**", "(?P<n",  "\\C"};

static void each_word(const Regex *r, const char *pattern, const char *words, bool expected)
{
    char text[100];
    for (const char *end; words; words = *end ? end + 1 : NULL) {
        end = words + strcspn(words, " ");
        snprintf(text, sizeof text, "%.*s", (int)(end - words), words);
        if (accepts(r, text) != expected)
            FAIL_TEST("%s: \"%s\" is%s taken\n", pattern, text, expected ? " not" : "");
    }
}

static void patterns_take_whole_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Regex r = regex_compile(name(rows[i].pattern));
        if (r.error)
            FAIL_TEST("%s: %s\n", rows[i].pattern, r.error);
        each_word(&r, rows[i].pattern, rows[i].yes, true);
        each_word(&r, rows[i].pattern, rows[i].no, false);
    }
}

static void wrong_patterns_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!regex_compile(name(wrong[i])).error)
            FAIL_TEST("%s is taken\n", wrong[i]);
}

static uint32_t seed;

static int random_below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

/* A random pattern of the syntax that RE2 and POSIX share. */
static int random_pattern(char *s, int depth)
{
    static const char *const atoms[] = {"a", "b", "c", ".", "[ab]", "[^a]", "[b-c]"};
    static const char *const repeats[] = {"", "", "", "*", "+", "?", "{2}", "{1,3}"};
    int n = 0;
    for (int pieces = 1 + random_below(3); pieces > 0; pieces--) {
        if (depth && !random_below(3)) {
            s[n++] = '(';
            n += random_pattern(s + n, depth - 1);
            s[n++] = '|';
            n += random_pattern(s + n, depth - 1);
            s[n++] = ')';
        } else {
            n += sprintf(s + n, "%s", atoms[random_below(7)]);
        }
        n += sprintf(s + n, "%s", repeats[random_below(8)]);
    }
    return n;
}

/* The table has a maximum number of states, which few patterns may exceed. */
static void random_patterns_as_the_c_library(void **state)
{
    (void)state;
    int patterns = 0;
    for (uint32_t i = 1; i <= 500; i++) {
        seed = i * 7919;
        char pattern[2000], whole[2010], text[10];
        pattern[random_pattern(pattern, 2)] = 0;
        sprintf(whole, "^(%s)$", pattern);
        Regex r = regex_compile(name(pattern));
        if (r.error && !strcmp(r.error, "more than 8000 states"))
            continue;
        patterns++;
        regex_t posix;
        assert_int_equal(regcomp(&posix, whole, REG_EXTENDED | REG_NOSUB), 0);
        assert_null(r.error);
        for (int t = 0; t < 60; t++) {
            int n = random_below(9);
            text[n] = 0;
            while (n)
                text[--n] = (char)('a' + random_below(4));
            if (accepts(&r, text) != !regexec(&posix, text, 0, NULL, 0))
                FAIL_TEST("%s: \"%s\"\n", pattern, text);
        }
        regfree(&posix);
    }
    assert_in_range(patterns, 480, 500);
}

UNIT_TESTS(cmocka_unit_test_setup(patterns_take_whole_texts, fresh_run),
           cmocka_unit_test_setup(wrong_patterns_are_told, fresh_run),
           cmocka_unit_test_setup(random_patterns_as_the_c_library, fresh_run))
