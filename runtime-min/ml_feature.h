/* ml_feature.h - OneHotEncoder. */
#ifndef ONNXCC_ML_FEATURE_H
#define ONNXCC_ML_FEATURE_H
#include "rt.h"

/* x: (count), category: (categories), y: (count, categories): 1 where they are equal. strict: x must be one of them. */
#define encode_PARAMS(X, V) X(idx, count) X(idx, categories) X(int, strict)
PARAMS(encode)
#define ENCODE_TYPE_i64 1
#endif

#if defined T && !defined U
#if RT_CAT(ENCODE_TYPE_, T)
KERNEL int FN(encode)(const i64 *x, const i64 *category, f32 *y, struct encode p)
{
    for (idx i = 0; i < p.count; i++) {
        int found = 0;
        for (idx k = 0; k < p.categories; k++) {
            y[i * p.categories + k] = x[i] == category[k];
            found |= x[i] == category[k];
        }
        if (p.strict && !found)
            return RT_BAD_VALUE;
    }
    return RT_OK;
}
TRIES(encode, 3, 2, 0)
#endif
#endif
