/* emit.c - emit: writes the C file and its header from their templates. emit_interface.c prints the header's part,
 * emit_kernels.c the includes, weights.c the constants, emit_code.c, emit_sizes.c and emit_call.c the body,
 * emit_custom.c the user's functions, emit_state.c and emit_training.c the states, banner.c the first comment,
 * package.c the files of a package; names.c makes identifiers, ir/dim_print.c prints sizes.
 * Requires: a planned graph. */
#include "emit/emit.h"
#include "emit/single.h"
#include "memory/plan.h"
#include "base/options.h"
#include "base/output.h"
#include "emit/report.h"
#include "plain/plain.h"
#include "passes/container.h"
#include "passes/state.h"

enum { PLAIN_BEGINS = '\f' }; /* between the include of the header and what is specialised */

/* ---- templates --------------------------------------------------------------------------------------------------- */

typedef struct Body { /* of an entry point */
    Interface f;
    Map used; /* Emitter.used of it */
    Text text;
    bool arena, state, status;
} Body;
typedef struct Writer { /* the contents of the templates' holes */
    Emitter e;
    VEC(Body) bodies; /* one or, of a training model, one for each entry point */
    Text interface, header;
    const char *header_name;
} Writer;

/* ---- the body ---------------------------------------------------------------------------------------------------- */

/* Prints the check of an input sequence: are its elements' sizes within the type and the bounds? */
static void check_elements(Emitter *e, const InterfaceGroup *group)
{
    const ContainerType *b = group_sequence(group);
    Value *const *part = e->m->graph->in.at + group->first, *dims = part[1], *count = part[2];
    int width = sequence_width(b);
    if (count->input < 0 || dims->input < 0)
        return;
    count->mentioned = true;
    if (group->n > 3) {
        part[3]->mentioned = true;
        line(e, "if (*%s) {", part[3]->c);
        e->depth++;
    }
    fail_if(e, "RT_BAD_SIZE", "*%s < 0 || *%s > %lld", count->c, count->c, (long long)b->max_count);
    int64_t min, max;
    for (int k = 0; k < width && find_element_limits(group, k, &min, &max); k++) {
        const char *size = text_format("%s[i_ * %d + %d]", dims->c, width, k);
        dims->mentioned = true;
        line(e, "for (idx i_ = 0; i_ < *%s; i_++)", count->c);
        e->depth++;
        if (min == max)
            fail_if(e, "RT_BAD_SIZE", "%s != %lld", size, (long long)max);
        else
            fail_if(e, "RT_BAD_SIZE", "%s < %lld || %s > %lld", size, (long long)min, size, (long long)max);
        e->depth--;
    }
    if (group->n > 3) {
        e->depth--;
        line(e, "}");
    }
}

/* Prints the check of the sizes if the caller passes NULL for v: they must be those of its default. */
static void check_default_sizes(Emitter *e, const Value *v, const char *given)
{
    for (int k = 0; k < v->shape->rank; k++)
        if (!dim_is_const(v->shape->dim[k]))
            fail_if(e, "RT_BAD_SIZE", "!%s && %s != %lld", given, dim_c(v->shape->dim[k]),
                    (long long)v->fallback->dim[k]);
}

static void put_prologue(Emitter *e, const Interface *f)
{
    e->depth = 1;
    if (constants()->loaded)
        fail_if(e, "RT_BAD_WEIGHTS", "!%s_weights", f->p);
    EACH_AT (size, f->sizes)
        if (size->symbol)
            define_given(e, size->symbol, text_format("sizes->%s", size->name));
    define_kept(e);
    check_kept(e, true);
    EACH_OF (v, f->in) {
        if (v->default_only) {
            const char *given = v->c, *local = c_name(v->name, "input");
            v->mentioned = true;
            line(e, "const %s *const %s = %s ? %s : %s;", type_tag(v->type), local, given, given,
                 constant_expression(v));
            check_default_sizes(e, v, given);
            v->c = local;
        }
        define_elements(e, v);
    }
    EACH_AT (kept, states()->at) {
        declare_state(e, kept->in);
        define_elements(e, kept->in);
    }
    for (int i = 0; f->entry && i < f->entry->state.n; i++)
        if (f->entry->state.at[i])
            define_elements(e, f->entry->state.at[i]);
    const InterfaceGroup *groups;
    int n = interface_groups(false, &groups);
    for (int i = 0; i < n; i++)
        if (group_sequence(&groups[i]))
            check_elements(e, &groups[i]);
}

