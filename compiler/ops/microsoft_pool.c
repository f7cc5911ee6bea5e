/* microsoft_pool.c - MaxpoolWithMask of com.microsoft. */
#include "ir/spatial.h"
#include "mask_pool.h"
#include "microsoft.h"

static bool read(Node *n, Image *x, Windows *w)
{
    if (!image_read(n, 0, x) || !windows_read(n, x, NULL, w))
        return false;
    if (x->axes > 3)
        return node_error(n, "the input %s has more than three spatial axes", shape_text(in_shape(n, 0)));
    for (int a = 0; a < 3; a++)
        if (dim_low(w->pad[a]) >= w->kernel[a] || dim_low(w->pad_end[a]) >= w->kernel[a])
            return node_error(n, "pads as large as the kernel: windows without any element");
    return true;
}

static Dim masks(const Node *n) { return shape_product(in_shape(n, 1), 0, 2); }

static void mask_pool_infer(Node *n)
{
    Image x;
    Windows w;
    Shape s = in_shape(n, 0), m = in_shape(n, 1);
    if (!read(n, &x, &w))
        return;
    if (m.rank != s.rank) {
        node_error(n, "the mask %s must have as many dimensions as the input %s", shape_text(m), shape_text(s));
        return;
    }
    for (int a = 2; a < s.rank; a++)
        if (!require_dim(n, "a size of the mask", m.dim[a], s.dim[a]))
            return;
    if (!dim_is(shape_product(s, 0, 2), 0) && !require_dim(n, "masks", masks(n), dim_max(masks(n), D(1))))
        return;
    set_out(n, 0, in_type(n, 0), image_shape(n, &x, x.channels, w.out));
}

static void mask_pool_bind(Node *n)
{
    Image x;
    Windows w;
    if (read(n, &x, &w))
        BIND(n, mask_pool, .planes = dim_mul(x.n, x.channels), .masks = masks(n), .in = DIMS3(x.size),
             .out = DIMS3(w.out), .kernel = THREE(w.kernel), .stride = THREE(w.stride), .pad = DIMS3(w.pad),
             .open = D(x.axes > 1));
}

static const Op microsoft_pool_ops[] = {
    {"MaxpoolWithMask", 1, "X:T M:int32 -> Y:T", "T=float",
     "auto_pad:string=NOTSET kernel_shape:ints pads:ints? storage_order:int=0 strides:ints?", .infer = mask_pool_infer,
     .bind = mask_pool_bind, MICROSOFT},
};
OPS(microsoft_pool_ops);
