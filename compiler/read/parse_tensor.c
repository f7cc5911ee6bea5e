/* parse_tensor.c - reads TensorProto and SparseTensorProto as packed little-endian bytes, which are not copied if the
 * file has this layout. */
#include "base/options.h"
#include "ir/ops.h"
#include "read/parse.h"

enum {
    MAX_DENSE_BYTES = 1 << 28,
    FOLDED_TIMES = 20
}; /* FOLDED_TIMES: how much constants may grow: int4 to packed floats, twice */

/* The number of elements; false: too many. */
static bool count_elements(int rank, const int64_t *dim, int64_t *count)
{
    int64_t n = 1;
    bool overflow = false, empty = false;
    for (int i = 0; i < rank; i++) {
        empty |= !dim[i];
        overflow |= __builtin_mul_overflow(n, dim[i] ? dim[i] : 1, &n);
    }
    *count = empty ? 0 : n;
    return !overflow && n <= INT64_MAX / 16; /* 16 bytes: the largest element */
}

/* Reads the field dims into t. */
static bool read_dims(const Wire *w, Tensor *t, int64_t *count, const Path *p)
{
    Span s = w->s;
    int64_t n = wire_varints(s);
    if (n < 0)
        return error_path(p, "PB-03", "malformed numbers in dims");
    if (n > MAX_RANK)
        return error_path(p, "SHP-01", "%lld dimensions; onnxcc allows %d", (long long)n, MAX_RANK);
    int64_t dim[MAX_RANK];
    for (int i = 0; i < n; i++) {
        dim[i] = (int64_t)wire_next(&s);
        if (dim[i] < 0 || dim[i] > MAX_SIZE)
            return error_path(p, "ENC-04", "dims[%d] is %lld", i, (long long)dim[i]);
    }
    t->rank = (int)n;
    t->dim = dims_keep(t->rank, dim);
    if (count_elements(t->rank, t->dim, count))
        return true;
    return error_path(p, "ENC-04", "a tensor of shape %s is larger than any memory", shape_text(tensor_shape(t)));
}

/* ---- the typed fields --------------------------------------------------------------------------------------- */

typedef enum DataField { RAW, FLOATS, INT32S, STRINGS, INT64S, DOUBLES, UINT64S, N_FIELDS } DataField;
static const char *const field_name[] = {"raw_data",   "float_data",  "int32_data", "string_data",
                                         "int64_data", "double_data", "uint64_data"};

static const DataField field_of[N_TYPES] = {
#define TYPE(number, E, tag, onnx, bits, arith, storage, kind, since, public, field) [E] = field,
#include "ir/types.def"
#undef TYPE
};

/* The number of entries in the typed field for `count` elements: for types of 4 and 2 bits an entry is a byte of
 * elements. */
static int64_t entries_of(Type t, int64_t count)
{
    if (t == C64 || t == C128)
        return 2 * count;
    return type_bits(t) == 4 || type_bits(t) == 2 ? (int64_t)type_bytes(t, count) : count;
}

static bool report_count(const Path *p, DataField field, int64_t got, int64_t want, const Tensor *t)
{
    return error_path(p, type_bits(t->type) < 8 ? "ENC-12" : "ENC-03", "%s has %lld entries; %s%s needs %lld",
                      field_name[field], (long long)got, type_onnx(t->type), shape_text(tensor_shape(t)),
                      (long long)want);
}

/* float_data and double_data, which have our layout. */
static bool take_floats(const Wire *w, DataField field, Tensor *t, int64_t count, const Path *p)
{
    int64_t size = field == FLOATS
    ? 4 : 8, want = entries_of(t->type, count);
    if (w->s.n % (size_t)size || (int64_t)w->s.n / size != want)
        return report_count(p, field, (int64_t)w->s.n / size, want, t);
    t->data = w->s.at;
    return true;
}

/* Is entry v in the range of type t? A byte of 4- or 2-bit elements may be sign-extended, as some writers do. */
static bool entry_fits(Type t, uint64_t v)
{
    int bits = type_bits(t);
    int64_t x = (int32_t)v, max = (int64_t)1 << (bits < 32 ? bits : 32);
    if (t == U32)
        return v < (uint64_t)max;
    if (t == B8 || bits >= 32)
        return true;
    if (bits == 4 || bits == 2)
        return x >= -128 && x < 256;
    return type_is_int(t) && type_is_signed(t) ? x >= -max / 2 && x < max / 2 : x >= 0 && x < max;
}

