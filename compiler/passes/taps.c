/* taps.c - makes tensors inside of branches, of bodies of loops and of functions outputs of the model: each node around
 * such a tensor gets one more result. That of an If is zeros where the other branch runs; a Loop's stacks all
 * iterations.
 * Requires: a checked graph, before inference, where calls of functions are still calls. */
#include "passes/taps.h"

#include "base/options.h"
#include "ir/opset.h"
#include "ir/scope.h"
#include "passes/container.h"

/* ---- all tensors ------------------------------------------------------------------------------------------------- */

enum { MAX_STEPS = 32, MAX_TENSORS = 20000 };

typedef struct TapWalk {
    const Model *m;
    InnerTensors *to;
    Map paths; /* Name -> how often it occurred */
    TapStep step[MAX_STEPS];
    int n;
} TapWalk;

Graph *step_graph(const TapStep *s)
{
    return s->call ? s->call->body : attr_named(s->node->attr, s->node->n_attr, s->attr)->g;
}

Graph *step_other(const TapStep *s)
{
    return node_attr(s->node, name_is(s->attr, "then_branch") ? "else_branch" : "then_branch")->g;
}

int step_dims(const TapStep *s)
{
    const bool batch = s->kind == INTO_SCAN && s->node->op->since_version < 9; /* the first version had a batch */
    return s->kind == INTO_LOOP || s->kind == INTO_SCAN ? 1 + batch : 0;
}

/* What the graph in attribute a is to n; -1: nothing, as the names mean something on control flow alone. */
static int kind_of(const Node *n, const Attr *a)
{
    const bool control = n->op->flags & CONTROL;
    const Graph *const then_g = node_graph(n, "then_branch"), *const else_g = node_graph(n, "else_branch");
    if (control && then_g && else_g && (a->g == then_g || a->g == else_g))
        return INTO_BRANCH;
    if (!a->g || a->g != node_graph(n, "body"))
        return -1;
    return node_attr(n, "num_scan_inputs") ? INTO_SCAN : control ? INTO_LOOP : INTO_OTHER;
}

/* n's name if it is unique in its graph, else the name of its first result. */
static Name step_name(const Node *n, const Map *names)
{
    if (n->name && n->name->n && map_get(names, n->name) == n)
        return n->name;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->name)
            return n->out[i]->name;
    return name("");
}

static void add_tensor(TapWalk *w, Value *v, int at, const char *prefix)
{
    Name path = name_format("%s%s", prefix, v->name->s);
    for (int k = 2; map_get(&w->paths, path); k++)
        path = name_format("%s%s#%d", prefix, v->name->s, k);
    map_put(&w->paths, path, w);
    InnerTensor t = {.value = v, .path = path, .n = w->n, .at = at, .step = NEWS(TapStep, w->n)};
    memcpy(t.step, w->step, sizeof *t.step * (size_t)w->n);
    vec_push(w->to, t);
}

static void walk_graph(TapWalk *w, const Graph *g, const char *prefix);

static void walk_into(TapWalk *w, TapStep s, const char *prefix)
{
    if (w->n == MAX_STEPS || w->to->n > MAX_TENSORS)
        return;
    w->step[w->n++] = s;
    walk_graph(w, step_graph(&s), s.kind == INTO_BRANCH ? text_format("%s%.4s/", prefix, s.attr->s) : prefix);
    w->n--;
}

static void walk_graph(TapWalk *w, const Graph *g, const char *prefix)
{
    Map names = {0};
    int at = 0;
    for (const Node *n = g->first; n; n = n->next)
        if (n->name)
            map_put(&names, n->name, map_get(&names, n->name) ? (void *)w : (void *)(uintptr_t)n);
    for (Node *n = g->first; n; n = n->next, at++) {
        Function *f = n->op ? NULL : find_function(w->m, n);
        const char *inside = text_format("%s%s/", prefix, step_name(n, &names)->s);
        for (int i = 0; i < n->n_attr && !f && n->op; i++)
            if (n->attr[i].g && kind_of(n, &n->attr[i]) >= 0)
                walk_into(w, (TapStep){(int)kind_of(n, &n->attr[i]), n, n->attr[i].name, NULL, at}, inside);
        if (f)
            walk_into(w, (TapStep){INTO_CALL, n, NULL, f, at}, inside);
        EACH_OUT (v, n)
            if (w->n && v->name && v->name->n)
                add_tensor(w, v, at, prefix);
    }
    map_free(&names);
}

