/* mutate.h - what libFuzzer calls. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out, size_t most,
                                 unsigned seed);
extern const int repairs_of_8; /* how many of eight files are repaired once they are changed */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
