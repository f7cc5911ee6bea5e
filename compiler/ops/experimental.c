/* experimental.c - experimental operators that version 10 removed; old exporters wrote them. */
#include "ir/spatial.h"

/* ---- shapes and values ------------------------------------------------------------------------------------------- */

/* The shape of a splat: the contents or the shape of input 0, or the attribute; then extra_shape. NULL: wrong,
 * reported. */
static Value *fill_shape(Node *n)
{
    const int64_t *v;
    Value *shape = NULL;
    int k = attr_ints(n, "shape", &v);
    if (k >= 0)
        shape = make_ints(n, k, v);
    else if (in(n, 0))
        shape = attr_int(n, "input_as_shape") ? make_cast(n, in(n, 0), I64) : make(n, "Shape", 1, in(n, 0));
    else
        node_error(n, "has neither an input nor the attribute shape");
    k = attr_ints(n, "extra_shape", &v);
    if (shape && k > 0) {
        shape = with_int(make(n, "Concat", 2, shape, make_ints(n, k, v)), "axis", 0);
    }
    return shape;
}

static void constant_fill_expand(Node *n)
{
    int64_t t = attr_int(n, "dtype");
    Value *shape = fill_shape(n);
    if (t != F32 && t != I32 && t != I64 && t != B8)
        node_error(n, "dtype = %lld: only float, int32, int64 and bool are possible", (long long)t);
    else if (shape) {
        expand_to(n, make(n, "Expand", 2, make_scalar(n, (Type)t, attr_float(n, "value")), shape));
    }
}

static void given_fill_expand(Node *n)
{
    const float *v;
    int k = attr_floats(n, "values", &v);
    Value *shape = fill_shape(n);
    if (!shape)
        return;
    Tensor *t = tensor_new(F32, 1, (int64_t[]){k > 0 ? k : 0});
    if (k > 0)
        memcpy((void *)(uintptr_t)t->data, v, (size_t)k * sizeof *v);
    expand_to(n, make(n, "Reshape", 2, make_cast(n, value_const(n->graph, t), in(n, 0) ? in_type(n, 0) : F32), shape));
}

/* ---- parts of images --------------------------------------------------------------------------------------------- */

/* Images (N,C,H,W) without `border` (left, top, right, bottom); with `scale` (height, width): a part of this size, at
 * the border's left and top. */
static void crop_expand(Node *n)
{
    const int64_t *b, *size;
    Shape x = in_shape(n, 0);
    int k = attr_ints(n, "border", &b), sized = attr_ints(n, "scale", &size);
    if (x.rank != 4 || k != 4 || (sized >= 0 && sized != 2)) {
        node_error(n, "needs an image of rank 4, 4 numbers in border and 2 in scale");
        return;
    }
    Dim from[] = {D(b[1]), D(b[0])};
    Dim to[] = {sized > 0 ? D(b[1] + size[0]) : dim_sub(x.dim[2], D(b[3])),
                sized > 0 ? D(b[0] + size[1]) : dim_sub(x.dim[3], D(b[2]))};
    for (int i = 0; i < 2; i++) {
        Dim left = dim_sub(to[i], from[i]);
        if (!require_size(n, "what the border leaves", &left))
            return;
    }
    expand_to(n, make(n, "Slice", 4, in(n, 0), make_dims(n, 2, from), make_dims(n, 2, to),
                      make_ints(n, 2, (const int64_t[]){2, 3})));
}

/* x * scale + bias[channel] */
static void image_scaler_expand(Node *n)
{
    Type t = in_type(n, 0);
    const float *bias;
    int k = attr_floats(n, "bias", &bias), last = in_shape(n, 0).rank - 2;
    Value *y = make(n, "Mul", 2, in(n, 0), make_scalar(n, (Type)t, attr_float(n, "scale")));
    if (k > 0 && last > 0) {
        Tensor *b =
            tensor_new(F32, last + 1 < MAX_RANK ? last + 1 : MAX_RANK, (int64_t[MAX_RANK]){k, 1, 1, 1, 1, 1, 1, 1});
        memcpy((void *)(uintptr_t)b->data, bias, (size_t)k * sizeof *bias);
        y = make(n, "Add", 2, y, make_cast(n, value_const(n->graph, b), t));
    }
    expand_to(n, y);
}

/* ---- recurrent --------------------------------------------------------------------------------------------------- */

/* One step of a GRU with given gates (reset, update, output), for members of the batch whose length is above t; the
 * others are unchanged, or become 0. */
