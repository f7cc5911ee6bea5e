/* container.c - sequences, optionals and maps as tensors: what they are made of, and made into what. */
#include "passes/container.h"
#include "ir/assume.h"
#include "ir/spatial.h"

/* ---- boxes ------------------------------------------------------------------------------------------------------------- */

Box *box_new(Form form, Type t)
{
    Box *b = NEW(Box);
    b->form = form;
    b->type = t;
    b->rank = b->least_rank = -1;
    return b;
}

Box *box_of(const Value *v)
{
    if (v->form == TENSOR) {
        Box *b = box_new(TENSOR, v->type);
        b->shape = *v->shape;
        b->text = v->type == STR ? text_bound(v) : 0;
        return b;
    }
    Box *b = NEW(Box);
    *b = v->parts->box;
    memset(&b->item, 0, sizeof b->item);
    b->text = b->open && b->type == STR ? text_bound(v->parts->data) : 0;
    for (int i = 0; i < v->parts->item.n; i++)
        vec_push(&b->item, box_of(v->parts->item.at[i]));
    return b;
}

void box_widen(Box *b, int rank, int least_rank, const int64_t *size, const bool *fixed)
{
    if (rank < 0)
        return;
    bool first = b->rank < 0;
    for (int i = 0; i < rank; i++) {
        bool had = !first && i < b->rank;
        b->fixed[i] = fixed[i] && (first || (had && b->fixed[i] && b->size[i] == size[i]));
        b->size[i] = had && b->size[i] > size[i] ? b->size[i] : size[i];
    }
    for (int i = rank; i < b->rank; i++)
        b->fixed[i] = false;
    b->least_rank = first || least_rank < b->least_rank ? least_rank : b->least_rank;
    b->rank = rank > b->rank ? rank : b->rank;
}

void box_widen_shape(Box *b, Shape s)
{
    int64_t size[MAX_RANK];
    bool fixed[MAX_RANK];
    for (int i = 0; i < s.rank; i++) {
        size[i] = dim_high(s.dim[i]);
        fixed[i] = dim_const(s.dim[i]);
    }
    box_widen(b, s.rank, s.rank, size, fixed);
}

Box *box_open(const Box *b)
{
    Box *o = NEW(Box);
    *o = *b;
    if (b->open || b->form != SEQUENCE)
        return o;
    o = box_new(SEQUENCE, b->type);
    o->open = true;
    o->most = b->item.n;
    for (int i = 0; i < b->item.n; i++) {
        box_widen_shape(o, b->item.at[i]->shape);
        o->text = o->text > b->item.at[i]->text ? o->text : b->item.at[i]->text;
    }
    return o;
}

Box *box_optional(const Box *item)
{
    Box *b = box_new(OPTIONAL, item->type);
    vec_push(&b->item, (Box *)(uintptr_t)item);
    return b;
}

bool box_same(const Box *a, const Box *b)
{
    if (a->form != b->form || a->type != b->type || a->open != b->open || a->item.n != b->item.n || a->text != b->text)
        return false;
    for (int i = 0; i < a->item.n; i++)
        if (!box_same(a->item.at[i], b->item.at[i]))
            return false;
    if (a->form == TENSOR)
        return shape_same(a->shape, b->shape);
    return !a->open || (a->most == b->most && a->rank == b->rank && a->least_rank == b->least_rank &&
                        !memcmp(a->size, b->size, sizeof *a->size * (size_t)(a->rank < 0 ? 0 : a->rank)) &&
                        !memcmp(a->fixed, b->fixed, sizeof *a->fixed * (size_t)(a->rank < 0 ? 0 : a->rank)));
}

Box *box_join(const Node *n, const Box *a, const Box *b)
{
    if (a->form == OPTIONAL && b->form == OPTIONAL && (!a->item.n || !b->item.n))
        return (Box *)(uintptr_t)(a->item.n ? a : b);
    if (a->form == OPTIONAL || b->form == OPTIONAL) {
        const Box *x = a->form == OPTIONAL ? (a->item.n ? a->item.at[0] : b) : a;
        const Box *y = b->form == OPTIONAL ? (b->item.n ? b->item.at[0] : a) : b;
        Box *item = box_join(n, x, y);
        return item ? box_optional(item) : NULL;
    }
    if (a->form != b->form || (a->type && b->type && a->type != b->type)) {
        static const char *const forms[] = {"a tensor", "a sequence", "an optional", "maps"};
        node_error(n, "a value is now %s of %s, now %s of %s", forms[a->form], type_onnx(a->type), forms[b->form],
                   type_onnx(b->type));
        return NULL;
    }
    if (a->form == TENSOR || a->form == MAP || box_same(a, b))
        return (Box *)(uintptr_t)a;
    Box *y = box_open(a), *z = box_open(b);
    y->type = a->type ? a->type : b->type;
    y->most = y->most > z->most ? y->most : z->most;
    box_widen(y, z->rank, z->least_rank, z->size, z->fixed);
    return y;
}

