/* tile.h - the inner loop of all products of matrices and convolutions: a tile of R rows (pixels) by V vectors of
 * columns (output channels), held in registers, to which each k adds an outer product. R and V are literals in calls of
 * tile_ functions, so that the C compiler evaluates every `if (R > r)`. Each element is one sum in the order of k:
 * results do not depend on the shape of tiles. Weights come in panels of 16 columns: element (k, column) at w[column /
 * 16 * w_panel + k * w_k + column % 16]. */
#ifndef ONNXCC_TILE_H
#define ONNXCC_TILE_H
#include "vec.h"

#define TILE_PANEL 16
#define TILE RT_INLINE /* inlined even in small code: the literals make it small */
#define TILE_MAX_ROWS 14
#define TILE_LOOSE 8 /* rows at arbitrary addresses in x, each of which needs a register */

/* The maximal vectors, and the maximal rows for v vectors, that fit the registers. With 512-bit registers, where a
 * broadcast from memory costs 1.5 fused multiply-adds, four vectors per row are a fifth faster than two. */
#if RT_VEC == 16
#define TILE_VECTORS 4
#define TILE_ROWS(v) ((v) == 4 ? 6 : (v) == 3 ? 8 : (v) == 2 ? 12 : 14)
#define TILE_FEW(X) X(1, 1) X(6, 1) X(1, 4) X(6, 4)
#elif defined __aarch64__
#define TILE_VECTORS 4
#define TILE_ROWS(v) ((v) == 4 ? 6 : (v) == 3 ? 8 : 12)
#define TILE_FEW(X) X(1, 1) X(6, 1) X(1, 4) X(6, 4)
#elif defined ONNXCC_PLAIN
#define TILE_VECTORS 4
#define TILE_ROWS(v) 1
#define TILE_FEW(X) X(1, 1) X(1, 4)
#elif VEC_CORTEX
#define TILE_VECTORS 4
#define TILE_ROWS(v) (TILE_SMALL ? 4 : (v) == 4 ? 5 : 6)
#define TILE_FEW(X) X(1, 1) X(4, 1) X(1, 4) X(4, 4)
#elif RT_VEC == 1
#define TILE_VECTORS 4
#define TILE_ROWS(v) ((v) == 4 ? 4 : (v) == 3 ? 5 : 6)
#define TILE_FEW(X) X(1, 1) X(4, 1) X(1, 4) X(4, 4)
#elif VEC_MVE
#define TILE_VECTORS 2
#define TILE_ROWS(v) ((v) == 2 ? 3 : 6)
#define TILE_FEW(X) X(1, 1) X(3, 1) X(1, 2) X(3, 2)
#else
#define TILE_VECTORS 2
#define TILE_ROWS(v) ((v) == 2 ? 6 : 12)
#define TILE_FEW(X) X(1, 1) X(6, 1) X(1, 2) X(6, 2)
#endif
/* Small code has few shapes: 1 or TILE_VECTORS vectors and 1 or TILE_ROWS(TILE_VECTORS) rows. Tests ask for the others
 * at -O0, too. */
#ifdef TILE_SMALL
#elif defined ONNXCC_LIBRARY || defined ONNXCC_RT_C || defined __OPTIMIZE_SIZE__ || !defined __OPTIMIZE__
#define TILE_SMALL 1
#else
#define TILE_SMALL 0
#endif

/* The division of n rows or vectors into tiles: the first `bigs` of them in tiles of `big`, the rest in tiles of
 * `little`. Evenly; or as many of maximal size as possible and the rest one by one, which works for any n and needs few
 * shapes in small code. */
