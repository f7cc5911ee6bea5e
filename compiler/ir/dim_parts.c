/* dim_parts.c - which parts of sizes become variables of the emitted C: those that it would repeat, and those of a long
 * expression. */
#include "ir/expr.h"
#include "ir/symbol.h"

enum {
    REPEATED = 6, /* symbols and operations of a part with several uses that is worth a variable */
    LONG = 14,    /* ... of one with a single use */
    LONG_WIDE = 8 /* ... in 64 bits, where operations are calls of functions */
};

static void use_part(Dim d, void *unused)
{
    (void)unused;
    dim_use(d);
}

void dim_use(Dim d)
{
    if (!dim_is_const(d) && dim_expr(d)->uses++ == 0)
        expr_parts(dim_expr(d), use_part, NULL);
}

static void add_length(Dim d, void *sum);

/* Symbols and operations of the text, in which a variable counts as one, and a term of a sum as one more than its
 * factors. */
static int length(Dim d)
{
    if (dim_is_const(d) || symbol_of(d) || dim_expr(d)->c)
        return 1;
    const Expr *e = dim_expr(d);
    int sum = e->kind != EXPR_POLY;
    for (int i = 0; e->kind == EXPR_POLY && i < e->n; i += 2 + (int)e->w[i + 1])
        sum++;
    expr_parts(e, add_length, &sum);
    return sum;
}

static void add_length(Dim d, void *sum) { *(int *)sum += length(d); }

static void and_total(Dim d, void *all);

/* Can d be computed where what contains it is? A divisor may be 0 unless its quotient is selected;
 * division in 64 bits allows that. */
static bool is_total(Dim d)
{
    if (dim_is_const(d) || dim_expr(d)->c)
        return true;
    const Expr *e = dim_expr(d);
    bool all = (e->kind != EXPR_DIV && e->kind != EXPR_MOD) || !dim_is_plain(d) || dim_low((Dim){e->w[1]}) > 0;
    expr_parts(e, and_total, &all);
    return all;
}

static void and_total(Dim d, void *all) { *(bool *)all = *(bool *)all && is_total(d); }

static bool is_worth_a_variable(Dim d, bool whole)
{
    const int n = length(d);
    const bool is_long = !whole && n > (dim_is_plain(d) ? LONG : LONG_WIDE);
    return (is_long || (n >= REPEATED && dim_expr(d)->uses > 1)) && is_total(d);
}

typedef struct Declaring {
    void (*declare)(Dim, void *);
    void *arg;
    bool whole; /* the next one is no part of another */
} Declaring;

static void declare_part(Dim d, void *arg)
{
    Declaring *to = arg;
    const bool whole = to->whole;
    to->whole = false;
    if (dim_is_const(d) || symbol_of(d) || dim_expr(d)->c)
        return;
    expr_parts(dim_expr(d), declare_part, arg);
    if (is_worth_a_variable(d, whole))
        to->declare(d, to->arg);
}

void dim_declare_parts(Dim d, void (*declare)(Dim, void *), void *arg)
{
    declare_part(d, &(Declaring){declare, arg, true});
}

void dim_is_variable(Dim d, const char *c, bool is_wide)
{
    dim_expr(d)->c = c;
    dim_expr(d)->c_is_wide = is_wide;
}
