/* inline.c - inline: calls of model functions are replaced by the functions' nodes. Also the expansion of operators
 * with a body, which infer.c calls when shapes are known.
 * Requires: resolved. Leaves: no call of a model function. */
#include <stdlib.h>

#include "base/options.h"
#include "ir/call.h"
#include "ir/opset.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "ir/schema.h"
#include "passes/passes.h"

enum { MAX_DEPTH = 100, MAX_NODES = 1000000 };

typedef struct Inliner {
    Model *m;
    int depth, made;
} Inliner;

static void inline_graph(Inliner *in, Graph *g);
static void inline_node(Inliner *in, Node *n);

/* ---- copying a body ---------------------------------------------------------------------------------------------- */

typedef struct Copy {
    Inliner *in;
    const Node *call; /* the call, whose attributes replace references */
    const Function *f;
    Map value; /* Value of the body -> Value of the copy */
} Copy;

static const Value absent; /* represents an argument that the call omits */

static Value *copied(Copy *c, Value *v)
{
    Value *w = v ? map_get(&c->value, v) : NULL;
    return w == &absent ? NULL : w ? w : v;
}

static Value *copy_value(Copy *c, Graph *g, Value *v)
{
    if (!v)
        return NULL;
    Value *w = value_new(g, v->name);
    w->type = v->type;
    w->shape = v->shape;
    w->desc = v->desc;
    w->data = v->data;
    if (w->data)
        w->data->pinned = true;
    w->form = v->form;
    w->components = v->components;
    map_put(&c->value, v, w);
    return w;
}

static Graph *copy_graph(Copy *c, Graph *g, Node *owner);

/* Keeps the tensor of an attribute from being freed: copies share it. */
static void keep_tensor(const Attr *a)
{
    if ((a->type == A_TENSOR || a->type == A_SPARSE) && a->t)
        a->t->pinned = true;
}

/* Copies an attribute of a node in the body; false: it refers to an attribute that the call omits. */
static bool copy_attr(Copy *c, const Attr *a, Attr *to, Node *owner)
{
    *to = *a;
    keep_tensor(a);
    if (a->ref && a->ref->n) {
        const Attr *given = attr_named(c->call->attr, c->call->n_attr, a->ref);
        given = given ? given : attr_named(c->f->defaults.at, c->f->defaults.n, a->ref);
        if (!given)
            return false;
        *to = *given;
        keep_tensor(to);
        to->name = a->name;
        if (to->g) { /* names in a graph from the call refer to values outside of the body */
            Copy outer = {.in = c->in, .call = c->call, .f = c->f};
            to->g = copy_graph(&outer, to->g, owner);
        }
        return true;
    }
    if (a->g)
        to->g = copy_graph(c, a->g, owner);
    return true;
}

static Node *copy_node(Copy *c, const Node *n, Graph *g, Node *before)
{
    if (++c->in->made > MAX_NODES || (c->call && pool_room() < (size_t)POOL_MAX_MB << 18)) {
        error_node(c->call ? c->call : n, "FUN-24", "functions expand to more nodes than onnxcc has memory for");
        stop_on_errors();
    }
    Node *m = NEW_COPY(*n);
    m->graph = g;
    if (c->call) {
        Source *source = NEW_COPY(*n->source);
        source->call = c->call->source->call ? c->call->source->call : c->call->source;
        source->definition = n->source->definition ? n->source->definition : n->source;
        source->caller = c->call->source;
        provenance_copied(n->source);
        m->source = source;
    }
    node_inputs(m, n->n_in);
    m->out = NEWS(Value *, n->n_out);
    m->attr = NEWS(Attr, n->n_attr);
    m->n_attr = 0;
    m->prev = m->next = NULL;
    for (int i = 0; i < n->n_attr; i++)
        m->n_attr += copy_attr(c, &n->attr[i], &m->attr[m->n_attr], m);
    for (int i = 0; i < n->n_in; i++)
        node_set_in(m, i, copied(c, n->in[i]));
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            node_set_out(m, i, copy_value(c, g, n->out[i]));
    node_insert(m, before);
    return m;
}