struct tile_cut {
    int big, little;
    idx bigs;
};
TILE struct tile_cut tile_cut(idx n, const int upper, const int even)
{
    struct tile_cut c = {upper, 1, n / upper * upper};
#if !TILE_SMALL
    if (even) {
        const int pieces = n < upper ? 1 : (int)((n + upper - 1) / upper), size = n < 1 ? 1 : (int)(n / pieces);
        const int more = (int)(n % pieces);
        c.big = more ? size + 1 : size;
        c.little = size;
        c.bigs = more ? more * (size + 1) : n;
    }
#else
    (void)even;
#endif
    return c;
}

/* That of the columns, into vectors. With VEC_CORTEX no tile continues in the next panel. */
TILE struct tile_cut tile_across(idx columns)
{
    const idx n = (columns + RT_VEC - 1) / RT_VEC;
#if VEC_CORTEX && !TILE_SMALL
    const int rest = (int)(n % TILE_VECTORS), little = rest ? rest : n ? TILE_VECTORS : 1;
    const struct tile_cut c = {n < TILE_VECTORS ? little : TILE_VECTORS, little, n < TILE_VECTORS ? n : n - rest};
    return c;
#else
    return tile_cut(n, TILE_VECTORS, 1);
#endif
}

/* The parameters of all tiles of one pass. The sum is over `taps` stretches of `run` values of k, contiguous in x: with
 * stride `right`, after each `across` of them with stride `row` to the next row, after each `rows` rows to the next
 * plane; it begins at tap (tap[0], tap[1]) of (rows, across). first: y is the sum plus b and r (either may be NULL),
 * otherwise the sum is added to y: short sums have smaller errors. last: this pass completes y. */
struct tile_job {
    idx step, at[TILE_LOOSE]; /* stride of rows in x; their addresses, if a tile has at most TILE_LOOSE */
    idx taps, run, across, rows, right, row, plane, tap[2];
    idx w_k, w_panel, w_run; /* strides in w: of k, panels, stretches */
    idx lane;                /* the first column of a tile in its panel */
    idx y_pitch, r_pitch;
    idx first, last;
    f32 lo, hi; /* y is clamped to these, which may be infinite */
};

/* The rows, and the elements of rows and vectors, of the largest tiles: at most TILE_MAX_ROWS rows, in small code
 * 6. */
#define TILE_ALL_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define TILE_SMALL_ELEMENTS(X)                                                                                         \
    X(0, 0) X(1, 0) X(2, 0) X(3, 0) X(4, 0) X(5, 0) X(0, 1) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1)                    \
    X(0, 2) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(0, 3) X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3)
#define TILE_ALL_ELEMENTS(X)                                                                                           \
    TILE_SMALL_ELEMENTS(X) X(6, 0) X(7, 0) X(8, 0) X(9, 0) X(10, 0) X(11, 0) X(12, 0) X(13, 0)                         \
    X(6, 1) X(7, 1) X(8, 1) X(9, 1) X(10, 1) X(11, 1) X(6, 2) X(7, 2)
#ifdef ONNXCC_PLAIN
#undef TILE_ALL_ROWS
#undef TILE_ALL_ELEMENTS
#define TILE_ALL_ROWS(X) X(0)
#define TILE_ALL_ELEMENTS(X) X(0, 0) X(0, 1) X(0, 2) X(0, 3)
#endif
#ifndef __OPTIMIZE__ /* constants are not folded: all cases would remain in the code */
#define TILE_EACH_ROW(X)                                                                                               \
    for (int r_ = 0; r_ < R; r_++) {                                                                                   \
        X(r_)                                                                                                          \
    }
#define TILE_EACH_ELEMENT(X)                                                                                           \
    for (int r_ = 0; r_ < R; r_++)                                                                                     \
        for (int v_ = 0; v_ < V; v_++) {                                                                               \
            X(r_, v_)                                                                                                  \
        }
#elif TILE_SMALL
#define TILE_EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define TILE_EACH_ELEMENT TILE_SMALL_ELEMENTS
#else
#define TILE_EACH_ROW TILE_ALL_ROWS
#define TILE_EACH_ELEMENT TILE_ALL_ELEMENTS
#endif

