/* convcoded.h - Conv and ConvTranspose of channels-last images, with weights that stay as they are stored. A part of the
 * taps and input channels of some outputs is expanded to floats at a time, for the loops of convolve.h; the results have
 * the bits of convolutions with the weights expanded before. */
#ifndef ONNXCC_CONVCODED_H
#define ONNXCC_CONVCODED_H
#include "codes.h"
#include "phases.h"

/* part, inputs: taps and input channels that are expanded at a time, for `columns` outputs (a multiple of 16): all of an
 * axis if all of the following ones; room: the product of the three. sum: values of k in one sum. padded: is x?
 * Scratch: columns * (1 + room) floats, if k > sum columns floats for each pixel of y, and that of convolve.h. */
#define CONV_PARTS(X, V) CODED_PARAMS(X) V(idx, part, 3) X(idx, inputs) X(idx, room) X(idx, sum) X(int, padded)

/* As conv, and w, scale, zero as for dense_coded (coded.h), group by group. */
#define CONV_CODED_SIZES(X, V)                                                                                         \
    CONV_PLAIN_SIZES(X, V) X(idx, x_pitch) X(idx, y_pitch) X(idx, r_pitch) X(idx, columns) X(f32, lo) X(f32, hi)
#define conv_coded_PARAMS(X, V) CONV_CODED_SIZES(X, V) CONV_PARTS(X, V)
PARAMS(conv_coded)

/* The same for conv_transpose; each phase has its values of k, one phase after the other. */
#define conv_transpose_coded_PARAMS(X, V) conv_transpose_PARAMS(X, V) CONV_PARTS(X, V)
PARAMS(conv_transpose_coded)

/* start: of sums that go on: -0, which added changes nothing. */
struct conv_codes {
    struct coded w;
    CODED_REF expand;
    tile_epilogue *epilogue;
    idx part[3], inputs, sum, columns;
    f32 *start, *panel, *sums, *patch;
};

#define CONV_CODES_OF(p, pixels, w, scale, zero, scratch, epilogue)                                                    \
    {CODED_OF(p, w, scale, zero),                                                                                      \
     coded_of((p).kind),                                                                                               \
     TILE_POINTER(epilogue),                                                                                           \
     {(p).part[0], (p).part[1], (p).part[2]},                                                                          \
     (p).inputs,                                                                                                       \
     (p).sum,                                                                                                          \
     (p).columns,                                                                                                      \
     scratch,                                                                                                          \
     scratch + (p).columns,                                                                                            \
     scratch + (p).columns * (1 + (p).room),                                                                           \
     (p).padded ? scratch + (p).columns * (1 + (p).room + pixels) : NULL}

