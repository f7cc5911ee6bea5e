/* warping.c - DynamicTimeWarping of com.microsoft. */
#include "warping.h"
#include "ir/call.h"
#include "microsoft.h"

static void warping_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    if (x.rank != 2 && x.rank != 3)
        node_error(n, "the input %s must be a matrix", shape_text(x));
    else if (x.rank == 2 || require_dim(n, "matrices", x.dim[0], D(1))) {
        Dim most = dim_max(dim_sub(dim_add(x.dim[x.rank - 2], x.dim[x.rank - 1]), D(1)), D(0));
        set_out(n, 0, I32, shape_list(2, D(2), reported_size(n, 0, NULL, most)));
    }
}

static void warping_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    Dim rows = x.dim[x.rank - 2], columns = x.dim[x.rank - 1];
    BIND(n, warping, .upper = reported_room(out(n, 0)->shape->dim[1]), .rows = rows, .columns = columns);
    bind_scratch(n, dim_add(dim_mul(dim_add(rows, D(1)), D(4)), dim_mul(rows, columns)));
    bind_reported(n);
}

static const Op warping_ops[] = {
    {"DynamicTimeWarping", 1, "input:F -> output:I", "F=float I=int32", "", .infer = warping_infer,
     .bind = warping_bind, .flags = NOFOLD, MICROSOFT},
};
OPS(warping_ops);
