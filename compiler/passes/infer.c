/* infer.c - infer and fold: one forward walk that gives every value its type and shape, runs every node whose inputs
 * are known, replaces old versions and composites by what they mean, and takes the branch of a decided If.
 * Requires: a checked graph. Leaves: type and shape on every value, v->data on every constant. */
#include "passes/infer.h"
#include "base/options.h"
#include "ir/assume.h"
#include "ir/spatial.h"
#include "passes/container.h"
#include "passes/passes.h"
#include "read/read.h"

#include <stdlib.h>

enum { MAX_EXPANSIONS = 2000000 };

OF_RUN static int expansions;

/* ---- what the user fixed: --dim, --shape, --const ---------------------------------------------------------- */

static Value *input_named(Model *m, const char *what, const char *option)
{
    for (int i = 0; i < m->graph->in.n; i++)
        if (name_is(m->graph->in.at[i]->name, what))
            return m->graph->in.at[i];
    error_at("", "", "%s: the model has no input '%s'", option, what);
    for (int i = 0; i < m->graph->in.n && i < 8; i++)
        note_help("input %d is '%s' %s", i, printable(m->graph->in.at[i]->name),
                  shape_text(*m->graph->in.at[i]->shape));
    return NULL;
}

static void apply_dims(void)
{
    for (int i = 0; i < opt.dims.n; i++) {
        struct DimOption *o = &opt.dims.at[i];
        Symbol *found = NULL;
        for (int k = 0; k < symbol_count(); k++)
            if (symbol_at(k)->user && name_is(symbol_at(k)->name, o->name))
                found = symbol_at(k);
        if (!found)
            continue; /* a size that will be found on the way, or a mistake */
        o->used = true;
        if (o->low == o->high)
            symbol_fix(found, D(o->low));
        else {
            found->low = o->low;
            found->high = o->high;
        }
    }
}

static void check_dims_used(void)
{
    for (int i = 0; i < opt.dims.n; i++) {
        if (opt.dims.at[i].used)
            continue;
        error_at("", "", "--dim %s: the model has no dimension of this name", opt.dims.at[i].name);
        for (int k = 0; k < symbol_count(); k++)
            if (symbol_at(k)->user)
                note_help("it has '%s'", printable(symbol_at(k)->name));
    }
}

static void apply_shapes(Model *m)
{
    for (int i = 0; i < opt.shapes.n; i++) {
        struct ShapeOption *o = &opt.shapes.at[i];
        Value *v = input_named(m, o->input, "--shape");
        if (!v)
            continue;
        if (v->shape->rank >= 0 && v->shape->rank != o->rank) {
            error_value(v, "", "--shape gives %d dimensions, the input has %d: %s", o->rank, v->shape->rank,
                        shape_text(*v->shape));
            continue;
        }
        Shape s = {.rank = o->rank};
        for (int k = 0; k < o->rank; k++) {
            /* A name that exporters give to every open dimension ("?") binds none of them to the others here. */
            Dim old = v->shape->rank < 0 ? D(o->dim[k]) : v->shape->dim[k], now = dim_resolve(old);
            if (dim_const(old) && dim_value(old) != o->dim[k])
                error_value(v, "", "--shape gives %lld for dimension %d, the model says %lld", (long long)o->dim[k], k,
                            (long long)dim_value(old));
            else if (!dim_const(now))
                symbol_fix(symbol_of(now), D(o->dim[k]));
            s.dim[k] = D(o->dim[k]);
        }
        v->shape = shape_keep(s);
    }
}

