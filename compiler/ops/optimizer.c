/* optimizer.c - Adagrad, Adam, Momentum: a training step for any number of tensors, as elementwise operators. */
#include "ir/kernel.h"

/* The scalars of a step, in the type of the current tensor. */
typedef struct Update {
    Node *n;
    Type t;
    Value *rate, *count; /* R and T */
} Update;

#define add(s, a, b) make((s)->n, "Add", 2, a, b)
#define sub(s, a, b) make((s)->n, "Sub", 2, a, b)
#define mul(s, a, b) make((s)->n, "Mul", 2, a, b)
static Value *quotient(const Update *s, Value *a, Value *b) { return make(s->n, "Div", 2, a, b); }
static Value *number(const Update *s, double v) { return make_scalar(s->n, s->t, v); }
static Value *attribute(const Update *s, const char *name) { return number(s, attr_float(s->n, name)); }
static Value *rest_of(const Update *s, const char *name) { return number(s, 1 - attr_float(s->n, name)); }

/* `first` in the first step (T is 0), `later` after it */
static Value *by_step(const Update *s, Value *later, Value *first)
{
    return make(s->n, "Where", 3, make(s->n, "Greater", 2, in(s->n, 1), make_int(s->n, 0)), later, first);
}

/* The gradient g of x, plus that of norm_coefficient / 2 * |x|^2. */
static Value *regularized(const Update *s, Value *x, Value *g)
{
    return attr_float(s->n, "norm_coefficient") == 0 ? g : add(s, mul(s, attribute(s, "norm_coefficient"), x), g);
}

/* The steps: v is a tensor, its gradient and its states; y is set to the new tensor and states. */
static void adagrad(const Update *s, Value *const *v, Value **y)
{
    Value *g = regularized(s, v[0], v[1]);
    Value *rate = quotient(s, s->rate, add(s, number(s, 1), mul(s, s->count, attribute(s, "decay_factor"))));
    y[1] = add(s, v[2], mul(s, g, g));
    Value *size = add(s, make(s->n, "Sqrt", 1, y[1]), attribute(s, "epsilon"));
    y[0] = sub(s, v[0], quotient(s, mul(s, rate, g), size));
}

static void adam(const Update *s, Value *const *v, Value **y)
{
    Value *g = regularized(s, v[0], v[1]), *alpha = attribute(s, "alpha"), *beta = attribute(s, "beta");
    y[1] = add(s, mul(s, alpha, v[2]), mul(s, rest_of(s, "alpha"), g));
    y[2] = add(s, mul(s, beta, v[3]), mul(s, rest_of(s, "beta"), mul(s, g, g)));
    Value *size = add(s, make(s->n, "Sqrt", 1, y[2]), attribute(s, "epsilon")), *one = number(s, 1);
    Value *up = make(s->n, "Sqrt", 1, sub(s, one, make(s->n, "Pow", 2, beta, s->count)));
    Value *down = sub(s, one, make(s->n, "Pow", 2, alpha, s->count));
    Value *rate = by_step(s, quotient(s, mul(s, s->rate, up), down), s->rate);
    y[0] = sub(s, v[0], mul(s, rate, quotient(s, y[1], size)));
    if (attr_float(s->n, "norm_coefficient_post") != 0)
        y[0] = mul(s, rest_of(s, "norm_coefficient_post"), y[0]);
}

static void momentum(const Update *s, Value *const *v, Value **y)
{
    Value *g = regularized(s, v[0], v[1]), *alpha = attribute(s, "alpha");
    Value *beta = attribute(s, "beta");
    y[1] = add(s, mul(s, alpha, v[2]), mul(s, by_step(s, beta, number(s, 1)), g));
    Value *d = attr_is(s->n, "mode", "nesterov") ? add(s, g, mul(s, alpha, y[1])) : y[1];
    y[0] = sub(s, v[0], mul(s, s->rate, d));
}

/* Inputs: R, T, then all tensors, all gradients, and each state of all tensors; outputs: the tensors and the states. */
static void each_tensor(Node *n, int states, void (*step)(const Update *s, Value *const *v, Value **y))
{
    int count = (n->n_in - 2) / (2 + states);
    if (n->n_in != 2 + count * (2 + states) || n->n_out > count * (1 + states)) {
        node_error(n, "%d inputs and %d outputs: each tensor takes %d and gives %d", n->n_in - 2, n->n_out, 2 + states,
                   1 + states);
        return;
    }
    if (!require_one(n, 0) || !require_one(n, 1))
        return;
    for (int i = 0; i < count; i++) {
        Value *v[4], *y[3];
        for (int k = 0; k < 2 + states; k++) {
            v[k] = in(n, 2 + k * count + i);
            if (v[k]->type != v[0]->type) {
                node_error(n, "input %d is %s, its tensor %s", 2 + k * count + i, type_onnx(v[k]->type),
                           type_onnx(v[0]->type));
                return;
            }
            if (!require_shape(n, 2 + k * count + i, *v[0]->shape))
                return;
        }
        Update s = {n, v[0]->type, make_cast(n, in(n, 0), v[0]->type), make_cast(n, in(n, 1), v[0]->type)};
        step(&s, v, y);
        for (int k = 0; k < 1 + states; k++)
            replace_out(n, k * count + i, y[k]);
    }
    expand_done(n);
}

static void adagrad_expand(Node *n) { each_tensor(n, 1, adagrad); }
static void adam_expand(Node *n) { each_tensor(n, 2, adam); }

static void momentum_expand(Node *n)
{
    if (!attr_is(n, "mode", "standard") && !attr_is(n, "mode", "nesterov")) {
        node_error(n, "mode is \"%s\"", attr_string(n, "mode"));
        note_help("standard and nesterov are possible");
        return;
    }
    each_tensor(n, 1, momentum);
}

#define OPTIMIZER(name, attrs, how)                                                                                    \
    {name, 1, "R:T1 T:int64 inputs**:T3 -> outputs**:T3", "T1=float|double T3=float|double", attrs, .expand = how,     \
     .domain = "ai.onnx.preview.training"}

static const Op optimizer_ops[] = {
    OPTIMIZER("Adagrad", "decay_factor:float=0 epsilon:float=1e-6 norm_coefficient:float=0", adagrad_expand),
    OPTIMIZER(
        "Adam",
        "alpha:float=0.9 beta:float=0.999 epsilon:float=1e-6 norm_coefficient:float=0 norm_coefficient_post:float=0",
        adam_expand),
    OPTIMIZER("Momentum", "alpha:float beta:float mode:string norm_coefficient:float", momentum_expand),
};
OPS(optimizer_ops);
