/* signal.c - DFT, STFT, the windows HannWindow, HammingWindow and BlackmanWindow, MelWeightMatrix. */
#include "ir/spatial.h"
#include "fourier.h"
#include "signal.h"

/* The one number in input i, as a size; false: wrong, and reported. */
static bool read_one_dim(Node *n, int i, Dim *d)
{
    if (!dim_is(shape_count(in_shape(n, i)), 1))
        return node_error(n, "input %d, %s, is not one number", i, shape_text(in_shape(n, i)));
    return in_dims(n, i, d, 1) == 1;
}

/* ---- Fourier transforms: a node that computes twiddle factors, and folds, and the transform ---------------------- */

static void make_fourier(Node *n, Value *x, Shape y, const Dim *dims, Value *window, bool inverse, bool mirror)
{
    Value *table =
        with_int(make(n, "onnxcc.Twiddle", 1, make_dims(n, 1, dims + LENGTH)), "to", type_arith(in_type(n, 0)));
    Value *f = with_int(
        make(n, "onnxcc.Fourier", 5, x, window, table, make_dims(n, y.rank, y.dim), make_dims(n, FOURIER_DIMS, dims)),
        "inverse", inverse);
    attr_set_int(f->def, "mirror", mirror);
    expand_to(n, f);
}

/* The number of distinct elements in the spectrum of a real signal. */
static Dim half_of(Dim length) { return dim_add(dim_div(length, D(2)), D(1)); }

/* The axis: an attribute, since version 20 an input, which may be known only at run time. */
static bool dft_axis(Node *n, int rank, Dim *axis)
{
    *axis = D(n->op->since_version < 20 ? attr_int(n, "axis") : -2);
    if (n->op->since_version >= 20 && in(n, 2) && !read_one_dim(n, 2, axis))
        return false;
    if (dim_is_const(*axis)) {
        int a = axis_of(n, dim_value(*axis), rank);
        if (a == rank - 1)
            node_error(n, "axis %d, the last, holds the real and the imaginary part, and cannot be transformed", a);
        *axis = D(a);
        return a < rank - 1;
    }
    *axis = dim_select(dim_less_expr(*axis, D(0)), dim_add(*axis, D(rank)), *axis);
    assume_dim(n, dim_max(dim_min(*axis, D(rank - 2)), D(0)), *axis);
    return true;
}

static bool last_is_complex(Node *n, Shape x)
{
    Dim parts = x.rank > 1 ? x.dim[x.rank - 1] : D(0);
    if (dim_is(parts, 1) || dim_is(parts, 2))
        return true;
    return node_error(n, "input 0 is %s: its last dimension must be 1 (real) or 2 (complex)", shape_text(x));
}

static void dft_expand(Node *n)
{
    Shape x = in_shape(n, 0), y = x;
    Dim axis, length, d[FOURIER_DIMS] = {D(1), D(1), D(0)};
    bool inverse = attr_int(n, "inverse") != 0, half = attr_int(n, "onesided") != 0;
    if (!last_is_complex(n, x) || !dft_axis(n, x.rank, &axis))
        return;
    for (int a = 0; a < x.rank - 1; a++) {
        d[OUTER] = dim_mul(d[OUTER], dim_select(dim_less_expr(D(a), axis), x.dim[a], D(1)));
        d[INNER] = dim_mul(d[INNER], dim_select(dim_less_expr(axis, D(a)), x.dim[a], D(1)));
        d[COUNT] = dim_add(d[COUNT], dim_select(dim_eq_expr(axis, D(a)), x.dim[a], D(0)));
    }
    length = inverse && half ? dim_mul(D(2), dim_sub(d[COUNT], D(1))) : d[COUNT];
    if (in(n, 1) && !read_one_dim(n, 1, &length))
        return;
    if (dim_high(length) < 1) {
        node_error(n, "the length of the transform is %lld, and must be 1 or more", (long long)dim_high(length));
        return;
    }
    assume_dim(n, dim_max(length, D(1)), length);
    d[LENGTH] = length;
    d[BINS] = half && !inverse ? half_of(length) : length;
    for (int a = 0; a < x.rank - 1; a++)
        y.dim[a] = dim_select(dim_eq_expr(axis, D(a)), d[BINS], x.dim[a]);
    y.dim[x.rank - 1] = D(half && inverse ? 1 : 2);
    d[FROM] = dim_mul(d[COUNT], d[INNER]);
    d[TO] = dim_mul(d[BINS], d[INNER]);
    d[FROM + 1] = d[TO + 1] = D(1);
    d[FROM + 2] = d[TO + 2] = d[INNER];
    make_fourier(n, in(n, 0), y, d, NULL, inverse, inverse && half);
}

/* Transforms overlapping frames. A signal (batch, length) is real: torch.stft is exported so, and ONNX Runtime takes
 * it. */
