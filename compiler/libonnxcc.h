/* libonnxcc.h - the compiler as a library: a model in memory becomes C in memory. Any number of threads may call it. */
#ifndef LIBONNXCC_H
#define LIBONNXCC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What onnxcc_compile returns. */
enum {
    ONNXCC_DONE = 0,
    ONNXCC_BAD_MODEL = 1,
    ONNXCC_BAD_OPTIONS = 2,
    ONNXCC_IO = 3, /* external data cannot be read, or there is no memory */
    ONNXCC_BUG = 70
};

typedef enum OnnxccSeverity {
    ONNXCC_ERROR,
    ONNXCC_WARNING,
    ONNXCC_HELP, /* what to do about the message before */
    ONNXCC_INTERNAL_ERROR,
    ONNXCC_OPTION_ERROR,
    ONNXCC_NOTE /* a piece of what --verbose, --remarks and -d print, with the ends of its lines */
} OnnxccSeverity;

typedef struct OnnxccMessage {
    OnnxccSeverity severity;
    const char *code;  /* "SHP-11", a rule of the format; or "" */
    const char *place; /* where: kws.onnx: graph.node[3] "/head" (Conv); or "" */
    const char *text;  /* without an end of line, but inside; safe for a terminal */
} OnnxccMessage;

typedef struct OnnxccRequest {
    const void *model; /* the bytes of the .onnx file, which stay as they are */
    size_t model_size;
    const char *name;   /* of the model, in messages and for the C file: "kws.onnx" */
    const char *folder; /* where external data is; NULL: nowhere */
    const char *const
        *options; /* words of the command line, as {"--dim", "batch=1", NULL}; NULL: none. -o says how the C
                                 * file is called, whose header has the same name with .h; otherwise the model does */
    /* These are called on a thread of the compiler's while onnxcc_compile waits. What they are given is theirs until they
     * return. They return as functions do, without longjmp or exception. */
    void (*message)(void *user, const OnnxccMessage *message); /* NULL: nobody is told */
    /* Each file, when all are complete: the C file, its header, the weights ("kws.c.weights"), the report ("-"). */
    void (*file)(void *user, const char *name, const void *bytes, size_t size); /* NULL: the model is only checked */
    void *user;
} OnnxccRequest;

int onnxcc_compile(const OnnxccRequest *request);
const char *onnxcc_version(void);

#ifdef __cplusplus
}
#endif

#endif
