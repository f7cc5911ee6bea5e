/* load.h - copies of constants that are in the flash of an AVR, which pointers do not reach. */
#ifndef ONNXCC_LOAD_H
#define ONNXCC_LOAD_H
#include "rt.h"

#define load_PARAMS(X, V) X(idx, bytes)
PARAMS(load)
#define LOAD_TYPE_u8 1
#endif

#if defined T && !defined U
#if RT_TAKES(LOAD_TYPE_, T)
KERNEL void FN(load)(const void *restrict from, void *restrict to, struct load p)
{
#if defined __AVR__ && defined __GNUC__
    T *const y = to;
    for (idx i = 0; i < p.bytes; i++)
        __asm__ volatile("lpm %0, Z+" : "=r"(y[i]), "+z"(from));
#else
    memcpy(to, from, (size_t)p.bytes);
#endif
}
REGISTER_KERNEL(load, 2, 1, 0)
#endif
#endif