static void stft_expand(Node *n)
{
    Shape x = in_shape(n, 0), window = {0};
    Value *signal = in(n, 0);
    Dim step, length;
    if (x.rank == 2) {
        x.dim[x.rank++] = D(1);
        signal = make_reshape(n, signal, x.rank, x.dim);
    }
    bool half = attr_int(n, "onesided") != 0;
    if (!last_is_complex(n, x) || !read_one_dim(n, 1, &step))
        return;
    if (in(n, 2))
        window = in_shape(n, 2);
    length = in(n, 2) ? window.dim[0] : x.dim[1];
    if (in(n, 3) && !read_one_dim(n, 3, &length))
        return;
    if (x.rank != 3 || (in(n, 2) && (window.rank != 1 || dim_is(dim_eq_expr(window.dim[0], length), 0))))
        node_error(n, "the signal is %s, the window %s; needed are N,length,1 or 2, and one number for each of a frame",
                   shape_text(in_shape(n, 0)), in(n, 2) ? shape_text(window) : "none");
    else if (half && dim_is(x.dim[2], 2))
        node_error(n, "onesided = 1 is for real signals; this one, %s, is complex", shape_text(x));
    else if (dim_high(step) < 1 || dim_high(length) < 1)
        node_error(n, "frames have the length %lld and the step %lld, and both must be 1 or more",
                   (long long)dim_high(length), (long long)dim_high(step));
    else {
        if (in(n, 2))
            assume_dim(n, window.dim[0], length);
        assume_dim(n, dim_max(step, D(1)), step);
        assume_dim(n, dim_max(length, D(1)), length);
        if (!require_dim(n, "length of the signal", x.dim[1], dim_max(x.dim[1], length)))
            return;
        Dim frames = dim_max(D(0), dim_add(dim_div(dim_sub(x.dim[1], length), dim_max(step, D(1))), D(1)));
        Dim count = half ? half_of(length) : length;
        Dim d[FOURIER_DIMS] = {x.dim[0], frames, length, length, count, x.dim[1], step, D(1), dim_mul(frames, count),
                               count,    D(1)};
        make_fourier(n, signal, shape_list(4, x.dim[0], frames, count, D(2)), d, in(n, 2), false, false);
    }
}

static void twiddle_infer(Node *n)
{
    Dim count;
    if (in_dims(n, 0, &count, 1) == 1)
        set_out(n, 0, (Type)attr_int(n, "to"), shape_list(2, count, D(2)));
}

static void twiddle_bind(Node *n)
{
    BIND_ARGS(n, twiddle, out(n, 0)->type, NO_TYPE, ARGS(out(n, 0)), .count = out(n, 0)->shape->dim[0]);
}

static void fourier_infer(Node *n)
{
    Shape y;
    if ((y.rank = in_dims(n, 3, y.dim, MAX_RANK)) > 0)
        set_out(n, 0, in_type(n, 0), y);
}

static void fourier_bind(Node *n)
{
    Dim d[FOURIER_DIMS];
    Shape x = in_shape(n, 0), y = *out(n, 0)->shape;
    if (in_dims(n, 4, d, FOURIER_DIMS) < 0)
        return;
    bool inverse = attr_int(n, "inverse") != 0, mirror = attr_int(n, "mirror") != 0;
    BIND(n, fourier, .outer = d[OUTER], .inner = d[INNER], .count = d[COUNT], .length = d[LENGTH], .bins = d[BINS],
         .from = {d[FROM], d[FROM + 1], d[FROM + 2]}, .to = {d[TO], d[TO + 1], d[TO + 2]}, .x_part = x.dim[x.rank - 1],
         .y_part = y.dim[y.rank - 1], .inverse = D(inverse), .mirror = D(mirror));
    bool even = dim_is_const(d[LENGTH]) && dim_value(d[LENGTH]) % 2 == 0;
    int64_t numbers = even && (mirror || (dim_is(x.dim[x.rank - 1], 1) && !inverse)) ? 2 : 4;
    bind_scratch(n, dim_mul(d[LENGTH], D(numbers * type_bits(type_arith(in_type(n, 0))) / 8)));
}

/* ---- windows ---------------------------------------------------------------------------------------------------- */

/* The sum of weight[k] cos(2 pi k i / N), where N is the size or, if not periodic, the size - 1; in double, since it
 * mostly folds. */
