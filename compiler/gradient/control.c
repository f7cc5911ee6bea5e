/* control.c - Gradient of If and Loop (Scan has become a Loop by then): their graphs replayed and reversed. */
#include "ir/spatial.h"
#include "passes/container.h"
#include "gradient.h"

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

/* Begins a tape for a new graph of `owner`, nested in p's; q->n is the graph's end. */
static void begin_tape(Tape *q, const Tape *p, Node *owner, const Graph *like)
{
    *q = (Tape){.outer = p, .n = begin_graph(owner, p->n, like)};
}

static Shape remap_shape(const Tape *p, Shape s)
{
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = remap_size(p, s.dim[i]);
    return s;
}

/* Gives the symbols of v's elements the bounds of old's. */
static void bound_like(Value *v, const Value *old)
{
    for (const Symbol *s = symbols_of(old); s; s = s->next) {
        const int i = s->origin.index;
        Symbol *t = has_element(v, i) ? symbol_of(value_dim(v, i)) : NULL;
        if (t && t->origin.kind == ORIGIN_ELEMENT && t->origin.value == v) {
            t->low = s->low;
            t->high = s->high;
        }
    }
}

/* A clone of g for `owner`, with remapped values. */
static Graph *clone_graph(const Tape *p, Graph *g, Node *owner)
{
    Tape q;
    begin_tape(&q, p, owner, g);
    q.forward_only = true;
    EACH_OF (v, g->in) {
        map_put(&q.map, v, add_input(q.n->graph, v->name, v->type, remap_shape(&q, *v->shape)));
        bound_like(remap(&q, v), v);
    }
    for (Node *m = g->first; m; m = m->next)
        replay(&q, m);
    for (int i = 0; i < g->out.n; i++)
        graph_add_output(q.n->graph, remap(&q, g->out.at[i]));
    return end_graph(q.n);
}

Node *clone_remapped(const Tape *p, Node *m, Value **in)
{
    Node *c = clone_node(p->n, m, in, m->n_in, m->n_out);
    for (int i = 0; i < m->n_out; i++)
        if (!m->out[i])
            c->out[i] = NULL;
        else if (m->op->flags & PRETYPED)
            set_out(c, i, m->out[i]->type, remap_shape(p, *m->out[i]->shape));
    for (int i = 0; i < c->n_attr; i++)
        if (c->attr[i].g)
            c->attr[i].g = clone_graph(p, c->attr[i].g, c);
    infer_node(c);
    for (int i = 0; i < m->n_out; i++)
        if (m->out[i])
            bound_like(c->out[i], m->out[i]);
    return c;
}

Graph *decided_branch(const Node *m, Value *const *in)
{
    if (strcmp(m->op->name, "If") || !in[0]->data || in[0]->data->symbolic)
        return NULL;
    return node_attr(m, tensor_get_int(in[0]->data, 0) ? "then_branch" : "else_branch")->g;
}

/* ---- active values ---------------------------------------------------------------------------------------------- */

/* The active values of enclosing graphs that m's graphs read. */
typedef struct Captured {
    const Tape *p;
    Map seen;
    VEC(Value *) list;
} Captured;

static void capture(Value *v, void *captured)
{
    Captured *c = captured;
    if (!is_active(c->p, v) || !type_is_float(v->type) || map_get(&c->seen, v))
        return;
    map_put(&c->seen, v, v);
    vec_push(&c->list, v);
}

static void capture_all(Graph *g, Captured *captured)
{
    for (Node *m = g->first; m; m = m->next)
        each_read(m, capture, captured);
    for (int i = 0; i < g->out.n; i++)
        capture(g->out.at[i], captured);
}

typedef struct Activity {
    const Tape *p;
    bool active;
} Activity;

static void read_activity(Value *v, void *activity)
{
    Activity *l = activity;
    l->active |= is_active(l->p, v);
}

/* Marks the active values of g. */
static void mark_active(Tape *q, const Graph *g)
{
    for (Node *m = g->first; m; m = m->next) {
        Activity l = {.p = q};
        each_read(m, read_activity, &l);
        for (int i = 0; l.active && i < m->n_out; i++)
            if (m->out[i])
                map_put(&q->active, m->out[i], m);
    }
}

