/* output.h - files that appear whole or not at all: written beside their place, renamed when all are complete. */
#ifndef ONNXCC_OUTPUT_H
#define ONNXCC_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct Output Output;

Output *output_open(const char *path); /* "-": standard output; fails with exit 3 */
void output_write(Output *o, const void *bytes, size_t n);
uint64_t output_hash(const Output *o); /* XXH64 of what was written so far */
void output_commit(void);              /* all of them take their places; an unchanged file keeps its time */
void output_discard(void);             /* none does */

#endif
