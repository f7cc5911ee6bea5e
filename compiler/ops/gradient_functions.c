/* gradient_functions.c - what an operator gives back to its inputs, where a formula does not say it. */
#include "gradient.h"

/* ---- shared by Gradient's files --------------------------------------------------------------------------------- */

Value *shape_like(Node *n, Value *v) { return make(n, "Shape", 1, v); }

Value *zeros_like(Node *n, Value *v) { return make(n, "Expand", 2, make_scalar(n, v->type, 0), shape_like(n, v)); }

Value *sum_over(Node *n, Value *v, int k, const int64_t *axes)
{
    return k ? make(n, "ReduceSum", 2, v, make_ints(n, k, axes)) : v;
}

Value *reshape_like(Node *n, Value *v, Value *x)
{
    v = make(n, "Reshape", 2, v, shape_like(n, x));
    attr_set_int(v->def, "allowzero", 1);
    return v;
}

Value *gather_up(Node *n, Value *v, Shape from, Value *x)
{
    int64_t axes[MAX_RANK];
    Shape s = *x->shape;
    int k = 0, more = from.rank - s.rank;
    bool same_rank = more == 0;
    for (int i = 0; i < from.rank; i++)
        if (i < more || (dim_is(s.dim[i - more], 1) && !dim_is(from.dim[i], 1))) {
            axes[k++] = i;
            from.dim[i] = D(1);
        }
    v = sum_over(n, v, k, axes);
    for (int i = more; i < from.rank; i++) {
        Dim d = s.dim[i - more], after = dim_mul(d, shape_product(from, i + 1, from.rank));
        if (dim_same(d, from.dim[i]))
            continue;
        Dim times = dim_div(from.dim[i], dim_max(d, D(1))); /* 1, or all when d is 1 at run time */
        v = make_reshape(n, v, 3, (Dim[]){shape_product(from, 0, i), times, after});
        v = sum_over(n, v, 1, (int64_t[]){1});
        from.dim[i] = d;
        same_rank = false;
    }
    return same_rank ? v : reshape_like(n, v, x);
}

Value *transpose(Node *n, Value *v, int rank, const int64_t *perm)
{
    v = make(n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", rank, perm);
    return v;
}

Node *node_again(Node *n, const Node *m, Value **in, int n_in, int n_out)
{
    const char *domain = m->op->domain;
    Name op = name_format("%s%s%s", domain ? domain : "", domain ? "." : "", m->op->name);
    Node *c = make_node(n, op->s, n_in, in, n_out);
    c->source = m->source;
    for (int i = 0; i < m->n_attr; i++)
        attr_set(c, m->attr[i]);
    return c;
}

bool back_by(const BackFunction *f, size_t count, const Back *b, Value **v)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(f[i].op, b->m->op->name) && (*v = f[i].back(b)) != NULL)
            return true;
    return false;
}

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

static Value *reshaped(const Back *b) { return reshape_like(b->n, b->d, b->m->in[0]); }

static Value *transposed(const Back *b)
{
    const int64_t *perm;
    int64_t inverse[MAX_RANK];
    int rank = b->m->in[0]->shape->rank, k = attr_ints(b->m, "perm", &perm);
    for (int i = 0; i < rank; i++)
        inverse[k < 0 ? rank - 1 - i : axis_of(b->m, perm[i], rank)] = i;
    return transpose(b->n, b->d, rank, inverse);
}

static Value *concat_back(const Back *b)
{
    Value *x = b->m->in[b->i];
    int64_t axis = attr_axis(b->m, "axis", x->shape->rank);
    Dim from = D(0);
    for (int i = 0; i < b->i; i++)
        from = dim_add(from, b->m->in[i]->shape->dim[axis]);
    Dim end = dim_add(from, x->shape->dim[axis]);
    return make(b->n, "Slice", 4, b->d, make_dims(b->n, 1, &from), make_dims(b->n, 1, &end), make_ints(b->n, 1, &axis));
}

/* ---- moved elements --------------------------------------------------------------------------------------------- */

/* x with its elements numbered from 1. */
static Value *numbered(Node *n, Value *x, Type t)
{
    Value *one = make_int(n, 1), *end = make(n, "Add", 2, make(n, "Size", 1, x), one);
    return reshape_like(n, make_cast(n, make(n, "Range", 3, one, end, one), t), x);
}

