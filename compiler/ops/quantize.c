/* quantize.c - QuantizeLinear and DequantizeLinear, as elementwise operators after scale and zero point are reshaped to
 * broadcast to x; DynamicQuantizeLinear. */
#include "ir/loop.h"
#include "ir/spatial.h"
#include "integer.h"
#include "table.h"

/* ---- scales and zero points: for all of x, per slice of an axis, per block of an axis ---------------------------- */

static int64_t attr_or(const Node *n, const char *attr, int64_t otherwise)
{
    return attr_is_given(n, attr) ? attr_int(n, attr) : otherwise;
}

/* v, an element per block along the axis, expanded to x's shape: each `block` times, cut to x's size. */
static Value *unblocked(Node *n, Value *v, int axis, int64_t block)
{
    Shape x = in_shape(n, 0), s = *v->shape, wide = s;
    Dim size = x.dim[axis], blocks = s.dim[axis];
    if (dim_is(blocks, 1) || dim_identical(blocks, size))
        return v;
    if (!block && dim_is_const(size) && dim_is_const(blocks))
        block = (dim_value(size) + dim_value(blocks) - 1) / dim_value(blocks);
    if (block < 1 || (dim_is_const(size) && dim_is_const(blocks) && !dim_identical(dim_ceil(size, D(block)), blocks))) {
        node_error(n, "blocks of %lld do not cut axis %d of %s into the %s of input %s", (long long)block, axis,
                   shape_text(x), shape_text(s), printable(v->name));
        return v;
    }
    if (!require_rank(n, wide.rank + 1))
        return v;
    assume_dim(n, dim_ceil(size, D(block)), blocks);
    for (int i = wide.rank++; i > axis; i--)
        wide.dim[i] = s.dim[i - 1];
    wide.dim[axis + 1] = D(block);
    s.dim[axis] = dim_mul(blocks, D(block));
    v = make(n, "Unsqueeze", 2, v, make_ints(n, 1, (int64_t[]){axis + 1}));
    v = make(n, "Expand", 2, v, make_dims(n, wide.rank, wide.dim));
    v = make_reshape(n, v, s.rank, s.dim);
    if (dim_identical(s.dim[axis], size))
        return v;
    return make(n, "Slice", 4, v, make_ints(n, 1, (int64_t[]){0}), make_dims(n, 1, &size),
                make_ints(n, 1, (int64_t[]){axis}));
}

/* Input i in a shape that broadcasts to x. */
static Value *lined_up(Node *n, int i)
{
    Value *v = in(n, i);
    Shape x = in_shape(n, 0);
    if (!v)
        return NULL;
    if (dim_is(shape_count(*v->shape), 1))
        return v->shape->rank ? make(n, "Reshape", 2, v, make_ints(n, 0, NULL)) : v;
    /* Some operators do not support narrow types. */
    if (type_bits(v->type) < 8 || (type_is_float(v->type) && type_bits(v->type) == 8)) {
        const Shape *s = v->shape;
        v = make_cast(n, v, type_is_float(in_type(n, i)) ? F32 : I32);
        v->shape = s;
    }
    int axis = x.rank == 1 ? 0 : axis_of(n, attr_or(n, "axis", 1), x.rank);
    int64_t block = attr_or(n, "block_size", 0), line_up[MAX_RANK] = {-1};
    for (int k = 0; k < x.rank && block && v->shape->rank == x.rank; k++)
        if (k != axis && !require_dim(n, "scales or zero points beside the axis of blocks", v->shape->dim[k], x.dim[k]))
            return v;
    if (v->shape->rank == x.rank && (x.rank > 1 || block))
        return unblocked(n, v, axis, block);
    if (v->shape->rank != 1 || !x.rank) {
        node_error(n, "input %d is %s: neither one number, nor one for each slice or block of %s", i,
                   shape_text(*v->shape), shape_text(x));
        return v;
    }
    for (int k = axis + 1; k < x.rank; k++)
        line_up[k - axis] = 1;
    return axis == x.rank - 1 ? v : make(n, "Reshape", 2, v, make_ints(n, x.rank - axis, line_up));
}

