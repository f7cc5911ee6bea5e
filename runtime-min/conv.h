/* conv.h - Conv on images that are channels last, with weights in panels (f32); Conv as ONNX has it (all floats); products
 * of a matrix with weights in panels. */
#ifndef ONNXCC_CONV_H
#define ONNXCC_CONV_H
#include "rt.h"
#include "tile.h"

/* x: (n, group * cin, in[3]), w: (group * cout, cin, kernel[3]), y: (n, group * cout, out[3]). */
#define conv_plain_PARAMS(X, V)                                                                                        \
    X(idx, n) X(idx, group) X(idx, cin) X(idx, cout) V(idx, in, 3) V(idx, out, 3) V(idx, kernel, 3) V(idx, stride, 3)  \
    V(idx, dilation, 3) V(idx, pad, 3)
PARAMS(conv_plain)

/* w: outputs (group * cout), inputs and taps are w_out, w_in and w_tap elements apart -> panels: (group, panel, taps, cin,
 * 16). The last panel repeats the last output. */
#define conv_pack_PARAMS(X, V)                                                                                         \
    X(idx, group) X(idx, cout) X(idx, cin) X(idx, taps) X(idx, w_out) X(idx, w_in) X(idx, w_tap)
PARAMS(conv_pack)

/* x: (n, in[3], x_pitch), of which group * cin channels; y: (n, out[3], y_pitch), group * cout channels; r: as y, r_pitch.
 * w_k, w_panel, w_group: floats between successive k, panels and groups (0, 0, 0: one panel row for all).
 * columns: output channels of one pass over the pixels (their weights should stay in the cache); taps, depth: kernel
 * taps and input channels of one pass. whole: x is padded as a whole, not tile by tile, into the scratch. fixed: the
 * width of y is a literal. */
#define conv_PARAMS(X, V)                                                                                              \
    X(idx, n) V(idx, in, 3) V(idx, out, 3) X(idx, group) X(idx, cin) X(idx, cout) V(idx, kernel, 3) V(idx, stride, 3)  \
    V(idx, dilation, 3) V(idx, pad, 3) X(idx, x_pitch) X(idx, y_pitch) X(idx, r_pitch) X(idx, w_k) X(idx, w_panel)     \
    X(idx, w_group) X(idx, columns) X(idx, taps) X(idx, depth) X(int, whole) X(int, fixed) X(f32, lo) X(f32, hi)
PARAMS(conv)

/* y (m, n) = x (m, k) w + b + r; w, columns, depth, fixed (m) as for conv; rows of x, y and r: *_pitch apart. */
#define dense_PARAMS(X, V)                                                                                             \
    X(idx, m) X(idx, n) X(idx, k) X(idx, x_pitch) X(idx, y_pitch) X(idx, r_pitch) X(idx, w_k) X(idx, w_panel)          \
    X(idx, columns) X(idx, depth) X(int, fixed) X(f32, lo) X(f32, hi)
PARAMS(dense)

/* What follows from the parameters. */
struct conv_plan {
    struct tile_cut across, along;  /* vectors of channels, pixels of a row */
    idx pass;                       /* groups of vectors in one pass */
    idx taps, run;                  /* stretches of x that are contiguous under the kernel, and their length */
    idx pitch, reach[3];            /* of x as tiles see it; pixels under the kernel */
    idx padded[3];                  /* pixels of x with its borders */
    int inside;                     /* the kernel never leaves x */
};

HELPER struct conv_plan conv_plan(const struct conv *p)
{
    struct conv_plan c;
    c.across = tile_cut((p->cout + RT_VEC - 1) / RT_VEC, TILE_VECTORS, 1);
    c.along = tile_cut(p->out[2], TILE_ROWS(c.across.big), p->fixed);
    c.pass = p->columns / (c.across.big * RT_VEC) > 0 ? p->columns / (c.across.big * RT_VEC) : 1;
    c.pitch = p->whole ? p->cin : p->x_pitch;
    const int joined = c.pitch == p->cin && p->dilation[2] == 1;
    c.taps = p->kernel[0] * p->kernel[1] * (joined ? 1 : p->kernel[2]);
    c.run = joined ? p->kernel[2] * p->cin : p->cin;
#define CONV_AXIS(i)                                                                                                   \
    c.reach[i] = (p->kernel[i] - 1) * p->dilation[i] + 1;                                                              \
    c.padded[i] = (p->out[i] - 1) * p->stride[i] + c.reach[i];
    CONV_AXIS(0)
    CONV_AXIS(1)
    CONV_AXIS(2)
#undef CONV_AXIS
    c.inside = p->pad[0] == 0 && p->pad[1] == 0 && p->pad[2] == 0 && c.padded[0] <= p->in[0] &&
               c.padded[1] <= p->in[1] && c.padded[2] <= p->in[2];
    return c;
}

