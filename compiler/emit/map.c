/* map.c - --map: from the model's nodes and initializers to the lines of the C, the constants and the arena, and back,
 * as JSON by docs/map.schema.json. */
#include "emit/emit.h"

#include <limits.h>

#include "base/options.h"
#include "base/output.h"
#include "emit/facts.h"
#include "emit/report.h"
#include "ir/provenance.h"

enum { MAP_SCHEMA = 1 };

typedef struct NodeFate {              /* what a node of the model became */
    Numbers steps, constants, tensors; /* tensors: the results of views */
    bool absorbed;                     /* steps and tensors are those of its readers */
} NodeFate;

typedef struct StepLines {
    int64_t first, last; /* 0: none */
    Numbers shared;      /* spans of epilogues and functions */
} StepLines;

typedef struct ConstantFate {
    StoredConstant c;
    Numbers spans, origins, initializers;
    VEC(Name) by;
} ConstantFate;

typedef struct Tracing {
    const Facts *f;
    const ModelNode *node;
    Provenance *const *initializer;
    int nodes, initializers, walks;
    NodeFate *fate;   /* of each node */
    Numbers *of;      /* of each initializer: the constants */
    StepLines *lines; /* of each step */
    VEC(ConstantFate) constants;
    VEC(Provenance *) origins;
    Map step, tensor, constant, array; /* Node, Value, constant Value, name of its array -> its index + 1 */
    Map shared;                        /* owner of lines -> Numbers: the steps */
} Tracing;

static int index_in(const Map *m, const void *key) { return (int)(intptr_t)map_get(m, key) - 1; }
static void set_index(Map *m, const void *key, int i) { map_put(m, key, (void *)(intptr_t)(i + 1)); }

/* Adds i, unless it is there; numbers come mostly in ascending order. */
static void add_number(Numbers *list, int i)
{
    for (int k = list->n - 1; k >= 0 && list->at[k] >= i; k--)
        if (list->at[k] == i)
            return;
    vec_push(list, i);
}

/* ---- origins ----------------------------------------------------------------------------------------------------- */

