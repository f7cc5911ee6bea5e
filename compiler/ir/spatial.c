/* spatial.c - images and windows from a node's attributes: strides, dilations, pads, auto_pad; with run-time sizes. */
#include "ir/spatial.h"
#include "ir/assume.h"
#include "ir/schema.h"

bool image_read(Node *n, int i, Image *m)
{
    Shape s = in_shape(n, i);
    if (s.rank < 3)
        return node_error(n, "input %d is %s; it needs spatial axes after batch and channels", i, shape_text(s));
    m->axes = s.rank - 2;
    m->n = s.dim[0];
    m->channels = n->channels_last ? s.dim[s.rank - 1] : s.dim[1];
    m->pixels = D(1);
    for (int a = 0; a < AXES; a++)
        m->size[a] = D(1);
    for (int a = 0; a < image_end(m); a++) {
        int k = a - image_first(m);
        m->size[a] = k < 0 ? D(1) : s.dim[(n->channels_last ? 1 : 2) + k];
        m->pixels = dim_mul(m->pixels, m->size[a]);
    }
    return true;
}

Shape image_shape(const Node *n, const Image *m, Dim channels, const Dim *size)
{
    Shape s = {.rank = m->axes + 2};
    s.dim[0] = m->n;
    s.dim[n->channels_last ? s.rank - 1 : 1] = channels;
    for (int k = 0; k < m->axes; k++)
        s.dim[(n->channels_last ? 1 : 2) + k] = size[image_first(m) + k];
    return s;
}

bool image_in_steps(Node *n, const Image *m)
{
    if (m->axes > 3)
        n->op = op_find("onnxcc", text_format("%sInSteps", n->op->name), 1);
    return m->axes > 3;
}

void attrs_of_axes(const Node *n, int axes, int from, int count, Node *to)
{
    static const char *const lists[] = {"kernel_shape", "strides",        "dilations",
                                        "pads",         "output_padding", "output_shape"};
    int64_t part[2 * AXES];
    for (int i = 0; i < n->n_attr; i++) {
        const Attr *a = &n->attr[i];
        bool list = false;
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
            list |= a->type == A_INTS && (a->n == axes || a->n == 2 * axes) && name_is(a->name, lists[k]);
        for (int k = 0; list && k < count; k++) {
            part[k] = a->ints[from + k];
            part[count + k] = a->ints[a->n - axes + from + k];
        }
        if (list)
            attr_set_ints(to, a->name->s, a->n / axes * count, part);
        else
            attr_set(to, *a);
    }
}

bool read_spatial_ints(Node *n, const Image *m, const char *attr, int64_t otherwise, int64_t low, int64_t *v)
{
    const int64_t *given = NULL;
    int k = attr_is_given(n, attr) ? attr_ints(n, attr, &given) : -1;
    for (int a = 0; a < AXES; a++)
        v[a] = otherwise;
    if (k < 0)
        return true;
    if (k != m->axes)
        return node_error(n, "%s has %d elements; the image has %d spatial axes", attr, k, m->axes);
    for (int a = 0; a < k; a++) {
        v[image_first(m) + a] = given[a];
        if (given[a] < low || given[a] > INT32_MAX)
            return node_error(n, "%s[%d] is %lld", attr, a, (long long)given[a]);
    }
    return true;
}

bool read_pads(Node *n, const Image *m, Windows *w)
{
    const int64_t *p;
    int k = attr_is_given(n, "pads") ? attr_ints(n, "pads", &p) : -1;
    if (k < 0)
        return true;
    if (k != 2 * m->axes)
        return node_error(n, "pads has %d elements; %d spatial axes need %d", k, m->axes, 2 * m->axes);
    for (int a = 0; a < k; a++)
        if (p[a] < 0 || p[a] > INT32_MAX)
            return node_error(n, "pads[%d] is %lld", a, (long long)p[a]);
    for (int a = 0; a < m->axes; a++) {
        w->pad[image_first(m) + a] = D(p[a]);
        w->pad_end[image_first(m) + a] = D(p[m->axes + a]);
    }
    return true;
}

/* Windows along one axis. same: 1 for SAME_UPPER (an odd element of padding goes to the end), -1 for SAME_LOWER, else
 * 0. */
static void read_axis(const Node *n, const Image *m, int a, int same, bool ceil, Windows *w)
{
    Dim size = m->size[a], stride = D(w->stride[a]), reach = D((w->kernel[a] - 1) * w->dilation[a] + 1);
    if (same) {
        w->out[a] = dim_ceil(size, stride);
        Dim total = dim_max(D(0), dim_sub(dim_add(dim_mul(dim_sub(w->out[a], D(1)), stride), reach), size));
        w->pad[a] = same > 0 ? dim_div(total, D(2)) : dim_ceil(total, D(2));
        w->pad_end[a] = dim_sub(total, w->pad[a]);
        return;
    }
    Dim room = dim_sub(dim_add(dim_add(size, w->pad[a]), w->pad_end[a]), reach);
    w->out[a] = require_left(n, size, dim_add(ceil ? dim_ceil(room, stride) : dim_div(room, stride), D(1)));
    if (!ceil)
        return;
    /* A window that would start in the end padding is omitted. */
    Dim last = dim_mul(dim_sub(w->out[a], D(1)), stride), end = dim_add(size, w->pad[a]);
    w->out[a] = dim_sub(w->out[a], dim_less_expr(dim_sub(end, D(1)), last));
}

