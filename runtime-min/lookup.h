/* lookup.h - the index of a value in a sorted list. */
#ifndef ONNXCC_LOOKUP_H
#define ONNXCC_LOOKUP_H
#include "characters.h"

#define lookup_PARAMS(X, V) X(idx, count) X(idx, keys)
PARAMS(lookup)
#define LOOKUP_TYPE_str 1
#define LOOKUP_TYPE_f32 1
#define LOOKUP_TYPE_f64 1
#define LOOKUP_TYPE_i16 1
#define LOOKUP_TYPE_i32 1
#define LOOKUP_TYPE_i64 1
#endif

#if defined T && !defined U
#if RT_IS_STRING(T)
#define LOOKUP_BEFORE(x, i, key, k) (rt_text_compare((x)[i], (key)[k]) > 0)
#define LOOKUP_SAME(x, i, key, k) (rt_text_compare((x)[i], (key)[k]) == 0)
#elif RT_IS_FLOAT(T)
/* NaN is ordered last, and equal to itself. */
#define LOOKUP_BEFORE(x, i, key, k) (LD(key, k) < LD(x, i) || (LD(x, i) != LD(x, i) && LD(key, k) == LD(key, k)))
#define LOOKUP_SAME(x, i, key, k) (LD(key, k) == LD(x, i) || (LD(x, i) != LD(x, i) && LD(key, k) != LD(key, k)))
#else
#define LOOKUP_BEFORE(x, i, key, k) (LD(key, k) < LD(x, i))
#define LOOKUP_SAME(x, i, key, k) (LD(key, k) == LD(x, i))
#endif
#if RT_TAKES(LOOKUP_TYPE_, T)
/* y[i]: the index of x[i] in the ascending keys; p.keys if it is not there. */
KERNEL void FN(lookup)(const T *restrict x, const T *restrict key, i64 *restrict y, struct lookup p)
{
    for (idx i = 0; i < p.count; i++) {
        idx low = 0, high = p.keys;
        while (low < high) {
            const idx k = low + (high - low) / 2;
            if (LOOKUP_BEFORE(x, i, key, k))
                low = k + 1;
            else
                high = k;
        }
        y[i] = low < p.keys && LOOKUP_SAME(x, i, key, low) ? low : p.keys;
    }
}
REGISTER_KERNEL(lookup, 3, 2, 0)
#endif
#undef LOOKUP_BEFORE
#undef LOOKUP_SAME
#endif
