/* copy.h - strided copies: transposes, slices, repetitions, plain copies. */
#ifndef ONNXCC_COPY_H
#define ONNXCC_COPY_H
#include "rt.h"

/* y[to_at + i * to] = x[from_at + i * from] for every i in dim[0] x .. x dim[3]; strides in elements, any sign */
#define copy_PARAMS(X, V) V(idx, dim, 4) V(idx, from, 4) V(idx, to, 4) X(idx, from_at) X(idx, to_at)
/* the same with `rank` axes */
#define copy_many_PARAMS(X, V) X(int, rank) V(idx, dim, 32) V(idx, from, 32) V(idx, to, 32) X(idx, from_at) X(idx, to_at)
PARAMS(copy)
PARAMS(copy_many)

#define COPY_TILE 16

/* Transposes 4 x 4 elements: y[r * to + k] = x[r + k * from]. For 32 bits, by vector shuffles. */
#if defined __has_builtin && defined __GNUC__
#if __has_builtin(__builtin_shufflevector)
#define COPY_SHUFFLES
#define COPY_WIDE_u32 1
typedef uint32_t copy_quad RT_ATTRIBUTE((vector_size(16)));
HELPER void copy_four_by_four(const u32 *x, idx from, u32 *y, idx to)
{
    copy_quad a, b, c, d;
    memcpy(&a, x, 16);
    memcpy(&b, x + from, 16);
    memcpy(&c, x + 2 * from, 16);
    memcpy(&d, x + 3 * from, 16);
    const copy_quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const copy_quad AB = __builtin_shufflevector(a, b, 2, 6, 3, 7), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    b = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    c = __builtin_shufflevector(AB, CD, 0, 1, 4, 5);
    d = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
    memcpy(y, &a, 16);
    memcpy(y + to, &b, 16);
    memcpy(y + 2 * to, &c, 16);
    memcpy(y + 3 * to, &d, 16);
}
#endif
#endif
#endif

#if defined T && !defined U
#if RT_IS_STORAGE(T)
/* Two axes, of which the first is contiguous in x and the second in y: in tiles that fit the cache. */
HELPER void FN(copy_transposed)(const T *x, T *y, idx i, idx j, const idx *dim, const idx *from, const idx *to)
{
    RT_ONE_BY_ONE
    for (idx b = 0; b < dim[0]; b += COPY_TILE) {
        RT_ONE_BY_ONE
        for (idx c = 0; c < dim[1]; c += COPY_TILE) {
            const idx rows = rt_min(dim[0] - b, COPY_TILE), columns = rt_min(dim[1] - c, COPY_TILE);
            const idx m = i + b + c * from[1], n = j + b * to[0] + c;
#if defined COPY_SHUFFLES && RT_TAKES(COPY_WIDE_, T)
            if (rows == COPY_TILE && columns == COPY_TILE) {
                for (idx r = 0; r < COPY_TILE; r += 4)
                    for (idx k = 0; k < COPY_TILE; k += 4)
                        copy_four_by_four(x + m + r + k * from[1], from[1], y + n + r * to[0] + k, to[0]);
                continue;
            }
#endif
            RT_ONE_BY_ONE
            for (idx r = 0; r < rows; r++)
                for (idx k = 0; k < columns; k++)
                    ST(y, n + r * to[0] + k, LD(x, m + r + k * from[1]));
        }
    }
}

/* Two axes, from x[i] and y[j] on. */
HELPER void FN(copy_plane)(const T *x, T *y, idx i, idx j, const idx *dim, const idx *from, const idx *to)
{
    if (from[0] == 1 && from[1] != 1 && to[1] == 1) {
        FN(copy_transposed)(x, y, i, j, dim, from, to);
        return;
    }
    for (idx a = 0; a < dim[0]; a++, i += from[0], j += to[0]) {
        if (from[1] == 1 && to[1] == 1)
            MOVE(y, j, x, i, dim[1]);
        else
            for (idx k = 0; k < dim[1]; k++)
                ST(y, j + k * to[1], LD(x, i + k * from[1]));
    }
}

HELPER void FN(copy_four)(const T *x, T *y, idx i, idx j, const idx *dim, const idx *from, const idx *to)
{
    for (idx a = 0; a < dim[0]; a++)
        for (idx b = 0; b < dim[1]; b++)
            FN(copy_plane)(x, y, i + a * from[0] + b * from[1], j + a * to[0] + b * to[1], dim + 2, from + 2, to + 2);
}

KERNEL void FN(copy)(const void *restrict from, void *restrict to, struct copy p)
{
    FN(copy_four)((const T *)from, (T *)to, p.from_at, p.to_at, p.dim, p.from, p.to);
}
REGISTER_KERNEL(copy, 2, 1, STRIDED_COPY)

KERNEL void FN(copy_many)(const void *restrict from, void *restrict to, struct copy_many p)
{
    const int outer = p.rank - 4;
    idx i[28] = {0}, j[28] = {0}, m = p.from_at, n = p.to_at;
    for (int k = 0; k < outer; k++)
        if (p.dim[k] == 0)
            return;
    do
        FN(copy_four)((const T *)from, (T *)to, m, n, p.dim + outer, p.from + outer, p.to + outer);
    while (rt_next(i, outer, p.dim, p.from, &m) & rt_next(j, outer, p.dim, p.to, &n));
}
REGISTER_KERNEL(copy_many, 2, 1, 0)
#endif
#endif
