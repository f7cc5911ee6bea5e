/* regex_parse.c - parses a regular expression into a tree of pieces. */
#include "base/regex_parse.h"

enum { MAX_REPEAT = 1000, MAX_DEEP = 200 };
enum { KELVIN_SIGN = 0x212A, LONG_S = 0x17F }; /* outside ASCII, but equal to k and s without regard to case */

typedef struct Parser {
    const unsigned char *s;
    int n, at, depth;
    const char *error;
    struct Flags {
        bool fold, dot_all, lines; /* i, s, m */
    } flags;
    bool quoted; /* between \Q and \E */
} Parser;

static Piece *piece(enum PieceKind kind)
{
    Piece *p = NEW(Piece);
    p->kind = kind;
    return p;
}

static Piece *wrong(Parser *p, const char *why)
{
    if (!p->error)
        p->error = why;
    return piece(NOTHING);
}

/* ---- sets of characters ------------------------------------------------------------------------------------------ */

static void add_range(Piece *set, uint32_t from, uint32_t to)
{
    vec_push(&set->range, from);
    vec_push(&set->range, to);
}

/* Without regard to case, East Asian scripts, which have no case, are the only characters outside ASCII supported. */
static bool is_caseless(uint32_t from, uint32_t to) { return from >= 0x2E80 && to < 0xA640; }

static void add_folded(Parser *p, Piece *set, uint32_t from, uint32_t to)
{
    if (to >= 0x80 && !is_caseless(from, to))
        wrong(p, "characters outside ASCII under (?i), which is not supported");
    add_range(set, from, to);
    if ((from <= 'k' && to >= 'k') || (from <= 'K' && to >= 'K'))
        add_range(set, KELVIN_SIGN, KELVIN_SIGN);
    if ((from <= 's' && to >= 's') || (from <= 'S' && to >= 'S'))
        add_range(set, LONG_S, LONG_S);
    for (uint32_t c = 'a'; c <= 'z'; c++) {
        if (c >= from && c <= to)
            add_range(set, c - 32, c - 32);
        if (c - 32 >= from && c - 32 <= to)
            add_range(set, c, c);
    }
}

static void negate(Piece *set)
{
    Piece out = {.kind = SET};
    for (uint32_t from = 0; from <= LAST_CHARACTER;) { /* each gap between the ranges */
        uint32_t next = LAST_CHARACTER + 1;
        bool inside = false;
        for (int i = 0; i < set->range.n; i += 2) {
            uint32_t a = set->range.at[i], b = set->range.at[i + 1];
            if (a <= from && from <= b) {
                from = b + 1;
                inside = true;
            } else if (a > from && a < next)
                next = a;
        }
        if (inside)
            continue;
        add_range(&out, from, next - 1);
        from = next;
    }
    memcpy(&set->range, &out.range, sizeof set->range);
}

/* "09AZ": pairs of the first and the last character. */
static void add_ranges(Piece *set, const char *pairs)
{
    for (; *pairs; pairs += 2)
        add_range(set, (unsigned char)pairs[0], (unsigned char)pairs[1]);
}

/* \d \w \s and their complements. */
static bool add_class(Piece *set, int c)
{
    Piece of = {.kind = SET};
    switch (c | 32) {
    case 'd': add_ranges(&of, "09"); break;
    case 'w': add_ranges(&of, "09AZ__az"); break;
    case 's': add_ranges(&of, "\t\n\f\r  "); break;
    default: return false;
    }
    if (c < 'a')
        negate(&of);
    for (int i = 0; i < of.range.n; i++)
        vec_push(&set->range, of.range.at[i]);
    return true;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static bool take(Parser *p, char c)
{
    if (p->at < p->n && p->s[p->at] == (unsigned char)c)
        return p->at++, true;
    return false;
}

static uint32_t code_point(Parser *p)
{
    uint32_t c = p->s[p->at++];
    int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC2 ? 1 : 0;
    c &= more ? 0x3Fu >> more : 0xFF;
    while (more-- && p->at < p->n && (p->s[p->at] & 0xC0) == 0x80)
        c = c << 6 | (p->s[p->at++] & 0x3F);
    return c;
}

static uint32_t hexadecimal(Parser *p)
{
    uint32_t v = 0;
    bool braces = take(p, '{');
    for (int i = 0; p->at < p->n && (braces || i < 2); i++) {
        int c = p->s[p->at];
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0)
            break;
        v = v * 16 + (uint32_t)digit;
        p->at++;
        if (v > LAST_CHARACTER)
            wrong(p, "a character beyond the last one");
    }
    if (braces && !take(p, '}'))
        wrong(p, "a missing }");
    return v;
}

