/* container.c - sequences and optionals as tensors: what they are made of, made into what, and at the model's border. */
#include "container.h"

/* ---- boxes ------------------------------------------------------------------------------------------------------------- */

static Box *box_new(Form form, Type t)
{
    Box *b = NEW(Box);
    b->form = form;
    b->type = t;
    b->rank = b->least_rank = -1;
    return b;
}

Box *box_of(const Value *v)
{
    if (v->form == TENSOR) {
        Box *b = box_new(TENSOR, v->type);
        b->shape = v->shape;
        return b;
    }
    Box *b = NEW(Box);
    *b = v->parts->box;
    memset(&b->item, 0, sizeof b->item);
    for (int i = 0; i < v->parts->item.n; i++)
        vec_push(&b->item, box_of(v->parts->item.at[i]));
    return b;
}

/* One more shape that an element of b may have; sizes that are no numbers count with their bounds. */
static void widen(Box *b, int rank, int least_rank, const int64_t *size, const bool *fixed)
{
    if (rank < 0)
        return;
    bool first = b->rank < 0;
    for (int i = 0; i < rank; i++) {
        bool had = !first && i < b->rank;
        b->fixed[i] = fixed[i] && (first || (had && b->fixed[i] && b->size[i] == size[i]));
        b->size[i] = had && b->size[i] > size[i] ? b->size[i] : size[i];
    }
    for (int i = rank; i < b->rank; i++)
        b->fixed[i] = false;
    b->least_rank = first || least_rank < b->least_rank ? least_rank : b->least_rank;
    b->rank = rank > b->rank ? rank : b->rank;
}

static void widen_shape(Box *b, Shape s)
{
    int64_t size[MAX_RANK];
    bool fixed[MAX_RANK];
    for (int i = 0; i < s.rank; i++) {
        size[i] = dim_high(s.dim[i]);
        fixed[i] = dim_const(s.dim[i]);
    }
    widen(b, s.rank, s.rank, size, fixed);
}

/* A sequence of known length as an open one. */
static Box *box_open(const Box *b)
{
    Box *o = NEW(Box);
    *o = *b;
    if (b->open)
        return o;
    o = box_new(SEQUENCE, b->type);
    o->open = true;
    o->most = b->item.n;
    for (int i = 0; i < b->item.n; i++)
        widen_shape(o, b->item.at[i]->shape);
    return o;
}

static Box *box_optional(const Box *item)
{
    Box *b = box_new(OPTIONAL, item->type);
    vec_push(&b->item, (Box *)(uintptr_t)item);
    return b;
}

bool box_same(const Box *a, const Box *b)
{
    if (a->form != b->form || a->type != b->type || a->open != b->open || a->item.n != b->item.n)
        return false;
    for (int i = 0; i < a->item.n; i++)
        if (!box_same(a->item.at[i], b->item.at[i]))
            return false;
    if (a->form == TENSOR)
        return shape_same(a->shape, b->shape);
    return !a->open || (a->most == b->most && a->rank == b->rank && a->least_rank == b->least_rank &&
                        !memcmp(a->size, b->size, sizeof *a->size * (size_t)(a->rank < 0 ? 0 : a->rank)) &&
                        !memcmp(a->fixed, b->fixed, sizeof *a->fixed * (size_t)(a->rank < 0 ? 0 : a->rank)));
}

Box *box_join(const Node *n, const Box *a, const Box *b)
{
    if (a->form == OPTIONAL && b->form == OPTIONAL && (!a->item.n || !b->item.n))
        return (Box *)(uintptr_t)(a->item.n ? a : b);
    if (a->form == OPTIONAL || b->form == OPTIONAL) {
        const Box *x = a->form == OPTIONAL ? (a->item.n ? a->item.at[0] : b) : a;
        const Box *y = b->form == OPTIONAL ? (b->item.n ? b->item.at[0] : a) : b;
        Box *item = box_join(n, x, y);
        return item ? box_optional(item) : NULL;
    }
    if (a->form != b->form || (a->type && b->type && a->type != b->type)) {
        node_error(n, "a value is now %s %s, now %s %s", a->form == TENSOR ? "a tensor of" : "a sequence of", type_onnx(a->type),
                   b->form == TENSOR ? "a tensor of" : "a sequence of", type_onnx(b->type));
        return NULL;
    }
    if (a->form == TENSOR || box_same(a, b))
        return (Box *)(uintptr_t)a;
    Box *y = box_open(a), *z = box_open(b);
    y->type = a->type ? a->type : b->type;
    y->most = y->most > z->most ? y->most : z->most;
    widen(y, z->rank, z->least_rank, z->size, z->fixed);
    return y;
}

