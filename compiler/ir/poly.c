/* poly.c - sums, products and quotients of sizes in normal form: an expanded polynomial, with sorted terms, over atoms
 * (symbols and all expressions that are no sum or product). So a * 12 / 12 is a, and n + m is m + n. */
#include "ir/expr.h"
#include "ir/ops.h"

enum { TERMS = 64, DEGREE = 12 };

typedef struct Term {
    int64_t c;
    int k;
    int64_t atom[DEGREE];
} Term;

typedef struct Poly {
    int n;
    Term t[TERMS];
} Poly;

/* A monomial order: degree first, then atoms. Multiplication preserves it, which exact division relies on. */
static int compare_terms(const Term *a, const Term *b)
{
    if (a->k != b->k)
        return b->k - a->k;
    for (int i = 0; i < a->k; i++)
        if (a->atom[i] != b->atom[i])
            return dim_order((Dim){a->atom[i]}, (Dim){b->atom[i]});
    return 0;
}

static void poly_of(Dim d, Poly *p)
{
    p->n = 0;
    if (dim_is_const(d)) {
        if (d.v)
            p->t[p->n++] = (Term){.c = d.v};
        return;
    }
    const Expr *e = dim_expr(d);
    if (e->kind != EXPR_POLY) {
        p->t[p->n++] = (Term){.c = 1, .k = 1, .atom = {d.v}};
        return;
    }
    for (int i = 0; i < e->n; i += 2 + (int)e->w[i + 1]) {
        Term *t = &p->t[p->n++];
        t->c = e->w[i];
        t->k = (int)e->w[i + 1];
        for (int k = 0; k < t->k; k++)
            t->atom[k] = e->w[i + 2 + k];
    }
}

static Dim poly_dim(const Poly *p)
{
    if (!p->n)
        return D(0);
    if (p->n == 1 && p->t[0].k == 0)
        return D(p->t[0].c);
    if (p->n == 1 && p->t[0].k == 1 && p->t[0].c == 1)
        return (Dim){p->t[0].atom[0]};
    int64_t w[TERMS * (DEGREE + 2)];
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        w[n++] = p->t[i].c;
        w[n++] = p->t[i].k;
        for (int k = 0; k < p->t[i].k; k++)
            w[n++] = p->t[i].atom[k];
    }
    return dim_make(EXPR_POLY, n, w);
}

/* p += c * t; false: overflow or too many terms, and p is unchanged. */
static bool poly_add_term(Poly *p, int64_t c, const Term *t)
{
    int i = 0, order = 1;
    while (i < p->n && (order = compare_terms(&p->t[i], t)) < 0)
        i++;
    int64_t v;
    if (__builtin_mul_overflow(c, t->c, &v))
        return false;
    if (i < p->n && order == 0) {
        if (__builtin_add_overflow(p->t[i].c, v, &v))
            return false;
        p->t[i].c = v;
        if (!v)
            memmove(&p->t[i], &p->t[i + 1], sizeof(Term) * (size_t)(--p->n - i));
        return true;
    }
    if (!v)
        return true;
    if (p->n == TERMS)
        return false;
    memmove(&p->t[i + 1], &p->t[i], sizeof(Term) * (size_t)(p->n++ - i));
    p->t[i] = *t;
    p->t[i].c = v;
    return true;
}

static bool poly_add(Poly *p, int64_t c, const Poly *q)
{
    for (int i = 0; i < q->n; i++)
        if (!poly_add_term(p, c, &q->t[i]))
            return false;
    return true;
}

static bool term_mul(const Term *a, const Term *b, Term *y)
{
    if (a->k + b->k > DEGREE || __builtin_mul_overflow(a->c, b->c, &y->c))
        return false;
    y->k = 0;
    for (int i = 0, j = 0; i < a->k || j < b->k;)
        y->atom[y->k++] = j == b->k || (i < a->k && dim_order((Dim){a->atom[i]}, (Dim){b->atom[j]}) <= 0)
                              ? a->atom[i++]
                              : b->atom[j++];
    return true;
}

