/* difference.h - how far apart two tensors, or sequences, optionals and maps of them, are. */
#pragma once

#include "base/options.h"
#include "ir/data.h"

typedef struct Difference {
    const char *unlike; /* why they cannot be compared: "float [2], not float [3]"; or NULL */
    int64_t count;      /* of elements beyond the tolerance */
    int64_t elements;   /* ... of so many, of this type */
    Type type;
    /* The first of them, "[0,2]", and in a sequence "[3][0,2]"; its values. NULL: there is none. */
    const char *first, *got, *expected;
    double absolute; /* the largest error */
    /* Of floats so large that the relative tolerance exceeds the absolute one: */
    double relative; /* the largest relative error */
    uint64_t ulps;   /* the largest number of representable values between the two */
} Difference;

Difference data_difference(const Data *got, const Data *expected, Tolerance within);
bool is_alike(const Difference *d);
void put_difference(Text *t, const Difference *d); /* the largest errors, and the verdict */
