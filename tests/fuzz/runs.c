/* runs.c - compiles many models in one process, good and bad ones in any order, in one thread and then in two at once;
 * each must give the command's files and messages.
 * usage: runs ONNXCC FOLDER SEED COUNT MODEL ...     FOLDER: for output; COUNT: the number of cases, drawn at random */
#include "compile.h"
#include "ir/symbol.h"
#include "libonnxcc.h"
#include "read/read.h"

#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

/* Variants of a model: unchanged; with bounds of its sizes; so large that it fails in a late stage; with a byte of the
 * file changed; truncated. */
enum { AS_IT_IS, BOUNDED, TOO_LARGE, DAMAGED, CUT, N_WAYS, MAX_DIMS = 64, THREADS = 2 };

typedef struct Case {
    const char *model;
    int way;
    char *bytes;
    size_t n;
    const char *words[8 + 2 * MAX_DIMS];
    int n_words;
    uint64_t expected;
} Case;

static const char *onnxcc, *folder;
static unsigned long long seed;
static Case *cases;
static int n_cases;
static struct Shared {
    int at[THREADS], wrong, done;
} *shared;

static unsigned draw(unsigned long long *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33);
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

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static void damage(Case *c)
{
    const unsigned where = draw(&seed);
    if (c->way == CUT)
        c->n = c->n * (where % 97) / 97;
    else if (c->way == DAMAGED && c->n)
        c->bytes[where % c->n] ^= (char)(1 << where % 8);
}

static void add_bounds(void *arg)
{
    Case *c = arg;
    parse_bytes("m.onnx", c->bytes, c->n, NULL);
    for (int i = 0; i < symbol_count() && c->n_words < 2 * MAX_DIMS; i++) {
        const char *s = symbol_at(i)->name->s;
        if (!symbol_at(i)->user || !*s || strpbrk(s, "=<"))
            continue;
        char *word = malloc(strlen(s) + 16);
        sprintf(word, "%s<=%d", s, c->way == TOO_LARGE ? 1 << 30 : 8);
        c->words[c->n_words++] = "--dim";
        c->words[c->n_words++] = word;
    }
}

static void be_quiet(const Message *m, void *unused)
{
    (void)m;
    (void)unused;
}

static void make_case(Case *c, const char *model, int way)
{
    *c = (Case){.model = model, .way = way, .words = {"-o", "m.c", "--prefix", "m", "--report"}, .n_words = 5};
    c->bytes = bytes_of(model, &c->n);
    damage(c);
    if (way != BOUNDED && way != TOO_LARGE)
        return;
    if (!session_begin())
        abort();
    say_to(be_quiet, NULL);
    error_catch(add_bounds, c);
    session_end();
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const void *bytes, size_t n, uint64_t hash) { return XXH3_64bits_withSeed(bytes, n, hash); }

static uint64_t hash_file(const char *name, uint64_t hash)
{
    char *path = path_in(name);
    size_t n;
    char *s = bytes_of(path, &n);
    hash = hash_of(s ? s : "", n, hash);
    unlink(path);
    free(s);
    free(path);
    return hash;
}

static void write_model_file(const Case *c)
{
    char *path = path_in("m.onnx");
    FILE *f = fopen(path, "wb");
    fwrite(c->bytes, 1, c->n, f);
    fclose(f);
    free(path);
}

static void be_command(Case *c)
{
    if (chdir(folder) || !freopen("said", "w", stderr) || !freopen("report", "w", stdout))
        _exit(99);
    const char *words[16 + 2 * MAX_DIMS] = {onnxcc, "m.onnx"};
    memcpy(words + 2, c->words, sizeof c->words);
    execv(onnxcc, (char **)(uintptr_t)words);
    _exit(98);
}

