/* view.c - Reshape, Flatten, Squeeze, Unsqueeze, Identity: views of the input under another shape. */
#include "ir/spatial.h"

static void identity_infer(Node *n)
{
    if (in(n, 0)->form == TENSOR)
        infer_same(n);
    else
        value_replace(out(n, 0), in(n, 0));
}

/* ---- Reshape ------------------------------------------------------------------------------------------------- */

/* Requires that y has as many elements as input 0: an error if it cannot, a check at run time if it may not. */
static bool require_count(Node *n, Shape y)
{
    Shape x = in_shape(n, 0);
    Dim have = shape_count(x), want = shape_count(y);
    if (dim_identical(have, want))
        return true;
    if (dim_is(dim_eq_expr(have, want), 0))
        return node_error(n, "%s cannot be given the shape %s: the counts of elements differ", shape_text(x),
                          shape_text(y));
    assume_dim(n, want, have);
    return true;
}

/* The size for d, an element of the shape known only at run time: -1 is the rest, 0 the input's size. */
static Dim resolved(Node *n, Dim d, Dim same, Dim rest, Dim total)
{
    Dim left = dim_eq_expr(d, D(-1));
    assume_dim(n, dim_less_expr(dim_select(left, rest, D(1)), D(1)), D(0));
    return dim_select(left, dim_div(total, rest), dim_select(dim_eq_expr(d, D(0)), same, d));
}

/* The same, limited to the number of elements. */
static Dim run_time_size(Node *n, Dim d, Dim same, Dim rest, Dim total)
{
    Dim y = resolved(n, d, same, rest, total), fits = dim_max(y, D(0));
    fits = dim_is(total, 0) ? fits : dim_min(fits, total);
    assume_dim(n, fits, y);
    return fits;
}

/* Reads the sizes from input 1; *open: the index of -1, or -1. False: wrong, reported. */
static bool read_sizes(Node *n, Shape *y, int *open)
{
    Shape x = in_shape(n, 0), want;
    Dim total = shape_count(x), same[MAX_RANK];
    int unknown = 0;
    *open = -1;
    if ((y->rank = in_dims(n, 1, y->dim, MAX_RANK)) < 0)
        return false;
    for (int i = 0; i < y->rank; i++) {
        Dim d = y->dim[i];
        same[i] = attr_int(n, "allowzero") || i >= x.rank ? D(0) : x.dim[i];
        if (dim_is(d, 0) && i >= x.rank && !attr_int(n, "allowzero"))
            return node_error(n, "0 at place %d of the shape %s means a dimension that %s does not have", i,
                              shape_text(*y), shape_text(x));
        if ((dim_is_const(d) && dim_value(d) < -1) || (dim_is(d, -1) && *open >= 0)) {
            node_error(n, "the shape %s has %s", shape_text(*y),
                       dim_is(d, -1) ? "more than one -1" : "a dimension less than -1");
            return false;
        }
        if (dim_is(d, -1))
            *open = i;
        else
            unknown += dim_low(d) < 0;
        if (dim_is(d, 0))
            y->dim[i] = same[i];
    }
    want = *y;
    const bool is_rest_given = *open >= 0;
    for (int i = 0; i < y->rank; i++) {
        if (i == *open || dim_low(want.dim[i]) >= 0)
            continue;
        if (is_rest_given)
            assume_dim(n, dim_eq_expr(want.dim[i], D(-1)), D(0)); /* -1 may occur only once */
        Dim rest = D(1);
        for (int k = 0; k < y->rank; k++)
            if (k != i && k != *open)
                rest = dim_mul(rest, dim_low(want.dim[k]) >= 0
                                         ? want.dim[k]
                                         : dim_select(dim_eq_expr(want.dim[k], D(0)), same[k], want.dim[k]));
        if (unknown == 1 && *open < 0) {
            *open = i; /* follows from the others */
            assume_dim(n, resolved(n, want.dim[i], same[i], rest, total), dim_div(total, rest));
        } else
            y->dim[i] = run_time_size(n, want.dim[i], same[i], rest, total);
    }
    return true;
}

static void reshape_infer(Node *n)
{
    Shape y;
    int open;
    if (!read_sizes(n, &y, &open))
        return;
    if (open >= 0) {
        bool asked = dim_is(y.dim[open], -1);
        y.dim[open] = D(1);
        Dim rest = shape_count(y);
        if (dim_is(rest, 0)) {
            node_error(n, "-1 beside a dimension of 0 in the shape could be anything");
            return;
        }
        y.dim[open] = dim_div(shape_count(in_shape(n, 0)), rest);
        if (asked)
            assume_dim(n, dim_less_expr(rest, D(1)), D(0));
    }
    if (require_count(n, y))
        set_out(n, 0, in_type(n, 0), y);
}

static void reshape_1(Node *n)
{
    const int64_t *v;
    int k = attr_ints(n, "shape", &v);
    expand_to(n, make(n, "Reshape", 2, in(n, 0), make_ints(n, k < 0 ? 0 : k, v)));
}

Value *make_reshape(Node *n, Value *v, int rank, const Dim *dim)
{
    return with_int(make(n, "Reshape", 2, v, make_dims(n, rank, dim)), "allowzero", 1);
}

static void flatten_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    int64_t axis = attr_int(n, "axis");
    int a = axis == x.rank ? x.rank : x.rank ? axis_of(n, axis, x.rank) : 0;
    set_out(n, 0, in_type(n, 0), shape_list(2, shape_product(x, 0, a), shape_product(x, a, x.rank)));
}

