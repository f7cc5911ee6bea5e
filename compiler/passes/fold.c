/* fold.c - constant folding: results are computed by running the node's kernel; as expressions, for integers that
 * depend on run-time sizes; or as splats. */
#include "base/options.h"
#include "ir/exec.h"
#include "ir/loop.h"
#include "ir/provenance.h"
#include "ir/scope.h"
#include "ir/spatial.h"
#include "passes/passes.h"

enum { EAGER_BYTES = 1 << 16, MAX_RUNS = 16 };

/* ---- symbolic integers: expressions over run-time sizes ---------------------------------------------------------- */

/* May v be a symbolic tensor, with Dims as elements? It must be a small one of integers or bools. */
static bool is_symbolic_integer(const Value *v)
{
    return v && (v->type == I64 || v->type == I32 || v->type == B8) && shape_is_const(*v->shape) &&
           dim_value(shape_count(*v->shape)) <= 64;
}

static const Dim dim_unknown = {INT64_MIN}; /* no dimension has this value */

/* Integer division, which rounds towards 0. */
static Dim dim_quotient(Dim a, Dim b)
{
    if (!dim_is_const(b) || !dim_value(b) || (!dim_is_const(a) && dim_value(b) < 0))
        return dim_unknown;
    if (dim_is_const(a))
        return dim_value(b) == -1 ? dim_sub(D(0), a) : D(dim_value(a) / dim_value(b));
    if (dim_low(a) > -dim_value(b))
        return dim_max(dim_div(a, b), D(0));
    return dim_select(dim_less_expr(a, D(0)), dim_ceil(a, b), dim_div(a, b));
}
static Dim dim_remainder(Dim a, Dim b) { return dim_is_const(b) && dim_value(b) > 0 ? dim_mod(a, b) : dim_unknown; }
static Dim dim_greater(Dim a, Dim b) { return dim_less_expr(b, a); }

/* Does x follow from the sizes of tensors and the numbers of iterations alone? Those are below 2^31. */
static bool is_of_sizes(Dim x)
{
    EACH_SYMBOL (s, x)
        if (s->origin.kind == ORIGIN_ELEMENT && !symbol_is_iteration(s))
            return false;
    return true;
}

/* Node n's sum or product y, which the type has to hold: expressions saturate at 64 bits, where integers wrap around. A
 * run refuses one that has more. */
static void keep_to_type(Node *n, const Step *s, Dim y)
{
    static const char *const grow[] = {"add", "sub", "mul", "neg"};
    bool may_grow = false;
    for (size_t i = 0; i < sizeof grow / sizeof *grow; i++)
        may_grow |= !strcmp(s->fn, grow[i]);
    const int64_t max = s->type == I32 ? INT32_MAX : INT64_MAX - 1;
    if (may_grow && !dim_is_const(y) && !is_of_sizes(y))
        assume_dim(n, dim_max(D(-max - (s->type == I32)), dim_min(y, D(max))), y);
}

/* A conversion of x by node n. Of an int64 Cast to int32 keeps 32 bits; a run refuses one that has more. */
static bool convert_dim(Node *n, Dim x, const Step *s, Dim *y)
{
    *y = x;
    if (s->type == B8 && (dim_low(x) < 0 || dim_high(x) > 1))
        *y = dim_eq_expr(dim_eq_expr(x, D(0)), D(0));
    else if (s->type == I32 && dim_is_const(x))
        *y = D((int32_t)dim_value(x));
    else if (s->type == I32 && s->a == I64 && !is_of_sizes(x))
        assume_dim(n, dim_max(D(INT32_MIN), dim_min(x, D(INT32_MAX))), x);
    return s->type == I64 || s->type == I32 || s->type == B8;
}

/* The scalar functions that can be applied to symbolic integers. */
static bool apply_to_dims(const char *fn, int n, const Dim *x, Dim *y)
{
    static const struct {
        const char *fn;
        Dim (*two)(Dim, Dim);
    } twos[] = {{"add", dim_add},       {"sub", dim_sub},        {"mul", dim_mul}, {"div", dim_quotient},
                {"mod", dim_remainder}, {"min", dim_min},        {"max", dim_max}, {"less", dim_less_expr},
                {"equal", dim_eq_expr}, {"greater", dim_greater}};
    for (size_t i = 0; n == 2 && i < sizeof twos / sizeof *twos; i++)
        if (!strcmp(fn, twos[i].fn))
            return *y = twos[i].two(x[0], x[1]), !dim_identical(*y, dim_unknown);
    if (!strcmp(fn, "neg"))
        return *y = dim_sub(D(0), x[0]), true;
    if (!strcmp(fn, "not"))
        return *y = dim_eq_expr(x[0], D(0)), true;
    if (n == 3 && !strcmp(fn, "where"))
        return *y = dim_select(x[0], x[1], x[2]), true;
    if (n == 1 && !strcmp(fn, "identity"))
        return *y = x[0], true;
    return false;
}

