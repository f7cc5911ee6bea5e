/* dim.c - sizes: substitution in expressions, bounds that are proven of them, and operations, which simplify. */
#include "ir/dim.h"
#include "base/error.h"
#include "ir/expr.h"
#include "ir/symbol.h"

int64_t dim_value(Dim d)
{
    if (!dim_is_const(d))
        bug("a size is needed as a number: %s", dim_text(d));
    return d.v;
}

/* ---- substitution ------------------------------------------------------------------------------------------------ */

/* `by` gives the replacement of a symbol; NULL: what it is fixed to. */
typedef struct Replace {
    Dim (*by)(Symbol *, void *);
    void *arg;
    unsigned time;
} Replace;

static Dim replace(Dim d, const Replace *with)
{
    if (dim_is_const(d))
        return d;
    Expr *e = dim_expr(d);
    if (e->resolved_at == with->time)
        return e->resolved;
    Dim r;
    if (e->kind == EXPR_SYMBOL && with->by)
        r = with->by(symbol_at((int)e->w[0]), with->arg);
    else if (e->kind == EXPR_SYMBOL) {
        r = symbol_at((int)e->w[0])->fixed;
        r = dim_identical(r, d) ? r : replace(r, with);
    } else if (e->kind == EXPR_POLY) {
        r = D(0);
        for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
            Dim t = D(e->w[i]);
            for (int k = 0; k < e->w[i + 1]; k++)
                t = dim_mul(t, replace((Dim){e->w[i + 2 + k]}, with));
            r = dim_add(r, t);
        }
    } else {
        const Dim x = replace((Dim){e->w[0]}, with), y = replace((Dim){e->w[1]}, with);
        const Dim z = e->n > 2 ? replace((Dim){e->w[2]}, with) : x;
        switch (e->kind) {
#define EXPR(kind, again, ...) case EXPR_##kind: r = again; break;
#include "ir/expr.def"
#undef EXPR
        default: bug("an expression of kind %d", (int)e->kind);
        }
    }
    dim_expr(d)->resolved_at = with->time;
    return dim_expr(d)->resolved = r;
}

Dim dim_replace(Dim d, Dim (*by)(Symbol *, void *), void *arg)
{
    return dim_is_const(d) ? d : replace(d, &(Replace){by, arg, dim_clock()});
}

Dim dim_resolve(Dim d) { return dim_replace(d, NULL, NULL); }

/* ---- proofs ------------------------------------------------------------------------------------------------------ */

/* A sum of a number and a positive multiple of one atom; else false. */
static bool is_line(const Expr *e, int64_t *number, int64_t *factor, Dim *atom)
{
    *number = *factor = 0;
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1])
        if (!e->w[i + 1])
            *number = e->w[i];
        else if (*factor || e->w[i] < 1 || e->w[i + 1] > 1)
            return false;
        else {
            *factor = e->w[i];
            *atom = (Dim){e->w[i + 2]};
        }
    return true;
}

Symbol *dim_bounded(Dim d, int64_t *max)
{
    int64_t number, factor;
    while (!dim_is_const(d) && !symbol_of(d)) {
        const Expr *e = dim_expr(d);
        const Dim x = {e->w[0]}, y = {e->n > 1 ? e->w[1] : 0};
        if (e->kind == EXPR_POLY) {
            if (!is_line(e, &number, &factor, &d))
                return NULL;
            if (*max < INT64_MAX)
                *max = number_div(number_add(*max, -number), factor);
        } else if (e->kind == EXPR_MAX && (dim_is_const(x)   ? dim_value(x)
                                           : dim_is_const(y) ? dim_value(y)
                                                             : INT64_MAX) <= *max)
            d = dim_is_const(x) ? y : x;
        else if (e->kind == EXPR_DIV && dim_is_const(y) && dim_value(y) > 0) {
            if (*max < INT64_MAX)
                *max = number_add(number_mul(*max, dim_value(y)), dim_value(y) - 1);
            d = x;
        } else
            return NULL;
    }
    return symbol_of(d);
}

