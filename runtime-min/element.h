/* element.h - one element of each storage type t, from and to the type that kernels compute in (A = RT_ARITH_t):
 *
 *   A ld_t(x, i)         element i
 *   void st_t(y, i, v)   stores v as element i, rounded by rnd_t; st_t(y, i, ld_t(x, i)) copies every bit
 *                        (of a bool: 0 or 1)
 *   A rnd_t(v)           what ld_t would read back: integers wrap, bool is v != 0, floats round to nearest even and
 *                        overflow to infinity (f16 bf16) or to their largest number (float8, float6, float4)
 *   to_B_A(x)            between arithmetic types: to_f32_i32 makes an f32 of an i32. Float to integer truncates,
 *                        saturates, and gives 0 for NaN; integer to integer wraps
 *   odd_f32_A(x)         to f32, rounded to odd: rounding that again to a narrower float is one correct rounding of x
 *   cast_t_A(x)          ONNX's Cast with saturate = 1 to t, as an RT_ARITH_t
 *   cast_t_wrap_A(x)     with saturate = 0 (float8 kinds)
 *   cast_f8e8m0_R_A(x)   with round_mode R = down, nearest (up has no name), and cast_f8e8m0_R_wrap_A(x)
 *
 * code_t and value_t convert a narrow float to its bit pattern and back. */
#ifndef ONNXCC_ELEMENT_H
#define ONNXCC_ELEMENT_H

/* ---- on bit patterns ------------------------------------------------------------------------------------ */

/* c ? a : b for c 0 or 1, on the bits: compilers may keep a branch for ?: on floats, never for this */
HELPER u32 rt_pick32(u32 c, u32 a, u32 b) { return b ^ ((a ^ b) & (0 - c)); }
HELPER u64 rt_pick64(u64 c, u64 a, u64 b) { return b ^ ((a ^ b) & (0 - c)); }
HELPER f32 rt_pick_f32(u32 c, f32 a, f32 b) { return rt_f32(rt_pick32(c, rt_u32(a), rt_u32(b))); }
HELPER f64 rt_pick_f64(u64 c, f64 a, f64 b) { return rt_f64(rt_pick64(c, rt_u64(a), rt_u64(b))); }

/* 32 bits among bytes: little-endian on every machine. */
#ifdef ONNXCC_PLAIN /* and of any order of bytes */
HELPER u32 rt_get32(const void *p)
{
    const u8 *const b = (const u8 *)p;
    return (u32)b[0] | (u32)b[1] << 8 | (u32)b[2] << 16 | (u32)b[3] << 24;
}
HELPER void rt_put32(void *p, u32 v)
{
    u8 *const b = (u8 *)p;
    for (int i = 0; i < 4; i++)
        b[i] = (u8)(v >> (8 * i));
}
#else
HELPER u32 rt_get32(const void *p)
{
    u32 v;
    memcpy(&v, p, sizeof v);
#ifdef RT_BIG_ENDIAN
    v = __builtin_bswap32(v);
#endif
    return v;
}
HELPER void rt_put32(void *p, u32 v)
{
#ifdef RT_BIG_ENDIAN
    v = __builtin_bswap32(v);
#endif
    memcpy(p, &v, sizeof v);
}
#endif

/* ---- between arithmetic types --------------------------------------------------------------------------- */

#define RT_CONVERT(to, from) HELPER to to_##to##_##from(from x) { return (to)x; }
RT_CONVERT(f32, f32)
RT_CONVERT(f32, f64)
RT_CONVERT(f32, i32)
RT_CONVERT(f32, u32)
RT_CONVERT(f32, i64)
RT_CONVERT(f32, u64)
RT_CONVERT(f64, f32)
RT_CONVERT(f64, f64)
RT_CONVERT(f64, i32)
RT_CONVERT(f64, u32)
RT_CONVERT(f64, i64)
RT_CONVERT(f64, u64)
RT_CONVERT(i32, i32)
RT_CONVERT(i32, u32)
RT_CONVERT(i32, i64)
RT_CONVERT(i32, u64)
RT_CONVERT(u32, i32)
RT_CONVERT(u32, u32)
RT_CONVERT(u32, i64)
RT_CONVERT(u32, u64)
RT_CONVERT(i64, i32)
RT_CONVERT(i64, u32)
RT_CONVERT(i64, i64)
RT_CONVERT(i64, u64)
RT_CONVERT(u64, i32)
RT_CONVERT(u64, u32)
RT_CONVERT(u64, i64)
RT_CONVERT(u64, u64)

