/* codes.h - numbers of 2 to 16 bits, from which a zero point is subtracted and which a scale multiplies, in panels of 16
 * columns; a part of a panel at a time is expanded to floats. */
#ifndef ONNXCC_CODES_H
#define ONNXCC_CODES_H
#include "rt.h"
#include "tile.h"

/* Of kernels that read panels of codes, `coded` for CODED_OF; described in coded.h. */
#define CODED_PARAMS(X)                                                                                                \
    X(int, kind) X(int, scales) X(int, zeros) X(idx, rows) X(idx, block) X(idx, blocks) X(idx, period) X(idx, span)    \
    X(idx, own) X(idx, width) X(idx, gates) X(f32, scale_all) X(f32, zero_all)

/* Copies parameters of p to q, which has them, too; not as bytes: plain C may keep other fields of each. */
#define CODED_COPY(type, name) q.name = p.name;
#define CODED_COPY_ARRAY(type, name, n)                                                                                \
    for (int i = 0; i < n; i++)                                                                                        \
        q.name[i] = p.name[i];

/* X(kind, storage, codes per element of storage) */
#define CODED_KINDS(X)                                                                                                 \
    X(u2, u8, 4) X(u4, u8, 2) X(f4e2m1, u8, 2) X(i8, u8, 1) X(u8, u8, 1) X(i16, u16, 1) X(u16, u16, 1) X(f16, u16, 1)  \
    X(bf16, u16, 1) X(f6e2m3, u8, 1) X(f6e3m2, u8, 1) X(f8e4m3fn, u8, 1) X(f8e4m3fnuz, u8, 1) X(f8e5m2, u8, 1)         \
    X(f8e5m2fnuz, u8, 1)
#define CODED_ENUM(kind, storage, each) CODED_##kind,
enum { CODED_KINDS(CODED_ENUM) CODED_COUNT };
/* How scales and zero points are stored: one for all; a number of a type for each column, or SAME, for zero points, a code
 * as those of the weights; SPAN: a float, or a code, for all columns of `span` panels. */
enum { CODED_ALL, CODED_F32, CODED_F16, CODED_BF16, CODED_E8M0, CODED_SAME, CODED_SPAN, CODED_SPAN_SAME };

/* ---- a vector of codes as floats; i: the code's position in its element of storage ------------------------------- */

#define CODED_EACH_LANE(name, storage, value)                                                                          \
    RT_INLINE vec coded_vec_##name(const storage *p, const int i)                                                      \
    {                                                                                                                  \
        f32 a[RT_VEC];                                                                                                 \
        (void)i;                                                                                                       \
        for (int j = 0; j < RT_VEC; j++)                                                                               \
            a[j] = value;                                                                                              \
        return vec_load(a);                                                                                            \
    }
#define CODED_WHOLE(kind, storage, v)                                                                                  \
    RT_INLINE vec coded_vec_##kind(const storage *p, const int i)                                                      \
    {                                                                                                                  \
        (void)i;                                                                                                       \
        return v;                                                                                                      \
    }
