/* gradient.c - Gradient: reverse-mode differentiation of the nodes between xs and y, expanded to ordinary nodes. */
#include "gradient.h"

/* The adjoint of input i of m by its output o, whose adjoint is d; NULL: zero, or an error. */
static Value *input_vjp(Node *n, Node *m, int i, int o, Value *d)
{
    Vjp b = {.n = n, .m = m, .d = d, .i = i, .o = o};
    Value *v = NULL;
    if (!vjp_by_formula(&b, &v) && !vjp_by_function(&b, &v))
        error_at(node_place(m->source && m->source->within ? m : n), "OPR-05", "%s has no gradient, which %s needs",
                 printable(m->source ? m->source->op_type : name(m->op->name)), node_place(n));
    return v ? make_cast(n, v, m->in[i]->type) : NULL;
}

/* ---- the tape -------------------------------------------------------------------------------------------------- */

static Value *mapped(const Tape *p, const Value *v)
{
    Value *w = NULL;
    for (; v && p && !w; p = p->outer)
        w = map_get(&p->map, v);
    return w;
}

bool is_active(const Tape *p, const Value *v)
{
    bool active = false;
    for (; v && p && !active; p = p->outer)
        active = map_get(&p->active, v) != NULL;
    return active;
}

bool has_element(const Value *v, int i) { return dim_is(dim_less_expr(D(i), shape_count(*v->shape)), 1); }

/* Remaps a symbol by its origin: a value or a node's output. */
static Dim remap_symbol(Symbol *s, void *tape)
{
    const Tape *p = tape;
    const struct Origin *o = &s->origin;
    Value *v = o->kind == ORIGIN_ELEMENT ? mapped(p, o->value) : NULL;
    Dim d = v && v != o->value && has_element(v, o->index) ? value_dim(v, o->index) : dim_symbol(s);
    for (int i = 0; o->kind == ORIGIN_NODE && i < o->node->n_out; i++) {
        const Value *old = o->node->out[i];
        v = mapped(p, old);
        for (int axis = 0; v && axis < old->shape->rank; axis++)
            if (symbol_of(old->shape->dim[axis]) == s)
                d = v->shape->dim[axis];
    }
    return d;
}

Dim remap_size(const Tape *p, Dim d) { return dim_replace(d, remap_symbol, (void *)(uintptr_t)p); }

/* Remaps the sizes in a list, v. */
static Value *remap_sizes(const Tape *p, Value *v)
{
    int count = (int)tensor_count(v->data);
    Dim *d = NEWS(Dim, count);
    bool same = true;
    for (int i = 0; i < count; i++) {
        d[i] = remap_size(p, ((const Dim *)v->data->data)[i]);
        same &= dim_identical(d[i], ((const Dim *)v->data->data)[i]);
    }
    return same ? v : make_dims(p->n, count, d);
}

Value *remap(const Tape *p, Value *v)
{
    Value *w = mapped(p, v);
    if (!w && v && !v->def && v->data && v->data->symbolic)
        w = remap_sizes(p, v);
    return w ? w : v;
}

void each_read(Node *m, void (*visit)(Value *, void *), void *arg)
{
    EACH_IN (v, m)
        visit(v, arg);
    EACH_NESTED (g, m) {
        for (Node *inner = g->first; inner; inner = inner->next)
            each_read(inner, visit, arg);
        EACH_OF (v, g->out)
            visit(v, arg);
    }
}

/* Properties of the values that a node reads. */
typedef struct Reads {
    const Tape *p;
    Map *needed;  /* receives values without a mapping; NULL: not needed */
    bool depends; /* some value is mapped */
    bool active;  /* some value depends on xs */
    bool changed; /* some value is mapped to another one */
} Reads;

static void read_value(Value *v, void *reads)
{
    Reads *r = reads;
    Value *w = mapped(r->p, v);
    if (!w && r->needed)
        map_put(r->needed, v, v);
    r->depends |= w != NULL;
    r->changed |= w && w != v;
    r->active |= is_active(r->p, w ? w : v);
}

static Reads reads(const Tape *p, Node *m, Map *needed)
{
    Reads r = {.p = p, .needed = needed};
    each_read(m, read_value, &r);
    return r;
}

/* The node before m, or, if m is the first of a nested graph, before its owner. */
static Node *node_before(Node *m)
{
    while (!m->prev && m->graph->owner)
        m = m->graph->owner;
    return m->prev;
}

typedef VEC(Node *) Nodes;

/* The nodes that compute y from mapped values, in reverse order. */
static Nodes nodes_needed(const Tape *p, Value *y)
{
    Map needed = {0};
    Nodes nodes = {0};
    read_value(y, &(Reads){.p = p, .needed = &needed});
    for (Node *m = node_before(p->n); m; m = node_before(m)) {
        bool found = false;
        for (int i = 0; i < m->n_out && !found; i++)
            found = m->out[i] && map_get(&needed, m->out[i]);
        if (found) {
            vec_push(&nodes, m);
            reads(p, m, &needed);
        }
    }
    return nodes;
}

