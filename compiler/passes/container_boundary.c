/* container_boundary.c - containers are replaced by their components at the boundaries of nested graphs and of the
 * model. */
#include "base/options.h"
#include "ir/ops.h"
#include "ir/provenance.h"
#include "passes/container.h"

/* ---- the boundary of nested graphs ------------------------------------------------------------------------------- */

void container_outputs(Graph *g, int first, ContainerType *const *ctype)
{
    Node *end = node_new(g, "onnxcc.Start", 0, NULL, 0); /* a position to insert before */
    Values all = {0};
    node_insert(end, NULL);
    for (int i = first; i < g->out.n; i++)
        container_flatten(container_convert(end, g->out.at[i], ctype[i - first]), &all);
    node_remove(end);
    graph_set_outputs(g, first, all.n, all.at);
}

/* A container of type b, of new values that are appended to `to`. */
static Value *add_container(Values *to, Graph *g, const ContainerType *b, const Value *of)
{
    const int first = to->n;
    for (int i = ctype_count(b); i > 0; i--)
        vec_push(to, value_new(g, of ? of->name : NULL));
    Value *const *from = to->at + first;
    return container_rebuild(g, b, &from);
}

void container_results(Node *n, ContainerType *const *ctype, const bool *given)
{
    Values all = {0};
    for (int i = 0; i < n->n_out; i++) {
        if (!ctype[i] || ctype[i]->form == TENSOR) {
            vec_push(&all, n->out[i]);
            continue;
        }
        Value *v = add_container(&all, n->graph, ctype[i], n->out[i]);
        if (n->out[i])
            value_replace(n->out[i], given && given[i] && v->form == OPTIONAL ? optional_item(n, v) : v);
    }
    n->n_out = all.n;
    n->out = all.at;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            node_set_out(n, i, n->out[i]);
}

void container_inputs(Graph *g, int first, ContainerType *const *ctype)
{
    Values all = {0};
    for (int i = 0; i < g->in.n; i++) {
        if (i < first || ctype[i - first]->form == TENSOR) {
            vec_push(&all, g->in.at[i]);
            continue;
        }
        value_replace(g->in.at[i], add_container(&all, g, ctype[i - first], g->in.at[i]));
    }
    memcpy(&g->in, &all, sizeof g->in);
}

void container_arguments(Node *n, int first, ContainerType *const *ctype)
{
    Values all = {0};
    for (int i = 0; i < n->n_in; i++)
        if (i < first)
            vec_push(&all, n->in[i]);
        else
            container_flatten(container_convert(n, n->in[i], ctype[i - first]), &all);
    node_set_inputs(n, all.n, all.at);
}

/* The upper bound of a size that is `first` before the loop and grows by at most `step` per iteration; -1: exceeds the
 * limit. ONE_ITERATION: the size after the simulated iteration. */
static int64_t grown(int64_t first, int64_t now, int64_t after, int64_t step, int64_t trips)
{
    int64_t max;
    if (after <= now || after == INT64_MAX || trips == ONE_ITERATION)
        return after <= now ? now : after;
    if (__builtin_mul_overflow(step, trips, &max) || __builtin_add_overflow(max, first, &max))
        return -1;
    return max > INT32_MAX ? -1 : max > now ? max : now;
}

static const ContainerType *inside(const ContainerType *b, const ContainerType *otherwise)
{
    return b->form != OPTIONAL ? b : b->item.n ? b->item.at[0] : otherwise;
}

