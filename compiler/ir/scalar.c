/* scalar.c - the scalar functions of the emitted code, applied to arrays: for loops that the compiler runs itself.
 * Compiled without contraction of multiply-adds, so that both give the same bits. They are found by the arithmetic type
 * of the (last) argument and by name:
 *   "relu", "add", ...      a row of scalar.def
 *   "cast_i8", "cast_f8e5m2_wrap", "cast_f8e8m0_down", "to_f32"       element.h's conversions, from any arithmetic type
 *   "rnd_f16"               element.h's rounding, in the arithmetic type of f16 */
#include "ir/kernel.h"

#include "rt.h"

#include <stdlib.h>

#define ARRAYS_1(fn, X, T) fn(((const X *)a[0])[i])
#define ARRAYS_2(fn, X, T) fn(((const X *)a[0])[i], ((const T *)a[1])[i])
#define ARRAYS_3(fn, X, T) fn(((const X *)a[0])[i], ((const T *)a[1])[i], ((const T *)a[2])[i])
/* A table entry for `result fn(X, A_, ...)`. */
#define ENTRY_(name, fn, n_arg, X, A_, result)                                                                         \
    static void run_##fn(const void *const *a, void *y, ptrdiff_t n)                                                   \
    {                                                                                                                  \
        for (ptrdiff_t i = 0; i < n; i++)                                                                              \
            ((result *)y)[i] = ARRAYS_##n_arg(fn, X, A_);                                                              \
    }                                                                                                                  \
    static const Scalar scalar_##fn = {name, RT_CAT(TYPE_, A_), n_arg, RT_CAT(TYPE_, result), run_##fn};             \
    static const Scalar *const scalar_##fn##_at __attribute__((section("onnxcc_scalars"), used)) = &scalar_##fn;
#define ENTRY(...) ENTRY_(__VA_ARGS__)
#define SCALAR_RUNS(name, n, x_type, result) ENTRY(#name, FN(name), n, x_type, T, result)

#include "scalar.h"
#define T f32
#include "scalar.h"
#undef T
#define T f64
#include "scalar.h"
#undef T
#define T i32
#include "scalar.h"
#undef T
#define T u32
#include "scalar.h"
#undef T
#define T i64
#include "scalar.h"
#undef T
#define T u64
#include "scalar.h"
#undef T

#define CAST(a, t) ENTRY("cast_" #t, cast_##t##_##a, 1, a, a, RT_CAT(RT_ARITH_, t))
#define CAST_AS(a, way, t) ENTRY("cast_" #way, cast_##way##_##a, 1, a, a, RT_CAT(RT_ARITH_, t))
#define CAST_WRAP(t) RT_EACH_ARITH(CAST_AS, t##_wrap, t)
#define TO(a, t) ENTRY("to_" #t, to_##t##_##a, 1, a, a, t)
#define ROUND(t) ENTRY("rnd_" #t, rnd_##t, 1, RT_ARITH_##t, RT_CAT(RT_ARITH_, t), RT_CAT(RT_ARITH_, t))
#define TYPE(number, E, tag, onnx, bits, arith, storage, kind, ...)                                                  \
    NUMBER_##kind(RT_EACH_ARITH(CAST, tag) ROUND(tag))
#include "ir/types.def"
#undef TYPE
RT_EACH_ARITH(TO, f32)
RT_EACH_ARITH(TO, f64)
RT_EACH_ARITH(TO, i32)
RT_EACH_ARITH(TO, u32)
RT_EACH_ARITH(TO, i64)
RT_EACH_ARITH(TO, u64)
RT_EACH_FLOAT8(CAST_WRAP)
RT_EACH_ARITH(CAST_AS, f8e8m0_down, f8e8m0)
RT_EACH_ARITH(CAST_AS, f8e8m0_nearest, f8e8m0)
RT_EACH_ARITH(CAST_AS, f8e8m0_wrap, f8e8m0)
RT_EACH_ARITH(CAST_AS, f8e8m0_down_wrap, f8e8m0)
RT_EACH_ARITH(CAST_AS, f8e8m0_nearest_wrap, f8e8m0)

extern const Scalar *__start_onnxcc_scalars[], *__stop_onnxcc_scalars[];

static int compare_scalars(const void *a, const void *b)
{
    const Scalar *x = *(const Scalar *const *)a, *y = *(const Scalar *const *)b;
    int c = strcmp(x->name, y->name);
    return c ? c : (int)x->a - (int)y->a;
}

typedef const Scalar **Scalars;
PART(Scalars, sorted_scalars)

const Scalar *scalar_find(const char *name, Type a)
{
    Scalars *const sorted = sorted_scalars();
    size_t n = (size_t)(__stop_onnxcc_scalars - __start_onnxcc_scalars);
    if (!*sorted) {
        *sorted = NEWS(const Scalar *, n);
        memcpy(*sorted, __start_onnxcc_scalars, sizeof **sorted * n);
        qsort(*sorted, n, sizeof **sorted, compare_scalars);
    }
    const Scalar key = {.name = name, .a = a}, *wanted = &key;
    const Scalar **found = bsearch(&wanted, *sorted, n, sizeof **sorted, compare_scalars);
    return found ? *found : NULL;
}
