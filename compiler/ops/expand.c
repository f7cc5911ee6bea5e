/* expand.c - Expand, Tile: repetition along axes. */
#include "ir/spatial.h"
#include "ir/strided.h"

static void expand_infer(Node *n)
{
    Shape x = in_shape(n, 0), want, y;
    if ((want.rank = in_dims(n, 1, want.dim, MAX_RANK)) < 0)
        return;
    for (int i = 0; i < want.rank; i++)
        if (!require_size(n, "a dimension of the shape", &want.dim[i]))
            return;
    if (!shape_broadcast(x, want, &y)) {
        error_node(n, "INF-06", "%s does not expand to %s", shape_text(x), shape_text(want));
        return;
    }
    assume_broadcast(n, x, want);
    set_out(n, 0, in_type(n, 0), y);
}

static void expand_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    Dim from[MAX_RANK], to[MAX_RANK];
    Strided s = {0};
    shape_strides(x, from);
    shape_strides(y, to);
    for (int i = 0; i < y.rank; i++) {
        int k = i - (y.rank - x.rank);
        Dim stride = D(0);
        if (k >= 0 && !dim_is(x.dim[k], 1))
            stride =
                dim_identical(x.dim[k], y.dim[i]) ? from[k] : dim_select(dim_eq_expr(x.dim[k], D(1)), D(0), from[k]);
        strided_axis(&s, y.dim[i], stride, to[i]);
    }
    strided_bind(n, s);
}

/* Reads the repeats of each axis; false: wrong, reported. */
static bool read_repeats(Node *n, Dim *times)
{
    Shape x = in_shape(n, 0);
    int k = in_dims(n, 1, times, MAX_RANK);
    if (k >= 0 && k != x.rank)
        node_error(n, "%d repeats for an input of %d dimensions", k, x.rank);
    bool fits = k == x.rank;
    for (int i = 0; i < k && fits; i++)
        fits = require_size(n, "repeats of an axis", &times[i]);
    return fits;
}

static void tile_infer(Node *n)
{
    Shape y = in_shape(n, 0);
    Dim times[MAX_RANK];
    if (!read_repeats(n, times))
        return;
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = dim_mul(y.dim[i], times[i]);
    set_out(n, 0, in_type(n, 0), y);
}

static void tile_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    Dim from[MAX_RANK], to[MAX_RANK], times[MAX_RANK];
    Strided s = {0};
    if (!read_repeats(n, times))
        return;
    shape_strides(x, from);
    shape_strides(*out(n, 0)->shape, to);
    for (int i = 0; i < x.rank; i++) {
        strided_axis(&s, times[i], D(0), dim_mul(x.dim[i], to[i]));
        strided_axis(&s, x.dim[i], from[i], to[i]);
    }
    strided_bind(n, s);
}

/* Version 1: the repeats and the axis are two scalars of the input's type. */
static void tile_1(Node *n)
{
    Value *rank = make_int(n, in_shape(n, 0).rank), *axis = make(n, "Mod", 2, make_cast(n, in(n, 2), I64), rank);
    Value *here = make(n, "Equal", 2, make(n, "Range", 3, make_int(n, 0), rank, make_int(n, 1)), axis);
    Value *times = make(n, "Where", 3, here, make_cast(n, in(n, 1), I64), make_int(n, 1));
    expand_to(n, make(n, "Tile", 2, in(n, 0), times));
}

static const Op expand_ops[] = {
    {"Expand", 13, "input:T shape:int64 -> output:T", "T=ALLB", "", .infer = expand_infer, .bind = expand_bind,
     .flags = MOVES, .compatible = "8 T=ALL"},
    {"Tile", 13, "input:T repeats:T1 -> output:T", "T=ALLB T1=int64", "", .infer = tile_infer, .bind = tile_bind,
     .flags = MOVES, .compatible = "6 T=ALL"},
    {"Tile", 1, "input:T tiles:T axis:T -> output:T", "T=F", "", .expand = tile_1},
};
OPS(expand_ops);
