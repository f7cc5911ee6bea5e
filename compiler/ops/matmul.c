/* matmul.c - MatMul and Gemm: both become onnxcc.Product, a product of matrices with a bias. */
#include <math.h>

#include "base/options.h"
#include "ir/call.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "passes/infer.h"
#include "conv.h"
#include "coded.h"
#include "matmul.h"
#include "stored.h"

enum { AXES = 4, COLUMNS = 64, CACHE = 400000, FEW_ROWS = 12 };

/* y (batch..., m, n) = a b + bias; each matrix may be stored transposed. */
typedef struct Product {
    Shape a, b, y;
    Dim m, n, k, a_k, b_k; /* a_k, b_k: k according to a and b, which must agree */
    bool trans_a, trans_b, packed, splat;
} Product;

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static Shape batch_of(Shape s)
{
    s.rank -= 2;
    return s;
}

static bool product_read(Node *n, Product *p)
{
    p->a = in_shape(n, 0);
    p->trans_a = attr_int(n, "trans_a");
    p->trans_b = attr_int(n, "trans_b");
    p->m = p->a.dim[p->a.rank - (p->trans_a ? 1 : 2)];
    p->k = p->a_k = p->a.dim[p->a.rank - (p->trans_a ? 2 : 1)];
    p->splat = attr_is_given(n, "splat");
    p->packed = attr_is_given(n, "columns");
    if (p->packed) {
        p->n = D(attr_int(n, "columns"));
        p->y = p->a;
        p->y.dim[p->y.rank - 1] = p->n;
        return true;
    }
    p->b = in_shape(n, 1);
    p->n = p->b.dim[p->b.rank - (p->trans_b ? 2 : 1)];
    p->b_k = p->b.dim[p->b.rank - (p->trans_b ? 1 : 2)];
    if (!shape_broadcast(batch_of(p->a), batch_of(p->b), &p->y))
        return node_error(n, "the matrices in %s and %s cannot be paired", shape_text(p->a), shape_text(p->b));
    if (!dim_is_const(p->k))
        p->k = p->b_k;
    p->y.dim[p->y.rank++] = p->m;
    p->y.dim[p->y.rank++] = p->n;
    return true;
}

/* The batch with as few axes as possible, but at least AXES; a, b: the strides of the inputs along each, 0:
 * broadcast. */
typedef struct Batch {
    int rank;
    Dim dim[MAX_RANK], a[MAX_RANK], b[MAX_RANK];
} Batch;

/* The strides of s along the batch axes of y, right-aligned. */
static void batch_strides(Shape s, Shape y, Dim *step)
{
    Dim at = dim_mul(s.dim[s.rank - 1], s.dim[s.rank - 2]);
    for (int i = y.rank - 3, j = s.rank - 3; i >= 0; i--, j--) {
        step[i] = j < 0 || dim_is(s.dim[j], 1) ? D(0) : at;
        if (j >= 0 && !dim_identical(s.dim[j], y.dim[i])) /* the size may be 1 at run time */
            step[i] = dim_select(dim_eq_expr(s.dim[j], D(1)), D(0), at);
        at = j < 0 ? at : dim_mul(at, s.dim[j]);
    }
}

static Batch batch_merge(const Product *p)
{
    Batch q = {.rank = 0};
    Dim a[MAX_RANK], b[MAX_RANK];
    int rank = p->y.rank - 2;
    batch_strides(p->a, p->y, a);
    batch_strides(p->b, p->y, b);
    for (int i = 0; i < rank; i++) {
        Dim d = p->y.dim[i];
        int k = q.rank - 1;
        if (dim_is(d, 1))
            continue;
        if (k >= 0 && dim_identical(q.a[k], dim_mul(a[i], d)) && dim_identical(q.b[k], dim_mul(b[i], d)))
            q.dim[k] = dim_mul(q.dim[k], d);
        else
            q.dim[q.rank++] = d;
        q.a[q.rank - 1] = a[i];
        q.b[q.rank - 1] = b[i];
    }
    for (; q.rank < AXES; q.rank++) {
        q.dim[q.rank] = D(1);
        q.a[q.rank] = q.b[q.rank] = D(0);
    }
    return q;
}

