/* deformconv.h - DeformConv: a convolution that reads its input at places moved by an offset, between elements. */
#ifndef ONNXCC_DEFORMCONV_H
#define ONNXCC_DEFORMCONV_H
#include "rt.h"
#include "math.h"

/* x: (batch, channels, in[0], in[1], in[2]), w: (outputs, channels / groups, kernel[0], kernel[1], kernel[2]), y: (batch,
 * outputs, out[0], out[1], out[2]), offset: (batch, moves, kernel, axes, out), mask: (batch, moves, kernel, out), bias:
 * (outputs); those two may be NULL. Every group of channels / moves has its own offsets. scratch: channels * kernel. */
#define deform_conv_PARAMS(X, V)                                                                                       \
    X(idx, batch) X(idx, channels) X(idx, outputs) X(idx, groups) X(idx, moves) X(int, axes) V(idx, in, 3) V(idx, out, 3) \
    V(idx, kernel, 3) V(idx, stride, 3) V(idx, dilation, 3) V(idx, pad, 3)
PARAMS(deform_conv)
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
/* The two elements around a place on an axis of n, and their weights; outside of it 0. */
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

/* What element k of the kernel sees at output i: for every channel that moves with offset m, one element of the column. */
HELPER void FN(deform_read)(const T *x, const A *place, A scale, idx n, idx m, idx k, A *column, struct deform_conv p)
{
    const idx size = p.in[0] * p.in[1] * p.in[2], count = p.kernel[0] * p.kernel[1] * p.kernel[2], some = p.channels / p.moves;
    idx at[3][2] = {{0}};
    A weight[3][2] = {{1}, {1}, {1}};
    for (int a = 3 - p.axes; a < 3; a++)
        FN(deform_place)(place[a], p.in[a], at[a], weight[a]);
    for (idx c = m * some; c < (m + 1) * some; c++) {
        const idx base = (n * p.channels + c) * size;
        A sum = 0;
        for (int d = 0; d < (p.axes > 2 ? 2 : 1); d++)
            for (int h = 0; h < (p.axes > 1 ? 2 : 1); h++) {
                const idx row = base + (at[0][d] * p.in[1] + at[1][h]) * p.in[2];
                sum += weight[0][d] * weight[1][h] * (weight[2][0] * LD(x, row + at[2][0]) + weight[2][1] * LD(x, row + at[2][1]));
            }
        column[c * count + k] = scale * sum;
    }
}

/* The column of output i, which is o[0], o[1], o[2]. */
HELPER void FN(deform_column)(const T *x, const T *offset, const T *mask, idx n, idx i, const idx *o, A *column,
                              struct deform_conv p)
{
    const idx points = p.out[0] * p.out[1] * p.out[2];
    for (idx m = 0; m < p.moves; m++) {
        idx k = 0, at[3];
        for (at[0] = 0; at[0] < p.kernel[0]; at[0]++)
            for (at[1] = 0; at[1] < p.kernel[1]; at[1]++)
                for (at[2] = 0; at[2] < p.kernel[2]; at[2]++, k++) {
                    const idx from = (n * p.moves + m) * p.kernel[0] * p.kernel[1] * p.kernel[2] + k;
                    A place[3] = {0};
                    for (int a = 3 - p.axes; a < 3; a++)
                        place[a] = (A)(o[a] * p.stride[a] - p.pad[a] + at[a] * p.dilation[a]) +
                                   LD(offset, (from * p.axes + a - (3 - p.axes)) * points + i);
                    FN(deform_read)(x, place, mask ? LD(mask, from * points + i) : 1, n, m, k, column, p);
                }
    }
}

KERNEL void FN(deform_conv)(const T *x, const T *w, const T *offset, const T *bias, const T *mask, T *restrict y,
                            void *scratch, struct deform_conv p)
{
    A *const column = (A *)scratch;
    const idx points = p.out[0] * p.out[1] * p.out[2];
    const idx row = p.channels / p.groups * p.kernel[0] * p.kernel[1] * p.kernel[2];
    for (idx n = 0; n < p.batch; n++) {
        idx i = 0, o[3];
        for (o[0] = 0; o[0] < p.out[0]; o[0]++)
            for (o[1] = 0; o[1] < p.out[1]; o[1]++)
                for (o[2] = 0; o[2] < p.out[2]; o[2]++, i++) {
                    FN(deform_column)(x, offset, mask, n, i, o, column, p);
                    for (idx c = 0; c < p.outputs; c++) {
                        const A *const group = column + c / (p.outputs / p.groups) * row;
                        A sum = bias ? LD(bias, c) : 0;
                        for (idx k = 0; k < row; k++)
                            sum += LD(w, c * row + k) * group[k];
                        ST(y, (n * p.outputs + c) * points + i, sum);
                    }
                }
    }
}
RUNS(deform_conv, 7, 5, SCRATCH)
#endif
#endif
