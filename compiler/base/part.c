/* part.c - where this thread's parts are. */
#include "base/part.h"

_Thread_local uintptr_t session_distance;
