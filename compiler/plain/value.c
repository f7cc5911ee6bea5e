/* value.c - the values that an integer or a pointer may have. */
#include <string.h>

#include "plain/value.h"

ValueSet value_is(int64_t v) { return (ValueSet){.kind = VALUE_SET, .n = 1, .v = {v}, .lo = v, .hi = v}; }
ValueSet value_any(void) { return value_between(-VALUE_INF, VALUE_INF); }
ValueSet value_pointer(void) { return value_between(1, VALUE_INF); }
ValueSet value_between(int64_t lo, int64_t hi)
{
    return lo == hi ? value_is(lo) : (ValueSet){.kind = VALUE_RANGE, .lo = lo, .hi = hi};
}

bool value_is_single(const ValueSet *v, int64_t *is)
{
    *is = v->v[0];
    return v->kind == VALUE_SET && v->n == 1;
}

bool value_is_equal(const ValueSet *a, const ValueSet *b)
{
    return a->kind == b->kind && a->lo == b->lo && a->hi == b->hi && a->n == b->n &&
           !memcmp(a->v, b->v, sizeof *a->v * (size_t)a->n);
}

static void add(ValueSet *to, int64_t v)
{
    int i = 0;
    while (i < to->n && to->v[i] < v)
        i++;
    if (i < to->n && to->v[i] == v)
        return;
    if (to->n == VALUE_FEW) {
        to->kind = VALUE_RANGE;
        to->lo = v < to->lo ? v : to->lo;
        to->hi = v > to->hi ? v : to->hi;
        to->n = 0;
        return;
    }
    memmove(to->v + i + 1, to->v + i, sizeof v * (size_t)(to->n - i));
    to->v[i] = v;
    to->n++;
    to->lo = to->v[0];
    to->hi = to->v[to->n - 1];
}

