/* norm.c - the normalisations: Batch, Instance, Layer, RMS, Group, MeanVariance and Lp. */
#include "ir/spatial.h"
#include "passes/infer.h"
#include "norm.h"

/* ---- BatchNormalization: elementwise operators over statistics ----------------------------------------------- */

/* Input i, which has an element per channel, as type t and with a shape that broadcasts along x's axis 1. */
static Value *per_channel(Node *n, int i, Type t, int k, const int64_t *shape)
{
    return make(n, "Reshape", 2, make_cast(n, in(n, i), t), make_ints(n, k, shape));
}

static bool channels_agree(Node *n, Dim channels)
{
    for (int i = 1; i < n->n_in; i++)
        if (n->in[i]) {
            Dim d = shape_count(*n->in[i]->shape);
            if (dim_is(dim_eq_expr(d, channels), 0))
                return node_error(n, "input %d is %s, but input 0, %s, has another number of channels", i,
                                  shape_text(*n->in[i]->shape), shape_text(in_shape(n, 0)));
            assume_dim(n, d, channels);
        }
    return true;
}

/* Output i, a statistic of training: v, cast to the output's type and flattened to (channels). */
static void give_statistic(Node *n, int i, Value *v, Type t)
{
    static const int64_t flat = -1;
    if (out(n, i))
        replace_out(n, i, make_cast(n, make(n, "Reshape", 2, v, make_ints(n, 1, &flat)), t));
}

/* y = (x - mean) / sqrt(var + epsilon) * scale + bias. For inference as x * s + b, where s and b fold if their inputs
 * are constant; in training with the mean and variance of x, over every axis but the channels. Computed in float or
 * double. Before version 14 further outputs meant training; up to 7, `spatial` = 0 made every element after the batch
 * axis a channel. */
static void batch_norm_expand(Node *n)
{
    Value *x = in(n, 0);
    Shape s = *x->shape;
    bool spatial = n->op->since_version > 7 || attr_int(n, "spatial");
    bool train = n->op->since_version >= 14 ? attr_int(n, "training_mode") != 0
                                            : out(n, 1) || out(n, 2) || out(n, 3) || out(n, 4);
    Type t = F32;
    for (int i = 0; i < n->n_in; i++)
        t = in_type(n, i) == F64 ? F64 : t;
    if (!channels_agree(n, s.rank < 2 ? D(1) : spatial ? s.dim[1] : shape_product(s, 1, s.rank)))
        return;
    if (n->op->since_version >= 14 && !train && (out(n, 1) || out(n, 2))) {
        node_error(n, "has further outputs, but training_mode is 0");
        return;
    }
    /* the shape of the statistics, without the batch: (channels, 1, 1), or as x if not spatial */
    int64_t line_up[MAX_RANK] = {0}, axes[MAX_RANK];
    int k = s.rank < 2 ? 1 : s.rank - 1, n_axes = 0;
    for (int i = 0; i < k; i++)
        line_up[i] = i == 0 ? -1 : 1;
    for (int i = 0; i < s.rank; i++)
        if (i != 1 && (i == 0 || spatial))
            axes[n_axes++] = i;
    if (!spatial)
        for (int i = 1; i < s.rank; i++)
            line_up[i - 1] = dim_is_const(s.dim[i]) ? dim_value(s.dim[i]) : -1;

    Value *wide = make_cast(n, x, t), *y;
    Value *scale = per_channel(n, 1, t, k, line_up), *bias = per_channel(n, 2, t, k, line_up);
    Value *mean = per_channel(n, 3, t, k, line_up), *var = per_channel(n, 4, t, k, line_up);
    Value *epsilon = make_scalar(n, t, attr_float(n, "epsilon"));
    if (!train) {
        Value *slope = make(n, "Div", 2, scale, make(n, "Sqrt", 1, make(n, "Add", 2, var, epsilon)));
        Value *shift = make(n, "Sub", 2, bias, make(n, "Mul", 2, mean, slope));
        y = make(n, "Add", 2, make(n, "Mul", 2, wide, slope), shift);
    } else {
        Value *over = make_ints(n, n_axes, axes);
        Value *m = make(n, "ReduceMean", 2, wide, over), *d = make(n, "Sub", 2, wide, m);
        Value *v = make(n, "ReduceMean", 2, make(n, "Mul", 2, d, d), over);
        Value *slope = make(n, "Div", 2, scale, make(n, "Sqrt", 1, make(n, "Add", 2, v, epsilon)));
        y = make(n, "Add", 2, make(n, "Mul", 2, d, slope), bias);
        Value *keep = make_scalar(n, t, attr_float(n, "momentum"));
        Value *take = make_scalar(n, t, 1 - attr_float(n, "momentum"));
        give_statistic(n, 1, make(n, "Add", 2, make(n, "Mul", 2, mean, keep), make(n, "Mul", 2, m, take)),
                       in_type(n, 3));
        give_statistic(n, 2, make(n, "Add", 2, make(n, "Mul", 2, var, keep), make(n, "Mul", 2, v, take)),
                       in_type(n, 4));
        give_statistic(n, 3, m, in_type(n, 3));
        give_statistic(n, 4, v, in_type(n, 4));
    }
    expand_to(n, x->type == t ? y : make_cast(n, y, x->type));
}

