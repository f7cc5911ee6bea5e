/* concat.h - Concat: rows of several tensors one after the other. */
#ifndef ONNXCC_CONCAT_H
#define ONNXCC_CONCAT_H
#include "rt.h"

/* x[i]: (outer, size[i]) with row pitch pitch[i]; y: (outer, sum of sizes) with row pitch y_pitch. x[i] NULL: it is
 * empty or already in place. */
#define concat2_PARAMS(X, V) X(idx, outer) X(idx, y_pitch) V(idx, size, 2) V(idx, pitch, 2)
#define concat3_PARAMS(X, V) X(idx, outer) X(idx, y_pitch) V(idx, size, 3) V(idx, pitch, 3)
#define concat4_PARAMS(X, V) X(idx, outer) X(idx, y_pitch) V(idx, size, 4) V(idx, pitch, 4)
#define concat8_PARAMS(X, V) X(idx, outer) X(idx, y_pitch) V(idx, size, 8) V(idx, pitch, 8)
#define concat16_PARAMS(X, V) X(idx, outer) X(idx, y_pitch) V(idx, size, 16) V(idx, pitch, 16)
PARAMS(concat2)
PARAMS(concat3)
PARAMS(concat4)
PARAMS(concat8)
PARAMS(concat16)
#endif

#if defined T && !defined U
#if RT_IS_WHOLE(T)
HELPER void FN(concat)(const void *const *from, void *to, idx outer, const idx *size, const idx *pitch, idx y_pitch,
                       int n)
{
    T *const y = (T *)to;
    for (idx o = 0; o < outer; o++) {
        idx at = o * y_pitch;
        for (int k = 0; k < n; k++) {
            const T *const x = (const T *)from[k];
            if (x)
                MOVE(y, at, x, o * pitch[k], size[k]);
            at += size[k];
        }
    }
}

KERNEL void FN(concat2)(const void *a, const void *b, void *y, struct concat2 p)
{
    const void *const x[] = {a, b};
    FN(concat)(x, y, p.outer, p.size, p.pitch, p.y_pitch, 2);
}
REGISTER_KERNEL(concat2, 3, 2, CONCAT_LIKE)

KERNEL void FN(concat3)(const void *a, const void *b, const void *c, void *y, struct concat3 p)
{
    const void *const x[] = {a, b, c};
    FN(concat)(x, y, p.outer, p.size, p.pitch, p.y_pitch, 3);
}
REGISTER_KERNEL(concat3, 4, 3, CONCAT_LIKE)

KERNEL void FN(concat4)(const void *a, const void *b, const void *c, const void *d, void *y, struct concat4 p)
{
    const void *const x[] = {a, b, c, d};
    FN(concat)(x, y, p.outer, p.size, p.pitch, p.y_pitch, 4);
}
REGISTER_KERNEL(concat4, 5, 4, CONCAT_LIKE)

KERNEL void FN(concat8)(const void *a, const void *b, const void *c, const void *d, const void *e, const void *f,
                        const void *g, const void *h, void *y, struct concat8 p)
{
    const void *const x[] = {a, b, c, d, e, f, g, h};
    FN(concat)(x, y, p.outer, p.size, p.pitch, p.y_pitch, 8);
}
REGISTER_KERNEL(concat8, 9, 8, CONCAT_LIKE)

KERNEL void FN(concat16)(const void *a, const void *b, const void *c, const void *d, const void *e, const void *f,
                         const void *g, const void *h, const void *i, const void *j, const void *k, const void *l,
                         const void *m, const void *n, const void *o, const void *q, void *y, struct concat16 p)
{
    const void *const x[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, q};
    FN(concat)(x, y, p.outer, p.size, p.pitch, p.y_pitch, 16);
}
REGISTER_KERNEL(concat16, 17, 16, CONCAT_LIKE)
#endif
#endif
