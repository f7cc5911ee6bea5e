/* convolve.h - convolutions of channels-last f32 images with weights in panels: the loops around the tiles. */
#ifndef ONNXCC_CONVOLVE_H
#define ONNXCC_CONVOLVE_H
#include "rt.h"
#include "tile.h"

/* x: (n, in[3], x_pitch), of which group * cin channels; y: (n, out[3], y_pitch), group * cout channels; r: as y,
 * r_pitch. w_k, w_panel, w_group: floats between successive k, panels and groups (0, 0, 0: one panel row for all).
 * columns: output channels of one pass over the pixels (their weights should fit the cache); taps, depth: kernel taps
 * and input channels of one pass. whole: x is padded as a whole, rather than tile by tile, into the scratch. */
#define conv_PARAMS(X, V)                                                                                              \
    X(idx, n) V(idx, in, 3) V(idx, out, 3) X(idx, group) X(idx, cin) X(idx, cout) V(idx, kernel, 3) V(idx, stride, 3)  \
    V(idx, dilation, 3) V(idx, pad, 3) X(idx, x_pitch) X(idx, y_pitch) X(idx, r_pitch) X(idx, w_k) X(idx, w_panel)     \
    X(idx, w_group) X(idx, columns) X(idx, taps) X(idx, depth) X(int, whole) X(f32, lo) X(f32, hi)
PARAMS(conv)

/* Sizes of a convolution of channels that come first. */
#define CONV_PLAIN_SIZES(X, V)                                                                                         \
    X(idx, n) X(idx, group) X(idx, cin) X(idx, cout) V(idx, in, 3) V(idx, out, 3) V(idx, kernel, 3) V(idx, stride, 3)  \
    V(idx, dilation, 3) V(idx, pad, 3)

/* The division of a convolution into tiles: across: vectors of channels, along: pixels of a row. tile[i][j]: i = 0 for
 * the big tiles along, 1 for the little ones; j the same across. y_row, y_plane, y_image: strides of y. cross: tiles
 * continue from row to row. on: sums continue those that y has, in place of r. */
struct conv_plan {
    struct tile_cut across, along;
    TILE_REF(tile_fn) tile[2][2];
    tile_epilogue *epilogue;
    idx y_row, y_plane, y_image;
    int cross, on;
};

/* All literals if the width and the channels are. even: all rows have this width. */
TILE struct conv_plan conv_plan(idx width, idx cout, int even, tile_epilogue *epilogue)
{
    const struct tile_cut across = tile_across(cout);
    const struct tile_cut along = tile_cut(width, TILE_ROWS(across.big), even);
    const struct conv_plan c = {
        .across = across,
        .along = along,
        .tile = {{tile_of(along.big, across.big), tile_of(along.big, across.little)},
                 {tile_of(along.little, across.big), tile_of(along.little, across.little)}},
        .epilogue = epilogue,
    };
    return c;
}

/* May and should tiles continue from row to row of y? Rows are short, and x needs no padding. */
TILE int conv_cross(const struct conv *p)
{
    const int upper =
        TILE_ROWS((p->cout + RT_VEC - 1) / RT_VEC < TILE_VECTORS ? (p->cout + RT_VEC - 1) / RT_VEC : TILE_VECTORS);
    int inside = 1;
#define CONV_AXIS(a)                                                                                                   \
    inside &= p->pad[a] == 0 && (p->out[a] - 1) * p->stride[a] + (p->kernel[a] - 1) * p->dilation[a] < p->in[a];
    CONV_AXIS(0)
    CONV_AXIS(1)
    CONV_AXIS(2)
#undef CONV_AXIS
    return (p->whole || inside) && upper <= TILE_LOOSE && p->out[2] < 4 * upper && p->out[0] * p->out[1] > 1;
}

/* The state of one group of one image. line, layer: the strides of rows and planes of x, as tiles read it. The windows
 * of pixels [from, to) of a row are inside the row of x. */
