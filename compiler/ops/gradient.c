/* gradient.c - Gradient: the nodes between xs and y, differentiated backwards, become ordinary nodes. */
#include "gradient.h"

static void no_gradient(Node *n, const Node *m)
{
    node_error(n, "the gradient of %s is not supported", printable(m->source ? m->source->op_type : name(m->op->name)));
    for (int i = 0; i < m->n_in; i++)
        if (m->in[i] && m->in[i]->form == TENSOR && !shape_const(*m->in[i]->shape)) {
            note_help("more are when all sizes are known: give them with --dim or --shape");
            return;
        }
}

/* What input i of m counts for y, when its output o counts d; NULL: nothing, or an error. */
static Value *step_back(Node *n, Node *m, int i, int o, Value *d)
{
    Back b = {.n = n, .m = m, .d = d, .i = i, .o = o};
    Value *v = NULL;
    if (!back_by_formula(&b, &v) && !back_by_moves(&b, &v) && !back_by_windows(&b, &v) && !back_by_function(&b, &v))
        no_gradient(n, m);
    return v ? make_cast(n, v, m->in[i]->type) : NULL;
}

/* ---- the way from xs to y -------------------------------------------------------------------------------------- */

typedef VEC(Node *) Nodes;

typedef struct Path {
    Node *n;
    Map now;     /* a value that depends on xs or zs: as it is with the inputs given */
    Map live;    /* of those, what depends on xs */
    Map back;    /* what it counts for y */
    Nodes nodes; /* in order */
} Path;

static Value *now(const Path *p, Value *v)
{
    Value *w = v ? map_get(&p->now, v) : NULL;
    return w ? w : v;
}

/* What m reads: its inputs and, when it has nested graphs, what these read. */
typedef struct Reads {
    const Path *p;
    Map *needed;        /* where they go; NULL: nowhere */
    bool depends, live; /* does one depend on xs or zs, on xs? */
} Reads;

static void read_value(Reads *r, Value *v)
{
    bool given = v && map_get(&r->p->now, v);
    if (v && !given && r->needed)
        map_put(r->needed, v, v);
    r->depends |= given;
    r->live |= v && map_get(&r->p->live, now(r->p, v));
}

static void read_node(Node *m, void *reads)
{
    for (int i = 0; i < m->n_in; i++)
        read_value(reads, m->in[i]);
}

static void read_graph(Graph *g, void *reads)
{
    graph_each(g, read_node, reads);
    for (int i = 0; i < g->out.n; i++)
        read_value(reads, g->out.at[i]);
}

static Reads reads(const Path *p, Node *m, Map *needed)
{
    Reads r = {.p = p, .needed = needed};
    read_node(m, &r);
    each_graph(m, read_graph, &r);
    return r;
}

/* The node that comes before m, or before the one in whose graph m is the first. */
static Node *node_before(Node *m)
{
    while (!m->prev && m->graph->owner)
        m = m->graph->owner;
    return m->prev;
}

/* The nodes that compute y from what is given, the last one first. */
static Nodes need(const Path *p, Value *y)
{
    Map needed = {0};
    Nodes nodes = {0};
    read_value(&(Reads){.p = p, .needed = &needed}, y);
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
    if (!m->out[i])
        return;
    map_put(&p->now, m->out[i], v);
    if (live)
        map_put(&p->live, v, m);
}

/* m with its inputs as they are now, or ordinary nodes instead, where these have a gradient and m has none. */
static void again(Path *p, Node *m, bool live)
{
    Value **in = NEWS(Value *, m->n_in), **out = NEWS(Value *, m->n_out);
    Node *before = p->n->prev, *c = m;
    bool same = true, *counts = NEWS(bool, m->n_in);
    for (int i = 0; i < m->n_in; i++) {
        in[i] = now(p, m->in[i]);
        same &= in[i] == m->in[i];
        counts[i] = in[i] && map_get(&p->live, in[i]);
    }
    if (live && (recurrent_steps(p->n, m, in, out) || in_other_words(p->n, m, in, counts, out))) {
        infer_between(before, p->n);
        for (c = before ? before->next : p->n->graph->first; c != p->n; c = c->next) {
            vec_push(&p->nodes, c);
            becomes(p, c, 0, c->out[0], reads(p, c, NULL).live);
        }
    } else {
        if (!same)
            infer_node(c = node_again(p->n, m, in, m->n_in, m->n_out));
        vec_push(&p->nodes, c);
        memcpy(out, c->out, sizeof *out * (size_t)m->n_out);
    }
    for (int i = 0; i < m->n_out; i++)
        becomes(p, m, i, out[i], live);
}

/* The nodes that y needs and that depend on what xs and zs name, with the inputs in their place. */
static void walk(Path *p, Value *y)
{
    Nodes nodes = need(p, y);
    while (nodes.n) {
        Node *m = nodes.at[--nodes.n];
        Reads r = reads(p, m, NULL);
        if (r.depends && m->op->flags & CONTROL) {
            no_gradient(p->n, m);
            return;
        }
        if (r.depends)
            again(p, m, r.live);
    }
}

static void count_back(Path *p, Value *v, Value *d)
{
    Value *sum = map_get(&p->back, v);
    sum = sum ? make(p->n, "Add", 2, sum, d) : d;
    sum->type = v->type; /* before anybody infers it: formulas ask for types and shapes */
    sum->shape = v->shape;
    map_put(&p->back, v, sum);
}

static Value *filled_like(Node *n, Value *v, double with)
{
    return make(n, "Expand", 2, make_scalar(n, v->type, with), shape_like(n, v));
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

/* All that m's inputs count through its output o. */
static void walk_back(Path *p, Node *m, int o)
{
    Value *d = out(m, o) ? map_get(&p->back, out(m, o)) : NULL;
    for (int i = 0; i < m->n_in && d; i++) {
        bool counts = m->in[i] && map_get(&p->live, m->in[i]) && type_is_float(m->in[i]->type);
        Value *v = counts ? step_back(p->n, m, i, o, d) : NULL;
        if (v)
            count_back(p, m->in[i], v);
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
    walk(&p, y);
    if (error_count() > errors)
        return;
    y = now(&p, y);
    count_back(&p, y, filled_like(n, y, 1));
    for (int k = p.nodes.n; k-- > 0 && error_count() == errors;) {
        Node *m = p.nodes.at[k];
        for (int o = 0; o < m->n_out; o++)
            walk_back(&p, m, o);
    }
    if (error_count() > errors)
        return;
    for (int i = 0; i < n->n_out; i++)
        if (out(n, i)) {
            Value *x = now(&p, in(n, n->n_in / 2 + i)), *d = map_get(&p.back, x);
            replace_out(n, i, d ? make(n, "Identity", 1, d) : filled_like(n, x, 0));
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
     .expand = gradient_expand, .named = gradient_named, .domain = "ai.onnx.preview.training",
     .limit =
         "not through nested graphs and sequences, by the scales of Resize, through probabilities of SVMClassifier, and "
         "more than 1024 recurrent steps",
     .flags = LOOKS_BACK},
};
OPS(gradient_ops);