/* ---- Instance- and GroupNormalization ------------------------------------------------------------------------ */

/* Does num_groups divide the channels? False: no, and reported. */
static bool groups_divide(Node *n, Dim channels)
{
    int64_t groups = attr_int(n, "num_groups");
    Dim rest = dim_mod(channels, D(groups > 0 ? groups : 1));
    if (groups < 1 || dim_is(dim_eq_expr(rest, D(0)), 0))
        return node_error(n, "%lld groups do not divide the channels of %s", (long long)groups,
                          shape_text(in_shape(n, 0)));
    assume_dim(n, rest, D(0));
    return true;
}

static void group_norm_infer(Node *n)
{
    Shape s = in_shape(n, 0);
    bool instance = !strcmp(n->op->name, "InstanceNormalization");
    infer_same(n);
    if (s.rank < 2) {
        node_error(n, "input 0 is %s, without an axis of channels", shape_text(s));
        return;
    }
    if (!channels_agree(n, s.dim[1]))
        return;
    if (instance)
        return;
    if (groups_divide(n, s.dim[1]))
        attr_precision(n, "stash_type");
}

static void group_norm_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    Dim groups = strcmp(n->op->name, "InstanceNormalization") ? D(attr_int(n, "num_groups")) : s.dim[1];
    BIND2(n, group_norm, in_type(n, 0), in_type(n, 1), .outer = s.dim[0], .groups = groups,
          .channels = dim_identical(groups, s.dim[1]) ? D(1) : dim_div(s.dim[1], groups),
          .inner = shape_product(s, 2, s.rank), .epsilon = attr_float(n, "epsilon"));
}

/* Before version 21 scale and bias were per group, not per channel. */
static void group_norm_18(Node *n)
{
    int64_t groups = attr_int(n, "num_groups"), flat = -1, last = 1;
    Dim channels = in_shape(n, 0).rank > 1 ? in_shape(n, 0).dim[1] : D(0);
    Value *arg[3] = {in(n, 0)};
    if (!groups_divide(n, channels) || !require_shape(n, 1, shape_list(1, D(groups))) ||
        !require_shape(n, 2, shape_list(1, D(groups))))
        return;
    Value *wide = make_dims(n, 2, (Dim[]){D(groups), dim_div(channels, D(groups))});
    for (int i = 1; i < 3; i++) {
        Value *column = make(n, "Unsqueeze", 2, in(n, i), make_ints(n, 1, &last));
        arg[i] = make(n, "Reshape", 2, make(n, "Expand", 2, column, wide), make_ints(n, 1, &flat));
    }
    Node *m = make_node(n, "GroupNormalization", 3, arg, 1);
    attr_set_int(m, "num_groups", groups);
    attr_set_float(m, "epsilon", attr_float(n, "epsilon"));
    expand_to(n, m->out[0]);
}

/* ---- Layer- and RMSNormalization --------------------------------------------------------------------------- */