/* What --const says of v when it is numbers, "16000" or "0,2": a tensor of v's type and rank; NULL: it names a file. */
static Tensor *const_numbers(const Value *v, const char *text)
{
    bool real = type_is_float(v->type);
    VEC(Tensor *) elements = {0};
    for (const char *s = text;; s++) {
        char *end;
        int64_t i = real ? 0 : strtoll(s, &end, 0);
        double x = real ? strtod(s, &end) : 0;
        if (end == s || (*end && *end != ',') || type_bits(v->type) % 8 ||
            !(real || type_is_int(v->type) || v->type == B8))
            return NULL;
        vec_push(&elements, real ? tensor_float(v->type, x) : tensor_int(v->type, i));
        if (!*(s = end))
            break;
    }
    int64_t dim[MAX_RANK] = {elements.n};
    int rank = v->shape->rank < 0 ? elements.n > 1 : v->shape->rank;
    for (int i = 0; rank > 1 && i < rank; i++)
        dim[i] = dim_const(v->shape->dim[i]) ? dim_value(v->shape->dim[i]) : 1;
    Tensor *t = tensor_new(v->type, rank, dim);
    if (tensor_count(t) != elements.n)
        error_value(v, "", "--const gives %d numbers, the input is %s", elements.n, shape_text(*v->shape));
    else
        for (int i = 0; i < elements.n; i++)
            memcpy((char *)(uintptr_t)t->data + (size_t)(i * (type_bits(v->type) / 8)), elements.at[i]->data,
                   (size_t)type_bits(v->type) / 8);
    return t;
}

static void apply_consts(Model *m)
{
    for (int i = 0; i < opt.consts.n; i++) {
        Value *v = input_named(m, opt.consts.at[i].input, "--const");
        if (!v)
            continue;
        if (v->form != TENSOR) {
            error_value(v, "", "--const gives a tensor; the input is none");
            continue;
        }
        Tensor *t = const_numbers(v, opt.consts.at[i].file);
        if (!t)
            t = read_tensor_file(opt.consts.at[i].file);
        if (t->type != v->type)
            error_value(v, "", "--const: %s holds %s, the input is %s", opt.consts.at[i].file, type_onnx(t->type),
                        type_onnx(v->type));
        else if (v->shape->rank >= 0 && v->shape->rank != t->rank)
            error_value(v, "", "--const: %s has %d dimensions, the input %d", opt.consts.at[i].file, t->rank,
                        v->shape->rank);
        else {
            for (int k = 0; k < t->rank && v->shape->rank >= 0; k++) {
                Dim d = dim_resolve(v->shape->dim[k]);
                if (dim_const(d) && dim_value(d) != t->dim[k])
                    error_value(v, "", "--const: dimension %d of %s is %lld, the model says %lld", k,
                                opt.consts.at[i].file, (long long)t->dim[k], (long long)dim_value(d));
                else if (!dim_const(d))
                    symbol_fix(symbol_of(d), D(t->dim[k]));
            }
            v->data = t;
            v->shape = shape_keep(tensor_shape(t));
            v->input = -1;
            v->default_only = false;
        }
    }
    int k = 0;
    for (int i = 0; i < m->graph->in.n; i++)
        if (m->graph->in.at[i]->input >= 0)
            m->graph->in.at[i]->input = k++;
}

