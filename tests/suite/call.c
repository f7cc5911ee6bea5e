/* call.c - calls the emitted code of one test: call CASE.so INPUTS RESULTS. Built with the same sanitizers as the code.
 * Outputs are poisoned and have canaries around them, except under the address sanitizer, whose red zones lie closer. */
#include "case.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xA5, CANARY = 0x3C, MARGIN = 64 };

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

static const struct suite_case *c;
static char **input;  /* as read */
static char **given;  /* as passed */
static char **output; /* with a margin on both sides */

static _Noreturn void leave(int status, const char *what, int i)
{
    fprintf(stderr, "call: %s %d\n", what, i);
    exit(status);
}

static size_t margin(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 0;
#else
    return MARGIN;
#endif
}

static char *copy(const char *from, size_t n)
{
    char *to = malloc(n ? n : 1);
    memcpy(to, from, n);
    return to;
}

/* Each string in memory of its own. */
static void read_strings(FILE *f, int i)
{
    struct case_string *s = (void *)input[i];
    for (int64_t k = 0; k < c->in_strings[i]; k++) {
        if (!f || fread(&s[k].length, 8, 1, f) != 1)
            leave(CALL_BROKEN, "no input", i);
        char *text = malloc(s[k].length ? s[k].length : 1);
        if (fread(text, 1, s[k].length, f) != s[k].length)
            leave(CALL_BROKEN, "no input", i);
        s[k].text = text;
    }
}

static void read_inputs(const char *path)
{
    FILE *f = fopen(path, "rb");
    input = calloc((size_t)c->n_in + 1, sizeof *input);
    given = calloc((size_t)c->n_in + 1, sizeof *given);
    for (int i = 0; i < c->n_in; i++) {
        if (c->in_bytes[i] < 0)
            continue;
        size_t n = (size_t)c->in_bytes[i];
        input[i] = malloc(n ? n : 1);
        if (c->in_strings[i] >= 0)
            read_strings(f, i);
        else if (!f || fread(input[i], 1, n, f) != n)
            leave(CALL_BROKEN, "no input", i);
        given[i] = copy(input[i], n);
    }
    if (f)
        fclose(f);
}

/* One call with fresh outputs, and every check that needs no expectation. */
static void call(int poison)
{
    void **p = calloc((size_t)c->n_out + 1, sizeof *p);
    output = calloc((size_t)c->n_out + 1, sizeof *output);
    for (int i = 0; i < c->n_out; i++) {
        size_t n = (size_t)c->out_bytes[i];
        output[i] = malloc(n + 2 * margin() ? n + 2 * margin() : 1);
        memset(output[i], CANARY, n + 2 * margin());
        p[i] = memset(output[i] + margin(), poison, n);
    }
    int status = c->call((void *const *)given, p, c->size);
    if (status)
        leave(CALL_STATUS, "returned status", status);
    for (int i = 0; i < c->n_in; i++)
        if (given[i] && memcmp(given[i], input[i], (size_t)c->in_bytes[i]))
            leave(CALL_CANARY, "wrote into input", i);
    for (int i = 0; i < c->n_out; i++)
        for (size_t k = 0; k < margin(); k++)
            if (output[i][k] != CANARY || output[i][margin() + (size_t)c->out_bytes[i] + k] != CANARY)
                leave(CALL_CANARY, "wrote outside output", i);
    free(p);
}

static int64_t (*dim)[CASE_RANK]; /* of the outputs */

/* The contents of output i as they go to the file: *bytes of them. */
static char *contents(int i, int64_t bits, int64_t *bytes)
{
    char *data = output[i] + margin();
    if (c->out_type[i] == CASE_STRING) {
        struct case_string *s = (void *)data;
        if (c->out_open[i])
            case_clear_unused(s, dim[i], (const void *)(output[i + 1] + margin()), dim[i + 1],
                              *(const int64_t *)(const void *)(output[i + 2] + margin()));
        int64_t n = bits / c->out_bits[i];
        data = malloc((size_t)case_put_strings(s, n, NULL) + 1);
        *bytes = case_put_strings(s, n, data);
    } else
        *bytes = case_clear_padding(data, bits);
    return data;
}

int main(int argc, char **argv)
{
    void *so = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
    c = so ? dlsym(so, "suite_case") : NULL;
    if (!c) {
        fprintf(stderr, "call: %s\n", argc == 4 ? dlerror() : "usage: call CASE.so INPUTS RESULTS");
        return CALL_BROKEN;
    }
    read_inputs(argv[2]);
    int64_t *size = (int64_t *)(void *)copy((const char *)c->size, sizeof *size * (size_t)(c->n_size + 1));
    call(c->repeat ? POISON : 0);

    FILE *f = fopen(argv[3], "wb");
    if (!f)
        leave(CALL_BROKEN, "cannot write results", 0);
    dim = calloc((size_t)c->n_out + 1, sizeof *dim);
    int64_t *bits = calloc((size_t)c->n_out + 1, 8);
    int64_t *bytes = calloc((size_t)c->n_out + 1, 8), now;
    char **first = calloc((size_t)c->n_out + 1, sizeof *first), *again;
    c->dims(c->size, dim);
    for (int i = 0; i < c->n_out; i++) {
        int64_t count = 1;
        for (int k = 0; k < c->out_rank[i]; k++)
            count *= dim[i][k];
        bits[i] = count * c->out_bits[i];
        if (count < 0 || (bits[i] + 7) / 8 > c->out_bytes[i])
            leave(CALL_BROKEN, "larger than its bound: output", i);
        first[i] = contents(i, bits[i], &bytes[i]);
        case_write(f, c->out_type[i], c->out_rank[i], dim[i], first[i], bytes[i]);
    }
    fclose(f);

    /* Nothing may be left over from one call to the next, and no element may keep the poison. */
    if (c->repeat) {
        memcpy(c->size, size, sizeof *size * (size_t)c->n_size);
        call(~POISON & 0xFF);
        for (int i = 0; i < c->n_out; i++)
            if (again = contents(i, bits[i], &now), now != bytes[i] || memcmp(first[i], again, (size_t)now))
                leave(CALL_BITS, "a second call differs in output", i);
    }
    return CALL_OK;
}
