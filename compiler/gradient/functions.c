/* functions.c - vjp rules that are functions: products, Resize, losses. */
#include "ir/ops.h"
#include "gradient.h"

static bool has_word(const char *words, const char *w)
{
    const size_t n = strlen(w);
    for (; *words; words += strcspn(words, " "), words += *words == ' ')
        if (strcspn(words, " ") == n && !strncmp(words, w, n))
            return true;
    return false;
}

bool vjp_by_function(const Vjp *b, Value **v)
{
    static const struct {
        const char *ops;
        Value *(*rule)(const Vjp *b);
    } rules[] = {
#define RULE(ops, rule) {ops, rule},
#include "rules.def"
#undef RULE
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (has_word(rules[i].ops, b->m->op->name) && (*v = rules[i].rule(b)) != NULL)
            return true;
    return false;
}

/* ---- sums and products ------------------------------------------------------------------------------------------ */

/* For y = A B, where A and B are a and b or, with trans, their transposes: dA = d B', dB = A' d. */
Value *product_vjp(const Vjp *b)
{
    Value *a = b->m->in[0], *c = b->m->in[1], *d = b->d, *v = d;
    bool trans_a = attr_int(b->m, "trans_a"), trans_b = attr_int(b->m, "trans_b");
    Shape y = *b->m->out[0]->shape;
    if (b->i == 0)
        v = trans_a ? matrices(b->n, c, trans_b, d, true) : matrices(b->n, d, false, c, !trans_b);
    else if (b->i == 1)
        v = trans_b ? matrices(b->n, d, true, a, trans_a) : matrices(b->n, a, !trans_a, d, false);
    for (int k = 1; k < 3 && b->i < 2; k++)
        y.dim[y.rank - k] = b->m->in[b->i]->shape->dim[b->m->in[b->i]->shape->rank - k];
    return sum_to_shape(b->n, v, y, b->m->in[b->i]);
}

/* CumSum: the sums in the other direction. */
Value *cumulate_vjp(const Vjp *b)
{
    Value *v = make(b->n, "CumSum", 2, b->d, b->m->in[1]);
    attr_set_int(v->def, "exclusive", attr_int(b->m, "exclusive"));
    attr_set_int(v->def, "reverse", !attr_int(b->m, "reverse"));
    return v;
}

Value *resize_sizes_vjp(const Vjp *b) { return b->d; }

/* v with the axis first, as rows. */
static Value *rows_along(Node *n, Value *v, Type t, Shape s, int axis)
{
    int64_t front[MAX_RANK];
    for (int i = 0; i < s.rank; i++)
        front[i] = i == 0 ? axis : i == axis ? 0 : i;
    Dim rest = dim_mul(shape_product(s, 0, axis), shape_product(s, axis + 1, s.rank));
    return make_reshape(n, transpose(n, make_cast(n, v, t), s.rank, front), 2, (Dim[]){s.dim[axis], rest});
}

/* The adjoint of the weights of a Resize step: products of d with the weighted elements, summed over all other axes. */
static Value *resize_weights_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Value *x = m->in[0], *at = m->in[b->i - 1];
    Shape s = *m->out[0]->shape;
    int last = (int)attr_int(m, "axis"), axis = b->i == 2 ? last - 1 : last, other = b->i == 2 ? 3 : 1;
    if (in(m, 1)) {
        Value *in[] = {x, NULL, NULL, m->in[other], m->in[other + 1]};
        Node *c = clone_node(n, m, in, 5, 1);
        attr_set_int(c, "axis", 2 * last - 1 - axis);
        attr_set_float(c, "outside", 0);
        x = c->out[0];
    }
    Value *d = rows_along(n, b->d, m->in[b->i]->type, s, axis);
    s.dim[axis] = m->in[0]->shape->dim[axis];
    Value *v = matrices(n, d, false, rows_along(n, x, m->in[b->i]->type, s, axis), true),
          *zero = make_scalar(n, at->type, 0);
    v = make(n, "GatherElements", 2, v, make(n, "Max", 2, at, zero));
    attr_set_int(v->def, "axis", 1);
    return make(n, "Where", 3, make(n, "Less", 2, at, zero), make_scalar(n, m->in[b->i]->type, 0), v);
}