/* Zeros like x, to which d is added at the elements of these numbers; 0: nowhere. */
static Value *put_back(const Back *b, Value *numbers, Value *d)
{
    Node *n = b->n;
    Value *x = b->m->in[b->i], *flat = make_ints(n, 1, (int64_t[]){-1}), *one = make_ints(n, 1, (int64_t[]){1});
    Value *room = make(n, "Reshape", 2, make(n, "Add", 2, make(n, "Size", 1, x), make_int(n, 1)), one);
    Value *v = make(n, "ScatterElements", 3, make(n, "Expand", 2, make_scalar(n, d->type, 0), room),
                    make(n, "Reshape", 2, make_cast(n, numbers, I64), flat), make(n, "Reshape", 2, d, flat));
    attr_set_string(v->def, "reduction", "add");
    v = make(n, "Slice", 3, v, one, make_ints(n, 1, (int64_t[]){INT64_MAX}));
    return reshape_like(n, v, x);
}

/* An operator that only moves elements tells where they came from when it moves their numbers; 0 stands for elements of
 * its other inputs. */
static Value *moved(const Back *b, Type t)
{
    Node *n = b->n, *m = b->m;
    Value **in = NEWS(Value *, m->n_in), *zero = make_scalar(n, t, 0);
    for (int i = 0; i < m->n_in; i++)
        in[i] = i == b->i ? numbered(n, m->in[i], t) : m->in[i];
    for (int i = 0; i < m->n_in; i++)
        if (i != b->i && m->in[i] && m->in[i]->type == m->in[b->i]->type)
            in[i] = make(n, "Expand", 2, zero, shape_like(n, m->in[i]));
    Node *c = node_again(n, m, in, m->n_in, m->n_out);
    if (node_attr(m, "extrapolation_value"))
        attr_set_float(c, "extrapolation_value", 0);
    return put_back(b, c->out[b->o], b->d);
}

static Value *moved_back(const Back *b) { return moved(b, I64); }

static Value *moved_as_float(const Back *b) { return moved(b, F64); } /* for those that have no integers */

/* Zeros like x, to which d is added where `op` puts it. */
static Value *added(const Back *b, const char *op, Value *where)
{
    Value *v = make(b->n, op, 3, zeros_like(b->n, b->m->in[0]), where, b->d);
    attr_set_string(v->def, "reduction", "add");
    return v;
}

static Value *added_along(const Back *b, Value *where)
{
    Value *v = added(b, "ScatterElements", where);
    attr_set_int(v->def, "axis", attr_axis(b->m, "axis", b->m->in[0]->shape->rank));
    return v;
}

/* Added to the rows, of the elements along the axis, that were taken. */
static Value *gather_back(const Back *b)
{
    Node *n = b->n;
    Value *x = b->m->in[0], *at = b->m->in[1];
    int rank = x->shape->rank, axis = attr_axis(b->m, "axis", rank), k = at->shape->rank;
    int64_t front[MAX_RANK], home[MAX_RANK], d_front[2 * MAX_RANK];
    if (rank + k - 1 > MAX_RANK)
        return NULL;
    for (int i = 0; i < rank; i++)
        front[i] = i == 0 ? axis : i - (i <= axis);
    for (int i = 0; i < rank; i++)
        home[front[i]] = i;
    for (int i = 0; i < rank + k - 1; i++)
        d_front[i] = i < k ? axis + i : i - k < axis ? i - k : i;
    Value *where = make(n, "Unsqueeze", 2, make_cast(n, at, I64), make_ints(n, 1, (int64_t[]){-1}));
    Value *v = make(n, "ScatterND", 3, transpose(n, zeros_like(n, x), rank, front), where,
                    transpose(n, b->d, rank + k - 1, d_front));
    attr_set_string(v->def, "reduction", "add");
    return transpose(n, v, rank, home);
}

static Value *gather_elements_back(const Back *b) { return added_along(b, b->m->in[1]); }

static Value *gather_nd_back(const Back *b)
{
    return attr_int(b->m, "batch_dims") ? moved_back(b) : added(b, "ScatterND", b->m->in[1]);
}

static Value *top_back(const Back *b)
{
    return b->o ? NULL : added_along(b, node_again(b->n, b->m, b->m->in, b->m->n_in, 2)->out[1]);
}

