/* select.h - NonZero, Compress, Unique: the number of results depends on the data, is reported, and is at most `upper`,
 * the room in y. Where, for types that are only moved. */
#ifndef ONNXCC_SELECT_H
#define ONNXCC_SELECT_H
#include "characters.h"

/* x: dim[0] x .. x dim[rank), of elements of `part` numbers, y: (rank, found): the indices of non-zero elements */
#define nonzero_PARAMS(X, V) X(idx, upper) X(idx, size) X(int, part) X(int, rank) V(idx, dim, 16)
/* x: (outer, axis, inner), condition: (n), n <= axis, y: (outer, found, inner) */
#define compress_PARAMS(X, V) X(idx, upper) X(idx, outer) X(idx, axis) X(idx, inner) X(idx, n)
/* x: (outer, axis, inner), y: (outer, found, inner), first, count: (found), which: (axis); all but y may be NULL.
 * scratch: 3 * axis. */
#define unique_PARAMS(X, V) X(idx, upper) X(idx, outer) X(idx, axis) X(idx, inner) X(int, sorted)
#define choose_PARAMS(X, V) X(idx, count)
PARAMS(nonzero)
PARAMS(compress)
PARAMS(unique)
PARAMS(choose)
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_IS_INT(T) || RT_IS_BOOL(T) || RT_IS_STRING(T)
#if RT_IS_STRING(T)
#define IS_ZERO(x, i) (LD(x, i).length == 0)
#else
#define IS_ZERO(x, i) (LD(x, (i) * p.part) == 0 && LD(x, ((i) + 1) * p.part - 1) == 0)
#endif
KERNEL int FN(nonzero)(const void *from, i64 *y, i64 *found, struct nonzero p)
{
    const T *const x = from;
    idx n = 0, k = 0, at[16] = {0};
    for (idx i = 0; i < p.size; i++)
        n += !IS_ZERO(x, i);
    if (n > p.upper)
        return RT_BAD_SIZE;
    for (idx i = 0; i < p.size; i++) {
        if (!IS_ZERO(x, i)) {
            for (int d = 0; d < p.rank; d++)
                y[d * n + k] = at[d];
            k++;
        }
        for (int d = p.rank - 1; d >= 0 && ++at[d] == p.dim[d]; d--)
            at[d] = 0;
    }
    *found = n;
    return RT_OK;
}
REGISTER_FALLIBLE(nonzero, 3, 1, SIZES(1))
#undef IS_ZERO

/* Compares the slices i and j of x: negative, 0, positive. NaN is larger than every number. */
HELPER int FN(unique_compare)(const T *x, i64 i, i64 j, struct unique p)
{
    for (idx o = 0; o < p.outer; o++)
        for (idx k = 0; k < p.inner; k++) {
            const A a = LD(x, (o * p.axis + (idx)i) * p.inner + k), b = LD(x, (o * p.axis + (idx)j) * p.inner + k);
#if RT_IS_STRING(T)
            const int order = rt_text_compare(a, b);
            if (order)
                return order;
#else
            if (a < b)
                return -1;
            if (a > b)
                return 1;
#endif
#if RT_IS_FLOAT(T)
            if ((a != a) != (b != b))
                return a != a ? 1 : -1;
#endif
        }
    return 0;
}

/* Sifts slice v down from the free node `at` of a heap of n slices, whose root is the last in order. */
HELPER void FN(unique_sink)(const T *x, i64 *heap, idx n, idx at, i64 v, struct unique p)
{
    for (idx c; (c = 2 * at + 1) < n; at = c) {
        if (c + 1 < n) {
            const int order = FN(unique_compare)(x, heap[c], heap[c + 1], p);
            c += order < 0 || (order == 0 && heap[c] < heap[c + 1]);
        }
        const int order = FN(unique_compare)(x, heap[c], v, p);
        if (order < 0 || (order == 0 && heap[c] < v))
            break;
        heap[at] = heap[c];
    }
    heap[at] = v;
}

KERNEL int FN(unique)(const void *from, void *into, i64 *first, i64 *which, i64 *count, void *scratch, i64 *found,
                      struct unique p)
{
    const T *const x = from;
    T *const y = into;
    i64 *const order = (i64 *)scratch, *const group = order ? order + p.axis : order;
    i64 *const rank = group ? group + p.axis : group; /* an empty axis has no scratch */
    idx n = 0, next = 0;
    for (idx i = 0; i < p.axis; i++)
        order[i] = i;
    for (idx i = p.axis / 2; i-- > 0;)
        FN(unique_sink)(x, order, p.axis, i, order[i], p);
    for (idx i = p.axis - 1; i > 0; i--) {
        const i64 v = order[i];
        order[i] = order[0];
        FN(unique_sink)(x, order, i, 0, v, p);
    }
    for (idx i = 0; i < p.axis; i++) { /* group: the first equal slice; rank: the rank of each first one */
        const int same = i && FN(unique_compare)(x, order[i - 1], order[i], p) == 0;
        group[order[i]] = same ? group[order[i - 1]] : order[i];
        if (!same)
            rank[order[i]] = n++;
    }
    if (!p.sorted)
        for (idx i = 0; i < p.axis; i++)
            if (group[i] == i)
                rank[i] = next++;
    if (n > p.upper)
        return RT_BAD_SIZE;
    for (idx i = 0; count && i < n; i++)
        count[i] = 0;
    for (idx i = 0; i < p.axis; i++) {
        const idx to = (idx)rank[group[i]];
        if (which)
            which[i] = to;
        if (count)
            count[to]++;
        if (group[i] != i)
            continue;
        if (first)
            first[to] = i;
        for (idx o = 0; o < p.outer; o++)
            for (idx k = 0; k < p.inner; k++)
                ST(y, (o * n + to) * p.inner + k, LD(x, (o * p.axis + i) * p.inner + k));
    }
    *found = n;
    return RT_OK;
}
REGISTER_FALLIBLE(unique, 7, 1, SCRATCH | SIZES(1))
#endif

#if RT_IS_WHOLE(T)
KERNEL int FN(compress)(const void *from, const b8 *condition, void *to, i64 *found, struct compress p)
{
    const T *const x = (const T *)from;
    T *const y = (T *)to;
    idx k = 0;
    *found = 0;
    for (idx i = 0; i < p.n && i < p.axis; i++)
        *found += condition[i] != 0;
    if (*found > p.upper)
        return RT_BAD_SIZE;
    for (idx o = 0; o < p.outer; o++)
        for (idx i = 0; i < p.n && i < p.axis; i++)
            if (condition[i]) {
                MOVE(y, k * p.inner, x, (o * p.axis + i) * p.inner, p.inner);
                k++;
            }
    return RT_OK;
}
REGISTER_FALLIBLE(compress, 4, 2, SIZES(1))
#endif

#define CHOOSE_u8 0
#define CHOOSE_u16 0
#define CHOOSE_u32 0
#define CHOOSE_u64 1 /* complex numbers, */
#define CHOOSE_c128 1 /* and strings */
#if RT_IS_WHOLE(T) && RT_TAKES(CHOOSE_, T)
KERNEL void FN(choose)(const b8 *restrict condition, const void *restrict a, const void *restrict b, void *restrict y,
                       struct choose p)
{
    for (idx i = 0; i < p.count; i++)
        ST((T *)y, i, LD((const T *)(condition[i] ? a : b), i));
}
REGISTER_KERNEL(choose, 4, 3, 0)
#endif
#endif
