/* conv.h - Conv on channels-last images with weights in panels (f32); Conv in ONNX's layout (all floats); products of a
 * matrix with weights in panels. */
#ifndef ONNXCC_CONV_H
#define ONNXCC_CONV_H
#include "rt.h"
#include "convolve.h"

/* x: (n, group * cin, in[3]), w: (group * cout, cin, kernel[3]), y: (n, group * cout, out[3]). */
#define conv_plain_PARAMS(X, V) CONV_PLAIN_SIZES(X, V)
PARAMS(conv_plain)

/* Packs w, with the strides w_out (group * cout outputs), w_in and w_tap, into panels: (group, panel, taps, cin, 16).
 * The last panel repeats the last output. */
#define conv_pack_PARAMS(X, V)                                                                                         \
    X(idx, group) X(idx, cout) X(idx, cin) X(idx, taps) X(idx, w_out) X(idx, w_in) X(idx, w_tap)
PARAMS(conv_pack)

/* y (m, n) = x (m, k) w + b + r; w, columns, depth as for conv; *_pitch: the row pitches of x, y and r. */
#define dense_PARAMS(X, V)                                                                                             \
    X(idx, m) X(idx, n) X(idx, k) X(idx, x_pitch) X(idx, y_pitch) X(idx, r_pitch) X(idx, w_k) X(idx, w_panel)          \
    X(idx, columns) X(idx, depth) X(f32, lo) X(f32, hi)
PARAMS(dense)
#endif

#define CONV_VECTOR_f32 1
#if defined T && !defined U
#if RT_IS_FLOAT(T) && (RT_FOLDS || !RT_TAKES(CONV_VECTOR_, T))
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
                const idx xh = h + k / p.kernel[2] % p.kernel[1] * p.dilation[1],
                          xv = v + k % p.kernel[2] * p.dilation[2];
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
REGISTER_KERNEL(conv_plain, 4, 3, RT_TAKES(CONV_VECTOR_, T) ? FOLDED : 0)
#endif
#endif

#if RT_TAKES(CONV_VECTOR_, T)
#ifdef EPI
#define CONV_FN(k) RT_CAT4(k, , T, EPI_NAME)
#define CONV_KERNEL HELPER
#define CONV_EPILOGUE CONV_FN(conv_epilogue)
TILE_EPILOGUE(CONV_EPILOGUE, EPI)
#else
#define CONV_FN FN
#define CONV_KERNEL KERNEL
#define CONV_EPILOGUE NULL
/* A panel of the outputs from o on, which are adjacent in w. */
HELPER void conv_pack_rows(const f32 *restrict w, f32 *restrict y, idx o, const struct conv_pack *p)
{
    const idx n = p->cout - o < TILE_PANEL ? p->cout - o : TILE_PANEL;
    for (idx t = 0; t < p->taps; t++)
        for (idx c = 0; c < p->cin; c++, y += TILE_PANEL) {
            const f32 *const from = w + o + c * p->w_in + t * p->w_tap;
            for (idx j = 0; j < n; j++)
                y[j] = from[j];
            for (idx j = n; j < TILE_PANEL; j++)
                y[j] = from[n - 1];
        }
}

KERNEL void FN(conv_pack)(const f32 *restrict w, f32 *restrict y, struct conv_pack p)
{
    /* In blocks that are adjacent in w: the rows of a panel are often a power of two apart, and evict each other from
     * the cache. */
    const idx block_t = p.w_tap == 1 ? TILE_PANEL : 1, block_c = p.w_tap == 1 ? 1 : TILE_PANEL;
    for (idx g = 0; g < p.group; g++)
        for (idx o = 0; o < p.cout; o += TILE_PANEL, y += p.taps * p.cin * TILE_PANEL) {
            if (p.w_out == 1) {
                conv_pack_rows(w + g * p.cout, y, o, &p);
                continue;
            }
            for (idx t0 = 0; t0 < p.taps; t0 += block_t)
                for (idx c0 = 0; c0 < p.cin; c0 += block_c)
                    for (idx j = 0; j < TILE_PANEL; j++) {
                        const idx k = g * p.cout + (o + j < p.cout ? o + j : p.cout - 1);
                        for (idx t = t0; t < t0 + block_t && t < p.taps; t++)
                            for (idx c = c0; c < c0 + block_c && c < p.cin; c++)
                                y[(t * p.cin + c) * TILE_PANEL + j] = w[k * p.w_out + c * p.w_in + t * p.w_tap];
                    }
        }
}
REGISTER_KERNEL(conv_pack, 2, 1, 0)
#endif

