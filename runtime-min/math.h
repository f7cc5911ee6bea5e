/* math.h - elementary functions, math_NAME_f32 and math_NAME_f64, which give the same bits on every target.
 *
 * They have no branches (except fmod) and no calls, so that loops over them are vectorised. They use only + - * /
 * and integer operations, in an order for which contraction makes no difference. Special values as in Annex F of
 * C99. The largest errors, in units in the last place, are printed and checked by tests/numbers/accuracy.c; all are
 * below 2, most below 1. */
#ifndef ONNXCC_MATH_H
#define ONNXCC_MATH_H
#include "rt.h"

/* 2/pi to 192 bits after 32 zeros, and to 1152 bits after 64: enough for the largest float and double. */
HELPER u32 math_two_over_pi_f32(u32 i)
{
    static const u32 w[9] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                             0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
    return w[i];
}
HELPER u64 math_two_over_pi_f64(u32 i)
{
    static const u32 w[40] = {0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
                              0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
                              0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
                              0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
                              0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
                              0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};
    return w[i];
}

/* |x| = q quarter turns + (a + l) * unit radians of pi/2, a + l within half a quarter turn: x's mantissa times the bits
 * of 2/pi that determine the result modulo 4, in integers (Payne and Hanek). q is correct modulo 4. */
HELPER u32 math_turns_f32(f32 x, f32 *a, f32 *l)
{
    const u32 b = rt_u32(x) & 0x7fffffff, m = (b & 0x7fffff) | 0x800000,
              at = rt_pick32(b < 0x3f000000, 0, (b >> 23) - 120);
    const u32 i = at >> 5, s = at & 31, t0 = math_two_over_pi_f32(i), t1 = math_two_over_pi_f32(i + 1),
              t2 = math_two_over_pi_f32(i + 2), t3 = math_two_over_pi_f32(i + 3);
    const u32 w0 = t0 << s | t1 >> 1 >> (31 - s), w1 = t1 << s | t2 >> 1 >> (31 - s),
              w2 = t2 << s | t3 >> 1 >> (31 - s);
    const u64 p =
        ((u64)m * w2 >> 32) + (u64)m * w1 + ((u64)(m * w0) << 32); /* 2 bits of quarter turns, 62 of fraction */
    const u64 q = (p + ((u64)1 << 61)) >> 62, f = p - (q << 62);
    const i32 top = (i32)(u32)(f >> 31);
    *a = (f32)top;
    *l = (f32)(top - (i32)*a) + (f32)(i32)((u32)f & 0x7fffffff) * 0x1p-31f;
    return (u32)q;
}
HELPER u64 math_turns_f64(f64 x, f64 *a, f64 *l)
{
    const u64 b = rt_u64(x) & INT64_MAX, m = (b & 0xfffffffffffff) | 0x10000000000000, low = (u32)-1;
    const u32 at = (u32)rt_pick64(b < 0x3fe0000000000000, 0, (b >> 52) - 1013), i = at >> 5, s = at & 31;
    const u64 m0 = m & low, m1 = m >> 32;
#define WORD(k) ((math_two_over_pi_f64(i + (k)) << s | math_two_over_pi_f64(i + (k) + 1) >> (32 - s)) & low)
    const u64 w0 = WORD(0), w1 = WORD(1), w2 = WORD(2), w3 = WORD(3), w4 = WORD(4), w5 = WORD(5);
#undef WORD
    const u64 c2 = (m0 * w4 >> 32) + (m1 * w5 >> 32) + (m0 * w3 & low) + (m1 * w4 & low);
    const u64 c3 = (c2 >> 32) + (m0 * w3 >> 32) + (m1 * w4 >> 32) + (m0 * w2 & low) + (m1 * w3 & low);
    const u64 c4 = (c3 >> 32) + (m0 * w2 >> 32) + (m1 * w3 >> 32) + (m0 * w1 & low) + (m1 * w2 & low);
    const u64 c5 = (c4 >> 32) + (m0 * w1 >> 32) + (m1 * w2 >> 32) + (m0 * w0 & low) + (m1 * w1 & low);
    const u64 p = c5 << 32 | (c4 & low), q = (p + ((u64)1 << 61)) >> 62;
    const i64 top = (i64)(p - (q << 62));
    *a = (f64)top;
    *l = (f64)(top - (i64)*a) + (f64)(i64)((c3 & low) << 31 | (c2 & low) >> 1) * 0x1p-63;
    return q;
}

