/* create.c - Constant, ConstantOfShape, Shape, Size, Range, EyeLike, OneHot, Trilu, ReverseSequence. */
#include "ir/spatial.h"
#include "create.h"
#include "fill.h"

/* ---- Constant ------------------------------------------------------------------------------------------------- */

/* The tensor of a Constant's attribute. */
static Tensor *constant_tensor(const Attr *a)
{
    Tensor *t;
    int64_t k = a->n;
    if (name_is(a->name, "value") || name_is(a->name, "sparse_value"))
        return a->t;
    if (name_is(a->name, "value_int"))
        return tensor_int(I64, a->i);
    if (name_is(a->name, "value_ints"))
        return tensor_ints(a->n, a->ints);
    if (name_is(a->name, "value_float") || name_is(a->name, "value_floats")) {
        t = tensor_new(F32, name_is(a->name, "value_floats"), &k);
        if (tensor_count(t))
            memcpy((void *)(uintptr_t)t->data, t->rank ? a->floats : &a->f, tensor_size(t));
        return t;
    }
    t = tensor_new(STR, name_is(a->name, "value_strings"), &k);
    for (int64_t i = 0; i < tensor_count(t); i++)
        tensor_set_str(t, i, t->rank ? a->strings[i] : a->s);
    return t;
}

static void constant_infer(Node *n)
{
    if (n->n_attr != 1) {
        node_error(n, "a Constant has exactly one attribute, not %d", n->n_attr);
        return;
    }
    Tensor *t = constant_tensor(&n->attr[0]);
    if (!t)
        bug("Constant without a tensor");
    out(n, 0)->data = t;
    set_out(n, 0, t->type, tensor_shape(t));
}

/* ---- splats ------------------------------------------------------------------------------------------------------ */

/* The element in the attribute `value`; by default float 0. NULL: wrong, reported. */
static const Tensor *fill_value(Node *n)
{
    const Attr *a = node_attr(n, "value");
    if (!a)
        return tensor_float(F32, 0);
    if (tensor_count(a->t) != 1)
        node_error(n, "value has %lld elements; it must have one", (long long)tensor_count(a->t));
    return tensor_count(a->t) == 1 ? a->t : NULL;
}

static void fill_infer(Node *n)
{
    const Tensor *t = fill_value(n);
    Shape y;
    if (!t || (y.rank = in_dims(n, 0, y.dim, MAX_RANK)) < 0)
        return;
    for (int i = 0; i < y.rank; i++) {
        if (!require_size(n, "a dimension of the shape", &y.dim[i]))
            return;
    }
    set_out(n, 0, t->type, y);
    if (shape_is_const(y))
        out(n, 0)->data = tensor_new_fill(t->type, y, tensor_data(t));
}

static void fill_bind(Node *n)
{
    const Tensor *t = fill_value(n);
    int64_t bits[2] = {0}, above[2] = {0};
    memcpy(bits, tensor_data(t), type_bytes(t->type, 1));
    for (int i = 0; i < 2; i++)
        if (!dim_is_number_ok(bits[i])) {
            above[i] = bits[i] >> 32;
            bits[i] &= UINT32_MAX;
        }
    Value *y = out(n, 0);
    BIND_ARGS(n, fill, type_storage(t->type), NO_TYPE, ARGS(y), .count = shape_count(*y->shape), .bits = D(bits[0]),
              .bits_above = D(above[0]), .high = D(bits[1]), .high_above = D(above[1]));
}

/* ---- sizes as data ---------------------------------------------------------------------------------------------- */

/* Clamps an end of Shape's range of axes. */
static int64_t clamp(int64_t v, int rank)
{
    v += v < 0 ? rank : 0;
    return v < 0 ? 0 : v > rank ? rank : v;
}

static void shape_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    int from = (int)clamp(attr_int(n, "start"), x.rank);
    int to = attr_is_given(n, "end") ? (int)clamp(attr_int(n, "end"), x.rank) : x.rank;
    out(n, 0)->data = tensor_dims(to > from ? to - from : 0, x.dim + from);
    set_out(n, 0, I64, tensor_shape(out(n, 0)->data));
}

