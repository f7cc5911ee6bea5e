/* difference.c - compares two tensors, or two containers of tensors, element by element. */
#include "ir/difference.h"

#include <math.h>

#include "base/error.h"

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static const char *element_index(const Tensor *t, int64_t i)
{
    Text s = {0};
    int64_t at[MAX_RANK];
    for (int k = t->rank - 1; k >= 0; k--) {
        at[k] = i % t->dim[k];
        i /= t->dim[k];
    }
    text_put(&s, "[");
    for (int k = 0; k < t->rank; k++)
        text_put(&s, "%s%lld", k ? "," : "", (long long)at[k]);
    text_put(&s, "]");
    return s.s;
}

/* The two parts of complex elements as elements of their own; others unchanged. */
static Tensor in_parts(const Tensor *t, int64_t *n)
{
    Tensor parts = *t;
    parts.data = tensor_data(t);
    parts.splat = false;
    parts.type = type_part(t->type);
    *n = tensor_count(t) * (parts.type == t->type ? 1 : 2);
    return parts;
}

static const char *number_text(const Tensor *t, int64_t i)
{
    if (type_is_float(t->type))
        return text_format(t->type == F64 ? "%.17g" : "%.9g", tensor_get(t, i));
    return text_format(t->type == U64 ? "%llu" : "%lld", (long long)tensor_get_int(t, i));
}

static const char *element_text(const Tensor *t, int64_t i)
{
    int64_t n;
    if (t->type == STR)
        return text_format("\"%s\"", printable(tensor_get_str(t, i)));
    const Tensor parts = in_parts(t, &n);
    return parts.type == t->type ? number_text(t, i)
                                 : text_format("%s+%si", number_text(&parts, 2 * i), number_text(&parts, 2 * i + 1));
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

/* The bits of a float as an integer with the order of the floats. */
static int64_t in_order(const Tensor *t, int64_t i)
{
    const int bits = type_bits(t->type);
    uint64_t u = 0;
    memcpy(&u, (const char *)t->data + (size_t)(i * (bits / 8)), (size_t)bits / 8);
    const uint64_t sign = 1ull << (bits - 1);
    return u & sign ? -(int64_t)(u & ~sign) : (int64_t)u;
}

/* Half the distance of 1 and the next float. */
static double epsilon(Type t) { return t == F64 || t == F32 ? 0 : t == F16 ? 0x1p-11 : t == BF16 ? 0x1p-8 : 0x1p-4; }

static void put_ulps(Difference *d, const Tensor *got, const Tensor *expected, int64_t i)
{
    if (type_bits(got->type) % 8)
        return;
    const int64_t a = in_order(got, i), b = in_order(expected, i);
    const uint64_t ulps = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    d->ulps = ulps > d->ulps ? ulps : d->ulps;
}

/* Is element i beyond the tolerance? */
static bool float_differs(Difference *d, const Tensor *got, const Tensor *expected, int64_t i, Tolerance within)
{
    const double x = tensor_get(got, i), y = tensor_get(expected, i);
    if (x == y || (isnan(x) && isnan(y)))
        return false;
    if (!isfinite(x) || !isfinite(y)) {
        d->absolute = d->relative = INFINITY;
        return true;
    }
    const double by = fabs(x - y), of = fabs(y);
    d->absolute = fmax(d->absolute, by);
    if (of * within.relative >= within.absolute && of > 0) { /* below, the absolute error decides */
        d->relative = fmax(d->relative, by / of);
        put_ulps(d, got, expected, i);
    }
    return by > within.absolute + (within.relative + 8 * epsilon(got->type)) * of;
}

static bool int_differs(Difference *d, const Tensor *got, const Tensor *expected, int64_t i, Tolerance within)
{
    const int64_t x = tensor_get_int(got, i), y = tensor_get_int(expected, i);
    const bool less = got->type == U64 ? (uint64_t)x < (uint64_t)y : x < y;
    const double by = (double)(less ? (uint64_t)y - (uint64_t)x : (uint64_t)x - (uint64_t)y);
    d->absolute = fmax(d->absolute, by);
    const bool small = type_bits(got->type) <= 8 && got->type != B8;
    return by > (small ? fmax(within.absolute, within.steps) : within.absolute);
}

static bool differs(Difference *d, const Tensor *got, const Tensor *expected, int64_t i, Tolerance within)
{
    if (got->type == STR)
        return tensor_get_str(got, i) != tensor_get_str(expected, i);
    return (type_is_float(got->type) ? float_differs : int_differs)(d, got, expected, i, within);
}

static bool is_same_shape(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank);
}

static void compare_tensors(Difference *d, const Tensor *got, const Tensor *expected, const char *at, Tolerance within)
{
    if (got->type != expected->type || !is_same_shape(got, expected)) {
        d->unlike = text_format("%s, not %s%s%s", tensor_text(got), tensor_text(expected), *at ? ", at " : "", at);
        return;
    }
    int64_t n;
    const Tensor x = in_parts(got, &n), y = in_parts(expected, &n);
    const int parts = x.type == got->type ? 1 : 2;
    d->type = got->type;
    d->elements += n;
    for (int64_t i = 0; i < n; i++)
        if (differs(d, &x, &y, i, within) && !d->count++) {
            d->first = text_format("%s%s", at, element_index(got, i / parts));
            d->got = element_text(got, i / parts);
            d->expected = element_text(expected, i / parts);
        }
}

static void compare_data(Difference *d, const Data *got, const Data *expected, const char *at, Tolerance within)
{
    if (d->unlike)
        return;
    if (got->form == OPTIONAL && got->n && expected->form != OPTIONAL)
        got = got->item; /* ONNX Runtime has optionals that are present as their elements */
    if (expected->form == OPTIONAL && expected->n && got->form != OPTIONAL)
        expected = expected->item; /* and onnxcc those that always are */
    if (got->form != expected->form || got->n != expected->n) {
        d->unlike = text_format("%s, not %s%s%s", data_text(got), data_text(expected), *at ? ", at " : "", at);
        return;
    }
    if (got->form == TENSOR) {
        compare_tensors(d, got->t, expected->t, at, within);
        return;
    }
    const bool map = got->form == MAP;
    const Data x = map ? data_by_keys(got) : *got, y = map ? data_by_keys(expected) : *expected;
    for (int i = x.n - 1; map && i >= 0; i--)
        compare_data(d, &x.item[i], &y.item[i], text_format("%s.%s", at, i ? "keys" : "values"), within);
    for (int i = 0; !map && i < x.n; i++)
        compare_data(d, &x.item[i], &y.item[i], x.form == OPTIONAL ? at : text_format("%s[%d]", at, i), within);
}

Difference data_difference(const Data *got, const Data *expected, Tolerance within)
{
    Difference d = {0};
    compare_data(&d, got, expected, "", within);
    return d;
}

bool is_alike(const Difference *d) { return !d->unlike && !d->count; }

void put_difference(Text *t, const Difference *d)
{
    if (d->unlike) {
        text_put(t, "DIFFERS: it is %s", d->unlike);
        return;
    }
    if (d->type && d->type != STR) {
        text_put(t, "largest error %.2g", d->absolute);
        if (type_is_float(type_part(d->type)))
            text_put(t, ", relative %.2g, %llu ULPs", d->relative, (unsigned long long)d->ulps);
        text_put(t, ": ");
    }
    if (d->count)
        text_put(t, "DIFFERS in %lld of %lld elements", (long long)d->count, (long long)d->elements);
    else
        text_put(t, "ok");
}
