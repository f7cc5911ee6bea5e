/* simplify.c - simplify: operator-specific rewrites, then removal of dead code, identities and duplicates, and
 * folding of scales into weights.
 * Requires: shapes and folded constants. Leaves: no node whose results are constant or unused. */
#include <xxhash.h>

#include "ir/assume.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "ir/scope.h"
#include "passes/passes.h"
#include "read/read.h"

/* ---- dead code --------------------------------------------------------------------------------------------------- */

/* Marks the origins of a size that is used: the values and the nodes that it comes from. */
static void need_size(Map *needed, Dim d)
{
    EACH_SYMBOL (s, d) {
        if (symbol_origin(s))
            map_put(needed, symbol_origin(s), s);
        for (const Graph *g = symbol_graph(s); g && g->owner; g = g->parent)
            map_put(needed, g->owner, s);
    }
}

static void need_sizes(Map *needed, const Value *v)
{
    for (int i = 0; i < v->shape->rank; i++)
        need_size(needed, v->shape->dim[i]);
    for (int64_t i = 0; v->data && v->data->symbolic && i < tensor_count(v->data); i++)
        need_size(needed, ((const Dim *)v->data->data)[i]);
}

/* May n end the run with an error status? Then it is kept even if its results are not used. checked: the graphs in
 * which assumptions are checked. */
static bool may_stop(const Node *n, const Map *checked)
{
    bool stops = checks_values(n) || stacked_sizes(n).n;
    EACH_NESTED (g, n) {
        stops |= map_get(checked, g) != NULL;
        for (const Node *m = g->first; m && !stops; m = m->next)
            stops = may_stop(m, checked);
    }
    return stops;
}

typedef struct Sweep {
    Map needed;  /* values and nodes that used sizes come from */
    Map checked; /* graph -> Assumptions to be checked there at run time */
} Sweep;

static bool is_dead(const Node *n, const Sweep *s)
{
    EACH_OUT (v, n)
        if ((v->uses.n && !v->data) || map_get(&s->needed, v))
            return false;
    if (map_get(&s->needed, n))
        return declines(REWRITE_DEAD, n, "its results are not used, but a size depends on it");
    if (may_stop(n, &s->checked))
        return declines(REWRITE_DEAD, n, "its results are not used, but it checks values at run time");
    return applies(REWRITE_DEAD, n, "its results are not used");
}

static void find_checked(Map *checked)
{
    for (int i = 0; i < assumption_count(); i++) {
        Assumption *a = assumption_at(i);
        if (dim_is(dim_eq_expr(a->d, a->is), 1))
            continue;
        Assumptions *of = map_get(checked, a->n->graph);
        if (!of)
            map_put(checked, a->n->graph, of = NEW(Assumptions));
        vec_push(of, a);
    }
}

/* Marks the origins of the sizes in assumptions that are checked in g. */
static void need_assumptions(Sweep *s, const Graph *g)
{
    const Assumptions *of = map_get(&s->checked, g);
    for (int i = 0; of && i < of->n; i++) {
        need_size(&s->needed, of->at[i]->d);
        need_size(&s->needed, of->at[i]->is);
    }
}

static void sweep(Graph *g, Sweep *s)
{
    Map *needed = &s->needed;
    need_assumptions(s, g);
    EACH_VALUE (v, g->out.at, g->out.n)
        need_sizes(needed, v);
    for (Node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        if (is_dead(n, s)) {
            EACH_OUT (v, n)
                v->def = NULL; /* from here on a constant */
            node_free(n);
            continue;
        }
        if (n->op->unread)
            n->op->unread(n);
        EACH_IN (v, n)
            need_sizes(needed, v);
        EACH_OUT (v, n)
            need_sizes(needed, v);
        const Dims alike = stacked_sizes(n);
        for (int i = 0; i < alike.n; i++)
            need_size(needed, alike.at[i]);
        EACH_NESTED (inner, n)
            sweep(inner, s);
    }
}

void remove_dead(Graph *g)
{
    Sweep s = {0};
    find_checked(&s.checked);
    sweep(g, &s);
    map_free(&s.needed);
    map_free(&s.checked);
}

/* ---- duplicates -------------------------------------------------------------------------------------------------- */

/* The bytes of an attribute's value. */
static const void *attr_bytes(const Attr *a, size_t *n)
{
    *n = (size_t)a->n;
    switch (a->type) {
    case A_FLOAT: *n = sizeof a->f; return &a->f;
    case A_INTS: *n *= sizeof *a->ints; return a->ints;
    case A_FLOATS: *n *= sizeof *a->floats; return a->floats;
    case A_STRINGS: *n *= sizeof *a->strings; return a->strings;
    default: *n = sizeof a->i; return &a->i; /* a number, or a pointer that equal attributes share */
    }
}

static bool is_same_attr(const Attr *a, const Attr *b)
{
    size_t n;
    const void *x = attr_bytes(a, &n), *y = attr_bytes(b, &n);
    return a->name == b->name && a->type == b->type && a->n == b->n && a->g == b->g && (!n || !memcmp(x, y, n));
}