#if RT_VEC == 16
#define CODED_WIDEN(from, load, p) _mm512_cvtep##from##_epi32(load((const void *)(p)))
#define CODED_BYTES _mm_loadu_si128
#define CODED_WORDS _mm256_loadu_si256
#define CODED_SHIFT(v, n) _mm512_srli_epi32(v, (unsigned)(n))
#define CODED_AND(v, mask) _mm512_and_si512(v, _mm512_set1_epi32(mask))
#define CODED_REAL(v) (vec)_mm512_cvtepi32_ps(v)
#define CODED_HIGH(v) (vec)_mm512_castsi512_ps(_mm512_slli_epi32(v, 16))
#define CODED_HALF(p) (vec)_mm512_cvtph_ps(CODED_WORDS((const void *)(p)))
#elif RT_VEC == 8 && defined __AVX2__
#define CODED_WIDEN(from, load, p) _mm256_cvtep##from##_epi32(load((const void *)(p)))
#define CODED_BYTES _mm_loadl_epi64
#define CODED_WORDS _mm_loadu_si128
#define CODED_SHIFT(v, n) _mm256_srli_epi32(v, n)
#define CODED_AND(v, mask) _mm256_and_si256(v, _mm256_set1_epi32(mask))
#define CODED_REAL(v) (vec)_mm256_cvtepi32_ps(v)
#define CODED_HIGH(v) (vec)_mm256_castsi256_ps(_mm256_slli_epi32(v, 16))
#ifdef __F16C__
#define CODED_HALF(p) (vec)_mm256_cvtph_ps(CODED_WORDS((const void *)(p)))
#endif
#endif
#ifdef CODED_WIDEN
RT_INLINE vec coded_vec_u2(const u8 *p, const int i)
{
    return CODED_REAL(CODED_AND(CODED_SHIFT(CODED_WIDEN(u8, CODED_BYTES, p), 2 * i), 3));
}
RT_INLINE vec coded_vec_u4(const u8 *p, const int i)
{
    return i ? CODED_REAL(CODED_SHIFT(CODED_WIDEN(u8, CODED_BYTES, p), 4))
             : CODED_REAL(CODED_AND(CODED_WIDEN(u8, CODED_BYTES, p), 15));
}
CODED_WHOLE(u8, u8, CODED_REAL(CODED_WIDEN(u8, CODED_BYTES, p)))
CODED_WHOLE(i8, u8, CODED_REAL(CODED_WIDEN(i8, CODED_BYTES, p)))
CODED_WHOLE(u16, u16, CODED_REAL(CODED_WIDEN(u16, CODED_WORDS, p)))
CODED_WHOLE(i16, u16, CODED_REAL(CODED_WIDEN(i16, CODED_WORDS, p)))
CODED_WHOLE(bf16, u16, CODED_HIGH(CODED_WIDEN(u16, CODED_WORDS, p)))
#else
CODED_EACH_LANE(u2, u8, (f32)((p[j] >> (2 * i)) & 3))
CODED_EACH_LANE(u4, u8, (f32)((p[j] >> (4 * i)) & 15))
CODED_EACH_LANE(u8, u8, (f32)p[j])
CODED_EACH_LANE(i8, u8, (f32)(i8)p[j])
CODED_EACH_LANE(u16, u16, (f32)p[j])
CODED_EACH_LANE(i16, u16, (f32)(i16)p[j])
CODED_EACH_LANE(bf16, u16, value_bf16(p[j]))
#endif
#ifdef CODED_HALF
CODED_WHOLE(f16, u16, CODED_HALF(p))
#else
CODED_EACH_LANE(f16, u16, value_f16(p[j]))
#endif
CODED_EACH_LANE(f4e2m1, u8, value_f4e2m1((p[j] >> (4 * i)) & 15))
CODED_EACH_LANE(f6e2m3, u8, value_f6e2m3(p[j]))
CODED_EACH_LANE(f6e3m2, u8, value_f6e3m2(p[j]))
CODED_EACH_LANE(f8e4m3fn, u8, value_f8e4m3fn(p[j]))
CODED_EACH_LANE(f8e4m3fnuz, u8, value_f8e4m3fnuz(p[j]))
CODED_EACH_LANE(f8e5m2, u8, value_f8e5m2(p[j]))
CODED_EACH_LANE(f8e5m2fnuz, u8, value_f8e5m2fnuz(p[j]))
#undef CODED_EACH_LANE
#undef CODED_WHOLE

/* ---- panels ------------------------------------------------------------------------------------------------------ */

/* width: columns of a group, the last panel of which has fewer than 16; panel p of each gate is followed by that of the
 * next gate. What lies beyond a row is read, and has no effect. The last block of each `period` values of k may be
 * shorter than the others; after `blocks` blocks they repeat, and after `own` panels all scales and zero points do. */
struct coded {
    const void *w, *scale, *zero;
    idx rows, block, blocks, period, span, own, width, gates;
    int scales, zeros;
    f32 scale_all, zero_all;
};

#define CODED_OF(p, w, scale, zero)                                                                                    \
    {w, scale, zero, (p).rows, (p).block, (p).blocks, (p).period, (p).span, (p).own, (p).width, (p).gates,             \
     (p).scales, (p).zeros, (p).scale_all, (p).zero_all}

