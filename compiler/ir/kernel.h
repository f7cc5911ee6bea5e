/* kernel.h - kernels in the compiler: descriptors of their parameters, and a table of kernels by name and type. Made
 * from the kernel headers by macros. */
#pragma once

#include "ir/ops.h"

/* One field of a kernel's parameter struct. */
typedef struct Field {
    const char *name;
    enum FieldType { FIELD_END, FIELD_idx, FIELD_int, FIELD_i64, FIELD_f32, FIELD_f64, FIELD_text } type;
    int count;     /* 0: a scalar; else the array's length */
    size_t offset; /* offset in the struct */
} Field;
static inline bool field_is_size(const Field *f) { return f->type >= FIELD_idx && f->type <= FIELD_i64; }

/* A kernel instantiated for the compiler itself (rt.c); found by kernel_find. */
struct Kernel {
    const char *name; /* "softmax" */
    Type t, u;        /* u == NO_TYPE: the kernel has one type parameter */
    int n_arg, n_in, flags;
    bool fallible;
    int (*run)(void *const *arg, const void *params);
    const char *header; /* "softmax.h" */
};
const Kernel *kernel_find(const char *name, Type t, Type u);
#define KERNEL_SIZES(k) (((k)->flags >> 4) & 15)
#define KERNEL_RESIDUAL(k) (((k)->flags >> 8) & 15) /* 0: none */

/* A scalar function of scalar.def, a conversion or a rounding, applied to arrays: for loops that the compiler runs. */
typedef struct Scalar {
    const char *name; /* "relu", "cast_i8", "rnd_f16" */
    Type a;           /* arithmetic type of its last argument */
    int n_arg;
    Type result; /* arithmetic type of the result */
    void (*run)(const void *const *arg, void *y, ptrdiff_t n);
} Scalar;
const Scalar *scalar_find(const char *name, Type a); /* NULL: none */

/* PARAMS(softmax) in a kernel header makes, for the compiler, struct softmax (as in the emitted code), struct
 * softmax_bind (the same fields as Dims and doubles, so that sizes may be run-time expressions), and softmax_fields. */
#define KB_idx Dim
#define KB_int Dim
#define KB_i64 Dim
#define KB_f32 double
#define KB_f64 double
#define KB_FIELD(type, name) KB_##type name;
#define KB_ARRAY(type, name, n) KB_##type name[n];
#define PARAMS(k)                                                                                                      \
    RT_STRUCT(k)                                                                                                       \
    struct k##_bind {                                                                                                  \
        k##_PARAMS(KB_FIELD, KB_ARRAY)                                                                                 \
    };                                                                                                                 \
    static inline const Field *k##_fields(void)                                                                        \
    {                                                                                                                  \
        typedef struct k S;                                                                                            \
        static const Field f[] = {k##_PARAMS(KF_FIELD, KF_ARRAY){0, FIELD_END, 0, sizeof(struct k)}};                  \
        return f;                                                                                                      \
    }
#define KF_FIELD(type, name) {#name, FIELD_##type, 0, offsetof(S, name)},
#define KF_ARRAY(type, name, n) {#name, FIELD_##type, n, offsetof(S, name)},

/* ---- the table of kernels (rt.c compiled with ONNXCC_HOST) ------------------------------------------------------- */
#ifdef ONNXCC_HOST
#define KA_1(a) (a)[0]
#define KA_2(a) KA_1(a), (a)[1]
#define KA_3(a) KA_2(a), (a)[2]
#define KA_4(a) KA_3(a), (a)[3]
#define KA_5(a) KA_4(a), (a)[4]
#define KA_6(a) KA_5(a), (a)[5]
#define KA_7(a) KA_6(a), (a)[6]
#define KA_8(a) KA_7(a), (a)[7]
#define KA_9(a) KA_8(a), (a)[8]
#define KA_10(a) KA_9(a), (a)[9]
#define KA_11(a) KA_10(a), (a)[10]
#define KA_12(a) KA_11(a), (a)[11]
#define KA_13(a) KA_12(a), (a)[12]
#define KA_14(a) KA_13(a), (a)[13]
#define KA_15(a) KA_14(a), (a)[14]
#define KA_16(a) KA_15(a), (a)[15]
#define KA_17(a) KA_16(a), (a)[16]
#define KR_(k, fn, t, u, n_args, n_in, flags, fallible_, call)                                                         \
    static int run_##fn(void *const *a, const void *p) { call; }                                                       \
    static const Kernel kernel_##fn = {#k, t, u, n_args, n_in, flags, fallible_, run_##fn, KERNELS};                   \
    const Kernel *const kernel_##fn##_at __attribute__((section("onnxcc_kernels"), used)) = &kernel_##fn;
#define KR(...) KR_(__VA_ARGS__)
#define KC(k, fn, n_args) fn(RT_CAT(KA_, n_args)(a), *(const struct k *)p)
#define REGISTER_KERNEL(k, n_args, n_in, flags)                                                                                   \
    KR(k, FN(k), RT_CAT(TYPE_, T), NO_TYPE, n_args, n_in, flags, false, KC(k, FN(k), n_args); return 0)
#define REGISTER_FALLIBLE(k, n_args, n_in, flags)                                                                                  \
    KR(k, FN(k), RT_CAT(TYPE_, T), NO_TYPE, n_args, n_in, flags, true, return KC(k, FN(k), n_args))
#define REGISTER_KERNEL2(k, n_args, n_in, flags)                                                                                  \
    KR(k, FN2(k), RT_CAT(TYPE_, T), RT_CAT(TYPE_, U), n_args, n_in, flags, false, KC(k, FN2(k), n_args); return 0)
#define REGISTER_FALLIBLE2(k, n_args, n_in, flags)                                                                                 \
    KR(k, FN2(k), RT_CAT(TYPE_, T), RT_CAT(TYPE_, U), n_args, n_in, flags, true, return KC(k, FN2(k), n_args))
#endif
