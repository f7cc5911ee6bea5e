/* scope.h - sizes that become known while a branch or a loop's body runs, and their values outside. */
#pragma once

#include "ir/ops.h"

bool graph_encloses(const Graph *outer, const Graph *inner); /* or is the same */

void scopes_begin(void); /* before a walk in execution order: resets Symbol.known, groups the symbols by graph */
Symbol *symbols_born_in(const Graph *g);   /* the first symbol that becomes known in g; the others follow by .beside */
bool symbol_is_iteration(const Symbol *s); /* the number of a loop's current iteration */
int64_t symbol_start(const Symbol *s);     /* its value until then: 0, or the bound nearest to 0 */
/* Visits the symbols of all graphs nested in n. symbols_end: they are known from now on. */
void symbols_inside(const Node *n, void (*visit)(Symbol *, void *), void *arg);
void symbols_end(const Node *n);

/* The sizes of loop n's scan outputs that every iteration computes anew: the first iteration sets them, the others must
 * agree. For an output that was dropped, but whose size is used, they are the loop's attribute `dims`. */
typedef VEC(Dim) Dims;
Dims stacked_sizes(const Node *n);
void keep_stacked_sizes(Node *n,
                        const Shape *slice); /* of a dropped scan output: its slices must still have one size */

void node_symbols(const Node *n, void (*visit)(Symbol *, void *),
                  void *arg); /* the symbols that the code of a bound node uses */
