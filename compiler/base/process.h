/* process.h - the process around a compile: a stack of fixed size, signals that leave no partial file, checked
 * output. */
#pragma once

#include <stdbool.h>

/* Calls f(arg) as a session, on a thread whose stack is independent of the user's limit. Returns 0, or the exit code
 * that ended the session; -1: out of memory. signals: a signal that ends the process removes incomplete files first. */
int process_run(void (*f)(void *), void *arg, bool signals);
/* In the session that handles signals: f is called when one ends the process. f may only do what a signal handler
 * may. */
void process_at_signal(void (*f)(void));
#define NO_MEMORY_FOR_RUN "out of memory: no stack for the compiler"
/* Flushes standard output and ends the process: exit 0, or a message and exit 3 if writing fails. */
_Noreturn void process_done(void);
