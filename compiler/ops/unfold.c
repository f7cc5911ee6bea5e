/* unfold.c - constant weights for kernels that read floats: the folding of what computed them is undone. A loop computes
 * them at every run, from codes, and from one scale and zero point for each block; it may be fused with its reader. */
#include "base/options.h"
#include "ir/exec.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "passes/infer.h"
#include "stored.h"

/* ---- blocks: the longest parts of an axis in which the scale, or the zero point, is the same --------------------- */

typedef struct Blocks {
    int64_t of[MAX_RANK];
} Blocks;

/* The size of v, which broadcasts to rank axes, along axis k. */
static int64_t size_along(const Value *v, int rank, int k)
{
    const int own = k - (rank - v->shape->rank);
    return own < 0 ? 1 : dim_value(v->shape->dim[own]);
}

/* The blocks of v along the axes of x, to which it broadcasts. */
static Blocks blocks_of(const Value *v, const Shape *x)
{
    Blocks b;
    for (int k = 0; k < x->rank; k++) {
        const int own = k - (x->rank - v->shape->rank);
        const int64_t size = dim_value(x->dim[k]);
        b.of[k] = own < 0 || dim_is(v->shape->dim[own], 1) ? size : block_along(v, own);
    }
    return b;
}

/* ---- scales and zero points -------------------------------------------------------------------------------------- */

/* Does t have all n numbers of arithmetic type exactly? */
static bool has_exactly(Type t, Type arith, const Lane *a, int64_t n)
{
    bool same = type_arith(t) == arith || (arith == I32 && type_arith(t) == U32);
    for (int64_t i = 0; i < n && same; i++) {
        unsigned char code[8] = {0};
        Lane back;
        elements_store(t, code, 0, 1, 1, &a[i]);
        elements_load(t, code, 0, 1, 1, &back);
        same = back.u == a[i].u;
    }
    return same;
}

/* v, which broadcasts to x, with one element for each block, in the first exact type of the list: its shape is that of
 * x's axes, each of which that is cut by `cut` is two. own: the blocks of v itself. */
static Value *by_blocks(Node *n, const Value *v, const Shape *x, const Blocks *cut, const Blocks *own,
                        const Type *types)
{
    int64_t count = 1, at[MAX_RANK] = {0}, blocks[MAX_RANK];
    Dim dim[2 * MAX_RANK];
    int rank = 0;
    for (int k = 0; k < x->rank; k++) {
        const int64_t size = dim_value(x->dim[k]);
        const bool whole = own->of[k] == size;
        blocks[k] = whole ? 1 : size / cut->of[k];
        count *= blocks[k];
        dim[rank++] = D(blocks[k]);
        if (cut->of[k] > 1 && cut->of[k] < size)
            dim[rank++] = D(1);
    }
    Lane *a = big_alloc((size_t)count * sizeof *a);
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0;
        for (int k = 0; k < x->rank; k++) {
            const int64_t size = size_along(v, x->rank, k);
            from = from * size + (size == 1 ? 0 : at[k] * cut->of[k]);
        }
        elements_load(v->type, tensor_data(v->data), from, 1, 1, &a[i]);
        for (int k = x->rank - 1; k >= 0 && ++at[k] == blocks[k]; k--)
            at[k] = 0;
    }
    while (!has_exactly(*types, type_arith(v->type), a, count) && types[1])
        types++;
    Tensor *t = tensor_new(*types, 1, &count);
    elements_store(*types, (void *)(uintptr_t)t->data, 0, 1, count, a);
    big_free(a);
    provenance_made(t, n, "onnxcc.BlockScales", 1, (Value *[]){(Value *)(uintptr_t)v});
    return inferred(make_reshape(n, value_const(n->graph, t), rank, dim));
}

