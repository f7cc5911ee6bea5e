/* error.h - diagnostics: errors and warnings, which are counted. */
#pragma once

#include "base/codes.h"
#include "base/fail.h"
#include "base/util.h"

void error_text(Text *t, const Message *m); /* appends m as it is printed on standard error */
/* error_at(PATH, CODE, FORMAT, ...) prints "error[CODE]: MESSAGE" and the place, and counts the error; the stage
 * continues. CODE: as in Message. Is false, so that a check may return it. */
#define error_at(...) message_at(SAY_ERROR, __VA_ARGS__)
#define error_null(...) (error_at(__VA_ARGS__), NULL) /* for functions that return a pointer */
bool message_at(Severity severity, const char *path, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Warnings of the kinds of codes.h, which -W and --strict may make errors or suppress. */
#define warn_at(...) warn_about(WARN_ORDINARY, __VA_ARGS__)
#define warn_strict(...) warn_about(WARN_STRICT, __VA_ARGS__)
#define warn_pedantic(...) warn_about(WARN_PEDANTIC, __VA_ARGS__)
#define warn_hint(...) warn_about(WARN_HINT, __VA_ARGS__)
void warn_about(Warning kind, const char *path, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define note_help(...) note_help_text(text_format(__VA_ARGS__)) /* a help: line after the last message */
void note_help_text(const char *s);
/* Was the last message not shown, as one of many? Then help would not be, either. */
bool message_is_hidden(void);
void stop_on_errors(void);           /* ends the session (exit 1) if any error was counted */
void stop_on_new_errors(int before); /* ... if more than `before` were: later stages go on after the others */
#define usage(...) usage_as("ARG-02", __VA_ARGS__)
#define usage_as(code, ...) (message_at(SAY_USAGE, "", code, __VA_ARGS__), leave_session(EXIT_USAGE))
const char *printable(Name n); /* escaped for a terminal; a long name is cut */
/* Appends s; characters that could move the cursor or forge a line become \xNN. Idempotent. lines: \n is kept. */
void text_printable(Text *t, const char *s, size_t n, bool lines);
int error_count(void);  /* errors so far, also those that were not shown because they repeat others */
void error_reset(void); /* sets the counts to 0 and forgets the texts */
/* Prints a piece of the output of -v, -d and --remarks. */
#define note(...) note_text(text_format(__VA_ARGS__))
void note_text(const char *s);
/* Deferred diagnostics: from errors_defer to errors_resume, which returns the number of errors, messages are collected;
 * errors_report prints and counts them, or they are dropped. deferred_text: the first line of the first error. */
typedef struct Deferred Deferred;
Deferred *errors_defer(void);
int errors_resume(Deferred *h);
bool errors_are_deferred(void);
void errors_report(const Deferred *h);
const char *deferred_text(const Deferred *h);
/* Has each of the errors one of the codes (NULL after the last), and another place than `nowhere`? */
bool deferred_are(const Deferred *h, const char *const *codes, const char *nowhere);
/* where() is the place that fatal messages name: the node that is being processed; "": none. */
void error_set_where(const char *(*where)(void));
