/* integer.c - Conv and MatMul of 8-bit integers: onnxcc.IntegerConv and onnxcc.IntegerProduct, to which ONNX's integer
 * operators and DequantizeLinear -> Conv -> QuantizeLinear are reduced. Inputs: x, weights, bias, scale, zero points of
 * the weights, of x and of y. y is (sum + bias) * scale + zero, rounded and saturated to 8 bits; with the type int32 it
 * is the sum. Layout packs the weights, with all inputs per output channel, into panels (runtime-min/qtile.h) by a node
 * that folds. */
#include "integer.h"

#include "base/options.h"
#include "ir/remark.h"
#include "ir/spatial.h"
#include "passes/infer.h"

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static int64_t panels_of(const Integer *c) { return (c->cout + QTILE_PANEL - 1) / QTILE_PANEL; }

static int64_t panel_bytes(const Integer *c)
{
    return QTILE_HEAD + c->stretches * ((c->width * c->cin + 1) / 2) * QTILE_PAIR;
}

/* Gives n the weights that `pack`, a node of its weights, bias and scale, makes of them. */
static void set_packed(Node *n, const Integer *c, Node *pack)
{
    pack->source = n->source;
    pack->name = in(n, W)->name;
    node_insert(pack, n);
    Value *packed = folded_node(pack);
    node_set_inputs(n, INPUTS, (Value *[INPUTS]){in(n, X), packed, NULL, NULL, NULL, in(n, X_ZERO), in(n, Y_ZERO)});
    attr_set_int(n, "cin", c->cin);
    attr_set_int(n, "cout", c->cout);
    attr_set_int(n, "depthwise", c->depthwise);
}

/* Replaces the weights, and the inputs per output channel, by a node that packs them. w_...: the strides of the weights
 * by group, output, input and tap. */
static void pack(Node *n, const Integer *c, int64_t w_group, int64_t w_out, int64_t w_in, int64_t w_tap)
{
    const char *names[] = {"group", "cout", "cin", "stretches", "width", "w_group", "w_out", "w_in", "w_tap"};
    int64_t values[] = {c->group, c->cout, c->cin, c->stretches, c->width, w_group, w_out, w_in, w_tap};
    Value *ins[] = {in(n, W), in(n, W_ZERO), in(n, BIAS), in(n, SCALE)};
    Node *p = node_new(n->graph, "onnxcc.IntegerPack", 4, ins, 1);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        attr_set_int(p, names[i], values[i]);
    set_packed(n, c, p);
}

static Integer pack_read(const Node *n)
{
    return (Integer){.group = attr_int(n, "group"),
                     .cin = attr_int(n, "cin"),
                     .cout = attr_int(n, "cout"),
                     .stretches = attr_int(n, "stretches"),
                     .width = attr_int(n, "width")};
}

static void pack_infer(Node *n)
{
    Integer c = pack_read(n);
    set_out(n, 0, I8, shape_list(3, D(c.group), D(panels_of(&c)), D(panel_bytes(&c))));
}

static Dim stride_of(const Node *n, int i) { return D(in(n, i) && !dim_is(shape_count(in_shape(n, i)), 1)); }

static void pack_bind(Node *n)
{
    Integer c = pack_read(n);
    BIND(n, qconv_pack, .group = D(c.group), .cout = D(c.cout), .cin = D(c.cin), .stretches = D(c.stretches),
         .width = D(c.width), .w_group = D(attr_int(n, "w_group")), .w_out = D(attr_int(n, "w_out")),
         .w_in = D(attr_int(n, "w_in")), .w_tap = D(attr_int(n, "w_tap")), .zero_step = stride_of(n, 1),
         .scale_step = stride_of(n, 3));
}

/* ---- binding ----------------------------------------------------------------------------------------------------- */

/* The number of rows of y for which weights are read once: more than one if the weights do not fit the first caches. */
static int64_t block_of(const Integer *c, const struct qconv_bind *p)
{
    enum { NEAR = 200 << 10, PIXELS = 48 };
    if (opt()->target->vector < 32 || panels_of(c) * panel_bytes(c) < NEAR || !dim_is_const(p->out[2]))
        return 1;
    int64_t width = dim_value(p->out[2]);
    return (PIXELS + width - 1) / width;
}

