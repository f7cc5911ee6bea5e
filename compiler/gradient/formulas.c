/* formulas.c - vjp rules that are formulas. */
#include "ir/spatial.h"
#include <ctype.h>
#include <stdlib.h>

#include "gradient.h"

/* ---- formulas -----------------------------------------------------------------------------------------------------
 * Sums, products, quotients and calls of operators over d, x (the input in question), y (the output), a, b, c (inputs
 * 0, 1, 2), numbers and @attributes. Spread(v), Count(v), Share() and Others() serve reductions, Middle(v), Channel(v)
 * and PerChannel(v) normalisations, Ties() Max and Min; Along(v) sums along the attribute axis. */

typedef struct Formula {
    const Vjp *b;
    const char *s; /* the rest of the formula */
} Formula;

/* The axes of the reduction m. */
static void reduced(const Vjp *b, bool *axis)
{
    int64_t axes[MAX_RANK];
    int rank = b->m->in[0]->shape->rank, k = in(b->m, 1) ? in_ints(b->m, 1, axes, MAX_RANK) : 0;
    for (int i = 0; i < rank; i++)
        axis[i] = k == 0 && !attr_int(b->m, "noop_with_empty_axes");
    for (int i = 0; i < k; i++)
        axis[axis_of(b->m, axes[i], rank)] = true;
}

/* Spread(v): v, of the shape of the reduction's output, broadcast to its input. */
static Value *spread(const Vjp *b, Value *v)
{
    Value *x = b->m->in[0];
    Shape s = *x->shape;
    bool axis[MAX_RANK];
    reduced(b, axis);
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = axis[i] ? D(1) : s.dim[i];
    return make(b->n, "Expand", 2, make_reshape(b->n, v, s.rank, s.dim), shape_like(b->n, x));
}

/* Count(v): for every element of the reduction's output, the number of its inputs for which v is true. */
static Value *count(const Vjp *b, Value *v)
{
    v = make(b->n, "ReduceSum", 2, make_cast(b->n, v, b->d->type), in(b->m, 1));
    attr_set_int(v->def, "keepdims", attr_int(b->m, "keepdims"));
    attr_set_int(v->def, "noop_with_empty_axes", attr_int(b->m, "noop_with_empty_axes"));
    return v;
}

/* Others(): for every element, the product of the others that are reduced with it. */
static Value *others(const Vjp *b)
{
    Node *n = b->n;
    Shape x = *b->m->in[0]->shape, permuted = x;
    int64_t perm[MAX_RANK], inverse[MAX_RANK];
    bool axis[MAX_RANK];
    int k = 0;
    reduced(b, axis);
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < x.rank; i++)
            if (axis[i] == last) {
                permuted.dim[k] = x.dim[i];
                inverse[i] = k;
                perm[k++] = i;
            }
    Dim rows[] = {D(1), D(1)};
    for (int i = 0; i < x.rank; i++)
        rows[axis[i]] = dim_mul(rows[axis[i]], x.dim[i]);
    Value *v = make_reshape(n, transpose(n, b->m->in[0], x.rank, perm), 2, rows), *ends[2];
    for (int reverse = 0; reverse < 2; reverse++) {
        ends[reverse] = make(n, "CumProd", 2, v, make_int(n, 1));
        attr_set_int(ends[reverse]->def, "exclusive", 1);
        attr_set_int(ends[reverse]->def, "reverse", reverse);
    }
    v = make_reshape(n, make(n, "Mul", 2, ends[0], ends[1]), x.rank, permuted.dim);
    return transpose(n, v, x.rank, inverse);
}

/* Ties(): for every element, the number of inputs that equal the output. */
static Value *ties(const Vjp *b)
{
    Value *sum = NULL;
    for (int i = 0; i < b->m->n_in; i++) {
        Value *same = make_cast(b->n, make(b->n, "Equal", 2, b->m->in[i], b->m->out[0]), b->d->type);
        sum = sum ? make(b->n, "Add", 2, sum, same) : same;
    }
    return sum;
}

/* Share(): the number of output elements divided by the number of input elements. */
static Value *share(const Vjp *b)
{
    Type t = b->d->type;
    return make(b->n, "Div", 2, make_cast(b->n, make(b->n, "Size", 1, b->m->out[0]), t),
                make_cast(b->n, make(b->n, "Size", 1, b->m->in[0]), t));
}

