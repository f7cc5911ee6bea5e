/* gradient.c - Gradient: the nodes between xs and y, differentiated backwards, become ordinary nodes. What an operator
 * gives back to each of its inputs is a formula, or a function where that does not say it. */
#include <ctype.h>
#include <stdlib.h>

#include "../infer.h"
#include "../spatial.h"

/* One step back: the node m, and d, what its output counts for y. */
typedef struct Back {
    Node *n, *m; /* n: the Gradient node; new nodes go before it */
    Value *d;
    int i;         /* the input of m in question */
    const char *s; /* the rest of the formula */
} Back;

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static Value *shape_like(Node *n, Value *v) { return make(n, "Shape", 1, v); }

static Value *sum_over(Node *n, Value *v, int k, const int64_t *axes)
{
    return k ? make(n, "ReduceSum", 2, v, make_ints(n, k, axes)) : v;
}

/* v, of the shape `from`, summed over the axes along which x was broadcast to it. */
static Value *gather_up(Node *n, Value *v, Shape from, Value *x)
{
    int64_t axes[MAX_RANK];
    int k = 0, more = from.rank - x->shape->rank;
    for (int i = 0; i < from.rank; i++)
        if (i < more || (dim_is(x->shape->dim[i - more], 1) && !dim_is(from.dim[i], 1)))
            axes[k++] = i;
    v = sum_over(n, v, k, axes);
    return more ? make(n, "Reshape", 2, v, shape_like(n, x)) : v;
}

/* v, of the shape of the output of the reduction m, for every element of its input. */
static Value *spread(const Back *b, Value *v)
{
    Value *x = b->m->in[0];
    Shape s = *x->shape;
    int64_t axes[MAX_RANK];
    int k = in(b->m, 1) ? in_ints(b->m, 1, axes, MAX_RANK) : 0;
    bool all = k == 0 && !attr_int(b->m, "noop_with_empty_axes");
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = all ? D(1) : s.dim[i];
    for (int i = 0; i < k; i++)
        s.dim[axis_of(b->m, axes[i], s.rank)] = D(1);
    return make(b->n, "Expand", 2, make(b->n, "Reshape", 2, v, make_dims(b->n, s.rank, s.dim)), shape_like(b->n, x));
}

/* Elements of the output for each element of the input. */
static Value *share(const Back *b)
{
    Type t = b->d->type;
    return make(b->n, "Div", 2, make_cast(b->n, make(b->n, "Size", 1, b->m->out[0]), t),
                make_cast(b->n, make(b->n, "Size", 1, b->m->in[0]), t));
}

/* The mean of v over the axes that the normalisation m runs over. */
static Value *middle(const Back *b, Value *v)
{
    int64_t axes[MAX_RANK];
    int rank = b->m->in[0]->shape->rank, k = 0;
    for (int i = attr_axis(b->m, "axis", rank); i < rank; i++)
        axes[k++] = i;
    return make(b->n, "ReduceMean", 2, v, make_ints(b->n, k, axes));
}

/* ---- formulas -----------------------------------------------------------------------------------------------------
 * Sums, products, quotients and calls of operators over d, x (the input in question), y (the output), a, b, c (inputs
 * 0, 1, 2), numbers and @attributes. Spread(v) and Share() serve reductions, Middle(v) normalisations; Along(v) sums
 * along the attribute axis. */

static Type type_of(const Back *b) { return b->m->out[0]->type; }

static Value *formula_sum(Back *b);

static Value *formula_call(Back *b)
{
    Value *arg[4];
    int k = 0;
    size_t length = strcspn(b->s, "(");
    Name op = name_bytes(b->s, length);
    for (b->s += length + 1; *b->s != ')'; b->s += *b->s == ',')
        arg[k++] = formula_sum(b);
    b->s++;
    if (name_is(op, "Spread"))
        return spread(b, arg[0]);
    if (name_is(op, "Share"))
        return share(b);
    if (name_is(op, "Middle"))
        return middle(b, arg[0]);
    if (name_is(op, "Along")) {
        int64_t axis = attr_axis(b->m, "axis", b->m->in[0]->shape->rank);
        return sum_over(b->n, arg[0], 1, &axis);
    }
    return make_node(b->n, op->s, k, arg, 1)->out[0];
}

