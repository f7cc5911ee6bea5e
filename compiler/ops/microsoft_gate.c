/* microsoft_gate.c - operators of com.microsoft for gates, several streams between layers, and convolutions over time:
 * each is expanded to operators of ONNX, computed in float. */
#include "ir/call.h"
#include "microsoft.h"

/* v as t, where both are known before v is inferred */
static Value *to_type(Node *n, Value *v, Type from, Type to) { return from == to ? v : make_cast(n, v, to); }

/* Input i in float, or double */
static Value *wide(Node *n, int i) { return in(n, i) ? make_cast(n, in(n, i), type_arith(in_type(n, i))) : NULL; }

/* Normalises x, of float, along its last axis of `size` elements. */
static Value *rms(Node *n, Value *x, Dim size)
{
    Value *ones = make(n, "Expand", 2, make_scalar(n, F32, 1), make_dims(n, 1, &size));
    Value *y = with_int(make(n, "RMSNormalization", 2, x, ones), "axis", -1);
    attr_set_float(y->def, "epsilon", attr_float(n, "epsilon"));
    return y;
}

static Value *swish(Node *n, Value *x) { return make(n, "Swish", 1, x); }

/* ---- branches: (..., c, h), or (..., c * h) with num_branches = c ------------------------------------------------ */

typedef struct Branches {
    Shape flat, whole; /* flat: of the input; whole: (..., c, h) */
    Dim c, h;
} Branches;

static bool read_branches(Node *n, Branches *b)
{
    int64_t c = attr_int(n, "num_branches");
    Shape s = in_shape(n, 0);
    *b = (Branches){.flat = s, .whole = s};
    if (s.rank < (c ? 1 : 2) || c < 0 || !require_rank(n, s.rank + (c > 0)))
        return node_error(n, "%s has no branches", shape_text(s));
    if (!c) {
        b->c = s.dim[s.rank - 2];
        b->h = s.dim[s.rank - 1];
        return true;
    }
    b->c = D(c);
    b->h = dim_div(s.dim[s.rank - 1], b->c);
    b->whole.rank = s.rank + 1;
    b->whole.dim[s.rank - 1] = b->c;
    b->whole.dim[s.rank] = b->h;
    return require_dim(n, "elements in equal branches", dim_mul(b->c, b->h), s.dim[s.rank - 1]);
}

static Value *in_branches(Node *n, const Branches *b)
{
    return make_reshape(n, wide(n, 0), b->whole.rank, b->whole.dim);
}

/* A gate, input i, of shape (..., c), (..., c, 1), (..., c, h) or, if `flat`, (..., c * h), as (..., c, 1 or h). */
static Value *gate(Node *n, int i, const Branches *b, bool flat)
{
    Shape s = in_shape(n, i), w = b->whole;
    Dim last = s.rank ? s.dim[s.rank - 1] : D(1);
    bool product = flat && s.rank == w.rank - 1 && !dim_identical(last, b->c);
    if (s.rank != w.rank && s.rank != w.rank - 1) {
        node_error(n, "the gate %s does not fit streams of shape %s", shape_text(s), shape_text(w));
        return NULL;
    }
    for (int k = 0; k < w.rank - 2; k++)
        if (!require_dim(n, "leading dimension of the gate", s.dim[k], w.dim[k]))
            return NULL;
    if (s.rank == w.rank - 1)
        w.dim[w.rank - 1] = product ? b->h : D(1);
    else {
        w.dim[w.rank - 1] = last;
        if (!dim_is(last, 1) && !require_dim(n, "elements of the gate", last, b->h))
            return NULL;
    }
    if (!require_dim(n, "branches of the gate", shape_count(s), shape_count(w)))
        return NULL;
    return make_reshape(n, wide(n, i), w.rank, w.dim);
}

static void branch_norm_expand(Node *n)
{
    Branches b;
    Type t = in_type(n, 0);
    if (!read_branches(n, &b))
        return;
    Value *y = rms(n, in_branches(n, &b), b.h);
    if (in(n, 1)) {
        Dim count = shape_count(in_shape(n, 1));
        bool all = !dim_identical(count, b.h) || dim_is(b.c, 1);
        if (!require_dim(n, "elements of the scale", count, all ? dim_mul(b.c, b.h) : b.h))
            return;
        y = make(n, "Mul", 2, y, make_reshape(n, wide(n, 1), 2, (Dim[]){all ? b.c : D(1), b.h}));
    }
    expand_to(n, to_type(n, make_reshape(n, y, b.flat.rank, b.flat.dim), F32, t));
}

