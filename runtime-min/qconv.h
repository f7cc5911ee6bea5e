/* qconv.h - Conv and products of matrices in integers: 8-bit channels-last images, 8-bit weights in panels, 32-bit
 * sums, which are requantised to 8 bits (scaled, rounded, saturated) or stored. */
#ifndef ONNXCC_QCONV_H
#define ONNXCC_QCONV_H
#include "rt.h"
#include "qtile.h"

/* Packs w, with the strides w_group, w_out, w_in and w_tap; zero: per output, with stride zero_step, or NULL; bias:
 * group * cout, or NULL; scale: with stride scale_step, or NULL; into a panel per 16 outputs of a group, see qtile.h:
 * `stretches` times `width` taps of cin inputs. */
#define qconv_pack_PARAMS(X, V)                                                                                        \
    X(idx, group) X(idx, cout) X(idx, cin) X(idx, stretches) X(idx, width) X(idx, w_group) X(idx, w_out) X(idx, w_in)  \
    X(idx, w_tap) X(idx, zero_step) X(idx, scale_step)
PARAMS(qconv_pack)

/* x: (n, in[3], x_pitch), with the stride x_group of groups; y: (n, out[3], y_pitch), y_group. y is clamped to [lo,
 * hi]. x_zero, y_zero: NULL or one number. block: rows of y for which the weights are read once. fixed: the width of y
 * is a literal. depthwise: one filter per channel; then there is one group, and cin is 1, cout the number of channels.
 * Scratch: the rows of x that a block takes, widened. */
#define qconv_PARAMS(X, V)                                                                                             \
    X(idx, n) V(idx, in, 3) V(idx, out, 3) X(idx, group) X(idx, cin) X(idx, cout) V(idx, kernel, 3) V(idx, stride, 3)  \
    V(idx, dilation, 3) V(idx, pad, 3) X(idx, x_pitch) X(idx, x_group) X(idx, y_pitch) X(idx, y_group) X(idx, block)   \
    X(int, depthwise) X(int, fixed) X(int, lo) X(int, hi)
PARAMS(qconv)

/* The rows of x in the scratch: `pixels` per row, with stride `row`; `ring` rows of a plane. */
struct qconv_rows {
    idx pixels, row, reach, ring;
};

HELPER struct qconv_rows qconv_rows(idx element, const struct qconv *p)
{
    struct qconv_rows r;
    r.pixels = (p->out[2] - 1) * p->stride[2] + (p->kernel[2] - 1) * p->dilation[2] + 1;
    r.row = (r.pixels * element + 32) / 32 * 32; /* a last pair may reach one element further */
    r.reach = (p->kernel[1] - 1) * p->dilation[1] + 1;
    r.ring = (p->block - 1) * p->stride[1] + r.reach;
    return r;
}

/* The pixels [*left, *right) of a padded row that are inside the image. */
HELPER void qconv_range(idx pixels, idx pad, idx size, int exists, idx *left, idx *right)
{
    *left = pad < pixels ? pad : pixels;
    *right = size + pad < pixels ? size + pad : pixels;
    if (!exists)
        *left = *right = pixels;
}
#endif

#define QCONV_TYPE_i8 1
#define QCONV_TYPE_u8 1
#define QCONV_FLIP_i8 0
#define QCONV_FLIP_u8 128   /* unsigned weights are stored minus this */
#if defined T && !defined U
#if RT_TAKES(QCONV_TYPE_, T)
KERNEL void FN(qconv_pack)(const T *w, const T *zero, const i32 *bias, const f32 *scale, i8 *y, struct qconv_pack p)
{
    const int flip = RT_CAT(QCONV_FLIP_, T);
    const idx run = p.width * p.cin, pairs = (run + 1) / 2;
    for (idx g = 0; g < p.group; g++)
        for (idx first = 0; first < p.cout; first += QTILE_PANEL) {
            i8 *const rows = y + QTILE_HEAD;
            for (idx c = 0; c < QTILE_PANEL; c++) {
                const idx o = g * p.cout + first + c;
                const int there = first + c < p.cout;
                const i8 z = (i8)(there && zero ? (int)LD(zero, o * p.zero_step) - flip : there ? -flip : 0);
                const i32 b = there && bias ? bias[o] : 0;
                const f32 s = there && scale ? scale[o * p.scale_step] : 0;
                y[2 * c] = y[2 * c + 1] = z;
                rt_put32(y + QTILE_BIAS + 4 * c, (u32)b);
                rt_put32(y + QTILE_SCALE + 4 * c, rt_u32(s));
                for (idx k = 0; k < p.stretches * pairs * 2; k++) {
                    const idx at = k % (pairs * 2), tap = k / (pairs * 2) * p.width + at / p.cin;
                    const idx from = g * p.w_group + (first + c) * p.w_out + at % p.cin * p.w_in + tap * p.w_tap;
                    rows[(k / 2 * QTILE_PANEL + c) * 2 + k % 2] = there && at < run ? (i8)((int)LD(w, from) - flip) : z;
                }
            }
            y = rows + p.stretches * pairs * 2 * QTILE_PANEL;
        }
}
REGISTER_KERNEL(qconv_pack, 5, 4, 0)
#endif
#endif