/* Element e of a step's argument; step: results of the previous steps. */
static Dim argument_dim(const Loop *l, const LoopDims *d, int arg, int64_t e, const Dim *step)
{
    if (arg >= 0)
        return step[arg];
    int64_t at = 0;
    for (int q = d->rank - 1; q >= 0; q--) {
        at += e % dim_value(d->dim[q]) * dim_value(d->stride[~arg][q]);
        e /= dim_value(d->dim[q]);
    }
    return value_dim(l->in[~arg], (int)at);
}

/* Folds an elementwise node over symbolic integers, by the steps of its loop. */
static bool fold_symbolic_loop(Node *n)
{
    const Loop *l = n->call.loop;
    if (l->n_out != 1)
        return false;
    Tensor *t = tensor_symbolic(l->out[0]->type, *l->out[0]->shape);
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
            for (int k = 0; k < s->n_arg; k++)
                x[k] = argument_dim(l, &d, s->arg[k], e, step);
            if (!strcmp(s->fn, "to") ? !convert_dim(n, x[0], s, &step[i])
                                     : !apply_to_dims(s->fn, s->n_arg, x, &step[i]))
                return false;
            keep_to_type(n, s, step[i]);
        }
        ((Dim *)(uintptr_t)t->data)[e] = argument_dim(l, &d, l->out_step[0], e, step);
    }
    l->out[0]->data = tensor_materialise(t);
    return true;
}

/* Folds a reduction of sizes that follow from the inputs' to one. (A size that a run determines keeps its own name and
 * bound, as the longest of some lengths.) */
static bool fold_symbolic_reduction(Node *n)
{
    Value *x = n->in[0];
    const int64_t count = tensor_count(x->data);
    if (!n->op->reduces_by || count == 0 || !dim_is(shape_count(*n->out[0]->shape), 1))
        return false;
    Dim d = value_dim(x, 0);
    for (int i = 0; i < (int)count; i++)
        if (!dim_is_of_inputs(value_dim(x, i)))
            return false;
    for (int i = 1; i < (int)count; i++)
        if (!apply_to_dims(n->op->reduces_by, 2, (Dim[]){d, value_dim(x, i)}, &d))
            return false;
    Tensor *t = tensor_symbolic(n->out[0]->type, *n->out[0]->shape);
    *(Dim *)(uintptr_t)t->data = d;
    n->out[0]->data = tensor_materialise(t);
    return true;
}

/* Are all inputs constant or symbolic, and at least one symbolic? */
static bool has_symbolic_inputs(const Node *n)
{
    bool some = false;
    EACH_IN (v, n) {
        if (!v->data)
            return false;
        some |= v->data->symbolic;
    }
    return some;
}

static bool fold_symbolic(Node *n)
{
    if (!is_symbolic_integer(out(n, 0)) || n->fails)
        return false;
    if (n->op->pointwise || n->op->flags & ELEMENTWISE) {
        if (!n->call.loop)
            bind_node(n);
        return n->call.loop && fold_symbolic_loop(n);
    }
    if (!(n->op->flags & (MOVES | VIEW)))
        return fold_symbolic_reduction(n);
    EACH_OUT (v, n)
        if (!is_symbolic_integer(v))
            return false;
    return run_symbolic(n);
}

/* ---- integers computed at run time that determine sizes ---------------------------------------------------------- */

enum { TRACE_DEPTH = 64 };

typedef VEC(Value *) Leaves;

static bool trace(Value *v, Leaves *leaves, int depth);

/* Expresses v, a result of an If, by the results of the branches. */
static bool trace_branches(Value *v, Leaves *leaves, int depth)
{
    const Attr *a = node_attr(v->def, "then_branch"), *b = node_attr(v->def, "else_branch");
    if (!a || !b || v->def->n_out != a->g->out.n || symbols_of(v))
        return false;
    Value *of[] = {a->g->out.at[v->def_i], b->g->out.at[v->def_i]};
    for (int k = 0; k < 2; k++)
        if (!shape_identical(*of[k]->shape, *v->shape) || !trace(of[k], leaves, depth + 1))
            return false;
    Tensor *t = tensor_symbolic(v->type, *v->shape);
    for (int e = 0; e < (int)tensor_count(t); e++)
        ((Dim *)(uintptr_t)t->data)[e] =
            dim_select(value_dim(v->def->in[0], 0), value_dim(of[0], e), value_dim(of[1], e));
    v->data = tensor_materialise(t);
    return true;
}

