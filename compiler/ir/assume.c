/* assume.c - the assumptions of operators about sizes. */
#include "ir/assume.h"
#include "ir/ops.h"

typedef struct AllAssumptions {
    VEC(Assumption) list;
} AllAssumptions;
PART(AllAssumptions, assumptions)

void assume_dim(Node *n, Dim d, Dim is)
{
    if (dim_identical(d, is))
        return;
    vec_push(&assumptions()->list, ((Assumption){n, d, is}));
    n->pinned = true;
}

void assume_broadcast(Node *n, Shape s, Shape t)
{
    for (int i = 1; i <= s.rank && i <= t.rank; i++) {
        Dim a = s.dim[s.rank - i], b = t.dim[t.rank - i];
        if (!dim_is(a, 1) && !dim_is(b, 1))
            assume_dim(n, dim_select(dim_eq_expr(a, D(1)), b, a), dim_select(dim_eq_expr(b, D(1)), a, b));
    }
}

bool is_impossible(Dim d, Dim is) { return dim_is(dim_eq_expr(d, is), 0); }

void assumptions_check(int from)
{
    for (int i = from; i < assumptions()->list.n; i++) {
        const Assumption *a = &assumptions()->list.at[i];
        if (is_impossible(a->d, a->is)) {
            node_error(a->n, "two sizes must be equal: %s and %s", dim_text(a->d), dim_text(a->is));
            return;
        }
    }
}

/* ---- at run time ------------------------------------------------------------------------------------------------- */

static bool is_known(Dim d)
{
    EACH_SYMBOL (s, d)
        if (!s->known)
            return false;
    return true;
}

Assumptions assumptions_of(const Graph *g)
{
    Assumptions of = {0};
    Map seen = {0};
    EACH_AT (a, assumptions()->list) {
        a->d = dim_resolve(a->d); /* bounds that were found since may prove it */
        a->is = dim_resolve(a->is);
        if (dim_identical(a->d, a->is))
            continue;
        void *both = (void *)(uintptr_t)(dim_eq_expr(a->d, a->is).v + 1); /* equal expressions are the same Dim */
        if (a->n->graph != g || map_get(&seen, both))
            continue;
        map_put(&seen, both, a);
        vec_push(&of, a);
    }
    map_free(&seen);
    return of;
}

Assumption *assumption_to_check(Assumptions *a)
{
    for (int i = 0; i < a->n; i++) {
        Assumption *first = a->at[i];
        if (!is_known(first->d) || !is_known(first->is))
            continue;
        memmove(&a->at[i], &a->at[i + 1], sizeof *a->at * (size_t)(--a->n - i));
        return first;
    }
    return NULL;
}

int assumption_count(void) { return assumptions()->list.n; }

void assumptions_forget(int from, int to)
{
    if (from == to)
        return;
    memmove(&assumptions()->list.at[from], &assumptions()->list.at[to],
            sizeof *assumptions()->list.at * (size_t)(assumptions()->list.n - to));
    assumptions()->list.n -= to - from;
}

Assumption *assumption_at(int i) { return &assumptions()->list.at[i]; }