int box_count(const Box *b)
{
    int k = b->form == TENSOR ? 1 : b->form == OPTIONAL ? 1 : b->open ? 3 : 0;
    for (int i = 0; i < b->item.n; i++)
        k += box_count(b->item.at[i]);
    return k;
}

Dim sequence_slot(const Box *b)
{
    Dim d = D(1);
    for (int i = 0; i < b->rank; i++)
        d = dim_mul(d, D(b->size[i]));
    return d;
}

static int row_width(const Box *b) { return b->rank > 1 ? b->rank : 1; }
static Shape data_shape(const Box *b) { return shape_list(2, D(b->most), sequence_slot(b)); }
static Shape dims_shape(const Box *b) { return shape_list(2, D(b->most), D(row_width(b))); }

/* ---- containers ---------------------------------------------------------------------------------------------------------- */

static Value *container_new(Graph *g, const Box *b)
{
    Value *v = value_new(g, NULL);
    v->form = b->form;
    v->type = b->type;
    v->parts = NEW(Parts);
    v->parts->box = *b;
    memset(&v->parts->box.item, 0, sizeof v->parts->box.item);
    return v;
}

Value *sequence_new(Graph *g, Type t, int n, Value *const *item)
{
    Value *v = container_new(g, box_new(SEQUENCE, t));
    for (int i = 0; i < n; i++)
        vec_push(&v->parts->item, item[i]);
    return v;
}

Value *sequence_open(Graph *g, const Box *b, Value *count, Value *dims, Value *data)
{
    Value *v = container_new(g, b);
    v->parts->count = count;
    v->parts->dims = dims;
    v->parts->data = data;
    Symbol *s = symbol_of(value_dim(count, 0));
    if (s) {
        s->low = s->low < 0 ? 0 : s->low;
        s->high = s->high > b->most ? b->most : s->high;
    }
    return v;
}

Value *optional_new(Graph *g, Value *has, Value *item)
{
    Value *v = container_new(g, box_new(OPTIONAL, item ? item->type : NO_TYPE));
    v->parts->has = has;
    if (item)
        vec_push(&v->parts->item, item);
    return v;
}

Value *optional_item(Node *n, Value *v)
{
    Dim has = value_dim(v->parts->has, 0);
    if (dim_is(has, 0) || !v->parts->item.n) {
        error_node(n, "OPT-16", "the optional is empty");
        return NULL;
    }
    assume_dim(n, has, D(1));
    return v->parts->item.at[0];
}

Value *infer_made(Node *n, const char *op, int n_in, ...)
{
    Value *in[MAX_ARGS];
    va_list list;
    va_start(list, n_in);
    for (int i = 0; i < n_in; i++)
        in[i] = va_arg(list, Value *);
    va_end(list);
    Node *m = make_node(n, op, n_in, in, 1);
    infer_node(m);
    return m->out[0];
}

/* Memory that nobody has written yet. */
static Value *room(Node *n, Type t, Shape s)
{
    Node *m = make_node(n, "onnxcc.Start", 0, NULL, 1);
    set_out(m, 0, t, s);
    return m->out[0];
}

Value *container_placeholder(Node *n, const Box *b)
{
    if (b->form == TENSOR)
        return room(n, b->type, b->shape);
    if (b->open)
        return sequence_open(n->graph, b, make_int(n, 0), room(n, I64, dims_shape(b)), room(n, b->type, data_shape(b)));
    Values item = {0};
    for (int i = 0; i < b->item.n; i++)
        vec_push(&item, container_placeholder(n, b->item.at[i]));
    if (b->form == SEQUENCE)
        return sequence_new(n->graph, b->type, item.n, item.at);
    return optional_new(n->graph, make_scalar(n, B8, 0), item.n ? item.at[0] : NULL);
}

