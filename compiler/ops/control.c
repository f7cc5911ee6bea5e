/* control.c - If and Loop. */
#include "passes/alternatives.h"
#include "base/options.h"
#include "ir/exec.h"
#include "ir/loop.h"
#include "ir/provenance.h"
#include "ir/scope.h"
#include "passes/container.h"
#include "passes/passes.h"
#include "passes/taps.h"

static bool is_given_up(const Graph *g)
{
    bool poisoned = false;
    for (int i = 0; i < g->out.n; i++)
        poisoned |= g->out.at[i]->poisoned;
    return poisoned;
}

/* ---- If ---------------------------------------------------------------------------------------------------------- */

/* Replaces n by the nodes of the branch, which may read values of n's graph. */
static void take_branch(Node *n, Graph *g)
{
    while (g->first) {
        Node *b = g->first;
        node_move(b, n);
    }
    for (int i = 0; i < n->n_out && i < g->out.n; i++)
        if (n->out[i])
            replace_out(n, i, g->out.at[i]);
    provenance_gone(n, "its condition is constant: the nodes of its branch are in its place");
    node_remove(n);
}

/* A size is that of both branches if they agree; otherwise it depends on the condition. */
static Shape either_shape(Node *n, Shape a, Shape b)
{
    if (a.rank != b.rank) {
        node_error(n, "the branches give results of different rank: %s and %s", shape_text(a), shape_text(b));
        help_freeze(n->in[0]);
        return a;
    }
    bool differ = false;
    Shape s = a;
    for (int i = 0; i < a.rank; i++) {
        differ |= dim_is(dim_eq_expr(a.dim[i], b.dim[i]), 0);
        if (!dim_identical(a.dim[i], b.dim[i]))
            s.dim[i] = dim_select(value_dim(n->in[0], 0), a.dim[i], b.dim[i]);
    }
    if (differ && n->op->since_version < 11)
        warn_strict(node_path(n), "SUB-18", "before version 11 both branches must give the same shape, not %s and %s",
                    shape_text(a), shape_text(b));
    return s;
}

/* An error at run time, at the end of g. */
static Value *add_fail(Graph *g, Type type, Shape s)
{
    Node *f = node_new(g, "onnxcc.Fail", 0, NULL, 1);
    set_out(f, 0, type, s);
    node_insert(f, NULL);
    return f->out[0];
}

/* Replaces branch g, which cannot run with the sizes that the model is compiled for, by an error at run time. Its
 * results have the types of the other branch's. */
static void give_up_branch(Graph *g, const Graph *other)
{
    graph_discard(g);
    g->out.n = 0;
    EACH_OF (v, other->out)
        graph_add_output(g, add_fail(g, v->type, *v->shape));
    if (!other->out.n)
        add_fail(g, B8, shape_list(0));
}

/* Infers both branches. If one of them is wrong it is given up: some exporters choose a branch by a size, and the other
 * one is invalid for that size. Returns the index of that branch, or -1. */
static int infer_branches(Node *n, Graph *const *branch)
{
    Deferred *deferred[2];
    int errors[2], mark[3] = {assumption_count()}, lost = -1;
    for (int k = 0; k < 2; k++) {
        deferred[k] = errors_defer();
        infer_graph(branch[k]);
        errors[k] = errors_resume(deferred[k]);
        mark[k + 1] = assumption_count();
    }
    for (int k = 0; k < 2; k++)
        if (!errors[k] || errors[1 - k])
            errors_report(deferred[k]);
        else {
            warn_at(node_path(n), "SUB-19", "the %s cannot run with these sizes: %s", k ? "else_branch" : "then_branch",
                    deferred_text(deferred[k]));
            note_help("should it be taken, the compiled model returns an error");
            assumptions_forget(mark[k], mark[k + 1]);
            lost = k;
        }
    return lost;
}

