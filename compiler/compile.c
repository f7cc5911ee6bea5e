/* compile.c - the pipeline: the stages in order; each is timed, dumped and verified. */
#include "compile.h"

#include <time.h>

#include "base/compare.h"
#include "base/depend.h"
#include "base/output.h"
#include "base/progress.h"
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
#include "probe.h"
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
    {"resolve", 'p', resolve_ops, "checking the model"},
    {"check", 0, check_model, "checking the model"},
    {"cut", 0, cut_model, "checking the model"},
    {"names", 0, bind_named, "expanding functions"},
    {"join", 0, join_training, "expanding functions"},
    {"inline", 'i', inline_functions, "expanding functions"},
    {"calls", 0, check_inlined, "expanding functions"},
    {"infer", 'f', infer_model, "finding shapes and constants"},
    {"simplify", 's', simplify_model, "simplifying"},
    {"layout", 'l', layout_model, "laying out"},
    {"bind", 'b', bind_model, "choosing kernels"},
    {"fuse", 'u', fuse_model, "fusing"},
    {"load", 0, load_constants, "fusing"},
    {"state", 0, pair_states, "pairing states"},
    {"plan", 'a', plan_model, "planning memory"},
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
    if (error_count()) /* of nodes that were refused; infer ends the session */
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

static void infer_until(void *model)
{
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        stages[i].run(model);
        stop_on_errors();
        if (stages[i].run == infer_model)
            return;
    }
}

void compile_model(Model *m)
{
    provenance_begin(m);
    find_types(m, infer_until);
    find_sizes(m, infer_until);
    find_taps(m, infer_until);
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
