/* emit_interface.c - prints the header: macros of every tensor, status codes, run-time sizes, the entry points'
 * parameters. */
#include "emit/emit.h"

#include "base/options.h"
#include "memory/plan.h"
#include "passes/container.h"
#include "passes/state.h"

/* The name of an input or output. Entry points share that of equal tensors. */
static const char *interface_name(Emitter *e, Value *v, const char *otherwise)
{
    const Value *same = v->name && e->entry ? map_get(&e->named, v->name) : NULL;
    if (same && same->type == v->type && shape_identical(*same->shape, *v->shape))
        return same->c;
    if (v->name && !same)
        map_put(&e->named, v->name, v);
    return c_tensor(v->name, otherwise);
}

/* The name of the field for dimension k of an output. */
static const char *dim_field(Emitter *e, const Value *v, int k)
{
    Name n = name_format("%s_dim%d", v->c, k);
    SizeField *same = map_get(&e->dims, n);
    if (same && e->entry)
        return same->name;
    same = NEW(SizeField);
    same->name = c_name(n, "size");
    map_put(&e->dims, n, same);
    return same->name;
}

static void find_sizes(Interface *f, Emitter *e)
{
    for (int i = 0; i < symbol_count(); i++) {
        Symbol *s = symbol_at(i);
        if (symbol_graph(s) || !map_get(&e->used, s))
            continue;
        s->c = s->c && e->entry ? s->c : c_name(s->name, "size");
        if (kept_size(s) && !kept_size(s)->given)
            continue;
        SizeField field = {s->c, s, NULL, 0};
        vec_push(&f->sizes, field);
    }
    EACH_OF (v, f->out)
        for (int k = 0; k < v->shape->rank; k++)
            if (!dim_is_const(v->shape->dim[k]) &&
                !(symbol_of(v->shape->dim[k]) && symbol_of(v->shape->dim[k])->user)) {
                SizeField field = {dim_field(e, v, k), NULL, v, k};
                vec_push(&f->sizes, field);
            }
}

void find_interface(Interface *f, Emitter *e)
{
    Graph *g = emitted_graph(e);
    f->p = e->p;
    f->u = c_upper(e->p);
    f->entry = e->entry;
    Value *const *in = e->entry ? e->entry->in.at : g->in.at;
    for (int i = 0; i < (e->entry ? e->entry->in.n : g->in.n); i++)
        if (in[i]->input >= 0)
            vec_push(&f->in, in[i]);
    for (int i = 0; i < (e->entry ? e->entry->out.n : g->out.n); i++)
        vec_push(&f->out, g->out.at[i]);
    EACH_OF (v, f->in)
        vec_push(&f->parameter, v->c = interface_name(e, v, "input"));
    EACH_OF (v, f->out)
        v->c = interface_name(e, v, "output");
    for (int i = 0; e->entry && i < e->entry->state.n; i++)
        if (e->entry->state.at[i])
            e->entry->state.at[i]->c = text_format("state->%s", e->m->states.at[i]->c);
    find_sizes(f, e);
}

bool is_in_struct(const Interface *f) { return opt()->as_struct && f->in.n + f->out.n + f->sizes.n > 0; }

static Value *tensor_at(const Interface *f, int i) { return i < f->in.n ? f->in.at[i] : f->out.at[i - f->in.n]; }

/* "const float *x": tensor i as a parameter or a field. */
static void put_pointer(Text *t, const Interface *f, int i, const char *qualifier)
{
    text_put(t, "%s%s *%s%s", i < f->in.n ? "const " : "", type_public(tensor_at(f, i)->type), qualifier,
             tensor_at(f, i)->c);
}

/* The tensors and sizes, each a parameter. */
static void put_parameters(Text *t, const Interface *f, How how)
{
    for (int i = 0; i < f->in.n + f->out.n; i++) {
        text_put(t, t->n ? ", " : "");
        if (how == PASSED)
            text_put(t, "%s", tensor_at(f, i)->c);
        else
            put_pointer(t, f, i, how == DEFINED ? "restrict " : "");
    }
    if (f->sizes.n) {
        text_put(t, t->n ? ", " : "");
        text_put(t, how == PASSED ? "sizes" : "struct %s_sizes *sizes", f->p);
    }
}

const char *parameters(const Interface *f, How how)
{
    Text t = {0};
    if (states()->at.n)
        text_put(&t, how == PASSED ? "state" : "struct %s_state *%sstate", f->p, how == DEFINED ? "restrict " : "");
    if (f->entry)
        text_put(&t, how == PASSED ? "state" : "%sstruct %s_state *state", f->entry->kind == ENTRY_RUN ? "const " : "",
                 f->p);
    if (!is_in_struct(f))
        put_parameters(&t, f, how);
    else if (how == PASSED)
        text_put(&t, "%sio", t.n ? ", " : "");
    else
        text_put(&t, "%sstruct %s_io *io", t.n ? ", " : "", f->p);
    if (!t.n)
        text_put(&t, how == PASSED ? "" : "void");
    return t.s ? t.s : "";
}

