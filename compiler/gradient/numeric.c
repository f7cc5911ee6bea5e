/* numeric.c - vjp rules of determinants, support vectors and Fourier transforms. */
#include <strings.h>

#include "gradient.h"
#include "ops/fourier.h"

/* The derivative of a determinant by element (i, j) is the determinant with row j of the unit matrix in place of row i:
 * this holds for singular matrices, too. */
Value *det_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Shape x = *m->in[0]->shape;
    Dim size = x.dim[x.rank - 1], batch = shape_product(x, 0, x.rank - 2);
    Value *unit = unit_matrix(n, b->d->type, size);
    Value *row = make_cast(n, make_reshape(n, unit, 4, (Dim[]){size, D(1), size, D(1)}), B8);
    Value *by = make_reshape(n, unit, 3, (Dim[]){size, D(1), size});
    Value *v = make_reshape(n, m->in[0], 5, (Dim[]){batch, D(1), D(1), size, size});
    v = make(n, "Det", 1, make(n, "Where", 3, row, by, v));
    v = make(n, "Mul", 2, v, make_reshape(n, b->d, 3, (Dim[]){batch, D(1), D(1)}));
    return reshape_like(n, v, m->in[0]);
}

/* ---- support vectors --------------------------------------------------------------------------------------------- */

/* y = f(gamma x v' + coef0) of rows x and vectors v, or exp(-gamma |x - v|^2). */
Value *svm_kernel_vjp(const Vjp *b)
{
    static const struct {
        const char *kind, *slope;
    } kinds[] = {{"LINEAR", "d"},
                 {"POLY", "d*@gamma*@degree*Pow(a,@degree-1)"},
                 {"SIGMOID", "d*@gamma*(1-y*y)"},
                 {"RBF", "d*y*@gamma*2"}};
    Node *n = b->n, there = *b->m;
    Value *x = b->m->in[0], *v = b->m->in[1], *s[] = {matrices(n, x, false, v, true), v};
    Vjp to = *b;
    int k = 0;
    while (strcasecmp(attr_string(b->m, "kind"), kinds[k].kind))
        k++;
    s[0] = make(n, "Mul", 2, s[0], make_scalar(n, F32, attr_float(b->m, "gamma")));
    s[0] = make(n, "Add", 2, s[0], make_scalar(n, F32, attr_float(b->m, "coef0")));
    there.in = s;
    to.m = &there;
    Value *d = formula(&to, kinds[k].slope), *sum = matrices(n, d, false, v, false);
    if (k < 3)
        return sum;
    Value *own = make(n, "Mul", 2, x, sum_over(n, d, 1, (int64_t[]){1}));
    return make(n, "Sub", 2, sum, own);
}

/* The scores are a product with a matrix: the node's output for the unit matrix, without offsets. The votes are step
 * functions. */
Value *svm_contest_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Value *in[] = {unit_matrix(n, F32, m->in[0]->shape->dim[1]), m->in[1], zeros_like(n, m->in[2]), m->in[3]};
    return b->o ? zeros_like(n, m->in[0]) : matrices(n, b->d, false, clone_node(n, m, in, 4, 2)->out[0], true);
}

/* Solves A x = b, A positive definite, whose rows are (A b): every iteration eliminates one column. */
static Value *solved(Node *n, Value *rows, int64_t k)
{
    Dim one = D(1);
    Value *at = make(n, "Range", 3, make_int(n, 0), make_int(n, k), make_int(n, 1));
    at = make_reshape(n, at, 2, (Dim[]){D(k), one});
    Node *end = loop_begin(n, D(k), 1, &rows);
    Value *v = end->graph->in.at[2], *iteration = make_reshape(end, end->graph->in.at[0], 1, &one);
    Value *row = make(end, "Gather", 2, v, iteration), *factor = make(end, "Gather", 2, v, iteration);
    attr_set_int(row->def, "axis", 1);
    attr_set_int(factor->def, "axis", 2);
    Value *pivot = make(end, "Gather", 2, row, iteration);
    attr_set_int(pivot->def, "axis", 2);
    row = make(end, "Div", 2, row, pivot);
    Value *here = make(end, "Equal", 2, at, iteration);
    v = make(end, "Where", 3, here, row, make(end, "Sub", 2, v, make(end, "Mul", 2, factor, row)));
    return part(n, loop_end(end, 1, &v)->out[0], 2, D(k), D(k + 1));
}

/* A matrix over pairs of classes: the index in a list of the pairs, then the reversed pairs, then a 0 for the
 * diagonal. */
static Value *pair_places(Node *n, int64_t k)
{
    int64_t pairs = k * (k - 1) / 2, pair = 0;
    Tensor *t = tensor_new(I64, 2, (int64_t[]){k, k});
    int64_t *at = (int64_t *)(uintptr_t)t->data;
    for (int64_t i = 0; i < k; i++) {
        at[i * k + i] = 2 * pairs;
        for (int64_t j = i + 1; j < k; j++, pair++) {
            at[i * k + j] = pair;
            at[j * k + i] = pairs + pair;
        }
    }
    return value_const(n->graph, t);
}

/* ml_svm.h approximates this in rounds: the p with a sum of 1 and the smallest p' Q p is a multiple of the solution of
 * (Q + 1 1') p = 1. In double, since small probabilities of pairs are squared. */
