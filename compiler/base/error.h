/* error.h - diagnostics: errors and warnings that are counted, and the ways out of a run. */
#ifndef ONNXCC_ERROR_H
#define ONNXCC_ERROR_H

#include "base/util.h"

enum { EXIT_MODEL = 1, EXIT_USAGE = 2, EXIT_IO = 3, EXIT_BUG = 70 };

typedef enum Severity { SAY_ERROR, SAY_WARNING, SAY_HELP, SAY_BUG, SAY_USAGE, SAY_NOTE } Severity;

typedef struct Message {
    Severity severity;
    const char *code;  /* a row of the specification, as EXT-05, or "" */
    const char *place; /* the file, the node; or "" */
    const char *text;  /* may have several lines */
} Message;

/* Calls f(arg): 0, or the exit code with which stop_on_errors, fail or bug left it. Outside of it they end the process. */
int error_catch(void (*f)(void *), void *arg);
/* Who gets the messages of this run; until then they go to standard error. */
void error_to(void (*say)(const Message *, void *), void *arg);
void error_text(Text *t, const Message *m); /* as on standard error */
/* Each says "error[CODE]: MESSAGE", where it is, and is counted; the stage goes on. CODE: a SPEC row or "". */
void error_at(const char *path, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same of a message whose place is found elsewhere; the text after "-->", without the file. */
void error_vat(bool warning, const char *code, const char *place, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
void warn_at(const char *path, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void note_help(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a help: line to the last message */
void stop_on_errors(void); /* leaves the compiler (exit 1) when any error was counted */
_Noreturn void fail(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void usage(const char *format, ...) __attribute__((format(printf, 1, 2))); /* exit 2 */
_Noreturn void bug(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *printable(Name n); /* escaped for a terminal, and cut when it is long */
/* Appends s with everything that could move the cursor or forge a line as \xNN; twice changes nothing. lines: \n may stay. */
void text_printable(Text *t, const char *s, size_t n, bool lines);
int error_count(void);  /* errors so far */
void error_reset(void); /* forgets what was reported */
/* What -v, -d and --remarks print: a note, in pieces. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Deferred diagnostics: from errors_defer to errors_resume, which returns how many errors there were, messages are kept;
 * errors_report prints and counts them. deferred_text: the first one, in a line. */
typedef struct Deferred Deferred;
Deferred *errors_defer(void);
int errors_resume(Deferred *h);
void errors_report(const Deferred *h);
const char *deferred_text(const Deferred *h);
void error_set_file(const char *file); /* the model in work, for messages */
const char *error_file(void);          /* NULL: none yet */
/* The place of what is in work, for what fails there and then; NULL: nothing is. */
void error_set_where(const char *(*where)(void));

#endif
