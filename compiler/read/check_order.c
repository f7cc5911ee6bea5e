/* check_order.c - check: every value is defined before its uses, there are no cycles, and nested graphs do not redefine
 * visible names. */
#include "base/options.h"
#include "read/check.h"

enum { MAX_SEARCHES = 40 }; /* for cycles; more messages of one kind are not shown anyway */

typedef struct Order {
    int searches;
    const Graph *unsorted; /* the last graph reported as unsorted */
    Map in_cycle;          /* the nodes of all cycles reported so far */
} Order;

static const char *node_text(const Node *n)
{
    Text t = {0};
    text_put(&t, "%s", node_path(n));
    if (n->name->n)
        text_put(&t, " \"%s\"", printable(n->name));
    text_put(&t, " (%s)", printable(node_op(n)));
    return t.s;
}

/* The node of g that contains n, or n itself; NULL: n is not inside g. */
static const Node *node_in(const Node *n, const Graph *g)
{
    while (n && n->graph != g)
        n = n->graph->owner;
    return n;
}

/* ---- cycles --------------------------------------------------------------------------------------------------- */

/* A backward search through the dependencies of a node, within one graph. */
typedef struct CycleSearch {
    const Graph *graph;
    const Node *now;
    Map from; /* node -> the node that depends on it */
    VEC(const Node *) queue;
} CycleSearch;

static void search_graph(Graph *g, void *search);

static void search_node(CycleSearch *s, const Node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        Node *def = n->in[i] ? n->in[i]->def : NULL;
        if (def && def->graph == s->graph && !map_get(&s->from, def)) {
            map_put(&s->from, def, (void *)(uintptr_t)s->now);
            vec_push(&s->queue, def);
        }
    }
    node_each_graph(n, search_graph, s);
}

static void search_graph(Graph *g, void *search)
{
    CycleSearch *s = search;
    for (int i = 0; i < g->out.n; i++) {
        Node *def = g->out.at[i]->def;
        if (def && def->graph == s->graph && !map_get(&s->from, def)) {
            map_put(&s->from, def, (void *)(uintptr_t)s->now);
            vec_push(&s->queue, def);
        }
    }
    for (const Node *n = g->first; n; n = n->next)
        search_node(s, n);
}

/* Does `producer` depend on `reader`, which reads its output? Reports that cycle. */
static bool report_cycle(Order *o, const Node *reader, const Node *producer, const Value *v)
{
    enum { SHOWN = 8 };
    if (reader == producer) {
        error_node(reader, "GRA-03", "the node reads its own output '%s'", printable(v->name));
        return true;
    }
    if (o->searches++ >= MAX_SEARCHES)
        return false;
    CycleSearch s = {.graph = reader->graph, .now = producer};
    map_put(&s.from, producer, (void *)(uintptr_t)producer);
    search_node(&s, producer);
    for (int i = 0; i < s.queue.n && !map_get(&s.from, reader); i++) {
        s.now = s.queue.at[i];
        search_node(&s, s.now);
    }
    if (!map_get(&s.from, reader))
        return false;
    VEC(const Node *) way = {0};
    bool known = map_get(&o->in_cycle, reader);
    for (const Node *n = reader;; n = map_get(&s.from, n)) {
        vec_push(&way, n);
        known |= map_get(&o->in_cycle, n) != NULL;
        map_put(&o->in_cycle, n, o);
        if (n == producer)
            break;
    }
    if (known)
        return true;
    Text t = {0};
    for (int i = way.n - 1; i > 0 && way.n - i <= SHOWN; i--)
        text_put(&t, "%s%s", i < way.n - 1 ? ", which reads " : "", node_text(way.at[i]));
    if (way.n > SHOWN)
        text_put(&t, ", and so on through %d nodes", way.n - SHOWN);
    error_node(reader, "GRA-03", "a cycle: the node reads '%s' of %s, which reads this one", printable(v->name), t.s);
    return true;
}

/* ---- order ---------------------------------------------------------------------------------------------------- */

static void check_read(Order *o, const Node *n, const char *what, int i, const Value *v)
{
    const Node *def = v ? v->def : NULL, *reader = def ? node_in(n, def->graph) : NULL;
    if (!reader || def->source->index < reader->source->index || report_cycle(o, reader, def, v))
        return;
    if (reader == n && o->unsorted == n->graph)
        return;
    o->unsorted = reader == n ? n->graph : o->unsorted;
    error_node(n, reader == n ? "GRA-02" : "SUB-03", "%s %d: '%s' is defined later, by %s", what, i, printable(v->name),
               node_text(def));
}

/* Reports a value of a nested graph that has the name of a visible outer one. */
static void check_shadow(const Node *n, const Value *v)
{
    for (const Graph *g = n->graph; g->parent; g = g->parent) {
        const Value *outer = map_get(&g->parent->scope, v->name);
        const Node *here = outer ? node_in(n, g->parent) : NULL;
        if (outer && (!here || !outer->def || outer->def->source->index < here->source->index)) {
            error_node(n, "SUB-06", "'%s' is already a value of an enclosing graph%s%s", printable(v->name),
                       outer->def ? ": " : "", outer->def ? node_text(outer->def) : "");
            return;
        }
    }
}

static void check_inputs_shadow(const Graph *g)
{
    for (int i = 0; i < g->in.n; i++)
        for (const Graph *p = g->parent; p; p = p->parent)
            if (map_get(&p->scope, g->in.at[i]->name)) {
                warn_pedantic(g->path, "SUB-07", "the input '%s' hides a value of an enclosing graph",
                              printable(g->in.at[i]->name));
                break;
            }
}

static void order_graph(Graph *g, void *order)
{
    Order *o = order;
    for (const Node *n = g->first; n; n = n->next) {
        for (int i = 0; i < n->n_in; i++)
            check_read(o, n, "input", i, n->in[i]);
        for (int i = 0; i < n->n_out && g->owner; i++)
            if (n->out[i])
                check_shadow(n, n->out[i]);
        node_each_graph(n, order_graph, o);
    }
    check_inputs_shadow(g);
}

void check_order(Graph *g) { order_graph(g, &(Order){0}); }
