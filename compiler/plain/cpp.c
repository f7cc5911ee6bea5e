/* cpp.c - C's preprocessor, as far as our own headers need it. The text is no model's, so that what it does not know is
 * a bug of ours. Names of compilers and processors are not defined. */
#include <ctype.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/say.h"
#include "plain/syntax.h"
#include "plain/cpp.h"

typedef struct Condition {
    bool taken, now; /* has a group been taken; is this one */
} Condition;
typedef struct Cpp {
    Map macros, headers;
    VEC(const char *) system;
    VEC(Condition) conditions;
    IncludedText *included;
    bool declared;
} Cpp;
PART(Cpp, cpp)

/* ---- macros ------------------------------------------------------------------------------------------------------ */

static bool is_hidden(const Token *t, const Macro *m)
{
    for (const Hidden *h = t->hidden; h; h = h->next)
        if (h->macro == m)
            return true;
    return false;
}

static Macro *macro_of(const Token *t)
{
    Macro *m = t->kind == TOKEN_NAME ? map_get(&cpp()->macros, t->s) : NULL;
    if (!m || m->is_undefined)
        return NULL;
    return is_hidden(t, m) ? NULL : m;
}

static bool is(const Token *t, const char *s) { return t->kind != TOKEN_STRING && !strcmp(t->s, s); }

static Token *copy(const Token *t)
{
    Token *c = NEW(Token);
    *c = *t;
    c->next = NULL;
    return c;
}

typedef struct Tokens { /* a list that grows at its end */
    Token *first, *last;
} Tokens;

static void append(Tokens *l, Token *t)
{
    t->next = NULL;
    if (l->last)
        l->last->next = t;
    else
        l->first = t;
    l->last = t;
}

static void append_copies(Tokens *l, const Token *t)
{
    for (; t; t = t->next)
        append(l, copy(t));
}

static bool expand(Token **t, const Macro *m);

/* A list without directives, with its macros expanded. */
static Token *expanded(const Token *list)
{
    Tokens in = {0}, out = {0};
    append_copies(&in, list);
    for (Token *t = in.first; t;) {
        const Macro *m = macro_of(t);
        if (m && expand(&t, m))
            continue;
        Token *next = t->next;
        append(&out, t);
        t = next;
    }
    return out.first;
}

