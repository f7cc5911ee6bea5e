/* provenance.c - where steps and constants come from. */
#include "ir/provenance.h"

#include "base/options.h"
#include "ir/opset.h"
#include "ir/ops.h"

typedef struct ModelNodes {
    VEC(ModelNode) list;
    VEC(Provenance *) initializers;
    Map at;       /* Source -> its index + 1 */
    Map producer; /* name of a result, outside of functions -> its node's Source */
} ModelNodes;
PART(ModelNodes, nodes)

bool provenance_is_on(void) { return opt()->map != NULL; }

int model_nodes(ModelNode **list)
{
    *list = nodes()->list.at;
    return nodes()->list.n;
}

int model_initializers(Provenance *const **list)
{
    *list = nodes()->initializers.at;
    return nodes()->initializers.n;
}

Name model_node_path(int i)
{
    const Source *const s = nodes()->list.at[i].source;
    return name_format("%s.node[%d]", s->within, s->index);
}

int model_node(const Source *s)
{
    return s ? (int)(intptr_t)map_get(&nodes()->at, s->definition ? s->definition : s) - 1 : -1;
}

/* ---- the nodes of the model -------------------------------------------------------------------------------------- */

static void add_initializers(const Graph *g)
{
    EACH_VALUE (v, g->init.at, g->init.n) {
        Tensor *const t = v->data ? v->data : v->fallback;
        if (!t)
            continue;
        Provenance *const p =
            NEW_COPY((Provenance){.kind = FROM_INITIALIZER, .name = v->name, .initializer = nodes()->initializers.n});
        vec_push(&nodes()->initializers, p);
        t->from = p;
    }
}

static const char not_called[] = "it is in a function that nothing calls",
                  left_out[] = "training information, without --training";

static void add_nodes(Graph *g, void *gone)
{
    add_initializers(g);
    for (const Node *n = g->first; n; n = n->next) {
        vec_push(&nodes()->list, ((ModelNode){n->source, gone, .owner = g->owner ? model_node(g->owner->source) : -1}));
        map_put(&nodes()->at, n->source, (void *)(intptr_t)nodes()->list.n);
        EACH_OUT (v, n)
            if (gone != not_called && v->name && v->name->n)
                map_put(&nodes()->producer, v->name, (void *)(uintptr_t)n->source);
        EACH_NESTED (inner, n)
            add_nodes(inner, gone);
    }
}

static void add_readers(Graph *g, void *unused)
{
    (void)unused;
    for (const Node *n = g->first; n; n = n->next) {
        ModelNode *const node = &nodes()->list.at[model_node(n->source)];
        EACH_OUT (v, n)
            EACH_OF (u, v->uses) {
                const Node *const by = u.node ? u.node : u.graph->owner;
                if (by)
                    vec_push(&node->readers, model_node(by->source));
            }
        EACH_NESTED (inner, n)
            add_readers(inner, NULL);
    }
}

static void each_graph(Model *m, void (*visit)(Graph *, void *))
{
    void *const out = opt()->training ? NULL : (void *)(uintptr_t)left_out;
    visit(m->graph, NULL);
    for (int i = 0; i < m->functions.n; i++)
        visit(m->functions.at[i]->body, (void *)(uintptr_t)not_called);
    EACH_AT (t, m->training) {
        if (t->init)
            visit(t->init, out);
        if (t->algorithm)
            visit(t->algorithm, out);
    }
}

void provenance_begin(Model *m)
{
    if (!provenance_is_on())
        return;
    each_graph(m, add_nodes);
    each_graph(m, add_readers);
}

void provenance_gone(const Node *n, const char *why)
{
    const int i = provenance_is_on() ? model_node(n->source) : -1;
    if (i >= 0)
        nodes()->list.at[i].gone = why;
}

/* ---- nodes that stand for others --------------------------------------------------------------------------------- */

static void add_source(Sources *to, const Source *s)
{
    for (; s; s = s->caller)
        if (model_node(s) >= 0)
            vec_push(to, s);
}

/* Its own nodes, or those whose results its results are named after. */
static void add_own(Sources *to, const Node *n)
{
    add_source(to, n->source);
    for (const Also *a = n->also; a; a = a->next)
        add_source(to, a->source);
    EACH_OUT (v, n)
        if (!to->n && v->name)
            add_source(to, map_get(&nodes()->producer, v->name));
}

