/* suite.h - the runner of the official ONNX tests: a test, its ways, its verdicts. */
#ifndef SUITE_H
#define SUITE_H

#include "onnxcc.h"
#include "passes/container.h"

typedef enum Way {
    WAY_EVAL,      /* inside the compiler */
    WAY_SANITIZED, /* emitted C under the address and undefined-behaviour sanitizers: the same bits as WAY_EVAL */
    WAY_FAST,      /* emitted C, optimised */
    WAY_TCC,       /* emitted C, compiled by tcc, which takes a moment: the same bits as WAY_EVAL */
    WAY_ELSEWHERE, /* emitted C on another machine, many tests in one program: the same bits as WAY_EVAL */
    N_WAYS
} Way;
extern const char *const way_file[N_WAYS]; /* of a test's folder: WAY.log, out.WAY */

typedef enum Class {
    NOT_RUN,
    PASSED,
    REJECTED,
    BUG,
    CC_FAILED,
    CC_WARNED,
    CRASHED,
    TIMEOUT,
    STATUS,
    SHAPE,
    DTYPE,
    VALUE,
    CANARY,
    BITS,
    N_CLASSES
} Class;
extern const char *const class_name[N_CLASSES];

typedef struct Verdict {
    Class class;
    bool cached;
    char why[240];
} Verdict;

typedef struct Test {
    char *name, *from; /* "test_abs"; folder of model.onnx and its data */
    char *dir;         /* where this run keeps its files */
    double rtol, atol;
    double channel_block; /* --channel-block; 0: none */
} Test;
/* One of the standard's networks, not an operator's test. */
bool is_network(const Test *t);

/* Kinds of outputs: compared by their values, or, if random, only checked for plausibility. */
typedef enum Kind { COMPARED, BERNOULLI, DROPOUT } Kind;

/* Shared between the processes of a run. */
enum { MAX_FROZEN = 6, BOUND = 64 /* as the help has it */, BOUND_OF_ALL = 160 };
typedef struct Result {
    bool emitted;
    double seconds;
    int n_frozen;
    char frozen[MAX_FROZEN][64]; /* inputs that the compiler needs as constants, as by --const INPUT=FILE.pb */
    int n_bounded;
    char bounded[MAX_FROZEN][64]; /* sizes that need a bound, as by --dim 'SIZE<=64' */
    bool all_bounded;             /* there are too many of them for the list: --all-dims instead */
    Kind kind;
    double ratio; /* DROPOUT */
    Verdict way[N_WAYS];
} Result;

typedef struct Settings {
    const char *build;          /* folder: call programs, work */
    const char *include;        /* folder of the emitted code's <onnxcc/...> */
    const char *source;         /* folder of case.h */
    const char *cc, *sanitizer; /* C compilers: of WAY_FAST, of WAY_SANITIZED */
    const char *march;          /* of WAY_SANITIZED; NULL: generic, with the bits of WAY_EVAL */
    const char *target;         /* --target; NULL: generic, with the bits of WAY_EVAL */
    bool verbose, symbolic_outputs, incbin, single;
    bool c_only; /* the C is written, and no test run */
    bool ways[N_WAYS];
    int every;     /* one test in `every` also runs as C */
    int networks;  /* one network in `networks`, of these, under sanitizers */
    int optimised; /* one test in `optimised`, of these, optimised */
    int turn;      /* which of them */
} Settings;
extern Settings set;

/* data.c: the contents of a test's file. Forms as text: "t" a tensor, "s" a sequence, "?" an optional, "m" a map. */
const char *form_of_type(const TypeDesc *d);
const char *form_of_container(const ContainerType *b);
/* Reads KIND_I.pb as `form`; false: there is no such file. */
bool read_data(const Test *t, const char *kind, int i, const char *form, Data *d);
/* Outputs of the compiled model as a list: of a sequence the number of elements, then these; of an optional whether there
 * is an element, then it. Returns the number of outputs taken. list_data: the same list of the expected data. */
int take_results(const char *form, const Tensor *got, Tensors *to);
void list_data(const Data *d, Tensors *to);

/* model.c: compiles a test's model inside this process, leaves m.c, m.h, case.c, in.bin and out.eval in its folder;
 * with c_only m.c and m.h alone. Errors leave by exit(), so run it in a process of its own. */
void compile_case(const Test *t, Result *r);

/* build.c: compiles and calls the tests `which` in one way, or keeps a former run's verdicts if nothing has changed;
 * leaves out.WAY. The tests are in one translation unit, since the kernels that they share take most of the time; if the
 * C compiler prints messages, each is in its own. */
void run_emitted(const Test *tests, Result *results, const int *which, int n, Way w);
/* Runs argv[0] with its output in `log`, for at most so many seconds; returns the status of waitpid. */
int run_command(char *const *argv, const char *log, int seconds);
/* The first line of a file that has one of the words, or else its first line; without paths. */
void first_line(const char *file, const char *const *words, char *to, size_t n);

/* elsewhere.c: has `command` build and run the emitted C of all tests, leaving out.elsewhere, or verdict.elsewhere with
 * the failure: "class: why". */
void run_elsewhere(const char *command, const Test *tests, Result *results, int n);

/* judge.c: compares out.WAY with the expected outputs. */
void judge(const Test *t, const Result *r, Way w, Verdict *v);
/* Compares the bits of out.eval and out.WAY. */
void judge_bits(const Test *t, Way w, Verdict *v);

__attribute__((format(printf, 3, 4))) void set_verdict(Verdict *v, Class c, const char *format, ...);
char *path_in(const char *dir, const char *file); /* malloc'ed */
void *read_file(const char *path, size_t *n);     /* malloc'ed, with a NUL appended; NULL: not found */

#endif