/* Maps m's output i to v. */
static void map_output(Tape *p, Node *m, int i, Value *v, bool active)
{
    if (!m->out[i] || mapped(p, m->out[i]))
        return;
    map_put(&p->map, m->out[i], v);
    if (active)
        map_put(&p->active, v, m);
}

/* Pushes m's decomposition on the tape; false: m needs none. */
static bool push_decomposition(Tape *p, Node *m, Value **out)
{
    Node *before = p->n->prev;
    bool *active = NEWS(bool, m->n_in);
    for (int i = 0; i < m->n_in; i++)
        active[i] = is_active(p, m->in[i]);
    if (!decompose_recurrent(p->n, m, m->in, out) && !decompose(p->n, m, active, out))
        return false;
    infer_between(before, p->n);
    for (Node *c = before ? before->next : p->n->graph->first; c != p->n; c = c->next) {
        vec_push(&p->nodes, c);
        bool depends = reads(p, c, NULL).active;
        for (int i = 0; i < c->n_out; i++)
            map_output(p, c, i, c->out[i], depends);
    }
    return true;
}

static bool is_visible(const Graph *g, const Node *n)
{
    while (n && n->graph != g)
        n = n->graph->owner;
    return n != NULL;
}

/* Pushes on the tape a clone of m with remapped inputs, or m's decomposition, or the branch of an If with a constant
 * condition. */
static void push_clone(Tape *p, Node *m, const Reads *r)
{
    Value **in = NEWS(Value *, m->n_in), **out = NEWS(Value *, m->n_out);
    bool same = !r->changed && is_visible(m->graph, p->n), active = r->active && !p->forward_only;
    for (int i = 0; i < m->n_in; i++) {
        in[i] = remap(p, m->in[i]);
        same &= in[i] == m->in[i];
    }
    Graph *branch = decided_branch(m, in);
    if (branch) {
        for (Node *b = branch->first; b; b = b->next)
            replay(p, b);
        for (int i = 0; i < m->n_out; i++)
            out[i] = remap(p, branch->out.at[i]);
    } else {
        Node *c = same ? m : clone_remapped(p, m, in);
        if (!active || !push_decomposition(p, c, out)) {
            vec_push(&p->nodes, c);
            memcpy(out, c->out, sizeof *out * (size_t)m->n_out);
        }
    }
    for (int i = 0; i < m->n_out; i++)
        map_output(p, m, i, out[i], branch ? is_active(p, out[i]) : active);
}

/* Can m's outputs be used without a clone of m? */
static bool is_usable(const Tape *p, const Node *m, const Reads *r)
{
    if (!r->depends && is_visible(m->graph, p->n))
        return true;
    for (int i = 0; i < m->n_out; i++) {
        const Value *v = m->out[i];
        if (v && !mapped(p, v) && (r->depends || !v->data || v->data->symbolic))
            return false;
    }
    return true;
}

void replay(Tape *p, Node *m)
{
    enum { MAX_VALUES = 1000000 };
    if (p->n->graph->model->n_values > MAX_VALUES)
        fail(EXIT_MODEL, "gradients of gradients make more than %d values of the model", MAX_VALUES);
    Reads r = reads(p, m, NULL);
    if (!is_usable(p, m, &r))
        push_clone(p, m, &r);
}

void accumulate(Tape *p, Value *v, Value *d)
{
    Value *sum = map_get(&p->adjoint, v);
    sum = sum ? make(p->n, "Add", 2, sum, d) : d;
    sum->type = v->type; /* formulas need types and shapes before inference */
    sum->shape = v->shape;
    map_put(&p->adjoint, v, sum);
}

/* Maps the values named by xs, then zs, to n's inputs: gradient_named has appended the named values to the inputs, and
 * y at the end. An input that is not the named value itself gets an Identity. False: wrong, reported. */
static bool begin(Tape *p)
{
    Node *n = p->n;
    const Name *xs;
    int count = n->n_in / 2, active = attr_strings(n, "xs", &xs);
    for (int i = 0; i < count; i++) {
        Value *v = in(n, count + i), *w = in(n, i);
        if (!v || !w)
            return node_error(n, "input %d is missing, or what it stands for", i);
        if (i < active && !type_is_float(w->type))
            return node_error(n, "'%s' is %s, which has no gradient", printable(xs[i]), type_onnx(w->type));
        if (map_get(&p->map, v))
            return node_error(n, "xs and zs name '%s' twice", printable(v->name));
        if (v != w)
            w = inferred(make(n, "Identity", 1, w));
        map_put(&p->map, v, w);
        if (i < active)
            map_put(&p->active, w, n);
    }
    return true;
}

void backward_through(Tape *p, Node *m, int o)
{
    Value *d = out(m, o) ? map_get(&p->adjoint, out(m, o)) : NULL;
    for (int i = m->n_in; i-- > 0 && d;) { /* input 0 last: its gradient may reuse d's buffer */
        Value *v = is_active(p, m->in[i]) && type_is_float(m->in[i]->type) ? input_vjp(p->n, m, i, o, d) : NULL;
        if (v)
            accumulate(p, m->in[i], v);
    }
}

