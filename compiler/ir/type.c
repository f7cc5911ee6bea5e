/* type.c - element types and shapes. */
#include "ir/type.h"
#include "ir/expr.h"
#include "ir/ops.h"

#include <stdlib.h>

static const struct TypeInfo {
    const char *tag, *onnx;
    int bits;
    Type arith, storage;
    enum { NOTHING, FLOATING, SIGNED, UNSIGNED, BOOLEAN, TEXT, COMPLEX } kind;
    int first_version;
    const char *public;
} types[N_TYPES] = {
    [NO_TYPE] = {"none", "undefined", 0, NO_TYPE, NO_TYPE, NOTHING, 1, "void"},
#define TYPE(number, E, tag, onnx, bits, arith, storage, kind, since, public, field)                                   \
    [E] = {#tag, onnx, bits, arith, storage, kind, since, public},
#include "ir/types.def"
#undef TYPE
};

static const struct TypeInfo *info(Type t) { return &types[(unsigned)t < N_TYPES ? t : NO_TYPE]; }

const char *type_tag(Type t) { return info(t)->tag; }
const char *type_onnx(Type t) { return info(t)->onnx; }
int type_bits(Type t) { return info(t)->bits; }
Type type_arith(Type t) { return info(t)->arith; }
Type type_wide(Type t) { return t == F16 || t == BF16 ? F32 : t; }
Type type_part(Type t) { return t == C64 ? F32 : t == C128 ? F64 : t; }
Type type_storage(Type t) { return info(t)->storage; }
bool type_is_float(Type t) { return info(t)->kind == FLOATING; }
bool type_is_int(Type t) { return info(t)->kind == SIGNED || info(t)->kind == UNSIGNED; }
bool type_is_signed(Type t) { return info(t)->kind == SIGNED || (info(t)->kind == FLOATING && t != F8E8M0); }
int type_first_version(Type t) { return info(t)->first_version; }
const char *type_public(Type t) { return info(t)->public; }

/* The groups of types that schemas name: those of some kinds, `low` to `high` bits wide, that an IR version has. */
#define FLOATS (1u << FLOATING)
#define INTEGERS (1u << SIGNED | 1u << UNSIGNED)
static const struct Group {
    const char *name;
    unsigned kinds;
    int low, high, version;
} groups[] = {
    {"F", FLOATS, 16, 64, 1},
    {"FB", FLOATS, 16, 64, 4},
    {"I", 1u << SIGNED, 8, 64, 1},
    {"U", 1u << UNSIGNED, 8, 64, 1},
    {"IU", INTEGERS, 8, 64, 1},
    {"N", INTEGERS | FLOATS, 8, 64, 1},
    {"NB", INTEGERS | FLOATS, 8, 64, 4},
    {"F8", FLOATS, 8, 8, 9},
    {"C", 1u << COMPLEX, 0, 128, 1},
    {"ALL", ~0u, 0, 128, 1},
    {"ALLB", ~0u, 0, 128, 4}, /* opset 13 */
};

static TypeSet members(struct Group g)
{
    TypeSet set = 0;
    for (Type t = NO_TYPE + 1; t < N_TYPES; t++)
        if (g.kinds >> types[t].kind & 1 && types[t].bits >= g.low && types[t].bits <= g.high &&
            types[t].first_version <= g.version)
            set |= 1ull << t;
    return set;
}

TypeSet type_group(const char *s, size_t n)
{
    if (n > 3 && !memcmp(s, "ALL", 3) && s[3] <= '9') /* ALL14: what IR version 14 has */
        return members((struct Group){.kinds = ~0u, .high = 128, .version = (int)strtol(s + 3, NULL, 10)});
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strlen(groups[i].name) == n && !memcmp(groups[i].name, s, n))
            return members(groups[i]);
    return 0;
}

size_t type_bytes(Type t, int64_t count)
{
    size_t bytes;
    if (count < 0 || __builtin_mul_overflow((size_t)count, (size_t)info(t)->bits, &bytes) || bytes > SIZE_MAX - 7)
        fail_as(EXIT_MODEL, "LIM-02", "a tensor of %lld elements does not fit in memory", (long long)count);
    return (bytes + 7) / 8;
}

/* ---- shapes ------------------------------------------------------------------------------------------------ */

