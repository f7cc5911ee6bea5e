/* cdist.h - CDist: the squares of the distances between two sets of points. */
#ifndef ONNXCC_CDIST_H
#define ONNXCC_CDIST_H
#include "rt.h"

/* x: (m, k), y: (n, k), z: (m, n) */
#define cdist_PARAMS(X, V) X(idx, m) X(idx, n) X(idx, k)
PARAMS(cdist)

#define CDIST_LANES 8
#endif

#if defined T && !defined U
#if RT_IS_REAL(T)
KERNEL void FN(cdist)(const T *x, const T *y, T *z, struct cdist p)
{
    for (idx i = 0; i < p.m; i++)
        for (idx j = 0; j < p.n; j++) {
            A lane[CDIST_LANES] = {0}, sum = 0;
            idx e = 0;
            for (; e + CDIST_LANES <= p.k; e += CDIST_LANES)
                for (int l = 0; l < CDIST_LANES; l++) {
                    const A d = LD(x, i * p.k + e + l) - LD(y, j * p.k + e + l);
                    lane[l] += d * d;
                }
            for (; e < p.k; e++) {
                const A d = LD(x, i * p.k + e) - LD(y, j * p.k + e);
                sum += d * d;
            }
            for (int l = 0; l < CDIST_LANES; l++)
                sum += lane[l];
            ST(z, i * p.n + j, sum);
        }
}
REGISTER_KERNEL(cdist, 3, 2, 0)
#endif
#endif
