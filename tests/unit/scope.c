/* scope.c - unit tests of compiler/ir/scope.c and symbol.c: the origin of a size, and the graph in which it becomes
 * known.
 * Parts: ir/scope, ir/symbol. */
#include "unit.h"

#include "onnxcc.h"
#include "ir/scope.h"

static Model model;
static Graph outer = {.model = &model}, inner = {.model = &model, .parent = &outer}, other = {.model = &model};

static Value *integers(Graph *g, const char *n)
{
    Value *v = value_new(g, name(n));
    v->type = I64;
    v->shape = shape_keep(shape_list(1, D(3)));
    return v;
}

static void graphs_enclose(void **state)
{
    (void)state;
    assert_true(graph_encloses(&outer, &inner) && graph_encloses(&inner, &inner));
    assert_false(graph_encloses(&inner, &outer) || graph_encloses(&other, &inner));
}

static void origins(void **state)
{
    (void)state;
    Value *x = integers(&outer, "x"), *y = integers(&inner, "y"), *z = integers(&outer, "z");
    Symbol *caller = symbol_by_name(name("caller")), *dim = symbol_by_name(name("dim"));
    Symbol *element = symbol_fresh("element", 0, 9), *count = symbol_fresh("count", 0, 9);
    symbol_of_input(dim, x, 1);
    symbol_of_input(dim, z, 0);
    assert_int_equal(dim->origin.kind, ORIGIN_INPUT);
    assert_ptr_equal(dim->origin.value, x);
    assert_int_equal(dim->origin.index, 1);
    symbol_read_from(element, y, 2);
    assert_ptr_equal(symbols_of(y), element);
    Node *n = node_new(&inner, "NonZero", 1, &y, 1);
    symbol_made_by(count, n);
    symbol_made_by(count, n);
    assert_ptr_equal(symbols_of(n), count);
    assert_null(symbol_graph(caller));
    assert_null(symbol_graph(dim));
    assert_ptr_equal(symbol_graph(element), &inner);
    assert_ptr_equal(symbol_graph(count), &inner);
    scopes_begin();
    assert_ptr_equal(symbols_born_in(&inner), element);
    assert_ptr_equal(element->beside, count);
    assert_null(symbols_born_in(&outer));
    symbols_move(y, z);
    assert_null(symbols_of(y));
    assert_ptr_equal(symbols_of(z), element);
    assert_ptr_equal(symbol_graph(element), &outer);
}

/* Before its origin has run, a size is 0 or, if that is outside its bounds, the nearest bound. */
static void starts(void **state)
{
    (void)state;
    assert_int_equal(symbol_start(symbol_fresh("a", 0, 9)), 0);
    assert_int_equal(symbol_start(symbol_fresh("b", 2, 9)), 2);
    assert_int_equal(symbol_start(symbol_fresh("c", -9, -4)), -4);
    assert_int_equal(symbol_start(symbol_fresh("d", INT64_MIN, INT64_MAX)), 0);
}

UNIT_TESTS(cmocka_unit_test(graphs_enclose), cmocka_unit_test(origins), cmocka_unit_test(starts))
