/* process.h - what the compiler asks of its process: a stack of its own, no file left by a signal, output that arrives. */
#ifndef ONNXCC_PROCESS_H
#define ONNXCC_PROCESS_H

#include <stdbool.h>

/* Calls f(arg) as a run, on a thread whose stack does not hang on the user's limit: 0, or the exit code that ended it; -1:
 * there is no memory for that. signals: those that end the process remove the files in work first. */
int process_run(void (*f)(void *), void *arg, bool signals);
#define NO_MEMORY_FOR_RUN "out of memory: no stack for the compiler"
/* Ends the process when what was said on standard output has arrived there; else says so, with exit 3. */
_Noreturn void process_done(void);

#endif