ContainerType *ctype_grow(const Node *n, const ContainerType *first, const ContainerType *now,
                          const ContainerType *after, int64_t trips, int tries)
{
    ContainerType *b = ctype_join(n, now, after);
    if (b && b->form == OPTIONAL && b->item.n) {
        const ContainerType *f = inside(first, b->item.at[0]), *p = inside(now, f);
        ContainerType *item = ctype_grow(n, f, p, inside(after, p), trips, tries);
        return item ? ctype_optional(item) : NULL;
    }
    if (b && b->type == STR && b->form != OPTIONAL) {
        b = ctype_copy(b);
        int64_t from = ctype_open(first)->text, was = ctype_open(now)->text, is = ctype_open(after)->text;
        b->text = grown(from, was, is, is - was, trips);
    }
    if (!b || b->form != SEQUENCE || !b->open)
        return b;
    const ContainerType *f = ctype_open(first), *p = ctype_open(now), *q = ctype_open(after);
    b->max_count = grown(f->max_count, p->max_count, q->max_count, q->max_count - p->max_count, trips);
    for (int i = 0; i < b->rank && i < p->rank && i < f->rank && tries > 1; i++) {
        int64_t step = b->size[i] - p->size[i], step_1 = p->size[i] - f->size[i]; /* growth in the first iteration */
        b->size[i] = grown(f->size[i], p->size[i], b->size[i], tries == 2 && step_1 > step ? step_1 : step, trips);
    }
    return b;
}

bool ctype_is_bounded(const ContainerType *b)
{
    bool fine = b->max_count >= 0 && b->text >= 0;
    for (int i = 0; i < b->rank; i++)
        fine &= b->size[i] >= 0;
    for (int i = 0; i < b->item.n; i++)
        fine &= ctype_is_bounded(b->item.at[i]);
    return fine;
}

ContainerType *ctype_empty(const ContainerType *elements)
{
    ContainerType *b = ctype_copy(elements);
    b->max_count = 0;
    return b;
}

/* ---- the boundary of the model ----------------------------------------------------------------------------------- */

typedef struct Boundary {
    VEC(InterfaceGroup) inputs, outputs;
} Boundary;
PART(Boundary, boundary)

int interface_groups(bool of_outputs, const InterfaceGroup **groups)
{
    const Boundary *const b = boundary();
    *groups = of_outputs ? b->outputs.at : b->inputs.at;
    return of_outputs ? b->outputs.n : b->inputs.n;
}

bool interface_is_tensor(bool output, Name n)
{
    const InterfaceGroup *groups;
    for (int i = interface_groups(output, &groups); i-- > 0;)
        if (groups[i].name == n)
            return groups[i].ctype->form == TENSOR;
    return false;
}

void container_drop_output(int i)
{
    EACH_AT (group, boundary()->outputs) {
        if (i < group->first)
            group->first--;
        else if (i < group->first + group->n)
            group->n--;
    }
}

static const char *component_note(const ContainerType *b, int i)
{
    static const char *const parts[] = {": a slot per element of the sequence, filled from its start",
                                        ": a row of sizes per element of the sequence (-1: no such dimension)",
                                        ": the length of the sequence"};
    if (b->open)
        return parts[i];
    if (b->form == MAP && b->item.at[0]->shape.rank > 1)
        return i ? ": the keys of all maps" : ": a row of values per map";
    if (b->form == MAP)
        return i ? ": the keys of these values, without duplicates" : ": the values of a map, in any order";
    if (b->form == SEQUENCE && b->item.n && b->item.at[0]->form == TENSOR)
        return "";
    for (int k = 0; k < b->item.n; i -= ctype_count(b->item.at[k++]))
        if (i < ctype_count(b->item.at[k]))
            return component_note(b->item.at[k], i);
    return b->form == OPTIONAL ? ": is the optional present?" : "";
}

const char *container_note(bool output, int i)
{
    const InterfaceGroup *groups;
    int n = interface_groups(output, &groups);
    for (int k = 0; k < n; k++)
        if (i >= groups[k].first && i < groups[k].first + groups[k].n)
            return component_note(groups[k].ctype, i - groups[k].first);
    return "";
}

const ContainerType *group_sequence(const InterfaceGroup *group)
{
    const ContainerType *b = group->ctype;
    if (b && b->form == OPTIONAL && b->item.n)
        b = b->item.at[0];
    return b && b->open ? b : NULL;
}

bool find_element_limits(const InterfaceGroup *group, int k, int64_t *min, int64_t *max)
{
    const ContainerType *b = group_sequence(group);
    *min = b->fixed[k] ? b->size[k] : k < b->min_rank ? 0 : -1;
    *max = b->size[k];
    return k < b->rank;
}