/* y = a / b; false: there is a remainder. */
static bool term_div(const Term *a, const Term *b, Term *y)
{
    if (!b->c || (b->c == -1 && a->c == INT64_MIN) || a->c % b->c)
        return false;
    y->c = a->c / b->c;
    y->k = 0;
    int j = 0;
    for (int i = 0; i < a->k; i++)
        if (j < b->k && a->atom[i] == b->atom[j])
            j++;
        else
            y->atom[y->k++] = a->atom[i];
    return j == b->k;
}

static Dim sum(Dim a, int64_t sign, Dim b)
{
    Poly p, q;
    poly_of(a, &p);
    poly_of(b, &q);
    return poly_add(&p, sign, &q) ? poly_dim(&p) : dim_commuting(EXPR_ADD, a, sign > 0 ? b : dim_mul(D(sign), b));
}

Dim dim_add(Dim a, Dim b)
{
    int64_t v;
    if (dim_is_const(a) && dim_is_const(b))
        return D(__builtin_add_overflow(a.v, b.v, &v) ? (a.v < 0 ? INT64_MIN : INT64_MAX) : v);
    return dim_is(a, 0) ? b : dim_is(b, 0) ? a : sum(a, 1, b);
}

Dim dim_sub(Dim a, Dim b)
{
    int64_t v;
    if (dim_is_const(a) && dim_is_const(b))
        return D(__builtin_sub_overflow(a.v, b.v, &v) ? (a.v < 0 ? INT64_MIN : INT64_MAX) : v);
    return dim_identical(a, b) ? D(0) : dim_is(b, 0) ? a : sum(a, -1, b);
}

static int poly_size(const Poly *p)
{
    int size = 1;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->t[i].k; k++)
            size += dim_size((Dim){p->t[i].atom[k]});
    return size;
}

Dim dim_mul(Dim a, Dim b)
{
    enum { LONG = 1024 };
    if (dim_is_const(a) && dim_is_const(b))
        return D(number_mul(a.v, b.v));
    if (dim_is(a, 0) || dim_is(b, 0))
        return D(0);
    if (dim_is(a, 1) || dim_is(b, 1))
        return dim_is(a, 1) ? b : a;
    Poly p, q, y = {0};
    Term t;
    poly_of(a, &p);
    poly_of(b, &q);
    for (int i = 0; i < p.n; i++)
        for (int j = 0; j < q.n; j++)
            if (!term_mul(&p.t[i], &q.t[j], &t) || !poly_add_term(&y, 1, &t))
                return dim_commuting(EXPR_MUL, a, b);
    return poly_size(&y) > LONG && poly_size(&y) > dim_size(a) + dim_size(b) ? dim_commuting(EXPR_MUL, a, b)
                                                                             : poly_dim(&y);
}

