/* compile.c - the way of a model: the stages in order, each timed, dumped and verified. */
#include "compile.h"

#include <time.h>

#include "base/output.h"
#include "emit/eval.h"
#include "emit/source.h"
#include "emit/report.h"
#include "ir/dump.h"
#include "ir/opset.h"
#include "memory/plan.h"
#include "passes/passes.h"
#include "read/read.h"

static const Target targets[] = {
    {"generic", 16, false, false, "", 0},
    {"x86-64-v2", 16, true, false, "-march=x86-64-v2", 0},
    {"x86-64-v3", 32, true, false, "-march=x86-64-v3", 0},
    {"x86-64-v4", 64, true, false, "-march=x86-64-v4", 0},
    {"aarch64", 16, false, false, "-march=armv8-a", 0},
    {"riscv64", 16, false, false, "-march=rv64gc", 0},
    {"cortex-m4", 4, false, true, "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", INT32_MAX},
    {"cortex-m7", 4, false, true, "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16", INT32_MAX},
    {"cortex-m55", 16, false, true, "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", INT32_MAX},
};

const Target *target_find(const char *target)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (!strcmp(targets[i].name, target))
            return &targets[i];
    return NULL;
}

/* What a name begins with, and the target whose code suits it best; "generic" suits all others. */
static const struct {
    const char *begins, *use;
} neighbours[] = {
    {"arm64", "aarch64"},         {"armv8", "aarch64"},         {"armv9", "aarch64"},
    {"cortex-a53", "aarch64"},    {"cortex-a55", "aarch64"},    {"cortex-a57", "aarch64"},
    {"cortex-a72", "aarch64"},    {"cortex-a73", "aarch64"},    {"cortex-a76", "aarch64"},
    {"cortex-a78", "aarch64"},    {"neoverse", "aarch64"},      {"apple", "aarch64"},
    {"rv64", "riscv64"},          {"cortex-m33", "cortex-m4"},  {"cortex-m35", "cortex-m4"},
    {"cortex-m52", "cortex-m55"}, {"cortex-m85", "cortex-m55"}, {"haswell", "x86-64-v3"},
    {"skylake-a", "x86-64-v4"},   {"skylake", "x86-64-v3"},     {"icelake", "x86-64-v4"},
    {"sapphire", "x86-64-v4"},    {"znver4", "x86-64-v4"},      {"znver5", "x86-64-v4"},
    {"znver", "x86-64-v3"},
};

const char *target_nearest(const char *target)
{
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++)
        if (!strncmp(neighbours[i].begins, target, strlen(neighbours[i].begins)))
            return neighbours[i].use;
    return "generic";
}

const char *target_names(void)
{
    Text t = {0};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        text_put(&t, "%s%s", i ? ", " : "", targets[i].name);
    return t.s;
}

/* ---- stages -------------------------------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void count_node(Node *n, void *count)
{
    (void)n;
    ++*(int *)count;
}

static void print_stage(const char *stage, double start, Model *m)
{
    int n = 0;
    graph_each_node(m->graph, count_node, &n);
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
}

void emit_files(Model *m)
{
    double start = seconds();
    emit_model(m);
    if (opt()->verbose)
        note("%-9s %9.3f ms\n", "emit", (seconds() - start) * 1e3);
    if (opt()->report)
        report_model(m);
    output_commit();
}

void write_model(Model *m)
{
    compile_model(m);
    if (opt()->eval_dir)
        eval_model(m, opt()->eval_dir);
    else
        emit_files(m);
}
