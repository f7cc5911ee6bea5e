/* emit.c - emit: the program's files from the templates, the body from emit_code.c, the constants from weights.c.
 * Requires: a planned graph. These three files and names.c are the only ones that print C. */
#include "emit.h"

#include <ctype.h>
#include <stdlib.h>

#include "infer.h"
#include "output.h"
#include "schema.h"

const char *embedded_text(const char *file)
{
    for (const Embedded *e = embedded; e->name; e++)
        if (!strcmp(e->name, file))
            return e->text;
    bug("no embedded file %s", file);
}

/* ---- templates -------------------------------------------------------------------------------------------------------- */

typedef struct Hole {
    const char *name, *text;
} Hole;

static void fill_template(Text *t, const char *template, const Hole *holes)
{
    const char *s = embedded_text(template);
    for (const char *at; (at = strchr(s, '@')) != NULL; s = at) {
        text_bytes(t, s, (size_t)(at - s));
        const char *end = strchr(++at, '@');
        const Hole *h = holes;
        while (h->name && (strlen(h->name) != (size_t)(end - at) || memcmp(h->name, at, (size_t)(end - at))))
            h++;
        if (!h->name)
            bug("template %s has an unknown hole", template);
        text_put(t, "%s", h->text ? h->text : "");
        at = end + 1;
    }
    text_put(t, "%s", s);
}

/* ---- the interface ------------------------------------------------------------------------------------------------------- */

/* The type that a user of the header sees. */
static const char *public_type(Type t)
{
    switch (t) {
    case F32: return "float";
    case F64: return "double";
    case F16: case BF16: case U16: return "uint16_t";
    case I8: return "int8_t";
    case I16: return "int16_t";
    case I32: return "int32_t";
    case I64: return "int64_t";
    case U32: return "uint32_t";
    case U64: return "uint64_t";
    case STR: return "onnxcc_string";
    default: return "uint8_t";
    }
}

typedef struct Interface {
    const char *p, *u;  /* prefix, and in capitals */
    VEC(Value *) in;
    VEC(const char *) parameter;    /* of each: its name (the value's own pointer may be another, for a default) */
    VEC(Value *) out;
    VEC(SizeField) sizes;
} Interface;

static int64_t high_bytes(const Value *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->shape.rank; i++)
        n *= dim_high(v->shape.dim[i]);
    return (int64_t)type_bytes(v->type, n);
}

static void find_interface(Interface *f, Emitter *e)
{
    Graph *g = e->m->graph;
    f->p = e->p;
    f->u = c_upper(e->p);
    for (int i = 0; i < g->in.n; i++)
        if (g->in.at[i]->input >= 0)
            vec_push(&f->in, g->in.at[i]);
    for (int i = 0; i < g->out.n; i++)
        vec_push(&f->out, g->out.at[i]);
    for (int i = 0; i < f->in.n; i++)
        vec_push(&f->parameter, f->in.at[i]->c = c_name(f->in.at[i]->name, "input"));
    for (int i = 0; i < f->out.n; i++)
        f->out.at[i]->c = c_name(f->out.at[i]->name, "output");
    for (int i = 0; i < symbol_count(); i++) {
        Symbol *s = symbol_at(i);
        if (s->from || s->node || !map_get(&e->used, s))
            continue;
        s->c = c_name(s->name, "size");
        SizeField field = {s->c, s, NULL, s->axis};
        vec_push(&f->sizes, field);
    }
    for (int i = 0; i < f->out.n; i++)
        for (int k = 0; k < f->out.at[i]->shape.rank; k++)
            if (!dim_const(f->out.at[i]->shape.dim[k]) &&
                !(symbol_of(f->out.at[i]->shape.dim[k]) && symbol_of(f->out.at[i]->shape.dim[k])->user)) {
                SizeField field = {c_name(name_format("%s_dim%d", f->out.at[i]->c, k), "size"), NULL, f->out.at[i], k};
                vec_push(&f->sizes, field);
            }
}

