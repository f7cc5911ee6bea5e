/* pool.h - MaxPool, AveragePool, LpPool over windows of up to three axes, and LRN.
 * Channels are the innermost axis: an image as ONNX has it (N,C,...) counts as N*C images of one channel. */
#ifndef ONNXCC_POOL_H
#define ONNXCC_POOL_H
#include "rt.h"
#include "math.h"

/* x: (batch, in[0], in[1], in[2], channels); y: the same with out[]. Window position k of output o: o * stride +
 * k * dilation - pad. */
#define POOL_WINDOWS(X, V)                                                                                             \
    X(idx, batch) X(idx, channels) V(idx, in, 3) V(idx, out, 3) V(idx, kernel, 3) V(idx, stride, 3) V(idx, dilation, 3) \
    V(idx, pad, 3)
#define max_pool_PARAMS(X, V) POOL_WINDOWS(X, V)
PARAMS(max_pool)
/* rows: 0 or, for storage_order 1, the size that makes an index run down the columns first; images: of one channel */
#define max_pool_index_PARAMS(X, V) POOL_WINDOWS(X, V) X(int, columns_first)
PARAMS(max_pool_index)
/* pad_end: positions so far behind the image count as zeros when count_pad is set */
#define average_pool_PARAMS(X, V) POOL_WINDOWS(X, V) V(idx, pad_end, 3) X(int, count_pad)
PARAMS(average_pool)
#define lp_pool_PARAMS(X, V) POOL_WINDOWS(X, V) X(f64, p)
PARAMS(lp_pool)

/* x, y: (outer, channels, inner); the window is `size` channels, `before` of them before the one in question */
#define lrn_PARAMS(X, V) X(idx, outer) X(idx, channels) X(idx, inner) X(idx, size) X(idx, before) X(f64, alpha) X(f64, beta) X(f64, bias)
PARAMS(lrn)

/* POOL_OUTPUTS(p) { POOL_TO(p): first element of an output pixel; POOL_WINDOW(p) { POOL_FROM(p): of an input pixel } } */
#define POOL_OUTPUTS(p)                                                                                                \
    for (idx n = 0; n < (p).batch; n++)                                                                                \
        for (idx d = 0; d < (p).out[0]; d++)                                                                           \
            for (idx h = 0; h < (p).out[1]; h++)                                                                       \
                for (idx w = 0; w < (p).out[2]; w++)
#define POOL_AXIS(p, i, k, o, a)                                                                                       \
    for (idx k = 0, i = (o) * (p).stride[a] - (p).pad[a]; k < (p).kernel[a]; k++, i += (p).dilation[a])                \
        if (i >= 0 && i < (p).in[a])
#define POOL_WINDOW(p) POOL_AXIS(p, id, kd, d, 0) POOL_AXIS(p, ih, kh, h, 1) POOL_AXIS(p, iw, kw, w, 2)
#define POOL_TO(p) ((((n * (p).out[0] + d) * (p).out[1] + h) * (p).out[2] + w) * (p).channels)
#define POOL_FROM(p) ((((n * (p).in[0] + id) * (p).in[1] + ih) * (p).in[2] + iw) * (p).channels)
#define POOL_INT_i8 1
#define POOL_INT_u8 1
#define POOL_BLOCK 64 /* channels summed at a time */

/* How many positions start, start + dilation, ... of k lie in [low, high). */
HELPER idx pool_inside(idx start, idx k, idx dilation, idx low, idx high)
{
    idx n = 0;
    for (idx i = 0; i < k; i++)
        n += start + i * dilation >= low && start + i * dilation < high;
    return n;
}
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_CAT(POOL_INT_, T)
#if RT_IS_FLOAT(T)
#define POOL_LOWEST (-(A)__builtin_inf())
#elif RT_IS_SIGNED(T)
#define POOL_LOWEST ((A)-128)
#else
#define POOL_LOWEST ((A)0)
#endif

KERNEL void FN(max_pool)(const T *restrict x, T *restrict y, struct max_pool p)
{
    POOL_OUTPUTS(p) {
        const idx to = POOL_TO(p);
        for (idx c = 0; c < p.channels; c++)
            ST(y, to + c, POOL_LOWEST);
        POOL_WINDOW(p) {
            const idx from = POOL_FROM(p);
            for (idx c = 0; c < p.channels; c++) {
                const A v = LD(x, from + c), m = LD(y, to + c);
                ST(y, to + c, v > m ? v : m);
            }
        }
    }
}
RUNS(max_pool, 2, 1, 0)

