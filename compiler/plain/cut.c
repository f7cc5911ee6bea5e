/* cut.c - constant propagation: replaces expressions that always have the same value by that value, and removes
 * branches that are never taken. Works on the trees in place. */
#include <stdlib.h>

#include "base/fail.h"
#include "plain/syntax.h"

static Syntax *cut_expression(Syntax *e);
static bool is_kept_mention(const Syntax *e);

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static Syntax *two(NodeKind kind, const char *s, Syntax *a, Syntax *b)
{
    Syntax *n = node(kind, s);
    vec_push(&n->kid, a);
    vec_push(&n->kid, b);
    return n;
}

static Syntax *number(int64_t v)
{
    if (v == INT32_MIN) /* 2147483648 is no int */
        return two(BINARY, "-", number(v + 1), number(1));
    const char *s = text_format("%lld", (long long)(v < 0 ? -v : v));
    Syntax *n = node(NUMBER, s);
    if (v >= 0)
        return n;
    Syntax *minus = node(UNARY, "-");
    vec_push(&minus->kid, n);
    return minus;
}

static Syntax *cast_to(const char *base, Syntax *e)
{
    Syntax *n = node(CAST, "(");
    n->type = (Specs){.text = base, .base = base};
    n->stars = "";
    vec_push(&n->kid, e);
    return n;
}

/* e, a part of an expression that was computed in type `before`; literals may have made it an int or unsigned. */
static Syntax *computed_in(TypeOf before, Syntax *e)
{
    const TypeOf now = type_of(e);
    const int was = rank_of(before.base);
    const bool numbers = before.base && now.base && !before.pointers && !now.pointers && !before.structure;
    return numbers && was > RANK_INT && was > rank_of(now.base) ? cast_to(before.base, e) : e;
}

static bool is_truth(const Syntax *e)
{
    return (e->kind == BINARY && ((strchr("<>=!", e->s[0]) && e->s[1] != e->s[0]) || !strcmp(e->s, "==") ||
                                  !strcmp(e->s, "&&") || !strcmp(e->s, "||"))) ||
           (e->kind == UNARY && e->s[0] == '!');
}

