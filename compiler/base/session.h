/* session.h - a session: one run of the compiler, on a thread, with a state of its own. */
#pragma once

#include <stdbool.h>

#include "base/part.h"

bool session_begin(void); /* begins a session on this thread, which must have none; false: out of memory */
/* Ends the session, also after a failure: calls the functions given to session_at_end, last first, then frees all
 * memory of the session. */
void session_end(void);
void session_at_end(void (*end)(void *), void *arg);
