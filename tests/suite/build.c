/* build.c - compiles and calls the emitted C of tests; keeps the results of a former run if nothing has changed since. */
#include "case.h"
#include "suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

enum { CC_SECONDS = 300, CALL_SECONDS = 300, MAX_FLAGS = 64, UNIT_BYTES = 8 << 20 };

/* ISO C: the compiler may not fuse a multiplication and an addition, so the bits are those of the compiler's
 * kernels. */
#define WARNINGS " -pedantic -Wall -Wextra -Wshadow -Wconversion -Wvla"
static const char *const way_flags[N_WAYS] = {
    [WAY_SANITIZED] = "-std=c99 -O0 -DTILE_SMALL=0 -g1 -fsanitize=address,undefined,float-cast-overflow "
                      "-fno-sanitize-recover=all",
    [WAY_FAST] = "-std=c99 -O3" WARNINGS,
    [WAY_TCC] = "-std=c99 -Wall",
};
/* Sanitized code compiles fastest at -O0; but networks run ten times as fast at -O1, here with the tiles of -O0. */
#define NETWORK_SANITIZED "-O1 -U__OPTIMIZE__"
/* Clang's sanitizers detect more than gcc's, of pointers and shifts. */
static const char *compiler_of(Way w) { return w == WAY_SANITIZED ? set.sanitizer : w == WAY_TCC ? "tcc" : set.cc; }
const char *const way_file[N_WAYS] = {"eval", "sanitized", "fast", "tcc", "elsewhere"};

/* ---- files and processes ----------------------------------------------------------------------------------------- */

char *path_in(const char *dir, const char *file)
{
    char *path = malloc(strlen(dir) + strlen(file) + 2);
    sprintf(path, "%s/%s", dir, file);
    return path;
}

void *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *s = malloc((size_t)size + 1);
    size_t got = fread(s, 1, (size_t)size, f);
    fclose(f);
    s[got] = 0;
    if (n)
        *n = got;
    return s;
}

void first_line(const char *file, const char *const *words, char *to, size_t n)
{
    char *s = read_file(file, NULL), *found = NULL;
    for (; s && *words && !found; words++)
        found = strstr(s, *words);
    const char *from = found ? found : s ? s : "";
    while (found && from > s && from[-1] != '\n')
        from--;
    size_t k = 0, word = 0;
    for (; *from && *from != '\n' && k + 1 < n; from++) {
        if (*from == '/') { /* only the last part of a path */
            k = word;
            continue;
        }
        to[k++] = *from;
        if (*from == ' ')
            word = k;
    }
    to[k] = 0;
    free(s);
}

int run_command(char *const *argv, const char *log, int seconds)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666), null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(fd, 1);
        dup2(fd, 2);
        struct rlimit cpu = {(rlim_t)seconds, (rlim_t)seconds + 1};
        setrlimit(RLIMIT_CPU, &cpu); /* for its child processes, too */
        alarm((unsigned)seconds);
        execvp(argv[0], argv);
        dprintf(2, "cannot start %s\n", argv[0]);
        _exit(127);
    }
    int status = -1;
    if (child > 0)
        waitpid(child, &status, 0);
    return status;
}

/* ---- the key: a hash of all that the result depends on ----------------------------------------------------------- */

static const char *emitted_header(const char *line, char *name, size_t n)
{
    const char *from = strstr(line, "<onnxcc/"), *quote = strchr(line, '"');
    char format[32];
    snprintf(format, sizeof format, from ? "<onnxcc/%%%zu[^>]" : "\"%%%zu[^\"]", n - 1);
    return sscanf(from ? from : quote ? quote : "", format, name) == 1 ? name : NULL;
}

/* Hash of a header of runtime-min and of what it includes; 0 when it is not one of them. */
static uint64_t hash_header(const char *header);

static uint64_t hash_includes(const char *text, size_t n)
{
    uint64_t hash = XXH3_64bits(text, n);
    for (const char *s = text; (s = strstr(s, "#include")); s++) {
        char line[200], name[100];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(s, "\n"), s);
        uint64_t part = emitted_header(line, name, sizeof name) ? hash_header(name) : 0;
        hash = XXH3_64bits_withSeed(&part, sizeof part, hash);
    }
    return hash;
}

static uint64_t hash_header(const char *header)
{
    static struct Known {
        char name[100];
        uint64_t hash;
    } known[200];
    static int n;
    for (int i = 0; i < n; i++)
        if (!strcmp(known[i].name, header))
            return known[i].hash;
    if (n == 200)
        return 0;
    struct Known *k = &known[n++]; /* before its own includes: rt.c includes itself */
    snprintf(k->name, sizeof k->name, "%s", header);
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/onnxcc", set.include);
    char *path = path_in(folder, header);
    size_t size;
    char *text = read_file(path, &size);
    if (text)
        k->hash = hash_includes(text, size);
    free(text);
    free(path);
    return k->hash;
}

static bool is_source(const char *file)
{
    const char *dot = strrchr(file, '.');
    return *file != '.' && strncmp(file, "out.", 4) &&
           !(dot && (!strcmp(dot, ".log") || !strcmp(dot, ".key") || !strcmp(dot, ".so")));
}

