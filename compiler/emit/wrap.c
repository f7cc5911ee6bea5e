/* wrap.c - lines of the emitted C, at most 120 columns wide. */
#include "emit/emit.h"

enum { WIDTH = 120, DEEPEST = 60 };

/* ---- code -------------------------------------------------------------------------------------------------------- */

typedef struct Break {
    int at;      /* the index of a space; 0: none */
    int outside; /* the column after the innermost parenthesis that is open there; -1: none */
} Break;

/* The last place in the first `room` characters of s where a line may end: after a comma or semicolon, else before an
 * operator, or before the comment at the end. */
static Break find_break(const char *s, int room)
{
    Break after_comma = {0, -1}, other = {0, -1};
    int open[DEEPEST], depth = 0;
    bool quoted = false;
    for (int i = 0; s[i] && i <= room; i++) {
        quoted ^= s[i] == '"';
        if (quoted)
            continue;
        if (s[i] == '(' && depth < DEEPEST)
            open[depth++] = i + 1;
        else if (s[i] == ')' && depth)
            depth--;
        const Break here = {i, depth ? open[depth - 1] : -1};
        if (s[i] == ' ' && i && strchr(",;", s[i - 1]))
            after_comma = here;
        else if (s[i] == ' ' && i && strchr("+-*/&|=<>!?:", s[i + 1]))
            other = here;
        if (!strncmp(s + i, " /*", 3))
            return here;
    }
    return after_comma.at ? after_comma : other;
}

void put_wrapped(Text *t, int indent, const char *s)
{
    const int first = indent;
    while (indent + (int)strlen(s) > WIDTH) {
        const Break b = find_break(s, WIDTH - indent);
        if (!b.at)
            break;
        text_put(t, "%*s%.*s\n", indent, "", b.at, s);
        s += b.at + 1;
        indent = b.outside >= 0 && indent + b.outside <= DEEPEST ? indent + b.outside : first + 8;
    }
    text_put(t, "%*s%s\n", indent, "", s);
}

/* ---- lists and comments ------------------------------------------------------------------------------------------ */

void put_piece(Wrapped *w, const char *piece)
{
    const int n = (int)strlen(piece);
    if (w->column && w->column + 1 + n > WIDTH - w->reserve) {
        text_put(w->to, "\n%*s%s", w->indent, "", w->between);
        w->column = w->indent + (int)strlen(w->between);
    } else if (w->column) {
        text_put(w->to, " ");
        w->column++;
    } else {
        text_put(w->to, "%*s%s", w->indent, "", w->first);
        w->column = w->indent + (int)strlen(w->first);
    }
    text_put(w->to, "%s", piece);
    w->column += n;
}
