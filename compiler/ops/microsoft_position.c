/* microsoft_position.c - RelativePositionBias and GatedRelativePositionBias, of com.microsoft: what attention adds to
 * its scores by the distance of query and key. */
#include <math.h>

#include "ir/call.h"
#include "microsoft.h"

/* ---- RelativePositionBias ---------------------------------------------------------------------------------------- */

/* The bucket, of `buckets`, of each distance below `max`: the first half has one distance each, in the other the
 * distances grow by a constant factor. */
static Value *bucket_of(Node *n, int64_t max, int64_t buckets)
{
    int64_t exact = buckets / 2, *v = NEWS(int64_t, max);
    for (int64_t d = 0; d < max; d++) {
        double part = d > exact ? log((double)d / (double)exact) / log((double)max / (double)exact) : 0;
        int64_t far = exact + (int64_t)(part * (double)(buckets - exact) + 1e-9); /* a power of the factor is exact */
        v[d] = d < exact ? d : far < buckets ? far : buckets - 1;
    }
    return make_ints(n, (int)max, v);
}

/* The positions from 0 up to `length`, as (length, 1) or (length). */
static Value *positions(Node *n, Dim length, bool column)
{
    Value *end = make_reshape(n, make_dims(n, 1, &length), 0, NULL);
    Value *v = make(n, "Range", 3, make_int(n, 0), end, make_int(n, 1));
    return column ? make(n, "Unsqueeze", 2, v, make_ints(n, 1, (int64_t[]){1})) : v;
}

/* An element of bias_table for each head, query and key: of the bucket of their distance. The table's shape is
 * (buckets, heads), but its elements have the order of (heads, buckets). In both directions, keys behind the query have
 * the other half of the buckets. */
static void position_bias_expand(Node *n)
{
    enum { FAR = 1 << 16 };
    bool both = attr_int(n, "is_bidirectional") != 0;
    int64_t max = attr_int(n, "max_distance");
    Shape table = in_shape(n, 0);
    Dim length[2];
    if (table.rank != 2 || !dim_is_const(table.dim[0])) {
        node_error(n, "the table %s needs two dimensions, and a fixed number of buckets", shape_text(table));
        return;
    }
    int64_t buckets = dim_value(table.dim[0]) / (both ? 2 : 1);
    if (buckets < 2 || max <= buckets / 2 || max > FAR) {
        node_error(n, "max_distance is %lld for %lld buckets", (long long)max, (long long)buckets);
        return;
    }
    if (in_dims(n, 1, &length[0], 1) != 1 || in_dims(n, 2, &length[1], 1) != 1)
        return;
    if (!require_size(n, "query_length", &length[0]) || !require_dim(n, "key_length", length[1], length[0]))
        return;
    Value *far = make(n, "Sub", 2, positions(n, length[0], false), positions(n, length[0], true)),
          *zero = make_int(n, 0);
    Value *distance = both ? make(n, "Abs", 1, far) : make(n, "Max", 2, make(n, "Neg", 1, far), zero);
    distance = make(n, "Min", 2, distance, make_int(n, max - 1));
    Value *bucket = make(n, "Gather", 2, bucket_of(n, max, buckets), distance);
    if (both)
        bucket = make(n, "Add", 2, bucket,
                      make(n, "Where", 3, make(n, "Greater", 2, far, zero), make_int(n, buckets), zero));
    Value *by_head = make_reshape(n, in(n, 0), 2, (Dim[]){table.dim[1], table.dim[0]});
    Value *y = with_int(make(n, "Gather", 2, by_head, bucket), "axis", 1);
    expand_to(n, make(n, "Unsqueeze", 2, y, make_ints(n, 1, (int64_t[]){0})));
}

/* ---- GatedRelativePositionBias ----------------------------------------------------------------------------------- */

/* Half of `of`'s last axis, 0 or 1, as an axis of 1 */
static Value *half(Node *n, Value *of, int64_t i)
{
    return with_int(make(n, "Gather", 2, of, make_ints(n, 1, &i)), "axis", -1);
}

/* rel_pos * (u * (r * eco_a - 1) + 2), where u and r are the gates of each head and query: Sigmoid of the sums of the
 * two halves of (query + query_bias) weight + bias. */
static void gated_bias_expand(Node *n)
{
    static const int64_t perm[] = {0, 2, 1, 3};
    Shape q = in_shape(n, 0), w = in_shape(n, 3), pos = in_shape(n, 2);
    Dim heads = D(attr_int(n, "num_heads"));
    if (in(n, 6)) {
        node_error(n, "token_offset, of a batch without padding, is not supported");
        return;
    }
    if (q.rank != 3 || w.rank != 2 || pos.rank != 4 || dim_low(heads) < 1) {
        node_error(n, "the queries %s, weights %s and rel_pos %s must have 3, 2 and 4 dimensions", shape_text(q),
                   shape_text(w), shape_text(pos));
        return;
    }
    Dim size = dim_div(q.dim[2], heads), each = dim_div(w.dim[1], D(2));
    if (!require_dim(n, "elements of the queries in equal heads", dim_mul(size, heads), q.dim[2]) ||
        !require_dim(n, "rows of the weights", w.dim[0], size) ||
        !require_dim(n, "columns of the weights, in halves", dim_mul(each, D(2)), w.dim[1]))
        return;
    Type t = in_type(n, 0), wide = type_arith(t);
    Value *x = make(n, "Add", 2, make_cast(n, in(n, 0), wide), make_cast(n, in(n, 1), wide));
    x = make(n, "Transpose", 1, make_reshape(n, x, 4, (Dim[]){q.dim[0], q.dim[1], heads, size}));
    attr_set_ints(x->def, "perm", 4, perm);
    x = make(n, "Add", 2, make(n, "MatMul", 2, x, make_cast(n, in(n, 3), wide)), make_cast(n, in(n, 4), wide));
    x = make_reshape(n, x, 5, (Dim[]){q.dim[0], heads, q.dim[1], D(2), each});
    x = with_int(make(n, "ReduceSum", 2, x, make_ints(n, 1, (int64_t[]){-1})), "keepdims", 0);
    Value *gates = make(n, "Sigmoid", 1, x), *u = half(n, gates, 0), *r = half(n, gates, 1);
    Value *g = make(n, "Mul", 2, r, make_cast(n, in(n, 5), wide));
    g = make(n, "Mul", 2, u, make(n, "Sub", 2, g, make_scalar(n, wide, 1)));
    g = make(n, "Add", 2, g, make_scalar(n, wide, 2));
    Value *y = make(n, "Mul", 2, g, make_cast(n, in(n, 2), wide));
    expand_to(n, t == wide ? y : make_cast(n, y, t));
}

static const Op microsoft_position_ops[] = {
    {"RelativePositionBias", 1, "bias_table:T query_length:U key_length:U -> output:T", "T=float|float16 U=int64",
     "is_bidirectional:int=0 max_distance:int", .expand = position_bias_expand, MICROSOFT},
    {"GatedRelativePositionBias", 1,
     "query_layer:T query_bias:T rel_pos:T weight:T bias:T eco_a:T token_offset?:M -> output:T",
     "T=float|float16 M=int32", "num_heads:int", .expand = gated_bias_expand, .limit = "no token_offset", MICROSOFT},
};
OPS(microsoft_position_ops);
