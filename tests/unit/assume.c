/* assume.c - unit tests of compiler/ir/assume.c: assumptions about sizes, which are recorded once, refuted, and due for a check as
 * soon as all sizes in them are known.
 * Parts: ir/assume. */
#include "unit.h"

#include "onnxcc.h"
#include "base/say.h"

static Model model;
static Graph outer = {.model = &model, .path = "graph"}, inner = {.model = &model, .parent = &outer, .path = "body"};
static Symbol *n_, *m_;
static Dim n, m;
static Node *in_outer, *in_inner;

static int setup(void **state)
{
    fresh_run(state);
    n_ = symbol_by_name(name("n"));
    m_ = symbol_by_name(name("m"));
    n = dim_symbol(n_);
    m = dim_symbol(m_);
    in_outer = node_new(&outer, "Add", 0, NULL, 1);
    in_inner = node_new(&inner, "Add", 0, NULL, 1);
    return 0;
}

static void equal_sizes_need_none(void **state)
{
    (void)state;
    assume_dim(in_outer, dim_add(n, m), dim_add(m, n));
    assume_dim(in_outer, D(3), D(3));
    assert_int_equal(assumption_count(), 0);
    assert_false(in_outer->pinned);
    assume_dim(in_outer, n, m);
    assert_int_equal(assumption_count(), 1);
    assert_true(in_outer->pinned);
}

static void ignore(const Message *message, void *unused) { (void)message, (void)unused; }

static void what_is_refuted(void **state)
{
    (void)state;
    assert_true(is_impossible(n, dim_add(n, D(1))));
    assert_true(is_impossible(n, D(-1))); /* a size is not negative */
    assert_true(is_impossible(dim_mul(n, D(2)), dim_add(dim_mul(n, D(2)), D(3))));
    assert_false(is_impossible(n, D(0)));
    assert_false(is_impossible(n, m));
    assume_dim(in_outer, n, m);
    assumptions_check(0);
    assert_int_equal(error_count(), 0);
    assume_dim(in_outer, n, dim_add(n, D(1)));
    assumptions_check(2);
    assert_int_equal(error_count(), 0);
    say_to(ignore, NULL);
    assumptions_check(0);
    say_to(NULL, NULL);
    assert_int_equal(error_count(), 1);
    assumptions_forget(1, 2);
    assumptions_check(0);
    assert_int_equal(error_count(), 1);
}

/* Aligned at the last axis: each pair of sizes is equal, or one of them is 1. */
static void broadcasts(void **state)
{
    (void)state;
    assume_broadcast(in_outer, shape_list(3, D(7), n, D(1)), shape_list(2, D(1), m));
    assert_int_equal(assumption_count(), 0);
    assume_broadcast(in_outer, shape_list(1, n), shape_list(2, D(9), m));
    assert_int_equal(assumption_count(), 1);
    const Assumption *a = assumption_at(0);
    n_->known = m_->known = true;
    for (n_->value = 0; n_->value < 4; n_->value++)
        for (m_->value = 0; m_->value < 4; m_->value++)
            assert_int_equal(dim_eval(a->d) == dim_eval(a->is),
                             n_->value == m_->value || n_->value == 1 || m_->value == 1);
}

static void due_when_known(void **state)
{
    (void)state;
    assume_dim(in_outer, n, D(4));
    assume_dim(in_inner, n, D(5));
    assume_dim(in_outer, m, n);
    assume_dim(in_outer, D(4), n); /* the first once more */
    Assumptions of = assumptions_of(&outer);
    assert_int_equal(of.n, 2);
    assert_int_equal(assumptions_of(&inner).n, 1);
    n_->known = m_->known = false;
    assert_null(assumption_to_check(&of));
    n_->known = true;
    assert_ptr_equal(assumption_to_check(&of), assumption_at(0));
    assert_null(assumption_to_check(&of));
    m_->known = true;
    assert_ptr_equal(assumption_to_check(&of), assumption_at(2));
    assert_int_equal(of.n, 0);
}

UNIT_TESTS(cmocka_unit_test_setup(equal_sizes_need_none, setup), cmocka_unit_test_setup(what_is_refuted, setup),
           cmocka_unit_test_setup(broadcasts, setup), cmocka_unit_test_setup(due_when_known, setup))
