/* parse_data.c - reads SequenceProto, OptionalProto and MapProto, as files of test data have them. */
#include "read/parse.h"
#include "read/read.h"

static bool read_one(Model *m, Data *d, Form form, Span s, const Path *p, int depth);

static bool read_list(Model *m, Data *d, Form form, const Wire *w, const char *field, const Path *p, int depth)
{
    for (int i = 0; i < w->n; i++)
        if (!read_one(m, &d->item[d->n++], form, w->list[i], AT(p, field, i), depth))
            return false;
    return true;
}

static bool read_sequence(Model *m, Data *d, Span s, const Path *p, int depth)
{
    onnx_SequenceProto proto = {0};
    if (!wire_read(onnx_SequenceProto_fields, s, &proto, p))
        return false;
    const Wire *of[] = {&proto.tensor_values, &proto.sequence_values, &proto.map_values, &proto.optional_values};
    *d = data_of_items(SEQUENCE, of[0]->n + of[1]->n + of[2]->n + of[3]->n);
    d->n = 0;
    return read_list(m, d, TENSOR, of[0], "tensor_values", p, depth) &&
           read_list(m, d, SEQUENCE, of[1], "sequence_values", p, depth) &&
           read_list(m, d, MAP, of[2], "map_values", p, depth) &&
           read_list(m, d, OPTIONAL, of[3], "optional_values", p, depth);
}

static bool read_optional(Model *m, Data *d, Span s, const Path *p, int depth)
{
    onnx_OptionalProto proto = {0};
    if (!wire_read(onnx_OptionalProto_fields, s, &proto, p))
        return false;
    const struct {
        const Wire *w;
        Form form;
    } of[] = {{&proto.tensor_value, TENSOR}, {&proto.sequence_value, SEQUENCE}, {&proto.map_value, MAP}};
    *d = data_of_items(OPTIONAL, 1);
    d->n = 0;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (wire_has(of[i].w)) {
            d->n = 1;
            return read_one(m, d->item, of[i].form, of[i].w->s, AT(p, "value", -1), depth);
        }
    return true;
}

/* The keys, of which there are n. */
static Tensor *read_keys(const onnx_MapProto *proto, int64_t n)
{
    const Type type = (Type)(int32_t)wire_int(&proto->key_type);
    Span numbers = proto->keys.s;
    if (type != STR && (!type_is_int(type) || type_bits(type) < 8 || wire_varints(numbers) != n))
        return NULL;
    if (type == STR && proto->string_keys.n != n)
        return NULL;
    Tensor *t = tensor_new(type, 1, &n);
    const size_t size = type_bytes(type, 1);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t v = type == STR ? 0 : wire_next(&numbers);
        if (type == STR)
            tensor_set_str(t, i, span_name(proto->string_keys.list[i]));
        else
            memcpy((char *)(uintptr_t)t->data + size * (size_t)i, &v, size);
    }
    return t;
}

/* Scalars of one type as one tensor; NULL: they are no such. */
static Tensor *joined(const Data *list)
{
    const int64_t n = list->n;
    Tensor *t = tensor_new(list->item[0].t->type, 1, &n);
    const size_t size = type_bytes(t->type, 1);
    for (int i = 0; i < n; i++) {
        const Tensor *x = list->item[i].t;
        if (!x || x->type != t->type || tensor_count(x) != 1)
            return NULL;
        memcpy((char *)(uintptr_t)t->data + size * (size_t)i, tensor_data(x), size);
    }
    return t;
}

static bool read_map(Model *m, Data *d, Span s, const Path *p, int depth)
{
    onnx_MapProto proto = {0};
    Data values;
    if (!wire_read(onnx_MapProto_fields, s, &proto, p) ||
        !read_one(m, &values, SEQUENCE, proto.values.s, AT(p, "values", -1), depth))
        return false;
    *d = data_of_items(MAP, 2);
    d->n = 0;
    if (!values.n) /* the types are those that the model declares */
        return true;
    d->item[0] = data_tensor(joined(&values));
    d->item[1] = data_tensor(read_keys(&proto, values.n));
    d->n = 2;
    return (d->item[0].t && d->item[1].t) || error_path(p, "ENC-03", "not a map of as many numbers or strings as keys");
}

static bool read_one(Model *m, Data *d, Form form, Span s, const Path *p, int depth)
{
    if (depth > MAX_TYPES_DEEP)
        return error_path(p, "PB-08", "types are nested more than %d deep", MAX_TYPES_DEEP);
    if (form == SEQUENCE)
        return read_sequence(m, d, s, p, depth + 1);
    if (form == OPTIONAL)
        return read_optional(m, d, s, p, depth + 1);
    if (form == MAP)
        return read_map(m, d, s, p, depth + 1);
    *d = data_tensor(read_tensor(m, s, p, NULL));
    return d->t != NULL;
}

Data parse_data(Model *m, Form form, Span s, const Path *p)
{
    Data d = {.form = form};
    read_one(m, &d, form, s, p, 0);
    return d;
}
