/* container.c - sequences, optionals and maps: their types, their components, and conversions between types. */
#include "passes/container.h"
#include "ir/assume.h"
#include "ir/spatial.h"

/* ---- container types --------------------------------------------------------------------------------------------- */

ContainerType *ctype_new(Form form, Type t)
{
    ContainerType *b = NEW(ContainerType);
    b->form = form;
    b->type = t;
    b->rank = b->min_rank = -1;
    return b;
}

ContainerType *ctype_copy(const ContainerType *b) { return NEW_COPY(*b); }

ContainerType *ctype_of(const Value *v)
{
    if (v->form == TENSOR) {
        ContainerType *b = ctype_new(TENSOR, v->type);
        b->shape = *v->shape;
        b->text = v->type == STR ? text_bound(v) : 0;
        return b;
    }
    ContainerType *b = ctype_copy(&v->components->ctype);
    memset(&b->item, 0, sizeof b->item);
    b->text = b->open && b->type == STR ? text_bound(v->components->data) : 0;
    for (int i = 0; i < v->components->item.n; i++)
        vec_push(&b->item, ctype_of(v->components->item.at[i]));
    return b;
}

void ctype_widen(ContainerType *b, int rank, int min_rank, const int64_t *size, const bool *fixed)
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
    b->min_rank = first || min_rank < b->min_rank ? min_rank : b->min_rank;
    b->rank = rank > b->rank ? rank : b->rank;
}

void ctype_widen_shape(ContainerType *b, Shape s)
{
    int64_t size[MAX_RANK];
    bool fixed[MAX_RANK];
    for (int i = 0; i < s.rank; i++) {
        size[i] = dim_high(s.dim[i]);
        fixed[i] = dim_is_const(s.dim[i]);
    }
    ctype_widen(b, s.rank, s.rank, size, fixed);
}

ContainerType *ctype_open(const ContainerType *b)
{
    if (b->open || b->form != SEQUENCE)
        return ctype_copy(b);
    ContainerType *o = ctype_new(SEQUENCE, b->type);
    o->open = true;
    o->max_count = b->item.n;
    EACH_OF (item, b->item) {
        ctype_widen_shape(o, item->shape);
        o->text = o->text > item->text ? o->text : item->text;
    }
    return o;
}

ContainerType *ctype_optional(const ContainerType *item)
{
    ContainerType *b = ctype_new(OPTIONAL, item->type);
    vec_push(&b->item, (ContainerType *)(uintptr_t)item);
    return b;
}

bool ctype_is_same(const ContainerType *a, const ContainerType *b)
{
    if (a->form != b->form || a->type != b->type || a->open != b->open || a->item.n != b->item.n || a->text != b->text)
        return false;
    for (int i = 0; i < a->item.n; i++)
        if (!ctype_is_same(a->item.at[i], b->item.at[i]))
            return false;
    if (a->form == TENSOR)
        return shape_identical(a->shape, b->shape);
    return !a->open || (a->max_count == b->max_count && a->rank == b->rank && a->min_rank == b->min_rank &&
                        !memcmp(a->size, b->size, sizeof *a->size * (size_t)(a->rank < 0 ? 0 : a->rank)) &&
                        !memcmp(a->fixed, b->fixed, sizeof *a->fixed * (size_t)(a->rank < 0 ? 0 : a->rank)));
}

