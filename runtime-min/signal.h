/* signal.h - the Fourier transform of DFT and STFT, for any length, and MelWeightMatrix. */
#ifndef ONNXCC_SIGNAL_H
#define ONNXCC_SIGNAL_H
#include "rt.h"
#include "math.h"

/* y: (count, 2): e^(-2 pi i k / count) */
#define twiddle_PARAMS(X, V) X(idx, count)
/* Element k of signal (o, i) is at o * from[0] + i * from[1] + k * from[2] in x, in units of x_part numbers (1 real, 2
 * complex); of its transform at o * to[0] + i * to[1] + k * to[2] in y. A signal has `count` elements, then zeros up to
 * `length`; `bins` of the result are stored. window: (length), or NULL. mirror: x is the first half of a spectrum, the
 * rest its mirror image, so that the result is real. w: twiddle of length. scratch: 4 * length. */
#define fourier_PARAMS(X, V)                                                                                           \
    X(idx, outer)                                                                                                      \
    X(idx, inner) X(idx, count) X(idx, length) X(idx, bins) V(idx, from, 3) V(idx, to, 3) X(int, x_part)               \
        X(int, y_part) X(int, inverse) X(int, mirror)
/* y: (bins, mels); length: of the transform */
#define mel_weights_PARAMS(X, V) X(idx, bins) X(idx, mels) X(idx, length)
PARAMS(twiddle)
PARAMS(fourier)
PARAMS(mel_weights)
#endif

#if defined T && !defined U
#if RT_IS_REAL(T)
/* Computed within a quarter turn, so that its ends are exact. */
KERNEL void FN(twiddle)(T *y, struct twiddle p)
{
    for (idx k = 0; k < p.count; k++) {
        const idx quarter = 4 * k / p.count, rest = 4 * k % p.count;
        const f64 angle = 0x1.921fb54442d18p0 * (f64)rest / (f64)p.count, c = math_cos_f64(angle),
                  s = math_sin_f64(angle);
        const f64 re = quarter & 1 ? -s : c, im = quarter & 1 ? c : s;
        ST(y, 2 * k, (A)(quarter & 2 ? -re : re));
        ST(y, 2 * k + 1, (A)(quarter & 2 ? im : -im));
    }
}
REGISTER_KERNEL(twiddle, 1, 0, 0)
#endif

#if RT_IS_FLOAT(T)
/* The transform of four values with stride `step`, stored with stride `gap` and rotated by w[turn], w[2 * turn], w[3 *
 * turn]. */
HELPER void FN(fourier_four)(const A *x, idx step, A *y, idx gap, const A *w, idx turn)
{
    const A ar = x[0] + x[2 * step * 2], ai = x[1] + x[2 * step * 2 + 1], br = x[0] - x[2 * step * 2],
            bi = x[1] - x[2 * step * 2 + 1];
    const A cr = x[step * 2] + x[3 * step * 2], ci = x[step * 2 + 1] + x[3 * step * 2 + 1];
    const A dr = x[step * 2] - x[3 * step * 2], di = x[step * 2 + 1] - x[3 * step * 2 + 1];
    const A re[4] = {ar + cr, br + di, ar - cr, br - di}, im[4] = {ai + ci, bi - dr, ai - ci, bi + dr};
    for (int b = 0; b < 4; b++) {
        const A *const t = w + b * turn * 2;
        y[b * gap * 2] = re[b] * t[0] - im[b] * t[1];
        y[b * gap * 2 + 1] = re[b] * t[1] + im[b] * t[0];
    }
}

/* The same for any number r of values; w has n entries with stride `unit`. */
HELPER void FN(fourier_any)(const A *x, idx step, A *y, idx gap, const A *w, idx turn, idx r, idx n, idx unit)
{
    for (idx b = 0; b < r; b++) {
        A re = 0, im = 0;
        for (idx a = 0, k = 0; a < r; a++, k = k + b < r ? k + b : k + b - r) {
            const A *const t = w + k * (n / r) * unit * 2, *const v = x + a * step * 2;
            re += v[0] * t[0] - v[1] * t[1];
            im += v[0] * t[1] + v[1] * t[0];
        }
        const A *const t = w + b * turn * unit * 2;
        y[b * gap * 2] = re * t[0] - im * t[1];
        y[b * gap * 2 + 1] = re * t[1] + im * t[0];
    }
}

