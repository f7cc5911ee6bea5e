/* bind.c - bind: every node gets its call. Arguments that no call can take are replaced: outputs that are not
 * computed in their graph are copied, sizes used as data are stored, large splats are filled at run time.
 * Requires: layout. Leaves: n->call on every node that needs code. */
#include "ir/exec.h"
#include "ir/call.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "passes/passes.h"
#include "read/read.h"

enum { SMALL_FILL = 256 }; /* bytes: a splat up to this size is an ordinary constant */

static Node *internal(Graph *g, const char *op, Node *before, int n_in, Value **in)
{
    Node *n = node_new(g, op, n_in, in, 1);
    node_insert(n, before);
    return n;
}

/* ---- constants that are not bytes -------------------------------------------------------------------------------- */

/* A node that stores v, whose value is its attribute. */
static Node *store(Graph *g, Value *v, Node *before, const char *op, Attr value)
{
    Node *n = internal(g, op, before, 0, NULL);
    set_out(n, 0, v->type, *v->shape);
    n->out[0]->name = v->name;
    attr_set(n, value);
    return n;
}

static Node *store_dims(Graph *g, Value *v, Node *before)
{
    const Dim *d = v->data->data;
    Attr a = {.name = name("dims"),
              .type = A_INTS,
              .n = (int)tensor_count(v->data),
              .ints = (const int64_t *)(const void *)d};
    return store(g, v, before, "onnxcc.Dims", a);
}

static Node *store_fill(Graph *g, Value *v, Node *before)
{
    Tensor *one = tensor_new(v->type, 0, NULL);
    memcpy((void *)(uintptr_t)one->data, v->data->data, tensor_size(one));
    provenance_splat(one, v);
    return store(g, v, before, "onnxcc.Fill", (Attr){.name = name("value"), .type = A_TENSOR, .t = one});
}

/* Replaces input i of the node by a value computed at run time if it is a constant of sizes or a large splat. */
static bool materialise(Node *n, int i)
{
    Value *v = n->in[i];
    if (!v || !v->data || v->form != TENSOR)
        return false;
    Node *made = NULL;
    if (v->data->symbolic)
        made = store_dims(n->graph, v, n);
    else if (v->data->splat && tensor_size(v->data) > SMALL_FILL)
        made = store_fill(n->graph, v, n);
    if (!made)
        return false;
    bind_node(made);
    node_set_in(n, i, made->out[0]);
    return true;
}

/* A view needs its input's bytes in the arena, so a constant input is copied there. (The shape is symbolic; otherwise
 * the view would have been folded.) */
static void copy_viewed(Node *n)
{
    Value *x = n->in[0];
    Node *c = internal(n->graph, "onnxcc.Copy", n, 1, &x);
    infer_same(c);
    bind_node(c);
    node_set_in(n, 0, c->out[0]);
}

static void bind_one(Node *n)
{
    about_to_read(0);
    if (n->op->flags & VIEW && n->in[0]->data && !n->in[0]->data->symbolic && !n->out[0]->data)
        copy_viewed(n);
    const bool control = n->op->flags & CONTROL;               /* reads all inputs, and can be bound only once */
    const bool view = n->op->flags & VIEW && !n->out[0]->data; /* it has no call that would take sizes */
    if (!control)
        bind_node(n);
    bool again = control;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && (control || call_takes(&n->call, n->in[i]) || (view && i == 0)))
            again |= materialise(n, i);
    if (again)
        bind_node(n);
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

/* The value of which v is a view, or a view of a view; v itself if it is none. */
static const Value *view_base(const Value *v)
{
    while (v->def && v->def->op->flags & VIEW)
        v = v->def->in[0];
    return v;
}

/* Must v, an output of g, be a copy? It must be computed in g, by a node that can write it to a storage of its own. */
static bool needs_copy(const Graph *g, const Value *v, const Value *base)
{
    return v->data || !base->def || base->graph != g || base->data ||
           (v->def->op->flags & VIEW && (base->uses.n > 1 || value_is_output(base) || base->def->op->flags & CONTROL));
}

/* Has output i of g, a loop's body, the bytes of a state that the next iteration overwrites before it is read? */
static bool is_overwritten(const Graph *g, int i, const Value *base)
{
    for (int k = 0; k < g->in.n; k++)
        if (g->in.at[k] == base)
            return k != i + 1; /* the state itself is unchanged */
    return false;
}

/* Remarks why v, output i of g, is a copy. */
static void remark_copy(const Graph *g, const Value *v, const Value *base, const Value *earlier)
{
    const Node *n = v->def;
    if (!n)
        return;
    if (v->data || base->data)
        (void)declines(REWRITE_OUTPUT, n, "%s is a constant", remark_value(base));
    else if (earlier)
        (void)declines(REWRITE_OUTPUT, n, "%s, another output, has the same bytes", remark_value(earlier));
    else if (!base->def)
        (void)declines(REWRITE_OUTPUT, n, "its result is %s, an input, in another shape", remark_value(base));
    else if (base->graph != g)
        (void)declines(REWRITE_OUTPUT, n, "its result is %s, which is computed outside of this graph",
                       remark_value(base));
    else if (needs_copy(g, v, base))
        (void)declines(REWRITE_OUTPUT, n, "%s, of which its result is a view, is used otherwise, too",
                       remark_value(base));
    else
        (void)declines(REWRITE_OUTPUT, n, "the next iteration overwrites %s before it is read", remark_value(base));
}

void copy_outputs(Graph *g, int first)
{
    Map shown = {0}; /* values whose bytes earlier outputs have */
    for (int i = first; i < g->out.n; i++) {
        Value *v = g->out.at[i];
        const Value *base = view_base(v);
        if (v->form != TENSOR)
            continue;
        const Value *earlier = map_get(&shown, base);
        if (!earlier && !needs_copy(g, v, base) && !is_overwritten(g, i, base)) {
            map_put(&shown, base, v);
            (void)applies(REWRITE_OUTPUT, base->def, "%s", remark_value(v));
            continue;
        }
        if (remarks_on(REWRITE_OUTPUT))
            remark_copy(g, v, base, earlier);
        Node *n = internal(g, "onnxcc.Copy", NULL, 1, &v);
        n->name = v->name;
        n->out[0]->name = v->name;
        n->out[0]->desc = v->desc;
        infer_same(n);
        graph_set_output(g, i, n->out[0]);
        bind_one(n);
    }
    map_free(&shown);
}

void bind_model(Model *m)
{
    copy_outputs(m->graph, 0);
    for (int i = 0; i < m->graph->out.n; i++)
        m->graph->out.at[i]->name = m->out.at[i];
    EACH_NODE (n, m->graph)
        bind_one(n);
}
