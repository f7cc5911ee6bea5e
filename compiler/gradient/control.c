/* control.c - Gradient of If and Loop (Scan has become a Loop by then): their graphs replayed and reversed. */
#include "ir/spatial.h"
#include "passes/container.h"
#include "gradient.h"

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

/* The end of a new graph of `owner`, where n is at work. */
static Node *begin_graph(Node *owner, const Node *n, const Graph *like)
{
    Graph *g = NEW(Graph);
    *g = (Graph){.name = like->name, .model = like->model, .parent = owner->graph, .owner = owner, .path = like->path};
    Node *end = node_new(g, "onnxcc.Start", 0, NULL, 0);
    end->op = n->op; /* what messages say */
    end->source = n->source;
    node_insert(end, NULL);
    return end;
}

static Graph *end_graph(Node *end)
{
    node_remove(end);
    return end->graph;
}

static Value *add_input(Graph *g, Name name, Type t, Shape s)
{
    Value *v = value_new(g, name);
    v->type = t;
    v->shape = shape_keep(s);
    vec_push(&g->in, v);
    return v;
}

/* A way through a new graph of `owner`, inside p's; q->n is its end. */
static void enter(Path *q, const Path *p, Node *owner, const Graph *like)
{
    *q = (Path){.outer = p, .n = begin_graph(owner, p->n, like)};
}

static Shape shape_now(const Path *p, Shape s)
{
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = size_now(p, s.dim[i]);
    return s;
}

/* v is within the same bounds as old. */
static void bound_like(Value *v, const Value *old)
{
    for (const Symbol *s = symbols_of(old); s; s = s->next) {
        Symbol *t = has_element(v, s->element) ? symbol_of(value_dim(v, s->element)) : NULL;
        if (t && t->from == v) {
            t->low = s->low;
            t->high = s->high;
        }
    }
}

/* The graph g for `owner`, with what it reads as it is now. */
static Graph *graph_again(const Path *p, Graph *g, Node *owner)
{
    Path q;
    enter(&q, p, owner, g);
    q.plain = true;
    for (int i = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        map_put(&q.now, v, add_input(q.n->graph, v->name, v->type, shape_now(&q, *v->shape)));
        bound_like(now(&q, v), v);
    }
    for (Node *m = g->first; m; m = m->next)
        go(&q, m);
    for (int i = 0; i < g->out.n; i++)
        graph_add_output(q.n->graph, now(&q, g->out.at[i]));
    return end_graph(q.n);
}

Node *copied(const Path *p, Node *m, Value **in)
{
    Node *c = node_again(p->n, m, in, m->n_in, m->n_out);
    for (int i = 0; i < m->n_out; i++)
        if (!m->out[i])
            c->out[i] = NULL;
        else if (m->op->flags & TOLD)
            set_out(c, i, m->out[i]->type, shape_now(p, *m->out[i]->shape));
    for (int i = 0; i < c->n_attr; i++)
        if (c->attr[i].g)
            c->attr[i].g = graph_again(p, c->attr[i].g, c);
    infer_node(c);
    for (int i = 0; i < m->n_out; i++)
        if (m->out[i])
            bound_like(c->out[i], m->out[i]);
    return c;
}

Graph *taken(const Node *m, Value *const *in)
{
    if (strcmp(m->op->name, "If") || !in[0]->data || in[0]->data->symbolic)
        return NULL;
    return node_attr(m, tensor_get_int(in[0]->data, 0) ? "then_branch" : "else_branch")->g;
}

/* ---- what is live ----------------------------------------------------------------------------------------------- */

/* The live values of the graphs around that m's graphs read. */
typedef struct Captured {
    const Path *p;
    Map seen;
    VEC(Value *) list;
} Captured;

static void capture(Value *v, void *captured)
{
    Captured *c = captured;
    if (!is_live(c->p, v) || !type_is_float(v->type) || map_get(&c->seen, v))
        return;
    map_put(&c->seen, v, v);
    vec_push(&c->list, v);
}

static void capture_all(Graph *g, void *captured)
{
    for (Node *m = g->first; m; m = m->next)
        each_read(m, capture, captured);
    for (int i = 0; i < g->out.n; i++)
        capture(g->out.at[i], captured);
}

typedef struct Liveness {
    const Path *p;
    bool live;
} Liveness;

