/* source.h - emission of a planned model as C. */
#pragma once

#include "ir/graph.h"

void emit_model(Model *m);                      /* writes the files */
const char *output_path(const char *extension); /* the C file's path with this extension */
bool package_is_known(const char *kind);        /* of --package */
bool is_includable(const char *file);           /* can the name be in an #include? */
const char *
embedded_text(const char *name); /* of runtime-min/, templates/ or a program of verify; bug() if there is none */
/* A field of struct PREFIX_sizes. */
typedef struct SizeField {
    const char *name;
    Symbol *symbol; /* a size that the caller sets; NULL: */
    Value *out;     /* a size that the run writes: dimension `axis` of this output */
    int axis;
} SizeField;
int emitted_sizes(const SizeField **fields); /* after emit_model: their number; *fields: in order */
