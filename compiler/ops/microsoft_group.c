/* microsoft_group.c - GroupQueryAttention of the domain com.microsoft: the keys of each sample are appended to its own
 * number of past ones, in a cache that may be quantised. */
#include "microsoft_attention.h"

typedef struct Grouped {
    Value *q, *k, *v;              /* (batch, rows, heads * size), keys and values with kv_heads and `added` rows */
    Value *ends;                   /* the number of each sample's keys, the new ones included */
    Value *starts;                 /* how many of them are before the rows; NULL: none */
    Value *begins;                 /* the position of the first row, for its rotation; NULL: 0 */
    Value *kept;                   /* how many keys remain in a cache for a window; NULL: all */
    int64_t heads, kv_heads, bits; /* bits: of an element in a quantised cache; 0: it is not */
    Dim batch, rows, added, size, past, total, room; /* room: of the new cache */
    Dim first; /* 1: the rows are the sequence's first ones, whatever the cache holds; else 0 */
} Grouped;

enum {
    QUERY,
    KEY,
    VALUE,
    PAST_KEY,
    PAST_VALUE,
    ENDS,
    TOTAL,
    COS,
    SIN,
    POSITIONS,
    BIAS,
    SINK,
    K_SCALE,
    V_SCALE,
    Q_NORM,
    K_NORM
};

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Queries, keys and values are in one input, or in three. False: wrong, reported. */
static bool read_queries(Node *n, Grouped *g)
{
    Shape q = in_shape(n, QUERY), k = in_shape(n, KEY);
    bool packed = !in(n, KEY) && !in(n, VALUE);
    if (g->heads < 1 || g->kv_heads < 1 || g->heads % g->kv_heads)
        return node_error(n, "%lld query heads are no multiple of %lld key heads", (long long)g->heads,
                          (long long)g->kv_heads);
    if (!packed && (!in(n, KEY) || !in(n, VALUE)))
        return node_error(n, "key and value come together");
    if (q.rank != 3 || (!packed && k.rank != 3))
        return node_error(n, "query %s and key %s must have 3 dimensions", shape_text(q), shape_text(k));
    Dim width = D(packed ? g->heads + 2 * g->kv_heads : g->heads), kv_width;
    g->batch = q.dim[0];
    g->rows = q.dim[1];
    g->added = packed ? g->rows : k.dim[1];
    g->size = dim_div(q.dim[2], width);
    kv_width = dim_mul(D(g->kv_heads), g->size);
    if (!require_dim(n, "elements of the queries in equal heads", dim_mul(width, g->size), q.dim[2]))
        return false;
    if (packed) {
        width = dim_mul(D(g->heads), g->size);
        g->q = part_of(n, in(n, QUERY), 2, D(0), width);
        g->k = part_of(n, in(n, QUERY), 2, width, kv_width);
        g->v = part_of(n, in(n, QUERY), 2, dim_add(width, kv_width), kv_width);
        return true;
    }
    g->q = in(n, QUERY);
    g->k = in(n, KEY);
    g->v = in(n, VALUE);
    return (dim_is(g->added, 0) || require_dim(n, "new keys", g->added, g->rows)) &&
           require_shape(n, KEY, shape_list(3, g->batch, g->added, kv_width)) &&
           require_shape(n, VALUE, shape_list(3, g->batch, g->added, kv_width));
}

