/* codes.h - the codes of messages: what each means, and which warnings are shown (-W). */
#pragma once

#include <stdbool.h>

typedef struct MessageCode {
    const char *code;
    const char *warning; /* its name for -W; "": never a warning */
    const char *rule, *example, *remedy;
} MessageCode;

extern const MessageCode code_rows[];
extern const int code_count;
const MessageCode *code_find(const char *s); /* by code, or by the name of a warning; NULL: there is none */

/* Kinds of warnings: ordinary ones; errors under --strict; those that most exporters cause, which are shown on request
 * alone (-Wall, --verbose) and are errors under --strict; others that are shown on request alone. */
typedef enum Warning { WARN_ORDINARY, WARN_STRICT, WARN_PEDANTIC, WARN_HINT } Warning;
typedef enum Outcome { SHOW_NOTHING, SHOW_WARNING, SHOW_ERROR } Outcome;
Outcome warning_outcome(Warning kind, const char *code);

/* Applies a word of -W: NAME, no-NAME, error, error=NAME, all ... False: no such warning. The last word about a warning
 * counts; one with its name has precedence over those about all. */
bool warnings_set(const char *word);
void warnings_strict(void); /* --strict */
void warnings_all(void);    /* -Wall, --verbose */
void warnings_none(void);   /* --quiet: only errors are shown */