static Shape resolve_shape(Shape s)
{
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = dim_resolve(s.dim[i]);
    return s;
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

/* A size that is found at run time may not become more than what it is declared to be; when it does, the run ends. */
static void bound_by(const Node *n, Symbol *s, int64_t most)
{
    if (s && !s->user && !n->graph->parent && most >= s->low && most < s->high)
        s->high = most;
}

/* What the model declares about a value, against what was inferred. */
static void meet_declared(Node *n, Value *v)
{
    if (!v->desc || v->desc->form != TENSOR || v->form != TENSOR)
        return;
    Shape want = resolve_shape(v->desc->shape);
    if (v->desc->elem && v->type && v->desc->elem != v->type) {
        error_node(n, "VIN-05", "'%s' is declared %s, but the operator gives %s", printable(v->name),
                   type_onnx(v->desc->elem), type_onnx(v->type));
        return;
    }
    if (want.rank < 0 || v->shape->rank < 0)
        return;
    Shape now = *v->shape;
    bool clash = want.rank != now.rank;
    for (int i = 0; i < want.rank && !clash; i++) {
        Dim a = want.dim[i], b = now.dim[i];
        if (dim_const(a) && dim_const(b))
            clash = !dim_same(a, b);
        else {
            bound_by(n, symbol_of(b), dim_high(a));
            if (dim_const(a)) { /* an assumption: checked at run time */
                assume_dim(n, b, a);
                now.dim[i] = a;
            }
        }
    }
    v->shape = shape_keep(now);
    if (clash) {
        error_node(n, "VIN-05", "'%s' is declared %s, but the operator gives %s", printable(v->name), shape_text(want),
                   shape_text(now));
    }
}

static bool poisoned(Node *n)
{
    bool bad = false;
    for (int i = 0; i < n->n_in; i++)
        bad |= n->in[i] && n->in[i]->poisoned;
    return bad;
}

void poison(Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            n->out[i]->poisoned = true;
}

static bool is_composite(const Node *n) { return n->op->expand || n->op->body; }

/* Replaces n by what its row says it means; returns the first of the new nodes (or the next). */
static Node *expand(Node *n)
{
    if (++expansions > MAX_EXPANSIONS)
        fail(EXIT_MODEL, "the model expands to more than %d operators", MAX_EXPANSIONS);
    Node *before = n->prev, *next = n->next;
    Graph *g = n->graph;
    int errors = error_count(), assumed = assumption_count();
    if (poisoned(n) || !check_types(n)) {
        poison(n);
        return next;
    }
    if (n->op->body)
        expand_body(n, n->op->body);
    else
        n->op->expand(n);
    if (error_count() == errors)
        assumptions_check(assumed);
    if (error_count() > errors) {
        poison(n);
        return next;
    }
    Node *first = before ? before->next : g->first;
    if (n->gone)
        node_free(n);
    return first;
}

void infer_node(Node *n)
{
    if (poisoned(n)) {
        poison(n);
        return;
    }
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->form == TENSOR && n->in[i]->shape->rank < 0 && !(n->op->flags & CONTROL)) {
            error_value(n->in[i], "IO-02", "the number of dimensions of '%s' is not known", printable(n->in[i]->name));
            note_help("give its shape: --shape %s=D,D,...", printable(n->in[i]->name));
            n->in[i]->poisoned = true;
            poison(n);
            return;
        }
    int errors = error_count(), assumed = assumption_count();
    if (!check_types(n)) {
        poison(n);
        return;
    }
    if (!n->op->infer)
        bug("operator %s has no infer", n->op->name);
    n->op->infer(n);
    if (error_count() == errors && !(n->op->flags & CONTROL))
        assumptions_check(assumed);
    if (is_composite(n)) /* as it has found out: it is expanded next */
        return;
    if (error_count() == errors)
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                meet_declared(n, n->out[i]);
    if (error_count() > errors)
        poison(n);
    else
        fold(n);
}

/* The constant that is known as these bytes of this type and shape already; else y. */
static Value *known_constant(Value *y)
{
    OF_RUN static Map known; /* bytes -> Value */
    Value *same = map_get(&known, y->data->data);
    if (same && same->graph == y->graph && same->type == y->type && same->shape == y->shape &&
        same->data->fill == y->data->fill) {
        value_free(y);
        return same;
    }
    map_put(&known, y->data->data, y);
    return y;
}

Value *folded_node(Node *n)
{
    infer_node(n);
    Value *y = n->out[0];
    if (!y->data || y->data->thunk)
        return y;
    y->def = NULL;
    y->kept = true;
    node_free(n);
    return known_constant(y);
}

Value *inferred(Value *made)
{
    infer_node(made->def);
    return made;
}

OF_RUN static bool looked_at; /* some operator of the model looks back at nodes of constants */

static void look_back(Node *n, void *arg)
{
    (void)arg;
    looked_at |= (n->op->flags & LOOKS_BACK) != 0;
}

/* Arithmetic of constants, done: nobody looks for what a number was computed from. */
static bool is_done(const Node *n)
{
    return !looked_at && (n->op->map || n->op->flags & VIEW) && n->out[0] && n->out[0]->data &&
           !n->out[0]->data->symbolic && n->in[0] && n->in[0]->data;
}

void infer_between(Node *before, Node *end)
{
    Node *first = before ? before->next : end->graph->first;
    for (Node *n = first; n != end;)
        if (is_composite(n))
            n = expand(n);
        else {
            infer_node(n);
            n = is_composite(n) ? n : n->next;
        }
}

void infer_graph(Graph *g)
{
    for (Node *n = g->first; n;) {
        if (is_composite(n)) {
            n = expand(n);
            continue;
        }
        Node *before = n->prev;
        about_to_read(0);
        infer_node(n);
        if (is_composite(n))
            continue;
        /* A decided If has put its branch in its place: go through that. */
        if (n->op->flags & CONTROL && (n->prev ? n->prev->next : g->first) != n)
            n = before ? before->next : g->first;
        else {
            Node *done = is_done(n) ? n : NULL;
            n = n->next;
            if (done) {
                done->out[0]->def = NULL;
                node_free(done);
            }
            if (!g->parent)
                values_free();
        }
    }
}

