/* opset.h - the schema of each node, in the versions that the model imports. */
#ifndef ONNXCC_OPSET_H
#define ONNXCC_OPSET_H

#include "ir/ops.h"

void resolve_ops(Model *m);                             /* every node gets its schema */
const char *domain_text(Name d);                        /* of a normal one, for messages */
Name domain_normal(Name d);                             /* "" for ai.onnx */
int64_t domain_newest(Name d);                          /* the highest version that is known; 0: the domain is not */
Name function_key(Name domain, Name op, Name overload); /* of Model.function_of; the domain is domain_normal's */
Function *find_function(const Model *m, const Node *n); /* the model's function that n calls, or NULL */

#endif
