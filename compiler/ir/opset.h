/* opset.h - resolution of each node's schema, by the versions that the model imports. */
#pragma once

#include "ir/ops.h"

void resolve_ops(Model *m);      /* sets n->op of every node */
void refuse_node(Node *n);       /* after an error about n: later stages go on without knowing its results */
const char *domain_text(Name d); /* of a normal domain, for messages */
Name domain_normal(Name d);      /* "" for ai.onnx */
int64_t domain_newest(Name d);   /* the newest supported version; 0: unknown domain */
Name function_key(Name domain, Name op, Name overload); /* of Model.function_of; takes a normal domain */
Function *find_function(const Model *m, const Node *n); /* the model's function that n calls, or NULL */
