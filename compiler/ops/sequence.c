/* sequence.c - operators on sequences and optionals: each is expanded to operators on the components. */
#include "ir/call.h"
#include "passes/container.h"
#include "passes/infer.h"
#include "passes/passes.h"
#include "sequence.h"

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Reports an error of a run of n. False: n certainly runs; else the run fails when n runs, and inference goes on. */
static bool error_when_run(Node *n, const char *what)
{
    if (always_runs(n))
        return node_error(n, "%s", what);
    fail_when_run(n, what);
    return true;
}

/* The position in a sequence that input i gives, by default `last`; -1: known only at run time; -2: wrong, reported. */
static int constant_place(Node *n, int i, const Components *p, int last)
{
    int count = p->item.n;
    if (in(n, i) && !require_dim(n, "the number of positions", shape_count(in_shape(n, i)), D(1)))
        return -2;
    if (p->ctype.open || (in(n, i) && !in_is_const(n, i)))
        return -1;
    if (!in(n, i))
        return last;
    int64_t at = tensor_get_int(in(n, i)->data, 0), place = at < 0 ? at + count : at;
    if (place >= 0 && place <= last)
        return (int)place;
    Text t = {0};
    text_put(&t, "position %lld in a sequence of %d elements", (long long)at, count);
    if (last >= 0)
        return error_when_run(n, t.s) ? last : -2;
    node_error(n, "%s", t.s);
    return -2;
}

static Dim number_of(Value *v)
{
    if (v->def && !v->data)
        trace_value(v);
    return value_dim(v, 0);
}

/* Assumes that position `at`, from the end if negative, exists in an open sequence; behind: it may also be the end. */
static bool require_place(Node *n, const Components *p, Dim at, bool behind)
{
    Dim count = number_of(p->count), before = behind ? dim_add(count, D(1)) : count;
    Dim inside = dim_mul(dim_less_expr(at, before), dim_less_expr(dim_sub(D(-1), count), at));
    if (dim_is(inside, 0))
        return error_when_run(n, text_format("a position outside a sequence of %s elements", dim_text(count)));
    assume_dim(n, inside, D(1));
    return true;
}

/* The same for input i; by default the last element, or the end if `behind`. */
static bool require_position(Node *n, int i, const Components *p, bool behind)
{
    return (behind && !in(n, i)) || require_place(n, p, in(n, i) ? number_of(in(n, i)) : D(-1), behind);
}

/* Input i, a position, as one int64. */
static Value *place_value(Node *n, int i)
{
    Value *v = in(n, i);
    if (!v || v->type == I64)
        return v;
    Node *cast = make_node(n, "Cast", 1, &v, 1);
    attr_set_int(cast, "to", I64);
    infer_node(cast);
    return cast->out[0];
}

/* The components of input 0, converted to an open sequence. */
static const Components *open_components(Node *n)
{
    Value *s = in(n, 0);
    if (s->components->ctype.open)
        return s->components;
    ContainerType *b = ctype_of(s), *closed = NEW(ContainerType);
    *closed = *b;
    memset(&closed->item, 0, sizeof closed->item); /* a type of another length, so that the common type is open */
    return container_convert(n, s, ctype_join(n, closed, b))->components;
}

static void replace_by(Node *n, Value *v)
{
    replace_out(n, 0, v);
    expand_done(n);
}

/* ---- Sequence... ------------------------------------------------------------------------------------------------- */

static void sequence_construct(Node *n) { replace_by(n, sequence_new(n->graph, in_type(n, 0), n->n_in, n->in)); }

static void sequence_empty(Node *n)
{
    int64_t type = attr_int(n, "dtype");
    if (type < 1 || type >= N_TYPES)
        node_error(n, "dtype = %lld is no element type", (long long)type);
    else
        replace_by(n, sequence_new(n->graph, (Type)type, 0, NULL));
}

