/* dot.h - processor-specific dot products: sums of products of pairs of 16-bit integers, as wide as the registers, and
 * their requantisation to 8 bits. DOT is the number of 32-bit sums in a vector. A dot_pairs holds a pair for each of
 * them. */
#ifndef ONNXCC_DOT_H
#define ONNXCC_DOT_H
#include "vec.h"

#if RT_VEC == 16 && defined __AVX512BW__
#define DOT 16
#elif RT_VEC == 8 && defined __AVX2__
#define DOT 8
#elif RT_VEC == 4 && (defined __SSE2__ || defined __aarch64__)
#define DOT 4
#elif defined __ARM_FEATURE_DSP && __ARM_FEATURE_DSP && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_acle.h>
#define DOT 2
#else
#define DOT 1
#endif

#if DOT > 2
typedef vec dot_reals;
typedef int32_t dot_sums RT_ATTRIBUTE((vector_size(4 * DOT)));
typedef uint32_t dot_wraps RT_ATTRIBUTE((vector_size(4 * DOT)));
typedef int16_t dot_pairs RT_ATTRIBUTE((vector_size(4 * DOT)));
typedef uint8_t dot_bytes RT_ATTRIBUTE((vector_size(DOT)));
#elif DOT == 2
typedef struct {
    f32 a, b;
} dot_reals;
typedef struct {
    i32 a, b;
} dot_sums;
typedef struct {
    int16x2_t a, b;
} dot_pairs;
#else
typedef f32 dot_reals;
typedef i32 dot_sums;
typedef struct {
    i32 a, b;
} dot_pairs;
#endif

/* Pairs of 8-bit integers, widened. */
RT_INLINE dot_pairs dot_widen(const i8 *p)
{
#if DOT == 1
    return (dot_pairs){p[0], p[1]};
#elif DOT == 2
    i32 v;
    memcpy(&v, p, sizeof v);
    i32 even, odd; /* the first of both pairs, the second of both */
    dot_pairs r;
    __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(v));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(v));
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(r.a) : "r"(even), "r"(odd));
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(r.b) : "r"(odd), "r"(even));
    return r;
#elif DOT == 16
    return (dot_pairs)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif DOT == 8
    return (dot_pairs)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif defined __SSE4_1__
    return (dot_pairs)_mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p));
#elif defined __SSE2__
    const __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return (dot_pairs)_mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8);
#else
    return (dot_pairs)vmovl_s8(vld1_s8(p));
#endif
}

/* Two 16-bit integers, a before b in memory. */
RT_INLINE i32 dot_pair(i32 a, i32 b)
{
#if defined ONNXCC_PLAIN
    const i16 pair[2] = {(i16)a, (i16)b};
    i32 v;
    memcpy(&v, pair, sizeof v);
    return v;
#elif defined RT_BIG_ENDIAN
    return (b & 0xffff) | (i32)((u32)a << 16);
#else
    return (a & 0xffff) | (i32)((u32)b << 16);
#endif
}

/* Loads of pairs; of sums and of floats from bytes in memory. */
#if DOT == 1
RT_INLINE dot_pairs dot_load(const i16 *p) { return (dot_pairs){p[0], p[1]}; }
RT_INLINE dot_sums dot_sums_at(const i8 *p) { return (dot_sums)rt_get32(p); }
RT_INLINE dot_reals dot_reals_at(const i8 *p) { return rt_f32(rt_get32(p)); }
#else
#define RT_LOADS(name, vector, of)                                                                                     \
    RT_INLINE vector name(const of *p)                                                                                 \
    {                                                                                                                  \
        vector v;                                                                                                      \
        memcpy(&v, p, sizeof v);                                                                                       \
        return v;                                                                                                      \
    }
RT_LOADS(dot_load, dot_pairs, i16)
RT_LOADS(dot_sums_at, dot_sums, i8)
RT_LOADS(dot_reals_at, dot_reals, i8)
#undef RT_LOADS
#endif

/* The pair at p, broadcast to all sums. */
RT_INLINE dot_pairs dot_spread(const i16 *p)
{
#if DOT == 1
    return dot_load(p);
#else
    i32 v;
    memcpy(&v, p, sizeof v);
#if DOT == 2
    return (dot_pairs){v, v};
#elif DOT == 16
    return (dot_pairs)_mm512_set1_epi32(v);
#elif DOT == 8
    return (dot_pairs)_mm256_set1_epi32(v);
#else
    return (dot_pairs)(dot_sums){v, v, v, v};
#endif
#endif
}

RT_INLINE dot_pairs dot_less(dot_pairs a, dot_pairs b)
{
#if DOT > 2
    return a - b;
#elif DOT == 2
    return (dot_pairs){__ssub16(a.a, b.a), __ssub16(a.b, b.b)};
#else
    return (dot_pairs){a.a - b.a, a.b - b.b};
#endif
}

/* a + b, modulo 2^32. */
#if DOT > 2
RT_INLINE dot_sums dot_plus(dot_sums a, dot_sums b) { return (dot_sums)((dot_wraps)a + (dot_wraps)b); }
#elif DOT == 1
RT_INLINE dot_sums dot_plus(dot_sums a, dot_sums b) { return (dot_sums)((u32)a + (u32)b); }
#endif

