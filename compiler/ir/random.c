/* random.c - tensors of random elements, which a seed determines. */
#include "ir/random.h"
#include "rt.h"

/* SplitMix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double from_minus_one_to_one(uint64_t *state) { return (double)(next_random(state) >> 40) * 0x1p-23 - 1; }

/* Integers of more than a byte are often indices, and stay small. */
static int64_t random_int(Type t, int64_t below, uint64_t *state)
{
    const int64_t r = (int64_t)(next_random(state) >> 32);
    const int bits = type_bits(t);
    if (t == B8 || bits > 8)
        return r % (t == B8 ? 2 : below);
    return r % (1 << bits) - (type_is_signed(t) ? 1 << (bits - 1) : 0);
}

/* Writes one element, by way of the type in which kernels compute. */
static void put_random(Type t, void *data, int64_t i, int64_t below, uint64_t *state)
{
    const Type by = type_arith(t);
    const double f = from_minus_one_to_one(state);
    const int64_t n = random_int(t, below, state);
    const float single = (float)f;
    const int32_t small = (int32_t)n;
    const void *from = by == F64             ? (const void *)&f
                       : by == F32           ? (const void *)&single
                       : type_bits(by) == 64 ? (const void *)&n
                                             : &small;
    elements_store(t, data, i, 1, 1, from);
}

Tensor *random_tensor(Type type, int rank, const int64_t *dim, int64_t below, uint64_t *state)
{
    Tensor *t = tensor_new(type, rank, dim);
    const Type part = type_part(type);
    const int64_t n = tensor_count(t) * (part == type ? 1 : 2);
    for (int64_t i = 0; i < n; i++)
        if (type == STR)
            tensor_set_str(t, i, name_format("word %d", (int)random_int(I64, below, state)));
        else
            put_random(part, (void *)(uintptr_t)t->data, i, below, state);
    return t;
}
