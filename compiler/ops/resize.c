/* resize.c - Resize and Upsample: a table per axis that changes, which folds; then a node per pair of axes. */
#include <math.h>

#include "ir/spatial.h"
#include "passes/infer.h"
#include "resize.h"

/* The parameters of all versions in one form. */
typedef struct Resize {
    int mode, transform, nearest;
    bool antialias, exclude;
    double a, outside;
    double min_scale;
    int count;           /* number of axes in scales, sizes and roi */
    Value *scales, *roi; /* known only at run time, as float; or NULL */
    bool policy;         /* sizes were adjusted to one scale for all axes */
    struct ResizeAxis {
        bool changes;
        int of; /* its index in scales */
        Dim in, out;
        Dim exact;    /* what `out` is at run time; checked if the model declares more than can be inferred */
        double scale; /* 0: out / in, at run time */
        double start, end;
    } axis[MAX_RANK];
} Resize;

/* The size of d elements, scaled: the product is a float, so that 10 elements by 0.7f are 7, although 0.7f is below 7/10. */
static int64_t scaled_size(int64_t d, float scale) { return (int64_t)((float)d * scale); }

/* Sets up / down to a fraction that scales each size up to MAX_SCALED as scaled_size does; false: there is none. */
static bool fraction_of(float scale, int64_t *up, int64_t *down)
{
    enum { MAX_SCALED = 1 << 16 };
    int64_t next = INT64_MAX, of = 1; /* the fraction is less than next / of */
    *up = 0;
    *down = 1;
    for (int64_t d = 1; d <= MAX_SCALED; d++) {
        const int64_t size = scaled_size(d, scale);
        if (size * *down > *up * d)
            *up = size, *down = d;
        if (next == INT64_MAX || (size + 1) * of < next * d)
            next = size + 1, of = d;
    }
    return *up * of < next * *down;
}

/* d elements, scaled. */
static Dim scaled(Dim d, float scale)
{
    enum { LARGE = 1 << 24 }; /* floats from here on are integers */
    int64_t up, down;
    if (scale >= LARGE)
        return dim_mul(d, D((int64_t)fminf(scale, 0x1p62F)));
    if (dim_is_const(d) && (float)dim_value(d) * scale < 0x1p62F)
        return D(scaled_size(dim_value(d), scale));
    if (!fraction_of(scale, &up, &down)) {
        up = (int64_t)(scale * LARGE);
        down = LARGE;
    }
    return dim_div(dim_mul(d, D(up)), D(down));
}

/* Is input i present and not empty? */
static bool has_input(Node *n, int i) { return in(n, i) && !dim_is(shape_count(in_shape(n, i)), 0); }

/* Input i, with an element for each of k axes, if it is constant; NULL otherwise, or after an error. */
static const Tensor *numbers(Node *n, int i, int k)
{
    if (!has_input(n, i))
        return NULL;
    if (!dim_identical(shape_count(in_shape(n, i)), D(k))) {
        node_error(n, "input %d is %s instead of %d numbers", i, shape_text(in_shape(n, i)), k);
        return NULL;
    }
    return in_is_const(n, i) ? in(n, i)->data : NULL;
}

static void scale_axis(Node *n, const Resize *r, struct ResizeAxis *x, double scale)
{
    if (!(scale > 0 && scale >= r->min_scale && scale < INFINITY)) {
        node_error(n, "scale %g is no %s", scale, r->min_scale > 0 ? "number from 1 on" : "positive number");
        return;
    }
    x->scale = scale;
    x->out = scaled(x->in, (float)scale);
    x->changes = scale != 1;
}

static int policy(Node *n)
{
    static const char *const names[] = {"stretch", "not_larger", "not_smaller", NULL};
    return n->op->since_version < 18 ? 0 : attr_choice(n, "keep_aspect_ratio_policy", names);
}

