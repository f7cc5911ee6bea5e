/* col2im.c - Col2Im. */
#include "../container.h"
#include "../spatial.h"
#include "col2im.h"

bool col2im_read(Node *n, Image *m, Windows *w, Dim *block)
{
    Dim image[3], size[3];
    Shape x = in_shape(n, 0);
    int k = in_dims(n, 1, image, 3);
    if (k < 0 || in_dims(n, 2, size, 3) < 0)
        return false;
    if (x.rank != 3 || k < 1 || k > 3 || !dim_is(shape_count(in_shape(n, 2)), k) ||
        !dim_is(shape_count(in_shape(n, 1)), k)) {
        node_error(
            n,
            "input 0 is %s, image_shape has %s numbers and block_shape %s; supported are N,C*block,L and 1 to 3 axes",
            shape_text(x), shape_text(in_shape(n, 1)), shape_text(in_shape(n, 2)));
        return false;
    }
    *m = (Image){.axes = k, .size = {D(1), D(1), D(1)}};
    *w = (Windows){.pad = {D(0), D(0), D(0)}, .pad_end = {D(0), D(0), D(0)}, .out = {D(1), D(1), D(1)}};
    for (int a = 0; a < 3; a++)
        block[a] = D(1);
    if (!spatial_ints(n, m, "strides", 1, 1, w->stride) || !spatial_ints(n, m, "dilations", 1, 1, w->dilation) ||
        !read_pads(n, m, w))
        return false;
    for (int a = 3 - k; a < 3; a++) {
        m->size[a] = dim_max(image[a - (3 - k)], D(0));
        block[a] = dim_max(size[a - (3 - k)], D(0));
        Dim reach = dim_add(dim_mul(dim_sub(block[a], D(1)), D(w->dilation[a])), D(1));
        Dim room = dim_sub(dim_add(dim_add(m->size[a], w->pad[a]), w->pad_end[a]), reach);
        w->out[a] = dim_max(D(0), dim_add(dim_div(room, D(w->stride[a])), D(1)));
    }
    Dim whole = dim_mul(dim_mul(block[0], block[1]), block[2]);
    m->n = x.dim[0];
    m->channels = dim_div(x.dim[1], dim_max(whole, D(1)));
    return true;
}

/* Strings: all of x go into y, and into one element of it as many as windows there overlap. */
static bool col2im_text(Node *n, const Windows *w, const Dim *block)
{
    int64_t text = known_text(n, 0);
    Dim most = D(text);
    if (text < 0 || !text_output(n, 1, dim_mul(shape_count(in_shape(n, 0)), most)))
        return false;
    for (int a = 0; a < 3; a++)
        most = dim_mul(most, dim_min(w->out[a], w->dilation[a] == 1 ? dim_ceil(block[a], D(w->stride[a])) : block[a]));
    n->out[0]->text = dim_high(most);
    return true;
}

static void col2im_infer(Node *n)
{
    Image m;
    Windows w;
    Dim block[3];
    Shape x = in_shape(n, 0);
    if (!col2im_read(n, &m, &w, block))
        return;
    Dim blocks = dim_mul(dim_mul(w.out[0], w.out[1]), w.out[2]);
    Dim rows = dim_mul(m.channels, dim_mul(dim_mul(block[0], block[1]), block[2]));
    if (dim_is(dim_equal(blocks, x.dim[2]), 0) || dim_is(dim_equal(rows, x.dim[1]), 0)) {
        node_error(n, "%s are no blocks of %s elements, of which the image has %s", shape_text(x),
                   shape_text(shape_of(m.axes, block + 3 - m.axes)), shape_text(shape_of(m.axes, w.out + 3 - m.axes)));
        return;
    }
    assume_dim(n, blocks, x.dim[2]);
    assume_dim(n, rows, x.dim[1]);
    if (in_type(n, 0) != STR || col2im_text(n, &w, block))
        set_out(n, 0, in_type(n, 0), image_shape(n, &m, m.channels, m.size));
}

static void col2im_bind(Node *n)
{
    Image m;
    Windows w;
    Dim block[3];
    Dim at = D(0), most = D(0);
    Type t = in_type(n, 0), part = t == C64 ? F32 : t == C128 ? F64 : t;
    if (!col2im_read(n, &m, &w, block))
        return;
    if (t == STR)
        text_place(n, &at, &most);
    BIND_T(n, col2im, part, .channels = dim_mul(m.n, m.channels), .blocks = DIMS3(w.out), .image = DIMS3(m.size),
           .block = DIMS3(block), .stride = THREE(w.stride), .dilation = THREE(w.dilation), .pad = DIMS3(w.pad),
           .part = D(part == t ? 1 : 2), .at = at, .most = most);
}

static const Op col2im_ops[] = {
    {"Col2Im", 18, "input:T image_shape:int64 block_shape:int64 -> output:T", "T=NB|bool|C|string",
     "dilations:ints? pads:ints? strides:ints?", .infer = col2im_infer, .bind = col2im_bind},
};
OPS(col2im_ops);