/* Parameters as declared in the header, as defined (restrict: C only), or as passed on. */
typedef enum How { PUBLIC, DEFINED, PASSED } How;
static const char *parameters(const Interface *f, How how)
{
    Text t = {0};
    for (int i = 0; i < f->in.n + f->out.n; i++) {
        bool input = i < f->in.n;
        const Value *v = input ? f->in.at[i] : f->out.at[i - f->in.n];
        text_put(&t, i ? ", " : "");
        if (how == PASSED)
            text_put(&t, "%s", v->c);
        else
            text_put(&t, "%s%s *%s%s", input ? "const " : "", public_type(v->type), how == DEFINED ? "restrict " : "", v->c);
    }
    if (f->sizes.n) {
        text_put(&t, t.n ? ", " : "");
        text_put(&t, how == PASSED ? "sizes" : "struct %s_sizes *sizes", f->p);
    }
    if (!t.n)
        text_put(&t, how == PASSED ? "" : "void");
    return t.s ? t.s : "";
}

/* What a string is, once per program. */
static void put_string_type(Text *t, const Interface *f)
{
    bool any = false;
    for (int i = 0; i < f->in.n + f->out.n; i++)
        any |= (i < f->in.n ? f->in.at[i] : f->out.at[i - f->in.n])->type == STR;
    if (any)
        text_put(t, "#ifndef ONNXCC_STRING\n#define ONNXCC_STRING\n"
                    "/* A string: bytes, without a NUL behind them, and how many. The text of those that a run gives out is in its\n"
                    " * inputs, its constants or its arena: valid until one of these changes, or the next run. */\n"
                    "typedef struct onnxcc_string {\n    const char *text;\n    uint64_t length;\n"
                    "} __attribute__((aligned(16), may_alias)) onnxcc_string;\n#endif\n\n");
}

static void put_dims(Text *t, const Value *v)
{
    if (!v->shape.rank)
        text_put(t, "1");
    for (int i = 0; i < v->shape.rank; i++)
        text_put(t, "%s%lld", i ? ", " : "", (long long)dim_high(v->shape.dim[i]));
}

/* "input "x": float [1,3,32,32]" and its macros; sizes are the largest ones where they vary. */
static void put_tensor(Text *t, const Interface *f, const Value *v, const char *what)
{
    const char *u = c_upper(v->c);
    text_put(t, "/* %s \"%s\": %s %s%s */\n", what, c_comment(v->name), type_onnx(v->type), c_comment(name(shape_text(v->shape))),
             v->default_only ? "; NULL: the model's default" : "");
    int64_t n = 1;
    for (int i = 0; i < v->shape.rank; i++)
        n *= dim_high(v->shape.dim[i]);
    text_put(t, "#define %s_%s_SIZE %lld\n", f->u, u, (long long)n);
    text_put(t, "#define %s_%s_BYTES %lld\n", f->u, u, (long long)high_bytes(v));
    text_put(t, "#define %s_%s_RANK %d\n", f->u, u, v->shape.rank);
    text_put(t, "#define %s_%s_DIMS { ", f->u, u);
    put_dims(t, v);
    text_put(t, " }\n\n");
}

static const char *sizes_struct(const Interface *f)
{
    Text t = {0};
    if (!f->sizes.n)
        return "";
    text_put(&t, "/* Sizes that vary from run to run: the caller sets the inputs', %s_run writes the outputs'. */\n", f->p);
    text_put(&t, "struct %s_sizes {\n", f->p);
    for (int i = 0; i < f->sizes.n; i++) {
        const SizeField *s = &f->sizes.at[i];
        if (s->symbol)
            text_put(&t, "    int64_t %s; /* set by the caller: %lld to %lld */\n", s->name,
                     (long long)(s->symbol->low < 0 ? 0 : s->symbol->low), (long long)s->symbol->high);
        else
            text_put(&t, "    int64_t %s; /* written: dimension %d of %s */\n", s->name, s->axis, s->out->c);
    }
    text_put(&t, "};\n\n");
    return t.s;
}

/* ---- the kernels a model needs -------------------------------------------------------------------------------------------- */