/* The states of Loop m that are active before or after some iteration. */
static bool *active_states(const Tape *p, Node *m)
{
    const Graph *g = node_attr(m, "body")->g;
    Tape q = {.outer = p};
    int carried = m->n_in - 2;
    bool *active = NEWS(bool, carried + 1);
    for (bool more = true; more;) {
        more = false;
        mark_active(&q, g);
        for (int i = 0; i < carried; i++)
            if (!active[i] && type_is_float(m->in[i + 2]->type) &&
                (is_active(p, m->in[i + 2]) || is_active(&q, g->out.at[i + 1]))) {
                map_put(&q.active, g->in.at[i + 2], m);
                active[i] = more = true;
            }
    }
    return active;
}

/* ---- If ---------------------------------------------------------------------------------------------------------- */

/* Accumulates d, the adjoint of a graph's output v, if v is active. */
static void seed(Tape *q, Value *v, Value *d)
{
    v = remap(q, v);
    if (!d || !is_active(q, v) || !type_is_float(v->type))
        return;
    if (d->shape->rank >= 0 && !shape_identical(*d->shape, *v->shape)) /* d has the common shape of both branches */
        d = reshape_like(q->n, d, v);
    accumulate(q, v, d);
}

/* The adjoint of v in the shape of `like`. */
static Value *adjoint_like(const Tape *q, Value *v, Value *like)
{
    Value *d = map_get(&q->adjoint, v);
    return d ? reshape_like(q->n, d, like) : zeros_like(q->n, like);
}

static Value *adjoint_of(const Tape *p, const Node *m, int o)
{
    return out(m, o) ? map_get(&p->adjoint, m->out[o]) : NULL;
}

/* A branch of the reverse If, q, up to the reverse sweep: g is taken. */
static void branch_vjp(Tape *q, const Tape *p, const Node *m, const Graph *g, Node *owner)
{
    begin_tape(q, p, owner, g);
    for (Node *b = g->first; b; b = b->next)
        replay(q, b);
    for (int i = 0; i < g->out.n; i++)
        seed(q, g->out.at[i], adjoint_of(p, m, i));
    backward(q);
}

/* Notes the node at which the adjoint of x, in the nested graph of q, ends, for v, which is x outside. */
static void note_stop(Tape *p, const Tape *q, Value *v, Value *x)
{
    Node *stop = last_without_vjp(q, x);
    if (stop)
        map_put(&p->stops, v, stop);
}

static void if_vjp(Tape *p, Node *m, const Captured *of)
{
    static const char *const branches[] = {"then_branch", "else_branch"};
    Node *b = make_node(p->n, "If", 1, &m->in[0], of->list.n);
    Tape q[2];
    for (int k = 0; k < 2; k++)
        branch_vjp(&q[k], p, m, node_attr(m, branches[k])->g, b);
    b->n_out = 0;
    EACH_OF (v, of->list) {
        if (!map_get(&q[0].adjoint, v) && !map_get(&q[1].adjoint, v)) {
            note_stop(p, &q[0], v, v);
            note_stop(p, &q[1], v, v);
            continue;
        }
        for (int k = 0; k < 2; k++)
            graph_add_output(q[k].n->graph, adjoint_like(&q[k], v, v));
        accumulate(p, v, b->out[b->n_out++]);
    }
    for (int k = 0; k < 2; k++) {
        Graph *g = end_graph(q[k].n);
        attr_set(b, (Attr){.name = name(branches[k]), .type = A_GRAPH, .g = g});
        if (!b->n_out)
            graph_discard(g);
    }
    if (!b->n_out)
        node_remove(b);
}

/* ---- Loop -------------------------------------------------------------------------------------------------------- */

/* The values of the body's input i at the start of each iteration, as a scan output of Loop m. */
static Value *recorded(Node *m, int i)
{
    Graph *g = node_attr(m, "body")->g;
    int k = m->n_in - 2;
    while (k < g->out.n - 1 && g->out.at[k + 1] != g->in.at[i])
        k++;
    if (k == g->out.n - 1)
        graph_add_output(g, g->in.at[i]);
    if (!out(m, k)) {
        add_result(m, k);
        infer_node(m);
    }
    return m->out[k];
}

