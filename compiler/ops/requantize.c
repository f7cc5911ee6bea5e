/* requantize.c - operators between onnxcc.Dequantize and onnxcc.Quantize are computed in integers: convolutions,
 * products and averages, with Relu and Clip as limits of the result; operators that only move elements, or take the
 * largest, work on 8-bit ones; QuantizeLinear of DequantizeLinear is removed. The results differ from those of floats
 * only in that integer sums are not rounded. */
#include <math.h>

#include "ir/exec.h"
#include "ir/ops.h"
#include "ir/remark.h"
#include "passes/infer.h"
#include "integer.h"

/* v = (x - zero) * scale */
typedef struct Linear {
    Value *x, *scale, *zero;
} Linear;

static bool is_op(const Node *n, const char *domain, const char *op)
{
    return n && !strcmp(n->op->name, op) && !strcmp(n->op->domain ? n->op->domain : "", domain);
}

static bool is_single(const Value *v) { return !v || dim_is(shape_count(*v->shape), 1); }
static bool is_known(const Value *v) { return !v || (v->data && !v->data->symbolic); }
static bool is_byte(Type t) { return t == I8 || t == U8; }

static bool read_linear(const Value *v, Linear *l)
{
    if (!v || v->type != F32 || !is_op(v->def, "onnxcc", "Dequantize"))
        return false;
    *l = (Linear){in(v->def, 0), in(v->def, 1), in(v->def, 2)};
    return l->scale->type == F32;
}

/* Element i of a list, or its only element. */
static double at(const Value *v, int64_t i) { return v ? tensor_get(v->data, is_single(v) ? 0 : i) : 0; }

static bool is_same_number(const Value *a, const Value *b)
{
    return a == b || (is_known(a) && is_known(b) && is_single(a) && is_single(b) && at(a, 0) == at(b, 0));
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* The result of the Quantize node q for v. */
static int64_t quantised(const Node *q, double v)
{
    Type t = out(q, 0)->type;
    double zero = at(in(q, 2), 0), lo = t == I8 ? -128 : 0,
           y = rint((double)((float)v / (float)at(in(q, 1), 0))) + zero;
    return (int64_t)fmin(fmax(y, lo), lo + 255);
}

/* v, or the input of Relu and Clip nodes that lead to v and have no other reader; *lo, *hi: the limits that they and q
 * impose on the quantised result. */
static Value *unlimited(const Node *q, Value *v, int64_t *lo, int64_t *hi)
{
    *lo = quantised(q, -INFINITY);
    *hi = quantised(q, INFINITY);
    for (Node *c = v->def; c && v->uses.n == 1; v = c->in[0], c = v->def) {
        double low = 0, high = INFINITY;
        if (is_op(c, "", "Clip") && is_known(in(c, 1)) && is_known(in(c, 2))) {
            low = in(c, 1) ? at(in(c, 1), 0) : -INFINITY;
            high = in(c, 2) ? at(in(c, 2), 0) : INFINITY;
        } else if (is_op(c, "", "Identity"))
            continue;
        else if (!is_op(c, "", "Relu"))
            break;
        *lo = quantised(q, low) > *lo ? quantised(q, low) : *lo;
        *hi = quantised(q, high) < *hi ? quantised(q, high) : *hi;
    }
    return v->uses.n == 1 ? v : NULL;
}

/* ---- convolutions and products ----------------------------------------------------------------------------------- */

/* v, which broadcasts to w, as a list with an element per index of the axis, or with one; NULL: neither. */
static Value *per_output(Node *q, Value *v, const Value *w, int axis)
{
    if (is_single(v))
        return v;
    int k = axis - w->shape->rank + v->shape->rank;
    if (k < 0 || !dim_identical(v->shape->dim[k], shape_count(*v->shape)))
        return NULL;
    return v->shape->rank == 1 ? v : inferred(make(q, "Reshape", 2, v, make_ints(q, 1, (int64_t[]){-1})));
}

/* Has the bias, of n elements, the scale x.scale * w.scale? */
static bool bias_fits(const Linear *b, const Linear *x, const Linear *w, int64_t n)
{
    if (b->x->type != I32 || b->zero || !is_known(b->scale) || !is_known(x->scale) || !is_known(w->scale) ||
        !dim_is(shape_count(*b->x->shape), n))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(at(b->scale, i) - at(x->scale, 0) * at(w->scale, i)) <= 1e-6 * fabs(at(b->scale, i))))
            return false;
    return true;
}

