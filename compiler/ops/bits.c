/* bits.c - weights of a few bits, with a scale for every block: MatMulNBits, MatMulFpQ4, MatMulBnb4 and
 * GatherBlockQuantized of com.microsoft. */
#include "bits.h"

#include "ir/spatial.h"

/* ---- codes ------------------------------------------------------------------------------------------------------- */

/* The first `columns` of v's `all` along the axis. */
static Value *left_part(Node *n, Value *v, int axis, int64_t all, int64_t columns)
{
    int64_t from = 0, at = axis;
    if (all == columns)
        return v;
    return make(n, "Slice", 4, v, make_ints(n, 1, &from), make_ints(n, 1, &columns), make_ints(n, 1, &at));
}

/* v, of the shape s, as uint8: its last axis has bytes of codes, packed from the low bits up; of the codes, the first
 * `columns`. */
static Value *unpacked(Node *n, Value *v, Shape s, int64_t bits, int64_t columns)
{
    static const int64_t shift[][4] = {{0, 2, 4, 6}, {0, 4}};
    int64_t each = 8 / bits, all = dim_value(s.dim[s.rank - 1]) * each;
    if (bits == 8)
        return v;
    Shape wide = s;
    wide.dim[wide.rank++] = D(1);
    v = make_reshape(n, v, wide.rank, wide.dim);
    v = make(n, "BitShift", 2, v, make_cast(n, make_ints(n, (int)each, shift[bits / 4]), U8));
    attr_set_string(v->def, "direction", "RIGHT");
    v = make(n, "BitwiseAnd", 2, v, make_scalar(n, U8, (double)((1 << bits) - 1)));
    s.dim[s.rank - 1] = D(all);
    return left_part(n, make_reshape(n, v, s.rank, s.dim), s.rank - 1, all, columns);
}

Value *codes_of(Node *n, int i, int64_t bits, int64_t rows, int64_t columns)
{
    int64_t each = 8 / bits, bytes = (columns + each - 1) / each;
    if (!dim_is(shape_count(in_shape(n, i)), rows * bytes))
        node_error(n, "'%s' is %s, and not %lld rows of %lld codes of %lld bits", printable(in(n, i)->name),
                   shape_text(in_shape(n, i)), (long long)rows, (long long)columns, (long long)bits);
    Shape s = shape_list(2, D(rows), D(bytes));
    return make_cast(n, unpacked(n, make_reshape(n, in(n, i), 2, s.dim), s, bits, columns), F32);
}

/* ---- MatMulNBits ------------------------------------------------------------------------------------------------- */

/* v, an element per block, aligned with the codes; with g_idx, one per code. */
static Value *of_blocks(Node *n, Value *v, int64_t rows, int64_t blocks, int64_t k)
{
    v = make_cast(n, v, F32);
    if (!in(n, 4))
        return make_reshape(n, v, 3, (Dim[]){D(rows), D(blocks), D(1)});
    Value *g = left_part(n, in(n, 4), 0, dim_value(in_shape(n, 4).dim[0]), k); /* indices are not negative */
    return with_int(make(n, "Gather", 2, make_reshape(n, v, 2, (Dim[]){D(rows), D(blocks)}),
                         make_cast(n, make_cast(n, g, U32), I64)),
                    "axis", 1);
}

static bool check_nbits(Node *n, int64_t k, int64_t rows, int64_t bits, int64_t block)
{
    const int64_t max = 1 << 30;
    Shape g = in(n, 4) ? in_shape(n, 4) : shape_list(1, D(k));
    if (k < 1 || k > max || rows < 1 || rows > max || block < 1 || block > max || (bits != 2 && bits != 4 && bits != 8))
        node_error(n,
                   "K = %lld, N = %lld, bits = %lld, block_size = %lld: bits must be 2, 4 or 8, the others 1 to %lld",
                   (long long)k, (long long)rows, (long long)bits, (long long)block, (long long)max);
    else if (g.rank != 1 || !(dim_is(g.dim[0], k) || dim_is(g.dim[0], (k + block - 1) / block * block)))
        node_error(n, "g_idx is %s, and not a number for each of K", shape_text(g));
    else if (attr_int(n, "weight_prepacked"))
        node_error(n, "the weights are packed for one kind of processor");
    else
        return true;
    return false;
}

/* Y = A W' + bias: W has N rows of blocks along K, with a scale and a zero point per block; g_idx, if given, is the
 * block of every index of K. */
