/* channelwise.h - convolutions of channels-last f32 images with few channels per group (mostly depthwise): the tiles,
 * vectorised over the channels of y, and the loops around them. */
#ifndef ONNXCC_CHANNELWISE_H
#define ONNXCC_CHANNELWISE_H
#include "rt.h"
#include "tile.h"

/* x: (n, in[3], x_pitch), w: (kernel[3], cin, channels), b: channels or NULL, y: (n, out[3], y_pitch). cout, cin: the
 * channels of y and of x in a group: cin is 1, or at most cout, which then is a power of two.
 * w_tap, w_in, w_channel: strides of w (0, 0, 0: one value for all).
 * Scratch: an int per channel, rounded up to 16 of them; none if cout and cin are 1. */
#define DEPTHWISE_SIZES(X, V)                                                                                          \
    X(idx, n) V(idx, in, 3) V(idx, out, 3) X(idx, cin) X(idx, cout) X(idx, channels) V(idx, kernel, 3)                 \
    V(idx, stride, 3) V(idx, dilation, 3) V(idx, pad, 3) X(idx, x_pitch) X(idx, y_pitch)
#define conv_depthwise_PARAMS(X, V)                                                                                    \
    DEPTHWISE_SIZES(X, V) X(idx, w_tap) X(idx, w_in) X(idx, w_channel) X(f32, lo) X(f32, hi)
PARAMS(conv_depthwise)

#ifdef ONNXCC_PLAIN
#define DEPTHWISE_ROWS 1
#define DEPTHWISE_EACH(X) X(0)
#else
#define DEPTHWISE_ROWS 7    /* pixels of a tile */
#define DEPTHWISE_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6)
#endif
#if TILE_SMALL /* the widest kernel with functions of its own has width 3 */
#define DEPTHWISE_EACH_COLUMN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#else
#define DEPTHWISE_EACH_COLUMN(X)                                                                                       \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#endif

/* The kernel rows inside the image, from (first plane, row) on; x and w point to the first of them, x to its column 0
 * at an edge, where the tile begins `shift` floats after it (or before). Existing columns of x under the tile: [lead,
 * end). rows: pixels to store. index: for each channel of y, its channel of x, relative to that of the first in its
 * vector. */
struct depthwise_tile {
    idx planes, lines, shift, lead, end, rows;
    idx x_plane, x_line, x_pitch, x_tap, x_step, w_plane, w_line, w_tap, w_in, w_channel, y_pitch, cin, cout, channels,
        width;
    f32 lo, hi;
    const i32 *index;
};

HELPER vec depthwise_get(const f32 *p, const int part, idx n) { return part ? vec_load_some(p, n) : vec_load(p); }

/* One vector of channels: KW taps per row (0: width of them, in a loop), pixels with stride S in x. edge: some columns
 * or pixels do not exist. part: only n channels. spread: x has m channels from here on, which are picked by index. */
