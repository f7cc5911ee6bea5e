/* compile.c - the pipeline: the stages in order; each is timed, dumped and verified. */
#include "compile.h"

#include <time.h>

#include "base/compare.h"
#include "base/depend.h"
#include "base/output.h"
#include "emit/eval.h"
#include "emit/source.h"
#include "emit/report.h"
#include "ir/dump.h"
#include "ir/opset.h"
#include "ir/remark.h"
#include "memory/plan.h"
#include "passes/passes.h"
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
} stages[] = {
    {"resolve", 'p', resolve_ops}, {"check", 0, check_model},   {"inline", 'i', inline_functions},
    {"calls", 0, check_inlined},   {"infer", 'f', infer_model}, {"simplify", 's', simplify_model},
    {"layout", 'l', layout_model}, {"bind", 'b', bind_model},   {"fuse", 'u', fuse_model},
    {"plan", 'a', plan_model},
};

const char *stage_letters(void)
{
    Text t = {0};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        text_bytes(&t, &stages[i].letter, stages[i].letter != 0);
    return t.s;
}

static void run_stage(const struct Stage *s, Model *m)
{
    double start = seconds();
    forget_pages();
    s->run(m);
    stop_on_errors();
    if (opt()->verbose)
        print_stage(s->name, start, m);
    if (opt()->dump && s->letter && strchr(opt()->dump, s->letter))
        dump_model(m, s->name);
#ifndef NDEBUG
    verify_model(m, s->name);
#endif
}

Model *read_model(const char *file)
{
    double start = seconds();
    Model *m = parse_model(file);
    if (opt()->verbose)
        print_stage("parse", start, m);
    return m;
}

void compile_model(Model *m)
{
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        run_stage(&stages[i], m);
    remarks_end();
}

void emit_files(Model *m)
{
    double start = seconds();
    emit_model(m);
    if (opt()->verbose)
        note("%-9s %9.3f ms\n", "emit", (seconds() - start) * 1e3);
    if (opt()->report)
        report_model(m);
    if (opt()->depend && !opt()->check)
        depend_write(opt()->depend);
    output_commit();
    compare_end();
}

void write_model(Model *m)
{
    compile_model(m);
    if (opt()->eval_dir)
        eval_model(m, opt()->eval_dir);
    else
        emit_files(m);
}
