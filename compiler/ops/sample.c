/* sample.c - images read between pixels and in regions: RoiAlign, MaxRoiPool, GridSample, AffineGrid, DeformConv; which
 * regions: NonMaxSuppression. */
#include <strings.h>

#include "../infer.h"
#include "../kernel.h"
#include "../spatial.h"
#include "deformconv.h"
#include "grid.h"
#include "roi.h"

/* ---- RoiAlign, MaxRoiPool --------------------------------------------------------------------------------------- */

static void roi_infer(Node *n, int numbers, int64_t height, int64_t width)
{
    Shape x = in_shape(n, 0), rois = in_shape(n, 1);
    if (x.rank != 4 || rois.rank != 2 || dim_is(dim_equal(rois.dim[1], D(numbers)), 0))
        node_error(n, "the input is %s, the regions %s; needed are N,C,H,W and regions of %d numbers", shape_text(x),
                   shape_text(rois), numbers);
    else if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
        node_error(n, "the output has %lld rows of %lld", (long long)height, (long long)width);
    else {
        assume_dim(n, rois.dim[1], D(numbers));
        set_out(n, 0, in_type(n, 0), shape_list(4, rois.dim[0], x.dim[1], D(height), D(width)));
    }
}

#define ROI_FIELDS                                                                                                     \
    .batch = x.dim[0], .channels = x.dim[1], .in = {x.dim[2], x.dim[3]}, .rois = y.dim[0],                             \
    .out = {y.dim[2], y.dim[3]}, .scale = attr_float(n, "spatial_scale")

static bool one_of(Node *n, const char *attr, const char *a, const char *b)
{
    const char *v = attr_string(n, attr);
    if (strcasecmp(v, a) && strcasecmp(v, b))
        node_error(n, "%s is '%s': it may be %s or %s", attr, v, a, b);
    return !strcasecmp(v, a);
}

static void roi_align_infer(Node *n)
{
    Shape of = in_shape(n, 2);
    one_of(n, "mode", "avg", "max");
    if (n->op->since >= 16)
        one_of(n, "coordinate_transformation_mode", "half_pixel", "output_half_pixel");
    if (of.rank != 1 || dim_is(dim_equal(of.dim[0], in_shape(n, 1).dim[0]), 0))
        node_error(n, "batch_indices %s for the regions %s", shape_text(of), shape_text(in_shape(n, 1)));
    else if (attr_int(n, "sampling_ratio") < 0 || attr_int(n, "sampling_ratio") > ROI_PLACES)
        node_error(n, "sampling_ratio is %lld", (long long)attr_int(n, "sampling_ratio"));
    else {
        assume_dim(n, of.dim[0], in_shape(n, 1).dim[0]);
        roi_infer(n, 4, attr_int(n, "output_height"), attr_int(n, "output_width"));
    }
}

/* Before version 16 nothing was shifted. */
static void roi_align_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    BIND(n, roi_align, ROI_FIELDS, .sampling = D(attr_int(n, "sampling_ratio")),
         .shift =
             D(n->op->since >= 16 && one_of(n, "coordinate_transformation_mode", "half_pixel", "output_half_pixel")),
         .max = D(one_of(n, "mode", "max", "avg")));
}

static void max_roi_pool_infer(Node *n)
{
    const int64_t *size;
    if (attr_ints(n, "pooled_shape", &size) != 2)
        node_error(n, "pooled_shape must have two numbers");
    else
        roi_infer(n, 5, size[0], size[1]);
}

static void max_roi_pool_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    BIND(n, max_roi_pool, ROI_FIELDS);
}

/* ---- NonMaxSuppression ------------------------------------------------------------------------------------------ */

