/* wrap.c - lines of C, at most 120 columns wide. */
#include "base/wrap.h"

#include "base/part.h"

enum {
    WIDTH = 120,
    RIGHTMOST = 60, /* a line may begin below a parenthesis up to this column */
    DEEPEST = 60
};

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* The columns after the parentheses that are open; beyond DEEPEST they are only counted. */
typedef struct Open {
    int after[DEEPEST], depth;
} Open;

/* Passes the first n characters of s, which begin at `column`. */
static void pass_parentheses(Open *o, const char *s, int n, int column)
{
    bool quoted = false;
    for (int i = 0; i < n; i++) {
        quoted ^= s[i] == '"';
        if (!quoted && s[i] == '(' && o->depth++ < DEEPEST)
            o->after[o->depth - 1] = column + i + 1;
        else if (!quoted && s[i] == ')' && o->depth)
            o->depth--;
    }
}

/* The column after the innermost open parenthesis; -1: none is open. */
static int innermost(const Open *o) { return o->depth ? o->after[(o->depth < DEEPEST ? o->depth : DEEPEST) - 1] : -1; }

/* How well a line ends before the space s[i]: after a comma or semicolon, before an operator, between two calls, or not
 * at all. */
static int quality_of_break(const char *s, int i)
{
    if (s[i] != ' ' || !i)
        return 0;
    return strchr(",;", s[i - 1]) ? 3 : strchr("+-*/&|=<>!?:", s[i + 1]) ? 2 : s[i - 1] == ')' ? 1 : 0;
}

/* Where a line of s ends, the index of a space: of the places in its first `room` characters, but not in the first
 * third, within the fewest parentheses the best and last one; before the comment at the end; if there is no such place,
 * behind the last parenthesis that opens there; or else the first place; 0: there is none. */
static int find_break(const char *s, int room)
{
    int best = 0, best_depth = 0, best_quality = 0, depth = 0, opened = 0;
    bool quoted = false;
    for (int i = 0; s[i] && (i <= room || !best); i++) {
        quoted ^= s[i] == '"';
        if (quoted)
            continue;
        if (!strncmp(s + i, " /*", 3))
            return i;
        depth += (s[i] == '(') - (s[i] == ')');
        if (s[i] == '(' && i < room)
            opened = i + 1;
        const int quality = quality_of_break(s, i);
        const bool shallow = best <= room / 3 || depth < best_depth || (depth == best_depth && quality >= best_quality);
        if (quality && (!best || (i > room / 3 && shallow))) {
            best = i;
            best_depth = depth;
            best_quality = quality;
        }
    }
    return opened && (!best || best > room) ? opened : best;
}

/* Lines end with `end`, all but the last. */
static void put_broken(Text *t, int indent, const char *s, const char *end)
{
    const int first = indent, room = WIDTH - (int)strlen(end);
    Open open = {.depth = 0};
    while (indent + (int)strlen(s) > room) {
        const int at = find_break(s, room - indent);
        if (!at)
            break;
        text_put(t, "%*s%.*s%s\n", indent, "", at, s, end);
        pass_parentheses(&open, s, at, indent);
        const int inside = s[at - 1] == '(' ? -1 : innermost(&open);
        s += at + (s[at] == ' ');
        indent = inside >= 0 && inside <= RIGHTMOST ? inside : first + 8;
    }
    text_put(t, "%*s%s", indent, "", s);
}

typedef struct Wrapping {
    bool later;
} Wrapping;
PART(Wrapping, wrapping)

void wrap_later(bool later) { wrapping()->later = later; }

void put_wrapped(Text *t, int indent, const char *s)
{
    if (wrapping()->later)
        text_put(t, "%*s%s", indent, "", s);
    else
        put_broken(t, indent, s, "");
    text_put(t, "\n");
}

void put_wrapped_directive(Text *t, int indent, const char *s, bool continues)
{
    put_broken(t, indent, s, " \\");
    text_put(t, continues ? " \\\n" : "\n");
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

void put_code_piece(Wrapped *w, const char *piece)
{
    if (w->indent + (int)strlen(piece) <= WIDTH) {
        put_piece(w, piece);
        return;
    }
    if (w->column)
        text_put(w->to, "\n");
    put_wrapped(w->to, w->indent, piece);
    w->column = 0;
}