/* A 1x1 convolution with stride 1 is a product of matrices: regroups the pixels into rows that are small when
 * widened. */
static void straighten(struct qconv_bind *p)
{
    int64_t cin = dim_value(p->cin), max = opt()->target->vector >= 32 ? 16384 : opt()->target->micro ? 256 : 2048;
    int64_t min = cin * (opt()->target->micro ? 6 : 14); /* enough for a tile */
    max = max > min ? max : min;
    Dim pixels = dim_mul(dim_mul(p->n, p->in[0]), dim_mul(p->in[1], p->in[2]));
    for (int a = 0; a < 3; a++)
        if (!dim_is(p->kernel[a], 1) || !dim_is(p->stride[a], 1) || !dim_identical(p->in[a], p->out[a]))
            return;
    if (!dim_is_const(pixels) || dim_value(pixels) < 1 || !dim_identical(p->group, D(1)))
        return;
    int64_t all = dim_value(pixels), row = all, pieces = 1;
    while (pieces < all && (all % pieces || (row = all / pieces) * cin > max))
        pieces++;
    p->n = p->in[0] = p->out[0] = D(1);
    p->in[1] = p->out[1] = D(all / row);
    p->in[2] = p->out[2] = D(row);
}

static void bind_macs(Node *n, const Integer *c)
{
    Dim macs = dim_mul(shape_count(*out(n, 0)->shape), D(c->cin * c->stretches * c->width));
    n->macs = dim_high(macs) < INT64_MAX ? dim_high(macs) : 0; /* at the bounds */
}

static void bind_integer(Node *n, const Integer *c, struct qconv_bind p)
{
    static const struct {
        Type t;
        int lo, hi;
    } range[] = {{I8, -128, 127}, {U8, 0, 255}, {I32, 0, 0}};
    Type t = out(n, 0)->type;
    p.group = D(c->group);
    p.cin = D(c->cin);
    p.cout = D(c->cout);
    for (int i = 0; i < 3; i++)
        if (range[i].t == t) {
            p.lo = D(attr_is_given(n, "lo") ? attr_int(n, "lo") : range[i].lo);
            p.hi = D(attr_is_given(n, "hi") ? attr_int(n, "hi") : range[i].hi);
        }
    if (attr_is_given(n, "unit")) {
        micro_bind(n, c, &p);
        bind_macs(n, c);
        return;
    }
    if (!c->depthwise)
        straighten(&p);
    p.block = D(block_of(c, &p));
    p.depthwise = D(c->depthwise);
    p.fixed = D(dim_is_const(p.out[2]));
    Value *args[] = {in(n, X), in(n, W), in(n, X_ZERO), in(n, Y_ZERO), out(n, 0)};
    bind_kernel(n, "qconv", in_type(n, X), t, qconv_fields(), &p, args, 5);
    /* scratch of qconv_rows */
    int64_t element = c->depthwise ? 2 * QTILE_PANEL : c->cin;
    Dim pixels = dim_add(dim_mul(dim_sub(p.out[2], D(1)), p.stride[2]),
                         dim_add(dim_mul(dim_sub(p.kernel[2], D(1)), p.dilation[2]), D(1)));
    Dim row = dim_mul(dim_div(dim_add(dim_mul(pixels, D(element)), D(32)), D(32)), D(32));
    Dim ring = dim_add(dim_mul(dim_sub(p.block, D(1)), p.stride[1]),
                       dim_add(dim_mul(dim_sub(p.kernel[1], D(1)), p.dilation[1]), D(1)));
    bind_scratch(n, dim_mul(dim_mul(D(2), p.kernel[0]), dim_mul(ring, row)));
    bind_macs(n, c);
}

/* ---- convolution ------------------------------------------------------------------------------------------------- */

