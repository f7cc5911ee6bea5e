/* infer.c - infer and fold: one forward walk that gives every value its type and shape, runs every node whose inputs
 * are known, replaces old versions and composites by what they mean, and takes the branch of a decided If.
 * Requires: a checked graph. Leaves: type and shape on every value, v->data on every constant. */
#include "infer.h"

#include "container.h"
#include "kernel.h"
#include "schema.h"

enum { EAGER_BYTES = 1 << 16, MAX_EXPANSIONS = 2000000 };

static int expansions;

/* ---- what the user fixed: --dim, --shape, --const ---------------------------------------------------------- */

static Value *input_named(Model *m, const char *what, const char *option)
{
    for (int i = 0; i < m->graph->in.n; i++)
        if (name_is(m->graph->in.at[i]->name, what))
            return m->graph->in.at[i];
    error_at("", "", "%s: the model has no input '%s'", option, what);
    for (int i = 0; i < m->graph->in.n && i < 8; i++)
        note_help("input %d is '%s' %s", i, printable(m->graph->in.at[i]->name), shape_text(m->graph->in.at[i]->shape));
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
        if (!found) {
            error_at("", "", "--dim %s: the model has no dimension of this name", o->name);
            for (int k = 0; k < symbol_count(); k++)
                if (symbol_at(k)->user)
                    note_help("it has '%s'", printable(symbol_at(k)->name));
        } else if (o->low == o->high)
            symbol_fix(found, D(o->low));
        else {
            found->low = o->low;
            found->high = o->high;
        }
    }
}

static void apply_shapes(Model *m)
{
    for (int i = 0; i < opt.shapes.n; i++) {
        struct ShapeOption *o = &opt.shapes.at[i];
        Value *v = input_named(m, o->input, "--shape");
        if (!v)
            continue;
        if (v->shape.rank >= 0 && v->shape.rank != o->rank) {
            error_value(v, "", "--shape gives %d dimensions, the input has %d: %s", o->rank, v->shape.rank,
                        shape_text(v->shape));
            continue;
        }
        for (int k = 0; k < o->rank; k++) {
            /* A name that exporters give to every open dimension ("?") binds none of them to the others here. */
            Dim old = v->shape.rank < 0 ? D(o->dim[k]) : v->shape.dim[k], now = dim_resolve(old);
            if (dim_const(old) && dim_value(old) != o->dim[k])
                error_value(v, "", "--shape gives %lld for dimension %d, the model says %lld", (long long)o->dim[k], k,
                            (long long)dim_value(old));
            else if (!dim_const(now))
                symbol_fix(symbol_of(now), D(o->dim[k]));
            v->shape.dim[k] = D(o->dim[k]);
        }
        v->shape.rank = o->rank;
    }
}

