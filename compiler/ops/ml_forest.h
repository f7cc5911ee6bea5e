/* ml_forest.h - decision trees, as read from a node's attributes. */
#pragma once

#include "ir/ops.h"

enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF }; /* TreeEnsemble's numbers, and LEAF */

typedef struct Tree { /* one node, which may be a leaf */
    int mode;
    int64_t feature, yes, no; /* feature that is compared; successors */
    bool missing;             /* a NaN goes to yes */
    int64_t row;              /* its first row in the tables (ml_tree.c) + 1; 0: not put yet */
    double split;
    const double *set; /* MEMBER: n values */
    int64_t first, n;  /* LEAF: first of n entries */
} Tree;

typedef struct Forest {
    Type type; /* type of splits and weights */
    Tree *node;
    int64_t n, n_roots, n_entries, targets;
    int64_t *root, *target;
    double *weight;
} Forest;

/* Reads the nodes and leaves of n, whose attributes for leaves begin with `kind` (class, target), or those of
 * TreeEnsemble 5; f->targets is set. False: wrong, and reported. */
bool forest_read(Node *n, Forest *f, const char *kind);
bool forest_read_5(Node *n, Forest *f);
/* Reads a list of numbers, from floats or a tensor named ..._as_tensor; returns its length. */
int64_t forest_numbers(Node *n, const char *attr, double **v);
