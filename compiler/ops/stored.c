/* stored.c - constant weights that stay as the model stores them: what folding computed from codes, zero points and
 * scales by subtraction, multiplication, conversion and moves, is traced back to them, and they are packed in the order
 * in which the float weights would be. */
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

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* The work of packing: a column is all inputs of one output, tap after tap. */
typedef struct Pack {
    const Panels *p;
    Affine l;
    int64_t k;
    int bits, each; /* bits of a code; codes in an element of storage */
    Type type;      /* of the codes after `base` is subtracted */
    int64_t base;
} Pack;

/* The elements of a column of v, which broadcasts to the codes, as numbers of its arithmetic type. */
static void column_of(const Pack *q, const Value *v, int64_t group, int64_t out, Lane *to)
{
    const Panels *p = q->p;
    const void *bytes = tensor_data(v->data);
    const int64_t from = group * (p->w_group ? p->w_group : p->cout * p->w_out) + out * p->w_out;
    for (int64_t t = 0; t < p->taps; t++)
        elements_load(v->type, bytes, from + (p->order ? p->order[t] : t) * p->w_tap, p->w_in, p->cin, to + t * p->cin);
}

static void as_floats(Type t, int64_t n, Lane *v)
{
    for (int64_t i = 0; i < n; i++)
        v[i].f = type_is_float(t) ? v[i].f : type_arith(t) == I32 ? (float)v[i].i : (float)v[i].u;
}

/* v, or its first element if all are equal. */
static Value *one_if_equal(Value *v)
{
    if (!v || is_one(v))
        return v;
    const unsigned char *bytes = tensor_data(v->data);
    const size_t width = (size_t)(type_bits(v->type) + 7) / 8, size = tensor_size(v->data);
    const bool same = type_bits(v->type) % 8 == 0 && !memcmp(bytes, bytes + width, size - width);
    return same ? value_const(v->graph, provenance_splat(tensor_new_fill(v->type, shape_list(0), bytes), v)) : v;
}

static float single(const Value *v, float otherwise) { return v ? (float)tensor_get(v->data, 0) : otherwise; }

static bool is_per_block(const Value *v) { return v && !is_one(v); }

int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

/* The largest divisor of `block` such that v is constant in each block of k; 0 is divisible by all: one block. */
static int64_t block_of(const Pack *q, const Value *v, int64_t block)
{
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t g = 0; g < q->p->group && block != 1; g++)
        for (int64_t o = 0; o < q->p->cout && block != 1; o++) {
            column_of(q, v, g, o, a);
            for (int64_t k = 1; k < q->k; k++)
                if (a[k].u != a[k - 1].u)
                    block = gcd(block, k);
        }
    big_free(a);
    return block;
}

/* Are the numbers of v's blocks exact as t? */
static bool fits_type(const Pack *q, const Value *v, int64_t block, Type t)
{
    bool fits = true;
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t g = 0; g < q->p->group && fits; g++)
        for (int64_t o = 0; o < q->p->cout && fits; o++) {
            column_of(q, v, g, o, a);
            as_floats(v->type, q->k, a);
            for (int64_t i = 0; i < q->k && fits; i += block) {
                unsigned char code[8] = {0};
                Lane back;
                elements_store(t, code, 0, 1, 1, &a[i]);
                elements_load(t, code, 0, 1, 1, &back);
                fits = a[i].u == back.u;
            }
        }
    big_free(a);
    return fits;
}

/* Chooses how v's scales or zero points are stored: exactly, in the fewest bytes. */
static int64_t stored_as(const Pack *q, const Value *v, int64_t block, Type *t)
{
    static const Type types[] = {F8E8M0, F16, BF16};
    static const int kinds[] = {CODED_E8M0, CODED_F16, CODED_BF16};
    for (int i = 0; i < 3; i++)
        if (fits_type(q, v, block, *t = types[i]))
            return kinds[i];
    *t = F32;
    return CODED_F32;
}

static bool find_code_range(const Value *v, int64_t *low, int64_t *high)
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

static const Type kind_types[] = {U2,   U4,     F4E2M1, I8,       U8,         I16,    U16,       F16,
                                  BF16, F6E2M3, F6E3M2, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ};
_Static_assert(sizeof kind_types / sizeof *kind_types == CODED_COUNT, "a type for each kind");

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