/* Records that y does the work of n, of the Dequantize nodes of its inputs, of q and of the limits between them. */
static void stands_for(Node *y, const Node *n, const Node *q)
{
    y->source = n->source;
    y->name = n->name;
    y->also = n->also;
    for (int i = 0; i < n->n_in; i++)
        if (in(n, i) && is_op(in(n, i)->def, "onnxcc", "Dequantize"))
            node_also(y, in(n, i)->def);
    for (const Value *v = in(q, 0); v->def && v->def != n; v = v->def->in[0])
        node_also(y, v->def);
    node_also(y, q);
}

/* Are n's input and weights 8-bit integers, with one scale for the input? */
static bool reads_bytes(const Node *n, Linear *x, Linear *w)
{
    if (!read_linear(in(n, 0), x))
        return declines(REWRITE_INTEGER, n, "%s is not dequantized", remark_value(in(n, 0)));
    if (!read_linear(in(n, 1), w))
        return declines(REWRITE_INTEGER, n, "the weights, %s, are not dequantized", remark_value(in(n, 1)));
    if (!is_byte(x->x->type) || !is_byte(w->x->type))
        return declines(REWRITE_INTEGER, n, "its input is of %s, its weights of %s: not both of 8 bits",
                        type_onnx(x->x->type), type_onnx(w->x->type));
    if (!is_single(x->scale) || !is_single(x->zero))
        return declines(REWRITE_INTEGER, n, "its input has several scales or zero points");
    if (!shape_is_const(*w->x->shape))
        return declines(REWRITE_INTEGER, n, "the shape of its weights is known only at run time");
    return true;
}

/* Can the integer kernel add n's bias, if any? *b: the bias. */
static bool reads_bias(const Node *n, Linear *b, const Linear *x, const Linear *w, int64_t outputs)
{
    if (!in(n, 2))
        return true;
    if (!read_linear(in(n, 2), b))
        return declines(REWRITE_INTEGER, n, "the bias, %s, is not dequantized", remark_value(in(n, 2)));
    if (!bias_fits(b, x, w, outputs))
        return declines(REWRITE_INTEGER, n,
                        "the bias is not of int32, without a zero point, in units of the input's scale times the "
                        "weights'");
    return true;
}

/* Replaces n, of x, weights and bias (with the outputs along `axis` of the weights), and q by an integer operator. */
static bool replace_by_integer(Node *q, Node *n, const char *op, int axis, int64_t lo, int64_t hi)
{
    Linear x, w, b = {0};
    if (!reads_bytes(n, &x, &w))
        return false;
    int64_t outputs = dim_value(w.x->shape->dim[axis]);
    Value *scale = per_output(q, w.scale, w.x, axis), *zero = per_output(q, w.zero, w.x, axis);
    if (!scale || (w.zero && !zero))
        return declines(REWRITE_INTEGER, n, "the weights' scales are not one for each output");
    if (!reads_bias(n, &b, &x, &w, outputs))
        return false;
    (void)applies(REWRITE_INTEGER, n, "up to %s", remark_node(q));
    scale = inferred(make(q, "Mul", 2, x.scale, scale));
    scale = inferred(make(q, "Div", 2, scale, in(q, 1)));
    Node *y = make_integer(q, op, out(q, 0)->type, (Value *[]){x.x, w.x, b.x, scale, zero, x.zero, in(q, 2)});
    for (int i = 0; i < n->n_attr; i++)
        attr_set(y, n->attr[i]);
    stands_for(y, n, q);
    attr_set_int(y, "lo", lo);
    attr_set_int(y, "hi", hi);
    replace_out(q, 0, inferred(y->out[0]));
    node_remove(q);
    return true;
}

static bool is_product(const Node *n) { return is_op(n, "", "Conv") || is_op(n, "onnxcc", "Product"); }

/* Is n, between a product and its Quantize node, one that only limits the result? */
static bool limits(const Node *n) { return is_op(n, "", "Clip") || is_op(n, "", "Relu") || is_op(n, "", "Identity"); }

/* Remarks that n, between a product and its Quantize node, limits the result by numbers that are no constants. */
static bool remark_limits(const Node *n)
{
    const Node *product = n;
    while (limits(product))
        product = in(product, 0)->def;
    return product && product != n && is_product(product) &&
           declines(REWRITE_INTEGER, product, "the limits of %s are no constants", remark_node(n));
}

