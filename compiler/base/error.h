/* error.h - diagnostics: errors and warnings, which are counted, and the calls that end a run. */
#pragma once

#include "base/util.h"

enum { EXIT_MODEL = 1, EXIT_USAGE = 2, EXIT_IO = 3, EXIT_BUG = 70 };

typedef enum Severity { SAY_ERROR, SAY_WARNING, SAY_HELP, SAY_BUG, SAY_USAGE, SAY_NOTE } Severity;

typedef struct Message {
    Severity severity;
    const char *code;  /* rule of the format that is broken, such as EXT-05; or "" */
    const char *place; /* file and node; or "" */
    const char *text;  /* may have several lines */
} Message;

/* Calls f(arg). Returns 0, or the exit code if stop_on_errors, fail, usage or bug left f. Outside of error_catch these
 * end the process. */
int error_catch(void (*f)(void *), void *arg);
/* Sends the messages of this run to `say`; before this call they go to standard error. */
void error_to(void (*say)(const Message *, void *), void *arg);
void error_text(Text *t, const Message *m); /* appends m as it is printed on standard error */
/* error_at(PATH, CODE, FORMAT, ...) prints "error[CODE]: MESSAGE" and the place, and counts the error; the stage
 * continues. CODE: as in Message. Is false, so that a check may return it. */
#define error_at(...) message_at(SAY_ERROR, __VA_ARGS__)
#define error_null(...) (error_at(__VA_ARGS__), NULL) /* for functions that return a pointer */
#define warn_at(...) ((void)message_at(SAY_WARNING, __VA_ARGS__))
bool message_at(Severity severity, const char *path, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define note_help(...) note_help_text(text_format(__VA_ARGS__)) /* a help: line after the last message */
void note_help_text(const char *s);
void stop_on_errors(void);              /* ends the run (exit 1) if any error was counted */
_Noreturn void stop_run(int exit_code); /* ends the run without a message */
_Noreturn void fail(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define usage(...) end_run(EXIT_USAGE, SAY_USAGE, __VA_ARGS__)
#define bug(...) end_run(EXIT_BUG, SAY_BUG, __VA_ARGS__) /* asks to report it */
_Noreturn void end_run(int exit_code, Severity severity, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *printable(Name n); /* escaped for a terminal; a long name is cut */
/* Appends s; characters that could move the cursor or forge a line become \xNN. Idempotent. lines: \n is kept. */
void text_printable(Text *t, const char *s, size_t n, bool lines);
int error_count(void);  /* errors so far */
void error_reset(void); /* sets the counts to 0 and forgets the texts */
/* Prints a piece of the output of -v, -d and --remarks. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Deferred diagnostics: from errors_defer to errors_resume, which returns the number of errors, messages are collected;
 * errors_report prints and counts them. deferred_text: the first line of the first error. */
typedef struct Deferred Deferred;
Deferred *errors_defer(void);
int errors_resume(Deferred *h);
void errors_report(const Deferred *h);
const char *deferred_text(const Deferred *h);
void error_set_file(const char *file); /* the path of the model, which messages begin with */
const char *error_file(void);          /* NULL: not set yet */
/* where() is the place that fatal messages name: the node that is being processed; "": none. */
void error_set_where(const char *(*where)(void));
