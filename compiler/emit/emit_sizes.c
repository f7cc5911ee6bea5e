/* emit_sizes.c - variables of run-time sizes: their scopes, definitions and checks. A size is declared in the innermost
 * block that contains its origin and all its uses. */
#include "emit/emit.h"
#include "base/options.h"
#include "ir/scope.h"
#include "passes/state.h"

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

static Graph *birthplace(const Emitter *e, const Symbol *s)
{
    Graph *g = symbol_graph(s);
    return g ? g : e->m->graph;
}

static Graph *scope_of(const Emitter *e, const Symbol *s)
{
    Graph *g = map_get(&e->scope, s);
    return g ? g : birthplace(e, s);
}

bool iterations_exceed_idx(const Node *loop)
{
    const Target *const t = opt()->target;
    const int64_t limit = target_is_portable(t) ? INT16_MAX : target_idx(t);
    const int64_t max = loop->in[0] ? dim_high(value_dim(loop->in[0], 0)) : INT64_MAX;
    return max > limit && (!loop->call.n_size || loop->call.size[0]->high > limit);
}

/* Is s an element whose bounds exceed idx? */
static bool may_exceed_idx(const Symbol *s)
{
    if (symbol_is_iteration(s))
        return iterations_exceed_idx(s->origin.value->graph->owner);
    const int64_t limit = target_idx(opt()->target);
    const bool fits = s->low >= -limit && s->high <= limit;
    return s->origin.kind == ORIGIN_ELEMENT && !fits;
}

/* Code of graph `in` uses d: counts that, and sets the scopes and the types of its symbols. */
static void mention(Emitter *e, Dim d, const Graph *in)
{
    dim_use(d);
    EACH_SYMBOL (s, d) {
        s->is_wide = may_exceed_idx(s);
        Graph *g = scope_of(e, s);
        while (!graph_encloses(g, in))
            g = g->parent;
        if (g != scope_of(e, s))
            map_put(&e->scope, s, g);
    }
}

static void mention_loop(Emitter *e, const Loop *l, const Graph *in)
{
    LoopDims d;
    loop_dims(l, &d);
    for (int i = 0; i < d.rank; i++) {
        mention(e, d.dim[i], in);
        for (int k = 0; k < l->n_in + l->n_out; k++)
            mention(e, d.stride[k][i], in);
    }
}

/* Marks the uses in a loop's code: its trip count, the sizes of its scan outputs, and those that all slices share. */
static void mention_trips(Emitter *e, const Node *n)
{
    const Attr *body = node_attr(n, "body");
    if (body && n->in[0])
        mention(e, value_dim(n->in[0], 0), n->graph);
    for (int i = n->n_in - 2; body && i < n->n_out; i++)
        if (n->out[i])
            for (int k = 0; k < body->g->out.at[i + 1]->shape->rank; k++)
                mention(e, body->g->out.at[i + 1]->shape->dim[k], body->g);
    const Dims stacked = stacked_sizes(n);
    for (int i = 0; i < stacked.n; i++)
        mention(e, stacked.at[i], body->g);
}

static void mention_node(Emitter *e, const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        for (const Value *v = n->out[i]; v && v->storage; v = v->storage)
            mention(e, v->placement->offset, n->graph);
    if (n->elided)
        return;
    if (n->op->flags & CONTROL)
        mention_trips(e, n);
    else if (n->call.loop)
        mention_loop(e, n->call.loop, n->graph);
    else if (n->call.kernel)
        EACH_SIZE (s, &n->call)
            mention(e, s.param->d, n->graph);
}

static void mention_graph(Emitter *e, Graph *g)
{
    const Assumptions assumed = assumptions_of(g);
    EACH_OF (a, assumed) {
        mention(e, a->d, g);
        mention(e, a->is, g);
    }
    for (const Node *n = g->first; n; n = n->next) {
        mention_node(e, n);
        EACH_NESTED (inner, n)
            mention_graph(e, inner);
    }
}

static void mention_outside(Emitter *e, Dim d) { mention(e, d, e->m->graph); }

/* Sizes of outputs are reported to the caller. */
static void mention_outputs(Emitter *e, const Graph *g)
{
    EACH_OF (v, g->out)
        for (int k = 0; k < v->shape->rank; k++)
            mention(e, v->shape->dim[k], g);
}

void find_state_uses(void (*use)(Emitter *, Dim), Emitter *e)
{
    EACH_AT (s, states()->sizes) {
        use(e, dim_symbol(s->symbol));
        use(e, s->next);
    }
}

void find_scopes(Emitter *e)
{
    Graph *g = e->m->graph;
    scopes_begin();
    mention_graph(e, g);
    find_state_uses(mention_outside, e);
    mention_outputs(e, g);
    for (int i = 0; i < e->m->entries.n; i++)
        mention_outputs(e, e->m->entries.at[i]->graph);
}

/* ---- declarations, definitions, checks --------------------------------------------------------------------------- */

static const char *size_name(const Symbol *s)
{
    const struct Origin *o = &s->origin;
    return c_name(o->kind == ORIGIN_ELEMENT ? name_element(o->value->name, o->index) : s->name, "size");
}

static const char *size_type(const Symbol *s) { return s->is_wide ? "i64" : "idx"; }

