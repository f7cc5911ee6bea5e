/* det.h - Det: determinants. */
#ifndef ONNXCC_DET_H
#define ONNXCC_DET_H
#include "rt.h"

/* x: (count, n, n), y: (count). Scratch: n * n. */
#define det_PARAMS(X, V) X(idx, count) X(idx, n)
PARAMS(det)
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T)
/* Gaussian elimination with partial pivoting. */
KERNEL void FN(det)(const T *x, T *y, A *m, struct det p)
{
    const idx n = p.n;
    for (idx q = 0; q < p.count; q++) {
        A product = 1;
        for (idx i = 0; i < n * n; i++)
            m[i] = LD(x, q * n * n + i);
        for (idx k = 0; k < n; k++) {
            idx top = k;
            for (idx i = k + 1; i < n; i++) {
                const A v = m[i * n + k], best = m[top * n + k];
                top = (v < 0 ? -v : v) > (best < 0 ? -best : best) ? i : top;
            }
            for (idx j = k; j < n && top != k; j++) {
                const A v = m[k * n + j];
                m[k * n + j] = m[top * n + j];
                m[top * n + j] = -v;
            }
            product *= m[k * n + k];
            for (idx i = k + 1; i < n && m[k * n + k] != 0; i++) {
                const A f = m[i * n + k] / m[k * n + k];
                for (idx j = k + 1; j < n; j++)
                    m[i * n + j] -= f * m[k * n + j];
            }
        }
        ST(y, q, product);
    }
}
REGISTER_KERNEL(det, 3, 1, SCRATCH)
#endif
#endif
