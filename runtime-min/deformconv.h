/* deformconv.h - DeformConv: a convolution that reads its input at positions shifted by offsets, between elements. */
#ifndef ONNXCC_DEFORMCONV_H
#define ONNXCC_DEFORMCONV_H
#include "rt.h"
#include "math.h"

/* x: (batch, channels, in[0], in[1], in[2]), w: (outputs, channels / groups, kernel[0], kernel[1], kernel[2]), y:
 * (batch, outputs, out[0], out[1], out[2]), offset: (batch, moves, kernel, axes, out), mask: (batch, moves, kernel,
 * out), bias: (outputs); those two may be NULL. Every group of channels / moves has its own offsets. scratch: channels
 * * kernel * DEFORM_POINTS. */
#define deform_conv_PARAMS(X, V)                                                                                       \
    X(idx, batch)                                                                                                      \
    X(idx, channels) X(idx, outputs) X(idx, groups) X(idx, moves) X(int, axes) V(idx, in, 3) V(idx, out, 3)            \
        V(idx, kernel, 3) V(idx, stride, 3) V(idx, dilation, 3) V(idx, pad, 3)
PARAMS(deform_conv)

#define DEFORM_POINTS 8  /* outputs at a time, whose columns are interleaved */
#define DEFORM_OUTPUTS 4 /* output channels at a time */
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
/* The two elements around a position on an axis of n, and their weights; 0 outside of the axis. */
HELPER void FN(deform_place)(A place, idx n, idx *at, A *weight)
{
    const A first = M(floor)(place), f = place - first;
    const int inside = place > -1 && place < (A)n;
    const idx i = inside ? (idx)first : 0;
    at[0] = i < 0 ? 0 : i;
    at[1] = i + 1 < n ? i + 1 : i;
    weight[0] = inside && i >= 0 ? 1 - f : 0;
    weight[1] = inside && i + 1 < n ? f : 0;
}

/* Column t of the corners around positions, 2 along each axis: their indices in x's image and their weights. */
HELPER void FN(deform_corners)(const A *place, A scale, idx t, idx (*to)[DEFORM_POINTS], A (*weight)[DEFORM_POINTS],
                               const struct deform_conv *p)
{
    idx at[3][2] = {{0}}, j = 0;
    A w[3][2] = {{1}, {1}, {1}};
    for (int a = 3 - p->axes; a < 3; a++)
        FN(deform_place)(place[a], p->in[a], at[a], w[a]);
    for (int a = 0; a < (p->axes > 2 ? 2 : 1); a++)
        for (int b = 0; b < (p->axes > 1 ? 2 : 1); b++)
            for (int c = 0; c < 2; c++, j++) {
                to[j][t] = (at[0][a] * p->in[1] + at[1][b]) * p->in[2] + at[2][c];
                weight[j][t] = scale * w[0][a] * w[1][b] * w[2][c];
            }
}

/* The inputs of kernel element k, at e[0], e[1], e[2], for the channels of offset group m and the outputs from i on: a
 * row of the columns per channel. */
HELPER void FN(deform_rows)(const T *x, const T *offset, const T *mask, idx n, idx m, idx k, const idx *e, idx i,
                            A *column, const struct deform_conv *p)
{
    const idx size = p->in[0] * p->in[1] * p->in[2], points = p->out[0] * p->out[1] * p->out[2],
              some = p->channels / p->moves;
    const idx count = p->kernel[0] * p->kernel[1] * p->kernel[2], from = (n * p->moves + m) * count + k;
    idx to[8][DEFORM_POINTS];
    A weight[8][DEFORM_POINTS], place[3] = {0};
    for (idx t = 0; t < DEFORM_POINTS; t++) {
        const idx at = i + t < points ? i + t : i; /* beyond the end: any output */
        const idx o[3] = {at / (p->out[1] * p->out[2]), at / p->out[2] % p->out[1], at % p->out[2]};
        for (int a = 3 - p->axes; a < 3; a++)
            place[a] = (A)(o[a] * p->stride[a] - p->pad[a] + e[a] * p->dilation[a]) +
                       LD(offset, (from * p->axes + a - (3 - p->axes)) * points + at);
        FN(deform_corners)(place, mask ? LD(mask, from * points + at) : 1, t, to, weight, p);
    }
    for (idx c = m * some; c < (m + 1) * some; c++) {
        A sum[DEFORM_POINTS] = {0};
        for (int j = 0; j < 1 << p->axes; j++)
            for (int t = 0; t < DEFORM_POINTS; t++)
                sum[t] += weight[j][t] * LD(x, (n * p->channels + c) * size + to[j][t]);
        for (int t = 0; t < DEFORM_POINTS; t++)
            column[(c * count + k) * DEFORM_POINTS + t] = sum[t];
    }
}

