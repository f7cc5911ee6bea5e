/* codecs.c - the image formats that ImageDecoder decodes by libraries: JPEG, WebP, TIFF, JPEG 2000. For programs on an
 * operating system only: it allocates, and needs libjpeg, libwebp, libtiff and libopenjp2. The kernel (image.h) uses it
 * if it is linked, as build/onnxcc-codecs.o; without it these formats are an error status. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <openjpeg.h>
#include <tiffio.h>
#include <webp/decode.h>

#include "image.h"

/* ---- JPEG ------------------------------------------------------------------------------------------------------- */

typedef struct JpegError {
    struct jpeg_error_mgr manager;
    jmp_buf exit;
} JpegError;

static void jpeg_exit(j_common_ptr c) { longjmp(((JpegError *)(void *)c->err)->exit, 1); }
static void jpeg_quiet(j_common_ptr c) { (void)c; }

static int decode_jpeg(struct rt_image *m)
{
    struct jpeg_decompress_struct d;
    JpegError error;
    JSAMPLE *volatile row = NULL;
    volatile int status = IMAGE_BROKEN;
    d.err = jpeg_std_error(&error.manager);
    error.manager.error_exit = jpeg_exit;
    error.manager.output_message = jpeg_quiet;
    if (setjmp(error.exit) == 0) {
        jpeg_create_decompress(&d);
        jpeg_mem_src(&d, m->in, (unsigned long)m->n);
        jpeg_read_header(&d, TRUE);
        d.out_color_space = d.num_components == 4 ? JCS_CMYK : JCS_RGB;
        jpeg_start_decompress(&d);
        status = image_open(m, d.output_width, d.output_height);
        row = status ? NULL : malloc((size_t)d.output_width * (size_t)d.output_components);
        while (row && d.output_scanline < d.output_height) {
            const idx y = (idx)d.output_scanline, n = d.output_components;
            JSAMPLE *at = row;
            jpeg_read_scanlines(&d, &at, 1);
            for (idx x = 0; x < m->width; x++, at += n) {
                const u32 k = n == 4 ? at[3] : 255; /* CMYK as Adobe stores it: inverted */
                image_put(m, x, y, at[0] * k / 255, at[1] * k / 255, at[2] * k / 255);
            }
        }
        if (row)
            jpeg_finish_decompress(&d);
    } else
        status = IMAGE_BROKEN;
    jpeg_destroy_decompress(&d);
    free(row);
    return status;
}

/* ---- WebP ------------------------------------------------------------------------------------------------------- */