static void look_at(Value *v, void *liveness)
{
    Liveness *l = liveness;
    l->live |= is_live(l->p, v);
}

/* Marks what is live in g. */
static void mark_live(Path *q, const Graph *g)
{
    for (Node *m = g->first; m; m = m->next) {
        Liveness l = {.p = q};
        each_read(m, look_at, &l);
        for (int i = 0; l.live && i < m->n_out; i++)
            if (m->out[i])
                map_put(&q->live, m->out[i], m);
    }
}

/* Which of the states that Loop m carries count: they start live, or become so in some turn. */
static bool *live_states(const Path *p, Node *m)
{
    const Graph *g = node_attr(m, "body")->g;
    Path q = {.outer = p};
    int carried = m->n_in - 2;
    bool *live = NEWS(bool, carried + 1);
    for (bool more = true; more;) {
        more = false;
        mark_live(&q, g);
        for (int i = 0; i < carried; i++)
            if (!live[i] && type_is_float(m->in[i + 2]->type) &&
                (is_live(p, m->in[i + 2]) || is_live(&q, g->out.at[i + 1]))) {
                map_put(&q.live, g->in.at[i + 2], m);
                live[i] = more = true;
            }
    }
    return live;
}

/* ---- If ------------------------------------------------------------------------------------------------------------ */

/* d, which is what output v of a graph counts, unless v does not. */
static void seed(Path *q, Value *v, Value *d)
{
    v = now(q, v);
    if (!d || !is_live(q, v) || !type_is_float(v->type))
        return;
    if (d->shape->rank >= 0 && !shape_same(*d->shape, *v->shape)) /* that of both branches */
        d = reshape_like(q->n, d, v);
    count_back(q, v, d);
}

/* What v counts, in the shape of `like`. */
static Value *counted(const Path *q, Value *v, Value *like)
{
    Value *d = map_get(&q->back, v);
    return d ? reshape_like(q->n, d, like) : zeros_like(q->n, like);
}

static Value *count_of(const Path *p, const Node *m, int o) { return out(m, o) ? map_get(&p->back, m->out[o]) : NULL; }

/* What the values count when this branch is taken. */
static Graph *branch_back(const Path *p, const Node *m, const Graph *g, Node *owner, const Captured *of)
{
    Path q;
    enter(&q, p, owner, g);
    for (Node *b = g->first; b; b = b->next)
        go(&q, b);
    for (int i = 0; i < g->out.n; i++)
        seed(&q, g->out.at[i], count_of(p, m, i));
    go_back(&q);
    for (int i = 0; i < of->list.n; i++)
        graph_add_output(q.n->graph, counted(&q, of->list.at[i], of->list.at[i]));
    return end_graph(q.n);
}

static void if_back(Path *p, Node *m, const Captured *of)
{
    static const char *const branches[] = {"then_branch", "else_branch"};
    Node *b = make_node(p->n, "If", 1, &m->in[0], of->list.n);
    for (int k = 0; k < 2; k++) {
        Graph *g = branch_back(p, m, node_attr(m, branches[k])->g, b, of);
        attr_set(b, (Attr){.name = name(branches[k]), .type = A_GRAPH, .g = g});
    }
    for (int i = 0; i < of->list.n; i++)
        count_back(p, of->list.at[i], b->out[i]);
}

/* ---- Loop ---------------------------------------------------------------------------------------------------------- */

/* Output k of Loop m, which nobody had asked for. */
static Value *add_result(Node *m, int k)
{
    if (k >= m->n_out) {
        Value **all = NEWS(Value *, k + 1);
        memcpy(all, m->out, sizeof *all * (size_t)m->n_out);
        m->out = all;
        m->n_out = k + 1;
    }
    m->out[k] = value_new(m->graph, NULL);
    m->out[k]->def = m;
    m->out[k]->def_i = k;
    return m->out[k];
}

/* So many turns, as Loop takes them. */
static Value *turns_wanted(Node *n, Dim turns) { return make(n, "Squeeze", 1, make_dims(n, 1, &turns)); }

/* What the body of every Loop begins with: the turn, and that it is one. */
static void add_turn(Graph *g)
{
    add_input(g, NULL, I64, shape_list(0));
    add_input(g, NULL, B8, shape_list(0));
}

