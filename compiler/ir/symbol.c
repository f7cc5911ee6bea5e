/* symbol.c - sizes known only at run time: their names, bounds, origins and values. */
#include "ir/symbol.h"
#include "base/options.h"
#include "ir/expr.h"
#include "ir/graph.h"

typedef struct Symbols {
    Map by_name, numbers; /* last suffix used to make a name unique */
    Map origins;          /* node or value -> the first symbol that originates in it */
} Symbols;
PART(Symbols, symbols)

static Symbol *symbol_new(Name n, int64_t low, int64_t high)
{
    Symbol *s = NEW_COPY((Symbol){.name = n, .low = low, .high = high, .upper = D(high)});
    s->fixed = symbol_add(s);
    map_put(&symbols()->by_name, n, s);
    return s;
}

Symbol *symbol_by_name(Name n)
{
    Symbol *s = map_get(&symbols()->by_name, n);
    return s ? s : symbol_new(n, 0, INT64_MAX);
}

/* "v" of "v[0]", unless a dimension is named so; otherwise n itself. */
static Name without_index(Name n)
{
    const char *at = n->n && n->s[n->n - 1] == ']' ? strrchr(n->s, '[') : NULL;
    Name v = at && at > n->s ? name_bytes(n->s, (size_t)(at - n->s)) : n;
    const Symbol *other = map_get(&symbols()->by_name, v);
    return other && other->user ? n : v;
}

Name symbol_option(const Symbol *s) { return s->user || !s->why ? s->name : without_index(s->why); }

Symbol *symbol_fresh(const char *why, int64_t low, int64_t high)
{
    const Name base = name(why), value = without_index(base);
    Name n = base;
    uintptr_t number = (uintptr_t)map_get(&symbols()->numbers, n);
    while (map_get(&symbols()->by_name, n)) {
        number += number ? 1 : 2;
        n = name_format("%s#%d", why, (int)number);
    }
    map_put(&symbols()->numbers, base, (void *)number);
    EACH_AT (o, opt()->dims) {
        if (!name_is(n, o->name) && !name_is(base, o->name) && !name_is(value, o->name))
            continue;
        low = o->low > low ? o->low : low;
        high = o->high < high ? o->high : high;
        o->used = true;
    }
    Symbol *s = symbol_new(n, low, high);
    s->why = base;
    return s;
}

Symbol *symbols_of(const void *origin) { return map_get(&symbols()->origins, origin); }

/* s, and those that follow it */
static void add_symbol_of(void *origin, Symbol *s)
{
    Symbol *last = symbols_of(origin);
    while (last && last->next)
        last = last->next;
    if (last)
        last->next = s;
    else
        map_put(&symbols()->origins, origin, s);
}

static void set_origin(Symbol *s, struct Origin o)
{
    if (s->origin.kind)
        bug("the size '%s' comes from two places", printable(s->name));
    s->origin = o;
    add_symbol_of(symbol_origin(s), s);
}

void symbol_made_by(Symbol *s, Node *n)
{
    if (s->origin.kind == ORIGIN_NODE && s->origin.node == n)
        return;
    set_origin(s, (struct Origin){ORIGIN_NODE, .node = n});
    n->pinned = true;
}

void symbol_read_from(Symbol *s, Value *v, int element)
{
    set_origin(s, (struct Origin){ORIGIN_ELEMENT, .value = v, .index = element});
    v->pinned = true;
}

void symbol_of_input(Symbol *s, Value *v, int axis)
{
    s->low = s->low < 0 ? 0 : s->low;
    if (!s->origin.kind)
        s->origin = (struct Origin){ORIGIN_INPUT, .value = v, .index = axis};
}

void *symbol_origin(const Symbol *s)
{
    switch (s->origin.kind) {
    case ORIGIN_ELEMENT: return s->origin.value;
    case ORIGIN_NODE: return s->origin.node;
    default: return NULL;
    }
}

Graph *symbol_graph(const Symbol *s)
{
    switch (s->origin.kind) {
    case ORIGIN_ELEMENT: return s->origin.value->graph;
    case ORIGIN_NODE: return s->origin.node->graph;
    default: return NULL;
    }
}

void symbols_move(Value *from, Value *to)
{
    Symbol *first = symbols_of(from);
    if (!first)
        return;
    for (Symbol *s = first; s; s = s->next)
        s->origin.value = to;
    add_symbol_of(to, first);
    map_put(&symbols()->origins, from, NULL);
    to->pinned = true;
}

Dim dim_symbol(Symbol *s) { return dim_resolve(s->fixed); }

void symbol_fix(Symbol *s, Dim d)
{
    d = dim_resolve(d);
    if (symbol_of(d) == s)
        return;
    EACH_SYMBOL (other, d)
        if (other == s)
            bug("size '%s' is fixed to an expression over itself", printable(s->name));
    s->fixed = d;
}
