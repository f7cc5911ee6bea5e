/* parse_names.c - what a name in a graph refers to. */
#include "base/nearest.h"
#include "read/parse.h"
#include "read/read.h"

Value *find_value(const Graph *g, Name n)
{
    for (; g; g = g->parent) {
        Value *v = map_get(&g->scope, n);
        if (v)
            return v;
    }
    return NULL;
}

const Function *function_of(const Graph *g)
{
    while (g->parent)
        g = g->parent;
    return g->function;
}

void suggest_value(const Graph *g, Name n)
{
    Nearest near = nearest_to(n->s, n->n);
    for (; g; g = g->parent)
        for (int i = 0; i < g->scope.cap; i++) {
            Name k = g->scope.key[i];
            if (k)
                nearest_try(&near, k->s, k->n);
        }
    nearest_help(&near);
}
