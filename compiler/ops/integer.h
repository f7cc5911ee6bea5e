/* integer.h - construction of nodes on 8-bit integers. */
#pragma once

#include "ir/kernel.h"
#include "qconv.h"

/* Inputs of onnxcc.IntegerConv and onnxcc.IntegerProduct. */
enum { X, W, BIAS, SCALE, W_ZERO, X_ZERO, Y_ZERO, INPUTS };

/* A convolution or product, independent of the form of its weights. */
typedef struct Integer {
    int64_t group, cin, cout; /* cin, cout: of one group */
    int64_t stretches, width; /* see qconv_pack */
    bool packed, depthwise;
} Integer;

/* The kernels for small processors (integer_micro.c). */
bool micro_fits(const Node *n, const Integer *c, bool rows); /* rows: the taps of a window are rows of an image */
/* The node, not yet inserted, that packs n's weights, bias and scale; w_...: the strides of the weights by output,
 * input and tap. */
Node *micro_pack(Node *n, const Integer *c, int64_t w_out, int64_t w_in, int64_t w_tap);
void micro_bind(Node *n, const Integer *c, const struct qconv_bind *p); /* p: the sizes and limits */

/* onnxcc.IntegerConv or onnxcc.IntegerProduct before n, with a result of type `to`; in: x, weights, bias, scale, zero
 * points of weights, x and y. */
Node *make_integer(Node *n, const char *op, Type to, Value *const *in);

/* Hooks of onnxcc.Quantize and onnxcc.Dequantize (requantize.c). */
bool quantize_simplify(Node *n);
bool dequantize_simplify(Node *n);