/* The arguments of a call, from the token after its ( on; returns its ). */
static Token *read_arguments(Token *t, const Macro *m, Tokens *argument)
{
    int depth = 0, i = 0;
    for (; depth || !is(t, ")"); t = t->next) {
        if (t->kind == TOKEN_END)
            bug("plain: %s( is not closed", m->name);
        if (is(t, ",") && !depth && !(m->is_variadic && i == m->parameters.n - 1)) {
            if (++i >= m->parameters.n)
                bug("plain: %s has too many arguments", m->name);
            continue;
        }
        depth += is(t, "(") - is(t, ")");
        append(&argument[i], copy(t));
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

/* Appends the first of `list` to the last token so far, as one token, then the others. */
static void paste(Tokens *out, const Token *list)
{
    if (!list)
        return;
    if (out->last) {
        const char *joined = text_format("%s%s", out->last->s, list->s);
        const Hidden *hidden = out->last->hidden;
        *out->last = *copy(token_of(joined));
        out->last->hidden = hidden;
        list = list->next;
    }
    append_copies(out, list);
}

/* The body of m with its arguments. */
static Token *substitute(const Macro *m, const Tokens *argument)
{
    Tokens out = {0}, part = {0}; /* part: what ## joins */
    for (const Token *t = m->body; t; t = t->next) {
        const int i = parameter_of(m, t);
        const bool joined = t->next && is(t->next, "##");
        Tokens piece = {0};
        if (i < 0)
            append(&piece, copy(t));
        else
            append_copies(&piece,
                          joined || part.first || t->after_paste ? argument[i].first : expanded(argument[i].first));
        paste(&part, piece.first);
        if (joined) {
            t = t->next;
            if (t->next)
                t->next->after_paste = true;
            continue;
        }
        append_copies(&out, part.first);
        part = (Tokens){0};
    }
    return out.first;
}

/* Replaces the macro at *at by what it becomes, before what follows; false: it is no call of a function-like macro. */
static bool expand(Token **at, const Macro *m)
{
    const Token *t = *at;
    Tokens argument[MACRO_PARAMETERS] = {{0}}, out = {0};
    Token *rest = t->next;
    const Token *end = t;
    if (m->is_function) {
        if (!rest || !is(rest, "("))
            return false;
        end = read_arguments(rest->next, m, argument);
        rest = end->next;
    }
    append_copies(&out, substitute(m, argument));
    for (Token *r = out.first; r; r = r->next) {
        Hidden *h = NEW(Hidden);
        *h = (Hidden){m, r->hidden};
        r->hidden = h;
        for (const Hidden *k = t->hidden; k; k = k->next) {
            if (!is_hidden(end, k->macro)) /* what hides at both ends of the call hides in its result */
                continue;
            Hidden *again = NEW(Hidden);
            *again = (Hidden){k->macro, r->hidden};
            r->hidden = again;
        }
        r->first = false;
        r->before = r->after = NULL;
    }
    *at = out.first ? out.first : rest;
    if (out.first) {
        out.first->before = t->before;
        out.last->next = rest;
    }
    return true;
}

/* ---- directives -------------------------------------------------------------------------------------------------- */

/* The tokens of the line that begins at *t; *t becomes the first token of the next line. */
static Token *read_line(Token **t)
{
    Tokens line = {0};
    do {
        Token *next = (*t)->next;
        append(&line, *t);
        *t = next;
    } while ((*t)->kind != TOKEN_END && !(*t)->first);
    return line.first;
}

static void define(const Token *t)
{
    Macro *m = NEW(Macro);
    m->name = t->s;
    const Token *body = t->next;
    if (body && is(body, "(") && body->touches) {
        m->is_function = true;
        for (body = body->next; !is(body, ")"); body = body->next) {
            if (is(body, ","))
                continue;
            m->is_variadic = is(body, "...");
            vec_push(&m->parameters, m->is_variadic ? symbol("__VA_ARGS__", 11) : body->s);
        }
        body = body->next;
    }
    if (m->parameters.n > MACRO_PARAMETERS)
        bug("plain: %s has too many parameters", m->name);
    Tokens copies = {0};
    append_copies(&copies, body);
    for (Token *c = copies.first; c; c = c->next)
        c->before = c->after = NULL;
    m->body = copies.first;
    map_put(&cpp()->macros, m->name, m);
}

static void undefine(const char *name)
{
    Macro *m = map_get(&cpp()->macros, name);
    if (m)
        m->is_undefined = true;
}

static bool is_defined(const Token *t)
{
    const Macro *m = map_get(&cpp()->macros, t->s);
    return m && !m->is_undefined;
}

/* The line with `defined X` replaced by 0 or 1, then expanded. */
static Token *condition_tokens(const Token *line)
{
    Tokens out = {0};
    for (const Token *t = line; t; t = t->next) {
        if (!is(t, "defined")) {
            append(&out, copy(t));
            continue;
        }
        t = t->next;
        const bool parentheses = is(t, "(");
        t = parentheses ? t->next : t;
        append(&out, copy(token_of(is_defined(t) ? "1" : "0")));
        t = parentheses ? t->next : t;
    }
    return expanded(out.first);
}

static int64_t evaluate(Token **t, int level);

static int64_t evaluate_operand(Token **t)
{
    Token *o = *t;
    if (!o)
        bug("plain: an #if ends early");
    *t = o->next;
    if (is(o, "!"))
        return !evaluate_operand(t);
    if (is(o, "-"))
        return -evaluate_operand(t);
    if (!is(o, "("))
        return o->kind == TOKEN_NUMBER ? strtoll(o->s, NULL, 0) : 0;
    const int64_t v = evaluate(t, 0);
    *t = *t ? (*t)->next : NULL;
    return v;
}

static const char *const levels[][5] = {{"||"},     {"&&"},    {"|"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="},
                                        {"+", "-"}, {"*", "/"}};
enum { LEVELS = sizeof levels / sizeof *levels };

static int64_t apply(const char *op, int64_t a, int64_t b)
{
    switch (op[0]) {
    case '|': return op[1] ? a || b : a | b;
    case '&': return op[1] ? a && b : a & b;
    case '=': return a == b;
    case '!': return a != b;
    case '<': return op[1] ? a <= b : a < b;
    case '>': return op[1] ? a >= b : a > b;
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: return b ? a / b : 0;
    }
}

static int64_t evaluate(Token **t, int level)
{
    if (level == LEVELS)
        return evaluate_operand(t);
    int64_t v = evaluate(t, level + 1);
    for (bool found = true; found && *t;) {
        found = false;
        for (int i = 0; i < 5 && levels[level][i] && !found && *t; i++)
            if (is(*t, levels[level][i])) {
                *t = (*t)->next;
                v = apply(levels[level][i], v, evaluate(t, level + 1));
                found = true;
            }
    }
    return v;
}

static bool is_true(const Token *line)
{
    Token *t = condition_tokens(line);
    return evaluate(&t, 0) != 0;
}

static bool is_skipped(void)
{
    for (int i = 0; i < cpp()->conditions.n; i++)
        if (!cpp()->conditions.at[i].now)
            return true;
    return false;
}

static void begin_condition(bool yes) { vec_push(&cpp()->conditions, ((Condition){yes, yes})); }

/* Handles a directive about conditions; false: it is another. */
static bool change_condition(const Token *d)
{
    const bool skipped = is_skipped();
    Condition *c = cpp()->conditions.n ? &cpp()->conditions.at[cpp()->conditions.n - 1] : NULL;
    if (is(d, "if"))
        begin_condition(!skipped && is_true(d->next));
    else if (is(d, "ifdef"))
        begin_condition(!skipped && is_defined(d->next));
    else if (is(d, "ifndef"))
        begin_condition(!skipped && !is_defined(d->next));
    else if (is(d, "endif"))
        cpp()->conditions.n--;
    else if (is(d, "elif") || is(d, "else")) {
        c->now = false; /* the outer ones decide whether the line is looked at */
        cpp()->conditions.n--;
        c->now = !c->taken && !is_skipped() && (is(d, "else") || is_true(d->next));
        cpp()->conditions.n++;
        c->taken |= c->now;
    } else
        return false;
    return true;
}

/* The tokens of an included header before those that follow. */
static Token *include(const Token *name, Token *rest)
{
    if (is(name, "<")) {
        Text t = {0};
        for (name = name->next; !is(name, ">"); name = name->next)
            text_put(&t, "%s", name->s);
        for (int i = 0; i < cpp()->system.n; i++)
            if (!strcmp(cpp()->system.at[i], t.s))
                return rest;
        vec_push(&cpp()->system, t.s);
        return rest;
    }
    const char *file = symbol(name->s + 1, strlen(name->s) - 2), *text = cpp()->included(file);
    if (!text)
        return rest;
    Token *first = tokenise(text), *last = first;
    if (first->kind == TOKEN_END)
        return rest;
    while (last->next->kind != TOKEN_END)
        last = last->next;
    last->next = rest;
    return first;
}

/* Obeys the directive at t; returns the token after it. */
static Token *directive(Token *t)
{
    const Token *line = read_line(&t), *d = line->next;
    if (!d || change_condition(d) || is_skipped() || is(d, "pragma"))
        return t;
    if (is(d, "include"))
        return include(d->next, t);
    if (is(d, "define"))
        cpp()->declared && d->next->next ? (void)0 : define(d->next); /* of a header, its guards alone */
    else if (is(d, "undef"))
        undefine(d->next->s);
    else
        bug("plain: #%s", d->s);
    return t;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

Token *cpp_tokens(const char *text, IncludedText *included, bool declared)
{
    Tokens out = {0};
    cpp()->included = included;
    cpp()->declared = declared;
    Token *t = tokenise(text);
    while (t->kind != TOKEN_END) {
        if (t->first && is(t, "#")) {
            t = directive(t);
            continue;
        }
        if (is_skipped()) {
            read_line(&t);
            continue;
        }
        const Macro *m = macro_of(t);
        if (m && expand(&t, m))
            continue;
        Token *next = t->next;
        append(&out, t);
        t = next;
    }
    append(&out, t);
    return out.first;
}

const char *cpp_system_headers(void)
{
    Text t = {0};
    for (int i = 0; i < cpp()->system.n; i++)
        text_put(&t, "#include <%s>\n", cpp()->system.at[i]);
    return t.s ? t.s : "";
}
