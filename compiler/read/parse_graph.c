/* parse_graph.c - reads GraphProto: values, nodes, nested graphs; binds every name to its value. */
#include "base/options.h"
#include "ir/call.h"
#include "ir/opset.h"
#include "read/parse.h"
#include "read/read.h"

/* ---- values ------------------------------------------------------------------------------------------------- */

static Value *declare(Graph *g, Name n)
{
    Value *v = value_new(g, n);
    map_put(&g->scope, n, v);
    return v;
}

/* Is g the model's graph or one of its training information, whose inputs and outputs must have types? */
static bool is_main(const Graph *g) { return !g->owner && !g->function && !(g->parent && g->parent->function); }

/* Do two declarations contradict each other? */
bool types_clash(const TypeDesc *a, const TypeDesc *b)
{
    if (!a || !b)
        return false;
    if (a->form != b->form || (a->elem && b->elem && a->elem != b->elem) || (a->key && b->key && a->key != b->key))
        return true;
    if (a->shape.rank >= 0 && b->shape.rank >= 0) {
        if (a->shape.rank != b->shape.rank)
            return true;
        for (int i = 0; i < a->shape.rank; i++)
            if (dim_is_const(a->shape.dim[i]) && dim_is_const(b->shape.dim[i]) &&
                !dim_identical(a->shape.dim[i], b->shape.dim[i]))
                return true;
    }
    return types_clash(a->of, b->of);
}

TypeDesc *type_of_tensor(const Tensor *t)
{
    TypeDesc *d = NEW(TypeDesc);
    d->form = TENSOR;
    d->elem = t->type;
    d->shape = tensor_shape(t);
    return d;
}

/* Adds the declaration of v in an output or a value_info entry. */
static void declare_type(Value *v, TypeDesc *d, const char *code, const Path *p)
{
    const TypeDesc *known = v->data ? type_of_tensor(v->data) : v->desc;
    if (types_clash(known, d))
        error_path(p, code, "'%s' is declared %s here, but it is %s", printable(v->name), type_text(d),
                   type_text(known));
    else if (d && (!v->desc || (v->desc->form == TENSOR && (!v->desc->elem || v->desc->shape.rank < 0))))
        v->desc = d;
}

/* Reads a ValueInfoProto and sets p->name; false: wrong, and reported. */
static bool read_value_info(Span s, Path *p, bool own_names, bool strict, TypeDesc **type)
{
    onnx_ValueInfoProto proto = {0};
    if (!wire_read(onnx_ValueInfoProto_fields, s, &proto, p))
        return false;
    if (!wire_name(&proto.name)->n)
        return error_path(p, "NAM-11", "the name is missing");
    p->name = wire_name(&proto.name);
    *type = wire_has(&proto.type) ? read_type(proto.type.s, AT(p, "type", -1), own_names, strict) : NULL;
    return true;
}

/* ---- inputs and initializers ---------------------------------------------------------------------------------- */

/* Makes an input of the model the origin of its dimensions' symbols; anonymous dimensions get new symbols. */
static void bind_symbols(Value *v)
{
    Shape s = *v->shape;
    for (int i = 0; i < s.rank; i++) {
        if (dim_is_const(s.dim[i]))
            continue;
        Symbol *symbol = symbol_of(s.dim[i]);
        if (!v->desc->dim_param[i]) {
            symbol = symbol_fresh(text_format("%s_%d", v->name->s, i), 0, INT64_MAX);
            symbol->user = true;
            s.dim[i] = dim_symbol(symbol);
        }
        symbol_of_input(symbol, v, i);
    }
    v->shape = shape_keep(s);
}

/* Gives v its declared type. */
static void set_type(Value *v, bool main)
{
    if (!v->desc)
        return;
    v->form = v->desc->form;
    v->type = v->desc->elem;
    v->shape = shape_keep(v->desc->shape);
    if (main)
        bind_symbols(v);
    if (main && v->type == STR) { /* the bound of its strings' length, for --dim */
        Symbol *s = symbol_by_name(name_format("%s_text", v->name->s));
        s->user = true;
        s->low = 0;
    }
}

void input_declare(Value *v) { set_type(v, true); }

static void read_inputs(Graph *g, const Wire *w, const Path *p)
{
    for (int i = 0; i < w->n; i++) {
        Path q = {p, "input", i, NULL, NULL};
        TypeDesc *d;
        int errors = error_count();
        if (!read_value_info(w->list[i], &q, false, is_main(g), &d))
            continue;
        if (map_get(&g->scope, q.name)) {
            error_path(&q, "IO-05", "two inputs are named '%s'", printable(q.name));
            continue;
        }
        if (!d && is_main(g) && error_count() == errors)
            error_path(&q, "IO-01", "the input has no type");
        Value *v = declare(g, q.name);
        v->desc = d;
        v->poisoned = error_count() > errors;
        set_type(v, is_main(g) && (!g->parent || opt()->training));
        vec_push(&g->in, v);
    }
}

