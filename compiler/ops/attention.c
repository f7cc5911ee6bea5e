/* attention.c - Attention, FlexAttention, LinearAttention, RotaryEmbedding. Attention appends its caches by Concat; the
 * rest is one kernel, onnxcc.Attention, which also serves a FlexAttention without graphs of its own. */
#include "ir/call.h"
#include "attention.h"
#include "linear_attention.h"
#include "rotary.h"

/* ---- onnxcc.Attention ------------------------------------------------------------------------------------------ */

/* q is (batch, heads, rows, size) or (batch, rows, heads * size); k and v have either form, independently of q. k
 * already includes the past keys; that input only gives their number. */
/* One wider than any tensor limits nothing. */
static Dim window(const Node *n, const char *attr)
{
    int64_t size = attr_int(n, attr);
    return D(size < INT32_MAX ? size : -1);
}

static void attention_read(Node *n, struct attention_bind *p)
{
    Shape q = in_shape(n, 0), k = in_shape(n, 1), v = in_shape(n, 2), past = in_shape(n, 5);
    bool packed_q = q.rank == 3, packed_kv = k.rank == 3;
    *p = (struct attention_bind){.batch = q.dim[0], .packed_q = D(packed_q), .packed_kv = D(packed_kv)};
    p->q_heads = packed_q ? D(attr_int(n, "q_num_heads")) : q.dim[1];
    p->kv_heads = packed_kv ? D(attr_int(n, "kv_num_heads")) : k.dim[1];
    p->rows = q.dim[packed_q ? 1 : 2];
    p->keys = k.dim[packed_kv ? 1 : 2];
    p->size = packed_q ? dim_div(q.dim[2], p->q_heads) : q.dim[3];
    p->v_size = packed_kv ? dim_div(v.dim[2], p->kv_heads) : v.dim[3];
    p->mask_keys = p->keys;
    p->offset = in(n, 5) ? past.dim[2] : D(0);
    p->left = window(n, "left_window_size");
    p->right = attr_int(n, "is_causal") ? D(0) : window(n, "right_window_size");
    p->scale = attr_is_given(n, "scale") ? attr_float(n, "scale") : 0;
    p->default_scale = D(!attr_is_given(n, "scale"));
    p->cap = attr_float(n, "softcap");
    p->mode = D(attr_int(n, "qk_matmul_output_mode"));
}

/* The stride of the mask's axis `from_end` (1: the last); 0 if it is broadcast. */
static Dim mask_stride(Shape m, int from_end)
{
    if (from_end > m.rank)
        return D(0);
    int i = m.rank - from_end;
    return dim_select(dim_eq_expr(m.dim[i], D(1)), D(0), shape_product(m, i + 1, m.rank));
}

static bool mask_fits(Node *n, const struct attention_bind *p)
{
    Shape m = in_shape(n, 3);
    const Dim want[] = {p->batch, p->q_heads, p->rows, p->keys};
    if (m.rank < 1 || m.rank > 4)
        return node_error(n, "the mask %s must have 1 to 4 dimensions", shape_text(m));
    for (int i = 0; i < m.rank - 1; i++)
        if (!require_dim(n, "dimension of the mask", m.dim[i],
                         dim_select(dim_eq_expr(m.dim[i], D(1)), D(1), want[4 - m.rank + i])))
            return false;
    return require_dim(n, "keys of the mask beyond those there are", dim_max(m.dim[m.rank - 1], p->keys), p->keys);
}

static void attention_infer(Node *n)
{
    Shape q = in_shape(n, 0), k = in_shape(n, 1), v = in_shape(n, 2), y = q;
    struct attention_bind p;
    attention_read(n, &p);
    bool packed = k.rank == 3;
    bool fits =
        require_dim(n, "query heads that the key heads divide",
                    dim_mul(dim_div(p.q_heads, dim_max(p.kv_heads, D(1))), p.kv_heads), p.q_heads) &&
        (q.rank == 4 ||
         require_dim(n, "elements of the queries in equal heads", dim_mul(p.q_heads, p.size), q.dim[2])) &&
        require_dim(n, "batch of the keys", k.dim[0], p.batch) &&
        require_dim(n, "batch of the values", v.dim[0], p.batch) &&
        require_dim(n, "number of values", v.dim[packed ? 1 : 2], p.keys) &&
        require_dim(n, "elements of a key", k.dim[packed ? 2 : 3], packed ? dim_mul(p.kv_heads, p.size) : p.size) &&
        (packed ? require_dim(n, "elements of the values in equal heads", dim_mul(p.kv_heads, p.v_size), v.dim[2])
                : require_dim(n, "heads of the values", v.dim[1], p.kv_heads)) &&
        (!in(n, 3) || mask_fits(n, &p)) &&
        (!in(n, 4) || require_dim(n, "numbers of keys", shape_count(in_shape(n, 4)), p.batch)) &&
        (!in(n, 6) || require_dim(n, "positions of the first rows", shape_count(in_shape(n, 6)), p.batch)) &&
        (!in(n, 7) || require_dim(n, "sinks", shape_count(in_shape(n, 7)), p.q_heads));
    if (!fits)
        return;
    y.dim[q.rank - 1] = q.rank == 3 ? dim_mul(p.q_heads, p.v_size) : p.v_size;
    set_out(n, 0, in_type(n, 0), y);
    set_out(n, 1, in_type(n, 0), shape_list(4, p.batch, p.q_heads, p.rows, p.keys));
}