static void sequence_insert_expand(Node *n)
{
    Value *s = in(n, 0), *x = in(n, 1), *y;
    const Components *p = s->components;
    int count = p->item.n, place = constant_place(n, 2, p, count);
    if (place == -2)
        return;
    if (s->type && s->type != x->type) {
        node_error(n, "the sequence holds %s, the tensor is %s", type_onnx(s->type), type_onnx(x->type));
        return;
    }
    if (place >= 0) {
        y = sequence_new(n->graph, x->type, count, p->item.at);
        vec_push(&y->components->item, x);
        for (int i = count; i > place; i--)
            y->components->item.at[i] = y->components->item.at[i - 1];
        y->components->item.at[place] = x;
    } else {
        ContainerType *b = ctype_with(s, x);
        if (!p->ctype.open)
            s = container_convert(n, s, b);
        if (!require_position(n, 2, s->components, true))
            return;
        y = sequence_insert(n, b, s, x, place_value(n, 2));
    }
    replace_by(n, y);
}

static void sequence_erase(Node *n)
{
    Value *s = in(n, 0), *y;
    int count = s->components->item.n;
    if (!s->components->ctype.open && !count) {
        if (error_when_run(n, "an empty sequence has no element to erase"))
            replace_by(n, s);
        return;
    }
    int place = constant_place(n, 1, s->components, count - 1);
    if (place == -2)
        return;
    if (place >= 0) {
        y = sequence_new(n->graph, s->type, count, s->components->item.at);
        y->components->item.n--;
        for (int i = place; i < count - 1; i++)
            y->components->item.at[i] = y->components->item.at[i + 1];
    } else {
        const Components *p = open_components(n);
        if (!require_position(n, 1, p, false))
            return;
        Value *at = place_value(n, 1), *left[2];
        for (int i = 0; i < 2; i++) {
            Node *m = make_node(n, "onnxcc.Erase", 3, (Value *[]){i ? p->data : p->dims, p->count, at}, 1);
            infer_same(m);
            left[i] = m->out[0];
        }
        y = sequence_open(n->graph, &p->ctype, inferred(make(n, "Sub", 2, p->count, make_int(n, 1))), left[0], left[1]);
    }
    replace_by(n, y);
}

/* The shape of an element: constant sizes, or those in its row of sizes. */
static Shape row_shape(const ContainerType *b, Value *row)
{
    Shape s = {.rank = b->rank};
    for (int i = 0; i < b->rank; i++) {
        s.dim[i] = b->fixed[i] ? D(b->size[i]) : value_dim(row, i);
        Symbol *y = symbol_of(s.dim[i]);
        if (y) {
            y->low = 0;
            y->high = b->size[i];
        }
    }
    return s;
}

static bool require_one_rank(Node *n, const ContainerType *b)
{
    if (b->rank >= 0 && b->min_rank == b->rank)
        return true;
    return node_error(n, b->rank < 0 ? "the elements of the sequence have no shape"
                                     : "the elements have different numbers of dimensions");
}

static void sequence_at(Node *n)
{
    const Components *p = in(n, 0)->components;
    int place = constant_place(n, 1, p, p->item.n - 1);
    if (place == -2)
        return;
    if (place >= 0) {
        replace_by(n, p->item.at[place]);
        return;
    }
    p = open_components(n);
    if (!require_one_rank(n, &p->ctype) || !require_position(n, 1, p, false))
        return;
    Value *at = place_value(n, 1);
    Node *row = make_node(n, "onnxcc.Element", 3, (Value *[]){p->dims, p->count, at}, 1);
    set_out(row, 0, I64, shape_list(1, p->dims->shape->dim[1]));
    Node *y = make_node(n, "onnxcc.Element", 4, (Value *[]){p->data, p->count, at, row->out[0]}, 1);
    set_out(y, 0, p->data->type, row_shape(&p->ctype, row->out[0]));
    replace_by(n, y->out[0]);
}

