/* pool.c - MaxPool, AveragePool, LpPool, their global forms as reductions, LRN. */
#include "../spatial.h"
#include "pool.h"
#include "qpool.h"

/* ---- windows ------------------------------------------------------------------------------------------------------- */

static void pool_infer(Node *n)
{
    Image x;
    Windows w;
    if (!image_read(n, 0, &x) || !windows_read(n, &x, NULL, &w))
        return;
    Shape s = image_shape(n, &x, x.channels, w.out);
    set_out(n, 0, in_type(n, 0), s);
    set_out(n, 1, I64, s);
}

/* Channels last: images of x.channels; else so many more images of one channel. */
#define POOL_FIELDS                                                                                                    \
    .batch = n->channels_last ? x.n : dim_mul(x.n, x.channels), .channels = n->channels_last ? x.channels : D(1),       \
    .in = DIMS3(x.size), .out = DIMS3(w.out), .kernel = THREE(w.kernel), .stride = THREE(w.stride),                     \
    .dilation = THREE(w.dilation), .pad = DIMS3(w.pad)

/* From pixel to pixel, where an image has more than one channel. */
static Dim pool_pitch(const Node *n, const Image *x)
{
    return n->channels_last && !dim_is(x->channels, 1) ? x->channels : D(0);
}
#define POOL_PITCHES .x_pitch = pool_pitch(n, &x), .y_pitch = pool_pitch(n, &x)

static bool pool_read(Node *n, Image *x, Windows *w) { return image_read(n, 0, x) && windows_read(n, x, NULL, w); }

static void max_pool_bind(Node *n)
{
    Image x;
    Windows w;
    if (!pool_read(n, &x, &w))
        return;
    if (out(n, 1))
        BIND(n, max_pool_index, POOL_FIELDS,
             .columns_first = D(attr_given(n, "storage_order") && attr_int(n, "storage_order")));
    else
        BIND(n, pool, POOL_FIELDS, POOL_PITCHES, .op = D(POOL_MAX));
}

static void average_pool_bind(Node *n)
{
    Image x;
    Windows w;
    if (pool_read(n, &x, &w))
        BIND(n, pool, POOL_FIELDS, POOL_PITCHES, .op = D(POOL_MEAN), .pad_end = DIMS3(w.pad_end),
             .count_pad = D(attr_given(n, "count_include_pad") && attr_int(n, "count_include_pad")));
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
              .count_pad = D(attr_given(n, "count_include_pad") && attr_int(n, "count_include_pad")));
}

/* ---- global forms ------------------------------------------------------------------------------------------------------ */

static Value *reduced(Node *n, const char *op, Value *x)
{
    int64_t axes[MAX_RANK];
    int k = 0;
    for (int a = 2; a < in_shape(n, 0).rank; a++)
        axes[k++] = a;
    return make(n, op, 2, x, make_ints(n, k, axes));
}

static void global_average_expand(Node *n)
{
    replace_out(n, 0, reduced(n, "ReduceMean", n->in[0]));
    expand_done(n);
}

static void global_max_expand(Node *n)
{
    replace_out(n, 0, reduced(n, "ReduceMax", n->in[0]));
    expand_done(n);
}

static void global_lp_expand(Node *n)
{
    const Attr *a = node_attr(n, "p");
    double p = !a ? 2 : a->type == A_FLOAT ? (double)a->f : (double)a->i;
    Type t = in_type(n, 0);
    Value *y = p == 1 ? reduced(n, "ReduceL1", n->in[0])
               : p == 2
                   ? reduced(n, "ReduceL2", n->in[0])
                   : make(n, "Pow", 2,
                          reduced(n, "ReduceSum", make(n, "Pow", 2, make(n, "Abs", 1, n->in[0]), make_scalar(n, t, p))),
                          make_scalar(n, t, 1 / p));
    replace_out(n, 0, y);
    expand_done(n);
}

/* ---- LRN ------------------------------------------------------------------------------------------------------------------ */

static void lrn_bind(Node *n)
{
    Image x;
    if (!image_read(n, 0, &x))
        return;
    int64_t size = attr_int(n, "size");
    if (size < 1) {
        node_error(n, "size is %lld", (long long)size);
        return;
    }
    Dim pixels = dim_mul(x.n, x.pixels);
    BIND(n, lrn, .outer = n->channels_last ? pixels : x.n, .channels = x.channels,
         .inner = n->channels_last ? D(1) : x.pixels, .size = D(size), .before = D((size - 1) / 2),
         .alpha = attr_float(n, "alpha"), .beta = attr_float(n, "beta"), .bias = attr_float(n, "bias"));
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

#define WINDOW "auto_pad:string=NOTSET kernel_shape:ints pads:ints? strides:ints?"
#define STORAGE WINDOW " storage_order:int=0"
#define COUNT WINDOW " count_include_pad:int=0"

static const Op pool_ops[] = {
    {"MaxPool", 22, "X:T -> Y:T Indices?:I", "T=FB|int8|uint8 I=int64", STORAGE " ceil_mode:int=0 dilations:ints?",
     pool_infer, max_pool_bind, .flags = CHANNELS_LAST, .was = "12 T=F|int8|uint8; 11 T=F; 10 T=F; 8 T=F / " STORAGE},
    {"MaxPool", 1, "X:T -> Y:T", "T=F", WINDOW, .expand = expand_same},
    {"AveragePool", 22, "X:T -> Y:T", "T=FB", COUNT " ceil_mode:int=0 dilations:ints?", pool_infer, average_pool_bind,
     .flags = CHANNELS_LAST,
     .was = "19 T=F; 11 T=F / " COUNT " ceil_mode:int=0; 10 T=F / " COUNT " ceil_mode:int=0; 7 T=F / " COUNT
            "; 1 T=F / " WINDOW},
    {"IntegerPool", 1, "x:T1 scale:float x_zero?:T1 y_zero?:T2 -> y:T2", "T1=int8|uint8 T2=int8|uint8",
     WINDOW " ceil_mode:int=0 count_include_pad:int=0 dilations:ints? to:int", integer_pool_infer, integer_pool_bind,
     .flags = CHANNELS_LAST, .domain = "onnxcc"},
    {"LpPool", 22, "X:T -> Y:T", "T=FB", WINDOW " p:int=2 ceil_mode:int=0 dilations:ints?", pool_infer,
     .bind = lp_pool_bind, .was = "18 T=F; 11 T=F / " WINDOW " p:int=2; 2 T=F / " WINDOW " p:int=2"},
    {"LpPool", 1, "X:T -> Y:T", "T=F", "auto_pad:string=NOTSET kernel_shape:ints? pads:ints? strides:ints? p:float=2",
     pool_infer, .bind = lp_pool_bind},
    {"GlobalAveragePool", 22, "X:T -> Y:T", "T=FB", .expand = global_average_expand, .was = "1 T=F"},
    {"GlobalMaxPool", 22, "X:T -> Y:T", "T=FB", .expand = global_max_expand, .was = "1 T=F"},
    {"GlobalLpPool", 22, "X:T -> Y:T", "T=FB", "p:int=2", .expand = global_lp_expand,
     .was = "2 T=F; 1 T=F / p:float=2"},
    {"LRN", 13, "X:T -> Y:T", "T=FB", "alpha:float=0.0001 beta:float=0.75 bias:float=1 size:int", infer_same, lrn_bind,
     .flags = CHANNELS_LAST, .was = "1 T=F"},
};
OPS(pool_ops);