static Value *max_pool_back(const Back *b)
{
    Node *c = node_again(b->n, b->m, b->m->in, 1, 2);
    if (node_attr(b->m, "storage_order"))
        attr_set_int(c, "storage_order", 0);
    return b->o ? NULL : put_back(b, make(b->n, "Add", 2, c->out[1], make_int(b->n, 1)), b->d);
}

/* Known steps of 1: zeros around d. */
static Value *slice_back(const Back *b)
{
    Shape x = *b->m->in[0]->shape, y = *b->m->out[0]->shape;
    int64_t from[MAX_RANK], axes[MAX_RANK], steps[MAX_RANK];
    Dim pads[2 * MAX_RANK];
    for (int i = 1; i < b->m->n_in; i++)
        if (i != 2 && b->m->in[i] && !in_const(b->m, i))
            return moved_back(b);
    int k = in_ints(b->m, 1, from, MAX_RANK), n_axes = in(b->m, 3) ? in_ints(b->m, 3, axes, MAX_RANK) : k;
    int n_steps = in(b->m, 4) ? in_ints(b->m, 4, steps, MAX_RANK) : 0;
    for (int i = 0; i < 2 * x.rank; i++)
        pads[i] = D(0);
    for (int i = 0; i < k && n_axes == k; i++) {
        int axis = axis_of(b->m, in(b->m, 3) ? axes[i] : i, x.rank);
        Dim at = from[i] < 0 ? dim_max(D(0), dim_add(x.dim[axis], D(from[i]))) : dim_min(D(from[i]), x.dim[axis]);
        if (i < n_steps && steps[i] != 1)
            return moved_back(b);
        pads[axis] = at;
        pads[axis + x.rank] = dim_sub(dim_sub(x.dim[axis], at), y.dim[axis]);
    }
    return k < 0 || n_axes != k ? NULL : make(b->n, "Pad", 2, b->d, make_dims(b->n, 2 * x.rank, pads));
}

/* What v has where the scatter m puts its updates. */
static Value *scattered(const Back *b, Value *v)
{
    bool nd = !strcmp(b->m->op->name, "ScatterNDReduce");
    Value *there = make(b->n, nd ? "GatherND" : "GatherElements", 2, v, b->m->in[1]);
    if (!nd)
        attr_set_int(there->def, "axis", attr_int(b->m, "axis"));
    there->type = b->m->out[0]->type;
    return there;
}

/* A reduction of what is there (a) and what comes (c). Those that are the least or greatest together share d. */
static Value *scatter_back(const Back *b)
{
    static const struct {
        const char *reduction, *to_data, *to_updates; /* in which c is what comes, y and d are where it came to */
    } rules[] = {{"add", "d", "d"},
                 {"mul", NULL, "d*y/c"},
                 {"min", "Where(Equal(a,y),d,0)", "Where(Equal(c,y),d,0)"},
                 {"max", "Where(Equal(a,y),d,0)", "Where(Equal(c,y),d,0)"}};
    Node *n = b->n, *m = b->m;
    int i = 0;
    while (!attr_is(m, "reduction", rules[i].reduction))
        i++;
    if (b->i == 0 && !rules[i].to_data) { /* the product of what comes */
        Value *in[] = {make(n, "Expand", 2, make_scalar(n, b->d->type, 1), shape_like(n, m->in[0])), m->in[1],
                       m->in[2]};
        return make(n, "Mul", 2, b->d, node_again(n, m, in, 3, 1)->out[0]);
    }
    Value *y[] = {scattered(b, m->out[0])};
    Node there = *m;
    Back to = *b;
    if (i > 1) {
        Value *in[] = {make_cast(n, make(n, "Equal", 2, m->in[0], m->out[0]), b->d->type), m->in[1],
                       make_cast(n, make(n, "Equal", 2, m->in[2], y[0]), b->d->type)};
        Node *count = node_again(n, m, in, 3, 1);
        attr_set_string(count, "reduction", "add");
        to.d = make(n, "Div", 2, b->d, count->out[0]);
        to.d->type = b->d->type;
    }
    if (b->i == 0)
        return formula(&to, rules[i].to_data);
    there.out = y;
    to.m = &there;
    to.d = scattered(b, to.d);
    return formula(&to, rules[i].to_updates);
}