static uint64_t hash_sources(const char *dir)
{
    struct dirent **list;
    int n = scandir(dir, &list, NULL, alphasort);
    uint64_t hash = 0;
    for (int i = 0; i < n; i++) {
        if (is_source(list[i]->d_name)) {
            char *path = path_in(dir, list[i]->d_name);
            size_t size = 0;
            char *text = read_file(path, &size);
            uint64_t part = text ? hash_includes(text, size) : 0;
            hash = XXH3_64bits_withSeed(&part, sizeof part, hash);
            free(text);
            free(path);
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return hash;
}

static uint64_t hash_file(const char *path, uint64_t seed)
{
    size_t n = 0;
    void *s = read_file(path, &n);
    uint64_t hash = XXH3_64bits_withSeed(s ? s : "", n, seed);
    free(s);
    return hash;
}

/* Hash of the C compiler, its flags and the calling program. */
static uint64_t hash_tools(Way w, const char *flags, const char *call)
{
    static uint64_t tool[N_WAYS];
    if (!tool[w]) {
        char command[4200], text[500] = "";
        snprintf(command, sizeof command, "%s --version", compiler_of(w));
        FILE *f = popen(command, "r");
        size_t n = f ? fread(text, 1, sizeof text, f) : 0;
        if (f)
            pclose(f);
        char *header = path_in(set.source, "case.h");
        tool[w] = hash_file(header, hash_file(call, XXH3_64bits(text, n)));
        free(header);
    }
    return XXH3_64bits_withSeed(flags, strlen(flags), tool[w]);
}

static bool recall(const char *path, uint64_t key, Verdict *v)
{
    char *s = read_file(path, NULL);
    unsigned long long was;
    int class, at = 0;
    bool found = s && sscanf(s, "%llx %d %n", &was, &class, &at) == 2 && was == key;
    if (found) {
        set_verdict(v, (Class)class, "%s", s + at);
        v->cached = true;
    }
    free(s);
    return found;
}

static void remember(const char *path, uint64_t key, const Verdict *v)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fprintf(f, "%llx %d %s", (unsigned long long)key, v->class, v->why);
    fclose(f);
}

/* ---- compiling and calling --------------------------------------------------------------------------------------- */

static const char *flags_of(const Test *t, Way w)
{
    static char flags[400];
    const char *network = is_network(t) ? " " NETWORK_SANITIZED : "";
    /* Processors without these vectors still run the test. */
    bool v3 = w == WAY_FAST && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
    if (w == WAY_SANITIZED)
        snprintf(flags, sizeof flags, "%s%s%s%s", way_flags[w], network, set.march ? " -march=" : "",
                 set.march ? set.march : "");
    else
        snprintf(flags, sizeof flags, "%s%s", way_flags[w], v3 ? " -march=x86-64-v3" : "");
    return flags;
}

static void compile(const char *so, const char *source, const char *log, Way w, const char *flags, Verdict *v)
{
    char words[400], *argv[MAX_FLAGS];
    int n = 0;
    argv[n++] = (char *)(uintptr_t)compiler_of(w);
    snprintf(words, sizeof words, "%s", flags);
    for (char *s = strtok(words, " "); s; s = strtok(NULL, " "))
        argv[n++] = s;
    const char *alone = w == WAY_TCC ? NULL : "-nostdlib"; /* it would take away tcc's own functions */
    const char *rest[] = {"-shared", "-fPIC", "-I",   set.include, "-I",    set.source,
                          "-o",      so,      source, alone,       "-lgcc", NULL};
    for (int i = 0; n < MAX_FLAGS && (argv[n++] = (char *)(uintptr_t)rest[i]);)
        i++;
    int status = run_command(argv, log, CC_SECONDS);
    char line[200];
    first_line(log, (const char *const[]){" error: ", " warning: ", NULL}, line, sizeof line);
    if (status)
        set_verdict(v, CC_FAILED, "%s", line);
    else if (strstr(line, "warning:"))
        set_verdict(v, CC_WARNED, "%s", line);
}

/* A test whose verdict is not known. */
typedef struct Pending {
    const Test *t;
    Verdict *v;
    uint64_t key;
} Pending;

static char *call_program(Way w) { return path_in(set.build, w == WAY_SANITIZED ? "call-sanitized" : "call"); }

/* DIR/WAY.SUFFIX */
static char *file_of_way(const char *dir, Way w, const char *suffix)
{
    char file[32];
    snprintf(file, sizeof file, "%s.%s", way_file[w], suffix);
    return path_in(dir, file);
}

static void call(const Pending *p, const char *so, const char *name, Way w)
{
    const Test *t = p->t;
    char result[32];
    snprintf(result, sizeof result, "out.%s", way_file[w]);
    char *program = call_program(w), *log = file_of_way(t->dir, w, "log");
    char *in = path_in(t->dir, "in.bin"), *out = path_in(t->dir, result);
    char *argv[] = {program, (char *)(uintptr_t)so, (char *)(uintptr_t)name, in, out, NULL};
    int status = run_command(argv, log, CALL_SECONDS);
    char line[200];
    first_line(log, (const char *const[]){"runtime error:", "SUMMARY: AddressSanitizer", "call: ", NULL}, line,
               sizeof line);
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU))
        set_verdict(p->v, TIMEOUT, "more than %d seconds", CALL_SECONDS);
    else if (WIFSIGNALED(status))
        set_verdict(p->v, CRASHED, "%s %s", strsignal(WTERMSIG(status)), line);
    else if (WEXITSTATUS(status) == CALL_STATUS)
        set_verdict(p->v, STATUS, "%s", line);
    else if (WEXITSTATUS(status) == CALL_CANARY)
        set_verdict(p->v, CANARY, "%s", line);
    else if (WEXITSTATUS(status) == CALL_BITS)
        set_verdict(p->v, BITS, "%s", line);
    else if (WEXITSTATUS(status) != CALL_OK)
        set_verdict(p->v, CRASHED, "%s", line);
    free(program);
    free(log);
    free(in);
    free(out);
}