static void apply_consts(Model *m)
{
    for (int i = 0; i < opt.consts.n; i++) {
        Value *v = input_named(m, opt.consts.at[i].input, "--const");
        if (!v)
            continue;
        Tensor *t = read_tensor_file(opt.consts.at[i].file);
        if (t->type != v->type)
            error_value(v, "", "--const: %s holds %s, the input is %s", opt.consts.at[i].file, type_onnx(t->type),
                        type_onnx(v->type));
        else if (v->shape.rank >= 0 && v->shape.rank != t->rank)
            error_value(v, "", "--const: %s has %d dimensions, the input %d", opt.consts.at[i].file, t->rank, v->shape.rank);
        else {
            for (int k = 0; k < t->rank && v->shape.rank >= 0; k++) {
                Dim d = dim_resolve(v->shape.dim[k]);
                if (dim_const(d) && dim_value(d) != t->dim[k])
                    error_value(v, "", "--const: dimension %d of %s is %lld, the model says %lld", k,
                                opt.consts.at[i].file, (long long)t->dim[k], (long long)dim_value(d));
                else if (!dim_const(d))
                    symbol_fix(symbol_of(d), D(t->dim[k]));
            }
            v->data = t;
            v->shape = tensor_shape(t);
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

/* ---- folding ------------------------------------------------------------------------------------------------ */

/* Values of integers that are only partly known: element moves run on the Dims themselves. */
static bool is_symbolic_integer(const Value *v)
{
    return v && (v->type == I64 || v->type == I32 || v->type == B8) && dim_const(shape_count(v->shape)) &&
           dim_value(shape_count(v->shape)) <= 64;
}

static Tensor *symbolic_tensor(const Value *v)
{
    int64_t dim[MAX_RANK];
    for (int i = 0; i < v->shape.rank; i++)
        dim[i] = dim_value(v->shape.dim[i]);
    Tensor *t = tensor_new(I64, v->shape.rank, dim);
    t->type = v->type;
    t->symbolic = true;
    return t;
}

/* A symbolic tensor all of whose elements turned out to be numbers is an ordinary constant. */
Tensor *tensor_settle(Tensor *t)
{
    int64_t n = tensor_count(t);
    const Dim *d = t->data;
    for (int64_t i = 0; i < n; i++)
        if (!dim_const(d[i]))
            return t;
    Tensor *c = tensor_new(t->type, t->rank, t->dim);
    for (int64_t i = 0; i < n; i++)
        switch (t->type) {
        case I64: ((int64_t *)(uintptr_t)c->data)[i] = dim_value(d[i]); break;
        case I32: ((int32_t *)(uintptr_t)c->data)[i] = (int32_t)dim_value(d[i]); break;
        default: ((uint8_t *)(uintptr_t)c->data)[i] = (uint8_t)dim_value(d[i]); break;
        }
    return c;
}

static const Dim dim_unknown = {INT64_MIN}; /* no dimension has this value */

static Dim dim_negate(Dim a) { return dim_sub(D(0), a); }
static Dim dim_quotient(Dim a, Dim b)
{
    if (dim_const(b) && dim_value(b) > 0 && dim_low(a) >= 0)
        return dim_div(a, b);
    return dim_const(a) && dim_const(b) && dim_value(b) ? D(dim_value(a) / dim_value(b)) : dim_unknown;
}
static Dim dim_not(Dim a) { return dim_equal(a, D(0)); }
static Dim dim_greater(Dim a, Dim b) { return dim_less(b, a); }

/* The scalar functions that integers known as expressions can pass through. */
static bool scalar_dims(const char *fn, int n, const Dim *x, Dim *y)
{
    static const struct {
        const char *fn;
        Dim (*two)(Dim, Dim);
    } twos[] = {{"add", dim_add}, {"sub", dim_sub}, {"mul", dim_mul},     {"div", dim_quotient},    {"min", dim_min},
                {"max", dim_max}, {"less", dim_less}, {"equal", dim_equal}, {"greater", dim_greater}};
    static const struct {
        const char *fn;
        Dim (*one)(Dim);
    } ones[] = {{"neg", dim_negate}, {"not", dim_not}};
    for (size_t i = 0; n == 2 && i < sizeof twos / sizeof *twos; i++)
        if (!strcmp(fn, twos[i].fn))
            return *y = twos[i].two(x[0], x[1]), !dim_same(*y, dim_unknown);
    for (size_t i = 0; n == 1 && i < sizeof ones / sizeof *ones; i++)
        if (!strcmp(fn, ones[i].fn))
            return *y = ones[i].one(x[0]), true;
    if (n == 3 && !strcmp(fn, "where"))
        return *y = dim_select(x[0], x[1], x[2]), true;
    if (n == 1 && (!strcmp(fn, "to") || !strcmp(fn, "identity")))
        return *y = x[0], true;
    return false;
}

/* An elementwise node over symbolic integers, by its loop's steps. */
static bool fold_symbolic_loop(Node *n)
{
    const Loop *l = n->call.loop;
    if (l->n_out != 1)
        return false;
    Tensor *t = symbolic_tensor(l->out[0]);
    int64_t count = tensor_count(t);
    LoopDims d;
    loop_dims(l, &d);
    Dim *step = NEWS(Dim, l->steps.n);
    for (int64_t e = 0; e < count; e++) {
        for (int i = 0; i < l->steps.n; i++) {
            const Step *s = &l->steps.at[i];
            if (type_is_float(s->type) || (s->fn && type_is_float(s->a)))
                return false;
            if (!s->fn) {
                step[i] = D(s->i);
                continue;
            }
            Dim x[4];
            for (int k = 0; k < s->n_arg; k++) {
                int64_t at = 0, rest = e;
                for (int q = d.rank - 1; q >= 0 && s->arg[k] < 0; q--) {
                    at += rest % dim_value(d.dim[q]) * dim_value(d.stride[~s->arg[k]][q]);
                    rest /= dim_value(d.dim[q]);
                }
                x[k] = s->arg[k] < 0 ? value_dim(l->in[~s->arg[k]], (int)at) : step[s->arg[k]];
            }
            if (!scalar_dims(s->fn, s->n_arg, x, &step[i]))
                return false;
        }
        ((Dim *)(uintptr_t)t->data)[e] = step[l->out_step[0]];
    }
    l->out[0]->data = tensor_settle(t);
    return true;
}

/* Inputs of small integers, at least one of them symbolic, the others constant. */
static bool symbolic_inputs(const Node *n)
{
    bool some = false;
    for (int i = 0; i < n->n_in; i++) {
        const Value *v = n->in[i];
        if (v && !v->data)
            return false;
        some |= v && v->data->symbolic;
    }
    return some;
}

static bool fold_symbolic(Node *n)
{
    if (!is_symbolic_integer(out(n, 0)))
        return false;
    if (n->op->map || n->op->flags & ELEMENTWISE) {
        if (!n->call.loop)
            bind_node(n);
        return n->call.loop && fold_symbolic_loop(n);
    }
    if (!(n->op->flags & (MOVES | VIEW)))
        return false;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && !is_symbolic_integer(n->out[i]))
            return false;
    return run_symbolic(n);
}

/* Every element of every input equal, and the node only moves or maps elements: so is the output. */
static bool fold_fill(Node *n)
{
    Value *y = out(n, 0);
    bool moves = n->op->flags & (MOVES | VIEW), maps = n->op->map != NULL;
    if (n->n_out != 1 || !(moves || maps) || y->type == STR || dim_value(shape_count(y->shape)) < 2)
        return false;
    const Tensor *first = in(n, 0) ? in(n, 0)->data : NULL;
    if (!first || (!first->fill && tensor_count(first) != 1))
        return false;
    for (int i = 1; i < n->n_in; i++) {
        const Tensor *t = in(n, i) ? in(n, i)->data : NULL;
        if (maps && (!t || (!t->fill && tensor_count(t) != 1)))
            return false;
        if (moves && t && t->type == first->type && op_moves_input(n, i) &&
            ((!t->fill && tensor_count(t) != 1) || type_bits(t->type) % 8 ||
             memcmp(t->data, first->data, (size_t)type_bits(t->type) / 8)))
            return false;
    }
    y->data = maps ? run_one(n) : tensor_new_fill(y->type, y->shape, first->data);
    return y->data != NULL;
}

static bool can_fold(const Node *n)
{
    if (n->op->flags & (RANDOM | NOFOLD | CONTROL))
        return false;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && (!n->in[i]->data || n->in[i]->data->symbolic))
            return false;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && (n->out[i]->form != TENSOR || n->out[i]->shape.rank < 0 || !shape_const(n->out[i]->shape) ||
                          n->out[i]->data))
            return false;
    return true;
}

