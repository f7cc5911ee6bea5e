/* dim.c - unit tests of compiler/ir/dim.c and poly.c: sizes as expressions are simplified, bounded and evaluated
 * correctly.
 * Parts: ir/dim, ir/expr, ir/poly, ir/dim_print, ir/symbol. */
#include <stdlib.h>
#include "unit.h"

#include "base/options.h"
#include "onnxcc.h"
#include "rt.h"

static Symbol *n_, *m_, *s_;
static Dim n, m, s; /* n, m >= 0; s any */

static int setup(void **state)
{
    fresh_run(state);
    opt()->target = target_find("generic");
    n_ = symbol_by_name(name("n"));
    m_ = symbol_by_name(name("m"));
    s_ = symbol_fresh("start", INT64_MIN, INT64_MAX);
    n = dim_symbol(n_);
    m = dim_symbol(m_);
    s = dim_symbol(s_);
    n_->c = "n";
    m_->c = "m";
    s_->c = "start";
    n_->known = m_->known = s_->known = true;
    return 0;
}

static void assert_dim(Dim a, Dim b)
{
    assert_string_equal(dim_text(a), dim_text(b));
    assert_true(dim_identical(a, b));
}

/* The C of a, where n and m are at most `high`, and s is from -high to high. */
static void assert_print(int64_t high, Dim a, const char *want)
{
    n_->high = m_->high = s_->high = high;
    s_->low = -high;
    assert_string_equal(dim_c(a), want);
    n_->high = m_->high = s_->high = INT64_MAX;
    s_->low = INT64_MIN;
}

static void numbers(void **state)
{
    (void)state;
    assert_dim(dim_add(D(2), D(3)), D(5));
    assert_dim(dim_add(D(INT64_MAX), D(3)), D(INT64_MAX));
    assert_dim(dim_sub(D(INT64_MIN), D(3)), D(INT64_MIN));
    assert_dim(dim_mul(D(INT64_MAX / 2), D(-3)), D(INT64_MIN));
    assert_dim(dim_div(D(-7), D(2)), D(-4));
    assert_dim(dim_ceil(D(-7), D(2)), D(-3));
    assert_dim(dim_ceil(D(7), D(2)), D(4));
    assert_dim(dim_mod(D(-7), D(4)), D(1));
    assert_dim(dim_min(D(3), D(-4)), D(-4));
    assert_dim(dim_select(D(0), D(1), D(2)), D(2));
    assert_false(dim_is_number_ok(((int64_t)0x6F6E6E78 << 32) + 5));
    assert_true(dim_is_number_ok(INT64_MAX));
    assert_true(dim_is_number_ok(-1));
    assert_dim(dim_add(D((int64_t)0x6F6E6E77 << 32), D((int64_t)1 << 32)), D(INT64_MAX));
}

static void sums_and_products(void **state)
{
    (void)state;
    assert_dim(dim_add(n, m), dim_add(m, n));
    assert_dim(dim_sub(dim_add(n, m), m), n);
    assert_dim(dim_sub(n, n), D(0));
    assert_dim(dim_div(dim_mul(n, D(12)), D(12)), n);
    assert_dim(dim_mul(dim_add(n, D(1)), dim_sub(n, D(1))), dim_sub(dim_mul(n, n), D(1)));
    assert_dim(dim_div(dim_mul(dim_add(n, D(1)), dim_add(m, n)), dim_add(n, m)), dim_add(n, D(1)));
    assert_dim(dim_div(dim_mul(dim_mul(n, m), D(6)), dim_mul(m, D(2))), dim_mul(n, D(3)));
    assert_dim(dim_add(dim_mul(n, D(2)), dim_mul(n, D(-2))), D(0));
    assert_print(10000, dim_sub(dim_mul(D(2), dim_mul(n, m)), D(3)), "2 * n * m - 3");
    assert_print(10000, dim_sub(D(3), n), "-1 * n + 3");
    assert_print(INT64_MAX, dim_mul(n, m), "rt_size(rt_wide_mul(n, m))");
    assert_print(100000, dim_add(dim_mul(n, m), D(1)), "rt_size(rt_wide_add(rt_wide_mul(n, m), 1))");
}

