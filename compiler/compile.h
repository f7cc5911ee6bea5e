/* compile.h - the compiler as calls, for main.c, library.c and the tests. */
#pragma once

#include "base/options.h"
#include "ir/graph.h"

const char *stage_letters(void);     /* of the stages that -d can dump, in order */
Model *read_model(const char *file); /* parses the file into a graph */
void compile_model(Model *m);        /* runs the stages, from resolve to plan */
void emit_files(Model *m);           /* emits the C and the report, puts the files in place */
void write_model(Model *m);          /* compile_model, then emit_files or, with --eval, the model's results */
