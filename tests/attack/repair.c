/* repair.c - repairs a mutated file: every name that is read gets a definition, every definition a unique name, every
 * attribute one value and its type, every tensor the number of bytes of its shape. The remaining mutations concern
 * operators. */
#include "tree.h"

#include <stdio.h>
#include <string.h>

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static Field *find(const Message *m, int number)
{
    for (int i = 0; i < m->n; i++)
        if (m->at[i].number == number)
            return &m->at[i];
    return NULL;
}

static Message *inside(const Message *m, int number)
{
    const Field *f = find(m, number);
    return f ? f->inside : NULL;
}

static void drop_at(Message *m, int i)
{
    memmove(m->at + i, m->at + i + 1, sizeof *m->at * (size_t)(m->n - i - 1));
    m->n--;
}

static void drop_all(Message *m, int number)
{
    for (int i = m->n; i--;)
        if (m->at[i].number == number)
            drop_at(m, i);
}

static Field *field_of(Message *m, int number)
{
    Field *f = find(m, number);
    if (!f && (f = add_field(m, m->n)) != NULL)
        *f = (Field){.number = number, .row = row_of(m->type, number)};
    return f;
}

static void set_number(Message *m, int number, uint64_t v)
{
    Field *f = field_of(m, number);
    if (f)
        *f = (Field){.number = number, .v = v};
}

/* The field's number; if it is missing or not from low to high, a random one in this range replaces it. */
static uint64_t number_within(Message *m, int number, uint64_t low, uint64_t high)
{
    const Field *f = find(m, number);
    if (!f || f->wire || f->v < low || f->v > high)
        set_number(m, number, low + (uint64_t)below((int)(high - low + 1)));
    f = find(m, number);
    return f ? f->v : low;
}

static bool same(const Field *a, const Field *b) { return a->n == b->n && (!a->n || !memcmp(a->at, b->at, a->n)); }

/* ---- names ------------------------------------------------------------------------------------------------------- */

enum { MAX_NAMES = 1000 };
static Field names[MAX_NAMES]; /* the values that may be read here */
static int n_names, n_fresh;

static bool known(const Field *f)
{
    for (int i = 0; i < n_names; i++)
        if (same(&names[i], f))
            return true;
    return false;
}

static void define(const Field *f)
{
    if (n_names < MAX_NAMES)
        names[n_names++] = *f;
}

/* f becomes an unused name if it is empty or already defined. */
static void define_anew(Field *f)
{
    char *s = tree_alloc(16);
    if ((!f->n || known(f) || f->wire != 2) && s)
        become(f, s, (size_t)snprintf(s, 16, "fresh%d", n_fresh++));
    define(f);
}

static void read_one(Field *f, int from)
{
    if (f->wire == 2 && (!f->n || known(f)))
        return;
    if (n_names > from) {
        const Field *other = &names[from + below(n_names - from)];
        become(f, other->at, other->n);
    } else
        become(f, "", 0);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void repair_graph(Message *g, int depth);

static const struct Value {
    int field, type, wire;
} values[] = {{2, 1, 5}, {3, 2, 0},  {4, 3, 2},   {5, 4, 2},   {6, 5, 2},   {7, 6, 2},   {8, 7, 2},
              {9, 8, 2}, {10, 9, 2}, {11, 10, 2}, {14, 13, 2}, {15, 14, 2}, {22, 11, 2}, {23, 12, 2}};
enum { N_VALUES = sizeof values / sizeof *values };

static void repair_tensor(Message *t);

/* Keeps the first value, sets the type that matches it, and drops a reference beside it. */
static void repair_attribute(Message *a, int depth)
{
    const struct Value *kept = NULL;
    for (int i = 0; i < N_VALUES; i++) {
        const Field *f = find(a, values[i].field);
        if (!f)
            continue;
        if (kept)
            drop_all(a, values[i].field);
        else
            kept = &values[i];
    }
    if (kept)
        set_number(a, 20, (uint64_t)kept->type);
    if (kept && find(a, 21))
        drop_all(a, 21);
    if (inside(a, 5))
        repair_tensor(inside(a, 5));
    if (inside(a, 6))
        repair_graph(inside(a, 6), depth + 1);
}

static void repair_attributes(Message *n, int depth)
{
    for (int i = 0; i < n->n; i++) {
        Field *f = &n->at[i];
        if (f->number != 5 || !f->inside)
            continue;
        const Field *name = find(f->inside, 1);
        bool good = name && name->n;
        for (int k = 0; k < i && good; k++) {
            const Field *other = n->at[k].number == 5 && n->at[k].inside ? find(n->at[k].inside, 1) : NULL;
            good = !other || !same(other, name);
        }
        if (good)
            repair_attribute(f->inside, depth);
        else
            drop_at(n, i--);
    }
}

static Message *model;

static bool imported(const Field *domain)
{
    for (int i = 0; i < model->n; i++) {
        const Message *o = model->at[i].number == 8 ? model->at[i].inside : NULL;
        const Field *f = o ? find(o, 1) : NULL;
        if (f && same(f, domain))
            return true;
    }
    return false;
}

static void repair_operator(Message *n)
{
    const Field *domain = find(n, 7), *op = find(n, 4);
    if (domain && !imported(domain))
        drop_all(n, 7);
    if (!op || !op->n || memchr(op->at, 0, op->n))
        become(field_of(n, 4), "Identity", 8);
}

static void repair_node(Message *n, int depth)
{
    repair_operator(n);
    for (int i = 0; i < n->n; i++)
        if (n->at[i].number == 1)
            read_one(&n->at[i], 0);
    repair_attributes(n, depth);
    for (int i = 0; i < n->n; i++)
        if (n->at[i].number == 2 && (n->at[i].n || n->at[i].wire != 2))
            define_anew(&n->at[i]);
    if (!find(n, 2)) {
        Field *f = field_of(n, 2);
        if (f)
            define_anew(f);
    }
}

static void repair_shape(Message *shape)
{
    for (int i = 0; i < shape->n; i++) {
        Message *d = shape->at[i].inside;
        Field *v = d ? find(d, 1) : NULL;
        if (d && d->n > 1)
            d->n = 1;
        if (v && v->v > 4096)
            v->v = (uint64_t)below(6);
        if (i == 15)
            shape->n = 16;
    }
}

static void repair_info(Message *v, bool output)
{
    Message *type = inside(v, 2), *array = type ? inside(type, 1) : NULL;
    if (!output && !type) /* float[2] */
        become(field_of(v, 2), "\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x02", 10);
    if (output && one_of(3))
        drop_all(v, 2);
    if (type && type->n > 1)
        type->n = 1;
    if (array)
        number_within(array, 1, 1, 23);
    if (array && output && one_of(2))
        drop_all(array, 2);
    if (array && inside(array, 2))
        repair_shape(inside(array, 2));
}

/* Bits of an element by its type; 0: no bytes of a given number. */
static const uint8_t bits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                               64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};

