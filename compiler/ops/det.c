/* det.c - Det. */
#include "ir/call.h"
#include "det.h"

static void det_infer(Node *n)
{
    Shape s = in_shape(n, 0);
    if (s.rank < 2) {
        node_error(n, "the input %s is no matrix", shape_text(s));
        return;
    }
    if (!require_dim(n, "rows of a square matrix", s.dim[s.rank - 2], s.dim[s.rank - 1]))
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

static const Op det_ops[] = {
    {"Det", 22, "X:T -> Y:T", "T=FB", "", .infer = det_infer, .bind = det_bind, .compatible = "11 T=F"},
};
OPS(det_ops);
