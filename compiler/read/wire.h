/* wire.h - the fields of a protobuf message as spans of the file; proto/onnx.options makes every generated field a Wire. */
#ifndef ONNXCC_WIRE_H
#define ONNXCC_WIRE_H

#include <pb_decode.h>

#include "ir/graph.h"

typedef struct Span {
    const uint8_t *at;
    size_t n;
} Span;

typedef struct Wire {
    Span s;      /* a string, bytes or message; of numbers: their encodings, one behind the other */
    size_t room; /* of s when it is a copy; 0: it lies in the file */
    Span *list;  /* repeated strings, bytes or messages */
    int n, cap;
    unsigned order; /* 0: absent; among fields of a oneof the highest is the one that counts */
} Wire;

/* Where in the model something stands, for messages; a list on the stack, turned into text only when needed. */
typedef struct Path {
    const struct Path *up;
    const char *field;
    int i;            /* -1: not a repeated field */
    Name name;        /* shown at the end of a place: graph.initializer[0] "w" */
    const Node *node; /* of a node: shown where a nested graph follows */
} Path;
#define AT(up, field, i) (&(Path){up, field, i, NULL, NULL})
const char *path_text(const Path *p); /* graph.node[3] "n" (If).then_branch.node[0] */

/* The span that offsets in messages are counted from: the file. */
void wire_begin(Span file);

/* Gathers the fields of one message (not those of the messages inside). False: malformed, and reported at p. */
bool wire_read(const pb_msgdesc_t *type, Span s, void *message, const Path *p);

static inline bool wire_has(const Wire *w) { return w->order != 0; }
void wire_free(Wire *w);         /* its list, its copy */
Name wire_name(const Wire *w);   /* absent: "" */
int64_t wire_int(const Wire *w); /* absent or malformed: 0 */
float wire_float(const Wire *w);
int64_t wire_varints(Span s); /* how many numbers a span of varints holds; -1: malformed */
uint64_t wire_next(Span *s);  /* takes the next one of a span that wire_varints has accepted */

#endif
