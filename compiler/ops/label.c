/* label.c - LabelEncoder, CategoryMapper, ZipMap, TfIdfVectorizer: lookups in lists of the model. */
#include <stdlib.h>

#include "ir/call.h"
#include "passes/container.h"
#include "passes/infer.h"
#include "lookup.h"
#include "tfidf.h"

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static Tensor *list_of_strings(int n, const Name *s)
{
    Tensor *t = tensor_new(STR, 1, (int64_t[]){n});
    for (int i = 0; i < n; i++)
        tensor_set_str(t, i, s[i]);
    return t;
}

/* The attribute STEM_tensor, STEM_strings, STEM_int64s or STEM_floats, as a list; NULL: none of them is given. */
static Tensor *list_attr(const Node *n, const char *stem)
{
    const Attr *a = node_attr(n, name_format("%s_tensor", stem)->s);
    if (a)
        return a->t;
    if ((a = node_attr(n, name_format("%s_strings", stem)->s)) != NULL)
        return list_of_strings(a->n, a->strings);
    if ((a = node_attr(n, name_format("%s_int64s", stem)->s)) != NULL)
        return tensor_ints(a->n, a->ints);
    if ((a = node_attr(n, name_format("%s_floats", stem)->s)) != NULL) {
        Tensor *t = tensor_new(F32, 1, (int64_t[]){a->n});
        memcpy((void *)(uintptr_t)t->data, a->floats, tensor_size(t));
        return t;
    }
    return NULL;
}

static int compare_strings(const str *a, const str *b)
{
    int c = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    return c ? c : a->length < b->length ? -1 : a->length > b->length;
}

/* Element i of t against element k; NaN comes last. */
static int compare_elements(const Tensor *t, int64_t i, int64_t k)
{
    if (t->type == STR) {
        const str *all = tensor_data(t);
        return compare_strings(&all[i], &all[k]);
    }
    if (!type_is_float(t->type)) {
        int64_t a = tensor_get_int(t, i), b = tensor_get_int(t, k);
        return a < b ? -1 : a > b;
    }
    double a = tensor_get(t, i), b = tensor_get(t, k);
    return a != a ? b == b : b != b ? -1 : a < b ? -1 : a > b;
}

static int by_element(const void *a, const void *b, void *t)
{
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    int c = compare_elements(t, i, k);
    return c ? c : i < k ? -1 : 1;
}

/* The indices of t's distinct elements in ascending order, of equal ones the first; *n: their number. */
static int64_t *order(const Tensor *t, int64_t *n)
{
    int64_t *at = NEWS(int64_t, tensor_count(t) + 1), all = tensor_count(t);
    for (int64_t i = 0; i < all; i++)
        at[i] = i;
    qsort_r(at, (size_t)all, sizeof *at, by_element, (void *)(uintptr_t)t);
    *n = 0;
    for (int64_t i = 0; i < all; i++)
        if (!*n || compare_elements(t, at[*n - 1], at[i]))
            at[(*n)++] = at[i];
    return at;
}

