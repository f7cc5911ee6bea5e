/* compare.h - compares the files on disk with those that would be written (--check). */
#pragma once

#include <stddef.h>

/* For output_to: prints a unified diff (by the program diff) if the file has other bytes, or is not there. */
void compare_file(const char *file, const void *bytes, size_t n, void *unused);
void compare_end(void); /* fails with exit 1 if a file differed */
