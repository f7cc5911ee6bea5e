/* dim_print.c - sizes as text, for messages and as C. In C they have the type idx and use plain operators where bounds
 * prove that all intermediate results fit it, of 32 bits or what the target has; otherwise they are computed in 64 bits
 * by functions that saturate as dim.c does. */
#include "base/error.h"
#include "base/options.h"
#include "ir/expr.h"
#include "ir/symbol.h"

typedef struct Printer {
    Text *t;
    bool as_c;
    unsigned time;
} Printer;

static void print(const Printer *p, Dim d);

/* The text before the operands of an expression and between them. */
static const struct Form {
    const char *text, *c, *between, *wide, *wide_between;
} forms[] = {
#define EXPR(kind, again, value, bounds, ...) [EXPR_##kind] = {__VA_ARGS__},
#include "ir/expr.def"
#undef EXPR
};

/* ---- proofs that results fit idx ----------------------------------------------------------------------------------- */

PART(int, needed_bits)

static int64_t limit(void) { return target_idx(opt()->target); }
static bool is_within(Range r, int64_t max) { return r.lo >= -max && r.hi <= max; }
static bool fits_idx(Range r) { return is_within(r, limit()); }

int dim_needed_bits(void) { return *needed_bits(); }

static void note_range(Range r)
{
    const int bits = is_within(r, INT16_MAX) ? 16 : is_within(r, INT32_MAX) ? 32 : 64;
    if (bits > *needed_bits())
        *needed_bits() = bits;
}

void dim_note(int64_t v) { note_range((Range){v, v}); }

/* Takes note of a value of type idx in the C. One that exceeds `limit` is clamped to idx, and checked. */
static void note_idx(Range r)
{
    if (fits_idx(r))
        note_range(r);
}

static bool is_narrow(Dim d, unsigned time);

static bool compares(ExprKind kind) { return kind == EXPR_LESS || kind == EXPR_EQUAL; }

/* Is the result one of the operands? */
static bool chooses(ExprKind kind) { return kind == EXPR_MIN || kind == EXPR_MAX || kind == EXPR_SELECT; }

static Range range_of(Dim d, unsigned time) { return dim_is_const(d) ? (Range){d.v, d.v} : dim_range_at(d, time); }

/* Upper bound of the absolute value of a product and its partial products; INT64_MAX: a factor may not fit idx. */
static int64_t max_of_term(const int64_t *w, unsigned time)
{
    int64_t max = number_mul(w[0], w[0] < 0 ? -1 : 1);
    for (int k = 0; k < w[1]; k++) {
        Dim d = {w[2 + k]};
        Range r = dim_range_at(d, time);
        int64_t low = number_mul(r.lo, -1), m = r.hi > low ? r.hi : low; /* number_mul: -INT64_MIN saturates */
        max = is_narrow(d, time) ? number_mul(max, m > 1 ? m : 1) : INT64_MAX;
    }
    return max;
}

/* The same of a sum and its partial sums; more than `limit`, if they may exceed it. */
static int64_t max_of_sum(const Expr *e, unsigned time)
{
    int64_t sum = 0;
    for (int i = 0; i < e->n && sum <= limit(); i += 2 + (int)e->w[i + 1]) {
        int64_t max = max_of_term(&e->w[i], time);
        sum = max > limit() ? max : sum + max;
    }
    return sum;
}

static bool is_plain(Dim d, unsigned time);

/* Do d and its operands fit idx for all values of the symbols? Operands of which one is chosen need not, and those
 * of comparisons may have 64 bits. */
static bool is_narrow(Dim d, unsigned time)
{
    if (dim_is_const(d))
        return fits_idx((Range){d.v, d.v});
    Expr *e = dim_expr(d);
    if (e->narrow_at == time)
        return e->narrow;
    bool narrow = fits_idx(dim_range_at(d, time));
    if (e->kind == EXPR_POLY)
        narrow = narrow && max_of_sum(e, time) <= limit();
    else if (e->kind != EXPR_SYMBOL && !compares(e->kind))
        for (int i = 0; i < e->n && narrow; i++)
            narrow = (chooses(e->kind) ? is_plain : is_narrow)((Dim){e->w[i]}, time);
    e->narrow_at = time;
    return e->narrow = narrow;
}

/* Is d a value of type idx in C: computed in idx, or a variable, or chosen from such values? */
static bool is_plain(Dim d, unsigned time)
{
    const Symbol *s = symbol_of(d);
    if (is_narrow(d, time) || (s && !s->is_wide))
        return true;
    if (dim_is_const(d) || !chooses(dim_expr(d)->kind))
        return false;
    const Expr *e = dim_expr(d);
    bool plain = true;
    for (int i = 0; i < e->n && plain; i++)
        plain = is_plain((Dim){e->w[i]}, time);
    return plain;
}

