/* runs.c - many models in one process, good and bad ones in any order: each gives the bytes and the messages that it gives alone.
 *
 * usage: runs FOLDER SEED MODEL ...     FOLDER: for what is written */
#include "compile.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

/* What is done with a model: as it is; so large that it fails in a late stage; with a byte of the file changed; cut off. */
enum { AS_IT_IS, TOO_LARGE, DAMAGED, CUT, N_WAYS, TIMES = 2 };

static const char *folder;
static unsigned long long seed;

static unsigned draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33);
}

static char *path_in(const char *file)
{
    char *path = malloc(strlen(folder) + strlen(file) + 2);
    sprintf(path, "%s/%s", folder, file);
    return path;
}

static char *bytes_of(const char *file, size_t *n)
{
    FILE *f = fopen(file, "rb");
    char *s = NULL;
    *n = 0;
    for (size_t got = 1; f && got; *n += got) {
        s = realloc(s, *n + 65536);
        got = fread(s + *n, 1, 65536, f);
    }
    if (f)
        fclose(f);
    return s;
}

/* The model's file as it will be read. Where it is damaged is the same every time. */
static const char *prepared(const char *model, int way, unsigned long long where)
{
    if (way < DAMAGED)
        return model;
    size_t n;
    char *s = bytes_of(model, &n), *path = path_in("damaged.onnx");
    if (way == CUT)
        n = n * (where % 97) / 97;
    else if (n)
        s[where % n] ^= (char)(1 << where % 8);
    FILE *f = fopen(path, "wb");
    fwrite(s, 1, n, f);
    fclose(f);
    free(s);
    return path;
}

static void bound_sizes(int way)
{
    for (int i = 0; i < symbol_count(); i++)
        if (symbol_at(i)->user)
            vec_push(&opt()->dims,
                     ((struct DimOption){symbol_at(i)->name->s, 0, way == TOO_LARGE ? 1 << 30 : 8, false}));
}

static void keep_text(const Message *m, void *t) { error_text(t, m); }

static void compile(void *way)
{
    Model *m = read_model(opt()->model);
    bound_sizes(*(int *)way);
    compile_model(m);
    emit_files(m);
}

/* What one model gives, as a number. */
static uint64_t run(const char *model, int way, unsigned long long where)
{
    char *c = path_in("m.c"), *h = path_in("m.h");
    unlink(c);
    unlink(h);
    if (!session_begin())
        abort();
    *opt() = (Options){.model = prepared(model, way, where),
                       .output = c,
                       .prefix = "m",
                       .target = target_find("generic"),
                       .weights = WEIGHTS_INLINE};
    Text said = {0};
    error_to(keep_text, &said);
    const int code = error_catch(compile, &way);
    uint64_t hash = XXH3_64bits_withSeed(said.s ? said.s : "", said.n, (uint64_t)code);
    session_end();
    for (char **file = (char *[]){c, h, NULL}; *file; file++) {
        size_t n;
        char *s = bytes_of(*file, &n);
        hash = XXH3_64bits_withSeed(s ? s : "", n, hash);
        free(s);
        free(*file);
    }
    return hash;
}

/* Numbers from 0 to n - 1, each TIMES times, in any order. */
static int *any_order(int n)
{
    int *order = malloc(sizeof *order * (size_t)(n * TIMES));
    for (int i = 0; i < n * TIMES; i++) {
        int k = (int)(draw() % (unsigned)(i + 1));
        order[i] = order[k];
        order[k] = i % n;
    }
    return order;
}

static int in_child(void (*f)(int), int i)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        f(i);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static char **model;
static struct Shared {
    int at, wrong;
    uint64_t alone[];
} *shared;
static int n_cases;

static uint64_t run_case(int i) { return run(model[i / N_WAYS], i % N_WAYS, 7919u * (unsigned)i + 13); }
static void run_alone(int i) { shared->alone[i] = run_case(i); }

static void run_together(int from)
{
    int *order = any_order(n_cases);
    for (int i = from; i < n_cases * TIMES; i++) {
        shared->at = order[i];
        if (run_case(order[i]) != shared->alone[order[i]]) {
            printf("FAIL %s, way %d: other bytes or messages than alone\n", model[order[i] / N_WAYS],
                   order[i] % N_WAYS);
            shared->wrong++;
        }
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    folder = argv[1];
    seed = strtoull(argv[2], NULL, 10);
    model = argv + 3;
    n_cases = (argc - 3) * N_WAYS;
    shared = mmap(NULL, sizeof *shared + sizeof *shared->alone * (size_t)n_cases, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = 0;
    for (int i = 0; i < n_cases; i++)
        if (in_child(run_alone, i)) {
            printf("FAIL %s, way %d: ends the process\n", model[i / N_WAYS], i % N_WAYS);
            failed++;
        }
    if (in_child(run_together, 0)) {
        printf("FAIL %s, way %d: ends the process after others\n", model[shared->at / N_WAYS], shared->at % N_WAYS);
        failed++;
    }
    failed += shared->wrong;
    printf("runs: %d passed, %d failed\n", n_cases * TIMES - failed, failed);
    return failed > 0;
}