static void nms_infer(Node *n)
{
    Shape boxes = in_shape(n, 0), scores = in_shape(n, 1);
    if (boxes.rank != 3 || scores.rank != 3 || dim_is(dim_equal(boxes.dim[2], D(4)), 0)) {
        node_error(n, "the boxes are %s, the scores %s; needed are N,boxes,4 and N,classes,boxes", shape_text(boxes),
                   shape_text(scores));
        return;
    }
    for (int i = 2; i < 5; i++)
        if (in(n, i) && !dim_is(shape_count(in_shape(n, i)), 1)) {
            node_error(n, "input %d, %s, is not one number", i, shape_text(in_shape(n, i)));
            return;
        }
    assume_dim(n, boxes.dim[2], D(4));
    assume_dim(n, scores.dim[0], boxes.dim[0]);
    assume_dim(n, scores.dim[2], boxes.dim[1]);
    Dim most = boxes.dim[1];
    if (!in(n, 2) || in_const(n, 2))
        most = dim_min(most, D(in(n, 2) && in_float(n, 2, 0) > 0 ? (int64_t)in_float(n, 2, 0) : 0));
    most = dim_mul(most, dim_mul(scores.dim[0], scores.dim[1]));
    set_out(n, 0, I64, shape_list(2, reported_size(n, 0, NULL, most), D(3)));
}

static void nms_bind(Node *n)
{
    Shape boxes = in_shape(n, 0), scores = in_shape(n, 1);
    BIND(n, nms, .most = reported_room(out(n, 0)->shape->dim[0]), .batch = boxes.dim[0], .classes = scores.dim[1],
         .boxes = boxes.dim[1], .center = D(attr_int(n, "center_point_box") != 0));
    bind_scratch(n, dim_mul(boxes.dim[1], D(4)));
    bind_reported(n);
}

/* ---- GridSample ------------------------------------------------------------------------------------------------- */

static bool cubic(Node *n) { return attr_is(n, "mode", "cubic") || attr_is(n, "mode", "bicubic"); }

static int padding(Node *n)
{
    return attr_is(n, "padding_mode", "border")       ? GRID_BORDER
           : attr_is(n, "padding_mode", "reflection") ? GRID_REFLECTION
           : attr_is(n, "padding_mode", "zeros")      ? GRID_ZEROS
                                                      : -1;
}

static void grid_sample_infer(Node *n)
{
    Shape x = in_shape(n, 0), g = in_shape(n, 1), y = x;
    bool linear = attr_is(n, "mode", "linear") || attr_is(n, "mode", "bilinear");
    if (!linear && !cubic(n) && !attr_is(n, "mode", "nearest"))
        node_error(n, "mode is '%s': it may be linear, nearest or cubic", attr_string(n, "mode"));
    else if (padding(n) < 0)
        node_error(n, "padding_mode is '%s': it may be zeros, border or reflection", attr_string(n, "padding_mode"));
    else if (x.rank < 3 || x.rank > 5)
        node_error(n, "input 0 is %s; supported are 1 to 3 spatial axes after batch and channels", shape_text(x));
    else if (g.rank != x.rank || dim_is(dim_equal(g.dim[0], x.dim[0]), 0) ||
             dim_is(dim_equal(g.dim[g.rank - 1], D(x.rank - 2)), 0))
        node_error(n, "the grid %s does not suit an image %s: it needs the same batch, and %d numbers for each place",
                   shape_text(g), shape_text(x), x.rank - 2);
    else {
        assume_dim(n, g.dim[0], x.dim[0]);
        assume_dim(n, g.dim[g.rank - 1], D(x.rank - 2));
        for (int a = 2; a < x.rank; a++)
            y.dim[a] = g.dim[a - 1];
        set_out(n, 0, in_type(n, 0), y);
    }
}

#define GRID_IMAGE_FIELDS                                                                                              \
    .batch = x.n, .channels = x.channels, .in = DIMS3(x.size), .out = DIMS3(y.size), .axes = D(x.axes),                \
    .padding = D(padding(n)), .align = D(attr_int(n, "align_corners") != 0)

