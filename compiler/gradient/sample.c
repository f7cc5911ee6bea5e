/* sample.c - decompositions of GridSample, RoiAlign, DeformConv and Resize's tables: elements are gathered, and
 * weighted by functions of the position. grid.h, roi.h, deformconv.h and resize.h of runtime-min have the formulas. */
#include <strings.h>

#include "ir/spatial.h"
#include "gradient.h"
#include "resize.h"

/* ---- positions between elements ---------------------------------------------------------------------------------- */

enum { ZEROS, BORDER, REFLECTION };

/* Indices of elements and their weights, (batch, places, taps), combined over the axes so far; all: the number of
 * taps. */
typedef struct Sampler {
    Node *n;
    Type t; /* type of positions and sums */
    int taps, padding;
    bool align; /* -1 and 1 are the centres of the outer elements */
    Dim batch, places, all;
    Value *at, *weight;
} Sampler;

#define sub(n, a, b) make(n, "Sub", 2, a, b)
#define add(n, a, b) make(n, "Add", 2, a, b)
#define mul(n, a, b) make(n, "Mul", 2, a, b)
static Value *number(const Sampler *s, double v) { return make_scalar(s->n, s->t, v); }

/* 0, 1... count - 1, in the type of positions. */
static Value *range(const Sampler *s, Dim count)
{
    Node *n = s->n;
    return make_cast(n, make(n, "Range", 3, make_int(n, 0), size_as(n, I64, count), make_int(n, 1)), s->t);
}

static Value *numbers(const Sampler *s, int k, const double *v)
{
    int64_t count = k;
    Tensor *data = tensor_new(F64, 1, &count);
    memcpy((void *)(uintptr_t)data->data, v, sizeof *v * (size_t)k);
    return make_cast(s->n, value_const(s->n->graph, data), s->t);
}

/* v clamped to the indices of `size` elements. */
static Value *inside(const Sampler *s, Value *v, Dim size)
{
    Value *last = size_as(s->n, s->t, dim_max(dim_sub(size, D(1)), D(0)));
    return make(s->n, "Clip", 3, v, number(s, 0), last);
}

/* v reflected at both ends: a triangle wave. */
static Value *reflected(const Sampler *s, Value *v, Dim size)
{
    Node *n = s->n;
    Value *low = number(s, s->align ? 0 : -0.5), *width = size_as(n, s->t, s->align ? dim_sub(size, D(1)) : size);
    Value *wave = make(n, "Max", 2, add(n, width, width), number(s, 1e-30)); /* one element has no width */
    v = make(n, "Mod", 2, make(n, "Abs", 1, sub(n, v, low)), wave);
    attr_set_int(v->def, "fmod", 1);
    return add(n, low, make(n, "Min", 2, v, sub(n, wave, v)));
}

/* The weights of the elements around a position at distance f after an element: polynomials in f. */
static Value *weights(const Sampler *s, Value *f)
{
    static const double linear[][2] = {{1, 0}, {-1, 1}};
    static const double cubic[][4] = {
        {0, 1, 0, 0}, {-0.75, 0, 0.75, 0}, {1.5, -2.25, 1.5, -0.75}, {-0.75, 1.25, -1.25, 0.75}};
    const double *factors = s->taps == 4 ? cubic[0] : linear[0];
    Value *v = NULL;
    if (s->taps == 1) /* f is 0 */
        return sub(s->n, number(s, 1), f);
    for (int k = s->taps - 1; k >= 0; k--) {
        Value *c = numbers(s, s->taps, factors + k * s->taps);
        v = v ? add(s->n, mul(s->n, v, f), c) : c;
    }
    return v;
}

/* The elements around positions, (batch, places, 1), on an axis of `size` elements, and their weights. */
static void around(const Sampler *s, Value *place, Dim size, Value **at, Value **weight)
{
    static const double before[] = {0, 1}, more[] = {-1, 0, 1, 2};
    Node *n = s->n;
    Value *first = make(n, "Floor", 1, place), *w = weights(s, sub(n, place, first));
    Value *i = add(n, first, numbers(s, s->taps, s->taps == 4 ? more : before));
    if (s->padding == REFLECTION)
        i = reflected(s, i, size);
    Value *there = inside(s, i, size);
    *weight = s->padding == ZEROS ? make(n, "Where", 3, make(n, "Equal", 2, i, there), w, number(s, 0)) : w;
    *at = make_cast(n, there, I64);
}

