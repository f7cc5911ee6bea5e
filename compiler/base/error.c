/* error.c - diagnostics: cause, place and remedy; each is counted, printed once, and escaped for a terminal. */
#include "base/error.h"

#include <string.h>

enum { PER_KIND = 20, MAX_BYTES = 4000 }; /* shown: messages of one kind; bytes of one message */

/* Messages of one kind have the same format and code. */
typedef struct Kind {
    const char *format, *code;
    bool warning;
    int n, hidden;
} Kind;

typedef struct Errors {
    int errors;                     /* all, so that whoever compares two counts sees an error that repeats another */
    int different_errors, warnings; /* each text once */
    bool last_hidden;
    VEC(Kind) kinds;
    Map shown; /* the texts of all messages so far: a set of names */
} Errors;

struct Deferred {
    Errors before; /* until errors_resume: the state outside; afterwards: that of the deferred messages */
    VEC(Message) list;
    Deferred *outer;
};

typedef struct Diagnostics {
    const char *(*where)(void);
    Errors state;
    Deferred *deferring;
} Diagnostics;
PART(Diagnostics, diagnostics)

int error_count(void) { return diagnostics()->state.errors; }
void error_reset(void)
{
    Diagnostics *const d = diagnostics();
    memset(&d->state, 0, sizeof d->state);
    d->deferring = NULL;
    d->where = NULL;
}

static void say(const Message *m)
{
    Deferred *const h = diagnostics()->deferring;
    if (h)
        vec_push(&h->list, *m);
    else
        say_message(m);
}

static void say_all(const Deferred *h)
{
    for (int i = 0; i < h->list.n; i++)
        say(&h->list.at[i]);
}

/* Prints all deferred messages: they may explain the error that ends the session. */
static void show_deferred(void)
{
    Diagnostics *const d = diagnostics();
    for (Deferred *h; (h = d->deferring) != NULL;) {
        d->deferring = h->outer;
        say_all(h);
    }
}

/* *path: the part of it that follows the file. */
static const char *where_it_fails(const char **path)
{
    const char *(*const where)(void) = diagnostics()->where, *const file = error_file();
    diagnostics()->where = NULL;
    *path = where ? where() : "";
    return where ? text_format("%s%s%s", file ? file : "", file ? ": " : "", *path) : "";
}

static const BeforeFailing before_fatal = {show_deferred, where_it_fails};

void error_set_where(const char *(*where)(void))
{
    diagnostics()->where = where;
    before_failing(&before_fatal);
}

void error_text(Text *t, const Message *m)
{
    if (m->severity == SAY_NOTE)
        text_put(t, "%s", m->text);
    else
        text_put(t, SAY_FORM, SAY_FORM_ARGS(m, "", ""));
}

void text_printable(Text *t, const char *s, size_t n, bool lines)
{
    for (size_t i = 0; i < n;) {
        int k = lines && s[i] == '\n' ? 1 : utf8_printable(s + i, n - i);
        if (k)
            text_bytes(t, s + i, (size_t)k);
        else
            text_put(t, "\\x%02X", (unsigned char)s[i]);
        i += k ? (size_t)k : 1;
    }
}

const char *printable(Name n)
{
    enum { LIMIT = 200 };
    Text t = {0};
    if (!n)
        return "";
    text_printable(&t, n->s, n->n < LIMIT ? n->n : LIMIT, false);
    text_put(&t, n->n > LIMIT ? "..." : "");
    return t.s;
}

static Kind *kind_of(const char *format, const char *code, bool warning)
{
    Errors *const e = &diagnostics()->state;
    EACH_AT (kind, e->kinds)
        if (kind->format == format && strcmp(kind->code, code) == 0)
            return kind;
    Kind k = {format, code, warning, 0, 0};
    vec_push(&e->kinds, k);
    return &e->kinds.at[e->kinds.n - 1];
}

/* s, escaped for a terminal and cut at MAX_BYTES; valid until the session ends. */
static const char *persistent(const char *s, size_t n)
{
    Text safe = {0};
    text_printable(&safe, s, n < MAX_BYTES ? n : MAX_BYTES, false);
    text_put(&safe, n > MAX_BYTES ? "..." : "");
    return name_bytes(safe.s, safe.n)->s;
}

/* The file and the place in it: "m.onnx: graph.node[3]", which ends with `place`. */
static const char *whole_place(const char *place)
{
    const char *file = error_file();
    Text t = {0};
    if (file)
        text_printable(&t, file, strlen(file), false);
    text_put(&t, file && *place ? ": %s" : "%s", place);
    return name_bytes(t.s, t.n)->s;
}