/* The part of x (one image, channels 0 .. cin - 1) from pixel (d, h, w) on, size pixels, zero outside x -> to. */
SHARED void conv_window(f32 *to, idx pitch, const f32 *x, idx d0, idx h0, idx w0, const idx *size, const struct conv *p)
{
    for (idx d = d0; d < d0 + size[0]; d++)
        for (idx h = h0; h < h0 + size[1]; h++, to += size[2] * pitch) {
            idx left = w0 < 0 ? -w0 : 0, right = p->in[2] - w0 < size[2] ? p->in[2] - w0 : size[2];
            if (d < 0 || d >= p->in[0] || h < 0 || h >= p->in[1] || left >= right)
                left = right = size[2];
            const f32 *const row = x + ((d * p->in[1] + h) * p->in[2] + w0) * p->x_pitch;
            for (idx i = 0; i < left * pitch; i++)
                to[i] = 0;
            if (pitch == p->x_pitch && left < right)
                memcpy(to + left * pitch, row + left * pitch,
                       (size_t)((right - left - 1) * pitch + p->cin) * sizeof(f32));
            else
                for (idx w = left; w < right; w++)
                    memcpy(to + w * pitch, row + w * p->x_pitch, (size_t)p->cin * sizeof(f32));
            for (idx i = right * pitch; i < size[2] * pitch; i++)
                to[i] = 0;
        }
}

/* Where the R pixels of y from pixel i of row (d, h) on begin in x: in x itself when the kernel stays inside, else in the
 * scratch, with zeros around. Sets how far kernel rows and planes are apart. */
HELPER const f32 *conv_input(const f32 *x, f32 *scratch, idx R, idx d, idx h, idx i, const struct conv_plan *c,
                             struct tile_job *t, const struct conv *p)
{
    const idx xd = d * p->stride[0] - p->pad[0], xh = h * p->stride[1] - p->pad[1], xw = i * p->stride[2] - p->pad[2];
    const idx wide = (R - 1) * p->stride[2] + c->reach[2];
    if (p->whole) {
        t->row = p->dilation[1] * c->padded[2] * p->cin;
        t->plane = p->dilation[0] * c->padded[1] * c->padded[2] * p->cin;
        return scratch + ((d * p->stride[0] * c->padded[1] + h * p->stride[1]) * c->padded[2] + i * p->stride[2]) * p->cin;
    }
    if (c->inside || (xd >= 0 && xh >= 0 && xw >= 0 && xd + c->reach[0] <= p->in[0] && xh + c->reach[1] <= p->in[1] &&
                      xw + wide <= p->in[2])) {
        t->row = p->dilation[1] * p->in[2] * p->x_pitch;
        t->plane = p->dilation[0] * p->in[1] * p->in[2] * p->x_pitch;
        return x + ((xd * p->in[1] + xh) * p->in[2] + xw) * p->x_pitch;
    }
    const idx size[3] = {c->reach[0], c->reach[1], wide};
    conv_window(scratch, p->x_pitch, x, xd, xh, xw, size, p);
    t->row = p->dilation[1] * wide * p->x_pitch;
    t->plane = p->dilation[0] * c->reach[1] * wide * p->x_pitch;
    return scratch;
}
#endif

