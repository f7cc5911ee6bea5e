/* target.c - processes one model in this process: parses it, or (-DTARGET_whole) compiles it up to the text of the C, or
 * runs it in the compiler. The options depend on the file's bytes alone, so that a file has the same effect every time. */
#include "mutate.h"

#include <sys/stat.h>
#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

#include "base/output.h"
#include "compile.h"
#include "emit/eval.h"
#include "memory/plan.h"
#include "onnxcc.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

static uint64_t draws; /* of this file */
static int draw(int n)
{
    const int k = (int)(draws % (uint64_t)n);
    draws /= (uint64_t)n;
    return k;
}

static void choose_options(void)
{
    static const char *const targets[] = {
#define TARGET(name, ...) name,
#include "base/target.def"
#undef TARGET
        "generic", "generic"};
    static const Weights weights[] = {WEIGHTS_AUTO, WEIGHTS_INLINE, WEIGHTS_INCBIN, WEIGHTS_FILE};
    *opt() = (Options){.model = "fuzz.onnx",
                       .output = "fuzz.c",
                       .prefix = "fuzz",
                       .target = target_find(targets[draw(sizeof targets / sizeof *targets)]),
                       .single = draw(2),
                       .strict = !draw(8),
                       .weights = weights[draw(4)],
                       .report = draw(4) ? REPORT_NONE : (Report)draw(4),
                       .max_arena = draw(8) ? 0 : 4096};
    if (!draw(16))
        opt()->prefix = NULL;
}

#ifdef TARGET_whole
const int repairs_of_8 = 7;

/* -d and -v, which are for models that have been read. */
static void choose_dumps(void)
{
    opt()->dump = draw(16) ? NULL : stage_letters();
    opt()->verbose = !draw(16);
}

/* Most models with an open size need a bound of it. */
static void bound_sizes(void)
{
    const int high = 1 + draw(8), how = draw(8);
    for (int i = 0; i < symbol_count() && how; i++)
        if (symbol_at(i)->user)
            vec_push(&opt()->dims, ((struct DimOption){symbol_at(i)->name->s, how < 3 ? high : 0, high, false}));
}

/* The operators of mutate.c's own domain are custom operators. */
static void add_custom(const Node *n)
{
    const Source *s = n->source;
    if (!s || !s->op_type || !s->domain || !name_is(s->domain, OWN_DOMAIN))
        return;
    const char *called = name_format(OWN_DOMAIN ".%s", s->op_type->s)->s;
    for (int i = 0; i < opt()->customs.n; i++)
        if (!strcmp(opt()->customs.at[i].name, called))
            return;
    vec_push(&opt()->customs, ((struct CustomOption){called, false}));
}

static void choose_inputs(const Model *m)
{
    const int how = draw(16), size = draw(4);
    const Value *v = m->graph->in.n ? m->graph->in.at[draw(4) % m->graph->in.n] : NULL;
    if (v && how == 1)
        vec_push(&opt()->shapes, ((struct ShapeOption){v->name->s, 1 + size, {1 + size, 2, 3, size}}));
    if (v && how == 2)
        vec_push(&opt()->consts, ((struct ConstOption){v->name->s, size ? "1" : "0.5,-2,inf"}));
}

/* A tensor of the model. */
static const char *some_tensor(const Model *m)
{
    const Node *n = m->graph->first;
    for (int k = draw(16); k > 0 && n && n->next; k--)
        n = n->next;
    const int out = draw(2);
    const Value *v = n && n->n_out ? n->out[out % n->n_out] : m->graph->out.n ? m->graph->out.at[0] : NULL;
    return v && v->name ? v->name->s : "x";
}

/* Options that have another function, or another form of it. */
static void choose_form(const Model *m)
{
    const Graph *g = m->graph;
    opt()->training &= m->training.n > 0;
    switch (opt()->training ? 7 : draw(24)) {
    case 0: opt()->as_struct = true; break;
    case 1: opt()->expand_weights = true; break;
    case 2: opt()->profile = !target_is_plain(opt()->target); break;
    case 3: vec_push(&opt()->taps, some_tensor(m)); break;
    case 4: vec_push(&opt()->untils, some_tensor(m)); break;
    case 5: vec_push(&opt()->froms, some_tensor(m)); break;
    case 6:
        if (g->in.n && g->out.n && g->in.at[0]->name && g->out.at[0]->name)
            vec_push(&opt()->states, ((struct StateOption){{g->out.at[0]->name->s, -1}, {g->in.at[0]->name->s, -1}}));
        break;
    default: break;
    }
}

/* ---- runs in the compiler ---------------------------------------------------------------------------------------- */

enum { MAX_RUN = 1 << 20 };