static void put_bits(uint8_t *to, int64_t i, int bits, uint64_t v)
{
    for (int k = 0; k < bits; k++) {
        int64_t at = i * bits + k;
        to[at / 8] = (uint8_t)(to[at / 8] | ((v >> k & 1) << (at % 8)));
    }
}

/* int32_data, int64_data, uint64_data: each entry is an element, or a byte of small elements. */
static bool take_ints(const Wire *w, DataField field, Tensor *t, int64_t count, const Path *p)
{
    Span s = w->s;
    int64_t got = wire_varints(s), want = entries_of(t->type, count);
    if (got < 0)
        return error_path(p, "PB-03", "malformed numbers in %s", field_name[field]);
    if (got != want)
        return report_count(p, field, got, want, t);
    size_t bytes = type_bytes(t->type, count), width = type_bits(t->type) < 8 ? 1 : (size_t)type_bits(t->type) / 8;
    uint8_t *to = pool_alloc(ELEMENTS_ROOM(bytes));
    int64_t bad = -1, bad_value = 0;
    for (int64_t i = 0; i < want; i++) {
        uint64_t v = wire_next(&s);
        if (bad < 0 && !entry_fits(t->type, v)) {
            bad = i;
            bad_value = field == INT32S ? (int32_t)v : (int64_t)v;
        }
        if (t->type == B8)
            v = (int32_t)v != 0;
        if (type_bits(t->type) == 6)
            put_bits(to, i, 6, v & 63);
        else
            memcpy(to + (size_t)i * width, &v, width);
    }
    t->data = to;
    if (bad < 0)
        return true;
    if (type_bits(t->type) == 6)
        return error_path(p, "DTY-32", "%s[%lld] is %lld, which does not fit %s", field_name[field], (long long)bad,
                          (long long)bad_value, type_onnx(t->type));
    warn_strict(path_text(p), type_is_float(t->type) ? "ENC-10" : "ENC-16",
                "%s[%lld] is %lld, which does not fit %s; it is cut to size", field_name[field], (long long)bad,
                (long long)bad_value, type_onnx(t->type));
    return true;
}

static bool take_strings(const Wire *w, Tensor *t, int64_t count, const Path *p)
{
    if (w->n != count)
        return report_count(p, STRINGS, w->n, count, t);
    t->data = pool_alloc(type_bytes(STR, count));
    for (int i = 0; i < w->n; i++)
        tensor_set_str(t, i, span_name(w->list[i]));
    return true;
}

/* Makes all bools 0 or 1. */
static void normalise_bools(Tensor *t, int64_t count, const Path *p)
{
    const uint8_t *x = t->data;
    int64_t i = 0;
    while (i < count && x[i] < 2)
        i++;
    if (i == count)
        return;
    warn_pedantic(path_text(p), "DTY-09", "element %lld of a bool tensor is the byte %d; it is taken as true",
                  (long long)i, x[i]);
    uint8_t *to = pool_alloc(ELEMENTS_ROOM(count));
    for (i = 0; i < count; i++)
        to[i] = x[i] != 0;
    t->data = to;
}

/* ---- one tensor -------------------------------------------------------------------------------------------------- */

static bool take_raw(Span s, Tensor *t, int64_t count, const Path *p)
{
    size_t want = type_bytes(t->type, count);
    if (t->type == STR)
        return error_path(p, "ENC-09", "strings cannot be in raw_data");
    if (s.n != want)
        return error_path(p,
                          count && !s.n ? "ENC-14"
                          : count       ? "ENC-03"
                                        : "ENC-05",
                          "raw_data has %zu bytes; %s%s needs %zu", s.n, type_onnx(t->type),
                          shape_text(tensor_shape(t)), want);
    t->data = s.at;
    return true;
}

static bool take_external(Model *m, const onnx_TensorProto *proto, Tensor *t, int64_t count, const Path *p)
{
    Span s;
    if (t->type == STR)
        return error_path(p, "EXT-15", "strings cannot be in another file");
    if (!external_span(m, &proto->external_data, type_bytes(t->type, count), &s, p))
        return false;
    t->data = s.at;
    return true;
}