InnerTensors inner_tensors(const Model *m)
{
    InnerTensors all = {0};
    TapWalk w = {.m = m, .to = &all};
    walk_graph(&w, m->graph, "");
    return all;
}

bool is_result(const InnerTensor *t)
{
    const TapStep *s = &t->step[t->n - 1];
    const Graph *g = step_graph(s);
    const int states = s->kind == INTO_LOOP   ? s->node->n_in - 1
                       : s->kind == INTO_SCAN ? g->in.n - (int)attr_int(s->node, "num_scan_inputs")
                                              : 0;
    for (int i = states; i < g->out.n; i++)
        if (g->out.at[i] == t->value)
            return true;
    for (int i = 0; s->call && i < s->call->out.n; i++)
        if (s->call->out.at[i] == t->value->name)
            return true;
    return false;
}

/* ---- one of them by its name ------------------------------------------------------------------------------------- */

static bool is_taken(const Model *m, Name n)
{
    for (int i = 0; i < m->declared.n; i++)
        if (m->declared.at[i] == n)
            return true;
    return map_get(&m->graph->scope, n) != NULL;
}

static Name free_name(const Model *m, Name wanted)
{
    Name n = wanted;
    for (int k = 2; is_taken(m, n); k++)
        n = name_format("%s#%d", wanted->s, k);
    return n;
}

static void set_names(const Model *m, InnerTensor *t, Name as)
{
    t->out = free_name(m, as);
    t->given = NULL;
    for (int i = 0; i < t->n; i++)
        if (t->step[i].kind == INTO_BRANCH)
            t->given = free_name(m, name_format("%s_given", t->out->s));
}

InnerTensor *inner_tensor_named(const Model *m, InnerTensors *all, Name tensor, int *count)
{
    InnerTensor *found = NULL;
    *count = 0;
    for (int i = 0; i < all->n; i++) {
        InnerTensor *t = &all->at[i];
        if (t->path == tensor || (t->value->name == tensor && ++*count == 1))
            found = t;
        if (t->path == tensor) {
            *count = 1;
            break;
        }
    }
    if (*count == 1)
        set_names(m, found, tensor);
    return *count == 1 ? found : NULL;
}

/* ---- results that pass it on ------------------------------------------------------------------------------------- */

/* The outputs of the model that are taps, and markers: constants in their place in branches that do not compute
 * them. */
typedef struct Tapped {
    VEC(struct TappedOutput {
        Name out;
        Name path;
        int dims;     /* number of dimensions that count iterations */
        bool carried; /* the output is the value of the last iteration */
    }) at;
    Value *nothing, *impossible; /* impossible: inference has found that the branch of the tap cannot run */
    Type varying;                /* of a tap that was refused: its type and rank */
    int rank;
} Tapped;
PART(Tapped, tapped)

static Value *marker(const Model *m, Value **v, int which)
{
    if (!*v)
        *v = value_const(m->graph, tensor_int(B8, which)); /* markers with equal bytes would share one tensor */
    return *v;
}

static Value *nothing(const Model *m) { return marker(m, &tapped()->nothing, 0); }
static Value *impossible(const Model *m) { return marker(m, &tapped()->impossible, 1); }

