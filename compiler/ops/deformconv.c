/* deformconv.c - DeformConv. */
#include "gradient/gradient.h"
#include "ir/spatial.h"
#include "deformconv.h"

static bool deform_read(Node *n, Image *x, Windows *w)
{
    Shape k = in_shape(n, 1);
    int64_t kernel[AXES];
    if (!image_read(n, 0, x))
        return false;
    for (int a = 0; a < x->axes; a++) {
        if (k.rank != x->axes + 2 || !dim_is_const(k.dim[2 + a]))
            return node_error(n, "the weights are %s; for an image of %s they must have %d dimensions of known sizes",
                              shape_text(k), shape_text(in_shape(n, 0)), x->axes + 2);
        kernel[a] = dim_value(k.dim[2 + a]);
    }
    return windows_read(n, x, kernel, w);
}

static void deform_infer(Node *n)
{
    Image x;
    Windows w;
    if (!deform_read(n, &x, &w))
        return;
    int64_t groups = attr_int(n, "group"), moves = attr_int(n, "offset_group");
    Dim outputs = in_shape(n, 1).dim[0];
    if (groups < 1 || moves < 1 || dim_is(dim_eq_expr(dim_mod(x.channels, D(moves)), D(0)), 0) ||
        dim_is(dim_eq_expr(dim_mod(x.channels, D(groups)), D(0)), 0) ||
        dim_is(dim_eq_expr(dim_mod(outputs, D(groups)), D(0)), 0)) {
        node_error(
            n,
            "group = %lld and offset_group = %lld must divide the channels of the image, %s, and group the outputs of the weights, %s",
            (long long)groups, (long long)moves, shape_text(in_shape(n, 0)), shape_text(in_shape(n, 1)));
        return;
    }
    assume_dim(n, dim_mod(x.channels, D(moves)), D(0));
    assume_dim(n, dim_mod(x.channels, D(groups)), D(0));
    assume_dim(n, dim_mod(outputs, D(groups)), D(0));
    Shape weights = in_shape(n, 1), y = image_shape(n, &x, outputs, w.out), offset = y, mask = y;
    weights.dim[1] = dim_div(x.channels, D(groups));
    mask.dim[1] = dim_mul(D(moves), shape_product(weights, 2, weights.rank));
    offset.dim[1] = dim_mul(mask.dim[1], D(x.axes));
    if (require_shape(n, 1, weights) && require_shape(n, 2, offset) && require_shape(n, 3, shape_list(1, outputs)) &&
        require_shape(n, 4, mask)) {
        set_out(n, 0, in_type(n, 0), y);
        image_in_steps(n, &x);
    }
}

static void deform_in_steps(Node *n)
{
    Value *y;
    if (decompose_deform_conv(n, n, &y))
        expand_to(n, y);
}

static void deform_bind(Node *n)
{
    Image x;
    Windows w;
    if (!deform_read(n, &x, &w))
        return;
    BIND(n, deform_conv, .batch = x.n, .channels = x.channels, .outputs = in_shape(n, 1).dim[0],
         .groups = D(attr_int(n, "group")), .moves = D(attr_int(n, "offset_group")), .axes = D(x.axes),
         .in = DIMS3(x.size), .out = DIMS3(w.out), .kernel = THREE(w.kernel), .stride = THREE(w.stride),
         .dilation = THREE(w.dilation), .pad = DIMS3(w.pad));
    int64_t count = w.kernel[0] * w.kernel[1] * w.kernel[2];
    bind_scratch(n, dim_mul(x.channels, D(count * DEFORM_POINTS * type_bits(type_arith(in_type(n, 0))) / 8)));
}

#define DEFORM_ATTRS "dilations:ints? group:int=1 kernel_shape:ints? offset_group:int=1 pads:ints? strides:ints?"

static const Op deform_ops[] = {
    {"DeformConv", 22, "X:T W:T offset:T B?:T mask?:T -> Y:T", "T=FB", DEFORM_ATTRS, .infer = deform_infer,
     .bind = deform_bind, .compatible = "19 T=F"},
    {"DeformConvInSteps", 1, "X:T W:T offset:T B?:T mask?:T -> Y:T", "T=FB", DEFORM_ATTRS, .expand = deform_in_steps,
     .domain = "onnxcc"},
};
OPS(deform_ops);
