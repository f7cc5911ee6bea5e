/* vec.h - vectors of f32 as wide as the processor's registers. RT_VEC is the number of floats; without vectors it is 1
 * and vec is f32. With RT_FUSED, which code for a named --target defines, a multiply-add is rounded once if the
 * processor's vectors support it; without it, for generic, always twice, so that the bits are the same on every
 * processor, with every compiler, and with all flags that preserve IEEE 754. */
#ifndef ONNXCC_VEC_H
#define ONNXCC_VEC_H
#ifdef RT_FUSED
#define RT_VEC_FUSED
#endif
#include "rt.h" /* compares RT_FUSED and RT_VEC_FUSED */

#if !RT_HAS_VECTORS
#define RT_VEC 1
#elif defined __AVX__
#include <immintrin.h>
#if defined __AVX512F__ && defined __AVX512VL__
#define RT_VEC 16
#else
#define RT_VEC 8
#endif
#elif defined __SSE4_1__
#include <smmintrin.h>
#define RT_VEC 4
#elif defined __SSE2__
#include <emmintrin.h>
#define RT_VEC 4
#elif defined __aarch64__ /* not 32-bit ARM, whose vectors flush subnormal numbers */
#include <arm_neon.h>
#define RT_VEC 4
#elif defined __ARM_FEATURE_MVE && __ARM_FEATURE_MVE & 2
#include <arm_mve.h>
#define RT_VEC 4
#define VEC_MVE 1
#elif defined __wasm_simd128__
#include <wasm_simd128.h>
#define RT_VEC 4
#else
#define RT_VEC 1
#endif

#ifndef VEC_MVE
#define VEC_MVE 0
#endif
/* Scalars of a Cortex-M with a floating-point unit. */
#if RT_VEC == 1 && defined __GNUC__ && defined __ARM_FP && __ARM_FP & 4 && __ARM_ARCH_PROFILE == 'M'
#define VEC_CORTEX 1
#else
#define VEC_CORTEX 0
#endif

#if RT_VEC == 1
typedef f32 vec;
#else
typedef float vec RT_ATTRIBUTE((vector_size(4 * RT_VEC)));
typedef float vec_unaligned RT_ATTRIBUTE((vector_size(4 * RT_VEC), aligned(4), may_alias));
#endif

/* For arrays on the stack that are read as vectors: vectors of 32 bytes and more take longer across two lines of the
 * cache. */
#if RT_VEC >= 8
#define VEC_ALIGNED RT_ATTRIBUTE((aligned(4 * RT_VEC)))
#else
#define VEC_ALIGNED
#endif

RT_INLINE vec vec_load(const f32 *p)
{
#if RT_VEC == 1
    return *p;
#else
    return *(const vec_unaligned *)p;
#endif
}

RT_INLINE void vec_store(f32 *p, vec v)
{
#if RT_VEC == 1
    *p = v;
#else
    *(vec_unaligned *)p = v;
#endif
}

#if RT_VEC == 8
/* The first n of all elements, n <= 8, as a mask. */
RT_INLINE __m256i vec_mask(idx n)
{
    static const i32 bits[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i_u *)(const void *)(bits + 8 - n));
}
#elif RT_VEC < 8
/* The first n elements, n < RT_VEC; the others are loaded as 0, and not stored. */
SHARED vec vec_load_part(const f32 *p, idx n)
{
    f32 a[RT_VEC] = {0};
    for (idx i = 0; i < n; i++)
        a[i] = p[i];
    return vec_load(a);
}

SHARED void vec_store_part(f32 *p, vec v, idx n)
{
    f32 a[RT_VEC];
    vec_store(a, v);
    for (idx i = 0; i < n; i++)
        p[i] = a[i];
}
#endif

/* All elements v. */
RT_INLINE vec vec_splat(f32 v)
{
#if RT_VEC == 16
    return (vec)_mm512_set1_ps(v);
#elif RT_VEC == 8
    return (vec)_mm256_set1_ps(v);
#elif RT_VEC == 4
    return (vec){v, v, v, v};
#else
    return v;
#endif
}

