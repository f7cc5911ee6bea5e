/* topk.c - TopK. */
#include "../infer.h"
#include "topk.h"

static void topk_infer(Node *n)
{
    Shape y = in_shape(n, 0);
    Dim k;
    if (!y.rank || !dim_is(shape_count(in_shape(n, 1)), 1)) {
        node_error(n, y.rank ? "K %s must be one number" : "a scalar has no axis; K %s", shape_text(in_shape(n, 1)));
        return;
    }
    int a = attr_axis(n, "axis", y.rank);
    if (in_dims(n, 1, &k, 1) < 0)
        return;
    Dim fits = dim_max(dim_min(k, y.dim[a]), D(0));
    if (dim_is(dim_equal(fits, k), 0)) {
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

/* k was an attribute. */
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

static const Op topk_ops[] = {
    {"TopK", 24, "X:T K:int64 -> Values:T Indices:I", "T=NB I=int64", "axis:int=-1 largest:int=1 sorted:int=1",
     .infer = topk_infer, .bind = topk_bind, .was = "11 T=N; 10 T=F / axis:int=-1"},
    {"TopK", 1, "X:T -> Values:T Indices:I", "T=F I=int64", "axis:int=-1 k:int", .expand = topk_1},
};
OPS(topk_ops);
