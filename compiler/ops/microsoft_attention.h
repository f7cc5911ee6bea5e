/* microsoft_attention.h - pieces of com.microsoft's operators of attention. Functions with a node n put nodes before
 * it. */
#pragma once

#include "ir/ops.h"

/* The inputs of an onnxcc.Attention (attention.c), NULL: none; and its attributes. */
typedef struct Attended {
    Value *q, *k, *v; /* (batch, rows, heads * size) or (batch, heads, rows, size) */
    Value *mask, *lens, *past, *starts, *sink;
    int64_t heads, kv_heads, window; /* window: the number of keys that a row attends at most; 0: all */
    bool causal, scores;
    int mode; /* of the scores: qk_matmul_output_mode */
    double cap;
} Attended;
Node *attend(Node *n, const Attended *a); /* with n's attribute scale */

Value *part_of(Node *n, Value *v, int axis, Dim from, Dim count); /* v's elements [from, from + count) along the axis */
Value *iota(Node *n, Dim count);                                  /* int64 0, 1, ... count - 1 */
Value *repeated(Node *n, Value *v, Dim count);                    /* the one integer in v, `count` times as int64 */
/* (batch, rows, heads * size) as (batch, heads, rows, size) */
Value *by_heads(Node *n, Value *v, Dim batch, Dim rows, Dim heads, Dim size);
double lowest_of(Type t); /* the lowest number of a floating type */
