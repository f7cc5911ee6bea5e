/* png.h - PNG for image.h: inflates the image data byte by byte into two rows and a window, and stores rows when they
 * are complete. All color types, depths and interlacing; the upper 8 of 16 bits; transparency is ignored. */
#ifndef ONNXCC_PNG_H
#define ONNXCC_PNG_H
#include "rt.h"

/* A canonical Huffman code: the number of codes of each length, and the symbols in order. */
struct rt_code {
    u16 count[16], symbol[288];
};

typedef struct rt_png {
    struct rt_image *image;
    struct rt_code literal, distance;
    u8 palette[768], *window, *row, *above;
    idx chunk;               /* bytes of the chunk not read yet */
    u32 bits, have;          /* bits read but not used yet */
    u32 count, sum_a, sum_b; /* bytes inflated; their Adler-32 */
    int depth, color, parts, pass, passes, filter, broken, done;
    idx width, height, y, at, bytes; /* of this pass: its size; the row, the byte in it, the bytes per row */
} RT_ALIAS rt_png;

typedef char rt_png_fits[sizeof(rt_png) <= IMAGE_STATE ? 1 : -1];

/* ---- the stream of bits in the IDAT chunks ---------------------------------------------------------------------- */

SHARED u32 png_big(const struct rt_image *m, idx at)
{
    return at + 4 > m->n ? 0
                         : (u32)m->in[at] << 24 | (u32)m->in[at + 1] << 16 | (u32)m->in[at + 2] << 8 | m->in[at + 3];
}

SHARED u32 png_byte(rt_png *p)
{
    struct rt_image *const m = p->image;
    while (p->chunk == 0 && !p->broken) { /* skip the checksum and the next chunk's header */
        const u32 size = png_big(m, m->at + 4);
        p->broken = m->n - m->at < 12 || png_big(m, m->at + 8) != 0x49444154 || size > (u32)(m->n - m->at - 12);
        p->chunk = p->broken ? 0 : (idx)size;
        m->at += 12;
    }
    if (p->broken)
        return 0;
    p->chunk--;
    return m->in[m->at++];
}

SHARED u32 png_bits(rt_png *p, u32 n)
{
    for (; p->have < n; p->have += 8)
        p->bits |= png_byte(p) << p->have;
    const u32 v = p->bits & (((u32)1 << n) - 1);
    p->bits >>= n;
    p->have -= n;
    return v;
}

SHARED void png_make_code(rt_png *p, struct rt_code *c, const u8 *length, int n)
{
    u16 next[16];
    i32 room = 1;
    memset(c, 0, sizeof *c);
    for (int i = 0; i < n; i++)
        c->count[length[i]]++;
    c->count[0] = 0;
    next[0] = 0;
    for (int i = 1; i < 16; i++) {
        room = 2 * room - c->count[i];
        next[i] = (u16)(next[i - 1] + c->count[i - 1]);
        p->broken |= room < 0;
    }
    for (int i = 0; i < n; i++)
        if (length[i])
            c->symbol[next[length[i]]++] = (u16)i;
}

/* Decodes a symbol. Codes of one length are consecutive numbers; the next length continues at twice the next number. */
SHARED u32 png_symbol(rt_png *p, const struct rt_code *c)
{
    u32 code = 0, first = 0, before = 0;
    for (int i = 1; i < 16 && !p->broken; i++) {
        code = code << 1 | png_bits(p, 1);
        first <<= 1;
        if (code - first < c->count[i])
            return c->symbol[before + code - first];
        before += c->count[i];
        first += c->count[i];
    }
    p->broken = 1;
    return 0;
}

/* ---- rows and pixels -------------------------------------------------------------------------------------------- */

/* Per pass (7: the only one without interlacing): the first column and row, and their strides. */
static const u8 rt_png_pass[8][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                     {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}, {0, 0, 1, 1}};

/* Starts pass i, or the next one after it that has pixels. */
SHARED void png_start_pass(rt_png *p, int i)
{
    for (p->pass = i; p->pass < p->passes; p->pass++) {
        const u8 *const s = rt_png_pass[p->pass];
        p->width = (p->image->width - s[0] + s[2] - 1) / s[2];
        p->height = (p->image->height - s[1] + s[3] - 1) / s[3];
        if (p->width > 0 && p->height > 0)
            break;
    }
    p->done = p->pass == p->passes;
    p->bytes = (p->width * p->depth * p->parts + 7) / 8;
    p->y = p->at = 0;
    memset(p->above, 0, (size_t)(p->done ? 0 : p->bytes));
}

