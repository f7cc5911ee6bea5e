/* pool.c - MaxPool, AveragePool, LpPool, their global forms as reductions, MaxUnpool, LRN. */
#include "ir/spatial.h"
#include "pool.h"
#include "qpool.h"
#include "unpool.h"

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Checks that every window overlaps the image: pads are smaller than the kernel. */
static bool pads_below_kernel(Node *n, const Windows *w)
{
    for (int a = 0; a < AXES; a++)
        if (dim_low(w->pad[a]) > (w->kernel[a] - 1) * w->dilation[a] ||
            dim_low(w->pad_end[a]) > (w->kernel[a] - 1) * w->dilation[a])
            return node_error(n, "pads as large as the kernel: windows without any element");
    return true;
}

static bool pool_read(Node *n, Image *x, Windows *w)
{
    int64_t order = attr_is_given(n, "storage_order") ? attr_int(n, "storage_order") : 0;
    if (order != 0 && order != 1)
        node_error(n, "storage_order is %lld, not 0 or 1", (long long)order);
    return (order == 0 || order == 1) && image_read(n, 0, x) && windows_read(n, x, NULL, w) && pads_below_kernel(n, w);
}

static void pool_infer(Node *n)
{
    Image x;
    Windows w;
    if (!pool_read(n, &x, &w))
        return;
    Shape s = image_shape(n, &x, x.channels, w.out);
    set_out(n, 0, in_type(n, 0), s);
    set_out(n, 1, I64, s);
    image_in_steps(n, &x);
}

/* Channels last: images of x.channels; otherwise n * channels images of one channel. */
#define POOL_FIELDS                                                                                                    \
    .batch = n->channels_last ? x.n : dim_mul(x.n, x.channels), .channels = n->channels_last ? x.channels : D(1),       \
    .in = DIMS3(x.size), .out = DIMS3(w.out), .kernel = THREE(w.kernel), .stride = THREE(w.stride),                     \
    .dilation = THREE(w.dilation), .pad = DIMS3(w.pad)

/* The pitch of pixels, if an image has several channels; else 0. */
static Dim pool_pitch(const Node *n, const Image *x)
{
    return n->channels_last && !dim_is(x->channels, 1) ? x->channels : D(0);
}
#define POOL_PITCHES .x_pitch = pool_pitch(n, &x), .y_pitch = pool_pitch(n, &x)

static void max_pool_bind(Node *n)
{
    Image x;
    Windows w;
    if (!pool_read(n, &x, &w))
        return;
    if (out(n, 1))
        BIND(n, max_pool_index, POOL_FIELDS,
             .columns_first = D(attr_is_given(n, "storage_order") && attr_int(n, "storage_order")));
    else
        BIND(n, pool, POOL_FIELDS, POOL_PITCHES, .op = D(POOL_MAX));
}

static void average_pool_bind(Node *n)
{
    Image x;
    Windows w;
    if (pool_read(n, &x, &w))
        BIND(n, pool, POOL_FIELDS, POOL_PITCHES, .op = D(POOL_MEAN), .pad_end = DIMS3(w.pad_end),
             .count_pad = D(attr_is_given(n, "count_include_pad") && attr_int(n, "count_include_pad")));
}

static void lp_pool_bind(Node *n)
{
    Image x;
    Windows w;
    if (!pool_read(n, &x, &w))
        return;
    const Attr *p = node_attr(n, "p");
    BIND(n, pool, POOL_FIELDS, POOL_PITCHES, .op = D(POOL_NORM),
         .power = !p                   ? 2
                  : p->type == A_FLOAT ? (double)p->f
                                       : (double)p->i);
}

/* AveragePool of 8-bit integers (requantize.c): x, scale, zero points of x and y. */
static void integer_pool_infer(Node *n)
{
    Image x;
    Windows w;
    if (pool_read(n, &x, &w))
        set_out(n, 0, (Type)attr_int(n, "to"), image_shape(n, &x, x.channels, w.out));
}

static void integer_pool_bind(Node *n)
{
    Image x;
    Windows w;
    if (pool_read(n, &x, &w))
        BIND2(n, qpool, in_type(n, 0), out(n, 0)->type, POOL_FIELDS, .pad_end = DIMS3(w.pad_end),
              .count_pad = D(attr_is_given(n, "count_include_pad") && attr_int(n, "count_include_pad")));
}

/* ---- global forms ------------------------------------------------------------------------------------------------ */

static Value *reduced(Node *n, const char *op, Value *x)
{
    int64_t axes[MAX_RANK];
    int k = 0;
    for (int a = 2; a < in_shape(n, 0).rank; a++)
        axes[k++] = a;
    return make(n, op, 2, x, make_ints(n, k, axes));
}

