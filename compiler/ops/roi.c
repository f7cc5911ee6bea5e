/* roi.c - RoiAlign, MaxRoiPool, NonMaxSuppression; CropAndResize, of com.microsoft. */
#include <strings.h>

#include "passes/infer.h"
#include "ir/call.h"
#include "crop_resize.h"
#include "microsoft.h"
#include "roi.h"

/* ---- RoiAlign, MaxRoiPool --------------------------------------------------------------------------------------- */

static void roi_infer(Node *n, Type t, int numbers, int64_t height, int64_t width)
{
    Shape x = in_shape(n, 0), rois = in_shape(n, 1);
    if (x.rank != 4 || rois.rank != 2 || dim_is(dim_eq_expr(rois.dim[1], D(numbers)), 0))
        node_error(n, "the input is %s, the regions %s; needed are N,C,H,W and regions of %d numbers", shape_text(x),
                   shape_text(rois), numbers);
    else if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
        node_error(n, "the output has %lld rows of %lld", (long long)height, (long long)width);
    else {
        assume_dim(n, rois.dim[1], D(numbers));
        set_out(n, 0, t, shape_list(4, rois.dim[0], x.dim[1], D(height), D(width)));
    }
}

#define ROI_FIELDS                                                                                                     \
    .batch = x.dim[0], .channels = x.dim[1], .in = {x.dim[2], x.dim[3]}, .rois = y.dim[0],                             \
    .out = {y.dim[2], y.dim[3]}, .scale = attr_float(n, "spatial_scale")

static bool attr_is_first(Node *n, const char *attr, const char *a, const char *b)
{
    const char *v = attr_string(n, attr);
    if (strcasecmp(v, a) && strcasecmp(v, b))
        node_error(n, "%s is '%s': it may be %s or %s", attr, v, a, b);
    return !strcasecmp(v, a);
}

static void roi_align_infer(Node *n)
{
    Shape of = in_shape(n, 2);
    attr_is_first(n, "mode", "avg", "max");
    if (n->op->since_version >= 16)
        attr_is_first(n, "coordinate_transformation_mode", "half_pixel", "output_half_pixel");
    if (of.rank != 1 || dim_is(dim_eq_expr(of.dim[0], in_shape(n, 1).dim[0]), 0))
        node_error(n, "batch_indices %s for the regions %s", shape_text(of), shape_text(in_shape(n, 1)));
    else if (attr_int(n, "sampling_ratio") < 0 || attr_int(n, "sampling_ratio") > ROI_PLACES)
        node_error(n, "sampling_ratio is %lld: it must be from 0 to %d", (long long)attr_int(n, "sampling_ratio"),
                   ROI_PLACES);
    else {
        assume_dim(n, of.dim[0], in_shape(n, 1).dim[0]);
        if (require_indices(n, 2, 1, in_shape(n, 0).dim, false))
            roi_infer(n, in_type(n, 0), 4, attr_int(n, "output_height"), attr_int(n, "output_width"));
    }
}

/* Before version 16 there was no shift by half a pixel. */
static void roi_align_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    BIND(n, roi_align, ROI_FIELDS, .sampling = D(attr_int(n, "sampling_ratio")),
         .shift = D(n->op->since_version >= 16 &&
                    attr_is_first(n, "coordinate_transformation_mode", "half_pixel", "output_half_pixel")),
         .max = D(attr_is_first(n, "mode", "max", "avg")));
}

static void max_roi_infer(Node *n, Type t)
{
    const int64_t *size;
    if (attr_ints(n, "pooled_shape", &size) != 2) {
        node_error(n, "pooled_shape must have two numbers");
        return;
    }
    bool inside = true;
    for (int64_t i = 0; inside && in_is_const(n, 1) && i < tensor_count(in(n, 1)->data); i += 5) {
        double of = tensor_get(in(n, 1)->data, i);
        inside = require_index(n, of >= 0 && of < INT32_MAX ? (int64_t)of : -1, in_shape(n, 0).dim[0], false);
    }
    if (inside)
        roi_infer(n, t, 5, size[0], size[1]);
}

static void max_roi_pool_infer(Node *n) { max_roi_infer(n, in_type(n, 0)); }

static void max_roi_place_infer(Node *n) { max_roi_infer(n, I64); }

static void max_roi_pool_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    BIND(n, max_roi_pool, ROI_FIELDS);
}

static void max_roi_place_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    BIND(n, max_roi_place, ROI_FIELDS);
}

/* ---- CropAndResize ---------------------------------------------------------------------------------------------- */

