/* microsoft_sparse.c - SparseAttention of the domain com.microsoft: two inputs list, as a compressed sparse matrix, the
 * blocks of keys that each block of rows attends. */
#include "microsoft_attention.h"

enum { S_QUERY, S_KEY, S_VALUE, S_PAST_KEY, S_PAST_VALUE, S_BLOCK_ROWS, S_BLOCKS, S_TOTAL, S_ENDS, S_COS, S_SIN };

typedef struct Sparse {
    Value *part[3]; /* queries, keys, values: (batch, rows, heads * size) */
    Value *ends, *starts;
    int64_t heads, kv_heads, block, layouts;
    Dim batch, rows, size, room, blocks, entries;
} Sparse;

static bool read_parts(Node *n, Sparse *s)
{
    Shape q = in_shape(n, S_QUERY), past = in_shape(n, S_PAST_KEY);
    bool packed = !in(n, S_KEY) && !in(n, S_VALUE);
    if (s->heads < 1 || s->kv_heads < 1 || s->heads % s->kv_heads || s->block < 1 || s->block > INT16_MAX)
        return node_error(n,
                          "num_heads = %lld, kv_num_heads = %lld, sparse_block_size = %lld: num_heads must be a "
                          "positive multiple of kv_num_heads, the size of blocks 1 to %d",
                          (long long)s->heads, (long long)s->kv_heads, (long long)s->block, INT16_MAX);
    if (q.rank != 3 || past.rank != 4 || (!packed && (!in(n, S_KEY) || !in(n, S_VALUE))))
        return node_error(n, "query %s must have 3 dimensions and past_key %s 4, key and value come together",
                          shape_text(q), shape_text(past));
    const int64_t all = packed ? s->heads + 2 * s->kv_heads : s->heads;
    s->batch = q.dim[0];
    s->rows = q.dim[1];
    s->size = dim_div(q.dim[2], D(all));
    s->room = past.dim[2];
    Dim width[] = {dim_mul(D(s->heads), s->size), dim_mul(D(s->kv_heads), s->size), dim_mul(D(s->kv_heads), s->size)};
    Shape cache = shape_list(4, s->batch, D(s->kv_heads), s->room, s->size),
          keys = shape_list(3, s->batch, s->rows, width[1]);
    if (!require_dim(n, "elements of the queries in equal heads", dim_mul(D(all), s->size), q.dim[2]) ||
        !require_shape(n, S_KEY, keys) || !require_shape(n, S_VALUE, keys) || !require_shape(n, S_PAST_KEY, cache) ||
        !require_shape(n, S_PAST_VALUE, cache))
        return false;
    Dim at = D(0);
    for (int i = 0; i < 3; i++) {
        s->part[i] = packed ? part_of(n, in(n, S_QUERY), 2, at, width[i]) : in(n, i);
        at = dim_add(at, width[i]);
    }
    return true;
}

/* The numbers of keys, the new ones included, and the first positions. The first rows have no past. */
static bool read_ends(Node *n, Sparse *s)
{
    if (!require_one(n, S_TOTAL) || !require_dim(n, "numbers of keys", shape_count(in_shape(n, S_ENDS)), s->batch) ||
        !require_dim(n, "rows beyond the cache", dim_max(s->rows, s->room), s->room))
        return false;
    Dim later = dim_sub(D(1), dim_eq_expr(s->rows, value_dim(in(n, S_TOTAL), 0)));
    Value *ends = make_reshape(n, make_cast(n, in(n, S_ENDS), I64), 1, &s->batch);
    s->ends = make_within(n, ends, 0, s->room, false);
    Value *starts = make(n, "Sub", 2, s->ends, make_dims(n, 1, &s->rows));
    starts = make(n, "Mul", 2, starts, make_dims(n, 1, &later));
    s->starts = make_within(n, starts, 0, dim_sub(s->room, s->rows), false);
    return true;
}

/* Input 5 has, of each layout and block of rows, where its entries in input 6 begin, and then where the last end. */
static bool read_layouts(Node *n, Sparse *s)
{
    Shape rows = in_shape(n, S_BLOCK_ROWS), blocks = in_shape(n, S_BLOCKS);
    if (rows.rank != 2 || blocks.rank != 2 || !dim_is_const(rows.dim[0]) || dim_value(rows.dim[0]) < 1)
        return node_error(n, "block_row_indices %s and block_col_indices %s must have two dimensions", shape_text(rows),
                          shape_text(blocks));
    s->layouts = dim_value(rows.dim[0]);
    s->blocks = dim_sub(rows.dim[1], D(1));
    s->entries = blocks.dim[1];
    Dim positions = dim_mul(s->blocks, D(s->block));
    if (s->heads % s->layouts)
        return node_error(n, "%lld heads are no multiple of %lld layouts", (long long)s->heads, (long long)s->layouts);
    return require_dim(n, "layouts of the entries", blocks.dim[0], rows.dim[0]) &&
           require_dim(n, "keys beyond the blocks", dim_max(positions, s->room), positions);
}

