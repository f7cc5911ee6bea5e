/* codes.c - the table of codes, and which warnings are shown. */
#include "base/codes.h"

#include <string.h>
#include <strings.h>

#include "base/session.h"

const MessageCode code_rows[] = {
#define CODE(code, ...) {code, "", __VA_ARGS__},
#define WARNING(...) {__VA_ARGS__},
#include "base/codes.def"
#undef CODE
#undef WARNING
};
enum { CODES = sizeof code_rows / sizeof *code_rows };
const int code_count = CODES;

typedef enum Choice { AS_ALL, OFF, WARNING, ERROR } Choice; /* for one code */
typedef struct Choices {
    unsigned char of[CODES];
    bool strict, all, none, error;
} Choices;
PART(Choices, choices)

const MessageCode *code_find(const char *s)
{
    for (int i = 0; i < CODES; i++)
        if (!strcasecmp(code_rows[i].code, s) || (*s && !strcmp(code_rows[i].warning, s)))
            return &code_rows[i];
    return NULL;
}

Outcome warning_outcome(Warning kind, const char *code)
{
    const Choices *const c = choices();
    const MessageCode *const row = code_find(code);
    switch (row ? (Choice)c->of[row - code_rows] : AS_ALL) {
    case OFF: return SHOW_NOTHING;
    case ERROR: return SHOW_ERROR;
    case WARNING: return c->none ? SHOW_NOTHING : SHOW_WARNING;
    case AS_ALL: break;
    }
    if ((kind == WARN_STRICT || kind == WARN_PEDANTIC) && c->strict)
        return SHOW_ERROR;
    if (kind >= WARN_PEDANTIC && !c->all)
        return SHOW_NOTHING;
    return c->error ? SHOW_ERROR : c->none ? SHOW_NOTHING : SHOW_WARNING;
}

/* Takes `start` off the beginning of *s. */
static bool skip(const char **s, const char *start)
{
    const size_t n = strlen(start);
    if (strncmp(*s, start, n))
        return false;
    *s += n;
    return true;
}

bool warnings_set(const char *s)
{
    Choices *const c = choices();
    const bool no = skip(&s, "no-");
    const bool error = !strcmp(s, "error") || !strncmp(s, "error=", 6);
    if (!strcmp(s, "error"))
        return c->error = !no, true;
    if (!strcmp(s, "all"))
        return c->all = !no, true;
    if (error)
        s += 6;
    const MessageCode *const row = code_find(s);
    if (!row || !*row->warning)
        return false;
    c->of[row - code_rows] = error ? (no ? WARNING : ERROR) : no ? OFF : WARNING;
    return true;
}

void warnings_strict(void) { choices()->strict = true; }
void warnings_all(void) { choices()->all = true; }
void warnings_none(void) { choices()->none = true; }
