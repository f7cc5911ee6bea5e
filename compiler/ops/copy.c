/* copy.c - internal operators that copy, fill and store sizes, or end the run. */
#include "ir/loop.h"
#include "ir/ops.h"
#include "ir/strided.h"
#include "dims.h"
#include "fail.h"
#include "load.h"

static void copy_bind(Node *n)
{
    if (in_type(n, 0) == C64 || in_type(n, 0) == C128 ||
        in_type(n, 0) == STR) { /* elementwise loops do not support these */
        Strided s = {0};
        strided_axis(&s, shape_count(in_shape(n, 0)), D(1), D(1));
        strided_bind(n, s);
        return;
    }
    Loop *l = loop_new(*out(n, 0)->shape);
    loop_out(l, loop_in(l, n->in[0]), out(n, 0));
    bind_loop(n, l);
}

/* The creator of the node sets the shape. */
static void view_infer(Node *n) { out(n, 0)->type = in_type(n, 0); }

static void made_infer(Node *n) { (void)n; }

static void fill_bind(Node *n)
{
    Loop *l = loop_new(*out(n, 0)->shape);
    const Tensor *t = node_attr(n, "value")->t;
    loop_out(l,
             type_is_float(t->type) ? loop_literal(l, t->type, tensor_get(t, 0), 0)
                                    : loop_literal(l, t->type, 0, tensor_get_int(t, 0)),
             out(n, 0));
    bind_loop(n, l);
}

static void load_bind(Node *n)
{
    struct load_bind p = {.bytes = D((int64_t)tensor_size(in(n, 0)->data))};
    bind_kernel(n, "load", U8, NO_TYPE, load_fields(), &p, NULL, 0);
}

static void fail_bind(Node *n) { BIND_T(n, fail, U8, .status = D(RT_BAD_VALUE)); }

static void dims_bind(Node *n)
{
    const Attr *a = node_attr(n, "dims");
    struct dims_bind p = {.count = D(a->n)};
    for (int i = 0; i < a->n; i++)
        p.value[i] = (Dim){a->ints[i]};
    bind_kernel(n, "dims", out(n, 0)->type, NO_TYPE, dims_fields(), &p, NULL, 0);
}

/* clang-format off */
static const Op copy_ops[] = {
    {"Start", 1, "-> y**:T", "T=ALL14", NULL, made_infer, NULL, .flags = NOFOLD | RANDOM | PRETYPED, .domain = "onnxcc"},
    {"Copy", 1, "x:T -> y:T", "T=ALL14", NULL, infer_same, copy_bind, .flags = INPLACE, .domain = "onnxcc"},
    {"Load", 1, "x:T -> y:T", "T=ALL14", NULL, infer_same, load_bind, .flags = NOFOLD, .domain = "onnxcc"},
    {"Inside", 1, "x:T -> y:T", "T=ALL14", NULL, infer_same, copy_bind, .flags = INPLACE | NOFOLD, .domain = "onnxcc"},
    {"View", 1, "x:T -> y:T", "T=ALL14", NULL, view_infer, NULL, .flags = VIEW, .domain = "onnxcc"},
    {"Fill", 1, "-> y:T", "T=ALL14", "value:tensor", made_infer, fill_bind, .flags = PRETYPED, .domain = "onnxcc"},
    {"Fail", 1, "-> y:T", "T=ALL14", NULL, made_infer, fail_bind, .flags = NOFOLD | STOPS | PRETYPED, .domain = "onnxcc"},
    {"Dims", 1, "-> y:T", "T=int32|int64|bool", "dims:ints", made_infer, dims_bind, .flags = NOFOLD | PRETYPED, .domain = "onnxcc"},
};
/* clang-format on */
OPS(copy_ops);
