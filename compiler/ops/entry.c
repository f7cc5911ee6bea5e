/* entry.c - onnxcc.Entry, an entry point of a training model (training.c): a graph that C calls. */
#include "ir/call.h"
#include "ir/schema.h"
#include "passes/alternatives.h"
#include "passes/passes.h"

static Graph *body_of(const Node *n) { return node_attr(n, "entry")->g; }

/* The index of the state variable that b assigns to. */
static int variable_of(const Model *m, const Binding *b)
{
    int k = 0;
    while (m->states.at[k]->name != b->key)
        k++;
    return k;
}

/* Checks that v, which b binds, has the type and shape of the state variable; sizes known only at run time are checked
 * then. */
static void check_update(Value *v, const Binding *b)
{
    const Model *m = v->graph->model;
    const Value *start = m->states.at[variable_of(m, b)]->start;
    if (v->poisoned)
        return;
    bool fits = v->type == start->type && v->shape->rank == start->shape->rank;
    for (int k = 0; fits && k < v->shape->rank; k++)
        fits = !dim_is(dim_eq_expr(v->shape->dim[k], start->shape->dim[k]), 0);
    if (!fits) {
        error_at(b->path, "TRN-18", "'%s' is %s %s, but '%s', which is bound to it, is %s %s", printable(b->key),
                 type_onnx(start->type), shape_text(*start->shape), printable(b->value), type_onnx(v->type),
                 shape_text(*v->shape));
        return;
    }
    for (int k = 0; v->def && k < v->shape->rank; k++)
        assume_dim(v->def, v->shape->dim[k], start->shape->dim[k]);
    v->shape = start->shape;
}

/* Adds the update by which the next call draws other random numbers, if this one draws any. */
static void advance_generator(Graph *g)
{
    Entry *e = g->entry;
    const int k = g->model->states.n - 1;
    Variable *s = k >= 0 ? g->model->states.at[k] : NULL;
    if (!s || !s->generator || !e->state.at[k] || e->kind == ENTRY_RUN)
        return;
    const int64_t two = 2, step[] = {0, 1};
    Tensor *one = tensor_new(U64, 1, &two);
    memcpy((void *)(uintptr_t)one->data, step, sizeof step);
    Node *n = node_new(g, "Add", 2, (Value *[]){e->state.at[k], value_const(g, one)}, 1);
    node_insert(n, NULL);
    infer_node(n);
    n->out[0]->name = s->name;
    vec_push(&e->updates, ((Binding){.key = s->name, .value = s->name, .path = g->path}));
    graph_add_output(g, n->out[0]);
}

static void entry_infer(Node *n)
{
    Graph *g = body_of(n);
    const Entry *e = g->entry;
    infer_graph(g);
    advance_generator(g);
    for (int i = 0; i < g->out.n; i++)
        alternatives_choose(g, i, -1);
    for (int i = 0; i < g->out.n; i++)
        if (g->out.at[i]->form != TENSOR && !g->out.at[i]->poisoned)
            error_value(g->out.at[i], "ARG-12", "outputs that are not tensors are not supported with --training");
        else if (i >= e->out.n)
            check_update(g->out.at[i], &e->updates.at[i - e->out.n]);
}

/* Copies v, output of g, to state variable k after the last node, unless it is computed there. */
static void assign(Graph *g, Value *v, int k)
{
    Node *copy = node_new(g, "onnxcc.Copy", 1, &v, 1);
    v->state = g->model->states.at[k];
    copy->out[0]->state = v->state;
    copy->out[0]->name = v->state->name;
    node_insert(copy, NULL);
    infer_same(copy);
    bind_node(copy);
    value_carry(g->entry->state.at[k], copy);
}

/* Outputs that are not computed in the graph are copied, so that no new value of a state variable is the present one of
 * another. */
static void entry_bind(Node *n)
{
    Graph *g = body_of(n);
    const Entry *e = g->entry;
    copy_outputs(g, 0);
    for (int i = 0; i < e->out.n; i++)
        g->out.at[i]->name = e->out.at[i];
    for (int i = 0; i < e->updates.n; i++)
        assign(g, g->out.at[e->out.n + i], variable_of(g->model, &e->updates.at[i]));
}

static const Op entry_ops[] = {
    {"Entry", 1, "", NULL, "entry:graph", entry_infer, entry_bind, .flags = CONTROL | NOFOLD | RANDOM | STOPS,
     .domain = "onnxcc"},
};
OPS(entry_ops);
