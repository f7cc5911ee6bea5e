/* error.c - diagnostics: what is wrong, where, and what to do; counted, not repeated, safe for a terminal. */
#include "base/error.h"

#include <stdlib.h>

enum { PER_KIND = 20 }; /* messages of one kind that are shown */

jmp_buf *error_exit;
Text *error_sink;
OF_RUN const char *error_file;
OF_RUN const char *(*error_where)(void);

/* Messages of one kind: one format at one code. */
typedef struct Kind {
    const char *format, *code;
    bool warning;
    int n, hidden;
} Kind;

typedef struct Errors {
    int errors, warnings;
    bool last_hidden;
    VEC(Kind) kinds;
    Map shown; /* whole texts, as names */
} Errors;

OF_RUN static Errors state;

struct Held {
    Errors before; /* the state while messages are held back; what was held afterwards */
    Text text;
    Held *outer;
};
OF_RUN static Held *holding;

int error_count(void) { return state.errors; }

void error_reset(void)
{
    memset(&state, 0, sizeof state);
    holding = NULL;
    error_where = NULL;
}

static void say(const char *s, size_t n)
{
    if (!n)
        return;
    if (holding)
        text_bytes(&holding->text, s, n);
    else if (error_sink)
        text_bytes(error_sink, s, n);
    else
        fwrite(s, 1, n, stderr);
}

static _Noreturn void leave(int code)
{
    for (Held *h; (h = holding) != NULL;) {
        holding = h->outer;
        say(h->text.s, h->text.n);
    }
    if (error_exit)
        longjmp(*error_exit, code);
    exit(code);
}

/* Length of the well-formed UTF-8 sequence at s that is safe to show, or 0. */
static int safe_sequence(const unsigned char *s, size_t n)
{
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7F;
    int k = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || n < (size_t)k)
        return 0;
    uint32_t c = s[0] & (0x7Fu >> k);
    for (int i = 1; i < k; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3F);
    }
    static const uint32_t least[] = {0, 0, 0xA0, 0x800, 0x10000}; /* 0x80..0x9F are controls */
    bool direction = c == 0x61C || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
                     (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
    return c < least[k] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) || direction ? 0 : k;
}

/* Appends s with everything that could move the cursor or forge a line as \xNN; applying it twice changes nothing. */
static void text_safe(Text *t, const char *s, size_t n, bool lines)
{
    for (size_t i = 0; i < n;) {
        int k = lines && s[i] == '\n' ? 1 : safe_sequence((const unsigned char *)s + i, n - i);
        if (k)
            text_bytes(t, s + i, (size_t)k);
        else
            text_put(t, "\\x%02X", (unsigned char)s[i]);
        i += k ? (size_t)k : 1;
    }
}

const char *printable(Name n)
{
    enum { LONGEST = 200 };
    Text t = {0};
    if (!n)
        return "";
    text_safe(&t, n->s, n->n < LONGEST ? n->n : LONGEST, false);
    text_put(&t, n->n > LONGEST ? "..." : "");
    return t.s;
}

static Kind *kind_of(const char *format, const char *code, bool warning)
{
    for (int i = 0; i < state.kinds.n; i++)
        if (state.kinds.at[i].format == format && strcmp(state.kinds.at[i].code, code) == 0)
            return &state.kinds.at[i];
    Kind k = {format, code, warning, 0, 0};
    vec_push(&state.kinds, k);
    return &state.kinds.at[state.kinds.n - 1];
}

void error_vat(bool warning, const char *code, const char *place, const char *format, va_list args)
{
    Text message = {0}, t = {0};
    text_vput(&message, format, args);
    text_put(&t, warning ? "warning" : "error");
    text_put(&t, *code ? "[%s]: " : ": ", code);
    text_safe(&t, message.s, message.n, true);
    text_put(&t, "\n");
    if (error_file || *place) {
        text_put(&t, "  --> ");
        if (error_file)
            text_safe(&t, error_file, strlen(error_file), false);
        text_put(&t, error_file && *place ? ": %s\n" : "%s\n", place);
    }
    Name whole = name_bytes(t.s, t.n);
    state.last_hidden = true;
    if (map_get(&state.shown, whole))
        return;
    map_put(&state.shown, whole, &state);
    *(warning ? &state.warnings : &state.errors) += 1;
    Kind *k = kind_of(format, code, warning);
    if (k->n++ >= PER_KIND) {
        k->hidden++;
        return;
    }
    state.last_hidden = false;
    say(t.s, t.n);
}

