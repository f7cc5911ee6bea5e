/* experts.c - MoE, of com.microsoft: a mixture of experts, each a network of two layers. */
#include "ir/call.h"
#include "microsoft.h"
#include "experts.h"

/* ---- onnxcc.Experts: for each row, the products with the matrices of the experts that `at` selects --------------- */

static void experts_infer(Node *n)
{
    Shape x = in_shape(n, 0), w = in_shape(n, 1), at = in_shape(n, 2);
    Dim rows = at.dim[0], each = at.dim[1];
    if (require_dim(n, "elements of a row of the weights", w.dim[2], x.dim[x.rank - 1]) &&
        require_shape(n, 3, shape_list(2, w.dim[0], w.dim[1])) && require_dim(n, "rows", x.dim[0], rows))
        set_out(n, 0, in_type(n, 0), shape_list(3, rows, each, w.dim[1]));
}

static void experts_bind(Node *n)
{
    Shape x = in_shape(n, 0), w = in_shape(n, 1), at = in_shape(n, 2);
    BIND_ARGS(n, experts, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), in(n, 3), out(n, 0)),
              .rows = at.dim[0], .each = at.dim[1], .depth = w.dim[2], .columns = w.dim[1], .experts = w.dim[0],
              .shared = D(x.rank == 2));
    Dim macs = dim_mul(shape_count(*out(n, 0)->shape), w.dim[2]);
    n->macs = dim_high(macs) < INT64_MAX ? dim_high(macs) : 0; /* at the bounds */
}

/* ---- MoE --------------------------------------------------------------------------------------------------------- */

enum { X, ROUTER, W1, B1, W2, B2, W3, B3 };

static bool is_given(Node *n, const char *activation) { return attr_is(n, "activation_type", activation); }

static bool check_moe(Node *n)
{
    Shape x = in_shape(n, X), router = in_shape(n, ROUTER);
    int64_t fusion = attr_int(n, "swiglu_fusion");
    bool known = is_given(n, "relu") || is_given(n, "gelu") || is_given(n, "silu") || is_given(n, "swiglu") ||
                 is_given(n, "identity");
    if (!known)
        return node_error(n, "activation_type is \"%s\"", attr_string(n, "activation_type"));
    if (attr_int(n, "use_sparse_mixer"))
        return node_error(n, "use_sparse_mixer is not supported");
    if ((x.rank != 2 && x.rank != 3) || router.rank != 2 || in_shape(n, W1).rank != 3 || in_shape(n, W2).rank != 3 ||
        (in(n, W3) && in_shape(n, W3).rank != 3))
        return node_error(n, "the input %s, router_probs %s and the weights must have 2 or 3, 2 and 3 dimensions",
                          shape_text(x), shape_text(router));
    if (fusion < 0 || fusion > 2 || (is_given(n, "swiglu") && !fusion != (in(n, W3) != NULL)))
        return node_error(n, "swiglu needs the weights of fc3, or swiglu_fusion of 1 or 2 without them");
    Dim k = D(attr_int(n, "k"));
    return require_dim(n, "k, which is at least 1", dim_max(k, D(1)), k) &&
           require_dim(n, "experts, with the k that are chosen", dim_max(router.dim[1], k), router.dim[1]) &&
           require_dim(n, "experts of fc1", in_shape(n, W1).dim[0], router.dim[1]) &&
           require_dim(n, "experts of fc2", in_shape(n, W2).dim[0], router.dim[1]) &&
           require_dim(n, "elements of fc2's rows", in_shape(n, W2).dim[1], x.dim[x.rank - 1]);
}

static Value *product(Node *n, Value *x, int w, Value *at)
{
    return make(n, "onnxcc.Experts", 4, x, in(n, w), at, in(n, w + 1));
}

/* Part i of two of v, of shape (..., 2 * size): every other element, or a half. */
static Value *part(Node *n, Value *v, Dim rows, Dim size, bool interleaved, int64_t i)
{
    Dim k = D(attr_int(n, "k")), two = D(2);
    v = make_reshape(n, v, 4, (Dim[]){rows, k, interleaved ? size : two, interleaved ? two : size});
    return with_int(make(n, "Gather", 2, v, make_int(n, i)), "axis", interleaved ? 3 : 2);
}

