/* verify.h - onnxcc verify and onnxcc profile: the interface between its files. */
#pragma once

#include "base/options.h"
#include "ir/difference.h"
#include "ir/graph.h"
#include "ir/random.h"
#include "passes/taps.h"

void verify(void *words); /* the command: never returns if something differs */
void profile(void *words);
void stack(void *words);
void size(void *words);

/* ---- data.c ------------------------------------------------------------------------------------------------------ */
typedef struct Named {
    Name name;
    Data data;
} Named;
typedef struct DataSet { /* inputs of the model, and outputs if they are known */
    const char *title;
    VEC(Named) of;
} DataSet;
typedef struct DataSets {
    VEC(DataSet) set;
    bool random; /* no data is given: one set without tensors, and random inputs */
} DataSets;

void data_read(DataSets *to, const Model *m, const char *path); /* path: NULL: none */
const Data *data_named(const DataSet *set, const char *name);   /* or NULL */

/* ---- numpy.c ----------------------------------------------------------------------------------------------------- */
void read_npz(DataSet *to, const char *file);

/* ---- files.c: what passes between onnxcc and the programs that it starts ----------------------------------------- */
const char *temporary_folder(void); /* an absolute path; removed at the end of the session */
void make_folder(const char *path);
void file_write(const char *path, const void *bytes, size_t n);
void write_data_as(const char *path, const Data *d);
Data *data_from(const char *path); /* NULL: there is none */
void data_release(Data *d);        /* of one of these */
/* A tensor of these dimensions, whose bytes, or strings, f contains from its position on. */
Tensor *tensor_of_file(FILE *f, Type t, int rank, const int64_t *dim);
void write_names(const char *path, const Names *names);
void read_names(const char *path, Names *to);
/* The contents of folder/FILE_I, where I is the index of name n in `names`; NULL: n is not among them. */
Data *data_among(const Names *names, Name n, const char *folder, const char *file);

typedef struct Ended {
    enum { EXITED, KILLED, TIMED_OUT, NOT_STARTED } how;
    int code;         /* exit code or signal; errno of NOT_STARTED */
    const char *said; /* on standard error */
} Ended;
/* Runs a program; seconds: 0: as long as it takes. `out`: the file for standard output, or NULL. */
Ended run_program(const char *const *words, const char *folder, const char *out, int64_t seconds);
const char *ended_text(const Ended *e);

/* ---- attempt.c --------------------------------------------------------------------------------------------------- */
/* An attempt to compile and build a model and to run it with all data sets, in a separate session. Files in
 * `folder`: inputs, outputs (names), last: outputs that are the last values in loops; K/given_I, K/out_I and, with
 * `evaluate`, K/eval_I: inputs and outputs of the model in data set K; K/in_I: the tensors that the C takes. */
typedef struct Attempt {
    const char *const *words; /* of the command line */
    const char *folder, *model;
    const DataSets *data;
    const char *const *taps; /* tensors to make outputs, "all" or names; followed by NULL */
    int only;                /* the data set to run; -1: all */
    bool outer, loose;       /* "all" means the main graph; taps that cannot be outputs are left out */
    bool evaluate, quiet;    /* quiet: the compiler's messages are dropped */
    bool profile;            /* the report is printed, with the times of the steps */
    /* results */
    bool evaluated;
    char failure[4096]; /* why the program could not be built or run; "": it ran */
} Attempt;
/* The attempt that the command line asks for (verify.c); ends the session if the model or its data cannot be read. */
Attempt attempt_begin(void *words, DataSets *data, Model **m);
void must_run(Attempt *p);   /* ends the session if it fails */
int attempt_run(Attempt *p); /* 0: see failure; or the exit code of the compiler */

/* ---- size.c ------------------------------------------------------------------------------------------------------ */
typedef struct Emitted {
    Model *model;
    const char *folder; /* a temporary one, of the C file */
    Report form;        /* of the report that the command line asks for; else text */
} Emitted;
/* Compiles the model of the command line into one C file; ends the session if there is data. */
Emitted emit_for_size(void *words, const char *command);
/* Compiles that C file with $CC, $CFLAGS, the target's options and more; help follows what it says
 * if it fails. Returns what compiled it. */
const char *compile_for_size(const char *folder, const char *more, const char *help);

/* ---- ort.c ------------------------------------------------------------------------------------------------------- */
typedef struct Runtime {
    const char *folder, *model, *program;
    VEC(const char *) libraries;
    const char *version, *missing; /* missing: why it cannot be used; NULL: it can */
} Runtime;
void runtime_find(Runtime *r, const char *model);
/* Computes the tensors `fetch` from the inputs of data set k in `folder` into folder/K/ort_I. False: r->missing. */
bool runtime_run(Runtime *r, const Model *m, const DataSet *data, const char *folder, int k, const Names *fetch);

/* ---- edit.c ------------------------------------------------------------------------------------------------------ */
/* Writes the model in `file` to path, with the tensors `fetch` as outputs; returns their names there, "": there is
 * none. Tensors inside of nodes are like the C's, which an attempt has written for data set k. */
Names model_with_outputs(const char *path, const char *file, const Model *m, const Names *fetch, const char *folder,
                         int k);

/* ---- pairs.c ----------------------------------------------------------------------------------------------------- */
/* The values of a data set with taps, in files. */
typedef struct Taps {
    const Model *m;
    const char *folder, *by; /* by: "ort" or "eval" */
    Names got, expected;     /* the tensors of out_I, and of ort_I or eval_I */
} Taps;
typedef struct Pair {
    Data *got, *expected;
    Difference difference;
} Pair;

/* Runs the C and ONNX Runtime, or --eval, with these tensors as outputs. False: one cannot be run. */
bool run_taps(Taps *t, Attempt *p, Runtime *r, int k);
bool find_pair(const Taps *t, Name n, Pair *p); /* the values of n on both sides; false: one lacks it */
void free_pair(Pair *p);
void print_pair(const Taps *t, const Value *v, const Pair *p);
void print_value(const Taps *t, const char *role, const Value *v);

/* ---- locate.c ---------------------------------------------------------------------------------------------------- */
/* Finds and prints the first node whose outputs differ with data set k. */
void locate(const Attempt *base, Runtime *r, Model *m, int k);

/* ---- inside.c ---------------------------------------------------------------------------------------------------- */
/* The same inside of n, a node of the main graph that differs; outer: the values of the main graph. False: nothing
 * differs there. */
bool locate_inside(const Taps *outer, const Attempt *base, Runtime *r, int k, const Node *n);
