/* bits.h - weights of a few bits. */
#pragma once

#include "ir/ops.h"

/* Input i as floats: rows of codes of 2, 4 or 8 bits, packed into bytes from the low bits up. */
Value *codes_of(Node *n, int i, int64_t bits, int64_t rows, int64_t columns);
