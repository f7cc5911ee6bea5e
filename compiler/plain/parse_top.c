/* parse_top.c - parses declarations, and divides a file into what is declared at its top level. */
#include <stdlib.h>

#include "base/fail.h"
#include "plain/syntax.h"

SHARED_PART_IS(CFile, file);

/* ---- types ------------------------------------------------------------------------------------------------------- */

static const char *const qualifiers[] = {"const", "restrict", "volatile"};
static const char *const storages[] = {"static", "extern", "inline", "typedef"};
static const char *const words[] = {"void", "char", "short", "int", "long", "float", "double", "signed", "unsigned"};
static const char *const library[] = {"int8_t",  "uint8_t",  "int16_t", "uint16_t",  "int32_t",   "uint32_t",
                                      "int64_t", "uint64_t", "size_t",  "ptrdiff_t", "uintptr_t", "intptr_t"};
#define IS_ONE(t, list) is_one(t, list, sizeof list / sizeof *list)

static bool is_one(const Token *t, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n && t->kind == TOKEN_NAME; i++)
        if (!strcmp(t->s, list[i]))
            return true;
    return false;
}

bool is_at_type(const Parsing *p)
{
    return IS_ONE(p->at, qualifiers) || IS_ONE(p->at, storages) || IS_ONE(p->at, words) || IS_ONE(p->at, library) ||
           is_at(p, "struct") || (p->at->kind == TOKEN_NAME && map_get(&file()->types, p->at->s));
}

static void add_word(const char **to, const char *word)
{
    *to = *to ? text_format("%s %s", *to, word) : word;
    *to = intern(*to, strlen(*to));
}

static Struct *struct_of(const char *base)
{
    const TopItem *i = map_get(&file()->named, base);
    return i ? i->structure : NULL;
}

Specs parse_specs(Parsing *p)
{
    Specs s = {0};
    for (bool any = false;; p->at = p->at->next)
        if (IS_ONE(p->at, storages))
            add_word(&s.storage, p->at->s);
        else if (IS_ONE(p->at, qualifiers)) {
            add_word(&s.text, p->at->s);
            s.is_const |= !strcmp(p->at->s, "const");
        } else if (is_at(p, "struct")) {
            p->at = p->at->next;
            const char *tag = text_format("struct %s", p->at->s);
            add_word(&s.text, tag);
            add_word(&s.base, tag);
            any = true;
        } else if (IS_ONE(p->at, words)) {
            add_word(&s.text, p->at->s);
            add_word(&s.base, p->at->s);
            any = true;
        } else if (!any &&
                   (IS_ONE(p->at, library) || (p->at->kind == TOKEN_NAME && map_get(&file()->types, p->at->s)))) {
            add_word(&s.text, p->at->s);
            s.base = p->at->s;
            any = true;
        } else
            break;
    s.structure = s.base ? struct_of(s.base) : NULL;
    return s;
}

static void parse_stars(Parsing *p, Var *v)
{
    Text t = {0};
    for (;; p->at = p->at->next)
        if (is_at(p, "*")) {
            text_put(&t, "*");
            v->pointers++;
        } else if (IS_ONE(p->at, qualifiers))
            text_put(&t, "%s ", p->at->s);
        else
            break;
    v->stars = t.s ? t.s : "";
}

/* The name may be missing. */
Var *parse_declarator(Parsing *p, const Specs *specs)
{
    Var *v = NEW(Var);
    v->specs = *specs;
    v->in_parentheses = is_at(p, "(") && !strcmp(p->at->next->s, "*");
    if (v->in_parentheses)
        expect(p, "(");
    parse_stars(p, v);
    if (p->at->kind == TOKEN_NAME) {
        v->name = p->at->s;
        p->at = p->at->next;
    }
    if (v->in_parentheses)
        expect(p, ")");
    while (take(p, "[")) {
        vec_push(&v->dims, is_at(p, "]") ? NULL : parse_assignment(p));
        expect(p, "]");
    }
    return v;
}

/* ---- the top level ----------------------------------------------------------------------------------------------- */

static TopItem *add_item(ItemKind kind, const char *name, Token *from)
{
    TopItem *i = NEW(TopItem);
    i->kind = kind;
    i->name = name;
    i->from = from;
    i->comment = from->before;
    vec_push(&file()->items, i);
    if (name)
        map_put(&file()->named, name, i);
    return i;
}

Token *after_braces(Token *t)
{
    int depth = 0;
    do {
        depth += t->kind == TOKEN_PUNCT ? !strcmp(t->s, "{") - !strcmp(t->s, "}") : 0;
        t = t->next;
    } while (depth);
    return t;
}

/* "{A, B = 4}", with the name and the ;. */
void parse_enumerators(Parsing *p)
{
    int64_t next = 0;
    expect(p, "enum");
    if (p->at->kind == TOKEN_NAME)
        p->at = p->at->next;
    expect(p, "{");
    while (!take(p, "}")) {
        Syntax *n = node(NAME, p->at->s);
        p->at = p->at->next;
        if (take(p, "=")) {
            Syntax *e = parse_assignment(p);
            const ValueSet v = file()->value_of(e);
            if (!value_is_single(&v, &next))
                bug("plain: the value of %s", n->s);
        }
        n->number = next++;
        map_put(&file()->enumerators, n->s, n);
        take(p, ",");
    }
    expect(p, ";");
}

static void parse_fields(Parsing *p, Struct *s)
{
    expect(p, "{");
    while (!take(p, "}")) {
        const Specs specs = parse_specs(p);
        while (!take(p, ";")) {
            Var *v = parse_declarator(p, &specs);
            ValueSet length = {.kind = VALUE_NONE};
            if (v->dims.n == 1 && v->dims.at[0])
                length = file()->value_of(v->dims.at[0]);
            int64_t n;
            if (value_is_single(&length, &n))
                for (int i = 0; i < n; i++)
                    vec_push(&v->element, (ValueSet){0});
            vec_push(&s->fields, v);
            take(p, ",");
        }
    }
}