/* Elements of scratch, as attention_scratch and attention_one use it. */
static Dim scratch_elements(const struct attention_bind *p)
{
    Dim lanes = D(ATTENTION_LANES), keys = dim_mul(dim_ceil(p->keys, lanes), lanes);
    Dim v_size = dim_mul(dim_ceil(p->v_size, lanes), lanes), block = D(ATTENTION_BLOCK);
    if (dim_high(p->rows) < ATTENTION_MANY)
        return dim_add(keys, v_size);
    return dim_add(dim_add(dim_mul(keys, p->size), dim_mul(v_size, p->keys)),
                   dim_mul(block, dim_add(p->size, dim_add(keys, v_size))));
}

static void attention_bind(Node *n)
{
    struct attention_bind p;
    Type t = in_type(n, 0);
    bool bias = in(n, 3) && in_type(n, 3) != B8;
    attention_read(n, &p);
    if (in(n, 3)) {
        Shape m = in_shape(n, 3);
        p.mask_keys = m.dim[m.rank - 1];
        p.mask_row = mask_stride(m, 2);
        p.mask_head = mask_stride(m, 3);
        p.mask_batch = mask_stride(m, 4);
    }
    Dim macs = dim_mul(dim_mul(dim_mul(p.batch, p.q_heads), p.rows), dim_mul(p.keys, dim_add(p.size, p.v_size)));
    n->macs = dim_high(macs) < INT64_MAX ? dim_high(macs) : 0; /* at the upper bounds of sizes */
    Value *args[] = {in(n, 0), in(n, 1),  in(n, 2), bias ? NULL : in(n, 3), bias ? in(n, 3) : NULL, in(n, 4), in(n, 6),
                     in(n, 7), out(n, 0), out(n, 1)};
    bind_kernel(n, "attention", t, NO_TYPE, attention_fields(), &p, args, 10);
    bind_scratch(n, dim_mul(scratch_elements(&p), D(type_bits(type_arith(t)) / 8)));
}

/* ---- Attention ------------------------------------------------------------------------------------------------- */

/* Keys or values as (batch, heads, keys, size), appended to the past ones, if any. */
static Value *joined(Node *n, int i, int past)
{
    Value *v = in(n, i);
    Shape s = *v->shape;
    if (s.rank == 3) {
        Dim heads = D(attr_int(n, "kv_num_heads"));
        static const int64_t perm[] = {0, 2, 1, 3};
        v = make_reshape(n, v, 4, (Dim[]){s.dim[0], s.dim[1], heads, dim_div(s.dim[2], heads)});
        v = make(n, "Transpose", 1, v);
        attr_set_ints(v->def, "perm", 4, perm);
    }
    if (in(n, past)) {
        v = with_int(make(n, "Concat", 2, in(n, past), v), "axis", 2);
    }
    return v;
}

static bool window_fits(Node *n, const char *attr)
{
    int64_t size = attr_is_given(n, attr) ? attr_int(n, attr) : -1;
    if (size < -1)
        node_error(n, "%s %lld is neither a number of positions nor -1", attr, (long long)size);
    return size >= -1;
}

