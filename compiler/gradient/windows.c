/* windows.c - vjp rules of operators with windows over images: convolutions, pools, LRN, Col2Im. */
#include "ops/blocks.h"
#include "gradient.h"

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Windows over a larger image, one per pixel of a smaller one: the first begins `before` elements before the larger
 * image, the last ends `after` elements after it; negative: inside. */
typedef struct Slide {
    int axes;
    int64_t stride[3], dilation[3], pads[6];
    bool known[3]; /* the pads are constant and leave something of the image, so they can be the attribute `pads` */
    Dim kernel[3], size[3], out[3], before[3], after[3];
} Slide;

/* The last `axes` elements of each array are used. */
static Slide slide_make(int axes, const Windows *w, const Dim *kernel, const Dim *size, const Dim *out)
{
    Slide s = {.axes = axes};
    for (int i = 0, k = 3 - axes; i < axes; i++, k++) {
        s.stride[i] = w->stride[k];
        s.dilation[i] = w->dilation[k];
        s.kernel[i] = kernel[k];
        s.size[i] = size[k];
        s.out[i] = out[k];
        s.before[i] = w->pad[k];
        Dim one = dim_add(dim_mul(dim_sub(kernel[k], D(1)), D(w->dilation[k])), D(1));
        Dim all = dim_max(D(0), dim_add(dim_mul(dim_sub(out[k], D(1)), D(w->stride[k])), one));
        s.after[i] = dim_sub(dim_sub(all, size[k]), w->pad[k]);
        s.known[i] = dim_is_const(s.before[i]) && dim_is_const(s.after[i]) && dim_value(s.after[i]) > -s.stride[i] &&
                     dim_low(size[k]) > 0;
        s.pads[i] = s.known[i] ? dim_value(s.before[i]) : 0;
        s.pads[axes + i] = s.known[i] ? dim_value(dim_max(s.after[i], D(0))) : 0;
    }
    return s;
}

/* The windows of m, over its input or, if it is transposed, its output. */
static Slide slide_of(Node *m, bool transposed)
{
    Image image;
    Windows w;
    int64_t sizes[3], *kernel = m->n_in > 1 ? sizes : NULL;
    for (int i = 2; kernel && i < m->in[1]->shape->rank; i++)
        kernel[i - 2] = dim_value(m->in[1]->shape->dim[i]);
    image_read(m, 0, &image);
    if (transposed)
        windows_read_transposed(m, &image, kernel, &w);
    else
        windows_read(m, &image, kernel, &w);
    return slide_make(image.axes, &w, (Dim[])THREE(w.kernel), transposed ? w.out : image.size,
                      transposed ? image.size : w.out);
}

/* Pads the larger images v, whose last axes are spatial, to the extent of the windows or, if `crop`, crops that back to
 * the images; all: also along axes whose padding can be an attribute. */
static Value *slide_pad(const Slide *s, Node *n, Value *v, int rank, bool crop, bool all)
{
    Dim pads[2 * MAX_RANK];
    bool some = false;
    for (int i = 0; i < 2 * rank; i++)
        pads[i] = D(0);
    for (int i = 0, k = rank - s->axes; i < s->axes; i++, k++)
        if (all || !s->known[i]) {
            pads[k] = dim_mul(s->before[i], D(crop ? -1 : 1));
            pads[rank + k] = dim_mul(s->after[i], D(crop ? -1 : 1));
            some |= !dim_is(pads[k], 0) || !dim_is(pads[rank + k], 0);
        }
    return some ? make(n, "Pad", 2, v, make_dims(n, 2 * rank, pads)) : v;
}

static Value *slide_set(const Slide *s, Value *v, int64_t group)
{
    attr_set_ints(v->def, "strides", s->axes, s->stride);
    attr_set_ints(v->def, "dilations", s->axes, s->dilation);
    attr_set_ints(v->def, "pads", 2 * s->axes, s->pads);
    attr_set_int(v->def, "group", group);
    return v;
}

/* The weighted sum of every window over v. */
static Value *slide_over(const Slide *s, Node *n, Value *v, Value *w, int64_t group)
{
    return slide_set(s, make(n, "Conv", 2, slide_pad(s, n, v, 2 + s->axes, false, false), w), group);
}

/* Adds the element of every window, weighted, to the pixels that the window covers. */
static Value *slide_spread(const Slide *s, Node *n, Value *d, Value *w, int64_t group)
{
    int64_t more[3] = {0};
    for (int i = 0; i < s->axes; i++)
        if (s->known[i])
            more[i] = s->pads[s->axes + i] - dim_value(s->after[i]);
    Value *v = slide_set(s, make(n, "ConvTranspose", 2, d, w), group);
    attr_set_ints(v->def, "output_padding", s->axes, more);
    return slide_pad(s, n, v, 2 + s->axes, true, false);
}

