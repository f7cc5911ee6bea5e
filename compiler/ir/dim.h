/* dim.h - sizes as numbers or as expressions over symbols. */
#pragma once

#include "base/util.h"

/* A size: a number, or an expression over symbols (hash-consed, so equal expressions are equal Dims).
* Opaque: use D(3), dim_is(d, 3), dim_add(a, b) ... Arithmetic folds constants and saturates. */
typedef struct Dim {
    int64_t v;
} Dim;
#define DIM_TAG 0x6F6E6E78 /* "onnx": the upper half of the 2^32 values near 8e18 that represent expressions */
static inline Dim D(int64_t v)
{
    return (Dim){v >> 32 == DIM_TAG ? INT64_MAX : v};
} /* such a number becomes infinite */
bool dim_is_const(Dim d);          /* a plain number? */
int64_t dim_value(Dim d);          /* the number; bug() when it is an expression */
bool dim_is_number_ok(int64_t v);  /* false: D(v) would be infinite */
bool dim_is_at_most(Dim a, Dim b); /* proven: a <= b for all values of the symbols */
static inline bool dim_identical(Dim a, Dim b) { return a.v == b.v; }
static inline bool dim_is(Dim d, int64_t v) { return d.v == v; }
Dim dim_add(Dim a, Dim b);
Dim dim_sub(Dim a, Dim b);
Dim dim_mul(Dim a, Dim b);
Dim dim_div(Dim a, Dim b);  /* floor; b > 0 */
Dim dim_ceil(Dim a, Dim b); /* ceiling; b > 0 */
Dim dim_mod(Dim a, Dim b);  /* floor modulo; b > 0 */
Dim dim_min(Dim a, Dim b);
Dim dim_max(Dim a, Dim b);
Dim dim_less_expr(Dim a, Dim b);          /* 1 or 0 */
Dim dim_eq_expr(Dim a, Dim b);            /* 1 or 0 */
Dim dim_select(Dim c, Dim a, Dim b);      /* c != 0 ? a : b */
bool dim_is_of_inputs(Dim d);             /* does it follow from the sizes of the model's inputs? */
bool dim_may_select_other(Dim d, Dim is); /* is d a selection with a choice that is proven to differ from `is`? */
int dim_size(Dim d);                      /* symbols and operations in it, when printed */
int64_t dim_low(Dim d);                   /* proven lower bound; INT64_MIN: none. dim_high: upper; INT64_MAX: none */
#define MAX_SIZE ((int64_t)1 << 48) /* limit of a dimension and of a tensor's elements */
int64_t dim_high(Dim d);
void dim_print(Text *t, Dim d);  /* for messages and dumps */
const char *dim_text(Dim d);     /* the same */
const char *dim_c(Dim d);        /* an expression over the emitted C's size variables, of type idx */
const char *dim_factor_c(Dim d); /* the same, in parentheses unless it can be a factor */
const char *dim_wide_c(Dim d);   /* the same, of type i64 and computed in 64 bits */
bool dim_is_plain(Dim d);        /* its type in C is idx */
/* The bits that the C so far needs in idx: 16 (or 0), 32 or 64. Machines have 16, 32 or 64. dim_note: v is a number of
 * type idx or int in the C. */
int dim_needed_bits(void);
void dim_note(int64_t v);
bool dim_is_truth(Dim d); /* a comparison, in parentheses as C */
/* Variables for parts of sizes (dim_parts.c). */
void dim_use(Dim d); /* the emitted code uses d once more */
/* Calls `declare` for each part of d that is to be a variable and is none yet, operands first. */
void dim_declare_parts(Dim d, void (*declare)(Dim, void *), void *arg);
void dim_is_variable(Dim d, const char *c, bool is_wide); /* from now on, of type i64 or idx; c NULL: no longer */
typedef struct Symbol Symbol;
/* Reduces d <= *max to a bound of one symbol: returns the symbol and sets *max to its bound; NULL: impossible. */
Symbol *dim_bounded(Dim d, int64_t *max);
Symbol *dim_at_least(Dim d, int64_t *min);                      /* the same for d >= *min */
Dim dim_resolve(Dim d);                                         /* replaces fixed symbols */
Dim dim_replace(Dim d, Dim (*by)(Symbol *, void *), void *arg); /* substitutes the symbols by sizes */
int64_t dim_eval(Dim d);                                        /* value under the symbols' current .value */
Symbol *const *symbols_in(Dim d);                               /* each once, then NULL; valid until the session ends */
#define EACH_SYMBOL(s, d) for (Symbol *s, *const *s##_at = symbols_in(d); (s = *s##_at++) != NULL;)
void dim_symbols(Dim d, void (*visit)(Symbol *, void *), void *arg);
