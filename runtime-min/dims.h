/* dims.h - sizes as data: Shape of a tensor whose sizes are known only at run time. */
#ifndef ONNXCC_DIMS_H
#define ONNXCC_DIMS_H
#include "rt.h"

#define dims_PARAMS(X, V) X(int, count) V(i64, value, 64)
PARAMS(dims)
#endif

#if defined T && !defined U
#if RT_IS_INDEX(T) || RT_IS_BOOL(T)
/* y[i] = value[i] */
KERNEL void FN(dims)(T *y, struct dims p)
{
    for (int i = 0; i < p.count; i++)
        ST(y, i, (A)p.value[i]);
}
REGISTER_KERNEL(dims, 1, 0, 0)
#endif
#endif