static Value *formula_value(Back *b)
{
    if (isupper((unsigned char)*b->s))
        return formula_call(b);
    if (*b->s == '(') {
        b->s++;
        Value *v = formula_sum(b);
        b->s++;
        return v;
    }
    if (*b->s == '@') {
        size_t length = strspn(b->s + 1, "abcdefghijklmnopqrstuvwxyz_");
        Name attr = name_bytes(b->s + 1, length);
        b->s += length + 1;
        return make_scalar(b->n, type_of(b), attr_float(b->m, attr->s));
    }
    if (isdigit((unsigned char)*b->s))
        return make_scalar(b->n, type_of(b), strtod(b->s, (char **)(uintptr_t)&b->s));
    char c = *b->s++;
    Value *v = c == 'd' ? b->d : c == 'y' ? b->m->out[0] : c == 'x' ? b->m->in[b->i] : b->m->in[c - 'a'];
    return v->type == B8 || v->type == NO_TYPE ? v : make_cast(b->n, v, type_of(b));
}

static void skip(Back *b)
{
    while (*b->s == ' ')
        b->s++;
}

static Value *formula_product(Back *b)
{
    skip(b);
    bool minus = *b->s == '-';
    b->s += minus;
    Value *v = formula_value(b);
    for (skip(b); *b->s == '*' || *b->s == '/'; skip(b)) {
        const char *op = *b->s++ == '*' ? "Mul" : "Div";
        skip(b);
        v = make(b->n, op, 2, v, formula_value(b));
    }
    return minus ? make(b->n, "Neg", 1, v) : v;
}

static Value *formula_sum(Back *b)
{
    Value *v = formula_product(b);
    for (skip(b); *b->s == '+' || *b->s == '-'; skip(b)) {
        const char *op = *b->s++ == '+' ? "Add" : "Sub";
        v = make(b->n, op, 2, v, formula_product(b));
    }
    return v;
}

/* ---- what a formula does not say ------------------------------------------------------------------------------- */

static Value *reshaped(Back *b) { return make(b->n, "Reshape", 2, b->d, shape_like(b->n, b->m->in[0])); }

static Value *transposed(Back *b)
{
    const int64_t *perm;
    int64_t inverse[MAX_RANK];
    int rank = b->m->in[0]->shape->rank, k = attr_ints(b->m, "perm", &perm);
    for (int i = 0; i < rank; i++)
        inverse[k < 0 ? rank - 1 - i : axis_of(b->m, perm[i], rank)] = i;
    Value *v = make(b->n, "Transpose", 1, b->d);
    attr_set_ints(v->def, "perm", rank, inverse);
    return v;
}

static Value *matrices(Back *b, Value *left, bool trans_left, Value *right, bool trans_right)
{
    Value *v = make(b->n, "onnxcc.Product", 2, left, right);
    attr_set_int(v->def, "trans_a", trans_left);
    attr_set_int(v->def, "trans_b", trans_right);
    return v;
}

/* For y = A B, where A and B are a and b or, with trans, their transposes: dA = d B', dB = A' d. */
static Value *product_back(Back *b)
{
    Value *a = b->m->in[0], *c = b->m->in[1], *d = b->d, *v = d;
    bool trans_a = attr_int(b->m, "trans_a"), trans_b = attr_int(b->m, "trans_b");
    Shape y = *b->m->out[0]->shape;
    if (b->i == 0)
        v = trans_a ? matrices(b, c, trans_b, d, true) : matrices(b, d, false, c, !trans_b);
    else if (b->i == 1)
        v = trans_b ? matrices(b, d, true, a, trans_a) : matrices(b, a, !trans_a, d, false);
    for (int k = 1; k < 3 && b->i < 2; k++)
        y.dim[y.rank - k] = b->m->in[b->i]->shape->dim[b->m->in[b->i]->shape->rank - k];
    return gather_up(b->n, v, y, b->m->in[b->i]);
}

