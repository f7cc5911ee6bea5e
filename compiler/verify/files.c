/* files.c - temporary files and programs that run. */
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "rt.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

typedef struct Folders {
    char *at[4]; /* temporary ones of this session */
    int n;
} Folders;
PART(Folders, folders)

static void remove_folders(void *unused)
{
    (void)unused;
    for (; folders()->n; folders()->n--)
        nftw(folders()->at[folders()->n - 1], remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* By a program: nftw may not be called in a signal handler. */
static void remove_by_program(const char *path)
{
    const pid_t child = vfork();
    if (!child) {
        execl("/bin/rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(1);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void remove_at_signal(void)
{
    for (int i = 0; i < folders()->n; i++)
        remove_by_program(folders()->at[i]);
}

const char *temporary_folder(void)
{
    if (folders()->n == sizeof folders()->at / sizeof *folders()->at)
        bug("too many temporary folders");
    const char *in = getenv("TMPDIR");
    char *path = (char *)(uintptr_t)text_format("%s/onnxcc-XXXXXX", in && *in == '/' ? in : "/tmp");
    if (!mkdtemp(path))
        fail(EXIT_IO, "%s: cannot make a folder: %s", path, strerror(errno));
    if (!folders()->n) {
        session_at_end(remove_folders, NULL);
        process_at_signal(remove_at_signal);
    }
    folders()->at[folders()->n++] = path;
    return path;
}

void make_folder(const char *path)
{
    if (mkdir(path, 0700) && errno != EEXIST)
        fail(EXIT_IO, "%s: cannot make a folder: %s", path, strerror(errno));
}

static FILE *open_new(const char *path)
{
    FILE *f = fopen(path, "wbe");
    if (!f)
        fail(EXIT_IO, "%s: cannot write: %s", path, strerror(errno));
    return f;
}

static void close_new(FILE *f, const char *path)
{
    const bool bad = ferror(f);
    if (fclose(f) || bad)
        fail(EXIT_IO, "%s: cannot write: %s", path, strerror(errno));
}

void file_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = open_new(path);
    fwrite(bytes, 1, n, f);
    close_new(f, path);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Of a tensor: type, rank, number of bytes, dimensions, elements, where a string is its length and its bytes. Of a
 * container: its form, negated, and the number of its items, which follow. */

static void put_tensor(FILE *f, const Tensor *t)
{
    Tensor own = *t; /* bytes that tensor_data copies belong to this session */
    own.copy = NULL;
    const void *data = tensor_data(&own);
    const int32_t head[] = {(int32_t)t->type, t->rank};
    const int64_t bytes = t->type == STR ? 0 : (int64_t)tensor_size(t);
    fwrite(head, sizeof head, 1, f);
    fwrite(&bytes, sizeof bytes, 1, f);
    fwrite(t->dim, sizeof *t->dim, (size_t)t->rank, f);
    fwrite(data, 1, (size_t)bytes, f);
    for (int64_t i = 0; t->type == STR && i < tensor_count(t); i++) {
        const str *s = (const str *)data + i;
        fwrite(&s->length, sizeof s->length, 1, f);
        fwrite(s->text, 1, (size_t)s->length, f);
    }
}

static void put_data(FILE *f, const Data *d)
{
    const int32_t head[] = {-(int32_t)d->form, d->n};
    if (d->form == TENSOR) {
        put_tensor(f, d->t);
        return;
    }
    fwrite(head, sizeof head, 1, f);
    for (int i = 0; i < d->n; i++)
        put_data(f, &d->item[i]);
}

void write_data_as(const char *path, const Data *d)
{
    FILE *f = open_new(path);
    put_data(f, d);
    close_new(f, path);
}

static bool take(FILE *f, void *to, size_t n) { return !n || fread(to, n, 1, f) == 1; }

static void take_strings(FILE *f, Tensor *t)
{
    for (int64_t i = 0; i < tensor_count(t); i++) {
        uint64_t n;
        if (!take(f, &n, sizeof n) || n > INT32_MAX)
            return;
        char *s = pool_alloc(n + 1);
        if (take(f, s, n))
            tensor_set_str(t, i, name_bytes(s, n));
        pool_free(s, n + 1);
    }
}

Tensor *tensor_of_file(FILE *f, Type type, int rank, const int64_t *dim)
{
    Tensor *t = NEW(Tensor);
    t->type = type;
    t->rank = rank;
    t->dim = dims_keep(rank, dim);
    t->data = big_alloc(ELEMENTS_ROOM(tensor_size(t)));
    if (type == STR)
        take_strings(f, t);
    else if (!take(f, (void *)(uintptr_t)t->data, tensor_size(t)))
        fail(EXIT_IO, "an output is incomplete");
    return t;
}

static Data take_data(FILE *f, const char *path)
{
    int32_t head[2];
    int64_t bytes, dim[MAX_RANK];
    bool good = take(f, head, sizeof head) && head[1] >= 0;
    if (good && head[0] < 0 && -head[0] <= MAP) {
        Data d = data_of_items((Form)-head[0], head[1]);
        for (int i = 0; i < d.n; i++)
            d.item[i] = take_data(f, path);
        return d;
    }
    if (!good || !take(f, &bytes, sizeof bytes) || head[1] > MAX_RANK || head[0] <= 0 || head[0] >= N_TYPES ||
        !take(f, dim, sizeof *dim * (size_t)head[1]))
        fail(EXIT_IO, "%s: not a tensor", path);
    return data_tensor(tensor_of_file(f, (Type)head[0], head[1], dim));
}

Data *data_from(const char *path)
{
    FILE *f = fopen(path, "rbe");
    if (!f)
        return NULL;
    Data *d = NEW(Data);
    *d = take_data(f, path);
    fclose(f);
    return d;
}

void data_release(Data *d)
{
    if (!d)
        return;
    if (d->form == TENSOR)
        big_free((void *)(uintptr_t)d->t->data);
    for (int i = 0; i < d->n; i++)
        data_release(&d->item[i]);
}

/* ---- names: their number, then length and bytes of each ---------------------------------------------------------- */

void write_names(const char *path, const Names *names)
{
    FILE *f = open_new(path);
    const int64_t count = names->n;
    fwrite(&count, sizeof count, 1, f);
    for (int i = 0; i < names->n; i++) {
        const int64_t n = names->at[i]->n;
        fwrite(&n, sizeof n, 1, f);
        fwrite(names->at[i]->s, 1, (size_t)n, f);
    }
    close_new(f, path);
}

void read_names(const char *path, Names *to)
{
    int64_t count = 0, n;
    FILE *f = fopen(path, "rbe");
    if (!f || !take(f, &count, sizeof count))
        fail(EXIT_IO, "%s: cannot read", path);
    for (int64_t i = 0; i < count; i++) {
        if (!take(f, &n, sizeof n) || n < 0 || n > INT32_MAX)
            fail(EXIT_IO, "%s: cannot read", path);
        char *s = pool_alloc((size_t)n + 1);
        if (take(f, s, (size_t)n))
            vec_push(to, name_bytes(s, (size_t)n));
    }
    fclose(f);
}

Data *data_among(const Names *names, Name n, const char *folder, const char *file)
{
    for (int i = 0; n && i < names->n; i++)
        if (names->at[i] == n)
            return data_from(text_format("%s/%s_%d", folder, file, i));
    return NULL;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits for the child; kills it after so many seconds. */
static Ended await(pid_t child, int64_t seconds)
{
    int status;
    const double end = now() + (double)seconds;
    for (long pause = 1000000; waitpid(child, &status, seconds ? WNOHANG : 0) != child;) {
        if (seconds && now() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return (Ended){.how = TIMED_OUT, .code = (int)seconds};
        }
        if (seconds)
            nanosleep(&(struct timespec){0, pause}, NULL);
        pause = pause < 50000000 ? pause * 2 : pause;
    }
    return WIFSIGNALED(status) ? (Ended){.how = KILLED, .code = WTERMSIG(status)}
                               : (Ended){.how = EXITED, .code = WEXITSTATUS(status)};
}

/* The first lines of a file, for a message. */
static const char *first_lines(const char *path)
{
    enum { LONGEST = 3000 };
    Text t = {0};
    char bytes[LONGEST];
    FILE *f = fopen(path, "rbe");
    text_printable(&t, bytes, f ? fread(bytes, 1, sizeof bytes, f) : 0, true);
    if (f)
        fclose(f);
    while (t.n && t.s[t.n - 1] == '\n')
        t.s[--t.n] = 0;
    return t.n ? t.s : "";
}

Ended run_program(const char *const *words, const char *folder, const char *out, int64_t seconds)
{
    const char *const errors = text_format("%s/messages", folder);
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out ? out : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int error = posix_spawnp(&child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    Ended ended = error ? (Ended){.how = NOT_STARTED, .code = error} : await(child, seconds);
    ended.said = error ? strerror(error) : first_lines(errors);
    return ended;
}

const char *ended_text(const Ended *e)
{
    switch (e->how) {
    case KILLED: return text_format("crashed: signal %d (%s)", e->code, strsignal(e->code));
    case TIMED_OUT: return text_format("did not end within %d s (--timeout)", e->code);
    case NOT_STARTED: return text_format("could not be started: %s", e->said);
    default: return text_format("ended with exit code %d", e->code);
    }
}
