/* eval.h - runs a planned model inside the compiler. */
#pragma once

#include "ir/graph.h"

void eval_model(Model *m, const char *dir); /* --eval */
/* Fails if the inputs do not have the model's types and sizes. */
void eval_check(Model *m, Tensor *const *in);
void write_test(Model *m); /* vectors.c: the file of --emit-test; after emit_model */
/* Runs a planned model. in: the inputs of the C interface in order, NULL: the default; out: set to new tensors. */
void eval_graph(Model *m, Tensor *const *in, Tensor **out);