/* Reads the node. A depthwise convolution is handled as one group. */
static bool conv_read(Node *n, Image *x, Windows *w, Integer *c)
{
    Shape s = in_shape(n, W);
    int64_t kernel[AXES], groups = attr_int(n, "group"), outputs, cin;
    if (!image_read(n, X, x))
        return false;
    c->packed = attr_is_given(n, "cout");
    if (c->packed) {
        c->cin = attr_int(n, "cin");
        c->cout = attr_int(n, "cout");
        c->depthwise = attr_int(n, "depthwise") != 0;
        c->group = c->depthwise ? 1 : groups;
        if (!windows_read(n, x, NULL, w))
            return false;
    } else {
        if (s.rank != x->axes + 2 || !shape_is_const(s))
            return node_error(n, "the weights %s need %d fixed dimensions like the input %s", shape_text(s),
                              x->axes + 2, shape_text(in_shape(n, X)));
        for (int a = 0; a < x->axes; a++)
            kernel[a] = dim_value(s.dim[2 + a]);
        outputs = dim_value(s.dim[0]);
        cin = dim_value(s.dim[1]);
        if (groups < 1 || outputs % groups || groups > (outputs ? outputs : 1) ||
            (dim_is_const(x->channels) && dim_value(x->channels) != cin * groups))
            return node_error(n, "%lld groups of weights %s do not fit the input %s", (long long)groups, shape_text(s),
                              shape_text(in_shape(n, X)));
        assume_dim(n, x->channels, D(cin * groups));
        c->depthwise = cin == 1 && outputs == groups && groups > 1;
        c->group = c->depthwise ? 1 : groups;
        c->cin = cin;
        c->cout = outputs / c->group;
        if (!windows_read(n, x, kernel, w))
            return false;
    }
    bool joined = c->depthwise || w->dilation[2] == 1;
    c->width = joined ? w->kernel[2] : 1;
    c->stretches = w->kernel[0] * w->kernel[1] * (joined ? 1 : w->kernel[2]);
    return true;
}

/* Has input i an element per output or, if `one` allows it, one element? Reports otherwise. */
static bool require_per_output(const Node *n, int i, const char *what, int64_t outputs, bool one)
{
    Dim d = in(n, i) ? shape_count(in_shape(n, i)) : D(outputs);
    if (dim_is(d, outputs) || (one && dim_is(d, 1)))
        return true;
    return node_error(n, "the %s is %s for %lld output channels", what, shape_text(in_shape(n, i)), (long long)outputs);
}

static Type result_type(const Node *n) { return (Type)attr_int(n, "to"); }

static void conv_infer(Node *n)
{
    Image x;
    Windows w;
    Integer c;
    if (!conv_read(n, &x, &w, &c))
        return;
    int64_t channels = c.group * c.cout;
    if (c.packed || (require_per_output(n, BIAS, "bias", channels, false) &&
                     require_per_output(n, SCALE, "scale", channels, true) &&
                     require_per_output(n, W_ZERO, "zero point of the weights", channels, true))) {
        set_out(n, 0, result_type(n), image_shape(n, &x, D(channels), w.out));
        image_in_steps(n, &x);
    }
}

static void conv_layout(Node *n)
{
    Image x;
    Windows w;
    Integer c;
    int64_t kernel[3];
    if (!conv_read(n, &x, &w, &c))
        return;
    for (int a = 0; a < x.axes; a++)
        kernel[a] = w.kernel[3 - x.axes + a];
    attr_set_ints(n, "kernel_shape", x.axes, kernel);
    int64_t taps = c.stretches * c.width;
    if (micro_fits(n, &c, x.axes < 3 && c.width == w.kernel[2]))
        set_packed(n, &c, micro_pack(n, &c, c.cin * taps, taps, 1));
    else
        pack(n, &c, c.cout * c.cin * taps, c.cin * taps, taps, 1);
}

static void conv_bind(Node *n)
{
    Image x;
    Windows w;
    Integer c;
    if (!conv_read(n, &x, &w, &c))
        return;
    bind_integer(n, &c,
                 (struct qconv_bind){.n = x.n,
                                     .in = DIMS3(x.size),
                                     .out = DIMS3(w.out),
                                     .kernel = THREE(w.kernel),
                                     .stride = THREE(w.stride),
                                     .dilation = THREE(w.dilation),
                                     .pad = DIMS3(w.pad),
                                     .x_pitch = x.channels,
                                     .x_group = D(c.cin),
                                     .y_pitch = D(c.group * c.cout),
                                     .y_group = D(c.cout)});
}

/* ---- product ----------------------------------------------------------------------------------------------------- */

