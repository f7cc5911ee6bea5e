/* infer.h - inference and folding of a node or of a graph. */
#pragma once

#include "ir/graph.h"

/* infer.c */
void infer_model(Model *m);
void infer_graph(Graph *g);                  /* a graph, which may be nested */
void infer_between(Node *before, Node *end); /* the nodes after `before` (NULL: from the first), up to `end` */

/* infer_node.c */
void infer_node(Node *n);         /* one node, for later stages that create nodes */
bool is_composite(const Node *n); /* is it to be expanded? */
Node *expand_node(Node *n);       /* by its schema; returns the first of the new nodes, or the next one */
Shape resolve_shape(Shape s);     /* with the sizes that its symbols are fixed to */
Value *inferred(Value *made);     /* infers the node of the result of make(), which is returned */
/* The same for a new node with one result, which is returned; if it is folded, the node is freed. */
Value *folded_node(Node *n);
/* May n give its nested graph's input a tensor of this type and shape (NULL: any)? Reports what contradicts its
 * declaration: another type is an error, another shape a warning, and an error only if `strict`. */
bool takes(const Node *n, const Value *formal, Type given, const Shape *shape);
void poison(Node *n); /* after an error: suppresses messages about n's results and their readers */