static void size_infer(Node *n)
{
    Dim count = shape_count(in_shape(n, 0));
    Tensor *t = tensor_dims(1, &count);
    t->rank = 0;
    out(n, 0)->data = t;
    set_out(n, 0, I64, tensor_shape(t));
}

/* s with dimension d inserted at a. */
static Shape shape_with(Shape s, int a, Dim d)
{
    Shape y = {.rank = s.rank + 1};
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = i == a ? d : s.dim[i - (i > a)];
    return y;
}

/* ---- Range ---------------------------------------------------------------------------------------------------- */

static bool has_const_ends(const Node *n) { return in_is_const(n, 0) && in_is_const(n, 1) && in_is_const(n, 2); }

/* The number of elements, for floats; false: wrong, reported. */
static bool count_floats(Node *n, Dim *count)
{
    if (in_is_const(n, 2) && in_float(n, 2, 0) == 0)
        return node_error(n, "the step is 0");
    if (!has_const_ends(n)) {
        *count = reported_size(n, 0, NULL, D(INT64_MAX));
        return true;
    }
    double start = in_float(n, 0, 0), limit = in_float(n, 1, 0), delta = in_float(n, 2, 0);
    double steps = (in_type(n, 0) == F64 ? limit - start : (double)((float)limit - (float)start)) / delta;
    if (!(steps < (double)((int64_t)1 << 48)))
        return node_error(n, "the range from %g to %g in steps of %g is not finite, or too long", start, limit, delta);
    int64_t whole = steps > 0 ? (int64_t)steps : 0;
    *count = D(whole + ((double)whole < steps));
    return true;
}

static void range_infer(Node *n)
{
    Dim end[3], count;
    for (int i = 0; i < 3; i++)
        if (!dim_is(shape_count(in_shape(n, i)), 1)) {
            node_error(n, "input %d, %s, is not one number", i, shape_text(in_shape(n, i)));
            return;
        }
    if (type_is_float(in_type(n, 0))) {
        if (n->op->since_version >= 27 && !attr_precision(n, "stash_type"))
            return;
        if (count_floats(n, &count))
            set_out(n, 0, in_type(n, 0), shape_list(1, count));
        return;
    }
    for (int i = 0; i < 3; i++)
        if (in_dims(n, i, &end[i], 1) < 0)
            return;
    if (dim_is(end[2], 0)) {
        node_error(n, "the step is 0");
        return;
    }
    assume_dim(n, dim_eq_expr(end[2], D(0)), D(0));
    Dim up = dim_ceil(dim_sub(end[1], end[0]), dim_max(end[2], D(1)));
    Dim down = dim_ceil(dim_sub(end[0], end[1]), dim_max(dim_sub(D(0), end[2]), D(1)));
    count = dim_max(dim_select(dim_less_expr(end[2], D(0)), down, up), D(0));
    set_out(n, 0, in_type(n, 0), shape_list(1, count));
}

static void range_bind(Node *n)
{
    Dim count = shape_count(*out(n, 0)->shape);
    if (type_is_float(in_type(n, 0)) && !has_const_ends(n)) {
        BIND(n, range_to, .max_count = reported_room(count));
        bind_reported(n);
    } else
        BIND_ARGS(n, range, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), in(n, 2), out(n, 0)), .count = count);
}

/* ---- EyeLike: depends only on the shape of its input ------------------------------------------------------------- */

static void eye_like(Node *n)
{
    Type type = attr_is_given(n, "dtype") ? attr_type(n, "dtype", attr_int(n, "dtype")) : in_type(n, 0);
    if (!type)
        return;
    Value *y = with_int(make(n, "onnxcc.Eye", 1, make(n, "Shape", 1, in(n, 0))), "dtype", type);
    attr_set_int(y->def, "k", attr_int(n, "k"));
    expand_to(n, y);
}

static void eye_infer(Node *n)
{
    Shape y;
    y.rank = in_dims(n, 0, y.dim, MAX_RANK);
    if (y.rank >= 0 && y.rank != 2)
        node_error(n, "the input has %d dimensions, not 2", y.rank);
    if (y.rank == 2)
        set_out(n, 0, (Type)attr_int(n, "dtype"), y);
}