void backward(Tape *p)
{
    int errors = error_count();
    for (int k = p->nodes.n; k-- > 0 && error_count() == errors;) {
        Node *m = p->nodes.at[k];
        if (m->op->flags & CONTROL)
            control_vjp(p, m);
        else if (!defer_gather(p, m))
            for (int o = 0; o < m->n_out; o++)
                backward_through(p, m, o);
    }
}

/* ---- gradients that are zero ----------------------------------------------------------------------------------- */

/* What is known of the values that a node reads. */
typedef struct Reached {
    const Tape *p;
    Map values;  /* those that depend on one of xs */
    bool found;  /* one of them was visited */
    bool passes; /* one of those visited has an adjoint */
    Node *stop;  /* the node in If or Loop that passes no adjoint to one of those visited */
} Reached;

static void visit_reached(Value *v, void *reached)
{
    Reached *r = reached;
    bool depends = map_get(&r->values, v) != NULL;
    r->found |= depends;
    r->passes |= depends && map_get(&r->p->adjoint, v);
    if (depends && map_get(&r->p->stops, v))
        r->stop = map_get(&r->p->stops, v);
}

Node *last_without_vjp(const Tape *p, Value *x)
{
    Reached r = {.p = p};
    Node *last = NULL;
    map_put(&r.values, x, x);
    EACH_OF (m, p->nodes) {
        r.found = r.passes = false;
        r.stop = NULL;
        each_read(m, visit_reached, &r);
        for (int o = 0; o < m->n_out && r.found; o++) {
            if (!m->out[o])
                continue;
            map_put(&r.values, m->out[o], m);
            if (!r.passes && map_get(&p->adjoint, m->out[o]))
                last = r.stop ? r.stop : m;
        }
    }
    return last;
}

/* Warns that the gradient by xs[i], x, is zero for all values, as no adjoint arrives at it. */
static void warn_zero(const Tape *p, int i, Value *x)
{
    const Node *n = p->n, *m = last_without_vjp(p, x);
    const Name *xs;
    attr_strings(n, "xs", &xs);
    if (m && m->source && m->source->within)
        warn_at(node_place(m), "OPR-06", "%s is zero for '%s': no gradient passes this node", node_place(n),
                printable(xs[i]));
    else
        warn_at(node_place(n), "OPR-06", "y does not depend on '%s': its gradient is zero", printable(xs[i]));
}

static void gradient_expand(Node *n)
{
    Tape p = {.n = n};
    int errors = error_count();
    Value *y = in(n, n->n_in - 1);
    if (!begin(&p))
        return;
    if (!y || !type_is_float(y->type)) {
        node_error(n, "y is %s, which has no gradient", y ? type_onnx(y->type) : "missing");
        return;
    }
    for (Nodes nodes = nodes_needed(&p, y); nodes.n;)
        replay(&p, nodes.at[--nodes.n]);
    if (error_count() > errors)
        return;
    y = remap(&p, y);
    accumulate(&p, y, filled_like(n, y, 1));
    backward(&p);
    if (error_count() > errors)
        return;
    for (int i = 0; i < n->n_out; i++)
        if (out(n, i)) {
            Value *x = remap(&p, in(n, n->n_in / 2 + i)), *d = map_get(&p.adjoint, x);
            if (!d)
                warn_zero(&p, i, x);
            replace_out(n, i, d ? make(n, "Identity", 1, d) : zeros_like(n, x));
        }
    expand_done(n);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* The value of this name that is visible at n; NULL: none, reported. */
static Value *value_named(Node *n, Name name)
{
    const Node *m = n; /* NULL: outside of the algorithm of training information, which follows the model's graph */
    for (const Graph *g = n->graph; g; m = g->owner, g = g->parent) {
        Value *v = map_get(&g->scope, name);
        if (v && (!v->def || !m || v->def->source->index < m->source->index))
            return v;
    }
    node_error(n, "there is no value '%s' before the node", printable(name));
    return NULL;
}

static void gradient_named(Node *n)
{
    const Name *xs, *zs;
    int n_xs = attr_strings(n, "xs", &xs), n_zs = attr_strings(n, "zs", &zs), count = n_xs + (n_zs < 0 ? 0 : n_zs);
    if (count != n->n_in || n->n_out > n_xs) {
        node_error(n, "xs and zs name %d values for %d inputs, xs %d for %d outputs", count, n->n_in, n_xs, n->n_out);
        return;
    }
    Value **in = NEWS(Value *, 2 * count + 1);
    for (int i = 0; i < count; i++) {
        in[i] = n->in[i];
        in[count + i] = value_named(n, i < n_xs ? xs[i] : zs[i - n_xs]);
    }
    in[2 * count] = value_named(n, node_attr(n, "y")->s);
    node_set_inputs(n, 2 * count + 1, in);
}

static const Op gradient_ops[] = {
    {"Gradient", 1, "Inputs**:T1 -> Outputs**:T2", "T1=ALL T2=F", "xs:strings y:string zs:strings?",
     .expand = gradient_expand, .named = gradient_named, .domain = "ai.onnx.preview.training",
     .flags = INSPECTS_PRODUCERS},
};
OPS(gradient_ops);