/* Floats to integers: the value is first brought into the range where C defines the conversion. `top` is the first
 * power of two that does not fit. Unsigned: the upper half of the range is converted minus top / 2. */
#define RT_TO_SIGNED(to, from, top, max)                                                                               \
    HELPER to to_##to##_##from(from x)                                                                                 \
    {                                                                                                                  \
        const from low = rt_pick_##from(x < -(top), -(top), rt_pick_##from(x < (top), x, 0)); /* NaN too */            \
        const to over = (to)-(to)(x >= (top));                                                                         \
        return (to)((to)low | (over & (max)));                                                                         \
    }
RT_TO_SIGNED(i32, f32, 2147483648.0f, INT32_MAX)
RT_TO_SIGNED(i32, f64, 2147483648.0, INT32_MAX)
RT_TO_SIGNED(i64, f32, 9223372036854775808.0f, INT64_MAX)
RT_TO_SIGNED(i64, f64, 9223372036854775808.0, INT64_MAX)
#define RT_TO_UNSIGNED(to, half, from, top)                                                                            \
    HELPER to to_##to##_##from(from x)                                                                                 \
    {                                                                                                                  \
        const from in = rt_pick_##from((x > 0) & (x < (top)), x, 0);                                                   \
        const to over = (to)(0 - (to)(x >= (top))), second = (to)(in >= (top) / 2);                                    \
        const half part = (half)rt_pick_##from(in >= (top) / 2, in - (top) / 2, in);                                   \
        return ((to)part + (second << (sizeof(to) * 8 - 1))) | over;                                                   \
    }
RT_TO_UNSIGNED(u32, i32, f32, 4294967296.0f)
RT_TO_UNSIGNED(u32, i32, f64, 4294967296.0)
RT_TO_UNSIGNED(u64, i64, f32, 18446744073709551616.0f)
RT_TO_UNSIGNED(u64, i64, f64, 18446744073709551616.0)

HELPER f32 odd_f32_f32(f32 x) { return x; }
HELPER f32 odd_f32_f64(f64 x)
{
    const f32 nearest = (f32)x;
    const f64 back = (f64)nearest;
    const u32 less = x > back, more = x < back;
    const u32 away = (less & (x < 0)) | (more & (x > 0)); /* rounded away from zero: step back first */
    return rt_f32((rt_u32(nearest) - away) | less | more);
}
HELPER f32 odd_f32_i32(i32 x) { return odd_f32_f64((f64)x); }
HELPER f32 odd_f32_u32(u32 x) { return odd_f32_f64((f64)x); }
HELPER f32 odd_f32_u64(u64 x)
{
    const u64 tail = x & 0x7ff, head = x - tail; /* 53 bits; what is cut off leaves a sticky bit */
    return odd_f32_f64((f64)(x >> 53 == 0 ? x : head | (u64)(tail != 0) << 11));
}
HELPER f32 odd_f32_i64(i64 x)
{
    const f32 y = odd_f32_u64(x < 0 ? 0 - (u64)x : (u64)x);
    return x < 0 ? -y : y;
}

/* ---- narrow floats: sign, `e` bits of exponent, `m` bits of mantissa, 2^(1-bias) the smallest normal number ---- */

/* Magnitude code to |value|, without infinities and NaN. */
HELPER u32 rt_widen(u32 mag, int m, int bias)
{
    const u32 normal = (mag << (23 - m)) + ((u32)(127 - bias) << 23);
    const f32 step = rt_f32((u32)(127 + 1 - bias - m) << 23); /* of the subnormal numbers */
    return rt_pick32(mag >> m == 0, rt_u32((f32)(i32)mag * step), normal);
}
/* |value| to magnitude code, rounded to nearest even; finite values only, may exceed the format's largest code. */
HELPER u32 rt_narrow(u32 abs, int m, int bias)
{
    const int cut = 23 - m;
    const u32 r = abs - ((u32)(127 - bias) << 23), normal = (r + (((u32)1 << (cut - 1)) - 1) + ((r >> cut) & 1)) >> cut;
    const f32 magic = rt_f32((u32)(127 + 23 + 1 - bias - m) << 23); /* its last place is the subnormal step */
    const u32 sub = rt_u32(rt_f32(abs) + magic) - rt_u32(magic);
    return rt_pick32(abs < (u32)(128 - bias) << 23, sub, normal);
}

