/* output.c - files that appear whole or not at all. */
#include "base/output.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct Output {
    const char *path;
    char *temporary;
    FILE *f;
    bool spool; /* waits without a name */
    XXH64_state_t *state;
    Output *next;
};
OF_RUN static Output *outputs;

static Output *output_new(const char *path)
{
    Output *o = calloc(1, sizeof *o);
    if (!o)
        fail(EXIT_MODEL, "out of memory");
    o->next = outputs;
    outputs = o;
    o->path = path;
    o->state = XXH64_createState();
    XXH64_reset(o->state, 0);
    return o;
}

/* Is there a regular file, or nothing yet? Else a device or a pipe, which is written in place. */
static bool is_file(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && (stat(path, &st) || S_ISREG(st.st_mode));
}

static void open_temporary(Output *o, const char *mode, const char *kind)
{
    o->temporary = malloc(strlen(o->path) + 40);
    if (!o->temporary)
        fail(EXIT_MODEL, "out of memory");
    sprintf(o->temporary, "%s.%ld.%s", o->path, (long)getpid(), kind);
    o->f = fopen(o->temporary, mode);
}

static void check_open(const Output *o)
{
    if (!o->f)
        fail(EXIT_IO, "%s: cannot write: %s", o->path, strerror(errno));
}

OF_RUN static VEC(struct Input {
    dev_t device;
    ino_t inode;
}) inputs;

void output_spare(int fd)
{
    struct stat st;
    if (!fstat(fd, &st))
        vec_push(&inputs, ((struct Input){st.st_dev, st.st_ino}));
}

static void check_spared(const char *path)
{
    struct stat st;
    if (!strcmp(path, "-") || stat(path, &st))
        return;
    for (int i = 0; i < inputs.n; i++)
        if (inputs.at[i].device == st.st_dev && inputs.at[i].inode == st.st_ino)
            fail(EXIT_USAGE, "%s: cannot write: the model is read from this file", path);
}

Output *output_open(const char *path)
{
    check_spared(path);
    Output *o = output_new(path);
    if (!strcmp(path, "-"))
        o->f = stdout;
    else if (!is_file(path))
        o->f = fopen(path, "wb");
    else
        open_temporary(o, "wb", "tmp");
    check_open(o);
    return o;
}

Output *output_spool(const char *near)
{
    Output *o = output_new(near);
    o->spool = true;
    return o;
}

/* Opened when it is needed; without a name, so that nothing is ever left of it. */
static void open_spool(Output *o)
{
    if (is_file(o->path)) {
        open_temporary(o, "w+b", "spool");
        unlink(o->temporary);
        free(o->temporary);
        o->temporary = NULL;
    } else
        o->f = tmpfile();
    check_open(o);
}

void output_write(Output *o, const void *bytes, size_t n)
{
    if (!o->f)
        open_spool(o);
    XXH64_update(o->state, bytes, n);
    if (fwrite(bytes, 1, n, o->f) != n)
        fail(EXIT_IO, "%s: cannot write: %s", o->path, strerror(errno));
}

static void output_free(Output *o)
{
    if (o->spool && o->f)
        fclose(o->f);
    XXH64_freeState(o->state);
    free(o->temporary);
    free(o);
}

void output_append(Output *o, Output *spool)
{
    char bytes[1 << 16];
    if (spool->f && fseek(spool->f, 0, SEEK_SET))
        fail(EXIT_IO, "%s: cannot write: %s", spool->path, strerror(errno));
    for (size_t n; spool->f && (n = fread(bytes, 1, sizeof bytes, spool->f)) > 0;)
        output_write(o, bytes, n);
    if (spool->f && ferror(spool->f))
        fail(EXIT_IO, "%s: cannot read back: %s", spool->path, strerror(errno));
    Output **at = &outputs;
    while (*at != spool)
        at = &(*at)->next;
    *at = spool->next;
    output_free(spool);
}

uint64_t output_hash(const Output *o) { return XXH64_digest(o->state); }

static bool same_file(const char *a, const char *b)
{
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    bool same = x && y;
    char p[1 << 16], q[1 << 16];
    while (same) {
        size_t n = fread(p, 1, sizeof p, x), k = fread(q, 1, sizeof q, y);
        same = n == k && !memcmp(p, q, n);
        if (n < sizeof p)
            break;
    }
    if (x)
        fclose(x);
    if (y)
        fclose(y);
    return same;
}

void output_commit(void)
{
    for (Output *o = outputs; o; o = o->next) {
        int bad = fflush(o->f);
        if (o->temporary) {
            bad |= fclose(o->f);
            o->f = NULL;
        }
        if (bad)
            fail(EXIT_IO, "%s: cannot write: %s", o->path, strerror(errno));
    }
    while (outputs) {
        Output *o = outputs;
        if (o->temporary && same_file(o->temporary, o->path))
            unlink(o->temporary);
        else if (o->temporary && rename(o->temporary, o->path))
            fail(EXIT_IO, "%s: cannot write: %s", o->path, strerror(errno));
        outputs = o->next;
        output_free(o);
    }
}

void output_discard(void)
{
    while (outputs) {
        Output *o = outputs;
        outputs = o->next;
        if (o->temporary) {
            if (o->f)
                fclose(o->f);
            unlink(o->temporary);
        }
        output_free(o);
    }
}
