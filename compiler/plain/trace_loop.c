/* trace_loop.c - executes loops and statements on sets of values. */
#include "plain/trace.h"

static void execute(Syntax *n);

/* ---- loops ------------------------------------------------------------------------------------------------------- */

typedef struct Counter { /* of a loop: the variable goes from `from` in steps of `by` to `end`, where the loop ends */
    Var *var;
    int64_t from, by, end, iterations;
    int64_t plus, above; /* added to the variable and to the limit before they are compared */
    Syntax *limit;
} Counter;

static void find_change(Syntax *e, void *arg)
{
    Counter *c = arg;
    const bool step = e->kind == POSTFIX || (e->kind == UNARY && e->s[1] && e->s[1] == e->s[0]);
    if ((step || e->kind == ASSIGN) && e->kid.at[0]->kind == NAME && e->kid.at[0]->var == c->var)
        c->var = NULL;
}

static void find_variable(Syntax *e, void *found)
{
    const bool name =
        e->kind == NAME &&
        (e->is_enumerator || (e->var && e->var->specs.is_const && !e->var->pointers && is_followed(e->var)));
    *(bool *)found |= !name && e->kind != NUMBER && e->kind != BINARY && e->kind != CAST;
}

/* Is e the same in all iterations, and in the middle of one? */
static bool is_constant(Syntax *e, int64_t *v)
{
    bool varies = false;
    each_node(e, find_variable, &varies);
    const ValueSet is = varies ? value_any() : eval(e).v;
    return value_is_single(&is, v);
}

/* The constant by which e, a loop's step, increases the variable v; 0: something else. */
static int64_t increase(Syntax *e, const Var *v)
{
    int64_t by;
    if (e->kind == COMMA) {
        const int first = increase(e->kid.at[0], v) > 0;
        Counter other = {.var = (Var *)(uintptr_t)v};
        each_node(e->kid.at[first], find_change, &other);
        return other.var ? increase(e->kid.at[!first], v) : 0;
    }
    if (e->kid.n == 0 || e->kid.at[0]->kind != NAME || e->kid.at[0]->var != v)
        return 0;
    if ((e->kind == POSTFIX || e->kind == UNARY) && !strcmp(e->s, "++"))
        return 1;
    return e->kind == ASSIGN && !strcmp(e->s, "+=") && is_constant(e->kid.at[1], &by) && by > 0 ? by : 0;
}

static bool find_end(Counter *c)
{
    const ValueSet limit = eval(c->limit).v;
    int64_t n;
    if (!value_is_single(&limit, &n))
        return false;
    n += c->above - c->plus - c->from;
    c->iterations = n > 0 ? (n + c->by - 1) / c->by : 0;
    c->end = c->from + c->iterations * c->by;
    return c->end <= INT32_MAX;
}

/* var: NULL: the loop has none. */
static Counter counter_of(Syntax *condition, Syntax *body, Syntax *step)
{
    Counter c = {0};
    if (!condition || !step || condition->kind != BINARY || condition->s[0] != '<' || condition->s[1] == '<' ||
        !is_simple(condition))
        return c;
    Syntax *left = condition->kid.at[0];
    if (left->kind == BINARY && left->s[0] == '+') {
        if (!is_constant(left->kid.at[1], &c.plus))
            return c;
        left = left->kid.at[0];
    }
    if (left->kind != NAME || !left->var || !is_followed(left->var) || left->var->pointers || left->var->escapes)
        return c;
    c.var = left->var;
    each_node(body, find_change, &c);
    c.by = c.var ? increase(step, c.var) : 0;
    c.limit = condition->kid.at[1];
    c.above = condition->s[1] == '=';
    const ValueSet now = c.by ? eval(left).v : value_any();
    if (!value_is_single(&now, &c.from) || !find_end(&c))
        c.var = NULL;
    return c;
}

/* All values of the counter, the last one included. */
static ValueSet counted(const Counter *c)
{
    if (c->iterations >= VALUE_FEW)
        return value_between(c->from, c->end);
    ValueSet all = value_is(c->from);
    for (int i = 1; i <= c->iterations; i++)
        all = value_join(all, value_is(c->from + i * c->by));
    return all;
}