static int decode_webp(struct rt_image *m)
{
    int width, height, status;
    if (!WebPGetInfo(m->in, (size_t)m->n, &width, &height))
        return IMAGE_BROKEN;
    if ((status = image_open(m, width, height)) != RT_OK)
        return status;
    u8 *const rgb = WebPDecodeRGB(m->in, (size_t)m->n, &width, &height);
    for (idx i = 0; rgb && i < m->width * m->height; i++)
        image_put(m, i % m->width, i / m->width, rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
    WebPFree(rgb);
    return rgb ? RT_OK : IMAGE_BROKEN;
}

/* ---- input of TIFF and JPEG 2000: the file's bytes in memory, from m->at on -------------------------------------- */

static idx memory_read(void *to, size_t n, struct rt_image *m)
{
    const idx left = m->n - m->at, k = left < (idx)n ? left : (idx)n;
    memcpy(to, m->in + m->at, (size_t)k);
    m->at += k;
    return k;
}

static i64 memory_seek(struct rt_image *m, i64 to)
{
    m->at = to < 0 ? 0 : to > m->n ? m->n : (idx)to;
    return m->at;
}

static tmsize_t tiff_read(thandle_t h, void *to, tmsize_t n) { return memory_read(to, (size_t)n, h); }
static tmsize_t tiff_write(thandle_t h, void *from, tmsize_t n) { return (void)h, (void)from, (void)n, 0; }
static int tiff_close(thandle_t h) { return (void)h, 0; }
static toff_t tiff_size(thandle_t h) { return (toff_t)((struct rt_image *)h)->n; }
static toff_t tiff_seek(thandle_t h, toff_t to, int from)
{
    struct rt_image *const m = h;
    return (toff_t)memory_seek(m, (from == SEEK_SET ? 0 : from == SEEK_CUR ? m->at : m->n) + (i64)to);
}

#if TIFFLIB_VERSION >= 20221213
static int tiff_quiet(TIFF *t, void *user, const char *module, const char *format, va_list args)
{
    return (void)t, (void)user, (void)module, (void)format, (void)args, 1;
}

static TIFF *tiff_open(struct rt_image *m)
{
    TIFFOpenOptions *const how = TIFFOpenOptionsAlloc();
    if (!how)
        return NULL;
    TIFFOpenOptionsSetWarningHandlerExtR(how, tiff_quiet, NULL);
    TIFFOpenOptionsSetErrorHandlerExtR(how, tiff_quiet, NULL);
    TIFF *const t =
        TIFFClientOpenExt("memory", "rm", m, tiff_read, tiff_write, tiff_seek, tiff_close, tiff_size, NULL, NULL, how);
    TIFFOpenOptionsFree(how);
    return t;
}
#else /* older versions have only global handlers */
static TIFF *tiff_open(struct rt_image *m)
{
    TIFFSetWarningHandler(NULL);
    TIFFSetErrorHandler(NULL);
    return TIFFClientOpen("memory", "rm", m, tiff_read, tiff_write, tiff_seek, tiff_close, tiff_size, NULL, NULL);
}
#endif

static int decode_tiff(struct rt_image *m)
{
    u32 width = 0, height = 0, *rgba = NULL;
    TIFF *const t = tiff_open(m);
    if (!t)
        return IMAGE_BROKEN;
    TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(t, TIFFTAG_IMAGELENGTH, &height);
    int status = image_open(m, width, height);
    if (status == RT_OK && (rgba = malloc((size_t)width * height * sizeof *rgba)) &&
        TIFFReadRGBAImageOriented(t, width, height, rgba, ORIENTATION_TOPLEFT, 1))
        for (idx i = 0; i < m->width * m->height; i++)
            image_put(m, i % m->width, i / m->width, TIFFGetR(rgba[i]), TIFFGetG(rgba[i]), TIFFGetB(rgba[i]));
    else if (status == RT_OK)
        status = IMAGE_BROKEN;
    free(rgba);
    TIFFClose(t);
    return status;
}

static OPJ_SIZE_T jp2_read(void *to, OPJ_SIZE_T n, void *user)
{
    const idx k = memory_read(to, n, user);
    return k > 0 ? (OPJ_SIZE_T)k : (OPJ_SIZE_T)-1;
}
static OPJ_OFF_T jp2_skip(OPJ_OFF_T n, void *user)
{
    struct rt_image *const m = user;
    const idx before = m->at;
    return memory_seek(m, m->at + n) - before;
}
static OPJ_BOOL jp2_seek(OPJ_OFF_T to, void *user) { return memory_seek(user, to) == to; }

/* Component c of a pixel, as 8 bits. */
static u32 jp2_part(const opj_image_t *image, u32 c, idx x, idx y)
{
    const opj_image_comp_t *const p = &image->comps[c];
    const idx i = y / (idx)p->dy * (idx)p->w + x / (idx)p->dx;
    const i64 v = i < (idx)p->w * (idx)p->h ? p->data[i] + (p->sgnd ? (i64)1 << (p->prec - 1) : 0) : 0;
    const i64 w = p->prec > 8 ? v >> (p->prec - 8) : p->prec < 8 ? v * 255 / ((1 << p->prec) - 1) : v;
    return (u32)(w < 0 ? 0 : w > 255 ? 255 : w);
}

static int decode_jp2(struct rt_image *m)
{
    opj_dparameters_t how;
    opj_image_t *image = NULL;
    int status = IMAGE_BROKEN;
    opj_codec_t *const codec = opj_create_decompress(m->in[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    opj_stream_t *const s = opj_stream_default_create(OPJ_TRUE);
    opj_set_default_decoder_parameters(&how);
    opj_stream_set_read_function(s, jp2_read);
    opj_stream_set_skip_function(s, jp2_skip);
    opj_stream_set_seek_function(s, jp2_seek);
    opj_stream_set_user_data(s, m, NULL);
    opj_stream_set_user_data_length(s, (OPJ_UINT64)m->n);
    if (opj_setup_decoder(codec, &how) && opj_read_header(s, codec, &image) &&
        (status = image_open(m, (i64)image->x1 - image->x0, (i64)image->y1 - image->y0)) == RT_OK) {
        status = opj_decode(codec, s, image) && image->numcomps ? RT_OK : IMAGE_BROKEN;
        for (u32 c = 0; c < image->numcomps; c++)
            status = image->comps[c].data && image->comps[c].prec <= 31 ? status : IMAGE_BROKEN;
        const u32 color = status == RT_OK && image->numcomps >= 3;
        for (idx i = 0; status == RT_OK && i < m->width * m->height; i++) {
            const idx x = i % m->width, y = i / m->width;
            image_put(m, x, y, jp2_part(image, 0, x, y), jp2_part(image, color, x, y),
                      jp2_part(image, 2 * color, x, y));
        }
    }
    opj_image_destroy(image);
    opj_destroy_codec(codec);
    opj_stream_destroy(s);
    return status;
}

int onnxcc_image_codec(struct rt_image *m)
{
    const u32 first = m->in[0] | (u32)m->in[1] << 8;
    return first == 0xd8ff                      ? decode_jpeg(m)
           : first == 0x4952                    ? decode_webp(m)
           : first == 0x4949 || first == 0x4d4d ? decode_tiff(m)
                                                : decode_jp2(m);
}
