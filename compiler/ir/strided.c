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

void strided_axis(Strided *s, Dim dim, Dim from, Dim to) { s->axis[s->rank++] = (struct StridedAxis){dim, from, to}; }

Dim strided_along(Strided *s, Shape list, Shape data, int axis)
{
    Dim from[MAX_RANK], to[MAX_RANK];
    shape_strides(list, from);
    shape_strides(data, to);
    for (int i = 0; i < data.rank; i++)
        strided_axis(s, list.dim[i], from[i], i == axis ? D(0) : to[i]);
    return to[axis];
}

/* Drops axes of size 1 and merges axes that are contiguous to each other. */
static void strided_merge(Strided *s)
{
    int k = 0; /* axes kept */
    for (int i = 0; i < s->rank; i++) {
        struct StridedAxis a = s->axis[i];
        const struct StridedAxis *outer = k ? &s->axis[k - 1] : NULL;
        if (dim_is(a.dim, 1))
            continue;
        if (outer && dim_identical(outer->from, dim_mul(a.dim, a.from)) &&
            dim_identical(outer->to, dim_mul(a.dim, a.to))) {
            a.dim = dim_mul(outer->dim, a.dim);
            k--;
        }
        s->axis[k++] = a;
    }
    s->rank = k;
}

/* Moves the axis that is contiguous in x next to the innermost one, which is contiguous in y. */
static void swap_axes(Strided *s)
{
    int k = s->rank;
    for (int i = 0; i < k - 2; i++)
        if (dim_is(s->axis[i].from, 1) && !dim_is(s->axis[k - 1].from, 1)) {
            const struct StridedAxis a = s->axis[i];
            memmove(&s->axis[i], &s->axis[i + 1], sizeof a * (size_t)(k - 2 - i));
            s->axis[k - 2] = a;
            return;
        }
}

/* Writes the axes, right-aligned, to arrays of `count`; from or to may be NULL. */
static void put_axes(const Strided *s, int count, Dim *dim, Dim *from, Dim *to)
{
    for (int i = 0; i < count; i++) {
        int k = i - (count - s->rank);
        dim[i] = k < 0 ? D(1) : s->axis[k].dim;
        if (from)
            from[i] = k < 0 ? D(0) : s->axis[k].from;
        if (to)
            to[i] = k < 0 ? D(0) : s->axis[k].to;
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
