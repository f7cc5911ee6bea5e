/* sweep.c - removal of dead code: of variables, parameters, fields and functions that nothing reads any more. */
#include "plain/syntax.h"

/* ---- uses -------------------------------------------------------------------------------------------------------- */

static void count_uses(Syntax *n);

static void count_kids(Syntax *n)
{
    for (int i = 0; i < n->kid.n; i++)
        count_uses(n->kid.at[i]);
}

static bool is_array(const Syntax *e)
{
    return (e->kind == MEMBER || e->kind == NAME) && e->var && e->var->dims.n && !e->var->is_parameter;
}

static bool is_change(const Syntax *e)
{
    const bool step = e->kind == POSTFIX || (e->kind == UNARY && (!strcmp(e->s, "++") || !strcmp(e->s, "--")));
    return e->kind == ASSIGN || step;
}

/* The variable or field that statement n assigns to; NULL: none, or the place has effects of its own. */
static Syntax *changed(Syntax *n)
{
    if (n->kind != EVALUATE || !n->kid.n)
        return NULL;
    Syntax *e = n->kid.at[0];
    if (!is_change(e))
        return NULL;
    Syntax *to = e->kid.at[0];
    while (to->kind == INDEX && is_pure(to->kid.at[1]) && is_array(to->kid.at[0]))
        to = to->kid.at[0];
    return (to->kind == NAME || to->kind == MEMBER) && to->var && is_pure(to) ? to : NULL;
}

/* The variable of a function that e is a part of, as in v.a[i].b; NULL: e is behind a pointer, or of a global one. */
static Var *whole_of(const Syntax *e)
{
    while ((e->kind == MEMBER && !e->arrow) || (e->kind == INDEX && is_array(e->kid.at[0])))
        e = e->kid.at[0];
    return e->kind == NAME && e->var && !e->var->is_global && !e->var->is_static ? e->var : NULL;
}

static void count_uses(Syntax *n)
{
    if (!n)
        return;
    Syntax *to = changed(n);
    if (to && !(to->kind == NAME && (to->var->is_global || to->var->is_static))) {
        Syntax *e = n->kid.at[0];
        if (e->kid.at[0]->kind == INDEX)
            count_uses(e->kid.at[0]->kid.at[1]);
        if (to->kind == MEMBER) {
            Var *const whole = whole_of(to);
            count_kids(to);
            if (whole) /* that a part is written is no use of it */
                whole->uses--;
        }
        for (int i = 1; i < e->kid.n; i++)
            count_uses(e->kid.at[i]);
        return;
    }
    if ((n->kind == NAME || n->kind == MEMBER) && n->var)
        n->var->uses++;
    if (n->kind == DECLARE)
        for (int i = 0; i < n->var->dims.n; i++)
            count_uses(n->var->dims.at[i]);
    if (n->kind == DECLARE && n->kid.n && n->kid.at[0]->kind == LIST && !is_pure(n->kid.at[0]))
        n->var->uses++; /* a list with effects is no statement */
    if (n->kind == FIELD_IS && n->var && !is_pure(n))
        n->var->uses++; /* its value is computed, so it is kept */
    for (int i = 0; i < n->dims.n; i++)
        count_uses(n->dims.at[i]);
    count_kids(n);
}

static void reach_calls(Syntax *n, void *arg)
{
    (void)arg;
    CFunction *f = n->kind == CALL && n->kid.at[0]->item ? n->kid.at[0]->item->function : NULL;
    if (!f || f->is_reached || !f->has_body)
        return;
    f->is_reached = true;
    each_node(f->body, reach_calls, NULL);
}