bool dim_is_plain(Dim d) { return is_plain(d, dim_clock()); }

bool dim_is_truth(Dim d) { return !dim_is_const(d) && compares(dim_expr(d)->kind) && !dim_expr(d)->c; }

/* ---- plain arithmetic -------------------------------------------------------------------------------------------- */

static void print_number(Text *t, int64_t v)
{
    if (v == INT64_MIN)
        text_put(t, "(-%lld - 1)", (long long)INT64_MAX);
    else
        text_put(t, "%lld", (long long)v);
}

/* Is e a quotient that C's / computes? */
static bool is_quotient(const Expr *e)
{
    return e->kind == EXPR_DIV && dim_low((Dim){e->w[0]}) >= 0 && dim_is_const((Dim){e->w[1]});
}

static void print_factor(const Printer *p, Dim d)
{
    const Expr *e = dim_is_const(d) || (p->as_c && dim_expr(d)->c) ? NULL : dim_expr(d);
    bool sum = e ? e->kind == EXPR_POLY && e->n > 2 + (int)e->w[1] : dim_is_const(d) && d.v < 0;
    bool parentheses = sum || (e && is_quotient(e));
    text_put(p->t, "%s", parentheses ? "(" : "");
    print(p, d);
    text_put(p->t, "%s", parentheses ? ")" : "");
}

static void print_term(const Printer *p, int64_t c, const int64_t *w)
{
    const Dim first = {w[1] ? w[2] : 1};
    if (c == 1 && w[1] == 1 && !dim_is_const(first) && is_quotient(dim_expr(first))) {
        print(p, first);
        return;
    }
    if (c != 1 || !w[1])
        print_number(p->t, c);
    for (int k = 0; k < w[1]; k++) {
        text_put(p->t, "%s", k || c != 1 ? " * " : "");
        print_factor(p, (Dim){w[2 + k]});
    }
}

/* "2 * n * m + n - 3" */
static void print_poly(const Printer *p, const Expr *e)
{
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
        bool minus = i && e->w[i] < 0 && e->w[i] != INT64_MIN;
        text_put(p->t, "%s", minus ? " - " : i ? " + " : "");
        print_term(p, minus ? -e->w[i] : e->w[i], &e->w[i]);
    }
}

/* Operand i in print order: dim_order puts the number of an equation first, but it reads better second. */
static Dim written(const Expr *e, int i) { return (Dim){e->w[e->kind == EXPR_EQUAL ? 1 - i : i]}; }

static void print_wide(const Printer *p, Dim d);

static void print_pair(const Printer *p, const Expr *e, const char *between)
{
    void (*const print_operand)(const Printer *, Dim) = p->as_c && compares(e->kind) ? print_wide : print;
    text_put(p->t, "%s", p->as_c ? forms[e->kind].c : forms[e->kind].text);
    print_operand(p, written(e, 0));
    text_put(p->t, "%s", between);
    print_operand(p, written(e, 1));
    text_put(p->t, ")");
}

/* "n * (m + 1)" */
static void print_factors(const Printer *p, const Expr *e)
{
    print_factor(p, (Dim){e->w[0]});
    text_put(p->t, "%s", forms[e->kind].between);
    print_factor(p, (Dim){e->w[1]});
}

static void print_quotient(const Printer *p, const Expr *e)
{
    bool same = dim_low((Dim){e->w[0]}) >= 0 && dim_is_const((Dim){e->w[1]}); /* C's / and % round the same way then */
    if (p->as_c && !same) {
        print_pair(p, e, ", ");
        return;
    }
    text_put(p->t, "%s", same ? "" : forms[e->kind].text);
    print_factors(p, e);
    text_put(p->t, "%s", same ? "" : ")");
}

/* An unspecified dimension has a name that no other can have: it ends in a NUL. */
static const char *symbol_text(const Symbol *s)
{
    return s->name->n && !s->name->s[s->name->n - 1] ? "?" : printable(s->name);
}

static const char *variable(const Symbol *s)
{
    symbol_check_known(s, s->c != NULL);
    if (!s->is_wide)
        note_idx((Range){s->low, s->high});
    return s->c;
}

