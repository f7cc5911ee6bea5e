/* gather.h - Gather, GatherElements, GatherND: selection by indices. Negative indices count from the end. */
#ifndef ONNXCC_GATHER_H
#define ONNXCC_GATHER_H
#include "rt.h"

/* x: (outer, axis, inner), indices: (count), y: (outer, count, inner) */
#define gather_PARAMS(X, V) X(idx, outer) X(idx, axis) X(idx, inner) X(idx, count)
/* indices, y: dim, `count` elements; element i of y is at from * i in x, and along its axis (of that size and stride)
 * at the index */
#define gather_elements_PARAMS(X, V) X(idx, count) X(int, rank) V(idx, dim, 16) V(idx, from, 16) X(idx, axis) X(idx, stride)
/* x: (batch, dim[0], ... dim[depth), inner), indices: (batch, count, depth), y: (batch, count, inner) */
#define gather_nd_PARAMS(X, V) X(idx, batch) X(idx, count) X(idx, inner) X(int, depth) V(idx, dim, 16)
PARAMS(gather)
PARAMS(gather_elements)
PARAMS(gather_nd)
#endif

#if defined T && defined U
#if (RT_IS_WHOLE(T) && RT_IS_INDEX(U)) || (RT_IS_STORAGE(T) && RT_IS_LONG_INDEX(U)) /* Scan gathers packed elements */
KERNEL int FN2(gather)(const void *from, const U *indices, void *to, struct gather p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    for (idx o = 0; o < p.outer; o++)
        for (idx i = 0; i < p.count; i++) {
            const idx k = rt_index(LDU(indices, i), p.axis);
            if (k < 0)
                return RT_BAD_INDEX;
            MOVE(y, (o * p.count + i) * p.inner, x, (o * p.axis + k) * p.inner, p.inner);
        }
    return RT_OK;
}
REGISTER_FALLIBLE2(gather, 3, 2, 0)
#endif

#if RT_IS_WHOLE(T) && RT_IS_INDEX(U)
KERNEL int FN2(gather_elements)(const void *from, const U *indices, void *to, struct gather_elements p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    const int last = p.rank - 1;
    idx i[16] = {0}, at = 0;
    for (idx e = 0; e < p.count; rt_next(i, last, p.dim, p.from, &at))
        for (idx f = 0; f < p.dim[last]; f++, e++) {
            const idx k = rt_index(LDU(indices, e), p.axis);
            if (k < 0)
                return RT_BAD_INDEX;
            ST(y, e, LD(x, at + f * p.from[last] + k * p.stride));
        }
    return RT_OK;
}
REGISTER_FALLIBLE2(gather_elements, 3, 2, 0)
#endif

#if RT_IS_WHOLE(T) && RT_IS_LONG_INDEX(U)
KERNEL int FN2(gather_nd)(const void *from, const U *indices, void *to, struct gather_nd p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    for (idx i = 0; i < p.batch * p.count; i++) {
        const idx at = rt_indices(indices + i * p.depth, p.depth, p.dim, i / p.count);
        if (at < 0)
            return RT_BAD_INDEX;
        MOVE(y, i * p.inner, x, at * p.inner, p.inner);
    }
    return RT_OK;
}
REGISTER_FALLIBLE2(gather_nd, 3, 2, 0)
#endif
#endif