/* y = a / b; false: there is a remainder. */
static bool poly_exact(const Poly *a, const Poly *b, Poly *y)
{
    Poly rest = *a;
    y->n = 0;
    while (rest.n) {
        Term q, t;
        if (!b->n || !term_div(&rest.t[0], &b->t[0], &q) || !poly_add_term(y, 1, &q))
            return false;
        for (int i = 0; i < b->n; i++)
            if (!term_mul(&q, &b->t[i], &t) || !poly_add_term(&rest, -1, &t))
                return false;
    }
    return true;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

/* floor(p / b) for a number b > 1, where no term of p except the constant is a multiple of b. */
static Dim div_number(const Poly *p, int64_t b)
{
    int64_t g = b, constant = 0;
    Poly y = {0};
    for (int i = 0; i < p->n; i++)
        if (p->t[i].k)
            g = gcd(p->t[i].c, g);
        else
            constant = p->t[i].c;
    for (int i = 0; i < p->n; i++) /* floor((g x + c) / g b') = floor((x + floor(c / g)) / b') */
        if (p->t[i].k) {
            y.t[y.n] = p->t[i];
            y.t[y.n++].c /= g;
        }
    Dim x = dim_add(poly_dim(&y), D(number_div(constant, g)));
    b /= g;
    if (b == 1)
        return x;
    const Expr *e = dim_is_const(x) ? NULL : dim_expr(x);
    if (e && e->kind == EXPR_DIV && dim_is_const((Dim){e->w[1]}) && e->w[1] > 0) {
        int64_t both;
        if (!__builtin_mul_overflow(e->w[1], b, &both) && dim_is_number_ok(both))
            return dim_div((Dim){e->w[0]}, D(both));
    }
    Range r = dim_range(x);
    if (r.lo != INT64_MIN && r.hi != INT64_MAX && number_div(r.lo, b) == number_div(r.hi, b))
        return D(number_div(r.lo, b));
    return dim_make(EXPR_DIV, 2, (int64_t[]){x.v, b});
}

/* Removes an atom, which may occur more than once, once; false: it does not occur. */
static bool term_drop(Term *t, int64_t atom)
{
    int i = 0;
    while (i < t->k && t->atom[i] != atom)
        i++;
    if (i == t->k)
        return false;
    memmove(&t->atom[i], &t->atom[i + 1], sizeof t->atom[0] * (size_t)(--t->k - i));
    return true;
}

/* Divides both by the atoms that b, of one term, has in common with each term of a. */
static void cancel(Poly *a, Poly *b)
{
    for (int i = 0; b->n == 1 && i < b->t[0].k;) {
        const int64_t atom = b->t[0].atom[i];
        Poly rest = *a;
        bool all = true;
        for (int k = 0; k < a->n; k++)
            all &= term_drop(&rest.t[k], atom);
        if (all) {
            *a = rest;
            term_drop(&b->t[0], atom);
        }
        i += !all;
    }
}

Dim dim_div(Dim a, Dim b)
{
    if (dim_is_const(a) && dim_is_const(b))
        return D(number_div(a.v, b.v));
    if (dim_is(b, 1) || dim_is(a, 0))
        return a;
    if (dim_is(b, 0))
        return D(0);
    Poly p, q, whole = {0}, rest = {0};
    poly_of(a, &p);
    poly_of(b, &q);
    if (poly_exact(&p, &q, &whole))
        return poly_dim(&whole);
    whole.n = 0;
    cancel(&p, &q);
    b = poly_dim(&q);
    for (int i = 0; i < p.n; i++) { /* separate the terms that b divides */
        Term t;
        bool out = q.n == 1 && term_div(&p.t[i], &q.t[0], &t);
        if (!poly_add_term(out ? &whole : &rest, 1, out ? &t : &p.t[i]))
            bug("dim_div");
    }
    Dim w = poly_dim(&whole), r = poly_dim(&rest);
    if (dim_is_const(b) && b.v > 0)
        return dim_add(w, div_number(&rest, b.v));
    Range x = dim_range(r), y = dim_range(b);
    int64_t min = y.lo > 1 ? y.lo : 1;
    if (x.lo >= 0 && x.hi < min)
        return w;
    if (x.hi < 0 && x.lo >= -min)
        return dim_add(w, D(-1));
    return dim_add(w, dim_make(EXPR_DIV, 2, (int64_t[]){r.v, b.v}));
}

Dim dim_ceil(Dim a, Dim b) { return dim_div(dim_add(a, dim_sub(b, D(1))), b); }

Dim dim_mod(Dim a, Dim b)
{
    if (dim_is_const(a) && dim_is_const(b))
        return D(number_mod(a.v, b.v));
    if (dim_is(b, 1) || dim_is(b, 0) || dim_is(a, 0))
        return D(0);
    Poly p, q, y;
    poly_of(a, &p);
    poly_of(b, &q);
    if (poly_exact(&p, &q, &y))
        return D(0);
    y.n = 0;
    for (int i = 0; i < p.n; i++) {
        Term t = p.t[i], whole;
        if (dim_is_const(b) && b.v > 0)
            t.c = number_mod(t.c, b.v);
        else if (q.n == 1 && term_div(&t, &q.t[0], &whole))
            t.c = 0;
        if (t.c)
            y.t[y.n++] = t;
    }
    Dim r = poly_dim(&y);
    Range x = dim_range(r), z = dim_range(b);
    if (x.lo >= 0 && x.hi < z.lo)
        return r;
    return dim_is_const(r) && dim_is_const(b) ? D(number_mod(r.v, b.v)) : dim_make(EXPR_MOD, 2, (int64_t[]){r.v, b.v});
}
