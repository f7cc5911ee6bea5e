/* tensor.c - constants: construction, access to elements of any type, their bytes in the layout of kernels. */
#include <math.h>
#include <xxhash.h>

#include "ir/tensor.h"
#include "ir/spatial.h"
#include "rt.h"

int64_t tensor_count(const Tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        if (__builtin_mul_overflow(n, t->dim[i], &n))
            fail_as(EXIT_MODEL, "LIM-02", "a tensor has too many elements");
    return n;
}

size_t tensor_size(const Tensor *t) { return type_bytes(t->type, tensor_count(t)); }

Shape tensor_shape(const Tensor *t) { return shape_of_numbers(t->rank, t->dim); }

static Tensor *tensor_bare(Type type, int rank, const int64_t *dim)
{
    Tensor *t = NEW(Tensor);
    t->type = type;
    t->rank = rank;
    t->dim = dims_keep(rank, dim);
    return t;
}

Tensor *tensor_new(Type type, int rank, const int64_t *dim)
{
    Tensor *t = tensor_bare(type, rank, dim);
    t->data = pool_alloc(ELEMENTS_ROOM(tensor_size(t)));
    return t;
}

/* The dimensions of s, which are all numbers. */
static const int64_t *dims_of(Shape s)
{
    int64_t dim[MAX_RANK];
    for (int i = 0; i < s.rank; i++)
        dim[i] = dim_value(s.dim[i]);
    return dims_keep(s.rank, dim);
}

Tensor *tensor_zero(Type type, Shape s) { return tensor_new(type, s.rank, dims_of(s)); }

Tensor *tensor_symbolic(Type type, Shape s)
{
    Tensor *t = tensor_zero(I64, s);
    t->type = type;
    t->symbolic = true;
    return t;
}

Tensor *tensor_lazy(Type type, Shape s) { return tensor_bare(type, s.rank, dims_of(s)); }

Tensor *tensor_new_fill(Type type, Shape s, const void *element)
{
    Tensor *t = tensor_lazy(type, s);
    size_t n = type_bytes(type, 1);
    t->data = pool_alloc(ELEMENTS_ROOM(n));
    memcpy((void *)(uintptr_t)t->data, element, n);
    t->splat = true;
    return t;
}

Tensor *tensor_view(const Tensor *t, Shape s)
{
    Tensor *y = NEW_COPY(*t);
    y->rank = s.rank;
    y->dim = dims_of(s);
    if (t->owned && t->thunk) /* t may drop its bytes; y computes its own when needed */
        y->data = NULL;
    y->owned = y->pinned = false;
    y->copy = NULL;
    y->origin = NULL;
    y->hash = 0;
    return y;
}

Tensor *tensor_ints(int n, const int64_t *v)
{
    Tensor *t = tensor_new(I64, 1, (int64_t[]){n});
    if (n) /* v may be NULL */
        memcpy((void *)(uintptr_t)t->data, v, sizeof *v * (size_t)n);
    return t;
}

Tensor *tensor_dims(int n, const Dim *v)
{
    Tensor *t = tensor_ints(n, (const int64_t *)v);
    for (int i = 0; i < n; i++)
        t->symbolic |= !dim_is_const(v[i]);
    return t;
}

/* ---- elements as numbers ----------------------------------------------------------------------------------------- */

/* The runtime's tables in rt.h, which users have without the compiler, agree with types.def. */
#define SAME_ARITH(E, tag, arith) && RT_CAT(TYPE_, RT_ARITH_##tag) == arith
#define KIND_FLOATING(bits) (bits > 8 ? 1 : 5)
#define KIND_SIGNED(bits) (bits >= 8 ? 2 : 6)
#define KIND_UNSIGNED(bits) (bits >= 8 ? 3 : 7)
#define KIND_BOOLEAN(bits) 4
#define KIND_TEXT(bits) 8
#define KIND_COMPLEX(bits) 9
#define TYPE(number, E, tag, onnx, bits, arith, storage, kind, ...)                                                  \
    _Static_assert(RT_KIND(tag) == KIND_##kind(bits) && sizeof(tag) * 8 >= bits &&                                     \
                       (!RT_IS_STORAGE(tag) || storage == E)NUMBER_##kind(SAME_ARITH(E, tag, arith)),                  \
                   "types.def and rt.h disagree about " onnx);
#include "ir/types.def"
#undef TYPE

