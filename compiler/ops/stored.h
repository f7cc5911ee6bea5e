/* stored.h - constant weights that stay as the model stores them, with zero points and scales, for the kernels of
 * runtime-min/coded.h. */
#pragma once

#include "ir/ops.h"

/* Weights as panels of 16 outputs: where element (group, output, tap, input) of a tensor is. The outputs are those of
 * several gates one after the other; a panel of each gate is followed by that of the next one. w_group: 0: the groups
 * are one after the other; order: that of the taps in a panel, NULL: as they are in the tensor. */
typedef struct Panels {
    int64_t group, cout, cin, taps, w_out, w_in, w_tap, gates, w_group;
    const int64_t *order;
} Panels;

/* Packed codes, with scales and zero points; the fields of the kernels. scale, zero: NULL if there is one for all. */
typedef struct Coded {
    Value *w, *scale, *zero;
    int64_t kind, scales, zeros, rows, block, blocks, period, span, own, width, gates;
    double scale_all, zero_all;
} Coded;

/* Weights v = (x - zero) * scale, in floats; x: codes, of v's shape, to which zero and scale broadcast; NULL: 0, 1. */
typedef struct Affine {
    Value *x, *zero, *scale;
} Affine;

/* An element in its arithmetic type. */
typedef union Lane {
    float f;
    int32_t i;
    uint32_t u;
} Lane;

bool is_one(const Value *v);       /* constants: one number for all elements */
bool is_per_block(const Value *v); /* several numbers; false: one, or NULL */
/* Are v, weights of n, constant codes of fewer bits? */
bool may_be_coded(Node *n, Value *v, Affine *l);
bool read_linear(Node *n, Value *v, Affine *l);  /* the same, whatever their number and the options */
bool read_rounded(Node *n, Value *v, Affine *l); /* the same for v of 16-bit floats, to which the numbers are rounded */
Value *as_integers(Node *n, Value *v);           /* NULL: v has floats that are no integers */
int64_t gcd(int64_t a, int64_t b);
/* The lowest and highest of v's codes and the given numbers; false: v has floats, or more than 32 bits. */
bool find_code_range(const Value *v, int64_t *low, int64_t *high);
/* Packs v's elements as panels of codes. False: they are no codes of fewer bits, dequantised or cast, or panels of
 * codes would not be much smaller than those of floats. */
bool pack_coded_panels(Node *n, Value *v, const Panels *p, Coded *c);
int64_t block_along(const Value *v, int axis); /* the length of equal numbers along an axis, which divides it */
/* Do blocks of scale or zero point along an axis end in a shorter one, at `at`? */
bool has_rest(const Affine *l, int *axis, int64_t *at);
Value *part_along(Node *n, Value *v, int axis, int64_t from, int64_t to); /* a slice */
/* Remarks that v, weights of n, which were computed from codes, are stored expanded, and why. */
bool stays_expanded(const Node *n, const Value *v, const char *why);
/* Op.simplify of Gather: its rows of constant codes are expanded after they are gathered. */
bool gather_stored(Node *n);
int64_t coded_room(void); /* floats that kernels expand at a time */
/* Keeps what a kernel's parameters need as attributes of n, and reads it; false: it has no coded weights. */
void coded_keep(Node *n, const Coded *c);
bool coded_read(const Node *n, Coded *c);
/* Those parameters of a kernel: CODED_PARAMS (runtime-min/codes.h). */
#define CODED_FIELDS(c)                                                                                                \
    .kind = D((c).kind), .scales = D((c).scales), .zeros = D((c).zeros), .rows = D((c).rows), .block = D((c).block),   \
    .blocks = D((c).blocks), .period = D((c).period), .span = D((c).span), .own = D((c).own), .width = D((c).width),                      \
    .gates = D((c).gates), .scale_all = (c).scale_all, .zero_all = (c).zero_all
/* The types of its codes, scales and zero points, in a schema. */
#define CODED_TYPES                                                                                                    \
    "W=float|float16|bfloat16|double|uint8|uint16 S=float|float16|bfloat16|float8e8m0 "                                \
    "Z=float|float16|bfloat16|float8e8m0|uint8|uint16"
