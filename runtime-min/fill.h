/* fill.h - one value everywhere. */
#ifndef ONNXCC_FILL_H
#define ONNXCC_FILL_H
#include "rt.h"

/* y[i] = the element whose bits are `bits` (and `high`, for 128 of them), i in [0, count) */
#define fill_PARAMS(X, V) X(idx, count) X(i64, bits) X(i64, high)
PARAMS(fill)
#endif

#if defined T && !defined U
#if RT_IS_STORAGE(T)
KERNEL void FN(fill)(void *to, struct fill p)
{
    T *const y = (T *)to;
    const i64 bits[2] = {p.bits, p.high};
    T one[2];
    memcpy(one, bits, sizeof one[0]); /* little endian */
    for (idx i = 0; i < p.count; i++)
        ST(y, i, LD(one, 0));
}
RUNS(fill, 1, 0, 0)
#endif
#endif
