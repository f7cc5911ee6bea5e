/* parse_type.c - reads TypeProto: tensors with their shapes, sequences, maps, optionals, sparse tensors, opaque
 * types. */
#include "base/options.h"
#include "ir/spatial.h"
#include "read/parse.h"

static bool is_known_type(int64_t t) { return t > NO_TYPE && t < N_TYPES; }

/* An unspecified dimension: one symbol shared by all declarations but those of graph inputs. */
static Dim unknown_dim(void)
{
    return dim_symbol(symbol_by_name(name_bytes("?", 2))); /* "?" with its NUL, which no dim_param can have */
}

/* What exporters write as the name of a dimension without one. */
static bool is_placeholder(Name n) { return name_is(n, "?") || name_is(n, "-1") || name_is(n, "0"); }

static Dim read_dim(Span s, const Path *p, bool own_names, Name *param)
{
    onnx_TensorShapeProto_Dimension d = {0};
    if (!wire_read(onnx_TensorShapeProto_Dimension_fields, s, &d, p))
        return unknown_dim();
    if (d.dim_value.order > d.dim_param.order) {
        int64_t v = wire_int(&d.dim_value);
        if (v > MAX_SIZE)
            error_path(p, "SHP-21", "a dimension of %lld fits in no memory", (long long)v);
        else if (v >= 0)
            return D(v);
        else
            warn_strict(path_text(p), "SHP-16", "a dimension of %lld is taken as unknown", (long long)v);
        return unknown_dim();
    }
    if (!d.dim_param.s.n) {
        if (wire_has(&d.dim_param))
            warn_pedantic(path_text(p), "SHP-13", "an empty name of a dimension is taken as unknown");
        return unknown_dim();
    }
    Name n = wire_name(&d.dim_param);
    if (name_is(n, "*"))
        error_path(p, "SHP-14", "a dimension may not be '*': every dimension must be listed");
    if (name_is(n, "*") || is_placeholder(n))
        return unknown_dim();
    *param = n;
    if (!name_is_identifier(n))
        warn_pedantic(path_text(p), "SHP-09", "dimension name '%s' is not an identifier", printable(n));
    if (own_names)
        return unknown_dim();
    Symbol *symbol = symbol_by_name(n);
    symbol->user = true;
    return dim_symbol(symbol);
}

static void read_shape(Span s, const Path *p, bool own_names, TypeDesc *t)
{
    onnx_TensorShapeProto shape = {0};
    if (!wire_read(onnx_TensorShapeProto_fields, s, &shape, p))
        return;
    if (shape.dim.n > MAX_RANK)
        error_path(p, "SHP-01", "%d dimensions; onnxcc allows %d", shape.dim.n, MAX_RANK);
    else
        t->shape.rank = shape.dim.n;
    for (int i = 0; i < t->shape.rank; i++)
        t->shape.dim[i] = read_dim(shape.dim.list[i], AT(p, "dim", i), own_names, &t->dim_param[i]);
}

/* Without `strict`, 0 means unknown: exporters write it for values of unknown type. */
static Type read_elem(const Wire *w, const Path *p, bool strict)
{
    int64_t t = (int32_t)wire_int(w);
    if (!is_known_type(t) && (t || strict))
        error_path(AT(p, "elem_type", -1), "TYP-02", "%lld is not an element type", (long long)t);
    return is_known_type(t) ? (Type)t : NO_TYPE;
}

static TypeDesc *read_type_at(Span s, const Path *p, bool own_names, bool strict, int depth);

/* The type of the elements of a sequence, optional or map. */
static TypeDesc *read_inner(const Wire *w, const Path *p, const char *code, bool own_names, bool strict, int depth)
{
    TypeDesc *t = wire_has(w) ? read_type_at(w->s, p, own_names, strict, depth + 1) : NULL;
    if (!t && code && (!wire_has(w) || !w->s.n))
        error_path(p, code, "the type of the elements is missing");
    return t;
}

static void read_tensor_type(Span s, const Path *p, bool own_names, bool strict, TypeDesc *t)
{
    onnx_TypeProto_Tensor tensor = {0};
    if (!wire_read(onnx_TypeProto_Tensor_fields, s, &tensor, p))
        return;
    t->elem = read_elem(&tensor.elem_type, p, strict);
    if (wire_has(&tensor.shape))
        read_shape(tensor.shape.s, AT(p, "shape", -1), own_names, t);
}

