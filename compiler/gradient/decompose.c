/* decompose.c - decompositions of nodes without a gradient rule into nodes with one. */
#include "ir/spatial.h"
#include <strings.h>

#include "gradient.h"

/* v, of shape x, shifted by k elements along axis 1, to its end or, if `reverse`, its beginning; padded with ones. */
static Value *shifted(Node *n, Value *v, Shape x, int64_t k, bool reverse)
{
    Dim size = x.dim[1], move = dim_min(D(k), size);
    x.dim[1] = move;
    Value *ones = filled(n, v->type, 1, 3, x.dim);
    Value *rest = reverse ? part(n, v, 1, move, size) : part(n, v, 1, D(0), dim_sub(size, move));
    Value *all = reverse ? make(n, "Concat", 2, rest, ones) : make(n, "Concat", 2, ones, rest);
    attr_set_int(all->def, "axis", 1);
    all->type = v->type;
    return all;
}

/* CumProd by products of 1, 2, 4... elements: without divisions, which zeros would make invalid. */
static bool decompose_cumprod(Node *n, Node *m, Value **out)
{
    Shape s = *m->in[0]->shape, x = shape_list(3, D(1), D(1), D(1));
    Dim a;
    if (in_dims(m, 1, &a, 1) != 1)
        return false;
    a = dim_select(dim_less_expr(a, D(0)), dim_add(a, D(s.rank)), a);
    for (int i = 0; i < s.rank; i++) {
        x.dim[0] = dim_mul(x.dim[0], dim_select(dim_less_expr(D(i), a), s.dim[i], D(1)));
        x.dim[1] = dim_mul(x.dim[1], dim_select(dim_eq_expr(D(i), a), s.dim[i], D(1)));
        x.dim[2] = dim_mul(x.dim[2], dim_select(dim_less_expr(a, D(i)), s.dim[i], D(1)));
    }
    bool reverse = attr_int(m, "reverse") != 0;
    Value *v = make_reshape(n, in(m, 0), 3, x.dim);
    v->type = m->in[0]->type;
    if (attr_int(m, "exclusive"))
        v = shifted(n, v, x, 1, reverse);
    for (int64_t k = 1; k < INT64_MAX / 2 && k < dim_high(x.dim[1]); k *= 2) {
        v = make(n, "Mul", 2, v, shifted(n, v, x, k, reverse));
        v->type = m->in[0]->type;
    }
    out[0] = make_reshape(n, v, s.rank, s.dim);
    return true;
}

/* v: factors, (1, count, 1), sorted by the element `at` that they belong to. In the result the last factor of each
 * element is the product of all its factors. */
static Value *products_of_runs(Node *n, Value *v, Value *at, Dim count)
{
    Shape x = shape_list(3, D(1), count, D(1));
    Type t = v->type;
    for (int64_t k = 1; k < INT64_MAX / 2 && k < dim_high(count); k *= 2) {
        Value *same = make(n, "Equal", 2, at, shifted(n, at, x, k, false));
        v = make(n, "Mul", 2, v, make(n, "Where", 3, same, shifted(n, v, x, k, false), make_scalar(n, t, 1)));
        v->type = t;
    }
    return v;
}

/* A Scatter that multiplies: sorts the factors by element, and multiplies them by products of 1, 2, 4... */
static bool decompose_scatter(Node *n, Node *m, Value **out)
{
    bool nd = !strcmp(m->op->name, "ScatterNDReduce");
    Shape s = *m->in[0]->shape;
    Dim count = shape_count(*m->in[2]->shape), row[] = {D(1), count, D(1)}, all = dim_add(shape_count(s), D(1));
    Type t = m->in[0]->type;
    if (!attr_is(m, "reduction", "mul"))
        return false;
    Value *at = make(n, nd ? "GatherND" : "GatherElements", 2, numbered(n, in(m, 0), I64), in(m, 1));
    if (!nd)
        attr_set_int(at->def, "axis", attr_int(m, "axis"));
    Node *order = make_node(n, "TopK", 2, (Value *[]){make_reshape(n, at, 1, &count), make_dims(n, 1, &count)}, 2);
    attr_set_int(order, "largest", 0);
    Value *v = make(n, "Gather", 2, make_reshape(n, in(m, 2), 1, &count), order->out[1]), *one = make_int(n, 1);
    at = make(n, "Add", 2, make_reshape(n, order->out[0], 3, row), one); /* numbered from 2: `shifted` pads with 1 */
    v = make_reshape(n, v, 3, row);
    at->type = I64;
    v->type = t;
    v = products_of_runs(n, v, at, count);
    Value *next = shifted(n, at, shape_of(3, row), 1, true);
    at = make(n, "Where", 3, make(n, "Equal", 2, at, next), make_int(n, 0), make(n, "Sub", 2, at, one));
    Value *ones = filled(n, t, 1, 1, &all);
    v = make(n, "ScatterElements", 3, ones, make_reshape(n, at, 1, &count), make_reshape(n, v, 1, &count));
    out[0] = make(n, "Mul", 2, in(m, 0), make_reshape(n, part(n, v, 0, D(1), all), s.rank, s.dim));
    return true;
}

