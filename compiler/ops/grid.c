/* grid.c - GridSample, AffineGrid. */
#include "gradient/gradient.h"
#include "ir/spatial.h"
#include "grid.h"

/* ---- GridSample ------------------------------------------------------------------------------------------------- */

static bool is_cubic(Node *n) { return attr_is(n, "mode", "cubic") || attr_is(n, "mode", "bicubic"); }

static int padding(Node *n)
{
    static const char *const names[] = {
        [GRID_ZEROS] = "zeros", [GRID_BORDER] = "border", [GRID_REFLECTION] = "reflection", NULL};
    return attr_choice(n, "padding_mode", names);
}

static void grid_sample_infer(Node *n)
{
    Image m;
    Shape x = in_shape(n, 0), g = in_shape(n, 1), y = x;
    bool linear = attr_is(n, "mode", "linear") || attr_is(n, "mode", "bilinear");
    if (!linear && !is_cubic(n) && !attr_is(n, "mode", "nearest"))
        node_error(n, "mode is '%s': it may be linear, nearest or cubic", attr_string(n, "mode"));
    else if (padding(n) < 0 || !image_read(n, 0, &m))
        return;
    else if (m.axes > 3 && !attr_is(n, "mode", "nearest") && in_type(n, 0) == STR)
        node_error(n, "strings have no sums, which mode %s makes", attr_string(n, "mode"));
    else if (g.rank != x.rank || dim_is(dim_eq_expr(g.dim[0], x.dim[0]), 0) ||
             dim_is(dim_eq_expr(g.dim[g.rank - 1], D(x.rank - 2)), 0))
        node_error(n, "the grid %s does not suit an image %s: it needs the same batch, and %d numbers for each place",
                   shape_text(g), shape_text(x), x.rank - 2);
    else {
        assume_dim(n, g.dim[0], x.dim[0]);
        assume_dim(n, g.dim[g.rank - 1], D(x.rank - 2));
        for (int a = 2; a < x.rank; a++)
            y.dim[a] = g.dim[a - 1];
        set_out(n, 0, in_type(n, 0), y);
        image_in_steps(n, &m);
    }
}

/* Samples complex numbers as pairs of channels. */
static Value *sample_parts(Node *n)
{
    static const int64_t swap[] = {0, 1, 3, 2};
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    Dim places = shape_product(y, 2, y.rank);
    Value *v = make_reshape(n, in(n, 0), 3, (Dim[]){x.dim[0], x.dim[1], shape_product(x, 2, x.rank)});
    v = transpose(n, make(n, "onnxcc.Parts", 1, v), 4, swap);
    x.dim[1] = dim_mul(x.dim[1], D(2));
    v = make(n, "GridSample", 2, make_reshape(n, v, x.rank, x.dim), in(n, 1));
    for (int i = 0; i < n->n_attr; i++)
        attr_set(v->def, n->attr[i]);
    v = transpose(n, make_reshape(n, v, 4, (Dim[]){y.dim[0], y.dim[1], D(2), places}), 4, swap);
    return make_reshape(n, make(n, "onnxcc.Complex", 1, v), y.rank, y.dim);
}

static void grid_sample_in_steps(Node *n)
{
    Type t = in_type(n, 0);
    Value *y;
    if (!attr_is(n, "mode", "nearest") && type_part(t) != t)
        y = sample_parts(n);
    else
        decompose_grid_sample(n, n, &y);
    expand_to(n, y);
}

#define GRID_IMAGE_FIELDS                                                                                              \
    .batch = x.n, .channels = x.channels, .in = DIMS3(x.size), .out = DIMS3(y.size), .axes = D(x.axes),                \
    .padding = D(padding(n)), .align = D(attr_int(n, "align_corners") != 0)

static void grid_sample_bind(Node *n)
{
    Image x, y = {.size = {D(1), D(1), D(1)}};
    Type t = in_type(n, 0);
    Shape out_shape = *out(n, 0)->shape;
    if (!image_read(n, 0, &x))
        return;
    for (int a = 0; a < x.axes; a++)
        y.size[3 - x.axes + a] = out_shape.dim[2 + a];
    if (attr_is(n, "mode", "nearest"))
        BIND2(n, grid_nearest, type_storage(t), in_type(n, 1), GRID_IMAGE_FIELDS);
    else
        BIND2(n, grid_sample, type_part(t), in_type(n, 1), GRID_IMAGE_FIELDS, .taps = D(is_cubic(n) ? 4 : 2),
              .part = D(type_part(t) == t ? 1 : 2));
}

/* ---- AffineGrid ------------------------------------------------------------------------------------------------- */

static void affine_grid_infer(Node *n)
{
    Dim size[5];
    Shape theta = in_shape(n, 0), y = {0};
    int k = in_dims(n, 1, size, 5), axes = k - 2;
    if (k < 0)
        return;
    if (axes < 2) {
        node_error(n, "the size is of %d numbers: it needs N,C,H,W or N,C,D,H,W", k);
        return;
    }
    if (!require_shape(n, 0, shape_list(3, size[0], D(axes), D(axes + 1))))
        return;
    y.dim[y.rank++] = theta.dim[0];
    for (int a = 0; a < axes; a++)
        if (require_size(n, "a dimension of the size", &size[2 + a]))
            y.dim[y.rank++] = size[2 + a];
        else
            return;
    y.dim[y.rank++] = D(axes);
    set_out(n, 0, in_type(n, 0), y);
}

static void affine_grid_bind(Node *n)
{
    Shape y = *out(n, 0)->shape;
    int axes = y.rank - 2;
    BIND_ARGS(n, affine_grid, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), out(n, 0)), .batch = y.dim[0],
              .size = {axes > 2 ? y.dim[1] : D(1), y.dim[axes - 1], y.dim[axes]}, .axes = D(axes),
              .align = D(attr_int(n, "align_corners") == 1));
}

#define GRID_ATTRS "align_corners:int=0 padding_mode:string=zeros mode:string="

static const Op grid_ops[] = {
    {"GridSample", 22, "X:T1 grid:T2 -> Y:T1", "T1=ALLB T2=FB", GRID_ATTRS "linear", .infer = grid_sample_infer,
     .bind = grid_sample_bind, .compatible = "20 T1=ALL T2=F"},
    {"GridSample", 16, "X:T1 grid:T2 -> Y:T1", "T1=ALL T2=F", GRID_ATTRS "bilinear", .infer = grid_sample_infer,
     .bind = grid_sample_bind},
    {"GridSampleInSteps", 1, "X:T1 grid:T2 -> Y:T1", "T1=ALLB T2=FB", GRID_ATTRS "linear",
     .expand = grid_sample_in_steps, .domain = "onnxcc"},
    {"AffineGrid", 20, "theta:T1 size:int64 -> grid:T1", "T1=FB", "align_corners:int=0", .infer = affine_grid_infer,
     .bind = affine_grid_bind},
};
OPS(grid_ops);