/* Numbers everything that p was computed from, then p. */
static void number_origins(Tracing *t, Provenance *p)
{
    VEC(Provenance *) stack = {0};
    vec_push(&stack, p);
    while (stack.n) {
        Provenance *const top = stack.at[stack.n - 1];
        if (top->index || top->next == top->n) {
            if (!top->index) {
                vec_push(&t->origins, top);
                top->index = t->origins.n;
            }
            stack.n--;
        } else if (top->of[top->next++] && !top->of[top->next - 1]->index)
            vec_push(&stack, top->of[top->next - 1]);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

typedef enum Member { STEPS, CONSTANTS, TENSORS } Member;

static void add_to_node(Tracing *t, int node, Member member, int i)
{
    NodeFate *const f = &t->fate[node];
    add_number(member == STEPS ? &f->steps : member == CONSTANTS ? &f->constants : &f->tensors, i);
}

/* Adds i to the node of s, and to the calls of the functions in whose bodies it is. */
static void add_to_source(Tracing *t, const Source *s, Member member, int i)
{
    for (; s; s = s->caller)
        if (model_node(s) >= 0)
            add_to_node(t, model_node(s), member, i);
}

static void add_to_sources(Tracing *t, const Source *s, const Also *also, Member member, int i)
{
    add_to_source(t, s, member, i);
    for (; also; also = also->next)
        add_to_source(t, also->source, member, i);
}

static void add_to_nodes(Tracing *t, const Node *n, Member member, int i)
{
    const Sources all = provenance_sources(n);
    for (int k = 0; k < all.n; k++)
        add_to_node(t, model_node(all.at[k]), member, i);
}

static void find_steps(Tracing *t)
{
    for (int i = 0; i < t->f->steps.n; i++) {
        const Node *n = t->f->steps.at[i].node;
        for (int k = 0; k < n->n_attr; k++)
            if (n->attr[k].type == A_TENSOR && n->attr[k].t && n->attr[k].t->from)
                number_origins(t, n->attr[k].t->from);
        set_index(&t->step, n, i);
        add_to_nodes(t, n, STEPS, i);
        for (int k = 0; k < 2; k++) {
            const void *owner = line_owner(k ? LINE_FUNCTION : LINE_EPILOGUE, &n->call);
            Numbers *of = owner ? map_get(&t->shared, owner) : NULL;
            if (owner && !of)
                map_put(&t->shared, owner, of = NEW(Numbers));
            if (owner)
                add_number(of, i);
        }
    }
    for (int i = 0; i < t->f->tensors.n; i++)
        if (t->f->tensors.at[i].value)
            set_index(&t->tensor, t->f->tensors.at[i].value, i);
    EACH_NODE (n, t->f->model->graph)
        if (index_in(&t->step, n) < 0)
            EACH_OUT (v, n)
                if (index_in(&t->tensor, v) >= 0)
                    add_to_nodes(t, n, TENSORS, index_in(&t->tensor, v));
}

static bool has_fate(const Tracing *t, int i)
{
    const NodeFate *f = &t->fate[i];
    const ModelNode *n = &t->node[i];
    return f->steps.n || f->tensors.n || f->constants.n || n->folded || n->sized || n->gone;
}

/* Nodes without a fate were removed by a rewrite: they get the steps or views of their readers, which replace them. */
static void absorb(Tracing *t)
{
    enum { TRIES = 2 }; /* the owner of a graph, which reads its results, is before the graph's nodes */
    for (int i = TRIES * t->nodes - 1; i >= 0; i--) {
        const int k = i % t->nodes;
        NodeFate *const f = &t->fate[k];
        if (has_fate(t, k))
            continue;
        EACH_OF (reader, t->node[k].readers) {
            for (int s = 0; s < t->fate[reader].steps.n; s++)
                add_number(&f->steps, t->fate[reader].steps.at[s]);
            for (int s = 0; s < t->fate[reader].tensors.n && !t->fate[reader].steps.n; s++)
                add_number(&f->tensors, t->fate[reader].tensors.at[s]);
        }
        f->absorbed = f->steps.n + f->tensors.n > 0;
    }
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Records constant i at everything that it was computed from; in descending order, as a result has the higher
 * number. */
static void trace_constant(Tracing *t, ConstantFate *c, int i, Provenance *p)
{
    int left = 1;
    const int walk = ++t->walks;
    number_origins(t, p);
    vec_add(&c->origins, p->index - 1);
    p->seen = walk;
    for (int k = p->index - 1; left; k--) {
        const Provenance *from = t->origins.at[k];
        if (from->seen != walk)
            continue;
        left--;
        if (from->kind == FROM_INITIALIZER) {
            vec_add(&c->initializers, from->initializer);
            vec_add(&t->of[from->initializer], i);
        }
        if (from->kind == FROM_NODE)
            vec_add(&c->by, from->name);
        add_to_sources(t, from->source, from->also, CONSTANTS, i);
        for (int j = 0; j < from->n; j++)
            if (from->of[j] && from->of[j]->seen != walk) {
                from->of[j]->seen = walk;
                left++;
            }
    }
}

/* A constant that shares the bytes of another belongs to its array. */
static void add_constant(const StoredConstant *c, void *tracing)
{
    Tracing *const t = tracing;
    int i = t->constants.n;
    if (c->own) {
        set_index(&t->array, name(c->c), i);
        vec_push(&t->constants, (ConstantFate){.c = *c});
    } else
        i = index_in(&t->array, name(c->c));
    if (i < 0)
        return;
    set_index(&t->constant, c->v, i);
    if (c->v->data->from)
        trace_constant(t, &t->constants.at[i], i, c->v->data->from);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void find_lines(Tracing *t)
{
    const LineSpan *span;
    const int n = line_spans(&span);
    for (int i = 0; i < n; i++) {
        const int step = span[i].kind == LINE_NODE ? index_in(&t->step, span[i].owner) : -1;
        const Numbers *shared =
            span[i].kind == LINE_EPILOGUE || span[i].kind == LINE_FUNCTION ? map_get(&t->shared, span[i].owner) : NULL;
        if (step >= 0) {
            t->lines[step].first = t->lines[step].first ? t->lines[step].first : span[i].first;
            t->lines[step].last = span[i].last;
        }
        for (int k = 0; shared && k < shared->n; k++)
            vec_push(&t->lines[shared->at[k]].shared, i);
        if (span[i].kind == LINE_CONSTANT)
            vec_push(&t->constants.at[index_in(&t->constant, span[i].owner)].spans, i);
    }
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void put_range(Text *t, const char *key, int64_t first, int64_t last)
{
    text_put(t, ", \"%s\": [%lld, %lld]", key, (long long)first, (long long)last);
}

static void put_spans(Text *t, const char *key, const Numbers *list)
{
    const LineSpan *span;
    line_spans(&span);
    text_put(t, ", \"%s\": [", key);
    for (int i = 0; i < list->n; i++)
        text_put(t, "%s[%lld, %lld]", i ? ", " : "", (long long)span[list->at[i]].first,
                 (long long)span[list->at[i]].last);
    text_put(t, "]");
}

/* What became of node i, and why it has no code. */
static const char *fate_of(const Tracing *t, int i, const char **why)
{
    const NodeFate *f = &t->fate[i];
    const ModelNode *n = &t->node[i];
    *why = NULL;
    if (f->absorbed || f->steps.n)
        return f->absorbed ? "absorbed" : "step";
    if (f->tensors.n)
        return "view";
    if (f->constants.n || n->folded)
        return "constant";
    if (n->sized)
        return "size";
    *why = n->gone                                       ? n->gone
           : n->owner >= 0 && !t->fate[n->owner].steps.n ? "it is in a graph that never runs"
                                                         : "nothing needs its results";
    return "removed";
}

static void put_model_node(Text *t, const Tracing *r, int i)
{
    const ModelNode *n = &r->node[i];
    const char *why, *fate = fate_of(r, i, &why);
    text_put(t, "{\"node\": %d, ", i);
    json_string(t, "at", model_node_path(i));
    text_put(t, ", ");
    json_string(t, "operator", n->source->op_type);
    text_put(t, ", ");
    json_string(t, "domain", n->source->domain);
    text_put(t, ", ");
    json_string(t, "name", n->source->name);
    text_put(t, ", \"fate\": \"%s\"", fate);
    if (why)
        text_put(t, ", \"why\": \"%s\"", why);
    if (n->owner >= 0)
        json_number(t, "inside", n->owner);
    json_numbers(t, "steps", &r->fate[i].steps);
    json_numbers(t, "constants", &r->fate[i].constants);
    json_numbers(t, "tensors", &r->fate[i].tensors);
    text_put(t, "}");
}

/* The model's nodes that a step or a view does the work of. */
static void put_nodes_of(Text *t, const Node *n)
{
    const Sources all = provenance_sources(n);
    Numbers list = {0};
    for (int i = 0; i < all.n; i++)
        add_number(&list, model_node(all.at[i]));
    json_numbers(t, "nodes", &list);
}

static void put_arena(Text *t, const Tracing *r, const StepFacts *s)
{
    const char *between = "";
    text_put(t, ", \"arena\": [");
    for (int i = 0; i <= s->writes.n; i++) {
        const int k = i < s->writes.n ? s->writes.at[i] : s->scratch;
        if (k < 0 || r->f->tensors.at[k].region != REGION_ARENA)
            continue;
        text_put(t, "%s{\"tensor\": %d, \"offset\": %lld, \"bytes\": %lld}", between, k,
                 (long long)r->f->tensors.at[k].offset, (long long)r->f->tensors.at[k].bytes);
        between = ", ";
    }
    text_put(t, "]");
}

/* Where the numbers that a step fills a tensor with come from. */
static void put_attribute_origins(Text *t, const Node *n)
{
    Numbers list = {0};
    for (int i = 0; i < n->n_attr; i++)
        if (n->attr[i].type == A_TENSOR && n->attr[i].t && n->attr[i].t->from)
            vec_push(&list, n->attr[i].t->from->index - 1);
    if (list.n)
        json_numbers(t, "origins", &list);
}

static void put_map_step(Text *t, const Tracing *r, int i)
{
    const StepFacts *s = &r->f->steps.at[i];
    const Node *n = s->node;
    const char *function = function_of_call(n);
    Numbers constants = {0};
    for (int k = 0; k < n->call.n_arg; k++)
        if (n->call.arg[k] && index_in(&r->constant, n->call.arg[k]) >= 0)
            vec_push(&constants, index_in(&r->constant, n->call.arg[k]));
    text_put(t, "{\"step\": %d, ", i);
    json_string(t, "operator", name(report_operators(n, INT_MAX)));
    text_put(t, ", ");
    json_string(t, "name", n->name);
    put_nodes_of(t, n);
    if (n->call.kernel)
        text_put(t, ", \"kernel\": \"%s\"", n->call.kernel->name);
    if (function)
        text_put(t, ", \"calls\": \"%s\"", function);
    put_range(t, "lines", r->lines[i].first, r->lines[i].last);
    json_number(t, "call", line_of_call(n));
    put_spans(t, "shared", &r->lines[i].shared);
    if (s->owner >= 0)
        json_number(t, "inside", s->owner);
    json_numbers(t, "constants", &constants);
    put_attribute_origins(t, n);
    json_numbers(t, "reads", &s->reads);
    json_numbers(t, "writes", &s->writes);
    put_arena(t, r, s);
    text_put(t, "}");
}

static void put_map_constant(Text *t, const Tracing *r, int i)
{
    const ConstantFate *c = &r->constants.at[i];
    const Value *v = c->c.v;
    text_put(t, "{\"constant\": %d, \"c\": \"%s\", \"type\": \"%s\", \"shape\": ", i, c->c.c, type_onnx(v->type));
    json_shape(t, v->shape);
    json_number(t, "bytes", (int64_t)tensor_size(v->data));
    put_spans(t, "lines", &c->spans);
    if (c->c.in_file)
        json_number(t, "file_offset", (int64_t)c->c.at);
    json_numbers(t, "origins", &c->origins);
    json_numbers(t, "initializers", &c->initializers);
    text_put(t, ", \"by\": [");
    for (int k = c->by.n - 1; k >= 0; k--) {
        put_quoted(t, c->by.at[k], IN_JSON);
        text_put(t, k ? ", " : "");
    }
    text_put(t, "]}");
}

static void put_attributes(Text *t, const Provenance *p)
{
    text_put(t, ", \"attributes\": {");
    for (int i = 0; i < p->n_attr; i++) {
        const Attr *a = &p->attr[i];
        text_put(t, i ? ", " : "");
        put_quoted(t, a->name, IN_JSON);
        text_put(t, ": ");
        if (a->type == A_INT)
            text_put(t, "%lld", (long long)a->i);
        else if (a->type == A_FLOAT)
            text_put(t, a->f - a->f == 0 ? "%.9g" : "\"%g\"", (double)a->f);
        else {
            text_put(t, "[");
            for (int k = 0; k < a->n; k++)
                text_put(t, "%s%lld", k ? ", " : "", (long long)a->ints[k]);
            text_put(t, "]");
        }
    }
    text_put(t, "}");
}

static void put_origin(Text *t, const Provenance *p)
{
    static const char *const keys[] = {[FROM_INITIALIZER] = "initializer",
                                       [FROM_OPTION] = "input",
                                       [FROM_NODE] = "operator",
                                       [FROM_ATTRIBUTES] = "attributes_of"};
    const int node = model_node(p->source);
    text_put(t, "{");
    if (p->kind == FROM_INITIALIZER)
        text_put(t, "\"initializer\": %d}", p->initializer);
    else if (p->kind == FROM_ATTRIBUTES)
        text_put(t, "\"given\": true");
    else
        json_string(t, keys[p->kind], p->name);
    if (p->kind == FROM_INITIALIZER)
        return;
    if (node >= 0)
        json_number(t, "node", node);
    if (p->kind == FROM_NODE) {
        text_put(t, ", \"of\": [");
        for (int i = 0; i < p->n; i++)
            text_put(t, p->of[i] ? "%s%d" : "%snull", i ? ", " : "", p->of[i] ? p->of[i]->index - 1 : 0);
        text_put(t, "]");
        put_attributes(t, p);
    }
    text_put(t, "}");
}

static void put_initializer(Text *t, const Tracing *r, int i)
{
    text_put(t, "{\"initializer\": %d, ", i);
    json_string(t, "name", r->initializer[i]->name);
    json_numbers(t, "constants", &r->of[i]);
    text_put(t, "}");
}

static void put_line_span(Text *t, const Tracing *r, const LineSpan *s)
{
    static const char *const kinds[] = {
        [LINE_FRAME] = "frame",       [LINE_COMMENT] = "comment",   [LINE_INTERFACE] = "interface",
        [LINE_KERNELS] = "kernels",   [LINE_EPILOGUE] = "epilogue", [LINE_CONSTANTS] = "constants",
        [LINE_CONSTANT] = "constant", [LINE_FUNCTION] = "function", [LINE_STATE] = "state",
        [LINE_PROFILE] = "profile",   [LINE_RUN] = "run",           [LINE_NODE] = "node"};
    const Numbers *shared = s->owner ? map_get(&r->shared, s->owner) : NULL;
    const int step = s->kind == LINE_NODE ? index_in(&r->step, s->owner) : -1;
    text_put(t, "{\"first\": %lld", (long long)s->first);
    json_number(t, "last", s->last);
    text_put(t, ", \"is\": \"%s\"", kinds[s->kind]);
    if (step >= 0)
        text_put(t, ", \"steps\": [%d]", step);
    else if (shared)
        json_numbers(t, "steps", shared);
    if (s->kind == LINE_NODE)
        put_nodes_of(t, s->owner);
    if (s->kind == LINE_CONSTANT)
        json_number(t, "constant", index_in(&r->constant, s->owner));
    text_put(t, "}");
}

#define PUT_ROWS(t, key, count, put)                                                                                   \
    do {                                                                                                               \
        text_put(t, ",\n\"" key "\": [");                                                                              \
        for (int i = 0; i < (count); i++) {                                                                            \
            TextMark mark = text_mark();                                                                               \
            text_put(t, i ? ",\n" : "\n");                                                                             \
            put;                                                                                                       \
            text_release(mark);                                                                                        \
        }                                                                                                              \
        text_put(t, "\n]");                                                                                            \
    } while (0)

static void put_map(Text *t, const Tracing *r)
{
    const LineSpan *span;
    const int spans = line_spans(&span);
    const Model *m = r->f->model;
    text_put(t, "{\n\"schema\": %d,\n\"onnxcc\": \"%s\",\n\"model\": {", MAP_SCHEMA, ONNXCC_VERSION);
    json_string(t, "file", m->base);
    text_put(t, ", \"hash\": \"%016llx\"},\n", (unsigned long long)m->hash);
    text_put(t, "\"target\": \"%s\",\n", opt()->target->name);
    json_string(t, "c", name(base_name(opt()->output)));
    PUT_ROWS(t, "nodes", r->nodes, put_model_node(t, r, i));
    PUT_ROWS(t, "steps", r->f->steps.n, put_map_step(t, r, i));
    PUT_ROWS(t, "tensors", r->f->tensors.n, json_tensor(t, &r->f->tensors.at[i]));
    PUT_ROWS(t, "constants", r->constants.n, put_map_constant(t, r, i));
    PUT_ROWS(t, "origins", r->origins.n, put_origin(t, r->origins.at[i]));
    PUT_ROWS(t, "initializers", r->initializers, put_initializer(t, r, i));
    PUT_ROWS(t, "lines", spans, put_line_span(t, r, &span[i]));
    text_put(t, "\n}\n");
}

void write_map(Model *m)
{
    ModelNode *node;
    Tracing r = {.f = find_facts(m)};
    r.nodes = model_nodes(&node);
    r.node = node;
    r.initializers = model_initializers(&r.initializer);
    r.fate = NEWS(NodeFate, r.nodes + 1);
    r.of = NEWS(Numbers, r.initializers + 1);
    r.lines = NEWS(StepLines, r.f->steps.n + 1);
    find_steps(&r);
    each_constant(add_constant, &r);
    absorb(&r);
    find_lines(&r);
    Text t = {.to = output_open(opt()->map)};
    put_map(&t, &r);
    text_flush(&t);
}
