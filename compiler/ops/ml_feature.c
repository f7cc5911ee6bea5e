/* ml_feature.c - the feature preparation of ai.onnx.ml: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer,
 * Normalizer, OneHotEncoder, Scaler. */
#include <math.h>

#include "ir/spatial.h"
#include "ml.h"
#include "ml_feature.h"

/* An attribute with one number, or one per column of input 0, as a constant of type t; NULL: wrong, reported. */
static Value *per_column(Node *n, const char *attr, Type t)
{
    const Attr *a = node_attr(n, attr);
    Shape x = in_shape(n, 0);
    int64_t k = a ? a->n : 0;
    if (k != 1 && (k < 1 || !x.rank || dim_is(dim_eq_expr(x.dim[x.rank - 1], D(k)), 0))) {
        node_error(n, "%s has %lld numbers; the input is %s", attr, (long long)k, shape_text(x));
        return NULL;
    }
    if (k > 1)
        assume_dim(n, x.dim[x.rank - 1], D(k));
    double *v = NEWS(double, k);
    for (int64_t i = 0; i < k; i++)
        v[i] = a->type == A_INTS ? 0 : (double)a->floats[i];
    Value *c = a->type == A_INTS ? make_ints(n, (int)k, a->ints) : ml_floats(n, attr, F32, 1, &k, v);
    return make_cast(n, c, t);
}

/* Gathers along the last axis, by the indices in input 1 of any shape. */
static void extract_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    if (!x.rank) {
        node_error(n, "the input is one number");
        return;
    }
    Value *at = make(n, "Reshape", 2, in(n, 1), make_ints(n, 1, (int64_t[]){-1}));
    Value *y = with_int(make(n, "Gather", 2, in(n, 0), at), "axis", x.rank - 1);
    expand_to(n, x.rank == 1 ? make(n, "Unsqueeze", 2, y, make_ints(n, 1, (int64_t[]){0})) : y);
}

static int64_t greatest(Type t) { return INT64_MAX >> (64 - type_bits(t)); }
static Value *whole(Node *n, Type t, int64_t v) { return value_const(n->graph, tensor_int(t, v)); }

/* Does the signed integer type t have the whole numbers near v? */
static bool is_in_range(Type t, double v)
{
    return floor(v) >= (double)(-greatest(t) - 1) && floor(v) < (double)greatest(t) + 1;
}

/* Which integers in input 0 are above the threshold: all if it is below the type's lowest number, none if it is NaN. */
static Value *integers_above(Node *n, Type t, double at)
{
    if (floor(at) < (double)(-greatest(t) - 1))
        return make(n, "GreaterOrEqual", 2, in(n, 0), whole(n, t, -greatest(t) - 1));
    return make(n, "Greater", 2, in(n, 0), whole(n, t, is_in_range(t, at) ? (int64_t)floor(at) : greatest(t)));
}

static void binarizer_expand(Node *n)
{
    Type t = in_type(n, 0);
    double at = attr_float(n, "threshold");
    expand_to(
        n,
        make_cast(n, type_is_int(t) ? integers_above(n, t, at) : make(n, "Greater", 2, in(n, 0), make_scalar(n, t, at)),
                  t));
}

static void scaler_expand(Node *n)
{
    Value *x = make_cast(n, in(n, 0), F32);
    Value *offset = attr_is_given(n, "offset") ? per_column(n, "offset", F32) : make_scalar(n, F32, 0);
    Value *scale = attr_is_given(n, "scale") ? per_column(n, "scale", F32) : make_scalar(n, F32, 1);
    if (!offset || !scale)
        return;
    expand_to(n, make(n, "Mul", 2, make(n, "Sub", 2, x, offset), scale));
}

/* The attributes for integers are used if those for floats are absent. */
static void imputer_expand(Node *n)
{
    Type t = in_type(n, 0);
    bool ints = !attr_is_given(n, "imputed_value_floats");
    int64_t at = attr_int(n, "replaced_value_int64");
    double hole = ints ? (double)at : attr_float(n, "replaced_value_float");
    Value *x = in(n, 0), *fill = per_column(n, ints ? "imputed_value_int64s" : "imputed_value_floats", t), *where;
    if (!fill)
        return;
    if (type_is_int(t)) {
        bool some = ints ? at <= greatest(t) && at >= -greatest(t) - 1 : hole == floor(hole) && is_in_range(t, hole);
        if (!some) { /* no integer equals the number to replace */
            expand_to(n, make(n, "Identity", 1, x));
            return;
        }
        where = make(n, "Equal", 2, x, whole(n, t, ints ? at : (int64_t)hole));
    } else
        where = isnan(hole) ? make(n, "IsNaN", 1, x) : make(n, "Equal", 2, x, make_scalar(n, t, hole));
    expand_to(n, make(n, "Where", 3, where, fill, x));
}

/* Divides each row by its largest element or its norm; a row where that is 0 is unchanged. */
static void normalizer_expand(Node *n)
{
    Shape s = in_shape(n, 0);
    const char *op = attr_is(n, "norm", "MAX") ? "ReduceMax" : attr_is(n, "norm", "L1") ? "ReduceL1" : "ReduceL2";
    if (!s.rank || (!attr_is(n, "norm", "MAX") && !attr_is(n, "norm", "L1") && !attr_is(n, "norm", "L2"))) {
        node_error(n, "norm is '%s', which may be MAX, L1 or L2, for %s", attr_string(n, "norm"), shape_text(s));
        return;
    }
    Value *x = make_cast(n, in(n, 0), F32), *norm = make(n, op, 2, x, make_ints(n, 1, (int64_t[]){-1}));
    Value *none = make(n, "Equal", 2, norm, make_scalar(n, F32, 0));
    expand_to(n, make(n, "Div", 2, x, make(n, "Where", 3, none, make_scalar(n, F32, 1), norm)));
}