static Value *concat_back(Back *b)
{
    Value *x = b->m->in[b->i];
    int64_t axis = attr_axis(b->m, "axis", x->shape->rank);
    Dim from = D(0);
    for (int i = 0; i < b->i; i++)
        from = dim_add(from, b->m->in[i]->shape->dim[axis]);
    Dim end = dim_add(from, x->shape->dim[axis]);
    return make(b->n, "Slice", 4, b->d, make_dims(b->n, 1, &from), make_dims(b->n, 1, &end), make_ints(b->n, 1, &axis));
}

/* Zeros, to which d is added where the elements came from. */
static Value *gather_back(Back *b)
{
    Value *x = b->m->in[0], *zero = make(b->n, "Expand", 2, make_scalar(b->n, x->type, 0), shape_like(b->n, x));
    if (attr_axis(b->m, "axis", x->shape->rank) != 0)
        return NULL;
    Value *where = make(b->n, "Unsqueeze", 2, make_cast(b->n, b->m->in[1], I64), make_ints(b->n, 1, (int64_t[]){-1}));
    Value *v = make(b->n, "ScatterND", 3, zero, where, b->d);
    attr_set_string(v->def, "reduction", "add");
    return v;
}

/* Steps of 1 only: zeros around d. */
static Value *slice_back(Back *b)
{
    Shape x = *b->m->in[0]->shape, y = *b->m->out[0]->shape;
    int64_t from[MAX_RANK], axes[MAX_RANK], steps[MAX_RANK];
    Dim pads[2 * MAX_RANK];
    int k = in_ints(b->m, 1, from, MAX_RANK), n_axes = in(b->m, 3) ? in_ints(b->m, 3, axes, MAX_RANK) : k;
    int n_steps = in(b->m, 4) ? in_ints(b->m, 4, steps, MAX_RANK) : 0;
    for (int i = 0; i < 2 * x.rank; i++)
        pads[i] = D(0);
    for (int i = 0; i < k && n_axes == k; i++) {
        int axis = axis_of(b->m, in(b->m, 3) ? axes[i] : i, x.rank);
        Dim at = from[i] < 0 ? dim_max(D(0), dim_add(x.dim[axis], D(from[i]))) : dim_min(D(from[i]), x.dim[axis]);
        if (i < n_steps && steps[i] != 1)
            return NULL;
        pads[axis] = at;
        pads[axis + x.rank] = dim_sub(dim_sub(x.dim[axis], at), y.dim[axis]);
    }
    return k < 0 || n_axes != k ? NULL : make(b->n, "Pad", 2, b->d, make_dims(b->n, 2 * x.rank, pads));
}

/* -weight d at the target's class, 0 elsewhere. */
static Value *nll_back(Back *b)
{
    Value *in[3] = {b->m->in[0], b->m->in[1], b->m->n_in > 2 ? b->m->in[2] : NULL};
    Node *again = make_node(b->n, "onnxcc.NllLoss", 3, in, 2);
    for (int i = 0; i < b->m->n_attr; i++)
        attr_set(again, b->m->attr[i]);
    Value *weight = make(b->n, "Mul", 2, make(b->n, "Neg", 1, b->d), again->out[1]);
    Tensor *ends = tensor_new(I64, 1, (int64_t[]){2});
    ((int64_t *)(uintptr_t)ends->data)[1] = 1;
    Value *hot = make(b->n, "OneHot", 3, in[1], make_dims(b->n, 1, &in[0]->shape->dim[1]),
                      make_cast(b->n, value_const(b->n->graph, ends), in[0]->type));
    attr_set_int(hot->def, "axis", 1);
    return make(b->n, "Mul", 2, hot, make(b->n, "Unsqueeze", 2, weight, make_ints(b->n, 1, (int64_t[]){1})));
}

static Value *gelu_back(Back *b)
{
    b->s = attr_is(b->m, "approximate", "tanh")
               ? "d*(0.5*(1+Tanh(0.7978845608028654*(x+0.044715*x*x*x)))"
                 "+0.5*x*(1-Tanh(0.7978845608028654*(x+0.044715*x*x*x))*Tanh(0.7978845608028654*(x+0.044715*x*x*x)))"
                 "*0.7978845608028654*(1+0.134145*x*x))"
               : "d*(0.5*(1+Erf(x*0.7071067811865476))+x*0.3989422804014327*Exp(-0.5*x*x))";
    return formula_sum(b);
}

