/* ticks.c - the ticks of each step that a run measured (--profile), read from a file for the report (--ticks). */
#include "emit/emit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/options.h"
#include "base/output.h"
#include "emit/facts.h"

static _Noreturn void refuse(const char *file, int line, const char *what)
{
    fail_as(EXIT_MODEL, "ARG-13", "%s:%d: %s", file, line, what);
}

/* A word and a number: "runs 10". */
static bool take_word(const char *s, const char *word, const char **rest)
{
    const size_t n = strlen(word);
    if (strncmp(s, word, n) || s[n] != ' ')
        return false;
    *rest = s + n + 1;
    return true;
}

static int64_t number_at(const char *s, const char *file, int line)
{
    char *end;
    errno = 0;
    const long long v = strtoll(s, &end, 10);
    if (end == s || errno || v < 0 || (*end && !strchr(" \t\r\n", *end)))
        refuse(file, line, "expected the ticks of a step, 'runs N' or 'unit NAME'");
    return v;
}

static void read_line(Ticks *t, const char *s, const char *file, int line)
{
    const char *rest;
    if (take_word(s, "runs", &rest)) {
        if (!(t->runs = number_at(rest, file, line)))
            refuse(file, line, "no runs");
    } else if (take_word(s, "unit", &rest))
        t->unit = text_format("%.*s", (int)strcspn(rest, " \t\r\n"), rest);
    else if (take_word(s, "by", &rest))
        t->by = text_format("%.*s", (int)strcspn(rest, "\r\n"), rest);
    else if (s[strspn(s, " \t\r\n")])
        vec_push(&t->step, number_at(s, file, line));
}

const Ticks *read_ticks(int steps)
{
    if (!opt()->ticks)
        return NULL;
    const char *file = opt()->ticks;
    Ticks *t = NEW_COPY((Ticks){.runs = 1, .unit = "ticks", .by = ""});
    FILE *f = fopen(file, "r");
    char s[4096];
    if (!f)
        fail(EXIT_IO, "cannot open '%s': %s", file, strerror(errno));
    output_spare(fileno(f));
    for (int line = 1; fgets(s, sizeof s, f); line++)
        read_line(t, s, file, line);
    fclose(f);
    if (t->step.n != steps)
        fail_as(EXIT_MODEL, "ARG-13",
                "%s: the ticks of %d steps, the C has %d; were they counted for this model, target and options?", file,
                t->step.n, steps);
    return t;
}

double ticks_of(const Facts *f, int step) { return (double)f->ticks->step.at[step] / (double)f->ticks->runs; }
