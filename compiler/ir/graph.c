/* graph.c - edits of the graph: values, nodes, their uses and attributes. */
#include "ir/graph.h"
#include "ir/schema.h"

/* ---- values with shared storage ---------------------------------------------------------------------------------- */

void value_share(Value *a, Value *b) { vec_push(&a->graph->model->shares, ((struct Share){a, b, NULL})); }

void value_carry(Value *state, Node *copy)
{
    vec_push(&state->graph->model->shares, ((struct Share){state, copy->out[0], copy}));
}

/* ---- values ---------------------------------------------------------------------------------------------- */

const struct Placement whole_storage;

Value *value_new(Graph *g, Name n)
{
    Value *v = NEW(Value);
    v->name = n;
    v->graph = g;
    v->shape = shape_keep((Shape){.rank = -1});
    v->input = -1;
    v->placement = &whole_storage;
    v->offset = -1;
    v->id = g->model ? g->model->n_values++ : 0;
    return v;
}

Value *value_const(Graph *g, Tensor *t)
{
    Value *v = value_new(g, NULL);
    v->data = t;
    v->type = t->type;
    v->shape = shape_keep(tensor_shape(t));
    return v;
}

void value_free(Value *v)
{
    Tensor *t = v->data;
    if (t && !t->pinned && !t->thunk && !t->owned && !t->copy)
        pool_free(t, sizeof *t);
    pool_free(v->uses.at, sizeof *v->uses.at * (size_t)v->uses.cap);
    pool_free(v, sizeof *v);
}

/* Values that lost a use or their definition and may have neither: values_free frees those when no code holds a
 * pointer. */
typedef struct MaybeDead {
    VEC(Value *) list;
    bool stay;
} MaybeDead;
PART(MaybeDead, dead)

static void value_lost_use(Value *v)
{
    const bool findable = v->name && v->graph->scope.cap; /* it may be looked up by name */
    if (v->uses.n || v->def || findable || v->pinned || v->maybe_dead || dead()->stay)
        return;
    v->maybe_dead = true;
    vec_push(&dead()->list, v);
}

void values_stay(void) { dead()->stay = true; }

void values_free(void)
{
    while (dead()->list.n) {
        Value *v = dead()->list.at[--dead()->list.n];
        v->maybe_dead = false;
        if (!v->uses.n && !v->def && !v->pinned && !dead()->stay)
            value_free(v);
    }
}

/* Records the index of a node's use in its value's list, so that removing one of many uses takes no search. */
static void use_at(Use u, int at)
{
    if (u.node)
        u.node->use[u.i] = at;
}

static void use_add(Value *v, Use u)
{
    if (!v)
        return;
    use_at(u, v->uses.n);
    vec_push(&v->uses, u);
}

/* Moves the last use to the place of the removed one. */
static void use_remove(Value *v, Use u)
{
    if (!v)
        return;
    int at = u.node ? u.node->use[u.i] : 0;
    while (!u.node && (v->uses.at[at].node || v->uses.at[at].graph != u.graph || v->uses.at[at].i != u.i))
        at++;
    Use last = v->uses.at[--v->uses.n];
    v->uses.at[at] = last;
    use_at(last, at);
    if (v->data && !v->name) /* one of the compiler's constants */
        value_lost_use(v);
}

int64_t max_bytes(const Value *v) { return (int64_t)type_bytes(v->type, shape_high(*v->shape)); }

Value *value_storage(const Value *v)
{
    while (v->storage)
        v = v->storage;
    return (Value *)(uintptr_t)v;
}

Dim value_storage_offset(const Value *v)
{
    Dim at = D(0);
    for (; v->storage; v = v->storage)
        at = dim_add(at, v->placement->offset);
    return at;
}

bool graph_is_entry(const Graph *g) { return !g->parent || g->entry; }

bool value_is_output(const Value *v)
{
    for (int i = 0; i < v->uses.n; i++)
        if (!v->uses.at[i].node)
            return true;
    return false;
}

void value_replace(Value *old, Value *by)
{
    if (old == by)
        return;
    if (!by->scale && by->type == old->type)
        by->scale = old->scale;
    for (int i = 0; i < old->uses.n; i++) {
        Use u = old->uses.at[i];
        if (u.node)
            u.node->in[u.i] = by;
        else
            u.graph->out.at[u.i] = by;
        use_add(by, u);
    }
    old->uses.n = 0;
    symbols_move(old, by);
}

/* ---- nodes ----------------------------------------------------------------------------------------------- */

const char *node_path(const Node *n)
{
    const Source *s = n->source && n->source->call ? n->source->call : n->source;
    return s && s->within ? text_format("%s.node[%d]", s->within, s->index) : "a node";
}

Name node_op(const Node *n)
{
    const Name given = n->source ? n->source->op_type : name("?");
    return n->op && !(n->op->flags & CUSTOM) ? name(n->op->name) : given;
}

void node_inputs(Node *n, int n_in)
{
    n->n_in = n_in;
    n->in = NEWS(Value *, n_in);
    n->use = NEWS(int, n_in);
}