/* The character that follows a backslash. */
static uint32_t escaped(Parser *p)
{
    if (p->at >= p->n) {
        wrong(p, "a backslash at the end");
        return 0;
    }
    uint32_t c = code_point(p);
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'f': return '\f';
    case 'v': return '\v';
    case 'a': return 7;
    case 'x': return hexadecimal(p);
    default: break;
    }
    if ((c | 32) >= 'a' && (c | 32) <= 'z')
        wrong(p, "an escape that is not supported");
    if (c >= '0' && c <= '9')
        wrong(p, "a back reference");
    return c;
}

static bool read_posix_class(Parser *p, Piece *set)
{
    static const struct {
        const char *name, *ranges;
    } classes[] = {{"alnum", "09AZaz"},
                   {"alpha", "AZaz"},
                   {"digit", "09"},
                   {"lower", "az"},
                   {"upper", "AZ"},
                   {"xdigit", "09AFaf"},
                   {"space", "\t\r  "},
                   {"blank", "\t\t  "},
                   {"punct", "!/:@[`{~"},
                   {"word", "09AZaz__"},
                   {"cntrl", "\001\037\177\177"},
                   {"graph", "!~"},
                   {"print", " ~"}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        size_t n = strlen(classes[i].name);
        if ((size_t)(p->n - p->at) >= n + 4 && !memcmp(p->s + p->at, "[:", 2) &&
            !memcmp(p->s + p->at + 2, classes[i].name, n) && !memcmp(p->s + p->at + 2 + n, ":]", 2)) {
            add_ranges(set, classes[i].ranges);
            p->at += (int)n + 4;
            return true;
        }
    }
    return false;
}

static Piece *bracket(Parser *p)
{
    Piece *set = piece(SET);
    bool not = take(p, '^');
    for (bool first = true; !(p->at < p->n && p->s[p->at] == ']' && !first); first = false) {
        if (p->at >= p->n)
            return wrong(p, "a missing ]");
        if (read_posix_class(p, set))
            continue;
        bool escape = take(p, '\\');
        if (escape && p->at < p->n && add_class(set, p->s[p->at])) {
            p->at++;
            continue;
        }
        uint32_t from = escape ? escaped(p) : code_point(p), to = from;
        if (p->at + 1 < p->n && p->s[p->at] == '-' && p->s[p->at + 1] != ']') {
            p->at++;
            to = take(p, '\\') ? escaped(p) : code_point(p);
            if (to < from)
                return wrong(p, "a range that ends before it starts");
        }
        if (p->flags.fold)
            add_folded(p, set, from, to);
        else
            add_range(set, from, to);
    }
    p->at++;
    if (not)
        negate(set);
    return set;
}

static Piece *alternatives(Parser *p);

/* After "(": "?:", "?i:", "?P<name>", "?i)". False: no group, but flags for the rest of the enclosing one. */
static bool read_group_head(Parser *p)
{
    if (!take(p, '?'))
        return true;
    bool named = take(p, 'P');
    if (named || (p->at < p->n && p->s[p->at] == '<')) {
        if (!take(p, '<') || (p->at < p->n && (p->s[p->at] == '=' || p->s[p->at] == '!')))
            wrong(p, "a group that is not supported");
        while (p->at < p->n && !take(p, '>'))
            p->at++;
        return true;
    }
    for (bool on = true; p->at < p->n;) {
        char c = (char)p->s[p->at++];
        if (c == ':')
            return true;
        if (c == ')')
            return false;
        if (c == '-')
            on = false;
        else if (c == 'i')
            p->flags.fold = on;
        else if (c == 's')
            p->flags.dot_all = on;
        else if (c == 'm')
            p->flags.lines = on;
        else if (c != 'U') /* greediness has no effect when the whole text must match */
            break;
    }
    wrong(p, "a group that is not supported");
    return true;
}

static Piece *group(Parser *p)
{
    const struct Flags outside = p->flags;
    if (!read_group_head(p))
        return piece(NOTHING);
    if (++p->depth > MAX_DEEP)
        return wrong(p, "groups nested too deep");
    Piece *inside = alternatives(p);
    p->depth--;
    if (!take(p, ')'))
        return wrong(p, "a missing )");
    p->flags = outside;
    return inside;
}

static Piece *test(char c)
{
    Piece *t = piece(TEST);
    t->test = c;
    return t;
}

