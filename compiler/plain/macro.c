/* macro.c - C's macros: their definitions, and their expansion in lists of tokens. */
#include "base/fail.h"
#include "plain/cpp.h"

PART(Map, macros)

static bool is_hidden(const Token *t, const Macro *m)
{
    for (const Hidden *h = t->hidden; h; h = h->next)
        if (h->macro == m)
            return true;
    return false;
}

Macro *macro_named(const char *name)
{
    Macro *m = map_get(macros(), name);
    return m && !m->is_undefined ? m : NULL;
}

/* The macro that t is expanded by. */
static const Macro *macro_of(const Token *t, bool inside)
{
    const Macro *m = t->kind == TOKEN_NAME ? macro_named(t->s) : NULL;
    return m && !m->is_kept && !(inside && m->is_kept_inside) && !is_hidden(t, m) ? m : NULL;
}

static bool expand(Token **t, const Macro *m, bool inside);

/* Expands the macro at *t, or appends that token to `out`. */
void move_expanded(Token **t, Tokens *out, bool inside)
{
    const Macro *m = macro_of(*t, inside);
    if (m && expand(t, m, inside))
        return;
    Token *next = (*t)->next;
    tokens_append(out, *t);
    *t = next;
}

/* A list without directives, with its macros expanded. */
Token *tokens_expanded(const Token *list, bool inside)
{
    Tokens in = {0}, out = {0};
    tokens_append_copies(&in, list);
    for (Token *t = in.first; t;)
        move_expanded(&t, &out, inside);
    return out.first;
}

/* The arguments of a call, from the token after its ( on; returns its ). */
static Token *read_arguments(Token *t, const Macro *m, Tokens *argument)
{
    int depth = 0, i = 0;
    for (; depth || !token_is(t, ")"); t = t->next) {
        if (t->kind == TOKEN_END)
            bug("plain: %s( is not closed", m->name);
        if (token_is(t, ",") && !depth && !(m->is_variadic && i == m->parameters.n - 1)) {
            if (++i >= m->parameters.n)
                bug("plain: %s has too many arguments", m->name);
            continue;
        }
        depth += token_is(t, "(") - token_is(t, ")");
        tokens_append(&argument[i], token_copy(t));
    }
    return t;
}

static int parameter_of(const Macro *m, const Token *t)
{
    for (int i = 0; i < m->parameters.n && t->kind == TOKEN_NAME; i++)
        if (m->parameters.at[i] == t->s)
            return i;
    return -1;
}

/* The operator ##: joins the last token of `out` and the first of `list`, then appends the others. */
static void paste(Tokens *out, const Token *list)
{
    if (!list)
        return;
    if (out->last) {
        const char *joined = text_format("%s%s", out->last->s, list->s);
        Token *const pasted = token_of(joined);
        pasted->hidden = out->last->hidden;
        pasted->gap = out->last->gap;
        *out->last = *pasted;
        list = list->next;
    }
    tokens_append_copies(out, list);
}

/* The operator #: the text of the tokens as a string. */
static Token *string_of(const Token *list)
{
    Text t = {0};
    text_put(&t, "\"");
    for (const Token *at = list; at; at = at->next) {
        text_put(&t, at != list && *at->gap ? " " : "");
        for (const char *s = at->s; *s; s++)
            text_put(&t, at->kind == TOKEN_STRING && strchr("\"\\", *s) ? "\\%c" : "%c", *s);
    }
    text_put(&t, "\"");
    return token_of(t.s);
}

/* The body of m with the arguments in place of the parameters. */
static Token *substitute(const Macro *m, const Tokens *argument, bool inside)
{
    Tokens out = {0}, part = {0}; /* part: the operands of ## so far, joined */
    for (const Token *t = m->body; t; t = t->next) {
        const bool string = token_is(t, "#") && t->next && parameter_of(m, t->next) >= 0;
        const char *const gap = t->gap;
        t = string ? t->next : t;
        const int i = parameter_of(m, t);
        const bool joined = t->next && token_is(t->next, "##");
        Tokens piece = {0};
        if (string)
            tokens_append(&piece, string_of(argument[i].first));
        else if (i < 0)
            tokens_append(&piece, token_copy(t));
        else
            tokens_append_copies(&piece, joined || part.first || t->after_paste
                                             ? argument[i].first
                                             : tokens_expanded(argument[i].first, inside));
        if (piece.first)
            piece.first->gap = gap;
        paste(&part, piece.first);
        if (joined) {
            t = t->next;
            if (t->next)
                t->next->after_paste = true;
            continue;
        }
        tokens_append_copies(&out, part.first);
        part = (Tokens){0};
    }
    return out.first;
}

/* Replaces macro m at *at, with its arguments, by its expansion; false: m is function-like and no ( follows. */
static bool expand(Token **at, const Macro *m, bool inside)
{
    const Token *t = *at;
    Tokens argument[MACRO_PARAMETERS] = {{0}}, out = {0};
    Token *rest = t->next;
    const Token *end = t;
    if (m->is_function) {
        if (!rest || !token_is(rest, "("))
            return false;
        end = read_arguments(rest->next, m, argument);
        rest = end->next;
    }
    tokens_append_copies(&out, substitute(m, argument, inside));
    for (Token *r = out.first; r; r = r->next) {
        Hidden *h = NEW_COPY((Hidden){m, r->hidden});
        r->hidden = h;
        for (const Hidden *k = t->hidden; k; k = k->next) {
            if (!is_hidden(end, k->macro)) /* macros hidden at both ends of the call are hidden in its result */
                continue;
            Hidden *again = NEW_COPY((Hidden){k->macro, r->hidden});
            r->hidden = again;
        }
        r->first = false;
        r->before = r->after = NULL;
    }
    *at = out.first ? out.first : rest;
    if (out.first) {
        out.first->before = t->before;
        out.first->gap = t->gap;
        out.last->next = rest;
    }
    return true;
}

Macro *macro_define(const Token *t)
{
    Macro *m = NEW(Macro);
    m->name = t->s;
    const Token *body = t->next;
    if (body && token_is(body, "(") && body->touches) {
        m->is_function = true;
        for (body = body->next; !token_is(body, ")"); body = body->next) {
            if (token_is(body, ","))
                continue;
            m->is_variadic = token_is(body, "...");
            vec_push(&m->parameters, m->is_variadic ? intern("__VA_ARGS__", 11) : body->s);
        }
        body = body->next;
    }
    if (m->parameters.n > MACRO_PARAMETERS)
        bug("plain: %s has too many parameters", m->name);
    Tokens copies = {0};
    tokens_append_copies(&copies, body);
    for (Token *c = copies.first; c; c = c->next) {
        c->before = c->after = NULL;
        c->gap = strstr(c->gap, "/*") ? " " : c->gap;
    }
    m->body = copies.first;
    map_put(macros(), m->name, m);
    return m;
}

void macro_undefine(const char *name)
{
    Macro *m = map_get(macros(), name);
    if (m)
        m->is_undefined = true;
}