/* For constant sizes: sets the scales by them; with a policy, the smallest or largest one for all axes. */
static void size_axes(Node *n, Resize *r, const int *axes, const Dim *sizes)
{
    double all = 0;
    int rule = policy(n);
    for (int i = 0; i < r->count; i++) {
        struct ResizeAxis *x = &r->axis[axes[i]];
        x->out = sizes[i];
        x->changes = !dim_identical(x->in, x->out);
        x->scale = 0;
        if (dim_is_const(x->in) && dim_is_const(x->out) && dim_value(x->in) > 0)
            x->scale = (double)((float)dim_value(x->out) / (float)dim_value(x->in));
        if (i == 0 || (rule == 1 ? x->scale < all : x->scale > all))
            all = x->scale;
    }
    for (int i = 0; rule && i < r->count; i++) {
        struct ResizeAxis *x = &r->axis[axes[i]];
        x->scale = all;
        x->out = D((int64_t)fmin(all * (double)dim_value(x->in) + 0.5, 0x1p62));
        x->changes = all != 1 || !dim_identical(x->in, x->out);
    }
}

/* For scales or sizes known only at run time: a node computes sizes and scales. The declared shape of the output is
 * assumed, and checked at run time. */
static void late_axes(Node *n, Resize *r, const int *axes, Value *scales, Value *sizes)
{
    Dim in_sizes[MAX_RANK];
    for (int i = 0; i < r->count; i++)
        in_sizes[i] = r->axis[axes[i]].in;
    Value *inputs[] = {value_const(n->graph, tensor_dims(r->count, in_sizes)), scales, sizes};
    Node *s = make_node(n, "onnxcc.ResizeSizes", 3, inputs, 2);
    attr_set_int(s, "policy", sizes ? policy(n) : 0);
    infer_node(s);
    r->scales = s->out[1];
    for (int i = 0; i < r->count; i++) {
        struct ResizeAxis *x = &r->axis[axes[i]];
        x->out = value_dim(s->out[0], i);
        Symbol *const size = symbol_of(x->out);
        if (size && size->low < 0)
            size->low = 0; /* otherwise the kernel has returned a status */
        x->scale = 0;
        x->changes = true;
    }
}

/* Assumes the declared shape of the output, which is checked at run time. */
static void believe(Node *n, Resize *r)
{
    const TypeDesc *d = n->out[0]->desc;
    for (int i = 0; i < in_shape(n, 0).rank; i++) {
        struct ResizeAxis *x = &r->axis[i];
        x->exact = x->out;
        if (d && d->form == TENSOR && d->shape.rank == in_shape(n, 0).rank && dim_is_const(d->shape.dim[i]) &&
            !dim_is_const(x->out))
            x->out = d->shape.dim[i];
    }
}

static void read_resize(Node *n, Resize *r)
{
    static const char *const transforms[] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    Shape s = in_shape(n, 0);
    int axes[MAX_RANK], k = s.rank;
    const int64_t *given;
    r->mode = attr_choice(n, "mode", modes);
    r->transform = attr_choice(n, "coordinate_transformation_mode", transforms);
    r->a = attr_float(n, "cubic_coeff_a");
    r->outside = attr_float(n, "extrapolation_value");
    r->exclude = attr_int(n, "exclude_outside") != 0;
    r->antialias = n->op->since_version >= 18 && attr_int(n, "antialias") != 0;
    r->nearest = attr_choice(n, "nearest_mode", roundings);
    policy(n); /* reports one that does not exist */
    if (r->mode < 0 || r->transform < 0 || r->nearest < 0)
        return;
    for (int i = 0; i < s.rank; i++)
        axes[i] = i;
    if (n->op->since_version >= 18 && attr_ints(n, "axes", &given) >= 0) {
        k = attr_ints(n, "axes", &given);
        if (k > s.rank) {
            node_error(n, "%d axes are given, the input %s has %d", k, shape_text(s), s.rank);
            return;
        }
        bool seen[MAX_RANK] = {false};
        for (int i = 0; i < k; i++) {
            if (!mark_axis(n, given[i], s.rank, seen))
                return;
            axes[i] = axis_of(n, given[i], s.rank);
        }
    }
    r->count = k;
    for (int i = 0; i < k; i++)
        r->axis[axes[i]].of = i;
    bool crop = r->transform == RESIZE_TF_CROP_AND_RESIZE;
    const Tensor *scales = numbers(n, 2, k), *roi = crop ? numbers(n, 1, 2 * k) : NULL;
    Dim sizes[MAX_RANK];
    int n_sizes = has_input(n, 3) ? in_dims(n, 3, sizes, MAX_RANK) : 0;
    bool all_known = true;
    if (n_sizes < 0)
        return;
    if (has_input(n, 2) == (n_sizes > 0) || (n_sizes && n_sizes != k) || (crop && !has_input(n, 1))) {
        node_error(n, "one of scales and sizes must be given, and only one, with a number for each axis%s",
                   crop ? "; and a roi" : "");
        return;
    }
    for (int i = 0; i < n_sizes; i++)
        if (!require_size(n, "a size", &sizes[i]))
            return;
    for (int i = 0; i < n_sizes; i++)
        all_known &= dim_is_const(sizes[i]) && dim_is_const(r->axis[axes[i]].in);
    for (int i = 0; scales && i < k; i++)
        scale_axis(n, r, &r->axis[axes[i]], tensor_get(scales, i));
    r->policy = n_sizes && policy(n);
    if (n_sizes && (all_known || !r->policy))
        size_axes(n, r, axes, sizes);
    else if (!scales)
        late_axes(n, r, axes, n_sizes ? NULL : in(n, 2), n_sizes ? in(n, 3) : NULL);
    if (crop && !roi)
        r->roi = make_cast(n, in(n, 1), F32);
    for (int i = 0; crop && i < k; i++) {
        struct ResizeAxis *x = &r->axis[axes[i]];
        x->start = roi ? tensor_get(roi, i) : 0;
        x->end = roi ? tensor_get(roi, k + i) : 1;
        x->changes |= !roi || x->start != 0 || x->end != 1;
    }
    believe(n, r);
}

