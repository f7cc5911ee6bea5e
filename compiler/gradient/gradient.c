/* gradient.c - Gradient: the nodes between xs and y, differentiated backwards, become ordinary nodes. */
#include "ir/kernel.h"
#include "gradient.h"

/* What input i of m counts for y, when its output o counts d; NULL: nothing, or an error. */
static Value *step_back(Node *n, Node *m, int i, int o, Value *d)
{
    Back b = {.n = n, .m = m, .d = d, .i = i, .o = o};
    Value *v = NULL;
    if (!back_by_formula(&b, &v) && !back_by_moves(&b, &v) && !back_by_windows(&b, &v) && !back_by_function(&b, &v))
        node_error(n, "the gradient of %s is not supported",
                   printable(m->source ? m->source->op_type : name(m->op->name)));
    return v ? make_cast(n, v, m->in[i]->type) : NULL;
}

/* ---- the way from xs to y -------------------------------------------------------------------------------------- */

static Value *known(const Path *p, const Value *v)
{
    Value *w = NULL;
    for (; v && p && !w; p = p->outer)
        w = map_get(&p->now, v);
    return w;
}

bool is_live(const Path *p, const Value *v)
{
    bool live = false;
    for (; v && p && !live; p = p->outer)
        live = map_get(&p->live, v) != NULL;
    return live;
}

bool has_element(const Value *v, int i) { return dim_is(dim_less(D(i), shape_count(*v->shape)), 1); }

/* A size that is read from a value, or that a node reports, is another one when these are others. */
static Dim symbol_now(Symbol *s, void *path)
{
    const Path *p = path;
    Value *v = s->from ? known(p, s->from) : NULL;
    Dim d = v && v != s->from && has_element(v, s->element) ? value_dim(v, s->element) : dim_symbol(s);
    for (int i = 0; s->node && i < s->node->n_out; i++) {
        const Value *old = s->node->out[i];
        v = known(p, old);
        for (int axis = 0; v && axis < old->shape->rank; axis++)
            if (symbol_of(old->shape->dim[axis]) == s)
                d = v->shape->dim[axis];
    }
    return d;
}

Dim size_now(const Path *p, Dim d) { return dim_replace(d, symbol_now, (void *)(uintptr_t)p); }

/* A list of sizes. */
static Value *sizes_now(const Path *p, Value *v)
{
    int count = (int)tensor_count(v->data);
    Dim *d = NEWS(Dim, count);
    bool same = true;
    for (int i = 0; i < count; i++) {
        d[i] = size_now(p, ((const Dim *)v->data->data)[i]);
        same &= dim_same(d[i], ((const Dim *)v->data->data)[i]);
    }
    return same ? v : make_dims(p->n, count, d);
}

Value *now(const Path *p, Value *v)
{
    Value *w = known(p, v);
    if (!w && v && !v->def && v->data && v->data->symbolic)
        w = sizes_now(p, v);
    return w ? w : v;
}

typedef struct Visit {
    void (*visit)(Value *, void *);
    void *arg;
} Visit;

static void visit_graph(Graph *g, void *visit)
{
    const Visit *v = visit;
    for (Node *m = g->first; m; m = m->next)
        each_read(m, v->visit, v->arg);
    for (int i = 0; i < g->out.n; i++)
        v->visit(g->out.at[i], v->arg);
}

void each_read(Node *m, void (*visit)(Value *, void *), void *arg)
{
    for (int i = 0; i < m->n_in; i++)
        if (m->in[i])
            visit(m->in[i], arg);
    node_each_graph(m, visit_graph, &(Visit){visit, arg});
}

/* What a node reads. */
typedef struct Reads {
    const Path *p;
    Map *needed;  /* what is not given goes there; NULL: nowhere */
    bool depends; /* some of it depends on what is given */
    bool live;    /* ... on xs */
    bool changed; /* ... and is not what it was */
} Reads;

