/* unpool.c - MaxUnpool. */
#include "../infer.h"
#include "../spatial.h"
#include "unpool.h"

/* The image that was pooled: m its pooled form, size its axes; false: wrong, and reported. */
static bool unpool_read(Node *n, Image *m, Dim *size)
{
    Windows w = {.pad = {D(0), D(0), D(0)}, .pad_end = {D(0), D(0), D(0)}};
    if (!image_read(n, 0, m) || !spatial_ints(n, m, "kernel_shape", 1, 1, w.kernel) ||
        !spatial_ints(n, m, "strides", 1, 1, w.stride) || !read_pads(n, m, &w))
        return false;
    for (int a = 0; a < 3; a++) {
        Dim grown = dim_add(dim_mul(dim_sub(m->size[a], D(1)), D(w.stride[a])), D(w.kernel[a]));
        size[a] = dim_max(D(0), dim_sub(dim_sub(grown, w.pad[a]), w.pad_end[a]));
    }
    return true;
}

static void unpool_infer(Node *n)
{
    Image m;
    Dim size[3], given[MAX_RANK];
    Shape y, x = in_shape(n, 0), at = in_shape(n, 1);
    if (!unpool_read(n, &m, size))
        return;
    y = image_shape(n, &m, m.channels, size);
    if (at.rank != x.rank) {
        node_error(n, "the indices are %s, the elements %s", shape_text(at), shape_text(x));
        return;
    }
    for (int a = 0; a < x.rank; a++)
        assume_dim(n, at.dim[a], x.dim[a]);
    if (in(n, 2)) {
        int k = in_dims(n, 2, given, MAX_RANK);
        if (k >= 0 && k != x.rank)
            node_error(n, "output_shape has %d numbers; the output has %d dimensions", k, x.rank);
        if (k != x.rank)
            return;
        for (int a = 0; a < 2; a++)
            assume_dim(n, given[a], x.dim[a]);
        for (int a = 2; a < k; a++)
            y.dim[a] = dim_max(given[a], D(0));
    }
    set_out(n, 0, in_type(n, 0), y);
}

static void unpool_bind(Node *n)
{
    Image m;
    Dim size[3], whole[3] = {D(1), D(1), D(1)};
    if (!unpool_read(n, &m, size))
        return;
    for (int a = 0; a < m.axes; a++)
        whole[3 - m.axes + a] = out(n, 0)->shape->dim[2 + a];
    BIND_ARGS(n, max_unpool, type_storage(in_type(n, 0)), NO_TYPE, ARGS(in(n, 0), in(n, 1), out(n, 0)),
              .count = shape_count(in_shape(n, 0)), .planes = dim_mul(m.n, m.channels), .size = DIMS3(size),
              .out = DIMS3(whole));
}

static const Op unpool_ops[] = {
    {"MaxUnpool", 22, "X:T1 I:T2 output_shape?:T2 -> output:T1", "T1=FB T2=int64",
     "kernel_shape:ints pads:ints? strides:ints?", .infer = unpool_infer, .bind = unpool_bind,
     .was = "11 T1=F; 9 T1=F"},
};
OPS(unpool_ops);