/* The number of input elements for an output element; an upper bound if the scale is known only at run time. With
 * antialias, more for an axis that shrinks. */
static Dim taps(const Resize *r, const struct ResizeAxis *x)
{
    int reach = r->mode == RESIZE_CUBIC ? 2 : 1;
    if (r->mode == RESIZE_NEAREST)
        return D(1);
    if (!r->antialias || x->scale >= 1 || dim_is(x->out, 0))
        return D(2 * reach);
    if (x->scale > 0)
        return dim_mul(D(2), D((int64_t)fmin(ceil(reach / x->scale), 0x1p61)));
    /* the scale is at least out / in, except with a policy, which rounds */
    Dim in_twice = dim_mul(D(2 * reach), x->in), out_twice = dim_mul(D(2), x->out);
    out_twice = r->policy ? dim_sub(out_twice, D(1)) : out_twice;
    return dim_mul(D(2), dim_max(D(reach), dim_ceil(in_twice, dim_max(out_twice, D(1)))));
}

/* ---- the nodes of the expansion ---------------------------------------------------------------------------------- */

static Type weight_type(Type t) { return t == F64 || (type_is_int(t) && type_bits(t) >= 32) ? F64 : F32; }

static Node *make_table(Node *n, const Resize *r, const struct ResizeAxis *x)
{
    Value *inputs[] = {value_const(n->graph, tensor_dims(3, (Dim[]){x->in, x->out, taps(r, x)})), r->scales, r->roi};
    Node *t = make_node(n, "onnxcc.ResizeTable", 3, inputs, r->mode == RESIZE_NEAREST ? 1 : 2);
    assume_dim(t, x->exact, x->out);
    attr_set_int(t, "of", x->of);
    attr_set_int(t, "count", r->count);
    attr_set_int(t, "to", r->mode == RESIZE_NEAREST ? F32 : weight_type(in_type(n, 0)));
    attr_set_int(t, "mode", r->mode);
    attr_set_int(t, "transform", r->transform);
    attr_set_int(t, "nearest", r->nearest);
    attr_set_int(t, "antialias", r->antialias);
    attr_set_int(t, "exclude", r->exclude);
    attr_set_float(t, "scale", x->scale);
    attr_set_float(t, "start", x->start);
    attr_set_float(t, "end", x->end);
    attr_set_float(t, "a", r->a);
    return t;
}