static void iterate(Enclosing *l, Syntax *body, Syntax *step)
{
    l->iteration = mark();
    execute(body);
    if (l->continues.n) {
        if (trace()->live)
            paths_add(&l->continues, l->iteration);
        join_paths(&l->continues, l->iteration);
    }
    if (trace()->live && step)
        eval(step);
}

static int truth_of_condition(Syntax *condition)
{
    const ValueSet c = condition ? eval(condition).v : value_is(1);
    return value_truth(&c);
}

/* One iteration, from the state that is joined with that at its end; is the former then another one? */
static bool iterate_any(Enclosing *l, const Counter *c, Syntax *condition, Syntax *body, Syntax *step, int round)
{
    const Mark head = mark();
    const int lost = objects_lost();
    const int truth = truth_of_condition(condition);
    bool grows = false;
    if (condition)
        assume(condition, true);
    if (truth && trace()->live)
        iterate(l, body, step);
    if (trace()->live) {
        if (c->var)
            place_write(whole(object_of(c->var)), value_in(counted(c)));
        grows = state_widen(head, round);
    } else
        undo(head);
    trace()->live = !trace()->gives_up;
    return grows || objects_lost() != lost;
}

/* All iterations at once; false: nothing is executed, as they change more than the counter, and `only` asks for that. */
static bool execute_any(Enclosing *l, Counter c, Syntax *condition, Syntax *body, Syntax *step, bool only)
{
    const Mark m = mark();
    const int breaks = l->breaks.n;
    if (c.var)
        place_write(whole(object_of(c.var)), value_in(counted(&c)));
    bool grows = true;
    for (int round = 0; grows && trace()->live; round++) {
        paths_cut(&l->breaks, breaks);
        grows = iterate_any(l, &c, condition, body, step, round);
        if (grows && only) {
            paths_cut(&l->breaks, breaks);
            undo(m);
            return false;
        }
    }
    const int truth = truth_of_condition(condition);
    const int64_t end = c.end;
    if (c.var && (!find_end(&c) || c.end != end)) { /* the limit changes */
        paths_cut(&l->breaks, breaks);
        undo(m);
        return execute_any(l, (Counter){0}, condition, body, step, only);
    }
    if (truth == 1)
        trace()->live = false;
    if (!trace()->live)
        return true;
    assume(condition, false);
    if (c.var)
        place_write(whole(object_of(c.var)), value_in(value_is(end)));
    return true;
}

static bool can_unroll(int64_t iterations)
{
    return iterations <= UNROLLED_MAX && trace()->steps < STEPS_PRECISE && iterations * trace()->nested <= NESTED_MAX;
}

/* Iterations one by one while it is known that there is one; then all others at once. */
static void execute_each(Enclosing *l, Syntax *condition, Syntax *body, Syntax *step)
{
    const int nested = trace()->nested;
    for (int i = 1; trace()->live; i++) {
        const Mark m = mark();
        const int truth = truth_of_condition(condition);
        if (!truth)
            break;
        trace()->nested = nested;
        if (truth < 0 || !can_unroll(i)) {
            undo(m); /* the condition may have effects, and is evaluated again */
            execute_any(l, (Counter){0}, condition, body, step, false);
            break;
        }
        trace()->nested = nested * i;
        iterate(l, body, step);
        forget(l->mark);
    }
    trace()->nested = nested;
}

