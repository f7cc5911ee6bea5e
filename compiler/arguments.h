/* arguments.h - the words of the command line. */
#ifndef ONNXCC_ARGUMENTS_H
#define ONNXCC_ARGUMENTS_H

#include <stdbool.h>

/* Sets this run's Options by words, of which the last is followed by NULL. What is wrong with them ends the run with exit 2.
 * command: some options print something and end the process. */
void read_arguments(const char *const *word, bool command);

#endif