/* Replaces results that are containers by their components, in the branches and for the node. */
static void flatten_branches(Node *n, Graph *const *branch, int lost)
{
    ContainerType **ctype = NEWS(ContainerType *, n->n_out);
    bool any = false;
    for (int i = 0; i < n->n_out; i++) {
        const ContainerType *a = ctype_of(branch[lost == 0]->out.at[i]), *b = ctype_of(branch[lost != 1]->out.at[i]);
        ctype[i] = a->form == TENSOR && b->form == TENSOR ? (ContainerType *)(uintptr_t)a : ctype_join(n, a, b);
        any |= ctype[i] && ctype[i]->form != TENSOR;
        if (!ctype[i])
            return;
    }
    for (int k = 0; k < 2 && any; k++)
        if (k != lost)
            container_outputs(branch[k], 0, ctype);
    if (any)
        container_results(n, ctype, NULL);
}

static void if_infer(Node *n)
{
    Graph *branch[] = {node_attr(n, "then_branch")->g, node_attr(n, "else_branch")->g};
    Graph *then_g = branch[0], *else_g = branch[1];
    if (then_g->in.n || else_g->in.n) {
        error_node(n, "SUB-27", "the branches have %d and %d inputs; a branch has none", then_g->in.n, else_g->in.n);
        return;
    }
    if (then_g->out.n != n->n_out || else_g->out.n != n->n_out) {
        error_node(n, "SUB-17", "the branches give %d and %d results, the node has %d", then_g->out.n, else_g->out.n,
                   n->n_out);
        return;
    }
    if (!require_one(n, 0))
        return;
    if (in_is_const(n, 0)) {
        take_branch(n, tensor_get_int(n->in[0]->data, 0) ? then_g : else_g);
        return;
    }
    int lost = infer_branches(n, branch);
    if (is_given_up(branch[lost == 0]) || is_given_up(branch[lost != 1])) {
        poison(n);
        return;
    }
    taps_fill(n, branch);
    if (lost < 0)
        alternatives_give(n, branch);
    else
        alternatives_pass(n, branch, 1 - lost);
    flatten_branches(n, branch, lost);
    if (lost >= 0)
        give_up_branch(branch[lost], branch[1 - lost]);
    for (int i = 0; i < n->n_out; i++) {
        const Value *a = then_g->out.at[i], *b = else_g->out.at[i];
        if (a->type != b->type)
            error_node(n, "SUB-18", "the branches give %s and %s for result %d", type_onnx(a->type), type_onnx(b->type),
                       i);
        else
            set_out(n, i, a->type, either_shape(n, *a->shape, *b->shape));
    }
}

static Graph *branch_of(const Node *n, int k) { return node_attr(n, k ? "else_branch" : "then_branch")->g; }

/* Drops results that are unused, or known as expressions over sizes. */
static void if_unread(Node *n)
{
    int kept = 0;
    for (int i = 0; i < n->n_out; i++) {
        Value *v = n->out[i];
        if (v && (!v->uses.n || v->data) && !symbols_of(v))
            v->def = NULL;
        else if (v) {
            for (int k = 0; k < 2; k++) {
                Graph *g = branch_of(n, k);
                graph_set_output(g, kept, g->out.at[i]);
            }
            node_set_out(n, kept++, v);
        }
    }
    for (int k = 0; k < 2; k++)
        for (Graph *g = branch_of(n, k); g->out.n > kept; g->out.n--)
            graph_set_output(g, g->out.n - 1, NULL);
    n->n_out = kept;
}

static void if_bind(Node *n)
{
    for (int k = 0; k < 2; k++) {
        Graph *g = branch_of(n, k);
        copy_outputs(g, 0);
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                value_share(n->out[i], g->out.at[i]);
    }
}

/* ---- Loop -------------------------------------------------------------------------------------------------------- */

/* Makes each of the body's inputs the output of a node at its start, so that it is handled like any other value, and
 * has no storage if it is not used. */
static void define_inputs(Graph *g)
{
    for (int i = g->in.n; i-- > 0;) {
        Node *n = node_new(g, "onnxcc.Start", 0, NULL, 0);
        n->n_out = 1;
        n->out = NEWS(Value *, 1);
        n->pinned = true; /* its output is still the graph's input */
        n->out[0] = g->in.at[i];
        n->out[0]->def = n;
        node_insert(n, g->first);
    }
}

