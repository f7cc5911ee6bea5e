/* expr.h - what dim.c and poly.c share: expressions as they are stored. */
#ifndef ONNXCC_EXPR_H
#define ONNXCC_EXPR_H

#include "ir/dim.h"

typedef enum ExprKind {
    EXPR_SYMBOL, /* symbol id */
    EXPR_POLY,   /* a sum of terms: coefficient, number of atoms, atoms in ascending order; see poly.c */
/* The others have parts: two Dims, EXPR_SELECT three. ADD and MUL are what is too large to be written out. */
#define EXPR(kind, ...) EXPR_##kind,
#include "ir/expr.def"
#undef EXPR
} ExprKind;

typedef struct Range {
    int64_t lo, hi;
} Range;

typedef struct Expr {
    ExprKind kind;
    int n;                                                        /* words */
    int size;                                                     /* symbols and operations when it is written out */
    unsigned seen, resolved_at, bounded_at, valued_at, narrow_at; /* when the last walk was here, with what result */
    Dim resolved;
    Range range;
    bool narrow;
    int64_t value;
    int64_t w[];
} Expr;

Expr *dim_expr(Dim d);
int dim_order(Dim a, Dim b); /* < 0: a comes first where a and b may change places */
Dim dim_make(ExprKind kind, int n, const int64_t *w);
Dim dim_opaque_add(Dim a, Dim b);
Dim dim_opaque_mul(Dim a, Dim b);
Range dim_range(Dim d);
unsigned dim_clock(void); /* the time of a walk over several sizes, between which no bounds change */
Range dim_range_at(Dim d, unsigned time);
void symbol_check_known(const Symbol *s, bool known); /* of a run, or in the C, where it has a variable */
const char *expr_text(Dim d);

/* Saturating; division and modulo round down. */
int64_t number_mul(int64_t a, int64_t b);
int64_t number_div(int64_t a, int64_t b);
int64_t number_mod(int64_t a, int64_t b);

#endif
