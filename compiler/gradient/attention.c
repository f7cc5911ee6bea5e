/* attention.c - Attention's vjp rule; decompositions of Attention with scores, LinearAttention and RotaryEmbedding.
 * attention.h and linear_attention.h of runtime-min have the formulas. */
#include "gradient.h"

/* ---- heads ------------------------------------------------------------------------------------------------------- */

/* Sizes of an onnxcc.Attention; `each` query heads share a head of the keys. */
typedef struct HeadSizes {
    Node *n; /* new nodes go before it */
    const Node *m;
    Dim batch, heads, kv, each, rows, keys, size;
} HeadSizes;

static HeadSizes sizes(Node *n, const Node *m)
{
    Shape q = *m->in[0]->shape, k = *m->in[1]->shape;
    HeadSizes s = {.n = n, .m = m, .batch = q.dim[0], .rows = q.dim[q.rank - 2], .keys = k.dim[k.rank - 2]};
    s.heads = q.rank == 3 ? D(attr_int(m, "q_num_heads")) : q.dim[1];
    s.kv = k.rank == 3 ? D(attr_int(m, "kv_num_heads")) : k.dim[1];
    s.each = dim_div(s.heads, s.kv);
    s.size = q.rank == 3 ? dim_div(q.dim[2], s.heads) : q.dim[3];
    return s;
}

/* v, in the layout of the queries (`of` 0), the keys (1), the values (2) or, if `out`, the output, as (batch, key
 * heads, query heads per key head or 1, rows, size). */
static Value *split_heads(const HeadSizes *s, Value *v, int of, bool out)
{
    Shape x = *s->m->in[of]->shape, own = out ? *s->m->out[0]->shape : x;
    Dim each = of ? D(1) : s->each, rows = of ? s->keys : s->rows;
    if (x.rank == 4)
        return make_reshape(s->n, v, 5, (Dim[]){s->batch, s->kv, each, rows, own.dim[3]});
    Dim size = dim_div(own.dim[2], dim_mul(s->kv, each));
    v = make_reshape(s->n, v, 5, (Dim[]){s->batch, rows, s->kv, each, size});
    return transpose(s->n, v, 5, (int64_t[]){0, 2, 3, 1, 4});
}

/* The inverse: v, of rank 5, in the layout of `like`. */
static Value *join_heads(Node *n, Value *v, Value *like)
{
    if (like->shape->rank == 3)
        v = transpose(n, v, 5, (int64_t[]){0, 3, 1, 2, 4});
    return make_reshape(n, v, like->shape->rank, like->shape->dim);
}

static Value *scaled(const HeadSizes *s, Type t, Value *v)
{
    const char *op = attr_is_given(s->m, "scale") ? "Mul" : "Div";
    Value *by = attr_is_given(s->m, "scale") ? make_scalar(s->n, t, attr_float(s->m, "scale"))
                                             : make(s->n, "Sqrt", 1, size_as(s->n, t, s->size));
    return make(s->n, op, 2, v, by);
}

/* ---- Attention --------------------------------------------------------------------------------------------------- */

/* The products of queries and keys at stage `mode` (0: scaled, 3: after Softmax), of rank 5. */
static Value *attention_at(const HeadSizes *s, int mode)
{
    Node *c = clone_node(s->n, s->m, s->m->in, s->m->n_in, 2);
    attr_set_int(c, "qk_matmul_output_mode", mode);
    return make_reshape(s->n, c->out[1], 5, (Dim[]){s->batch, s->kv, s->each, s->rows, s->keys});
}

