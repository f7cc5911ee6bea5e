/* inverse.h - Inverse: inverse matrices. */
#ifndef ONNXCC_INVERSE_H
#define ONNXCC_INVERSE_H
#include "rt.h"

/* x, y: (count, n, n). Scratch: 2 * n * n. */
#define inverse_PARAMS(X, V) X(idx, count) X(idx, n)
PARAMS(inverse)

#define INVERSE_NOT_bf16 1
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) && !RT_TAKES(INVERSE_NOT_, T)
/* Exchanges the rows k and other of m, from column `from` on. */
HELPER void FN(inverse_swap)(A *m, idx n, idx k, idx other, idx from)
{
    for (idx j = from; j < n && k != other; j++) {
        const A v = m[k * n + j];
        m[k * n + j] = m[other * n + j];
        m[other * n + j] = v;
    }
}

/* Gauss-Jordan elimination with partial pivoting: m becomes the identity, and the identity the inverse. Of a singular
 * matrix there are infinities or NaN. */
KERNEL void FN(inverse)(const T *x, T *y, A *m, struct inverse p)
{
    const idx n = p.n;
    A *v = m + n * n;
    for (idx q = 0; q < p.count; q++) {
        for (idx i = 0; i < n * n; i++) {
            m[i] = LD(x, q * n * n + i);
            v[i] = i / n == i % n;
        }
        for (idx k = 0; k < n; k++) {
            idx top = k;
            for (idx i = k + 1; i < n; i++) {
                const A a = m[i * n + k], best = m[top * n + k];
                top = (a < 0 ? -a : a) > (best < 0 ? -best : best) ? i : top;
            }
            FN(inverse_swap)(m, n, k, top, k);
            FN(inverse_swap)(v, n, k, top, 0);
            const A pivot = m[k * n + k];
            for (idx j = k; j < n; j++)
                m[k * n + j] /= pivot;
            for (idx j = 0; j < n; j++)
                v[k * n + j] /= pivot;
            for (idx i = 0; i < n; i++) {
                const A f = i == k ? 0 : m[i * n + k];
                for (idx j = k; j < n && i != k; j++)
                    m[i * n + j] -= f * m[k * n + j];
                for (idx j = 0; j < n && i != k; j++)
                    v[i * n + j] -= f * v[k * n + j];
            }
        }
        for (idx i = 0; i < n * n; i++)
            ST(y, q * n * n + i, v[i]);
    }
}
REGISTER_KERNEL(inverse, 3, 1, SCRATCH)
#endif
#endif
