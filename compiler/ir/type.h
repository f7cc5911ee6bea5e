/* type.h - element types and shapes. */
#pragma once

#include "ir/dim.h"

/* The rows of types.def; TYPE_f32 is F32, for macros that are given a tag. */
typedef enum Type {
    NO_TYPE,
#define TYPE(number, E, tag, ...) E = number, TYPE_##tag = E,
#include "ir/types.def"
#undef TYPE
    N_TYPES
} Type;

/* In an expansion of types.def: NUMBER_kind(x) is x for a numeric type, empty for the others. */
#define NUMBER_FLOATING(...) __VA_ARGS__
#define NUMBER_SIGNED(...) __VA_ARGS__
#define NUMBER_UNSIGNED(...) __VA_ARGS__
#define NUMBER_BOOLEAN(...) __VA_ARGS__
#define NUMBER_TEXT(...)
#define NUMBER_COMPLEX(...)

const char *type_tag(Type t);  /* "f32": suffix of kernels, and the C type of an element */
const char *type_onnx(Type t); /* "float": ONNX's name in messages */
int type_bits(Type t);         /* 32 for F32, 4 for I4 */
Type type_arith(Type t);       /* the type in which kernels compute: F32 for F16, I32 for I8 */
/* F32 for F16 and BF16, so that a result computed in several steps is rounded once; others unchanged. */
Type type_wide(Type t);
Type type_part(Type t);    /* of a complex type: the type of its two parts; others unchanged */
Type type_storage(Type t); /* the type whose kernels move its elements: U32 for F32, U4 for I4, U64 for C64 */
size_t type_bytes(Type t, int64_t count); /* bytes of count elements, packed as ONNX packs them */
bool type_is_float(Type t);               /* any binary floating type, the 4-, 6- and 8-bit ones included */
bool type_is_int(Type t);                 /* signed or unsigned, bool excluded */
bool type_is_signed(Type t);
int type_first_version(Type t);  /* the IR version that introduced it */
const char *type_public(Type t); /* "uint16_t" for F16: the C type that a user of the header sees */

typedef uint64_t TypeSet;                    /* bit Type; schema.h has more */
TypeSet type_group(const char *s, size_t n); /* "F", "IU", "ALL13"; 0: no group */

typedef struct Shape {
    int rank; /* -1: unknown */
    Dim dim[MAX_RANK];
} Shape;
Shape shape_of(int rank, const Dim *dim);
Shape shape_of_numbers(int rank, const int64_t *dim);
const Shape *shape_keep(Shape s);                       /* interned: equal shapes have the same address */
const int64_t *dims_keep(int rank, const int64_t *dim); /* the same for numbers */
Shape shape_list(int rank, ...);                        /* Dims */
Shape shape_without(Shape s, int axis);
Dim shape_count(Shape s);                     /* number of elements */
int64_t shape_high(Shape s);                  /* number of elements at its upper bounds; INT64_MAX: too many */
Dim shape_product(Shape s, int from, int to); /* of dim[from..to) */
bool shape_identical(Shape a, Shape b);
bool shape_is_const(Shape s);
bool shape_broadcast(Shape a, Shape b, Shape *out); /* numpy's rule; false when impossible */
const char *shape_text(Shape s);                    /* "[1,3,batch]" */