/* Chooses how codes, and zero points per block, are stored. */
static void choose_kind(Node *n, Pack *q, Coded *c)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    Value *zero = q->l.zero;
    q->type = q->l.x->type;
    if (find_code_range(q->l.x, &low, &high)) {
        int64_t all_low = low, all_high = high;
        Value *whole = is_per_block(zero) ? as_integers(n, zero) : NULL;
        if (whole && find_code_range(whole, &all_low, &all_high) && all_high - all_low < 256) {
            q->l.zero = whole;
            low = all_low, high = all_high;
            c->zeros = CODED_SAME;
        }
        const bool movable = !zero || c->zeros == CODED_SAME || (is_one(zero) && as_integers(n, zero));
        q->base = movable && high - low < 16 ? low : 0;
        high -= q->base;
        low -= q->base;
        q->type = low < 0      ? (low < -128 || high > 127 ? I16 : I8)
                  : high < 4   ? U2
                  : high < 16  ? U4
                  : high < 256 ? (high > 127 || type_arith(q->l.x->type) == U32 ? U8 : I8)
                               : U16;
    }
    while (kind_types[c->kind] != q->type)
        c->kind++;
    q->bits = type_bits(q->type) == 6 ? 8 : type_bits(q->type);
    q->each = q->bits < 8 ? 8 / q->bits : 1;
}

static uint32_t code_in(const Pack *q, Type from, Lane v)
{
    unsigned char b[8] = {0};
    if (type_is_int(from))
        return (v.u - (uint32_t)q->base) & (((uint32_t)1 << q->bits) - 1);
    elements_store(q->type, b, 0, 1, 1, &v);
    return (uint32_t)b[0] | (uint32_t)b[1] << 8;
}

/* Where a group's output is in panels with `rows` rows; *pitch: the distance of its rows. */
static int64_t place(const Panels *p, int64_t group, int64_t out, int64_t rows, int64_t *pitch)
{
    const int64_t gates = p->gates, width = p->cout / gates, unit = out % width;
    const int64_t first = unit / TILE_PANEL * TILE_PANEL;
    *pitch = width - first < TILE_PANEL ? width - first : TILE_PANEL;
    return (group * p->cout + first * gates + out / width * *pitch) * rows + unit % TILE_PANEL;
}

/* Panels with `rows` rows: kernels read 16 elements from the start of every row. */
static Tensor *new_panels(const Panels *p, Type type, int64_t rows)
{
    const int64_t rest = p->cout / (p->gates) % TILE_PANEL;
    return tensor_new(type, 1, (int64_t[]){p->group * p->cout * rows + (rest ? TILE_PANEL - rest : 0)});
}

/* Rows of codes of v, one of each `step` k. */
static Value *packed(Node *n, const Pack *q, const Value *v, int64_t step)
{
    const int64_t codes = (q->k + step - 1) / step, rows = (codes + q->each - 1) / q->each;
    Tensor *t = new_panels(q->p, q->bits == 16 ? U16 : U8, rows);
    unsigned char *to = (unsigned char *)(uintptr_t)t->data;
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t g = 0; g < q->p->group; g++)
        for (int64_t o = 0; o < q->p->cout; o++) {
            int64_t pitch;
            const int64_t first = place(q->p, g, o, rows, &pitch);
            column_of(q, v, g, o, a);
            for (int64_t i = 0; i < codes; i++) {
                const uint32_t code = code_in(q, v->type, a[i * step]);
                const int64_t at = first + i / q->each * pitch;
                if (q->bits == 16)
                    memcpy(to + 2 * at, &(uint16_t){(uint16_t)code}, 2);
                else
                    to[at] |= (unsigned char)(code << (int)(i % q->each) * q->bits);
            }
        }
    big_free(a);
    provenance_made(t, n, "onnxcc.PanelCodes", 1, (Value *[]){(Value *)(uintptr_t)v});
    return value_const(n->graph, t);
}

/* A row of numbers of v per block. */
static Value *packed_reals(Node *n, const Pack *q, const Value *v, Type type, int64_t block)
{
    const int64_t blocks = (q->k + block - 1) / block;
    Tensor *t = new_panels(q->p, type, blocks);
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t g = 0; g < q->p->group; g++)
        for (int64_t o = 0; o < q->p->cout; o++) {
            int64_t pitch;
            const int64_t first = place(q->p, g, o, blocks, &pitch);
            column_of(q, v, g, o, a);
            as_floats(v->type, q->k, a);
            for (int64_t i = 0; i < blocks; i++)
                elements_store(type, (void *)(uintptr_t)t->data, first + i * pitch, 1, 1, &a[i * block]);
        }
    big_free(a);
    provenance_made(t, n, "onnxcc.PanelScales", 1, (Value *[]){(Value *)(uintptr_t)v});
    return value_const(n->graph, t);
}

