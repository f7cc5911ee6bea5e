/* single.c - the text of a file of --single: the model's code; before it the types, macros and prototypes of the
 * runtime that it needs; after it the rest of what it uses. A translation unit may have several such files, and
 * includes of the runtime, so the names that a file defines begin with its prefix. Only macros, which are the same in
 * all files, and the guarded groups of types.h have no prefix. */
#include "emit/emit.h"
#include "emit/single.h"

#include <ctype.h>

#include "base/output.h"
#include "base/wrap.h"

/* BY_CODE: what the model's code itself needs, which is printed before it. BY_ANY: that, and what it needs in turn: all
 * that is printed. */
typedef enum Need { BY_CODE, BY_ANY, NEEDS } Need;

/* A macro that is defined anew after each #undef. */
typedef struct Meanings {
    VEC(int) begins, ends; /* where its #define and #undef are */
    VEC(int) uses[NEEDS];  /* where needed items mention it; -1: in the model's code */
} Meanings;

typedef struct Used {
    Map names[NEEDS];   /* identifiers in needed items */
    SingleNames pieces; /* beginnings of names, before ## in needed macros */
    Map undefined;      /* macros with an #undef -> Meanings */
    Map own, own_tags;  /* names that get the prefix; of structs */
    const char *prefix;
    bool begins, was_long; /* the next item is the first of its group; the last one had several lines */
} Used;
PART(Used, used)

static void *const yes = (void *)1;
static bool has(const Map *m, const char *s) { return map_get(m, s) != NULL; }

/* ---- identifiers in the model's code ----------------------------------------------------------------------------- */

static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/* The end of the comment, number, string or white space at s; s: none is there. */
static const char *after_other(const char *s)
{
    if (!strncmp(s, "/*", 2))
        return strstr(s, "*/") + 2;
    if (isdigit((unsigned char)*s))
        return s + strspn(s, word);
    if (*s != '"' && *s != '\'')
        return s + strspn(s, " \n");
    const char *end = s + 1;
    while (*end != *s)
        end += *end == '\\' ? 2 : 1;
    return end + 1;
}

/* Calls visit for each identifier. at: where it is; before: the token before it, "" for most. */
typedef void VisitIdentifier(const char *at, const char *identifier, const char *before, void *arg);
static void each_identifier(const char *s, VisitIdentifier *visit, void *arg)
{
    const char *before = "";
    while (*s) {
        const char *const other = after_other(s);
        const size_t n = strspn(s, word);
        if (other != s) {
            s = other;
            continue;
        }
        const char *const identifier = n ? intern(s, n) : NULL;
        if (n)
            visit(s, identifier, before, arg);
        before = n ? identifier : *s == '.' || !strncmp(s, "->", 2) ? "." : "";
        s += n ? n : *s == '-' && *before ? 2 : 1;
    }
}

/* ---- what is needed ---------------------------------------------------------------------------------------------- */

/* "TILE_SUM_" in TILE_SUM_##n */
static void mention_piece(const char *s)
{
    if (s[strlen(s) - 1] == '_')
        vec_add(&used()->pieces, s);
}

static void mention(Need need, const char *s, int at)
{
    Meanings *const m = map_get(&used()->undefined, s);
    if (m)
        vec_add(&m->uses[need], at);
    if (!has(&used()->names[need], s))
        map_put(&used()->names[need], s, yes);
}

static bool is_macro_mentioned(const char *s, Need need)
{
    EACH_AT (piece, used()->pieces)
        if (!strncmp(s, *piece, strlen(*piece)))
            return true;
    return has(&used()->names[need], s);
}

static bool is_line_needed(const Token *t, Need need) { return !*t->line || is_macro_mentioned(t->line, need); }