void put_fields(Text *t, const Interface *f)
{
    if (!is_in_struct(f))
        return;
    for (int i = 0; i < f->in.n + f->out.n; i++) {
        text_put(t, "    ");
        put_pointer(t, f, i, "restrict const ");
        text_put(t, " = io->%s;\n", tensor_at(f, i)->c);
    }
    if (f->sizes.n)
        text_put(t, "    struct %s_sizes *const sizes = &io->sizes;\n", f->p);
}

/* The struct of --struct. */
static void put_struct(Text *t, const Interface *f)
{
    if (!is_in_struct(f))
        return;
    text_put(t, "/* What a run reads and writes. */\nstruct %s_io {\n", f->p);
    for (int i = 0; i < f->in.n + f->out.n; i++) {
        text_put(t, "    ");
        put_pointer(t, f, i, "");
        text_put(t, ";\n");
    }
    if (f->sizes.n)
        text_put(t, "    struct %s_sizes sizes;\n", f->p);
    text_put(t, "};\n\n");
}

/* The type of strings, once per translation unit. */
static void put_string_type(Text *t, const Interface *f)
{
    bool any = false;
    for (int i = 0; i < f->in.n + f->out.n; i++)
        any |= (i < f->in.n ? f->in.at[i] : f->out.at[i - f->in.n])->type == STR;
    if (any)
        text_put(
            t,
            "#ifndef ONNXCC_STRING\n#define ONNXCC_STRING\n"
            "/* A string: bytes, not followed by a NUL, and their number. The text of output strings is in the inputs, the\n"
            " * constants or the arena: it is valid until one of these changes, or until the next run. */\n"
            "typedef struct onnxcc_string {\n    const char *text;\n    uint64_t length;\n"
            "}%s onnxcc_string;\n#endif\n\n",
            target_is_plain(opt()->target) ? "" : " __attribute__((aligned(16), may_alias))");
}

static void put_dims(Text *t, const Value *v)
{
    if (!v->shape->rank)
        text_put(t, "1");
    for (int i = 0; i < v->shape->rank; i++)
        text_put(t, "%s%lld", i ? ", " : "", (long long)dim_high(v->shape->dim[i]));
}

/* The value whose quantisation is v's: v itself, or a value that v's elements are moved from or to. */
static const Value *scaled(const Value *v, bool output)
{
    for (int steps = 0; !v->scale && steps < 16; steps++) {
        const Node *n = output ? v->def : v->uses.n == 1 ? v->uses.at[0].node : NULL;
        if (!n || !(n->op->flags & (VIEW | MOVES)) || n->n_in < 1 || (!output && n->in[0] != v))
            return NULL;
        v = output ? n->in[0] : n->out[0];
        if (!v)
            return NULL;
    }
    return v->scale ? v : NULL;
}

/* Macros of a quantised tensor: the integer q represents SCALE * (q - ZERO_POINT). */
static void put_scale(Text *t, const char *prefix, const char *u, const Value *v, bool output)
{
    const Value *q = scaled(v, output);
    if (!q)
        return;
    char number[40];
    snprintf(number, sizeof number, "%.9g", tensor_get(q->scale->scale, 0));
    text_put(t, "#define %s_%s_SCALE %s%sf\n", prefix, u, number, strpbrk(number, ".e") ? "" : ".0");
    long long zero = q->scale->zero ? tensor_get_int(q->scale->zero, 0) : 0;
    text_put(t, zero < 0 ? "#define %s_%s_ZERO_POINT (%lld)\n" : "#define %s_%s_ZERO_POINT %lld\n", prefix, u, zero);
}

/* "input "x": float [1,3,32,32]" and its macros; run-time sizes are represented by their upper bounds. */
static void put_tensor(Text *t, const Interface *f, const Value *v, const char *what, const char *note)
{
    const char *u = c_upper(v->c);
    const char *pairs = type_part(v->type) == v->type ? "" : text_format(", two %ss each", type_public(v->type));
    text_put(t, "/* %s \"%s\": %s %s%s%s%s */\n", what, c_comment(v->name), type_onnx(v->type), c_shape(*v->shape),
             pairs, v->default_only ? "; NULL: the model's default" : "", note);
    text_put(t, "#define %s_%s_SIZE %lld\n", f->u, u, (long long)shape_high(*v->shape));
    text_put(t, "#define %s_%s_BYTES %lld\n", f->u, u, (long long)max_bytes(v));
    text_put(t, "#define %s_%s_RANK %d\n", f->u, u, v->shape->rank);
    text_put(t, "#define %s_%s_DIMS { ", f->u, u);
    put_dims(t, v);
    text_put(t, " }\n");
    put_scale(t, f->u, u, v, what[0] == 'o');
    text_put(t, "\n");
}