/* The same for images of one channel, with the index in x of the first largest element. */
KERNEL void FN(max_pool_index)(const T *restrict x, T *restrict y, i64 *restrict at, struct max_pool_index p)
{
    const idx size = p.in[0] * p.in[1] * p.in[2];
    POOL_OUTPUTS(p) {
        A top = POOL_LOWEST;
        idx best = -1;
        POOL_WINDOW(p) {
            const A v = LD(x, POOL_FROM(p));
            if (best < 0 || v > top) {
                top = v;
                best = p.columns_first ? n * size + (iw * p.in[1] + ih) * p.in[0] + id : POOL_FROM(p);
            }
        }
        ST(y, POOL_TO(p), top);
        at[POOL_TO(p)] = best;
    }
}
RUNS(max_pool_index, 3, 1, 0)
#undef POOL_LOWEST
#endif

#if RT_IS_FLOAT(T)
KERNEL void FN(average_pool)(const T *restrict x, T *restrict y, struct average_pool p)
{
    for (idx c0 = 0; c0 < p.channels; c0 += POOL_BLOCK) {
        const idx some = p.channels - c0 < POOL_BLOCK ? p.channels - c0 : POOL_BLOCK;
        A sum[POOL_BLOCK];
        POOL_OUTPUTS(p) {
            const idx to = POOL_TO(p), at[3] = {d, h, w};
            for (idx c = 0; c < some; c++)
                sum[c] = 0;
            POOL_WINDOW(p) {
                const idx from = POOL_FROM(p);
                for (idx c = 0; c < some; c++)
                    sum[c] += LD(x, from + c0 + c);
            }
            idx count = 1;
            for (int a = 0; a < 3; a++)
                count *= pool_inside(at[a] * p.stride[a] - p.pad[a], p.kernel[a], p.dilation[a], p.count_pad ? -p.pad[a] : 0,
                                     p.count_pad ? p.in[a] + p.pad_end[a] : p.in[a]);
            for (idx c = 0; c < some; c++)
                ST(y, to + c0 + c, sum[c] / (A)(count ? count : 1));
        }
    }
}
RUNS(average_pool, 2, 1, 0)

/* y = (sum |x|^p)^(1/p) */
KERNEL void FN(lp_pool)(const T *restrict x, T *restrict y, struct lp_pool p)
{
    for (idx c0 = 0; c0 < p.channels; c0 += POOL_BLOCK) {
        const idx some = p.channels - c0 < POOL_BLOCK ? p.channels - c0 : POOL_BLOCK;
        A sum[POOL_BLOCK];
        POOL_OUTPUTS(p) {
            const idx to = POOL_TO(p);
            for (idx c = 0; c < some; c++)
                sum[c] = 0;
            POOL_WINDOW(p) {
                const idx from = POOL_FROM(p);
                for (idx c = 0; c < some; c++) {
                    const A v = M(abs)(LD(x, from + c0 + c));
                    sum[c] += p.p == 1 ? v : p.p == 2 ? v * v : M(pow)(v, (A)p.p);
                }
            }
            for (idx c = 0; c < some; c++)
                ST(y, to + c0 + c, p.p == 1 ? sum[c] : p.p == 2 ? M(sqrt)(sum[c]) : M(pow)(sum[c], (A)(1 / p.p)));
        }
    }
}
RUNS(lp_pool, 2, 1, 0)

/* y = x / (bias + alpha / size * sum of the squares around x)^beta */
KERNEL void FN(lrn)(const T *restrict x, T *restrict y, struct lrn p)
{
    for (idx o = 0; o < p.outer; o++)
        for (idx i = 0; i < p.inner; i++)
            for (idx c0 = 0; c0 < p.channels; c0 += POOL_BLOCK) {
                const idx some = p.channels - c0 < POOL_BLOCK ? p.channels - c0 : POOL_BLOCK;
                const idx at = (o * p.channels + c0) * p.inner + i;
                A sum[POOL_BLOCK];
                for (idx c = 0; c < some; c++) {
                    sum[c] = 0;
                    const idx first = c0 + c - p.before, end = first + p.size;
                    for (idx k = first < 0 ? 0 : first; k < (end < p.channels ? end : p.channels); k++) {
                        const A v = LD(x, (o * p.channels + k) * p.inner + i);
                        sum[c] += v * v;
                    }
                }
                for (idx c = 0; c < some; c++)
                    sum[c] = M(pow)((A)p.bias + (A)(p.alpha / (f64)p.size) * sum[c], (A)-p.beta);
                for (idx c = 0; c < some; c++)
                    ST(y, at + c * p.inner, LD(x, at + c * p.inner) * sum[c]);
            }
}
RUNS(lrn, 2, 1, 0)
#endif
#endif