/* An initializer of an input: the input's default or, up to IR version 3, a constant. False: not allowed, and
 * reported. */
static bool join_input(Graph *g, Value *v, Tensor *t, const Path *p)
{
    bool old = g->model->ir_version <= 3;
    if (v->data || v->fallback || v->def)
        error_path(p, "IO-11", "two initializers are named '%s'", printable(v->name));
    else if (!old && !is_main(g)) {
        error_path(p, "SUB-14", "'%s' is an input and an initializer of a nested graph", printable(v->name));
        note_help("allowed up to IR version 3; this model has %lld", (long long)g->model->ir_version);
    } else if (t && types_clash(v->desc, type_of_tensor(t)))
        error_path(p, "IO-10", "the default is %s, but the input '%s' is declared %s", type_text(type_of_tensor(t)),
                   printable(v->name), type_text(v->desc));
    else {
        v->default_only = !old;
        if (old)
            v->data = t;
        else
            v->fallback = t;
        return true;
    }
    return false;
}

static void add_initializer(Graph *g, Name n, Tensor *t, const Path *p)
{
    Path named = *p;
    named.name = n;
    Value *v = map_get(&g->scope, n);
    if (v && !join_input(g, v, t, &named))
        return;
    if (!v) {
        v = declare(g, n);
        v->data = t;
        if (g->model->ir_version <= 3 && is_main(g))
            warn_strict(path_text(&named), "IO-07",
                        "up to IR version 3 an initializer must be an input too; '%s' is not", printable(n));
    }
    vec_push(&g->init, v);
    if (!t)
        v->poisoned = true;
    else if (v->data) {
        v->type = t->type;
        v->shape = shape_keep(tensor_shape(t));
        v->form = TENSOR;
    }
}

static void read_initializers(Graph *g, const onnx_GraphProto *proto, const Path *p)
{
    for (int i = 0; i < proto->initializer.n; i++) {
        const Path *q = AT(p, "initializer", i);
        Name n = NULL;
        int errors = error_count();
        Tensor *t = read_tensor(g->model, proto->initializer.list[i], q, &n);
        if (n && n->n)
            add_initializer(g, n, t, q);
        else if (n && error_count() == errors)
            error_path(q, "NAM-11", "the name is missing");
    }
    for (int i = 0; i < proto->sparse_initializer.n; i++) {
        const Path *q = AT(p, "sparse_initializer", i);
        Name n = NULL;
        Tensor *t = read_sparse(g->model, proto->sparse_initializer.list[i], q, &n);
        if (n && !n->n)
            error_path(q, "SPA-08", "the name is missing (it is that of the values)");
        else if (n) {
            add_initializer(g, n, t, q);
            ((Value *)map_get(&g->scope, n))->sparse = true;
        }
    }
}