/* For constant sizes, and groups of one. */
static Value *conv_back(Back *b)
{
    Node *m = b->m;
    Value *x = m->in[0], *w = m->in[1];
    int64_t kernel[3], axes[4] = {0, 2, 3, 4}, pads[6], more[3], swap[] = {1, 0, 2, 3, 4};
    Image image;
    Windows win;
    int spatial = x->shape->rank - 2;
    if (b->i == 2)
        return make(b->n, "Reshape", 2, sum_over(b->n, b->d, 1 + spatial, axes), shape_like(b->n, m->in[2]));
    if (!shape_const(*x->shape) || !shape_const(*w->shape) || (b->i == 1 && attr_int(m, "group") != 1))
        return NULL;
    for (int i = 0; i < spatial; i++)
        kernel[i] = dim_value(w->shape->dim[2 + i]);
    if (!image_read(m, 0, &image) || !windows_read(m, &image, kernel, &win))
        return NULL;
    const int64_t *stride = win.stride + 3 - spatial, *dilation = win.dilation + 3 - spatial;
    for (int i = 0; i < spatial; i++) {
        int k = 3 - spatial + i;
        pads[i] = dim_value(win.pad[k]);
        pads[spatial + i] = dim_value(win.pad_end[k]);
        more[i] = dim_value(image.size[k]) + pads[i] + pads[spatial + i] - (dim_value(win.out[k]) - 1) * stride[i] -
                  dilation[i] * (kernel[i] - 1) - 1; /* pixels beyond the last window */
    }
    Value *v;
    if (b->i == 0) {
        v = make(b->n, "ConvTranspose", 2, b->d, w);
        attr_set_int(v->def, "group", attr_int(m, "group"));
        attr_set_ints(v->def, "output_padding", spatial, more);
    } else { /* samples and channels change places: d is the kernel that slides over x */
        Value *turned[] = {make(b->n, "Transpose", 1, x), make(b->n, "Transpose", 1, b->d)};
        attr_set_ints(turned[0]->def, "perm", spatial + 2, swap);
        attr_set_ints(turned[1]->def, "perm", spatial + 2, swap);
        v = make(b->n, "Conv", 2, turned[0], turned[1]);
    }
    attr_set_ints(v->def, "strides", spatial, b->i ? dilation : stride);
    attr_set_ints(v->def, "dilations", spatial, b->i ? stride : dilation);
    attr_set_ints(v->def, "pads", 2 * spatial, pads);
    if (b->i == 0)
        return v;
    int64_t from[3] = {0, 0, 0};
    v = make(b->n, "Slice", 4, v, make_ints(b->n, spatial, from), make_ints(b->n, spatial, kernel),
             make_ints(b->n, spatial, axes + 1));
    v = make(b->n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", spatial + 2, swap);
    return v;
}

/* ---- the rules ------------------------------------------------------------------------------------------------- */

enum {
    SHAPED = 1, /* the formula gives x's shape, not y's */
    EVERY = 2   /* the first formula holds for every input */
};
typedef struct Rule {
    const char *op;
    int flags;
    const char *formula[3]; /* for inputs 0, 1, 2; NULL: nothing */
} Rule;

#define DEVIATION "Sqrt(Middle((a-Middle(a))*(a-Middle(a)))+@epsilon)"
#define NORMAL "((a-Middle(a))/" DEVIATION ")"

/* clang-format off */
static const Rule rules[] = {
    {"Add", 0, {"d", "d"}}, {"Sub", 0, {"d", "-d"}}, {"Mul", 0, {"d*b", "d*a"}}, {"Div", 0, {"d/b", "-d*y/b"}},
    {"Pow", 0, {"d*b*Pow(a,b-1)", "d*y*Log(a)"}}, {"Sum", EVERY, {"d"}},
    {"Max", EVERY, {"Where(Equal(x,y),d,0)"}}, {"Min", EVERY, {"Where(Equal(x,y),d,0)"}},
    {"Where", 0, {NULL, "Where(a,d,0)", "Where(a,0,d)"}},
    {"Clip", 0, {"Where(Equal(a,y),d,0)", "Where(Less(a,b),d,0)", "Where(Greater(a,c),d,0)"}},
    {"Identity", 0, {"d"}}, {"Cast", 0, {"d"}}, {"Expand", 0, {"d"}}, {"Neg", 0, {"-d"}}, {"Abs", 0, {"d*Sign(x)"}},
    {"Reciprocal", 0, {"-d*y*y"}}, {"Sqrt", 0, {"d/(y+y)"}}, {"Exp", 0, {"d*y"}}, {"Log", 0, {"d/x"}},
    {"Sin", 0, {"d*Cos(x)"}}, {"Cos", 0, {"-d*Sin(x)"}}, {"Tan", 0, {"d*(1+y*y)"}}, {"Asin", 0, {"d/Sqrt(1-x*x)"}},
    {"Acos", 0, {"-d/Sqrt(1-x*x)"}}, {"Atan", 0, {"d/(1+x*x)"}}, {"Sinh", 0, {"d*Cosh(x)"}}, {"Cosh", 0, {"d*Sinh(x)"}},
    {"Tanh", 0, {"d*(1-y*y)"}}, {"Asinh", 0, {"d/Sqrt(x*x+1)"}}, {"Acosh", 0, {"d/Sqrt(x*x-1)"}},
    {"Atanh", 0, {"d/(1-x*x)"}},
    {"Erf", 0, {"d*1.1283791670955126*Exp(-x*x)"}},
    {"Floor", 0, {NULL}}, {"Ceil", 0, {NULL}}, {"Round", 0, {NULL}}, {"Sign", 0, {NULL}},
    {"Relu", 0, {"Where(Greater(x,0),d,0)"}}, {"LeakyRelu", 0, {"Where(Less(x,0),d*@alpha,d)"}},
    {"PRelu", 0, {"Where(Less(a,0),d*b,d)", "Where(Less(a,0),d*a,0)"}},
    {"ThresholdedRelu", 0, {"Where(Greater(x,@alpha),d,0)"}},
    {"Elu", 0, {"Where(Less(x,0),d*(y+@alpha),d)"}}, {"Celu", 0, {"Where(Less(x,0),d*Exp(x/@alpha),d)"}},
    {"Selu", 0, {"Where(Greater(x,0),d*@gamma,d*(y+@gamma*@alpha))"}},
    {"Sigmoid", 0, {"d*y*(1-y)"}}, {"Softplus", 0, {"d*Sigmoid(x)"}}, {"Softsign", 0, {"d/((1+Abs(x))*(1+Abs(x)))"}},
    {"HardSigmoid", 0, {"Where(And(Greater(y,0),Less(y,1)),d*@alpha,0)"}},
    {"HardSwish", 0, {"Where(Greater(x,3),d,Where(Less(x,0-3),0,d*(x/3+0.5)))"}},
    {"Swish", 0, {"d*(Sigmoid(@alpha*x)+@alpha*y*(1-Sigmoid(@alpha*x)))"}},
    {"Mish", 0, {"d*(Tanh(Softplus(x))+x*Sigmoid(x)*(1-Tanh(Softplus(x))*Tanh(Softplus(x))))"}},
    {"Softmax", SHAPED, {"y*(d-Along(d*y))"}}, {"LogSoftmax", SHAPED, {"d-Exp(y)*Along(d)"}},
    {"LayerNormalization", 0,
     {"(d*b-Middle(d*b)-" NORMAL "*Middle(d*b*" NORMAL "))/" DEVIATION, "d*" NORMAL, "d"}},
    {"ReduceSum", SHAPED, {"Spread(d)"}}, {"ReduceMean", SHAPED, {"Spread(d*Share())"}},
    {"ReduceSumSquare", SHAPED, {"2*x*Spread(d)"}}, {"ReduceL1", SHAPED, {"Sign(x)*Spread(d)"}},
    {"ReduceL2", SHAPED, {"x*Spread(d/y)"}}, {"ReduceProd", SHAPED, {"Spread(d*y)/x"}},
    {"ReduceLogSum", SHAPED, {"Spread(d*Exp(-y))"}}, {"ReduceLogSumExp", SHAPED, {"Spread(d)*Exp(x-Spread(y))"}},
    {"ReduceMax", SHAPED, {"Where(Equal(x,Spread(y)),Spread(d),0)"}},
    {"ReduceMin", SHAPED, {"Where(Equal(x,Spread(y)),Spread(d),0)"}},
};
/* clang-format on */

static const struct {
    const char *op;
    Value *(*back)(Back *b); /* gives x's shape; NULL: this cannot be done */
} functions[] = {
    {"Reshape", reshaped},     {"Flatten", reshaped},     {"Squeeze", reshaped},   {"Unsqueeze", reshaped},
    {"Transpose", transposed}, {"Product", product_back}, {"Concat", concat_back}, {"Slice", slice_back},
    {"Gather", gather_back},   {"Gelu", gelu_back},       {"NllLoss", nll_back},   {"Conv", conv_back},
};

/* By the operator's formula; false: it has none. *v stays when it does not count. */
static bool by_formula(Back *b, Value **v)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const Rule *r = &rules[i];
        int k = r->flags & EVERY ? 0 : b->i;
        if (strcmp(r->op, b->m->op->name))
            continue;
        if (k < 3 && r->formula[k]) {
            b->s = r->formula[k];
            *v = formula_sum(b);
            *v = r->flags & SHAPED ? *v : gather_up(b->n, *v, *b->m->out[0]->shape, b->m->in[b->i]);
        }
        return true;
    }
    return false;
}

