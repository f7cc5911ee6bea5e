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
    opt = (Options){.model = "fuzz.onnx",
                    .output = "fuzz.c",
                    .prefix = "fuzz",
                    .target = target_find(targets[hash % 4]),
                    .single = hash >> 2 & 1,
                    .strict = (hash >> 3 & 7) == 0};
}

static void run(const uint8_t *data, size_t n)
{
    Model *m = parse_bytes("fuzz.onnx", data, n);
#ifdef TARGET_whole
    compile_model(m);
    emit_files(m);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static Text said; /* in the pool, so it is of this run alone */
    jmp_buf leave;
    said = (Text){0};
    choose_options(XXH3_64bits(data, n));
    error_sink = &said;
    error_exit = &leave;
    const double start = seconds();
    int code = setjmp(leave);
    if (!code)
        run(data, n);
    if (code > EXIT_MODEL) {
        fprintf(stderr, "exit %d: %s\n", code, said.s ? said.s : "");
        abort();
    }
    if (seconds() - start > 10) { /* libFuzzer's -timeout is time on the wall, which others share */
        fprintf(stderr, "more than 10 seconds\n");
        abort();
    }
    output_discard();
    pool_reset();
    return 0;
}
