/* tensor.c - unit tests of compiler/ir/tensor.c and graph.c: elements of every kind, bytes for kernels, uses of values.
 * Parts: ir/tensor, ir/graph, ir/type. */
#include "unit.h"

#include "onnxcc.h"

static Tensor *over(Type t, int64_t n, const void *bytes)
{
    Tensor *x = tensor_new(t, 1, &n);
    x->data = bytes;
    return x;
}

static void elements(void **state)
{
    (void)state;
    static const uint8_t nibbles[] = {0x71, 0xF8}, two[] = {0xE4}, six[] = {0x41, 0x30, 0x0C};
    const int64_t i4[] = {1, 7, -8, -1}, u4[] = {1, 7, 8, 15}, i2[] = {0, 1, -2, -1}, u2[] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tensor_get_int(over(I4, 4, nibbles), i), i4[i]);
        assert_int_equal(tensor_get_int(over(U4, 4, nibbles), i), u4[i]);
        assert_int_equal(tensor_get_int(over(I2, 4, two), i), i2[i]);
        assert_int_equal(tensor_get_int(over(U2, 4, two), i), u2[i]);
    }
    assert_true(tensor_get(over(F4E2M1, 4, nibbles), 1) == 6);
    assert_true(tensor_get(over(F6E2M3, 4, six), 0) == 0.125); /* code 000001 */
    assert_true(tensor_get(over(F6E2M3, 4, six), 3) == 0.375); /* code 000011 */
    static const uint16_t half[] = {0x3C00, 0xC000};
    assert_true(tensor_get(over(F16, 2, half), 1) == -2);
    static const uint64_t large = UINT64_MAX;
    assert_true(tensor_get(over(U64, 1, &large), 0) == 18446744073709551616.0);
    assert_true(tensor_get(tensor_float(BF16, 1.5), 0) == 1.5);
    assert_int_equal(tensor_get_int(tensor_int(I4, -3), 0), -3);
}

static void fills_are_expanded(void **state)
{
    (void)state;
    static const float one = 1;
    Tensor *t = tensor_new_fill(F32, shape_list(2, D(3), D(5)), &one);
    const float *x = tensor_data(t);
    for (int i = 0; i < 15; i++)
        assert_true(x[i] == 1 && tensor_get(t, i) == 1);
    tensor_drop(t);
    static const uint8_t code6 = 0x2A, code2 = 2;
    t = tensor_new_fill(F6E3M2, shape_list(1, D(3)), &code6); /* 18 bits */
    assert_memory_equal(tensor_data(t), ((uint8_t[]){0xAA, 0xAA, 0x02}), 3);
    t = tensor_new_fill(U2, shape_list(1, D(5)), &code2);
    assert_memory_equal(tensor_data(t), ((uint8_t[]){0xAA, 0x02}), 2);
}

static void unaligned_bytes_are_copied(void **state)
{
    (void)state;
    static char file[32] __attribute__((aligned(8)));
    const int64_t v[] = {5, -6};
    memcpy(file + 3, v, sizeof v);
    Tensor *t = over(I64, 2, file + 3);
    assert_int_equal((uintptr_t)tensor_data(t) % 8, 0);
    assert_int_equal(tensor_get_int(t, 1), -6);
    tensor_drop(t);
    assert_ptr_equal(t->data, file + 3);
    Tensor *y = tensor_view(t, shape_list(2, D(2), D(1)));
    assert_int_equal(tensor_get_int(y, 0), 5);
    assert_int_equal(y->rank, 2);
}

static void sizes_as_elements(void **state)
{
    (void)state;
    Dim d[] = {D(3), dim_symbol(symbol_by_name(name("batch")))};
    assert_true(tensor_dims(2, d)->symbolic);
    assert_false(tensor_dims(1, d)->symbolic);
}

static void broadcasting(void **state)
{
    (void)state;
    Dim n = dim_symbol(symbol_by_name(name("n")));
    Shape y;
    assert_true(shape_broadcast(shape_list(3, D(4), D(1), n), shape_list(2, D(5), D(1)), &y));
    assert_string_equal(shape_text(y), "[4,5,n]");
    assert_true(shape_broadcast(shape_list(1, n), shape_list(1, D(7)), &y));
    assert_string_equal(shape_text(y), "[7]");
    assert_false(shape_broadcast(shape_list(1, D(2)), shape_list(1, D(3)), &y));
    assert_true(shape_broadcast(shape_list(0), shape_list(1, D(0)), &y));
    assert_string_equal(shape_text(y), "[0]");
}

static void uses_follow(void **state)
{
    (void)state;
    Model m = {0};
    Graph g = {.model = &m};
    Value *x = value_new(&g, name("x")), *z = value_new(&g, NULL);
    Node *a = node_new(&g, "Identity", 1, &x, 1), *b = node_new(&g, "Identity", 1, a->out, 1);
    node_insert(b, NULL);
    node_insert(a, b);
    assert_ptr_equal(g.first, a);
    assert_ptr_equal(a->next, b);
    vec_push(&g.out, NULL);
    graph_set_output(&g, 0, a->out[0]);
    assert_int_equal(a->out[0]->uses.n, 2);
    assert_true(value_is_output(a->out[0]));
    value_replace(a->out[0], z);
    assert_ptr_equal(b->in[0], z);
    assert_ptr_equal(g.out.at[0], z);
    assert_int_equal(a->out[0]->uses.n, 0);
    assert_int_equal(z->uses.n, 2);
    node_remove(b);
    assert_int_equal(z->uses.n, 1);
    assert_ptr_equal(g.last, a);
    attr_set_int(a, "k", 3);
    attr_set_int(a, "k", 4);
    assert_int_equal(a->n_attr, 1);
    assert_int_equal(node_attr(a, "k")->i, 4);
    assert_null(node_attr(a, "j"));
}

UNIT_TESTS(cmocka_unit_test(elements), cmocka_unit_test(fills_are_expanded),
           cmocka_unit_test(unaligned_bytes_are_copied), cmocka_unit_test(sizes_as_elements),
           cmocka_unit_test(broadcasting), cmocka_unit_test(uses_follow))
