/* qmicro.h - Conv and products of matrices in 8-bit integers for small processors: the inputs of a few pixels are
 * gathered, and multiplied by panels of four output channels. The weights have no zero points, that of x is in the
 * bias.
 *
 * A panel has, as bytes: 4 biases (i32), 4 scales (f32), then for each `unit` of inputs those of the four channels. */
#ifndef ONNXCC_QMICRO_H
#define ONNXCC_QMICRO_H
#include "rt.h"
#include "micro.h"

#define QMICRO_PANEL 4
#define QMICRO_SCALE 16
#define QMICRO_HEAD 32
#define QMICRO_ROWS 3 /* pixels at a time, at most */

/* Packs w, with the strides w_out, w_in and w_tap; bias: cout, or NULL; scale: with stride scale_step; x_zero: the zero
 * point of x. */
#define qmicro_pack_PARAMS(X, V)                                                                                       \
    X(idx, cout) X(idx, cin) X(idx, taps) X(idx, unit) X(idx, w_out) X(idx, w_in) X(idx, w_tap) X(idx, scale_step)     \
    X(int, x_zero)
PARAMS(qmicro_pack)

/* x: (n, in[2], x_pitch), of which cin channels; y: (n, out[2], y_pitch), of which cout. dilation: of rows alone. y is
 * clamped to [lo, hi]. Scratch: the inputs of three pixels in 16 bits, and of one in 8. */
#define qmicro_PARAMS(X, V)                                                                                            \
    X(idx, n) V(idx, in, 2) V(idx, out, 2) X(idx, cin) X(idx, cout) V(idx, kernel, 2) V(idx, stride, 2) X(idx, dilation) \
    V(idx, pad, 2) X(idx, x_pitch) X(idx, y_pitch) X(idx, unit) X(int, x_zero) X(int, y_zero) X(int, lo) X(int, hi)
PARAMS(qmicro)

/* The parameters of all tiles. */
struct qmicro_job {
    idx units, panel, columns, pitch;
    i32 zero;
};

#endif

#define QMICRO_TYPE_i8 1
#define QMICRO_TYPE_u8 1
#define QMICRO_FLIP_i8 0
#define QMICRO_FLIP_u8 128 /* unsigned weights are stored minus this, their zero point */
#if defined T && !defined U
#if RT_TAKES(QMICRO_TYPE_, T)
#if RT_FOLDS
/* The weight of column o and input k, or 0 beyond the last. */
HELPER i32 FN(qmicro_weight)(const T *w, idx o, idx k, const struct qmicro_pack *p)
{
    if (o >= p->cout || k >= p->taps * p->cin)
        return 0;
    return (i32)LD(w, o * p->w_out + k % p->cin * p->w_in + k / p->cin * p->w_tap) - RT_CAT(QMICRO_FLIP_, T);
}

KERNEL void FN(qmicro_pack)(const T *w, const i32 *bias, const f32 *scale, i8 *y, struct qmicro_pack p)
{
    const idx units = (p.taps * p.cin + p.unit - 1) / p.unit;
    for (idx first = 0; first < p.cout; first += QMICRO_PANEL) {
        for (idx c = 0; c < QMICRO_PANEL; c++) {
            const idx o = first + c;
            u32 sum = 0;
            for (idx k = 0; k < units * p.unit; k++) {
                const i32 v = FN(qmicro_weight)(w, o, k, &p);
                y[QMICRO_HEAD + (k / p.unit * QMICRO_PANEL + c) * p.unit + k % p.unit] = (i8)v;
                sum += (u32)v;
            }
            rt_put32(y + 4 * c, (o < p.cout && bias ? (u32)bias[o] : 0) - (u32)p.x_zero * sum);
            rt_put32(y + QMICRO_SCALE + 4 * c, rt_u32(o < p.cout ? scale[o * p.scale_step] : 0));
        }
        y += QMICRO_HEAD + units * p.unit * QMICRO_PANEL;
    }
}
REGISTER_KERNEL(qmicro_pack, 4, 3, FOLDED)
#endif