static void divisions(void **state)
{
    (void)state;
    assert_dim(dim_div(dim_mul(dim_mul(n, m), D(4)), dim_mul(m, D(8))), dim_div(n, D(2)));
    assert_dim(dim_div(dim_mul(n, dim_add(m, D(2))), dim_mul(n, D(4))), dim_div(dim_add(m, D(2)), D(4)));
    assert_dim(dim_div(dim_add(dim_mul(n, D(12)), D(5)), D(12)), n);
    assert_dim(dim_ceil(dim_mul(n, D(12)), D(12)), n);
    assert_dim(dim_div(dim_mul(n, D(4)), D(6)), dim_div(dim_mul(n, D(2)), D(3)));
    assert_dim(dim_div(dim_div(n, D(2)), D(3)), dim_div(n, D(6)));
    assert_dim(dim_mod(dim_add(dim_mul(n, D(12)), D(5)), D(12)), D(5));
    assert_dim(dim_mod(dim_mul(n, m), m), D(0));
    assert_dim(dim_div(dim_add(dim_mul(n, m), m), m), dim_add(n, D(1)));
    assert_dim(dim_ceil(dim_mul(n, m), m), n);
    assert_dim(dim_div(dim_sub(dim_mul(n, D(2)), D(1)), D(2)), dim_sub(n, D(1)));
    assert_print(10000, dim_div(dim_add(n, D(1)), D(2)), "(n + 1) / 2");
    assert_print(10000, dim_mul(dim_div(n, D(2)), m), "m * (n / 2)");
    assert_print(10000, dim_div(dim_sub(n, D(1)), D(2)), "rt_div(n - 1, 2)");
    assert_print(10000, dim_div(n, m), "rt_div(n, m)");
}

static void bounds_of_symbols(void **state)
{
    (void)state;
    int64_t low = 0;
    Dim steps = dim_add(dim_div(dim_sub(n, D(10)), D(5)), D(1)),
        after = dim_sub(dim_div(dim_sub(steps, D(3)), D(2)), D(4));
    assert_ptr_equal(dim_at_least(steps, &low), n_); /* (n - 10) / 5 >= -1 */
    assert_int_equal(low, 5);
    low = 1;
    assert_ptr_equal(dim_at_least(after, &low), n_); /* steps - 3 >= 10 */
    assert_int_equal(low, 70);
    low = 10;
    assert_ptr_equal(dim_at_least(dim_add(dim_mul(D(3), n), D(2)), &low), n_); /* 3 n >= 8 */
    assert_int_equal(low, 3);
    assert_null(dim_at_least(dim_add(n, m), &low));
    assert_null(dim_at_least(dim_sub(D(5), n), &low));
    assert_null(dim_at_least(D(5), &low));
}

