/* container_border.c - sequences, optionals and maps become tensors where control flow and callers see them: at the borders of
 * nested graphs and of the model. */
#include "ir/ops.h"
#include "passes/container.h"

/* ---- the border of nested graphs -------------------------------------------------------------------------------------------- */

void container_outputs(Graph *g, int first, Box *const *box)
{
    Node *end = node_new(g, "onnxcc.Start", 0, NULL, 0); /* a place to insert before */
    Values all = {0};
    node_insert(end, NULL);
    for (int i = first; i < g->out.n; i++)
        container_flatten(container_convert(end, g->out.at[i], box[i - first]), &all);
    node_remove(end);
    int old = g->out.n;
    for (int i = 0; i < all.n || first + i < old; i++)
        if (first + i >= old)
            graph_add_output(g, all.at[i]);
        else
            graph_set_output(g, first + i, i < all.n ? all.at[i] : NULL);
    g->out.n = first + all.n;
}

/* As many fresh values as b is made of. */
static void add_parts(Values *to, Graph *g, const Box *b, const Value *of)
{
    for (int i = box_count(b); i > 0; i--)
        vec_push(to, value_new(g, of ? of->name : NULL));
}

void container_results(Node *n, Box *const *box, const bool *given)
{
    Values all = {0};
    for (int i = 0; i < n->n_out; i++) {
        int at = all.n;
        if (!box[i] || box[i]->form == TENSOR) {
            vec_push(&all, n->out[i]);
            continue;
        }
        add_parts(&all, n->graph, box[i], n->out[i]);
        Value *const *from = all.at + at;
        Value *v = container_rebuild(n->graph, box[i], &from);
        if (n->out[i])
            value_replace(n->out[i], given && given[i] && v->form == OPTIONAL ? optional_item(n, v) : v);
    }
    n->n_out = all.n;
    n->out = all.at;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]) {
            n->out[i]->def = n;
            n->out[i]->def_i = i;
        }
}

void container_inputs(Graph *g, int first, Box *const *box)
{
    Values all = {0};
    for (int i = 0; i < g->in.n; i++) {
        int at = all.n;
        if (i < first || box[i - first]->form == TENSOR) {
            vec_push(&all, g->in.at[i]);
            continue;
        }
        add_parts(&all, g, box[i - first], g->in.at[i]);
        Value *const *from = all.at + at;
        value_replace(g->in.at[i], container_rebuild(g, box[i - first], &from));
    }
    memcpy(&g->in, &all, sizeof g->in);
}

void container_arguments(Node *n, int first, Box *const *box)
{
    Values all = {0};
    for (int i = 0; i < n->n_in; i++)
        if (i < first)
            vec_push(&all, n->in[i]);
        else
            container_flatten(container_convert(n, n->in[i], box[i - first]), &all);
    node_set_inputs(n, all.n, all.at);
}

/* The bound of a size that is `first` at the start and grows by at most `step` in each of `trips` iterations; -1: exceeds the
 * limit. ONE_ITERATION: the size after this one. */
static int64_t grown(int64_t first, int64_t now, int64_t after, int64_t step, int64_t trips)
{
    int64_t most;
    if (after <= now || after == INT64_MAX || trips == ONE_ITERATION)
        return after <= now ? now : after;
    if (__builtin_mul_overflow(step, trips, &most) || __builtin_add_overflow(most, first, &most))
        return -1;
    return most > INT32_MAX ? -1 : most > now ? most : now;
}

static const Box *inside(const Box *b, const Box *otherwise)
{
    return b->form != OPTIONAL ? b : b->item.n ? b->item.at[0] : otherwise;
}

Box *box_grow(const Node *n, const Box *first, const Box *now, const Box *after, int64_t trips, int tries)
{
    Box *b = box_join(n, now, after);
    if (b && b->form == OPTIONAL && b->item.n) {
        const Box *f = inside(first, b->item.at[0]), *p = inside(now, f);
        Box *item = box_grow(n, f, p, inside(after, p), trips, tries);
        return item ? box_optional(item) : NULL;
    }
    if (b && b->type == STR && b->form != OPTIONAL) {
        b = memcpy(NEW(Box), b, sizeof *b);
        int64_t from = box_open(first)->text, was = box_open(now)->text, is = box_open(after)->text;
        b->text = grown(from, was, is, is - was, trips);
    }
    if (!b || b->form != SEQUENCE || !b->open)
        return b;
    const Box *f = box_open(first), *p = box_open(now), *q = box_open(after);
    b->most = grown(f->most, p->most, q->most, q->most - p->most, trips);
    for (int i = 0; i < b->rank && i < p->rank && i < f->rank && tries > 1; i++) {
        int64_t step = b->size[i] - p->size[i], step_1 = p->size[i] - f->size[i]; /* in the first iteration */
        b->size[i] = grown(f->size[i], p->size[i], b->size[i], tries == 2 && step_1 > step ? step_1 : step, trips);
    }
    return b;
}

