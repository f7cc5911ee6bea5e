/* plan.c - plan: one arena. Values that may share bytes have one storage (share.c), which is alive from its first
 * writer to its last reader; place.c gives it its offset.
 * Requires: bound and fused. Leaves: storage or offset on every value that is not the caller's or constant. */
#include "memory/plan.h"
#include "base/options.h"
#include "base/place.h"
#include "base/progress.h"
#include "ir/kernel.h"
#include "ir/loop.h"
#include "ir/remark.h"
#include "memory/order.h"
#include "memory/pitch.h"
#include "ir/scope.h"
#include "memory/share.h"
#include "passes/state.h"
#include "rt.h"

SHARED_PART_IS(Plan, plan);

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void number(Graph *g, int *time)
{
    for (Node *n = g->first; n; n = n->next) {
        n->time = (*time)++;
        EACH_NESTED (inner, n)
            number(inner, time);
        n->end = n->op->flags & CONTROL ? (*time)++ : n->time;
    }
}

/* The last time at which n reads v: if n is in a loop and v is not, the end of the loop. */
static int reading_ends(const Value *v, const Node *n)
{
    int end = n->end;
    for (const Graph *g = n->graph; g && !graph_encloses(g, v->graph); g = g->parent)
        if (g->owner && g->owner->end > end)
            end = g->owner->end;
    return end;
}

static void start_value(Value *v, int time)
{
    share_reset(v);
    v->contiguous = false;
    v->offset = -1;
    v->live_from = v->live_to = time;
    v->bytes = v->data ? 0 : max_bytes(v);
}

static void set_times(Node *n, int last)
{
    n->elided = false;
    n->parts_in_place = 0;
    EACH_OUT (v, n) {
        start_value(v, n->time);
        v->live_to = n->end; /* a loop writes it in every iteration, read or not */
        if (!v->persistent)
            continue;
        v->live_to = last; /* every iteration's part persists */
        for (const Graph *g = n->graph; g->owner; g = g->owner->graph)
            v->live_from = g->owner->time;
    }
}

static void read_value(Value *v, int end)
{
    if (v && !v->data && v->live_to < end)
        v->live_to = end;
}

static void set_ends(Node *n)
{
    EACH_IN (v, n)
        read_value(v, reading_ends(v, n));
    for (int k = 0; k < n->n_attr; k++)
        for (int i = 0; n->attr[k].g && i < n->attr[k].g->out.n; i++)
            read_value(n->attr[k].g->out.at[i], n->end);
}

/* ---- the arena --------------------------------------------------------------------------------------------------- */

typedef struct Arena {
    VEC(Buffer) buffers;
    VEC(Value *) value; /* whose buffer it is, or NULL, and then */
    VEC(Node *) node;   /* the node whose scratch it is */
} Arena;

/* The largest object of the target, in bytes. */
static int64_t max_addressed(void) { return opt()->target->addresses ? opt()->target->addresses : (int64_t)1 << 47; }

/* The limit of the arena, in bytes. */
static int64_t max_arena(void)
{
    enum { UNASKED = 1 << 30 };
    int64_t asked = opt()->max_arena ? opt()->max_arena : UNASKED;
    return asked < max_addressed() ? asked : max_addressed();
}

/* Suggests how to reduce the arena or to raise its limit. */
static void help_size(int64_t bytes)
{
    note_help("smaller bounds of sizes (--dim, --shape) make it smaller");
    if (bytes <= max_addressed())
        note_help("if there is enough memory: --max-arena %lldM", (long long)((bytes >> 20) + 1));
}

/* False: the buffer alone exceeds the arena's limit, reported. */
static bool buffer_fits(int64_t bytes, const Value *v, const Node *n)
{
    if (bytes <= max_arena())
        return true;
    if (v && v->def)
        error_node(v->def, "MEM-01", "'%s' %s needs up to %lld bytes, more than the arena's limit of %lld",
                   printable(v->name), shape_text(*v->shape), (long long)bytes, (long long)max_arena());
    else
        error_node(n ? n : v->graph->first, "MEM-01",
                   "up to %lld bytes are needed, more than the arena's limit of %lld", (long long)bytes,
                   (long long)max_arena());
    help_size(bytes);
    return false;
}

static void add_buffer(Arena *a, int from, int to, int64_t bytes, Value *v, Node *n)
{
    if (!bytes || !buffer_fits(bytes, v, n))
        bytes = 1;
    vec_push(&a->buffers, ((Buffer){from, to, (bytes + plan()->align - 1) / plan()->align * plan()->align, 0}));
    vec_push(&a->value, v);
    vec_push(&a->node, n);
}

