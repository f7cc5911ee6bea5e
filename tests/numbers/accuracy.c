/* accuracy.c [STEP] - the largest error of every function of math.h, in units in the last place (ulp), as a table; fails
 * above 2. f32: every STEP-th bit pattern (default 1009; 1: all of them) against libm in double. f64: random bit patterns
 * and random numbers near 1 against libquadmath. Both: special values against libm's, which follow Annex F. */
#include <math.h>
#include <quadmath.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "math.h"

static double ref_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double ref_softplus(double x) { return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x))); }
static __float128 quad_sigmoid(__float128 x) { return x < 0 ? expq(x) / (1 + expq(x)) : 1 / (1 + expq(-x)); }
static __float128 quad_softplus(__float128 x) { return (x > 0 ? x : 0) + log1pq(expq(-fabsq(x))); }

typedef struct Function {
    const char *name;
    void (*f32)(const f32 *x, f32 *y, idx n);
    void (*f64)(const f64 *x, f64 *y, idx n);
    double (*ref)(double);
    __float128 (*quad)(__float128);
    double limit; /* ulp */
} Function;

#define RUN(name)                                                                                                      \
    static void run_##name##_f32(const f32 *x, f32 *y, idx n)                                                          \
    {                                                                                                                  \
        for (idx i = 0; i < n; i++)                                                                                    \
            y[i] = math_##name##_f32(x[i]);                                                                            \
    }                                                                                                                  \
    static void run_##name##_f64(const f64 *x, f64 *y, idx n)                                                          \
    {                                                                                                                  \
        for (idx i = 0; i < n; i++)                                                                                    \
            y[i] = math_##name##_f64(x[i]);                                                                            \
    }
#define LIST(X)                                                                                                        \
    X(exp, exp, expq, 2) X(expm1, expm1, expm1q, 2) X(log, log, logq, 2) X(log1p, log1p, log1pq, 2)                    \
    X(sqrt, sqrt, sqrtq, 0.5) X(sin, sin, sinq, 2) X(cos, cos, cosq, 2) X(tan, tan, tanq, 2) X(asin, asin, asinq, 2)   \
    X(acos, acos, acosq, 2) X(atan, atan, atanq, 2) X(sinh, sinh, sinhq, 2) X(cosh, cosh, coshq, 2)                    \
    X(tanh, tanh, tanhq, 2) X(asinh, asinh, asinhq, 2) X(acosh, acosh, acoshq, 2) X(atanh, atanh, atanhq, 2)           \
    X(erf, erf, erfq, 2) X(sigmoid, ref_sigmoid, quad_sigmoid, 2) X(softplus, ref_softplus, quad_softplus, 2)          \
    X(floor, floor, floorq, 0) X(ceil, ceil, ceilq, 0) X(trunc, trunc, truncq, 0) X(round, rint, rintq, 0)             \
    X(abs, fabs, fabsq, 0)
#define NAME(name, ref, quad, limit) RUN(name)
LIST(NAME)
#define ROW(name, ref, quad, limit) {#name, run_##name##_f32, run_##name##_f64, ref, quad, limit},
static const Function functions[] = {LIST(ROW)};

