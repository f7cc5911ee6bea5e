/* scatter.c - ScatterElements, ScatterND, TensorScatter. */
#include "ir/spatial.h"
#include "ir/strided.h"
#include "scatter.h"

/* The attribute reduction as the kernels' number; 0: none; -1: unknown, reported. */
static int read_reduction(Node *n)
{
    static const char *const names[] = {"none", "add", "mul", "min", "max", NULL};
    return attr_choice(n, "reduction", names);
}

/* Expands to two operators: without reduction it only moves elements, so splats and symbolic integers pass through. */
static void scatter_expand(Node *n)
{
    bool nd = !strcmp(n->op->name, "ScatterND");
    const Attr *a = node_attr(n, "reduction"), *axis = node_attr(n, "axis");
    bool plain = !a || name_is(a->s, "none");
    Value *y = make(n,
                    nd      ? plain ? "onnxcc.ScatterND" : "onnxcc.ScatterNDReduce"
                    : plain ? "onnxcc.ScatterElements"
                            : "onnxcc.ScatterElementsReduce",
                    3, in(n, 0), in(n, 1), in(n, 2));
    if (!plain)
        attr_set_string(y->def, "reduction", a->s->s);
    if (axis)
        attr_set_int(y->def, "axis", axis->i);
    expand_to(n, y);
}

/* ---- ScatterElements ------------------------------------------------------------------------------------------- */

static void scatter_elements_infer(Node *n)
{
    Shape x = in_shape(n, 0), i = in_shape(n, 1), u = in_shape(n, 2);
    if (x.rank != i.rank || x.rank != u.rank || !x.rank) {
        node_error(n, "data %s, indices %s and updates %s must have as many dimensions", shape_text(x), shape_text(i),
                   shape_text(u));
        return;
    }
    int a = attr_axis(n, "axis", x.rank);
    for (int k = 0; k < x.rank; k++) {
        if (dim_is(dim_eq_expr(i.dim[k], u.dim[k]), 0) || (k != a && dim_is(dim_less_expr(x.dim[k], i.dim[k]), 1))) {
            node_error(n, "data %s, indices %s and updates %s do not fit", shape_text(x), shape_text(i), shape_text(u));
            return;
        }
        assume_dim(n, u.dim[k], i.dim[k]);
        if (k != a)
            assume_dim(n, dim_max(i.dim[k], x.dim[k]), x.dim[k]);
    }
    if (require_indices(n, 1, 1, &x.dim[a], true))
        infer_same(n);
}

static void scatter_elements_bind(Node *n)
{
    Shape x = in_shape(n, 0), i = in_shape(n, 1);
    int a = attr_axis(n, "axis", x.rank);
    Strided s = {0};
    struct scatter_elements_reduce_bind p = {.size = shape_count(x), .count = shape_count(i), .axis = x.dim[a]};
    p.stride = strided_along(&s, i, x, a);
    p.rank = strided_axes(&s, p.dim, NULL, p.to);
    if (strcmp(n->op->name, "ScatterElementsReduce"))
        bind_kernel(n, "scatter_elements", type_storage(in_type(n, 0)), in_type(n, 1), scatter_elements_fields(), &p,
                    NULL, 0);
    else {
        p.reduce = D(read_reduction(n));
        bind_kernel(n, "scatter_elements_reduce", in_type(n, 0), in_type(n, 1), scatter_elements_reduce_fields(), &p,
                    NULL, 0);
    }
}

/* ---- ScatterND --------------------------------------------------------------------------------------------------- */

static void scatter_nd_infer(Node *n)
{
    Shape x = in_shape(n, 0), i = in_shape(n, 1), u = in_shape(n, 2);
    Dim depth = i.rank > 0 ? i.dim[i.rank - 1] : D(0);
    if (!x.rank || !dim_is_const(depth) || dim_value(depth) < 1 || dim_value(depth) > x.rank) {
        node_error(n, "the last dimension of the indices %s must be a number from 1 to %d", shape_text(i), x.rank);
        return;
    }
    int d = (int)dim_value(depth);
    bool clash = u.rank != i.rank - 1 + x.rank - d;
    for (int k = 0; k < u.rank && !clash; k++) {
        Dim want = k < i.rank - 1 ? i.dim[k] : x.dim[k - (i.rank - 1) + d];
        clash = dim_is(dim_eq_expr(u.dim[k], want), 0);
        assume_dim(n, u.dim[k], want);
    }
    if (clash)
        node_error(n, "data %s, indices %s and updates %s do not fit", shape_text(x), shape_text(i), shape_text(u));
    else if (require_indices(n, 1, d, x.dim, true))
        infer_same(n);
}

static void scatter_nd_bind(Node *n)
{
    Shape x = in_shape(n, 0), i = in_shape(n, 1);
    int depth = (int)dim_value(i.dim[i.rank - 1]);
    Dim count = shape_product(i, 0, i.rank - 1), inner = shape_product(x, depth, x.rank);
    if (strcmp(n->op->name, "ScatterNDReduce")) {
        struct scatter_nd_bind p = {.size = shape_count(x), .count = count, .inner = inner, .depth = D(depth)};
        for (int k = 0; k < depth; k++)
            p.dim[k] = x.dim[k];
        bind_kernel(n, "scatter_nd", type_storage(in_type(n, 0)), in_type(n, 1), scatter_nd_fields(), &p, NULL, 0);
    } else {
        struct scatter_nd_reduce_bind p = {
            .size = shape_count(x), .count = count, .inner = inner, .depth = D(depth), .reduce = D(read_reduction(n))};
        for (int k = 0; k < depth; k++)
            p.dim[k] = x.dim[k];
        bind_kernel(n, "scatter_nd_reduce", in_type(n, 0), in_type(n, 1), scatter_nd_reduce_fields(), &p, NULL, 0);
    }
}