/* y = P V, P = Softmax(cap(scale Q K') + mask): dV = P' d, dS = P (d V' - the sum of its product with P). */
Value *attention_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Type t = b->d->type;
    HeadSizes own = sizes(n, m), *s = &own;
    int64_t each = 2, last = 4;
    double cap = attr_float(m, "softcap");
    if (b->i == 5) /* the past keys are included in the keys */
        return zeros_like(n, m->in[5]);
    Value *p = attention_at(s, 3), *d = split_heads(s, b->d, 0, true);
    if (b->i == 2)
        return join_heads(n, sum_over(n, matrices(n, p, true, d, false), 1, &each), m->in[2]);
    Value *v = matrices(n, d, false, split_heads(s, m->in[2], 2, false), true);
    Value *mean = sum_over(n, make(n, "Mul", 2, v, p), 1, &last);
    if (b->i == 7) { /* a key whose value is 0 has the rest of the probability */
        Value *rest = make(n, "Sub", 2, sum_over(n, p, 1, &last), make_scalar(n, t, 1));
        rest = sum_over(n, make(n, "Mul", 2, rest, mean), 3, (int64_t[]){0, 3, 4});
        return make_reshape(n, rest, m->in[7]->shape->rank, m->in[7]->shape->dim);
    }
    v = make(n, "Mul", 2, p, make(n, "Sub", 2, v, mean));
    if (b->i == 3) {
        Shape whole = shape_list(4, s->batch, s->heads, s->rows, s->keys), mask = *m->in[3]->shape;
        v = make_reshape(n, v, 4, whole.dim);
        whole.dim[3] = mask.dim[mask.rank - 1]; /* keys beyond the mask are excluded */
        return sum_to_shape(n, part(n, v, 3, D(0), whole.dim[3]), whole, m->in[3]);
    }
    if (cap != 0) {
        Value *u = make(n, "Tanh", 1, make(n, "Div", 2, attention_at(s, 0), make_scalar(n, t, cap)));
        v = make(n, "Mul", 2, v, make(n, "Sub", 2, make_scalar(n, t, 1), make(n, "Mul", 2, u, u)));
    }
    v = b->i == 0 ? matrices(n, v, false, split_heads(s, m->in[1], 1, false), false)
                  : sum_over(n, matrices(n, v, true, split_heads(s, m->in[0], 0, false), false), 1, &each);
    return join_heads(n, scaled(s, t, v), m->in[b->i]);
}

/* The effective mask, 0 and -infinity: the node's scores for queries of 0. */
static Value *attention_mask(const HeadSizes *s)
{
    const Node *m = s->m;
    Value *zeros[8];
    for (int i = 0; i < m->n_in; i++)
        if (in(m, i) && type_is_float(in(m, i)->type))
            zeros[i] = filled(s->n, in(m, i)->type, 0, m->in[i]->shape->rank, m->in[i]->shape->dim);
        else
            zeros[i] = in(m, i);
    Node *c = clone_node(s->n, m, zeros, m->n_in, 2);
    attr_set_int(c, "qk_matmul_output_mode", 2);
    attr_set_float(c, "softcap", 0);
    return c->out[1];
}

/* Adds the mask, input 3, to scores of (batch, heads, rows, keys); keys beyond it get 0. */
static Value *masked(const HeadSizes *s, Type t, Value *v, Value *mask)
{
    Shape x = *mask->shape;
    Dim pads[8] = {{0}};
    pads[2 * x.rank - 1] = dim_sub(s->keys, x.dim[x.rank - 1]);
    return make(s->n, "Add", 2, v, make_cast(s->n, make(s->n, "Pad", 2, mask, make_dims(s->n, 2 * x.rank, pads)), t));
}

/* The softmax of v, (batch, heads, rows, keys), with one more score for each head in sink. */
static Value *probabilities_with(Node *n, const HeadSizes *s, Value *v, Value *sink)
{
    Dim whole[] = {s->batch, s->heads, s->rows, D(1)};
    sink = make_reshape(n, sink, 4, (Dim[]){D(1), s->heads, D(1), D(1)});
    v = make(n, "Concat", 2, v, make(n, "Expand", 2, sink, make_dims(n, 4, whole)));
    return part(n, make(n, "Softmax", 1, with_int(v, "axis", 3)), 3, D(0), s->keys);
}