/* Another shape for a constant is known even when the numbers that ask for it are not: they are checked at run time. */
static bool fold_view(Node *n)
{
    Value *x = in(n, 0), *y = out(n, 0);
    if (!(n->op->flags & VIEW) || !x->data || x->data->symbolic || y->data || y->form != TENSOR || !shape_const(y->shape))
        return false;
    y->data = tensor_view(x->data, y->shape);
    return true;
}

static void fold(Node *n)
{
    if (fold_view(n))
        return;
    if (!can_fold(n)) {
        if (symbolic_inputs(n) && !(n->op->flags & (RANDOM | NOFOLD | CONTROL)) && out(n, 0) && !out(n, 0)->data)
            fold_symbolic(n);
        return;
    }
    if (fold_fill(n))
        return;
    size_t bytes = 0;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            bytes += type_bytes(n->out[i]->type, dim_value(shape_count(n->out[i]->shape)));
    if (bytes <= EAGER_BYTES) {
        run_node(n);
        return;
    }
    Node *thunk = NEW(Node); /* computed when somebody asks for the bytes, and again if need be */
    *thunk = *n;
    thunk->in = NEWS(Value *, n->n_in);
    memcpy(thunk->in, n->in, sizeof *n->in * (size_t)n->n_in);
    thunk->out = NEWS(Value *, n->n_out);
    memcpy(thunk->out, n->out, sizeof *n->out * (size_t)n->n_out);
    thunk->prev = thunk->next = NULL;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]) {
            n->out[i]->data = tensor_lazy(n->out[i]->type, n->out[i]->shape);
            n->out[i]->data->thunk = thunk;
            n->out[i]->data->thunk_out = i;
        }
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

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
    if (want.rank < 0 || v->shape.rank < 0)
        return;
    bool clash = want.rank != v->shape.rank;
    for (int i = 0; i < want.rank && !clash; i++) {
        Dim a = want.dim[i], b = v->shape.dim[i];
        if (dim_const(a) && dim_const(b))
            clash = !dim_same(a, b);
        else if (dim_const(a)) { /* an assumption: checked at run time */
            assume_dim(n, b, a);
            Symbol *s = symbol_of(b);
            if (s && !s->user && !n->graph->parent && dim_value(a) >= s->low && dim_value(a) < s->high)
                s->high = dim_value(a);
            v->shape.dim[i] = a;
        }
    }
    if (clash) {
        error_node(n, "VIN-05", "'%s' is declared %s, but the operator gives %s", printable(v->name), shape_text(want),
                   shape_text(v->shape));
    }
}