/* Row h of an image from pixel w on, a kernel's width of it: in x, or with its border in `line`. */
HELPER const T *FN(qmicro_stretch)(const T *x, T *line, idx h, idx w, const struct qmicro *p)
{
    const idx from = (h * p->in[1] + w) * p->x_pitch, width = p->kernel[1];
    const int inside = h >= 0 && h < p->in[0];
    if (inside && w >= 0 && w + width <= p->in[1] && (p->x_pitch == p->cin || width == 1))
        return x + from;
    for (idx i = 0; i < width; i++)
        if (inside && w + i >= 0 && w + i < p->in[1])
            memcpy(line + i * p->cin, x + from + i * p->x_pitch, (size_t)p->cin);
        else
            memset(line + i * p->cin, p->x_zero, (size_t)p->cin);
    return line;
}

RT_INLINE i32 FN(qmicro_scaled)(i32 c, f32 scale, i32 zero)
{
    return micro_scaled(c, scale, zero, RT_CAT(MICRO_LOW_, T));
}

/* The inputs of pixel i, as bytes: in x, or gathered in `to`. */
HELPER const T *FN(qmicro_gather)(const T *x, T *to, idx i, const struct qmicro_job *t, const struct qmicro *p)
{
    const idx run = p->kernel[1] * p->cin, h = i / p->out[1] * p->stride[0] - p->pad[0];
    for (idx k = 0; k < p->kernel[0]; k++) {
        const T *const s =
            FN(qmicro_stretch)(x, to + k * run, h + k * p->dilation, i % p->out[1] * p->stride[1] - p->pad[1], p);
        if (p->kernel[0] == 1 && run == t->units * p->unit)
            return s;
        if (s != to + k * run)
            memcpy(to + k * run, s, (size_t)run);
    }
    memset(to + p->kernel[0] * run, 0, (size_t)(t->units * p->unit - p->kernel[0] * run));
    return to;
}

