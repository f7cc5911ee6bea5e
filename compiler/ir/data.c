/* data.c - tensors, sequences, optionals and maps as data. */
#include "ir/data.h"

#include <stdlib.h>

Data data_tensor(const Tensor *t) { return (Data){.form = TENSOR, .t = (Tensor *)(uintptr_t)t}; }

Data data_of_items(Form form, int n) { return (Data){.form = form, .n = n, .item = NEWS(Data, n + 1)}; }

const char *tensor_text(const Tensor *t)
{
    return text_format("%s %s", type_onnx(t->type), shape_text(tensor_shape(t)));
}

const char *data_text(const Data *d)
{
    enum { SHOWN = 4 };
    Text t = {0};
    if (d->form == TENSOR)
        return tensor_text(d->t);
    if (d->form == OPTIONAL)
        return d->n ? data_text(d->item) : "an optional without an element";
    if (d->form == MAP && d->n)
        return text_format("map of %lld from %s to %s", (long long)tensor_count(d->item[1].t),
                           type_onnx(d->item[1].t->type), type_onnx(d->item[0].t->type));
    text_put(&t, "%s of %d", d->form == MAP ? "map" : "sequence", d->n);
    for (int i = 0; i < d->n && i < SHOWN; i++)
        text_put(&t, "%s%s", i ? ", " : ": ", data_text(&d->item[i]));
    text_put(&t, d->n > SHOWN ? ", ..." : "");
    return t.s;
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

typedef struct MapKey {
    const Tensor *keys;
    int64_t i;
} MapKey;

static int compare_keys(const void *x, const void *y)
{
    const MapKey *a = x, *b = y;
    if (a->keys->type == STR)
        return strcmp(tensor_get_str(a->keys, a->i)->s, tensor_get_str(b->keys, b->i)->s);
    const int64_t i = tensor_get_int(a->keys, a->i), k = tensor_get_int(b->keys, b->i);
    return (i > k) - (i < k);
}

static Data picked(const Tensor *from, const MapKey *order, int64_t n)
{
    Tensor *t = tensor_new(from->type, 1, &n);
    const size_t size = type_bytes(from->type, 1);
    const char *data = tensor_data(from);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)(uintptr_t)t->data + size * (size_t)i, data + size * (size_t)order[i].i, size);
    return data_tensor(t);
}

Data data_by_keys(const Data *map)
{
    if (!map->n)
        return *map;
    const Tensor *keys = map->item[1].t, *values = map->item[0].t;
    const int64_t n = tensor_count(keys);
    MapKey *order = NEWS(MapKey, n + 1);
    for (int64_t i = 0; i < n; i++)
        order[i] = (MapKey){keys, i};
    if (tensor_count(values) == n)
        qsort(order, (size_t)n, sizeof *order, compare_keys);
    Data d = data_of_items(MAP, 2);
    d.item[0] = tensor_count(values) == n ? picked(values, order, n) : map->item[0];
    d.item[1] = picked(keys, order, n);
    return d;
}
