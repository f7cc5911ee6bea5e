/* scalar.c - compiler/ir/scalar.c as a library, for scalar.py to call. */
#include <stdlib.h>

#include "../../compiler/base/part.c"
#include "../../compiler/base/session.c"
#include "../../compiler/ir/scalar.c"

/* Runs function `name` for the arithmetic type with ONNX's number a; its result's type, or 0 when there is none. */
int scalar_call(const char *name, int a, const void *const *arg, void *y, ptrdiff_t n);
int scalar_call(const char *name, int a, const void *const *arg, void *y, ptrdiff_t n)
{
    if (!session_distance && !session_begin())
        abort();
    const Scalar *s = scalar_find(name, (Type)a);
    if (s)
        s->run(arg, y, n);
    return s ? (int)s->result : 0;
}

void *pool_alloc(size_t bytes) { return calloc(1, bytes); }
void pool_end(void) {}
void *vec_more(void *at, int *cap, size_t size) { return realloc(at, (size_t)(*cap += 8) * size); }
