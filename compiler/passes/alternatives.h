/* alternatives.h - results of an If whose branches give different ranks. Such a value has no definition; it stands for
 * two values, and the condition chooses one. Every node that reads it becomes an If on that condition, with a copy of
 * the node in each branch, until the results have one rank, or a copy turns out wrong for its rank and is given up. */
#pragma once

#include "ir/graph.h"

/* Gives alternatives to those results of n, an If with these inferred branches, whose ranks differ. */
void alternatives_give(Node *n, Graph *const *branch);
/* The same for those results of branch k, the only one that can run, that have alternatives. */
void alternatives_pass(Node *n, Graph *const *branch, int k);
/* n, or the If that replaces it because it reads a value with alternatives. */
Node *alternatives_split(Node *n);
/* If output i of g has alternatives, keeps those of this rank (-1: the declared rank, otherwise the then_branch's); the
 * others become errors at run time, with a warning. */
void alternatives_choose(Graph *g, int i, int rank);
/* Suggests integer inputs to freeze so that the branch is chosen at compile time. */
void help_freeze(const Value *condition);
