/* place.h - offsets of buffers in one block, such that buffers alive at the same time do not overlap. */
#pragma once

#include <stdint.h>

typedef struct Buffer {
    int from, to; /* alive at times from, ..., to, inclusive */
    int64_t size, offset;
} Buffer;

/* The peak of live bytes, a lower bound of every placement; *when (unless NULL): the first time of the peak. */
int64_t place_bound(const Buffer *b, int n, int *when);
/* Sets the offsets; returns the bytes needed. Deterministic. Offsets are sums of sizes, and so aligned as the sizes
 * are. */
int64_t place(Buffer *b, int n);