static void read_value(Value *v, void *reads)
{
    Reads *r = reads;
    Value *w = known(r->p, v);
    if (!w && r->needed)
        map_put(r->needed, v, v);
    r->depends |= w != NULL;
    r->changed |= w && w != v;
    r->live |= is_live(r->p, w ? w : v);
}

static Reads reads(const Path *p, Node *m, Map *needed)
{
    Reads r = {.p = p, .needed = needed};
    each_read(m, read_value, &r);
    return r;
}

/* The node that comes before m, or before the one in whose graph m is the first. */
static Node *node_before(Node *m)
{
    while (!m->prev && m->graph->owner)
        m = m->graph->owner;
    return m->prev;
}

typedef VEC(Node *) Nodes;

/* The nodes that compute y from what is given, the last one first. */
static Nodes need(const Path *p, Value *y)
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

/* From now on m's output i is v, which depends on xs when `live`. */
static void becomes(Path *p, Node *m, int i, Value *v, bool live)
{
    if (!m->out[i] || known(p, m->out[i]))
        return;
    map_put(&p->now, m->out[i], v);
    if (live)
        map_put(&p->live, v, m);
}

/* Other nodes that say the same as m, where these have a gradient and m has none; false: it needs none. */
static bool in_its_place(Path *p, Node *m, Value **out)
{
    Node *before = p->n->prev;
    bool *counts = NEWS(bool, m->n_in);
    for (int i = 0; i < m->n_in; i++)
        counts[i] = is_live(p, m->in[i]);
    if (!recurrent_steps(p->n, m, m->in, out) && !in_other_words(p->n, m, counts, out))
        return false;
    infer_between(before, p->n);
    for (Node *c = before ? before->next : p->n->graph->first; c != p->n; c = c->next) {
        vec_push(&p->nodes, c);
        bool live = reads(p, c, NULL).live;
        for (int i = 0; i < c->n_out; i++)
            becomes(p, c, i, c->out[i], live);
    }
    return true;
}

static bool in_sight(const Graph *g, const Node *n)
{
    while (n && n->graph != g)
        n = n->graph->owner;
    return n != NULL;
}

/* m with its inputs as they are now, or what is in its place; of an If that is decided, its branch. */
static void again(Path *p, Node *m, const Reads *r)
{
    Value **in = NEWS(Value *, m->n_in), **out = NEWS(Value *, m->n_out);
    bool same = !r->changed && in_sight(m->graph, p->n), live = r->live && !p->plain;
    for (int i = 0; i < m->n_in; i++) {
        in[i] = now(p, m->in[i]);
        same &= in[i] == m->in[i];
    }
    Graph *branch = taken(m, in);
    if (branch) {
        for (Node *b = branch->first; b; b = b->next)
            go(p, b);
        for (int i = 0; i < m->n_out; i++)
            out[i] = now(p, branch->out.at[i]);
    } else {
        Node *c = same ? m : copied(p, m, in);
        if (!live || !in_its_place(p, c, out)) {
            vec_push(&p->nodes, c);
            memcpy(out, c->out, sizeof *out * (size_t)m->n_out);
        }
    }
    for (int i = 0; i < m->n_out; i++)
        becomes(p, m, i, out[i], branch ? is_live(p, out[i]) : live);
}

/* Can all that m gives be read as it is? */
static bool is_settled(const Path *p, const Node *m, const Reads *r)
{
    if (!r->depends && in_sight(m->graph, p->n))
        return true;
    for (int i = 0; i < m->n_out; i++) {
        const Value *v = m->out[i];
        if (v && !known(p, v) && (r->depends || !v->data || v->data->symbolic))
            return false;
    }
    return true;
}

void go(Path *p, Node *m)
{
    enum { MOST_VALUES = 1000000 };
    if (p->n->graph->model->n_values > MOST_VALUES)
        fail(EXIT_MODEL, "gradients of gradients make more than %d values of the model", MOST_VALUES);
    Reads r = reads(p, m, NULL);
    if (!is_settled(p, m, &r))
        again(p, m, &r);
}

