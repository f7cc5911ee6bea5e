/* trace.c - executes conditions, expressions and calls on sets of values. */
#include "plain/trace.h"

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* The integer or pointer e is in [lo, hi] from here on. */
static void bound(Syntax *e, int64_t lo, int64_t hi)
{
    int64_t by;
    if (e->kind == BINARY && e->s[0] == '+') {
        const ValueSet b = eval(e->kid.at[1]).v;
        if (value_is_single(&b, &by))
            bound(e->kid.at[0], lo == -VALUE_INF ? lo : lo - by, hi == VALUE_INF ? hi : hi - by);
        return;
    }
    const TypeOf t = type_of(e);
    if ((e->kind != NAME && e->kind != MEMBER && e->kind != INDEX) || rank(e) || !is_pure(e) ||
        !(t.pointers || is_followed_type(t.base)))
        return;
    const Place p = place_of(e);
    if (!p.of || p.count != 1 || p.of->is_lost)
        return;
    Content v = place_read(p);
    if (value_clamp(&v.v, lo < INT32_MIN ? -VALUE_INF : lo, hi > INT32_MAX ? VALUE_INF : hi))
        place_write(p, v);
    else
        trace()->live = false;
}

/* e is not v. */
static void exclude(Syntax *e, int64_t v)
{
    const ValueSet is = eval(e).v;
    if (is.lo == v)
        bound(e, v + 1, VALUE_INF);
    else if (is.hi == v)
        bound(e, -VALUE_INF, v - 1);
}

static void assume_comparison(const char *op, Syntax *a, Syntax *b)
{
    const ValueSet va = eval(a).v, vb = eval(b).v;
    const int64_t strict = op[1] ? 0 : 1;
    int64_t single;
    if (op[0] == '<') {
        bound(a, -VALUE_INF, vb.hi == VALUE_INF ? VALUE_INF : vb.hi - strict);
        bound(b, va.lo == -VALUE_INF ? va.lo : va.lo + strict, VALUE_INF);
    } else if (op[0] == '=') {
        bound(a, vb.lo, vb.hi);
        bound(b, va.lo, va.hi);
    } else {
        if (value_is_single(&vb, &single))
            exclude(a, single);
        if (value_is_single(&va, &single))
            exclude(b, single);
    }
}

static bool is_ordered(const Syntax *e)
{
    const TypeOf t = type_of(e);
    return t.pointers || is_followed_type(t.base);
}

static void find_call(Syntax *e, void *call) { *(bool *)call |= e->kind == CALL; }

bool is_simple(Syntax *e)
{
    bool calls = false;
    each_node(e, find_call, &calls);
    return !calls && is_pure(e);
}

void assume(Syntax *e, bool is)
{
    static const char *const opposites[][2] = {{"<", ">="}, {"<=", ">"}, {"==", "!="}};
    if (!is_pure(e))
        return;
    if (e->kind == UNARY && e->s[0] == '!') {
        assume(e->kid.at[0], !is);
        return;
    }
    if (e->kind == BINARY && !strcmp(e->s, is ? "&&" : "||")) {
        assume(e->kid.at[0], is);
        assume(e->kid.at[1], is);
        return;
    }
    if (!is_simple(e))
        return;
    if (e->kind != BINARY && is_ordered(e)) {
        if (is)
            exclude(e, 0);
        else
            bound(e, 0, 0);
    }
    if (e->kind != BINARY || !is_ordered(e->kid.at[0]) || !is_ordered(e->kid.at[1]))
        return;
    if (strchr("<>", e->s[0]) && (type_of(e->kid.at[0]).pointers || type_of(e->kid.at[1]).pointers))
        return; /* pointers are followed only as far as they are NULL or not */
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            if (strcmp(e->s, opposites[i][k]) != 0)
                continue;
            const char *op = opposites[i][is ? k : !k];
            if (op[0] == '>')
                assume_comparison(op[1] ? "<=" : "<", e->kid.at[1], e->kid.at[0]);
            else
                assume_comparison(op, e->kid.at[0], e->kid.at[1]);
        }
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static Content truth_of(int truth)
{
    return value_in(truth < 0 ? value_join(value_is(0), value_is(1)) : value_is(truth));
}

