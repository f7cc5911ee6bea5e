/* state.c - state: pairs outputs with inputs (--state), and stores each such output at the end of a run.
 * Requires: fused. Leaves: kept inputs and outputs are no parameters of the C function. */
#include "passes/state.h"

#include "base/nearest.h"
#include "base/options.h"
#include "ir/assume.h"
#include "ir/call.h"
#include "passes/container.h"
#include "passes/passes.h"

SHARED_PART_IS(States, states);

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* *text: the part that stands for the *. */
static bool matches(Name n, const Pattern *p, Name *text)
{
    *text = NULL;
    if (p->star < 0)
        return name_is(n, p->text);
    const char *end = p->text + p->star + 1;
    const size_t head = (size_t)p->star, tail = strlen(end);
    if (n->n < head + tail || memcmp(n->s, p->text, head) || memcmp(n->s + n->n - tail, end, tail))
        return false;
    *text = name_bytes(n->s + head, n->n - head - tail);
    return true;
}

/* The pattern with the text in place of its *. */
static Name filled(const Pattern *p, Name text)
{
    if (p->star < 0)
        return name(p->text);
    Text t = {0};
    text_bytes(&t, p->text, (size_t)p->star);
    text_bytes(&t, text->s, text->n);
    text_put(&t, "%s", p->text + p->star + 1);
    return name_bytes(t.s, t.n);
}

static Value *find_input(const Model *m, Name n)
{
    EACH_OF (v, m->graph->in)
        if (v->name == n)
            return v;
    return NULL;
}

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

static const KeptState *state_of(const Value *in)
{
    EACH_AT (s, states()->at)
        if (s->in == in)
            return s;
    return NULL;
}

/* help: the input or output that `wanted` may stand for, else the first ones. */
static void note_names(const char *what, Name wanted, Value *const *at, const Name *names, int n)
{
    enum { LISTED = 8 };
    Nearest near = nearest_to(wanted->s, wanted->n);
    for (int i = 0; i < n; i++)
        nearest_try(&near, (names ? names[i] : at[i]->name)->s, (names ? names[i] : at[i]->name)->n);
    if (nearest_help(&near))
        return;
    for (int i = 0; i < n && i < LISTED; i++)
        note_help("%s %d is '%s' %s", what, i, printable(names ? names[i] : at[i]->name), shape_text(*at[i]->shape));
}

/* The input that may keep output y, named `out`; NULL: there is none, reported. */
static Value *partner(const Model *m, const struct StateOption *o, Value *y, Name out, Name in)
{
    Value *x = find_input(m, in);
    if (!x) {
        error_value(y, "ARG-10", "--state %s=%s: the output '%s' has no input '%s'", o->out.text, o->in.text,
                    printable(out), printable(in));
        note_names("input", in, m->graph->in.at, NULL, m->graph->in.n);
        return NULL;
    }
    if (x->input < 0 && !state_of(x))
        return error_null(value_place(x), "ARG-10", "--state: the input '%s' is a constant, by --const", printable(in));
    if (state_of(x))
        return error_null(value_place(x), "ARG-10", "--state: the input '%s' keeps the output '%s' already",
                          printable(in), printable(state_of(x)->out));
    if (!interface_is_tensor(false, in) || !interface_is_tensor(true, out))
        return error_null(value_place(x), "ARG-10", "--state: '%s' and '%s' must be tensors", printable(out),
                          printable(in));
    if (x->type == STR)
        return error_null(value_place(x), "ARG-10", "--state: strings cannot be kept");
    if (x->type != y->type || x->shape->rank != y->shape->rank)
        return error_null(value_place(x), "ARG-10", "--state: the output '%s' is %s %s, the input '%s' %s %s",
                          printable(out), type_onnx(y->type), shape_text(*y->shape), printable(in), type_onnx(x->type),
                          shape_text(*x->shape));
    return x;
}

static KeptSize *kept(const Symbol *s)
{
    EACH_AT (size, states()->sizes)
        if (size->symbol == s)
            return size;
    return NULL;
}

const KeptSize *kept_size(const Symbol *s) { return kept(s); }

