/* process.h - what the compiler asks of its process: a stack of its own, no file left by a signal, output that arrives. */
#ifndef ONNXCC_PROCESS_H
#define ONNXCC_PROCESS_H

/* main's arguments, on a stack whose size does not hang on the user's limit; returns what f does. */
int process_run(int (*f)(int, char **), int argc, char **argv);
/* Ends the process when what was said on standard output has arrived there; else says so, with exit 3. */
_Noreturn void process_done(void);

#endif
