/* say.h - prints messages on standard error: as text, in colours on a terminal, or as JSON. Allocates nothing, so that
 * it works when memory is exhausted. */
#pragma once

typedef enum Severity { SAY_ERROR, SAY_WARNING, SAY_HELP, SAY_BUG, SAY_USAGE, SAY_NOTE } Severity;

typedef struct Message {
    Severity severity;
    const char *code;  /* of codes.def, such as EXT-05: the rule that is broken; "": a help, a note or the sum */
    const char *place; /* file and node; or "" */
    const char *text;  /* may have several lines */
    const char *path;  /* the end of `place` that follows the file: node or value; or "" */
} Message;

/* Sends the messages of this session to `say`; before this call they go to standard error. */
void say_to(void (*say)(const Message *, void *), void *arg);
void say_message(const Message *m);
/* A message as text: the format and its arguments. on, off: what is around the severity. */
#define SAY_FORM "%s%s%s%s%s%s%s%s\n%s%s%s"
#define SAY_FORM_ARGS(m, on, off)                                                                                      \
    on, severity_words[(m)->severity], *(m)->code ? "[" : "", (m)->code, *(m)->code ? "]" : "", off, ": ", (m)->text,  \
        *(m)->place ? "  --> " : "", (m)->place, *(m)->place ? "\n" : ""
extern const char *const severity_words[];
void say_json(void); /* from now on messages are JSON, an object on each line (docs/diagnostics.md) */
void say_end(void);  /* after the last message: ends the last line */
/* A fatal error, said by a signal handler. */
void say_signal(const char *code, const char *text);