/* Is t a parameter of the macro that the directive from # on defines? */
static bool is_parameter(const Token *line, const Token *t)
{
    const Token *p = line && token_is(line->next, "define") ? line->next->next->next : NULL;
    if (!p || !p->touches || !token_is(p, "("))
        return false;
    for (; !token_is(p, ")"); p = p->next)
        if (p->s == t->s)
            return true;
    return false;
}

/* at: where the tokens are. */
static void mention_tokens(Need need, int at, const Token *t, const Token *end)
{
    const Token *line = NULL; /* the directive that t is in */
    bool inside = false;      /* a definition */
    for (; t && t != end; t = t->next) {
        line = token_is(t, "#") ? t : t->line || !inside ? line : NULL;
        inside |= !line;
        if (t->kind != TOKEN_NAME || is_parameter(line, t) || (t->line && !is_line_needed(t, need)))
            continue;
        mention(need, is_piece(t) ? piece_name(t) : t->s, at);
        if (is_piece(t))
            mention_piece(t->s);
    }
}

/* The token before which a declaration of i ends; NULL: i is needed with its body, or has none. */
static const Token *end_of(const Single *i, Need need) { return need == BY_CODE ? i->body : NULL; }

/* An #ifndef NAME around #define NAME and more: whoever defines the name defines all of it. */
static bool is_group(const Single *i)
{
    const SingleBranch *const b = i->branches.at;
    return i->branches.n == 1 && b->items.n && b->items.at[0]->kind == SINGLE_MACRO &&
           token_is(b->directive->next, "ifndef") && b->directive->next->next->s == b->items.at[0]->names.at[0];
}

static void need_item(Single *i, Need need)
{
    if (i->needed[need])
        return;
    i->needed[need] = true;
    if (i->kind != SINGLE_INCLUDE)
        mention_tokens(need, i->at, i->tokens, end_of(i, need));
    for (Single *p = i->parent; p; p = p->parent) {
        EACH_AT (b, p->branches)
            mention_tokens(need, p->at, b->directive, NULL);
        if (is_group(p))
            EACH_OF (item, p->branches.at[0].items)
                need_item(item, need);
    }
}

static bool is_undef(const Single *i) { return token_is(i->tokens->next, "undef"); }

/* Is the macro mentioned before it is defined anew? */
static bool is_macro_needed(const Single *i, Need need)
{
    const Meanings *const m = map_get(&used()->undefined, i->names.at[0]);
    int before = -1, from = i->at, to = single()->all.n;
    if (!m || !has(&used()->names[need], i->names.at[0]))
        return is_macro_mentioned(i->names.at[0], need);
    EACH_AT (end, m->ends) {
        before = *end < i->at ? *end : before;
        to = *end >= i->at && *end < to ? *end : to;
    }
    EACH_AT (begin, m->begins)
        from = *begin > before && *begin < from ? *begin : from;
    EACH_AT (use, m->uses[need])
        if (*use < 0 || (*use >= from && *use <= to))
            return true;
    return false;
}

static bool is_needed(const Single *i, Need need)
{
    if (i->kind == SINGLE_MACRO)
        return is_macro_needed(i, need);
    EACH_AT (s, i->names)
        if (has(&used()->names[need], *s))
            return true;
    EACH_AT (s, i->tags)
        if (has(&used()->names[need], *s))
            return true;
    return i->kind == SINGLE_DIRECTIVE && need == BY_ANY;
}

/* Most definitions precede their uses: one pass backwards finds nearly all. */
static void find_needed(Need need)
{
    for (bool more = true; more;) {
        const int names = used()->names[need].n;
        more = false;
        for (int k = single()->all.n; k-- > 0;) {
            Single *const i = single()->all.at[k];
            if (i->needed[need] && i->has_lines) /* of macros that may be mentioned by now */
                mention_tokens(need, i->at, i->tokens, end_of(i, need));
            else if (!i->needed[need] && is_needed(i, need)) {
                need_item(i, need);
                more = true;
            }
        }
        more |= used()->names[need].n != names;
    }
}

