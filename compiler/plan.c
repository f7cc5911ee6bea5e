/* plan.c - plan: one arena. Values that may share bytes become one class (views, branches, loops, in place); each class
 * lives from its first writer to its last reader; place.c gives it its offset.
 * Requires: bound and fused. Leaves: root or offset on every value that is not the caller's or constant. */
#include "place.h"

#include "infer.h"
#include "kernel.h"
#include "rt.h"

Plan plan;

static VEC(struct Share { Value *a, *b; }) shares;

void plan_share(Value *a, Value *b) { vec_push(&shares, ((struct Share){a, b})); }

/* ---- classes ------------------------------------------------------------------------------------------------------------- */

static Value *class_of(Value *v)
{
    while (v->root)
        v = v->root;
    return v;
}

static Dim offset_in_class(const Value *v)
{
    Dim at = D(0);
    for (; v->root; v = v->root)
        at = dim_add(at, v->root_offset);
    return at;
}

static bool in_callers_buffer(const Value *v)
{
    if (v->input >= 0)
        return true;
    for (int i = 0; i < v->uses.n; i++)
        if (!v->uses.at[i].node && !v->uses.at[i].graph->parent)
            return true;
    return false;
}

static bool is_constant(const Value *v) { return v->data != NULL; }

/* Class b goes into class a, `offset` bytes from its start. */
static void join_at(Value *a, Value *b, Dim offset)
{
    b->root = a;
    b->root_offset = offset;
    a->live_from = a->live_from < b->live_from ? a->live_from : b->live_from;
    a->live_to = a->live_to > b->live_to ? a->live_to : b->live_to;
}

/* Both classes become one; a value that lives in the caller's buffer leads. */
static void join(Value *a, Value *b)
{
    a = class_of(a);
    b = class_of(b);
    if (a == b)
        return;
    if (in_callers_buffer(b)) {
        Value *t = a;
        a = b;
        b = t;
    }
    if (in_callers_buffer(b))
        bug("two of the caller's buffers would have to be one");
    int64_t bytes = a->bytes > b->bytes ? a->bytes : b->bytes;
    join_at(a, b, D(0));
    a->bytes = bytes;
}

/* ---- times --------------------------------------------------------------------------------------------------------------- */

static int64_t most_bytes(const Value *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->shape.rank; i++)
        n *= dim_high(v->shape.dim[i]);
    return (int64_t)type_bytes(v->type, n);
}

static void number(Graph *g, int *time)
{
    for (Node *n = g->first; n; n = n->next) {
        n->time = (*time)++;
        for (int i = 0; i < n->n_attr; i++)
            if (n->attr[i].g)
                number(n->attr[i].g, time);
        n->end = n->op->flags & CONTROL ? (*time)++ : n->time;
    }
}

static bool encloses(const Graph *outer, const Graph *inner)
{
    for (; inner; inner = inner->parent)
        if (inner == outer)
            return true;
    return false;
}

/* When a reading of v by n (or at the end of n's graph) is over: a reader inside a loop may read again until its end. */
static int reading_ends(const Value *v, const Node *n)
{
    int end = n->end;
    for (const Graph *g = n->graph; g && !encloses(g, v->graph); g = g->parent)
        if (g->owner && g->owner->end > end)
            end = g->owner->end;
    return end;
}

static void start_value(Value *v, int time)
{
    v->root = NULL;
    v->offset = -1;
    v->live_from = v->live_to = time;
    v->bytes = v->data ? 0 : most_bytes(v);
}

static void set_times(Node *n, void *last)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]) {
            start_value(n->out[i], n->time);
            if (n->out[i]->lasting)
                n->out[i]->live_to = *(const int *)last;
        }
}

static void read_value(Value *v, int end)
{
    if (v && !is_constant(v) && v->live_to < end)
        v->live_to = end;
}

static void set_ends(Node *n, void *arg)
{
    (void)arg;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i])
            read_value(n->in[i], reading_ends(n->in[i], n));
    for (int k = 0; k < n->n_attr; k++)
        for (int i = 0; n->attr[k].g && i < n->attr[k].g->out.n; i++)
            read_value(n->attr[k].g->out.at[i], n->end);
}

/* ---- what may share -------------------------------------------------------------------------------------------------------- */

static void join_views(Node *n, void *arg)
{
    (void)arg;
    if (n->op->flags & VIEW && n->out[0] && !is_constant(n->out[0]) && !is_constant(n->in[0]))
        join(n->in[0], n->out[0]);
}

