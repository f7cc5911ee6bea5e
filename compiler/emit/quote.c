/* quote.c - the only file that puts a model's bytes into the output: names, strings and sizes as comments, literals,
 * identifiers and JSON. No other file that prints C can access the bytes of a Name (emit.h). */
#include "ir/symbol.h"

#include <ctype.h>

#define QUOTE_C
#include "emit/emit.h"

enum { LONGEST_COMMENT = 200, LONGEST_IDENTIFIER = 24, LONGEST_PREFIX = 63 };

/* Names may be long, and printf is slow: characters are put one by one without it. */
static void put_char(Text *t, unsigned char c) { text_bytes(t, &c, 1); }

/* c in `digits` digits of `bits` bits, after at most two other characters. */
static void put_code(Text *t, const char *before, int digits, int bits, uint32_t c)
{
    char s[8];
    size_t n = strlen(before);
    memcpy(s, before, n);
    while (digits-- > 0)
        s[n++] = "0123456789abcdef"[(c >> digits * bits) & ((1U << bits) - 1)];
    text_bytes(t, s, n);
}

static bool is_printable(unsigned char c) { return c >= 32 && c <= 126; }

/* Escapes a star at either end, too: with a slash before or after it, it would begin or end a comment. */
static void put_comment(Text *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n && i < LONGEST_COMMENT; i++) {
        unsigned char c = (unsigned char)s[i];
        bool at_end = i == 0 || i + 1 == n || i + 1 == LONGEST_COMMENT;
        bool closes = (c == '/' && i && s[i - 1] == '*') || (c == '*' && (at_end || s[i - 1] == '/'));
        if (is_printable(c) && c != '\\' && c != '?' && !closes)
            put_char(t, c);
        else
            put_code(t, "\\x", 2, 4, c);
    }
}

/* In quotes of any shell. Characters that would begin or end a comment together, or a trigraph, get quotes of their
 * own. */
static void put_quotes(Text *t, const char *s, size_t n)
{
    text_put(t, "'");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\'')
            text_bytes(t, "'\\'", 3);
        else if (i && strchr("*/?", s[i]) && strchr("*/?", s[i - 1]))
            text_bytes(t, "''", 2);
        put_char(t, (unsigned char)s[i]);
    }
    text_put(t, "'");
}

/* A word of the shell: as it is, in quotes, or, with bytes that are not printable, with escapes as in C, which bash,
 * zsh and the newest standard of the shell know. It neither ends nor begins a comment. */
static void put_shell(Text *t, const char *s, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./=,:@%+-";
    bool quoted = !n, escaped = false;
    for (size_t i = 0; i < n; i++) {
        quoted |= !s[i] || !strchr(plain, s[i]);
        escaped |= !is_printable((unsigned char)s[i]);
    }
    if (quoted && !escaped) {
        put_quotes(t, s, n);
        return;
    }
    text_put(t, escaped ? "$'" : "");
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (!escaped || (is_printable(c) && !strchr("'*?\\", c)))
            put_char(t, c);
        else
            put_code(t, "\\x", 2, 4, c);
    }
    text_put(t, escaped ? "'" : "");
}

static void put_literal(Text *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (is_printable(c) && c != '\\' && c != '"' && c != '?')
            put_char(t, c);
        else
            put_code(t, "\\", 3, 3, c);
    }
}

static void put_numbers(Text *t, const char *s, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const int c = (signed char)s[k], size = c < 0 ? -c : c;
        const char word[] = {(char)('0' + size / 100), (char)('0' + size / 10 % 10), (char)('0' + size % 10), ','};
        const size_t zeros = size < 10 ? 2 : size < 100 ? 1 : 0;
        text_bytes(t, "\n    ", k % 20 ? 0 : 5);
        text_bytes(t, "-", c < 0);
        text_bytes(t, word + zeros, sizeof word - zeros);
    }
}

static bool is_literal_in_json(unsigned char c) { return is_printable(c) && c != '"' && c != '\\' && c != '<'; }

/* A JSON string in ASCII, which may be part of a page: without <. Bytes that are not UTF-8 become U+FFFD. */
static void put_json(Text *t, const char *s, size_t n)
{
    text_put(t, "\"");
    for (size_t i = 0; i < n;) {
        const size_t from = i; /* the names of models are long at times: not byte by byte */
        while (i < n && is_literal_in_json((unsigned char)s[i]))
            i++;
        text_bytes(t, s + from, i - from);
        if (i == n)
            break;
        uint32_t c = 0xFFFD;
        const int k = utf8_sequence(s + i, n - i, &c);
        i += k ? (size_t)k : 1;
        if (c >= 0x10000) {
            put_code(t, "\\u", 4, 4, 0xD7C0 + (c >> 10));
            put_code(t, "\\u", 4, 4, 0xDC00 + (c & 0x3FF));
        } else if (c == '"' || c == '\\') {
            put_char(t, '\\');
            put_char(t, (unsigned char)c);
        } else
            put_code(t, "\\u", 4, 4, c);
    }
    text_put(t, "\"");
}