TILE void depthwise_vector(const int KW, const int S, const int edge, const int spread, const int part, const f32 *x,
                           const f32 *w, const f32 *b, f32 *y, idx n, idx m, const i32 *index,
                           const struct depthwise_tile *t)
{
    vec c[DEPTHWISE_ROWS];
    const vec start = b ? depthwise_get(b, part, n) : vec_splat(0);
#define DEPTHWISE_X(r) c[r] = start;
    DEPTHWISE_EACH(DEPTHWISE_X)
#undef DEPTHWISE_X
#define DEPTHWISE_LOAD(p) (spread ? vec_pick(p, m - i, index) : depthwise_get(p, part, n))
    const idx lines = spread ? t->lines * t->cin : t->lines, shift = edge ? t->shift : 0;
    for (idx d = 0; d < t->planes; d++)
        for (idx l = 0; l < lines; l++) {
            const idx h = spread ? l / t->cin : l, i = spread ? l % t->cin : 0;
            const f32 *const xl = x + d * t->x_plane + h * t->x_line + i;
            const f32 *const wl = w + d * t->w_plane + h * t->w_line + i * t->w_in;
            if (KW > 0) {
                vec a;
                const vec w0 = depthwise_get(wl, part, n);
                const vec w1 = KW > 1 ? depthwise_get(wl + t->w_tap, part, n) : w0;
                const vec w2 = KW > 2 ? depthwise_get(wl + 2 * t->w_tap, part, n) : w0;
                const vec w3 = KW > 3 ? depthwise_get(wl + 3 * t->w_tap, part, n) : w0;
                const vec w4 = KW > 4 ? depthwise_get(wl + 4 * t->w_tap, part, n) : w0;
                const vec w5 = KW > 5 ? depthwise_get(wl + 5 * t->w_tap, part, n) : w0;
                const vec w6 = KW > 6 ? depthwise_get(wl + 6 * t->w_tap, part, n) : w0;
#define DEPTHWISE_TAP(j, k)                                                                                            \
    if (KW > k && j >= k && (j - k) % S == 0 && (j - k) / S < DEPTHWISE_ROWS)                                          \
        c[(j - k) / S] = vec_fma(a, w##k, c[(j - k) / S]);
#define DEPTHWISE_X(j)                                                                                                 \
    if (j < (DEPTHWISE_ROWS - 1) * S + KW && (!edge || (j >= t->lead && j < t->end))) {                                \
        a = DEPTHWISE_LOAD(xl + (shift + j * t->x_pitch));                                                             \
        DEPTHWISE_TAP(j, 0)                                                                                            \
        DEPTHWISE_TAP(j, 1)                                                                                            \
        DEPTHWISE_TAP(j, 2)                                                                                            \
        DEPTHWISE_TAP(j, 3)                                                                                            \
        DEPTHWISE_TAP(j, 4)                                                                                            \
        DEPTHWISE_TAP(j, 5)                                                                                            \
        DEPTHWISE_TAP(j, 6)                                                                                            \
    }
                DEPTHWISE_EACH_COLUMN(DEPTHWISE_X)
#undef DEPTHWISE_X
#undef DEPTHWISE_TAP
            } else
                for (idx k = 0; k < t->width; k++) {
                    const vec a = depthwise_get(wl + k * t->w_tap, part, n);
                    const idx xk = shift + k * t->x_tap * t->x_pitch;
#define DEPTHWISE_X(r)                                                                                                 \
    if (!edge || (r * t->x_step + k * t->x_tap >= t->lead && r * t->x_step + k * t->x_tap < t->end))                   \
        c[r] = vec_fma(DEPTHWISE_LOAD(xl + (xk + r * t->x_step * t->x_pitch)), a, c[r]);
                    DEPTHWISE_EACH(DEPTHWISE_X)
#undef DEPTHWISE_X
                }
        }
#undef DEPTHWISE_LOAD
    const vec low = vec_splat(t->lo), high = vec_splat(t->hi);
    vec a;
#define DEPTHWISE_X(r)                                                                                                 \
    if (!edge || r < t->rows) {                                                                                        \
        a = vec_min(high, vec_max(low, c[r]));                                                                         \
        if (part)                                                                                                      \
            vec_store_some(y + r * t->y_pitch, a, n);                                                                  \
        else                                                                                                           \
            vec_store(y + r * t->y_pitch, a);                                                                          \
    }
    DEPTHWISE_EACH(DEPTHWISE_X)
#undef DEPTHWISE_X
}

/* All channels of a tile. */
TILE void depthwise_any(const int KW, const int S, const int edge, const int spread, const f32 *x, const f32 *w,
                        const f32 *b, f32 *y, const struct depthwise_tile *t)
{
    const idx all = t->channels / t->cout * t->cin; /* channels of x */
    for (idx c = 0; c < t->channels; c += RT_VEC) {
        const idx from = spread ? c / t->cout * t->cin : c, n = t->channels - c, m = spread ? all - from : 0;
        const f32 *const wc = w + c * t->w_channel, *const bc = b ? b + c : NULL;
        const i32 *const index = spread ? t->index + c : NULL;
        if (RT_VEC == 1 || n >= RT_VEC)
            depthwise_vector(KW, S, edge, spread, 0, x + from, wc, bc, y + c, RT_VEC, m, index, t);
        else
            depthwise_vector(KW, S, edge, spread, 1, x + from, wc, bc, y + c, n, m, index, t);
    }
}

#ifdef ONNXCC_PLAIN
struct depthwise_plan {
    int spread;
};
TILE struct depthwise_plan depthwise_plan(const struct conv_depthwise *p, tile_epilogue *epilogue)
{
    const struct depthwise_plan c = {p->cin > 1 || p->cout > 1};
    (void)epilogue;
    return c;
}
#else
#if VEC_CORTEX
/* A pixel: `lines` rows of x and w of `taps` taps each, with these strides: of taps in bytes, of lines and planes in
 * floats, from the end of the last. */
struct depthwise_reach {
    idx planes, lines, taps, x_tap, w_tap, x_line, w_line, x_plane, w_plane;
};

/* Eight channels at a time; returns how many of them all. */
SHARED idx depthwise_eight(const f32 *x, const f32 *w, const f32 *b, f32 *y, idx channels, f32 lo, f32 hi,
                           const struct depthwise_reach *t)
{
    const idx x_tap = t->x_tap, w_tap = t->w_tap, x_line = t->x_line, w_line = t->w_line;
    const int low = lo > -RT_INF, high = hi < RT_INF;
    idx at = 0;
    for (; at + 8 <= channels; at += 8) {
        const f32 *xc = x + at, *wc = w + at;
        f32 c[8];
#define DEPTHWISE_EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define DEPTHWISE_X(i) c[i] = b ? b[at + i] : 0;
        DEPTHWISE_EIGHT(DEPTHWISE_X)
#undef DEPTHWISE_X
        for (idx d = t->planes; d > 0; d--) {
            for (idx h = t->lines; h > 0; h--) {
                for (idx k = t->taps; k > 0; k--)
                    __asm__("vldmia %[x], {s0-s7}\n\tvldmia %[w], {s8-s15}\n\t"
                            "add %[x], %[x_tap]\n\tadd %[w], %[w_tap]\n\t"
                            "vmla.f32 %[c0], s0, s8\n\tvmla.f32 %[c1], s1, s9\n\tvmla.f32 %[c2], s2, s10\n\t"
                            "vmla.f32 %[c3], s3, s11\n\tvmla.f32 %[c4], s4, s12\n\tvmla.f32 %[c5], s5, s13\n\t"
                            "vmla.f32 %[c6], s6, s14\n\tvmla.f32 %[c7], s7, s15"
                            : [x] "+r"(xc), [w] "+r"(wc), [c0] "+t"(c[0]), [c1] "+t"(c[1]), [c2] "+t"(c[2]),
                              [c3] "+t"(c[3]), [c4] "+t"(c[4]), [c5] "+t"(c[5]), [c6] "+t"(c[6]), [c7] "+t"(c[7])
                            : [x_tap] "r"(x_tap), [w_tap] "r"(w_tap), "m"(*(const f32(*)[8])xc),
                              "m"(*(const f32(*)[8])wc)
                            : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13",
                              "s14", "s15");
                xc += x_line;
                wc += w_line;
            }
            xc += t->x_plane;
            wc += t->w_plane;
        }
#define DEPTHWISE_X(i) c[i] = vec_max(lo, c[i]);
        if (low) {
            DEPTHWISE_EIGHT(DEPTHWISE_X)
        }
#undef DEPTHWISE_X
#define DEPTHWISE_X(i) c[i] = vec_min(hi, c[i]);
        if (high) {
            DEPTHWISE_EIGHT(DEPTHWISE_X)
        }
#undef DEPTHWISE_X
#define DEPTHWISE_X(i) y[at + i] = c[i];
        DEPTHWISE_EIGHT(DEPTHWISE_X)
#undef DEPTHWISE_X
#undef DEPTHWISE_EIGHT
    }
    return at;
}

/* All channels of a tile, of every shape of kernel, pixel by pixel. */
SHARED void depthwise_pixels(const f32 *x, const f32 *w, const f32 *b, f32 *y, const struct depthwise_tile *t)
{
    const idx x_tap = t->x_tap * t->x_pitch;
    for (idx r = 0; r < t->rows; r++, y += t->y_pitch) {
        const idx at = r * t->x_step;
        idx from = 0, to = t->width;
        while (from < to && at + from * t->x_tap < t->lead)
            from++;
        while (to > from && at + (to - 1) * t->x_tap >= t->end)
            to--;
        const idx taps = to - from;
        const struct depthwise_reach e = {
            .planes = t->planes,
            .lines = t->lines,
            .taps = taps,
            .x_tap = x_tap * (idx)sizeof *x,
            .w_tap = t->w_tap * (idx)sizeof *w,
            .x_line = t->x_line - taps * x_tap,
            .w_line = t->w_line - taps * t->w_tap,
            .x_plane = t->x_plane - t->lines * t->x_line,
            .w_plane = t->w_plane - t->lines * t->w_line,
        };
        const f32 *const xr = x + (t->shift + at * t->x_pitch + from * x_tap), *const wr = w + from * t->w_tap;
        idx c = t->w_channel == 1 ? depthwise_eight(xr, wr, b, y, t->channels, t->lo, t->hi, &e) : 0;
        for (; c < t->channels; c++) {
            f32 sum = b ? b[c] : 0;
            for (idx d = 0; d < t->planes; d++)
                for (idx h = 0; h < t->lines; h++)
                    for (idx k = 0; k < taps; k++)
                        sum = vec_fma(xr[c + d * t->x_plane + h * t->x_line + k * x_tap],
                                      wr[c * t->w_channel + d * t->w_plane + h * t->w_line + k * t->w_tap], sum);
            y[c] = vec_min(t->hi, vec_max(t->lo, sum));
        }
    }
}
#endif

/* Functions for frequent shapes of kernels (in small code only for the edges), and for all others. */
typedef void depthwise_fn(const f32 *x, const f32 *w, const f32 *b, f32 *y, const struct depthwise_tile *t);
#define DEPTHWISE_DEFINE_(KW, S, edge, spread)                                                                         \
    SHARED void depthwise_##KW##_##S##_##edge##_##spread(const f32 *x, const f32 *w, const f32 *b, f32 *y,             \
                                                         const struct depthwise_tile *t)                               \
    {                                                                                                                  \
        depthwise_any(KW, S, edge, spread, x, w, b, y, t);                                                             \
    }
