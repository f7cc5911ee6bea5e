/* strided.c - prepares copies between strided arrangements: fewest axes, the inner one contiguous. */
#include "strided.h"

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

static bool runs_on(const Dim *stride, Dim dim, int k) { return dim_same(stride[k - 1], dim_mul(dim, stride[k])); }

void strided_merge(Strided *s)
{
    int k = 0; /* axes kept */
    for (int i = 0; i < s->rank; i++) {
        if (dim_is(s->dim[i], 1))
            continue;
        s->dim[k] = s->dim[i];
        s->from[k] = s->from[i];
        s->to[k] = s->to[i];
        if (k && runs_on(s->from, s->dim[k], k) && runs_on(s->to, s->dim[k], k)) {
            s->dim[k - 1] = dim_mul(s->dim[k - 1], s->dim[k]);
            s->from[k - 1] = s->from[k];
            s->to[k - 1] = s->to[k];
        } else
            k++;
    }
    s->rank = k;
}

/* The axis that x runs along goes next to the one that y runs along. */
static void turn(Strided *s)
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

/* The axes at the end of arrays of n; one stride may be NULL. */
static bool put_axes(Node *n, const Strided *s, int most, Dim *dim, Dim *from, Dim *to)
{
    if (s->rank > most) {
        node_error(n, "more than %d axes move independently", most);
        return false;
    }
    for (int i = 0; i < most; i++) {
        int k = i - (most - s->rank);
        dim[i] = k < 0 ? D(1) : s->dim[k];
        if (from)
            from[i] = k < 0 ? D(0) : s->from[k];
        if (to)
            to[i] = k < 0 ? D(0) : s->to[k];
    }
    return true;
}

bool strided_six(Node *n, Strided *s, Dim *dim, Dim *from, Dim *to)
{
    strided_merge(s);
    return put_axes(n, s, 6, dim, from, to);
}

void strided_bind(Node *n, Strided s)
{
    Type t = type_storage(in_type(n, 0));
    strided_merge(&s);
    turn(&s);
    if (!s.rank) /* one element */
        strided_axis(&s, D(1), D(1), D(1));
    if (s.rank <= 4) {
        struct copy_bind p = {.from_at = s.from_at, .to_at = s.to_at};
        put_axes(n, &s, 4, p.dim, p.from, p.to);
        bind_kernel(n, "copy", t, NO_TYPE, copy_fields(), &p, NULL, 0);
        return;
    }
    struct copy8_bind p = {.from_at = s.from_at, .to_at = s.to_at};
    if (put_axes(n, &s, 8, p.dim, p.from, p.to))
        bind_kernel(n, "copy8", t, NO_TYPE, copy8_fields(), &p, NULL, 0);
}

bool call_is_window(const Call *c, Dim *at)
{
    if (!c->kernel || strcmp(c->kernel->name, "copy"))
        return false;
    const struct copy_bind *p = (const void *)c->param;
    for (int i = 0; i < 3; i++)
        if (!dim_is(p->dim[i], 1))
            return false;
    *at = p->from_at;
    return dim_is(p->from[3], 1) && dim_is(p->to[3], 1) && dim_is(p->to_at, 0);
}
