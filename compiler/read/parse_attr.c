/* parse_attr.c - reads AttributeProto: exactly one field has the value, and it must agree with the type. */
#include "base/options.h"
#include "read/parse.h"

#define N_ATTR_TYPES (A_TYPES + 1)

/* clang-format off */
static const char *const field_name[N_ATTR_TYPES] = {
    "", "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs",
    "sparse_tensor", "sparse_tensors", "tp", "type_protos"};
/* clang-format on */
static const char *const type_name[N_ATTR_TYPES] = {
    "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
    "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};

static void list_fields(const onnx_AttributeProto *proto, const Wire *w[N_ATTR_TYPES])
{
    /* clang-format off */
    const Wire *all[N_ATTR_TYPES] = {NULL,          &proto->f,       &proto->i,       &proto->s,       &proto->t,
                                     &proto->g,     &proto->floats,  &proto->ints,    &proto->strings, &proto->tensors,
                                     &proto->graphs, &proto->sparse_tensor, &proto->sparse_tensors, &proto->tp,
                                     &proto->type_protos};
    /* clang-format on */
    memcpy(w, all, sizeof all);
}

static bool is_list(int t) { return (t >= A_FLOATS && t <= A_GRAPHS) || t == A_SPARSES || t == A_TYPES; }

static bool is_filled(const Wire *w, int t) { return is_list(t) ? w->n || w->s.n : wire_has(w); }

/* The type, checked against the field that is present. A_NONE: wrong, and reported. */
static AttrType agreed_type(const Model *m, const onnx_AttributeProto *proto, const Wire *w[N_ATTR_TYPES],
                            const Path *p)
{
    int64_t type = wire_int(&proto->type);
    int filled = A_NONE;
    for (int t = A_FLOAT; t < N_ATTR_TYPES; t++) {
        if (!is_filled(w[t], t))
            continue;
        if (filled) {
            error_path(p, "ATT-03", "both '%s' and '%s' have a value", field_name[filled], field_name[t]);
            return A_NONE;
        }
        filled = t;
    }
    if (!type && m->ir_version < 2 && filled)
        type = filled;
    if (type < 0 || type >= N_ATTR_TYPES)
        error_path(p, "ATT-08", "%lld is not a type of attributes", (long long)type);
    else if (!type)
        error_path(p, "ATT-02", "the attribute has no type");
    else if (proto->ref_attr_name.s.n && filled)
        error_path(p, "ATT-23", "the attribute refers to '%s' of the function, and has a value too",
                   printable(wire_name(&proto->ref_attr_name)));
    else if (filled && filled != type)
        error_path(p, "ATT-04", "the type is %s, but the value is in '%s'", type_name[type], field_name[filled]);
    else if (!filled && !proto->ref_attr_name.s.n &&
             (type == A_TENSOR || type == A_GRAPH || type == A_SPARSE || type == A_TYPE))
        error_path(p, "ATT-07", "the type is %s, but '%s' is missing", type_name[type], field_name[type]);
    else
        return (AttrType)type;
    return A_NONE;
}

static bool is_utf8(Span s)
{
    for (size_t i = 0; i < s.n;) {
        uint8_t c = s.at[i++];
        int more = c < 0x80                ? 0
                   : c >= 0xC2 && c < 0xE0 ? 1
                   : c >= 0xE0 && c < 0xF0 ? 2
                   : c >= 0xF0 && c < 0xF5 ? 3
                                           : -1;
        for (; more > 0; more--)
            if (i >= s.n || (s.at[i++] & 0xC0) != 0x80)
                return false;
        if (more < 0)
            return false;
    }
    return true;
}

static Name read_string(Span s, const Path *p)
{
    if (!is_utf8(s))
        warn_strict(path_text(p), "ATT-18", "the string is not UTF-8");
    return span_name(s);
}

static bool read_numbers(const Wire *w, Attr *a, const Path *p)
{
    Span s = w->s;
    int64_t n = a->type == A_INTS ? wire_varints(s) : s.n % 4 ? -1 : (int64_t)(s.n / 4);
    if (n < 0 || n > INT32_MAX)
        return error_path(p, "PB-03", "malformed numbers in %s", field_name[a->type]);
    a->n = (int)n;
    if (a->type == A_FLOATS) {
        float *v = NEWS(float, n + 1);
        if (n)
            memcpy(v, s.at, s.n);
        a->floats = v;
    } else {
        int64_t *v = NEWS(int64_t, n + 1);
        for (int i = 0; i < n; i++)
            v[i] = (int64_t)wire_next(&s);
        a->ints = v;
    }
    return true;
}

/* Reads a list of strings, tensors, graphs or types. */
static bool read_list(Model *m, const Wire *w, Attr *a, const Path *p, Graph *g, Node *n)
{
    bool good = true;
    a->n = w->n;
    switch (a->type) {
    case A_STRINGS: a->strings = NEWS(Name, w->n + 1); break;
    case A_GRAPHS: a->graphs = NEWS(Graph *, w->n + 1); break;
    case A_TYPES: a->tp = NEWS(TypeDesc, w->n + 1); break;
    default: a->tensors = NEWS(Tensor *, w->n + 1);
    }
    for (int i = 0; i < w->n; i++) {
        const Path *q = AT(p, field_name[a->type], i);
        Span s = w->list[i];
        const TypeDesc *type;
        switch (a->type) {
        case A_STRINGS: a->strings[i] = read_string(s, q); break;
        case A_TENSORS: good &= (a->tensors[i] = read_tensor(m, s, q, NULL)) != NULL; break;
        case A_SPARSES: good &= (a->tensors[i] = read_sparse(m, s, q, NULL)) != NULL; break;
        case A_GRAPHS: good &= (a->graphs[i] = read_graph(m, s, AT(p->up, printable(a->name), i), g, n)) != NULL; break;
        default:
            type = read_type(s, q, false, true);
            if (type)
                a->tp[i] = *type;
            good &= type != NULL;
        }
    }
    return good;
}

static bool read_value(Model *m, const Wire *w, Attr *a, const Path *p, Graph *g, Node *n)
{
    switch (a->type) {
    case A_FLOAT: a->f = wire_float(w); return true;
    case A_INT: a->i = wire_int(w); return true;
    case A_STRING: a->s = read_string(w->s, p); return true;
    case A_TENSOR: a->t = read_tensor(m, w->s, AT(p, "t", -1), NULL); return a->t;
    case A_SPARSE: a->t = read_sparse(m, w->s, AT(p, "sparse_tensor", -1), NULL); return a->t;
    case A_GRAPH: a->g = read_graph(m, w->s, AT(p->up, printable(a->name), -1), g, n); return a->g;
    case A_TYPE: a->tp = read_type(w->s, AT(p, "tp", -1), false, true); return a->tp;
    case A_FLOATS:
    case A_INTS: return read_numbers(w, a, p);
    default: return read_list(m, w, a, p, g, n);
    }
}

bool read_attr(Model *m, Span s, Attr *a, const Path *p, Graph *g, Node *n)
{
    onnx_AttributeProto proto = {0};
    const Wire *w[N_ATTR_TYPES];
    *a = (Attr){0};
    if (!wire_read(onnx_AttributeProto_fields, s, &proto, p))
        return false;
    list_fields(&proto, w);
    a->name = wire_name(&proto.name);
    Path q = *p;
    q.name = a->name;
    if (!a->name->n || strlen(a->name->s) != a->name->n)
        return error_path(p, "ATT-01", "the name of the attribute is %s", a->name->n ? "not a text" : "missing");
    a->type = agreed_type(m, &proto, w, &q);
    if (!a->type)
        return false;
    if (!proto.ref_attr_name.s.n) {
        const bool good = read_value(m, w[a->type], a, &q, g, n);
        Wire *numbers[] = {&proto.type, &proto.i, &proto.f, &proto.ints, &proto.floats};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            wire_free(numbers[i]);
        return good;
    }
    a->ref = wire_name(&proto.ref_attr_name);
    if (!g || function_of(g))
        return true;
    return error_path(&q, "ATT-22", "the attribute refers to '%s' of a function, but is not in one", printable(a->ref));
}