#if TILE_SMALL
#define DEPTHWISE_DEFINE(KW, S)                                                                                        \
    DEPTHWISE_DEFINE_(KW, S, 1, 0)                                                                                     \
    DEPTHWISE_DEFINE_(KW, S, 1, 1)
#define DEPTHWISE_SHAPES(X) X(3, 1)
#define DEPTHWISE_INSIDE(KW, S, spread) depthwise_##KW##_##S##_1_##spread
#define DEPTHWISE_EDGE(KW, S, spread) depthwise_##KW##_##S##_1_##spread
#else
#define DEPTHWISE_DEFINE(KW, S)                                                                                        \
    DEPTHWISE_DEFINE_(KW, S, 0, 0)                                                                                     \
    DEPTHWISE_DEFINE_(KW, S, 1, 0)                                                                                     \
    DEPTHWISE_DEFINE_(KW, S, 0, 1)                                                                                     \
    DEPTHWISE_DEFINE_(KW, S, 1, 1)
#define DEPTHWISE_SHAPES(X) X(3, 1) X(3, 2) X(5, 1) X(5, 2) X(7, 1)
#define DEPTHWISE_INSIDE(KW, S, spread) depthwise_##KW##_##S##_0_##spread
#define DEPTHWISE_EDGE(KW, S, spread) depthwise_##KW##_##S##_1_##spread
#endif
DEPTHWISE_SHAPES(DEPTHWISE_DEFINE)
DEPTHWISE_DEFINE(0, 0)
#undef DEPTHWISE_DEFINE
#undef DEPTHWISE_DEFINE_

