/* topk.h - TopK: the k largest or smallest elements along an axis, sorted; the first of equal ones. */
#ifndef ONNXCC_TOPK_H
#define ONNXCC_TOPK_H
#include "rt.h"

/* x: (outer, axis, inner), values and indices: (outer, k, inner) */
#define topk_PARAMS(X, V) X(idx, outer) X(idx, axis) X(idx, inner) X(idx, k) X(int, largest)
PARAMS(topk)
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_IS_INT(T)
/* Does (a, i) come before (b, j)? A NaN is larger than every number. */
HELPER int FN(topk_before)(A a, i64 i, A b, i64 j, int largest)
{
#if RT_IS_FLOAT(T)
    if (a != a || b != b)
        return a != a && b != b ? i < j : largest ? a != a : b != b;
#endif
    return a == b ? i < j : largest ? a > b : a < b;
}

/* Sifts (v, i) down from the free node `at` of a heap of n elements, whose root is the last in order. */
HELPER void FN(topk_sink)(T *y, i64 *place, idx base, idx stride, idx n, idx at, A v, i64 i, int largest)
{
    for (idx c; (c = 2 * at + 1) < n; at = c) {
        if (c + 1 < n && FN(topk_before)(LD(y, base + c * stride), place[base + c * stride],
                                         LD(y, base + (c + 1) * stride), place[base + (c + 1) * stride], largest))
            c++;
        if (FN(topk_before)(LD(y, base + c * stride), place[base + c * stride], v, i, largest))
            break;
        ST(y, base + at * stride, LD(y, base + c * stride));
        place[base + at * stride] = place[base + c * stride];
    }
    ST(y, base + at * stride, v);
    place[base + at * stride] = i;
}

/* The output is first a heap of the best elements so far, which is then sorted from the end on. */
KERNEL void FN(topk)(const T *x, T *y, i64 *place, struct topk p)
{
    const idx s = p.inner;
    for (idx o = 0; o < p.outer && p.k > 0; o++)
        for (idx j = 0; j < p.inner; j++) {
            const idx from = o * p.axis * s + j, base = o * p.k * s + j;
            for (idx i = 0; i < p.k; i++) {
                ST(y, base + i * s, LD(x, from + i * s));
                place[base + i * s] = i;
            }
            for (idx i = p.k / 2; i-- > 0;)
                FN(topk_sink)(y, place, base, s, p.k, i, LD(y, base + i * s), place[base + i * s], p.largest);
            for (idx i = p.k; i < p.axis; i++)
                if (FN(topk_before)(LD(x, from + i * s), i, LD(y, base), place[base], p.largest))
                    FN(topk_sink)(y, place, base, s, p.k, 0, LD(x, from + i * s), i, p.largest);
            for (idx n = p.k - 1; n > 0; n--) {
                const A v = LD(y, base + n * s);
                const i64 i = place[base + n * s];
                ST(y, base + n * s, LD(y, base));
                place[base + n * s] = place[base];
                FN(topk_sink)(y, place, base, s, n, 0, v, i, p.largest);
            }
        }
}
REGISTER_KERNEL(topk, 3, 1, 0)
#endif
#endif
