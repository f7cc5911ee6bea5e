/* value.h - the values that an integer or a pointer may have: none, a few, or those between two bounds. A pointer is 0
 * or at least 1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { VALUE_FEW = 12 };
#define VALUE_INF INT64_MAX /* as a bound: none */

typedef struct Value {
    enum { VALUE_NONE, VALUE_SET, VALUE_RANGE } kind;
    int n;
    int64_t v[VALUE_FEW]; /* ascending */
    int64_t lo, hi;
} Value;

Value value_is(int64_t v);
Value value_between(int64_t lo, int64_t hi);
Value value_any(void);
Value value_pointer(void); /* not NULL */
bool value_single(const Value *v, int64_t *is);
bool value_equal(const Value *a, const Value *b);
Value value_join(Value a, Value b);    /* the values of both */
Value value_widen(Value old, Value b); /* the same; bounds that grow become infinite */
Value value_binary(const char *op, Value a, Value b);
Value value_unary(const char *op, Value a);
Value value_limited(Value v); /* any, unless all values have 32 bits */
/* 1: all values are not 0; 0: all are; -1: neither, or there is none. */
int value_truth(const Value *v);