/* v resized along axis a and, unless NULL, the axis after it, with tables. */
static Value *make_step(Node *n, const Resize *r, Value *v, int a, Node *first, Node *second)
{
    Value *y;
    if (r->mode == RESIZE_NEAREST) {
        Value *beyond = r->transform == RESIZE_TF_CROP_AND_RESIZE ? make_scalar(n, in_type(n, 0), r->outside) : NULL;
        y = make(n, "onnxcc.ResizeNearest", 4, v, second ? first->out[0] : NULL, (second ? second : first)->out[0],
                 beyond);
    } else {
        Node *last = second ? second : first;
        y = make(n, "onnxcc.ResizeSum", 5, v, second ? first->out[0] : NULL, second ? first->out[1] : NULL,
                 last->out[0], last->out[1]);
        attr_set_float(y->def, "outside", r->outside);
    }
    attr_set_int(y->def, "axis", second ? a + 1 : a);
    return y;
}

static void resize_axes(Node *n, const Resize *r)
{
    int rank = in_shape(n, 0).rank, steps = 0;
    Type t = in_type(n, 0), sums = weight_type(t);
    Value *x = in(n, 0);
    for (int a = 0; a < rank; a++)
        if (r->axis[a].changes) {
            steps++;
            a += a + 1 < rank && r->axis[a + 1].changes;
        }
    bool wide = steps > 1 && r->mode != RESIZE_NEAREST &&
                t != sums; /* with several steps the result is rounded once, at the end */
    if (wide)
        x = make_cast(n, x, sums);
    for (int a = 0; a < rank; a++)
        if (r->axis[a].changes) {
            bool two = a + 1 < rank && r->axis[a + 1].changes;
            Node *first = make_table(n, r, &r->axis[a]), *second = two ? make_table(n, r, &r->axis[a + 1]) : NULL;
            x = make_step(n, r, x, a, first, second);
            a += two;
        }
    if (wide && type_is_int(t)) {
        int bits = type_bits(t) - type_is_signed(t);
        x = make(n, "Clip", 3, make(n, "Round", 1, x),
                 make_scalar(n, sums, type_is_signed(t) ? -(double)(1ull << bits) : 0),
                 make_scalar(n, sums, bits == 64 ? 0x1p64 : (double)((1ull << bits) - 1)));
    }
    expand_to(n, wide ? make_cast(n, x, t) : steps ? x : make(n, "Identity", 1, x));
}

static bool sizes_make_sense(Node *n, const Resize *r)
{
    for (int i = 0; i < in_shape(n, 0).rank; i++) {
        const struct ResizeAxis *x = &r->axis[i];
        if (dim_is(x->in, 0) && !dim_is(x->out, 0))
            return node_error(n, "axis %d of %s is empty and cannot grow", i, shape_text(in_shape(n, 0)));
        if (dim_is_const(x->out) || symbol_of(x->out)) /* otherwise it is a multiple of x->in */
            assume_dim(n, dim_max(x->in, dim_min(x->out, D(1))), x->in);
    }
    if (r->mode != RESIZE_NEAREST && !type_is_int(in_type(n, 0)) && !type_is_float(in_type(n, 0)))
        return node_error(n, "%s can only be resized in mode nearest", type_onnx(in_type(n, 0)));
    return true;
}

static void start_resize(Node *n, Resize *r)
{
    Shape s = in_shape(n, 0);
    memset(r, 0, sizeof *r);
    r->a = -0.75;
    for (int i = 0; i < s.rank; i++)
        r->axis[i] = (struct ResizeAxis){.in = s.dim[i], .out = s.dim[i], .exact = s.dim[i], .scale = 1, .end = 1};
}

static void resize_expand(Node *n)
{
    Resize r;
    int errors = error_count();
    start_resize(n, &r);
    read_resize(n, &r);
    if (error_count() == errors && sizes_make_sense(n, &r))
        resize_axes(n, &r);
}

