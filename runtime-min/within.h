/* within.h - run-time checks of values that the specification limits. */
#ifndef ONNXCC_WITHIN_H
#define ONNXCC_WITHIN_H
#include "rt.h"

/* below: high itself is excluded */
#define within_PARAMS(X, V) X(idx, count) X(idx, low) X(i64, high) X(int, below)
PARAMS(within)
#define divisor_PARAMS(X, V) X(idx, count)
PARAMS(divisor)
#define WITHIN_TYPE_i32 1 /* lengths */
#define WITHIN_TYPE_i64 1 /* positions */
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_TAKES(WITHIN_TYPE_, T)
/* y = x; RT_BAD_VALUE unless all elements are in [low, high] */
KERNEL int FN(within)(const T *x, T *y, struct within p)
{
    for (idx i = 0; i < p.count; i++) {
        const A v = LD(x, i);
        if (!(v >= (A)p.low && v <= (A)p.high) || (p.below && v == (A)p.high))
            return RT_BAD_VALUE;
        ST(y, i, v);
    }
    return RT_OK;
}
REGISTER_FALLIBLE(within, 2, 1, 0)
#endif

#if RT_IS_INT(T)
/* y = x; RT_BAD_VALUE if an element is 0 */
KERNEL int FN(divisor)(const T *x, T *y, struct divisor p)
{
    for (idx i = 0; i < p.count; i++) {
        const A v = LD(x, i);
        if (v == 0)
            return RT_BAD_VALUE;
        ST(y, i, v);
    }
    return RT_OK;
}
REGISTER_FALLIBLE(divisor, 2, 1, 0)
#endif
#endif