/* A NaN's code: what fits of its payload, or else the quiet one. inf: infinity's code. */
HELPER u32 rt_nan(u32 abs, int m, u32 inf)
{
    const u32 payload = (abs >> (23 - m)) & (((u32)1 << m) - 1);
    return inf | payload | (u32)(payload == 0) << (m - 1);
}

HELPER f32 value_f16(u32 c)
{
    const u32 mag = c & 0x7fff;
    const u32 w = rt_pick32(mag >= 0x7c00, (mag << 13) + ((u32)112 << 23) + ((u32)112 << 23), rt_widen(mag, 10, 15));
    return rt_f32(w | (c & 0x8000) << 16);
}
HELPER u32 code_f16(f32 x)
{
    const u32 b = rt_u32(x), abs = b & 0x7fffffff, r = rt_narrow(abs, 10, 15);
    const u32 number = rt_pick32(r > 0x7c00, 0x7c00, r);
    return rt_pick32(abs > 0x7f800000, rt_nan(abs, 10, 0x7c00), number) | (b & 0x80000000) >> 16;
}
HELPER f32 value_bf16(u32 c) { return rt_f32(c << 16); }
HELPER u32 code_bf16(f32 x)
{
    const u32 b = rt_u32(x);
    const u32 nan = rt_nan(b, 7, 0x7f80) | b >> 31 << 15;
    return rt_pick32((b & 0x7fffffff) > 0x7f800000, nan, (b + 0x7fff + ((b >> 16) & 1)) >> 16);
}

/* float8: `max` the largest number's code, `inf` the code of infinity, `nan` of NaN; `zero`: -0 exists, else its code
 * is NaN's. Three ways to store what is too large, over: RT_EXACT numbers saturate, infinity stays where there is one;
 * RT_SATURATE, infinity too; RT_WRAP, infinity or NaN. */
enum { RT_EXACT, RT_SATURATE, RT_WRAP };
HELPER u32 rt_code8(f32 x, int m, int bias, u32 max, u32 inf, u32 nan, int over, int zero)
{
    const u32 b = rt_u32(x), abs = b & 0x7fffffff, s = b >> 31 << 7, r = rt_narrow(abs, m, bias);
    const u32 large = over == RT_WRAP    ? inf
                      : over == RT_EXACT ? rt_pick32(abs == 0x7f800000, inf == nan ? max : inf, max)
                                         : max;
    const u32 not_number = inf == nan ? nan : rt_nan(abs, m, inf);
    const u32 mag = rt_pick32(abs > 0x7f800000, not_number, rt_pick32(abs == 0x7f800000 || r > max, large, r));
    return zero ? mag | s : rt_pick32(mag == 0 || mag == 0x80, mag, mag | s); /* zero: -0 and -NaN exist */
}
HELPER f32 rt_value8(u32 c, int m, int bias, u32 inf, u32 nan, int zero)
{
    const u32 mag = zero ? c & 0x7f : rt_pick32(c == 0x80, 0x80, c & 0x7f);
    const u32 not_number = inf == nan ? 0x7fc00000 : 0x7f800000 | (mag - inf) << (23 - m);
    const u32 w = rt_pick32((u32)(mag > inf) | (mag == nan), not_number,
                            rt_pick32(mag == inf, 0x7f800000, rt_widen(mag, m, bias)));
    return rt_f32(w | (zero ? (c & 0x80) << 24 : rt_pick32(c == 0x80, 0, (c & 0x80) << 24)));
}
#define RT_FLOAT8(t, m, bias, max, inf, nan, zero)                                                                     \
    HELPER u32 code_##t(f32 x) { return rt_code8(x, m, bias, max, inf, nan, RT_EXACT, zero); }                         \
    HELPER u32 code_##t##_sat(f32 x) { return rt_code8(x, m, bias, max, inf, nan, RT_SATURATE, zero); }                \
    HELPER u32 code_##t##_wrap(f32 x) { return rt_code8(x, m, bias, max, inf, nan, RT_WRAP, zero); }                   \
    HELPER f32 value_##t(u32 c) { return rt_value8(c, m, bias, inf, nan, zero); }
