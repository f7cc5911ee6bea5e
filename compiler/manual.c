/* manual.c - what is made from the table of options: --help, the man page, and completions for the shells. The texts
 * around them are templates. */
#include "manual.h"

#include <ctype.h>

#include "base/codes.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/process.h"
#include "emit/source.h"

static bool is_group(const OptionRow *o) { return !o->set; }
static bool may_omit(const OptionRow *o) { return o->argument && *o->argument == '['; }
static const char *dashes(const OptionRow *o) { return isupper((unsigned char)*o->name) ? "-" : "--"; }

/* "NAME" of "NAME" and "[NAME]" */
static const char *argument_name(const OptionRow *o)
{
    const char *s = o->argument + may_omit(o);
    return text_format("%.*s", (int)strcspn(s, "]"), s);
}

static bool has_words(const OptionRow *o) { return *o->values && *o->values != '@'; }

/* A letter whose value is one of some words is completed as a word of its own: -Werror. */
static bool is_attached(const OptionRow *o) { return !o->name && has_words(o); }

/* The help, and what the argument may be: "FORMAT: text, markdown or json". */
static const char *whole_help(const OptionRow *o)
{
    Text t = {0};
    text_put(&t, "%s", o->help);
    if (!has_words(o) || is_attached(o))
        return t.s;
    text_put(&t, "; %s: ", argument_name(o));
    for (const char *s = o->values; *s;) {
        const size_t n = strcspn(s, " ");
        const bool last = !s[n] || !strchr(s + n + 1, ' ');
        text_put(&t, "%.*s%s", (int)n, s, !s[n] ? "" : last ? " or " : ", ");
        s += n + (s[n] == ' ');
    }
    return t.s;
}

/* Fills the template's holes: @NAME@, followed by a newline or in a line. */
typedef struct Filling {
    const char *name, *text;
} Filling;

static void print_filled(const char *template, const Filling *holes)
{
    const char *s = embedded_text(template);
    Text t = {0};
    for (const char *at; (at = strchr(s, '@')) != NULL;) {
        const Filling *h = holes;
        while (h->name && strncmp(h->name, at, strlen(h->name)))
            h++;
        text_bytes(&t, s, (size_t)(at - s) + !h->name);
        text_put(&t, "%s", h->name ? h->text : "");
        s = at + (h->name ? strlen(h->name) : 1);
    }
    text_put(&t, "%s", s);
    fputs(t.s, stdout);
    process_done();
}

/* ---- --help ------------------------------------------------------------------------------------------------------ */

enum { WIDTH = 79, INDENT = 26 };

/* Appends s in lines of at most WIDTH columns, which begin at `indent`; the first line has `at` columns already. */
static void put_wrapped(Text *t, const char *s, int at, int indent)
{
    text_put(t, at > indent ? "\n%*s" : "%*s", at > indent ? indent : indent - at, "");
    at = indent;
    for (size_t n; *s; s += n + (s[n] == ' ')) {
        n = strcspn(s, " ");
        if (at > indent && at + 1 + (int)n > WIDTH) {
            text_put(t, "\n%*s", indent, "");
            at = indent;
        }
        text_put(t, at > indent ? " %.*s" : "%.*s", (int)n, s);
        at += (at > indent) + (int)n;
    }
    text_put(t, "\n");
}

static void put_help(Text *t, const OptionRow *o)
{
    const size_t start = t->n;
    text_put(t, o->letter ? "  -%c" : "   ", o->letter);
    if (o->name && dashes(o)[1])
        text_put(t, "%s--%s", o->letter ? ", " : "   ", o->name);
    else if (o->name) {
        t->n = start;
        text_put(t, "  -%s", o->name);
    }
    if (o->argument)
        text_put(t, may_omit(o) ? "[=%s]" : " %s", argument_name(o));
    const int at = (int)(t->n - start);
    put_wrapped(t, whole_help(o), at > INDENT - 2 ? INDENT + 1 : at, INDENT);
}

void print_help(const OptionRow *rows, int n)
{
    Text t = {0};
    text_put(
        &t,
        "usage: onnxcc MODEL [-o FILE|-] [options]\n       onnxcc verify MODEL [DATA] [options]\n       onnxcc profile MODEL [DATA] [options]\n"
        "       onnxcc size MODEL [options]\n       onnxcc stack MODEL [options]\n"
        "Compiles an ONNX model into one C file and its header.\n");
    for (const OptionRow *o = rows; o < rows + n; o++)
        if (is_group(o))
            text_put(&t, "\n%s\n", o->help);
        else
            put_help(&t, o);
    text_put(&t, "\nMODEL - is standard input. Exit: 0 done, 1 model rejected, 2 usage,\n"
                 "3 input or output, 70 a bug of onnxcc.\n");
    fputs(t.s, stdout);
    process_done();
}