/* What input i of m counts for y, when its output counts d; NULL: nothing, or an error. */
static Value *step_back(Node *n, Node *m, int i, Value *d)
{
    Back b = {.n = n, .m = m, .d = d, .i = i};
    Value *v = NULL;
    bool known = by_formula(&b, &v);
    for (size_t k = 0; k < sizeof functions / sizeof *functions && !known; k++)
        known = !strcmp(functions[k].op, m->op->name) && (v = functions[k].back(&b)) != NULL;
    if (!known)
        node_error(n, "the gradient of %s is not supported", m->op->name);
    return v ? make_cast(n, v, m->in[i]->type) : NULL;
}

/* ---- the way from xs to y -------------------------------------------------------------------------------------- */

typedef struct Path {
    Node *n;
    Map now;           /* a value that depends on xs or zs: as it is with the inputs given */
    Map live;          /* of those, what depends on xs */
    Map back;          /* what it counts for y */
    VEC(Node *) nodes; /* in order */
} Path;

/* The value of this name that the nodes before n can see. */
static Value *value_named(Node *n, Name name)
{
    for (Node *m = n->prev; m; m = m->prev)
        for (int i = 0; i < m->n_out; i++)
            if (m->out[i] && m->out[i]->name == name)
                return m->out[i];
    Value *v = map_get(&n->graph->scope, name);
    if (!v)
        node_error(n, "there is no value '%s' in this graph before the node", printable(name));
    return v;
}