static bool poisoned(Node *n)
{
    bool bad = false;
    for (int i = 0; i < n->n_in; i++)
        bad |= n->in[i] && n->in[i]->poisoned;
    return bad;
}

static void poison(Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            n->out[i]->poisoned = true;
}

/* Replaces n by what its row says it means; returns the first of the new nodes (or the next). */
static Node *expand(Node *n)
{
    if (++expansions > MAX_EXPANSIONS)
        fail(EXIT_MODEL, "the model expands to more than %d operators", MAX_EXPANSIONS);
    Node *before = n->prev, *next = n->next;
    Graph *g = n->graph;
    int errors = error_count();
    if (n->op->body)
        expand_body(n, n->op->body);
    else
        n->op->expand(n);
    if (error_count() > errors) {
        poison(n);
        return next;
    }
    return before ? before->next : g->first;
}

void infer_node(Node *n)
{
    if (poisoned(n)) {
        poison(n);
        return;
    }
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->form == TENSOR && n->in[i]->shape.rank < 0 && !(n->op->flags & CONTROL)) {
            error_value(n->in[i], "IO-02", "the number of dimensions of '%s' is not known", printable(n->in[i]->name));
            note_help("give its shape: --shape %s=D,D,...", printable(n->in[i]->name));
            n->in[i]->poisoned = true;
            poison(n);
            return;
        }
    int errors = error_count();
    if (!check_types(n)) {
        poison(n);
        return;
    }
    if (!n->op->infer)
        bug("operator %s has no infer", n->op->name);
    n->op->infer(n);
    if (error_count() == errors)
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                meet_declared(n, n->out[i]);
    if (error_count() > errors)
        poison(n);
    else
        fold(n);
}

void infer_graph(Graph *g)
{
    for (Node *n = g->first; n;) {
        if (n->op->expand || n->op->body) {
            n = poisoned(n) || !check_types(n) ? (poison(n), n->next) : expand(n);
            continue;
        }
        Node *before = n->prev;
        infer_node(n);
        /* A decided If has put its branch in its place: go through that. */
        if (n->op->flags & CONTROL && (n->prev ? n->prev->next : g->first) != n)
            n = before ? before->next : g->first;
        else
            n = n->next;
    }
}

static VEC(Assumption) assumptions;

void assume_dim(const Node *n, Dim d, Dim is)
{
    if (!dim_same(d, is))
        vec_push(&assumptions, ((Assumption){n, d, is}));
}

