/* types.c - what expressions are, as far as the analysis needs it. */
#include "base/fail.h"
#include "plain/syntax.h"

int rank_of(const char *base)
{
    static const char *const names[RANK_OTHER][15] = {
        [RANK_SMALL] = {"b8", "f16", "bf16", "char", "bool", "_Bool", "i8", "u8", "i16", "u16", "int8_t", "uint8_t",
                        "int16_t", "uint16_t"},
        [RANK_INT] = {"int", "i32", "int32_t"},
        [RANK_UNSIGNED] = {"unsigned", "u32", "uint32_t"},
        [RANK_WIDE] = {"idx", "ptrdiff_t"},
        [RANK_I64] = {"i64", "int64_t"},
        [RANK_SIZE] = {"size_t", "u64", "uint64_t", "uintptr_t"},
        [RANK_FLOAT] = {"f32", "float"},
    };
    for (int rank = 0; base && rank < RANK_OTHER; rank++)
        for (const char *const *n = names[rank]; *n; n++)
            if (base[0] == (*n)[0] && base[1] == (*n)[1] && !strcmp(base, *n)) /* strcmp takes much of the analysis */
                return rank;
    return RANK_OTHER;
}

bool is_followed_type(const char *base)
{
    const int rank = rank_of(base);
    return rank == RANK_INT || rank == RANK_WIDE || rank == RANK_I64;
}

bool is_followed(const Var *v)
{
    return !v->is_global && !v->is_static && !v->dims.n && (v->pointers || is_followed_type(v->specs.base));
}

static TypeOf type_of_number(const char *s)
{
    const bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    if (strpbrk(s, hex ? ".pP" : ".eE"))
        return (TypeOf){.base = strpbrk(s, hex ? "F" : "fF") || (hex && s[strlen(s) - 1] == 'f') ? "float" : "double"};
    return (TypeOf){.base = strpbrk(s, "uU") ? "unsigned" : "int"};
}

/* Of two operands: the pointer, else the type that C converts both to. */
static TypeOf stronger(TypeOf a, TypeOf b)
{
    if (a.pointers || b.pointers)
        return a.pointers && (a.base || !b.pointers) ? a : b;
    return rank_of(a.base) > rank_of(b.base) ? a : b;
}

TypeOf type_of_operands(const Syntax *e) { return stronger(type_of(e->kid.at[0]), type_of(e->kid.at[1])); }

static TypeOf type_of_binary(const Syntax *e)
{
    if (strchr("=!<>", e->s[0]) && e->s[1] != e->s[0])
        return (TypeOf){.base = "int"};
    if (!strcmp(e->s, "==") || !strcmp(e->s, "&&") || !strcmp(e->s, "||"))
        return (TypeOf){.base = "int"};
    TypeOf a = type_of(e->kid.at[0]), b = type_of(e->kid.at[1]);
    if (a.pointers && b.pointers)
        return (TypeOf){.base = "ptrdiff_t"};
    return !strcmp(e->s, "<<") || !strcmp(e->s, ">>") ? a : stronger(a, b);
}

static TypeOf type_of_unary(const Syntax *e)
{
    if (e->s[0] == '!')
        return (TypeOf){.base = "int"};
    TypeOf t = type_of(e->kid.at[0]);
    t.pointers += !strcmp(e->s, "&") ? 1 : !strcmp(e->s, "*") ? -1 : 0;
    return t;
}

static TypeOf type_of_var(const Var *v) { return (TypeOf){v->specs.base, v->specs.structure, v->pointers + v->dims.n}; }

static TypeOf type_of_name(const Syntax *e)
{
    if (e->var)
        return type_of_var(e->var);
    if (e->is_enumerator)
        return (TypeOf){.base = "int"};
    if (e->item && e->item->function)
        return (TypeOf){e->item->function->specs.base, e->item->function->specs.structure, e->item->function->pointers};
    return (TypeOf){.pointers = !strcmp(e->s, "NULL")};
}

Var *field_of(const Syntax *e)
{
    if (e->var)
        return e->var;
    const Struct *s = type_of(e->kid.at[0]).structure;
    for (int i = 0; s && i < s->fields.n; i++)
        if (s->fields.at[i]->name == e->s)
            return ((Syntax *)(uintptr_t)e)->var = s->fields.at[i];
    bug("plain: the field %s of an unknown struct", e->s);
}

