/* cast.c - Cast, CastLike, BitCast. */
#include <strings.h>

#include "ir/loop.h"
#include "ir/schema.h"
#include "passes/infer.h"

/* The type by which numbers are converted to text and back: double, int64 or uint64, whichever represents all
 * values. */
static Type wide_type(Type t) { return type_is_float(t) || t == B8 ? F64 : t == U64 ? U64 : I64; }

static void to_string(Node *n)
{
    Type from = in_type(n, 0);
    Value *x = make_cast(n, in(n, 0), from == B8 ? I64 : wide_type(from));
    if (x != in(n, 0))
        infer_node(x->def);
    node_set_in(n, 0, x);
    attr_set_int(n, "type", from);
    n->op = op_find("onnxcc", "Print", INT32_MAX);
    n->op->infer(n);
}

static void from_string(Node *n, Type to)
{
    Value *x = with_int(make(n, "onnxcc.Read", 1, in(n, 0)), "type", to);
    attr_set_int(x->def, "wide", wide_type(to));
    infer_node(x->def);
    node_set_in(n, 0, x);
}

static void cast_infer(Node *n)
{
    Type to = attr_type(n, "to", attr_int(n, "to"));
    const char *round = attr_string(n, "round_mode");
    if (strcmp(round, "up") && strcmp(round, "down") && strcmp(round, "nearest")) {
        node_error(n, "round_mode is \"%s\"", round);
        note_help("up, down and nearest are possible");
        return;
    }
    if (to == STR && in_type(n, 0) != STR) {
        to_string(n);
        return;
    }
    if (to && to != STR && in_type(n, 0) == STR)
        from_string(n, to);
    if (to == in_type(n, 0)) {
        n->op = op_find("", "Identity", INT32_MAX);
        infer_same(n);
    } else if (to)
        set_out(n, 0, to, in_shape(n, 0));
}

static void cast_bind(Node *n)
{
    Type to = out(n, 0)->type;
    const char *round = attr_string(n, "round_mode");
    bool scale = to == F8E8M0, wrap = (scale || (to >= F8E4M3FN && to <= F8E5M2FNUZ)) && !attr_int(n, "saturate");
    bool mode = scale && strcmp(round, "up");
    const char *fn = "to";
    if (wrap || mode)
        fn = name_format("cast_%s%s%s%s", type_tag(to), mode ? "_" : "", mode ? round : "", wrap ? "_wrap" : "")->s;
    bind_map(n, fn, 0, NULL);
}

/* Version 1: the type is given by its name. */
static void cast_1(Node *n)
{
    const char *to = attr_string(n, "to");
    for (Type t = F32; t < N_TYPES; t++)
        if (t != STR && !strcasecmp(to, type_onnx(t))) {
            expand_to(n, with_int(make(n, "Cast", 1, in(n, 0)), "to", t));
            return;
        }
    node_error(n, "to = \"%s\" is no element type", to);
}

static void cast_like(Node *n)
{
    Value *y = with_int(make(n, "Cast", 1, in(n, 0)), "to", in_type(n, 1));
    if (attr_is_given(n, "saturate"))
        attr_set_int(y->def, "saturate", attr_int(n, "saturate"));
    if (attr_is_given(n, "round_mode"))
        attr_set_string(y->def, "round_mode", attr_string(n, "round_mode"));
    expand_to(n, y);
}

static void bit_cast_infer(Node *n)
{
    Type to = attr_type(n, "to", attr_int(n, "to")), from = in_type(n, 0);
    if (to && type_bits(to) != type_bits(from))
        node_error(n, "%s has %d bits, but %s has %d", type_onnx(from), type_bits(from), type_onnx(to), type_bits(to));
    else if (to)
        set_out(n, 0, to, in_shape(n, 0));
}

/* Complex numbers as pairs of numbers, and back. */
static void parts_infer(Node *n)
{
    Shape s = in_shape(n, 0);
    if (!require_rank(n, s.rank + 1))
        return;
    s.dim[s.rank++] = D(2);
    set_out(n, 0, type_part(in_type(n, 0)), s);
}

static void complex_infer(Node *n)
{
    Shape s = in_shape(n, 0);
    s.rank--;
    set_out(n, 0, in_type(n, 0) == F32 ? C64 : C128, s);
}

Value *make_cast(Node *n, Value *v, Type t)
{
    if (v->type == t)
        return v;
    return with_int(make(n, "Cast", 1, v), "to", t);
}

#define BOTH(types) " T1=" types " T2=" types
#define TYPES_13 "NB|bool|string"
#define TYPES_19 TYPES_13 "|F8"
#define TYPES_21 TYPES_19 "|uint4|int4"
#define TYPES_23 TYPES_21 "|float4e2m1"
#define TYPES_24 TYPES_23 "|float8e8m0"
#define TYPES_25 TYPES_24 "|uint2|int2"
#define SATURATE " saturate:int=1"
#define ROUND " saturate:int=1 round_mode:string=up"
#define NUMBERS "NB|bool|F8|uint4|int4|float4e2m1|float8e8m0|uint2|int2|C"

/* clang-format off */
static const Op cast_ops[] = {
    {"Cast", 28, "input:T1 -> output:T2", BOTH(TYPES_25 "|float6e2m3|float6e3m2"), "to:int" ROUND, cast_infer, cast_bind,
     .flags = ELEMENTWISE,
     .compatible = "25" BOTH(TYPES_25) "; 24" BOTH(TYPES_24) "; 23" BOTH(TYPES_23) " / to:int" SATURATE "; "
            "21" BOTH(TYPES_21) " / to:int" SATURATE "; 19" BOTH(TYPES_19) " / to:int" SATURATE "; "
            "13" BOTH(TYPES_13) " / to:int; 9" BOTH("N|bool|string") " / to:int; 6" BOTH("N|bool") " / to:int"},
    {"Cast", 1, "input:T1 -> output:T2", BOTH("N|bool"), "to:string", .expand = cast_1},
    {"CastLike", 25, "input:T1 target_type:T2 -> output:T2", BOTH(TYPES_25), ROUND, .expand = cast_like,
     .compatible = "24" BOTH(TYPES_24) "; 23" BOTH(TYPES_23) " /" SATURATE "; 21" BOTH(TYPES_21) " /" SATURATE "; "
            "19" BOTH(TYPES_19) " /" SATURATE "; 15" BOTH(TYPES_13) " /"},
    {"Parts", 1, "x:T -> y:U", "T=C U=float|double", "", parts_infer, .flags = VIEW, .domain = "onnxcc"},
    {"Complex", 1, "x:T -> y:U", "T=float|double U=C", "", complex_infer, .flags = VIEW, .domain = "onnxcc"},
    {"BitCast", 26, "input:T1 -> output:T2", BOTH(NUMBERS), "to:int", bit_cast_infer, .flags = VIEW},
};
/* clang-format on */
OPS(cast_ops);