HELPER void FN(deform_column)(const T *x, const T *offset, const T *mask, idx n, idx i, A *column,
                              const struct deform_conv *p)
{
    for (idx m = 0; m < p->moves; m++) {
        idx k = 0, e[3];
        for (e[0] = 0; e[0] < p->kernel[0]; e[0]++)
            for (e[1] = 0; e[1] < p->kernel[1]; e[1]++)
                for (e[2] = 0; e[2] < p->kernel[2]; e[2]++, k++)
                    FN(deform_rows)(x, offset, mask, n, m, k, e, i, column, p);
    }
}

#if RT_HAS_VECTORS
typedef A FN(deform_vec) RT_ATTRIBUTE((vector_size(DEFORM_POINTS * sizeof(A)), aligned(sizeof(A)), may_alias));
#define DEFORM_AT(v, t) (v)[t]
HELPER void FN(deform_splat)(FN(deform_vec) *sum, A v) { *sum = (FN(deform_vec)){v, v, v, v, v, v, v, v}; }
HELPER void FN(deform_add)(FN(deform_vec) *sum, A w, const A *column)
{
    *sum += (FN(deform_vec)){w, w, w, w, w, w, w, w} * *(const FN(deform_vec) *)column;
}
#else
typedef struct {
    A at[DEFORM_POINTS];
} FN(deform_vec);
#define DEFORM_AT(v, t) (v).at[t]
HELPER void FN(deform_splat)(FN(deform_vec) *sum, A v) { *sum = (FN(deform_vec)){{v, v, v, v, v, v, v, v}}; }
HELPER void FN(deform_add)(FN(deform_vec) *sum, A w, const A *column)
{
    for (int t = 0; t < DEFORM_POINTS; t++)
        sum->at[t] += w * column[t];
}
#endif

/* Stores `some` channels from c on of the outputs from i on; column: the columns of the channels' group. */
HELPER void FN(deform_store)(const T *w, const T *bias, T *y, const A *column, idx n, idx c, idx i, idx some,
                             const struct deform_conv *p)
{
    const idx points = p->out[0] * p->out[1] * p->out[2];
    const idx row = p->channels / p->groups * p->kernel[0] * p->kernel[1] * p->kernel[2];
    FN(deform_vec) sum[DEFORM_OUTPUTS];
    for (int o = 0; o < DEFORM_OUTPUTS; o++) {
        const A v = bias && o < some ? LD(bias, c + o) : 0;
        FN(deform_splat)(&sum[o], v);
    }
    for (idx k = 0; k < row; k++)
        for (int o = 0; o < DEFORM_OUTPUTS; o++) {
            const A v = LD(w, (c + (o < some ? o : 0)) * row + k);
            FN(deform_add)(&sum[o], v, column + k * DEFORM_POINTS);
        }
    for (int o = 0; o < DEFORM_OUTPUTS && o < some; o++)
        for (int t = 0; t < DEFORM_POINTS && i + t < points; t++)
            ST(y, (n * p->outputs + c + o) * points + i + t, DEFORM_AT(sum[o], t));
}

KERNEL void FN(deform_conv)(const T *x, const T *w, const T *offset, const T *bias, const T *mask, T *restrict y,
                            void *scratch, struct deform_conv p)
{
    A *const column = (A *)scratch;
    const idx points = p.out[0] * p.out[1] * p.out[2], of_group = p.outputs / p.groups;
    const idx size = p.channels * p.kernel[0] * p.kernel[1] * p.kernel[2] * DEFORM_POINTS;
    for (idx n = 0; n < p.batch; n++)
        for (idx i = 0; i < points; i += DEFORM_POINTS) {
            FN(deform_column)(x, offset, mask, n, i, column, &p);
            for (idx g = 0; g < p.groups; g++) {
                const A *const part = column + g * (size / p.groups);
                const idx end = (g + 1) * of_group;
                for (idx c = g * of_group; c < end; c += DEFORM_OUTPUTS)
                    FN(deform_store)(w, bias, y, part, n, c, i, rt_min(end - c, DEFORM_OUTPUTS), &p);
            }
        }
}
REGISTER_KERNEL(deform_conv, 7, 5, SCRATCH)
#undef DEFORM_AT
#endif
#endif
