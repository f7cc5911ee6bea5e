/* microsoft.c - the quantised operators of the domain com.microsoft, which ONNX Runtime's quantiser writes: each is
 * expanded to an operator of ONNX between DequantizeLinear and QuantizeLinear, which requantize.c then converts to
 * integers. */
#include "ir/spatial.h"
#include "microsoft.h"

enum { ONE = -1 }; /* instead of an axis: one scale for all elements */

/* Input i, dequantised by i+1 (scale) and i+2 (zero point, optional); axis: of a scale per slice, or ONE. */
static Value *real(Node *n, int i, int64_t axis)
{
    if (axis == ONE) {
        require_one(n, i + 1);
        require_one(n, i + 2);
        axis = 0;
    }
    return with_int(make(n, "DequantizeLinear", 3, in(n, i), in(n, i + 1), in(n, i + 2)), "axis", axis);
}

/* Replaces n by y, quantised by inputs i (scale) and i+1 (zero point); like: an input with the output's type. */
static void quantise(Node *n, Value *y, int i, int like)
{
    require_one(n, i);
    Value *zero = in(n, i + 1) ? in(n, i + 1) : make_scalar(n, in_type(n, like), 0);
    expand_to(n, make(n, "QuantizeLinear", 3, y, in(n, i), zero));
}

/* The name of ONNX's operator for the real values. */
static const char *inner(const Node *n) { return n->op->name + strlen("QLinear"); }

static void binary_expand(Node *n) { quantise(n, make(n, inner(n), 2, real(n, 0, ONE), real(n, 3, ONE)), 6, 0); }

/* All attributes but `channels_last`, which ONNX does not have. */
static void copy_attributes(const Node *n, Node *to)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!name_is(n->attr[i].name, "channels_last"))
            attr_set(to, n->attr[i]);
}

static void unary_expand(Node *n)
{
    bool last = attr_is_given(n, "channels_last") && attr_int(n, "channels_last");
    Value *x = real(n, 0, ONE), *y = make(n, inner(n), 1, last ? channels_moved(n, x, in_shape(n, 0).rank, false) : x);
    copy_attributes(n, y->def);
    quantise(n, last ? channels_moved(n, y, in_shape(n, 0).rank, true) : y, 3, 0);
}

/* Becomes ONNX's operator, which has the channels first: with channels_last, input 0 and the result are transposed. */
static void conv_expand(Node *n)
{
    bool last = attr_int(n, "channels_last") != 0;
    Value *ins[9];
    for (int i = 0; i < 9; i++)
        ins[i] = i || !last ? in(n, i) : channels_moved(n, in(n, 0), in_shape(n, 0).rank, false);
    Node *y = make_node(n, "QLinearConv", 9, ins, 1);
    copy_attributes(n, y);
    expand_to(n, last ? channels_moved(n, y->out[0], in_shape(n, 0).rank, true) : y->out[0]);
}

static void nhwc_max_pool_expand(Node *n)
{
    Value *y = make(n, "MaxPool", 1, channels_moved(n, in(n, 0), in_shape(n, 0).rank, false));
    copy_attributes(n, y->def);
    expand_to(n, channels_moved(n, y, in_shape(n, 0).rank, true));
}

static void where_expand(Node *n)
{
    quantise(n, make(n, "Where", 3, in(n, 0), real(n, 1, ONE), real(n, 4, ONE)), 7, 1);
}

/* QuantizeLinear and DequantizeLinear with more types than ONNX's older versions had. */
static void linear_expand(Node *n)
{
    Value *y = make(n, n->op->name, 3, in(n, 0), in(n, 1), in(n, 2));
    copy_attributes(n, y->def);
    expand_to(n, y);
}

/* Softmax as the opset in the attribute `opset` defines it: up to 12 over all axes from `axis` on. */
static void softmax_expand(Node *n)
{
    int rank = in_shape(n, 0).rank, axis = attr_axis(n, "axis", rank);
    Value *x = real(n, 0, ONE), *y;
    if (attr_int(n, "opset") >= 13 || axis == rank - 1) {
        y = with_int(make(n, "Softmax", 1, x), "axis", axis);
    } else {
        Value *rows = with_int(make(n, "Flatten", 1, x), "axis", axis);
        y = make(n, "Reshape", 2, make(n, "Softmax", 1, rows), make(n, "Shape", 1, x));
    }
    quantise(n, y, 3, 0);
}

/* The axes are an attribute; ONNX has an input. */
static void reduce_mean_expand(Node *n)
{
    const int64_t *axes;
    int k = attr_ints(n, "axes", &axes);
    Value *y = with_int(make(n, "ReduceMean", 2, real(n, 0, ONE), k > 0 ? make_ints(n, k, axes) : NULL), "keepdims",
                        attr_int(n, "keepdims"));
    quantise(n, y, 3, 0);
}

/* Inputs: scale and zero point of the output, then value, scale and zero point of each part. */
static void concat_expand(Node *n)
{
    int k = (n->n_in - 2) / 3;
    Value **parts = NEWS(Value *, k);
    for (int i = 0; i < k; i++)
        parts[i] = real(n, 2 + 3 * i, ONE);
    Node *y = make_node(n, "Concat", k, parts, 1);
    attr_set_int(y, "axis", attr_int(n, "axis"));
    quantise(n, y->out[0], 0, 2);
}

