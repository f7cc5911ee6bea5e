/* loop.c - elementwise loops: construction, merging of dimensions, execution inside the compiler. */
#include "ir/loop.h"
#include "ir/spatial.h"

#include "rt.h"

#include <math.h>
#include <stdlib.h>

Loop *loop_new(Shape s)
{
    Loop *l = NEW(Loop);
    l->shape = shape_keep(s);
    return l;
}

void loop_free(Loop *l)
{
    pool_free(l->in, sizeof *l->in * (size_t)l->n_in);
    pool_free(l->steps.at, sizeof *l->steps.at * (size_t)l->steps.cap);
    pool_free(l, sizeof *l);
}

int loop_literal(Loop *l, Type type, double f, int64_t i)
{
    Step s = {.fn = NULL, .a = type_arith(type), .type = type, .f = f, .i = i};
    for (int k = 0; k < l->steps.n; k++) /* equal literals are one step */
        if (!l->steps.at[k].fn && l->steps.at[k].type == type && !memcmp(&l->steps.at[k].f, &f, sizeof f) &&
            l->steps.at[k].i == i)
            return k;
    vec_push(&l->steps, s);
    return l->steps.n - 1;
}

/* Is the one element of v a NaN? A literal would lose its payload. */
static bool is_nan(const Value *v) { return type_is_float(v->type) && isnan(tensor_get(v->data, 0)); }

int loop_in(Loop *l, Value *v)
{
    const Tensor *t = v->data;
    bool number = v->type != STR && v->type != C64 && v->type != C128;
    if (t && !t->symbolic && number && (tensor_count(t) == 1 || tensor_is_uniform(t)) && !is_nan(v))
        return type_is_float(v->type) ? loop_literal(l, v->type, tensor_get(t, 0), 0)
                                      : loop_literal(l, v->type, 0, tensor_get_int(t, 0));
    for (int k = 0; k < l->n_in; k++)
        if (l->in[k] == v)
            return ~k;
    if (l->n_in == LOOP_IN)
        bug("too many inputs of a loop");
    l->in = pool_grow(l->in, sizeof v * (size_t)l->n_in, sizeof v * (size_t)(l->n_in + 1));
    l->in[l->n_in++] = v;
    return ~(l->n_in - 1);
}

int loop_step_list(Loop *l, const char *fn, Type a, Type type, int n_arg, const int *arg)
{
    Step s = {.fn = fn, .a = a, .type = type, .n_arg = n_arg};
    memcpy(s.arg, arg, sizeof *arg * (size_t)n_arg);
    vec_push(&l->steps, s);
    return l->steps.n - 1;
}

/* Element type of an argument: an input or a step. */
static Type loop_type(const Loop *l, int arg) { return arg < 0 ? l->in[~arg]->type : l->steps.at[arg].type; }

int loop_convert(Loop *l, int arg, Type type)
{
    Type from = loop_type(l, arg);
    return from == type ? arg : loop_step(l, "to", type_arith(from), type, 1, arg);
}

void loop_out(Loop *l, int step, Value *v)
{
    if (step < 0)
        step = loop_convert(l, step, v->type);
    l->out[l->n_out] = v;
    l->out_step[l->n_out++] = step;
}

Type copy_type(Type t) { return type_arith(t) == t || type_is_int(t) ? t : type_storage(t); }

/* "to" is Cast; its functions are named by the result type. */
const char *loop_function(const Step *s)
{
    return strcmp(s->fn, "to") ? s->fn : text_format("cast_%s", type_tag(s->type));
}

bool loop_reads(const Loop *l, int in)
{
    EACH_AT (s, l->steps)
        for (int k = 0; k < s->n_arg; k++)
            if (s->arg[k] == ~in)
                return true;
    return false;
}

bool step_rounds(const Step *s) { return s->type != type_arith(s->type) && strcmp(s->fn, "to"); }