/* The transform of n complex numbers in x, by Stockham's algorithm, for each factor of n; returns x or y, which has the
 * result. */
HELPER A *FN(fourier_run)(A *x, A *y, idx n, const A *w, idx unit)
{
    for (idx m = n, s = 1, r; m > 1; m /= r, s *= r) {
        for (r = m % 4 == 0 ? 4 : m % 2 == 0 ? 2 : 3; m % r; r = r * r > m ? m : r + 2)
            ;
        const idx q = m / r;
        for (idx i = 0; i < q; i++)
            for (idx j = 0; j < s; j++)
                if (r == 4)
                    FN(fourier_four)(x + (i * s + j) * 2, q * s, y + (i * r * s + j) * 2, s, w, i * s * unit);
                else
                    FN(fourier_any)(x + (i * s + j) * 2, q * s, y + (i * r * s + j) * 2, s, w, i * s, r, n, unit);
        A *const swap = x;
        x = y;
        y = swap;
    }
    return x;
}

/* Element k of the signal that begins at x[base], or of its mirror image; 0 beyond its end. */
HELPER void FN(fourier_load)(const T *x, idx base, const T *window, idx k, A *re, A *im, const struct fourier *p)
{
    const int back = p->mirror && k > p->length / 2, edge = p->mirror && (k == 0 || 2 * k == p->length);
    k = back ? p->length - k : k;
    const idx at = (base + k * p->from[2]) * p->x_part;
    const A v = k < p->count ? LD(x, at) : 0, u = k < p->count && p->x_part == 2 && !edge ? LD(x, at + 1) : 0;
    const A by = window ? LD(window, k) : 1;
    *re = window ? v * by : v;
    *im = (p->inverse != back ? -u : u) * by; /* the inverse is the conjugate of the conjugate's transform */
}

HELPER void FN(fourier_store)(T *y, idx base, idx k, A re, A im, const struct fourier *p)
{
    const idx at = (base + k * p->to[2]) * p->y_part;
    if (k >= p->bins)
        return;
    ST(y, at, p->inverse ? re / (A)p->length : re);
    if (p->y_part == 2)
        ST(y, at + 1, p->inverse ? -im / (A)p->length : im);
}

/* Transforms a real signal of even length as half as many complex numbers, and then separates the two spectra. */
HELPER void FN(fourier_real)(const T *x, idx from, const T *window, const A *w, T *y, idx to, A *a,
                             const struct fourier *p)
{
    const idx n = p->length / 2;
    A dummy;
    for (idx k = 0; k < n; k++) {
        FN(fourier_load)(x, from, window, 2 * k, &a[2 * k], &dummy, p);
        FN(fourier_load)(x, from, window, 2 * k + 1, &a[2 * k + 1], &dummy, p);
    }
    const A *const z = FN(fourier_run)(a, a + 2 * n, n, w, 2);
    for (idx k = 0; k <= n; k++) {
        const idx i = k == n ? 0 : k, j = i == 0 ? 0 : n - i;
        const A er = (z[2 * i] + z[2 * j]) / 2, ei = (z[2 * i + 1] - z[2 * j + 1]) / 2; /* of the even elements */
        const A dr = (z[2 * i + 1] + z[2 * j + 1]) / 2, di = (z[2 * j] - z[2 * i]) / 2; /* of the odd ones */
        const A c = k == n ? -1 : w[2 * k], s = k == n ? 0 : w[2 * k + 1];
        const A re = er + dr * c - di * s, im = ei + dr * s + di * c;
        FN(fourier_store)(y, to, k, re, im, p);
        if (k > 0 && k < n)
            FN(fourier_store)(y, to, p->length - k, re, -im, p);
    }
}

