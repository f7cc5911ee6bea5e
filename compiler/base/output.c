/* output.c - output files: each appears complete or not at all. */
#include "base/output.h"
#include "base/fail.h"
#include "base/pool.h"
#include "base/session.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* the state is part of Output */
#include <xxhash.h>

struct Output {
    const char *path;
    char *target; /* the file that a link at path stands for, which is path then */
    char *temporary;
    FILE *f;
    bool spool;  /* a temporary file without a name, for output_append */
    bool folder; /* `temporary` is one that was made here */
    bool given;  /* passed to `take` of output_to instead of being written: f is a memory stream */
    char *bytes; /* given: the contents of f, of `size` bytes */
    size_t size;
    bool fresh;    /* put in place where no file was before */
    char *buffer;  /* the stream buffer of f */
    bool counts;   /* line feeds, from the first output_lines on */
    int64_t lines; /* ... written since then */
    XXH64_state_t state;
    Output *next;
};
enum { BUFFER = 1 << 16 };

typedef struct Outputs {
    Output *volatile first; /* list, newest first; a signal handler may walk it at any time */
    VEC(struct Input {
        dev_t device;
        ino_t inode;
    }) inputs;
    VEC(const char *) files; /* see output_files */
    void (*take)(const char *, const void *, size_t, void *);
    void *arg;
    bool begun;
} Outputs;
PART(Outputs, outputs)

static void discard(void *unused)
{
    (void)unused;
    output_discard();
}

void output_to(void (*take)(const char *file, const void *bytes, size_t n, void *arg), void *arg)
{
    outputs()->take = take;
    outputs()->arg = arg;
}

static Output *output_new(const char *path)
{
    Outputs *const all = outputs();
    if (!all->begun)
        session_at_end(discard, NULL);
    all->begun = true;
    Output *o = calloc(1, sizeof *o);
    if (!o)
        fail_as(EXIT_IO, "SYS-02", "%s: out of memory", path);
    o->buffer = malloc(BUFFER);
    if (!o->buffer) {
        free(o);
        fail_as(EXIT_IO, "SYS-02", "%s: out of memory", path);
    }
    XXH64_reset(&o->state, 0);
    o->path = path;
    o->given = all->take != NULL;
    o->next = all->first;
    all->first = o;
    return o;
}

/* Is the path a regular file, or free? A device or a pipe is written in place. */
static bool is_file(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && (stat(path, &st) || S_ISREG(st.st_mode));
}

