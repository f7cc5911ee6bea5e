/* regex.c - compiles a regular expression to a deterministic automaton over bytes: the expression becomes instructions
 * of a nondeterministic one (Thompson's construction), and sets of these become the states (subset construction). */
#include "base/regex.h"
#include "base/regex_parse.h"

enum { MAX_INSTRUCTIONS = 20000, MAX_STATES = 8000 };

/* ---- instructions ------------------------------------------------------------------------------------------------ */

typedef struct Instruction {
    enum { BYTES, SPLIT, ASSERT, MATCH } op;
    uint64_t set[4]; /* BYTES: bit set of the bytes that match */
    char assert;     /* '^' '$': ends of the text; 'm' 'M': of a line; 'b' 'B': word boundary or not */
    int to, other;   /* SPLIT continues at both */
} Instruction;

typedef struct Code {
    VEC(Instruction) list;
    const char *error;
} Code;

/* ---- instructions, from last to first: a piece continues at `next`; its first instruction is returned ------------ */

static int add(Code *p, Instruction i)
{
    if (p->list.n >= MAX_INSTRUCTIONS)
        p->error = "too many repeats";
    else
        vec_push(&p->list, i);
    return p->list.n - 1;
}

static int either(Code *p, int a, int b)
{
    return a < 0 ? b : b < 0 ? a : add(p, (Instruction){.op = SPLIT, .to = a, .other = b});
}

static int bytes_code(Code *p, int from, int to, int next)
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

/* Code points with UTF-8 of one length, split until each byte position is an independent range. */
static int range_code(Code *p, uint32_t from, uint32_t to, int next, int start)
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

static int set_code(Code *p, const Piece *set, int next)
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

static int piece_code(Code *p, const Piece *x, int next)
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
            p->list.at[loop].other = start;
            next = loop;
        }
        for (int i = x->low; i < x->high && !p->error; i++) /* optional repeats */
            next = either(p, next, piece_code(p, x->part.at[0], next));
        for (int i = 0; i < x->low && !p->error; i++)
            next = piece_code(p, x->part.at[0], next);
        return next;
    default: return next;
    }
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* The class of the character before or after a position: none, word character, newline, other. */
enum { EDGE, WORD, LINE, OTHER, KINDS };

typedef struct State {
    const int *list; /* instructions reached, before assertions are evaluated */
    int n, before;
} State;

typedef struct Builder {
    const Code *p;
    bool tests, search; /* tests: there is an ASSERT */
    int byte_class[256], classes;
    int kind[256], example[256]; /* of each class: what EDGE...OTHER it is, and one byte of it */
    VEC(State) state;
    VEC(int) next; /* per state and class */
    Map seen;
    int *stack, *list, *mark, epoch;
} Builder;