#define CONV_VECTOR_f32 1
#if defined T && !defined U
#if RT_IS_FLOAT(T)
#ifndef EPI
KERNEL void FN(conv_plain)(const T *x, const T *w, const T *b, T *y, struct conv_plain p)
{
    const idx taps = p.kernel[0] * p.kernel[1] * p.kernel[2], plane = p.in[0] * p.in[1] * p.in[2];
    const idx pixels = p.out[0] * p.out[1] * p.out[2];
    for (idx o = 0; o < p.n * p.group * p.cout; o++) {
        const idx co = o % (p.group * p.cout), from = (o / (p.group * p.cout) * p.group + co / p.cout) * p.cin;
        for (idx i = 0; i < pixels; i++) {
            const idx d = i / (p.out[1] * p.out[2]) * p.stride[0] - p.pad[0];
            const idx h = i / p.out[2] % p.out[1] * p.stride[1] - p.pad[1], v = i % p.out[2] * p.stride[2] - p.pad[2];
            A sum = b ? LD(b, co) : 0;
            for (idx k = 0; k < taps; k++) {
                const idx xd = d + k / (p.kernel[1] * p.kernel[2]) * p.dilation[0];
                const idx xh = h + k / p.kernel[2] % p.kernel[1] * p.dilation[1], xv = v + k % p.kernel[2] * p.dilation[2];
                if (xd < 0 || xd >= p.in[0] || xh < 0 || xh >= p.in[1] || xv < 0 || xv >= p.in[2])
                    continue;
                for (idx c = 0; c < p.cin; c++)
                    sum += LD(x, (from + c) * plane + (xd * p.in[1] + xh) * p.in[2] + xv) *
                           LD(w, (co * p.cin + c) * taps + k);
            }
            ST(y, o * pixels + i, sum);
        }
    }
}
RUNS(conv_plain, 4, 3, 0)
#endif
#endif

#if RT_CAT(CONV_VECTOR_, T)
#ifdef EPI
#define CONV_FN(k) RT_CAT4(k, , T, EPI_NAME)
#define CONV_KERNEL HELPER
#else
#define CONV_FN FN
#define CONV_KERNEL KERNEL
KERNEL void conv_pack_f32(const f32 *restrict w, f32 *restrict y, struct conv_pack p)
{
    idx i = 0;
    for (idx g = 0; g < p.group; g++)
        for (idx o = 0; o < p.cout; o += TILE_PANEL)
            for (idx t = 0; t < p.taps; t++)
                for (idx c = 0; c < p.cin; c++)
                    for (idx j = o; j < o + TILE_PANEL; j++, i++)
                        y[i] = w[(g * p.cout + (j < p.cout ? j : p.cout - 1)) * p.w_out + c * p.w_in + t * p.w_tap];
}
RUNS(conv_pack, 2, 1, 0)
#endif

/* R pixels from x on: all vectors of channels from `from` up to `to`. */
HELPER void CONV_FN(conv_pixels)(const int R, const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, idx from,
                                 idx to, idx cout, struct tile_cut cut, const struct tile_job *t)
{
    for (idx v = from; v < to;) {
        const idx c = v * RT_VEC;
        const f32 *const wv = tile_column(w, v, t->w_panel), *const bv = b ? b + c : b, *const rv = r ? r + c : r;
        if (v < cut.bigs) {
            tile_run(R, cut.big, x, wv, bv, rv, y + c, cout - c - (cut.big - 1) * RT_VEC, t);
            v += cut.big;
        } else {
            tile_run(R, cut.small, x, wv, bv, rv, y + c, cout - c - (cut.small - 1) * RT_VEC, t);
            v += cut.small;
        }
    }
#ifdef EPI
    if (t->last)
        for (idx i = 0; i < R; i++)
            for (idx c = from * RT_VEC; c < to * RT_VEC && c < cout; c++)
                y[i * t->y_pitch + c] = EPI(y[i * t->y_pitch + c]);
#endif
}

/* One pass over the pixels of one group of one image: tap and k are the first of the pass. */
HELPER void CONV_FN(conv_pass)(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, f32 *scratch, idx tap, idx k,
                               idx from, idx to, const struct conv_plan *c, struct tile_job *t, const struct conv *p)
{
    const idx kd = tap / (t->rows * t->across);
    t->tap[0] = tap / t->across % t->rows;
    t->tap[1] = tap % t->across;
    for (idx row = 0; row < p->out[0] * p->out[1]; row++)
        for (idx i = 0; i < p->out[2];) {
            const int R = i < c->along.bigs ? c->along.big : c->along.small;
            const f32 *at = conv_input(x, scratch, R, row / p->out[1], row % p->out[1], i, c, t, p);
            const idx pixel = row * p->out[2] + i;
            const f32 *const ra = r ? r + pixel * p->r_pitch : r;
            at += kd * t->plane + t->tap[0] * t->row + t->tap[1] * t->right + k;
            if (i < c->along.bigs)
                CONV_FN(conv_pixels)(c->along.big, at, w, b, ra, y + pixel * p->y_pitch, from, to, p->cout, c->across, t);
            else
                CONV_FN(conv_pixels)(c->along.small, at, w, b, ra, y + pixel * p->y_pitch, from, to, p->cout, c->across, t);
            i += R;
        }
}