/* The sizes of x as a row of `width`. */
static Value *size_row(Node *n, Value *x, int width)
{
    Value *s = infer_made(n, "Shape", 1, x);
    int64_t none[MAX_RANK];
    int k = width - x->shape.rank;
    for (int i = 0; i < k; i++)
        none[i] = -1;
    if (k <= 0)
        return s;
    Value *both[] = {s, make_ints(n, k, none)};
    if (!x->shape.rank)
        return both[1];
    Node *m = make_node(n, "Concat", 2, both, 1);
    attr_set_int(m, "axis", 0);
    infer_node(m);
    return m->out[0];
}

/* Slots of x, made as wide and as many as in y. What is put together for this alone is put there. */
static Value *fit(Node *n, Value *x, Value *count, Shape y)
{
    if (shape_same(x->shape, y))
        return x;
    if (x->def && !x->uses.n && !x->def->known && x->graph == n->graph && !strcmp(x->def->op->name, "Insert")) {
        x->shape = y;
        x->def->known = true; /* once */
        return x;
    }
    Node *m = make_node(n, "onnxcc.Slots", 2, (Value *[]){x, count}, 1);
    set_out(m, 0, x->type, y);
    return m->out[0];
}

Value *sequence_insert(Node *n, const Box *b, const Value *seq, Value *x, Value *at)
{
    const Parts *p = seq->parts;
    Value *row = size_row(n, x, row_width(b)), *to[2];
    Value *dims = p->dims;
    if (!dim_is(dims->shape.dim[1], row_width(b))) { /* rows of fewer sizes than now */
        int64_t pads[4] = {0, 0, 0, row_width(b) - dim_value(dims->shape.dim[1])};
        dims = infer_made(n, "Pad", 3, dims, make_ints(n, 4, pads), make_int(n, -1));
    }
    for (int i = 0; i < 2; i++) {
        Node *m = make_node(n, "onnxcc.Insert", 4, (Value *[]){i ? p->data : dims, i ? x : row, p->count, at}, 1);
        set_out(m, 0, i ? x->type : I64, i ? data_shape(b) : dims_shape(b));
        to[i] = m->out[0];
    }
    return sequence_open(n->graph, b, infer_made(n, "Add", 2, p->count, make_int(n, 1)), to[0], to[1]);
}

Box *box_with(const Value *seq, const Value *x)
{
    Box *b = box_open(box_of(seq));
    b->type = x->type;
    b->most++;
    widen_shape(b, x->shape);
    return b;
}

static Value *convert_sequence(Node *n, Value *v, const Box *b)
{
    const Parts *p = v->parts;
    if (p->box.open) {
        Value *dims = p->dims;
        int64_t pads[4] = {0, 0, 0, row_width(b) - dim_value(dims->shape.dim[1])};
        if (pads[3] > 0)
            dims = infer_made(n, "Pad", 3, dims, make_ints(n, 4, pads), make_int(n, -1));
        return sequence_open(n->graph, b, p->count, fit(n, dims, p->count, dims_shape(b)),
                             fit(n, p->data, p->count, data_shape(b)));
    }
    Value *y = container_placeholder(n, b);
    for (int i = 0; i < p->item.n; i++)
        y = sequence_insert(n, b, y, p->item.at[i], NULL);
    return y;
}

Value *container_convert(Node *n, Value *v, const Box *b)
{
    if (b->form == OPTIONAL) {
        Value *has = v->form == OPTIONAL ? v->parts->has : make_scalar(n, B8, 1);
        Value *item = v->form != OPTIONAL ? v : v->parts->item.n ? v->parts->item.at[0] : NULL;
        if (b->item.n)
            item = item ? container_convert(n, item, b->item.at[0]) : container_placeholder(n, b->item.at[0]);
        return optional_new(n->graph, has, item);
    }
    return b->form == SEQUENCE && b->open ? convert_sequence(n, v, b) : v;
}