struct conv_work {
    const f32 *x, *w, *b, *r;
    f32 *y, *scratch;
    idx pitch, line, layer;   /* of x as tiles read it */
    idx reach[3], padded[3];  /* pixels covered by the kernel; sizes of the padded x */
    idx from, to, first, end; /* [first, end): the vectors of this pass */
    struct tile_job t;
    const struct conv_plan *c;
    const struct conv *p;
};

/* Copies the part of x (channels 0 .. cin - 1) from pixel (d, h, w) on, of `size` pixels, with zeros outside of x, to
 * the scratch. */
SHARED void conv_window(const struct conv_work *k, idx d0, idx h0, idx w0, const idx *size)
{
    const struct conv *const p = k->p;
    const idx pitch = k->pitch, left = w0 < 0 ? -w0 : 0, right = p->in[2] - w0 < size[2] ? p->in[2] - w0 : size[2];
    const idx row = size[2] * pitch;
    f32 *to = k->scratch;
    for (idx d = d0; d < d0 + size[0]; d++)
        for (idx h = h0; h < h0 + size[1]; h++, to += row) {
            if (d < 0 || d >= p->in[0] || h < 0 || h >= p->in[1] || left >= right) {
                memset(to, 0, (size_t)row * sizeof(f32));
                continue;
            }
            const f32 *const from = k->x + ((d * p->in[1] + h) * p->in[2] + w0 + left) * p->x_pitch;
            memset(to, 0, (size_t)(left * pitch) * sizeof(f32));
            if (pitch == p->x_pitch && pitch == p->group * p->cin)
                memcpy(to + left * pitch, from, (size_t)((right - left - 1) * pitch + p->cin) * sizeof(f32));
            else
                for (idx w = left; w < right; w++)
                    memcpy(to + w * pitch, from + (w - left) * p->x_pitch, (size_t)p->cin * sizeof(f32));
            memset(to + right * pitch, 0, (size_t)(row - right * pitch) * sizeof(f32));
        }
}

/* The input of R pixels from pixel i of y on, counted over all rows: sets where each one after the first begins. */
HELPER const f32 *conv_crossing(struct conv_work *k, idx i, idx R)
{
    const struct conv *const p = k->p;
    idx w = i % p->out[2], h = i / p->out[2] % p->out[1], d = i / p->out[2] / p->out[1];
    idx row = d * p->stride[0] * k->layer + h * p->stride[1] * k->line;
    const idx start = row + w * k->t.step;
    for (idx r = 0; r < R; r++) {
        k->t.at[r] = row + w * k->t.step - start;
        if (++w < p->out[2])
            continue;
        w = 0;
        if (++h == p->out[1]) {
            h = 0;
            d++;
        }
        row = d * p->stride[0] * k->layer + h * p->stride[1] * k->line;
    }
    return (p->whole ? k->scratch : k->x) + start;
}

/* The input of n times R pixels of y from pixel i of its row on: in x if the kernel is inside, else in the scratch,
 * padded with zeros. Sets the strides of kernel rows and planes; *n is reduced if it covers fewer tiles. */
HELPER const f32 *conv_input(struct conv_work *k, idx row, idx i, idx R, idx *n)
{
    const struct conv *const p = k->p;
    const idx d = row / p->out[1] * p->stride[0] - p->pad[0], h = row % p->out[1] * p->stride[1] - p->pad[1];
    const idx w = i * p->stride[2] - p->pad[2];
    k->t.row = p->dilation[1] * k->line;
    k->t.plane = p->dilation[0] * k->layer;
    if (k->c->cross) {
        *n = 1;
        return conv_crossing(k, i, R);
    }
    if (p->whole)
        return k->scratch + (d + p->pad[0]) * k->layer + (h + p->pad[1]) * k->line + (w + p->pad[2]) * k->pitch;
#ifdef ONNXCC_PLAIN
    const int inside = k->scratch == NULL; /* none is needed */
#else
    const int inside = 0;
#endif
    if (inside || (d >= 0 && h >= 0 && d + k->reach[0] <= p->in[0] && h + k->reach[1] <= p->in[1] && i >= k->from &&
                   i + R <= k->to)) {
        const idx upper = (k->to - i) / R;
        *n = *n < upper ? *n : upper;
        return k->x + d * k->layer + h * k->line + w * k->pitch;
    }
    const idx size[3] = {k->reach[0], k->reach[1], (R - 1) * p->stride[2] + k->reach[2]};
    conv_window(k, d, h, w, size);
    *n = 1;
    k->t.row = p->dilation[1] * size[2] * p->x_pitch;
    k->t.plane = p->dilation[0] * k->reach[1] * size[2] * p->x_pitch;
    return k->scratch;
}

