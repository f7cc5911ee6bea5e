/* microsoft_fused.c - operators into which ONNX Runtime's optimisers fuse several of ONNX's: each is expanded to these
 * again. */
#include "microsoft.h"

#include "ir/call.h"
#include "passes/infer.h"

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* Each activation's attributes, in the order of activation_params. */
static const struct Activation {
    const char *op, *first, *second;
} activations[] = {
    {"Relu", NULL, NULL},
    {"Tanh", NULL, NULL},
    {"Sigmoid", NULL, NULL},
    {"Softplus", NULL, NULL},
    {"Softsign", NULL, NULL},
    {"HardSwish", NULL, NULL},
    {"LeakyRelu", "alpha", NULL},
    {"Elu", "alpha", NULL},
    {"Celu", "alpha", NULL},
    {"ThresholdedRelu", "alpha", NULL},
    {"HardSigmoid", "alpha", "beta"},
    {"Selu", "alpha", "gamma"},
    {"Clip", "min", "max"},
    {"ScaledTanh", "alpha", "beta"},
    {"ParametricSoftplus", "alpha", "beta"},
};

static const struct Activation *find_activation(Node *n, const char *op)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (!strcmp(activations[i].op, op))
            return &activations[i];
    node_error(n, "the activation \"%s\" is not known", op);
    return NULL;
}

static int values_of(const struct Activation *a) { return a->second ? 2 : a->first ? 1 : 0; }

static Value *times(Node *n, Value *y, double by) { return make(n, "Mul", 2, y, make_scalar(n, in_type(n, 0), by)); }

static Value *with_values(Node *n, Value *y, const struct Activation *a, const float *v)
{
    Type t = in_type(n, 0);
    if (!strcmp(a->op, "Clip"))
        return make(n, "Clip", 3, y, make_scalar(n, t, v[0]), make_scalar(n, t, v[1]));
    if (!strcmp(a->op, "ScaledTanh"))
        return times(n, make(n, "Tanh", 1, times(n, y, v[1])), v[0]);
    if (!strcmp(a->op, "ParametricSoftplus"))
        return times(n, make(n, "Softplus", 1, times(n, y, v[1])), v[0]);
    y = make(n, a->op, 1, y);
    if (a->first)
        attr_set_float(y->def, a->first, v[0]);
    if (a->second)
        attr_set_float(y->def, a->second, v[1]);
    return y;
}

Value *activated(Node *n, Value *y)
{
    const char *op = attr_string(n, "activation");
    const struct Activation *a = *op ? find_activation(n, op) : NULL;
    float v[2] = {0, 0};
    if (!a)
        return *op ? NULL : y;
    for (int i = 0; i < values_of(a); i++) {
        char name[32];
        snprintf(name, sizeof name, "activation_%s", i ? a->second : a->first);
        if (!attr_is_given(n, name)) {
            node_error(n, "the activation %s needs %s", op, name);
            return NULL;
        }
        v[i] = (float)attr_float(n, name);
    }
    return with_values(n, y, a, v);
}

/* The same by a list, activation_params. */
static Value *activated_by_list(Node *n, Value *y)
{
    const char *op = attr_string(n, "activation");
    const struct Activation *a = *op ? find_activation(n, op) : NULL;
    const float *v;
    int k = attr_floats(n, "activation_params", &v);
    if (!a)
        return *op ? NULL : y;
    if (values_of(a) && values_of(a) != k) {
        node_error(n, "the activation %s has %d values in activation_params, and not %d", op, k > 0 ? k : 0,
                   values_of(a));
        return NULL;
    }
    return with_values(n, y, a, v);
}

void attrs_without(const Node *n, const char *except, Node *to)
{
    for (int i = 0; i < n->n_attr; i++)
        if (strncmp(n->attr[i].name->s, except, strlen(except)))
            attr_set(to, n->attr[i]);
}

/* y, of the type `from` or not inferred yet, as `to` */
static Value *converted(Node *n, Value *y, Type from, Type to) { return from == to ? y : make_cast(n, y, to); }