/* x (batch..., m, k) times w (k, n), or (batch..., k, n) with the same batch. */
static Integer product_read(Node *n, Dim *m)
{
    Shape x = in_shape(n, X), w = in_shape(n, W);
    bool packed = attr_is_given(n, "cout"), trans = attr_int(n, "trans_b") != 0;
    Integer c = {.group = 1, .stretches = 1, .width = 1, .packed = packed};
    c.cin = packed ? attr_int(n, "cin") : dim_value(w.dim[w.rank - (trans ? 1 : 2)]);
    c.cout = packed ? attr_int(n, "cout") : dim_value(w.dim[w.rank - (trans ? 2 : 1)]);
    *m = shape_product(x, 0, x.rank - 1);
    if (packed ? !dim_is(w.dim[0], 1) : w.rank > 2) {
        c.group = dim_value(shape_product(x, 0, x.rank - 2));
        *m = x.dim[x.rank - 2];
    }
    return c;
}

static void product_infer(Node *n)
{
    Dim m;
    Integer c = product_read(n, &m);
    Shape y = in_shape(n, X);
    y.dim[y.rank - 1] = D(c.cout);
    set_out(n, 0, result_type(n), y);
}

static void product_layout(Node *n)
{
    Dim m;
    Integer c = product_read(n, &m);
    bool trans = attr_int(n, "trans_b") != 0;
    if (!c.packed && micro_fits(n, &c, true))
        set_packed(n, &c, micro_pack(n, &c, trans ? c.cin : 1, trans ? 1 : c.cout, 0));
    else if (!c.packed)
        pack(n, &c, c.cin * c.cout, trans ? c.cin : 1, trans ? 1 : c.cout, 0);
}

static void product_bind(Node *n)
{
    Dim m;
    Integer c = product_read(n, &m);
    bind_integer(n, &c,
                 (struct qconv_bind){.n = D(1),
                                     .in = {D(1), D(1), m},
                                     .out = {D(1), D(1), m},
                                     .kernel = {D(1), D(1), D(1)},
                                     .stride = {D(1), D(1), D(1)},
                                     .dilation = {D(1), D(1), D(1)},
                                     .pad = {D(0), D(0), D(0)},
                                     .x_pitch = D(c.cin),
                                     .x_group = dim_mul(m, D(c.cin)),
                                     .y_pitch = D(c.cout),
                                     .y_group = dim_mul(m, D(c.cout))});
}

/* ---- the operators of ONNX --------------------------------------------------------------------------------------- */

/* The scale of requantisation, x * w / y, as float. */
static Value *requantise_scale(Node *n, Value *x, Value *w, Value *y)
{
    Value *s = make(n, "Div", 2, make(n, "Mul", 2, x, w), y);
    return x->type == F32 ? s : make_cast(n, s, F32);
}

static void copy_attributes(Node *n, Node *to)
{
    for (int i = 0; i < n->n_attr; i++)
        attr_set(to, n->attr[i]);
}

Node *make_integer(Node *n, const char *op, Type to, Value *const *in)
{
    Node *c = make_node(n, op, INPUTS, (Value **)(uintptr_t)in, 1);
    attr_set_int(c, "to", to);
    return c;
}

/* x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias */
static void qlinear_conv_expand(Node *n)
{
    for (int i = 1; i < 8; i++)
        if (i < 3 || i > 5) /* all except the weights and their scale and zero point */
            if (!require_one(n, i))
                return;
    Value *scale = requantise_scale(n, in(n, 1), in(n, 4), in(n, 6));
    Node *y = make_integer(n, "onnxcc.IntegerConv", in_type(n, 7),
                           (Value *[INPUTS]){in(n, 0), in(n, 3), in(n, 8), scale, in(n, 5), in(n, 2), in(n, 7)});
    copy_attributes(n, y);
    expand_to(n, y->out[0]);
}

/* x, w, x_zero, w_zero */
static void conv_integer_expand(Node *n)
{
    if (!require_one(n, 2))
        return;
    Node *y = make_integer(n, "onnxcc.IntegerConv", I32,
                           (Value *[INPUTS]){in(n, 0), in(n, 1), NULL, NULL, in(n, 3), in(n, 2), NULL});
    copy_attributes(n, y);
    expand_to(n, y->out[0]);
}

static bool is_single(const Value *v) { return !v || dim_is(shape_count(*v->shape), 1); }