static int kind_of(int byte)
{
    return byte == '\n'                                                                                ? LINE
           : (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z') || byte == '_' ? WORD
                                                                                                       : OTHER;
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

/* Bytes that no instruction distinguishes form a class. */
static void find_classes(Builder *b)
{
    for (int i = 0; i < b->p->list.n; i++)
        b->tests |= b->p->list.at[i].op == ASSERT;
    b->classes = 1;
    for (int i = -1; i < b->p->list.n; i++) {
        const Instruction *c = i < 0 ? NULL : &b->p->list.at[i];
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

/* Follows the instructions of s that consume no byte. The BYTES reached are in b->list; returns their number. *match:
 * the text may end here. */
static int close_state(Builder *b, const State *s, int after, bool *match)
{
    int top = 0, n = 0;
    b->epoch++;
    *match = false;
    for (int i = 0; i < s->n; i++)
        b->stack[top++] = s->list[i];
    while (top) {
        int at = b->stack[--top];
        if (b->mark[at] == b->epoch)
            continue;
        b->mark[at] = b->epoch;
        const Instruction *c = &b->p->list.at[at];
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
    for (int i = 0; i < n; i++) { /* insertion sort; duplicates are dropped below */
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

/* first: the states before a text, and for a search also after bytes of each kind. */
static bool build_states(Builder *b, int start, int first[KINDS])
{
    int *reached = NEWS(int, b->p->list.n + 1);
    bool match;
    for (int kind = 0; kind < (b->search ? KINDS : 1); kind++)
        first[kind] = state_for(b, 1, &start, kind);
    for (int s = 0; s < b->state.n; s++) {
        if (b->state.n > MAX_STATES)
            return false;
        for (int k = 0; k < b->classes; k++) {
            int n = 0, alive = close_state(b, &b->state.at[s], b->kind[k], &match);
            for (int i = 0; i < alive; i++) {
                const Instruction *c = &b->p->list.at[b->list[i]];
                if (c->set[b->example[k] / 64] >> b->example[k] % 64 & 1)
                    reached[n++] = c->to;
            }
            int to = state_for(b, n, reached, b->kind[k]);
            vec_push(&b->next, to);
        }
    }
    return true;
}

/* The kinds of bytes before which a match may end in the state; of a whole text, only at its end. */
static int ends_of(Builder *b, const State *s)
{
    int ends = 0;
    for (int kind = 0; kind < (b->search ? KINDS : 1); kind++) {
        bool match;
        close_state(b, s, kind, &match);
        ends |= match << kind;
    }
    return ends;
}

/* Minimises the automaton: group[s] is the new number of state s; returns how many there are. Accepting states come
 * last. */
static int merge_states(Builder *b, int *group, int *accept, int *accepts)
{
    int n = b->state.n, groups = 0, before = -1;
    for (int s = 0; s < n; s++)
        group[s] = accepts[s] = ends_of(b, &b->state.at[s]);
    int *key = NEWS(int, b->classes + 1), *now = NEWS(int, n);
    while (groups != before) {
        before = groups;
        groups = 0;
        Map seen = {0};
        for (int wanted = 0; wanted < (b->search ? 1 << KINDS : 2); wanted++) {
            *accept = wanted == 1 ? groups : *accept;
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

/* Writes the table; of a search, with the ends of each state. */
static void write_table(const Builder *b, const int *group, const int *accepts, Regex *r)
{
    int row = r->classes + b->search;
    r->entries = 256 + r->states * row;
    uint16_t *to = NEWS(uint16_t, r->entries);
    for (int byte = 0; byte < 256; byte++)
        to[byte] = (uint16_t)b->byte_class[byte];
    for (int s = 0; s < b->state.n; s++) {
        uint16_t *at = to + 256 + group[s] * row;
        if (b->search)
            *at++ = (uint16_t)accepts[s];
        for (int k = 0; k < b->classes; k++)
            at[k] = (uint16_t)group[b->next.at[s * b->classes + k]];
    }
    r->table = to;
}

static Regex compile(Name pattern, bool search)
{
    Regex r = {.dead = -1};
    Code p = {0};
    int first[KINDS];
    const Piece *all = regex_parse(pattern, &r.error, &r.at);
    int start = r.error ? 0 : piece_code(&p, all, add(&p, (Instruction){.op = MATCH}));
    r.error = r.error ? r.error : p.error;
    if (r.error)
        return r;
    Builder b = {.p = &p, .search = search};
    b.stack = NEWS(int, 3 * p.list.n + 3);
    b.list = NEWS(int, p.list.n + 1);
    b.mark = NEWS(int, p.list.n + 1);
    find_classes(&b);
    if (!build_states(&b, start, first)) {
        r.error = "more than 8000 states";
        return r;
    }
    int *group = NEWS(int, b.state.n), *accepts = NEWS(int, b.state.n);
    r.classes = b.classes;
    r.states = merge_states(&b, group, &r.accept, accepts);
    r.start = group[0];
    for (int kind = 0; kind < KINDS; kind++)
        r.start_after[kind] = group[first[search ? kind : 0]];
    for (int s = 0; s < b.state.n; s++)
        r.dead = b.state.at[s].n ? r.dead : group[s];
    write_table(&b, group, accepts, &r);
    return r;
}

Regex regex_compile(Name pattern) { return compile(pattern, false); }
Regex regex_compile_search(Name pattern) { return compile(pattern, true); }
