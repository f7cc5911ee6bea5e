/* regex.c - a regular expression as a table that walks over bytes: parsed into instructions that run in parallel, and the
 * sets of instructions that are alive together become the states of the table (Thompson's construction). */
#include "regex.h"

enum { MOST_INSTRUCTIONS = 20000, MOST_STATES = 8000, MOST_REPEAT = 1000, MOST_DEEP = 200 };

/* ---- instructions -------------------------------------------------------------------------------------------------- */

typedef struct Instruction {
    enum { BYTES, SPLIT, ASSERT, MATCH } op;
    uint64_t set[4];    /* BYTES: which ones */
    char assert;        /* '^' '$' of the text, 'm' 'M' of a line, 'b' 'B' */
    int to, other;      /* SPLIT goes on at both */
} Instruction;

/* A piece of the expression: a tree, because repeats are made by compiling it again. */
typedef struct Piece {
    enum PieceKind { SET, JOIN, EITHER, REPEAT, TEST, NOTHING } kind;
    VEC(uint32_t) range;        /* SET: pairs of code points, inclusive */
    VEC(struct Piece *) part;
    int low, high;              /* REPEAT; high -1: any number */
    char test;
} Piece;

typedef struct Parser {
    const unsigned char *s;
    int n, at, depth;
    const char *error;
    bool fold, dot_all, lines;  /* flags i, s, m */
    VEC(Instruction) code;
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

/* ---- sets of characters ---------------------------------------------------------------------------------------------- */

static const uint32_t LAST = 0x10FFFF;

static void add_range(Piece *set, uint32_t from, uint32_t to)
{
    vec_push(&set->range, from);
    vec_push(&set->range, to);
}

static void add_folded(Piece *set, uint32_t from, uint32_t to)
{
    add_range(set, from, to);
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
    for (uint32_t from = 0; from <= LAST;) { /* the next gap */
        uint32_t next = LAST + 1;
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

/* \d \w \s and their opposites. */
static bool add_class(Piece *set, int c)
{
    Piece of = {.kind = SET};
    switch (c | 32) {
    case 'd': add_range(&of, '0', '9'); break;
    case 'w': add_range(&of, '0', '9'), add_range(&of, 'A', 'Z'), add_range(&of, '_', '_'), add_range(&of, 'a', 'z'); break;
    case 's': add_range(&of, '\t', '\n'), add_range(&of, '\f', '\r'), add_range(&of, ' ', ' '); break;
    default: return false;
    }
    if (c < 'a')
        negate(&of);
    for (int i = 0; i < of.range.n; i++)
        vec_push(&set->range, of.range.at[i]);
    return true;
}

/* ---- parsing ------------------------------------------------------------------------------------------------------------ */

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
        if (v > LAST)
            wrong(p, "a character beyond the last one");
    }
    if (braces && !take(p, '}'))
        wrong(p, "a missing }");
    return v;
}

/* After a backslash: one character. */
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

static bool posix_class(Parser *p, Piece *set)
{
    static const struct {
        const char *name, *ranges;
    } classes[] = {{"alnum", "09AZaz"}, {"alpha", "AZaz"}, {"digit", "09"}, {"lower", "az"}, {"upper", "AZ"}, {"xdigit", "09AFaf"},
                   {"space", "\t\r  "}, {"blank", "\t\t  "}, {"punct", "!/:@[`{~"}, {"word", "09AZaz__"}, {"cntrl", "\001\037\177\177"},
                   {"graph", "!~"}, {"print", " ~"}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        size_t n = strlen(classes[i].name);
        if ((size_t)(p->n - p->at) >= n + 4 && !memcmp(p->s + p->at, "[:", 2) && !memcmp(p->s + p->at + 2, classes[i].name, n) &&
            !memcmp(p->s + p->at + 2 + n, ":]", 2)) {
            for (const char *r = classes[i].ranges; *r; r += 2)
                add_range(set, (unsigned char)r[0], (unsigned char)r[1]);
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
        if (posix_class(p, set))
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
        if (p->fold)
            add_folded(set, from, to);
        else
            add_range(set, from, to);
    }
    p->at++;
    if (not)
        negate(set);
    return set;
}

static Piece *alternatives(Parser *p);

/* After "(": "?:", "?i:", "?P<name>", "?i)". False: only flags, up to the end of the group around. */
static bool group_head(Parser *p)
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
            p->fold = on;
        else if (c == 's')
            p->dot_all = on;
        else if (c == 'm')
            p->lines = on;
        else if (c != 'U') /* greedy or not is the same, for all of the text has to match */
            break;
    }
    wrong(p, "a group that is not supported");
    return true;
}

