/* dump.c - the graph as text after a stage (-d), and the invariants of the graph, checked after each stage. */
#include "ir/opset.h"
#include "ir/dump.h"
#include "ir/loop.h"

/* ---- dump -------------------------------------------------------------------------------------------------------- */

/* "@7": in the buffer of value 7, from its start; "@7+64": 64 bytes from there; "@7+64, 3 of 9": 3 elements of each row
 * of 9. "@+128": 128 bytes from the arena's start. */
static void put_place(const Value *v)
{
    if (!v->storage) {
        if (v->offset >= 0)
            note("@+%lld", (long long)v->offset);
        return;
    }
    const TextMark mark = text_mark();
    Text t = {0};
    text_put(&t, "@%d", v->storage->id);
    if (!dim_is(v->placement->offset, 0)) {
        text_put(&t, "+");
        dim_print(&t, v->placement->offset);
    }
    if (!dim_is(v->placement->pitch, 0)) {
        text_put(&t, ", ");
        dim_print(&t, v->placement->run);
        text_put(&t, " of ");
        dim_print(&t, v->placement->pitch);
    }
    note("%s", t.s);
    text_release(mark);
}

static void put_value(const Value *v)
{
    if (!v) {
        note("\"\"");
        return;
    }
    note("%s_%d:%s%s", v->name && v->name->n ? printable(v->name) : "", v->id, type_tag(v->type),
         v->shape->rank < 0 ? "[?]" : shape_text(*v->shape));
    if (v->data)
        note(v->data->symbolic ? "=sizes" : v->data->splat ? "=splat" : "=const");
    put_place(v);
}

/* Prints an attribute of type int, float, string or ints; but not `dims` of onnxcc.Dims and of loops, which are
 * expressions. */
static void put_attribute(Text *t, const Attr *a)
{
    const bool ints = a->type == A_INTS && !name_is(a->name, "dims");
    if (!ints && a->type != A_INT && a->type != A_FLOAT && a->type != A_STRING)
        return;
    text_put(t, "%s%s = ", t->n ? ", " : "", printable(a->name));
    if (a->type == A_INT)
        text_put(t, "%lld", (long long)a->i);
    else if (a->type == A_FLOAT)
        text_put(t, "%g", (double)a->f);
    else if (a->type == A_STRING)
        text_put(t, "\"%s\"", printable(a->s));
    for (int i = 0; ints && i < a->n; i++)
        text_put(t, "%s%lld", i ? "," : "[", (long long)a->ints[i]);
    text_put(t, ints ? a->n ? "]" : "[]" : "");
}

/* " <axis = 1, perm = [0,2,3,1]>" */
static void put_attributes(const Node *n)
{
    const TextMark mark = text_mark();
    Text t = {0};
    for (int i = 0; i < n->n_attr; i++)
        put_attribute(&t, &n->attr[i]);
    if (t.n)
        note(" <%s> ", t.s);
    text_release(mark);
}

/* "sub, mul, cast_i8" */
static void put_loop(const Loop *l)
{
    bool first = true;
    EACH_AT (step, l->steps)
        if (step->fn) {
            note("%s%s", first ? "" : ", ", loop_function(step));
            first = false;
        }
    note(first ? "copy" : "");
}

/* The call of a bound node. */
static void put_call(const Node *n)
{
    if (n->call.kernel)
        note(" -> %s_%s", n->call.kernel->name, type_tag(n->call.kernel->t));
    if (n->call.loop) {
        note(" -> loop: ");
        put_loop(n->call.loop);
    }
    if (n->call.epilogue) {
        note(" + ");
        put_loop(n->call.epilogue);
    }
    if (n->elided)
        note(" (no code)");
}

static void dump_graph(const Graph *g, int depth)
{
    for (const Node *n = g->first; n; n = n->next) {
        note("%*s", 4 * depth, "");
        for (int i = 0; i < n->n_out; i++) {
            note("%s", i ? ", " : "");
            put_value(n->out[i]);
        }
        note(" = %s", printable(node_op(n)));
        put_attributes(n);
        note("(");
        for (int i = 0; i < n->n_in; i++) {
            note("%s", i ? ", " : "");
            put_value(n->in[i]);
        }
        note(")%s", n->channels_last ? " channels last" : "");
        put_call(n);
        note("\n");
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].g)
                dump_graph(n->attr[i].g, depth + 1);
    }
}

static void put_text(const char *field, Name text)
{
    if (text->n)
        note("%s: %s\n", field, printable(text));
}

/* The fields of the model besides its graph. */
static void dump_header(const Model *m)
{
    note("ir_version: %lld\n", (long long)m->ir_version);
    EACH_AT (import, m->imports)
        note("opset_import: %s %lld\n", domain_text(import->domain), (long long)import->version);
    put_text("producer_name", m->producer);
    put_text("producer_version", m->producer_version);
    put_text("domain", m->domain);
    note("model_version: %lld\n", (long long)m->model_version);
    put_text("doc_string", m->doc);
    EACH_AT (prop, m->props)
        note("metadata_props: %s = %s\n", printable(prop->key), printable(prop->value));
    EACH_OF (f, m->functions)
        note("functions: %s.%s\n", domain_text(f->domain), printable(f->name));
    if (m->training.n)
        note("training_info: %d\n", m->training.n);
    put_text("graph", m->graph->name);
}

void dump_model(Model *m, const char *stage)
{
    note("---- after %s\n", stage);
    if (!strcmp(stage, "resolve"))
        dump_header(m);
    dump_graph(m->graph, 0);
}

/* ---- verify ------------------------------------------------------------------------------------------------------ */

/* Checks that nodes and values point to each other in both directions; this holds after every stage. */
static void verify_node(const Node *n, const char *stage)
{
    for (int i = 0; i < n->n_in; i++) {
        const Value *v = n->in[i];
        const Use *u = v ? &v->uses.at[n->use[i]] : NULL;
        if (v && (n->use[i] >= v->uses.n || u->node != n || u->i != i))
            bug("after %s: input %d of %s is not in its value's uses", stage, i, printable(node_op(n)));
    }
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && (n->out[i]->def != n || n->out[i]->def_i != i))
            bug("after %s: output %d of %s has another definition", stage, i, printable(node_op(n)));
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].g && (n->attr[i].g->owner != n || n->attr[i].g->parent != n->graph))
            bug("after %s: a graph of %s lies elsewhere", stage, printable(node_op(n)));
    if ((n->prev ? n->prev->next : n->graph->first) != n || (n->next ? n->next->prev : n->graph->last) != n)
        bug("after %s: the list of nodes is broken at %s", stage, printable(node_op(n)));
}

void verify_model(Model *m, const char *stage)
{
    EACH_NODE (n, m->graph)
        verify_node(n, stage);
}
