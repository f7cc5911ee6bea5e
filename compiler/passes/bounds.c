/* bounds.c - reports sizes without an upper bound, with the options that bound them: by names of inputs, dimensions and
 * values, and in one line that can be pasted. */
#include "base/options.h"
#include "ir/assume.h"
#include "passes/container.h"
#include "passes/passes.h"

typedef VEC(Symbol *) Unbounded;

PART(Unbounded, asked) /* named in earlier messages */

static Name option_of(const Symbol *s) { return s->bound ? s->bound : symbol_option(s); }

/* With --all-dims='<=N': bounds s. */
static bool bound_by_all(Symbol *s)
{
    if (!opt()->all_dims.name || opt()->all_dims.low == opt()->all_dims.high)
        return false;
    s->high = opt()->all_dims.high;
    return true;
}

bool bounds_apply(Dim d)
{
    bool all = true;
    EACH_SYMBOL (s, d)
        all &= s->high != INT64_MAX || bound_by_all(s);
    return all && dim_high(d) != INT64_MAX;
}

void bounds_help(Dim d)
{
    EACH_SYMBOL (s, d)
        if (s->high == INT64_MAX) {
            note_help("give it a bound, --dim '%s<=64'", printable(option_quoted(option_of(s))));
            vec_push(asked(), s);
        }
}

/* Adds the unbounded symbols of d or, in place of one, those that its upper bound depends on. False: d is bounded. */
static bool add_unbounded(Unbounded *u, Dim d)
{
    bool found = false;
    EACH_SYMBOL (s, d) {
        if (s->high != INT64_MAX)
            continue;
        found = true;
        if (!add_unbounded(u, s->upper))
            vec_add(u, s);
    }
    return found;
}

static void collect_unbounded(const Value *v, void *u)
{
    if (v->form != TENSOR || v->poisoned)
        return;
    for (int i = 0; i < v->shape->rank; i++)
        if (!dim_is_const(v->shape->dim[i]) && dim_high(v->shape->dim[i]) == INT64_MAX)
            add_unbounded(u, v->shape->dim[i]);
}

/* " --dim 'n<=64'", in quotes if a shell needs them; nothing for a name with unprintable characters. */
static void put_option(Text *t, const char *option, Name name, const char *is, const char *value, char quote)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    const Name word = option_quoted(name);
    const char *shown = printable(word);
    const bool quoted = *is != '=' || shown[strspn(shown, plain)];
    if (strcmp(shown, word->s))
        return;
    text_put(t, quoted ? " --%s %c" : " --%s ", option, quote);
    for (const char *s = shown; *s; s++)
        if (quote == '"')
            text_put(t, strchr("\"\\$`", *s) ? "\\%c" : "%c", *s);
        else
            text_put(t, *s == '\'' ? "'\\''" : "%c", *s);
    text_put(t, quoted ? "%s%s%c" : "%s%s", is, value, quote);
}

/* Suggests small inputs that v is computed from: if they are constant, the size is known. */
static void help_inputs(Map *seen, const Value *v)
{
    enum { SMALL = 64, MANY = 1000 };
    if (!v || v->data || seen->n > MANY || map_get(seen, v))
        return;
    map_put(seen, v, (void *)(uintptr_t)v);
    if (v->input >= 0 && v->form == TENSOR && v->shape->rank >= 0 && dim_high(shape_count(*v->shape)) <= SMALL)
        note_help("or freeze the input that it comes from: --const %s=FILE.pb", printable(option_quoted(v->name)));
    for (int i = 0; v->def && i < v->def->n_in; i++)
        help_inputs(seen, v->def->in[i]);
}

/* ---- sizes that suit --------------------------------------------------------------------------------------------- */

enum { EACH = 64 }; /* the size, or bound, that is suggested first */

static bool is_of_input(const Symbol *s) { return s->origin.kind == ORIGIN_INPUT; }
static bool is_batch(const Symbol *s) { return is_of_input(s) && s->origin.index == 0; }

