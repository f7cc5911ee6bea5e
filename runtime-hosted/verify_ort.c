/* verify_ort.c - the program in which `onnxcc verify` runs ONNX Runtime, by version 1 of its C API.
 * program FOLDER MODEL LIBRARY...: uses the first library that can be loaded. FOLDER/feed: the names of the inputs, which are in
 * FOLDER/feed_K; FOLDER/fetch: the names of the tensors to compute, into FOLDER/ort_K, where the empty name is none. FOLDER/model:
 * the model, with them as outputs; MODEL: the file that it comes from. Names: their number, then length and bytes of each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_FOUND = 101, FAILED = 102, STRING = 8, MAX_RANK = 16 };
enum { IN_FILE_SEQUENCE = 1, IN_FILE_OPTIONAL, IN_FILE_MAP }; /* negated before a number of items */
enum { IS_TENSOR = 1, IS_SEQUENCE, IS_MAP };                  /* of GetValueType and CreateValue */

typedef void *Any; /* a pointer of the API */
typedef struct Base {
    const Any *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} Base;

/* Places in the table of functions; they never change. */
enum {
    GetErrorMessage = 2,
    CreateEnv = 3,
    DisableTelemetryEvents = 6,
    CreateSessionFromArray = 8,
    Run = 9,
    CreateSessionOptions = 10,
    SetSessionLogSeverityLevel = 22,
    SetSessionGraphOptimizationLevel = 23,
    SetIntraOpNumThreads = 24,
    CreateTensorAsOrtValue = 48,
    CreateTensorWithDataAsOrtValue = 49,
    GetTensorMutableData = 51,
    FillStringTensor = 52,
    GetStringTensorDataLength = 53,
    GetStringTensorContent = 54,
    GetTensorElementType = 60,
    GetDimensionsCount = 61,
    GetDimensions = 62,
    GetTensorShapeElementCount = 64,
    GetTensorTypeAndShape = 65,
    GetValueType = 67,
    CreateCpuMemoryInfo = 69,
    GetAllocatorWithDefaultOptions = 78,
    GetValue = 80,
    GetValueCount = 81,
    CreateValue = 82
};

static const Any *api;
static const char *folder;

/* CALL(Run, (types), values): a function that returns a status. */
#define CALL(function, types, ...)                                                                                     \
    do {                                                                                                               \
        Any (*call_) types = (Any(*) types)api[function];                                                              \
        check(call_(__VA_ARGS__));                                                                                     \
    } while (0)

static void stop(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(FAILED);
}

static void check(Any status)
{
    if (status)
        stop(((const char *(*)(Any))api[GetErrorMessage])(status));
}

static void *memory(size_t n)
{
    void *p = calloc(1, n + 64);
    if (!p)
        stop("out of memory");
    return p;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static FILE *open_file(const char *name, int k, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, k < 0 ? "%s/%s" : "%s/%s_%d", folder, name, k);
    FILE *f = fopen(path, mode);
    if (!f)
        stop(path);
    return f;
}

static void get(FILE *f, void *to, size_t n)
{
    if (n && fread(to, n, 1, f) != 1)
        stop("a file is too short");
}

/* Reads the rest of a file. */
static char *get_all(FILE *f, size_t *n)
{
    const long from = ftell(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)(ftell(f) - from);
    fseek(f, from, SEEK_SET);
    char *bytes = memory(*n);
    get(f, bytes, *n);
    return bytes;
}