/* The outputs of p, at most s->columns of one group; panel: their first one; k: that of their weights. */
SHARED void conv_coded_columns(const f32 *x, const f32 *b, const f32 *r, f32 *y, const struct conv_codes *s,
                               const struct conv_plan *plan, const struct conv *p, idx panel, idx k)
{
    const idx all = p->kernel[0] * p->kernel[1] * p->kernel[2] * p->cin, pixels = p->out[0] * p->out[1] * p->out[2];
    f32 *const expanded = s->panel, *const patch = s->patch;
    idx at = 0;
    do { /* once even if the sum is empty: then y is the bias */
        struct conv q = *p;
        struct conv_plan c = *plan;
        const idx tap = at / p->cin, channel = at % p->cin, summed = at % s->sum;
        const idx of[3] = {tap / p->kernel[2] / p->kernel[1], tap / p->kernel[2] % p->kernel[1], tap % p->kernel[2]};
        const f32 *from = x + channel, *bias = at ? NULL : b;
        f32 *to = y;
        q.cin = rt_min(rt_min(s->inputs, p->cin - channel), s->sum - summed);
        q.taps = 1;
        for (int a = 0; a < 3; a++) {
            const idx skip = of[a] * p->dilation[a];
            q.kernel[a] = rt_min(s->part[a], p->kernel[a]);
            q.taps *= q.kernel[a];
            if (plan->cross) /* which ignores pads */
                from += skip * (a == 0 ? p->in[1] * p->in[2] : a == 1 ? p->in[2] : 1) * p->x_pitch;
            else
                q.pad[a] -= skip;
        }
        const idx run = q.taps * q.cin;
        const int last = at + run == all, apart = at >= s->sum;
        for (idx i = 0; i < p->cout; i += TILE_PANEL)
            TILE_DO(coded_expand, s->expand, expanded + i * run, &s->w, panel + i / TILE_PANEL, k + at, run);
        q.depth = q.kernel[2] * q.cin;
        q.w_panel = run * TILE_PANEL;
        c.on = summed > 0;
        c.epilogue = last && !apart ? s->epilogue : NULL;
        q.lo = last && !apart ? p->lo : -RT_INF;
        q.hi = last && !apart ? p->hi : RT_INF;
        if (apart) {
            to = s->sums;
            q.y_pitch = s->columns;
            c.y_row = p->out[2] * s->columns;
            c.y_plane = p->out[1] * c.y_row;
            c.y_image = p->out[0] * c.y_plane;
        }
        q.r_pitch = c.on ? q.y_pitch : p->r_pitch;
        if (c.on)
            bias = s->start;
        conv_run(from, expanded, bias, at ? NULL : r, to, patch, &c, &q);
        at += run;
        if (apart && (last || at % s->sum == 0)) {
            coded_add(y, p->y_pitch, to, s->columns, p->n * pixels, p->cout, last ? p->lo : -RT_INF,
                      last ? p->hi : RT_INF);
#ifndef ONNXCC_PLAIN
            if (last && s->epilogue)
                s->epilogue(y, p->y_pitch, p->n * pixels, p->cout);
#endif
        }
    } while (at < all);
}

/* All groups; plan: of s->columns outputs, and of those that remain in a group. */
SHARED void conv_coded_run(const f32 *x, const f32 *b, const f32 *r, f32 *y, const struct conv_codes *s,
                           const struct conv_plan *plan, const struct conv *p, idx k)
{
    const idx panels = (p->cout + TILE_PANEL - 1) / TILE_PANEL;
    for (idx i = 0; i < s->columns; i++)
        s->start[i] = -0.F;
    for (idx g = 0; g < p->group; g++)
        for (idx c = 0; c < p->cout; c += s->columns) {
            const idx from = g * p->cout + c;
            struct conv q = *p;
            q.group = 1;
            q.cout = q.columns = rt_min(s->columns, p->cout - c);
            q.w_k = TILE_PANEL;
            conv_coded_columns(x + g * p->cin, b ? b + from : NULL, r ? r + from : NULL, y + from, s,
                               plan + (q.cout < s->columns), &q, g * panels + c / TILE_PANEL, k);
        }
}

SHARED void conv_transpose_coded_run(const f32 *x, const f32 *b, f32 *y, const struct conv_codes *s,
                                     struct conv_plan *plan, const struct conv_transpose *p)
{
    const idx phases = p->stride[0] * p->stride[1] * p->stride[2];
    idx k = 0;
    struct conv q = CONV_OF_PHASES(p);
    conv_transpose_strides(&plan[0], p);
    conv_transpose_strides(&plan[1], p);
    for (idx phase = 0; phase < phases; phase++) {
        const idx first = conv_transpose_phase(phase, &q, p);
        for (int i = 0; i < 2; i++)
            if (plan[i].along.little == 1)
                plan[i].along.bigs = q.out[2] / plan[i].along.big * plan[i].along.big;
        if (q.out[0] > 0 && q.out[1] > 0 && q.out[2] > 0)
            conv_coded_run(x, b, NULL, y + first, s, plan, &q, k);
        k += q.taps * p->cin;
    }
}
#endif