/* e if the truth of c is `is`, which is not known; what c excludes is known only there. */
static Content eval_if(Syntax *c, bool is, Syntax *e, Paths *paths, Mark m)
{
    assume(c, is);
    const Content v = trace()->live ? eval(e) : value_in((ValueSet){.kind = VALUE_NONE});
    if (trace()->live)
        paths_add(paths, m);
    undo(m);
    trace()->live = !trace()->gives_up;
    return v;
}

void join_paths(Paths *paths, Mark m)
{
    trace()->live = paths->n && !trace()->gives_up;
    if (paths->n)
        paths_join(paths, m);
    else
        undo(m);
}

static Content eval_logical(Syntax *e, bool both)
{
    const ValueSet a = eval(e->kid.at[0]).v;
    const int left = value_truth(&a);
    if (left == !both)
        return truth_of(left);
    if (left == both) {
        const ValueSet b = eval(e->kid.at[1]).v;
        return truth_of(value_truth(&b));
    }
    Paths paths = {0};
    const Mark m = mark();
    const ValueSet b = eval_if(e->kid.at[0], both, e->kid.at[1], &paths, m).v;
    paths_add_unchanged(&paths);
    join_paths(&paths, m);
    return b.kind == VALUE_NONE || value_truth(&b) == !both ? truth_of(!both) : truth_of(-1);
}

static Content eval_cond(Syntax *e)
{
    const ValueSet c = eval(e->kid.at[0]).v;
    const int truth = value_truth(&c);
    if (truth >= 0)
        return eval(e->kid.at[truth ? 1 : 2]);
    Paths paths = {0};
    const Mark m = mark();
    const Content a = eval_if(e->kid.at[0], true, e->kid.at[1], &paths, m);
    const Content b = eval_if(e->kid.at[0], false, e->kid.at[2], &paths, m);
    join_paths(&paths, m);
    return value_of_either(a, b);
}

static Content eval_binary(Syntax *e)
{
    if (!strcmp(e->s, "&&") || !strcmp(e->s, "||"))
        return eval_logical(e, e->s[0] == '&');
    const Content a = eval(e->kid.at[0]), b = eval(e->kid.at[1]);
    Content r = value_in(computed(e, a.v, b.v));
    TypeOf t = type_of(e);
    if (!t.pointers)
        return r;
    const bool left = type_of(e->kid.at[0]).pointers > 0;
    const Content *pointer = left ? &a : &b;
    const ValueSet by = left ? b.v : a.v;
    t.pointers--;
    if (rank(e->kid.at[left ? 0 : 1]) > 1)
        object_lose(pointer->to.of);
    else
        r.to = moved(pointer->to, e->s[0] == '-' ? value_unary("-", by) : by, cells_of_type(t));
    return r;
}

/* e op= by, or e++; the old value. */
static Content change(Syntax *e, const char *op, Content by, const Syntax *from, Content *new)
{
    const Place p = place_of(e);
    TypeOf t = type_of(e);
    const Content old = p.of && !p.of->is_lost ? place_read(p) : value_unknown();
    *new = value_unknown();
    if (t.pointers) {
        t.pointers--;
        *new = (Content){old.v, moved(old.to, op[0] == '-' ? value_unary("-", by.v) : by.v, cells_of_type(t))};
    } else if (is_followed_type(t.base)) {
        const TypeOf b = from ? type_of(from) : (TypeOf){.base = "int"};
        const char binary[] = {op[0], op[0] == '<' || op[0] == '>' ? op[0] : '\0', '\0'};
        if (is_followed_type(b.base) && !b.pointers)
            new->v = converted(value_binary(binary, old.v, by.v), t.base, b.base);
    }
    place_write(p, *new);
    return old;
}

static Content eval_unary(Syntax *e)
{
    Content new;
    if (!strcmp(e->s, "&")) {
        if (e->kid.at[0]->kind == NAME && !e->kid.at[0]->var)
            return value_in(value_pointer());
        const Place p = place_of(e->kid.at[0]);
        if (rank(e->kid.at[0]) > 0) { /* nor are those to arrays */
            object_lose(p.of);
            return value_in(value_pointer());
        }
        return (Content){value_pointer(), p};
    }
    if (e->s[1] && e->s[1] == e->s[0]) {
        change(e->kid.at[0], e->s, value_in(value_is(1)), NULL, &new);
        return new;
    }
    const Content v = eval(e->kid.at[0]);
    return value_in(value_unary(e->s, v.v));
}

