/* trace_place.c - where values are; conversions and initialisers. */
#include "plain/trace.h"

SHARED_PART_IS(Trace, trace);

static void initialise(Place p, const Var *v, int indices, Syntax *value);

/* ---- places ------------------------------------------------------------------------------------------------------ */

static int cells_of_struct(Struct *s);

/* Of a variable, field, or its elements after `indices` indices; 0: not followed. */
static int cells_of(const Var *v, int indices)
{
    if (v->in_parentheses || (v->is_parameter && v->dims.n > 1))
        return 0;
    if (v->is_parameter && v->dims.n)
        return 1;
    int64_t n = v->pointers || is_followed_type(v->specs.base) ? 1 : 0, length;
    if (!v->pointers && v->specs.structure)
        n = cells_of_struct(v->specs.structure);
    for (int i = indices; i < v->dims.n && n; i++) {
        const ValueSet size = v->dims.at[i] ? value_anywhere(v->dims.at[i]) : value_any();
        n = value_is_single(&size, &length) && length * n <= CELLS_MAX ? n * length : 0;
    }
    return n <= CELLS_MAX ? (int)n : 0;
}

static int cells_of_struct(Struct *s)
{
    if (!s->cells) {
        EACH_OF (f, s->fields) {
            f->cell = s->cells;
            s->cells += cells_of(f, 0);
        }
    }
    return s->cells;
}

int cells_of_type(TypeOf t)
{
    return t.pointers ? 1 : t.structure ? cells_of_struct(t.structure) : is_followed_type(t.base);
}

Object *object_of(Var *v)
{
    if (v->is_global || v->is_static)
        return NULL;
    const int n = v->object ? 0 : cells_of(v, 0);
    if (n)
        v->object = object_new(n);
    return v->object;
}

Place whole(Object *o) { return o ? (Place){o, 0, 1, 1} : (Place){0}; }

int rank(const Syntax *e)
{
    if (e->kind == NAME)
        return e->var && !e->var->is_parameter ? e->var->dims.n : 0;
    if (e->kind == MEMBER)
        return field_of(e)->dims.n;
    const int of = e->kind == INDEX ? rank(e->kid.at[0]) : 0;
    return of ? of - 1 : 0;
}

/* Cells of the element that an INDEX selects. */
static int cells_of_element(const Syntax *e)
{
    const Syntax *array = e->kid.at[0];
    int indices = 1;
    for (; array->kind == INDEX; array = array->kid.at[0])
        indices++;
    if ((array->kind == NAME || array->kind == MEMBER) && array->var && rank(array) >= indices)
        return cells_of(array->var, indices);
    return cells_of_type(type_of(e));
}

Place moved(Place p, ValueSet by, int size)
{
    int64_t single;
    if (!p.of || !size || by.kind == VALUE_NONE) {
        object_lose(p.of);
        return (Place){0};
    }
    if (value_is_single(&by, &single) && single > -CELLS_MAX && single < CELLS_MAX) {
        p.at += (int)single * size;
        return p;
    }
    if (p.count > 1)
        return (Place){p.of, 0, 1, p.of->n};
    const int64_t first = -(p.at / size), last = (p.of->n - 1 - p.at) / size;
    const int from = (int)(by.lo > first ? by.lo : first), to = (int)(by.hi < last ? by.hi : last);
    return from > to ? (Place){p.of, 0, 1, p.of->n} : (Place){p.of, p.at + from * size, size, to - from + 1};
}

Place place_of(Syntax *e)
{
    if (e->kind == NAME)
        return e->var ? whole(object_of(e->var)) : (Place){0};
    if (e->kind == UNARY && e->s[0] == '*') {
        const Place p = trace()->eval(e->kid.at[0]).to;
        if (rank(e->kid.at[0]) < 2)
            return p;
        object_lose(p.of); /* pointers to rows are not followed */
        return (Place){0};
    }
    if (e->kind == MEMBER) {
        Place p = trace()->eval(e->kid.at[0]).to;
        const Var *f = field_of(e);
        if (!p.of || !cells_of(f, 0))
            return (Place){0};
        p.at += f->cell;
        return p;
    }
    const Content array = trace()->eval(e->kid.at[0]);
    ValueSet index = trace()->eval(e->kid.at[1]).v;
    const Syntax *a = e->kid.at[0];
    if ((a->kind == NAME || a->kind == MEMBER) && rank(a) && a->var->dims.at[0] && index.kind == VALUE_RANGE) {
        const ValueSet length = value_anywhere(a->var->dims.at[0]);
        value_clamp(&index, 0, length.hi - 1);
    }
    return moved(array.to, index, cells_of_element(e));
}