/* A map with as many values as keys: by --shape, or a run-time size. */
static ContainerType *declared_map(Value *v, const TypeDesc *d)
{
    Dim count;
    if (v->shape->rank < 0) {
        Symbol *s = symbol_fresh(text_format("%s_count", v->name->s), 0, INT64_MAX);
        s->user = true;
        count = dim_symbol(s);
    } else if (v->shape->rank == 1)
        count = v->shape->dim[0];
    else {
        error_value(v, "TYP-05", "the map '%s' is given %d dimensions", printable(v->name), v->shape->rank);
        note_help("say how many entries it has: --shape %s=N", printable(option_quoted(v->name)));
        return NULL;
    }
    ContainerType *b = ctype_new(MAP, d->of->elem);
    for (int i = 0; i < 2; i++) {
        vec_push(&b->item, ctype_new(TENSOR, i ? d->key : d->of->elem));
        b->item.at[i]->shape = shape_list(1, count);
    }
    return b;
}

/* The type of an input declared as d. --shape of a sequence: the maximal length, then the largest sizes of an
 * element. */
static ContainerType *declared_ctype(Value *v, const TypeDesc *d)
{
    if (!d)
        return NULL;
    ContainerType *b = ctype_new(d->form, d->elem);
    if (d->form == TENSOR) {
        b->shape = v->shape->rank >= 0 ? *v->shape : d->shape;
        return b;
    }
    if (d->form == MAP && d->of && d->of->form == TENSOR && d->of->elem && d->key)
        return declared_map(v, d);
    if (!d->of || (d->form != OPTIONAL && (d->form != SEQUENCE || d->of->form != TENSOR)))
        return NULL;
    ContainerType *item = declared_ctype(v, d->of);
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
    if (given.rank < 1 || (given.rank == 1 && of.rank > 0 && !shape_is_const(of)) ||
        (given.rank > 1 && of.rank >= 0 && given.rank != of.rank + 1)) {
        Text sizes = {0};
        for (int i = 0; i < (of.rank < 0 ? 2 : of.rank); i++)
            text_put(&sizes, ",D");
        error_value(v, "TYP-05", "the sequence '%s' has no bounds", printable(v->name));
        note_help("say how many elements it may have%s: --shape %s=N%s", sizes.n ? ", and their largest sizes" : "",
                  printable(option_quoted(v->name)), sizes.n ? sizes.s : "");
        return NULL;
    }
    b->open = true;
    b->max_count = dim_value(given.dim[0]);
    if (of.rank >= 0 && shape_is_const(of))
        ctype_widen_shape(b, of);
    else {
        bool fixed[MAX_RANK] = {false};
        int64_t size[MAX_RANK];
        for (int i = 1; i < given.rank; i++) {
            fixed[i - 1] = of.rank >= 0 && dim_is_const(of.dim[i - 1]);
            size[i - 1] = dim_value(given.dim[i]);
        }
        ctype_widen(b, given.rank - 1, given.rank - 1, size, fixed);
    }
    return b;
}

static Value *input_component(Model *m, Value *of, const char *suffix, Type t, Shape s)
{
    Value *v = value_new(m->graph, *suffix ? name_format("%s_%s", of->name->s, suffix) : of->name);
    v->type = t;
    if (t == STR) /* the bound of its strings' length */
        symbol_fresh(text_format("%s_text", v->name->s), 0, INT64_MAX)->user = true;
    for (int i = 0; i < s.rank; i++) {
        if (dim_is_const(s.dim[i]))
            continue;
        Symbol *y = symbol_of(s.dim[i]);
        if (!y->user) {
            y = symbol_fresh(text_format("%s_%d", of->name->s, i), 0, INT64_MAX);
            y->user = true;
            s.dim[i] = dim_symbol(y);
        }
        symbol_of_input(y, v, i);
    }
    v->shape = shape_keep(s);
    return v;
}

static void enter_ctype(Model *m, Value *v, const ContainerType *b, Values *to)
{
    if (b->form == TENSOR)
        vec_push(to, input_component(m, v, "", b->type, b->shape));
    else if (b->open) {
        vec_push(to, input_component(m, v, "", b->type, sequence_data(b)));
        vec_push(to, input_component(m, v, "dims", I64, sequence_dims(b)));
        vec_push(to, input_component(m, v, "count", I64, shape_list(0)));
    } else if (b->form == MAP) {
        vec_push(to, input_component(m, v, "", b->type, b->item.at[0]->shape));
        vec_push(to, input_component(m, v, "keys", b->item.at[1]->type, b->item.at[1]->shape));
    } else {
        for (int i = 0; i < b->item.n; i++)
            enter_ctype(m, v, b->item.at[i], to);
        vec_push(to, input_component(m, v, "given", B8, shape_list(0)));
    }
}