/* ---- names with the prefix --------------------------------------------------------------------------------------- */

static bool mentions_own(const Single *i)
{
    for (const Token *t = i->tokens; t; t = t->next)
        if (has(&used()->own, is_piece(t) ? piece_name(t) : t->s) || has(&used()->own_tags, t->s))
            return true;
    return false;
}

static void find_own(void)
{
    Map *const own = &used()->own;
    EACH_OF (i, single()->all) {
        if (i->kind != SINGLE_CODE || i->is_shared || i->is_early)
            continue;
        EACH_AT (s, i->names)
            if (i->lines != LINE_EPILOGUE || strcmp(*s, i->owner)) /* else it has the prefix */
                map_put(own, *s, yes);
        EACH_AT (s, i->tags)
            map_put(&used()->own_tags, *s, yes);
    }
    for (int n = -1; n != own->n;) { /* macros that mention them would not be the same in all files */
        n = own->n;
        EACH_OF (i, single()->all)
            if (i->kind == SINGLE_MACRO && i->needed[BY_ANY] && !has(own, i->names.at[0]) &&
                !has(&used()->undefined, i->names.at[0]) && mentions_own(i))
                map_put(own, i->names.at[0], yes);
    }
}

/* Does the name get the prefix, after the token `before`? */
static bool is_own(const char *s, const char *before)
{
    static const char *const others[] = {".", "->", "##"}; /* fields, ends of names */
    if (!strcmp(before, "struct") || !strcmp(before, "union"))
        return has(&used()->own_tags, s);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(before, others[i]))
            return false;
    return has(&used()->own, s);
}

static void mention_identifier(const char *at, const char *identifier, const char *before, void *arg)
{
    (void)at, (void)before, (void)arg;
    mention(BY_CODE, identifier, -1);
    mention(BY_ANY, identifier, -1);
}

static void find_meanings(void)
{
    EACH_OF (i, single()->all)
        if (i->kind == SINGLE_MACRO && is_undef(i) && !has(&used()->undefined, i->names.at[0]))
            map_put(&used()->undefined, i->names.at[0], NEW(Meanings));
    EACH_OF (i, single()->all) {
        Meanings *const m = i->kind == SINGLE_MACRO ? map_get(&used()->undefined, i->names.at[0]) : NULL;
        if (m && is_undef(i))
            vec_push(&m->ends, i->at);
        else if (m)
            vec_push(&m->begins, i->at);
    }
}

void single_find(const char *code, const char *prefix)
{
    used()->prefix = prefix;
    find_meanings();
    each_identifier(code, mention_identifier, NULL);
    find_needed(BY_CODE);
    find_needed(BY_ANY);
    find_own();
}

typedef struct Renaming {
    Text *to;
    const char *from; /* what is not printed yet */
} Renaming;