Symbol *dim_at_least(Dim d, int64_t *min)
{
    int64_t number, factor;
    while (!dim_is_const(d) && !symbol_of(d)) {
        const Expr *e = dim_expr(d);
        if (e->kind == EXPR_POLY) {
            if (!is_line(e, &number, &factor, &d))
                return NULL;
            *min = -number_div(number_add(number, -*min), factor); /* the ceiling */
        } else if (e->kind == EXPR_DIV && dim_is_const((Dim){e->w[1]}) && e->w[1] > 0) {
            *min = number_mul(*min, e->w[1]);
            d = (Dim){e->w[0]};
        } else
            return NULL;
    }
    return symbol_of(d);
}

static bool is_nonnegative(Dim d, int depth, unsigned time);

/* Is rest + c * by >= 0 proven? */
static bool is_nonnegative_with(Dim rest, int64_t c, Dim by, int depth, unsigned time)
{
    return is_nonnegative(dim_add(rest, dim_mul(D(c), by)), depth, time);
}

/* Is rest + c * atom >= 0 proven? Replaces the atom by a bound of it: min(p, q) <= p, p / k <= p, ... */
static bool is_atom_nonnegative(Dim rest, int64_t c, const Expr *atom, int depth, unsigned time)
{
    Dim p = {atom->w[0]}, q = {atom->w[atom->n - 1]};
    switch (atom->kind) {
    case EXPR_MIN:
    case EXPR_MAX:
        if ((c < 0) == (atom->kind == EXPR_MIN))
            return is_nonnegative_with(rest, c, p, depth, time) || is_nonnegative_with(rest, c, q, depth, time);
        return is_nonnegative_with(rest, c, p, depth, time) && is_nonnegative_with(rest, c, q, depth, time);
    case EXPR_SELECT:
        return is_nonnegative_with(rest, c, (Dim){atom->w[1]}, depth, time) &&
               is_nonnegative_with(rest, c, q, depth, time);
    case EXPR_DIV:
        return dim_is_const(q) && q.v > 0 &&
               is_nonnegative_with(dim_mul(rest, q), c, c < 0 ? p : dim_add(dim_sub(p, q), D(1)), depth, time);
    default: return false;
    }
}

static bool is_choice(const Expr *e) { return e->kind == EXPR_MIN || e->kind == EXPR_MAX || e->kind == EXPR_SELECT; }

/* Is d >= 0 for all values of the symbols? False: not proven. time: of a walk, as its many sums share atoms. */
static bool is_nonnegative(Dim d, int depth, unsigned time)
{
    if (dim_range_at(d, time).lo >= 0)
        return true;
    if (depth == 0 || dim_is_const(d))
        return false;
    const Expr *e = dim_expr(d);
    if (e->kind != EXPR_POLY)
        return e->kind != EXPR_SYMBOL && is_atom_nonnegative(D(0), 1, e, depth - 1, time);
    /* A choice is resolved before a quotient, whose bounds are not exact. */
    for (int quotients = 0; quotients < 2; quotients++)
        for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
            const Expr *atom = e->w[i + 1] == 1 ? dim_expr((Dim){e->w[i + 2]}) : NULL;
            if (atom && (quotients ? atom->kind == EXPR_DIV : is_choice(atom)))
                return is_atom_nonnegative(dim_sub(d, dim_mul(D(e->w[i]), (Dim){e->w[i + 2]})), e->w[i], atom,
                                           depth - 1, time);
        }
    return false;
}

/* Compares bounds before the difference: with an infinite bound the difference proves nothing. */
bool dim_is_at_most(Dim a, Dim b)
{
    if (dim_is_const(a) && dim_is_const(b))
        return a.v <= b.v;
    return dim_identical(a, b) || dim_high(a) <= dim_low(b) || is_nonnegative(dim_sub(b, a), 5, dim_clock());
}

/* ---- operations (sums, products, quotients: poly.c) -------------------------------------------------------------- */

Dim dim_min(Dim a, Dim b)
{
    return dim_is_at_most(a, b) ? a : dim_is_at_most(b, a) ? b : dim_commuting(EXPR_MIN, a, b);
}

Dim dim_max(Dim a, Dim b)
{
    return dim_is_at_most(b, a) ? a : dim_is_at_most(a, b) ? b : dim_commuting(EXPR_MAX, a, b);
}