/* Upsample, and Resize 10: only scales; nearest rounds down or, when shrinking, up. */
static void upsample_expand(Node *n)
{
    Resize r;
    Shape s = in_shape(n, 0);
    int errors = error_count(), k, axes[MAX_RANK];
    const float *list;
    bool linear = attr_is(n, "mode", "linear") || attr_is(n, "mode", "bilinear");
    start_resize(n, &r);
    r.mode = linear ? RESIZE_LINEAR : RESIZE_NEAREST;
    r.transform = RESIZE_ASYMMETRIC;
    r.nearest = RESIZE_BEFORE_OR_AFTER;
    r.count = s.rank;
    for (int i = 0; i < s.rank; i++)
        r.axis[i].of = axes[i] = i;
    r.min_scale = n->op->since_version < 10 ? 1 : 0; /* Upsample does not shrink */
    if (!linear && !attr_is(n, "mode", "nearest"))
        node_error(n, "mode is '%s': it may be nearest or linear", attr_string(n, "mode"));
    if (n->op->since_version == 1 && s.rank == 4) {
        scale_axis(n, &r, &r.axis[2], attr_float(n, "height_scale"));
        scale_axis(n, &r, &r.axis[3], attr_float(n, "width_scale"));
    } else if (n->op->since_version == 1) {
        node_error(n, "input 0 is %s instead of N,C,H,W", shape_text(s));
    } else if (n->op->since_version == 7) {
        if ((k = attr_floats(n, "scales", &list)) != s.rank)
            node_error(n, "%d scales for %s", k, shape_text(s));
        for (int i = 0; i < s.rank && k == s.rank; i++)
            scale_axis(n, &r, &r.axis[i], (double)list[i]);
    } else {
        const Tensor *scales = numbers(n, 1, s.rank);
        for (int i = 0; scales && i < s.rank; i++)
            scale_axis(n, &r, &r.axis[i], tensor_get(scales, i));
        if (!scales && has_input(n, 1) && error_count() == errors)
            late_axes(n, &r, axes, in(n, 1), NULL);
        else if (!scales && error_count() == errors)
            node_error(n, "scales are empty");
    }
    believe(n, &r);
    if (error_count() == errors && sizes_make_sense(n, &r))
        resize_axes(n, &r);
}

/* ---- the internal operators -------------------------------------------------------------------------------------- */

static void sizes_infer(Node *n)
{
    Shape s = in_shape(n, 0);
    set_out(n, 0, I64, s);
    set_out(n, 1, F32, s);
}

static void sizes_bind(Node *n)
{
    struct resize_sizes_bind p = {.scaled = D(in(n, 1) != NULL), .policy = D(attr_int(n, "policy"))};
    p.count = D(in_dims(n, 0, p.in, MAX_RANK));
    bind_kernel(n, "resize_sizes", F32, NO_TYPE, resize_sizes_fields(), &p,
                ARGS(in(n, 1), in(n, 2), out(n, 0), out(n, 1)));
}

/* Input 0: in, out and taps. */
static void table_infer(Node *n)
{
    Dim d[3];
    if (in_dims(n, 0, d, 3) != 3)
        return;
    Shape s = shape_list(2, d[1], d[2]);
    set_out(n, 0, I32, s);
    set_out(n, 1, (Type)attr_int(n, "to"), s);
}

static void table_bind(Node *n)
{
    Dim d[3];
    in_dims(n, 0, d, 3);
    BIND_ARGS(n, resize_table, (Type)attr_int(n, "to"), NO_TYPE, ARGS(in(n, 1), in(n, 2), out(n, 0), out(n, 1)),
              .in = d[0], .out = d[1], .taps = d[2], .of = D(attr_int(n, "of")), .count = D(attr_int(n, "count")),
              .mode = D(attr_int(n, "mode")), .transform = D(attr_int(n, "transform")),
              .nearest = D(attr_int(n, "nearest")), .antialias = D(attr_int(n, "antialias")),
              .exclude = D(attr_int(n, "exclude")), .scale = attr_float(n, "scale"), .start = attr_float(n, "start"),
              .end = attr_float(n, "end"), .a = attr_float(n, "a"));
}

/* Both kinds of step have the inputs x, the tables of the axis before `axis` (optional) and those of `axis`. */
static void step_infer(Node *n)
{
    Shape s = in_shape(n, 0);
    int a = (int)attr_int(n, "axis"), second = !strcmp(n->op->name, "ResizeSum") ? 3 : 2;
    if (in(n, 1))
        s.dim[a - 1] = in_shape(n, 1).dim[0];
    s.dim[a] = in_shape(n, second).dim[0];
    set_out(n, 0, in_type(n, 0), s);
}

/* The sizes around the axes, common to both kernels. */
#define STEP_SIZES                                                                                                     \
    .outer = shape_product(x, 0, first), .in0 = in(n, 1) ? x.dim[first] : D(1), .in1 = x.dim[a],                       \
    .out0 = in(n, 1) ? y.dim[first] : D(1), .out1 = y.dim[a], .inner = shape_product(x, a + 1, x.rank)