/* Has v one element, or one per column of the matrix b? */
static bool is_per_column(const Value *v, const Value *b)
{
    return is_single(v) || (b->shape->rank == 2 && dim_identical(shape_count(*v->shape), b->shape->dim[1]));
}

/* Can the product of a and b in n be one IntegerProduct? */
static bool product_fits(const Node *n, const Value *a, const Value *b, const Value *a_zero, const Value *b_zero)
{
    Shape s = *a->shape, t = *b->shape;
    if (s.rank < 2 || t.rank < 2)
        return declines(REWRITE_INTEGER, n, "it multiplies a vector");
    if (!shape_is_const(t))
        return declines(REWRITE_INTEGER, n, "the shape of %s is known only at run time", remark_value(b));
    if (!dim_identical(s.dim[s.rank - 1], t.dim[t.rank - 2]))
        return declines(REWRITE_INTEGER, n, "the length of the rows of %s is known only at run time", remark_value(a));
    if (!is_single(a_zero) || !is_per_column(b_zero, b))
        return declines(REWRITE_INTEGER, n,
                        "there are zero points for each row of the left matrix, or for parts of the right");
    bool same = s.rank == t.rank;
    for (int i = 0; same && i < t.rank - 2; i++)
        same = dim_identical(s.dim[i], t.dim[i]);
    return t.rank == 2 || same ||
           declines(REWRITE_INTEGER, n, "%s has axes of batches that it broadcasts", remark_value(b));
}

/* Has input i one element, or one per row (or column) of m, or does it broadcast to m? Reports otherwise. */
static bool fits_matrix(Node *n, int i, const Value *m, bool rows)
{
    Shape s = in_shape(n, i), of = *m->shape;
    if (!in(n, i) || s.rank != 1)
        return require_expands(n, i, of);
    Dim many = of.rank < 2 ? D(1) : of.dim[of.rank - (rows ? 2 : 1)];
    return require_dim(n, rows ? "numbers for the rows" : "numbers for the columns", s.dim[0],
                       dim_select(dim_eq_expr(s.dim[0], D(1)), D(1), many));
}

/* v - zero as int32; rows: there is a zero point per row. */
static Value *less_zero(Node *n, Value *v, Value *zero, bool rows)
{
    static const int64_t column[2] = {-1, 1};
    v = make_cast(n, v, I32);
    if (!zero)
        return v;
    if (rows && zero->shape->rank == 1 && !is_single(zero))
        zero = make(n, "Reshape", 2, zero, make_ints(n, 2, column));
    zero = make_cast(n, zero, I32);
    return make(n, "Sub", 2, v, zero);
}

/* A, B, a_zero_point, b_zero_point */
static void matmul_integer_expand(Node *n)
{
    Value *a = in(n, 0), *b = in(n, 1), *a_zero = in(n, 2), *b_zero = in(n, 3), *y;
    if (!fits_matrix(n, 2, a, true) || !fits_matrix(n, 3, b, false))
        return;
    if (product_fits(n, a, b, a_zero, b_zero))
        y = make_integer(n, "onnxcc.IntegerProduct", I32, (Value *[INPUTS]){a, b, NULL, NULL, b_zero, a_zero, NULL})
                ->out[0];
    else
        y = make(n, "MatMul", 2, less_zero(n, a, a_zero, true), less_zero(n, b, b_zero, false));
    expand_to(n, y);
}

/* QLinearMatMul of float8 values. */
static Value *matmul_of_floats(Node *n)
{
    Value *a = make(n, "DequantizeLinear", 3, in(n, 0), in(n, 1), in(n, 2));
    Value *b = make(n, "DequantizeLinear", 3, in(n, 3), in(n, 4), in(n, 5));
    return make(n, "QuantizeLinear", 3, make(n, "MatMul", 2, a, b), in(n, 6), in(n, 7));
}

