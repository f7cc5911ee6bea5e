/* dim.c - sizes: numbers, or expressions over symbols, simplified and hash-consed, so that equal ones are equal Dims.
 * A Dim is one int64: either the number, or DIM_TAG in the upper half and the index of the expression in the lower. */
#include "ir/dim.h"
#include "base/error.h"
#include "ir/expr.h"
#include "ir/symbol.h"
#include "rt.h"

typedef struct Table {
    VEC(Expr *) at;
    Map of_hash;    /* -> Expr */
    unsigned clock; /* incremented by each walk */
} Table;
PART(Table, table)

bool dim_is_number_ok(int64_t v) { return v >> 32 != DIM_TAG; }
bool dim_is_const(Dim d) { return dim_is_number_ok(d.v); }

int64_t dim_value(Dim d)
{
    if (!dim_is_const(d))
        bug("a size is needed as a number: %s", dim_text(d));
    return d.v;
}

Expr *dim_expr(Dim d) { return table()->at.at[(uint32_t)d.v]; }

/* ---- the table ------------------------------------------------------------------------------------------- */

static uint64_t hash_words(ExprKind kind, int n, const int64_t *w)
{
    uint64_t h = (uint64_t)kind + 1;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint64_t)w[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

int dim_size(Dim d) { return dim_is_const(d) ? 1 : dim_expr(d)->size; }

/* Shared subexpressions are duplicated when printed, so their expanded size needs a limit. */
static int size_of(ExprKind kind, int n, const int64_t *w)
{
    enum { LIMIT = 4096 };
    int size = 1;
    if (kind == EXPR_POLY)
        for (int i = 0; i < n; i += 2 + (int)w[i + 1])
            for (int k = 0; k < (int)w[i + 1]; k++)
                size += dim_size((Dim){w[i + 2 + k]});
    else
        for (int i = 0; i < n && kind != EXPR_SYMBOL; i++)
            size += dim_size((Dim){w[i]});
    if (size > LIMIT)
        fail(EXIT_MODEL, "a size of the model is an expression of more than %d parts", LIMIT);
    return size;
}

Dim dim_make(ExprKind kind, int n, const int64_t *w)
{
    Table *const t = table();
    uintptr_t h = (uintptr_t)hash_words(kind, n, w) | 1;
    Expr *e;
    while ((e = map_get(&t->of_hash, (void *)h)) != NULL &&
           (e->kind != kind || e->n != n || memcmp(e->w, w, sizeof *w * (size_t)n)))
        h += 2;
    if (!e) {
        e = pool_alloc(sizeof *e + sizeof *w * (size_t)n);
        e->kind = kind;
        e->n = n;
        e->size = size_of(kind, n, w);
        e->index = t->at.n;
        memcpy(e->w, w, sizeof *w * (size_t)n);
        vec_push(&t->at, e);
        map_put(&t->of_hash, (void *)h, e);
    }
    return (Dim){(int64_t)((uint64_t)DIM_TAG << 32 | (uint64_t)e->index)};
}

static Dim make2(ExprKind kind, Dim a, Dim b) { return dim_make(kind, 2, (int64_t[]){a.v, b.v}); }

/* Is word i of the expression an operand? Otherwise it is a plain number. */
static bool is_part(const Expr *e, int i)
{
    if (e->kind != EXPR_POLY)
        return e->kind != EXPR_SYMBOL;
    int at = 0;
    while (at + 2 + (int)e->w[at + 1] <= i)
        at += 2 + (int)e->w[at + 1];
    return i >= at + 2;
}

/* A structural order. The order of creation would depend on how the C compiler of onnxcc orders the evaluation of
 * arguments. */
int dim_order(Dim a, Dim b)
{
    if (dim_identical(a, b))
        return 0;
    if (dim_is_const(a) || dim_is_const(b))
        return dim_is_const(a) && dim_is_const(b) ? compare_numbers(a.v, b.v) : dim_is_const(b) - dim_is_const(a);
    const Expr *x = dim_expr(a), *y = dim_expr(b);
    int order = compare_numbers(x->size, y->size);
    order = order ? order : compare_numbers(x->kind, y->kind);
    order = order ? order : compare_numbers(x->n, y->n);
    for (int i = 0; i < x->n && !order; i++)
        if (x->w[i] != y->w[i])
            order = is_part(x, i) && is_part(y, i) ? dim_order((Dim){x->w[i]}, (Dim){y->w[i]})
                                                   : compare_numbers(x->w[i], y->w[i]);
    return order;
}

/* ---- walks over an expression, each shared operand once ---------------------------------------------------------- */

typedef struct Walk {
    VEC(Symbol *) found;
    unsigned time;
} Walk;

static void walk(Dim d, Walk *w)
{
    if (dim_is_const(d))
        return;
    Expr *e = dim_expr(d);
    if (e->seen == w->time)
        return;
    e->seen = w->time;
    if (e->kind == EXPR_SYMBOL)
        vec_push(&w->found, symbol_at((int)e->w[0]));
    else if (e->kind == EXPR_POLY)
        for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1])
            for (int k = 0; k < e->w[i + 1]; k++)
                walk((Dim){e->w[i + 2 + k]}, w);
    else
        for (int i = 0; i < e->n; i++)
            walk((Dim){e->w[i]}, w);
}