static uint64_t by_command(Case *c)
{
    write_model_file(c);
    const pid_t child = fork();
    if (!child)
        be_command(c);
    int status = -1;
    waitpid(child, &status, 0);
    uint64_t hash = hash_file("said", (uint64_t)WEXITSTATUS(status));
    shared->done += !status;
    static const char *const files[] = {"m.c", "m.h", "m.c.weights", "report"};
    for (int i = 0; i < 4; i++)
        hash = hash_file(files[i], hash);
    if (WIFSIGNALED(status))
        printf("FAIL %s, way %d: ends the command\n", c->model, c->way);
    return hash;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

typedef struct Got {
    char *said;
    size_t n;
    struct {
        void *bytes;
        size_t n;
    } file[4];
} Got;

static void keep_message(void *got, const OnnxccMessage *m)
{
    static const char *const words[] = {"error", "warning", "help", "internal error", "error"};
    Got *g = got;
    char *more = NULL;
    const int n = asprintf(&more, "%s%s%s%s: %s\n%s%s%s", words[m->severity], *m->code ? "[" : "", m->code,
                           *m->code ? "]" : "", m->text, *m->place ? "  --> " : "", m->place, *m->place ? "\n" : "");
    g->said = realloc(g->said, g->n + (size_t)n);
    memcpy(g->said + g->n, more, (size_t)n);
    g->n += (size_t)n;
    free(more);
}

static void keep_file(void *got, const char *name, const void *bytes, size_t n)
{
    static const char *const files[] = {"m.c", "m.h", "m.c.weights", "-"};
    Got *g = got;
    for (int i = 0; i < 4; i++)
        if (!strcmp(files[i], name)) {
            g->file[i].bytes = memcpy(malloc(n + 1), bytes, n);
            g->file[i].n = n;
        }
}

static uint64_t by_library(const Case *c)
{
    Got g = {0};
    const OnnxccRequest r = {.model = c->bytes,
                             .model_size = c->n,
                             .name = "m.onnx",
                             .folder = folder,
                             .options = c->words,
                             .message = keep_message,
                             .file = keep_file,
                             .user = &g};
    const int code = onnxcc_compile(&r);
    uint64_t hash = hash_of(g.said ? g.said : "", g.n, (uint64_t)code);
    for (int i = 0; i < 4; i++) {
        hash = hash_of(g.file[i].bytes ? g.file[i].bytes : "", g.file[i].n, hash);
        free(g.file[i].bytes);
    }
    free(g.said);
    return hash;
}

/* All cases in this thread's own order, under a locale and a rounding mode that the caller has set. */
static void *all_cases(void *thread)
{
    const int t = (int)(intptr_t)thread;
    unsigned long long state = seed + (unsigned)t;
    int *order = malloc(sizeof *order * (size_t)n_cases);
    fesetround(t ? FE_UPWARD : FE_DOWNWARD);
    for (int i = 0; i < n_cases; i++) {
        int k = (int)(draw(&state) % (unsigned)(i + 1));
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < n_cases; i++) {
        const Case *c = &cases[shared->at[t] = order[i]];
        if (by_library(c) == c->expected)
            continue;
        printf("FAIL %s, way %d: other files or messages than the command's\n", c->model, c->way);
        __atomic_add_fetch(&shared->wrong, 1, __ATOMIC_RELAXED);
    }
    free(order);
    return NULL;
}

static void one_then_two(void)
{
    pthread_t thread[THREADS];
    setlocale(LC_ALL, "");
    all_cases(NULL);
    seed += THREADS;
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, all_cases, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static int in_child(void (*f)(void))
{
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        f();
        for (int i = 0; i < n_cases; i++)
            free(cases[i].bytes);
        fflush(stdout);
        exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    onnxcc = realpath(argv[1], NULL);
    folder = argv[2];
    seed = strtoull(argv[3], NULL, 10);
    n_cases = atoi(argv[4]);
    cases = calloc((size_t)n_cases, sizeof *cases);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < n_cases; i++) {
        make_case(&cases[i], argv[5 + draw(&seed) % (unsigned)(argc - 5)], (int)(draw(&seed) % N_WAYS));
        cases[i].expected = by_command(&cases[i]);
    }
    int failed = 0;
    if (in_child(one_then_two)) {
        printf("FAIL the process ends; in work: %s, way %d and %s, way %d\n", cases[shared->at[0]].model,
               cases[shared->at[0]].way, cases[shared->at[1]].model, cases[shared->at[1]].way);
        failed++;
    }
    failed += shared->wrong;
    if (!shared->done || shared->done == n_cases) {
        printf("FAIL %d of %d models compile: there have to be good and bad ones\n", shared->done, n_cases);
        failed++;
    }
    printf("runs: %d passed, %d failed\n", n_cases * (1 + THREADS) - failed, failed);
    return failed > 0;
}
