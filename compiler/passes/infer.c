/* infer.c - infer and fold: one forward walk that infers the type and shape of every value, folds nodes with
 * constant inputs, expands old versions and composites, and inlines the branch of an If with a constant condition.
 * Requires: a checked graph. Leaves: type and shape on every value, v->data on every constant. */
#include "passes/infer.h"
#include "base/options.h"
#include "base/nearest.h"
#include "base/progress.h"
#include "ir/assume.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "ir/spatial.h"
#include "passes/alternatives.h"
#include "passes/container.h"
#include "passes/passes.h"
#include "passes/taps.h"
#include "read/read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

PART(Map, asked) /* names of --dim that a message may have suggested */

/* ---- the user's sizes and constants: --dim, --shape, --const ----------------------------------------------------- */

static Value *input_named(Model *m, const char *what, const char *option)
{
    EACH_OF (v, m->graph->in)
        if (name_is(v->name, what))
            return v;
    error_at("", "ARG-04", "%s: the model has no input '%s'", option, what);
    Nearest near = nearest_to(what, strlen(what));
    EACH_OF (v, m->graph->in)
        nearest_try(&near, v->name->s, v->name->n);
    const bool found = nearest_help(&near);
    for (int i = 0; !found && i < m->graph->in.n && i < 8; i++)
        note_help("input %d is '%s' %s", i, printable(m->graph->in.at[i]->name),
                  shape_text(*m->graph->in.at[i]->shape));
    return NULL;
}

static void set_size(Symbol *s, const struct DimOption *o)
{
    if (o->low == o->high)
        symbol_fix(s, D(o->low));
    else {
        s->low = o->low;
        s->high = o->high;
    }
}

static void apply_dims(void)
{
    EACH_AT (o, opt()->dims) {
        Symbol *found = NULL;
        for (int k = 0; k < symbol_count(); k++)
            if (symbol_at(k)->user && name_is(symbol_at(k)->name, o->name))
                found = symbol_at(k);
        if (!found)
            continue; /* a symbol that inference creates later, or a mistake */
        o->used = true;
        set_size(found, o);
    }
}

/* --all-dims: sizes of inputs that the other options left open, and the lengths of input strings. */
static void apply_all_dims(const Model *m)
{
    const bool bound = opt()->all_dims.name && opt()->all_dims.low != opt()->all_dims.high;
    for (int i = 0; bound && i < m->graph->in.n; i++) {
        const Value *v = m->graph->in.at[i];
        Symbol *text = v->type == STR ? symbol_by_name(name_format("%s_text", v->name->s)) : NULL;
        if (text && text->high == INT64_MAX)
            set_size(text, &opt()->all_dims);
    }
    for (int i = 0; opt()->all_dims.name && i < symbol_count(); i++) {
        Symbol *s = symbol_at(i);
        if (s->origin.kind == ORIGIN_INPUT && s->high == INT64_MAX && symbol_of(dim_symbol(s)) == s)
            set_size(s, &opt()->all_dims);
    }
}

/* After an error: which inputs have sizes by --all-dims=N, and how to change them. */
static void help_all_dims(const Model *m)
{
    enum { FEW = 4 };
    const bool fixed = opt()->all_dims.name && opt()->all_dims.low == opt()->all_dims.high;
    for (int i = 0, shown = 0; fixed && i < m->graph->in.n && shown < FEW; i++) {
        const Value *v = m->graph->in.at[i];
        if (v->desc && v->desc->form == TENSOR && v->desc->shape.rank > 0 && !shape_is_const(v->desc->shape) && ++shown)
            note_help("by --all-dims the input '%s' is %s; --shape gives it another shape", printable(v->name),
                      shape_text(*v->shape));
    }
}

/* "v", "v[0]", "v#2" and "v_length" are names of sizes of v. */
static bool is_size_of(Name size, Name v)
{
    return v && v->n && v->n <= size->n && !memcmp(size->s, v->s, v->n) && strchr("[#_", size->s[v->n]);
}

/* Is it the name of a size: of a value, or a word of the compiler? */
static bool is_size(const Model *m, Name size)
{
    EACH_NODE (n, m->graph)
        EACH_OUT (v, n)
            if (is_size_of(size, v->name))
                return true;
    return is_size_of(size, name("trips")) || is_size_of(size, name("length"));
}

/* Collects --dim names that an earlier message may have suggested. Another bound may have made the size known, so that
 * it is no error if such an option is not used. */
static void find_asked(const Model *m)
{
    EACH_AT (o, opt()->dims)
        map_put(asked(), o->name, is_size(m, name(o->name)) ? o : NULL);
}

static void report_no_dim(const char *dim)
{
    enum { FEW = 8 };
    Nearest near = nearest_to(dim, strlen(dim));
    Text t = {0};
    int n = 0;
    for (int k = 0; k < symbol_count(); k++)
        if (symbol_at(k)->user) {
            nearest_try(&near, symbol_at(k)->name->s, symbol_at(k)->name->n);
            if (n++ < FEW)
                text_put(&t, "%s'%s'", n > 1 ? ", " : "", printable(symbol_at(k)->name));
        }
    error_at("", "ARG-05", "--dim %s: the model has no dimension of this name", dim);
    if (!nearest_help(&near) && n)
        note_help("it has %s%s", t.s, n > FEW ? " ..." : "");
}