static bool product_in_integers(Node *q)
{
    int64_t lo, hi;
    if (!is_known(in(q, 1)) || !is_known(in(q, 2)))
        return in(q, 0)->def && is_product(in(q, 0)->def) &&
               declines(REWRITE_INTEGER, in(q, 0)->def, "the scale or zero point of its result is no constant");
    Value *v = unlimited(q, in(q, 0), &lo, &hi);
    Node *n = v ? v->def : NULL;
    if (is_op(n, "", "Conv"))
        return replace_by_integer(q, n, "onnxcc.IntegerConv", 0, lo, hi);
    if (!is_op(n, "onnxcc", "Product"))
        return remark_limits(n);
    if (attr_int(n, "trans_a") || in_shape(n, 1).rank != 2)
        return declines(REWRITE_INTEGER, n, "its left matrix is transposed, or its right one is not one matrix");
    return replace_by_integer(q, n, "onnxcc.IntegerProduct", attr_int(n, "trans_b") ? 0 : 1, lo, hi);
}

/* Is n a pool of a dequantized image? */
static bool pools_dequantized(const Node *n)
{
    const bool pool = is_op(n, "", "AveragePool") || is_op(n, "", "MaxPool");
    return pool && is_op(in(n, 0)->def, "onnxcc", "Dequantize");
}

/* Remarks why convolutions, products and pools of v whose result is not only quantised are computed in floats. */
static void remark_unquantized(const Value *v)
{
    for (int i = 0; i < v->uses.n; i++) {
        const Node *n = v->uses.at[i].node;
        if (!n || v->uses.at[i].i || !(is_product(n) || pools_dequantized(n)))
            continue;
        const Value *y = n->out[0];
        while (y->uses.n == 1 && limits(y->uses.at[0].node))
            y = y->uses.at[0].node->out[0];
        if (y->uses.n > 1)
            (void)declines(REWRITE_INTEGER, n, "%s has several readers", remark_value(y));
        else if (y->uses.n && !is_op(y->uses.at[0].node, "onnxcc", "Quantize"))
            (void)declines(REWRITE_INTEGER, n, "its result, %s, is not quantized", remark_value(y));
    }
}

/* ---- averages ---------------------------------------------------------------------------------------------------- */

/* Is n a ReduceMean over all spatial axes? kernel: a window of the image's size. */
static bool read_whole_window(const Node *n, int64_t *kernel)
{
    Shape s = in_shape(n, 0);
    int k = s.rank - 2;
    if (k < 1 || k > 3 || !in_is_const(n, 1) || tensor_count(n->in[1]->data) != k || !attr_int(n, "keepdims"))
        return false;
    for (int i = 0; i < k; i++) {
        int64_t a = tensor_get_int(n->in[1]->data, i);
        if ((a < 0 ? a + s.rank : a) != i + 2 || !dim_is_const(s.dim[i + 2]))
            return false;
        kernel[i] = dim_value(s.dim[i + 2]);
    }
    return true;
}