static char **get_names(const char *file, size_t *n)
{
    FILE *f = open_file(file, -1, "rb");
    int64_t count, length;
    get(f, &count, sizeof count);
    char **names = memory(sizeof *names * (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        get(f, &length, sizeof length);
        get(f, names[i] = memory((size_t)length), (size_t)length);
    }
    fclose(f);
    *n = (size_t)count;
    return names;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static Any read_strings(FILE *f, const int64_t *dim, size_t rank, size_t count)
{
    const char **text = memory(sizeof *text * count);
    Any allocator, value;
    for (size_t i = 0; i < count; i++) {
        uint64_t length;
        get(f, &length, sizeof length);
        char *s = memory(length);
        get(f, s, length);
        text[i] = s;
    }
    CALL(GetAllocatorWithDefaultOptions, (Any *), &allocator);
    CALL(CreateTensorAsOrtValue, (Any, const int64_t *, size_t, int, Any *), allocator, dim, rank, STRING, &value);
    CALL(FillStringTensor, (Any, const char *const *, size_t), value, text, count);
    return value;
}

static Any read_tensor(FILE *f, const int32_t *head)
{
    int64_t bytes, dim[MAX_RANK];
    size_t count = 1;
    Any info, value;
    get(f, &bytes, sizeof bytes);
    get(f, dim, sizeof *dim * (size_t)head[1]);
    for (int i = 0; i < head[1]; i++)
        count *= (size_t)dim[i];
    if (head[0] == STRING)
        return read_strings(f, dim, (size_t)head[1], count);
    void *data = memory((size_t)bytes);
    get(f, data, (size_t)bytes);
    CALL(CreateCpuMemoryInfo, (int, int, Any *), 1, 0, &info);
    CALL(CreateTensorWithDataAsOrtValue, (Any, void *, size_t, const int64_t *, size_t, int, Any *), info, data,
         (size_t)bytes, dim, (size_t)head[1], head[0], &value);
    return value;
}

static Any read_value(FILE *f)
{
    int32_t head[2];
    Any value;
    get(f, head, sizeof head);
    if (head[0] > 0)
        return read_tensor(f, head);
    if (!head[1])
        stop("its C interface passes no empty sequence, map or optional");
    Any *item = memory(sizeof *item * (size_t)head[1]);
    for (int i = 0; i < head[1]; i++)
        item[i] = read_value(f);
    if (-head[0] == IN_FILE_OPTIONAL)
        return item[0];
    if (-head[0] == IN_FILE_MAP) { /* keys, then values */
        Any values = item[0];
        item[0] = item[1];
        item[1] = values;
    }
    CALL(CreateValue, (const Any *, size_t, int, Any *), item, (size_t)head[1],
         -head[0] == IN_FILE_MAP ? IS_MAP : IS_SEQUENCE, &value);
    return value;
}

static Any read_feed(int k)
{
    FILE *f = open_file("feed", k, "rb");
    Any value = read_value(f);
    fclose(f);
    return value;
}

static void write_strings(FILE *f, Any value, size_t count)
{
    size_t length, *offset = memory(sizeof *offset * (count + 1));
    CALL(GetStringTensorDataLength, (Any, size_t *), value, &length);
    char *text = memory(length);
    CALL(GetStringTensorContent, (Any, void *, size_t, size_t *, size_t), value, text, length, offset, count);
    offset[count] = length;
    for (size_t i = 0; i < count; i++) {
        const uint64_t n = offset[i + 1] - offset[i];
        fwrite(&n, sizeof n, 1, f);
        fwrite(text + offset[i], 1, n, f);
    }
}

/* The bytes of elements as ONNX packs them. */
static int64_t packed_bytes(int type, size_t count)
{
    static const int bits[] = {0,   32, 8, 8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64, 64,
                               128, 16, 8, 8, 8,  8,  4,  4,  4, 8, 2,  2,  6,  6};
    if (type <= 0 || type >= (int)(sizeof bits / sizeof *bits))
        stop("a type that is not known");
    return ((int64_t)count * bits[type] + 7) / 8;
}

static void write_tensor(FILE *f, Any value)
{
    int type;
    size_t rank, count;
    int64_t dim[MAX_RANK];
    Any info;
    void *data;
    CALL(GetTensorTypeAndShape, (Any, Any *), value, &info);
    CALL(GetTensorElementType, (Any, int *), info, &type);
    CALL(GetDimensionsCount, (Any, size_t *), info, &rank);
    CALL(GetTensorShapeElementCount, (Any, size_t *), info, &count);
    if (rank > MAX_RANK)
        stop("a tensor of more than 16 dimensions");
    CALL(GetDimensions, (Any, int64_t *, size_t), info, dim, rank);
    const int32_t head[2] = {type, (int32_t)rank};
    const int64_t bytes = packed_bytes(type, count);
    fwrite(head, sizeof head, 1, f);
    fwrite(&bytes, sizeof bytes, 1, f);
    fwrite(dim, sizeof *dim, rank, f);
    if (type == STRING)
        write_strings(f, value, count);
    else {
        CALL(GetTensorMutableData, (Any, void **), value, &data);
        fwrite(data, 1, (size_t)bytes, f);
    }
}

static Any item_of(Any value, int i)
{
    Any allocator, item;
    CALL(GetAllocatorWithDefaultOptions, (Any *), &allocator);
    CALL(GetValue, (Any, int, Any, Any *), value, i, allocator, &item);
    return item;
}

static void write_value(FILE *f, Any value)
{
    int kind;
    size_t n;
    CALL(GetValueType, (Any, int *), value, &kind);
    if (kind == IS_TENSOR) {
        write_tensor(f, value);
        return;
    }
    if (kind != IS_SEQUENCE && kind != IS_MAP)
        stop("an output is neither a tensor nor a sequence or map");
    CALL(GetValueCount, (Any, size_t *), value, &n);
    const int32_t head[2] = {-(kind == IS_MAP ? IN_FILE_MAP : IN_FILE_SEQUENCE), (int32_t)n};
    fwrite(head, sizeof head, 1, f);
    for (int i = 0; i < (int)n; i++)
        write_value(f, item_of(value, kind == IS_MAP ? 1 - i : i)); /* of a map values, then keys */
}

/* Of an optional output its element, or an optional without one. */
static void write_fetched(int k, Any value)
{
    const int32_t none[2] = {-IN_FILE_OPTIONAL, 0};
    int kind = 0;
    FILE *f = open_file("ort", k, "wb");
    if (value)
        CALL(GetValueType, (Any, int *), value, &kind);
    if (kind)
        write_value(f, value);
    else
        fwrite(none, sizeof none, 1, f);
    if (fclose(f))
        stop("an output cannot be written");
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* The model. Relative paths of external data begin in the folder of the file that it comes from. */
static char *read_model(char *path, size_t *n)
{
    FILE *f = open_file("model", -1, "rb");
    char *model = get_all(f, n);
    fclose(f);
    if (chdir(dirname(path)))
        stop("no folder");
    return model;
}

static Any make_session(char *path)
{
    size_t n;
    Any env, options, session;
    char *model = read_model(path, &n);
    CALL(CreateEnv, (int, const char *, Any *), 4, "verify", &env);
    CALL(DisableTelemetryEvents, (Any), env);
    CALL(CreateSessionOptions, (Any *), &options);
    CALL(SetSessionLogSeverityLevel, (Any, int), options, 4);
    CALL(SetSessionGraphOptimizationLevel, (Any, int), options, 0);
    CALL(SetIntraOpNumThreads, (Any, int), options, 1);
    CALL(CreateSessionFromArray, (Any, const void *, size_t, Any, Any *), env, model, n, options, &session);
    return session;
}

static void load(char **library)
{
    for (; *library; library++) {
        void *so = dlopen(*library, RTLD_NOW | RTLD_LOCAL);
        const Base *(*get_base)(void) = so ? (const Base *(*)(void))dlsym(so, "OrtGetApiBase") : NULL;
        if (!get_base)
            continue;
        api = get_base()->get_api(1);
        printf("%s", get_base()->get_version());
        return;
    }
    fprintf(stderr, "no library of ONNX Runtime\n");
    exit(NOT_FOUND);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return FAILED;
    folder = argv[1];
    load(argv + 3);
    size_t n_in, n_out;
    char **in = get_names("feed", &n_in), **out = get_names("fetch", &n_out);
    Any session = make_session(argv[2]);
    Any *fed = memory(sizeof *fed * n_in), *fetched = memory(sizeof *fetched * n_out);
    for (size_t i = 0; i < n_in; i++)
        fed[i] = read_feed((int)i);
    size_t n = 0, *place = memory(sizeof *place * n_out);
    for (size_t i = 0; i < n_out; i++)
        if (*out[i]) {
            place[n] = i;
            out[n++] = out[i];
        }
    CALL(Run, (Any, Any, char **, Any *, size_t, char **, size_t, Any *), session, NULL, in, fed, n_in, out, n,
         fetched);
    for (size_t i = 0; i < n; i++)
        write_fetched((int)place[i], fetched[i]);
    fflush(stdout);
    _exit(0); /* destructors of the library are not under test */
}