/* ---- f32: constants and minimax polynomials, then the functions ----------------------------------------------- */

#define F f32
#define SIGNED i32
#define W u32
#define BITS rt_u32
#define FROM_BITS rt_f32
#define PICK rt_pick32
#define MANT 23
#define BIAS 127
#define HALF 0xfffff000u        /* keeps 12 bits: the product of two such numbers is exact */
#define EXP_LOW -110.0f         /* exp is 0 below, infinite above */
#define EXP_HIGH 100.0f
#define EXPM1_LOW -26.0f        /* expm1 is -1 below */
#define EXPM1_HIGH 89.0f
#define POW_LIMIT 160.0f
#define Y_LIMIT 0x1p33f         /* a larger exponent of pow changes nothing */
#define LOG2E 0x1.715476p0f
#define LN2 0x1.62e43p-1f
#define LN2_HI 0x1.62e4p-1f     /* 16 bits: times an exponent is exact */
#define LN2_LO 0x1.7f7d1cp-20f
#define SQRT_HALF 0x3f3504f3u   /* bit pattern */
#define PIO2 0x1.921fb6p0f
#define PIO2_LO -0x1.777a5cp-25f
#define PIO2_HALF 0x1.92p0f
#define PIO2_MID 0x1.fb6p-12f
#define PIO4 0x1.921fb6p-1f
#define PIO4_LO -0x1.777a5cp-26f
#define THIRD 0x1.555556p-2f
#define THIRD_LO -0x1.555556p-27f
#define TWO_LOG2E_HALF 0x1.714p1f
#define TWO_LOG2E_LOW 0x1.47652cp-11f
#define ERF_END 4.0f
#define MATH_UNIT 0x1p-31f
#define SQRT(x) __builtin_sqrtf(x)
#define RSQRT 0x5f3759dfu
/* exp(x) = 1 + x + x^2 P_EXP(x), |x| <= ln(2)/2 */
#define P_EXP(x) ((((0x1.694cd2p-10f * x + 0x1.123988p-7f) * x + 0x1.555a26p-5f) * x + 0x1.555492p-3f) * x + 0x1.fffffap-2f)
/* 2 atanh(s) = 2s + s z P_LOG(z), z = s^2, s <= 0.1716 */
#define P_LOG(z) (((0x1.ce83dp-3f * z + 0x1.24c142p-2f) * z + 0x1.99986ep-2f) * z + 0x1.555556p-1f)
/* atanh(s) = s + s z (1/3 + z P_POW(z)) */
#define P_POW(z) ((0x1.d8163ap-4f * z + 0x1.2479f4p-3f) * z + 0x1.9999a4p-3f)
/* sin(r) = r + r z P_SIN(z), cos(r) = 1 - z/2 + z^2 P_COS(z), |r| <= pi/4 */
#define P_SIN(z) (((0x1.882524p-19f * z - 0x1.a0858p-13f) * z + 0x1.11119ap-7f) * z - 0x1.555556p-3f)
#define P_COS(z) ((0x1.9bc76ap-16f * z - 0x1.6c129ep-10f) * z + 0x1.555554p-5f)
/* asin(x) = x + x z P_ASIN(z), |x| <= 1/2; atan likewise; sinh likewise, |x| <= 1 */
#define P_ASIN(z)                                                                                                      \
    (((((0x1.1acb92p-5f * z + 0x1.0fe1b2p-6f) * z + 0x1.ffbf34p-6f) * z + 0x1.6d3e6ap-5f) * z + 0x1.3334cep-4f) * z + \
     0x1.555554p-3f)
#define P_ATAN(z)                                                                                                      \
    (((((0x1.66b0b4p-5f * z - 0x1.559526p-4f) * z + 0x1.c3e3ecp-4f) * z - 0x1.2481acp-3f) * z + 0x1.999992p-3f) * z -  \
     0x1.555556p-2f)
