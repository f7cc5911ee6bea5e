/* stored.c - constant weights that stay as the model stores them: what folding computed from codes, zero points and
 * scales by subtraction, multiplication, conversion and moves, is traced back to them (panels.c packs them); rows of
 * tables are expanded after they are gathered. */
#include "stored.h"

#include "base/options.h"
#include "ir/call.h"
#include "ir/exec.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "ir/schema.h"
#include "passes/infer.h"
#include "coded.h"

enum { FEW = 256 }; /* elements: fewer are expanded */
enum { CONCAT_MOST = 16 };

/* ---- where weights come from ------------------------------------------------------------------------------------- */

bool is_one(const Value *v) { return v->data->splat || tensor_count(v->data) == 1; }
bool is_per_block(const Value *v) { return v && !is_one(v); }
static bool is_code(Type t) { return type_bits(t) < 32 && t != B8 && t != F8E8M0 && type_arith(t) != NO_TYPE; }
static bool is_op(const Node *n, const char *domain, const char *op)
{
    return !strcmp(n->op->name, op) && !strcmp(n->op->domain ? n->op->domain : "", domain);
}

static bool is_given_const(const Value *v) { return v && v->data && !v->data->symbolic; }

static bool read_dequantize(const Node *n, Affine *l)
{
    *l = (Affine){in(n, 0), in(n, 2), in(n, 1)};
    if (l->zero && is_one(l->zero) && tensor_get(l->zero->data, 0) == 0 && type_is_int(l->zero->type))
        l->zero = NULL;
    return is_code(l->x->type) && (!l->zero || type_is_int(l->zero->type) == type_is_int(l->x->type));
}

/* Does n only move elements, of its first input alone? */
static bool moves_one(const Node *n)
{
    if (!(n->op->flags & (MOVES | VIEW)) || n->n_out != 1)
        return false;
    for (int i = 1; i < n->n_in && !(n->op->flags & VIEW); i++)
        if (n->in[i] && op_moves_input(n, i))
            return false;
    return true;
}

/* v, expanded to the shape s, for an operator as n's: in a wide type if it, or Expand, does not move narrow ones. */
static Value *spread_for(Node *at, const Node *n, Value *v, const Shape *s)
{
    const bool whole = shape_identical(*v->shape, *s);
    if ((!whole && type_bits(v->type) <= 8) || !(op_signature(n->op)->in[0].set >> v->type & 1))
        v = inferred(make_cast(at, v, type_is_int(v->type) ? I32 : F32));
    return whole ? v : inferred(make(at, "Expand", 2, v, make_dims(at, s->rank, s->dim)));
}

/* v, expanded to the shape s and moved as n moves its first input. */
static Value *moved(Node *at, const Node *n, Value *v, const Shape *s)
{
    if (!v || is_one(v))
        return v;
    const Type own = v->type;
    v = spread_for(at, n, v, s);
    Value **ins = NEWS(Value *, n->n_in);
    for (int i = 0; i < n->n_in; i++)
        ins[i] = i ? n->in[i] : v;
    Node *m = node_new(at->graph, n->op->domain ? name_format("%s.%s", n->op->domain, n->op->name)->s : n->op->name,
                       n->n_in, ins, 1);
    m->op = n->op;
    for (int k = 0; k < n->n_attr; k++)
        attr_set(m, n->attr[k]);
    if (n->op->flags & VIEW)
        set_out(m, 0, v->type, *n->out[0]->shape);
    node_insert(m, at);
    v = inferred(m->out[0]);
    return v->type == own ? v : inferred(make_cast(at, v, own));
}

/* Moves what l is read from as n moves its first input. */
static bool move_parts(Node *at, const Node *n, Affine *l)
{
    const Shape *s = l->x->shape;
    l->x = moved(at, n, l->x, s);
    l->zero = moved(at, n, l->zero, s);
    l->scale = moved(at, n, l->scale, s);
    return is_given_const(l->x) && (!l->zero || is_given_const(l->zero)) && (!l->scale || is_given_const(l->scale));
}

/* Are they integers whose difference from a code is an exact float, and no overflow? */
static bool are_small(const Value *zero)
{
    enum { MOST = 1 << 23 };
    bool small = is_given_const(zero) && type_is_int(zero->type);
    for (int64_t i = 0, n = small ? tensor_count(zero->data) : 0; i < n && small; i++) {
        const int64_t x = tensor_get_int(zero->data, i);
        small = x > -MOST && x < MOST;
    }
    return small;
}

