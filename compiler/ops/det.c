/* det.c - Det; Inverse, of com.microsoft. */
#include "microsoft.h"
#include "ir/call.h"
#include "det.h"
#include "inverse.h"

static bool is_square(Node *n)
{
    Shape s = in_shape(n, 0);
    return s.rank < 2 ? node_error(n, "the input %s is no matrix", shape_text(s))
                      : require_dim(n, "rows of a square matrix", s.dim[s.rank - 2], s.dim[s.rank - 1]);
}

static void det_infer(Node *n)
{
    Shape s = in_shape(n, 0);
    if (!is_square(n))
        return;
    s.rank -= 2;
    set_out(n, 0, in_type(n, 0), s);
}

static void det_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    Type t = in_type(n, 0);
    Dim size = s.dim[s.rank - 1];
    BIND(n, det, .count = shape_product(s, 0, s.rank - 2), .n = size);
    bind_scratch(n, dim_mul(D(type_bits(type_arith(t)) / 8), dim_mul(size, size)));
}

static void inverse_infer(Node *n)
{
    if (is_square(n))
        infer_same(n);
}

static void inverse_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    Type t = in_type(n, 0);
    Dim size = s.dim[s.rank - 1];
    BIND(n, inverse, .count = shape_product(s, 0, s.rank - 2), .n = size);
    bind_scratch(n, dim_mul(D(2 * type_bits(type_arith(t)) / 8), dim_mul(size, size)));
}

static const Op det_ops[] = {
    {"Det", 22, "X:T -> Y:T", "T=FB", "", .infer = det_infer, .bind = det_bind, .compatible = "11 T=F"},
    {"Inverse", 1, "X:T -> Y:T", "T=float|double|float16", "", .infer = inverse_infer, .bind = inverse_bind, MICROSOFT},
};
OPS(det_ops);
