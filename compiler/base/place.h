/* place.h - where buffers go in one block, so that those alive at the same time do not overlap. */
#ifndef ONNXCC_PLACE_H
#define ONNXCC_PLACE_H

#include <stdint.h>

typedef struct Buffer {
    int from, to; /* alive at from, ..., to */
    int64_t size, offset;
} Buffer;

/* The most bytes alive at any time, and (when may be NULL) the first such time: no placement needs less. */
int64_t place_bound(const Buffer *b, int n, int *when);
/* Sets the offsets; returns the bytes needed. Deterministic. Offsets are sums of sizes, so aligned as the sizes are. */
int64_t place(Buffer *b, int n);

#endif