static void crop_resize_infer(Node *n)
{
    Shape x = in_shape(n, 0), rois = in_shape(n, 1);
    Dim size[2];
    attr_is_first(n, "mode", "nearest", "bilinear");
    if (x.rank != 4 || rois.rank != 2) {
        node_error(n, "the input is %s, the regions %s; needed are N,C,H,W and regions of 4 numbers", shape_text(x),
                   shape_text(rois));
        return;
    }
    if (!require_dim(n, "numbers of a region", rois.dim[1], D(4)) || !require_shape(n, 2, shape_list(1, rois.dim[0])) ||
        !require_indices(n, 2, 1, x.dim, false))
        return;
    int k = in_dims(n, 3, size, 2);
    if (k == 2 && require_size(n, "crop_size", &size[0]) && require_size(n, "crop_size", &size[1]))
        set_out(n, 0, in_type(n, 0), shape_list(4, rois.dim[0], x.dim[1], size[0], size[1]));
    else if (k >= 0 && k != 2)
        node_error(n, "crop_size has %d numbers instead of height and width", k);
}

static void crop_resize_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    BIND_ARGS(n, crop_resize, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), out(n, 0)), .batch = x.dim[0],
              .channels = x.dim[1], .in = {x.dim[2], x.dim[3]}, .rois = y.dim[0], .out = {y.dim[2], y.dim[3]},
              .outside = attr_float(n, "extrapolation_value"),
              .nearest = D(attr_is_first(n, "mode", "nearest", "bilinear")));
}

/* ---- NonMaxSuppression ------------------------------------------------------------------------------------------ */

static void nms_infer(Node *n)
{
    Shape boxes = in_shape(n, 0), scores = in_shape(n, 1);
    if (boxes.rank != 3 || scores.rank != 3 || dim_is(dim_eq_expr(boxes.dim[2], D(4)), 0)) {
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
    int64_t center = attr_int(n, "center_point_box");
    if (center != 0 && center != 1) {
        node_error(n, "center_point_box is %lld, not 0 or 1", (long long)center);
        return;
    }
    if (in(n, 3))
        node_set_in(n, 3, inferred(make_within(n, n->in[3], 0, D(1), false)));
    Dim max = boxes.dim[1];
    if (!in(n, 2) || in_is_const(n, 2)) {
        const int64_t limit = in(n, 2) ? tensor_get_int(in(n, 2)->data, 0) : 0;
        max = dim_min(max, D(limit < 0 ? 0 : limit > MAX_SIZE ? MAX_SIZE : limit));
    }
    max = dim_mul(max, dim_mul(scores.dim[0], scores.dim[1]));
    set_out(n, 0, I64, shape_list(2, reported_size(n, 0, NULL, max), D(3)));
}

static void nms_bind(Node *n)
{
    Shape boxes = in_shape(n, 0), scores = in_shape(n, 1);
    BIND(n, nms, .upper = reported_room(out(n, 0)->shape->dim[0]), .batch = boxes.dim[0], .classes = scores.dim[1],
         .boxes = boxes.dim[1], .center = D(attr_int(n, "center_point_box") != 0));
    bind_scratch(n, dim_mul(boxes.dim[1], D(4)));
    bind_reported(n);
}

#define ROI_ALIGN "X:T1 rois:T1 batch_indices:int64 -> Y:T1"
#define ROI_ATTRS "mode:string=avg output_height:int=1 output_width:int=1 sampling_ratio:int=0 spatial_scale:float=1"

static const Op roi_ops[] = {
    {"RoiAlign", 22, ROI_ALIGN, "T1=FB", ROI_ATTRS " coordinate_transformation_mode:string=half_pixel",
     .infer = roi_align_infer, .bind = roi_align_bind, .checks = 3, .compatible = "16 T1=F"},
    {"RoiAlign", 10, ROI_ALIGN, "T1=F", ROI_ATTRS, .infer = roi_align_infer, .bind = roi_align_bind, .checks = 3},
    {"MaxRoiPool", 22, "X:T rois:T -> Y:T", "T=FB", "pooled_shape:ints spatial_scale:float=1",
     .infer = max_roi_pool_infer, .bind = max_roi_pool_bind, .flags = STOPS, .compatible = "1 T=F"},
    /* The number of each maximum in X, from 1 on; 0: none. */
    {"MaxRoiPlace", 1, "X:T rois:T -> Y:int64", "T=FB", "pooled_shape:ints spatial_scale:float=1",
     .infer = max_roi_place_infer, .bind = max_roi_place_bind, .flags = STOPS, .domain = "onnxcc"},
    {"CropAndResize", 1, "X:T1 rois:T1 batch_indices:T2 crop_size:T2 -> Y:T1", "T1=float|double|float16 T2=int32",
     "extrapolation_value:float=0.0 mode:string=bilinear", .infer = crop_resize_infer, .bind = crop_resize_bind,
     .checks = 3, MICROSOFT},
    {"NonMaxSuppression", 11,
     "boxes:float scores:float max_output_boxes_per_class?:int64 iou_threshold?:float score_threshold?:float -> "
     "selected_indices:int64",
     "", "center_point_box:int=0", .infer = nms_infer, .bind = nms_bind, .flags = NOFOLD, .compatible = "10"},
};
OPS(roi_ops);
