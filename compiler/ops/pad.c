/* pad.c - Pad. Negative pads crop before the others pad. */
#include "ir/call.h"
#include "ir/strided.h"
#include "pad.h"

/* Reads the pads before and after each axis; false: wrong, reported. */
static bool read_pads(Node *n, Dim *before, Dim *after)
{
    int rank = in_shape(n, 0).rank, axes = rank;
    Dim pads[2 * MAX_RANK], axis[MAX_RANK], listed = D(0);
    int k = in_dims(n, 1, pads, 2 * MAX_RANK);
    if (k < 0 || (in(n, 3) && (axes = in_dims(n, 3, axis, MAX_RANK)) < 0))
        return false;
    if (k != 2 * axes)
        return node_error(n, "%d pads for %d axes", k, axes);
    bool marked[MAX_RANK] = {false};
    for (int i = 0; in(n, 3) && i < axes; i++)
        if (dim_is_const(axis[i]) && !mark_axis(n, dim_value(axis[i]), rank, marked))
            return false;
    for (int a = 0; a < rank; a++) {
        Dim times = D(0);
        before[a] = after[a] = D(0);
        for (int i = 0; i < axes; i++) {
            Dim of = in(n, 3) ? axis[i] : D(i);
            Dim here = dim_add(dim_eq_expr(of, D(a)), dim_eq_expr(of, D(a - rank)));
            before[a] = dim_select(here, pads[i], before[a]);
            after[a] = dim_select(here, pads[axes + i], after[a]);
            times = dim_add(times, here);
        }
        assume_dim(n, dim_min(times, D(1)), times);
        listed = dim_add(listed, times);
    }
    return require_dim(n, "axes that the input has", listed, D(axes));
}

/* The mode as the kernel's number; -1: unknown, reported. */
static int read_mode(Node *n)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "wrap", NULL};
    return attr_choice(n, "mode", modes);
}

static void pad_infer(Node *n)
{
    Shape x = in_shape(n, 0), y = x;
    Dim before[MAX_RANK], after[MAX_RANK];
    if (read_mode(n) < 0 || !require_one(n, 2) || !read_pads(n, before, after))
        return;
    for (int i = 0; i < x.rank; i++) {
        y.dim[i] = dim_add(dim_add(before[i], x.dim[i]), after[i]);
        if (!require_size(n, "what the pads leave of a dimension", &y.dim[i]))
            return;
        if (read_mode(n) > 0 && dim_is(x.dim[i], 0) && !dim_is(y.dim[i], 0)) {
            node_error(n, "dimension %d of %s has nothing to repeat", i, shape_text(x));
            return;
        }
    }
    set_out(n, 0, in_type(n, 0), y);
}

typedef struct PadAxis {
    Dim out, dim, before, from;
} PadAxis;

static bool is_unpadded(const PadAxis *a) { return dim_is(a->before, 0) && dim_identical(a->out, a->dim); }

/* Merges adjacent axes without pads; also into a padded axis, if the mode is constant. */
static int merge_axes(PadAxis *a, int rank, bool constant)
{
    int k = 0;
    for (int i = 0; i < rank; i++) {
        if (is_unpadded(&a[i]) && dim_is(a[i].dim, 1))
            continue;
        bool joins = k && is_unpadded(&a[i]) && (constant || is_unpadded(&a[k - 1])) &&
                     dim_identical(a[k - 1].from, dim_mul(a[i].dim, a[i].from)) && dim_is(a[i].from, 1);
        if (!joins) {
            a[k++] = a[i];
            continue;
        }
        PadAxis *m = &a[k - 1];
        *m = (PadAxis){dim_mul(m->out, a[i].out), dim_mul(m->dim, a[i].dim), dim_mul(m->before, a[i].dim), a[i].from};
    }
    return k;
}

static void pad_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    Dim before[MAX_RANK], after[MAX_RANK], stride[MAX_RANK];
    PadAxis axis[MAX_RANK];
    struct pad_bind p = {.mode = D(read_mode(n))};
    if (!read_pads(n, before, after))
        return;
    shape_strides(x, stride);
    for (int i = 0; i < x.rank; i++) {
        Dim gone = dim_max(dim_sub(D(0), before[i]), D(0)), gone_after = dim_max(dim_sub(D(0), after[i]), D(0));
        p.from_at = dim_add(p.from_at, dim_mul(gone, stride[i]));
        axis[i] = (PadAxis){y.dim[i], dim_max(dim_sub(x.dim[i], dim_add(gone, gone_after)), D(0)),
                            dim_max(before[i], D(0)), stride[i]};
    }
    int k = merge_axes(axis, x.rank, dim_is(p.mode, 0));
    if (!k) /* one element */
        axis[k++] = (PadAxis){D(1), D(1), D(0), D(1)};
    p.rank = D(k);
    for (int i = 0; i < k; i++) {
        p.out[i] = axis[i].out;
        p.dim[i] = axis[i].dim;
        p.before[i] = axis[i].before;
        p.from[i] = axis[i].from;
    }
    bind_kernel(n, "pad", type_storage(in_type(n, 0)), NO_TYPE, pad_fields(), &p, ARGS(in(n, 0), in(n, 2), out(n, 0)));
}

/* Before version 11 pads and value were attributes; version 1 named the pads "paddings". */
static void pad_2(Node *n)
{
    const int64_t *pads;
    int k = attr_ints(n, n->op->since_version == 1 ? "paddings" : "pads", &pads);
    Value *y =
        make(n, "Pad", 3, in(n, 0), make_ints(n, k, pads), make_scalar(n, in_type(n, 0), attr_float(n, "value")));
    attr_set_string(y->def, "mode", attr_string(n, "mode"));
    expand_to(n, y);
}

#define MODE "mode:string=constant"

static const Op pad_ops[] = {
    {"Pad", 25, "data:T pads:int64 constant_value?:T axes?:Tind -> output:T", "T=ALL13 Tind=int32|int64", MODE,
     .infer = pad_infer, .bind = pad_bind, .compatible = "24 T=ALL12; 23 T=ALL11; 21 T=ALL10; 19 T=ALLB; 18 T=ALLB"},
    {"Pad", 13, "data:T pads:int64 constant_value?:T -> output:T", "T=ALLB", MODE, .expand = expand_same,
     .compatible = "11 T=N"},
    {"Pad", 2, "data:T -> output:T", "T=F", MODE " pads:ints value:float=0", .expand = pad_2},
    {"Pad", 1, "data:T -> output:T", "T=F", MODE " paddings:ints value:float=0", .expand = pad_2},
};
OPS(pad_ops);
