/* experts.c - MoE and QMoE, of com.microsoft: a mixture of experts, each a network of two layers. */
#include "bits.h"
#include "ir/call.h"
#include "microsoft.h"
#include "experts.h"
#include "stored.h"

/* ---- onnxcc.Experts: for each row, the products with the matrices of the experts that `at` selects --------------- */

/* The shape of the weights: (experts, columns, depth). */
static Shape weights_of(const Node *n)
{
    if (!attr_is_given(n, "depth"))
        return in_shape(n, 1);
    return shape_list(3, D(attr_int(n, "experts")), D(attr_int(n, "columns")), D(attr_int(n, "depth")));
}

static void experts_infer(Node *n)
{
    Shape x = in_shape(n, 0), w = weights_of(n), at = in_shape(n, 2);
    Dim rows = at.dim[0], each = at.dim[1];
    if (require_dim(n, "elements of a row of the weights", w.dim[2], x.dim[x.rank - 1]) &&
        require_shape(n, 3, shape_list(2, w.dim[0], w.dim[1])) && require_dim(n, "rows", x.dim[0], rows))
        set_out(n, 0, in_type(n, 0), shape_list(3, rows, each, w.dim[1]));
}

static void experts_bind(Node *n)
{
    Shape x = in_shape(n, 0), w = weights_of(n), at = in_shape(n, 2);
    Coded c;
#define EXPERTS                                                                                                        \
    .tokens = at.dim[0], .each = at.dim[1], .depth = w.dim[2], .columns = w.dim[1], .experts = w.dim[0],                 \
    .shared = D(x.rank == 2)
    if (coded_read(n, &c)) {
        BIND(n, experts_coded, EXPERTS, CODED_FIELDS(c));
        bind_scratch(n, D(EXPERTS_RUN * TILE_PANEL * 4));
    } else
        BIND_ARGS(n, experts, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), in(n, 3), out(n, 0)), EXPERTS);
#undef EXPERTS
    Dim macs = dim_mul(shape_count(*out(n, 0)->shape), w.dim[2]);
    n->macs = dim_high(macs) < INT64_MAX ? dim_high(macs) : 0; /* at the bounds */
}

/* Weights that are codes stay as they are stored. */
static void experts_layout(Node *n)
{
    Coded c;
    if (!in_is_const(n, 1) || attr_is_given(n, "depth") || in_type(n, 0) != F32)
        return;
    Shape w = in_shape(n, 1);
    const int64_t experts = dim_value(w.dim[0]), columns = dim_value(w.dim[1]), depth = dim_value(w.dim[2]);
    if (!pack_coded_panels(n, in(n, 1), &(Panels){experts, columns, depth, 1, depth, 1, 0, 1, 0, NULL}, &c))
        return;
    node_set_inputs(n, 6, (Value *[]){in(n, 0), c.w, in(n, 2), in(n, 3), c.scale, c.zero});
    coded_keep(n, &c);
    attr_set_int(n, "experts", experts);
    attr_set_int(n, "columns", columns);
    attr_set_int(n, "depth", depth);
}

/* ---- the layers of the experts ----------------------------------------------------------------------------------- */

enum { X, ROUTER };
typedef struct Layers {
    Value *w[3], *bias[3]; /* of fc1, fc2 and fc3; fc3 and any bias may be NULL */
    Shape shape[3];        /* of w: experts, rows, columns */
    Type type;             /* of w and bias, and of all that is computed */
} Layers;

static bool is_given(Node *n, const char *activation) { return attr_is(n, "activation_type", activation); }