static void comparisons(void **state)
{
    (void)state;
    assert_dim(dim_min(n, dim_add(n, D(1))), n);
    assert_dim(dim_max(n, D(0)), n);
    assert_dim(dim_min(n, D(INT64_MAX)), n);
    assert_dim(dim_min(n, m), dim_min(m, n));
    assert_dim(dim_max(dim_min(n, m), n), n);
    assert_dim(dim_min(dim_min(n, m), m), dim_min(n, m));
    assert_dim(dim_less_expr(n, D(0)), D(0));
    assert_dim(dim_less_expr(n, dim_add(n, D(3))), D(1));
    assert_dim(dim_eq_expr(n, dim_add(n, D(3))), D(0));
    assert_dim(dim_eq_expr(n, n), D(1));
    assert_dim(dim_select(dim_less_expr(s, D(0)), n, n), n);
    assert_dim(dim_select(dim_eq_expr(n, D(1)), dim_min(D(64), n), n),
               n); /* an axis of a broadcast whose sizes have one origin */
    assert_dim(dim_select(dim_eq_expr(dim_min(D(64), n), D(1)), n, dim_min(D(64), n)), dim_min(D(64), n));
    assert_false(dim_identical(dim_select(dim_eq_expr(n, D(70)), dim_min(D(64), n), n), n));
    assert_false(dim_identical(dim_select(dim_eq_expr(n, D(1)), s, n), n));
    m_->known = false;
    symbol_fix(n_, m);
    assert_dim(dim_resolve(dim_select(dim_eq_expr(n, D(2)), dim_min(D(64), n), n)), m);
    Dim from = dim_select(dim_less_expr(s, D(0)), dim_add(s, n), s), at = dim_min(dim_max(from, D(0)), n);
    assert_true(dim_is_at_most(at, n));
    assert_true(dim_is_at_most(D(0), at));
    assert_dim(dim_max(dim_sub(n, at), D(0)), dim_sub(n, at));
    assert_dim(dim_max(dim_sub(n, dim_div(n, D(2))), D(0)), dim_sub(n, dim_div(n, D(2))));
    assert_dim(dim_less_expr(dim_div(n, D(2)), dim_add(n, D(1))), D(1));
    assert_print(10000, dim_select(dim_less_expr(s, D(0)), D(1), D(2)), "((start < 0) ? 1 : 2)");
}

static void bounds(void **state)
{
    (void)state;
    n_->high = 10;
    n_->low = 1;
    assert_int_equal(dim_high(dim_add(dim_mul(n, D(3)), D(1))), 31);
    assert_int_equal(dim_low(dim_sub(D(5), n)), -5);
    assert_int_equal(dim_high(dim_sub(D(5), n)), 4);
    assert_int_equal(dim_high(dim_mul(n, m)), INT64_MAX);
    assert_int_equal(dim_low(dim_sub(n, m)), INT64_MIN);
    assert_int_equal(dim_high(dim_min(n, m)), 10);
    assert_int_equal(dim_high(dim_div(n, D(3))), 3);
    assert_int_equal(dim_high(dim_mod(m, n)), 9);
    assert_int_equal(dim_high(dim_ceil(n, D(3))), 4);
    assert_int_equal(dim_low(dim_mul(s, s)), INT64_MIN);
    assert_int_equal(dim_high(dim_select(dim_less_expr(m, D(3)), n, D(20))), 20);
    /* windows of convolutions with strides: 3 * (x + 1) * (y + 1) with x, y >= -1 */
    const Dim x = dim_div(dim_sub(n, D(2)), D(4)), y = dim_div(dim_sub(m, D(1)), D(4));
    const Dim windows = dim_mul(D(3), dim_mul(dim_add(x, D(1)), dim_add(y, D(1))));
    assert_int_equal(dim_low(windows), 0);
    assert_int_equal(dim_low(dim_add(windows, D(7))), 7);
    assert_int_equal(dim_low(dim_sub(windows, dim_mul(D(4), x))), INT64_MIN);
    assert_int_equal(dim_low(dim_add(dim_mul(x, x), dim_mul(D(2), x))), -1);
}

static void count(Symbol *sym, void *arg)
{
    (void)sym;
    ++*(int *)arg;
}

static void symbols(void **state)
{
    (void)state;
    assert_ptr_equal(symbol_by_name(name("n")), n_);
    assert_ptr_not_equal(symbol_fresh("n", 0, 5), n_);
    assert_ptr_equal(symbol_of(m), m_);
    assert_null(symbol_of(dim_add(n, m)));
    Dim d = dim_add(dim_mul(n, m), dim_min(n, dim_mul(m, D(3))));
    int k = 0;
    dim_symbols(d, count, &k);
    assert_int_equal(k, 2);
    n_->value = 7;
    m_->value = 2;
    assert_int_equal(dim_eval(d), 20);
    symbol_fix(m_, dim_add(n, D(1)));
    assert_dim(dim_symbol(m_), dim_add(n, D(1)));
    assert_int_equal(dim_eval(d), 63);
    symbol_fix(n_, D(4));
    assert_dim(dim_resolve(d), D(24));
    symbol_fix(n_, D(4));
}