/* One group of one image. */
HELPER void CONV_FN(conv_group)(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, f32 *scratch,
                                const struct conv_plan *c, const struct conv *p)
{
    const idx vectors = (p->cout + RT_VEC - 1) / RT_VEC;
    struct tile_job t = {
        .step = p->stride[2] * c->pitch, .across = c->taps / (p->kernel[0] * p->kernel[1]), .rows = p->kernel[1],
        .right = p->dilation[2] * c->pitch, .w_k = p->w_k, .w_panel = p->w_panel, .w_run = c->run * p->w_k,
        .y_pitch = p->y_pitch, .r_pitch = p->r_pitch,
    };
    if (p->whole)
        conv_window(scratch, p->cin, x, -p->pad[0], -p->pad[1], -p->pad[2], c->padded, p);
    for (idx v = 0, next; v < vectors; v = next) {
        next = v + c->pass * (v < c->across.bigs ? c->across.big : c->across.small);
        next = v < c->across.bigs && next > c->across.bigs ? c->across.bigs : next < vectors ? next : vectors;
        for (idx tap = 0; tap < c->taps; tap += t.taps) {
            t.taps = p->taps < c->taps - tap ? p->taps : c->taps - tap;
            for (idx k = 0; k < c->run; k += t.run) {
                t.run = p->depth < c->run - k ? p->depth : c->run - k;
                t.first = tap == 0 && k == 0;
                t.last = tap + t.taps == c->taps && k + t.run == c->run;
                t.lo = t.last ? p->lo : -VEC_INFINITY;
                t.hi = t.last ? p->hi : VEC_INFINITY;
                CONV_FN(conv_pass)(x, w + (tap * c->run + k) * p->w_k, b, r, y, scratch, tap, k, v, next, c, &t, p);
            }
        }
    }
}

CONV_KERNEL void CONV_FN(conv)(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, f32 *scratch, struct conv p)
{
    const struct conv_plan c = conv_plan(&p);
    const idx in = p.in[0] * p.in[1] * p.in[2], out = p.out[0] * p.out[1] * p.out[2];
    for (idx n = 0; n < p.n; n++)
        for (idx g = 0; g < p.group; g++)
            CONV_FN(conv_group)(x + n * in * p.x_pitch + g * p.cin, w + g * p.w_group, b ? b + g * p.cout : b,
                                r ? r + n * out * p.r_pitch + g * p.cout : r, y + n * out * p.y_pitch + g * p.cout,
                                scratch, &c, &p);
}

CONV_KERNEL void CONV_FN(dense)(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, struct dense p)
{
    const struct conv q = {
        .n = 1, .in = {1, 1, p.m}, .out = {1, 1, p.m}, .group = 1, .cin = p.k, .cout = p.n, .kernel = {1, 1, 1},
        .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .x_pitch = p.x_pitch, .y_pitch = p.y_pitch, .r_pitch = p.r_pitch,
        .w_k = p.w_k, .w_panel = p.w_panel, .columns = p.columns, .taps = 1, .depth = p.depth, .fixed = p.fixed,
        .lo = p.lo, .hi = p.hi,
    };
    const struct conv_plan c = conv_plan(&q);
    CONV_FN(conv_group)(x, w, b, r, y, NULL, &c, &q);
}
#ifndef EPI
RUNS(conv, 6, 4, SCRATCH | EPILOGUES | RESIDUAL(3))
RUNS(dense, 5, 4, EPILOGUES | RESIDUAL(3))
#endif
#undef CONV_FN
#undef CONV_KERNEL
#endif
#endif
