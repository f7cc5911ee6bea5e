/* microsoft_plain.c - operators of com.microsoft that ONNX has adopted, or that a few of ONNX's can express. */
#include "ir/spatial.h"
#include "microsoft.h"
#include "passes/infer.h"

/* ---- as in ONNX -------------------------------------------------------------------------------------------------- */

/* The axis is an input, -1 behind the last one. */
static void expand_dims_expand(Node *n)
{
    int64_t axis;
    if (in_ints(n, 1, &axis, 1) == 1)
        expand_to(n, make(n, "Unsqueeze", 2, in(n, 0), make_ints(n, 1, &axis)));
}

static void gather_nd_expand(Node *n) { expand_to(n, make(n, "GatherND", 2, in(n, 0), make_cast(n, in(n, 1), I64))); }

/* Input i, of one element, as a scalar; NULL: not given. */
static Value *scalar(Node *n, int i)
{
    return in(n, i) && require_one(n, i) ? make_reshape(n, in(n, i), 0, NULL) : NULL;
}

static void pad_expand(Node *n)
{
    static const int64_t flat = -1;
    Value *y = make(n, "Pad", 3, in(n, 0), make(n, "Reshape", 2, in(n, 1), make_ints(n, 1, &flat)), scalar(n, 2));
    attr_set_string(y->def, "mode", attr_string(n, "mode"));
    expand_to(n, y);
}

static void range_expand(Node *n)
{
    Value *step = in(n, 2) ? scalar(n, 2) : make_scalar(n, in_type(n, 0), 1);
    expand_to(n, make(n, "Range", 3, scalar(n, 0), scalar(n, 1), step));
}

/* The values in the order of their first occurrence. */
static void unique_expand(Node *n)
{
    static const int of[] = {0, 2, 3};
    Node *y = make_node(n, "Unique", 1, n->in, 4);
    attr_set_int(y, "sorted", 0);
    for (int i = 0; i < 3; i++)
        if (out(n, i))
            replace_out(n, i, y->out[of[i]]);
    expand_done(n);
}

static void grid_sample_expand(Node *n)
{
    const char *mode = attr_string(n, "mode");
    Value *y = make(n, "GridSample", 2, in(n, 0), in(n, 1));
    attrs_without(n, "mode", y->def);
    attr_set_string(y->def, "mode", !strcmp(mode, "bilinear") ? "linear" : !strcmp(mode, "bicubic") ? "cubic" : mode);
    expand_to(n, y);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

/* The numbers from 0 to `count`, `step` apart, of shape (count, 1) or (count). */
static Value *numbers(Node *n, Dim count, int64_t step, bool column)
{
    Value *end = make_reshape(n, make_dims(n, 1, &count), 0, NULL);
    Value *v = make(n, "Mul", 2, make(n, "Range", 3, make_int(n, 0), end, make_int(n, 1)), make_int(n, step));
    return column ? make(n, "Unsqueeze", 2, v, make_ints(n, 1, (int64_t[]){1})) : v;
}

/* All parts of `size` elements along an axis, `step` apart; the elements of a part become the last axis. */
static void unfold_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    int64_t size = attr_int(n, "size"), step = attr_int(n, "step"), perm[MAX_RANK];
    int axis = attr_axis(n, "dim", x.rank);
    if (x.rank < 1 || !require_rank(n, x.rank + 1))
        return;
    Dim left = dim_sub(x.dim[axis], D(size));
    if (size < 1 || step < 1) {
        node_error(n, "there are no parts of %lld elements, %lld apart", (long long)size, (long long)step);
        return;
    }
    if (!require_size(n, "elements beyond a part", &left))
        return;
    Value *at =
        make(n, "Add", 2, numbers(n, dim_add(dim_div(left, D(step)), D(1)), step, true), numbers(n, D(size), 1, false));
    Value *y = with_int(make(n, "Gather", 2, in(n, 0), at), "axis", axis);
    for (int i = 0; i <= x.rank; i++)
        perm[i] = i <= axis ? i : i < x.rank ? i + 1 : axis + 1;
    y = make(n, "Transpose", 1, y);
    attr_set_ints(y->def, "perm", x.rank + 1, perm);
    expand_to(n, y);
}

