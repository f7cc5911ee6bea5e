/* exec.h - runs nodes inside the compiler. */
#pragma once

#include "ir/graph.h"

/* Runs n's call; bytes_of(v, arg) returns the address of v's bytes. Returns the kernel's status, 0: done. */
int run_call(const Node *n, void *(*bytes_of)(Value *, void *), void *arg, void *scratch);
bool run_symbolic(Node *n); /* runs a node that moves elements on Dims; false: it cannot */
Tensor *run_one(Node *n);   /* an elementwise node whose inputs are splats, run on one element: the result is a splat */
bool op_moves_input(const Node *n, int i); /* are elements of input i copied to the output? Concat: all; Gather: 0 */
void run_node(Node *n);                    /* computes its outputs' data from its inputs' data */