/* ---- products ---------------------------------------------------------------------------------------------------- */

static bool is_set(const Node *n, const char *attr) { return attr_is_given(n, attr) && attr_int(n, attr); }

/* Input i as t. batch: (m, batch..., k) becomes (batch..., m, k); swap: the last two axes are exchanged. */
static Value *factor(Node *n, int i, bool batch, bool swap, Type t)
{
    int rank = in_shape(n, i).rank;
    int64_t perm[MAX_RANK];
    Value *v = in(n, i);
    for (int k = 0; k < rank; k++)
        perm[k] = !batch || k == rank - 1 ? k : k == rank - 2 ? 0 : k + 1;
    if (swap) {
        int64_t last = perm[rank - 1];
        perm[rank - 1] = perm[rank - 2];
        perm[rank - 2] = last;
    }
    if (batch || swap) {
        v = make(n, "Transpose", 1, v);
        attr_set_ints(v->def, "perm", rank, perm);
    }
    return converted(n, v, in_type(n, i), t);
}

/* alpha * a b, with a and b transposed where the attributes say so, except vectors. 16-bit floats are scaled in
 * float. */
static Value *product(Node *n)
{
    int a = in_shape(n, 0).rank, b = in_shape(n, 1).rank;
    bool batch_a = is_set(n, "transBatchA"), batch_b = is_set(n, "transBatchB");
    bool swap_a = is_set(n, "transA") && a > 1, swap_b = is_set(n, "transB") && b > 1;
    double alpha = attr_float(n, "alpha");
    Type t = alpha == 1 ? in_type(n, 0) : type_arith(in_type(n, 0));
    if ((batch_a || batch_b) && (a < 3 || a != b)) {
        node_error(n, "%s and %s need the same number of dimensions, 3 or more, for transBatchA or transBatchB",
                   shape_text(in_shape(n, 0)), shape_text(in_shape(n, 1)));
        return NULL;
    }
    bool vector = a < 2 || b < 2; /* an operand of MatMul */
    Value *x = factor(n, 0, batch_a, swap_a && vector, t), *w = factor(n, 1, batch_b, swap_b && vector, t);
    Value *y = make(n, vector ? "MatMul" : "onnxcc.Product", 2, x, w);
    if (!vector) {
        attr_set_int(y->def, "trans_a", swap_a);
        attr_set_int(y->def, "trans_b", swap_b);
    }
    return alpha == 1 ? y : converted(n, make(n, "Mul", 2, y, make_scalar(n, t, alpha)), t, in_type(n, 0));
}

static void matmul_expand(Node *n) { expand_unless_wrong(n, product(n)); }

/* Softmax is an activation here, too. */
static void matmul_activation_expand(Node *n)
{
    Value *y = product(n);
    if (y && attr_is(n, "activation", "Softmax"))
        y = with_int(make(n, "Softmax", 1, y), "axis",
                     attr_is_given(n, "activation_axis") ? attr_int(n, "activation_axis") : -1);
    else if (y)
        y = activated(n, y);
    expand_unless_wrong(n, y);
}

