/* scaled.c - checks that requantisation in integers has the bits of that in floats, for scales and sums of every size, and
 * sums near every tie. Prints the first differences; returns whether there are any. */
#define MICRO_FIXED 1
#include "micro.h"

#include <stdio.h>

static int wrong;

static void compare(i32 c, f32 scale, i32 zero, i32 low)
{
    const i32 want = dot_scaled_one(c, scale, (f32)(low - zero), (f32)(low + 255 - zero), zero);
    const i32 got = micro_scaled(c, scale, zero, low);
    if (got != want && ++wrong <= 10)
        printf("%ld * %.9g + %ld: %ld, not %ld\n", (long)c, (double)scale, (long)zero, (long)got, (long)want);
}

int main(void)
{
    u64 state = 1;
#define DRAW (state = state * 6364136223846793005u + 1442695040888963407u, (u32)(state >> 32))
    for (u32 exponent = 60; exponent < 200; exponent++)
        for (int i = 0; i < 20000; i++) {
            const u32 mantissa = i % 4 ? DRAW >> 9 : (0xffffffffu << DRAW % 23) & 0x7fffff; /* few digits: more ties */
            const f32 scale = rt_f32((i % 7 == 0 ? 0x80000000u : 0) | exponent << 23 | mantissa);
            const i32 low = i % 2 ? -128 : 0, zero = low + (i32)(DRAW % 256);
            compare((i32)(DRAW >> DRAW % 32), scale, zero, low);
            compare(-(i32)(DRAW >> 1 >> DRAW % 31), scale, zero, low);
            const double tie = ((double)(DRAW % 600) - 300 + 0.5) / (double)scale;
            for (int k = -2; k <= 2 && tie > -2147483000.0 && tie < 2147483000.0; k++)
                compare((i32)tie + k, scale, zero, low);
        }
    return wrong != 0;
}