/* Is v a constant that is compared by its bytes, rather than by its address? */
static bool is_small(const Value *v)
{
    const Tensor *t = v->data;
    return t && !t->symbolic && !t->splat && !t->thunk && v->type != STR && tensor_size(t) <= 4096;
}

static bool is_same_constant(const Value *a, const Value *b)
{
    if (!is_small(a) || !is_small(b) || a->type != b->type || !shape_identical(*a->shape, *b->shape))
        return false;
    bool same = !memcmp(tensor_data(a->data), tensor_data(b->data), tensor_size(a->data));
    tensor_drop(a->data);
    tensor_drop(b->data);
    return same;
}

static uint64_t value_hash(const Value *v)
{
    if (!v || !is_small(v))
        return v ? (uint64_t)v->id + 1 : 0;
    about_to_read(tensor_size(v->data));
    uint64_t h = XXH3_64bits(tensor_data(v->data), tensor_size(v->data));
    tensor_drop(v->data);
    return h;
}

/* Do a and b compute the same? Sizes that each determines at run time are the same, but have two names. */
static bool is_same_node(const Node *a, const Node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out || a->n_attr != b->n_attr)
        return false;
    for (int i = 0; i < a->n_in; i++)
        if (a->in[i] != b->in[i] && !(a->in[i] && b->in[i] && is_same_constant(a->in[i], b->in[i])))
            return false;
    const bool own_sizes = symbols_of(a) && symbols_of(b);
    for (int i = 0; i < a->n_out; i++)
        if (!a->out[i] != !b->out[i] ||
            (a->out[i] && (a->out[i]->type != b->out[i]->type ||
                           !(own_sizes || shape_identical(*a->out[i]->shape, *b->out[i]->shape)))))
            return false;
    for (int i = 0; i < a->n_attr; i++)
        if (!is_same_attr(&a->attr[i], &b->attr[i]))
            return false;
    return true;
}

static uint64_t node_hash(const Node *n)
{
    uint64_t h = (uintptr_t)n->op;
    for (int i = 0; i < n->n_in; i++)
        h = h * 0x9E3779B97F4A7C15u + value_hash(n->in[i]);
    for (int i = 0; i < n->n_attr; i++) {
        size_t size;
        const void *value = attr_bytes(&n->attr[i], &size);
        h = h * 0x9E3779B97F4A7C15u + XXH3_64bits(value, size);
    }
    h = (h ^ h >> 29) * 0x9E3779B97F4A7C15u; /* mix: the ids in a chain of nodes are consecutive */
    return (h ^ h >> 32) | 1;
}

/* Is a result of n an output of its graph? */
static bool gives_output(const Node *n)
{
    EACH_OUT (v, n)
        if (value_is_output(v))
            return true;
    return false;
}

static void merge_duplicates(Graph *g)
{
    Map seen = {0};
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        EACH_NESTED (inner, n)
            merge_duplicates(inner);
        if (n->op->flags & RANDOM)
            (void)declines(REWRITE_DUPLICATE, n, "every node draws random numbers of its own");
        else if (n->op->flags & CONTROL)
            (void)declines(REWRITE_DUPLICATE, n, "graphs of branches and loops are not compared");
        if (n->op->flags & (RANDOM | CONTROL))
            continue;
        uint64_t h = node_hash(n);
        Node *first;
        while ((first = map_get(&seen, (void *)(uintptr_t)h)) != NULL && !is_same_node(first, n))
            h += 2;
        if (!first) {
            map_put(&seen, (void *)(uintptr_t)h, n);
            continue;
        }
        if (symbols_of(n)) {
            (void)declines(REWRITE_DUPLICATE, n, "%s is equal, but the sizes that each determines have two names",
                           remark_node(first));
            continue;
        }
        if (gives_output(n)) {
            (void)declines(REWRITE_DUPLICATE, n, "%s is equal, but a result of this one is an output",
                           remark_node(first));
            continue;
        }
        (void)applies(REWRITE_DUPLICATE, n, "%s", remark_node(first));
        provenance_gone(n, "an equal node computes the same");
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                value_replace(n->out[i], first->out[i]);
        node_free(n);
    }
    map_free(&seen);
}

/* ---- identities -------------------------------------------------------------------------------------------------- */

/* Removes a view with the shape and type of its input. */
static void remove_identity(Node *n)
{
    if (!(n->op->flags & VIEW) || !n->out[0] || !shape_identical(*n->in[0]->shape, *n->out[0]->shape) ||
        n->in[0]->type != n->out[0]->type)
        return;
    if (value_is_output(n->out[0])) {
        (void)declines(REWRITE_IDENTITY, n, "its result is an output, and has a buffer of its own");
        return;
    }
    (void)applies(REWRITE_IDENTITY, n, "its result is its input");
    provenance_gone(n, "its result is its input");
    value_replace(n->out[0], n->in[0]);
    node_free(n);
}