/* The cache's quantisation. */
static bool read_quantisation(Node *n, Grouped *g)
{
    static const char *const kinds[] = {"NONE", "PER_TENSOR", "PER_CHANNEL"};
    static const char *const attrs[] = {"k_quant_type", "v_quant_type"};
    Type t = in(n, PAST_KEY) ? in_type(n, PAST_KEY) : in_type(n, QUERY);
    int kind[2] = {-1, -1};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            if (attr_is(n, attrs[i], kinds[k]))
                kind[i] = k;
    g->bits = attr_int(n, "kv_cache_bit_width");
    if (kind[0] < 0 || kind[0] != kind[1])
        return node_error(n, "k_quant_type and v_quant_type are not both NONE, PER_TENSOR or PER_CHANNEL");
    if (g->bits != 0 && g->bits != 4 && g->bits != 8)
        return node_error(n, "kv_cache_bit_width is %lld, not 4 or 8", (long long)g->bits);
    if (!kind[0] != !g->bits || t != (g->bits == 8 ? I8 : g->bits ? U8 : in_type(n, QUERY)))
        return node_error(n, "a cache of %s is not one of %lld bits with k_quant_type %s", type_onnx(t),
                          (long long)g->bits, kinds[kind[0]]);
    for (int i = K_SCALE; g->bits && i <= V_SCALE; i++) {
        Dim count = kind[0] == 1 ? D(1) : dim_mul(D(g->kv_heads), g->size);
        if (!in(n, i) || !require_dim(n, "scales", shape_count(in_shape(n, i)), count))
            return in(n, i) || node_error(n, "input %d, a scale, is missing", i);
    }
    return g->bits != 4 || require_dim(n, "elements of a key in pairs", dim_mod(g->size, D(2)), D(0));
}

/* The past keys and values. */
static bool read_past(Node *n, Grouped *g)
{
    Dim stored = g->bits == 4 ? dim_div(g->size, D(2)) : g->size;
    g->past = D(0);
    if (!in(n, PAST_KEY) != !in(n, PAST_VALUE) || (in(n, PAST_KEY) && in_shape(n, PAST_KEY).rank != 4))
        return node_error(n, "past_key and past_value come together, with four dimensions");
    if (in(n, PAST_KEY))
        g->past = in_shape(n, PAST_KEY).dim[2];
    Shape cache = shape_list(4, g->batch, D(g->kv_heads), g->past, stored);
    return require_shape(n, PAST_KEY, cache) && require_shape(n, PAST_VALUE, cache);
}

/* The number of keys, of `count` since the beginning, in a cache for a window: all if they fit; else keys are dropped
 * in whole blocks, and at least a window of them remains. */
static Value *held(Node *n, const Grouped *g, Value *count, Dim block)
{
    Dim round = dim_sub(block, D(1));
    Value *by = make_dims(n, 1, &block), *over = make(n, "Sub", 2, count, make_dims(n, 1, &g->past));
    over = make(n, "Add", 2, make(n, "Max", 2, over, make_int(n, 0)), make_dims(n, 1, &round));
    return make(n, "Sub", 2, count, make(n, "Mul", 2, make(n, "Div", 2, over, by), by));
}

/* sliding_window_cache: ends and starts become counts of keys in the cache, which is extended by the new keys while n
 * runs. */
static bool slide(Node *n, Grouped *g)
{
    int64_t window = attr_int(n, "local_window_size");
    Dim block = dim_add(dim_sub(g->past, D(window)), D(1));
    if (window < 1 || !in(n, PAST_KEY) || out(n, 3) || dim_is(g->added, 0))
        return node_error(n, "sliding_window_cache needs a window, a cache and new keys, and no scores");
    if (!require_dim(n, "a window beyond the cache", dim_max(g->past, D(window)), g->past))
        return false;
    g->kept = held(n, g, g->ends, block);
    g->starts = held(n, g, g->starts, block);
    g->ends = make(n, "Add", 2, g->starts, make_dims(n, 1, &g->rows));
    g->room = dim_add(g->past, g->rows);
    return true;
}

