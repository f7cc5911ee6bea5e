/* run.c - runs the official ONNX tests, each in several ways, on as many processes as there are processors.
 *
 * usage: run [OPTION] SUITE [NAME ...]     SUITE: folder written by generate.py or old.py; NAME: a test, or a pattern
 *   --build DIR     folder of call and call-sanitized, and of the tests' work (build/suite)
 *   --include DIR   folder of the emitted code's <onnxcc/...>;  --source DIR: folder of case.h
 *   --cc CC         C compiler of the emitted code
 *   --known FILE    the tests that fail, a line `NAME  REASON` each: none of them may pass, no other may fail
 *   --update        rewrites FILE
 *   --ways LETTERS  of e (in the compiler), s (C, sanitizers), f (C, optimised), t (C, tcc); without the option: esf
 *   --c-only        in none: only the C is written
 *   --elsewhere COMMAND   in the compiler, and as C by COMMAND LIST; the file LIST has the tests' folders
 *   --every N       only every Nth test as C, all of them in the compiler; with N = 0 none
 *   --networks N    only every Nth network under sanitizers, which take minutes
 *   --optimised N   only every Nth test as optimised C
 *   --turn K        the Kth, the K+Nth ...; runs with K = 0, 1 ... N - 1 together cover every test once
 *   --own GROUP     SUITE has other tests than the official ones; GROUP: their name in the counts
 *   --symbolic-outputs   without the declared shapes of the outputs, so that they must be inferred
 *   --incbin        the weights in a file beside the C, which compiles faster; not on a big-endian machine
 *   --single        each test's C contains what it uses of the runtime
 *   --jobs N, -v */
#include "base/session.h"
#include "suite.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMPILE_SECONDS = 300, JUDGE_SECONDS = 60, BATCH = 192 /* tests in one translation unit, at most */ };

const char *const class_name[N_CLASSES] = {
    "not run",      "passed", "rejected", "compiler bug", "C compile failed", "C compiler warns", "crash", "timeout",
    "error status", "shape",  "dtype",    "value",        "canary",           "bits differ",
};
static const char *const way_name[N_WAYS] = {"in the compiler", "C with sanitizers", "C optimised", "C by tcc",
                                             "C elsewhere"};

Settings set = {.build = "build/suite",
                .include = "build/include",
                .source = "tests/suite",
                .cc = "cc",
                .sanitizer = "clang-14",
                .ways = {[WAY_EVAL] = true, [WAY_SANITIZED] = true, [WAY_FAST] = true},
                .every = 1,
                .networks = 1,
                .optimised = 1};
static const char *group = "suite";

static VEC(Test) tests;

static bool in_turn(int i, int every) { return every && i % every == set.turn % every; }

/* Is test i run in way w? */
static bool in_way(int i, Way w)
{
    bool now = in_turn(i, set.every);
    if (w == WAY_SANITIZED && is_network(&tests.at[i]))
        now &= in_turn(i, set.networks);
    if (w == WAY_FAST)
        now &= in_turn(i, set.optimised);
    return set.ways[w] && (now || (w != WAY_SANITIZED && w != WAY_FAST));
}

/* Is test i run in any way? */
static bool is_run(int i)
{
    bool any = set.c_only;
    for (Way w = 0; w < N_WAYS; w++)
        any |= in_way(i, w);
    return any;
}

static struct Shared {
    int next;
    Result result[];
} *shared;

static const char *known_file, *elsewhere;
static bool update;
static int jobs;

void set_verdict(Verdict *v, Class c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    v->class = c;
    vsnprintf(v->why, sizeof v->why, format, args);
    va_end(args);
    v->why[strcspn(v->why, "\n")] = 0;
}

/* ---- one test ---------------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs f in a process of its own, with stderr in the log. */
static int in_child(void (*f)(int test), int test, const char *log, int seconds)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (log)
            dup2(open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
        alarm((unsigned)seconds);
        f(test);
        fflush(stdout);
        _exit(0);
    }
    int status = -1;
    if (child > 0)
        waitpid(child, &status, 0);
    return status;
}

