/* assume.h - assumptions that inference made about sizes; checked at run time where the compiler cannot prove them. */
#pragma once

#include "ir/graph.h"

/* Inferring node n assumed d == is. Checked at run time where n is executed, as soon as all sizes in it are known. */
typedef struct Assumption {
    const Node *n;
    Dim d, is;
} Assumption;
void assume_dim(Node *n, Dim d, Dim is);
void assume_broadcast(Node *n, Shape s, Shape t); /* aligned at the last axis, dimensions are equal or 1 */
bool is_impossible(Dim d, Dim is);                /* proven: d != is */
int assumption_count(void);
void assumptions_check(int from);          /* an error for each assumption from `from` on that cannot hold */
void assumptions_forget(int from, int to); /* removes assumptions [from, to) */
Assumption *assumption_at(int i);

/* The assumptions that remain to be checked while g runs. */
typedef VEC(Assumption *) Assumptions;
Assumptions assumptions_of(const Graph *g);
/* Removes the first assumption whose symbols are all known, and returns it; NULL: there is none. */
Assumption *assumption_to_check(Assumptions *a);

/* require.c: the same, but if it cannot hold, they report an error and return false. */
bool require_dim(Node *n, const char *what, Dim d, Dim is); /* `what`: the name of d in the message */
bool require_one(Node *n, int i);                           /* input i, if present, has one element */
bool require_size(Node *n, const char *what, Dim *d);       /* *d >= 0; *d becomes max(*d, 0) */
/* What is left of an axis of this size: d or, if d < 0, nothing. If d depends on one size of the model's inputs alone,
 * that size gets a lower bound, with which d >= 1, so that a run refuses smaller ones; for an axis that may be empty,
 * only if d can be negative. */
Dim require_left(const Node *n, Dim size, Dim d);
bool require_shape(Node *n, int i, Shape is);               /* of input i, if present */
bool require_expands(Node *n, int i, Shape to);             /* input i broadcasts to `to` */
bool require_expands_as(Node *n, int i, Shape s, Shape to); /* the same, with s as its shape */
/* Input i, if constant, is a list of tuples of `depth` indices: element e is one into axis[e % depth]. back: negative
 * indices count from the end. */
bool require_indices(Node *n, int i, int depth, const Dim *axis, bool back);
bool require_index(Node *n, int64_t v, Dim axis, bool back);
/* Does n check values at run time, and end the run if they are wrong? Constants were checked by its `infer`, which says
 * where that was not enough. */
bool checks_values(const Node *n);
bool always_iterates(const Node *n); /* has the loop n at least one iteration, for all inputs? */
/* False: n is in a loop that may have no iteration, so an error in n is only a warning. */
bool always_runs(const Node *n);
void warn_when_run(Node *n, const char *what);  /* warns that a run that reaches n is an error */
bool wrong_when_run(Node *n, const char *what); /* the same, or an error and false, where n certainly runs */
void fail_when_run(Node *n, const char *what);  /* a warning, and before n comes a node that ends the run */