/* The inverse: from half a spectrum to a real signal of even length. */
HELPER void FN(fourier_mirror)(const T *x, idx from, const A *w, T *y, idx to, A *a, const struct fourier *p)
{
    const idx n = p->length / 2;
    for (idx k = 0; k < n; k++) {
        A ar, ai, br, bi;
        FN(fourier_load)(x, from, NULL, k, &ar, &ai, p);
        FN(fourier_load)(x, from, NULL, k + n, &br, &bi, p);
        const A dr = ar - br, di = ai - bi, c = w[2 * k], s = w[2 * k + 1];
        const A odd_r = dr * c - di * s, odd_i = dr * s + di * c;
        a[2 * k] = ar + br + odd_i; /* conjugates: even - i odd */
        a[2 * k + 1] = ai + bi - odd_r;
    }
    const A *const z = FN(fourier_run)(a, a + 2 * n, n, w, 2);
    for (idx k = 0; k < n; k++) {
        FN(fourier_store)(y, to, 2 * k, z[2 * k], 0, p);
        FN(fourier_store)(y, to, 2 * k + 1, -z[2 * k + 1], 0, p);
    }
}

KERNEL void FN(fourier)(const T *x, const T *window, const A *w, T *y, void *scratch, struct fourier p)
{
    A *const a = (A *)scratch;
    for (idx o = 0; o < p.outer; o++)
        for (idx i = 0; i < p.inner; i++) {
            const idx from = o * p.from[0] + i * p.from[1], to = o * p.to[0] + i * p.to[1];
            if (p.length % 2 == 0 && p.x_part == 1 && !p.inverse) {
                FN(fourier_real)(x, from, window, w, y, to, a, &p);
                continue;
            }
            if (p.length % 2 == 0 && p.mirror) {
                FN(fourier_mirror)(x, from, w, y, to, a, &p);
                continue;
            }
            for (idx k = 0; k < p.length; k++)
                FN(fourier_load)(x, from, window, k, &a[2 * k], &a[2 * k + 1], &p);
            const A *const z = FN(fourier_run)(a, a + 2 * p.length, p.length, w, 1);
            for (idx k = 0; k < p.length; k++)
                FN(fourier_store)(y, to, k, z[2 * k], z[2 * k + 1], &p);
        }
}
REGISTER_KERNEL(fourier, 5, 3, SCRATCH)
#endif

#if RT_IS_REAL(T)
/* The bin of the i-th edge; edges are equidistant on the mel scale. */
HELPER f64 FN(mel_edge)(f64 low, f64 step, idx i, idx length, f64 rate)
{
    const f64 ln10 = 0x1.26bb1bbb55516p1;
    return math_floor_f64((f64)(length + 1) * (700 * math_expm1_f64((low + (f64)i * step) / 2595 * ln10)) / rate);
}

/* Column i: a triangle over the bins from edge i to edge i + 2, 1 at edge i + 1. */
KERNEL int FN(mel_weights)(const f64 *rate, const f64 *lower, const f64 *upper, T *y, struct mel_weights p)
{
    const f64 ln10 = 0x1.26bb1bbb55516p1, low = 2595 * math_log1p_f64(*lower / 700) / ln10;
    const f64 step = (2595 * math_log1p_f64(*upper / 700) / ln10 - low) / (f64)(p.mels + 2);
    const f64 last = FN(mel_edge)(low, step, p.mels + 1, p.length, *rate);
    if (!(*rate > 0 && *lower >= 0 && *lower <= *upper && last < (f64)p.bins))
        return RT_BAD_VALUE; /* some edge is outside of the spectrum */
    for (idx i = 0; i < p.mels; i++) {
        const f64 from = FN(mel_edge)(low, step, i, p.length, *rate),
                  top = FN(mel_edge)(low, step, i + 1, p.length, *rate);
        const f64 to = FN(mel_edge)(low, step, i + 2, p.length, *rate);
        for (idx j = 0; j < p.bins; j++) {
            const f64 at = (f64)j, up = top > from ? (at - from) / (top - from) : 1,
                      down = to > top ? (to - at) / (to - top) : 0;
            ST(y, j * p.mels + i, (A)(at < from || at > to ? 0 : at < top || to <= top ? (at > top ? 0 : up) : down));
        }
    }
    return RT_OK;
}
REGISTER_FALLIBLE(mel_weights, 4, 3, 0)
#endif
#endif