/* The rank of element i of t among its k distinct elements. */
static int64_t place_of(const Tensor *t, const int64_t *at, int64_t k, int64_t i)
{
    int64_t low = 0, high = k;
    while (low < high) {
        int64_t mid = (low + high) / 2;
        if (compare_elements(t, at[mid], i) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Elements at[0..n) of t, then the first of `more`, if given. */
static Tensor *chosen(const Tensor *t, const int64_t *at, int64_t n, const Tensor *more)
{
    Tensor *y = tensor_new(t->type, 1, (int64_t[]){n + (more != NULL)});
    size_t size = (size_t)type_bits(t->type) / 8;
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)(uintptr_t)y->data + (size_t)i * size, (const char *)tensor_data(t) + (size_t)at[i] * size,
               size);
    if (more)
        memcpy((char *)(uintptr_t)y->data + (size_t)n * size, tensor_data(more), size);
    return y;
}

/* The index of each element of x in the ascending keys; their number if it is not there. */
static Value *places(Node *n, Value *x, Tensor *keys)
{
    return make(n, "onnxcc.Lookup", 2, x, value_const(n->graph, keys));
}

static void lookup_infer(Node *n) { set_out(n, 0, I64, in_shape(n, 0)); }

static void lookup_bind(Node *n)
{
    BIND(n, lookup, .count = shape_count(in_shape(n, 0)), .keys = shape_count(in_shape(n, 1)));
}

/* ---- LabelEncoder, CategoryMapper, maps -------------------------------------------------------------------------- */

/* y: the value for the key x, or the default. */
static void map_values(Node *n, const Tensor *keys, const Tensor *values, const Tensor *otherwise)
{
    if (tensor_count(keys) != tensor_count(values)) {
        node_error(n, "there are %lld keys, but %lld values", (long long)tensor_count(keys),
                   (long long)tensor_count(values));
        return;
    }
    if (keys->type != in_type(n, 0) || values->type != otherwise->type) {
        error_node(n, "NOD-10", "the input is %s, the keys %s, the values %s and their default %s",
                   type_onnx(in_type(n, 0)), type_onnx(keys->type), type_onnx(values->type),
                   type_onnx(otherwise->type));
        return;
    }
    int64_t k, *at = order(keys, &k);
    Value *place = places(n, in(n, 0), chosen(keys, at, k, NULL));
    expand_to(n, make(n, "Gather", 2, value_const(n->graph, chosen(values, at, k, otherwise)), place));
}

/* The default for type t: default_int64 and so on. */
static Tensor *default_of(Node *n, Type t)
{
    const Attr *a = node_attr(n, "default_tensor");
    if (a)
        return a->t;
    if (t == STR) {
        const char *s = attr_string(n, "default_string");
        return list_of_strings(1, (Name[]){name(s)});
    }
    return t == I64 || type_is_int(t) ? tensor_int(t, attr_int(n, "default_int64"))
                                      : tensor_float(t, attr_float(n, "default_float"));
}

static void label_encoder(Node *n)
{
    Tensor *keys = list_attr(n, "keys"), *values = list_attr(n, "values");
    if (!keys || !values)
        node_error(n, "no attribute has the %s", keys ? "values" : "keys");
    else
        map_values(n, keys, values, default_of(n, values->type));
}

/* Maps strings to numbers or, by the input's type, numbers to strings. */
static void map_either_way(Node *n, Tensor *strings, Tensor *numbers)
{
    if (in_type(n, 0) == STR)
        map_values(n, strings, numbers, tensor_int(I64, attr_int(n, "default_int64")));
    else
        map_values(n, numbers, strings, default_of(n, STR));
}

static void label_encoder_1(Node *n)
{
    const Name *s;
    int k = attr_strings(n, "classes_strings", &s);
    int64_t *number = NEWS(int64_t, k < 0 ? 1 : k + 1);
    for (int i = 0; i < k; i++)
        number[i] = i;
    map_either_way(n, list_of_strings(k < 0 ? 0 : k, s), tensor_ints(k < 0 ? 0 : k, number));
}

static void category_mapper(Node *n)
{
    const Attr *s = node_attr(n, "cats_strings"), *i = node_attr(n, "cats_int64s");
    map_either_way(n, list_of_strings(s ? s->n : 0, s ? s->strings : NULL),
                   tensor_ints(i ? i->n : 0, i ? i->ints : (const int64_t[]){0}));
}

/* Maps with the class labels as keys and rows of the input as values. */
static void zip_map(Node *n)
{
    Tensor *keys = list_attr(n, "classlabels");
    Value *x = in(n, 0);
    Shape s = *x->shape;
    if (s.rank < 1 || s.rank > 2 || !keys || dim_is(dim_eq_expr(s.dim[s.rank - 1], D(tensor_count(keys))), 0)) {
        node_error(n, "the input is %s: its last of one or two dimensions must be the number of class labels, %lld",
                   shape_text(s), (long long)(keys ? tensor_count(keys) : 0));
        return;
    }
    assume_dim(n, s.dim[s.rank - 1], D(tensor_count(keys)));
    if (s.rank == 1)
        x = inferred(make(n, "Unsqueeze", 2, x, make_ints(n, 1, &(int64_t){0})));
    value_replace(out(n, 0), map_new(n->graph, x, value_const(n->graph, keys)));
    expand_done(n);
}

/* The components of input 0, a map; NULL: not of the kinds that the operator takes ("string:float int64:string"),
 * reported. */
static const Components *map_components(Node *n, const char *kinds)
{
    const Components *p = in(n, 0)->components;
    const char *kind = name_format("%s:%s", type_onnx(p->item.at[1]->type), type_onnx(p->ctype.type))->s;
    if (p->item.at[0]->shape->rank != 1)
        error_node(n, "NOD-10", "the input is a sequence of maps, not one map");
    else if (!strstr(name_format(" %s ", kinds)->s, name_format(" %s ", kind)->s))
        error_node(n, "NOD-10", "the input is a map of %s; %s takes %s", kind, n->op->name, kinds);
    else
        return p;
    return NULL;
}

/* The values of a map, in the order of a vocabulary; 0 or "" for missing keys. The result has one dimension, as
 * specified, but two if the model declares so, as converters do and ONNX Runtime computes. */
static void dict_vectorizer(Node *n)
{
    const Attr *s = node_attr(n, "string_vocabulary"), *i = node_attr(n, "int64_vocabulary");
    const Components *p =
        map_components(n, "string:int64 int64:string int64:float int64:double string:float string:double");
    if (!p)
        return;
    Value *values = p->item.at[0], *keys = p->item.at[1];
    const Attr *a = keys->type == STR ? s : i;
    if (!a || !a->n) {
        node_error(n, "the keys are of type %s, but there is no %s", type_onnx(keys->type),
                   keys->type == STR ? "string_vocabulary" : "int64_vocabulary");
        return;
    }
    Tensor *words = keys->type == STR ? list_of_strings(a->n, a->strings) : tensor_ints(a->n, a->ints);
    int64_t k, *at = order(words, &k);
    Tensor *none = tensor_new(values->type, 1, (int64_t[]){k + 1}), *place;
    const TypeDesc *declared = n->out[0]->desc;
    bool row = declared && declared->shape.rank == 2;
    place = row ? tensor_new(I64, 2, (int64_t[]){1, a->n}) : tensor_new(I64, 1, (int64_t[]){a->n});
    for (int w = 0; w < a->n; w++)
        ((int64_t *)(uintptr_t)place->data)[w] = place_of(words, at, k, w);
    Value *y =
        make(n, "ScatterElements", 3, value_const(n->graph, none), places(n, keys, chosen(words, at, k, NULL)), values);
    expand_to(n, make(n, "Gather", 2, y, value_const(n->graph, place)));
}

/* The values of a map in the order of their keys. */
static Value *by_key(Node *n, Value *values, Value *keys)
{
    Node *m = make_node(n, "TopK", 2, (Value *[]){keys, make(n, "Shape", 1, keys)}, 2);
    attr_set_int(m, "largest", 0);
    return make(n, "Gather", 2, values, m->out[1]);
}

/* The values of a map, each at the index given by its key; 0 elsewhere. */
static Value *at_key(Node *n, Value *values, Value *keys, Type t)
{
    int64_t max = attr_int(n, "max_map");
    if (max < 1) {
        node_error(n, "max_map is %lld, and must be 1 or more", (long long)max);
        return NULL;
    }
    Tensor *none = t == STR ? list_of_strings(1, (Name[]){name("0.f")}) : tensor_new(t, 1, (int64_t[]){1});
    Value *y = make(n, "Expand", 2, value_const(n->graph, none), make_ints(n, 1, &max));
    Value *below = make(n, "Less", 2, keys, make_int(n, 0)); /* negative keys are no indices */
    return make(n, "ScatterElements", 3, y, make(n, "Where", 3, below, make_int(n, max), keys), values);
}

static void cast_map(Node *n)
{
    static const char *const casts[] = {"TO_FLOAT", "TO_STRING", "TO_INT64", NULL}, *const forms[] = {"DENSE", "SPARSE",
                                                                                                      NULL};
    static const Type types[] = {F32, STR, I64};
    const Components *p = map_components(n, "int64:string int64:float");
    const int cast = attr_choice(n, "cast_to", casts), form = attr_choice(n, "map_form", forms);
    if (!p || cast < 0 || form < 0)
        return;
    const Type t = types[cast];
    Value *values = make_cast(n, p->item.at[0], t), *keys = p->item.at[1];
    Value *y = form == 0 ? by_key(n, values, keys) : at_key(n, values, keys, t);
    if (!y)
        return;
    expand_to(n, make(n, "Unsqueeze", 2, y, make_ints(n, 1, (int64_t[]){0})));
}

/* ---- TfIdfVectorizer --------------------------------------------------------------------------------------------- */

typedef struct Grams {
    const int64_t *item; /* tokens of one length's n-grams */
    int64_t n;
} Grams;

static int by_gram(const void *a, const void *b, void *grams)
{
    const Grams *const g = grams;
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    for (int64_t j = 0; j < g->n; j++) {
        int64_t x = g->item[i * g->n + j], y = g->item[k * g->n + j];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return i < k ? -1 : 1;
}

/* The pool with sorted n-grams of each length, and their columns; *table: per length, the start, the number before, the
 * count. */
static bool sort_pool(Node *n, const int64_t *pool, int64_t size, Tensor **gram, Tensor **column, Tensor **table)
{
    const int64_t *counts, *indexes;
    int lengths = attr_ints(n, "ngram_counts", &counts), grams = attr_ints(n, "ngram_indexes", &indexes);
    int64_t at = 0;
    *gram = tensor_new(I64, 1, &size);
    *column = tensor_new(I64, 1, (int64_t[]){grams});
    *table = tensor_new(I64, 1, (int64_t[]){3 * lengths});
    int64_t *g = (int64_t *)(uintptr_t)(*gram)->data, *c = (int64_t *)(uintptr_t)(*column)->data,
            *t = (int64_t *)(uintptr_t)(*table)->data;
    for (int k = 0; k < lengths; k++, t += 3) {
        int64_t start = counts[k], end = k + 1 < lengths ? counts[k + 1] : size, len = k + 1;
        if (start < 0 || end < start || end > size || (end - start) % len || at + (end - start) / len > grams)
            return node_error(n, "ngram_counts do not fit a pool of %lld items and %d indexes", (long long)size, grams);
        int64_t many = (end - start) / len, *place = NEWS(int64_t, many + 1);
        for (int64_t i = 0; i < many; i++)
            place[i] = i;
        qsort_r(place, (size_t)many, sizeof *place, by_gram, &(Grams){pool + start, len});
        for (int64_t i = 0; i < many; i++) {
            memcpy(g + start + i * len, pool + start + place[i] * len, sizeof *g * (size_t)len);
            c[at + i] = indexes[at + place[i]];
        }
        t[0] = start;
        t[1] = at;
        t[2] = many;
        at += many;
    }
    return true;
}

static void tfidf_expand(Node *n)
{
    static const char *const modes[] = {"TF", "IDF", "TFIDF", NULL};
    const Attr *strings = node_attr(n, "pool_strings"), *numbers = node_attr(n, "pool_int64s");
    const int64_t *indexes;
    const float *weights;
    int mode = attr_choice(n, "mode", modes), grams = attr_ints(n, "ngram_indexes", &indexes),
        weighted = attr_floats(n, "weights", &weights);
    Value *x = in(n, 0);
    if (mode < 0)
        return;
    if (x->shape->rank < 1 || x->shape->rank > 2 || !(x->type == STR ? strings : numbers)) {
        node_error(n, "the input is %s %s, which needs %s", type_onnx(x->type), shape_text(*x->shape),
                   x->shape->rank < 1 || x->shape->rank > 2 ? "one dimension or two"
                   : x->type == STR                         ? "pool_strings"
                                                            : "pool_int64s");
        return;
    }
    const int64_t *pool = x->type == STR ? NULL : numbers->ints;
    int64_t size = x->type == STR ? strings->n : numbers->n, columns = 0;
    if (x->type == STR) { /* tokens become numbers: their ranks among the pool's */
        Tensor *all = list_of_strings(strings->n, strings->strings);
        int64_t k, *at = order(all, &k), *number = NEWS(int64_t, size + 1);
        for (int64_t i = 0; i < size; i++)
            number[i] = place_of(all, at, k, i);
        x = places(n, x, chosen(all, at, k, NULL));
        pool = number;
    }
    for (int i = 0; i < grams; i++) {
        if (indexes[i] < 0 || indexes[i] > INT32_MAX) {
            node_error(n, "ngram_indexes has %lld, outside of 0 to %d", (long long)indexes[i], INT32_MAX);
            return;
        }
        columns = indexes[i] >= columns ? indexes[i] + 1 : columns;
    }
    Tensor *gram, *column, *table, *weight = tensor_new(F32, 1, &columns);
    int64_t low = attr_int(n, "min_gram_length"), high = attr_int(n, "max_gram_length"),
            skips = attr_int(n, "max_skip_count");
    if (low < 1 || low > high || skips < 0) {
        node_error(n,
                   "min_gram_length = %lld, max_gram_length = %lld, max_skip_count = %lld: there are no such n-grams",
                   (long long)low, (long long)high, (long long)skips);
        return;
    }
    if (!sort_pool(n, pool, size, &gram, &column, &table))
        return;
    for (int64_t i = 0; i < columns; i++)
        ((float *)(uintptr_t)weight->data)[i] = i < weighted ? weights[i] : 1;
    Graph *g = n->graph;
    Value *y = make(n, "onnxcc.Grams", 5, x, value_const(g, gram), value_const(g, column), value_const(g, table),
                    value_const(g, weight));
    const int64_t lengths = table->dim[0] / 3; /* the pool has no longer ones */
    attr_set_ints(y->def, "how", 4,
                  (int64_t[]){low <= lengths ? low : lengths + 1, high < lengths ? high : lengths, skips, mode});
    expand_to(n, y);
}

static void grams_infer(Node *n)
{
    Shape y = in_shape(n, 0);
    y.dim[y.rank - 1] = in_shape(n, 4).dim[0];
    set_out(n, 0, F32, y);
}

static void grams_bind(Node *n)
{
    const int64_t *how;
    attr_ints(n, "how", &how);
    Shape x = in_shape(n, 0);
    Dim tokens = x.dim[x.rank - 1];
    BIND(n, tfidf, .rows = x.rank > 1 ? x.dim[0] : D(1), .tokens = tokens, .columns = in_shape(n, 4).dim[0],
         .shortest = D(how[0]), .longest = D(how[1]), .skips = dim_min(D(how[2]), tokens), .mode = D(how[3]));
}

#define DEFAULTS "default_float:float=-0 default_int64:int=-1 default_string:string=_Unused"
#define LISTS                                                                                                          \
    " keys_floats:floats? keys_int64s:ints? keys_strings:strings? values_floats:floats? values_int64s:ints? "          \
    "values_strings:strings?"
#define TYPES_4 "string|int64|float|int32|int16|double"

static const Op label_ops[] = {
    {"LabelEncoder", 4, "X:T1 -> Y:T2", "T1=" TYPES_4 " T2=" TYPES_4,
     DEFAULTS LISTS " default_tensor:tensor? keys_tensor:tensor? values_tensor:tensor?", .expand = label_encoder,
     .domain = "ai.onnx.ml"},
    {"LabelEncoder", 2, "X:T1 -> Y:T2", "T1=string|int64|float T2=string|int64|float", DEFAULTS LISTS,
     .expand = label_encoder, .domain = "ai.onnx.ml"},
    {"LabelEncoder", 1, "X:T1 -> Y:T2", "T1=string|int64 T2=string|int64",
     "classes_strings:strings? default_int64:int=-1 default_string:string=_Unused", .expand = label_encoder_1,
     .domain = "ai.onnx.ml"},
    {"CategoryMapper", 1, "X:T1 -> Y:T2", "T1=string|int64 T2=string|int64",
     "cats_int64s:ints? cats_strings:strings? default_int64:int=-1 default_string:string=_Unused",
     .expand = category_mapper, .domain = "ai.onnx.ml"},
    {"ZipMap", 1, "X:float -> Z:T", "T=seq", "classlabels_int64s:ints? classlabels_strings:strings?", .expand = zip_map,
     .domain = "ai.onnx.ml"},
    {"DictVectorizer", 1, "X:T1 -> Y:T2", "T1=map T2=int64|float|double|string",
     "int64_vocabulary:ints? string_vocabulary:strings?", .expand = dict_vectorizer, .domain = "ai.onnx.ml"},
    {"CastMap", 1, "X:T1 -> Y:T2", "T1=map T2=string|float|int64",
     "cast_to:string=TO_FLOAT map_form:string=DENSE max_map:int=1", .expand = cast_map, .domain = "ai.onnx.ml"},
    {"TfIdfVectorizer", 9, "X:T -> Y:T1", "T=string|int32|int64 T1=float",
     "max_gram_length:int max_skip_count:int min_gram_length:int mode:string ngram_counts:ints ngram_indexes:ints "
     "pool_int64s:ints? pool_strings:strings? weights:floats?",
     .expand = tfidf_expand},
    {"Lookup", 1, "x:T keys:T -> y:int64", "T=ALL14", "", .infer = lookup_infer, .bind = lookup_bind,
     .domain = "onnxcc"},
    {"Grams", 1, "x:int64|int32 gram:int64 column:int64 table:int64 weight:float -> y:float", NULL, "how:ints",
     .infer = grams_infer, .bind = grams_bind, .domain = "onnxcc"},
};
OPS(label_ops);