static void reduce_infer(Node *n)
{
    if (read_reduction(n) < 0)
        return;
    if (!strcmp(n->op->name, "ScatterNDReduce"))
        scatter_nd_infer(n);
    else
        scatter_elements_infer(n);
}

/* ---- TensorScatter ----------------------------------------------------------------------------------------------- */

static void tensor_scatter_infer(Node *n)
{
    Shape x = in_shape(n, 0), u = in_shape(n, 1);
    int a = attr_axis(n, "axis", x.rank);
    bool clash = x.rank != u.rank || a == 0;
    if (!attr_is(n, "mode", "linear") && !attr_is(n, "mode", "circular")) {
        node_error(n, "mode '%s' is neither linear nor circular", printable(name(attr_string(n, "mode"))));
        return;
    }
    for (int k = 0; k < x.rank && !clash; k++) {
        clash = dim_is(k == a ? dim_less_expr(x.dim[k], u.dim[k]) : dim_eq_expr(x.dim[k], u.dim[k]), k == a);
        assume_dim(n, k == a ? dim_max(u.dim[k], x.dim[k]) : u.dim[k], x.dim[k]);
    }
    if (in(n, 2) && (in_shape(n, 2).rank != 1 || dim_is(dim_eq_expr(in_shape(n, 2).dim[0], x.dim[0]), 0)))
        clash = true;
    if (clash)
        node_error(n, "cache %s, update %s along axis %d%s%s do not fit", shape_text(x), shape_text(u), a,
                   in(n, 2) ? " and indices " : "", in(n, 2) ? shape_text(in_shape(n, 2)) : "");
    else {
        if (in(n, 2))
            assume_dim(n, in_shape(n, 2).dim[0], x.dim[0]);
        Dim places = dim_add(dim_sub(x.dim[a], u.dim[a]), D(1));
        if (attr_is(n, "mode", "circular") || require_indices(n, 2, 1, &places, false))
            infer_same(n);
    }
}

static void tensor_scatter_bind(Node *n)
{
    Shape x = in_shape(n, 0), u = in_shape(n, 1);
    int a = attr_axis(n, "axis", x.rank);
    BIND_T(n, tensor_scatter, type_storage(in_type(n, 0)), .batch = x.dim[0], .outer = shape_product(x, 1, a),
           .upper = x.dim[a], .inner = shape_product(x, a + 1, x.rank), .count = u.dim[a],
           .circular = D(attr_is(n, "mode", "circular")));
}

#define ELEMENTS(name, version, types, attrs)                                                                            \
    name, version, "data:T indices:Tind updates:T -> output:T", "T=" types " Tind=int32|int64", attrs
#define ND(name, version, types, attrs) name, version, "data:T indices:int64 updates:T -> output:T", "T=" types, attrs
#define REDUCTION "reduction:string=none"

static const Op scatter_ops[] = {
    {ELEMENTS("Scatter", 11, "ALL", "axis:int=0"), .flags = DEPRECATED, .body = "ScatterElements"},
    {ELEMENTS("Scatter", 9, "ALL", "axis:int=0"), .expand = scatter_expand},

    {ELEMENTS("ScatterElements", 18, "ALLB", "axis:int=0 " REDUCTION), .expand = scatter_expand,
     .compatible = "16; 13 / axis:int=0; 11 T=ALL / axis:int=0"},
    {ELEMENTS("ScatterElements", 1, "ALLB", "axis:int=0"), .infer = scatter_elements_infer,
     .bind = scatter_elements_bind, .flags = MOVES | INPLACE, .checks = 2, .domain = "onnxcc"},
    {ELEMENTS("ScatterElementsReduce", 1, "ALLB", "axis:int=0 reduction:string"), .infer = reduce_infer,
     .bind = scatter_elements_bind, .flags = INPLACE, .checks = 2, .domain = "onnxcc"},

    {ND("ScatterND", 18, "ALLB", REDUCTION), .expand = scatter_expand, .compatible = "16; 13 /; 11 T=ALL /"},
    {ND("ScatterND", 1, "ALLB", ""), .infer = scatter_nd_infer, .bind = scatter_nd_bind, .flags = MOVES | INPLACE,
     .checks = 2, .domain = "onnxcc"},
    {ND("ScatterNDReduce", 1, "ALLB", "reduction:string"), .infer = reduce_infer, .bind = scatter_nd_bind,
     .flags = INPLACE, .checks = 2, .domain = "onnxcc"},

    {"TensorScatter", 24, "past_cache:T update:T write_indices?:int64 -> present_cache:T", "T=ALL12",
     "axis:int=-2 mode:string=linear", .infer = tensor_scatter_infer, .bind = tensor_scatter_bind,
     .flags = MOVES | INPLACE, .checks = 3},
};
OPS(scatter_ops);
