/* ngram.c - NGramHashMapping and VarlenNGramHashMapping of com.microsoft. */
#include "ngram.h"
#include "ir/call.h"
#include "microsoft.h"

/* The kernel's arguments, which are VarlenNGramHashMapping's. */
enum { X, FACTORS, COUNTS, STARTS, PAST, ADDED, END, SEGMENTS, PAST_SEGMENTS, CAPTURED, INPUTS, OUTPUTS = 4 };

static bool is_packed(const Node *n) { return !strcmp(n->op->name, "VarlenNGramHashMapping"); }

/* The index of this input of the kernel among the node's; -1: it has none such. */
static int input(const Node *n, int of)
{
    return is_packed(n) || of < STARTS ? of : of == STARTS || of > SEGMENTS ? -1 : of - 1;
}

static Value *given(const Node *n, int of) { return input(n, of) < 0 ? NULL : in(n, input(n, of)); }

static bool require_given(Node *n, int of, Shape s) { return !given(n, of) || require_shape(n, input(n, of), s); }

static bool is_list(Node *n, int of)
{
    Shape s = in_shape(n, input(n, of));
    return s.rank == 1 || node_error(n, "input %d %s must have one dimension", input(n, of), shape_text(s));
}

/* Checks attributes and which arguments are given. */
static bool ngram_check(Node *n)
{
    int64_t order = attr_int(n, "max_ngram_size"), heads = attr_int(n, "n_head_per_ngram"), pad = attr_int(n, "pad_id");
    int64_t room = is_packed(n) ? attr_int(n, "state_update_capacity") : 0;
    if (order < 2 || order > INT16_MAX || heads < 1 || heads > INT32_MAX)
        return node_error(n, "max_ngram_size is %lld, n_head_per_ngram %lld", (long long)order, (long long)heads);
    if (in_type(n, X) == I32 && pad != (int32_t)pad)
        return node_error(n, "pad_id, %lld, is no int32", (long long)pad);
    if (room < 0 || room > 8)
        return node_error(n, "state_update_capacity is %lld, not in [0, 8]", (long long)room);
    if ((room > 0) != (given(n, CAPTURED) != NULL))
        return node_error(n, "capture_count must be given exactly if state_update_capacity is positive");
    if ((given(n, PAST_SEGMENTS) || (is_packed(n) && out(n, 2))) && !given(n, SEGMENTS))
        return node_error(n, "past_segment_ids and present_segment_ids need segment_ids");
    return true;
}

static void ngram_infer(Node *n)
{
    Shape x = in_shape(n, X);
    bool packed = is_packed(n);
    if (!ngram_check(n))
        return;
    if (x.rank != (packed ? 1 : 2)) {
        node_error(n, "input_ids %s must have %s", shape_text(x), packed ? "one dimension" : "two dimensions");
        return;
    }
    Dim order = D(attr_int(n, "max_ngram_size")), before = dim_sub(order, D(1));
    Shape columns = shape_list(1, dim_mul(before, D(attr_int(n, "n_head_per_ngram"))));
    if (!is_list(n, FACTORS) || !require_shape(n, COUNTS, columns) || (packed && !is_list(n, STARTS)))
        return;
    Dim factors = in_shape(n, FACTORS).dim[0];
    if (!require_dim(n, "multipliers", factors, dim_max(factors, order)))
        return;
    Dim batch = x.dim[0];
    if (packed) {
        batch = require_left(n, in_shape(n, STARTS).dim[0], dim_sub(in_shape(n, STARTS).dim[0], D(1)));
        if (!require_dim(n, "texts", batch, dim_max(batch, D(1))))
            return;
    }
    Shape state = shape_list(2, batch, before);
    if (!require_given(n, PAST, state) || !require_given(n, ADDED, columns) ||
        !require_given(n, END, (Shape){.rank = 0}) || !require_given(n, SEGMENTS, x) ||
        !require_given(n, PAST_SEGMENTS, state) || !require_given(n, CAPTURED, shape_list(1, batch)))
        return;
    Shape y = x;
    y.dim[y.rank++] = columns.dim[0];
    set_out(n, 0, in_type(n, X), y);
    set_out(n, 1, in_type(n, X), state);
    set_out(n, 2, I32, state);
    if (packed)
        set_out(n, 3, in_type(n, X), shape_list(3, batch, D(attr_int(n, "state_update_capacity")), before));
}

static void ngram_bind(Node *n)
{
    Shape x = in_shape(n, X);
    bool packed = is_packed(n);
    struct ngram_hash_bind p = {.batch = packed ? dim_sub(in_shape(n, STARTS).dim[0], D(1)) : x.dim[0],
                                .time = packed ? D(0) : x.dim[1],
                                .tokens = shape_count(x),
                                .order = D(attr_int(n, "max_ngram_size")),
                                .heads = D(attr_int(n, "n_head_per_ngram")),
                                .room = D(packed ? attr_int(n, "state_update_capacity") : 0),
                                .pad = D(attr_int(n, "pad_id")),
                                .resets = D(attr_int(n, "reset_on_eos") != 0)};
    Value *args[INPUTS + OUTPUTS];
    for (int i = 0; i < INPUTS; i++)
        args[i] = given(n, i);
    for (int i = 0; i < OUTPUTS; i++)
        args[INPUTS + i] = out(n, i);
    bind_kernel(n, "ngram_hash", in_type(n, X), NO_TYPE, ngram_hash_fields(), &p, args, INPUTS + OUTPUTS);
}

#define TYPES "M=int32|int64 S=int32"
#define ATTRS "max_ngram_size:int n_head_per_ngram:int pad_id:int reset_on_eos:int=0"

static const Op ngram_ops[] = {
    {"NGramHashMapping", 1,
     "input_ids:M multipliers:M vocab_sizes:M past_ids?:M head_offsets?:M eos_token_id?:M segment_ids?:S -> "
     "hash_ids:M present_ids?:M",
     TYPES, ATTRS, .infer = ngram_infer, .bind = ngram_bind, .flags = STOPS, MICROSOFT},
    {"VarlenNGramHashMapping", 1,
     "input_ids:M multipliers:M vocab_sizes:M cumulative_sequence_length:S past_ids?:M head_offsets?:M "
     "eos_token_id?:M segment_ids?:S past_segment_ids?:S capture_count?:S -> "
     "hash_ids:M present_ids?:M present_segment_ids?:S state_update?:M",
     TYPES, ATTRS " state_update_capacity:int=0", .infer = ngram_infer, .bind = ngram_bind, .flags = STOPS, MICROSOFT},
};
OPS(ngram_ops);