void container_flatten(Value *v, Values *to)
{
    const Parts *p = v->parts;
    if (v->form == TENSOR)
        vec_push(to, v);
    else if (p->box.open) {
        vec_push(to, p->data);
        vec_push(to, p->dims);
        vec_push(to, p->count);
    } else {
        for (int i = 0; i < p->item.n; i++)
            container_flatten(p->item.at[i], to);
        if (v->form == OPTIONAL)
            vec_push(to, p->has);
    }
}

Value *container_rebuild(Graph *g, const Box *b, Value *const **from)
{
    if (b->form == TENSOR)
        return *(*from)++;
    if (b->open) {
        Value *const *v = *from;
        *from += 3;
        return sequence_open(g, b, v[2], v[1], v[0]);
    }
    Values item = {0};
    for (int i = 0; i < b->item.n; i++)
        vec_push(&item, container_rebuild(g, b->item.at[i], from));
    if (b->form == SEQUENCE)
        return sequence_new(g, b->type, item.n, item.at);
    return optional_new(g, *(*from)++, item.n ? item.at[0] : NULL);
}

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

static int64_t most_of(const Box *b) { return b->open ? b->most : b->item.n; }

Box *box_grow(const Node *n, const Box *first, const Box *now, const Box *after, int64_t turns)
{
    Box *b = box_join(n, now, after);
    if (b && b->form == OPTIONAL && b->item.n) {
        const Box *f = first->form == OPTIONAL ? (first->item.n ? first->item.at[0] : b->item.at[0]) : first;
        const Box *p = now->form == OPTIONAL ? (now->item.n ? now->item.at[0] : f) : now;
        const Box *q = after->form == OPTIONAL ? (after->item.n ? after->item.at[0] : p) : after;
        Box *item = box_grow(n, f, p, q, turns);
        return item ? box_optional(item) : NULL;
    }
    if (!b || b->form != SEQUENCE || !b->open)
        return b;
    int64_t more = most_of(after) - most_of(now), most;
    if (more <= 0) {
        b->most = most_of(now);
        return b;
    }
    if (__builtin_mul_overflow(more, turns, &most) || __builtin_add_overflow(most, most_of(first), &most) || most > INT32_MAX) {
        error_node(n, "SHP-11", "a sequence grows by %lld elements a turn, and how many turns there may be is not known", (long long)more);
        if (in(n, 0) && in(n, 0)->input >= 0)
            note_help("freeze the number of turns: --const %s=FILE.pb", printable(in(n, 0)->name));
        return NULL;
    }
    b->most = most;
    return b;
}

/* ---- the border of the model ----------------------------------------------------------------------------------------------- */

static VEC(Port) inputs, outputs;

int container_ports(bool of_outputs, const Port **ports)
{
    *ports = of_outputs ? outputs.at : inputs.at;
    return of_outputs ? outputs.n : inputs.n;
}

