/* call.h - calls one test's emitted code: reads the inputs from a file, writes the results to one. Outputs are poisoned and
 * have canaries around them, except under the address sanitizer, whose red zones are closer. A failed check ends the
 * program. */
#ifndef CALL_H
#define CALL_H

#include "case.h"
#include <stdlib.h>
#include <time.h>

enum { POISON = 0xA5, CANARY = 0x3C, MARGIN = 64 };
enum { PATIENCE = 20 }; /* seconds: a test that takes longer is called only once */

static const struct suite_case *c;
static char **input;  /* as read */
static char **given;  /* as passed */
static char **output; /* with a margin on both sides */

static _Noreturn void leave(int status, const char *what, int i)
{
    fprintf(stderr, "call: %s %d\n", what, i);
    exit(status);
}

#ifdef __has_feature /* clang's way to say what gcc says by this macro */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
static size_t margin(void)
{
#ifdef __SANITIZE_ADDRESS__
    return 0;
#else
    return MARGIN;
#endif
}

static void *room(size_t n)
{
    void *p = calloc(n ? n : 1, 1);
    if (!p)
        leave(CALL_BROKEN, "out of memory, bytes:", (int)n);
    return p;
}

static char *copy(const char *from, size_t n) { return memcpy(room(n), from, n); }

static void free_all(char **p, int n)
{
    for (int i = 0; i < n; i++)
        free(p[i]);
    free(p);
}

/* Reads strings, each into memory of its own. */
static void read_strings(FILE *f, int i)
{
    struct case_string *s = (void *)input[i];
    for (int64_t k = 0; k < c->in_strings[i]; k++) {
        if (!f || fread(&s[k].length, 8, 1, f) != 1)
            leave(CALL_BROKEN, "no input", i);
        case_swap(&s[k].length, 8, 8);
        char *text = room((size_t)s[k].length);
        if (fread(text, 1, (size_t)s[k].length, f) != s[k].length)
            leave(CALL_BROKEN, "no input", i);
        s[k].text = text;
    }
}

static void read_inputs(const char *path)
{
    FILE *f = fopen(path, "rb");
    input = room(((size_t)c->n_in + 1) * sizeof *input);
    given = room(((size_t)c->n_in + 1) * sizeof *given);
    for (int i = 0; i < c->n_in; i++) {
        if (c->in_bytes[i] < 0)
            continue;
        size_t n = (size_t)c->in_bytes[i];
        input[i] = room(n);
        if (c->in_strings[i] >= 0)
            read_strings(f, i);
        else if (!f || fread(input[i], 1, n, f) != n)
            leave(CALL_BROKEN, "no input", i);
        else
            case_swap(input[i], (int64_t)n, c->in_unit[i]);
        given[i] = copy(input[i], n);
    }
    if (f)
        fclose(f);
}

/* One call with new output buffers, and every check that needs no expected results. Returns the status. */
static int called(int poison)
{
    void **p = room(((size_t)c->n_out + 1) * sizeof *p);
    output = room(((size_t)c->n_out + 1) * sizeof *output);
    for (int i = 0; i < c->n_out; i++) {
        size_t n = (size_t)c->out_bytes[i];
        output[i] = room(n + 2 * margin());
        memset(output[i], CANARY, n + 2 * margin());
        p[i] = memset(output[i] + margin(), poison, n);
    }
    int status = c->call((void *const *)given, p, c->size);
    for (int i = 0; i < c->n_in; i++)
        if (given[i] && memcmp(given[i], input[i], (size_t)c->in_bytes[i]))
            leave(CALL_CANARY, "wrote into input", i);
    for (int i = 0; i < c->n_out; i++)
        for (size_t k = 0; k < margin(); k++)
            if (output[i][k] != CANARY || output[i][margin() + (size_t)c->out_bytes[i] + k] != CANARY)
                leave(CALL_CANARY, "wrote outside output", i);
    free(p);
    return status;
}

static void call(int poison)
{
    int status = called(poison);
    if (status)
        leave(CALL_STATUS, "returned status", status);
}

static int64_t (*dim)[CASE_RANK]; /* of the outputs */

/* The contents of output i in the file's form, *bytes bytes. */
static char *contents(int i, int64_t bits, int64_t *bytes)
{
    char *data = output[i] + margin();
    if (c->out_type[i] != CASE_STRING) {
        *bytes = (bits + 7) / 8;
        data = copy(data, (size_t)*bytes);
        case_swap(data, *bytes, c->out_unit[i]);
        return data;
    }
    struct case_string *s = (void *)data;
    if (c->out_open[i])
        case_clear_unused(s, dim[i], (const void *)(output[i + 1] + margin()), dim[i + 1],
                          *(const int64_t *)(const void *)(output[i + 2] + margin()));
    int64_t n = bits / c->out_bits[i];
    *bytes = case_put_strings(s, n, NULL);
    data = room((size_t)*bytes);
    case_put_strings(s, n, data);
    return data;
}