typedef struct Instance {
    const char *header;
    Type t, u;
} Instance;

typedef struct Uses {
    VEC(Instance) list;
    Emitter *e;
} Uses;

static void add_instance(Uses *u, const char *header, Type t, Type second)
{
    for (int i = 0; i < u->list.n; i++)
        if (!strcmp(u->list.at[i].header, header) && u->list.at[i].t == t && u->list.at[i].u == second)
            return;
    vec_push(&u->list, ((Instance){header, t, second}));
}

static void mark_symbol(Symbol *s, void *arg)
{
    Emitter *e = arg;
    map_put(&e->used, s, s);
    if (s->from)
        map_put(&e->read, s->from, s->from);
}

static void mark_shape(Emitter *e, const Shape *s)
{
    for (int i = 0; i < s->rank; i++)
        dim_symbols(s->dim[i], mark_symbol, e);
}

static void use_loop(Uses *u, const Loop *l)
{
    for (int i = 0; i < l->steps.n; i++)
        if (l->steps.at[i].fn && strcmp(l->steps.at[i].fn, "to"))
            add_instance(u, "scalar.h", l->steps.at[i].a, NO_TYPE);
    mark_shape(u->e, &l->shape);
    for (int i = 0; i < l->n_in; i++)
        mark_shape(u->e, &l->in[i]->shape);
}

/* The values whose pointers the code of n mentions. */
static void mark_read(Emitter *e, const Node *n)
{
    for (int i = 0; i < n->call.n_arg; i++)
        if (n->call.arg[i])
            map_put(&e->read, n->call.arg[i], n->call.arg[i]);
    if (!(n->op->flags & CONTROL))
        return;
    for (int i = 0; i < n->n_in && i < 2; i++) /* how often, and whether */
        if (n->in[i])
            map_put(&e->read, n->in[i], n->in[i]);
    for (int i = 0; i < n->n_out && node_attr(n, "body"); i++)
        if (n->out[i])
            map_put(&e->read, n->out[i], n->out[i]);
    for (int k = 0; k < n->n_attr; k++)
        for (int i = 0; n->attr[k].g && i < n->attr[k].g->out.n; i++)
            if (!strcmp(n->attr[k].name->s, "body"))
                map_put(&e->read, n->attr[k].g->out.at[i], n->attr[k].g->out.at[i]);
    const Attr *body = node_attr(n, "body");
    for (int i = 0; body && i < 2; i++)
        map_put(&e->read, body->g->in.at[i], body->g->in.at[i]);
}

static void use_node(Node *n, void *arg)
{
    Uses *u = arg;
    const Call *c = &n->call;
    if (!n->free)
        mark_read(u->e, n);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]) {
            mark_shape(u->e, &n->out[i]->shape);
            dim_symbols(n->out[i]->root_offset, mark_symbol, u->e);
        }
    if (n->op->flags & CONTROL && node_attr(n, "body") && in(n, 0))
        dim_symbols(value_dim(n->in[0], 0), mark_symbol, u->e);
    if (c->loop)
        use_loop(u, c->loop);
    if (!c->kernel)
        return;
    add_instance(u, c->kernel->header, c->kernel->t, c->kernel->u);
    if (c->epilogue)
        use_loop(u, c->epilogue);
    const Param *p = c->param;
    for (const Field *f = c->fields; f->type != FIELD_END; f++)
        for (int i = 0; i < (f->count ? f->count : 1); i++, p++)
            if (f->type == FIELD_idx || f->type == FIELD_int || f->type == FIELD_i64)
                dim_symbols(p->d, mark_symbol, u->e);
}

static Map pasted; /* headers that are in the text already */

static int compare_instances(const void *a, const void *b)
{
    const Instance *x = a, *y = b;
    if (x->t != y->t)
        return (int)x->t - (int)y->t;
    return x->u != y->u ? (int)x->u - (int)y->u : strcmp(x->header, y->header);
}

/* A runtime header's text in place of its #include. What it includes itself comes with it, once; scalar.def, which is
 * no header, each time. */
