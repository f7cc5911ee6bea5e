/* bounds.c - reports sizes without an upper bound, with the options that bound them. */
#include "passes/passes.h"

typedef VEC(Symbol *) Unbounded;

/* Adds the symbols of d that have no bound, also not one through others. False: all have bounds of their own. */
static bool add_unbounded(Unbounded *u, Dim d)
{
    bool found = false;
    EACH_SYMBOL (s, d) {
        if (s->high != INT64_MAX)
            continue;
        found = true;
        bool known = add_unbounded(u, s->upper);
        for (int i = 0; i < u->n; i++)
            known |= u->at[i] == s;
        if (!known)
            vec_push(u, s);
    }
    return found;
}

static void collect_unbounded(Unbounded *u, const Value *v)
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
    const char *shown = printable(name);
    const bool quoted = *is != '=' || shown[strspn(shown, plain)];
    if (strcmp(shown, name->s))
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
        note_help("or freeze the input that it comes from: --const %s=FILE.pb", printable(v->name));
    for (int i = 0; v->def && i < v->def->n_in; i++)
        help_inputs(seen, v->def->in[i]);
}

/* "--shape x=1,3,64,64" */
static void put_shape_option(Text *t, const Value *v)
{
    Text shape = {0};
    for (int k = 0; k < v->shape->rank; k++) {
        Dim d = v->shape->dim[k];
        text_put(&shape, "%s%lld", k ? "," : "", dim_is_const(d) ? (long long)dim_value(d) : k ? 64ll : 1ll);
    }
    put_option(t, "shape", v->name, "=", shape.s, '"');
}

/* The input of which s is a dimension without a name, or NULL. */
static Value *nameless_of(const Symbol *s)
{
    return s->origin.kind == ORIGIN_INPUT && !s->user ? s->origin.value : NULL;
}

/* Suggests the options that bound all sizes of the list, as a line for a shell: with a first dimension of 1, and 64 for
 * others. */
static void help_all(const Unbounded *u)
{
    Text t = {0};
    for (int i = 0; i < u->n; i++) {
        const Symbol *s = u->at[i];
        const Value *input = nameless_of(s);
        bool told = false;
        for (int k = 0; input && k < i; k++)
            told |= nameless_of(u->at[k]) == input;
        if (input && !told)
            put_shape_option(&t, input);
        else if (!input && s->origin.kind == ORIGIN_INPUT && s->origin.index == 0)
            put_option(&t, "dim", s->name, "=", "1", '"');
        else if (!input)
            put_option(&t, "dim", s->name, "<=", "64", '"');
    }
    note_help("all of them, to begin with:%s", t.s);
}

static void report_unbounded(const Symbol *s)
{
    Value *input = nameless_of(s);
    if (input) {
        const Shape *shape = input->shape;
        error_value(input, "SHP-11", "dimension %d of input '%s' %s has no size", s->origin.index,
                    printable(input->name), shape_text(*shape));
        Text t = {0};
        for (int k = 0; k < shape->rank; k++)
            if (dim_is_const(shape->dim[k]))
                text_put(&t, "%s%lld", k ? "," : "", (long long)dim_value(shape->dim[k]));
            else
                text_put(&t, "%sN", k ? "," : "");
        note_help("give it one: --shape %s=%s", printable(input->name), t.s);
        return;
    }
    Map seen = {0};
    if (s->user) {
        error_at("", "SHP-11", "dimension '%s' has no bound", printable(s->name));
        Text value = {0}, bound = {0};
        put_option(&value, "dim", s->name, "=", "1", '\'');
        put_option(&bound, "dim", s->name, "<=", "64", '\'');
        if (value.n)
            note_help("give it a value,%s, or a bound,%s", value.s, bound.s);
        return;
    }
    error_at("", "SHP-11", "the size '%s', known only at run time, has no bound", printable(s->name));
    note_help("give it a bound, --dim '%s<=64'", printable(s->name));
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
    error_at("", "SHP-11", "%d sizes have no bound: %s%s", u->n, t.s, u->n > SHOWN ? " ..." : "");
}

void check_bounds(Model *m)
{
    enum { FEW = 12 };
    Unbounded u = {0};
    for (int i = 0; i < m->graph->in.n; i++)
        collect_unbounded(&u, m->graph->in.at[i]);
    EACH_NODE (n, m->graph)
        EACH_OUT (v, n)
            collect_unbounded(&u, v);
    for (int i = 0; u.n <= FEW && i < u.n; i++)
        report_unbounded(u.at[i]);
    if (u.n > FEW)
        report_many(&u);
    if (u.n > 1)
        help_all(&u);
}
