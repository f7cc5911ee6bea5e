/* say.h - prints messages on standard error: as text, in colours on a terminal, or as JSON. Allocates nothing, so that it works
 * when memory is exhausted. */
#pragma once

#include "base/error.h"

void say_message(const Message *m);
void say_json(void); /* from now on messages are JSON, an object on each line (docs/diagnostics.md) */
void say_end(void);  /* after the last message: ends the last line */
/* A fatal error, said by a signal handler. */
void say_signal(const char *code, const char *text);