static void matmul_nbits_expand(Node *n)
{
    int64_t k = attr_int(n, "K"), rows = attr_int(n, "N");
    int64_t bits = attr_int(n, "bits"), block = attr_int(n, "block_size");
    if (!check_nbits(n, k, rows, bits, block))
        return;
    int64_t blocks = (k + block - 1) / block;
    Value *w = codes_of(n, 1, bits, rows, blocks * block), *zero = make_scalar(n, F32, (double)(1 << (bits - 1)));
    if (in(n, 3))
        zero = of_blocks(n, in_type(n, 3) == U8 ? codes_of(n, 3, bits, rows, blocks) : in(n, 3), rows, blocks, k);
    w = in(n, 4) ? left_part(n, w, 1, blocks * block, k) : make_reshape(n, w, 3, (Dim[]){D(rows), D(blocks), D(block)});
    w = make(n, "Mul", 2, make(n, "Sub", 2, w, zero), of_blocks(n, in(n, 2), rows, blocks, k));
    if (!in(n, 4))
        w = left_part(n, make_reshape(n, w, 2, (Dim[]){D(rows), D(blocks * block)}), 1, blocks * block, k);
    w = make(n, "Transpose", 1, make_cast(n, w, in_type(n, 0)));
    if (in(n, 5) && in_shape(n, 0).rank > 1) {
        if (require_dim(n, "elements of the bias", shape_count(in_shape(n, 5)), D(rows)))
            expand_to(n, make(n, "onnxcc.Product", 3, in(n, 0), w, in(n, 5))); /* rounded once */
    } else {
        Value *y = make(n, "MatMul", 2, in(n, 0), w);
        expand_to(n, in(n, 5) ? make(n, "Add", 2, y, in(n, 5)) : y);
    }
}

/* ---- MatMulFpQ4 -------------------------------------------------------------------------------------------------- */

static Value *shifted(Node *n, Value *v, Type t, int64_t bits, const char *direction)
{
    v = make(n, "BitShift", 2, v, make_scalar(n, t, (double)bits));
    attr_set_string(v->def, "direction", direction);
    return v;
}

/* Bytes [from, to) of the last axis of v. */
static Value *bytes(Node *n, Value *v, int64_t from, int64_t to)
{
    int64_t axis = -1;
    return make(n, "Slice", 4, v, make_ints(n, 1, &from), make_ints(n, 1, &to), make_ints(n, 1, &axis));
}

static Value *byte(Node *n, Value *v, int64_t i)
{
    return with_int(make(n, "Gather", 2, v, make_int(n, i)), "axis", -1);
}

/* B: for each of N columns, blocks of 32 rows: the scale's 4 bytes, a zero point unless blk_quant_type is 0, 16 bytes
 * of which each has row i in its low bits, row 16 + i in its high bits. */
static void matmul_fpq4_expand(Node *n)
{
    const int64_t max = 1 << 30;
    int64_t size[2], head = attr_int(n, "blk_quant_type") ? 5 : 4;
    int given = in_ints(n, 2, size, 2);
    if (given < 0)
        return;
    if (given != 2 || size[0] < 1 || size[0] > max || size[1] < 1 || size[1] > max) {
        node_error(n, "B_shape must be two numbers from 1 to %lld", (long long)max);
        return;
    }
    int64_t blocks = (size[0] + 31) / 32;
    if (!require_shape(n, 1, shape_list(1, dim_mul(D(size[1] * blocks), D(head + 16)))))
        return;
    Value *b = make_reshape(n, in(n, 1), 3, (Dim[]){D(size[1]), D(blocks), D(head + 16)}), *scale = NULL;
    for (int i = 0; i < 4; i++) {
        Value *part = shifted(n, make_cast(n, byte(n, b, i), U32), U32, 8 * i, "LEFT");
        scale = scale ? make(n, "BitwiseOr", 2, scale, part) : part;
    }
    scale = with_int(make(n, "BitCast", 1, scale), "to", F32);
    Value *zero = head == 5 ? make_cast(n, byte(n, b, 4), F32) : NULL, *codes = bytes(n, b, head, head + 16);
    codes = with_int(make(n, "Concat", 2, make(n, "BitwiseAnd", 2, codes, make_scalar(n, U8, 15)),
                          shifted(n, codes, U8, 4, "RIGHT")),
                     "axis", -1);
    codes = make_reshape(n, codes, 4, (Dim[]){D(size[1]), D(blocks), D(16), D(2)});
    codes = make(n, "BitwiseOr", 2, byte(n, codes, 0), shifted(n, byte(n, codes, 1), U8, 4, "LEFT"));
    Value *y = make(n, "com.microsoft.MatMulNBits", 4, in(n, 0), codes, scale, zero);
    with_int(with_int(y, "K", size[0]), "N", size[1]);
    expand_to(n, with_int(with_int(y, "bits", 4), "block_size", 32));
}