/* Is it an input's first dimension, or assumed to equal one? */
static bool is_first(const Symbol *s)
{
    bool first = is_batch(s);
    for (int i = 0; i < assumption_count() && is_of_input(s) && !first; i++) {
        const Symbol *a = symbol_of(assumption_at(i)->d), *b = symbol_of(assumption_at(i)->is);
        first = (a == s && b && is_batch(b)) || (b == s && a && is_batch(a));
    }
    return first;
}

/* The number that s must be, such as the channels that a convolution's weights have; or 0. (Not where a branch or a loop
 * says so, which may not run.) */
static int64_t needed_size(const Symbol *s)
{
    for (int i = 0; i < assumption_count() && is_of_input(s); i++) {
        const Assumption *a = assumption_at(i);
        const bool left = dim_is_const(a->is);
        const Dim is = left ? a->is : a->d;
        if (symbol_of(left ? a->d : a->is) == s && dim_is_const(is) && dim_value(is) > 0 && !a->n->graph->parent)
            return dim_value(is);
    }
    return 0;
}

/* Has v elements, and so few that all values probably fit in the arena? */
static bool is_suitable_value(const Value *v)
{
    int64_t bits = type_bits(v->type);
    if (v->form != TENSOR || v->poisoned || v->data)
        return true;
    for (int k = 0; k < v->shape->rank; k++) {
        const int64_t size = dim_high(v->shape->dim[k]);
        if ((size < 1 && !dim_is_const(v->shape->dim[k])) || __builtin_mul_overflow(bits, size, &bits))
            return false;
    }
    return bits / 8 <= (opt()->max_arena ? opt()->max_arena : (int64_t)1 << 30) / 4;
}

/* A symbol that can be one number only, as this number: what depends on it is known exactly. */
static Dim number_of(Symbol *s, void *unused)
{
    (void)unused;
    return s->low == s->high ? D(s->low) : dim_symbol(s);
}

/* Do all values have elements, but not too many, and can all assumptions hold, if the listed sizes are these? First
 * dimensions of inputs are `first`, other dimensions of inputs `size`; sizes that a run determines are at most `size`.
 * nested: values of nested graphs, too. */
static bool is_suitable(const Model *m, const Unbounded *u, int64_t first, int64_t size, bool nested)
{
    VEC(int64_t) low = {0}, high = {0};
    EACH_OF (s, *u) {
        const int64_t needed = needed_size(s);
        vec_push(&high, needed ? needed : is_first(s) ? first : !is_of_input(s) && size > EACH ? EACH : size);
    }
    for (int i = 0; i < u->n; i++) {
        Symbol *s = u->at[i];
        vec_push(&low, s->low);
        s->high = high.at[i];
        s->low = is_of_input(s) ? s->high : s->low;
    }
    bool fits = true;
    for (int i = 0; i < m->graph->in.n; i++)
        fits &= is_suitable_value(m->graph->in.at[i]);
    EACH_NODE (n, m->graph)
        EACH_OUT (v, n)
            fits &= (n->graph->parent && !nested) || is_suitable_value(v);
    for (int i = 0; i < assumption_count() && fits; i++) {
        const Assumption *a = assumption_at(i);
        const Dim d = dim_replace(a->d, number_of, NULL), is = dim_replace(a->is, number_of, NULL);
        fits = dim_low(d) <= dim_high(is) && dim_low(is) <= dim_high(d);
    }
    for (int i = 0; i < u->n; i++) {
        u->at[i]->low = low.at[i];
        u->at[i]->high = INT64_MAX;
    }
    return fits;
}

/* The size to suggest for all dimensions but the first ones, which are `first`, or for these, too (0). */
static int64_t suggested_size(const Model *m, const Unbounded *u, int64_t first)
{
    static const int64_t sizes[] = {EACH, 128, 224, 256, 320, 480, 512, 640, 1024, 32, 16, 8, 4, 2, 1};
    for (int nested = 1; nested >= 0; nested--)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (is_suitable(m, u, first ? first : sizes[i], sizes[i], nested))
                return sizes[i];
    return EACH;
}