static Form declared_form(const Value *v) { return v->desc ? v->desc->form : TENSOR; }

void containers_enter(Model *m)
{
    Graph *g = m->graph;
    Values all = {0};
    for (int i = 0; i < g->out.n; i++)
        vec_push(&boundary()->outputs,
                 ((InterfaceGroup){.name = m->declared.at[i], .declared = declared_form(g->out.at[i])}));
    EACH_OF (v, g->in) {
        InterfaceGroup group = {v->name, NULL, all.n, 1, declared_form(v)};
        if (v->form == TENSOR) {
            vec_push(&all, v);
            group.ctype = ctype_of(v);
        } else {
            group.ctype = declared_ctype(v, v->desc);
            if (!group.ctype) {
                if (!error_count()) {
                    error_value(v, "IO-15", "an input of this type is not supported");
                    note_help("inputs may be tensors, sequences of tensors, maps, and optionals of these");
                }
                v->poisoned = true;
                continue;
            }
            enter_ctype(m, v, group.ctype, &all);
            Value *const *from = all.at + group.first;
            value_replace(v, container_rebuild(g, group.ctype, &from));
            group.n = all.n - group.first;
        }
        if (v->form != TENSOR || v->input >= 0)
            vec_push(&boundary()->inputs, group);
    }
    memcpy(&g->in, &all, sizeof g->in);
    int k = 0;
    EACH_OF (v, g->in)
        if (!v->data || v->default_only)
            v->input = k++;
}

static void name_component(Model *m, Name n, const char *suffix)
{
    vec_push(&m->out, *suffix ? name_format("%s_%s", n->s, suffix) : n);
    provenance_part(m->out.at[m->out.n - 1], n);
}

/* Names of components, in the order of container_flatten: "y", "y_dims", "y_count", "y_given"; elements of a sequence
 * of known length: "y_0", "y_1". */
static void name_components(Model *m, const ContainerType *b, Name n)
{
    name_component(m, n, "");
    if (b->open) {
        name_component(m, n, "dims");
        name_component(m, n, "count");
    } else if (b->form == MAP)
        name_component(m, n, "keys");
    else if (b->form != TENSOR) {
        m->out.n--;
        for (int i = 0; i < b->item.n; i++) {
            const Name item = b->form == OPTIONAL ? n : name_format("%s_%d", n->s, i);
            provenance_part(item, n);
            name_components(m, b->item.at[i], item);
        }
        if (b->form == OPTIONAL)
            name_component(m, n, "given");
    }
}

/* Ends the session if sequences become too many outputs: a file of a few bytes can have them as long, and as often, as
 * it likes. */
static void limit_parts(const Graph *g)
{
    enum { LIMIT = 4096 };
    for (int i = 0, n = 0; i < g->out.n; i++) {
        const Value *v = g->out.at[i];
        n += v->form == TENSOR ? 0 : ctype_count(ctype_of(v));
        if (n <= LIMIT)
            continue;
        error_at(text_format("graph.output[%d] \"%s\"", i, printable(boundary()->outputs.at[i].name)), "LIM-01",
                 "the C function would have more than %d outputs for the parts of sequences, optionals and maps",
                 LIMIT);
        stop_on_errors();
    }
}

void containers_leave(Model *m)
{
    Graph *g = m->graph;
    Values all = {0};
    limit_parts(g);
    for (int i = 0; i < g->out.n; i++) {
        Value *v = g->out.at[i];
        InterfaceGroup *group = &boundary()->outputs.at[i];
        group->ctype = ctype_of(v);
        name_components(m, group->ctype, group->name);
        group->first = all.n;
        container_flatten(v, &all);
        group->n = all.n - group->first;
    }
    graph_set_outputs(g, 0, all.n, all.at);
}
