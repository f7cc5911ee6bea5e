/* elementwise.c - elementwise operators: most are schemas that name a function of runtime-min/scalar.def. */
#include <math.h>

#include "ir/loop.h"
#include "ir/schema.h"
#include "passes/infer.h"

/* ---- infer ----------------------------------------------------------------------------------------------- */

static void test_infer(Node *n) { set_out(n, 0, B8, in_shape(n, 0)); }

static void where_infer(Node *n)
{
    Type t = in_type(n, 1);
    if (t == STR || t == C64 || t == C128) {
        n->op = op_find("onnxcc", "Where", INT32_MAX);
        n->op->infer(n);
        return;
    }
    int errors = error_count();
    infer_broadcast(n);
    if (error_count() == errors)
        set_out(n, 0, t, *out(n, 0)->shape);
}

static void clip_infer(Node *n)
{
    for (int i = 1; i < n->n_in; i++)
        if (in(n, i) && (!dim_is(shape_count(in_shape(n, i)), 1) || in_shape(n, i).rank > in_shape(n, 0).rank)) {
            node_error(n, "input %d has shape %s, not one element", i, shape_text(in_shape(n, i)));
            return;
        }
    infer_same(n);
}

static void shift_infer(Node *n)
{
    if (attr_choice(n, "direction", (const char *const[]){"LEFT", "RIGHT", NULL}) >= 0)
        infer_broadcast(n);
}

static void gelu_infer(Node *n)
{
    if (attr_choice(n, "approximate", (const char *const[]){"none", "tanh", NULL}) >= 0)
        infer_same(n);
}

static bool has_zero(const Tensor *t)
{
    for (int64_t i = 0; i < (t->splat ? 1 : tensor_count(t)); i++)
        if (tensor_get_int(t, i) == 0)
            return true;
    return false;
}

/* Division of integers: a constant divisor 0 is an error if the node certainly runs; at run time, 0 ends the run with a
 * status. */
static void div_infer(Node *n)
{
    infer_broadcast(n);
    Value *by = in(n, 1);
    if (!type_is_int(by->type) || !out(n, 0)->shape || dim_high(shape_count(*out(n, 0)->shape)) < 1)
        return;
    bool zero = in_is_const(n, 1) && has_zero(by->data);
    if (zero && always_runs(n))
        node_error(n, "integers are divided by zero");
    else if (zero)
        warn_when_run(n, "integers are divided by zero");
    if (in_is_const(n, 1) && (!zero || always_runs(n)))
        return;
    if (by->data && by->data->symbolic)
        for (int i = 0; i < (int)tensor_count(by->data); i++)
            assume_dim(n, dim_eq_expr(value_dim(by, i), D(0)), D(0));
    else if (!by->def || strcmp(by->def->op->name, "Divisor") != 0)
        node_set_in(n, 1, inferred(make_divisor(n, by)));
}

static void mod_infer(Node *n)
{
    div_infer(n);
    if (attr_int(n, "fmod") != 0 && attr_int(n, "fmod") != 1)
        node_error(n, "fmod is %lld, not 0 or 1", (long long)attr_int(n, "fmod"));
}

static void broadcast_before_7(Node *n);

/* Checks the shapes of versions without broadcasting, or of nodes that do not enable it. */
static bool require_same_shapes(Node *n)
{
    for (int i = 1; i < n->n_in; i++)
        if (!require_shape(n, i, in_shape(n, 0))) {
            note_help("version %d of %s broadcasts %s", n->op->since_version, n->op->name,
                      n->op->expand == broadcast_before_7 ? "with broadcast=1 only" : "nothing");
            return false;
        }
    return true;
}

/* The slope broadcasts to x, but not x to the slope. */
static void prelu_infer(Node *n)
{
    if (require_expands(n, 1, in_shape(n, 0)))
        infer_same(n);
}

/* Max, Min, Sum of any number of inputs: one is an Identity; more than a loop takes are split into several nodes. (Mean
 * is expanded to a Sum.) */