Dim dim_less_expr(Dim a, Dim b)
{
    if (dim_is_at_most(b, a))
        return D(0);
    return dim_high(a) < dim_low(b) || is_nonnegative(dim_sub(dim_sub(b, a), D(1)), 5, dim_clock())
               ? D(1)
               : dim_make2(EXPR_LESS, a, b);
}

/* min(p, q) == k with p > k: q == k; max(p, q) == k with p < k, as well. Returns q, or d as it is. */
static Dim decisive(Dim d, Dim k)
{
    const Expr *e = dim_is_const(d) ? NULL : dim_expr(d);
    for (int i = 0; e && dim_is_const(k) && i < 2; i++)
        if ((e->kind == EXPR_MIN && dim_low((Dim){e->w[i]}) > k.v) ||
            (e->kind == EXPR_MAX && dim_high((Dim){e->w[i]}) < k.v))
            return (Dim){e->w[1 - i]};
    return d;
}

Dim dim_eq_expr(Dim a, Dim b)
{
    a = decisive(a, b);
    b = decisive(b, a);
    if (dim_identical(a, b))
        return D(1);
    Range x = dim_range(a), y = dim_range(b), d = dim_range(dim_sub(a, b));
    if ((dim_is_const(a) && dim_is_const(b)) || x.hi < y.lo || y.hi < x.lo || d.lo > 0 || d.hi < 0)
        return D(0);
    return dim_commuting(EXPR_EQUAL, a, b);
}

static bool has_no_other(Dim d, const Symbol *s)
{
    EACH_SYMBOL (x, d)
        if (x != s)
            return false;
    return true;
}

/* c is an equality of a symbol and a number: where it holds, do a and b have the same value? False: not proven. */
static bool agree_where(const Expr *c, Dim a, Dim b)
{
    const int k = dim_is_const((Dim){c->w[1]});
    const Dim of = {c->w[1 - k]}, is = {c->w[k]};
    Symbol *const s = symbol_of(of);
    if (!s || !dim_is_const(is) || !dim_identical(s->fixed, of) || !has_no_other(a, s) || !has_no_other(b, s))
        return false;
    const bool known = s->known;
    const int64_t value = s->value;
    s->known = true;
    s->value = is.v;
    const bool agree = dim_eval(a) == dim_eval(b);
    s->known = known;
    s->value = value;
    return agree;
}

Dim dim_select(Dim c, Dim a, Dim b)
{
    Range r = dim_range(c);
    const Expr *e = dim_is_const(c) ? NULL : dim_expr(c);
    if (e && e->kind == EXPR_EQUAL &&
        ((a.v == e->w[0] && b.v == e->w[1]) || (a.v == e->w[1] && b.v == e->w[0]) || agree_where(e, a, b)))
        return b;                                                                         /* p == q ? p : q */
    if (!dim_is_const(a) && dim_expr(a)->kind == EXPR_SELECT && dim_expr(a)->w[0] == c.v) /* c ? (c ? p : q) : b */
        a.v = dim_expr(a)->w[1];
    if (!dim_is_const(b) && dim_expr(b)->kind == EXPR_SELECT && dim_expr(b)->w[0] == c.v)
        b.v = dim_expr(b)->w[2];
    if (dim_identical(a, b) || r.lo > 0 || r.hi < 0)
        return a;
    return r.lo == 0 && r.hi == 0 ? b : dim_make(EXPR_SELECT, 3, (int64_t[]){c.v, a.v, b.v});
}

bool dim_is_of_inputs(Dim d)
{
    EACH_SYMBOL (s, d)
        if (s->origin.kind != ORIGIN_INPUT)
            return false;
    return true;
}

bool dim_may_select_other(Dim d, Dim is)
{
    if (dim_is_const(d) || dim_expr(d)->kind != EXPR_SELECT)
        return false;
    const Dim a = {dim_expr(d)->w[1]}, b = {dim_expr(d)->w[2]};
    return dim_is(dim_eq_expr(a, is), 0) || dim_is(dim_eq_expr(b, is), 0) || dim_may_select_other(a, is) ||
           dim_may_select_other(b, is);
}
