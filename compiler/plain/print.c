/* print.c - prints what is left of the file. */
#include "base/wrap.h"
#include "plain/syntax.h"

/* ---- expressions ------------------------------------------------------------------------------------------------- */

enum { P_COMMA = 1, P_ASSIGN, P_COND, P_BINARY, P_UNARY = 20, P_POSTFIX, P_PRIMARY };

static int binary_level(const char *op) { return P_BINARY + precedence(op) - 1; }

static int level(const Syntax *e)
{
    switch (e->kind) {
    case COMMA: return P_COMMA;
    case ASSIGN: return P_ASSIGN;
    case COND: return P_COND;
    case BINARY: return binary_level(e->s);
    case UNARY:
    case CAST:
    case SIZEOF: return P_UNARY;
    case POSTFIX:
    case CALL:
    case INDEX:
    case MEMBER:
    case COMPOUND: return P_POSTFIX;
    default: return P_PRIMARY;
    }
}

static void put_expression(Text *t, const Syntax *e);

static void put_at(Text *t, const Syntax *e, bool parentheses)
{
    text_put(t, parentheses ? "(" : "");
    put_expression(t, e);
    text_put(t, parentheses ? ")" : "");
}

/* Operators that readers, and compilers' warnings, want parentheses in. */
static bool is_rare(const char *op) { return strchr("&|^", op[0]) || (op[0] == op[1] && strchr("<>", op[0])); }

static void put_binary(Text *t, const Syntax *e)
{
    const int own = level(e);
    for (int i = 0; i < 2; i++) {
        const Syntax *kid = e->kid.at[i];
        const bool mixed = kid->kind == BINARY && strcmp(kid->s, e->s) != 0 && (is_rare(e->s) || is_rare(kid->s)) &&
                           !(strlen(e->s) == 2 && strchr("&|", e->s[0]) && !is_rare(kid->s));
        const bool compared = own == binary_level("==") && (level(kid) == own || level(kid) == own + 1);
        put_at(t, kid, mixed || compared || level(kid) < own + i);
        if (!i)
            text_put(t, " %s ", e->s);
    }
}

static void put_dims(Text *t, const SyntaxList *dims)
{
    for (int i = 0; i < dims->n; i++) {
        text_put(t, "[");
        if (dims->at[i])
            put_expression(t, dims->at[i]);
        text_put(t, "]");
    }
}

static void put_type(Text *t, const Syntax *e)
{
    text_put(t, "(%s%s", e->type.text, e->pointers ? " " : "");
    text_put(t, "%.*s", (int)strlen(e->stars) - (e->stars[0] && e->stars[strlen(e->stars) - 1] == ' '), e->stars);
    put_dims(t, &e->dims);
    text_put(t, ")");
}

static void put_items(Text *t, const Syntax *e, int from)
{
    for (int i = from; i < e->kid.n; i++) {
        text_put(t, i > from ? ", " : "");
        put_at(t, e->kid.at[i], level(e->kid.at[i]) <= P_COMMA);
    }
}

static void put_unary(Text *t, const Syntax *e)
{
    const Syntax *of = e->kid.at[0];
    text_put(t, "%s", e->s);
    put_at(t, of, level(of) < P_UNARY || (of->kind == UNARY && of->s[0] == e->s[0]));
}

