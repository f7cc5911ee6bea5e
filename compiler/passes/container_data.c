/* container_data.c - data of sequences, optionals and maps as the tensors that the C takes and gives, and back. */
#include "base/options.h"
#include "passes/container.h"
#include "rt.h"

/* ---- as inputs --------------------------------------------------------------------------------------------------- */

/* A tensor of this type, as small as it may be: of an optional that is absent. */
static Tensor *smallest(const ContainerType *b)
{
    int64_t dim[MAX_RANK];
    for (int i = 0; i < b->shape.rank; i++) {
        const int64_t low = dim_low(dim_resolve(b->shape.dim[i]));
        dim[i] = low > 0 ? low : 0;
    }
    return tensor_new(b->type, b->shape.rank, dim);
}

static void check_element(const Tensor *x, const ContainerType *b, const char *input)
{
    bool fits = x && x->type == b->type && x->rank <= b->rank;
    for (int k = 0; fits && k < x->rank; k++)
        fits = x->dim[k] <= b->size[k];
    if (!fits)
        fail_as(EXIT_MODEL, "EVA-01", "an element of '%s' is %s, not %s %s at most", input,
                x ? tensor_text(x) : "no tensor", type_onnx(b->type), shape_text(shape_of_numbers(b->rank, b->size)));
}

static void put_open(const Data *d, const ContainerType *b, const char *input, Tensors *to)
{
    const int width = sequence_width(b);
    const int64_t slot = dim_value(sequence_slot(b));
    if (d->n > b->max_count)
        fail_as(EXIT_MODEL, "EVA-01", "'%s' has %d elements, not %lld at most", input, d->n, (long long)b->max_count);
    Tensor *data = tensor_new(b->type, 2, (int64_t[]){b->max_count, slot}),
           *dims = tensor_new(I64, 2, (int64_t[]){b->max_count, width});
    int64_t *row = (int64_t *)(uintptr_t)dims->data;
    for (int i = 0; i < d->n; i++, row += width) {
        const Tensor *x = d->item[i].t;
        check_element(x, b, input);
        memcpy((char *)(uintptr_t)data->data + type_bytes(b->type, slot) * (size_t)i, tensor_data(x), tensor_size(x));
        for (int k = 0; k < width; k++)
            row[k] = k < x->rank ? x->dim[k] : -1;
    }
    vec_push(to, data);
    vec_push(to, dims);
    vec_push(to, tensor_int(I64, d->n));
}

void data_components(const Data *d, const ContainerType *b, const char *input, Tensors *to)
{
    static const Data none;
    if (d != &none && d->form != b->form)
        fail_as(EXIT_MODEL, "EVA-01", "'%s' is given as %s", input, data_text(d));
    if (b->form == TENSOR)
        vec_push(to, d->t ? d->t : smallest(b));
    else if (b->open)
        put_open(d, b, input, to);
    else {
        for (int i = 0; i < b->item.n; i++)
            data_components(i < d->n ? &d->item[i] : &none, b->item.at[i], input, to);
        if (b->form == OPTIONAL)
            vec_push(to, tensor_int(B8, d->n));
    }
}

/* ---- as results -------------------------------------------------------------------------------------------------- */

static Data open_sequence(Tensor *const *part)
{
    const Tensor *data = part[0], *dims = part[1];
    const int64_t width = dims->rank > 1 ? dims->dim[1] : 1;
    int64_t count = tensor_get_int(part[2], 0);
    count = count < data->dim[0] ? count : data->dim[0];
    Data d = data_of_items(SEQUENCE, (int)count);
    for (int64_t i = 0; i < count; i++) {
        int64_t dim[MAX_RANK];
        int rank = 0;
        for (; rank < width && rank < MAX_RANK && tensor_get_int(dims, i * width + rank) >= 0; rank++)
            dim[rank] = tensor_get_int(dims, i * width + rank);
        Tensor *x = NEW_COPY((Tensor){.type = data->type, .rank = rank, .dim = dims_keep(rank, dim)});
        x->data = (const char *)data->data + type_bytes(x->type, data->dim[1]) * (size_t)i;
        d.item[i] = data_tensor(x);
    }
    return d;
}

/* Row i of values, and the keys of all rows. */
static Data map_of_row(Tensor *const *part, int64_t i)
{
    Data d = data_of_items(MAP, 2);
    Tensor *row = NEW_COPY((Tensor){.type = part[0]->type, .rank = 1, .dim = &part[0]->dim[1]});
    row->data = (const char *)part[0]->data + type_bytes(row->type, row->dim[0]) * (size_t)i;
    d.item[0] = data_tensor(row);
    d.item[1] = data_tensor(part[1]);
    return d;
}

static Data maps(Tensor *const *part)
{
    Data d = data_of_items(SEQUENCE, (int)part[0]->dim[0]);
    for (int i = 0; i < d.n; i++)
        d.item[i] = map_of_row(part, i);
    return d;
}

Data data_of_components(const ContainerType *b, Tensor *const **part)
{
    if (b->form == TENSOR)
        return data_tensor(*(*part)++);
    if (b->open || (b->form == MAP && b->item.at[0]->shape.rank > 1)) {
        Tensor *const *of = *part;
        *part += ctype_count(b);
        return b->open ? open_sequence(of) : maps(of);
    }
    Data d = data_of_items(b->form, b->item.n);
    for (int i = 0; i < b->item.n; i++)
        d.item[i] = data_of_components(b->item.at[i], part);
    if (b->form == OPTIONAL && !tensor_get_int(*(*part)++, 0))
        d.n = 0;
    return d;
}
