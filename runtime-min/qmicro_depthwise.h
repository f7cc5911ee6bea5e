/* qmicro_depthwise.h - depthwise Conv in 8-bit integers for small processors: rows of x with their borders, times
 * panels of `wide` channels. The weights have no zero points, that of x is in the bias.
 *
 * A panel has, as bytes: the biases (i32) and the scales (f32) of its channels, then their weights, tap by tap. In
 * panels of four channels two taps of a row are together: the first two channels of both, then the others. */
#ifndef ONNXCC_QMICRO_DEPTHWISE_H
#define ONNXCC_QMICRO_DEPTHWISE_H
#include "rt.h"
#include "micro.h"

/* Packs w, of `taps` weights per channel, `across` in a row; bias: channels, or NULL; scale: with stride scale_step;
 * x_zero: the zero point of x. */
#define qmicro_depthwise_pack_PARAMS(X, V)                                                                             \
    X(idx, channels) X(idx, taps) X(idx, across) X(idx, wide) X(idx, scale_step) X(int, x_zero)
PARAMS(qmicro_depthwise_pack)

/* x: (n, in[2], x_pitch), y: (n, out[2], y_pitch), of which these channels. y is clamped to [lo, hi]. Scratch: the rows
 * of x that one of y takes. */
#define qmicro_depthwise_PARAMS(X, V)                                                                                  \
    X(idx, n) V(idx, in, 2) V(idx, out, 2) X(idx, channels) V(idx, kernel, 2) V(idx, stride, 2) V(idx, dilation, 2)    \
    V(idx, pad, 2) X(idx, x_pitch) X(idx, y_pitch) X(idx, wide) X(int, x_zero) X(int, y_zero) X(int, lo) X(int, hi)
PARAMS(qmicro_depthwise)

/* The position in a panel of channel c of tap k. */
HELPER idx qmicro_depthwise_at(idx c, idx k, idx across, idx wide)
{
    const idx tap = k % across;
    if (wide != 4 || (tap == across - 1 && across % 2))
        return k * wide + c;
    return (k - tap % 2) * 4 + c / 2 * 4 + tap % 2 * 2 + c % 2;
}

/* The parameters of all rows of y: strides in x of pixels, taps and lines of a ring of rows, all in bytes. */
struct qmicro_depthwise_job {
    idx step, right, down, ring, across, lines, pitch, width;
    i32 zero;
};
#endif

#define QMICRO_DEPTHWISE_TYPE_i8 1
#define QMICRO_DEPTHWISE_TYPE_u8 1
#define QMICRO_DEPTHWISE_FLIP_i8 0
#define QMICRO_DEPTHWISE_FLIP_u8 128 /* unsigned weights are stored minus this, their zero point */
#if defined T && !defined U
#if RT_TAKES(QMICRO_DEPTHWISE_TYPE_, T)
#if RT_FOLDS
KERNEL void FN(qmicro_depthwise_pack)(const T *w, const i32 *bias, const f32 *scale, i8 *y,
                                      struct qmicro_depthwise_pack p)
{
    for (idx first = 0; first < p.channels; first += p.wide, y += (8 + p.taps) * p.wide)
        for (idx c = 0; c < p.wide; c++) {
            const idx o = first + c;
            const int there = o < p.channels;
            u32 sum = 0;
            for (idx k = 0; k < p.taps; k++) {
                const i32 v = there ? (i32)LD(w, o * p.taps + k) - RT_CAT(QMICRO_DEPTHWISE_FLIP_, T) : 0;
                y[8 * p.wide + qmicro_depthwise_at(c, k, p.across, p.wide)] = (i8)v;
                sum += (u32)v;
            }
            rt_put32(y + 4 * c, (there && bias ? (u32)bias[o] : 0) - (u32)p.x_zero * sum);
            rt_put32(y + 4 * (p.wide + c), rt_u32(there ? scale[o * p.scale_step] : 0));
        }
}
REGISTER_KERNEL(qmicro_depthwise_pack, 4, 3, FOLDED)
#endif

/* A line of y for a panel of four channels, of which `left` exist. Its windows begin at `at`; x: the same pixel in the
 * first line of the ring. */