static bool is_link(const char *path)
{
    struct stat st;
    return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

bool output_is_stdout(const char *path)
{
    struct stat st, out;
    if (!strcmp(path, "-"))
        return true;
    return !outputs()->take && is_link(path) && !stat(path, &st) && !fstat(STDOUT_FILENO, &out) &&
           st.st_dev == out.st_dev && st.st_ino == out.st_ino;
}

bool output_is_stream(const char *path)
{
    struct stat st;
    return !strcmp(path, "-") || (!outputs()->take && !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* The path that a symbolic link has, relative to the link's folder; NULL: none can be read. */
static char *link_target(const char *link)
{
    char to[PATH_MAX];
    const ssize_t n = readlink(link, to, sizeof to);
    if (n <= 0 || n == sizeof to)
        return NULL;
    const char *slash = to[0] == '/' ? NULL : strrchr(link, '/');
    const size_t folder = slash ? (size_t)(slash - link) + 1 : 0;
    char *path = malloc(folder + (size_t)n + 1);
    if (!path)
        fail_as(EXIT_IO, "SYS-02", "%s: out of memory", link);
    memcpy(path, link, folder);
    memcpy(path + folder, to, (size_t)n);
    path[folder + (size_t)n] = '\0';
    return path;
}

/* Follows links, so that their file is replaced, which need not exist, rather than the link. False: too many, or
 * unreadable. */
static bool follow(Output *o)
{
    for (int links = 0; is_link(o->path); links++) {
        char *to = links < 40 ? link_target(o->path) : NULL;
        free(o->target);
        o->target = to;
        if (!to)
            return false;
        o->path = to;
    }
    return true;
}

static void open_temporary(Output *o, const char *mode, const char *kind)
{
    const size_t n = strlen(o->path) + 40;
    char *temporary = malloc(n);
    if (!temporary)
        fail_as(EXIT_IO, "SYS-02", "%s: out of memory", o->path);
    snprintf(temporary, n, "%s.%ld.%s", o->path, (long)getpid(), kind);
    o->temporary = temporary;
    o->f = fopen(o->temporary, mode);
}

static void check_open(Output *o)
{
    if (!o->f)
        fail(EXIT_IO, "%s: cannot write: %s", o->path, strerror(errno));
    if (o->f != stdout && !o->given)
        setvbuf(o->f, o->buffer, _IOFBF, BUFFER);
}

static void check_spared(const char *path)
{
    struct stat st;
    if (!strcmp(path, "-") || stat(path, &st))
        return;
    EACH_AT (input, outputs()->inputs)
        if (input->device == st.st_dev && input->inode == st.st_ino)
            fail(EXIT_USAGE, "%s: cannot write: the model is read from this file", path);
}

void output_spare(int fd)
{
    struct stat st;
    if (!fstat(fd, &st))
        vec_push(&outputs()->inputs, ((struct Input){st.st_dev, st.st_ino}));
    for (const Output *o = outputs()->first; o; o = o->next)
        if (o->temporary && !o->folder)
            check_spared(o->path);
}

const char *const *output_files(int *n)
{
    *n = outputs()->files.n;
    return outputs()->files.at;
}

/* Of the file that the output replaces or, if there is none, of the temporary one. */
static bool read_stat(const Output *o, struct stat *st)
{
    return o->f && ((o->temporary && !stat(o->path, st)) || !fstat(fileno(o->f), st));
}

/* Do both end in the same file, or both on standard output? */
static bool is_same(const Output *a, const Output *b)
{
    struct stat x, y;
    if (a->given || b->given)
        return !strcmp(a->path, b->path);
    return read_stat(a, &x) && read_stat(b, &y) && (a->f == b->f || S_ISREG(x.st_mode)) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static void check_other(const Output *o, const char *path)
{
    for (const Output *other = o->next; other; other = other->next)
        if (!other->spool && !other->folder && is_same(o, other))
            fail(EXIT_USAGE, "%s: cannot write: another output goes there, too", path);
}

Output *output_open(const char *path)
{
    Output *o = output_new(path);
    if (!output_is_stream(path))
        vec_push(&outputs()->files, path);
    if (o->given) {
        o->f = open_memstream(&o->bytes, &o->size);
        check_open(o);
        check_other(o, path);
        return o;
    }
    check_spared(path);
    if (!strcmp(path, "-"))
        o->f = stdout;
    else if (is_file(path) && follow(o))
        open_temporary(o, "wb", "tmp");
    else
        o->f = fopen(path, "wb");
    check_open(o);
    check_other(o, path);
    return o;
}

Output *output_spool(const char *near)
{
    Output *o = output_new(near);
    o->spool = true;
    return o;
}

/* Opens a spool at its first write, and removes its name at once: no file is left, however the process ends. */
static void open_spool(Output *o)
{
    if (o->given)
        o->f = open_memstream(&o->bytes, &o->size);
    else if (is_file(o->path) && follow(o)) {
        open_temporary(o, "w+b", "spool");
        unlink(o->temporary);
        free(o->temporary);
        o->temporary = NULL;
    } else
        o->f = tmpfile();
    check_open(o);
}

int64_t count_lines(const char *s, size_t n)
{
    int64_t lines = 0;
    for (const char *at = s, *const end = s + n; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        lines++;
    return lines;
}

int64_t output_lines(Output *o)
{
    o->counts = true;
    return o->lines;
}

void output_write(Output *o, const void *bytes, size_t n)
{
    if (!o->f)
        open_spool(o);
    if (o->counts)
        o->lines += count_lines(bytes, n);
    XXH64_update(&o->state, bytes, n);
    if (fwrite(bytes, 1, n, o->f) != n)
        fail(EXIT_IO, "%s: cannot write: %s", o->path, strerror(errno));
}

static void output_free(Output *o)
{
    if (o->f && (o->spool || o->given))
        fclose(o->f);
    free(o->temporary);
    free(o->target);
    free(o->bytes);
    free(o->buffer);
    free(o);
}

static void read_spool(Output *spool, OutputTaker *take, void *arg)
{
    char bytes[1 << 16];
    if (fseek(spool->f, 0, SEEK_SET))
        fail(EXIT_IO, "%s: cannot write: %s", spool->path, strerror(errno));
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, spool->f)) > 0;)
        take(arg, bytes, n);
    if (ferror(spool->f))
        fail(EXIT_IO, "%s: cannot read back: %s", spool->path, strerror(errno));
}

void output_append(Output *spool, OutputTaker *take, void *arg)
{
    if (spool->f && spool->given && fflush(spool->f))
        fail_as(EXIT_IO, "SYS-02", "%s: out of memory", spool->path);
    if (spool->f && spool->given)
        take(arg, spool->bytes, spool->size);
    else if (spool->f)
        read_spool(spool, take, arg);
    Output *before = outputs()->first;
    while (before != spool && before->next != spool)
        before = before->next;
    if (before == spool)
        outputs()->first = spool->next;
    else
        before->next = spool->next;
    output_free(spool);
}
uint64_t output_hash(const Output *o) { return XXH64_digest(&o->state); }

static bool has_same_bytes(FILE *x, FILE *y)
{
    char p[1 << 13], q[1 << 13];
    for (size_t n = sizeof p; n == sizeof p;) {
        n = fread(p, 1, sizeof p, x);
        if (fread(q, 1, sizeof q, y) != n || memcmp(p, q, n) || ferror(x) || ferror(y))
            return false;
    }
    return true;
}

static bool is_same_file(const char *a, const char *b)
{
    FILE *x = fopen(a, "rb"), *y = x ? fopen(b, "rb") : NULL;
    bool same = y && has_same_bytes(x, y);
    if (x)
        fclose(x);
    if (y)
        fclose(y);
    return same;
}

static _Noreturn void cannot_write(const Output *o)
{
    int error = errno;
    for (Output *done = outputs()->first; done; done = done->next)
        if (done->fresh)
            unlink(done->path);
    fail(EXIT_IO, "%s: cannot write: %s", o->path, strerror(error));
}

void output_folder(const char *path)
{
    if (outputs()->take || access(path, F_OK) == 0)
        return;
    Output *o = output_new(path);
    char *made = strdup(path);
    if (!made)
        fail_as(EXIT_IO, "SYS-02", "%s: out of memory", path);
    if (mkdir(path, 0777)) {
        const int error = errno;
        free(made);
        fail(EXIT_IO, "%s: cannot make a folder: %s", path, strerror(error));
    }
    o->folder = true;
    o->temporary = made;
}

/* Flushes the file: all files are complete before the first is put in place. */
static void complete(Output *o)
{
    errno = 0;
    int bad = o->f ? fflush(o->f) | ferror(o->f) : 0;
    if (o->temporary && !o->folder) {
        FILE *f = o->f;
        o->f = NULL;
        bad |= fclose(f);
    }
    if (bad)
        cannot_write(o);
}

static void put_in_place(Output *o)
{
    if (!o->temporary || o->folder)
        return;
    const bool there = !access(o->path, F_OK);
    if (there && is_same_file(o->temporary, o->path))
        unlink(o->temporary);
    else if (rename(o->temporary, o->path))
        cannot_write(o);
    o->fresh = !there;
}

static void free_all(void)
{
    for (Output *o; (o = outputs()->first) != NULL;) {
        outputs()->first = o->next;
        output_free(o);
    }
}

static void put_all_in_place(void)
{
    sigset_t all, old; /* a signal takes effect after all files are in place */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    for (Output *o = outputs()->first; o; o = o->next)
        put_in_place(o);
    free_all();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Passes o and the older ones to `take`, the oldest first. */
static void give(const Output *o)
{
    if (o->next)
        give(o->next);
    outputs()->take(o->path, o->bytes, o->size, outputs()->arg);
}

void output_commit(void)
{
    Output *const first = outputs()->first;
    for (Output *o = first; o; o = o->next)
        complete(o);
    if (first && first->given)
        give(first);
    put_all_in_place();
}

void output_unlink(void)
{
    for (const Output *o = session_distance ? outputs()->first : NULL; o; o = o->next)
        if (o->temporary && o->folder)
            rmdir(o->temporary);
        else if (o->temporary)
            unlink(o->temporary);
}

void output_discard(void)
{
    output_unlink();
    for (Output *o = outputs()->first; o; o = o->next)
        if (o->f && o->f != stdout && !o->spool && !o->given) {
            fclose(o->f);
            o->f = NULL;
        }
    free_all();
}