#define QCONV_WIDE_i8 0
#define QCONV_WIDE_u8 0
#define QCONV_WIDE_i32 1
#define QCONV_OUT_i8 1
#define QCONV_OUT_u8 1
#define QCONV_OUT_i32 1
#if defined T && defined U
#if RT_TAKES(QCONV_TYPE_, T) && RT_TAKES(QCONV_OUT_, U)
/* to = from - zero, as 16 bits. */
SHARED void FN2(qconv_widen)(i16 *restrict to, const T *restrict from, i32 zero, idx n)
{
    for (; n >= QTILE_PAIR;
         n -= QTILE_PAIR, to += QTILE_PAIR, from += QTILE_PAIR) /* a fixed length, which compilers vectorise */
        for (idx i = 0; i < QTILE_PAIR; i++)
            to[i] = (i16)((i32)from[i] - zero);
    for (idx i = 0; i < n; i++)
        to[i] = (i16)((i32)from[i] - zero);
}

/* The pairs of a panel; with long vectors, as vectors: their load would wait for smaller stores. */
HELPER void FN2(qconv_panel)(i32 *to, const T *a, const T *b, i32 zero)
{
#if DOT >= 8
    for (idx c = 0; c < QTILE_PANEL; c += DOT) {
        const dot_sums low = RT_CAT(dot_sums_of_, T)(a + c) - zero, high = RT_CAT(dot_sums_of_, T)(b + c) - zero;
        const dot_sums pairs = (low & 0xffff) | high * 0x10000;
        memcpy(to + c, &pairs, sizeof pairs);
    }
#else
    for (idx c = 0; c < QTILE_PANEL; c++)
        to[c] = dot_pair((i32)a[c] - zero, (i32)b[c] - zero);
#endif
}

/* For each pixel, n pairs of a value of a and one of b, minus zero. */
SHARED RT_NOIPA void FN2(qconv_pair)(i32 *restrict to, const T *restrict a, const T *restrict b, i32 zero, idx n,
                                     idx pixels, idx pitch)
{
    for (idx w = 0; w < pixels; w++)
        if (n == QTILE_PANEL)
            FN2(qconv_panel)(to + w * QTILE_PANEL, a + w * pitch, b + w * pitch, zero);
        else
            for (idx c = 0; c < n; c++)
                to[w * QTILE_PANEL + c] = dot_pair((i32)a[w * pitch + c] - zero, (i32)b[w * pitch + c] - zero);
}

/* Copies row (d, h) of an image, one group's channels minus zero, to `to`, padded with zeros. */
HELPER void FN2(qconv_row)(i16 *to, const T *x, i32 zero, idx d, idx h, const struct qconv_rows *r,
                           const struct qconv *p)
{
    idx left, right;
    qconv_range(r->pixels, p->pad[2], p->in[2], d >= 0 && d < p->in[0] && h >= 0 && h < p->in[1], &left, &right);
    const idx from = (d * p->in[1] + h) * p->in[2] - p->pad[2];
    memset(to, 0, (size_t)(left * p->cin) * sizeof *to);
    if (p->x_pitch == p->cin && left < right)
        FN2(qconv_widen)(to + left * p->cin, x + (from + left) * p->cin, zero, (right - left) * p->cin);
    else
        for (idx w = left; w < right; w++)
            FN2(qconv_widen)(to + w * p->cin, x + (from + w) * p->x_pitch, zero, p->cin);
    memset(to + right * p->cin, 0, (size_t)((r->pixels - right) * p->cin) * sizeof *to);
}

/* The same for `some` (at most 16) channels of a depthwise convolution: pairs of each pixel and the one `dilation`
 * after it. */
HELPER void FN2(qconv_pairs)(i16 *to, const T *x, i32 zero, idx d, idx h, idx some, const struct qconv_rows *r,
                             const struct qconv *p)
{
    idx left, right;
    qconv_range(r->pixels, p->pad[2], p->in[2], d >= 0 && d < p->in[0] && h >= 0 && h < p->in[1], &left, &right);
    const idx on = p->dilation[2], both = rt_max(left, right - on);
    const idx from = (d * p->in[1] + h) * p->in[2] - p->pad[2];
    for (idx w = 0; w < r->pixels; w++) {
        i32 *const at = (i32 *)(void *)to + w * QTILE_PANEL;
        if (w == left && both > left) {
            const T *const first = x + (from + w) * p->x_pitch;
            FN2(qconv_pair)(at, first, first + on * p->x_pitch, zero, some, both - left, p->x_pitch);
            w = both - 1;
            continue;
        }
        if (w >= left && w < right) {
            const T *const first = x + (from + w) * p->x_pitch;
            for (idx c = 0; c < some; c++)
                at[c] = dot_pair((i32)first[c] - zero, 0);
        } else if (w + on >= left && w + on < right) {
            const T *const second = x + (from + w + on) * p->x_pitch;
            for (idx c = 0; c < some; c++)
                at[c] = dot_pair(0, (i32)second[c] - zero);
        } else {
            memset(at, 0, (size_t)some * sizeof *at);
        }
    }
}

