/* source.h - the C of a planned model. */
#ifndef ONNXCC_SOURCE_H
#define ONNXCC_SOURCE_H

#include "ir/graph.h"

void emit_model(Model *m);            /* writes the files */
bool is_includable(const char *file); /* may the name stand in an #include? */
/* After emit_model: the fields of struct PREFIX_sizes in order; how many. */
typedef struct SizeField {
    const char *name;
    Symbol *symbol; /* set by the caller; or NULL: */
    Value *out;     /* written back: dimension axis of this output */
    int axis;
} SizeField;
int emitted_sizes(const SizeField **fields);

#endif