static void print(const Printer *p, Dim d)
{
    if (p->as_c)
        note_idx(range_of(d, p->time));
    if (dim_is_const(d)) {
        print_number(p->t, d.v);
        return;
    }
    const Expr *e = dim_expr(d);
    const Symbol *s = symbol_of(d);
    if (p->as_c && e->c) {
        text_put(p->t, "%s%s", e->c_is_wide ? "(idx)" : "", e->c);
        return;
    }
    switch (e->kind) {
    case EXPR_SYMBOL:
        text_put(p->t, "%s%s", p->as_c && s->is_wide ? "(idx)" : "", p->as_c ? variable(s) : symbol_text(s));
        break;
    case EXPR_POLY:
        if (p->as_c)
            note_idx((Range){0, max_of_sum(e, p->time)});
        print_poly(p, e);
        break;
    case EXPR_MUL: print_factors(p, e); break;
    case EXPR_DIV: print_quotient(p, e); break;
    case EXPR_SELECT:
        text_put(p->t, "(");
        print_factor(p, (Dim){e->w[0]});
        text_put(p->t, " ? ");
        print(p, (Dim){e->w[1]});
        text_put(p->t, " : ");
        print(p, (Dim){e->w[2]});
        text_put(p->t, ")");
        break;
    default: print_pair(p, e, forms[e->kind].between); break;
    }
}

/* ---- arithmetic in 64 bits --------------------------------------------------------------------------------------- */

static void print_wide_term(const Printer *p, const int64_t *w)
{
    const int64_t max = max_of_term(w, p->time);
    if (max <= limit()) {
        note_idx((Range){0, max});
        print_term(p, w[0], w);
        return;
    }
    int calls = (int)w[1] - (w[0] == 1);
    for (int i = 0; i < calls; i++)
        text_put(p->t, "rt_wide_mul(");
    if (w[0] != 1)
        print_number(p->t, w[0]);
    for (int k = 0; k < w[1]; k++) {
        bool first = k == 0 && w[0] == 1;
        text_put(p->t, "%s", first ? "" : ", ");
        print_wide(p, (Dim){w[2 + k]});
        text_put(p->t, "%s", first ? "" : ")");
    }
}

static void print_wide_sum(const Printer *p, const Expr *e)
{
    for (int i = 2 + (int)e->w[1]; i < e->n; i += 2 + (int)e->w[i + 1])
        text_put(p->t, "rt_wide_add(");
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
        text_put(p->t, "%s", i ? ", " : "");
        print_wide_term(p, &e->w[i]);
        text_put(p->t, "%s", i ? ")" : "");
    }
}

static void print_wide_parts(const Printer *p, const Expr *e)
{
    text_put(p->t, "%s", forms[e->kind].wide);
    for (int i = 0; i < e->n; i++) {
        text_put(p->t, "%s", i == 0 ? "" : i == 1 ? forms[e->kind].wide_between : " : ");
        print_wide(p, i < 2 ? written(e, i) : (Dim){e->w[i]});
    }
    text_put(p->t, ")");
}

static void print_wide(const Printer *p, Dim d)
{
    if (dim_is_const(d)) {
        print_number(p->t, d.v);
        return;
    }
    const Expr *e = dim_expr(d);
    if (e->kind == EXPR_SYMBOL)
        text_put(p->t, "%s", variable(symbol_of(d)));
    else if (is_plain(d, p->time))
        print(p, d);
    else if (e->c)
        text_put(p->t, "%s", e->c);
    else if (e->kind == EXPR_POLY)
        print_wide_sum(p, e);
    else
        print_wide_parts(p, e);
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

void dim_print(Text *t, Dim d) { print(&(Printer){t, false, 0}, d); }

const char *dim_text(Dim d)
{
    Text t = {0};
    dim_print(&t, d);
    return t.s;
}

const char *dim_wide_c(Dim d)
{
    Text t = {0};
    print_wide(&(Printer){&t, true, dim_clock()}, d);
    return t.s;
}

/* A number by itself is not noted for dim_needed_bits: a machine of fewer bits has no object of that size. */
const char *dim_factor_c(Dim d)
{
    Text t = {0};
    Printer p = {&t, true, dim_clock()};
    if (dim_is_const(d))
        return text_format(d.v < 0 ? "(%s)" : "%s", dim_text(d));
    if (is_plain(d, p.time)) {
        print_factor(&p, d);
        return t.s;
    }
    const Range r = dim_range_at(d, p.time);
    const bool fits = fits_idx(r);
    note_idx(r);
    text_put(&t, "%s", fits ? "(idx)" : "rt_size(");
    print_wide(&p, d);
    text_put(&t, "%s", fits ? "" : ")");
    return t.s;
}

const char *dim_c(Dim d)
{
    Text t = {0};
    Printer p = {&t, true, dim_clock()};
    if (dim_is_const(d))
        return dim_text(d);
    if (!is_plain(d, p.time))
        return dim_factor_c(d);
    print(&p, d);
    return t.s;
}