/* The functions of a convolution: inside the image and at its edges. */
struct depthwise_plan {
    depthwise_fn *inside, *edge;
    tile_epilogue *epilogue;
};

TILE struct depthwise_plan depthwise_plan(const struct conv_depthwise *p, tile_epilogue *epilogue)
{
    const int spread = p->cin > 1 || p->cout > 1, nearest = p->dilation[2] == 1;
#if VEC_CORTEX
    if (!spread) {
        const struct depthwise_plan pixels = {depthwise_pixels, depthwise_pixels, epilogue};
        return pixels;
    }
#endif
#define DEPTHWISE_CASE(KW, S)                                                                                          \
    if (nearest && p->kernel[2] == KW && p->stride[2] == S) {                                                          \
        const struct depthwise_plan one = {DEPTHWISE_INSIDE(KW, S, 0), DEPTHWISE_EDGE(KW, S, 0), epilogue};            \
        const struct depthwise_plan more = {DEPTHWISE_INSIDE(KW, S, 1), DEPTHWISE_EDGE(KW, S, 1), epilogue};           \
        return spread ? more : one;                                                                                    \
    }
    DEPTHWISE_SHAPES(DEPTHWISE_CASE)
#undef DEPTHWISE_CASE
    const struct depthwise_plan one = {DEPTHWISE_INSIDE(0, 0, 0), DEPTHWISE_EDGE(0, 0, 0), epilogue};
    const struct depthwise_plan more = {DEPTHWISE_INSIDE(0, 0, 1), DEPTHWISE_EDGE(0, 0, 1), epilogue};
    return spread ? more : one;
}
#endif

