/* progress.h - what a long session is doing: one line on a terminal, which is erased before anything else is
 * printed. */
#pragma once

#include <stdint.h>

void progress_on(void);                        /* if standard error is a terminal; otherwise the rest do nothing */
void progress_off(void);                       /* erases the line; no more of them */
void progress(const char *doing);              /* from now on; after a second of the session it is shown */
void progress_count(int64_t done, int64_t of); /* ... and how far it is, if of > 0; may be called often */
void progress_clear(void);                     /* erases the line */