static void is_written_elsewhere(Struct *s)
{
    if (!s)
        return;
    s->is_known = false;
    EACH_OF (f, s->fields)
        if (!f->pointers)
            is_written_elsewhere(f->specs.structure);
}

static void parse_struct(Parsing *p, Token *from, bool is_typedef)
{
    const char *tag = NULL;
    expect(p, "struct");
    if (p->at->kind == TOKEN_NAME) {
        tag = text_format("struct %s", p->at->s);
        tag = intern(tag, strlen(tag));
        p->at = p->at->next;
    }
    Struct *s = NEW(Struct);
    s->tag = tag;
    s->is_known = !is_typedef;
    TopItem *i = add_item(is_typedef ? ITEM_TYPEDEF : ITEM_STRUCT, tag, from);
    i->structure = s; /* before its fields, which may point to one */
    parse_fields(p, s);
    if (is_typedef) {
        i->name = p->at->s;
        map_put(&file()->types, i->name, i);
        map_put(&file()->named, i->name, i);
        p->at = p->at->next;
    }
    expect(p, ";");
    i->to = p->at;
}

/* typedef int8_t i8; typedef struct {...} c64; several names after commas */
static void parse_typedef(Parsing *p, Token *from)
{
    expect(p, "typedef");
    const Token *next = p->at->next;
    if (is_at(p, "struct") && (!strcmp(next->s, "{") || !strcmp(next->next->s, "{"))) {
        parse_struct(p, from, true);
        return;
    }
    const Specs specs = parse_specs(p);
    do {
        Var *v = parse_declarator(p, &specs);
        TopItem *i = add_item(ITEM_TYPEDEF, v->name, from);
        map_put(&file()->types, v->name, i);
        i->structure = specs.structure;
        i->declaration = node(DECLARE, v->name);
        i->declaration->var = v;
        i->comment = from->before;
        i->to = p->at->next;
    } while (take(p, ","));
    expect(p, ";");
}

static void parse_parameters(Parsing *p, CFunction *f)
{
    if (is_at(p, "void") && !strcmp(p->at->next->s, ")"))
        p->at = p->at->next;
    while (!take(p, ")")) {
        const Specs specs = parse_specs(p);
        Var *v = parse_declarator(p, &specs);
        v->is_parameter = true;
        v->index = f->parameters.n;
        v->function = f;
        vec_push(&f->parameters, v);
        take(p, ",");
    }
}

static void parse_function(Parsing *p, Token *from, const Specs *specs, const Var *v)
{
    TopItem *old = map_get(&file()->named, v->name), *i = old;
    if (!i) {
        i = add_item(ITEM_FUNCTION, v->name, from);
        i->function = NEW(CFunction);
    }
    CFunction *f = i->function;
    f->name = v->name;
    f->specs = *specs;
    f->stars = v->stars;
    f->pointers = v->pointers;
    f->is_public = !specs->storage || !strstr(specs->storage, "static");
    f->parameters.n = 0;
    parse_parameters(p, f);
    i->from = from;
    i->comment = from->before ? from->before : i->comment;
    if (!take(p, ";")) {
        f->has_body = true;
        f->tokens = p->at;
        p->at = after_braces(p->at);
        if (old) { /* the definition is where it is printed */
            TopItem *last = NEW_COPY(*old);
            last->is_declared = false;
            vec_push(&file()->items, last);
            map_put(&file()->named, v->name, last);
            old->kind = ITEM_FUNCTION;
            old->is_declared = true;
        }
    }
    i->to = p->at;
}

/* static const f32 x[4] = {...}, or without a value: a tentative definition. */
static void parse_variable(Parsing *p, Token *from, const Specs *specs, Var *v)
{
    const TopItem *old = map_get(&file()->named, v->name);
    TopItem *i = add_item(ITEM_VAR, v->name, from);
    i->declaration = node(DECLARE, v->name);
    i->declaration->var = old ? old->declaration->var : v;
    v->is_global = true;
    if (!v->pointers)
        is_written_elsewhere(specs->structure); /* its initialiser is not parsed */
    while (!is_at(p, ";"))
        p->at = is_at(p, "{") ? after_braces(p->at) : p->at->next;
    expect(p, ";");
    i->to = p->at;
}

static void parse_item(Parsing *p)
{
    Token *from = p->at;
    if (take(p, ";"))
        return;
    if (is_at(p, "enum")) {
        TopItem *i = add_item(ITEM_ENUM, NULL, from);
        parse_enumerators(p);
        i->to = p->at;
        return;
    }
    if (is_at(p, "typedef")) {
        parse_typedef(p, from);
        return;
    }
    if (is_at(p, "struct") && !strcmp(p->at->next->next->s, "{")) {
        parse_struct(p, from, false);
        return;
    }
    const Specs specs = parse_specs(p);
    Var *v = parse_declarator(p, &specs);
    if (!v->name)
        bug("plain: %s at the top level", p->at->s);
    if (take(p, "("))
        parse_function(p, from, &specs, v);
    else
        parse_variable(p, from, &specs, v);
}

void parse_file(Token *tokens, bool declared)
{
    Parsing p = {.at = tokens};
    while (p.at->kind != TOKEN_END) {
        const int before = file()->items.n;
        parse_item(&p);
        for (int i = before; i < file()->items.n; i++)
            file()->items.at[i]->is_declared |= declared;
        if (declared && file()->items.n > before) /* callers have variables of it */
            is_written_elsewhere(file()->items.at[before]->structure);
    }
}