static Value *now(const Path *p, Value *v)
{
    Value *w = v ? map_get(&p->now, v) : NULL;
    return w ? w : v;
}

static void need(Map *needed, Value *v, const Path *p)
{
    Node *m = v && !map_get(&p->now, v) ? v->def : NULL;
    if (!m || map_get(needed, m))
        return;
    map_put(needed, m, m);
    for (int i = 0; i < m->n_in; i++)
        need(needed, m->in[i], p);
}

/* m with its inputs as they are now. */
static Node *again(const Path *p, Node *m)
{
    Value **in = NEWS(Value *, m->n_in);
    bool same = true;
    for (int i = 0; i < m->n_in; i++) {
        in[i] = now(p, m->in[i]);
        same &= in[i] == m->in[i];
    }
    if (same)
        return m;
    const char *domain = m->op->domain;
    Name op = name_format("%s%s%s", domain ? domain : "", domain ? "." : "", m->op->name);
    Node *c = make_node(p->n, op->s, m->n_in, in, m->n_out);
    for (int i = 0; i < m->n_attr; i++)
        attr_set(c, m->attr[i]);
    infer_node(c);
    return c;
}

/* The nodes that y needs and that depend on what xs and zs name, with the inputs in their place. */
static void walk(Path *p, Value *y)
{
    Map needed = {0};
    need(&needed, y, p);
    for (Node *m = p->n->graph->first; m != p->n; m = m->next) {
        bool depends = false, live = false;
        for (int i = 0; i < m->n_in; i++) {
            depends |= m->in[i] && map_get(&p->now, m->in[i]);
            live |= m->in[i] && map_get(&p->live, now(p, m->in[i]));
        }
        if (!depends || !map_get(&needed, m))
            continue;
        Node *c = again(p, m);
        for (int i = 0; i < m->n_out; i++)
            if (m->out[i]) {
                map_put(&p->now, m->out[i], c->out[i]);
                if (live)
                    map_put(&p->live, c->out[i], c);
            }
        vec_push(&p->nodes, c);
    }
}