/* Removes inputs that have a constant (IR version 3 and before) from the parameters. */
static void drop_constant_inputs(Graph *g, const Path *p)
{
    int k = 0;
    bool constants = false;
    for (int i = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        if (v->data) {
            constants = true;
            continue;
        }
        if (constants && !is_main(g))
            error_path(AT(p, "input", i), "SUB-15", "the input '%s' comes after one that is a constant",
                       printable(v->name));
        g->in.at[k++] = v;
    }
    g->in.n = k;
    for (int i = 0; i < k && is_main(g) && !g->parent; i++)
        g->in.at[i]->input = i;
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

/* A node of which only the outputs were read yet: its inputs may name outputs of later nodes. */
typedef struct Head {
    Node *n;
    Wire in, attr;
} Head;

static const char *site_of(const Value *v)
{
    Text t = {0};
    if (v->def)
        text_put(&t, "output %d of %s", v->def_i, node_path(v->def));
    else
        text_put(&t, "%s of the graph", v->data ? "an initializer" : "an input");
    return t.s;
}

static Value *define(Node *n, int i, Name name_)
{
    Graph *g = n->graph;
    const Value *old = map_get(&g->scope, name_);
    if (old && old->def == n)
        error_node(n, "NOD-12", "outputs %d and %d are both named '%s'", old->def_i, i, printable(name_));
    else if (old)
        error_node(n, old->def ? "GRA-04" : "GRA-05", "output %d: '%s' is %s already; a name has one definition", i,
                   printable(name_), site_of(old));
    Value *v = old ? value_new(g, name_) : declare(g, name_);
    v->def = n;
    v->def_i = i;
    return v;
}

static bool has_nul(Name n) { return strlen(n->s) != n->n; }

static Node *read_head(Graph *g, Span s, int index, const Path *p, Head *head)
{
    onnx_NodeProto proto = {0};
    if (!wire_read(onnx_NodeProto_fields, s, &proto, p))
        return NULL;
    if (!proto.op_type.s.n && !proto.output.n)
        return error_null(path_text(p), "NOD-03", "the node has neither an op_type nor outputs");
    Source *source = NEW_COPY((Source){.name = wire_name(&proto.name),
                                       .op_type = wire_name(&proto.op_type),
                                       .domain = domain_normal(wire_name(&proto.domain)),
                                       .overload = g->model->ir_version < 10 ? name("") : wire_name(&proto.overload),
                                       .within = g->path,
                                       .index = index});
    Node *n = NEW(Node);
    n->graph = g;
    n->source = source;
    n->name = source->name;
    if (!source->op_type->n || has_nul(source->op_type) || has_nul(source->domain))
        error_node(n, "NOD-03",
                   source->op_type->n ? "the op_type or domain has a NUL in it" : "the op_type is missing");
    if (!proto.output.n)
        error_node(n, "GRA-06", "the node has no outputs");
    node_inputs(n, proto.input.n);
    n->n_out = proto.output.n;
    n->out = NEWS(Value *, n->n_out);
    for (int i = 0; i < n->n_out; i++)
        if (proto.output.list[i].n)
            n->out[i] = define(n, i, span_name(proto.output.list[i]));
    wire_free(&proto.output);
    *head = (Head){n, proto.input, proto.attribute};
    node_insert(n, NULL);
    g->model->n_nodes++;
    return n;
}

/* A placeholder for an undefined value, which suppresses further messages. */
static Value *missing_value(Graph *g, Name n)
{
    Value *v = value_new(g, n);
    v->poisoned = true;
    return v;
}

static Value *bind_name(Node *n, int i, Name wanted)
{
    Value *v = find_value(n->graph, wanted);
    if (v)
        return v;
    error_node(n, function_of(n->graph) ? "FUN-19" : "GRA-07", "input %d: there is no value '%s'%s", i,
               printable(wanted), function_of(n->graph) ? " in the function" : "");
    if (error_count() <= 5)
        suggest_value(n->graph, wanted);
    return missing_value(n->graph, wanted);
}

static bool attr_is_new(Node *n, int k, Map *seen)
{
    if (map_get(seen, n->attr[k].name))
        return error_node(n, "ATT-26", "the attribute '%s' is there twice", printable(n->attr[k].name));
    map_put(seen, n->attr[k].name, n);
    return true;
}

static void read_rest(Head *head, const Path *p)
{
    Node *n = head->n;
    Map seen = {0};
    for (int i = 0; i < n->n_in; i++)
        if (head->in.list[i].n)
            node_set_in(n, i, bind_name(n, i, span_name(head->in.list[i])));
    n->attr = NEWS(Attr, head->attr.n);
    for (int i = 0; i < head->attr.n; i++) {
        Path q = {p, "attribute", i, NULL, NULL};
        if (read_attr(n->graph->model, head->attr.list[i], &n->attr[n->n_attr], &q, n->graph, n) &&
            attr_is_new(n, n->n_attr, &seen))
            n->n_attr++;
    }
    map_free(&seen);
    wire_free(&head->in);
    wire_free(&head->attr);
}

static void read_nodes(Graph *g, const Wire *w, const Path *p)
{
    if (w->n > MAX_MODEL_NODES - g->model->n_nodes) {
        error_path(p, "PB-12", "the model has more than %d nodes", MAX_MODEL_NODES);
        return;
    }
    Head *head = NEWS(Head, w->n);
    for (int i = 0; i < w->n; i++)
        read_head(g, w->list[i], i, AT(p, "node", i), &head[i]);
    for (int i = 0; i < w->n; i++)
        if (head[i].n)
            read_rest(&head[i], &(Path){p, "node", i, NULL, head[i].n});
    pool_free(head, sizeof *head * (size_t)w->n);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static void read_outputs(Graph *g, const Wire *w, const Path *p)
{
    for (int i = 0; i < w->n; i++) {
        Path q = {p, "output", i, NULL, NULL};
        TypeDesc *d;
        int errors = error_count();
        if (!read_value_info(w->list[i], &q, false, is_main(g), &d))
            continue;
        if (!d && is_main(g) && error_count() == errors)
            warn_strict(path_text(&q), "IO-01", "the output has no type; it is inferred");
        Value *v = map_get(&g->scope, q.name);
        if (v)
            declare_type(v, d, "INF-06", &q);
        else if (g->owner && find_value(g, q.name)) {
            error_path(&q, "SUB-11", "'%s' is a value of an enclosing graph", printable(q.name));
            note_help("insert a node that copies it: Identity");
        } else {
            error_path(&q, "GRA-08", "the output '%s' has no definition", printable(q.name));
            if (error_count() <= 5)
                suggest_value(g, q.name);
        }
        graph_add_output(g, v ? v : missing_value(g, q.name));
    }
    if (!w->n && !g->parent)
        warn_at(path_text(p), "GRA-12", "the graph has no outputs");
}

static void read_infos(Graph *g, const Wire *w, const Path *p)
{
    Map seen = {0};
    for (int i = 0; i < w->n; i++) {
        Path q = {p, "value_info", i, NULL, NULL};
        TypeDesc *d;
        if (!read_value_info(w->list[i], &q, function_of(g) != NULL, false, &d))
            continue;
        Value *v = map_get(&g->scope, q.name);
        if (d)
            d->hint = function_of(g) != NULL;
        if (!v) {
            warn_pedantic(path_text(&q), "VIN-03", "there is no value '%s'", printable(q.name));
            continue;
        }
        int errors = error_count();
        declare_type(v, d, map_get(&seen, q.name) ? "VIN-02" : "VIN-04", &q);
        if (map_get(&seen, q.name) && error_count() == errors)
            warn_strict(path_text(&q), "VIN-02", "'%s' is described twice", printable(q.name));
        map_put(&seen, q.name, v);
    }
}

static Graph *new_graph(Model *m, Name n, const Path *p, Graph *parent, Node *owner)
{
    Graph *g = NEW_COPY((Graph){.name = n, .model = m, .parent = parent, .owner = owner, .path = path_text(p)});
    return g;
}

Graph *read_graph(Model *m, Span s, const Path *p, Graph *parent, Node *owner)
{
    int depth = 0;
    for (const Graph *g = parent; g; g = g->parent)
        depth++;
    if (depth > MAX_GRAPHS_DEEP)
        return error_null(path_text(p), "SUB-26", "graphs are nested more than %d deep", MAX_GRAPHS_DEEP);
    onnx_GraphProto proto = {0};
    if (!wire_read(onnx_GraphProto_fields, s, &proto, p))
        return NULL;
    Graph *g = new_graph(m, wire_name(&proto.name), p, parent, owner);
    if (!g->name->n)
        error_at(g->path, "GRA-01", "the graph has no name");
    read_inputs(g, &proto.input, p);
    read_initializers(g, &proto, p);
    drop_constant_inputs(g, p);
    read_nodes(g, &proto.node, p);
    read_outputs(g, &proto.output, p);
    read_infos(g, &proto.value_info, p);
    read_annotations(g, &proto.quantization_annotation, p);
    read_placements(g, &proto.node, p);
    Wire *lists[] = {&proto.input, &proto.initializer, &proto.node, &proto.output, &proto.value_info};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        wire_free(lists[i]);
    return g;
}

/* A function's body. Its inputs and outputs are names without types. */
Graph *read_body(Model *m, const onnx_FunctionProto *proto, Function *f, const Path *p)
{
    Graph *g = new_graph(m, f->name, p, NULL, NULL);
    g->function = f;
    for (int i = 0; i < f->in.n; i++) {
        if (!f->in.at[i]->n || map_get(&g->scope, f->in.at[i]))
            error_path(AT(p, "input", i), f->in.at[i]->n ? "IO-05" : "NAM-11", "the name '%s' is %s",
                       printable(f->in.at[i]), f->in.at[i]->n ? "used twice" : "empty");
        else
            vec_push(&g->in, declare(g, f->in.at[i]));
    }
    read_nodes(g, &proto->node, p);
    Map seen = {0};
    for (int i = 0; i < f->out.n; i++) {
        Name n = f->out.at[i];
        Value *v = map_get(&g->scope, n);
        if (!v)
            error_path(AT(p, "output", i), "FUN-22", "no node of the function computes its output '%s'", printable(n));
        else if (map_get(&seen, n))
            error_path(AT(p, "output", i), "FUN-22", "two outputs are named '%s'", printable(n));
        else
            map_put(&seen, n, v);
        graph_add_output(g, v ? v : missing_value(g, n));
    }
    read_infos(g, &proto->value_info, p);
    read_placements(g, &proto->node, p);
    return g;
}
