/* pool.h - MaxPool, AveragePool, LpPool over windows of up to three axes, and LRN.
 * Channels are the innermost axis: an image in ONNX's layout (N,C,...) is handled as N*C images of one channel. */
#ifndef ONNXCC_POOL_H
#define ONNXCC_POOL_H
#include "rt.h"
#include "math.h"
#include "taps.h"
#include "vec.h"

/* x: (batch, in[0], in[1], in[2], channels); y: the same with out[]. Window position k of output o: o * stride +
 * k * dilation - pad. */
#define POOL_WINDOWS(X, V)                                                                                             \
    X(idx, batch) X(idx, channels) V(idx, in, 3) V(idx, out, 3) V(idx, kernel, 3) V(idx, stride, 3) V(idx, dilation, 3) \
    V(idx, pad, 3)
/* x_pitch, y_pitch: the pitch of pixels; 0, 0: one channel, contiguous. op: a POOL_; for several channels: POOL_MAX and
 * POOL_MEAN of f32, POOL_MAX of bytes. count_pad: the mean counts zeros around the image, up to pad_end after it.
 * power: of the norm, (sum |x|^power)^(1/power). */
#define pool_PARAMS(X, V) POOL_WINDOWS(X, V) X(idx, x_pitch) X(idx, y_pitch) X(int, op) V(idx, pad_end, 3) X(int, count_pad) X(f64, power)
PARAMS(pool)
enum { POOL_MAX, POOL_MEAN, POOL_NORM };
/* columns_first: indices count along columns first, as storage_order 1 does; images have one channel */
#define max_pool_index_PARAMS(X, V) POOL_WINDOWS(X, V) X(int, columns_first)
PARAMS(max_pool_index)

/* x, y: (outer, channels, inner); the window is `size` channels, `before` of them before the one in question */
#define lrn_PARAMS(X, V) X(idx, outer) X(idx, channels) X(idx, inner) X(idx, size) X(idx, before) X(f64, alpha) X(f64, beta) X(f64, bias)
PARAMS(lrn)

/* POOL_OUTPUTS(p) { POOL_TO(p): an output pixel of one channel } */
#define POOL_OUTPUTS(p)                                                                                                \
    for (idx n = 0; n < (p).batch; n++)                                                                                \
        for (idx d = 0; d < (p).out[0]; d++)                                                                           \
            for (idx h = 0; h < (p).out[1]; h++)                                                                       \
                for (idx w = 0; w < (p).out[2]; w++)
#define POOL_TO(p) (((n * (p).out[0] + d) * (p).out[1] + h) * (p).out[2] + w)
#define POOL_INT_i8 1
#define POOL_INT_u8 1
#define POOL_VECTOR_f32 1
#define POOL_BLOCK 64 /* results computed at a time */

/* The part of output o's window that is inside the image, along axis a. */
HELPER struct taps pool_taps(const struct pool *p, int a, idx o)
{
    return taps_inside(o * p->stride[a] - p->pad[a], p->dilation[a], p->kernel[a], p->in[a]);
}
HELPER idx pool_count(const struct pool *p, int a, idx o)
{
    return p->count_pad
               ? taps_before(o * p->stride[a] - p->pad[a], p->dilation[a], p->kernel[a], p->in[a] + p->pad_end[a])
               : pool_taps(p, a, o).n;
}

/* The pixel of position k in that part. */
HELPER idx pool_pixel(const struct pool *p, int a, idx o, struct taps taps, idx k)
{
    return o * p->stride[a] - p->pad[a] + (taps.first + k) * p->dilation[a];
}