static Graph *copy_graph(Copy *c, Graph *g, Node *owner)
{
    Graph *h =
        NEW_COPY((Graph){.name = g->name, .model = g->model, .parent = owner->graph, .owner = owner, .path = g->path});
    for (int i = 0; i < g->in.n; i++)
        vec_push(&h->in, copy_value(c, h, g->in.at[i]));
    EACH_OF (v, g->init)
        vec_push(&h->init, map_get(&c->value, v) ? copied(c, v) : copy_value(c, h, v));
    for (Node *n = g->first; n; n = n->next)
        copy_node(c, n, h, NULL);
    for (int i = 0; i < g->out.n; i++)
        graph_add_output(h, copied(c, g->out.at[i]));
    return h;
}

Graph *graph_copy(Graph *g, Node *owner)
{
    Inliner in = {.m = g->model};
    Copy c = {.in = &in};
    return copy_graph(&c, g, owner);
}

void graph_append(Graph *g, Graph *from, Map *values)
{
    Inliner in = {.m = g->model};
    Copy c = {.in = &in, .value = *values};
    for (const Node *n = from->first; n; n = n->next)
        copy_node(&c, n, g, NULL);
    *values = c.value;
}

Node *node_copy(const Node *n, Graph *g, int k, Value *const *from, Value *const *to)
{
    Inliner in = {.m = g->model};
    Copy c = {.in = &in};
    for (int i = 0; i < k; i++)
        map_put(&c.value, from[i], to[i]);
    return copy_node(&c, n, g, NULL);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Replaces n by the body of f, which it calls. */
static void inline_call(Inliner *in, Node *n, Function *f)
{
    if (n->n_in > f->in.n || n->n_out > f->out.n) {
        error_node(n, "FUN-17", "function %s has %d inputs and %d outputs; the call has %d and %d", printable(f->name),
                   f->in.n, f->out.n, n->n_in, n->n_out);
        return;
    }
    (void)applies(REWRITE_INLINE, n, "function %s", printable(f->name));
    Copy c = {.in = in, .call = n, .f = f};
    for (int i = 0; i < f->in.n; i++) {
        Value *formal = map_get(&f->body->scope, f->in.at[i]), *actual = i < n->n_in ? n->in[i] : NULL;
        if (formal)
            map_put(&c.value, formal, actual ? actual : (Value *)(uintptr_t)&absent);
    }
    Node *before = n->prev;
    for (Node *b = f->body->first; b; b = b->next)
        copy_node(&c, b, n->graph, n);
    for (int i = 0; i < n->n_out; i++) {
        Value *formal = map_get(&f->body->scope, f->out.at[i]), *v = formal ? copied(&c, formal) : NULL;
        if (n->out[i] && !v)
            error_node(n, "FUN-18", "output '%s' of function %s is not computed", printable(f->out.at[i]),
                       printable(f->name));
        else if (n->out[i])
            replace_out(n, i, v);
    }
    Node *end = n->next;
    Graph *g = n->graph;
    node_remove(n);
    Node *m = before ? before->next : g->first;
    for (Node *next; m != end; m = next) {
        next = m->next;
        inline_node(in, m);
    }
}

static void inline_node(Inliner *in, Node *n)
{
    EACH_NESTED (g, n)
        inline_graph(in, g);
    Function *f = n->op ? NULL : find_function(in->m, n);
    if (f && in->depth == MAX_DEPTH)
        error_node(n, "FUN-24", "functions are nested more than %d deep", MAX_DEPTH);
    else if (f) {
        in->depth++;
        inline_call(in, n, f);
        in->depth--;
    }
}

static void inline_graph(Inliner *in, Graph *g)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        inline_node(in, n);
    }
}

