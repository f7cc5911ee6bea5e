/* schema.c - unit tests of compiler/ir/schema.c and opset.c: groups of types are the standard's, an operator's schema
 * is the newest one up to the version in force.
 * Parts: ir/schema, ir/opset, ir/type. */
#include "unit.h"

#include "onnxcc.h"
#include "ir/schema.h"

static const char *members(TypeSet set)
{
    Text t = {0};
    text_put(&t, "%s", "");
    for (Type k = F32; k < N_TYPES; k++)
        if (set >> k & 1)
            text_put(&t, "%s%s", t.n ? " " : "", type_onnx(k));
    return t.s;
}

static void groups_are_the_standards(void **state)
{
    (void)state;
    static const struct {
        const char *name, *members; /* by the number of TensorProto.DataType */
    } groups[] = {
        {"F", "float float16 double"},
        {"FB", "float float16 double bfloat16"},
        {"I", "int8 int16 int32 int64"},
        {"U", "uint8 uint16 uint32 uint64"},
        {"IU", "uint8 int8 uint16 int16 int32 int64 uint32 uint64"},
        {"N", "float uint8 int8 uint16 int16 int32 int64 float16 double uint32 uint64"},
        {"NB", "float uint8 int8 uint16 int16 int32 int64 float16 double uint32 uint64 bfloat16"},
        {"F8", "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"},
        {"C", "complex64 complex128"},
#define BASIC "float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128"
        {"ALL", BASIC},
        {"ALLB", BASIC " bfloat16"},
#define IR_9 BASIC " bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"
        {"ALL9", IR_9},
        {"ALL10", IR_9 " uint4 int4"},
        {"ALL11", IR_9 " uint4 int4 float4e2m1"},
        {"ALL12", IR_9 " uint4 int4 float4e2m1 float8e8m0"},
        {"ALL13", IR_9 " uint4 int4 float4e2m1 float8e8m0 uint2 int2"},
        {"ALL14", IR_9 " uint4 int4 float4e2m1 float8e8m0 uint2 int2 float6e2m3 float6e3m2"},
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        assert_string_equal(members(type_group(groups[i].name, strlen(groups[i].name))), groups[i].members);
    assert_true(type_group("FBI", 2) == type_group("FB", 2));
    assert_true(type_group("X", 1) == 0);
}

/* Clip: 1, 6, 11, 12 and 13; the versions of ai.onnx's changelog. */
static void the_version_in_force(void **state)
{
    (void)state;
    static const int wants[][2] = {{1, 1}, {5, 1}, {6, 6}, {10, 6}, {11, 11}, {12, 12}, {13, 13}, {21, 13}};
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        assert_int_equal(op_find("", "Clip", wants[i][0])->since_version, wants[i][1]);
    assert_null(op_find("", "Clip", 0));
    assert_null(op_find("", "Gelu", 19));
    assert_null(op_find("ai.onnx.ml", "Clip", 13));
    assert_null(op_find("", "Clipp", 13));
}

static void signatures(void **state)
{
    (void)state;
    const Signature *clip = op_signature(op_find("", "Clip", 13)), *concat = op_signature(op_find("", "Concat", 13));
    assert_ptr_equal(clip, op_signature(op_find("", "Clip", 20)));
    assert_int_equal(clip->n_in, 3);
    assert_int_equal(clip->n_out, 1);
    assert_false(clip->in[0].optional);
    assert_true(clip->in[1].optional && clip->in[2].optional);
    assert_int_equal(clip->in[0].variable, clip->in[2].variable);
    assert_true(clip->in[0].set >> BF16 & 1);
    assert_false(op_signature(op_find("", "Clip", 12))->in[0].set >> BF16 & 1);
    assert_null(formal_in(clip, 3));
    assert_true(formal_in(concat, 100)->variadic && !formal_in(concat, 100)->mixed);
    assert_int_equal(formal_attr(concat, "axis")->type, A_INT);
    assert_false(formal_attr(concat, "axis")->optional);
    assert_null(formal_attr(concat, "axes"));
    const Signature *if_ = op_signature(op_find("", "If", 13)), *conv = op_signature(op_find("", "Conv", 11));
    assert_true(formal_out(if_, 7)->mixed);
    assert_int_equal(formal_attr(if_, "else_branch")->type, A_GRAPH);
    assert_int_equal(formal_attr(conv, "pads")->type, A_INTS);
    assert_true(formal_attr(conv, "pads")->optional);
}

UNIT_TESTS(cmocka_unit_test(groups_are_the_standards), cmocka_unit_test(the_version_in_force),
           cmocka_unit_test(signatures))
