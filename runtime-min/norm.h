/* norm.h - normalisation of runs of elements: GroupNormalization (and Instance), Layer, RMS and Lp. */
#ifndef ONNXCC_NORM_H
#define ONNXCC_NORM_H
#include "rt.h"
#include "math.h"

/* x, y: (outer, groups, channels, inner), normalised over (channels, inner); scale, bias: (groups, channels) */
#define group_norm_PARAMS(X, V) X(idx, outer) X(idx, groups) X(idx, channels) X(idx, inner) X(f32, epsilon)
PARAMS(group_norm)
/* x, y: (outer, axis), normalised by row; row r has its scale at r * scale_step, its bias at r * bias_step. */
#define layer_norm_PARAMS(X, V) X(idx, outer) X(idx, axis) X(idx, scale_step) X(idx, bias_step) X(f32, epsilon)
PARAMS(layer_norm)
#define rms_norm_PARAMS(X, V) X(idx, outer) X(idx, axis) X(idx, scale_step) X(f32, epsilon)
PARAMS(rms_norm)
/* x, y: (outer, axis, inner), over the middle one; p: 1 or 2 */
#define lp_norm_PARAMS(X, V) X(idx, outer) X(idx, axis) X(idx, inner) X(int, p)
PARAMS(lp_norm)

#define NORM_LANES 16
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
/* y = x / (sum |x|^p)^(1/p), or 0 if the norm is 0 */
KERNEL void FN(lp_norm)(const T *x, T *y, struct lp_norm p)
{
    for (idx o = 0; o < p.outer; o++)
        for (idx t = 0; t < p.inner; t += NORM_LANES) {
            const idx at = o * p.axis * p.inner + t, w = p.inner - t < NORM_LANES ? p.inner - t : NORM_LANES;
            A sum[NORM_LANES], part[NORM_LANES];
            for (idx j = 0; j < w; j++)
                sum[j] = part[j] = 0;
            for (idx k = 0; k < p.axis; k++) {
                for (idx j = 0; j < w; j++) {
                    const A v = LD(x, at + k * p.inner + j);
                    part[j] += p.p == 2 ? v * v : v < 0 ? -v : v;
                }
                if (k % 128 < 127 && k + 1 < p.axis)
                    continue;
                for (idx j = 0; j < w; j++) { /* short sums have smaller errors */
                    sum[j] += part[j];
                    part[j] = 0;
                }
            }
            for (idx j = 0; j < w; j++)
                sum[j] = p.p == 2 ? M(sqrt)(sum[j]) : sum[j];
            for (idx k = 0; k < p.axis; k++)
                for (idx j = 0; j < w; j++) {
                    const idx i = at + k * p.inner + j;
                    ST(y, i, sum[j] == 0 ? 0 : LD(x, i) / sum[j]);
                }
        }
}
REGISTER_KERNEL(lp_norm, 2, 1, 0)
#endif
#endif

#if defined T && defined U
#if RT_IS_FLOAT(T) && RT_IS_FLOAT(U)
#define NORM_SAME_f16_f16 1
#define NORM_SAME_bf16_bf16 1
#define NORM_SAME_f32_f32 1
#define NORM_SAME_f64_f64 1
#define NORM_STASH_f32 1 /* the type of the output of means */
#define NORM_STASH_bf16 1
/* The mean of x - shift over n elements, or of its square. Summed in 16 lanes on every processor, with compensation of
 * rounding errors every 1024 elements. */
HELPER A FN2(norm_mean)(const T *x, idx n, A shift, int square)
{
    A sum = 0, err = 0;
    for (idx i = 0; i < n;) {
        const idx end = n - i < 1024 ? n : i + 1024;
        A lane[NORM_LANES];
        for (int j = 0; j < NORM_LANES; j++)
            lane[j] = 0;
        for (; i + NORM_LANES <= end; i += NORM_LANES)
            for (int j = 0; j < NORM_LANES; j++) {
                const A v = LD(x, i + j) - shift;
                lane[j] += square ? v * v : v;
            }
        for (int j = 0; i < end; i++, j++) {
            const A v = LD(x, i) - shift;
            lane[j] += square ? v * v : v;
        }
        for (int w = NORM_LANES / 2; w; w /= 2)
            for (int j = 0; j < w; j++)
                lane[j] += lane[j + w];
        const A old = sum;
        sum += lane[0];
        err += (old - (sum - (sum - old))) + (lane[0] - (sum - old));
    }
    return (err - err == 0 ? sum + err : sum) / (A)n;
}