static void eye_bind(Node *n)
{
    Value *y = out(n, 0);
    BIND_ARGS(n, eye, y->type, NO_TYPE, ARGS(y), .rows = y->shape->dim[0], .columns = y->shape->dim[1],
              .k = D(attr_int(n, "k")));
}

/* ---- OneHot ------------------------------------------------------------------------------------------------------ */

static void one_hot_expand(Node *n)
{
    expand_to(n,
              with_int(make(n, "onnxcc.OneHot", 3, make_cast(n, in(n, 0), I64), make_cast(n, in(n, 1), I64), in(n, 2)),
                       "axis", attr_int(n, "axis")));
}

static void one_hot_infer(Node *n)
{
    Shape i = in_shape(n, 0);
    Dim depth;
    Dim depths = shape_count(in_shape(n, 1)), values = shape_count(in_shape(n, 2));
    if (dim_is(dim_eq_expr(depths, D(1)), 0) || dim_is(dim_eq_expr(values, D(2)), 0)) {
        node_error(n, "depth %s must be one number, values %s two", shape_text(in_shape(n, 1)),
                   shape_text(in_shape(n, 2)));
        return;
    }
    assume_dim(n, depths, D(1));
    assume_dim(n, values, D(2));
    if (in_dims(n, 1, &depth, 1) < 0 || !require_size(n, "depth", &depth))
        return;
    if (!require_rank(n, i.rank + 1))
        return;
    set_out(n, 0, in_type(n, 2), shape_with(i, attr_axis(n, "axis", i.rank + 1), depth));
}

static void one_hot_bind(Node *n)
{
    Shape y = *out(n, 0)->shape;
    int a = attr_axis(n, "axis", y.rank);
    BIND_ARGS(n, one_hot, type_storage(in_type(n, 2)), NO_TYPE, ARGS(in(n, 0), in(n, 2), out(n, 0)),
              .outer = shape_product(y, 0, a), .depth = y.dim[a], .inner = shape_product(y, a + 1, y.rank));
}

/* ---- Trilu ------------------------------------------------------------------------------------------------------- */

static void trilu_infer(Node *n)
{
    if (in_shape(n, 0).rank < 2)
        node_error(n, "the input %s is no matrix", shape_text(in_shape(n, 0)));
    else if (in(n, 1) && !dim_is(shape_count(in_shape(n, 1)), 1))
        node_error(n, "k %s is not one number", shape_text(in_shape(n, 1)));
    else
        infer_same(n);
}

static void trilu_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    Dim k = D(0);
    if (!in(n, 1) || in_dims(n, 1, &k, 1) >= 0)
        BIND_T(n, trilu, type_storage(in_type(n, 0)), .batch = shape_product(s, 0, s.rank - 2),
               .rows = s.dim[s.rank - 2], .columns = s.dim[s.rank - 1], .k = k, .upper = D(attr_int(n, "upper") != 0));
}

/* ---- ReverseSequence --------------------------------------------------------------------------------------------- */

static void reverse_sequence_infer(Node *n)
{
    Shape s = in_shape(n, 0), lengths = in_shape(n, 1);
    int64_t time = attr_int(n, "time_axis"), batch = attr_int(n, "batch_axis");
    if (time < 0 || time > 1 || batch != 1 - time || s.rank < 2)
        node_error(n, "time_axis %lld and batch_axis %lld of %s: one must be 0, the other 1", (long long)time,
                   (long long)batch, shape_text(s));
    else if (lengths.rank != 1 || dim_is(dim_eq_expr(lengths.dim[0], s.dim[batch]), 0))
        node_error(n, "sequence_lens %s for %s sequences", shape_text(lengths),
                   shape_text(shape_list(1, s.dim[batch])));
    else {
        const Tensor *t = in_is_const(n, 1) ? in(n, 1)->data : NULL;
        for (int64_t i = 0; t && i < tensor_count(t); i++) {
            n->unsure |= tensor_get_int(t, i) > dim_low(s.dim[time]);
            if (tensor_get_int(t, i) < 0 || tensor_get_int(t, i) > dim_high(s.dim[time])) {
                Text what = {0};
                text_put(&what, "a sequence of %lld elements in %s", (long long)tensor_get_int(t, i), shape_text(s));
                if (!wrong_when_run(n, what.s))
                    return;
                break;
            }
        }
        assume_dim(n, lengths.dim[0], s.dim[batch]);
        infer_same(n);
    }
}