/* Was the body inferred before? */
static bool is_defined(const Graph *g)
{
    bool defined = false;
    for (int i = 0; i < g->in.n; i++)
        defined |= g->in.at[i]->def != NULL;
    return defined;
}

/* Is the condition that the body computes always true? */
static bool never_stops(const Graph *g)
{
    const Value *c = g->out.at[0];
    while (c->def && !strcmp(c->def->op->name, "Identity"))
        c = c->def->in[0];
    return c == g->in.at[1] || (c->data && !c->data->symbolic && tensor_get_int(c->data, 0));
}

/* The limit of the trip count, input M. */
static Dim trip_limit(const Node *n)
{
    Value *max = in(n, 0);
    if (max && max->def && !max->data)
        trace_value(max);
    return max ? dim_max(D(0), value_dim(max, 0)) : D(INT64_MAX);
}

/* The symbol of the trip count that the loop reports. */
static Symbol *trips_symbol(Node *n)
{
    Symbol *s = symbols_of(n);
    if (s)
        return s;
    s = symbol_fresh("trips", 0, dim_high(trip_limit(n)));
    s->upper = trip_limit(n);
    symbol_made_by(s, n);
    return s;
}

/* The trip count: M if nothing else can end the loop, otherwise a size that the loop reports, at most M. */
static Dim trip_count(Node *n, const Graph *g)
{
    bool starts = !in(n, 1) || in_is_const(n, 1);
    if (!dim_is(trip_limit(n), INT64_MAX) && starts && never_stops(g))
        return !in(n, 1) || tensor_get_int(n->in[1]->data, 0) ? trip_limit(n) : D(0);
    return dim_symbol(trips_symbol(n));
}

/* The upper bound of the trip count; INT64_MAX: none. */
static int64_t max_trips(Node *n)
{
    int64_t max = bounds_apply(trip_limit(n)) ? dim_high(trip_limit(n)) : INT64_MAX;
    if (max == INT64_MAX && !in(n, 0))
        bounds_apply(dim_symbol(trips_symbol(n)));
    return max < INT64_MAX ? max : trips_symbol(n)->high;
}

/* Suggests a bound of the trip count. */
static void help_trips(Node *n)
{
    bounds_help(in(n, 0) ? trip_limit(n) : dim_symbol(trips_symbol(n)));
    if (in(n, 0) && n->in[0]->input >= 0)
        note_help("or freeze the trip count: --const %s=FILE.pb", printable(option_quoted(n->in[0]->name)));
}

/* Sets the types of the body's inputs by the node's. */
static void set_inputs(Node *n, Graph *g)
{
    int64_t trips = max_trips(n);
    for (int i = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        v->form = TENSOR;
        v->type = i == 0 ? I64 : i == 1 ? B8 : in_type(n, i);
        v->shape = shape_keep(i < 2 ? shape_list(0) : in_shape(n, i));
    }
    Symbol *iteration = symbol_of(value_dim(g->in.at[0], 0));
    iteration->low = 0;
    iteration->upper = trip_limit(n);
    if (trips < INT64_MAX)
        iteration->high = trips - 1;
}

/* Sets the types of the components of loop-carried containers by their container types, rather than by the first
 * values. */
static void set_components(Graph *g, int carried, ContainerType *const *ctype)
{
    for (int i = 0, at = 2; i < carried; at += ctype_count(ctype[i]), i++) {
        if (ctype[i]->form == TENSOR)
            continue;
        Values part = {0}; /* placeholder tensors of the container's types */
        Node *start = node_new(g, "onnxcc.Start", 0, NULL, 0);
        node_insert(start, g->first);
        container_flatten(container_placeholder(start, ctype[i]), &part);
        for (int k = 0; k < part.n; k++) {
            g->in.at[at + k]->type = part.at[k]->type;
            g->in.at[at + k]->shape = part.at[k]->shape;
        }
    }
}