static void count_all(void)
{
    for (int i = 0; i < file()->reached.n; i++)
        file()->reached.at[i]->is_reached = false;
    EACH_OF (f, file()->reached) {
        for (int k = 0; k < f->locals.n; k++)
            f->locals.at[k]->uses = 0;
        if (f->is_public && !f->is_reached) {
            f->is_reached = true;
            each_node(f->body, reach_calls, NULL);
        }
    }
    EACH_OF (item, file()->items)
        if (item->structure)
            for (int k = 0; k < item->structure->fields.n; k++)
                item->structure->fields.at[k]->uses = 0;
    EACH_OF (reached, file()->reached)
        if (reached->is_reached)
            count_uses(reached->body);
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

typedef struct Swept {
    bool any;
} Swept;
PART(Swept, swept)

static bool is_unused(const Var *v)
{
    return !v->uses && !v->is_global && !(v->is_parameter && v->function->is_public);
}

static void remove_kid(Syntax *n, int i)
{
    n->kid.n--;
    memmove(n->kid.at + i, n->kid.at + i + 1, sizeof *n->kid.at * (size_t)(n->kid.n - i));
}

/* Removes the items of fields that are gone. */
static void sweep_list(Syntax *list)
{
    for (int i = list->kid.n - 1; i >= 0; i--)
        if (list->kid.at[i]->kind == FIELD_IS && list->kid.at[i]->var && list->kid.at[i]->var->is_gone &&
            is_pure(list->kid.at[i]))
            remove_kid(list, i);
    if (!list->kid.n)
        vec_push(&list->kid, node(NUMBER, "0"));
}

/* Removes the arguments of parameters that are gone. */
static void sweep_call(Syntax *call)
{
    const TopItem *item = call->kid.at[0]->item;
    const CFunction *f = item ? item->function : NULL;
    for (int i = call->kid.n - 1; f && f->has_body && i > 0; i--)
        if (i <= f->parameters.n && f->parameters.at[i - 1]->is_gone)
            remove_kid(call, i);
}

/* Does statement n assign to a variable or field that is gone, or to a part of one? */
static bool changes_gone(Syntax *n)
{
    const Syntax *to = changed(n);
    const Var *const whole = to ? whole_of(to) : NULL;
    return to && (to->var->is_gone || (whole && whole->is_gone));
}

static bool is_dead(Syntax *n)
{
    if (changes_gone(n))
        return n->kid.at[0]->kind != ASSIGN || is_pure(n->kid.at[0]->kid.at[1]);
    return n->kind == DECLARE && n->var->is_gone && (!n->kid.n || is_pure(n->kid.at[0]) || n->kid.at[0]->kind == LIST);
}

typedef struct OwnStep {
    const Var *var;
    bool only;
} OwnStep;

static void check_step(Syntax *e, void *arg)
{
    OwnStep *s = arg;
    const bool target = e->kid.n && e->kid.at[0]->kind == NAME && e->kid.at[0]->var == s->var;
    if (e->kind == CALL ? !is_pure(e) : is_change(e) && !target)
        s->only = false;
}

/* Has a loop without a body no effect but on its own variable? */
static bool is_idle(const Syntax *n)
{
    const Syntax *first = n->kid.at[0];
    if (first->kid.n != 1 || first->kid.at[0]->kind != DECLARE || !is_pure(first) || !is_pure(n->kid.at[1]))
        return false;
    OwnStep step = {first->kid.at[0]->var, true};
    each_node(n->kid.at[2], check_step, &step);
    return step.only;
}

static bool is_empty(const Syntax *n)
{
    if (n->kind == IF)
        return is_pure(n->kid.at[0]) && !n->kid.at[1]->kid.n && !n->kid.at[2];
    if (n->kind == FOR)
        return !n->kid.at[3]->kid.n && is_idle(n);
    return n->kind == BLOCK && !n->kid.n;
}

static void sweep_node(Syntax *n, void *arg)
{
    (void)arg;
    if (n->kind == LIST)
        sweep_list(n);
    if (n->kind == CALL)
        sweep_call(n);
    if (n->kind == IF && n->kid.at[2] && n->kid.at[2]->kind == BLOCK && !n->kid.at[2]->kid.n)
        n->kid.at[2] = NULL;
    for (int i = n->kid.n - 1; i >= 0 && n->kind == BLOCK; i--) {
        Syntax *s = n->kid.at[i];
        if (is_dead(s) || is_empty(s)) {
            if (s->kind == DECLARE && !s->more && i + 1 < n->kid.n && n->kid.at[i + 1]->kind == DECLARE)
                n->kid.at[i + 1]->more = false;
            remove_kid(n, i);
            swept()->any = true;
        } else if (changes_gone(s)) { /* its value has an effect */
            s->kid.at[0] = effect(s->kid.at[0]->kid.at[1]);
        } else if (s->kind == DECLARE && s->var->is_gone) {
            s->kind = EVALUATE;
            if (i + 1 < n->kid.n && n->kid.at[i + 1]->kind == DECLARE)
                n->kid.at[i + 1]->more = false;
        }
    }
}

/* Can the arguments of every call for parameter v be left out? */
typedef struct Arguments {
    const CFunction *function;
    int index;
    bool pure;
} Arguments;

static void check_argument(Syntax *n, void *arg)
{
    Arguments *a = arg;
    const TopItem *item = n->kind == CALL ? n->kid.at[0]->item : NULL;
    if (item && item->function == a->function && a->index + 1 < n->kid.n && !is_pure(n->kid.at[a->index + 1]))
        a->pure = false;
}

static bool can_go(const Var *v)
{
    Arguments a = {v->function, v->index, true};
    for (int i = 0; v->is_parameter && i < file()->reached.n; i++)
        if (file()->reached.at[i]->is_reached)
            each_node(file()->reached.at[i]->body, check_argument, &a);
    return a.pure;
}

static void mark_unused(void)
{
    EACH_OF (f, file()->reached) {
        for (int k = 0; k < f->locals.n && f->is_reached; k++) {
            Var *v = f->locals.at[k];
            if (!v->is_gone && is_unused(v) && can_go(v))
                v->is_gone = swept()->any = true;
        }
        for (int k = 0; k < f->parameters.n && f->is_reached; k++)
            if (!f->parameters.at[k]->name && !f->is_public && !f->parameters.at[k]->is_gone &&
                can_go(f->parameters.at[k]))
                f->parameters.at[k]->is_gone = swept()->any = true;
    }
    for (int i = 0; i < file()->items.n; i++) {
        const TopItem *item = file()->items.at[i]; /* callers read the header's structs */
        Struct *s = item->is_declared || (item->structure && item->structure->is_bytes) ? NULL : item->structure;
        int left = 0;
        for (int k = 0; s && s->is_known && k < s->fields.n; k++)
            left += s->fields.at[k]->uses > 0;
        for (int k = 0; s && s->is_known && left && k < s->fields.n; k++)
            if (!s->fields.at[k]->uses && !s->fields.at[k]->is_gone)
                s->fields.at[k]->is_gone = swept()->any = true;
    }
}

/* Parameters that are gone have no arguments any more: renumbers the others. */
static void renumber(CFunction *f)
{
    int n = 0;
    EACH_OF (v, f->parameters) {
        if (v->is_gone)
            continue;
        v->index = n;
        f->parameters.at[n++] = v;
    }
    f->parameters.n = n;
}

/* Gives every parameter that nothing reads, and that calls or users still give, the statement (void)x. */
static void mention_unread(CFunction *f)
{
    for (int k = f->parameters.n - 1; k >= 0; k--) {
        Var *v = f->parameters.at[k];
        if (v->uses || !v->name)
            continue;
        Syntax *mention = node(EVALUATE, ""), *cast = node(CAST, "("), *of = node(NAME, v->name);
        cast->type = (Specs){.text = "void", .base = "void"};
        cast->stars = "";
        of->var = v;
        vec_push(&cast->kid, of);
        vec_push(&mention->kid, cast);
        vec_push(&f->body->kid, mention);
        Syntax **at = f->body->kid.at;
        memmove(at + 1, at, sizeof *at * (size_t)(f->body->kid.n - 1));
        at[0] = mention;
    }
}

void sweep(void)
{
    do {
        swept()->any = false;
        EACH_OF (f, file()->reached)
            f->seen = false; /* what was removed may have been its only effect */
        count_all();
        mark_unused();
        EACH_OF (f, file()->reached)
            if (f->is_reached)
                each_node(f->body, sweep_node, NULL);
        for (int i = 0; i < file()->reached.n; i++)
            renumber(file()->reached.at[i]);
    } while (swept()->any);
    EACH_OF (f, file()->reached)
        if (f->is_reached)
            mention_unread(f);
}