/* Requires that n's image has elements: of none there is no largest and no average. */
static bool require_elements(Node *n)
{
    const Shape x = in_shape(n, 0);
    for (int a = 2; a < x.rank && !dim_is(shape_product(x, 0, 2), 0); a++) {
        const Dim size = require_left(n, D(1), x.dim[a]);
        if (!require_dim(n, "a size of the image", size, dim_max(size, D(1))))
            return false;
    }
    return true;
}

static void global_average_expand(Node *n)
{
    if (require_elements(n))
        expand_to(n, reduced(n, "ReduceMean", n->in[0]));
}

static void global_max_expand(Node *n)
{
    if (require_elements(n))
        expand_to(n, reduced(n, "ReduceMax", n->in[0]));
}

static void global_lp_expand(Node *n)
{
    const Attr *a = node_attr(n, "p");
    double p = !a ? 2 : a->type == A_FLOAT ? (double)a->f : (double)a->i;
    Type t = in_type(n, 0);
    expand_to(n, p == 1   ? reduced(n, "ReduceL1", n->in[0])
                 : p == 2 ? reduced(n, "ReduceL2", n->in[0])
                          : make(n, "Pow", 2,
                                 reduced(n, "ReduceSum",
                                         make(n, "Pow", 2, make(n, "Abs", 1, n->in[0]), make_scalar(n, t, p))),
                                 make_scalar(n, t, 1 / p)));
}

/* ---- LRN --------------------------------------------------------------------------------------------------------- */

static void lrn_bind(Node *n)
{
    Image x;
    if (!image_read(n, 0, &x))
        return;
    int64_t size = attr_int(n, "size");
    if (size < 1) {
        node_error(n, "size is %lld, and must be 1 or more", (long long)size);
        return;
    }
    Dim pixels = dim_mul(x.n, x.pixels);
    BIND(n, lrn, .outer = n->channels_last ? pixels : x.n, .channels = x.channels,
         .inner = n->channels_last ? D(1) : x.pixels, .size = D(size), .before = D((size - 1) / 2),
         .alpha = attr_float(n, "alpha"), .beta = attr_float(n, "beta"), .bias = attr_float(n, "bias"));
}

/* ---- MaxUnpool --------------------------------------------------------------------------------------------------- */

/* m: the pooled image, input 0; size: the spatial sizes of the original; false: wrong, reported. */
static bool unpool_read(Node *n, Image *m, Dim *size)
{
    Windows w = {.padded = false}; /* without pads */
    if (!image_read(n, 0, m) || !read_spatial_ints(n, m, "kernel_shape", 1, 1, w.kernel) ||
        !read_spatial_ints(n, m, "strides", 1, 1, w.stride) || !read_pads(n, m, &w))
        return false;
    for (int a = 0; a < image_end(m); a++) {
        Dim grown = dim_add(dim_mul(dim_sub(m->size[a], D(1)), D(w.stride[a])), D(w.kernel[a]));
        size[a] = dim_max(D(0), dim_sub(dim_sub(grown, w.pad[a]), w.pad_end[a]));
    }
    return true;
}

static void unpool_infer(Node *n)
{
    Image m;
    Dim size[AXES], given[MAX_RANK];
    Shape y, x = in_shape(n, 0), at = in_shape(n, 1);
    if (!unpool_read(n, &m, size))
        return;
    y = image_shape(n, &m, m.channels, size);
    if (at.rank != x.rank) {
        node_error(n, "the indices are %s, the elements %s", shape_text(at), shape_text(x));
        return;
    }
    Dim places = shape_count(y);
    if (!require_shape(n, 1, x) || !require_indices(n, 1, 1, &places, false))
        return;
    if (in(n, 2)) {
        int k = in_dims(n, 2, given, MAX_RANK);
        if (k >= 0 && k != x.rank)
            node_error(n, "output_shape has %d numbers; the output has %d dimensions", k, x.rank);
        if (k != x.rank)
            return;
        for (int a = 0; a < 2; a++)
            if (!require_dim(n, "batch or channels of output_shape", given[a], x.dim[a]))
                return;
        for (int a = 2; a < k; a++) {
            y.dim[a] = given[a];
            if (!require_size(n, "a dimension of output_shape", &y.dim[a]))
                return;
        }
    }
    set_out(n, 0, in_type(n, 0), y);
    image_in_steps(n, &m);
}

/* Over many axes: scatters by the elements' indices, then pads the images at their ends. */
static void unpool_in_steps(Node *n)
{
    Image m;
    Dim size[AXES], pads[2 * MAX_RANK];
    Shape y = *out(n, 0)->shape;
    if (!unpool_read(n, &m, size))
        return;
    Shape whole = image_shape(n, &m, m.channels, size);
    Dim all = shape_count(whole), count = shape_count(in_shape(n, 0));
    for (int a = 0; a < y.rank; a++) {
        pads[a] = D(0);
        pads[y.rank + a] = dim_sub(y.dim[a], whole.dim[a]);
        require_dim(n, "size of the output", y.dim[a], dim_max(y.dim[a], whole.dim[a]));
    }
    Value *v = make(n, "Expand", 2, make_scalar(n, in_type(n, 0), 0), make_dims(n, 1, &all));
    v = make(n, "ScatterElements", 3, v, make_reshape(n, in(n, 1), 1, &count), make_reshape(n, in(n, 0), 1, &count));
    v = make_reshape(n, v, whole.rank, whole.dim);
    expand_to(n, in(n, 2) ? make(n, "Pad", 2, v, make_dims(n, 2 * y.rank, pads)) : v);
}