/* Loop b reverses the iterations of Loop m. It carries the adjoints of the states, and the accumulated adjoints of
 * captured values. For a captured value that is read by a Gather, it stacks the adjoints of the slices. */
typedef struct LoopVjp {
    Tape *p, q; /* the tape of m's graph; the tape of b's body */
    Node *m, *b;
    Graph *g;         /* m's body */
    bool *active;     /* m's states */
    Dim trips;        /* trip count of m */
    Value *iteration; /* the iteration of m that b's body reverses */
    Values in;        /* inputs of b */
    Values of;        /* values whose adjoints b carries; NULL: after an iteration it is zero */
} LoopVjp;

/* Adds a loop-carried value to b: the adjoint of x, initially `first`. Returns the body's input. */
static Value *carry(LoopVjp *l, Value *x, Value *first)
{
    vec_push(&l->in, first);
    vec_push(&l->of, x);
    return add_input(l->q.n->graph, NULL, x->type, *x->shape);
}

/* Maps the inputs of m's body to their values in the reversed iteration. */
static void restore_inputs(LoopVjp *l)
{
    for (int i = 0; i < l->g->in.n; i++) {
        Value *old = l->g->in.at[i], *v;
        if (!old->uses.n)
            continue;
        if (i == 1)
            v = make_scalar(l->q.n, B8, 1);
        else
            bound_like(v = inferred(make(l->q.n, "Gather", 2, recorded(l->m, i), l->iteration)), old);
        map_put(&l->q.map, old, v);
        if (i > 1 && l->active[i - 2])
            map_put(&l->q.active, v, l->m);
    }
}

/* Sets l->iteration: the last iteration of m is reversed first. */
static void find_iteration(LoopVjp *l)
{
    Dim last = dim_sub(l->trips, D(1));
    Value *v = inferred(make(l->q.n, "Squeeze", 1, make_dims(l->q.n, 1, &last)));
    l->iteration = inferred(make(l->q.n, "Sub", 2, v, l->q.n->graph->in.at[0]));
}

/* Seeds the adjoints of m's scan outputs in this iteration and of its states after it. */
static void seed_iteration(LoopVjp *l)
{
    int carried = l->m->n_in - 2, at = 2;
    for (int i = 0; i < l->g->out.n - 1; i++) {
        Value *d = adjoint_of(l->p, l->m, i);
        if (i < carried)
            d = l->active[i] ? l->q.n->graph->in.at[at++] : NULL;
        else if (d)
            d = make(l->q.n, "Gather", 2, d, l->iteration);
        seed(&l->q, l->g->out.at[i + 1], d);
    }
}

/* Makes b, which carries the adjoints of m's active states. */
static void begin_loop_vjp(LoopVjp *l)
{
    Node *n = l->p->n;
    l->b = make_node(n, "Loop", 0, NULL, 0);
    begin_tape(&l->q, l->p, l->b, l->g);
    l->q.in_loop = true;
    vec_push(&l->in, trip_count(l->b, l->trips));
    vec_push(&l->in, NULL);
    add_iteration(l->q.n->graph);
    for (int i = 0; i < l->m->n_in - 2; i++)
        if (l->active[i]) {
            Value *d = adjoint_of(l->p, l->m, i), *x = l->m->in[i + 2];
            carry(l, x, d ? reshape_like(l->b, d, x) : zeros_like(l->b, x));
        }
}

/* Sets the outputs of b's body: the carried adjoints, then, for each Gather, the adjoint of the iteration's slice and
 * its index. */
