/* panels.c - constant weights that stay as the model stores them, packed in the order in which the float weights would
 * be: codes, and scales and zero points, once where several columns or groups have the same. */
#include "base/options.h"
#include "ir/exec.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "passes/infer.h"
#include "coded.h"
#include "stored.h"

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

static int64_t columns_of(const Panels *p) { return p->group * p->cout; }

/* The elements of a column of v, which broadcasts to the codes, as numbers of its arithmetic type. */
static void column_of(const Pack *q, const Value *v, int64_t column, Lane *to)
{
    const Panels *p = q->p;
    const void *bytes = tensor_data(v->data);
    const int64_t group = column / p->cout, out = column % p->cout;
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

/* The largest divisor of `block` such that v is constant in each block of every `period` k; 0 is divisible by all: one
 * block. */
static int64_t block_of(const Pack *q, const Value *v, int64_t block, int64_t period)
{
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t i = 0; is_per_block(v) && i < columns_of(q->p) && block != 1; i++) {
        column_of(q, v, i, a);
        for (int64_t k = 1; k < q->k; k++)
            if (a[k].u != a[k - 1].u && k % period)
                block = gcd(block, k % period);
    }
    big_free(a);
    return block;
}

/* Is v the same for all taps of an input? */
static bool repeats(const Pack *q, const Value *v)
{
    bool same = true;
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t i = 0; is_per_block(v) && i < columns_of(q->p) && same; i++) {
        column_of(q, v, i, a);
        same = !memcmp(a, a + q->p->cin, (size_t)(q->k - q->p->cin) * sizeof *a);
    }
    big_free(a);
    return same;
}

/* Is v the same for all groups? */
static bool is_of_one_group(const Pack *q, const Value *v)
{
    const size_t size = (size_t)q->k * sizeof(Lane);
    bool same = true;
    Lane *a = big_alloc(size), *first = big_alloc(size);
    for (int64_t i = q->p->cout; is_per_block(v) && i < columns_of(q->p) && same; i++) {
        column_of(q, v, i, a);
        column_of(q, v, i % q->p->cout, first);
        same = !memcmp(a, first, size);
    }
    big_free(a);
    big_free(first);
    return same;
}

static int64_t panels_of(const Panels *p)
{
    return p->group * p->gates * ((p->cout / p->gates + TILE_PANEL - 1) / TILE_PANEL);
}

/* The blocks in which scale and zero point are constant, in a period. */
static void set_blocks(const Pack *q, Coded *c, int64_t period)
{
    c->period = period;
    c->block = block_of(q, q->l.zero, block_of(q, q->l.scale, 0, period), period);
    c->block = c->block ? c->block : period;
    c->blocks = period ? (period + c->block - 1) / c->block : 0;
}

/* The first k of a block. */
static int64_t k_of(const Coded *c, int64_t block)
{
    const int64_t each = (c->period + c->block - 1) / c->block;
    return block / each * c->period + block % each * c->block;
}

/* Finds the blocks in which scale and zero point are constant, and the panels after which they repeat. */
static void find_blocks(const Pack *q, Coded *c)
{
    set_blocks(q, c, q->k);
    if (q->p->taps > 1 && c->blocks > 1) {
        const bool same = repeats(q, q->l.scale) && repeats(q, q->l.zero);
        Coded each = *c;
        set_blocks(q, &each, q->p->cin);
        each.blocks *= same ? 1 : q->p->taps;
        if (each.blocks < c->blocks)
            *c = each;
    }
    c->own = panels_of(q->p) / (is_of_one_group(q, q->l.scale) && is_of_one_group(q, q->l.zero) ? q->p->group : 1);
}

/* The first column of a panel, which has *count of them. */
static int64_t column_at(const Panels *p, int64_t panel, int64_t *count)
{
    const int64_t width = p->cout / p->gates, each = (width + TILE_PANEL - 1) / TILE_PANEL;
    const int64_t unit = panel / p->gates % each * TILE_PANEL;
    *count = width - unit < TILE_PANEL ? width - unit : TILE_PANEL;
    return panel / p->gates / each * p->cout + panel % p->gates * width + unit;
}

/* The number of successive panels in which v is the same for all columns; 0: it differs in a panel. */
static int64_t span_of(const Pack *q, const Value *v, const Coded *c)
{
    const size_t size = (size_t)q->k * sizeof(Lane);
    Lane *a = big_alloc(size), *of = big_alloc(size);
    int64_t span = 0, count;
    bool same = true;
    for (int64_t panel = 0; panel < c->own && same; panel++) {
        const int64_t first = column_at(q->p, panel, &count);
        for (int64_t i = 0; i < count && same; i++) {
            column_of(q, v, first + i, a);
            if (i)
                same = !memcmp(a, of, size);
            else if (panel && memcmp(a, of, size))
                span = gcd(span, panel);
            memcpy(of, a, size);
        }
    }
    big_free(a);
    big_free(of);
    return !same ? 0 : span ? span : c->own;
}

