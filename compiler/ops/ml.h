/* ml.h - scores and labels of the classifiers and regressors of ai.onnx.ml. */
#pragma once

#include "ir/ops.h"

typedef enum Post { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT, POST_WRONG } Post;

/* The attribute post_transform, a name or (TreeEnsemble 5) a number; POST_WRONG after an error. */
Post ml_post_of(Node *n);
/* Scores (rows, classes) of type t, transformed row by row. */
Value *ml_post(Node *n, Value *scores, Type t, Post post);
/* Two scores, (rows, 2): `before`, then `score`, each (rows, 1). */
Value *ml_pair(Node *n, Value *score, Value *before);
/* The number of the node's class labels. */
int ml_label_count(const Node *n);
/* The label of each row's highest score, (rows). */
Value *ml_label_of_best(Node *n, Value *scores);
/* Label number `yes` or `no` by the bool `question`, (rows, 1); -1: no label, which is 0 or "". */
Value *ml_label_by(Node *n, Value *question, int yes, int no);
/* A constant, named `what` in the emitted code. */
Value *ml_floats(Node *n, const char *what, Type t, int rank, const int64_t *dim, const double *v);
