/* nodes.c - construction of ordinary nodes for vjp rules and decompositions. */
#include "ir/spatial.h"
#include "gradient.h"

Value *shape_like(Node *n, Value *v) { return make(n, "Shape", 1, v); }

Value *filled(Node *n, Type t, double with, int rank, const Dim *dim)
{
    return make(n, "Expand", 2, make_scalar(n, t, with), make_dims(n, rank, dim));
}

Value *filled_like(Node *n, Value *v, double with)
{
    return make(n, "Expand", 2, make_scalar(n, v->type, with), shape_like(n, v));
}

Value *zeros_like(Node *n, Value *v) { return filled_like(n, v, 0); }

Value *unit_matrix(Node *n, Type t, Dim size) { return make(n, "EyeLike", 1, filled(n, t, 0, 2, (Dim[]){size, size})); }

Value *sum_over(Node *n, Value *v, int k, const int64_t *axes)
{
    return k ? make(n, "ReduceSum", 2, v, make_ints(n, k, axes)) : v;
}

Value *reshape_like(Node *n, Value *v, Value *x)
{
    v = make(n, "Reshape", 2, v, shape_like(n, x));
    attr_set_int(v->def, "allowzero", 1);
    return v;
}

Value *sum_to_shape(Node *n, Value *v, Shape from, Value *x)
{
    int64_t axes[MAX_RANK];
    Shape s = *x->shape;
    int k = 0, more = from.rank - s.rank;
    bool same_rank = more == 0;
    for (int i = 0; i < from.rank; i++)
        if (i < more || (dim_is(s.dim[i - more], 1) && !dim_is(from.dim[i], 1))) {
            axes[k++] = i;
            from.dim[i] = D(1);
        }
    v = sum_over(n, v, k, axes);
    for (int i = more; i < from.rank; i++) {
        Dim d = s.dim[i - more], after = dim_mul(d, shape_product(from, i + 1, from.rank));
        if (dim_identical(d, from.dim[i]))
            continue;
        Dim times = dim_div(from.dim[i], dim_max(d, D(1))); /* 1, or the whole size if d is 1 at run time */
        v = make_reshape(n, v, 3, (Dim[]){shape_product(from, 0, i), times, after});
        v = sum_over(n, v, 1, (int64_t[]){1});
        from.dim[i] = d;
        same_rank = false;
    }
    return same_rank ? v : reshape_like(n, v, x);
}

Value *transpose(Node *n, Value *v, int rank, const int64_t *perm)
{
    v = make(n, "Transpose", 1, v);
    attr_set_ints(v->def, "perm", rank, perm);
    return v;
}

Value *part(Node *n, Value *v, int64_t axis, Dim from, Dim to)
{
    return make(n, "Slice", 4, v, make_dims(n, 1, &from), make_dims(n, 1, &to), make_ints(n, 1, &axis));
}

/* 0, step, 2 step ... */
static Value *steps(Node *n, Dim count, Dim step)
{
    Value *v = make(n, "Range", 3, make_int(n, 0), size_as(n, I64, count), make_int(n, 1));
    return dim_is(step, 1) ? v : make(n, "Mul", 2, v, size_as(n, I64, step));
}

Value *windows_along(Node *n, Value *v, int64_t axis, Dim count, Dim stride, Dim size, Dim dilation)
{
    Value *from = make_reshape(n, steps(n, count, stride), 2, (Dim[]){count, D(1)});
    v = make(n, "Gather", 2, v, make(n, "Add", 2, from, steps(n, size, dilation)));
    attr_set_int(v->def, "axis", axis);
    return v;
}

Value *size_as(Node *n, Type t, Dim d)
{
    return dim_is_const(d) ? make_scalar(n, t, (double)dim_value(d))
                           : make_cast(n, make_reshape(n, make_dims(n, 1, &d), 0, NULL), t);
}

Node *clone_node(Node *n, const Node *m, Value **in, int n_in, int n_out)
{
    const char *domain = m->op->domain;
    Name op = name_format("%s%s%s", domain ? domain : "", domain ? "." : "", m->op->name);
    Node *c = make_node(n, op->s, n_in, in, n_out);
    c->op = m->op; /* the same version */
    c->source = m->source;
    for (int i = 0; i < m->n_attr; i++)
        attr_set(c, m->attr[i]);
    return c;
}

Value *matrices(Node *n, Value *left, bool trans_left, Value *right, bool trans_right)
{
    Value *v = make(n, "onnxcc.Product", 2, left, right);
    attr_set_int(v->def, "trans_a", trans_left);
    attr_set_int(v->def, "trans_b", trans_right);
    return v;
}

Value *numbered(Node *n, Value *x, Type t)
{
    Value *one = make_int(n, 1), *end = make(n, "Add", 2, make(n, "Size", 1, x), one);
    return reshape_like(n, make_cast(n, make(n, "Range", 3, one, end, one), t), x);
}

Value *scatter_add(const Vjp *b, Value *numbers, Value *d)
{
    Node *n = b->n;
    Value *x = b->m->in[b->i], *flat = make_ints(n, 1, (int64_t[]){-1}), *one = make_ints(n, 1, (int64_t[]){1});
    Value *room = make(n, "Reshape", 2, make(n, "Add", 2, make(n, "Size", 1, x), make_int(n, 1)), one);
    Value *v = make(n, "ScatterElements", 3, make(n, "Expand", 2, make_scalar(n, d->type, 0), room),
                    make(n, "Reshape", 2, make_cast(n, numbers, I64), flat), make(n, "Reshape", 2, d, flat));
    attr_set_string(v->def, "reduction", "add");
    v = make(n, "Slice", 3, v, one, make_ints(n, 1, (int64_t[]){INT64_MAX}));
    return reshape_like(n, v, x);
}
