/* gather.c - Gather, GatherElements, GatherND. */
#include "ir/spatial.h"
#include "ir/strided.h"
#include "gather.h"
#include "stored.h"

static void gather_infer(Node *n)
{
    Shape x = in_shape(n, 0), i = in_shape(n, 1), y = {0};
    if (!x.rank || x.rank + i.rank - 1 > MAX_RANK) {
        node_error(n, x.rank ? "the output has more than %d dimensions" : "input 0 must have a dimension (at most %d)",
                   MAX_RANK);
        return;
    }
    int a = attr_axis(n, "axis", x.rank);
    if (!require_indices(n, 1, 1, &x.dim[a], true))
        return;
    for (int k = 0; k < a; k++)
        y.dim[y.rank++] = x.dim[k];
    for (int k = 0; k < i.rank; k++)
        y.dim[y.rank++] = i.dim[k];
    for (int k = a + 1; k < x.rank; k++)
        y.dim[y.rank++] = x.dim[k];
    set_out(n, 0, in_type(n, 0), y);
}

static void gather_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    int a = attr_axis(n, "axis", x.rank);
    BIND2(n, gather, type_storage(in_type(n, 0)), in_type(n, 1), .outer = shape_product(x, 0, a), .axis = x.dim[a],
          .inner = shape_product(x, a + 1, x.rank), .count = shape_count(in_shape(n, 1)));
}

static void gather_elements_infer(Node *n)
{
    Shape x = in_shape(n, 0), i = in_shape(n, 1);
    if (x.rank != i.rank || !x.rank) {
        node_error(n, "the input has %d dimensions, the indices %d", x.rank, i.rank);
        return;
    }
    int a = attr_axis(n, "axis", x.rank);
    for (int k = 0; k < x.rank; k++)
        if (k != a && dim_is(dim_less_expr(x.dim[k], i.dim[k]), 1)) {
            node_error(n, "the indices %s reach outside the input %s along axis %d", shape_text(i), shape_text(x), k);
            return;
        } else if (k != a)
            assume_dim(n, dim_max(i.dim[k], x.dim[k]), x.dim[k]);
    if (require_indices(n, 1, 1, &x.dim[a], true))
        set_out(n, 0, in_type(n, 0), i);
}

static void gather_elements_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = in_shape(n, 1);
    int a = attr_axis(n, "axis", x.rank);
    Strided s = {0};
    struct gather_elements_bind p = {.count = shape_count(y), .axis = x.dim[a]};
    p.stride = strided_along(&s, y, x, a);
    p.rank = strided_axes(&s, p.dim, NULL, p.from);
    bind_kernel(n, "gather_elements", type_storage(in_type(n, 0)), in_type(n, 1), gather_elements_fields(), &p, NULL,
                0);
}

static void gather_nd_infer(Node *n)
{
    Shape x = in_shape(n, 0), i = in_shape(n, 1), y = {0};
    int64_t batch = attr_int(n, "batch_dims");
    if (!x.rank || !i.rank || batch < 0 || batch >= x.rank || batch >= i.rank) {
        node_error(n, "batch_dims %lld for an input of %d dimensions and indices of %d", (long long)batch, x.rank,
                   i.rank);
        return;
    }
    Dim depth = i.dim[i.rank - 1];
    if (!dim_is_const(depth) || dim_value(depth) < 1 || dim_value(depth) > x.rank - batch) {
        node_error(n, "the last dimension of the indices %s must be a number from 1 to %lld", shape_text(i),
                   (long long)(x.rank - batch));
        return;
    }
    int rest = (int)(batch + dim_value(depth));
    if (!require_rank(n, i.rank - 1 + x.rank - rest))
        return;
    for (int k = 0; k < batch; k++) {
        if (dim_is(dim_eq_expr(x.dim[k], i.dim[k]), 0)) {
            node_error(n, "the batch dimensions of %s and %s differ", shape_text(x), shape_text(i));
            return;
        }
        assume_dim(n, i.dim[k], x.dim[k]);
    }
    for (int k = 0; k < i.rank - 1; k++)
        y.dim[y.rank++] = i.dim[k];
    for (int k = rest; k < x.rank; k++)
        y.dim[y.rank++] = x.dim[k];
    if (require_indices(n, 1, (int)dim_value(depth), x.dim + batch, true))
        set_out(n, 0, in_type(n, 0), y);
}

static void gather_nd_bind(Node *n)
{
    Shape x = in_shape(n, 0), i = in_shape(n, 1);
    int batch = (int)attr_int(n, "batch_dims"), depth = (int)dim_value(i.dim[i.rank - 1]);
    struct gather_nd_bind p = {.batch = shape_product(x, 0, batch),
                               .count = shape_product(i, batch, i.rank - 1),
                               .inner = shape_product(x, batch + depth, x.rank),
                               .depth = D(depth)};
    for (int k = 0; k < depth; k++)
        p.dim[k] = x.dim[batch + k];
    bind_kernel(n, "gather_nd", type_storage(in_type(n, 0)), in_type(n, 1), gather_nd_fields(), &p, NULL, 0);
}

#define GATHER(name, version, types) name, version, "data:T indices:Tind -> output:T", "T=" types " Tind=int32|int64", "axis:int=0"

static const Op gather_ops[] = {
    {GATHER("Gather", 13, "ALLB"), .infer = gather_infer, .bind = gather_bind, .flags = MOVES, .checks = 2,
     .simplify = gather_stored, .compatible = "11 T=ALL; 1 T=ALL"},
    {GATHER("Gather", 1, "ALL14"), .infer = gather_infer, .bind = gather_bind, .flags = MOVES, .checks = 2,
     .domain = "onnxcc"},
    {GATHER("GatherElements", 13, "ALLB"), .infer = gather_elements_infer, .bind = gather_elements_bind, .flags = MOVES,
     .checks = 2, .compatible = "11 T=ALL"},
    {"GatherND", 13, "data:T indices:int64 -> output:T", "T=ALLB", "batch_dims:int=0", .infer = gather_nd_infer,
     .bind = gather_nd_bind, .flags = MOVES, .checks = 2, .compatible = "12 T=ALL; 11 T=ALL /"},
};
OPS(gather_ops);