static void gemm_expand(Node *n)
{
    Value *y = make(n, "Gemm", 3, in(n, 0), in(n, 1), in(n, 2));
    attrs_without(n, "activation", y->def);
    expand_unless_wrong(n, activated(n, y));
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

Value *channels_moved(Node *n, Value *v, int rank, bool back)
{
    int64_t perm[MAX_RANK] = {0};
    for (int i = 1; i < rank; i++)
        perm[i] = back ? (i == rank - 1 ? 1 : i + 1) : i == 1 ? rank - 1 : i - 1;
    v = make(n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", rank, perm);
    return v;
}

static bool is_image(Node *n)
{
    return in_shape(n, 0).rank >= 3 || node_error(n, "%s is no image", shape_text(in_shape(n, 0)));
}

/* The convolution of x, with input 3, if given, added to it and then the activation. NULL: wrong, reported. */
static Value *convolved(Node *n, Value *x, Value *w, bool last)
{
    Value *y = make(n, "Conv", 3, x, w, in(n, 2)), *z = in(n, 3);
    int errors = error_count();
    attrs_without(n, "activation", y->def);
    if (z) {
        infer_node(y->def);
        Shape whole = error_count() > errors ? (Shape){0} : *y->shape;
        for (int i = 1; last && i < whole.rank; i++)
            whole.dim[i] = y->shape->dim[i == whole.rank - 1 ? 1 : i + 1];
        if (error_count() > errors || !require_shape(n, 3, whole))
            return NULL;
        y = make(n, "Add", 2, y, last ? channels_moved(n, z, whole.rank, false) : z);
    }
    return activated_by_list(n, y);
}

void expand_conv(Node *n, Value *w) { expand_unless_wrong(n, convolved(n, in(n, 0), w, false)); }

static void conv_expand(Node *n) { expand_conv(n, in(n, 1)); }

/* The same for an image with its channels last. */
static void nhwc_fused_conv_expand(Node *n)
{
    int rank = in_shape(n, 0).rank;
    if (!is_image(n))
        return;
    Value *y = convolved(n, inferred(channels_moved(n, in(n, 0), rank, false)), in(n, 1), true);
    if (y)
        expand_to(n, channels_moved(n, y, rank, true));
}

/* Conv of an image with its channels last. The weights have theirs last, too: ONNX Runtime's documentation says
 * otherwise, but its optimiser writes and its kernels read them so. */
static void nhwc_conv_expand(Node *n)
{
    int rank = in_shape(n, 0).rank;
    if (!is_image(n))
        return;
    if (in_shape(n, 1).rank != rank) {
        node_error(n, "the weights %s need %d dimensions like the input", shape_text(in_shape(n, 1)), rank);
        return;
    }
    Value *y = make(n, "Conv", 3, channels_moved(n, in(n, 0), rank, false), channels_moved(n, in(n, 1), rank, false),
                    in(n, 2));
    attrs_without(n, "activation", y->def);
    expand_to(n, channels_moved(n, y, rank, true));
}

/* ---- normalisations ---------------------------------------------------------------------------------------------- */

/* 1 / sqrt(mean of x's squares over the axes from `axis` on + epsilon) */
static Value *inverse_rms(Node *n, Value *x, Type t, int axis, int rank)
{
    int64_t over[MAX_RANK];
    for (int i = axis; i < rank; i++)
        over[i - axis] = i;
    Value *mean = make(n, "ReduceMean", 2, make(n, "Mul", 2, x, x), make_ints(n, rank - axis, over));
    return make(n, "Reciprocal", 1,
                make(n, "Sqrt", 1, make(n, "Add", 2, mean, make_scalar(n, t, attr_float(n, "epsilon")))));
}

/* Replaces the outputs 0 to 2 by x, which is of type `wide`, normalised from `axis` on, and by its statistics. */
static void layer_norm(Node *n, Value *x, Type wide, int gamma, int beta, int64_t axis)
{
    Value *bias = in(n, beta) ? make_cast(n, in(n, beta), wide) : NULL;
    Value *args[] = {x, make_cast(n, in(n, gamma), wide), bias};
    Node *y = make_node(n, "LayerNormalization", 3, args, out(n, 2) ? 3 : out(n, 1) ? 2 : 1);
    attr_set_int(y, "axis", axis);
    attr_set_float(y, "epsilon", attr_float(n, "epsilon"));
    replace_out(n, 0, converted(n, y->out[0], wide, in_type(n, gamma)));
    for (int i = 1; i < y->n_out; i++)
        replace_out(n, i, y->out[i]);
}

/* Version 1, which ONNX Runtime defined before ONNX did: x may be of another type than the scale. */
static void layer_norm_1(Node *n)
{
    Type wide = in_type(n, 0);
    if (in_type(n, 1) != wide)
        wide = in_type(n, 1) == F64 ? F64 : type_arith(wide);
    layer_norm(n, make_cast(n, in(n, 0), wide), wide, 1, 2, attr_int(n, "axis"));
    expand_done(n);
}

static Value *rms_norm(Node *n, Value *x, Value *gamma, int64_t axis)
{
    Value *y = with_int(make(n, "RMSNormalization", 2, x, gamma), "axis", axis);
    attr_set_float(y->def, "epsilon", attr_float(n, "epsilon"));
    return y;
}

static void simplified_expand(Node *n)
{
    int rank = in_shape(n, 0).rank, axis = attr_axis(n, "axis", rank);
    Type wide = type_arith(in_type(n, 0));
    replace_out(n, 0, rms_norm(n, in(n, 0), in(n, 1), axis));
    if (out(n, 1))
        replace_out(n, 1, converted(n, inverse_rms(n, make_cast(n, in(n, 0), wide), wide, axis, rank), wide, F32));
    expand_done(n);
}

/* input + skip + bias, in float; the sum is output 3. NULL: wrong, reported. */
static Value *skip_sum(Node *n, int bias)
{
    Type t = in_type(n, 0), wide = type_arith(t);
    if (in_shape(n, 0).rank < 2) {
        node_error(n, "the input is %s: it needs two or three dimensions", shape_text(in_shape(n, 0)));
        return NULL;
    }
    if (!require_expands(n, 1, in_shape(n, 0)))
        return NULL;
    Value *sum = make(n, "Add", 2, make_cast(n, in(n, 0), wide), make_cast(n, in(n, 1), wide));
    if (in(n, bias))
        sum = make(n, "Add", 2, sum, make_cast(n, in(n, bias), wide));
    if (out(n, 3))
        replace_out(n, 3, converted(n, sum, wide, t));
    return sum;
}

static void skip_layer_norm_expand(Node *n)
{
    Value *sum = skip_sum(n, 4);
    if (!sum)
        return;
    layer_norm(n, sum, type_arith(in_type(n, 0)), 2, 3, -1);
    expand_done(n);
}

/* The mean is not subtracted; its output is 0. */
static void skip_simplified_expand(Node *n)
{
    Value *sum = skip_sum(n, 3), *inverse;
    int rank = in_shape(n, 0).rank;
    if (!sum)
        return;
    replace_out(n, 0, rms_norm(n, sum, in(n, 2), -1));
    if (out(n, 1) || out(n, 2)) {
        inverse = inverse_rms(n, sum, F32, rank - 1, rank);
        replace_out(n, 1, make(n, "Expand", 2, make_scalar(n, F32, 0), make(n, "Shape", 1, inverse)));
        replace_out(n, 2, inverse);
    }
    expand_done(n);
}

/* ---- embeddings -------------------------------------------------------------------------------------------------- */

Value *embeddings(Node *n, int table, int ids)
{
    return make(n, "Gather", 2, in(n, table), make_within(n, in(n, ids), 0, in_shape(n, table).dim[0], true));
}

/* The rows of position_embedding: those that position_ids selects, or the first ones. */
static Value *positions(Node *n)
{
    Dim from = D(0), to = in_shape(n, 0).dim[1];
    if (in(n, 8))
        return embeddings(n, 3, 8);
    if (!require_dim(n, "rows of position_embedding beyond those of the words", dim_max(in_shape(n, 3).dim[0], to),
                     in_shape(n, 3).dim[0]))
        return NULL;
    return make(n, "Slice", 4, in(n, 3), make_dims(n, 1, &from), make_dims(n, 1, &to), make_ints(n, 1, (int64_t[]){0}));
}

/* The number of ones in every row of the mask; without a mask, 0. */
static Value *mask_index(Node *n)
{
    if (!in(n, 7))
        return make(n, "Expand", 2, make_scalar(n, I32, 0), make_dims(n, 1, in_shape(n, 0).dim));
    Value *ones = make_cast(n, make(n, "Equal", 2, in(n, 7), make_scalar(n, I32, 1)), I32);
    return with_int(make(n, "ReduceSum", 2, ones, make_ints(n, 1, (int64_t[]){1})), "keepdims", 0);
}

/* The sum of the embeddings of word, position and segment, normalised. */
static void embed_expand(Node *n)
{
    Type t = in_type(n, 2), wide = type_arith(t);
    if (in_shape(n, 0).rank != 2 || in_shape(n, 2).rank != 2 || in_shape(n, 3).rank != 2) {
        node_error(n, "the words %s and their and the positions' embeddings %s and %s must have two dimensions",
                   shape_text(in_shape(n, 0)), shape_text(in_shape(n, 2)), shape_text(in_shape(n, 3)));
        return;
    }
    if (!in(n, 1) != !in(n, 4)) {
        node_error(n, "segment_ids and segment_embedding come together");
        return;
    }
    Value *position = positions(n);
    if (!position)
        return;
    Value *sum = converted(n, embeddings(n, 2, 0), t, wide);
    if (in(n, 1))
        sum = make(n, "Add", 2, sum, converted(n, embeddings(n, 4, 1), t, wide));
    sum = make(n, "Add", 2, sum, converted(n, position, t, wide));
    if (out(n, 2))
        replace_out(n, 2, converted(n, sum, wide, t));
    if (out(n, 1))
        replace_out(n, 1, mask_index(n));
    Value *y = make(n, "LayerNormalization", 3, sum, make_cast(n, in(n, 5), wide), make_cast(n, in(n, 6), wide));
    attr_set_float(y->def, "epsilon", attr_float(n, "epsilon"));
    replace_out(n, 0, converted(n, y, wide, t));
    expand_done(n);
}

/* ---- Gelu -------------------------------------------------------------------------------------------------------- */

/* Gelu of x, of type t, + bias, if given; 16-bit floats are rounded once. */
static Value *gelu(Node *n, Value *x, Value *bias, Type t)
{
    Type wide = bias ? type_arith(t) : t;
    x = converted(n, x, t, wide);
    Value *y = make(n, "Gelu", 1, bias ? make(n, "Add", 2, x, make_cast(n, bias, wide)) : x);
    attr_set_string(y->def, "approximate", strstr(n->op->name, "FastGelu") ? "tanh" : "none");
    return converted(n, y, wide, t);
}

static void gelu_expand(Node *n)
{
    if (require_expands(n, 1, in_shape(n, 0)))
        expand_to(n, gelu(n, in(n, 0), in(n, 1), in_type(n, 0)));
}

static void gemm_fast_gelu_expand(Node *n)
{
    expand_to(n, gelu(n, make(n, "MatMul", 2, in(n, 0), in(n, 1)), in(n, 2), in_type(n, 0)));
}

/* x + bias, halved along the last axis: the first half times Gelu of the second. */
static void split_gelu_expand(Node *n)
{
    Value *sum = make(n, "Add", 2, in(n, 0), in(n, 1));
    Node *half = make_node(n, "Split", 1, &sum, 2);
    attr_set_int(half, "axis", -1);
    attr_set_int(half, "num_outputs", 2);
    int rank = in_shape(n, 0).rank;
    if (rank < 1 || !require_dim(n, "the last axis", dim_mul(D(2), dim_div(in_shape(n, 0).dim[rank - 1], D(2))),
                                 in_shape(n, 0).dim[rank - 1]))
        return;
    expand_to(n, make(n, "Mul", 2, half->out[0], make(n, "Gelu", 1, half->out[1])));
}

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

/* Softmax of data + bias, over all axes from `axis` on. */
static void bias_softmax_expand(Node *n)
{
    int rank = in_shape(n, 0).rank, axis = attr_axis(n, "axis", rank);
    if (!require_expands(n, 1, in_shape(n, 0)))
        return;
    Value *x = make(n, "Add", 2, in(n, 0), in(n, 1));
    if (axis < rank - 1)
        x = with_int(make(n, "Flatten", 1, x), "axis", axis);
    Value *y = make(n, "Softmax", 1, x);
    expand_to(n, axis < rank - 1 ? make(n, "Reshape", 2, y, make(n, "Shape", 1, in(n, 0))) : y);
}

/* ---- GroupNorm --------------------------------------------------------------------------------------------------- */

/* Input i, an element per channel (or per image and channel), in a shape that broadcasts to x. */
static Value *by_channel(Node *n, int i, bool last, Type t)
{
    Shape s = in_shape(n, i);
    Value *v = make_cast(n, in(n, i), t);
    int rank = in_shape(n, 0).rank;
    if (s.rank > 2 || (last && s.rank == 1))
        return v;
    Dim wide[MAX_RANK];
    for (int k = 0; k < rank; k++)
        wide[k] = D(1);
    wide[last ? rank - 1 : 1] = s.dim[s.rank - 1];
    wide[0] = s.rank == 2 ? s.dim[0] : D(1);
    return make_reshape(n, v, rank, wide);
}

/* The sum x + skip + bias (as far as given), which is output 1, is normalised by groups; then Swish if activation is
 * 1. */
static void group_norm_expand(Node *n)
{
    Type t = in_type(n, 0), wide = type_arith(t);
    bool last = attr_int(n, "channels_last") != 0;
    int rank = in_shape(n, 0).rank;
    if (!is_image(n))
        return;
    Value *x = make_cast(n, in(n, 0), wide);
    if (in(n, 3))
        x = make(n, "Add", 2, x, by_channel(n, 3, last, wide));
    if (in(n, 4))
        x = make(n, "Add", 2, x, by_channel(n, 4, last, wide));
    if (out(n, 1))
        replace_out(n, 1, converted(n, x, wide, t));
    Value *y = make(n, "GroupNormalization", 3, last ? channels_moved(n, x, rank, false) : x,
                    make_cast(n, in(n, 1), wide), make_cast(n, in(n, 2), wide));
    attr_set_int(y->def, "num_groups", attr_int(n, "groups"));
    attr_set_float(y->def, "epsilon", attr_float(n, "epsilon"));
    if (attr_int(n, "activation"))
        y = make(n, "Swish", 1, y);
    replace_out(n, 0, converted(n, last ? channels_moved(n, y, rank, true) : y, wide, t));
    expand_done(n);
}

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define PRODUCT "alpha:float=1.0 transA:int=0 transB:int=0"
#define BATCH " transBatchA:int=0 transBatchB:int=0"
#define BY_NAME " activation_alpha:float? activation_beta:float? activation_gamma:float?"
#define BY_LIST " activation:string? activation_params:floats?"
#define CONV                                                                                                           \
    "auto_pad:string=NOTSET dilations:ints? group:int=1 kernel_shape:ints? pads:ints? strides:ints?"
#define GROUPS "activation:int channels_last:int=1 epsilon:float=1e-5 groups:int"
#define AB_Y "A:T B:T -> Y:T"
#define NORM "axis:int=-1 epsilon:float=1e-5 stash_type:int=1"
#define F_BF "T=float|float16|bfloat16"

static const Op microsoft_fused_ops[] = {
    {"FusedMatMul", 1, AB_Y, "T=FB", PRODUCT BATCH, .expand = matmul_expand, MICROSOFT},
    {"TransposeMatMul", 1, AB_Y, "T=FB", PRODUCT, .expand = matmul_expand, MICROSOFT},
    {"FusedMatMulActivation", 1, AB_Y, "T=FB", PRODUCT BATCH " activation:string activation_axis:int?" BY_NAME,
     .expand = matmul_activation_expand, MICROSOFT},
    {"FusedGemm", 1, "A:T B:T C?:T -> Y:T", "T=F",
     "activation:string? alpha:float=1.0 beta:float=1.0 transA:int=0 transB:int=0" BY_NAME, .expand = gemm_expand,
     MICROSOFT},
    {"FusedConv", 1, "X:T W:T B?:T Z?:T -> Y:T", "T=F", CONV BY_LIST, .expand = conv_expand, MICROSOFT},
    {"NhwcFusedConv", 1, "X:T W:T B?:T Z?:T -> Y:T", "T=float|float16", CONV BY_LIST, .expand = nhwc_fused_conv_expand,
     MICROSOFT},
    {"NhwcConv", 1, "X:T W:T B?:T -> Y:T", "T=F", CONV, .expand = nhwc_conv_expand, MICROSOFT},
    {"BiasGelu", 1, "A:T B:T -> C:T", "T=FB", "", .expand = gelu_expand, MICROSOFT},
    {"Gelu", 1, "X:T -> Y:T", "T=FB", "", .expand = gelu_expand, MICROSOFT},
    {"FastGelu", 1, "X:T bias?:T -> Y:T", "T=FB", "", .expand = gelu_expand, MICROSOFT},
    {"QuickGelu", 1, "X:T -> Y:T", "T=FB", "alpha:float=1.702", .body = "Y = Swish<alpha=@alpha>(X)", MICROSOFT},
    {"SkipLayerNormalization", 1,
     "input:T skip:T gamma:T beta?:T bias?:T -> output:T mean?:U inv_std_var?:U input_skip_bias_sum?:T",
     F_BF " U=float", "epsilon:float=1e-12", .expand = skip_layer_norm_expand, MICROSOFT},
    {"SkipSimplifiedLayerNormalization", 1,
     "input:T skip:T gamma:T bias?:T -> output:T mean?:U inv_std_var?:U input_skip_bias_sum?:T", F_BF " U=float",
     "epsilon:float=1e-12", .expand = skip_simplified_expand, MICROSOFT},
    {"EmbedLayerNormalization", 1,
     "input_ids:T1 segment_ids?:T1 word_embedding:T position_embedding:T segment_embedding?:T gamma:T beta:T mask?:T1 "
     "position_ids?:T1 -> output:T mask_index?:T1 embedding_sum?:T",
     "T=float|float16 T1=int32", "epsilon:float=1e-12 mask_index_type:int=0", .expand = embed_expand, MICROSOFT},
    {"GemmFastGelu", 1, "X:T W:T bias?:T -> Y:T", F_BF, "", .expand = gemm_fast_gelu_expand, MICROSOFT},
    {"BiasSplitGelu", 1, "X:T bias:T -> Y:T", "T=float|float16", "", .expand = split_gelu_expand, MICROSOFT},
    {"BiasAdd", 1, "X:T bias:T skip:T -> Y:T", "T=float|float16", "", .body = "s = Add(X, bias) Y = Add(s, skip)",
     MICROSOFT},
    {"BiasSoftmax", 1, "data:T bias:T -> output:T", "T=F", "axis:int=1 is_inner_broadcast:int",
     .expand = bias_softmax_expand, MICROSOFT},
    {"GroupNorm", 1, "X:T gamma:M beta:M -> Y:T", "T=float|float16 M=float|float16", GROUPS,
     .expand = group_norm_expand, MICROSOFT},
    {"SkipGroupNorm", 1, "X:T gamma:M beta:M skip:T bias?:T -> Y:T S?:T", "T=float|float16 M=float|float16", GROUPS,
     .expand = group_norm_expand, MICROSOFT},
    /* ONNX Runtime's optimisers write these in the domain of ONNX. */
    {"LayerNormalization", 1, "X:T Scale:V B?:V -> Y:V Mean?:U InvStdDev?:U", "T=FB V=FB U=float", NORM,
     .expand = layer_norm_1},
    {"SimplifiedLayerNormalization", 1, "X:T scale:V -> Y:V inv_std_var?:U", "T=FB V=FB U=float", NORM,
     .expand = simplified_expand},
};
OPS(microsoft_fused_ops);
