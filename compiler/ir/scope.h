/* scope.h - sizes that become known while a branch or a loop's body runs: which they are, and what they are outside. */
#ifndef ONNXCC_SCOPE_H
#define ONNXCC_SCOPE_H

#include "ir/ops.h"

bool graph_encloses(const Graph *outer, const Graph *inner); /* or is the same */

void scopes_begin(void);                 /* before a walk in execution order: no size is known, each has its graph */
Symbol *symbols_born_in(const Graph *g); /* the first of those that become known there; the others: .beside */
Graph *symbol_graph(const Symbol *s);    /* in which it becomes known; NULL: the caller says it */
int64_t symbol_start(const Symbol *s);   /* outside, while what makes it has not run: 0, or the bound next to it */
void symbols_inside(const Node *n, void (*visit)(Symbol *, void *), void *arg); /* those of all graphs nested in n */

/* The sizes of loop n's scan outputs that each iteration computes by itself: the first one sets them, the others may not
 * differ. */
typedef VEC(Dim) Dims;
Dims stacked_sizes(const Node *n);

void node_symbols(const Node *n, void (*visit)(Symbol *, void *), void *arg); /* that the code of a bound node needs */

#endif