/* Combines the taps so far with those along a further axis. */
static void along(Sampler *s, Value *at, Value *weight, Dim size, Dim taps)
{
    Node *n = s->n;
    if (s->at) {
        Dim rows[] = {s->batch, s->places, s->all, D(1)}, columns[] = {s->batch, s->places, D(1), taps};
        Value *row = mul(n, make_reshape(n, s->at, 4, rows), size_as(n, I64, size));
        at = add(n, row, make_reshape(n, at, 4, columns));
        weight = mul(n, make_reshape(n, s->weight, 4, rows), make_reshape(n, weight, 4, columns));
    }
    s->all = dim_mul(s->all, taps);
    Dim together[] = {s->batch, s->places, s->all};
    s->at = make_reshape(n, at, 3, together);
    s->weight = make_reshape(n, weight, 3, together);
}

/* The elements at s->at: (batch, places, taps, channels). x: images of `channels` planes of `size` elements; image: the
 * index of the image to read, (batch, 1). */
static Value *elements_at(const Sampler *s, Value *x, Value *image, Dim images, Dim channels, Dim size)
{
    Node *n = s->n;
    Dim all = dim_mul(images, size);
    x = make_reshape(n, s->taps == 1 ? x : make_cast(n, x, s->t), 3, (Dim[]){images, channels, size});
    x = transpose(n, x, 3, (int64_t[]){0, 2, 1});
    x = make_reshape(n, x, 2, (Dim[]){all, channels});
    Value *first = make_reshape(n, mul(n, image, size_as(n, I64, size)), 3, (Dim[]){s->batch, D(1), D(1)});
    Value *at = add(n, first, s->at);
    if (s->taps == 1) { /* elements of any type; taps with weight 0 read the padding at the end */
        x = make(n, "Pad", 2, x, make_ints(n, 4, (int64_t[]){0, 0, 1, 0}));
        at = make(n, "Where", 3, make_cast(n, s->weight, B8), at, size_as(n, I64, all));
    }
    return make(n, "Gather", 2, x, at);
}

/* The weighted sums, or the only element: (batch, places, channels). */
static Value *sampled(const Sampler *s, Value *x, Value *image, Dim images, Dim channels, Dim size)
{
    Node *n = s->n;
    Value *w = make_reshape(n, s->weight, 4, (Dim[]){s->batch, s->places, D(1), s->all});
    Value *v = elements_at(s, x, image, images, channels, size);
    v = s->taps == 1 ? v : matrices(n, w, false, v, false);
    return make_reshape(n, v, 3, (Dim[]){s->batch, s->places, channels});
}

static Type wide(const Value *a, const Value *b)
{
    return a->type == F64 || b->type == F64 || (type_is_int(a->type) && type_bits(a->type) > 16) ? F64 : F32;
}

/* ---- GridSample -------------------------------------------------------------------------------------------------- */

/* The grid's coordinates as positions on an axis of `size` elements. */
static Value *grid_place(const Sampler *s, Value *g, Dim size)
{
    Node *n = s->n;
    Value *count = size_as(n, s->t, s->align ? dim_sub(size, D(1)) : size);
    Value *v = mul(n, add(n, g, number(s, 1)), count);
    v = mul(n, s->align ? v : sub(n, v, number(s, 1)), number(s, 0.5));
    if (s->taps == 1)
        v = make(n, "Round", 1, v);
    if (s->padding == BORDER && s->taps <= 2)
        return inside(s, v, size);
    return s->padding == REFLECTION ? reflected(s, v, size) : v;
}

