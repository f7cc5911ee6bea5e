/* infer_node.c - infers a node and folds it, or expands it: an old version, a composite. */
#include "base/options.h"
#include "ir/assume.h"
#include "ir/ops.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "passes/passes.h"
#include "read/read.h"

enum { MAX_EXPANSIONS = 2000000 };
PART(int, expansions)

Shape resolve_shape(Shape s)
{
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = dim_resolve(s.dim[i]);
    return s;
}

/* A run-time size may not exceed its declared size; if it does, the run returns an error. */
static void bound_by(const Node *n, Symbol *s, int64_t max)
{
    if (s && !s->user && graph_is_entry(n->graph) && max >= s->low && max < s->high)
        s->high = max;
}

/* Reports a contradiction, as a warning if the operator's shape can be used: of two shapes, or if a function's body
 * declares one, since that need not hold for this call. */
static void report_clash(const Node *n, const Value *v, bool shapes, const char *want, const char *now)
{
    if (v->desc->hint)
        warn_at(node_path(n), "FUN-31", "the function declares '%s' %s, but in this call it is %s", printable(v->name),
                want, now);
    else if (opt()->strict || !shapes)
        error_node(n, "VIN-05", "'%s' is declared %s, but the operator gives %s", printable(v->name), want, now);
    else
        warn_at(node_place(n), "VIN-05", "'%s' is declared %s, but the operator gives %s, which it is taken as",
                printable(v->name), want, now);
}

/* Does the declared shape contradict the inferred one? A number for what the caller decides does; for what only a run
 * shows it is an assumption, unless a branch certainly gives another size than that of a name. */
static bool contradicts(const TypeDesc *d, Shape want, Shape now)
{
    if (want.rank != now.rank)
        return true;
    for (int i = 0; i < want.rank; i++)
        if (dim_is_const(want.dim[i]) && !dim_identical(want.dim[i], now.dim[i]) &&
            (dim_is_of_inputs(now.dim[i]) || (d->dim_param[i] && dim_may_select_other(now.dim[i], want.dim[i]))))
            return true;
    return false;
}

static bool is_in_loop(const Graph *g)
{
    while (g->owner && !node_attr(g->owner, "body"))
        g = g->parent;
    return g->owner != NULL;
}

/* Checks that a dimension name that no input has is the same number in the whole model, and warns of the first that is
 * not: the operators' sizes are right, as some exporters give all unknown sizes, of outputs, too, one name. (Not in a
 * loop's body, which is inferred several times.) If one shape has two numbers by a name, as PyTorch writes it, the shape
 * is wrong. */
static void meet_symbol(Node *n, Value *v, Symbol *s, Dim is)
{
    if (!s || !s->user || s->origin.kind == ORIGIN_INPUT || !dim_is_const(is) || is_in_loop(n->graph))
        return;
    if (s->seen == v && s->size != dim_value(is)) {
        report_clash(n, v, true, shape_text(v->desc->shape), shape_text(*v->shape));
        v->desc->shape.rank = -1;
    } else if (s->seen && s->size != dim_value(is) && !s->clashes) {
        warn_strict(node_place(n), "SHP-10", "'%s' has size %lld where it is declared '%s', which is %lld in '%s'",
                    printable(v->name), (long long)dim_value(is), printable(s->name), (long long)s->size,
                    printable(s->seen->name));
        s->clashes = true;
    }
    if (s->seen)
        return;
    s->seen = v;
    s->size = dim_value(is);
    v->pinned = true;
}

static bool is_model_output(const Value *v) { return graph_is_entry(v->graph) && value_is_output(v); }

bool takes(const Node *n, const Value *formal, Type given, const Shape *shape)
{
    const TypeDesc *d = formal->desc;
    if (!d || d->form != TENSOR)
        return true;
    if (d->elem && given && d->elem != given) {
        report_clash(n, formal, false, type_onnx(d->elem), type_onnx(given));
        return d->hint; /* then it was a warning */
    }
    const Shape want = resolve_shape(d->shape);
    if (!shape || want.rank < 0 || shape->rank < 0 || !contradicts(d, want, *shape))
        return true;
    report_clash(n, formal, true, shape_text(want), shape_text(*shape));
    return d->hint || !opt()->strict;
}

/* Compares a value's declared type and shape with the inferred ones. */
static void meet_declared(Node *n, Value *v)
{
    if (!v->desc || v->desc->form != TENSOR || v->form != TENSOR)
        return;
    Shape want = resolve_shape(v->desc->shape);
    if (v->desc->elem && v->type && v->desc->elem != v->type) {
        report_clash(n, v, false, type_onnx(v->desc->elem), type_onnx(v->type));
        return;
    }
    if (want.rank < 0 || v->shape->rank < 0)
        return;
    if (contradicts(v->desc, want, *v->shape)) {
        report_clash(n, v, true, shape_text(want), shape_text(*v->shape));
        if (!v->desc->hint)
            v->desc->shape.rank =
                -1; /* a loop's body is inferred again, with sizes that vary: no assumptions of it then */
        return;
    }
    Shape now = *v->shape;
    for (int i = 0; i < want.rank; i++) {
        Dim a = want.dim[i], b = now.dim[i];
        if (dim_is_const(a) && dim_is_const(b))
            continue;
        int64_t max = dim_high(a);
        const Symbol *declared = symbol_of(a);
        Symbol *bounded = dim_bounded(b, &max);
        bound_by(n, bounded, max);
        if (bounded && !bounded->user && declared && declared->user && !dim_is_of_inputs(a) && is_model_output(v))
            bounded->bound = declared->name;
        if (dim_is_const(a)) { /* assumed, and checked at run time */
            assume_dim(n, b, a);
            now.dim[i] = a;
        } else if (v->desc->dim_param[i])
            meet_symbol(n, v, symbol_of(a), b);
    }
    v->shape = shape_keep(now);
}

