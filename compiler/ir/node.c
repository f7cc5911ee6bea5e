/* node.c - access to nodes for operators: attributes with defaults, inputs that determine sizes, outputs; expansion. */
#include <stdlib.h>

#include "ir/assume.h"
#include "ir/schema.h"

Shape in_shape(const Node *n, int i) { return in(n, i) ? *in(n, i)->shape : (Shape){.rank = -1}; }
Type in_type(const Node *n, int i) { return in(n, i) ? in(n, i)->type : NO_TYPE; }

/* ---- attributes ------------------------------------------------------------------------------------------ */

static Attr *read_default(const Op *op, const FormalAttr *f)
{
    Attr *d = NEW(Attr);
    d->name = f->name;
    d->type = f->type;
    if (f->type == A_INT)
        d->i = strtoll(f->value->s, NULL, 10);
    else if (f->type == A_FLOAT)
        d->f = strtof(f->value->s, NULL);
    else if (f->type == A_STRING)
        d->s = f->value;
    else if (f->type == A_INTS || f->type == A_FLOATS) { /* "1,2" */
        int64_t *v = NEWS(int64_t, f->value->n);
        float *w = NEWS(float, f->value->n);
        for (const char *s = f->value->s; *s;) {
            char *end;
            w[d->n] = strtof(s, &end);
            v[d->n++] = (int64_t)strtod(s, NULL);
            s = end + (*end == ',');
        }
        if (f->type == A_INTS)
            d->ints = v;
        else
            d->floats = w;
    } else
        bug("default of %s.%s", op->name, d->name->s);
    return d;
}

PART(Map, defaults) /* FormalAttr -> Attr */

/* The attribute as given, or the schema's default, which is parsed once; NULL: absent. */
static const Attr *attr_or_default(const Node *n, const char *attr)
{
    const Attr *a = node_attr(n, attr);
    if (a)
        return a;
    const FormalAttr *f = formal_attr(op_signature(n->op), attr);
    if (!f)
        bug("%s has no attribute %s", n->op->name, attr);
    if (!f->value)
        return NULL;
    Attr *d = map_get(defaults(), f);
    if (!d)
        map_put(defaults(), f, d = read_default(n->op, f));
    return d;
}

int64_t attr_int(const Node *n, const char *attr)
{
    const Attr *a = attr_or_default(n, attr);
    return a ? a->i : 0;
}

double attr_float(const Node *n, const char *attr)
{
    const Attr *a = attr_or_default(n, attr);
    return a ? (double)a->f : 0;
}

const char *attr_string(const Node *n, const char *attr)
{
    const Attr *a = attr_or_default(n, attr);
    return a && a->s ? a->s->s : "";
}

int attr_ints(const Node *n, const char *attr, const int64_t **v)
{
    const Attr *a = attr_or_default(n, attr);
    *v = a ? a->ints : NULL;
    return a ? a->n : -1;
}

int attr_floats(const Node *n, const char *attr, const float **v)
{
    const Attr *a = attr_or_default(n, attr);
    *v = a ? a->floats : NULL;
    return a ? a->n : -1;
}

int attr_strings(const Node *n, const char *attr, const Name **v)
{
    const Attr *a = attr_or_default(n, attr);
    *v = a ? a->strings : NULL;
    return a ? a->n : -1;
}

bool attr_is(const Node *n, const char *attr, const char *value) { return !strcmp(attr_string(n, attr), value); }

int attr_choice(Node *n, const char *attr, const char *const *choices)
{
    Text t = {0};
    for (int i = 0; choices[i]; i++) {
        if (attr_is(n, attr, choices[i]))
            return i;
        text_put(&t, "%s%s", i ? ", " : "", choices[i]);
    }
    node_error(n, "%s '%s' is none of %s", attr, printable(name(attr_string(n, attr))), t.s);
    return -1;
}

bool attr_is_given(const Node *n, const char *attr) { return node_attr(n, attr) != NULL; }

Type attr_type(Node *n, const char *attr, int64_t t)
{
    if (t <= 0 || t >= N_TYPES)
        node_error(n, "%s = %lld is no element type", attr, (long long)t);
    else if (op_signature(n->op)->out[0].set >> t & 1)
        return (Type)t;
    else
        node_error(n, "%s = %s is not possible", attr, type_onnx((Type)t));
    return NO_TYPE;
}

/* The type that an operator computes in; NO_TYPE: it is no floating one, which is reported. */
Type attr_precision(Node *n, const char *attr)
{
    int64_t t = attr_int(n, attr);
    if (t == F32 || t == F64 || t == F16 || t == BF16)
        return (Type)t;
    node_error(n, "%s %lld is no floating type", attr, (long long)t);
    return NO_TYPE;
}

int axis_of(Node *n, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank) {
        if (rank || axis < -1 || axis > 0) /* many exporters give a scalar an axis 0 */
            error_node(n, "ATT-13", "axis %lld is outside [%d, %d]", (long long)axis, -rank, rank - 1);
        return 0;
    }
    return (int)(axis < 0 ? axis + rank : axis);
}