static bool average_in_integers(Node *q)
{
    Linear x;
    int64_t kernel[MAX_RANK];
    Node *n = in(q, 0)->def;
    bool pool = is_op(n, "", "AveragePool") && in_shape(n, 0).rank <= 5;
    bool whole = is_op(n, "", "ReduceMean") && read_whole_window(n, kernel);
    if (!pool && !whole)
        return is_op(n, "", "AveragePool") && declines(REWRITE_INTEGER, n, "its kernels take 1 to 3 spatial axes");
    if (in(q, 0)->uses.n != 1)
        return declines(REWRITE_INTEGER, n, "%s has several readers", remark_value(in(q, 0)));
    if (!read_linear(in(n, 0), &x))
        return declines(REWRITE_INTEGER, n, "%s is not dequantized", remark_value(in(n, 0)));
    if (!is_byte(x.x->type) || !is_single(x.scale) || !is_single(x.zero))
        return declines(REWRITE_INTEGER, n, "its input has not 8 bits, or several scales or zero points");
    (void)applies(REWRITE_INTEGER, n, "up to %s", remark_node(q));
    Value *scale = inferred(make(q, "Div", 2, x.scale, in(q, 1)));
    Value *y = make(q, "onnxcc.IntegerPool", 4, x.x, scale, x.zero, in(q, 2));
    for (int i = 0; pool && i < n->n_attr; i++)
        attr_set(y->def, n->attr[i]);
    if (!pool)
        attr_set_ints(y->def, "kernel_shape", in_shape(n, 0).rank - 2, kernel);
    attr_set_int(y->def, "to", out(q, 0)->type);
    stands_for(y->def, n, q);
    replace_out(q, 0, inferred(y));
    node_remove(q);
    return true;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* Moves q before a node that moves elements or takes the largest: quantises every input that is moved. */
static bool quantize_sooner(Node *q)
{
    Node *m = in(q, 0)->def;
    bool largest = is_op(m, "", "MaxPool") && !out(m, 1);
    if (is_op(m, "", "MaxPool") && !largest)
        return declines(REWRITE_INTEGER, m, "it has indices, too");
    if (!m || in(q, 0)->data || !(largest || m->op->flags & (VIEW | MOVES)) || m->op->flags & CONTROL || m->n_out != 1)
        return false;
    if (m->graph != q->graph)
        return declines(REWRITE_INTEGER, m, "%s belongs to another graph", remark_node(q));
    if (in(q, 0)->uses.n != 1)
        return declines(REWRITE_INTEGER, m, "%s has several readers", remark_value(in(q, 0)));
    (void)applies(REWRITE_INTEGER, m, "%s is done before it", remark_node(q));
    Value **ins = NEWS(Value *, m->n_in);
    for (int i = 0; i < m->n_in; i++) {
        ins[i] = in(m, i);
        if (i && (largest || m->op->flags & VIEW || !ins[i] || !op_moves_input(m, i)))
            continue;
        Node *early = make_node(q, "onnxcc.Quantize", 3, (Value *[]){ins[i], in(q, 1), in(q, 2)}, 1);
        for (int k = 0; k < q->n_attr; k++)
            attr_set(early, q->attr[k]);
        ins[i] = inferred(early->out[0]);
    }
    const char *op = m->op->domain ? name_format("%s.%s", m->op->domain, m->op->name)->s : m->op->name;
    Node *moved = make_node(q, op, m->n_in, ins, 1);
    for (int k = 0; k < m->n_attr; k++)
        attr_set(moved, m->attr[k]);
    moved->name = m->name;
    moved->source = m->source;
    moved->also = m->also;
    replace_out(q, 0, inferred(moved->out[0]));
    node_remove(q);
    return true;
}

/* Removes q if its input is dequantized by the same scale and zero point. */
static bool cancel(Node *q)
{
    Linear x;
    if (!read_linear(in(q, 0), &x))
        return false;
    if (x.x->type != out(q, 0)->type)
        return declines(REWRITE_IDENTITY, q, "%s is of another type", remark_value(x.x));
    if (!is_same_number(x.scale, in(q, 1)) ||
        !(x.zero == in(q, 2) || (x.zero && in(q, 2) && is_same_number(x.zero, in(q, 2)))))
        return declines(REWRITE_IDENTITY, q, "%s has another scale or zero point", remark_value(x.x));
    if (value_is_output(out(q, 0)))
        return declines(REWRITE_IDENTITY, q, "its result is an output, and has a buffer of its own");
    (void)applies(REWRITE_IDENTITY, q, "%s is the same", remark_value(x.x));
    replace_out(q, 0, x.x);
    node_remove(q);
    return true;
}

/* Remarks that what computes q's input from dequantized values has no kernel of integers. */
static bool stays_float(const Node *q)
{
    const Node *n = in(q, 0)->def;
    bool dequantized = false;
    for (int i = 0; n && i < n->n_in; i++)
        dequantized |= in(n, i) && is_op(in(n, i)->def, "onnxcc", "Dequantize");
    return dequantized && !is_product(n) && !pools_dequantized(n) && !(n->op->flags & (VIEW | MOVES)) &&
           declines(REWRITE_INTEGER, n, "only convolutions, products, averages over windows and moves are");
}

bool quantize_simplify(Node *q)
{
    const Node *n = in(q, 0)->def;
    if (is_byte(out(q, 0)->type) && in_type(q, 0) == F32 && attr_int(q, "precision") == F32 && is_single(in(q, 1)) &&
        is_single(in(q, 2)))
        return cancel(q) || product_in_integers(q) || quantize_sooner(q) || average_in_integers(q) || stays_float(q);
    return n && (is_product(n) || pools_dequantized(n)) &&
           declines(REWRITE_INTEGER, n, "%s is not from float to 8 bits by one scale and zero point", remark_node(q));
}

/* Gives every elementwise reader a Dequantize node of its own, to be fused with its loop. */
bool dequantize_simplify(Node *n)
{
    Value *v = n->out[0];
    int copies = 0;
    if (remarks_on(REWRITE_INTEGER))
        remark_unquantized(v);
    for (int i = v->uses.n - 1; i > 0 && !v->data; i--) {
        Use u = v->uses.at[i];
        if (!u.node || u.node->graph != n->graph || !(u.node->op->pointwise || u.node->op->flags & ELEMENTWISE))
            continue;
        Node *copy = make_node(u.node, "onnxcc.Dequantize", n->n_in, n->in, 1);
        for (int k = 0; k < n->n_attr; k++)
            attr_set(copy, n->attr[k]);
        attr_set_int(copy, "copy", ++copies + (attr_is_given(n, "copy") ? attr_int(n, "copy") : 0));
        node_set_in(u.node, u.i, inferred(copy->out[0]));
    }
    return false;
}
