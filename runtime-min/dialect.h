/* dialect.h - what is said differently to each C compiler. C99 is enough: the rest makes code faster or smaller. */
#ifndef ONNXCC_DIALECT_H
#define ONNXCC_DIALECT_H

/* Every operation rounds to its own type, on all machines. gcc needs to be told where it would keep more digits: on s390x,
 * and on i386, where SSE2 is taken instead of the x87. */
#if defined __i386__ && defined __GNUC__ && !defined __clang__ && !defined __SSE2_MATH__
#pragma GCC target("sse2,fpmath=sse")
#elif defined __s390x__ && __FLT_EVAL_METHOD__ != 0 && defined __GNUC__ && !defined __clang__
#pragma GCC optimize("excess-precision=fast")
#elif defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "floats are computed with more digits than they have: on i386 compile with -msse2 -mfpmath=sse"
#endif

#ifdef __FAST_MATH__
#error "-ffast-math: NaNs, infinities and the order of sums mean something here; leave it away for this file"
#endif

/* gcc -O0 gives every variable of every block a place of its own on the stack, thousands of bytes in a large model. -Og is gcc's
 * level for debuggers. */
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE__
#pragma GCC optimize("Og")
#endif

/* A product and a sum are rounded each by itself, also where the mode of the compiler (gcc's without -std=c99) would join
 * them: the only fused multiply-adds are those that vec.h asks for. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("fp-contract=off")
#elif !defined __TINYC__
#pragma STDC FP_CONTRACT OFF
#endif

#if defined __GNUC__ || defined __TINYC__ || defined __has_attribute
#define RT_ATTRIBUTE(list) __attribute__(list)
#else
#define RT_ATTRIBUTE(list)
#endif

#if defined __GNUC__ && !defined __clang__
#define RT_NOCLONE RT_ATTRIBUTE((noclone))
#else
#define RT_NOCLONE
#endif

/* What gcc knows about a function's callers makes worse vectors of some loops. */
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 8 && defined __OPTIMIZE__
#define RT_NOIPA RT_ATTRIBUTE((noipa))
#else
#define RT_NOIPA
#endif

/* Numbers have their highest byte first. */
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define RT_BIG_ENDIAN
#endif

/* What gcc leaves out at -O2, and does at -O3: vectors in loops whose counts it does not know, one loop for each side of a
 * condition that stays the same, no loop where the iterations are few. It changes no bits. */
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC optimize("vect-cost-model=dynamic", "unswitch-loops", "peel-loops")
#endif

/* Before a loop: its iterations stay apart. clang would join some by gathers, which take longer. */
#ifdef __clang__
#define RT_ONE_BY_ONE _Pragma("clang loop vectorize(disable)")
#else
#define RT_ONE_BY_ONE
#endif

/* Vectors as GNU C has them: operators work element by element. */
#ifdef __GNUC__
#define RT_HAS_VECTORS 1
#else
#define RT_HAS_VECTORS 0
#endif

/* In expressions; arrays that hold an infinity or a NaN are emitted as bits. */
#ifdef __GNUC__
#define RT_NAN __builtin_nanf("")
#define RT_NAN_F64 __builtin_nan("")
#define RT_INF __builtin_inff()
#define RT_INF_F64 __builtin_inf()
#else
#define RT_NAN rt_f32(0x7fc00000)
#define RT_NAN_F64 rt_f64(0x7ff8000000000000)
#define RT_INF rt_f32(0x7f800000)
#define RT_INF_F64 rt_f64(0x7ff0000000000000)
#endif

#endif
