/* rnn.h - the recurrent part of LSTM, GRU and RNN. The products of the inputs with W, including biases, are inputs,
 * computed for all steps at once; the kernels compute each step's product with R and its activations. R is packed into
 * panels of 16 hidden units by gate, [direction][panel][gate][k][16], so that a step reads it once, in order. */
#ifndef ONNXCC_RNN_H
#define ONNXCC_RNN_H
#include "rt.h"
#include "codes.h"
#include "math.h"
#include "vec.h"

/* r: (directions, gates, hidden, hidden), y: its panels, padded with zeros */
#define rnn_pack_PARAMS(X, V) X(idx, directions) X(idx, gates) X(idx, hidden)
PARAMS(rnn_pack)

/* g: (steps, batch, directions, gates, hidden), or (batch, steps, ...) when batch_first; h0, c0, y_h, y_c: (directions,
 * batch, hidden) or (batch, directions, hidden); y: (steps, directions, batch, hidden) or (batch, steps, directions,
 * hidden). NULL: absent (zero, or not an output). act: RNN_TANH ... for f, g, h of each direction; clip: 0 for none. */
#define RNN_FIELDS(X)                                                                                                  \
    X(idx, steps) X(idx, batch) X(idx, hidden) X(idx, directions) X(int, reverse) X(int, batch_first) X(f32, clip)
#define lstm_PARAMS(X, V) RNN_FIELDS(X) X(int, input_forget) V(int, act, 6) V(f32, alpha, 6) V(f32, beta, 6)
PARAMS(lstm)
#define lstm_quantized_PARAMS lstm_PARAMS
PARAMS(lstm_quantized)
#define gru_PARAMS(X, V) RNN_FIELDS(X) X(int, linear_before_reset) V(int, act, 4) V(f32, alpha, 4) V(f32, beta, 4)
PARAMS(gru)
#define rnn_PARAMS(X, V) RNN_FIELDS(X) V(int, act, 2) V(f32, alpha, 2) V(f32, beta, 2)
PARAMS(rnn)

/* The same, for R as the model stores it: panels of codes, each of which is expanded before it is multiplied, a part at a
 * time, in `room` floats of the scratch. */
#define RNN_CODED(X) CODED_PARAMS(X) X(idx, room)
#define lstm_coded_PARAMS(X, V) lstm_PARAMS(X, V) RNN_CODED(X)
PARAMS(lstm_coded)
#define gru_coded_PARAMS(X, V) gru_PARAMS(X, V) RNN_CODED(X)
PARAMS(gru_coded)
#define rnn_coded_PARAMS(X, V) rnn_PARAMS(X, V) RNN_CODED(X)
PARAMS(rnn_coded)

enum {
    RNN_TANH,
    RNN_SIGMOID,
    RNN_RELU,
    RNN_AFFINE,
    RNN_LEAKY_RELU,
    RNN_THRESHOLDED_RELU,
    RNN_SCALED_TANH,
    RNN_HARD_SIGMOID,
    RNN_ELU,
    RNN_SOFTSIGN,
    RNN_SOFTPLUS
};
/* Copies parameters that `coded` has, too; not as bytes: plain C may keep other fields of each. */
#define RNN_FIELD(type, name) p.name = coded.name;
#define RNN_ARRAY(type, name, n)                                                                                       \
    for (int i = 0; i < n; i++)                                                                                        \
        p.name[i] = coded.name[i];

#define RNN_PANEL 16
#define RNN_IS_f32 1
#define RNN_CODES_f32_u8 1
#define RNN_PACKS_i8 1

/* The index of the row of hidden units of a sequence at step t; rnn_state: of its state. */
HELPER idx rnn_row(idx steps, idx batch, idx directions, int batch_first, idx t, idx d, idx b)
{
    return batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b;
}
HELPER idx rnn_state(idx batch, idx directions, int batch_first, idx d, idx b)
{
    return batch_first ? b * directions + d : d * batch + b;
}

/* The number of gates summed at a time: enough sums to hide the latency of additions, but not more than registers. */
#if RT_VEC >= 8
#define RNN_TOGETHER 4
#elif RT_VEC == 4
#define RNN_TOGETHER 2
#else
#define RNN_TOGETHER 1
#endif

/* acc += r h for G gates of a panel; G is a literal. Panels of one vector have two sums each, of even and odd k, to
 * shorten the chain of dependent additions; those of odd k are added to the others, or to `more`, if it is not NULL. Code
 * for generic has one, since it adds in the same order on every processor. */
