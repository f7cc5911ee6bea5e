/* spatial.c - unit tests of compiler/ir/spatial.c: the windows over an axis, of a known and of a symbolic size, are those that
 * the standard's text of pools and convolutions allows, counted one by one.
 * Parts: ir/spatial. */
#include "unit.h"

#include "onnxcc.h"
#include "ir/schema.h"
#include "ir/spatial.h"

static Model model;
static Graph graph = {.model = &model, .path = "graph"};

/* A MaxPool of x, whose sizes are N,C,size. */
static Node *pool(Dim size)
{
    Value *x = value_new(&graph, name("x"));
    x->type = F32;
    x->shape = shape_keep(shape_list(3, D(2), D(5), size));
    Node *n = node_new(&graph, "MaxPool", 1, &x, 1);
    n->op = op_find("", "MaxPool", 22);
    return n;
}

static int64_t number(Dim d)
{
    assert_true(dim_is_const(d));
    return dim_value(d);
}

/* The array index of the only axis. */
enum { ONE = 2 };

static void the_axis_is_the_last(void **state)
{
    (void)state;
    Image m;
    Node *n = pool(D(7));
    assert_true(image_read(n, 0, &m));
    assert_int_equal(m.axes, 1);
    assert_int_equal(image_first(&m), ONE);
    assert_int_equal(number(m.size[0]), 1);
    assert_int_equal(number(m.size[ONE]), 7);
    assert_int_equal(number(m.pixels), 7);
    assert_string_equal(shape_text(image_shape(n, &m, m.channels, m.size)), "[2,5,7]");
    n->channels_last = true;
    assert_true(image_read(n, 0, &m));
    assert_int_equal(number(m.channels), 7);
    assert_int_equal(number(m.size[ONE]), 5);
}

/* Window i begins at i * stride - begin and ends `reach` elements later; it counts if it ends in the padded image. ceil: if the one
 * before it ends earlier than that, unless it begins in the padding at the end. */
static int64_t counted(int64_t size, int64_t reach, int64_t stride, int64_t begin, int64_t end, bool ceil)
{
    int64_t i = 0;
    while (i * stride - begin + reach <= size + end)
        i++;
    if (ceil && i && (i - 1) * stride - begin + reach < size + end && i * stride - begin < size)
        i++;
    return i;
}

static void windows_are_those_counted(void **state)
{
    (void)state;
    Symbol *symbol = symbol_fresh("size", 1, 100);
    symbol->known = true;
    for (int k = 0; k < 4 * 3 * 3 * 3 * 3 * 2; k++) {
        const int64_t kernel = k % 4 + 1, stride = k / 4 % 3 + 1, dilation = k / 12 % 3 + 1, begin = k / 36 % 3;
        const int64_t end = k / 108 % 3, reach = (kernel - 1) * dilation + 1;
        const bool ceil = k / 324;
        Image m;
        Windows w;
        Node *n = pool(dim_symbol(symbol));
        attr_set_ints(n, "kernel_shape", 1, &kernel);
        attr_set_ints(n, "strides", 1, &stride);
        attr_set_ints(n, "dilations", 1, &dilation);
        attr_set_ints(n, "pads", 2, (int64_t[]){begin, end});
        attr_set_int(n, "ceil_mode", ceil);
        assert_true(image_read(n, 0, &m) && windows_read(n, &m, NULL, &w));
        assert_int_equal(number(w.out[0]), 1);
        assert_true(w.padded || (!begin && !end && !ceil));
        for (symbol->value = 1; symbol->value <= 20; symbol->value++)
            if (symbol->value + begin + end >= reach && end < reach) /* more would be windows of padding alone */
                assert_int_equal(dim_eval(w.out[ONE]), counted(symbol->value, reach, stride, begin, end, ceil));
    }
}

/* SAME: ceil(size / stride) windows; the least padding for them, an odd element at the end (UPPER) or at the begin (LOWER). */
static void same_has_the_least_padding(void **state)
{
    (void)state;
    for (int64_t size = 1; size <= 9; size++)
        for (int k = 0; k < 24; k++) {
            const int64_t kernel = k % 4 + 1, stride = k / 4 % 3 + 1, windows = (size + stride - 1) / stride;
            const bool lower = k / 12;
            int64_t total = 0;
            while (counted(size, kernel, stride, 0, total, false) < windows)
                total++;
            Image m;
            Windows w;
            Node *n = pool(D(size));
            attr_set_ints(n, "kernel_shape", 1, &kernel);
            attr_set_ints(n, "strides", 1, &stride);
            attr_set_string(n, "auto_pad", lower ? "SAME_LOWER" : "SAME_UPPER");
            assert_true(image_read(n, 0, &m) && windows_read(n, &m, NULL, &w));
            assert_int_equal(number(w.out[ONE]), windows);
            assert_int_equal(number(w.pad[ONE]), (total + lower) / 2);
            assert_int_equal(number(w.pad_end[ONE]), total - (total + lower) / 2);
        }
}

UNIT_TESTS(cmocka_unit_test(the_axis_is_the_last), cmocka_unit_test(windows_are_those_counted),
           cmocka_unit_test(same_has_the_least_padding))