/* The weights from vector v on; sets the tiles' column in the panel. */
HELPER const f32 *conv_weights(struct conv_work *k, idx v)
{
    const idx c = v * RT_VEC;
    k->t.lane = c % TILE_PANEL;
    return k->w + c / TILE_PANEL * k->t.w_panel + k->t.lane;
}

/* Computes the vectors of this pass for n times R pixels from x on. */
HELPER void conv_pixels(struct conv_work *k, const int little, const f32 *x, const f32 *r, f32 *y, idx R, idx n)
{
    const idx cout = k->p->cout, big = k->c->across.big, across = k->c->across.little;
    idx v = k->first;
    for (; v < k->end && v < k->c->across.bigs; v += big) {
        const idx c = v * RT_VEC;
        TILE_DO(tile_run, k->c->tile[little][0], x, conv_weights(k, v), k->b ? k->b + c : NULL, r ? r + c : NULL, y + c,
                cout - c - (big - 1) * RT_VEC, n, &k->t);
    }
    for (; v < k->end; v += across) {
        const idx c = v * RT_VEC;
        TILE_DO(tile_run, k->c->tile[little][1], x, conv_weights(k, v), k->b ? k->b + c : NULL, r ? r + c : NULL, y + c,
                cout - c - (across - 1) * RT_VEC, n, &k->t);
    }
#ifndef ONNXCC_PLAIN
    if (k->c->epilogue && k->t.last) {
        const idx c = k->first * RT_VEC, end = k->end * RT_VEC < cout ? k->end * RT_VEC : cout;
        k->c->epilogue(y + c, k->t.y_pitch, n * R, end - c);
    }
#endif
}

/* One pass over the pixels, from kernel tap `tap` and channel `depth` on; with as many tiles at a time as fit the cache
 * while all channels of y are computed. */
HELPER void conv_pass(struct conv_work *k, idx tap, idx depth)
{
    enum { CACHE = 4096 };
    const struct conv *const p = k->p;
    const struct conv_plan *const c = k->c;
    const idx kd = tap / (k->t.rows * k->t.across), rows = c->cross ? 1 : p->out[0] * p->out[1];
    const idx pixels = c->cross ? p->out[0] * p->out[1] * p->out[2] : p->out[2];
    k->t.tap[0] = tap / k->t.across % k->t.rows;
    k->t.tap[1] = tap % k->t.across;
    for (idx row = 0; row < rows; row++)
        for (idx i = 0, n; i < pixels;) {
            const int little = i >= c->along.bigs;
            const idx R = little ? c->along.little : c->along.big, upper = CACHE / (R * (k->t.step + 1));
            n = ((little ? pixels : c->along.bigs) - i) / R;
            n = n < upper ? n : upper > 0 ? upper : 1;
            const f32 *const x = conv_input(k, row, i, R, &n);
            f32 *const y = k->y + row / p->out[1] * c->y_plane + row % p->out[1] * c->y_row + i * p->y_pitch;
            const f32 *const r = c->on ? y : k->r ? k->r + (row * pixels + i) * p->r_pitch : NULL;
            conv_pixels(k, little, x + kd * k->t.plane + k->t.tap[0] * k->t.row + k->t.tap[1] * k->t.right + depth, r,
                        y, R, n);
            i += n * R;
        }
}

