/* create.h - Range, EyeLike, OneHot, Trilu, ReverseSequence. */
#ifndef ONNXCC_CREATE_H
#define ONNXCC_CREATE_H
#include "rt.h"

/* y[i] = *start + i * *delta */
#define range_PARAMS(X, V) X(idx, count)
/* The same, up to *limit; reports the count, at most max_count, the room in y */
#define range_to_PARAMS(X, V) X(idx, max_count)
/* y: (rows, columns), 1 where column - row == k */
#define eye_PARAMS(X, V) X(idx, rows) X(idx, columns) X(i64, k)
/* indices: (outer, inner), values: off and on, y: (outer, depth, inner) */
#define one_hot_PARAMS(X, V) X(idx, outer) X(idx, depth) X(idx, inner)
/* x, y: (batch, rows, columns); upper: keeps elements with column - row >= k, else those with <= k */
#define trilu_PARAMS(X, V) X(idx, batch) X(idx, rows) X(idx, columns) X(i64, k) X(int, upper)
/* x, y: time and batch in either order (their strides in units of inner), then inner; lengths: (batch) */
#define reverse_sequence_PARAMS(X, V) X(idx, time) X(idx, batch) X(idx, inner) X(idx, time_stride) X(idx, batch_stride)
PARAMS(range)
PARAMS(range_to)
PARAMS(eye)
PARAMS(one_hot)
PARAMS(trilu)
PARAMS(reverse_sequence)
#endif

#if defined T && !defined U
#define RANGE_NOT_i8 1
#if (RT_IS_FLOAT(T) && RT_FOLDS) || (RT_IS_SIGNED(T) && !RT_TAKES(RANGE_NOT_, T))
#if RT_IS_FLOAT(T)
#define R A
#else
#define R u64 /* wraps around */
#endif
KERNEL void FN(range)(const T *start, const T *delta, T *y, struct range p)
{
    const R first = (R)LD(start, 0), step = (R)LD(delta, 0);
    for (idx i = 0; i < p.count; i++) {
        const R at = (R)i;
        ST(y, i, (A)(first + at * step));
    }
}
REGISTER_KERNEL(range, 3, 2, RT_IS_FLOAT(T) ? FOLDED : 0)
#undef R
#endif

#if RT_IS_FLOAT(T)
KERNEL int FN(range_to)(const T *start, const T *limit, const T *delta, T *y, i64 *found, struct range_to p)
{
    const f64 steps = (f64)(LD(limit, 0) - LD(start, 0)) / (f64)LD(delta, 0);
    if (LD(delta, 0) == 0)
        return RT_BAD_VALUE;
    if (!(steps <= (f64)p.max_count)) /* also if it is NaN */
        return RT_BAD_SIZE;
    idx count = steps > 0 ? (idx)steps : 0;
    count += (f64)count < steps;
    for (idx i = 0; i < count; i++)
        ST(y, i, LD(start, 0) + (A)i * LD(delta, 0));
    *found = count;
    return RT_OK;
}
REGISTER_FALLIBLE(range_to, 5, 3, SIZES(1))
#endif

#if RT_IS_FLOAT(T) || RT_IS_INT(T) || RT_IS_BOOL(T)
KERNEL void FN(eye)(T *y, struct eye p)
{
    for (idx i = 0; i < p.rows; i++)
        for (idx j = 0; j < p.columns; j++)
            ST(y, i * p.columns + j, (A)(j - i == p.k));
}
REGISTER_KERNEL(eye, 1, 0, 0)
#endif

#if RT_IS_WHOLE(T)
KERNEL void FN(one_hot)(const i64 *indices, const void *values, void *to, struct one_hot p)
{
    const T *const v = (const T *)values;
    T *const y = (T *)to;
    for (idx o = 0; o < p.outer; o++)
        for (idx d = 0; d < p.depth; d++)
            for (idx i = 0; i < p.inner; i++)
                ST(y, (o * p.depth + d) * p.inner + i, LD(v, rt_index(indices[o * p.inner + i], p.depth) == d));
}
REGISTER_KERNEL(one_hot, 3, 2, 0)

KERNEL void FN(trilu)(const void *from, void *to, struct trilu p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    T zero[2];
    memset(zero, 0, sizeof zero);
    for (idx b = 0; b < p.batch; b++)
        for (idx i = 0; i < p.rows; i++)
            for (idx j = 0; j < p.columns; j++) {
                const idx at = (b * p.rows + i) * p.columns + j;
                ST(y, at, (p.upper ? j - i >= p.k : j - i <= p.k) ? LD(x, at) : LD(zero, 0));
            }
}
REGISTER_KERNEL(trilu, 2, 1, 0)

KERNEL int FN(reverse_sequence)(const void *from, const i64 *lengths, void *to, struct reverse_sequence p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    for (idx b = 0; b < p.batch; b++) {
        if (lengths[b] < 0 || lengths[b] > p.time)
            return RT_BAD_VALUE;
        for (idx t = 0; t < p.time; t++) {
            const idx s = t < lengths[b] ? (idx)lengths[b] - 1 - t : t;
            MOVE(y, (t * p.time_stride + b * p.batch_stride) * p.inner, x,
                 (s * p.time_stride + b * p.batch_stride) * p.inner, p.inner);
        }
    }
    return RT_OK;
}
REGISTER_FALLIBLE(reverse_sequence, 3, 2, 0)
#endif
#endif
