/* microsoft.h - what the operators of ONNX Runtime have in common. */
#ifndef ONNXCC_MICROSOFT_H
#define ONNXCC_MICROSOFT_H

#include "ir/ops.h"

#define MICROSOFT .domain = "com.microsoft"

/* y under the activation that n's attributes name, if any: by activation_alpha, activation_beta, activation_gamma, or by
 * the list activation_params. NULL: unknown, or its values are missing, reported. */
Value *activated(Node *n, Value *y);
Value *activated_by_list(Node *n, Value *y);

/* Copies n's attributes to `to`, except those whose name starts with `except`. */
void attrs_without(const Node *n, const char *except, Node *to);

/* expand_to, unless y is NULL */
static inline void expand_unless_wrong(Node *n, Value *y)
{
    if (y)
        expand_to(n, y);
}

#endif
