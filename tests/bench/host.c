/* host.c - runs compiled models and ONNX Runtime in turns, in one process on one processor, and prints every round.
 * usage: host LIBONNXRUNTIME MODEL.onnx TENSORS SECONDS SHARED_OBJECT...
 * TENSORS has one line for each input, then each output: "in|out const|arg name onnx_type bytes file rank dim...". A const
 * input was compiled into the shared objects, so only ONNX Runtime gets it. The shared objects are built from shim.c.
 * Output: "limit I GFLOPS" for each object, "check I ERROR" with the largest difference from ONNX Runtime's outputs (of
 * float tensors, divided by the largest value), then one line "round NS NS ..." per round: the time of a call of ONNX
 * Runtime, then of each object, as means over calls that together take ten milliseconds, so that most of them find their
 * weights in the cache. */
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_TENSORS = 64, MAX_DIMS = 16, MAX_SIDES = 32 };
#define ROUND_NS 1e7

_Noreturn static void fail(const char *what, const char *why)
{
    fprintf(stderr, "host: %s: %s\n", what, why);
    exit(1);
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

typedef struct Tensor {
    char name[256], file[1024];
    int is_input, is_const, type, rank;
    int64_t dim[MAX_DIMS];
    size_t bytes;
    void *data;
} Tensor;

static Tensor tensors[MAX_TENSORS];
static int n_tensors;

static void *aligned_bytes(size_t n)
{
    void *p = aligned_alloc(64, (n + 127) / 64 * 64);
    if (!p)
        fail("memory", "none left");
    memset(p, 0, n);
    return p;
}

static void read_tensors(const char *file)
{
    FILE *f = fopen(file, "r");
    char way[8], role[8];
    if (!f)
        fail(file, "cannot be opened");
    for (Tensor *t = tensors;
         fscanf(f, "%7s %7s %255s %d %zu %1023s %d", way, role, t->name, &t->type, &t->bytes, t->file, &t->rank) == 7;
         t++) {
        if (++n_tensors == MAX_TENSORS || t->rank > MAX_DIMS)
            fail(file, "too many tensors or dimensions");
        for (int i = 0; i < t->rank; i++)
            if (fscanf(f, "%ld", &t->dim[i]) != 1)
                fail(file, "dimension missing");
        t->is_input = !strcmp(way, "in");
        t->is_const = !strcmp(role, "const");
        t->data = aligned_bytes(t->bytes);
        FILE *d = t->is_input ? fopen(t->file, "rb") : NULL;
        if (t->is_input && (!d || fread(t->data, 1, t->bytes, d) != t->bytes))
            fail(t->file, "cannot be read");
        if (d)
            fclose(d);
    }
    fclose(f);
}

/* ---- ONNX Runtime, through its C API ------------------------------------------------------------------ */

/* The API is a table of functions that grows only at its end; these are the positions of the functions used here. */
enum {
    ERROR_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_OPTIONS = 10,
    SET_OPTIMISATION = 23,
    SET_INTRA_THREADS = 24,
    SET_INTER_THREADS = 25,
    CREATE_TENSOR = 49,
    CREATE_CPU_MEMORY = 69
};
enum { API_VERSION = 13, LOG_ERRORS = 3, OPTIMISE_ALL = 99 };

struct ApiBase {
    void *const *(*get_api)(uint32_t version);
    const char *(*version)(void);
};

static void *const *api;
static void *session;
static const char *in_names[MAX_TENSORS], *out_names[MAX_TENSORS];
static void *ins[MAX_TENSORS], *outs[MAX_TENSORS];
static size_t n_ins, n_outs;

#define ORT(place, types, ...) ort_check(((void *(*)types)api[place])(__VA_ARGS__))

static void ort_check(void *status)
{
    if (status)
        fail("ONNX Runtime", ((const char *(*)(void *))api[ERROR_MESSAGE])(status));
}

static void ort_open(const char *library, const char *model)
{
    void *so = dlopen(library, RTLD_NOW | RTLD_LOCAL), *env, *options, *memory;
    if (!so)
        fail(library, dlerror());
    struct ApiBase *(*base)(void) = (struct ApiBase * (*)(void)) dlsym(so, "OrtGetApiBase");
    api = base()->get_api(API_VERSION);
    ORT(CREATE_ENV, (int, const char *, void **), LOG_ERRORS, "bench", &env);
    ORT(CREATE_OPTIONS, (void **), &options);
    ORT(SET_OPTIMISATION, (void *, int), options, OPTIMISE_ALL);
    ORT(SET_INTRA_THREADS, (void *, int), options, 1);
    ORT(SET_INTER_THREADS, (void *, int), options, 1);
    ORT(CREATE_SESSION, (void *, const char *, void *, void **), env, model, options, &session);
    ORT(CREATE_CPU_MEMORY, (int, int, void **), 0, 0, &memory);
    for (int i = 0; i < n_tensors; i++) {
        Tensor *t = &tensors[i];
        void **slot = t->is_input ? &ins[n_ins] : &outs[n_outs];
        *(t->is_input ? &in_names[n_ins++] : &out_names[n_outs++]) = t->name;
        ORT(CREATE_TENSOR, (void *, void *, size_t, int64_t *, size_t, int, void **), memory, t->data, t->bytes, t->dim,
            (size_t)t->rank, t->type, slot);
    }
}

static void ort_run(void)
{
    ORT(RUN, (void *, void *, const char **, void **, size_t, const char **, size_t, void **), session, NULL, in_names,
        ins, n_ins, out_names, n_outs, outs);
}

/* ---- ours ----------------------------------------------------------------------------------------------- */

static int (*run[MAX_SIDES])(void *const *);
static void *args[MAX_TENSORS];

static void our_open(int side, const char *file)
{
    void *so = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        fail(file, dlerror());
    run[side] = (int (*)(void *const *))dlsym(so, "shim_run");
    double (*limit)(void) = (double (*)(void))dlsym(so, "shim_limit");
    printf("limit %d %.1f\n", side, limit());
}

static void our_run(int side)
{
    if (run[side](args))
        fail("compiled model", "returned an error");
}

/* The largest difference of our float outputs from ONNX Runtime's, divided by the largest value. */
static double our_error(int side)
{
    double worst = 0;
    int n = 0;
    for (int i = 0; i < n_tensors; i++)
        if (!tensors[i].is_const)
            args[n++] = tensors[i].is_input ? tensors[i].data : aligned_bytes(tensors[i].bytes);
    our_run(side);
    n = 0;
    for (int i = 0; i < n_tensors; i++) {
        Tensor *t = &tensors[i];
        if (t->is_const)
            continue;
        const float *got = args[n++], *want = t->data;
        double scale = 0, error = 0;
        if (t->is_input || t->type != 1)
            continue;
        for (size_t k = 0; k < t->bytes / sizeof(float); k++) {
            scale = fmax(scale, fabs(want[k]));
            error = fabs(got[k] - want[k]) <= error ? error : fabs(got[k] - want[k]);
        }
        worst = fmax(worst, error / (scale > 0 ? scale : 1));
    }
    return worst;
}

/* ---- rounds --------------------------------------------------------------------------------------------- */

static double now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds of processor time per call; side -1: ONNX Runtime. */
static double time_calls(int side, long calls)
{
    double start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < calls; i++)
        side < 0 ? ort_run() : our_run(side);
    return (now_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)calls;
}

