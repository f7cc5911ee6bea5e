/* container.c - internal operators on containers: empty ones, insertion of an element, change of sizes. */
#include "ir/ops.h"
#include "passes/container.h"
#include "passes/infer.h"

/* A value of type t and shape s whose contents are undefined. */
static Value *room(Node *n, Type t, Shape s)
{
    Node *m = make_node(n, "onnxcc.Start", 0, NULL, 1);
    set_out(m, 0, t, s);
    m->out[0]->text = t == STR; /* a minimal bound: no string is there yet */
    return m->out[0];
}

Value *container_placeholder(Node *n, const ContainerType *b)
{
    if (b->form == TENSOR)
        return room(n, b->type, b->shape);
    if (b->open) {
        Value *count = make_int(n, 0), *dims = room(n, I64, sequence_dims(b));
        return sequence_open(n->graph, b, count, dims, room(n, b->type, sequence_data(b)));
    }
    Values item = {0};
    for (int i = 0; i < b->item.n; i++)
        vec_push(&item, container_placeholder(n, b->item.at[i]));
    if (b->form == SEQUENCE)
        return sequence_new(n->graph, b->type, item.n, item.at);
    return optional_new(n->graph, make_scalar(n, B8, 0), item.n ? item.at[0] : NULL);
}

/* The sizes of x, as a row of `width` elements. */
static Value *size_row(Node *n, Value *x, int width)
{
    Value *s = inferred(make(n, "Shape", 1, x));
    int64_t none[MAX_RANK];
    int k = width - x->shape->rank;
    for (int i = 0; i < k; i++)
        none[i] = -1;
    if (k <= 0)
        return s;
    Value *both[] = {s, make_ints(n, k, none)};
    if (!x->shape->rank)
        return both[1];
    Node *m = make_node(n, "Concat", 2, both, 1);
    attr_set_int(m, "axis", 0);
    infer_node(m);
    return m->out[0];
}

/* Copies the slots of x to others of y's sizes and number. If x is the unused result of an Insert, that one gets y's
 * shape instead. */
static Value *fit(Node *n, Value *x, Value *count, Shape y)
{
    if (shape_identical(*x->shape, y))
        return x;
    if (x->def && !x->uses.n && !x->def->known && x->graph == n->graph && !strcmp(x->def->op->name, "Insert")) {
        x->shape = shape_keep(y);
        x->def->known = true; /* once */
        return x;
    }
    Node *m = make_node(n, "onnxcc.Slots", 2, (Value *[]){x, count}, 1);
    set_out(m, 0, x->type, y);
    return m->out[0];
}

/* The rows of sizes of a sequence, as wide as b's. */
static Value *wide_rows(Node *n, Value *dims, const ContainerType *b)
{
    const int64_t pads[4] = {0, 0, 0, sequence_width(b) - dim_value(dims->shape->dim[1])};
    return pads[3] ? inferred(make(n, "Pad", 3, dims, make_ints(n, 4, pads), make_int(n, -1))) : dims;
}

Value *sequence_insert(Node *n, const ContainerType *b, const Value *seq, Value *x, Value *at)
{
    const Components *p = seq->components;
    Value *row = size_row(n, x, sequence_width(b)), *to[2];
    Value *dims = wide_rows(n, p->dims, b);
    for (int i = 0; i < 2; i++) {
        Node *m = make_node(n, "onnxcc.Insert", 4, (Value *[]){i ? p->data : dims, i ? x : row, p->count, at}, 1);
        set_out(m, 0, i ? x->type : I64, i ? sequence_data(b) : sequence_dims(b));
        to[i] = m->out[0];
    }
    return sequence_open(n->graph, b, inferred(make(n, "Add", 2, p->count, make_int(n, 1))), to[0], to[1]);
}

static Value *convert_sequence(Node *n, Value *v, const ContainerType *b)
{
    const Components *p = v->components;
    if (p->ctype.open) {
        Value *dims = fit(n, wide_rows(n, p->dims, b), p->count, sequence_dims(b));
        return sequence_open(n->graph, b, p->count, dims, fit(n, p->data, p->count, sequence_data(b)));
    }
    Value *y = container_placeholder(n, b);
    for (int i = 0; i < p->item.n; i++)
        y = sequence_insert(n, b, y, p->item.at[i], NULL);
    return y;
}

Value *container_convert(Node *n, Value *v, const ContainerType *b)
{
    if (b->form == OPTIONAL) {
        Value *has = v->form == OPTIONAL ? v->components->has : make_scalar(n, B8, 1);
        Value *item = v->form != OPTIONAL ? v : v->components->item.n ? v->components->item.at[0] : NULL;
        if (b->item.n)
            item = item ? container_convert(n, item, b->item.at[0]) : container_placeholder(n, b->item.at[0]);
        return optional_new(n->graph, has, item);
    }
    return b->form == SEQUENCE && b->open ? convert_sequence(n, v, b) : v;
}