/* The offset in the weights from the first vector of a tile to vector v: a panel has 16 / RT_VEC vectors, and a tile
 * that begins inside a panel may continue in the next. With at most two vectors that does not occur: pairs precede a
 * last one. */
TILE idx tile_column(const idx v, idx lane, idx w_panel)
{
    const idx from = RT_VEC == TILE_PANEL || TILE_VECTORS == 2 ? 0 : lane, c = from + v * RT_VEC;
    return c / TILE_PANEL * w_panel + c % TILE_PANEL - from;
}

/* The last vector of a row, of `n` elements. */
TILE vec tile_load_last(const f32 *p, idx n)
{
#if RT_VEC == 1
    (void)n;
    return vec_load(p);
#else
    return vec_load_some(p, n);
#endif
}

TILE void tile_store_last(f32 *p, vec v, idx n)
{
#if RT_VEC == 1
    (void)n;
    vec_store(p, v);
#else
    vec_store_some(p, v, n);
#endif
}

/* Loads c from p, rows with `pitch` (0: one row for all); the last vector has `last` elements. */
TILE void tile_load(vec *c, const int R, const int V, const f32 *p, idx pitch, idx last)
{
#define TILE_ELEMENT(r, v)                                                                                             \
    if (R > r && V > v)                                                                                                \
        c[r * V + v] = v < V - 1 ? vec_load(p + r * pitch + v * RT_VEC) : tile_load_last(p + r * pitch + v * RT_VEC, last);
    TILE_EACH_ELEMENT(TILE_ELEMENT)
#undef TILE_ELEMENT
}

/* Adds the elements at p to c. */
TILE void tile_add(vec *c, const int R, const int V, const f32 *p, idx pitch, idx last)
{
#define TILE_ELEMENT(r, v)                                                                                             \
    if (R > r && V > v)                                                                                                \
        c[r * V + v] += v < V - 1 ? vec_load(p + r * pitch + v * RT_VEC) : tile_load_last(p + r * pitch + v * RT_VEC, last);
    TILE_EACH_ELEMENT(TILE_ELEMENT)
#undef TILE_ELEMENT
}

/* c += x w for a stretch of k. */
#ifdef ONNXCC_PLAIN
TILE void tile_mac(vec *c, const int R, const int V, const f32 *x, const f32 *w, const struct tile_job *t)
{
    (void)R; /* 1 */
    for (idx k = 0; k < t->run; k++)
        for (int v = 0; v < V; v++)
            c[v] = vec_fma(x[k], w[k * t->w_k + tile_column(v, t->lane, t->w_panel)], c[v]);
}
#elif VEC_CORTEX
/* Two k at a time: one instruction loads the V weights of each, w0 to w3 and v0 to v3, and one those of a row of x. gcc
 * alone would load them one by one, and copy what it has loaded. */
#define TILE_LOAD(n, list, ...)                                                                                        \
    __asm__("vldmia %[w], {" list "}\n\tadd %[w], %[next]"                                                             \
            : [w] "+r"(w), __VA_ARGS__                                                                                 \
            : [next] "r"(next), "m"(*(const f32(*)[n])w));