/* A new result of n, number i, after its last one. */
static Value *new_result(Node *n, int i, Name named)
{
    Value **out = NEWS(Value *, i + 1);
    memcpy(out, n->out, sizeof *out * (size_t)n->n_out);
    n->out = out;
    n->n_out = i + 1;
    Value *v = out[i] = value_new(n->graph, named);
    v->def = n;
    v->def_i = i;
    return v;
}

static void stack_in_order(Node *n, const char *list)
{
    const Attr *a = node_attr(n, list);
    if (!a)
        return;
    int64_t *all = NEWS(int64_t, a->n + 1);
    memcpy(all, a->ints, sizeof *all * (size_t)a->n);
    attr_set_ints(n, list, a->n + 1, all);
}

/* Makes v a result of the step's node, in whose graph or function it is; returns that. */
static Value *passed_on(const TapStep *s, Value *v)
{
    Graph *g = step_graph(s);
    if (s->call) {
        const Name formal = name_format("%s#%d", v->name->s, s->call->out.n); /* unique in the function */
        map_put(&g->scope, formal, v);
        vec_push(&s->call->out, formal);
        return new_result(s->node, s->call->out.n - 1, v->name);
    }
    graph_add_output(g, v);
    if (s->kind == INTO_SCAN) {
        stack_in_order(s->node, "scan_output_axes");
        stack_in_order(s->node, "scan_output_directions");
    }
    return new_result(s->node, g->out.n - 1 - (s->kind == INTO_LOOP), v->name);
}

/* The same for the value of the loop's last iteration: a state, which starts without elements. */
static Value *last_passed_on(const TapStep *s, Value *v, const InnerTensor *t)
{
    Node *n = s->node;
    Graph *g = step_graph(s);
    if (n->n_in < 2)
        node_set_inputs(n, 2, (Value *[]){in(n, 0), NULL});
    const int states = n->n_in - 2;
    Value **start = NEWS(Value *, n->n_in + 1);
    Shape none = {.rank = t->rank};
    for (int k = 0; k < none.rank; k++)
        none.dim[k] = D(0);
    memcpy(start, n->in, sizeof *start * (size_t)n->n_in);
    start[n->n_in] = value_const(n->graph, tensor_zero(t->carried, none));
    node_set_inputs(n, n->n_in + 1, start);
    vec_push(&g->in, value_new(g, v->name));
    graph_add_output(g, v);
    for (int i = g->out.n - 1; i > states + 1; i--)
        graph_set_output(g, i, g->out.at[i - 1]);
    graph_set_output(g, states + 1, v);
    Value *y = new_result(n, n->n_out > states ? n->n_out : states, v->name);
    for (int i = n->n_out - 1; i > states; i--)
        if ((n->out[i] = n->out[i - 1]) != NULL)
            n->out[i]->def_i = i;
    n->out[states] = y;
    y->def_i = states;
    return y;
}

void tap_inner(Model *m, const InnerTensor *t)
{
    for (int i = 0; i < tapped()->at.n; i++)
        if (tapped()->at.at[i].path == t->path)
            return;
    Value *v = t->value, *given = NULL;
    int dims = 0;
    for (int i = t->n - 1; i >= 0; i--) {
        const TapStep *s = &t->step[i];
        dims += step_dims(s);
        v = t->carried && s->kind == INTO_LOOP ? last_passed_on(s, v, t) : passed_on(s, v);
        if (s->kind == INTO_BRANCH) {
            Graph *g = step_graph(s), *other = step_other(s);
            graph_add_output(other, nothing(m));
            if (!given)
                (given = value_const(g, tensor_int(B8, 1)))->name = v->name;
            given = passed_on(s, given);
            graph_add_output(other, value_const(other, tensor_int(B8, 0)));
        } else if (given)
            given = passed_on(s, given);
    }
    graph_add_output(m->graph, v);
    vec_push(&m->declared, t->out);
    vec_push(&tapped()->at, ((struct TappedOutput){t->out, t->path, dims, t->carried != NO_TYPE}));
    if (!given)
        return;
    graph_add_output(m->graph, given);
    vec_push(&m->declared, t->given);
}