/* ---- conversions ------------------------------------------------------------------------------------------------- */

Content as_type(Content v, TypeOf to, TypeOf from)
{
    const bool same = !to.base || !from.base || !strcmp(to.base, from.base);
    if (!to.pointers || !same) {
        if (!to.structure || to.pointers) {
            object_lose(v.to.of);
            v.to = (Place){0};
        }
    }
    if (!to.pointers)
        v.v = from.pointers || !is_followed_type(to.base) ? value_any() : converted(v.v, to.base, from.base);
    return v;
}

void store(Place p, Content v, TypeOf to, const Syntax *e)
{
    if (to.pointers || !to.structure) {
        place_write(p, as_type(v, to, type_of(e)));
        return;
    }
    const int n = cells_of_struct(to.structure);
    Content *copy = NEWS(Content, n);
    for (int i = 0; i < n; i++) {
        Place from = v.to;
        from.at += i;
        copy[i] = place_read(from);
    }
    for (int i = 0; i < n; i++) {
        Place cell = p;
        cell.at += i;
        place_write(cell, copy[i]);
    }
    pool_free(copy, sizeof *copy * (size_t)n);
}

/* ---- initialisers ------------------------------------------------------------------------------------------------ */

TypeOf type_of_element(const Var *v) { return (TypeOf){v->specs.base, v->specs.structure, v->pointers}; }

static void set_all(Place p, int n, Content v)
{
    for (int i = 0; i < n; i++, p.at++)
        place_write(p, v);
}

static void initialise_struct(Place p, const Struct *s, Syntax *list)
{
    int next = 0;
    EACH_OF (item, list->kid) {
        if (item->kind == FIELD_IS) {
            for (next = 0; next < s->fields.n - 1 && s->fields.at[next]->name != item->s;)
                next++;
            item = item->kid.at[0];
        }
        if (next == s->fields.n)
            break;
        const Var *f = s->fields.at[next++];
        initialise((Place){p.of, p.at + f->cell, 1, 1}, f, 0, item);
    }
}

/* Elements of v after `indices` indices. */
static void initialise_array(Place p, const Var *v, int indices, Syntax *list)
{
    int64_t next = 0;
    const int size = cells_of(v, indices + 1);
    EACH_OF (item, list->kid) {
        if (item->kind == ELEMENT_IS) {
            const ValueSet index = trace()->eval(item->kid.at[0]).v;
            value_is_single(&index, &next);
            item = item->kid.at[1];
        }
        initialise((Place){p.of, p.at + (int)next * size, 1, 1}, v, indices + 1, item);
        next++;
    }
}

/* Of v, after `indices` indices. */
static void initialise(Place p, const Var *v, int indices, Syntax *value)
{
    const int n = cells_of(v, indices);
    p = n ? p : (Place){0};
    const bool is_array = indices < v->dims.n, is_struct = !is_array && v->specs.structure && !v->pointers;
    if (value->kind == LIST && (is_array || is_struct)) {
        if (n)
            set_all(p, n, value_in(value_is(0)));
        if (is_array)
            initialise_array(p, v, indices, value);
        else
            initialise_struct(p, v->specs.structure, value);
    } else if (value->kind == LIST)
        initialise(p, v, indices, value->kid.at[0]);
    else if (!is_array && !(is_struct && value->kind == NUMBER))
        store(p, trace()->eval(value), type_of_element(v), value);
    else if (n) /* {0} begins with an array or a structure */
        set_all(p, n, value->kind == NUMBER && !strcmp(value->s, "0") ? value_in(value_is(0)) : value_unknown());
}

void declare(Var *v, Syntax *value)
{
    Object *o = object_of(v);
    if (o) {
        object_declare(o);
        set_all(whole(o), o->n, value_unknown());
    }
    if (value)
        initialise(whole(o), v, 0, value);
}
