/* sequence.h - sequences of run-time length: an array of slots of one size, and the number of used ones. */
#ifndef ONNXCC_SEQUENCE_H
#define ONNXCC_SEQUENCE_H
#include "rt.h"

#define slots_PARAMS(X, V) X(idx, have) X(idx, from) X(idx, to)
PARAMS(slots)

#define insert_PARAMS(X, V) X(idx, have) X(idx, from) X(idx, to) X(idx, size) X(idx, upper)
PARAMS(insert)

#define erase_PARAMS(X, V) X(idx, have) X(idx, slot)
PARAMS(erase)

#define element_PARAMS(X, V) X(idx, have) X(idx, slot) X(idx, size)
PARAMS(element)

#define join_PARAMS(X, V) X(idx, have) X(idx, slot) X(int, width) X(int, rank) X(int, axis) X(int, stack) X(idx, upper)
PARAMS(join)

#define cut_PARAMS(X, V)                                                                                               \
    X(idx, pieces) X(i64, part) X(idx, upper) X(idx, slot) X(int, width) X(int, rank) X(int, axis) X(int, squeeze) \
    V(idx, dim, 16)
PARAMS(cut)
#endif

#if defined T && !defined U
#if RT_IS_WHOLE(T)
/* A slot whose first n elements are written: the rest is 0, so that results depend on the inputs alone. */
HELPER void FN(slot_rest)(T *slot, idx n, idx size) { memset(slot + n, 0, (size_t)(size - n) * sizeof *slot); }

/* In all kernels x has `have` slots, of which *count are used.
 * Copies the used slots of x, of `from` elements, to slots of `to` elements. */
KERNEL int FN(slots)(const void *restrict from, const i64 *count, void *restrict to, struct slots p)
{
    const T *const x = from;
    T *const y = to;
    const idx k = rt_size(*count), n = rt_min(p.from, p.to);
    if (k < 0 || k > p.have)
        return RT_BAD_SIZE;
    for (idx i = 0; i < k; i++) {
        MOVE(y, i * p.to, x, i * p.from, n);
        FN(slot_rest)(y + i * p.to, n, p.to);
    }
    return RT_OK;
}
REGISTER_FALLIBLE(slots, 3, 2, 0)

/* y: x with an additional slot before slot *at (NULL: at the end), which contains the item. y may be x. */
KERNEL int FN(insert)(const void *from, const void *what, const i64 *count, const i64 *at, void *to, struct insert p)
{
    const T *const x = from, *const item = what;
    T *const y = to;
    const idx k = rt_size(*count), n = rt_min(p.from, p.to), i = at ? rt_size(*at) + (*at < 0 ? k : 0) : k;
    if (k < 0 || k > p.have || k >= p.upper || p.size > p.to)
        return RT_BAD_SIZE;
    if (i < 0 || i > k)
        return RT_BAD_INDEX;
    for (idx s = k; s > i; s--) {
        MOVE(y, s * p.to, x, (s - 1) * p.from, n);
        FN(slot_rest)(y + s * p.to, n, p.to);
    }
    for (idx s = 0; s < i && x != y; s++) {
        MOVE(y, s * p.to, x, s * p.from, n);
        FN(slot_rest)(y + s * p.to, n, p.to);
    }
    MOVE(y, i * p.to, item, 0, p.size);
    FN(slot_rest)(y + i * p.to, p.size, p.to);
    return RT_OK;
}
REGISTER_FALLIBLE(insert, 5, 4, 0)

/* y: x without slot *at (NULL: the last one). y may be x. */
KERNEL int FN(erase)(const void *from, const i64 *count, const i64 *at, void *to, struct erase p)
{
    const T *const x = from;
    T *const y = to;
    const idx k = rt_size(*count), i = rt_index(at ? *at : k - 1, k);
    if (k > p.have)
        return RT_BAD_SIZE;
    if (i < 0)
        return RT_BAD_INDEX;
    for (idx s = 0; s < i && x != y; s++)
        MOVE(y, s * p.slot, x, s * p.slot, p.slot);
    for (idx s = i + 1; s < k; s++)
        MOVE(y, (s - 1) * p.slot, x, s * p.slot, p.slot);
    return RT_OK;
}
REGISTER_FALLIBLE(erase, 4, 3, 0)