void bind_loop(Node *n, Loop *l)
{
    vec_trim(&l->steps);
    n->call = (Call){.loop = l, .arg = NEWS(Value *, l->n_in + l->n_out)};
    for (int i = 0; i < l->n_in; i++)
        n->call.arg[n->call.n_arg++] = l->in[i];
    for (int i = 0; i < l->n_out; i++)
        n->call.arg[n->call.n_arg++] = l->out[i];
}

void bind_map(Node *n, const char *fn, int n_literal, const double *literal)
{
    Value *y = out(n, 0);
    Loop *l = loop_new(*y->shape);
    Step s = {.fn = fn, .type = y->type};
    for (int i = 0; i < n->n_in; i++) {
        s.arg[s.n_arg++] = loop_in(l, n->in[i]);
        s.a = type_arith(n->in[i]->type);
    }
    for (int i = 0; i < n_literal; i++)
        s.arg[s.n_arg++] = loop_literal(l, s.a, literal[i], 0);
    vec_push(&l->steps, s);
    loop_out(l, l->steps.n - 1, y);
    bind_loop(n, l);
}

/* Element strides of a value of shape s over the index space, right-aligned; 0 where it is broadcast. v: its
 * placement. */
static void broadcast_strides(Shape space, Shape s, const Value *v, Dim *stride)
{
    Dim step = D(1);
    bool together = dim_is(v->placement->pitch, 0); /* the remaining, outer dimensions are contiguous */
    for (int i = 0; i < space.rank; i++)
        stride[i] = D(0);
    for (int i = s.rank - 1, k = space.rank - 1; i >= 0 && k >= 0;
         i--, k--) { /* k < 0: in a branch that is never taken */
        if (!together && dim_identical(step, v->placement->run)) {
            together = true;
            step = v->placement->pitch;
        }
        stride[k] = dim_is(s.dim[i], 1) ? D(0) : step;
        if (!dim_identical(s.dim[i], space.dim[k]) && !dim_is(s.dim[i], 1)) /* the size may be 1 at run time */
            stride[k] = dim_select(dim_eq_expr(s.dim[i], D(1)), D(0), step);
        step = dim_mul(step, s.dim[i]);
    }
}

void loop_dims(const Loop *l, LoopDims *d)
{
    Dim all[LOOP_IN + LOOP_OUT][MAX_RANK];
    const int n = l->n_in + l->n_out;
    for (int k = 0; k < l->n_in; k++)
        broadcast_strides(*l->shape, *l->in[k]->shape, l->in[k], all[k]);
    for (int k = 0; k < l->n_out; k++)
        broadcast_strides(*l->shape, *l->shape, l->out[k], all[l->n_in + k]);
    d->rank = 0;
    for (int i = 0; i < l->shape->rank; i++) {
        if (dim_is(l->shape->dim[i], 1))
            continue;
        bool merge = d->rank > 0;
        for (int k = 0; k < n && merge; k++)
            merge = dim_identical(d->stride[k][d->rank - 1], dim_mul(all[k][i], l->shape->dim[i]));
        if (!merge)
            d->dim[d->rank++] = D(1);
        d->dim[d->rank - 1] = dim_mul(d->dim[d->rank - 1], l->shape->dim[i]);
        for (int k = 0; k < n; k++)
            d->stride[k][d->rank - 1] = all[k][i];
    }
    if (!d->rank) { /* one element */
        d->dim[d->rank++] = D(1);
        for (int k = 0; k < n; k++)
            d->stride[k][0] = D(0);
    }
}

/* ---- execution --------------------------------------------------------------------------------------------------- */

enum { BLOCK = 256 };

static void literal(const Step *s, void *to)
{
    for (int i = 0; i < BLOCK; i++)
        switch (type_arith(s->type)) {
        case F32: ((float *)to)[i] = (float)s->f; break;
        case F64: ((double *)to)[i] = s->f; break;
        case I32: ((int32_t *)to)[i] = (int32_t)s->i; break;
        case U32: ((uint32_t *)to)[i] = (uint32_t)s->i; break;
        default: ((int64_t *)to)[i] = s->i; break;
        }
}