static bool check_attention(Node *n)
{
    int rank = in_shape(n, 0).rank;
    int64_t mode = attr_int(n, "qk_matmul_output_mode");
    if ((rank != 3 && rank != 4) || in_shape(n, 1).rank != rank || in_shape(n, 2).rank != rank)
        node_error(n, "Q %s, K %s and V %s must all have 3 or all 4 dimensions", shape_text(in_shape(n, 0)),
                   shape_text(in_shape(n, 1)), shape_text(in_shape(n, 2)));
    else if (rank == 3 && (attr_int(n, "q_num_heads") < 1 || attr_int(n, "kv_num_heads") < 1))
        node_error(n, "three dimensions need q_num_heads and kv_num_heads");
    else if (!in(n, 4) != !in(n, 5) || (in(n, 4) && (in_shape(n, 4).rank != 4 || in_shape(n, 5).rank != 4)))
        node_error(n, "past_key and past_value come together, with four dimensions");
    else if (in(n, 4) && in(n, 6))
        node_error(n, "nonpad_kv_seqlen cannot be combined with past_key and past_value");
    else if (mode < 0 || mode > 3)
        node_error(n, "qk_matmul_output_mode is %lld, not 0 to 3", (long long)mode);
    else
        return (!attr_is_given(n, "softmax_precision") || attr_precision(n, "softmax_precision")) &&
               window_fits(n, "left_window_size") && window_fits(n, "right_window_size");
    return false;
}

