/* causal_conv.h - CausalConvWithState: a depthwise convolution over past and current elements. */
#ifndef ONNXCC_CAUSAL_CONV_H
#define ONNXCC_CAUSAL_CONV_H
#include "rt.h"
#include "math.h"

/* x, y: (batch, channels, length), w: (channels, taps), bias: (channels) or NULL; past (NULL: zeros), present (may be
 * NULL): (batch, channels, taps - 1), the elements before x and the last ones of both. silu: y = v * sigmoid(v) */
#define causal_conv_PARAMS(X, V) X(idx, batch) X(idx, channels) X(idx, length) X(idx, taps) X(int, silu)
PARAMS(causal_conv)

enum { CAUSAL_CONV_LANES = 16 };
#endif

#define CAUSAL_CONV_NOT_f64 1
#if defined T && !defined U
#if RT_IS_FLOAT(T) && !RT_TAKES(CAUSAL_CONV_NOT_, T)
/* Element i of the sequence that begins with the past, which has `before` elements. */
HELPER A FN(causal_conv_at)(const T *past, const T *x, idx before, idx i)
{
    return i >= before ? LD(x, i - before) : past ? LD(past, i) : 0;
}

/* Computes one channel. */
HELPER void FN(causal_conv_row)(const T *x, const T *w, A bias, const T *past, T *y, const struct causal_conv *p)
{
    const idx before = p->taps - 1;
    for (idx l = 0; l < p->length; l += CAUSAL_CONV_LANES) {
        const idx n = p->length - l < CAUSAL_CONV_LANES ? p->length - l : CAUSAL_CONV_LANES;
        A v[CAUSAL_CONV_LANES];
        for (int j = 0; j < CAUSAL_CONV_LANES; j++)
            v[j] = bias;
        for (idx t = 0; t < p->taps; t++) {
            const A f = LD(w, t);
            if (l + t >= before && n == CAUSAL_CONV_LANES)
                for (int j = 0; j < CAUSAL_CONV_LANES; j++)
                    v[j] += f * LD(x, l + t - before + j);
            else
                for (idx j = 0; j < n; j++)
                    v[j] += f * FN(causal_conv_at)(past, x, before, l + t + j);
        }
        for (int j = 0; p->silu && j < CAUSAL_CONV_LANES; j++)
            v[j] *= M(sigmoid)(v[j]);
        for (idx j = 0; j < n; j++)
            ST(y, l + j, v[j]);
    }
}

KERNEL void FN(causal_conv)(const T *x, const T *w, const T *bias, const T *past, T *y, T *present,
                            struct causal_conv p)
{
    const idx before = p.taps - 1;
    for (idx b = 0; b < p.batch; b++)
        for (idx c = 0; c < p.channels; c++) {
            const T *const old = past ? past + (b * p.channels + c) * before : 0;
            const T *const row = x + (b * p.channels + c) * p.length;
            FN(causal_conv_row)(row, w + c * p.taps, bias ? LD(bias, c) : 0, old, y + (b * p.channels + c) * p.length,
                                &p);
            for (idx i = 0; present && i < before; i++)
                ST(present, (b * p.channels + c) * before + i, FN(causal_conv_at)(old, row, before, p.length + i));
        }
}
REGISTER_KERNEL(causal_conv, 6, 4, 0)
#endif
#endif