/* The zero point in a shape that broadcasts to x; NULL: constant integers 0. (A float 0 has an effect: it turns -0 into
 * 0.) */
static Value *zero_point(Node *n, int i)
{
    bool zero = in_is_const(n, i) && type_is_int(in_type(n, i));
    for (int64_t k = 0; zero && k < tensor_count(n->in[i]->data); k++)
        zero = tensor_get(n->in[i]->data, k) == 0;
    return zero ? NULL : lined_up(n, i);
}

/* Checks that zero points and scales have the same shape. */
static bool zeros_fit(Node *n)
{
    if (attr_or(n, "block_size", 0) < 0)
        return node_error(n, "block_size is %lld: it must be at least 0", (long long)attr_int(n, "block_size"));
    return !in(n, 2) ||
           require_dim(n, "number of zero points", shape_count(in_shape(n, 2)), shape_count(in_shape(n, 1)));
}

/* Is `precision` a type in which x can be divided by its scale? 0: the default. Reports otherwise. */
static bool can_divide(Node *n, int64_t precision)
{
    if (!precision || precision == F32 || precision == F64 || precision == F16 || precision == BF16)
        return true;
    node_error(n, "precision = %lld is no type to divide in", (long long)precision);
    note_help("float, double, float16 and bfloat16 are possible");
    return false;
}

static void quantize_expand(Node *n)
{
    Type zero = in(n, 2) ? in_type(n, 2) : NO_TYPE;
    int64_t to = attr_or(n, "output_dtype", 0), precision = attr_or(n, "precision", 0);
    if (zero && to && to != zero) {
        node_error(n, "output_dtype = %lld, but the zero point is %s", (long long)to, type_onnx(zero));
        return;
    }
    to = to ? to : zero ? zero : U8;
    if (!attr_type(n, "output_dtype", to) || !can_divide(n, precision) || !zeros_fit(n))
        return;
    if (!precision) /* by the scale's type, unless that is no type to divide in */
        precision = in_type(n, 1) == F8E8M0 || in_type(n, 1) == I32 ? in_type(n, 0) : in_type(n, 1);
    Value *scale = lined_up(n, 1), *shift = zero_point(n, 2);
    Value *y = with_int(make(n, "onnxcc.Quantize", 3, in(n, 0), scale, shift), "to", to);
    attr_set_int(y->def, "precision", precision == I32 ? F32 : precision);
    attr_set_int(y->def, "saturate", attr_or(n, "saturate", 1));
    expand_to(n, y);
}

static void dequantize_expand(Node *n)
{
    int64_t to = attr_or(n, "output_dtype", 0);
    to = to ? to : in_type(n, 1) == F8E8M0 ? F32 : in_type(n, 1);
    if (!attr_type(n, "output_dtype", to) || !zeros_fit(n))
        return;
    Value *scale = lined_up(n, 1), *shift = zero_point(n, 2);
    expand_to(n, with_int(make(n, "onnxcc.Dequantize", 3, in(n, 0), scale, shift), "to", to));
}

/* ---- the elementwise operators ----------------------------------------------------------------------------------- */

static bool is_one_number(const Value *v)
{
    return v->data && (tensor_count(v->data) == 1 || tensor_is_uniform(v->data));
}

/* Records v's quantisation if one scale holds for all elements. */
static void note_scale(Value *v, const Value *scale, const Value *zero)
{
    if (v && type_is_int(v->type) && is_one_number(scale) && (!zero || is_one_number(zero)) && !v->scale) {
        struct Scale *s = NEW(struct Scale);
        *s = (struct Scale){scale->data, zero ? zero->data : NULL};
        v->scale = s;
        scale->data->pinned = true;
        if (zero)
            zero->data->pinned = true;
    }
}