HELPER void rnn_gates(f32 *acc, f32 *more, const f32 *h, const f32 *r, idx n, const int G)
{
    (void)more;
    vec a[4][RNN_PANEL / RT_VEC];
    idx k = 0;
#define RNN_EACH(X)                                                                                                    \
    X(0, 0) X(0, 1) X(0, 2) X(0, 3) X(0, 4) X(0, 5) X(0, 6) X(0, 7) X(0, 8) X(0, 9) X(0, 10) X(0, 11) X(0, 12)         \
    X(0, 13) X(0, 14) X(0, 15) X(1, 0) X(1, 1) X(1, 2) X(1, 3) X(2, 0) X(2, 1) X(2, 2) X(2, 3) X(3, 0) X(3, 1)         \
    X(3, 2) X(3, 3)
#define RNN_HAS(g, v) (G > g && RNN_PANEL / RT_VEC > v)
#define RNN_AT(g, v) (RNN_PANEL / RT_VEC > v ? v : 0)
#define RNN_LOAD(g, v)                                                                                                 \
    if (RNN_HAS(g, v))                                                                                                 \
        a[g][RNN_AT(g, v)] = vec_load(acc + g * RNN_PANEL + v * RT_VEC);
#define RNN_STEP(g, v)                                                                                                 \
    if (RNN_HAS(g, v))                                                                                                 \
        a[g][RNN_AT(g, v)] = vec_fma(x, vec_load(r + (g * n + k) * RNN_PANEL + v * RT_VEC), a[g][RNN_AT(g, v)]);
#define RNN_STORE(g, v)                                                                                                \
    if (RNN_HAS(g, v))                                                                                                 \
        vec_store(acc + g * RNN_PANEL + v * RT_VEC, a[g][RNN_AT(g, v)]);
    RNN_EACH(RNN_LOAD)
#if RT_VEC == RNN_PANEL && defined RT_FUSED
    vec odd[4];
    for (int g = 0; g < 4; g++)
        odd[g] = more && g < G ? vec_load(more + g * RNN_PANEL) : vec_splat(0);
#define RNN_ODD(g)                                                                                                     \
    if (G > g)                                                                                                         \
        odd[g] = vec_fma(x1, vec_load(r + (g * n + k + 1) * RNN_PANEL), odd[g]);
#define RNN_KEEP(g)                                                                                                    \
    if (G > g)                                                                                                         \
        vec_store(more + g * RNN_PANEL, odd[g]);
#define RNN_JOIN(g)                                                                                                    \
    if (G > g)                                                                                                         \
        a[g][0] += odd[g];
    for (; k + 2 <= n; k += 2) {
        const vec x = vec_splat(h[k]), x1 = vec_splat(h[k + 1]);
        RNN_EACH(RNN_STEP)
        RNN_ODD(0)
        RNN_ODD(1)
        RNN_ODD(2)
        RNN_ODD(3)
    }
    if (more) {
        RNN_KEEP(0)
        RNN_KEEP(1)
        RNN_KEEP(2)
        RNN_KEEP(3)
    } else {
        RNN_JOIN(0)
        RNN_JOIN(1)
        RNN_JOIN(2)
        RNN_JOIN(3)
    }
#undef RNN_ODD
#undef RNN_KEEP
#undef RNN_JOIN
#endif
    for (; k < n; k++) {
        const vec x = vec_splat(h[k]);
        RNN_EACH(RNN_STEP)
    }
    RNN_EACH(RNN_STORE)
#undef RNN_EACH
#undef RNN_HAS
#undef RNN_AT
#undef RNN_LOAD
#undef RNN_STEP
#undef RNN_STORE
}

/* Recurrent weights in panels of codes. */
struct rnn_codes {
    struct coded c;
    CODED_REF expand;
    f32 *part;
    idx run; /* values of k in a part: even */
};

/* acc[gates][16] += panels of codes, from `panel` on, times h[n] */
SHARED void rnn_product_coded(f32 *acc, const f32 *h, const struct rnn_codes *r, idx panel, idx n, int gates)
{
    for (int at = 0; at < gates; at += RNN_TOGETHER) {
        const int some = gates - at < RNN_TOGETHER ? gates - at : RNN_TOGETHER;
        f32 more[RNN_TOGETHER * RNN_PANEL] = {0}, *const sum = acc + at * RNN_PANEL;
        for (idx k = 0; k < n;) {
            const idx run = n - k >= r->run ? r->run : n - k > 1 ? (n - k) / 2 * 2 : 1;
            for (int g = 0; g < some; g++)
                TILE_DO(coded_expand, r->expand, r->part + g * run * RNN_PANEL, &r->c, panel + at + g, k, run);
            if (some == 1)
                rnn_gates(sum, more, h + k, r->part, run, 1);
            else if (RNN_TOGETHER > 1 && some == 2)
                rnn_gates(sum, more, h + k, r->part, run, 2);
            else if (RNN_TOGETHER > 2 && some == 3)
                rnn_gates(sum, more, h + k, r->part, run, 3);
            else if (RNN_TOGETHER > 3)
                rnn_gates(sum, more, h + k, r->part, run, 4);
            k += run;
#if RT_VEC == RNN_PANEL && defined RT_FUSED
            if (k / 2 == n / 2 && run > 1)
                for (int j = 0; j < some * RNN_PANEL; j++)
                    sum[j] += more[j];
#endif
        }
    }
}
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_TAKES(RNN_PACKS_, T)
KERNEL void FN(rnn_pack)(const T *restrict r, T *restrict y, struct rnn_pack p)
{
    for (idx d = 0; d < p.directions; d++)
        for (idx at = 0; at < p.hidden; at += RNN_PANEL)
            for (idx g = 0; g < p.gates; g++)
                for (idx k = 0; k < p.hidden; k++)
                    for (idx j = 0; j < RNN_PANEL; j++, y++)
                        if (at + j < p.hidden)
                            ST(y, 0, LD(r, ((d * p.gates + g) * p.hidden + at + j) * p.hidden + k));
                        else
                            ST(y, 0, 0);
}
REGISTER_KERNEL(rnn_pack, 2, 1, 0)
#endif