static bool same_bytes(const Value *a, const Value *b)
{
    return type_bits(a->type) == type_bits(b->type) && dim_same(shape_count(a->shape), shape_count(b->shape));
}

/* May n write y over x? x must end here, in the arena, and nobody else's bytes with it. */
static bool may_overwrite(const Node *n, Value *x, Value *y)
{
    if (!x || is_constant(x) || !same_bytes(x, y) || x->graph != n->graph)
        return false;
    const Value *a = class_of(x), *b = class_of(y);
    return a != b && a->input < 0 && a->live_to == n->time && b->live_from == n->time && a->bytes == most_bytes(y) &&
           b->bytes == a->bytes && !in_callers_buffer(a);
}

/* Does the kernel read the bytes of its argument x through another argument too (conv(x) + x)? */
static bool is_read_twice(const Call *c, Value *x)
{
    int times = 0;
    for (int i = 0; i < c->n_arg; i++)
        times += c->arg[i] && !is_constant(c->arg[i]) && class_of(c->arg[i]) == class_of(x);
    return times > 1;
}

/* Does the loop read element i of every input that lies with its input x at the place where element i of x is? */
static bool reads_in_step(const Loop *l, Value *x)
{
    for (int i = 0; i < l->n_in; i++)
        if (!is_constant(l->in[i]) && class_of(l->in[i]) == class_of(x) &&
            (!shape_same(l->in[i]->shape, l->shape) || !dim_same(offset_in_class(l->in[i]), offset_in_class(x))))
            return false;
    return true;
}

static void join_in_place(Node *n, void *arg)
{
    (void)arg;
    Value *y = n->out[0];
    if (n->n_out < 1 || !y || is_constant(y) || n->op->flags & (VIEW | CONTROL))
        return;
    const Loop *l = n->call.loop;
    if (l) {
        for (int i = 0; i < l->n_in; i++)
            if (shape_same(l->in[i]->shape, l->shape) && may_overwrite(n, l->in[i], y) && reads_in_step(l, l->in[i])) {
                join(l->in[i], y);
                return;
            }
    } else if (n->call.kernel) {
        int r = KERNEL_RESIDUAL(n->call.kernel);
        if (r && may_overwrite(n, n->call.arg[r], y) && !is_read_twice(&n->call, n->call.arg[r]))
            join(n->call.arg[r], y);
        else if (n->op->flags & INPLACE && may_overwrite(n, in(n, 0), y) && n->call.arg[0] == n->in[0] &&
                 !is_read_twice(&n->call, n->in[0]))
            join(n->in[0], y);
    }
}

/* ---- concat and split without copies ----------------------------------------------------------------------------------- */

static Param *param_of(const Call *c, const char *field)
{
    Param *p = c->param;
    for (const Field *f = c->fields; f->type != FIELD_END; p += f->count ? f->count : 1, f++)
        if (!strcmp(f->name, field))
            return p;
    return NULL;
}

static int64_t element_bits(const Value *v) { return type_bits(v->type); }

/* May x, one of the parts of a concat, be computed where the concat has it? Rows of `size` elements come `pitch` apart. x
 * must be nobody else's, and its kernel must know pitches (a parameter y_pitch), unless there is but one row. */
static bool may_go_inside(const Node *concat, const Value *x, bool rows, Dim size)
{
    const Value *a = class_of((Value *)(uintptr_t)x);
    if (is_constant(x) || in_callers_buffer(a) || a->graph != concat->graph || a->bytes != most_bytes(x) ||
        element_bits(x) % 8)
        return false;
    if (!rows)
        return true;
    const Node *n = x->def;
    if (a != x || x->uses.n != 1 || !n || !n->call.kernel || n->call.arg[n->call.n_arg - 1] != x)
        return false;
    const Param *pitch = param_of(&n->call, "y_pitch"), *group = param_of(&n->call, "y_group");
    return pitch && dim_same(pitch->d, size) && (!group || dim_at_most(dim_add(group->d, D(1)), size));
}

