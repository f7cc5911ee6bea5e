/* compile.c - the pipeline: the stages in order; each is timed, dumped and verified. */
#include "compile.h"

#include <stdlib.h>
#include <time.h>

#include "base/compare.h"
#include "base/depend.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/process.h"
#include "emit/eval.h"
#include "emit/source.h"
#include "emit/report.h"
#include "ir/dump.h"
#include "ir/opset.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "memory/plan.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "read/read.h"

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_stage(const char *stage, double start, Model *m)
{
    int n = 0;
    EACH_NODE (each, m->graph)
        n++;
    note("%-9s %9.3f ms %7d nodes\n", stage, (seconds() - start) * 1e3, n);
}

static const struct Stage {
    const char *name;
    char letter;
    void (*run)(Model *);
    const char *doing; /* for the user */
} stages[] = {
    {"resolve", 'p', resolve_ops, "checking the model"}, {"check", 0, check_model, "checking the model"},
    {"cut", 0, cut_model, "checking the model"},         {"names", 0, bind_named, "expanding functions"},
    {"join", 0, join_training, "expanding functions"},   {"inline", 'i', inline_functions, "expanding functions"},
    {"calls", 0, check_inlined, "expanding functions"},  {"infer", 'f', infer_model, "finding shapes and constants"},
    {"simplify", 's', simplify_model, "simplifying"},    {"layout", 'l', layout_model, "laying out"},
    {"bind", 'b', bind_model, "choosing kernels"},       {"fuse", 'u', fuse_model, "fusing"},
    {"state", 0, pair_states, "pairing states"},         {"plan", 'a', plan_model, "planning memory"},
};

const char *stage_letters(void)
{
    Text t = {0};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        text_bytes(&t, &stages[i].letter, stages[i].letter != 0);
    return t.s;
}

/* Are its errors about single nodes, whose results later stages can do without? */
static bool refuses_nodes(const struct Stage *s) { return s->run == resolve_ops || s->run == check_model; }

static void run_stage(const struct Stage *s, Model *m)
{
    double start = seconds();
    forget_pages();
    progress(s->doing);
    const int errors = error_count();
    s->run(m);
    if (!refuses_nodes(s))
        stop_on_new_errors(errors);
    if (opt()->verbose)
        print_stage(s->name, start, m);
    if (error_count()) /* of nodes that were refused; infer ends the run */
        return;
    if (opt()->dump && s->letter && strchr(opt()->dump, s->letter))
        dump_model(m, s->name);
#ifndef NDEBUG
    verify_model(m, s->name);
#endif
}

Model *read_model(const char *file)
{
    double start = seconds();
    opt()->on_disk = strcmp(file, "-") != 0;
    progress("reading the model");
    Model *m = parse_model(file);
    if (opt()->verbose)
        print_stage("parse", start, m);
    return m;
}

/* ---- types of --from --------------------------------------------------------------------------------------------- */

/* What a run of its own finds about a tensor that the model does not declare. The names are of the run that asks. */
typedef struct Probe {
    const Options *options;
    const char *file, *tensor;
    Type type;
    int rank;
    int64_t dim[MAX_RANK]; /* -1: not a number */
    char *param[MAX_RANK]; /* its name; NULL: none */
} Probe;

static void drop_message(const Message *m, void *unused)
{
    (void)m;
    (void)unused;
}

static void infer_until(void *model)
{
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        stages[i].run(model);
        stop_on_errors();
        if (stages[i].run == infer_model)
            return;
    }
}

/* Infers the model up to the tensor. If that fails, what is known by then may be enough. */
static void probe(void *arg)
{
    Probe *p = arg;
    say_to(drop_message, NULL);
    *opt() = *p->options;
    memset(&opt()->froms, 0, sizeof opt()->froms);
    memset(&opt()->taps, 0, sizeof opt()->taps);
    memset(&opt()->untils, 0, sizeof opt()->untils);
    vec_push(&opt()->untils, p->tensor);
    opt()->dump = NULL;
    Model *m = parse_model(p->file);
    Value *v = map_get(&m->graph->scope, name(p->tensor));
    v->pinned = true;
    error_catch(infer_until, m);
    v = m->graph->out.n == 1 ? m->graph->out.at[0] : NULL;
    if (!v || v->form != TENSOR || !v->type || !v->shape || v->shape->rank < 0)
        return;
    p->type = v->type;
    p->rank = v->shape->rank;
    for (int k = 0; k < p->rank; k++) {
        const Dim d = v->shape->dim[k];
        const Symbol *s = symbol_of(d);
        p->dim[k] = dim_is_const(d) ? dim_value(d) : -1;
        p->param[k] = s && s->user ? strdup(s->name->s) : NULL;
    }
}

static void declare(Value *v, Probe *p)
{
    TypeDesc *d = NEW(TypeDesc);
    d->form = TENSOR;
    d->elem = p->type;
    d->shape.rank = p->rank;
    for (int k = 0; k < p->rank; k++) {
        d->dim_param[k] = p->param[k] ? name(p->param[k]) : NULL;
        d->shape.dim[k] = p->dim[k] >= 0
                              ? D(p->dim[k])
                              : dim_symbol(symbol_by_name(p->param[k] ? d->dim_param[k] : name_bytes("?", 2)));
        free(p->param[k]);
    }
    v->desc = d;
}

/* Declares the tensors of --from that the model does not. */
static void find_types(Model *m)
{
    for (int i = 0; i < opt()->froms.n; i++) {
        Value *v = cut_unknown(m, opt()->froms.at[i]);
        Probe p = {.options = opt(), .file = opt()->model, .tensor = opt()->froms.at[i]};
        if (v && opt()->on_disk && process_run(probe, &p, false) == 0 && p.type)
            declare(v, &p);
    }
}

void compile_model(Model *m)
{
    provenance_begin(m);
    find_types(m);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        run_stage(&stages[i], m);
    remarks_end();
}

void emit_files(Model *m)
{
    double start = seconds();
    progress("writing the code");
    emit_model(m);
    if (opt()->verbose)
        note("%-9s %9.3f ms\n", "emit", (seconds() - start) * 1e3);
    if (opt()->report)
        report_model(m);
    if (opt()->map)
        write_map(m);
    if (opt()->emit_test)
        write_test(m);
    if (opt()->depend && !opt()->check)
        depend_write(opt()->depend);
    progress_clear();
    output_commit();
    compare_end();
}

void write_model(Model *m)
{
    compile_model(m);
    if (!opt()->eval_dir)
        emit_files(m);
    progress_off();
    if (opt()->eval_dir)
        eval_model(m, opt()->eval_dir);
}
