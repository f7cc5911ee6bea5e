/* infer.h - types and shapes of one node, or of a graph; what is known is folded. */
#ifndef ONNXCC_INFER_H
#define ONNXCC_INFER_H

#include "ir/graph.h"

void infer_model(Model *m);
void infer_graph(Graph *g);                  /* walks a (nested) graph */
void infer_node(Node *n);                    /* for stages that make nodes later: infers (and folds) one */
void infer_between(Node *before, Node *end); /* new nodes after `before` (NULL: the first ones), up to `end` */
Value *inferred(Value *made);                /* what make() has just made, inferred at once */
/* The same for a node that was made for its one result: when that is folded it is all that stays. */
Value *folded_node(Node *n);
void poison(Node *n); /* what n gives is not known, which was reported; no more is said of what reads it */

#endif
