/* used.c - finds the types, constants and functions that the remaining functions name. */
#include "plain/plain.h"
#include "plain/syntax.h"

PART(Map, used)

static void use(const char *name)
{
    if (name && !map_get(used(), name))
        map_put(used(), name, (void *)(uintptr_t)name);
}

static void use_specs(const Specs *s) { use(s->base); }

static void use_node(Syntax *n, void *arg)
{
    (void)arg;
    if (n->kind == NAME)
        use(n->s);
    if (n->kind == DECLARE) {
        use_specs(&n->var->specs);
        for (int i = 0; i < n->var->dims.n; i++)
            each_node(n->var->dims.at[i], use_node, NULL);
    }
    if (n->kind == CAST || n->kind == SIZEOF || n->kind == COMPOUND)
        use_specs(&n->type);
}

static void use_function(CFunction *f)
{
    use_specs(&f->specs);
    EACH_OF (p, f->parameters) {
        use_specs(&p->specs);
        for (int k = 0; k < p->dims.n; k++)
            each_node(p->dims.at[k], use_node, NULL);
    }
    each_node(f->body, use_node, NULL);
}

static void use_struct(const Struct *s)
{
    EACH_OF (v, s->fields) {
        if (v->is_gone)
            continue;
        use_specs(&v->specs);
        for (int k = 0; k < v->dims.n; k++)
            each_node(v->dims.at[k], use_node, NULL);
    }
}

/* Is the item named, or an enumerator of it? */
static bool is_named(const TopItem *i)
{
    if (i->kind == ITEM_FUNCTION)
        return i->function->has_body ? i->function->is_reached : i->name && map_get(used(), i->name);
    if (i->kind != ITEM_ENUM)
        return i->name && map_get(used(), i->name);
    for (const Token *t = i->from; t != i->to; t = t->next)
        if (t->kind == TOKEN_NAME && map_get(used(), t->s))
            return true;
    return false;
}

static void use_item(TopItem *i)
{
    i->is_used = true;
    if (i->kind == ITEM_FUNCTION && i->function->has_body)
        use_function(i->function);
    else if (i->structure && (i->kind == ITEM_STRUCT || !i->declaration))
        use_struct(i->structure);
    for (const Token *t = i->from; t != i->to && i->kind != ITEM_FUNCTION && !i->structure; t = t->next)
        if (t->kind == TOKEN_NAME && strcmp(t->s, "enum") != 0)
            use(t->s);
    if (i->declaration)
        use_specs(&i->declaration->var->specs);
}

void find_used(void)
{
    for (bool more = true; more;) {
        more = false;
        EACH_OF (item, file()->items)
            if (!item->is_used && is_named(item)) {
                use_item(item);
                more = true;
            }
    }
}

bool plain_needs(const char *s) { return map_get(used(), name(s)->s) != NULL; }
