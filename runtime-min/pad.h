/* pad.h - Pad: borders around a tensor: a constant, its edge, its reflection, or periodic. */
#ifndef ONNXCC_PAD_H
#define ONNXCC_PAD_H
#include "rt.h"

/* y: out, of `rank` axes; the element at i is x's at i - before, whose axes have `dim` elements at stride `from`, from
 * x[from_at] on. Outside: mode 0: *value (NULL: 0), 1: the edge, 2: reflected at it, 3: periodic. */
#define pad_PARAMS(X, V)                                                                                               \
    X(int, rank) V(idx, out, 16) V(idx, dim, 16) V(idx, before, 16) V(idx, from, 16) X(idx, from_at) X(int, mode)
PARAMS(pad)

/* The index on an axis of n that index i is mapped to; -1: none. */
HELPER idx pad_place(idx i, idx n, int mode)
{
    if (i >= 0 && i < n)
        return i;
    if (mode == 0 || n == 0)
        return -1;
    if (mode == 1)
        return i < 0 ? 0 : n - 1;
    if (mode == 3)
        return rt_mod(i, n);
    i = rt_mod(i, n > 1 ? 2 * (n - 1) : 1);
    return i < n ? i : 2 * (n - 1) - i;
}
#endif

#if defined T && !defined U
#if RT_IS_STORAGE(T)
/* Computes a row of the output, along its last axis a, from y[j] on; at < 0: all of it is outside. */
HELPER void FN(pad_row)(const T *x, idx at, const T *value, T *y, idx j, int a, struct pad p)
{
    const idx out = p.out[a], before = p.before[a], step = p.from[a];
    const idx first = at < 0 ? out : rt_max(rt_min(before, out), 0);
    const idx end = at < 0 ? out : rt_max(rt_min(before + p.dim[a], out), first);
    for (idx k = 0; k < out; k++) {
        if (k == first) {
            if (step == 1)
                MOVE(y, j + k, x, at + k - before, end - first);
            else
                for (idx m = first; m < end; m++)
                    ST(y, j + m, LD(x, at + (m - before) * step));
            k = end;
            if (k >= out)
                break;
        }
        const idx place = at < 0 ? -1 : pad_place(k - before, p.dim[a], p.mode);
        ST(y, j + k, place < 0 ? LD(value, 0) : LD(x, at + place * step));
    }
}

KERNEL void FN(pad)(const void *from, const void *value, void *to, struct pad p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    const int last = p.rank - 1;
    T zero[2];
    idx i[15] = {0}, rows = 1;
    memset(zero, 0, sizeof zero);
    for (int k = 0; k < last; k++)
        rows *= p.out[k];
    for (idx row = 0; row < rows; row++) {
        idx at = p.from_at;
        for (int k = 0; k < last; k++) {
            const idx place = pad_place(i[k] - p.before[k], p.dim[k], p.mode);
            at = at < 0 || place < 0 ? -1 : at + place * p.from[k];
        }
        FN(pad_row)(x, at, value ? (const T *)value : zero, y, row * p.out[last], last, p);
        for (int k = last - 1; k >= 0 && ++i[k] == p.out[k]; k--)
            i[k] = 0;
    }
}
REGISTER_KERNEL(pad, 3, 2, 0)
#endif
#endif
