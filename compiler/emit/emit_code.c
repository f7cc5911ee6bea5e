/* emit_code.c - prints the body of the program: pointers, nodes, branches, loops. */
#include <stdlib.h>

#include "emit/emit.h"
#include "base/options.h"
#include "base/progress.h"
#include "ir/scope.h"
#include "passes/state.h"
#include "rt.h"

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Is v in a buffer of the caller? */
static bool is_output(const Value *v) { return value_is_output(v) && v->offset < 0 && !v->data && v->input < 0; }

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
    declare_parts(e, offset);
    if (dim_is(offset, 0) && !bytes)
        line(e, "%s%s *const %s = (%svoid *)%s; /* %s */", constant, type, v->c, constant, from.s, c_shape(*v->shape));
    else
        line(e, "%s%s *const %s = (%svoid *)(%s%s + %s); /* %s */", constant, type, v->c, constant,
             bytes ? "" : text_format("(%sunsigned char *)", constant), from.s, dim_c(offset), c_shape(*v->shape));
}

void declare_state(Emitter *e, Value *v) { declare_value(e, v); }

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* With --profile: from here on, time is the step's. */
static void begin_step(Emitter *e, int step)
{
    if (opt()->profile)
        line(e, "%s_STEP(%d);", c_upper(e->p), step);
}

static void emit_branch(Emitter *e, Graph *g)
{
    const int outside = e->parts.n;
    e->depth++;
    emit_graph(e, g);
    e->depth--;
    end_parts(e, outside);
}

static void emit_if(Emitter *e, Node *n)
{
    step_called(e, n, NULL);
    line(e, "if (%s[0]) {", pointer(n->in[0]));
    emit_branch(e, node_attr(n, "then_branch")->g);
    line_is(&e->body, LINE_NODE, n);
    line(e, "} else {");
    emit_branch(e, node_attr(n, "else_branch")->g);
    line_is(&e->body, LINE_NODE, n);
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
            line(e, "rt_stack(%s, (idx)%s, %s, %s, %d);", pointer(y), iteration, pointer(b), dim_c(count),
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
    const bool is_wide = iterations_exceed_idx(n);
    text_put(&head, is_wide ? "for (i64 %s = 0; " : "for (idx %s = 0; ", iteration);
    const Tensor *starts = n->in[1] ? n->in[1]->data : NULL;
    if (starts && !tensor_get_int(starts, 0))
        text_put(&head, "%s < 0%s", iteration, n->in[0] ? " && " : "");
    else if (n->in[1] && !starts)
        text_put(&head, "(%s > 0 || %s[0])%s", iteration, pointer(n->in[1]), n->in[0] ? " && " : "");
    if (n->in[0]) {
        const Dim most = value_dim(n->in[0], 0); /* a negative constant may not fit idx */
        text_put(&head, "%s < %s", iteration, dim_wide_c(dim_high(most) < 0 ? D(0) : most));
    }
    step_called(e, n, NULL);
    line(e, "%s; %s++) {", head.s, iteration);
    e->depth++;
    define_iteration(e, g, iteration);
    EACH_OF (v, g->in)
        if (v->def)
            declare_value(e, v);
    if (g->in.at[0]->def) /* otherwise it is not read and has no storage */
        line(e, "*%s = (i64)%s;", g->in.at[0]->c, iteration);
    if (g->in.at[1]->def)
        line(e, "*%s = 1;", g->in.at[1]->c);
    const bool counted_out = n->in[0] && trips && dim_high(value_dim(n->in[0], 0)) <= trips->high;
    if (trips && trips->high < INT64_MAX && !counted_out)
        fail_if(e, "RT_BAD_SIZE", "%s >= %lld", iteration, (long long)trips->high);
    const int outside = e->parts.n;
    emit_graph(e, g);
    line_is(&e->body, LINE_NODE, n);
    begin_step(e, step);
    emit_stacked_sizes(e, &stacked, size, iteration);
    emit_stacked(e, n, g, iteration);
    end_parts(e, outside);
    if (counted)
        line(e, is_wide ? "%s = rt_size(%s + 1);" : "%s = %s + 1;", trips->c, iteration);
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
    Wrapped w = {
        .to = &e->body, .first = "/* ", .between = " * ", .indent = 4 * e->depth, .reserve = sizeof ": */" - 1};
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
        line_is(&e->body, LINE_NODE, n);
        text_put(&e->body, "\n");
        comment(e, n);
        begin_step(e, e->step++);
    }
    line_is(&e->body, LINE_NODE, n);
    for (int i = 0; i < n->n_out; i++)
        declare_value(e, n->out[i]);
    if (n->elided)
        ;
    else if (n->op->flags & CONTROL) {
        begin_sizes(e, n);
        (node_attr(n, "body") ? emit_loop_node : emit_if)(e, n);
        symbols_end(n);
    } else if (n->call.loop) {
        step_called(e, n, NULL);
        emit_loop(e, n->call.loop);
    } else if (n->call.kernel)
        emit_kernel(e, n);
    EACH_OUT (v, n)
        define_elements(e, v);
    line_is(&e->body, LINE_RUN, NULL);
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