Node *node_new(Graph *g, const char *op, int n_in, Value **in, int n_out)
{
    Node *n = NEW(Node);
    n->graph = g;
    const char *dot = strrchr(op, '.'); /* between a domain, onnxcc's own or another one, and a name */
    n->op = op_find(dot ? name_bytes(op, (size_t)(dot - op))->s : "", dot ? dot + 1 : op, INT64_MAX);
    if (!n->op)
        bug("no operator %s", op);
    n->name = name("");
    node_inputs(n, n_in);
    for (int i = 0; i < n_in; i++)
        node_set_in(n, i, in[i]);
    n->n_out = n_out;
    n->out = NEWS(Value *, n_out);
    for (int i = 0; i < n_out; i++)
        node_set_out(n, i, value_new(g, NULL));
    return n;
}

/* Are both nodes, of this source and this name, one of the model? Those without a source are known by their names. */
static bool is_one_node(const Source *a, Name a_name, const Source *b, Name b_name)
{
    return a && b ? a == b : a_name == b_name;
}

static void add_also(Node *by, const Source *source, Name name)
{
    if ((!source && (!name || !name->n)) || is_one_node(by->source, by->name, source, name))
        return;
    Also **at = &by->also;
    for (; *at; at = &(*at)->next)
        if (is_one_node((*at)->source, (*at)->name, source, name))
            return;
    *at = NEW(Also);
    **at = (Also){source, name, NULL};
}

void node_also(Node *by, const Node *n)
{
    add_also(by, n->source, n->name);
    for (const Also *a = n->also; a; a = a->next)
        add_also(by, a->source, a->name);
}

void node_insert(Node *n, Node *before)
{
    Graph *g = n->graph;
    n->next = before;
    n->prev = before ? before->prev : g->last;
    *(n->prev ? &n->prev->next : &g->first) = n;
    *(before ? &before->prev : &g->last) = n;
}

void node_set_in(Node *n, int i, Value *v)
{
    use_remove(n->in[i], (Use){n, NULL, i});
    n->in[i] = v;
    use_add(v, (Use){n, NULL, i});
}

Value *node_set_out(Node *n, int i, Value *v)
{
    v->def = n;
    v->def_i = i;
    return n->out[i] = v;
}

void node_set_inputs(Node *n, int n_in, Value *const *in)
{
    for (int i = 0; i < n->n_in; i++)
        node_set_in(n, i, NULL);
    node_inputs(n, n_in);
    for (int i = 0; i < n_in; i++)
        node_set_in(n, i, in[i]);
}

/* Removes n from its graph's list; its uses remain. */
static void unlink_node(Node *n)
{
    *(n->prev ? &n->prev->next : &n->graph->first) = n->next;
    *(n->next ? &n->next->prev : &n->graph->last) = n->prev;
    n->prev = n->next = NULL;
}

void node_move(Node *n, Node *before)
{
    unlink_node(n);
    n->graph = before->graph;
    EACH_OUT (v, n)
        v->graph = before->graph;
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].g)
            n->attr[i].g->parent = before->graph;
    node_insert(n, before);
}

void graph_add_output(Graph *g, Value *v)
{
    vec_push(&g->out, v);
    use_add(v, (Use){NULL, g, g->out.n - 1});
}

void graph_set_output(Graph *g, int i, Value *v)
{
    use_remove(g->out.at[i], (Use){NULL, g, i});
    g->out.at[i] = v;
    use_add(v, (Use){NULL, g, i});
}

void graph_set_outputs(Graph *g, int first, int n, Value *const *v)
{
    for (int i = 0, old = g->out.n; i < n || first + i < old; i++)
        if (first + i >= old)
            graph_add_output(g, v[i]);
        else
            graph_set_output(g, first + i, i < n ? v[i] : NULL);
    g->out.n = first + n;
}

static const Nested outside = {NULL, 0, -1};

/* The graph after `at` in n. */
static Nested next_nested(const Node *n, Nested at)
{
    for (at.i++; at.attr < n->n_attr; at.attr++, at.i = 0) {
        const Attr *a = &n->attr[at.attr];
        at.graph = a->type == A_GRAPHS && at.i < a->n ? a->graphs[at.i] : at.i ? NULL : a->g;
        if (at.graph)
            return at;
    }
    return outside;
}

static Graph *visited(Nested at)
{
    if (at.graph)
        at.graph->place = at;
    return at.graph;
}

Graph *nested_first(const Node *n) { return visited(next_nested(n, outside)); }
Graph *nested_next(const Node *n, const Graph *g) { return visited(next_nested(n, g->place)); }

/* The first node, in execution order, of n's graphs after `at`; n: they have none. */
static Node *first_nested(Node *n, Nested at)
{
    for (Graph *g; (g = visited(next_nested(n, at))) != NULL; at = g->place)
        if (g->first)
            return first_nested(g->first, outside);
    return n;
}

Node *node_first(const Graph *g) { return g->first ? first_nested(g->first, outside) : NULL; }

