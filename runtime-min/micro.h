/* micro.h - what 8-bit kernels use of a small processor: the products of 16-bit pairs (SMLAD) of ARM's
 * DSP extension, the vectors of its MVE, and requantisation with a floating-point unit or without one. */
#ifndef ONNXCC_MICRO_H
#define ONNXCC_MICRO_H
#include "dot.h"

#if defined __ARM_FEATURE_MVE && __ARM_FEATURE_MVE & 2 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_mve.h>
#define MICRO_MVE 1
#else
#define MICRO_MVE 0
#endif
#define MICRO_DSP (DOT == 2 && !MICRO_MVE)

/* Are floats computed by functions, while 64-bit products are cheap? */
#ifndef MICRO_FIXED
#if (defined __arm__ && !(defined __ARM_FP && __ARM_FP & 4)) || (defined __riscv && !defined __riscv_flen)
#define MICRO_FIXED 1
#else
#define MICRO_FIXED 0
#endif
#endif

/* gcc's scheduler ignores the number of registers, and spills sums in loops that need all of them. */
#if defined __GNUC__ && !defined __clang__ && (defined __arm__ || defined __riscv) && defined __OPTIMIZE__
#define MICRO_IN_ORDER RT_ATTRIBUTE((optimize("no-schedule-insns")))
#else
#define MICRO_IN_ORDER
#endif

/* Are 64-bit products computed by functions, too? */
#ifndef MICRO_NARROW
#if defined __thumb__ && !defined __thumb2__
#define MICRO_NARROW 1
#else
#define MICRO_NARROW 0
#endif
#endif

/* The pixels that are multiplied at a time: the sums fit the registers. */
#define MICRO_ROWS (MICRO_NARROW ? 2 : 3)

/* Are there registers for twelve sums? */
#ifdef __riscv
#define MICRO_MANY_REGISTERS 1
#else
#define MICRO_MANY_REGISTERS 0
#endif

#define MICRO_LOW_i8 (-128)
#define MICRO_LOW_u8 0

/* The low, and then the high 8 bits of both halves of a word. */
#if MICRO_DSP
#define MICRO_HALVES(name, instruction)                                                                                \
    RT_INLINE i32 micro_##name(i32 v)                                                                                  \
    {                                                                                                                  \
        i32 r;                                                                                                         \
        __asm__(instruction : "=r"(r) : "r"(v));                                                                       \
        return r;                                                                                                      \
    }
MICRO_HALVES(even_i8, "sxtb16 %0, %1")
MICRO_HALVES(odd_i8, "sxtb16 %0, %1, ror #8")
MICRO_HALVES(even_u8, "uxtb16 %0, %1")
MICRO_HALVES(odd_u8, "uxtb16 %0, %1, ror #8")
#undef MICRO_HALVES
/* The low halves of a and b, and the high ones. */
RT_INLINE i32 micro_low(i32 a, i32 b)
{
    i32 r;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
RT_INLINE i32 micro_high(i32 a, i32 b)
{
    i32 r;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(r) : "r"(b), "r"(a));
    return r;
}
#endif

/* c + a * b, modulo 2^32. In assembly, as gcc 12 reorders the multiplications and additions of C code, and spills
 * sums. */
RT_INLINE i32 micro_mac(i32 c, i32 a, i32 b)
{
#if defined __GNUC__ && defined __thumb2__
    __asm__("mla %0, %1, %2, %0" : "+r"(c) : "r"(a), "r"(b));
    return c;
#elif defined __GNUC__ && defined __thumb__ /* sums in the registers that only additions can use */
    __asm__("add %0, %1" : "+h"(c) : "l"((u32)a * (u32)b));
    return c;
#elif defined __GNUC__ && defined __riscv
    __asm__("add %0, %0, %1" : "+r"(c) : "r"((u32)a * (u32)b));
    return c;
#else
    return (i32)((u32)c + (u32)a * (u32)b);
#endif
}

