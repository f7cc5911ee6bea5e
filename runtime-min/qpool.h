/* qpool.h - averages of 8-bit integers over windows of up to three axes, scaled to 8-bit integers. */
#ifndef ONNXCC_QPOOL_H
#define ONNXCC_QPOOL_H
#include "rt.h"
#include "dot.h"
#include "taps.h"

/* Images, windows and count_pad as in pool.h. */
#define qpool_PARAMS(X, V)                                                                                             \
    X(idx, batch) X(idx, channels) V(idx, in, 3) V(idx, out, 3) V(idx, kernel, 3) V(idx, stride, 3) V(idx, dilation, 3) \
    V(idx, pad, 3) V(idx, pad_end, 3) X(int, count_pad)
PARAMS(qpool)

#define QPOOL_BLOCK 64 /* channels summed at a time */

/* Along one axis, for a window that begins at `at`: the first position inside the image, the number inside, and the
 * number that the mean counts. */
struct qpool_axis {
    idx first, inside, count;
};
HELPER struct qpool_axis qpool_axis(const struct qpool *p, const int a, idx at)
{
    const idx step = p->dilation[a];
    const struct taps inside = taps_inside(at, step, p->kernel[a], p->in[a]);
    const idx padded = taps_before(at, step, p->kernel[a], p->in[a] + p->pad_end[a]);
    return (struct qpool_axis){at + inside.first * step, inside.n, p->count_pad ? padded : inside.n};
}
#endif

#define QPOOL_TYPES_i8_i8 1
#define QPOOL_TYPES_u8_u8 1
#define QPOOL_LOW_i8 (-128)
#define QPOOL_LOW_u8 0
#if defined T && defined U
#if RT_TAKES2(QPOOL_TYPES_, T, U)
/* sum += x for n channels. */
HELPER void FN2(qpool_add)(i32 *restrict sum, const T *restrict x, idx n)
{
    if (n == QPOOL_BLOCK)
        for (idx c = 0; c < QPOOL_BLOCK; c++)
            sum[c] += x[c];
    else
        for (idx c = 0; c < n; c++)
            sum[c] += x[c];
}

/* y = average of (x - x_zero) * scale + y_zero; x: channels last. */
KERNEL void FN2(qpool)(const T *x, const f32 *scale, const T *x_zero, const U *y_zero, U *y, struct qpool p)
{
    const i32 zero = x_zero ? (i32)LD(x_zero, 0) : 0, to_zero = y_zero ? (i32)LDU(y_zero, 0) : 0;
    const f32 lo = (f32)(RT_CAT(QPOOL_LOW_, U) - to_zero), hi = lo + 255;
    for (idx o = 0; o < p.batch * p.out[0] * p.out[1] * p.out[2]; o++, y += p.channels) {
        const idx w = o % p.out[2], h = o / p.out[2] % p.out[1], d = o / (p.out[2] * p.out[1]) % p.out[0];
        const T *const image = x + o / (p.out[2] * p.out[1] * p.out[0]) * p.in[0] * p.in[1] * p.in[2] * p.channels;
        const struct qpool_axis ad = qpool_axis(&p, 0, d * p.stride[0] - p.pad[0]);
        const struct qpool_axis ah = qpool_axis(&p, 1, h * p.stride[1] - p.pad[1]);
        const struct qpool_axis aw = qpool_axis(&p, 2, w * p.stride[2] - p.pad[2]);
        const f32 factor = scale[0] / (f32)(ad.count * ah.count * aw.count);
        const idx inside = ad.inside * ah.inside * aw.inside;
        for (idx c = 0; c < p.channels; c += QPOOL_BLOCK) {
            const idx n = rt_min(QPOOL_BLOCK, p.channels - c);
            i32 sum[QPOOL_BLOCK] = {0};
            for (idx i = 0; i < inside; i++) {
                const idx at_d = ad.first + i / (ah.inside * aw.inside) * p.dilation[0];
                const idx at_h = ah.first + i / aw.inside % ah.inside * p.dilation[1];
                const idx at_w = aw.first + i % aw.inside * p.dilation[2];
                FN2(qpool_add)(sum, image + ((at_d * p.in[1] + at_h) * p.in[2] + at_w) * p.channels + c, n);
            }
            for (idx k = 0; k < n; k++)
                y[c + k] = (U)dot_scaled_one(sum[k] - (i32)inside * zero, factor, lo, hi, to_zero);
        }
    }
}
REGISTER_KERNEL2(qpool, 5, 4, 0)
#endif
#endif