bool require_dim(const Node *n, const char *what, Dim d, Dim is)
{
    if (dim_is(dim_equal(d, is), 0)) {
        Text has = {0}, wants = {0};
        dim_print(&has, d, false);
        dim_print(&wants, is, false);
        node_error(n, "%s: %s instead of %s", what, has.s, wants.s);
        return false;
    }
    assume_dim(n, d, is);
    return true;
}

typedef struct AllKnown {
    bool (*known)(const Symbol *);
    bool all;
} AllKnown;

static void is_known(Symbol *s, void *arg)
{
    AllKnown *k = arg;
    k->all &= k->known(s);
}

bool assumption_known(const Assumption *a, bool (*known)(const Symbol *))
{
    AllKnown k = {known, true};
    dim_symbols(a->d, is_known, &k);
    dim_symbols(a->is, is_known, &k);
    return k.all;
}

int assumption_count(void) { return assumptions.n; }

void assumptions_forget(int from, int to)
{
    memmove(&assumptions.at[from], &assumptions.at[to], sizeof *assumptions.at * (size_t)(assumptions.n - to));
    assumptions.n -= to - from;
}

Assumption *assumption_at(int i) { return &assumptions.at[i]; }

static void check_bounds(Model *m);

void infer_model(Model *m)
{
    expansions = 0;
    memset(&assumptions, 0, sizeof assumptions);
    apply_dims();
    apply_shapes(m);
    apply_consts(m);
    stop_on_errors();
    containers_enter(m);
    stop_on_errors();
    for (int i = 0; i < m->graph->in.n; i++)
        m->graph->in.at[i]->shape = resolve_shape(m->graph->in.at[i]->shape);
    infer_graph(m->graph);
    stop_on_errors();
    containers_leave(m);
    check_bounds(m);
    stop_on_errors();
}

/* ---- sizes without a bound ----------------------------------------------------------------------------------------- */

typedef struct Unbounded {
    VEC(Symbol *) list;
} Unbounded;

static void add_unbounded(Symbol *s, void *arg)
{
    Unbounded *u = arg;
    if (s->high != INT64_MAX)
        return;
    for (int i = 0; i < u->list.n; i++)
        if (u->list.at[i] == s)
            return;
    vec_push(&u->list, s);
}

static void collect_unbounded(Unbounded *u, const Value *v)
{
    if (!v || v->form != TENSOR || v->poisoned)
        return;
    for (int i = 0; i < v->shape.rank; i++)
        if (!dim_const(v->shape.dim[i]) && dim_high(v->shape.dim[i]) == INT64_MAX)
            dim_symbols(v->shape.dim[i], add_unbounded, u);
}

static void collect_node(Node *n, void *arg)
{
    for (int i = 0; i < n->n_out; i++)
        collect_unbounded(arg, n->out[i]);
}

static void check_bounds(Model *m)
{
    Unbounded u = {0};
    for (int i = 0; i < m->graph->in.n; i++)
        collect_unbounded(&u, m->graph->in.at[i]);
    graph_each(m->graph, collect_node, &u);
    for (int i = 0; i < u.list.n; i++) {
        Symbol *s = u.list.at[i];
        if (s->input && !s->user) {
            error_value(s->input, "SHP-11", "dimension %d of input '%s' %s has no size", s->axis,
                        printable(s->input->name), shape_text(s->input->shape));
            Text t = {0};
            for (int k = 0; k < s->input->shape.rank; k++)
                text_put(&t, "%s%s", k ? "," : "", dim_const(s->input->shape.dim[k]) ? name_format("%lld", (long long)dim_value(s->input->shape.dim[k]))->s : "N");
            note_help("give it one: --shape %s=%s", printable(s->input->name), t.s);
        } else if (s->user) {
            error_at("", "SHP-11", "dimension '%s' has no bound", printable(s->name));
            note_help("give it a value, --dim %s=1, or a bound, --dim '%s<=64'", printable(s->name), printable(s->name));
        } else {
            error_at("", "SHP-11", "the size '%s', known only at run time, has no bound", printable(s->name));
            if (s->from)
                note_help("it is element %d of '%s': freeze that with --const %s=FILE.pb", s->element,
                          printable(s->from->name), printable(s->from->name));
        }
    }
}