static void window_expand(Node *n)
{
    static const struct {
        const char *name;
        double weight[3];
    } windows[] = {{"HannWindow", {0.5, -0.5, 0}},
                   {"HammingWindow", {25.0 / 46, 25.0 / 46 - 1, 0}},
                   {"BlackmanWindow", {0.42, -0.5, 0.08}}};
    int w = 0;
    Type to = attr_type(n, "output_datatype", attr_int(n, "output_datatype"));
    Dim count;
    if (!to || !read_one_dim(n, 0, &count) || !require_dim(n, "a window's size", count, dim_max(count, D(1))))
        return;
    while (strcmp(windows[w].name, n->op->name))
        w++;
    Value *size = in(n, 0), *zero = make_scalar(n, size->type, 0), *one = make_scalar(n, size->type, 1);
    Value *last = attr_int(n, "periodic") == 1 ? size : make(n, "Sub", 2, size, one);
    Value *i = make(n, "Range", 3, zero, size, one);
    i = make_cast(n, make(n, "Min", 2, i, make(n, "Sub", 2, last, i)),
                  F64); /* equal by symmetry, and more exact for a smaller angle */
    Value *angle =
        make(n, "Div", 2, make(n, "Mul", 2, i, make_scalar(n, F64, 6.283185307179586)), make_cast(n, last, F64));
    Value *sum = make_scalar(n, F64, windows[w].weight[0]);
    for (int k = 1; k < 3; k++)
        if (windows[w].weight[k] != 0) {
            Value *c = make(n, "Cos", 1, k == 1 ? angle : make(n, "Mul", 2, angle, make_scalar(n, F64, k)));
            sum = make(n, "Add", 2, sum, make(n, "Mul", 2, c, make_scalar(n, F64, windows[w].weight[k])));
        }
    expand_to(n, make_cast(n, sum, to));
}

/* ---- MelWeightMatrix -------------------------------------------------------------------------------------------- */

static void mel_expand(Node *n)
{
    Type to = attr_type(n, "output_datatype", attr_int(n, "output_datatype"));
    if (!to)
        return;
    Dim size[2];
    for (int i = 2; i < 5; i++)
        if (!dim_is(shape_count(in_shape(n, i)), 1)) {
            node_error(n, "input %d, %s, is not one number", i, shape_text(in_shape(n, i)));
            return;
        }
    if (!read_one_dim(n, 0, &size[0]) || !read_one_dim(n, 1, &size[1]) || !require_size(n, "num_mel_bins", &size[0]) ||
        !require_size(n, "dft_length", &size[1]))
        return;
    Value *y = with_int(make(n, "onnxcc.MelWeights", 4, make_cast(n, in(n, 2), F64), make_cast(n, in(n, 3), F64),
                             make_cast(n, in(n, 4), F64), make_dims(n, 2, size)),
                        "to", to == F64 ? F64 : F32);
    expand_to(n, make_cast(n, y, to));
}

static void mel_infer(Node *n)
{
    Dim size[2];
    if (in_dims(n, 3, size, 2) == 2)
        set_out(n, 0, (Type)attr_int(n, "to"), shape_list(2, half_of(size[1]), size[0]));
}

static void mel_bind(Node *n)
{
    Dim size[2];
    Value *y = out(n, 0);
    if (in_dims(n, 3, size, 2) == 2)
        BIND_ARGS(n, mel_weights, y->type, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), y), .bins = y->shape->dim[0],
                  .mels = y->shape->dim[1], .length = size[1]);
}

#define WINDOW(name)                                                                                                   \
    {                                                                                                                  \
        name, 17, "size:T1 -> output:T2", "T1=int32|int64 T2=NB", "output_datatype:int=1 periodic:int=1",              \
            .expand = window_expand                                                                                    \
    }

static const Op signal_ops[] = {
    {"DFT", 20, "input:T1 dft_length?:T2 axis?:int64 -> output:T1", "T1=FB T2=int32|int64",
     "inverse:int=0 onesided:int=0", .expand = dft_expand},
    {"DFT", 17, "input:T1 dft_length?:T2 -> output:T1", "T1=FB T2=int32|int64",
     "axis:int=1 inverse:int=0 onesided:int=0", .expand = dft_expand},
    {"STFT", 17, "signal:T1 frame_step:T2 window?:T1 frame_length?:T2 -> output:T1", "T1=FB T2=int32|int64",
     "onesided:int=1", .expand = stft_expand},
    {"Twiddle", 1, "count:int64 -> y:T", "T=float|double", "to:int", .infer = twiddle_infer, .bind = twiddle_bind,
     .domain = "onnxcc"},
    {"Fourier", 1, "x:T window?:T twiddle:U shape:int64 dims:int64 -> y:T", "T=FB U=float|double",
     "inverse:int mirror:int", .infer = fourier_infer, .bind = fourier_bind, .domain = "onnxcc"},
    WINDOW("HannWindow"),
    WINDOW("HammingWindow"),
    WINDOW("BlackmanWindow"),
    {"MelWeightMatrix", 17,
     "num_mel_bins:T1 dft_length:T1 sample_rate:T1 lower_edge_hertz:T2 upper_edge_hertz:T2 -> output:T3",
     "T1=int32|int64 T2=FB T3=NB", "output_datatype:int=1", .expand = mel_expand},
    {"MelWeights", 1, "rate:double lower:double upper:double size:int64 -> y:T", "T=float|double", "to:int",
     .infer = mel_infer, .bind = mel_bind, .flags = STOPS, .domain = "onnxcc"},
};
OPS(signal_ops);