static void paste(Text *t, const char *text)
{
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t n = end ? (size_t)(end - text) + 1 : strlen(text);
        if (strncmp(text, "#include \"", 10))
            text_bytes(t, text, n);
        else {
            Name file = name_bytes(text + 10, strcspn(text + 10, "\""));
            bool header = strstr(file->s, ".h") != NULL;
            if (!(header && map_get(&pasted, file)) && !name_is(file, "kernel.h")) {
                if (header)
                    map_put(&pasted, file, (void *)(uintptr_t)file);
                paste(t, embedded_text(file->s));
            }
        }
        text += n;
    }
}

static void put_include(Text *t, const char *header)
{
    if (opt.single)
    {
        map_put(&pasted, name(header), (void *)(uintptr_t)header);
        paste(t, embedded_text(header));
    }    else
        text_put(t, "#include <onnxcc/%s>\n", header);
}

/* Heavy kernels once more, each with what follows it. */
static void put_epilogues(Text *t, const Emitter *e)
{
    for (int i = 0; i < e->epilogues.n; i++) {
        const EpilogueUse *u = &e->epilogues.at[i];
        if (u->first)
            text_put(t, "\nstatic inline f32 %s(f32 x)\n{\n%s}\n", u->name, u->body);
        text_put(t, "#define T %s\n#define EPI %s\n#define EPI_NAME %s\n", type_tag(u->kernel->t), u->name, u->name);
        put_include(t, u->kernel->header);
        text_put(t, "#undef EPI_NAME\n#undef EPI\n#undef T\n");
    }
}

static const char *kernel_text(Uses *u)
{
    Text t = {0};
    memset(&pasted, 0, sizeof pasted);
    if (opt.single)
        paste(&t, "#include \"rt.h\"\n#include \"math.h\"\n");
    else
        text_put(&t, "#include <onnxcc/rt.h>\n#include <onnxcc/math.h>\n");
    if (constants.loaded)
        put_include(&t, "hash.h");
    if (u->list.n)
        qsort(u->list.at, (size_t)u->list.n, sizeof *u->list.at, compare_instances);
    for (int i = 0; i < u->list.n; i++) {
        const Instance *k = &u->list.at[i];
        bool first = !i || k[-1].t != k->t || k[-1].u != k->u;
        bool last = i + 1 == u->list.n || k[1].t != k->t || k[1].u != k->u;
        if (first)
            text_put(&t, "\n#define T %s\n", type_tag(k->t));
        if (first && k->u)
            text_put(&t, "#define U %s\n", type_tag(k->u));
        put_include(&t, k->header);
        if (last && k->u)
            text_put(&t, "#undef U\n");
        if (last)
            text_put(&t, "#undef T\n");
    }
    put_epilogues(&t, u->e);
    return t.s;
}

/* ---- the files --------------------------------------------------------------------------------------------------------------------- */

static const char *banner(const Model *m)
{
    Text t = {0};
    text_put(&t, "%s (XXH3 %016llx) compiled by onnxcc %s", c_comment(m->base), (unsigned long long)m->hash, ONNXCC_VERSION);
    text_put(&t, ": --target %s", opt.target->name);
    for (int i = 0; i < opt.dims.n; i++) {
        const struct DimOption *o = &opt.dims.at[i];
        text_put(&t, o->low == o->high ? " --dim %s=%lld" : " --dim %s<=%lld", c_comment(name(o->name)), (long long)o->high);
    }
    for (int i = 0; i < opt.shapes.n; i++) {
        text_put(&t, " --shape %s=", c_comment(name(opt.shapes.at[i].input)));
        for (int k = 0; k < opt.shapes.at[i].rank; k++)
            text_put(&t, "%s%lld", k ? "," : "", (long long)opt.shapes.at[i].dim[k]);
    }
    for (int i = 0; i < opt.consts.n; i++)
        text_put(&t, " --const %s", c_comment(name(opt.consts.at[i].input)));
    return t.s;
}

static const char *output_path(const char *extension)
{
    size_t n = strlen(opt.output);
    if (n > 2 && !strcmp(opt.output + n - 2, ".c"))
        n -= 2;
    return name_format("%.*s%s", (int)n, opt.output, extension)->s;
}