/* The columns whose scales and zero points are stored. */
static int64_t own_columns(const Panels *p, const Coded *c) { return columns_of(p) / (panels_of(p) / c->own); }

/* Are the numbers of v's blocks exact as t? */
static bool fits_type(const Pack *q, const Value *v, const Coded *c, Type t)
{
    bool fits = true;
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t column = 0; column < own_columns(q->p, c) && fits; column++) {
        column_of(q, v, column, a);
        as_floats(v->type, q->k, a);
        for (int64_t b = 0; b < c->blocks && fits; b++) {
            unsigned char code[8] = {0};
            Lane back;
            elements_store(t, code, 0, 1, 1, &a[k_of(c, b)]);
            elements_load(t, code, 0, 1, 1, &back);
            fits = a[k_of(c, b)].u == back.u;
        }
    }
    big_free(a);
    return fits;
}

/* How scales or zero points are stored; span: panels that have the same, 1 if rows are stored. */
typedef struct StoredForm {
    int64_t kind, span, bits; /* bits: of all of them */
    Type t;
} StoredForm;

/* The form of v that has its numbers exactly, in the fewest bytes. code_bits: of a zero point that is stored as codes
 * are; 0: it cannot be. */
static StoredForm form_of(const Pack *q, const Value *v, const Coded *c, int code_bits)
{
    static const Type types[] = {F8E8M0, F16, BF16, F32};
    static const int kinds[] = {CODED_E8M0, CODED_F16, CODED_BF16, CODED_F32};
    StoredForm f = {CODED_SAME, .span = 1};
    if (!is_per_block(v))
        return (StoredForm){CODED_ALL, .span = 1};
    for (int i = 0; i < 4 && !code_bits && f.kind == CODED_SAME; i++)
        if (i == 3 || fits_type(q, v, c, types[i]))
            f.kind = kinds[i], f.t = types[i];
    f.bits = own_columns(q->p, c) * c->blocks * (code_bits ? code_bits : type_bits(f.t));
    const int64_t span = span_of(q, v, c), spans = span ? (c->own + span - 1) / span : 0;
    const int64_t bits = spans * c->blocks * (code_bits ? code_bits : 32);
    if (span && bits <= f.bits)
        f = (StoredForm){code_bits ? CODED_SPAN_SAME : CODED_SPAN, span, bits, F32};
    return f;
}

static const Type kind_types[] = {U2,   U4,     F4E2M1, I8,       U8,         I16,    U16,       F16,
                                  BF16, F6E2M3, F6E3M2, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ};
_Static_assert(sizeof kind_types / sizeof *kind_types == CODED_COUNT, "a type for each kind");

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

/* Where a column is in panels with `rows` rows; *pitch: the distance of its rows. */
static int64_t place(const Panels *p, int64_t column, int64_t rows, int64_t *pitch)
{
    const int64_t gates = p->gates, width = p->cout / gates, out = column % p->cout, unit = out % width;
    const int64_t first = unit / TILE_PANEL * TILE_PANEL;
    *pitch = width - first < TILE_PANEL ? width - first : TILE_PANEL;
    return (column - out + first * gates + out / width * *pitch) * rows + unit % TILE_PANEL;
}

/* Panels with `rows` rows: kernels read 16 elements from the start of every row. */
static Tensor *new_panels(const Panels *p, int64_t columns, Type type, int64_t rows)
{
    const int64_t rest = p->cout / (p->gates) % TILE_PANEL;
    return tensor_new(type, 1, (int64_t[]){columns * rows + (rest ? TILE_PANEL - rest : 0)});
}

static void put_code(const Pack *q, unsigned char *to, int64_t at, int i, Type from, Lane v)
{
    const uint32_t code = code_in(q, from, v);
    if (q->bits == 16)
        memcpy(to + 2 * at, &(uint16_t){(uint16_t)code}, 2);
    else
        to[at] |= (unsigned char)(code << i * q->bits);
}

/* Rows of `codes` codes of v, of each k or one of each block, for the first `columns`. */
static Tensor *packed(const Pack *q, const Value *v, int64_t columns, int64_t codes, const Coded *blocks)
{
    const int64_t rows = (codes + q->each - 1) / q->each;
    Tensor *t = new_panels(q->p, columns, q->bits == 16 ? U16 : U8, rows);
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t column = 0; column < columns; column++) {
        int64_t pitch;
        const int64_t first = place(q->p, column, rows, &pitch);
        column_of(q, v, column, a);
        for (int64_t i = 0; i < codes; i++)
            put_code(q, (unsigned char *)(uintptr_t)t->data, first + i / q->each * pitch, (int)(i % q->each), v->type,
                     a[blocks ? k_of(blocks, i) : i]);
    }
    big_free(a);
    return t;
}