static void check_bounds(Model *m);

void infer_model(Model *m)
{
    apply_dims();
    apply_shapes(m);
    apply_consts(m);
    stop_on_errors();
    containers_enter(m);
    stop_on_errors();
    for (int i = 0; i < m->graph->in.n; i++)
        m->graph->in.at[i]->shape = shape_keep(resolve_shape(*m->graph->in.at[i]->shape));
    graph_each_node(m->graph, look_back, NULL);
    infer_graph(m->graph);
    stop_on_errors();
    containers_leave(m);
    check_dims_used();
    check_bounds(m);
    stop_on_errors();
}

/* ---- sizes without a bound ----------------------------------------------------------------------------------------- */

typedef struct Unbounded {
    VEC(Symbol *) list;
    bool found;
} Unbounded;

static void add_unbounded(Symbol *s, void *arg)
{
    Unbounded *u = arg;
    if (s->high != INT64_MAX)
        return;
    u->found = false;
    dim_symbols(s->most, add_unbounded, u);
    bool through_others = u->found;
    u->found = true;
    for (int i = 0; i < u->list.n; i++)
        through_others |= u->list.at[i] == s;
    if (!through_others)
        vec_push(&u->list, s);
}

static void collect_unbounded(Unbounded *u, const Value *v)
{
    if (!v || v->form != TENSOR || v->poisoned)
        return;
    for (int i = 0; i < v->shape->rank; i++)
        if (!dim_const(v->shape->dim[i]) && dim_high(v->shape->dim[i]) == INT64_MAX)
            dim_symbols(v->shape->dim[i], add_unbounded, u);
}

static void collect_node(Node *n, void *arg)
{
    for (int i = 0; i < n->n_out; i++)
        collect_unbounded(arg, n->out[i]);
}

/* Names the small inputs that v is computed from: frozen, they decide the size. */
static void help_inputs(Map *seen, const Value *v)
{
    enum { SMALL = 64, MANY = 1000 };
    if (!v || v->data || seen->n > MANY || map_get(seen, v))
        return;
    map_put(seen, v, (void *)(uintptr_t)v);
    if (v->input >= 0 && v->form == TENSOR && v->shape->rank >= 0 && dim_high(shape_count(*v->shape)) <= SMALL)
        note_help("or freeze the input that it comes from: --const %s=FILE.pb", printable(v->name));
    for (int i = 0; v->def && i < v->def->n_in; i++)
        help_inputs(seen, v->def->in[i]);
}

static void check_bounds(Model *m)
{
    Unbounded u = {0};
    for (int i = 0; i < m->graph->in.n; i++)
        collect_unbounded(&u, m->graph->in.at[i]);
    graph_each_node(m->graph, collect_node, &u);
    for (int i = 0; i < u.list.n; i++) {
        Symbol *s = u.list.at[i];
        if (s->input && !s->user) {
            error_value(s->input, "SHP-11", "dimension %d of input '%s' %s has no size", s->axis,
                        printable(s->input->name), shape_text(*s->input->shape));
            Text t = {0};
            for (int k = 0; k < s->input->shape->rank; k++)
                text_put(&t, "%s%s", k ? "," : "",
                         dim_const(s->input->shape->dim[k])
                             ? name_format("%lld", (long long)dim_value(s->input->shape->dim[k]))->s
                             : "N");
            note_help("give it one: --shape %s=%s", printable(s->input->name), t.s);
        } else if (s->user) {
            error_at("", "SHP-11", "dimension '%s' has no bound", printable(s->name));
            note_help("give it a value, --dim %s=1, or a bound, --dim '%s<=64'", printable(s->name),
                      printable(s->name));
        } else {
            error_at("", "SHP-11", "the size '%s', known only at run time, has no bound", printable(s->name));
            note_help("give it a bound, --dim '%s<=64'", printable(s->name));
            Map seen = {0};
            if (s->from)
                help_inputs(&seen, s->from);
            for (int k = 0; s->node && k < s->node->n_in; k++)
                help_inputs(&seen, s->node->in[k]);
        }
    }
}
