/* cumulate.h - CumSum and CumProd: cumulative sums and products along an axis. */
#ifndef ONNXCC_CUMULATE_H
#define ONNXCC_CUMULATE_H
#include "rt.h"

/* x, y: (outer, axis, inner), along the middle one; exclusive: without the element itself; reverse: from the end */
#define cum_sum_PARAMS(X, V) X(idx, outer) X(idx, axis) X(idx, inner) X(int, exclusive) X(int, reverse)
#define cum_prod_PARAMS cum_sum_PARAMS
PARAMS(cum_sum)
PARAMS(cum_prod)

#define CUMULATE_TILE 16
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_IS_WIDE(T)
#if RT_IS_FLOAT(T)
#define R A
#else
#define R u64 /* wraps around, as in numpy */
#endif
HELPER void FN(cumulate)(const T *x, T *y, idx outer, idx axis, idx inner, int exclusive, int reverse, int product)
{
    for (idx o = 0; o < outer; o++)
        for (idx t = 0; t < inner; t += CUMULATE_TILE) {
            const idx w = inner - t < CUMULATE_TILE ? inner - t : CUMULATE_TILE;
            R sum[CUMULATE_TILE];
            for (idx j = 0; j < w; j++)
                sum[j] = product ? 1 : 0;
            for (idx k = 0; k < axis; k++) {
                const idx at = (o * axis + (reverse ? axis - 1 - k : k)) * inner + t;
                for (idx j = 0; j < w; j++) { /* x and y may be the same */
                    const R old = sum[j], v = (R)LD(x, at + j);
                    sum[j] = product ? old * v : old + v;
                    ST(y, at + j, (A)(exclusive ? old : sum[j]));
                }
            }
        }
}
#undef R

KERNEL void FN(cum_sum)(const T *x, T *y, struct cum_sum p)
{
    FN(cumulate)(x, y, p.outer, p.axis, p.inner, p.exclusive, p.reverse, 0);
}
REGISTER_KERNEL(cum_sum, 2, 1, 0)

KERNEL void FN(cum_prod)(const T *x, T *y, struct cum_prod p)
{
    FN(cumulate)(x, y, p.outer, p.axis, p.inner, p.exclusive, p.reverse, 1);
}
REGISTER_KERNEL(cum_prod, 2, 1, 0)
#endif
#endif