/* Sets the bounds of loop-carried strings. */
static void set_text(Graph *g, int carried, ContainerType *const *ctype)
{
    for (int i = 0, at = 2; i < carried; i++) {
        const ContainerType *b = ctype[i]->form == OPTIONAL && ctype[i]->item.n ? ctype[i]->item.at[0] : ctype[i];
        for (int k = ctype_count(ctype[i]); k > 0; k--, at++)
            if (b->type == STR && b->text < INT64_MAX)
                g->in.at[at]->text = b->text > 0 ? b->text : 1;
    }
}

/* The first state whose size an iteration changes; -1: none. */
static int resized_state(const Node *n, const Graph *g)
{
    for (int i = 0; i < n->n_in - 2; i++) {
        const Value *x = n->in[i + 2], *y = g->out.at[i + 1];
        if (x->form == TENSOR && y->form == TENSOR && !y->poisoned && x->type == y->type &&
            x->shape->rank == y->shape->rank && !shape_identical(*x->shape, *y->shape))
            return i;
    }
    return -1;
}

/* Warns where the body declares the size of a state by a name, and an iteration changes it from `before` to `after`. */
static void warn_resized_name(const Node *n, const Value *state, const Shape *before, const Shape *after)
{
    const TypeDesc *d = state->desc;
    for (int k = 0; d && d->form == TENSOR && d->shape.rank == before->rank && k < before->rank; k++)
        if (d->dim_param[k] && d->dim_param[k]->n && !dim_identical(before->dim[k], after->dim[k])) {
            warn_strict(node_path(n), "SHP-18",
                        "'%s' is declared with the size '%s', which an iteration changes: it is taken as open",
                        printable(state->name), printable(d->dim_param[k]));
            return;
        }
}

PART(int, nodes_tried) /* a try of a loop includes tries of the loops in its body */

/* Infers an iteration on a copy of the body. now, after: the types of loop-carried values before and after it;
 * *resized: the first tensor whose size it changes (-1: none). False: an error. */
static bool try_iteration(Node *n, Graph *body, ContainerType *const *now, ContainerType **after, int *resized)
{
    enum { LIMIT = 200000 };
    int *const tried = nodes_tried();
    for (const Node *m = body->first; m && *tried <= LIMIT; m = m->next)
        if (++*tried > LIMIT)
            node_error(n,
                       "nested loops with growing loop-carried values: more than %d nodes would have to be simulated",
                       LIMIT);
    if (*tried > LIMIT)
        return false;
    int carried = n->n_in - 2, mark = assumption_count();
    Graph *g = graph_copy(body, n);
    Deferred *deferred = errors_defer();
    set_inputs(n, g);
    container_inputs(g, 2, now);
    set_components(g, carried, now);
    set_text(g, carried, now);
    infer_graph(g);
    for (int i = 0; i < g->out.n; i++)
        alternatives_choose(g, i, i > 0 && i <= carried && now[i - 1]->form == TENSOR ? now[i - 1]->shape.rank : -1);
    bool fine = true;
    for (int i = 0; i < carried; i++) {
        fine &= !g->out.at[i + 1]->poisoned;
        after[i] = ctype_of(g->out.at[i + 1]);
    }
    errors_resume(deferred);
    if (!fine)
        errors_report(deferred);
    assumptions_forget(mark, assumption_count());
    *resized = resized_state(n, g);
    if (*resized >= 0)
        warn_resized_name(n, body->in.at[*resized + 2], n->in[*resized + 2]->shape, g->out.at[*resized + 1]->shape);
    graph_discard(g);
    return fine;
}

