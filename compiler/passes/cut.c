/* cut.c - cut: tensors of the model, by their names in the file, become outputs (--tap, --until) or inputs (--from);
 * nodes and inputs that nothing needs any more are removed.
 * Requires: a checked graph, before inference. Leaves: the same, with another interface. */
#include "base/options.h"
#include "ir/provenance.h"
#include "passes/passes.h"
#include "read/read.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The graph inside of g, or in a node of it, that has a value of this name; NULL: none. */
static const Graph *nested_with(const Graph *g, Name n)
{
    EACH_NODE (node, g)
        if (node->graph != g && map_get(&node->graph->scope, n))
            return node->graph;
    return NULL;
}

static bool report_nested(const Model *m, Name n, const char *option)
{
    const Graph *g = nested_with(m->graph, n);
    if (g)
        error_node(g->owner, "ARG-11",
                   "--%s %s: the tensor is inside of this node, where it may have many values in a run", option,
                   printable(n));
    for (int i = 0; !g && i < m->functions.n; i++) {
        const Function *f = m->functions.at[i];
        if (map_get(&f->body->scope, n) || (g = nested_with(f->body, n)) != NULL)
            return error_at(f->path, "ARG-11",
                            "--%s %s: the tensor is inside of the function %s, which may have many calls", option,
                            printable(n), printable(f->name)),
                   true;
    }
    return g != NULL;
}

