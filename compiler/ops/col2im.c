/* col2im.c - Col2Im. */
#include "gradient/gradient.h"
#include "blocks.h"
#include "texts.h"
#include "col2im.h"

static Dim product(const Dim *of, int from) { return shape_product(shape_of(AXES, of), from, AXES); }

bool col2im_read(Node *n, Image *m, Windows *w, Dim *block)
{
    Dim image[AXES], size[AXES];
    Shape x = in_shape(n, 0);
    int k = in_dims(n, 1, image, AXES);
    if (k < 0 || in_dims(n, 2, size, AXES) < 0)
        return false;
    if (x.rank != 3 || k < 1 || k > AXES || !dim_is(shape_count(in_shape(n, 2)), k) ||
        !dim_is(shape_count(in_shape(n, 1)), k))
        return node_error(
            n,
            "input 0 is %s, image_shape has %s numbers and block_shape %s; supported are N,C*block,L and 1 to %d axes",
            shape_text(x), shape_text(in_shape(n, 1)), shape_text(in_shape(n, 2)), AXES);
    *m = (Image){.axes = k};
    *w = (Windows){.padded = false}; /* without pads */
    for (int a = 0; a < AXES; a++)
        m->size[a] = w->out[a] = block[a] = D(1);
    if (!read_spatial_ints(n, m, "strides", 1, 1, w->stride) ||
        !read_spatial_ints(n, m, "dilations", 1, 1, w->dilation) || !read_pads(n, m, w))
        return false;
    for (int i = 0; i < k; i++) {
        int a = image_first(m) + i;
        m->size[a] = image[i];
        block[a] = size[i];
        if (!require_size(n, "a dimension of the image", &m->size[a]) ||
            !require_size(n, "a dimension of the block", &block[a]))
            return false;
        Dim reach = dim_add(dim_mul(dim_sub(block[a], D(1)), D(w->dilation[a])), D(1));
        Dim room = dim_sub(dim_add(dim_add(m->size[a], w->pad[a]), w->pad_end[a]), reach);
        w->out[a] = dim_max(D(0), dim_add(dim_div(room, D(w->stride[a])), D(1)));
    }
    m->n = x.dim[0];
    m->channels = dim_div(x.dim[1], dim_max(product(block, 0), D(1)));
    return true;
}

/* Strings are concatenated where windows overlap: y's text is bounded by all of x's. */
static bool col2im_text(Node *n, const Windows *w, const Dim *block)
{
    int64_t text = require_text_bound(n, 0);
    Dim max = D(text);
    if (text < 0 || !make_text_output(n, 1, dim_mul(shape_count(in_shape(n, 0)), max)))
        return false;
    for (int a = 0; a < 3; a++)
        max = dim_mul(max, dim_min(w->out[a], w->dilation[a] == 1 ? dim_ceil(block[a], D(w->stride[a])) : block[a]));
    n->out[0]->text = dim_high(max);
    return true;
}

static void col2im_infer(Node *n)
{
    Image m;
    Windows w;
    Dim block[AXES];
    Shape x = in_shape(n, 0);
    if (!col2im_read(n, &m, &w, block))
        return;
    Dim blocks = product(w.out, 0), rows = dim_mul(m.channels, product(block, 0));
    if (dim_is(dim_eq_expr(blocks, x.dim[2]), 0) || dim_is(dim_eq_expr(rows, x.dim[1]), 0)) {
        node_error(n, "%s are no blocks of %s elements, of which the image has %s", shape_text(x),
                   shape_text(shape_of(m.axes, block + image_first(&m))),
                   shape_text(shape_of(m.axes, w.out + image_first(&m))));
        return;
    }
    assume_dim(n, blocks, x.dim[2]);
    assume_dim(n, rows, x.dim[1]);
    if (in_type(n, 0) != STR || m.axes > 3 || col2im_text(n, &w, block))
        set_out(n, 0, in_type(n, 0), image_shape(n, &m, m.channels, m.size));
    image_in_steps(n, &m);
}

/* Over many axes: along all but the first, then along the first. */
static void col2im_in_steps(Node *n)
{
    Image m;
    Windows w;
    Dim block[AXES];
    Shape y = *out(n, 0)->shape;
    if (!col2im_read(n, &m, &w, block))
        return;
    Type own = in_type(n, 0);
    Dim rest = product(block, 1), places = product(w.out, 1), pixels = shape_product(y, 3, y.rank);
    Dim channels = dim_mul(m.channels, block[0]), rows = dim_mul(m.n, w.out[0]);
    Value *v = make_cast(n, in(n, 0), type_wide(own));
    v = transpose(n, make_reshape(n, v, 4, (Dim[]){m.n, dim_mul(channels, rest), w.out[0], places}), 4,
                  (int64_t[]){0, 2, 1, 3});
    v = make(n, "Col2Im", 3, make_reshape(n, v, 3, (Dim[]){rows, dim_mul(channels, rest), places}),
             make_dims(n, m.axes - 1, m.size + 1), make_dims(n, m.axes - 1, block + 1));
    attrs_of_axes(n, m.axes, 1, m.axes - 1, v->def);
    v = transpose(n, make_reshape(n, v, 4, (Dim[]){m.n, w.out[0], channels, pixels}), 4, (int64_t[]){0, 3, 2, 1});
    v = make(n, "Col2Im", 3, make_reshape(n, v, 3, (Dim[]){dim_mul(m.n, pixels), channels, w.out[0]}),
             make_dims(n, 1, m.size), make_dims(n, 1, block));
    attrs_of_axes(n, m.axes, 0, 1, v->def);
    v = transpose(n, make_reshape(n, v, 4, (Dim[]){m.n, pixels, m.channels, m.size[0]}), 4, (int64_t[]){0, 2, 3, 1});
    expand_to(n, make_cast(n, make_reshape(n, v, y.rank, y.dim), own));
}

static void col2im_bind(Node *n)
{
    Image m;
    Windows w;
    Dim block[AXES], at = D(0), max = D(0);
    Type t = in_type(n, 0), part = type_part(t);
    if (!col2im_read(n, &m, &w, block))
        return;
    if (t == STR)
        text_place(n, &at, &max);
    BIND_T(n, col2im, part, .channels = dim_mul(m.n, m.channels), .blocks = DIMS3(w.out), .image = DIMS3(m.size),
           .block = DIMS3(block), .stride = THREE(w.stride), .dilation = THREE(w.dilation), .pad = DIMS3(w.pad),
           .part = D(part == t ? 1 : 2), .at = at, .upper = max);
}

static const Op col2im_ops[] = {
    {"Col2Im", 18, "input:T image_shape:int64 block_shape:int64 -> output:T", "T=NB|bool|C|string",
     "dilations:ints? pads:ints? strides:ints?", .infer = col2im_infer, .bind = col2im_bind},
    {"Col2ImInSteps", 1, "input:T image_shape:int64 block_shape:int64 -> output:T", "T=NB|bool|C|string",
     "dilations:ints? pads:ints? strides:ints?", .expand = col2im_in_steps, .domain = "onnxcc"},
};
OPS(col2im_ops);
