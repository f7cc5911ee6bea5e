/* say.c - messages on standard error: as text, in colours on a terminal, or as JSON. */
#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/codes.h"
#include "base/part.h"
#include "base/progress.h"

typedef enum Line { NO_LINE, MESSAGE_LINE, NOTE_LINE } Line; /* the JSON object that is not complete yet */
typedef struct Saying {
    bool json;
    Line line;
    int helps; /* printed in this object */
    void (*to)(const Message *, void *);
    void *arg;
} Saying;
PART(Saying, saying)

const char *const severity_words[] = {
    [SAY_ERROR] = "error",        [SAY_WARNING] = "warning", [SAY_HELP] = "help",
    [SAY_BUG] = "internal error", [SAY_USAGE] = "error",     [SAY_NOTE] = "",
};
static const char *const json_words[] = {
    [SAY_ERROR] = "error",        [SAY_WARNING] = "warning",    [SAY_HELP] = "help",
    [SAY_BUG] = "internal error", [SAY_USAGE] = "option error", [SAY_NOTE] = "note",
};
static const char *const colors[] = {
    [SAY_ERROR] = "\33[1;31m", [SAY_WARNING] = "\33[1;35m", [SAY_HELP] = "\33[1;36m",
    [SAY_BUG] = "\33[1;31m",   [SAY_USAGE] = "\33[1;31m",   [SAY_NOTE] = "",
};

void say_to(void (*say)(const Message *, void *), void *arg)
{
    saying()->to = say;
    saying()->arg = arg;
}

void say_json(void) { saying()->json = true; }

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* On a terminal that has them, unless NO_COLOR is set (no-color.org). */
static bool has_colors(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* The text is UTF-8 without control characters, except newlines. */
static void put_string(const char *s, size_t n)
{
    fputc('"', stderr);
    for (size_t i = 0; i < n; i++)
        if (s[i] == '\n')
            fputs("\\n", stderr);
        else
            fprintf(stderr, s[i] == '"' || s[i] == '\\' ? "\\%c" : "%c", s[i]);
    fputc('"', stderr);
}

static void put_field(const char *name, const char *s, size_t n)
{
    fprintf(stderr, ",\"%s\":", name);
    put_string(s, n);
}

void say_end(void)
{
    static const char *const ends[] = {"", "]}\n", "\"}\n"};
    fputs(ends[saying()->line], stderr);
    saying()->line = NO_LINE;
}

/* Begins an object, which say_end completes: its helps follow. */
static void put_object(const Message *m)
{
    const MessageCode *const code = code_find(m->code);
    const bool sum = m->severity == SAY_ERROR && !*m->code;
    const size_t path = strlen(m->path), place = strlen(m->place), file = place - path;
    say_end();
    fprintf(stderr, "{\"severity\":\"%s\"", sum ? "summary" : json_words[m->severity]);
    put_field("code", m->code, strlen(m->code));
    put_field("warning", m->severity == SAY_WARNING && code ? code->warning : "",
              m->severity == SAY_WARNING && code ? strlen(code->warning) : 0);
    put_field("file", m->place, file > 2 && path ? file - 2 : file);
    put_field("place", m->path, path);
    put_field("message", m->text, strlen(m->text));
    fputs(",\"help\":[", stderr);
    saying()->line = MESSAGE_LINE;
    saying()->helps = 0;
}

static void put_help(const Message *m)
{
    if (saying()->line != MESSAGE_LINE)
        put_object(&(Message){SAY_HELP, "", "", "", ""});
    fputs(saying()->helps++ ? "," : "", stderr);
    put_string(m->text, strlen(m->text));
}

/* Pieces of lines: an object for each line. */
static void put_note(const char *s)
{
    while (*s) {
        const size_t n = strcspn(s, "\n");
        if (saying()->line != NOTE_LINE) {
            say_end();
            fputs("{\"severity\":\"note\",\"message\":\"", stderr);
            saying()->line = NOTE_LINE;
        }
        for (size_t i = 0; i < n; i++)
            if (s[i] == '"' || s[i] == '\\')
                fprintf(stderr, "\\%c", s[i]);
            else
                fprintf(stderr, (unsigned char)s[i] < ' ' ? "\\u%04x" : "%c", (unsigned char)s[i]);
        if (s[n])
            say_end();
        s += n + (s[n] != 0);
    }
}

static void print_message(const Message *m)
{
    if (saying()->json && m->severity == SAY_NOTE)
        put_note(m->text);
    else if (saying()->json && m->severity == SAY_HELP)
        put_help(m);
    else if (saying()->json)
        put_object(m);
    else if (m->severity == SAY_NOTE)
        fputs(m->text, stderr);
    else if (has_colors())
        fprintf(stderr, SAY_FORM, SAY_FORM_ARGS(m, colors[m->severity], "\33[0m"));
    else
        fprintf(stderr, SAY_FORM, SAY_FORM_ARGS(m, "", ""));
}

void say_message(const Message *m)
{
    progress_clear();
    if (saying()->to)
        saying()->to(m, saying()->arg);
    else
        print_message(m);
}

/* Only calls that a signal handler may make. */
static void put_now(const char *s)
{
    for (size_t n = strlen(s); n;) {
        const ssize_t k = write(STDERR_FILENO, s, n);
        if (k <= 0)
            return;
        s += k;
        n -= (size_t)k;
    }
}

void say_signal(const char *code, const char *text)
{
    static const char *const ends[] = {"", "]}\n", "\"}\n"};
    const bool json = session_distance && saying()->json;
    put_now(json ? ends[saying()->line] : "");
    put_now(json ? "{\"severity\":\"error\",\"code\":\"" : "error[");
    put_now(code);
    put_now(json ? "\",\"warning\":\"\",\"file\":\"\",\"place\":\"\",\"message\":\"" : "]: ");
    put_now(text);
    put_now(json ? "\",\"help\":[]}\n" : "\n");
}