/* The outputs of the last call. */
static char **results(int64_t *bytes)
{
    char **all = room(((size_t)c->n_out + 1) * sizeof *all);
    c->dims(c->size, dim);
    for (int i = 0; i < c->n_out; i++) {
        int64_t count = 1;
        for (int k = 0; k < c->out_rank[i]; k++)
            count *= dim[i][k];
        if (count < 0 || (count * c->out_bits[i] + 7) / 8 > c->out_bytes[i])
            leave(CALL_BROKEN, "larger than its bound: output", i);
        all[i] = contents(i, count * c->out_bits[i], &bytes[i]);
    }
    return all;
}

static void write_results(const char *path, char **all, const int64_t *bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        leave(CALL_BROKEN, "cannot write results", 0);
    for (int i = 0; i < c->n_out; i++)
        case_write(f, c->out_type[i], c->out_rank[i], dim[i], all[i], bytes[i]);
    fclose(f);
}

/* A second call, with other poison, must give the same results: no state remains between calls, every element is written. */
static void compare_again(char **first, const int64_t *bytes)
{
    int64_t *now = room(((size_t)c->n_out + 1) * 8);
    free_all(output, c->n_out);
    call(~POISON & 0xFF);
    char **again = results(now);
    for (int i = 0; i < c->n_out; i++)
        if (now[i] != bytes[i] || memcmp(first[i], again[i], (size_t)bytes[i]))
            leave(CALL_BITS, "a second call differs in output", i);
    free_all(again, c->n_out);
    free(now);
}

#ifdef __SANITIZE_ADDRESS__
/* The bits of an extreme number of a type: floats NaN, infinity, the lowest one; integers 7F..., 80..., FF... */
enum { EXTREMES = 3 };
static uint64_t extreme(int type, int unit, int which)
{
    static const uint64_t floats[][EXTREMES] = {{0x7FC00000, 0x7F800000, 0xFF7FFFFF},
                                                {0x7FF8000000000000, 0x7FF0000000000000, 0xFFEFFFFFFFFFFFFF},
                                                {0x7E00, 0x7C00, 0xFBFF},
                                                {0x7FC0, 0x7F80, 0xFF7F}};
    switch (type) {
    case CASE_FLOAT:
    case CASE_COMPLEX64: return floats[0][which];
    case CASE_DOUBLE:
    case CASE_COMPLEX128: return floats[1][which];
    case CASE_HALF: return floats[2][which];
    case CASE_BFLOAT16: return floats[3][which];
    default:
        return (const uint64_t[]){~UINT64_C(0) >> (65 - 8 * unit), UINT64_C(1) << (8 * unit - 1), ~UINT64_C(0)}[which];
    }
}

/* Calls with extreme numbers as inputs: any status will do. Integers of fewer than two axes may be sizes, or numbers of
 * iterations; they are kept. */
static void call_extremes(const char *size, size_t sizes)
{
    for (int which = 0; which < EXTREMES; which++) {
        for (int i = 0; i < c->n_in; i++) {
            const int t = c->in_type[i], unit = c->in_unit[i];
            const int integer = (t >= CASE_UINT8 && t <= CASE_INT64) || t == CASE_UINT32 || t == CASE_UINT64;
            const int real = t == CASE_FLOAT || (t >= CASE_HALF && t <= CASE_BFLOAT16 && !integer);
            const uint64_t bits = extreme(t, unit, which);
            for (int64_t k = 0; (real || (integer && c->in_rank[i] > 1)) && k + unit <= c->in_bytes[i]; k += unit) {
                memcpy(input[i] + k, &bits, (size_t)unit);
                memcpy(given[i] + k, &bits, (size_t)unit);
            }
        }
        memcpy(c->size, size, sizes);
        free_all(output, c->n_out);
        called(POISON);
    }
}
#else
static void call_extremes(const char *size, size_t sizes) { (void)size, (void)sizes; }
#endif

static void call_case(const struct suite_case *test, const char *inputs, const char *to)
{
    c = test;
    read_inputs(inputs);
    size_t sizes = sizeof *c->size * ((size_t)c->n_size + 1);
    char *size = copy((const char *)c->size, sizes);
    dim = room(((size_t)c->n_out + 1) * sizeof *dim);
    int64_t *bytes = room(((size_t)c->n_out + 1) * 8);
    clock_t start = clock();
    call(c->repeat ? POISON : 0);
    int patient = (clock() - start) / CLOCKS_PER_SEC < PATIENCE;
    char **first = results(bytes);
    write_results(to, first, bytes);
    if (c->repeat && patient) {
        memcpy(c->size, size, sizes);
        compare_again(first, bytes);
    }
    if (patient)
        call_extremes(size, sizes);
    free(size);
    free(dim);
    free(bytes);
    free_all(first, c->n_out);
    free_all(output, c->n_out);
    free_all(input, c->n_in);
    free_all(given, c->n_in);
}

#endif
