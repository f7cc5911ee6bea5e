/* scalar.h - the functions of scalar.def for one arithmetic type T: relu_f32(x), add_i32(x, y), less_f64(x, y), ...
 * In the compiler (SCALAR_RUNS) also over arrays: see compiler/ir/scalar.c. */
#ifndef ONNXCC_SCALAR_H
#define ONNXCC_SCALAR_H
#include "rt.h"
#include "math.h"

#define SCALAR_PICK(t, bits) /* c ? a : b, c 0 or 1, on the bits */                                                    \
    HELPER t pick_##t(int c, t a, t b) { return (t)rt_pick##bits((u##bits)c, (u##bits)a, (u##bits)b); }
SCALAR_PICK(i32, 32)
SCALAR_PICK(u32, 32)
SCALAR_PICK(i64, 64)
SCALAR_PICK(u64, 64)
HELPER f32 pick_f32(int c, f32 a, f32 b) { return rt_pick_f32((u32)c, a, b); }
HELPER f64 pick_f64(int c, f64 a, f64 b) { return rt_pick_f64((u64)c, a, b); }
#define SCALAR_UNSIGNED_i32 u32
#define SCALAR_UNSIGNED_u32 u32
#define SCALAR_UNSIGNED_i64 u64
#define SCALAR_UNSIGNED_u64 u64
/* In a float whose last place is one, the low bits are the integer. */
HELPER u32 nearest_bits_f32(f32 x) { return rt_u32(x + 0x1.8p23f) - 0x4b400000u; }
HELPER u32 nearest_bits_f64(f64 x) { return (u32)rt_u64(x + 0x1.8p52); }
/* x within [lo, hi]; NaN: lo. */
HELPER f64 bounded_f64(f64 x, f64 lo, f64 hi) { return pick_f64(x > lo, pick_f64(x < hi, x, hi), lo); }
#if defined __arm__ && defined __GNUC__ && defined __ARM_FP && __ARM_ARCH >= 8 /* has FPv5 */
HELPER f32 bounded_f32(f32 x, f32 lo, f32 hi)
{
    __asm__("vmaxnm.f32 %0, %0, %1" : "+t"(x) : "t"(lo));
    __asm__("vminnm.f32 %0, %0, %1" : "+t"(x) : "t"(hi));
    return x;
}
#else
HELPER f32 bounded_f32(f32 x, f32 lo, f32 hi) { return pick_f32(x > lo, pick_f32(x < hi, x, hi), lo); }
#endif
#ifndef SCALAR_RUNS
#define SCALAR_RUNS(name, n, x_type, result)
#endif
#endif

#ifdef T
#undef FN /* always inlined: the library does not contain these */
#define FN RT_FN
#define PICK(c, a, b) RT_CAT(pick_, T)(c, a, b)
#define UNSIGNED RT_CAT(SCALAR_UNSIGNED_, T)
#define WIDTH (T)(sizeof(T) * 8)
/* Names are pasted before macro expansion: iso646.h defines and, or, xor and not. */
#define SCALAR_FN(name_) RT_CAT(name_, T)
#define SCALAR1(name, f) HELPER T SCALAR_FN(name##_)(T x) { return f; } SCALAR_RUNS(name, 1, T, T)
#define SCALAR2(name, f) HELPER T SCALAR_FN(name##_)(T x, T y) { return f; } SCALAR_RUNS(name, 2, T, T)
#define SCALAR3(name, f) HELPER T SCALAR_FN(name##_)(T x, T y, T z) { return f; } SCALAR_RUNS(name, 3, T, T)
#define TEST1(name, f) HELPER u32 SCALAR_FN(name##_)(T x) { return (u32)(f); } SCALAR_RUNS(name, 1, T, u32)
#define TEST2(name, f) HELPER u32 SCALAR_FN(name##_)(T x, T y) { return (u32)(f); } SCALAR_RUNS(name, 2, T, u32)
#define TEST3(name, f) HELPER u32 SCALAR_FN(name##_)(T x, T y, T z) { return (u32)(f); } SCALAR_RUNS(name, 3, T, u32)
#define CHOICE3(name, f) HELPER T SCALAR_FN(name##_)(u32 x, T y, T z) { return f; } SCALAR_RUNS(name, 3, u32, T)

/* For r, the remainder of x / y with the sign of x: the one with the sign of y. */
#if RT_IS_FLOAT(T)
HELPER T FN(floor_mod)(T r, T y) { return PICK(r == 0, M(copysign)(r, y), PICK((r < 0) != (y < 0), r + y, r)); }
#else
#if RT_IS_SIGNED(T)
HELPER T FN(floor_mod)(T r, T y) { return PICK((r != 0) & ((r < 0) != (y < 0)), (T)((UNSIGNED)r + (UNSIGNED)y), r); }
/* x / y; 0 for y = 0; the minimum divided by -1 is itself. */
HELPER T FN(quotient)(T x, T y)
{
    const T q = x / PICK((y == 0) | (y == -1), 1, y);
    return PICK(y == 0, 0, PICK(y == -1, (T)(0 - (UNSIGNED)x), q));
}
#endif
/* x to the power y, wrapping; truncated for negative y. */
HELPER T FN(power)(T x, T y)
{
    UNSIGNED r = 1, b = (UNSIGNED)x, e = (UNSIGNED)y;
#if RT_IS_SIGNED(T)
    if (y < 0)
        return x == 1 || x == -1 ? (y & 1 ? x : 1) : 0;
#endif
    for (; e; e >>= 1) {
        r *= e & 1 ? b : 1;
        b *= b;
    }
    return (T)r;
}
#endif
#include "scalar.def"
#undef PICK
#undef UNSIGNED
#undef WIDTH
#undef SCALAR_FN
#undef SCALAR1
#undef SCALAR2
#undef SCALAR3
#undef TEST1
#undef TEST2
#undef TEST3
#undef CHOICE3
#ifdef ONNXCC_LIBRARY
#undef FN
#define FN RT_BODY
#endif
#endif