ContainerType *ctype_join(const Node *n, const ContainerType *a, const ContainerType *b)
{
    if (a->form == OPTIONAL && b->form == OPTIONAL && a->type && b->type && a->type != b->type)
        return error_null(node_place(n), "NOD-10",
                          "a value is an optional of %s in one place and an optional of %s in another",
                          type_onnx(a->type), type_onnx(b->type));
    if (a->form == OPTIONAL && b->form == OPTIONAL && (!a->item.n || !b->item.n))
        return (ContainerType *)(uintptr_t)(a->item.n ? a : b);
    if (a->form == OPTIONAL || b->form == OPTIONAL) {
        const ContainerType *x = a->form == OPTIONAL ? (a->item.n ? a->item.at[0] : b) : a;
        const ContainerType *y = b->form == OPTIONAL ? (b->item.n ? b->item.at[0] : a) : b;
        ContainerType *item = ctype_join(n, x, y);
        return item ? ctype_optional(item) : NULL;
    }
    if (a->form != b->form || (a->type && b->type && a->type != b->type)) {
        static const char *const forms[] = {"a tensor", "a sequence", "an optional", "maps"};
        return error_null(node_place(n), "NOD-10", "a value is %s of %s in one place and %s of %s in another",
                          forms[a->form], type_onnx(a->type), forms[b->form], type_onnx(b->type));
    }
    if (a->form == TENSOR || a->form == MAP || ctype_is_same(a, b))
        return (ContainerType *)(uintptr_t)a;
    ContainerType *y = ctype_open(a), *z = ctype_open(b);
    y->type = a->type ? a->type : b->type;
    y->max_count = y->max_count > z->max_count ? y->max_count : z->max_count;
    ctype_widen(y, z->rank, z->min_rank, z->size, z->fixed);
    return y;
}

ContainerType *ctype_with(const Value *seq, const Value *x)
{
    ContainerType *b = ctype_open(ctype_of(seq));
    b->type = x->type;
    b->max_count++;
    ctype_widen_shape(b, *x->shape);
    return b;
}

int ctype_count(const ContainerType *b)
{
    int k = b->form == TENSOR ? 1 : b->form == OPTIONAL ? 1 : b->open ? 3 : 0;
    for (int i = 0; i < b->item.n; i++)
        k += ctype_count(b->item.at[i]);
    return k;
}

Dim sequence_slot(const ContainerType *b)
{
    Dim d = D(1);
    for (int i = 0; i < b->rank; i++)
        d = dim_mul(d, D(b->size[i]));
    return d;
}

int sequence_width(const ContainerType *b) { return b->rank > 1 ? b->rank : 1; }
Shape sequence_data(const ContainerType *b) { return shape_list(2, D(b->max_count), sequence_slot(b)); }
Shape sequence_dims(const ContainerType *b) { return shape_list(2, D(b->max_count), D(sequence_width(b))); }

/* ---- containers -------------------------------------------------------------------------------------------------- */

static Value *container_new(Graph *g, const ContainerType *b)
{
    Value *v = value_new(g, NULL);
    values_stay();
    v->form = b->form;
    v->type = b->type;
    v->components = NEW(Components);
    v->components->ctype = *b;
    memset(&v->components->ctype.item, 0, sizeof v->components->ctype.item);
    return v;
}

Value *sequence_new(Graph *g, Type t, int n, Value *const *item)
{
    Value *v = container_new(g, ctype_new(SEQUENCE, t));
    for (int i = 0; i < n; i++)
        vec_push(&v->components->item, item[i]);
    return v;
}

Value *sequence_open(Graph *g, const ContainerType *b, Value *count, Value *dims, Value *data)
{
    Value *v = container_new(g, b);
    v->components->count = count;
    v->components->dims = dims;
    v->components->data = data;
    Symbol *s = symbol_of(value_dim(count, 0));
    if (s) {
        s->low = s->low < 0 ? 0 : s->low;
        s->high = s->high > b->max_count ? b->max_count : s->high;
    }
    return v;
}

Value *map_new(Graph *g, Value *values, Value *keys)
{
    Value *v = container_new(g, ctype_new(MAP, values->type));
    vec_push(&v->components->item, values);
    vec_push(&v->components->item, keys);
    return v;
}

Value *optional_new(Graph *g, Value *has, Value *item)
{
    Value *v = container_new(g, ctype_new(OPTIONAL, item ? item->type : NO_TYPE));
    v->components->has = has;
    if (item)
        vec_push(&v->components->item, item);
    return v;
}

Value *optional_item(Node *n, Value *v)
{
    Dim has = value_dim(v->components->has, 0);
    if (dim_is(has, 0) || !v->components->item.n)
        return error_null(node_place(n), "OPT-16", "the optional is empty");
    assume_dim(n, has, D(1));
    return v->components->item.at[0];
}

void container_flatten(Value *v, Values *to)
{
    const Components *p = v->components;
    if (v->form == TENSOR)
        vec_push(to, v);
    else if (p->ctype.open) {
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

Value *container_rebuild(Graph *g, const ContainerType *b, Value *const **from)
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