/* Computes a row of output pixels of several channels; x: its image. */
HELPER void pool_vectors(const f32 *x, f32 *y, idx d, idx h, const struct pool *p)
{
    const struct taps td = pool_taps(p, 0, d), th = pool_taps(p, 1, h);
    const idx count = pool_count(p, 0, d) * pool_count(p, 1, h), row = p->in[2] * p->x_pitch;
    for (idx w = 0; w < p->out[2]; w++) {
        const struct taps tw = pool_taps(p, 2, w);
        const idx all = count * pool_count(p, 2, w);
        for (idx c = 0; c < p->channels; c += RT_VEC) {
            const idx some = p->channels - c;
            vec m = vec_splat(p->op == POOL_MAX ? -RT_INF : 0);
            for (idx i = 0; i < td.n; i++)
                for (idx j = 0; j < th.n; j++) {
                    const idx from = (pool_pixel(p, 0, d, td, i) * p->in[1] + pool_pixel(p, 1, h, th, j)) * row +
                                     pool_pixel(p, 2, w, tw, 0) * p->x_pitch + c;
                    for (idx k = 0; k < tw.n; k++) {
                        const vec v = vec_load_some(x + from + k * p->dilation[2] * p->x_pitch, some);
                        m = p->op == POOL_MAX ? vec_max(v, m) : m + v;
                    }
                }
            vec_store_some(y + w * p->y_pitch + c, p->op == POOL_MAX ? m : m / vec_splat((f32)(all ? all : 1)), some);
        }
    }
}
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_TAKES(POOL_INT_, T)
#if RT_IS_FLOAT(T)
#define POOL_LOWEST (-(A)RT_INF_F64)
#elif RT_IS_SIGNED(T)
#define POOL_LOWEST ((A)-128)
#else
#define POOL_LOWEST ((A)0)
#endif

/* Adds an element to the partial result m; pool_result: the final one. */
HELPER A FN(pool_add)(A m, A v, const struct pool *p)
{
    if (p->op == POOL_MAX)
        return v > m ? v : m;
#if RT_IS_FLOAT(T)
    if (p->op == POOL_NORM)
        return m + (p->power == 1 ? M(abs)(v) : p->power == 2 ? v * v : M(pow)(M(abs)(v), (A)p->power));
#endif
    return m + v;
}
HELPER A FN(pool_result)(A m, idx count, const struct pool *p)
{
#if RT_IS_FLOAT(T)
    if (p->op == POOL_NORM)
        return p->power == 1 ? m : p->power == 2 ? M(sqrt)(m) : M(pow)(m, (A)(1 / p->power));
    if (p->op == POOL_MEAN)
        return m / (A)(count ? count : 1);
#endif
    (void)count, (void)p;
    return m;
}

/* Computes a row of outputs with one channel, y[at...]; x[from...]: its image. */
HELPER void FN(pool_row)(const T *x, idx from, T *y, idx at, idx d, idx h, const struct pool *p)
{
    const struct taps td = pool_taps(p, 0, d), th = pool_taps(p, 1, h);
    const idx count = pool_count(p, 0, d) * pool_count(p, 1, h);
    for (idx w = 0; w < p->out[2]; w += POOL_BLOCK) {
        const idx some = p->out[2] - w < POOL_BLOCK ? p->out[2] - w : POOL_BLOCK, reach = (some - 1) * p->stride[2];
        const idx begin = w * p->stride[2] - p->pad[2];
        const struct taps tw = taps_inside(begin + reach, p->dilation[2], p->kernel[2], p->in[2] + reach);
        A m[POOL_BLOCK];
        for (idx i = 0; i < some; i++)
            m[i] = p->op == POOL_MAX ? POOL_LOWEST : 0;
        for (idx i = 0; i < td.n; i++)
            for (idx j = 0; j < th.n; j++)
                for (idx k = tw.first; k < tw.first + tw.n; k++) {
                    const idx start = begin + k * p->dilation[2];
                    const struct taps o = taps_inside(start, p->stride[2], some, p->in[2]);
                    const idx pixel =
                        from + (pool_pixel(p, 0, d, td, i) * p->in[1] + pool_pixel(p, 1, h, th, j)) * p->in[2] + start;
                    for (idx c = o.first; c < o.first + o.n; c++)
                        m[c] = FN(pool_add)(m[c], LD(x, pixel + c * p->stride[2]), p);
                }
        for (idx i = 0; i < some; i++)
            ST(y, at + w + i, FN(pool_result)(m[i], count * pool_count(p, 2, w + i), p));
    }
}