/* CausalConvWithState as a sum over taps: the past and new elements, shifted, times the tap's weight. */
static bool decompose_causal_conv(Node *n, Node *m, Value **out)
{
    Shape x = *m->in[0]->shape;
    Type own = m->in[0]->type, t = own == F64 ? F64 : F32;
    Dim taps = m->in[1]->shape->dim[2], before = dim_sub(taps, D(1)), one[] = {x.dim[1], D(1)};
    Shape past_shape = shape_list(3, x.dim[0], x.dim[1], before);
    Value *past = in(m, 3) ? make_cast(n, in(m, 3), t) : filled(n, t, 0, 3, past_shape.dim);
    Value *all = make(n, "Concat", 2, past, make_cast(n, in(m, 0), t)), *w = make_cast(n, in(m, 1), t), *y = NULL;
    attr_set_int(all->def, "axis", 2);
    if (!dim_is_const(taps)) {
        Value *v = windows_along(n, all, 2, x.dim[2], D(1), taps, D(1));
        v = make(n, "Mul", 2, v, make_reshape(n, w, 3, (Dim[]){x.dim[1], D(1), taps}));
        y = make_reshape(n, sum_over(n, v, 1, (int64_t[]){3}), 3, x.dim);
    }
    for (int64_t k = 0; dim_is_const(taps) && k < dim_value(taps); k++) {
        Value *v = part(n, all, 2, D(k), dim_add(D(k), x.dim[2]));
        v = make(n, "Mul", 2, v, make_reshape(n, part(n, w, 2, D(k), D(k + 1)), 2, one));
        y = y ? make(n, "Add", 2, y, v) : v;
    }
    if (in(m, 2))
        y = make(n, "Add", 2, y, make_reshape(n, make_cast(n, in(m, 2), t), 2, one));
    if (!attr_is(m, "activation", "none"))
        y = make(n, "Mul", 2, y, make(n, "Sigmoid", 1, y));
    out[0] = make_cast(n, y, own);
    if (m->n_out > 1)
        out[1] = make_cast(n, part(n, all, 2, x.dim[2], dim_add(x.dim[2], before)), own);
    return true;
}

/* LayerNormalization with the mean or the deviation as an output. */
static bool decompose_layer_norm(Node *n, Node *m, Value **out)
{
    Type own = m->in[0]->type, t = own == F64 ? F64 : F32;
    int64_t axes[MAX_RANK];
    int rank = m->in[0]->shape->rank, k = 0;
    if (m->n_out < 2 || (!m->out[1] && !(m->n_out > 2 && m->out[2])))
        return false;
    for (int i = attr_axis(m, "axis", rank); i < rank; i++)
        axes[k++] = i;
    Value *over = make_ints(n, k, axes), *x = make_cast(n, in(m, 0), t), *mean = make(n, "ReduceMean", 2, x, over);
    Value *d = make(n, "Sub", 2, x, mean), *variance = make(n, "ReduceMean", 2, make(n, "Mul", 2, d, d), over);
    variance = make(n, "Add", 2, variance, make_scalar(n, t, attr_float(m, "epsilon")));
    Value *factor = make(n, "Reciprocal", 1, make(n, "Sqrt", 1, variance));
    Value *y = make(n, "Mul", 2, make(n, "Mul", 2, d, factor), make_cast(n, in(m, 1), t));
    if (in(m, 2))
        y = make(n, "Add", 2, y, make_cast(n, in(m, 2), t));
    out[0] = make_cast(n, y, own);
    for (int i = 1; i < m->n_out; i++)
        out[i] = m->out[i] ? make_cast(n, i == 1 ? mean : factor, m->out[i]->type) : NULL;
    return true;
}

/* Must RoiAlign be decomposed? If the number of positions depends on run-time regions, a mean has a vjp rule
 * instead. */
static bool roi_needs_nodes(const Node *m, const bool *active)
{
    return active[1] || in(m, 1)->data || attr_int(m, "sampling_ratio") || !strcasecmp(attr_string(m, "mode"), "max");
}

static bool are_angles_active(const Node *m, const bool *active)
{
    (void)m;
    return active[1] || active[2];
}

bool decompose(Node *n, Node *m, const bool *active, Value **out)
{
    static const struct {
        const char *op;
        bool (*decompose)(Node *n, Node *m, Value **out);
        bool (*is_needed)(const Node *m, const bool *active); /* NULL: always */
    } all[] = {
        {"Attention", decompose_attention, NULL},
        {"CausalConvWithState", decompose_causal_conv, NULL},
        {"CumProd", decompose_cumprod, NULL},
        {"DeformConv", decompose_deform_conv, NULL},
        {"Fourier", decompose_frames, NULL},
        {"GridSample", decompose_grid_sample, NULL},
        {"LayerNormalization", decompose_layer_norm, NULL},
        {"LinearAttention", decompose_linear_attention, NULL},
        {"ResizeTable", decompose_resize_table, NULL},
        {"RoiAlign", decompose_roi_align, roi_needs_nodes},
        {"RotaryEmbedding", decompose_rotary, are_angles_active},
        {"ScatterElementsReduce", decompose_scatter, NULL},
        {"ScatterNDReduce", decompose_scatter, NULL},
        {"SvmProbability", decompose_svm_probability, NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].op, m->op->name) && (!all[i].is_needed || all[i].is_needed(m, active)) &&
            all[i].decompose(n, m, out)) {
            for (int o = 0; o < m->n_out;
                 o++) /* the decomposition's nodes may be expanded later; the Identity remains */
                out[o] = out[o] && m->out[o] ? make(n, "Identity", 1, out[o]) : NULL;
            return true;
        }
    return false;
}