Sources provenance_sources(const Node *n)
{
    Sources all = {0};
    add_own(&all, n);
    EACH_OUT (v, n)
        for (int i = 0; i < v->uses.n && !all.n; i++) {
            const Node *by = v->uses.at[i].node ? v->uses.at[i].node : v->uses.at[i].graph->owner;
            if (by)
                add_own(&all, by);
        }
    EACH_IN (v, n)
        if (!all.n && v->def)
            add_own(&all, v->def);
    if (!all.n && n->graph->owner)
        add_own(&all, n->graph->owner);
    return all;
}

void provenance_part(Name part, Name whole)
{
    if (provenance_is_on() && !map_get(&nodes()->producer, part))
        map_put(&nodes()->producer, part, map_get(&nodes()->producer, whole));
}

void provenance_copied(const Source *s)
{
    const int i = provenance_is_on() ? model_node(s) : -1;
    if (i >= 0 && nodes()->list.at[i].gone == not_called)
        nodes()->list.at[i].gone = NULL;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* Where the constant v, which n reads, comes from. */
static Provenance *provenance_of(const Value *v, const Node *n)
{
    if (!v)
        return NULL;
    if (v->data && v->data->from)
        return v->data->from;
    Provenance *const p = NEW_COPY((Provenance){.kind = FROM_ATTRIBUTES, .source = n->source});
    if (v->data)
        v->data->from = p;
    return p;
}

static bool has_numbers(const Attr *a)
{
    enum { FEW = 16 };
    return a->type == A_INT || a->type == A_FLOAT || (a->type == A_INTS && a->n <= FEW);
}

static Provenance *made_by(const Node *n, Name how, int k, Value *const *in)
{
    Provenance *const p =
        NEW_COPY((Provenance){.kind = FROM_NODE, .name = how, .source = n->source, .also = n->also, .n = k});
    p->of = NEWS(Provenance *, k);
    for (int i = 0; i < k; i++)
        p->of[i] = provenance_of(in[i], n);
    return p;
}

static void keep_attributes(Provenance *p, const Node *n)
{
    Attr *const kept = NEWS(Attr, n->n_attr);
    for (int i = 0; i < n->n_attr; i++)
        if (has_numbers(&n->attr[i]))
            kept[p->n_attr++] = n->attr[i];
    p->attr = kept;
}

void provenance_made(Tensor *t, const Node *n, const char *how, int k, Value *const *in)
{
    if (provenance_is_on())
        t->from = made_by(n, name(how), k, in);
}

Tensor *provenance_splat(Tensor *t, const Value *of)
{
    if (!provenance_is_on() || !of->data->from)
        return t;
    Provenance *const p = NEW_COPY((Provenance){.kind = FROM_NODE, .name = name("onnxcc.Splat"), .n = 1});
    p->of = NEWS(Provenance *, 1);
    p->of[0] = of->data->from;
    t->from = p;
    return t;
}

void provenance_option(Tensor *t, Name input)
{
    if (!provenance_is_on())
        return;
    Provenance *const p = NEW_COPY((Provenance){.kind = FROM_OPTION, .name = input});
    t->from = p;
}

/* "Mul", "onnxcc.ConvPack" */
static Name operator_name(const Op *op)
{
    return op->domain && *op->domain ? name_format("%s.%s", op->domain, op->name) : name(op->name);
}

/* Is t the tensor of an input, which n passes on? */
static bool is_passed_on(const Node *n, const Tensor *t)
{
    EACH_IN (v, n)
        if (v->data == t)
            return true;
    return false;
}

static void mark_folded(const Source *s, bool symbolic)
{
    const int i = model_node(s);
    if (i < 0)
        return;
    nodes()->list.at[i].folded |= !symbolic;
    nodes()->list.at[i].sized |= symbolic;
}

void provenance_folded(const Node *n)
{
    if (!provenance_is_on())
        return;
    Provenance *p = NULL;
    EACH_OUT (v, n) {
        if (!v->data)
            continue;
        mark_folded(n->source, v->data->symbolic);
        for (const Also *a = n->also; a; a = a->next)
            mark_folded(a->source, v->data->symbolic);
        if (v->data->symbolic || is_passed_on(n, v->data))
            continue;
        if (!p)
            keep_attributes(p = made_by(n, operator_name(n->op), n->n_in, n->in), n);
        v->data->from = p;
    }
}