/* ---- MatMulBnb4 -------------------------------------------------------------------------------------------------- */

/* The values of the codes: floats of 4 bits with two of exponent and one of mantissa, and quantiles of the normal
 * distribution. */
static const float values_of_codes[2][16] = {
    {0, 5.208333333e-03f, 0.66666667f, 1, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f, -5.208333333e-03f, -0.66666667f,
     -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
     -0.18477343022823334f, -0.09105003625154495f, 0, 0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,
     0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1},
};

/* The weights, of N rows of K: the values of `all` codes, the first of two in the high bits, times the largest
 * magnitude in each block. */
static Value *bnb4_weights(Node *n, int64_t rows, int64_t k, int64_t block)
{
    static const int64_t high_first[] = {4, 0};
    int64_t all = rows * k, bytes = (all + 1) / 2, blocks = (all + block - 1) / block;
    Tensor *table = tensor_new(F32, 1, (int64_t[]){16});
    memcpy((void *)(uintptr_t)table->data, values_of_codes[attr_int(n, "quant_type")], sizeof *values_of_codes);
    Value *w = make_reshape(n, in(n, 1), 2, (Dim[]){D(bytes), D(1)});
    w = make(n, "BitShift", 2, w, make_cast(n, make_ints(n, 2, high_first), U8));
    attr_set_string(w->def, "direction", "RIGHT");
    w = make_cast(n, make(n, "BitwiseAnd", 2, w, make_scalar(n, U8, 15)), I32);
    w = left_part(n, make_reshape(n, w, 1, (Dim[]){D(2 * bytes)}), 0, 2 * bytes, all);
    w = make(n, "Gather", 2, value_const(n->graph, table), w);
    Value *scale = make_reshape(n, make_cast(n, in(n, 2), F32), 2, (Dim[]){D(blocks), D(1)});
    scale = make(n, "Expand", 2, scale, make_dims(n, 2, (Dim[]){D(blocks), D(block)}));
    scale = left_part(n, make_reshape(n, scale, 1, (Dim[]){D(blocks * block)}), 0, blocks * block, all);
    w = make_reshape(n, make(n, "Mul", 2, w, scale), 2, (Dim[]){D(rows), D(k)});
    return make_cast(n, w, in_type(n, 0));
}

static void matmul_bnb4_expand(Node *n)
{
    const int64_t max = 1 << 30, k = attr_int(n, "K"), rows = attr_int(n, "N"), block = attr_int(n, "block_size");
    int64_t type = attr_int(n, "quant_type");
    if (k < 1 || k > max || rows < 1 || rows > max || block < 1 || block > max) {
        node_error(n, "K = %lld, N = %lld, block_size = %lld: each must be 1 to %lld", (long long)k, (long long)rows,
                   (long long)block, (long long)max);
        return;
    }
    if (type != 0 && type != 1) {
        node_error(n, "quant_type is %lld, not 0 (FP4) or 1 (NF4)", (long long)type);
        return;
    }
    if (!require_dim(n, "bytes of weights", shape_count(in_shape(n, 1)), D((rows * k + 1) / 2)) ||
        !require_dim(n, "scales of blocks", shape_count(in_shape(n, 2)), D((rows * k + block - 1) / block)))
        return;
    Value *w = bnb4_weights(n, rows, k, block);
    expand_to(n, make(n, "MatMul", 2, in(n, 0), attr_int(n, "transB") ? make(n, "Transpose", 1, w) : w));
}

/* ---- GatherBlockQuantized ---------------------------------------------------------------------------------------- */

/* The axes of a gather: which one, of what size, and which one has blocks, before and behind. */
typedef struct Picked {
    int axis, along, along_behind;
    bool whole; /* both are one axis: it is picked from what is dequantised */
    Dim size;
    Value *at, *inside; /* the indices, and which of them exist; NULL: all */
} Picked;