static long calls_for(int side)
{
    double best = time_calls(side, 1);
    for (int i = 0; i < 3; i++)
        best = fmin(best, time_calls(side, 1));
    return best < ROUND_NS ? (long)(ROUND_NS / best) + 1 : 1;
}

int main(int argc, char **argv)
{
    cpu_set_t one;
    int sides = argc - 5;
    if (sides < 0 || sides > MAX_SIDES)
        fail("usage", "host LIBONNXRUNTIME MODEL.onnx TENSORS SECONDS SHARED_OBJECT...");
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    read_tensors(argv[3]);
    ort_open(argv[1], argv[2]);
    ort_run();
    for (int s = 0; s < sides; s++) {
        our_open(s, argv[5 + s]);
        printf("check %d %.3g\n", s, our_error(s));
    }
    long calls[MAX_SIDES + 1];
    for (int s = -1; s < sides; s++)
        calls[s + 1] = calls_for(s);
    double end = now_ns(CLOCK_MONOTONIC) + atof(argv[4]) * 1e9;
    for (int round = 0; round < 5 || now_ns(CLOCK_MONOTONIC) < end; round++) {
        double ns[MAX_SIDES + 1];
        for (int i = 0; i <= sides; i++) { /* alternately forwards and backwards */
            int s = round % 2 ? sides - i : i;
            ns[s] = time_calls(s - 1, calls[s]);
        }
        printf("round");
        for (int s = 0; s <= sides; s++)
            printf(" %.0f", ns[s]);
        printf("\n");
    }
    return 0;
}
