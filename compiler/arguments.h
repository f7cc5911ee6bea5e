/* arguments.h - the words of the command line. */
#pragma once

#include <stdbool.h>

/* Sets this run's Options from words, an array that ends with NULL. A wrong word ends the run with exit 2. command:
 * allows the options that print something and end the process. */
void read_arguments(const char *const *word, bool command);