/* Input i expanded to the batch of y. */
static Value *whole_batch(Node *n, int i, Shape y)
{
    Shape s = in_shape(n, i);
    for (int k = 1; k <= 2; k++)
        y.dim[y.rank - k] = s.dim[s.rank - k];
    return inferred(make(n, "Expand", 2, in(n, i), make_dims(n, y.rank, y.dim)));
}

static void product_infer(Node *n)
{
    Product p;
    if (!product_read(n, &p))
        return;
    if (!p.packed) {
        if (!require_dim(n, "columns of the matrix on the left, for the rows on the right", p.a_k, p.b_k))
            return;
        assume_broadcast(n, batch_of(p.a), batch_of(p.b));
    }
    if (!p.packed && batch_merge(&p).rank > AXES) /* more than the kernel supports */
        for (int i = 0; i < 2; i++)
            node_set_in(n, i, whole_batch(n, i, p.y));
    set_out(n, 0, in_type(n, 0), p.y);
}

/* ---- binding ----------------------------------------------------------------------------------------------------- */

#define DIMS4(a) {(a)[0], (a)[1], (a)[2], (a)[3]}

/* A product whose weights stay as they are stored. */
static void bind_coded(Node *n, const Product *p, const Coded *c)
{
    enum { EXPANDED = 64, FEWEST = 32 }; /* values of k that are expanded at a time */
    Dim m = shape_product(p->a, 0, p->a.rank - 1);
    const bool wide = opt()->target->vector > 4 && !dim_is(m, 1); /* vectors expand a single row in registers */
    const int64_t most = wide ? COLUMNS : TILE_PANEL, all = dim_value(dim_ceil(p->n, D(TILE_PANEL))) * TILE_PANEL;
    const int64_t columns = all < most ? all : most, depth = CACHE / COLUMNS / 4;
    const int64_t part = wide ? EXPANDED : FEWEST, chunk = dim_value(p->k) < part ? dim_value(p->k) : part;
    BIND_ARGS(n, dense_coded, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), NULL, in(n, 3), in(n, 4), out(n, 0)),
              .m = m, .n = p->n, .k = p->k, .x_pitch = p->k, .y_pitch = p->n, .r_pitch = p->n, CODED_FIELDS(*c),
              .columns = D(columns), .chunk = D(chunk), .depth = D(depth), .lo = -__builtin_inf(),
              .hi = __builtin_inf());
    Dim floats = D(chunk * columns);
    if (dim_value(p->k) > depth)
        floats = dim_add(floats, dim_mul(m, D(columns)));
    bind_scratch(n, dim_mul(D(4), floats));
}

static void bind_dense(Node *n, const Product *p)
{
    Coded coded;
    if (coded_read(n, &coded)) {
        bind_coded(n, p, &coded);
        return;
    }
    Dim m = shape_product(p->a, 0, p->a.rank - 1);
    int64_t columns = dim_value(p->n), k = dim_value(p->k), pass = columns;
    if (k * columns * 4 > CACHE && k * 4 * COLUMNS < CACHE)
        pass = CACHE / (k * 4) / COLUMNS * COLUMNS;
    else if (k * columns * 4 > CACHE)
        pass = COLUMNS;
    BIND_ARGS(n, dense, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), NULL, out(n, 0)), .m = m, .n = p->n, .k = p->k,
              .x_pitch = p->k, .y_pitch = p->n, .r_pitch = p->n, .w_k = D(p->splat ? 0 : TILE_PANEL),
              .w_panel = p->splat ? D(0) : dim_mul(p->k, D(TILE_PANEL)), .columns = D(pass),
              .depth = D(CACHE / COLUMNS / 4), .lo = -__builtin_inf(), .hi = __builtin_inf());
}