/* ---- the man page ------------------------------------------------------------------------------------------------ */

static void put_troff(Text *t, const char *s)
{
    size_t line = t->n;
    for (; *s; s++) {
        const bool fresh = !t->n || t->s[t->n - 1] == '\n';
        if (*s == '-')
            text_put(t, "\\-");
        else if (*s == '\\')
            text_put(t, "\\e");
        else if (*s == ' ' && t->n - line > 60) {
            text_put(t, "\n");
            line = t->n;
        } else
            text_put(t, fresh && (*s == '\'' || *s == '.') ? "\\&%c" : "%c", *s);
    }
}

static void put_manual(Text *t, const OptionRow *o)
{
    if (is_group(o)) {
        text_put(t, ".SS ");
        put_troff(t, text_format("%.*s", (int)strcspn(o->help, ":"), o->help));
        text_put(t, "\n");
        if (strchr(o->help, ':')) {
            put_troff(t, strchr(o->help, ':') + 2);
            text_put(t, ".\n");
        }
        return;
    }
    text_put(t, ".TP\n\\fB");
    if (o->letter)
        text_put(t, "\\-%c%s", o->letter, o->name ? "\\fR, \\fB" : "");
    if (o->name)
        put_troff(t, text_format("%s%s", dashes(o), o->name));
    text_put(t, "\\fR");
    if (o->argument) {
        text_put(t, may_omit(o) ? "[=\\fI" : " \\fI");
        put_troff(t, argument_name(o));
        text_put(t, may_omit(o) ? "\\fR]" : "\\fR");
    }
    text_put(t, "\n");
    put_troff(t, whole_help(o));
    text_put(t, "\n");
}

void print_man(const OptionRow *rows, int n)
{
    Text t = {0};
    for (const OptionRow *o = rows; o < rows + n; o++)
        put_manual(&t, o);
    if (t.n && t.s[t.n - 1] == '\n')
        t.s[--t.n] = 0;
    print_filled("man.in", (Filling[]){{"@VERSION@", ONNXCC_VERSION}, {"@OPTIONS@", t.s}, {NULL, NULL}});
}

/* ---- --explain --------------------------------------------------------------------------------------------------- */

static void put_explanation(Text *t, const MessageCode *c)
{
    static const char *const names[] = {"Rule", "Example", "To do"};
    const char *const texts[] = {c->rule, c->example, c->remedy};
    text_put(t, *c->warning ? "%s (warning: -W%s)\n" : "%s\n", c->code, c->warning);
    for (int i = 0; i < 3; i++) {
        text_put(t, "  %-8s", names[i]);
        put_wrapped(t, texts[i], 10, 10);
    }
}

