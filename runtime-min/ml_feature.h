/* ml_feature.h - OneHotEncoder. */
#ifndef ONNXCC_ML_FEATURE_H
#define ONNXCC_ML_FEATURE_H
#include "characters.h"

/* x: (count), category: (categories), y: (count, categories): 1 where they are equal. strict: x must be one of them. */
#define encode_PARAMS(X, V) X(idx, count) X(idx, categories) X(int, strict)
PARAMS(encode)
#define ENCODE_SAME_i64(a, b) ((a) == (b))
#define ENCODE_SAME_str(a, b) (rt_text_compare(a, b) == 0)
#define ENCODE_TYPE_i64 1
#define ENCODE_TYPE_str 1
#endif

#if defined T && !defined U
#if RT_TAKES(ENCODE_TYPE_, T)
KERNEL int FN(encode)(const T *x, const T *category, f32 *y, struct encode p)
{
    for (idx i = 0; i < p.count; i++) {
        int found = 0;
        for (idx k = 0; k < p.categories; k++) {
            const int same = RT_CAT(ENCODE_SAME_, T)(x[i], category[k]);
            y[i * p.categories + k] = (f32)same;
            found |= same;
        }
        if (p.strict && !found)
            return RT_BAD_VALUE;
    }
    return RT_OK;
}
REGISTER_FALLIBLE(encode, 3, 2, 0)
#endif
#endif
