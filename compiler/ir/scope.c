/* scope.c - sizes that become known while a branch or a loop's body runs. Outside of it such a size has the value of
 * the last run of the branch or body or, if there was none since the node was reached, a fixed one. */
#include "ir/scope.h"

#include "ir/loop.h"

PART(Map, born) /* Graph -> the first Symbol whose value becomes known in it */

bool graph_encloses(const Graph *outer, const Graph *inner)
{
    while (inner && inner != outer)
        inner = inner->parent;
    return inner != NULL;
}

void scopes_begin(void)
{
    map_free(born());
    for (int i = symbol_count(); i-- > 0;) {
        Symbol *s = symbol_at(i);
        Graph *g = symbol_graph(s);
        s->known = false;
        s->beside = g ? symbols_born_in(g) : NULL;
        if (g)
            map_put(born(), g, s);
    }
}

Symbol *symbols_born_in(const Graph *g) { return map_get(born(), g); }

bool symbol_is_iteration(const Symbol *s)
{
    const Graph *g = s->origin.kind == ORIGIN_ELEMENT ? s->origin.value->graph : NULL;
    return g && g->owner && node_graph(g->owner, "body") && g->in.n && g->in.at[0] == s->origin.value;
}

int64_t symbol_start(const Symbol *s) { return s->low > 0 ? s->low : s->high < 0 ? s->high : 0; }

/* ---- symbols of nested graphs ------------------------------------------------------------------------------------ */

void symbols_inside(const Node *n, void (*visit)(Symbol *, void *), void *arg)
{
    EACH_NESTED (g, n) {
        for (Symbol *s = symbols_born_in(g); s; s = s->beside)
            visit(s, arg);
        for (const Node *m = g->first; m; m = m->next)
            if (m->op->flags & CONTROL)
                symbols_inside(m, visit, arg);
    }
}

static void end_symbol(Symbol *s, void *unused)
{
    (void)unused;
    s->known = true;
}

void symbols_end(const Node *n) { symbols_inside(n, end_symbol, NULL); }

/* Does d depend on a symbol that belongs to a graph nested in n? */
static bool dim_varies_in(Dim d, const Node *n)
{
    EACH_SYMBOL (s, d)
        for (const Graph *g = symbol_graph(s); g; g = g->parent)
            if (g->owner == n)
                return true;
    return false;
}

static void add_stacked(Dims *sizes, const Node *n, Dim d)
{
    if (dim_varies_in(d, n))
        vec_add(sizes, d);
}

Dims stacked_sizes(const Node *n)
{
    Dims sizes = {0};
    const Graph *body = node_graph(n, "body");
    const Attr *unmade = node_attr(n, "dims");
    for (int i = n->n_in - 2; body && i < n->n_out; i++) {
        const Shape *s = body->out.at[i + 1]->shape;
        for (int k = 0; n->out[i] && k < s->rank; k++)
            add_stacked(&sizes, n, s->dim[k]);
    }
    for (int i = 0; body && unmade && i < unmade->n; i++)
        add_stacked(&sizes, n, dim_resolve((Dim){unmade->ints[i]}));
    return sizes;
}

void keep_stacked_sizes(Node *n, const Shape *slice)
{
    const Attr *before = node_attr(n, "dims");
    VEC(int64_t) dims = {0};
    for (int i = 0; before && i < before->n; i++)
        vec_push(&dims, before->ints[i]);
    for (int k = 0; k < slice->rank; k++)
        if (dim_varies_in(slice->dim[k], n))
            vec_push(&dims, slice->dim[k].v);
    if (dims.n)
        attr_set_ints(n, "dims", dims.n, dims.at);
}

/* ---- symbols that code uses -------------------------------------------------------------------------------------- */

static void visit_shape(const Shape *s, void (*visit)(Symbol *, void *), void *arg)
{
    for (int i = 0; i < s->rank; i++)
        dim_symbols(s->dim[i], visit, arg);
}

void node_symbols(const Node *n, void (*visit)(Symbol *, void *), void *arg)
{
    EACH_IN (x, n)
        visit_shape(x->shape, visit, arg);
    EACH_OUT (y, n)
        visit_shape(y->shape, visit, arg);
    if (n->call.loop)
        visit_shape(n->call.loop->shape, visit, arg);
    else if (n->call.kernel)
        EACH_SIZE (s, &n->call)
            dim_symbols(s.param->d, visit, arg);
    if (n->op->flags & CONTROL && node_attr(n, "body") && n->in[0])
        dim_symbols(value_dim(n->in[0], 0), visit, arg);
    const Dims alike = stacked_sizes(n);
    for (int i = 0; i < alike.n; i++)
        dim_symbols(alike.at[i], visit, arg);
}