SHARED MICRO_IN_ORDER void FN(qmicro_depthwise_line)(const T *x, const T *at, const i8 *w, T *y, idx left,
                                                     const struct qmicro_depthwise_job *t)
{
    const idx right = t->right;
    const i32 *const head = micro_words(w);
    for (idx i = 0; i < t->width; i++, at += t->step, x += t->step, y += t->pitch) {
        const i8 *k = w + 32;
        const T *line = at;
        i32 c0 = micro_head(head, 0), c1 = micro_head(head, 1), c2 = micro_head(head, 2), c3 = micro_head(head, 3);
        for (idx lines = t->lines; lines > 0; lines--) {
            const T *p = line;
            idx n = t->across;
            for (; n > 1; n -= 2, k += 8, p += 2 * right) {
#if MICRO_DSP
                const i32 a = micro_word(p), b = micro_word(p + right);
                const i32 w0 = micro_words(k)[0], w1 = micro_words(k)[1];
                const i32 low = micro_low(a, b), high = micro_high(a, b);
                c0 = __smlad(RT_CAT(micro_even_, T)(low), micro_even_i8(w0), c0);
                c1 = __smlad(RT_CAT(micro_odd_, T)(low), micro_odd_i8(w0), c1);
                c2 = __smlad(RT_CAT(micro_even_, T)(high), micro_even_i8(w1), c2);
                c3 = __smlad(RT_CAT(micro_odd_, T)(high), micro_odd_i8(w1), c3);
#else
                c0 = micro_mac(micro_mac(c0, p[0], k[0]), p[right], k[2]);
                c1 = micro_mac(micro_mac(c1, p[1], k[1]), p[right + 1], k[3]);
                c2 = micro_mac(micro_mac(c2, p[2], k[4]), p[right + 2], k[6]);
                c3 = micro_mac(micro_mac(c3, p[3], k[5]), p[right + 3], k[7]);
#endif
            }
            if (n) {
#if MICRO_DSP
                const i32 a = micro_word(p), v = micro_words(k)[0];
                const i32 even = RT_CAT(micro_even_, T)(a), odd = RT_CAT(micro_odd_, T)(a);
                const i32 w0 = micro_even_i8(v), w1 = micro_odd_i8(v);
                c0 = __smlabb(even, w0, c0);
                c1 = __smlabb(odd, w1, c1);
                c2 = __smlatt(even, w0, c2);
                c3 = __smlatt(odd, w1, c3);
#else
                c0 = micro_mac(c0, p[0], k[0]);
                c1 = micro_mac(c1, p[1], k[1]);
                c2 = micro_mac(c2, p[2], k[2]);
                c3 = micro_mac(c3, p[3], k[3]);
#endif
                k += 4;
            }
            line += t->down;
            line -= line - x >= t->ring ? t->ring : 0;
        }
        const i32 zero = t->zero, low = RT_CAT(MICRO_LOW_, T);
        const i32 y0 = micro_scaled(c0, rt_f32((u32)micro_head(head, 4)), zero, low);
        const i32 y1 = micro_scaled(c1, rt_f32((u32)micro_head(head, 5)), zero, low);
        const i32 y2 = micro_scaled(c2, rt_f32((u32)micro_head(head, 6)), zero, low);
        const i32 y3 = micro_scaled(c3, rt_f32((u32)micro_head(head, 7)), zero, low);
        y[0] = (T)y0;
        if (left > 1)
            y[1] = (T)y1;
        if (left > 2)
            y[2] = (T)y2;
        if (left > 3)
            y[3] = (T)y3;
    }
}

/* The same for panels of any width, or of eight channels. */
#if MICRO_MVE
SHARED MICRO_IN_ORDER void FN(qmicro_depthwise_wide)(const T *x, const T *at, const i8 *w, T *y, idx left, idx wide,
                                                     const struct qmicro_depthwise_job *t)
{
    const int32x4x2_t bias = vld2q_s32((const int32_t *)(const void *)w);
    const float32x4x2_t scale = vld2q_f32((const float *)(const void *)(w + 32));
    const mve_pred16_t there = vctp16q(left < 8 ? (u32)left : 8);
    (void)wide;
    for (idx i = 0; i < t->width; i++, at += t->step, x += t->step, y += t->pitch) {
        const i8 *k = w + 64;
        const T *line = at;
        int32x4_t even = bias.val[0], odd = bias.val[1];
        for (idx lines = t->lines; lines > 0; lines--) {
            const T *p = line;
            for (idx n = t->across; n > 0; n--, k += 8, p += t->right) {
                const int16x8_t a = RT_CAT(micro_wide_, T)(p), b = micro_wide_i8(k);
                even = vaddq_s32(even, vmullbq_int_s16(a, b));
                odd = vaddq_s32(odd, vmulltq_int_s16(a, b));
            }
            line += t->down;
            line -= line - x >= t->ring ? t->ring : 0;
        }
        even = micro_scaled_4(even, scale.val[0], t->zero);
        odd = micro_scaled_4(odd, scale.val[1], t->zero);
        const int16x8_t v = vqmovntq_s32(vqmovnbq_s32((int16x8_t)even, even), odd);
        vstrbq_p_s16((int8_t *)y, RT_CAT(micro_narrow_, T)(v), there);
    }
}
#else
SHARED void FN(qmicro_depthwise_wide)(const T *x, const T *at, const i8 *w, T *y, idx left, idx wide,
                                      const struct qmicro_depthwise_job *t)
{
    for (idx c = 0; c < wide && c < left; c++) {
        const T *first = at;
        for (idx i = 0; i < t->width; i++, first += t->step) {
            const i8 *k = w + 8 * wide + c;
            idx line = first - x - i * t->step;
            i32 sum = micro_head(micro_words(w), c);
            for (idx lines = t->lines; lines > 0; lines--) {
                for (idx n = 0; n < t->across; n++, k += wide)
                    sum = micro_mac(sum, x[line + i * t->step + n * t->right + c], *k);
                line += t->down;
                line -= line >= t->ring ? t->ring : 0;
            }
            y[i * t->pitch + c] =
                (T)micro_scaled(sum, rt_f32((u32)micro_head(micro_words(w), wide + c)), t->zero, RT_CAT(MICRO_LOW_, T));
        }
    }
}
#endif