static void sequence_length(Node *n)
{
    const Components *p = in(n, 0)->components;
    replace_by(n, p->ctype.open ? p->count : make_int(n, p->item.n));
}

static void concat_from_open(Node *n, const Components *p)
{
    const ContainerType *b = &p->ctype;
    bool stack = attr_int(n, "new_axis");
    if (!require_one_rank(n, b))
        return;
    if (!require_rank(n, b->rank + stack) || !require_place(n, p, D(0), false))
        return;
    int rank = b->rank + stack, axis = attr_axis(n, "axis", rank);
    if (!rank) {
        node_error(n, "scalars cannot be joined");
        return;
    }
    Node *first = make_node(n, "onnxcc.Element", 3, (Value *[]){p->dims, p->count, make_int(n, 0)}, 1);
    set_out(first, 0, I64, shape_list(1, p->dims->shape->dim[1]));
    Node *m = make_node(n, "onnxcc.Join", 4, (Value *[]){p->data, p->dims, p->count, first->out[0]}, 1);
    attr_set_int(m, "axis", axis);
    attr_set_int(m, "stack", stack);
    attr_set_int(m, "rank", b->rank);
    Shape s = row_shape(b, first->out[0]);
    for (int i = b->rank; i > axis && stack; i--)
        s.dim[i] = s.dim[i - 1];
    s.dim[axis] = dim_mul(D(b->max_count), D(stack ? 1 : b->size[axis]));
    s.rank = rank;
    set_out(m, 0, p->data->type, s);
    replace_by(n, m->out[0]);
}

static void concat_from_sequence(Node *n)
{
    const Components *p = in(n, 0)->components;
    if (p->ctype.open) {
        concat_from_open(n, p);
        return;
    }
    if (!p->item.n) {
        node_error(n, "an empty sequence cannot be joined");
        return;
    }
    Value **item = NEWS(Value *, p->item.n);
    bool stack = attr_int(n, "new_axis");
    int axis = attr_axis(n, "axis", p->item.at[0]->shape->rank + stack);
    for (int i = 0; i < p->item.n; i++)
        item[i] = stack ? make(n, "Unsqueeze", 2, p->item.at[i], make_ints(n, 1, &(int64_t){axis})) : p->item.at[i];
    Node *m = make_node(n, "Concat", p->item.n, item, 1);
    attr_set_int(m, "axis", axis);
    replace_by(n, m->out[0]);
}

/* ---- SplitToSequence --------------------------------------------------------------------------------------------- */

/* The split of an axis of size `whole` into `count` pieces, of the sizes in input 1 or of `part` each, the last one
 * smaller. */
typedef struct Chunks {
    Dim whole, count, part;
    bool list; /* the sizes are input 1 */
} Chunks;

/* Raises the lower bound of a run-time size. */
static void at_least(Dim d, int64_t low)
{
    Symbol *s = symbol_of(d);
    if (s && s->low < low)
        s->low = low;
}

/* Reads the sizes of the pieces; false: wrong, reported. */
static bool read_chunks(Node *n, Chunks *c)
{
    Value *split = in(n, 1);
    c->part = D(1);
    c->list = split && split->shape->rank == 1;
    if (split && split->shape->rank > 1)
        return node_error(n, "split is %s; one number, or a list, is possible", shape_text(*split->shape));
    if (c->list) {
        c->count = split->shape->dim[0];
        return true;
    }
    if (split && (in_dims(n, 1, &c->part, 1) < 0 || dim_high(c->part) < 1))
        return node_error(n, "split is no positive number");
    at_least(c->part, 1);
    c->count = dim_ceil(c->whole, c->part);
    return true;
}

