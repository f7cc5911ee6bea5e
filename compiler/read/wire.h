/* wire.h - the fields of a protobuf message as spans of the file; proto/onnx.options makes every generated field a
 * Wire. */
#pragma once

#include <pb_decode.h>

#include "ir/graph.h"

typedef struct Span {
    const uint8_t *at;
    size_t n;
} Span;

typedef struct Wire {
    Span s;      /* a string, bytes or message; for numbers: their encodings, concatenated */
    size_t room; /* bytes allocated for s, if it is a copy; 0: s is in the file */
    Span *list;  /* repeated strings, bytes or messages */
    int n, cap;
    unsigned order; /* 0: absent; of the fields of a oneof the one with the highest order counts */
} Wire;

/* A place in the model, for messages: a list on the stack, turned into text only when needed. */
typedef struct Path {
    const struct Path *up;
    const char *field;
    int i;            /* -1: not a repeated field */
    Name name;        /* shown after the path: graph.initializer[0] "w" */
    const Node *node; /* a node: shown if a nested graph follows */
} Path;
#define AT(up, field, i) (&(Path){up, field, i, NULL, NULL})
const char *path_text(const Path *p); /* graph.node[3] "n" (If).then_branch.node[0] */
#define error_path(p, ...) error_at(path_text(p), __VA_ARGS__)

/* Begins reading a file; offsets in messages are relative to it. */
void wire_begin(Span file);

/* Reads the fields of one message, but not of messages in it. False: malformed, and reported at p. */
bool wire_read(const pb_msgdesc_t *type, Span s, void *message, const Path *p);

/* Reads each message of w, the repeated field `field` at p, into `message`; q: its place. Malformed ones are reported
 * and left out. */
#define EACH_MESSAGE(T, message, q, w, p, field)                                                                       \
    for (Path q##_at = {p, field, -1, NULL, NULL}, *q = &q##_at; q; q = NULL)                                          \
        for (T message; wire_read_next(T##_fields, w, &message, sizeof message, q);)
bool wire_read_next(const pb_msgdesc_t *type, const Wire *w, void *message, size_t size, Path *at);

static inline bool wire_has(const Wire *w) { return w->order != 0; }
void wire_free(Wire *w); /* frees the list and the copy */
Name span_name(Span s);
Name wire_name(const Wire *w);   /* absent: "" */
int64_t wire_int(const Wire *w); /* absent or malformed: 0 */
float wire_float(const Wire *w);
int64_t wire_varints(Span s); /* the number of varints in a span; -1: malformed */
uint64_t wire_next(Span *s);  /* takes the next varint from a span that wire_varints accepted */