#if RT_IS_FLOAT(T)
/* acc[gates][16] += panel r times h[n] */
HELPER void FN(rnn_product)(A *acc, const A *h, const T *r, idx n, int gates)
{
#if RT_TAKES(RNN_IS_, T)
    int g = 0;
    for (; g + RNN_TOGETHER <= gates; g += RNN_TOGETHER)
        rnn_gates(acc + g * RNN_PANEL, NULL, h, r + g * n * RNN_PANEL, n, RNN_TOGETHER);
    if (RNN_TOGETHER > 2 && gates - g == 3)
        rnn_gates(acc + g * RNN_PANEL, NULL, h, r + g * n * RNN_PANEL, n, 3);
    else if (RNN_TOGETHER > 2 && gates - g == 2)
        rnn_gates(acc + g * RNN_PANEL, NULL, h, r + g * n * RNN_PANEL, n, 2);
    else if (gates - g == 1)
        rnn_gates(acc + g * RNN_PANEL, NULL, h, r + g * n * RNN_PANEL, n, 1);
#else
    for (idx g = 0; g < gates; g++)
        for (idx k = 0; k < n; k++)
            for (int j = 0; j < RNN_PANEL; j++)
                acc[g * RNN_PANEL + j] += h[k] * LD(r, (g * n + k) * RNN_PANEL + j);
#endif
}
#endif
#endif

/* Kernels for panels of numbers; with U, which has no other meaning, for those of codes. */
#ifdef T
#ifdef U
#define RNN_INSTANCE RT_TAKES2(RNN_CODES_, T, U)
#else
#define RNN_INSTANCE RT_IS_FLOAT(T)
#endif
#if RNN_INSTANCE
#ifdef U
#define RNN_FN FN2
#define RNN_KERNEL HELPER
#define RNN_NAME(k) FN2(k##_run)
#define RNN_R const struct rnn_codes *
#define RNN_PRODUCT rnn_product_coded
#else
#define RNN_FN FN
#define RNN_KERNEL KERNEL
#define RNN_NAME(k) FN(k)
#define RNN_R const T *restrict
#define RNN_PRODUCT(acc, h, r, panel, n, gates) FN(rnn_product)(acc, h, (r) + (panel) * (n) * RNN_PANEL, n, gates)
#endif

/* One element of an activation function. */
HELPER A RNN_FN(rnn_one)(A v, int act, A alpha, A beta)
{
    switch (act) {
    case RNN_SIGMOID: return M(sigmoid)(v);
    case RNN_RELU: return v > 0 ? v : 0;
    case RNN_AFFINE: return alpha * v + beta;
    case RNN_LEAKY_RELU: return v < 0 ? alpha * v : v;
    case RNN_THRESHOLDED_RELU: return v >= alpha ? v : 0;
    case RNN_SCALED_TANH: return alpha * M(tanh)(beta * v);
    case RNN_HARD_SIGMOID: v = alpha * v + beta; return v < 0 ? 0 : v > 1 ? 1 : v;
    case RNN_ELU: return v < 0 ? alpha * M(expm1)(v) : v;
    case RNN_SOFTSIGN: return v / (1 + (v < 0 ? -v : v));
    case RNN_SOFTPLUS: return M(softplus)(v);
    default: return M(tanh)(v);
    }
}

/* An activation function on a panel, with its input clamped to [-clip, clip] unless clip is 0. It copies between
 * arrays: in place, clang moves a load to the previous iteration and then cannot vectorise the loop. */