Box *box_with(const Value *seq, const Value *x)
{
    Box *b = box_open(box_of(seq));
    b->type = x->type;
    b->most++;
    box_widen_shape(b, *x->shape);
    return b;
}

int box_count(const Box *b)
{
    int k = b->form == TENSOR ? 1 : b->form == OPTIONAL ? 1 : b->open ? 3 : 0;
    for (int i = 0; i < b->item.n; i++)
        k += box_count(b->item.at[i]);
    return k;
}

Dim sequence_slot(const Box *b)
{
    Dim d = D(1);
    for (int i = 0; i < b->rank; i++)
        d = dim_mul(d, D(b->size[i]));
    return d;
}

int sequence_width(const Box *b) { return b->rank > 1 ? b->rank : 1; }
Shape sequence_data(const Box *b) { return shape_list(2, D(b->most), sequence_slot(b)); }
Shape sequence_dims(const Box *b) { return shape_list(2, D(b->most), D(sequence_width(b))); }

/* ---- containers ---------------------------------------------------------------------------------------------------------- */

static Value *container_new(Graph *g, const Box *b)
{
    Value *v = value_new(g, NULL);
    values_stay();
    v->form = b->form;
    v->type = b->type;
    v->parts = NEW(Parts);
    v->parts->box = *b;
    memset(&v->parts->box.item, 0, sizeof v->parts->box.item);
    return v;
}

Value *sequence_new(Graph *g, Type t, int n, Value *const *item)
{
    Value *v = container_new(g, box_new(SEQUENCE, t));
    for (int i = 0; i < n; i++)
        vec_push(&v->parts->item, item[i]);
    return v;
}

Value *sequence_open(Graph *g, const Box *b, Value *count, Value *dims, Value *data)
{
    Value *v = container_new(g, b);
    v->parts->count = count;
    v->parts->dims = dims;
    v->parts->data = data;
    Symbol *s = symbol_of(value_dim(count, 0));
    if (s) {
        s->low = s->low < 0 ? 0 : s->low;
        s->high = s->high > b->most ? b->most : s->high;
    }
    return v;
}

Value *map_new(Graph *g, Value *values, Value *keys)
{
    Value *v = container_new(g, box_new(MAP, values->type));
    vec_push(&v->parts->item, values);
    vec_push(&v->parts->item, keys);
    return v;
}

Value *optional_new(Graph *g, Value *has, Value *item)
{
    Value *v = container_new(g, box_new(OPTIONAL, item ? item->type : NO_TYPE));
    v->parts->has = has;
    if (item)
        vec_push(&v->parts->item, item);
    return v;
}

Value *optional_item(Node *n, Value *v)
{
    Dim has = value_dim(v->parts->has, 0);
    if (dim_is(has, 0) || !v->parts->item.n) {
        error_node(n, "OPT-16", "the optional is empty");
        return NULL;
    }
    assume_dim(n, has, D(1));
    return v->parts->item.at[0];
}

void container_flatten(Value *v, Values *to)
{
    const Parts *p = v->parts;
    if (v->form == TENSOR)
        vec_push(to, v);
    else if (p->box.open) {
        vec_push(to, p->data);
        vec_push(to, p->dims);
        vec_push(to, p->count);
    } else {
        for (int i = 0; i < p->item.n; i++)
            container_flatten(p->item.at[i], to);
        if (v->form == OPTIONAL)
            vec_push(to, p->has);
    }
}

Value *container_rebuild(Graph *g, const Box *b, Value *const **from)
{
    if (b->form == TENSOR)
        return *(*from)++;
    if (b->open) {
        Value *const *v = *from;
        *from += 3;
        return sequence_open(g, b, v[2], v[1], v[0]);
    }
    Values item = {0};
    for (int i = 0; i < b->item.n; i++)
        vec_push(&item, container_rebuild(g, b->item.at[i], from));
    if (b->form == SEQUENCE)
        return sequence_new(g, b->type, item.n, item.at);
    if (b->form == MAP)
        return map_new(g, item.at[0], item.at[1]);
    return optional_new(g, *(*from)++, item.n ? item.at[0] : NULL);
}
