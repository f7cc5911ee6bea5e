/* mutate.h - what libFuzzer calls, and what looks at the compiler's words. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out, size_t most,
                                 unsigned seed);
extern const int repairs_of_8; /* how many of eight files are repaired once they are changed */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define OWN_DOMAIN "own" /* of operators of the user's own */
#define LIVE_MARK "LIVE__TEXT" /* in the texts that want to be code; no identifier of onnxcc's has two underscores */
void check_c(const char *s, size_t n);
void check_shown(const char *s, size_t n);

#endif
