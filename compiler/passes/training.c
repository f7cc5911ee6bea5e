/* training.c - join: with --training, the model's graph becomes a list of entry points, each a node with a graph:
 * initialise (the initialization graphs), a step per training information (the model's graph, then the algorithm), and
 * run (the model's graph). State variables, the initializers that a binding changes, become inputs.
 * Requires: checked, with names bound. Leaves: m->entries and m->states. */
#include <string.h>

#include "base/options.h"
#include "passes/passes.h"

typedef struct Joiner {
    Model *m;
    Graph *main;   /* as in the file */
    Map state;     /* name -> Variable */
    Map constants; /* Value of the file -> its copy, of initializers that are not state */
} Joiner;

/* ---- state ------------------------------------------------------------------------------------------------------- */

static Tensor *initial(const Value *v) { return v->data ? v->data : v->fallback; }

static bool is_same_tensor(const Tensor *a, const Tensor *b)
{
    bool same = a->type == b->type && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->dim[i] == b->dim[i];
    return same && !memcmp(tensor_data(a), tensor_data(b), tensor_size(a));
}

static Value *copy_constant(Graph *g, Value *v)
{
    Value *w = value_const(g, initial(v));
    w->name = v->name;
    w->desc = v->desc;
    w->data->pinned = true;
    return w;
}

/* The initializer of this name in g; NULL: none. */
static Value *initializer(const Graph *g, Name n)
{
    Value *v = g ? map_get(&g->scope, n) : NULL;
    return v && !v->def && initial(v) ? v : NULL;
}

static void add_state(Joiner *j, const Binding *b, const Training *t)
{
    Value *v = initializer(j->main, b->key);
    v = v ? v : initializer(t->algorithm, b->key);
    if (map_get(&j->state, b->key) || !v)
        return;
    if (v->type == STR || v->type == C64 || v->type == C128) {
        error_at(b->path, "TRN-18", "'%s' is %s, which is not supported as state", printable(b->key),
                 type_onnx(v->type));
        return;
    }
    if (v->fallback)
        warn_at(b->path, "TRN-26", "'%s' is trained: it is no input with --training", printable(b->key));
    Variable *s = NEW_COPY(
        (Variable){.name = b->key, .start = copy_constant(j->m->graph, v), .bytes = (int64_t)tensor_size(initial(v))});
    map_put(&j->state, b->key, s);
    vec_push(&j->m->states, s);
}

/* Equal names in several algorithms are one state variable: they must start with the same value. */
static void check_shared(const Joiner *j)
{
    for (int i = 0; i < j->m->states.n; i++)
        EACH_AT (t, j->m->training) {
            const Variable *s = j->m->states.at[i];
            const Value *v = initializer(t->algorithm, s->name);
            if (v && !is_same_tensor(initial(v), s->start->data))
                error_at(t->algorithm->path, "TRN-20",
                         "'%s' is a state variable of another algorithm, too, where it starts with another value",
                         printable(s->name));
        }
}