bool decompose_grid_sample(Node *n, Node *m, Value **out)
{
    Shape x = *m->in[0]->shape, y = *m->out[0]->shape;
    int axes = x.rank - 2;
    Dim size = shape_product(x, 2, x.rank);
    bool nearest = attr_is(m, "mode", "nearest");
    if (x.rank <= 5 && (nearest || !type_is_float(m->in[0]->type)))
        return false;
    Sampler s = {.n = n,
                 .t = wide(m->in[0], m->in[1]),
                 .taps = nearest                                                        ? 1
                         : attr_is(m, "mode", "cubic") || attr_is(m, "mode", "bicubic") ? 4
                                                                                        : 2,
                 .padding = attr_is(m, "padding_mode", "border")  ? BORDER
                            : attr_is(m, "padding_mode", "zeros") ? ZEROS
                                                                  : REFLECTION,
                 .align = attr_int(m, "align_corners") != 0,
                 .batch = x.dim[0],
                 .places = shape_product(y, 2, y.rank),
                 .all = D(1)};
    Value *grid = make_reshape(n, make_cast(n, in(m, 1), s.t), 3, (Dim[]){s.batch, s.places, D(axes)}), *at, *weight;
    for (int a = 0; a < axes; a++) {
        Value *g = part(n, grid, 2, D(axes - 1 - a), D(axes - a)); /* the last axis comes first */
        around(&s, grid_place(&s, g, x.dim[2 + a]), x.dim[2 + a], &at, &weight);
        along(&s, at, weight, x.dim[2 + a], D(s.taps));
    }
    Value *v = sampled(&s, in(m, 0), make_cast(n, range(&s, s.batch), I64), s.batch, x.dim[1], size);
    v = make_reshape(n, transpose(n, v, 3, (int64_t[]){0, 2, 1}), y.rank, y.dim);
    out[0] = nearest ? v : make_cast(n, v, m->in[0]->type);
    return true;
}

/* ---- AffineGrid -------------------------------------------------------------------------------------------------- */

/* AffineGrid: the products of d with the coordinates of the positions, which are the first row of the node's output for
 * matrices whose first row is a row of the unit matrix. */
Value *affine_grid_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Shape y = *m->out[0]->shape;
    int64_t axes = y.rank - 2, shape[] = {axes + 1, axes, axes + 1};
    Dim size[5] = {D(axes + 1), D(1)}, points = shape_product(y, 1, y.rank - 1);
    for (int a = 0; a < axes; a++)
        size[2 + a] = y.dim[1 + a];
    Tensor *units = tensor_new(F64, 3, shape);
    for (int64_t i = 0; i <= axes; i++)
        ((double *)(uintptr_t)units->data)[i * axes * (axes + 1) + i] = 1;
    Value *in[] = {make_cast(n, value_const(n->graph, units), b->d->type), make_dims(n, y.rank, size)};
    Value *grid = make_reshape(n, clone_node(n, m, in, 2, 1)->out[0], 3, (Dim[]){size[0], points, D(axes)});
    Value *place = make_reshape(n, part(n, grid, 2, D(0), D(1)), 2, (Dim[]){size[0], points});
    Value *d = make_reshape(n, b->d, 3, (Dim[]){y.dim[0], points, D(axes)});
    return matrices(n, d, true, place, true);
}

/* ---- RoiAlign ---------------------------------------------------------------------------------------------------- */

/* An axis of the regions: bins, each with as many positions as the largest one, and the elements read for them. */
typedef struct Bins {
    Dim bins, places;
    Value *count; /* number of positions, (regions, 1, 1) or one element; positions beyond it are ignored */
    Value *at, *weight, *valid; /* (regions, bins, places * 2) */
} Bins;

/* The regions' coordinate in column k, scaled to elements: (regions, 1, 1). */
static Value *edge(const Sampler *s, const Node *m, Value *rois, int k, bool shift)
{
    Node *n = s->n;
    Value *v = mul(n, part(n, rois, 1, D(k), D(k + 1)), number(s, attr_float(m, "spatial_scale")));
    v = make_reshape(n, v, 3, (Dim[]){s->batch, D(1), D(1)});
    return shift ? sub(n, v, number(s, 0.5)) : v;
}

/* The number of positions of a bin: the attribute, or the size of the bin in elements. */
static void bins_places(const Sampler *s, int64_t sampling, Value *bin, Node *before, Bins *b)
{
    Node *n = s->n;
    b->places = D(sampling);
    b->count = number(s, (double)sampling);
    if (sampling)
        return;
    b->count = make(n, "Max", 2, make(n, "Ceil", 1, bin), number(s, 0));
    Value *max = make(n, "Max", 2, make(n, "ReduceMax", 1, b->count), number(s, 0));
    max = make_reshape(n, make_cast(n, max, I64), 0, NULL);
    infer_between(before, n);
    b->places = value_dim(max, 0);
}

