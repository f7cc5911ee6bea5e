/* fail.c - the calls that end a session. */
#include "base/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/part.h"
#include "base/utf8.h"
#include "base/util.h"

enum { LONGEST = 1024 };

typedef struct Failing {
    const char *file; /* path of the model */
    jmp_buf *exit;
    const BeforeFailing *before;
    const char *text; /* the fatal message, while its place is computed */
    int exit_code;
    const char *code;
} Failing;
PART(Failing, failing)

const char *error_file(void) { return failing()->file; }
void error_set_file(const char *file) { failing()->file = file; }
void before_failing(const BeforeFailing *calls) { failing()->before = calls; }

void leave_session(int code)
{
    if (failing()->exit)
        longjmp(*failing()->exit, code);
    exit(code);
}

int error_catch(void (*f)(void *), void *arg)
{
    jmp_buf here, *const outer = failing()->exit;
    failing()->exit = &here;
    const int code = setjmp(here);
    if (!code)
        f(arg);
    failing()->exit = outer;
    failing()->text = NULL;
    return code;
}

/* The text is composed on the stack, and safe to show. */
static const char *safe_text(char s[LONGEST], const char *format, va_list args)
{
    char plain[LONGEST];
    size_t to = 0;
    vsnprintf(plain, sizeof plain, format, args);
    for (size_t i = 0, n = strlen(plain); i < n;) {
        int k = plain[i] == '\n' ? 1 : utf8_printable(plain + i, n - i), size = k ? k : 4;
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

static void flush(void)
{
    if (failing()->before)
        failing()->before->flush();
}

static _Noreturn void end_with(int exit_code, const Message *m)
{
    flush();
    say_message(m);
    leave_session(exit_code);
}

void fail_as(int exit_code, const char *code, const char *format, ...)
{
    Failing *const f = failing();
    char s[LONGEST];
    va_list args;
    if (f->text) /* computing its place failed, too: out of memory */
        end_with(f->exit_code, &(Message){SAY_ERROR, f->code, "", f->text, ""});
    va_start(args, format);
    f->text = safe_text(s, format, args);
    f->exit_code = exit_code;
    f->code = code;
    va_end(args);
    flush();
    const char *path = "", *const place = f->before ? f->before->place(&path) : "";
    end_with(exit_code, &(Message){SAY_ERROR, code, place, s, path});
}

void fail_session(int exit_code, Severity severity, const char *code, const char *format, ...)
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