static void execute_loop(Syntax *condition, Syntax *body, Syntax *step, bool is_do)
{
    Enclosing l = {.mark = mark(), .around = trace()->loop};
    trace()->loop = &l;
    if (is_do)
        iterate(&l, body, step);
    const Counter c = trace()->live ? counter_of(condition, body, step) : (Counter){0};
    if (!c.var || !c.iterations || !execute_any(&l, c, condition, body, step, can_unroll(c.iterations)))
        execute_each(&l, condition, body, step);
    trace()->loop = l.around;
    if (trace()->live)
        paths_add(&l.breaks, l.mark);
    join_paths(&l.breaks, l.mark);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void execute_if(Syntax *n)
{
    const ValueSet c = eval(n->kid.at[0]).v;
    const int truth = value_truth(&c);
    if (truth >= 0) {
        if (n->kid.at[truth ? 1 : 2])
            execute(n->kid.at[truth ? 1 : 2]);
        return;
    }
    Paths paths = {0};
    const Mark m = mark();
    for (int i = 1; i <= 2; i++) {
        assume(n->kid.at[0], i == 1);
        if (trace()->live && n->kid.at[i])
            execute(n->kid.at[i]);
        if (trace()->live)
            paths_add(&paths, m);
        undo(m);
        trace()->live = !trace()->gives_up;
    }
    join_paths(&paths, m);
}

/* Every label that the value may have is reached from the beginning, and from the statement before it. */
static void execute_switch(Syntax *n)
{
    const ValueSet v = eval(n->kid.at[0]).v;
    Enclosing l = {.mark = mark(), .is_switch = true, .around = trace()->loop};
    trace()->loop = &l;
    trace()->live = false;
    bool has_default = false;
    EACH_OF (s, n->kid.at[1]->kid) {
        has_default |= s->kind == DEFAULT;
        if (s->kind != CASE && s->kind != DEFAULT)
            execute(s);
        else if (label_may_be(n, s, v)) {
            Paths paths = {0};
            if (trace()->live)
                paths_add(&paths, l.mark);
            paths_add_unchanged(&paths);
            join_paths(&paths, l.mark);
        }
    }
    trace()->loop = l.around;
    if (trace()->live)
        paths_add(&l.breaks, l.mark);
    if (!has_default && has_other(n, v))
        paths_add_unchanged(&l.breaks);
    join_paths(&l.breaks, l.mark);
}

static void execute_jump(const Syntax *n)
{
    Enclosing *l = trace()->loop;
    while (n->kind == CONTINUE && l->is_switch)
        l = l->around;
    if (n->kind == BREAK)
        paths_add(&l->breaks, l->mark);
    else
        paths_add(&l->continues, l->iteration);
    trace()->live = false;
}

static void execute_return(const Syntax *n)
{
    Activation *c = trace()->call;
    if (n->kid.at[0]) {
        const Content v = eval(n->kid.at[0]);
        if (trace()->live)
            store(whole(c->function->result), v, type_of_result(c->function), n->kid.at[0]);
    }
    if (trace()->live)
        paths_add(&c->returns, c->mark);
    trace()->live = false;
}

static void execute(Syntax *n)
{
    if (!trace()->live)
        return;
    switch (n->kind) {
    case BLOCK:
        EACH_OF (kid, n->kid)
            execute(kid);
        break;
    case IF: execute_if(n); break;
    case FOR:
        execute(n->kid.at[0]);
        execute_loop(n->kid.at[1], n->kid.at[3], n->kid.at[2], false);
        break;
    case WHILE: execute_loop(n->kid.at[0], n->kid.at[1], NULL, false); break;
    case DO: execute_loop(n->kid.at[1], n->kid.at[0], NULL, true); break;
    case SWITCH: execute_switch(n); break;
    case RETURN: execute_return(n); break;
    case BREAK:
    case CONTINUE: execute_jump(n); break;
    case DECLARE: declare(n->var, n->kid.n ? n->kid.at[0] : NULL); break;
    case EVALUATE:
        if (n->kid.n)
            eval(n->kid.at[0]);
        break;
    case ENUM: break;
    default: eval(n); /* in the first part of a for */
    }
}

void trace_file(void)
{
    *trace() = (Trace){.eval = eval, .execute = execute};
    file()->keeps_types = true; /* which takes half of the time otherwise */
    EACH_OF (f, file()->reached) {
        if (!f->is_public)
            continue;
        trace()->live = true;
        trace()->nested = 1;
        call(f, NULL, NULL);
    }
    file()->keeps_types = false;
    trace()->is_done = !trace()->gives_up;
}
