/* emit.c - emit: the two files from their templates. emit_interface.c prints the header's part, emit_kernels.c the includes,
 * weights.c the constants, emit_code.c and emit_call.c the body; names.c makes identifiers. No other file prints C.
 * Requires: a planned graph. */
#include "emit.h"

#include <ctype.h>

#include "output.h"

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

/* ---- the body ------------------------------------------------------------------------------------------------------------ */

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
        if ((at == body || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[n]) || at[n] == '_'))
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

static void count_node_call(Node *n, void *e)
{
    if (n->call.kernel && !n->free)
        count_call(e, &n->call);
}

/* Everything between the braces of PREFIX_run_at. */
static void put_body(Text *t, Emitter *e, const Interface *f)
{
    put_prologue(e, f);
    graph_each(e->m->graph, count_node_call, e);
    emit_graph(e, e->m->graph);
    e->depth = 1;
    put_epilogue(e, f);
    if (e->status)
        text_put(t, "    int status;\n");
    put_unused(e, f, t);
    text_put(t, "%s", e->body.s ? e->body.s : "");
}

/* ---- the files ------------------------------------------------------------------------------------------------------------ */

static const char *banner(const Model *m)
{
    Text t = {0};
    text_put(&t, "%s (XXH3 %016llx) compiled by onnxcc %s", c_comment(m->base), (unsigned long long)m->hash,
             ONNXCC_VERSION);
    text_put(&t, ": --target %s", opt.target->name);
    for (int i = 0; i < opt.dims.n; i++) {
        const struct DimOption *o = &opt.dims.at[i];
        text_put(&t, o->low == o->high ? " --dim %s=%lld" : " --dim %s<=%lld", c_comment(name(o->name)),
                 (long long)o->high);
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

static void write_text(const char *path, const Text *t) { output_write(output_open(path), t->s, t->n); }

static VEC(SizeField) emitted;

int emitted_sizes(const SizeField **fields)
{
    *fields = emitted.at;
    return emitted.n;
}

void emit_model(Model *m)
{
    names_reset();
    Emitter e = {.m = m, .p = opt.prefix ? opt.prefix : c_prefix(m->base->s)};
    find_uses(&e);
    Interface f = {0};
    find_interface(&f, &e);
    memcpy(&emitted, &f.sizes, sizeof emitted);
    bool files = strcmp(opt.output, "-") != 0, any = f.in.n + f.out.n + f.sizes.n > 0;
    const char *weights = files ? name_format("%s.weights", opt.output)->s : NULL;
    const char *header = files ? output_path(".h") : name_format("%s.h", e.p)->s, *slash = strrchr(header, '/');
    constants_emit(m, e.p, weights);
    const char *public = parameters(&f, PUBLIC), *defined = parameters(&f, DEFINED), *passed = parameters(&f, PASSED);
    Text interface = {0}, include = {0}, kernels = {0}, data = {0}, body = {0}, c = {0}, h = {0};
    put_tensors(&interface, &f, &e);
    put_body(&body, &e, &f);
    put_calling(&interface, &f, &e, weights);
    put_kernels(&kernels, &e);
    put_weights(&data, f.p);
    text_put(&data, "%s", constants.decl.s ? constants.decl.s : "");
    Hole holes[] = {
        {"BANNER", banner(m)},
        {"U", f.u},
        {"P", f.p},
        {"INTERFACE", interface.s},
        {"RETURNS", e.fallible ? "; returns 0, or what went wrong (then the outputs are undefined)" : "; returns 0"},
        {"PARAMETERS", public},
        {"AND_PARAMETERS", any ? name_format(", %s", public)->s : ""},
        {"AND_DEFINED", any ? name_format(", %s", defined)->s : ""},
        {"AND_PASSED", any ? name_format(", %s", passed)->s : ""},
        {"TABLE", report_table(m, " *")},
        {"KERNELS", kernels.s},
        {"DATA", data.s},
        {"FUNCTIONS", e.definitions.s},
        {"BODY", body.s},
        {"INCLUDE", NULL}, /* once there is a header */
        {NULL, NULL},
    };
    enum { INCLUDE = sizeof holes / sizeof *holes - 2 };
    fill_template(&h, "model.h.in", holes);
    text_put(&include, opt.single ? "%s" : "#include \"%s\"\n", opt.single ? h.s : slash ? slash + 1 : header);
    holes[INCLUDE].text = include.s;
    fill_template(&c, "model.c.in", holes);
    write_text(opt.output, &c);
    if (files)
        write_text(header, &h);
}
