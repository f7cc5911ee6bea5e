/* scalar.c - compiler/ir/scalar.c as a library, for scalar.py to call. */
#include <stdlib.h>

#include "../../compiler/ir/scalar.c"

/* Runs function `name` for the arithmetic type with ONNX's number a; its result's type, or 0 when there is none. */
int scalar_call(const char *name, int a, const void *const *arg, void *y, ptrdiff_t n);
int scalar_call(const char *name, int a, const void *const *arg, void *y, ptrdiff_t n)
{
    const Scalar *s = scalar_find(name, (Type)a);
    if (s)
        s->run(arg, y, n);
    return s ? (int)s->result : 0;
}

void *lasting_alloc(void *old, size_t bytes) { return realloc(old, bytes); }
