/* compile.h - the whole compiler as calls, for main.c and the test runner. */
#ifndef ONNXCC_COMPILE_H
#define ONNXCC_COMPILE_H

#include "base/options.h"
#include "ir/graph.h"

const char *stage_letters(void);     /* those that -d knows, in order */
Model *read_model(const char *file); /* bytes -> graph */
void compile_model(Model *m);        /* every stage from resolve to plan */
void emit_files(Model *m);           /* emit, and put the files in place; then the report */
void write_model(Model *m);          /* both; or, as --eval says, the model's results */

#endif
