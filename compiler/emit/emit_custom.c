/* emit_custom.c - custom operators (--custom-op): each is a function that the header declares, the model's code calls
 * and the user writes. Nodes with the same types, ranks and attributes share one. */
#include "emit/emit.h"

#include <unistd.h>

#include "base/options.h"
#include "base/output.h"

bool is_custom(const Call *c) { return c->kernel && !c->kernel->header; }

const char *custom_name(const Emitter *e, const Call *c) { return map_get(&e->custom, c->kernel); }

static bool are_same_fields(const Field *a, const Field *b)
{
    for (; a->type != FIELD_END; a++, b++)
        if (a->type != b->type || a->count != b->count || strcmp(a->name, b->name))
            return false;
    return b->type == FIELD_END;
}

static bool is_same_function(const Node *a, const Node *b)
{
    const Call *c = &a->call, *d = &b->call;
    bool same = a->source->op_type == b->source->op_type && a->source->domain == b->source->domain &&
                c->kernel->n_in == d->kernel->n_in && c->n_arg == d->n_arg && are_same_fields(c->fields, d->fields);
    for (int i = 0; same && i < c->n_arg; i++)
        same = !c->arg[i] == !d->arg[i] && (!c->arg[i] || c->arg[i]->type == d->arg[i]->type);
    return same;
}

/* The index of n's function in e->customs. */
static int function_of(Emitter *e, const Node *n)
{
    for (int i = 0; i < e->customs.n; i++)
        if (is_same_function(e->customs.at[i].first, n))
            return i;
    vec_push(&e->customs, ((Custom){c_function(n->source->op_type), n, 0}));
    return e->customs.n - 1;
}

/* The fields, with identifiers for the attributes, which follow the sizes and may have any name but the struct's, which
 * is C++'s constructor. */
static const Field *named_fields(const Call *c, const char *structure)
{
    VEC(Field) named = {0};
    Map used = {0};
    int sizes = 0;
    map_put(&used, name(structure), &used);
    for (int i = 0; i < c->n_arg; i++)
        sizes += c->arg[i] && c->arg[i]->shape->rank;
    for (const Field *f = c->fields; f->type != FIELD_END; f++) {
        const char *id = named.n < sizes ? f->name : c_field(name(f->name), &used);
        map_put(&used, name(id), &used);
        vec_push(&named, ((Field){id, f->type, f->count, 0}));
    }
    vec_push(&named, ((Field){0}));
    map_free(&used);
    return named.at;
}

void find_customs(Emitter *e)
{
    EACH_NODE (n, e->m->graph)
        if (is_custom(&n->call)) {
            int i = function_of(e, n);
            e->customs.at[i].calls++;
            map_put(&e->custom, n->call.kernel, (void *)(uintptr_t)e->customs.at[i].name);
        }
    EACH_AT (f, e->customs) {
        const Field *fields = named_fields(&f->first->call, f->name);
        EACH_NODE (n, e->m->graph)
            if (is_custom(&n->call) && custom_name(e, &n->call) == f->name)
                n->call.fields = fields;
    }
}

static void put_arguments(Text *t, const Call *c)
{
    for (int i = 0; i < c->n_arg; i++) {
        bool input = i < c->kernel->n_in;
        text_put(t, "%s%s%s *%s%d", i ? ", " : "", input ? "const " : "",
                 c->arg[i] ? type_public(c->arg[i]->type) : "void", input ? "x" : "y", input ? i : i - c->kernel->n_in);
    }
}

/* "int kws_Wave(const float *x0, float *y0, struct kws_Wave p)" */
static void put_head(Text *t, const Custom *f)
{
    text_put(t, "int %s(", f->name);
    put_arguments(t, &f->first->call);
    text_put(t, f->first->call.fields->type == FIELD_END ? ")" : ", struct %s p)", f->name);
}

/* The types and shapes of the first node that calls f. */
static void put_shapes(Text *t, const Custom *f)
{
    const Call *c = &f->first->call;
    const Name n = name_length(f->first->name) ? f->first->name : f->first->out[0] ? f->first->out[0]->name : NULL;
    text_put(t, " * In \"%s\":", n ? c_comment(n) : "");
    for (int i = 0; i < c->n_arg; i++) {
        const bool input = i < c->kernel->n_in;
        text_put(t, "%s %s%d ", i ? "," : "", input ? "x" : "y", input ? i : i - c->kernel->n_in);
        if (c->arg[i])
            text_put(t, "%s %s", type_onnx(c->arg[i]->type), c_shape(*c->arg[i]->shape));
        else
            text_put(t, "NULL");
    }
    text_put(t, "%s\n", f->calls > 1 ? text_format("; %d nodes call it", f->calls) : "");
}

static void put_custom(Text *t, const Custom *f)
{
    static const char *const types[] = {
        [FIELD_i64] = "int64_t ", [FIELD_f32] = "float ", [FIELD_text] = "const char *"};
    const Call *c = &f->first->call;
    text_put(t, "/* Operator %s", c_comment(f->first->source->op_type));
    text_put(t, " of %s, defined by the user. Returns 0, or another status, which ends the run and is its result.\n",
             c_comment(f->first->source->domain));
    text_put(t,
             " * Elements are row-major; omitted inputs and outputs are NULL. Its stack is not part of STACK_BYTES.\n");
    put_shapes(t, f);
    text_put(t, " */\n");
    if (c->fields->type != FIELD_END) {
        text_put(t, "struct %s {\n", f->name);
        for (const Field *p = c->fields; p->type != FIELD_END; p++) {
            text_put(t, "    %s%s", types[p->type], p->name);
            text_put(t, p->count ? "[%d];\n" : ";\n", p->count);
        }
        text_put(t, "};\n");
    }
    put_head(t, f);
    text_put(t, ";\n\n");
}

void put_customs(Text *t, const Emitter *e)
{
    for (int i = 0; i < e->customs.n; i++)
        put_custom(t, &e->customs.at[i]);
}

/* ---- the stub ---------------------------------------------------------------------------------------------------- */

/* An empty definition, which compiles and returns an error. */
static void put_stub(Text *t, const Custom *f)
{
    const Call *c = &f->first->call;
    text_put(t, "\n/* %s", c_comment(f->first->source->op_type));
    text_put(t, " of %s.\n", c_comment(f->first->source->domain));
    put_shapes(t, f);
    text_put(t, " */\n");
    put_head(t, f);
    text_put(t, "\n{\n");
    for (int i = 0; i < c->n_arg; i++) {
        const bool input = i < c->kernel->n_in;
        text_put(t, "    (void)%s%d;\n", input ? "x" : "y", input ? i : i - c->kernel->n_in);
    }
    text_put(t, "%s    return -1; /* not written yet; 0: done */\n}\n",
             c->fields->type == FIELD_END ? "" : "    (void)p;\n");
}

void write_stubs(const Emitter *e, const char *header)
{
    Text t = {0};
    text_put(&t, "/* The custom operators of %s, to be filled in. onnxcc writes this file only once. */\n",
             c_comment(e->m->base));
    text_put(&t, "#include \"%s\"\n", header);
    for (int i = 0; i < e->customs.n; i++)
        put_stub(&t, &e->customs.at[i]);
    if (access(opt()->custom_stub, F_OK) == 0)
        fail(EXIT_IO, "--custom-stub %s: the file exists; onnxcc does not write over code that may be yours",
             opt()->custom_stub);
    output_write(output_open(opt()->custom_stub), t.s, t.n);
}