HELPER void RNN_FN(rnn_act)(A *v, int act, f32 alpha, f32 beta, f32 clip)
{
    const A c = (A)clip;
    A x[RNN_PANEL] VEC_ALIGNED;
    for (int j = 0; j < RNN_PANEL; j++)
        x[j] = clip > 0 && v[j] > c ? c : clip > 0 && v[j] < -c ? -c : v[j];
    if (act == RNN_TANH)
        for (int j = 0; j < RNN_PANEL; j++)
            v[j] = M(tanh)(x[j]);
    else if (act == RNN_SIGMOID)
        for (int j = 0; j < RNN_PANEL; j++)
            v[j] = M(sigmoid)(x[j]);
    else
        for (int j = 0; j < RNN_PANEL; j++)
            v[j] = RNN_FN(rnn_one)(x[j], act, (A)alpha, (A)beta);
}

/* Loads the first w elements of `gates` rows, with stride `apart`, into panels. */
HELPER void RNN_FN(rnn_load)(A *v, const T *x, idx w, int gates, idx apart)
{
#if RT_TAKES(RNN_IS_, T)
    if (w == RNN_PANEL) {
        for (idx g = 0; g < gates; g++)
            for (idx j = 0; j < RNN_PANEL; j += RT_VEC)
                vec_store(v + g * RNN_PANEL + j, vec_load(x + g * apart + j));
        return;
    }
#endif
    for (idx g = 0; g < gates; g++)
        for (idx j = 0; j < RNN_PANEL; j++)
            v[g * RNN_PANEL + j] = j < w ? LD(x, g * apart + j) : 0;
}

/* Stores w hidden units of a sequence: the state h for the next step, and y's row (NULL: not an output). */
HELPER void RNN_FN(rnn_store)(const A *v, A *h, T *y, idx w)
{
    for (idx j = 0; j < w; j++)
        h[j] = v[j];
    if (y)
        for (idx j = 0; j < w; j++)
            ST(y, j, v[j]);
}

/* Initialises state s (batch, hidden) of direction d; with zeros if there is no initial state, or for empty
 * sequences. */
HELPER void RNN_FN(rnn_begin)(A *s, const T *from, const i32 *lengths, idx batch, idx hidden, idx directions,
                              int batch_first, idx d)
{
    for (idx b = 0; b < batch; b++)
        for (idx i = 0; i < hidden; i++)
            s[b * hidden + i] = from && !(lengths && lengths[b] <= 0)
                                    ? LD(from, rnn_state(batch, directions, batch_first, d, b) * hidden + i)
                                    : 0;
}

HELPER void RNN_FN(rnn_end)(const A *s, T *to, idx batch, idx hidden, idx directions, int batch_first, idx d)
{
    for (idx b = 0; to && b < batch; b++)
        for (idx i = 0; i < hidden; i++)
            ST(to, rnn_state(batch, directions, batch_first, d, b) * hidden + i, s[b * hidden + i]);
}

/* Stores zeros in y after the end of shorter sequences. */
HELPER void RNN_FN(rnn_pad)(T *y, const i32 *lengths, idx steps, idx batch, idx hidden, idx directions, int batch_first,
                            idx d)
{
    for (idx b = 0; y && lengths && b < batch; b++)
        for (idx t = lengths[b] < 0 ? 0 : lengths[b]; t < steps; t++)
            for (idx i = 0; i < hidden; i++)
                ST(y, rnn_row(steps, batch, directions, batch_first, t, d, b) * hidden + i, 0);
}

/* After the last step of direction d: zeros in y after the end of shorter sequences, the last state in y_h. */
HELPER void RNN_FN(rnn_finish)(const A *h, T *y, T *y_h, const i32 *lengths, idx steps, idx batch, idx hidden,
                               idx directions, int batch_first, idx d)
{
    RNN_FN(rnn_pad)(y, lengths, steps, batch, hidden, directions, batch_first, d);
    RNN_FN(rnn_end)(h, y_h, batch, hidden, directions, batch_first, d);
}

/* The index in time of a sequence's step s; -1: the sequence has ended. */
HELPER idx RNN_FN(rnn_time)(const i32 *lengths, idx b, idx s, idx steps, int reverse)
{
    const idx n = lengths && lengths[b] < steps ? lengths[b] : steps;
    return s >= n ? -1 : reverse ? n - 1 - s : s;
}

/* One panel of one step: w hidden units from `at` on. v: the summed gates i, o, f, c; c: the cells, which are
 * updated. */