/* Splits the indices into those that exist and zeros in place of others. */
static void read_indices(Node *n, Picked *p)
{
    p->at = in(n, 1);
    bool all = in_is_const(n, 1) && dim_is_const(p->size);
    for (int64_t k = 0; all && k < tensor_count(n->in[1]->data); k++) {
        int64_t v = tensor_get_int(n->in[1]->data, k);
        all = v >= -dim_value(p->size) && v < dim_value(p->size);
    }
    if (all)
        return;
    Value *at = make_cast(n, in(n, 1), I64), *size = make_dims(n, 1, &p->size);
    size = make_reshape(n, size, 0, NULL);
    p->inside =
        make(n, "And", 2, make(n, "GreaterOrEqual", 2, at, make(n, "Neg", 1, size)), make(n, "Less", 2, at, size));
    p->at = make(n, "Where", 3, p->inside, at, make_int(n, 0));
}

/* The elements of v that p picks; *s, the shape of v, becomes that of the result. An axis of one element serves all
 * indices. */
static Value *picked(Node *n, const Picked *p, Value *v, Shape *s)
{
    Shape i = in_shape(n, 1), y = {0};
    bool one = dim_is(s->dim[p->axis], 1) && !dim_is(p->size, 1);
    if (p->whole)
        return v;
    for (int k = 0; k < p->axis; k++)
        y.dim[y.rank++] = s->dim[k];
    for (int k = 0; k < i.rank; k++)
        y.dim[y.rank++] = one ? D(1) : i.dim[k];
    for (int k = p->axis + 1; k < s->rank; k++)
        y.dim[y.rank++] = s->dim[k];
    *s = y;
    return one ? make_reshape(n, v, y.rank, y.dim) : with_int(make(n, "onnxcc.Gather", 2, v, p->at), "axis", p->axis);
}

/* Do the scales fit the data? Those of floats may be shared along other axes. */
static bool scales_fit(Node *n, const Picked *p, Shape x, int64_t block)
{
    Shape s = in_shape(n, 2);
    bool shared = type_is_float(in_type(n, 0));
    if (s.rank != x.rank)
        return node_error(n, "the scales are %s, and not of %d dimensions like the data", shape_text(s), x.rank);
    for (int k = 0; k < x.rank; k++) {
        Dim is = k != p->along ? x.dim[k] : block ? dim_ceil(x.dim[k], D(block)) : D(1);
        if (!(shared && k != p->along && dim_is(s.dim[k], 1)) && !require_dim(n, "scales", s.dim[k], is))
            return false;
    }
    return true;
}

/* Reads the attributes; *bits: of bytes that have several codes, else 0; *x: the data's shape, of codes. */
static bool read_gather(Node *n, Picked *p, int64_t *bits, int64_t *block, Shape *x)
{
    int errors = error_count();
    bool bytes = in_type(n, 0) == U8, real = type_is_float(in_type(n, 0));
    *x = in_shape(n, 0);
    *bits = attr_int(n, "bits");
    *block = attr_int(n, "block_size");
    if (!x->rank)
        return node_error(n, "the data have no axis");
    p->axis = attr_axis(n, "gather_axis", x->rank);
    p->along = attr_axis(n, "quantize_axis", x->rank);
    if (error_count() > errors || !require_rank(n, x->rank + in_shape(n, 1).rank - 1))
        return false;
    p->along_behind = p->along + (p->along > p->axis ? in_shape(n, 1).rank - 1 : 0);
    p->size = x->dim[p->axis];
    if (bytes && *bits != 2 && *bits != 4 && *bits != 8)
        return node_error(n, "bits is %lld, not 2, 4 or 8", (long long)*bits);
    *bits = bytes && *bits < 8 ? *bits : 0;
    if (*block < (real ? 0 : 1) || *block > 1 << 30)
        return node_error(n, "block_size is %lld, and must be %d to %d", (long long)*block, real ? 0 : 1, 1 << 30);
    p->whole = p->axis == p->along;
    if (*bits && p->whole)
        return node_error(n, "gather_axis and quantize_axis are the same, of several codes in a byte");
    if (*bits && (p->axis == x->rank - 1 || !dim_is_const(x->dim[x->rank - 1])))
        return node_error(n, "the data are %s: codes in bytes need a last axis of known size that is not gathered",
                          shape_text(*x));
    if (real && in(n, 3))
        return node_error(n, "floats have no zero points");
    if (*bits)
        x->dim[x->rank - 1] = D(dim_value(x->dim[x->rank - 1]) * (8 / *bits));
    return true;
}