/* A concat whose parts are all computed in their places needs no code. */
static void join_concat(Node *n)
{
    Value *y = n->out[0];
    Dim outer = param_of(&n->call, "outer")->d, pitch = D(0), at = D(0);
    const Param *size = param_of(&n->call, "size");
    bool rows = !dim_is(outer, 1);
    int k = n->call.n_arg - 1;
    if (is_constant(y))
        return;
    for (int i = 0; i < k && n->call.arg[i]; i++) {
        if (!may_go_inside(n, n->call.arg[i], rows, size[i].d))
            return;
        for (int j = 0; j < i; j++)
            if (class_of(n->call.arg[i]) == class_of(n->call.arg[j]))
                return;
        pitch = dim_add(pitch, size[i].d);
    }
    for (int i = 0; i < k && n->call.arg[i]; i++) {
        Value *x = n->call.arg[i];
        if (rows)
            param_of(&x->def->call, "y_pitch")->d = pitch;
        join_at(class_of(y), class_of(x), dim_add(offset_in_class(y), dim_mul(at, D(element_bits(x) / 8))));
        at = dim_add(at, size[i].d);
    }
    n->free = true;
}

/* A copy of elements that lie together is a look at them where they are. */
static void join_part(Node *n)
{
    Value *x = n->call.arg[0], *y = n->call.arg[1], *a = class_of(x), *b = class_of(y);
    const Param *dim = param_of(&n->call, "dim"), *from = param_of(&n->call, "from"), *to = param_of(&n->call, "to");
    Dim at = param_of(&n->call, "from_at")->d, run = D(1);
    if (is_constant(x) || is_constant(y) || a == b || in_callers_buffer(b) || b->bytes != most_bytes(y) ||
        x->graph != n->graph || element_bits(x) % 8 || !dim_is(param_of(&n->call, "to_at")->d, 0))
        return;
    for (int i = 3; i >= 0; i--) {
        if (dim_is(dim[i].d, 1))
            continue;
        if (!dim_same(from[i].d, run) || !dim_same(to[i].d, run))
            return;
        run = dim_mul(run, dim[i].d);
    }
    join_at(a, b, dim_add(offset_in_class(x), dim_mul(at, D(element_bits(x) / 8))));
    n->free = true;
}

static void join_parts(Node *n, void *arg)
{
    (void)arg;
    if (!n->call.kernel)
        return;
    if (n->call.kernel->flags & JOINS)
        join_concat(n);
    else if (n->call.kernel->flags & COPIES)
        join_part(n);
}

/* ---- the arena ------------------------------------------------------------------------------------------------------------- */

typedef struct Arena {
    VEC(Buffer) buffers;
    VEC(Value *) value; /* of each buffer, or: */
    VEC(Node *) node;   /* whose scratch it is */
    int64_t align;
} Arena;

static void add_buffer(Arena *a, int from, int to, int64_t bytes, Value *v, Node *n)
{
    if (!bytes)
        bytes = 1;
    vec_push(&a->buffers, ((Buffer){from, to, (bytes + a->align - 1) / a->align * a->align, 0}));
    vec_push(&a->value, v);
    vec_push(&a->node, n);
}

static void add_node(Node *n, void *arg)
{
    Arena *a = arg;
    for (int i = 0; i < n->n_out; i++) {
        Value *v = n->out[i];
        if (v && !v->root && !is_constant(v) && !in_callers_buffer(v))
            add_buffer(a, v->live_from, v->live_to, v->bytes, v, NULL);
    }
    if (!dim_is(n->call.scratch, 0))
        add_buffer(a, n->time, n->time, dim_high(n->call.scratch), NULL, n);
}

void plan_model(Model *m)
{
    int time = 0;
    number(m->graph, &time);
    for (int i = 0; i < m->graph->in.n; i++)
        start_value(m->graph->in.at[i], 0);
    graph_each(m->graph, set_times, &time);
    graph_each(m->graph, set_ends, NULL);
    graph_each(m->graph, join_views, NULL);
    for (int i = 0; i < shares.n; i++)
        join(shares.at[i].a, shares.at[i].b);
    memset(&shares, 0, sizeof shares);
    graph_each(m->graph, join_parts, NULL);
    graph_each(m->graph, join_in_place, NULL);
    Arena a = {.align = opt.target->vector >= 16 ? 64 : 16};
    graph_each(m->graph, add_node, &a);
    plan = (Plan){.align = a.align};
    plan.bound = place_bound(a.buffers.at, a.buffers.n, &plan.peak_time);
    plan.arena = place(a.buffers.at, a.buffers.n);
    for (int i = 0; i < a.buffers.n; i++)
        if (a.value.at[i])
            a.value.at[i]->offset = a.buffers.at[i].offset;
        else
            a.node.at[i]->scratch_offset = a.buffers.at[i].offset;
}
