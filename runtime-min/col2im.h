/* col2im.h - Col2Im: an image composed of blocks; overlapping numbers are added, strings concatenated. */
#ifndef ONNXCC_COL2IM_H
#define ONNXCC_COL2IM_H
#include "rt.h"

/* x: (channels, block[0], block[1], block[2], blocks[0], blocks[1], blocks[2], part), y: (channels, image[0], image[1],
 * image[2], part), channels of all images in a row. Element k of block o is at o * stride + k * dilation - pad.
 * part: the numbers per element, 2 for complex ones; at, upper: begin and end of the buffer for the text of strings. */
#define col2im_PARAMS(X, V)                                                                                            \
    X(idx, channels) V(idx, blocks, 3) V(idx, image, 3) V(idx, block, 3) V(idx, stride, 3) V(idx, dilation, 3) \
    V(idx, pad, 3) X(idx, part) X(idx, at) X(idx, upper)
PARAMS(col2im)
#endif

#if defined T && !defined U
#if RT_IS_FLOAT(T) || RT_IS_INT(T) || RT_IS_BOOL(T) || RT_IS_STRING(T)
/* Adds an element of x to one of y; for strings whose text has no address yet, adds only the length. */
HELPER void FN(col2im_put)(const T *x, idx of, T *y, idx at)
{
#if RT_IS_STRING(T)
    if (y[at].text && x[of].length)
        memcpy((char *)(uintptr_t)y[at].text + y[at].length, x[of].text, (size_t)x[of].length);
    y[at].length += x[of].length;
#elif RT_IS_INT(T)
    const u64 a = (u64)LD(y, at), b = (u64)LD(x, of);
    ST(y, at, (A)(a + b)); /* wraps around */
#else
    ST(y, at, LD(y, at) + LD(x, of));
#endif
}

/* Adds element (kd, kh, kw) of every block to the image that starts at `to`. */
HELPER void FN(col2im_add)(const T *x, idx from, T *y, idx to, idx kd, idx kh, idx kw, struct col2im p)
{
    for (idx od = 0; od < p.blocks[0]; od++)
        for (idx oh = 0; oh < p.blocks[1]; oh++)
            for (idx ow = 0; ow < p.blocks[2]; ow++) {
                const idx d = od * p.stride[0] + kd * p.dilation[0] - p.pad[0];
                const idx h = oh * p.stride[1] + kh * p.dilation[1] - p.pad[1];
                const idx w = ow * p.stride[2] + kw * p.dilation[2] - p.pad[2];
                if (d >= 0 && d < p.image[0] && h >= 0 && h < p.image[1] && w >= 0 && w < p.image[2])
                    for (idx e = 0; e < p.part; e++) {
                        const idx at = to + ((d * p.image[1] + h) * p.image[2] + w) * p.part + e;
                        const idx of = from + ((od * p.blocks[1] + oh) * p.blocks[2] + ow) * p.part + e;
                        FN(col2im_put)(x, of, y, at);
                    }
            }
}

HELPER void FN(col2im_all)(const T *x, T *y, struct col2im p)
{
    const idx size = p.image[0] * p.image[1] * p.image[2] * p.part;
    const idx count = p.blocks[0] * p.blocks[1] * p.blocks[2] * p.part;
    idx at = 0;
    for (idx c = 0; c < p.channels; c++)
        for (idx kd = 0; kd < p.block[0]; kd++)
            for (idx kh = 0; kh < p.block[1]; kh++)
                for (idx kw = 0; kw < p.block[2]; kw++, at += count)
                    FN(col2im_add)(x, at, y, c * size, kd, kh, kw, p);
}

#if RT_IS_STRING(T)
/* Two passes: the lengths of the strings, then their bytes. */
KERNEL int FN(col2im)(const str *restrict x, str *restrict y, u8 *restrict text, struct col2im p)
{
    const idx size = p.channels * p.image[0] * p.image[1] * p.image[2];
    const u64 upper = (u64)p.upper;
    u64 used = (u64)p.at;
    memset(y, 0, (size_t)size * sizeof *y);
    FN(col2im_all)(x, y, p);
    for (idx i = 0; i < size; i++) {
        const u64 n = y[i].length;
        if (n > upper - used)
            return RT_BAD_SIZE;
        y[i].text = (const char *)text + used;
        y[i].length = 0;
        used += n;
    }
    FN(col2im_all)(x, y, p);
    return RT_OK;
}
REGISTER_FALLIBLE(col2im, 3, 1, 0)
#else
KERNEL void FN(col2im)(const void *x, void *y, struct col2im p)
{
    const idx size = p.channels * p.image[0] * p.image[1] * p.image[2] * p.part;
    memset(y, 0, (size_t)size * sizeof(T));
    FN(col2im_all)((const T *)x, (T *)y, p);
}
REGISTER_KERNEL(col2im, 2, 1, 0)
#endif
#endif
#endif
