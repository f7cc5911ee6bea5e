/* error.c - diagnostics: cause, place and remedy; each is counted, printed once, and escaped for a terminal. */
#include "base/error.h"

#include "base/progress.h"
#include "base/say.h"

#include <setjmp.h>
#include <stdlib.h>

enum { PER_KIND = 20, MAX_BYTES = 4000 }; /* shown: messages of one kind; bytes of one message */

/* Messages of one kind have the same format and code. */
typedef struct Kind {
    const char *format, *code;
    bool warning;
    int n, hidden;
} Kind;

typedef struct Errors {
    int errors, warnings;
    bool last_hidden;
    VEC(Kind) kinds;
    Map shown; /* the texts of all messages so far: a set of names */
} Errors;

struct Deferred {
    Errors before; /* until errors_resume: the counts outside; afterwards: those of the deferred messages */
    VEC(Message) list;
    Deferred *outer;
};

typedef struct Diagnostics {
    const char *file; /* path of the model */
    const char *(*where)(void);
    Errors state;
    Deferred *deferring;
    jmp_buf *exit;
    const char *failing; /* the fatal message, while its place is computed */
    int failing_exit;
    const char *failing_code;
    void (*say)(const Message *, void *);
    void *arg;
} Diagnostics;
PART(Diagnostics, diagnostics)

int error_count(void) { return diagnostics()->state.errors; }
const char *error_file(void) { return diagnostics()->file; }
void error_set_file(const char *file) { diagnostics()->file = file; }
void error_set_where(const char *(*where)(void)) { diagnostics()->where = where; }

void error_to(void (*say)(const Message *, void *), void *arg)
{
    diagnostics()->say = say;
    diagnostics()->arg = arg;
}

void error_reset(void)
{
    Diagnostics *const d = diagnostics();
    memset(&d->state, 0, sizeof d->state);
    d->deferring = NULL;
    d->where = NULL;
}

static void say_now(const Message *m)
{
    Diagnostics *const d = diagnostics();
    progress_clear();
    if (d->say)
        d->say(m, d->arg);
    else
        say_message(m);
}

static void say(const Message *m)
{
    Deferred *const h = diagnostics()->deferring;
    if (h)
        vec_push(&h->list, *m);
    else
        say_now(m);
}

static void say_all(const Deferred *h)
{
    for (int i = 0; i < h->list.n; i++)
        say(&h->list.at[i]);
}

void stop_run(int code)
{
    Diagnostics *const d = diagnostics();
    if (d->exit)
        longjmp(*d->exit, code);
    exit(code);
}

int error_catch(void (*f)(void *), void *arg)
{
    jmp_buf here, *const outer = diagnostics()->exit;
    diagnostics()->exit = &here;
    const int code = setjmp(here);
    if (!code)
        f(arg);
    diagnostics()->exit = outer;
    diagnostics()->failing = NULL;
    return code;
}

/* Prints all deferred messages: they may explain the error that ends the run. */
static void unhold_all(void)
{
    Diagnostics *const d = diagnostics();
    for (Deferred *h; (h = d->deferring) != NULL;) {
        d->deferring = h->outer;
        say_all(h);
    }
}

/* As utf8_sequence, but 0 for what is not safe to show. */
static int safe_sequence(const char *s, size_t n)
{
    uint32_t c = 0;
    const int k = utf8_sequence(s, n, &c);
    const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    const bool direction = c == 0x61C || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
                           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
    return control || direction ? 0 : k;
}