/* reduction_scale * the sum over c of x[c] * gate[c] */
static void pre_mix_expand(Node *n)
{
    Branches b;
    if (!read_branches(n, &b))
        return;
    Value *g = gate(n, 1, &b, b.flat.rank < b.whole.rank);
    if (!g)
        return;
    Value *y = make(n, "ReduceSum", 2, make(n, "Mul", 2, in_branches(n, &b), g), make_ints(n, 1, (int64_t[]){-2}));
    y = with_int(y, "keepdims", 0);
    double scale = attr_float(n, "reduction_scale");
    y = scale == 1 ? y : make(n, "Mul", 2, y, make_scalar(n, F32, scale));
    expand_to(n, to_type(n, y, F32, in_type(n, 0)));
}

/* y[k] = the sum over c of mix[c, k] * x[c], or x[k] without mix, + gate[k] * block */
static void post_mix_expand(Node *n)
{
    Branches b;
    if (!read_branches(n, &b))
        return;
    Shape block = b.whole, mix = b.whole;
    block.rank--;
    block.dim[block.rank - 1] = b.h;
    mix.dim[mix.rank - 1] = b.c;
    Value *g = gate(n, 2, &b, false), *x = in_branches(n, &b);
    if (!g || !require_shape(n, 1, block) || !require_shape(n, 3, mix))
        return;
    if (in(n, 3))
        x = with_int(make(n, "onnxcc.Product", 2, wide(n, 3), x), "trans_a", 1);
    block.dim[block.rank++] = b.h;
    block.dim[block.rank - 2] = D(1);
    Value *y = make(n, "Add", 2, x, make(n, "Mul", 2, g, make_reshape(n, wide(n, 1), block.rank, block.dim)));
    expand_to(n, to_type(n, make_reshape(n, y, b.flat.rank, b.flat.dim), F32, in_type(n, 0)));
}

/* ---- gates ------------------------------------------------------------------------------------------------------- */

static void gated_add_expand(Node *n)
{
    Shape x = in_shape(n, 0), g = x;
    if (x.rank < 1) {
        node_error(n, "a scalar has no rows");
        return;
    }
    g.dim[g.rank - 1] = D(1);
    if (require_shape(n, 1, x) && require_shape(n, 2, g))
        expand_to(n, make(n, "Add", 2, in(n, 0), make(n, "Mul", 2, in(n, 1), in(n, 2))));
}

/* X, normalised in groups of as many elements as the scale has, times the scale and the activated gate. */
static void gated_norm_expand(Node *n)
{
    Shape x = in_shape(n, 0), parts = x, scale = in_shape(n, 1);
    bool plain = attr_is(n, "activation", "sigmoid");
    if (!plain && !attr_is(n, "activation", "silu") && !attr_is(n, "activation", "swish")) {
        node_error(n, "activation is \"%s\"", attr_string(n, "activation"));
        note_help("silu, swish and sigmoid are possible");
        return;
    }
    if (x.rank < 1 || scale.rank != 1 || !require_rank(n, x.rank + 1)) {
        node_error(n, "the scale %s does not fit %s", shape_text(scale), shape_text(x));
        return;
    }
    Dim groups = dim_div(x.dim[x.rank - 1], dim_max(scale.dim[0], D(1)));
    parts.dim[parts.rank++ - 1] = groups;
    parts.dim[parts.rank - 1] = scale.dim[0];
    if (!require_dim(n, "elements in groups", dim_mul(groups, scale.dim[0]), x.dim[x.rank - 1]) ||
        !require_shape(n, 2, x))
        return;
    Value *y = rms(n, make_reshape(n, wide(n, 0), parts.rank, parts.dim), scale.dim[0]);
    y = make_reshape(n, make(n, "Mul", 2, y, wide(n, 1)), x.rank, x.dim);
    Value *g = wide(n, 2);
    y = make(n, "Mul", 2, y, plain ? make(n, "Sigmoid", 1, g) : swish(n, g));
    expand_to(n, to_type(n, y, F32, in_type(n, 0)));
}

/* Every step is rounded to T. */
static void scaled_silu_expand(Node *n)
{
    Type t = in_type(n, 0);
    Value *scale = in(n, 1) ? wide(n, 1) : make_scalar(n, F32, attr_float(n, "alpha"));
    if (in(n, 1) && in_shape(n, 1).rank) {
        node_error(n, "the scale %s is no scalar", shape_text(in_shape(n, 1)));
        return;
    }
    Value *z = to_type(n, make(n, "Mul", 2, wide(n, 0), scale), F32, t);
    expand_to(n, make(n, "Mul", 2, z, make(n, "Sigmoid", 1, z)));
}

