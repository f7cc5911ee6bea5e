/* emit_call.c - prints calls of kernels: parameters, epilogues, and functions for repeated calls. */
#include <xxhash.h>

#include "emit/emit.h"
#include "rt.h"

/* ---- epilogues --------------------------------------------------------------------------------------------------- */

/* The name of the function for c's epilogue, which takes one value; equal epilogues share it. */
static const char *epilogue_name(Emitter *e, const Call *c)
{
    Emitter f = {.depth = 1};
    static const char *const x = "x";
    emit_steps(&f, c->epilogue, &x);
    line(&f, "return %s;", loop_argument(c->epilogue, c->epilogue->out_step[0], &x));
    EACH_AT (u, e->epilogues)
        if (!strcmp(u->body, f.body.s) && u->kernel->t == c->kernel->t &&
            !strcmp(u->kernel->header, c->kernel->header)) {
            line_shared(LINE_EPILOGUE, u->name, c);
            return u->name;
        }
    const char *id = NULL;
    for (int i = 0; i < e->epilogues.n && !id; i++)
        if (!strcmp(e->epilogues.at[i].body, f.body.s))
            id = e->epilogues.at[i].name;
    EpilogueUse use = {id ? id : c_own("epilogue", ""), text_format("%s", f.body.s), c->kernel, id == NULL};
    vec_push(&e->epilogues, use);
    line_shared(LINE_EPILOGUE, use.name, c);
    return use.name;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static void put_text(Emitter *e, Text *t, Name s)
{
    if (name_length(s) <= LONGEST_LITERAL) {
        text_put(t, "\"");
        put_quoted(t, s, IN_LITERAL);
        text_put(t, "\"");
        return;
    }
    const char *id = c_own("text", "_");
    text_put(&e->definitions, "static const char %s[] = {", id);
    put_quoted(&e->definitions, s, IN_NUMBERS);
    text_put(&e->definitions, "0};\n");
    text_put(t, "%s", id);
}

static void put_param(Emitter *e, Text *t, const Field *f, const Param *p)
{
    if (f->type == FIELD_f32 || f->type == FIELD_f64)
        text_float(t, f->type == FIELD_f32 ? F32 : F64, p->f);
    else if (f->type == FIELD_text)
        put_text(e, t, p->s);
    else if (dim_is_const(p->d)) {
        text_integer(t, f->type == FIELD_i64 ? I64 : I32, dim_value(p->d));
        if (f->type != FIELD_i64)
            dim_note(dim_value(p->d));
    } else
        text_put(t, f->type == FIELD_int ? "(int)(%s)" : "%s", f->type == FIELD_i64 ? dim_wide_c(p->d) : dim_c(p->d));
}

static bool is_zero(const Field *f, const Param *p)
{
    return f->type == FIELD_text ? false : field_is_size(f) ? dim_is(p->d, 0) : !memcmp(&p->f, &(double){0}, 8);
}

static const char *field_text(Emitter *e, const Field *f, const Param *p, int used)
{
    Text t = {0};
    text_put(&t, ".%s = %s", f->name, f->count ? "{" : "");
    for (int i = 0; i < used; i++) {
        text_put(&t, i ? ", " : "");
        put_param(e, &t, f, &p[i]);
    }
    text_put(&t, f->count ? "}," : ",");
    return t.s;
}

/* "struct softmax p_ = {", a line or more of ".outer = 1, .axis = 10,", "};"; fields that are 0 are omitted, arrays end
 * at their last non-zero element. */
static void put_params(Emitter *e, Text *t, const Call *c, int depth)
{
    text_put(t, "%*sstruct %s p_ = {\n", 4 * depth, "", is_custom(c) ? custom_name(e, c) : c->kernel->name);
    Wrapped w = {.to = t, .first = "", .between = "", .indent = 4 * depth + 4};
    const Param *p = c->param;
    bool any = false;
    for (const Field *f = c->fields; f->type != FIELD_END; f++) {
        int n = f->count ? f->count : 1, used = n;
        while (used && is_zero(f, &p[used - 1]))
            used--;
        if (used)
            put_code_piece(&w, field_text(e, f, p, used));
        any |= used > 0;
        p += n;
    }
    if (!any)
        put_piece(&w, "0");
    text_put(t, "%s%*s};\n", w.column ? "\n" : "", 4 * depth, "");
}

/* ---- functions for repeated calls -------------------------------------------------------------------------------- */

static const char *kernel_name(Emitter *e, const Call *c)
{
    Text t = {0};
    if (is_custom(c))
        return custom_name(e, c);
    text_put(&t, "%s_%s", c->kernel->name, type_tag(c->kernel->t));
    if (c->kernel->u)
        text_put(&t, "_%s", type_tag(c->kernel->u));
    if (c->epilogue)
        text_put(&t, "_%s", epilogue_name(e, c));
    return t.s;
}

typedef VEC(Symbol *) SymbolList;

/* The symbols in a call's parameters. */
static SymbolList symbols_of_call(const Call *c)
{
    SymbolList all = {0};
    EACH_SIZE (size, c)
        EACH_SYMBOL (s, size.param->d)
            vec_add(&all, s);
    return all;
}

/* The type that a formal parameter points to; void for complex numbers, which callers may declare differently. */
static const char *formal_type(Type t) { return t == C64 || t == C128 ? "void" : type_tag(t); }

int written_over(const Call *c, int i)
{
    const Value *x = c->arg[i];
    for (int j = c->kernel->n_in; i < c->kernel->n_in && x && !x->data && j < c->n_arg; j++)
        if (c->arg[j] && value_storage(c->arg[j]) == value_storage(x) &&
            dim_identical(value_storage_offset(c->arg[j]), value_storage_offset(x)))
            return j;
    return -1;
}

static void put_formal(Text *t, const Call *c, int i)
{
    const bool input = i < c->kernel->n_in;
    text_put(t, "%s%s *restrict %s%d", input ? "const " : "", formal_type(c->arg[i]->type), input ? "x" : "y",
             input ? i : i - c->kernel->n_in);
}

/* The cast of the output's pointer where it is passed as input argument i. */
static const char *as_input(const Call *c, int i)
{
    return c->arg[i]->type == c->arg[written_over(c, i)]->type ? "" : "(const void *)";
}

static void put_passed(Text *t, const Call *c, int i)
{
    const int n_in = c->kernel->n_in, over = written_over(c, i);
    if (!c->arg[i])
        text_put(t, "NULL");
    else if (over >= 0)
        text_put(t, "%sy%d", as_input(c, i), over - n_in);
    else
        text_put(t, i < n_in ? "x%d" : "y%d", i < n_in ? i : i - n_in);
}

/* "const f32 *restrict x0, f32 *restrict y0"; if `passed`, as arguments of the kernel: "x0, NULL, y0". An input that is
 * written over is its output's parameter. */
static void put_formals(Text *t, const Call *c, bool passed)
{
    const char *comma = "";
    for (int i = 0; i < c->n_arg; i++)
        if (passed || (c->arg[i] && written_over(c, i) < 0)) {
            text_put(t, "%s", comma);
            passed ? put_passed(t, c, i) : put_formal(t, c, i);
            comma = ", ";
        }
    if (c->kernel->flags & SCRATCH && (passed || !dim_is(c->scratch, 0)))
        text_put(t, "%s%s", comma, !passed ? "void *restrict scratch" : dim_is(c->scratch, 0) ? "NULL" : "scratch");
}

/* The parameters and body of a function for c: calls with equal texts share it. NULL: c cannot share a function. */
static const char *function_text(Emitter *e, const Call *c)
{
    const SymbolList sizes = symbols_of_call(c);
    EACH_OF (size, sizes)
        if (!size->c || symbol_graph(size)) /* known too late: not from the caller */
            return NULL;
    if (KERNEL_SIZES(c->kernel) || is_custom(c))
        return NULL;
    Text t = {0};
    text_put(&t, "(");
    put_formals(&t, c, false);
    for (int i = 0; i < sizes.n; i++)
        text_put(&t, ", idx %s", sizes.at[i]->c);
    text_put(&t, ")\n{\n");
    put_params(e, &t, c, 1);
    Text call = {0};
    text_put(&call, "%s%s(", c->kernel->fallible ? "return " : "", kernel_name(e, c));
    put_formals(&call, c, true);
    text_put(&call, ", p_);");
    put_wrapped(&t, 4, call.s);
    text_put(&t, "}\n");
    return t.s;
}

static bool is_repeated(const Graph *g)
{
    for (; g; g = g->parent)
        if (g->owner && node_attr(g->owner, "body"))
            return true;
    return false;
}

/* Calls of a kernel with the same parameters share a function, so that the C compiler specialises the kernel once;
 * inside of a loop's body gcc -O1 and -Og do not, so that a call there counts as two. All calls are counted before the
 * body is printed. */
void count_call(Emitter *e, const Node *n)
{
    const Call *c = &n->call;
    TextMark mark = text_mark();
    const char *text = function_text(e, c);
    CallFunction *f = NULL;
    for (uint64_t h = text ? XXH3_64bits(text, strlen(text)) : 0; text && !f; h++) {
        const void *key = (void *)(uintptr_t)(h | 1);
        f = map_get(&e->functions, key);
        if (!f) {
            f = NEW(CallFunction);
            f->first = c;
            map_put(&e->functions, key, f);
        } else if (strcmp(function_text(e, f->first), text))
            f = NULL;
    }
    if (f) {
        f->calls += 1 + is_repeated(n->graph);
        map_put(&e->function, c, f);
    }
    text_release(mark);
}

/* The function that c shares with equal calls, defined at first use; NULL: there is no equal call. */
static const char *shared_function(Emitter *e, const Call *c)
{
    CallFunction *f = map_get(&e->function, c);
    if (!f || f->calls < 2)
        return NULL;
    line_shared(LINE_FUNCTION, f, c);
    if (!f->name) {
        line_is(&e->definitions, LINE_FUNCTION, f);
        f->name = c_own(text_format("%s_%d", kernel_name(e, c), ++e->n_definitions), "_");
        hide_parts(e, true);
        const char *text = function_text(e, c), *body = strchr(text, '\n');
        hide_parts(e, false);
        put_wrapped(
            &e->definitions, 0,
            text_format("SHARED %s %s%.*s", c->kernel->fallible ? "int" : "void", f->name, (int)(body - text), text));
        text_put(&e->definitions, "%s\n", body + 1);
    }
    return f->name;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Declares variables for the sizes that the kernel reports, and appends them to the arguments. */
static void put_reported(Emitter *e, Text *t, const Call *c, const char **reported)
{
    for (int i = 0; i < KERNEL_SIZES(c->kernel); i++) {
        reported[i] = c_name(i < c->n_size ? c->size[i]->name : NULL, "size");
        line(e, "int64_t %s;", reported[i]);
        text_put(t, ", &%s", reported[i]);
    }
}

/* Declares a pointer to the scratch memory of n's call. */
static const char *scratch_pointer(Emitter *e, const Node *n)
{
    if (dim_is(n->call.scratch, 0))
        return "NULL";
    const char *c =
        c_name(name_scratch(name_length(n->name) || !n->n_out || !n->out[0] ? n->name : n->out[0]->name), "scratch");
    line(e, "void *const %s = arena_ + %lld;", c, (long long)n->scratch_offset);
    e->arena = true;
    return c;
}

void emit_kernel(Emitter *e, const Node *n)
{
    const Call *c = &n->call;
    const char *shared = shared_function(e, c), *comma = "", *reported[MAX_SIZES];
    const bool parameters = !shared && (!is_custom(c) || c->fields->type != FIELD_END);
    const bool scratch = c->kernel->flags & SCRATCH && !(shared && dim_is(c->scratch, 0));
    Text t = {0};
    text_put(&t, "%s(", shared ? shared : kernel_name(e, c));
    for (int i = 0; i < c->n_arg; i++) {
        const int over = written_over(c, i);
        if (shared && (!c->arg[i] || over >= 0))
            continue;
        text_put(&t, "%s%s%s", comma, over < 0 ? "" : as_input(c, i), pointer(c->arg[over < 0 ? i : over]));
        comma = ", ";
    }
    if (scratch)
        text_put(&t, ", %s", scratch_pointer(e, n));
    put_reported(e, &t, c, reported);
    const SymbolList sizes = shared ? symbols_of_call(c) : (SymbolList){0};
    for (int i = 0; i < sizes.n; i++)
        text_put(&t, ", %s", sizes.at[i]->c);
    if (parameters) { /* a block ends their lifetime, so that they do not add up on the stack */
        EACH_SIZE (size, c)
            declare_parts(e, size.param->d);
        line(e, "{");
        e->depth++;
        put_params(e, &e->body, c, e->depth);
        text_put(&t, ", p_");
    }
    step_called(e, n, shared ? shared : kernel_name(e, c));
    if (c->kernel->fallible) {
        line(e, "if ((status = %s)) != 0)", t.s);
        line(e, "    return status;");
        e->fallible = e->status = true;
    } else
        line(e, "%s);", t.s);
    if (parameters) {
        e->depth--;
        line(e, "}");
    }
    for (int i = 0; i < c->n_size; i++)
        define_symbol(e, c->size[i], text_format("(idx)%s", reported[i]));
}