/* QLinearMatMul with scales or zero points per row, or with shapes that IntegerProduct does not support. */
static Value *matmul_in_steps(Node *n)
{
    static const int64_t column[2] = {-1, 1};
    Value *rows = in(n, 1), *a = less_zero(n, in(n, 0), in(n, 2), true), *b = less_zero(n, in(n, 3), in(n, 5), false);
    Value *sum = make_cast(n, make(n, "MatMul", 2, a, b), F32);
    if (rows->shape->rank == 1 && !is_single(rows))
        rows = make(n, "Reshape", 2, rows, make_ints(n, 2, column));
    sum = make(n, "Mul", 2, sum, requantise_scale(n, rows, in(n, 4), in(n, 6)));
    return make(n, "QuantizeLinear", 3, sum, make_scalar(n, F32, 1), in(n, 7));
}

/* a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero */
static void qlinear_matmul_expand(Node *n)
{
    Value *a = in(n, 0), *b = in(n, 3), *y;
    bool one = is_single(in(n, 1)) && is_per_column(in(n, 4), b) && is_single(in(n, 6)) && is_single(in(n, 7));
    for (int i = 0; i < 2; i++)
        if (!fits_matrix(n, 1 + i, a, true) || !fits_matrix(n, 4 + i, b, false) || !fits_matrix(n, 6 + i, b, false))
            return;
    if (type_is_float(a->type) || type_is_float(b->type) || type_is_float(in_type(n, 7))) {
        (void)declines(REWRITE_INTEGER, n, "%s, %s or its result is of float8", remark_value(a), remark_value(b));
        y = matmul_of_floats(n);
    } else if (!(one ||
                 declines(REWRITE_INTEGER, n, "there are scales for each row of the left matrix, or of the result")) ||
               !product_fits(n, a, b, in(n, 2), in(n, 5)))
        y = matmul_in_steps(n);
    else {
        Value *scale = requantise_scale(n, in(n, 1), in(n, 4), in(n, 6));
        Value *ins[INPUTS] = {a, b, NULL, scale, in(n, 5), in(n, 2), in(n, 7)};
        y = make_integer(n, "onnxcc.IntegerProduct", in_type(n, 7), ins)->out[0];
    }
    expand_to(n, y);
}

/* ---- products of com.microsoft, with a result of floats ---------------------------------------------------------- */

/* Input i, which has one element, without axes. */
static Value *scalar_of(Node *n, int i) { return make(n, "Reshape", 2, in(n, i), make_ints(n, 0, NULL)); }

/* Replaces n by the product of a, in units of a_scale, and input b, in units of input b_scale, plus input bias. */
static void real_product(Node *n, Value *a, Value *a_scale, Value *a_zero, int b, int b_scale, int b_zero, int bias)
{
    Shape w = in_shape(n, b);
    Type t = in_type(n, b_scale);
    if (!fits_matrix(n, b_scale, in(n, b), false) || !fits_matrix(n, b_zero, in(n, b), false))
        return;
    if (in(n, bias) && w.rank > 1 &&
        !require_dim(n, "elements of the bias", shape_count(in_shape(n, bias)), w.dim[w.rank - 1]))
        return;
    Value *scale = in(n, b_scale);
    if (is_single(scale))
        scale = scalar_of(n, b_scale);
    else if (in_shape(n, 0).rank == 1 && scale->shape->rank > 1) /* the product has no axis of rows */
        scale = make(n, "Squeeze", 2, scale, make_ints(n, 1, (int64_t[]){-2}));
    scale = make(n, "Mul", 2, make_cast(n, a_scale, F32), make_cast(n, scale, F32));
    Value *y = make_cast(n, make(n, "MatMulInteger", 4, a, in(n, b), a_zero, in(n, b_zero)), F32);
    y = make(n, "Mul", 2, y, scale);
    if (in(n, bias))
        y = make(n, "Add", 2, y, make_cast(n, in(n, bias), F32));
    expand_to(n, make_cast(n, y, t));
}

/* A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias */
static void matmul_integer_to_float_expand(Node *n)
{
    if (require_one(n, 2) && require_one(n, 4))
        real_product(n, in(n, 0), scalar_of(n, 2), in(n, 4), 1, 3, 5, 6);
}

/* A, B, b_scale, b_zero_point, bias */
static void dynamic_quantize_matmul_expand(Node *n)
{
    Node *q = make_node(n, "DynamicQuantizeLinear", 1, (Value *[]){in(n, 0)}, 3);
    real_product(n, q->out[0], q->out[1], q->out[2], 1, 2, 3, 4);
}