static Piece *group(Parser *p)
{
    bool fold = p->fold, dot_all = p->dot_all, lines = p->lines;
    if (!group_head(p))
        return piece(NOTHING);
    if (++p->depth > MOST_DEEP)
        return wrong(p, "groups nested too deep");
    Piece *inside = alternatives(p);
    p->depth--;
    if (!take(p, ')'))
        return wrong(p, "a missing )");
    p->fold = fold;
    p->dot_all = dot_all;
    p->lines = lines;
    return inside;
}

static Piece *test(char c)
{
    Piece *t = piece(TEST);
    t->test = c;
    return t;
}

static Piece *atom(Parser *p)
{
    Piece *set = piece(SET);
    char c = (char)p->s[p->at];
    if (c == '(')
        return p->at++, group(p);
    if (c == '[')
        return p->at++, bracket(p);
    if (c == '^' || c == '$')
        return p->at++, test(c == '^' ? (p->lines ? 'm' : '^') : (p->lines ? 'M' : '$'));
    if (c == '*' || c == '+' || c == '?' || c == ')')
        return wrong(p, c == ')' ? "a ) without a (" : "a repeat of nothing");
    if (c == '.') {
        p->at++;
        if (!p->dot_all)
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
    uint32_t one = code_point(p);
    if (p->fold)
        add_folded(set, one, one);
    else
        add_range(set, one, one);
    return set;
}

/* "{2}", "{2,}", "{2,5}"; anything else after { is text. */
static bool counts(Parser *p, int *low, int *high)
{
    int at = p->at, v[2] = {0, -1}, k = 0;
    for (bool digits = false;; at++) {
        char c = at < p->n ? (char)p->s[at] : 0;
        if (c >= '0' && c <= '9') {
            v[k] = (v[k] < 0 ? 0 : v[k]) * 10 + c - '0';
            digits |= k == 0;
            if (v[k] > MOST_REPEAT)
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

static Piece *repeated(Parser *p)
{
    Piece *x = atom(p);
    while (p->at < p->n && !p->error) {
        int low, high, at = p->at;
        if (take(p, '*'))
            low = 0, high = -1;
        else if (take(p, '+'))
            low = 1, high = -1;
        else if (take(p, '?'))
            low = 0, high = 1;
        else if (!take(p, '{') || !counts(p, &low, &high)) {
            p->at = at;
            break;
        }
        take(p, '?');
        Piece *r = piece(REPEAT);
        r->low = low;
        r->high = high;
        vec_push(&r->part, x);
        x = r;
    }
    return x;
}

static Piece *sequence(Parser *p)
{
    Piece *all = piece(JOIN);
    while (p->at < p->n && p->s[p->at] != '|' && p->s[p->at] != ')' && !p->error)
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

/* ---- instructions, from the end to the start: each piece goes on at `next`; where it starts ------------------------------- */

static int add(Parser *p, Instruction i)
{
    if (p->code.n >= MOST_INSTRUCTIONS)
        wrong(p, "too many repeats");
    else
        vec_push(&p->code, i);
    return p->code.n - 1;
}

static int either(Parser *p, int a, int b) { return a < 0 ? b : b < 0 ? a : add(p, (Instruction){.op = SPLIT, .to = a, .other = b}); }

static int bytes_code(Parser *p, int from, int to, int next)
{
    Instruction i = {.op = BYTES, .to = next};
    for (int b = from; b <= to; b++)
        i.set[b / 64] |= 1ull << b % 64;
    return add(p, i);
}

static int utf8(uint32_t c, unsigned char *s)
{
    if (c < 0x80)
        return s[0] = (unsigned char)c, 1;
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, c >>= 6)
        s[i] = (unsigned char)(0x80 | (c & 0x3F));
    s[0] = (unsigned char)(0xF00 >> n | c);
    return n;
}

/* Code points of one length in UTF-8, cut until every byte has a range of its own. */
static int range_code(Parser *p, uint32_t from, uint32_t to, int next, int start)
{
    for (int i = 1; i < 4; i++) {
        uint32_t m = (1u << 6 * i) - 1;
        if ((from & ~m) == (to & ~m) || p->error)
            continue;
        uint32_t cut = from & m ? (from | m) + 1 : (to & m) != m ? to & ~m : 0;
        if (cut)
            return range_code(p, cut, to, next, range_code(p, from, cut - 1, next, start));
    }
    unsigned char a[4], b[4];
    int n = utf8(from, a);
    utf8(to, b);
    for (int i = n - 1; i >= 0; i--)
        next = bytes_code(p, a[i], b[i], next);
    return either(p, start, next);
}

static int set_code(Parser *p, const Piece *set, int next)
{
    static const uint32_t longest[] = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};
    Instruction one = {.op = BYTES, .to = next};
    int start = -1;
    bool any = !set->range.n; /* an empty set matches nothing, and that needs an instruction */
    for (int i = 0; i < set->range.n; i += 2)
        for (uint32_t c = set->range.at[i]; c <= set->range.at[i + 1] && c < 0x80; c++) {
            one.set[c / 64] |= 1ull << c % 64;
            any = true;
        }
    for (int i = 0; i < set->range.n; i += 2)
        for (int k = 1; k < 4; k++) {
            uint32_t from = set->range.at[i], to = set->range.at[i + 1];
            from = from > longest[k - 1] ? from : longest[k - 1] + 1;
            to = to < longest[k] ? to : longest[k];
            if (from <= to)
                start = range_code(p, from, to, next, start);
        }
    return any || start < 0 ? either(p, start, add(p, one)) : start;
}

static int piece_code(Parser *p, const Piece *x, int next)
{
    int start = -1, loop;
    switch (x->kind) {
    case SET: return set_code(p, x, next);
    case TEST: return add(p, (Instruction){.op = ASSERT, .assert = x->test, .to = next});
    case JOIN:
        for (int i = x->part.n - 1; i >= 0; i--)
            next = piece_code(p, x->part.at[i], next);
        return next;
    case EITHER:
        for (int i = 0; i < x->part.n; i++)
            start = either(p, start, piece_code(p, x->part.at[i], next));
        return start;
    case REPEAT:
        if (x->high < 0) {
            loop = add(p, (Instruction){.op = SPLIT, .to = next, .other = next});
            start = piece_code(p, x->part.at[0], loop);
            p->code.at[loop].other = start;
            next = loop;
        }
        for (int i = x->low; i < x->high && !p->error; i++) /* those that may be missing */
            next = either(p, next, piece_code(p, x->part.at[0], next));
        for (int i = 0; i < x->low && !p->error; i++)
            next = piece_code(p, x->part.at[0], next);
        return next;
    default: return next;
    }
}

/* ---- states ------------------------------------------------------------------------------------------------------------------ */

/* What stands before or after a place in the text. */
enum { EDGE, WORD, LINE, OTHER, KINDS };

typedef struct State {
    const int *list;    /* instructions that are reached, before what they test is known */
    int n, before;
} State;

typedef struct Builder {
    const Parser *p;
    bool tests;         /* some instruction looks around */
    int byte_class[256], classes;
    int kind[256], example[256]; /* of each class */
    VEC(State) state;
    VEC(int) next;      /* per state and class */
    Map seen;
    int *stack, *list, *mark, turn;
} Builder;

static int kind_of(int byte)
{
    return byte == '\n' ? LINE : (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z') || byte == '_' ? WORD : OTHER;
}

static bool holds(char assert, int before, int after)
{
    switch (assert) {
    case '^': return before == EDGE;
    case '$': return after == EDGE;
    case 'm': return before == EDGE || before == LINE;
    case 'M': return after == EDGE || after == LINE;
    default: return ((before == WORD) != (after == WORD)) == (assert == 'b');
    }
}

/* Bytes that no instruction tells apart are of one class. */
static void find_classes(Builder *b)
{
    for (int i = 0; i < b->p->code.n; i++)
        b->tests |= b->p->code.at[i].op == ASSERT;
    b->classes = 1;
    for (int i = -1; i < b->p->code.n; i++) {
        const Instruction *c = i < 0 ? NULL : &b->p->code.at[i];
        if (c && c->op != BYTES)
            continue;
        int now[256][KINDS], n = 0;
        memset(now, -1, sizeof now);
        for (int byte = 0; byte < 256; byte++) {
            int side = c ? (int)(c->set[byte / 64] >> byte % 64 & 1) : b->tests ? kind_of(byte) : 0;
            int *to = &now[b->byte_class[byte]][side];
            *to = *to < 0 ? n++ : *to;
            b->byte_class[byte] = *to;
        }
        b->classes = n;
    }
    for (int byte = 0; byte < 256; byte++) {
        b->kind[b->byte_class[byte]] = kind_of(byte);
        b->example[b->byte_class[byte]] = byte;
    }
}

/* Goes through the instructions of s that need no byte; what is alive then is in b->list, how many. `match`: it may end. */
static int close_state(Builder *b, const State *s, int after, bool *match)
{
    int top = 0, n = 0;
    b->turn++;
    *match = false;
    for (int i = 0; i < s->n; i++)
        b->stack[top++] = s->list[i];
    while (top) {
        int at = b->stack[--top];
        if (b->mark[at] == b->turn)
            continue;
        b->mark[at] = b->turn;
        const Instruction *c = &b->p->code.at[at];
        if (c->op == BYTES)
            b->list[n++] = at;
        *match |= c->op == MATCH;
        if (c->op == SPLIT || (c->op == ASSERT && holds(c->assert, s->before, after)))
            b->stack[top++] = c->to;
        if (c->op == SPLIT)
            b->stack[top++] = c->other;
    }
    return n;
}

static int state_for(Builder *b, int n, int *list, int before)
{
    int *key = NEWS(int, n + 1);
    for (int i = 0; i < n; i++) { /* in order, each once */
        int k = i;
        for (; k && key[k - 1] > list[i]; k--)
            key[k] = key[k - 1];
        key[k] = list[i];
    }
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (!kept || key[kept - 1] != key[i])
            key[kept++] = key[i];
    key[kept] = b->tests ? before : 0;
    Name name = name_bytes((const char *)key, sizeof *key * (size_t)(kept + 1));
    int found = (int)(intptr_t)map_get(&b->seen, name);
    if (found)
        return found - 1;
    vec_push(&b->state, ((State){key, kept, key[kept]}));
    map_put(&b->seen, name, (void *)(intptr_t)b->state.n);
    return b->state.n - 1;
}

static bool build_states(Builder *b, int start)
{
    int *reached = NEWS(int, b->p->code.n + 1);
    bool match;
    state_for(b, 1, &start, EDGE);
    for (int s = 0; s < b->state.n; s++) {
        if (b->state.n > MOST_STATES)
            return false;
        for (int k = 0; k < b->classes; k++) {
            int n = 0, alive = close_state(b, &b->state.at[s], b->kind[k], &match);
            for (int i = 0; i < alive; i++) {
                const Instruction *c = &b->p->code.at[b->list[i]];
                if (c->set[b->example[k] / 64] >> b->example[k] % 64 & 1)
                    reached[n++] = c->to;
            }
            int to = state_for(b, n, reached, b->kind[k]);
            vec_push(&b->next, to);
        }
    }
    return true;
}

/* States that no text tells apart become one: group[s]; how many. Those that accept get the highest numbers. */
static int merge_states(Builder *b, int *group, int *accept)
{
    int n = b->state.n, groups = 0, before = -1;
    for (int s = 0; s < n; s++) {
        bool match;
        close_state(b, &b->state.at[s], EDGE, &match);
        group[s] = match;
    }
    int *accepts = NEWS(int, n), *key = NEWS(int, b->classes + 1), *now = NEWS(int, n);
    memcpy(accepts, group, sizeof *group * (size_t)n);
    while (groups != before) {
        before = groups;
        groups = 0;
        Map seen = {0};
        for (int wanted = 0; wanted < 2; wanted++) {
            *accept = wanted ? groups : *accept;
            for (int s = 0; s < n; s++) {
                if (accepts[s] != wanted)
                    continue;
                key[0] = group[s];
                for (int k = 0; k < b->classes; k++)
                    key[k + 1] = group[b->next.at[s * b->classes + k]];
                Name name = name_bytes((const char *)key, sizeof *key * (size_t)(b->classes + 1));
                int found = (int)(intptr_t)map_get(&seen, name);
                if (!found)
                    map_put(&seen, name, (void *)(intptr_t)(found = ++groups));
                now[s] = found - 1;
            }
        }
        memcpy(group, now, sizeof *group * (size_t)n);
    }
    return groups;
}

Regex regex_compile(Name pattern)
{
    Parser p = {.s = (const unsigned char *)pattern->s, .n = (int)pattern->n};
    Regex r = {0};
    Piece *all = alternatives(&p);
    if (!p.error && p.at < p.n)
        wrong(&p, "a ) without a (");
    int start = p.error ? 0 : piece_code(&p, all, add(&p, (Instruction){.op = MATCH}));
    r.at = p.at;
    r.error = p.error;
    if (p.error)
        return r;
    Builder b = {.p = &p};
    b.stack = NEWS(int, 3 * p.code.n + 3);
    b.list = NEWS(int, p.code.n + 1);
    b.mark = NEWS(int, p.code.n + 1);
    find_classes(&b);
    if (!build_states(&b, start)) {
        r.error = "more than 8000 states";
        return r;
    }
    int *group = NEWS(int, b.state.n);
    r.classes = b.classes;
    r.states = merge_states(&b, group, &r.accept);
    r.start = group[0];
    r.table = tensor_new(U16, 1, (int64_t[]){256 + (int64_t)r.states * r.classes});
    uint16_t *to = (uint16_t *)(uintptr_t)r.table->data;
    for (int byte = 0; byte < 256; byte++)
        to[byte] = (uint16_t)b.byte_class[byte];
    for (int s = 0; s < b.state.n; s++)
        for (int k = 0; k < b.classes; k++)
            to[256 + group[s] * b.classes + k] = (uint16_t)group[b.next.at[s * b.classes + k]];
    return r;
}
