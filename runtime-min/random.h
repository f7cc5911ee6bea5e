/* random.h - random numbers: element i depends only on i, the key, and the generator: the seed and the number of steps
 * of a training model's state, or NULL (SplitMix64, by Steele, Lea and Flood 2014). */
#ifndef ONNXCC_RANDOM_H
#define ONNXCC_RANDOM_H
#include "rt.h"
#include "math.h"

/* seeded: the key is from an attribute `seed`, and the generator's own seed has no effect. */
#define random_uniform_PARAMS(X, V) X(idx, count) X(i64, key) X(idx, seeded) X(f64, low) X(f64, high)
#define random_normal_PARAMS(X, V) X(idx, count) X(i64, key) X(idx, seeded) X(f64, mean) X(f64, scale)
/* x: (batch, classes), logarithms of the classes' weights; y: (batch, samples), each a class. Scratch: classes. */
#define multinomial_PARAMS(X, V) X(idx, batch) X(idx, classes) X(idx, samples) X(i64, key) X(idx, seeded)
PARAMS(random_uniform)
PARAMS(random_normal)
PARAMS(multinomial)

HELPER u64 random_mix(u64 z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* The start of a sequence, far from those of adjacent keys, seeds and steps. */
HELPER u64 random_start(const u64 *generator, i64 key, idx seeded)
{
    u64 start = random_mix((u64)key + 0x9e3779b97f4a7c15);
    if (generator && !seeded)
        start = random_mix(start ^ generator[0]);
    if (generator)
        start = random_mix(start ^ generator[1]);
    return start;
}
HELPER u64 random_bits(u64 start, idx i)
{
    const u64 at = (u64)i;
    return random_mix(start + (at + 1) * 0x9e3779b97f4a7c15);
}

/* Uniform in [0, 1), a multiple of 2^-24 or 2^-53. */
HELPER f32 random_f32(u64 start, idx i) { return (f32)(u32)(random_bits(start, i) >> 40) * 0x1p-24f; }
HELPER f64 random_f64(u64 start, idx i) { return (f64)(i64)(random_bits(start, i) >> 11) * 0x1p-53; }
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
/* As many bits as T has: rounding must not give 1. */
#define RANDOM_DIGITS_f16 11
#define RANDOM_DIGITS_bf16 8
#define RANDOM_DIGITS_f32 24
#define RANDOM_DIGITS_f64 53
KERNEL void FN(random_uniform)(const u64 *generator, T *y, struct random_uniform p)
{
    const int digits = RT_CAT(RANDOM_DIGITS_, T);
    const u64 start = random_start(generator, p.key, p.seeded);
    const A low = (A)p.low, step = (A)(p.high - p.low) / (A)((i64)1 << digits);
    for (idx i = 0; i < p.count; i++)
        ST(y, i, low + step * (A)(i64)(random_bits(start, i) >> (64 - digits)));
}
REGISTER_KERNEL(random_uniform, 2, 1, 0)

/* By Box and Muller: two uniform numbers give two normal ones. */
KERNEL void FN(random_normal)(const u64 *generator, T *y, struct random_normal p)
{
    const u64 start = random_start(generator, p.key, p.seeded);
    for (idx i = 0; i < p.count; i++) {
        const A radius = M(sqrt)(-2 * M(log)(1 - RT_CAT(random_, A)(start, i & ~(idx)1)));
        const A angle = (A)6.283185307179586 * RT_CAT(random_, A)(start, i | 1);
        ST(y, i, (A)p.mean + (A)p.scale * radius * (i & 1 ? M(sin)(angle) : M(cos)(angle)));
    }
}
REGISTER_KERNEL(random_normal, 2, 1, 0)
#endif
#endif

#if defined T && defined U
#if RT_IS_FLOAT(T) && RT_IS_INDEX(U)
KERNEL void FN2(multinomial)(const T *x, const u64 *generator, U *y, A *sum, struct multinomial p)
{
    const u64 start = random_start(generator, p.key, p.seeded);
    for (idx b = 0; b < p.batch; b++) {
        const idx at = b * p.classes;
        A top = LD(x, at), total = 0;
        for (idx c = 1; c < p.classes; c++)
            top = LD(x, at + c) > top ? LD(x, at + c) : top;
        for (idx c = 0; c < p.classes; c++) {
            total += M(exp)(LD(x, at + c) - top);
            sum[c] = total;
        }
        for (idx s = 0; s < p.samples; s++) { /* the first class whose cumulative sum exceeds the drawn number */
            const A drawn = total * RT_CAT(random_, A)(start, b * p.samples + s);
            idx low = 0, high = p.classes - 1;
            while (low < high) {
                const idx half = low + (high - low) / 2;
                if (sum[half] > drawn)
                    high = half;
                else
                    low = half + 1;
            }
            STU(y, b * p.samples + s, (AU)low);
        }
    }
}
REGISTER_KERNEL2(multinomial, 4, 2, SCRATCH)
#endif
#endif