#define RT_EACH_FLOAT8(X) X(f8e4m3fn) X(f8e4m3fnuz) X(f8e5m2) X(f8e5m2fnuz)
RT_FLOAT8(f8e4m3fn, 3, 7, 0x7e, 0x7f, 0x7f, 1)
RT_FLOAT8(f8e4m3fnuz, 3, 8, 0x7f, 0x80, 0x80, 0)
RT_FLOAT8(f8e5m2, 2, 15, 0x7b, 0x7c, 0x7e, 1)
RT_FLOAT8(f8e5m2fnuz, 2, 16, 0x7f, 0x80, 0x80, 0)

/* float8e8m0: a power of two, 2^(c - 127), or NaN (255); the sign of x is ignored. The step between codes 0 and 1 lies
 * in float's subnormal numbers, where half the mantissa counts. round: up, down, nearest with ties up. */
enum { RT_UP, RT_DOWN, RT_NEAREST };
HELPER u32 rt_code_e8m0(f32 x, int round, int saturate)
{
    const u32 abs = rt_u32(x) & 0x7fffffff, e = abs >> 23, m = abs & 0x7fffff, sub = e == 0;
    const u32 up = rt_pick32(sub, m > 0x400000, m != 0), half = m >= rt_pick32(sub, 0x600000, 0x400000);
    const u32 c = e + (round == RT_UP ? up : round == RT_NEAREST ? half : 0);
    const u32 out = c >= 255 || (!saturate && abs < 0x400000);
    return rt_pick32(out, saturate && abs <= 0x7f800000 ? 254 : 255, c);
}
HELPER u32 code_f8e8m0(f32 x) { return rt_code_e8m0(x, RT_UP, 1); }
HELPER f32 value_f8e8m0(u32 c) { return rt_f32(rt_pick32(c == 0, 0x400000, rt_pick32(c == 255, 0x7fc00000, c << 23))); }

/* float4 and float6 have numbers only. NaN becomes a zero of the other sign, as in ml_dtypes. */
HELPER u32 rt_code_small(f32 x, int e, int m, int bias)
{
    const u32 b = rt_u32(x), abs = b & 0x7fffffff, r = rt_narrow(abs, m, bias), max = ((u32)1 << (e + m)) - 1;
    const u32 nan = abs > 0x7f800000;
    return rt_pick32(nan, 0, rt_pick32(r > max, max, r)) | (b >> 31 ^ nan) << (e + m);
}
HELPER f32 rt_value_small(u32 c, int e, int m, int bias)
{
    return rt_f32(rt_widen(c & (((u32)1 << (e + m)) - 1), m, bias) | (c >> (e + m)) << 31);
}
#define RT_SMALL(t, e, m, bias)                                                                                        \
    HELPER u32 code_##t(f32 x) { return rt_code_small(x, e, m, bias); }                                                \
    HELPER f32 value_##t(u32 c) { return rt_value_small(c, e, m, bias); }
RT_SMALL(f4e2m1, 2, 1, 1)
RT_SMALL(f6e2m3, 2, 3, 1)
RT_SMALL(f6e3m2, 3, 2, 3)

/* ---- packed elements: the first in the low bits ------------------------------------------------------------ */

HELPER u32 rt_get4(const u8 *x, idx i) { return (u32)x[i >> 1] >> ((i & 1) * 4) & 15; }
HELPER void rt_put4(u8 *y, idx i, u32 c)
{
    const int s = (int)(i & 1) * 4;
    y[i >> 1] = (u8)((y[i >> 1] & ~(15u << s)) | (c & 15) << s);
}
HELPER u32 rt_get2(const u8 *x, idx i) { return (u32)x[i >> 2] >> ((i & 3) * 2) & 3; }
HELPER void rt_put2(u8 *y, idx i, u32 c)
{
    const int s = (int)(i & 3) * 2;
    y[i >> 2] = (u8)((y[i >> 2] & ~(3u << s)) | (c & 3) << s);
}
/* Four in three bytes; an element that lies in one byte touches only that one. */
HELPER u32 rt_get6(const u8 *x, idx i)
{
    const idx at = (i * 6) >> 3;
    const int s = (int)((i * 6) & 7);
    return ((u32)x[at] | (u32)x[at + (s > 2)] << 8) >> s & 63;
}
HELPER void rt_put6(u8 *y, idx i, u32 c)
{
    const idx at = (i * 6) >> 3;
    const int s = (int)((i * 6) & 7);
    y[at] = (u8)((y[at] & ~(63u << s)) | (c & 63) << s);
    if (s > 2)
        y[at + 1] = (u8)((y[at + 1] & ~(63u >> (8 - s))) | (c & 63) >> (8 - s));
}