/* Computes in float, or in double if Q or the softmax has that type. */
static void attention_expand(Node *n)
{
    if (!check_attention(n))
        return;
    Type t = in_type(n, 0), wide = attr_int(n, "softmax_precision") == F64 ? F64 : t;
    bool cached = in(n, 4) || out(n, 1) || out(n, 2);
    Value *k = cached ? joined(n, 1, 4) : in(n, 1), *v = cached ? joined(n, 2, 5) : in(n, 2), *mask = in(n, 3);
    if (mask && mask->type != B8)
        mask = make_cast(n, mask, wide);
    const Dim keys = in_shape(n, 1).dim[in_shape(n, 1).rank - 2];
    Value *in[] = {make_cast(n, n->in[0], wide),
                   make_cast(n, k, wide),
                   make_cast(n, v, wide),
                   mask,
                   make_within(n, n->n_in > 6 ? n->in[6] : NULL, 0, keys, false),
                   n->n_in > 4 ? n->in[4] : NULL};
    Node *a = make_node(n, "onnxcc.Attention", 6, in, out(n, 3) ? 2 : 1);
    static const char *const same[] = {"is_causal", "kv_num_heads", "q_num_heads",      "qk_matmul_output_mode",
                                       "scale",     "softcap",      "left_window_size", "right_window_size"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (node_attr(n, same[i]))
            attr_set(a, *node_attr(n, same[i]));
    replace_out(n, 0, make_cast(n, a->out[0], t));
    replace_out(n, 1, k);
    replace_out(n, 2, v);
    if (out(n, 3))
        replace_out(n, 3, make_cast(n, a->out[1], t));
    expand_done(n);
}

/* ---- FlexAttention: the model's own graphs change scores and probabilities --------------------------------------- */

/* Applies the graph in the attribute, if given, to v: moves its nodes before n, with v as input. */
static Value *changed(Node *n, const char *attr, Value *v)
{
    Attr *a = node_attr(n, attr);
    if (!a)
        return v;
    if (a->g->in.n != 1 || a->g->out.n != 1) {
        node_error(n, "%s has %d inputs and %d outputs instead of one each", attr, a->g->in.n, a->g->out.n);
        return v;
    }
    value_replace(a->g->in.at[0], v);
    while (a->g->first)
        node_move(a->g->first, n);
    return a->g->out.at[0];
}

/* Keys or values with an axis of 1 for the query heads that share a key head. */
static Value *shared(Node *n, int i, Type t)
{
    return make_cast(n, make(n, "Unsqueeze", 2, in(n, i), make_ints(n, 1, (int64_t[]){2})), t);
}

/* q * scale in the type of q; the scale is 1 / sqrt(size) if none is given. */
static Value *scaled_queries(Node *n)
{
    Type t = in_type(n, 0);
    if (attr_is_given(n, "scale"))
        return make(n, "Mul", 2, in(n, 0), make_scalar(n, t, attr_float(n, "scale")));
    Value *size = with_int(make(n, "Shape", 1, in(n, 0)), "start", 3);
    return make(n, "Div", 2, in(n, 0), make(n, "Sqrt", 1, make_cast(n, size, t)));
}

/* Do the shared dimensions of queries, keys and values agree? */
static bool parts_fit(Node *n)
{
    Shape q = in_shape(n, 0), k = in_shape(n, 1), v = in_shape(n, 2);
    return require_dim(n, "query heads that the key heads divide",
                       dim_mul(dim_div(q.dim[1], dim_max(k.dim[1], D(1))), k.dim[1]), q.dim[1]) &&
           require_dim(n, "batch of the keys", k.dim[0], q.dim[0]) &&
           require_dim(n, "batch of the values", v.dim[0], q.dim[0]) &&
           require_dim(n, "heads of the values", v.dim[1], k.dim[1]) &&
           require_dim(n, "number of values", v.dim[2], k.dim[2]) &&
           require_dim(n, "elements of a key", k.dim[3], q.dim[3]);
}

/* softmax(score_mod(q k^T)) changed by prob_mod, times v, with the queries as (batch, key heads, group, rows, size). */
static Value *by_parts(Node *n, Type precision)
{
    Shape q = in_shape(n, 0), k = in_shape(n, 1);
    Dim batch = q.dim[0], heads = k.dim[1], group = dim_div(q.dim[1], dim_max(heads, D(1))), rows = q.dim[2],
        keys = k.dim[2];
    const Dim grouped[] = {batch, heads, group, rows, q.dim[3]}, split[] = {batch, heads, group, rows, keys};
    Value *queries = make_reshape(n, scaled_queries(n), 5, grouped);
    Value *scores = with_int(make(n, "onnxcc.Product", 2, queries, shared(n, 1, in_type(n, 0))), "trans_b", 1);
    scores = make_cast(n, make_reshape(n, scores, 4, (Dim[]){batch, q.dim[1], rows, keys}), precision);
    Value *p = make(n, "Softmax", 1, changed(n, "score_mod", scores));
    p = make_reshape(n, changed(n, "prob_mod", p), 5, split);
    Value *y = make(n, "onnxcc.Product", 2, p, shared(n, 2, precision));
    return make_reshape(n, make_cast(n, y, in_type(n, 0)), 4, (Dim[]){batch, q.dim[1], rows, in_shape(n, 2).dim[3]});
}

/* Without these graphs, the kernel of Attention. */
static void flex_attention_expand(Node *n)
{
    Type t = in_type(n, 0), precision = t == F64 ? F64 : F32;
    if (attr_is_given(n, "softmax_precision"))
        precision = attr_precision(n, "softmax_precision");
    if (!precision)
        return;
    for (int i = 0; i < 3; i++)
        if (in_shape(n, i).rank != 4) {
            node_error(n, "input %d, %s, must have four dimensions", i, shape_text(in_shape(n, i)));
            return;
        }
    bool parts = attr_is_given(n, "score_mod") || attr_is_given(n, "prob_mod");
    if (parts && !parts_fit(n))
        return;
    if (parts)
        replace_out(n, 0, by_parts(n, precision));
    else {
        Value *y = with_int(make(n, "Attention", 3, in(n, 0), in(n, 1), in(n, 2)), "softmax_precision", precision);
        if (attr_is_given(n, "scale"))
            attr_set_float(y->def, "scale", attr_float(n, "scale"));
        replace_out(n, 0, y);
    }
    expand_done(n);
}

/* ---- LinearAttention --------------------------------------------------------------------------------------------- */

/* Checks update_rule and the presence of the inputs that it uses, decay and beta. False: wrong, reported. */
static bool rule_fits(Node *n)
{
    bool decays = attr_is(n, "update_rule", "gated") || attr_is(n, "update_rule", "gated_delta");
    bool corrects = attr_is(n, "update_rule", "delta") || attr_is(n, "update_rule", "gated_delta");
    if (!decays && !corrects && !attr_is(n, "update_rule", "linear")) {
        node_error(n, "update_rule is \"%s\"", attr_string(n, "update_rule"));
        note_help("linear, gated, delta and gated_delta are possible");
    } else if (decays != (in(n, 4) != NULL))
        node_error(n, "the rule %s %s decay", attr_string(n, "update_rule"), decays ? "needs" : "has no");
    else if (corrects != (in(n, 5) != NULL))
        node_error(n, "the rule %s %s beta", attr_string(n, "update_rule"), corrects ? "needs" : "has no");
    else
        return true;
    return false;
}

static void read_sizes(Node *n, struct linear_attention_bind *p)
{
    Shape q = in_shape(n, 0), v = in_shape(n, 2), decay = in_shape(n, 4), beta = in_shape(n, 5);
    double scale = attr_float(n, "scale");
    *p = (struct linear_attention_bind){
        .batch = q.dim[0], .tokens = q.dim[1], .scale = scale, .default_scale = D(scale == 0)};
    p->q_heads = D(attr_int(n, "q_num_heads"));
    p->kv_heads = D(attr_int(n, "kv_num_heads"));
    p->size = dim_div(q.dim[2], p->q_heads);
    p->v_size = dim_div(v.dim[2], p->kv_heads);
    p->decay_step = in(n, 4) ? dim_sub(D(1), dim_eq_expr(decay.dim[2], p->kv_heads)) : D(0);
    p->beta_heads = in(n, 5) ? beta.dim[2] : D(0);
}

static void linear_attention_infer(Node *n)
{
    int64_t q_heads = attr_int(n, "q_num_heads"), kv_heads = attr_int(n, "kv_num_heads");
    if (!rule_fits(n))
        return;
    if (q_heads < 1 || kv_heads < 1 || q_heads % kv_heads) {
        node_error(n, "%lld query heads are no multiple of %lld key heads", (long long)q_heads, (long long)kv_heads);
        return;
    }
    for (int i = 0; i < n->n_in; i++)
        if (in(n, i) && in_shape(n, i).rank != (i == 3 ? 4 : 3)) {
            node_error(n, "input %d, %s, must have %d dimensions", i, shape_text(in_shape(n, i)), i == 3 ? 4 : 3);
            return;
        }
    struct linear_attention_bind p;
    Shape y = in_shape(n, 0);
    read_sizes(n, &p);
    for (int i = 1; i < n->n_in; i++)
        if (in(n, i)) {
            require_dim(n, "batch of an input", in_shape(n, i).dim[0], p.batch);
            require_dim(n, i == 3 ? "heads of the state" : "tokens of an input", in_shape(n, i).dim[1],
                        i == 3 ? p.kv_heads : p.tokens);
        }
    require_dim(n, "elements of the queries in equal heads", dim_mul(p.q_heads, p.size), y.dim[2]);
    require_dim(n, "elements of the keys", in_shape(n, 1).dim[2], dim_mul(p.kv_heads, p.size));
    require_dim(n, "elements of the values in equal heads", dim_mul(p.kv_heads, p.v_size), in_shape(n, 2).dim[2]);
    if (in(n, 3)) {
        require_dim(n, "rows of the state", in_shape(n, 3).dim[2], p.size);
        require_dim(n, "columns of the state", in_shape(n, 3).dim[3], p.v_size);
    }
    if (in(n, 4))
        require_dim(n, "elements of decay", in_shape(n, 4).dim[2],
                    dim_mul(p.kv_heads, dim_select(p.decay_step, p.size, D(1))));
    if (in(n, 5))
        require_dim(n, "elements of beta", p.beta_heads, dim_select(dim_eq_expr(p.beta_heads, D(1)), D(1), p.kv_heads));
    y.dim[2] = dim_mul(p.q_heads, p.v_size);
    set_out(n, 0, in_type(n, 0), y);
    set_out(n, 1, in(n, 3) ? in_type(n, 3) : in_type(n, 0), shape_list(4, p.batch, p.kv_heads, p.size, p.v_size));
}

static void linear_attention_bind(Node *n)
{
    struct linear_attention_bind p;
    read_sizes(n, &p);
    bind_kernel(n, "linear_attention", in_type(n, 0), in(n, 3) ? in_type(n, 3) : in_type(n, 0),
                linear_attention_fields(), &p, NULL, 0);
    bind_scratch(n, dim_mul(D(4), dim_mul(dim_add(p.size, D(1)), p.v_size)));
}

/* ---- RotaryEmbedding --------------------------------------------------------------------------------------------- */

/* x is (batch, heads, seq, size), or (batch, seq, heads * size). False: neither, and reported. */
static bool rotary_read(Node *n, struct rotary_bind *p)
{
    Shape x = in_shape(n, 0), c = in_shape(n, 1), s = in_shape(n, 2), ids = in_shape(n, 3);
    int64_t heads = attr_int(n, "num_heads"), turned = attr_int(n, "rotary_embedding_dim");
    if ((x.rank != 4 && x.rank != 3) || (x.rank == 3 && heads < 1))
        return node_error(
            n, x.rank == 3 ? "num_heads is needed to split %s" : "the input %s has neither 3 nor 4 dimensions",
            shape_text(x));
    bool packed = x.rank == 3;
    p->batch = x.dim[0];
    p->heads = packed ? D(heads) : x.dim[1];
    p->seq = x.dim[packed ? 1 : 2];
    p->size = packed ? dim_div(x.dim[2], p->heads) : x.dim[3];
    p->step = packed ? x.dim[2] : p->size;
    p->head_step = packed ? p->size : dim_mul(p->seq, p->size);
    p->half = turned ? D(turned / 2) : dim_div(p->size, D(2));
    p->interleaved = D(attr_int(n, "interleaved") != 0);
    int rank = in(n, 3) ? 2 : 3;
    if (c.rank != rank || s.rank != rank || (in(n, 3) && ids.rank != 2))
        return node_error(n, "the caches %s and %s must have %d dimensions, position_ids two", shape_text(c),
                          shape_text(s), rank);
    p->rows = shape_product(c, 0, rank - 1);
    return true;
}

static void rotary_infer(Node *n)
{
    struct rotary_bind p;
    if (!rotary_read(n, &p))
        return;
    Shape x = in_shape(n, 0), c = in_shape(n, 1), s = in_shape(n, 2), rows = in(n, 3) ? in_shape(n, 3) : c;
    for (int i = 0; i < c.rank; i++)
        require_dim(n, "sin_cache is not shaped as cos_cache", s.dim[i], c.dim[i]);
    require_dim(n, "angles in a row of the caches", c.dim[c.rank - 1], p.half);
    require_dim(n, "elements of a head that the rotation needs", dim_max(p.size, dim_mul(p.half, D(2))), p.size);
    require_dim(n, "batch of the positions", rows.dim[0], p.batch);
    require_dim(n, "length of the positions", rows.dim[1], p.seq);
    if (x.rank == 3)
        require_dim(n, "elements in equal heads", dim_mul(p.size, p.heads), x.dim[2]);
    require_indices(n, 3, 1, &p.rows, false);
    infer_same(n);
}

static void rotary_bind(Node *n)
{
    struct rotary_bind p;
    if (rotary_read(n, &p))
        bind_kernel(n, "rotary", NO_TYPE, NO_TYPE, rotary_fields(), &p, NULL, 0);
}

#define MODES                                                                                                          \
    "is_causal:int=0 kv_num_heads:int=0 q_num_heads:int=0 qk_matmul_output_mode:int=0 scale:float? softcap:float=0"
#define WINDOW " left_window_size:int=-1 right_window_size:int=-1"
#define INPUTS "Q:T1 K:T1 V:T2 attn_mask?:U past_key?:T1 past_value?:T2"
#define OUTPUTS " -> Y:T1 present_key?:T1 present_value?:T2 qk_matmul_output?:T1"
#define TYPES "T1=FB T2=FB U=NB|bool"

static const Op attention_ops[] = {
    {"Attention", 25, INPUTS " nonpad_kv_seqlen?:int64" OUTPUTS, TYPES, MODES " softmax_precision:int?" WINDOW,
     .expand = attention_expand, .compatible = "24 / " MODES " softmax_precision:int?"},
    {"Attention", 23, INPUTS OUTPUTS, TYPES, MODES " softmax_precision:int?", .expand = attention_expand},
    {"Attention", 1, "q:T k:T v:T mask?:U lens?:int64 past?:ANY starts?:int64 sink?:T -> y:T qk?:T",
     "T=FB U=FB|bool ANY=FB", MODES WINDOW, .infer = attention_infer, .bind = attention_bind, .domain = "onnxcc"},
    {"FlexAttention", 1, "Q:T1 K:T1 V:T1 -> Y:T1", "T1=FB",
     "prob_mod:graph? scale:float? score_mod:graph? softmax_precision:int?", .expand = flex_attention_expand,
     .domain = "ai.onnx.preview"},
    {"LinearAttention", 27, "query:T key:T value:T past_state?:S decay?:T beta?:T -> output:T present_state:S",
     "T=float|float16|bfloat16 S=float|float16|bfloat16",
     "chunk_size:int=64 kv_num_heads:int q_num_heads:int scale:float=0 update_rule:string=gated_delta",
     .infer = linear_attention_infer, .bind = linear_attention_bind},
    {"RotaryEmbedding", 23, "X:T cos_cache:T sin_cache:T position_ids?:int64 -> Y:T", "T=float|float16|bfloat16",
     "interleaved:int=0 num_heads:int=0 rotary_embedding_dim:int=0", .infer = rotary_infer, .bind = rotary_bind,
     .flags = INPLACE, .checks = 4},
};
OPS(attention_ops);