static void find_states(Joiner *j)
{
    EACH_AT (t, j->m->training) {
        for (int k = 0; k < t->starts.n; k++)
            add_state(j, &t->starts.at[k], t);
        for (int k = 0; k < t->updates.n; k++)
            add_state(j, &t->updates.at[k], t);
    }
    check_shared(j);
    stop_on_errors();
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

static Entry *add_entry(Joiner *j, int kind, int index)
{
    Graph *top = j->m->graph;
    Node *n = node_new(top, "onnxcc.Entry", 0, NULL, 0);
    Graph *g = NEW(Graph);
    Entry *e = NEW(Entry);
    *g = (Graph){.name = j->main->name, .model = j->m, .parent = top, .owner = n, .path = j->main->path, .entry = e};
    e->kind = kind;
    e->index = index;
    e->graph = g;
    for (int i = 0; i < j->m->states.n; i++)
        vec_push(&e->state, NULL);
    attr_set(n, (Attr){.name = name("entry"), .type = A_GRAPH, .g = g});
    node_insert(n, NULL);
    vec_push(&j->m->entries, e);
    return e;
}

/* The present value of state variable s in e: an input. */
static Value *state_value(Model *m, Entry *e, Variable *s)
{
    int i = 0;
    while (m->states.at[i] != s)
        i++;
    if (e->state.at[i])
        return e->state.at[i];
    Value *v = value_new(m->graph, s->name);
    v->type = s->start->type;
    v->shape = s->start->shape;
    v->state = s;
    v->input = m->graph->in.n;
    vec_push(&m->graph->in, v);
    return e->state.at[i] = v;
}

/* The caller's input of e that v of the file is. */
static Value *input_value(Joiner *j, Entry *e, const Value *v)
{
    Value *w = value_new(j->m->graph, v->name);
    w->type = v->type;
    w->form = v->form;
    w->shape = v->shape;
    w->desc = v->desc;
    w->fallback = v->fallback;
    w->default_only = v->default_only;
    vec_push(&e->in, w);
    vec_push(&j->m->graph->in, w);
    if (v->form != TENSOR)
        error_value(v, "ARG-12", "inputs that are not tensors are not supported with --training");
    return w;
}

/* Appends to e a graph of the file; its outputs remain to be added. */
static void append(Joiner *j, Entry *e, Graph *from, Map *values)
{
    EACH_OF (x, from->in)
        if (!map_get(&j->state, x->name))
            map_put(values, x, input_value(j, e, x));
    for (int i = 0; i < from->init.n; i++) {
        Value *v = from->init.at[i], *w = map_get(&j->constants, v);
        Variable *s = map_get(&j->state, v->name);
        if (s && (from == j->main || from->parent))
            w = state_value(j->m, e, s);
        else if (map_get(values, v))
            continue;
        else if (!w)
            map_put(&j->constants, v, w = copy_constant(j->m->graph, v));
        map_put(values, v, w);
    }
    graph_append(e->graph, from, values);
}

static bool is_assigned(const Training *t, Name output)
{
    for (int i = 0; t && i < t->updates.n; i++)
        if (t->updates.at[i].value == output)
            return true;
    return false;
}

static void add_outputs(Entry *e, const Graph *from, const Training *t, const Map *values)
{
    EACH_OF (v, from->out) {
        if (is_assigned(t, v->name))
            continue;
        graph_add_output(e->graph, map_get(values, v));
        vec_push(&e->out, v->name);
    }
}

/* The output of this name of `from`, or of the model's graph; NULL: none. */
static Value *output_named(const Joiner *j, const Graph *from, Name n)
{
    for (int k = 0; k < 2; k++) {
        const Graph *g = k ? j->main : from;
        EACH_OF (v, g->out)
            if (v->name == n)
                return v;
    }
    return NULL;
}

/* v, or a copy of it if no node computes v: a new value of a state variable must be computed. */
static Value *computed(Graph *g, Value *v)
{
    if (v->def)
        return v;
    Node *n = node_new(g, "onnxcc.Copy", 1, &v, 1);
    node_insert(n, NULL);
    n->out[0]->name = v->name;
    return n->out[0];
}

/* Makes an output of e that is assigned to the binding's state variable. It replaces an earlier one for the same
 * variable. */
static void add_update(Joiner *j, Entry *e, const Graph *from, const Binding *b, const Map *values)
{
    Value *v = computed(e->graph, map_get(values, output_named(j, from, b->value)));
    (void)state_value(j->m, e, map_get(&j->state, b->key));
    for (int i = 0; i < e->updates.n; i++)
        if (e->updates.at[i].key == b->key) {
            e->updates.at[i] = *b;
            graph_set_output(e->graph, e->out.n + i, v);
            return;
        }
    vec_push(&e->updates, *b);
    graph_add_output(e->graph, v);
}

/* Initialization graphs do not read the state: all are computed; of several values for one variable the last is
 * assigned. */
static void join_init(Joiner *j)
{
    Entry *e = add_entry(j, ENTRY_INIT, 0);
    EACH_AT (t, j->m->training) {
        Map values = {0};
        if (t->init)
            append(j, e, t->init, &values);
        for (int k = 0; k < t->starts.n; k++)
            add_update(j, e, t->init, &t->starts.at[k], &values);
        map_free(&values);
    }
}

static void join_step(Joiner *j, int i)
{
    const Training *t = &j->m->training.at[i];
    Entry *e = add_entry(j, ENTRY_STEP, i);
    Map values = {0};
    if (!t->algorithm)
        return;
    append(j, e, j->main, &values);
    append(j, e, t->algorithm, &values);
    add_outputs(e, j->main, t, &values);
    add_outputs(e, t->algorithm, t, &values);
    for (int k = 0; k < t->updates.n; k++)
        add_update(j, e, t->algorithm, &t->updates.at[k], &values);
    map_free(&values);
}

static void join_run(Joiner *j)
{
    Entry *e = add_entry(j, ENTRY_RUN, 0);
    Map values = {0};
    append(j, e, j->main, &values);
    add_outputs(e, j->main, NULL, &values);
    map_free(&values);
}

void join_training(Model *m)
{
    if (!opt()->training)
        return;
    if (!m->training.n) {
        error_at("training_info", "TRN-27", "--training: the model has no training information");
        stop_on_errors();
    }
    Joiner j = {.m = m, .main = m->graph};
    m->graph = NEW(Graph);
    *m->graph = (Graph){.name = j.main->name, .model = m, .path = j.main->path};
    find_states(&j);
    join_init(&j);
    for (int i = 0; i < m->training.n; i++)
        join_step(&j, i);
    join_run(&j);
    for (int i = 0; i < m->graph->in.n; i++)
        m->graph->in.at[i]->input = i;
    m->declared.n = 0;
    map_free(&j.state);
    map_free(&j.constants);
    stop_on_errors();
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static bool is_state(const Model *m, Name n)
{
    for (int i = 0; i < m->states.n; i++)
        if (m->states.at[i]->name == n)
            return true;
    return false;
}

/* The variable: the seed, and the number of calls that changed the state. */
static Variable *generator_variable(Model *m)
{
    Text t = {0};
    const int64_t two = 2;
    EACH_OF (known, m->states)
        if (known->generator)
            return known;
    text_put(&t, "random");
    while (is_state(m, name(t.s)))
        text_put(&t, "_");
    Value *start = value_const(m->graph, tensor_new(U64, 1, &two));
    start->data->pinned = true;
    Variable *s = NEW_COPY((Variable){.name = name(t.s), .start = start, .bytes = 16, .generator = true});
    vec_push(&m->states, s);
    for (int i = 0; i < m->entries.n; i++)
        vec_push(&m->entries.at[i]->state, NULL);
    return s;
}

Value *training_generator(Graph *g)
{
    while (g && !g->entry)
        g = g->parent;
    if (!g)
        return NULL;
    return state_value(g->model, g->entry, generator_variable(g->model));
}
