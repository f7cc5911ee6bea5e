/* cumulate.c - CumSum, CumProd. */
#include "ir/call.h"
#include "cumulate.h"

/* The axis from input 1, made non-negative: a number, or an expression if it is known only at run time. */
static bool cumulate_axis(Node *n, Dim *axis)
{
    int rank = in_shape(n, 0).rank, k = in_dims(n, 1, axis, 1);
    if (k == 0)
        node_error(n, "input 1, the axis, is empty");
    if (k < 1)
        return false;
    if (dim_is_const(*axis))
        *axis = D(axis_of(n, dim_value(*axis), rank));
    else
        *axis = dim_select(dim_less_expr(*axis, D(0)), dim_add(*axis, D(rank)), *axis);
    return true;
}

static void cumulate_infer(Node *n)
{
    Dim a;
    if (!cumulate_axis(n, &a))
        return;
    if (!dim_is_const(a)) /* checks that it is in range */
        assume_dim(n, dim_mul(dim_less_expr(D(-1), a), dim_less_expr(a, D(in_shape(n, 0).rank))), D(1));
    infer_same(n);
}

static void cumulate_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    struct cum_sum_bind p = {.outer = D(1),
                             .axis = D(1),
                             .inner = D(1),
                             .exclusive = D(attr_int(n, "exclusive") != 0),
                             .reverse = D(attr_int(n, "reverse") != 0)};
    Dim a;
    cumulate_axis(n, &a);
    for (int i = 0; i < s.rank; i++) {
        p.outer = dim_mul(p.outer, dim_select(dim_less_expr(D(i), a), s.dim[i], D(1)));
        p.axis = dim_mul(p.axis, dim_select(dim_eq_expr(D(i), a), s.dim[i], D(1)));
        p.inner = dim_mul(p.inner, dim_select(dim_less_expr(a, D(i)), s.dim[i], D(1)));
    }
    bind_kernel(n, strcmp(n->op->name, "CumSum") ? "cum_prod" : "cum_sum", NO_TYPE, NO_TYPE, cum_sum_fields(), &p, NULL,
                0);
}

#define SIGNATURE "x:T axis:T2 -> y:T"
#define WIDE "T=uint32|uint64|int32|int64|"
#define ATTRS "exclusive:int=0 reverse:int=0"

static const Op cumulate_ops[] = {
    {"CumSum", 14, SIGNATURE, WIDE "FB T2=int32|int64", ATTRS, .infer = cumulate_infer, .bind = cumulate_bind,
     .flags = INPLACE, .compatible = "11 T=uint32|uint64|int32|int64|float|double"},
    {"CumProd", 26, SIGNATURE, WIDE "FB T2=int32|int64", ATTRS, .infer = cumulate_infer, .bind = cumulate_bind,
     .flags = INPLACE},
};
OPS(cumulate_ops);