static Piece *literal(Parser *p)
{
    Piece *set = piece(SET);
    uint32_t one = code_point(p);
    if (p->flags.fold)
        add_folded(p, set, one, one);
    else
        add_range(set, one, one);
    return set;
}

static Piece *atom(Parser *p)
{
    if (p->quoted)
        return literal(p);
    Piece *set = piece(SET);
    char c = (char)p->s[p->at];
    if (c == '(')
        return p->at++, group(p);
    if (c == '[')
        return p->at++, bracket(p);
    if (c == '^' || c == '$')
        return p->at++, test(c == '^' ? (p->flags.lines ? 'm' : '^') : (p->flags.lines ? 'M' : '$'));
    if (c == '*' || c == '+' || c == '?' || c == ')')
        return wrong(p, c == ')' ? "a ) without a (" : "a repeat of nothing");
    if (c == '.') {
        p->at++;
        if (!p->flags.dot_all)
            add_range(set, '\n', '\n');
        negate(set);
        return set;
    }
    if (take(p, '\\')) {
        c = p->at < p->n ? (char)p->s[p->at] : 0;
        if (c == 'b' || c == 'B' || c == 'A' || c == 'z')
            return p->at++, test(c == 'A' ? '^' : c == 'z' ? '$' : c);
        if (add_class(set, c))
            return p->at++, set;
        uint32_t one = escaped(p);
        add_range(set, one, one);
        return set;
    }
    return literal(p);
}

/* "{2}", "{2,}", "{2,5}"; otherwise { is a literal. */
static bool read_counts(Parser *p, int *low, int *high)
{
    int at = p->at, v[2] = {0, -1}, k = 0;
    for (bool digits = false;; at++) {
        char c = at < p->n ? (char)p->s[at] : 0;
        if (c >= '0' && c <= '9') {
            v[k] = (v[k] < 0 ? 0 : v[k]) * 10 + c - '0';
            digits |= k == 0;
            if (v[k] > MAX_REPEAT)
                wrong(p, "more than 1000 repeats");
        } else if (c == ',' && digits && !k)
            k = 1;
        else if (c == '}' && digits)
            break;
        else
            return false;
        if (p->error)
            return false;
    }
    p->at = at + 1;
    *low = v[0];
    *high = k ? v[1] : v[0];
    if (*high >= 0 && *high < *low)
        wrong(p, "a repeat whose bounds are the wrong way round");
    return true;
}

/* The repeat counts after a piece; false: there are none. */
static bool read_repeat(Parser *p, int *low, int *high)
{
    int at = p->at;
    *low = p->at < p->n && p->s[p->at] == '+';
    *high = -1;
    if (take(p, '?'))
        *high = 1;
    else if (!take(p, '*') && !take(p, '+') && (!take(p, '{') || !read_counts(p, low, high))) {
        p->at = at;
        return false;
    }
    take(p, '?');
    return true;
}

/* Reads \Q and \E, between which all characters are literal. */
static void quotes(Parser *p)
{
    while (p->at + 1 < p->n && p->s[p->at] == '\\' && p->s[p->at + 1] == (p->quoted ? 'E' : 'Q')) {
        p->quoted = !p->quoted;
        p->at += 2;
    }
}

static Piece *repeated(Parser *p)
{
    int low, high;
    Piece *x = atom(p);
    quotes(p);
    if (p->error || p->quoted || !read_repeat(p, &low, &high))
        return x;
    Piece *r = piece(REPEAT);
    r->low = low;
    r->high = high;
    vec_push(&r->part, x);
    if (!p->error && read_repeat(p, &low, &high))
        wrong(p, "a repeat of a repeat");
    quotes(p);
    return r;
}

static Piece *sequence(Parser *p)
{
    Piece *all = piece(JOIN);
    quotes(p);
    while (p->at < p->n && (p->quoted || (p->s[p->at] != '|' && p->s[p->at] != ')')) && !p->error)
        vec_push(&all->part, repeated(p));
    return all;
}

static Piece *alternatives(Parser *p)
{
    Piece *all = piece(EITHER);
    do
        vec_push(&all->part, sequence(p));
    while (take(p, '|') && !p->error);
    return all;
}

Piece *regex_parse(Name pattern, const char **error, int *at)
{
    Parser p = {.s = (const unsigned char *)pattern->s, .n = (int)pattern->n};
    Piece *all = alternatives(&p);
    if (!p.error && p.at < p.n)
        wrong(&p, "a ) without a (");
    *error = p.error;
    *at = p.at;
    return all;
}
