/* windows.c - what operators whose windows slide over images give back: convolutions, pools, LRN, Col2Im. */
#include "../spatial.h"
#include "gradient.h"

/* ---- windows ------------------------------------------------------------------------------------------------------- */

/* The windows of a convolution without automatic pads: those of m, which has w for each pixel of its smaller image. */
typedef struct Slide {
    int axes;
    int64_t kernel[3], stride[3], dilation[3], pads[6], size[3], out[3];
    int64_t more[3]; /* pixels beyond the last window */
} Slide;

/* Windows of `kernel` elements (NULL: as its attribute says), over m's input or, when it is transposed, its output, whose
 * sizes must be known now. */
static bool slide_read(Node *m, const int64_t *kernel, bool transposed, Slide *s)
{
    Image image;
    Windows w;
    if (!image_read(m, 0, &image) ||
        !(transposed ? windows_read_transposed(m, &image, kernel, &w) : windows_read(m, &image, kernel, &w)))
        return false;
    s->axes = image.axes;
    for (int i = 0; i < s->axes; i++) {
        int k = 3 - s->axes + i;
        Dim size = transposed ? w.out[k] : image.size[k], out = transposed ? image.size[k] : w.out[k];
        if (!dim_const(size) || !dim_const(out) || !dim_const(w.pad[k]))
            return false;
        s->kernel[i] = w.kernel[k];
        s->stride[i] = w.stride[k];
        s->dilation[i] = w.dilation[k];
        s->size[i] = dim_value(size);
        s->out[i] = dim_value(out);
        s->pads[i] = dim_value(w.pad[k]);
        int64_t reach = (s->out[i] - 1) * s->stride[i] + s->dilation[i] * (s->kernel[i] - 1) + 1;
        int64_t end = reach - s->size[i] - s->pads[i];
        s->pads[s->axes + i] = end > 0 ? end : 0;
        s->more[i] = end < 0 ? -end : 0;
    }
    return true;
}

static Value *slide_set(const Slide *s, Value *v, int64_t group)
{
    attr_set_ints(v->def, "strides", s->axes, s->stride);
    attr_set_ints(v->def, "dilations", s->axes, s->dilation);
    attr_set_ints(v->def, "pads", 2 * s->axes, s->pads);
    attr_set_int(v->def, "group", group);
    return v;
}

/* What every window has, spread over the pixels it covers. */
static Value *slide_spread(const Slide *s, Node *n, Value *d, Value *w, int64_t group)
{
    Value *v = slide_set(s, make(n, "ConvTranspose", 2, d, w), group);
    attr_set_ints(v->def, "output_padding", s->axes, s->more);
    return v;
}

/* (1, 1, spatial...), each number the same. */
static Value *filled_window(Node *n, Type t, double with, int axes, const int64_t *spatial)
{
    Dim shape[5] = {D(1), D(1)};
    for (int i = 0; i < axes; i++)
        shape[2 + i] = D(spatial[i]);
    return filled(n, t, with, 2 + axes, shape);
}

/* v, which is like m's output, as images of one channel. */
static Value *planes(const Back *b, Value *v)
{
    Shape y = *b->m->out[0]->shape;
    y.dim[0] = dim_mul(y.dim[0], y.dim[1]);
    y.dim[1] = D(1);
    return make_reshape(b->n, v, y.rank, y.dim);
}

/* Are there no pixels, before or after? Then there is nothing to slide over. */
static bool nothing(const Back *b)
{
    return dim_is(shape_count(*b->m->in[0]->shape), 0) || dim_is(shape_count(*b->m->out[0]->shape), 0);
}

/* ---- convolutions -------------------------------------------------------------------------------------------------- */

static bool shapes_known(const Node *m) { return shape_const(*m->in[0]->shape) && shape_const(*m->in[1]->shape); }

static const int64_t swap[] = {1, 0, 2, 3, 4};

/* For the weights of windows over `image` that d is for: d is the kernel that slides over it, samples and channels
 * change places. Groups stand side by side, where the samples were. */
static Value *weights_back(const Back *b, Slide s, Value *image, Value *d)
{
    Node *n = b->n;
    Shape x = *image->shape;
    int64_t group = attr_int(b->m, "group"), perm[] = {2, 1, 0, 3, 4, 5}, from[3] = {0, 0, 0};
    Dim split[6] = {x.dim[0], D(group), dim_div(x.dim[1], D(group))};
    Dim joined[5] = {split[2], dim_mul(x.dim[0], D(group))};
    for (int i = 2; i < x.rank; i++)
        joined[i] = split[i + 1] = x.dim[i];
    Value *v = transpose(n, make_reshape(n, image, x.rank + 1, split), x.rank + 1, perm);
    v = make_reshape(n, v, x.rank, joined);
    v = make(n, "Conv", 2, v, transpose(n, d, x.rank, swap));
    attr_set_ints(v->def, "strides", s.axes, s.dilation);
    attr_set_ints(v->def, "dilations", s.axes, s.stride);
    attr_set_ints(v->def, "pads", 2 * s.axes, s.pads);
    attr_set_int(v->def, "group", group);
    v = make(n, "Slice", 4, v, make_ints(n, s.axes, from), make_ints(n, s.axes, s.kernel),
             make_ints(n, s.axes, (int64_t[]){2, 3, 4}));
    return transpose(n, v, x.rank, swap);
}