static bool is_poisoned(Node *n)
{
    bool bad = false;
    EACH_IN (v, n)
        bad |= v->poisoned;
    return bad;
}

void poison(Node *n)
{
    EACH_OUT (v, n)
        v->poisoned = true;
}

/* Is the product of the constant sizes small enough for arithmetic? */
static bool fits_in_memory(const Shape *s)
{
    int64_t count = 1;
    for (int i = 0; i < s->rank; i++) {
        const int64_t size = dim_is_const(s->dim[i]) && !dim_is(s->dim[i], 0) ? dim_value(s->dim[i]) : 1;
        if (__builtin_mul_overflow(count, size, &count) || count < 0 || count > MAX_SIZE)
            return false;
    }
    return true;
}

/* Checks the preconditions of infer functions: every input tensor has a known rank and is not too large. */
static bool are_inputs_usable(Node *n)
{
    EACH_IN (v, n) {
        if (v->form != TENSOR)
            continue;
        if (v->shape->rank < 0 && !(n->op->flags & CONTROL)) {
            if (!v->def || !error_count()) { /* else it may follow from another error */
                error_value(v, "IO-02", "the number of dimensions of '%s' is not known", printable(v->name));
                note_help("give its shape: --shape %s=D,D,...", printable(option_quoted(v->name)));
            }
            v->poisoned = !errors_are_deferred(); /* a dropped error is due at the next node that reads v */
            return false;
        }
        if (!fits_in_memory(v->shape)) {
            error_value(v, "SHP-21", "'%s' of the shape %s fits in no memory", printable(v->name),
                        shape_text(*v->shape));
            v->poisoned = !errors_are_deferred();
            return false;
        }
    }
    return true;
}

bool is_composite(const Node *n) { return n->op->expand || n->op->body; }

/* Remarks that n was replaced by the nodes from `first` up to `next`. */
static void remark_expanded(const Node *n, const Node *first, const Node *next)
{
    Text t = {0};
    if (first && first->next == next && node_op(first) == node_op(n)) /* only the version changed */
        return;
    for (const Node *m = first; m && m != next; m = m->next)
        text_put(&t, "%s%s", m == first ? "" : ", ", printable(node_op(m)));
    (void)applies(REWRITE_EXPAND, n, "into %s", t.n ? t.s : "nothing");
}

Node *expand_node(Node *n)
{
    if (++*expansions() > MAX_EXPANSIONS)
        fail(EXIT_MODEL, "the model expands to more than %d operators", MAX_EXPANSIONS);
    Node *before = n->prev, *next = n->next;
    Graph *g = n->graph;
    int errors = error_count(), assumed = assumption_count();
    if (is_poisoned(n) || !check_types(n) || (n->op->expand && !are_inputs_usable(n))) {
        poison(n);
        return next;
    }
    node_in_work(n);
    if (n->op->body)
        expand_body(n, n->op->body);
    else
        n->op->expand(n);
    if (error_count() == errors)
        assumptions_check(assumed);
    node_in_work(NULL);
    if (error_count() > errors) {
        poison(n);
        return next;
    }
    Node *first = before ? before->next : g->first;
    if (remarks_on(REWRITE_EXPAND))
        remark_expanded(n, first, next);
    if (first == next)
        provenance_gone(n, "its results are its inputs, or those of other nodes");
    if (n->expanded)
        node_free(n);
    return first;
}

static void infer_now(Node *n)
{
    int errors = error_count(), assumed = assumption_count();
    if (n->op->flags & REFUSED || is_poisoned(n) || !are_inputs_usable(n) || !check_types(n)) {
        poison(n);
        return;
    }
    if (!n->op->infer)
        bug("operator %s has no infer", n->op->name);
    n->op->infer(n);
    if (error_count() == errors && !(n->op->flags & CONTROL))
        assumptions_check(assumed);
    if (is_composite(n)) /* infer made it one: it is expanded next */
        return;
    if (error_count() == errors)
        EACH_OUT (v, n)
            meet_declared(n, v);
    if (error_count() > errors)
        poison(n);
    else
        fold(n);
}

void infer_node(Node *n)
{
    const Node *before = node_in_work(n);
    infer_now(n);
    provenance_folded(n);
    node_in_work(before);
}

PART(Map, unique_constants) /* bytes -> Value */

/* An earlier constant with the same address, type and shape; else y. */
static Value *unique_constant(Value *y)
{
    Value *same = map_get(unique_constants(), y->data->data);
    if (same && same->graph == y->graph && same->type == y->type && same->shape == y->shape &&
        same->data->splat == y->data->splat) {
        value_free(y);
        return same;
    }
    map_put(unique_constants(), y->data->data, y);
    return y;
}

Value *folded_node(Node *n)
{
    infer_node(n);
    Value *y = n->out[0];
    y->name = y->name ? y->name : n->name;
    if (!y->data || y->data->thunk)
        return y;
    y->def = NULL;
    y->pinned = true;
    node_free(n);
    return unique_constant(y);
}

Value *inferred(Value *made)
{
    infer_node(made->def);
    return made;
}