static void grid_sample_bind(Node *n)
{
    Image x, y = {.size = {D(1), D(1), D(1)}};
    Type t = in_type(n, 0);
    Shape out_shape = *out(n, 0)->shape;
    if (!image_read(n, 0, &x))
        return;
    for (int a = 0; a < x.axes; a++)
        y.size[3 - x.axes + a] = out_shape.dim[2 + a];
    if (attr_is(n, "mode", "nearest"))
        BIND2(n, grid_nearest, type_storage(t), in_type(n, 1), GRID_IMAGE_FIELDS);
    else
        BIND2(n, grid_sample,
              t == C64    ? F32
              : t == C128 ? F64
                          : t,
              in_type(n, 1), GRID_IMAGE_FIELDS, .taps = D(cubic(n) ? 4 : 2), .part = D(t == C64 || t == C128 ? 2 : 1));
}

/* ---- AffineGrid ------------------------------------------------------------------------------------------------- */

static void affine_grid_infer(Node *n)
{
    Dim size[5];
    Shape theta = in_shape(n, 0), y = {0};
    int k = in_dims(n, 1, size, 5), axes = k - 2;
    if (k < 0)
        return;
    if (axes < 2 || theta.rank != 3 || dim_is(dim_equal(theta.dim[0], size[0]), 0) ||
        dim_is(dim_equal(theta.dim[1], D(axes)), 0) || dim_is(dim_equal(theta.dim[2], D(axes + 1)), 0)) {
        node_error(n, "theta %s does not suit the size, of %d numbers: N,C,H,W needs N,2,3 and N,C,D,H,W needs N,3,4",
                   shape_text(theta), k);
        return;
    }
    assume_shape(n, theta, shape_list(3, size[0], D(axes), D(axes + 1)));
    y.dim[y.rank++] = theta.dim[0];
    for (int a = 0; a < axes; a++)
        y.dim[y.rank++] = dim_max(size[2 + a], D(0));
    y.dim[y.rank++] = D(axes);
    set_out(n, 0, in_type(n, 0), y);
}

static void affine_grid_bind(Node *n)
{
    Shape y = *out(n, 0)->shape;
    int axes = y.rank - 2;
    BIND_ARGS(n, affine_grid, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), out(n, 0)), .batch = y.dim[0],
              .size = {axes > 2 ? y.dim[1] : D(1), y.dim[axes - 1], y.dim[axes]}, .axes = D(axes),
              .align = D(attr_int(n, "align_corners") == 1));
}

/* ---- DeformConv --------------------------------------------------------------------------------------------------- */

static bool deform_read(Node *n, Image *x, Windows *w)
{
    Shape k = in_shape(n, 1);
    int64_t kernel[3];
    if (!image_read(n, 0, x))
        return false;
    for (int a = 0; a < x->axes; a++) {
        if (k.rank != x->axes + 2 || !dim_const(k.dim[2 + a])) {
            node_error(n, "weights of %s for an image of %s", shape_text(k), shape_text(in_shape(n, 0)));
            return false;
        }
        kernel[a] = dim_value(k.dim[2 + a]);
    }
    return windows_read(n, x, kernel, w);
}

/* Input i is s, or the model is wrong; what only the run shows is checked then. */
static bool expect(Node *n, int i, Shape s)
{
    if (!in(n, i))
        return true;
    Shape x = in_shape(n, i);
    bool ok = x.rank == s.rank;
    for (int a = 0; ok && a < s.rank; a++) {
        ok = !dim_is(dim_equal(x.dim[a], s.dim[a]), 0);
        assume_dim(n, x.dim[a], s.dim[a]);
    }
    if (!ok)
        node_error(n, "input %d is %s instead of %s", i, shape_text(x), shape_text(s));
    return ok;
}