static const char *part_note(const Box *b, int i)
{
    static const char *const parts[] = {": a slot for each element of the sequence, which it fills from the start",
                                        ": a row for each element of the sequence: its sizes (-1: it has no such dimension)",
                                        ": how many elements the sequence has"};
    if (b->open)
        return parts[i];
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

/* What an input that is declared as d is made of. --shape of a sequence: how many elements, then their largest sizes. */
static Box *declared_box(Value *v, const TypeDesc *d)
{
    if (!d)
        return NULL;
    Box *b = box_new(d->form, d->elem);
    if (d->form == TENSOR) {
        b->shape = v->shape.rank >= 0 ? v->shape : d->shape;
        return b;
    }
    Box *item = d->of ? declared_box(v, d->of) : NULL;
    if (!item || (d->form != OPTIONAL && d->form != SEQUENCE) || (d->form == SEQUENCE && item->form != TENSOR))
        return NULL;
    b->type = item->type;
    if (d->form == OPTIONAL) {
        vec_push(&b->item, item);
        return b;
    }
    Shape given = v->shape, of = d->of->shape;
    if (given.rank < 1 || (given.rank == 1 && of.rank > 0 && !shape_const(of)) || (given.rank > 1 && of.rank >= 0 && given.rank != of.rank + 1)) {
        error_value(v, "TYP-05", "the sequence '%s' has no bounds", printable(v->name));
        note_help("say how many elements it may have, and their largest sizes: --shape %s=N,D,D", printable(v->name));
        return NULL;
    }
    b->open = true;
    b->most = dim_value(given.dim[0]);
    if (of.rank >= 0 && shape_const(of))
        widen_shape(b, of);
    else {
        bool fixed[MAX_RANK] = {false};
        int64_t size[MAX_RANK];
        for (int i = 1; i < given.rank; i++) {
            fixed[i - 1] = of.rank >= 0 && dim_const(of.dim[i - 1]);
            size[i - 1] = dim_value(given.dim[i]);
        }
        widen(b, given.rank - 1, given.rank - 1, size, fixed);
    }
    return b;
}

static Value *input_part(Model *m, Value *of, const char *suffix, Type t, Shape s)
{
    Value *v = value_new(m->graph, *suffix ? name_format("%s_%s", of->name->s, suffix) : of->name);
    v->type = t;
    v->shape = s;
    for (int i = 0; i < s.rank; i++) {
        if (dim_const(s.dim[i]))
            continue;
        Symbol *y = symbol_of(s.dim[i]);
        if (!of->desc->of->dim_param[i]) {
            y = symbol_fresh(name_format("%s_%d", of->name->s, i)->s, 0, INT64_MAX);
            y->user = true;
            v->shape.dim[i] = dim_symbol(y);
        }
        y->low = y->low < 0 ? 0 : y->low;
        if (!y->input) {
            y->input = v;
            y->axis = i;
        }
    }
    return v;
}

static void enter_box(Model *m, Value *v, const Box *b, Values *to)
{
    if (b->form == TENSOR)
        vec_push(to, input_part(m, v, "", b->type, b->shape));
    else if (b->open) {
        vec_push(to, input_part(m, v, "", b->type, data_shape(b)));
        vec_push(to, input_part(m, v, "dims", I64, dims_shape(b)));
        vec_push(to, input_part(m, v, "count", I64, shape_list(0)));
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
    memset(&inputs, 0, sizeof inputs);
    memset(&outputs, 0, sizeof outputs);
    for (int i = 0; i < g->out.n; i++)
        vec_push(&outputs, ((Port){.name = g->out.at[i]->name}));
    for (int i = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        Port port = {v->name, NULL, all.n, 1};
        if (v->form == TENSOR) {
            vec_push(&all, v);
            port.box = box_of(v);
        } else {
            port.box = declared_box(v, v->desc);
            if (!port.box) {
                if (!error_count())
                    error_value(v, "IO-15", "an input of this type is not supported");
                v->poisoned = true;
                continue;
            }
            enter_box(m, v, port.box, &all);
            Value *const *from = all.at + port.first;
            value_replace(v, container_rebuild(g, port.box, &from));
            port.n = all.n - port.first;
        }
        if (v->form != TENSOR || v->input >= 0)
            vec_push(&inputs, port);
    }
    memcpy(&g->in, &all, sizeof g->in);
    for (int i = 0, k = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        if (!v->data || v->default_only)
            v->input = k++;
    }
}

static void name_part(Value *v, Name n, const char *suffix)
{
    if (!v->name || !v->name->n || v->input < 0)
        v->name = *suffix ? name_format("%s_%s", n->s, suffix) : n;
}

/* "y", "y_dims", "y_count", "y_given"; the elements of a sequence of known length "y_0", "y_1". */
static void name_parts(Value *v, Name n)
{
    const Parts *p = v->parts;
    if (v->form == TENSOR)
        name_part(v, n, "");
    else if (p->box.open) {
        name_part(p->data, n, "");
        name_part(p->dims, n, "dims");
        name_part(p->count, n, "count");
    } else {
        for (int i = 0; i < p->item.n; i++)
            name_parts(p->item.at[i], v->form == OPTIONAL ? n : name_format("%s_%d", n->s, i));
        if (v->form == OPTIONAL)
            name_part(p->has, n, "given");
    }
}

void containers_leave(Model *m)
{
    Graph *g = m->graph;
    Values all = {0};
    for (int i = 0; i < g->out.n; i++) {
        Value *v = g->out.at[i];
        Port *port = &outputs.at[i];
        if (v->form != TENSOR)
            name_parts(v, port->name);
        port->box = box_of(v);
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