/* One element, converted to its arithmetic type. */
typedef union Number {
    float f32;
    double f64;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
} Number;

void elements_load(Type t, const void *x, ptrdiff_t base, ptrdiff_t stride, ptrdiff_t n, void *to)
{
    switch (t) {
#define LOAD(E, tag)                                                                                                   \
    case E:                                                                                                            \
        for (idx i = 0; i < n; i++)                                                                                    \
            ((RT_CAT(RT_ARITH_, tag) *)to)[i] = ld_##tag(x, base + i * stride);                                        \
        break;
#define TYPE(number, E, tag, onnx, bits, arith, storage, kind, ...) NUMBER_##kind(LOAD(E, tag))
#include "ir/types.def"
#undef TYPE
    default: bug("load of %s", type_tag(t));
    }
}

void elements_store(Type t, void *y, ptrdiff_t base, ptrdiff_t stride, ptrdiff_t n, const void *from)
{
    switch (t) {
#define STORE(E, tag)                                                                                                  \
    case E:                                                                                                            \
        for (idx i = 0; i < n; i++)                                                                                    \
            st_##tag(y, base + i * stride, ((const RT_CAT(RT_ARITH_, tag) *)from)[i]);                                          \
        break;
#define TYPE(number, E, tag, onnx, bits, arith, storage, kind, ...) NUMBER_##kind(STORE(E, tag))
#include "ir/types.def"
#undef TYPE
    default: bug("store of %s", type_tag(t));
    }
}

Tensor *tensor_float(Type type, double v)
{
    Tensor *t = tensor_new(type, 0, NULL);
    if (!type_is_float(type))
        bug("tensor_float of %s", type_onnx(type));
    const Number n = type == F64 ? (Number){.f64 = v} : (Number){.f32 = (float)v};
    elements_store(type, (void *)(uintptr_t)t->data, 0, 1, 1, &n);
    return t;
}

Tensor *tensor_int(Type type, int64_t v)
{
    Tensor *t = tensor_new(type, 0, NULL);
    const Type arith = type_arith(type);
    Number n = {.i64 = v};
    if (arith == I32 || arith == U32)
        n.u32 = (uint32_t)v;
    else if (arith != I64 && arith != U64)
        bug("tensor_int of %s", type_onnx(type));
    elements_store(type, (void *)(uintptr_t)t->data, 0, 1, 1, &n);
    return t;
}

bool tensor_is_uniform(const Tensor *t)
{
    if (t->splat || t->symbolic || t->thunk || !t->data || t->type == STR || type_bits(t->type) % 8)
        return t->splat;
    const size_t width = (size_t)type_bits(t->type) / 8, size = tensor_size(t);
    return size > width && !memcmp(t->data, (const char *)t->data + width, size - width);
}

bool tensor_is_zero(const Tensor *t)
{
    if (t->symbolic || t->type == STR)
        return false;
    const size_t n = tensor_size(t);
    const char *b = tensor_data(t);
    const bool zero = !n || (!b[0] && !memcmp(b, b + 1, n - 1));
    tensor_drop(t);
    return zero;
}

/* The bytes in which element *i is to be read; for a splat, *i becomes 0. */
static const void *element_bytes(const Tensor *t, int64_t *i)
{
    if (t->splat)
        *i = 0;
    return t->splat ? t->data : tensor_data(t);
}

int64_t tensor_get_int(const Tensor *t, int64_t i)
{
    Number n;
    const void *at = element_bytes(t, &i);
    elements_load(t->type, at, (idx)i, 1, 1, &n);
    switch (type_arith(t->type)) {
    case I32: return n.i32;
    case U32: return n.u32;
    case I64: return n.i64;
    case U64: return (int64_t)n.u64;
    default: bug("tensor_get_int of %s", type_onnx(t->type));
    }
}

double tensor_get(const Tensor *t, int64_t i)
{
    Number n;
    if (!type_is_float(t->type) && t->type != U64)
        return (double)tensor_get_int(t, i);
    const void *at = element_bytes(t, &i);
    elements_load(t->type, at, (idx)i, 1, 1, &n);
    return t->type == U64 ? (double)n.u64 : t->type == F64 ? n.f64 : (double)n.f32;
}

Name tensor_get_str(const Tensor *t, int64_t i)
{
    const str *s = element_bytes(t, &i);
    s += i;
    return name_bytes(s->text ? s->text : "", (size_t)s->length);
}

