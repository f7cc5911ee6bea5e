/* moves.c - vjp rules of operators that reshape, move, choose or replace elements. */
#include "ir/spatial.h"
#include "gradient.h"

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

Value *reshape_vjp(const Vjp *b) { return reshape_like(b->n, b->d, b->m->in[0]); }

Value *transpose_vjp(const Vjp *b)
{
    const int64_t *perm;
    int64_t inverse[MAX_RANK];
    int rank = b->m->in[0]->shape->rank, k = attr_ints(b->m, "perm", &perm);
    for (int i = 0; i < rank; i++)
        inverse[k < 0 ? rank - 1 - i : axis_of(b->m, perm[i], rank)] = i;
    return transpose(b->n, b->d, rank, inverse);
}

Value *concat_vjp(const Vjp *b)
{
    Value *x = b->m->in[b->i];
    int64_t axis = attr_axis(b->m, "axis", x->shape->rank);
    Dim from = D(0);
    for (int i = 0; i < b->i; i++)
        from = dim_add(from, b->m->in[i]->shape->dim[axis]);
    return part(b->n, b->d, axis, from, dim_add(from, x->shape->dim[axis]));
}

/* ---- moved elements --------------------------------------------------------------------------------------------- */

/* For an operator that only moves elements: applying it to the elements' numbers gives the origin of each output
 * element; 0: from another input. */
static Value *scatter_add_moved(const Vjp *b, Type t)
{
    Node *n = b->n, *m = b->m;
    Value **in = NEWS(Value *, m->n_in), *zero = make_scalar(n, t, 0);
    for (int i = 0; i < m->n_in; i++)
        in[i] = i == b->i ? numbered(n, m->in[i], t) : m->in[i];
    for (int i = 0; i < m->n_in; i++)
        if (i != b->i && m->in[i] && m->in[i]->type == m->in[b->i]->type)
            in[i] = make(n, "Expand", 2, zero, shape_like(n, m->in[i]));
    Node *c = clone_node(n, m, in, m->n_in, m->n_out);
    if (node_attr(m, "extrapolation_value"))
        attr_set_float(c, "extrapolation_value", 0);
    return scatter_add(b, c->out[b->o], b->d);
}

Value *moved_vjp(const Vjp *b) { return scatter_add_moved(b, I64); }

/* GridSample in mode nearest, where the grid's gradient is zero. (Other modes are decomposed.) */
Value *nearest_vjp(const Vjp *b)
{
    Value *in[] = {numbered(b->n, b->m->in[0], I64), b->m->in[1]};
    if (!attr_is(b->m, "mode", "nearest"))
        return NULL;
    return b->i ? zeros_like(b->n, b->m->in[1]) : scatter_add(b, clone_node(b->n, b->m, in, 2, 1)->out[0], b->d);
}

Value *moved_float_vjp(const Vjp *b) { return scatter_add_moved(b, F64); } /* for operators without integer types */

/* Zeros in the shape of x, to which `op`, a Scatter, adds d. */
static Value *scatter_add_by(const Vjp *b, const char *op, Value *where)
{
    Value *v = make(b->n, op, 3, zeros_like(b->n, b->m->in[0]), where, b->d);
    attr_set_string(v->def, "reduction", "add");
    return v;
}

static Value *scatter_add_along(const Vjp *b, Value *where)
{
    Value *v = scatter_add_by(b, "ScatterElements", where);
    attr_set_int(v->def, "axis", attr_axis(b->m, "axis", b->m->in[0]->shape->rank));
    return v;
}

/* Adds d to the rows along the axis given by the indices `at`, of k dimensions. */
static Value *rows_vjp(const Vjp *b, Value *at, int k)
{
    Node *n = b->n;
    Value *x = b->m->in[0];
    int rank = x->shape->rank, axis = attr_axis(b->m, "axis", rank);
    int64_t front[MAX_RANK], home[MAX_RANK], d_front[2 * MAX_RANK];
    if (rank + k - 1 > MAX_RANK)
        return NULL;
    for (int i = 0; i < rank; i++)
        front[i] = i == 0 ? axis : i - (i <= axis);
    for (int i = 0; i < rank; i++)
        home[front[i]] = i;
    for (int i = 0; i < rank + k - 1; i++)
        d_front[i] = i < k ? axis + i : i - k < axis ? i - k : i;
    Value *where = make(n, "Unsqueeze", 2, make_cast(n, at, I64), make_ints(n, 1, (int64_t[]){-1}));
    Value *v = make(n, "ScatterND", 3, transpose(n, zeros_like(n, x), rank, front), where,
                    transpose(n, b->d, rank + k - 1, d_front));
    attr_set_string(v->def, "reduction", "add");
    return transpose(n, v, rank, home);
}

Value *gather_vjp(const Vjp *b) { return rows_vjp(b, b->m->in[1], b->m->in[1]->shape->rank); }

Value *gather_elements_vjp(const Vjp *b) { return scatter_add_along(b, b->m->in[1]); }

Value *gather_nd_vjp(const Vjp *b)
{
    return attr_int(b->m, "batch_dims") ? moved_vjp(b) : scatter_add_by(b, "ScatterND", b->m->in[1]);
}

