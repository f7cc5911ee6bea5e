/* parse.c - parses expressions and the statements of a function's body. */
#include <stdlib.h>

#include "base/fail.h"
#include "plain/syntax.h"

Syntax *node(NodeKind kind, const char *s)
{
    Syntax *n = NEW(Syntax);
    n->kind = kind;
    n->s = s;
    return n;
}

static Syntax *with(Syntax *n, Syntax *kid)
{
    vec_push(&n->kid, kid);
    return n;
}

bool is_at(const Parsing *p, const char *s) { return p->at->kind != TOKEN_STRING && !strcmp(p->at->s, s); }
bool take(Parsing *p, const char *s)
{
    const bool is = is_at(p, s);
    p->at = is ? p->at->next : p->at;
    return is;
}
void expect(Parsing *p, const char *s)
{
    if (!take(p, s))
        bug("plain: %s instead of %s, in %s", p->at->s, s, p->function ? p->function->name : "the file");
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void begin_scope(Parsing *p) { vec_push(&p->scopes, (Map){0}); }
static void end_scope(Parsing *p) { p->scopes.n--; }

static void declare(Parsing *p, Var *v)
{
    v->function = p->function;
    map_put(&p->scopes.at[p->scopes.n - 1], v->name, v);
    vec_push(&p->function->locals, v);
}

static Syntax *parse_name(Parsing *p)
{
    Syntax *n = node(NAME, p->at->s);
    p->at = p->at->next;
    for (int i = p->scopes.n - 1; i >= 0 && !n->var; i--)
        n->var = map_get(&p->scopes.at[i], n->s);
    if (n->var)
        return n;
    Syntax *enumerator = map_get(&file()->enumerators, n->s);
    if (enumerator) {
        n->is_enumerator = true;
        n->number = enumerator->number;
        return n;
    }
    n->item = map_get(&file()->named, n->s);
    if (n->item && n->item->kind == ITEM_VAR)
        n->var = n->item->declaration->var;
    return n;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static Syntax *parse_unary(Parsing *p);
static Syntax *parse_comma(Parsing *p);

/* A type in parentheses, of which the ( was taken. */
static void parse_type(Parsing *p, Syntax *n)
{
    n->type = parse_specs(p);
    Var *v = parse_declarator(p, &n->type);
    n->stars = v->stars;
    n->pointers = v->pointers;
    n->dims = v->dims;
    expect(p, ")");
}

static bool at_type_in_parentheses(const Parsing *p)
{
    return is_at(p, "(") && is_at_type(&(Parsing){.at = p->at->next, .function = p->function});
}

static Syntax *parse_primary(Parsing *p)
{
    if (take(p, "(")) {
        Syntax *e = parse_comma(p);
        expect(p, ")");
        return e;
    }
    if (p->at->kind == TOKEN_NAME)
        return parse_name(p);
    Syntax *n = node(p->at->kind == TOKEN_STRING ? STRING : NUMBER, p->at->s);
    if (p->at->kind == TOKEN_PUNCT || p->at->kind == TOKEN_END)
        bug("plain: %s is no expression, in %s", p->at->s, p->function ? p->function->name : "the file");
    for (p->at = p->at->next; n->kind == STRING && p->at->kind == TOKEN_STRING; p->at = p->at->next)
        n->s = text_format("%s %s", n->s, p->at->s);
    return n;
}

static Syntax *parse_call(Parsing *p, Syntax *f)
{
    Syntax *n = with(node(CALL, "("), f);
    while (!take(p, ")")) {
        with(n, parse_assignment(p));
        take(p, ",");
    }
    return n;
}

static Syntax *parse_postfix(Parsing *p, Syntax *e)
{
    for (;;) {
        const char *s = p->at->s;
        if (take(p, "["))
            e = with(with(node(INDEX, "["), e), parse_comma(p)), expect(p, "]");
        else if (take(p, "("))
            e = parse_call(p, e);
        else if (take(p, ".") || take(p, "->")) {
            e = with(node(MEMBER, p->at->s), e);
            e->arrow = s[0] == '-';
            p->at = p->at->next;
        } else if (take(p, "++") || take(p, "--"))
            e = with(node(POSTFIX, s), e);
        else
            return e;
    }
}

static Syntax *parse_cast(Parsing *p)
{
    Syntax *n = node(CAST, "(");
    expect(p, "(");
    parse_type(p, n);
    if (!is_at(p, "{"))
        return with(n, parse_unary(p));
    n->kind = COMPOUND;
    return parse_postfix(p, with(n, parse_initialiser(p)));
}

static Syntax *parse_unary(Parsing *p)
{
    static const char *const operators[] = {"++", "--", "+", "-", "!", "~", "*", "&"};
    const char *s = p->at->s;
    if (at_type_in_parentheses(p))
        return parse_cast(p);
    if (p->at->kind == TOKEN_NAME && take(p, "sizeof")) {
        Syntax *n = node(SIZEOF, s);
        if (!at_type_in_parentheses(p))
            return with(n, parse_unary(p));
        expect(p, "(");
        parse_type(p, n);
        return n;
    }
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (take(p, operators[i]))
            return with(node(UNARY, s), parse_unary(p));
    return parse_postfix(p, parse_primary(p));
}

int precedence(const char *op)
{
    static const char *const levels[][4] = {
        {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<", ">", "<=", ">="},
        {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
    for (int i = 0; i < (int)(sizeof levels / sizeof *levels); i++)
        for (int k = 0; k < 4 && levels[i][k]; k++)
            if (!strcmp(levels[i][k], op))
                return i + 1;
    return 0;
}

static Syntax *parse_binary(Parsing *p, int above)
{
    Syntax *e = parse_unary(p);
    for (int level; p->at->kind == TOKEN_PUNCT && (level = precedence(p->at->s)) > above;) {
        Syntax *n = node(BINARY, p->at->s);
        p->at = p->at->next;
        with(n, e);
        e = with(n, parse_binary(p, level));
    }
    return e;
}

static bool is_assignment(const Token *t)
{
    static const char *const all[] = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (t->kind == TOKEN_PUNCT && !strcmp(t->s, all[i]))
            return true;
    return false;
}

Syntax *parse_assignment(Parsing *p)
{
    Syntax *e = parse_binary(p, 0);
    if (take(p, "?")) {
        Syntax *n = with(node(COND, "?"), e);
        with(n, parse_comma(p));
        expect(p, ":");
        return with(n, parse_assignment(p));
    }
    if (!is_assignment(p->at))
        return e;
    Syntax *n = with(node(ASSIGN, p->at->s), e);
    p->at = p->at->next;
    return with(n, parse_assignment(p));
}

static Syntax *parse_comma(Parsing *p)
{
    Syntax *e = parse_assignment(p);
    while (take(p, ",")) {
        Syntax *n = with(node(COMMA, ","), e);
        e = with(n, parse_assignment(p));
    }
    return e;
}

static Syntax *parse_item(Parsing *p)
{
    Syntax *n;
    if (take(p, ".")) {
        n = node(FIELD_IS, p->at->s);
        p->at = p->at->next;
    } else if (take(p, "[")) {
        n = with(node(ELEMENT_IS, "["), parse_comma(p));
        expect(p, "]");
    } else
        return parse_initialiser(p);
    expect(p, "=");
    return with(n, parse_initialiser(p));
}

Syntax *parse_initialiser(Parsing *p)
{
    if (!take(p, "{"))
        return parse_assignment(p);
    Syntax *n = node(LIST, "{");
    while (!take(p, "}")) {
        with(n, parse_item(p));
        take(p, ",");
    }
    return n;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static Syntax *parse_statement(Parsing *p);

/* Appends the variables of a declaration, each a DECLARE. */
static void parse_declaration(Parsing *p, Syntax *to)
{
    Specs specs = parse_specs(p);
    for (bool more = false; !take(p, ";"); more = true) {
        Var *v = parse_declarator(p, &specs);
        Syntax *n = node(DECLARE, v->name);
        v->is_static = specs.storage && strstr(specs.storage, "static");
        n->var = v;
        n->more = more;
        declare(p, v);
        if (take(p, "="))
            with(n, parse_initialiser(p));
        with(to, n);
        take(p, ",");
    }
}

static Syntax *parse_block(Parsing *p)
{
    Syntax *n = node(BLOCK, "{");
    expect(p, "{");
    begin_scope(p);
    while (!is_at(p, "}")) {
        const char *before = p->at->before;
        const int from = n->kid.n;
        if (is_at(p, "enum")) {
            Syntax *e = node(ENUM, "enum");
            const Token *first = p->at;
            parse_enumerators(p);
            Text t = {0};
            for (; first != p->at; first = first->next)
                text_put(&t, "%s%s", t.n && first->s[0] != ';' && first->s[0] != ',' ? " " : "", first->s);
            e->s = t.s;
            with(n, e);
        } else if (is_at_type(p))
            parse_declaration(p, n);
        else
            with(n, parse_statement(p));
        if (n->kid.n > from && before)
            n->kid.at[from]->before = before;
    }
    n->after = p->at->after;
    expect(p, "}");
    end_scope(p);
    return n;
}

static Syntax *parse_for(Parsing *p)
{
    Syntax *n = node(FOR, "for"), *first = node(BLOCK, "{");
    expect(p, "(");
    begin_scope(p);
    if (is_at_type(p))
        parse_declaration(p, first);
    else {
        if (!is_at(p, ";"))
            with(first, parse_comma(p));
        expect(p, ";");
    }
    with(n, first);
    with(n, is_at(p, ";") ? NULL : parse_comma(p));
    expect(p, ";");
    with(n, is_at(p, ")") ? NULL : parse_comma(p));
    expect(p, ")");
    with(n, parse_statement(p));
    end_scope(p);
    return n;
}

static Syntax *parse_condition(Parsing *p)
{
    expect(p, "(");
    Syntax *e = parse_comma(p);
    expect(p, ")");
    return e;
}

static Syntax *parse_if(Parsing *p)
{
    Syntax *n = with(node(IF, "if"), parse_condition(p));
    with(n, parse_statement(p));
    with(n, take(p, "else") ? parse_statement(p) : NULL);
    return n;
}

static Syntax *parse_do(Parsing *p)
{
    Syntax *n = with(node(DO, "do"), parse_statement(p));
    expect(p, "while");
    with(n, parse_condition(p));
    expect(p, ";");
    return n;
}

static Syntax *parse_case(Parsing *p, bool value)
{
    Syntax *n = node(value ? CASE : DEFAULT, "case");
    if (value)
        with(n, parse_assignment(p));
    expect(p, ":");
    return n;
}

static Syntax *parse_jump(Parsing *p, NodeKind kind)
{
    Syntax *n = node(kind, "");
    if (kind == RETURN)
        with(n, is_at(p, ";") ? NULL : parse_comma(p));
    const Token *end = p->at;
    expect(p, ";");
    n->after = end->after;
    return n;
}

static Syntax *parse_expression_statement(Parsing *p)
{
    Syntax *n = node(EVALUATE, "");
    if (!is_at(p, ";"))
        with(n, parse_comma(p));
    n->after = p->at->after;
    expect(p, ";");
    return n;
}

static Syntax *parse_keyword(Parsing *p)
{
    if (take(p, "for"))
        return parse_for(p);
    if (take(p, "if"))
        return parse_if(p);
    if (take(p, "while")) {
        Syntax *n = with(node(WHILE, "while"), parse_condition(p));
        return with(n, parse_statement(p));
    }
    if (take(p, "do"))
        return parse_do(p);
    if (take(p, "switch")) {
        Syntax *n = with(node(SWITCH, "switch"), parse_condition(p));
        return with(n, parse_statement(p));
    }
    if (take(p, "case"))
        return parse_case(p, true);
    if (take(p, "default"))
        return parse_case(p, false);
    if (take(p, "return"))
        return parse_jump(p, RETURN);
    if (take(p, "break"))
        return parse_jump(p, BREAK);
    return take(p, "continue") ? parse_jump(p, CONTINUE) : NULL;
}

static Syntax *parse_statement(Parsing *p)
{
    if (is_at(p, "{"))
        return parse_block(p);
    Syntax *n = p->at->kind == TOKEN_NAME ? parse_keyword(p) : NULL;
    return n ? n : parse_expression_statement(p);
}

void parse_body(CFunction *f)
{
    Parsing p = {.at = f->tokens, .function = f};
    begin_scope(&p);
    EACH_OF (parameter, f->parameters)
        if (parameter->name)
            declare(&p, parameter);
    f->body = parse_block(&p);
}
