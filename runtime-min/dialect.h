/* dialect.h - compiler-specific declarations. C99 is sufficient; the extensions make code faster or smaller. */
#ifndef ONNXCC_DIALECT_H
#define ONNXCC_DIALECT_H

/* Every operation rounds to its own type on all machines. gcc would use more precision on s390x, and on i386, where
 * SSE2 is used instead of the x87. tcc for i386 does, without saying so. */
#if defined __i386__ && defined __GNUC__ && !defined __clang__ && !defined __SSE2_MATH__
#pragma GCC target("sse2,fpmath=sse")
#elif defined __s390x__ && __FLT_EVAL_METHOD__ != 0 && defined __GNUC__ && !defined __clang__
#pragma GCC optimize("excess-precision=fast")
#elif defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "the x87 computes floats with excess precision: on i386 compile with -msse2 -mfpmath=sse"
#elif defined __TINYC__ && defined __i386__
#error "on i386 tcc computes floats with excess precision: use another compiler"
#endif

#ifdef __FAST_MATH__
#error "-ffast-math ignores NaNs, infinities and the order of sums: compile this file without it"
#endif

/* At -O0 gcc gives all variables of all blocks separate stack slots, thousands of bytes in a large model; so -Og, its
 * level for debuggers, is used instead. */
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE__
#pragma GCC optimize("Og")
#endif

/* Products and sums are rounded separately, even if the compiler's mode (gcc's without -std=c99) allows contraction:
 * the only fused multiply-adds are those of vec.h. */
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
/* A function that may be missing when the program is linked. C99 has none. */
#if (defined __GNUC__ || defined __TINYC__) && !defined ONNXCC_PLAIN
#define RT_WEAK __attribute__((weak))
#endif

#if defined __GNUC__ && !defined __clang__
#define RT_NOCLONE RT_ATTRIBUTE((noclone))
#else
#define RT_NOCLONE
#endif

/* Interprocedural analysis makes gcc vectorise some loops worse. */
#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 8 && defined __OPTIMIZE__
#define RT_NOIPA RT_ATTRIBUTE((noipa))
#else
#define RT_NOIPA
#endif

/* The machine is big-endian. */
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define RT_BIG_ENDIAN
#endif

/* Optimisations of gcc's -O3 that -O2 lacks: vectorisation of loops with unknown trip counts, unswitching of invariant
 * conditions, full unrolling of short loops. They change no results. */
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC optimize("vect-cost-model=dynamic", "unswitch-loops", "peel-loops")
#endif

/* Before a loop: prevents its vectorisation by clang, which would use gathers that are slower. */
#ifdef __clang__
#define RT_ONE_BY_ONE _Pragma("clang loop vectorize(disable)")
#else
#define RT_ONE_BY_ONE
#endif

/* GNU C's vectors, with elementwise operators. */
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

/* A function that is inlined, also where the C compiler would not. */
#ifdef __OPTIMIZE__
#define RT_INLINE static inline RT_ATTRIBUTE((always_inline, unused))
#else /* a build for a debugger: copies gain nothing; inline, so that unused functions are removed */
#define RT_INLINE static inline RT_ATTRIBUTE((unused))
#endif

/* A function that kernels call, so large that there should be one copy. */
#ifdef __OPTIMIZE__
#define SHARED static RT_NOCLONE RT_ATTRIBUTE((noinline, unused))
#else
#define SHARED RT_INLINE
#endif

/* Attributes of the emitted arrays of all models; PREFIX_WEIGHTS_SECTION and PREFIX_ARENA_SECTION place those of
 * one. */
#ifndef RT_CONST
#define RT_CONST RT_ATTRIBUTE((aligned(16)))
#endif
#ifndef RT_ARENA
#define RT_ARENA
#endif
/* For constants that load.h copies. Others are in RAM on an AVR. */
#if defined __AVR__ && defined __GNUC__
#define RT_FLASH RT_ATTRIBUTE((progmem))
#else
#define RT_FLASH
#endif
/* Memory for an arena in a named section. For variables with such an attribute compilers write zeros into the program's
 * file; the assembler reserves the memory alone. */
#if defined __GNUC__ && defined __ELF__ && !defined __TINYC__
#define RT_DIGITS(n) #n
#define RT_RESERVE(block, n, section)                                                                                  \
    extern struct {                                                                                                    \
        unsigned char bytes[n];                                                                                        \
    } block __asm__(#block) RT_ATTRIBUTE((visibility("hidden")));                                                      \
    __asm__(".pushsection " section ",\"aw\",%nobits\n"                                                                \
            ".balign 64\n.global " #block "\n.hidden " #block "\n" #block ":\n.space " RT_DIGITS(n) "\n"               \
            ".popsection\n")
#else
#define RT_RESERVE(block, n, section)                                                                                  \
    static union {                                                                                                     \
        unsigned char bytes[n];                                                                                        \
        rt_align align;                                                                                                \
    } block __attribute__((section(section)))
#endif

/* The arena is not NULL, and so no pointer into it: the C compiler can remove code for absent arguments of kernels. */
#define RT_ARENA_GIVEN RT_ATTRIBUTE((nonnull(1)))

#endif