bool mark_axis(Node *n, int64_t axis, int rank, bool *marked)
{
    const int a = axis_of(n, axis, rank);
    if (axis < -rank || axis >= rank)
        return !rank && (axis == 0 || axis == -1);
    if (marked[a])
        return node_error(n, "axis %d is listed twice", a);
    return marked[a] = true;
}

bool require_rank(Node *n, int rank)
{
    if (rank > MAX_RANK)
        node_error(n, "the output has more than %d dimensions", MAX_RANK);
    return rank <= MAX_RANK;
}

int attr_axis(Node *n, const char *attr, int rank) { return axis_of(n, attr_int(n, attr), rank); }

/* ---- inputs that determine sizes --------------------------------------------------------------------------------- */

bool in_is_const(const Node *n, int i) { return in(n, i) && in(n, i)->data && !in(n, i)->data->symbolic; }

double in_float(const Node *n, int i, double otherwise)
{
    return in_is_const(n, i) && tensor_count(in(n, i)->data) > 0 ? tensor_get(in(n, i)->data, 0) : otherwise;
}

/* The symbol for element `e` of a tensor that is known only at run time; every call returns the same. */
static Dim element_symbol(Value *v, int e)
{
    for (Symbol *s = symbols_of(v); s; s = s->next)
        if (s->origin.index == e)
            return dim_symbol(s);
    const Name by = v->name || !v->def ? v->name : v->def->name;
    const char *of = by && by->n ? by->s : "value";
    Symbol *s = symbol_fresh(v->shape->rank ? text_format("%s[%d]", of, e) : of, v->type == B8 ? 0 : INT64_MIN,
                             v->type == B8 ? 1 : INT64_MAX);
    symbol_read_from(s, v, e);
    return dim_symbol(s);
}

Dim value_dim(Value *v, int e)
{
    if (v->data && v->data->symbolic)
        return ((const Dim *)v->data->data)[e];
    return v->data ? D(tensor_get_int(v->data, e)) : element_symbol(v, e);
}

/* ---- outputs ----------------------------------------------------------------------------------------------- */

void set_out(Node *n, int i, Type t, Shape s)
{
    Value *v = out(n, i);
    if (!v)
        return;
    v->type = t;
    v->shape = shape_keep(s);
    v->form = TENSOR;
}

void infer_same(Node *n) { set_out(n, 0, in_type(n, 0), in_shape(n, 0)); }

static bool broadcast_all(Node *n, Shape *s)
{
    *s = in_shape(n, 0);
    for (int i = 1; i < n->n_in; i++) {
        Shape a = *s;
        if (n->in[i] && !shape_broadcast(a, *n->in[i]->shape, s))
            return error_node(n, "INF-06", "inputs %s and %s do not broadcast", shape_text(a),
                              shape_text(*n->in[i]->shape));
        if (n->in[i])
            assume_broadcast(n, a, *n->in[i]->shape);
    }
    return true;
}

void infer_broadcast(Node *n)
{
    Shape s;
    if (broadcast_all(n, &s))
        set_out(n, 0, in_type(n, 0), s);
}

void infer_compare(Node *n)
{
    Shape s;
    if (broadcast_all(n, &s))
        set_out(n, 0, B8, s);
}

/* ---- new nodes of an expansion ----------------------------------------------------------------------------------- */

Node *make_node(Node *n, const char *op, int n_in, Value **in, int n_out)
{
    while (n_in && !in[n_in - 1])
        n_in--;
    Node *m = node_new(n->graph, op, n_in, in, n_out);
    m->name = n->name;
    m->source = n->source;
    node_insert(m, n);
    return m;
}

Value *make_list(Node *n, const char *op, int n_in, Value **in) { return make_node(n, op, n_in, in, 1)->out[0]; }

Value *make_ints(Node *n, int k, const int64_t *v) { return value_const(n->graph, tensor_ints(k, v)); }
Value *make_dims(Node *n, int k, const Dim *v) { return value_const(n->graph, tensor_dims(k, v)); }
Value *make_int(Node *n, int64_t v) { return value_const(n->graph, tensor_int(I64, v)); }

Value *make_scalar(Node *n, Type t, double v)
{
    return value_const(n->graph, type_is_float(t) ? tensor_float(t, v) : tensor_int(t, (int64_t)v));
}

void replace_out(Node *n, int i, Value *by)
{
    Value *old = out(n, i);
    if (!old)
        return;
    if (by->def && by->graph == old->graph && !by->desc) { /* keep the model's name in messages and in the C */
        by->name = old->name;
        by->desc = old->desc;
    }
    value_replace(old, by);
}

Value *with_int(Value *v, const char *attr, int64_t i)
{
    attr_set_int(v->def, attr, i);
    return v;
}

void expand_to(Node *n, Value *y)
{
    replace_out(n, 0, y);
    expand_done(n);
}

void expand_done(Node *n)
{
    node_remove(n);
    n->expanded = true;
}
