/* fill.h - fills a tensor with one value. */
#ifndef ONNXCC_FILL_H
#define ONNXCC_FILL_H
#include "rt.h"

/* y[i] = one element, i in [0, count). Its bits 0 to 63 are bits | bits_above << 32; of an element of 16 bytes, bits 64
 * to 127 are high | high_above << 32. */
#define fill_PARAMS(X, V) X(idx, count) X(i64, bits) X(i64, bits_above) X(i64, high) X(i64, high_above)
PARAMS(fill)
#endif

#if defined T && !defined U
#if RT_IS_WHOLE(T)
KERNEL void FN(fill)(void *to, struct fill p)
{
    T *const y = (T *)to;
    const u64 bits[2] = {(u64)p.bits | (u64)p.bits_above << 32, (u64)p.high | (u64)p.high_above << 32};
    T one[2];
#if defined ONNXCC_PLAIN && RT_KIND(T) != 9
    one[0] = (T)bits[0];
#elif defined RT_BIG_ENDIAN /* the lower bits are the last bytes of a word */
    memcpy(one, (const char *)bits + (sizeof(T) < 8 ? 8 - sizeof(T) : 0), sizeof one[0]);
#else
    memcpy(one, bits, sizeof one[0]);
#endif
    for (idx i = 0; i < p.count; i++)
        ST(y, i, LD(one, 0));
}
REGISTER_KERNEL(fill, 1, 0, 0)
#endif
#endif