/* A Resize step is a product with a matrix along each of its axes: the step applied to the unit matrix. */
Value *resize_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Value *v = b->d;
    if (b->i)
        return resize_weights_vjp(b);
    int last = (int)attr_int(m, "axis"), rank = m->in[0]->shape->rank;
    Type wide = b->d->type == F64 ? F64 : F32;
    for (int axis = last; axis >= last - (in(m, 1) != NULL); axis--) {
        int64_t to_end[MAX_RANK];
        for (int i = 0; i < rank; i++)
            to_end[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
        Dim size = m->in[0]->shape->dim[axis];
        Value *results[2], *from[] = {unit_matrix(n, wide, size), filled(n, wide, 0, 2, (Dim[]){size, size})};
        for (int k = 0; k < 2; k++) {
            Value *in[] = {from[k], NULL, NULL, m->in[axis == last ? 3 : 1], m->in[axis == last ? 4 : 2]};
            Node *c = clone_node(n, m, in, 5, 1);
            attr_set_int(c, "axis", 1);
            results[k] = c->out[0];
        }
        Value *matrix = make_cast(n, make(n, "Sub", 2, results[0], results[1]), b->d->type); /* without the padding */
        if (rank == 1) {
            v = make_reshape(n, v, 2, (Dim[]){D(1), m->out[0]->shape->dim[0]});
            v = make_reshape(n, matrices(n, v, false, matrix, true), 1, &size);
            continue;
        }
        v = matrices(n, transpose(n, v, rank, to_end), false, matrix, true);
        v = transpose(n, v, rank, to_end);
    }
    return v;
}

/* Range: start's gradient is the sum of d; limit's is 0; delta's is the sum of d times the index. */
Value *range_vjp(const Vjp *b)
{
    Node *n = b->n;
    Value *v = b->d;
    if (b->i == 1)
        return zeros_like(n, b->m->in[1]);
    if (b->i == 2) {
        Value *count = numbered(n, b->m->out[0], v->type);
        v = make(n, "Mul", 2, v, make(n, "Sub", 2, count, make_scalar(n, v->type, 1)));
    }
    return reshape_like(n, make(n, "ReduceSum", 1, v), b->m->in[b->i]);
}

/* y = (x - zero) * scale; zero and scale have the shape of x or broadcast to it. */
Value *dequantize_vjp(const Vjp *b)
{
    const char *to[] = {"d*b", in(b->m, 2) ? "d*(a-c)" : "d*a", "-d*b"};
    return sum_to_shape(b->n, formula(b, to[b->i]), *b->m->out[0]->shape, b->m->in[b->i]);
}

/* ---- layers ----------------------------------------------------------------------------------------------------- */

/* The outputs are -weight * x and weight, at the target's class; 0 if that is ignored. */
Value *nll_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Value *x = m->in[0], *alone[] = {x, m->in[1]}, *axis = make_ints(n, 1, (int64_t[]){1});
    Tensor *ends = tensor_new(I64, 1, (int64_t[]){2});
    ((int64_t *)(uintptr_t)ends->data)[1] = 1;
    Value *hot = make(n, "OneHot", 3, m->in[1], make_dims(n, 1, &x->shape->dim[1]),
                      make_cast(n, value_const(n->graph, ends), x->type));
    attr_set_int(hot->def, "axis", 1);
    Value *weighted = make(n, "Unsqueeze", 2, clone_node(n, m, alone, 2, 2)->out[1], axis); /* 0: ignored */
    Value *v = make(n, "Mul", 2, make(n, "Mul", 2, hot, weighted), make(n, "Unsqueeze", 2, b->d, axis));
    v = b->o ? v : make(n, "Neg", 1, v);
    if (b->i == 0 && in(m, 2))
        v = make(n, "Mul", 2, v, make(n, "Unsqueeze", 2, clone_node(n, m, m->in, 3, 2)->out[1], axis));
    if (b->i == 0)
        return b->o ? zeros_like(n, x) : v;
    int64_t axes[MAX_RANK];
    int k = 0;
    for (int i = 0; i < x->shape->rank; i++)
        if (i != 1)
            axes[k++] = i;
    v = sum_over(n, b->o ? v : make(n, "Mul", 2, v, x), k, axes);
    return reshape_like(n, v, m->in[2]);
}

Value *gelu_vjp(const Vjp *b)
{
    return formula(b, attr_is(b->m, "approximate", "tanh")
                          ? "d*(0.5*(1+Tanh(0.7978845608028654*(x+0.044715*x*x*x)))"
                            "+0.5*x*(1-Tanh(0.7978845608028654*(x+0.044715*x*x*x))"
                            "*Tanh(0.7978845608028654*(x+0.044715*x*x*x)))"
                            "*0.7978845608028654*(1+0.134145*x*x))"
                          : "d*(0.5*(1+Erf(x*0.7071067811865476))+x*0.3989422804014327*Exp(-0.5*x*x))");
}

Value *lp_norm_vjp(const Vjp *b)
{
    return formula(b, attr_int(b->m, "p") == 1 ? "(d-Sign(x)*Along(d*y))/Along(Abs(x))"
                                               : "(d-y*Along(d*y))/Sqrt(Along(x*x))");
}

/* RotaryEmbedding: the rotation by the negative angles. (If the angles are active it is decomposed.) */
Value *rotary_vjp(const Vjp *b)
{
    Node *m = b->m;
    Value *in[] = {b->d, m->in[1], make(b->n, "Neg", 1, m->in[2]), m->n_in > 3 ? m->in[3] : NULL};
    return clone_node(b->n, m, in, 4, 1)->out[0];
}