/* The verdict of a test in a translation unit of its own. */
static void run_alone(const Pending *p, Way w)
{
    char *so = file_of_way(p->t->dir, w, "so"), *log = file_of_way(p->t->dir, w, "log");
    char *source = path_in(p->t->dir, "case.c");
    compile(so, source, log, w, flags_of(p->t, w), p->v);
    if (p->v->class != CC_FAILED)
        call(p, so, "suite_case", w);
    if (!set.verbose)
        unlink(so);
    free(so);
    free(log);
    free(source);
}

/* A translation unit of several tests; test i is described by case_I. */
static void write_unit(const char *path, const Pending *p, int n)
{
    FILE *f = fopen(path, "w");
    if (!f)
        fail(EXIT_IO, "cannot write %s", path);
    fprintf(f, "#include \"case.h\"\n");
    for (int i = 0; i < n; i++) {
        char *dir = realpath(p[i].t->dir, NULL);
        fprintf(f, "#undef SUITE_CASE\n#define SUITE_CASE case_%d\n#include \"%s/case.c\"\n", i, dir);
        free(dir);
    }
    fclose(f);
}

/* The verdicts of tests in one translation unit; false: none, since the C compiler printed messages. */
static bool run_unit(const Pending *p, int n, Way w)
{
    char unit[4200], name[16];
    snprintf(unit, sizeof unit, "%s.%s.c", p->t->dir, way_file[w]);
    char *so = file_of_way(p->t->dir, w, "so"), *log = file_of_way(p->t->dir, w, "log");
    Verdict said = {.class = PASSED};
    write_unit(unit, p, n);
    compile(so, unit, log, w, flags_of(p->t, w), &said);
    unlink(unit);
    for (int i = 0; i < n && said.class == PASSED; i++) {
        snprintf(name, sizeof name, "case_%d", i);
        call(&p[i], so, name, w);
    }
    unlink(so);
    free(so);
    free(log);
    return said.class == PASSED;
}

/* Tests of one name, or large ones, are not in one translation unit. */
static bool fits(const Pending *p, int n, int64_t bytes)
{
    bool together = bytes <= UNIT_BYTES && !is_network(p[n].t) && !is_network(p->t);
    const char *name = strrchr(p[n].t->name, '/');
    for (int i = 0; name && i < n && together; i++) {
        const char *other = strrchr(p[i].t->name, '/');
        together = !other || strcmp(name, other);
    }
    return together;
}

static int64_t bytes_of_c(const Test *t)
{
    char *path = path_in(t->dir, "m.c");
    struct stat s;
    int64_t n = stat(path, &s) ? 0 : s.st_size;
    free(path);
    return n;
}

static void run_pending(const Pending *p, int n, Way w)
{
    for (int i = 0, k; i < n; i = k) {
        int64_t bytes = bytes_of_c(p[i].t);
        for (k = i + 1; k < n && !set.verbose && fits(p + i, k - i, bytes += bytes_of_c(p[k].t));)
            k++;
        if (k - i > 1 && run_unit(p + i, k - i, w))
            continue;
        for (int j = i; j < k; j++)
            run_alone(&p[j], w);
    }
}

void run_emitted(const Test *tests, Result *results, const int *which, int n, Way w)
{
    Pending *p = calloc((size_t)n + 1, sizeof *p);
    int left = 0;
    for (int i = 0; i < n; i++) {
        const Test *t = &tests[which[i]];
        char *program = call_program(w), *kept = file_of_way(t->dir, w, "key");
        Pending new = {t, &results[which[i]].way[w], hash_sources(t->dir) + hash_tools(w, flags_of(t, w), program)};
        if (set.verbose || !recall(kept, new.key, new.v)) {
            set_verdict(new.v, PASSED, "%s", "");
            p[left++] = new;
        }
        free(program);
        free(kept);
    }
    run_pending(p, left, w);
    for (int i = 0; i < left; i++) {
        char *kept = file_of_way(p[i].t->dir, w, "key");
        if (p[i].v->class != TIMEOUT)
            remember(kept, p[i].key, p[i].v);
        free(kept);
    }
    free(p);
}
