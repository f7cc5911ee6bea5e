/* order.c - moves the nodes that compute new values of state variables: after the last reader of the old value, which
 * they can then overwrite, and otherwise as early as possible, since a gradient takes memory until it is used. */
#include "memory/order.h"

#include "ir/call.h"
#include "ir/kernel.h"
#include "ir/symbol.h"
#include "passes/state.h"

enum { SMALL = 16 }; /* bytes whose lifetime does not matter */

static bool is_view(const Node *n) { return n->op->flags & VIEW; }

/* Is n a copy to a state variable, at the end of a step? */
static bool is_assignment(const Node *n)
{
    return n->out[0] && n->out[0]->state && n->in[0] && n->in[0]->state == n->out[0]->state && n->in[0]->def;
}

/* ---- who reads and who writes ------------------------------------------------------------------------------------ */

static Node *later(Node *a, Node *b) { return !a || (b && b->time > a->time) ? b : a; }

/* The node of g that n is, or is nested in; NULL: none. */
static Node *node_in(Node *n, const Graph *g)
{
    while (n && n->graph != g)
        n = n->graph->owner;
    return n;
}

/* The last node of g before the time `end` that reads v, or a view of v, without n and the assignments. */
static Node *last_reader(const Value *v, const Graph *g, const Node *n, int end)
{
    Node *last = NULL;
    for (int i = 0; i < v->uses.n; i++) {
        Node *r = node_in(v->uses.at[i].node, g);
        if (!r || r == n || r->time >= end || is_assignment(r))
            continue;
        last = later(last, is_view(r) ? last_reader(r->out[0], g, n, end) : r);
    }
    return last;
}

/* The node that computes v, or what v is a view of. */
static Node *maker(const Value *v)
{
    while (v->def && is_view(v->def))
        v = v->def->in[0];
    return v->def;
}

/* The old value of the state variable whose new value v is; NULL: v is none. */
static const Value *old_value(const Value *v)
{
    const Model *m = v->graph->model;
    EACH_AT (s, m->shares)
        if (s->copy && s->copy->in[0] == v && s->a->state)
            return s->a;
    return NULL;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* Does n need a size that is known only once another node has run, or that is checked there? */
static bool has_late_size(const Node *n)
{
    if (n->call.kernel) {
        EACH_SIZE (size, &n->call)
            if (!is_given(size.param->d))
                return true;
    }
    EACH_OUT (v, n)
        for (int i = 0; i < v->shape->rank; i++)
            if (!is_given(v->shape->dim[i]))
                return true;
    return false;
}

static bool may_move(const Node *n)
{
    bool moves = (n->call.loop || n->call.kernel || is_view(n)) && !(n->op->flags & (CONTROL | CUSTOM)) &&
                 !symbols_of(n) && !has_late_size(n) && !is_assignment(n);
    EACH_OUT (v, n)
        moves &= !v->data && v->form == TENSOR && !symbols_of(v);
    return moves;
}

static void number(const Graph *g)
{
    int time = 0;
    for (Node *n = g->first; n; n = n->next)
        n->time = time++;
}

static void move_after(Node *n, const Node *before)
{
    Graph *g = n->graph;
    Node *to = before ? before->next : g->first;
    if (to == n)
        return;
    if (to)
        node_move(n, to);
    else
        node_to_end(n);
    number(g);
}

/* Does a node before or at `last` read what n computes, or overwrite a state variable that n reads? */
static bool is_needed_by(const Node *n, const Node *last)
{
    EACH_OUT (v, n)
        for (int i = 0; i < v->uses.n; i++) {
            const Node *r = node_in(v->uses.at[i].node, n->graph);
            if (r && r->time <= last->time)
                return true;
        }
    const Model *m = n->graph->model;
    EACH_IN (x, n)
        for (int i = 0; x->state && !x->def && i < m->shares.n; i++) {
            const Node *d = m->shares.at[i].a == x && m->shares.at[i].copy ? maker(m->shares.at[i].copy->in[0]) : NULL;
            if (d && d != n && d->graph == n->graph && d->time > n->time && d->time <= last->time)
                return true;
        }
    return false;
}

/* Moves n, which computes a new value, after the last reader of the old one. */
static void move_later(Node *n)
{
    const Value *old = n->n_out && n->out[0] ? old_value(n->out[0]) : NULL;
    Node *last = old && may_move(n) ? last_reader(old, n->graph, n, INT32_MAX) : NULL;
    if (last && last->time > n->time && !is_needed_by(n, last))
        move_after(n, last);
}

/* ---- as early as possible ---------------------------------------------------------------------------------------- */

/* Does nothing but new values depend on n? Requires the answer for later nodes, in their `end`. */
static bool is_for_updates(const Node *n)
{
    if (!may_move(n))
        return false;
    EACH_OUT (v, n)
        for (int i = 0; i < v->uses.n; i++) {
            const Use *u = &v->uses.at[i];
            if (u->node ? u->node->graph != n->graph || !u->node->end : u->i < n->graph->entry->out.n)
                return false;
        }
    return true;
}

/* Does n make new values only, or few bytes, so that no more is alive if it runs earlier? */
static bool is_saving(const Node *n)
{
    bool saves = true;
    EACH_OUT (v, n)
        saves &= is_view(n) || old_value(v) || max_bytes(v) <= SMALL;
    return saves;
}

static void move_earlier(Node *n)
{
    Node *after = NULL;
    EACH_IN (x, n)
        if (x->def && x->def->graph == n->graph)
            after = later(after, x->def);
    EACH_OUT (v, n) {
        const Value *old = old_value(v);
        after = later(after, old ? last_reader(old, n->graph, n, n->time) : NULL);
    }
    if (n->time > (after ? after->time : -1) + 1)
        move_after(n, after);
}

/* Moves n, which computes few bytes, back to its first reader. */
static void move_to_reader(Node *n)
{
    Node *first = NULL;
    EACH_OUT (v, n)
        for (int i = 0; i < v->uses.n; i++) {
            Node *r = v->uses.at[i].node;
            if (old_value(v) || max_bytes(v) > SMALL || !r)
                return;
            first = !first || r->time < first->time ? r : first;
        }
    if (first && first != n->next && !is_needed_by(n, first->prev))
        move_after(n, first->prev);
}

static void order_entry(Graph *g)
{
    number(g);
    for (Node *n = g->last, *before; n; n = before) {
        before = n->prev;
        move_later(n);
    }
    for (Node *n = g->last; n; n = n->prev)
        n->end = is_assignment(n) || is_for_updates(n);
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        if (n->end && !is_assignment(n) && is_saving(n))
            move_earlier(n);
    }
    for (Node *n = g->last, *before; n; n = before) {
        before = n->prev;
        if (n->end && !is_assignment(n))
            move_to_reader(n);
    }
}

void order_updates(Model *m)
{
    EACH_OF (entry, m->entries)
        if (entry->kind != ENTRY_RUN)
            order_entry(entry->graph);
}
