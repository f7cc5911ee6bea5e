/* data.c - a test's data: tensors, sequences, optionals and maps in files, and their form as inputs and results. */
#include "suite.h"

#include <stdlib.h>

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef struct Span {
    const unsigned char *at, *end;
} Span;

static uint64_t read_varint(Span *s)
{
    uint64_t v = 0;
    for (int shift = 0; s->at < s->end && shift < 64; shift += 7) {
        v |= (uint64_t)(*s->at & 127) << shift;
        if (!(*s->at++ & 128))
            break;
    }
    return v;
}

/* The next field: its number; its contents when it is a message or a string, or its value. 0: there is none. */
static int read_field(Span *s, Span *inner, uint64_t *v)
{
    if (s->at >= s->end)
        return 0;
    uint64_t key = read_varint(s);
    *v = read_varint(s);
    if ((key & 7) == 2) {
        uint64_t left = (uint64_t)(s->end - s->at);
        *inner = (Span){s->at, s->at + (*v < left ? *v : left)};
        s->at = inner->end;
    }
    return (int)(key >> 3);
}

static Tensor *joined(Type type, const Tensors *list)
{
    Tensor *t = tensor_new(type, 1, (int64_t[]){list->n});
    for (int i = 0; i < list->n; i++)
        memcpy((char *)(uintptr_t)t->data + type_bytes(type, i), tensor_data(list->at[i]), type_bytes(type, 1));
    return t;
}

static Data read_message(const char *form, Span s);

/* MapProto: the values, then their keys. */
static void read_map(Data *d, Span s)
{
    Span inner;
    uint64_t v;
    Type type = NO_TYPE;
    Tensors keys = {0}, values = {0};
    for (int field; (field = read_field(&s, &inner, &v)) != 0;)
        if (field == 2)
            type = (Type)v;
        else if (field == 3)
            vec_push(&keys, tensor_int(type, (int64_t)v));
        else if (field == 4) {
            vec_push(&keys, tensor_new(STR, 0, NULL));
            tensor_set_str(keys.at[keys.n - 1], 0, name_bytes((const char *)inner.at, (size_t)(inner.end - inner.at)));
        } else if (field == 5) {
            Data list = read_message("s", inner);
            for (int i = 0; i < list.n; i++)
                vec_push(&values, list.item[i].t);
        }
    if (!values.n)
        return; /* of no entries: the types are those that the model declares */
    d->n = 2;
    d->item[0] = (Data){.form = 't', .present = true, .t = joined(values.at[0]->type, &values)};
    d->item[1] = (Data){.form = 't', .present = true, .t = joined(type, &keys)};
}

static Data read_message(const char *form, Span s)
{
    Data d = {.form = *form, .present = true};
    Span inner;
    uint64_t v;
    if (d.form == 't') {
        d.t = parse_tensor(s.at, (size_t)(s.end - s.at), "data");
        return d;
    }
    d.item = NEWS(Data, s.end - s.at + 1);
    d.present = d.form != '?';
    if (d.form == 'm') {
        read_map(&d, s);
        return d;
    }
    for (int field; (field = read_field(&s, &inner, &v)) != 0;)
        if (field == 3 || field == (d.form == '?' ? 5 : 6)) { /* tensor_value(s), sequence_value, map_values */
            d.item[d.n++] = read_message(field == 3 ? "t" : field == 5 ? "s" : "m", inner);
            d.present = true;
        }
    return d;
}

bool read_data(const Test *t, const char *kind, int i, const char *form, Data *d)
{
    char file[64];
    snprintf(file, sizeof file, "test_data_set_0/%s_%d.pb", kind, i);
    char *path = path_in(t->from, file);
    size_t n = 0;
    unsigned char *bytes = read_file(path, &n);
    if (bytes && *form == 't')
        *d = (Data){.form = 't', .present = true, .t = read_tensor_file(path)};
    else if (bytes)
        *d = read_message(form, (Span){bytes, bytes + n});
    free(path);
    return bytes != NULL;
}

const char *form_of_type(const TypeDesc *d)
{
    return !d ? "t" : d->form == OPTIONAL ? "?" : d->form == SEQUENCE ? "s" : d->form == MAP ? "m" : "t";
}

/* ---- as inputs --------------------------------------------------------------------------------------------------- */

static Tensor *zeros(Type type, Shape s)
{
    int64_t dim[MAX_RANK];
    for (int i = 0; i < s.rank; i++)
        dim[i] = dim_is_const(s.dim[i]) ? dim_value(s.dim[i]) : 0;
    return tensor_new(type, s.rank, dim);
}