static void add_node(Arena *a, Node *n)
{
    EACH_OUT (v, n)
        if (!v->storage && !v->data && !is_in_callers_buffer(v))
            add_buffer(a, v->live_from, v->live_to, v->bytes, v, NULL);
    Dim scratch =
        n->elided ? D(0) : pitch_scratch(n, n->call.n_arg && n->call.arg[0] ? share_pitch(n->call.arg[0]) : D(0));
    if (!dim_is(scratch, 0))
        add_buffer(a, n->time, n->time, dim_high(scratch), NULL, n);
}

/* ---- the choice of concats and slices without copies ------------------------------------------------------------- */

/* The search for concats and slices to elide. elide: the choice, by Node.time; bound: the lower bound of the arena with
 * it. work: the number of nodes that may still be visited, which limits the time for large models. */
typedef struct Trial {
    Model *m;
    int time; /* the last time */
    bool *elide;
    VEC(Node *) candidates;
    Arena arena;
    int64_t bound, work;
} Trial;

enum { MAX_WORK = 600000 }; /* about a second */

/* Shares storage by t->elide; returns the lower bound of the arena. */
static int64_t try_elision(Trial *t)
{
    Graph *g = t->m->graph;
    for (int i = 0; i < g->in.n; i++)
        start_value(g->in.at[i], 0);
    for (int i = 0; i < states()->at.n; i++)
        start_value(states()->at.at[i].slot, 0);
    EACH_NODE (n, g)
        set_times(n, t->time);
    EACH_NODE (n, g)
        set_ends(n);
    share_values(t->m, t->elide);
    t->arena.buffers.n = t->arena.value.n = t->arena.node.n = 0;
    EACH_NODE (n, g)
        add_node(&t->arena, n);
    progress_count(0, 0);
    t->work -= t->time;
    return place_bound(t->arena.buffers.at, t->arena.buffers.n, &plan()->peak_time);
}

static void set_elision(Trial *t, int from, int to, bool elide)
{
    for (int i = from; i < to; i++)
        t->elide[t->candidates.at[i]->time] = elide;
}

#define JOIN_REMARKS (1u << REWRITE_CONCAT | 1u << REWRITE_SLICE)

/* Elides the candidates [from, to) if the bound does not rise; otherwise tries each half. */
static void choose(Trial *t, int from, int to)
{
    set_elision(t, from, to, true);
    int64_t bound = try_elision(t);
    if (bound <= t->bound) {
        t->bound = bound;
        return;
    }
    set_elision(t, from, to, false);
    if (to - from < 2 || t->work < 0)
        return;
    choose(t, from, (from + to) / 2);
    choose(t, (from + to) / 2, to);
}

/* Chooses t->elide, greedily: the fewest bytes first, then the fewest copies. */
static void choose_elision(Trial *t)
{
    remarks_only(REMARKS_NONE);
    t->bound = try_elision(t);
    memset(t->elide, true, (size_t)t->time + 1);
    remarks_only(JOIN_REMARKS); /* about nodes that cannot be elided in any choice */
    try_elision(t);
    remarks_only(REMARKS_NONE);
    EACH_NODE (n, t->m->graph)
        if (n->call.kernel && n->call.kernel->flags & (CONCAT_LIKE | STRIDED_COPY) && (n->elided || n->parts_in_place))
            vec_push(&t->candidates, n);
    memset(t->elide, false, (size_t)t->time + 1);
    if (t->candidates.n)
        choose(t, 0, t->candidates.n);
}

/* Remarks the decision about a candidate. */
static void remark_join(const Trial *t, const Node *n)
{
    const Rewrite r = n->call.kernel->flags & CONCAT_LIKE ? REWRITE_CONCAT : REWRITE_SLICE;
    if (!t->elide[n->time])
        (void)declines(
            r, n, t->work < 0 ? "the arena would be larger, or its search took too long" : "the arena would be larger");
    else if (n->call.kernel->flags & CONCAT_LIKE)
        (void)applies(r, n, n->elided ? "all of its inputs" : "some of its inputs");
    else if (n->elided)
        (void)applies(r, n, "of %s", remark_value(n->call.arg[0]));
}

static void place_elided(Trial *t)
{
    remarks_only(~JOIN_REMARKS);
    plan()->bound = try_elision(t);
    remarks_only(REMARKS_ALL);
    for (int i = 0; i < t->candidates.n; i++)
        remark_join(t, t->candidates.at[i]);
    plan()->arena = place(t->arena.buffers.at, t->arena.buffers.n);
}