/* The pieces as a sequence of known length; NULL: the number is not constant or too large, or an error was reported. */
static Value *constant_pieces(Node *n, const Chunks *c, int axis, bool squeeze)
{
    enum { LIMIT = 10000 };
    int k = dim_is_const(c->count) && dim_value(c->count) <= LIMIT ? (int)dim_value(c->count) : -1;
    Dim *size = NEWS(Dim, k + 1), at = D(0);
    if (k < 0 || (c->list && in_dims(n, 1, size, k) < 0))
        return NULL;
    for (int i = 0; i < k; i++) {
        if (!c->list)
            size[i] = dim_min(c->part, dim_sub(c->whole, dim_mul(c->part, D(i))));
        if (!require_size(n, "size of a piece", &size[i]))
            return NULL;
        at = dim_add(at, size[i]);
    }
    if (c->list && !require_dim(n, "the sum of the pieces", at, c->whole))
        return NULL;
    Value **item = NEWS(Value *, k), *axes = make_ints(n, 1, &(int64_t){axis});
    at = D(0);
    for (int i = 0; i < k; i++) {
        item[i] = inferred(make_piece(n, in(n, 0), axis, at, size[i]));
        if (squeeze)
            item[i] = inferred(make(n, "Squeeze", 2, item[i], axes));
        at = dim_add(at, size[i]);
    }
    return sequence_new(n->graph, in_type(n, 0), k, item);
}

/* An open sequence of pieces. */
static Value *open_pieces(Node *n, const Chunks *c, int axis, bool squeeze)
{
    Shape x = in_shape(n, 0), piece = x;
    ContainerType *b = ctype_new(SEQUENCE, in_type(n, 0));
    b->open = true;
    const Dim pieces = dim_min(c->count, c->list ? D(INT64_MAX) : c->whole);
    if (dim_high(pieces) == INT64_MAX)
        (void)bounds_apply(pieces);
    b->max_count = dim_high(pieces);
    if (b->max_count == INT64_MAX) {
        error_node(n, "SHP-11", "the number of pieces that an axis is split into, %s, has no bound",
                   dim_text(c->count));
        bounds_help(c->count);
        return NULL;
    }
    bool ones = !in(n, 1);
    piece.dim[axis] = ones ? D(1) : D(dim_high(c->list ? c->whole : dim_min(c->part, c->whole)));
    ctype_widen_shape(b, squeeze ? shape_without(piece, axis) : piece);
    for (int i = 0; i < x.rank && !ones; i++)
        b->fixed[i] &= i != axis;
    Node *m = make_node(n, "onnxcc.Cut", 2, (Value *[]){in(n, 0), place_value(n, 1)}, 2);
    m->unsure = c->list;
    attr_set_int(m, "axis", axis);
    attr_set_int(m, "squeeze", squeeze);
    set_out(m, 0, b->type, sequence_data(b));
    set_out(m, 1, I64, sequence_dims(b));
    Value *count = inferred(make(n, "Squeeze", 1, make_dims(n, 1, &c->count)));
    return sequence_open(n->graph, b, count, m->out[1], m->out[0]);
}

static void split_to_sequence(Node *n)
{
    Shape x = in_shape(n, 0);
    if (!x.rank) {
        node_error(n, "a scalar cannot be split");
        return;
    }
    int axis = attr_axis(n, "axis", x.rank), errors = error_count();
    bool squeeze = !in(n, 1) && !attr_int(n, "keepdims");
    Chunks c = {.whole = x.dim[axis]};
    if (!read_chunks(n, &c))
        return;
    Value *y = constant_pieces(n, &c, axis, squeeze);
    if (!y && error_count() == errors)
        y = open_pieces(n, &c, axis, squeeze);
    if (y)
        replace_by(n, y);
}

/* ---- SequenceMap: a Loop over the elements, which appends an element to each result ------------------------------ */

/* Is v a sequence that never has an element? */
static bool is_empty(const Value *v)
{
    return v->form == SEQUENCE &&
           (v->components->ctype.open ? !v->components->ctype.max_count : !v->components->item.n);
}

