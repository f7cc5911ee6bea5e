/* microsoft.h - what the operators of ONNX Runtime have in common. */
#pragma once

#include "ir/ops.h"

#define MICROSOFT .domain = "com.microsoft"

/* y after the activation, if any, that the attributes activation, activation_alpha, activation_beta and
 * activation_gamma describe. NULL: the activation is unknown or lacks values, reported. */
Value *activated(Node *n, Value *y);

/* Replaces n by the convolution of its input 0 with weights w and bias input 2; input 3, of the result's shape, is
 * added to it, then follows the activation that the attributes activation and activation_params describe. */
void expand_conv(Node *n, Value *w);

/* The rows of input `table` that the integers of input `ids` select, none of which counts from the end. */
Value *embeddings(Node *n, int table, int ids);

/* v, of `rank` axes, with the channels moved from the last axis to axis 1, or back. */
Value *channels_moved(Node *n, Value *v, int rank, bool back);

/* Copies n's attributes to `to`, except those whose name starts with `except`. */
void attrs_without(const Node *n, const char *except, Node *to);

/* expand_to, unless y is NULL */
static inline void expand_unless_wrong(Node *n, Value *y)
{
    if (y)
        expand_to(n, y);
}