bool decompose_svm_probability(Node *n, Node *m, Value **out)
{
    int64_t k = attr_int(m, "classes");
    Dim rows = m->in[0]->shape->dim[0], zeros[] = {rows, D(1)}, ones[] = {rows, D(k), D(1)};
    Value *one = make_scalar(n, F64, 1), *v = make_cast(n, in(m, 0), F64);
    v = make(n, "Mul", 2, v, make_cast(n, in(m, 1), F64));
    v = make(n, "Sigmoid", 1, make(n, "Neg", 1, make(n, "Add", 2, v, make_cast(n, in(m, 2), F64))));
    v = make(n, "Clip", 3, v, make_scalar(n, F64, 1e-7), make_scalar(n, F64, 1 - 1e-7));
    v = make(n, "Concat", 3, v, make(n, "Sub", 2, one, v), filled(n, F64, 0, 2, zeros));
    attr_set_int(v->def, "axis", 1);
    v = make(n, "Gather", 2, v, pair_places(n, k));
    attr_set_int(v->def, "axis", 1);
    Value *diagonal = sum_over(n, make(n, "Mul", 2, v, v), 1, (int64_t[]){1});
    diagonal = make(n, "Mul", 2, unit_matrix(n, F64, D(k)), diagonal);
    v = make(n, "Sub", 2, diagonal, make(n, "Mul", 2, v, transpose(n, v, 3, (int64_t[]){0, 2, 1})));
    v = make(n, "Concat", 2, make(n, "Add", 2, v, one), filled(n, F64, 1, 3, ones));
    attr_set_int(v->def, "axis", 2);
    v = solved(n, v, k);
    v = make(n, "Div", 2, v, sum_over(n, v, 1, (int64_t[]){1}));
    out[0] = make_cast(n, make_reshape(n, v, 2, (Dim[]){rows, D(k)}), F32);
    return true;
}

/* ---- Fourier transforms ------------------------------------------------------------------------------------------ */

/* The number of times that each element of half a spectrum occurs in the whole one: (length, 1, 1); 0 for the other
 * half. */
static Value *mirrored(Node *n, Type t, Dim length)
{
    Value *one = make_int(n, 1), *k = make(n, "Range", 3, make_int(n, 0), size_as(n, I64, length), one);
    Value *twice = make(n, "Add", 2, k, k), *all = size_as(n, I64, length);
    Value *inside = make(n, "And", 2, make(n, "Greater", 2, k, make_int(n, 0)), make(n, "Less", 2, twice, all));
    Value *edge = make(n, "Or", 2, make(n, "Equal", 2, k, make_int(n, 0)), make(n, "Equal", 2, twice, all));
    Value *v = make(n, "Where", 3, inside, make_int(n, 2), make_cast(n, edge, I64));
    return make_reshape(n, make_cast(n, v, t), 3, (Dim[]){length, D(1), D(1)});
}

/* The transposed transform is the inverse one up to a factor. */
Value *fourier_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Type t = b->d->type == F64 ? F64 : F32;
    Shape x = *m->in[0]->shape, y = *m->out[0]->shape;
    Dim d[FOURIER_DIMS], pads[8] = {{0}};
    if (b->i || in(m, 1) || in_dims(m, 4, d, FOURIER_DIMS) < 0)
        return NULL;
    bool inverse = attr_int(m, "inverse") != 0;
    Value *v = make_reshape(n, make_cast(n, b->d, t), 4, (Dim[]){d[OUTER], d[BINS], d[INNER], y.dim[y.rank - 1]});
    v = make(n, "DFT", 3, v, make_dims(n, 1, &d[LENGTH]), make_int(n, 1));
    attr_set_int(v->def, "inverse", !inverse);
    v = make(n, inverse ? "Div" : "Mul", 2, v, size_as(n, t, d[LENGTH]));
    if (attr_int(m, "mirror"))
        v = make(n, "Mul", 2, v, mirrored(n, t, d[LENGTH]));
    v = part(n, part(n, v, 3, D(0), x.dim[x.rank - 1]), 1, D(0), dim_min(d[COUNT], d[LENGTH]));
    pads[5] = dim_sub(d[COUNT], dim_min(d[COUNT], d[LENGTH]));
    return reshape_like(n, make(n, "Pad", 2, v, make_dims(n, 8, pads)), m->in[0]);
}

/* Decomposes STFT into frames and a DFT of these. */
bool decompose_frames(Node *n, Node *m, Value **out)
{
    Dim d[FOURIER_DIMS];
    if (m->in[0]->shape->rank == m->out[0]->shape->rank || in_dims(m, 4, d, FOURIER_DIMS) < 0)
        return false;
    Value *v = windows_along(n, in(m, 0), 1, d[INNER], d[FROM + 1], d[LENGTH], D(1));
    if (in(m, 1))
        v = make(n, "Mul", 2, v, make_reshape(n, in(m, 1), 2, (Dim[]){d[LENGTH], D(1)}));
    v = make(n, "DFT", 3, v, NULL, make_int(n, 2));
    attr_set_int(v->def, "onesided", !dim_identical(d[BINS], d[LENGTH]));
    out[0] = v;
    return true;
}
