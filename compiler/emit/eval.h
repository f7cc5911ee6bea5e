/* eval.h - a planned model run in the compiler. */
#ifndef ONNXCC_EVAL_H
#define ONNXCC_EVAL_H

#include "ir/graph.h"

void eval_model(Model *m, const char *dir); /* --eval */
/* Runs a planned model: in: the C inputs in order, NULL for one left to its default; out: fresh, of the sizes found. */
void eval_graph(Model *m, Tensor *const *in, Tensor **out);

#endif