static void gru_unit_expand(Node *n)
{
    Value *prev = in(n, 0), *gates = in(n, 1), *gate[2];
    Shape h = *prev->shape, g = *gates->shape;
    if (h.rank < 2 || g.rank < 2) {
        node_error(n, "hidden_prev is %s and gates %s; both need two dimensions", shape_text(h), shape_text(g));
        return;
    }
    Dim width = h.dim[h.rank - 1];
    if (!require_dim(n, "the gates", g.dim[g.rank - 1], dim_mul(D(3), width)))
        return;
    for (int i = 0; i < 2; i++) {
        Dim from = dim_mul(D(i + 1), width), to = dim_add(from, width);
        gate[i] =
            make(n, "Slice", 4, gates, make_dims(n, 1, &from), make_dims(n, 1, &to), make_ints(n, 1, (int64_t[]){-1}));
    }
    Value *update = make(n, "Sigmoid", 1, gate[0]), *left = make(n, "Sub", 2, make_scalar(n, prev->type, 1), update);
    Value *y = make(n, "Add", 2, make(n, "Mul", 2, prev, update), make(n, "Mul", 2, make(n, "Tanh", 1, gate[1]), left));
    Value *on = make(n, "Less", 2, make_cast(n, in(n, 3), I64), make_cast(n, in(n, 2), I64));
    on = make(n, "Reshape", 2, on, make_ints(n, 2, (int64_t[]){-1, 1}));
    expand_to(n, make(n, "Where", 3, on, y, attr_int(n, "drop_states") ? make_scalar(n, prev->type, 0) : prev));
}

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define SHAPE_ATTRS "input_as_shape:int=0 extra_shape:ints? shape:ints?"
/* by: the replacement. */
#define GONE(name, signature, types, by) {name, 10, signature, types, "", .flags = DEPRECATED, .body = "experimental: " by}
#define EXPANDS(name, signature, types, attrs, f, by) {name, 1, signature, types, attrs, .expand = f}, GONE(name, signature, types, by)
#define MEANS(name, signature, types, attrs, text, by) {name, 1, signature, types, attrs, .body = text}, GONE(name, signature, types, by)
#define X_Y "input:T -> output:T"
#define ALPHA_BETA "alpha:float=1.0 beta:float="

static const Op experimental_ops[] = {
    EXPANDS("ConstantFill", "input?:T1 -> output:T2", "T1=float|int32|int64|bool T2=float|int32|int64|bool",
            "value:float=0 dtype:int=1 " SHAPE_ATTRS, constant_fill_expand, "ConstantOfShape"),
    EXPANDS("GivenTensorFill", "shape?:T -> X:T", "T=F", "values:floats? " SHAPE_ATTRS, given_fill_expand,
            "Constant and Expand"),
    EXPANDS("Crop", X_Y, "T=F", "border:ints? scale:ints?", crop_expand, "Slice"),
    EXPANDS("ImageScaler", X_Y, "T=F", "bias:floats? scale:float=1.0", image_scaler_expand, "Mul and Add"),
    MEANS("Affine", "X:T -> Y:T", "T=F", ALPHA_BETA "0.0", "a = Mul(X, @alpha) Y = Add(a, @beta)", "Mul and Add"),
    MEANS("ScaledTanh", X_Y, "T=F", ALPHA_BETA "1.0", "x = Mul(input, @beta) y = Tanh(x) output = Mul(y, @alpha)",
          "Tanh and Mul"),
    MEANS("ParametricSoftplus", "X:T -> Y:T", "T=F", ALPHA_BETA "1.0",
          "x = Mul(X, @beta) y = Softplus(x) Y = Mul(y, @alpha)", "Softplus and Mul"),
    MEANS("Scale", X_Y, "T=F", "scale:float=1.0", "output = Mul(input, @scale)", "Mul"),
    MEANS("DynamicSlice", "data:T starts:Tind ends:Tind axes?:Tind -> output:T", "T=ALL Tind=int32|int64", "",
          "output = Slice(data, starts, ends, axes)", "Slice"),
    EXPANDS("GRUUnit", "hidden_prev:T gates:T seq_lengths:L t:L -> hidden:T", "T=F L=F|int32|int64",
            "drop_states:int=0", gru_unit_expand, "GRU"),
    MEANS("LoopIndexTensor", "T:V loop_idx:I -> O:V", "V=ALL I=int32|int64", "axis:int=0",
          "O = Gather<axis=@axis>(T, loop_idx)", "Gather"),
};
OPS(experimental_ops);