/* Parts of what Concat n joins, each expanded to the shape of its codes, joined as those are. NULL: their types differ. */
static Value *joined(Node *at, const Node *n, Value **part, const Affine *l)
{
    Value *ins[CONCAT_MOST];
    const Type own = part[0]->type;
    bool wide = false;
    for (int i = 0; i < n->n_in; i++) {
        if (part[i]->type != own)
            return NULL;
        ins[i] = spread_for(at, n, part[i], l[i].x->shape);
        wide |= ins[i]->type != own;
    }
    for (int i = 0; i < n->n_in && wide; i++)
        ins[i] = inferred(make_cast(at, ins[i], type_is_int(own) ? I32 : F32));
    Node *m = make_node(at, "Concat", n->n_in, ins, 1);
    m->op = n->op;
    attr_set_int(m, "axis", attr_int(n, "axis"));
    Value *v = inferred(m->out[0]);
    return wide ? inferred(make_cast(at, v, own)) : v;
}

/* Do all parts have the same number, or none? */
static bool is_shared(const Value *const *part, int n)
{
    for (int i = 0; i < n; i++)
        if (!part[i] != !part[0] ||
            (part[i] && (part[i]->type != part[0]->type || !is_one(part[i]) || !is_one(part[0]) ||
                         memcmp(tensor_data(part[i]->data), tensor_data(part[0]->data),
                                (size_t)(type_bits(part[0]->type) + 7) / 8))))
            return false;
    return true;
}

/* Joins what the inputs of n, a Concat, are read from by `read`. */
static bool read_parts(Node *at, const Node *n, Affine *to, bool read(Node *, Value *, Affine *))
{
    Affine l[CONCAT_MOST];
    Value *x[CONCAT_MOST], *zero[CONCAT_MOST], *scale[CONCAT_MOST];
    Type t = NO_TYPE;
    if (n->n_in > CONCAT_MOST)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        if (!read(at, n->in[i], &l[i]) || (l[i].zero && t != NO_TYPE && l[i].zero->type != t))
            return false;
        x[i] = l[i].x, zero[i] = l[i].zero, scale[i] = l[i].scale;
        t = zero[i] ? zero[i]->type : t;
    }
    *to = (Affine){joined(at, n, x, l), zero[0], scale[0]};
    if (!is_shared((const Value *const *)zero, n->n_in)) {
        for (int i = 0; i < n->n_in; i++)
            zero[i] = zero[i] ? zero[i] : make_scalar(at, t, 0);
        to->zero = joined(at, n, zero, l);
    }
    if (!is_shared((const Value *const *)scale, n->n_in)) {
        for (int i = 0; i < n->n_in; i++)
            scale[i] = scale[i] ? scale[i] : make_scalar(at, F32, 1);
        to->scale = joined(at, n, scale, l);
        if (!to->scale)
            return false;
    }
    return to->x && is_given_const(to->x);
}

bool read_rounded(Node *at, Value *v, Affine *l)
{
    const Node *n = is_given_const(v) ? v->data->origin : NULL;
    if (!n || v->data->splat)
        return false;
    if (is_op(n, "onnxcc", "Dequantize"))
        return read_dequantize(n, l) && shape_identical(*l->x->shape, *v->shape);
    if (is_op(n, "", "Concat"))
        return read_parts(at, n, l, read_rounded);
    return moves_one(n) && read_rounded(at, n->in[0], l) && move_parts(at, n, l);
}