/* Reads axis a, of `size` elements; nodes after `before` are new. */
static void bins_read(const Sampler *s, const Node *m, Value *rois, int a, Dim size, Node *before, Bins *b)
{
    Node *n = s->n;
    bool shift = m->op->since_version >= 16 && attr_is(m, "coordinate_transformation_mode", "half_pixel");
    int64_t sampling = attr_int(m, "sampling_ratio");
    Value *from = edge(s, m, rois, 1 - a, shift), *bin = sub(n, edge(s, m, rois, 3 - a, shift), from);
    bin = make(n, "Div", 2, shift ? bin : make(n, "Max", 2, bin, number(s, 1)), size_as(n, s->t, b->bins));
    bins_places(s, sampling, bin, before, b);
    Dim flat[] = {s->batch, dim_mul(b->bins, b->places), D(1)}, all[] = {s->batch, b->bins, b->places, D(2)};
    Value *i = range(s, b->places), *k = make_reshape(n, range(s, b->bins), 2, (Dim[]){b->bins, D(1)});
    Value *step = make(n, "Div", 2, mul(n, add(n, i, number(s, 0.5)), bin), make(n, "Max", 2, b->count, number(s, 1)));
    Value *v = make_reshape(n, add(n, add(n, from, mul(n, k, bin)), step), 3, flat);
    Value *near = make(n, "And", 2, make(n, "GreaterOrEqual", 2, v, number(s, -1)),
                       make(n, "LessOrEqual", 2, v, size_as(n, s->t, size)));
    around(s, inside(s, v, size), size, &b->at, &b->weight);
    b->valid =
        make_reshape(n, make(n, "Less", 2, i, b->count), 4, (Dim[]){sampling ? D(1) : s->batch, D(1), b->places, D(1)});
    b->valid = make(n, "Expand", 2, b->valid, make_dims(n, 4, all));
    b->weight = make(n, "Where", 3, near, b->weight, number(s, 0));
}

/* `op` of all pairs of rows and columns: (regions, bins of both, positions of both). */
static Value *paired(const Sampler *s, const char *op, const Bins *b, Value *rows, Value *columns)
{
    Node *n = s->n;
    Dim rows_each = dim_mul(b[0].places, D(2)), columns_each = dim_mul(b[1].places, D(2));
    rows = make_reshape(n, rows, 5, (Dim[]){s->batch, b[0].bins, D(1), rows_each, D(1)});
    columns = make_reshape(n, columns, 5, (Dim[]){s->batch, D(1), b[1].bins, D(1), columns_each});
    return make_reshape(n, make(n, op, 2, rows, columns), 3, (Dim[]){s->batch, s->places, s->all});
}

/* The largest product of an element and its weight: (regions, bins, channels); 0 if there is none. */
static Value *largest(const Sampler *s, Value *x, Value *valid)
{
    Node *n = s->n;
    Dim each[] = {s->batch, s->places, s->all, D(1)};
    Value *v = mul(n, x, make_reshape(n, s->weight, 4, each)), *low = number(s, -3e38);
    v = make(n, "Where", 3, make_reshape(n, valid, 4, each), v, low);
    v = make(n, "ReduceMax", 2, v, make_ints(n, 1, (int64_t[]){2}));
    attr_set_int(v->def, "keepdims", 0);
    return make(n, "Where", 3, make(n, "Greater", 2, v, low), v, number(s, 0));
}

/* For means over a run-time number of positions: products with the node's outputs for all images with a single 1. */
Value *roi_align_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Shape x = *m->in[0]->shape, y = *m->out[0]->shape;
    Dim size = dim_mul(x.dim[2], x.dim[3]), rois = y.dim[0], bins = dim_mul(y.dim[2], y.dim[3]);
    if (b->i)
        return NULL;
    Value *units = make_reshape(n, unit_matrix(n, b->d->type, size), 4, (Dim[]){D(1), size, x.dim[2], x.dim[3]});
    Value *first = filled(n, I64, 0, 1, &rois);
    Value *matrix = clone_node(n, m, (Value *[]){units, m->in[1], first}, 3, 1)->out[0];
    matrix = make_reshape(n, matrix, 3, (Dim[]){rois, size, bins});
    Value *d = make_reshape(n, b->d, 3, (Dim[]){rois, x.dim[1], bins});
    Value *all = filled(n, b->d->type, 0, 3, (Dim[]){x.dim[0], x.dim[1], size});
    Value *v = make(n, "ScatterND", 3, all, make_reshape(n, m->in[2], 2, (Dim[]){rois, D(1)}),
                    matrices(n, d, false, matrix, true));
    attr_set_string(v->def, "reduction", "add");
    return reshape_like(n, v, m->in[0]);
}