static void check_dims_used(void)
{
    EACH_AT (o, opt()->dims) {
        if (o->used)
            continue;
        if (map_get(asked(), o->name)) {
            warn_at("", "ARG-09", "--dim %s: nothing depends on it", o->name);
            continue;
        }
        report_no_dim(o->name);
    }
}

/* The --dim option of a dimension; NULL: there is none. */
static const struct DimOption *dim_option(Dim d)
{
    const Symbol *s = symbol_of(d);
    EACH_AT (o, opt()->dims)
        if (s && s->user && name_is(s->name, o->name))
            return o;
    return NULL;
}

static void apply_shapes(Model *m)
{
    EACH_AT (o, opt()->shapes) {
        Value *v = input_named(m, o->input, "--shape");
        if (!v)
            continue;
        if (v->shape->rank >= 0 && v->shape->rank != o->rank) {
            error_value(v, "ARG-06", "--shape gives %d dimensions, the input has %d: %s", o->rank, v->shape->rank,
                        shape_text(*v->shape));
            continue;
        }
        Shape s = {.rank = o->rank};
        for (int k = 0; k < o->rank; k++) {
            /* Dimensions with the same name need not be equal here: some exporters name all open ones alike ("?"). */
            Dim old = v->shape->rank < 0 ? D(o->dim[k]) : v->shape->dim[k], now = dim_resolve(old);
            const struct DimOption *by = dim_option(old);
            if (by && (o->dim[k] < by->low || o->dim[k] > by->high))
                error_value(v, "ARG-06", "--shape gives %lld for dimension %d, --dim %s%s%lld", (long long)o->dim[k], k,
                            by->name, by->low == by->high ? "=" : "<=", (long long)by->high);
            else if (dim_is_const(old) && dim_value(old) != o->dim[k])
                error_value(v, "ARG-06", "--shape gives %lld for dimension %d, the model says %lld",
                            (long long)o->dim[k], k, (long long)dim_value(old));
            else if (!dim_is_const(now))
                symbol_fix(symbol_of(now), D(o->dim[k]));
            s.dim[k] = D(o->dim[k]);
        }
        v->shape = shape_keep(s);
    }
}

/* Is s a list of numbers ("16000", "0,2", "-1.5e3") rather than the name of a file? */
static bool is_numbers(const char *s)
{
    for (;; s++) {
        char *end;
        strtod(s, &end);
        if (end == s || (*end && *end != ','))
            return false;
        if (!*(s = end))
            return true;
    }
}

/* Reads the number at *s, up to a comma or the end, as type t; NULL: not representable. */
static Tensor *const_number(Type t, const char **s)
{
    char *end;
    errno = 0;
    if (type_is_float(t)) {
        double x = strtod(*s, &end);
        *s = end;
        Tensor *e = tensor_float(t, x);
        const bool fits = isfinite(x) ? isfinite(tensor_get(e, 0)) : !errno;
        return fits ? e : NULL;
    }
    const char *from = *s;
    bool wide = t == U64 && *from != '-';
    int64_t i = wide ? (int64_t)strtoull(from, &end, 0) : strtoll(from, &end, 0);
    bool whole = end != from && (!*end || *end == ',') && !errno;
    *s = end;
    Tensor *e = t == B8 || type_is_int(t) ? tensor_int(t, i) : NULL;
    return whole && e && tensor_get_int(e, 0) == i && !(t == B8 && (uint64_t)i > 1) && (wide || t != U64) ? e : NULL;
}

/* Numbers of --const as a tensor of v's type and rank; NULL: wrong, reported. */
static Tensor *const_numbers(const Value *v, const char *text)
{
    VEC(Tensor *) elements = {0};
    for (const char *s = text;; s++) {
        const char *from = s;
        Tensor *e = type_bits(v->type) % 8 ? NULL : const_number(v->type, &s);
        if (!e)
            return error_null(value_place(v), "ARG-07", "--const: '%.*s' is no number of the input's type, %s",
                              (int)strcspn(from, ","), from, type_onnx(v->type));
        vec_push(&elements, e);
        if (!*s)
            break;
    }
    int64_t dim[MAX_RANK] = {elements.n};
    int rank = v->shape->rank < 0 ? elements.n > 1 : v->shape->rank;
    for (int i = 0; rank > 1 && i < rank; i++)
        dim[i] = dim_is_const(v->shape->dim[i]) ? dim_value(v->shape->dim[i]) : 1;
    Tensor *t = tensor_new(v->type, rank, dim);
    if (tensor_count(t) != elements.n)
        error_value(v, "ARG-07", "--const gives %d numbers, the input is %s", elements.n, shape_text(*v->shape));
    else
        for (int i = 0; i < elements.n; i++)
            memcpy((char *)(uintptr_t)t->data + (size_t)(i * (type_bits(v->type) / 8)), elements.at[i]->data,
                   (size_t)type_bits(v->type) / 8);
    return t;
}