static void sequence_map(Node *n)
{
    Graph *g = node_attr(n, "body")->g;
    if (g->in.n != n->n_in || g->out.n != n->n_out) {
        error_node(n, "SUB-27", "the body has %d inputs and %d outputs; the node %d and %d", g->in.n, g->out.n, n->n_in,
                   n->n_out);
        return;
    }
    if (is_empty(n->in[0])) {
        for (int i = 0; i < n->n_out; i++)
            replace_out(n, i, sequence_new(n->graph, NO_TYPE, 0, NULL));
        expand_done(n);
        return;
    }
    Value *iteration = value_new(g, name("iteration")), *go_on = value_new(g, name("go_on"));
    Value *in[MAX_ARGS] = {make(n, "SequenceLength", 1, n->in[0]), NULL};
    Node *start = node_new(g, "onnxcc.Start", 0, NULL, 0); /* a place to insert before */
    node_insert(start, g->first);
    for (int i = 0; i < n->n_in; i++) {
        Value *const x = n->in[i];
        if (!takes(n, g->in.at[i], x->form == SEQUENCE ? x->components->ctype.type : x->type,
                   x->form == TENSOR ? x->shape : NULL))
            return;
        value_replace(g->in.at[i], x->form == SEQUENCE ? make(start, "SequenceAt", 2, x, iteration) : x);
    }
    node_remove(start);
    g->in.n = 0;
    vec_push(&g->in, iteration);
    vec_push(&g->in, go_on);
    Node *end = node_new(g, "onnxcc.Start", 0, NULL, 0);
    node_insert(end, NULL);
    Values result = {0};
    vec_push(&result, go_on);
    for (int i = 0; i < n->n_out; i++) {
        Value *so_far = value_new(g, NULL);
        vec_push(&g->in, so_far);
        vec_push(&result, make(end, "SequenceInsert", 2, so_far, g->out.at[i]));
        in[i + 2] = sequence_new(n->graph, NO_TYPE, 0, NULL);
    }
    node_remove(end);
    graph_add_output(g, go_on);
    for (int i = 0; i < result.n; i++)
        graph_set_output(g, i, result.at[i]);
    Node *loop = make_node(n, "Loop", n->n_out + 2, in, n->n_out);
    attr_set(loop, (Attr){.name = name("body"), .type = A_GRAPH, .g = g});
    g->owner = loop;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            replace_out(n, i, loop->out[i]);
    n->n_attr = 0; /* the body is the loop's now */
    expand_done(n);
}

/* ---- Optional... ------------------------------------------------------------------------------------------------- */

/* The attribute `type` is what an optional without an element could hold. */
static void optional(Node *n)
{
    const Attr *a = node_attr(n, "type");
    const TypeDesc *d = a ? a->tp : NULL, *of = d && d->form == SEQUENCE && d->of ? d->of : d;
    Value *x = in(n, 0), *v = optional_new(n->graph, make_scalar(n, B8, x != NULL), x);
    if (of && x && (d->form != x->form || (of->elem && x->type && of->elem != x->type)))
        warn_strict(node_path(n), "ATT-13", "type says %s%s, but the input is %s%s, which counts",
                    d->form == SEQUENCE ? "a sequence of " : "", type_onnx(of->elem),
                    x->form == SEQUENCE ? "a sequence of " : "", type_onnx(x->type));
    if (of && !x)
        v->components->ctype.type = of->elem;
    replace_by(n, v);
}

static void optional_has_element(Node *n)
{
    const Value *v = in(n, 0);
    replace_by(n, v && v->form == OPTIONAL ? v->components->has : make_scalar(n, B8, v != NULL));
}

static void optional_get_element(Node *n)
{
    Value *v = in(n, 0);
    if (v->form == OPTIONAL)
        v = optional_item(n, v);
    if (v)
        replace_by(n, v);
}

/* ---- internal operators on open sequences, whose creator sets the output shapes ---------------------------------- */