static void product_bind(Node *n)
{
    Product p;
    if (!product_read(n, &p))
        return;
    Dim macs = dim_mul(shape_count(p.y), p.k);
    n->macs = dim_high(macs) < INT64_MAX ? dim_high(macs) : 0; /* run-time sizes at their upper bounds */
    if (p.packed) {
        bind_dense(n, &p);
        return;
    }
    Batch q = batch_merge(&p);
    Dim a_row = p.trans_a ? D(1) : p.k, a_k = p.trans_a ? p.m : D(1);
    Dim b_k = p.trans_b ? D(1) : p.n, b_column = p.trans_b ? p.k : D(1);
    Dim m = p.m, depth = D(CACHE / COLUMNS / 4);
    if (!p.trans_a && dim_is(q.dim[1], 1) && dim_is(q.b[0], 0) && dim_identical(q.a[0], dim_mul(p.m, p.k))) {
        m = dim_mul(m, q.dim[0]); /* a shared right-hand side: the batch becomes rows of one matrix */
        q.dim[0] = D(1);
    }
    if (in_type(n, 0) != F32) {
        BIND_ARGS(n, matmul_plain, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), out(n, 0)),
                  .batch = DIMS4(q.dim), .m = m, .n = p.n, .k = p.k, .a_batch = DIMS4(q.a), .b_batch = DIMS4(q.b),
                  .a_row = a_row, .a_k = a_k, .b_k = b_k, .b_column = b_column);
        return;
    }
    BIND_ARGS(n, matmul, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), NULL, out(n, 0)), .batch = DIMS4(q.dim),
              .m = m, .n = p.n, .k = p.k, .a_batch = DIMS4(q.a), .b_batch = DIMS4(q.b), .a_row = a_row, .a_k = a_k,
              .b_k = b_k, .b_column = b_column, .y_pitch = p.n, .r_pitch = p.n, .depth = depth,
              .direct = D(!p.trans_b && dim_high(m) <= FEW_ROWS), .lo = -__builtin_inf(), .hi = __builtin_inf());
    Dim scratch = dim_mul(dim_min(p.k, depth), D(COLUMNS));
    bind_scratch(n, dim_mul(D(4), p.trans_a ? dim_add(scratch, dim_mul(m, p.k)) : scratch));
}

/* ---- constant right-hand sides ----------------------------------------------------------------------------------- */

/* Is b one constant matrix? */
static bool has_weights(Node *n, Product *p)
{
    if (attr_is_given(n, "columns"))
        return false;
    if (in_type(n, 0) != F32)
        return declines(REWRITE_PACK, n, "it is of %s, not float", type_onnx(in_type(n, 0)));
    if (!in_is_const(n, 1))
        return declines(REWRITE_PACK, n, "%s is no constant", remark_value(in(n, 1)));
    if (attr_int(n, "trans_a"))
        return declines(REWRITE_PACK, n, "its left matrix is transposed");
    if (!product_read(n, p))
        return false;
    if (p->b.rank > p->a.rank || !dim_is(shape_product(p->b, 0, p->b.rank - 2), 1))
        return declines(REWRITE_PACK, n, "%s is more than one matrix", remark_value(in(n, 1)));
    if (!dim_is_const(p->a.dim[p->a.rank - 1]))
        return declines(REWRITE_PACK, n, "the length of its rows is known only at run time");
    return applies(REWRITE_PACK, n, "%s, in panels", remark_value(in(n, 1)));
}

/* Packs b into panels if it is one constant matrix. */
static void product_layout(Node *n)
{
    Product p;
    Coded coded;
    Value *b = in(n, 1), *late;
    if (!has_weights(n, &p))
        return;
    const int64_t k = dim_value(p.k), columns = dim_value(p.n);
    const Panels panels = {1, columns, k, 1, p.trans_b ? k : 1, p.trans_b ? 1 : columns, 0, 1, 0, NULL};
    if (pack_coded_panels(n, b, &panels, &coded)) {
        node_set_inputs(n, 5, (Value *[]){in(n, 0), coded.w, in(n, 2), coded.scale, coded.zero});
        coded_keep(n, &coded);
    } else if (b->data->splat) {
        Tensor *panel = tensor_new_fill(F32, shape_list(1, D(TILE_PANEL)), b->data->data);
        node_set_in(n, 1, value_const(n->graph, provenance_splat(panel, b)));
        attr_set_int(n, "splat", 1);
    } else if ((late = unfolded(n, b)) != NULL) {
        node_set_in(n, 1, late);
        return;
    } else {
        Node *pack = node_new(n->graph, "onnxcc.ProductPack", 1, &b, 1);
        pack->source = n->source;
        pack->name = b->name;
        attr_set_int(pack, "trans_b", p.trans_b);
        node_insert(pack, n);
        node_set_in(n, 1, folded_node(pack));
    }
    attr_set_int(n, "columns", dim_value(p.n));
}