/* c + a.first * b.first + a.second * b.second, modulo 2^32 */
RT_INLINE dot_sums dot_add(dot_sums c, dot_pairs a, dot_pairs b)
{
#if DOT == 16 && defined __AVX512VNNI__
    return (dot_sums)_mm512_dpwssd_epi32((__m512i)c, (__m512i)a, (__m512i)b);
#elif DOT == 16
    return dot_plus(c, (dot_sums)_mm512_madd_epi16((__m512i)a, (__m512i)b));
#elif DOT == 8 && defined __AVX512VNNI__ && defined __AVX512VL__
    return (dot_sums)_mm256_dpwssd_epi32((__m256i)c, (__m256i)a, (__m256i)b);
#elif DOT == 8 && defined __AVXVNNI__
    return (dot_sums)_mm256_dpwssd_avx_epi32((__m256i)c, (__m256i)a, (__m256i)b);
#elif DOT == 8
    return dot_plus(c, (dot_sums)_mm256_madd_epi16((__m256i)a, (__m256i)b));
#elif DOT == 4 && defined __SSE2__
    return dot_plus(c, (dot_sums)_mm_madd_epi16((__m128i)a, (__m128i)b));
#elif DOT == 4
    return dot_plus(c, (dot_sums)vpaddq_s32(vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b)),
                                            vmull_high_s16((int16x8_t)a, (int16x8_t)b)));
#elif DOT == 2
    return (dot_sums){__smlad(a.a, b.a, c.a), __smlad(a.b, b.b, c.b)};
#else
    return dot_plus(c, a.a * b.a + a.b * b.b);
#endif
}

/* *c += a.v, *d += a.w, as dot_add. AVX-512 without VNNI has both products before both sums, which is up to a tenth
 * faster on processors that issue them to fixed pipes; clang keeps that order only where it must. */
RT_INLINE void dot_add_two(dot_sums *c, dot_sums *d, dot_pairs a, dot_pairs v, dot_pairs w)
{
#if DOT == 16 && defined __clang__ && !defined __AVX512VNNI__
    __m512i p = _mm512_madd_epi16((__m512i)a, (__m512i)v), q = _mm512_madd_epi16((__m512i)a, (__m512i)w);
    __asm__("" : "+v"(p), "+v"(q));
    *c = dot_plus(*c, (dot_sums)p);
    *d = dot_plus(*d, (dot_sums)q);
#else
    *c = dot_add(*c, a, v);
    *d = dot_add(*d, a, w);
#endif
}

/* DOT integers of 8 bits. */
#if DOT == 16
RT_INLINE dot_sums dot_sums_of_i8(const i8 *p)
{
    return (dot_sums)_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p));
}
RT_INLINE dot_sums dot_sums_of_u8(const u8 *p)
{
    return (dot_sums)_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}
#elif DOT == 8
RT_INLINE dot_sums dot_sums_of_i8(const i8 *p)
{
    return (dot_sums)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p));
}
RT_INLINE dot_sums dot_sums_of_u8(const u8 *p)
{
    return (dot_sums)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
}
#endif

/* The integer nearest to sum * scale clamped to [lo, hi], plus zero. Ties to even: in a float whose last place is 1,
 * the low bits are the integer. */
RT_INLINE i32 dot_scaled_one(i32 c, f32 scale, f32 lo, f32 hi, i32 zero)
{
    const f32 v = (f32)c * scale, w = v > lo ? v : lo;
    return (i32)(rt_u32((w < hi ? w : hi) + 0x1.8p23f) - 0x4b400000u) + zero;
}

RT_INLINE dot_sums dot_scaled(dot_sums c, dot_reals scale, f32 lo, f32 hi, i32 zero)
{
#if DOT == 1
    return dot_scaled_one(c, scale, lo, hi, zero);
#elif DOT == 2
    return (dot_sums){dot_scaled_one(c.a, scale.a, lo, hi, zero), dot_scaled_one(c.b, scale.b, lo, hi, zero)};
#else
    const dot_reals v = vec_min(vec_splat(hi), vec_max(vec_splat(lo), __builtin_convertvector(c, dot_reals) * scale));
    return (dot_sums)(v + vec_splat(0x1.8p23f)) + (zero - 0x4b400000);
#endif
}

/* Stores the first n sums (all, if n >= DOT) as bytes, or as 32 bits. */
RT_INLINE void dot_store_8(u8 *y, dot_sums c, idx n)
{
#if DOT == 1
    (void)n;
    *y = (u8)c;
#elif DOT == 2
    y[0] = (u8)c.a;
    if (n > 1)
        y[1] = (u8)c.b;
#elif DOT == 16
    _mm_mask_storeu_epi8(y, (__mmask16)(n < 16 ? (1U << n) - 1U : 0xffffU), _mm512_cvtepi32_epi8((__m512i)c));
#else
    const dot_bytes b = __builtin_convertvector(c, dot_bytes);
    if (n >= DOT)
        memcpy(y, &b, DOT);
    else
        for (idx i = 0; i < n; i++)
            y[i] = b[i];
#endif
}

RT_INLINE void dot_store_32(u8 *y, dot_sums c, idx n)
{
#if DOT == 16
    _mm512_mask_storeu_epi32(y, (__mmask16)(n < 16 ? (1U << n) - 1U : 0xffffU), (__m512i)c);
#else
    if (n >= DOT)
        memcpy(y, &c, sizeof c);
    else
        memcpy(y, &c, (size_t)n * 4);
#endif
}
#endif
