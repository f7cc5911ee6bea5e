/* verify.c - onnxcc verify MODEL [DATA]: is the C that onnxcc writes right? */
#include "verify/verify.h"

#include <stdlib.h>

#include "arguments.h"
#include "base/options.h"
#include "compile.h"
#include "ir/opset.h"
#include "read/read.h"

typedef struct Verdict {
    int outputs, compared, different; /* in all data sets */
    /* The first data set in which a result differs from the data's, and from one that was computed; -1: none. */
    int first_given, first_computed;
} Verdict;

/* ---- comparison -------------------------------------------------------------------------------------------------- */

/* Prints the difference of an output of data set k from the expected one; sets *first to k if it is the first that is
 * too large. */
static void compare(Verdict *all, int k, int *first, const Data *got, const Data *expected, const char *with)
{
    Text t = {0};
    const Difference d = data_difference(got, expected, opt()->tolerance);
    put_difference(&t, &d);
    if (d.count)
        text_put(&t, ", first at %s: %s, not %s", d.first, d.got, d.expected);
    printf("    %s: %s\n", with, t.s);
    all->compared++;
    if (is_alike(&d))
        return;
    all->different++;
    *first = *first < 0 ? k : *first;
}

static void compare_output(Verdict *all, const Attempt *p, int k, int i, Name output)
{
    const char *const folder = text_format("%s/%d", p->folder, k);
    Data *got = data_from(text_format("%s/out_%d", folder, i)), *ort = data_from(text_format("%s/ort_%d", folder, i)),
         *own = data_from(text_format("%s/eval_%d", folder, i));
    const Data *data = data_named(&p->data->set.at[k], output->s);
    const int before = all->compared;
    all->outputs++;
    printf("  %s: %s\n", printable(output), data_text(got));
    if (data)
        compare(all, k, &all->first_given, got, data, "the data");
    if (ort)
        compare(all, k, &all->first_computed, got, ort, "ONNX Runtime");
    if (own)
        compare(all, k, &all->first_computed, got, own, "onnxcc's evaluator");
    if (all->compared == before)
        printf("    nothing to compare with\n");
    data_release(got);
    data_release(ort);
    data_release(own);
}

static void compare_all(Verdict *all, const Attempt *p)
{
    Names outputs = {0};
    read_names(text_format("%s/outputs", p->folder), &outputs);
    for (int k = 0; k < p->data->set.n; k++) {
        printf("%s\n", printable(name(p->data->set.at[k].title)));
        for (int i = 0; i < outputs.n; i++)
            compare_output(all, p, k, i, outputs.at[i]);
    }
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static _Noreturn void end_with(int code)
{
    fflush(stdout);
    leave_session(code);
}

void must_run(Attempt *p)
{
    const int code = attempt_run(p);
    if (code)
        end_with(code);
    fflush(stdout);
    if (*p->failure)
        fail_as(EXIT_MODEL, "EVA-03", "%s", p->failure);
}

/* The outputs by ONNX Runtime. */
static void run_runtime(Runtime *r, const Model *m, const Attempt *p)
{
    Names outputs = {0};
    read_names(text_format("%s/outputs", p->folder), &outputs);
    for (int k = 0; k < p->data->set.n && !r->missing; k++)
        runtime_run(r, m, &p->data->set.at[k], p->folder, k, &outputs);
}

static bool has_outputs(const DataSets *data, const Model *m)
{
    for (int k = 0; k < data->set.n; k++)
        for (int i = 0; i < m->graph->out.n; i++)
            if (!data_named(&data->set.at[k], m->graph->out.at[i]->name->s))
                return false;
    return true;
}

static void print_sides(const Runtime *r, bool data, bool evaluated)
{
    const char *cc = getenv("CC"), *flags = getenv("CFLAGS");
    printf("built by %s %s; alike within %g + %g * |expected|\n", printable(name(cc && *cc ? cc : "cc")),
           printable(name(flags ? flags : "-O2")), opt()->tolerance.absolute, opt()->tolerance.relative);
    if (r->version)
        printf("compared with %sONNX Runtime %s\n", data ? "the data and " : "", r->version);
    else
        printf("compared with %s; ONNX Runtime: %s\n",
               data        ? "the data"
               : evaluated ? "onnxcc's own evaluator"
                           : "nothing",
               r->missing);
}

Attempt attempt_begin(void *words, DataSets *data, Model **m)
{
    static const char *const none[] = {NULL};
    read_arguments(words, BY_VERIFY);
    if (opt()->customs.n)
        usage("--custom-op: this command has no definition of the operator; --until TENSOR ends the model before it");
    *m = read_model(opt()->model);
    stop_on_errors();
    data_read(data, *m, opt()->data);
    return (Attempt){.words = words,
                     .folder = text_format("%s/c", temporary_folder()),
                     .model = opt()->model,
                     .data = data,
                     .taps = none,
                     .only = -1};
}

/* The attempt has said what there is to say about the model. */
static void know_operators(Model *m)
{
    Deferred *const said = errors_defer();
    resolve_ops(m);
    check_model(m);
    errors_resume(said);
}

void verify(void *words)
{
    DataSets data = {0};
    Runtime r = {0};
    Verdict all = {.first_given = -1, .first_computed = -1};
    Model *m = NULL;
    Attempt p = attempt_begin(words, &data, &m);
    must_run(&p);
    know_operators(m);
    runtime_find(&r, opt()->model);
    run_runtime(&r, m, &p);
    const bool compares = has_outputs(&data, m);
    if (r.missing && !compares) {
        p.evaluate = true;
        must_run(&p);
    }
    print_sides(&r, compares, p.evaluated);
    compare_all(&all, &p);
    if (all.first_computed >= 0)
        locate(&p, &r, m, all.first_computed);
    else if (all.first_given >= 0 && r.version)
        printf("  ONNX Runtime has the values of the C: the data is not this model's\n");
    else if (all.first_given >= 0)
        locate(&p, &r, m, all.first_given);
    fflush(stdout);
    if (all.different)
        fail_as(EXIT_MODEL, "EVA-02", "%d of %d comparisons differ", all.different, all.compared);
    printf("%d outputs, %d comparisons: right\n", all.outputs, all.compared);
}
