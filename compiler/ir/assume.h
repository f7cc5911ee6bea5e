/* assume.h - what nodes were inferred with; checked at run time where the compiler cannot prove it. */
#ifndef ONNXCC_ASSUME_H
#define ONNXCC_ASSUME_H

#include "ir/graph.h"

/* Inferring node n assumed d == is. Checked at run time where n is executed, as soon as all sizes in it are known. */
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
/* What is constant in input i is an index of each of `depth` axes in turn; back: also counted from the end, by negative ones. */
bool require_indices(Node *n, int i, int depth, const Dim *axis, bool back);
bool require_index(Node *n, int64_t v, Dim axis, bool back);
bool runs_for_certain(
    const Node *n); /* false: in a loop that may have no iteration, where a run-time error is only a warning */
void warn_when_run(const Node *n, const char *what);
int assumption_count(void);
void assumptions_check(int from);          /* an error where one that was made since then cannot hold */
void assumptions_forget(int from, int to); /* those that were made between these counts */
Assumption *assumption_at(int i);

/* The assumptions that remain to be checked while g runs. */
typedef VEC(Assumption *) Assumptions;
Assumptions assumptions_of(const Graph *g);
/* One of which all sizes are known now, which then is none of them any more; NULL: there is none. */
Assumption *assumption_to_check(Assumptions *a, bool (*known)(const Symbol *));

#endif