static void unpool_bind(Node *n)
{
    Image m;
    Dim size[AXES], whole[3] = {D(1), D(1), D(1)};
    if (!unpool_read(n, &m, size))
        return;
    for (int a = 0; a < m.axes; a++)
        whole[3 - m.axes + a] = out(n, 0)->shape->dim[2 + a];
    BIND_ARGS(n, max_unpool, type_storage(in_type(n, 0)), NO_TYPE, ARGS(in(n, 0), in(n, 1), out(n, 0)),
              .count = shape_count(in_shape(n, 0)), .planes = dim_mul(m.n, m.channels), .size = DIMS3(size),
              .out = DIMS3(whole));
}

#define WINDOW "auto_pad:string=NOTSET kernel_shape:ints pads:ints? strides:ints?"
#define STORAGE WINDOW " storage_order:int=0"
#define COUNT WINDOW " count_include_pad:int=0"

static const Op pool_ops[] = {
    {"MaxPool", 22, "X:T -> Y:T Indices?:I", "T=FB|int8|uint8 I=int64", STORAGE " ceil_mode:int=0 dilations:ints?",
     pool_infer, max_pool_bind, .flags = CHANNELS_LAST,
     .compatible = "12 T=F|int8|uint8; 11 T=F; 10 T=F; 8 T=F / " STORAGE},
    {"MaxPool", 1, "X:T -> Y:T", "T=F", WINDOW, .expand = expand_same},
    {"AveragePool", 22, "X:T -> Y:T", "T=FB", COUNT " ceil_mode:int=0 dilations:ints?", pool_infer, average_pool_bind,
     .flags = CHANNELS_LAST,
     .compatible = "19 T=F; 11 T=F / " COUNT " ceil_mode:int=0; 10 T=F / " COUNT " ceil_mode:int=0; 7 T=F / " COUNT
                   "; 1 T=F / " WINDOW},
    {"IntegerPool", 1, "x:T1 scale:float x_zero?:T1 y_zero?:T2 -> y:T2", "T1=int8|uint8 T2=int8|uint8",
     WINDOW " ceil_mode:int=0 count_include_pad:int=0 dilations:ints? to:int", integer_pool_infer, integer_pool_bind,
     .flags = CHANNELS_LAST, .domain = "onnxcc"},
    {"LpPool", 22, "X:T -> Y:T", "T=FB", WINDOW " p:int=2 ceil_mode:int=0 dilations:ints?", pool_infer,
     .bind = lp_pool_bind, .compatible = "18 T=F; 11 T=F / " WINDOW " p:int=2; 2 T=F / " WINDOW " p:int=2"},
    {"LpPool", 1, "X:T -> Y:T", "T=F", "auto_pad:string=NOTSET kernel_shape:ints? pads:ints? strides:ints? p:float=2",
     pool_infer, .bind = lp_pool_bind},
    {"GlobalAveragePool", 22, "X:T -> Y:T", "T=FB", .expand = global_average_expand, .compatible = "1 T=F"},
    {"GlobalMaxPool", 22, "X:T -> Y:T", "T=FB", .expand = global_max_expand, .compatible = "1 T=F"},
    {"GlobalLpPool", 22, "X:T -> Y:T", "T=FB", "p:int=2", .expand = global_lp_expand,
     .compatible = "2 T=F; 1 T=F / p:float=2"},
    {"LRN", 13, "X:T -> Y:T", "T=FB", "alpha:float=0.0001 beta:float=0.75 bias:float=1 size:int", infer_same, lrn_bind,
     .flags = CHANNELS_LAST, .compatible = "1 T=F"},
    {"MaxUnpool", 22, "X:T1 I:T2 output_shape?:T2 -> output:T1", "T1=FB T2=int64",
     "kernel_shape:ints pads:ints? strides:ints?", .infer = unpool_infer, .bind = unpool_bind, .checks = 2,
     .compatible = "11 T1=F; 9 T1=F"},
    {"MaxUnpoolInSteps", 1, "X:T1 I:T2 output_shape?:T2 -> output:T1", "T1=FB T2=int64",
     "kernel_shape:ints pads:ints? strides:ints?", .expand = unpool_in_steps, .domain = "onnxcc"},
};
OPS(pool_ops);