/* ---- loads and stores ------------------------------------------------------------------------------------------ */

#define RT_PLAIN(t, A_, value)                                                                                         \
    HELPER A_ ld_##t(const t *x, idx i) { return (A_)(x[i]); }                                                         \
    HELPER A_ rnd_##t(A_ v) { return (A_)(value); }                                                                    \
    HELPER void st_##t(t *y, idx i, A_ v) { y[i] = (t)(value); }
RT_PLAIN(f32, f32, v)
RT_PLAIN(f64, f64, v)
RT_PLAIN(i32, i32, v)
RT_PLAIN(u32, u32, v)
RT_PLAIN(i64, i64, v)
RT_PLAIN(u64, u64, v)
RT_PLAIN(i8, i32, (i8)v)
RT_PLAIN(i16, i32, (i16)v)
RT_PLAIN(u8, u32, (u8)v)
RT_PLAIN(u16, u32, (u16)v)
HELPER c128 ld_c128(const c128 *x, idx i) { return x[i]; }
HELPER void st_c128(c128 *y, idx i, c128 v) { y[i] = v; }
HELPER str ld_str(const str *x, idx i) { return x[i]; }
HELPER void st_str(str *y, idx i, str v) { y[i] = v; }
HELPER u32 ld_b8(const b8 *x, idx i) { return x[i] != 0; }
HELPER u32 rnd_b8(u32 v) { return v != 0; }
HELPER void st_b8(b8 *y, idx i, u32 v) { y[i] = v != 0; }

#define RT_CODED(t)                                                                                                    \
    HELPER f32 ld_##t(const t *x, idx i) { return value_##t(x[i]); }                                                   \
    HELPER f32 rnd_##t(f32 v) { return value_##t(code_##t(v)); }                                                       \
    HELPER void st_##t(t *y, idx i, f32 v) { y[i] = (t)code_##t(v); }
RT_CODED(f16)
RT_CODED(bf16)
RT_EACH_FLOAT8(RT_CODED)
RT_CODED(f8e8m0)

#define RT_PACKED(t, A_, bits)                                                                                         \
    HELPER A_ ld_##t(const t *x, idx i) { return value_##t(rt_get##bits(x, i)); }                                      \
    HELPER A_ rnd_##t(A_ v) { return value_##t(code_##t(v)); }                                                         \
    HELPER void st_##t(t *y, idx i, A_ v) { rt_put##bits(y, i, code_##t(v)); }
HELPER u32 code_u4(u32 v) { return v & 15; }
HELPER u32 value_u4(u32 c) { return c; }
HELPER u32 code_i4(i32 v) { return (u32)v & 15; }
HELPER i32 value_i4(u32 c) { return (i32)(c ^ 8) - 8; }
HELPER u32 code_u2(u32 v) { return v & 3; }
HELPER u32 value_u2(u32 c) { return c; }
HELPER u32 code_i2(i32 v) { return (u32)v & 3; }
HELPER i32 value_i2(u32 c) { return (i32)(c ^ 2) - 2; }
RT_PACKED(u4, u32, 4)
RT_PACKED(i4, i32, 4)
RT_PACKED(u2, u32, 2)
RT_PACKED(i2, i32, 2)
RT_PACKED(f4e2m1, f32, 4)
RT_PACKED(f6e2m3, f32, 6)
RT_PACKED(f6e3m2, f32, 6)

