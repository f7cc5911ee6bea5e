/* softmax.c - Softmax, LogSoftmax, Hardmax, and the losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
 * onnxcc.NllLoss gives the loss and the weight of every sample, the reductions are ordinary ones. */
#include "../infer.h"
#include "../kernel.h"
#include "loss.h"
#include "softmax.h"

/* ---- Softmax, LogSoftmax, Hardmax --------------------------------------------------------------------------------- */

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

/* Before version 13 the axis split the shape in two: over all of what follows it. */
static void softmax_before_13(Node *n)
{
    int rank = in_shape(n, 0).rank, a = attr_axis(n, "axis", rank);
    Value *x = in(n, 0), *y;
    if (a == rank - 1) {
        y = make(n, n->op->name, 1, x);
    } else {
        Value *rows = make(n, "Flatten", 1, x);
        attr_set_int(rows->def, "axis", a);
        y = make(n, "Reshape", 2, make(n, n->op->name, 1, rows), make(n, "Shape", 1, x));
    }
    replace_out(n, 0, y);
    expand_done(n);
}

/* ---- losses ------------------------------------------------------------------------------------------------------- */

static void nll_infer(Node *n)
{
    Shape x = in_shape(n, 0), t = in_shape(n, 1), w = in_shape(n, 2), y = {0};
    bool fits = x.rank >= 2 && t.rank == x.rank - 1 &&
                (!in(n, 2) || (w.rank == 1 && !dim_is(dim_equal(w.dim[0], x.dim[1]), 0)));
    for (int i = 0; fits && i < x.rank; i++)
        if (i != 1) {
            fits = !dim_is(dim_equal(x.dim[i], t.dim[y.rank]), 0);
            assume_dim(n, t.dim[y.rank], x.dim[i]);
            y.dim[y.rank++] = x.dim[i];
        }
    if (!fits) {
        node_error(n, "scores %s, targets %s%s%s do not go together", shape_text(x), shape_text(t),
                   in(n, 2) ? " and weights " : "", in(n, 2) ? shape_text(w) : "");
        return;
    }
    if (in(n, 2))
        assume_dim(n, w.dim[0], x.dim[1]);
    set_out(n, 0, in_type(n, 0), y);
    set_out(n, 1, in_type(n, 0), y);
}

static void nll_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    BIND2(n, nll_loss, in_type(n, 0), in_type(n, 1), .outer = x.dim[0], .classes = x.dim[1],
          .inner = shape_product(x, 2, x.rank), .ignores = D(attr_given(n, "ignore_index")),
          .ignored = D(attr_int(n, "ignore_index")));
}

/* The reduced loss of the log-probabilities x. The mean is one over the weights that were applied. */
static Value *reduced_loss(Node *n, Value *x)
{
    bool mean = attr_is(n, "reduction", "mean"), plain = !in(n, 2) && !attr_given(n, "ignore_index");
    Value *in[] = {x, n->in[1], n->n_in > 2 ? n->in[2] : NULL};
    Node *loss = make_node(n, "onnxcc.NllLoss", 3, in, mean && !plain ? 2 : 1);
    if (attr_given(n, "ignore_index"))
        attr_set_int(loss, "ignore_index", attr_int(n, "ignore_index"));
    if (attr_is(n, "reduction", "none"))
        return loss->out[0];
    Value *sum = make(n, mean && plain ? "ReduceMean" : "ReduceSum", 1, loss->out[0]);
    attr_set_int(sum->def, "keepdims", 0);
    if (!mean || plain)
        return sum;
    Value *weight = make(n, "ReduceSum", 1, loss->out[1]);
    attr_set_int(weight->def, "keepdims", 0);
    return make(n, "Div", 2, sum, weight);
}

static bool reduction_known(Node *n)
{
    if (attr_is(n, "reduction", "mean") || attr_is(n, "reduction", "sum") || attr_is(n, "reduction", "none"))
        return true;
    node_error(n, "reduction is \"%s\"", attr_string(n, "reduction"));
    note_help("none, sum and mean are possible");
    return false;
}

static void nll_expand(Node *n)
{
    if (!reduction_known(n))
        return;
    replace_out(n, 0, reduced_loss(n, in(n, 0)));
    expand_done(n);
}

static void cross_entropy_expand(Node *n)
{
    if (!reduction_known(n))
        return;
    Value *log_prob = make(n, "LogSoftmax", 1, in(n, 0));
    attr_set_int(log_prob->def, "axis", 1);
    replace_out(n, 0, reduced_loss(n, log_prob));
    replace_out(n, 1, log_prob);
    expand_done(n);
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

#define SINCE_13(name)                                                                                                 \
    {name,                                                                                                             \
     13,                                                                                                               \
     "input:T -> output:T",                                                                                            \
     "T=FB",                                                                                                           \
     "axis:int=-1",                                                                                                    \
     .infer = softmax_infer,                                                                                           \
     .bind = softmax_bind,                                                                                             \
     .flags = INPLACE,                                                                                                 \
     .permute = permute_axis}
#define BEFORE_13(name, since)                                                                                         \
    {name, since, "input:T -> output:T", "T=F", "axis:int=1", .expand = softmax_before_13}
#define NLL(since, types)                                                                                              \
    {"NegativeLogLikelihoodLoss", since, "input:T target:Tind weight?:T -> loss:T", "T=" types " Tind=int32|int64",    \
     "ignore_index:int? reduction:string=mean", .expand = nll_expand}
#define CROSS_ENTROPY(since, types)                                                                                    \
    {"SoftmaxCrossEntropyLoss", since, "scores:T labels:Tind weights?:T -> output:T log_prob?:T",                      \
     "T=" types " Tind=int32|int64", "ignore_index:int? reduction:string=mean", .expand = cross_entropy_expand}

static const Op softmax_ops[] = {
    SINCE_13("Softmax"),
    BEFORE_13("Softmax", 11),
    BEFORE_13("Softmax", 1),
    SINCE_13("LogSoftmax"),
    BEFORE_13("LogSoftmax", 11),
    BEFORE_13("LogSoftmax", 1),
    SINCE_13("Hardmax"),
    BEFORE_13("Hardmax", 11),
    BEFORE_13("Hardmax", 1),
    NLL(22, "FB"),
    NLL(13, "F"),
    NLL(12, "F"),
    CROSS_ENTROPY(13, "FB"),
    CROSS_ENTROPY(12, "F"),
    {"NllLoss", 1, "input:T target:Tind weight?:T -> loss:T applied?:T", "T=FB Tind=int32|int64", "ignore_index:int?",
     nll_infer, nll_bind, .domain = "onnxcc"},
};
OPS(softmax_ops);
