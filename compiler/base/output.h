/* output.h - output files that appear complete or not at all: written under a temporary name, renamed when all are
 * complete. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Output Output;

Output *output_open(const char *file);   /* "-": standard output; fails with exit 3 */
void output_folder(const char *folder);  /* makes it where it is not there; removed with the outputs on failure */
bool output_is_stdout(const char *file); /* "-", or a link to it, such as /dev/stdout */
bool output_is_stream(const char *file); /* "-", a device or a pipe: nothing lies beside it */
/* The files opened so far that are no streams. */
const char *const *output_files(int *n);
/* From now on no file of this session is written to disk: output_commit passes each to `take`. */
void output_to(void (*take)(const char *file, const void *bytes, size_t n, void *arg), void *arg);
void output_spare(int fd);              /* an input file: output_open refuses to overwrite it (exit 2) */
Output *output_spool(const char *near); /* a temporary file in the folder of `near`, to be copied by output_append */
typedef void OutputTaker(void *arg, const void *bytes, size_t n);
void output_append(Output *spool, OutputTaker *take, void *arg); /* passes on the spool's contents, and frees it */
void output_write(Output *o, const void *bytes, size_t n);
uint64_t output_hash(const Output *o);        /* XXH64 of the bytes written so far */
int64_t count_lines(const char *s, size_t n); /* line feeds among n bytes */
int64_t output_lines(Output *o);              /* line feeds written; they are counted from the first call on */
void output_commit(void);  /* puts all files in place; an unchanged one keeps its modification time */
void output_discard(void); /* removes all instead */
void output_unlink(void);  /* the same for a signal handler that ends the process */