static void put_prologue(Emitter *e, const Interface *f)
{
    e->depth = 1;
    if (constants.loaded) {
        line(e, "if (!%s_weights)", f->p);
        line(e, "    return RT_BAD_WEIGHTS;");
        e->fallible = true;
    }
    for (int i = 0; i < f->sizes.n; i++)
        if (f->sizes.at[i].symbol)
            declare_symbol(e, f->sizes.at[i].symbol, name_format("rt_size(sizes->%s)", f->sizes.at[i].name)->s);
    for (int i = 0; i < f->in.n; i++) {
        Value *v = f->in.at[i];
        if (v->default_only) {
            const char *given = v->c, *local = c_name(v->name, "input");
            line(e, "const %s *const %s = %s ? %s : %s;", type_tag(v->type), local, given, given,
                 constant_expression(v));
            v->c = local;
        }
        declare_elements(e, v);
    }
}

static void put_epilogue(Emitter *e, const Interface *f)
{
    for (int i = 0; i < f->sizes.n; i++)
        if (f->sizes.at[i].out)
            line(e, "sizes->%s = %s;", f->sizes.at[i].name, dim_c(f->sizes.at[i].out->shape.dim[f->sizes.at[i].axis]));
}

static bool mentions(const char *body, const char *identifier)
{
    size_t n = strlen(identifier);
    for (const char *at = body; (at = strstr(at, identifier)) != NULL; at += n)
        if ((at == body || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) && !(isalnum((unsigned char)at[n]) || at[n] == '_'))
            return true;
    return false;
}

/* (void) casts for parameters that the body does not mention. */
static void put_unused(const Emitter *e, const Interface *f, Text *t)
{
    const char *body = e->body.s ? e->body.s : "";
    if (!mentions(body, "arena"))
        text_put(t, "    (void)arena;\n");
    for (int i = 0; i < f->in.n + f->out.n; i++) {
        const char *name = i < f->in.n ? f->parameter.at[i] : f->out.at[i - f->in.n]->c;
        if (!mentions(body, name))
            text_put(t, "    (void)%s;\n", name);
    }
}

static void write_text(const char *path, const Text *t)
{
    output_write(output_open(path), t->s, t->n);
}

static VEC(SizeField) emitted;

int emitted_sizes(const SizeField **fields)
{
    *fields = emitted.at;
    return emitted.n;
}

static void count_node_call(Node *n, void *e)
{
    if (n->call.kernel && !n->free)
        count_call(e, &n->call);
}

