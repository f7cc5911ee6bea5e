/* strided.c - strided copies: reduced to as few axes as possible, with a contiguous inner one. */
#include "ir/strided.h"
#include "ir/call.h"

#include "copy.h"

void shape_strides(Shape s, Dim *stride)
{
    Dim d = D(1);
    for (int i = s.rank - 1; i >= 0; i--) {
        stride[i] = d;
        d = dim_mul(d, s.dim[i]);
    }
}

void strided_axis(Strided *s, Dim dim, Dim from, Dim to)
{
    s->dim[s->rank] = dim;
    s->from[s->rank] = from;
    s->to[s->rank++] = to;
}

static bool is_continued(const Dim *stride, Dim dim, int k)
{
    return dim_identical(stride[k - 1], dim_mul(dim, stride[k]));
}

/* Drops axes of size 1 and merges axes that are contiguous to each other. */
static void strided_merge(Strided *s)
{
    int k = 0; /* axes kept */
    for (int i = 0; i < s->rank; i++) {
        if (dim_is(s->dim[i], 1))
            continue;
        s->dim[k] = s->dim[i];
        s->from[k] = s->from[i];
        s->to[k] = s->to[i];
        if (k && is_continued(s->from, s->dim[k], k) && is_continued(s->to, s->dim[k], k)) {
            s->dim[k - 1] = dim_mul(s->dim[k - 1], s->dim[k]);
            s->from[k - 1] = s->from[k];
            s->to[k - 1] = s->to[k];
        } else
            k++;
    }
    s->rank = k;
}

/* Moves the axis that is contiguous in x next to the innermost one, which is contiguous in y. */
static void swap_axes(Strided *s)
{
    int k = s->rank;
    for (int i = 0; i < k - 2; i++)
        if (dim_is(s->from[i], 1) && !dim_is(s->from[k - 1], 1)) {
            Dim d = s->dim[i], from = s->from[i], to = s->to[i];
            for (int m = i; m < k - 2; m++) {
                s->dim[m] = s->dim[m + 1];
                s->from[m] = s->from[m + 1];
                s->to[m] = s->to[m + 1];
            }
            s->dim[k - 2] = d;
            s->from[k - 2] = from;
            s->to[k - 2] = to;
            return;
        }
}

/* Writes the axes, right-aligned, to arrays of `count`; from or to may be NULL. */
static void put_axes(const Strided *s, int count, Dim *dim, Dim *from, Dim *to)
{
    for (int i = 0; i < count; i++) {
        int k = i - (count - s->rank);
        dim[i] = k < 0 ? D(1) : s->dim[k];
        if (from)
            from[i] = k < 0 ? D(0) : s->from[k];
        if (to)
            to[i] = k < 0 ? D(0) : s->to[k];
    }
}

static void merge_some(Strided *s)
{
    strided_merge(s);
    if (!s->rank) /* one element */
        strided_axis(s, D(1), D(1), D(1));
}

Dim strided_axes(Strided *s, Dim *dim, Dim *from, Dim *to)
{
    merge_some(s);
    put_axes(s, s->rank, dim, from, to);
    return D(s->rank);
}

void strided_bind(Node *n, Strided s)
{
    Type t = type_storage(in_type(n, 0));
    merge_some(&s);
    swap_axes(&s);
    if (s.rank <= 4) {
        struct copy_bind p = {.from_at = s.from_at, .to_at = s.to_at};
        put_axes(&s, 4, p.dim, p.from, p.to);
        bind_kernel(n, "copy", t, NO_TYPE, copy_fields(), &p, NULL, 0);
        return;
    }
    struct copy_many_bind p = {.rank = D(s.rank), .from_at = s.from_at, .to_at = s.to_at};
    put_axes(&s, s.rank, p.dim, p.from, p.to);
    bind_kernel(n, "copy_many", t, NO_TYPE, copy_many_fields(), &p, NULL, 0);
}