bool read_linear(Node *at, Value *v, Affine *l)
{
    const Node *n = is_given_const(v) ? v->data->origin : NULL;
    *l = (Affine){v, NULL, NULL};
    if (!is_given_const(v) || v->data->splat)
        return false;
    if (is_code(v->type))
        return true;
    if (!n || (v->type != F32 && v->type != I32))
        return false;
    if (is_op(n, "onnxcc", "Dequantize"))
        return read_dequantize(n, l) && shape_identical(*l->x->shape, *v->shape);
    if (is_op(n, "", "Concat"))
        return read_parts(at, n, l, read_linear);
    if (moves_one(n))
        return read_linear(at, n->in[0], l) && move_parts(at, n, l);
    if (n->n_in < 1 || !n->in[0] || !read_linear(at, n->in[0], l) || !shape_identical(*l->x->shape, *v->shape))
        return false;
    if (is_op(n, "", "Cast")) /* of integers, which it does not change */
        return !l->scale && (v->type == F32 || (type_is_int(l->x->type) && (!l->zero || type_is_int(l->zero->type))));
    if (is_op(n, "", "Sub") && !l->zero && !l->scale) {
        l->zero = n->in[1];
        return is_given_const(l->zero) && (v->type != I32 || are_small(l->zero));
    }
    if (is_op(n, "", "Mul") && !l->scale && v->type == F32) {
        l->scale = n->in[1];
        return is_given_const(l->scale);
    }
    return false;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

bool find_code_range(const Value *v, int64_t *low, int64_t *high)
{
    enum { SOME = 1024 };
    Lane a[SOME];
    const int64_t n = tensor_count(v->data);
    const void *bytes = tensor_data(v->data);
    if (!type_is_int(v->type) || type_bits(v->type) > 32)
        return false;
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t some = n - at < SOME ? n - at : SOME;
        elements_load(v->type, bytes, at, 1, some, a);
        for (int64_t i = 0; i < some; i++) {
            const int64_t x = type_arith(v->type) == I32 ? a[i].i : (int64_t)a[i].u;
            *low = x < *low ? x : *low;
            *high = x > *high ? x : *high;
        }
    }
    return true;
}

Value *as_integers(Node *n, Value *v)
{
    if (type_is_int(v->type))
        return v;
    const int64_t count = tensor_count(v->data);
    for (int64_t i = 0; i < count; i++) {
        const double x = tensor_get(v->data, i);
        if (!(x > -65536 && x < 65536) || x != (double)(int64_t)x)
            return NULL;
    }
    return inferred(make_cast(n, v, I32));
}

bool stays_expanded(const Node *n, const Value *v, const char *why)
{
    return v->data && v->data->origin && declines(REWRITE_STORED, n, "%s is expanded: %s", remark_value(v), why);
}

bool may_be_coded(Node *n, Value *v, Affine *l)
{
    if (opt()->expand_weights || tensor_count(v->data) < FEW)
        return false;
    if (v->type != F32)
        return stays_expanded(n, v, "only codes of float weights are expanded during the run");
    return read_linear(n, v, l) ||
           (v->data->origin &&
            declines(REWRITE_STORED, n, "%s is not codes, less a zero point and times a scale", remark_value(v)));
}

/* ---- blocks of an axis ------------------------------------------------------------------------------------------- */

/* Where numbers change along an axis: at `first`, and at a multiple of `every` before or after it; 0: nowhere else. */
typedef struct Borders {
    int64_t first, every;
} Borders;

/* Are n elements of v from a on the same as those from b on? */
static bool are_same(const Value *v, int64_t a, int64_t b, int64_t n)
{
    const unsigned char *const bytes = tensor_data(v->data);
    const size_t bits = (size_t)type_bits(v->type);
    Lane x, y;
    if (bits % 8 == 0)
        return !memcmp(bytes + (size_t)a * bits / 8, bytes + (size_t)b * bits / 8, (size_t)n * bits / 8);
    for (int64_t i = 0; i < n; i++) {
        elements_load(v->type, bytes, a + i, 1, 1, &x);
        elements_load(v->type, bytes, b + i, 1, 1, &y);
        if (x.u != y.u)
            return false;
    }
    return true;
}

static void add_borders(const Value *v, int axis, Borders *to)
{
    const int64_t size = dim_value(v->shape->dim[axis]), outer = dim_value(shape_product(*v->shape, 0, axis));
    const int64_t inner = dim_value(shape_product(*v->shape, axis + 1, v->shape->rank));
    for (int64_t o = 0; o < outer && to->every != 1; o++)
        for (int64_t i = 1; i < size && to->every != 1; i++) {
            const int64_t at = (o * size + i) * inner;
            if (are_same(v, at, at - inner, inner))
                continue;
            to->first = to->first ? to->first : i;
            to->every = gcd(to->every, i > to->first ? i - to->first : to->first - i);
        }
}

int64_t block_along(const Value *v, int axis)
{
    Borders b = {0};
    add_borders(v, axis, &b);
    return gcd(gcd(b.first, b.every), dim_value(v->shape->dim[axis]));
}