static uint64_t count_of(Message *t)
{
    uint64_t n = 1;
    for (int i = 0; i < t->n; i++) {
        Field *f = &t->at[i];
        if (f->number != 1)
            continue;
        if (f->wire == 0 && f->v > 4096)
            f->v = (uint64_t)below(6);
        const uint8_t *s = f->at;
        uint64_t v = f->v;
        if (f->wire == 0)
            n *= v;
        else
            while (f->wire == 2 && s < f->at + f->n && varint(&s, f->at + f->n, &v))
                n *= v;
    }
    return n;
}

/* Raw data gets the length of its shape and type. */
static void repair_tensor(Message *t)
{
    uint64_t type = number_within(t, 2, 1, 26), n = count_of(t);
    Field *raw = find(t, 9);
    if (raw)
        for (int number = 4; number < 12; number++)
            if (number != 8 && number != 9)
                drop_all(t, number);
    raw = find(t, 9);
    if (raw) {
        drop_all(t, 13);
        drop_all(t, 14);
    }
    if (!raw || !bits[type] || n > 1 << 15)
        return;
    const size_t bytes = (size_t)(n * bits[type] + 7) / 8;
    uint8_t *to = raw->n == bytes ? NULL : tree_alloc(bytes + 1);
    for (size_t i = 0; to && i < bytes; i++)
        to[i] = raw->n ? raw->at[i % raw->n] : 0;
    if (to)
        become(raw, to, bytes);
}

static void repair_initializer(Message *t, const Message *g)
{
    Field *name = field_of(t, 8);
    bool is_input = false; /* whose default it may be */
    for (int i = 0; i < g->n && name; i++) {
        const Field *other = g->at[i].number == 11 && g->at[i].inside ? find(g->at[i].inside, 1) : NULL;
        is_input |= other && name->n && same(other, name);
    }
    if (name && !is_input)
        define_anew(name);
    repair_tensor(t);
}

static void repair_outputs(Message *g, int from)
{
    const int before = n_names;
    for (int i = 0; i < g->n; i++) {
        Message *o = g->at[i].number == 12 ? g->at[i].inside : NULL;
        Field *name = o ? field_of(o, 1) : NULL;
        bool good = !name || before == from;
        for (int k = from; k < before && !good; k++)
            good = same(&names[k], name);
        if (!good) {
            const Field *other = &names[before - 1 - below(before - from < 4 ? before - from : 4)];
            become(name, other->at, other->n);
        }
        if (o)
            repair_info(o, true);
    }
}

static void each(Message *g, int number, int depth)
{
    for (int i = 0; i < g->n; i++) {
        Message *m = g->at[i].number == number ? g->at[i].inside : NULL;
        if (!m)
            continue;
        Field *name = number == 11 ? field_of(m, 1) : NULL;
        if (name)
            define_anew(name);
        if (number == 11)
            repair_info(m, false);
        if (number == 5)
            repair_initializer(m, g);
        if (number == 1)
            repair_node(m, depth);
    }
}

static void repair_graph(Message *g, int depth)
{
    const int before = n_names;
    if (depth > 20)
        return;
    Field *name = field_of(g, 2);
    if (name && (!name->n || name->wire != 2))
        become(name, "g", 1);
    if (one_of(2))
        drop_all(g, 13);
    each(g, 11, depth);
    each(g, 5, depth);
    const int given = n_names;
    each(g, 1, depth);
    repair_outputs(g, n_names > given ? given : before);
    n_names = before;
}

/* One import of each domain, of an existing version. */
static void repair_imports(Message *m)
{
    for (int i = 0; i < m->n; i++) {
        Message *o = m->at[i].number == 8 ? m->at[i].inside : NULL;
        const Field *domain = o ? find(o, 1) : NULL;
        if (!o)
            continue;
        number_within(o, 2, 1, !domain || !domain->n ? 28 : 1);
        bool good = true;
        for (int k = 0; k < i && good; k++) {
            const Message *other = m->at[k].number == 8 ? m->at[k].inside : NULL;
            const Field *d = other ? find(other, 1) : NULL;
            good = !other || (d ? d->n : 0) != (domain ? domain->n : 0) || (d && domain && !same(d, domain));
        }
        if (!good)
            drop_at(m, i--);
    }
}

void repair(Message *m)
{
    model = m;
    n_names = n_fresh = 0;
    number_within(model, 1, 3, 13);
    repair_imports(model);
    if (!one_of(8))
        drop_all(model, 20);
    if (inside(model, 7))
        repair_graph(inside(model, 7), 0);
}
