/* integer_micro.c - convolutions and products of 8-bit integers with the kernels for small processors (qmicro.h): for
 * such a --target, where the weights have no zero points and the others are constants. onnxcc.MicroPack packs the
 * weights. */
#include <math.h>

#include "base/options.h"
#include "integer.h"
#include "ir/call.h"
#include "ir/exec.h"
#include "ir/ops.h"
#include "ir/remark.h"
#include "qmicro.h"
#include "qmicro_depthwise.h"

static bool is_known(const Value *v) { return !v || (v->data && !v->data->symbolic); }
static bool is_single(const Value *v) { return !v || dim_is(shape_count(*v->shape), 1); }
static bool is_number(const Value *v) { return is_known(v) && is_single(v); }
static int64_t number(const Value *v) { return v ? tensor_get_int(v->data, 0) : 0; }

/* Are the weights without zero points, or unsigned with 128? */
static bool is_symmetric(const Value *w, const Value *zero)
{
    int64_t centre = w->type == U8 ? 128 : 0;
    if (!zero || !is_known(zero))
        return !zero && !centre;
    for (int64_t i = 0; i < tensor_count(zero->data); i++)
        if (tensor_get_int(zero->data, i) != centre)
            return false;
    return true;
}

static bool is_finite(const Value *v)
{
    if (!v || !is_known(v))
        return false;
    for (int64_t i = 0; i < tensor_count(v->data); i++)
        if (!isfinite(tensor_get(v->data, i)))
            return false;
    return true;
}