bool has_rest(const Affine *l, int *axis, int64_t *at)
{
    const Value *part[] = {l->scale, l->zero};
    for (*axis = 0; *axis < l->x->shape->rank; ++*axis) {
        const int64_t size = dim_value(l->x->shape->dim[*axis]);
        Borders c = {0};
        for (int i = 0; i < 2; i++) {
            const int own = part[i] ? *axis - (l->x->shape->rank - part[i]->shape->rank) : -1;
            if (own >= 0 && !is_one(part[i]))
                add_borders(part[i], own, &c);
        }
        const int64_t block = c.every ? c.every : c.first, head = block ? c.first % block : 0;
        *at = head ? head : block ? size / block * block : size;
        if (block > 1 && *at < size)
            return true;
    }
    return false;
}

Value *part_along(Node *n, Value *v, int axis, int64_t from, int64_t to)
{
    const Type own = v->type;
    Value *const ends[] = {make_ints(n, 1, &from), make_ints(n, 1, &to), make_ints(n, 1, (int64_t[]){axis})};
    if (type_bits(own) <= 8) /* Slice does not take all types of codes */
        v = inferred(make_cast(n, v, type_is_int(own) ? I32 : F32));
    v = inferred(make(n, "Slice", 4, v, ends[0], ends[1], ends[2]));
    return v->type == own ? v : inferred(make_cast(n, v, own));
}

/* ---- rows of a table that are expanded after they are gathered --------------------------------------------------- */

/* One element of each block of v, whose shape is `split` but for the last axis, the elements of a block. */
static Value *one_of_blocks(Node *n, const Value *v, Shape split, int64_t block)
{
    split.dim[split.rank - 1] = D(1);
    const int64_t count = tensor_count(v->data) / block;
    Tensor *t = tensor_new(v->type, 1, &count);
    Lane *a = big_alloc((size_t)count * sizeof *a);
    elements_load(v->type, tensor_data(v->data), 0, block, count, a);
    elements_store(v->type, (void *)(uintptr_t)t->data, 0, 1, count, a);
    big_free(a);
    provenance_made(t, n, "onnxcc.BlockScales", 1, (Value *[]){(Value *)(uintptr_t)v});
    return inferred(make_reshape(n, value_const(n->graph, t), split.rank, split.dim));
}

/* v, which broadcasts to x, with as many axes as `split`, that of x with rows divided into blocks (if block > 0). */
static Value *in_blocks(Node *n, Value *v, const Shape *x, Shape split, int64_t block)
{
    if (!v)
        return NULL;
    if (is_one(v)) {
        Lane a;
        elements_load(v->type, tensor_data(v->data), 0, 1, 1, &a);
        Tensor *t = tensor_new(v->type, 0, NULL);
        elements_store(v->type, (void *)(uintptr_t)t->data, 0, 1, 1, &a);
        return value_const(n->graph, provenance_splat(t, v));
    }
    if (shape_identical(*v->shape, *x))
        return one_of_blocks(n, v, split, block);
    Dim dim[MAX_RANK + 1];
    for (int k = 0, skip = x->rank - v->shape->rank; k < x->rank; k++)
        dim[k] = k < skip ? D(1) : v->shape->dim[k - skip];
    if (block) {
        const bool same = dim_is(dim[x->rank - 1], 1);
        dim[x->rank - 1] = same ? D(1) : split.dim[x->rank - 1];
        dim[x->rank] = same ? D(1) : D(block);
    }
    return inferred(make_reshape(n, v, split.rank, dim));
}

/* v, integers, as the narrower type t if that has them. */
static Value *narrowed(Node *n, Value *v, Type t)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    const int64_t codes = (int64_t)1 << type_bits(t), least = type_is_signed(t) ? -codes / 2 : 0;
    if (!v || v->type == t || !type_is_int(t) || !find_code_range(v, &low, &high) || low < least ||
        high >= least + codes)
        return v;
    return inferred(make_cast(n, v, t));
}

static Value *gathered(Node *n, Value *v, int axis)
{
    return inferred(with_int(make(n, "onnxcc.Gather", 2, v, in(n, 1)), "axis", axis));
}