/* The number of taps along an axis that are inside the image if the kernel begins at `at`; *first: the first of
 * them. */
HELPER idx depthwise_range(idx at, idx kernel, idx dilation, idx size, idx *first)
{
    const idx from = at >= 0 ? 0 : (-at + dilation - 1) / dilation;
    idx to = at >= size ? 0 : (size - 1 - at) / dilation + 1;
    to = to < kernel ? to : kernel;
    *first = from < to ? from : 0;
    return from < to ? to - from : 0;
}

SHARED void depthwise_run(const f32 *x, const f32 *w, const f32 *b, f32 *y, i32 *index, const struct depthwise_plan *c,
                          const struct conv_depthwise *p)
{
    const idx x_row = p->in[2] * p->x_pitch, x_plane = p->in[1] * x_row;
    struct depthwise_tile t = {
        .x_plane = p->dilation[0] * x_plane,
        .x_line = p->dilation[1] * x_row,
        .x_pitch = p->x_pitch,
        .x_tap = p->dilation[2],
        .x_step = p->stride[2],
        .w_plane = p->kernel[1] * p->kernel[2] * p->w_tap,
        .w_line = p->kernel[2] * p->w_tap,
        .w_tap = p->w_tap,
        .w_in = p->w_in,
        .w_channel = p->w_channel,
        .y_pitch = p->y_pitch,
        .cin = p->cin,
        .cout = p->cout,
        .channels = p->channels,
        .width = p->kernel[2],
        .lo = p->lo,
        .hi = p->hi,
        .index = index,
    };
    for (idx i = 0; index && i < (p->channels + 15) / 16 * 16; i++)
        index[i] = (i32)((rt_min(i, p->channels - 1) / p->cout - i / RT_VEC * RT_VEC / p->cout) * p->cin);
    const idx reach = (DEPTHWISE_ROWS - 1) * p->stride[2] + (p->kernel[2] - 1) * p->dilation[2] + 1;
    for (idx row = 0; row < p->n * p->out[0] * p->out[1]; row++) {
        const idx n = row / (p->out[0] * p->out[1]), d = row / p->out[1] % p->out[0] * p->stride[0] - p->pad[0];
        const idx h = row % p->out[1] * p->stride[1] - p->pad[1];
        idx kd, kh;
        t.planes = depthwise_range(d, p->kernel[0], p->dilation[0], p->in[0], &kd);
        t.lines = depthwise_range(h, p->kernel[1], p->dilation[1], p->in[1], &kh);
        const idx plane = n * p->in[0] + d + kd * p->dilation[0], line = h + kh * p->dilation[1];
        const idx start = t.planes > 0 && t.lines > 0 ? plane * x_plane + line * x_row : 0;
        for (idx i = 0; i < p->out[2]; i += DEPTHWISE_ROWS) {
            const idx at = i * p->stride[2] - p->pad[2];
            f32 *const to = y + (row * p->out[2] + i) * p->y_pitch;
            t.lead = at < 0 ? -at : 0;
            t.end = p->in[2] - at;
            t.rows = p->out[2] - i < DEPTHWISE_ROWS ? p->out[2] - i : DEPTHWISE_ROWS;
            const int edge = t.lead > 0 || t.end < reach || t.rows < DEPTHWISE_ROWS;
            const f32 *const from = x + start + (edge ? 0 : at * p->x_pitch);
            t.shift = edge ? at * p->x_pitch : 0;
#ifdef ONNXCC_PLAIN
            depthwise_any(0, 0, edge, c->spread, from, w + kd * t.w_plane + kh * t.w_line, b, to, &t);
#else
            (edge ? c->edge : c->inside)(from, w + kd * t.w_plane + kh * t.w_line, b, to, &t);
            if (c->epilogue)
                c->epilogue(to, p->y_pitch, t.rows, p->channels);
#endif
        }
    }
}
#endif
