/* session.h - the beginning and the end of a run on this thread. */
#pragma once

#include <stdbool.h>

#include "base/part.h"

bool session_begin(void); /* begins a run on this thread, which must have none; false: out of memory */
/* Ends the run, also after a failure: calls the functions given to session_at_end, last first, then frees all memory of
 * the run. */
void session_end(void);
void session_at_end(void (*end)(void *), void *arg);
