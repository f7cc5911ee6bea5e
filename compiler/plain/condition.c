/* condition.c - the condition of an #if: its value, or what remains of it when only the C compiler knows some names. */
#include <stdlib.h>

#include "base/fail.h"
#include "plain/cpp.h"

typedef struct Asked {
    Token *at;
    Definedness (*is_defined)(const char *name);
} Asked;

/* The line with its macros expanded, and `defined X` replaced by 0 or 1 where that is known. */
static Token *condition_tokens(const Token *line, Definedness (*is_defined)(const char *name))
{
    Tokens out = {0};
    for (const Token *t = line; t; t = t->next) {
        if (!token_is(t, "defined")) {
            tokens_append(&out, token_copy(t));
            continue;
        }
        const Token *const asks = t;
        t = t->next;
        const bool parentheses = token_is(t, "(");
        t = parentheses ? t->next : t;
        const Definedness is = is_defined(t->s);
        tokens_append(&out, is == DEFINED_MAYBE ? token_copy(asks) : token_of(is == DEFINED_YES ? "1" : "0"));
        if (is == DEFINED_MAYBE)
            tokens_append(&out, token_copy(t));
        t = parentheses ? t->next : t;
    }
    return tokens_expanded(out.first, false);
}

static Answer evaluate(Asked *a, int level);

static const char *text_of(Answer v) { return v.left ? v.left : v.text ? v.text : text_format("%lld", (long long)v.v); }

/* A name that is not a known macro's: 0 in C, unless the C compiler knows it; with the arguments after it. */
static Answer evaluate_name(Asked *a, const Token *name)
{
    const Macro *m = macro_named(name->s);
    if (!(m && m->is_kept) && a->is_defined(name->s) != DEFINED_MAYBE)
        return (Answer){.v = 0};
    const char *left = name->s;
    int depth = 0;
    while (a->at && (depth || token_is(a->at, "("))) {
        depth += token_is(a->at, "(") - token_is(a->at, ")");
        left = text_format("%s%s", left, a->at->s);
        a->at = a->at->next;
    }
    return (Answer){.left = left};
}

static Answer evaluate_operand(Asked *a)
{
    const Token *o = a->at;
    if (!o)
        bug("an #if ends early");
    a->at = o->next;
    if (token_is(o, "!") || token_is(o, "-")) {
        const Answer v = evaluate_operand(a);
        return v.left ? (Answer){.left = text_format("%s%s", o->s, v.left)} : (Answer){.v = *o->s == '!' ? !v.v : -v.v};
    }
    if (token_is(o, "defined")) {
        const char *left = text_format("defined %s", a->at->s);
        a->at = a->at->next;
        return (Answer){.left = left};
    }
    if (o->kind == TOKEN_NAME)
        return evaluate_name(a, o);
    if (!token_is(o, "("))
        return (Answer){.v = o->kind == TOKEN_NUMBER ? strtoll(o->s, NULL, 0) : o->s[1], .text = o->s};
    Answer v = evaluate(a, 0);
    a->at = a->at ? a->at->next : NULL;
    if (v.left && strchr(v.left, ' '))
        v.left = text_format("(%s)", v.left);
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

static Answer apply_known(const char *op, Answer a, Answer b)
{
    const bool both = !strcmp(op, "&&"), either = !strcmp(op, "||");
    if (!a.left && !b.left)
        return (Answer){.v = apply(op, a.v, b.v)};
    if ((both || either) && !(a.left && b.left)) { /* one is known, and decides or does not matter */
        const Answer known = a.left ? b : a, other = a.left ? a : b;
        return (known.v != 0) == both ? other : (Answer){.v = either};
    }
    return (Answer){.left = text_format("%s %s %s", text_of(a), op, text_of(b))};
}

static Answer evaluate(Asked *a, int level)
{
    if (level == LEVELS)
        return evaluate_operand(a);
    Answer v = evaluate(a, level + 1);
    for (bool found = true; found && a->at;) {
        found = false;
        for (int i = 0; i < 5 && levels[level][i] && !found && a->at; i++)
            if (token_is(a->at, levels[level][i])) {
                a->at = a->at->next;
                v = apply_known(levels[level][i], v, evaluate(a, level + 1));
                found = true;
            }
    }
    return v;
}

Answer condition(const Token *line, Definedness (*is_defined)(const char *name))
{
    Asked a = {condition_tokens(line, is_defined), is_defined};
    return evaluate(&a, 0);
}