typedef struct Run {
    const Loop *l;
    LoopDims d;
    const void *const *in;
    void *const *out;
    char *block;                /* BLOCK elements of 8 bytes per input and step */
    const Scalar **fn, **round; /* per step */
} Run;

static void *slot(const Run *r, int arg) { return r->block + (size_t)(arg < 0 ? ~arg : r->l->n_in + arg) * BLOCK * 8; }

/* Runs n elements from `at` on along the innermost dimension; base, stride: of each input and output. */
static void run_block(const Run *r, const idx *base, const idx *stride, idx at, idx n)
{
    const int n_in = r->l->n_in;
    for (int k = 0; k < n_in; k++)
        if (loop_reads(r->l, k))
            elements_load(r->l->in[k]->type, r->in[k], base[k] + at * stride[k], stride[k], n, slot(r, ~k));
    for (int i = 0; i < r->l->steps.n; i++) {
        const Step *s = &r->l->steps.at[i];
        if (!s->fn)
            continue;
        const void *arg[4];
        for (int k = 0; k < s->n_arg; k++)
            arg[k] = slot(r, s->arg[k]);
        r->fn[i]->run(arg, slot(r, i), n);
        if (r->round[i]) {
            arg[0] = slot(r, i);
            r->round[i]->run(arg, slot(r, i), n);
        }
    }
    for (int k = 0; k < r->l->n_out; k++) {
        int from = r->l->out_step[k], in = ~from;
        Type t = from < 0 ? copy_type(r->l->out[k]->type) : r->l->out[k]->type;
        if (from < 0) /* a copy of an input, in the slot after the steps' */
            elements_load(t, r->in[in], base[in] + at * stride[in], stride[in], n, slot(r, from = r->l->steps.n));
        elements_store(t, r->out[k], base[n_in + k] + at * stride[n_in + k], stride[n_in + k], n, slot(r, from));
    }
}

void loop_run(const Loop *l, const void *const *in, void *const *out)
{
    Run r = {.l = l, .in = in, .out = out};
    loop_dims(l, &r.d);
    size_t slots = (size_t)l->steps.n + 1;
    const size_t blocks = ((size_t)l->n_in + slots) * BLOCK * 8;
    r.block = pool_alloc(blocks);
    r.fn = pool_alloc(sizeof *r.fn * slots);
    r.round = pool_alloc(sizeof *r.round * slots);
    for (int i = 0; i < l->steps.n; i++) {
        const Step *s = &l->steps.at[i];
        if (!s->fn)
            literal(s, slot(&r, i));
        else
            r.fn[i] = scalar_find(loop_function(s), s->a);
        if (s->fn && !r.fn[i])
            bug("no scalar function %s for %s", loop_function(s), type_tag(s->a));
        if (s->fn && step_rounds(s))
            r.round[i] = scalar_find(text_format("rnd_%s", type_tag(s->type)), type_arith(s->type));
    }
    const int last = r.d.rank - 1, values = l->n_in + l->n_out;
    idx inner = (idx)dim_eval(r.d.dim[last]), outer = 1, stride[LOOP_IN + LOOP_OUT];
    for (int i = 0; i < last; i++)
        outer *= (idx)dim_eval(r.d.dim[i]);
    for (int k = 0; k < values; k++)
        stride[k] = (idx)dim_eval(r.d.stride[k][last]);
    for (idx o = 0; o < outer; o++) {
        idx base[LOOP_IN + LOOP_OUT] = {0}, rest = o;
        for (int i = last - 1; i >= 0; i--) {
            idx n = (idx)dim_eval(r.d.dim[i]);
            for (int k = 0; k < values; k++)
                base[k] += rest % n * (idx)dim_eval(r.d.stride[k][i]);
            rest /= n;
        }
        for (idx at = 0; at < inner; at += BLOCK)
            run_block(&r, base, stride, at, inner - at < BLOCK ? inner - at : BLOCK);
    }
    pool_free(r.block, blocks);
    pool_free(r.fn, sizeof *r.fn * slots);
    pool_free(r.round, sizeof *r.round * slots);
}
