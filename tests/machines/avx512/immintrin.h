/* immintrin.h - the functions of AVX-512 and VNNI that the runtime uses, as loops over the elements, for a processor with AVX2.
 * The C compiler is given -D__AVX512F__ and so on, and -isystem with this folder. */
#ifndef ONNXCC_TEST_AVX512_H
#define ONNXCC_TEST_AVX512_H
/* The compiler's own header compiles its functions for these. */
#pragma push_macro("__AVX512F__")
#pragma push_macro("__AVX512VL__")
#pragma push_macro("__AVX512BW__")
#pragma push_macro("__AVX512DQ__")
#pragma push_macro("__AVX512CD__")
#pragma push_macro("__AVX512VNNI__")
#pragma push_macro("__AVXVNNI__")
#undef __AVX512F__
#undef __AVX512VL__
#undef __AVX512BW__
#undef __AVX512DQ__
#undef __AVX512CD__
#undef __AVX512VNNI__
#undef __AVXVNNI__
#include_next <immintrin.h>
#pragma pop_macro("__AVX512F__")
#pragma pop_macro("__AVX512VL__")
#pragma pop_macro("__AVX512BW__")
#pragma pop_macro("__AVX512DQ__")
#pragma pop_macro("__AVX512CD__")
#pragma pop_macro("__AVX512VNNI__")
#pragma pop_macro("__AVXVNNI__")
#include <stdint.h>
#include <string.h>

#define WIDE static inline __attribute__((always_inline, unused))
typedef int32_t wide_32 __attribute__((vector_size(64)));
typedef int16_t wide_16 __attribute__((vector_size(64)));
typedef int32_t half_32 __attribute__((vector_size(32)));
typedef int16_t half_16 __attribute__((vector_size(32)));

WIDE __m512 wide_set1_ps(float v) { return (__m512){v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v}; }

WIDE __m512i wide_set1_epi32(int v) { return (__m512i)(wide_32){v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v}; }

WIDE __m512 wide_fmadd_ps(__m512 a, __m512 b, __m512 c)
{
    for (int i = 0; i < 16; i++)
        c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
}

WIDE __m512 wide_max_ps(__m512 a, __m512 b)
{
    for (int i = 0; i < 16; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
}

WIDE __m512 wide_min_ps(__m512 a, __m512 b)
{
    for (int i = 0; i < 16; i++)
        b[i] = a[i] < b[i] ? a[i] : b[i];
    return b;
}

WIDE __m512i wide_loadu_si512(const void *p)
{
    __m512i v;
    memcpy(&v, p, sizeof v);
    return v;
}

WIDE __m512 wide_maskz_loadu_ps(__mmask16 m, const void *p)
{
    float v[16] = {0};
    for (int i = 0; i < 16; i++)
        if (m >> i & 1)
            memcpy(&v[i], (const char *)p + 4 * i, 4);
    __m512 r;
    memcpy(&r, v, sizeof r);
    return r;
}

WIDE void wide_mask_store(void *p, unsigned m, const void *v, int size)
{
    for (int i = 0; i < 16; i++)
        if (m >> i & 1)
            memcpy((char *)p + i * size, (const char *)v + i * size, (size_t)size);
}

WIDE void wide_mask_storeu_ps(void *p, __mmask16 m, __m512 v) { wide_mask_store(p, m, &v, 4); }

WIDE void wide_mask_storeu_epi32(void *p, __mmask16 m, __m512i v) { wide_mask_store(p, m, &v, 4); }

WIDE void wide_mask_storeu_epi8(void *p, __mmask16 m, __m128i v) { wide_mask_store(p, m, &v, 1); }

WIDE __m512 wide_permutexvar_ps(__m512i index, __m512 v)
{
    float from[16], to[16];
    memcpy(from, &v, sizeof from);
    for (int i = 0; i < 16; i++)
        to[i] = from[((wide_32)index)[i] & 15];
    memcpy(&v, to, sizeof v);
    return v;
}

/* The widening of `count` integers of type T. */
#define WIDE_EXTENSION(name, vector, T, count, to)                                                                     \
    WIDE __m512i name(vector v)                                                                                        \
    {                                                                                                                  \
        T from[count];                                                                                                 \
        to r;                                                                                                          \
        memcpy(from, &v, sizeof from);                                                                                 \
        for (int i = 0; i < count; i++)                                                                                \
            r[i] = from[i];                                                                                            \
        return (__m512i)r;                                                                                             \
    }
WIDE_EXTENSION(wide_cvtepi8_epi16, __m256i, int8_t, 32, wide_16)
WIDE_EXTENSION(wide_cvtepi8_epi32, __m128i, int8_t, 16, wide_32)
WIDE_EXTENSION(wide_cvtepu8_epi32, __m128i, uint8_t, 16, wide_32)
WIDE_EXTENSION(wide_cvtepi16_epi32, __m256i, int16_t, 16, wide_32)
WIDE_EXTENSION(wide_cvtepu16_epi32, __m256i, uint16_t, 16, wide_32)

WIDE __m128i wide_cvtepi32_epi8(__m512i v)
{
    uint8_t to[16];
    __m128i r;
    for (int i = 0; i < 16; i++)
        to[i] = (uint8_t)((wide_32)v)[i];
    memcpy(&r, to, sizeof r);
    return r;
}

WIDE __m512 wide_cvtepi32_ps(__m512i v)
{
    __m512 r;
    for (int i = 0; i < 16; i++)
        r[i] = (float)((wide_32)v)[i];
    return r;
}

WIDE __m512 wide_cvtph_ps(__m256i v)
{
    __m256 half[2] = {_mm256_cvtph_ps(_mm256_castsi256_si128(v)), _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1))};
    __m512 r;
    memcpy(&r, half, sizeof r);
    return r;
}