/* The tensor that an option names: one that a node of the model's graph computes; NULL: reported. */
static Value *named_tensor(const Model *m, const char *tensor, const char *option)
{
    const Name n = name(tensor);
    Value *v = map_get(&m->graph->scope, n);
    if (v && v->def)
        return v;
    if (v)
        return error_null(value_place(v), "ARG-11", "--%s %s: no node computes it, it is %s of the model", option,
                          printable(n), v->data ? "a constant" : "an input");
    if (report_nested(m, n, option))
        return NULL;
    error_at("", "ARG-11", "--%s %s: the model has no tensor of this name", option, printable(n));
    suggest_value(m->graph, n);
    return NULL;
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

static void add_output(Model *m, Value *v)
{
    if (value_is_output(v))
        return;
    graph_add_output(m->graph, v);
    vec_push(&m->declared, v->name);
}

static void remove_outputs(Model *m)
{
    for (int i = 0; i < m->graph->out.n; i++)
        graph_set_output(m->graph, i, NULL);
    m->graph->out.n = m->declared.n = 0;
}

/* Sets of values and nodes that are marked during a walk. */
typedef struct Marked {
    Map map;
} Marked;

static bool is_marked(const Marked *marked, const void *p) { return map_get(&marked->map, p) != NULL; }
static void mark(Marked *marked, const void *p) { map_put(&marked->map, p, marked); }

typedef struct Inside {
    const Graph *outer;
    const Marked *marked;
    bool any;
} Inside;

static void find_marked(Graph *g, void *inside)
{
    Inside *s = inside;
    EACH_VALUE (v, g->out.at, g->out.n)
        s->any |= is_marked(s->marked, v);
    EACH_NODE (n, g)
        EACH_IN (v, n)
            s->any |= is_marked(s->marked, v);
}

/* Does n, or a graph in it, read a marked value? */
static bool reads_marked(const Node *n, const Marked *marked)
{
    Inside s = {n->graph, marked, false};
    EACH_IN (v, n)
        s.any |= is_marked(marked, v);
    node_each_graph(n, find_marked, &s);
    return s.any;
}

static void mark_outer(Graph *g, void *inside)
{
    Inside *s = inside;
    Marked *marked = (Marked *)(uintptr_t)s->marked;
    EACH_VALUE (v, g->out.at, g->out.n)
        mark(marked, v);
    EACH_NODE (n, g)
        EACH_IN (v, n)
            mark(marked, v);
}

/* Marks what the outputs of g need. */
static void mark_live(const Graph *g, Marked *live)
{
    EACH_VALUE (v, g->out.at, g->out.n)
        mark(live, v);
    for (const Node *n = g->last; n; n = n->prev) {
        bool any = false;
        EACH_OUT (v, n)
            any |= is_marked(live, v);
        if (!any)
            continue;
        mark(live, n);
        EACH_IN (v, n)
            mark(live, v);
        node_each_graph(n, mark_outer, &(Inside){g, live, false});
    }
}

/* Outputs for all live tensors that depend on an input: the others are constants. */
static void tap_all(Model *m)
{
    Marked live = {0}, computed = {0};
    Graph *g = m->graph;
    mark_live(g, &live);
    EACH_VALUE (v, g->in.at, g->in.n)
        mark(&computed, v);
    for (const Node *n = g->first; n; n = n->next) {
        if (!is_marked(&live, n) || !reads_marked(n, &computed))
            continue;
        EACH_OUT (v, n) {
            mark(&computed, v);
            if (is_marked(&live, v))
                add_output(m, v);
        }
    }
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

Value *cut_unknown(const Model *m, const char *tensor)
{
    Value *v = map_get(&m->graph->scope, name(tensor));
    const TypeDesc *d = v ? v->desc : NULL;
    return v && v->def && (!d || (d->form == TENSOR && (!d->elem || d->shape.rank < 0))) ? v : NULL;
}

static void make_input(Model *m, Value *v)
{
    Node *n = v->def;
    if (!v->desc || (v->desc->form == TENSOR && !v->desc->elem)) {
        error_value(v, "ARG-11", "--from %s: its type is not known", printable(v->name));
        note_help("the model can declare it in its graph's value_info");
        return;
    }
    Value *instead = value_new(m->graph, NULL);
    instead->def = n;
    instead->def_i = v->def_i;
    n->out[v->def_i] = instead;
    v->def = NULL;
    v->def_i = 0;
    vec_push(&m->graph->in, v);
}

/* Removes the nodes whose results nothing reads. */
static void remove_unread(Graph *g)
{
    Marked live = {0};
    mark_live(g, &live);
    for (Node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        if (is_marked(&live, n))
            continue;
        EACH_OUT (v, n)
            if (v->name)
                map_put(&g->scope, v->name, NULL);
        provenance_gone(n, "--until or --from leaves it out");
        node_free(n);
    }
}

/* v is not an input any more, and so not the origin of sizes; find_sizes sets other origins. */
static void forget_sizes(const Value *v)
{
    for (int i = 0; i < symbol_count(); i++) {
        struct Origin *from = &symbol_at(i)->origin;
        if (from->kind == ORIGIN_INPUT && from->value == v)
            *from = (struct Origin){0};
    }
}

static void find_sizes(Value *v)
{
    for (int k = 0; v->form == TENSOR && k < v->shape->rank; k++)
        if (symbol_of(v->shape->dim[k]))
            symbol_of_input(symbol_of(v->shape->dim[k]), v, k);
}

/* Removes the inputs of the model that were read before the cut (`used`) and are not read after it. */
static void renew_inputs(Graph *g, const Marked *used)
{
    int k = 0;
    for (int i = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        if (is_marked(used, v) && !v->uses.n)
            forget_sizes(v);
        else
            g->in.at[k++] = v;
    }
    g->in.n = k;
    for (int i = 0; i < k; i++) {
        Value *v = g->in.at[i];
        if (v->input < 0)
            input_declare(v);
        else
            find_sizes(v);
        v->input = i;
    }
}

/* ---- the stage --------------------------------------------------------------------------------------------------- */

static void replace_outputs(Model *m)
{
    VEC(Value *) found = {0};
    for (int i = 0; i < opt()->untils.n; i++)
        vec_push(&found, named_tensor(m, opt()->untils.at[i], "until"));
    stop_on_errors();
    remove_outputs(m);
    EACH_VALUE (v, found.at, found.n)
        add_output(m, v);
}

static void replace_inputs(Model *m)
{
    for (int i = 0; i < opt()->froms.n; i++) {
        Value *v = named_tensor(m, opt()->froms.at[i], "from");
        if (v && value_is_output(v))
            error_value(v, "ARG-11", "--from %s: it is an output", printable(v->name));
        else if (v)
            make_input(m, v);
    }
    stop_on_errors();
}

void cut_model(Model *m)
{
    Graph *g = m->graph;
    const int errors = error_count(); /* of earlier stages */
    Marked used = {0};
    EACH_VALUE (v, g->in.at, g->in.n)
        if (v->uses.n)
            mark(&used, v);
    if (opt()->untils.n)
        replace_outputs(m);
    if (opt()->froms.n)
        replace_inputs(m);
    for (int i = 0; i < opt()->taps.n; i++) {
        const bool all = !strcmp(opt()->taps.at[i], "all") && !map_get(&g->scope, name("all"));
        Value *v = all ? NULL : named_tensor(m, opt()->taps.at[i], "tap");
        if (v)
            add_output(m, v);
        if (all)
            tap_all(m);
    }
    stop_on_new_errors(errors);
    if (opt()->untils.n || opt()->froms.n) {
        remove_unread(g);
        renew_inputs(g, &used);
    }
}
