/* fail.h - the calls that end a session. They allocate nothing: the memory may be exhausted. */
#pragma once

#include "base/say.h"

enum { EXIT_MODEL = 1, EXIT_USAGE = 2, EXIT_IO = 3, EXIT_BUG = 70 };

/* Calls f(arg). Returns 0, or the exit code if stop_on_errors, fail, usage or bug left f. Outside of error_catch these
 * end the process. */
int error_catch(void (*f)(void *), void *arg);
_Noreturn void leave_session(int exit_code); /* ends the session without a message */
/* Fatal errors. fail: its code is LIM-01, ARG-02 or SYS-01, after exit code 1, 2 or 3; fail_as(EXIT, CODE, ...) gives
 * another. */
#define fail(exit_code, ...) fail_as(exit_code, FAIL_CODE(exit_code), __VA_ARGS__)
#define FAIL_CODE(exit_code) ((exit_code) == EXIT_MODEL ? "LIM-01" : (exit_code) == EXIT_USAGE ? "ARG-02" : "SYS-01")
_Noreturn void fail_as(int exit_code, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define bug(...) fail_session(EXIT_BUG, SAY_BUG, "BUG-01", __VA_ARGS__) /* asks to report it */
_Noreturn void fail_session(int exit_code, Severity severity, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void error_set_file(const char *file); /* the path of the model, which messages begin with */
const char *error_file(void);          /* NULL: not set yet */
/* Calls before the message of a fatal error: one prints the deferred messages, which may explain it; one computes its
 * place, and the end of that place, which follows the file. */
typedef struct BeforeFailing {
    void (*flush)(void);
    const char *(*place)(const char **path);
} BeforeFailing;
void before_failing(const BeforeFailing *calls);