/* A random expression; *v is its value for the symbols' current values, computed step by step. */
static Dim random_dim(int depth, int64_t *v)
{
    int64_t x, y, z;
    int op = depth ? rand() % 12 : rand() % 2;
    if (op == 0)
        return D(*v = rand() % 9 - 2);
    if (op == 1) {
        Symbol *sym = symbol_at(rand() % 3);
        *v = sym->value;
        return dim_symbol(sym);
    }
    Dim a = random_dim(depth - 1, &x), b = random_dim(depth - 1, &y), c;
    int64_t by = rand() % 6 + 1;
    switch (op) {
    case 2:
    case 3: *v = x + y; return dim_add(a, b);
    case 4: *v = x - y; return dim_sub(a, b);
    case 5: *v = x * y; return dim_mul(a, b);
    case 6: *v = rt_div(x, by); return dim_div(a, D(by));
    case 7: *v = rt_mod(x, by); return dim_mod(a, D(by));
    case 8: *v = x < y ? x : y; return dim_min(a, b);
    case 9: *v = x > y ? x : y; return dim_max(a, b);
    case 10:
        if (y > 0 && dim_low(b) > 0) {
            *v = rt_div(x + y - 1, y);
            return dim_ceil(a, b);
        }
        *v = x < y;
        return dim_less_expr(a, b);
    default:
        c = random_dim(depth - 1, &z);
        *v = x == y ? y : z;
        return dim_select(dim_eq_expr(a, b), b, c);
    }
}

static void random_expressions(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 3000; i++) {
        if (i % 10 == 0) {
            setup(NULL);
            n_->low = 1, n_->high = 9;
            m_->low = 0, m_->high = 5;
            s_->low = -7, s_->high = 7;
        }
        n_->value = rand() % 9 + 1;
        m_->value = rand() % 6;
        s_->value = rand() % 15 - 7;
        int64_t want;
        Dim d = random_dim(4, &want);
        assert_int_equal(dim_eval(d), want);
        assert_true(dim_low(d) <= want && want <= dim_high(d));
        if (i % 10 == 9) { /* fixing symbols leaves the value */
            symbol_fix(n_, D(n_->value));
            symbol_fix(m_, D(m_->value));
            symbol_fix(s_, D(s_->value));
            assert_dim(dim_resolve(d), D(want));
        }
    }
}

static void large_ones_stay_right(void **state)
{
    (void)state;
    Dim sum = D(0), product = D(1);
    for (int i = 0; i < 200; i++) {
        Symbol *x = symbol_fresh("x", 0, 3);
        x->value = i % 4;
        x->known = true;
        sum = dim_add(sum, dim_symbol(x));
        if (i < 20)
            product = dim_mul(product, dim_add(dim_symbol(x), D(1)));
    }
    assert_int_equal(dim_eval(sum), 300);
    assert_int_equal(dim_high(sum), 600);
    assert_int_equal(dim_eval(product), 24LL * 24 * 24 * 24 * 24);
    assert_int_equal(dim_eval(dim_mul(sum, product)), 300LL * 24 * 24 * 24 * 24 * 24);
}

UNIT_TESTS(cmocka_unit_test_setup(numbers, setup), cmocka_unit_test_setup(sums_and_products, setup),
           cmocka_unit_test_setup(divisions, setup), cmocka_unit_test_setup(bounds_of_symbols, setup),
           cmocka_unit_test_setup(comparisons, setup), cmocka_unit_test_setup(bounds, setup),
           cmocka_unit_test_setup(symbols, setup), cmocka_unit_test(random_expressions),
           cmocka_unit_test_setup(large_ones_stay_right, setup))