Node *node_after(const Node *n, const Graph *g)
{
    if (n->next)
        return first_nested(n->next, outside);
    return n->graph == g ? NULL : first_nested(n->graph->owner, n->graph->place);
}

static void remove_uses(Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        use_remove(n->in[i], (Use){n, NULL, i});
    EACH_NESTED (g, n) {
        for (Node *m = g->first; m; m = m->next)
            remove_uses(m);
        for (int i = 0; i < g->out.n; i++)
            use_remove(g->out.at[i], (Use){NULL, g, i});
    }
}

void node_remove(Node *n)
{
    remove_uses(n);
    unlink_node(n);
}

void graph_discard(Graph *g)
{
    while (g->last) {
        EACH_NESTED (inner, g->last)
            graph_discard(inner);
        node_remove(g->last);
    }
    for (int i = 0; i < g->out.n; i++)
        graph_set_output(g, i, NULL);
}

void node_to_end(Node *n)
{
    unlink_node(n);
    node_insert(n, NULL);
}

void node_free(Node *n)
{
    if (n->prev || n->next || n->graph->first == n)
        node_remove(n);
    if (n->pinned)
        return;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && (n->out[i]->def == n || !n->out[i]->def)) {
            n->out[i]->def = NULL;
            value_lost_use(n->out[i]);
        }
    pool_free(n->in, sizeof *n->in * (size_t)n->n_in);
    pool_free(n->use, sizeof *n->use * (size_t)n->n_in);
    pool_free(n->out, sizeof *n->out * (size_t)n->n_out);
    pool_free(n->attr, sizeof *n->attr * (size_t)n->n_attr);
    pool_free(n, sizeof *n);
}

/* ---- attributes ------------------------------------------------------------------------------------------- */

Attr *node_attr(const Node *n, const char *attr)
{
    for (int i = 0; i < n->n_attr; i++)
        if (name_is(n->attr[i].name, attr))
            return &n->attr[i];
    return NULL;
}

Graph *node_graph(const Node *n, const char *attr)
{
    const Attr *a = node_attr(n, attr);
    return a && a->type == A_GRAPH && !(n->op->flags & CUSTOM) ? a->g : NULL;
}

Attr *attr_named(Attr *list, int n, Name name)
{
    for (int i = 0; i < n; i++)
        if (list[i].name == name)
            return &list[i];
    return NULL;
}

void attr_set(Node *n, Attr a)
{
    Attr *old = attr_named(n->attr, n->n_attr, a.name);
    if (!old) {
        n->attr = pool_grow(n->attr, sizeof a * (size_t)n->n_attr, sizeof a * (size_t)(n->n_attr + 1));
        old = &n->attr[n->n_attr++];
    }
    *old = a;
}

void attr_set_int(Node *n, const char *attr, int64_t v)
{
    attr_set(n, (Attr){.name = name(attr), .type = A_INT, .i = v});
}

void attr_set_ints(Node *n, const char *attr, int k, const int64_t *v)
{
    int64_t *copy = NEWS(int64_t, k);
    if (k)
        memcpy(copy, v, sizeof *v * (size_t)k);
    attr_set(n, (Attr){.name = name(attr), .type = A_INTS, .n = k, .ints = copy});
}

void attr_set_float(Node *n, const char *attr, double v)
{
    attr_set(n, (Attr){.name = name(attr), .type = A_FLOAT, .f = (float)v});
}

void attr_set_string(Node *n, const char *attr, const char *v)
{
    attr_set(n, (Attr){.name = name(attr), .type = A_STRING, .s = name(v)});
}

/* ---- messages: where in the model ------------------------------------------------------------------------------ */

/* For a node from an expansion or a function's body: the place of the model's own node. */
const char *node_place(const Node *n)
{
    const Source *s = n->source && n->source->call ? n->source->call : n->source;
    Name has = s ? s->name : n->name;
    Name op = s ? s->op_type : node_op(n);
    Text t = {0};
    text_put(&t, "%s", node_path(n));
    if (has && has->n)
        text_put(&t, " \"%s\"", printable(has));
    text_put(&t, " (%s", printable(op));
    if (node_op(n) != op)
        text_put(&t, ", in its %s", printable(node_op(n)));
    text_put(&t, ")");
    return t.s;
}

const char *value_place(const Value *v)
{
    Text t = {0};
    const char *what = v->def ? "output" : v->input >= 0 || v->in_state ? "input" : v->data ? "initializer" : "value";
    text_put(&t, "%s \"%s\"", what, printable(v->name));
    if (v->def)
        text_put(&t, " of %s", node_place(v->def));
    else if (v->graph && v->graph->path)
        text_put(&t, " of %s", v->graph->path);
    return t.s;
}

typedef const Node *Work;
PART(Work, work)

static const char *work_place(void) { return node_place(*work()); }

const Node *node_in_work(const Node *n)
{
    const Node *before = *work();
    *work() = n;
    error_set_where(n ? work_place : NULL);
    return before;
}