static void give_open(const Data *d, const ContainerType *b, Tensors *to)
{
    int width = b->rank > 1 ? b->rank : 1;
    int64_t slot = dim_value(sequence_slot(b));
    Tensor *data = tensor_new(b->type, 2, (int64_t[]){b->max_count, slot}),
           *dims = tensor_new(I64, 2, (int64_t[]){b->max_count, width});
    int64_t *row = (int64_t *)(uintptr_t)dims->data;
    for (int i = 0; i < d->n; i++, row += width) {
        const Tensor *x = d->item[i].t;
        memcpy((char *)(uintptr_t)data->data + type_bytes(b->type, slot) * (size_t)i, tensor_data(x), tensor_size(x));
        for (int k = 0; k < width; k++)
            row[k] = k < x->rank ? x->dim[k] : -1;
    }
    vec_push(to, data);
    vec_push(to, dims);
    vec_push(to, tensor_int(I64, d->n));
}

void give_data(const Data *d, const ContainerType *b, Tensors *to)
{
    static const Data none;
    if (b->form == TENSOR)
        vec_push(to, d->t ? d->t : zeros(b->type, b->shape));
    else if (b->open)
        give_open(d, b, to);
    else {
        for (int i = 0; i < b->item.n; i++)
            give_data(i < d->n ? &d->item[i] : &none, b->item.at[i], to);
        if (b->form == OPTIONAL)
            vec_push(to, tensor_int(B8, d->present));
    }
}

/* ---- as results -------------------------------------------------------------------------------------------------- */

/* "t"; "s2" or "o": a sequence of two elements, or of a length found at run time; "?t", "?s2", "?o", "?-"; "m": a map;
 * "M": a sequence of maps. */
const char *form_of_container(const ContainerType *b)
{
    if (b->form == TENSOR)
        return "t";
    if (b->form == OPTIONAL)
        return name_format("?%s", b->item.n ? form_of_container(b->item.at[0]) : "-")->s;
    if (b->form == MAP)
        return b->item.at[0]->shape.rank > 1 ? "M" : "m";
    return b->open ? "o" : name_format("s%d", b->item.n)->s;
}

static Tensor *of_int(Type type, int64_t v) { return tensor_int(type, v); }

static void take_open(const Tensor *got, Tensors *to)
{
    int64_t count = tensor_get_int(&got[2], 0), width = got[1].dim[1];
    vec_push(to, of_int(I64, count));
    for (int64_t i = 0; i < count && i < got[0].dim[0]; i++) {
        Tensor *x = NEW(Tensor);
        int64_t *dim = NEWS(int64_t, width);
        *x = (Tensor){.type = got[0].type, .dim = dim};
        x->data = (const char *)got[0].data + type_bytes(x->type, got[0].dim[1]) * (size_t)i;
        for (int k = 0; k < width && tensor_get_int(&got[1], i * width + k) >= 0; k++)
            dim[x->rank++] = tensor_get_int(&got[1], i * width + k);
        vec_push(to, x);
    }
}

/* Rows of values, and the keys of them all. */
static void take_maps(const Tensor *got, Tensors *to)
{
    vec_push(to, of_int(I64, got[0].dim[0]));
    for (int64_t i = 0; i < got[0].dim[0]; i++) {
        Tensor *row = NEW(Tensor);
        *row = (Tensor){.type = got[0].type, .rank = 1, .dim = &got[0].dim[1]};
        row->data = (const char *)got[0].data + type_bytes(row->type, row->dim[0]) * (size_t)i;
        vec_push(to, row);
        vec_push(to, (Tensor *)(uintptr_t)&got[1]);
    }
}

int take_results(const char *form, const Tensor *got, Tensors *to)
{
    if (*form == '?') {
        Tensors inside = {0};
        int n = take_results(form + 1, got, &inside);
        bool present = tensor_get_int(&got[n], 0);
        vec_push(to, of_int(B8, present));
        for (int i = 0; i < inside.n && present; i++)
            vec_push(to, inside.at[i]);
        return n + 1;
    }
    if (*form == 'o') {
        take_open(got, to);
        return 3;
    }
    if (*form == 'M') {
        take_maps(got, to);
        return 2;
    }
    int n = *form == 't' ? 1 : *form == 'm' ? 2 : atoi(form + 1);
    if (*form == 's')
        vec_push(to, of_int(I64, n));
    for (int i = 0; i < n && *form != '-'; i++)
        vec_push(to, (Tensor *)(uintptr_t)&got[i]);
    return *form == '-' ? 0 : n;
}

void list_data(const Data *d, Tensors *to)
{
    if (d->form == 't') {
        vec_push(to, d->t);
        return;
    }
    if (d->form != 'm')
        vec_push(to, d->form == '?' ? of_int(B8, d->present) : of_int(I64, d->n));
    for (int i = 0; i < d->n; i++)
        list_data(&d->item[i], to);
}