#if RT_TAKES2(NORM_SAME_, T, U)
/* y = (x - mean) / sqrt(variance + epsilon) * scale + bias, over groups of channels */
KERNEL void FN2(group_norm)(const T *x, const U *scale, const U *bias, T *y, struct group_norm p)
{
    const idx n = p.channels * p.inner;
    for (idx o = 0; o < p.outer; o++)
        for (idx g = 0; g < p.groups; g++, x += n, y += n) {
            const A mean = FN2(norm_mean)(x, n, 0, 0), variance = FN2(norm_mean)(x, n, mean, 1);
            const A inverse = 1 / M(sqrt)(variance + (A)p.epsilon);
            for (idx c = 0; c < p.channels; c++) {
                const A s = (A)LDU(scale, g * p.channels + c) * inverse, b = (A)LDU(bias, g * p.channels + c);
                idx i = c * p.inner;
                const idx end = i + p.inner;
                for (; i + NORM_LANES <= end; i += NORM_LANES) {
                    A v[NORM_LANES]; /* x and y may be the same */
                    for (int j = 0; j < NORM_LANES; j++)
                        v[j] = (LD(x, i + j) - mean) * s + b;
                    for (int j = 0; j < NORM_LANES; j++)
                        ST(y, i + j, v[j]);
                }
                for (; i < end; i++)
                    ST(y, i, (LD(x, i) - mean) * s + b);
            }
        }
}
REGISTER_KERNEL2(group_norm, 4, 3, 0)
#endif

#if RT_TAKES(NORM_STASH_, U)
/* The same over rows, with a scale (and bias, unless NULL) for every element; also stores each row's mean and inverse
 * standard deviation, unless NULL. */
KERNEL void FN2(layer_norm)(const T *x, const T *scale, const T *bias, T *y, U *means, U *inverses, struct layer_norm p)
{
    for (idx o = 0; o < p.outer; o++) {
        const A mean = FN2(norm_mean)(x, p.axis, 0, 0), variance = FN2(norm_mean)(x, p.axis, mean, 1);
        const A inverse = 1 / M(sqrt)(variance + (A)p.epsilon);
        idx i = 0;
        if (means)
            STU(means, o, (AU)mean);
        if (inverses)
            STU(inverses, o, (AU)inverse);
        for (; i + NORM_LANES <= p.axis; i += NORM_LANES) {
            A v[NORM_LANES];
            for (int j = 0; j < NORM_LANES; j++)
                v[j] = (LD(x, i + j) - mean) * inverse * LD(scale, i + j);
            if (bias)
                for (int j = 0; j < NORM_LANES; j++)
                    v[j] += LD(bias, i + j);
            for (int j = 0; j < NORM_LANES; j++)
                ST(y, i + j, v[j]);
        }
        for (; i < p.axis; i++)
            ST(y, i, (LD(x, i) - mean) * inverse * LD(scale, i) + (bias ? LD(bias, i) : 0));
        x += p.axis;
        y += p.axis;
        scale += p.scale_step;
        bias = bias ? bias + p.bias_step : bias;
    }
}
REGISTER_KERNEL2(layer_norm, 6, 3, 0)
#endif

/* y = x / sqrt(mean of squares + epsilon) * scale */
KERNEL void FN2(rms_norm)(const T *x, const U *scale, U *y, struct rms_norm p)
{
    for (idx o = 0; o < p.outer; o++) {
        const A inverse = 1 / M(sqrt)(FN2(norm_mean)(x, p.axis, 0, 1) + (A)p.epsilon);
        idx i = 0;
        for (; i + NORM_LANES <= p.axis; i += NORM_LANES) {
            A v[NORM_LANES];
            for (int j = 0; j < NORM_LANES; j++)
                v[j] = LD(x, i + j) * inverse * (A)LDU(scale, i + j);
            for (int j = 0; j < NORM_LANES; j++)
                STU(y, i + j, (AU)v[j]);
        }
        for (; i < p.axis; i++)
            STU(y, i, (AU)(LD(x, i) * inverse * (A)LDU(scale, i)));
        x += p.axis;
        y += p.axis;
        scale += p.scale_step;
    }
}
REGISTER_KERNEL2(rms_norm, 3, 2, 0)
#endif
#endif