/* decay = decay_scale * Softplus(a + dt_bias), beta = Sigmoid(b) */
static void attention_gate_expand(Node *n)
{
    Type t = in_type(n, 0);
    if (out(n, 1) && !in(n, 3)) {
        node_error(n, "beta needs the input b");
        return;
    }
    if (!require_expands(n, 1, in_shape(n, 0)) || !require_expands(n, 2, in_shape(n, 0)) ||
        !require_shape(n, 3, in_shape(n, 0)))
        return;
    Value *plus = make(n, "Softplus", 1, make(n, "Add", 2, wide(n, 0), in(n, 1)));
    replace_out(n, 0, to_type(n, make(n, "Mul", 2, plus, in(n, 2)), F32, t));
    if (out(n, 1))
        replace_out(n, 1, to_type(n, make(n, "Sigmoid", 1, wide(n, 3)), F32, t));
    expand_done(n);
}

/* Input i, normalised along the last axis and scaled by input `scale`. */
static Value *scaled_rms(Node *n, Value *x, int scale, Dim size)
{
    return make(n, "Mul", 2, rms(n, x, size), wide(n, scale));
}

/* gate = Sigmoid(sign(d) * sqrt(max(|d|, 1e-6))), where d is the product of the normalised key and query by
 * sqrt(size); output: gate * value, for each of the branches; output 1: the same normalised. */
static void engram_expand(Node *n)
{
    Shape k = in_shape(n, 0), v = in_shape(n, 2);
    Type t = in_type(n, 0);
    if (k.rank != 4 || v.rank != 3) {
        node_error(n, "the keys %s must have four dimensions, the values %s three", shape_text(k), shape_text(v));
        return;
    }
    if (out(n, 1) && !in(n, 5)) {
        node_error(n, "gated_value_normed needs conv_norm_scale");
        return;
    }
    Shape scale = shape_list(2, k.dim[2], k.dim[3]);
    if (!require_shape(n, 1, k) || !require_shape(n, 2, shape_list(3, k.dim[0], k.dim[1], k.dim[3])) ||
        !require_shape(n, 3, scale) || !require_shape(n, 4, scale) || !require_shape(n, 5, scale))
        return;
    Dim size = k.dim[3];
    Value *both = make(n, "Mul", 2, scaled_rms(n, wide(n, 0), 3, size), scaled_rms(n, wide(n, 1), 4, size));
    Value *dot = make(n, "ReduceSum", 2, both, make_ints(n, 1, (int64_t[]){-1}));
    Value *root = make(n, "Sqrt", 1, make_cast(n, make_reshape(n, make_dims(n, 1, &size), 0, NULL), F32));
    dot = make(n, "Div", 2, dot, root);
    Value *length = make(n, "Sqrt", 1, make(n, "Max", 2, make(n, "Abs", 1, dot), make_scalar(n, F32, 1e-6)));
    Value *g = make(n, "Sigmoid", 1, make(n, "Mul", 2, make(n, "Sign", 1, dot), length));
    Value *y = make(n, "Mul", 2, g, make_reshape(n, wide(n, 2), 4, (Dim[]){k.dim[0], k.dim[1], D(1), k.dim[3]}));
    replace_out(n, 0, to_type(n, y, F32, t));
    if (out(n, 1))
        replace_out(n, 1, to_type(n, scaled_rms(n, y, 5, size), F32, t));
    expand_done(n);
}

/* ---- CausalConvWithState: along axis 1 or 2, with the past before it --------------------------------------------- */

