/* shim.c - one compiled model behind a call that needs no prototype, and the processor's limit under the same flags.
 *
 * Compiled with -DHEADER='"model.h"' -DRUN=model_run -DARGS='a[0], a[1]'. */
#include HEADER
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int shim_run(void *const *a);
EXPORT double shim_limit(void);

int shim_run(void *const *a) { return RUN(ARGS); }

#ifdef __AVX512F__
#define WIDTH 16
#elif defined __AVX__
#define WIDTH 8
#else
#define WIDTH 4
#endif
enum { CHAINS = WIDTH == 16 ? 24 : 12, STEPS = 20000 };
typedef float vec __attribute__((vector_size(4 * WIDTH)));

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GFLOP/s of independent float multiply-adds in registers, the best of many short runs. */
double shim_limit(void)
{
    volatile float start = 1.0f, step = 0.999f;
    double best = 0;
    for (int run = 0; run < 60; run++) {
        vec sum[CHAINS], m = {0}, a = {0};
        m += step;
        a += start;
        for (int c = 0; c < CHAINS; c++)
            sum[c] = a * start; /* volatile: otherwise the compiler could merge equal chains */
        double t = seconds();
        for (int i = 0; i < STEPS; i++)
#pragma GCC unroll 24
            for (int c = 0; c < CHAINS; c++)
                sum[c] = sum[c] * m + a;
        t = seconds() - t;
        for (int c = 1; c < CHAINS; c++)
            sum[0] += sum[c];
        start = sum[0][0] > 0 ? 1.0f : 2.0f;
        double flops = 2.0 * STEPS * CHAINS * WIDTH / t * 1e-9;
        best = flops > best ? flops : best;
    }
    return best;
}