/* ---- sums and products ------------------------------------------------------------------------------------------ */

static Value *matrices(const Back *b, Value *left, bool trans_left, Value *right, bool trans_right)
{
    Value *v = make(b->n, "onnxcc.Product", 2, left, right);
    attr_set_int(v->def, "trans_a", trans_left);
    attr_set_int(v->def, "trans_b", trans_right);
    return v;
}

/* For y = A B, where A and B are a and b or, with trans, their transposes: dA = d B', dB = A' d. */
static Value *product_back(const Back *b)
{
    Value *a = b->m->in[0], *c = b->m->in[1], *d = b->d, *v = d;
    bool trans_a = attr_int(b->m, "trans_a"), trans_b = attr_int(b->m, "trans_b");
    Shape y = *b->m->out[0]->shape;
    if (b->i == 0)
        v = trans_a ? matrices(b, c, trans_b, d, true) : matrices(b, d, false, c, !trans_b);
    else if (b->i == 1)
        v = trans_b ? matrices(b, d, true, a, trans_a) : matrices(b, a, !trans_a, d, false);
    for (int k = 1; k < 3 && b->i < 2; k++)
        y.dim[y.rank - k] = b->m->in[b->i]->shape->dim[b->m->in[b->i]->shape->rank - k];
    return gather_up(b->n, v, y, b->m->in[b->i]);
}

/* Every sum, the other way round. */
static Value *cumulate_back(const Back *b)
{
    bool product = !strcmp(b->m->op->name, "CumProd");
    Value *v = make(b->n, "CumSum", 2, product ? formula(b, "d*y") : b->d, b->m->in[1]);
    attr_set_int(v->def, "exclusive", attr_int(b->m, "exclusive"));
    attr_set_int(v->def, "reverse", !attr_int(b->m, "reverse"));
    return product ? make(b->n, "Div", 2, v, b->m->in[0]) : v;
}

