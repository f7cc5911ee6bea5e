/* arguments.h - the words of the command line. */
#pragma once

#include <stdbool.h>

typedef enum Caller { BY_LIBRARY, BY_COMMAND, BY_VERIFY } Caller;

/* Sets this session's Options from words, an array that ends with NULL. A wrong word ends the session with exit 2. The
 * library may not use the options that print something and end the process. */
void read_arguments(const char *const *word, Caller caller);

/* Ends the session where the target has no --profile, also as the command `profile`. */
void check_profile(void);
