/* check_order.c - check: there are no cycles, every value is defined before its uses (else the nodes are sorted, with a
 * warning), and nested graphs do not redefine visible names. */
#include "base/options.h"
#include "ir/schema.h"
#include "read/read.h"

enum { MAX_SEARCHES = 40 }; /* for cycles; more messages of one kind are not shown anyway */

typedef struct Order {
    int searches;
    VEC(Graph *) unsorted; /* as far as reported */
    Map is_unsorted;       /* those -> o */
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

/* ---- dependencies ----------------------------------------------------------------------------------------------- */

/* The nodes of a graph whose outputs are read: visit(producer, arg). */
typedef struct Producers {
    const Graph *graph;
    void (*visit)(Node *, void *);
    void *arg;
} Producers;

static void visit_producer(const Producers *p, const Value *v)
{
    if (v && v->def && v->def->graph == p->graph)
        p->visit(v->def, p->arg);
}

/* Of what n reads, also in its nested graphs; some of them more than once. */
static void visit_producers(const Producers *p, const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        visit_producer(p, n->in[i]);
    EACH_NESTED (g, n) {
        EACH_OF (v, g->out)
            visit_producer(p, v);
        for (const Node *m = g->first; m; m = m->next)
            visit_producers(p, m);
    }
}

/* ---- cycles --------------------------------------------------------------------------------------------------- */

/* A backward search through the dependencies of a node, within one graph. */
typedef struct CycleSearch {
    const Node *now;
    Map from; /* node -> the node that depends on it */
    VEC(const Node *) queue;
} CycleSearch;

static void search_producer(Node *producer, void *search)
{
    CycleSearch *s = search;
    if (map_get(&s->from, producer))
        return;
    map_put(&s->from, producer, (void *)(uintptr_t)s->now);
    vec_push(&s->queue, producer);
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
    CycleSearch s = {.now = producer};
    const Producers p = {reader->graph, search_producer, &s};
    map_put(&s.from, producer, (void *)(uintptr_t)producer);
    visit_producers(&p, producer);
    for (int i = 0; i < s.queue.n && !map_get(&s.from, reader); i++) {
        s.now = s.queue.at[i];
        visit_producers(&p, s.now);
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
    if (map_get(&o->is_unsorted, def->graph))
        return;
    map_put(&o->is_unsorted, def->graph, o);
    vec_push(&o->unsorted, def->graph);
    warn_strict(node_place(n), reader == n ? "GRA-02" : "SUB-03", "%s %d: '%s' is defined later, by %s%s", what, i,
                printable(v->name), node_text(def), opt()->strict ? "" : "; the nodes are sorted");
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
    EACH_OF (v, g->in)
        for (const Graph *p = g->parent; p; p = p->parent)
            if (map_get(&p->scope, v->name)) {
                warn_pedantic(g->path, "SUB-07", "the input '%s' hides a value of an enclosing graph",
                              printable(v->name));
                break;
            }
}

static void order_graph(Graph *g, Order *o)
{
    for (const Node *n = g->first; n; n = n->next) {
        for (int i = 0; i < n->n_in; i++)
            check_read(o, n, "input", i, n->in[i]);
        for (int i = 0; i < n->n_out && g->owner; i++)
            if (n->out[i])
                check_shadow(n, n->out[i]);
        EACH_NESTED (inner, n)
            order_graph(inner, o);
    }
    check_inputs_shadow(g);
}

/* ---- sorting ---------------------------------------------------------------------------------------------------- */

typedef struct Sort {
    VEC(struct Open { /* a node that waits for its producers */
                      Node *node;
                      VEC(Node *) producers;
                      int next;
    }) open;
    Map state; /* node -> &is_open, &is_sorted */
    VEC(Node *) sorted;
} Sort;

static void add_producer(Node *producer, void *open)
{
    struct Open *o = open;
    vec_push(&o->producers, producer);
}

static void open_node(Sort *s, Node *n, const char *is_open)
{
    struct Open o = {.node = n};
    visit_producers(&(Producers){n->graph, add_producer, &o}, n);
    vec_push(&s->open, o);
    map_put(&s->state, n, (void *)(uintptr_t)is_open);
}

/* Appends n to the sorted nodes, after its producers. False: it is part of a cycle. */
static bool sort_node(Sort *s, Node *n)
{
    static const char is_open = 1, is_sorted = 2;
    if (!map_get(&s->state, n))
        open_node(s, n, &is_open);
    while (s->open.n) {
        struct Open *top = &s->open.at[s->open.n - 1];
        if (top->next < top->producers.n) {
            Node *producer = top->producers.at[top->next++];
            const char *state = map_get(&s->state, producer);
            if (state == &is_open)
                return false;
            if (!state)
                open_node(s, producer, &is_open);
            continue;
        }
        map_put(&s->state, top->node, (void *)(uintptr_t)&is_sorted);
        vec_push(&s->sorted, top->node);
        s->open.n--;
    }
    return true;
}

/* The nodes stay in their order, but for the producers of a node, which come before it. */
static void sort_graph(Graph *g)
{
    Sort s = {0};
    for (Node *n = g->first; n; n = n->next)
        if (!sort_node(&s, n)) {
            error_node(n, "GRA-03", "a cycle: the node depends on itself");
            return;
        }
    for (int i = 0; i < s.sorted.n; i++)
        node_to_end(s.sorted.at[i]);
}

void check_order(Graph *g)
{
    Order o = {0};
    order_graph(g, &o);
    for (int i = 0; i < o.unsorted.n && !error_count(); i++)
        sort_graph(o.unsorted.at[i]);
}