static void variadic_infer(Node *n)
{
    if (n->n_in == 1)
        n->op = op_find("", "Identity", INT32_MAX);
    if (n->n_in > LOOP_IN) {
        int left = n->n_in;
        Value **rest = memcpy(NEWS(Value *, left), n->in, sizeof *rest * (size_t)left);
        for (; left > LOOP_IN; left -= LOOP_IN - 1, rest += LOOP_IN - 1) {
            Node *m = make_node(n, n->op->name, LOOP_IN, rest, 1);
            infer_node(m);
            rest[LOOP_IN - 1] = m->out[0];
        }
        node_set_inputs(n, left, rest);
    }
    infer_broadcast(n);
}

/* ---- bind ------------------------------------------------------------------------------------------------- */

static void variadic_bind(Node *n)
{
    const char *fn = !strcmp(n->op->name, "Max") ? "max" : !strcmp(n->op->name, "Min") ? "min" : "add";
    Loop *l = loop_new(*out(n, 0)->shape);
    Type t = in_type(n, 0), a = type_arith(t);
    int y = loop_in(l, n->in[0]);
    for (int i = 1; i < n->n_in; i++) /* sums are rounded once, at the end */
        y = loop_step(l, fn, a, i + 1 < n->n_in ? a : t, 2, y, loop_in(l, n->in[i]));
    loop_out(l, y, out(n, 0));
    bind_loop(n, l);
}

static void clip_bind(Node *n)
{
    Loop *l = loop_new(*out(n, 0)->shape);
    Type t = in_type(n, 0), a = type_arith(t);
    int x = loop_in(l, n->in[0]), low = in(n, 1) ? loop_in(l, n->in[1]) : 0, high = in(n, 2) ? loop_in(l, n->in[2]) : 0;
    if (type_is_float(t)) {
        low = in(n, 1) ? low : loop_literal(l, a, -INFINITY, 0);
        high = in(n, 2) ? high : loop_literal(l, a, INFINITY, 0);
        x = loop_step(l, "clip", a, t, 3, x, low, high);
    } else {
        x = in(n, 1) ? loop_step(l, "max", a, t, 2, x, low) : x;
        x = in(n, 2) ? loop_step(l, "min", a, t, 2, x, high) : x;
    }
    loop_out(l, x, out(n, 0));
    bind_loop(n, l);
}

static void mod_bind(Node *n) { bind_map(n, attr_int(n, "fmod") ? "fmod" : "mod", 0, NULL); }
static void shift_bind(Node *n)
{
    bind_map(n, attr_is(n, "direction", "LEFT") ? "shift_left" : "shift_right", 0, NULL);
}
static void gelu_bind(Node *n) { bind_map(n, attr_is(n, "approximate", "tanh") ? "gelu_tanh" : "gelu", 0, NULL); }

/* For integers, bias and lambd need not be integers, so the computation is in double. */
static void shrink_bind(Node *n)
{
    Loop *l = loop_new(*out(n, 0)->shape);
    const Type t = in_type(n, 0), a = type_is_float(t) ? type_arith(t) : F64;
    const int x = loop_in(l, n->in[0]), bias = loop_literal(l, a, attr_float(n, "bias"), 0),
              lambda = loop_literal(l, a, attr_float(n, "lambd"), 0);
    const int y = loop_step(l, "shrink", a, a == F64 ? a : t, 3, a == F64 ? loop_convert(l, x, F64) : x, bias, lambda);
    loop_out(l, loop_convert(l, y, t), out(n, 0));
    bind_loop(n, l);
}

/* The exponent if it is one constant; else NaN. */
static double constant_exponent(const Node *n)
{
    const Value *v = n->in[1];
    bool one = in_is_const(n, 1) && !v->data->symbolic && tensor_count(v->data) == 1;
    return !one ? NAN : type_is_float(v->type) ? tensor_get(v->data, 0) : (double)tensor_get_int(v->data, 0);
}

