/* select.c - TopK; NonZero, Compress, Unique, whose output size depends on the data; Where of strings and complex
 * numbers. */
#include "ir/call.h"
#include "texts.h"
#include "select.h"
#include "topk.h"

/* ---- TopK -------------------------------------------------------------------------------------------------------- */

static void topk_infer(Node *n)
{
    Shape y = in_shape(n, 0);
    Dim k;
    if (!y.rank || in_shape(n, 1).rank != 1 || !dim_is(shape_count(in_shape(n, 1)), 1)) {
        node_error(n, y.rank ? "K %s must be a list of one number" : "a scalar has no axis; K %s",
                   shape_text(in_shape(n, 1)));
        return;
    }
    int a = attr_axis(n, "axis", y.rank);
    if (in_dims(n, 1, &k, 1) < 0)
        return;
    Dim fits = dim_max(dim_min(k, y.dim[a]), D(0));
    if (dim_is(dim_eq_expr(fits, k), 0)) {
        node_error(n, "K is outside the range of axis %d of %s", a, shape_text(y));
        return;
    }
    assume_dim(n, fits, k);
    y.dim[a] = fits;
    set_out(n, 0, in_type(n, 0), y);
    set_out(n, 1, I64, y);
}

static void topk_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    int a = attr_axis(n, "axis", x.rank);
    BIND_ARGS(n, topk, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), out(n, 0), out(n, 1)), .outer = shape_product(x, 0, a),
              .axis = x.dim[a], .inner = shape_product(x, a + 1, x.rank), .k = out(n, 0)->shape->dim[a],
              .largest = D(attr_int(n, "largest") != 0));
}

/* Version 1: k is an attribute. */
static void topk_1(Node *n)
{
    int64_t k = attr_int(n, "k");
    Value *in[] = {n->in[0], make_ints(n, 1, &k)};
    Node *y = make_node(n, "TopK", 2, in, 2);
    attr_set_int(y, "axis", attr_int(n, "axis"));
    replace_out(n, 0, y->out[0]);
    replace_out(n, 1, y->out[1]);
    expand_done(n);
}

static Dim parts_of(Type t) { return D(type_part(t) == t ? 1 : 2); }

/* The number of non-zero elements among the first `max` of input i, if that is constant; otherwise a size that the
 * kernel reports. */
static Dim found_size(Node *n, int i, Dim max)
{
    enum { MANY = 64 }; /* limit of an expression's size */
    const Tensor *t = i >= 0 && in_is_const(n, i) ? in(n, i)->data : NULL;
    Dim k = D(0);
    if (t && type_part(t->type) == t->type) {
        for (int64_t e = 0; e < tensor_count(t) && dim_size(k) < MANY; e++)
            if (t->type == STR ? tensor_get_str(t, e)->n > 0 : tensor_get(t, e) != 0)
                k = dim_add(k, dim_less_expr(D(e), max)); /* elements from `max` on do not count */
        if (dim_size(k) < MANY)
            return k;
    }
    return reported_size(n, 0, NULL, max);
}

/* ---- NonZero --------------------------------------------------------------------------------------------------- */

static void nonzero_infer(Node *n)
{
    Shape x = in_shape(n, 0);
    set_out(n, 0, I64, shape_list(2, D(x.rank), found_size(n, 0, shape_count(x))));
}

static void nonzero_bind(Node *n)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    Type t = in_type(n, 0);
    struct nonzero_bind p = {
        .upper = reported_room(y.dim[1]), .size = shape_count(x), .rank = y.dim[0], .dim = {D(1)}, .part = parts_of(t)};
    for (int i = 0; i < x.rank; i++)
        p.dim[i] = x.dim[i];
    bind_kernel(n, "nonzero", type_part(t), NO_TYPE, nonzero_fields(), &p, NULL, 0);
    bind_reported(n);
}

/* ---- Compress, Unique: along an axis, or of the flattened input -------------------------------------------------- */