/* Middle(v): the mean of v over the elements that are normalised together: a group of channels, or the axes from `axis`
 * on. */
static Value *middle(const Vjp *b, Value *v)
{
    Node *n = b->n, *m = b->m;
    Value *x = m->in[0];
    int64_t axes[MAX_RANK];
    int rank = x->shape->rank, k = 0;
    if (strcmp(m->op->name, "GroupNormalization") && strcmp(m->op->name, "InstanceNormalization")) {
        for (int i = attr_axis(m, "axis", rank); i < rank; i++)
            axes[k++] = i;
        return make(n, "ReduceMean", 2, v, make_ints(n, k, axes));
    }
    Dim groups = attr_is_given(m, "num_groups") ? D(attr_int(m, "num_groups")) : x->shape->dim[1];
    Dim rows[3] = {x->shape->dim[0], groups, dim_div(shape_count(*x->shape), dim_mul(x->shape->dim[0], groups))};
    Value *mean = make_reshape(n, v, 3, rows);
    mean = make(n, "ReduceMean", 2, mean, make_ints(n, 1, (int64_t[]){2}));
    mean = make(n, "Expand", 2, mean, make_dims(n, 3, rows));
    return reshape_like(n, mean, x);
}

/* Channel(v): v, an element per channel, in a shape that broadcasts along x's axis 1. */
static Value *channel(const Vjp *b, Value *v)
{
    Shape s = *b->m->in[0]->shape;
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i == 1 ? s.dim[i] : D(1);
    return make_reshape(b->n, v, s.rank, s.dim);
}

/* PerChannel(v): the sum of v, of x's shape, by channel. */
static Value *per_channel(const Vjp *b, Value *v)
{
    int64_t axes[MAX_RANK];
    int k = 0;
    for (int i = 0; i < b->m->in[0]->shape->rank; i++)
        if (i != 1)
            axes[k++] = i;
    return reshape_like(b->n, sum_over(b->n, v, k, axes), b->m->in[b->i]);
}

static Type type_of(const Formula *f) { return f->b->m->out[0]->type; }

static Value *formula_sum(Formula *f);

static Value *formula_call(Formula *f)
{
    static const struct {
        const char *name;
        Value *(*of)(const Vjp *b, Value *v);
    } own[] = {
        {"Spread", spread}, {"Count", count}, {"Middle", middle}, {"Channel", channel}, {"PerChannel", per_channel}};
    const Vjp *b = f->b;
    Value *arg[4];
    int k = 0;
    size_t length = strcspn(f->s, "(");
    Name op = name_bytes(f->s, length);
    for (f->s += length + 1; *f->s != ')'; f->s += *f->s == ',')
        arg[k++] = formula_sum(f);
    f->s++;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (name_is(op, own[i].name))
            return own[i].of(b, arg[0]);
    if (name_is(op, "Share"))
        return share(b);
    if (name_is(op, "Others"))
        return others(b);
    if (name_is(op, "Ties"))
        return ties(b);
    if (name_is(op, "Along")) {
        int64_t axis = attr_axis(b->m, "axis", b->m->in[0]->shape->rank);
        return sum_over(b->n, arg[0], 1, &axis);
    }
    return make_node(b->n, op->s, k, arg, 1)->out[0];
}

static Value *formula_value(Formula *f)
{
    const Vjp *b = f->b;
    if (isupper((unsigned char)*f->s))
        return formula_call(f);
    if (*f->s == '(') {
        f->s++;
        Value *v = formula_sum(f);
        f->s++;
        return v;
    }
    if (*f->s == '@') {
        size_t length = strspn(f->s + 1, "abcdefghijklmnopqrstuvwxyz_");
        Name attr = name_bytes(f->s + 1, length);
        f->s += length + 1;
        return make_scalar(b->n, type_of(f), attr_float(b->m, attr->s));
    }
    if (isdigit((unsigned char)*f->s))
        return make_scalar(b->n, type_of(f), strtod(f->s, (char **)(uintptr_t)&f->s));
    char c = *f->s++;
    Value *v = c == 'd' ? b->d : c == 'y' ? b->m->out[0] : c == 'x' ? b->m->in[b->i] : b->m->in[c - 'a'];
    return v->type == B8 || v->type == NO_TYPE ? v : make_cast(b->n, v, type_of(f));
}

