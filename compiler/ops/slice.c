/* slice.c - Slice, Split, CenterCropPad. */
#include <math.h>

#include "ir/assume.h"
#include "ir/spatial.h"
#include "ir/strided.h"

/* ---- Slice --------------------------------------------------------------------------------------------------- */

typedef struct AxisSlice { /* along one axis */
    Dim from, count, step;
} AxisSlice;

/* Position v on an axis of size n, from the end if negative; not clamped yet. */
static Dim position(Dim v, Dim n)
{
    if (!dim_is_const(v))
        return dim_select(dim_less_expr(v, D(0)), dim_add(v, n), v);
    if (!dim_is_const(n) &&
        (dim_value(v) >= INT32_MAX || dim_value(v) <= -INT32_MAX)) /* exporters write such numbers for "to the end" */
        return dim_value(v) < 0 ? D(-1) : n;
    return dim_value(v) < 0 ? dim_add(v, n) : v;
}

static Dim clamp(Dim v, Dim low, Dim high) { return dim_min(dim_max(v, low), high); }

/* Clamps the step to the size of the axis, which selects the same elements and cannot overflow. */
static AxisSlice slice_axis(Dim n, Dim start, Dim end, Dim step)
{
    Dim max = dim_is_const(n) ? dim_max(n, D(1)) : D(INT32_MAX);
    step = clamp(step, dim_sub(D(0), max), max);
    Dim from = position(start, n), to = position(end, n), last = dim_sub(n, D(1)), back = dim_less_expr(step, D(0));
    Dim first = clamp(from, D(0), n), top = clamp(from, D(0), last);
    Dim up = dim_ceil(dim_sub(clamp(to, D(0), n), first), dim_max(step, D(1)));
    Dim down = dim_ceil(dim_sub(top, clamp(to, D(-1), last)), dim_max(dim_sub(D(0), step), D(1)));
    Dim count = dim_max(dim_select(back, down, up), D(0)), whole = dim_sub(end, start);
    if (dim_is_const(whole) && dim_value(whole) >= 0 && dim_is_const(step) && dim_value(step) > 0) {
        whole = dim_ceil(whole, step); /* known where the ends are not: from i to i + 1 */
        count = dim_high(count) > dim_value(whole) ? dim_min(count, whole) : count;
    }
    return (AxisSlice){dim_select(back, top, first), count, step};
}

/* Does `given`, which may be negative, denote axis a of `rank`? 1, 0, or an expression. */
static Dim is_axis(Dim given, int a, int rank)
{
    return dim_add(dim_eq_expr(given, D(a)), dim_eq_expr(given, D(a - rank)));
}

/* The ranges as they are given. */
typedef struct Ranges {
    int n;
    Dim start[MAX_RANK], end[MAX_RANK], axis[MAX_RANK], step[MAX_RANK];
} Ranges;

/* False: wrong, reported. */
static bool read_ranges(Node *n, Ranges *r)
{
    const int rank = in_shape(n, 0).rank, k = in_dims(n, 1, r->start, MAX_RANK), ends = in_dims(n, 2, r->end, MAX_RANK);
    const int axes = in(n, 3) ? in_dims(n, 3, r->axis, MAX_RANK) : k;
    const int steps = in(n, 4) ? in_dims(n, 4, r->step, MAX_RANK) : k;
    if (k < 0 || ends < 0 || axes < 0 || steps < 0)
        return false;
    if (ends != k || axes != k || steps != k || k > rank)
        return node_error(n, "%d starts, %d ends, %d axes and %d steps for an input of %d dimensions", k, ends, axes,
                          steps, rank);
    bool marked[MAX_RANK] = {false};
    r->n = k;
    for (int i = 0; i < k; i++) {
        r->axis[i] = in(n, 3) ? r->axis[i] : D(i);
        r->step[i] = in(n, 4) ? r->step[i] : D(1);
        if (dim_is_const(r->axis[i]) && !mark_axis(n, dim_value(r->axis[i]), rank, marked))
            return false;
        if (dim_is(r->step[i], 0))
            return node_error(n, "a step is 0");
    }
    return true;
}

/* How many of the ranges are of axis a? */
static Dim times_listed(const Ranges *r, int a, int rank)
{
    Dim times = D(0);
    for (int i = 0; i < r->n; i++)
        times = dim_add(times, is_axis(r->axis[i], a, rank));
    return times;
}

/* Checks at run time the axes and steps that are not constant. */
static void require_ranges(Node *n, const Ranges *r)
{
    const int rank = in_shape(n, 0).rank;
    Dim listed = D(0);
    for (int i = 0; i < r->n; i++)
        if (!dim_is_const(r->step[i]))
            assume_dim(n, dim_eq_expr(r->step[i], D(0)), D(0));
    for (int a = 0; a < rank; a++) {
        const Dim times = times_listed(r, a, rank);
        assume_dim(n, dim_min(times, D(1)), times);
        listed = dim_add(listed, times);
    }
    if (rank)
        assume_dim(n, listed, D(r->n));
}