#define TILE_WEIGHTS(a)                                                                                                \
    if (V == 1)                                                                                                        \
        TILE_LOAD(1, "%1", "=t"(a##0))                                                                                 \
    else if (V == 2)                                                                                                   \
        TILE_LOAD(2, "%1, %2", "=t"(a##0), "=t"(a##1))                                                                 \
    else if (V == 3)                                                                                                   \
        TILE_LOAD(3, "%1, %2, %3", "=t"(a##0), "=t"(a##1), "=t"(a##2))                                                 \
    else                                                                                                               \
        TILE_LOAD(4, "%1, %2, %3, %4", "=t"(a##0), "=t"(a##1), "=t"(a##2), "=t"(a##3))
#define TILE_MLA(i, x, w) "vmla.f32 %[c" #i "], " x ", %[" w #i "]\n\t"
#define TILE_MLA_1(x, w) TILE_MLA(0, x, w)
#define TILE_MLA_2(x, w) TILE_MLA_1(x, w) TILE_MLA(1, x, w)
#define TILE_MLA_3(x, w) TILE_MLA_2(x, w) TILE_MLA(2, x, w)
#define TILE_MLA_4(x, w) TILE_MLA_3(x, w) TILE_MLA(3, x, w)
#define TILE_SUM(r, i) [c##i] "+t"(c[r * V + i])
#define TILE_SUMS_1(r) TILE_SUM(r, 0)
#define TILE_SUMS_2(r) TILE_SUMS_1(r), TILE_SUM(r, 1)
#define TILE_SUMS_3(r) TILE_SUMS_2(r), TILE_SUM(r, 2)
#define TILE_SUMS_4(r) TILE_SUMS_3(r), TILE_SUM(r, 3)
#define TILE_FROM(a, i) [a##i] "t"(a##i)
#define TILE_FROM_1(a) TILE_FROM(a, 0)
#define TILE_FROM_2(a) TILE_FROM_1(a), TILE_FROM(a, 1)
#define TILE_FROM_3(a) TILE_FROM_2(a), TILE_FROM(a, 2)
#define TILE_FROM_4(a) TILE_FROM_3(a), TILE_FROM(a, 3)
#define TILE_ROW_TWO(r, n)                                                                                             \
    __asm__("vldmia %[x]!, {s8, s9}\n\t" TILE_MLA_##n("s8", "w") TILE_MLA_##n("s9", "v")                               \
            : [x] "+r"(x##r), TILE_SUMS_##n(r)                                                                         \
            : TILE_FROM_##n(w), TILE_FROM_##n(v), "m"(*(const f32(*)[2])x##r)                                          \
            : "s8", "s9");
#define TILE_ROW_ONE(r, n)                                                                                             \
    __asm__("vldr s8, [%[x]]\n\t" TILE_MLA_##n("s8", "w")                                                              \
            : TILE_SUMS_##n(r)                                                                                         \
            : [x] "r"(x##r), TILE_FROM_##n(w), "m"(*x##r)                                                              \
            : "s4", "s5", "s6", "s7", "s8", "s9");
#define TILE_ROW(r, row)                                                                                               \
    if (R > r) {                                                                                                       \
        if (V == 1)                                                                                                    \
            row(r, 1)                                                                                                  \
        else if (V == 2)                                                                                               \
            row(r, 2)                                                                                                  \
        else if (V == 3)                                                                                               \
            row(r, 3)                                                                                                  \
        else                                                                                                           \
            row(r, 4)                                                                                                  \
    }
#define TILE_TWO(r) TILE_ROW(r, TILE_ROW_TWO)
#define TILE_ONE(r) TILE_ROW(r, TILE_ROW_ONE)
#define TILE_WORK "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"
TILE void tile_mac(vec *c, const int R, const int V, const f32 *x, const f32 *w, const struct tile_job *t)
{
    register f32 w0 __asm__("s0"), w1 __asm__("s1"), w2 __asm__("s2"), w3 __asm__("s3");
    register f32 v0 __asm__("s4"), v1 __asm__("s5"), v2 __asm__("s6"), v3 __asm__("s7");
    const idx next = t->w_k * (idx)sizeof *w;
    const f32 *x0 = x, *x1 = R > 1 ? x + t->at[1] : x, *x2 = R > 2 ? x + t->at[2] : x, *x3 = R > 3 ? x + t->at[3] : x,
              *x4 = R > 4 ? x + t->at[4] : x, *x5 = R > 5 ? x + t->at[5] : x;
    idx k = t->run - 2;
    __asm__ volatile("" : : : TILE_WORK); /* gcc would keep sums there, and copy them for every pair */
    for (; k >= 0; k -= 2) {
        TILE_WEIGHTS(w)
        TILE_WEIGHTS(v)
        TILE_TWO(0) TILE_TWO(1) TILE_TWO(2) TILE_TWO(3) TILE_TWO(4) TILE_TWO(5)
    }
    if (k == -1) {
        TILE_WEIGHTS(w)
        TILE_ONE(0) TILE_ONE(1) TILE_ONE(2) TILE_ONE(3) TILE_ONE(4) TILE_ONE(5)
    }
}
#elif VEC_MVE
/* Vectors are multiplied by general registers, which leaves more for sums; in tiles of two vectors two k at a time, and
 * one instruction loads those of a row of x. gcc alone would copy and spill sums. */
#define TILE_LOAD "vldrw.u32 %q[w0], [%[w]]\n\tvldrw.u32 %q[w1], [%[w], #16]\n\tadd %[w], %[next]\n\t"
#define TILE_PAIR(r) "ldrd %[a], %[b" #r "], [%[x" #r "]], #8\n\t" TILE_ADD(r, "a")
#define TILE_ADD(r, a) "vfma.f32 %q[c" #r "0], %q[w0], %[" a "]\n\tvfma.f32 %q[c" #r "1], %q[w1], %[" a "]\n\t"
#define TILE_ROW(r) [x##r] "+r"(x##r), [b##r] "=&r"(b##r), [c##r##0] "+w"(c[r * V]), [c##r##1] "+w"(c[r * V + 1])
#define TILE_TWO(loads, adds, ...)                                                                                     \
    __asm__("dls lr, %[k]\n\t"                                                                                         \
            "0:\n\t" TILE_LOAD loads TILE_LOAD adds "le lr, 0b"                                                        \
            : [w] "+r"(w), [w0] "=&w"(w0), [w1] "=&w"(w1), [a] "=&r"(a), __VA_ARGS__                                   \
            : [next] "r"(next), [k] "r"(left >> 1)                                                                     \
            : "lr", "memory");
#define TILE_ONE(r)                                                                                                    \
    if (R > r) {                                                                                                       \
        const f32 one = x##r[k];                                                                                       \
        c[r * V] = vec_fma_n(w0, one, c[r * V]);                                                                       \
        if (V > 1)                                                                                                     \
            c[r * V + 1] = vec_fma_n(w1, one, c[r * V + 1]);                                                           \
    }
TILE void tile_mac(vec *c, const int R, const int V, const f32 *x, const f32 *w, const struct tile_job *t)
{
    const f32 *x0 = x, *x1 = R > 1 ? x + t->at[1] : x, *x2 = R > 2 ? x + t->at[2] : x, *x3 = R > 3 ? x + t->at[3] : x,
              *x4 = R > 4 ? x + t->at[4] : x, *x5 = R > 5 ? x + t->at[5] : x;
    idx left = t->run;
#ifdef RT_FUSED
    const idx next = t->w_k * (idx)sizeof *w;
    if (V == 2 && left > 1) {
        vec w0, w1;
        i32 a, b0, b1, b2;
        if (R == 1)
            TILE_TWO(TILE_PAIR(0), TILE_ADD(0, "b0"), TILE_ROW(0))
        else if (R == 2)
            TILE_TWO(TILE_PAIR(0) TILE_PAIR(1), TILE_ADD(0, "b0") TILE_ADD(1, "b1"), TILE_ROW(0), TILE_ROW(1))
        else
            TILE_TWO(TILE_PAIR(0) TILE_PAIR(1) TILE_PAIR(2), TILE_ADD(0, "b0") TILE_ADD(1, "b1") TILE_ADD(2, "b2"),
                     TILE_ROW(0), TILE_ROW(1), TILE_ROW(2))
        left &= 1;
    }
#endif
    for (idx k = 0, l = 0; k < left; k++, l += t->w_k) {
        const vec w0 = vec_load(w + l);
        const vec w1 = V > 1 ? vec_load(w + l + RT_VEC) : w0;
        TILE_ONE(0) TILE_ONE(1) TILE_ONE(2) TILE_ONE(3) TILE_ONE(4) TILE_ONE(5)
    }
}
#else
TILE void tile_mac(vec *c, const int R, const int V, const f32 *x, const f32 *w, const struct tile_job *t)
{
    const idx step = t->step, w_1 = tile_column(1, t->lane, t->w_panel), w_2 = tile_column(2, t->lane, t->w_panel),
              w_3 = tile_column(3, t->lane, t->w_panel);
    /* pointers to absent rows would be outside of x, and w + w_k after the last k outside of the panels */
    const f32 *x3 = R > 3 ? x + 3 * step : x, *x6 = R > 6 ? x + 6 * step : x;
    const f32 *x9 = R > 9 ? x + 9 * step : x, *x12 = R > 12 ? x + 12 * step : x, *at[TILE_LOOSE];
#define TILE_AT(r)                                                                                                     \
    if (R > r && r < TILE_LOOSE)                                                                                       \
        at[r % TILE_LOOSE] = x + t->at[r % TILE_LOOSE];
    TILE_EACH_ROW(TILE_AT)
#undef TILE_AT
    for (idx k = 0, l = 0; k < t->run; k++, l += t->w_k, x++, x3++, x6++, x9++, x12++) {
        const vec w0 = vec_load(w + l);
        const vec w1 = V > 1 ? vec_load(w + l + w_1) : w0;
        const vec w2 = V > 2 ? vec_load(w + l + w_2) : w0;
        const vec w3 = V > 3 ? vec_load(w + l + w_3) : w0;
        vec a;
#define TILE_STEP(r)                                                                                                   \
    if (R > r) {                                                                                                       \
        a = vec_splat(R <= TILE_LOOSE ? at[r % TILE_LOOSE][k]                                                \
                                : (r < 3 ? x : r < 6 ? x3 : r < 9 ? x6 : r < 12 ? x9 : x12)[r % 3 * step]);            \
        c[r * V] = vec_fma(a, w0, c[r * V]);                                                                           \
        if (V > 1)                                                                                                     \
            c[r * V + 1] = vec_fma(a, w1, c[r * V + 1]); \
        if (V > 2)                                                                                                     \
            c[r * V + 2] = vec_fma(a, w2, c[r * V + 2]); \
        if (V > 3)                                                                                                     \
            c[r * V + 3] = vec_fma(a, w3, c[r * V + 3]); \
    }
        TILE_EACH_ROW(TILE_STEP)
#undef TILE_STEP
    }
}
#endif
#undef TILE_LOAD
#undef TILE_PAIR
#undef TILE_ADD
#undef TILE_ROW
#undef TILE_TWO
#undef TILE_ONE

/* Sets the stride of the rows of x. */
TILE void tile_rows(struct tile_job *t, idx step)
{
    t->step = step;
    for (int r = 0; r < TILE_LOOSE; r++)
        t->at[r] = r * step;
}

/* Stores c, clamped to [lo, hi]. */
TILE void tile_store(vec *c, const int R, const int V, f32 *y, idx pitch, idx last, f32 lo, f32 hi)
{
    const vec low = vec_splat(lo), high = vec_splat(hi);
#if VEC_CORTEX /* whose comparisons take as many instructions as all else here */
#define TILE_CLAMPED(v) v
#define TILE_ELEMENT(r, v)                                                                                             \
    if (R > r && V > v)                                                                                                \
        c[r * V + v] = vec_max(low, c[r * V + v]);
    if (lo > -RT_INF) {
        TILE_EACH_ELEMENT(TILE_ELEMENT)
    }
#undef TILE_ELEMENT
#define TILE_ELEMENT(r, v)                                                                                             \
    if (R > r && V > v)                                                                                                \
        c[r * V + v] = vec_min(high, c[r * V + v]);
    if (hi < RT_INF) {
        TILE_EACH_ELEMENT(TILE_ELEMENT)
    }
#undef TILE_ELEMENT
#else
#define TILE_CLAMPED(v) vec_min(high, vec_max(low, v))
#endif
#define TILE_ELEMENT(r, v)                                                                                             \
    if (R > r && V > v) {                                                                                              \
        if (v < V - 1)                                                                                                 \
            vec_store(TILE_TO(r) + v * RT_VEC, TILE_CLAMPED(c[r * V + v]));                                            \
        else                                                                                                           \
            tile_store_last(TILE_TO(r) + v * RT_VEC, TILE_CLAMPED(c[r * V + v]), last);                                \
    }
#if VEC_CORTEX && defined __OPTIMIZE__ /* one pointer; gcc would keep one for every element */
#define TILE_TO(r) y
#define TILE_STORE(r)                                                                                                  \
    if (R > r) {                                                                                                       \
        TILE_ELEMENT(r, 0)                                                                                             \
        TILE_ELEMENT(r, 1)                                                                                             \
        TILE_ELEMENT(r, 2)                                                                                             \
        TILE_ELEMENT(r, 3)                                                                                             \
        y += pitch;                                                                                                    \
        __asm__("" : "+r"(y));                                                                                         \
    }
    TILE_EACH_ROW(TILE_STORE)
#undef TILE_STORE
#else
#define TILE_TO(r) (y + r * pitch)
    TILE_EACH_ELEMENT(TILE_ELEMENT)
#endif
#undef TILE_TO
#undef TILE_ELEMENT
#undef TILE_CLAMPED
}

/* After a stretch of the sum. What only the next one needs is read when that begins: gcc would load it before the first
 * one. */
#if VEC_CORTEX
#define TILE_NEXT                                                                                                      \
    if (k + 1 == t->taps)                                                                                              \
        break;                                                                                                         \
    __asm__ volatile("" : : : "memory");
#else
#define TILE_NEXT
#endif

/* y = x w for n times R rows from x on and V vectors of columns from w on; the last vector has `last` elements. c: the
 * tile. */
TILE void tile_any(vec *c, const int R, const int V, const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y,
                   idx last, idx n, const struct tile_job *t)
{
    static const f32 zero[TILE_VECTORS * RT_VEC];
    for (idx i = 0; i < n * R; i += R) {
        f32 *const to = y + i * t->y_pitch;
        tile_load(c, R, V, t->first && b ? b : zero, 0, t->first && b ? last : RT_VEC);
        if (t->first && r)
            tile_add(c, R, V, r + i * t->r_pitch, t->r_pitch, last);
        idx row = t->tap[0], tap = t->tap[1], at = i * t->step;
        for (idx k = 0; k < t->taps; k++) {
            tile_mac(c, R, V, x + at, w + k * t->w_run, t);
            TILE_NEXT
            at += t->right;
            if (++tap < t->across)
                continue;
            tap = 0;
            at += t->row - t->across * t->right;
            if (++row < t->rows)
                continue;
            row = 0;
            at += t->plane - t->rows * t->row;
        }
        if (!t->first)
            tile_add(c, R, V, to, t->y_pitch, last);
        tile_store(c, R, V, to, t->y_pitch, last, t->lo, t->hi);
    }
}

#ifdef ONNXCC_PLAIN
/* Without pointers to functions: a tile has one row, and is identified by its number of vectors. TILE_DO(run, tile,
 * ...) calls `run` with it. */
#define TILE_DO(run, tile, ...) run(tile, __VA_ARGS__)
#define TILE_REF(fn) int
#define tile_of(R, V) (V)
SHARED void tile_run(const int V, const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, idx last, idx n,
                     const struct tile_job *t)
{
    vec c[TILE_VECTORS];
    tile_any(c, 1, V, x, w, b, r, y, last, n, t);
}
#else
#define TILE_DO(run, tile, ...) (tile)(__VA_ARGS__)
#define TILE_REF(fn) fn *
/* One function per shape, shared by all layers of a model; unused ones are removed by the C compiler. */
typedef void tile_fn(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, idx last, idx n,
                     const struct tile_job *t);
#define TILE_DEFINE(R, V)                                                                                              \
    SHARED void tile_##R##_##V(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, idx last, idx n,        \
                               const struct tile_job *t)                                                               \
    {                                                                                                                  \
        vec c[R * V];                                                                                                  \
        tile_any(c, R, V, x, w, b, r, y, last, n, t);                                                                  \
    }
#if TILE_SMALL
#define TILE_EACH TILE_FEW
#else
#define TILE_EACH(X)                                                                                                   \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(9, 1) X(10, 1) X(11, 1) X(12, 1) X(13, 1) X(14, 1)\
    X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2) X(9, 2) X(10, 2) X(11, 2) X(12, 2)                 \
    X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(6, 4)
#endif
TILE_EACH(TILE_DEFINE)
#undef TILE_DEFINE

/* of(R, V): the function, of type fn, for R rows and V vectors, literals. CASE(rows, vectors) is TILE_IF(its name). */
#define TILE_OF(fn, of, CASE)                                                                                          \
    TILE fn *of(const int R, const int V)                                                                              \
    {                                                                                                                  \
        TILE_EACH(CASE)                                                                                                \
        return NULL;                                                                                                   \
    }
#define TILE_IF(rows, vectors, name)                                                                                   \
    if (R == rows && V == vectors)                                                                                     \
        return name;
#define TILE_CASE(rows, vectors) TILE_IF(rows, vectors, tile_##rows##_##vectors)
TILE_OF(tile_fn, tile_of, TILE_CASE)
#undef TILE_CASE
#endif

/* struct name: the tiles of a product of m rows and n columns, [few rows][few columns]; name(m, n) makes it, all
 * literals if m and n are. of(R, V): the function, of type fn, for a tile. */
#define TILE_PLAN(name, fn, of)                                                                                        \
    struct name {                                                                                                      \
        struct tile_cut rows, across;                                                                                  \
        TILE_REF(fn) tile[2][2];                                                                                       \
    };                                                                                                                 \
    TILE struct name name(idx m, idx n)                                                                                \
    {                                                                                                                  \
        const struct tile_cut across = tile_across(n);                                                                 \
        const struct tile_cut rows = tile_cut(m, TILE_ROWS(across.big), 1);                                            \
        const struct name c = {                                                                                        \
            .rows = rows,                                                                                              \
            .across = across,                                                                                          \
            .tile = {{of(rows.big, across.big), of(rows.big, across.little)},                                          \
                     {of(rows.little, across.big), of(rows.little, across.little)}},                                   \
        };                                                                                                             \
        return c;                                                                                                      \
    }

/* An epilogue, applied to every element of complete rows. In plain C it is called when all rows are complete. */
#ifdef ONNXCC_PLAIN
typedef void tile_epilogue;
#define TILE_POINTER(epilogue) NULL
#else
typedef void tile_epilogue(f32 *y, idx pitch, idx rows, idx columns);
#define TILE_POINTER(epilogue) epilogue
#endif
#define TILE_EPILOGUE(name, f)                                                                                         \
    SHARED void name(f32 *y, idx pitch, idx rows, idx columns)                                                         \
    {                                                                                                                  \
        if (pitch == columns) {                                                                                        \
            columns *= rows;                                                                                           \
            rows = 1;                                                                                                  \
        }                                                                                                              \
        for (idx i = 0; i < rows; i++)                                                                                 \
            for (idx c = 0; c < columns; c++)                                                                          \
                y[i * pitch + c] = f(y[i * pitch + c]);                                                                \
    }
#endif
