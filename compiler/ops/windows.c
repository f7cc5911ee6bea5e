/* windows.c - windows over more spatial axes than kernels support: convolutions are expanded along the first axis,
 * pools along all but the last three. */
#include "gradient/gradient.h"
#include "ir/spatial.h"

/* v reshaped, then transposed. */
static Value *permuted(Node *n, Value *v, int rank, const Dim *dim, const int64_t *perm)
{
    return transpose(n, make_reshape(n, v, rank, dim), rank, perm);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

static void read_kernel(const Node *n, int64_t *kernel)
{
    Shape w = in_shape(n, 1);
    for (int a = 2; a < w.rank; a++)
        kernel[a - 2] = dim_value(w.dim[a]);
}

/* Turns the taps along the first axis into channels and the positions into images, with one axis less. zero: the
 * padding value. */
static void conv_in_steps(Node *n, const char *op, Value *zero)
{
    Shape x = in_shape(n, 0), w = in_shape(n, 1), y = *out(n, 0)->shape;
    Value *ins[8];
    int64_t kernel[AXES];
    Image m;
    Windows s;
    read_kernel(n, kernel);
    if (!image_read(n, 0, &m) || !windows_read(n, &m, kernel, &s))
        return;
    Dim k = w.dim[2], pads[8] = {D(0), D(0), s.pad[0], D(0), D(0), D(0), s.pad_end[0], D(0)};
    Value *v = make_reshape(n, in(n, 0), 4, (Dim[]){x.dim[0], x.dim[1], x.dim[2], shape_product(x, 3, x.rank)});
    v = make(n, "Pad", 3, v, make_dims(n, 8, pads), zero);
    v = windows_along(n, v, 2, s.out[0], D(s.stride[0]), k, D(s.dilation[0]));
    v = permuted(n, v, 5, (Dim[]){x.dim[0], x.dim[1], s.out[0], k, shape_product(x, 3, x.rank)},
                 (int64_t[]){0, 2, 1, 3, 4});
    x.dim[2] = dim_mul(x.dim[1], k);
    x.dim[1] = dim_mul(x.dim[0], s.out[0]);
    w.dim[2] = dim_mul(w.dim[1], k);
    w.dim[1] = w.dim[0];
    for (int i = 0; i < n->n_in; i++)
        ins[i] = n->in[i];
    ins[0] = make_reshape(n, v, x.rank - 1, x.dim + 1);
    ins[1] = make_reshape(n, ins[1], w.rank - 1, w.dim + 1);
    Node *rest = make_node(n, op, n->n_in, ins, 1);
    attrs_of_axes(n, m.axes, 1, m.axes - 1, rest);
    v = permuted(n, rest->out[0], 4, (Dim[]){y.dim[0], y.dim[2], y.dim[1], shape_product(y, 3, y.rank)},
                 (int64_t[]){0, 2, 1, 3});
    expand_to(n, make_reshape(n, v, y.rank, y.dim));
}

static void conv_float(Node *n) { conv_in_steps(n, "Conv", NULL); }

/* x, w, bias, scale, zero points of w, x and y */
static void conv_integer(Node *n)
{
    conv_in_steps(n, "onnxcc.IntegerConv", in(n, 5) ? make_reshape(n, in(n, 5), 0, NULL) : NULL);
}

/* Computes, for every position along the first axis, the taps of its window as channels, which are then summed into
 * place. */
static void conv_transposed(Node *n)
{
    Shape x = in_shape(n, 0), w = in_shape(n, 1), y = *out(n, 0)->shape;
    Type own = in_type(n, 0), t = type_wide(own);
    int64_t kernel[AXES];
    Image m;
    Windows s;
    read_kernel(n, kernel);
    if (!image_read(n, 0, &m) || !windows_read_transposed(n, &m, kernel, &s))
        return;
    Dim k = w.dim[2], size = x.dim[2], channels = y.dim[1], rest = shape_product(y, 3, y.rank);
    Dim reach = dim_add(dim_mul(D(s.stride[0]), dim_sub(size, D(1))), D((s.kernel[0] - 1) * s.dilation[0] + 1));
    Dim whole = dim_max(D(0), reach), rows = dim_mul(x.dim[0], rest), before = dim_sub(D(0), s.pad[0]);
    Dim pads[6] = {D(0), D(0), before, D(0), D(0), dim_sub(dim_sub(s.out[0], whole), before)};
    Value *v = permuted(n, make_cast(n, in(n, 0), t), 4, (Dim[]){x.dim[0], x.dim[1], size, shape_product(x, 3, x.rank)},
                        (int64_t[]){0, 2, 1, 3});
    x.dim[2] = x.dim[1];
    x.dim[1] = dim_mul(x.dim[0], size);
    w.dim[2] = dim_mul(w.dim[1], k);
    w.dim[1] = w.dim[0];
    v = make(n, "ConvTranspose", 2, make_reshape(n, v, x.rank - 1, x.dim + 1),
             make_reshape(n, make_cast(n, in(n, 1), t), w.rank - 1, w.dim + 1));
    attrs_of_axes(n, m.axes, 1, m.axes - 1, v->def);
    v = permuted(n, v, 4, (Dim[]){x.dim[0], size, dim_mul(channels, k), rest}, (int64_t[]){0, 3, 2, 1});
    v = make(n, "Col2Im", 3, make_reshape(n, v, 3, (Dim[]){rows, dim_mul(channels, k), size}), make_dims(n, 1, &whole),
             make_dims(n, 1, &k));
    attr_set_ints(v->def, "strides", 1, s.stride);
    attr_set_ints(v->def, "dilations", 1, s.dilation);
    v = make(n, "Pad", 2, v, make_dims(n, 6, pads));
    v = permuted(n, v, 4, (Dim[]){x.dim[0], rest, channels, s.out[0]}, (int64_t[]){0, 2, 3, 1});
    v = make_reshape(n, v, y.rank, y.dim);
    if (in(n, 2)) {
        Shape b = {.rank = y.rank - 1, .dim = {channels}};
        for (int i = 1; i < b.rank; i++)
            b.dim[i] = D(1);
        v = make(n, "Add", 2, v, make_reshape(n, make_cast(n, in(n, 2), t), b.rank, b.dim));
    }
    expand_to(n, make_cast(n, v, own));
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

/* v flattened, followed by -1: the index for windows without an element. */
static Value *listed(Node *n, Value *v, Dim count)
{
    v = make_reshape(n, v, 1, &count);
    return make(n, "Pad", 3, v, make_ints(n, 2, (int64_t[]){0, 1}), make_int(n, -1));
}

/* Converts row-major indices of x's elements to column-major ones within each image. */
static Value *columns_first(Node *n, Value *at, Shape x)
{
    Dim turned[MAX_RANK] = {dim_mul(x.dim[0], x.dim[1])}, count = shape_count(x);
    int64_t perm[MAX_RANK] = {0};
    for (int i = 1; i < x.rank - 1; i++) {
        turned[i] = x.dim[x.rank - i];
        perm[i] = x.rank - 1 - i;
    }
    Value *numbers = make(n, "Sub", 2, numbered(n, in(n, 0), I64), make_int(n, 1));
    numbers = permuted(n, numbers, x.rank - 1, turned, perm);
    return make(n, "Gather", 2, listed(n, numbers, count), at);
}

/* Pools along the last three axes, then pools the results along the others. */
static void pool_in_steps(Node *n, const char *op)
{
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape, last = {.rank = 5, .dim = {x.dim[0]}};
    Shape first = {.rank = x.rank - 3, .dim = {dim_mul(x.dim[0], x.dim[1]), shape_product(y, y.rank - 3, y.rank)}};
    Dim lead = shape_product(x, 2, x.rank - 3);
    Dim rows[] = {first.dim[0], lead, first.dim[1]};
    Dim columns[] = {first.dim[0], first.dim[1], shape_product(y, 2, y.rank - 3)};
    int64_t swap[] = {0, 2, 1};
    Type own = in_type(n, 0);
    int axes = x.rank - 2, outs = out(n, 1) ? 2 : 1;
    last.dim[1] = dim_mul(x.dim[1], lead);
    for (int i = 2; i < 5; i++)
        last.dim[i] = x.dim[x.rank - 5 + i];
    for (int i = 2; i < first.rank; i++)
        first.dim[i] = x.dim[i];
    Value *v = make_reshape(n, make_cast(n, in(n, 0), type_wide(own)), 5, last.dim);
    Node *inner = make_node(n, op, 1, &v, outs);
    attrs_of_axes(n, axes, axes - 3, 3, inner);
    v = make_reshape(n, permuted(n, inner->out[0], 3, rows, swap), first.rank, first.dim);
    Node *outer = make_node(n, op, 1, &v, outs);
    attrs_of_axes(n, axes, 0, axes - 3, outer);
    if (outs > 1) {
        attr_set_int(inner, "storage_order", 0);
        attr_set_int(outer, "storage_order", 0);
        Value *at = listed(n, permuted(n, inner->out[1], 3, rows, swap), shape_count(first));
        at = permuted(n, make(n, "Gather", 2, at, outer->out[1]), 3, columns, swap);
        at = make_reshape(n, at, y.rank, y.dim);
        replace_out(n, 1,
                    attr_is_given(n, "storage_order") && attr_int(n, "storage_order") ? columns_first(n, at, x) : at);
    }
    v = make_reshape(n, permuted(n, outer->out[0], 3, columns, swap), y.rank, y.dim);
    replace_out(n, 0, make_cast(n, v, own));
    expand_done(n);
}

static void max_pool(Node *n) { pool_in_steps(n, "MaxPool"); }
static void average_pool(Node *n) { pool_in_steps(n, "AveragePool"); }
static void lp_pool(Node *n) { pool_in_steps(n, "LpPool"); }

#define STEPS(name, signature, types, attrs, how)                                                                            \
    {name "InSteps", 1, signature, types, attrs "auto_pad:string=NOTSET", .expand = how, .domain = "onnxcc"}

static const Op windows_ops[] = {
    STEPS("Conv", "x:T w:T b?:T -> y:T", "T=FB", "group:int=1 ", conv_float),
    STEPS("ConvTranspose", "x:T w:T b?:T -> y:T", "T=FB", "group:int=1 output_shape:ints? ", conv_transposed),
    STEPS("IntegerConv", "x:T w:U bias?:int32 scale?:float w_zero?:U x_zero?:T y_zero?:V -> y:Y",
          "T=int8|uint8 U=int8|uint8 V=int8|uint8 Y=int8|uint8|int32", "group:int=1 ", conv_integer),
    STEPS("MaxPool", "x:T -> y:T at?:U", "T=FB|int8|uint8 U=int64", "storage_order:int=0 ", max_pool),
    STEPS("AveragePool", "x:T -> y:T", "T=FB", "", average_pool),
    STEPS("LpPool", "x:T -> y:T", "T=FB", "", lp_pool),
};
OPS(windows_ops);