static bool check_layers(Node *n, const Layers *l)
{
    Shape x = in_shape(n, X), router = in_shape(n, ROUTER), w1 = l->shape[0], w2 = l->shape[1];
    int64_t fusion = attr_int(n, "swiglu_fusion");
    bool known = is_given(n, "relu") || is_given(n, "gelu") || is_given(n, "silu") || is_given(n, "swiglu") ||
                 is_given(n, "identity");
    if (!known)
        return node_error(n, "activation_type is \"%s\"", attr_string(n, "activation_type"));
    if (attr_int(n, "use_sparse_mixer") && attr_int(n, "k") != 2) /* has no effect, as in ONNX Runtime on a CPU */
        return node_error(n, "use_sparse_mixer needs a k of 2, not %lld", (long long)attr_int(n, "k"));
    if ((x.rank != 2 && x.rank != 3) || router.rank != 2 || w1.rank != 3 || w2.rank != 3 ||
        (l->w[2] && l->shape[2].rank != 3))
        return node_error(n, "the input %s, router_probs %s and the weights must have 2 or 3, 2 and 3 dimensions",
                          shape_text(x), shape_text(router));
    if (fusion < 0 || fusion > 2 || (is_given(n, "swiglu") && !fusion != (l->w[2] != NULL)))
        return node_error(n, "swiglu needs the weights of fc3, or swiglu_fusion of 1 or 2 without them");
    Dim k = D(attr_int(n, "k"));
    return require_dim(n, "k, which is at least 1", dim_max(k, D(1)), k) &&
           require_dim(n, "experts, with the k that are chosen", dim_max(router.dim[1], k), router.dim[1]) &&
           require_dim(n, "experts of fc1", w1.dim[0], router.dim[1]) &&
           require_dim(n, "experts of fc2", w2.dim[0], router.dim[1]) &&
           require_dim(n, "elements of fc2's rows", w2.dim[1], x.dim[x.rank - 1]);
}

static Value *product(Node *n, const Layers *l, int i, Value *x, Value *at)
{
    return make(n, "onnxcc.Experts", 4, x, l->w[i], at, l->bias[i]);
}

/* Part i of two of v, of shape (..., 2 * size): every other element, or a half. */
static Value *part(Node *n, Value *v, Dim rows, Dim size, bool interleaved, int64_t i)
{
    Dim k = D(attr_int(n, "k")), two = D(2);
    v = make_reshape(n, v, 4, (Dim[]){rows, k, interleaved ? size : two, interleaved ? two : size});
    return with_int(make(n, "Gather", 2, v, make_int(n, i)), "axis", interleaved ? 3 : 2);
}