void count_back(Path *p, Value *v, Value *d)
{
    Value *sum = map_get(&p->back, v);
    sum = sum ? make(p->n, "Add", 2, sum, d) : d;
    sum->type = v->type; /* before anybody infers it: formulas ask for types and shapes */
    sum->shape = v->shape;
    map_put(&p->back, v, sum);
}

/* Inputs stand for what xs, then zs name: gradient_named has put that after them, and y last. An input that is computed
 * from other values of xs, or stands for several, counts by itself. False: something is wrong, and reported. */
static bool begin(Path *p)
{
    Node *n = p->n;
    const Name *xs;
    int count = n->n_in / 2, live = attr_strings(n, "xs", &xs);
    for (int i = 0; i < count; i++) {
        Value *v = in(n, count + i), *w = in(n, i);
        if (!v || !w) {
            node_error(n, "input %d is missing, or what it stands for", i);
            return false;
        }
        if (i < live && !type_is_float(w->type)) {
            node_error(n, "'%s' is %s, which has no gradient", printable(xs[i]), type_onnx(w->type));
            return false;
        }
        if (map_get(&p->now, v)) {
            node_error(n, "xs and zs name '%s' twice", printable(v->name));
            return false;
        }
        if (v != w)
            w = inferred(make(n, "Identity", 1, w));
        map_put(&p->now, v, w);
        if (i < live)
            map_put(&p->live, w, n);
    }
    return true;
}

void back_through(Path *p, Node *m, int o)
{
    Value *d = out(m, o) ? map_get(&p->back, out(m, o)) : NULL;
    for (int i = m->n_in; i-- > 0 && d;) { /* input 0 last: its gradient may reuse d's buffer */
        Value *v = is_live(p, m->in[i]) && type_is_float(m->in[i]->type) ? step_back(p->n, m, i, o, d) : NULL;
        if (v)
            count_back(p, m->in[i], v);
    }
}

void go_back(Path *p)
{
    int errors = error_count();
    for (int k = p->nodes.n; k-- > 0 && error_count() == errors;) {
        Node *m = p->nodes.at[k];
        if (m->op->flags & CONTROL)
            control_back(p, m);
        else if (!put_off(p, m))
            for (int o = 0; o < m->n_out; o++)
                back_through(p, m, o);
    }
}

static void gradient_expand(Node *n)
{
    Path p = {.n = n};
    int errors = error_count();
    Value *y = in(n, n->n_in - 1);
    if (!begin(&p))
        return;
    if (!y || !type_is_float(y->type)) {
        node_error(n, "y is %s, which has no gradient", y ? type_onnx(y->type) : "missing");
        return;
    }
    for (Nodes nodes = need(&p, y); nodes.n;)
        go(&p, nodes.at[--nodes.n]);
    if (error_count() > errors)
        return;
    y = now(&p, y);
    count_back(&p, y, filled_like(n, y, 1));
    go_back(&p);
    if (error_count() > errors)
        return;
    for (int i = 0; i < n->n_out; i++)
        if (out(n, i)) {
            Value *x = now(&p, in(n, n->n_in / 2 + i)), *d = map_get(&p.back, x);
            replace_out(n, i, d ? make(n, "Identity", 1, d) : zeros_like(n, x));
        }
    expand_done(n);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* The value of this name that n can see; NULL: there is none, which is reported. */
static Value *value_named(Node *n, Name name)
{
    for (const Node *m = n; m; m = m->graph->owner) {
        Value *v = map_get(&m->graph->scope, name);
        if (v && (!v->def || v->def->source->index < m->source->index))
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
     .expand = gradient_expand, .named = gradient_named, .domain = "ai.onnx.preview.training", .flags = LOOKS_BACK},
};
OPS(gradient_ops);
