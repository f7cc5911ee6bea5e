/* data.c - a test's data: reads its files, and converts them to the form of results. */
#include "suite.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------------------------------- */

static Form form_of_text(const char *form)
{
    return *form == 't' ? TENSOR : *form == '?' ? OPTIONAL : *form == 'm' ? MAP : SEQUENCE;
}

bool read_data(const Test *t, const char *kind, int i, const char *form, Data *d)
{
    char file[64];
    snprintf(file, sizeof file, "test_data_set_0/%s_%d.pb", kind, i);
    char *path = path_in(t->from, file);
    const bool there = !access(path, F_OK);
    if (there)
        *d = read_data_file(path, form_of_text(form));
    free(path);
    return there;
}

const char *form_of_type(const TypeDesc *d)
{
    return !d ? "t" : d->form == OPTIONAL ? "?" : d->form == SEQUENCE ? "s" : d->form == MAP ? "m" : "t";
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
    if (d->form == TENSOR) {
        vec_push(to, d->t);
        return;
    }
    if (d->form != MAP)
        vec_push(to, d->form == OPTIONAL ? of_int(B8, d->n) : of_int(I64, d->n));
    for (int i = 0; i < d->n; i++)
        list_data(&d->item[i], to);
}