/* The windows over v: each spatial axis (the last ones) is replaced by two, of windows and of their elements. */
static Value *slide_windows(const Slide *s, Node *n, Value *v, int rank)
{
    v = slide_pad(s, n, v, rank, false, true);
    for (int i = s->axes; i-- > 0;)
        v = windows_along(n, v, rank - s->axes + i, s->out[i], D(s->stride[i]), s->kernel[i], D(s->dilation[i]));
    return v;
}

/* A splat of shape (1, 1, spatial...). */
static Value *filled_window(Node *n, Type t, double with, int axes, const Dim *spatial)
{
    Dim shape[5] = {D(1), D(1)};
    for (int i = 0; i < axes; i++)
        shape[2 + i] = spatial[i];
    return filled(n, t, with, 2 + axes, shape);
}

/* Is the input or the output empty? */
static bool is_empty(const Vjp *b)
{
    return dim_is(shape_count(*b->m->in[0]->shape), 0) || dim_is(shape_count(*b->m->out[0]->shape), 0);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* Images v with the axis of channels as two: groups, and `each` channels. */
static Value *grouped(Node *n, Value *v, Dim groups, Dim each)
{
    Shape x = *v->shape, y = {.rank = x.rank + 1, .dim = {x.dim[0], groups, each}};
    for (int i = 2; i < x.rank; i++)
        y.dim[i + 1] = x.dim[i];
    return make_reshape(n, v, y.rank, y.dim);
}

static Value *einsum(Node *n, const char *equation, Value *v, Value *w)
{
    v = make(n, "Einsum", w ? 2 : 1, v, w);
    attr_set_string(v->def, "equation", equation);
    return v;
}

/* The adjoint of the weights: the elements of all windows over `large` times the windows' pixels in `small`. If the
 * size of `small` is constant, that is a convolution with `small` as kernel: samples and channels are exchanged, and
 * groups are along the samples' axis. */
static Value *weights_vjp(const Vjp *b, const Slide *s, Value *large, Value *small)
{
    static const char *const products[] = {"ginap,ngoa->goip", "ginapbq,ngoab->goipq", "ginapbqcr,ngoabc->goipqr"};
    static const int64_t beside[] = {2, 1, 0, 3, 4, 5}, inside[] = {1, 2, 0, 3, 4, 5}, swap[] = {1, 0, 2, 3, 4};
    Node *n = b->n;
    const Dim *w = b->m->in[1]->shape->dim, groups = D(attr_int(b->m, "group"));
    Shape x = *large->shape;
    Slide t = *s;
    Value *v = grouped(n, large, groups, w[1]);
    bool known = shape_is_const(*small->shape);
    for (int i = 0; i < s->axes; i++) {
        known &= s->known[i];
        t.stride[i] = s->dilation[i];
        t.dilation[i] = s->stride[i];
    }
    if (!known) {
        Value *slides = slide_windows(s, n, transpose(n, v, x.rank + 1, inside), x.rank + 1);
        return einsum(n, products[s->axes - 1], slides, grouped(n, small, groups, dim_div(w[0], groups)));
    }
    x.dim[1] = dim_mul(x.dim[0], groups);
    x.dim[0] = w[1];
    v = make_reshape(n, transpose(n, v, x.rank + 1, beside), x.rank, x.dim);
    v = slide_set(&t, make(n, "Conv", 2, v, transpose(n, small, x.rank, swap)), attr_int(b->m, "group"));
    for (int i = 0; i < s->axes; i++)
        v = part(n, v, 2 + i, D(0), s->kernel[i]);
    return transpose(n, v, x.rank, swap);
}

Value *conv_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    bool transposed = !strcmp(m->op->name, "ConvTranspose");
    int64_t axes[4] = {0, 2, 3, 4}, group = attr_int(m, "group");
    Value *large = transposed ? b->d : m->in[0], *small = transposed ? m->in[0] : b->d, *v;
    if (b->i == 2)
        return reshape_like(n, sum_over(n, b->d, m->in[0]->shape->rank - 1, axes), m->in[2]);
    if (is_empty(b))
        return zeros_like(n, m->in[b->i]);
    Slide s = slide_of(m, transposed);
    if (b->i == 1)
        v = weights_vjp(b, &s, large, small);
    else
        v = (transposed ? slide_over : slide_spread)(&s, n, b->d, m->in[1], group);
    return reshape_like(n, v, m->in[b->i]);
}