/* Reads the data, which must be in exactly one field. */
static bool take_data(Model *m, const onnx_TensorProto *proto, Tensor *t, int64_t count, const Path *p)
{
    const Wire *w[N_FIELDS] = {&proto->raw_data,   &proto->float_data,  &proto->int32_data, &proto->string_data,
                               &proto->int64_data, &proto->double_data, &proto->uint64_data};
    int used = -1;
    int64_t location = wire_int(&proto->data_location);
    if (location != onnx_TensorProto_DataLocation_DEFAULT && location != onnx_TensorProto_DataLocation_EXTERNAL)
        return error_path(p, "EXT-02", "data_location is %lld; 0 (in the model) and 1 (in another file) exist",
                          (long long)location);
    for (int i = 0; i < N_FIELDS; i++) {
        if (!w[i]->s.n && !w[i]->n && !(i == RAW && wire_has(w[i])))
            continue;
        if (location == onnx_TensorProto_DataLocation_EXTERNAL)
            return error_path(p, "EXT-04", "the data is said to be in another file, but %s has some", field_name[i]);
        if (used >= 0)
            return error_path(p, "ENC-01", "both %s and %s have data", field_name[used], field_name[i]);
        used = i;
    }
    if (location == onnx_TensorProto_DataLocation_EXTERNAL)
        return take_external(m, proto, t, count, p);
    if (used < 0) {
        if (count)
            error_path(p, "ENC-01", "%s%s has no data", type_onnx(t->type), shape_text(tensor_shape(t)));
        t->data = "";
        return !count;
    }
    if (used == RAW)
        return take_raw(w[RAW]->s, t, count, p);
    if (!count)
        return error_path(p, "ENC-05", "%s%s has no elements, but %s has data", type_onnx(t->type),
                          shape_text(tensor_shape(t)), field_name[used]);
    if (used != (int)field_of[t->type])
        return error_path(p, "ENC-02", "%s values belong in %s (or raw_data), not in %s", type_onnx(t->type),
                          field_name[field_of[t->type]], field_name[used]);
    if (used == STRINGS)
        return take_strings(w[used], t, count, p);
    return used == FLOATS
    || used == DOUBLES ? take_floats(w[used], (DataField)used, t, count, p)
                       : take_ints(w[used], (DataField)used, t, count, p);
}

Tensor *read_tensor(Model *m, Span s, const Path *p, Name *tensor_name)
{
    onnx_TensorProto proto = {0};
    if (!wire_read(onnx_TensorProto_fields, s, &proto, p))
        return NULL;
    Tensor *t = NEW(Tensor);
    Path q = *p;
    int64_t count, type = (int32_t)wire_int(&proto.data_type);
    if (tensor_name)
        *tensor_name = wire_name(&proto.name);
    if (wire_has(&proto.name) && proto.name.s.n)
        q.name = wire_name(&proto.name);
    if (wire_has(&proto.segment))
        return error_null(path_text(&q), "ENC-13", "tensors in segments are not supported");
    if (type <= NO_TYPE || type >= N_TYPES)
        return error_null(path_text(&q), type ? "DTY-27" : "DTY-00", "data_type %lld is not an element type",
                          (long long)type);
    t->type = (Type)type;
    if (type_first_version(t->type) > m->ir_version)
        warn_strict(path_text(&q), "VER-07", "%s needs IR version %d, the model has %lld", type_onnx(t->type),
                    type_first_version(t->type), (long long)m->ir_version);
    if (!read_dims(&proto.dims, t, &count, &q) || !take_data(m, &proto, t, count, &q))
        return NULL;
    pool_allow(FOLDED_TIMES * type_bytes(t->type, count));
    if (t->type == B8 && count)
        normalise_bools(t, count, &q);
    wire_free(&proto.dims);
    wire_free(&proto.data_type);
    return t;
}

/* ---- sparse tensors ---------------------------------------------------------------------------------------------- */

/* The linear index of entry e, which the file has as such or as coordinates; -1: outside. */
static int64_t sparse_index(const Tensor *dense, const Tensor *index, int64_t e)
{
    const char *x = index->data;
    int64_t at = 0, v;
    if (index->rank == 1) {
        int64_t count;
        count_elements(dense->rank, dense->dim, &count);
        memcpy(&v, x + 8 * e, 8);
        return v >= 0 && v < count ? v : -1;
    }
    for (int k = 0; k < dense->rank; k++) {
        memcpy(&v, x + 8 * (e * dense->rank + k), 8);
        if (v < 0 || v >= dense->dim[k])
            return -1;
        at = at * dense->dim[k] + v;
    }
    return at;
}

