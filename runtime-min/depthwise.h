/* depthwise.h - Conv with one filter per channel, on images that are channels last: vectors over channels. */
#ifndef ONNXCC_DEPTHWISE_H
#define ONNXCC_DEPTHWISE_H
#include "rt.h"
#include "vec.h"

/* x: (n, in[3], x_pitch), w: (kernel[3], channels), b: channels or NULL, y: (n, out[3], y_pitch).
 * w_tap, w_channel: floats from tap to tap and from channel to channel (0, 0: one value for all). */
#define conv_depthwise_PARAMS(X, V)                                                                                    \
    X(idx, n) V(idx, in, 3) V(idx, out, 3) X(idx, channels) V(idx, kernel, 3) V(idx, stride, 3) V(idx, dilation, 3)    \
    V(idx, pad, 3) X(idx, x_pitch) X(idx, y_pitch) X(idx, w_tap) X(idx, w_channel) X(f32, lo) X(f32, hi)
PARAMS(conv_depthwise)

#define DEPTHWISE_ROWS 7    /* pixels of a tile */
#define DEPTHWISE_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6)
#define DEPTHWISE_EACH_COLUMN(X)                                                                                       \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

/* The kernel rows that touch the image, from (first plane, row) on; x and w at the first of them. Columns of x under the
 * tile that exist: from lead up to end. rows: pixels to store. */
struct depthwise_tile {
    idx planes, lines, lead, end, rows;
    idx x_plane, x_line, x_pitch, x_tap, x_step, w_plane, w_line, w_tap, w_channel, y_pitch, channels, width;
    f32 lo, hi;
};

HELPER vec depthwise_get(const f32 *p, const int part, idx n)
{
    return part ? vec_load_some(p, n) : vec_load(p);
}

/* One vector of channels: KW taps a row (0: width, one by one), S columns of x from pixel to pixel. edge: some columns or
 * pixels are not there. part: only n channels. */