/* Rows of bytes by one or two columns at a time. */
HELPER void FN(qmicro_tile)(const T *const *x, const int R, const i8 *w, T *y, const int unit,
                            const struct qmicro_job *t)
{
    for (idx c = 0; c < t->columns; c += 2, y += 2) {
        const i8 *k = w + QMICRO_HEAD + unit * (c & 2);
        const i32 *const head = micro_words(w) + (c & 2);
        const i8 *const end = k + t->units * unit * QMICRO_PANEL;
        const T *x0 = x[0], *x1 = x[R > 1 ? 1 : 0], *x2 = x[R > 2 ? 2 : 0];
        i32 c00 = micro_head(head, 0), c01 = micro_head(head, 1), c10 = c00, c11 = c01, c20 = c00, c21 = c01;
        for (; k != end; k += unit * (QMICRO_PANEL - 1))
            for (const i8 *const stop = k + unit; k != stop; k += 4, x0 += 4, x1 += 4, x2 += 4) {
#define QMICRO_STEP(i)                                                                                                 \
    {                                                                                                                  \
        const i32 v = k[i], u = k[unit + i];                                                                           \
        c00 = micro_mac(c00, x0[i], v);                                                                              \
        c01 = micro_mac(c01, x0[i], u);                                                                              \
        if (R > 1) {                                                                                                   \
            c10 = micro_mac(c10, x1[i], v);                                                                          \
            c11 = micro_mac(c11, x1[i], u);                                                                          \
        }                                                                                                              \
        if (R > 2) {                                                                                                   \
            c20 = micro_mac(c20, x2[i], v);                                                                          \
            c21 = micro_mac(c21, x2[i], u);                                                                          \
        }                                                                                                              \
    }
                QMICRO_STEP(0) QMICRO_STEP(1) QMICRO_STEP(2) QMICRO_STEP(3)
#undef QMICRO_STEP
            }
        const f32 s0 = rt_f32((u32)micro_head(head, 4)), s1 = rt_f32((u32)micro_head(head, 5));
#define QMICRO_PUT(r)                                                                                                  \
    if (R > r) {                                                                                                       \
        y[r * t->pitch] = (T)FN(qmicro_scaled)(c##r##0, s0, t->zero);                                                  \
        if (c + 1 < t->columns)                                                                                        \
            y[r * t->pitch + 1] = (T)FN(qmicro_scaled)(c##r##1, s1, t->zero);                                          \
    }
        QMICRO_PUT(0)
        QMICRO_PUT(1)
        QMICRO_PUT(2)
#undef QMICRO_PUT
        w += c & 2 ? t->panel : 0;
    }
}

#define QMICRO_TILE(name, R, unit)                                                                                     \
    SHARED MICRO_IN_ORDER void FN(name)(const T *const *x, const i8 *w, T *y, const struct qmicro_job *t)              \
    {                                                                                                                  \
        FN(qmicro_tile)(x, R, w, y, unit, t);                                                                          \
    }
/* One row, four columns at a time. */
SHARED MICRO_IN_ORDER void FN(qmicro_tile_1_4)(const T *const *x, const i8 *w, T *y, const struct qmicro_job *t)
{
    for (idx left = t->columns; left > 0; left -= QMICRO_PANEL, w += t->panel, y += QMICRO_PANEL) {
        const T *a = *x;
        const i32 *const head = micro_words(w);
        i32 c0 = micro_head(head, 0), c1 = micro_head(head, 1), c2 = micro_head(head, 2), c3 = micro_head(head, 3);
        for (const i8 *k = w + QMICRO_HEAD, *const end = w + t->panel; k != end; k += 16, a += 4) {
#define QMICRO_STEP(i)                                                                                                 \
    c0 = micro_mac(c0, a[i], k[i]);                                                                                  \
    c1 = micro_mac(c1, a[i], k[4 + (i)]);                                                                            \
    c2 = micro_mac(c2, a[i], k[8 + (i)]);                                                                            \
    c3 = micro_mac(c3, a[i], k[12 + (i)]);
            QMICRO_STEP(0)
            QMICRO_STEP(1)
            QMICRO_STEP(2)
            QMICRO_STEP(3)
#undef QMICRO_STEP
        }
        const i32 c[QMICRO_PANEL] = {c0, c1, c2, c3};
        for (int i = 0; i < QMICRO_PANEL && i < left; i++)
            y[i] = (T)FN(qmicro_scaled)(c[i], rt_f32((u32)micro_head(head, 4 + i)), t->zero);
    }
}
#if MICRO_MANY_REGISTERS
/* Three rows, four columns at a time. */
SHARED MICRO_IN_ORDER void FN(qmicro_tile_4)(const T *const *x, const i8 *w, T *y, const struct qmicro_job *t)
{
    for (idx left = t->columns; left > 0; left -= QMICRO_PANEL, w += t->panel, y += QMICRO_PANEL) {
        const i32 *const head = micro_words(w);
        const T *x0 = x[0], *x1 = x[1], *x2 = x[2];
        i32 c00 = micro_head(head, 0), c01 = micro_head(head, 1), c02 = micro_head(head, 2), c03 = micro_head(head, 3);
        i32 c10 = c00, c11 = c01, c12 = c02, c13 = c03, c20 = c00, c21 = c01, c22 = c02, c23 = c03;
        for (const i8 *k = w + QMICRO_HEAD, *const end = w + t->panel; k != end; k += 16, x0 += 4, x1 += 4, x2 += 4) {
#define QMICRO_ROW(r, i)                                                                                               \
    {                                                                                                                  \
        const i32 v = x##r[i];                                                                                         \
        c##r##0 = micro_mac(c##r##0, v, w0);                                                                           \
        c##r##1 = micro_mac(c##r##1, v, w1);                                                                           \
        c##r##2 = micro_mac(c##r##2, v, w2);                                                                           \
        c##r##3 = micro_mac(c##r##3, v, w3);                                                                           \
    }
#define QMICRO_STEP(i)                                                                                                 \
    {                                                                                                                  \
        const i32 w0 = k[i], w1 = k[4 + (i)], w2 = k[8 + (i)], w3 = k[12 + (i)];                                       \
        QMICRO_ROW(0, i) QMICRO_ROW(1, i) QMICRO_ROW(2, i)                                                             \
    }
            QMICRO_STEP(0) QMICRO_STEP(1) QMICRO_STEP(2) QMICRO_STEP(3)
#undef QMICRO_STEP
#undef QMICRO_ROW
        }
        const i32 c[3][QMICRO_PANEL] = {{c00, c01, c02, c03}, {c10, c11, c12, c13}, {c20, c21, c22, c23}};
        for (int r = 0; r < 3; r++)
            for (int i = 0; i < QMICRO_PANEL && i < left; i++)
                y[r * t->pitch + i] = (T)FN(qmicro_scaled)(c[r][i], rt_f32((u32)micro_head(head, 4 + i)), t->zero);
    }
}
#else
QMICRO_TILE(qmicro_tile_4, MICRO_ROWS, 4)
#endif
QMICRO_TILE(qmicro_tile_1_16, 1, 16)
QMICRO_TILE(qmicro_tile_16, MICRO_ROWS, 16)

#if MICRO_MVE
/* Scales four sums and stores the first `left`. */
HELPER void FN(qmicro_store)(T *y, int32x4_t c, float32x4_t scale, i32 zero, idx left)
{
    const int32x4_t v = micro_scaled_4(c, scale, zero);
    const int32x4_t narrow = (int32x4_t)RT_CAT(micro_narrow_, T)(vqmovnbq_s32((int16x8_t)v, v));
    if (left >= 4)
        vstrbq_s32((int8_t *)y, narrow);
    else
        vstrbq_p_s32((int8_t *)y, narrow, vctp32q((u32)left));
}

/* One pixel, four columns at a time. */
SHARED MICRO_IN_ORDER void FN(qmicro_vectors_1)(const T *x, const i8 *w, T *y, const struct qmicro_job *t)
{
    const idx units = t->units;
    for (idx left = t->columns; left > 0; left -= QMICRO_PANEL, w += t->panel, y += QMICRO_PANEL) {
        const T *a = x;
        const i8 *k = w + QMICRO_HEAD;
        const i32 *const head = micro_words(w);
        i32 c0 = head[0], c1 = head[1], c2 = head[2], c3 = head[3];
        for (idx i = 0; i < units; i++, a += 16, k += 64) {
            c0 = RT_CAT(micro_dot_, T)(c0, a, k);
            c1 = RT_CAT(micro_dot_, T)(c1, a, k + 16);
            c2 = RT_CAT(micro_dot_, T)(c2, a, k + 32);
            c3 = RT_CAT(micro_dot_, T)(c3, a, k + 48);
        }
        FN(qmicro_store)(y, (int32x4_t){c0, c1, c2, c3}, vldrwq_f32((const float *)(head + 4)), t->zero, left);
    }
}

/* The sums of three pixels with two columns, of weights from k on, to sum[0..1], sum[4..5] and sum[8..9]. */
HELPER void FN(qmicro_columns)(i32 *sum, const T *const *x, const i8 *k, const i32 *bias, idx units)
{
    const T *x0 = x[0], *x1 = x[1], *x2 = x[2];
    const i8 *l = k + 16;
    i32 c00 = bias[0], c01 = bias[1], c10 = c00, c11 = c01, c20 = c00, c21 = c01;
    for (idx i = 0; i < units; i++, x0 += 16, x1 += 16, x2 += 16, k += 64, l += 64) {
        c00 = RT_CAT(micro_dot_, T)(c00, x0, k);
        c01 = RT_CAT(micro_dot_, T)(c01, x0, l);
        c10 = RT_CAT(micro_dot_, T)(c10, x1, k);
        c11 = RT_CAT(micro_dot_, T)(c11, x1, l);
        c20 = RT_CAT(micro_dot_, T)(c20, x2, k);
        c21 = RT_CAT(micro_dot_, T)(c21, x2, l);
    }
    sum[0] = c00, sum[1] = c01, sum[4] = c10, sum[5] = c11, sum[8] = c20, sum[9] = c21;
}

/* Three pixels, four columns at a time, of which two are in registers. */
SHARED MICRO_IN_ORDER void FN(qmicro_vectors_3)(const T *const *x, const i8 *w, T *y, const struct qmicro_job *t)
{
    const idx units = t->units, pitch = t->pitch;
    const i32 zero = t->zero;
    for (idx left = t->columns; left > 0; left -= QMICRO_PANEL, w += t->panel, y += QMICRO_PANEL) {
        const i32 *const head = micro_words(w);
        i32 sum[3 * QMICRO_PANEL];
        FN(qmicro_columns)(sum, x, w + QMICRO_HEAD, head, units);
        FN(qmicro_columns)(sum + 2, x, w + QMICRO_HEAD + 32, head + 2, units);
        const float32x4_t scale = vldrwq_f32((const float *)(head + 4));
        FN(qmicro_store)(y, vldrwq_s32(sum), scale, zero, left);
        FN(qmicro_store)(y + pitch, vldrwq_s32(sum + 4), scale, zero, left);
        FN(qmicro_store)(y + 2 * pitch, vldrwq_s32(sum + 8), scale, zero, left);
    }
}
#endif

/* `rows` pixels from pixel i of an image on. */
HELPER void FN(qmicro_bytes)(const T *x, const i8 *w, T *y, u8 *scratch, idx i, const int rows,
                             const struct qmicro_job *t, const struct qmicro *p)
{
    const T *row[QMICRO_ROWS];
    for (int r = 0; r < rows; r++)
        row[r] = FN(qmicro_gather)(x, (T *)scratch + r * t->units * p->unit, i + r, t, p);
#if MICRO_MVE
    if (p->unit == 16) {
        if (rows == 1)
            FN(qmicro_vectors_1)(row[0], w, y, t);
        else
            FN(qmicro_vectors_3)(row, w, y, t);
        return;
    }
#endif
    if (p->unit == 4 && rows == 1)
        FN(qmicro_tile_1_4)(row, w, y, t);
    else if (p->unit == 4)
        FN(qmicro_tile_4)(row, w, y, t);
    else if (rows == 1)
        FN(qmicro_tile_1_16)(row, w, y, t);
    else
        FN(qmicro_tile_16)(row, w, y, t);
}

#if MICRO_DSP
/* Widens n words of x, each to the pairs (0, 2) and (1, 3); the pairs of `rows` pixels alternate. */
SHARED void FN(qmicro_widen)(i32 *to, const T *x, idx n, const int rows)
{
    for (; n > 0; n--, x += 4, to += 2 * rows) {
        const i32 v = micro_word(x);
        to[0] = RT_CAT(micro_even_, T)(v);
        to[1] = RT_CAT(micro_odd_, T)(v);
    }
}

/* QMICRO_STEP for all units up to `end`, two in an iteration; x has `words` words of each. */
#define QMICRO_UNITS(words)                                                                                            \
    if (t->units & 1) {                                                                                                \
        QMICRO_STEP(0)                                                                                                 \
        k += 4;                                                                                                        \
        a += words;                                                                                                    \
    }                                                                                                                  \
    for (; k != end; k += 8, a += 2 * (words)) {                                                                       \
        QMICRO_STEP(0)                                                                                                 \
        QMICRO_STEP(1)                                                                                                 \
    }

/* Three pixels, two columns at a time. */
SHARED MICRO_IN_ORDER void FN(qmicro_tile_3)(const i32 *x, const i8 *w, T *y, const struct qmicro_job *t)
{
    for (idx c = 0; c < t->columns; c += 2, y += 2) {
        const i32 *a = x, *k = micro_words(w + QMICRO_HEAD) + (c & 2), *const head = micro_words(w) + (c & 2);
        const i32 *const end = k + t->units * 4;
        i32 c00 = head[0], c01 = head[1], c10 = c00, c11 = c01, c20 = c00, c21 = c01;
#define QMICRO_STEP(i)                                                                                                 \
    {                                                                                                                  \
        const i32 w0 = k[4 * i], w1 = k[4 * i + 1];                                                                    \
        const i32 e0 = micro_even_i8(w0), o0 = micro_odd_i8(w0), e1 = micro_even_i8(w1), o1 = micro_odd_i8(w1);        \
        QMICRO_PAIRS(6 * i, c00, c01)                                                                                  \
        QMICRO_PAIRS(6 * i + 2, c10, c11)                                                                              \
        QMICRO_PAIRS(6 * i + 4, c20, c21)                                                                              \
    }
#define QMICRO_PAIRS(i, c0, c1)                                                                                        \
    c0 = __smlad(a[i], e0, c0);                                                                                        \
    c1 = __smlad(a[i], e1, c1);                                                                                        \
    c0 = __smlad(a[(i) + 1], o0, c0);                                                                                  \
    c1 = __smlad(a[(i) + 1], o1, c1);
        QMICRO_UNITS(6)
#undef QMICRO_PAIRS
#undef QMICRO_STEP
        const f32 s0 = rt_f32((u32)head[4]), s1 = rt_f32((u32)head[5]);
        const i32 zero = t->zero;
        const idx pitch = t->pitch;
        const i32 y00 = FN(qmicro_scaled)(c00, s0, zero), y10 = FN(qmicro_scaled)(c10, s0, zero);
        const i32 y20 = FN(qmicro_scaled)(c20, s0, zero), y01 = FN(qmicro_scaled)(c01, s1, zero);
        const i32 y11 = FN(qmicro_scaled)(c11, s1, zero), y21 = FN(qmicro_scaled)(c21, s1, zero);
        y[0] = (T)y00;
        y[pitch] = (T)y10;
        y[2 * pitch] = (T)y20;
        if (c + 1 < t->columns) {
            y[1] = (T)y01;
            y[pitch + 1] = (T)y11;
            y[2 * pitch + 1] = (T)y21;
        }
        w += c & 2 ? t->panel : 0;
    }
}

/* One pixel, four columns at a time. */
SHARED MICRO_IN_ORDER void FN(qmicro_tile_1)(const i32 *x, const i8 *w, T *y, const struct qmicro_job *t)
{
    for (idx left = t->columns; left > 0; left -= QMICRO_PANEL, w += t->panel, y += QMICRO_PANEL) {
        const i32 *a = x, *k = micro_words(w + QMICRO_HEAD), *const head = micro_words(w);
        const i32 *const end = k + t->units * 4;
        i32 c0 = head[0], c1 = head[1], c2 = head[2], c3 = head[3];
#define QMICRO_STEP(i)                                                                                                 \
    {                                                                                                                  \
        const i32 e = a[2 * i], o = a[2 * i + 1];                                                                      \
        QMICRO_PAIRS(4 * i, c0)                                                                                        \
        QMICRO_PAIRS(4 * i + 1, c1)                                                                                    \
        QMICRO_PAIRS(4 * i + 2, c2)                                                                                    \
        QMICRO_PAIRS(4 * i + 3, c3)                                                                                    \
    }
#define QMICRO_PAIRS(i, c)                                                                                             \
    c = __smlad(e, micro_even_i8(k[i]), c);                                                                            \
    c = __smlad(o, micro_odd_i8(k[i]), c);
        QMICRO_UNITS(2)
#undef QMICRO_PAIRS
#undef QMICRO_STEP
        const i32 c[QMICRO_PANEL] = {c0, c1, c2, c3};
        for (int i = 0; i < QMICRO_PANEL && i < left; i++)
            y[i] = (T)FN(qmicro_scaled)(c[i], rt_f32((u32)head[4 + i]), t->zero);
    }
}

#undef QMICRO_UNITS

/* `rows` pixels from pixel i of an image on, with the inputs as pairs. */
HELPER void FN(qmicro_pairs)(const T *x, const i8 *w, T *y, u8 *scratch, idx i, const int rows,
                             const struct qmicro_job *t, const struct qmicro *p)
{
    const idx run = p->kernel[1] * p->cin;
    i32 *const wide = (i32 *)(void *)scratch;
    T *const line = (T *)(scratch + 8 * rows * t->units);
    for (idx r = 0; r < rows; r++) {
        const idx h = (i + r) / p->out[1] * p->stride[0] - p->pad[0],
                  v = (i + r) % p->out[1] * p->stride[1] - p->pad[1];
        for (idx k = 0; k < p->kernel[0]; k++)
            if (run % 4) {
                const T *const s = FN(qmicro_stretch)(x, line + k * run, h + k * p->dilation, v, p);
                if (s != line + k * run)
                    memcpy(line + k * run, s, (size_t)run);
            } else {
                const T *const s = FN(qmicro_stretch)(x, line, h + k * p->dilation, v, p);
                FN(qmicro_widen)(wide + 2 * (r + k * (run / 4) * rows), s, run / 4, rows);
            }
        if (run % 4)
            FN(qmicro_widen)(wide + 2 * r, line, t->units, rows);
    }
    if (rows == 1)
        FN(qmicro_tile_1)(wide, w, y, t);
    else
        FN(qmicro_tile_3)(wide, w, y, t);
}
#endif

HELPER void FN(qmicro_some)(const T *x, const i8 *w, T *y, u8 *scratch, idx i, const int rows,
                            const struct qmicro_job *t, const struct qmicro *p)
{
#if MICRO_DSP
    if (p->unit == 4) {
        FN(qmicro_pairs)(x, w, y, scratch, i, rows, t, p);
        return;
    }
#endif
    FN(qmicro_bytes)(x, w, y, scratch, i, rows, t, p);
}

KERNEL void FN(qmicro)(const T *x, const i8 *w, T *y, u8 *scratch, struct qmicro p)
{
    const idx k = p.kernel[0] * p.kernel[1] * p.cin, pixels = p.out[0] * p.out[1], low = RT_CAT(MICRO_LOW_, T);
    struct qmicro_job t = {.units = (k + p.unit - 1) / p.unit, .columns = p.cout, .pitch = p.y_pitch, .zero = p.y_zero};
    t.panel = QMICRO_HEAD + t.units * p.unit * QMICRO_PANEL;
    for (idx n = 0; n < p.n; n++, x += p.in[0] * p.in[1] * p.x_pitch, y += pixels * p.y_pitch) {
        idx i = 0;
        for (; i + MICRO_ROWS <= pixels; i += MICRO_ROWS)
            FN(qmicro_some)(x, w, y + i * p.y_pitch, scratch, i, MICRO_ROWS, &t, &p);
        for (; i < pixels; i++)
            FN(qmicro_some)(x, w, y + i * p.y_pitch, scratch, i, 1, &t, &p);
        if (p.lo > low || p.hi < low + 255) /* more than saturation */
            for (i = 0; i < pixels; i++)
                for (idx c = 0; c < p.cout; c++)
                    y[i * p.y_pitch + c] = (T)micro_clamp(y[i * p.y_pitch + c], p.lo, p.hi);
    }
}
REGISTER_KERNEL(qmicro, 4, 2, SCRATCH)
#endif
#endif
