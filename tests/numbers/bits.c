/* bits.c - prints a checksum of the results of every function of math.h for many numbers, a line each. With every compiler,
 * flag and processor it must print the same lines. NaNs count as equal. */
#include <stdio.h>
#include "math.h"

#define UNARY(X)                                                                                                       \
    X(exp) X(expm1) X(log) X(log1p) X(tanh) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(sin) X(cos) X(tan) X(asin)    \
    X(acos) X(atan) X(erf) X(sqrt) X(floor) X(ceil) X(round) X(trunc) X(sigmoid) X(softplus) X(abs)
#define BINARY(X) X(pow) X(fmod)

enum { N = 4096, ROUNDS = 20 };
static f32 x4[N], y4[N], z4[N];
static f64 x8[N], y8[N], z8[N];
static uint64_t state, sum;

static uint64_t random_bits(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Every second number has any exponent, the others are between 2^-17 and 2^16. */
static void fill(f32 *x, f64 *y)
{
    for (int i = 0; i < N; i++) {
        u32 b = (u32)random_bits();
        u64 c = random_bits();
        if (i & 1) {
            b = (b & 0x807fffff) | (110 + (u32)random_bits() % 33) << 23;
            c = (c & 0x800fffffffffffff) | (1006 + random_bits() % 33) << 52;
        }
        x[i] = rt_f32(b);
        y[i] = rt_f64(c);
    }
}

static void add(uint64_t bits, int nan)
{
    sum = (sum ^ (nan ? 1 : bits)) * 0x100000001b3;
    sum ^= sum >> 29;
}

#define RUN(name, args4, args8)                                                                                        \
    state = 88172645463325252;                                                                                         \
    sum = 1;                                                                                                           \
    for (int k = 0; k < ROUNDS; k++) {                                                                                 \
        fill(x4, x8);                                                                                                  \
        fill(y4, y8);                                                                                                  \
        for (int i = 0; i < N; i++)                                                                                    \
            z4[i] = math_##name##_f32 args4;                                                                           \
        for (int i = 0; i < N; i++)                                                                                    \
            z8[i] = math_##name##_f64 args8;                                                                           \
        for (int i = 0; i < N; i++)                                                                                    \
            add(rt_u32(z4[i]), z4[i] != z4[i]), add(rt_u64(z8[i]), z8[i] != z8[i]);                                    \
    }                                                                                                                  \
    printf("%s %016llx\n", #name, (unsigned long long)sum);
#define ONE(name) RUN(name, (x4[i]), (x8[i]))
#define TWO(name) RUN(name, (x4[i], y4[i]), (x8[i], y8[i]))

int main(void)
{
    UNARY(ONE)
    BINARY(TWO)
    return 0;
}
