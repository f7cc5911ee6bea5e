/* exec.h - nodes run on the host. */
#ifndef ONNXCC_EXEC_H
#define ONNXCC_EXEC_H

#include "ir/graph.h"

/* Calls what n is bound to; bytes_of says where a value's bytes are. A status. */
int run_call(const Node *n, void *(*bytes_of)(Value *, void *), void *arg, void *scratch);
bool run_symbolic(Node *n);                /* a node that moves elements, on Dims instead of numbers */
Tensor *run_one(Node *n);                  /* an elementwise node whose inputs are fills, on one element: a fill */
bool op_moves_input(const Node *n, int i); /* do the elements of input i go into output 0? (Concat: all; Gather: 0) */
void run_node(Node *n);                    /* computes its outputs' data from its inputs' */

#endif
