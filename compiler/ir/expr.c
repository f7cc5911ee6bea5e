/* expr.c - the table of expressions, hash-consed, so that equal ones are equal Dims; their symbols, bounds and values.
 * A Dim is one int64: either the number, or DIM_TAG in the upper half and the index of the expression in the lower. */
#include "ir/expr.h"
#include "base/error.h"
#include "ir/symbol.h"
#include "rt.h"

typedef struct Table {
    VEC(Expr *) at;
    Map of_hash; /* -> Expr */
    VEC(Symbol *) symbols;
    unsigned clock; /* incremented by each walk */
} Table;
PART(Table, table)

bool dim_is_number_ok(int64_t v) { return v >> 32 != DIM_TAG; }
bool dim_is_const(Dim d) { return dim_is_number_ok(d.v); }

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
        fail(EXIT_MODEL,
             "a size of the model is an expression of more than %d parts; it is a number if the inputs' sizes are, "
             "as by --all-dims=1 or --shape",
             LIMIT);
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

Dim dim_make2(ExprKind kind, Dim a, Dim b) { return dim_make(kind, 2, (int64_t[]){a.v, b.v}); }

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

Dim dim_commuting(ExprKind kind, Dim a, Dim b)
{
    return dim_order(a, b) < 0 ? dim_make2(kind, a, b) : dim_make2(kind, b, a);
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

Dim symbol_add(Symbol *s)
{
    s->id = table()->symbols.n;
    vec_push(&table()->symbols, s);
    return dim_make(EXPR_SYMBOL, 1, (int64_t[]){s->id});
}

int symbol_count(void) { return table()->symbols.n; }
Symbol *symbol_at(int i) { return table()->symbols.at[i]; }

Symbol *symbol_of(Dim d)
{
    return !dim_is_const(d) && dim_expr(d)->kind == EXPR_SYMBOL ? symbol_at((int)dim_expr(d)->w[0]) : NULL;
}

/* ---- walks over an expression, each shared operand once ---------------------------------------------------------- */

typedef struct Walk {
    VEC(Symbol *) found;
    unsigned time;
} Walk;

void expr_parts(const Expr *e, void (*visit)(Dim, void *), void *arg)
{
    if (e->kind == EXPR_POLY)
        for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1])
            for (int k = 0; k < e->w[i + 1]; k++)
                visit((Dim){e->w[i + 2 + k]}, arg);
    else
        for (int i = 0; i < e->n && e->kind != EXPR_SYMBOL; i++)
            visit((Dim){e->w[i]}, arg);
}

static void walk(Dim d, void *arg)
{
    Walk *w = arg;
    if (dim_is_const(d))
        return;
    Expr *e = dim_expr(d);
    if (e->seen == w->time)
        return;
    e->seen = w->time;
    if (e->kind == EXPR_SYMBOL)
        vec_push(&w->found, symbol_at((int)e->w[0]));
    else
        expr_parts(e, walk, w);
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

/* ---- saturating arithmetic, as in the emitted code: INT64_MIN and INT64_MAX are infinities ----------------------- */

int64_t number_add(int64_t a, int64_t b) { return rt_wide_add(a, b); }
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

/* y += a * b * c; false: overflow. */
static bool accumulate(int64_t *y, int64_t a, int64_t b, int64_t c)
{
    int64_t t;
    return !__builtin_mul_overflow(a, b, &t) && !__builtin_mul_overflow(t, c, &t) && !__builtin_add_overflow(*y, t, y);
}

/* A lower bound of a polynomial of degree 2, such as 3*x*y + 3*x + 3*y + 3 with x, y >= -1, that the bounds of its
 * terms do not show: its constant when it is written in the atoms minus their lower bounds, if no coefficient is then
 * negative. INT64_MIN: none. */
static int64_t low_by_shift(const Expr *e, unsigned time)
{
    enum { ATOMS = 24 };
    int64_t atom[ATOMS], factor[ATOMS] = {0}, constant = 0;
    int n = 0;
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
        const int64_t c = e->w[i], k = e->w[i + 1];
        int64_t low[2] = {1, 1};
        int at[2] = {0};
        if (k > 2 || (k == 2 && c < 0) || n + k > ATOMS)
            return INT64_MIN;
        for (int j = 0; j < k; j++) {
            low[j] = range_of((Dim){e->w[i + 2 + j]}, time).lo;
            for (at[j] = 0; at[j] < n && atom[at[j]] != e->w[i + 2 + j]; at[j]++)
                ;
            atom[at[j]] = e->w[i + 2 + j];
            n += at[j] == n;
        }
        if (low[0] == INT64_MIN || low[1] == INT64_MIN || !accumulate(&constant, c, low[0], low[1]))
            return INT64_MIN;
        for (int j = 0; j < k; j++)
            if (!accumulate(&factor[at[j]], c, k == 2 ? low[1 - j] : 1, 1))
                return INT64_MIN;
    }
    for (int i = 0; i < n; i++)
        if (factor[i] < 0)
            return INT64_MIN;
    return constant;
}

static Range range_poly(const Expr *e, unsigned time)
{
    Range sum = {0, 0};
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
        Range t = {e->w[i], e->w[i]};
        for (int k = 0; k < e->w[i + 1]; k++)
            t = range_mul(t, range_of((Dim){e->w[i + 2 + k]}, time));
        sum = range_add(sum, t);
    }
    if (sum.lo < 0)
        sum.lo = high2(sum.lo, low_by_shift(e, time));
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