/* The storage in which v is contiguous, and v's offset there; NULL: v is in rows. */
static const Value *buffer_of(const Value *v, Dim *offset)
{
    *offset = D(0);
    for (; v->storage; v = v->storage) {
        if (!dim_is(v->placement->pitch, 0))
            return NULL;
        *offset = dim_add(*offset, v->placement->offset);
    }
    return v;
}

static bool is_copy_loop(const Loop *l)
{
    return l->n_in == 1 && l->n_out == 1 && l->steps.n <= 1 && !l->in[0]->data && l->in[0]->type == l->out[0]->type &&
           (!l->steps.n || (l->steps.at[0].fn && !strcmp(l->steps.at[0].fn, "to") && l->steps.at[0].arg[0] == ~0)) &&
           shape_identical(*l->in[0]->shape, *l->shape);
}

/* Elides a node that copies a value to the place where it already is. */
static void skip_copy(Node *n)
{
    const Call *c = &n->call;
    Dim from, to;
    if (c->loop ? !is_copy_loop(c->loop)
                : !c->kernel || !(n->op->flags & INPLACE && c->kernel->flags & STRIDED_COPY) || c->arg[0]->data)
        return;
    const Value *x = buffer_of(c->loop ? c->loop->in[0] : c->arg[0], &from);
    const Value *y = buffer_of(c->loop ? c->loop->out[0] : c->arg[1], &to);
    n->elided |= x && x == y && dim_identical(from, to);
}

/* Checks that every input and output fits an object of the target. */
static void check_interface(const Model *m)
{
    for (int i = 0; i < m->graph->in.n + m->graph->out.n; i++) {
        const Value *v = i < m->graph->in.n ? m->graph->in.at[i] : m->graph->out.at[i - m->graph->in.n];
        if (!v || v->form != TENSOR || !v->shape || v->shape->rank < 0)
            continue;
        int64_t count = dim_high(shape_count(*v->shape)), bits = type_bits(v->type);
        if (bits && count / 8 > max_addressed() / bits)
            error_value(v, "MEM-02", "'%s' %s is larger than the %lld bytes that one object may have",
                        printable(v->name), shape_text(*v->shape), (long long)max_addressed());
    }
    stop_on_errors();
}

/* Checks that the numbers of a call fit the target's idx and int. Sizes of a run's own are checked in the C. */
static void check_numbers(const Node *n)
{
    const int64_t max = opt()->target->addresses; /* 0: 64 bits, or not known */
    if (max && n->call.kernel && !n->elided)
        EACH_SIZE (s, &n->call)
            if (s.field->type != FIELD_i64 && dim_is_const(s.param->d) &&
                (dim_value(s.param->d) > max || dim_value(s.param->d) < -max)) {
                error_node(n, "MEM-04", "its %s, %lld, exceeds the target's largest integer, %lld", s.field->name,
                           (long long)dim_value(s.param->d), (long long)max);
                return;
            }
}

/* Places the states in their block: the sizes first, then a slot for each. */
static void place_states(void)
{
    States *const s = states();
    s->first = s->bytes = (8 * s->sizes.n + plan()->align - 1) / plan()->align * plan()->align;
    EACH_AT (state, s->at) {
        Value *const slot = state->slot;
        slot->offset = s->bytes;
        if (max_bytes(slot) > max_addressed() - s->bytes - plan()->align) {
            error_value(state->in, "MEM-02", "the states need more than the %lld bytes that one object may have",
                        (long long)max_addressed());
            return;
        }
        s->bytes += (max_bytes(slot) + plan()->align - 1) / plan()->align * plan()->align;
    }
}

static void check_arena(void)
{
    if (plan()->arena <= max_arena())
        return;
    error_at("", "MEM-01", "the arena has %lld bytes, more than %lld", (long long)plan()->arena,
             (long long)max_arena());
    help_size(plan()->arena);
    note_help("--report lists the values that are alive at its peak");
}

void plan_model(Model *m)
{
    check_interface(m);
    order_updates(m);
    Trial t = {.m = m, .work = MAX_WORK};
    number(m->graph, &t.time);
    t.elide = NEWS(bool, t.time + 1);
    *plan() = (Plan){.align = target_is_plain(opt()->target) ? 8 : opt()->target->vector >= 16 ? 64 : 16};
    choose_elision(&t);
    stop_on_errors();
    place_elided(&t);
    check_arena();
    place_states();
    share_flatten(m);
    EACH_NODE (n, m->graph)
        skip_copy(n);
    EACH_NODE (n, m->graph)
        check_numbers(n);
    const Arena *a = &t.arena;
    for (int i = 0; i < a->buffers.n; i++)
        if (a->value.at[i])
            a->value.at[i]->offset = a->buffers.at[i].offset;
        else
            a->node.at[i]->scratch_offset = a->buffers.at[i].offset;
}