static void count_back(Path *p, Value *v, Value *d)
{
    Value *sum = map_get(&p->back, v);
    sum = sum ? make(p->n, "Add", 2, sum, d) : d;
    sum->type = v->type; /* before anybody infers it: formulas ask for types and shapes */
    sum->shape = v->shape;
    map_put(&p->back, v, sum);
}

static Value *filled_like(Node *n, Value *v, double with)
{
    return make(n, "Expand", 2, make_scalar(n, v->type, with), shape_like(n, v));
}

/* Inputs stand for what xs, then zs name. False: some name is wrong, and reported. */
static bool begin(Path *p)
{
    static const char *const lists[] = {"xs", "zs"};
    Node *n = p->n;
    int at = 0;
    for (int k = 0; k < 2; k++) {
        const Name *names;
        int count = attr_strings(n, lists[k], &names);
        for (int i = 0; i < count; i++, at++) {
            Value *v = value_named(n, names[i]), *w = in(n, at);
            if (!v || !w) {
                if (v)
                    node_error(n, "there is no input for '%s'", printable(names[i]));
                return false;
            }
            map_put(&p->now, v, w);
            if (k == 0)
                map_put(&p->live, w, n);
        }
    }
    return true;
}

static void gradient_expand(Node *n)
{
    Path p = {.n = n};
    const Name *xs;
    int count = attr_strings(n, "xs", &xs), errors = error_count();
    Value *y = begin(&p) ? value_named(n, node_attr(n, "y")->s) : NULL;
    if (!y)
        return;
    if (y->poisoned) { /* its error was reported */
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                n->out[i]->poisoned = true;
        expand_done(n);
        return;
    }
    walk(&p, y);
    y = now(&p, y);
    count_back(&p, y, filled_like(n, y, 1));
    for (int k = p.nodes.n; k-- > 0 && error_count() == errors;) {
        Node *m = p.nodes.at[k];
        Value *d = map_get(&p.back, m->out[0]);
        for (int i = 0; i < m->n_in && d; i++) {
            bool counts = m->in[i] && map_get(&p.live, m->in[i]) && type_is_float(m->in[i]->type);
            Value *v = counts ? step_back(n, m, i, d) : NULL;
            if (v)
                count_back(&p, m->in[i], v);
        }
    }
    if (error_count() > errors)
        return;
    for (int i = 0; i < count; i++)
        if (out(n, i)) {
            Value *d = map_get(&p.back, in(n, i));
            replace_out(n, i, d ? make(n, "Identity", 1, d) : filled_like(n, in(n, i), 0));
        }
    expand_done(n);
}

static const Op gradient_ops[] = {
    {"Gradient", 1, "Inputs**:T1 -> Outputs**:T2", "T1=ALL T2=F", "xs:strings y:string zs:strings?",
     .expand = gradient_expand, .domain = "ai.onnx.preview.training", .limit = "not of pools and recurrent layers",
     .flags = LOOKS_BACK},
};
OPS(gradient_ops);