/* Input i, of the shape s, picked; with bits, also unpacked to `columns` codes. */
static Value *picked_codes(Node *n, int i, const Picked *p, Shape s, int64_t bits, Dim columns)
{
    Value *v = picked(n, p, in(n, i), &s);
    return bits ? unpacked(n, v, s, bits, dim_value(columns)) : v;
}

/* The codes less their zero points, times the scales. */
static Value *unquantized(Node *n, const Picked *p, Shape x, int64_t bits, int64_t block)
{
    Shape scales = in_shape(n, 2), blocks = x, packed = in_shape(n, 0);
    int last = x.rank - 1;
    packed.dim[last] = bits ? dim_div(x.dim[last], D(8 / bits)) : x.dim[last];
    blocks.dim[p->along] = block ? dim_ceil(x.dim[p->along], D(block)) : D(1);
    Value *y = picked_codes(n, 0, p, packed, bits, x.dim[last]), *zero = NULL;
    Value *scale = picked(n, p, in(n, 2), &scales);
    if (type_is_float(in_type(n, 0))) { /* whose scales may be shared along other axes */
        (void)picked(n, p, in(n, 0), &x);
        x.dim[p->along_behind] = scales.dim[p->along_behind];
        scale = make(n, "Expand", 2, scale, make_dims(n, x.rank, x.dim));
    } else if (in(n, 3)) {
        Shape zeros = blocks;
        zeros.dim[last] = bits ? dim_ceil(blocks.dim[last], D(8 / bits)) : blocks.dim[last];
        if (!require_shape(n, 3, zeros))
            return NULL;
        zero = picked_codes(n, 3, p, zeros, bits, blocks.dim[last]);
    } else if (in_type(n, 0) == U8)
        y = make(n, "Sub", 2, make_cast(n, y, I32), make_scalar(n, I32, 1 << ((bits ? bits : 8) - 1)));
    y = with_int(make(n, "DequantizeLinear", 3, y, scale, zero), "axis", p->along_behind);
    return block ? with_int(y, "block_size", block) : y;
}

static void gather_block_expand(Node *n)
{
    Picked p = {0};
    int64_t bits, block;
    Shape x, line = in_shape(n, 1);
    if (!read_gather(n, &p, &bits, &block, &x) || !scales_fit(n, &p, x, block))
        return;
    read_indices(n, &p);
    Value *y = unquantized(n, &p, x, bits, block);
    if (y && p.whole)
        y = with_int(make(n, "Gather", 2, y, p.at), "axis", p.axis);
    for (int k = p.axis + 1; k < x.rank; k++)
        line.dim[line.rank++] = D(1);
    if (y && p.inside)
        y = make(n, "Where", 3, make_reshape(n, p.inside, line.rank, line.dim), y, make_scalar(n, in_type(n, 2), 0));
    if (y)
        expand_to(n, y);
}

static const Op bits_ops[] = {
    {"MatMulNBits", 1, "A:T B:uint8 scales:T zero_points?:Z g_idx?:int32 bias?:T -> Y:T",
     "T=float|float16|bfloat16 Z=uint8|float|float16|bfloat16",
     "K:int N:int bits:int=4 block_size:int accuracy_level:int=0 weight_prepacked:int=0", .expand = matmul_nbits_expand,
     .domain = "com.microsoft"},
    {"MatMulFpQ4", 1, "A:T1 B:T2 B_shape:T3 -> Y:T1", "T1=float T2=uint8 T3=int64", "blk_quant_type:int=1",
     .expand = matmul_fpq4_expand, .domain = "com.microsoft"},
    {"MatMulBnb4", 1, "A:T1 B:T2 absmax:T1 -> Y:T1", "T1=float|float16|bfloat16 T2=uint8",
     "K:int N:int block_size:int quant_type:int training_mode:int=0 transB:int=1", .expand = matmul_bnb4_expand,
     .domain = "com.microsoft"},
    {"GatherBlockQuantized", 1, "data:T1 indices:Tind scales:T2 zero_points?:T1 -> output:T2",
     "T1=int4|uint4|uint8|F8|float4e2m1 T2=float|float16|bfloat16 Tind=int32|int64",
     "bits:int=4 block_size:int=128 gather_axis:int=0 quantize_axis:int=1", .expand = gather_block_expand,
     .domain = "com.microsoft"},
};
OPS(bits_ops);