/* Prints the clearing of the bits after the last element, for elements smaller than a byte. */
static void clear_padding(Emitter *e, Value *v)
{
    int bits = type_bits(v->type);
    if (bits % 8 == 0)
        return;
    Dim used = dim_mul(shape_count(*v->shape), D(bits)), last = dim_div(used, D(8)), rest = dim_mod(used, D(8));
    if (dim_is(rest, 0))
        return;
    bool open = !dim_is_const(rest);
    if (open)
        line(e, "if (%s != 0)", dim_c(rest));
    line(e, "%s%s[%s] = (u8)(%s[%s] & ((1u << %s) - 1u));", open ? "    " : "", v->c, dim_c(last), v->c, dim_c(last),
         dim_factor_c(rest));
    v->mentioned = true;
}

static void put_epilogue(Emitter *e, const Interface *f)
{
    put_next(e);
    for (int i = 0; i < f->out.n; i++)
        clear_padding(e, f->out.at[i]);
    EACH_AT (size, f->sizes)
        if (size->out) {
            const Dim d = size->out->shape->dim[size->axis];
            declare_parts(e, d);
            line(e, "sizes->%s = %s;", size->name, dim_wide_c(d));
        }
    end_parts(e, 0);
}

static void fill_reset(Text *t, Writer *w) { put_reset(t, &w->bodies.at[0].f); }

/* (void) casts for parameters that the body does not mention. */
static void put_unused(Text *t, const Body *b)
{
    const Interface *f = &b->f;
    bool state = b->state || (!f->entry && !states()->at.n);
    for (int i = 0; f->entry && i < f->entry->state.n; i++)
        state |= f->entry->state.at[i] && f->entry->state.at[i]->mentioned;
    text_put(t, b->arena ? "" : "    (void)arena;\n");
    text_put(t, state ? "" : "    (void)state;\n");
    for (int i = 0; i < f->in.n; i++)
        if (!f->in.at[i]->mentioned)
            text_put(t, "    (void)%s;\n", f->parameter.at[i]);
    EACH_OF (v, f->out)
        if (!v->mentioned)
            text_put(t, "    (void)%s;\n", v->c);
}

/* Prepares the printing of a body. Each of several has its own uses, and its own sizes from the caller. */
static void begin_body(Emitter *e, const Body *b)
{
    e->entry = b->f.entry;
    e->used = b->used;
    e->arena = e->state = e->status = false;
    for (int i = 0; e->entry && i < symbol_count(); i++)
        if (!symbol_graph(symbol_at(i)))
            symbol_at(i)->known = false;
}

/* Prints the body to a spool: what precedes it in the file is known only afterwards. */
static void write_body(Emitter *e, Body *b)
{
    begin_body(e, b);
    e->body = (Text){.to = output_spool(opt()->output)};
    line_is(&e->body, LINE_RUN, NULL);
    put_prologue(e, &b->f);
    emit_graph(e, emitted_graph(e));
    line_is(&e->body, LINE_RUN, NULL);
    e->depth = 1;
    put_epilogue(e, &b->f);
    if (opt()->profile)
        line(e, "%s_END;", b->f.u);
    for (int i = 0; i < b->f.in.n; i++) /* a default has a name of its own in the body */
        b->f.in.at[i]->c = b->f.parameter.at[i];
    b->text = e->body;
    b->arena = e->arena;
    b->state = e->state;
    b->status = e->status;
}

/* Prints the bodies, and the functions that they call. */
static void write_bodies(Writer *w)
{
    Emitter *e = &w->e;
    e->definitions.to = output_spool(opt()->output);
    line_is(&e->definitions, LINE_FUNCTION, NULL);
    EACH_NODE (n, e->m->graph)
        if (n->call.kernel && !n->elided)
            count_call(e, n);
    for (int i = 0; i < w->bodies.n; i++)
        write_body(e, &w->bodies.at[i]);
}

static void append_bytes(void *t, const void *bytes, size_t n) { text_bytes(t, bytes, n); }

static void put_waiting(Text *t, Text *waiting)
{
    text_flush(t);
    lines_move(t, waiting, NULL);
    output_append(waiting->to, append_bytes, t);
    text_bytes(t, waiting->s, waiting->n);
}

static const char *wrapped(int indent, const char *code)
{
    Text t = {0};
    put_wrapped(&t, indent, code);
    return t.s;
}

/* A function and the one with the caller's arena. list: their parameters. */
static const char *declared(const char *what, const char *prefix, const char *list)
{
    Text t = {0};
    put_wrapped(&t, 0, text_format("int %s_%s(%s);", prefix, what, list));
    put_wrapped(&t, 0,
                text_format("int %s_%s_at(void *arena%s%s);", prefix, what, *list && strcmp(list, "void") ? ", " : "",
                            strcmp(list, "void") ? list : ""));
    return t.s;
}