/* A limit is there for what is computed from its range, such as the size of a buffer. */
static Dim limited(Dim d, Dim limit) { return dim_high(d) > dim_high(limit) ? dim_min(d, limit) : d; }

/* Slices that make_piece makes need no comparisons of their ends, which for hundreds of pieces take seconds. */
static bool is_piece(const Node *n)
{
    const Attr *piece = node_attr(n, "onnxcc.piece");
    return piece && piece->i;
}

static AxisSlice piece_axis(const Ranges *r, int a, Shape x)
{
    const Dim whole = x.dim[a];
    if (dim_is(is_axis(r->axis[0], a, x.rank), 0))
        return (AxisSlice){D(0), whole, D(1)};
    return (AxisSlice){limited(r->start[0], whole), limited(dim_sub(r->end[0], r->start[0]), whole), D(1)};
}

static AxisSlice slice_of(const Node *n, const Ranges *r, int a, Shape x)
{
    if (is_piece(n))
        return piece_axis(r, a, x);
    Dim s = D(0), e = x.dim[a], by = D(1);
    for (int i = 0; i < r->n; i++) {
        const Dim here = is_axis(r->axis[i], a, x.rank);
        s = dim_select(here, r->start[i], s);
        e = dim_select(here, r->end[i], e);
        by = dim_select(here, r->step[i], by);
    }
    return dim_is(times_listed(r, a, x.rank), 0) ? (AxisSlice){D(0), x.dim[a], D(1)} : slice_axis(x.dim[a], s, e, by);
}

static void slice_infer(Node *n)
{
    const Shape x = in_shape(n, 0);
    Shape y = x;
    Ranges r;
    if (!read_ranges(n, &r))
        return;
    require_ranges(n, &r);
    for (int a = 0; a < x.rank; a++)
        y.dim[a] = slice_of(n, &r, a, x).count;
    set_out(n, 0, in_type(n, 0), y);
}

static void slice_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    Ranges r;
    Dim from[MAX_RANK], to[MAX_RANK];
    Strided s = {0};
    if (!read_ranges(n, &r))
        return;
    shape_strides(x, from);
    shape_strides(*out(n, 0)->shape, to);
    for (int i = 0; i < x.rank; i++) {
        const AxisSlice slice = slice_of(n, &r, i, x);
        s.from_at = dim_add(s.from_at, dim_mul(slice.from, from[i]));
        strided_axis(&s, slice.count, dim_mul(from[i], slice.step), to[i]);
    }
    strided_bind(n, s);
}

static bool slice_permute(Node *n, const int64_t *perm, int rank)
{
    int64_t axis[MAX_RANK];
    int k = (int)dim_value(shape_count(in_shape(n, 1)));
    if (in(n, 3) && (!in_is_const(n, 3) || in(n, 3)->data->symbolic))
        return false;
    for (int i = 0; i < k; i++) {
        int a = in(n, 3) ? axis_of(n, tensor_get_int(in(n, 3)->data, i), rank) : i;
        for (int p = 0; p < rank; p++)
            if (perm[p] == a)
                axis[i] = p;
    }
    node_set_inputs(n, 5, (Value *[]){in(n, 0), in(n, 1), in(n, 2), make_ints(n, k, axis), in(n, 4)});
    return true;
}

static void slice_1(Node *n)
{
    const int64_t *starts, *ends, *axes;
    int k = attr_ints(n, "starts", &starts), m = attr_ints(n, "ends", &ends), a = attr_ints(n, "axes", &axes);
    expand_to(n, make(n, "Slice", 4, in(n, 0), make_ints(n, k, starts), make_ints(n, m, ends),
                      a < 0 ? NULL : make_ints(n, a, axes)));
}

/* The `count` elements of x from `from` on along one axis. */
static Value *make_slice(Node *n, Value *x, int axis, Dim from, Dim count)
{
    Dim to = dim_add(from, count);
    return make(n, "Slice", 4, x, make_dims(n, 1, &from), make_dims(n, 1, &to), make_ints(n, 1, &(int64_t){axis}));
}

Value *make_piece(Node *n, Value *x, int axis, Dim from, Dim count)
{
    Value *y = make_slice(n, x, axis, from, count);
    attr_set_int(y->def, "onnxcc.piece", 1);
    return y;
}

/* ---- Split ----------------------------------------------------------------------------------------------------- */