/* y: the element in slot *at. */
KERNEL int FN(element)(const void *restrict from, const i64 *count, const i64 *at, void *restrict to, struct element p)
{
    const T *const x = from;
    T *const y = to;
    const idx k = rt_size(*count), i = rt_index(*at, k);
    if (k > p.have || p.size > p.slot)
        return RT_BAD_SIZE;
    if (i < 0)
        return RT_BAD_INDEX;
    MOVE(y, 0, x, i * p.slot, p.size);
    return RT_OK;
}
REGISTER_FALLIBLE(element, 4, 3, 0)

/* Concatenates all elements along an axis, or stacks them along a new one; their other sizes (dims: a row per slot)
 * must agree. *length: the size of that axis, at most p.upper. */
KERNEL int FN(join)(const void *restrict from, const i64 *restrict dims, const i64 *count, void *restrict to,
                    int64_t *restrict length, struct join p)
{
    const T *const x = from;
    T *const y = to;
    const idx k = rt_size(*count);
    idx total = 0, outer = 1, inner = 1, done = 0, largest = 0;
    *length = 0;
    if (k <= 0 || k > p.have)
        return k == 0 ? RT_OK : RT_BAD_SIZE;
    for (idx s = 0; s < k; s++) {
        idx size = 1;
        for (int a = 0; a < p.rank; a++) {
            const idx d = rt_size(dims[s * p.width + a]);
            if (d < 0 || d > p.slot || ((p.stack || a != p.axis) && d != dims[a]) || (d > 0 && size > p.slot / d))
                return RT_BAD_SIZE;
            size *= d;
        }
        const idx n = p.stack ? 1 : rt_size(dims[s * p.width + p.axis]);
        if (n > p.upper - total)
            return RT_BAD_SIZE;
        total += n;
        largest = rt_max(largest, size);
    }
    *length = total;
    if (largest == 0) /* otherwise it bounds the products below */
        return RT_OK;
    for (int a = 0; a < p.rank; a++)
        if (a < p.axis)
            outer *= rt_size(dims[a]);
        else if (a > p.axis || p.stack)
            inner *= rt_size(dims[a]);
    for (idx s = 0; s < k; s++) {
        const idx n = (p.stack ? 1 : rt_size(dims[s * p.width + p.axis])) * inner;
        for (idx o = 0; o < outer; o++)
            MOVE(y, o * total * inner + done, x, s * p.slot + o * n, n);
        done += n;
    }
    return RT_OK;
}
REGISTER_FALLIBLE(join, 5, 3, SIZES(1))

/* y: x, of shape dim, split along an axis into pieces, one per slot, of the given sizes or (NULL) of `part` each, the
 * last one smaller. to_dims: a row of sizes per piece, without the axis if it is squeezed. */
KERNEL int FN(cut)(const void *restrict from, const i64 *restrict sizes, void *restrict to, i64 *restrict to_dims,
                   struct cut p)
{
    const T *const x = from;
    T *const y = to;
    const idx axis = p.dim[p.axis];
    idx outer = 1, inner = 1, at = 0;
    for (int a = 0; a < p.rank; a++)
        if (a < p.axis)
            outer *= p.dim[a];
        else if (a > p.axis)
            inner *= p.dim[a];
    if (p.pieces > p.upper)
        return RT_BAD_SIZE;
    for (idx s = 0; s < p.pieces; s++) {
        const idx left = axis - at, n = sizes ? rt_size(sizes[s]) : rt_min(left, rt_size(p.part));
        i64 *row = to_dims + s * p.width;
        if (n < 0 || n > left || outer * n * inner > p.slot)
            return RT_BAD_SIZE;
        for (idx o = 0; o < outer; o++)
            MOVE(y, s * p.slot + o * n * inner, x, (o * axis + at) * inner, n * inner);
        FN(slot_rest)(y + s * p.slot, outer * n * inner, p.slot);
        for (int a = 0; a < p.width; a++)
            row[a] = -1;
        for (int a = 0; a < p.rank; a++)
            if (a != p.axis || !p.squeeze)
                *row++ = a == p.axis ? n : p.dim[a];
        at += n;
    }
    return at == axis ? RT_OK : RT_BAD_SIZE;
}
REGISTER_FALLIBLE(cut, 4, 2, 0)
#endif
#endif
