/* hash.h - XXH64, for the check of weights that the caller loads. */
#ifndef ONNXCC_HASH_H
#define ONNXCC_HASH_H
#include "rt.h"

#define HASH_1 UINT64_C(0x9E3779B185EBCA87)
#define HASH_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define HASH_3 UINT64_C(0x165667B19E3779F9)
#define HASH_4 UINT64_C(0x85EBCA77C2B2AE63)
#define HASH_5 UINT64_C(0x27D4EB2F165667C5)

/* Words of 8 and 4 bytes, little-endian. */
HELPER u64 rt_hash_word(const unsigned char *p)
{
#ifdef RT_BIG_ENDIAN
    return __builtin_bswap64(*(const u64 *)(const void *)p);
#else
    return *(const u64 *)(const void *)p;
#endif
}
HELPER u64 rt_hash_turn(u64 x, int by) { return x << by | x >> (64 - by); }
HELPER u64 rt_hash_round(u64 a, u64 x) { return rt_hash_turn(a + x * HASH_2, 31) * HASH_1; }

/* The hash of n bytes, aligned to 8. */
SHARED u64 rt_hash(const unsigned char *p, size_t n)
{
    const unsigned char *const end = p + n;
    u64 h = HASH_5;
    if (n >= 32) {
        u64 lane[4] = {HASH_1 + HASH_2, HASH_2, 0, 0 - HASH_1};
        for (; end - p >= 32; p += 32)
            for (int i = 0; i < 4; i++)
                lane[i] = rt_hash_round(lane[i], rt_hash_word(p + 8 * i));
        h = rt_hash_turn(lane[0], 1) + rt_hash_turn(lane[1], 7) + rt_hash_turn(lane[2], 12) + rt_hash_turn(lane[3], 18);
        for (int i = 0; i < 4; i++)
            h = (h ^ rt_hash_round(0, lane[i])) * HASH_1 + HASH_4;
    }
    h += n;
    for (; end - p >= 8; p += 8)
        h = rt_hash_turn(h ^ rt_hash_round(0, rt_hash_word(p)), 27) * HASH_1 + HASH_4;
    for (; end - p >= 4; p += 4)
        h = rt_hash_turn(h ^ rt_get32(p) * HASH_1, 23) * HASH_2 + HASH_3;
    for (; p < end; p++)
        h = rt_hash_turn(h ^ *p * HASH_5, 11) * HASH_1;
    h = (h ^ h >> 33) * HASH_2;
    h = (h ^ h >> 29) * HASH_3;
    return h ^ h >> 32;
}

#endif