static void child_compile(int i) { compile_case(&tests.at[i], &shared->result[i]); }

static void child_judge(int i)
{
    Result *r = &shared->result[i];
    for (Way w = 0; w < N_WAYS; w++) {
        Verdict *v = &r->way[w], judged = {.class = PASSED};
        if (v->class != PASSED && v->class != CC_WARNED)
            continue;
        judge(&tests.at[i], r, w, &judged);
        bool has_bits = w == WAY_TCC || (w == WAY_SANITIZED && !set.march) || (w == WAY_ELSEWHERE && !set.target);
        if (has_bits && judged.class == PASSED && r->way[WAY_EVAL].class == PASSED)
            judge_bits(&tests.at[i], w, &judged);
        if (judged.class != PASSED)
            *v = judged;
    }
}

static void fail_all(int i, Result *r, Verdict v)
{
    for (Way w = 0; w < N_WAYS; w++)
        if (in_way(i, w) && (w == WAY_EVAL || !r->emitted))
            r->way[w] = v;
}

/* Adds the NAMEs of "before NAME after" at the ends of the log's lines to `list`; returns how many there are now. */
static int find_names(const char *text, const char *before, const char *after, char (*list)[64], int n)
{
    for (const char *s = text; (s = strstr(s, before)) && n < MAX_FROZEN;) {
        s += strlen(before);
        size_t k = strcspn(s, "\n"), end = strlen(after);
        if (k < end || strncmp(s + k - end, after, end) || k - end >= sizeof *list)
            continue;
        snprintf(list[n], sizeof *list, "%.*s", (int)(k - end), s);
        bool again = false;
        for (int i = 0; i < n; i++)
            again |= !strcmp(list[i], list[n]);
        n += !again;
    }
    return n;
}

/* Adds the options that the compiler's help suggests: "freeze it: --const INPUT=FILE.pb"; if no input decides the size,
 * "give it a bound, --dim 'SIZE<=64'"; if there are many, "--all-dims='<=64'". False: it suggests none, so that another
 * attempt would fail, too. */
static bool take_help(const char *log, Result *r)
{
    char *text = read_file(log, NULL);
    int before = r->n_frozen + r->n_bounded;
    if (text)
        r->n_frozen = find_names(text, "--const ", "=FILE.pb", r->frozen, r->n_frozen);
    if (text && r->n_frozen + r->n_bounded == before)
        r->n_bounded = find_names(text, "--dim '", "<=64'", r->bounded, r->n_bounded);
    bool all = text && r->n_frozen + r->n_bounded == before && !r->all_bounded &&
               (r->n_bounded == MAX_FROZEN || strstr(text, "--all-dims='<=64'"));
    if (all) {
        r->all_bounded = true;
        r->n_bounded = 0;
    }
    free(text);
    return all || r->n_frozen + r->n_bounded > before;
}

