/* emit_kernels.c - finds the kernels, pointers and sizes that the code uses, and prints the kernels' headers: as
 * includes of the runtime, which become text in a file of its own. */
#include "emit/emit.h"
#include "emit/single.h"

#include <stdlib.h>

#include "base/options.h"
#include "ir/scope.h"
#include "passes/state.h"
#include "rt.h"

/* ---- uses -------------------------------------------------------------------------------------------------------- */

static void add_kernel(Emitter *e, const char *header, Type t, Type u)
{
    EACH_AT (k, e->kernels)
        if (!strcmp(k->header, header) && k->t == t && k->u == u)
            return;
    vec_push(&e->kernels, ((KernelUse){header, t, u}));
}

static void mark_size(Emitter *e, Dim d)
{
    EACH_SYMBOL (s, d) {
        map_put(&e->used, s, s);
        if (s->origin.kind == ORIGIN_ELEMENT)
            s->origin.value->read = true;
    }
}

static void mark_shape(Emitter *e, const Shape *s)
{
    for (int i = 0; i < s->rank; i++)
        mark_size(e, s->dim[i]);
}

static void use_loop(Emitter *e, const Loop *l)
{
    EACH_AT (s, l->steps)
        if (s->fn && strcmp(s->fn, "to"))
            add_kernel(e, "scalar.h", s->a, NO_TYPE);
    mark_shape(e, l->shape);
    for (int i = 0; i < l->n_in; i++)
        mark_shape(e, l->in[i]->shape);
}

/* Marks the values whose pointers occur in the code of n. */
static void mark_read(const Node *n)
{
    const Call *c = &n->call;
    for (int i = 0; i < c->n_arg; i++)
        if (c->arg[i] && (!c->kernel || written_over(c, i) < 0))
            c->arg[i]->read = true;
    if (!(n->op->flags & CONTROL))
        return;
    for (int i = 0; i < n->n_in && i < 2; i++) /* trip count and condition */
        if (n->in[i])
            n->in[i]->read = true;
    const Attr *body = node_attr(n, "body");
    /* Loop-carried values are updated in place; the others are scan outputs, copied slice by slice. */
    int carried = n->n_in - 2;
    for (int i = carried; i < n->n_out && body; i++)
        if (n->out[i])
            n->out[i]->read = true;
    for (int i = 0; body && i < body->g->out.n; i++)
        if (i == 0 || i > carried)
            body->g->out.at[i]->read = true;
    for (int i = 0; body && i < 2; i++)
        body->g->in.at[i]->read = true;
}

/* Is v an empty tensor that only nodes read? Their code does not have its sizes. */
static bool is_nothing(const Value *v)
{
    bool nothing = dim_is(shape_count(*v->shape), 0);
    for (int i = 0; i < v->uses.n && nothing; i++)
        nothing = v->uses.at[i].node && !(v->uses.at[i].node->op->flags & CONTROL);
    return nothing;
}

static void use_node(Emitter *e, const Node *n)
{
    const Call *c = &n->call;
    if (!n->elided)
        mark_read(n);
    EACH_OUT (v, n) {
        if (v->type == NO_TYPE)
            bug("a result of %s has no type", n->op->name);
        if (!is_nothing(v))
            mark_shape(e, v->shape);
        mark_size(e, v->placement->offset);
    }
    if (n->op->flags & CONTROL && node_attr(n, "body") && in(n, 0))
        mark_size(e, value_dim(n->in[0], 0));
    const Dims stacked = stacked_sizes(n);
    for (int i = 0; i < stacked.n; i++)
        mark_size(e, stacked.at[i]);
    if (c->loop)
        use_loop(e, c->loop);
    if (!c->kernel)
        return;
    if (c->kernel->flags & FOLDED && !n->elided)
        bug("%s, a kernel for folding, is in the code", c->kernel->name);
    if (c->kernel->header)
        add_kernel(e, c->kernel->header, c->kernel->t, c->kernel->u);
    if (c->epilogue)
        use_loop(e, c->epilogue);
    EACH_SIZE (s, c)
        mark_size(e, s.param->d);
}

Graph *emitted_graph(const Emitter *e) { return e->entry ? e->entry->graph : e->m->graph; }

