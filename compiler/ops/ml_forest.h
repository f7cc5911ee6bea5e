/* ml_forest.h - decision trees as the attributes of a model have them. */
#ifndef ONNXCC_ML_FOREST_H
#define ONNXCC_ML_FOREST_H

#include "ir/ops.h"

enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF }; /* TreeEnsemble's own numbers, but for LEAF */

typedef struct Tree { /* one node, which may be a leaf */
    int mode;
    int64_t feature, yes, no; /* where it goes */
    bool missing;             /* a NaN goes to yes */
    bool reached;
    double split;
    const double *set; /* MEMBER: the n values of a set */
    int64_t first, n;  /* LEAF: the n entries */
} Tree;

typedef struct Forest {
    Type type; /* of comparisons and weights */
    Tree *node;
    int64_t n, n_roots, n_entries, targets;
    int64_t *root, *target;
    double *weight;
} Forest;

/* Reads the nodes and leaves of n, whose attributes for leaves begin with `kind` (class, target), or those of TreeEnsemble 5;
 * f->targets is set. False: wrong, and reported. */
bool forest_read(Node *n, Forest *f, const char *kind);
bool forest_read_5(Node *n, Forest *f);
/* A list of numbers, given as floats or in a tensor called ..._as_tensor; how many. */
int64_t forest_numbers(Node *n, const char *attr, double **v);

#endif
