/* output.c - files that appear whole or not at all. */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "onnxcc.h"

struct Output {
    const char *path;
    char *temporary;
    FILE *f;
    XXH64_state_t *state;
    Output *next;
};
static Output *outputs;

Output *output_open(const char *path)
{
    Output *o = calloc(1, sizeof *o);
    if (!o)
        fail(EXIT_MODEL, "out of memory");
    o->next = outputs;
    outputs = o;
    o->path = path;
    o->state = XXH64_createState();
    XXH64_reset(o->state, 0);
    struct stat st;
    if (!strcmp(path, "-")) {
        o->f = stdout;
        return o;
    }
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) { /* a device or a pipe: in place */
        o->f = fopen(path, "wb");
        if (!o->f)
            fail(EXIT_IO, "%s: cannot write: %s", path, strerror(errno));
        return o;
    }
    o->temporary = malloc(strlen(path) + 32);
    if (!o->temporary)
        fail(EXIT_MODEL, "out of memory");
    sprintf(o->temporary, "%s.%ld.tmp", path, (long)getpid());
    o->f = fopen(o->temporary, "wb");
    if (!o->f)
        fail(EXIT_IO, "%s: cannot write: %s", path, strerror(errno));
    return o;
}

void output_write(Output *o, const void *bytes, size_t n)
{
    XXH64_update(o->state, bytes, n);
    if (fwrite(bytes, 1, n, o->f) != n)
        fail(EXIT_IO, "%s: cannot write: %s", o->path, strerror(errno));
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

static void output_free(Output *o)
{
    XXH64_freeState(o->state);
    free(o->temporary);
    free(o);
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
