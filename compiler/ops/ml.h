/* ml.h - what the classifiers and regressors of ai.onnx.ml share: scores, and the labels they decide on. */
#ifndef ONNXCC_ML_H
#define ONNXCC_ML_H

#include "ir/ops.h"

typedef enum Post { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT, POST_WRONG } Post;

/* The attribute post_transform, a name or (TreeEnsemble 5) a number; POST_WRONG after an error. */
Post ml_post_of(Node *n);
/* Scores (rows, classes) of type t, transformed row by row. */
Value *ml_post(Node *n, Value *scores, Type t, Post post);
/* Two scores (rows, 2) of one, (rows, 1), and the other before it. */
Value *ml_pair(Node *n, Value *score, Value *before);
/* How many class labels the node has. */
int ml_label_count(const Node *n);
/* For every row the label of the highest score, (rows). */
Value *ml_label_of_best(Node *n, Value *scores);
/* The same by whether `question`, (rows, 1), is true: label number `yes` or `no`; -1: no label, which is 0 or "". */
Value *ml_label_by(Node *n, Value *question, int yes, int no);
/* A constant, called `what` in the emitted code. */
Value *ml_floats(Node *n, const char *what, Type t, int rank, const int64_t *dim, const double *v);

#endif