/* The part of v, which broadcasts to the data of Gather n, that belongs to the data gathered along `axis`. */
static Value *taken(Node *n, Value *v, int axis)
{
    if (!v || !v->shape->rank)
        return v;
    if (!dim_is(v->shape->dim[axis], 1))
        return gathered(n, v, axis);
    const int more = in_shape(n, 1).rank - 1;
    Dim dim[2 * MAX_RANK];
    int rank = 0;
    for (int k = 0; k < v->shape->rank; k++)
        for (int i = 0; i < (k == axis ? more + 1 : 1); i++)
            dim[rank++] = k == axis ? D(1) : v->shape->dim[k];
    return inferred(make_reshape(n, v, rank, dim));
}

/* The length of blocks in the rows of x for which scale and zero point are stored once; 0: they are not stored by
 * blocks; -1: they would not be much smaller than floats. */
static int64_t table_block(const Affine *l)
{
    const Shape *x = l->x->shape;
    const int64_t count = tensor_count(l->x->data), row = dim_value(x->dim[x->rank - 1]);
    Value *part[] = {l->scale, l->zero};
    int64_t block = row, bits = count * type_bits(l->x->type);
    bool whole = false;
    for (int i = 0; i < 2; i++)
        if (is_per_block(part[i]) && shape_identical(*part[i]->shape, *x)) {
            block = gcd(block, block_along(part[i], x->rank - 1));
            whole = true;
        }
    for (int i = 0; i < 2; i++)
        if (is_per_block(part[i]))
            bits += tensor_count(part[i]->data) * type_bits(part[i]->type) /
                    (shape_identical(*part[i]->shape, *x) ? block : 1);
    return bits > count * 24 ? -1 : whole ? block : 0;
}

/* Gathers the parts of a table before and from `at` of another axis on, apart. */
static bool gather_parts(Node *n, Value *table, int axis, int rest, int64_t at)
{
    Value *part[2];
    for (int i = 0; i < 2; i++) {
        Value *w = part_along(n, table, rest, i ? at : 0, i ? dim_value(table->shape->dim[rest]) : at);
        part[i] = make(n, "Gather", 2, w, in(n, 1));
        part[i]->def->op = n->op;
        part[i] = inferred(with_int(part[i], "axis", axis));
    }
    Value *y = make(n, "Concat", 2, part[0], part[1]);
    replace_out(n, 0, inferred(with_int(y, "axis", rest < axis ? rest : rest + in_shape(n, 1).rank - 1)));
    (void)gather_stored(part[0]->def);
    (void)gather_stored(part[1]->def);
    node_also(y->def, n);
    node_free(n);
    return true;
}

bool gather_stored(Node *n)
{
    Value *table = in(n, 0);
    Affine l;
    if (!in_is_const(n, 0) || in_is_const(n, 1) || !may_be_coded(n, table, &l) || !l.x->shape->rank)
        return false;
    const Shape x = *l.x->shape;
    const int axis = attr_axis(n, "axis", x.rank);
    int rest;
    int64_t at;
    if (has_rest(&l, &rest, &at) && rest != axis)
        return gather_parts(n, table, axis, rest, at);
    const int64_t block = table_block(&l);
    if (block < 0 || (block && (axis == x.rank - 1 || out(n, 0)->shape->rank == MAX_RANK)))
        return declines(REWRITE_STORED, n, "codes, scales and zero points of %s would not be much smaller than floats",
                        remark_value(table));
    Shape split = x;
    if (block) {
        split.dim[x.rank - 1] = D(dim_value(x.dim[x.rank - 1]) / block);
        split.dim[split.rank++] = D(block);
    }
    const bool codes_alone = !l.scale && !l.zero;
    Value *codes = block ? inferred(make_reshape(n, l.x, split.rank, split.dim)) : l.x;
    Value *scale = in_blocks(n, l.scale, &x, split, block), *zero = in_blocks(n, l.zero, &x, split, block);
    zero = narrowed(n, zero, l.x->type);
    Value *y = gathered(n, codes, axis);
    scale = taken(n, scale, axis);
    zero = taken(n, zero, axis);
    if (codes_alone)
        y = inferred(make_cast(n, y, F32));
    else
        y = inferred(
            with_int(make(n, "onnxcc.Dequantize", 3, y, scale ? scale : make_scalar(n, F32, 1), zero), "to", F32));
    if (block)
        y = inferred(make_reshape(n, y, out(n, 0)->shape->rank, out(n, 0)->shape->dim));
    (void)applies(REWRITE_STORED, n, "%s, as codes of %d bits", remark_value(table), type_bits(l.x->type));
    node_also(y->def, n);
    replace_out(n, 0, y);
    node_free(n);
    return true;
}
