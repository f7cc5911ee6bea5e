/* image.h - ImageDecoder: BMP, the PNM formats and (png.h) PNG, without an operating system. Other formats are decoded
 * by onnxcc_image_codec, if that is linked: see runtime-hosted/codecs.c. */
#ifndef ONNXCC_IMAGE_H
#define ONNXCC_IMAGE_H
#include "rt.h"

/* x: (n), a file; y: (height, width, 3) or, for gray, (height, width, 1); height and width are reported, at most
 * max_height and max_width. Both are 0 if x is no image. scratch: IMAGE_SCRATCH + 16 * max_width. */
#define image_decode_PARAMS(X, V) X(idx, n) X(idx, max_height) X(idx, max_width) X(int, format)
PARAMS(image_decode)

enum { IMAGE_RGB, IMAGE_BGR, IMAGE_GRAY };
enum { IMAGE_BROKEN = -1, IMAGE_STATE = 4096, IMAGE_WINDOW = 32768, IMAGE_SCRATCH = IMAGE_STATE + IMAGE_WINDOW + 16 };
#define IMAGE_TYPE_u8 1

/* Stores pixel (x, y); gray is the luminance of ITU-R 601, rounded as by Pillow. */
HELPER void image_put(struct rt_image *m, idx x, idx y, u32 red, u32 green, u32 blue)
{
    if (m->format == IMAGE_GRAY) {
        m->out[y * m->width + x] = (u8)((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
        return;
    }
    u8 *const to = m->out + (y * m->width + x) * 3;
    to[0] = (u8)(m->format == IMAGE_RGB ? red : blue);
    to[1] = (u8)green;
    to[2] = (u8)(m->format == IMAGE_RGB ? blue : red);
}

SHARED int image_open(struct rt_image *m, i64 width, i64 height)
{
    if (width < 1 || height < 1)
        return IMAGE_BROKEN;
    if (width > m->max_width || height > m->max_height)
        return RT_BAD_SIZE;
    m->width = (idx)width;
    m->height = (idx)height;
    return RT_OK;
}

/* The little-endian number of `bytes` bytes at `at`; 0 beyond the end. */
SHARED u32 image_number(const struct rt_image *m, i64 at, int bytes)
{
    u32 v = 0;
    for (int i = 0; i < bytes; i++)
        v |= at + i < m->n ? (u32)m->in[at + i] << (8 * i) : 0;
    return v;
}

#include "png.h"

/* ---- BMP -------------------------------------------------------------------------------------------------------- */

struct rt_bmp {
    i64 palette, pixels; /* their offsets in the file */
    idx entry, stride;   /* bytes of a color, of a row */
    u32 bits, packed, colors, mask[3];
    int top_down;
};

SHARED u32 bmp_part(u32 v, u32 mask)
{
    int shift = 0;
    while (shift < 31 && !(mask >> shift & 1))
        shift++;
    return mask ? (u32)((u64)((v & mask) >> shift) * 255 / (mask >> shift)) : 0;
}

/* Stores pixel (x, y), counted from the first row in the file, from v: an index in the palette, or the pixel's bits. */
SHARED void bmp_put(struct rt_image *m, const struct rt_bmp *b, idx x, idx y, u32 v)
{
    const idx row = b->top_down ? y : m->height - 1 - y;
    if (b->bits <= 8)
        v = v < b->colors ? image_number(m, b->palette + (i64)v * b->entry, 3) : 0;
    if (b->bits <= 8 || b->bits == 24)
        image_put(m, x, row, v >> 16 & 255, v >> 8 & 255, v & 255);
    else
        image_put(m, x, row, bmp_part(v, b->mask[0]), bmp_part(v, b->mask[1]), bmp_part(v, b->mask[2]));
}

/* Decodes run lengths: pairs of count and index; count 0 is an escape: end of row, end, a jump, or a number of literal
 * indices. */
SHARED int bmp_runs(struct rt_image *m, const struct rt_bmp *b)
{
    const idx per_byte = b->packed == 2 ? 2 : 1;
    idx x = 0, y = 0;
    for (idx i = 0; i < m->height; i++)
        for (idx j = 0; j < m->width; j++)
            bmp_put(m, b, j, i, 0);
    for (i64 at = b->pixels; at + 1 < m->n;) {
        const idx count = m->in[at], code = m->in[at + 1], literal = count == 0 && code > 2;
        at += 2;
        if (count == 0 && code == 0) {
            x = 0;
            y++;
        } else if (count == 0 && code == 1) {
            return RT_OK;
        } else if (count == 0 && code == 2) {
            x += (idx)image_number(m, at, 1);
            y += (idx)image_number(m, at + 1, 1);
            at += 2;
        }
        const idx n = literal ? code : count;
        for (idx i = 0; i < n; i++, x++) {
            const u32 byte = literal ? image_number(m, at + i / per_byte, 1) : (u32)code;
            if (x < m->width && y < m->height)
                bmp_put(m, b, x, y, per_byte == 1 ? byte : i % 2 ? byte & 15 : byte >> 4);
        }
        at += literal ? ((n + per_byte - 1) / per_byte + 1) / 2 * 2 : 0;
    }
    return IMAGE_BROKEN;
}

SHARED int bmp_decode(struct rt_image *m)
{
    const u32 header = image_number(m, 14, 4), core = header == 12;
    const i64 width = core ? (i64)image_number(m, 18, 2) : (i32)image_number(m, 18, 4);
    const i64 height = core ? (i64)image_number(m, 20, 2) : (i32)image_number(m, 22, 4);
    struct rt_bmp b = {.bits = image_number(m, core ? 24 : 28, 2),
                       .packed = core ? 0 : image_number(m, 30, 4),
                       .entry = core ? 3 : 4,
                       .colors = core ? 0 : image_number(m, 46, 4),
                       .pixels = image_number(m, 10, 4),
                       .top_down = height < 0};
    const int status = image_open(m, width, b.top_down ? -height : height);
    if (status ||
        (b.bits != 1 && b.bits != 2 && b.bits != 4 && b.bits != 8 && b.bits != 16 && b.bits != 24 && b.bits != 32))
        return status ? status : IMAGE_BROKEN;
    b.palette = 14 + (i64)header + (header == 40 && b.packed == 3 ? 12 : 0);
    b.colors = b.bits <= 8 && (b.colors == 0 || b.colors > 1u << b.bits) ? 1u << b.bits : b.colors;
    for (int i = 0; i < 3; i++)
        b.mask[i] = b.packed == 3 || b.packed == 6 ? image_number(m, 54 + 4 * i, 4)
                    : b.bits == 16                 ? 0x7c00u >> (5 * i)
                                                   : 0xff0000u >> (8 * i);
    if ((b.packed == 1 && b.bits == 8) || (b.packed == 2 && b.bits == 4))
        return bmp_runs(m, &b);
    b.stride = (m->width * (idx)b.bits + 31) / 32 * 4;
    if ((b.packed && b.packed != 3 && b.packed != 6) || b.pixels + (i64)b.stride * m->height > m->n)
        return IMAGE_BROKEN;
    for (idx y = 0; y < m->height; y++)
        for (idx x = 0; x < m->width; x++) {
            const idx bit = x * (idx)b.bits;
            const u32 v = image_number(m, b.pixels + (i64)y * b.stride + bit / 8, b.bits < 8 ? 1 : (int)b.bits / 8);
            bmp_put(m, &b, x, y, b.bits < 8 ? v >> (8 - (int)b.bits - (int)(bit % 8)) & ((1u << b.bits) - 1) : v);
        }
    return RT_OK;
}

/* ---- PNM: P1 P2 P3 as text, P4 P5 P6 in binary; bits, gray, red green blue -------------------------------------- */

/* The next number, after white space and comments; one: it has one digit. -1: none. */
SHARED i64 pnm_number(struct rt_image *m, int one)
{
    i64 v = -1;
    while (m->at < m->n && (m->in[m->at] <= ' ' || m->in[m->at] == '#')) {
        const int comment = m->in[m->at] == '#';
        while (comment && m->at < m->n && m->in[m->at] != '\n')
            m->at++;
        m->at++;
    }
    while (m->at < m->n && m->in[m->at] >= '0' && m->in[m->at] <= '9' && v < 100000000 && !(one && v >= 0))
        v = (v < 0 ? 0 : v * 10) + m->in[m->at++] - '0';
    return v;
}

SHARED int pnm_decode(struct rt_image *m)
{
    const int kind = m->in[1] - '0', text = kind <= 3, bits = kind % 3 == 1, parts = kind % 3 == 0 ? 3 : 1;
    m->at = 2;
    const i64 width = pnm_number(m, 0), height = pnm_number(m, 0), top = bits ? 1 : pnm_number(m, 0);
    const int status = image_open(m, width, height), bytes = top > 255 ? 2 : 1;
    if (status || top < 1 || top > 65535)
        return status ? status : IMAGE_BROKEN;
    const i64 row = bits ? (width + 7) / 8 : width * parts * bytes, base = m->at + 1;
    if (!text && base + row * height > m->n)
        return IMAGE_BROKEN;
    for (idx y = 0; y < m->height; y++)
        for (idx x = 0; x < m->width; x++) {
            u32 v[3] = {0, 0, 0};
            for (int k = 0; k < parts; k++) {
                const u8 *const p = m->in + base + y * row + (bits ? x / 8 : (x * parts + k) * bytes);
                const i64 s = text         ? pnm_number(m, bits)
                              : bits       ? p[0] >> (7 - x % 8) & 1
                              : bytes == 2 ? p[0] << 8 | p[1]
                                           : p[0];
                if (s < 0)
                    return IMAGE_BROKEN;
                v[k] = (u32)(s > top ? 255 : (s * 510 + top) / (2 * top));
                v[k] = bits ? 255 - v[k] : v[k];
            }
            image_put(m, x, y, v[0], v[parts / 2], v[parts - 1]);
        }
    return RT_OK;
}

/* Is the file in a format of onnxcc_image_codec? */
SHARED int image_is_foreign(const struct rt_image *m)
{
    const u32 first = image_number(m, 0, 4);
    return (first & 0xffffff) == 0xffd8ff || (first == 0x46464952 && image_number(m, 8, 4) == 0x50424557) ||
           first == 0x2a4949 || first == 0x2a004d4d || first == 0x51ff4fff ||
           (first == 0x0c000000 && image_number(m, 4, 4) == 0x2020506a);
}
#endif

#if defined T && !defined U
#if RT_TAKES(IMAGE_TYPE_, T)
KERNEL int FN(image_decode)(const u8 *x, u8 *y, void *scratch, i64 *height, i64 *width, struct image_decode p)
{
    struct rt_image m = {.in = x,
                         .n = p.n,
                         .out = y,
                         .scratch = (u8 *)scratch,
                         .max_height = p.max_height,
                         .max_width = p.max_width,
                         .format = p.format};
    int status = IMAGE_BROKEN;
    if (p.n > 26 && x[0] == 'B' && x[1] == 'M')
        status = bmp_decode(&m);
    else if (p.n > 8 && x[0] == 'P' && x[1] >= '1' && x[1] <= '6')
        status = pnm_decode(&m);
    else if (p.n > 8 && x[0] == 0x89 && x[1] == 'P' && x[2] == 'N' && x[3] == 'G')
        status = png_decode(&m);
    else if (image_is_foreign(&m))
#ifdef RT_WEAK
        status = onnxcc_image_codec ? onnxcc_image_codec(&m) : RT_BAD_VALUE; /* not linked in */
#else
        status = RT_BAD_VALUE;
#endif
    *height = status == RT_OK ? m.height : 0;
    *width = status == RT_OK ? m.width : 0;
    return status == IMAGE_BROKEN ? RT_OK : status;
}
REGISTER_FALLIBLE(image_decode, 5, 1, SCRATCH | SIZES(2))
#endif
#endif