/* Converts both inputs to `to`, which represents both types, and the power to the type of input 0. */
static void pow_bind(Node *n)
{
    Loop *l = loop_new(*out(n, 0)->shape);
    Type t = in_type(n, 0), u = in_type(n, 1), a = type_arith(t), to = a;
    double e = constant_exponent(n);
    int x = loop_in(l, n->in[0]), y;
    if (e == 1)
        y = x;
    else if (e == 2 || e == 3) {
        y = loop_step(l, "mul", a, e == 2 ? t : a, 2, x, x);
        y = e == 2 ? y : loop_step(l, "mul", a, t, 2, y, x);
    } else {
        if (!type_is_float(t))
            to = type_is_float(u) ? F64 : I64;
        else if (!type_is_float(u) && type_bits(u) > 16 && !(fabs(e) < 0x1p24))
            to = F64;
        else if (u == F64)
            to = F64;
        y = loop_step(l, "pow", to, to == a ? t : to, 2, loop_convert(l, x, type_arith(t) == to ? t : to),
                      loop_convert(l, loop_in(l, n->in[1]), type_arith(u) == to ? u : to));
        y = loop_convert(l, y, t);
    }
    loop_out(l, y, out(n, 0));
    bind_loop(n, l);
}

/* ---- expand ------------------------------------------------------------------------------------------------- */

/* Before version 7 the second input was broadcast only with broadcast=1, aligned at `axis`. */
static void broadcast_before_7(Node *n)
{
    Value *a = in(n, 0), *b = in(n, 1);
    bool broadcast = attr_int(n, "broadcast");
    if (!broadcast && !require_same_shapes(n))
        return;
    int axis = broadcast && attr_is_given(n, "axis") ? attr_axis(n, "axis", a->shape->rank) : -1;
    int k = axis < 0 ? 0 : a->shape->rank - axis - b->shape->rank;
    Shape s = *b->shape;
    int64_t axes[MAX_RANK];
    for (int i = 0; i < k; i++) {
        axes[i] = s.rank;
        s.dim[s.rank++] = D(1);
    }
    if (broadcast && !require_expands_as(n, 1, s, k < 0 ? shape_of(0, NULL) : *a->shape))
        return;
    if (k > 0)
        b = make(n, "Unsqueeze", 2, b, make_ints(n, k, axes));
    expand_to(n, make(n, n->op->name, 2, a, b));
}

/* Before version 8 all inputs had the same shape. */
static void same_before_8(Node *n)
{
    if (require_same_shapes(n))
        expand_same(n);
}

/* Before version 7 a slope of rank 1 was one number per channel. */
static void prelu_before_7(Node *n)
{
    Value *slope = in(n, 1);
    int k = in_shape(n, 0).rank - 2;
    int64_t axes[MAX_RANK];
    for (int i = 0; i < k; i++)
        axes[i] = i + 1;
    if (k > 0 && slope->shape->rank == 1 && !dim_is(slope->shape->dim[0], 1))
        slope = make(n, "Unsqueeze", 2, slope, make_ints(n, k, axes));
    expand_to(n, make(n, "PRelu", 2, in(n, 0), slope));
}

/* Before version 11 the limits were attributes. */
static void clip_before_11(Node *n)
{
    Type t = in_type(n, 0);
    bool low = attr_is_given(n, "min"), high = attr_is_given(n, "max");
    expand_to(n, make(n, "Clip", 3, in(n, 0), low ? make_scalar(n, t, attr_float(n, "min")) : NULL,
                      high ? make_scalar(n, t, attr_float(n, "max")) : NULL));
}

/* The gate and what it lets through have one shape. */
static void swiglu_expand(Node *n)
{
    if (require_same_shapes(n))
        expand_body(n, "s = Swish<alpha=@alpha>(A) Y = Mul(s, B)");
}

/* 16-bit floats are computed in float and rounded once. */
static void mean_expand(Node *n)
{
    if (n->op->since_version < 8 && !require_same_shapes(n))
        return;
    Type t = type_arith(in_type(n, 0));
    Value *terms[n->n_in];
    for (int i = 0; i < n->n_in; i++)
        terms[i] = make_cast(n, in(n, i), t);
    Value *sum = make_node(n, "Sum", n->n_in, terms, 1)->out[0];
    expand_to(n, make_cast(n, make(n, "Div", 2, sum, make_scalar(n, t, n->n_in)), in_type(n, 0)));
}

/* Version 1 has other defaults. */
static void selu_1(Node *n)
{
    Value *y = make(n, "Selu", 1, in(n, 0));
    attr_set_float(y->def, "alpha", attr_float(n, "alpha"));
    attr_set_float(y->def, "gamma", attr_float(n, "gamma"));
    expand_to(n, y);
}

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define CONSUMED "consumed_inputs:ints?"
#define BROADCAST "axis:int? broadcast:int=0"
#define X_Y "X:T -> Y:T"
#define IN_OUT "input:T -> output:T"
#define AB_C "A:T B:T -> C:T"
#define AB_TEST "A:T B:T -> C:T1"
#define W "FB|int32|int64|uint32|uint64"
#define W_7 "F|int32|int64|uint32|uint64"