WIDE __m512 wide_castsi512_ps(__m512i v) { return (__m512)v; }

WIDE __m512i wide_and_si512(__m512i a, __m512i b) { return a & b; }

WIDE __m512i wide_slli_epi32(__m512i v, unsigned n) { return (__m512i)((__v16su)v << (int)n); }

WIDE __m512i wide_srli_epi32(__m512i v, unsigned n) { return (__m512i)((__v16su)v >> (int)n); }

/* Sums wrap. */
WIDE __m512i wide_madd_epi16(__m512i a, __m512i b)
{
    wide_32 r;
    for (int i = 0; i < 16; i++)
        r[i] = (int32_t)((uint32_t)(((wide_16)a)[2 * i] * ((wide_16)b)[2 * i]) +
                         (uint32_t)(((wide_16)a)[2 * i + 1] * ((wide_16)b)[2 * i + 1]));
    return (__m512i)r;
}

WIDE __m512i wide_dpwssd_epi32(__m512i c, __m512i a, __m512i b)
{
    return (__m512i)((wide_32)c + (wide_32)wide_madd_epi16(a, b));
}

WIDE __m256i half_dpwssd_epi32(__m256i c, __m256i a, __m256i b)
{
    return (__m256i)((half_32)c + (half_32)_mm256_madd_epi16(a, b));
}

#define _mm512_set1_ps wide_set1_ps
#define _mm512_set1_epi32 wide_set1_epi32
#define _mm512_fmadd_ps wide_fmadd_ps
#define _mm512_max_ps wide_max_ps
#define _mm512_min_ps wide_min_ps
#define _mm512_loadu_si512 wide_loadu_si512
#define _mm512_maskz_loadu_ps wide_maskz_loadu_ps
#define _mm512_mask_storeu_ps wide_mask_storeu_ps
#define _mm512_mask_storeu_epi32 wide_mask_storeu_epi32
#define _mm_mask_storeu_epi8 wide_mask_storeu_epi8
#define _mm512_permutexvar_ps wide_permutexvar_ps
#define _mm512_cvtepi8_epi16 wide_cvtepi8_epi16
#define _mm512_cvtepi8_epi32 wide_cvtepi8_epi32
#define _mm512_cvtepu8_epi32 wide_cvtepu8_epi32
#define _mm512_cvtepi16_epi32 wide_cvtepi16_epi32
#define _mm512_cvtepu16_epi32 wide_cvtepu16_epi32
#define _mm512_cvtepi32_epi8 wide_cvtepi32_epi8
#define _mm512_cvtepi32_ps wide_cvtepi32_ps
#define _mm512_cvtph_ps wide_cvtph_ps
#define _mm512_castsi512_ps wide_castsi512_ps
#define _mm512_and_si512 wide_and_si512
#define _mm512_slli_epi32 wide_slli_epi32
#define _mm512_srli_epi32 wide_srli_epi32
#define _mm512_madd_epi16 wide_madd_epi16
#define _mm512_dpwssd_epi32 wide_dpwssd_epi32
#define _mm256_dpwssd_epi32 half_dpwssd_epi32
#define _mm256_dpwssd_avx_epi32 half_dpwssd_epi32
#endif