/* a * b + c: rounded once with RT_FUSED if the processor supports it, else twice. */
RT_INLINE vec vec_fma(vec a, vec b, vec c)
{
#if VEC_CORTEX /* rounds twice; gcc and clang prefer two instructions */
    __asm__("vmla.f32 %0, %1, %2" : "+t"(c) : "t"(a), "t"(b));
    return c;
#elif !defined RT_FUSED
    return a * b + c;
#elif RT_VEC == 16
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif RT_VEC == 8 && defined __FMA__
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined __aarch64__
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined __ARM_FEATURE_MVE && __ARM_FEATURE_MVE & 2
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

#if VEC_MVE
/* vec_fma() by one number. */
RT_INLINE vec vec_fma_n(vec a, f32 b, vec c)
{
#ifdef RT_FUSED
    return (vec)vfmaq_n_f32((float32x4_t)c, (float32x4_t)a, b);
#else
    return a * vec_splat(b) + c;
#endif
}
#endif

/* The elementwise maximum, and the minimum; NaN if b is (then a must not be). */
#if RT_VEC == 1
#define VEC_OF_BOTH(name, is, op) a op b ? a : b
#elif RT_VEC == 16
#define VEC_OF_BOTH(name, is, op) (vec)_mm512_##name##_ps((__m512)a, (__m512)b)
#elif RT_VEC == 8
#define VEC_OF_BOTH(name, is, op) (vec)_mm256_##name##_ps((__m256)a, (__m256)b)
#elif defined __SSE2__
#define VEC_OF_BOTH(name, is, op) (vec)_mm_##name##_ps((__m128)a, (__m128)b)
#elif defined __aarch64__ /* vmaxq_f32 orders 0 and -0 differently */
#define VEC_OF_BOTH(name, is, op)                                                                                      \
    (vec)vbslq_f32(vc##is##q_f32((float32x4_t)a, (float32x4_t)b), (float32x4_t)a, (float32x4_t)b)
#elif defined __wasm_simd128__ /* the second if it is less, or greater, else the first */
#define VEC_OF_BOTH(name, is, op) (vec)wasm_f32x4_p##name((v128_t)b, (v128_t)a)
#elif VEC_MVE && defined __GNUC__ && !defined __clang__ /* gcc moves the intrinsics' masks to a register and back */
#define VEC_EXTREME(name, is)                                                                                          \
    RT_INLINE vec vec_##name(vec a, vec b)                                                                             \
    {                                                                                                                  \
        vec v;                                                                                                         \
        mve_pred16_t mask;                                                                                             \
        __asm__("vcmp.f32 " #is ", %q2, %q3\n\tvpsel %q0, %q2, %q3" : "=w"(v), "=Up"(mask) : "w"(a), "w"(b));          \
        (void)mask;                                                                                                    \
        return v;                                                                                                      \
    }
VEC_EXTREME(max, gt)
VEC_EXTREME(min, lt)
#undef VEC_EXTREME
#else
#define VEC_OF_BOTH(name, is, op)                                                                                      \
    (vec)vpselq_f32((float32x4_t)a, (float32x4_t)b, vcmp##is##q_f32((float32x4_t)a, (float32x4_t)b))
#endif
#ifdef VEC_OF_BOTH
RT_INLINE vec vec_max(vec a, vec b) { return VEC_OF_BOTH(max, gt, >); }
RT_INLINE vec vec_min(vec a, vec b) { return VEC_OF_BOTH(min, lt, <); }
#undef VEC_OF_BOTH
#endif

#ifdef ONNXCC_PLAIN /* n is at least 1 */
RT_INLINE vec vec_load_some(const f32 *p, idx n)
{
    (void)n;
    return *p;
}
RT_INLINE void vec_store_some(f32 *p, vec v, idx n)
{
    (void)n;
    *p = v;
}
#else
/* The first n elements only: the others are loaded as 0, and not stored. All of them when n >= RT_VEC. */
RT_INLINE vec vec_load_some(const f32 *p, idx n)
{
#if RT_VEC == 16
    return (vec)_mm512_maskz_loadu_ps((__mmask16)(n < 16 ? (1U << n) - 1U : 0xffffU), p);
#elif RT_VEC == 8
    return n < RT_VEC ? (vec)_mm256_maskload_ps(p, vec_mask(n)) : vec_load(p);
#else
    return n < RT_VEC ? vec_load_part(p, n) : vec_load(p);
#endif
}

RT_INLINE void vec_store_some(f32 *p, vec v, idx n)
{
#if RT_VEC == 16
    _mm512_mask_storeu_ps(p, (__mmask16)(n < 16 ? (1U << n) - 1U : 0xffffU), (__m512)v);
#elif RT_VEC == 8
    if (n < RT_VEC)
        _mm256_maskstore_ps(p, vec_mask(n), (__m256)v);
    else
        vec_store(p, v);
#else
    if (n < RT_VEC)
        vec_store_part(p, v, n);
    else
        vec_store(p, v);
#endif
}

#endif

/* p[index[i]], 0 <= index[i] < RT_VEC, from p's first n elements. */
RT_INLINE vec vec_pick(const f32 *p, idx n, const i32 *index)
{
#if RT_VEC == 16
    return (vec)_mm512_permutexvar_ps(_mm512_loadu_si512((const void *)index), (__m512)vec_load_some(p, n));
#elif RT_VEC == 8 && defined __AVX2__
    return (vec)_mm256_permutevar8x32_ps((__m256)vec_load_some(p, n),
                                         _mm256_loadu_si256((const __m256i_u *)(const void *)index));
#else
    f32 a[RT_VEC];
    (void)n;
    for (int i = 0; i < RT_VEC; i++)
        a[i] = p[index[i]];
    return vec_load(a);
#endif
}
#endif