/* The size s of a state is `next` after the run. */
static void keep_size(Node *copy, Symbol *s, Dim next)
{
    KeptSize *k = kept(s);
    const bool given = dim_identical(next, dim_symbol(s));
    if (!k)
        vec_push(&states()->sizes, ((KeptSize){s, next, given}));
    else if (k->given && !given)
        *k = (KeptSize){s, next, false};
    else if (!given)
        assume_dim(copy, k->next, next);
}

/* Compares dimension k of the output with the input's. */
static void pair_dims(const Value *x, const Value *y, Name out, Node *copy, int k)
{
    const Dim a = x->shape->dim[k], b = y->shape->dim[k];
    Symbol *s = symbol_of(a);
    if (s)
        keep_size(copy, s, b);
    else if (dim_is_const(a) && dim_is(dim_eq_expr(a, b), 0)) {
        error_value(x, "ARG-10", "--state: dimension %d of the input '%s' is %s, of the output '%s' %s", k,
                    printable(x->name), dim_text(a), printable(out), dim_text(b));
        note_help("a state grows along a dimension that is open, with a bound: --dim 'NAME<=64'");
    } else if (!dim_identical(a, b))
        assume_dim(copy, b, a);
}

/* The only axis along which the state grows; -1: there is none, or there are several. */
static int growing_axis(const Value *x, const Value *y)
{
    int axis = -1, n = 0;
    for (int k = 0; k < x->shape->rank; k++)
        if (!dim_identical(x->shape->dim[k], y->shape->dim[k]))
            axis = k, n++;
    return n == 1 && symbol_of(x->shape->dim[axis]) ? axis : -1;
}

static void pair(Model *m, Value *x, Value *y, Name out)
{
    Node *copy = node_new(m->graph, "onnxcc.Copy", 1, &y, 1);
    copy->name = copy->out[0]->name = out;
    node_insert(copy, NULL);
    infer_same(copy);
    bind_node(copy);
    for (int k = 0; k < x->shape->rank; k++)
        pair_dims(x, y, out, copy, k);
    Value *slot = value_new(m->graph, x->name);
    slot->type = x->type;
    slot->shape = x->shape;
    x->input = -1;
    x->in_state = slot->in_state = true;
    value_carry(x, copy);
    vec_push(&states()->at, ((KeptState){x, out, slot, copy, growing_axis(x, y)}));
}

/* ---- all pairs --------------------------------------------------------------------------------------------------- */

/* Removes output i of the model, which a state keeps. */
static void drop_output(Model *m, int i)
{
    const int last = --m->out.n;
    memmove(&m->out.at[i], &m->out.at[i + 1], sizeof *m->out.at * (size_t)(last - i));
    graph_set_outputs(m->graph, i, last - i, &m->graph->out.at[i + 1]);
}

static void pair_by(Model *m, const struct StateOption *o)
{
    Graph *g = m->graph;
    bool any = false;
    for (int i = 0; i < g->out.n;) {
        Name text, out = m->out.at[i];
        Value *y = g->out.at[i], *x;
        if (!matches(out, &o->out, &text)) {
            i++;
            continue;
        }
        any = true;
        if ((x = partner(m, o, y, out, filled(&o->in, text))) == NULL) {
            i++;
            continue;
        }
        pair(m, x, y, out);
        container_drop_output(i);
        drop_output(m, i);
    }
    if (any)
        return;
    EACH_AT (s, states()->at) {
        Name text;
        if (matches(s->out, &o->out, &text)) {
            error_at("", "ARG-10", "--state %s=%s: the output '%s' is kept already, as '%s'", o->out.text, o->in.text,
                     printable(s->out), printable(s->in->name));
            return;
        }
    }
    error_at("", "ARG-10", "--state %s=%s: the model has no output '%s'", o->out.text, o->in.text, o->out.text);
    note_names("output", name(o->out.text), g->out.at, m->out.at, g->out.n);
}

bool is_given(Dim d)
{
    EACH_SYMBOL (s, d)
        if (s->origin.kind == ORIGIN_ELEMENT || s->origin.kind == ORIGIN_NODE)
            return false;
    return true;
}

void pair_states(Model *m)
{
    if (opt()->eval_dir) /* there they are inputs and outputs */
        return;
    for (int i = 0; i < opt()->states.n; i++)
        pair_by(m, &opt()->states.at[i]);
    for (int i = 0, k = 0; i < m->graph->in.n; i++)
        if (m->graph->in.at[i]->input >= 0)
            m->graph->in.at[i]->input = k++;
}