/* Carries state i as the only element of a sequence, whose element size may change between iterations. */
static void carry_in_sequence(Node *n, Graph *g, int i)
{
    Value *old = g->in.at[i + 2], *y = out(n, i);
    Node *start = node_new(g, "onnxcc.Start", 0, NULL, 0);
    start->source = n->source;
    node_insert(start, g->first);
    g->in.at[i + 2] = value_new(g, old->name);
    value_replace(old, make(start, "onnxcc.SequenceAt", 2, g->in.at[i + 2], make_int(start, 0)));
    Node *end = node_new(g, "onnxcc.SequenceConstruct", 1, &g->out.at[i + 1], 1);
    end->source = n->source;
    node_insert(end, NULL);
    graph_set_output(g, i + 1, end->out[0]);
    node_set_in(n, i + 2, sequence_new(n->graph, in_type(n, i + 2), 1, &n->in[i + 2]));
    if (!y)
        return;
    Value *in[] = {node_set_out(n, i, value_new(n->graph, NULL)), make_int(n, 0)};
    Node *at = node_new(n->graph, "onnxcc.SequenceAt", 2, in, 1);
    at->source = n->source;
    node_insert(at, n->next);
    at->out[0]->name = y->name;
    at->out[0]->desc = y->desc;
    value_replace(y, at->out[0]);
}

/* Finds types of loop-carried containers that hold for all iterations, and replaces the containers by components. NULL:
 * an error. */
static ContainerType **flatten_carried(Node *n, Graph *g)
{
    enum { MAX_TRIES = 8, FEW_ITERATIONS = 16 };
    int carried = n->n_in - 2, tries = 0;
    ContainerType **first = NEWS(ContainerType *, carried), **now = NEWS(ContainerType *, g->out.n),
                  **after = NEWS(ContainerType *, carried);
    int64_t trips = max_trips(n), each = 0; /* iterations simulated one by one, because growth is not linear */
    for (int i = 0; i < carried; i++)
        now[i] = first[i] = ctype_of(n->in[i + 2]);
    for (bool stable = false; !stable;) {
        int resized;
        if (++tries > MAX_TRIES && !each && trips <= FEW_ITERATIONS)
            memcpy(now, first, sizeof *now * (size_t)carried);
        else if (tries > MAX_TRIES + (each ? trips + MAX_TRIES : 0)) {
            node_error(n, "a loop-carried value grows faster than linearly, so it has no bound");
            note_help("growth that is not linear is limited to %d iterations", FEW_ITERATIONS);
            return NULL;
        }
        each += tries > MAX_TRIES;
        if (!try_iteration(n, g, now, after, &resized))
            return NULL;
        if (resized >= 0) {
            carry_in_sequence(n, g, resized);
            return flatten_carried(n, g);
        }
        stable = true;
        for (int i = 0; i < carried; i++) {
            if (now[i]->form == TENSOR && now[i]->type != STR)
                continue;
            int64_t left = !each ? trips : each <= trips ? ONE_ITERATION : 0;
            ContainerType *b = ctype_grow(n, first[i], now[i], after[i], left, tries);
            if (!b)
                return NULL;
            if (!ctype_is_bounded(b)) {
                error_node(n, "SHP-11", "a loop-carried value grows, and the trip count may be too large");
                help_trips(n);
                return NULL;
            }
            if (first[i]->form == SEQUENCE && first[i]->rank < 0 && !first[i]->item.n)
                first[i] = ctype_empty(b);
            stable &= ctype_is_same(b, now[i]);
            now[i] = b;
        }
    }
    container_arguments(n, 2, now);
    container_inputs(g, 2, now);
    return now;
}

/* Sets types and shapes of n's outputs: the body's, of the last iteration or stacked over all. */
static void loop_results(Node *n, Graph *g)
{
    int carried = n->n_in - 2;
    Dim trips = trip_count(n, g);
    for (int i = 1; i < g->out.n; i++) {
        const Value *v = g->out.at[i];
        Shape s = *v->shape;
        if (i <= carried) {
            if (v->type != in_type(n, i + 1) || !shape_identical(s, in_shape(n, i + 1)))
                node_error(n, "carried value %d starts as %s %s, but the body makes %s %s", i - 1,
                           type_onnx(in_type(n, i + 1)), shape_text(in_shape(n, i + 1)), type_onnx(v->type),
                           shape_text(s));
        } else {
            if (!require_rank(n, s.rank + 1))
                return;
            s.rank++;
            for (int k = s.rank - 1; k > 0; k--)
                s.dim[k] = s.dim[k - 1];
            s.dim[0] = trips;
        }
        set_out(n, i - 1, v->type, s);
    }
}