/* ---- during and after inference ---------------------------------------------------------------------------------- */

/* Zeros of v's type at the end of g; sizes that are not known there are 0. */
static Value *zeros_like(Graph *g, const Value *v)
{
    Shape s = *v->shape;
    const bool any_size =
        type_bits(v->type) % 8 == 0 && (type_is_float(v->type) || type_is_int(v->type) || v->type == B8);
    for (int k = 0; k < s.rank; k++) {
        bool known = any_size || dim_is_const(s.dim[k]);
        EACH_SYMBOL (symbol, s.dim[k]) {
            const Graph *from = symbol_graph(symbol);
            known &= !from || (from != g && graph_encloses(from, g));
        }
        s.dim[k] = known ? s.dim[k] : D(0);
    }
    if (shape_is_const(s))
        return value_const(g, tensor_zero(v->type, s));
    Node *fill = node_new(g, "onnxcc.Fill", 0, NULL, 1);
    attr_set(fill, (Attr){.name = name("value"), .type = A_TENSOR, .t = tensor_zero(v->type, shape_list(0))});
    node_insert(fill, NULL);
    set_out(fill, 0, v->type, s);
    return fill->out[0];
}

static Value *empty_like(Graph *g, const Value *v)
{
    Node *n = node_new(g, "onnxcc.Start", 0, NULL, 0); /* a position to insert before */
    node_insert(n, NULL);
    const ContainerType *b = ctype_of(v);
    return container_placeholder(n, b->form == SEQUENCE ? ctype_open(b) : b);
}

void taps_fill(Node *n, Graph *const *branch)
{
    Value *const none = tapped()->nothing;
    for (int i = 0; none && i < n->n_out; i++) {
        Value *const out[] = {branch[0]->out.at[i], branch[1]->out.at[i]};
        const int k = out[1] == none; /* the branch that does not compute it, if one does not */
        Value *v = out[1 - k];
        if (out[k] != none)
            continue;
        if (v->form == TENSOR && !v->type) /* inference of its branch ended before it */
            v = impossible(n->graph->model);
        if (v == none || v == tapped()->impossible) {
            graph_set_output(branch[1 - k], i, v);
            value_replace(n->out[i], v);
        } else
            graph_set_output(branch[k], i, v->form == TENSOR ? zeros_like(branch[k], v) : empty_like(branch[k], v));
    }
}

/* Is d computed in a body that may run more than once? */
static bool is_of_iteration(Dim d)
{
    EACH_SYMBOL (s, d)
        for (const Graph *g = symbol_graph(s); g; g = g->parent)
            if (g->owner && node_attr(g->owner, "body"))
                return true;
    return false;
}

void taps_check(const Model *m)
{
    for (int i = 0; i < tapped()->at.n; i++) {
        const struct TappedOutput *t = &tapped()->at.at[i];
        const Value *v = NULL;
        for (int k = 0; k < m->declared.n; k++)
            if (m->declared.at[k] == t->out)
                v = m->graph->out.at[k];
        if (v->data && v->data == nothing(m)->data)
            error_at("", "ARG-11", "--tap %s: its branch never runs, as the condition is constant", printable(t->out));
        if (v->data && v->data == impossible(m)->data)
            error_at("", "ARG-11", "--tap %s: its branch cannot run", printable(t->out));
        bool varies = false;
        for (int k = 0; k < v->shape->rank && v->form == TENSOR && t->dims && !t->carried; k++)
            varies |= is_of_iteration(v->shape->dim[k]);
        if (!varies)
            continue;
        error_at("", "ARG-11", "--tap %s: its size may be another in each iteration, so that it cannot be stacked",
                 printable(t->out));
        tapped()->varying = v->type;
        tapped()->rank = v->shape->rank - t->dims;
    }
}

Type taps_varying(int *rank)
{
    *rank = tapped()->rank;
    return tapped()->varying;
}