/* The scale or bias in input i, expanded to the normalised axes, or to x's whole shape if it differs between rows. */
static void layer_norm_widen(Node *n, int i, int axis)
{
    Value *v = in(n, i), *want;
    Shape x = in_shape(n, 0), s = in_shape(n, i);
    if (!v || !require_expands(n, i, x))
        return;
    int from = axis;
    for (int k = 0; k < s.rank; k++)
        if (k + x.rank - s.rank < axis && !dim_is(s.dim[k], 1))
            from = 0;
    if (dim_identical(shape_count(s), shape_product(x, from, x.rank)))
        return;
    want = with_int(make(n, "Shape", 1, in(n, 0)), "start", from);
    infer_node(want->def);
    Value *wide = make(n, "Expand", 2, v, want);
    infer_node(wide->def);
    if (!dim_identical(shape_count(*wide->shape), shape_product(x, from, x.rank))) { /* v's sizes may be 1 or x's */
        wide = make_reshape(n, wide, x.rank - from, x.dim + from);
        infer_node(wide->def);
    }
    node_set_in(n, i, wide);
}

/* The stride between the scales (or biases) of two rows; 0 if all rows share them. */
static Dim layer_norm_stride(Node *n, int i, int axis)
{
    Shape x = in_shape(n, 0);
    Dim row = shape_product(x, axis, x.rank);
    return !in(n, i) || dim_identical(shape_count(in_shape(n, i)), row) ? D(0) : row;
}

static Type layer_norm_stash(Node *n) { return attr_int(n, "stash_type") == BF16 ? BF16 : F32; }

static void layer_norm_infer(Node *n)
{
    Shape x = in_shape(n, 0), rows = x;
    int a = attr_axis(n, "axis", x.rank);
    for (int i = a; i < x.rank; i++)
        rows.dim[i] = D(1);
    layer_norm_widen(n, 1, a);
    layer_norm_widen(n, 2, a);
    attr_precision(n, "stash_type");
    infer_same(n);
    set_out(n, 1, layer_norm_stash(n), rows);
    set_out(n, 2, layer_norm_stash(n), rows);
}

static void layer_norm_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    int a = attr_axis(n, "axis", x.rank);
    BIND2(n, layer_norm, in_type(n, 0), layer_norm_stash(n), .outer = shape_product(x, 0, a),
          .axis = shape_product(x, a, x.rank), .scale_step = layer_norm_stride(n, 1, a),
          .bias_step = layer_norm_stride(n, 2, a), .epsilon = attr_float(n, "epsilon"));
}

static void rms_norm_infer(Node *n)
{
    layer_norm_widen(n, 1, attr_axis(n, "axis", in_shape(n, 0).rank));
    attr_precision(n, "stash_type");
    set_out(n, 0, in_type(n, 1), in_shape(n, 0));
}

static void rms_norm_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    int a = attr_axis(n, "axis", x.rank);
    BIND2(n, rms_norm, in_type(n, 0), in_type(n, 1), .outer = shape_product(x, 0, a),
          .axis = shape_product(x, a, x.rank), .scale_step = layer_norm_stride(n, 1, a),
          .epsilon = attr_float(n, "epsilon"));
}

/* ---- MeanVariance- and LpNormalization ----------------------------------------------------------------------- */

/* y = (x - mean) / (sqrt(variance) + 1e-9); the specification gives 1e-9 as a float */
static void mean_variance(Node *n, int k, const int64_t *axes, bool divide)
{
    Type t = in_type(n, 0) == F64 ? F64 : F32;
    Value *over = make_ints(n, k, axes), *x = make_cast(n, in(n, 0), t);
    Value *d = make(n, "Sub", 2, x, make(n, "ReduceMean", 2, x, over));
    Value *deviation = !divide ? NULL : make(n, "Sqrt", 1, make(n, "ReduceMean", 2, make(n, "Mul", 2, d, d), over));
    Value *y = !divide ? d : make(n, "Div", 2, d, make(n, "Add", 2, deviation, make_scalar(n, t, 1e-9f)));
    expand_to(n, make_cast(n, y, in_type(n, 0)));
}

static void mean_variance_expand(Node *n)
{
    const int64_t *axes;
    int k = attr_ints(n, "axes", &axes);
    mean_variance(n, k, axes, true);
}