/* A step of Resize is a product with a matrix along each of its axes: what it makes of the unit matrix. */
static Value *resize_back(const Back *b)
{
    Node *n = b->n, *m = b->m;
    Value *v = b->d;
    int last = (int)attr_int(m, "axis"), rank = m->in[0]->shape->rank;
    Type wide = b->d->type == F64 ? F64 : F32;
    for (int axis = last; axis >= last - (in(m, 1) != NULL); axis--) {
        int64_t to_end[MAX_RANK];
        for (int i = 0; i < rank; i++)
            to_end[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
        Dim size[2] = {m->in[0]->shape->dim[axis], m->in[0]->shape->dim[axis]};
        Value *zero = make(n, "Expand", 2, make_scalar(n, wide, 0), make_dims(n, 2, size));
        Value *results[2], *from[] = {make(n, "EyeLike", 1, zero), zero};
        for (int k = 0; k < 2; k++) {
            Value *in[] = {from[k], NULL, NULL, m->in[axis == last ? 3 : 1], m->in[axis == last ? 4 : 2]};
            Node *c = node_again(n, m, in, 5, 1);
            attr_set_int(c, "axis", 1);
            results[k] = c->out[0];
        }
        Value *matrix =
            make_cast(n, make(n, "Sub", 2, results[0], results[1]), b->d->type); /* without what is outside */
        v = matrices(b, transpose(n, v, rank, to_end), false, matrix, true);
        v = transpose(n, v, rank, to_end);
    }
    return v;
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

/* loss = -weight x and weight, at the target's class, where it is not ignored. */
static Value *nll_back(const Back *b)
{
    Node *n = b->n, *m = b->m;
    Value *x = m->in[0], *alone[] = {x, m->in[1]}, *axis = make_ints(n, 1, (int64_t[]){1});
    Tensor *ends = tensor_new(I64, 1, (int64_t[]){2});
    ((int64_t *)(uintptr_t)ends->data)[1] = 1;
    Value *hot = make(n, "OneHot", 3, m->in[1], make_dims(n, 1, &x->shape->dim[1]),
                      make_cast(n, value_const(n->graph, ends), x->type));
    attr_set_int(hot->def, "axis", 1);
    Value *counts = make(n, "Unsqueeze", 2, node_again(n, m, alone, 2, 2)->out[1], axis); /* 0: ignored */
    Value *v = make(n, "Mul", 2, make(n, "Mul", 2, hot, counts), make(n, "Unsqueeze", 2, b->d, axis));
    v = b->o ? v : make(n, "Neg", 1, v);
    if (b->i == 0 && in(m, 2))
        v = make(n, "Mul", 2, v, make(n, "Unsqueeze", 2, node_again(n, m, m->in, 3, 2)->out[1], axis));
    if (b->i == 0)
        return b->o ? zeros_like(n, x) : v;
    int64_t axes[MAX_RANK];
    int k = 0;
    for (int i = 0; i < x->shape->rank; i++)
        if (i != 1)
            axes[k++] = i;
    v = sum_over(n, b->o ? v : make(n, "Mul", 2, v, x), k, axes);
    return reshape_like(n, v, m->in[2]);
}

static Value *gelu_back(const Back *b)
{
    return formula(b, attr_is(b->m, "approximate", "tanh")
                          ? "d*(0.5*(1+Tanh(0.7978845608028654*(x+0.044715*x*x*x)))"
                            "+0.5*x*(1-Tanh(0.7978845608028654*(x+0.044715*x*x*x))"
                            "*Tanh(0.7978845608028654*(x+0.044715*x*x*x)))"
                            "*0.7978845608028654*(1+0.134145*x*x))"
                          : "d*(0.5*(1+Erf(x*0.7071067811865476))+x*0.3989422804014327*Exp(-0.5*x*x))");
}

static Value *lp_norm_back(const Back *b)
{
    return formula(b, attr_int(b->m, "p") == 1 ? "(d-Sign(x)*Along(d*y))/Along(Abs(x))"
                                               : "(d-y*Along(d*y))/Sqrt(Along(x*x))");
}

/* Turned back by the same angles. */
static Value *rotary_back(const Back *b)
{
    Node *m = b->m;
    Value *in[] = {b->d, m->in[1], make(b->n, "Neg", 1, m->in[2]), m->n_in > 3 ? m->in[3] : NULL};
    return b->i ? NULL : node_again(b->n, m, in, 4, 1)->out[0];
}

/* v, the queries (`of` 0), keys (1) or values (2) of the Attention m or like them, as (batch, key heads, query heads of
 * each or 1, rows, size). */
static Value *heads(const Back *b, Value *v, int of)
{
    Node *n = b->n, *m = b->m;
    Shape s = *m->in[of]->shape, k = *m->in[1]->shape;
    bool packed = s.rank == 3;
    Dim kv = k.rank == 3 ? D(attr_int(m, "kv_num_heads")) : k.dim[1];
    Dim h = of ? kv : packed ? D(attr_int(m, "q_num_heads")) : s.dim[1];
    Dim rows = s.dim[packed ? 1 : 2], each = dim_div(h, kv);
    Shape own = v == b->d ? *m->out[0]->shape : s; /* its size may be another one */
    if (!packed)
        return make_reshape(n, v, 5, (Dim[]){s.dim[0], kv, each, rows, own.dim[3]});
    v = make_reshape(n, v, 5, (Dim[]){s.dim[0], rows, kv, each, dim_div(own.dim[2], h)});
    return transpose(n, v, 5, (int64_t[]){0, 2, 3, 1, 4});
}

/* The way back, from the rank 5 to the shape of input `of`. */
static Value *from_heads(const Back *b, Value *v, int of)
{
    if (b->m->in[of]->shape->rank == 3)
        v = transpose(b->n, v, 5, (int64_t[]){0, 3, 1, 2, 4});
    return reshape_like(b->n, v, b->m->in[of]);
}

/* The products of queries and keys at stage `mode` (0: scaled, 3: after Softmax), of rank 5. */
static Value *attention_at(const Back *b, int mode)
{
    Node *m = b->m, *c = node_again(b->n, m, m->in, m->n_in, 2);
    Shape s = *m->in[0]->shape, k = *m->in[1]->shape;
    Dim kv = k.rank == 3 ? D(attr_int(m, "kv_num_heads")) : k.dim[1];
    Dim h = s.rank == 3 ? D(attr_int(m, "q_num_heads")) : s.dim[1];
    attr_set_int(c, "qk_matmul_output_mode", mode);
    return make_reshape(b->n, c->out[1], 5,
                        (Dim[]){s.dim[0], kv, dim_div(h, kv), s.dim[s.rank - 2], k.dim[k.rank - 2]});
}

/* y = P V, P = Softmax(cap(scale Q K') + mask): dV = P' d, dS = P (d V' - the sum of its product with P). */
static Value *attention_back(const Back *b)
{
    Node *n = b->n, *m = b->m;
    Type t = b->d->type;
    int64_t each = 2, last = 4;
    double cap = attr_float(m, "softcap");
    if (b->o)
        return NULL;
    if (b->i == 5) /* which is part of the keys already */
        return zeros_like(n, m->in[5]);
    Value *p = attention_at(b, 3), *d = heads(b, b->d, 0); /* d has the rows and heads of Q, and the size of V */
    if (b->i == 2)
        return from_heads(b, sum_over(n, matrices(b, p, true, d, false), 1, &each), 2);
    Value *s = matrices(b, d, false, heads(b, m->in[2], 2), true);
    s = make(n, "Mul", 2, p, make(n, "Sub", 2, s, sum_over(n, make(n, "Mul", 2, s, p), 1, &last)));
    if (b->i == 3) {
        Shape q = *m->in[0]->shape, k = *m->in[1]->shape;
        Dim h = q.rank == 3 ? D(attr_int(m, "q_num_heads")) : q.dim[1];
        Shape whole = shape_list(4, q.dim[0], h, q.dim[q.rank - 2], k.dim[k.rank - 2]);
        Value *v = make_reshape(n, s, 4, whole.dim);
        return gather_up(n, v, whole, m->in[3]);
    }
    if (cap != 0) {
        Value *u = make(n, "Tanh", 1, make(n, "Div", 2, attention_at(b, 0), make_scalar(n, t, cap)));
        s = make(n, "Mul", 2, s, make(n, "Sub", 2, make_scalar(n, t, 1), make(n, "Mul", 2, u, u)));
    }
    Value *v = b->i == 0 ? matrices(b, s, false, heads(b, m->in[1], 1), false)
                         : sum_over(n, matrices(b, s, true, heads(b, m->in[0], 0), false), 1, &each);
    Shape q = *m->in[0]->shape;
    Dim size = q.rank == 3 ? dim_div(q.dim[2], D(attr_int(m, "q_num_heads"))) : q.dim[3];
    Value *scale = attr_given(m, "scale")
                       ? make_scalar(n, t, attr_float(m, "scale"))
                       : make(n, "Reciprocal", 1,
                              make(n, "Sqrt", 1, make_cast(n, make_reshape(n, make_dims(n, 1, &size), 0, &size), t)));
    return from_heads(b, make(n, "Mul", 2, v, scale), b->i);
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

bool back_by_function(const Back *b, Value **v)
{
    static const BackFunction functions[] = {
        {"Reshape", reshaped},
        {"Flatten", reshaped},
        {"Squeeze", reshaped},
        {"Unsqueeze", reshaped},
        {"Transpose", transposed},
        {"Concat", concat_back},
        {"Slice", slice_back},
        {"Pad", moved_back},
        {"Tile", moved_back},
        {"Trilu", moved_back},
        {"Compress", moved_back},
        {"DepthToSpace", moved_back},
        {"SpaceToDepth", moved_back},
        {"ReverseSequence", moved_back},
        {"Diagonal", moved_back},
        {"ResizeNearest", moved_back},
        {"ScatterElements", moved_back},
        {"ScatterND", moved_back},
        {"TensorScatter", moved_back},
        {"MaxUnpool", moved_as_float},
        {"RnnPack", moved_as_float},
        {"Gather", gather_back},
        {"GatherElements", gather_elements_back},
        {"GatherND", gather_nd_back},
        {"TopK", top_back},
        {"MaxPool", max_pool_back},
        {"ScatterElementsReduce", scatter_back},
        {"ScatterNDReduce", scatter_back},
        {"Product", product_back},
        {"CumSum", cumulate_back},
        {"CumProd", cumulate_back},
        {"ResizeSum", resize_back},
        {"NllLoss", nll_back},
        {"Gelu", gelu_back},
        {"LpNormalization", lp_norm_back},
        {"RotaryEmbedding", rotary_back},
        {"Attention", attention_back},
    };
    return back_by(functions, sizeof functions / sizeof *functions, b, v);
}