void text_printable(Text *t, const char *s, size_t n, bool lines)
{
    for (size_t i = 0; i < n;) {
        int k = lines && s[i] == '\n' ? 1 : safe_sequence(s + i, n - i);
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
    for (int i = 0; i < e->kinds.n; i++)
        if (e->kinds.at[i].format == format && strcmp(e->kinds.at[i].code, code) == 0)
            return &e->kinds.at[i];
    Kind k = {format, code, warning, 0, 0};
    vec_push(&e->kinds, k);
    return &e->kinds.at[e->kinds.n - 1];
}

/* s, escaped for a terminal and cut at MAX_BYTES; valid until the run ends. */
static const char *persistent(const char *s, size_t n)
{
    Text safe = {0};
    text_printable(&safe, s, n < MAX_BYTES ? n : MAX_BYTES, true);
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

/* Is m not to be shown: the same text was already, or PER_KIND of its kind? Counts it if its text is new. */
static bool is_repeated(const Message *m, const char *format)
{
    Errors *const e = &diagnostics()->state;
    const bool warning = m->severity == SAY_WARNING;
    Text t = {0};
    error_text(&t, m);
    Name whole = name_bytes(t.s, t.n);
    if (map_get(&e->shown, whole))
        return true;
    map_put(&e->shown, whole, e);
    *(warning ? &e->warnings : &e->errors) += 1;
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

void note_help_text(const char *s)
{
    if (!diagnostics()->state.last_hidden)
        say(&(Message){SAY_HELP, "", "", persistent(s, strlen(s)), ""});
}

void note(const char *format, ...)
{
    const TextMark mark = text_mark();
    Text t = {0};
    va_list args;
    va_start(args, format);
    text_vput(&t, format, args);
    va_end(args);
    say_now(&(Message){SAY_NOTE, "", "", t.s, ""});
    text_release(mark);
}

Deferred *errors_defer(void)
{
    Diagnostics *const d = diagnostics();
    Deferred *h = NEW(Deferred);
    h->outer = d->deferring;
    h->before = d->state;
    memset(&d->state, 0, sizeof d->state);
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

void errors_report(const Deferred *h)
{
    diagnostics()->state.errors += h->before.errors;
    diagnostics()->state.warnings += h->before.warnings;
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
    text_plural(&t, e->errors, "error");
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
    for (int i = 0; i < e->kinds.n; i++)
        if (e->kinds.at[i].hidden)
            say_hidden(&e->kinds.at[i]);
    say_sum(e);
    unhold_all();
    stop_run(EXIT_MODEL);
}

void stop_on_new_errors(int before)
{
    if (error_count() > before)
        stop_on_errors();
}

/* ---- fatal errors ------------------------------------------------------------------------------------------------ */

enum { LONGEST = 1024 };

/* Fatal messages are composed on the stack: the pool may be exhausted. */
static const char *safe_text(char s[LONGEST], const char *format, va_list args)
{
    char plain[LONGEST];
    size_t to = 0;
    vsnprintf(plain, sizeof plain, format, args);
    for (size_t i = 0, n = strlen(plain); i < n;) {
        int k = plain[i] == '\n' ? 1 : safe_sequence(plain + i, n - i), size = k ? k : 4;
        if (to + (size_t)size >= LONGEST)
            break;
        if (k)
            memcpy(s + to, plain + i, (size_t)k);
        else
            snprintf(s + to, 5, "\\x%02X", (unsigned char)plain[i]);
        to += (size_t)size;
        i += k ? (size_t)k : 1;
    }
    s[to] = 0;
    return s;
}

/* *path: the part of it that follows the file. */
static const char *where_it_fails(const char **path)
{
    const char *(*where)(void) = diagnostics()->where, *file = error_file();
    diagnostics()->where = NULL;
    *path = where ? where() : "";
    return where ? text_format("%s%s%s", file ? file : "", file ? ": " : "", *path) : "";
}

static _Noreturn void end_with(int exit_code, const Message *m)
{
    unhold_all();
    say_now(m);
    stop_run(exit_code);
}

void fail_as(int exit_code, const char *code, const char *format, ...)
{
    Diagnostics *const d = diagnostics();
    char s[LONGEST];
    va_list args;
    if (d->failing) /* computing its place failed, too: out of memory */
        end_with(d->failing_exit, &(Message){SAY_ERROR, d->failing_code, "", d->failing, ""});
    va_start(args, format);
    d->failing = safe_text(s, format, args);
    d->failing_exit = exit_code;
    d->failing_code = code;
    va_end(args);
    unhold_all();
    const char *path, *const place = where_it_fails(&path);
    end_with(exit_code, &(Message){SAY_ERROR, code, place, s, path});
}

void end_run(int exit_code, Severity severity, const char *code, const char *format, ...)
{
    char s[LONGEST + 128];
    va_list args;
    va_start(args, format);
    safe_text(s, format, args);
    va_end(args);
    if (severity == SAY_BUG)
        strcat(s, "\nThis is a mistake in onnxcc " ONNXCC_VERSION ", not in the model; please report it.");
    end_with(exit_code, &(Message){severity, code, "", s, ""});
}
