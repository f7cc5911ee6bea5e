/* layout.c - layout: nodes with channels-last kernels are put between transposes, which then sink until they cancel
 * out; weights are packed by nodes that fold.
 * Requires: simplified. Leaves: n->channels_last, and transposes where the layout changes. */
#include "ir/provenance.h"
#include "ir/remark.h"
#include "ir/schema.h"
#include "ir/spatial.h"
#include "passes/passes.h"
#include "read/read.h"

/* The permutation N,C,spatial... -> N,spatial...,C. */
static void perm_last(int rank, int64_t *perm)
{
    for (int i = 0; i < rank; i++)
        perm[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
}

static void perm_first(int rank, int64_t *perm)
{
    for (int i = 0; i < rank; i++)
        perm[i] = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
}

static Value *transposed(Value *v, Node *before, const int64_t *perm)
{
    Node *t = make_transpose(before, v, perm);
    t->name = v->def ? v->def->name : v->name;
    node_insert(t, before);
    infer_node(t);
    return t->out[0];
}

/* Infers n again, and replaces its output 0 by a transpose, by perm, of the new output. */
static void transpose_output(Node *n, const int64_t *perm)
{
    Value *old = n->out[0], *now = node_set_out(n, 0, value_new(n->graph, old->name));
    infer_node(n);
    Node *t = make_transpose(n, now, perm);
    t->name = n->name;
    node_insert(t, n->next);
    Value *made = t->out[0];
    node_set_out(t, 0, old); /* keeps its name, uses and declared type */
    value_free(made);
    infer_node(t);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static void make_channels_last(Node *n)
{
    int64_t last[MAX_RANK], first[MAX_RANK];
    int rank = n->in[0]->shape->rank;
    perm_last(rank, last);
    perm_first(rank, first);
    node_set_in(n, 0, transposed(n->in[0], n, last));
    n->channels_last = true;
    if (n->op->layout)
        n->op->layout(n);
    transpose_output(n, first);
}

/* Is v the transpose of a channels-last value to channels first? */
static bool is_from_channels_last(const Value *v)
{
    int64_t perm[MAX_RANK], first[MAX_RANK];
    if (!v || v->shape->rank < 3 || !is_transpose(v->def, perm))
        return false;
    perm_first(v->shape->rank, first);
    return !memcmp(perm, first, sizeof *perm * (size_t)v->shape->rank);
}

static bool wants_channels_last(Node *n)
{
    if (!(n->op->flags & CHANNELS_LAST) || n->channels_last || !out(n, 0))
        return false;
    if (in_type(n, 0) != F32 && type_bits(in_type(n, 0)) != 8)
        return declines(REWRITE_CHANNELS_LAST, n, "it is of %s, neither float nor 8 bits", type_onnx(in_type(n, 0)));
    if (in_shape(n, 0).rank < 3 || in_shape(n, 0).rank > 5)
        return declines(REWRITE_CHANNELS_LAST, n, "its kernels take 1 to 3 spatial axes");
    for (int i = 1; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->uses.n)
            return declines(REWRITE_CHANNELS_LAST, n, "%s is also used", remark_value(n->out[i]));
    if (!n->op->layout && !is_from_channels_last(n->in[0]))
        return declines(REWRITE_CHANNELS_LAST, n, "its input is not, and two transposes would cost more");
    if (n->op->goes_last && !n->op->goes_last(n))
        return false;
    return applies(REWRITE_CHANNELS_LAST, n, "between transposes of its input and its result");
}

/* ---- sinking ----------------------------------------------------------------------------------------------------- */

bool permute_axis(Node *n, const int64_t *perm, int rank)
{
    int a = attr_axis(n, "axis", rank);
    for (int i = 0; i < rank; i++)
        if (perm[i] == a) {
            attr_set_int(n, "axis", i);
            return true;
        }
    return false;
}

/* v transposed by perm, as an input of n; a value of lower rank is first extended by leading dimensions of 1. */
static Value *operand(Node *n, Value *v, const int64_t *perm, int rank)
{
    int64_t above[MAX_RANK];
    bool undoes = v->shape->rank == rank && is_transpose(v->def, above);
    for (int i = 0; i < rank && undoes; i++)
        undoes = perm[above[i]] == i;
    if (undoes)
        return v->def->in[0];
    if (dim_is(shape_count(*v->shape), 1))
        return v;
    if (v->shape->rank < rank) {
        Node *r = node_new(n->graph, "onnxcc.View", 1, &v, 1);
        Shape s = {.rank = rank};
        for (int i = 0; i < rank; i++)
            s.dim[i] = i < rank - v->shape->rank ? D(1) : v->shape->dim[i - (rank - v->shape->rank)];
        set_out(r, 0, v->type, s);
        r->source = n->source;
        node_insert(r, n);
        infer_node(r);
        v = r->out[0];
    }
    return transposed(v, n, perm);
}

/* Frees an unused transpose at once: every value may get one, and they would add up. */
static void drop_unread(Node *n)
{
    if (is_transpose(n, NULL) && !n->out[0]->uses.n)
        node_free(n);
}

static bool is_elementwise(const Node *n) { return n->op->pointwise || n->op->flags & ELEMENTWISE; }

/* Can n work on transposed inputs? */
static bool can_permute(const Node *n)
{
    return (is_elementwise(n) || n->op->permute) && n->n_out == 1 && !(n->op->flags & CONTROL);
}

/* An input of n that is a transpose, if sinking removes at least as many transposes of n's inputs as it adds; else
 * NULL. */
static const Value *sink_worth(const Node *n)
{
    const Value *through = NULL;
    int saved = 0, added = 0;
    for (int i = 0; i < n->n_in; i++) {
        const Value *v = n->in[i];
        if (!v || v->data)
            continue;
        if (v->shape->rank != n->out[0]->shape->rank) {
            if (is_from_channels_last(v))
                (void)declines(REWRITE_SINK, n, "it broadcasts %s to more axes", remark_value(v));
            continue;
        }
        if (is_from_channels_last(v)) {
            through = v;
            saved++;
        } else if (shape_identical(*v->shape, *n->out[0]->shape))
            added++;
    }
    if (saved >= added)
        return through;
    if (through)
        (void)declines(REWRITE_SINK, n, "it would remove %d and add %d", saved, added);
    return NULL;
}

/* Remarks why n cannot work on the transpose of its input v. */
static void remark_not_permuted(const Node *n, const Value *v)
{
    if (n->op->flags & CONTROL)
        (void)declines(REWRITE_SINK, n, "%s is read in its graphs", remark_value(v));
    else if (n->n_out != 1 && (is_elementwise(n) || n->op->permute))
        (void)declines(REWRITE_SINK, n, "it has several results");
    else
        (void)declines(REWRITE_SINK, n, "it depends on the order of the axes of %s", remark_value(v));
}

/* Moves the transposes of n's inputs to its output, if it does not add transposes. */
static bool sink_through(Node *n)
{
    const bool elementwise = is_elementwise(n);
    if (!can_permute(n)) {
        for (int i = 0; remarks_on(REWRITE_SINK) && i < n->n_in; i++)
            if (is_from_channels_last(n->in[i])) {
                remark_not_permuted(n, n->in[i]);
                break;
            }
        return false;
    }
    int rank = out(n, 0)->shape->rank;
    int64_t above[MAX_RANK], inverse[MAX_RANK];
    const Value *through = sink_worth(n);
    if (!through)
        return false;
    is_transpose(through->def, above);
    for (int i = 0; i < rank; i++)
        inverse[above[i]] = i;
    if (!elementwise && !n->op->permute(n, inverse, rank))
        return declines(REWRITE_SINK, n, "its attributes and other inputs cannot be permuted");
    (void)applies(REWRITE_SINK, n, "%s is one", remark_value(through));
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && (elementwise || n->in[i]->shape->rank == rank)) {
            Node *from = n->in[i]->def;
            node_set_in(n, i, operand(n, n->in[i], inverse, rank));
            drop_unread(from);
        }
    transpose_output(n, above); /* the one that the input had */
    return true;
}

/* Is n a transpose of the model, not one that the compiler put around another node? */
static bool is_of_model(const Node *n) { return n->source && !strcmp(n->source->op_type->s, n->op->name); }

/* Remarks why n, a transpose of the model, remains. */
static void remark_transpose(const Node *n)
{
    if (!is_transpose(n, NULL) || !is_of_model(n))
        return;
    const Value *y = n->out[0];
    if (!is_from_channels_last(y))
        (void)declines(REWRITE_TRANSPOSE, n,
                       "only transposes of images from channels last to channels first move past their readers");
    else if (value_is_output(y))
        (void)declines(REWRITE_TRANSPOSE, n, "its result is an output");
    else
        (void)declines(REWRITE_TRANSPOSE, n, "a reader of %s stays below it (--remarks=sink)", remark_value(y));
}

/* Merges a transpose with the one before it; one that only moves dimensions of 1 becomes a view. */
static void merge_transposes(Node *n)
{
    int64_t p[MAX_RANK], q[MAX_RANK];
    Node *above = n->in[0]->def;
    int rank = n->in[0]->shape->rank;
    if (!is_transpose(n, p))
        return;
    if (is_transpose(above, q)) {
        int64_t both[MAX_RANK];
        if (is_of_model(above) && above->out[0]->uses.n == 1)
            (void)applies(REWRITE_TRANSPOSE, above, "its reader, %s, does its work as well", remark_node(n));
        for (int i = 0; i < rank; i++)
            both[i] = q[p[i]];
        node_set_in(n, 0, above->in[0]);
        attr_set_ints(n, "perm", rank, both);
        is_transpose(n, p);
        drop_unread(above);
    }
    int64_t last = -1;
    bool view = true;
    for (int i = 0; i < rank; i++) {
        if (dim_is(n->in[0]->shape->dim[p[i]], 1))
            continue;
        view &= p[i] > last;
        last = p[i];
    }
    if (!view)
        return;
    if (is_of_model(n))
        (void)applies(REWRITE_TRANSPOSE, n, "the elements are in the same order before and after it");
    if (shape_identical(*n->in[0]->shape, *n->out[0]->shape) &&
        (!value_is_output(n->out[0]) ||
         declines(REWRITE_IDENTITY, n, "its result is an output, and has a buffer of its own"))) {
        provenance_gone(n, "its result is its input");
        value_replace(n->out[0], n->in[0]);
        node_free(n);
        return;
    }
    n->op = op_find("onnxcc", "View", 1);
    n->n_attr = 0;
}

static void layout_graph(Graph *g)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        about_to_read(0);
        values_free();
        EACH_NESTED (inner, n)
            layout_graph(inner);
        if (is_transpose(n, NULL)) {
            merge_transposes(n);
            continue;
        }
        if (n->op->layout && !(n->op->flags & CHANNELS_LAST)) {
            n->op->layout(n);
            continue;
        }
        if (wants_channels_last(n))
            make_channels_last(n);
        else if (!sink_through(n))
            continue;
        /* The new transposes of n's inputs may follow others. */
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && is_transpose(n->in[i]->def, NULL) && !n->in[i]->data)
                merge_transposes(n->in[i]->def);
        next = n->next; /* continue with the transpose of its output */
    }
}

/* Makes the weights that nodes still read as floats, and that are codes, results of nodes that run. */
static void unfold_weights(Graph *g)
{
    EACH_NODE (n, g)
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && n->in[i]->data && n->in[i]->data->origin) {
                Value *made = unfolded(n, n->in[i]);
                if (made)
                    node_set_in(n, i, made);
            }
}

void layout_model(Model *m)
{
    layout_graph(m->graph);
    unfold_weights(m->graph);
    remove_dead(m->graph);
    EACH_NODE (n, m->graph)
        remark_transpose(n);
}