/* One group of one image, in as many passes as the cache size requires. */
SHARED void conv_group(struct conv_work *k)
{
    const struct conv *const p = k->p;
    const struct conv_plan *const c = k->c;
    const idx vectors = (p->cout + RT_VEC - 1) / RT_VEC, pass = p->columns / (c->across.big * RT_VEC);
    k->pitch = p->whole ? p->cin : p->x_pitch;
    const int joined = k->pitch == p->cin && p->dilation[2] == 1;
    const idx taps = p->kernel[0] * p->kernel[1] * (joined ? 1 : p->kernel[2]),
              run = joined ? p->kernel[2] * p->cin : p->cin;
    k->t = (struct tile_job){
        .across = joined ? 1 : p->kernel[2],
        .rows = p->kernel[1],
        .right = p->dilation[2] * k->pitch,
        .w_k = p->w_k,
        .w_panel = p->w_panel,
        .w_run = run * p->w_k,
        .y_pitch = p->y_pitch,
        .r_pitch = p->r_pitch,
    };
    tile_rows(&k->t, p->stride[2] * k->pitch);
    for (int a = 0; a < 3; a++) {
        k->reach[a] = (p->kernel[a] - 1) * p->dilation[a] + 1;
        k->padded[a] = (p->out[a] - 1) * p->stride[a] + k->reach[a];
    }
    k->line = (p->whole ? k->padded[2] : p->in[2]) * k->pitch;
    k->layer = (p->whole ? k->padded[1] : p->in[1]) * k->line;
    k->from = (p->pad[2] + p->stride[2] - 1) / p->stride[2];
    k->to = (p->in[2] - k->reach[2] + p->pad[2] + p->stride[2]) / p->stride[2];
    if (p->whole)
        conv_window(k, -p->pad[0], -p->pad[1], -p->pad[2], k->padded);
    const f32 *const w = k->w;
    for (k->first = 0; k->first < vectors; k->first = k->end) {
        k->end = k->first + (pass > 0 ? pass : 1) * (k->first < c->across.bigs ? c->across.big : c->across.little);
        k->end = k->first < c->across.bigs && k->end > c->across.bigs ? c->across.bigs
                 : k->end < vectors                                   ? k->end
                                                                      : vectors;
        idx tap = 0;
        do {
            k->t.taps = p->taps < taps - tap ? p->taps : taps - tap;
            idx depth = 0;
            do { /* once even if the sum is empty: then y is the bias */
                k->t.run = p->depth < run - depth ? p->depth : run - depth;
                k->t.first = tap == 0 && depth == 0;
                k->t.last = tap + k->t.taps == taps && depth + k->t.run == run;
                k->t.lo = k->t.last ? p->lo : -RT_INF;
                k->t.hi = k->t.last ? p->hi : RT_INF;
                k->w = w + (tap * run + depth) * p->w_k;
                conv_pass(k, tap, depth);
                depth += k->t.run;
            } while (depth < run);
            tap += k->t.taps;
        } while (tap < taps);
    }
}

/* All images and groups. */
SHARED void conv_run(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, f32 *scratch,
                     const struct conv_plan *c, const struct conv *p)
{
    const idx in = p->in[0] * p->in[1] * p->in[2], out = p->out[0] * p->out[1] * p->out[2];
    for (idx n = 0; n < p->n; n++)
        for (idx g = 0; g < p->group; g++) {
            struct conv_work k = {
                .x = x + n * in * p->x_pitch + g * p->cin,
                .w = w + g * p->w_group,
                .b = b ? b + g * p->cout : NULL,
                .r = r ? r + n * out * p->r_pitch + g * p->cout : NULL,
                .y = y + n * c->y_image + g * p->cout,
                .scratch = scratch,
                .c = c,
                .p = p,
            };
            conv_group(&k);
        }
}
#endif