/* Is m not to be shown: the same text was already, or PER_KIND of its kind? Counts it. */
static bool is_repeated(const Message *m, const char *format)
{
    Errors *const e = &diagnostics()->state;
    const bool warning = m->severity == SAY_WARNING;
    Text t = {0};
    error_text(&t, m);
    Name whole = name_bytes(t.s, t.n);
    e->errors += !warning;
    if (map_get(&e->shown, whole))
        return true;
    map_put(&e->shown, whole, e);
    *(warning ? &e->warnings : &e->different_errors) += 1;
    Kind *k = kind_of(format, m->code, warning);
    if (k->n++ < PER_KIND)
        return false;
    k->hidden++;
    return true;
}

static bool put_message(Severity severity, const char *path, const char *code, const char *format, va_list args)
{
    const TextMark mark = text_mark();
    Text t = {0};
    text_vput(&t, format, args);
    const char *const place = whole_place(path);
    const Message m = {severity, code, place, persistent(t.s, t.n), place + strlen(place) - strlen(path)};
    diagnostics()->state.last_hidden = is_repeated(&m, format);
    text_release(mark);
    if (!diagnostics()->state.last_hidden)
        say(&m);
    return false;
}

bool message_at(Severity severity, const char *path, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_message(severity, path, code, format, args);
    va_end(args);
    return false;
}

void warn_about(Warning kind, const char *path, const char *code, const char *format, ...)
{
    const Outcome outcome = warning_outcome(kind, code);
    va_list args;
    va_start(args, format);
    if (outcome == SHOW_NOTHING)
        diagnostics()->state.last_hidden = true;
    else
        put_message(outcome == SHOW_ERROR ? SAY_ERROR : SAY_WARNING, path, code, format, args);
    va_end(args);
}

bool message_is_hidden(void) { return diagnostics()->state.last_hidden; }

void note_help_text(const char *s)
{
    if (!message_is_hidden())
        say(&(Message){SAY_HELP, "", "", persistent(s, strlen(s)), ""});
}

void note_text(const char *s) { say_message(&(Message){SAY_NOTE, "", "", s, ""}); }

Deferred *errors_defer(void)
{
    Diagnostics *const d = diagnostics();
    Deferred *h = NEW(Deferred);
    h->outer = d->deferring;
    h->before = d->state;
    memset(&d->state, 0, sizeof d->state);
    before_failing(&before_fatal);
    return d->deferring = h;
}

int errors_resume(Deferred *h)
{
    Diagnostics *const d = diagnostics();
    Errors deferred = d->state;
    d->deferring = h->outer;
    d->state = h->before;
    h->before = deferred;
    return deferred.errors;
}

bool errors_are_deferred(void) { return diagnostics()->deferring != NULL; }

void errors_report(const Deferred *h)
{
    Errors *const e = &diagnostics()->state;
    e->errors += h->before.errors;
    e->different_errors += h->before.different_errors;
    e->warnings += h->before.warnings;
    e->last_hidden = h->before.last_hidden;
    EACH_AT (said, h->before.kinds) {
        Kind *k = kind_of(said->format, said->code, said->warning);
        k->n += said->n;
        k->hidden += said->hidden;
    }
    say_all(h);
}

const char *deferred_text(const Deferred *h)
{
    int i = 0;
    while (i < h->list.n - 1 && h->list.at[i].severity != SAY_ERROR)
        i++;
    const char *s = h->list.n ? h->list.at[i].text : "";
    return name_bytes(s, strcspn(s, "\n"))->s;
}

bool deferred_are(const Deferred *h, const char *const *codes, const char *nowhere)
{
    EACH_AT (m, h->list) {
        bool found = m->severity != SAY_ERROR;
        for (int k = 0; codes[k] && !found; k++)
            found = !strcmp(m->code, codes[k]) && strcmp(m->path, nowhere) != 0;
        if (!found && m->severity == SAY_ERROR)
            return false;
    }
    return true;
}

/* "1 error", "3 errors" */
static void text_plural(Text *t, int n, const char *what) { text_put(t, "%d %s%s", n, what, n == 1 ? "" : "s"); }

static void say_hidden(const Kind *k)
{
    Text t = {0};
    text_put(&t, "%d more of the same kind as above", k->hidden);
    say(&(Message){k->warning ? SAY_WARNING : SAY_ERROR, k->code, "", t.s, ""});
}

static void say_sum(const Errors *e)
{
    Text t = {0};
    if (error_file()) {
        text_printable(&t, error_file(), strlen(error_file()), false);
        text_put(&t, ": ");
    }
    text_plural(&t, e->different_errors, "error");
    if (e->warnings) {
        text_put(&t, ", ");
        text_plural(&t, e->warnings, "warning");
    }
    text_put(&t, "; no file written");
    say(&(Message){SAY_ERROR, "", "", t.s, ""});
}

void stop_on_errors(void)
{
    const Errors *const e = &diagnostics()->state;
    if (!e->errors)
        return;
    EACH_AT (kind, e->kinds)
        if (kind->hidden)
            say_hidden(kind);
    say_sum(e);
    show_deferred();
    leave_session(EXIT_MODEL);
}

void stop_on_new_errors(int before)
{
    if (error_count() > before)
        stop_on_errors();
}