/* One number. */
static Value *one(Node *n, const Value *v)
{
    return v->type == I32 || type_is_int(v->type) ? make_scalar(n, v->type, (double)tensor_get_int(v->data, 0))
                                                  : make_scalar(n, v->type, tensor_get(v->data, 0));
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static Value *step(Value *made, bool late)
{
    made->def->late = late;
    return inferred(made);
}

/* Can one onnxcc.Dequantize compute (x - zero) * scale? */
static bool is_one_step(const Value *x, const Value *zero)
{
    return x->type != F16 && x->type != BF16 && (!zero || type_is_int(x->type) == type_is_int(zero->type));
}

static Value *as_float(Node *n, Value *v, bool late) { return v->type == F32 ? v : step(make_cast(n, v, F32), late); }

/* (x - zero) * scale as type t; late: computed at every run. */
static Value *computed(Node *n, Value *x, Value *zero, Value *scale, Type t, bool late)
{
    if ((scale || zero) && is_one_step(x, zero))
        return step(with_int(make(n, "onnxcc.Dequantize", 3, x, scale ? scale : make_scalar(n, F32, 1), zero), "to", t),
                    late);
    Value *y = as_float(n, x, late);
    if (zero)
        y = step(make(n, "Sub", 2, y, as_float(n, zero, late)), late);
    if (scale)
        y = step(make(n, "Mul", 2, y, as_float(n, scale, late)), late);
    return y;
}

Value *weights_times(Node *n, Value *w, Value *factor)
{
    Affine l;
    if (w->type != F32 || !read_linear(n, w, &l) || !l.scale)
        return inferred(make(n, "Mul", 2, w, factor));
    Value *scale = inferred(make(n, "Mul", 2, as_float(n, l.scale, false), factor));
    return computed(n, l.x, l.zero, scale, F32, false);
}

static bool is_elementwise(const Node *n) { return n->op->pointwise || n->op->flags & ELEMENTWISE; }

/* The axes of 1 that the result of n, an elementwise node, has before those of x: a loop of its shape can be fused. */
static int ones_before(const Node *n, const Shape *x)
{
    const Shape *y = is_elementwise(n) ? out(n, 0)->shape : x;
    for (int k = 0; k < y->rank - x->rank; k++)
        if (!dim_is(y->dim[k], 1))
            return 0;
    return y->rank - x->rank;
}

/* May n read v, of a buffer, which it cannot be fused with? */
static bool fits_arena(const Node *n, const Value *v)
{
    const int64_t arena = opt()->max_arena ? opt()->max_arena : (int64_t)1 << 30;
    return is_elementwise(n) || (int64_t)tensor_size(v->data) <= arena / 4;
}

static Value *made_late(Node *n, Value *v, Affine l);

/* The part of v, which broadcasts to x, along an axis of x. */
static Value *broadcast_part(Node *n, Value *v, const Shape *x, int axis, int64_t from, int64_t to)
{
    const int own = v ? axis - (x->rank - v->shape->rank) : -1;
    return own < 0 || dim_is(v->shape->dim[own], 1) ? v : part_along(n, v, own, from, to);
}

/* v, read from l, of which blocks along an axis end at `at`, and what follows, apart. */
static Value *parts_made_late(Node *n, Value *v, const Affine *l, int axis, int64_t at)
{
    const Shape *x = l->x->shape;
    const int64_t end = dim_value(x->dim[axis]);
    Value *part[2];
    for (int i = 0; i < 2; i++) {
        const int64_t from = i ? at : 0, to = i ? end : at;
        const Affine of = {part_along(n, l->x, axis, from, to), broadcast_part(n, l->zero, x, axis, from, to),
                           broadcast_part(n, l->scale, x, axis, from, to)};
        part[i] = made_late(n, v, of);
        if (!part[i])
            part[i] = part_along(n, v, axis, from, to);
    }
    return step(with_int(make(n, "Concat", 2, part[0], part[1]), "axis", axis), true);
}

/* v, or a part of it, read from l, computed at every run; NULL: codes, scales and zero points are not much smaller. */
static Value *made_late(Node *n, Value *v, Affine l)
{
    static const Type reals[] = {F8E8M0, F16, BF16, F32, NO_TYPE};
    int split;
    int64_t at;
    if (has_rest(&l, &split, &at))
        return parts_made_late(n, v, &l, split, at);
    const Shape *x = l.x->shape;
    Value *zero = l.zero, *scale = l.scale;
    if (zero && type_is_int(l.x->type)) {
        Value *whole = as_integers(n, zero);
        zero = whole ? whole : zero;
    }
    const bool one_step = is_one_step(l.x, zero);
    const Type ints[] = {l.x->type, I32, NO_TYPE}, floats[] = {l.x->type, F32, NO_TYPE};
    const Type *const shifts = zero && type_is_int(zero->type) ? ints : one_step ? floats : reals;
    const Blocks none = blocks_of(make_scalar(n, F32, 0), x);
    const Blocks of_zero = zero && !is_one(zero) ? blocks_of(zero, x) : none,
                 of_scale = scale && !is_one(scale) ? blocks_of(scale, x) : none;
    Blocks cut;
    Dim dim[2 * MAX_RANK];
    const int ones = ones_before(n, x);
    int rank = 0;
    while (rank < ones)
        dim[rank++] = D(1);
    for (int k = 0; k < x->rank; k++) {
        const int64_t size = dim_value(x->dim[k]), b = cut.of[k] = gcd(of_zero.of[k], of_scale.of[k]);
        dim[rank++] = D(b > 1 && b < size ? size / b : size);
        if (b > 1 && b < size)
            dim[rank++] = D(b);
    }
    if (rank > MAX_RANK) {
        (void)stays_expanded(n, v, "its blocks have too many axes");
        return NULL;
    }
    if (zero)
        zero = is_one(zero) ? one(n, zero) : by_blocks(n, zero, x, &cut, &of_zero, shifts);
    if (scale)
        scale = is_one(scale) ? one(n, scale) : by_blocks(n, scale, x, &cut, &of_scale, reals);
    const int64_t bits = (int64_t)(tensor_size(l.x->data) + (zero ? tensor_size(zero->data) : 0) +
                                   (scale ? tensor_size(scale->data) : 0)) *
                         8;
    if (bits > tensor_count(l.x->data) * type_bits(v->type) * 3 / 4) {
        (void)declines(REWRITE_STORED, n, "codes, scales and zero points of %s would not be much smaller than floats",
                       remark_value(v));
        return NULL;
    }
    (void)applies(REWRITE_STORED, n, "%s, as codes of %d bits, from which a loop computes floats", remark_value(v),
                  type_bits(l.x->type));
    Value *codes = rank == x->rank ? l.x : inferred(make_reshape(n, l.x, rank, dim));
    Value *y = computed(n, codes, zero, scale, v->type, true);
    y->name = v->name;
    return rank == ones + x->rank ? y : inferred(make_reshape(n, y, x->rank, x->dim));
}

Value *unfolded(Node *n, Value *v)
{
    Affine l;
    const bool half = v->type == F16 || v->type == BF16;
    if (half ? !v->data->origin || opt()->expand_weights || !read_rounded(n, v, &l) || !is_one_step(l.x, l.zero)
             : !may_be_coded(n, v, &l))
        return NULL;
    if (n->op->flags & (CONTROL | CUSTOM | INSPECTS_PRODUCERS)) {
        (void)stays_expanded(n, v, "loops, branches and custom operators take constants as they are");
        return NULL;
    }
    if (v != in(n, 0) && type_is_int(in_type(n, 0)) && type_bits(in_type(n, 0)) == 8) {
        (void)stays_expanded(n, v, "operators on integers may compute with its numbers before the run");
        return NULL;
    }
    if (!fits_arena(n, v)) {
        (void)stays_expanded(n, v, "its floats would take more than a quarter of the arena's limit (--max-arena)");
        return NULL;
    }
    return made_late(n, v, l);
}