static void put_expression(Text *t, const Syntax *e)
{
    switch (e->kind) {
    case UNARY: put_unary(t, e); break;
    case POSTFIX: put_at(t, e->kid.at[0], level(e->kid.at[0]) < P_POSTFIX), text_put(t, "%s", e->s); break;
    case BINARY: put_binary(t, e); break;
    case ASSIGN:
    case COMMA:
        put_at(t, e->kid.at[0], e->kind == ASSIGN && level(e->kid.at[0]) < P_COND);
        text_put(t, e->kind == COMMA ? ", " : " %s ", e->s);
        put_at(t, e->kid.at[1], level(e->kid.at[1]) < P_ASSIGN);
        break;
    case COND:
        put_at(t, e->kid.at[0], level(e->kid.at[0]) <= P_COND);
        text_put(t, " ? ");
        put_at(t, e->kid.at[1], level(e->kid.at[1]) <= P_COND);
        text_put(t, " : ");
        put_at(t, e->kid.at[2], level(e->kid.at[2]) < P_COND);
        break;
    case CALL: put_expression(t, e->kid.at[0]), text_put(t, "("), put_items(t, e, 1), text_put(t, ")"); break;
    case INDEX:
        put_at(t, e->kid.at[0], level(e->kid.at[0]) < P_POSTFIX);
        text_put(t, "["), put_expression(t, e->kid.at[1]), text_put(t, "]");
        break;
    case MEMBER:
        put_at(t, e->kid.at[0], level(e->kid.at[0]) < P_POSTFIX);
        text_put(t, "%s%s", e->arrow ? "->" : ".", e->s);
        break;
    case CAST: put_type(t, e), put_at(t, e->kid.at[0], level(e->kid.at[0]) < P_UNARY); break;
    case SIZEOF:
        text_put(t, "sizeof");
        if (e->kid.n)
            text_put(t, "("), put_expression(t, e->kid.at[0]), text_put(t, ")");
        else
            put_type(t, e);
        break;
    case COMPOUND: put_type(t, e), put_expression(t, e->kid.at[0]); break;
    case LIST: text_put(t, "{"), put_items(t, e, 0), text_put(t, "}"); break;
    case FIELD_IS: text_put(t, ".%s = ", e->s), put_expression(t, e->kid.at[0]); break;
    case ELEMENT_IS:
        text_put(t, "["), put_expression(t, e->kid.at[0]), text_put(t, "] = "), put_expression(t, e->kid.at[1]);
        break;
    default: text_put(t, "%s", e->s);
    }
}

/* ---- declarations ------------------------------------------------------------------------------------------------ */

static void put_declarator(Text *t, const Var *v)
{
    text_put(t, "%s%s%s%s", v->in_parentheses ? "(" : "", v->stars, v->name ? v->name : "",
             v->in_parentheses ? ")" : "");
    put_dims(t, &v->dims);
}