void find_uses(Emitter *e)
{
    Graph *g = emitted_graph(e);
    EACH_NODE (n, g)
        use_node(e, n);
    Value *const *in = e->entry ? e->entry->in.at : g->in.at;
    for (int i = 0; i < (e->entry ? e->entry->in.n : g->in.n); i++)
        mark_shape(e, in[i]->shape);
    find_state_uses(mark_size, e);
    for (int i = 0; i < states()->at.n; i++)
        mark_shape(e, states()->at.at[i].copy->out[0]->shape);
    for (int i = 0; i < assumption_count(); i++) {
        if (!graph_encloses(g, assumption_at(i)->n->graph))
            continue;
        mark_size(e, assumption_at(i)->d);
        mark_size(e, assumption_at(i)->is);
    }
}

/* ---- headers ----------------------------------------------------------------------------------------------------- */

static int compare_kernels(const void *a, const void *b)
{
    const KernelUse *x = a, *y = b;
    if (x->t != y->t)
        return (int)x->t - (int)y->t;
    return x->u != y->u ? (int)x->u - (int)y->u : strcmp(x->header, y->header);
}

/* In a file of its own, as in plain C, the headers are read as text. */
static bool is_in_file(void) { return opt()->single || target_is_plain(opt()->target); }

static void put_include(Text *t, const char *header)
{
    text_put(t, is_in_file() ? "#include \"%s\"\n" : "#include <onnxcc/%s>\n", header);
}

/* Instantiates a kernel for its types, once per translation unit, which may have the C of several models. */
static void put_instance(Text *t, const KernelUse *k)
{
    const char *macro = text_format("ONNXCC_%.*s_%s", (int)strcspn(k->header, "."), k->header, type_tag(k->t));
    if (k->u)
        macro = text_format("%s_%s", macro, type_tag(k->u));
    macro = c_upper(macro);
    text_put(t, "#ifndef %s\n#define %s\n", macro, macro);
    put_include(t, k->header);
    text_put(t, "#endif\n");
}

/* Notes that the text after t is of this kind; with --single, t is read as a part of the runtime. */
static void put_part(Text *t, LineKind kind, const void *owner)
{
    if (opt()->single && !target_is_plain(opt()->target))
        single_read(t, kind, owner);
    else
        line_is(t, kind, owner);
}

/* Instantiates kernels with their epilogues. */
static void put_epilogues(Text *t, const Emitter *e)
{
    EACH_AT (u, e->epilogues) {
        put_part(t, LINE_EPILOGUE, u->name);
        if (u->first)
            text_put(t, "\nstatic inline f32 %s(f32 x)\n{\n%s}\n", u->name, u->body);
        text_put(t, "#define T %s\n#define EPI %s\n#define EPI_NAME %s\n", type_tag(u->kernel->t), u->name, u->name);
        put_include(t, u->kernel->header);
        text_put(t, "#undef EPI_NAME\n#undef EPI\n#undef T\n");
    }
}

void put_kernels(Text *t, const Emitter *e)
{
    const bool plain = target_is_plain(opt()->target), fused = !plain && strcmp(opt()->target->name, "generic") != 0;
    if (fused)
        text_put(t, "#define RT_FUSED /* multiply-adds of vectors are rounded once: --target %s */\n",
                 opt()->target->name);
    text_put(t, plain ? "#define ONNXCC_PLAIN\n" : "");
    put_include(t, "rt.h");
    put_include(t, "math.h");
    if (constants()->loaded)
        put_include(t, "hash.h");
    if (e->m->entries.n)
        put_include(t, "state.h");
    if (e->kernels.n)
        qsort(e->kernels.at, (size_t)e->kernels.n, sizeof *e->kernels.at, compare_kernels);
    for (int i = 0; i < e->kernels.n; i++) {
        const KernelUse *k = &e->kernels.at[i];
        bool first = !i || k[-1].t != k->t || k[-1].u != k->u;
        bool last = i + 1 == e->kernels.n || k[1].t != k->t || k[1].u != k->u;
        if (first)
            text_put(t, "\n#define T %s\n", type_tag(k->t));
        if (first && k->u)
            text_put(t, "#define U %s\n", type_tag(k->u));
        put_instance(t, k);
        if (last && k->u)
            text_put(t, "#undef U\n");
        if (last)
            text_put(t, "#undef T\n");
    }
    put_epilogues(t, e);
    put_part(t, LINE_KERNELS, NULL);
    if (fused)
        text_put(t, "#undef RT_FUSED\n");
}