static void deform_infer(Node *n)
{
    Image x;
    Windows w;
    if (!deform_read(n, &x, &w))
        return;
    int64_t groups = attr_int(n, "group"), moves = attr_int(n, "offset_group");
    Dim outputs = in_shape(n, 1).dim[0];
    if (groups < 1 || moves < 1 || dim_is(dim_equal(dim_mod(x.channels, D(moves)), D(0)), 0) ||
        dim_is(dim_equal(dim_mod(outputs, D(groups)), D(0)), 0)) {
        node_error(n, "%lld groups and %lld offset groups do not divide the channels of %s and %s", (long long)groups,
                   (long long)moves, shape_text(in_shape(n, 0)), shape_text(in_shape(n, 1)));
        return;
    }
    assume_dim(n, dim_mod(x.channels, D(moves)), D(0));
    assume_dim(n, dim_mod(outputs, D(groups)), D(0));
    Shape weights = in_shape(n, 1), y = image_shape(n, &x, outputs, w.out), offset = y, mask = y;
    int64_t count = moves * w.kernel[0] * w.kernel[1] * w.kernel[2];
    weights.dim[1] = dim_div(x.channels, D(groups));
    offset.dim[1] = D(count * x.axes);
    mask.dim[1] = D(count);
    if (expect(n, 1, weights) && expect(n, 2, offset) && expect(n, 3, shape_list(1, outputs)) && expect(n, 4, mask))
        set_out(n, 0, in_type(n, 0), y);
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

/* ---- rows --------------------------------------------------------------------------------------------------------- */

#define ROI_ALIGN "X:T1 rois:T1 batch_indices:int64 -> Y:T1"
#define ROI_ATTRS "mode:string=avg output_height:int=1 output_width:int=1 sampling_ratio:int=0 spatial_scale:float=1"
#define MAX_ROI_POOL(since, types)                                                                                     \
    "MaxRoiPool", since, "X:T rois:T -> Y:T", "T=" types, "pooled_shape:ints spatial_scale:float=1"
#define NMS(since)                                                                                                     \
    "NonMaxSuppression", since,                                                                                        \
        "boxes:float scores:float max_output_boxes_per_class?:int64 iou_threshold?:float score_threshold?:float -> "   \
        "selected_indices:int64",                                                                                      \
        "", "center_point_box:int=0"
#define GRID_SAMPLE(since, types, mode)                                                                                \
    "GridSample", since, "X:T1 grid:T2 -> Y:T1", types,                                                                \
        "align_corners:int=0 mode:string=" mode " padding_mode:string=zeros"
#define DEFORM_CONV(since, types)                                                                                      \
    "DeformConv", since, "X:T W:T offset:T B?:T mask?:T -> Y:T", "T=" types,                                           \
        "dilations:ints? group:int=1 kernel_shape:ints? offset_group:int=1 pads:ints? strides:ints?"

static const Op sample_ops[] = {
    {"RoiAlign", 22, ROI_ALIGN, "T1=FB", ROI_ATTRS " coordinate_transformation_mode:string=half_pixel",
     .infer = roi_align_infer, .bind = roi_align_bind},
    {"RoiAlign", 16, ROI_ALIGN, "T1=F", ROI_ATTRS " coordinate_transformation_mode:string=half_pixel",
     .expand = expand_same},
    {"RoiAlign", 10, ROI_ALIGN, "T1=F", ROI_ATTRS, .infer = roi_align_infer, .bind = roi_align_bind},
    {MAX_ROI_POOL(22, "FB"), .infer = max_roi_pool_infer, .bind = max_roi_pool_bind},
    {MAX_ROI_POOL(1, "F"), .expand = expand_same},
    {NMS(11), .infer = nms_infer, .bind = nms_bind, .flags = NOFOLD},
    {NMS(10), .expand = expand_same},
    {GRID_SAMPLE(22, "T1=ALLB T2=FB", "linear"), .infer = grid_sample_infer, .bind = grid_sample_bind},
    {GRID_SAMPLE(20, "T1=ALL T2=F", "linear"), .expand = expand_same},
    {GRID_SAMPLE(16, "T1=ALL T2=F", "bilinear"), .infer = grid_sample_infer, .bind = grid_sample_bind},
    {"AffineGrid", 20, "theta:T1 size:int64 -> grid:T1", "T1=FB", "align_corners:int=0", .infer = affine_grid_infer,
     .bind = affine_grid_bind},
    {DEFORM_CONV(22, "FB"), .infer = deform_infer, .bind = deform_bind},
    {DEFORM_CONV(19, "F"), .expand = expand_same},
};
OPS(sample_ops);