/* Widens the rows of x for `rows` rows of y from (d, h) on; those before row `next` are already widened. */
HELPER idx FN2(qconv_fill)(i16 *to, const T *x, i32 zero, idx some, idx d, idx h, idx rows, idx next,
                           const struct qconv_rows *r, const struct qconv *p)
{
    const idx end = (h + rows - 1) * p->stride[1] - p->pad[1] + r->reach;
    for (idx i = rt_max(next, h * p->stride[1] - p->pad[1]); i < end; i++)
        for (idx k = 0; k < p->kernel[0]; k++) {
            i16 *const row = to + (k * r->ring + rt_mod(i, r->ring)) * r->row;
            const idx plane = d * p->stride[0] - p->pad[0] + k * p->dilation[0];
            if (p->depthwise)
                FN2(qconv_pairs)(row, x, zero, plane, i, some, r, p);
            else
                FN2(qconv_row)(row, x, zero, plane, i, r, p);
        }
    return end;
}

/* Computes all rows of a plane of y, for the columns from `from` on: of the group, or (depthwise) of a panel. */
HELPER void FN2(qconv_plane)(const T *x, const i8 *w, i32 zero, U *y, i16 *scratch, idx from, idx d,
                             const struct qtile_plan *c, const struct qconv_rows *r, const struct qtile_job *t,
                             const struct qconv *p)
{
    const idx some = rt_min(p->depthwise ? QTILE_PANEL : p->cout, p->cout - from);
    for (idx h = 0, next = -p->pad[1], rows; h < p->out[1]; h += rows) {
        rows = rt_min(p->block, p->out[1] - h);
        next = FN2(qconv_fill)(scratch, x, zero, some, d, h, rows, next, r, p);
        for (idx v = 0; v * DOT < some; v += v < c->across.bigs ? c->across.big : c->across.little)
            for (idx i = h; i < h + rows; i++) {
                const idx column = from + v * DOT, left = p->cout - column,
                          slot = rt_mod(i * p->stride[1] - p->pad[1], r->ring);
                u8 *const line = (u8 *)(y + (d * p->out[1] + i) * p->out[2] * p->y_pitch + column);
                const i16 *const at = scratch + (p->depthwise ? 2 * v * DOT : 0);
                if (v < c->across.bigs)
                    qtile_line(c->tile[0][0], c->tile[1][0], &c->along, p->out[2], at, slot, w, column, line, left, t);
                else
                    qtile_line(c->tile[0][1], c->tile[1][1], &c->along, p->out[2], at, slot, w, column, line, left, t);
            }
    }
}

KERNEL void FN2(qconv)(const T *x, const i8 *w, const T *x_zero, const U *y_zero, U *y, i16 *scratch, struct qconv p)
{
    const idx element = p.depthwise ? 2 * QTILE_PANEL : p.cin;
    const struct qconv_rows r = qconv_rows(element, &p);
    const i32 zero = y_zero ? (i32)LDU(y_zero, 0) : 0;
    const int joined = p.depthwise || p.dilation[2] == 1;
    struct qtile_job t = {
        .step = p.stride[2] * element,
        .on = p.depthwise ? 2 * p.dilation[2] * element : 2,
        .planes = p.kernel[0],
        .lines = p.kernel[1],
        .across = joined ? 1 : p.kernel[2],
        .right = p.dilation[2] * element,
        .ring = r.ring,
        .dilation = p.dilation[1],
        .row = r.row,
        .pairs = ((joined ? p.kernel[2] : 1) * p.cin + 1) / 2,
        .y_pitch = p.y_pitch * (idx)sizeof(U),
        .lo = (f32)(p.lo - zero),
        .hi = (f32)(p.hi - zero),
        .zero = zero,
        .wide = RT_CAT(QCONV_WIDE_, U),
    };
    t.panel = QTILE_HEAD + t.planes * t.lines * t.across * t.pairs * QTILE_PAIR;
    const idx panels = (p.cout + QTILE_PANEL - 1) / QTILE_PANEL;
    t.plain = qtile_plain(w, p.group * panels, t.panel);
    const idx wide = p.depthwise ? QTILE_PANEL : p.cout;
    const struct qtile_plan plan = qtile_plan_of(p.out[2], wide, p.fixed, p.depthwise);
    const idx in = p.in[0] * p.in[1] * p.in[2], out = p.out[0] * p.out[1] * p.out[2];
    const i32 less = x_zero ? (i32)LD(x_zero, 0) : 0;
    for (idx n = 0; n < p.n; n++)
        for (idx g = 0; g < p.group; g++)
            for (idx c = 0; c < p.cout; c += wide)
                for (idx d = 0; d < p.out[0]; d++) {
                    const T *const from = x + n * in * p.x_pitch + g * p.x_group + (p.depthwise ? c : 0);
                    U *const to = y + n * out * p.y_pitch + g * p.y_group;
                    FN2(qconv_plane)(from, w + g * panels * t.panel, less, to, scratch, c, d, &plan, &r, &t, &p);
                }
}
REGISTER_KERNEL2(qconv, 6, 4, SCRATCH)
#endif
#endif