static void nearest_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    int a = (int)attr_int(n, "axis"), first = in(n, 1) ? a - 1 : a;
    BIND_T(n, resize_nearest, type_storage(in_type(n, 0)), STEP_SIZES);
}

static void step_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    int a = (int)attr_int(n, "axis"), first = in(n, 1) ? a - 1 : a;
    BIND(n, resize, STEP_SIZES, .taps = {in(n, 1) ? in_shape(n, 1).dim[1] : D(1), in_shape(n, 3).dim[1]},
         .outside = attr_float(n, "outside"));
    bind_scratch(
        n, dim_mul(dim_mul(x.dim[a], shape_product(x, a + 1, x.rank)), D(type_bits(weight_type(in_type(n, 0))) / 8)));
}

/* The axes can be permuted if they remain adjacent. */
static bool step_permute(Node *n, const int64_t *perm, int rank)
{
    int a = (int)attr_int(n, "axis");
    for (int i = 0; i < rank; i++)
        if (perm[i] == a && (!in(n, 1) || (i > 0 && perm[i - 1] == a - 1))) {
            attr_set_int(n, "axis", i);
            return true;
        }
    return false;
}

#define RESIZE_SIG "X:T1 roi?:T2 scales?:float sizes?:int64 -> Y:T1"
#define RESIZE_ATTRS                                                                                                   \
    "coordinate_transformation_mode:string=half_pixel cubic_coeff_a:float=-0.75 exclude_outside:int=0 "                \
    "extrapolation_value:float=0.0 mode:string=nearest nearest_mode:string=round_prefer_floor"
#define RESIZE_18 RESIZE_ATTRS " antialias:int=0 axes:ints? keep_aspect_ratio_policy:string=stretch"

static const Op resize_ops[] = {
    {"Resize", 19, RESIZE_SIG, "T1=ALLB T2=F", RESIZE_18, .expand = resize_expand},
    {"Resize", 18, RESIZE_SIG, "T1=ALLB T2=F", RESIZE_18, .expand = resize_expand},
    {"Resize", 13, RESIZE_SIG, "T1=ALLB T2=F", RESIZE_ATTRS, .expand = resize_expand},
    {"Resize", 11, "X:T1 roi:T2 scales:float sizes?:int64 -> Y:T1", "T1=ALL T2=F", RESIZE_ATTRS,
     .expand = resize_expand},
    {"Resize", 10, "X:T scales:float -> Y:T", "T=ALL", "mode:string=nearest", .expand = upsample_expand},
    {"Upsample", 10, "X:T scales:float -> Y:T", "T=ALL", "mode:string=nearest", .flags = DEPRECATED, .body = "Resize"},
    {"Upsample", 9, "X:T scales:float -> Y:T", "T=ALL", "mode:string=nearest", .expand = upsample_expand},
    {"Upsample", 7, "X:T -> Y:T", "T=ALL", "mode:string=nearest scales:floats", .expand = upsample_expand},
    {"Upsample", 1, "X:T -> Y:T", "T=bool|int32|int64|float16|float|double",
     "height_scale:float mode:string=nearest width_scale:float", .expand = upsample_expand},
    {"ResizeSizes", 1, "in:int64 scales?:float sizes?:int64 -> y:int64 y_scales:float", "", "policy:int",
     .infer = sizes_infer, .bind = sizes_bind, .flags = STOPS, .domain = "onnxcc"},
    {"ResizeTable", 1, "sizes:int64 scales?:float roi?:float -> at:int32 weight?:T", "T=float|double",
     "to:int of:int count:int mode:int transform:int nearest:int antialias:int exclude:int scale:float start:float end:float a:float",
     .infer = table_infer, .bind = table_bind, .domain = "onnxcc"},
    {"ResizeNearest", 1, "x:T at0?:int32 at1:int32 beyond?:T -> y:T", "T=ALLB", "axis:int", .infer = step_infer,
     .bind = nearest_bind, .permute = step_permute, .domain = "onnxcc"},
    {"ResizeSum", 1, "x:T at0?:int32 weight0?:U at1:int32 weight1:U -> y:T", "T=NB U=float|double",
     "axis:int outside:float", .infer = step_infer, .bind = step_bind, .permute = step_permute, .domain = "onnxcc"},
};
OPS(resize_ops);