/* The numbers of keys. */
static bool read_lengths(Node *n, Grouped *g)
{
    bool slides = attr_int(n, "sliding_window_cache") != 0;
    if (!require_one(n, TOTAL) || !require_dim(n, "numbers of keys", shape_count(in_shape(n, ENDS)), g->batch))
        return false;
    Dim total = value_dim(in(n, TOTAL), 0), all = dim_add(g->past, g->added);
    Dim beyond = dim_less_expr(g->past, total); /* either the new cache is larger, or the old one had room */
    if (!slides && !require_dim(n, "total_sequence_length", dim_select(beyond, total, all), all))
        return false;
    g->total = slides ? total : dim_max(dim_min(total, all), D(0));
    g->room = dim_max(g->past, g->total);
    g->first = in(n, PAST_KEY) ? dim_eq_expr(g->rows, g->total) : D(1);
    Value *last = make_reshape(n, make_cast(n, in(n, ENDS), I64), 1, &g->batch);
    last = make_within(n, last, 0, slides ? D(INT32_MAX) : g->room, true);
    g->ends = make(n, "Add", 2, last, make_int(n, 1));
    if (!slides && dim_is(g->first, 1))
        return true;
    Dim later = slides ? D(1) : dim_sub(D(1), g->first);
    Value *starts = make(n, "Sub", 2, g->ends, make_dims(n, 1, &g->rows));
    starts = make(n, "Mul", 2, starts, make_dims(n, 1, &later));
    g->starts = g->begins = make_within(n, starts, 0, slides ? D(INT32_MAX) : g->past, false);
    return !slides || slide(n, g);
}

/* ---- rotation ---------------------------------------------------------------------------------------------------- */

/* v, (batch, rows, heads * size), with each head divided by its root mean square and multiplied by the weights in input
 * i, if given. */
static Value *normalised(Node *n, const Grouped *g, Value *v, Dim rows, int64_t heads, int i)
{
    if (!in(n, i))
        return v;
    v = make(n, "RMSNormalization", 2, make_reshape(n, v, 4, (Dim[]){g->batch, rows, D(heads), g->size}), in(n, i));
    attr_set_float(v->def, "epsilon", attr_float(n, "qk_norm_epsilon"));
    return make_reshape(n, v, 3, (Dim[]){g->batch, rows, dim_mul(D(heads), g->size)});
}

/* The position of each row, (batch, rows). Of the first rows only the position of the very first is used. */
static Value *positions(Node *n, const Grouped *g)
{
    const Dim whole[] = {g->batch, g->rows};
    Value *given = in(n, POSITIONS), *row = iota(n, g->rows), *begin = make_int(n, 0);
    if (given)
        begin = part_of(n, make_reshape(n, given, 1, (Dim[]){dim_mul(g->batch, g->rows)}), 0, D(0), D(1));
    Value *first = make(n, "Expand", 2, make(n, "Add", 2, row, begin), make_dims(n, 2, whole));
    if (dim_is(g->first, 1))
        return first;
    Value *later = given;
    if (!given)
        later = make(n, "Add", 2, make_reshape(n, g->begins, 2, (Dim[]){g->batch, D(1)}), row);
    return make(n, "Where", 3, make_cast(n, make_dims(n, 1, &g->first), B8), first, later);
}

static Value *rotated(Node *n, Value *v, int64_t heads, Value *at)
{
    Shape c = in_shape(n, COS);
    Value *y = make(n, "RotaryEmbedding", 4, v, in(n, COS), in(n, SIN), at);
    attr_set_int(y->def, "num_heads", heads);
    attr_set_int(y->def, "interleaved", attr_int(n, "rotary_interleaved") != 0);
    attr_set_int(y->def, "rotary_embedding_dim", dim_is_const(c.dim[1]) ? 2 * dim_value(c.dim[1]) : 0);
    return y;
}

