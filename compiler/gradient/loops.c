/* loops.c - new nested graphs, and loops of them. */
#include "gradient.h"

Node *begin_graph(Node *owner, const Node *n, const Graph *like)
{
    Graph *g = NEW_COPY(
        (Graph){.name = like->name, .model = like->model, .parent = owner->graph, .owner = owner, .path = like->path});
    Node *end = node_new(g, "onnxcc.Start", 0, NULL, 0);
    end->op = n->op; /* for messages */
    end->source = n->source;
    node_insert(end, NULL);
    return end;
}

Graph *end_graph(Node *end)
{
    node_remove(end);
    return end->graph;
}

Value *add_input(Graph *g, Name name, Type t, Shape s)
{
    Value *v = value_new(g, name);
    v->type = t;
    v->shape = shape_keep(s);
    vec_push(&g->in, v);
    return v;
}

Value *add_result(Node *m, int k)
{
    if (k >= m->n_out) {
        Value **all = NEWS(Value *, k + 1);
        memcpy(all, m->out, sizeof *all * (size_t)m->n_out);
        m->out = all;
        m->n_out = k + 1;
    }
    return node_set_out(m, k, value_new(m->graph, NULL));
}

Value *trip_count(Node *n, Dim trips) { return make(n, "Squeeze", 1, make_dims(n, 1, &trips)); }

void add_iteration(Graph *g)
{
    add_input(g, NULL, I64, shape_list(0));
    add_input(g, NULL, B8, shape_list(0));
}

Node *loop_begin(Node *n, Dim trips, int states, Value *const *from)
{
    Value **in = NEWS(Value *, states + 2);
    in[0] = trip_count(n, trips);
    memcpy(in + 2, from, sizeof *from * (size_t)states);
    Node *loop = make_node(n, "Loop", states + 2, in, states), *end = begin_graph(loop, n, n->graph);
    add_iteration(end->graph);
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