/* Version 1: as an experimental operator, over each image's pixels; as a function, with axes as later. */
static void mean_variance_1(Node *n)
{
    static const int64_t images[] = {1, 2, 3};
    bool across = attr_int(n, "across_channels") != 0,
         plain = !attr_is_given(n, "across_channels") && !attr_is_given(n, "normalize_variance");
    if (plain)
        mean_variance_expand(n);
    else
        mean_variance(n, across ? 3 : 2, across ? images : images + 1, attr_int(n, "normalize_variance") != 0);
}

static void lp_norm_infer(Node *n)
{
    int64_t p = attr_int(n, "p");
    attr_axis(n, "axis", in_shape(n, 0).rank);
    if (p != 1 && p != 2)
        node_error(n, "p is %lld: only 1 and 2 are defined", (long long)p);
    infer_same(n);
}

static void lp_norm_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    int a = attr_axis(n, "axis", s.rank);
    BIND(n, lp_norm, .outer = shape_product(s, 0, a), .axis = s.rank ? s.dim[a] : D(1),
         .inner = shape_product(s, a + 1, s.rank), .p = D(attr_int(n, "p")));
}

#define BATCH_OLD "X:T scale:T B:T mean:T var:T -> Y:T mean?:T var?:T saved_mean?:T saved_var?:T"
#define BATCH_ATTRS "epsilon:float=1e-5 momentum:float=0.9"

static const Op norm_ops[] = {
    {"BatchNormalization", 15, "X:T scale:T1 B:T1 input_mean:T2 input_var:T2 -> Y:T running_mean?:T2 running_var?:T2",
     "T=FB T1=FB T2=FB", BATCH_ATTRS " training_mode:int=0", .expand = batch_norm_expand},
    {"BatchNormalization", 14, "X:T scale:T B:T input_mean:U input_var:U -> Y:T running_mean?:U running_var?:U",
     "T=FB U=FB", BATCH_ATTRS " training_mode:int=0", .expand = batch_norm_expand},
    {"BatchNormalization", 9, BATCH_OLD, "T=F", BATCH_ATTRS, .expand = batch_norm_expand,
     .compatible = "7 / " BATCH_ATTRS " spatial:int=1; 6 / " BATCH_ATTRS " is_test:int=0 spatial:int=1; "
                   "1 / " BATCH_ATTRS " is_test:int=0 spatial:int=1 consumed_inputs:ints?"},
    {"InstanceNormalization", 22, "input:T scale:T B:T -> output:T", "T=FB", "epsilon:float=1e-5",
     .infer = group_norm_infer, .bind = group_norm_bind, .flags = INPLACE,
     .compatible = "6 T=F; 1 T=F / epsilon:float=1e-5 consumed_inputs:ints?"},
    {"GroupNormalization", 21, "X:T scale:T bias:T -> Y:T", "T=FB",
     "epsilon:float=1e-5 num_groups:int stash_type:int=1", .infer = group_norm_infer, .bind = group_norm_bind,
     .flags = INPLACE},
    {"GroupNormalization", 18, "X:T scale:T bias:T -> Y:T", "T=FB", "epsilon:float=1e-5 num_groups:int",
     .expand = group_norm_18},
    {"LayerNormalization", 17, "X:T Scale:T B?:T -> Y:T Mean?:U InvStdDev?:U", "T=FB U=float|bfloat16",
     "axis:int=-1 epsilon:float=1e-5 stash_type:int=1", .infer = layer_norm_infer, .bind = layer_norm_bind,
     .flags = INPLACE},
    {"RMSNormalization", 23, "X:T scale:V -> Y:V", "T=FB V=FB", "axis:int=-1 epsilon:float=1e-5 stash_type:int=1",
     .infer = rms_norm_infer, .bind = rms_norm_bind, .flags = INPLACE},
    {"MeanVarianceNormalization", 13, "X:T -> Y:T", "T=FB", "axes:ints=0,2,3", .expand = mean_variance_expand,
     .compatible = "9 T=F"},
    {"MeanVarianceNormalization", 1, "X:T -> Y:T", "T=F",
     "axes:ints=0,2,3 across_channels:int=0 normalize_variance:int=1", .expand = mean_variance_1},
    {"LpNormalization", 22, "input:T -> output:T", "T=FB", "axis:int=-1 p:int=2", .infer = lp_norm_infer,
     .bind = lp_norm_bind, .flags = INPLACE, .permute = permute_axis, .compatible = "1 T=F"},
};
OPS(norm_ops);