/* May a row of block r attend the keys of block c, (layouts, blocks, blocks)? 1 or more, or 0. */
static Value *block_mask(Node *n, const Sparse *s)
{
    const Dim layouts = D(s->layouts), begin[] = {layouts, s->blocks, D(1)}, entry[] = {layouts, s->entries, D(1)};
    Value *e = iota(n, s->entries), *rows = make_cast(n, in(n, S_BLOCK_ROWS), I64);
    Value *from = make_reshape(n, part_of(n, rows, 1, D(0), s->blocks), 3, begin);
    Value *to = make_reshape(n, part_of(n, rows, 1, D(1), s->blocks), 3, begin);
    Value *of_row = make(n, "And", 2, make(n, "GreaterOrEqual", 2, e, from), make(n, "Less", 2, e, to));
    Value *block = make_reshape(n, make_cast(n, in(n, S_BLOCKS), I64), 3, entry);
    Value *of_key = make(n, "Equal", 2, block, iota(n, s->blocks));
    return make(n, "MatMul", 2, make_cast(n, of_row, F32), make_cast(n, of_key, F32));
}

/* May the block of a row attend the block of a key, (batch, heads or 1, rows, room)? */
static Value *mask_of(Node *n, const Sparse *s, Value *at)
{
    const Dim last = dim_sub(s->blocks, D(1));
    Value *by = make_int(n, s->block), *row = make(n, "Min", 2, make(n, "Div", 2, at, by), make_dims(n, 1, &last));
    Value *key = make(n, "Div", 2, iota(n, s->room), by);
    Value *v = make(n, "Greater", 2, block_mask(n, s), make_scalar(n, F32, 0));
    v = with_int(make(n, "Gather", 2, v, row), "axis", 1); /* (layouts, batch, rows, blocks) */
    v = make(n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", 4, (const int64_t[]){1, 0, 2, 3});
    v = with_int(make(n, "Gather", 2, v, key), "axis", 3);
    if (s->layouts == 1)
        return v;
    Value *layout = make(n, "Mod", 2, iota(n, D(s->heads)), make_int(n, s->layouts));
    return with_int(make(n, "Gather", 2, v, layout), "axis", 1);
}

static bool rotate_parts(Node *n, Sparse *s, Value *at)
{
    if (!attr_int(n, "do_rotary"))
        return true;
    if (!in(n, S_COS) || !in(n, S_SIN) || in_shape(n, S_COS).rank != 2)
        return node_error(n, "do_rotary needs cos_cache and sin_cache, with two dimensions");
    Dim half = in_shape(n, S_COS).dim[1];
    for (int i = 0; i < 2; i++) {
        s->part[i] = make(n, "RotaryEmbedding", 4, s->part[i], in(n, S_COS), in(n, S_SIN), at);
        attr_set_int(s->part[i]->def, "num_heads", i ? s->kv_heads : s->heads);
        attr_set_int(s->part[i]->def, "interleaved", attr_int(n, "rotary_interleaved") != 0);
        attr_set_int(s->part[i]->def, "rotary_embedding_dim", dim_is_const(half) ? 2 * dim_value(half) : 0);
    }
    return true;
}

static void sparse_expand(Node *n)
{
    Sparse s = {.heads = attr_int(n, "num_heads"),
                .kv_heads = attr_int(n, "kv_num_heads"),
                .block = attr_int(n, "sparse_block_size")};
    if (!read_parts(n, &s) || !read_ends(n, &s) || !read_layouts(n, &s))
        return;
    Value *at = make(n, "Add", 2, make_reshape(n, s.starts, 2, (Dim[]){s.batch, D(1)}), iota(n, s.rows)), *cache[2];
    if (!rotate_parts(n, &s, at))
        return;
    for (int i = 0; i < 2; i++) {
        Value *v = by_heads(n, s.part[1 + i], s.batch, s.rows, D(s.kv_heads), s.size);
        cache[i] = make(n, "TensorScatter", 3, in(n, S_PAST_KEY + i), v, s.starts);
    }
    Attended a = {.q = s.part[0], .k = cache[0], .v = cache[1], .mask = mask_of(n, &s, at), .lens = s.ends};
    a.starts = s.starts;
    a.heads = s.heads;
    a.kv_heads = s.kv_heads;
    a.causal = true;
    replace_out(n, 0, attend(n, &a)->out[0]);
    replace_out(n, 1, cache[0]);
    replace_out(n, 2, cache[1]);
    expand_done(n);
}

static const Op microsoft_sparse_ops[] = {
    {"SparseAttention", 1,
     "query:T key?:T value?:T past_key:T past_value:T block_row_indices:int32 block_col_indices:int32 "
     "total_sequence_length:int32 key_total_sequence_lengths:int32 cos_cache?:T sin_cache?:T -> output:T present_key:T "
     "present_value:T",
     "T=float|float16|bfloat16",
     "do_rotary:int=0 kv_num_heads:int num_heads:int rotary_interleaved:int=0 scale:float? sparse_block_size:int",
     .expand = sparse_expand, .domain = "com.microsoft"},
};
OPS(microsoft_sparse_ops);
