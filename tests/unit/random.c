/* random.c - unit tests of runtime-min/random.h: the numbers have the right distribution and are independent of each
 * other. The sequences are fixed, so the results are the same in every run; the limits are about four standard
 * deviations. */
#include <math.h>
#include "unit.h"

#define T f32
#include "random.h"
#undef T
#define T f16
#include "random.h"
#undef T
#define T f32
#define U i32
#include "random.h"
#undef T
#undef U

enum { COUNT = 1 << 16, BUCKETS = 64 };
static f32 y[COUNT], other[COUNT];

/* Pearson's chi-squared of the counts, if all are equally likely: its mean is BUCKETS - 1, its variance twice that. */
static void assert_flat(const f32 *x, double low, double high)
{
    int count[BUCKETS] = {0};
    double chi = 0, mean = (double)COUNT / BUCKETS;
    for (int i = 0; i < COUNT; i++) {
        int k = (int)((x[i] - low) / (high - low) * BUCKETS);
        assert_true(k >= 0 && k < BUCKETS);
        count[k]++;
    }
    for (int k = 0; k < BUCKETS; k++)
        chi += (count[k] - mean) * (count[k] - mean) / mean;
    assert_true(fabs(chi - (BUCKETS - 1)) < 4 * sqrt(2 * (BUCKETS - 1)));
}

/* The correlation of n independent pairs is about 1 / sqrt(n). */
static void assert_unrelated(const f32 *a, const f32 *b, int n)
{
    double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < n; i++) {
        sa += a[i];
        sb += b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
        ab += (double)a[i] * b[i];
    }
    double r = (ab - sa * sb / n) / sqrt((aa - sa * sa / n) * (bb - sb * sb / n));
    assert_true(fabs(r) < 4 / sqrt(n));
}

static void uniform(void **state)
{
    (void)state;
    for (i64 key = 0; key < 8; key++) {
        random_uniform_f32(NULL, y, (struct random_uniform){.count = COUNT, .key = key, .low = -2, .high = 3});
        random_uniform_f32(NULL, other, (struct random_uniform){.count = COUNT, .key = key + 1, .low = 0, .high = 1});
        assert_flat(y, -2, 3);
        assert_unrelated(y, other, COUNT);
        assert_unrelated(y, y + 1, COUNT - 1);
        assert_unrelated(y, y + 2, COUNT - 2);
    }
}

/* Rounding to few digits never gives the upper limit. */
static void uniform_half(void **state)
{
    static f16 h[COUNT];
    (void)state;
    random_uniform_f16(NULL, h, (struct random_uniform){.count = COUNT, .key = 1, .low = 0, .high = 1});
    for (int i = 0; i < COUNT; i++)
        y[i] = ld_f16(h, i);
    assert_flat(y, 0, 1);
}

/* The normal distribution function makes the numbers uniform. */
static void normal(void **state)
{
    (void)state;
    for (i64 key = 0; key < 8; key++) {
        random_normal_f32(NULL, y, (struct random_normal){.count = COUNT, .key = key, .mean = 5, .scale = 2});
        for (int i = 0; i < COUNT; i++) {
            other[i] = (f32)(erfc((5 - y[i]) / 2 / sqrt(2)) / 2);
            y[i] = (y[i] - 5) * (y[i] - 5);
        }
        assert_flat(other, 0, 1);
        assert_unrelated(other, other + 1, COUNT - 1);
        assert_unrelated(y, y + 1, COUNT - 1); /* their squares, too: pairs come from one radius */
    }
}

static void classes(void **state)
{
    static const f32 weight[] = {1, 3, 0, 4}, x[] = {0, 1.0986123f, -RT_INF, 1.3862944f};
    static i32 drawn[COUNT];
    int count[4] = {0};
    f32 scratch[4];
    (void)state;
    multinomial_f32_i32(x, NULL, drawn, scratch,
                        (struct multinomial){.batch = 1, .classes = 4, .samples = COUNT, .key = 7});
    for (int i = 0; i < COUNT; i++)
        count[drawn[i]]++;
    for (int c = 0; c < 4; c++) {
        double p = weight[c] / 8;
        assert_true(fabs(count[c] - COUNT * p) <= 4 * sqrt(COUNT * p * (1 - p)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(uniform), cmocka_unit_test(uniform_half),
                                       cmocka_unit_test(normal), cmocka_unit_test(classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