Node *loop_begin(Node *n, Dim turns, int states, Value *const *from)
{
    Value **in = NEWS(Value *, states + 2);
    in[0] = turns_wanted(n, turns);
    memcpy(in + 2, from, sizeof *from * (size_t)states);
    Node *loop = make_node(n, "Loop", states + 2, in, states), *end = begin_graph(loop, n, n->graph);
    add_turn(end->graph);
    for (int i = 0; i < states; i++)
        vec_push(&end->graph->in, value_new(end->graph, NULL));
    return end;
}

Node *loop_end(Node *end, int k, Value *const *of)
{
    Graph *g = end_graph(end);
    Node *loop = g->owner;
    graph_add_output(g, g->in.at[1]);
    for (int i = 0; i < k; i++) {
        graph_add_output(g, of[i]);
        if (i >= loop->n_out)
            add_result(loop, i);
    }
    attr_set(loop, (Attr){.name = name("body"), .type = A_GRAPH, .g = g});
    return loop;
}

/* Input i of the body at the beginning of every turn, which Loop m gives from now on. */
static Value *kept(Node *m, int i)
{
    Graph *g = node_attr(m, "body")->g;
    int k = m->n_in - 2;
    while (k < g->out.n - 1 && g->out.at[k + 1] != g->in.at[i])
        k++;
    if (k == g->out.n - 1)
        graph_add_output(g, g->in.at[i]);
    if (!out(m, k)) {
        add_result(m, k);
        infer_node(m);
    }
    return m->out[k];
}

/* The Loop b goes back through the turns of Loop m. It carries what the states count, and what the captured values have
 * counted so far. Of a captured value that is read in slices it gives what each of them counts. */
typedef struct LoopBack {
    Path *p, q; /* around m; through b's body */
    Node *m, *b;
    Graph *g;    /* m's body */
    bool *live;  /* of m's states: it counts */
    Dim turns;   /* that m made */
    Value *turn; /* of m, that b goes back through */
    Values in;   /* of b */
    Values of;   /* that count what b carries */
} LoopBack;

/* b carries one more value, what x counts, from `first` on. Returns its body's input. */
static Value *carry(LoopBack *l, Value *x, Value *first)
{
    vec_push(&l->in, first);
    vec_push(&l->of, x);
    return add_input(l->q.n->graph, NULL, x->type, *x->shape);
}

/* The turn of m starts with what it started with. */
static void restore(LoopBack *l)
{
    for (int i = 0; i < l->g->in.n; i++) {
        Value *old = l->g->in.at[i], *v;
        if (!old->uses.n)
            continue;
        if (i == 1)
            v = make_scalar(l->q.n, B8, 1);
        else
            bound_like(v = inferred(make(l->q.n, "Gather", 2, kept(l->m, i), l->turn)), old);
        map_put(&l->q.now, old, v);
        if (i > 1 && l->live[i - 2])
            map_put(&l->q.live, v, l->m);
    }
}

/* The turn of m that comes now. */
static void find_turn(LoopBack *l)
{
    Dim last = dim_sub(l->turns, D(1));
    Value *v = inferred(make(l->q.n, "Squeeze", 1, make_dims(l->q.n, 1, &last)));
    l->turn = inferred(make(l->q.n, "Sub", 2, v, l->q.n->graph->in.at[0]));
}

/* What m's scan outputs count in this turn, and its states after it. */
static void seed_turn(LoopBack *l)
{
    int carried = l->m->n_in - 2, at = 2;
    for (int i = 0; i < l->g->out.n - 1; i++) {
        Value *d = count_of(l->p, l->m, i);
        if (i < carried)
            d = l->live[i] ? l->q.n->graph->in.at[at++] : NULL;
        else if (d)
            d = make(l->q.n, "Gather", 2, d, l->turn);
        seed(&l->q, l->g->out.at[i + 1], d);
    }
}

/* Makes b, which carries what m's states count. */
static void begin_back(LoopBack *l)
{
    Node *n = l->p->n;
    l->b = make_node(n, "Loop", 0, NULL, 0);
    enter(&l->q, l->p, l->b, l->g);
    l->q.turns = true;
    vec_push(&l->in, turns_wanted(l->b, l->turns));
    vec_push(&l->in, NULL);
    add_turn(l->q.n->graph);
    for (int i = 0; i < l->m->n_in - 2; i++)
        if (l->live[i]) {
            Value *d = count_of(l->p, l->m, i), *x = l->m->in[i + 2];
            carry(l, x, d ? reshape_like(l->b, d, x) : zeros_like(l->b, x));
        }
}