/* Elements from `from` up to `to` along axis 1. */
static Value *columns(Node *n, Value *v, Dim from, Dim to)
{
    return make(n, "Slice", 4, v, make_dims(n, 1, &from), make_dims(n, 1, &to), make_ints(n, 1, (int64_t[]){1}));
}

/* Sets to minus infinity the scores of all tokens that would repeat a sequence of ngram_size tokens in input_ids. */
static void ngram_repeat_expand(Node *n)
{
    Shape ids = in_shape(n, 0), scores = in_shape(n, 1);
    int64_t size = attr_int(n, "ngram_size");
    if (ids.rank != 2 || scores.rank != 2 || size < 1) {
        node_error(n, "input_ids is %s, the scores are %s, ngram_size is %lld", shape_text(ids), shape_text(scores),
                   (long long)size);
        return;
    }
    if (!require_dim(n, "rows of the scores", scores.dim[0], ids.dim[0]))
        return;
    if (size > dim_high(ids.dim[1])) { /* nothing can be repeated */
        expand_to(n, make(n, "Identity", 1, in(n, 1)));
        return;
    }
    Dim count = dim_max(dim_sub(ids.dim[1], D(size - 1)), D(0));
    Value *token = make_within(n, columns(n, in(n, 0), D(size - 1), ids.dim[1]), 0, scores.dim[1], true);
    Value *repeats = NULL;
    for (int64_t k = 0; k < size - 1; k++) {
        Dim last = dim_max(dim_sub(ids.dim[1], D(size - 1 - k)), D(0));
        Value *same = make(n, "Equal", 2, columns(n, in(n, 0), D(k), dim_add(D(k), count)),
                           columns(n, in(n, 0), last, dim_add(last, D(1))));
        repeats = repeats ? make(n, "And", 2, repeats, same) : same;
    }
    Value *none = make_scalar(n, F32, __builtin_inf()), *gone = make_scalar(n, F32, -__builtin_inf());
    Value *to = repeats ? make(n, "Where", 3, repeats, gone, none)
                        : make(n, "Expand", 2, gone, make_dims(n, 2, (Dim[]){ids.dim[0], count}));
    Value *y = with_int(make(n, "ScatterElements", 3, in(n, 1), token, to), "axis", 1);
    attr_set_string(y->def, "reduction", "min");
    expand_to(n, y);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

/* The sizes in the attributes, if given, are those of the weights of the convolution and of the characters. */
static bool word_conv_check(Node *n)
{
    static const struct {
        const char *name;
        int input, axis;
    } sizes[] = {{"embedding_size", 1, 0}, {"conv_window_size", 1, 2}, {"char_embedding_size", 3, 1}};
    Shape ids = in_shape(n, 0), w = in_shape(n, 1), c = in_shape(n, 3);
    if (ids.rank != 2 || w.rank != 4 || c.rank != 2)
        return node_error(n, "words %s, weights %s and characters %s do not fit", shape_text(ids), shape_text(w),
                          shape_text(c));
    for (int i = 0; i < 3; i++) {
        const Dim size = in_shape(n, sizes[i].input).dim[sizes[i].axis];
        if (attr_is_given(n, sizes[i].name) && attr_int(n, sizes[i].name) != -1 &&
            !require_dim(n, sizes[i].name, size, D(attr_int(n, sizes[i].name))))
            return false;
    }
    return require_dim(n, "channels of the weights", w.dim[1], D(1)) && require_shape(n, 2, shape_list(1, w.dim[0])) &&
           require_dim(n, "elements of a character", c.dim[1], w.dim[3]) &&
           require_dim(n, "characters of a word", ids.dim[1], dim_max(ids.dim[1], w.dim[2]));
}

static Value *swapped(Node *n, Value *v)
{
    v = make(n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", 3, (int64_t[]){0, 2, 1});
    return v;
}

/* For each word, a row of characters of which those that are positive count if the first is: the largest results of a
 * convolution of as many of its characters, at least a window. Other words: 0, where ONNX Runtime leaves the memory as
 * it is. */
static void word_conv_expand(Node *n)
{
    if (!word_conv_check(n))
        return;
    Shape ids = in_shape(n, 0), w = in_shape(n, 1);
    Dim window = w.dim[2], first = D(0), places = dim_add(dim_sub(ids.dim[1], window), D(1));
    Value *last = make_ints(n, 1, (int64_t[]){-1}), *zero = make_cast(n, make_int(n, 0), I32);
    Value *is_char = make(n, "Greater", 2, in(n, 0), zero);
    Value *is_word = columns(n, is_char, first, D(1));
    Value *length = make(n, "ReduceSum", 2, make_cast(n, is_char, I64), last);
    length = make(n, "Max", 2, length, make_dims(n, 1, &window));
    Value *read = make(n, "And", 2, is_word, make(n, "Less", 2, numbers(n, ids.dim[1], 1, false), length));
    Value *at = make_within(n, make(n, "Where", 3, read, in(n, 0), zero), 0, in_shape(n, 3).dim[0], true);
    Value *weights = swapped(n, make_reshape(n, in(n, 1), 3, (Dim[]){w.dim[0], window, w.dim[3]}));
    Value *y = make(n, "Conv", 3, swapped(n, make(n, "Gather", 2, in(n, 3), at)), weights, in(n, 2));
    Value *left = make(n, "Sub", 2, length, make_dims(n, 1, (Dim[]){dim_sub(window, D(1))}));
    Value *inside = make(n, "Less", 2, numbers(n, places, 1, false), left);
    inside = make_reshape(n, inside, 3, (Dim[]){ids.dim[0], D(1), places});
    y = make(n, "Where", 3, inside, y, make_scalar(n, F32, -__builtin_inf()));
    y = make(n, "Tanh", 1, with_int(make(n, "ReduceMax", 2, y, last), "keepdims", 0));
    expand_to(n, make(n, "Where", 3, is_word, y, make_scalar(n, F32, 0)));
}

/* A transposed convolution without pads, of which the pads (all begins, then all ends) are cut off. */
static void conv_transpose_expand(Node *n)
{
    int axes = in_shape(n, 0).rank - 2;
    int64_t pads[2 * MAX_RANK], spatial[MAX_RANK];
    Value *y = make(n, "ConvTranspose", 3, in(n, 0), in(n, 1), in(n, 3));
    attrs_without(n, "pads", y->def);
    if (in(n, 2) && attr_is(n, "auto_pad", "NOTSET")) {
        if (axes < 1 || !require_shape(n, 2, shape_list(1, D(2 * axes))))
            return;
        if (in_is_const(n, 2) && in_ints(n, 2, pads, 2 * axes) == 2 * axes)
            attr_set_ints(y->def, "pads", 2 * axes, pads);
        else {
            for (int i = 0; i < axes; i++)
                spatial[i] = i + 2;
            Value *size = with_int(make(n, "Shape", 1, y), "start", 2), *half = make_ints(n, 1, (int64_t[]){axes});
            Value *pad = make_within(n, in(n, 2), 0, D(INT16_MAX), false), *zero = make_ints(n, 1, (int64_t[]){0});
            Value *begin = make(n, "Slice", 3, pad, zero, half);
            Value *end = make(n, "Slice", 3, pad, half, make_ints(n, 1, (int64_t[]){2 * axes}));
            y = make(n, "Slice", 4, y, begin, make(n, "Sub", 2, size, end), make_ints(n, axes, spatial));
        }
    }
    expand_to(n, y);
}

/* ---- complex numbers --------------------------------------------------------------------------------------------- */

/* The real parts (0) or the imaginary ones (1) of input i, whose last axis has both. */
static Value *part(Node *n, int i, int64_t of)
{
    return with_int(make(n, "Gather", 2, in(n, i), make_ints(n, 1, &of)), "axis", -1);
}

/* A * B, or A times the conjugate of B. */
static void complex_mul_expand(Node *n)
{
    bool conjugate = !strcmp(n->op->name, "ComplexMulConj");
    for (int i = 0; i < 2; i++) {
        Shape s = in_shape(n, i);
        if (s.rank < 1 || !require_dim(n, "real and imaginary part", s.rank ? s.dim[s.rank - 1] : D(0), D(2))) {
            if (s.rank < 1)
                node_error(n, "input %d is a scalar", i);
            return;
        }
    }
    Value *ar = part(n, 0, 0), *ai = part(n, 0, 1), *br = part(n, 1, 0), *bi = part(n, 1, 1);
    Value *rr = make(n, "Mul", 2, ar, br), *ii = make(n, "Mul", 2, ai, bi);
    Value *ri = make(n, "Mul", 2, ar, bi), *ir = make(n, "Mul", 2, ai, br);
    Value *real = make(n, conjugate ? "Add" : "Sub", 2, rr, ii),
          *imaginary = make(n, conjugate ? "Sub" : "Add", 2, ir, ri);
    expand_to(n, with_int(make(n, "Concat", 2, real, imaginary), "axis", -1));
}

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define X_Y "X:T -> Y:T"
#define PARTS(name)                                                                                                    \
    {name, 1, "A:T B:T -> C:T", "T=F", "", .expand = complex_mul_expand, MICROSOFT}

static const Op microsoft_plain_ops[] = {
    {"ExpandDims", 1, "X:T axis:int32 -> Y:T", "T=ALLB", "", .expand = expand_dims_expand, MICROSOFT},
    {"GatherND", 1, "data:T indices:Tind -> output:T", "T=ALLB Tind=int32|int64", "", .expand = gather_nd_expand,
     MICROSOFT},
    {"Pad", 1, "data:T pads:int64 value?:T -> output:T", "T=F", "mode:string=constant", .expand = pad_expand,
     MICROSOFT},
    {"Range", 1, "start:T limit:T delta?:T -> Y:T", "T=float|double|int16|int32|int64", "", .expand = range_expand,
     MICROSOFT},
    {"Unique", 1, "x:T -> y:T idx?:int64 counts?:int64", "T=ALL", "", .expand = unique_expand, MICROSOFT},
    {"GridSample", 1, "X:T Grid:T -> Y:T", "T=F", "align_corners:int=0 mode:string=bilinear padding_mode:string=zeros",
     .expand = grid_sample_expand, MICROSOFT},
    {"Trilu", 1, "X:T k?:int64 -> Y:T", "T=NB|bool", "upper:int=1", .body = "Y = Trilu<upper=@upper>(X, k)", MICROSOFT},
    {"SampleOp", 1, X_Y, "T=F|int32|int64|uint32|uint64", "", .body = "Y = Identity(X)", MICROSOFT},
    {"TorchEmbedding", 1, "weight:T indices:int64 padding_idx?:int64 scale_grad_by_freq?:bool -> Y:T", "T=NB", "",
     .body = "Y = Gather(weight, indices)", MICROSOFT},
    {"UnfoldTensor", 1, "input:T -> output:T", "T=ALLB", "dim:int=-1 size:int step:int=1", .expand = unfold_expand,
     MICROSOFT},
    {"NGramRepeatBlock", 1, "input_ids:Tid scores:T -> scores_out:T", "Tid=int64 T=float", "ngram_size:int",
     .expand = ngram_repeat_expand, MICROSOFT},
    {"WordConvEmbedding", 1, "Sequence:T W:T1 B:T1 C:T1 -> Y:T1", "T=int32 T1=float",
     "char_embedding_size:int? conv_window_size:int? embedding_size:int?", .expand = word_conv_expand, MICROSOFT},
    {"ConvTransposeWithDynamicPads", 1, "X:T W:T Pads?:int64 B?:T -> Y:T", "T=F",
     "auto_pad:string=NOTSET dilations:ints? group:int=1 kernel_shape:ints? output_padding:ints? strides:ints?",
     .expand = conv_transpose_expand, MICROSOFT},
    PARTS("ComplexMul"),
    PARTS("ComplexMulConj"),
};
OPS(microsoft_plain_ops);