#define P_SINH(z) (((0x1.725244p-19f * z + 0x1.a03554p-13f) * z + 0x1.1110c6p-7f) * z + 0x1.555556p-3f)
/* erf(x) = x + x P_ERF(z), |x| <= 0.9; 1 - exp(-P_ERFC(x - 1)), 0.89 <= x <= 4 */
#define P_ERF(z)                                                                                                       \
    ((((((0x1.6007bcp-14f * z - 0x1.aaff0ep-11f) * z + 0x1.54d5cap-8f) * z - 0x1.b80eeap-6f) * z + 0x1.ce2dfap-4f) * z \
      - 0x1.812742p-2f) * z + 0x1.06eba8p-3f)
#define P_ERFC(u)                                                                                                      \
    ((((((-0x1.9fd2bap-13f * u + 0x1.ebf1e6p-10f) * u - 0x1.466fd4p-7f) * u + 0x1.54549p-5f) * u + 0x1.afabbep-1f) * u \
      + 0x1.51c9b2p1f) * u + 0x1.d97fcp0f)
#include "math.def"

/* ---- f64 --------------------------------------------------------------------------------------------------------- */

#define F f64
#define SIGNED i64
#define W u64
#define BITS rt_u64
#define FROM_BITS rt_f64
#define PICK rt_pick64
#define MANT 52
#define BIAS 1023
#define HALF 0xfffffffff8000000u
#define EXP_LOW -760.0
#define EXP_HIGH 720.0
#define EXPM1_LOW -45.0
#define EXPM1_HIGH 710.0
#define POW_LIMIT 1100.0
#define Y_LIMIT 0x1p65
#define LOG2E 0x1.71547652b82fep0
#define LN2 0x1.62e42fefa39efp-1
#define LN2_HI 0x1.62e42fefa3p-1
#define LN2_LO 0x1.3de6af278ece6p-42
#define SQRT_HALF 0x3fe6a09e667f3bcdu
#define PIO2 0x1.921fb54442d18p0
#define PIO2_LO 0x1.1a62633145c07p-54
#define PIO2_HALF 0x1.921fb5p0
#define PIO2_MID 0x1.110b46p-26
#define PIO4 0x1.921fb54442d18p-1
#define PIO4_LO 0x1.1a62633145c07p-55
#define THIRD 0x1.5555555555555p-2
#define THIRD_LO 0x1.5555555555555p-56
#define TWO_LOG2E_HALF 0x1.715476p1
#define TWO_LOG2E_LOW 0x1.4ae0bf85ddf44p-25
#define ERF_END 6.0
#define MATH_UNIT 0x1p-62
#define SQRT(x) __builtin_sqrt(x)
#define RSQRT 0x5fe6eb50c7b537a9u
#define P_EXP(x)                                                                                                       \
    ((((((((((0x1.1ee72466602fcp-29 * x + 0x1.af6e6d47b5621p-26) * x + 0x1.27e537b21c239p-22) * x +                    \
            0x1.71ddee7dbb5e7p-19) * x + 0x1.a01a017b429e5p-16) * x + 0x1.a01a01b440b84p-13) * x +                     \
         0x1.6c16c16c1ec87p-10) * x + 0x1.111111110ea02p-7) * x + 0x1.5555555555543p-5) * x + 0x1.555555555555cp-3) * x + \
     0x1p-1)
#define P_LOG(z)                                                                                                       \
    (((((((0x1.101e9893d3702p-3 * z + 0x1.0f4a9b280927ep-3) * z + 0x1.3b2153daf11d7p-3) * z + 0x1.745cdb900e522p-3) * z + \
        0x1.c71c725c1a37p-3) * z + 0x1.249249242f0a2p-2) * z + 0x1.9999999999d58p-2) * z + 0x1.5555555555555p-1)
#define P_POW(z)                                                                                                       \
    (((((((0x1.daa37c6a579e4p-5 * z + 0x1.e0199c747d0e6p-5) * z + 0x1.1115505b54d6ap-4) * z + 0x1.3b13a9ceb1848p-4) * z + \
        0x1.745d173cde805p-4) * z + 0x1.c71c71c74c7b7p-4) * z + 0x1.24924924922fep-3) * z + 0x1.999999999999ap-3)
#define P_SIN(z)                                                                                                       \
    (((((0x1.5e118c867491fp-33 * z - 0x1.ae6020fd65d6ep-26) * z + 0x1.71de37b1c6854p-19) * z - 0x1.a01a019ea12efp-13) * z + \
      0x1.1111111110c83p-7) * z - 0x1.5555555555555p-3)