/* Is the body's first result one bool? Reports otherwise. */
static bool has_condition(Node *n, const Graph *g)
{
    const Value *c = g->out.at[0];
    if (c->form != TENSOR || c->type != B8)
        return node_error(n, "the body's condition is %s, not a bool",
                          c->form == TENSOR ? type_onnx(c->type) : "no tensor");
    return require_dim(c->def ? c->def : n, "elements of the body's condition", shape_count(*c->shape), D(1));
}

/* Infers the results of loop n, and its body if that was not inferred before. */
static void infer_loop(Node *n)
{
    Graph *g = node_attr(n, "body")->g;
    int carried = n->n_in - 2;
    if (!require_one(n, 0) || !require_one(n, 1))
        return;
    if (g->in.n != carried + 2 || g->out.n < carried + 1 || n->n_out > g->out.n - 1) {
        node_error(n, "the body has %d inputs and %d outputs, which does not fit %d carried values and %d results",
                   g->in.n, g->out.n, carried, n->n_out);
        return;
    }
    if (is_defined(g)) { /* its outputs may have changed */
        loop_results(n, g);
        return;
    }
    bool fits = true;
    for (int i = 0; i < g->in.n; i++)
        if (i < 2 || n->in[i]->form == TENSOR)
            fits &= takes(n, g->in.at[i], i == 0 ? I64 : i == 1 ? B8 : n->in[i]->type, i < 2 ? NULL : n->in[i]->shape);
    if (!fits) {
        poison(n);
        return;
    }
    ContainerType **ctype = NULL;
    for (int i = 0; i < carried && !ctype; i++)
        if ((n->in[i + 2]->form != TENSOR || n->in[i + 2]->type == STR) && !(ctype = flatten_carried(n, g))) {
            poison(n);
            return;
        }
    Graph *before = ctype || !carried ? NULL : graph_copy(g, n); /* in case that a state changes its size */
    int mark = assumption_count(), errors = error_count(), resized;
    set_inputs(n, g);
    if (ctype)
        set_text(g, carried, ctype);
    infer_graph(g);
    for (int i = 0; i < g->out.n; i++)
        alternatives_choose(g, i, i > 0 && i <= carried && !ctype ? in_shape(n, i + 1).rank : -1);
    if (is_given_up(g) || error_count() > errors || !has_condition(n, g)) {
        poison(n);
        return;
    }
    if (before && (resized = resized_state(n, g)) >= 0) {
        warn_resized_name(n, before->in.at[resized + 2], n->in[resized + 2]->shape, g->out.at[resized + 1]->shape);
        assumptions_forget(mark, assumption_count());
        graph_discard(g);
        node_attr(n, "body")->g = before;
        carry_in_sequence(n, before, resized);
        infer_loop(n);
        return;
    }
    if (before)
        graph_discard(before);
    for (int i = 0; i < g->out.n - 1; i++)
        if (g->out.at[i + 1]->form != TENSOR && (i >= carried || !ctype || ctype[i]->form == TENSOR)) {
            node_error(n, "result %d of the body is a sequence or an optional, %s", i + 1,
                       i < carried ? "but starts as a tensor" : "which a loop carries, but does not stack");
            return;
        }
    if (ctype) {
        bool *given = NEWS(bool, g->out.n); /* the body unwraps the optional, so the loop's result is unwrapped too */
        for (int i = 0; i < g->out.n - 1; i++) {
            given[i] = g->out.at[i + 1]->form != OPTIONAL;
            ctype[i] = i < carried ? ctype[i] : ctype_of(g->out.at[i + 1]);
        }
        container_outputs(g, 1, ctype);
        container_results(n, ctype, given);
    }
    if (never_stops(g))
        graph_set_output(g, 0, value_const(g, tensor_int(B8, 1)));
    define_inputs(g);
    loop_results(n, g);
}

/* ---- a loop whose body cannot run -------------------------------------------------------------------------------- */