/* Copies line h of an image to `to`, with its borders. */
HELPER void FN(qmicro_depthwise_row)(T *to, const T *x, idx h, idx pixels, idx pixel, const struct qmicro_depthwise *p)
{
    const int inside = h >= 0 && h < p->in[0];
    const idx left = inside ? rt_min(p->pad[1], pixels) : pixels, right = rt_min(p->in[1] + p->pad[1], pixels);
    const T *const from = x + (h * p->in[1] - p->pad[1]) * p->x_pitch;
    memset(to, p->x_zero, (size_t)(left * pixel));
    if (left < right && p->x_pitch == pixel)
        memcpy(to + left * pixel, from + left * pixel, (size_t)((right - left) * pixel));
    else
        for (idx i = left; i < right; i++)
            memcpy(to + i * pixel, from + i * p->x_pitch, (size_t)p->channels);
    if (left < right)
        memset(to + right * pixel, p->x_zero, (size_t)((pixels - right) * pixel));
}

HELPER void FN(qmicro_depthwise_panel)(const T *x, const T *at, const i8 *w, T *y, idx left, idx wide,
                                       const struct qmicro_depthwise_job *t)
{
    if (wide == 4)
        FN(qmicro_depthwise_line)(x, at, w, y, left, t);
    else
        FN(qmicro_depthwise_wide)(x, at, w, y, left, wide, t);
}

KERNEL void FN(qmicro_depthwise)(const T *x, const i8 *w, T *y, u8 *scratch, struct qmicro_depthwise p)
{
    const idx pixel = (p.channels + p.wide - 1) / p.wide * p.wide, low = RT_CAT(MICRO_LOW_, T);
    const idx pixels = (p.out[1] - 1) * p.stride[1] + (p.kernel[1] - 1) * p.dilation[1] + 1, row = pixels * pixel;
    const idx reach = (p.kernel[0] - 1) * p.dilation[0] + 1;
    const struct qmicro_depthwise_job t = {.step = p.stride[1] * pixel,
                                           .right = p.dilation[1] * pixel,
                                           .down = p.dilation[0] * row,
                                           .ring = reach * row,
                                           .across = p.kernel[1],
                                           .lines = p.kernel[0],
                                           .pitch = p.y_pitch,
                                           .width = p.out[1],
                                           .zero = p.y_zero};
    T *const rows = (T *)scratch;
    for (idx n = 0; n < p.n; n++, x += p.in[0] * p.in[1] * p.x_pitch)
        for (idx h = 0, next = -p.pad[0]; h < p.out[0]; h++, y += p.out[1] * p.y_pitch) {
            const idx first = h * p.stride[0] - p.pad[0];
            for (next = rt_max(next, first); next < first + reach; next++)
                FN(qmicro_depthwise_row)(rows + rt_mod(next, reach) * row, x, next, pixels, pixel, &p);
            for (idx c = 0; c < p.channels; c += p.wide)
                FN(qmicro_depthwise_panel)(rows + c, rows + rt_mod(first, reach) * row + c,
                                           w + c * (8 + p.kernel[0] * p.kernel[1]), y + c, p.channels - c, p.wide, &t);
            if (p.lo > low || p.hi < low + 255) /* more than saturation */
                for (idx i = 0; i < p.out[1]; i++)
                    for (idx c = 0; c < p.channels; c++)
                        y[i * p.y_pitch + c] = (T)micro_clamp(y[i * p.y_pitch + c], p.lo, p.hi);
        }
}
REGISTER_KERNEL(qmicro_depthwise, 4, 2, SCRATCH)
#endif
#endif