/* An identifier, which does not start with a digit or an underscore. */
static void put_identifier(Text *t, const char *s, size_t n, size_t longest)
{
    size_t start = t->n, end = start + longest;
    bool gap = false;
    for (size_t i = 0; i < n && t->n < end; i++) {
        unsigned char c = (unsigned char)s[i];
        if (isalnum(c) && c < 128) {
            if (gap && t->n > start)
                text_put(t, "_");
            if (t->n == start && isdigit(c))
                text_put(t, "v");
            text_put(t, "%c", c);
            gap = false;
        } else
            gap = true;
    }
    if (t->n == start)
        text_put(t, "v");
}

/* The last components of a path that is too long, which are most specific. */
static const char *last_parts(const char *s, size_t n)
{
    if (n > LONGEST_IDENTIFIER)
        for (const char *p = s + n - LONGEST_IDENTIFIER; p < s + n; p++)
            if (*p == '/' || *p == '.' || *p == ':')
                return p + 1;
    return s;
}

static size_t without_extension(const char *s, size_t n)
{
    for (size_t i = n; i > 1; i--)
        if (s[i - 1] == '.')
            return i - 1;
    return n;
}

static void put_bytes(Text *t, const char *s, size_t n, Quote as)
{
    const char *from = last_parts(s, n);
    switch (as) {
    case IN_COMMENT: put_comment(t, s, n); break;
    case IN_SHELL: put_shell(t, s, n); break;
    case IN_LITERAL: put_literal(t, s, n); break;
    case IN_NUMBERS: put_numbers(t, s, n); break;
    case IN_JSON: put_json(t, s, n); break;
    case IDENTIFIER: put_identifier(t, from, (size_t)(s + n - from), LONGEST_IDENTIFIER); break;
    case PREFIX: put_identifier(t, s, without_extension(s, n), LONGEST_PREFIX); break;
    }
}

void put_quoted(Text *t, Name n, Quote as) { put_bytes(t, n ? n->s : "", n ? n->n : 0, as); }

const char *c_comment(Name n)
{
    Text t = {0};
    text_put(&t, "%s", "");
    put_quoted(&t, n, IN_COMMENT);
    return t.s;
}

const char *c_shell(Name n)
{
    Text t = {0};
    put_quoted(&t, n, IN_SHELL);
    return t.s;
}

const char *c_tail(Name n, size_t width)
{
    size_t skip = n && n->n > width ? n->n - width : 0;
    const char *s = c_comment(n ? name_bytes(n->s + skip, n->n - skip) : NULL);
    size_t shown = strlen(s);
    return shown <= width && !skip ? s : text_format("..%s", s + (shown > width - 2 ? shown - (width - 2) : 0));
}

bool is_includable(const char *file)
{
    return !strcmp(printable(name(file)), file) && !strpbrk(file, "\"\\") && !strstr(file, "??");
}

Name node_operator(const Node *n)
{
    const Source *s = n->source;
    return s && s->op_type && s->op_type->n && s->name == n->name ? s->op_type : name(n->op->name);
}

uint32_t name_length(Name n) { return n ? n->n : 0; }

Name name_element(Name n, int i) { return name_format("%s_%d", n ? n->s : "size", i); }

Name name_scratch(Name n) { return name_format("%s_scratch", n && n->n ? n->s : "v"); }

/* The text of a size; "..." for a long one, which is not written to be measured if its symbols alone are too many. */
static const char *short_size(Dim d)
{
    enum { LONG = 40 };
    int least = -1; /* each symbol takes a character, and another one beside the next symbol */
    EACH_SYMBOL (s, d)
        least += 2;
    const char *const text = least > LONG ? NULL : dim_text(d);
    return text && strlen(text) <= LONG ? text : "...";
}

const char *c_shape(Shape s)
{
    Text t = {0};
    for (int i = 0; i < s.rank; i++)
        text_put(&t, "%s%s", i ? "," : "", short_size(s.dim[i]));
    return s.rank < 0 ? "[?]" : text_format("[%s]", t.s ? c_comment(name(t.s)) : "");
}