/* Expresses v by the inputs of the nodes on small integers that compute it. Where that is not possible v is a leaf: its
 * elements become symbols. */
static bool trace(Value *v, Leaves *leaves, int depth)
{
    Node *n = v->def;
    if (v->data)
        return true;
    if (!is_symbolic_integer(v))
        return false;
    bool through = n && depth < TRACE_DEPTH && !(n->op->flags & (RANDOM | NOFOLD | CONTROL));
    for (int i = 0; through && i < n->n_in; i++)
        through = !n->in[i] || trace(n->in[i], leaves, depth + 1);
    if (through && fold_symbolic(n)) {
        provenance_folded(n);
        return true;
    }
    if (n && n->op->flags & CONTROL && depth < TRACE_DEPTH && trace_branches(v, leaves, depth)) {
        provenance_folded(n);
        return true;
    }
    Tensor *t = tensor_symbolic(v->type, *v->shape);
    for (int e = 0; e < (int)tensor_count(t); e++)
        ((Dim *)(uintptr_t)t->data)[e] = value_dim(v, e);
    v->data = t;
    vec_push(leaves, v);
    return true;
}

void trace_value(Value *v)
{
    Leaves leaves = {0};
    trace(v, &leaves, 0);
    for (int i = 0; i < leaves.n; i++)
        leaves.at[i]->data = NULL;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

/* If all inputs are splats and the node only moves or maps elements, the output is a splat. */
static bool fold_fill(Node *n)
{
    Value *y = out(n, 0);
    bool moves = n->op->flags & (MOVES | VIEW), maps = n->op->pointwise != NULL;
    if (n->n_out != 1 || !(moves || maps) || y->type == STR || dim_value(shape_count(*y->shape)) < 2)
        return false;
    const Tensor *first = in(n, 0) ? in(n, 0)->data : NULL;
    if (!first || (!first->splat && tensor_count(first) != 1))
        return false;
    for (int i = 1; i < n->n_in; i++) {
        const Tensor *t = in(n, i) ? in(n, i)->data : NULL;
        if (maps && (!t || (!t->splat && tensor_count(t) != 1)))
            return false;
        if (moves && t && t->type == first->type && op_moves_input(n, i) &&
            ((!t->splat && tensor_count(t) != 1) || type_bits(t->type) % 8 ||
             memcmp(t->data, first->data, (size_t)type_bits(t->type) / 8)))
            return false;
    }
    y->data = maps ? run_one(n) : tensor_new_fill(y->type, *y->shape, first->data);
    return y->data != NULL;
}

static bool can_fold(const Node *n)
{
    if (n->op->flags & (RANDOM | NOFOLD | CONTROL) || n->fails || n->late)
        return false;
    EACH_IN (v, n)
        if (!v->data || v->data->symbolic)
            return false;
    EACH_OUT (v, n)
        if (v->form != TENSOR || !shape_is_const(*v->shape) || v->data)
            return false;
    return true;
}

/* A copy of n that outlives it. */
static Node *copied(const Node *n)
{
    Node *c = NEW_COPY(*n);
    c->in = memcpy(NEWS(Value *, n->n_in), n->in, sizeof *n->in * (size_t)n->n_in);
    c->out = memcpy(NEWS(Value *, n->n_out), n->out, sizeof *n->out * (size_t)n->n_out);
    c->attr = NEWS(Attr, n->n_attr);
    if (n->n_attr)
        memcpy(c->attr, n->attr, sizeof *n->attr * (size_t)n->n_attr);
    c->prev = c->next = NULL;
    c->use = NULL;
    EACH_IN (v, n)
        v->pinned = true;
    EACH_OUT (v, n)
        v->pinned = true;
    return c;
}

/* Records n as the origin of its result if a constant that n reads has elements of fewer bits. */
static void keep_origin(const Node *n)
{
    enum { FEW = 256 };
    Value *y = n->out[0];
    const bool elementwise = n->op->pointwise || n->op->flags & ELEMENTWISE;
    const bool wide = y->type == F32 || y->type == I32 || y->type == F16 || y->type == BF16;
    if (n->n_out != 1 || !wide || y->data->origin || y->data->splat ||
        !(elementwise || n->op->flags & (MOVES | VIEW | PACKS)) || tensor_count(y->data) < FEW)
        return;
    bool narrow = false;
    EACH_IN (v, n)
        narrow |= v->data && !v->data->symbolic &&
                  (v->data->origin || (v->type != STR && type_bits(v->type) < type_bits(y->type)));
    if (narrow)
        y->data->origin = y->data->thunk && y->data->thunk->op == n->op ? y->data->thunk : copied(n);
}

/* Folds a view of a constant with a known shape, even if its shape input is not constant: that one is checked at run
 * time. */
static bool fold_view(Node *n)
{
    Value *x = in(n, 0), *y = out(n, 0);
    if (!(n->op->flags & VIEW) || !x->data || x->data->symbolic || y->data || y->form != TENSOR ||
        !shape_is_const(*y->shape))
        return false;
    y->data = tensor_view(x->data, *y->shape);
    y->data->type = y->type; /* BitCast: another type with the same bits */
    if (x->type == y->type)
        keep_origin(n);
    return true;
}

/* The number of nodes to run for n's results if no intermediate result is kept. */
static int runs_for(const Node *n)
{
    int runs = 1;
    EACH_IN (v, n)
        if (v->data->thunk && runs <= MAX_RUNS)
            runs += v->data->runs;
    return runs;
}

/* May n be skipped in a run, and can its kernel fail? */
static bool is_doubtful(Node *n)
{
    if (always_runs(n))
        return false;
    bind_node(n);
    bool fallible = n->call.kernel && n->call.kernel->fallible;
    unbind_node(n);
    return fallible;
}

void fold(Node *n)
{
    if (fold_view(n))
        return;
    if (!can_fold(n)) {
        if (has_symbolic_inputs(n) && !(n->op->flags & (RANDOM | NOFOLD | CONTROL)) && out(n, 0) && !out(n, 0)->data)
            fold_symbolic(n);
        return;
    }
    if (fold_fill(n))
        return;
    size_t bytes = 0;
    EACH_OUT (v, n)
        bytes += type_bytes(v->type, dim_value(shape_count(*v->shape)));
    if (!bytes) {
        EACH_OUT (v, n)
            v->data = tensor_zero(v->type, *v->shape);
        return;
    }
    if (bytes > pool_room() / 2) { /* there may be two copies, besides the inputs */
        error_node(n, "LIM-02", "its result is constant and has %zu bytes, more than onnxcc can fold", bytes);
        return;
    }
    const int runs = runs_for(n);
    if (bytes <= EAGER_BYTES || runs > MAX_RUNS || is_doubtful(n)) {
        run_node(n);
        if (out(n, 0) && out(n, 0)->data)
            keep_origin(n);
        return;
    }
    Node *thunk = copied(n); /* runs when the bytes are needed, and again after tensor_drop */
    EACH_OUT (v, n) {
        v->data = tensor_lazy(v->type, *v->shape);
        v->data->thunk = thunk;
        v->data->run = run_node;
        v->data->thunk_out = v->def_i;
        v->data->runs = runs;
    }
    keep_origin(n);
}

/* ---- inputs that determine sizes --------------------------------------------------------------------------------- */

int in_dims(Node *n, int i, Dim *out, int max)
{
    Value *v = in(n, i);
    if (!v)
        bug("%s: input %d is omitted", n->op->name, i);
    if (!v->data && v->def)
        trace_value(v);
    Dim count = shape_count(*v->shape);
    if (v->shape->rank == 1 && !dim_is_const(count) && dim_high(count) == 1 && max > 0) {
        assume_dim(n, count, D(1)); /* with none, the result would have another rank: a status */
        count = D(1);
    }
    if (v->shape->rank > 1 || !dim_is_const(count)) {
        error_node(n, "SHP-14", "input %d determines a shape, but its number of elements is not known", i);
        note_help("give it a constant value with --const, or its shape with --shape or --dim");
        return -1;
    }
    if (dim_value(count) > max) {
        error_node(n, "SHP-14", "input %d has %lld numbers; at most %d are allowed", i, (long long)dim_value(count),
                   max);
        return -1;
    }
    for (int e = 0; e < (int)dim_value(count); e++)
        out[e] = value_dim(v, e);
    return (int)dim_value(count);
}

int in_ints(Node *n, int i, int64_t *out, int max)
{
    Dim d[64];
    int k = in_dims(n, i, d, max < 64 ? max : 64);
    for (int e = 0; e < k; e++) {
        if (!dim_is_const(d[e])) {
            error_node(n, "SEM-07", "input %d ('%s') must be known when the model is compiled", i,
                       printable(in(n, i)->name));
            note_help("freeze it: --const %s=FILE.pb", printable(option_quoted(in(n, i)->name)));
            return -1;
        }
        out[e] = dim_value(d[e]);
    }
    return k;
}
