/* single_read.c - reads the runtime for --single. Its own macros and conditions are evaluated, so that each instance of
 * a kernel becomes a definition with a name; conditions that only the C compiler can answer stay, with the macros that
 * are defined under them. */
#include "emit/emit.h"
#include "emit/single.h"

#include <ctype.h>

#include "base/fail.h"

typedef struct Level {    /* an #if that is not closed */
    bool taken;           /* no later branch is read: one holds for certain, or all are skipped */
    bool now;             /* the current branch is read */
    bool stays;           /* in the text, as the C compiler decides */
    Single *item;         /* it is at file scope; NULL: in a definition */
    VEC(Token *) before;  /* in a definition: the tokens before its directives */
    VEC(Macro *) defined; /* if it stays: in the current branch, where they are known */
} Level;
typedef struct SingleReader {
    VEC(Level) levels;
    bool shared, early;
    LineKind lines;
    const void *owner;
    Map included; /* headers of C's library and of compilers */
    Single *last; /* whose line may end with a comment */
    Tokens code;  /* of the definition that is being read */
    int depth;    /* of its parentheses and braces */
    int round;    /* of parentheses alone */
    bool is_function, is_value;
    bool is_line; /* a directive in it precedes the next token */
} SingleReader;
PART(SingleReader, reader)
SHARED_PART_IS(SingleItems, single);

/* ---- white space and comments ------------------------------------------------------------------------------------ */

/* The first line feed outside of comments, or the end. */
static const char *line_end(const char *gap)
{
    while (*gap && *gap != '\n')
        gap = strncmp(gap, "/*", 2) ? gap + 1 : strstr(gap, "*/") + 2;
    return gap;
}

/* Takes the comment at the end of the line before t. */
static const char *take_trailing(Token *t)
{
    const char *const end = line_end(t->gap), *const from = t->gap + strspn(t->gap, " ");
    if (from == end || !*end)
        return NULL;
    t->gap = end;
    return text_format("%.*s", (int)(end - from), from);
}

/* What follows the last blank line; all, if there is none. */
static const char *last_paragraph(const char *gap)
{
    const char *from = gap;
    for (const char *s = line_end(gap); *s; s = line_end(s + 1))
        if (s[strspn(s + 1, " ") + 1] == '\n')
            from = s + 1;
    return from;
}

