/* element.c - element.h as functions over arrays, for element.py to call. */
#include "rt.h"

#define EACH_TYPE(X)                                                                                                   \
    X(f32) X(f64) X(i8) X(i16) X(i32) X(i64) X(u8) X(u16) X(u32) X(u64) X(b8) X(f16) X(bf16) X(f8e4m3fn)               \
    X(f8e4m3fnuz) X(f8e5m2) X(f8e5m2fnuz) X(f8e8m0) X(f4e2m1) X(f6e2m3) X(f6e3m2) X(i4) X(u4) X(i2) X(u2)

/* load_t: every element as A; store_t: the reverse, last element first, so that packed neighbours must be preserved. */
#define TYPE(t)                                                                                                        \
    void load_##t(const t *x, RT_ARITH_##t *y, idx n);                                                                 \
    void store_##t(const RT_ARITH_##t *x, t *y, idx n);                                                                \
    void load_##t(const t *x, RT_ARITH_##t *y, idx n)                                                                  \
    {                                                                                                                  \
        for (idx i = 0; i < n; i++)                                                                                    \
            y[i] = ld_##t(x, i);                                                                                       \
    }                                                                                                                  \
    void store_##t(const RT_ARITH_##t *x, t *y, idx n)                                                                 \
    {                                                                                                                  \
        for (idx i = n - 1; i >= 0; i--)                                                                               \
            st_##t(y, i, x[i]);                                                                                        \
    }                                                                                                                  \
    void round_##t(const RT_ARITH_##t *x, RT_ARITH_##t *y, idx n);                                                     \
    void round_##t(const RT_ARITH_##t *x, RT_ARITH_##t *y, idx n)                                                      \
    {                                                                                                                  \
        for (idx i = 0; i < n; i++)                                                                                    \
            y[i] = rnd_##t(x[i]);                                                                                      \
    }                                                                                                                  \
    CAST(t, t, f32) CAST(t, t, f64) CAST(t, t, i32) CAST(t, t, u32) CAST(t, t, i64) CAST(t, t, u64)
#define CAST(name, t, a)                                                                                               \
    void cast_##name##_##a##_v(const a *x, RT_ARITH_##t *y, idx n);                                                    \
    void cast_##name##_##a##_v(const a *x, RT_ARITH_##t *y, idx n)                                                     \
    {                                                                                                                  \
        for (idx i = 0; i < n; i++)                                                                                    \
            y[i] = cast_##name##_##a(x[i]);                                                                            \
    }
#define CASTS(name, t)                                                                                                 \
    CAST(name, t, f32) CAST(name, t, f64) CAST(name, t, i32) CAST(name, t, u32) CAST(name, t, i64) CAST(name, t, u64)

EACH_TYPE(TYPE)
CASTS(f8e4m3fn_wrap, f8e4m3fn)
CASTS(f8e4m3fnuz_wrap, f8e4m3fnuz)
CASTS(f8e5m2_wrap, f8e5m2)
CASTS(f8e5m2fnuz_wrap, f8e5m2fnuz)
CASTS(f8e8m0_down, f8e8m0)
CASTS(f8e8m0_nearest, f8e8m0)
CASTS(f8e8m0_wrap, f8e8m0)
CASTS(f8e8m0_down_wrap, f8e8m0)
CASTS(f8e8m0_nearest_wrap, f8e8m0)
