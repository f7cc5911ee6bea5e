/* cut.c - cut: tensors of the model, by their names in the file, become outputs (--tap, --until) or inputs (--from);
 * nodes and inputs that nothing needs any more are removed, and without --training its graphs.
 * Requires: a checked graph, before inference. Leaves: the same, with another interface. */
#include "base/options.h"
#include "ir/provenance.h"
#include "passes/passes.h"
#include "passes/taps.h"
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
    const Function *f = NULL;
    for (int i = 0; !g && !f && i < m->functions.n; i++)
        if (map_get(&m->functions.at[i]->body->scope, n) || nested_with(m->functions.at[i]->body, n))
            f = m->functions.at[i];
    const char *const what = strcmp(option, "tap") ? "it may have many values in a run" : "no node computes it";
    if (g)
        error_node(g->owner, "ARG-11", "--%s %s: the tensor is inside of this node, where %s", option, printable(n),
                   what);
    if (f)
        error_at(f->path, "ARG-11", "--%s %s: the tensor is inside of the function %s, where %s", option, printable(n),
                 printable(f->name), what);
    return g || f;
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

/* Does n, or a graph in it, read a marked value? */
static bool reads_marked(const Node *n, const Marked *marked)
{
    bool any = false;
    EACH_IN (v, n)
        any |= is_marked(marked, v);
    EACH_NESTED (g, n) {
        EACH_VALUE (v, g->out.at, g->out.n)
            any |= is_marked(marked, v);
        for (const Node *m = g->first; m && !any; m = m->next)
            any = reads_marked(m, marked);
    }
    return any;
}

/* Marks what n, and the graphs in it, read. */
static void mark_read(const Node *n, Marked *marked)
{
    EACH_IN (v, n)
        mark(marked, v);
    EACH_NESTED (g, n) {
        EACH_VALUE (v, g->out.at, g->out.n)
            mark(marked, v);
        for (const Node *m = g->first; m; m = m->next)
            mark_read(m, marked);
    }
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
        mark_read(n, live);
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

bool taps_are_all(const Model *m, const char *tap)
{
    return !strcmp(tap, "all") && !map_get(&m->graph->scope, name(tap));
}

void taps_inside(const Model *m, Names *to)
{
    Marked live = {0};
    Map counts = {0}; /* Name -> how many have it */
    const InnerTensors inner = inner_tensors(m);
    mark_live(m->graph, &live);
    for (int i = 0; i < inner.n; i++) {
        int *count = map_get(&counts, inner.at[i].value->name);
        if (!count)
            map_put(&counts, inner.at[i].value->name, count = NEW(int));
        ++*count;
    }
    for (int i = 0; i < inner.n; i++) {
        const InnerTensor *t = &inner.at[i];
        int *const count = map_get(&counts, t->value->name);
        if (is_marked(&live, t->step->node) && t->value->def->n_in && !is_result(t))
            vec_push(to, *count > 1 || map_get(&m->graph->scope, t->value->name) ? t->path : t->value->name);
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
    node_set_out(n, v->def_i, value_new(m->graph, NULL));
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
    EACH_OF (v, g->in) {
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

static void report_several(const InnerTensors *inner, Name n, int count)
{
    enum { SHOWN = 4 };
    error_at("", "ARG-11", "--tap %s: there are %d tensors of this name", printable(n), count);
    for (int i = 0, shown = 0; i < inner->n && shown < SHOWN; i++)
        if (inner->at[i].value->name == n && ++shown)
            note_help("one is --tap %s", printable(inner->at[i].path));
}

/* One of the tensors inside of nodes. False: there is none of this name. */
static bool add_inner(Model *m, InnerTensors *inner, struct InnerTap tap)
{
    int count;
    InnerTensor *t = inner_tensor_named(m, inner, name(tap.tensor), &count);
    if (t) {
        t->carried = (Type)tap.type;
        t->rank = tap.rank;
        tap_inner(m, t);
    }
    if (count > 1)
        report_several(inner, name(tap.tensor), count);
    return count > 0;
}

/* A tap as it can be an output. */
static struct InnerTap found_tap(const char *tensor)
{
    EACH_AT (t, opt()->inner)
        if (!strcmp(t->tensor, tensor))
            return *t;
    return (struct InnerTap){tensor, NO_TYPE, 0};
}

static void add_taps(Model *m)
{
    InnerTensors inner = {0};
    if (opt()->taps.n || opt()->inner.n)
        inner = inner_tensors(m);
    for (int i = 0; i < opt()->taps.n; i++) {
        const char *const tap = opt()->taps.at[i];
        if (map_get(&m->graph->scope, name(tap)) || (!taps_are_all(m, tap) && !add_inner(m, &inner, found_tap(tap)))) {
            Value *v = named_tensor(m, tap, "tap");
            if (v)
                add_output(m, v);
        } else if (taps_are_all(m, tap))
            tap_all(m);
    }
    for (int i = 0; i < opt()->inner.n; i++)
        add_inner(m, &inner, opt()->inner.at[i]);
}

/* Without --training: graphs that are not compiled read none of the model's values. */
static void cut_training(const Model *m)
{
    EACH_AT (t, m->training) {
        if (t->init)
            graph_discard(t->init);
        if (t->algorithm)
            graph_discard(t->algorithm);
    }
}

void cut_model(Model *m)
{
    Graph *g = m->graph;
    if (!opt()->training)
        cut_training(m);
    const int errors = error_count(); /* of earlier stages */
    Marked used = {0};
    EACH_VALUE (v, g->in.at, g->in.n)
        if (v->uses.n)
            mark(&used, v);
    if (opt()->untils.n)
        replace_outputs(m);
    if (opt()->froms.n)
        replace_inputs(m);
    add_taps(m);
    stop_on_new_errors(errors);
    if (opt()->untils.n || opt()->froms.n) {
        remove_unread(g);
        renew_inputs(g, &used);
    }
}