static TypeOf find_type(const Syntax *e)
{
    TypeOf t = {0};
    switch (e->kind) {
    case NAME: return type_of_name(e);
    case NUMBER: return type_of_number(e->s);
    case STRING: return (TypeOf){.base = "char", .pointers = e->s[0] == '"'};
    case UNARY: return type_of_unary(e);
    case BINARY: return type_of_binary(e);
    case COND: return stronger(type_of(e->kid.at[1]), type_of(e->kid.at[2]));
    case COMMA: return type_of(e->kid.at[1]);
    case INDEX: t = type_of(e->kid.at[0]), t.pointers--; return t;
    case MEMBER: return type_of_var(field_of(e));
    case CAST:
    case COMPOUND: return (TypeOf){e->type.base, e->type.structure, e->pointers + e->dims.n};
    case SIZEOF: return (TypeOf){.base = "size_t"};
    default: return e->kid.n ? type_of(e->kid.at[0]) : t; /* assignments, calls */
    }
}

TypeOf type_of(const Syntax *e)
{
    if (!file()->keeps_types)
        return find_type(e);
    Syntax *const to = (Syntax *)(uintptr_t)e;
    if (!e->is_kept)
        to->kept = find_type(e), to->is_kept = true;
    return e->kept;
}

void each_node(Syntax *n, void (*visit)(Syntax *, void *), void *arg)
{
    if (!n)
        return;
    visit(n, arg);
    for (int i = 0; i < n->kid.n; i++)
        each_node(n->kid.at[i], visit, arg);
    for (int i = 0; i < n->dims.n; i++)
        each_node(n->dims.at[i], visit, arg);
}

bool is_mention(const Syntax *e)
{
    const bool is_cast = e->kind == CAST;
    return is_cast && !strcmp(e->type.base, "void") && !e->pointers && e->kid.at[0]->kind == NAME;
}

/* ---- what can be left out ---------------------------------------------------------------------------------------- */

bool is_pure(const Syntax *e)
{
    if (!e)
        return true;
    if (e->kind == ASSIGN || e->kind == POSTFIX || (e->kind == UNARY && (!strcmp(e->s, "++") || !strcmp(e->s, "--"))))
        return false;
    if (e->kind == CALL && !(e->kid.at[0]->item && function_is_pure(e->kid.at[0]->item->function)))
        return false;
    for (int i = 0; i < e->kid.n; i++)
        if (!is_pure(e->kid.at[i]))
            return false;
    return true;
}

/* Is the variable that an assignment changes one of the function's own, not behind a pointer? */
static bool is_own(const Syntax *e)
{
    for (;;) {
        int indices = 0;
        for (; e->kind == INDEX; e = e->kid.at[0])
            indices++;
        if (e->kind == NAME)
            return e->var && !e->var->is_global && !e->var->is_static &&
                   indices <= (e->var->is_parameter ? 0 : e->var->dims.n);
        if (e->kind != MEMBER || e->arrow || indices > field_of(e)->dims.n)
            return false;
        e = e->kid.at[0];
    }
}

/* Does a call of memcpy fill a variable of the function's own, as in the conversion of bits to a float? */
static bool copies_to_own(const Syntax *call)
{
    if (strcmp(call->kid.at[0]->s, "memcpy") != 0)
        return false;
    const Syntax *to = call->kid.at[1];
    while (to->kind == CAST)
        to = to->kid.at[0];
    return to->kind == UNARY && to->s[0] == '&' && is_own(to->kid.at[0]);
}

static void find_effect(Syntax *e, void *effect)
{
    const bool step = e->kind == POSTFIX || (e->kind == UNARY && (!strcmp(e->s, "++") || !strcmp(e->s, "--")));
    const Syntax *to = e->kind == ASSIGN || step ? e->kid.at[0] : NULL;
    const bool pointer = to && to->kind == NAME && to->var && !to->var->is_global && !to->var->is_static;
    if (to && !is_own(to) && !pointer)
        *(bool *)effect = true;
    if (e->kind == CALL && !copies_to_own(e) && !(e->kid.at[0]->item && function_is_pure(e->kid.at[0]->item->function)))
        *(bool *)effect = true;
}

/* A recursive function would not be pure, as its body is not known to be when it is asked about again. */
bool function_is_pure(CFunction *f)
{
    if (!f->seen && f->has_body && f->body) {
        bool effect = false;
        f->seen = true;
        each_node(f->body, find_effect, &effect);
        f->pure = !effect;
    }
    return f->pure;
}

Syntax *effect(Syntax *e)
{
    for (;;) {
        const bool two_sided = e->kind == BINARY && strcmp(e->s, "&&") != 0 && strcmp(e->s, "||") != 0;
        if (e->kind == CAST || (e->kind == UNARY && strcmp(e->s, "++") != 0 && strcmp(e->s, "--") != 0))
            e = e->kid.at[0];
        else if (two_sided && (is_pure(e->kid.at[0]) || is_pure(e->kid.at[1])))
            e = e->kid.at[is_pure(e->kid.at[0])];
        else
            return e;
    }
}