static Content eval_assign(Syntax *e)
{
    Content v = eval(e->kid.at[1]), new;
    if (e->s[0] != '=') {
        change(e->kid.at[0], e->s, v, e->kid.at[1], &new);
        return new;
    }
    const TypeOf to = type_of(e->kid.at[0]);
    store(place_of(e->kid.at[0]), v, to, e->kid.at[1]);
    return to.pointers || to.structure ? v : as_type(v, to, type_of(e->kid.at[1]));
}

static Content eval_place(Syntax *e)
{
    const Place p = place_of(e);
    const TypeOf t = type_of(e);
    if (rank(e) > 0)
        return (Content){value_pointer(), p};
    if (t.structure && !t.pointers)
        return (Content){value_any(), p};
    if (p.of && !p.of->is_lost)
        return t.pointers || is_followed_type(t.base) ? place_read(p) : value_unknown();
    return value_in(value_anywhere(e));
}

static Content eval_compound(Syntax *e)
{
    Var v = {.specs = e->type, .pointers = e->pointers, .dims = e->dims, .object = e->object};
    declare(&v, e->kid.at[0]);
    e->object = v.object;
    return (Content){e->dims.n || e->pointers ? value_pointer() : value_any(), whole(v.object)};
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

TypeOf type_of_result(const CFunction *f) { return (TypeOf){f->specs.base, f->specs.structure, f->pointers}; }

typedef VEC(Content) Contents;
typedef VEC(Object *) Objects;
typedef struct Known { /* a call that changes nothing but its result */
    Contents inputs;   /* the arguments, and what they point to, transitively */
    Contents result;
    int lost;
} Known;
typedef struct KnownCalls {
    Known at[KNOWN_MAX];
    int n;
} KnownCalls;

static void add_cells(Contents *all, Objects *objects, Object *o)
{
    for (int i = 0; i < o->n; i++) {
        const Content v = place_read((Place){o, i, 1, 1});
        vec_push(all, v);
        if (v.to.of)
            vec_add(objects, v.to.of);
    }
}

/* After the arguments have been bound. */
static Contents inputs_of(const CFunction *f)
{
    Contents all = {0};
    Objects objects = {0};
    EACH_OF (p, f->parameters)
        if (object_of(p))
            add_cells(&all, &objects, object_of(p));
    for (int i = 0; i < objects.n; i++)
        add_cells(&all, &objects, objects.at[i]);
    vec_free(&objects);
    return all;
}

static bool are_same(const Contents *a, const Contents *b)
{
    for (int i = 0; i < a->n && a->n == b->n; i++)
        if (!value_is_same(&a->at[i], &b->at[i]))
            return false;
    return a->n == b->n;
}

static const Known *known_call(const CFunction *f, const Contents *inputs)
{
    for (int i = 0; f->known && i < KNOWN_MAX; i++) {
        const Known *k = &f->known->at[i];
        if (k->inputs.at && k->lost == objects_lost() && are_same(&k->inputs, inputs))
            return k;
    }
    return NULL;
}

static void remember(CFunction *f, Contents inputs)
{
    if (!f->known)
        f->known = NEW(KnownCalls);
    Known *k = &f->known->at[f->known->n++ % KNOWN_MAX];
    vec_free(&k->inputs);
    vec_free(&k->result);
    *k = (Known){.inputs = inputs, .lost = objects_lost()};
    for (int i = 0; f->result && i < f->result->n; i++)
        vec_push(&k->result, f->result->cells[i].is);
}

/* The function's body, with its parameters bound. */
static void run(CFunction *f, Mark m)
{
    Activation c = {.function = f, .mark = m, .caller = trace()->call};
    Enclosing *loop = trace()->loop;
    trace()->loop = NULL;
    trace()->call = &c;
    trace()->execute(f->body);
    if (trace()->live)
        paths_add(&c.returns, m);
    join_paths(&c.returns, m);
    trace()->call = c.caller;
    trace()->loop = loop;
}

Content call(CFunction *f, const Content *arguments, const Syntax *e)
{
    const Mark m = mark();
    const TypeOf t = type_of_result(f);
    const int n = cells_of_type(t), lost = objects_lost();
    if (!f->result && n)
        f->result = object_new(n);
    EACH_OF (p, f->parameters) {
        TypeOf to = type_of_element(p);
        to.pointers += p->dims.n > 0;
        declare(p, NULL);
        if (e)
            store(whole(object_of(p)), arguments[p->index], to, e->kid.at[p->index + 1]);
        else
            place_write(whole(object_of(p)), value_in(p->value));
    }
    Contents inputs = inputs_of(f);
    const Known *k = known_call(f, &inputs);
    for (int i = 0; k && i < k->result.n; i++)
        place_write((Place){f->result, i, 1, 1}, k->result.at[i]);
    if (!k)
        run(f, m);
    forget(m);
    if (!k && trace()->live && inputs.n && lost == objects_lost() && changes_only(m, f->result))
        remember(f, inputs);
    else
        vec_free(&inputs);
    if (t.structure && !t.pointers)
        return (Content){value_any(), whole(f->result)};
    return f->result ? place_read(whole(f->result)) : value_unknown();
}

/* A structure, in an object of the call e: the next call of the function has its result where this one had. */
static Content result_at(Syntax *e, Content result, TypeOf t)
{
    if (!e->object)
        e->object = object_new(cells_of_type(t));
    object_declare(e->object);
    store(whole(e->object), result, t, e);
    return (Content){result.v, whole(e->object)};
}

static Content eval_call(Syntax *e)
{
    enum { ARGUMENTS_MAX = 64 };
    Content arguments[ARGUMENTS_MAX];
    const TopItem *item = e->kid.at[0]->item;
    CFunction *f = item ? item->function : NULL;
    const bool follows = f && f->has_body && f->body && f->parameters.n == e->kid.n - 1 && e->kid.n <= ARGUMENTS_MAX;
    for (int i = 1; i < e->kid.n; i++) {
        const Content v = eval(e->kid.at[i]);
        if (follows)
            arguments[i - 1] = v;
        else
            object_lose(v.to.of);
    }
    if (f && f->has_body && !follows)
        trace()->gives_up = true;
    const Content result = follows && trace()->live ? call(f, arguments, e) : value_unknown();
    return result.to.of && result.to.of == f->result ? result_at(e, result, type_of_result(f)) : result;
}

static void record(Syntax *e, const ValueSet *v)
{
    if (!e->seen)
        e->seen = NEW_COPY(*v);
    else if (!value_is_equal(e->seen, v))
        *e->seen = value_join(*e->seen, *v);
}

static Content eval_kind(Syntax *e)
{
    switch (e->kind) {
    case NAME:
        if (!e->var)
            return value_in(value_anywhere(e));
        return eval_place(e);
    case MEMBER:
    case INDEX: return eval_place(e);
    case UNARY: return !strcmp(e->s, "*") ? eval_place(e) : eval_unary(e);
    case POSTFIX: {
        Content new;
        return change(e->kid.at[0], e->s, value_in(value_is(1)), NULL, &new);
    }
    case BINARY: return eval_binary(e);
    case COND: return eval_cond(e);
    case COMMA: eval(e->kid.at[0]); return eval(e->kid.at[1]);
    case CALL: return eval_call(e);
    case CAST: {
        if (is_mention(e))
            return value_unknown();
        const TypeOf from = type_of(e->kid.at[0]);
        const Content v = eval(e->kid.at[0]);
        return as_type(v, type_of(e), from);
    }
    case COMPOUND: return eval_compound(e);
    case ASSIGN: return eval_assign(e);
    default: return value_in(value_anywhere(e));
    }
}

Content eval(Syntax *e)
{
    if (++trace()->steps > STEPS_MAX)
        trace()->gives_up = true;
    if (trace()->gives_up)
        trace()->live = false;
    if (!trace()->live)
        return value_unknown();
    const Content v = eval_kind(e);
    if (trace()->live)
        record(e, &v.v);
    return v;
}

ValueSet value_of(Syntax *e) { return trace()->is_done && e->seen ? *e->seen : value_anywhere(e); }