Symbol *const *symbols_in(Dim d)
{
    static Symbol *const none;
    if (dim_is_const(d))
        return &none;
    if (!dim_expr(d)->symbols) {
        Walk w = {.time = ++table()->clock};
        walk(d, &w);
        vec_push(&w.found, NULL);
        vec_trim(&w.found);
        dim_expr(d)->symbols = w.found.at;
    }
    return dim_expr(d)->symbols;
}

void dim_symbols(Dim d, void (*visit)(Symbol *, void *), void *arg)
{
    EACH_SYMBOL (s, d)
        visit(s, arg);
}

/* Substitution: `by` gives the replacement of a symbol; NULL: what it is fixed to. */
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
    return dim_is_const(d) ? d : replace(d, &(Replace){by, arg, ++table()->clock});
}

Dim dim_resolve(Dim d) { return dim_replace(d, NULL, NULL); }

/* ---- saturating arithmetic, as in the emitted code: INT64_MIN and INT64_MAX are infinities ----------------------- */

static int64_t number_add(int64_t a, int64_t b) { return rt_wide_add(a, b); }
int64_t number_mul(int64_t a, int64_t b) { return rt_wide_mul(a, b); }
int64_t number_div(int64_t a, int64_t b) { return rt_wide_div(a, b); }
int64_t number_mod(int64_t a, int64_t b) { return rt_wide_mod(a, b); }

static int64_t low2(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t high2(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- bounds ----------------------------------------------------------------------------------------------------- */

static Range range_of(Dim d, unsigned time);

static Range range_add(Range a, Range b)
{
    return (Range){a.lo == INT64_MIN || b.lo == INT64_MIN ? INT64_MIN : number_add(a.lo, b.lo),
                   a.hi == INT64_MAX || b.hi == INT64_MAX ? INT64_MAX : number_add(a.hi, b.hi)};
}

static Range range_mul(Range a, Range b)
{
    int64_t p = number_mul(a.lo, b.lo), q = number_mul(a.lo, b.hi), r = number_mul(a.hi, b.lo),
            s = number_mul(a.hi, b.hi);
    return (Range){low2(low2(p, q), low2(r, s)), high2(high2(p, q), high2(r, s))};
}

static Range range_div(Range a, Range b)
{
    b = (Range){high2(b.lo, 1), high2(b.hi, 1)};
    return (Range){number_div(a.lo, a.lo < 0 ? b.lo : b.hi), number_div(a.hi, a.hi < 0 ? b.hi : b.lo)};
}

static Range range_mod(Range a, Range b)
{
    const int64_t hi = high2(b.hi == INT64_MAX ? b.hi : b.hi - 1, 0);
    return (Range){0, a.lo >= 0 ? low2(hi, a.hi) : hi};
}

static Range range_min(Range a, Range b) { return (Range){low2(a.lo, b.lo), low2(a.hi, b.hi)}; }
static Range range_max(Range a, Range b) { return (Range){high2(a.lo, b.lo), high2(a.hi, b.hi)}; }
static Range range_either(Range a, Range b) { return (Range){low2(a.lo, b.lo), high2(a.hi, b.hi)}; }
static const Range truth = {0, 1};

static Range range_poly(const Expr *e, unsigned time)
{
    Range sum = {0, 0};
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
        Range t = {e->w[i], e->w[i]};
        for (int k = 0; k < e->w[i + 1]; k++)
            t = range_mul(t, range_of((Dim){e->w[i + 2 + k]}, time));
        sum = range_add(sum, t);
    }
    return sum;
}

static Range range_of(Dim d, unsigned time)
{
    if (dim_is_const(d))
        return (Range){d.v, d.v};
    Expr *e = dim_expr(d);
    if (e->bounded_at == time)
        return e->range;
    Range r = {0, 0}, x = r, y = r, z = r;
    if (e->kind != EXPR_POLY && e->kind != EXPR_SYMBOL) {
        x = range_of((Dim){e->w[0]}, time);
        y = range_of((Dim){e->w[1]}, time);
        z = e->n > 2 ? range_of((Dim){e->w[2]}, time) : z;
    }
    switch (e->kind) {
    case EXPR_SYMBOL: r = (Range){symbol_at((int)e->w[0])->low, symbol_at((int)e->w[0])->high}; break;
    case EXPR_POLY: r = range_poly(e, time); break;
#define EXPR(kind, again, value, bounds, ...) case EXPR_##kind: r = bounds; break;
#include "ir/expr.def"
#undef EXPR
    }
    e->bounded_at = time;
    return e->range = r;
}

unsigned dim_clock(void) { return ++table()->clock; }
Range dim_range_at(Dim d, unsigned time) { return range_of(d, time); }
Range dim_range(Dim d) { return range_of(d, dim_is_const(d) ? 0 : ++table()->clock); }
int64_t dim_low(Dim d) { return dim_range(d).lo; }
int64_t dim_high(Dim d) { return dim_range(d).hi; }

/* A sum of a number and a positive multiple of one atom: that atom, with the limit changed accordingly; else false. */
static bool bounded_atom(const Expr *e, int64_t *max, Dim *atom)
{
    int64_t number = 0, factor = 0;
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1])
        if (!e->w[i + 1])
            number = e->w[i];
        else if (factor || e->w[i] < 1 || e->w[i + 1] > 1)
            return false;
        else {
            factor = e->w[i];
            *atom = (Dim){e->w[i + 2]};
        }
    if (*max < INT64_MAX)
        *max = number_div(number_add(*max, -number), factor);
    return true;
}

