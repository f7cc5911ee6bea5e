/* taps.h - the taps of a window that are inside an image, along one axis. */
#ifndef ONNXCC_TAPS_H
#define ONNXCC_TAPS_H
#include "rt.h"

/* Those of n positions at, at + step, ... that are in [0, size): the first, and their number. */
struct taps {
    idx first, n;
};
HELPER struct taps taps_inside(idx at, idx step, idx n, idx size)
{
    const idx first = at >= 0 ? 0 : (step - 1 - at) / step, end = at >= size ? 0 : (size - 1 - at) / step + 1;
    const struct taps taps = {first, (end < n ? end : n) - first};
    return taps.n > 0 ? taps : (struct taps){0, 0};
}

/* The number of those n positions that are before `end`. */
HELPER idx taps_before(idx at, idx step, idx n, idx end)
{
    return at + (n - 1) * step < end ? n : at < end ? (end - 1 - at) / step + 1 : 0;
}
#endif