/* ---- Squeeze, Unsqueeze ---------------------------------------------------------------------------------------- */

/* Marks the axes listed in input 1; rank: their range. False: wrong, reported. */
static bool mark_axes(Node *n, int rank, bool *marked)
{
    int64_t axes[MAX_RANK];
    int k = in_ints(n, 1, axes, MAX_RANK);
    memset(marked, 0, sizeof *marked * MAX_RANK);
    for (int i = 0; i < k; i++) {
        if (axes[i] < -rank || axes[i] >= rank)
            return error_node(n, "ATT-13", "axis %lld is outside [%d, %d]", (long long)axes[i], -rank, rank - 1);
        int a = axis_of(n, axes[i], rank);
        if (marked[a])
            return node_error(n, "axis %d is listed twice", a);
        marked[a] = true;
    }
    return k >= 0;
}

/* For axes known only at run time: takes the declared shape of the output, if any. */
static bool infer_declared(Node *n)
{
    const TypeDesc *d = out(n, 0)->desc;
    if (in(n, 1)->data || !d || d->form != TENSOR || d->shape.rank < 0 || !shape_is_const(d->shape) ||
        !require_count(n, d->shape))
        return false;
    set_out(n, 0, in_type(n, 0), d->shape);
    return true;
}

static void squeeze_infer(Node *n)
{
    Shape x = in_shape(n, 0), y = {0};
    bool gone[MAX_RANK], all = !in(n, 1);
    if (!all && infer_declared(n))
        return;
    if (!all && !mark_axes(n, x.rank, gone))
        return;
    for (int i = 0; i < x.rank; i++) {
        if (all ? !dim_is(x.dim[i], 1) : !gone[i]) {
            y.dim[y.rank++] = x.dim[i];
            if (all) /* if it were 1, it would be removed, too */
                assume_dim(n, dim_eq_expr(x.dim[i], D(1)), D(0));
        } else if (dim_is(dim_eq_expr(x.dim[i], D(1)), 0)) {
            node_error(n, "dimension %d of %s is not 1", i, shape_text(x));
            return;
        } else
            assume_dim(n, x.dim[i], D(1));
    }
    set_out(n, 0, in_type(n, 0), y);
}

static void unsqueeze_infer(Node *n)
{
    Shape x = in_shape(n, 0), y = {0};
    bool added[MAX_RANK];
    if (infer_declared(n))
        return;
    Dim listed = shape_count(in_shape(n, 1));
    y.rank = x.rank + (int)(dim_is_const(listed) ? dim_value(listed) : 0);
    if (y.rank > MAX_RANK) {
        node_error(n, "the output would have more than %d dimensions", MAX_RANK);
        return;
    }
    if (!mark_axes(n, y.rank, added))
        return;
    for (int i = 0, k = 0; i < y.rank; i++)
        y.dim[i] = added[i] ? D(1) : x.dim[k++];
    set_out(n, 0, in_type(n, 0), y);
}

/* Older versions: the axes are an attribute. */
static void with_axes(Node *n)
{
    const int64_t *axes;
    int k = attr_ints(n, "axes", &axes);
    expand_to(n, make(n, n->op->name, 2, in(n, 0), k < 0 ? NULL : make_ints(n, k, axes)));
}

#define SINCE_13 "24 T=ALL12; 23 T=ALL11; 21 T=ALL10; 13 T=ALLB"

static const Op view_ops[] = {
    {"Reshape", 25, "data:T shape:int64 -> reshaped:T", "T=ALL13", "allowzero:int=0", .infer = reshape_infer,
     .flags = VIEW, .compatible = "24 T=ALL12; 23 T=ALL11; 21 T=ALL10; 19 T=ALL9; 14 T=ALLB; 13 T=ALLB /; 5 T=ALL /"},
    {"Reshape", 1, "data:T -> reshaped:T", "T=F", "consumed_inputs:ints? shape:ints?", .expand = reshape_1},
    {"Flatten", 25, "input:T -> output:T", "T=ALL13", "axis:int=1", .infer = flatten_infer, .flags = VIEW,
     .compatible = SINCE_13 "; 11 T=ALL; 9 T=ALL; 1 T=F"},
    {"Squeeze", 25, "data:T axes?:int64 -> squeezed:T", "T=ALL13", "", .infer = squeeze_infer, .flags = VIEW,
     .compatible = SINCE_13},
    {"Squeeze", 11, "data:T -> squeezed:T", "T=ALL", "axes:ints?", .expand = with_axes, .compatible = "1"},
    {"Unsqueeze", 25, "data:T axes:int64 -> expanded:T", "T=ALL13", "", .infer = unsqueeze_infer, .flags = VIEW,
     .compatible = SINCE_13},
    {"Unsqueeze", 11, "data:T -> expanded:T", "T=ALL", "axes:ints", .expand = with_axes, .compatible = "1"},
    {"Identity", 25, "input:V -> output:V", "V=ALL13|seq|opt", "", .infer = identity_infer, .flags = VIEW,
     .compatible = "24 V=ALL12|seq|opt; 23 V=ALL11|seq|opt; 21 V=ALL10|seq|opt; 19 V=ALL9|seq|opt; 16 V=ALLB|seq|opt; "
                   "14 V=ALLB|seq; 13 V=ALLB; 1 V=ALL"},
};
OPS(view_ops);