#define P_COS(z)                                                                                                       \
    (((((-0x1.9073d27e1f882p-37 * z + 0x1.1eeb584e7aa5ep-29) * z - 0x1.27e4fa036b9b5p-22) * z + 0x1.a01a019f38aeep-16) * z - \
      0x1.6c16c16c168ccp-10) * z + 0x1.5555555555555p-5)
#define P_ASIN(z)                                                                                                      \
    (((((((((((0x1.d19a13990ba2p-6 * z - 0x1.6b616b013f167p-7) * z + 0x1.0a05191d2f4dp-6) * z +                        \
             0x1.fafa76763565bp-8) * z + 0x1.85975e185fba3p-7) * z + 0x1.c862e963a8e7bp-7) * z +                       \
          0x1.1c59e58df0e7ap-6) * z + 0x1.6e8b224060fdep-6) * z + 0x1.f1c71fdc396c3p-6) * z + 0x1.6db6db67bbbbbp-5) * z + \
      0x1.33333333374a6p-4) * z + 0x1.555555555554ep-3)
#define P_ATAN(z)                                                                                                      \
    (((((((((((0x1.6f0eb046743b3p-7 * z - 0x1.db798a3c6e7dap-6) * z + 0x1.5f3cc57cf1a08p-5) * z -                      \
             0x1.a69cf7e5631f6p-5) * z + 0x1.e09b2b7470917p-5) * z - 0x1.11008800a5fd1p-4) * z +                       \
          0x1.3b129465f8523p-4) * z - 0x1.745d0b0ae8c18p-4) * z + 0x1.c71c717762fa1p-4) * z - 0x1.249249240b513p-3) * z + \
      0x1.9999999998e4cp-3) * z - 0x1.5555555555554p-2)
#define P_SINH(z)                                                                                                      \
    (((((((0x1.d1a8385075c98p-47 * z + 0x1.992f1052158c3p-41) * z + 0x1.614455d1a59e5p-33) * z +                       \
         0x1.ae6425aea7e8cp-26) * z + 0x1.71de3a7d5d7eap-19) * z + 0x1.a01a019ff873p-13) * z + 0x1.11111111111d8p-7) * z + \
     0x1.5555555555555p-3)
#define P_ERF(z)                                                                                                       \
    ((((((((((((0x1.6d106aadf51e4p-33 * z - 0x1.ccfabc3f2772dp-30) * z + 0x1.108a4739f1d65p-26) * z -                  \
              0x1.627502b728226p-23) * z + 0x1.ba3742c316d8ap-20) * z - 0x1.f4d7f55c27b53p-17) * z +                   \
           0x1.f9a36a4f7c21cp-14) * z - 0x1.c02db61fcbd1ap-11) * z + 0x1.565bcd199a9e7p-8) * z -                       \
        0x1.b82ce312d1997p-6) * z + 0x1.ce2f21a043c84p-4) * z - 0x1.812746b037a03p-2) * z + 0x1.06eba8214db69p-3)
#define P_ERFC(u)                                                                                                      \
    (((((((((((((((((((0x1.d89c406ae4883p-43 * u - 0x1.bed6efa517eacp-38) * u + 0x1.8ad564f892fecp-34) * u -           \
                     0x1.b1b3ef7669009p-31) * u + 0x1.4ad11fe7c46fap-28) * u - 0x1.6e99bf1b48022p-26) * u +            \
                  0x1.224ebd977bff2p-24) * u - 0x1.0de7d7e14c695p-23) * u - 0x1.c0d08dccae76bp-24) * u +               \
               0x1.0f26efdd6ba96p-19) * u - 0x1.4164e06ff7259p-17) * u + 0x1.c75bc999e50b1p-16) * u -                  \
            0x1.b8bec34b2e9e3p-16) * u - 0x1.f1b4ba82273eep-13) * u + 0x1.033f69977fc92p-9) * u -                      \
         0x1.48c9d40c30e17p-7) * u + 0x1.5477f09ca956dp-5) * u + 0x1.afabc11a28f49p-1) * u + 0x1.51c9b0006c23dp1) * u + \
     0x1.d97fbf27aa2a1p0)
#include "math.def"

#endif