/* ---- the contents of the holes ----------------------------------------------------------------------------------- */

static void fill_table(Text *t, Writer *w) { put_report_table(t, w->e.m, " *"); }
static void fill_interface(Text *t, Writer *w) { text_bytes(t, w->interface.s, w->interface.n); }
static void fill_kernels(Text *t, Writer *w) { put_kernels(t, &w->e); }
static void fill_functions(Text *t, Writer *w) { put_waiting(t, &w->e.definitions); }

static void fill_profile(Text *t, const Writer *w, const char *template)
{
    if (!opt()->profile)
        return;
    Text names = {0};
    put_step_names(&names, w->e.m);
    const Hole holes[] = {
        {"U", w->bodies.at[0].f.u, NULL, LINE_FRAME},
        {"P", w->e.p, NULL, LINE_FRAME},
        {"STEPS", text_format("%d", w->e.step ? w->e.step : 1), NULL, LINE_FRAME},
        {"NAMES", w->e.step ? names.s : "    \"\",\n", NULL, LINE_FRAME},
        {NULL, NULL, NULL, LINE_FRAME},
    };
    fill_holes(t, embedded_text(template), holes, NULL);
}

static void fill_profile_h(Text *t, Writer *w) { fill_profile(t, w, "profile.h.in"); }
static void fill_profile_c(Text *t, Writer *w) { fill_profile(t, w, "profile.c.in"); }

static void fill_include(Text *t, Writer *w)
{
    if (opt()->single) { /* the comment is the file's, too; names in it may hold any text but its end */
        const char *const guard = strstr(strstr(w->header.s, "*/"), "#ifndef");
        text_put(t, "%s", target_is_plain(opt()->target) ? w->header.s : guard);
    } else
        text_put(t, "#include \"%s\"\n", w->header_name);
    if (dim_needed_bits() > 32 && target_is_portable(opt()->target))
        text_put(t, "\n#if PTRDIFF_MAX < INT64_MAX\n#error \"sizes of this model need 64 bits\"\n#endif\n");
    else if (dim_needed_bits() > 16 && target_is_portable(opt()->target))
        text_put(t, "\n#if PTRDIFF_MAX < INT32_MAX\n#error \"sizes of this model need more than 16 bits: for an AVR, "
                    "compile it with --target avr\"\n#endif\n");
}

/* The file in plain C: what follows the include of the header is specialised, but for the large constants at the
 * end. */
static void write_plain(Text *c, Writer *w, const Hole *holes)
{
    Text file = {.to = output_spool(opt()->output)}, all = {0};
    fill_holes(&file, embedded_text("plain.c.in"), holes, w);
    text_flush(&file);
    output_append(file.to, append_bytes, &all);
    const char *code = strchr(all.s, PLAIN_BEGINS);
    text_bytes(c, all.s, (size_t)(code - all.s));
    plain_put(c, code + 1, w->header.s, included_text);
    put_constants(c, plain_needs);
}

/* The file with its own runtime, of which there is what the model's code needs, around it. */
static void write_single(Text *c, Writer *w, const Hole *holes, const char *template)
{
    static const char runtime[] = "\n@KERNELS@\n";
    const char *const at = strstr(template, runtime);
    Text code = {.to = output_spool(opt()->output)}, all = {0}, kernels = {0};
    fill_holes(c, text_format("%.*s", (int)(at - template), template), holes, w);
    fill_holes(&code, at + strlen(runtime), holes, w);
    text_flush(&code);
    output_append(code.to, append_bytes, &all);
    single_read(&kernels, LINE_KERNELS, NULL);
    put_kernels(&kernels, &w->e);
    single_read(&kernels, LINE_KERNELS, NULL);
    single_find(all.s, w->e.p);
    single_put(c, true);
    single_put_code(c, &code, all.s);
    single_put(c, false);
    line_is(c, LINE_CONSTANTS, NULL);
    put_constants(c, NULL);
}

static void fill_data(Text *t, Writer *w)
{
    put_weights(t, w->e.p);
    declare_constants(t, w->e.p);
}

/* The static arena. In plain C its elements have the strictest alignment that the tensors need. */
static const char *arena_bytes(const char *p)
{
    return text_format(target_is_plain(opt()->target) ? "%s_arena" : "%s_arena.bytes", p);
}

static void fill_weights(Text *t, Writer *w)
{
    (void)w;
    if (!opt()->single && !target_is_plain(opt()->target))
        put_constants(t, NULL);
}