/* The numbers of v's blocks, a row of each. */
static Tensor *packed_reals(const Pack *q, const Value *v, const Coded *c, Type type)
{
    const int64_t columns = own_columns(q->p, c);
    Tensor *t = new_panels(q->p, columns, type, c->blocks);
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t column = 0; column < columns; column++) {
        int64_t pitch;
        const int64_t first = place(q->p, column, c->blocks, &pitch);
        column_of(q, v, column, a);
        as_floats(v->type, q->k, a);
        for (int64_t b = 0; b < c->blocks; b++)
            elements_store(type, (void *)(uintptr_t)t->data, first + b * pitch, 1, 1, &a[k_of(c, b)]);
    }
    big_free(a);
    return t;
}

/* The numbers of v's blocks once for each span of panels, as codes or as floats. */
static Tensor *packed_spans(const Pack *q, const Value *v, const Coded *c, int64_t kind)
{
    const int64_t spans = (c->own + c->span - 1) / c->span, each = kind == CODED_SPAN ? 1 : q->each;
    const Type type = kind == CODED_SPAN ? F32 : q->bits == 16 ? U16 : U8;
    Tensor *t = tensor_new(type, 1, (int64_t[]){(spans * c->blocks + each - 1) / each});
    void *const to = (void *)(uintptr_t)t->data;
    Lane *a = big_alloc((size_t)q->k * sizeof *a);
    for (int64_t i = 0, count; i < spans; i++) {
        column_of(q, v, column_at(q->p, i * c->span, &count), a);
        if (kind == CODED_SPAN)
            as_floats(v->type, q->k, a);
        for (int64_t b = 0, at = i * c->blocks; b < c->blocks; b++, at++)
            if (kind == CODED_SPAN)
                elements_store(F32, to, at, 1, 1, &a[k_of(c, b)]);
            else
                put_code(q, to, at / each, (int)(at % each), v->type, a[k_of(c, b)]);
    }
    big_free(a);
    return t;
}

/* Scales or zero points in this form; NULL: one for all. */
static Value *packed_numbers(Node *n, const Pack *q, const Value *v, const Coded *c, const StoredForm *f)
{
    if (f->kind == CODED_ALL)
        return NULL;
    Tensor *t = f->kind == CODED_SAME   ? packed(q, v, own_columns(q->p, c), c->blocks, c)
                : f->kind >= CODED_SPAN ? packed_spans(q, v, c, f->kind)
                                        : packed_reals(q, v, c, f->t);
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

bool pack_coded_panels(Node *n, Value *v, const Panels *p, Coded *c)
{
    Pack q = {.p = p, .k = p->taps * p->cin};
    if (!may_be_coded(n, v, &q.l))
        return false;
    *c = (Coded){.scale_all = 1, .gates = p->gates};
    c->width = p->cout / c->gates;
    q.l.scale = spread(n, q.l.scale, q.l.x);
    q.l.zero = spread(n, q.l.zero, q.l.x);
    choose_kind(n, &q, c);
    find_blocks(&q, c);
    const StoredForm scale = form_of(&q, q.l.scale, c, 0), zero = form_of(&q, q.l.zero, c, c->zeros ? q.bits : 0);
    c->scales = scale.kind;
    c->zeros = zero.kind;
    c->span = scale.kind < CODED_SPAN ? zero.span : zero.kind < CODED_SPAN ? scale.span : gcd(scale.span, zero.span);
    c->rows = (q.k + q.each - 1) / q.each;
    if (!q.k || columns_of(p) * q.k * q.bits + scale.bits + zero.bits > columns_of(p) * q.k * 24)
        return declines(REWRITE_STORED, n, "codes, scales and zero points of %s would not be much smaller than floats",
                        remark_value(v));
    (void)applies(REWRITE_STORED, n, "%s, as codes of %d bits", remark_value(v), q.bits);
    c->scale_all = single(is_per_block(q.l.scale) ? NULL : q.l.scale, 1);
    c->zero_all = single(is_per_block(q.l.zero) ? NULL : q.l.zero, 0) - (c->zeros ? 0 : (float)q.base);
    Tensor *w = packed(&q, q.l.x, columns_of(p), q.k, NULL);
    provenance_made(w, n, "onnxcc.PanelCodes", 1, (Value *[]){q.l.x});
    c->w = value_const(n->graph, w);
    c->scale = packed_numbers(n, &q, q.l.scale, c, &scale);
    c->zero = packed_numbers(n, &q, q.l.zero, c, &zero);
    c->w->name = v->name;
    return true;
}

int64_t coded_room(void)
{
    enum { FEW = 512, MANY = 2048 };
    return opt()->target->vector > 4 ? MANY : FEW;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

#define KEPT(X)                                                                                                        \
    X(int, kind) X(int, scales) X(int, zeros) X(int, rows) X(int, block) X(int, blocks) X(int, period)                 \
    X(int, span) X(int, own) X(int, width) X(int, gates) X(float, scale_all) X(float, zero_all)

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
