/* types.h - what the code of all files has in common: element types, their bits, sizes, status codes. Files made by
 * --single contain the groups that they need. A translation unit may have several, and then has each group once. */
#ifndef ONNXCC_TYPES_H
#define ONNXCC_TYPES_H

/* Element types: one tag each, used as suffix of kernels. Buffers are reused for other types, so all may alias. */
#define RT_ALIAS RT_ATTRIBUTE((may_alias))
#ifndef ONNXCC_INTEGERS
#define ONNXCC_INTEGERS
typedef int8_t RT_ALIAS i8;
typedef uint8_t u8; /* a character type: aliases anyway */
typedef int16_t RT_ALIAS i16;
typedef uint16_t RT_ALIAS u16;
typedef int32_t RT_ALIAS i32;
typedef uint32_t RT_ALIAS u32;
typedef int64_t RT_ALIAS i64;
typedef uint64_t RT_ALIAS u64;
typedef u8 b8; /* bool: 0 or 1 */
#endif
#ifndef ONNXCC_FLOATS
#define ONNXCC_FLOATS
typedef float RT_ALIAS f32;
typedef double RT_ALIAS f64;
#endif
#ifndef ONNXCC_NARROW
#define ONNXCC_NARROW
typedef u16 f16, bf16; /* bit patterns */
typedef u8 f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0;
typedef u8 f4e2m1, f6e2m3, f6e3m2, i4, u4, i2, u2; /* packed bytes: elements are accessed only by LD and ST */
#endif
#ifndef ONNXCC_COMPLEX
#define ONNXCC_COMPLEX
typedef struct {
    f32 re, im;
} RT_ALIAS c64;
typedef struct {
    f64 re, im;
} RT_ALIAS c128;
#endif
#ifndef ONNXCC_STRING
#define ONNXCC_STRING
/* A string: bytes, not followed by a NUL, and their number. 16 bytes on every machine. */
typedef struct onnxcc_string {
    const char *text;
    uint64_t length;
} RT_ATTRIBUTE((aligned(16), may_alias)) onnxcc_string;
#endif
#ifndef ONNXCC_STR
#define ONNXCC_STR
typedef onnxcc_string str;
#endif

#ifndef ONNXCC_IDX
#define ONNXCC_IDX
typedef ptrdiff_t idx; /* a count of elements, or an offset in elements */
#endif
#ifndef ONNXCC_ALIGN
#define ONNXCC_ALIGN
typedef struct {
    unsigned char a[64];
} RT_ATTRIBUTE((aligned(64))) rt_align;
#endif

#ifndef ONNXCC_STATUS
#define ONNXCC_STATUS
/* Status codes of kernels and of the emitted entry. */
enum { RT_OK = 0, RT_BAD_SIZE = 1, RT_BAD_INDEX = 2, RT_BAD_VALUE = 3, RT_BAD_WEIGHTS = 4 };
#endif
#ifndef ONNXCC_STATUS_STATE
#define ONNXCC_STATUS_STATE
enum { RT_BAD_STATE = 5 };
#endif

#ifndef ONNXCC_IMAGE
#define ONNXCC_IMAGE
/* The state of ImageDecoder (image.h). Decoders return RT_OK, RT_BAD_SIZE (no room) or IMAGE_BROKEN. */
struct rt_image {
    const u8 *in;
    idx n, at; /* its bytes; the current position */
    u8 *out, *scratch;
    idx max_height, max_width, height, width;
    int format;
};

/* Decodes JPEG, WebP, TIFF and JPEG 2000. */
#ifdef RT_WEAK
int onnxcc_image_codec(struct rt_image *m) RT_WEAK;
#endif
#endif

/* rt_u32(x) is the bits of the f32 x, rt_f32(b) the float of the bits b; the same of f64. */
#ifdef ONNXCC_PLAIN
#define RT_BITS(n)                                                                                                     \
    RT_INLINE u##n rt_u##n(f##n x)                                                                                     \
    {                                                                                                                  \
        u##n b;                                                                                                        \
        memcpy(&b, &x, sizeof b);                                                                                      \
        return b;                                                                                                      \
    }                                                                                                                  \
    RT_INLINE f##n rt_f##n(u##n x)                                                                                     \
    {                                                                                                                  \
        f##n f;                                                                                                        \
        memcpy(&f, &x, sizeof f);                                                                                      \
        return f;                                                                                                      \
    }
#else
#define RT_BITS(n)                                                                                                     \
    typedef union {                                                                                                    \
        f##n f;                                                                                                        \
        u##n u;                                                                                                        \
    } rt_bits##n;                                                                                                      \
    RT_INLINE u##n rt_u##n(f##n x)                                                                                     \
    {                                                                                                                  \
        rt_bits##n b;                                                                                                  \
        b.f = x;                                                                                                       \
        return b.u;                                                                                                    \
    }                                                                                                                  \
    RT_INLINE f##n rt_f##n(u##n x)                                                                                     \
    {                                                                                                                  \
        rt_bits##n b;                                                                                                  \
        b.u = x;                                                                                                       \
        return b.f;                                                                                                    \
    }
#endif
#ifndef ONNXCC_BITS
#define ONNXCC_BITS
RT_BITS(32)
RT_BITS(64)
#endif

#endif