/* The first column of a panel; *pitch: the number of its columns. */
RT_INLINE idx coded_column(const struct coded *c, idx panel, idx *pitch)
{
    const idx each = (c->width + TILE_PANEL - 1) / TILE_PANEL, at = panel / c->gates % each * TILE_PANEL;
    *pitch = c->width - at < TILE_PANEL ? c->width - at : TILE_PANEL;
    return (panel / c->gates / each * c->width + at) * c->gates + panel % c->gates * *pitch;
}

/* Where those of a panel are, block after block: from `rows` on, if rows are stored. */
RT_INLINE idx coded_numbers(const struct coded *c, int stored, idx rows, idx panel)
{
    return stored < CODED_SPAN ? rows : panel / c->span * c->blocks;
}

/* 16 scales or zero points. */
SHARED void coded_row(f32 *restrict to, const void *from, int stored, idx at, f32 all)
{
    if (stored == CODED_F32)
        memcpy(to, (const f32 *)from + at, TILE_PANEL * sizeof *to);
    else if (stored == CODED_F16)
        for (idx j = 0; j < TILE_PANEL; j += RT_VEC)
            vec_store(to + j, coded_vec_f16((const u16 *)from + at + j, 0));
    else if (stored == CODED_BF16)
        for (idx j = 0; j < TILE_PANEL; j += RT_VEC)
            vec_store(to + j, coded_vec_bf16((const u16 *)from + at + j, 0));
    else if (stored == CODED_E8M0)
        for (idx j = 0; j < TILE_PANEL; j++)
            to[j] = value_f8e8m0(((const u8 *)from)[at + j]);
    else {
        const vec one = vec_splat(stored == CODED_SPAN ? ((const f32 *)from)[at] : all);
        for (idx j = 0; j < TILE_PANEL; j += RT_VEC)
            vec_store(to + j, one);
    }
}