bool decompose_roi_align(Node *n, Node *m, Value **out)
{
    Shape x = *m->in[0]->shape, y = *m->out[0]->shape;
    Dim size = dim_mul(x.dim[2], x.dim[3]);
    Bins b[2] = {{.bins = y.dim[2]}, {.bins = y.dim[3]}};
    Node *before = n->prev;
    bool max = !strcasecmp(attr_string(m, "mode"), "max");
    Sampler s = {.n = n,
                 .t = wide(m->in[0], m->in[1]),
                 .taps = 2,
                 .padding = BORDER,
                 .batch = y.dim[0],
                 .places = dim_mul(y.dim[2], y.dim[3])};
    Value *rois = make_cast(n, in(m, 1), s.t);
    for (int a = 0; a < 2; a++)
        bins_read(&s, m, rois, a, x.dim[2 + a], before, &b[a]);
    s.all = dim_mul(dim_mul(b[0].places, b[1].places), D(4));
    s.at = paired(&s, "Add", b, mul(n, b[0].at, size_as(n, I64, x.dim[3])), b[1].at);
    s.weight = paired(&s, "Mul", b, b[0].weight, b[1].weight);
    Value *valid = paired(&s, "And", b, b[0].valid, b[1].valid), *v;
    if (max)
        v = largest(&s, elements_at(&s, in(m, 0), in(m, 2), x.dim[0], x.dim[1], size), valid);
    else {
        s.weight = make(n, "Where", 3, valid, s.weight, number(&s, 0));
        v = sampled(&s, in(m, 0), in(m, 2), x.dim[0], x.dim[1], size);
        v = make(n, "Div", 2, v, make(n, "Max", 2, mul(n, b[0].count, b[1].count), number(&s, 1)));
    }
    v = make_reshape(n, transpose(n, v, 3, (int64_t[]){0, 2, 1}), 4, y.dim);
    out[0] = make_cast(n, v, m->in[0]->type);
    return true;
}

/* ---- DeformConv -------------------------------------------------------------------------------------------------- */

/* 0, step, 2 step ... (count elements) along axis k of a shape of this rank. */
static Value *steps(const Sampler *s, Dim count, int64_t step, int k, int rank)
{
    Shape x = {.rank = rank};
    for (int i = 0; i < rank; i++)
        x.dim[i] = i == k ? count : D(1);
    return make_reshape(s->n, mul(s->n, range(s, count), number(s, (double)step)), rank, x.dim);
}

/* The positions along axis a that the kernel's elements read, (batch, elements * outputs, 1): the regular ones plus
 * `offset`. */
static Value *deform_place(const Sampler *s, const Windows *w, Value *offset, int axes, int a)
{
    Node *n = s->n;
    Shape x = {.rank = 7, .dim = {s->batch, D(1), D(1), D(1), D(1), D(1), D(1)}};
    int from = axes < 3 ? 3 - axes : 0, k = from + a;
    for (int i = 0; i < axes; i++) {
        Dim *kernel = &x.dim[1 + (i >= a) + (i > a)], *out = kernel + 3; /* those before a, a, and those after */
        *kernel = dim_mul(*kernel, D(w->kernel[from + i]));
        *out = dim_mul(*out, w->out[from + i]);
    }
    Value *v = make_reshape(n, part(n, offset, 2, D(a), D(a + 1)), x.rank, x.dim);
    v = add(n, v, steps(s, D(w->kernel[k]), w->dilation[k], 2, x.rank));
    Value *first = sub(n, steps(s, w->out[k], w->stride[k], 5, x.rank), size_as(n, s->t, w->pad[k]));
    return make_reshape(n, add(n, v, first), 3, (Dim[]){s->batch, s->places, D(1)});
}