/* Y = alpha * A' * B' + C, where C has the scale alpha * a_scale * b_scale; without y_scale, Y is of floats. */
static void gemm_expand(Node *n)
{
    bool transposed = attr_int(n, "transB") != 0;
    Value *scale = make(n, "Mul", 2, in(n, 1), in(n, 4)), *c = NULL;
    if (attr_float(n, "alpha") != 1)
        scale = make(n, "Mul", 2, scale, make_scalar(n, F32, attr_float(n, "alpha")));
    if (in(n, 6)) {
        c = with_int(make(n, "DequantizeLinear", 2, in(n, 6), scale), "axis", in_shape(n, 6).rank - 1);
    }
    Value *y = with_int(make(n, "Gemm", 3, real(n, 0, ONE), real(n, 3, transposed ? 0 : 1), c), "transA",
                        attr_int(n, "transA"));
    attr_set_int(y->def, "transB", transposed);
    attr_set_float(y->def, "alpha", attr_float(n, "alpha"));
    if (in(n, 7))
        quantise(n, y, 7, 0);
    else {
        expand_to(n, y);
    }
}

#define BINARY(name)                                                                                                   \
    {name, 1,                                                                                                          \
     "A:T A_scale:float A_zero_point?:T B:T B_scale:float B_zero_point?:T C_scale:float C_zero_point?:T -> C:T",       \
     "T=uint8|int8", .expand = binary_expand, .domain = "com.microsoft"}
#define UNARY(name, attributes, how)                                                                                   \
    {name, 1, "X:T X_scale:float X_zero_point?:T Y_scale:float Y_zero_point?:T -> Y:T", "T=uint8|int8", attributes,    \
     .expand = how, .domain = "com.microsoft"}

#define WINDOWS "auto_pad:string=NOTSET pads:ints? strides:ints? "

static const Op microsoft_ops[] = {
    BINARY("QLinearAdd"),
    BINARY("QLinearMul"),
    UNARY("QLinearSigmoid", "", unary_expand),
    UNARY("QLinearLeakyRelu", "alpha:float=0.01", unary_expand),
    UNARY("QLinearGlobalAveragePool", "channels_last:int=0", unary_expand),
    UNARY("QLinearAveragePool", WINDOWS "ceil_mode:int=0 channels_last:int=0 count_include_pad:int=0 kernel_shape:ints",
          unary_expand),
    {"QLinearConv", 1,
     "x:T1 x_scale:float x_zero_point:T1 w:T2 w_scale:float w_zero_point:T2 y_scale:float y_zero_point:T3 B?:int32 -> y:T3",
     "T1=uint8|int8 T2=uint8|int8 T3=uint8|int8",
     WINDOWS "channels_last:int=0 dilations:ints? group:int=1 kernel_shape:ints?", .expand = conv_expand,
     .domain = "com.microsoft"},
    {"NhwcMaxPool", 1, "x:T -> y:T", "T=uint8|int8", WINDOWS "ceil_mode:int=0 dilations:ints? kernel_shape:ints",
     .expand = nhwc_max_pool_expand, .domain = "com.microsoft"},
    UNARY("QLinearSoftmax", "axis:int=-1 opset:int", softmax_expand),
    UNARY("QLinearReduceMean", "axes:ints? keepdims:int=1", reduce_mean_expand),
    {"QLinearWhere", 1,
     "condition:bool X:T x_scale:float x_zero_point:T Y:T y_scale:float y_zero_point:T z_scale:float z_zero_point:T -> Z:T",
     "T=uint8|int8", "", .expand = where_expand, .domain = "com.microsoft"},
    {"QuantizeLinear", 1, "x:T1 y_scale:T1 y_zero_point?:T2 -> y:T2",
     "T1=float|float16 T2=int8|uint8|int16|uint16|int4|uint4", "axis:int=1 block_size:int=0", .expand = linear_expand,
     .domain = "com.microsoft"},
    {"DequantizeLinear", 1, "x:T1 x_scale:T2 x_zero_point?:T1 -> y:T2",
     "T1=int8|uint8|int16|uint16|int32|int4|uint4 T2=float|float16", "axis:int=1 block_size:int=0",
     .expand = linear_expand, .domain = "com.microsoft"},
    {"QLinearConcat", 1, "Y_scale:float Y_zero_point:T inputs**:ANY -> Y:T", "T=uint8|int8 ANY=uint8|int8|float",
     "axis:int", .expand = concat_expand, .domain = "com.microsoft"},
    {"QGemm", 1,
     "A:TA a_scale:float a_zero_point:TA B:TB b_scale:float b_zero_point:TB C?:int32 y_scale?:float y_zero_point?:TY -> "
     "Y:TYZ",
     "TA=uint8|int8 TB=uint8|int8 TY=uint8|int8 TYZ=uint8|int8|float", "alpha:float=1.0 transA:int=0 transB:int=0",
     .expand = gemm_expand, .domain = "com.microsoft"},
};
OPS(microsoft_ops);