/* Sample i of the row, scaled to 8 bits; an index into the palette unchanged. */
SHARED u32 png_sample(const rt_png *p, idx i)
{
    const idx bit = i * p->depth;
    if (p->depth >= 8)
        return p->row[bit / 8];
    const u32 top = ((u32)1 << p->depth) - 1, v = (u32)p->row[bit / 8] >> (8 - p->depth - bit % 8) & top;
    return p->color == 3 ? v : v * 255 / top;
}

SHARED void png_put_row(rt_png *p)
{
    const u8 *const s = rt_png_pass[p->pass];
    for (idx x = 0; x < p->width; x++) {
        const idx i = x * p->parts, gray = !(p->color & 2);
        const u32 v = png_sample(p, i);
        const idx to_x = s[0] + x * s[2], to_y = s[1] + p->y * s[3];
        if (p->color == 3)
            image_put(p->image, to_x, to_y, p->palette[v * 3], p->palette[v * 3 + 1], p->palette[v * 3 + 2]);
        else
            image_put(p->image, to_x, to_y, v, gray ? v : png_sample(p, i + 1), gray ? v : png_sample(p, i + 2));
    }
}

/* Takes the next byte of a row: the first one is the filter that predicts the others. */
SHARED void png_row_byte(rt_png *p, u32 v)
{
    if (p->at == 0) {
        p->filter = (int)v;
        p->broken |= v > 4;
    } else {
        const idx i = p->at - 1, back = (p->depth * p->parts + 7) / 8;
        const i32 a = i >= back ? p->row[i - back] : 0, b = p->above[i], c = i >= back ? p->above[i - back] : 0;
        const i32 da = b > c ? b - c : c - b, db = a > c ? a - c : c - a, e = a + b - 2 * c, dc = e < 0 ? -e : e;
        const i32 nearest = da <= db && da <= dc ? a : db <= dc ? b : c; /* to a + b - c */
        const i32 by[5] = {0, a, b, (a + b) / 2, nearest};
        p->row[i] = (u8)(v + (u32)by[p->filter]);
    }
    if (p->broken || p->at++ < p->bytes)
        return;
    png_put_row(p);
    u8 *const swap = p->row;
    p->row = p->above;
    p->above = swap;
    p->at = 0;
    if (++p->y == p->height)
        png_start_pass(p, p->pass + 1);
}

/* ---- inflate ---------------------------------------------------------------------------------------------------- */

SHARED void png_out(rt_png *p, u32 v)
{
    p->window[p->count++ % IMAGE_WINDOW] = (u8)v;
    p->sum_a = (p->sum_a + v) % 65521;
    p->sum_b = (p->sum_b + p->sum_a) % 65521;
    if (!p->done)
        png_row_byte(p, v);
}

SHARED void png_stored(rt_png *p)
{
    p->bits >>= p->have % 8;
    p->have -= p->have % 8;
    const u32 n = png_bits(p, 16), check = png_bits(p, 16);
    p->broken |= (n ^ check) != 0xffff;
    for (u32 i = 0; i < n && !p->broken; i++)
        png_out(p, png_bits(p, 8));
}

SHARED void png_fixed_codes(rt_png *p)
{
    u8 length[288];
    for (int i = 0; i < 288; i++)
        length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    png_make_code(p, &p->literal, length, 288);
    memset(length, 5, 30);
    png_make_code(p, &p->distance, length, 30);
}

SHARED void png_read_codes(rt_png *p)
{
    static const u8 order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    u8 length[320];
    const u32 literals = png_bits(p, 5) + 257, distances = png_bits(p, 5) + 1, lengths = png_bits(p, 4) + 4;
    memset(length, 0, sizeof length);
    for (u32 i = 0; i < lengths; i++)
        length[order[i]] = (u8)png_bits(p, 3);
    png_make_code(p, &p->literal, length, 19);
    for (u32 i = 0; i < literals + distances && !p->broken;) {
        const u32 s = png_symbol(p, &p->literal);
        const u32 again = s < 16    ? 1
                          : s == 16 ? 3 + png_bits(p, 2)
                          : s == 17 ? 3 + png_bits(p, 3)
                                    : 11 + png_bits(p, 7);
        const u32 v = s < 16 ? s : s == 16 && i ? length[i - 1] : 0;
        p->broken |= i + again > literals + distances || (s == 16 && i == 0);
        for (u32 k = 0; k < again && !p->broken; k++)
            length[i++] = (u8)v;
    }
    p->broken |= literals > 286 || distances > 30;
    if (p->broken)
        return;
    png_make_code(p, &p->distance, length + literals, (int)distances);
    png_make_code(p, &p->literal, length, (int)literals);
}

