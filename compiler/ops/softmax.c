/* softmax.c - Softmax, LogSoftmax, Hardmax. */
#include "ir/call.h"
#include "softmax.h"

static void softmax_infer(Node *n)
{
    attr_axis(n, "axis", in_shape(n, 0).rank);
    infer_same(n);
}

static void softmax_bind(Node *n)
{
    Shape s = in_shape(n, 0);
    int a = attr_axis(n, "axis", s.rank);
    struct softmax_bind p = {
        .outer = shape_product(s, 0, a), .axis = s.rank ? s.dim[a] : D(1), .inner = shape_product(s, a + 1, s.rank)};
    const char *kernel = !strcmp(n->op->name, "Softmax")   ? "softmax"
                         : !strcmp(n->op->name, "Hardmax") ? "hardmax"
                                                           : "log_softmax";
    bind_kernel(n, kernel, NO_TYPE, NO_TYPE, softmax_fields(), &p, NULL, 0);
}

/* Before version 13 it was over all axes from `axis` on. */
static void softmax_before_13(Node *n)
{
    int rank = in_shape(n, 0).rank, a = attr_axis(n, "axis", rank);
    Value *x = in(n, 0), *y;
    if (a == rank - 1) {
        y = make(n, n->op->name, 1, x);
    } else {
        Value *rows = with_int(make(n, "Flatten", 1, x), "axis", a);
        y = make(n, "Reshape", 2, make(n, n->op->name, 1, rows), make(n, "Shape", 1, x));
    }
    expand_to(n, y);
}

/* clang-format off */
#define SOFTMAX(name)                                                                                                  \
    {name, 13, "input:T -> output:T", "T=FB", "axis:int=-1", .infer = softmax_infer, .bind = softmax_bind,             \
     .flags = INPLACE, .permute = permute_axis},                                                                       \
    {name, 11, "input:T -> output:T", "T=F", "axis:int=1", .expand = softmax_before_13, .compatible = "1"}
/* clang-format on */

static const Op softmax_ops[] = {SOFTMAX("Softmax"), SOFTMAX("LogSoftmax"), SOFTMAX("Hardmax")};
OPS(softmax_ops);
