/* output.c - replaces compiler/base/output.c: nothing is written; the C file, the header and the report are checked
 * instead. */
#include "base/output.h"
#include "mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct Output {
    Output *next;
    uint64_t hash;
    enum { BYTES, C, SHOWN } kind;
    char *s;
    size_t n, room;
};
static Output *outputs;

static bool ends(const char *path, const char *end)
{
    const size_t n = strlen(path), k = strlen(end);
    return n >= k && !strcmp(path + n - k, end);
}

Output *output_open(const char *path)
{
    Output *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    o->kind = ends(path, ".c") || ends(path, ".h") ? C : strcmp(path, "-") ? BYTES : SHOWN;
    o->next = outputs;
    return outputs = o;
}

Output *output_spool(const char *near) { return output_open(near); }

void output_append(Output *spool, OutputTaker *take, void *arg)
{
    take(arg, spool->s, spool->n);
    spool->kind = BYTES;
}

/* Reads every byte, so that the sanitizers detect uninitialised ones. */
void output_write(Output *o, const void *bytes, size_t n)
{
    o->hash = XXH3_64bits_withSeed(bytes, n, o->hash);
    if (o->kind == BYTES || !n)
        return;
    if (n > o->room - o->n && !(o->s = realloc(o->s, o->room = 2 * (o->room + n))))
        abort();
    memcpy(o->s + o->n, bytes, n);
    o->n += n;
}

uint64_t output_hash(const Output *o) { return o->hash; }

void output_to(void (*take)(const char *file, const void *bytes, size_t n, void *arg), void *arg)
{
    (void)take;
    (void)arg;
}

void output_spare(int fd) { (void)fd; }

void output_unlink(void) {}

void output_commit(void)
{
    for (const Output *o = outputs; o; o = o->next) {
        if (o->kind == C)
            check_c(o->s, o->n);
        if (o->kind == SHOWN)
            check_shown(o->s, o->n);
    }
    output_discard();
}

void output_discard(void)
{
    while (outputs) {
        Output *o = outputs;
        outputs = o->next;
        free(o->s);
        free(o);
    }
}
