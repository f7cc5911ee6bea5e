/* microsoft_attention.c - Attention, MultiHeadAttention and DecoderMaskedMultiHeadAttention of the domain
 * com.microsoft: they become onnxcc.Attention (attention.c), where masks of integers are biases. */
#include "microsoft_attention.h"

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

Value *part_of(Node *n, Value *v, int axis, Dim from, Dim count)
{
    Dim to = dim_add(from, count);
    return make(n, "Slice", 4, v, make_dims(n, 1, &from), make_dims(n, 1, &to), make_ints(n, 1, &(int64_t){axis}));
}

Value *iota(Node *n, Dim count) { return make(n, "Range", 3, make_int(n, 0), make_dims(n, 1, &count), make_int(n, 1)); }

Value *repeated(Node *n, Value *v, Dim count)
{
    v = make_reshape(n, make_cast(n, v, I64), 1, (Dim[]){D(1)});
    return make(n, "Expand", 2, v, make_dims(n, 1, &count));
}

static Value *swapped(Node *n, Value *v) /* heads and rows */
{
    v = make(n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", 4, (const int64_t[]){0, 2, 1, 3});
    return v;
}

Value *by_heads(Node *n, Value *v, Dim batch, Dim rows, Dim heads, Dim size)
{
    return swapped(n, make_reshape(n, v, 4, (Dim[]){batch, rows, heads, size}));
}

double lowest_of(Type t) { return t == F16 ? -65504 : t == BF16 ? -0x1.fep127 : -0x1.fffffep127; }

Node *attend(Node *n, const Attended *a)
{
    Value *in[] = {a->q, a->k, a->v, a->mask, a->lens, a->past, a->starts, a->sink};
    Node *y = make_node(n, "onnxcc.Attention", 8, in, a->scores ? 2 : 1);
    attr_set_int(y, "q_num_heads", a->heads);
    attr_set_int(y, "kv_num_heads", a->kv_heads);
    attr_set_int(y, "is_causal", a->causal);
    attr_set_int(y, "left_window_size", a->window - 1);
    attr_set_int(y, "qk_matmul_output_mode", a->mode);
    attr_set_float(y, "softcap", a->cap);
    if (attr_is_given(n, "scale") && attr_float(n, "scale") != 0)
        attr_set_float(y, "scale", attr_float(n, "scale"));
    return y;
}

/* ---- queries, keys and values ------------------------------------------------------------------------------------ */

typedef struct Heads {
    Value *q, *k, *v;       /* (batch, rows, heads * size) */
    bool parted;            /* keys and values are by heads instead: (batch, heads, rows, size) */
    Value *past_k, *past_v; /* (batch, heads, keys, size) */
    Value *count;           /* the number of past keys in past_k, which has room for the new ones; NULL: it is full */
    Value *beams;           /* the beam that each past key of each sample and beam comes from; NULL: its own beam */
    int mask, bias;         /* inputs */
    bool causal, scores;    /* scores: they are output 3 */
    Dim batch, rows, added, past, keys, room, heads, size, v_size; /* keys: past + added; room: of the buffer */
} Heads;

/* The keys or values, v, after the past ones, by heads. */
static Value *with_past(Node *n, const Heads *h, Value *v, Dim size, Value *past)
{
    if (!h->parted)
        v = by_heads(n, v, h->batch, h->added, h->heads, size);
    if (!past)
        return v;
    if (!h->count)
        return with_int(make(n, "Concat", 2, past, v), "axis", 2);
    return make(n, "TensorScatter", 3, past, v, repeated(n, h->count, h->batch));
}

/* v, keys or values by heads, with the past ones taken from the beams that h->beams gives. */
static Value *of_beams(Node *n, const Heads *h, Value *v)
{
    Dim beams = h->beams->shape->dim[1], one = D(1);
    Value *own = make_reshape(n, iota(n, h->batch), 2, (Dim[]){h->batch, one});
    Value *at = iota(n, h->room), *width = make_dims(n, 1, &beams);
    Value *first = make(n, "Mul", 2, make(n, "Div", 2, own, width), width);
    Value *from = make_cast(n, make_reshape(n, h->beams, 2, (Dim[]){h->batch, h->room}), I64);
    Value *in_past = make(n, "Less", 2, at, make_dims(n, 1, &h->past));
    from = make(n, "Where", 3, in_past, make(n, "Add", 2, from, first), own);
    at = make(n, "Expand", 2, at, make_dims(n, 2, (Dim[]){h->batch, h->room}));
    Dim pair[] = {h->batch, h->room, one};
    Value *index = make(n, "Concat", 2, make_reshape(n, from, 3, pair), make_reshape(n, at, 3, pair));
    return swapped(n, make(n, "GatherND", 2, swapped(n, v), with_int(index, "axis", 2)));
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

/* The mask, 1 to 4 dimensions of integers, as (batch, 1, rows or 1, keys) of bool; *keep is NULL if it has no effect.
 * False: wrong, reported. */
static bool read_mask(Node *n, const Heads *h, Value **keep)
{
    Shape s = in_shape(n, h->mask);
    Value *mask = in(n, h->mask);
    Dim one = D(1), ends = h->batch, rows = one;
    *keep = NULL;
    if (s.rank == 1) { /* (batch): the end of the keys; (2 batch): ends, then starts; (3 batch + 2): ends first */
        bool starts = dim_identical(s.dim[0], dim_mul(D(2), h->batch)) && !dim_identical(s.dim[0], h->batch);
        bool sums = dim_identical(s.dim[0], dim_add(dim_mul(D(3), h->batch), D(2)));
        if (!starts && !sums && !require_dim(n, "numbers of keys in the mask", s.dim[0], h->batch))
            return false;
        Dim column[] = {h->batch, one, one, one};
        Value *at = iota(n, h->keys), *end = make_cast(n, part_of(n, mask, 0, D(0), ends), I64);
        *keep = make(n, "Less", 2, at, make_reshape(n, end, 4, column));
        if (starts) {
            Value *from = make_cast(n, part_of(n, mask, 0, ends, ends), I64);
            *keep = make(n, "And", 2, *keep, make(n, "GreaterOrEqual", 2, at, make_reshape(n, from, 4, column)));
        }
        return true;
    }
    if (s.rank == 2 && dim_is(s.dim[1], 1) && !dim_is(h->keys, 1)) /* one element for all keys has no effect */
        return require_expands(n, h->mask, shape_list(2, h->batch, one));
    if (s.rank == 2) {
        if (!require_shape(n, h->mask, shape_list(2, h->batch, h->keys)))
            return false;
    } else if (s.rank == 3) {
        if (!require_shape(n, h->mask, shape_list(3, h->batch, h->rows, h->keys)))
            return false;
        rows = h->rows;
    } else if (s.rank == 4) { /* a row for every position, the past included */
        if (!require_shape(n, h->mask, shape_list(4, h->batch, one, s.dim[3], s.dim[3])) ||
            !require_dim(n, "positions in the mask", dim_max(s.dim[3], h->keys), s.dim[3]))
            return false;
        mask = part_of(n, part_of(n, mask, 2, h->past, h->rows), 3, D(0), h->keys);
        rows = h->rows;
    } else
        return node_error(n, "the mask %s must have 1 to 4 dimensions", shape_text(s));
    mask = make_reshape(n, mask, 4, (Dim[]){h->batch, one, rows, h->keys});
    *keep = make(n, "Greater", 2, mask, make_scalar(n, I32, 0));
    return true;
}

/* True where the causal mask hides key j from row i: j > past + i. The last row attends all keys. */
static Value *later_keys(Node *n, const Heads *h)
{
    Dim last = dim_sub(h->rows, D(1));
    Value *row = make_reshape(n, iota(n, h->rows), 2, (Dim[]){h->rows, D(1)}), *at = iota(n, h->keys);
    Value *later = make(n, "Greater", 2, at, make(n, "Add", 2, row, make_dims(n, 1, &h->past)));
    return make(n, "And", 2, later, make(n, "Less", 2, row, make_dims(n, 1, &last)));
}

/* The bias of the scores, or NULL. Clears h->causal if the bias contains the causal mask. False: wrong, reported. */
static bool read_bias(Node *n, Heads *h, Value **bias)
{
    Type t = in_type(n, 0);
    Value *keep = NULL, *added = in(n, h->bias);
    double fill = attr_float(n, "mask_filter_value"), lowest = lowest_of(t);
    *bias = NULL;
    if (in(n, h->mask) && !read_mask(n, h, &keep))
        return false;
    if (keep)
        *bias = make(n, "Where", 3, keep, make_scalar(n, t, 0), make_scalar(n, t, fill < lowest ? lowest : fill));
    /* A row without visible keys attends those of the highest bias: masked ones, and later ones if `fill` is as low.
     * Then the causal mask has to be part of the bias. */
    if (h->causal && (h->scores || (keep && fill < -1e30) || !dim_identical(h->rows, h->added))) {
        Value *other = *bias ? *bias : make_scalar(n, t, 0);
        *bias = make(n, "Where", 3, later_keys(n, h), make_scalar(n, t, lowest), other);
        h->causal = false;
    }
    if (added) {
        Shape whole = shape_list(4, h->batch, h->heads, h->rows, h->keys);
        if (in_shape(n, h->bias).rank != 4)
            return node_error(n, "attention_bias is %s instead of %s", shape_text(in_shape(n, h->bias)),
                              shape_text(whole));
        if (!require_expands(n, h->bias, whole))
            return false;
        *bias = *bias ? make(n, "Add", 2, *bias, added) : added;
    }
    return true;
}

/* Replaces output 0, and the scores. */
static bool attend_heads(Node *n, Heads *h, Value *k, Value *v)
{
    Attended a = {.q = h->q, .k = k, .v = v, .scores = h->scores, .mode = 2};
    a.heads = a.kv_heads = attr_int(n, "num_heads");
    if (!read_bias(n, h, &a.mask))
        return false;
    a.causal = h->causal;
    a.past = h->past_k;
    if (h->count) {
        a.starts = repeated(n, h->count, h->batch);
        a.lens = repeated(n, make_dims(n, 1, &h->keys), h->batch);
    }
    if (h->beams && !dim_is(h->beams->shape->dim[1], 1)) {
        a.k = of_beams(n, h, k);
        a.v = of_beams(n, h, v);
    }
    Node *y = attend(n, &a);
    replace_out(n, 0, y->out[0]);
    if (a.scores)
        replace_out(n, 3, part_of(n, y->out[1], 3, D(0), h->keys));
    return true;
}

/* ---- MultiHeadAttention, DecoderMaskedMultiHeadAttention --------------------------------------------------------- */

/* The inputs of both. */
typedef struct Inputs {
    int bias, mask, added, past, count, beams;
} Inputs;

/* Part i of v, (batch, rows, heads, parts, size), as (batch, rows, heads * size). */
static Value *unpacked(Node *n, const Heads *h, Value *v, int i, Dim rows)
{
    return make_reshape(n, part_of(n, v, 3, D(i), D(1)), 3, (Dim[]){h->batch, rows, dim_mul(h->heads, h->size)});
}

/* Queries, keys and values in input 0: (batch, rows, heads, 3, size), or (batch, rows, 3 * heads * size). */
static bool read_packed(Node *n, Heads *h)
{
    Shape q = in_shape(n, 0);
    Value *part[3];
    bool five = q.rank == 5;
    h->size = h->v_size = five ? q.dim[4] : dim_div(q.dim[2], dim_mul(D(3), h->heads));
    Dim width = dim_mul(h->heads, h->size);
    h->added = h->rows;
    if (five ? !require_shape(n, 0, shape_list(5, h->batch, h->rows, h->heads, D(3), h->size))
             : !require_dim(n, "elements of queries, keys and values in equal heads", dim_mul(D(3), width), q.dim[2]))
        return false;
    for (int i = 0; i < 3; i++)
        part[i] = five ? unpacked(n, h, in(n, 0), i, h->rows) : part_of(n, in(n, 0), 2, dim_mul(D(i), width), width);
    h->q = part[0];
    h->k = part[1];
    h->v = part[2];
    return true;
}

/* Queries of (batch, rows, heads * size), keys of (batch, added, heads * size), (batch, added, heads, 2, size) with the
 * values, or (batch, heads, added, size). */
static bool read_separate(Node *n, Heads *h)
{
    Shape q = in_shape(n, 0), k = in_shape(n, 1), v = in_shape(n, 2);
    h->size = h->v_size = dim_div(q.dim[2], h->heads);
    h->parted = k.rank == 4;
    h->added = k.dim[h->parted ? 2 : 1];
    h->q = in(n, 0);
    h->k = in(n, 1);
    h->v = in(n, 2);
    Dim width = dim_mul(h->heads, h->size);
    if (!require_dim(n, "elements of the queries in equal heads", width, q.dim[2]))
        return false;
    if (k.rank == 5) {
        if (!require_shape(n, 1, shape_list(5, h->batch, h->added, h->heads, D(2), h->size)))
            return false;
        h->k = unpacked(n, h, in(n, 1), 0, h->added);
        h->v = unpacked(n, h, in(n, 1), 1, h->added);
        return true;
    }
    if (h->parted) {
        h->v_size = v.dim[3];
        return require_shape(n, 1, shape_list(4, h->batch, h->heads, h->added, h->size)) &&
               require_shape(n, 2, shape_list(4, h->batch, h->heads, h->added, h->v_size));
    }
    h->v_size = dim_div(v.dim[2], h->heads);
    return require_shape(n, 1, shape_list(3, h->batch, h->added, width)) &&
           require_shape(n, 2, shape_list(3, h->batch, h->added, dim_mul(h->heads, h->v_size)));
}

/* Adds the bias of queries, keys and values; keys and values by heads have none. */
static bool add_biases(Node *n, Heads *h, int i)
{
    Dim width = dim_mul(h->heads, h->size), v_width = dim_mul(h->heads, h->v_size);
    Value *bias = in(n, i);
    if (!bias)
        return true;
    if (in_shape(n, 1).rank == 5)
        return node_error(n, "keys and values in one input can have no bias");
    if (!require_shape(n, i, shape_list(1, dim_add(dim_mul(D(2), width), v_width))))
        return false;
    h->q = make(n, "Add", 2, h->q, part_of(n, bias, 0, D(0), width));
    if (!h->parted) {
        h->k = make(n, "Add", 2, h->k, part_of(n, bias, 0, width, width));
        h->v = make(n, "Add", 2, h->v, part_of(n, bias, 0, dim_mul(D(2), width), v_width));
    }
    return true;
}

/* Input i: the number of past keys in a buffer with room for all, checked at run time. False: wrong, reported. */
static bool read_count(Node *n, Heads *h, int i)
{
    Dim places = dim_max(dim_sub(h->room, h->added), D(0));
    if (!require_one(n, i) || !require_dim(n, "new keys beyond the room for them", dim_max(h->added, h->room), h->room))
        return false;
    h->past = dim_max(dim_min(value_dim(in(n, i), 0), places), D(0));
    h->count = make_within(n, in(n, i), 0, places, false);
    return true;
}

static bool read_past(Node *n, Heads *h, const Inputs *at, bool in_buffer)
{
    h->past_k = in(n, at->past);
    h->past_v = in(n, at->past + 1);
    h->past = h->room = D(0);
    if (h->past_k || h->past_v) {
        if (!h->past_k || !h->past_v || h->parted || in_shape(n, at->past).rank != 4)
            return node_error(n,
                              "past_key and past_value come together, with four dimensions, and not with keys of four");
        h->past = h->room = in_shape(n, at->past).dim[2];
        if (!require_shape(n, at->past, shape_list(4, h->batch, h->heads, h->room, h->size)) ||
            !require_shape(n, at->past + 1, shape_list(4, h->batch, h->heads, h->room, h->v_size)))
            return false;
        if (in_buffer && !in(n, at->count))
            return node_error(n, "past_sequence_length is not given");
        if (in_buffer && !read_count(n, h, at->count))
            return false;
    }
    h->keys = dim_add(h->past, h->added);
    h->beams = h->count ? in(n, at->beams) : NULL;
    if (!h->beams)
        return true;
    if (in_shape(n, at->beams).rank != 3)
        return node_error(n, "cache_indirection is %s, without three dimensions", shape_text(in_shape(n, at->beams)));
    Shape b = in_shape(n, at->beams);
    return require_dim(n, "beams", dim_mul(b.dim[0], b.dim[1]), h->batch) &&
           require_dim(n, "positions in cache_indirection", b.dim[2], h->room);
}

static void expand_heads(Node *n, const Inputs *at, bool causal, bool in_buffer)
{
    Shape q = in_shape(n, 0), k = in_shape(n, 1), v = in_shape(n, 2);
    int64_t heads = attr_int(n, "num_heads");
    Heads h = {.mask = at->mask, .bias = at->added, .scores = out(n, 3) != NULL, .causal = causal, .heads = D(heads)};
    bool packed = !in(n, 1) && !in(n, 2) && (q.rank == 3 || q.rank == 5);
    bool separate = q.rank == 3 && ((in(n, 2) && k.rank == v.rank && (k.rank == 3 || k.rank == 4)) ||
                                    (in(n, 1) && !in(n, 2) && k.rank == 5));
    if (heads < 1)
        node_error(n, "num_heads is %lld: it must be at least 1", (long long)heads);
    else if (!packed && !separate)
        node_error(n, "queries %s, keys %s and values %s are in none of the possible forms", shape_text(q),
                   in(n, 1) ? shape_text(k) : "(none)", in(n, 2) ? shape_text(v) : "(none)");
    if (heads < 1 || (!packed && !separate))
        return;
    h.batch = q.dim[0];
    h.rows = q.dim[1];
    if (!(packed ? read_packed(n, &h) : read_separate(n, &h)) || !add_biases(n, &h, at->bias) ||
        !read_past(n, &h, at, in_buffer))
        return;
    bool kept = h.past_k || out(n, 1) || out(n, 2);
    Value *keys = kept ? with_past(n, &h, h.k, h.size, h.past_k) : h.k;
    Value *values = kept ? with_past(n, &h, h.v, h.v_size, h.past_v) : h.v;
    if (!attend_heads(n, &h, keys, values))
        return;
    replace_out(n, 1, keys);
    replace_out(n, 2, values);
    expand_done(n);
}

static void multi_head_expand(Node *n)
{
    const Inputs at = {.bias = 3, .mask = 4, .added = 5, .past = 6, .count = 8, .beams = 9};
    expand_heads(n, &at, attr_int(n, "unidirectional") != 0, in(n, 8) != NULL);
}

static void decoder_expand(Node *n)
{
    const Inputs at = {.bias = 10, .mask = 3, .added = 4, .past = 5, .count = 7, .beams = 9};
    expand_heads(n, &at, false, attr_int(n, "past_present_share_buffer") != 0);
}

/* ---- Attention: with the weights of the queries, keys and values ------------------------------------------------- */

/* The sizes of queries, keys and values, each of all heads. False: wrong, reported. */
static bool read_widths(Node *n, Heads *h, Dim *width)
{
    Shape x = in_shape(n, 0), w = in_shape(n, 1);
    int64_t heads = attr_int(n, "num_heads");
    const int64_t *sizes;
    int k = attr_ints(n, "qkv_hidden_sizes", &sizes);
    if (x.rank != 3 || w.rank != 2 || heads < 1)
        return node_error(n, "the input is %s, the weights are %s, num_heads is %lld", shape_text(x), shape_text(w),
                          (long long)heads);
    if (k > 0 && k != 3)
        return node_error(n, "qkv_hidden_sizes has %d numbers instead of 3", k);
    for (int i = 0; i < 3; i++)
        width[i] = k > 0 ? D(sizes[i] < 0 ? 0 : sizes[i]) : dim_div(w.dim[1], D(3));
    Dim sum = dim_add(width[0], dim_add(width[1], width[2]));
    h->heads = D(heads);
    h->size = dim_div(width[0], h->heads);
    h->v_size = dim_div(width[2], h->heads);
    h->batch = x.dim[0];
    h->rows = h->added = x.dim[1];
    return require_shape(n, 1, shape_list(2, x.dim[2], sum)) && require_shape(n, 2, shape_list(1, sum)) &&
           require_dim(n, "elements of the keys", width[1], width[0]) &&
           require_dim(n, "elements of the queries in equal heads", dim_mul(h->heads, h->size), width[0]) &&
           require_dim(n, "elements of the values in equal heads", dim_mul(h->heads, h->v_size), width[2]);
}

/* Input 4, past: (2, batch, heads, keys, size), keys before values. */
static bool read_past_pair(Node *n, Heads *h)
{
    h->past = h->room = D(0);
    if (in(n, 4)) {
        Shape s = in_shape(n, 4);
        if (s.rank != 5 || attr_int(n, "past_present_share_buffer") != (in(n, 6) != NULL))
            return node_error(n,
                              s.rank != 5 ? "past, %s, has not five dimensions"
                                          : "past_sequence_length comes with past_present_share_buffer",
                              shape_text(s));
        h->past = h->room = s.dim[3];
        if (!require_shape(n, 4, shape_list(5, D(2), h->batch, h->heads, h->room, h->size)) ||
            (in(n, 6) && !read_count(n, h, 6)))
            return false;
        Dim half[] = {h->batch, h->heads, h->room, h->size};
        h->past_k = make_reshape(n, part_of(n, in(n, 4), 0, D(0), D(1)), 4, half);
        h->past_v = make_reshape(n, part_of(n, in(n, 4), 0, D(1), D(1)), 4, half);
    }
    h->keys = dim_add(h->past, h->added);
    if (!h->count)
        h->room = h->keys;
    return (!in(n, 4) && !out(n, 1)) || require_dim(n, "elements of a value, for those of a key", h->v_size, h->size);
}

static void attention_expand(Node *n)
{
    Heads h = {.mask = 3, .bias = 5, .causal = attr_int(n, "unidirectional") != 0};
    Dim width[3], at = D(0);
    Value *part[3];
    if (attr_int(n, "do_rotary")) {
        node_error(n, "do_rotary: the angles are not defined; RotaryEmbedding before MultiHeadAttention has them");
        return;
    }
    if (!read_widths(n, &h, width) || !read_past_pair(n, &h))
        return;
    for (int i = 0; i < 3; i++) {
        Value *w = part_of(n, in(n, 1), 1, at, width[i]), *b = in(n, 2) ? part_of(n, in(n, 2), 0, at, width[i]) : NULL;
        part[i] = make(n, "onnxcc.Product", 3, in(n, 0), w, b);
        at = dim_add(at, width[i]);
    }
    h.q = part[0];
    bool kept = in(n, 4) || out(n, 1);
    Value *k = kept ? with_past(n, &h, part[1], h.size, h.past_k) : part[1];
    Value *v = kept ? with_past(n, &h, part[2], h.v_size, h.past_v) : part[2];
    if (!attend_heads(n, &h, k, v))
        return;
    if (out(n, 1)) {
        Dim half[] = {D(1), h.batch, h.heads, h.room, h.size};
        Value *both = make(n, "Concat", 2, make_reshape(n, k, 5, half), make_reshape(n, v, 5, half));
        replace_out(n, 1, with_int(both, "axis", 0));
    }
    expand_done(n);
}

#define FLOATS "T=float|float16|bfloat16"
#define MASKED " mask_filter_value:float=-10000.0 num_heads:int scale:float?"

static const Op microsoft_attention_ops[] = {
    {"Attention", 1,
     "input:T weights:T bias?:T mask_index?:int32 past?:T attention_bias?:T past_sequence_length?:int32 -> output:T "
     "present?:T",
     FLOATS,
     "do_rotary:int=0 past_present_share_buffer:int=0 qkv_hidden_sizes:ints? rotary_embedding_dim:int=0 "
     "unidirectional:int=0" MASKED,
     .expand = attention_expand, .domain = "com.microsoft"},
    {"MultiHeadAttention", 1,
     "query:T key?:T value?:T bias?:T key_padding_mask?:int32 attention_bias?:T past_key?:T past_value?:T "
     "past_sequence_length?:int32 cache_indirection?:int32 -> output:T present_key?:T present_value?:T qk?:T",
     FLOATS, "unidirectional:int=0" MASKED, .expand = multi_head_expand, .domain = "com.microsoft"},
    {"DecoderMaskedMultiHeadAttention", 1,
     "query:T key?:T value?:T mask_index?:int32 attention_bias?:T past_key?:T past_value?:T "
     "past_sequence_length?:int32 beam_width?:int32 cache_indirection?:int32 bias?:T -> output:T present_key?:T "
     "present_value?:T qk?:T",
     FLOATS, "output_qk:int=0 past_present_share_buffer:int=0" MASKED, .expand = decoder_expand,
     .domain = "com.microsoft"},
};
OPS(microsoft_attention_ops);