/* |got - want| in units in the last place of want; 1e9 for a wrong special value or sign of zero. */
static double ulp32(f32 got, double want)
{
    int e;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : 1e9;
    if (isinf((float)want) || isinf(got))
        return (float)want == got ? 0 : fabs(want) > 0x1.fffffcp127 && fabsf(got) >= 0x1.fffffcp127f ? 1 : 1e9;
    if (want == 0 && (got != 0 || !signbit(got) != !signbit(want)))
        return 1e9;
    frexp(want, &e);
    return fabs(got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}
static double ulp64(f64 got, __float128 want)
{
    int e;
    if (isnanq(want) || isnan(got))
        return isnanq(want) && isnan(got) ? 0 : 1e9;
    if (isinf((double)want) || isinf(got))
        return (double)want == got                                                           ? 0
               : fabsq(want) > 0x1.ffffffffffffep1023 && fabs(got) >= 0x1.ffffffffffffep1023 ? 1
                                                                                             : 1e9;
    if (want == 0 && (got != 0 || !signbit(got) != !signbitq(want)))
        return 1e9;
    frexpq(want, &e);
    return (double)(fabsq(got - want) / ldexpq(1, (e < -1021 ? -1021 : e) - 53));
}

static uint64_t random_bits(void)
{
    static uint64_t s = 0x9e3779b97f4a7c15u;
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return s;
}
/* A double of any exponent, or near 1, or a special value. */
static double random_double(int i)
{
    /* clang-format off */
    static const double special[] = {0, 0.25, 0.5, 0.9, 1, 2, 3, 88, 709.7, 710, 745, 1e22, 0x1p-1074, 0x1p-1022, 0x1p53,
                                     0x1.fffffffffffffp1023, INFINITY, NAN, 0x1p-54, 0x1p-27, 1e-8, 4503599627370495.5,
                                     M_PI, M_PI_2, M_PI_4, 0x1.6ac5b262ca1ffp+849, 6381956970095103.0 * 0x1p797};
    /* clang-format on */
    const int n = sizeof special / sizeof *special;
    double x;
    uint64_t b = random_bits();
    if (i < 2 * n)
        return i < n ? special[i] : -special[i - n];
    if (i % 4) /* exponents -12 .. 11 */
        b = (b & 0x800fffffffffffff) | (1011 + random_bits() % (i % 4 == 1 ? 24 : 14)) << 52;
    memcpy(&x, &b, sizeof x);
    return x;
}

enum { BLOCK = 1 << 12 };
static int passed, failed;

static void report(const char *name, const char *type, double worst, double at, double limit)
{
    printf("  %-9s %s %6.3f ulp at %.9g%s\n", name, type, worst, at, worst > limit ? "   TOO MUCH" : "");
    failed += worst > limit;
    passed += worst <= limit;
}

static void check32(const Function *f, uint32_t step)
{
    double worst = 0, at = 0;
    uint64_t next = 0, extra = 0;
    while (next < (uint64_t)1 << 32 || extra < 512) {
        static f32 x[BLOCK], y[BLOCK];
        int n = 0;
        for (; n < BLOCK && next < (uint64_t)1 << 32; n++, next += step) {
            uint32_t b = (uint32_t)next;
            memcpy(&x[n], &b, 4);
        }
        for (; n < BLOCK && extra < 512; n++, extra++) /* special values and their neighbours */
            x[n] = nextafterf((float)random_double((int)extra / 3), extra % 3 == 0   ? 0
                                                                    : extra % 3 == 1 ? INFINITY
                                                                                     : -INFINITY);
        f->f32(x, y, n);
        for (int i = 0; i < n; i++) {
            double e = ulp32(y[i], f->ref(x[i]));
            if (e > worst)
                worst = e, at = x[i];
        }
    }
    report(f->name, "f32", worst, at, f->limit);
}

static void check64(const Function *f, int count)
{
    double worst = 0, at = 0;
    for (int done = 0; done < count; done += BLOCK) {
        static f64 x[BLOCK], y[BLOCK];
        for (int i = 0; i < BLOCK; i++)
            x[i] = random_double(done + i);
        f->f64(x, y, BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            double e = ulp64(y[i], f->quad(x[i]));
            if (e > worst)
                worst = e, at = x[i];
        }
    }
    report(f->name, "f64", worst, at, f->limit);
}

/* pow and fmod: random pairs, pairs whose power is of ordinary size, and every pair of special values. */
static void check_pairs(int count)
{
    /* clang-format off */
    static const double special[] = {0, 0.5, 1, 1.5, 2, 3, 4, 1e10, 0x1p-149, 0x1p-1074, 3e38, 1e308, INFINITY, NAN,
                                     16777215, 16777216, 0x1p53, 0x1.fffffffffffffp52, 0x1.fffffffffffffp-1, 0x1.fffffep-1};
    /* clang-format on */
    const int n = 2 * sizeof special / sizeof *special;
    double worst[4] = {0}, at[4] = {0};
    for (int i = 0; i < count; i++) {
        int a = i / n % n, b = i % n;
        double x = random_double(i + 1000), y = random_double((int)(random_bits() % 1000000) + 1000);
        if (i < n * n)
            x = (a & 1 ? -1 : 1) * special[a / 2], y = (b & 1 ? -1 : 1) * special[b / 2];
        else if (i % 2)
            y = (double)(int64_t)random_bits() * 0x1p-55 / log2(fabs(x)); /* x^y between 2^-256 and 2^256 */
        f32 x4 = (f32)x, y4 = (f32)y;
        double e[4] = {ulp32(math_pow_f32(x4, y4), (double)powq(x4, y4)), ulp64(math_pow_f64(x, y), powq(x, y)),
                       ulp32(math_fmod_f32(x4, y4), fmodf(x4, y4)), ulp64(math_fmod_f64(x, y), fmod(x, y))};
        for (int k = 0; k < 4; k++)
            if (e[k] > worst[k])
                worst[k] = e[k], at[k] = x;
    }
    report("pow", "f32", worst[0], at[0], 2);
    report("pow", "f64", worst[1], at[1], 2);
    report("fmod", "f32", worst[2], at[2], 0);
    report("fmod", "f64", worst[3], at[3], 0);
}

int main(int n_arg, char **arg)
{
    uint32_t step = n_arg > 1 ? (uint32_t)atoi(arg[1]) : 1009;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (n_arg < 3 || !strcmp(arg[2], functions[i].name)) {
            check32(&functions[i], step);
            check64(&functions[i], step < 100 ? 1 << 21 : 1 << 15);
        }
    if (n_arg < 3)
        check_pairs(step < 100 ? 1 << 23 : 1 << 17);
    printf("accuracy: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