#if !RT_IS_FLOAT(T)
/* Computes a row of output pixels of several channels, y[at...]; x[from...]: its image. */
HELPER void FN(pool_bytes)(const T *restrict x, idx from, T *restrict y, idx at, idx d, idx h, const struct pool *p)
{
    const struct taps td = pool_taps(p, 0, d), th = pool_taps(p, 1, h);
    for (idx w = 0; w < p->out[2]; w++, at += p->y_pitch) {
        const struct taps tw = pool_taps(p, 2, w);
        for (idx c = 0; c < p->channels; c++)
            ST(y, at + c, POOL_LOWEST);
        for (idx i = 0; i < td.n; i++)
            for (idx j = 0; j < th.n; j++)
                for (idx k = 0; k < tw.n; k++) {
                    const idx row = pool_pixel(p, 0, d, td, i) * p->in[1] + pool_pixel(p, 1, h, th, j);
                    const idx pixel = from + (row * p->in[2] + pool_pixel(p, 2, w, tw, k)) * p->x_pitch;
                    for (idx c = 0; c < p->channels; c++)
                        ST(y, at + c, FN(pool_add)(LD(y, at + c), LD(x, pixel + c), p));
                }
    }
}
#endif

KERNEL void FN(pool)(const T *restrict x, T *restrict y, struct pool p)
{
    const idx image = p.in[0] * p.in[1] * p.in[2] * (p.x_pitch ? p.x_pitch : 1);
    idx at = 0;
    for (idx n = 0; n < p.batch; n++)
        for (idx d = 0; d < p.out[0]; d++)
            for (idx h = 0; h < p.out[1]; h++, at += p.out[2] * (p.y_pitch ? p.y_pitch : 1)) {
#if RT_TAKES(POOL_VECTOR_, T)
                if (p.x_pitch)
                    pool_vectors(x + n * image, y + at, d, h, &p);
#elif !RT_IS_FLOAT(T)
                if (p.x_pitch)
                    FN(pool_bytes)(x, n * image, y, at, d, h, &p);
#endif
                if (!p.x_pitch)
                    FN(pool_row)(x, n * image, y, at, d, h, &p);
            }
}
REGISTER_KERNEL(pool, 2, 1, 0)

/* The largest, for images of one channel, with the index in x of the first largest element. */
KERNEL void FN(max_pool_index)(const T *restrict x, T *restrict y, i64 *restrict at, struct max_pool_index p)
{
    const idx size = p.in[0] * p.in[1] * p.in[2];
    POOL_OUTPUTS(p)
    {
        const idx from[3] = {d * p.stride[0] - p.pad[0], h * p.stride[1] - p.pad[1], w * p.stride[2] - p.pad[2]};
        struct taps t[3];
        for (int a = 0; a < 3; a++)
            t[a] = taps_inside(from[a], p.dilation[a], p.kernel[a], p.in[a]);
        A top = POOL_LOWEST;
        idx best = -1;
        for (idx i = t[0].first; i < t[0].first + t[0].n; i++)
            for (idx j = t[1].first; j < t[1].first + t[1].n; j++)
                for (idx k = t[2].first; k < t[2].first + t[2].n; k++) {
                    const idx z = from[0] + i * p.dilation[0], r = from[1] + j * p.dilation[1];
                    const idx s = from[2] + k * p.dilation[2], pixel = n * size + (z * p.in[1] + r) * p.in[2] + s;
                    const A v = LD(x, pixel);
                    if (best < 0 || v > top) {
                        top = v;
                        best = p.columns_first ? n * size + (s * p.in[1] + r) * p.in[0] + z : pixel;
                    }
                }
        ST(y, POOL_TO(p), top);
        at[POOL_TO(p)] = best;
    }
}
REGISTER_KERNEL(max_pool_index, 3, 1, 0)
#undef POOL_LOWEST
#endif

#if RT_IS_FLOAT(T)
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
REGISTER_KERNEL(lrn, 2, 1, 0)
#endif
#endif
