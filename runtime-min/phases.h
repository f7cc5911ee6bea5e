/* phases.h - transposed convolutions of channels-last images as convolutions. Tap k adds input i to output o where o + pad =
 * i * stride + k * dilation. So the outputs of one phase, (o + pad) % stride, have the same taps, and are a convolution
 * of x with stride 1. */
#ifndef ONNXCC_PHASES_H
#define ONNXCC_PHASES_H
#include "convolve.h"

/* x: (n, in[3], group * cin), y: (n, out[3], group * cout); w_k, columns: as for conv. even: the width of y is a
 * multiple of the stride. */
#define conv_transpose_PARAMS(X, V)                                                                                    \
    CONV_PLAIN_SIZES(X, V) X(idx, w_k) X(idx, columns) X(int, even) X(f32, lo) X(f32, hi)
PARAMS(conv_transpose)

/* The taps of a phase along an axis: their number, the last one, and their distance. Along x they are in reverse
 * order. */
struct conv_phase {
    idx taps, last, every;
};
HELPER struct conv_phase conv_phase(idx phase, idx kernel, idx stride, idx dilation)
{
    struct conv_phase f = {0, 0, stride};
    for (idx k = 0; k < kernel; k++)
        if ((k * dilation - phase) % stride == 0) {
            f.every = f.taps++ ? k - f.last : stride;
            f.last = k;
        }
    return f;
}

/* The convolution of phase `phase`, in q; returns where its first result is in y. */
SHARED idx conv_transpose_phase(idx phase, struct conv *q, const struct conv_transpose *p)
{
    const idx at[3] = {phase / p->stride[2] / p->stride[1], phase / p->stride[2] % p->stride[1], phase % p->stride[2]};
    idx first[3];
    q->taps = 1;
    for (int a = 0; a < 3; a++) {
        const idx s = p->stride[a];
        const struct conv_phase f = conv_phase(at[a], p->kernel[a], s, p->dilation[a]);
        first[a] = ((at[a] - p->pad[a]) % s + s) % s;
        q->out[a] = p->out[a] > first[a] ? (p->out[a] - first[a] + s - 1) / s : 0;
        q->kernel[a] = f.taps;
        q->dilation[a] = f.every * p->dilation[a] / s;
        q->pad[a] = (f.last * p->dilation[a] - first[a] - p->pad[a]) / s;
        q->taps *= f.taps;
    }
    if (q->taps == 0)
        q->kernel[0] = 0, q->kernel[1] = q->kernel[2] = 1;
    return ((first[0] * p->out[1] + first[1]) * p->out[2] + first[2]) * p->group * p->cout;
}

/* What all phases have in common. */
#define CONV_OF_PHASES(p)                                                                                              \
    {.n = (p)->n,                                                                                                      \
     .in = {(p)->in[0], (p)->in[1], (p)->in[2]},                                                                       \
     .group = (p)->group,                                                                                              \
     .cin = (p)->cin,                                                                                                  \
     .cout = (p)->cout,                                                                                                \
     .stride = {1, 1, 1},                                                                                              \
     .x_pitch = (p)->group * (p)->cin,                                                                                 \
     .y_pitch = (p)->stride[2] * (p)->group * (p)->cout,                                                               \
     .w_k = (p)->w_k,                                                                                                  \
     .columns = (p)->columns,                                                                                          \
     .depth = (p)->kernel[2] * (p)->cin,                                                                               \
     .lo = (p)->lo,                                                                                                    \
     .hi = (p)->hi}

SHARED void conv_transpose_strides(struct conv_plan *c, const struct conv_transpose *p)
{
    const idx pitch = p->group * p->cout;
    c->y_row = p->stride[1] * p->out[2] * pitch;
    c->y_plane = p->stride[0] * p->out[1] * p->out[2] * pitch;
    c->y_image = p->out[0] * p->out[1] * p->out[2] * pitch;
}
#endif