static void bind_names(Graph *g)
{
    EACH_NODE (n, g)
        if (n->op && n->op->named)
            n->op->named(n);
}

void bind_named(Model *m)
{
    bind_names(m->graph);
    for (int i = 0; i < m->functions.n; i++)
        bind_names(m->functions.at[i]->body);
    for (int i = 0; i < m->training.n && opt()->training; i++)
        if (m->training.at[i].algorithm)
            bind_names(m->training.at[i].algorithm);
}

void inline_functions(Model *m)
{
    Inliner in = {.m = m};
    inline_graph(&in, m->graph);
}

/* ---- operators with a body --------------------------------------------------------------------------------------- */

/* Lexing of a body text: "y = Mul<axis=1>(x, t)". */
static void skip_space(const char **s)
{
    while (**s == ' ' || **s == '\n' || **s == ',')
        ++*s;
}

static Name word(const char **s) { return name_until(s, " ,=()<>\n"); }

static Value *body_value(Node *n, Map *scope, Name w)
{
    Value *v = map_get(scope, w);
    if (v || !w->n)
        return v;
    const Signature *signature = op_signature(n->op);
    for (int i = 0; i < signature->n_in; i++)
        if (signature->in[i].name == w)
            return in(n, i);
    if (w->s[0] == '@') { /* an attribute, as a scalar of input 0's type */
        const FormalAttr *a = formal_attr(signature, w->s + 1);
        return make_scalar(n, in_type(n, 0),
                           a->type == A_FLOAT ? attr_float(n, w->s + 1) : (double)attr_int(n, w->s + 1));
    }
    char *end;
    double number = strtod(w->s, &end);
    if (*end)
        bug("body of %s: unknown value '%s'", n->op->name, w->s);
    return make_scalar(n, in_type(n, 0), number);
}

/* "axis=1" or "axis=@axis" */
static void body_attr(Node *n, Node *made, const char **s)
{
    Name key = word(s);
    ++*s;
    Name value = word(s);
    if (value->s[0] == '@') {
        const Attr *a = node_attr(n, value->s + 1);
        const FormalAttr *f = formal_attr(op_signature(n->op), value->s + 1);
        Attr copy = a ? *a : (Attr){.type = f->type};
        if (!a && !f->value)
            return;
        copy.name = key;
        if (!a && f->type == A_INT)
            copy.i = attr_int(n, value->s + 1);
        else if (!a && f->type == A_FLOAT)
            copy.f = (float)attr_float(n, value->s + 1);
        attr_set(made, copy);
    } else if (strchr(value->s, '.'))
        attr_set_float(made, key->s, strtod(value->s, NULL));
    else if (value->s[0] == '-' || (value->s[0] >= '0' && value->s[0] <= '9'))
        attr_set_int(made, key->s, strtoll(value->s, NULL, 10));
    else
        attr_set_string(made, key->s, value->s);
}

void expand_body(Node *n, const char *text)
{
    Map scope = {0};
    const Signature *signature = op_signature(n->op);
    for (const char *s = text; skip_space(&s), *s;) {
        Name result = word(&s);
        skip_space(&s);
        ++s; /* = */
        skip_space(&s);
        Name op = word(&s);
        const char *attrs = *s == '<' ? s + 1 : NULL;
        s = strchr(s, '(') + 1;
        Value *in[8];
        int k = 0;
        for (skip_space(&s); *s != ')'; skip_space(&s))
            in[k++] = body_value(n, &scope, word(&s));
        s++;
        Node *made = make_node(n, op->s, k, in, 1);
        while (attrs && *attrs != '>') {
            body_attr(n, made, &attrs);
            skip_space(&attrs);
        }
        map_put(&scope, result, made->out[0]);
    }
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            replace_out(n, i, map_get(&scope, signature->out[i].name));
    expand_done(n);
}