/* A loop's arguments and results, noted before its body is inferred, which may replace them. */
typedef struct Untried {
    Value **in, **out;
    Values stacked; /* its scan outputs after no iteration; NULL: see nothing_stacked */
    int carried, assumed;
} Untried;

/* A scan output after no iteration; NULL: its type is not declared. Sizes that only an iteration determines are 0. */
static Value *nothing_stacked(Graph *g, const TypeDesc *d)
{
    if (!d || d->form != TENSOR || !d->elem || d->shape.rank < 0 || d->shape.rank == MAX_RANK)
        return NULL;
    Shape s = shape_list(1, D(0));
    for (int i = 0; i < d->shape.rank; i++)
        s.dim[s.rank++] = dim_is_const(d->shape.dim[i]) ? d->shape.dim[i] : D(0);
    return value_const(g, tensor_zero(d->elem, s));
}

static Untried loop_untried(const Node *n, const Graph *g)
{
    Untried u = {.carried = n->n_in - 2, .assumed = assumption_count()};
    u.in = memcpy(NEWS(Value *, n->n_in), n->in, sizeof *n->in * (size_t)n->n_in);
    u.out = memcpy(NEWS(Value *, n->n_out), n->out, sizeof *n->out * (size_t)n->n_out);
    for (int i = u.carried; i < n->n_out; i++)
        vec_push(&u.stacked, i + 1 < g->out.n ? nothing_stacked(n->graph, g->out.at[i + 1]->desc) : NULL);
    return u;
}

/* Are the errors those of nodes in the body of n whose inputs have no result, and may n give its results without it? */
static bool may_give_up_body(const Node *n, const Untried *u, const Deferred *errors)
{
    static const char *const codes[] = {"OPR-01", "OPR-04", "INF-06", "INF-08", "OPT-16", NULL};
    for (int i = 0; i < u->stacked.n; i++)
        if (n->out[u->carried + i] && !u->stacked.at[i])
            return false;
    return deferred_are(errors, codes, node_place(n));
}

/* Replaces n, whose body cannot run with the sizes that the model is compiled for, by a loop that is an error at run
 * time unless it ends before the first iteration. Its results are those of no iteration. */
static void give_up_body(Node *n, const Untried *u)
{
    Graph *g = node_attr(n, "body")->g;
    assumptions_forget(u->assumed, assumption_count());
    for (int i = 0; i < u->carried && i < n->n_out; i++)
        if (n->out[i]) /* replaced since then: a state carried in a sequence */
            replace_out(n, i,
                        n->out[i] == u->out[i] ? u->in[i + 2]
                                               : sequence_new(n->graph, in_type(n, i + 2), 1, &u->in[i + 2]));
    for (int i = 0; i < u->stacked.n; i++)
        if (n->out[u->carried + i])
            replace_out(n, u->carried + i, u->stacked.at[i]);
    n->n_out = 0;
    node_set_inputs(n, 2, u->in);
    graph_discard(g);
    g->in.n = 2;
    g->out.n = 0;
    graph_add_output(g, add_fail(g, B8, shape_list(0)));
    infer_loop(n);
}

static void loop_infer(Node *n)
{
    Graph *g = node_attr(n, "body")->g;
    if (n->n_in < 2) /* omitted trailing inputs */
        node_set_inputs(n, 2, (Value *[]){in(n, 0), NULL});
    if (is_defined(g) || always_iterates(n)) {
        infer_loop(n);
        return;
    }
    const Untried before = loop_untried(n, g);
    Deferred *deferred = errors_defer();
    infer_loop(n);
    if (!errors_resume(deferred) || !may_give_up_body(n, &before, deferred)) {
        errors_report(deferred);
        return;
    }
    warn_at(node_path(n), "SUB-19", "the body cannot run with these sizes: %s", deferred_text(deferred));
    note_help("should it run, the compiled model returns an error");
    give_up_body(n, &before);
}

/* ---- Loop: memory ------------------------------------------------------------------------------------------------ */