static void matmul_integer16_expand(Node *n)
{
    Type t = in_type(n, 0) == U16 && in_type(n, 1) == U16 ? U32 : I32;
    expand_to(n, make(n, "MatMul", 2, make_cast(n, in(n, 0), t), make_cast(n, in(n, 1), t)));
}

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define WINDOWS                                                                                                        \
    "auto_pad:string=NOTSET dilations:ints? group:int=1 kernel_shape:ints? pads:ints? strides:ints?"
#define INTEGER "x:T1 w:T2 bias?:int32 scale?:float w_zero?:T2 x_zero?:T1 y_zero?:T3 -> y:T4"
#define BYTES "int8|uint8"

static const Op integer_ops[] = {
    {"QLinearConv", 10,
     "x:T1 x_scale:float x_zero_point:T1 w:T2 w_scale:float w_zero_point:T2 y_scale:float y_zero_point:T3 B?:int32 -> y:T3",
     "T1=" BYTES " T2=" BYTES " T3=" BYTES, WINDOWS, .expand = qlinear_conv_expand},
    {"ConvInteger", 10, "x:T1 w:T2 x_zero_point?:T1 w_zero_point?:T2 -> y:int32", "T1=" BYTES " T2=" BYTES, WINDOWS,
     .expand = conv_integer_expand},
    {"MatMulInteger", 10, "A:T1 B:T2 a_zero_point?:T1 b_zero_point?:T2 -> Y:int32", "T1=" BYTES " T2=" BYTES, "",
     .expand = matmul_integer_expand},
    {"QLinearMatMul", 21,
     "a:T1 a_scale:TS a_zero_point:T1 b:T2 b_scale:TS b_zero_point:T2 y_scale:TS y_zero_point:T3 -> y:T3",
     "TS=float|float16|bfloat16 T1=" BYTES "|F8 T2=" BYTES "|F8 T3=" BYTES "|F8", "", .expand = qlinear_matmul_expand},
    {"QLinearMatMul", 10,
     "a:T1 a_scale:float a_zero_point:T1 b:T2 b_scale:float b_zero_point:T2 y_scale:float y_zero_point:T3 -> y:T3",
     "T1=" BYTES " T2=" BYTES " T3=" BYTES, "", .expand = qlinear_matmul_expand},
    {"MatMulIntegerToFloat", 1, "A:T1 B:T2 a_scale:T3 b_scale:T3 a_zero_point?:T1 b_zero_point?:T2 bias?:T3 -> Y:T3",
     "T1=" BYTES " T2=" BYTES " T3=float|float16", "", .expand = matmul_integer_to_float_expand,
     .domain = "com.microsoft"},
    {"DynamicQuantizeMatMul", 1, "A:T1 B:T2 b_scale:T1 b_zero_point?:T2 bias?:T1 -> Y:T1", "T1=float T2=" BYTES, "",
     .expand = dynamic_quantize_matmul_expand, .domain = "com.microsoft"},
    {"MatMulInteger16", 1, "A:T1 B:T2 -> Y:T3", "T1=int16|uint16 T2=int16|uint16 T3=int32|uint32", "",
     .expand = matmul_integer16_expand, .domain = "com.microsoft"},
    {"IntegerConv", 1, INTEGER, "T1=" BYTES " T2=" BYTES " T3=" BYTES " T4=" BYTES "|int32",
     WINDOWS " to:int lo:int? hi:int? cin:int? cout:int? depthwise:int? unit:int?", conv_infer, conv_bind,
     .flags = CHANNELS_LAST | NOFOLD, .domain = "onnxcc", .layout = conv_layout},
    {"IntegerProduct", 1, INTEGER, "T1=" BYTES " T2=" BYTES " T3=" BYTES " T4=" BYTES "|int32",
     "trans_b:int=0 to:int lo:int? hi:int? cin:int? cout:int? depthwise:int? unit:int?", product_infer, product_bind,
     .flags = NOFOLD, .domain = "onnxcc", .layout = product_layout},
    {"IntegerPack", 1, "w:T zero?:T bias?:int32 scale?:float -> y:int8", "T=" BYTES,
     "group:int cout:int cin:int stretches:int width:int w_group:int w_out:int w_in:int w_tap:int", pack_infer,
     pack_bind, .domain = "onnxcc"},
};
OPS(integer_ops);
