/* tensor.h - constants. */
#ifndef ONNXCC_TENSOR_H
#define ONNXCC_TENSOR_H

#include "ir/type.h"

typedef struct Node Node;
typedef struct Graph Graph;
typedef struct Value Value;
typedef struct Model Model;
typedef struct Op Op;
typedef struct Loop Loop;
typedef struct Kernel Kernel;

/* Constant contents. Packed as in ONNX raw data, little endian; may be unaligned, pointing into the mapped file. */
typedef struct Tensor {
    Type type;
    int rank;
    const int64_t *dim;
    const void *data; /* NULL while lazy */
    bool splat;       /* every element equals the one at data */
    bool symbolic;    /* I64 whose elements are Dims, some of them expressions */
    bool pinned;      /* known by its address: not to be freed */
    bool owned;       /* data was malloc'ed by exec.c, so tensor_drop frees it */
    int thunk_out;    /* lazy: output of */
    Node *thunk;      /* ... the node to run (a fold of large constants) to get the data */
    int runs;         /* ... and how many runs that takes in all */
    void *copy;       /* the bytes as kernels want them, when data is unaligned or a fill; see tensor_data */
    uint64_t hash;
} Tensor;
int64_t tensor_count(const Tensor *t);
size_t tensor_size(const Tensor *t);                              /* bytes when not a fill */
Tensor *tensor_new(Type type, int rank, const int64_t *dim);      /* zeroed, in the pool */
Tensor *tensor_lazy(Type type, Shape s);                          /* no data yet; the caller sets thunk */
Tensor *tensor_new_fill(Type type, Shape s, const void *element); /* s constant; one element is copied */
bool tensor_uniform(const Tensor *t);                             /* a fill, or the same bytes in every element */
Tensor *tensor_view(const Tensor *t, Shape s);                    /* the same elements under another shape */
Tensor *tensor_ints(int n, const int64_t *v);                     /* I64, rank 1 */
Tensor *tensor_dims(int n, const Dim *v);                         /* I64, rank 1; symbolic when some are expressions */
Tensor *tensor_float(Type type, double v);                        /* rank 0 */
Tensor *tensor_int(Type type, int64_t v);                         /* rank 0 */
double tensor_get(const Tensor *t, int64_t i); /* element as double (floats), fills and lazy ones too */
int64_t tensor_get_int(const Tensor *t, int64_t i);
/* n elements of a type that has numbers, from `base` on and `stride` apart, as numbers of its arithmetic type, and back. */
void elements_load(Type t, const void *x, ptrdiff_t base, ptrdiff_t stride, ptrdiff_t n, void *to);
void elements_store(Type t, void *y, ptrdiff_t base, ptrdiff_t stride, ptrdiff_t n, const void *from);
Name tensor_get_str(const Tensor *t, int64_t i); /* of STR, whose data are `str`s of rt.h */
void tensor_set_str(Tensor *t, int64_t i, Name s);
Shape tensor_shape(const Tensor *t);
const void *tensor_data(const Tensor *t); /* aligned, all elements: for kernels; computed if lazy; see tensor_drop */
Tensor *tensor_settle(Tensor *t);         /* a symbolic tensor without expressions becomes an ordinary constant */
void tensor_keep(Tensor *t);              /* of one that the pool holds: bytes that are there already are shared */
void tensor_drop(const Tensor *t);        /* the big ones: can be made again when asked for again */

#endif