Symbol *dim_bounded(Dim d, int64_t *max)
{
    while (!dim_is_const(d) && !symbol_of(d)) {
        const Expr *e = dim_expr(d);
        const Dim x = {e->w[0]}, y = {e->n > 1 ? e->w[1] : 0};
        if (e->kind == EXPR_POLY) {
            if (!bounded_atom(e, max, &d))
                return NULL;
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

static bool is_nonnegative(Dim d, int depth);

static bool without(Dim rest, int64_t c, Dim by, int depth)
{
    return is_nonnegative(dim_add(rest, dim_mul(D(c), by)), depth);
}

/* Is rest + c * atom >= 0 proven? Replaces the atom by a bound of it: min(p, q) <= p, p / k <= p, ... */
static bool is_atom_nonnegative(Dim rest, int64_t c, const Expr *atom, int depth)
{
    Dim p = {atom->w[0]}, q = {atom->w[atom->n - 1]};
    switch (atom->kind) {
    case EXPR_MIN:
    case EXPR_MAX:
        if ((c < 0) == (atom->kind == EXPR_MIN))
            return without(rest, c, p, depth) || without(rest, c, q, depth);
        return without(rest, c, p, depth) && without(rest, c, q, depth);
    case EXPR_SELECT: return without(rest, c, (Dim){atom->w[1]}, depth) && without(rest, c, q, depth);
    case EXPR_DIV:
        return dim_is_const(q) && q.v > 0 &&
               without(dim_mul(rest, q), c, c < 0 ? p : dim_add(dim_sub(p, q), D(1)), depth);
    default: return false;
    }
}

/* Is d >= 0 for all values of the symbols? False: not proven. */
static bool is_nonnegative(Dim d, int depth)
{
    if (dim_low(d) >= 0)
        return true;
    if (depth == 0 || dim_is_const(d))
        return false;
    const Expr *e = dim_expr(d);
    if (e->kind != EXPR_POLY)
        return e->kind != EXPR_SYMBOL && is_atom_nonnegative(D(0), 1, e, depth - 1);
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
        const Expr *atom = e->w[i + 1] == 1 ? dim_expr((Dim){e->w[i + 2]}) : NULL;
        if (atom &&
            (atom->kind == EXPR_MIN || atom->kind == EXPR_MAX || atom->kind == EXPR_SELECT || atom->kind == EXPR_DIV))
            return is_atom_nonnegative(dim_sub(d, dim_mul(D(e->w[i]), (Dim){e->w[i + 2]})), e->w[i], atom, depth - 1);
    }
    return false;
}

/* Compares bounds before the difference: with an infinite bound the difference proves nothing. */
bool dim_is_at_most(Dim a, Dim b)
{
    if (dim_is_const(a) && dim_is_const(b))
        return a.v <= b.v;
    return dim_identical(a, b) || dim_high(a) <= dim_low(b) || is_nonnegative(dim_sub(b, a), 5);
}

/* ---- operations (sums, products, quotients: poly.c) -------------------------------------------------------------- */

static Dim commuting(ExprKind kind, Dim a, Dim b)
{
    return dim_order(a, b) < 0 ? make2(kind, a, b) : make2(kind, b, a);
}
Dim dim_opaque_add(Dim a, Dim b) { return commuting(EXPR_ADD, a, b); }
Dim dim_opaque_mul(Dim a, Dim b) { return commuting(EXPR_MUL, a, b); }

Dim dim_min(Dim a, Dim b) { return dim_is_at_most(a, b) ? a : dim_is_at_most(b, a) ? b : commuting(EXPR_MIN, a, b); }

Dim dim_max(Dim a, Dim b) { return dim_is_at_most(b, a) ? a : dim_is_at_most(a, b) ? b : commuting(EXPR_MAX, a, b); }

Dim dim_less_expr(Dim a, Dim b)
{
    if (dim_is_at_most(b, a))
        return D(0);
    return dim_high(a) < dim_low(b) || is_nonnegative(dim_sub(dim_sub(b, a), D(1)), 5) ? D(1) : make2(EXPR_LESS, a, b);
}

Dim dim_eq_expr(Dim a, Dim b)
{
    if (dim_identical(a, b))
        return D(1);
    Range x = dim_range(a), y = dim_range(b), d = dim_range(dim_sub(a, b));
    if ((dim_is_const(a) && dim_is_const(b)) || x.hi < y.lo || y.hi < x.lo || d.lo > 0 || d.hi < 0)
        return D(0);
    return commuting(EXPR_EQUAL, a, b);
}

Dim dim_select(Dim c, Dim a, Dim b)
{
    Range r = dim_range(c);
    const Expr *e = dim_is_const(c) ? NULL : dim_expr(c);
    if (e && e->kind == EXPR_EQUAL && ((a.v == e->w[0] && b.v == e->w[1]) || (a.v == e->w[1] && b.v == e->w[0])))
        return b;                                                                         /* p == q ? p : q */
    if (!dim_is_const(a) && dim_expr(a)->kind == EXPR_SELECT && dim_expr(a)->w[0] == c.v) /* c ? (c ? p : q) : b */
        a.v = dim_expr(a)->w[1];
    if (!dim_is_const(b) && dim_expr(b)->kind == EXPR_SELECT && dim_expr(b)->w[0] == c.v)
        b.v = dim_expr(b)->w[2];
    if (dim_identical(a, b) || r.lo > 0 || r.hi < 0)
        return a;
    return r.lo == 0 && r.hi == 0 ? b : dim_make(EXPR_SELECT, 3, (int64_t[]){c.v, a.v, b.v});
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

void symbol_check_known(const Symbol *s, bool known)
{
    if (!known)
        bug("the size '%s' is asked for before it is known", printable(s->name));
}

static int64_t eval(Dim d, unsigned time)
{
    if (dim_is_const(d))
        return d.v;
    Expr *e = dim_expr(d);
    if (e->valued_at == time)
        return e->value;
    int64_t r = 0;
    if (e->kind == EXPR_SYMBOL) {
        const Symbol *s = symbol_at((int)e->w[0]);
        bool own = dim_identical(s->fixed, d);
        symbol_check_known(s, !own || s->known);
        r = own ? s->value : eval(s->fixed, time);
    } else if (e->kind == EXPR_POLY) {
        for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
            int64_t t = e->w[i];
            for (int k = 0; k < e->w[i + 1]; k++)
                t = number_mul(t, eval((Dim){e->w[i + 2 + k]}, time));
            r = number_add(r, t);
        }
    } else {
        const int64_t x = eval((Dim){e->w[0]}, time), y = eval((Dim){e->w[1]}, time);
        const int64_t z = e->n > 2 ? eval((Dim){e->w[2]}, time) : 0;
        switch (e->kind) {
#define EXPR(kind, again, value, ...) case EXPR_##kind: r = value; break;
#include "ir/expr.def"
#undef EXPR
        default: bug("an expression of kind %d", (int)e->kind);
        }
    }
    e->valued_at = time;
    return e->value = r;
}

int64_t dim_eval(Dim d) { return dim_is_const(d) ? d.v : eval(d, ++table()->clock); }