static void skip(Formula *f)
{
    while (*f->s == ' ')
        f->s++;
}

static Value *formula_product(Formula *f)
{
    skip(f);
    bool minus = *f->s == '-';
    f->s += minus;
    Value *v = formula_value(f);
    for (skip(f); *f->s == '*' || *f->s == '/'; skip(f)) {
        const char *op = *f->s++ == '*' ? "Mul" : "Div";
        skip(f);
        v = make(f->b->n, op, 2, v, formula_value(f));
    }
    return minus ? make(f->b->n, "Neg", 1, v) : v;
}

static Value *formula_sum(Formula *f)
{
    Value *v = formula_product(f);
    for (skip(f); *f->s == '+' || *f->s == '-'; skip(f)) {
        const char *op = *f->s++ == '+' ? "Add" : "Sub";
        v = make(f->b->n, op, 2, v, formula_product(f));
    }
    return v;
}

Value *formula(const Vjp *b, const char *text)
{
    Formula f = {b, text};
    return formula_sum(&f);
}

/* ---- the rules ------------------------------------------------------------------------------------------------- */

enum {
    SHAPED = 1, /* the formula has x's shape; otherwise y's */
    EVERY = 2   /* the first formula applies to every input */
};
typedef struct FormulaRule {
    const char *op;
    int flags;
    const char *formula[3]; /* for inputs 0, 1, 2; NULL: the gradient is zero */
} FormulaRule;

#define DEVIATION "Sqrt(Middle((a-Middle(a))*(a-Middle(a)))+@epsilon)"
#define NORMAL "((a-Middle(a))/" DEVIATION ")"
#define UNDONE(d) "(" d "-Middle(" d ")-" NORMAL "*Middle(" d "*" NORMAL "))/" DEVIATION
#define SQUARES "(Middle(a*a)+@epsilon)"

