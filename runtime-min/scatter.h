/* scatter.h - ScatterElements, ScatterND, TensorScatter: a copy of x with some elements replaced or combined. */
#ifndef ONNXCC_SCATTER_H
#define ONNXCC_SCATTER_H
#include "rt.h"

/* x, y: (size); indices, updates: dim, `count` elements; element i of updates goes to `to * i` in y, and along its axis
 * (of that size and stride) to the index. reduce: 1 add, 2 mul, 3 min, 4 max. x and y may be the same. */
#define scatter_elements_PARAMS(X, V)                                                                                  \
    X(idx, size) X(idx, count) X(int, rank) V(idx, dim, 16) V(idx, to, 16) X(idx, axis) X(idx, stride)
#define scatter_elements_reduce_PARAMS(X, V) scatter_elements_PARAMS(X, V) X(int, reduce)
/* x, y: (dim[0], ... dim[depth), inner), indices: (count, depth), updates: (count, inner) */
#define scatter_nd_PARAMS(X, V) X(idx, size) X(idx, count) X(idx, inner) X(int, depth) V(idx, dim, 16)
#define scatter_nd_reduce_PARAMS(X, V) X(idx, size) X(idx, count) X(idx, inner) X(int, reduce) X(int, depth) V(idx, dim, 16)
/* x, y: (batch, outer, upper, inner), updates: (batch, outer, count, inner), places: (batch), NULL: all 0 */
#define tensor_scatter_PARAMS(X, V) X(idx, batch) X(idx, outer) X(idx, upper) X(idx, inner) X(idx, count) X(int, circular)
PARAMS(scatter_elements)
PARAMS(scatter_elements_reduce)
PARAMS(scatter_nd)
PARAMS(scatter_nd_reduce)
PARAMS(tensor_scatter)
#endif

#if defined T && !defined U
#define TENSOR_SCATTER_u4 1
#define TENSOR_SCATTER_u2 0
#if RT_IS_WHOLE(T) || (RT_IS_STORAGE(T) && RT_TAKES(TENSOR_SCATTER_, T))
KERNEL int FN(tensor_scatter)(const void *from, const void *updates, const i64 *places, void *to,
                              struct tensor_scatter p)
{
    const T *const x = (const T *)from, *const u = (const T *)updates;
    T *const y = (T *)to;
    if (x != y)
        MOVE(y, 0, x, 0, p.batch * p.outer * p.upper * p.inner);
    for (idx b = 0; b < p.batch; b++) {
        i64 first = places ? places[b] : 0;
        if (p.circular && p.upper)
            first = (first % p.upper + p.upper) % p.upper;
        if (first < 0 || (!p.circular && first > p.upper - p.count) || p.count > p.upper)
            return RT_BAD_INDEX;
        for (idx o = 0; o < p.outer; o++)
            for (idx i = 0; i < p.count; i++) {
                const idx at = (idx)first + i < p.upper ? (idx)first + i : (idx)first + i - p.upper;
                MOVE(y, ((b * p.outer + o) * p.upper + at) * p.inner, u, ((b * p.outer + o) * p.count + i) * p.inner,
                     p.inner);
            }
    }
    return RT_OK;
}
REGISTER_FALLIBLE(tensor_scatter, 4, 3, 0)
#endif
#endif

#if defined T && defined U
#if RT_IS_INDEX(U)
#if RT_IS_WHOLE(T)
KERNEL int FN2(scatter_elements)(const void *from, const U *indices, const void *updates, void *to,
                                 struct scatter_elements p)
{
    const T *const x = (const T *)from, *const u = (const T *)updates;
    T *const y = (T *)to;
    const int last = p.rank - 1;
    idx i[16] = {0}, at = 0;
    if (x != y)
        MOVE(y, 0, x, 0, p.size);
    for (idx e = 0; e < p.count; rt_next(i, last, p.dim, p.to, &at))
        for (idx f = 0; f < p.dim[last]; f++, e++) {
            const idx k = rt_index(LDU(indices, e), p.axis);
            if (k < 0)
                return RT_BAD_INDEX;
            ST(y, at + f * p.to[last] + k * p.stride, LD(u, e));
        }
    return RT_OK;
}
REGISTER_FALLIBLE2(scatter_elements, 4, 3, 0)

#if RT_IS_LONG_INDEX(U)
KERNEL int FN2(scatter_nd)(const void *from, const U *indices, const void *updates, void *to, struct scatter_nd p)
{
    const T *const x = (const T *)from, *const u = (const T *)updates;
    T *const y = (T *)to;
    if (x != y)
        MOVE(y, 0, x, 0, p.size);
    for (idx i = 0; i < p.count; i++) {
        const idx at = rt_indices(indices + i * p.depth, p.depth, p.dim, 0);
        if (at < 0)
            return RT_BAD_INDEX;
        MOVE(y, at * p.inner, u, i * p.inner, p.inner);
    }
    return RT_OK;
}
REGISTER_FALLIBLE2(scatter_nd, 4, 3, 0)
#endif
#endif

#if RT_IS_FLOAT(T) || RT_IS_INT(T) || RT_IS_BOOL(T)
#if RT_IS_FLOAT(T)
#define R A
#else
#define R u64 /* wraps around */
#endif
HELPER A FN2(scatter_value)(A old, A v, int reduce)
{
    const R a = (R)old, b = (R)v;
    switch (reduce) {
    case 1: return (A)(a + b);
    case 2: return (A)(a * b);
#if RT_IS_FLOAT(T)
    case 3: return v < old || v != v ? v : old; /* a NaN is kept */
    default: return v > old || v != v ? v : old;
#else
    case 3: return v < old ? v : old;
    default: return v > old ? v : old;
#endif
    }
}
#undef R

KERNEL int FN2(scatter_elements_reduce)(const T *x, const U *indices, const T *u, T *y,
                                        struct scatter_elements_reduce p)
{
    const int last = p.rank - 1;
    idx i[16] = {0}, at = 0;
    if (x != y)
        memcpy(y, x, (size_t)p.size * sizeof *y);
    for (idx e = 0; e < p.count; rt_next(i, last, p.dim, p.to, &at))
        for (idx f = 0; f < p.dim[last]; f++, e++) {
            const idx k = rt_index(LDU(indices, e), p.axis), j = at + f * p.to[last] + k * p.stride;
            if (k < 0)
                return RT_BAD_INDEX;
            ST(y, j, FN2(scatter_value)(LD(y, j), LD(u, e), p.reduce));
        }
    return RT_OK;
}
REGISTER_FALLIBLE2(scatter_elements_reduce, 4, 3, 0)

#if RT_IS_LONG_INDEX(U)
KERNEL int FN2(scatter_nd_reduce)(const T *x, const U *indices, const T *u, T *y, struct scatter_nd_reduce p)
{
    if (x != y)
        memcpy(y, x, (size_t)p.size * sizeof *y);
    for (idx i = 0; i < p.count; i++) {
        const idx at = rt_indices(indices + i * p.depth, p.depth, p.dim, 0);
        if (at < 0)
            return RT_BAD_INDEX;
        for (idx j = 0; j < p.inner; j++)
            ST(y, at * p.inner + j, FN2(scatter_value)(LD(y, at * p.inner + j), LD(u, i * p.inner + j), p.reduce));
    }
    return RT_OK;
}
REGISTER_FALLIBLE2(scatter_nd_reduce, 4, 3, 0)
#endif
#endif
#endif
#endif