/* Decodes a block: literals, and copies of earlier output with lengths and distances that have extra bits. */
SHARED void png_block(rt_png *p)
{
    while (!p->broken) {
        const u32 s = png_symbol(p, &p->literal);
        if (s == 256)
            return;
        if (s < 256) {
            png_out(p, s);
            continue;
        }
        const u32 i = s - 257, more = i < 8 || i == 28 ? 0 : i / 4 - 1;
        const u32 n = i == 28 ? 258 : i < 8 ? 3 + i : 3 + ((4 + i % 4) << more) + png_bits(p, more);
        const u32 d = png_symbol(p, &p->distance), distant = d < 4 ? 0 : d / 2 - 1;
        const u32 back = d < 4 ? 1 + d : 1 + ((2 + d % 2) << distant) + png_bits(p, distant);
        p->broken |= s > 285 || d > 29 || back > p->count || back > IMAGE_WINDOW;
        for (u32 k = 0; k < n && !p->broken; k++)
            png_out(p, p->window[(p->count - back) % IMAGE_WINDOW]);
    }
}

SHARED void png_inflate(rt_png *p)
{
    const u32 method = png_bits(p, 8), flags = png_bits(p, 8);
    u32 last = 0, sum = 0;
    p->broken |= (method & 15) != 8 || (method << 8 | flags) % 31 || flags & 32;
    while (!last && !p->broken) {
        last = png_bits(p, 1);
        const u32 kind = png_bits(p, 2);
        if (kind == 0) {
            png_stored(p);
            continue;
        }
        if (kind == 1)
            png_fixed_codes(p);
        else
            png_read_codes(p);
        p->broken |= kind == 3;
        png_block(p);
    }
    p->bits >>= p->have % 8;
    p->have -= p->have % 8;
    for (int i = 0; i < 4; i++)
        sum = sum << 8 | png_bits(p, 8);
    p->broken |= !p->done || sum != (p->sum_b << 16 | p->sum_a);
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

/* Reads the header; false: invalid. */
SHARED int png_header(rt_png *p)
{
    const struct rt_image *const m = p->image;
    static const u8 parts[7] = {1, 0, 3, 1, 2, 0, 4},
                    depths[7] = {31, 0, 24, 15, 24, 0, 24}; /* bits 0 to 4: 1 2 4 8 16 */
    if (m->n < 45 || png_big(m, 12) != 0x49484452 || m->in[25] > 6 || m->in[26] || m->in[27] || m->in[28] > 1)
        return 0;
    p->depth = m->in[24];
    p->color = m->in[25];
    p->parts = parts[p->color];
    p->passes = m->in[28] ? 7 : 8;
    int power = 0;
    while (power < 5 && 1 << power != p->depth)
        power++;
    return depths[p->color] >> power & 1;
}

SHARED int png_decode(struct rt_image *m)
{
    rt_png *const p = (rt_png *)(void *)m->scratch;
    memset(p, 0, sizeof *p);
    p->image = m;
    p->sum_a = 1;
    if (!png_header(p))
        return IMAGE_BROKEN;
    const int status = image_open(m, png_big(m, 16), png_big(m, 20));
    if (status)
        return status;
    p->window = m->scratch + IMAGE_STATE;
    p->row = p->window + IMAGE_WINDOW;
    p->above = p->row + (m->width * p->depth * p->parts + 7) / 8;
    png_start_pass(p, p->passes == 7 ? 0 : 7);
    for (m->at = 33; m->n - m->at >= 12;) {
        const u32 size = png_big(m, m->at), kind = png_big(m, m->at + 4);
        if (size > (u32)(m->n - m->at - 12))
            return IMAGE_BROKEN;
        if (kind == 0x504c5445) /* PLTE */
            memcpy(p->palette, m->in + m->at + 8, size < 768 ? size : 768);
        if (kind == 0x49444154) { /* IDAT */
            p->chunk = (idx)size;
            m->at += 8;
            png_inflate(p);
            return p->broken ? IMAGE_BROKEN : RT_OK;
        }
        m->at += 12 + (idx)size;
    }
    return IMAGE_BROKEN;
}
#endif