static void put_variable(Text *t, const Syntax *d, bool type)
{
    if (type)
        text_put(t, "%s%s ", d->var->is_static ? "static " : "", d->var->specs.text);
    put_declarator(t, d->var);
    if (d->kid.n) {
        text_put(t, " = ");
        put_expression(t, d->kid.at[0]);
    }
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void put_comment(Text *t, int depth, const char *comment)
{
    while (comment && *comment) {
        const size_t n = strcspn(comment, "\n");
        const size_t blanks = strspn(comment, " ");
        const bool begins = !strncmp(comment + blanks, "/*", 2);
        text_put(t, "%*s%.*s\n", 4 * depth + !begins, "", (int)(n - blanks), comment + blanks);
        comment += n + (comment[n] == '\n');
    }
}

static void put_line(Text *t, int depth, const Text *line, const char *after)
{
    put_wrapped(t, 4 * depth, after ? text_format("%s %s", line->s, after) : line->s);
}

static void put_statement(Text *t, int depth, const Syntax *n);

static bool declares(const Syntax *block)
{
    EACH_OF (kid, block->kid)
        if (kid->kind == DECLARE || kid->kind == ENUM)
            return true;
    return false;
}

/* In C99 a statement follows a label: no declaration, and no brace. */
static void put_block(Text *t, int depth, const Syntax *n)
{
    size_t label_end = 0;
    for (int i = 0; i < n->kid.n; i++) {
        const Syntax *const s = n->kid.at[i];
        if (label_end == t->n && label_end && (s->kind == DECLARE || s->kind == ENUM))
            text_put(t, "%*s;\n", 4 * depth, "");
        put_statement(t, depth, s);
        if (s->kind == CASE || s->kind == DEFAULT)
            label_end = t->n;
    }
    if (label_end == t->n && label_end)
        text_put(t, "%*sbreak;\n", 4 * depth, "");
}

/* "head {", the statements, "}" and what follows it. */
static void put_compound(Text *t, int depth, const Text *head, const Syntax *body, const char *end)
{
    put_wrapped(t, 4 * depth, text_format("%s {", head->s));
    put_block(t, depth + 1, body);
    text_put(t, "%*s}%s", 4 * depth, "", end);
}

static void put_if(Text *t, int depth, const Syntax *n, const char *before)
{
    Text head = {0};
    text_put(&head, "%sif (", before);
    put_expression(&head, n->kid.at[0]);
    text_put(&head, ")");
    put_wrapped(t, 4 * depth, text_format("%s {", head.s));
    put_block(t, depth + 1, n->kid.at[1]);
    const Syntax *otherwise = n->kid.at[2];
    if (!otherwise)
        text_put(t, "%*s}\n", 4 * depth, "");
    else if (otherwise->kind == IF)
        put_if(t, depth, otherwise, "} else ");
    else {
        text_put(t, "%*s} else {\n", 4 * depth, "");
        put_block(t, depth + 1, otherwise);
        text_put(t, "%*s}\n", 4 * depth, "");
    }
}

static void put_for(Text *t, int depth, const Syntax *n)
{
    Text head = {0};
    const Syntax *first = n->kid.at[0];
    text_put(&head, "for (");
    for (int i = 0; i < first->kid.n; i++) {
        const Syntax *d = first->kid.at[i];
        text_put(&head, i ? ", " : "");
        d->kind == DECLARE ? put_variable(&head, d, !i) : put_expression(&head, d);
    }
    text_put(&head, n->kid.at[1] ? "; " : ";");
    if (n->kid.at[1])
        put_expression(&head, n->kid.at[1]);
    text_put(&head, n->kid.at[2] ? "; " : ";");
    if (n->kid.at[2])
        put_expression(&head, n->kid.at[2]);
    text_put(&head, ")");
    put_compound(t, depth, &head, n->kid.at[3], "\n");
}

static void put_do(Text *t, int depth, const Syntax *n)
{
    Text head = {0}, end = {0};
    text_put(&head, "do");
    text_put(&end, " while (");
    put_expression(&end, n->kid.at[1]);
    text_put(&end, ");\n");
    put_compound(t, depth, &head, n->kid.at[0], end.s);
}

static void put_head(Text *t, int depth, const Syntax *n, const char *word)
{
    Text head = {0};
    text_put(&head, "%s (", word);
    put_expression(&head, n->kid.at[0]);
    text_put(&head, ")");
    put_compound(t, depth, &head, n->kid.at[1], "\n");
}

/* Is e a call whose result is not used? */
static bool has_result(const Syntax *e)
{
    const TopItem *item = e->kind == CALL ? e->kid.at[0]->item : NULL;
    return item && item->function && (item->function->pointers || strcmp(item->function->specs.base, "void") != 0);
}

static void put_simple(Text *t, int depth, const Syntax *n)
{
    Text line = {0};
    if (n->kind == DECLARE)
        put_variable(&line, n, true);
    else if (n->kind == RETURN)
        text_put(&line, n->kid.at[0] ? "return " : "return");
    else if (n->kind == BREAK || n->kind == CONTINUE)
        text_put(&line, n->kind == BREAK ? "break" : "continue");
    if (n->kind == EVALUATE && n->kid.n && has_result(n->kid.at[0]))
        text_put(&line, "(void)");
    if (n->kid.n && n->kid.at[0] && n->kind != DECLARE)
        put_expression(&line, n->kid.at[0]);
    text_put(&line, ";");
    put_line(t, depth, &line, n->after);
}

static void put_label(Text *t, int depth, const Syntax *n)
{
    Text line = {0};
    text_put(&line, n->kind == CASE ? "case " : "default");
    if (n->kind == CASE)
        put_expression(&line, n->kid.at[0]);
    text_put(t, "%*s%s:\n", 4 * (depth - 1), "", line.s);
}

static void put_statement(Text *t, int depth, const Syntax *n)
{
    put_comment(t, depth, n->before);
    switch (n->kind) {
    case BLOCK:
        if (!declares(n)) {
            put_block(t, depth, n);
            break;
        }
        text_put(t, "%*s{\n", 4 * depth, "");
        put_block(t, depth + 1, n);
        text_put(t, "%*s}\n", 4 * depth, "");
        break;
    case IF: put_if(t, depth, n, ""); break;
    case FOR: put_for(t, depth, n); break;
    case WHILE: put_head(t, depth, n, "while"); break;
    case SWITCH: put_head(t, depth, n, "switch"); break;
    case DO: put_do(t, depth, n); break;
    case CASE:
    case DEFAULT: put_label(t, depth, n); break;
    case ENUM: text_put(t, "%*s%s\n", 4 * depth, "", n->s); break;
    default: put_simple(t, depth, n);
    }
}

/* ---- the top level ----------------------------------------------------------------------------------------------- */

static void put_signature(Text *t, const CFunction *f)
{
    Text line = {0};
    text_put(&line, "%s%s %s%s(", f->is_public ? "" : "static ", f->specs.text, f->stars, f->name);
    for (int i = 0; i < f->parameters.n; i++) {
        text_put(&line, "%s%s ", i ? ", " : "", f->parameters.at[i]->specs.text);
        put_declarator(&line, f->parameters.at[i]);
    }
    text_put(&line, f->parameters.n ? ")" : "void)");
    for (size_t n = line.n; n > 1 && line.s[n - 2] == ' ' && line.s[n - 1] == ')'; n--)
        line.s[n - 2] = ')', line.s[n - 1] = '\0';
    put_wrapped(t, 0, line.s);
}

static void put_function(Text *t, const TopItem *i)
{
    const CFunction *f = i->function;
    text_put(t, "\n");
    put_comment(t, 0, i->comment);
    put_signature(t, f);
    text_put(t, "{\n");
    put_block(t, 1, f->body);
    text_put(t, "}\n");
}

static void put_fields(Text *t, const Struct *s)
{
    EACH_OF (v, s->fields) {
        if (v->is_gone)
            continue;
        text_put(t, "    %s ", v->specs.text);
        put_declarator(t, v);
        text_put(t, ";\n");
    }
}

/* The tokens of an item, as they are. */
static void put_tokens(Text *t, const TopItem *i)
{
    Wrapped w = {.to = t, .first = "", .between = "", .indent = 0};
    Text piece = {0};
    for (const Token *k = i->from; k != i->to; k = k->next) {
        const Token *next = k->next;
        text_put(&piece, "%s", k->s);
        if (next != i->to && (next->touches || strchr(",;)]", next->s[0]) || strchr("([", k->s[0])) &&
            strcmp(k->s, ",") != 0)
            continue;
        put_piece(&w, piece.s);
        w.indent = 4;
        piece = (Text){0};
    }
    text_put(t, "\n");
}

static void put_item(Text *t, const TopItem *i, const TopItem *before)
{
    if (i->kind == ITEM_FUNCTION && i->function->has_body) {
        put_function(t, i);
        return;
    }
    const bool group = before && before->kind == i->kind && !i->comment && i->kind != ITEM_STRUCT;
    text_put(t, group ? "" : "\n");
    put_comment(t, 0, i->comment);
    if (i->kind == ITEM_STRUCT) {
        text_put(t, "%s {\n", i->structure->tag);
        put_fields(t, i->structure);
        text_put(t, "};\n");
    } else if (i->kind == ITEM_TYPEDEF && !i->declaration) {
        text_put(t, "typedef struct {\n");
        put_fields(t, i->structure);
        text_put(t, "} %s;\n", i->name);
    } else if (i->kind == ITEM_TYPEDEF) {
        text_put(t, "typedef %s ", i->declaration->var->specs.text);
        put_declarator(t, i->declaration->var);
        text_put(t, ";\n");
    } else
        put_tokens(t, i);
}

void print_file(Text *t)
{
    const TopItem *before = NULL;
    EACH_OF (item, file()->items) {
        if (!item->is_used || item->is_declared)
            continue;
        put_item(t, item, before);
        before = item;
    }
}