/* Prints the definition of s, and the check of its bounds; `wide`: its value in 64 bits, if it may not fit idx. */
static void define(Emitter *e, Symbol *s, const char *value, const char *wide)
{
    if (!s->c)
        s->c = size_name(s);
    if (scope_of(e, s) == birthplace(e, s))
        line(e, "const %s %s = %s;", size_type(s), s->c, value);
    else
        line(e, "%s = %s;", s->c, value);
    Text t = {0};
    if (s->low > INT64_MIN)
        text_put(&t, "%s < %lld", s->c, (long long)s->low);
    if (s->high < INT64_MAX)
        text_put(&t, "%s%s > %lld", t.n ? " || " : "", s->c, (long long)s->high);
    if (wide && s->high > target_idx(opt()->target))
        text_put(&t, "%s%s != %s", t.n ? " || " : "", s->c, wide);
    if (t.n)
        fail_if(e, "RT_BAD_SIZE", "%s", t.s);
    s->known = true;
}

void define_symbol(Emitter *e, Symbol *s, const char *value) { define(e, s, value, NULL); }
void define_given(Emitter *e, Symbol *s, const char *field) { define(e, s, text_format("rt_size(%s)", field), field); }

/* The element that s is; 0 if its tensor has fewer, which a check that needs the size then refuses. */
static const char *element(const Symbol *s)
{
    Value *v = s->origin.value;
    const int index = s->origin.index;
    const Dim count = shape_count(*v->shape);
    const char *const size = text_format(s->is_wide ? "%s[%d]" : "rt_size(%s[%d])", pointer(v), index);
    return dim_low(count) > index ? size : text_format("%s > %d ? %s : 0", dim_wide_c(count), index, size);
}

void define_elements(Emitter *e, Value *v)
{
    for (Symbol *s = symbols_of(v); s; s = s->next)
        if (!s->known && map_get(&e->used, s))
            define_symbol(e, s, element(s));
}

void define_iteration(Emitter *e, const Graph *body, const char *iteration)
{
    for (Symbol *s = symbols_of(body->in.at[0]); s; s = s->next) {
        if (s->c)
            line(e, "%s = %s;", s->c, iteration);
        else
            s->c = iteration;
        s->known = true;
    }
}

typedef struct Around {
    Emitter *e;
    const Node *n;
} Around;

static bool is_repeated(const Graph *g, const Graph *in)
{
    for (; g != in; g = g->parent)
        if (node_attr(g->owner, "body"))
            return true;
    return false;
}

static void begin_size(Symbol *s, void *arg)
{
    const Around *a = arg;
    const Graph *g = scope_of(a->e, s), *here = a->n->graph;
    const char *start = text_format("%lld", (long long)symbol_start(s));
    if (g == birthplace(a->e, s) || !graph_encloses(g, here))
        return;
    if (g == here) {
        s->c = size_name(s);
        line(a->e, "%s %s = %s;", size_type(s), s->c, start);
    } else if (is_repeated(here, g))
        line(a->e, "%s = %s;", s->c, start);
}

void begin_sizes(Emitter *e, const Node *n) { symbols_inside(n, begin_size, &(Around){e, n}); }

/* ---- variables for parts of sizes -------------------------------------------------------------------------------- */

/* An expression without the parentheses around all of it. */
static const char *bare(const char *expression)
{
    int depth = 0;
    const char *s = expression;
    do
        depth += (*s == '(') - (*s == ')');
    while (depth > 0 && *++s);
    return s > expression && !s[1] ? text_format("%.*s", (int)(s - expression) - 1, expression + 1) : expression;
}

static void declare_part(Dim d, void *emitter)
{
    Emitter *e = emitter;
    const bool is_wide = !dim_is_plain(d);
    const char *c = c_name(NULL, "size");
    line(e, is_wide ? "const i64 %s = %s;" : "const idx %s = %s;", c, bare(is_wide ? dim_wide_c(d) : dim_c(d)));
    dim_is_variable(d, c, is_wide);
    vec_push(&e->parts, ((SizePart){d, c, is_wide}));
}

void declare_parts(Emitter *e, Dim d) { dim_declare_parts(d, declare_part, e); }

void end_parts(Emitter *e, int before)
{
    while (e->parts.n > before)
        dim_is_variable(e->parts.at[--e->parts.n].d, NULL, false);
}

void hide_parts(const Emitter *e, bool hide)
{
    EACH_AT (part, e->parts)
        dim_is_variable(part->d, hide ? NULL : part->c, part->is_wide);
}

static bool is_finite(Dim d) { return dim_low(d) > INT64_MIN && dim_high(d) < INT64_MAX; }

/* The condition under which an assumption does not hold: "n != 3", "n == 0". */
static const char *failure_of(const Assumption *a)
{
    if (dim_is_truth(a->d) && dim_is(a->is, 0))
        return bare(dim_c(a->d));
    const char *fits = is_finite(a->d) || is_finite(a->is) ? NULL : dim_wide_c(a->d);
    return text_format("%s != %s%s%s%s", dim_wide_c(a->d), dim_wide_c(a->is), fits ? " || !rt_wide_fits(" : "",
                       fits ? fits : "", fits ? ")" : "");
}

void check_assumptions(Emitter *e)
{
    for (Assumption *a; (a = assumption_to_check(e->assumed)) != NULL;) {
        declare_parts(e, a->d);
        declare_parts(e, a->is);
        fail_if(e, "RT_BAD_SIZE", "%s", failure_of(a));
    }
}
