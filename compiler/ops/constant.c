/* constant.c - Constant, ConstantOfShape, Shape, Size: values known when the model is compiled, or sizes. */
#include "../kernel.h"
#include "fill.h"

/* ---- Constant ------------------------------------------------------------------------------------------------- */

/* The tensor that a Constant's one attribute means. */
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

/* ---- fills ---------------------------------------------------------------------------------------------------- */

/* The one element of attribute `value`; float 0 when there is none. NULL: wrong, and reported. */
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
        if (dim_high(y.dim[i]) < 0) {
            node_error(n, "the shape %s has a negative dimension", shape_text(y));
            return;
        }
        y.dim[i] = dim_max(y.dim[i], D(0));
    }
    set_out(n, 0, t->type, y);
    if (shape_const(y))
        out(n, 0)->data = tensor_new_fill(t->type, y, tensor_data(t));
}

static void fill_bind(Node *n)
{
    const Tensor *t = fill_value(n);
    int64_t bits[2] = {0};
    memcpy(bits, tensor_data(t), type_bytes(t->type, 1));
    Value *y = out(n, 0);
    if (!dim_is_number_ok(bits[0]) || !dim_is_number_ok(bits[1])) /* cannot be a parameter; no real model has these */
        node_error(n, "this value is not supported");
    BIND_ARGS(n, fill, type_storage(t->type), NO_TYPE, ARGS(y), .count = shape_count(*y->shape), .bits = D(bits[0]),
              .high = D(bits[1]));
}

/* ---- sizes as data ---------------------------------------------------------------------------------------------- */

/* An end of the range of axes that Shape gives. */
static int64_t clamp(int64_t v, int rank)
{
    v += v < 0 ? rank : 0;
    return v < 0 ? 0 : v > rank ? rank : v;
}

static void shape_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    int from = (int)clamp(attr_int(n, "start"), x.rank);
    int to = attr_given(n, "end") ? (int)clamp(attr_int(n, "end"), x.rank) : x.rank;
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

#define VALUES                                                                                                         \
    "value:tensor? sparse_value:sparse? value_int:int? value_ints:ints? value_float:float? value_floats:floats? "      \
    "value_string:string? value_strings:strings?"
#define SINCE_19 "24 T=ALL12; 23 T=ALL11; 21 T=ALL10; 19 T=ALL9; "
#define FILLS "NB|bool|F8|uint4|int4"

static const Op constant_ops[] = {
    {"Constant", 25, "-> output:T", "T=ALL13", VALUES, .infer = constant_infer,
     .was = SINCE_19 "13 T=ALLB; 12 T=ALL; 11 T=ALL / value:tensor? sparse_value:sparse?; 9 T=ALL / value:tensor; "
                     "1 T=F / value:tensor"},
    {"ConstantOfShape", 25, "input:T1 -> output:T2", "T1=int64 T2=" FILLS "|float4e2m1|float8e8m0|uint2|int2",
     "value:tensor?", .infer = fill_infer, .bind = fill_bind,
     .was = "24 T2=" FILLS "|float4e2m1|float8e8m0; 23 T2=" FILLS "|float4e2m1; 21 T2=" FILLS
            "; 20 T2=NB|bool|F8; 9 T2=N|bool"},
    {"Shape", 25, "data:T -> shape:T1", "T=ALL13 T1=int64", "start:int=0 end:int?", .infer = shape_infer,
     .was = SINCE_19 "15 T=ALLB; 13 T=ALLB /; 1 T=ALL /"},
    {"Size", 25, "data:T -> size:T1", "T=ALL13 T1=int64", "", .infer = size_infer,
     .was = SINCE_19 "13 T=ALLB; 1 T=ALL"},
};
OPS(constant_ops);