/* Element and Join have an input with the row of sizes that determines their shape, so that it is computed before. */

static void set_infer(Node *n) { (void)n; }

/* The creator sets an upper bound along the axis; the kernel reports the size. */
static void join_infer(Node *n)
{
    Shape s = *n->out[0]->shape;
    Dim *d = &s.dim[attr_int(n, "axis")];
    if (symbols_of(n))
        return;
    Symbol *length = symbol_fresh("length", 0, dim_high(*d));
    symbol_made_by(length, n);
    *d = dim_symbol(length);
    set_out(n, 0, in_type(n, 0), s);
}

static Dim slots_of(const Value *v) { return v->shape->dim[0]; }
static Dim slot_of(const Value *v) { return v->shape->dim[1]; }
static Type storage_of(const Value *v) { return type_storage(v->type); }

static void slots_bind(Node *n)
{
    BIND_T(n, slots, storage_of(n->in[0]), .have = slots_of(n->in[0]), .from = slot_of(n->in[0]),
           .to = slot_of(n->out[0]));
}

static void insert_bind(Node *n)
{
    BIND_T(n, insert, storage_of(n->in[0]), .have = slots_of(n->in[0]), .from = slot_of(n->in[0]),
           .to = slot_of(n->out[0]), .size = shape_count(in_shape(n, 1)), .upper = n->out[0]->shape->dim[0]);
}

static void erase_bind(Node *n)
{
    BIND_T(n, erase, storage_of(n->in[0]), .have = slots_of(n->in[0]), .slot = slot_of(n->in[0]));
}

static void element_bind(Node *n)
{
    BIND_T(n, element, storage_of(n->in[0]), .have = slots_of(n->in[0]), .slot = slot_of(n->in[0]),
           .size = shape_count(*n->out[0]->shape));
}

static void join_bind(Node *n)
{
    int axis = (int)attr_int(n, "axis");
    BIND_T(n, join, storage_of(n->in[0]), .have = slots_of(n->in[0]), .slot = slot_of(n->in[0]),
           .width = slot_of(n->in[1]), .rank = D(attr_int(n, "rank")), .axis = D(axis),
           .stack = D(attr_int(n, "stack")), .upper = reported_room(n->out[0]->shape->dim[axis]));
    bind_reported(n);
}

static void cut_bind(Node *n)
{
    Value *split = in(n, 1);
    bool list = split && split->shape->rank == 1;
    Shape x = in_shape(n, 0), y = *n->out[0]->shape;
    int axis = (int)attr_int(n, "axis");
    Dim part = split && !list ? value_dim(split, 0) : D(1);
    struct cut_bind p = {.pieces = list ? split->shape->dim[0] : dim_ceil(x.dim[axis], part),
                         .part = part,
                         .upper = y.dim[0],
                         .slot = y.dim[1],
                         .width = slot_of(n->out[1]),
                         .rank = D(x.rank),
                         .axis = D(axis),
                         .squeeze = D(attr_int(n, "squeeze"))};
    for (int i = 0; i < 16; i++)
        p.dim[i] = i < x.rank ? x.dim[i] : D(1);
    Value *args[] = {n->in[0], list ? split : NULL, n->out[0], n->out[1]};
    bind_kernel(n, "cut", storage_of(n->in[0]), NO_TYPE, cut_fields(), &p, args, 4);
}

#define OWN(name, signature, attrs, infers, how, flag)                                                                       \
    {                                                                                                                  \
        name, 1, signature, "T=ALL14", attrs, .infer = infers, .bind = how, .flags = NOFOLD | PRETYPED | (flag),                 \
                                        .domain = "onnxcc"                                                             \
    }