/* clang-format off */
static const FormulaRule rules[] = {
    {"Add", 0, {"d", "d"}}, {"Sub", 0, {"d", "-d"}}, {"Mul", 0, {"d*b", "d*a"}}, {"Div", 0, {"d/b", "-d*y/b"}},
    {"Pow", 0, {"Where(Equal(b,0),0,d*b*Pow(a,b-1))", "Where(Equal(a,0),0,d*y*Log(a))"}}, {"Sum", EVERY, {"d"}}, {"Mod", 0, {"d", "d*(y-a)/b"}},
    {"Max", EVERY, {"Where(Equal(x,y),d/Ties(),0)"}}, {"Min", EVERY, {"Where(Equal(x,y),d/Ties(),0)"}},
    {"Where", 0, {NULL, "Where(a,d,0)", "Where(a,0,d)"}},
    {"Clip", 0, {"Where(Equal(a,y),d,0)", "Where(Less(a,b),d,0)", "Where(Greater(a,c),d,0)"}},
    {"Identity", 0, {"d"}}, {"Cast", 0, {"d"}}, {"Expand", 0, {"d"}}, {"Neg", 0, {"-d"}}, {"Abs", 0, {"d*Sign(x)"}},
    {"Reciprocal", 0, {"-d*y*y"}}, {"Sqrt", 0, {"d/(y+y)"}}, {"Exp", 0, {"d*y"}}, {"Log", 0, {"d/x"}},
    {"Sin", 0, {"d*Cos(x)"}}, {"Cos", 0, {"-d*Sin(x)"}}, {"Tan", 0, {"d*(1+y*y)"}}, {"Asin", 0, {"d/Sqrt(1-x*x)"}},
    {"Acos", 0, {"-d/Sqrt(1-x*x)"}}, {"Atan", 0, {"d/(1+x*x)"}}, {"Sinh", 0, {"d*Cosh(x)"}}, {"Cosh", 0, {"d*Sinh(x)"}},
    {"Tanh", 0, {"d*(1-y*y)"}}, {"Asinh", 0, {"d/Sqrt(x*x+1)"}}, {"Acosh", 0, {"d/Sqrt(x*x-1)"}},
    {"Atanh", 0, {"d/(1-x*x)"}},
    {"Erf", 0, {"d*1.1283791670955126*Exp(-x*x)"}},
    {"Relu", 0, {"Where(Greater(y,0),d,0)"}}, {"LeakyRelu", 0, {"Where(Less(x,0),d*@alpha,d)"}},
    {"PRelu", 0, {"Where(Less(a,0),d*b,d)", "Where(Less(a,0),d*a,0)"}},
    {"Shrink", 0, {"Where(Greater(Abs(x),@lambd),d,0)"}},
    {"ThresholdedRelu", 0, {"Where(Greater(x,@alpha),d,0)"}},
    {"Elu", 0, {"Where(Less(x,0),d*(y+@alpha),d)"}}, {"Celu", 0, {"Where(Less(x,0),d*Exp(x/@alpha),d)"}},
    {"Selu", 0, {"Where(Greater(x,0),d*@gamma,d*(y+@gamma*@alpha))"}},
    {"Sigmoid", 0, {"d*y*(1-y)"}}, {"Softplus", 0, {"d*Sigmoid(x)"}}, {"Softsign", 0, {"d/((1+Abs(x))*(1+Abs(x)))"}},
    {"HardSigmoid", 0, {"Where(And(Greater(y,0),Less(y,1)),d*@alpha,0)"}},
    {"HardSwish", 0, {"Where(Greater(x,3),d,Where(Less(x,0-3),0,d*(x/3+0.5)))"}},
    {"Swish", 0, {"d*(Sigmoid(@alpha*x)+@alpha*y*(1-Sigmoid(@alpha*x)))"}},
    {"Mish", 0, {"d*(Tanh(Softplus(x))+x*Sigmoid(x)*(1-Tanh(Softplus(x))*Tanh(Softplus(x))))"}},
    {"Softmax", SHAPED, {"y*(d-Along(d*y))"}}, {"LogSoftmax", SHAPED, {"d-Exp(y)*Along(d)"}},
    {"LayerNormalization", 0, {UNDONE("d*b"), "d*" NORMAL, "d"}},
    {"InstanceNormalization", SHAPED, {UNDONE("d*Channel(b)"), "PerChannel(d*" NORMAL ")", "PerChannel(d)"}},
    {"GroupNormalization", SHAPED, {UNDONE("d*Channel(b)"), "PerChannel(d*" NORMAL ")", "PerChannel(d)"}},
    {"RMSNormalization", 0, {"(d*b-a*Middle(d*b*a)/" SQUARES ")/Sqrt" SQUARES, "d*a/Sqrt" SQUARES}},
    {"ReduceSum", SHAPED, {"Spread(d)"}}, {"ReduceMean", SHAPED, {"Spread(d*Share())"}},
    {"ReduceSumSquare", SHAPED, {"2*x*Spread(d)"}}, {"ReduceL1", SHAPED, {"Sign(x)*Spread(d)"}},
    {"ReduceL2", SHAPED, {"x*Spread(d/y)"}}, {"ReduceProd", SHAPED, {"Spread(d)*Others()"}},
    {"ReduceLogSum", SHAPED, {"Spread(d*Exp(-y))"}}, {"ReduceLogSumExp", SHAPED, {"Spread(d)*Exp(x-Spread(y))"}},
    {"ReduceMax", SHAPED, {"Where(Equal(x,Spread(y)),Spread(d/Count(Equal(x,Spread(y)))),0)"}},
    {"ReduceMin", SHAPED, {"Where(Equal(x,Spread(y)),Spread(d/Count(Equal(x,Spread(y)))),0)"}},
};
/* clang-format on */

/* Step functions, whose gradient is zero where it exists. */
static const char *const steps[] = {
    "Floor", "Ceil", "Round", "Sign", "Hardmax", "EyeLike", "Quantize", "MelWeights", "Trees",
};

bool vjp_by_formula(const Vjp *b, Value **v)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (!strcmp(steps[i], b->m->op->name))
            return true;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const FormulaRule *r = &rules[i];
        int k = r->flags & EVERY ? 0 : b->i;
        if (strcmp(r->op, b->m->op->name) || b->o > 0)
            continue;
        if (k < 3 && r->formula[k]) {
            Value *x = formula(b, r->formula[k]);
            *v = r->flags & SHAPED ? x : sum_to_shape(b->n, x, *b->m->out[0]->shape, b->m->in[b->i]);
        }
        return true;
    }
    return false;
}