/* Input i, (batch, time, channels...), as (batch, channels, time). */
static Value *channels_first(Node *n, int i)
{
    Shape s = in_shape(n, i);
    static const int64_t swap[] = {0, 2, 1};
    Value *v = make_reshape(n, in(n, i), 3, (Dim[]){s.dim[0], s.dim[1], shape_product(s, 2, s.rank)});
    v = make(n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", 3, swap);
    return v;
}

/* y, (batch, channels, time), as (batch, time, channels...) with the channels of `like`. */
static Value *channels_last(Node *n, Value *y, Shape like, Dim time)
{
    static const int64_t swap[] = {0, 2, 1};
    y = make(n, "Transpose", 1, y);
    attr_set_ints(y->def, "perm", 3, swap);
    like.dim[1] = time;
    return make_reshape(n, y, like.rank, like.dim);
}

static bool check_causal_conv(Node *n, bool last)
{
    Shape x = in_shape(n, 0), w = in_shape(n, 1);
    bool known =
        attr_is(n, "activation", "none") || attr_is(n, "activation", "silu") || attr_is(n, "activation", "swish");
    if (attr_int(n, "ndim") != 1 || attr_int(n, "state_window"))
        return node_error(n, "only one spatial axis and no state_window are possible, as in ONNX Runtime on a CPU");
    if (!known)
        return node_error(n, "activation is \"%s\"", attr_string(n, "activation"));
    if (x.rank < 3 || (!last && x.rank != 3) || w.rank != 3 || !dim_is_const(w.dim[2]) || attr_int(n, "dilation") < 1 ||
        attr_int(n, "dilation") > INT32_MAX || dim_value(w.dim[2]) < 1 || dim_value(w.dim[2]) > INT32_MAX)
        return node_error(n, "the input %s and the weights %s do not fit, with a dilation of %lld", shape_text(x),
                          shape_text(w), (long long)attr_int(n, "dilation"));
    return true;
}

static void causal_conv_expand(Node *n)
{
    bool last = attr_int(n, "channels_last") != 0;
    if (!check_causal_conv(n, last))
        return;
    Shape x = in_shape(n, 0), w = in_shape(n, 1), state = x;
    Type t = in_type(n, 0);
    int64_t dilation = attr_int(n, "dilation"), kept = (dim_value(w.dim[2]) - 1) * dilation;
    Dim time = x.dim[last ? 1 : 2], channels = last ? shape_product(x, 2, x.rank) : x.dim[1];
    state.dim[last ? 1 : 2] = D(kept);
    if (!require_dim(n, "channels of the weights", w.dim[0], channels) ||
        !require_dim(n, "weights for each channel beside the taps", w.dim[1], D(1)) || !require_shape(n, 3, state))
        return;
    if (!dim_is_const(channels)) {
        node_error(n, "the number of channels must be fixed");
        return;
    }
    Value *v = last ? channels_first(n, 0) : in(n, 0), *past;
    past = in(n, 3) ? last ? channels_first(n, 3) : in(n, 3)
                    : make(n, "Expand", 2, make_scalar(n, t, 0), make_dims(n, 3, (Dim[]){x.dim[0], channels, D(kept)}));
    v = with_int(make(n, "Concat", 2, past, v), "axis", 2);
    Value *y = with_int(make(n, "Conv", 3, v, in(n, 1), in(n, 2)), "group", dim_value(channels));
    attr_set_ints(y->def, "dilations", 1, &dilation);
    if (!attr_is(n, "activation", "none"))
        y = swish(n, y);
    replace_out(n, 0, last ? channels_last(n, y, x, time) : y);
    Dim end = dim_add(time, D(kept));
    v = make(n, "Slice", 4, v, make_dims(n, 1, &time), make_dims(n, 1, &end), make_ints(n, 1, (int64_t[]){2}));
    replace_out(n, 1, last ? channels_last(n, v, x, D(kept)) : v);
    expand_done(n);
}

/* ---- LinearAttention: of the standard, and fewer heads of queries or keys than of values --------------------------- */

/* Input i, (batch, tokens, heads * size), with each head `times` times in a row. */
static Value *repeated_heads(Node *n, int i, Dim size, Dim times)
{
    Shape x = in_shape(n, i);
    if (dim_is(times, 1))
        return in(n, i);
    Dim heads = dim_div(x.dim[2], size);
    Value *v = make_reshape(n, in(n, i), 5, (Dim[]){x.dim[0], x.dim[1], heads, D(1), size});
    v = make(n, "Expand", 2, v, make_dims(n, 5, (Dim[]){x.dim[0], x.dim[1], heads, times, size}));
    return make_reshape(n, v, 3, (Dim[]){x.dim[0], x.dim[1], dim_mul(x.dim[2], times)});
}

static void linear_attention_expand(Node *n)
{
    int64_t q_heads = attr_int(n, "q_num_heads"), kv_heads = attr_int(n, "kv_num_heads");
    Shape q = in_shape(n, 0), k = in_shape(n, 1);
    if (q_heads < 1 || kv_heads < 1 || (q_heads % kv_heads && kv_heads % q_heads)) {
        node_error(n, "neither of q_num_heads, %lld, and kv_num_heads, %lld, is a multiple of the other",
                   (long long)q_heads, (long long)kv_heads);
        return;
    }
    if (attr_int(n, "state_window")) {
        node_error(n, "state_window is %lld: only 0 is supported", (long long)attr_int(n, "state_window"));
        return;
    }
    if (q.rank != 3 || k.rank != 3) {
        node_error(n, "the queries %s and keys %s must have 3 dimensions", shape_text(q), shape_text(k));
        return;
    }
    Dim size = dim_div(q.dim[2], D(q_heads)), all = dim_mul(D(kv_heads), size);
    if (!require_dim(n, "elements of the queries in equal heads", dim_mul(D(q_heads), size), q.dim[2]) ||
        !require_dim(n, "elements of a head", dim_max(size, D(1)), size) ||
        !require_dim(n, "elements of the keys", dim_max(k.dim[2], D(1)), k.dim[2]))
        return;
    Dim shared = dim_div(all, k.dim[2]);
    if (!require_dim(n, "elements of the keys, times the heads that share them", dim_mul(shared, k.dim[2]), all))
        return;
    Value *args[] = {repeated_heads(n, 0, size, D(kv_heads > q_heads ? kv_heads / q_heads : 1)),
                     repeated_heads(n, 1, size, shared),
                     in(n, 2),
                     in(n, 3),
                     in(n, 4),
                     in(n, 5)};
    Node *m = make_node(n, "LinearAttention", 6, args, 2);
    attr_set_int(m, "q_num_heads", kv_heads > q_heads ? kv_heads : q_heads);
    attr_set_int(m, "kv_num_heads", kv_heads);
    attr_set_float(m, "scale", attr_float(n, "scale"));
    attr_set_string(m, "update_rule", attr_string(n, "update_rule"));
    replace_out(n, 0, m->out[0]);
    replace_out(n, 1, m->out[1]);
    expand_done(n);
}

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define TYPES "T=float|float16|bfloat16"
#define WITH_M TYPES " M=float|float16|bfloat16"

static const Op microsoft_gate_ops[] = {
    {"GatedAdd", 1, "X:T Y:T gate:T -> output:T", TYPES, "", .expand = gated_add_expand, MICROSOFT},
    {"GatedRMSNorm", 1, "X:T scale:T gate:T -> Y:T", TYPES, "activation:string=silu epsilon:float=1e-5",
     .expand = gated_norm_expand, MICROSOFT},
    {"BranchwiseRMSNorm", 1, "X:T scale?:M -> Y:T", WITH_M, "epsilon:float=1e-5 num_branches:int=0",
     .expand = branch_norm_expand, MICROSOFT},
    {"ScaledSiLU", 1, "X:T scale?:M -> Y:T", WITH_M, "alpha:float=1.0", .expand = scaled_silu_expand, MICROSOFT},
    {"HyperConnectionPreMix", 1, "streams:T pre_mix:M -> output:T", WITH_M,
     "num_branches:int=0 reduction_scale:float=1.0", .expand = pre_mix_expand, MICROSOFT},
    {"HyperConnectionPostMix", 1, "streams:T block_output:T post_mix:M stream_mix?:M -> output:T", WITH_M,
     "num_branches:int=0", .expand = post_mix_expand, MICROSOFT},
    {"LinearAttentionGate", 1, "a:T dt_bias:TF decay_scale:TF b?:T -> decay:T beta?:T", TYPES " TF=float", "",
     .expand = attention_gate_expand, MICROSOFT},
    {"LinearAttention", 1, "query:T key:T value:T past_state?:S decay?:T beta?:T -> output:T present_state:S",
     TYPES " S=float|float16|bfloat16",
     "chunk_size:int=64 kv_num_heads:int q_num_heads:int scale:float=0 state_window:int=0 "
     "update_rule:string=gated_delta",
     .expand = linear_attention_expand, .limit = "no state_window", MICROSOFT},
    {"EngramGate", 1,
     "key:T query:T value:T key_norm_scale:T query_norm_scale:T conv_norm_scale?:T -> output:T gated_value_normed?:T",
     TYPES, "epsilon:float=1e-5", .expand = engram_expand, MICROSOFT},
    {"CausalConvWithState", 1, "input:T weight:T bias?:T past_state?:T -> output:T present_state:T", TYPES,
     "activation:string=none channels_last:int=0 dilation:int=1 ndim:int=1 state_window:int=0",
     .expand = causal_conv_expand, MICROSOFT},
};
OPS(microsoft_gate_ops);