/* e as a condition: a comparison. */
static Syntax *truth(Syntax *e)
{
    if (is_truth(e) || e->kind == NUMBER)
        return e;
    return two(BINARY, "!=", e, type_of(e).pointers ? node(NAME, "NULL") : number(0));
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* The value of e as a literal; NULL: it has several, or is one already. */
static Syntax *as_literal(Syntax *e)
{
    int64_t v;
    if (e->kind == NUMBER || e->kind == STRING || e->kind == LIST || (e->kind == NAME && !e->var) || !is_pure(e))
        return NULL;
    if (e->kind == UNARY && !strcmp(e->s, "-") && e->kid.at[0]->kind == NUMBER)
        return NULL;
    const TypeOf t = type_of(e);
    if (t.structure && !t.pointers)
        return NULL;
    const ValueSet is = value_of(e);
    if (!value_is_single(&is, &v) || v < INT32_MIN || v > INT32_MAX)
        return NULL;
    if (t.pointers)
        return v == 0 ? node(NAME, "NULL") : NULL;
    if (e->kind == CAST || !(is_truth(e) || is_followed_type(t.base)))
        return NULL;
    return number(v);
}

/* a && b if `both`, else a || b; one side alone where the truth of the other is known and does not matter. */
static Syntax *cut_logical(Syntax *e, bool both)
{
    const ValueSet a = value_of(e->kid.at[0]), b = value_of(e->kid.at[1]);
    const int left = value_truth(&a), right = value_truth(&b);
    if (left == !both)
        return truth(cut_expression(e->kid.at[0]));
    if (left == both && is_pure(e->kid.at[0]))
        return truth(cut_expression(e->kid.at[1]));
    if (right == both && is_pure(e->kid.at[1]))
        return truth(cut_expression(e->kid.at[0]));
    for (int i = 0; i < 2; i++)
        e->kid.at[i] = truth(cut_expression(e->kid.at[i]));
    return e;
}

static bool is_number(const Syntax *e, const char *s) { return e->kind == NUMBER && !strcmp(e->s, s); }

static bool is_integer(const Syntax *e)
{
    const TypeOf t = type_of(e);
    return t.pointers || is_followed_type(t.base) || (t.base && (t.base[0] == 'u' || !strcmp(t.base, "size_t")));
}

/* x + 0, x * 1 and the like are x. */
static Syntax *without_neutral(Syntax *e)
{
    Syntax *a = e->kid.at[0], *b = e->kid.at[1];
    const bool sum = !strcmp(e->s, "+"), product = !strcmp(e->s, "*");
    if (is_integer(a) &&
        ((is_number(b, "0") && (sum || !strcmp(e->s, "-"))) || (is_number(b, "1") && (product || !strcmp(e->s, "/")))))
        return a;
    if (is_integer(b) && ((is_number(a, "0") && sum) || (is_number(a, "1") && product)))
        return b;
    return e;
}

/* Are a and b the same variables or numbers, or sums and products of them, of whatever order? */
static bool is_same(const Syntax *a, const Syntax *b)
{
    if (a->kind != b->kind || strcmp(a->s, b->s) != 0 || a->var != b->var || a->kid.n != b->kid.n)
        return false;
    if (a->kind == NAME || a->kind == NUMBER)
        return true;
    if (a->kind == MEMBER)
        return a->arrow == b->arrow && is_same(a->kid.at[0], b->kid.at[0]);
    if (a->kind != BINARY || (strcmp(a->s, "*") != 0 && strcmp(a->s, "+") != 0))
        return false;
    Syntax *const *x = a->kid.at, *const *y = b->kid.at;
    return (is_same(x[0], y[0]) && is_same(x[1], y[1])) || (is_same(x[0], y[1]) && is_same(x[1], y[0]));
}

static Syntax *cut_binary(Syntax *e)
{
    if (!strcmp(e->s, "&&") || !strcmp(e->s, "||"))
        return cut_logical(e, e->s[0] == '&');
    const bool compares = is_truth(e), shifts = e->s[1] == e->s[0] && strchr("<>", e->s[0]);
    const TypeOf before = shifts ? type_of(e) : type_of_operands(e);
    for (int i = 0; i < 2; i++)
        e->kid.at[i] = cut_expression(e->kid.at[i]);
    e = without_neutral(e);
    if (e->kind != BINARY)
        return e;
    const TypeOf now = shifts ? type_of(e) : type_of_operands(e);
    const int was = rank_of(before.base), is = rank_of(now.base);
    /* ints compare as wider numbers do, unsigned ones differ from them for negative numbers */
    if (!before.pointers && was >= RANK_WIDE && was <= RANK_FLOAT && is < RANK_WIDE && (!compares || is > RANK_INT))
        e->kid.at[0] = computed_in(before, e->kid.at[0]);
    if (compares && is_integer(e->kid.at[0]) && is_same(e->kid.at[0], e->kid.at[1]))
        return number(e->s[0] != '!' && e->s[1] == '=');
    return e;
}

static Syntax *cut_cond(Syntax *e)
{
    const ValueSet c = value_of(e->kid.at[0]);
    const int is = value_truth(&c);
    if (is >= 0) {
        const TypeOf before = type_of(e);
        Syntax *branch = computed_in(before, cut_expression(e->kid.at[is ? 1 : 2]));
        return is_pure(e->kid.at[0]) ? branch : two(COMMA, ",", cut_expression(e->kid.at[0]), branch);
    }
    for (int i = 0; i < 3; i++)
        e->kid.at[i] = cut_expression(e->kid.at[i]);
    e->kid.at[0] = truth(e->kid.at[0]);
    return e;
}

/* Names the fields in the initialiser list of a struct: {1, 2} becomes {.a = 1, .b = 2}. */
static void name_items(Syntax *list, const Struct *s)
{
    if (list->kid.n == 1 && is_number(list->kid.at[0], "0"))
        return;
    for (int i = 0; i < list->kid.n && i < s->fields.n; i++) {
        Syntax *item = list->kid.at[i];
        if (item->kind == FIELD_IS)
            return;
        const Var *f = s->fields.at[i];
        if (item->kind != LIST && (f->dims.n || (f->specs.structure && !f->pointers && item->kind == NUMBER)))
            bug("plain: no braces around the value of %s", f->name);
        Syntax *named = node(FIELD_IS, s->fields.at[i]->name);
        vec_push(&named->kid, item);
        list->kid.at[i] = named;
    }
}

static const Var *field_named(const Struct *s, const char *name)
{
    EACH_OF (field, s->fields)
        if (field->name == name)
            return field;
    return NULL;
}

static Syntax *cut_list(Syntax *list, const Struct *s)
{
    if (s)
        name_items(list, s);
    EACH_AT (kid, list->kid) {
        Syntax *item = *kid, **value = kid;
        const Var *f = item->kind == FIELD_IS && s ? field_named(s, item->s) : NULL;
        if (f)
            item->var = (Var *)(uintptr_t)f;
        if (item->kind == FIELD_IS || item->kind == ELEMENT_IS)
            value = &item->kid.at[item->kid.n - 1];
        const Struct *inner = f ? f->specs.structure : s && item->kind != FIELD_IS ? s : NULL;
        *value = (*value)->kind == LIST ? cut_list(*value, f && f->pointers ? NULL : inner) : cut_expression(*value);
    }
    return list;
}

/* A list for a variable of this type; items of an array of structs are lists themselves. */
static Syntax *cut_value(Syntax *value, const Specs *type, int pointers, int dims)
{
    if (value->kind != LIST)
        return cut_expression(value);
    const Struct *s = pointers ? NULL : type->structure;
    if (!dims)
        return cut_list(value, s);
    EACH_AT (kid, value->kid)
        *kid = cut_value(*kid, type, pointers, dims - 1);
    return value;
}

/* Does e access what its first operand points to? */
static bool is_dereference(const Syntax *e)
{
    return e->kind == INDEX || (e->kind == MEMBER && e->arrow) || (e->kind == UNARY && !strcmp(e->s, "*"));
}

static void cut_kid(Syntax *e, int i)
{
    Syntax *part = cut_expression(e->kid.at[i]);
    const bool is_null = part->kind == NAME && !part->var;
    /* Nothing is read of an empty array, yet NULL[i] does not compile. */
    if (i > 0 || !is_null || !is_dereference(e))
        e->kid.at[i] = part;
}

static Syntax *cut_expression(Syntax *e)
{
    Syntax *is = as_literal(e);
    if (is)
        return is;
    if (e->kind == COND)
        return cut_cond(e);
    if (e->kind == BINARY)
        return cut_binary(e);
    if (e->kind == COMPOUND) {
        e->kid.at[0] = cut_value(e->kid.at[0], &e->type, e->pointers, e->dims.n);
        return e;
    }
    if (e->kind == ELEMENT_IS || e->kind == SIZEOF || is_kept_mention(e))
        return e;
    const bool target = e->kind == ASSIGN || e->kind == POSTFIX ||
                        (e->kind == UNARY && strchr("+-&", e->s[0]) && e->s[1] == e->s[0]) ||
                        (e->kind == UNARY && e->s[0] == '&');
    for (int i = 0; i < e->kid.n; i++) {
        Syntax *kid = e->kid.at[i];
        if (i == 0 && target && kid->kind == NAME)
            continue; /* it is assigned to, or its address is taken */
        if (i == 0 && target) {
            for (int k = 0; k < kid->kid.n; k++)
                if (kid->kid.at[k]->kind != NAME || k > 0)
                    cut_kid(kid, k);
            continue;
        }
        const bool changes = i == 1 && e->kind == ASSIGN && e->s[0] != '=';
        const TypeOf before = changes ? type_of(kid) : (TypeOf){0};
        cut_kid(e, i);
        if (changes && rank_of(type_of(e->kid.at[0]).base) < RANK_WIDE)
            e->kid.at[i] = computed_in(before, e->kid.at[i]);
    }
    if (e->kind == UNARY && e->s[0] == '!' && !is_truth(e->kid.at[0]))
        return two(BINARY, "==", e->kid.at[0], type_of(e->kid.at[0]).pointers ? node(NAME, "NULL") : number(0));
    return e;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static Syntax *cut_statement(Syntax *n);

/* Does a statement leave, so that the one after it is not reached? */
static bool leaves(const Syntax *n)
{
    if (n->kind == RETURN || n->kind == BREAK || n->kind == CONTINUE)
        return true;
    if (n->kind == BLOCK)
        return n->kid.n && leaves(n->kid.at[n->kid.n - 1]);
    return n->kind == IF && n->kid.at[2] && leaves(n->kid.at[1]) && leaves(n->kid.at[2]);
}

static bool declares(const Syntax *block)
{
    EACH_OF (kid, block->kid)
        if (kid->kind == DECLARE || kid->kind == ENUM)
            return true;
    return false;
}

/* Appends a statement to a block; of a block without declarations, its statements. */
static void put(Syntax *block, Syntax *n)
{
    if (!n)
        return;
    if (n->kind != BLOCK || declares(n)) {
        vec_push(&block->kid, n);
        return;
    }
    for (int i = 0; i < n->kid.n; i++)
        vec_push(&block->kid, n->kid.at[i]);
    if (n->kid.n && n->before && !n->kid.at[0]->before)
        n->kid.at[0]->before = n->before;
}

static Syntax *evaluate(Syntax *e)
{
    Syntax *n = node(EVALUATE, "");
    vec_push(&n->kid, e);
    return n;
}

static Syntax *cut_block(Syntax *n)
{
    Syntax *all = node(BLOCK, "{");
    all->before = n->before;
    EACH_OF (kid, n->kid) {
        const char *before = kid->before;
        Syntax *s = cut_statement(kid);
        if (s && !s->before)
            s->before = before;
        put(all, s);
        if (all->kid.n && leaves(all->kid.at[all->kid.n - 1]))
            break;
    }
    return all;
}

static Syntax *as_block(Syntax *n)
{
    if (n && n->kind == BLOCK)
        return n;
    Syntax *block = node(BLOCK, "{");
    put(block, n);
    return block;
}

static Syntax *cut_if(Syntax *n)
{
    const ValueSet c = value_of(n->kid.at[0]);
    const int is = value_truth(&c);
    if (is >= 0) {
        Syntax *branch = n->kid.at[is ? 1 : 2], *cut = branch ? cut_statement(branch) : NULL;
        if (is_pure(n->kid.at[0]))
            return cut;
        Syntax *both = node(BLOCK, "{");
        put(both, evaluate(effect(cut_expression(n->kid.at[0]))));
        put(both, cut);
        return both;
    }
    n->kid.at[0] = truth(cut_expression(n->kid.at[0]));
    if (n->kid.at[0]->kind == NUMBER) {
        Syntax *branch = n->kid.at[is_number(n->kid.at[0], "0") ? 2 : 1];
        return branch ? cut_statement(branch) : NULL;
    }
    n->kid.at[1] = as_block(cut_statement(n->kid.at[1]));
    Syntax *otherwise = n->kid.at[2] ? as_block(cut_statement(n->kid.at[2])) : NULL;
    if (otherwise && !otherwise->kid.n)
        otherwise = NULL;
    if (otherwise && otherwise->kid.n == 1 && otherwise->kid.at[0]->kind == IF)
        otherwise = otherwise->kid.at[0];
    n->kid.at[2] = otherwise;
    return n;
}

static Syntax *cut_for(Syntax *n)
{
    const ValueSet c = n->kid.at[1] ? value_of(n->kid.at[1]) : value_is(1);
    Syntax *first = n->kid.at[0];
    bool declares_only = true;
    EACH_OF (kid, first->kid)
        declares_only &= kid->kind != DECLARE || is_pure(kid);
    if (!value_truth(&c) && is_pure(n->kid.at[1]) && declares_only)
        return first->kid.n && first->kid.at[0]->kind != DECLARE ? evaluate(cut_expression(first->kid.at[0])) : NULL;
    EACH_AT (kid, first->kid)
        *kid = (*kid)->kind == DECLARE ? cut_statement(*kid) : cut_expression(*kid);
    n->kid.at[1] = n->kid.at[1] ? truth(cut_expression(n->kid.at[1])) : NULL;
    n->kid.at[2] = n->kid.at[2] ? cut_expression(n->kid.at[2]) : NULL;
    n->kid.at[3] = as_block(cut_statement(n->kid.at[3]));
    return n;
}

/* Is there a break or continue of this loop or switch? */
static bool breaks(const Syntax *n, bool in_loop)
{
    if (!n)
        return false;
    if ((n->kind == BREAK || n->kind == CONTINUE) && !(in_loop && n->kind == BREAK))
        return true;
    const bool loop = n->kind == FOR || n->kind == WHILE || n->kind == DO;
    for (int i = 0; i < n->kid.n && !loop; i++)
        if (breaks(n->kid.at[i], in_loop || n->kind == SWITCH))
            return true;
    return false;
}

static Syntax *cut_do(Syntax *n)
{
    const ValueSet c = value_of(n->kid.at[1]);
    n->kid.at[0] = as_block(cut_statement(n->kid.at[0]));
    if (!value_truth(&c) && is_pure(n->kid.at[1]) && !breaks(n->kid.at[0], false))
        return n->kid.at[0];
    n->kid.at[1] = truth(cut_expression(n->kid.at[1]));
    return n;
}

static void insert(Syntax *block, int at, Syntax *n)
{
    vec_push(&block->kid, n);
    Syntax **to = block->kid.at + at;
    memmove(to + 1, to, sizeof *to * (size_t)(block->kid.n - 1 - at));
    *to = n;
}

/* The statements behind the labels that the value may have, and the labels themselves. */
static Syntax *cut_switch(Syntax *n)
{
    const ValueSet v = value_of(n->kid.at[0]);
    int64_t is;
    const bool single = value_is_single(&v, &is) && is_pure(n->kid.at[0]);
    Syntax *all = node(BLOCK, "{");
    bool live = false, found = false, inner = false;
    int last = 0; /* the place after the last label */
    EACH_OF (s, n->kid.at[1]->kid) {
        if (s->kind == CASE || s->kind == DEFAULT) {
            const bool may = label_may_be(n, s, v) && !(single && found);
            if (may && !single) {
                vec_push(&all->kid, s);
                last = all->kid.n;
            }
            live |= may;
            found |= may;
            continue;
        }
        if (!live)
            continue;
        s = cut_statement(s);
        inner |= s && s->kind != BREAK && breaks(s, false);
        live = !(s && leaves(s));
        if (s && !(single && s->kind == BREAK))
            vec_push(&all->kid, s);
    }
    if (single && !inner)
        return all;
    n->kid.at[0] = cut_expression(n->kid.at[0]);
    if (last && all->kid.at[last - 1]->kind == CASE && !has_other(n, v)) /* compilers see that a label is reached */
        insert(all, last, node(DEFAULT, "default"));
    if (single) /* the label has been dropped */
        insert(all, 0, node(DEFAULT, "default"));
    n->kid.at[1] = all;
    return n;
}

static Syntax *cut_while(Syntax *n)
{
    const ValueSet c = value_of(n->kid.at[0]);
    if (!value_truth(&c) && is_pure(n->kid.at[0]))
        return NULL;
    n->kid.at[0] = truth(cut_expression(n->kid.at[0]));
    n->kid.at[1] = as_block(cut_statement(n->kid.at[1]));
    return n;
}

/* A (void)x stays where x is a parameter of a public function, even if nothing else uses it. */
static bool is_kept_mention(const Syntax *e)
{
    const Var *v = is_mention(e) ? e->kid.at[0]->var : NULL;
    return v && v->is_parameter && v->function->is_public;
}

/* x = x */
static bool is_itself(const Syntax *e)
{
    return e->kind == ASSIGN && e->s[0] == '=' && e->kid.at[0]->kind == NAME && e->kid.at[1]->kind == NAME &&
           e->kid.at[0]->var == e->kid.at[1]->var;
}

/* NULL: nothing is left. */
static Syntax *cut_statement(Syntax *n)
{
    switch (n->kind) {
    case BLOCK: return cut_block(n);
    case IF: return cut_if(n);
    case FOR: return cut_for(n);
    case WHILE: return cut_while(n);
    case DO: return cut_do(n);
    case SWITCH: return cut_switch(n);
    case RETURN: n->kid.at[0] = n->kid.at[0] ? cut_expression(n->kid.at[0]) : NULL; return n;
    case DECLARE:
        EACH_AT (size, n->var->dims)
            *size = *size ? cut_expression(*size) : NULL;
        if (n->kid.n)
            n->kid.at[0] = cut_value(n->kid.at[0], &n->var->specs, n->var->pointers, n->var->dims.n);
        return n;
    case EVALUATE:
        if (!n->kid.n || (is_pure(n->kid.at[0]) && !is_kept_mention(n->kid.at[0])))
            return NULL;
        n->kid.at[0] = cut_expression(n->kid.at[0]);
        return is_itself(n->kid.at[0]) ? NULL : n;
    default: return n;
    }
}

void cut(void)
{
    EACH_OF (f, file()->reached)
        f->body = cut_block(f->body);
    sweep();
}
