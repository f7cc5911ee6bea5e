/* require.c - what operators require of sizes and indices: an error if it cannot hold, a check at run time if it
 * depends on sizes that only the run determines. */
#include "ir/assume.h"
#include "ir/ops.h"

bool require_dim(Node *n, const char *what, Dim d, Dim is)
{
    if (is_impossible(d, is))
        return node_error(n, "%s: %s instead of %s", what, dim_text(d), dim_text(is));
    assume_dim(n, d, is);
    return true;
}

bool require_one(Node *n, int i)
{
    Shape s = in_shape(n, i);
    if (!in(n, i) || !is_impossible(shape_count(s), D(1))) {
        if (in(n, i))
            assume_dim(n, shape_count(s), D(1));
        return true;
    }
    return node_error(n, "input %d, %s, is not one number", i, shape_text(s));
}

bool require_size(Node *n, const char *what, Dim *d)
{
    if (dim_high(*d) < 0)
        return node_error(n, "%s is negative: %s", what, dim_text(*d));
    Dim given = *d;
    *d = dim_max(given, D(0));
    assume_dim(n, *d, given);
    return true;
}

/* Raises the lower bound of a size of the model's inputs, so that d >= 1; false: that does not suffice. */
static bool raise_input(const Node *n, Dim d)
{
    int64_t low = 1;
    Symbol *s = graph_is_entry(n->graph) ? dim_at_least(d, &low) : NULL;
    if (!s || s->origin.kind != ORIGIN_INPUT || low > s->high || low > MAX_SIZE)
        return false;
    s->low = s->low > low ? s->low : low;
    return true;
}

Dim require_left(const Node *n, Dim size, Dim d)
{
    return dim_low(d) >= (dim_low(size) > 0) || raise_input(n, d) ? d : dim_max(D(0), d);
}

bool require_shape(Node *n, int i, Shape is)
{
    if (!in(n, i))
        return true;
    Shape s = in_shape(n, i);
    bool can = s.rank == is.rank;
    for (int a = 0; a < s.rank && can; a++) {
        can = !is_impossible(s.dim[a], is.dim[a]);
        assume_dim(n, s.dim[a], is.dim[a]);
    }
    if (!can)
        node_error(n, "input %d is %s instead of %s", i, shape_text(s), shape_text(is));
    return can;
}

bool require_expands(Node *n, int i, Shape to) { return !in(n, i) || require_expands_as(n, i, in_shape(n, i), to); }

bool require_expands_as(Node *n, int i, Shape s, Shape to)
{
    bool can = s.rank <= to.rank;
    for (int a = 1; a <= s.rank && can; a++) {
        Dim d = s.dim[s.rank - a], is = to.dim[to.rank - a];
        d = dim_select(dim_eq_expr(d, D(1)), is, d);
        can = !is_impossible(d, is);
        assume_dim(n, d, is);
    }
    if (!can)
        error_node(n, "INF-08", "input %d is %s, which does not expand to %s", i, shape_text(in_shape(n, i)),
                   shape_text(to));
    return can;
}

bool always_iterates(const Node *n)
{
    const Value *max = in(n, 0), *begin = in(n, 1);
    return (!max || (max->data && dim_low(value_dim(in(n, 0), 0)) > 0)) &&
           (!begin || (in_is_const(n, 1) && tensor_get_int(begin->data, 0)));
}

bool always_runs(const Node *n)
{
    for (const Graph *g = n->graph; g && g->owner; g = g->owner->graph)
        if (node_attr(g->owner, "body") && !always_iterates(g->owner))
            return false;
    return true;
}

void warn_when_run(Node *n, const char *what)
{
    n->fails = true;
    warn_at(node_path(n), "OPR-02", "%s: it is an error when this runs", what);
}

bool wrong_when_run(Node *n, const char *what)
{
    if (always_runs(n))
        return node_error(n, "%s", what);
    warn_when_run(n, what);
    return true;
}

void fail_when_run(Node *n, const char *what)
{
    warn_when_run(n, what);
    Node *f = node_new(n->graph, "onnxcc.Fail", 0, NULL, 1);
    f->source = n->source;
    set_out(f, 0, B8, shape_list(0));
    node_insert(f, n);
}

bool require_index(Node *n, int64_t v, Dim axis, bool back)
{
    const int64_t min = dim_low(axis), max = dim_high(axis);
    n->unsure |= v >= min || v < (back ? -min : 0);
    if (v < max && v >= (back ? -max : 0))
        return true;
    Text t = {0};
    text_put(&t, "the index %lld is outside an axis of %s", (long long)v, dim_text(axis));
    return wrong_when_run(n, t.s);
}

bool require_indices(Node *n, int i, int depth, const Dim *axis, bool back)
{
    const Tensor *t = in_is_const(n, i) ? in(n, i)->data : NULL;
    int64_t count = t ? tensor_count(t) : 0;
    for (int64_t e = 0; e < (t && t->splat && count > depth ? depth : count); e++)
        if (!require_index(n, tensor_get_int(t, e), axis[e % depth], back))
            return false;
        else if (n->fails)
            break;
    return true;
}

bool checks_values(const Node *n)
{
    const int checked = n->op->checks - 1;
    const bool folded = n->n_out && n->out[0] && n->out[0]->data;
    return (n->op->flags & STOPS && !folded) || n->fails || n->unsure ||
           (checked >= 0 && in(n, checked) && !in_is_const(n, checked));
}