/* g * Sigmoid(alpha * g) * (l + beta), where swiglu_limit bounds g above and l on both sides. */
static Value *swiglu(Node *n, Value *g, Value *l)
{
    Type t = in_type(n, X);
    if (attr_is_given(n, "swiglu_limit")) {
        double limit = attr_float(n, "swiglu_limit");
        g = make(n, "Clip", 3, g, NULL, make_scalar(n, t, limit));
        l = make(n, "Clip", 3, l, make_scalar(n, t, -limit), make_scalar(n, t, limit));
    }
    g = make(n, "Swish", 1, g);
    attr_set_float(g->def, "alpha", attr_float(n, "activation_alpha"));
    double beta = attr_float(n, "activation_beta");
    return make(n, "Mul", 2, g, beta == 0 ? l : make(n, "Add", 2, l, make_scalar(n, t, beta)));
}

/* The hidden layer for every row x and expert: of fc1, times fc3 if there is one. */
static Value *hidden(Node *n, Value *x, Value *at, Dim rows)
{
    Value *h = product(n, x, W1, at), *more = in(n, W3) ? product(n, x, W3, at) : NULL;
    int64_t fusion = attr_int(n, "swiglu_fusion");
    Dim size = dim_div(in_shape(n, W1).dim[1], D(2));
    if (is_given(n, "swiglu"))
        return more ? swiglu(n, h, more)
                    : swiglu(n, part(n, h, rows, size, fusion == 1, 0), part(n, h, rows, size, fusion == 1, 1));
    if (is_given(n, "gelu")) {
        h = make(n, "Gelu", 1, h);
        attr_set_string(h->def, "approximate", "tanh"); /* as ONNX Runtime does */
    } else if (!is_given(n, "identity"))
        h = make(n, is_given(n, "relu") ? "Relu" : "Swish", 1, h);
    return more ? make(n, "Mul", 2, h, more) : h;
}

/* For every row, the k experts with the highest probabilities, whose results are weighted by these. */
static void moe_expand(Node *n)
{
    if (!check_moe(n))
        return;
    Shape x = in_shape(n, X), router = in_shape(n, ROUTER);
    Type t = in_type(n, X);
    Dim rows = router.dim[0];
    int64_t k = attr_int(n, "k"), last = -1;
    Value *p = make(n, "Softmax", 1, make_cast(n, in(n, ROUTER), type_arith(t)));
    Value *args[] = {p, make_ints(n, 1, &k)};
    Node *top = make_node(n, "TopK", 2, args, 2);
    p = top->out[0];
    if (attr_int(n, "normalize_routing_weights"))
        p = make(n, "Div", 2, p, make(n, "ReduceSum", 2, p, make_ints(n, 1, &last)));
    p = make_reshape(n, p, 3, (Dim[]){rows, D(k), D(1)});
    Value *flat = make_reshape(n, in(n, X), 2, (Dim[]){rows, x.dim[x.rank - 1]}), *y;
    y = make_cast(n, product(n, hidden(n, flat, top->out[1], rows), W2, top->out[1]), type_arith(t));
    y = make(n, "ReduceSum", 2, make(n, "Mul", 2, y, p), make_ints(n, 1, (int64_t[]){1}));
    expand_to(n, make_reshape(n, make_cast(n, y, t), x.rank, x.dim));
}

static const Op experts_ops[] = {
    {"MoE", 1,
     "input:T router_probs:T fc1_experts_weights:T fc1_experts_bias?:T fc2_experts_weights:T fc2_experts_bias?:T "
     "fc3_experts_weights?:T fc3_experts_bias?:T -> output:T",
     "T=float|float16|bfloat16",
     "activation_alpha:float=1.0 activation_beta:float=0.0 activation_type:string=relu k:int=1 "
     "normalize_routing_weights:int=0 swiglu_fusion:int=0 swiglu_limit:float? use_sparse_mixer:int=0",
     .expand = moe_expand, .limit = "no use_sparse_mixer", MICROSOFT},
    {"Experts", 1, "x:T w:T at:int64 bias?:T -> y:T", "T=float|float16|bfloat16", "", .infer = experts_infer,
     .bind = experts_bind, .domain = "onnxcc"},
};
OPS(experts_ops);
