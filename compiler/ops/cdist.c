/* cdist.c - CDist, of com.microsoft. */
#include "microsoft.h"
#include "ir/call.h"
#include "cdist.h"

static void cdist_infer(Node *n)
{
    Shape a = in_shape(n, 0), b = in_shape(n, 1);
    if (a.rank != 2 || b.rank != 2)
        node_error(n, "%s and %s: both must be matrices", shape_text(a), shape_text(b));
    else if (require_dim(n, "elements of a point", b.dim[1], a.dim[1]))
        set_out(n, 0, in_type(n, 0), shape_list(2, a.dim[0], b.dim[0]));
}

static void cdist_bind(Node *n)
{
    Shape a = in_shape(n, 0);
    BIND(n, cdist, .m = a.dim[0], .n = in_shape(n, 1).dim[0], .k = a.dim[1]);
}

static void cdist_expand(Node *n)
{
    bool root = attr_is(n, "metric", "euclidean");
    if (!root && !attr_is(n, "metric", "sqeuclidean")) {
        node_error(n, "metric is \"%s\"", attr_string(n, "metric"));
        note_help("sqeuclidean and euclidean are possible");
        return;
    }
    Value *y = make(n, "onnxcc.Distances", 2, in(n, 0), in(n, 1));
    expand_to(n, root ? make(n, "Sqrt", 1, y) : y);
}

static const Op cdist_ops[] = {
    {"CDist", 1, "A:T B:T -> C:T", "T=float|double", "metric:string=sqeuclidean", .expand = cdist_expand, MICROSOFT},
    {"Distances", 1, "a:T b:T -> c:T", "T=float|double", "", .infer = cdist_infer, .bind = cdist_bind,
     .domain = "onnxcc"},
};
OPS(cdist_ops);