static Value *conv_back(const Back *b)
{
    Node *m = b->m;
    bool transposed = !strcmp(m->op->name, "ConvTranspose");
    int64_t kernel[3], axes[4] = {0, 2, 3, 4}, group = attr_int(m, "group");
    Slide s;
    if (b->i == 2)
        return reshape_like(b->n, sum_over(b->n, b->d, m->in[0]->shape->rank - 1, axes), m->in[2]);
    if (nothing(b))
        return zeros_like(b->n, m->in[b->i]);
    if (!shapes_known(m))
        return NULL;
    for (int i = 2; i < m->in[1]->shape->rank; i++)
        kernel[i - 2] = dim_value(m->in[1]->shape->dim[i]);
    if (!slide_read(m, kernel, transposed, &s))
        return NULL;
    if (b->i == 1)
        return transposed ? weights_back(b, s, b->d, m->in[0]) : weights_back(b, s, m->in[0], b->d);
    return transposed ? slide_set(&s, make(b->n, "Conv", 2, b->d, m->in[1]), group)
                      : slide_spread(&s, b->n, b->d, m->in[1], group);
}

/* As a transposed convolution, for each channel, whose kernel puts every row of a block in its own place. */
static Value *col2im_back(const Back *b)
{
    Node *n = b->n, *m = b->m;
    Shape x = *m->in[0]->shape, y = *m->out[0]->shape;
    int64_t block[3], shape[5], size = 1;
    int axes = in_ints(m, 2, block, 3);
    if (axes < 1 || !shape_const(x) || !shape_const(y))
        return NULL;
    for (int i = 0; i < axes; i++)
        size *= block[i];
    shape[0] = size;
    shape[1] = 1;
    for (int i = 0; i < axes; i++)
        shape[2 + i] = block[i];
    Value *w = make(n, "Reshape", 2, unit_matrix(n, b->d->type, D(size)), make_ints(n, 2 + axes, shape));
    Value *v = make(n, "Conv", 2, planes(b, b->d), w);
    static const char *const same[] = {"dilations", "pads", "strides"};
    for (int i = 0; i < 3; i++)
        if (node_attr(m, same[i]))
            attr_set(v->def, *node_attr(m, same[i]));
    return reshape_like(n, v, m->in[0]);
}

/* ---- pools --------------------------------------------------------------------------------------------------------- */

/* Each window's d goes to its pixels. */
static Value *pool_spread(const Back *b, const Slide *s, Value *d)
{
    Value *ones = filled_window(b->n, b->d->type, 1, s->axes, s->kernel);
    Value *v = slide_spread(s, b->n, planes(b, d), ones, 1);
    return reshape_like(b->n, v, b->m->in[0]);
}

/* What a window gives to each of its pixels: the mean of ones, over how many pixels are in the image. */
static Value *average_back(const Back *b)
{
    Node *n = b->n;
    Slide s;
    if (nothing(b))
        return zeros_like(n, b->m->in[0]);
    if (!slide_read(b->m, NULL, false, &s))
        return NULL;
    Value *image = filled_window(n, b->d->type, 1, s.axes, s.size);
    Value *inside = slide_set(&s, make(n, "Conv", 2, image, filled_window(n, b->d->type, 1, s.axes, s.kernel)), 1);
    Value *mean = node_again(n, b->m, &image, 1, 1)->out[0];
    return pool_spread(b, &s, make(n, "Mul", 2, b->d, make(n, "Div", 2, mean, inside)));
}

/* y^p is a sum of |x|^p. */
static Value *norm_pool_back(const Back *b)
{
    Node *n = b->n;
    const Attr *a = node_attr(b->m, "p");
    double p = !a ? 2 : a->type == A_FLOAT ? (double)a->f : (double)a->i;
    Value *less = make_scalar(n, b->d->type, p - 1);
    Back to = *b;
    Slide s;
    if (nothing(b))
        return zeros_like(n, b->m->in[0]);
    if (!slide_read(b->m, NULL, false, &s))
        return NULL;
    to.d = make(n, "Div", 2, b->d, make(n, "Pow", 2, b->m->out[0], less));
    to.d = pool_spread(b, &s, formula(&to, "Where(Equal(y,0),0,d)"));
    return make(n, "Mul", 2, formula(&to, "d*Sign(x)"), make(n, "Pow", 2, formula(b, "Abs(x)"), less));
}

/* The sum of v over the channels that channel c takes into account or, turned, that take c. */
static Value *channel_sum(const Back *b, Value *v, bool turned)
{
    Shape s = *b->m->in[0]->shape;
    int64_t size = attr_int(b->m, "size"), pads[] = {(size - 1) / 2, 0, size / 2, 0};
    if (turned)
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
static Value *lrn_back(const Back *b)
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

bool back_by_windows(const Back *b, Value **v)
{
    static const BackFunction functions[] = {
        {"Conv", conv_back},           {"ConvTranspose", conv_back}, {"Col2Im", col2im_back},
        {"AveragePool", average_back}, {"LpPool", norm_pool_back},   {"LRN", lrn_back},
    };
    return back_by(functions, sizeof functions / sizeof *functions, b, v);
}