/* An input of bytes that are all the same. NULL: not for this run. */
static Tensor *some_input(const Value *v, int byte)
{
    int64_t dim[MAX_RANK], n = 1;
    for (int i = 0; i < v->shape->rank; i++) {
        dim[i] = dim_high(v->shape->dim[i]);
        if (__builtin_mul_overflow(n, dim[i], &n) || n > MAX_RUN)
            return NULL;
    }
    if (v->type == STR)
        return NULL;
    Tensor *t = tensor_new(v->type, v->shape->rank, dim);
    memset((void *)(uintptr_t)t->data, v->type == B8 ? byte & 1 : byte, type_bytes(v->type, n));
    return t;
}

/* Runs the model unless it is large or may not terminate; false: it was not run. */
static bool run_model(Model *m)
{
    static const int bytes[] = {0, 1, 0x3F, 0x7F, 0xFF};
    const Graph *g = m->graph;
    int64_t cost = plan()->arena;
    int n = 0;
    EACH_NODE (node, g)
        cost += node->macs + (node->op->flags & CONTROL || node->op->flags & CUSTOM ? MAX_RUN : 0);
    Tensor **in = NEWS(Tensor *, g->in.n + 1), **out = NEWS(Tensor *, g->out.n + 1);
    const int byte = bytes[draw(5)];
    for (int i = 0; i < g->in.n && cost < MAX_RUN; i++)
        if (g->in.at[i]->input >= 0 && !(in[n++] = some_input(g->in.at[i], byte)))
            return false;
    for (int i = 0; i < g->out.n && cost < MAX_RUN; i++) {
        const Dim count = shape_count(*g->out.at[i]->shape);
        cost += dim_high(count) < MAX_RUN ? 0 : MAX_RUN;
    }
    if (cost < MAX_RUN)
        eval_graph(m, in, out);
    return cost < MAX_RUN;
}
#else
const int repairs_of_8 = 2;
#endif

/* ---- files beside the model -------------------------------------------------------------------------------------- */

static char beside[4096]; /* the folder of models with external files */

/* "data", the file that mutate.c's names refer to. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    static char bytes[4096], path[4200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    snprintf(beside, sizeof beside, "%s-files", (*argv)[0]);
    snprintf(path, sizeof path, "%s/data", beside);
    mkdir(beside, 0700);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, sizeof bytes, f) != sizeof bytes || fclose(f))
        abort();
    return 0;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static int parsed, compiled;
static void print_counts(void) { fprintf(stderr, "parsed: %d, compiled: %d\n", parsed, compiled); }

typedef struct Input {
    const uint8_t *data;
    size_t n;
} Input;

static void run(void *input)
{
    const Input *in = input;
#ifdef TARGET_whole
    choose_dumps();
    opt()->training = draw(4) && !target_is_plain(opt()->target); /* as the parser wants to know */
#endif
    Model *m = parse_bytes("fuzz.onnx", in->data, in->n, memmem(in->data, in->n, "location", 8) ? beside : NULL);
    parsed++;
#ifdef TARGET_whole
    bound_sizes();
    choose_inputs(m);
    choose_form(m);
    if (draw(8) && !opt()->training)
        EACH_NODE (n, m->graph)
            add_custom(n);
    compile_model(m);
    if (draw(8) || opt()->training || opt()->states.n || !run_model(m)) /* a run has no state */
        emit_files(m);
    compiled++;
#else
    (void)m;
#endif
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static _Noreturn void found(const char *what, const char *said)
{
    print_counts();
    fprintf(stderr, "%s: %s\n", what, said);
    abort();
}

/* The messages of this run; not in the pool, which may be what is exhausted. */
static char *said;
static size_t n_said, room_said;

static void keep_text(const Message *m, void *arg)
{
    (void)arg;
    const size_t n = (size_t)snprintf(NULL, 0, SAY_FORM, SAY_FORM_ARGS(m, "", ""));
    if (n_said + n >= room_said && !(said = realloc(said, room_said = 2 * (n_said + n + 1))))
        abort();
    n_said += (size_t)sprintf(said + n_said, SAY_FORM, SAY_FORM_ARGS(m, "", ""));
}

static bool ends(const char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);
    return n >= k && !strcmp(path + n - k, end);
}

/* Checks the C file, the header and what is printed. */
static void take_output(const char *path, const void *bytes, size_t n, void *arg)
{
    (void)arg;
    if (ends(path, ".c") || ends(path, ".h"))
        check_c(bytes, n);
    else if (!strcmp(path, "-"))
        check_shown(bytes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool begun;
    if (!begun)
        begun = !atexit(print_counts);
    if (!session_begin())
        abort();
    n_said = 0;
    draws = XXH3_64bits(data, n);
    choose_options();
    say_to(keep_text, NULL);
    output_to(take_output, NULL);
    const double start = seconds();
    const int code = error_catch(run, &(Input){data, n});
    check_shown(said, n_said);
    if (code > EXIT_MODEL)
        found("an exit for no model", n_said ? said : "");
    if (code && !n_said)
        found("refused without a word", "");
    if (seconds() - start > 10) /* libFuzzer's -timeout is wall-clock time, which depends on other processes */
        found("more than 10 seconds", "");
    output_discard();
    session_end();
    return 0;
}