static const f32 coded_none[TILE_PANEL] RT_ATTRIBUTE((unused));
static const f32 RT_ATTRIBUTE((unused)) coded_ones[TILE_PANEL] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* Expands n values of k of a panel, from `k` on: to[n][16]. */
#ifdef ONNXCC_PLAIN
#define CODED_REF int
#else
typedef void coded_fn(f32 *restrict to, const struct coded *c, idx panel, idx k, idx n);
#define CODED_REF coded_fn *
#endif
#define CODED_ROW(kind, i, from, zero, factor)                                                                         \
    for (int j = 0; j < TILE_PANEL; j += RT_VEC)                                                                       \
        vec_store(to + j, (coded_vec_##kind((from) + j, i) - vec_load((zero) + j)) * vec_load((factor) + j));          \
    to += TILE_PANEL;
#define CODED_DEFINE(kind, storage, each)                                                                              \
    /* The i-th codes of a row, for an i known only at run time. */                                                    \
    SHARED void coded_one_##kind(f32 *restrict to, const storage *p, idx i, const f32 *zero, const f32 *factor)        \
    {                                                                                                                  \
        if (i == 0) {                                                                                                  \
            CODED_ROW(kind, 0, p, zero, factor)                                                                        \
        } else if (each > 1 && i == 1) {                                                                               \
            CODED_ROW(kind, 1 % each, p, zero, factor)                                                                 \
        } else if (each > 2 && i == 2) {                                                                               \
            CODED_ROW(kind, 2 % each, p, zero, factor)                                                                 \
        } else if (each > 2) {                                                                                         \
            CODED_ROW(kind, 3 % each, p, zero, factor)                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    /* The i-th of all codes, 16 times. */                                                                             \
    SHARED void coded_splat_##kind(f32 *restrict to, const void *codes, idx i)                                         \
    {                                                                                                                  \
        storage same[TILE_PANEL];                                                                                      \
        for (idx j = 0; j < TILE_PANEL; j++)                                                                           \
            same[j] = ((const storage *)codes)[i / each];                                                              \
        coded_one_##kind(to, same, i % each, coded_none, coded_ones);                                                  \
    }                                                                                                                  \
    SHARED void coded_expand_##kind(f32 *restrict to, const struct coded *c, idx panel, idx k, idx n)                  \
    {                                                                                                                  \
        idx pitch;                                                                                                     \
        const idx column = coded_column(c, panel, &pitch), end = k + n, zero_rows = (c->blocks + each - 1) / each;     \
        const idx same = panel % c->own, first = coded_column(c, same, &pitch), rows = first * c->blocks;              \
        const idx scales = coded_numbers(c, c->scales, rows, same), zeros = coded_numbers(c, c->zeros, rows, same);    \
        const idx scale_step = c->scales < CODED_SPAN ? pitch : 1, zero_step = c->zeros < CODED_SPAN ? pitch : 1;      \
        const storage *const w = (const storage *)c->w + column * c->rows;                                             \
        f32 factor[TILE_PANEL], zero[TILE_PANEL];                                                                      \
        const idx blocks = (c->period + c->block - 1) / c->block; /* of a period */                                    \
        idx at = k % c->period, start = at - at % c->block, b = (k / c->period * blocks + at / c->block) % c->blocks;  \
        while (k < end) {                                                                                              \
            const idx next = rt_min(start + c->block, c->period), stop = rt_min(end, k + next - at);                   \
            coded_row(factor, c->scale, c->scales, scales + b * scale_step, c->scale_all);                             \
            if (c->zeros == CODED_SAME)                                                                                \
                coded_one_##kind(zero, (const storage *)c->zero + first * zero_rows + b / each * pitch, b % each,      \
                                 coded_none, coded_ones);                                                              \
            else if (c->zeros == CODED_SPAN_SAME)                                                                      \
                coded_splat_##kind(zero, c->zero, zeros + b);                                                          \
            else                                                                                                       \
                coded_row(zero, c->zero, c->zeros, zeros + b * zero_step, c->zero_all);                                \
            at = start = next < c->period ? next : 0;                                                                  \
            b = b + 1 < c->blocks ? b + 1 : 0;                                                                         \
            while (k < stop)                                                                                           \
                if (k % each == 0 && k + each <= stop) {                                                               \
                    const storage *const p = w + k / each * pitch;                                                     \
                    CODED_ROW(kind, 0, p, zero, factor)                                                                \
                    if (each > 1) {                                                                                    \
                        CODED_ROW(kind, 1 % each, p, zero, factor)                                                     \
                    }                                                                                                  \
                    if (each > 2) {                                                                                    \
                        CODED_ROW(kind, 2 % each, p, zero, factor)                                                     \
                        CODED_ROW(kind, 3 % each, p, zero, factor)                                                     \
                    }                                                                                                  \
                    k += each;                                                                                         \
                } else {                                                                                               \
                    coded_one_##kind(to, w + k / each * pitch, k % each, zero, factor);                                \
                    to += TILE_PANEL;                                                                                  \
                    k++;                                                                                               \
                }                                                                                                      \
        }                                                                                                              \
    }
CODED_KINDS(CODED_DEFINE)
#undef CODED_DEFINE
#undef CODED_ROW

#define CODED_CHOICE(prefix, name)                                                                                     \
    if (kind == CODED_##name)                                                                                          \
        return prefix##name;

#ifdef ONNXCC_PLAIN
#define coded_of(kind) (kind)
SHARED void coded_expand(const int kind, f32 *restrict to, const struct coded *c, idx panel, idx k, idx n)
{
#define CODED_CASE(name, storage, each)                                                                                \
    if (kind == CODED_##name)                                                                                          \
        coded_expand_##name(to, c, panel, k, n);
    CODED_KINDS(CODED_CASE)
#undef CODED_CASE
}
#else
/* The function for a kind, which is a literal. */
TILE coded_fn *coded_of(const int kind)
{
#define CODED_CASE(name, storage, each) CODED_CHOICE(coded_expand_, name)
    CODED_KINDS(CODED_CASE)
#undef CODED_CASE
    return NULL;
}
#endif

/* Adds sums, m rows of `columns` elements, to y, and clamps the results. */
SHARED void coded_add(f32 *y, idx y_pitch, const f32 *sums, idx pitch, idx m, idx columns, f32 lo, f32 hi)
{
    for (idx i = 0; i < m; i++)
        for (idx j = 0; j < columns; j += RT_VEC) {
            f32 *const to = y + i * y_pitch + j;
            const vec v = vec_load(sums + i * pitch + j) + vec_load_some(to, columns - j);
            vec_store_some(to, vec_min(vec_splat(hi), vec_max(vec_splat(lo), v)), columns - j);
        }
}
#endif
