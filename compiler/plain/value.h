/* value.h - the values that an integer or a pointer may have: none, a few, or those between two bounds. A pointer is 0
 * or at least 1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { VALUE_FEW = 12 };
#define VALUE_INF INT64_MAX /* as a bound: none */

typedef struct Values {
    enum { VALUE_NONE, VALUE_SET, VALUE_RANGE } kind;
    int n;
    int64_t v[VALUE_FEW]; /* ascending */
    int64_t lo, hi;
} Values;

Values value_is(int64_t v);
Values value_between(int64_t lo, int64_t hi);
Values value_any(void);
Values value_pointer(void); /* not NULL */
bool value_single(const Values *v, int64_t *is);
bool value_equal(const Values *a, const Values *b);
Values value_join(Values a, Values b);    /* the values of both */
Values value_widen(Values old, Values b); /* the same; bounds that grow become infinite */
Values value_binary(const char *op, Values a, Values b);
Values value_unary(const char *op, Values a);
Values value_limited(Values v); /* any, unless all values have 32 bits */
/* 1: all values are not 0; 0: all are; -1: neither, or there is none. */
int value_truth(const Values *v);
