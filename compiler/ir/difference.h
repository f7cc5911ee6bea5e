/* difference.h - how far apart two tensors are. */
#pragma once

#include "ir/tensor.h"

/* got and expected are alike if |got - expected| <= absolute + relative * |expected|. For integers only `absolute`
 * counts; strings must be equal. For floats of less than 32 bits `relative` is 4 units in the last place more. */
typedef struct Tolerance {
    double relative, absolute;
} Tolerance;
#define DEFAULT_TOLERANCE ((Tolerance){1e-3, 1e-5})

typedef struct Difference {
    const char *unlike; /* why they cannot be compared: "float [2], not float [3]"; or NULL */
    int64_t first;      /* the first element beyond the tolerance; -1: none */
    int64_t count;      /* ... and how many there are */
    double absolute, relative;
    uint64_t ulps; /* of floats: representable values between the two */
} Difference;

Difference tensor_difference(const Tensor *got, const Tensor *expected, Tolerance within);
bool is_alike(const Difference *d);
void put_difference(Text *t, const Tensor *got, const Difference *d); /* the largest errors, and the verdict */
const char *element_text(const Tensor *t, int64_t i);
const char *element_index(const Tensor *t, int64_t i); /* "[0,2]" */
const char *tensor_text(const Tensor *t);              /* "float [2,3]" */