HELPER void depthwise_vector(const int KW, const int S, const int edge, const int part, const f32 *x, const f32 *w,
                             const f32 *b, f32 *y, idx n, const struct depthwise_tile *t)
{
    vec c[DEPTHWISE_ROWS];
    const vec start = b ? depthwise_get(b, part, n) : vec_splat(0);
#define DEPTHWISE_X(r) c[r] = start;
    DEPTHWISE_EACH(DEPTHWISE_X)
#undef DEPTHWISE_X
    for (idx d = 0; d < t->planes; d++)
        for (idx h = 0; h < t->lines; h++) {
            const f32 *const xl = x + d * t->x_plane + h * t->x_line, *const wl = w + d * t->w_plane + h * t->w_line;
            if (KW > 0) {
                const vec w0 = depthwise_get(wl, part, n);
                const vec w1 = KW > 1 ? depthwise_get(wl + t->w_tap, part, n) : w0;
                const vec w2 = KW > 2 ? depthwise_get(wl + 2 * t->w_tap, part, n) : w0;
                const vec w3 = KW > 3 ? depthwise_get(wl + 3 * t->w_tap, part, n) : w0;
                const vec w4 = KW > 4 ? depthwise_get(wl + 4 * t->w_tap, part, n) : w0;
#define DEPTHWISE_TAP(j, k)                                                                                            \
    if (KW > k && j >= k && (j - k) % S == 0 && (j - k) / S < DEPTHWISE_ROWS)                                          \
        c[(j - k) / S] = vec_fma(a, w##k, c[(j - k) / S]);
#define DEPTHWISE_X(j)                                                                                                 \
    if (j < (DEPTHWISE_ROWS - 1) * S + KW && (!edge || (j >= t->lead && j < t->end))) {                                \
        const vec a = depthwise_get(xl + j * t->x_pitch, part, n);                                                     \
        DEPTHWISE_TAP(j, 0)                                                                                            \
        DEPTHWISE_TAP(j, 1)                                                                                            \
        DEPTHWISE_TAP(j, 2)                                                                                            \
        DEPTHWISE_TAP(j, 3)                                                                                            \
        DEPTHWISE_TAP(j, 4)                                                                                            \
    }
                DEPTHWISE_EACH_COLUMN(DEPTHWISE_X)
#undef DEPTHWISE_X
#undef DEPTHWISE_TAP
            } else
                for (idx k = 0; k < t->width; k++) {
                    const vec a = depthwise_get(wl + k * t->w_tap, part, n);
                    const f32 *const xk = xl + k * t->x_tap * t->x_pitch;
#define DEPTHWISE_X(r)                                                                                                 \
    if (!edge || (r * t->x_step + k * t->x_tap >= t->lead && r * t->x_step + k * t->x_tap < t->end))                   \
        c[r] = vec_fma(depthwise_get(xk + r * t->x_step * t->x_pitch, part, n), a, c[r]);
                    DEPTHWISE_EACH(DEPTHWISE_X)
#undef DEPTHWISE_X
                }
        }
    const vec low = vec_splat(t->lo), high = vec_splat(t->hi);
#define DEPTHWISE_X(r)                                                                                                 \
    if (!edge || r < t->rows) {                                                                                        \
        const vec a = vec_min(high, vec_max(low, c[r]));                                                               \
        if (part)                                                                                                      \
            vec_store_some(y + r * t->y_pitch, a, n);                                                                  \
        else                                                                                                           \
            vec_store(y + r * t->y_pitch, a);                                                                          \
    }
    DEPTHWISE_EACH(DEPTHWISE_X)
#undef DEPTHWISE_X
}

/* All channels of a tile. */
HELPER void depthwise_any(const int KW, const int S, const int edge, const f32 *x, const f32 *w, const f32 *b, f32 *y,
                          const struct depthwise_tile *t)
{
    idx c = 0;
    for (; c + RT_VEC <= t->channels; c += RT_VEC)
        depthwise_vector(KW, S, edge, 0, x + c, w + c * t->w_channel, b ? b + c : b, y + c, RT_VEC, t);
    if (c < t->channels)
        depthwise_vector(KW, S, edge, 1, x + c, w + c * t->w_channel, b ? b + c : b, y + c, t->channels - c, t);
}

/* One pair of functions for each shape of kernel that is worth it, and one for all others. */
#define DEPTHWISE_DEFINE(KW, S)                                                                                        \
    SHARED void depthwise_##KW##_##S(const f32 *x, const f32 *w, const f32 *b, f32 *y, const struct depthwise_tile *t) \
    {                                                                                                                  \
        depthwise_any(KW, S, 0, x, w, b, y, t);                                                                        \
    }                                                                                                                  \
    SHARED void depthwise_edge_##KW##_##S(const f32 *x, const f32 *w, const f32 *b, f32 *y,                            \
                                          const struct depthwise_tile *t)                                              \
    {                                                                                                                  \
        depthwise_any(KW, S, 1, x, w, b, y, t);                                                                        \
    }
DEPTHWISE_DEFINE(3, 1)
DEPTHWISE_DEFINE(3, 2)
DEPTHWISE_DEFINE(5, 1)
DEPTHWISE_DEFINE(5, 2)
DEPTHWISE_DEFINE(0, 0)

/* How many taps of one axis are in the image when the kernel begins at `at`; *first: which is the first. */
HELPER idx depthwise_range(idx at, idx kernel, idx dilation, idx size, idx *first)
{
    const idx from = at >= 0 ? 0 : (-at + dilation - 1) / dilation;
    idx to = at >= size ? 0 : (size - 1 - at) / dilation + 1;
    to = to < kernel ? to : kernel;
    *first = from < to ? from : 0;
    return from < to ? to - from : 0;
}
#endif

