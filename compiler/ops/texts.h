/* texts.h - what operators on strings have in common: bounds of their bytes, the buffer of new ones. */
#pragma once

#include "ir/ops.h"

/* text_bound (passes/container.h) of input i; without a bound, reports an error and returns -1. */
int64_t require_text_bound(Node *n, int i);
/* Makes output i a buffer for the text of new strings. In a loop every iteration has a part of its own, which
 * persists. */
bool make_text_output(Node *n, int i, Dim bytes);
/* Begin and end of the current iteration's part of that buffer, which is output 1. */
void text_place(const Node *n, Dim *at, Dim *max);

/* Expands all inputs of n to the shape that they broadcast to; false: they do not, reported. */
bool infer_same_shapes(Node *n);