static void linear_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    for (int i = 1; i < n->n_in; i++)
        if (!require_expands(n, i, x))
            return;
    set_out(n, 0, (Type)attr_int(n, "to"), x);
    note_scale(in(n, 0), in(n, 1), in(n, 2));
    note_scale(out(n, 0), in(n, 1), in(n, 2));
}

/* The step value - zero, as a float: a limit of x / scale. */
static int limit(Loop *l, double value, Value *zero)
{
    int v = loop_literal(l, F32, value, 0);
    if (!zero)
        return v;
    if (zero->data && !zero->data->symbolic && tensor_count(zero->data) == 1)
        return loop_literal(l, F32, value - (double)tensor_get_int(zero->data, 0), 0);
    return loop_step(l, "sub", F32, F32, 2, v, loop_convert(l, loop_in(l, zero), F32));
}

/* saturate(round(x / scale) + zero); for float types: (x / scale + zero), converted. */
static void quantize_bind(Node *n)
{
    Loop *l = loop_new(*out(n, 0)->shape);
    Type t = out(n, 0)->type, p = (Type)attr_int(n, "precision");
    Value *zero = in(n, 2);
    int y = loop_step(l, "div", F32, p, 2, loop_convert(l, loop_in(l, n->in[0]), p),
                      loop_convert(l, loop_in(l, n->in[1]), p));
    if (type_is_int(t)) {
        double codes = (double)(1 << type_bits(t)), lo = type_is_signed(t) ? -codes / 2 : 0;
        y = loop_step(l, "nearest", F32, U32, 3, y, limit(l, lo, zero), limit(l, lo + codes - 1, zero));
        if (zero)
            y = loop_step(l, "add", U32, U32, 2, y, loop_convert(l, loop_in(l, zero), U32));
        y = loop_convert(l, y, t);
    } else {
        if (zero)
            y = loop_step(l, "add", F32, p, 2, y, loop_convert(l, loop_in(l, zero), F32));
        bool wrap = t >= F8E4M3FN && t <= F8E5M2FNUZ && !attr_int(n, "saturate");
        y = loop_step(l, wrap ? name_format("cast_%s_wrap", type_tag(t))->s : "to", F32, t, 1, y);
    }
    loop_out(l, y, out(n, 0));
    bind_loop(n, l);
}

/* (x - zero) * scale; integers are subtracted as integers. */
static void dequantize_bind(Node *n)
{
    Loop *l = loop_new(*out(n, 0)->shape);
    Type t = in_type(n, 0), a = type_is_int(t) ? I32 : F32;
    int x = loop_convert(l, loop_in(l, n->in[0]), a);
    if (in(n, 2))
        x = loop_step(l, "sub", a, a, 2, x, loop_convert(l, loop_in(l, n->in[2]), a));
    x = loop_step(l, "mul", F32, out(n, 0)->type, 2, loop_convert(l, x, F32),
                  loop_convert(l, loop_in(l, n->in[1]), F32));
    loop_out(l, x, out(n, 0));
    bind_loop(n, l);
}

/* A lookup table (fuse.c): x, and the result for each of its 256 bit patterns. */
static void table_infer(Node *n) { set_out(n, 0, in_type(n, 1), in_shape(n, 0)); }
static void table_bind(Node *n) { BIND_T(n, table, U8, .count = shape_count(in_shape(n, 0))); }

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define NARROW_10 "int8|uint8"
#define NARROW_19 NARROW_10 "|F8"
#define NARROW_21 NARROW_19 "|int16|uint16|int4|uint4"
#define NARROW_23 NARROW_21 "|float4e2m1"
#define NARROW_25 NARROW_23 "|int2|uint2"
#define NARROW_28 NARROW_25 "|float6e2m3|float6e3m2"
#define WIDE "float|float16|bfloat16"
#define ATTRS_21 "axis:int=1 saturate:int=1 block_size:int=0 output_dtype:int=0"
#define Q_28 "x:T1 y_scale:T2 y_zero_point?:T3 -> y:T3"
#define Q_21 "x:T1 y_scale:T1 y_zero_point?:T2 -> y:T2"
#define Q_13 "x:T1 y_scale:float y_zero_point?:T2 -> y:T2"
#define SCALE WIDE "|int32|float8e8m0"