void print_explanation(const char *code)
{
    const MessageCode *const row = code_find(code);
    Nearest near = nearest_to(code, strlen(code));
    Text t = {0};
    for (int i = 0; i < code_count; i++) {
        nearest_try(&near, code_rows[i].code, strlen(code_rows[i].code));
        nearest_try(&near, code_rows[i].warning, strlen(code_rows[i].warning));
        if (row == &code_rows[i] || !strcmp(code, "all"))
            put_explanation(&t, &code_rows[i]);
    }
    if (!t.n) {
        message_at(SAY_USAGE, "", "ARG-02", "--explain %s: no message has this code", code);
        nearest_help(&near);
        leave_session(EXIT_USAGE);
    }
    fputs(t.s, stdout);
    process_done();
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

/* The help's first phrase, with `escaped` characters after a backslash, for a string in single quotes. */
static void put_phrase(Text *t, const OptionRow *o, const char *escaped, const char *quote)
{
    for (const char *s = o->help; *s && *s != ';' && *s != ':' && *s != '('; s++) {
        if (s[0] == ' ' && (s[1] == '(' || !s[1]))
            break;
        if (*s == '\'')
            text_put(t, "%s", quote);
        else
            text_put(t, strchr(escaped, *s) ? "\\%c" : "%c", *s);
    }
}

/* "-o", "--prefix", "-v --verbose" */
static void put_spellings(Text *t, const OptionRow *o, const char *between, const char *after)
{
    if (o->letter)
        text_put(t, "-%c%s", o->letter, o->name ? between : after);
    if (o->name)
        text_put(t, "%s%s%s", dashes(o), o->name, after);
}

static void put_bash_values(Text *t, const OptionRow *o)
{
    static const char files[] = "compopt -o filenames; COMPREPLY=($(compgen -%c -- \"$cur\"))";
    if (!o->argument || is_attached(o))
        return;
    text_put(t, "    ");
    if (!may_omit(o))
        put_spellings(t, o, "|", o->name && dashes(o)[1] ? "|" : "");
    if (o->name && dashes(o)[1])
        text_put(t, "--%s=", o->name);
    text_put(t, ") ");
    if (*o->values == '@')
        text_put(t, files, strcmp(o->values, FILES) ? 'd' : 'f');
    else if (*o->values)
        text_put(t, "COMPREPLY=($(IFS=' '; compgen -W '%s' -- \"$cur\"))", o->values);
    text_put(t, *o->values ? "; return;;\n" : "return;;\n");
}

static void put_bash_option(Text *t, const OptionRow *o)
{
    text_put(t, "            ");
    if (is_attached(o))
        for (const char *s = o->values; *s;) {
            const size_t n = strcspn(s, " ");
            text_put(t, "-%c%.*s ", o->letter, (int)n, s);
            s += n + (s[n] == ' ');
        }
    else
        put_spellings(t, o, " ", "");
    text_put(t, "\n");
}

/* How the value follows the option: in the same word, after "=", in either way. */
static const char *zsh_joint(const OptionRow *o)
{
    if (is_attached(o))
        return "-";
    return may_omit(o) ? "=-" : o->name && dashes(o)[1] ? "=" : "+";
}

static const char *zsh_values(const OptionRow *o)
{
    if (has_words(o))
        return text_format("(%s)", o->values);
    return !*o->values ? " " : strcmp(o->values, FILES) ? "_files -/" : "_files";
}

static void put_zsh(Text *t, const OptionRow *o)
{
    text_put(t, "    '*");
    if (o->letter && o->name)
        text_put(t, "'{-%c,--%s}'", o->letter, o->name);
    else
        put_spellings(t, o, "", "");
    text_put(t, "%s[", o->argument ? zsh_joint(o) : "");
    put_phrase(t, o, "[]\\", "'\\''");
    text_put(t, "]");
    if (o->argument)
        text_put(t, "%s:%s:%s", may_omit(o) ? ":" : "", argument_name(o), zsh_values(o));
    text_put(t, "' \\\n");
}

/* An argument that may be left out is none to fish: --report=json is an option of its own. */
static void put_fish_words(Text *t, const OptionRow *o)
{
    for (const char *s = o->values; *s;) {
        const size_t n = strcspn(s, " ");
        text_put(t, "complete -c onnxcc -l %s=%.*s -d '%s'\n", o->name, (int)n, s, argument_name(o));
        s += n + (s[n] == ' ');
    }
}

static void put_fish(Text *t, const OptionRow *o)
{
    text_put(t, "complete -c onnxcc");
    if (o->letter)
        text_put(t, " -s %c", o->letter);
    if (o->name)
        text_put(t, " -%c %s", dashes(o)[1] ? 'l' : 'o', o->name);
    if (o->argument && !strcmp(o->values, FILES))
        text_put(t, " -r -F");
    else if (o->argument && !strcmp(o->values, FOLDERS))
        text_put(t, " -x -a '(__fish_complete_directories)'");
    else if (o->argument && !may_omit(o))
        text_put(t, " -x -a '%s'", o->values);
    text_put(t, " -d '");
    put_phrase(t, o, "\\", "\\'");
    text_put(t, "'\n");
    if (may_omit(o))
        put_fish_words(t, o);
}

/* `put` of every row, without the last newline. */
static const char *each_option(void (*put)(Text *, const OptionRow *), const OptionRow *rows, int n)
{
    Text t = {0};
    for (const OptionRow *o = rows; o < rows + n; o++)
        if (!is_group(o))
            put(&t, o);
    t.s[t.n - 1] = 0;
    return t.s;
}

void print_completions(const char *shell, const OptionRow *rows, int n)
{
    if (!strcmp(shell, "bash"))
        print_filled("bash.in", (Filling[]){{"@VALUES@", each_option(put_bash_values, rows, n)},
                                            {"@OPTIONS@", each_option(put_bash_option, rows, n)},
                                            {NULL, NULL}});
    if (!strcmp(shell, "zsh"))
        print_filled("zsh.in", (Filling[]){{"@OPTIONS@", each_option(put_zsh, rows, n)}, {NULL, NULL}});
    if (!strcmp(shell, "fish"))
        print_filled("fish.in", (Filling[]){{"@OPTIONS@", each_option(put_fish, rows, n)}, {NULL, NULL}});
    usage("--completions=%s: expected bash, zsh or fish", shell);
}