/* ---- Cast ---------------------------------------------------------------------------------------------------------
 * Integers are cut to the bits of the target. A float that does not fit an integer is undefined in ONNX: here it
 * saturates to 32 or 64 bits, signed unless the target is uint32 or uint64, and is then cut. */
#define RT_EACH_ARITH(X, ...)                                                                                          \
    X(f32, __VA_ARGS__) X(f64, __VA_ARGS__) X(i32, __VA_ARGS__) X(u32, __VA_ARGS__) X(i64, __VA_ARGS__)                \
    X(u64, __VA_ARGS__)
#define RT_CAST_PLAIN(a, t, dummy) HELPER t cast_##t##_##a(a x) { return to_##t##_##a(x); }
#define RT_CAST_CUT(a, t, A_) HELPER A_ cast_##t##_##a(a x) { return rnd_##t((A_)to_i32_##a(x)); }
#define RT_CAST_BOOL(a, t, dummy) HELPER u32 cast_b8_##a(a x) { return !(x == 0); }
#define RT_CAST_FLOAT(a, name, t, code) HELPER f32 cast_##name##_##a(a x) { return value_##t(code(odd_f32_##a(x))); }
/* The standard has two casts to these: to the largest number that they have, or to infinity or NaN. */
#define RT_CAST_SAT(t) RT_EACH_ARITH(RT_CAST_FLOAT, t, t, code_##t##_sat)
#define RT_CAST_WRAP(t) RT_EACH_ARITH(RT_CAST_FLOAT, t##_wrap, t, code_##t##_wrap)
RT_EACH_ARITH(RT_CAST_PLAIN, f32, 0)
RT_EACH_ARITH(RT_CAST_PLAIN, f64, 0)
RT_EACH_ARITH(RT_CAST_PLAIN, i32, 0)
RT_EACH_ARITH(RT_CAST_PLAIN, u32, 0)
RT_EACH_ARITH(RT_CAST_PLAIN, i64, 0)
RT_EACH_ARITH(RT_CAST_PLAIN, u64, 0)
RT_EACH_ARITH(RT_CAST_CUT, i8, i32)
RT_EACH_ARITH(RT_CAST_CUT, i16, i32)
RT_EACH_ARITH(RT_CAST_CUT, i4, i32)
RT_EACH_ARITH(RT_CAST_CUT, i2, i32)
RT_EACH_ARITH(RT_CAST_CUT, u8, u32)
RT_EACH_ARITH(RT_CAST_CUT, u16, u32)
RT_EACH_ARITH(RT_CAST_CUT, u4, u32)
RT_EACH_ARITH(RT_CAST_CUT, u2, u32)
RT_EACH_ARITH(RT_CAST_BOOL, b8, 0)
RT_EACH_ARITH(RT_CAST_FLOAT, f16, f16, code_f16)
RT_EACH_ARITH(RT_CAST_FLOAT, bf16, bf16, code_bf16)
RT_EACH_ARITH(RT_CAST_FLOAT, f4e2m1, f4e2m1, code_f4e2m1)
RT_EACH_ARITH(RT_CAST_FLOAT, f6e2m3, f6e2m3, code_f6e2m3)
RT_EACH_ARITH(RT_CAST_FLOAT, f6e3m2, f6e3m2, code_f6e3m2)
RT_EACH_FLOAT8(RT_CAST_SAT)
RT_EACH_FLOAT8(RT_CAST_WRAP)
#define RT_CAST_E8M0(a, name, round, saturate)                                                                         \
    HELPER f32 cast_##name##_##a(a x) { return value_f8e8m0(rt_code_e8m0(odd_f32_##a(x), round, saturate)); }
RT_EACH_ARITH(RT_CAST_E8M0, f8e8m0, RT_UP, 1)
RT_EACH_ARITH(RT_CAST_E8M0, f8e8m0_wrap, RT_UP, 0)
RT_EACH_ARITH(RT_CAST_E8M0, f8e8m0_down, RT_DOWN, 1)
RT_EACH_ARITH(RT_CAST_E8M0, f8e8m0_nearest, RT_NEAREST, 1)
RT_EACH_ARITH(RT_CAST_E8M0, f8e8m0_down_wrap, RT_DOWN, 0)
RT_EACH_ARITH(RT_CAST_E8M0, f8e8m0_nearest_wrap, RT_NEAREST, 0)

#endif