void emit_model(Model *m)
{
    names_reset();
    Emitter e = {.m = m, .p = opt.prefix ? opt.prefix : c_prefix(m->base->s)};
    Uses uses = {.e = &e};
    graph_each(m->graph, use_node, &uses);
    for (int i = 0; i < m->graph->in.n; i++)
        mark_shape(&e, &m->graph->in.at[i]->shape);
    for (int i = 0; i < assumption_count(); i++)
        dim_symbols(assumption_at(i)->d, mark_symbol, &e), dim_symbols(assumption_at(i)->is, mark_symbol, &e);
    Interface f = {0};
    find_interface(&f, &e);
    memcpy(&emitted, &f.sizes, sizeof emitted);
    const char *path_c = opt.output, *weights = strcmp(path_c, "-") ? name_format("%s.weights", path_c)->s : NULL;
    constants_emit(m, e.p, weights);
    const char *params = parameters(&f, PUBLIC), *defined = parameters(&f, DEFINED), *passed = parameters(&f, PASSED);
    Text body = {0}, unused = {0};
    put_prologue(&e, &f);
    graph_each(m->graph, count_node_call, &e);
    emit_graph(&e, m->graph);
    e.depth = 1;
    put_epilogue(&e, &f);
    put_unused(&e, &f, &unused);
    if (e.status)
        text_put(&body, "    int status;\n");
    text_put(&body, "%s%s", unused.s ? unused.s : "", e.body.s ? e.body.s : "");
    text_put(&constants.decl, "%s", "");

    Text sizes = {0}, tensors = {0}, table = {0}, names = {0};
    text_put(&sizes, "#define %s_ARENA_BYTES %lld /* one block for every intermediate tensor; nothing else is written */\n",
             f.u, (long long)(plan.arena ? plan.arena : 1));
    text_put(&sizes, "#define %s_ARENA_ALIGN %lld\n", f.u, (long long)plan.align);
    put_string_type(&tensors, &f);
    for (int i = 0; i < f.in.n; i++)
        put_tensor(&tensors, &f, m->graph->in.at[i]->input >= 0 ? f.in.at[i] : f.in.at[i], "input");
    for (int i = 0; i < f.out.n; i++)
        put_tensor(&tensors, &f, f.out.at[i], "output");
    text_put(&table, "%s", report_table(m, " *"));
    Text status = {0};
    text_put(&status, e.fallible ? "enum { %s_OK = 0, %s_BAD_SIZE = 1, %s_BAD_INDEX = 2, %s_BAD_VALUE = 3"
                                 : "enum { %s_OK = 0 }; /* this model cannot fail at run time */\n", f.u, f.u, f.u, f.u);
    if (e.fallible)
        text_put(&status, constants.loaded ? ", %s_BAD_WEIGHTS = 4 };\n" : " };\n", f.u);
    text_put(&status, "const char *%s_status(int status); /* its name */\n\n", f.p);
    text_put(&names, "    return status == 0 ? \"ok\" : status == RT_BAD_SIZE ? \"a size is outside its bounds\"\n"
                     "         : status == RT_BAD_INDEX ? \"an index is outside its range\"\n"
                     "         : status == RT_BAD_VALUE ? \"a value is outside its range\" : \"the weights are not the model's\";\n");
    bool any = f.in.n + f.out.n + f.sizes.n > 0;
    const char *header = strcmp(path_c, "-") ? output_path(".h") : name_format("%s.h", e.p)->s;
    const char *slash = strrchr(header, '/');
    Text include = {0}, c = {0}, h = {0}, weights_h = {0};
    put_weights_interface(&weights_h, f.p, weights);
    Hole holes[] = {
        {"BANNER", banner(m)},
        {"GUARD", name_format("%s_H", f.u)->s},
        {"P", f.p},
        {"U", f.u},
        {"SIZES", sizes.s},
        {"TENSORS", tensors.s},
        {"STATUS", status.s},
        {"SIZES_STRUCT", sizes_struct(&f)},
        {"WEIGHTS", weights_h.s},
        {"RETURNS", e.fallible ? "; returns 0, or what went wrong (then the outputs are undefined)" : "; returns 0"},
        {"PARAMS", params},
        {"PARAMS_AT", any ? params : ""},
        {"PARAMS_DEF", any ? defined : ""},
        {"PARAMS_RUN", params},
        {"ARGUMENTS", any ? passed : ""},
        {"COMMA", any ? ", " : ""},
        {"TABLE", table.s},
        {"INCLUDE", NULL},
        {"KERNELS", kernel_text(&uses)},
        {"CONSTANTS", NULL},
        {"FUNCTIONS", e.definitions.s},
        {"BODY", body.s},
        {"STATUS_NAMES", names.s},
        {NULL, NULL},
    };
    fill_template(&h, "model.h.in", holes);
    if (opt.single)
        text_put(&include, "%s", h.s);
    else
        text_put(&include, "#include \"%s\"\n", slash ? slash + 1 : header);
    Text decl = {0};
    put_weights(&decl, f.p);
    text_put(&decl, "%s", constants.decl.s ? constants.decl.s : "");
    for (Hole *k = holes; k->name; k++) {
        if (!strcmp(k->name, "INCLUDE"))
            k->text = include.s;
        if (!strcmp(k->name, "CONSTANTS"))
            k->text = decl.s;
    }
    fill_template(&c, "model.c.in", holes);
    write_text(path_c, &c);
    if (strcmp(path_c, "-"))
        write_text(header, &h);
}