HELPER void RNN_FN(lstm_cell)(A *v, A *c, const T *peephole, idx w, idx hidden, struct lstm p, idx d)
{
    const int *const act = p.act + d * 3;
    const f32 *const alpha = p.alpha + d * 3, *const beta = p.beta + d * 3;
    A *const i = v, *const o = v + RNN_PANEL, *const f = v + 2 * RNN_PANEL, *const g = v + 3 * RNN_PANEL;
    A peep[3 * RNN_PANEL] VEC_ALIGNED, cell[RNN_PANEL] VEC_ALIGNED;
    RNN_FN(rnn_load)(peep, peephole, peephole ? w : 0, 3, hidden);
    for (idx j = 0; j < RNN_PANEL; j++)
        cell[j] = j < w ? c[j] : 0;
    if (peephole)
        for (int j = 0; j < RNN_PANEL; j++) {
            i[j] += peep[j] * cell[j];
            f[j] += peep[2 * RNN_PANEL + j] * cell[j];
        }
    RNN_FN(rnn_act)(i, act[0], alpha[0], beta[0], p.clip);
    if (p.input_forget)
        for (int j = 0; j < RNN_PANEL; j++)
            f[j] = 1 - i[j];
    else
        RNN_FN(rnn_act)(f, act[0], alpha[0], beta[0], p.clip);
    RNN_FN(rnn_act)(g, act[1], alpha[1], beta[1], p.clip);
    for (int j = 0; j < RNN_PANEL; j++)
        cell[j] = f[j] * cell[j] + i[j] * g[j];
    for (idx j = 0; j < w; j++)
        c[j] = cell[j];
    if (peephole)
        for (int j = 0; j < RNN_PANEL; j++)
            o[j] += peep[RNN_PANEL + j] * cell[j];
    RNN_FN(rnn_act)(o, act[0], alpha[0], beta[0], p.clip);
    RNN_FN(rnn_act)(cell, act[2], alpha[2], beta[2], 0);
    for (int j = 0; j < RNN_PANEL; j++)
        v[j] = o[j] * cell[j];
}

/* Scratch: 3 * batch * hidden elements of A. */
RNN_KERNEL void RNN_NAME(lstm)(const T *restrict g, RNN_R r, const i32 *restrict lengths, const T *restrict h0,
                               const T *restrict c0, const T *restrict peephole, T *restrict y, T *restrict y_h,
                               T *restrict y_c, A *restrict state, struct lstm p)
{
    const idx n = p.hidden, all = p.batch * n, panels = (n + RNN_PANEL - 1) / RNN_PANEL;
    for (idx d = 0; d < p.directions; d++) {
        A *h = state, *next = state + all, *const c = state + 2 * all;
        RNN_FN(rnn_begin)(h, h0, lengths, p.batch, n, p.directions, p.batch_first, d);
        RNN_FN(rnn_begin)(c, c0, lengths, p.batch, n, p.directions, p.batch_first, d);
        for (idx s = 0; s < p.steps; s++) {
            for (idx at = 0; at < n; at += RNN_PANEL)
                for (idx b = 0; b < p.batch; b++) {
                    const idx t = RNN_FN(rnn_time)(lengths, b, s, p.steps, p.reverse || d == 1), of = b * n + at;
                    const idx w = n - at < RNN_PANEL ? n - at : RNN_PANEL;
                    A v[4 * RNN_PANEL] VEC_ALIGNED;
                    if (t < 0) {
                        RNN_FN(rnn_store)(h + of, next + of, NULL, w);
                        continue;
                    }
                    const idx from =
                        ((p.batch_first ? b * p.steps + t : t * p.batch + b) * p.directions + d) * 4 * n + at;
                    RNN_FN(rnn_load)(v, g + from, w, 4, n);
                    RNN_PRODUCT(v, h + b * n, r, (d * panels + at / RNN_PANEL) * 4, n, 4);
                    RNN_FN(lstm_cell)(v, c + of, peephole ? peephole + d * 3 * n + at : NULL, w, n, p, d);
                    T *const to =
                        y ? y + rnn_row(p.steps, p.batch, p.directions, p.batch_first, t, d, b) * n + at : NULL;
                    RNN_FN(rnn_store)(v, next + of, to, w);
                }
            A *const old = h;
            h = next;
            next = old;
        }
        RNN_FN(rnn_finish)(h, y, y_h, lengths, p.steps, p.batch, n, p.directions, p.batch_first, d);
        RNN_FN(rnn_end)(c, y_c, p.batch, n, p.directions, p.batch_first, d);
    }
}

#ifdef U
/* Scratch: `room` elements more, first. */
KERNEL void FN2(lstm_coded)(const T *restrict g, const void *r, const i32 *restrict lengths, const T *restrict h0,
                            const T *restrict c0, const T *restrict peephole, const void *scale, const void *zero,
                            T *restrict y, T *restrict y_h, T *restrict y_c, A *restrict state, struct lstm_coded coded)
{
    struct lstm p;
    lstm_PARAMS(RNN_FIELD, RNN_ARRAY) const struct rnn_codes codes = {
        CODED_OF(coded, r, scale, zero), coded_of(coded.kind), state, coded.room / RNN_TOGETHER / RNN_PANEL / 2 * 2};
    RNN_NAME(lstm)(g, &codes, lengths, h0, c0, peephole, y, y_h, y_c, state + coded.room, p);
}
REGISTER_KERNEL2(lstm_coded, 12, 8, SCRATCH)
#else
REGISTER_KERNEL(lstm, 10, 6, SCRATCH)
#endif