static void read_map_type(Span s, const Path *p, bool own_names, bool strict, int depth, TypeDesc *t)
{
    onnx_TypeProto_Map map = {0};
    if (!wire_read(onnx_TypeProto_Map_fields, s, &map, p))
        return;
    t->key = (Type)wire_int(&map.key_type);
    if (!is_known_type(t->key) || (!type_is_int(t->key) && t->key != STR) || type_bits(t->key) < 8) {
        error_path(p, "TYP-06", "the key of a map must be an integer or a string, not %s",
                   is_known_type(t->key) ? type_onnx(t->key) : "an unknown type");
        t->key = NO_TYPE;
    }
    t->of = read_inner(&map.value_type, AT(p, "value_type", -1), "TYP-06", own_names, strict, depth);
}

static void read_opaque(Span s, const Path *p)
{
    onnx_TypeProto_Opaque opaque = {0};
    if (wire_read(onnx_TypeProto_Opaque_fields, s, &opaque, p) && !opaque.name.s.n)
        error_path(p, "TYP-13", "an opaque type needs a name");
}

static TypeDesc *read_type_at(Span s, const Path *p, bool own_names, bool strict, int depth)
{
    if (depth > MAX_TYPES_DEEP)
        return error_null(path_text(p), "PB-08", "types are nested more than %d deep", MAX_TYPES_DEEP);
    onnx_TypeProto type = {0};
    if (!wire_read(onnx_TypeProto_fields, s, &type, p))
        return NULL;
    const Wire *w = &type.tensor_type, *all[] = {&type.tensor_type,   &type.sequence_type,      &type.map_type,
                                                 &type.optional_type, &type.sparse_tensor_type, &type.opaque_type};
    for (int i = 0; i < 6; i++)
        if (all[i]->order > w->order)
            w = all[i];
    if (!wire_has(w))
        return NULL;
    TypeDesc *t = NEW(TypeDesc);
    t->shape.rank = -1;
    if (w == &type.tensor_type || w == &type.sparse_tensor_type) {
        t->form = w == &type.tensor_type ? TENSOR : SPARSE;
        read_tensor_type(w->s, AT(p, t->form == TENSOR ? "tensor_type" : "sparse_tensor_type", -1), own_names, strict,
                         t);
    } else if (w == &type.sequence_type || w == &type.optional_type) {
        t->form = w == &type.sequence_type ? SEQUENCE : OPTIONAL;
        onnx_TypeProto_Sequence sequence = {0}; /* an Optional has the same field */
        const Path *q = AT(p, t->form == SEQUENCE ? "sequence_type" : "optional_type", -1);
        if (wire_read(onnx_TypeProto_Sequence_fields, w->s, &sequence, q))
            t->of = read_inner(&sequence.elem_type, AT(q, "elem_type", -1), t->form == SEQUENCE ? "TYP-04" : NULL,
                               own_names, strict, depth);
    } else if (w == &type.map_type) {
        t->form = MAP;
        read_map_type(w->s, AT(p, "map_type", -1), own_names, strict, depth, t);
    } else {
        t->form = OPAQUE;
        read_opaque(w->s, AT(p, "opaque_type", -1));
    }
    return t;
}

TypeDesc *read_type(Span s, const Path *p, bool own_names, bool strict)
{
    return read_type_at(s, p, own_names, strict, 0);
}

const char *type_text(const TypeDesc *d)
{
    static const char *const form[] = {"tensor", "seq", "optional", "map", "sparse_tensor", "opaque"};
    Text t = {0};
    if (!d)
        return "?";
    text_put(&t, "%s(", form[d->form]);
    if (d->form == TENSOR || d->form == SPARSE)
        text_put(&t, "%s%s", d->elem ? type_onnx(d->elem) : "?", d->shape.rank >= 0 ? shape_text(d->shape) : "");
    else if (d->form == MAP)
        text_put(&t, "%s,%s", type_onnx(d->key), type_text(d->of));
    else
        text_put(&t, "%s", type_text(d->of));
    text_put(&t, ")");
    return t.s;
}