/* The comment directly before what follows the gap. */
static const char *comment_in(const char *gap)
{
    const char *const s = last_paragraph(gap), *const from = strstr(s, "/*"), *end = s + strlen(s);
    if (!from || strstr(from, "----"))
        return NULL;
    while (end > from && isspace((unsigned char)end[-1]))
        end--;
    return text_format("%.*s", (int)(end - from), from);
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static bool is_skipped(void)
{
    EACH_AT (l, reader()->levels)
        if (!l->now)
            return true;
    return false;
}

static Level *level_that_stays(void)
{
    Level *found = NULL;
    EACH_AT (l, reader()->levels)
        found = l->stays ? l : found;
    return found;
}

static Single *add_item(SingleKind kind, Token *tokens, const char *gap)
{
    const Level *const level = level_that_stays();
    Single *const i = NEW(Single), *const parent = level ? level->item : NULL;
    if (level && !parent)
        bug("--single: an #if in a definition contains the end of it: %s", tokens->s);
    *i = (Single){.kind = kind, .tokens = tokens, .lines = reader()->lines, .owner = reader()->owner, .parent = parent};
    i->at = single()->all.n;
    i->is_shared = reader()->shared;
    i->is_early = reader()->early;
    i->comment = comment_in(gap);
    i->is_apart = last_paragraph(gap) != gap;
    if (parent)
        vec_push(&parent->branches.at[parent->branches.n - 1].items, i);
    else
        vec_push(&single()->top, i);
    vec_push(&single()->all, i);
    reader()->last = i;
    return i;
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static int nesting(const Token *t)
{
    return (token_is(t, "(") || token_is(t, "{") || token_is(t, "[")) -
           (token_is(t, ")") || token_is(t, "}") || token_is(t, "]"));
}

bool is_piece(const Token *t) { return t->kind == TOKEN_NAME && t->next && token_is(t->next, "##"); }

const char *piece_name(const Token *t)
{
    const char *const s = text_format("%s##", t->s);
    return intern(s, strlen(s));
}

static bool is_attribute(const Token *t) { return token_is(t, "RT_ATTRIBUTE") || token_is(t, "__attribute__"); }
static bool is_tagged(const Token *t) { return token_is(t, "struct") || token_is(t, "union") || token_is(t, "enum"); }

static void name_function(Single *i)
{
    const Token *name = NULL;
    int depth = 0;
    for (const Token *t = i->tokens; t != i->body && t->next; t = t->next) {
        if (!depth && t->kind == TOKEN_NAME && token_is(t->next, "(") && !is_attribute(t))
            name = t;
        depth += nesting(t);
    }
    if (!name)
        bug("--single: a function without a name");
    vec_push(&i->names, name->s);
}

/* Is t, outside of parentheses and braces, the name in a declarator? */
static bool is_declared(const Token *t)
{
    static const char *const after[] = {",", ";", "[", "=", "("};
    if (t->kind != TOKEN_NAME || !t->next || is_attribute(t))
        return false;
    const Token *next = t->next;
    if (is_attribute(next)) {
        int depth = 0;
        do {
            next = next->next;
            depth += nesting(next);
        } while (depth);
        next = next->next;
    }
    for (size_t i = 0; next && i < sizeof after / sizeof *after; i++)
        if (token_is(next, after[i]))
            return true;
    return false;
}

/* The names that calls of kept macros define: `tile_##` for tile_1_1, ... */
static void name_pieces(Single *i, const Token *t, int depth)
{
    const Token *before = NULL;
    for (; t && depth < 8; before = t, t = t->next) {
        const Macro *const m = t->kind == TOKEN_NAME ? macro_named(t->s) : NULL;
        if (is_piece(t) && !(before && token_is(before, "##")) && strchr(t->s, '_'))
            vec_add(&i->names, piece_name(t));
        if (m)
            name_pieces(i, m->body, depth + 1);
    }
}

static void name_declaration(Single *i)
{
    int depth = 0, enumerators = 0; /* enumerators: the depth of those that are being read */
    const Token *before = NULL;
    for (const Token *t = i->tokens; t; before = t, t = t->next) {
        if (t->line)
            continue;
        if (is_tagged(t) && t->next && t->next->next && token_is(t->next->next, "{"))
            vec_push(&i->tags, t->next->s);
        if (token_is(t, "enum"))
            enumerators = depth + 1;
        const bool first = before && (token_is(before, "{") || token_is(before, ","));
        const bool tag = before && is_tagged(before);
        if (depth ? depth == enumerators && first && t->kind == TOKEN_NAME : is_declared(t) && !tag)
            vec_add(&i->names, t->s);
        depth += nesting(t);
        if (token_is(t, "}") && depth < enumerators)
            enumerators = 0;
    }
}

static void end_code(void)
{
    SingleReader *const r = reader();
    Token *const first = r->code.first;
    Single *const i = first->next || !token_is(first, ";") ? add_item(SINGLE_CODE, first, first->gap) : NULL;
    int depth = 0;
    for (const Token *t = first; i && t; t = t->next) {
        if (r->is_function && !i->body && !depth && token_is(t, "{"))
            i->body = t;
        depth += nesting(t);
        i->has_lines |= t->line && *t->line;
    }
    if (i && r->is_function)
        name_function(i);
    else if (i && !token_is(r->code.last, ";"))
        name_pieces(i, first, 0);
    else if (i)
        name_declaration(i);
    if (i && i->is_shared) /* never only declared */
        i->body = NULL;
    r->code = (Tokens){0};
    r->is_function = r->is_value = false;
}

/* Does t begin a statement that a macro has put on the line of the one before? */
static bool begins_statement(const Token *before, const Token *t)
{
    static const char *const others[] = {"}", "else", "while", ";", ",", ")"};
    const SingleReader *const r = reader();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (token_is(t, others[i]))
            return false;
    return r->is_function && !r->round && r->depth && !strchr(t->gap, '\n') &&
           (token_is(before, ";") || token_is(before, "}"));
}

static void add_token(Token *t)
{
    SingleReader *const r = reader();
    const Token *const before = r->code.last;
    if (!r->depth && before && token_is(t, "{") && token_is(before, ")") && !r->is_value &&
        !token_is(r->code.first, "typedef"))
        r->is_function = true;
    r->is_value |= !r->depth && token_is(t, "=");
    if (r->is_line && !strchr(t->gap, '\n'))
        t->gap = "\n";
    r->is_line = false;
    if (begins_statement(before, t))
        t->gap = text_format("\n%*s", 4 * r->depth, "");
    r->round += token_is(t, "(") - token_is(t, ")");
    r->depth += nesting(t);
    tokens_append(&r->code, t);
    const Macro *const m = macro_named(r->code.first->s);
    const bool is_call = m && m->is_kept && m->is_function && token_is(t, ")");
    if (!r->depth && (token_is(t, ";") || (token_is(t, "}") && r->is_function) || is_call))
        end_code();
}

/* Adds a directive to the definition. */
static void add_line(Token *line, const char *macro, const char *trailing)
{
    line->gap = "\n";
    for (Token *t = line, *next; t; t = next) {
        next = t->next;
        t->line = macro;
        tokens_append(&reader()->code, t);
    }
    if (trailing)
        tokens_append(&reader()->code,
                      NEW_COPY((Token){.kind = TOKEN_PUNCT, .s = trailing, .gap = " ", .line = macro}));
    reader()->is_line = true;
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static bool starts_with(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* Names of the runtime that it has not defined so far are undefined; only those of its shared headers may have been
 * defined by an earlier file. */
static Definedness is_defined(const char *s)
{
    static const char *const own[] = {"T", "U", "EPI", "EPI_NAME", "SCALAR_RUNS", "ONNXCC_PLAIN"};
    const Macro *const m = macro_named(s);
    if (m)
        return m->is_maybe ? DEFINED_MAYBE : DEFINED_YES;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(s, own[i]))
            return DEFINED_NO;
    if (starts_with(s, "ONNXCC_") && !strcmp(s + strlen(s) - 2, "_H"))
        return DEFINED_NO;
    return !reader()->shared && (starts_with(s, "ONNXCC_") || starts_with(s, "RT_")) ? DEFINED_NO : DEFINED_MAYBE;
}

static Answer asked(const Token *d)
{
    const bool is_not = token_is(d, "ifndef");
    if (!is_not && !token_is(d, "ifdef"))
        return condition(d->next, is_defined);
    const Definedness is = is_defined(d->next->s);
    return is == DEFINED_MAYBE ? (Answer){.left = d->next->s} : (Answer){.v = (is == DEFINED_YES) != is_not};
}

/* Puts a branch of the innermost #if into the text. how: "#if", ... */
static void begin_branch(Level *l, const char *how, const char *left, const char *trailing, const char *gap)
{
    Token *const line = tokenise(text_format("%s%s%s", how, left ? " " : "", left ? left : ""));
    Token *last = line;
    while (last->next->kind != TOKEN_END)
        last = last->next;
    last->next = NULL;
    if (!l->stays && !reader()->code.first)
        l->item = add_item(SINGLE_IF, line, gap);
    l->stays = true;
    if (l->item && reader()->code.first)
        bug("--single: a definition contains the end of an #if: %s", reader()->code.first->s);
    if (l->item) {
        vec_push(&l->item->branches, ((SingleBranch){line, trailing, {0}}));
        return;
    }
    vec_push(&l->before, reader()->code.last);
    add_line(line, "", trailing);
}

/* Puts the #endif into a definition, without the branches at the end that are empty. */
static void end_in_code(const Level *l)
{
    Tokens *const code = &reader()->code;
    for (int i = l->before.n; i-- > 0;) {
        const Token *t = l->before.at[i]->next;
        while (t->next && t->next->line && !token_is(t->next, "#"))
            t = t->next;
        if (t != code->last)
            break;
        code->last = l->before.at[i];
        code->last->next = NULL;
        if (!i)
            return;
    }
    Token *const line = tokenise("#endif");
    line->next->next = NULL;
    add_line(line, "", NULL);
}

static void end_branch(Level *l)
{
    EACH_OF (m, l->defined)
        m->is_kept = m->is_maybe = true;
    l->defined.n = 0;
}

/* Obeys #if, #ifdef, #ifndef, #elif, #else or #endif; false: d is another directive. */
static bool change_level(const Token *d, const char *trailing, const char *gap)
{
    SingleReader *const r = reader();
    const bool is_else = token_is(d, "else"), is_next = is_else || token_is(d, "elif");
    if (token_is(d, "endif")) {
        Level *const l = &r->levels.at[r->levels.n - 1];
        end_branch(l);
        if (l->stays && !l->item)
            end_in_code(l);
        if (l->item && r->code.first)
            bug("--single: a definition contains an #endif: %s", r->code.first->s);
        r->levels.n--;
        return true;
    }
    if (!is_next && !token_is(d, "if") && !token_is(d, "ifdef") && !token_is(d, "ifndef"))
        return false;
    const bool skipped = is_skipped();
    if (!is_next)
        vec_push(&r->levels, ((Level){.taken = skipped}));
    Level *const l = &r->levels.at[r->levels.n - 1];
    end_branch(l);
    l->now = false;
    if (l->taken)
        return true;
    const Answer v = is_else ? (Answer){.v = 1} : asked(d);
    l->now = v.v || v.left;
    l->taken = v.v && !v.left;
    const char *const how = l->stays ? "#elif" : is_next || token_is(d, "if") ? "#if" : text_format("#%s", d->s);
    if (v.left)
        begin_branch(l, how, v.left, trailing, gap);
    else if (l->now && l->stays)
        begin_branch(l, "#else", NULL, trailing, gap);
    return true;
}

/* ---- directives -------------------------------------------------------------------------------------------------- */

static void read_tokens(Token *t);

static void read_file(const char *file)
{
    SingleReader *const r = reader();
    const bool shared = r->shared, early = r->early;
    r->shared |= !strcmp(file, "dialect.h") || !strcmp(file, "types.h");
    r->early |= !strcmp(file, "rt.h"); /* up to the end of dialect.h */
    read_tokens(tokenise(embedded_text(file)));
    r->shared = shared;
    r->early = early && strcmp(file, "dialect.h") != 0;
}

static void include(Token *line, const Token *name, const char *gap)
{
    if (!token_is(name, "<")) {
        read_file(text_format("%.*s", (int)strlen(name->s) - 2, name->s + 1));
        return;
    }
    Text file = {0};
    for (name = name->next; !token_is(name, ">"); name = name->next)
        text_put(&file, "%s", name->s);
    if (!level_that_stays() && map_get(&reader()->included, intern(file.s, file.n)))
        return;
    map_put(&reader()->included, intern(file.s, file.n), reader());
    add_item(SINGLE_INCLUDE, line, gap);
}

/* Does the macro contain T or another name that has several meanings in a file? */
static bool is_of_type(const Macro *m, int depth)
{
    static const char *const types[] = {"T", "U", "EPI", "EPI_NAME", "F", "W"};
    for (const Token *t = m->body; t && depth < 8; t = t->next) {
        const Macro *const inner = t->kind == TOKEN_NAME ? macro_named(t->s) : NULL;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (!strcmp(t->s, types[i]))
                return true;
        if (inner && inner != m && is_of_type(inner, depth + 1))
            return true;
    }
    return false;
}

static bool pastes(const Macro *m, int depth)
{
    for (const Token *t = m->body; t && depth < 8; t = t->next) {
        const Macro *const inner = t->kind == TOKEN_NAME ? macro_named(t->s) : NULL;
        if (token_is(t, "##") || (inner && inner != m && pastes(inner, depth + 1)))
            return true;
    }
    return false;
}

static bool is_parameter(const Macro *m, const Token *t)
{
    for (int i = 0; i < m->parameters.n; i++)
        if (t->s == m->parameters.at[i])
            return true;
    return false;
}

/* Does the macro make the name of a function from its arguments? */
static bool names_functions(const Macro *m, int depth)
{
    for (const Token *t = m->body; t && depth < 8; t = t->next) {
        const bool own = is_piece(t) && !is_parameter(m, t);
        const Macro *const inner = t->kind == TOKEN_NAME ? macro_named(t->s) : NULL;
        if (inner && inner != m && names_functions(inner, depth + 1))
            return true;
        if ((own && islower((unsigned char)*t->s) && t->s[strlen(t->s) - 1] == '_') ||
            (is_piece(t) && !own && t->next->next && is_parameter(m, t->next->next)))
            return true;
    }
    return false;
}

/* Statements of several lines, and assembly, are not repeated for each use of their macro: it stays; only macros in its
 * body are expanded. */
static void keep_inside(Macro *m, Token *line)
{
    bool is_long = false, is_code = false;
    for (const Token *t = m->body; t; t = t->next) {
        is_long |= strchr(t->gap, '\n') != NULL;
        is_code |= token_is(t, ";") || token_is(t, "{") || token_is(t, "if");
        m->is_kept_inside |= token_is(t, "#");
    }
    m->is_kept_inside |= is_long && is_code;
    m->is_kept_inside &= m->is_function && !is_of_type(m, 0) && !names_functions(m, 0);
    if (!m->is_kept_inside)
        return;
    Token *before = line->next->next; /* the name */
    while (!token_is(before, ")"))
        before = before->next;
    for (Token *t = before->next; t; t = t->next) {
        const Macro *const inner = t->kind == TOKEN_NAME ? macro_named(t->s) : NULL;
        if (inner && (is_parameter(m, t) || is_piece(t) || pastes(inner, 0))) /* depends on the arguments */
            t->hidden = NEW_COPY((Hidden){inner, t->hidden});
    }
    before->next = tokens_expanded(before->next, true);
}

/* A #define or #undef. */
static void change_macro(Token *line, const char *trailing, const char *gap)
{
    Token *const d = line->next;
    const char *const name = d->next->s;
    Level *const level = level_that_stays();
    Macro *const before = macro_named(name);
    if (token_is(d, "define")) {
        Macro *const m = macro_define(d->next);
        keep_inside(m, line);
        if (level)
            vec_push(&level->defined, m);
    } else if (!level || vec_has(&level->defined, before))
        macro_undefine(name);
    else if (before)
        before->is_kept = before->is_maybe = true;
    if (reader()->code.first) {
        add_line(line, name, trailing);
        return;
    }
    Single *const i = add_item(SINGLE_MACRO, line, gap);
    vec_push(&i->names, name);
}

/* Obeys the directive at t; returns the token after it. */
static Token *directive(Token *t)
{
    const char *const gap = t->gap;
    Token *const line = read_line(&t), *const d = line->next;
    const bool in_code = reader()->code.first != NULL;
    const char *const trailing = take_trailing(t);
    const Single *const last = reader()->last;
    if (!d || change_level(d, trailing, gap) || is_skipped())
        return t;
    if (token_is(d, "include"))
        include(line, d->next, gap);
    else if (token_is(d, "define") || token_is(d, "undef"))
        change_macro(line, trailing, gap);
    else if (in_code)
        add_line(line, "", trailing);
    else
        add_item(SINGLE_DIRECTIVE, line, gap);
    if (reader()->last != last && !in_code && !token_is(d, "include"))
        reader()->last->trailing = trailing;
    return t;
}

static void read_tokens(Token *t)
{
    SingleReader *const r = reader();
    while (t->kind != TOKEN_END) {
        if (r->last && !r->code.first && !is_skipped()) {
            const char *const trailing = take_trailing(t);
            r->last->trailing = r->last->trailing ? r->last->trailing : trailing;
            r->last = NULL;
        }
        if (t->first && token_is(t, "#"))
            t = directive(t);
        else if (is_skipped())
            read_line(&t);
        else {
            Tokens out = {0};
            move_expanded(&t, &out, r->depth > 0);
            if (out.first)
                add_token(out.first);
        }
    }
    if (r->code.first)
        bug("--single: a definition has no end: %s", r->code.first->s);
}

void single_read(Text *t, LineKind lines, const void *owner)
{
    map_put(&reader()->included, intern("stddef.h", 8), reader()); /* in the header */
    map_put(&reader()->included, intern("stdint.h", 8), reader());
    text_put(t, "\n");
    read_tokens(tokenise(t->s));
    *t = (Text){0};
    reader()->lines = lines;
    reader()->owner = owner;
}