Value *top_vjp(const Vjp *b)
{
    return b->o ? NULL : scatter_add_along(b, clone_node(b->n, b->m, b->m->in, b->m->n_in, 2)->out[1]);
}

/* Unique: adds d to the first occurrence of each element. */
Value *unique_vjp(const Vjp *b)
{
    Value *at = b->o ? NULL : clone_node(b->n, b->m, b->m->in, 1, 2)->out[1];
    if (!attr_is_given(b->m, "axis"))
        return at ? scatter_add(b, make(b->n, "Add", 2, at, make_int(b->n, 1)), b->d) : NULL;
    return at ? rows_vjp(b, at, 1) : NULL;
}

Value *max_pool_vjp(const Vjp *b)
{
    Node *c = clone_node(b->n, b->m, b->m->in, 1, 2);
    if (node_attr(b->m, "storage_order"))
        attr_set_int(c, "storage_order", 0);
    return b->o ? NULL : scatter_add(b, make(b->n, "Add", 2, c->out[1], make_int(b->n, 1)), b->d);
}

/* MaxRoiPool; the regions, whose corners are rounded, have a gradient of zero. */
Value *max_roi_vjp(const Vjp *b)
{
    const int64_t *size;
    Value *at = make(b->n, "onnxcc.MaxRoiPlace", 2, b->m->in[0], b->m->in[1]);
    attr_ints(b->m, "pooled_shape", &size);
    attr_set_ints(at->def, "pooled_shape", 2, size);
    attr_set_float(at->def, "spatial_scale", attr_float(b->m, "spatial_scale"));
    return b->i ? zeros_like(b->n, b->m->in[1]) : scatter_add(b, at, b->d);
}

/* Slice with steps of 1 and constant starts: d padded with zeros. */
Value *slice_vjp(const Vjp *b)
{
    Shape x = *b->m->in[0]->shape, y = *b->m->out[0]->shape;
    int64_t from[MAX_RANK], axes[MAX_RANK], steps[MAX_RANK];
    Dim pads[2 * MAX_RANK];
    for (int i = 1; i < b->m->n_in; i++)
        if (i != 2 && in(b->m, i) && !in_is_const(b->m, i))
            return moved_vjp(b);
    int k = in_ints(b->m, 1, from, MAX_RANK), n_axes = in(b->m, 3) ? in_ints(b->m, 3, axes, MAX_RANK) : k;
    int n_steps = in(b->m, 4) ? in_ints(b->m, 4, steps, MAX_RANK) : 0;
    for (int i = 0; i < 2 * x.rank; i++)
        pads[i] = D(0);
    for (int i = 0; i < k && n_axes == k; i++) {
        int axis = axis_of(b->m, in(b->m, 3) ? axes[i] : i, x.rank);
        Dim at = from[i] < 0 ? dim_max(D(0), dim_add(x.dim[axis], D(from[i]))) : dim_min(D(from[i]), x.dim[axis]);
        if (i < n_steps && steps[i] != 1)
            return moved_vjp(b);
        pads[axis] = at;
        pads[axis + x.rank] = dim_sub(dim_sub(x.dim[axis], at), y.dim[axis]);
    }
    return k < 0 || n_axes != k ? NULL : make(b->n, "Pad", 2, b->d, make_dims(b->n, 2 * x.rank, pads));
}

/* The elements of v at the positions of the scatter's updates. */
static Value *scattered(const Vjp *b, Value *v)
{
    bool nd = !strcmp(b->m->op->name, "ScatterNDReduce");
    Value *there = make(b->n, nd ? "GatherND" : "GatherElements", 2, v, b->m->in[1]);
    if (!nd)
        attr_set_int(there->def, "axis", attr_int(b->m, "axis"));
    there->type = b->m->out[0]->type;
    return there;
}

/* A Scatter with a reduction of elements (a) and updates (c). Those that equal the minimum or maximum share d.
 * (Products are decomposed.) */
Value *scatter_vjp(const Vjp *b)
{
    static const struct {
        const char *reduction, *to_data, *to_updates; /* in to_updates, y and d are gathered at the updates */
    } rules[] = {{"add", "d", "d"},
                 {"min", "Where(Equal(a,y),d,0)", "Where(Equal(c,y),d,0)"},
                 {"max", "Where(Equal(a,y),d,0)", "Where(Equal(c,y),d,0)"}};
    Node *n = b->n, *m = b->m;
    int i = 0;
    while (!attr_is(m, "reduction", rules[i].reduction))
        i++;
    Value *y[] = {scattered(b, m->out[0])};
    Node there = *m;
    Vjp to = *b;
    if (i > 0) {
        Value *in[] = {make_cast(n, make(n, "Equal", 2, m->in[0], m->out[0]), b->d->type), m->in[1],
                       make_cast(n, make(n, "Equal", 2, m->in[2], y[0]), b->d->type)};
        Node *count = clone_node(n, m, in, 3, 1);
        attr_set_string(count, "reduction", "add");
        to.d = make(n, "Div", 2, b->d, count->out[0]);
        to.d->type = b->d->type;
    }
    if (b->i == 0)
        return formula(&to, rules[i].to_data);
    there.out = y;
    to.m = &there;
    to.d = scattered(b, to.d);
    return formula(&to, rules[i].to_updates);
}

