/* state.h - a training model's state as bytes, the same on every machine: little-endian, with a hash at the end. */
#ifndef ONNXCC_STATE_H
#define ONNXCC_STATE_H
#include "rt.h"

/* FNV-1a of n bytes. */
SHARED u64 rt_state_hash(const unsigned char *p, size_t n)
{
    u64 h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

SHARED int rt_state_same(const unsigned char *a, const unsigned char *b, size_t n)
{
    while (n > 0 && a[n - 1] == b[n - 1])
        n--;
    return n == 0;
}

/* Copies n elements of `width` bytes between memory and little-endian bytes. */
SHARED void rt_state_copy(void *to, const void *from, size_t n, size_t width)
{
#ifdef RT_BIG_ENDIAN
    for (size_t i = 0; i < n * width; i++)
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i - i % width + (width - 1 - i % width)];
#else
    memcpy(to, from, n * width);
#endif
}
#endif
