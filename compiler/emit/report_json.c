/* report_json.c - prints the report on a model as JSON, by docs/report.schema.json. */
#include "emit/emit.h"

#include "base/options.h"
#include "emit/facts.h"
#include "emit/source.h"
#include "memory/plan.h"
#include "passes/container.h"
#include "passes/state.h"

enum { SCHEMA = 2 };

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

void json_string(Text *t, const char *key, Name n)
{
    text_put(t, "\"%s\": ", key);
    put_quoted(t, n, IN_JSON);
}

void json_number(Text *t, const char *key, int64_t n) { text_put(t, ", \"%s\": %lld", key, (long long)n); }

void json_numbers(Text *t, const char *key, const Numbers *list)
{
    text_put(t, ", \"%s\": [", key);
    for (int i = 0; i < list->n; i++)
        text_put(t, "%s%d", i ? ", " : "", list->at[i]);
    text_put(t, "]");
}

/* [1, 3, "batch"]: a size that a run determines is a string. */
void json_shape(Text *t, const Shape *s)
{
    text_put(t, "[");
    for (int i = 0; i < s->rank; i++) {
        text_put(t, "%s", i ? ", " : "");
        const char *size = c_shape(shape_list(1, s->dim[i]));
        if (dim_is_const(s->dim[i]))
            text_put(t, "%lld", (long long)dim_high(s->dim[i]));
        else
            put_quoted(t, name(text_format("%.*s", (int)strlen(size) - 2, size + 1)), IN_JSON);
    }
    text_put(t, "]");
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

void json_tensor(Text *t, const TensorFacts *x)
{
    static const char *const regions[REGIONS] = {"arena", "input", "output", "state"};
    text_put(t, "{");
    json_string(t, "name", x->name);
    text_put(t, ", \"kind\": \"%s\", \"region\": \"%s\"", x->value ? "tensor" : "scratch", regions[x->region]);
    if (x->value) {
        text_put(t, ", \"type\": \"%s\", \"shape\": ", type_onnx(x->value->type));
        json_shape(t, x->value->shape);
    }
    json_number(t, "offset", x->offset);
    json_number(t, "bytes", x->bytes);
    json_number(t, "first", x->first);
    json_number(t, "last", x->last);
    if (x->part_of >= 0)
        json_number(t, "part_of", x->part_of);
    text_put(t, "%s}", x->rows ? ", \"rows\": true" : "");
}

/* The tensors that are the model's inputs or outputs. */
static void put_boundary(Text *t, const Facts *f, const char *key, Region region)
{
    Numbers list = {0};
    for (int i = 0; i < f->tensors.n; i++)
        if (f->tensors.at[i].region == region && f->tensors.at[i].part_of < 0)
            vec_push(&list, i);
    json_numbers(t, key, &list);
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

/* The field of the struct of sizes that has dimension k of a parameter; NULL: none, any size fits. */
static const char *size_field(const Value *v, int k)
{
    const SizeField *field;
    const int n = emitted_sizes(&field);
    for (int i = 0; i < n; i++)
        if (field[i].symbol ? field[i].symbol == symbol_of(v->shape->dim[k]) : field[i].out == v && field[i].axis == k)
            return field[i].name;
    return NULL;
}

static void put_parameter(Text *t, const Value *v, bool output)
{
    text_put(t, "{\"c\": \"%s\", \"output\": %s, \"type\": \"%s\", \"dims\": [", v->c, output ? "true" : "false",
             type_onnx(v->type));
    for (int k = 0; k < v->shape->rank; k++) {
        const char *field = size_field(v, k);
        if (dim_is_const(v->shape->dim[k]))
            text_put(t, "%s%lld", k ? ", " : "", (long long)dim_value(v->shape->dim[k]));
        else
            text_put(t, field ? "%s\"%s\"" : "%snull", k ? ", " : "", field);
    }
    text_put(t, "]");
    json_number(t, "bytes", max_bytes(v));
    text_put(t, v->default_only ? ", \"default\": [" : "");
    for (int k = 0; v->default_only && k < v->fallback->rank; k++)
        text_put(t, "%s%lld", k ? ", " : "", (long long)v->fallback->dim[k]);
    text_put(t, v->default_only ? "]}" : "}");
}

static void put_parameters(Text *t, const Graph *g)
{
    const char *between = "\n";
    text_put(t, ",\n\"parameters\": [");
    for (int i = 0; i < g->in.n + g->out.n; i++) {
        const bool output = i >= g->in.n;
        const Value *v = output ? g->out.at[i - g->in.n] : g->in.at[i];
        if (!output && v->input < 0)
            continue;
        text_put(t, "%s", between);
        put_parameter(t, v, output);
        between = ",\n";
    }
    text_put(t, "\n]");
}

static void put_sizes(Text *t)
{
    const SizeField *field;
    const int n = emitted_sizes(&field);
    text_put(t, ",\n\"sizes\": [");
    for (int i = 0; i < n; i++) {
        const Symbol *s = field[i].symbol;
        text_put(t, "%s{\"c\": \"%s\", \"output\": %s", i ? ",\n" : "\n", field[i].name, s ? "false" : "true");
        if (s) {
            json_number(t, "low", s->low < 0 ? 0 : s->low);
            json_number(t, "high", s->high);
        }
        text_put(t, "}");
    }
    text_put(t, "\n]");
}

/* The type of a value of the model, which may be of several parameters. */
static void put_form(Text *t, const ContainerType *b)
{
    static const char *const forms[] = {
        [TENSOR] = "tensor", [SEQUENCE] = "sequence", [OPTIONAL] = "optional", [MAP] = "map"};
    text_put(t, "{\"form\": \"%s\"", forms[b->form]);
    if (b->open)
        text_put(t, ", \"open\": true");
    if (b->form != TENSOR && !b->open)
        text_put(t, ", \"of\": [");
    for (int i = 0; i < b->item.n && !b->open; i++) {
        text_put(t, i ? ", " : "");
        put_form(t, b->item.at[i]);
    }
    text_put(t, b->form != TENSOR && !b->open ? "]}" : "}");
}

/* The number of parameters before the model's input or output tensor i. */
static int parameters_before(const Graph *g, bool outputs, int i)
{
    int n = outputs ? i : 0;
    for (int k = 0; k < (outputs ? g->in.n : i); k++)
        n += g->in.at[k]->input >= 0;
    return n;
}

/* The model's inputs or outputs; a state is none. */
static void put_values(Text *t, const Graph *g, bool outputs, const char **between)
{
    const InterfaceGroup *group;
    const int n = interface_groups(outputs, &group);
    for (int i = 0; i < n; i++) {
        const int first = parameters_before(g, outputs, group[i].first);
        const int count = parameters_before(g, outputs, group[i].first + group[i].n) - first;
        if (!group[i].ctype || count < ctype_count(group[i].ctype))
            continue;
        text_put(t, "%s{", *between);
        json_string(t, "name", group[i].name);
        text_put(t, ", \"output\": %s", outputs ? "true" : "false");
        json_number(t, "first", first);
        json_number(t, "count", count);
        text_put(t, ", \"type\": ");
        put_form(t, group[i].ctype);
        text_put(t, "}");
        *between = ",\n";
    }
}

static void put_interface(Text *t, const Facts *f)
{
    const Graph *g = f->model->graph;
    const char *between = "\n";
    text_put(t, ",\n\"interface\": {\"align\": %lld", (long long)plan()->align);
    put_boundary(t, f, "inputs", REGION_INPUT);
    put_boundary(t, f, "outputs", REGION_OUTPUT);
    if (!f->model->entries.n) {
        put_parameters(t, g);
        put_sizes(t);
        text_put(t, ",\n\"values\": [");
        put_values(t, g, false, &between);
        put_values(t, g, true, &between);
        text_put(t, "\n]");
    }
    text_put(t, "}");
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void put_node(Text *t, Name operator, Name node)
{
    text_put(t, "{");
    json_string(t, "operator", operator);
    text_put(t, ", ");
    json_string(t, "name", node);
    text_put(t, "}");
}

/* The model's nodes whose work the step does, in their order. */
static void put_nodes(Text *t, const Node *n)
{
    text_put(t, ", \"nodes\": [");
    put_node(t, node_operator(n), n->name);
    for (const Also *a = n->also; a; a = a->next) {
        text_put(t, ", ");
        put_node(t, a->source ? a->source->op_type : NULL, a->name);
    }
    text_put(t, "]");
}

static const char *form_of(const Node *n)
{
    return n->op->flags & CONTROL ? "control" : n->call.loop ? "loop" : "kernel";
}

static void put_step(Text *t, const Facts *f, int i)
{
    const StepFacts *s = &f->steps.at[i];
    const Node *n = s->node;
    const Value *y = n->n_out ? n->out[0] : NULL;
    text_put(t, "{\"step\": %d, ", i);
    json_string(t, "operator", node_operator(n));
    text_put(t, ", ");
    json_string(t, "name", n->name);
    put_nodes(t, n);
    text_put(t, ", \"form\": \"%s\", \"as\": \"%s\"", form_of(n), n->op->name);
    if (n->call.kernel)
        text_put(t, ", \"kernel\": \"%s\"", n->call.kernel->name);
    text_put(t, ", \"shape\": ");
    json_shape(t, y && y->shape && y->shape->rank >= 0 ? y->shape : &(Shape){0});
    json_number(t, "macs", n->macs);
    json_number(t, "weights", s->weights);
    json_number(t, "read", s->read);
    json_number(t, "written", s->written);
    json_number(t, "arena", s->arena);
    if (f->ticks)
        json_number(t, "ticks", f->ticks->step.at[i]);
    json_number(t, "stack", s->stack);
    if (s->owner >= 0)
        json_number(t, "inside", s->owner);
    if (s->scratch >= 0)
        json_number(t, "scratch", s->scratch);
    json_numbers(t, "reads", &s->reads);
    json_numbers(t, "writes", &s->writes);
    json_numbers(t, "after", &s->after);
    text_put(t, "}");
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void put_model(Text *t, const Model *m)
{
    text_put(t, "{\n\"schema\": %d,\n\"onnxcc\": \"%s\",\n\"model\": {", SCHEMA, ONNXCC_VERSION);
    json_string(t, "file", m->base);
    text_put(t, ", \"hash\": \"%016llx\"", (unsigned long long)m->hash);
    json_number(t, "nodes", m->n_nodes);
    json_number(t, "ir_version", m->ir_version);
    if (m->training.n)
        text_put(t, ", \"training\": %s", m->entries.n ? "true" : "false");
    text_put(t, "},\n\"target\": \"%s\",\n\"cflags\": \"%s\",\n", opt()->target->name, opt()->target->cflags);
}

static void put_totals(Text *t, const Facts *f)
{
    text_put(t, "\"flash\": {\"weights\": %lld, \"weights_file\": %lld", (long long)f->weights,
             (long long)constants()->file_bytes);
    if (f->object)
        json_number(t, "code", f->object->code);
    text_put(t, "},\n");
    text_put(t, "\"ram\": {\"total\": %lld", (long long)facts_ram(f));
    json_number(t, "arena", plan()->arena);
    json_number(t, "arena_bound", plan()->bound);
    json_number(t, "inputs", f->inputs);
    json_number(t, "outputs", f->outputs);
    if (f->state)
        json_number(t, "state", f->state);
    json_number(t, "stack", f->stack);
    text_put(t, "},\n\"macs\": %lld", (long long)f->macs);
}

static void put_variable(Text *t, const Model *m, const Variable *s)
{
    text_put(t, "{");
    json_string(t, "name", s->name);
    json_number(t, "bytes", s->bytes);
    text_put(t, ", \"twice\": %s}", is_kept_twice(m, s) ? "true" : "false");
}

/* Prints a list, one element per line. */
#define PUT_LIST(t, key, count, put)                                                                                   \
    do {                                                                                                               \
        text_put(t, ",\n\"" key "\": [");                                                                              \
        for (int i = 0; i < (count); i++) {                                                                            \
            text_put(t, i ? ",\n" : "\n");                                                                             \
            put;                                                                                                       \
        }                                                                                                              \
        text_put(t, "\n]");                                                                                            \
    } while (0)

static void put_function(Text *t, const CodeFacts *f)
{
    text_put(t, "{\"name\": \"%s\"", f->name);
    json_number(t, "bytes", f->bytes);
    text_put(t, "}");
}

static void put_object(Text *t, const ObjectFacts *o)
{
    text_put(t, ",\n\"object\": {\"bytes\": %lld, ", (long long)o->bytes);
    json_string(t, "by", name(o->by ? o->by : ""));
    PUT_LIST(t, "functions", o->functions.n, put_function(t, &o->functions.at[i]));
    text_put(t, "}");
}

static void put_remark(Text *t, const RemarkFacts *r)
{
    text_put(t, "{\"step\": %d, \"rewrite\": \"%s\", \"not\": \"%s\", ", r->step, rewrite_name(r->remark->rewrite),
             rewrite_done(r->remark->rewrite));
    json_string(t, "node", r->remark->name);
    text_put(t, ", ");
    json_string(t, "why", name(r->remark->why));
    text_put(t, "}");
}

void report_json(Text *t, const Facts *f)
{
    put_model(t, f->model);
    put_totals(t, f);
    put_interface(t, f);
    if (f->model->entries.n)
        PUT_LIST(t, "variables", f->model->states.n, put_variable(t, f->model, f->model->states.at[i]));
    if (f->ticks) {
        text_put(t, ",\n\"profile\": {\"runs\": %lld, ", (long long)f->ticks->runs);
        json_string(t, "unit", name(f->ticks->unit));
        text_put(t, ", ");
        json_string(t, "by", name(f->ticks->by));
        text_put(t, "}");
    }
    if (f->object)
        put_object(t, f->object);
    PUT_LIST(t, "steps", f->steps.n, put_step(t, f, i));
    PUT_LIST(t, "tensors", f->tensors.n, json_tensor(t, &f->tensors.at[i]));
    PUT_LIST(t, "remarks", f->remarks.n, put_remark(t, &f->remarks.at[i]));
    text_put(t, "\n}\n");
}