static const Op sequence_ops[] = {
    {"SequenceConstruct", 11, "inputs*:T -> output_sequence:S", "T=ALL S=seq", "", .expand = sequence_construct},
    {"SequenceEmpty", 11, "-> output:S", "S=seq", "dtype:int=1", .expand = sequence_empty},
    {"SequenceInsert", 11, "input_sequence:S tensor:T position?:I -> output_sequence:S", "S=seq T=ALL I=int32|int64",
     "", .expand = sequence_insert_expand},
    {"SequenceErase", 11, "input_sequence:S position?:I -> output_sequence:S", "S=seq I=int32|int64", "",
     .expand = sequence_erase},
    {"SequenceAt", 11, "input_sequence:S position:I -> tensor:T", "S=seq I=int32|int64 T=ALL", "",
     .expand = sequence_at},
    {"SequenceLength", 11, "input_sequence:S -> length:I", "S=seq I=int64", "", .expand = sequence_length},
    {"ConcatFromSequence", 11, "input_sequence:S -> concat_result:T", "S=seq T=ALL", "axis:int new_axis:int=0",
     .expand = concat_from_sequence},
    {"SplitToSequence", 24, "input:T split?:I -> output_sequence:S", "T=ALLB I=int32|int64 S=seq",
     "axis:int=0 keepdims:int=1", .expand = split_to_sequence},
    {"SplitToSequence", 11, "input:T split?:I -> output_sequence:S", "T=ALL I=int32|int64 S=seq",
     "axis:int=0 keepdims:int=1", .expand = split_to_sequence},
    {"SequenceMap", 17, "input_sequence:S additional_inputs?**:V -> out_sequence**:S", "S=seq V=ALL|seq", "body:graph",
     .expand = sequence_map},

    {"Optional", 28, "input?:V -> output:O", "V=ALL14|seq O=opt", "type:type?", .expand = optional},
    {"Optional", 15, "input?:V -> output:O", "V=ALL|seq O=opt", "type:type?", .expand = optional},
    {"OptionalHasElement", 28, "input?:O -> output:B", "O=ALL14|seq|opt B=bool", "", .expand = optional_has_element},
    {"OptionalHasElement", 18, "input?:O -> output:B", "O=ALL|seq|opt B=bool", "", .expand = optional_has_element},
    {"OptionalHasElement", 15, "input:O -> output:B", "O=opt B=bool", "", .expand = optional_has_element},
    {"OptionalGetElement", 28, "input:O -> output:V", "O=ALL14|seq|opt V=ALL14|seq", "",
     .expand = optional_get_element},
    {"OptionalGetElement", 18, "input:O -> output:V", "O=ALL|seq|opt V=ALL|seq", "", .expand = optional_get_element},
    {"OptionalGetElement", 15, "input:O -> output:V", "O=opt V=ALL|seq", "", .expand = optional_get_element},

    {"SequenceConstruct", 1, "inputs*:T -> output_sequence:S", "T=ALL14 S=seq", "", .expand = sequence_construct,
     .domain = "onnxcc"},
    {"SequenceAt", 1, "input_sequence:S position:I -> tensor:T", "S=seq I=int64 T=ALL14", "", .expand = sequence_at,
     .domain = "onnxcc"},
    OWN("Slots", "x:T count:int64 -> y:T", "", set_infer, slots_bind, 0),
    OWN("Insert", "x:T item:T count:int64 at?:int64 -> y:T", "", set_infer, insert_bind, INPLACE),
    OWN("Erase", "x:T count:int64 at?:int64 -> y:T", "", set_infer, erase_bind, INPLACE),
    OWN("Element", "x:T count:int64 at:int64 row?:int64 -> y:T", "", set_infer, element_bind, 0),
    OWN("Cut", "x:T split?:int64 -> y:T dims:int64", "axis:int squeeze:int", set_infer, cut_bind, 0),
    OWN("Join", "x:T dims:int64 count:int64 row?:int64 -> y:T", "axis:int stack:int rank:int", join_infer, join_bind,
        STOPS),
};
OPS(sequence_ops);