static const Op quantize_ops[] = {
    {"QuantizeLinear", 28, Q_28, "T1=" WIDE "|int32 T2=" SCALE " T3=" NARROW_28, ATTRS_21 " precision:int=0",
     .expand = quantize_expand,
     .compatible = "25 T3=" NARROW_25 "; 24 T3=" NARROW_23 "; 23 T2=" WIDE "|int32 T3=" NARROW_23},
    {"QuantizeLinear", 21, Q_21, "T1=" WIDE "|int32 T2=" NARROW_21, ATTRS_21, .expand = quantize_expand,
     .compatible = "19 T2=" NARROW_19 " / axis:int=1 saturate:int=1"},
    {"QuantizeLinear", 13, Q_13, "T1=float|int32 T2=" NARROW_10, "axis:int=1", .expand = quantize_expand,
     .compatible = "10 /"},
    {"DequantizeLinear", 28, "x:T1 x_scale:T2 x_zero_point?:T1 -> y:T3",
     "T1=int32|" NARROW_28 " T2=" WIDE "|float8e8m0 T3=" WIDE, "axis:int=1 block_size:int=0 output_dtype:int=0",
     .expand = dequantize_expand,
     .compatible = "25 T1=int32|" NARROW_25 "; 24 T1=int32|" NARROW_23 "; 23 T1=int32|" NARROW_23 " T2=" WIDE
                   "; 21 T1=int32|" NARROW_21 " T2=" WIDE " / axis:int=1 block_size:int=0; 19 T1=int32|" NARROW_19
                   " T2=" WIDE " / axis:int=1"},
    {"DequantizeLinear", 13, "x:T x_scale:float x_zero_point?:T -> y:float", "T=int32|" NARROW_10, "axis:int=1",
     .expand = dequantize_expand, .compatible = "10 /"},
    {"DynamicQuantizeLinear", 11, "x:float -> y:uint8 y_scale:float y_zero_point:uint8", "", "",
     .body =
         "low = ReduceMin<keepdims=0>(x) lower = Min(low, 0) high = ReduceMax<keepdims=0>(x) upper = Max(high, 0) "
         "range = Sub(upper, lower) y_scale = Div(range, 255) negative = Div(lower, y_scale) start = Sub(0, negative) "
         "within = Clip(start, 0, 255) whole = Round(within) y_zero_point = Cast<to=2>(whole) "
         "y = QuantizeLinear(x, y_scale, y_zero_point)"},
    {"Quantize", 1, "x:T1 scale:T2 zero?:T3 -> y:T3",
     "T1=" WIDE "|int32 T2=" WIDE "|int32|float8e8m0 T3=" WIDE "|int32|" NARROW_28,
     "to:int precision:int saturate:int=1", linear_infer, quantize_bind, .flags = ELEMENTWISE, .domain = "onnxcc",
     .simplify = quantize_simplify},
    {"Dequantize", 1, "x:T1 scale:T2 zero?:Z -> y:T3",
     "T1=int32|" NARROW_28 " Z=int32|float|" NARROW_28 " T2=" WIDE "|float8e8m0 T3=" WIDE, "to:int copy:int?",
     linear_infer, dequantize_bind, .flags = ELEMENTWISE, .domain = "onnxcc", .simplify = dequantize_simplify},
    {"Table", 1, "x:T table:T1 -> y:T1", "T=int8|uint8 T1=int8|uint8|bool|F8", "", table_infer, table_bind,
     .flags = INPLACE | ELEMENTWISE, .domain = "onnxcc"},
};
OPS(quantize_ops);
