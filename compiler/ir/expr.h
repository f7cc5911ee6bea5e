/* expr.h - the representation of expressions, for the files that compute sizes. */
#pragma once

#include "ir/dim.h"

typedef enum ExprKind {
    EXPR_SYMBOL, /* symbol id */
    EXPR_POLY,   /* a sum of terms: coefficient, number of atoms, atoms in ascending order; see poly.c */
/* The others have operands: two Dims, EXPR_SELECT three. ADD and MUL are for what is too large to expand into a
 * POLY. */
#define EXPR(kind, ...) EXPR_##kind,
#include "ir/expr.def"
#undef EXPR
} ExprKind;

typedef struct Range {
    int64_t lo, hi;
} Range;

typedef struct Expr {
    ExprKind kind;
    int index; /* in the table of expressions */
    int n;     /* number of words in w */
    int size;  /* symbols and operations when printed */
    unsigned seen, resolved_at, bounded_at, valued_at,
        narrow_at; /* the clock of the last walk of each kind; its results: */
    Dim resolved;
    Range range;
    bool narrow;
    int64_t value;
    Symbol *const *symbols; /* of symbols_in; NULL: not asked for yet */
    int uses;               /* by the emitted code, and by expressions that it uses */
    const char *c;          /* the variable that holds it in the emitted code; NULL: none */
    bool c_is_wide;         /* ... has 64 bits */
    int64_t w[];
} Expr;

Expr *dim_expr(Dim d);
void expr_parts(const Expr *e, void (*visit)(Dim, void *), void *arg); /* of its operands, numbers too */
int dim_order(Dim a, Dim b); /* < 0: a comes first in a commutative operation */
Dim dim_make(ExprKind kind, int n, const int64_t *w);
Dim dim_make2(ExprKind kind, Dim a, Dim b);
Dim dim_commuting(ExprKind kind, Dim a, Dim b); /* the same for operands in any order */
Dim symbol_add(Symbol *s);                      /* numbers a new symbol; returns its expression */
Range dim_range(Dim d);
unsigned dim_clock(void); /* begins a walk over sizes, during which no bounds may change */
Range dim_range_at(Dim d, unsigned time);
void symbol_check_known(const Symbol *s,
                        bool known); /* bug() unless the symbol's value (or, in the C, its variable) is known */

/* Saturating; division and modulo round down. */
int64_t number_add(int64_t a, int64_t b);
int64_t number_mul(int64_t a, int64_t b);
int64_t number_div(int64_t a, int64_t b);
int64_t number_mod(int64_t a, int64_t b);
