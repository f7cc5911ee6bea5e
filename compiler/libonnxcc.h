/* libonnxcc.h - the compiler as a library: a model in memory becomes C in memory. Any number of threads may call it. */
#ifndef LIBONNXCC_H
#define LIBONNXCC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What onnxcc_compile returns: the exit codes of the command. */
enum {
    ONNXCC_DONE = 0,
    ONNXCC_BAD_MODEL = 1,
    ONNXCC_BAD_OPTIONS = 2,
    ONNXCC_IO = 3,  /* external data cannot be read, or memory is exhausted */
    ONNXCC_BUG = 70 /* an internal error of the compiler */
};

typedef enum OnnxccSeverity {
    ONNXCC_ERROR,
    ONNXCC_WARNING,
    ONNXCC_HELP, /* how to mend the cause of the message before */
    ONNXCC_INTERNAL_ERROR,
    ONNXCC_OPTION_ERROR,
    ONNXCC_NOTE /* a piece of the output of --verbose, --remarks or -d: any number of lines, or part of one */
} OnnxccSeverity;

typedef struct OnnxccMessage {
    OnnxccSeverity severity;
    const char *code;  /* "SHP-11", which onnxcc --explain explains; "": a help, a note, or the sum of the errors */
    const char *place; /* kws.onnx: graph.node[3] "/head" (Conv); or "" */
    const char *text;  /* one line or several, no newline at the end (but in a note); safe for a terminal */
} OnnxccMessage;

/* Unset members are 0 or NULL. All strings end with NUL. */
typedef struct OnnxccRequest {
    const void *model; /* the contents of the .onnx file; not changed */
    size_t model_size; /* in bytes */
    const char *name;  /* of the model, for messages and default file names: "kws.onnx"; NULL or "": "model.onnx" */
    /* The folder on disk with the model's external data; NULL: external data is an error. */
    const char *folder;
    /* Words of the command line, followed by NULL: {"--dim", "batch=1", NULL}; NULL: none. -o names the C file, and
     * with it the header; the default is made from `name`. The options that print something and exit (--help,
     * --list-ops) are errors. */
    const char *const *options;
    /* Called for each message; NULL: messages are dropped. The text of a message ends no line, except that of a
     * note. */
    void (*message)(void *user, const OnnxccMessage *message);
    /* Called for each output file, once all are complete: the C file and its header and, where there are such, the
     * weights ("kws.c.weights"), the report of --report or the results of --eval ("-") and the tensors of --eval-out.
     * Nothing is written to disk.
     * NULL: the output is dropped, so the model is only checked. */
    void (*file)(void *user, const char *name, const void *bytes, size_t size);
    void *user; /* the first argument of both */
} OnnxccRequest;

/* Compiles one model. Returns ONNXCC_DONE, or another of the codes above after at least one message; then `file` was
 * not called. The request and all it points to belong to the caller and must stay as they are until the return; the
 * compiler keeps none of it. What the callbacks receive is valid until they return. They are called one at a time while
 * onnxcc_compile waits, on a thread that is not the caller's (but for the message that no thread could be made); they
 * must return normally, without longjmp or an exception. Any number of threads may call at the same time. Memory: up to
 * 700 MB besides the model and 20 times its constants. */
int onnxcc_compile(const OnnxccRequest *request);

/* The version of the compiler, "0.1.0"; a constant. */
const char *onnxcc_version(void);

#ifdef __cplusplus
}
#endif

#endif
