/* microsoft_rotary.c - RotaryEmbedding and MRotaryEmbedding of the domain com.microsoft: ONNX's RotaryEmbedding with
 * other positions. */
#include "microsoft_attention.h"

/* The number of heads of x, input 0: num_heads, or as many as the angles in the caches rotate; 0: unknown, reported. */
static int64_t heads_of(Node *n)
{
    Shape x = in_shape(n, 0), c = in_shape(n, 2);
    int64_t heads = attr_int(n, "num_heads");
    if (heads > 0)
        return heads;
    Dim size = c.rank == 2 ? dim_mul(D(2), c.dim[1]) : D(0);
    if (x.rank == 3 && dim_is_const(x.dim[2]) && dim_is_const(size) && dim_value(size) > 0)
        return dim_value(x.dim[2]) / dim_value(size);
    node_error(n, "num_heads is needed for the input %s and the angles %s", shape_text(x), shape_text(c));
    return 0;
}

static bool check_rotary(Node *n)
{
    Shape x = in_shape(n, 0);
    for (int i = 2; i < 4; i++)
        if (in_shape(n, i).rank != 2)
            return node_error(n, "cos_cache %s and sin_cache %s must have two dimensions", shape_text(in_shape(n, 2)),
                              shape_text(in_shape(n, 3)));
    return x.rank == 3 || x.rank == 4 || node_error(n, "the input %s has neither 3 nor 4 dimensions", shape_text(x));
}

/* Replaces n by ONNX's operator. */
static void rotate(Node *n, Value *cosines, Value *sines, Value *ids)
{
    int64_t heads = in_shape(n, 0).rank == 3 ? heads_of(n) : 0;
    if (in_shape(n, 0).rank == 3 && !heads)
        return;
    Value *y = make(n, "RotaryEmbedding", 4, in(n, 0), cosines, sines, ids);
    attr_set_int(y->def, "interleaved", attr_int(n, "interleaved") != 0);
    attr_set_int(y->def, "num_heads", heads);
    attr_set_int(y->def, "rotary_embedding_dim", attr_int(n, "rotary_embedding_dim"));
    expand_to(n, y);
}

/* The positions are given for each row, or as that of the first one. */
static void rotary_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    Value *ids = in(n, 1);
    if (!check_rotary(n))
        return;
    if (in_shape(n, 1).rank < 2) {
        Dim rows = x.dim[x.rank - 2];
        if (!require_one(n, 1))
            return;
        ids = make(n, "Add", 2, make_reshape(n, ids, 1, (Dim[]){D(1)}), iota(n, rows));
        ids = make(n, "Expand", 2, ids, make_dims(n, 2, (Dim[]){x.dim[0], rows}));
    }
    rotate(n, in(n, 2), in(n, 3), ids);
}

/* ---- MRotaryEmbedding: three positions of each row: in time, height and width ------------------------------------ */

enum { STREAMS = 3 };

/* The position that each column of the caches is for; NULL: wrong, reported. */
static int *streams_of(Node *n, int64_t half)
{
    const int64_t *part;
    int64_t layout = attr_int(n, "mrope_layout"), sum = 0;
    int k = attr_ints(n, "mrope_section", &part);
    for (int i = 0; i < k; i++)
        sum = part[i] < 0 || part[i] > half || sum < 0 ? -1 : sum + part[i];
    if (k != STREAMS || sum != half || (layout != 0 && layout != 1)) {
        node_error(n, "mrope_section needs three numbers whose sum is %lld, mrope_layout is 0 or 1", (long long)half);
        return NULL;
    }
    int *stream = NEWS(int, half);
    for (int64_t c = 0; c < half; c++)
        if (layout)
            stream[c] = c % STREAMS && c < part[c % STREAMS] * STREAMS ? (int)(c % STREAMS) : 0;
        else
            stream[c] = c < part[0] ? 0 : c < part[0] + part[1] ? 1 : 2;
    return stream;
}

/* The rows of a cache that the positions select, (batch, rows, half). */
static Value *selected(Node *n, Value *cache, Value *const *ids, const int *stream, int64_t half)
{
    int64_t *from = NEWS(int64_t, half), *to = NEWS(int64_t, half), at = 0;
    Value *part[STREAMS];
    int parts = 0;
    for (int s = 0; s < STREAMS; s++) {
        int64_t first = at;
        for (int64_t c = 0; c < half; c++)
            if (stream[c] == s) {
                from[at] = c;
                to[c] = at++;
            }
        if (at == first)
            continue;
        Value *columns = make_ints(n, (int)(at - first), from + first);
        part[parts++] = make(n, "Gather", 2, with_int(make(n, "Gather", 2, cache, columns), "axis", 1), ids[s]);
    }
    Node *all = make_node(n, "Concat", parts, part, 1);
    attr_set_int(all, "axis", 2);
    Value *v = with_int(make(n, "Gather", 2, all->out[0], make_ints(n, (int)half, to)), "axis", 2);
    return attr_float(n, "scale") == 1 ? v
                                       : make(n, "Mul", 2, v, make_scalar(n, in_type(n, 0), attr_float(n, "scale")));
}

static void m_rotary_expand(Node *n)
{
    Shape x = in_shape(n, 0), c = in_shape(n, 2);
    Value *ids[STREAMS];
    if (!check_rotary(n))
        return;
    Dim rows = x.dim[x.rank - 2];
    if (!dim_is_const(c.dim[1]) || dim_value(c.dim[1]) < 1 || dim_value(c.dim[1]) > INT16_MAX) {
        node_error(n, "cos_cache is %s: its rows must be 1 to %d long", shape_text(c), INT16_MAX);
        return;
    }
    int64_t half = dim_value(c.dim[1]);
    const int *stream = streams_of(n, half);
    if (!stream || !require_shape(n, 1, shape_list(3, D(STREAMS), x.dim[0], rows)) || !require_shape(n, 3, c))
        return;
    Value *all = make_within(n, in(n, 1), 0, c.dim[0], true);
    for (int s = 0; s < STREAMS; s++)
        ids[s] = make_reshape(n, part_of(n, all, 0, D(s), D(1)), 2, (Dim[]){x.dim[0], rows});
    Value *cosines = selected(n, in(n, 2), ids, stream, half), *sines = selected(n, in(n, 3), ids, stream, half);
    rotate(n, cosines, sines, NULL);
}

#define ROTARY "input:T position_ids:int64 cos_cache:T sin_cache:T -> output:T", "T=float|float16|bfloat16"
#define HOW "interleaved:int=0 is_packed_batching:int=0 num_heads:int=0 rotary_embedding_dim:int=0 scale:float=1.0"

static const Op microsoft_rotary_ops[] = {
    {"RotaryEmbedding", 1, ROTARY, HOW, .expand = rotary_expand, .domain = "com.microsoft"},
    {"MRotaryEmbedding", 1, ROTARY, HOW " mrope_layout:int=0 mrope_section:ints", .expand = m_rotary_expand,
     .domain = "com.microsoft"},
};
OPS(microsoft_rotary_ops);
