/* microsoft_quantized.c - QAttention and QEmbedLayerNormalization of com.microsoft: they become products of integers,
 * or rows of tables, before the operators of floats. */
#include "ir/spatial.h"
#include "microsoft.h"
#include "microsoft_attention.h"

/* ---- QAttention -------------------------------------------------------------------------------------------------- */

/* Part i, keys or values, of past: (2, batch, heads, keys, size). */
static Value *past_part(Node *n, int i)
{
    Shape s = in_shape(n, 8);
    return make_reshape(n, part_of(n, in(n, 8), 0, D(i), D(1)), 4, s.dim + 1);
}

/* Do the shapes of input, weights and past fit? *width: the elements of the queries. */
static bool read_attention(Node *n, Dim *width)
{
    Shape x = in_shape(n, 0), w = in_shape(n, 1), past = in_shape(n, 8);
    if (x.rank != 3 || w.rank != 2 || attr_int(n, "num_heads") < 1)
        return node_error(n, "the input is %s, the weights are %s, num_heads is %lld", shape_text(x), shape_text(w),
                          (long long)attr_int(n, "num_heads"));
    if (in(n, 8) && past.rank != 5)
        return node_error(n, "past, %s, has not five dimensions", shape_text(past));
    if (attr_int(n, "do_rotary") || attr_int(n, "past_present_share_buffer"))
        return node_error(n, "do_rotary and past_present_share_buffer need inputs that QAttention does not have");
    *width = dim_div(w.dim[1], D(3));
    return require_dim(n, "elements of queries, keys and values of one size", dim_mul(*width, D(3)), w.dim[1]) &&
           require_shape(n, 2, shape_list(1, w.dim[1])) &&
           (!in(n, 8) || require_dim(n, "parts of past", past.dim[0], D(2)));
}

static void attention_expand(Node *n)
{
    Dim width;
    if (!read_attention(n, &width))
        return;
    Value *all = make(n, "com.microsoft.MatMulIntegerToFloat", 7, in(n, 0), in(n, 1), in(n, 3), in(n, 4), in(n, 6),
                      in(n, 7), in(n, 2)),
          *ins[8] = {NULL};
    for (int i = 0; i < 3; i++)
        ins[i] = part_of(n, all, 2, dim_mul(D(i), width), width);
    ins[4] = in(n, 5);
    for (int i = 0; i < 2 && in(n, 8); i++)
        ins[6 + i] = past_part(n, i);
    Node *y = make_node(n, "com.microsoft.MultiHeadAttention", 8, ins, out(n, 1) || in(n, 8) ? 3 : 1);
    attr_set_int(y, "num_heads", attr_int(n, "num_heads"));
    attr_set_int(y, "unidirectional", attr_int(n, "unidirectional"));
    attr_set_float(y, "mask_filter_value", attr_float(n, "mask_filter_value"));
    if (attr_is_given(n, "scale"))
        attr_set_float(y, "scale", attr_float(n, "scale"));
    replace_out(n, 0, y->out[0]);
    if (out(n, 1)) {
        static const int64_t first;
        Value *k = make(n, "Unsqueeze", 2, y->out[1], make_ints(n, 1, &first));
        Value *v = make(n, "Unsqueeze", 2, y->out[2], make_ints(n, 1, &first));
        replace_out(n, 1, with_int(make(n, "Concat", 2, k, v), "axis", 0));
    }
    expand_done(n);
}

/* ---- QEmbedLayerNormalization ------------------------------------------------------------------------------------ */

enum {
    IDS,
    SEGMENT_IDS,
    WORDS,
    POSITIONS,
    SEGMENTS,
    GAMMA,
    BETA,
    MASK,
    FIRST_SCALE
}; /* inputs; zero points: FIRST_SCALE + 5 */

/* v, elements of the table in input i, as floats. */
static Value *real(Node *n, Value *v, int i)
{
    int of = i - WORDS + FIRST_SCALE;
    return make(n, "DequantizeLinear", 3, v, in(n, of), in(n, of + 5));
}

