/* verify.h - onnxcc verify and onnxcc profile: the interface between its files. */
#pragma once

#include "ir/difference.h"
#include "ir/graph.h"
#include "ir/random.h"

void verify(void *words); /* the command: never returns if something differs */
void profile(void *words);
void stack(void *words);

/* ---- data.c ------------------------------------------------------------------------------------------------------ */
typedef struct Named {
    Name name;
    Tensor *tensor;
} Named;
typedef struct DataSet { /* inputs of the model, and outputs if they are known */
    const char *title;
    VEC(Named) tensors;
} DataSet;
typedef struct DataSets {
    VEC(DataSet) set;
    bool random; /* there is no data: one set without tensors */
} DataSets;

void data_read(DataSets *to, const Model *m, const char *path);  /* path: NULL: none */
const Tensor *data_tensor(const DataSet *set, const char *name); /* or NULL */

/* ---- numpy.c ----------------------------------------------------------------------------------------------------- */
void read_npz(DataSet *to, const char *file);

/* ---- files.c: what passes between onnxcc and the programs that it starts ------------------------------------------- */
const char *temporary_folder(void); /* an absolute path; removed at the end of the run */
void make_folder(const char *path);
void file_write(const char *path, const void *bytes, size_t n);
void write_tensor_as(const char *path, const Tensor *t);
Tensor *tensor_from(const char *path); /* NULL: there is none */
/* A tensor of these dimensions, whose bytes, or strings, f contains from its position on. */
Tensor *tensor_of_file(FILE *f, Type t, int rank, const int64_t *dim);
void tensor_release(Tensor *t); /* of one of these */
typedef VEC(Name) Names;
void write_names(const char *path, const Names *names);
void read_names(const char *path, Names *to);

typedef struct Ended {
    enum { EXITED, KILLED, TIMED_OUT, NOT_STARTED } how;
    int code;         /* exit code or signal; errno of NOT_STARTED */
    const char *said; /* on standard error */
} Ended;
/* Runs a program; seconds: 0: as long as it takes. `out`: the file for standard output, or NULL. */
Ended run_program(const char *const *words, const char *folder, const char *out, int64_t seconds);
const char *ended_text(const Ended *e);

/* ---- pass.c ------------------------------------------------------------------------------------------------------ */
/* The model is compiled, built and run with all data sets, in a run of its own. Files in `folder`: inputs, outputs (names);
 * K/in_I, K/out_I and, with `evaluate`, K/eval_I: tensors of data set K. */
typedef struct Pass {
    const char *const *words; /* of the command line */
    const char *folder, *model;
    const DataSets *data;
    const char *const *taps; /* tensors to make outputs, "all" or names; followed by NULL */
    int only;                /* the data set to run; -1: all */
    bool evaluate, quiet;    /* quiet: the compiler's messages are dropped */
    bool profile;            /* the report is printed, with the times of the steps */
    /* results */
    bool evaluated;
    char failure[4096]; /* why the program could not be built or run; "": it ran */
} Pass;
/* The pass that the command line asks for (verify.c); ends the run if the model or its data cannot be read. */
Pass pass_begin(void *words, DataSets *data, Model **m);
void must_run(Pass *p); /* ends the run if it fails */
int pass_run(Pass *p);  /* 0: see failure; or the exit code of the compiler */

/* ---- ort.c ------------------------------------------------------------------------------------------------------- */
typedef struct Runtime {
    const char *folder, *model, *program;
    VEC(const char *) libraries;
    const char *version, *missing; /* missing: why it cannot be used; NULL: it can */
} Runtime;
void runtime_find(Runtime *r, const char *model);
/* Computes the tensors `fetch` from the inputs of data set k in `folder` into folder/K/ort_I. False: r->missing. */
bool runtime_run(Runtime *r, const Model *m, const DataSet *data, const char *folder, int k, const Names *fetch);

/* ---- locate.c ---------------------------------------------------------------------------------------------------- */
/* Finds and prints the first node whose outputs differ with data set k. */
void locate(const Pass *base, Runtime *r, Model *m, int k);