/* Operators of one input: with versions 13, 6 and 1; with version 22 and an older one. */
#define SINCE_13(name, signature, fn)                                                                                        \
    {name, 13, signature, "T=FB", "", infer_same, .pointwise = fn, .compatible = "6 T=F; 1 T=F / " CONSUMED}
#define SINCE_22(name, old, signature, fn) {name, 22, signature, "T=FB", "", infer_same, .pointwise = fn, .compatible = #old " T=F"}
#define ARITHMETIC(name, fn, flags_, inverse_) ARITHMETIC_OF(name, fn, flags_, inverse_, infer_broadcast)
#define ARITHMETIC_OF(name, fn, flags_, inverse_, how)                                                                \
    {name, 14, AB_C, "T=NB", "", how, .pointwise = fn, .flags = flags_, .inverse = inverse_,                          \
     .compatible = "13 T=" W "; 7 T=" W_7},                                                                           \
    {name, 6, AB_C, "T=" W_7, BROADCAST, .expand = broadcast_before_7, .compatible = "1 T=F / " BROADCAST " " CONSUMED}
#define LOGIC(name, fn)                                                                                                \
    {name, 7, AB_TEST, "T=bool T1=bool", "", infer_compare, .pointwise = fn},                                                \
    {name, 1, AB_TEST, "T=bool T1=bool", BROADCAST, .expand = broadcast_before_7}
#define ORDER(name, fn)                                                                                                \
    {name, 13, AB_TEST, "T=NB T1=bool", "", infer_compare, .pointwise = fn, .compatible = "9 T=N; 7 T=F"},                          \
    {name, 1, AB_TEST, "T=F T1=bool", BROADCAST, .expand = broadcast_before_7}
#define ORDER_OR_EQUAL(name, fn)                                                                                       \
    {name, 16, AB_TEST, "T=NB T1=bool", "", infer_compare, .pointwise = fn, .compatible = "12 T=N"}
#define EXTREME(name, y)                                                                                               \
    {name, 13, "data_0*:T -> " y ":T", "T=NB", "", variadic_infer, variadic_bind, .flags = ELEMENTWISE,                \
     .compatible = "12 T=N; 8 T=F"},                                                                                          \
        {name, 6, "data_0*:T -> " y ":T", "T=F", "", .expand = same_before_8, .compatible = "1 T=F / " CONSUMED}

/* Strings have a kernel of their own. */
static void equal_infer(Node *n)
{
    if (in_type(n, 0) != STR) {
        infer_compare(n);
        return;
    }
    n->op = op_find("onnxcc", "Equal", INT32_MAX);
    n->op->infer(n);
}