/* Convolutions (recognised by their optional kernel_shape) may not have both pads and auto_pad. True: both, and
 * reported. */
static bool has_both_pads(Node *n)
{
    const FormalAttr *shape = formal_attr(op_signature(n->op), "kernel_shape");
    if (!shape || !shape->optional)
        return false;
    const int64_t *p;
    bool pads = false;
    for (int i = 0, k = attr_is_given(n, "pads") ? attr_ints(n, "pads", &p) : 0; i < k; i++)
        pads |= p[i] != 0;
    if (pads)
        node_error(n, "auto_pad and pads are given; only one of them may be");
    return pads;
}

/* Reads all of *w except the sizes; *same: for read_axis. */
static bool read_windows(Node *n, const Image *m, const int64_t *kernel, Windows *w, int *same)
{
    *w = (Windows){.padded = false};
    for (int a = 0; a < AXES; a++)
        w->pad[a] = w->pad_end[a] = D(0);
    if (!read_spatial_ints(n, m, "kernel_shape", 1, 1, w->kernel) ||
        !read_spatial_ints(n, m, "strides", 1, 1, w->stride) ||
        !read_spatial_ints(n, m, "dilations", 1, 1, w->dilation))
        return false;
    for (int a = 0; kernel && a < m->axes; a++) {
        if (attr_is_given(n, "kernel_shape") && w->kernel[image_first(m) + a] != kernel[a])
            return node_error(n, "kernel_shape[%d] is %lld, the weights have %lld", a,
                              (long long)w->kernel[image_first(m) + a], (long long)kernel[a]);
        if (kernel[a] < 1)
            return node_error(n, "the weights have no elements along spatial axis %d", a);
        w->kernel[image_first(m) + a] = kernel[a];
    }
    const char *pad = attr_is_given(n, "auto_pad") ? attr_string(n, "auto_pad") : "";
    *same = !strcmp(pad, "SAME_UPPER") ? 1 : !strcmp(pad, "SAME_LOWER") ? -1 : 0;
    bool given = !*pad || !strcmp(pad, "NOTSET");
    if (!*same && !given && strcmp(pad, "VALID"))
        return node_error(n, "auto_pad is \"%s\"", pad);
    return given ? read_pads(n, m, w) : !has_both_pads(n);
}

/* The axis of input 0 that array index a refers to, for messages. */
static int axis_seen(const Node *n, const Image *m, int a) { return a - image_first(m) + (n->channels_last ? 1 : 2); }

bool windows_read(Node *n, const Image *m, const int64_t *kernel, Windows *w)
{
    int same;
    if (!read_windows(n, m, kernel, w, &same))
        return false;
    bool ceil = attr_is_given(n, "ceil_mode") && attr_int(n, "ceil_mode");
    for (int a = 0; a < image_end(m); a++) {
        read_axis(n, m, a, a < image_first(m) ? 0 : same, ceil, w);
        w->padded |= ceil || !dim_is(w->pad[a], 0) || !dim_is(w->pad_end[a], 0);
        if (dim_high(w->out[a]) < 1 && dim_low(m->size[a]) > 0)
            return node_error(n, "no window of %lld elements fits in axis %d of %s", (long long)w->kernel[a],
                              axis_seen(n, m, a), shape_text(in_shape(n, 0)));
    }
    return true;
}

/* An output_shape may include batch and channels: some exporters, and ONNX's test of version 1, do so. */
static void drop_batch_and_channels(Node *n, const Image *m)
{
    const int64_t *v;
    if (attr_ints(n, "output_shape", &v) == m->axes + 2)
        attr_set_ints(n, "output_shape", m->axes, v + 2);
}

bool windows_read_transposed(Node *n, const Image *m, const int64_t *kernel, Windows *w)
{
    int same;
    int64_t more[AXES], size[AXES];
    drop_batch_and_channels(n, m);
    if (!read_windows(n, m, kernel, w, &same) || !read_spatial_ints(n, m, "output_padding", 0, 0, more) ||
        !read_spatial_ints(n, m, "output_shape", 0, 1, size))
        return false;
    for (int a = 0; a < image_end(m); a++) {
        Dim reach = D((w->kernel[a] - 1) * w->dilation[a] + 1 + more[a]);
        Dim full = dim_add(dim_mul(dim_sub(m->size[a], D(1)), D(w->stride[a])), reach);
        if (more[a] && more[a] >= w->stride[a] && more[a] >= w->dilation[a])
            return node_error(n, "output_padding %lld is neither below the stride nor below the dilation",
                              (long long)more[a]);
        if (a >= image_first(m) && (same || size[a])) {
            w->out[a] = size[a] ? D(size[a]) : dim_mul(m->size[a], D(w->stride[a]));
            Dim total = dim_max(D(0), dim_sub(full, w->out[a]));
            w->pad[a] = same > 0 ? dim_div(total, D(2)) : dim_ceil(total, D(2));
        } else
            w->out[a] = require_left(n, m->size[a], dim_sub(full, dim_add(w->pad[a], w->pad_end[a])));
        w->padded |= (w->kernel[a] - 1) * w->dilation[a] >= w->stride[a] || !dim_is(w->pad[a], 0) ||
                     !dim_is_at_most(w->out[a], dim_mul(m->size[a], D(w->stride[a])));
        if (dim_high(w->out[a]) < 1 && dim_low(m->size[a]) > 0)
            return node_error(n, "nothing is left of axis %d of %s", axis_seen(n, m, a), shape_text(in_shape(n, 0)));
    }
    return true;
}
