/* within.c - checks of values that the specification limits: an error at compile time for constants, a status at run
 * time. */
#include "passes/infer.h"
#include "ir/call.h"
#include "within.h"

Value *make_within(Node *n, Value *v, int64_t low, Dim high, bool below)
{
    if (!v)
        return NULL;
    Value *y = with_int(make(n, "onnxcc.Within", 2, v, make_dims(n, 1, &high)), "low", low);
    return with_int(y, "below", below);
}

static void within_bind(Node *n)
{
    Dim high;
    if (in_dims(n, 1, &high, 1) == 1)
        BIND_ARGS(n, within, in_type(n, 0), NO_TYPE, ARGS(in(n, 0), out(n, 0)), .count = shape_count(in_shape(n, 0)),
                  .low = D(attr_int(n, "low")), .high = high, .below = D(attr_int(n, "below")));
}

Value *make_divisor(Node *n, Value *v) { return make(n, "onnxcc.Divisor", 1, v); }

static void divisor_bind(Node *n) { BIND_T(n, divisor, in_type(n, 0), .count = shape_count(in_shape(n, 0))); }

static const Op within_ops[] = {
    {"Within", 1, "x:T high:int64 -> y:T", "T=NB", "low:int below:int", .infer = infer_same, .bind = within_bind,
     .flags = INPLACE, .checks = 1, .domain = "onnxcc"},
    {"Divisor", 1, "x:T -> y:T", "T=IU", NULL, .infer = infer_same, .bind = divisor_bind, .flags = INPLACE | NOFOLD,
     .checks = 1, .domain = "onnxcc"},
};
OPS(within_ops);
