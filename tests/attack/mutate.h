/* mutate.h - the functions that libFuzzer calls, and the checks of the compiler's output. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out, size_t room,
                                 unsigned seed);
extern const int repairs_of_8; /* of eight mutated files, so many are repaired */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define OWN_DOMAIN "own" /* domain of custom operators */
#define LIVE_MARK "LIVE__TEXT" /* in hostile texts; no identifier of onnxcc's has two underscores */
void check_c(const char *s, size_t n);
void check_shown(const char *s, size_t n);

#endif