/* v, expanded to the codes' shape unless it is one number. */
static Value *spread(Node *n, Value *v, const Value *x)
{
    v = one_if_equal(v);
    if (!v || is_one(v) || shape_identical(*v->shape, *x->shape))
        return v;
    return inferred(make(n, "Expand", 2, v, make_dims(n, x->shape->rank, x->shape->dim)));
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

bool pack_coded_panels(Node *n, Value *v, const Panels *p, Coded *c)
{
    Pack q = {.p = p, .k = p->taps * p->cin};
    if (!may_be_coded(n, v, &q.l))
        return false;
    *c = (Coded){.scale_all = 1, .gates = p->gates};
    c->width = p->cout / c->gates;
    q.l.scale = spread(n, q.l.scale, q.l.x);
    q.l.zero = spread(n, q.l.zero, q.l.x);
    Type scale_type = NO_TYPE, zero_type = NO_TYPE;
    choose_kind(n, &q, c);
    if (is_per_block(q.l.scale))
        c->block = block_of(&q, q.l.scale, c->block);
    if (is_per_block(q.l.zero))
        c->block = block_of(&q, q.l.zero, c->block);
    c->block = c->block ? c->block : q.k;
    if (is_per_block(q.l.scale))
        c->scales = stored_as(&q, q.l.scale, c->block, &scale_type);
    if (is_per_block(q.l.zero) && !c->zeros)
        c->zeros = stored_as(&q, q.l.zero, c->block, &zero_type);
    c->blocks = (q.k + c->block - 1) / c->block;
    c->rows = (q.k + q.each - 1) / q.each;
    const int64_t block_bits = (scale_type ? type_bits(scale_type) : 0) + (zero_type  ? type_bits(zero_type)
                                                                           : c->zeros ? q.bits
                                                                                      : 0);
    if (!q.k || q.k * q.bits + c->blocks * block_bits > q.k * 24)
        return declines(REWRITE_STORED, n, "codes, scales and zero points of %s would not be much smaller than floats",
                        remark_value(v));
    (void)applies(REWRITE_STORED, n, "%s, as codes of %d bits", remark_value(v), q.bits);
    c->scale_all = single(is_per_block(q.l.scale) ? NULL : q.l.scale, 1);
    c->zero_all = single(is_per_block(q.l.zero) ? NULL : q.l.zero, 0) - (c->zeros ? 0 : (float)q.base);
    c->w = packed(n, &q, q.l.x, 1);
    c->scale = c->scales ? packed_reals(n, &q, q.l.scale, scale_type, c->block) : NULL;
    c->zero = c->zeros == CODED_SAME ? packed(n, &q, q.l.zero, c->block)
              : c->zeros             ? packed_reals(n, &q, q.l.zero, zero_type, c->block)
                                     : NULL;
    c->w->name = v->name;
    return true;
}

/* ---- rows of a table that are expanded after they are gathered --------------------------------------------------- */

/* The largest divisor of `block` such that v is constant in each block of its rows. */
static int64_t block_in_rows(const Value *v, int64_t row, int64_t block)
{
    Lane *a = big_alloc((size_t)row * sizeof *a);
    for (int64_t at = 0, n = tensor_count(v->data); at < n && block != 1; at += row) {
        elements_load(v->type, tensor_data(v->data), at, 1, row, a);
        for (int64_t k = 1; k < row; k++)
            if (a[k].u != a[k - 1].u)
                block = gcd(block, k);
    }
    big_free(a);
    return block;
}

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
            block = block_in_rows(part[i], row, block);
            whole = true;
        }
    for (int i = 0; i < 2; i++)
        if (is_per_block(part[i]))
            bits += tensor_count(part[i]->data) * type_bits(part[i]->type) /
                    (shape_identical(*part[i]->shape, *x) ? block : 1);
    return bits > count * 24 ? -1 : whole ? block : 0;
}

bool gather_stored(Node *n)
{
    Value *table = in(n, 0);
    Affine l;
    if (!in_is_const(n, 0) || in_is_const(n, 1) || !may_be_coded(n, table, &l) || !l.x->shape->rank)
        return false;
    const Shape x = *l.x->shape;
    const int64_t block = table_block(&l);
    int axis = attr_axis(n, "axis", x.rank);
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

/* ---- attributes -------------------------------------------------------------------------------------------------- */

#define KEPT(X)                                                                                                \
    X(int, kind) X(int, scales) X(int, zeros) X(int, rows) X(int, block) X(int, blocks) X(int, width) X(int, gates) X(float, scale_all) X(float, zero_all)

void coded_keep(Node *n, const Coded *c)
{
#define KEEP(type, field) attr_set_##type(n, #field, c->field);
    KEPT(KEEP)
#undef KEEP
}

bool coded_read(const Node *n, Coded *c)
{
    if (!attr_is_given(n, "kind"))
        return false;
#define READ(type, field) c->field = attr_##type(n, #field);
    KEPT(READ)
#undef READ
    return true;
}