static bool prepare(Node *n, Grouped *g)
{
    if (!in(n, Q_NORM) != !in(n, K_NORM))
        return node_error(n, "q_norm_weight and k_norm_weight come together");
    if (!require_shape(n, Q_NORM, shape_list(1, g->size)) || !require_shape(n, K_NORM, shape_list(1, g->size)))
        return false;
    g->q = normalised(n, g, g->q, g->rows, g->heads, Q_NORM);
    g->k = normalised(n, g, g->k, g->added, g->kv_heads, K_NORM);
    if (!attr_int(n, "do_rotary"))
        return true;
    if (!in(n, COS) || !in(n, SIN) || in_shape(n, COS).rank != 2)
        return node_error(n, "do_rotary needs cos_cache and sin_cache, with two dimensions");
    if (!require_shape(n, POSITIONS, shape_list(2, g->batch, g->rows)))
        return false;
    Value *at = positions(n, g);
    g->q = rotated(n, g->q, g->heads, at);
    if (!dim_is(g->added, 0))
        g->k = rotated(n, g->k, g->kv_heads, at);
    return true;
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

/* Input i, the scales of all keys or values, or of each of their elements. */
static Value *scales(Node *n, const Grouped *g, int i)
{
    if (dim_is(shape_count(in_shape(n, i)), 1))
        return make_reshape(n, in(n, i), 0, NULL);
    return make_reshape(n, in(n, i), 4, (Dim[]){D(1), D(g->kv_heads), D(1), g->size});
}

/* Keys or values as they are in the cache; 4 bits: in pairs, the first in the lower half of a byte, plus 8. */
static Value *quantised(Node *n, const Grouped *g, Value *v, int scale)
{
    const double half = g->bits == 8 ? 128 : 8;
    if (!g->bits)
        return v;
    v = make(n, "Round", 1, make(n, "Div", 2, make_cast(n, v, F32), scales(n, g, scale)));
    v = make(n, "Clip", 3, v, make_scalar(n, F32, -half), make_scalar(n, F32, half - 1));
    if (g->bits == 8)
        return make_cast(n, v, I8);
    v = make_cast(n, make(n, "Add", 2, v, make_scalar(n, F32, half)), U8);
    Dim pairs[] = {g->batch, D(g->kv_heads), g->added, dim_div(g->size, D(2)), D(2)};
    v = make_reshape(n, v, 5, pairs);
    Value *upper = make(n, "Mul", 2, part_of(n, v, 4, D(1), D(1)), make_scalar(n, U8, 16));
    return make_reshape(n, make(n, "BitwiseOr", 2, part_of(n, v, 4, D(0), D(1)), upper), 4, pairs);
}

/* The inverse, of the whole cache. */
static Value *dequantised(Node *n, const Grouped *g, Value *v, int scale)
{
    if (!g->bits)
        return v;
    if (g->bits == 4) {
        Dim pairs[] = {g->batch, D(g->kv_heads), g->room, dim_div(g->size, D(2)), D(1)};
        Value *by = make_cast(n, make_ints(n, 2, (const int64_t[]){0, 4}), U8);
        v = make(n, "BitShift", 2, make_reshape(n, v, 5, pairs), by);
        attr_set_string(v->def, "direction", "RIGHT");
        v = make(n, "BitwiseAnd", 2, v, make_scalar(n, U8, 15));
        v = make_reshape(n, v, 4, (Dim[]){g->batch, D(g->kv_heads), g->room, g->size});
    }
    v = make_cast(n, v, F32);
    if (g->bits == 4)
        v = make(n, "Sub", 2, v, make_scalar(n, F32, 8));
    return make_cast(n, make(n, "Mul", 2, v, scales(n, g, scale)), in_type(n, QUERY));
}

/* The cache of keys or values, with v, the new ones by heads, after the past ones of each sample, then 0. */
static Value *cached(Node *n, const Grouped *g, Value *v, Value *past)
{
    const Dim shape[] = {D(1), D(1), g->room, D(1)}, one = D(1);
    const Dim pads[] = {D(0), D(0), D(0), D(0), D(0), D(0), dim_sub(g->room, g->past), D(0)};
    if (!past)
        return v;
    if (!dim_is(pads[6], 0))
        past = make(n, "Pad", 2, past, make_dims(n, 8, pads));
    Value *count = dim_is(g->added, 0) ? g->ends : g->starts;
    Type t = in_type(n, PAST_KEY);
    if (!count)
        count = repeated(n, make_int(n, 0), g->batch);
    Value *is_past = make(n, "Less", 2, make_reshape(n, iota(n, g->room), 4, shape),
                          make_reshape(n, count, 4, (Dim[]){g->batch, one, one, one}));
    past = make(n, "Where", 3, is_past, past, make_scalar(n, t, 0));
    return dim_is(g->added, 0) ? past : make(n, "TensorScatter", 3, past, v, count);
}

/* A cache for a window after the run: the keys that remain, then rows of 0. */
static Value *remaining(Node *n, const Grouped *g, Value *v)
{
    const Dim one = D(1), sample[] = {g->batch, one, one, one}, last = dim_sub(g->room, one);
    if (!g->kept)
        return v;
    Value *row = make_reshape(n, iota(n, g->past), 4, (Dim[]){one, one, g->past, one});
    Value *dropped = make_reshape(n, make(n, "Sub", 2, g->ends, g->kept), 4, sample);
    Value *at = make(n, "Min", 2, make(n, "Add", 2, row, dropped), make_dims(n, 1, &last));
    at = make(n, "Expand", 2, at, make_dims(n, 4, (Dim[]){g->batch, D(g->kv_heads), g->past, one}));
    v = with_int(make(n, "GatherND", 2, v, at), "batch_dims", 2);
    return make(n, "Where", 3, make(n, "Less", 2, row, make_reshape(n, g->kept, 4, sample)), v,
                make_scalar(n, in_type(n, PAST_KEY), 0));
}

/* attention_bias has a column per key since the beginning: those of the keys in the cache. */
static Value *bias_of(Node *n, const Grouped *g)
{
    const Dim one = D(1), sample[] = {g->batch, one, one, one}, last = dim_sub(g->total, one);
    Value *v = in(n, BIAS);
    if (!v || !g->kept)
        return v;
    const Dim heads = in_shape(n, BIAS).dim[1], shape[] = {g->batch, heads, g->rows, g->room};
    v = make(n, "Expand", 2, v, make_dims(n, 4, (Dim[]){g->batch, heads, g->rows, g->total}));
    Value *dropped = make_reshape(n, make(n, "Sub", 2, g->begins, g->starts), 4, sample);
    Value *at = make(n, "Min", 2, make(n, "Add", 2, iota(n, g->room), dropped), make_dims(n, 1, &last));
    return with_int(make(n, "GatherElements", 2, v, make(n, "Expand", 2, at, make_dims(n, 4, shape))), "axis", 3);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* The scores as the operator has them: before the softmax those of hidden keys are 0, not -infinity. */
static Value *scores_of(Node *n, const Grouped *g, const Attended *a, Value *v)
{
    const Dim one = D(1), sample[] = {g->batch, one, one, one}, row[] = {g->rows, one};
    v = part_of(n, v, 3, D(0), g->total);
    if (a->mode != 2)
        return v;
    Value *key = iota(n, g->total), *hidden = make(n, "GreaterOrEqual", 2, key, make_reshape(n, g->ends, 4, sample));
    Value *at = make(n, "Add", 2, make_reshape(n, a->starts, 4, sample), make_reshape(n, iota(n, g->rows), 2, row));
    if (a->causal)
        hidden = make(n, "Or", 2, hidden, make(n, "Greater", 2, key, at));
    if (a->window) {
        Value *first = make(n, "Sub", 2, at, make_int(n, a->window - 1));
        hidden = make(n, "Or", 2, hidden, make(n, "Less", 2, key, first));
    }
    return make(n, "Where", 3, hidden, make_scalar(n, in_type(n, QUERY), 0), v);
}

static bool check_modes(Node *n, const Grouped *g)
{
    int64_t window = attr_int(n, "local_window_size"), mode = attr_int(n, "qk_output"), causal = attr_int(n, "causal");
    Shape whole = shape_list(4, g->batch, D(g->heads), g->rows, g->total);
    if (window == 0 || window < -1 || window > INT32_MAX || (window > 0 && !causal))
        return node_error(n, "local_window_size is %lld, where causal is %lld", (long long)window, (long long)causal);
    if (mode < 0 || mode > 2 || (mode == 0 && out(n, 3)))
        return node_error(n, "qk_output is %lld: of the scores, 1 or 2 are possible", (long long)mode);
    if (in(n, BIAS) && in_shape(n, BIAS).rank != 4)
        return node_error(n, "attention_bias is %s, without four dimensions", shape_text(in_shape(n, BIAS)));
    return require_expands(n, BIAS, whole) && require_shape(n, SINK, shape_list(1, D(g->heads)));
}

static void group_expand(Node *n)
{
    Grouped g = {.heads = attr_int(n, "num_heads"), .kv_heads = attr_int(n, "kv_num_heads")};
    if (!read_queries(n, &g) || !read_quantisation(n, &g) || !read_past(n, &g) || !read_lengths(n, &g) ||
        !check_modes(n, &g) || !prepare(n, &g))
        return;
    Dim heads = D(g.kv_heads);
    Value *k = quantised(n, &g, by_heads(n, g.k, g.batch, g.added, heads, g.size), K_SCALE);
    Value *v = quantised(n, &g, by_heads(n, g.v, g.batch, g.added, heads, g.size), V_SCALE);
    k = cached(n, &g, k, in(n, PAST_KEY));
    v = cached(n, &g, v, in(n, PAST_VALUE));
    Attended a = {.q = g.q,
                  .k = dequantised(n, &g, k, K_SCALE),
                  .v = dequantised(n, &g, v, V_SCALE),
                  .mask = bias_of(n, &g),
                  .lens = g.ends,
                  .starts = g.starts ? g.starts : repeated(n, make_int(n, 0), g.batch),
                  .sink = in(n, SINK),
                  .heads = g.heads,
                  .kv_heads = g.kv_heads,
                  .causal = attr_int(n, "causal") != 0,
                  .scores = out(n, 3) != NULL,
                  .mode = attr_int(n, "qk_output") == 2 ? 3 : 2,
                  .cap = attr_float(n, "softcap")};
    a.window = attr_int(n, "local_window_size") < 0 ? 0 : attr_int(n, "local_window_size");
    if (!a.sink && attr_int(n, "smooth_softmax") == 1)
        a.sink = make(n, "Expand", 2, make_scalar(n, in_type(n, QUERY), 0), make_ints(n, 1, &g.heads));
    Node *y = attend(n, &a);
    replace_out(n, 0, y->out[0]);
    replace_out(n, 1, remaining(n, &g, k));
    replace_out(n, 2, remaining(n, &g, v));
    if (a.scores)
        replace_out(n, 3, scores_of(n, &g, &a, y->out[1]));
    expand_done(n);
}

static const Op microsoft_group_ops[] = {
    {"GroupQueryAttention", 1,
     "query:T key?:T value?:T past_key?:T_CACHE past_value?:T_CACHE seqlens_k:int32 total_sequence_length:int32 "
     "cos_cache?:T sin_cache?:T position_ids?:int64 attention_bias?:T head_sink?:T k_scale?:float v_scale?:float "
     "q_norm_weight?:T k_norm_weight?:T -> output:T present_key?:T_CACHE present_value?:T_CACHE output_qk?:T",
     "T=float|float16|bfloat16 T_CACHE=float|float16|bfloat16|uint8|int8",
     "causal:int=1 do_rotary:int=0 k_quant_type:string=NONE kv_cache_bit_width:int=0 kv_num_heads:int "
     "local_window_size:int=-1 num_heads:int qk_norm_epsilon:float=1e-6 qk_output:int=0 rotary_interleaved:int=0 "
     "scale:float? sliding_window_cache:int=0 smooth_softmax:int=-1 softcap:float=0 v_quant_type:string=NONE",
     .expand = group_expand, .domain = "com.microsoft"},
};
OPS(microsoft_group_ops);
