/* custom.c - custom operators (--custom-op): calls of C functions that the user writes. The outputs have the types and
 * shapes that the model declares. */
#include "base/options.h"
#include "ir/kernel.h"

static void report_open_size(Symbol *s, void *arg)
{
    Node *n = arg;
    if (s->origin.kind != ORIGIN_INPUT)
        node_error(n, "the size '%s' of an output is no size of an input", s->user ? printable(s->name) : "?");
}

/* Is v a tensor of a type that a custom function can take? Reports otherwise. */
static bool is_plain(Node *n, const Value *v)
{
    if (v->form == TENSOR && v->type != STR && v->type != C64 && v->type != C128)
        return true;
    return node_error(n, "'%s' is %s: operators of your own are for tensors of numbers", printable(v->name),
                      v->form == TENSOR ? type_onnx(v->type) : "no tensor");
}

/* Can a custom function take the attribute? Reports otherwise. */
static bool is_parameter(Node *n, const Attr *a)
{
    switch (a->type) {
    case A_INT:
    case A_INTS:
    case A_FLOAT:
    case A_FLOATS:
    case A_STRING:
    case A_STRINGS: return true;
    default:
        return node_error(n, "the attribute '%s' is neither numbers nor strings, which operators of your own may have",
                          printable(a->name));
    }
}

static void custom_infer(Node *n)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!is_parameter(n, &n->attr[i]))
            return;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !is_plain(n, n->in[i]))
            return;
    for (int i = 0; i < n->n_out; i++) {
        Value *v = n->out[i];
        if (!v)
            continue;
        if (!v->desc || !v->desc->elem || v->desc->shape.rank < 0) {
            node_error(n, "the model declares no type and shape for '%s'", printable(v->name));
            note_help("the outputs of a custom operator are declared in the graph's value_info");
            return;
        }
        Shape s = v->desc->shape;
        for (int k = 0; k < s.rank; k++) {
            s.dim[k] = dim_resolve(s.dim[k]);
            dim_symbols(s.dim[k], report_open_size, n);
        }
        set_out(n, i, v->desc->elem, s);
        if (!is_plain(n, v))
            return;
    }
}

typedef struct Parameters {
    VEC(Field) fields;
    VEC(Param) values;
} Parameters;

static void add_field(Parameters *p, const char *name, enum FieldType type, int count)
{
    vec_push(&p->fields, ((Field){name, type, count, 0}));
}

static void add_dims(Parameters *p, const char *name, const Value *v)
{
    if (!v || !v->shape->rank)
        return;
    add_field(p, name, FIELD_i64, v->shape->rank);
    for (int k = 0; k < v->shape->rank; k++)
        vec_push(&p->values, (Param){.d = v->shape->dim[k]});
}

static void add_number(Parameters *p, const Attr *a, int i)
{
    bool is_float = a->type == A_FLOAT || a->type == A_FLOATS;
    Param v = is_float ? (Param){.f = (double)(a->type == A_FLOAT ? a->f : a->floats[i])}
                       : (Param){.d = D(a->type == A_INT ? a->i : a->ints[i])};
    vec_push(&p->values, v);
}

/* Adds a parameter for an attribute, with its name, which need not be an identifier. */
static void add_attr(Parameters *p, const Attr *a)
{
    switch (a->type) {
    case A_INT:
    case A_FLOAT: add_field(p, a->name->s, a->type == A_INT ? FIELD_i64 : FIELD_f32, 0); break;
    case A_INTS:
    case A_FLOATS:
        if (a->n)
            add_field(p, a->name->s, a->type == A_INTS ? FIELD_i64 : FIELD_f32, a->n);
        break;
    case A_STRING:
    case A_STRINGS:
        if (a->type == A_STRING || a->n)
            add_field(p, a->name->s, FIELD_text, a->type == A_STRINGS ? a->n : 0);
        for (int i = 0; i < (a->type == A_STRING ? 1 : a->n); i++)
            vec_push(&p->values, (Param){.s = a->type == A_STRING ? a->s : a->strings[i]});
        return;
    default: return; /* custom_infer refuses it */
    }
    for (int i = 0; i < (a->type == A_INT || a->type == A_FLOAT ? 1 : a->n); i++)
        add_number(p, a, i);
}

static void custom_bind(Node *n)
{
    Parameters p = {0};
    Kernel *k =
        NEW_COPY((Kernel){.name = "custom", .t = F32, .n_arg = n->n_in + n->n_out, .n_in = n->n_in, .fallible = true});
    n->call = (Call){.kernel = k, .n_arg = k->n_arg, .arg = NEWS(Value *, k->n_arg)};
    for (int i = 0; i < k->n_arg; i++) {
        n->call.arg[i] = i < n->n_in ? n->in[i] : n->out[i - n->n_in];
        add_dims(&p, name_format(i < n->n_in ? "x%d_dims" : "y%d_dims", i < n->n_in ? i : i - n->n_in)->s,
                 n->call.arg[i]);
    }
    for (int i = 0; i < n->n_attr; i++)
        add_attr(&p, &n->attr[i]);
    vec_push(&p.fields, ((Field){0}));
    n->call.fields = p.fields.at;
    n->call.param = p.values.at;
}

static const Op custom_ops[] = {
    {"Custom", 1, "x**:ALL14|seq|opt|map -> y**:ALL14|seq|opt|map", "", "", .infer = custom_infer, .bind = custom_bind,
     .flags = CUSTOM | NOFOLD | RANDOM | STOPS, .domain = "onnxcc"},
    {"Refused", 1, "x**:ALL14 -> y**:ALL14", "", "", .flags = CUSTOM | REFUSED | NOFOLD, .domain = "onnxcc"},
};
OPS(custom_ops);