/* The sizes of the pieces of an axis of `whole`; false: wrong, and reported. */
static bool split_sizes(Node *n, Dim whole, Dim *size)
{
    const Attr *split = node_attr(n, "split");
    int k = n->n_out, given = -1;
    if (in(n, 1) && type_is_float(in_type(n, 1))) { /* version 1 */
        given = in_is_const(n, 1) ? (int)tensor_count(in(n, 1)->data) : -1;
        for (int i = 0; i < given && i < k; i++)
            size[i] = D((int64_t)fmin(fmax(tensor_get(in(n, 1)->data, i), -1), 0x1p62)); /* -1: a NaN, too */
    } else if (in(n, 1)) {
        if ((given = in_dims(n, 1, size, k)) < 0)
            return false;
    } else if (split) {
        given = split->n;
        for (int i = 0; i < given && i < k; i++)
            size[i] = D(split->ints[i]);
    }
    if (given >= 0 && given != k)
        return node_error(n, "%d sizes for %d outputs", given, k);
    bool uneven = n->op->since_version >= 18 && node_attr(n, "num_outputs");
    Dim sum = D(0), part = uneven ? dim_ceil(whole, D(k)) : dim_div(whole, D(k));
    for (int i = 0; i < k; i++) {
        if (given < 0)
            size[i] = uneven ? dim_max(dim_min(part, dim_sub(whole, sum)), D(0)) : part;
        if (!require_size(n, name_format("piece %d", i)->s, &size[i]))
            return false;
        sum = dim_add(sum, size[i]);
    }
    if (dim_is(dim_eq_expr(sum, whole), 0))
        return node_error(n,
                          given < 0 ? "a dimension of %s does not split into %d equal pieces"
                                    : "the pieces do not add up to %s (%d outputs)",
                          dim_text(whole), k);
    assume_dim(n, sum, whole);
    return true;
}

static void split_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    const Attr *a = node_attr(n, "axis"), *outputs = node_attr(n, "num_outputs");
    int axis = axis_of(n, a ? a->i : 0, x.rank);
    Dim *size = NEWS(Dim, n->n_out), at = D(0);
    if (n->op->since_version >= 18 && (in(n, 1) != NULL) == (outputs != NULL)) {
        node_error(n, "one of the input split and the attribute num_outputs must be given, and only one");
        return;
    }
    if (!x.rank || (outputs && outputs->i != n->n_out)) {
        node_error(n, x.rank ? "num_outputs is not the number of outputs" : "a scalar cannot be split");
        return;
    }
    if (!split_sizes(n, x.dim[axis], size))
        return;
    for (int i = 0; i < n->n_out; i++) {
        if (n->out[i])
            replace_out(n, i, make_piece(n, in(n, 0), axis, at, size[i]));
        at = dim_add(at, size[i]);
    }
    expand_done(n);
}

/* ---- CenterCropPad ----------------------------------------------------------------------------------------------- */

static void center_crop_pad(Node *n)
{
    Shape x = in_shape(n, 0);
    const int64_t *axes;
    Dim size[MAX_RANK], pads[2 * MAX_RANK];
    int k = in_dims(n, 1, size, MAX_RANK), given = attr_ints(n, "axes", &axes);
    if (k < 0)
        return;
    if (k != (given < 0 ? x.rank : given)) {
        node_error(n, "%d sizes for %d axes", k, given < 0 ? x.rank : given);
        return;
    }
    Value *y = in(n, 0);
    for (int i = 0; i < 2 * x.rank; i++)
        pads[i] = D(0);
    bool sized[MAX_RANK] = {false};
    for (int i = 0; i < k; i++) {
        if (!require_size(n, "a size", &size[i]))
            return;
        if (given >= 0 && !mark_axis(n, axes[i], x.rank, sized))
            return;
        int a = given < 0 ? i : axis_of(n, axes[i], x.rank);
        Dim have = x.dim[a], more = dim_sub(size[i], have), cut = dim_max(dim_sub(have, size[i]), D(0));
        if (!dim_is(cut, 0))
            y = make_slice(n, y, a, dim_div(cut, D(2)), dim_min(have, size[i]));
        more = dim_max(more, D(0));
        pads[a] = dim_div(more, D(2));
        pads[x.rank + a] = dim_sub(more, pads[a]);
    }
    expand_to(n, make(n, "Pad", 2, y, make_dims(n, 2 * x.rank, pads)));
}

static const Op slice_ops[] = {
    {"Slice", 13, "data:T starts:Tind ends:Tind axes?:Tind steps?:Tind -> output:T", "T=ALLB Tind=int32|int64", "",
     .infer = slice_infer, .bind = slice_bind, .flags = MOVES, .permute = slice_permute,
     .compatible = "11 T=ALL; 10 T=ALL"},
    {"Slice", 1, "data:T -> output:T", "T=ALL", "axes:ints? ends:ints starts:ints", .expand = slice_1},

    {"Split", 18, "input:T split?:int64 -> outputs*:T", "T=ALLB", "axis:int=0 num_outputs:int?", .expand = split_expand,
     .compatible = "13 / axis:int=0"},
    {"Split", 11, "input:T -> outputs*:T", "T=ALL", "axis:int=0 split:ints?", .expand = split_expand,
     .compatible = "2"},
    {"Split", 1, "input:T split?:T -> outputs*:T", "T=F", "axis:int? split:ints?", .expand = split_expand},

    {"CenterCropPad", 18, "input_data:T shape:Tind -> output_data:T", "T=ALLB Tind=int32|int64", "axes:ints?",
     .expand = center_crop_pad},
};
OPS(slice_ops);