/* The blocks are windows over the image. */
Value *col2im_vjp(const Vjp *b)
{
    static const char *const orders[] = {"niap->nipa", "niapbq->nipqab", "niapbqcr->nipqrabc"};
    Image image;
    Windows w;
    Dim block[AXES];
    col2im_read(b->m, &image, &w, block);
    Slide s = slide_make(image.axes, &w, block, image.size, w.out);
    return reshape_like(b->n, einsum(b->n, orders[s.axes - 1], slide_windows(&s, b->n, b->d, 2 + s.axes), NULL),
                        b->m->in[0]);
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

/* Adds each window's d to its pixels, by channel. */
static Value *pool_spread(const Vjp *b, const Slide *s, Value *d)
{
    Shape y = *b->m->out[0]->shape;
    y.dim[0] = dim_mul(y.dim[0], y.dim[1]);
    y.dim[1] = D(1);
    Value *ones = filled_window(b->n, b->d->type, 1, s->axes, s->kernel);
    Value *v = slide_spread(s, b->n, make_reshape(b->n, d, y.rank, y.dim), ones, 1);
    return reshape_like(b->n, v, b->m->in[0]);
}

/* AveragePool: each pixel of a window gets d divided by the number of pixels that the mean counts. */
Value *average_vjp(const Vjp *b)
{
    Node *n = b->n;
    if (is_empty(b))
        return zeros_like(n, b->m->in[0]);
    Slide s = slide_of(b->m, false);
    Value *image = filled_window(n, b->d->type, 1, s.axes, s.size);
    Value *inside = slide_over(&s, n, image, filled_window(n, b->d->type, 1, s.axes, s.kernel), 1);
    Value *mean = clone_node(n, b->m, &image, 1, 1)->out[0];
    return pool_spread(b, &s, make(n, "Mul", 2, b->d, make(n, "Div", 2, mean, inside)));
}

/* LpPool: y^p is a sum of |x|^p. */
Value *norm_pool_vjp(const Vjp *b)
{
    Node *n = b->n;
    const Attr *a = node_attr(b->m, "p");
    double p = !a ? 2 : a->type == A_FLOAT ? (double)a->f : (double)a->i;
    Value *less = make_scalar(n, b->d->type, p - 1);
    Vjp to = *b;
    if (is_empty(b))
        return zeros_like(n, b->m->in[0]);
    Slide s = slide_of(b->m, false);
    to.d = make(n, "Div", 2, b->d, make(n, "Pow", 2, b->m->out[0], less));
    to.d = pool_spread(b, &s, formula(&to, "Where(Equal(y,0),0,d)"));
    return make(n, "Mul", 2, formula(&to, "d*Sign(x)"), make(n, "Pow", 2, formula(b, "Abs(x)"), less));
}

/* The sum of v over the channels in c's window or, if transposed, over those whose window contains c. */
static Value *channel_sum(const Vjp *b, Value *v, bool transposed)
{
    Shape s = *b->m->in[0]->shape;
    int64_t size = attr_int(b->m, "size"), pads[] = {(size - 1) / 2, 0, size / 2, 0};
    if (transposed)
        pads[0] = size / 2, pads[2] = (size - 1) / 2;
    Dim rows[] = {s.dim[0], D(1), s.dim[1], shape_product(s, 2, s.rank)};
    v = make(b->n, "AveragePool", 1, make_reshape(b->n, v, 4, rows));
    attr_set_ints(v->def, "kernel_shape", 2, (int64_t[]){size, 1});
    attr_set_ints(v->def, "pads", 4, pads);
    attr_set_int(v->def, "count_include_pad", 1);
    v = make(b->n, "Mul", 2, v, make_scalar(b->n, b->d->type, (double)size));
    return reshape_like(b->n, v, b->m->in[0]);
}

/* y = x s^-beta, s = bias + alpha / size * the sum of x^2. */
Value *lrn_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Type t = b->d->type;
    double part = attr_float(m, "alpha") / (double)attr_int(m, "size");
    Value *sum = make(n, "Mul", 2, channel_sum(b, formula(b, "x*x"), false), make_scalar(n, t, part));
    Value *s = make(n, "Add", 2, sum, make_scalar(n, t, attr_float(m, "bias")));
    Value *self = make(n, "Div", 2, b->d, make(n, "Pow", 2, s, make_scalar(n, t, attr_float(m, "beta"))));
    Value *others = channel_sum(b, make(n, "Div", 2, formula(b, "d*y"), s), true);
    others = make(n, "Mul", 2, others, formula(b, "x*2*@beta"));
    return make(n, "Sub", 2, self, make(n, "Mul", 2, others, make_scalar(n, t, part)));
}