void error_at(const char *path, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_vat(false, code, path, format, args);
    va_end(args);
}

void warn_at(const char *path, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_vat(true, code, path, format, args);
    va_end(args);
}

void note_help(const char *format, ...)
{
    if (state.last_hidden)
        return;
    Text message = {0}, t = {0};
    va_list args;
    va_start(args, format);
    text_vput(&message, format, args);
    va_end(args);
    text_put(&t, "help: ");
    text_safe(&t, message.s, message.n, true);
    text_put(&t, "\n");
    say(t.s, t.n);
}

Held *error_hold(void)
{
    Held *h = NEW(Held);
    h->outer = holding;
    h->before = state;
    memset(&state, 0, sizeof state);
    return holding = h;
}

int error_unhold(Held *h)
{
    Errors held = state;
    holding = h->outer;
    state = h->before;
    h->before = held;
    return held.errors;
}

void error_show(const Held *h)
{
    state.errors += h->before.errors;
    state.warnings += h->before.warnings;
    say(h->text.s, h->text.n);
}

const char *error_held(const Held *h)
{
    const char *s = h->text.n ? strstr(h->text.s, ": ") : NULL;
    return s ? name_bytes(s + 2, strcspn(s + 2, "\n"))->s : "";
}

/* "1 error", "3 errors" */
static void text_plural(Text *t, int n, const char *what) { text_put(t, "%d %s%s", n, what, n == 1 ? "" : "s"); }

void stop_on_errors(void)
{
    if (!state.errors)
        return;
    Text t = {0};
    for (int i = 0; i < state.kinds.n; i++) {
        Kind *k = &state.kinds.at[i];
        if (!k->hidden)
            continue;
        text_put(&t, k->warning ? "warning" : "error");
        text_put(&t, *k->code ? "[%s]: " : ": ", k->code);
        text_put(&t, "%d more of the same kind as above\n", k->hidden);
    }
    text_put(&t, "error: ");
    if (error_file) {
        text_safe(&t, error_file, strlen(error_file), false);
        text_put(&t, ": ");
    }
    text_plural(&t, state.errors, "error");
    if (state.warnings) {
        text_put(&t, ", ");
        text_plural(&t, state.warnings, "warning");
    }
    text_put(&t, "; no file written\n");
    say(t.s, t.n);
    leave(EXIT_MODEL);
}

/* The texts of those below are on the stack: there may be no memory left. */
static void say_safely(const char *format, va_list args)
{
    char s[1024];
    vsnprintf(s, sizeof s, format, args);
    for (size_t i = 0, n = strlen(s); i < n;) {
        char hex[8];
        int k = s[i] == '\n' ? 1 : safe_sequence((const unsigned char *)s + i, n - i);
        say(k ? s + i : hex, (size_t)(k ? k : snprintf(hex, sizeof hex, "\\x%02X", (unsigned char)s[i])));
        i += k ? (size_t)k : 1;
    }
}

void fail(int exit_code, const char *format, ...)
{
    va_list args;
    say("error: ", 7);
    va_start(args, format);
    say_safely(format, args);
    va_end(args);
    say("\n", 1);
    const char *(*where)(void) = error_where;
    error_where = NULL; /* should there be no memory for it */
    if (where) {
        Text t = {0};
        text_put(&t, "  --> %s%s%s\n", error_file ? error_file : "", error_file ? ": " : "", where());
        say(t.s, t.n);
    }
    leave(exit_code);
}

void bug(const char *format, ...)
{
    va_list args;
    say("internal error: ", 16);
    va_start(args, format);
    say_safely(format, args);
    va_end(args);
    static const char rest[] =
        "\nThis is a mistake in onnxcc " ONNXCC_VERSION ", not in the model; please report it.\n";
    say(rest, sizeof rest - 1);
    leave(EXIT_BUG);
}