bool micro_fits(const Node *n, const Integer *c, bool rows)
{
    if (!opt()->target->micro)
        return false;
    if (c->group != 1)
        return declines(REWRITE_MICRO, n, "it has %lld groups", (long long)c->group);
    if (!rows)
        return declines(REWRITE_MICRO, n, "its windows have three axes, or are dilated along the last one");
    if (!in_is_const(n, W))
        return declines(REWRITE_MICRO, n, "the weights, %s, are no constant", remark_value(in(n, W)));
    if ((Type)attr_int(n, "to") != in_type(n, X))
        return declines(REWRITE_MICRO, n, "its input is of %s, its result of %s", type_onnx(in_type(n, X)),
                        type_onnx((Type)attr_int(n, "to")));
    if (!is_symmetric(in(n, W), in(n, W_ZERO)))
        return declines(REWRITE_MICRO, n, "the weights have other zero points than the middle of their type");
    if (!is_finite(in(n, SCALE)))
        return declines(REWRITE_MICRO, n, "the scales are no finite constants");
    if (!is_number(in(n, X_ZERO)) || !is_number(in(n, Y_ZERO)))
        return declines(REWRITE_MICRO, n, "the zero points of its input and of its result are not a constant each");
    return applies(REWRITE_MICRO, n, "%s", c->depthwise ? "a depthwise convolution" : "panels of four outputs");
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* The inputs that the target multiplies at a time. */
static int64_t unit_of(void) { return opt()->target->vector >= 16 ? 16 : 4; }

/* The channels of a panel of a depthwise convolution. */
static int64_t wide_of(int64_t unit) { return unit / 2 > 4 ? unit / 2 : 4; }

Node *micro_pack(Node *n, const Integer *c, int64_t w_out, int64_t w_in, int64_t w_tap)
{
    const char *names[] = {"cout", "cin", "taps", "across", "unit", "w_out", "w_in", "w_tap", "x_zero", "depthwise"};
    int64_t values[] = {c->cout, c->cin, c->stretches * c->width, c->width,    unit_of(), w_out,
                        w_in,    w_tap,  number(in(n, X_ZERO)),   c->depthwise};
    Node *p = node_new(n->graph, "onnxcc.MicroPack", 3, (Value *[]){in(n, W), in(n, BIAS), in(n, SCALE)}, 1);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        attr_set_int(p, names[i], values[i]);
    attr_set_int(n, "unit", unit_of());
    return p;
}

static void pack_infer(Node *n)
{
    if (attr_int(n, "depthwise")) {
        int64_t wide = wide_of(attr_int(n, "unit"));
        set_out(n, 0, I8,
                shape_list(2, D(round_up(attr_int(n, "cout"), wide) / wide), D((8 + attr_int(n, "taps")) * wide)));
        return;
    }
    int64_t inputs = round_up(attr_int(n, "cin") * attr_int(n, "taps"), attr_int(n, "unit"));
    set_out(n, 0, I8,
            shape_list(2, D(round_up(attr_int(n, "cout"), QMICRO_PANEL) / QMICRO_PANEL),
                       D(QMICRO_HEAD + inputs * QMICRO_PANEL)));
}

static void pack_bind(Node *n)
{
    if (attr_int(n, "depthwise")) {
        BIND(n, qmicro_depthwise_pack, .channels = D(attr_int(n, "cout")), .taps = D(attr_int(n, "taps")),
             .across = D(attr_int(n, "across")), .wide = D(wide_of(attr_int(n, "unit"))),
             .scale_step = D(!is_single(in(n, 2))), .x_zero = D(attr_int(n, "x_zero")));
        return;
    }
    BIND(n, qmicro_pack, .cout = D(attr_int(n, "cout")), .cin = D(attr_int(n, "cin")), .taps = D(attr_int(n, "taps")),
         .unit = D(attr_int(n, "unit")), .w_out = D(attr_int(n, "w_out")), .w_in = D(attr_int(n, "w_in")),
         .w_tap = D(attr_int(n, "w_tap")), .scale_step = D(!is_single(in(n, 2))), .x_zero = D(attr_int(n, "x_zero")));
}

/* ---- binding ----------------------------------------------------------------------------------------------------- */

#define PLANE(list) {(list)[1], (list)[2]} /* the last two of three axes */

static void bind_depthwise(Node *n, const Integer *c, const struct qconv_bind *p)
{
    int64_t wide = wide_of(attr_int(n, "unit"));
    BIND_ARGS(n, qmicro_depthwise, out(n, 0)->type, NO_TYPE, ARGS(in(n, X), in(n, W), out(n, 0)), .n = p->n,
              .in = PLANE(p->in), .out = PLANE(p->out), .channels = D(c->cout), .kernel = PLANE(p->kernel),
              .stride = PLANE(p->stride), .dilation = PLANE(p->dilation), .pad = PLANE(p->pad), .x_pitch = p->x_pitch,
              .y_pitch = p->y_pitch, .wide = D(wide), .x_zero = D(number(in(n, X_ZERO))),
              .y_zero = D(number(in(n, Y_ZERO))), .lo = p->lo, .hi = p->hi);
    Dim pixels = dim_add(dim_mul(dim_sub(p->out[2], D(1)), p->stride[2]),
                         dim_add(dim_mul(dim_sub(p->kernel[2], D(1)), p->dilation[2]), D(1)));
    Dim reach = dim_add(dim_mul(dim_sub(p->kernel[1], D(1)), p->dilation[1]), D(1));
    bind_scratch(n, dim_mul(dim_mul(reach, pixels), D(round_up(c->cout, wide))));
}

/* Is every window one pixel wide, and inside the image? */
static bool reads_in_place(const struct qconv_bind *p)
{
    bool inside = dim_is(p->kernel[2], 1);
    for (int k = 1; k < 3; k++) {
        Dim last = dim_add(dim_mul(dim_sub(p->out[k], D(1)), p->stride[k]),
                           dim_mul(dim_sub(p->kernel[k], D(1)), p->dilation[k]));
        inside = inside && dim_is(p->pad[k], 0) && dim_is_const(last) && dim_is_const(p->in[k]) &&
                 dim_value(last) < dim_value(p->in[k]);
    }
    return inside;
}

/* Bytes of scratch of qmicro: the inputs of a tile's pixels in 16 bits, and of one in 8 unless they are read from x. */
static int64_t gathered(const Integer *c, const struct qconv_bind *p, int64_t inputs)
{
    Dim pixels = dim_mul(p->out[1], p->out[2]);
    bool few = dim_is_const(pixels) && dim_value(pixels) < QMICRO_ROWS;
    int64_t run = c->cin * dim_value(p->kernel[2]);
    return 2 * (few ? 1 : QMICRO_ROWS) * inputs + (run % 4 ? inputs : reads_in_place(p) ? 0 : run);
}

void micro_bind(Node *n, const Integer *c, const struct qconv_bind *p)
{
    int64_t unit = attr_int(n, "unit"), inputs = round_up(c->cin * c->stretches * c->width, unit);
    if (c->depthwise) {
        bind_depthwise(n, c, p);
        return;
    }
    Value *x_zero = in(n, X_ZERO), *y_zero = in(n, Y_ZERO);
    BIND_ARGS(n, qmicro, out(n, 0)->type, NO_TYPE, ARGS(in(n, X), in(n, W), out(n, 0)), .n = p->n, .in = PLANE(p->in),
              .out = PLANE(p->out), .cin = D(c->cin), .cout = D(c->cout), .kernel = PLANE(p->kernel),
              .stride = PLANE(p->stride), .dilation = p->dilation[1], .pad = PLANE(p->pad), .x_pitch = p->x_pitch,
              .y_pitch = p->y_pitch, .unit = D(unit), .x_zero = D(number(x_zero)), .y_zero = D(number(y_zero)),
              .lo = p->lo, .hi = p->hi);
    bind_scratch(n, D(gathered(c, p, inputs)));
}

static const Op micro_ops[] = {
    {"MicroPack", 1, "w:T bias?:int32 scale:float -> y:int8", "T=int8|uint8",
     "cout:int cin:int taps:int across:int unit:int w_out:int w_in:int w_tap:int x_zero:int depthwise:int", pack_infer,
     pack_bind, .domain = "onnxcc"},
};
OPS(micro_ops);