/* The products of the weights with the columns, (batch, elements * outputs, channels) for each group of offsets. */
static Value *deform_product(const Sampler *s, const Node *m, Value *columns, Value *w, Dim elements)
{
    Node *n = s->n;
    Shape x = *m->in[0]->shape, y = *m->out[0]->shape;
    Dim groups = D(attr_int(m, "group")), moves = D(attr_int(m, "offset_group"));
    Dim points = shape_product(y, 2, y.rank), some = dim_div(x.dim[1], moves);
    Dim row = dim_mul(dim_div(x.dim[1], groups), elements);
    Value *v = make_reshape(n, columns, 5, (Dim[]){x.dim[0], moves, elements, points, some});
    v = transpose(n, v, 5, (int64_t[]){0, 1, 4, 2, 3});
    v = make_reshape(n, v, 4, (Dim[]){x.dim[0], groups, row, points});
    w = make_reshape(n, make_cast(n, w, s->t), 4, (Dim[]){D(1), groups, dim_div(y.dim[1], groups), row});
    return make_reshape(n, matrices(n, w, false, v, false), y.rank, y.dim);
}

bool decompose_deform_conv(Node *n, Node *m, Value **out)
{
    Shape x = *m->in[0]->shape, w = *m->in[1]->shape, y = *m->out[0]->shape;
    int64_t kernel[AXES], moves = attr_int(m, "offset_group");
    int axes = x.rank - 2;
    Dim elements = shape_product(w, 2, w.rank), points = shape_product(y, 2, y.rank);
    Image image;
    Windows windows;
    for (int a = 0; a < axes; a++)
        kernel[a] = dim_value(w.dim[2 + a]);
    if (!image_read(m, 0, &image) || !windows_read(m, &image, kernel, &windows))
        return false;
    Sampler s = {.n = n,
                 .t = wide(m->in[0], m->in[1]),
                 .taps = 2,
                 .batch = dim_mul(x.dim[0], D(moves)),
                 .places = dim_mul(elements, points),
                 .all = D(1)};
    Value *offset = make_reshape(n, make_cast(n, in(m, 2), s.t), 4, (Dim[]){s.batch, elements, D(axes), points});
    Value *at, *weight;
    for (int a = 0; a < axes; a++) {
        around(&s, deform_place(&s, &windows, offset, axes, a), x.dim[2 + a], &at, &weight);
        along(&s, at, weight, x.dim[2 + a], D(2));
    }
    Value *image_of = make_cast(n, range(&s, s.batch), I64);
    Value *v = sampled(&s, in(m, 0), image_of, s.batch, dim_div(x.dim[1], D(moves)), shape_product(x, 2, x.rank));
    if (in(m, 4))
        v = mul(n, v, make_reshape(n, make_cast(n, in(m, 4), s.t), 3, (Dim[]){s.batch, s.places, D(1)}));
    v = deform_product(&s, m, v, in(m, 1), elements);
    if (in(m, 3)) {
        Shape channel = {.rank = y.rank - 1, .dim = {y.dim[1]}};
        for (int a = 1; a < channel.rank; a++)
            channel.dim[a] = D(1);
        v = add(n, v, make_reshape(n, make_cast(n, in(m, 3), s.t), channel.rank, channel.dim));
    }
    out[0] = make_cast(n, v, m->in[0]->type);
    return true;
}

/* ---- Resize ------------------------------------------------------------------------------------------------------ */

/* Evaluates a formula for values of a, b, c and x, and of d and y. */
static Value *evaluated(const Sampler *s, const Node *m, const char *text, Value **abcx, Value *d, Value *y)
{
    Node there = *m;
    there.in = abcx;
    there.out = &y;
    return formula(&(Vjp){.n = s->n, .m = &there, .d = d, .i = 3}, text);
}

/* Element k of v, or `otherwise` if v is absent. */
static Value *given(const Sampler *s, Value *v, int64_t k, double otherwise)
{
    return v ? make_cast(s->n, part(s->n, v, 0, D(k), D(k + 1)), s->t) : number(s, otherwise);
}

/* The positions of the output's elements, (out, 1), on the input's axis: a is an element's index, b the scale, c and y
 * are the sizes, and the region is from d to x. */
