/* place.c - unit tests of compiler/base/place.c: no buffers overlap, the bound is reached, large inputs are fast.
 * With ONNXCC_PLACE=FOLDER, also the instances there: NAME.CAPACITY.csv with lines id,lower,upper,size.
 * Parts: base/place, base/place_search. */
#include <dirent.h>
#include <stdlib.h>
#include <time.h>
#include "unit.h"

#include "onnxcc.h"
#include "base/place.h"

static uint64_t seed;

static int64_t pick(int64_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(seed >> 33) % below;
}

/* Places buffers; checks that those alive together do not overlap, and that a second call has the same result. */
static int64_t placed(Buffer *b, int n)
{
    int64_t top = place(b, n), max = 0;
    for (int i = 0; i < n; i++) {
        assert_true(b[i].offset >= 0);
        max = b[i].offset + b[i].size > max ? b[i].offset + b[i].size : max;
        for (int k = 0; k < i && n <= 2000; k++)
            assert_false(b[i].from <= b[k].to && b[k].from <= b[i].to && b[i].offset < b[k].offset + b[k].size &&
                         b[k].offset < b[i].offset + b[i].size);
    }
    assert_int_equal(max, top);
    assert_true(top >= place_bound(b, n, NULL));
    return top;
}

static void nothing_and_one(void **state)
{
    (void)state;
    Buffer b[1] = {{3, 7, 64, 9}};
    assert_int_equal(place(b, 0), 0);
    assert_int_equal(placed(b, 1), 64);
    int when;
    assert_int_equal(place_bound(b, 1, &when), 64);
    assert_int_equal(when, 3);
}

static void random_ones_do_not_overlap(void **state)
{
    (void)state;
    seed = 1;
    for (int round = 0; round < 300; round++) {
        Buffer b[40];
        int n = 1 + (int)pick(40);
        for (int i = 0; i < n; i++) {
            int from = (int)pick(30);
            b[i] = (Buffer){from, from + (int)pick(12), 16 * (1 + pick(50)), 0};
        }
        int64_t top = placed(b, n), again[40];
        for (int i = 0; i < n; i++) {
            assert_int_equal(b[i].offset % 16, 0);
            again[i] = b[i].offset;
        }
        assert_int_equal(place(b, n), top);
        for (int i = 0; i < n; i++)
            assert_int_equal(b[i].offset, again[i]);
    }
}

/* Cuts a rectangle repeatedly in two: the parts fill 0..1024 of memory without a gap, so the bound is reachable. */
static int halves(Buffer *b, int n, Buffer r, int depth)
{
    bool by_time = pick(2) && r.to > r.from;
    if (!depth || (!by_time && r.size < 2)) {
        b[n] = r;
        return n + 1;
    }
    Buffer p = r, q = r;
    if (by_time) {
        p.to = r.from + (int)pick(r.to - r.from);
        q.from = p.to + 1;
    } else {
        p.size = 1 + pick(r.size - 1);
        q.size = r.size - p.size;
    }
    n = halves(b, n, p, depth - 1);
    return halves(b, n, q, depth - 1);
}

static void cut_ones_reach_the_bound(void **state)
{
    (void)state;
    int reached = 0, all = 40;
    seed = 2;
    for (int round = 0; round < all; round++) {
        Buffer b[256];
        int n = halves(b, 0, (Buffer){0, 199, 1024, 0}, 4 + round % 3);
        reached += placed(b, n) == 1024;
    }
    assert_true(reached >= all - 2);
}

static void long_chains_take_no_time(void **state)
{
    (void)state;
    enum { N = 50000 };
    Buffer *b = NEWS(Buffer, N);
    seed = 3;
    for (int i = 0; i < N; i++)
        b[i] = (Buffer){i, i + 1 + (pick(100) ? 0 : 20), 64 * (1 + pick(1000)), 0};
    clock_t start = clock();
    int64_t top = placed(b, N);
    assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
    assert_true(top <= place_bound(b, N, NULL) * 3 / 2);
    for (int i = 0; i < N; i++)
        b[i] = (Buffer){i, i + 1, 64 * (1 + pick(1000)), 0};
    assert_int_equal(placed(b, N), place_bound(b, N, NULL));
}

static void instances_fit(void **state)
{
    (void)state;
    const char *folder = getenv("ONNXCC_PLACE");
    DIR *d = folder ? opendir(folder) : NULL;
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        const char *dot = strchr(e->d_name, '.');
        if (!dot || !strstr(dot, ".csv"))
            continue;
        char line[600];
        snprintf(line, sizeof line, "%s/%s", folder, e->d_name);
        FILE *f = fopen(line, "r");
        assert_non_null(f);
        Buffer *b = NEWS(Buffer, 10000);
        int n = 0, from, to;
        long long size;
        while (fgets(line, sizeof line, f))
            if (sscanf(line, "%*[^,],%d,%d,%lld", &from, &to, &size) == 3 && n < 10000)
                b[n++] = (Buffer){from, to - 1, size, 0};
        fclose(f);
        int64_t top = placed(b, n);
        print_message("%s: %d buffers, %lld, bound %lld\n", e->d_name, n, (long long)top,
                      (long long)place_bound(b, n, NULL));
        assert_true(top <= strtoll(dot + 1, NULL, 10));
    }
    closedir(d);
}

UNIT_TESTS(cmocka_unit_test(nothing_and_one), cmocka_unit_test(random_ones_do_not_overlap),
           cmocka_unit_test(cut_ones_reach_the_bound), cmocka_unit_test(long_chains_take_no_time),
           cmocka_unit_test(instances_fit))