static Value *rows_of(Node *n, int table, int ids) { return real(n, embeddings(n, table, ids), table); }

static bool read_tables(Node *n)
{
    Shape ids = in_shape(n, IDS), words = in_shape(n, WORDS), positions = in_shape(n, POSITIONS);
    bool segments = in(n, SEGMENTS) != NULL;
    if (ids.rank != 2 || words.rank != 2 || positions.rank != 2)
        return node_error(n, "the words %s and their and the positions' embeddings %s and %s must have two dimensions",
                          shape_text(ids), shape_text(words), shape_text(positions));
    if (segments != (in(n, SEGMENT_IDS) != NULL) || (segments && !in(n, SEGMENTS - WORDS + FIRST_SCALE)))
        return node_error(n, "segment_ids, segment_embedding and its scale come together");
    for (int i = FIRST_SCALE; i < FIRST_SCALE + 10; i++)
        if (!require_one(n, i))
            return false;
    return require_shape(n, MASK, ids) && require_shape(n, SEGMENT_IDS, ids) &&
           require_dim(n, "rows of position_embedding beyond those of the words", dim_max(positions.dim[0], ids.dim[1]),
                       positions.dim[0]);
}

/* For every row of the mask, its sum; without a mask, 0. */
static Value *mask_index(Node *n)
{
    if (!in(n, MASK))
        return make(n, "Expand", 2, make_scalar(n, I32, 0), make_dims(n, 1, in_shape(n, IDS).dim));
    Value *ones = make_cast(n, make(n, "Equal", 2, in(n, MASK), make_scalar(n, I32, 1)), I32);
    return with_int(make(n, "ReduceSum", 2, ones, make_ints(n, 1, (int64_t[]){1})), "keepdims", 0);
}

static void embed_expand(Node *n)
{
    if (!read_tables(n))
        return;
    Value *sum = rows_of(n, WORDS, IDS);
    if (in(n, SEGMENTS))
        sum = make(n, "Add", 2, sum, rows_of(n, SEGMENTS, SEGMENT_IDS));
    sum = make(n, "Add", 2, sum, real(n, part_of(n, in(n, POSITIONS), 0, D(0), in_shape(n, IDS).dim[1]), POSITIONS));
    Value *y = make(n, "LayerNormalization", 3, sum, real(n, in(n, GAMMA), GAMMA), real(n, in(n, BETA), BETA));
    attr_set_float(y->def, "epsilon", attr_float(n, "epsilon"));
    replace_out(n, 0, y);
    if (out(n, 1))
        replace_out(n, 1, mask_index(n));
    expand_done(n);
}

static const Op microsoft_quantized_ops[] = {
    {"QAttention", 1,
     "input:T1 weight:T2 bias:T3 input_scale:T3 weight_scale:T3 mask_index?:T4 input_zero_point?:T1 "
     "weight_zero_point?:T2 past?:T3 -> output:T3 present?:T3",
     "T1=int8|uint8 T2=int8|uint8 T3=float|float16 T4=int32",
     "do_rotary:int=0 mask_filter_value:float=-10000.0 num_heads:int past_present_share_buffer:int=0 scale:float? "
     "unidirectional:int=0",
     .expand = attention_expand, MICROSOFT},
    {"QEmbedLayerNormalization", 1,
     "input_ids:T1 segment_ids?:T1 word_embedding_quant:T2 position_embedding_quant:T2 segment_embedding?:T2 "
     "gamma_quant:T2 beta_quant:T2 mask?:T1 word_embedding_scale:T position_embedding_scale:T "
     "segment_embedding_scale?:T gamma_scale:T beta_scale:T word_embedding_zero_point:T2 "
     "position_embedding_zero_point:T2 segment_embedding_zero_point?:T2 gamma_zero_point:T2 beta_zero_point:T2 -> "
     "layernorm_out:T mask_index_out:T1",
     "T1=int32 T2=int8|uint8 T=float", "epsilon:float=1e-12", .expand = embed_expand, MICROSOFT},
};
OPS(microsoft_quantized_ops);