/* clang-format off */
static const Op elementwise_ops[] = {
    ARITHMETIC("Add", "add", OFFSETS, NULL), ARITHMETIC("Sub", "sub", OFFSETS, "Neg"), ARITHMETIC("Mul", "mul", SCALES, NULL),
    ARITHMETIC_OF("Div", "div", SCALES, "Reciprocal", div_infer),
    {"Quotient", 1, AB_C, "T=NB", "", infer_broadcast, .pointwise = "div", .domain = "onnxcc"}, /* x / 0 is 0 */
    LOGIC("And", "and"), LOGIC("Or", "or"), LOGIC("Xor", "xor"),
    {"Not", 1, X_Y, "T=bool", "", infer_same, .pointwise = "not"},
    ORDER("Greater", "greater"), ORDER("Less", "less"),
    ORDER_OR_EQUAL("GreaterOrEqual", "greater_equal"), ORDER_OR_EQUAL("LessOrEqual", "less_equal"),
    {"Equal", 19, AB_TEST, "T=NB|bool|string T1=bool", "", equal_infer, .pointwise = "equal", .compatible = "13 T=NB|bool; 11 T=N|bool; 7 T=bool|int32|int64"},
    {"Equal", 1, AB_TEST, "T=bool|int32|int64 T1=bool", BROADCAST, .expand = broadcast_before_7},
    EXTREME("Max", "max"), EXTREME("Min", "min"),
    {"Sum", 13, "data_0*:T -> sum:T", "T=FB", "", variadic_infer, variadic_bind, .flags = ELEMENTWISE, .compatible = "8 T=F"},
    {"Sum", 6, "data_0*:T -> sum:T", "T=F", "", .expand = same_before_8, .compatible = "1 T=F / " CONSUMED},
    {"Mean", 13, "data_0*:T -> mean:T", "T=FB", "", .expand = mean_expand, .compatible = "8 T=F; 6 T=F; 1 T=F / " CONSUMED},

    {"Mod", 28, AB_C, "T=NB", "fmod:int=0", mod_infer, mod_bind, .flags = ELEMENTWISE, .compatible = "13; 10 T=N"},
    {"Pow", 15, "X:T Y:T1 -> Z:T", "T=FB|int32|int64 T1=NB", "", infer_broadcast, pow_bind, .flags = ELEMENTWISE,
     .compatible = "13 T1=N; 12 T=F|int32|int64 T1=N"},
    {"Pow", 7, "X:T Y:T -> Z:T", "T=F", "", .expand = expand_same},
    {"Pow", 1, "X:T Y:T -> Z:T", "T=F", BROADCAST, .expand = broadcast_before_7},
    {"BitShift", 28, "X:T Y:T -> Z:T", "T=IU", "direction:string", shift_infer, shift_bind, .flags = ELEMENTWISE, .compatible = "11 T=U"},
    {"BitwiseAnd", 18, AB_C, "T=IU", "", infer_broadcast, .pointwise = "bitwise_and"},
    {"BitwiseOr", 18, AB_C, "T=IU", "", infer_broadcast, .pointwise = "bitwise_or"},
    {"BitwiseXor", 18, AB_C, "T=IU", "", infer_broadcast, .pointwise = "bitwise_xor"},
    {"BitwiseNot", 18, X_Y, "T=IU", "", infer_same, .pointwise = "bitwise_not"},
    {"Where", 16, "condition:B X:T Y:T -> output:T", "B=bool T=ALLB", "", where_infer, .pointwise = "where", .compatible = "9 T=ALL"},

    {"Abs", 13, X_Y, "T=NB", "", infer_same, .pointwise = "abs", .compatible = "6 T=N; 1 T=F / " CONSUMED},
    {"Neg", 13, X_Y, "T=I|FB", "", infer_same, .pointwise = "neg", .compatible = "6 T=I|F; 1 T=F / " CONSUMED},
    {"Sign", 13, IN_OUT, "T=NB", "", infer_same, .pointwise = "sign", .compatible = "9 T=N"},
    {"Round", 22, X_Y, "T=FB", "", infer_same, .pointwise = "round", .compatible = "11 T=F"},
    SINCE_13("Ceil", X_Y, "ceil"), SINCE_13("Floor", X_Y, "floor"), SINCE_13("Exp", IN_OUT, "exp"),
    SINCE_13("Log", IN_OUT, "log"), SINCE_13("Sqrt", X_Y, "sqrt"), SINCE_13("Reciprocal", X_Y, "reciprocal"),
    SINCE_13("Sigmoid", X_Y, "sigmoid"), SINCE_13("Tanh", IN_OUT, "tanh"),
    SINCE_22("Sin", 7, IN_OUT, "sin"), SINCE_22("Cos", 7, IN_OUT, "cos"), SINCE_22("Tan", 7, IN_OUT, "tan"),
    SINCE_22("Asin", 7, IN_OUT, "asin"), SINCE_22("Acos", 7, IN_OUT, "acos"), SINCE_22("Atan", 7, IN_OUT, "atan"),
    SINCE_22("Sinh", 9, IN_OUT, "sinh"), SINCE_22("Cosh", 9, IN_OUT, "cosh"), SINCE_22("Asinh", 9, IN_OUT, "asinh"),
    SINCE_22("Acosh", 9, IN_OUT, "acosh"), SINCE_22("Atanh", 9, IN_OUT, "atanh"),
    {"Erf", 13, IN_OUT, "T=FB", "", infer_same, .pointwise = "erf"},
    {"Erf", 9, IN_OUT, "T=N", "", infer_same, .pointwise = "erf"},
    {"IsNaN", 20, "X:T1 -> Y:T2", "T1=FB|F8 T2=bool", "", test_infer, .pointwise = "is_nan", .compatible = "13 T1=FB; 9 T1=F"},
    {"IsInf", 20, "X:T1 -> Y:T2", "T1=FB|F8 T2=bool", "detect_negative:int=1 detect_positive:int=1", test_infer,
     .pointwise = "is_inf @detect_negative @detect_positive", .compatible = "10 T1=float|double"},

    {"Clip", 13, "input:T min?:T max?:T -> output:T", "T=NB", "", clip_infer, clip_bind, .flags = ELEMENTWISE, .compatible = "12 T=N; 11 T=F"},
    {"Clip", 6, IN_OUT, "T=F", "max:float? min:float?", .expand = clip_before_11, .compatible = "1 T=F / max:float? min:float? " CONSUMED},
    {"Relu", 14, X_Y, "T=I|FB", "", infer_same, .pointwise = "relu", .compatible = "13 T=FB; 6 T=F; 1 T=F / " CONSUMED},
    {"LeakyRelu", 16, X_Y, "T=FB", "alpha:float=0.01", infer_same, .pointwise = "prelu @alpha", .compatible = "6 T=F; 1 T=F / alpha:float=0.01 " CONSUMED},
    {"PRelu", 16, "X:T slope:T -> Y:T", "T=" W, "", prelu_infer, .pointwise = "prelu", .compatible = "9 T=" W_7 "; 7 T=F"},
    {"PRelu", 6, "X:T slope:T -> Y:T", "T=F", "", .expand = prelu_before_7, .compatible = "1 T=F / " CONSUMED},
    {"ThresholdedRelu", 22, X_Y, "T=FB", "alpha:float=1.0", infer_same, .pointwise = "thresholded_relu @alpha", .compatible = "10 T=F; 1 T=F"},
    {"Elu", 22, X_Y, "T=FB", "alpha:float=1.0", infer_same, .pointwise = "elu @alpha", .compatible = "6 T=F; 1 T=F / alpha:float=1.0 " CONSUMED},
    {"Celu", 28, X_Y, "T=FB", "alpha:float=1.0", infer_same, .pointwise = "celu @alpha", .compatible = "12 T=float"},
    {"Selu", 22, X_Y, "T=FB", "alpha:float=1.67326319 gamma:float=1.05070102", infer_same, .pointwise = "selu @alpha @gamma", .compatible = "6 T=F"},
    {"Selu", 1, X_Y, "T=F", "alpha:float=1.6732 gamma:float=1.0507 " CONSUMED, .expand = selu_1},
    {"HardSigmoid", 22, X_Y, "T=FB", "alpha:float=0.2 beta:float=0.5", infer_same, .pointwise = "hard_sigmoid @alpha @beta",
     .compatible = "6 T=F; 1 T=F / alpha:float=0.2 beta:float=0.5 " CONSUMED},
    {"HardSwish", 22, X_Y, "T=FB", "", infer_same, .pointwise = "hard_swish", .compatible = "14 T=F"},
    {"Swish", 24, X_Y, "T=FB", "alpha:float=1.0", infer_same, .pointwise = "swish @alpha"},
    {"SwiGLU", 28, "A:T B:T -> Y:T", "T=FB", "alpha:float=1.0", .expand = swiglu_expand},
    {"Gelu", 20, X_Y, "T=FB", "approximate:string=none", gelu_infer, gelu_bind, .flags = ELEMENTWISE},
    {"Mish", 22, X_Y, "T=FB", "", infer_same, .pointwise = "mish", .compatible = "18 T=F"},
    {"Softplus", 22, X_Y, "T=FB", "", infer_same, .pointwise = "softplus", .compatible = "1 T=F"},
    {"Softsign", 22, IN_OUT, "T=FB", "", infer_same, .pointwise = "softsign", .compatible = "1 T=F"},
    {"Shrink", 9, IN_OUT, "T=N", "bias:float=0.0 lambd:float=0.5", infer_same, shrink_bind, .flags = ELEMENTWISE},
};
/* clang-format on */
OPS(elementwise_ops);