/* OneHot's off and on values: d summed over the elements that are off, and that are on. */
Value *one_hot_vjp(const Vjp *b)
{
    Node *n = b->n;
    Value *flat = make_ints(n, 1, (int64_t[]){-1});
    Value *in[] = {b->m->in[0], b->m->in[1], make_ints(n, 2, (int64_t[]){0, 1})};
    Value *on = make(n, "Reshape", 2, clone_node(n, b->m, in, 3, 1)->out[0], flat);
    Value *v = make(n, "ScatterElements", 3, zeros_like(n, b->m->in[2]), on, make(n, "Reshape", 2, b->d, flat));
    attr_set_string(v->def, "reduction", "add");
    return v;
}

/* ---- open sequences ----------------------------------------------------------------------------------------------
 * The adjoint of the slots has their shape, and is defined for the used elements. */

static Value *shaped(const Vjp *b, Value *v, Shape s)
{
    set_out(v->def, 0, b->d->type, s);
    return v;
}

/* The position `at`, from the end if negative, as an index into a sequence of `count` elements. */
static Value *place(Node *n, Value *at, Value *count)
{
    return make(n, "Where", 3, make(n, "Less", 2, at, make_int(n, 0)), make(n, "Add", 2, at, count), at);
}

/* d with as many slots as x, of which `count` are used. */
static Value *in_slots(const Vjp *b, Value *d, Value *count)
{
    Shape x = *b->m->in[0]->shape;
    return shape_identical(*d->shape, x) ? d : shaped(b, make(b->n, "onnxcc.Slots", 2, d, count), x);
}

Value *slots_vjp(const Vjp *b) { return in_slots(b, b->d, b->m->in[1]); }

/* Insert: the element's adjoint is its slot's; the others belong to the sequence. */
Value *insert_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Value *count = m->in[2], *at = in(m, 3) ? place(n, m->in[3], count) : NULL;
    Value *all = make(n, "Add", 2, count, make_int(n, 1));
    if (b->i == 1)
        return shaped(b, make(n, "onnxcc.Element", 3, b->d, all, at ? at : count), *m->in[1]->shape);
    return in_slots(b, shaped(b, make(n, "onnxcc.Erase", 3, b->d, all, at), *b->d->shape), count);
}

/* d with an additional slot, of v or zeros. */
static Value *with_slot(const Vjp *b, Value *d, Value *v, Value *count, Value *at)
{
    Node *n = b->n;
    Shape x = *b->m->in[0]->shape;
    Value *before = make(n, "Sub", 2, count, make_int(n, 1));
    v = v ? v : filled(n, b->d->type, 0, 1, &x.dim[1]);
    return shaped(b, make(n, "onnxcc.Insert", 4, d, v, before, at ? place(n, at, count) : NULL), x);
}

Value *erase_vjp(const Vjp *b) { return with_slot(b, b->d, NULL, b->m->in[1], in(b->m, 2)); }

Value *element_vjp(const Vjp *b) { return with_slot(b, zeros_like(b->n, b->m->in[0]), b->d, b->m->in[1], b->m->in[2]); }

/* Join: d is split. */
Value *join_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    int64_t axis = attr_int(m, "axis"), stack = attr_int(m, "stack");
    Value *in[] = {b->d, NULL};
    if (!stack) {
        Value *sizes = make(n, "Gather", 2, m->in[1], make_int(n, axis));
        attr_set_int(sizes->def, "axis", 1);
        in[1] = part(n, sizes, 0, D(0), value_dim(m->in[2], 0));
    }
    Node *cut = make_node(n, "onnxcc.Cut", 2, in, 2);
    attr_set_int(cut, "axis", axis);
    attr_set_int(cut, "squeeze", stack);
    set_out(cut, 0, b->d->type, *m->in[0]->shape);
    set_out(cut, 1, I64, *m->in[1]->shape);
    return cut->out[0];
}

/* Cut: d is concatenated. */
Value *cut_vjp(const Vjp *b)
{
    Node *n = b->n, *m = b->m;
    Shape x = *m->in[0]->shape;
    Value *split = in(m, 1);
    int64_t axis = attr_int(m, "axis"), squeeze = attr_int(m, "squeeze");
    Dim count =
        split && split->shape->rank ? split->shape->dim[0] : dim_ceil(x.dim[axis], split ? value_dim(split, 0) : D(1));
    Value *v = make(n, "onnxcc.Join", 3, b->d, m->out[1], size_as(n, I64, count));
    attr_set_int(v->def, "axis", axis);
    attr_set_int(v->def, "stack", squeeze);
    attr_set_int(v->def, "rank", x.rank - squeeze);
    x.dim[axis] = D(dim_high(x.dim[axis]));
    return reshape_like(n, shaped(b, v, x), m->in[0]);
}
