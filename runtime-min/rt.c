/* rt.c - compiled once per kernel header (-DKERNELS='"softmax.h"'): its kernels for every type they are written for.
 * By default: a member of libonnxcc-rt.a. With ONNXCC_HOST: the compiler's copy, registered in its table of kernels.
 * The file includes itself: without T, for each type T; with T, for each second type U. */
#ifndef T
#define ONNXCC_RT_C
#include "rt.h"
#include KERNELS
#define T f16
#include "rt.c"
#undef T
#define T bf16
#include "rt.c"
#undef T
#define T f32
#include "rt.c"
#undef T
#define T f64
#include "rt.c"
#undef T
#define T i8
#include "rt.c"
#undef T
#define T i16
#include "rt.c"
#undef T
#define T i32
#include "rt.c"
#undef T
#define T i64
#include "rt.c"
#undef T
#define T u8
#include "rt.c"
#undef T
#define T u16
#include "rt.c"
#undef T
#define T u32
#include "rt.c"
#undef T
#define T u64
#include "rt.c"
#undef T
#define T c128
#include "rt.c"
#undef T
#define T str
#include "rt.c"
#undef T
#define T b8
#include "rt.c"
#undef T
#define T f8e4m3fn
#include "rt.c"
#undef T
#define T f8e4m3fnuz
#include "rt.c"
#undef T
#define T f8e5m2
#include "rt.c"
#undef T
#define T f8e5m2fnuz
#include "rt.c"
#undef T
#define T f8e8m0
#include "rt.c"
#undef T
#define T f4e2m1
#include "rt.c"
#undef T
#define T f6e2m3
#include "rt.c"
#undef T
#define T f6e3m2
#include "rt.c"
#undef T
#define T i4
#include "rt.c"
#undef T
#define T u4
#include "rt.c"
#undef T
#define T i2
#include "rt.c"
#undef T
#define T u2
#include "rt.c"
#undef T
#else
#include KERNELS
#define U f16
#include KERNELS
#undef U
#define U bf16
#include KERNELS
#undef U
#define U f32
#include KERNELS
#undef U
#define U f64
#include KERNELS
#undef U
#define U i8
#include KERNELS
#undef U
#define U i16
#include KERNELS
#undef U
#define U i32
#include KERNELS
#undef U
#define U i64
#include KERNELS
#undef U
#define U u8
#include KERNELS
#undef U
#define U u16
#include KERNELS
#undef U
#define U u32
#include KERNELS
#undef U
#define U u64
#include KERNELS
#undef U
#define U b8
#include KERNELS
#undef U
#define U f8e4m3fn
#include KERNELS
#undef U
#define U f8e4m3fnuz
#include KERNELS
#undef U
#define U f8e5m2
#include KERNELS
#undef U
#define U f8e5m2fnuz
#include KERNELS
#undef U
#define U f8e8m0
#include KERNELS
#undef U
#define U f4e2m1
#include KERNELS
#undef U
#define U f6e2m3
#include KERNELS
#undef U
#define U f6e3m2
#include KERNELS
#undef U
#define U i4
#include KERNELS
#undef U
#define U u4
#include KERNELS
#undef U
#define U i2
#include KERNELS
#undef U
#define U u2
#include KERNELS
#undef U
#endif