bool box_bounded(const Box *b)
{
    bool fine = b->most >= 0 && b->text >= 0;
    for (int i = 0; i < b->rank; i++)
        fine &= b->size[i] >= 0;
    for (int i = 0; i < b->item.n; i++)
        fine &= box_bounded(b->item.at[i]);
    return fine;
}

Box *box_empty(const Box *elements)
{
    Box *b = NEW(Box);
    *b = *elements;
    b->most = 0;
    return b;
}

/* ---- the border of the model ----------------------------------------------------------------------------------------------- */

typedef struct Border {
    VEC(Port) inputs, outputs;
} Border;
PART(Border, border)

int container_ports(bool of_outputs, const Port **ports)
{
    const Border *const b = border();
    *ports = of_outputs ? b->outputs.at : b->inputs.at;
    return of_outputs ? b->outputs.n : b->inputs.n;
}

static const char *part_note(const Box *b, int i)
{
    static const char *const parts[] = {
        ": a slot for each element of the sequence, which it fills from the start",
        ": a row for each element of the sequence: its sizes (-1: it has no such dimension)",
        ": how many elements the sequence has"};
    if (b->open)
        return parts[i];
    if (b->form == MAP && b->item.at[0]->shape.rank > 1)
        return i ? ": the keys that all maps have" : ": a row of values for each map";
    if (b->form == MAP)
        return i ? ": the keys that they belong to, each once" : ": the values of a map, in any order";
    for (int k = 0; k < b->item.n; i -= box_count(b->item.at[k++]))
        if (i < box_count(b->item.at[k]))
            return part_note(b->item.at[k], i);
    return b->form == OPTIONAL ? ": whether it is there" : "";
}

const char *container_note(bool output, int i)
{
    const Port *ports;
    int n = container_ports(output, &ports);
    for (int k = 0; k < n; k++)
        if (i >= ports[k].first && i < ports[k].first + ports[k].n)
            return part_note(ports[k].box, i - ports[k].first);
    return "";
}

const Box *port_sequence(const Port *port)
{
    const Box *b = port->box;
    if (b && b->form == OPTIONAL && b->item.n)
        b = b->item.at[0];
    return b && b->open ? b : NULL;
}

bool element_limits(const Port *port, int k, int64_t *least, int64_t *most)
{
    const Box *b = port_sequence(port);
    *least = b->fixed[k] ? b->size[k] : k < b->least_rank ? 0 : -1;
    *most = b->size[k];
    return k < b->rank;
}

/* As many values as keys: what --shape says, or a size that is set for each run. */
static Box *declared_map(Value *v, const TypeDesc *d)
{
    Dim count;
    if (v->shape->rank < 0) {
        Symbol *s = symbol_fresh(name_format("%s_count", v->name->s)->s, 0, INT64_MAX);
        s->user = true;
        count = dim_symbol(s);
    } else if (v->shape->rank == 1)
        count = v->shape->dim[0];
    else {
        error_value(v, "TYP-05", "the map '%s' is given %d dimensions", printable(v->name), v->shape->rank);
        note_help("say how many entries it has: --shape %s=N", printable(v->name));
        return NULL;
    }
    Box *b = box_new(MAP, d->of->elem);
    for (int i = 0; i < 2; i++) {
        vec_push(&b->item, box_new(TENSOR, i ? d->key : d->of->elem));
        b->item.at[i]->shape = shape_list(1, count);
    }
    return b;
}

/* What an input that is declared as d is made of. --shape of a sequence: how many elements, then their largest sizes. */
static Box *declared_box(Value *v, const TypeDesc *d)
{
    if (!d)
        return NULL;
    Box *b = box_new(d->form, d->elem);
    if (d->form == TENSOR) {
        b->shape = v->shape->rank >= 0 ? *v->shape : d->shape;
        return b;
    }
    if (d->form == MAP && d->of && d->of->form == TENSOR && d->of->elem && d->key)
        return declared_map(v, d);
    if (!d->of || (d->form != OPTIONAL && (d->form != SEQUENCE || d->of->form != TENSOR)))
        return NULL;
    Box *item = declared_box(v, d->of);
    if (!item)
        return NULL;
    b->type = item->type;
    if (d->form == OPTIONAL) {
        vec_push(&b->item, item);
        return b;
    }
    Shape given = *v->shape, of = d->of->shape;
    for (int i = 0; i < of.rank; i++)
        of.dim[i] = dim_resolve(of.dim[i]);
    if (given.rank < 1 || (given.rank == 1 && of.rank > 0 && !shape_const(of)) ||
        (given.rank > 1 && of.rank >= 0 && given.rank != of.rank + 1)) {
        Text sizes = {0};
        for (int i = 0; i < (of.rank < 0 ? 2 : of.rank); i++)
            text_put(&sizes, ",D");
        error_value(v, "TYP-05", "the sequence '%s' has no bounds", printable(v->name));
        note_help("say how many elements it may have%s: --shape %s=N%s", sizes.n ? ", and their largest sizes" : "",
                  printable(v->name), sizes.n ? sizes.s : "");
        return NULL;
    }
    b->open = true;
    b->most = dim_value(given.dim[0]);
    if (of.rank >= 0 && shape_const(of))
        box_widen_shape(b, of);
    else {
        bool fixed[MAX_RANK] = {false};
        int64_t size[MAX_RANK];
        for (int i = 1; i < given.rank; i++) {
            fixed[i - 1] = of.rank >= 0 && dim_const(of.dim[i - 1]);
            size[i - 1] = dim_value(given.dim[i]);
        }
        box_widen(b, given.rank - 1, given.rank - 1, size, fixed);
    }
    return b;
}

