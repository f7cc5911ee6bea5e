/* target.c - one model, in this process: parsed alone, or (-DTARGET_whole) compiled up to the text of the C. */
#include "mutate.h"

#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

#include "base/output.h"
#include "compile.h"
#include "onnxcc.h"

/* Some runs each for other processors and other forms of the C; a model always has the same ones. */
static void choose_options(uint64_t hash)
{
    static const char *const targets[] = {"generic", "generic", "x86-64-v3", "cortex-m4"};
    static const Weights weights[] = {WEIGHTS_AUTO, WEIGHTS_AUTO, WEIGHTS_INCBIN, WEIGHTS_FILE};
    *opt() = (Options){.model = "fuzz.onnx",
                       .output = "fuzz.c",
                       .prefix = "fuzz",
                       .target = target_find(targets[hash % 4]),
                       .single = hash >> 2 & 1,
                       .strict = (hash >> 3 & 7) == 0,
                       .weights = weights[hash >> 6 & 3],
                       .report = (hash >> 8 & 3) == 0,
                       .report_json = hash >> 10 & 1};
}

#ifdef TARGET_whole
const int repairs_of_8 = 7;

/* Most models that leave a size open need a bound of it. */
static void bound_sizes(uint64_t hash)
{
    for (int i = 0; i < symbol_count() && (hash >> 11 & 3); i++)
        if (symbol_at(i)->user)
            vec_push(&opt()->dims,
                     ((struct DimOption){symbol_at(i)->name->s, 0, 1 + (int64_t)(hash >> 13 & 7), false}));
}
#else
const int repairs_of_8 = 2;
#endif

static int parsed, compiled;
static void print_counts(void) { fprintf(stderr, "parsed: %d, compiled: %d\n", parsed, compiled); }

typedef struct Input {
    const uint8_t *data;
    size_t n;
} Input;

static void run(void *input)
{
    const uint8_t *const data = ((Input *)input)->data;
    const size_t n = ((Input *)input)->n;
    Model *m = parse_bytes("fuzz.onnx", data, n, NULL);
    parsed++;
#ifdef TARGET_whole
    bound_sizes(XXH3_64bits(data, n));
    compile_model(m);
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

static void keep_text(const Message *m, void *t) { error_text(t, m); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool begun;
    if (!begun)
        begun = !atexit(print_counts);
    if (!session_begin())
        abort();
    Text said = {0}; /* in the pool, so it is of this run alone */
    choose_options(XXH3_64bits(data, n));
    error_to(keep_text, &said);
    const double start = seconds();
    int code = error_catch(run, &(Input){data, n});
    if (code > EXIT_MODEL) {
        print_counts();
        fprintf(stderr, "exit %d: %s\n", code, said.s ? said.s : "");
        abort();
    }
    if (seconds() - start > 10) { /* libFuzzer's -timeout is time on the wall, which others share */
        print_counts();
        fprintf(stderr, "more than 10 seconds\n");
        abort();
    }
    output_discard();
    session_end();
    return 0;
}
