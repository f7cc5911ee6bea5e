/* output.h - files that appear whole or not at all: written beside their place, renamed when all are complete. */
#ifndef ONNXCC_OUTPUT_H
#define ONNXCC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Output Output;

Output *output_open(const char *file); /* "-": standard output; fails with exit 3 */
/* From now on the files of this run are not written: output_commit gives each of them to `take`. */
void output_to(void (*take)(const char *file, const void *bytes, size_t n, void *arg), void *arg);
void output_spare(int fd);              /* a file that is read, which output_open refuses to write over; exit 2 */
Output *output_spool(const char *near); /* no file: what is written waits on the disk of `near` for output_append */
void output_append(Output *o, Output *spool); /* all that was written to the spool, which is no more */
void output_write(Output *o, const void *bytes, size_t n);
uint64_t output_hash(const Output *o); /* XXH64 of what was written so far */
void output_commit(void);              /* all of them take their places; an unchanged file keeps its time */
void output_discard(void);             /* none does */
void output_unlink(void);              /* the same in a signal handler, before the process ends */

#endif