static Value *input_part(Model *m, Value *of, const char *suffix, Type t, Shape s)
{
    Value *v = value_new(m->graph, *suffix ? name_format("%s_%s", of->name->s, suffix) : of->name);
    v->type = t;
    if (t == STR) /* how long its strings are */
        symbol_fresh(name_format("%s_text", v->name->s)->s, 0, INT64_MAX)->user = true;
    for (int i = 0; i < s.rank; i++) {
        if (dim_const(s.dim[i]))
            continue;
        Symbol *y = symbol_of(s.dim[i]);
        if (!y->user) {
            y = symbol_fresh(name_format("%s_%d", of->name->s, i)->s, 0, INT64_MAX);
            y->user = true;
            s.dim[i] = dim_symbol(y);
        }
        y->low = y->low < 0 ? 0 : y->low;
        if (!y->input) {
            y->input = v;
            y->axis = i;
        }
    }
    v->shape = shape_keep(s);
    return v;
}

static void enter_box(Model *m, Value *v, const Box *b, Values *to)
{
    if (b->form == TENSOR)
        vec_push(to, input_part(m, v, "", b->type, b->shape));
    else if (b->open) {
        vec_push(to, input_part(m, v, "", b->type, sequence_data(b)));
        vec_push(to, input_part(m, v, "dims", I64, sequence_dims(b)));
        vec_push(to, input_part(m, v, "count", I64, shape_list(0)));
    } else if (b->form == MAP) {
        vec_push(to, input_part(m, v, "", b->type, b->item.at[0]->shape));
        vec_push(to, input_part(m, v, "keys", b->item.at[1]->type, b->item.at[1]->shape));
    } else {
        for (int i = 0; i < b->item.n; i++)
            enter_box(m, v, b->item.at[i], to);
        vec_push(to, input_part(m, v, "given", B8, shape_list(0)));
    }
}

void containers_enter(Model *m)
{
    Graph *g = m->graph;
    Values all = {0};
    for (int i = 0; i < g->out.n; i++)
        vec_push(&border()->outputs, ((Port){.name = m->declared.at[i]}));
    for (int i = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        Port port = {v->name, NULL, all.n, 1};
        if (v->form == TENSOR) {
            vec_push(&all, v);
            port.box = box_of(v);
        } else {
            port.box = declared_box(v, v->desc);
            if (!port.box) {
                if (!error_count()) {
                    error_value(v, "IO-15", "an input of this type is not supported");
                    note_help("inputs may be tensors, sequences of tensors, maps, and optionals of these");
                }
                v->poisoned = true;
                continue;
            }
            enter_box(m, v, port.box, &all);
            Value *const *from = all.at + port.first;
            value_replace(v, container_rebuild(g, port.box, &from));
            port.n = all.n - port.first;
        }
        if (v->form != TENSOR || v->input >= 0)
            vec_push(&border()->inputs, port);
    }
    memcpy(&g->in, &all, sizeof g->in);
    for (int i = 0, k = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        if (!v->data || v->default_only)
            v->input = k++;
    }
}

static void name_part(Model *m, Name n, const char *suffix)
{
    vec_push(&m->out, *suffix ? name_format("%s_%s", n->s, suffix) : n);
}

/* "y", "y_dims", "y_count", "y_given"; the elements of a sequence of known length "y_0", "y_1": as container_flatten has them. */
static void name_parts(Model *m, const Box *b, Name n)
{
    name_part(m, n, "");
    if (b->open) {
        name_part(m, n, "dims");
        name_part(m, n, "count");
    } else if (b->form == MAP)
        name_part(m, n, "keys");
    else if (b->form != TENSOR) {
        m->out.n--;
        for (int i = 0; i < b->item.n; i++)
            name_parts(m, b->item.at[i], b->form == OPTIONAL ? n : name_format("%s_%d", n->s, i));
        if (b->form == OPTIONAL)
            name_part(m, n, "given");
    }
}

void containers_leave(Model *m)
{
    Graph *g = m->graph;
    Values all = {0};
    for (int i = 0; i < g->out.n; i++) {
        Value *v = g->out.at[i];
        Port *port = &border()->outputs.at[i];
        port->box = box_of(v);
        name_parts(m, port->box, port->name);
        port->first = all.n;
        container_flatten(v, &all);
        port->n = all.n - port->first;
    }
    for (int i = 0; i < all.n || i < g->out.n; i++)
        if (i >= g->out.n)
            graph_add_output(g, all.at[i]);
        else
            graph_set_output(g, i, i < all.n ? all.at[i] : NULL);
    g->out.n = all.n;
}