/* The softmax of v; a row in which all keys are masked is 0. */
static Value *probabilities(Node *n, Type t, Value *v)
{
    Value *top = make(n, "ReduceMax", 2, v, make_int(n, 3)), *zero = make_scalar(n, t, 0);
    Value *none =
        make(n, "Less", 2, top, make_scalar(n, t, t == F64 ? -1.7976931348623157e308 : -3.4028234663852886e38));
    v = make(n, "Softmax", 1, make(n, "Where", 3, none, zero, v));
    return make(n, "Where", 3, none, zero, v);
}

/* Decomposes Attention whose scores are an output. */
bool decompose_attention(Node *n, Node *m, Value **out)
{
    Type own = m->in[0]->type, t = own == F64 ? F64 : F32;
    HeadSizes sizes_of = sizes(n, m), *s = &sizes_of;
    double cap = attr_float(m, "softcap");
    Value *stage[4], *x[3];
    if (m->n_out < 2 || !m->out[1])
        return false;
    for (int i = 0; i < 3; i++)
        x[i] = split_heads(s, make_cast(n, in(m, i), t), i, false);
    Value *v = scaled(s, t, matrices(n, x[0], false, x[1], true));
    Shape whole = shape_list(4, s->batch, s->heads, s->rows, s->keys);
    stage[0] = v = make_reshape(n, v, 4, whole.dim);
    if (cap > 0) {
        Value *bound = make_scalar(n, t, cap);
        v = make(n, "Mul", 2, make(n, "Tanh", 1, make(n, "Div", 2, v, bound)), bound);
    }
    stage[1] = v;
    if (in(m, 3) && in(m, 3)->type != B8)
        v = masked(s, t, v, in(m, 3));
    stage[2] = v = make(n, "Add", 2, v, make_cast(n, attention_mask(s), t));
    Value *sink = in(m, 7);
    stage[3] = v = sink ? probabilities_with(n, s, v, make_cast(n, sink, t)) : probabilities(n, t, v);
    out[1] = make_cast(n, stage[attr_int(m, "qk_matmul_output_mode")], own);
    v = make_reshape(n, v, 5, (Dim[]){s->batch, s->kv, s->each, s->rows, s->keys});
    out[0] = make_cast(n, join_heads(n, matrices(n, v, false, x[2], false), m->out[0]), own);
    return true;
}

/* ---- RotaryEmbedding --------------------------------------------------------------------------------------------- */

/* The angles in input i: (batch, length, 1, half). */
static Value *angles(Node *n, Node *m, int i, Dim batch, Dim length, Dim half)
{
    Value *v = make_cast(n, in(m, i), F32);
    if (in(m, 3))
        v = make(n, "Gather", 2, v, in(m, 3));
    return make_reshape(n, v, 4, (Dim[]){batch, length, D(1), half});
}

/* Decomposes RotaryEmbedding, for active angles. */
bool decompose_rotary(Node *n, Node *m, Value **out)
{
    Shape x = *m->in[0]->shape, c = *m->in[1]->shape;
    bool packed = x.rank == 3, mixed = attr_int(m, "interleaved") != 0;
    Dim heads = packed ? D(attr_int(m, "num_heads")) : x.dim[1], length = x.dim[packed ? 1 : 2],
        half = c.dim[c.rank - 1];
    Dim size = packed ? dim_div(x.dim[2], heads) : x.dim[3], both = dim_mul(half, D(2));
    Dim whole[] = {x.dim[0], length, heads, size},
        pairs[] = {x.dim[0], length, heads, mixed ? half : D(2), mixed ? D(2) : half};
    Dim one[] = {x.dim[0], length, heads, half},
        apart[] = {x.dim[0], length, heads, mixed ? half : D(1), mixed ? D(1) : half};
    Value *v = make_cast(n, in(m, 0), F32), *a[2], *y[3];
    v = packed ? make_reshape(n, v, 4, whole) : transpose(n, v, 4, (int64_t[]){0, 2, 1, 3});
    Value *rotated = make_reshape(n, part(n, v, 3, D(0), both), 5, pairs);
    for (int k = 0; k < 2; k++)
        a[k] = make_reshape(n, part(n, rotated, mixed ? 4 : 3, D(k), D(k + 1)), 4, one);
    Value *re = angles(n, m, 1, x.dim[0], length, half), *im = angles(n, m, 2, x.dim[0], length, half);
    for (int k = 0; k < 2; k++) {
        Value *own = make(n, "Mul", 2, a[k], re), *other = make(n, "Mul", 2, a[1 - k], im);
        y[k] = make_reshape(n, make(n, k ? "Add" : "Sub", 2, own, other), 5, apart);
    }
    Node *joined = make_node(n, "Concat", 2, y, 1);
    attr_set_int(joined, "axis", mixed ? 4 : 3);
    y[0] = make_reshape(n, joined->out[0], 4, (Dim[]){x.dim[0], length, heads, both});
    y[1] = part(n, v, 3, both, size);
    joined = make_node(n, "Concat", 2, y, 1);
    attr_set_int(joined, "axis", 3);
    v = packed ? joined->out[0] : transpose(n, joined->out[0], 4, (int64_t[]){0, 2, 1, 3});
    out[0] = make_cast(n, make_reshape(n, v, x.rank, x.dim), m->in[0]->type);
    return true;
}

