/* rt.h - the base of all kernels: element types, loads and stores, declaration of kernels.
 * Freestanding: no libc beyond memcpy, memset, memmove. */
#ifndef ONNXCC_RT_H
#define ONNXCC_RT_H

#include <stddef.h>
#include <stdint.h>

/* Declared before dialect.h sets gcc's options: with _FORTIFY_SOURCE, <string.h> may have defined them under other
 * options. */
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int c, size_t n);
void *memmove(void *to, const void *from, size_t n);

#include "dialect.h" /* RT_ATTRIBUTE, RT_INF, ... */
#include "types.h"   /* f32, idx, RT_OK, ... */

/* Arithmetic on sizes in emitted code: floor division and modulo (0 if b is 0), minimum, maximum. */
static inline RT_ATTRIBUTE((unused)) idx rt_div(idx a, idx b)
{
    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline RT_ATTRIBUTE((unused)) idx rt_mod(idx a, idx b) { return b == 0 ? 0 : a - rt_div(a, b) * b; }
static inline RT_ATTRIBUTE((unused)) idx rt_min(idx a, idx b) { return a < b ? a : b; }
static inline RT_ATTRIBUTE((unused)) idx rt_max(idx a, idx b) { return a > b ? a : b; }

/* Sizes that may not fit 32 bits are computed in 64, saturating: INT64_MIN and INT64_MAX are infinities. */
static inline RT_ATTRIBUTE((unused)) int rt_wide_fits(i64 a) { return a != INT64_MIN && a != INT64_MAX; }
static inline RT_ATTRIBUTE((unused)) i64 rt_wide_add(i64 a, i64 b)
{
    if (!rt_wide_fits(a) || !rt_wide_fits(b))
        return rt_wide_fits(a) ? b : a;
    return a > 0 && b > INT64_MAX - a ? INT64_MAX : a < 0 && b < INT64_MIN - a ? INT64_MIN : a + b;
}
static inline RT_ATTRIBUTE((unused)) i64 rt_wide_mul(i64 a, i64 b)
{
    const u64 x = a < 0 ? 0 - (u64)a : (u64)a, y = b < 0 ? 0 - (u64)b : (u64)b;
    if (a == 0 || b == 0)
        return 0;
    if (!rt_wide_fits(a) || !rt_wide_fits(b) || x > (u64)INT64_MAX / y)
        return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return a * b;
}
static inline RT_ATTRIBUTE((unused)) i64 rt_wide_div(i64 a, i64 b)
{
    if (b == 0)
        return 0;
    if (!rt_wide_fits(a))
        return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline RT_ATTRIBUTE((unused)) i64 rt_wide_mod(i64 a, i64 b)
{
    const i64 r = b == 0 || b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline RT_ATTRIBUTE((unused)) i64 rt_wide_min(i64 a, i64 b) { return a < b ? a : b; }
static inline RT_ATTRIBUTE((unused)) i64 rt_wide_max(i64 a, i64 b) { return a > b ? a : b; }

/* A run-time integer that determines a size, clamped to idx. */
static inline RT_ATTRIBUTE((unused)) idx rt_size(i64 v)
{
    return (idx)(v > PTRDIFF_MAX ? PTRDIFF_MAX : v < PTRDIFF_MIN ? PTRDIFF_MIN : v);
}

/* The arithmetic type, in which kernels compute, of each storage type. */
#define RT_ARITH_f32 f32
#define RT_ARITH_f16 f32
#define RT_ARITH_bf16 f32
#define RT_ARITH_f8e4m3fn f32
#define RT_ARITH_f8e4m3fnuz f32
#define RT_ARITH_f8e5m2 f32
#define RT_ARITH_f8e5m2fnuz f32
#define RT_ARITH_f8e8m0 f32
#define RT_ARITH_f4e2m1 f32
#define RT_ARITH_f6e2m3 f32
#define RT_ARITH_f6e3m2 f32
#define RT_ARITH_f64 f64
#define RT_ARITH_i8 i32
#define RT_ARITH_i16 i32
#define RT_ARITH_i32 i32
#define RT_ARITH_i4 i32
#define RT_ARITH_i2 i32
#define RT_ARITH_u8 u32
#define RT_ARITH_u16 u32
#define RT_ARITH_u32 u32
#define RT_ARITH_u4 u32
#define RT_ARITH_u2 u32
#define RT_ARITH_b8 u32
#define RT_ARITH_i64 i64
#define RT_ARITH_u64 u64
#define RT_ARITH_c128 c128       /* only moved */
#define RT_ARITH_str str

#define RT_CAT_(a, b) a##b
#define RT_CAT(a, b) RT_CAT_(a, b)
#define RT_CAT3_(a, b, c) a##b##_##c
#define RT_CAT3(a, b, c) RT_CAT3_(a, b, c)
#define RT_CAT4_(a, b, c, d) a##b##_##c##_##d
#define RT_CAT4(a, b, c, d) RT_CAT4_(a, b, c, d)

/* For #if: 1 where the kernel header defines row##t (row##t##_##u) as 1, else 0, also where it defines nothing of that
 * name, so that -Wundef does not warn. */
#define RT_TAKES(row, t) RT_TAKES_OF(RT_CAT(row, t))
#define RT_TAKES2(row, t, u) RT_TAKES_OF(RT_CAT3(row, t, u))
#define RT_TAKES_OF(value) RT_SECOND(RT_CAT(RT_TAKES_, value), 0, 0)
#define RT_TAKES_1 0, 1
#define RT_SECOND(...) RT_SECOND_(__VA_ARGS__)
#define RT_SECOND_(a, b, ...) b

/* Inside a kernel header, T is the tag of the storage type (U: of a second one, if any). */
#define A RT_CAT(RT_ARITH_, T)      /* arithmetic type: f32 f64 i32 u32 i64 u64 */
#define M(f) RT_CAT3(math_##f, , A) /* M(exp)(x): math.h's function for A */
#define LD(x, i) RT_CAT(ld_, T)((x), (i))       /* element i, as A */
#define ST(y, i, v) RT_CAT(st_, T)((y), (i), (v)) /* rounds or saturates by the type's rule */
#define AU RT_CAT(RT_ARITH_, U)
#define LDU(x, i) RT_CAT(ld_, U)((x), (i))
#define STU(y, i, v) RT_CAT(st_, U)((y), (i), (v))

/* Kinds of types, for #if in kernel headers: #if RT_IS_FLOAT(T). Every tag has a kind and marks, so that no #if depends
 * on an undefined name. */
#define RT_KIND(t) (RT_CAT(RT_KIND_, t) & 15)
#define RT_IS_FLOAT(t) (RT_KIND(t) == 1)   /* f16 bf16 f32 f64 */
#define RT_IS_INT(t) (RT_KIND(t) == 2 || RT_KIND(t) == 3) /* i8..i64 u8..u64 */
#define RT_IS_SIGNED(t) (RT_KIND(t) == 2)
#define RT_IS_BOOL(t) (RT_KIND(t) == 4)
#define RT_IS_STRING(t) (RT_KIND(t) == 8)
#define RT_IS_SMALL(t) (RT_KIND(t) >= 5 && RT_KIND(t) <= 7) /* float8, float6, float4 (5), 2- and 4-bit integers (6 signed, 7) */
#define RT_REAL 16
#define RT_WIDE 32
#define RT_INDEX 64
#define RT_LONG_INDEX 128
#define RT_STORAGE 256
#define RT_KIND_f16 1
#define RT_KIND_bf16 1
#define RT_KIND_f32 (1 | RT_REAL)
#define RT_KIND_f64 (1 | RT_REAL)
#define RT_KIND_i8 2
#define RT_KIND_i16 2
#define RT_KIND_i32 (2 | RT_WIDE | RT_INDEX)
#define RT_KIND_i64 (2 | RT_WIDE | RT_INDEX | RT_LONG_INDEX)
#define RT_KIND_u8 (3 | RT_STORAGE)
#define RT_KIND_u16 (3 | RT_STORAGE)
#define RT_KIND_u32 (3 | RT_STORAGE | RT_WIDE)
#define RT_KIND_u64 (3 | RT_STORAGE | RT_WIDE)
#define RT_KIND_b8 4
#define RT_KIND_f8e4m3fn 5
#define RT_KIND_f8e4m3fnuz 5
#define RT_KIND_f8e5m2 5
#define RT_KIND_f8e5m2fnuz 5
#define RT_KIND_f8e8m0 5
#define RT_KIND_f4e2m1 5
#define RT_KIND_f6e2m3 5
#define RT_KIND_f6e3m2 5
#define RT_KIND_i4 6
#define RT_KIND_i2 6
#define RT_KIND_u4 (7 | RT_STORAGE)
#define RT_KIND_u2 (7 | RT_STORAGE)
#define RT_KIND_str 8
#define RT_KIND_c64 9
#define RT_KIND_c128 (9 | RT_STORAGE)
#define RT_MARKED(t, mark) ((RT_CAT(RT_KIND_, t) & (mark)) != 0)
#define RT_IS_REAL(t) RT_MARKED(t, RT_REAL)     /* f32 f64: arithmetic types of floats */
#define RT_IS_WIDE(t) RT_MARKED(t, RT_WIDE)     /* the integers that most operators support */
#define RT_IS_INDEX(t) RT_MARKED(t, RT_INDEX)   /* types of indices */
#define RT_IS_LONG_INDEX(t) RT_MARKED(t, RT_LONG_INDEX)

/* Kernels that only move elements exist for one type of each size, which type_storage gives, and take void pointers. */
#define RT_IS_STORAGE(t) RT_MARKED(t, RT_STORAGE)
#define RT_IS_WHOLE(t) (RT_IS_STORAGE(t) && !RT_IS_SMALL(t)) /* of at least a byte; few operators support others */
/* In these: MOVE(y, j, x, i, n) is y[j..j+n) = x[i..i+n), which do not overlap. */
#define MOVE(y, j, x, i, n) RT_CAT(RT_MOVE_, T)(y, j, x, i, n)
#define RT_MOVE_u8(y, j, x, i, n) memcpy((y) + (j), (x) + (i), (size_t)(n) * sizeof *(y))
#define RT_MOVE_u16 RT_MOVE_u8
#define RT_MOVE_u32 RT_MOVE_u8
#define RT_MOVE_u64 RT_MOVE_u8
#define RT_MOVE_c128 RT_MOVE_u8
#define RT_MOVE_u4(y, j, x, i, n)                                                                                      \
    do                                                                                                                 \
        for (idx k_ = 0; k_ < (n); k_++)                                                                               \
            ST(y, (j) + k_, LD(x, (i) + k_));                                                                          \
    while (0)
#define RT_MOVE_u2 RT_MOVE_u4

/* ---- declaration of kernels --------------------------------------------------------------------------------------
 * KERNEL void FN(softmax)(const T *restrict x, T *restrict y, struct softmax p) { ... }
 * By default they are inlined, so that the C compiler propagates the literal parameters. For small flash: with
 * ONNXCC_LIBRARY they are in libonnxcc-rt.a. ONNXCC_HOST: as in the library, and registered for the compiler. */
#define RT_FN(name) RT_CAT3(name, , T)      /* softmax_f32 */
#define RT_FN2(name) RT_CAT4(name, , T, U)  /* cast_f32_i8 */
#ifdef ONNXCC_LIBRARY /* the bodies are not used: REGISTER_KERNEL declares the library's functions */
#define RT_BODY(name) RT_CAT3(name##_body, , T)
#define RT_BODY2(name) RT_CAT4(name##_body, , T, U)
#define FN RT_BODY
#define FN2 RT_BODY2
#else
#define FN RT_FN
#define FN2 RT_FN2
#endif
#ifdef ONNXCC_HOST /* instances that only onnxcc calls, for folding; they have the flag FOLDED */
#define RT_FOLDS 1
#else
#define RT_FOLDS 0
#endif
#if defined ONNXCC_HOST || defined ONNXCC_RT_C
#define KERNEL extern
#elif defined ONNXCC_LIBRARY
#define KERNEL static inline RT_ATTRIBUTE((unused))
#else
#define KERNEL RT_INLINE
#endif
#ifdef ONNXCC_RT_C /* many instances, none performance-critical: the compiler decides */
#define HELPER static inline RT_ATTRIBUTE((unused))
#else
#define HELPER RT_INLINE /* a function that only kernels call */
#endif

/* Parameters are declared once, as a list: #define softmax_PARAMS(X, V) X(idx, outer) X(idx, axis) V(idx, dim, 6)
 * then PARAMS(softmax) makes struct softmax. Field types: idx int i64 f32 f64. */
#define RT_FIELD(type, name) type name;
#define RT_ARRAY(type, name, n) type name[n];
#define RT_STRUCT(k)                                                                                                   \
    struct k {                                                                                                         \
        k##_PARAMS(RT_FIELD, RT_ARRAY)                                                                                 \
    };
#ifdef ONNXCC_COMPILER
#include "ir/kernel.h" /* compiler/ir/kernel.h: the same list as descriptors */
#else
#define PARAMS(k) RT_STRUCT(k)
#endif

/* After a kernel's body: the number of its pointers, how many of them are inputs, and flags.
 *   REGISTER_KERNEL(softmax, 2, 1, 0)       void softmax_f32(x, y, params)
 *   REGISTER_KERNEL2(cast, 2, 1, 0)         void cast_f32_i8(x, y, params)
 *   REGISTER_FALLIBLE, REGISTER_FALLIBLE2   the same, for a kernel that returns int: RT_OK or a status
 * Pointers come as inputs, outputs, scratch (flag SCRATCH), then int64_t pointers for sizes that it reports (flag
 * SIZES(k)). In the compiler these register the kernel; for users of the library they declare it. */
#define CONCAT_LIKE 1          /* concatenates its inputs, size[i] elements of each, outer times (Concat) */
#define SCRATCH 2
#define SIZES(k) ((k) << 4)
#define EPILOGUES 4            /* if EPI is defined, it applies EPI to its results */
#define STRIDED_COPY 8         /* copies dim[] elements with strides from[], from from_at on, and to[] (Slice) */
#define RESIDUAL(i) ((i) << 8) /* argument i is NULL, or a tensor of the output's shape added before the clamp lo..hi */
#define FOLDED 0x1000          /* the generated code does not have it (RT_FOLDS) */
#ifndef ONNXCC_HOST
#ifdef ONNXCC_LIBRARY
#define REGISTER_KERNEL(k, n_args, n_in, flags) extern __typeof__(FN(k)) RT_FN(k);
#define REGISTER_KERNEL2(k, n_args, n_in, flags) extern __typeof__(FN2(k)) RT_FN2(k);
#else
#define REGISTER_KERNEL(k, n_args, n_in, flags)
#define REGISTER_KERNEL2(k, n_args, n_in, flags)
#endif
#define REGISTER_FALLIBLE REGISTER_KERNEL
#define REGISTER_FALLIBLE2 REGISTER_KERNEL2
#endif

/* Index i, from the end if negative, on an axis of n; -1: outside. */
HELPER idx rt_index(i64 i, idx n)
{
    const i64 k = i < 0 ? i + n : i;
    return k < 0 || k >= n ? -1 : (idx)k;
}

/* The position of a tuple of indices into axes of these sizes, where `at` is that in the axes before; -1: outside. */
HELPER idx rt_indices(const i64 *index, int depth, const idx *dim, idx at)
{
    for (int d = 0; d < depth; d++) {
        const idx k = rt_index(index[d], dim[d]);
        if (k < 0)
            return -1;
        at = at * dim[d] + k;
    }
    return at;
}

/* Advances i to the next index tuple of some axes, the last axis fastest, and *at by the strides `step`. 0: it was the
 * last. */
HELPER int rt_next(idx *i, int rank, const idx *dim, const idx *step, idx *at)
{
    for (int k = rank - 1; k >= 0; k--) {
        *at += step[k];
        if (++i[k] < dim[k])
            return 1;
        *at -= dim[k] * step[k];
        i[k] = 0;
    }
    return 0;
}

/* Copies x to slice `index` of y: n packed elements of `bits` bits. */
HELPER void rt_stack(void *y, idx index, const void *x, idx n, int bits)
{
    for (idx i = 0; i < n * bits; i++) {
        const idx at = index * n * bits + i;
        const unsigned bit = (unsigned)(((const u8 *)x)[i / 8] >> (i % 8)) & 1u, old = ((u8 *)y)[at / 8];
        ((u8 *)y)[at / 8] = (u8)((old & ~(1u << (at % 8))) | (bit << (at % 8)));
    }
}

#include "element.h" /* ld_f16, st_i4, ...: one element of each type */

#endif

/* A translation unit has each kernel once, which rounds as its first file requires. */
#if defined ONNXCC_VEC_H && defined RT_FUSED != defined RT_VEC_FUSED
#error "code for generic and for a named --target in one translation unit: compile them apart"
#endif
