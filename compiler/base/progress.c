/* progress.c - the progress of a session on a terminal. */
#include "base/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/session.h"

enum { PATIENCE = 1000, PAUSE = 100 }; /* milliseconds until the first line, and between two */

typedef struct Progress {
    bool on, shown;
    const char *doing;
    int64_t begun, said; /* when */
} Progress;
PART(Progress, line)

static int64_t milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void progress_on(void)
{
    const char *term = getenv("TERM");
    line()->on = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    line()->begun = milliseconds();
}

void progress_off(void)
{
    progress_clear();
    line()->on = false;
}

void progress_clear(void)
{
    if (line()->shown)
        fputs("\r\033[K", stderr);
    line()->shown = false;
}

/* Is a line due? */
static bool is_due(void)
{
    const int64_t now = line()->on ? milliseconds() : 0;
    if (!line()->on || now - line()->begun < PATIENCE || (line()->shown && now - line()->said < PAUSE))
        return false;
    line()->said = now;
    return line()->shown = true;
}

void progress(const char *doing)
{
    line()->doing = doing;
    if (is_due())
        fprintf(stderr, "\r\033[Konnxcc: %s", doing);
}

void progress_count(int64_t done, int64_t of)
{
    if (!line()->doing || !is_due())
        return;
    fprintf(stderr, "\r\033[Konnxcc: %s", line()->doing);
    if (of > 0)
        fprintf(stderr, ", %d %%", (int)((double)done / (double)of * 100));
}