/* Input 0 as (outer, axis, inner) in s->dim; the axis, or -1. */
static int read_axis(Node *n, Shape *s)
{
    Shape x = in_shape(n, 0);
    if (!attr_is_given(n, "axis")) {
        *s = shape_list(3, D(1), shape_count(x), D(1));
        return -1;
    }
    int a = attr_axis(n, "axis", x.rank);
    *s = shape_list(3, shape_product(x, 0, a), x.dim[a], shape_product(x, a + 1, x.rank));
    return a;
}

static void select_infer(Node *n, int decides)
{
    Shape s, y = in_shape(n, 0);
    int a = read_axis(n, &s);
    Dim found = found_size(n, decides, s.dim[1]);
    if (a < 0)
        y = shape_list(1, found);
    else
        y.dim[a] = found;
    set_out(n, 0, in_type(n, 0), y);
}

static void compress_infer(Node *n)
{
    if (in_shape(n, 1).rank != 1)
        node_error(n, "the condition %s must have one dimension", shape_text(in_shape(n, 1)));
    else
        select_infer(n, 1);
}

static void compress_bind(Node *n)
{
    Shape s;
    int a = read_axis(n, &s);
    BIND_T(n, compress, type_storage(in_type(n, 0)), .upper = reported_room(out(n, 0)->shape->dim[a < 0 ? 0 : a]),
           .outer = s.dim[0], .axis = s.dim[1], .inner = s.dim[2], .n = in_shape(n, 1).dim[0]);
    bind_reported(n);
}

static void unique_infer(Node *n)
{
    Shape s;
    int a = read_axis(n, &s);
    select_infer(n, -1);
    Dim found = out(n, 0)->shape->dim[a < 0 ? 0 : a];
    set_out(n, 1, I64, shape_list(1, found));
    set_out(n, 2, I64, shape_list(1, s.dim[1]));
    set_out(n, 3, I64, shape_list(1, found));
}

static void unique_bind(Node *n)
{
    Shape s;
    Type t = in_type(n, 0);
    int a = read_axis(n, &s);
    BIND_ARGS(n, unique, type_part(t), NO_TYPE, ARGS(in(n, 0), out(n, 0), out(n, 1), out(n, 2), out(n, 3)),
              .upper = reported_room(out(n, 0)->shape->dim[a < 0 ? 0 : a]), .outer = s.dim[0], .axis = s.dim[1],
              .inner = dim_mul(s.dim[2], parts_of(t)), .sorted = D(attr_int(n, "sorted") != 0));
    bind_scratch(n, dim_mul(s.dim[1], D(3 * 8)));
    bind_reported(n);
}

/* ---- Where: a condition and two inputs, all of one shape --------------------------------------------------------- */

static void where_infer(Node *n)
{
    if (infer_same_shapes(n))
        set_out(n, 0, in_type(n, 1), in_shape(n, 0));
}

static void where_bind(Node *n)
{
    BIND_T(n, choose, type_storage(in_type(n, 1)), .count = shape_count(in_shape(n, 0)));
}

static const Op select_ops[] = {
    {"TopK", 24, "X:T K:int64 -> Values:T Indices:I", "T=NB I=int64", "axis:int=-1 largest:int=1 sorted:int=1",
     .infer = topk_infer, .bind = topk_bind, .compatible = "11 T=N; 10 T=F / axis:int=-1"},
    {"TopK", 1, "X:T -> Values:T Indices:I", "T=F I=int64", "axis:int=-1 k:int", .expand = topk_1},
    {"NonZero", 13, "X:T -> Y:int64", "T=ALLB", "", .infer = nonzero_infer, .bind = nonzero_bind,
     .compatible = "9 T=ALL"},
    {"Compress", 28, "input:T condition:T1 -> output:T", "T=ALLB T1=bool", "axis:int?", .infer = compress_infer,
     .bind = compress_bind, .compatible = "11 T=ALL; 9 T=ALL"},
    {"Unique", 28, "X:T -> Y:T indices?:int64 inverse_indices?:int64 counts?:int64", "T=ALLB", "axis:int? sorted:int=1",
     .infer = unique_infer, .bind = unique_bind, .flags = NOFOLD, .compatible = "11 T=ALL"},
    {"Where", 1, "c:bool a:T b:T -> y:T", "T=string|C", "", .infer = where_infer, .bind = where_bind,
     .domain = "onnxcc"},
};
OPS(select_ops);