#if RT_TAKES(RNN_IS_, T) && !defined U
/* The scale of 8 bits for the rows of h, 0 included, of which those whose sequences end by step s do not count; *zero:
 * its zero point. */
HELPER f32 rnn_range(const f32 *h, const i32 *lengths, idx batch, idx n, idx s, f32 *zero)
{
    f32 low = 0, high = 0;
    for (idx b = 0; b < batch; b++)
        for (idx i = 0; i < n && !(lengths && lengths[b] <= s); i++) {
            const f32 v = h[b * n + i];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
    const f32 scale = low < high ? (high - low) / 255 : 1, z = 0 - low / scale;
    *zero = math_round_f32(z > 0 ? z < 255 ? z : 255 : 0);
    return scale;
}

/* q = h / scale, as 8-bit integers less their zero point; sum: of each row. */
HELPER void rnn_quantize(const f32 *h, i16 *q, i32 *sum, idx batch, idx n, f32 scale, f32 zero)
{
    const f32 low = 0 - zero, high = 255 - zero;
    for (idx b = 0; b < batch; b++) {
        sum[b] = 0;
        for (idx i = b * n; i < b * n + n; i++) {
            const f32 v = h[i] / scale;
            q[i] = (i16)math_round_f32(v > low ? v < high ? v : high : low);
            sum[b] += q[i];
        }
    }
}

/* The products of one row with w units of the four gates, times the scales, are added to v. */
HELPER void rnn_add_product(f32 *v, const i16 *q, i32 sum, const i8 *r, const f32 *scale, const i32 *zero, f32 h_scale,
                            idx w, idx n)
{
    for (idx g = 0; g < 4; g++, r += n * RNN_PANEL) {
        i32 acc[RNN_PANEL] = {0};
        for (idx k = 0; k < n; k++)
            for (idx j = 0; j < RNN_PANEL; j++)
                acc[j] += q[k] * r[k * RNN_PANEL + j];
        for (idx j = 0; j < w; j++)
            v[g * RNN_PANEL + j] += (f32)(acc[j] - zero[g * n + j] * sum) * (h_scale * scale[g * n + j]);
    }
}

/* The same as lstm, for r of integers, with a scale and a zero point per direction, gate and unit: before each step the
 * states are quantised to 8 bits, with one scale. Without y the last states of ended sequences count for it, too.
 * Scratch: 3 * batch * hidden elements, as many i16, and batch i32. */
KERNEL void FN(lstm_quantized)(const f32 *restrict g, const i8 *restrict r, const i32 *restrict lengths,
                               const f32 *restrict h0, const f32 *restrict c0, const f32 *restrict peephole,
                               const f32 *restrict scale, const i32 *restrict zero, f32 *restrict y, f32 *restrict y_h,
                               f32 *restrict y_c, f32 *restrict state, struct lstm_quantized coded)
{
    struct lstm p;
    lstm_PARAMS(RNN_FIELD, RNN_ARRAY) const idx n = p.hidden, all = p.batch * n,
                                                panels = (n + RNN_PANEL - 1) / RNN_PANEL;
    i32 *const sum = (i32 *)(void *)(state + 3 * all);
    i16 *const q = (i16 *)(void *)(sum + p.batch);
    for (idx d = 0; d < p.directions; d++, r += panels * 4 * n * RNN_PANEL, scale += 4 * n, zero += 4 * n) {
        f32 *h = state, *next = state + all, *const c = state + 2 * all;
        RNN_FN(rnn_begin)(h, h0, p.steps ? NULL : lengths, p.batch, n, p.directions, p.batch_first, d);
        RNN_FN(rnn_begin)(c, c0, lengths, p.batch, n, p.directions, p.batch_first, d);
        for (idx s = 0; s < p.steps; s++) {
            f32 h_zero;
            const f32 h_scale = rnn_range(h, y ? lengths : NULL, p.batch, n, s - 1, &h_zero);
            rnn_quantize(h, q, sum, p.batch, n, h_scale, h_zero);
            if (s == 0) /* the first scale is that of all initial states */
                RNN_FN(rnn_begin)(h, h0, lengths, p.batch, n, p.directions, p.batch_first, d);
            for (idx b = 0; b < p.batch; b++) {
                const idx t = RNN_FN(rnn_time)(lengths, b, s, p.steps, p.reverse || d == 1);
                for (idx at = 0; at < n; at += RNN_PANEL) {
                    const idx of = b * n + at, w = n - at < RNN_PANEL ? n - at : RNN_PANEL;
                    f32 v[4 * RNN_PANEL];
                    if (t < 0) {
                        RNN_FN(rnn_store)(h + of, next + of, NULL, w);
                        continue;
                    }
                    RNN_FN(rnn_load)(v, g + ((t * p.batch + b) * p.directions + d) * 4 * n + at, w, 4, n);
                    rnn_add_product(v, q + b * n, sum[b], r + at * 4 * n, scale + at, zero + at, h_scale, w, n);
                    RNN_FN(lstm_cell)(v, c + of, peephole ? peephole + d * 3 * n + at : NULL, w, n, p, d);
                    RNN_FN(rnn_store)(v, next + of,
                                      y ? y + rnn_row(p.steps, p.batch, p.directions, 0, t, d, b) * n + at : NULL, w);
                }
            }
            f32 *const old = h;
            h = next;
            next = old;
        }
        RNN_FN(rnn_finish)(h, y, y_h, lengths, p.steps, p.batch, n, p.directions, p.batch_first, d);
        RNN_FN(rnn_end)(c, y_c, p.batch, n, p.directions, p.batch_first, d);
    }
}
REGISTER_KERNEL(lstm_quantized, 12, 8, SCRATCH)
#endif

/* One panel of one step: w hidden units from `at` on of a sequence with state h and products g. Without
 * linear_before_reset all panels first leave z in update and r * h in reset (pass 0), then make next (pass 1). */
HELPER void RNN_FN(gru_cell)(const T *g, RNN_R r, const T *bias, const A *h, A *next, A *update, A *reset, T *y, idx at,
                             idx w, struct gru p, idx d, int pass)
{
    const int *const act = p.act + d * 2;
    const f32 *const alpha = p.alpha + d * 2, *const beta = p.beta + d * 2;
    const idx n = p.hidden;
    A v[3 * RNN_PANEL] VEC_ALIGNED, x[RNN_PANEL] VEC_ALIGNED, old[RNN_PANEL] VEC_ALIGNED;
    A *const z = v, *const rr = v + RNN_PANEL, *const hh = v + 2 * RNN_PANEL;
    const idx panel = (d * ((n + RNN_PANEL - 1) / RNN_PANEL) + at / RNN_PANEL) * 3;
    RNN_FN(rnn_load)(v, g + at, w, 3, n);
    for (idx j = 0; j < RNN_PANEL; j++) {
        x[j] = hh[j];
        old[j] = j < w ? h[at + j] : 0;
    }
    if (p.linear_before_reset) {
        RNN_FN(rnn_load)(hh, bias ? bias + at : NULL, bias ? w : 0, 1, 0);
        RNN_PRODUCT(v, h, r, panel, n, 3);
    } else if (pass == 0) {
        RNN_PRODUCT(v, h, r, panel, n, 2);
    } else {
        RNN_PRODUCT(hh, reset, r, panel + 2, n, 1);
        for (idx j = 0; j < RNN_PANEL; j++)
            z[j] = j < w ? update[at + j] : 0;
    }
    if (p.linear_before_reset || pass == 0) {
        RNN_FN(rnn_act)(z, act[0], alpha[0], beta[0], p.clip);
        RNN_FN(rnn_act)(rr, act[0], alpha[0], beta[0], p.clip);
    }
    if (pass == 0) {
        for (idx j = 0; j < w; j++) {
            update[at + j] = z[j];
            reset[at + j] = rr[j] * old[j];
        }
        return;
    }
    if (p.linear_before_reset)
        for (int j = 0; j < RNN_PANEL; j++)
            hh[j] = x[j] + rr[j] * hh[j];
    RNN_FN(rnn_act)(hh, act[1], alpha[1], beta[1], p.clip);
    for (int j = 0; j < RNN_PANEL; j++)
        hh[j] = (1 - z[j]) * hh[j] + z[j] * old[j];
    RNN_FN(rnn_store)(hh, next + at, y ? y + at : NULL, w);
}

/* Gates z, r, h. bias: the recurrent bias of h, (directions, hidden), if linear_before_reset. Scratch: 4 * batch *
 * hidden: the state, the next one, z and r * state. */
RNN_KERNEL void RNN_NAME(gru)(const T *restrict g, RNN_R r, const i32 *restrict lengths, const T *restrict h0,
                              const T *restrict bias, T *restrict y, T *restrict y_h, A *restrict state, struct gru p)
{
    const idx n = p.hidden, all = p.batch * n;
    for (idx d = 0; d < p.directions; d++) {
        A *h = state, *next = state + all, *const update = state + 2 * all, *const reset = state + 3 * all;
        RNN_FN(rnn_begin)(h, h0, lengths, p.batch, n, p.directions, p.batch_first, d);
        for (idx s = 0; s < p.steps; s++) {
            for (int pass = p.linear_before_reset ? 1 : 0; pass < 2; pass++)
                for (idx at = 0; at < n; at += RNN_PANEL)
                    for (idx b = 0; b < p.batch; b++) {
                        const idx t = RNN_FN(rnn_time)(lengths, b, s, p.steps, p.reverse || d == 1);
                        const idx w = n - at < RNN_PANEL ? n - at : RNN_PANEL;
                        if (t < 0) {
                            RNN_FN(rnn_store)(h + b * n + at, next + b * n + at, NULL, w);
                            continue;
                        }
                        const idx row = (p.batch_first ? b * p.steps + t : t * p.batch + b) * p.directions + d;
                        T *const to =
                            y ? y + rnn_row(p.steps, p.batch, p.directions, p.batch_first, t, d, b) * n : NULL;
                        RNN_FN(gru_cell)(g + row * 3 * n, r, bias ? bias + d * n : NULL, h + b * n, next + b * n,
                                         update + b * n, reset + b * n, to, at, w, p, d, pass);
                    }
            A *const old = h;
            h = next;
            next = old;
        }
        RNN_FN(rnn_finish)(h, y, y_h, lengths, p.steps, p.batch, n, p.directions, p.batch_first, d);
    }
}

#ifdef U
/* Scratch: `room` elements more, first. */
KERNEL void FN2(gru_coded)(const T *restrict g, const void *r, const i32 *restrict lengths, const T *restrict h0,
                           const T *restrict bias, const void *scale, const void *zero, T *restrict y, T *restrict y_h,
                           A *restrict state, struct gru_coded coded)
{
    struct gru p;
    gru_PARAMS(RNN_FIELD, RNN_ARRAY) const struct rnn_codes codes = {
        CODED_OF(coded, r, scale, zero), coded_of(coded.kind), state, coded.room / RNN_TOGETHER / RNN_PANEL / 2 * 2};
    RNN_NAME(gru)(g, &codes, lengths, h0, bias, y, y_h, state + coded.room, p);
}
REGISTER_KERNEL2(gru_coded, 10, 7, SCRATCH)
#else
REGISTER_KERNEL(gru, 8, 5, SCRATCH)
#endif

/* Scratch: 2 * batch * hidden. */
RNN_KERNEL void RNN_NAME(rnn)(const T *restrict g, RNN_R r, const i32 *restrict lengths, const T *restrict h0,
                              T *restrict y, T *restrict y_h, A *restrict state, struct rnn p)
{
    const idx n = p.hidden, all = p.batch * n, panels = (n + RNN_PANEL - 1) / RNN_PANEL;
    for (idx d = 0; d < p.directions; d++) {
        A *h = state, *next = state + all;
        RNN_FN(rnn_begin)(h, h0, lengths, p.batch, n, p.directions, p.batch_first, d);
        for (idx s = 0; s < p.steps; s++) {
            for (idx at = 0; at < n; at += RNN_PANEL)
                for (idx b = 0; b < p.batch; b++) {
                    const idx t = RNN_FN(rnn_time)(lengths, b, s, p.steps, p.reverse || d == 1), of = b * n + at;
                    const idx w = n - at < RNN_PANEL ? n - at : RNN_PANEL;
                    A v[RNN_PANEL] VEC_ALIGNED;
                    if (t < 0) {
                        RNN_FN(rnn_store)(h + of, next + of, NULL, w);
                        continue;
                    }
                    RNN_FN(rnn_load)(
                        v, g + ((p.batch_first ? b * p.steps + t : t * p.batch + b) * p.directions + d) * n + at, w, 1,
                        0);
                    RNN_PRODUCT(v, h + b * n, r, d * panels + at / RNN_PANEL, n, 1);
                    RNN_FN(rnn_act)(v, p.act[d], p.alpha[d], p.beta[d], p.clip);
                    T *const to =
                        y ? y + rnn_row(p.steps, p.batch, p.directions, p.batch_first, t, d, b) * n + at : NULL;
                    RNN_FN(rnn_store)(v, next + of, to, w);
                }
            A *const old = h;
            h = next;
            next = old;
        }
        RNN_FN(rnn_finish)(h, y, y_h, lengths, p.steps, p.batch, n, p.directions, p.batch_first, d);
    }
}

#ifdef U
/* Scratch: `room` elements more, first. */
KERNEL void FN2(rnn_coded)(const T *restrict g, const void *r, const i32 *restrict lengths, const T *restrict h0,
                           const void *scale, const void *zero, T *restrict y, T *restrict y_h, A *restrict state,
                           struct rnn_coded coded)
{
    struct rnn p;
    rnn_PARAMS(RNN_FIELD, RNN_ARRAY) const struct rnn_codes codes = {
        CODED_OF(coded, r, scale, zero), coded_of(coded.kind), state, coded.room / RNN_TOGETHER / RNN_PANEL / 2 * 2};
    RNN_NAME(rnn)(g, &codes, lengths, h0, y, y_h, state + coded.room, p);
}
REGISTER_KERNEL2(rnn_coded, 9, 6, SCRATCH)
#else
REGISTER_KERNEL(rnn, 7, 4, SCRATCH)
#endif

#undef RNN_FN
#undef RNN_KERNEL
#undef RNN_NAME
#undef RNN_R
#undef RNN_PRODUCT
#endif
#undef RNN_INSTANCE
#endif
