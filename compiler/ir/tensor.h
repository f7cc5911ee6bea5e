/* tensor.h - constants: element type, dimensions and bytes, which may be lazy. */
#pragma once

#include "ir/type.h"

typedef struct Node Node;
typedef struct Graph Graph;
typedef struct Value Value;
typedef struct Model Model;
typedef struct Op Op;
typedef struct Loop Loop;
typedef struct Kernel Kernel;

/* A constant. Its bytes are packed as ONNX's raw_data, little-endian, and may be unaligned in the mapped file. */
typedef struct Tensor {
    Type type;
    int rank;
    const int64_t *dim;
    const void *data;         /* NULL: lazy, not computed yet */
    bool splat;               /* every element equals the one at data */
    bool symbolic;            /* I64 whose elements are Dims, some of them expressions */
    bool pinned;              /* other objects point to it: not to be freed */
    bool owned;               /* data was malloc'ed by exec.c, so tensor_drop frees it */
    int thunk_out;            /* lazy: the index of its output of */
    Node *thunk;              /* ... the node that computes it when needed (folding of large constants) */
    void (*run)(Node *thunk); /* ... and how */
    int runs;                 /* ... and the number of node runs that this takes */
    Node *origin;             /* a copy of the node that it was folded from, of some that weights come from; or NULL */
    struct Provenance *from;  /* with --map: how it came to be; NULL: not known */
    void *copy;               /* data for kernels, if data itself is unaligned or a splat; see tensor_data */
    uint64_t hash;
} Tensor;
int64_t tensor_count(const Tensor *t);
size_t tensor_size(const Tensor *t);                              /* bytes, as if it was no splat */
Tensor *tensor_new(Type type, int rank, const int64_t *dim);      /* zeroed, in the pool */
Tensor *tensor_zero(Type type, Shape s);                          /* the same, of a constant shape */
Tensor *tensor_symbolic(Type type, Shape s);                      /* the same, whose elements are Dims */
Tensor *tensor_lazy(Type type, Shape s);                          /* without data; the caller sets thunk and run */
Tensor *tensor_new_fill(Type type, Shape s, const void *element); /* a splat of a copy of *element; s is constant */
bool tensor_is_uniform(const Tensor *t);                          /* a splat, or all elements have equal bytes */
bool tensor_is_finite(const Tensor *t);        /* float, double, or complex: has it no infinity and no NaN? */
bool tensor_is_zero(const Tensor *t);          /* are all bytes 0? */
Tensor *tensor_view(const Tensor *t, Shape s); /* the same elements under another shape */
Tensor *tensor_ints(int n, const int64_t *v);  /* I64, rank 1 */
Tensor *tensor_dims(int n, const Dim *v);      /* I64, rank 1; symbolic if some are expressions */
Tensor *tensor_float(Type type, double v);     /* rank 0 */
Tensor *tensor_int(Type type, int64_t v);      /* rank 0 */
double tensor_get(const Tensor *t, int64_t i); /* an element of a float type as double; also of splats and lazy ones */
int64_t tensor_get_int(const Tensor *t, int64_t i);
/* Converts n elements of a numeric type, from `base` on with `stride`, to contiguous ones of its arithmetic type, and
 * back. */
void elements_load(Type t, const void *x, ptrdiff_t base, ptrdiff_t stride, ptrdiff_t n, void *to);
void elements_store(Type t, void *y, ptrdiff_t base, ptrdiff_t stride, ptrdiff_t n, const void *from);
Name tensor_get_str(const Tensor *t, int64_t i); /* of type STR, whose elements are `str` of rt.h */
void tensor_set_str(Tensor *t, int64_t i, Name s);
Shape tensor_shape(const Tensor *t);
const void *tensor_data(const Tensor *t); /* all elements, aligned, for kernels; computed if lazy; see tensor_drop */
Tensor *tensor_materialise(Tensor *t);    /* a symbolic tensor without expressions becomes an ordinary constant */
void tensor_keep(Tensor *t);              /* for a tensor in the pool: shares the bytes with an equal one */
void tensor_drop(const Tensor *t);        /* frees bytes that can be computed again when needed */
