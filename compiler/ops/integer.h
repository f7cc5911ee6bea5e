/* integer.h - construction of nodes on 8-bit integers. */
#pragma once

#include "ir/kernel.h"

/* onnxcc.IntegerConv or onnxcc.IntegerProduct before n, with a result of type `to`; in: x, weights, bias, scale, zero
 * points of weights, x and y. */
Node *make_integer(Node *n, const char *op, Type to, Value *const *in);

/* Hooks of onnxcc.Quantize and onnxcc.Dequantize (requantize.c). */
bool quantize_simplify(Node *n);
bool dequantize_simplify(Node *n);
