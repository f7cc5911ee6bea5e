/* difference.h - how far apart two tensors are. */
#pragma once

#include "base/options.h"
#include "ir/tensor.h"

typedef struct Difference {
    const char *unlike; /* why they cannot be compared: "float [2], not float [3]"; or NULL */
    int64_t first;      /* the first element beyond the tolerance; -1: none */
    int64_t count;      /* ... and how many there are */
    double absolute;    /* the largest error */
    /* Of floats so large that the relative tolerance exceeds the absolute one: */
    double relative; /* the largest relative error */
    uint64_t ulps;   /* the largest number of representable values between the two */
} Difference;

Difference tensor_difference(const Tensor *got, const Tensor *expected, Tolerance within);
bool is_alike(const Difference *d);
void put_difference(Text *t, const Tensor *got, const Difference *d); /* the largest errors, and the verdict */
const char *element_text(const Tensor *t, int64_t i);
const char *element_index(const Tensor *t, int64_t i); /* "[0,2]" */
const char *tensor_text(const Tensor *t);              /* "float [2,3]" */
