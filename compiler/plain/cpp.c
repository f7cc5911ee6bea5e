/* cpp.c - C's preprocessor, as far as our own headers need it: they are its only input, so an unknown construct is a
 * bug of ours. Macros that compilers define for themselves and for processors are not defined. */
#include "base/fail.h"
#include "plain/cpp.h"

typedef struct Condition {
    bool taken, now; /* taken: one of its groups was taken; now: the current one is */
} Condition;
typedef struct Cpp {
    VEC(const char *) system;
    VEC(Condition) conditions;
    IncludedText *included;
    bool declared;
} Cpp;
PART(Cpp, cpp)

static Definedness is_defined(const char *name) { return macro_named(name) ? DEFINED_YES : DEFINED_NO; }

/* ---- directives -------------------------------------------------------------------------------------------------- */

static bool is_skipped(void)
{
    for (int i = 0; i < cpp()->conditions.n; i++)
        if (!cpp()->conditions.at[i].now)
            return true;
    return false;
}

static void begin_condition(bool yes) { vec_push(&cpp()->conditions, ((Condition){yes, yes})); }

/* Handles #if, #ifdef, #ifndef, #elif, #else and #endif; false: it is another directive. */
static bool change_condition(const Token *d)
{
    const bool skipped = is_skipped();
    Condition *c = cpp()->conditions.n ? &cpp()->conditions.at[cpp()->conditions.n - 1] : NULL;
    if (token_is(d, "if"))
        begin_condition(!skipped && condition(d->next, is_defined).v);
    else if (token_is(d, "ifdef"))
        begin_condition(!skipped && macro_named(d->next->s));
    else if (token_is(d, "ifndef"))
        begin_condition(!skipped && !macro_named(d->next->s));
    else if (token_is(d, "endif"))
        cpp()->conditions.n--;
    else if (token_is(d, "elif") || token_is(d, "else")) {
        c->now = false; /* only the outer conditions decide whether this line is evaluated */
        cpp()->conditions.n--;
        c->now = !c->taken && !is_skipped() && (token_is(d, "else") || condition(d->next, is_defined).v);
        cpp()->conditions.n++;
        c->taken |= c->now;
    } else
        return false;
    return true;
}

/* The tokens of an included header, then `rest`. */
static Token *include(const Token *name, Token *rest)
{
    if (token_is(name, "<")) {
        Text t = {0};
        for (name = name->next; !token_is(name, ">"); name = name->next)
            text_put(&t, "%s", name->s);
        for (int i = 0; i < cpp()->system.n; i++)
            if (!strcmp(cpp()->system.at[i], t.s))
                return rest;
        vec_push(&cpp()->system, t.s);
        return rest;
    }
    const char *file = intern(name->s + 1, strlen(name->s) - 2), *text = cpp()->included(file);
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
    if (!d || change_condition(d) || is_skipped() || token_is(d, "pragma"))
        return t;
    if (token_is(d, "include"))
        return include(d->next, t);
    if (token_is(d, "define"))
        cpp()->declared && d->next->next ? (void)0
                                         : macro_define(d->next); /* of the declared header, only include guards */
    else if (token_is(d, "undef"))
        macro_undefine(d->next->s);
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
        if (t->first && token_is(t, "#")) {
            t = directive(t);
            continue;
        }
        if (is_skipped()) {
            read_line(&t);
            continue;
        }
        move_expanded(&t, &out, false);
    }
    tokens_append(&out, t);
    return out.first;
}

const char *cpp_system_headers(void)
{
    Text t = {0};
    for (int i = 0; i < cpp()->system.n; i++)
        text_put(&t, "#include <%s>\n", cpp()->system.at[i]);
    return t.s ? t.s : "";
}