static void rename_identifier(const char *at, const char *identifier, const char *before, void *arg)
{
    Renaming *const r = arg;
    if (!is_own(identifier, before))
        return;
    text_bytes(r->to, r->from, (size_t)(at - r->from));
    text_put(r->to, "%s_", used()->prefix);
    r->from = at;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Would the two be one token without a space between them? */
static bool must_be_apart(const char *a, const char *b)
{
    const char end = *a ? a[strlen(a) - 1] : 0;
    return (is_word(end) && is_word(*b)) || (end && end == *b && strchr("+-&|<>=", end));
}

/* The indentation of code from a macro's body: that of its last brace. */
static int indentation(const Single *i)
{
    int n = 0;
    for (const Token *t = i->tokens; t && i->kind == SINGLE_CODE; t = t->next)
        if (token_is(t, "}") && strchr(t->gap, '\n'))
            n = (int)strlen(strrchr(t->gap, '\n')) - 1;
    return n;
}

/* Is t a member of a struct that begins another line of the macro that lists them? */
static bool continues_members(const Single *i, const char *before, const Token *t)
{
    const char *const line = strrchr(t->gap, '\n');
    return i->kind == SINGLE_CODE && !i->body && line && *before == ';' && t->kind == TOKEN_NAME &&
           (int)strlen(line) - 1 <= indentation(i);
}

/* In the lines of a directive each line feed follows a backslash. */
static void put_gap(Text *t, const char *gap, bool in_directive)
{
    for (; *gap; gap++)
        text_put(t, in_directive && *gap == '\n' ? " \\\n" : "%c", *gap);
}

static void put_tokens(Text *t, const Single *i, const Token *end)
{
    const char *before = "";
    bool is_head = true; /* of a function, in one line */
    for (const Token *token = i->tokens; token && token != end; token = token->next) {
        if (token->line && !is_line_needed(token, BY_ANY))
            continue;
        const bool begins_line = token->line && token_is(token, "#");
        is_head &= token != i->body && !token->line && !strstr(token->gap, "/*");
        if (token != i->tokens)
            put_gap(t,
                    (is_head && i->body && strchr(token->gap, '\n')) || continues_members(i, before, token)
                        ? " "
                        : token->gap,
                    !begins_line && (token->line || i->kind != SINGLE_CODE));
        if (token != i->tokens && !*token->gap && must_be_apart(before, token->s))
            text_put(t, " ");
        const bool own = token->kind == TOKEN_NAME && is_own(is_piece(token) ? piece_name(token) : token->s, before);
        text_put(t, own ? "%s_%s" : "%.0s%s", used()->prefix, token->s);
        before = token->s;
    }
}

enum { WIDTH = 120 };

/* Prints a line of members, as of a struct, on several lines. */
static void put_members(Text *t, int indent, const char *s)
{
    Wrapped w = {.to = t, .first = "", .between = "", .indent = indent};
    for (size_t n; *s; s += n + strspn(s + n, " ")) {
        n = strcspn(s, ";");
        n += s[n] == ';';
        put_piece(&w, text_format("%.*s", (int)n, s));
    }
    text_put(t, "\n");
}

/* Prints a line that is too long. */
static void put_long(Text *t, int indent, const char *line)
{
    const char *const member_end = strchr(line, ';'), *const next = member_end ? member_end + 1 : "";
    const bool members = next[strspn(next, " ")] && !strpbrk(line, "(=/");
    (members ? put_members : put_wrapped)(t, indent, line);
}

/* Prints the line at s, which begins `by` columns too far right; *is_directive: it continues one. Returns the line's
 * end. */
static const char *put_line(Text *t, const char *s, int by, bool *is_directive)
{
    const int spaces = (int)strspn(s, " "), indent = spaces < by ? 0 : spaces - by;
    s += spaces;
    const size_t n = strcspn(s, "\n");
    const bool continues = n && s[n - 1] == '\\', is_comment = *s == '/' || !strncmp(s, "* ", 2);
    *is_directive |= *s == '#';
    if (indent + (int)n <= WIDTH || is_comment)
        text_put(t, "%*s%.*s\n", n ? indent : 0, "", (int)n, s);
    else if (*is_directive)
        put_wrapped_directive(t, indent, text_format("%.*s", (int)n - 2 * continues, s), continues);
    else
        put_long(t, indent, text_format("%.*s", (int)n, s));
    *is_directive &= continues;
    return s + n;
}

static void put_lines(Text *t, const char *s, int by)
{
    bool is_directive = false;
    while (*s) {
        s = put_line(t, s, by, &is_directive);
        s += *s == '\n';
    }
}

void single_put_code(Text *t, const Text *from, const char *code)
{
    Text renamed = {0}, lines = {0};
    Renaming r = {&renamed, code};
    VEC(int64_t) at = {0};
    bool is_directive = false;
    each_identifier(code, rename_identifier, &r);
    text_put(&renamed, "%s", r.from);
    int64_t n = 0;
    for (const char *s = renamed.s, *end; *s; s = end + (*end == '\n')) {
        vec_push(&at, n);
        const size_t before = lines.n;
        end = put_line(&lines, s, 0, &is_directive);
        n += count_lines(lines.s + before, lines.n - before);
    }
    vec_push(&at, n);
    lines_move(t, from, at.at);
    text_put(t, "%s", lines.s);
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static bool is_printed(const Single *i, bool prelude)
{
    const bool by_code = i->needed[BY_CODE] || (i->is_early && i->needed[BY_ANY]);
    EACH_AT (b, i->branches)
        EACH_OF (item, b->items)
            if (is_printed(item, prelude))
                return true;
    if (i->kind == SINGLE_INCLUDE || i->kind == SINGLE_IF)
        return false;
    const bool again = i->body || (i->kind == SINGLE_MACRO && has(&used()->undefined, i->names.at[0]));
    return prelude ? by_code : i->needed[BY_ANY] && (again || !by_code);
}

static bool is_branch_printed(const SingleBranch *b, bool prelude)
{
    EACH_OF (item, b->items)
        if (is_printed(item, prelude))
            return true;
    return false;
}

static void put_item(Text *t, Single *i, bool prelude);

static void put_branches(Text *t, Single *i, bool prelude)
{
    int last = -1;
    for (int k = 0; k < i->branches.n; k++)
        if (is_branch_printed(&i->branches.at[k], prelude))
            last = k;
    for (int k = 0; k <= last; k++) {
        SingleBranch *const b = &i->branches.at[k];
        const Single line = {.kind = SINGLE_DIRECTIVE, .tokens = b->directive};
        put_tokens(t, &line, NULL);
        text_put(t, "%s%s\n", b->trailing ? " " : "", b->trailing ? b->trailing : "");
        used()->begins = true;
        used()->was_long = false;
        for (int j = 0; j < b->items.n; j++)
            if (is_printed(b->items.at[j], prelude) ||
                (b->items.at[j]->kind == SINGLE_INCLUDE && is_branch_printed(b, prelude)))
                put_item(t, b->items.at[j], prelude);
    }
    text_put(t, "#endif\n");
}

static void put_item(Text *t, Single *i, bool prelude)
{
    const bool is_declared = prelude && i->body;
    Text s = {0};
    line_is(t, i->lines, i->owner);
    if (i->kind != SINGLE_IF)
        put_tokens(&s, i, is_declared ? i->body : NULL);
    text_put(&s, "%s", is_declared ? ";" : "");
    if (i->trailing && !is_declared)
        text_put(&s, " %s", i->trailing);
    const bool is_long = i->kind == SINGLE_IF || (i->kind == SINGLE_CODE && strchr(s.s, '\n'));
    if (!used()->begins && (is_long || used()->was_long || (i->is_apart && !is_declared)))
        text_put(t, "\n");
    if (i->comment && !is_declared)
        put_lines(t, i->comment, 0);
    if (i->kind == SINGLE_IF)
        put_branches(t, i, prelude);
    else
        put_lines(t, s.s, indentation(i));
    const Single *const group = i->parent && is_group(i->parent) ? i->parent->branches.at[0].items.at[0] : NULL;
    used()->begins = i == group;
    used()->was_long = is_long;
}

void single_put(Text *t, bool prelude)
{
    static const char *const rulers[] = {
        "/* ---- of the runtime: what the model's code needs before it ------------------------------------------------------- */",
        "/* ---- the runtime, as far as this model needs it ------------------------------------------------------------------ */",
    };
    line_is(t, LINE_KERNELS, NULL);
    text_put(t, prelude ? "\n%s\n\n" : "%s\n\n", rulers[!prelude]);
    used()->begins = true;
    for (int i = 0; i < single()->top.n; i++)
        if (is_printed(single()->top.at[i], prelude))
            put_item(t, single()->top.at[i], prelude);
}