CONV_KERNEL void CONV_FN(conv)(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, f32 *scratch,
                               struct conv p)
{
    const int cross = conv_cross(&p);
    struct conv_plan c =
        conv_plan((cross ? p.out[0] * p.out[1] : 1) * p.out[2], p.cout, 1, TILE_POINTER(CONV_EPILOGUE));
    c.cross = cross;
    c.y_row = p.out[2] * p.y_pitch;
    c.y_plane = p.out[1] * c.y_row;
    c.y_image = p.out[0] * c.y_plane;
    conv_run(x, w, b, r, y, scratch, &c, &p);
#if defined EPI && defined ONNXCC_PLAIN
    CONV_EPILOGUE(y, p.y_pitch, p.n * p.out[0] * p.out[1] * p.out[2], p.group * p.cout);
#endif
}

#ifdef ONNXCC_PLAIN
CONV_KERNEL void CONV_FN(dense)(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, struct dense p)
{
    struct tile_job t = {.taps = 1, .across = 1, .rows = 1, .w_k = p.w_k, .w_panel = p.w_panel};
    t.y_pitch = p.y_pitch;
    t.r_pitch = p.r_pitch;
    tile_rows(&t, p.x_pitch);
    for (idx c = 0; c < p.n;) {
        const int V = p.n - c < TILE_VECTORS ? 1 : TILE_VECTORS;
        idx k = 0;
        t.lane = c % TILE_PANEL;
        do { /* once even if the sum is empty: then y is the bias */
            t.run = p.depth < p.k - k ? p.depth : p.k - k;
            t.first = k == 0;
            t.last = k + t.run == p.k;
            t.lo = t.last ? p.lo : -RT_INF;
            t.hi = t.last ? p.hi : RT_INF;
            tile_run(V, x + k, w + c / TILE_PANEL * p.w_panel + t.lane + k * p.w_k, b ? b + c : NULL, r ? r + c : NULL,
                     y + c, 1, p.m, &t);
            k += t.run;
        } while (k < p.k);
        c += V;
    }
#ifdef EPI
    CONV_EPILOGUE(y, p.y_pitch, p.m, p.n);
#endif
}
#else
CONV_KERNEL void CONV_FN(dense)(const f32 *x, const f32 *w, const f32 *b, const f32 *r, f32 *y, struct dense p)
{
    const struct conv q = {
        .n = 1,
        .in = {1, 1, p.m},
        .out = {1, 1, p.m},
        .group = 1,
        .cin = p.k,
        .cout = p.n,
        .kernel = {1, 1, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .x_pitch = p.x_pitch,
        .y_pitch = p.y_pitch,
        .r_pitch = p.r_pitch,
        .w_k = p.w_k,
        .w_panel = p.w_panel,
        .columns = p.columns,
        .taps = 1,
        .depth = p.depth,
        .lo = p.lo,
        .hi = p.hi,
    };
    CONV_FN(conv)(x, w, b, r, y, NULL, q);
}
#endif
#ifndef EPI
REGISTER_KERNEL(conv, 6, 4, SCRATCH | EPILOGUES | RESIDUAL(3))
REGISTER_KERNEL(dense, 5, 4, EPILOGUES | RESIDUAL(3))
#endif
#undef CONV_FN
#undef CONV_KERNEL
#undef CONV_EPILOGUE
#endif
#endif
