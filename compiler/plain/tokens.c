/* tokens.c - reads the tokens of C, with the comments before and after them. */
#include <ctype.h>

#include "base/fail.h"
#include "plain/cpp.h"

const char *intern(const char *s, size_t n) { return name_bytes(s, n)->s; }

typedef struct TokenReader {
    const char *at;
    bool first, touches;
    const char *gap;    /* the end of the last token */
    const char *before; /* the comments since the last token */
    Token *last;
} TokenReader;

/* Reads a comment, which belongs to the token before it on its line, or else to the next token. */
static void read_comment(TokenReader *r)
{
    const char *end = strstr(r->at + 2, "*/");
    if (!end)
        bug("plain: a comment is not closed");
    end += 2;
    const char *s = intern(r->at, (size_t)(end - r->at));
    const bool ruler = strstr(s, "----") != NULL;
    if (!r->first && r->last && end[strspn(end, " ")] == '\n')
        r->last->after = s;
    else if (!ruler)
        r->before = r->before ? text_format("%s\n%s", r->before, s) : s;
    r->at = end;
}

/* Skips white space, and reads comments. */
static void read_space(TokenReader *r)
{
    r->touches = true;
    for (;; r->touches = false)
        if (*r->at == '\n') {
            r->first = true;
            r->at++;
        } else if (*r->at == '\\' && r->at[1] == '\n')
            r->at += 2;
        else if (isspace((unsigned char)*r->at))
            r->at++;
        else if (r->at[0] == '/' && r->at[1] == '*')
            read_comment(r);
        else if (r->at[0] == '/' && r->at[1] == '/')
            r->at += strcspn(r->at, "\n");
        else
            return;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static size_t quoted_length(const char *s)
{
    size_t n = 1;
    for (; s[n] && s[n] != s[0]; n++)
        n += s[n] == '\\' && s[n + 1];
    return n + 1;
}

static size_t number_length(const char *s)
{
    size_t n = 0;
    while (is_word(s[n]) || s[n] == '.' ||
           (n && (s[n] == '+' || s[n] == '-') && strchr("eEpP", s[n - 1]) &&
            !(s[n - 1] != 'p' && s[n - 1] != 'P' && s[1] == 'x')))
        n++;
    return n;
}

static size_t punctuator_length(const char *s)
{
    static const char *const long_ones[] = {"...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
                                            "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"};
    for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++)
        if (!strncmp(s, long_ones[i], strlen(long_ones[i])))
            return strlen(long_ones[i]);
    return 1;
}

/* The white space and comments from `from` on, without the backslashes at the ends of a macro's lines. */
static const char *gap_of(const char *from, const char *to)
{
    const size_t n = (size_t)(to - from);
    if (n < 2)
        return !n ? "" : *from == ' ' ? " " : "\n";
    char *const gap = NEWS(char, n + 1), *at = gap;
    for (; from < to; from++) {
        if (from[0] == '\\' && from[1] == '\n')
            while (at > gap && at[-1] == ' ')
                at--;
        else
            *at++ = *from;
    }
    *at = 0;
    return gap;
}

static Token *read_token(TokenReader *r)
{
    Token *t = NEW(Token);
    const char *s = r->at;
    size_t n = 0;
    if (!*s)
        t->kind = TOKEN_END;
    else if (*s == '"' || *s == '\'') {
        t->kind = TOKEN_STRING;
        n = quoted_length(s);
    } else if (isdigit((unsigned char)*s) || (*s == '.' && isdigit((unsigned char)s[1]))) {
        t->kind = TOKEN_NUMBER;
        n = number_length(s);
    } else if (is_word(*s)) {
        t->kind = TOKEN_NAME;
        while (is_word(s[n]))
            n++;
    } else {
        t->kind = TOKEN_PUNCT;
        n = punctuator_length(s);
    }
    t->s = intern(s, n);
    t->gap = gap_of(r->gap, r->at);
    r->at += n;
    r->gap = r->at;
    t->first = r->first;
    t->touches = r->touches;
    t->before = r->before;
    r->before = NULL;
    r->first = false;
    r->last = t;
    return t;
}

Token *tokenise(const char *text)
{
    TokenReader r = {.at = text, .first = true, .gap = text};
    Token *first = NULL, **to = &first;
    do {
        read_space(&r);
        *to = read_token(&r);
        to = &(*to)->next;
    } while (r.last->kind != TOKEN_END);
    return first;
}

Token *token_of(const char *s)
{
    Token *t = tokenise(s);
    t->next = NULL;
    t->first = false;
    return t;
}

bool token_is(const Token *t, const char *s) { return t->kind != TOKEN_STRING && !strcmp(t->s, s); }

Token *token_copy(const Token *t)
{
    Token *c = NEW_COPY(*t);
    c->next = NULL;
    return c;
}

void tokens_append(Tokens *l, Token *t)
{
    t->next = NULL;
    if (l->last)
        l->last->next = t;
    else
        l->first = t;
    l->last = t;
}

void tokens_append_copies(Tokens *l, const Token *t)
{
    for (; t; t = t->next)
        tokens_append(l, token_copy(t));
}

Token *read_line(Token **t)
{
    Tokens line = {0};
    do {
        Token *next = (*t)->next;
        tokens_append(&line, *t);
        *t = next;
    } while ((*t)->kind != TOKEN_END && !(*t)->first);
    return line.first;
}
