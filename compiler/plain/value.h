/* value.h - the values that an integer or a pointer may have: none, a few, or those between two bounds. A pointer is 0
 * or at least 1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { VALUE_FEW = 12 };
#define VALUE_INF INT64_MAX /* as a bound: none */

typedef struct ValueSet {
    enum { VALUE_NONE, VALUE_SET, VALUE_RANGE } kind;
    int n;
    int64_t v[VALUE_FEW]; /* ascending */
    int64_t lo, hi;
} ValueSet;

ValueSet value_is(int64_t v);
ValueSet value_between(int64_t lo, int64_t hi);
ValueSet value_any(void);
ValueSet value_pointer(void); /* not NULL */
bool value_is_single(const ValueSet *v, int64_t *is);
bool value_is_equal(const ValueSet *a, const ValueSet *b);
ValueSet value_join(ValueSet a, ValueSet b);    /* the values of both */
ValueSet value_widen(ValueSet old, ValueSet b); /* the same; bounds that grow become infinite */
ValueSet value_binary(const char *op, ValueSet a, ValueSet b);
ValueSet value_unary(const char *op, ValueSet a);
ValueSet value_limited(ValueSet v); /* any, unless all values have 32 bits */
bool value_clamp(ValueSet *v, int64_t lo,
                 int64_t hi); /* leaves those in [lo, hi]; false: there are none, v is as it was */
/* 1: no value is 0; 0: every value is 0; -1: neither, or the set is empty. */
int value_truth(const ValueSet *v);