static void pack_sizes(const Node *n, Dim *k, Dim *columns)
{
    Shape b = in_shape(n, 0);
    bool trans = attr_int(n, "trans_b");
    *k = b.dim[b.rank - (trans ? 1 : 2)];
    *columns = b.dim[b.rank - (trans ? 2 : 1)];
}

static void pack_infer(Node *n)
{
    Dim k, columns;
    pack_sizes(n, &k, &columns);
    set_out(n, 0, F32, shape_list(3, dim_ceil(columns, D(TILE_PANEL)), k, D(TILE_PANEL)));
}

static void pack_bind(Node *n)
{
    Dim k, columns;
    pack_sizes(n, &k, &columns);
    bool trans = attr_int(n, "trans_b");
    BIND(n, conv_pack, .group = D(1), .cout = columns, .cin = k, .taps = D(1), .w_out = trans ? k : D(1),
         .w_in = trans ? D(1) : columns, .w_tap = D(0));
}

static Value *folded(Node *n, const char *op, Value *a, Value *b)
{
    Value *v = make(n, op, 2, a, b);
    infer_node(v->def);
    return v;
}

/* Folds a scale: b * factor by column, (bias or 0) * factor + offset. */
static bool product_fold_scale(Node *n, Value *factor, Value *offset)
{
    Value *b = in(n, 1), *bias = in(n, 2);
    if (!in_is_const(n, 1) || (bias && !in_is_const(n, 2)) || attr_is_given(n, "columns"))
        return declines(REWRITE_SCALE, n, "its matrix or its bias is no constant");
    if (factor) {
        const int64_t column[2] = {-1, 1};
        Value *f = attr_int(n, "trans_b") ? folded(n, "Reshape", factor, make_ints(n, 2, column)) : factor;
        node_set_in(n, 1, weights_times(n, b, f));
        bias = bias ? folded(n, "Mul", bias, factor) : NULL;
    }
    if (offset)
        bias = bias ? folded(n, "Add", bias, offset) : offset;
    node_set_inputs(n, bias ? 3 : 2, (Value *[]){in(n, 0), in(n, 1), bias});
    return true;
}

/* ---- MatMul and Gemm --------------------------------------------------------------------------------------------- */

/* A vector is a row as the left factor and a column as the right one; the output lacks that axis. */
static void matmul_expand(Node *n)
{
    Value *a = in(n, 0), *b = in(n, 1);
    if (!a->shape->rank || !b->shape->rank) {
        node_error(n, "%s times %s: scalars have no columns", shape_text(*a->shape), shape_text(*b->shape));
        return;
    }
    int64_t gone[2];
    int n_gone = 0;
    if (a->shape->rank == 1) {
        a = make(n, "Unsqueeze", 2, a, make_ints(n, 1, (int64_t[]){0}));
        gone[n_gone++] = -2;
    }
    if (b->shape->rank == 1) {
        b = make(n, "Unsqueeze", 2, b, make_ints(n, 1, (int64_t[]){1}));
        gone[n_gone++] = -1;
    }
    Value *y = make(n, "onnxcc.Product", 2, a, b);
    expand_to(n, n_gone ? make(n, "Squeeze", 2, y, make_ints(n, n_gone, gone)) : y);
}

/* v as t, times factor. */
static Value *scaled(Node *n, Value *v, Type t, double factor)
{
    v = make_cast(n, v, t);
    if (factor == 1)
        return v;
    Value *f = make_scalar(n, t, factor);
    return v->data ? weights_times(n, v, f) : make(n, "Mul", 2, v, f);
}

