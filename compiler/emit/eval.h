/* eval.h - runs a planned model inside the compiler. */
#pragma once

#include "ir/graph.h"

void put_field(Text *b, const char *tag, uint64_t v); /* of protobuf: a tag of one byte, and a number or a length */
void put_tensor_proto(Text *b, const Tensor *t);

void eval_model(Model *m, const char *dir); /* --eval */
/* Fails if the inputs do not have the model's types and sizes. */
void eval_check(Model *m, Tensor *const *in);
void write_test(Model *m); /* vectors.c: the file of --emit-test; after emit_model */
/* Runs a planned model. in: the inputs of the C interface in order, NULL: the default; out: set to new tensors. */
void eval_graph(Model *m, Tensor *const *in, Tensor **out);