static Node *copy_node(Graph *g, Value *v, Node *before)
{
    Node *c = node_new(g, "onnxcc.Copy", 1, &v, 1);
    c->name = v->name;
    node_insert(c, before);
    infer_same(c);
    return c;
}

/* Is v memory with undefined contents that is used only once? A body's input is not. */
static bool is_room(const Value *v)
{
    for (int i = 0; v->graph && i < v->graph->in.n; i++)
        if (v->graph->in.at[i] == v)
            return false;
    return v->def && v->uses.n == 1 && !v->def->call.kernel && !v->def->call.loop && !strcmp(v->def->op->name, "Start");
}

/* Loop-carried values share storage with the node's results: set before the loop and at the end of each iteration. */
static void loop_bind(Node *n)
{
    Graph *g = node_attr(n, "body")->g;
    if (symbols_of(n))
        bind_size(n, 0, symbols_of(n));
    const Tensor *goes_on = g->out.at[0]->data;
    copy_outputs(g, goes_on && !goes_on->symbolic ? 1 : 0);
    int carried = n->n_in - 2;
    if (n->n_out < carried) { /* unused results of loop-carried values need storage, too */
        Value **all = NEWS(Value *, carried);
        memcpy(all, n->out, sizeof *all * (size_t)n->n_out);
        n->out = all;
        n->n_out = carried;
    }
    for (int i = 0; i < carried; i++) {
        if (!n->out[i]) {
            node_set_out(n, i, value_new(n->graph, g->in.at[i + 2]->name));
            set_out(n, i, g->in.at[i + 2]->type, *g->in.at[i + 2]->shape);
        }
        Node *iteration = copy_node(g, g->out.at[i + 1], NULL);
        bind_node(iteration);
        if (!is_room(n->in[i + 2])) {
            Node *start = copy_node(n->graph, n->in[i + 2], n);
            node_set_in(n, i + 2, start->out[0]);
            bind_node(start);
        }
        value_share(n->out[i], n->in[i + 2]);
        value_share(n->out[i], g->in.at[i + 2]);
        value_carry(g->in.at[i + 2], iteration);
    }
}

/* Drops unused scan outputs. */
static void loop_unread(Node *n)
{
    Graph *g = node_attr(n, "body")->g;
    int kept = n->n_in - 2;
    for (int k = kept; k < g->out.n - 1; k++) {
        Value *v = out(n, k);
        if (v && (v->uses.n || symbols_of(v))) {
            graph_set_output(g, kept + 1, g->out.at[k + 1]);
            node_set_out(n, kept++, v);
        } else if (v) {
            keep_stacked_sizes(n, g->out.at[k + 1]->shape);
            v->def = NULL;
        }
    }
    for (; g->out.n - 1 > kept; g->out.n--)
        graph_set_output(g, g->out.n - 1, NULL);
    n->n_out = n->n_out < kept ? n->n_out : kept;
}

/* clang-format off */
#define SINCE_11                                                                                                       \
    "24 V=ALL12|seq|opt; 23 V=ALL11|seq|opt; 21 V=ALL10|seq|opt; 19 V=ALL9|seq|opt; 16 V=ALLB|seq|opt; "               \
    "13 V=ALL|seq; 11 V=ALL"

static const Op control_ops[] = {
    {"If", 25, "cond:B -> outputs**:V", "B=bool V=ALL13|seq|opt", "then_branch:graph else_branch:graph", if_infer, if_bind,
     .flags = CONTROL, .unread = if_unread, .compatible = SINCE_11},
    {"If", 1, "cond:B -> outputs**:V", "B=bool V=ALL", "then_branch:graph else_branch:graph", if_infer, if_bind, .flags = CONTROL,
     .unread = if_unread},
    {"Loop", 25, "M?:I cond?:B v_initial?**:V -> v_final_and_scan_outputs**:V", "I=int64 B=bool V=ALL13|seq|opt",
     "body:graph", loop_infer, loop_bind, .flags = CONTROL, .unread = loop_unread, .compatible = SINCE_11 "; 1 V=ALL"},
};
/* clang-format on */
OPS(control_ops);