#define CONVCODED_VECTOR_f32 1
#if defined T && !defined U
#if RT_TAKES(CONVCODED_VECTOR_, T)
#ifdef EPI
#define CONVCODED_FN(k) RT_CAT4(k, , T, EPI_NAME)
#define CONVCODED_KERNEL HELPER
#define CONVCODED_EPILOGUE CONVCODED_FN(conv_coded_epilogue)
TILE_EPILOGUE(CONVCODED_EPILOGUE, EPI)
#else
#define CONVCODED_FN FN
#define CONVCODED_KERNEL KERNEL
#define CONVCODED_EPILOGUE NULL
#endif
CONVCODED_KERNEL void CONVCODED_FN(conv_coded)(const f32 *x, const void *w, const f32 *b, const f32 *r,
                                               const void *scale, const void *zero, f32 *y, f32 *scratch,
                                               struct conv_coded p)
{
    struct conv q = {0};
    CONV_CODED_SIZES(CODED_COPY, CODED_COPY_ARRAY)
    const idx pixels = p.n * p.out[0] * p.out[1] * p.out[2], k = p.kernel[0] * p.kernel[1] * p.kernel[2] * p.cin;
    const struct conv_codes s = CONV_CODES_OF(p, (k > p.sum ? pixels : 0), w, scale, zero, scratch, CONVCODED_EPILOGUE);
    const idx rest = p.cout % p.columns, lines = p.out[0] * p.out[1];
    q.cout = rest;
    const int rest_cross = conv_cross(&q);
    q.cout = p.cout < p.columns ? p.cout : p.columns;
    const int cross = conv_cross(&q);
    struct conv_plan plan[2] = {conv_plan((cross ? lines : 1) * p.out[2], q.cout, 1, NULL),
                                conv_plan((rest_cross ? lines : 1) * p.out[2], rest, 1, NULL)};
    q.cout = p.cout;
    for (int i = 0; i < 2; i++) {
        plan[i].cross = i ? rest_cross : cross;
        plan[i].y_row = p.out[2] * p.y_pitch;
        plan[i].y_plane = p.out[1] * plan[i].y_row;
        plan[i].y_image = p.out[0] * plan[i].y_plane;
    }
    conv_coded_run(x, b, r, y, &s, plan, &q, 0);
#if defined EPI && defined ONNXCC_PLAIN
    CONVCODED_EPILOGUE(y, p.y_pitch, pixels, p.group * p.cout);
#endif
}

CONVCODED_KERNEL void CONVCODED_FN(conv_transpose_coded)(const f32 *x, const void *w, const f32 *b, const void *scale,
                                                         const void *zero, f32 *y, f32 *scratch,
                                                         struct conv_transpose_coded p)
{
    struct conv_transpose q;
    conv_transpose_PARAMS(CODED_COPY, CODED_COPY_ARRAY) const struct conv_codes s =
        CONV_CODES_OF(p, 0, w, scale, zero, scratch, CONVCODED_EPILOGUE);
    const idx width = p.out[2] / p.stride[2];
    struct conv_plan plan[2] = {conv_plan(width, p.cout < p.columns ? p.cout : p.columns, p.even, NULL),
                                conv_plan(width, p.cout % p.columns, p.even, NULL)};
    conv_transpose_coded_run(x, b, y, &s, plan, &q);
#if defined EPI && defined ONNXCC_PLAIN
    CONVCODED_EPILOGUE(y, p.group * p.cout, p.n * p.out[0] * p.out[1] * p.out[2], p.group * p.cout);
#endif
}
#ifndef EPI
REGISTER_KERNEL(conv_coded, 8, 6, SCRATCH | EPILOGUES | RESIDUAL(3))
REGISTER_KERNEL(conv_transpose_coded, 7, 5, SCRATCH | EPILOGUES)
#endif
#undef CONVCODED_FN
#undef CONVCODED_KERNEL
#undef CONVCODED_EPILOGUE
#endif
#endif
