/* emit_code.c - prints the body of the program: pointers, elementwise loops, branches, loops; emit_call.c prints
 * calls. */
#include <stdlib.h>

#include "emit/emit.h"
#include "base/options.h"
#include "base/progress.h"
#include "ir/scope.h"
#include "passes/state.h"
#include "rt.h"

/* ---- small pieces ------------------------------------------------------------------------------------------------ */

void line(Emitter *e, const char *format, ...)
{
    Text t = {0};
    va_list list;
    va_start(list, format);
    text_vput(&t, format, list);
    va_end(list);
    put_wrapped(&e->body, 4 * e->depth, t.s);
}

void fail_if_text(Emitter *e, const char *status, const char *condition)
{
    line(e, "if (%s)", condition);
    line(e, "    return %s;", status);
    e->fallible = true;
}

/* Is v in a buffer of the caller? */
static bool is_output(const Value *v) { return value_is_output(v) && v->offset < 0 && !v->data && v->input < 0; }

const char *pointer(Value *v)
{
    if (!v)
        return "NULL";
    if (v->data && !v->data->symbolic)
        return constant_expression(v);
    v->mentioned = true;
    return v->c;
}

/* With --profile: from here on, time is the step's. */
static void begin_step(Emitter *e, int step)
{
    if (opt()->profile)
        line(e, "%s_STEP(%d);", c_upper(e->p), step);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void declare_value(Emitter *e, Value *v)
{
    if (!v || v->data || map_get(&e->pointer, v))
        return;
    map_put(&e->pointer, v, v);
    if (v->c || !v->read)
        return; /* a parameter, or not used */
    v->c = c_name(name_length(v->name) || !v->def ? v->name : v->def->name, "t");
    const char *type = type_tag(v->type);
    Value *const root = value_storage(v);
    Dim offset = value_storage_offset(v);
    const bool assigned = root->state && e->entry->kind != ENTRY_RUN;
    const char *constant = root->input >= 0 && !assigned ? "const " : "";
    Text from = {0};
    if (root->input >= 0 || is_output(root))
        text_put(&from, "%s", pointer(root));
    else {
        text_put(&from, root->in_state ? "state" : "arena_");
        *(root->in_state ? &e->state : &e->arena) = true;
        offset = dim_add(offset, D(root->offset));
    }
    const bool bytes = !strcmp(from.s, "arena_");
    if (dim_is(offset, 0) && !bytes)
        line(e, "%s%s *const %s = (%svoid *)%s; /* %s */", constant, type, v->c, constant, from.s, c_shape(*v->shape));
    else
        line(e, "%s%s *const %s = (%svoid *)(%s%s + %s); /* %s */", constant, type, v->c, constant,
             bytes ? "" : text_format("(%sunsigned char *)", constant), from.s, dim_c(offset), c_shape(*v->shape));
}

void declare_state(Emitter *e, Value *v) { declare_value(e, v); }

/* ---- elementwise loops ------------------------------------------------------------------------------------------- */

const char *loop_argument(const Loop *l, int arg, const char *const *loaded)
{
    if (arg < 0)
        return loaded[~arg];
    const Step *s = &l->steps.at[arg];
    if (s->fn)
        return text_format("v%d_", arg);
    Text t = {0};
    Type a = type_arith(s->type);
    if (type_is_float(s->type))
        text_float(&t, a, s->f);
    else
        text_integer(&t, a, s->i);
    return t.s;
}

void emit_steps(Emitter *e, const Loop *l, const char *const *loaded)
{
    for (int i = 0; i < l->steps.n; i++) {
        const Step *s = &l->steps.at[i];
        if (!s->fn)
            continue;
        Text t = {0};
        Type r = type_arith(s->type);
        bool round = step_rounds(s);
        text_put(&t, "const %s v%d_ = ", type_tag(r), i);
        if (round)
            text_put(&t, "rnd_%s(", type_tag(s->type));
        text_put(&t, "%s_%s(", loop_function(s), type_tag(s->a));
        for (int k = 0; k < s->n_arg; k++)
            text_put(&t, "%s%s", k ? ", " : "", loop_argument(l, s->arg[k], loaded));
        text_put(&t, round ? "));" : ");");
        line(e, "%s", t.s);
    }
}

static void emit_store(Emitter *e, const Loop *l, int k, const char *const *at, const char *const *loaded)
{
    Type type = l->out[k]->type;
    const char *v = NULL;
    if (l->out_step[k] < 0) {
        int in = ~l->out_step[k];
        type = copy_type(type);
        v = text_format("ld_%s(%s, %s)", type_tag(type), pointer(l->in[in]), at[in]);
    } else
        v = loop_argument(l, l->out_step[k], loaded);
    line(e, "st_%s(%s, %s, %s);", type_tag(type), pointer(l->out[k]), at[l->n_in + k], v);
}

static void emit_loop(Emitter *e, const Loop *l)
{
    LoopDims d;
    loop_dims(l, &d);
    static const char *const index[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "w", "x", "y"};
    for (int i = 0; i < d.rank; i++) {
        line(e, "for (idx %s_ = 0; %s_ < %s; %s_++)%s", index[i], index[i], dim_c(d.dim[i]), index[i],
             i == d.rank - 1 ? " {" : "");
        e->depth++;
    }
    const char *at[LOOP_IN + LOOP_OUT], *loaded[LOOP_IN];
    for (int k = 0; k < l->n_in + l->n_out; k++) {
        Text x = {0};
        for (int i = 0; i < d.rank; i++) {
            Dim s = d.stride[k][i];
            if (dim_is(s, 0))
                continue;
            text_put(&x, x.n ? " + " : "");
            text_put(&x, dim_is(s, 1) ? "%s_" : "%s_ * %s", index[i], dim_factor_c(s));
        }
        at[k] = x.n ? x.s : "0";
    }
    for (int k = 0; k < l->n_in; k++) { /* loaded once, even if several steps use it */
        if (!loop_reads(l, k))
            continue;
        line(e, "const %s x%d_ = ld_%s(%s, %s);", type_tag(type_arith(l->in[k]->type)), k, type_tag(l->in[k]->type),
             pointer(l->in[k]), at[k]);
        loaded[k] = text_format("x%d_", k);
    }
    emit_steps(e, l, loaded);
    for (int k = 0; k < l->n_out; k++)
        emit_store(e, l, k, at, loaded);
    e->depth--;
    line(e, "}");
    e->depth -= d.rank - 1;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void emit_branch(Emitter *e, Graph *g)
{
    e->depth++;
    emit_graph(e, g);
    e->depth--;
}

static void emit_if(Emitter *e, Node *n)
{
    line(e, "if (%s[0]) {", pointer(n->in[0]));
    emit_branch(e, node_attr(n, "then_branch")->g);
    line(e, "} else {");
    emit_branch(e, node_attr(n, "else_branch")->g);
    line(e, "}");
}

/* Prints the check that all slices of a scan output have the size of the first one. */
static void emit_stacked_sizes(Emitter *e, const Dims *stacked, const char *const *size, const char *iteration)
{
    for (int i = 0; i < stacked->n; i++) {
        const char *now = dim_c(stacked->at[i]);
        line(e, "if (%s == 0)", iteration);
        line(e, "    %s = %s;", size[i], now);
        fail_if(e, "RT_BAD_SIZE", "%s != %s", size[i], now);
    }
}

/* Prints the copies of an iteration's slices into the scan outputs. */
static void emit_stacked(Emitter *e, const Node *n, const Graph *g, const char *iteration)
{
    for (int i = n->n_in - 2; i < n->n_out; i++) {
        Value *y = n->out[i], *b = g->out.at[i + 1];
        if (!y)
            continue;
        Dim count = shape_count(*b->shape), bytes = dim_mul(count, D(type_bits(b->type) / 8));
        if (type_bits(b->type) % 8)
            line(e, "rt_stack(%s, %s, %s, %s, %d);", pointer(y), iteration, pointer(b), dim_c(count),
                 type_bits(b->type));
        else
            line(e, "memcpy((unsigned char *)%s + %s * %s, %s, (size_t)(%s));", pointer(y), iteration,
                 dim_factor_c(bytes), pointer(b), dim_c(bytes));
    }
}

static void emit_loop_node(Emitter *e, Node *n)
{
    Graph *g = node_attr(n, "body")->g;
    const int step = e->step - 1;
    const char *iteration = c_name(NULL, "iteration");
    Symbol *trips = n->call.n_size ? n->call.size[0] : NULL;
    Text head = {0};
    bool counted = trips && map_get(&e->used, trips);
    if (counted && !trips->c) {
        trips->c = c_name(NULL, "trips");
        line(e, "idx %s = 0;", trips->c);
    }
    const Dims stacked = stacked_sizes(n);
    const char **size = NEWS(const char *, stacked.n);
    for (int i = 0; i < stacked.n; i++)
        line(e, "idx %s = 0;", size[i] = c_name(NULL, "slice"));
    text_put(&head, "for (idx %s = 0; ", iteration);
    const Tensor *starts = n->in[1] ? n->in[1]->data : NULL;
    if (starts && !tensor_get_int(starts, 0))
        text_put(&head, "%s < 0%s", iteration, n->in[0] ? " && " : "");
    else if (n->in[1] && !starts)
        text_put(&head, "(%s > 0 || %s[0])%s", iteration, pointer(n->in[1]), n->in[0] ? " && " : "");
    if (n->in[0])
        text_put(&head, "%s < %s", iteration, dim_c(value_dim(n->in[0], 0)));
    line(e, "%s; %s++) {", head.s, iteration);
    e->depth++;
    define_iteration(e, g, iteration);
    for (int i = 0; i < g->in.n; i++)
        if (g->in.at[i]->def)
            declare_value(e, g->in.at[i]);
    if (g->in.at[0]->def) /* otherwise it is not read and has no storage */
        line(e, "*%s = (i64)%s;", g->in.at[0]->c, iteration);
    if (g->in.at[1]->def)
        line(e, "*%s = 1;", g->in.at[1]->c);
    const bool counted_out = n->in[0] && trips && dim_high(value_dim(n->in[0], 0)) <= trips->high;
    if (trips && trips->high < INT64_MAX && !counted_out)
        fail_if(e, "RT_BAD_SIZE", "%s >= %lld", iteration, (long long)trips->high);
    emit_graph(e, g);
    begin_step(e, step);
    emit_stacked_sizes(e, &stacked, size, iteration);
    emit_stacked(e, n, g, iteration);
    if (counted)
        line(e, "%s = %s + 1;", trips->c, iteration);
    const Tensor *goes_on = g->out.at[0]->data;
    if (!goes_on)
        line(e, "if (!%s[0])", pointer(g->out.at[0]));
    if (!goes_on || !tensor_get_int(goes_on, 0))
        line(e, "%sbreak;", goes_on ? "" : "    ");
    e->depth--;
    line(e, "}");
    if (counted)
        trips->known = true;
}

static bool needs_code(const Node *n) { return n->call.kernel || n->call.loop || n->op->flags & CONTROL; }

/* The views without code between v and its storage: "through Flatten "f"". */
static void put_views(Wrapped *w, const Value *v)
{
    for (; v && v->def && v->def->op->flags & VIEW && !needs_code(v->def) && !v->data; v = v->def->in[0])
        if (name_length(v->def->name) && v->def->source && v->def->source->name == v->def->name)
            put_piece(w, text_format("through %s \"%s\"", c_comment(node_operator(v->def)), c_comment(v->def->name)));
}

enum { LONGEST_LIST = 20 }; /* of nodes, inputs or outputs in a comment */

/* The comment before a step: 3 Conv "conv" + Relu "relu" through Flatten "f": f32[1,8] f32[8,5] -> f32[1,5] */
static void comment(Emitter *e, const Node *n)
{
    Wrapped w = {.to = &e->body, .first = "/* ", .between = " * ", .indent = 4 * e->depth, .reserve = 3};
    int left = LONGEST_LIST;
    put_piece(&w, text_format("%d %s \"%s\"", e->step, c_comment(node_operator(n)), c_comment(n->name)));
    for (const Also *a = n->also; a && left; a = a->next, left--)
        put_piece(&w, text_format("+ %s \"%s\"", a->source ? c_comment(a->source->op_type) : "", c_comment(a->name)));
    if (!left)
        put_piece(&w, "+ ...");
    for (int i = 0; i < n->n_in; i++)
        put_views(&w, n->in[i]);
    text_put(w.to, ":");
    left = LONGEST_LIST;
    EACH_IN (v, n)
        if (left-- > 0)
            put_piece(&w, text_format("%s%s", type_tag(v->type), c_shape(*v->shape)));
    put_piece(&w, left < 0 ? "... ->" : "->");
    left = LONGEST_LIST;
    EACH_OUT (v, n)
        if (left-- > 0)
            put_piece(&w, text_format("%s%s", type_tag(v->type), c_shape(*v->shape)));
    text_put(&e->body, "%s */\n", left < 0 ? " ..." : "");
}

static void emit_node(Emitter *e, Node *n)
{
    progress_count(0, 0);
    TextMark mark = text_mark();
    if (states()->at.n && n == states()->at.at[0].copy)
        check_kept(e, false);
    if (needs_code(n) && !n->elided) {
        text_put(&e->body, "\n");
        comment(e, n);
        begin_step(e, e->step++);
    }
    for (int i = 0; i < n->n_out; i++)
        declare_value(e, n->out[i]);
    if (n->elided)
        ;
    else if (n->op->flags & CONTROL) {
        begin_sizes(e, n);
        (node_attr(n, "body") ? emit_loop_node : emit_if)(e, n);
        symbols_end(n);
    } else if (n->call.loop)
        emit_loop(e, n->call.loop);
    else if (n->call.kernel)
        emit_kernel(e, n);
    EACH_OUT (v, n)
        define_elements(e, v);
    check_assumptions(e);
    text_release(mark);
}

void emit_graph(Emitter *e, Graph *g)
{
    Assumptions *outside = e->assumed, here = assumptions_of(g);
    e->assumed = &here;
    check_assumptions(e);
    for (Node *n = g->first; n; n = n->next)
        emit_node(e, n);
    e->assumed = outside;
}