Shape shape_of(int rank, const Dim *dim)
{
    Shape s = {.rank = rank};
    for (int i = 0; i < rank; i++)
        s.dim[i] = dim[i];
    return s;
}

Shape shape_of_numbers(int rank, const int64_t *dim)
{
    Shape s = {.rank = rank};
    for (int i = 0; i < rank; i++)
        s.dim[i] = D(dim[i]);
    return s;
}

PART(Map, kept) /* hash -> Shape */

const Shape *shape_keep(Shape s)
{
    uint64_t h = (uint64_t)s.rank;
    for (int i = 0; i < s.rank; i++)
        h = (h ^ (uint64_t)s.dim[i].v) * 0x9E3779B97F4A7C15u;
    Shape *same;
    for (h = (h ^ h >> 32) | 1; (same = map_get(kept(), (void *)(uintptr_t)h)) != NULL; h += 2)
        if (shape_identical(*same, s))
            return same;
    same = NEW(Shape);
    *same = shape_of(s.rank, s.dim);
    map_put(kept(), (void *)(uintptr_t)h, same);
    return same;
}

const int64_t *dims_keep(int rank, const int64_t *dim) { return &shape_keep(shape_of_numbers(rank, dim))->dim->v; }

Shape shape_list(int rank, ...)
{
    Shape s = {.rank = rank};
    va_list list;
    va_start(list, rank);
    for (int i = 0; i < rank; i++)
        s.dim[i] = va_arg(list, Dim);
    va_end(list);
    return s;
}

Dim shape_product(Shape s, int from, int to)
{
    Dim p = D(1);
    for (int i = from; i < to; i++)
        p = dim_mul(p, s.dim[i]);
    return p;
}

Shape shape_without(Shape s, int axis)
{
    for (int i = axis; i < s.rank - 1; i++)
        s.dim[i] = s.dim[i + 1];
    s.rank--;
    return s;
}

Dim shape_count(Shape s) { return shape_product(s, 0, s.rank); }

int64_t shape_high(Shape s)
{
    int64_t n = 1;
    for (int i = 0; i < s.rank; i++)
        n = number_mul(n, dim_high(s.dim[i]));
    return n;
}

bool shape_identical(Shape a, Shape b)
{
    bool same = a.rank == b.rank;
    for (int i = 0; same && i < a.rank; i++)
        same = dim_identical(a.dim[i], b.dim[i]);
    return same;
}

bool shape_is_const(Shape s)
{
    bool known = s.rank >= 0;
    for (int i = 0; i < s.rank; i++)
        known &= dim_is_const(s.dim[i]);
    return known;
}

/* Broadcasts one dimension by numpy's rule: equal, or one of them is 1. Paired with a number other than 1, an
 * expression must be 1 or that number. */
static bool broadcast_dim(Dim a, Dim b, Dim *y)
{
    if (dim_identical(a, b) || dim_is(b, 1))
        return *y = a, true;
    if (dim_is(a, 1))
        return *y = b, true;
    if (dim_is_const(a) && dim_is_const(b))
        return false;
    if (dim_is_const(a) || dim_is_const(b))
        *y = dim_is_const(a) ? a : b;
    else if (dim_size(b) < dim_size(a)) /* the shorter one, since it is printed twice */
        *y = dim_select(dim_eq_expr(b, D(1)), a, b);
    else
        *y = dim_select(dim_eq_expr(a, D(1)), b, a);
    return true;
}

bool shape_broadcast(Shape a, Shape b, Shape *out)
{
    Shape y = {.rank = a.rank < 0 || b.rank < 0 ? -1 : a.rank > b.rank ? a.rank : b.rank};
    for (int i = 1; i <= y.rank; i++)
        if (!broadcast_dim(i <= a.rank ? a.dim[a.rank - i] : D(1), i <= b.rank ? b.dim[b.rank - i] : D(1),
                           &y.dim[y.rank - i]))
            return false;
    *out = y;
    return true;
}

const char *shape_text(Shape s)
{
    Text t = {0};
    if (s.rank < 0)
        return "[?]";
    text_put(&t, "[");
    for (int i = 0; i < s.rank; i++) {
        text_put(&t, "%s", i ? "," : "");
        dim_print(&t, s.dim[i]);
    }
    text_put(&t, "]");
    return t.s;
}