/* ---- LinearAttention --------------------------------------------------------------------------------------------- */

/* The current iteration's token of v (batch, tokens, ...), as (batch, heads, rows, columns). */
static Value *token(Node *n, Value *v, const Dim *as)
{
    v = make(n, "Gather", 2, v, n->graph->in.at[0]);
    attr_set_int(v->def, "axis", 1);
    return make_reshape(n, v, 4, as);
}

bool decompose_linear_attention(Node *n, Node *m, Value **out)
{
    Shape q = *m->in[0]->shape, y = *m->out[0]->shape;
    Dim batch = q.dim[0], heads = D(attr_int(m, "q_num_heads")), kv = D(attr_int(m, "kv_num_heads"));
    Dim each = dim_div(heads, kv), size = dim_div(q.dim[2], heads), v_size = dim_div(y.dim[2], heads);
    Dim state[] = {batch, kv, size, v_size}, row[] = {batch, kv, D(1), v_size}, column[] = {batch, kv, size, D(1)};
    Dim queries[] = {batch, kv, each, size}, joined[] = {batch, y.dim[2]};
    double scale = attr_float(m, "scale");
    Value *x[6] = {NULL};
    for (int i = 0; i < m->n_in; i++)
        x[i] = in(m, i) ? make_cast(n, in(m, i), F32) : NULL;
    Value *first = x[3] ? x[3] : filled(n, F32, 0, 4, state);
    Node *t = loop_begin(n, q.dim[1], 1, &first);
    Value *s = t->graph->in.at[2], *k = token(t, x[1], column), *v = token(t, x[2], row);
    if (x[4]) {
        Dim d[] = {batch, kv, dim_div(m->in[4]->shape->dim[2], kv), D(1)};
        s = make(t, "Mul", 2, s, make(t, "Exp", 1, token(t, x[4], d)));
    }
    if (x[5]) {
        Dim d[] = {batch, m->in[5]->shape->dim[2], D(1), D(1)};
        v = make(t, "Sub", 2, v, matrices(t, k, true, s, false));
        v = make(t, "Mul", 2, v, token(t, x[5], d));
    }
    s = make_reshape(t, make(t, "Add", 2, s, make(t, "Mul", 2, k, v)), 4, state);
    v = make_reshape(t, matrices(t, token(t, x[0], queries), false, s, false), 2, joined);
    const Node *loop = loop_end(t, 2, (Value *[]){s, v});
    v = transpose(n, loop->out[1], 3, (int64_t[]){1, 0, 2});
    v = scale == 0 ? make(n, "Div", 2, v, make(n, "Sqrt", 1, size_as(n, F32, size)))
                   : make(n, "Mul", 2, v, make_scalar(n, F32, scale));
    out[0] = make_cast(n, v, m->in[0]->type);
    if (m->n_out > 1)
        out[1] = make_cast(n, loop->out[0], m->out[1] ? m->out[1]->type : F32);
    return true;
}