/* Scatters the values to their indices. */
static bool fill_dense(Tensor *t, const Tensor *values, const Tensor *index, int64_t nnz, const Path *p)
{
    int bits = type_bits(t->type);
    int64_t last = -1;
    for (int64_t e = 0; e < nnz; e++) {
        int64_t at = sparse_index(t, index, e);
        if (at < 0)
            return error_path(p, "SPA-06", "index %lld is outside the shape %s", (long long)e,
                              shape_text(tensor_shape(t)));
        if (at <= last)
            return error_path(p, "SPA-05", "index %lld is not above the one before", (long long)e);
        last = at;
        const uint8_t *from = values->data;
        uint8_t *to = (uint8_t *)(uintptr_t)t->data;
        if (bits >= 8)
            memcpy(to + at * (bits / 8), from + e * (bits / 8), (size_t)bits / 8);
        else
            for (int k = 0; k < bits; k++)
                put_bits(to, at * bits + k, 1, from[(e * bits + k) / 8] >> ((e * bits + k) % 8) & 1);
    }
    return true;
}

static bool check_sparse(const Tensor *t, const Tensor *values, const Tensor *index, const Path *p)
{
    if (values->rank != 1)
        return error_path(p, "SPA-07", "the values must have one dimension, not %d", values->rank);
    int64_t nnz = values->dim[0];
    if (!index && nnz)
        error_path(p, "SPA-02", "the indices are missing");
    else if (index && index->type != I64)
        error_path(p, "SPA-07", "the indices must be int64, not %s", type_onnx(index->type));
    else if (index && nnz && index->rank != 1 && index->rank != 2)
        error_path(p, "SPA-15", "the indices have %d dimensions instead of 1 or 2", index->rank);
    else if (index && nnz && (index->dim[0] != nnz || (index->rank == 2 && index->dim[1] != t->rank)))
        error_path(p, index->rank == 2 ? "SPA-04" : "SPA-03",
                   "the indices have the shape %s; %lld values of shape %s need %s", shape_text(tensor_shape(index)),
                   (long long)nnz, shape_text(tensor_shape(t)), index->rank == 2 ? "[values,rank]" : "[values]");
    else
        return true;
    return false;
}

Tensor *read_sparse(Model *m, Span s, const Path *p, Name *tensor_name)
{
    onnx_SparseTensorProto proto = {0};
    if (!wire_read(onnx_SparseTensorProto_fields, s, &proto, p))
        return NULL;
    Tensor *t = NEW(Tensor);
    int64_t count, nnz;
    if (!wire_has(&proto.values) || !proto.dims.s.n)
        return error_null(path_text(p), "SPA-02", "a sparse tensor needs %s",
                          wire_has(&proto.values) ? "dims of rank 1 or more" : "values");
    Tensor *values = read_tensor(m, proto.values.s, AT(p, "values", -1), tensor_name), *index = NULL;
    if (wire_has(&proto.indices) && !(index = read_tensor(m, proto.indices.s, AT(p, "indices", -1), NULL)))
        return NULL;
    if (!values || !read_dims(&proto.dims, t, &count, p) || !check_sparse(t, values, index, p))
        return NULL;
    nnz = values->dim[0];
    t->type = values->type;
    static const uint8_t zero[16];
    if (!nnz && t->type != STR) { /* a splat, so any size is allowed */
        t->data = count ? zero : (const void *)"";
        t->splat = count > 1 && type_bits(t->type) >= 8;
        if (t->splat || !count || type_bytes(t->type, count) <= sizeof zero)
            return t;
    }
    size_t bytes = t->type == STR ? (size_t)count : type_bytes(t->type, count);
    if (bytes > MAX_DENSE_BYTES || (t->type == STR && bytes > MAX_DENSE_BYTES / sizeof(Name)))
        return error_path(p, "SPA-06", "made dense, a sparse tensor of shape %s has %zu %s; onnxcc allows %d bytes",
                          shape_text(tensor_shape(t)), bytes, t->type == STR ? "strings" : "bytes", MAX_DENSE_BYTES),
               NULL;
    t->data = pool_alloc(ELEMENTS_ROOM(type_bytes(t->type, count)));
    return fill_dense(t, values, index, nnz, p) ? t : NULL;
}