static void apply_consts(Model *m)
{
    EACH_AT (o, opt()->consts) {
        Value *v = input_named(m, o->input, "--const");
        if (!v)
            continue;
        if (v->form != TENSOR) {
            error_value(v, "ARG-07", "--const gives a tensor; the input is none");
            continue;
        }
        const char *given = o->file;
        Tensor *t = is_numbers(given) ? const_numbers(v, given) : read_tensor_file(given);
        if (!t)
            continue;
        if (t->type != v->type)
            error_value(v, "ARG-07", "--const: %s holds %s, the input is %s", o->file, type_onnx(t->type),
                        type_onnx(v->type));
        else if (v->shape->rank >= 0 && v->shape->rank != t->rank)
            error_value(v, "ARG-07", "--const: %s has %d dimensions, the input %d", o->file, t->rank, v->shape->rank);
        else {
            for (int k = 0; k < t->rank && v->shape->rank >= 0; k++) {
                Dim d = dim_resolve(v->shape->dim[k]);
                if (dim_is_const(d) && dim_value(d) != t->dim[k])
                    error_value(v, "ARG-07", "--const: dimension %d of %s is %lld, the model says %lld", k, o->file,
                                (long long)t->dim[k], (long long)dim_value(d));
                else if (!dim_is_const(d))
                    symbol_fix(symbol_of(d), D(t->dim[k]));
            }
            v->data = t;
            provenance_option(t, v->name);
            v->shape = shape_keep(tensor_shape(t));
            v->input = -1;
            v->default_only = false;
        }
    }
    int k = 0;
    EACH_OF (x, m->graph->in)
        if (x->input >= 0)
            x->input = k++;
}

/* ---- the walk --------------------------------------------------------------------------------------------------- */

PART(bool, inspects_constants) /* some operator of the model inspects the nodes of constants */

/* Can n be removed, as a folded node whose origin no operator inspects? */
static bool is_done(const Node *n)
{
    return !*inspects_constants() && (n->op->pointwise || n->op->flags & VIEW) && n->out[0] && n->out[0]->data &&
           !n->out[0]->data->symbolic && n->in[0] && n->in[0]->data;
}

void infer_between(Node *before, Node *end)
{
    Node *first = before ? before->next : end->graph->first;
    for (Node *n = first; n != end;) {
        n = alternatives_split(n);
        if (is_composite(n))
            n = expand_node(n);
        else {
            infer_node(n);
            n = is_composite(n) ? n : n->next;
        }
    }
}

void infer_graph(Graph *g)
{
    for (Node *n = g->first; n;) {
        n = alternatives_split(n);
        if (is_composite(n)) {
            n = expand_node(n);
            continue;
        }
        Node *before = n->prev;
        progress_count(0, 0);
        about_to_read(0);
        infer_node(n);
        if (is_composite(n))
            continue;
        /* An If with a constant condition was replaced by its branch: continue there. */
        if (n->op->flags & CONTROL && (n->prev ? n->prev->next : g->first) != n)
            n = before ? before->next : g->first;
        else {
            Node *done = is_done(n) ? n : NULL;
            n = n->next;
            if (done) {
                done->out[0]->def = NULL;
                node_free(done);
            }
            if (!g->parent)
                values_free();
        }
    }
}

/* Checks that an input's default has the input's shape. */
static void check_default(const Value *v)
{
    for (int k = 0; v->fallback && k < v->fallback->rank && k < v->shape->rank; k++)
        if (dim_is(dim_eq_expr(v->shape->dim[k], D(v->fallback->dim[k])), 0)) {
            error_value(v, "IO-10", "the default has %lld elements in dimension %d, the input is %s",
                        (long long)v->fallback->dim[k], k, shape_text(*v->shape));
            note_help("a size that the default does not have needs a model without it");
            return;
        }
}

void infer_model(Model *m)
{
    const int errors = error_count(); /* of earlier stages */
    apply_dims();
    find_asked(m);
    apply_shapes(m);
    apply_consts(m);
    stop_on_new_errors(errors);
    containers_enter(m);
    stop_on_new_errors(errors);
    apply_all_dims(m);
    EACH_OF (v, m->graph->in)
        v->shape = shape_keep(resolve_shape(*v->shape));
    for (int i = 0; i < m->graph->in.n; i++)
        check_default(m->graph->in.at[i]);
    stop_on_new_errors(errors);
    EACH_NODE (n, m->graph)
        *inspects_constants() |= (n->op->flags & INSPECTS_PRODUCERS) != 0;
    infer_graph(m->graph);
    for (int i = 0; i < m->graph->out.n; i++)
        alternatives_choose(m->graph, i, -1);
    if (error_count() > errors) {
        bounds_help_all(m);
        help_all_dims(m);
    } else if (errors)
        check_bounds(m);
    taps_check(m);
    stop_on_errors();
    containers_leave(m);
    check_dims_used();
    check_bounds(m);
    stop_on_errors();
}