RT_INLINE const i32 *micro_words(const void *p) { return (const i32 *)p; }
/* Word i of the head of a panel, whose words are little-endian. */
RT_INLINE i32 micro_head(const i32 *head, idx i)
{
#if defined RT_BIG_ENDIAN || defined ONNXCC_PLAIN
    return (i32)rt_get32(head + i);
#else
    return head[i];
#endif
}
RT_INLINE i32 micro_word(const void *p)
{
    i32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The integer nearest to c * scale plus zero, within the range of 8 bits; exactly as dot_scaled_one(). */
SHARED i32 micro_exact(i32 c, f32 scale, i32 zero, i32 low)
{
    return dot_scaled_one(c, scale, (f32)(low - zero), (f32)(low + 255 - zero), zero);
}

RT_INLINE i32 micro_clamp(i32 v, i32 lo, i32 hi)
{
    v = v < lo ? lo : v;
    return v > hi ? hi : v;
}

#if MICRO_FIXED
/* The upper half of a product, or up to 2 less. */
RT_INLINE i32 micro_upper(i32 a, i32 b)
{
#if MICRO_NARROW
    const i32 ah = a >> 16, al = (i32)((u32)a & 0xffff), bh = b >> 16, bl = (i32)((u32)b & 0xffff);
    return ah * bh + (ah * bl >> 16) + (i32)((u32)al * (u32)bh >> 16); /* b is positive */
#else
    return (i32)((i64)a * b >> 32);
#endif
}

/* In integers: the scale has 24 significant bits, and so has c, so that the upper half of their product, c * scale *
 * 2^shift, has all that decides except near a tie, where the rounding of the product to a float matters. */
RT_INLINE i32 micro_scaled(i32 c, f32 scale, i32 zero, i32 low)
{
    const u32 bits = rt_u32(scale);
    const i32 shift = 132 - (i32)(bits >> 23); /* out of bounds for a negative scale */
    if (shift >= 2 && shift <= 30 && (u32)c + 0x1000000u < 0x2000000u) {
        const i32 mantissa = (i32)(((bits & 0x7fffff) | 0x800000) << 7);
        const u32 unit = 1u << shift, near = 2 + 2 * MICRO_NARROW + (unit >> 14);
        const i32 v = micro_upper((i32)((u32)c << 7), mantissa) + (i32)(unit >> 1);
        if ((((u32)v + near) & (unit - 1)) > 2 * near + 1)
            return micro_clamp((v >> shift) + zero, low, low + 255);
    }
    return micro_exact(c, scale, zero, low);
}
#elif DOT == 2
RT_INLINE i32 micro_scaled(i32 c, f32 scale, i32 zero, i32 low)
{
    f32 v = (f32)c * scale;
    i32 r;
    __asm__("vcvtr.s32.f32 %0, %0" : "+t"(v));
    memcpy(&r, &v, sizeof r);
    r = __qadd(r, zero);
    if (low)
        __asm__("ssat %0, #8, %0" : "+r"(r));
    else
        __asm__("usat %0, #8, %0" : "+r"(r));
    return r;
}
#else
RT_INLINE i32 micro_scaled(i32 c, f32 scale, i32 zero, i32 low)
{
    return dot_scaled_one(c, scale, (f32)(low - zero), (f32)(low + 255 - zero), zero);
}
#endif

#if MICRO_MVE
/* Four sums, scaled and rounded: as micro_scaled(), before the range of 8 bits. */
RT_INLINE int32x4_t micro_scaled_4(int32x4_t c, float32x4_t scale, i32 zero)
{
    return vqaddq_n_s32(vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(c), scale)), zero);
}

/* The low bytes of 16-bit lanes, saturated; those of 32-bit lanes, of which the upper halves are undefined. */
RT_INLINE int16x8_t micro_narrow_i8(int16x8_t v) { return (int16x8_t)vqmovnbq_s16((int8x16_t)v, v); }
RT_INLINE int16x8_t micro_narrow_u8(int16x8_t v) { return (int16x8_t)vqmovunbq_s16((uint8x16_t)v, v); }
RT_INLINE int16x8_t micro_wide_i8(const i8 *p) { return vldrbq_s16(p); }
RT_INLINE int16x8_t micro_wide_u8(const u8 *p) { return (int16x8_t)vldrbq_u16(p); }

/* c + 16 products. */
RT_INLINE i32 micro_dot_i8(i32 c, const i8 *x, const i8 *w) { return vmladavaq_s8(c, vldrbq_s8(x), vldrbq_s8(w)); }
RT_INLINE i32 micro_dot_u8(i32 c, const u8 *x, const i8 *w)
{
    c = vmladavaq_s16(c, micro_wide_u8(x), micro_wide_i8(w));
    return vmladavaq_s16(c, micro_wide_u8(x + 8), micro_wide_i8(w + 8));
}
#endif
#endif