#define DEPTHWISE_TYPE_f32 1
#if defined T && !defined U
#if RT_CAT(DEPTHWISE_TYPE_, T)
#ifdef EPI
#define DEPTHWISE_FN(k) HELPER void RT_CAT4(k, , T, EPI_NAME)
#else
#define DEPTHWISE_FN(k) KERNEL void FN(k)
#endif
DEPTHWISE_FN(conv_depthwise)(const T *x, const T *w, const T *b, T *y, struct conv_depthwise p)
{
    const idx x_row = p.in[2] * p.x_pitch, x_plane = p.in[1] * x_row;
    struct depthwise_tile t = {
        .x_plane = p.dilation[0] * x_plane, .x_line = p.dilation[1] * x_row, .x_pitch = p.x_pitch,
        .x_tap = p.dilation[2], .x_step = p.stride[2], .w_plane = p.kernel[1] * p.kernel[2] * p.w_tap,
        .w_line = p.kernel[2] * p.w_tap, .w_tap = p.w_tap, .w_channel = p.w_channel, .y_pitch = p.y_pitch,
        .channels = p.channels, .width = p.kernel[2], .lo = p.lo, .hi = p.hi,
    };
    const idx reach = (DEPTHWISE_ROWS - 1) * p.stride[2] + (p.kernel[2] - 1) * p.dilation[2] + 1;
    for (idx n = 0; n < p.n; n++)
        for (idx row = 0; row < p.out[0] * p.out[1]; row++) {
            const idx d = row / p.out[1] * p.stride[0] - p.pad[0], h = row % p.out[1] * p.stride[1] - p.pad[1];
            idx kd, kh;
            t.planes = depthwise_range(d, p.kernel[0], p.dilation[0], p.in[0], &kd);
            t.lines = depthwise_range(h, p.kernel[1], p.dilation[1], p.in[1], &kh);
            for (idx i = 0; i < p.out[2]; i += DEPTHWISE_ROWS) {
                const idx at = i * p.stride[2] - p.pad[2];
                const f32 *const from = x + n * p.in[0] * x_plane + (d + kd * p.dilation[0]) * x_plane +
                                        (h + kh * p.dilation[1]) * x_row + at * p.x_pitch;
                const f32 *const taps = w + kd * t.w_plane + kh * t.w_line;
                f32 *const to = y + ((n * p.out[0] * p.out[1] + row) * p.out[2] + i) * p.y_pitch;
                t.lead = at < 0 ? -at : 0;
                t.end = p.in[2] - at;
                t.rows = p.out[2] - i < DEPTHWISE_ROWS ? p.out[2] - i : DEPTHWISE_ROWS;
                const int edge = t.lead > 0 || t.end < reach || t.rows < DEPTHWISE_ROWS;
#define DEPTHWISE_CASE(KW, S)                                                                                          \
    if (edge)                                                                                                          \
        depthwise_edge_##KW##_##S(from, taps, b, to, &t);                                                              \
    else                                                                                                               \
        depthwise_##KW##_##S(from, taps, b, to, &t);
                if (p.kernel[2] == 3 && p.stride[2] == 1 && p.dilation[2] == 1) {
                    DEPTHWISE_CASE(3, 1)
                } else if (p.kernel[2] == 3 && p.stride[2] == 2 && p.dilation[2] == 1) {
                    DEPTHWISE_CASE(3, 2)
                } else if (p.kernel[2] == 5 && p.stride[2] == 1 && p.dilation[2] == 1) {
                    DEPTHWISE_CASE(5, 1)
                } else if (p.kernel[2] == 5 && p.stride[2] == 2 && p.dilation[2] == 1) {
                    DEPTHWISE_CASE(5, 2)
                } else {
                    DEPTHWISE_CASE(0, 0)
                }
#undef DEPTHWISE_CASE
#ifdef EPI
                for (idx r = 0; r < t.rows; r++)
                    for (idx c = 0; c < p.channels; c++)
                        to[r * p.y_pitch + c] = EPI(to[r * p.y_pitch + c]);
#endif
            }
        }
}
#ifndef EPI
RUNS(conv_depthwise, 4, 3, EPILOGUES)
#endif
#undef DEPTHWISE_FN
#endif
#endif
