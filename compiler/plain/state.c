/* state.c - cells, the trail of their changes, and joins of states. */
#include "plain/state.h"

typedef struct Trail {
    Changes changes; /* each with the value before it */
    int64_t clock;
    unsigned visit;
    int lost;
} Trail;
PART(Trail, trail)

/* ---- values ------------------------------------------------------------------------------------------------------ */

Content value_in(ValueSet v) { return (Content){.v = v}; }
Content value_unknown(void) { return value_in(value_any()); }

static bool is_same_place(const Place *a, const Place *b)
{
    return a->of == b->of && (!a->of || (a->at == b->at && a->step == b->step && a->count == b->count));
}

bool value_is_same(const Content *a, const Content *b)
{
    return value_is_equal(&a->v, &b->v) && is_same_place(&a->to, &b->to);
}

static Place anywhere_in(Object *o) { return (Place){o, 0, 1, o->n}; }

/* A pointer that may point into one of two objects is no longer followed. */
Content value_of_either(Content a, Content b)
{
    const bool null_a = !a.to.of && a.v.hi == 0 && a.v.lo == 0, null_b = !b.to.of && b.v.hi == 0 && b.v.lo == 0;
    Content r = {.v = value_join(a.v, b.v)};
    if (is_same_place(&a.to, &b.to) || null_b)
        r.to = a.to;
    else if (null_a)
        r.to = b.to;
    else if (a.to.of == b.to.of)
        r.to = anywhere_in(a.to.of);
    else {
        object_lose(a.to.of);
        object_lose(b.to.of);
    }
    return r;
}

/* The same; after a few rounds, bounds that grow become infinite. */
static Content widen(Content old, Content new, int round)
{
    enum { EXACT_ROUNDS = 2 };
    Content r = value_of_either(old, new);
    if (round < EXACT_ROUNDS || value_is_same(&r, &old))
        return r;
    if (r.to.of)
        r.to = anywhere_in(r.to.of);
    if (!value_is_equal(&r.v, &old.v))
        r.v = value_widen(value_between(old.v.lo, old.v.hi), value_join(r.v, value_between(r.v.lo, r.v.hi)));
    return r;
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

Object *object_new(int cells)
{
    Object *o = NEW(Object);
    o->n = cells;
    o->cells = NEWS(Location, cells);
    for (int i = 0; i < cells; i++)
        o->cells[i] = (Location){.is = value_unknown(), .of = o};
    return o;
}

void object_declare(Object *o) { o->since = ++trail()->clock; }

void object_lose(Object *o)
{
    if (!o || o->is_lost)
        return;
    o->is_lost = true;
    trail()->lost++;
    for (int i = 0; i < o->n; i++)
        object_lose(o->cells[i].is.to.of);
}

int objects_lost(void) { return trail()->lost; }

static void set(Location *c, Content v)
{
    if (value_is_same(&c->is, &v))
        return;
    vec_push(&trail()->changes, ((Change){c, c->is}));
    c->is = v;
}

static bool is_inside(const Place *p) { return p->at >= 0 && p->at + (p->count - 1) * p->step < p->of->n; }

Content place_read(Place p)
{
    if (!p.of || p.of->is_lost || !is_inside(&p))
        return value_unknown();
    Content all = p.of->cells[p.at].is;
    for (int i = 1; i < p.count; i++)
        all = value_of_either(all, p.of->cells[p.at + i * p.step].is);
    return all;
}

void place_write(Place p, Content v)
{
    if (!p.of || p.of->is_lost) {
        object_lose(v.to.of);
        return;
    }
    if (!is_inside(&p))
        p = anywhere_in(p.of);
    for (int i = 0; i < p.count; i++) {
        Location *c = &p.of->cells[p.at + i * p.step];
        set(c, p.count == 1 ? v : value_of_either(c->is, v));
    }
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

Mark mark(void) { return (Mark){trail()->changes.n, ++trail()->clock}; }

void undo(Mark m)
{
    Changes *all = &trail()->changes;
    while (all->n > m.trail) {
        all->n--;
        all->at[all->n].cell->is = all->at[all->n].to;
    }
}

/* Is this the first visit of a cell whose life goes back to m? */
static bool visits(Location *c, unsigned visit, Mark m)
{
    const bool first = c->visit != visit && c->of->since < m.clock;
    c->visit = visit;
    return first;
}

void forget(Mark m)
{
    Changes *all = &trail()->changes;
    const unsigned visit = ++trail()->visit;
    int n = m.trail;
    for (int i = m.trail; i < all->n; i++)
        if (visits(all->at[i].cell, visit, m))
            all->at[n++] = all->at[i];
    all->n = n;
}

bool changes_only(Mark m, const Object *o)
{
    for (int i = m.trail; i < trail()->changes.n; i++) {
        const Change *was = &trail()->changes.at[i];
        if (was->cell->of != o && !value_is_same(&was->to, &was->cell->is))
            return false;
    }
    return true;
}

static Changes changes_since(Mark m)
{
    Changes all = {0};
    const unsigned visit = ++trail()->visit;
    for (int i = m.trail; i < trail()->changes.n; i++) {
        Location *c = trail()->changes.at[i].cell;
        if (visits(c, visit, m))
            vec_push(&all, ((Change){c, c->is}));
    }
    return all;
}

void paths_add(Paths *all, Mark m) { vec_push(all, changes_since(m)); }
void paths_add_unchanged(Paths *all) { vec_push(all, (Changes){0}); }

void paths_cut(Paths *all, int n)
{
    for (; all->n > n; all->n--)
        vec_free(&all->at[all->n - 1]);
}

void paths_join(Paths *all, Mark m)
{
    const unsigned visit = ++trail()->visit;
    undo(m);
    EACH_AT (path, *all)
        EACH_AT (change, *path) {
            Location *c = change->cell;
            const bool first = c->visit != visit;
            c->visit = visit;
            c->joined = first ? change->to : value_of_either(c->joined, change->to);
            c->paths = first ? 1 : c->paths + 1;
        }
    EACH_AT (path, *all) {
        EACH_AT (change, *path) {
            Location *c = change->cell;
            if (c->paths) /* its first visit */
                set(c, c->paths < all->n ? value_of_either(c->is, c->joined) : c->joined);
            c->paths = 0;
        }
        vec_free(path);
    }
    all->n = 0;
}

bool state_widen(Mark m, int round)
{
    Changes now = changes_since(m);
    bool grows = false;
    undo(m);
    EACH_AT (change, now) {
        Location *c = change->cell;
        const Content v = widen(c->is, change->to, round);
        grows |= !value_is_same(&v, &c->is);
        set(c, v);
    }
    vec_free(&now);
    return grows;
}