void tensor_set_str(Tensor *t, int64_t i, Name s) { ((str *)(uintptr_t)t->data)[i] = (str){s->s, s->n}; }

bool tensor_is_finite(const Tensor *t)
{
    const int64_t n = tensor_count(t) * (type_part(t->type) == t->type ? 1 : 2);
    const void *b = tensor_data(t);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(type_part(t->type) == F32 ? (double)((const float *)b)[i] : ((const double *)b)[i]))
            return false;
    return true;
}

/* ---- bytes for kernels ------------------------------------------------------------------------------------------- */

/* Writes `size` bytes of a splat: a repeated pattern, of one element or, below 8 bits, of three bytes. */
static void expand_fill(const Tensor *t, unsigned char *to, size_t size)
{
    int bits = type_bits(t->type);
    unsigned char pattern[16];
    size_t n = bits >= 8 ? (size_t)bits / 8 : 3;
    if (bits >= 8)
        memcpy(pattern, t->data, n);
    else {
        uint32_t all = 0, one = *(const unsigned char *)t->data & ((1u << bits) - 1);
        for (int i = 0; i < 24; i += bits)
            all |= one << i;
        for (size_t i = 0; i < n; i++)
            pattern[i] = (unsigned char)(all >> 8 * i);
    }
    if (n == 1)
        memset(to, pattern[0], size);
    else
        for (size_t i = 0; i < size; i++)
            to[i] = pattern[i % n];
    int spare = (int)((uint64_t)tensor_count(t) * (unsigned)bits % 8);
    if (spare && size)
        to[size - 1] &= (unsigned char)((1 << spare) - 1);
}

/* Runs the node that computes a lazy tensor's bytes. */
static void force(Tensor *t)
{
    if (!t->thunk)
        bug("a tensor without data");
    Value *v = t->thunk->out[t->thunk_out];
    Tensor *old = v->data;
    const int errors = error_count();
    v->data = t;
    t->run(t->thunk);
    v->data = old;
    stop_on_new_errors(errors);
    if (!t->data)
        bug("folding %s gave nothing", t->thunk->op->name);
}

const void *tensor_data(const Tensor *constant)
{
    Tensor *t = (Tensor *)(uintptr_t)constant;
    if (!t->data)
        force(t);
    size_t align = (size_t)type_bits(t->type) / 8;
    if (!t->splat && (uintptr_t)t->data % (align ? align : 1) == 0)
        return t->data;
    if (!t->copy) {
        size_t size = tensor_size(t);
        t->copy = big_alloc(size);
        if (t->splat)
            expand_fill(t, t->copy, size);
        else
            memcpy(t->copy, t->data, size);
    }
    return t->copy;
}

PART(Map, kept) /* hash -> Tensor */

void tensor_keep(Tensor *t)
{
    const size_t size = tensor_size(t);
    const uint64_t h = XXH3_64bits_withSeed(t->data, size, size) | 1;
    const Tensor *same = map_get(kept(), (void *)(uintptr_t)h);
    if (!same) {
        map_put(kept(), (void *)(uintptr_t)h, t);
        t->pinned = true;
    } else if (tensor_size(same) == size && !memcmp(same->data, t->data, size)) {
        pool_free((void *)(uintptr_t)t->data, ELEMENTS_ROOM(size));
        t->data = same->data;
    }
}

void tensor_drop(const Tensor *constant)
{
    Tensor *t = (Tensor *)(uintptr_t)constant;
    if (t->copy)
        big_free(t->copy);
    t->copy = NULL;
    if (t->owned && t->thunk) {
        big_free((void *)(uintptr_t)t->data);
        t->data = NULL;
        t->owned = false;
    }
}

Tensor *tensor_materialise(Tensor *t)
{
    int64_t n = tensor_count(t);
    const Dim *d = t->data;
    for (int64_t i = 0; i < n; i++)
        if (!dim_is_const(d[i]))
            return t;
    Tensor *c = tensor_new(t->type, t->rank, t->dim);
    for (int64_t i = 0; i < n; i++)
        switch (t->type) {
        case I64: ((int64_t *)(uintptr_t)c->data)[i] = dim_value(d[i]); break;
        case I32: ((int32_t *)(uintptr_t)c->data)[i] = (int32_t)dim_value(d[i]); break;
        default: ((uint8_t *)(uintptr_t)c->data)[i] = (uint8_t)dim_value(d[i]); break;
        }
    return c;
}