/* What b's body gives: what all values count after one more turn, then what the slices of this turn count, and where they
 * are. */
static void end_back(LoopBack *l, const Captured *of)
{
    Path *q = &l->q;
    Graph *g = q->n->graph;
    int at = 2;
    graph_add_output(g, g->in.at[1]);
    for (int i = 0; i < l->m->n_in - 2; i++)
        if (l->live[i])
            graph_add_output(g, counted(q, now(q, l->g->in.at[i + 2]), g->in.at[at++]));
    for (int i = 0; i < of->list.n; i++) {
        Value *v = of->list.at[i];
        if (map_get(&q->back, v)) {
            Value *so_far = carry(l, v, zeros_like(l->b, v));
            graph_add_output(g, make(q->n, "Add", 2, so_far, counted(q, v, so_far)));
        }
    }
    for (int i = 0; i < q->slices.n; i++) {
        Value *y = q->slices.at[i]->out[0];
        graph_add_output(g, counted(q, y, y));
        graph_add_output(g, q->slices.at[i]->in[1]);
    }
    attr_set(l->b, (Attr){.name = name("body"), .type = A_GRAPH, .g = end_graph(q->n)});
    node_set_inputs(l->b, l->in.n, l->in.at);
}

/* What b gives in all turns for this value of its body. */
static Value *stacked(LoopBack *l, int k, const Value *v)
{
    Shape s = *v->shape;
    if (s.rank == MAX_RANK)
        fail(EXIT_MODEL, "Gradient keeps a loop's values of every turn: with more than %d dimensions", MAX_RANK);
    add_result(l->b, k);
    memmove(&s.dim[1], &s.dim[0], sizeof *s.dim * (size_t)s.rank++);
    s.dim[0] = l->turns;
    set_out(l->b, k, v->type, s);
    return l->b->out[k];
}

/* The slices that Gather m took, one in each turn, are one Gather of all of them. */
static void slices_back(LoopBack *l, Node *m, int k)
{
    Node *n = l->p->n;
    Value *d = stacked(l, k, m->out[0]), *at = stacked(l, k + 1, m->in[1]);
    Node *all = node_again(n, m, (Value *[]){m->in[0], at}, 2, 1);
    int64_t perm[MAX_RANK];
    int rank = m->in[0]->shape->rank, axis = attr_axis(m, "axis", rank);
    for (int i = 0; i < rank; i++)
        perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    infer_node(all);
    count_back(l->p, all->out[0], transpose(n, d, rank, perm));
    back_through(l->p, all, 0);
}

bool put_off(Path *p, Node *m)
{
    if (!p->turns || strcmp(m->op->name, "Gather") || m->in[1]->shape->rank || m->in[0]->graph == p->n->graph ||
        m->in[1]->graph != p->n->graph || !is_live(p, m->in[0]))
        return false;
    if (map_get(&p->back, m->out[0]))
        vec_push(&p->slices, m);
    return true;
}

static void loop_back(Path *p, Node *m, const Captured *of)
{
    LoopBack l = {.p = p, .m = m, .g = node_attr(m, "body")->g, .live = live_states(p, m)};
    l.turns = kept(m, 0)->shape->dim[0];
    begin_back(&l);
    find_turn(&l);
    restore(&l);
    for (Node *b = l.g->first; b; b = b->next)
        go(&l.q, b);
    seed_turn(&l);
    go_back(&l.q);
    end_back(&l, of);
    int k = 0;
    for (; k < l.of.n; k++)
        count_back(p, l.of.at[k], add_result(l.b, k));
    for (int i = 0; i < l.q.slices.n; i++, k += 2)
        slices_back(&l, l.q.slices.at[i], k);
}

void control_back(Path *p, Node *m)
{
    bool counts = false;
    for (int o = 0; o < m->n_out; o++)
        counts |= count_of(p, m, o) != NULL;
    if (!counts)
        return;
    Captured of = {.p = p};
    node_each_graph(m, capture_all, &of);
    if (strcmp(m->op->name, "If"))
        loop_back(p, m, &of);
    else
        if_back(p, m, &of);
}