static void end_loop_vjp(LoopVjp *l, const Captured *of)
{
    Tape *q = &l->q;
    Graph *g = q->n->graph;
    const bool runs = dim_is(dim_less_expr(D(0), l->trips), 1);
    int at = 2;
    graph_add_output(g, g->in.at[1]);
    for (int i = 0; i < l->m->n_in - 2; i++)
        if (l->active[i]) {
            Value *x = remap(q, l->g->in.at[i + 2]);
            graph_add_output(g, adjoint_like(q, x, g->in.at[at]));
            if (runs && !map_get(&q->adjoint, x)) {
                note_stop(l->p, q, l->of.at[at - 2], x);
                l->of.at[at - 2] = NULL;
            }
            at++;
        }
    EACH_OF (v, of->list) {
        if (!map_get(&q->adjoint, v)) {
            note_stop(l->p, q, v, v);
        } else {
            Value *so_far = carry(l, v, zeros_like(l->b, v));
            graph_add_output(g, make(q->n, "Add", 2, so_far, adjoint_like(q, v, so_far)));
        }
    }
    EACH_OF (gather, q->gathers) {
        Value *y = gather->out[0];
        graph_add_output(g, adjoint_like(q, y, y));
        graph_add_output(g, gather->in[1]);
    }
    attr_set(l->b, (Attr){.name = name("body"), .type = A_GRAPH, .g = end_graph(q->n)});
    node_set_inputs(l->b, l->in.n, l->in.at);
}

/* Output k of b: the values of v, in its body, of all iterations. */
static Value *stacked(LoopVjp *l, int k, const Value *v)
{
    Shape s = *v->shape;
    if (s.rank == MAX_RANK)
        fail(EXIT_MODEL, "Gradient keeps a loop's values of every iteration: with more than %d dimensions", MAX_RANK);
    add_result(l->b, k);
    memmove(&s.dim[1], &s.dim[0], sizeof *s.dim * (size_t)s.rank++);
    s.dim[0] = l->trips;
    set_out(l->b, k, v->type, s);
    return l->b->out[k];
}

/* Gather m reads a slice per iteration: the adjoint of its input is that of one Gather of all these slices. */
static void gathers_vjp(LoopVjp *l, Node *m, int k)
{
    Node *n = l->p->n;
    Value *d = stacked(l, k, m->out[0]), *at = stacked(l, k + 1, m->in[1]);
    Node *all = clone_node(n, m, (Value *[]){m->in[0], at}, 2, 1);
    int64_t perm[MAX_RANK];
    int rank = m->in[0]->shape->rank, axis = attr_axis(m, "axis", rank);
    for (int i = 0; i < rank; i++)
        perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    infer_node(all);
    accumulate(l->p, all->out[0], transpose(n, d, rank, perm));
    backward_through(l->p, all, 0);
}

bool defer_gather(Tape *p, Node *m)
{
    if (!p->in_loop || strcmp(m->op->name, "Gather") || m->in[1]->shape->rank || m->in[0]->graph == p->n->graph ||
        m->in[1]->graph != p->n->graph || !is_active(p, m->in[0]))
        return false;
    if (map_get(&p->adjoint, m->out[0]))
        vec_push(&p->gathers, m);
    return true;
}

static void loop_vjp(Tape *p, Node *m, const Captured *of)
{
    LoopVjp l = {.p = p, .m = m, .g = node_attr(m, "body")->g, .active = active_states(p, m)};
    l.trips = recorded(m, 0)->shape->dim[0];
    begin_loop_vjp(&l);
    find_iteration(&l);
    restore_inputs(&l);
    for (Node *b = l.g->first; b; b = b->next)
        replay(&l.q, b);
    seed_iteration(&l);
    backward(&l.q);
    end_loop_vjp(&l, of);
    int k = 0;
    for (; k < l.of.n; k++) {
        Value *d = add_result(l.b, k);
        if (l.of.at[k])
            accumulate(p, l.of.at[k], d);
    }
    for (int i = 0; i < l.q.gathers.n; i++, k += 2)
        gathers_vjp(&l, l.q.gathers.at[i], k);
}

void control_vjp(Tape *p, Node *m)
{
    bool active = false;
    for (int o = 0; o < m->n_out; o++)
        active |= adjoint_of(p, m, o) != NULL;
    if (!active)
        return;
    Captured of = {.p = p};
    EACH_NESTED (g, m)
        capture_all(g, &of);
    if (strcmp(m->op->name, "If"))
        loop_vjp(p, m, &of);
    else
        if_vjp(p, m, &of);
}
