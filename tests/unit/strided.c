/* strided.c - unit tests of compiler/ir/strided.c: copies have as few axes as their strides allow, also over symbols.
 * Parts: ir/strided. */
#include "unit.h"

#include "onnxcc.h"
#include "ir/strided.h"

/* The axes of y = transpose(x, perm), outermost first, as text: "dim:from:to". */
static const char *transposed(Shape x, const int *perm)
{
    Strided s = {0};
    Shape y = {.rank = x.rank};
    Dim from[MAX_RANK], to[MAX_RANK], dim[2 * MAX_RANK], x_step[2 * MAX_RANK], y_step[2 * MAX_RANK];
    for (int i = 0; i < x.rank; i++)
        y.dim[i] = x.dim[perm[i]];
    shape_strides(x, from);
    shape_strides(y, to);
    for (int i = 0; i < x.rank; i++)
        strided_axis(&s, y.dim[i], from[perm[i]], to[i]);
    Text t = {0};
    for (int i = 0, n = (int)dim_value(strided_axes(&s, dim, x_step, y_step)); i < n; i++) {
        text_put(&t, "%s", i ? " " : "");
        dim_print(&t, dim[i]);
        text_put(&t, ":");
        dim_print(&t, x_step[i]);
        text_put(&t, ":");
        dim_print(&t, y_step[i]);
    }
    return t.s;
}

static void axes_are_merged(void **state)
{
    (void)state;
    Shape x = shape_list(4, D(2), D(3), D(4), D(5));
    assert_string_equal(transposed(x, (int[]){0, 1, 2, 3}), "120:1:1");
    assert_string_equal(transposed(x, (int[]){0, 2, 3, 1}), "2:60:60 20:1:3 3:20:1");
    assert_string_equal(transposed(x, (int[]){2, 3, 0, 1}), "20:1:6 6:20:1");
    assert_string_equal(transposed(x, (int[]){3, 2, 1, 0}), "5:1:24 4:5:6 3:20:2 2:60:1");
}

static void axes_of_one_vanish(void **state)
{
    (void)state;
    assert_string_equal(transposed(shape_list(3, D(1), D(7), D(1)), (int[]){1, 2, 0}), "7:1:1");
    assert_string_equal(transposed(shape_list(2, D(1), D(1)), (int[]){1, 0}), "1:1:1");
    assert_string_equal(transposed(shape_list(0), NULL), "1:1:1");
}

static void symbols_are_merged(void **state)
{
    (void)state;
    Dim n = dim_symbol(symbol_by_name(name("n")));
    assert_string_equal(transposed(shape_list(3, n, D(3), D(4)), (int[]){0, 1, 2}), "12 * n:1:1");
    assert_string_equal(transposed(shape_list(3, D(3), n, D(4)), (int[]){1, 2, 0}), "4 * n:1:3 3:4 * n:1");
}

UNIT_TESTS(cmocka_unit_test(axes_are_merged), cmocka_unit_test(axes_of_one_vanish),
           cmocka_unit_test(symbols_are_merged))