/* g * Sigmoid(alpha * g) * (l + beta), where swiglu_limit bounds g above and l on both sides. */
static Value *swiglu(Node *n, Type t, Value *g, Value *l)
{
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
static Value *hidden(Node *n, const Layers *l, Value *x, Value *at, Dim rows)
{
    Value *h = product(n, l, 0, x, at), *more = l->w[2] ? product(n, l, 2, x, at) : NULL;
    int64_t fusion = attr_int(n, "swiglu_fusion");
    Dim size = dim_div(l->shape[0].dim[1], D(2));
    if (is_given(n, "swiglu"))
        return swiglu(n, l->type, more ? h : part(n, h, rows, size, fusion == 1, 0),
                      more ? more : part(n, h, rows, size, fusion == 1, 1));
    if (is_given(n, "gelu")) {
        h = make(n, "Gelu", 1, h);
        attr_set_string(h->def, "approximate", "tanh"); /* as ONNX Runtime does */
    } else if (!is_given(n, "identity"))
        h = make(n, is_given(n, "relu") ? "Relu" : "Swish", 1, h);
    return more ? make(n, "Mul", 2, h, more) : h;
}

/* Replaces n by the sum, for every row, of the results of the experts `at`, (rows, k), times p, (rows, k). */
static void expand_mixture(Node *n, const Layers *l, Value *at, Value *p)
{
    Shape x = in_shape(n, X);
    Type t = in_type(n, X);
    Dim rows = in_shape(n, ROUTER).dim[0];
    p = make_reshape(n, p, 3, (Dim[]){rows, D(attr_int(n, "k")), D(1)});
    Value *flat = make_cast(n, make_reshape(n, in(n, X), 2, (Dim[]){rows, x.dim[x.rank - 1]}), l->type), *y;
    y = make_cast(n, product(n, l, 1, hidden(n, l, flat, at, rows), at), type_arith(t));
    y = make(n, "ReduceSum", 2, make(n, "Mul", 2, y, p), make_ints(n, 1, (int64_t[]){1}));
    expand_to(n, make_reshape(n, make_cast(n, y, t), x.rank, x.dim));
}

/* The k largest of each row of p, and where they are. */
static Node *largest(Node *n, Value *p)
{
    int64_t k = attr_int(n, "k");
    return make_node(n, "TopK", 2, (Value *[]){p, make_ints(n, 1, &k)}, 2);
}

static Value *normalised(Node *n, Value *p)
{
    return make(n, "Div", 2, p, make(n, "ReduceSum", 2, p, make_ints(n, 1, (int64_t[]){-1})));
}

/* ---- MoE --------------------------------------------------------------------------------------------------------- */

/* The k experts with the highest probabilities, which weight their results. */
static void moe_expand(Node *n)
{
    Layers l = {.type = in_type(n, X)};
    for (int i = 0; i < 3; i++) {
        l.w[i] = in(n, 2 + 2 * i);
        l.bias[i] = in(n, 3 + 2 * i);
        l.shape[i] = in_shape(n, 2 + 2 * i);
    }
    if (!check_layers(n, &l))
        return;
    Value *p = make(n, "Softmax", 1, make_cast(n, in(n, ROUTER), type_arith(in_type(n, X))));
    Node *top = largest(n, p);
    p = top->out[0];
    expand_mixture(n, &l, top->out[1], attr_int(n, "normalize_routing_weights") ? normalised(n, p) : p);
}

/* ---- QMoE -------------------------------------------------------------------------------------------------------- */

/* The weights of inputs w, codes (experts, rows, bytes), w + 1, scales, and `zero`, codes, if given: a scale and a zero
 * point for each row or block of a row. NULL: they do not fit, reported. Sets their shape. */
static Value *read_weights(Node *n, int w, int zero, int64_t bits, int64_t block, Shape *shape)
{
    const int64_t max = 1 << 30;
    Shape codes = in_shape(n, w), scales = in_shape(n, w + 1);
    bool fixed = codes.rank == 3 && in(n, w + 1);
    for (int i = 0; i < 3 && fixed; i++)
        fixed = dim_is_const(codes.dim[i]) && dim_value(codes.dim[i]) <= max;
    if (!fixed || dim_high(shape_count(codes)) > max << 10) {
        node_error(n, "input %d, %s, must be weights of fixed sizes, (experts, rows, bytes), with scales", w,
                   shape_text(codes));
        return NULL;
    }
    int64_t rows = dim_value(codes.dim[1]), k = dim_value(codes.dim[2]) * (8 / bits), blocks = block ? k / block : 1;
    if (block && (k % block || blocks < 1)) {
        node_error(n, "%lld columns of input %d are no blocks of %lld", (long long)k, w, (long long)block);
        return NULL;
    }
    int64_t experts = dim_value(codes.dim[0]), all = experts * rows;
    if (!require_dim(n, "scales", shape_count(scales), D(all * blocks)))
        return NULL;
    Shape by_block = shape_list(3, D(all), D(blocks), D(1));
    Value *z = make_scalar(n, F32, (double)(1 << (bits - 1)));
    if (in(n, zero))
        z = make_reshape(n, block ? codes_of(n, zero, bits, all, blocks) : codes_of(n, zero, bits, experts, rows), 3,
                         by_block.dim);
    Value *v = make_reshape(n, codes_of(n, w, bits, all, k), 3, (Dim[]){D(all), D(blocks), D(k / blocks)});
    v = make(n, "Mul", 2, make(n, "Sub", 2, v, z), make_reshape(n, make_cast(n, in(n, w + 1), F32), 3, by_block.dim));
    *shape = shape_list(3, codes.dim[0], codes.dim[1], D(k));
    return make_reshape(n, v, 3, shape->dim);
}

/* The k experts with the highest values, and their softmax, or router_weights, as weights of their results. */
static void qmoe_expand(Node *n)
{
    int64_t bits = attr_int(n, "expert_weight_bits"),
            block = attr_is_given(n, "block_size") ? attr_int(n, "block_size") : 0;
    if (!attr_is(n, "quant_type", "int") || attr_int(n, "weights_prepacked") > 0) {
        node_error(n, "quant_type is \"%s\", weights_prepacked %lld: only integers in their plain layout are supported",
                   attr_string(n, "quant_type"), (long long)attr_int(n, "weights_prepacked"));
        return;
    }
    if ((bits != 2 && bits != 4 && bits != 8) || block < 0) {
        node_error(n, "expert_weight_bits is %lld, block_size %lld: they may be 2, 4 or 8, and at least 1",
                   (long long)bits, (long long)block);
        return;
    }
    Type t = type_arith(in_type(n, X));
    Layers l = {.type = t};
    for (int i = 0; i < 3; i++) {
        if ((in(n, 2 + 3 * i) || i < 2) && !(l.w[i] = read_weights(n, 2 + 3 * i, 11 + i, bits, block, &l.shape[i])))
            return;
        l.bias[i] = in(n, 4 + 3 * i) ? make_cast(n, in(n, 4 + 3 * i), t) : NULL;
    }
    if (!check_layers(n, &l))
        return;
    Node *top = largest(n, make_cast(n, in(n, ROUTER), t));
    Value *p = make(n, "Softmax", 1, top->out[0]);
    if (in(n, 14)) {
        if (!require_shape(n, 14, in_shape(n, ROUTER)))
            return;
        p = with_int(make(n, "GatherElements", 2, make_cast(n, in(n, 14), t), top->out[1]), "axis", 1);
        p = attr_int(n, "normalize_routing_weights") ? normalised(n, p) : p;
    }
    expand_mixture(n, &l, top->out[1], p);
}

static const Op experts_ops[] = {
    {"MoE", 1,
     "input:T router_probs:T fc1_experts_weights:T fc1_experts_bias?:T fc2_experts_weights:T fc2_experts_bias?:T "
     "fc3_experts_weights?:T fc3_experts_bias?:T -> output:T",
     "T=float|float16|bfloat16",
     "activation_alpha:float=1.0 activation_beta:float=0.0 activation_type:string=relu k:int=1 "
     "normalize_routing_weights:int=0 swiglu_fusion:int=0 swiglu_limit:float? use_sparse_mixer:int=0",
     .expand = moe_expand, MICROSOFT},
    {"QMoE", 1,
     "input:T router_probs:T fc1_experts_weights:uint8 fc1_scales?:S fc1_experts_bias?:T fc2_experts_weights:uint8 "
     "fc2_scales?:S fc2_experts_bias?:T fc3_experts_weights?:uint8 fc3_scales?:S fc3_experts_bias?:T "
     "fc1_zero_points?:uint8 fc2_zero_points?:uint8 fc3_zero_points?:uint8 router_weights?:T -> output:T",
     "T=float|float16|bfloat16 S=float|float16|bfloat16",
     "accuracy_level:int=0 activation_alpha:float=1.0 activation_beta:float=0.0 activation_type:string=relu block_size:int? "
     "expert_weight_bits:int=4 k:int=1 normalize_routing_weights:int=0 quant_type:string=int swiglu_fusion:int=0 "
     "swiglu_limit:float? use_sparse_mixer:int=0 weights_prepacked:int=-1",
     .expand = qmoe_expand, .limit = "only integers of one number of bits", MICROSOFT},
    {"Experts", 1, "x:T w:W at:int64 bias?:T scale?:S zero?:Z -> y:T", "T=float|float16|bfloat16 " CODED_TYPES,
     "depth:int? columns:int? experts:int?", .infer = experts_infer, .bind = experts_bind, .layout = experts_layout,
     .domain = "onnxcc"},
};
OPS(experts_ops);
