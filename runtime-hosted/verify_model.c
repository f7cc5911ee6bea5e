/* verify_model.c - the program in which `onnxcc verify` runs a model's C. onnxcc puts before it the model's C and, about the
 * model, VERIFY_INPUTS, VERIFY_OUTPUTS, VERIFY_SIZES, VERIFY_CALL, and verify_bytes and verify_text of each output.
 * program FOLDER: reads FOLDER/in_K and FOLDER/sizes_0, writes FOLDER/raw_K and FOLDER/sizes_0; its status is the run's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERIFY_BROKEN = 100, VERIFY_STRING = 8 }; /* exit: a file cannot be read or written; ONNX's number of the type */

typedef struct verify_string {
    const char *text;
    uint64_t length;
} __attribute__((aligned(16), may_alias)) verify_string;

static const char *verify_folder;

static FILE *verify_open(const char *name, int k, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%d", verify_folder, name, k);
    return fopen(path, mode);
}

static void verify_must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "cannot %s\n", what);
        exit(VERIFY_BROKEN);
    }
}

static void *verify_memory(size_t n)
{
    char *const p = malloc(n + 64); /* C99 has no aligned_alloc */
    verify_must(p != NULL, "allocate memory");
    return memset(p + 64 - (uintptr_t)p % 64, 0, n);
}

static void verify_read_strings(FILE *f, verify_string *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        verify_must(fread(&to[i].length, sizeof to[i].length, 1, f) == 1, "read an input");
        char *text = verify_memory(to[i].length);
        verify_must(fread(text, 1, to[i].length, f) == to[i].length, "read an input");
        to[i].text = text;
    }
}

/* NULL: there is no such file, the model's default is used. */
static void *verify_read(int k)
{
    FILE *f = verify_open("in_", k, "rb");
    int32_t head[2];
    int64_t dim[16], bytes, count = 1;
    if (!f)
        return NULL;
    verify_must(fread(head, sizeof head, 1, f) == 1 && fread(&bytes, sizeof bytes, 1, f) == 1 &&
                    fread(dim, sizeof *dim, (size_t)head[1], f) == (size_t)head[1],
                "read an input");
    for (int i = 0; i < head[1]; i++)
        count *= dim[i];
    void *data = verify_memory(head[0] == VERIFY_STRING ? sizeof(verify_string) * (size_t)count : (size_t)bytes);
    if (head[0] == VERIFY_STRING)
        verify_read_strings(f, data, count);
    else
        verify_must(fread(data, 1, (size_t)bytes, f) == (size_t)bytes, "read an input");
    fclose(f);
    return data;
}

static void verify_write(int k, const void *data)
{
    FILE *f = verify_open("raw_", k, "wb");
    const verify_string *s = data;
    verify_must(f != NULL, "write an output");
    for (size_t i = 0; verify_text[k] && i < verify_bytes[k] / sizeof *s; i++) {
        fwrite(&s[i].length, sizeof s[i].length, 1, f);
        fwrite(s[i].text, 1, s[i].length, f);
    }
    if (!verify_text[k])
        fwrite(data, 1, verify_bytes[k], f);
    verify_must(!fclose(f), "write an output");
}

#ifdef MODEL_PROFILE
#include <time.h>

uint64_t model_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Measures the steps over at least three runs and at least a second, after the first run, which is slower. */
static void verify_profile(void *const *in, void *const *out, int64_t *sizes)
{
    const uint64_t start = model_clock();
    memset(model_ticks, 0, sizeof model_ticks);
    model_runs = 0;
    while (model_runs < 3 || model_clock() - start < 1000000000u)
        verify_must(!VERIFY_CALL(in, out, sizes), "run it several times");
    FILE *f = verify_open("ticks_", 0, "w");
    verify_must(f && fprintf(f, "runs %llu\nunit ns\n", (unsigned long long)model_runs) > 0, "write the times");
    for (int i = 0; i < MODEL_STEPS; i++)
        fprintf(f, "%llu\n", (unsigned long long)model_ticks[i]);
    verify_must(!fclose(f), "write the times");
}
#endif

int main(int argc, char **argv)
{
    static void *in[VERIFY_INPUTS + 1], *out[VERIFY_OUTPUTS + 1];
    int64_t sizes[VERIFY_SIZES + 1] = {0};
    verify_must(argc == 2, "run without a folder");
    verify_folder = argv[1];
    for (int i = 0; i < VERIFY_INPUTS; i++)
        in[i] = verify_read(i);
    for (int i = 0; i < VERIFY_OUTPUTS; i++)
        out[i] = verify_memory(verify_bytes[i]);
    FILE *f = verify_open("sizes_", 0, "rb");
    verify_must(f && fread(sizes, sizeof *sizes, VERIFY_SIZES, f) == VERIFY_SIZES, "read the sizes");
    fclose(f);
    const int status = VERIFY_CALL(in, out, sizes);
    if (status)
        return status;
#ifdef MODEL_PROFILE
    verify_profile(in, out, sizes);
#endif
    for (int i = 0; i < VERIFY_OUTPUTS; i++)
        verify_write(i, out[i]);
    f = verify_open("sizes_", 0, "wb");
    verify_must(f && fwrite(sizes, sizeof *sizes, VERIFY_SIZES, f) == VERIFY_SIZES && !fclose(f), "write the sizes");
    return 0;
}
