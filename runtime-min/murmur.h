/* murmur.h - MurmurHash3 of 32 bits: hashes of numbers and strings. */
#ifndef ONNXCC_MURMUR_H
#define ONNXCC_MURMUR_H
#include "rt.h"

#define murmur_PARAMS(X, V) X(idx, count) X(int, seed)
PARAMS(murmur)
#define MURMUR_TYPE_u32 1
#define MURMUR_TYPE_u64 1
#define MURMUR_TYPE_str 1

HELPER u32 rt_murmur_turn(u32 x, int by) { return x << by | x >> (32 - by); }
HELPER u32 rt_murmur_mix(u32 h, u32 word)
{
    return h ^ rt_murmur_turn(word * UINT32_C(0xCC9E2D51), 15) * UINT32_C(0x1B873593);
}
HELPER u32 rt_murmur_word(u32 h, u32 word)
{
    return rt_murmur_turn(rt_murmur_mix(h, word), 13) * 5 + UINT32_C(0xE6546B64);
}
/* The hash of n bytes, whose words are in h. */
HELPER u32 rt_murmur_end(u32 h, u32 n)
{
    h ^= n;
    h = (h ^ h >> 16) * UINT32_C(0x85EBCA6B);
    h = (h ^ h >> 13) * UINT32_C(0xC2B2AE35);
    return h ^ h >> 16;
}

HELPER u32 rt_murmur_text(u32 h, str s)
{
    u64 i = 0;
    u32 rest = 0;
    for (; i + 4 <= s.length; i += 4)
        h = rt_murmur_word(h, rt_get32(s.text + i));
    for (u64 k = i; k < s.length; k++)
        rest |= (u32)(u8)s.text[k] << 8 * (k - i);
    return rt_murmur_end(i < s.length ? rt_murmur_mix(h, rest) : h, (u32)s.length);
}
#endif

#if defined T && !defined U
#if RT_TAKES(MURMUR_TYPE_, T)
/* y[i]: the hash of x[i]'s bytes, in little-endian order. */
KERNEL void FN(murmur)(const void *restrict from, void *restrict to, struct murmur p)
{
    const T *const x = from;
    u32 *const y = to;
    for (idx i = 0; i < p.count; i++) {
#if RT_IS_STRING(T)
        y[i] = rt_murmur_text((u32)p.seed, x[i]);
#else
        u32 h = rt_murmur_word((u32)p.seed, (u32)x[i]);
        if (sizeof(T) == 8)
            h = rt_murmur_word(h, (u32)((u64)x[i] >> 32));
        y[i] = rt_murmur_end(h, (u32)sizeof(T));
#endif
    }
}
REGISTER_KERNEL(murmur, 2, 1, 0)
#endif
#endif
