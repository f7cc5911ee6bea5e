/* random.h - tensors of random elements. */
#pragma once

#include "ir/tensor.h"

/* Floats are from -1 to 1, integers of up to 8 bits any, others and words 0 to below - 1. */
Tensor *random_tensor(Type type, int rank, const int64_t *dim, int64_t below, uint64_t *state);