static void put_body(Text *t, Body *b)
{
    if (b->status)
        text_put(t, "    int status;\n");
    put_fields(t, &b->f);
    put_unused(t, b);
    if (b->arena)
        text_put(t, "    unsigned char *const arena_ = arena;\n");
    if (opt()->profile)
        text_put(t, "    %s_BEGIN\n", b->f.u);
    put_waiting(t, &b->text);
}

/* Everything between the braces of PREFIX_run_at. */
static void fill_body(Text *t, Writer *w) { put_body(t, &w->bodies.at[0]); }

static void fill_state_type(Text *t, Writer *w) { put_training_state(t, w->e.m, w->e.p); }
static void fill_state(Text *t, Writer *w) { put_training_functions(t, w->e.m, w->e.p); }

static void fill_declared_entries(Text *t, Writer *w)
{
    for (int i = 0; i < w->bodies.n; i++) {
        const Interface *f = &w->bodies.at[i].f;
        const char *what = entry_name(f->entry), *list = parameters(f, PUBLIC);
        put_entry_comment(t, f->entry);
        text_put(t, "%s", declared(what, f->p, list));
    }
}

static void fill_entries(Text *t, Writer *w)
{
    EACH_AT (b, w->bodies) {
        const char *p = b->f.p, *what = entry_name(b->f.entry);
        text_put(t, "\n");
        put_wrapped(t, 0,
                    text_format("RT_ARENA_GIVEN int %s_%s_at(void *arena, %s)", p, what, parameters(&b->f, DEFINED)));
        text_put(t, "{\n");
        line_is(t, LINE_RUN, NULL);
        put_body(t, b);
        line_is(t, LINE_FRAME, NULL);
        text_put(t, "    return 0;\n}\n\n");
        put_wrapped(t, 0, text_format("int %s_%s(%s)", p, what, parameters(&b->f, PUBLIC)));
        text_put(t, "{\n");
        put_wrapped(t, 4, text_format("return %s_%s_at(%s, %s);", p, what, arena_bytes(p), parameters(&b->f, PASSED)));
        text_put(t, "}\n");
    }
}

/* ---- the files --------------------------------------------------------------------------------------------------- */

const char *output_path(const char *extension)
{
    size_t n = strlen(opt()->output);
    if (n > 2 && !strcmp(opt()->output + n - 2, ".c"))
        n -= 2;
    return text_format("%.*s%s", (int)n, opt()->output, extension);
}

typedef VEC(SizeField) SizeFields;
PART(SizeFields, emitted)

int emitted_sizes(const SizeField **fields)
{
    *fields = emitted()->at;
    return emitted()->n;
}

/* Finds what each body uses, and names what the caller passes. */
static void find_bodies(Writer *w)
{
    Emitter *e = &w->e;
    for (int i = 0; i < e->m->entries.n || i < 1; i++) {
        Body b = {0};
        e->entry = e->m->entries.n ? e->m->entries.at[i] : NULL;
        e->used = (Map){0};
        find_uses(e);
        find_interface(&b.f, e);
        b.used = e->used;
        vec_push(&w->bodies, b);
    }
}

/* All sizes between the caller and the bodies. */
static Interface all_sizes(const Writer *w)
{
    Interface all = w->bodies.at[0].f;
    memset(&all.sizes, 0, sizeof all.sizes);
    EACH_AT (b, w->bodies)
        EACH_AT (s, b->f.sizes) {
            bool again = false;
            for (int j = 0; j < all.sizes.n; j++)
                again |= !strcmp(all.sizes.at[j].name, s->name);
            if (!again)
                vec_push(&all.sizes, *s);
        }
    return all;
}

/* C99 5.2.4.1: compilers need to take so many parameters. */
static void check_parameters(const Interface *f)
{
    enum { TAKEN = 127 };
    const int n = f->in.n + f->out.n + (f->sizes.n > 0) + (f->entry || states()->at.n);
    if (n <= TAKEN || is_in_struct(f))
        return;
    warn_at("", "IO-16", "the C function has %d parameters; compilers of C99 need to take %d only", n, TAKEN);
    if (!f->entry)
        note_help("--struct passes inputs and outputs in a struct, by name");
    stop_on_errors();
}