/* Compiles and evaluates a test; if no C was written, the verdict holds for all ways. */
static void run_compiler(int i)
{
    const Test *t = &tests.at[i];
    Result *r = &shared->result[i];
    char *log = path_in(t->dir, "eval.log"), line[200];
    int status;
    do
        status = in_child(child_compile, i, log, COMPILE_SECONDS);
    while (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_MODEL && take_help(log, r));
    first_line(log, (const char *const[]){"error", NULL}, line, sizeof line);
    Verdict v = {.class = PASSED};
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        set_verdict(&v, TIMEOUT, "more than %d seconds in the compiler", COMPILE_SECONDS);
    else if (WIFSIGNALED(status))
        set_verdict(&v, CRASHED, "%s in the compiler", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        set_verdict(&v, WEXITSTATUS(status) == EXIT_BUG ? BUG : REJECTED, "%s", line);
    fail_all(i, r, v);
    free(log);
}

/* Results and verdicts of a former run are kept, with the keys by which build.c, tests/cache.py and
 * tests/machines/elsewhere.py decide whether they are still valid. */
static bool is_kept(const char *name)
{
    const char *end = strrchr(name, '.');
    bool result = !strncmp(name, "out.", 4) && strcmp(name, "out.eval");
    return result || (end && !strcmp(end, ".key")) || !strcmp(name, ".") || !strcmp(name, "..");
}

static void clean_folder(const char *dir)
{
    mkdir(dir, 0777);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!is_kept(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

static void judge_test(int i)
{
    Result *r = &shared->result[i];
    int status = in_child(child_judge, i, NULL, JUDGE_SECONDS);
    if (status)
        for (Way w = 0; w < N_WAYS; w++)
            if (r->way[w].class == PASSED)
                set_verdict(&r->way[w], BUG, "the comparison of results failed");
}

static void run_test(int i)
{
    const Test *t = &tests.at[i];
    double start = now();
    if (!is_run(i))
        return;
    clean_folder(t->dir);
    run_compiler(i);
    shared->result[i].seconds = now() - start;
}

static bool as_c(int i) { return in_way(i, WAY_SANITIZED) || in_way(i, WAY_FAST) || in_way(i, WAY_TCC); }

/* The batches of tests that run as C: the tests, and the start of each batch; a network is a batch of its own. */
static struct {
    VEC(int) which, begin;
} batches;

static void find_batches(void)
{
    int n = 0;
    for (int i = 0; i < tests.n; i++) {
        if (!as_c(i))
            continue;
        if (!n || n == BATCH || is_network(&tests.at[i])) {
            vec_push(&batches.begin, batches.which.n);
            n = 0;
        }
        n = is_network(&tests.at[i]) ? BATCH : n + 1;
        vec_push(&batches.which, i);
    }
}

static void run_batch(int k)
{
    int last = k + 1 < batches.begin.n ? batches.begin.at[k + 1] : batches.which.n, which[BATCH];
    for (Way w = WAY_SANITIZED; w <= WAY_TCC; w++) {
        int n = 0;
        for (int b = batches.begin.at[k]; b < last; b++)
            if (in_way(batches.which.at[b], w) && shared->result[batches.which.at[b]].emitted)
                which[n++] = batches.which.at[b];
        run_emitted(tests.at, shared->result, which, n, w);
    }
}

/* Calls f for every number below n, in as many processes as there are processors. */
static void run_all(void (*f)(int), int n)
{
    shared->next = 0;
    for (int k = 0; k < jobs; k++)
        if (fork() == 0) {
            for (int i; (i = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < n;)
                f(i);
            fflush(stdout);
            _exit(0);
        }
    time_t last = time(NULL);
    for (int left = jobs; left;) {
        if (waitpid(-1, NULL, WNOHANG) > 0) {
            left--;
            continue;
        }
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        if (isatty(2) && time(NULL) != last)
            fprintf(stderr, "\r%d of %d ", shared->next < n ? shared->next : n, n);
        last = time(NULL);
    }
    if (isatty(2))
        fprintf(stderr, "\r\033[K");
}

/* ---- which tests ------------------------------------------------------------------------------------------------- */

static bool selected(const char *test, char *const *patterns)
{
    if (!*patterns)
        return true;
    for (; *patterns; patterns++)
        if (!fnmatch(*patterns, test, 0))
            return true;
    return false;
}

bool is_network(const Test *t) { return strstr(t->from, "/light/"); }

/* Large tests first, so that no process is left alone with one at the end. */
static int compare_tests(const void *a, const void *b)
{
    const Test *x = a, *y = b;
    bool p = is_network(x), q = is_network(y);
    return p != q ? q - p : strcmp(x->name, y->name);
}

static void read_number(const Test *t, const char *file, double *to)
{
    char *path = path_in(t->from, file), *s = read_file(path, NULL);
    if (s)
        *to = atof(s);
    free(path);
    free(s);
}

/* Lists name a test by its name, one of an older package as VERSION/NAME. */
static void add_test(const char *folder, const char *kind, const char *test, char *const *patterns)
{
    char *full = isdigit((unsigned char)*kind) ? path_in(kind, test) : strdup(test);
    if (*test == '.' || !selected(full, patterns)) {
        free(full);
        return;
    }
    Test t = {.name = full, .from = path_in(folder, test), .dir = path_in(set.build, full), .rtol = 1e-3, .atol = 1e-7};
    char *slash = strchr(t.dir + strlen(set.build) + 1, '/');
    if (slash)
        *slash = '-';
    read_number(&t, "rtol", &t.rtol);
    read_number(&t, "atol", &t.atol);
    read_number(&t, "channel-block", &t.channel_block);
    vec_push(&tests, t);
}

static void find_tests(const char *given, char *const *patterns)
{
    const char *suite = realpath(given, NULL); /* the cache's link may be changed before this run ends */
    DIR *kinds = suite ? opendir(suite) : NULL;
    for (struct dirent *kind; kinds && (kind = readdir(kinds));) {
        char *folder = path_in(suite, kind->d_name);
        DIR *d = *kind->d_name != '.' ? opendir(folder) : NULL;
        for (struct dirent *e; d && (e = readdir(d));)
            add_test(folder, kind->d_name, e->d_name, patterns);
        if (d)
            closedir(d);
        free(folder);
    }
    if (!kinds)
        fail(EXIT_IO, "no tests in %s", given);
    closedir(kinds);
    if (!tests.n)
        fail(EXIT_USAGE, "no test of this name");
    qsort(tests.at, (size_t)tests.n, sizeof *tests.at, compare_tests);
}

/* ---- the list of known failures ---------------------------------------------------------------------------------- */

static VEC(char *) known;

static int compare_strings(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void read_known(void)
{
    char *s = known_file ? read_file(known_file, NULL) : NULL;
    for (char *line = s ? strtok(s, "\n") : NULL; line; line = strtok(NULL, "\n"))
        if (*line != '#') {
            line[strcspn(line, " \t")] = 0;
            vec_push(&known, line);
        }
    if (known.n)
        qsort(known.at, (size_t)known.n, sizeof *known.at, compare_strings);
}

static bool is_known(const char *test)
{
    return known.n && bsearch(&test, known.at, (size_t)known.n, sizeof *known.at, compare_strings);
}

/* The first way that failed; NULL: all passed. */
static const Verdict *failure(int i)
{
    for (Way w = 0; w < N_WAYS; w++)
        if (in_way(i, w) && shared->result[i].way[w].class != PASSED)
            return &shared->result[i].way[w];
    return NULL;
}

static int compare_failures(const void *a, const void *b)
{
    int i = *(const int *)a, k = *(const int *)b;
    const Verdict *x = failure(i), *y = failure(k);
    int by_why = strcmp(x->why, y->why);
    return x->class != y->class ? (int)x->class - (int)y->class
           : by_why             ? by_why
                                : strcmp(tests.at[i].name, tests.at[k].name);
}

static void write_known(void)
{
    int *failed = calloc((size_t)tests.n, sizeof *failed), n = 0;
    for (int i = 0; i < tests.n; i++)
        if (failure(i))
            failed[n++] = i;
    qsort(failed, (size_t)n, sizeof *failed, compare_failures);
    FILE *f = fopen(known_file, "w");
    if (!f)
        fail(EXIT_IO, "cannot write %s", known_file);
    fprintf(f,
            "# Official tests that fail, and why. None of them may pass: then its line goes. No line may be added.\n");
    for (int k = 0; k < n; k++) {
        const Verdict *v = failure(failed[k]);
        if (!k || failure(failed[k - 1])->class != v->class)
            fprintf(f, "\n# %s\n", class_name[v->class]);
        fprintf(f, "%-60s  %s: %s\n", tests.at[failed[k]].name, class_name[v->class], v->why);
    }
    fclose(f);
    free(failed);
    printf("%s: %d failures written to %s\n", group, n, known_file);
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

static void print_log(const Test *t, Way w)
{
    char file[32];
    snprintf(file, sizeof file, "%s.log", way_file[w]);
    char *path = path_in(t->dir, file), *s = read_file(path, NULL);
    if (s && *s)
        printf("%s", s);
    free(path);
    free(s);
}

static void report_verbose(void)
{
    for (int i = 0; i < tests.n; i++) {
        printf("%s  (%s, work in %s)\n", tests.at[i].name, tests.at[i].from, tests.at[i].dir);
        for (int k = 0; k < shared->result[i].n_frozen; k++)
            printf("  with --const %s=FILE.pb\n", shared->result[i].frozen[k]);
        for (int k = 0; k < shared->result[i].n_bounded; k++)
            printf("  with --dim '%s<=%d'\n", shared->result[i].bounded[k], BOUND);
        if (shared->result[i].all_bounded)
            printf("  with --all-dims='<=%d'\n", BOUND_OF_ALL);
        for (Way w = 0; w < N_WAYS; w++) {
            const Verdict *v = &shared->result[i].way[w];
            if (in_way(i, w))
                printf("  %-18s %s%s%s\n", way_name[w], class_name[v->class], *v->why ? ": " : "", v->why);
            if (in_way(i, w) && v->class != PASSED)
                print_log(&tests.at[i], w);
        }
    }
}

static void report_table(void)
{
    printf("%-20s", "");
    for (Class c = PASSED; c < N_CLASSES; c++)
        printf("  %s", class_name[c]);
    for (Way w = 0; w < N_WAYS; w++) {
        int count[N_CLASSES] = {0};
        for (int i = 0; i < tests.n; i++)
            count[shared->result[i].way[w].class]++;
        printf("\n%-20s", way_name[w]);
        for (Class c = PASSED; c < N_CLASSES; c++)
            printf("  %*d", (int)strlen(class_name[c]), count[c]);
    }
    printf("\n");
}

/* Prints failures and counts; whether all is well. */
static bool report(void)
{
    int passed = 0, failed = 0, excused = 0, official = 0, official_passed = 0, frozen = 0, slowest = 0,
        emitted[2] = {0};
    bool complete = true;
    for (int i = 0; i < tests.n; i++) {
        const Verdict *v = failure(i);
        bool all_ways = in_way(i, 0) && (elsewhere || !set.every || (in_way(i, 1) && in_way(i, 2)));
        complete &= all_ways;
        emitted[0] += in_way(i, WAY_SANITIZED);
        emitted[1] += in_way(i, WAY_FAST);
        bool listed = is_known(tests.at[i].name);
        if (v && !listed)
            printf("FAILED %s: %s, %s: %s\n", tests.at[i].name, way_name[v - shared->result[i].way],
                   class_name[v->class], v->why);
        if (!v && listed && all_ways)
            printf("FAILED %s: passes, but is listed in %s: take its line out\n", tests.at[i].name, known_file);
        official += !strstr(tests.at[i].from, "/random/");
        official_passed += !v && !strstr(tests.at[i].from, "/random/");
        frozen += !v && (shared->result[i].n_frozen || shared->result[i].n_bounded || shared->result[i].all_bounded) &&
                  !strstr(tests.at[i].from, "/random/");
        slowest = shared->result[i].seconds > shared->result[slowest].seconds ? i : slowest;
        passed += is_run(i) && !v && !(listed && all_ways);
        failed += (v && !listed) || (!v && listed && all_ways);
        excused += v && listed;
    }
    if (tests.n > 20) {
        report_table();
        printf("%s: %d of %d %stests pass %s, %d of them with an input frozen or a size bounded\n", group,
               official_passed, official, strcmp(group, "suite") ? "" : "official ",
               complete ? "in every way" : "in the ways that were run", frozen);
        if (!complete)
            printf("%s: as C %d of them with sanitizers, %d optimised\n", group, emitted[0], emitted[1]);
        printf("%s: the longest took %.1f s in the compiler: %s\n", group, shared->result[slowest].seconds,
               tests.at[slowest].name);
    }
    if (excused)
        printf("%s: %d known failures, see %s\n", group, excused, known_file);
    printf("%s: %d passed, %d failed\n", group, passed, failed);
    return !failed;
}

static const char *argument(char **argv, int *i)
{
    if (!argv[*i + 1])
        fail(EXIT_USAGE, "%s needs an argument", argv[*i]);
    return argv[++*i];
}

/* An option with an argument that is stored as it is. False: argv[*i] is none. */
static bool read_argument(char **argv, int *i)
{
    const struct {
        const char *option, **text;
        int *number;
    } options[] = {
        {"--build", &set.build, NULL},
        {"--include", &set.include, NULL},
        {"--source", &set.source, NULL},
        {"--cc", &set.cc, NULL},
        {"--march", &set.march, NULL},
        {"--target", &set.target, NULL},
        {"--known", &known_file, NULL},
        {"--own", &group, NULL},
        {"--every", NULL, &set.every},
        {"--turn", NULL, &set.turn},
        {"--jobs", NULL, &jobs},
        {"--networks", NULL, &set.networks},
        {"--optimised", NULL, &set.optimised},
    };
    for (size_t k = 0; k < sizeof options / sizeof *options; k++)
        if (!strcmp(argv[*i], options[k].option)) {
            const char *value = argument(argv, i);
            if (options[k].text)
                *options[k].text = value;
            else
                *options[k].number = atoi(value);
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    session_begin(); /* for the memory of the lists of tests; each test has a session of its own */
    int i = 1;
    jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *a = argv[i];
        if (!strcmp(a, "-v"))
            set.verbose = true;
        else if (!strcmp(a, "--symbolic-outputs"))
            set.symbolic_outputs = true;
        else if (!strcmp(a, "--incbin"))
            set.incbin = true;
        else if (!strcmp(a, "--single"))
            set.single = true;
        else if (!strcmp(a, "--update"))
            update = true;
        else if (!strcmp(a, "--ways")) {
            const char *ways = argument(argv, &i);
            for (Way w = 0; w < N_WAYS; w++)
                set.ways[w] = strchr(ways, "esftm"[w]);
        } else if (!strcmp(a, "--c-only")) {
            set.c_only = true;
            memset(set.ways, 0, sizeof set.ways);
        } else if (!strcmp(a, "--elsewhere")) {
            elsewhere = argument(argv, &i);
            memcpy(set.ways, (const bool[N_WAYS]){[WAY_EVAL] = true, [WAY_ELSEWHERE] = true}, sizeof set.ways);
        } else if (!read_argument(argv, &i))
            fail(EXIT_USAGE, "unknown option %s", a);
    }
    if (i >= argc)
        fail(EXIT_USAGE, "which folder of tests?");
    mkdir(set.build, 0777);
    find_tests(argv[i], argv + i + 1);
    read_known();
    size_t bytes = sizeof *shared + sizeof *shared->result * (size_t)tests.n;
    shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        fail(EXIT_IO, "out of memory");
    fflush(stdout);
    run_all(run_test, tests.n);
    if (elsewhere)
        run_elsewhere(elsewhere, tests.at, shared->result, tests.n);
    find_batches();
    run_all(run_batch, batches.begin.n);
    if (!set.c_only)
        run_all(judge_test, tests.n);
    if (set.verbose)
        report_verbose();
    if (update && known_file && !argv[i + 1])
        write_known();
    return report() || update ? 0 : 1;
}