static void put_sizes(Text *t, const Interface *f)
{
    if (!f->sizes.n)
        return;
    text_put(t,
             "/* Sizes known only at run time: the caller sets those of inputs, %s_run writes those of outputs. */\n",
             f->p);
    text_put(t, "struct %s_sizes {\n", f->p);
    EACH_AT (s, f->sizes) {
        if (s->symbol)
            text_put(t, "    int64_t %s; /* set by the caller: %lld to %lld */\n", s->name,
                     (long long)(s->symbol->low < 0 ? 0 : s->symbol->low), (long long)s->symbol->high);
        else
            text_put(t, "    int64_t %s; /* written: dimension %d of %s */\n", s->name, s->axis, s->out->c);
    }
    text_put(t, "};\n\n");
}

/* The status codes that a run may return. */
static void put_status(Text *t, const Interface *f, const Emitter *e)
{
    const char *ok = text_format("%s_OK", f->u); /* F_OK, R_OK, W_OK and X_OK are unistd.h's */
    if (c_is_macro(ok))
        text_put(
            t,
            "#ifdef %s\n#error \"a header included before has %s: compile the model with another --prefix\"\n#endif\n",
            ok, ok);
    if (!e->fallible) {
        text_put(t, "enum { %s_OK = 0 }; /* this model cannot fail at run time */\n", f->u);
    } else {
        Text line = {0};
        text_put(&line, "enum { %s_OK = 0, %s_BAD_SIZE = 1, %s_BAD_INDEX = 2, %s_BAD_VALUE = 3", f->u, f->u, f->u,
                 f->u);
        if (constants()->loaded)
            text_put(&line, ", %s_BAD_WEIGHTS = 4", f->u);
        text_put(&line, e->m->entries.n ? ", %s_BAD_STATE = 5 };" : " };", f->u);
        put_wrapped(t, 0, line.s);
    }
    text_put(t, "const char *%s_status(int status); /* the name of a status */\n\n", f->p);
}

static bool is_of_doubles(const Value *v) { return v && type_part(v->type) == F64; }

static bool has_doubles(const Graph *g)
{
    EACH_OF (v, g->in)
        if (is_of_doubles(v))
            return true;
    EACH_NODE (n, g) {
        EACH_IN (v, n)
            if (is_of_doubles(v))
                return true;
        EACH_OUT (v, n)
            if (is_of_doubles(v))
                return true;
    }
    return false;
}

void put_memory(Text *t, const Interface *f, const Emitter *e)
{
    if (has_doubles(e->m->graph))
        text_put(t,
                 "/* This model has doubles of 64 bits; avr-gcc has them from version 10 on, with -mdouble=64. */\n"
                 "typedef char %s_double_has_64_bits[sizeof(double) == 8 ? 1 : -1];\n\n",
                 f->p);
    text_put(t, "#define %s_ARENA_BYTES %lld /* one block for all intermediate tensors */\n", f->u,
             (long long)(plan()->arena ? plan()->arena : 1));
    text_put(t, "#define %s_ARENA_ALIGN %lld\n", f->u, (long long)plan()->align);
    text_put(t, "#define %s_STACK_BYTES %d /* at the deepest call, ", f->u, report_stack(e->m));
    if (target_loads(opt()->target))
        text_put(t, "as gcc 12 compiles it for x86-64; avr-gcc needs less */\n\n");
    else
        text_put(t, "as gcc 12 compiles it, -O0 to -Os%s%s */\n\n", *opt()->target->cflags ? " with " : "",
                 opt()->target->cflags);
}

/* Is v the first of the values that share its macros? */
static bool has_macros(const Interface *f, const Emitter *e, const Value *v)
{
    const Value *first = f->entry && v->name ? map_get(&e->named, v->name) : NULL;
    return !first || first == v || first->c != v->c;
}

void put_tensors(Text *t, const Interface *f, const Emitter *e)
{
    put_string_type(t, f);
    for (int i = 0; !f->entry && i < e->m->graph->in.n; i++)
        if (e->m->graph->in.at[i]->input >= 0)
            put_tensor(t, f, e->m->graph->in.at[i], "input", container_note(false, i));
    for (int i = 0; f->entry && i < f->in.n; i++)
        if (has_macros(f, e, f->in.at[i]))
            put_tensor(t, f, f->in.at[i], "input", "");
    for (int i = 0; i < f->out.n; i++)
        if (has_macros(f, e, f->out.at[i]))
            put_tensor(t, f, f->out.at[i], "output", f->entry ? "" : container_note(true, i));
}

void put_calling(Text *t, const Interface *f, const Emitter *e, const char *weights)
{
    put_status(t, f, e);
    put_sizes(t, f);
    put_struct(t, f);
    put_state(t, f);
    put_customs(t, e);
    put_weights_interface(t, f->p, weights);
}