/* ---- scales and offsets into weights ----------------------------------------------------------------------------- */

/* The constant c as a list with an element per index of y's `axis`; NULL: it also varies along other axes. */
static Value *per_channel(Node *before, Value *c, const Value *y, int axis)
{
    Shape s = *c->shape;
    for (int i = 0; i < s.rank; i++)
        if (!dim_is(s.dim[i], 1) && i - s.rank != axis - y->shape->rank)
            return NULL;
    if (s.rank > y->shape->rank || !dim_is_const(y->shape->dim[axis]))
        return NULL;
    const Shape list = shape_list(1, y->shape->dim[axis]);
    if (dim_is(shape_count(s), 1) && !dim_is(list.dim[0], 1))
        return value_const(before->graph, provenance_splat(tensor_new_fill(c->type, list, tensor_data(c->data)), c));
    return s.rank == 1 ? c : value_const(before->graph, tensor_view(c->data, list));
}

/* Gives input i of n, if it is a new constant, the name of the one that it replaces. */
static void keep_name(Node *n, int i, const Value *was)
{
    if (in(n, i) && (!n->in[i]->name || n->in[i]->name == n->name))
        n->in[i]->name = was->name;
}

static bool has_weights(const Value *v) { return v->def && v->def->op->fold_scale; }

/* Is x, in n's x * c or x + c, computed by a linear kernel and read only by n? */
static bool follows_linear(const Node *n, const Value *x)
{
    const Node *linear = x->def;
    if (!linear)
        return false;
    if (!linear->op->fold_scale)
        return declines(REWRITE_SCALE, n, "%s, before it, has no weights", remark_node(linear));
    if (x->uses.n != 1)
        return declines(REWRITE_SCALE, n, "the result of %s has other readers", remark_node(linear));
    if (linear->graph != n->graph)
        return declines(REWRITE_SCALE, n, "%s belongs to another graph", remark_node(linear));
    if (!shape_identical(*x->shape, *n->out[0]->shape) || x->shape->rank < 2)
        return declines(REWRITE_SCALE, n, "it broadcasts the result of %s", remark_node(linear));
    return true;
}

/* Folds y = x * c, x + c ... into the weights and the bias of the linear kernel that computes x for this node alone. */
static bool fold_scale(Node *n)
{
    const bool scales = n->op->flags & SCALES;
    if (!(n->op->flags & (SCALES | OFFSETS)))
        return false;
    int k = n->in[1]->data ? 0 : 1;
    Value *x = n->in[k], *c = n->in[1 - k];
    Node *linear = x->def;
    if (!c->data || c->data->symbolic)
        return (has_weights(n->in[0]) || has_weights(n->in[1])) &&
               declines(REWRITE_SCALE, n, "none of its inputs is a constant");
    if (n->out[0]->type != F32)
        return has_weights(x) && declines(REWRITE_SCALE, n, "it is of %s, not float", type_onnx(n->out[0]->type));
    if (!follows_linear(n, x))
        return false;
    c = per_channel(linear, c, x, linear->op->flags & CHANNELS_LAST ? 1 : x->shape->rank - 1);
    Value *w = linear->in[1], *b = linear->n_in > 2 ? linear->in[2] : NULL;
    if (!c)
        return declines(REWRITE_SCALE, n, "%s is not one number for each channel", remark_value(n->in[1 - k]));
    if (n->op->inverse && k)
        return declines(REWRITE_SCALE, n, "%s is on the left", remark_value(n->in[1 - k]));
    if (n->op->inverse)
        c = inferred(make(linear, n->op->inverse, 1, c));
    if (!linear->op->fold_scale(linear, scales ? c : NULL, scales ? NULL : c))
        return declines(REWRITE_SCALE, n, "the weights of %s cannot be changed", remark_node(linear));
    (void)applies(REWRITE_SCALE, n, "of %s", remark_node(linear));
    keep_name(linear, 1, w);
    keep_name(linear, 2, b ? b : n->in[1 - k]);
    node_also(linear, n);
    replace_out(n, 0, x);
    node_free(n);
    return true;
}

/* ---- operator-specific rewrites ---------------------------------------------------------------------------------- */

/* Calls Op.simplify of all nodes, from last to first: so it is also called for nodes inserted before the current
 * one. */
static void simplify_operators(Graph *g)
{
    for (Node *n = g->last, *next; n;) {
        next = n->next;
        EACH_NESTED (inner, n)
            simplify_operators(inner);
        n = n->op->simplify && n->op->simplify(n) ? next ? next->prev : g->last : n->prev;
        values_free();
    }
}

void simplify_model(Model *m)
{
    map_free(&m->graph->scope); /* no more lookups by name */
    simplify_operators(m->graph);
    remove_dead(m->graph);
    EACH_NODE (n, m->graph)
        remove_identity(n);
    merge_duplicates(m->graph);
    EACH_NODE (n, m->graph)
        if (fold_scale(n))
            values_free();
    remove_dead(m->graph);
}
