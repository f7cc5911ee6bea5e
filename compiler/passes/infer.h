/* infer.h - what inference, folding and the stages after them share. */
#ifndef ONNXCC_INFER_H
#define ONNXCC_INFER_H

#include "ir/loop.h"

Value *inferred(Value *made);                /* what make() has just made, inferred at once */
void infer_between(Node *before, Node *end); /* new nodes after `before` (NULL: the first ones), up to `end` */
void infer_graph(Graph *g);                  /* walks a (nested) graph */
Dim value_dim(Value *v, int e);              /* integer element e: number, expression, or a symbol read at run time */

/* fold.c */
void fold(Node *n);         /* the results of an inferred node, as far as they are known now */
void trace_value(Value *v); /* v's elements will decide a size: they are expressions, if it can be followed back */

/* assume.c */
/* What node n was inferred with: d is `is`. Checked at run time where n is executed, as soon as all sizes in it are known. */
typedef struct Assumption {
    const Node *n;
    Dim d, is;
} Assumption;
void assume_dim(Node *n, Dim d, Dim is);
void assume_broadcast(Node *n, Shape s, Shape t); /* dimensions, from the last on, are equal, or one of two is 1 */
/* The same, with a message when it cannot be; then false. */
bool require_dim(Node *n, const char *what, Dim d, Dim is); /* a size that the message calls `what` */
bool require_one(Node *n, int i);                           /* input i, where it is there, is one number */
bool require_size(Node *n, const char *what, Dim *d);       /* not negative; *d: the same, known to be so */
bool require_shape(Node *n, int i, Shape is);               /* input i, where it is there */
bool require_expands(Node *n, int i, Shape to);             /* each dimension of that is 1 or, from the last on, to's */
bool require_expands_as(Node *n, int i, Shape s, Shape to); /* the same, when input i is seen as s */
int assumption_count(void);
void assumptions_check(int from);          /* an error where one that was made since then cannot hold */
void assumptions_forget(int from, int to); /* those that were made between these counts */
Assumption *assumption_at(int i);

/* The assumptions that remain to be checked while g runs. */
typedef VEC(Assumption *) Assumptions;
Assumptions assumptions_of(const Graph *g);
/* One of which all sizes are known now, which then is none of them any more; NULL: there is none. */
Assumption *assumption_to_check(Assumptions *a, bool (*known)(const Symbol *));

void remove_dead(Graph *g); /* simplify.c: nodes whose results are known or unused */

/* bind.c */
/* Makes every output of g, from the first that is told, a value that is computed in g, into its own place. */
void copy_outputs(Graph *g, int first);

/* exec.c */
void bind_node(Node *n); /* sets n->call from its row; an error on the node when it cannot */
/* Calls what n is bound to; bytes_of says where a value's bytes are. A status. */
int run_call(const Node *n, void *(*bytes_of)(Value *, void *), void *arg, void *scratch);
bool run_symbolic(Node *n);                /* a node that moves elements, on Dims instead of numbers */
Tensor *run_one(Node *n);                  /* an elementwise node whose inputs are fills, on one element: a fill */
bool op_moves_input(const Node *n, int i); /* do the elements of input i go into output 0? (Concat: all; Gather: 0) */

#endif