static Value *resize_place(const Sampler *s, const Node *m, Value *scale, Value *in_size, Value *out_size)
{
    static const char *const places[] = {
        [RESIZE_HALF_PIXEL] = "(a+0.5)/b-0.5",
        [RESIZE_HALF_PIXEL_SYMMETRIC] = "(a+0.5+(b*c-y)/2)/b-0.5",
        [RESIZE_PYTORCH_HALF_PIXEL] = "Where(Greater(y,1),(a+0.5)/b-0.5,0)",
        [RESIZE_ALIGN_CORNERS] = "a*(c-1)/Where(Greater(y,1),b*c-1,1)",
        [RESIZE_ASYMMETRIC] = "a/b",
        [RESIZE_TF_HALF_PIXEL_FOR_NN] = "(a+0.5)/b",
        [RESIZE_TF_CROP_AND_RESIZE] =
            "Where(Greater(y,1),d*(c-1)+a*(x-d)*(c-1)/Where(Greater(y,1),b*c-1,1),0.5*(d+x)*(c-1))",
    };
    int64_t of = attr_int(m, "of");
    Value *from = given(s, in(m, 2), of, attr_float(m, "start"));
    Value *to = given(s, in(m, 2), attr_int(m, "count") + of, attr_float(m, "end"));
    Value *o = make_reshape(s->n, range(s, s->places), 2, (Dim[]){s->places, D(1)});
    return evaluated(s, m, places[attr_int(m, "transform")], (Value *[]){o, scale, in_size, to}, from, out_size);
}

/* The weights of elements at these distances, (out, taps). */
static Value *resize_weights(const Sampler *s, const Node *m, Value *far, Value *there)
{
    Node *n = s->n;
    const char *text = attr_int(m, "mode") == RESIZE_LINEAR
                           ? "Where(Greater(a,1),0,1-a)"
                           : "Where(Greater(a,1),Where(Greater(a,2),0,((@a*a-5*@a)*a+8*@a)*a-4*@a),"
                             "((@a+2)*a-(@a+3))*a*a+1)";
    Value *v = evaluated(s, m, text, (Value *[]){far, NULL, NULL, NULL}, NULL, far), *sum;
    v->type = s->t;
    if (attr_int(m, "exclude"))
        v = make(n, "Where", 3, there, v, number(s, 0));
    if (!attr_int(m, "exclude") && !attr_int(m, "antialias"))
        return v;
    sum = sum_over(n, v, 1, (int64_t[]){1});
    return make(n, "Div", 2, v, make(n, "Where", 3, make(n, "Equal", 2, sum, number(s, 0)), number(s, 1), sum));
}

/* Computes the table of resize.h. Distances are computed separately on each side of a position, so that the weights sum
 * to 1 if the position is an element's. */
bool decompose_resize_table(Node *n, Node *m, Value **out)
{
    Dim size[3]; /* in, out, taps */
    if (m->n_out < 2 || in_dims(m, 0, size, 3) != 3)
        return false;
    Sampler s = {.n = n, .t = (Type)attr_int(m, "to"), .places = size[1]};
    Value *in_size = size_as(n, s.t, size[0]), *out_size = size_as(n, s.t, size[1]);
    in_size->type = out_size->type = s.t;
    Value *scale = in(m, 1) || attr_float(m, "scale") > 0
                       ? given(&s, in(m, 1), attr_int(m, "of"), attr_float(m, "scale"))
                       : make(n, "Div", 2, out_size, in_size);
    Value *squeeze = attr_int(m, "antialias") ? make(n, "Min", 2, scale, number(&s, 1)) : number(&s, 1);
    Value *place = resize_place(&s, m, scale, in_size, out_size);
    Value *k = sub(n, range(&s, size[2]), size_as(n, s.t, dim_sub(dim_div(size[2], D(2)), D(1))));
    Value *i = add(n, make(n, "Floor", 1, place), k);
    Value *far = evaluated(&s, m, "d*Where(Greater(c,0),a-b,b-a)", (Value *[]){i, place, k, NULL}, squeeze, out_size);
    far->type = s.t;
    i = make_cast(n, i, I32);
    Value *at = make(n, "Clip", 3, i, make_scalar(n, I32, 0), size_as(n, I32, dim_sub(size[0], D(1))));
    out[1] = resize_weights(&s, m, far, make(n, "Equal", 2, i, at));
    if (attr_int(m, "transform") == RESIZE_TF_CROP_AND_RESIZE)
        at = make(n, "Where", 3, make(n, "Equal", 2, place, inside(&s, place, size[0])), at, make_scalar(n, I32, -1));
    out[0] = at;
    return true;
}
