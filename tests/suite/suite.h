/* suite.h - the runner of the official ONNX tests: one test, its ways, what became of it. */
#ifndef SUITE_H
#define SUITE_H

#include "onnxcc.h"
#include "passes/container.h"

typedef enum Way {
    WAY_EVAL,      /* inside the compiler */
    WAY_SANITIZED, /* emitted C under the address and undefined-behaviour sanitizers: the same bits as WAY_EVAL */
    WAY_FAST,      /* emitted C, optimised */
    WAY_ELSEWHERE, /* emitted C on another machine, many tests in one program: the same bits as WAY_EVAL */
    N_WAYS
} Way;

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
} Test;

/* What is decided by looking at the values, and what can only be checked for plausibility. */
typedef enum Kind { COMPARED, BERNOULLI, DROPOUT } Kind;

/* Shared between the processes of a run. */
enum { MAX_FROZEN = 6, BOUND = 64 /* as the help has it */ };
typedef struct Result {
    bool emitted;
    double seconds;
    int n_frozen;
    char frozen[MAX_FROZEN][64]; /* inputs that the compiler asked to be constants: as with --const INPUT=FILE.pb */
    int n_bounded;
    char bounded[MAX_FROZEN][64]; /* sizes that it asked a bound for: as with --dim 'SIZE<=64' */
    Kind kind;
    double ratio; /* DROPOUT */
    Verdict way[N_WAYS];
} Result;

typedef struct Settings {
    const char *build;          /* folder: call programs, work */
    const char *include;        /* what the emitted code's <onnxcc/...> is found under */
    const char *source;         /* folder of case.h */
    const char *cc, *sanitizer; /* C compilers: of WAY_FAST, of WAY_SANITIZED */
    const char *march;          /* of WAY_SANITIZED; NULL: generic, with the bits of WAY_EVAL */
    const char *target;         /* what is compiled for; NULL: generic, with the bits of WAY_EVAL */
    bool verbose, symbolic_outputs;
    bool ways[N_WAYS];
    int every; /* every so manieth test is run as C, too */
    int turn;  /* which of them */
} Settings;
extern Settings set;

/* data.c: what a file of a test holds: form 't' a tensor, 's' a sequence, '?' an optional, 'm' a map: values and keys. */
typedef struct Data {
    char form;
    bool present; /* '?': there is an element */
    Tensor *t;
    int n;
    struct Data *item;
} Data;
typedef VEC(Tensor *) Tensors;
const char *form_of_type(const TypeDesc *d);
const char *form_of_container(const ContainerType *b);
/* KIND_I.pb as what `form` says; false: there is no such file. */
bool read_data(const Test *t, const char *kind, int i, const char *form, Data *d);
void give_data(const Data *d, const ContainerType *b, Tensors *to); /* as inputs of the compiled model */
/* Outputs of the compiled model as a list: how many elements, then these; whether there is one, then it. How many outputs
 * it takes. list_data: the same list of what is expected. */
int take_results(const char *form, const Tensor *got, Tensors *to);
void list_data(const Data *d, Tensors *to);

/* model.c: compiles a test's model inside this process, leaves m.c, m.h, case.c, in.bin and out.eval in its folder.
 * Errors leave by exit(), so run it in a process of its own. */
void compile_case(const Test *t, Result *r);

/* build.c: C compiler and call of one way, or what a former run found when nothing changed; leaves out.WAY. */
void run_emitted(const Test *t, Way w, const Result *r, Verdict *v);
/* Starts argv[0] with its output in `log`, for at most so many seconds; the status of waitpid. */
int run_command(char *const *argv, const char *log, int seconds);
/* The first line of a file that has one of the words, or its first line at all; without paths. */
void first_line(const char *file, const char *const *words, char *to, size_t n);

/* elsewhere.c: has `command` build and run the emitted C of all tests, leaving out.elsewhere, or verdict.elsewhere with what
 * went wrong: "class: why". */
void run_elsewhere(const char *command, const Test *tests, Result *results, int n);

/* judge.c: out.WAY against the expected outputs. */
void judge(const Test *t, const Result *r, Way w, Verdict *v);
/* Whether out.eval and out.WAY hold the same. */
void judge_bits(const Test *t, Way w, Verdict *v);

__attribute__((format(printf, 3, 4))) void set_verdict(Verdict *v, Class c, const char *format, ...);
char *path_in(const char *dir, const char *file); /* malloc'ed */
void *read_file(const char *path, size_t *n);     /* malloc'ed, NUL behind; NULL when not there */

#endif
