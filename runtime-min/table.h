/* table.h - an elementwise function of 8-bit values, as a lookup table. */
#ifndef ONNXCC_TABLE_H
#define ONNXCC_TABLE_H
#include "rt.h"

#define table_PARAMS(X, V) X(idx, count)
PARAMS(table)
#endif

#define TABLE_TYPE_u8 1
#if defined T && !defined U
#if RT_TAKES(TABLE_TYPE_, T)
/* y[i] = codes[x[i]]; y may be x. */
KERNEL void FN(table)(const void *x, const void *codes, void *y, struct table p)
{
    for (idx i = 0; i < p.count; i++)
        ((T *)y)[i] = ((const T *)codes)[((const T *)x)[i]];
}
REGISTER_KERNEL(table, 3, 2, 0)
#endif
#endif