/* Is multiplication by the factor exact, unless it overflows? */
static bool is_power_of_2(double factor)
{
    int e;
    return factor == 0 || fabs(frexp(factor, &e)) == 0.5;
}

/* alpha * a b + beta * c; alpha is applied to the constant one of a and b, if any. 16-bit floats are computed in float
 * if alpha or beta would round them. */
static void gemm_expand(Node *n)
{
    double alpha = attr_float(n, "alpha"), beta = attr_float(n, "beta");
    bool exact = is_power_of_2(alpha) && (!in(n, 2) || is_power_of_2(beta));
    Type t = in_type(n, 0), wide = type_is_float(t) && !exact ? type_arith(t) : t;
    Value *a = in(n, 0), *b = in(n, 1), *c = in(n, 2);
    if (a->shape->rank != 2 || b->shape->rank != 2) {
        node_error(n, "%s times %s: both must be matrices", shape_text(*a->shape), shape_text(*b->shape));
        return;
    }
    bool trans_a = attr_int(n, "transA"), trans_b = attr_int(n, "transB");
    Dim m = a->shape->dim[trans_a], columns = b->shape->dim[!trans_b];
    Shape y = shape_list(2, m, columns);
    bool broadcast = n->op->since_version >= 7 || attr_int(n, "broadcast");
    if (broadcast ? !require_expands(n, 2, y) : !require_shape(n, 2, y))
        return;
    bool alpha_to_b = in_is_const(n, 1);
    a = scaled(n, a, wide, alpha_to_b ? 1 : alpha);
    b = scaled(n, b, wide, alpha_to_b ? alpha : 1);
    Shape s = c ? *c->shape : (Shape){0};
    bool bias =
        c && s.rank > 0 && dim_identical(s.dim[s.rank - 1], columns) && dim_is(shape_product(s, 0, s.rank - 1), 1);
    c = c && beta != 0 ? scaled(n, c, wide, beta) : NULL;
    bias = bias && c;
    if (bias && s.rank > 1)
        c = make(n, "Reshape", 2, c, make_ints(n, 1, (int64_t[]){-1}));
    Value *v = bias ? make(n, "onnxcc.Product", 3, a, b, c) : make(n, "onnxcc.Product", 2, a, b);
    attr_set_int(v->def, "trans_a", trans_a);
    attr_set_int(v->def, "trans_b", trans_b);
    expand_to(n, make_cast(n, c && !bias ? make(n, "Add", 2, v, c) : v, t));
}

#define GEMM "alpha:float=1 beta:float=1 transA:int=0 transB:int=0"
#define NUMBERS "int32|int64|uint32|uint64"

static const Op matmul_ops[] = {
    {"MatMul", 13, "A:T B:T -> Y:T", "T=FB|" NUMBERS, "", .expand = matmul_expand,
     .compatible = "9 T=F|" NUMBERS "; 1 T=F"},
    {"Gemm", 13, "A:T B:T C?:T -> Y:T", "T=FB|" NUMBERS, GEMM, .expand = gemm_expand, .compatible = "11 T=F|" NUMBERS},
    {"Gemm", 9, "A:T B:T C:T -> Y:T", "T=F|" NUMBERS, GEMM, .expand = gemm_expand,
     .compatible = "7 T=F; 6 T=F / " GEMM " broadcast:int=0; 1 T=F / " GEMM " broadcast:int=0"},
    {"Product", 1, "a:T b:W bias?:T scale?:S zero?:Z -> y:T",
     "T=FB|" NUMBERS " W=FB|" NUMBERS "|uint8|uint16 S=float|float16|bfloat16|float8e8m0 "
     "Z=float|float16|bfloat16|float8e8m0|uint8|uint16",
     "trans_a:int=0 trans_b:int=0", product_infer, product_bind, .flags = EPILOGUE, .domain = "onnxcc",
     .layout = product_layout, .fold_scale = product_fold_scale},
    {"ProductPack", 1, "b:T -> y:T", "T=float", "trans_b:int=0", pack_infer, pack_bind, .domain = "onnxcc"},
};
OPS(matmul_ops);