void emit_model(Model *m)
{
    names_reset();
    Writer w = {.e = {.m = m, .p = c_prefix(m->base, opt()->prefix)}};
    names_prefix(w.e.p);
    if (opt()->package)
        package_begin(w.e.p);
    if (states()->at.n)
        names_state();
    if (opt()->as_struct)
        names_struct();
    Emitter *e = &w.e;
    if (m->entries.n)
        name_states(m);
    find_bodies(&w);
    find_scopes(e);
    find_customs(e);
    for (int i = 0; i < w.bodies.n; i++)
        check_parameters(&w.bodies.at[i].f);
    const Interface all = all_sizes(&w), *f = &w.bodies.at[0].f;
    memcpy(emitted(), &all.sizes, sizeof *emitted());
    bool files = !output_is_stream(opt()->output), any = f->in.n + f->out.n + f->sizes.n + states()->at.n > 0;
    const char *weights = files ? text_format("%s.weights", opt()->output) : NULL;
    const char *header = files ? output_path(".h") : text_format("%s.h", e->p);
    w.header_name = base_name(header);
    write_constants(m, weights);
    check_budgets(m);
    const char *public = parameters(f, PUBLIC), *defined = parameters(f, DEFINED), *passed = parameters(f, PASSED);
    put_memory(&w.interface, f, e);
    for (int i = 0; i < w.bodies.n; i++)
        put_tensors(&w.interface, &w.bodies.at[i].f, e);
    wrap_later(opt()->single && !target_is_plain(opt()->target)); /* the runtime's names will be longer */
    write_bodies(&w);
    wrap_later(false);
    e->fallible |= m->entries.n > 0;
    put_calling(&w.interface, &all, e, weights);
    const Hole holes[] = {
        {"BANNER", banner(m), NULL, LINE_COMMENT},
        {"ABOUT", about(m), NULL, LINE_COMMENT},
        {"ABOUT_ALONE", opt()->single ? about(m) : "", NULL, LINE_COMMENT},
        {"U", f->u, NULL, LINE_FRAME},
        {"P", f->p, NULL, LINE_FRAME},
        {"INTERFACE", NULL, fill_interface, LINE_FRAME},
        {"RETURNS", e->fallible ? "; returns 0 or an error status (then the outputs are undefined)" : "; returns 0",
         NULL, LINE_FRAME},
        {"DECLARED", declared("run", f->p, public), NULL, LINE_FRAME},
        {"RUN_AT",
         wrapped(0, text_format("RT_ARENA_GIVEN int %s_run_at(void *arena%s%s)", f->p, any ? ", " : "",
                                any ? defined : "")),
         NULL, LINE_FRAME},
        {"RUN", wrapped(0, text_format("int %s_run(%s)", f->p, public)), NULL, LINE_FRAME},
        {"PASS", wrapped(4, text_format("return %s_run_at(%s%s%s);", f->p, arena_bytes(f->p), any ? ", " : "", passed)),
         NULL, LINE_FRAME},
        {"SPECIALISED", (const char[]){PLAIN_BEGINS, 0}, NULL, LINE_FRAME},
        {"TABLE", NULL, fill_table, LINE_COMMENT},
        {"KERNELS", NULL, fill_kernels, LINE_KERNELS},
        {"DATA", NULL, fill_data, LINE_CONSTANTS},
        {"WEIGHTS", NULL, fill_weights, LINE_CONSTANTS},
        {"FUNCTIONS", NULL, fill_functions, LINE_FUNCTION},
        {"BODY", NULL, fill_body, LINE_RUN},
        {"RESET", NULL, fill_reset, LINE_STATE},
        {"PROFILE", NULL, fill_profile_h, LINE_PROFILE},
        {"PROFILE_CODE", NULL, fill_profile_c, LINE_PROFILE},
        {"INCLUDE", NULL, fill_include, LINE_INTERFACE},
        {"STATE_TYPE", NULL, fill_state_type, LINE_STATE},
        {"STATE", NULL, fill_state, LINE_STATE},
        {"DECLARED_ENTRIES", NULL, fill_declared_entries, LINE_FRAME},
        {"ENTRIES", NULL, fill_entries, LINE_FRAME},
        {NULL, NULL, NULL, LINE_FRAME},
    };
    fill_holes(&w.header, embedded_text(m->entries.n ? "training.h.in" : "model.h.in"), holes, &w);
    Text c = {.to = output_open(opt()->output)};
    const char *const template = embedded_text(m->entries.n ? "training.c.in" : "model.c.in");
    if (target_is_plain(opt()->target) && !m->entries.n)
        write_plain(&c, &w, holes);
    else if (opt()->single)
        write_single(&c, &w, holes, template);
    else
        fill_holes(&c, template, holes, &w);
    text_flush(&c);
    lines_end(&c);
    if (opt()->custom_stub && !opt()->check)
        write_stubs(e, w.header_name);
    if (files)
        output_write(output_open(header), w.header.s, w.header.n);
    if (opt()->package)
        write_package(f, m);
}