static void reverse_sequence_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    int time = (int)attr_int(n, "time_axis"), batch = 1 - time;
    BIND_T(n, reverse_sequence, type_storage(in_type(n, 0)), .time = s.dim[time], .batch = s.dim[batch],
           .inner = shape_product(s, 2, s.rank), .time_stride = time ? D(1) : s.dim[1],
           .batch_stride = time ? s.dim[1] : D(1));
}

#define VALUES                                                                                                         \
    "value:tensor? sparse_value:sparse? value_int:int? value_ints:ints? value_float:float? value_floats:floats? "      \
    "value_string:string? value_strings:strings?"
#define SINCE_19 "24 T=ALL12; 23 T=ALL11; 21 T=ALL10; 19 T=ALL9; "
#define FILLS "NB|bool|F8|uint4|int4"

static const Op create_ops[] = {
    {"Constant", 25, "-> output:T", "T=ALL13", VALUES, .infer = constant_infer,
     .compatible =
         SINCE_19 "13 T=ALLB; 12 T=ALL; 11 T=ALL / value:tensor? sparse_value:sparse?; 9 T=ALL / value:tensor; "
                  "1 T=F / value:tensor"},
    {"ConstantOfShape", 25, "input:T1 -> output:T2", "T1=int64 T2=" FILLS "|float4e2m1|float8e8m0|uint2|int2",
     "value:tensor?", .infer = fill_infer, .bind = fill_bind,
     .compatible = "24 T2=" FILLS "|float4e2m1|float8e8m0; 23 T2=" FILLS "|float4e2m1; 21 T2=" FILLS
                   "; 20 T2=NB|bool|F8; 9 T2=N|bool"},
    {"Shape", 25, "data:T -> shape:T1", "T=ALL13 T1=int64", "start:int=0 end:int?", .infer = shape_infer,
     .compatible = SINCE_19 "15 T=ALLB; 13 T=ALLB /; 1 T=ALL /"},
    {"Size", 25, "data:T -> size:T1", "T=ALL13 T1=int64", "", .infer = size_infer,
     .compatible = SINCE_19 "13 T=ALLB; 1 T=ALL"},
    {"Range", 27, "start:T limit:T delta:T -> output:T", "T=FB|int16|int32|int64", "stash_type:int=1",
     .infer = range_infer, .bind = range_bind, .checks = 3, .compatible = "11 T=double|float|int16|int32|int64 /"},
    {"EyeLike", 22, "input:T1 -> output:T2", "T1=NB|bool T2=NB|bool", "dtype:int? k:int=0", .expand = eye_like,
     .compatible = "9 T1=N|bool T2=N|bool"},
    {"Eye", 1, "shape:int64 -> y:T", "T=NB|bool", "dtype:int k:int", .infer = eye_infer, .bind = eye_bind,
     .domain = "onnxcc"},
    {"OneHot", 28, "indices:T1 depth:T2 values:T3 -> output:T3", "T1=N T2=N T3=ALLB", "axis:int=-1",
     .expand = one_hot_expand, .compatible = "11 T3=ALL; 9 T3=ALL"},
    {"OneHot", 1, "indices:int64 depth:int64 values:T -> y:T", "T=ALLB", "axis:int", .infer = one_hot_infer,
     .bind = one_hot_bind, .domain = "onnxcc"},
    {"Trilu", 14, "input:T k?:int64 -> output:T", "T=ALLB", "upper:int=1", .infer = trilu_infer, .bind = trilu_bind,
     .flags = INPLACE},
    {"ReverseSequence", 28, "input:T sequence_lens:int64 -> Y:T", "T=ALLB", "batch_axis:int=1 time_axis:int=0",
     .infer = reverse_sequence_infer, .bind = reverse_sequence_bind, .flags = MOVES, .checks = 2,
     .compatible = "10 T=ALL"},
};
OPS(create_ops);