ValueSet value_join(ValueSet a, ValueSet b)
{
    if (a.kind == VALUE_NONE || b.kind == VALUE_NONE)
        return a.kind == VALUE_NONE ? b : a;
    if (a.kind == VALUE_SET && b.kind == VALUE_SET) {
        for (int i = 0; i < b.n && a.kind == VALUE_SET; i++)
            add(&a, b.v[i]);
        return a.kind == VALUE_SET ? a : value_between(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
    }
    return value_between(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

ValueSet value_widen(ValueSet old, ValueSet b)
{
    ValueSet all = value_join(old, b);
    if (old.kind == VALUE_NONE || all.kind != VALUE_RANGE)
        return all;
    if (all.lo < old.lo)
        all.lo = all.lo >= 1 ? 1 : all.lo >= 0 ? 0 : -VALUE_INF;
    if (all.hi > old.hi)
        all.hi = VALUE_INF;
    return all;
}

int value_truth(const ValueSet *v)
{
    if (v->kind == VALUE_NONE)
        return -1;
    if (v->lo > 0 || v->hi < 0)
        return 1;
    if (v->lo == 0 && v->hi == 0)
        return 0;
    for (int i = 0; i < v->n; i++)
        if (v->v[i] == 0)
            return -1;
    return v->kind == VALUE_SET ? 1 : -1;
}

ValueSet value_limited(ValueSet v)
{
    return v.kind == VALUE_NONE || (v.lo >= INT32_MIN && v.hi <= INT32_MAX) ? v : value_any();
}

bool value_clamp(ValueSet *v, int64_t lo, int64_t hi)
{
    ValueSet all = {.kind = VALUE_NONE};
    for (int i = 0; i < v->n; i++)
        if (v->v[i] >= lo && v->v[i] <= hi)
            add(&all, v->v[i]), all.kind = VALUE_SET;
    if (v->kind == VALUE_RANGE) {
        lo = lo > v->lo ? lo : v->lo;
        hi = hi < v->hi ? hi : v->hi;
        all = lo <= hi ? value_between(lo, hi) : all;
    }
    if (all.kind == VALUE_NONE)
        return false;
    *v = all;
    return true;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

enum { NOT_COMPUTED = 0, COMPUTED = 1 };

/* Of two numbers of at most 32 bits. */
static int compute(const char *op, int64_t a, int64_t b, int64_t *r)
{
    const bool natural = a >= 0 && b >= 0;
    if (!strcmp(op, "+"))
        *r = a + b;
    else if (!strcmp(op, "-"))
        *r = a - b;
    else if (!strcmp(op, "*"))
        *r = a * b;
    else if (!strcmp(op, "/") && b != 0)
        *r = a / b;
    else if (!strcmp(op, "%") && b != 0)
        *r = a % b;
    else if (!strcmp(op, "<<") && natural && b < 31)
        *r = a << b;
    else if (!strcmp(op, ">>") && natural && b < 31)
        *r = a >> b;
    else if (!strcmp(op, "&") && natural)
        *r = a & b;
    else if (!strcmp(op, "|") && natural)
        *r = a | b;
    else if (!strcmp(op, "^") && natural)
        *r = a ^ b;
    else
        return NOT_COMPUTED;
    return *r >= INT32_MIN && *r <= INT32_MAX ? COMPUTED : NOT_COMPUTED;
}

/* -1: not known */
static int compare(const char *op, const ValueSet *a, const ValueSet *b)
{
    if (op[0] == '>')
        return compare(op[1] ? "<=" : "<", b, a);
    if (!strcmp(op, "<"))
        return a->hi < b->lo ? 1 : a->lo >= b->hi ? 0 : -1;
    if (!strcmp(op, "<="))
        return a->hi <= b->lo ? 1 : a->lo > b->hi ? 0 : -1;
    int equal = a->hi < b->lo || b->hi < a->lo ? 0 : -1;
    if (a->kind == VALUE_SET && b->kind == VALUE_SET) {
        equal = a->n == 1 && b->n == 1 && a->v[0] == b->v[0] ? 1 : 0;
        for (int i = 0; i < a->n && !equal; i++)
            for (int k = 0; k < b->n; k++)
                if (a->v[i] == b->v[k])
                    equal = -1;
    }
    return equal < 0 ? -1 : op[0] == '=' ? equal : !equal;
}

static bool is_comparison(const char *op)
{
    return !strcmp(op, "==") || !strcmp(op, "!=") || (strchr("<>", op[0]) && op[1] != op[0]);
}

static int64_t bound(int64_t a, int64_t b, int sign)
{
    if (a == VALUE_INF || a == -VALUE_INF || b == VALUE_INF || b == -VALUE_INF)
        return sign * VALUE_INF;
    return a + b;
}

/* Bounds of the result where one of a, b has many values; computed without overflow, as bounds have 32 bits or none. */
static ValueSet between(const char *op, const ValueSet *a, const ValueSet *b)
{
    if (!strcmp(op, "+"))
        return value_between(bound(a->lo, b->lo, -1), bound(a->hi, b->hi, 1));
    if (!strcmp(op, "-"))
        return value_between(bound(a->lo, b->hi == VALUE_INF ? VALUE_INF : -b->hi, -1),
                             bound(a->hi, b->lo == -VALUE_INF ? VALUE_INF : -b->lo, 1));
    if (!strcmp(op, "*") && a->lo >= 0 && b->lo >= 0)
        return value_between(a->lo > 0 && b->lo > 0, VALUE_INF);
    if (!strcmp(op, "/") && a->lo >= 0 && b->lo > 0)
        return value_between(0, a->hi);
    if (!strcmp(op, "%") && b->lo > 0 && b->hi < VALUE_INF)
        return value_between(a->lo >= 0 ? 0 : 1 - b->hi, b->hi - 1);
    if (!strcmp(op, "&") && (a->lo >= 0 || b->lo >= 0))
        return value_between(0, a->lo >= 0 && (b->lo < 0 || a->hi < b->hi) ? a->hi : b->hi);
    if (!strcmp(op, ">>") && a->lo >= 0)
        return value_between(0, a->hi);
    return value_any();
}

static ValueSet limit_bounds(ValueSet v)
{
    if (v.kind == VALUE_NONE || (v.lo >= INT32_MIN && v.hi <= INT32_MAX))
        return v;
    const int64_t lo = v.lo > INT32_MAX ? INT32_MAX : v.lo, hi = v.hi < INT32_MIN ? INT32_MIN : v.hi;
    return value_between(lo < INT32_MIN ? -VALUE_INF : lo, hi > INT32_MAX ? VALUE_INF : hi);
}

ValueSet value_binary(const char *op, ValueSet a, ValueSet b)
{
    if (a.kind == VALUE_NONE || b.kind == VALUE_NONE)
        return (ValueSet){.kind = VALUE_NONE};
    if (is_comparison(op)) {
        const int is = compare(op, &a, &b);
        return is < 0 ? value_join(value_is(0), value_is(1)) : value_is(is);
    }
    int64_t zero;
    if (!strcmp(op, "*") && ((value_is_single(&a, &zero) && !zero) || (value_is_single(&b, &zero) && !zero)))
        return value_is(0);
    ValueSet all = {.kind = VALUE_NONE};
    bool computed = a.kind == VALUE_SET && b.kind == VALUE_SET;
    for (int i = 0; i < a.n && computed; i++)
        for (int k = 0; k < b.n && computed; k++) {
            int64_t r;
            computed = compute(op, a.v[i], b.v[k], &r) == COMPUTED;
            if (computed)
                all = value_join(all, value_is(r));
        }
    return limit_bounds(computed ? all : between(op, &a, &b));
}

ValueSet value_unary(const char *op, ValueSet a)
{
    if (a.kind == VALUE_NONE || !strcmp(op, "+"))
        return a;
    if (!strcmp(op, "-"))
        return value_binary("-", value_is(0), a);
    if (!strcmp(op, "!")) {
        const int truth = value_truth(&a);
        return truth < 0 ? value_join(value_is(0), value_is(1)) : value_is(!truth);
    }
    return value_any();
}