/* ---- the line to paste ------------------------------------------------------------------------------------------- */

/* "--shape x=1,3,64,64", if v has several sizes of the list that no earlier option gives. */
static void put_shape(Text *t, const Value *v, const Unbounded *u, Unbounded *given, int64_t size)
{
    Unbounded open = {0};
    Text shape = {0};
    for (int k = 0; k < v->shape->rank; k++) {
        const Dim d = v->shape->dim[k];
        Symbol *s = symbol_of(d);
        if (s && vec_has(u, s) && !vec_has(given, s) && !vec_has(&open, s))
            vec_push(&open, s);
        const int64_t needed = s ? needed_size(s) : 0;
        text_put(&shape, "%s%lld", k ? "," : "",
                 dim_is_const(d)    ? (long long)dim_value(d)
                 : needed           ? (long long)needed
                 : s && is_first(s) ? 1
                                    : (long long)size);
    }
    if (open.n < 2 || !interface_is_tensor(false, v->name))
        return;
    put_option(t, "shape", v->name, "=", shape.s, '"');
    for (int i = 0; i < open.n; i++)
        vec_push(given, open.at[i]);
}

/* Suggests the options that bound all sizes of the list, as a line for a shell. */
static void help_all(const Model *m, const Unbounded *u)
{
    Text t = {0};
    Unbounded given = {0};
    Map named = {0};
    const int64_t size = suggested_size(m, u, 1), inner = size < EACH ? size : EACH;
    bool inputs = true;
    EACH_OF (v, m->graph->in)
        if (v->form == TENSOR)
            put_shape(&t, v, u, &given, size);
    for (int i = 0; i < u->n; i++) {
        const Name option = option_of(u->at[i]);
        inputs &= is_of_input(u->at[i]);
        if (vec_has(&given, u->at[i]) || map_get(&named, option))
            continue;
        map_put(&named, option, u->at[i]);
        const int64_t needed = needed_size(u->at[i]);
        if (needed || is_first(u->at[i]))
            put_option(&t, "dim", option, "=", text_format("%lld", needed ? (long long)needed : 1LL), '"');
        else
            put_option(&t, "dim", option, "<=", text_format("%lld", (long long)(is_of_input(u->at[i]) ? size : inner)),
                       '"');
    }
    map_free(&named);
    note_help("all of them, to begin with:%s", t.s);
    if (inputs && is_suitable(m, u, 1, 1, true))
        note_help("or everything that is open: --all-dims=1");
    else
        note_help("or everything that is open: --all-dims='<=%lld'", (long long)suggested_size(m, u, 0));
}

/* Where the model has it: the input whose dimension it is, the tensor that holds it, the node that computes it. */
static const char *place_of(const Symbol *s)
{
    return s->origin.kind == ORIGIN_NODE     ? node_place(s->origin.node)
           : s->origin.kind == ORIGIN_CALLER ? ""
                                             : value_place(s->origin.value);
}

static void report_unbounded(const Symbol *s)
{
    Map seen = {0};
    if (s->user) {
        error_at(place_of(s), "SHP-11", "dimension '%s' has no bound", printable(s->name));
        Text value = {0}, bound = {0};
        const int64_t needed = needed_size(s);
        put_option(&value, "dim", s->name, "=", text_format("%lld", needed ? (long long)needed : 1LL), '\'');
        put_option(&bound, "dim", s->name, "<=", "64", '\'');
        if (value.n && needed)
            note_help("the model needs this value:%s", value.s);
        else if (value.n)
            note_help("give it a value,%s, or a bound,%s", value.s, bound.s);
        return;
    }
    error_at(place_of(s), "SHP-11", "the size '%s', known only at run time, has no bound",
             printable(s->why ? s->why : s->name));
    note_help("give it a bound, --dim '%s<=64'", printable(option_quoted(option_of(s))));
    if (s->origin.kind == ORIGIN_ELEMENT)
        help_inputs(&seen, s->origin.value);
    for (int k = 0; s->origin.kind == ORIGIN_NODE && k < s->origin.node->n_in; k++)
        help_inputs(&seen, s->origin.node->in[k]);
}