/* Concatenates the inputs, each cut or padded with zeros to its number of columns. An input of one dimension is a
 * column. */
static void vectorizer_expand(Node *n)
{
    const int64_t *size;
    int k = attr_is_given(n, "inputdimensions") ? attr_ints(n, "inputdimensions", &size) : -1;
    if (k != n->n_in) {
        node_error(n, "%d inputdimensions for %d inputs", k < 0 ? 0 : k, n->n_in);
        return;
    }
    Value **part = NEWS(Value *, k);
    for (int i = 0; i < k; i++) {
        Shape s = in_shape(n, i);
        Dim columns = s.rank == 1 ? D(1) : shape_product(s, 1, s.rank), less = dim_min(columns, D(size[i]));
        if (!s.rank || size[i] < 0) {
            node_error(n, "input %d is %s: it cannot give %lld columns", i, shape_text(s), (long long)size[i]);
            return;
        }
        Value *x = make_reshape(n, make_cast(n, in(n, i), F32), 2, (Dim[]){s.dim[0], columns});
        if (!dim_identical(less, columns))
            x = make(n, "Slice", 4, x, make_ints(n, 1, (int64_t[]){0}), make_dims(n, 1, &less),
                     make_ints(n, 1, (int64_t[]){1}));
        if (!dim_is(less, size[i]))
            x = make(n, "Pad", 2, x, make_dims(n, 4, (Dim[]){D(0), D(0), D(0), dim_sub(D(size[i]), less)}));
        part[i] = x;
    }
    Node *y = make_node(n, "Concat", k, part, 1);
    attr_set_int(y, "axis", 1);
    expand_to(n, y->out[0]);
}

static void one_hot_expand(Node *n)
{
    bool strings = in_type(n, 0) == STR;
    const Attr *a = node_attr(n, strings ? "cats_strings" : "cats_int64s");
    int64_t k = a ? a->n : 0;
    if (!k) {
        node_error(n, "%s must be given for an input of type %s", strings ? "cats_strings" : "cats_int64s",
                   type_onnx(in_type(n, 0)));
        return;
    }
    Tensor *t = strings ? tensor_new(STR, 1, &k) : tensor_ints((int)k, a->ints);
    for (int64_t i = 0; strings && i < k; i++)
        tensor_set_str(t, i, a->strings[i]);
    expand_to(n, with_int(make(n, "onnxcc.Encode", 2, strings ? in(n, 0) : make_cast(n, in(n, 0), I64),
                               value_const(n->graph, t)),
                          "strict", attr_int(n, "zeros") == 0));
}

static void encode_infer(Node *n)
{
    Shape y = in_shape(n, 0);
    if (!require_rank(n, y.rank + 1))
        return;
    y.dim[y.rank++] = in_shape(n, 1).dim[0];
    set_out(n, 0, F32, y);
}

static void encode_bind(Node *n)
{
    BIND(n, encode, .count = shape_count(in_shape(n, 0)), .categories = in_shape(n, 1).dim[0],
         .strict = D(attr_int(n, "strict")));
}

#define ML_TYPES "=double|float|int32|int64"

static const Op ml_feature_ops[] = {
    {"ArrayFeatureExtractor", 1, "X:T Y:int64 -> Z:T", "T" ML_TYPES "|string", "", .expand = extract_expand,
     .domain = "ai.onnx.ml"},
    {"Binarizer", 1, "X:T -> Y:T", "T" ML_TYPES, "threshold:float=0", .expand = binarizer_expand,
     .domain = "ai.onnx.ml"},
    {"FeatureVectorizer", 1, "X*:T1 -> Y:float", "T1" ML_TYPES, "inputdimensions:ints?", .expand = vectorizer_expand,
     .domain = "ai.onnx.ml"},
    {"Imputer", 1, "X:T -> Y:T", "T" ML_TYPES,
     "imputed_value_floats:floats? imputed_value_int64s:ints? replaced_value_float:float=0 replaced_value_int64:int=0",
     .expand = imputer_expand, .domain = "ai.onnx.ml"},
    {"Normalizer", 1, "X:T -> Y:float", "T" ML_TYPES, "norm:string=MAX", .expand = normalizer_expand,
     .domain = "ai.onnx.ml"},
    {"OneHotEncoder", 1, "X:T -> Y:float", "T" ML_TYPES "|string",
     "cats_int64s:ints? cats_strings:strings? zeros:int=1", .expand = one_hot_expand, .domain = "ai.onnx.ml"},
    {"Scaler", 1, "X:T -> Y:float", "T" ML_TYPES, "offset:floats? scale:floats?", .expand = scaler_expand,
     .domain = "ai.onnx.ml"},
    {"Encode", 1, "x:T categories:T -> y:float", "T=int64|string", "strict:int", .infer = encode_infer,
     .bind = encode_bind, .checks = 1, .domain = "onnxcc"},
};
OPS(ml_feature_ops);
