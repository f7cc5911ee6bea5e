/* loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: onnxcc.NllLoss computes the loss and the weight of
 * every sample, which are then reduced by ordinary operators. */
#include "ir/call.h"
#include "loss.h"

static void nll_infer(Node *n)
{
    Shape x = in_shape(n, 0), t = in_shape(n, 1), w = in_shape(n, 2), y = {0};
    bool fits = x.rank >= 2 && t.rank == x.rank - 1 &&
                (!in(n, 2) || (w.rank == 1 && !dim_is(dim_eq_expr(w.dim[0], x.dim[1]), 0)));
    for (int i = 0; fits && i < x.rank; i++)
        if (i != 1) {
            fits = !dim_is(dim_eq_expr(x.dim[i], t.dim[y.rank]), 0);
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
    for (int64_t i = 0; in_is_const(n, 1) && i < tensor_count(in(n, 1)->data); i++) {
        int64_t v = tensor_get_int(in(n, 1)->data, i);
        if ((!attr_is_given(n, "ignore_index") || v != attr_int(n, "ignore_index")) &&
            !require_index(n, v, x.dim[1], false))
            return;
    }
    set_out(n, 0, in_type(n, 0), y);
    set_out(n, 1, in_type(n, 0), y);
}

static void nll_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    BIND2(n, nll_loss, in_type(n, 0), in_type(n, 1), .outer = x.dim[0], .classes = x.dim[1],
          .inner = shape_product(x, 2, x.rank), .ignores = D(attr_is_given(n, "ignore_index")),
          .ignored = D(attr_int(n, "ignore_index")));
}

/* The reduced loss of the log-probabilities x. The mean is weighted by the applied weights. */
static Value *reduced_loss(Node *n, Value *x)
{
    bool mean = attr_is(n, "reduction", "mean"), plain = !in(n, 2) && !attr_is_given(n, "ignore_index");
    Value *in[] = {x, n->in[1], n->n_in > 2 ? n->in[2] : NULL};
    Node *loss = make_node(n, "onnxcc.NllLoss", 3, in, mean && !plain ? 2 : 1);
    if (attr_is_given(n, "ignore_index"))
        attr_set_int(loss, "ignore_index", attr_int(n, "ignore_index"));
    if (attr_is(n, "reduction", "none"))
        return loss->out[0];
    Value *sum = with_int(make(n, mean && plain ? "ReduceMean" : "ReduceSum", 1, loss->out[0]), "keepdims", 0);
    if (!mean || plain)
        return sum;
    Value *weight = with_int(make(n, "ReduceSum", 1, loss->out[1]), "keepdims", 0);
    return make(n, "Div", 2, sum, weight);
}

static bool is_reduction_known(Node *n)
{
    if (attr_is(n, "reduction", "mean") || attr_is(n, "reduction", "sum") || attr_is(n, "reduction", "none"))
        return true;
    node_error(n, "reduction is \"%s\"", attr_string(n, "reduction"));
    note_help("none, sum and mean are possible");
    return false;
}

static void nll_expand(Node *n)
{
    if (!is_reduction_known(n))
        return;
    expand_to(n, reduced_loss(n, in(n, 0)));
}

static void cross_entropy_expand(Node *n)
{
    if (!is_reduction_known(n))
        return;
    Value *log_prob = with_int(make(n, "LogSoftmax", 1, in(n, 0)), "axis", 1);
    replace_out(n, 0, reduced_loss(n, log_prob));
    replace_out(n, 1, log_prob);
    expand_done(n);
}

#define LOSS "ignore_index:int? reduction:string=mean"

static const Op loss_ops[] = {
    {"NegativeLogLikelihoodLoss", 22, "input:T target:Tind weight?:T -> loss:T", "T=FB Tind=int32|int64", LOSS,
     .expand = nll_expand, .compatible = "13 T=F; 12 T=F"},
    {"SoftmaxCrossEntropyLoss", 13, "scores:T labels:Tind weights?:T -> output:T log_prob?:T", "T=FB Tind=int32|int64",
     LOSS, .expand = cross_entropy_expand, .compatible = "12 T=F"},
    {"NllLoss", 1, "input:T target:Tind weight?:T -> loss:T applied?:T", "T=FB Tind=int32|int64", "ignore_index:int?",
     nll_infer, nll_bind, .flags = STOPS, .domain = "onnxcc"},
};
OPS(loss_ops);