static void report_many(const Unbounded *u)
{
    enum { SHOWN = 8 };
    Text t = {0};
    for (int i = 0; i < u->n && i < SHOWN; i++)
        text_put(&t, "%s'%s'", i ? ", " : "", printable(u->at[i]->name));
    error_at(place_of(u->at[0]), "SHP-11", "%d sizes have no bound: %s%s", u->n, t.s, u->n > SHOWN ? " ..." : "");
}

static void each_value(const Model *m, void (*f)(const Value *, void *), void *arg)
{
    EACH_OF (v, m->graph->in)
        f(v, arg);
    EACH_NODE (n, m->graph)
        EACH_OUT (v, n)
            f(v, arg);
}

static Unbounded unbounded_of(const Model *m)
{
    Unbounded u = {0};
    each_value(m, collect_unbounded, &u);
    return u;
}

void bounds_suggested(const Model *m, int64_t first, Sizes *dims)
{
    Unbounded u = unbounded_of(m);
    const int64_t size = suggested_size(m, &u, first);
    EACH_OF (s, u) {
        const int64_t needed = needed_size(s);
        if (s->user && is_of_input(s) && (needed || !is_first(s)))
            vec_push(dims, ((NamedSize){s->name->s, needed ? needed : size}));
    }
}

void bounds_help_all(const Model *m)
{
    Unbounded u = unbounded_of(m);
    if (!asked()->n)
        return;
    EACH_OF (s, *asked())
        vec_add(&u, s);
    if (u.n > 1)
        help_all(m, &u);
}

/* Sizes that other sizes bound are at most these, which have bounds only now. */
static void tighten_bounds(void)
{
    for (int i = 0; i < symbol_count(); i++) {
        Symbol *s = symbol_at(i);
        const int64_t high = dim_high(s->upper);
        s->high = high >= s->low && high < s->high ? high : s->high;
    }
}

/* The bound of a number that the run computes holds for its absolute value, where a size grows as the number falls. */
static void bound_below(const Value *v, void *unused)
{
    (void)unused;
    if (v->form != TENSOR || v->poisoned)
        return;
    for (int i = 0; i < v->shape->rank; i++)
        if (dim_high(v->shape->dim[i]) == INT64_MAX)
            EACH_SYMBOL (s, v->shape->dim[i])
                if (s->low == INT64_MIN && s->high >= 0 && s->high < INT64_MAX)
                    s->low = -s->high;
}

static void report_infinite(const Value *v, void *unused)
{
    (void)unused;
    if (v->form == TENSOR && !v->poisoned && v->shape->rank >= 0 && shape_high(*v->shape) == INT64_MAX)
        error_value(v, "SHP-11", "the size of '%s' has no bound: %s", printable(v->name), shape_text(*v->shape));
}

void check_bounds(const Model *m)
{
    enum { FEW = 12 };
    tighten_bounds();
    Unbounded u = unbounded_of(m);
    for (bool some = true; u.n && some; u = some ? unbounded_of(m) : u) {
        some = false;
        for (int i = 0; i < u.n; i++)
            some |= bound_by_all(u.at[i]);
        tighten_bounds();
    }
    for (int i = 0; u.n <= FEW && i < u.n; i++)
        report_unbounded(u.at[i]);
    if (u.n > FEW)
        report_many(&u);
    if (u.n > 1)
        help_all(m, &u);
    if (!u.n) {
        each_value(m, bound_below, NULL);
        each_value(m, report_infinite, NULL);
    }
}
