/* share.c - storage shared by values: views, branches and loops, concats and slices without copies, results in place of
 * inputs. A value's storage is its own or part of another value's: at an offset, contiguous or in rows with a pitch
 * (pitch.h). */
#include "memory/share.h"
#include "ir/loop.h"
#include "ir/remark.h"
#include "memory/pitch.h"
#include "passes/state.h"

#include "rt.h"

/* ---- storages ---------------------------------------------------------------------------------------------------- */

/* The placement of v, which may be changed. */
static struct Placement *placement_of(Value *v)
{
    if (v->placement == &whole_storage)
        v->placement = NEW(struct Placement);
    return (struct Placement *)(uintptr_t)v->placement;
}

void share_reset(Value *v)
{
    if (v->placement != &whole_storage)
        pool_free((void *)(uintptr_t)v->placement, sizeof *v->placement);
    v->storage = NULL;
    v->placement = &whole_storage;
}

/* The length of v's rows in its storage; 0: it is contiguous. */
static Dim run_of(const Value *v)
{
    while (v->storage && dim_is(v->placement->pitch, 0))
        v = v->storage;
    return v->storage ? v->placement->run : D(0);
}

Dim share_pitch(const Value *v)
{
    Dim pitch = D(0);
    for (; v->storage; v = v->storage)
        if (!dim_is(v->placement->pitch, 0))
            pitch = v->placement->pitch;
    return pitch;
}

bool is_in_callers_buffer(const Value *v)
{
    if (v->input >= 0 || v->in_state)
        return true;
    EACH_AT (u, v->uses)
        if (!u->node && graph_is_entry(u->graph) && !v->state)
            return true;
    return false;
}

static bool is_constant(const Value *v) { return v->data != NULL; }

static bool is_same_size(const Value *a, const Value *b)
{
    return type_bits(a->type) == type_bits(b->type) && dim_identical(shape_count(*a->shape), shape_count(*b->shape));
}

/* Does v occupy all of its storage? */
static bool is_whole(const Value *v)
{
    const Value *a = value_storage(v);
    return a->bytes == max_bytes(v) && dim_is(value_storage_offset(v), 0) && is_same_size(v, a);
}

/* Storage b becomes part of storage a, `offset` bytes from its start. */
static void unite_at(Value *a, Value *b, Dim offset)
{
    b->storage = a;
    if (!dim_is(offset, 0))
        placement_of(b)->offset = offset;
    a->live_from = a->live_from < b->live_from ? a->live_from : b->live_from;
    a->live_to = a->live_to > b->live_to ? a->live_to : b->live_to;
}

/* The same for a contiguous part: a must be contiguous from now on. */
static void unite_piece(Value *a, Value *b, Dim offset)
{
    unite_at(a, b, offset);
    a->contiguous = true;
}

/* The same, in rows of `run` elements with `pitch`. Storage a can then be in rows itself only if they are the same
 * rows. */
static void unite_rows(Value *a, Value *b, Dim offset, Dim run, Dim pitch)
{
    unite_at(a, b, offset);
    placement_of(b)->run = run;
    placement_of(b)->pitch = pitch;
    a->contiguous |= !dim_is(a->placement->row, 0) && !dim_identical(a->placement->row, pitch);
    placement_of(a)->row = pitch;
}

/* Both storages become one; one in the caller's buffer is kept. */
static void unite(Value *a, Value *b)
{
    a = value_storage(a);
    b = value_storage(b);
    if (a == b)
        return;
    if (is_in_callers_buffer(b)) {
        Value *t = a;
        a = b;
        b = t;
    }
    if (is_in_callers_buffer(b))
        bug("two of the caller's buffers would have to be one");
    int64_t bytes = a->bytes > b->bytes ? a->bytes : b->bytes;
    unite_at(a, b, D(0));
    a->bytes = bytes;
}

/* ---- views, branches, loops -------------------------------------------------------------------------------------- */

static bool is_view(const Node *n)
{
    return n->op->flags & VIEW && n->out[0] && !is_constant(n->out[0]) && !is_constant(n->in[0]);
}

static void unite_whole(Value *a, Value *b)
{
    unite(a, b);
    value_storage(a)->contiguous = true;
}

static void unite_views_and_shares(const Model *m)
{
    EACH_NODE (n, m->graph)
        if (is_view(n))
            unite(n->in[0], n->out[0]);
    EACH_AT (s, m->shares)
        if (!s->a->in_state)
            unite_whole(s->a, s->b);
}

/* ---- concat and split without copies ----------------------------------------------------------------------------- */

static int64_t element_bits(const Value *v) { return type_bits(v->type); }

static Dim bytes_of(Dim elements, const Value *v) { return dim_mul(elements, D(element_bits(v) / 8)); }

/* May v be in rows with a pitch, if its readers support it? */
static bool may_lie_apart(const Value *v)
{
    return !is_constant(v) && v->form == TENSOR && !v->persistent && !value_is_output(v) && !symbols_of(v);
}

/* A reader of v, or of its views, that cannot take rows of `run` elements with a pitch; NULL: all can. */
static const Node *reader_of_contiguous(const Value *v, Dim run)
{
    for (int i = 0; i < v->uses.n; i++) {
        const Node *n = v->uses.at[i].node, *m = NULL;
        if (n->op->flags & CONTROL ||
            (is_view(n) ? !may_lie_apart(n->out[0]) : !n->elided && !can_read_rows(n, v, run)))
            return n;
        if (is_view(n) && (m = reader_of_contiguous(n->out[0], run)) != NULL)
            return m;
    }
    return NULL;
}

/* Can every reader of x, in storage a, read rows of `run` elements? Remarks are for rewrite r of node n. */
static bool readers_take(Rewrite r, const Node *n, const Value *x, const Value *a, Dim run)
{
    if (!may_lie_apart(a))
        return declines(r, n, "%s is used as a whole", remark_value(x));
    const Node *reader = reader_of_contiguous(a, run);
    if (reader)
        return declines(r, n, "%s cannot read %s in rows with a pitch", remark_node(reader), remark_value(x));
    return true;
}

/* The number of parts of a concat, from part i on, that together occupy all of a storage; 0: part i does not. *run:
 * their elements per row. */
static int parts_together(const Node *n, int i, Dim *run)
{
    Value *const *x = n->call.arg;
    const Param *size = call_param(&n->call, "size");
    const Value *a = value_storage(x[i]);
    *run = size[i].d;
    if (is_whole(x[i]))
        return 1;
    Dim at = D(0), pitch = share_pitch(x[i]);
    for (int k = i; k < n->call.n_arg - 1 && x[k] && !is_constant(x[k]); k++) {
        if (value_storage(x[k]) != a || !dim_identical(run_of(x[k]), size[k].d) ||
            !dim_identical(share_pitch(x[k]), pitch) || !dim_identical(value_storage_offset(x[k]), bytes_of(at, x[k])))
            return 0;
        at = dim_add(at, size[k].d);
        *run = at;
        if (dim_identical(at, pitch))
            return k + 1 - i;
    }
    return 0;
}

/* Can storage a of x, a part of concat n, be `outer` rows of `run` elements with a pitch? */
static bool may_be_rows(const Node *n, const Value *x, const Value *a, Dim outer, Dim run)
{
    if (a->contiguous || !(dim_is(a->placement->row, 0) || dim_identical(a->placement->row, run)) || !a->def ||
        !dim_identical(shape_count(*a->shape), dim_mul(outer, run)))
        return declines(REWRITE_CONCAT, n, "%s shares its bytes with other values", remark_value(x));
    if (!can_write_rows(a->def, a, run))
        return declines(REWRITE_CONCAT, n, "%s cannot write %s in rows with a pitch", remark_node(a->def),
                        remark_value(x));
    return readers_take(REWRITE_CONCAT, n, x, a, run);
}

/* Is d known before `time`? */
static bool is_known_before(Dim d, int time)
{
    EACH_SYMBOL (s, d) {
        const struct Origin *o = &s->origin;
        const Node *from = o->kind == ORIGIN_NODE ? o->node : o->kind == ORIGIN_ELEMENT ? o->value->def : NULL;
        if (from && from->end >= time)
            return false;
    }
    return true;
}

/* Can storage a, of part x of concat n, be in n's result at all? */
static bool is_movable(const Node *n, const Value *x, const Value *a)
{
    if (is_constant(x))
        return declines(REWRITE_CONCAT, n, "%s is a constant", remark_value(x));
    if (a == value_storage(n->out[0]))
        return declines(REWRITE_CONCAT, n, "%s is already another part of it", remark_value(x));
    if (is_in_callers_buffer(a))
        return declines(REWRITE_CONCAT, n, "%s is in the caller's buffer", remark_value(x));
    if (a->graph != n->graph)
        return declines(REWRITE_CONCAT, n, "%s belongs to another graph", remark_value(x));
    if (element_bits(x) % 8)
        return declines(REWRITE_CONCAT, n, "%s is packed, in elements of less than a byte", remark_value(x));
    return true;
}

/* Puts parts of a concat, from part i on, into its result, `at` elements from its start; returns their number. */
static int unite_from(Node *n, int i, Dim at)
{
    Value *x = n->call.arg[i], *y = n->out[0], *to = value_storage(y), *a = value_storage(x);
    Dim outer = call_param(&n->call, "outer")->d, pitch = call_param(&n->call, "y_pitch")->d, run;
    if (!is_movable(n, x, a))
        return 0;
    int parts = parts_together(n, i, &run);
    Dim offset = dim_add(value_storage_offset(y), bytes_of(at, y));
    if (!is_known_before(offset, a->live_from) || !is_known_before(pitch, a->live_from))
        return declines(REWRITE_CONCAT, n, "the place of %s is known only after it is computed", remark_value(x));
    if (!parts || (dim_is(outer, 1) && !is_whole(x)))
        return declines(REWRITE_CONCAT, n, "%s shares its bytes with other values", remark_value(x));
    if (!dim_is(outer, 1) && !may_be_rows(n, x, a, outer, run))
        return 0;
    if (dim_is(outer, 1))
        unite_piece(to, a, offset);
    else
        unite_rows(to, a, offset, run, pitch);
    return parts;
}

/* Puts those parts of a concat that can be into its result: n->parts_in_place. If all are, the concat is elided. */
static void unite_concat(Node *n)
{
    const Param *size = call_param(&n->call, "size");
    Value *y = n->out[0];
    Dim at = D(0);
    unsigned all = 0;
    for (int i = 0; i < n->call.n_arg - 1 && n->call.arg[i] && !is_constant(y);) {
        int parts = unite_from(n, i, at), end = i + (parts ? parts : 1);
        for (; i < end; i++) {
            n->parts_in_place |= parts ? 1u << i : 0;
            all |= 1u << i;
            at = dim_add(at, size[i].d);
        }
    }
    n->elided = all && n->parts_in_place == all;
}

/* The part of x that a copy reads: `run` elements per `pitch`, from `at` on; pitch 0: contiguous. False: another
 * pattern. */
typedef struct Window {
    Dim at, run, pitch;
} Window;

static bool read_window(const Call *c, Window *w)
{
    const Param *dim = call_param(c, "dim"), *from = call_param(c, "from"), *to = call_param(c, "to");
    *w = (Window){call_param(c, "from_at")->d, D(1), D(0)};
    Dim rows = D(1), all = D(1);
    for (int i = 3; i >= 0; i--) {
        if (dim_is(dim[i].d, 1))
            continue;
        if (!dim_identical(to[i].d, all) || !dim_is_at_most(D(1), from[i].d)) /* repeated, or backwards */
            return false;
        if (dim_is(w->pitch, 0) && !dim_identical(from[i].d, w->run))
            w->pitch = from[i].d;
        if (dim_is(w->pitch, 0))
            w->run = dim_mul(w->run, dim[i].d);
        else if (dim_identical(from[i].d, dim_mul(w->pitch, rows)))
            rows = dim_mul(rows, dim[i].d);
        else
            return false;
        all = dim_mul(all, dim[i].d);
    }
    const Value *x = c->arg[0];
    return dim_is(call_param(c, "to_at")->d, 0) &&
           (dim_is(w->pitch, 0) || (dim_is_at_most(dim_add(w->at, w->run), w->pitch) &&
                                    dim_identical(dim_mul(rows, w->pitch), shape_count(*x->shape))));
}

/* Is v, or a value that shares its bytes, read after this time or outside of the graph? */
static bool is_read_after(const Value *v, int time)
{
    for (int i = 0; i < v->uses.n; i++) {
        const Node *n = v->uses.at[i].node;
        if (!n || (!is_view(n) && !n->elided && n->time > time))
            return true;
        EACH_OUT (y, n)
            if (value_storage(y) == value_storage(v) && is_read_after(y, time))
                return true;
    }
    return false;
}

/* Would y, as a view of storage a, be read after the iteration has written the next state there? */
static bool is_read_too_late(const Value *a, const Value *y)
{
    const Model *m = y->graph->model;
    EACH_AT (s, m->shares)
        if (s->copy && value_storage(s->a) == a && is_read_after(y, s->copy->time))
            return true;
    return false;
}

/* Does n copy an output to the input that --state makes of it? unite_states decides on those. */
static bool copies_to_state(const Node *n)
{
    EACH_AT (s, states()->at)
        if (s->copy == n)
            return true;
    return false;
}

/* Can the result of the copy n be a view of its input? *w: the part that it is. */
static bool may_be_view(const Node *n, Window *w)
{
    const Value *x = n->call.arg[0], *y = n->call.arg[1], *a = value_storage(x), *b = value_storage(y);
    if (is_constant(x))
        return declines(REWRITE_SLICE, n, "%s is a constant", remark_value(x));
    if (is_constant(y) || a == b || copies_to_state(n))
        return false;
    if (is_in_callers_buffer(b))
        return declines(REWRITE_SLICE, n, "%s is in the caller's buffer", remark_value(y));
    if (b->contiguous || !is_whole(y))
        return declines(REWRITE_SLICE, n, "%s shares its bytes with other values", remark_value(y));
    if (x->graph != n->graph)
        return declines(REWRITE_SLICE, n, "%s belongs to another graph", remark_value(x));
    if (element_bits(x) % 8)
        return declines(REWRITE_SLICE, n, "%s is packed, in elements of less than a byte", remark_value(x));
    if (!read_window(&n->call, w))
        return declines(REWRITE_SLICE, n, "it copies neither a contiguous block of %s nor rows with one pitch",
                        remark_value(x));
    if (is_read_too_late(a, y))
        return declines(REWRITE_SLICE, n, "the next iteration's state is written over %s before %s is read",
                        remark_value(x), remark_value(y));
    return true;
}

/* Elides a copy of contiguous elements, or of rows that its readers support: the result becomes a view. */
static void unite_part(Node *n)
{
    Value *x = n->call.arg[0], *y = n->call.arg[1], *a = value_storage(x), *b = value_storage(y);
    Window w;
    if (!may_be_view(n, &w))
        return;
    Dim offset = dim_add(value_storage_offset(x), bytes_of(w.at, x)), run = run_of(x);
    if (!dim_is(run, 0) && (dim_is(w.pitch, 0) || !dim_identical(run, w.pitch))) {
        (void)declines(REWRITE_SLICE, n, "%s itself has rows of another pitch", remark_value(x));
        return;
    }
    if (dim_is(w.pitch, 0))
        unite_piece(a, b, offset);
    else if (readers_take(REWRITE_SLICE, n, y, b, w.run))
        unite_rows(a, b, offset, w.run, dim_is(run, 0) ? w.pitch : share_pitch(x));
    else
        return;
    n->elided = true;
}

static void unite_parts(const Model *m, const bool *elide)
{
    EACH_NODE (n, m->graph) {
        const int flags = n->call.kernel && elide[n->time] ? n->call.kernel->flags : 0;
        if (flags & CONCAT_LIKE)
            unite_concat(n);
        else if (flags & STRIDED_COPY)
            unite_part(n);
    }
}

/* ---- in place ---------------------------------------------------------------------------------------------------- */

/* Does the kernel also read the bytes of its argument x by another argument, as conv(x) + x? */
static bool is_read_twice(const Call *c, const Value *x)
{
    int times = 0;
    for (int i = 0; i < c->n_arg; i++)
        times += c->arg[i] && !is_constant(c->arg[i]) && value_storage(c->arg[i]) == value_storage(x);
    return times > 1;
}

/* Is element i of every input that shares storage with input x at the place of x's element i? */
static bool reads_in_step(const Loop *l, const Value *x)
{
    for (int i = 0; i < l->n_in; i++)
        if (!is_constant(l->in[i]) && value_storage(l->in[i]) == value_storage(x) &&
            (!shape_identical(*l->in[i]->shape, *l->shape) ||
             !dim_identical(value_storage_offset(l->in[i]), value_storage_offset(x))))
            return false;
    return true;
}

/* Does n read each of x's elements before it writes its result there? */
static bool reads_first(const Node *n, const Value *x)
{
    const Call *c = &n->call;
    if (c->loop)
        return shape_identical(*x->shape, *c->loop->shape) && reads_in_step(c->loop, x);
    int r = c->kernel ? KERNEL_RESIDUAL(c->kernel) : 0;
    return ((r && c->arg[r] == x) || (n->op->flags & INPLACE && c->arg[0] == x && n->in[0] == x)) &&
           !is_read_twice(c, x);
}

/* The values that n reads. */
static int n_read(const Node *n) { return n->call.loop ? n->call.loop->n_in : n->call.n_arg; }
static Value *read_by(const Node *n, int i) { return n->call.loop ? n->call.loop->in[i] : n->call.arg[i]; }

/* May n write y over x? x must be in the arena, have its last use here, and be alone in its storage. */
static bool may_overwrite(const Node *n, Value *x, Value *y)
{
    if (!x || is_constant(x))
        return false;
    if (!is_same_size(x, y))
        return declines(REWRITE_IN_PLACE, n, "%s has another size", remark_value(x));
    const Value *a = value_storage(x), *b = value_storage(y);
    if (a == b)
        return false;
    if (x->graph != n->graph)
        return declines(REWRITE_IN_PLACE, n, "%s belongs to another graph", remark_value(x));
    if (a->input >= 0 || is_in_callers_buffer(a))
        return declines(REWRITE_IN_PLACE, n, "%s is in the caller's buffer", remark_value(x));
    if (a->live_to != n->time)
        return declines(REWRITE_IN_PLACE, n, "%s is read again later", remark_value(x));
    if (b->live_from != n->time || a->bytes != max_bytes(y) || b->bytes != a->bytes)
        return declines(REWRITE_IN_PLACE, n, "%s or %s shares its bytes with other values", remark_value(x),
                        remark_value(y));
    if (!dim_identical(value_storage_offset(x), value_storage_offset(y)) ||
        !dim_identical(share_pitch(x), share_pitch(y)))
        return declines(REWRITE_IN_PLACE, n, "%s is a part of its buffer", remark_value(x));
    return true;
}

/* The same, and does n read x before it overwrites it? */
static bool is_in_place(const Node *n, Value *x, Value *y)
{
    if (!may_overwrite(n, x, y))
        return false;
    if (!reads_first(n, x))
        return declines(REWRITE_IN_PLACE, n, "it reads %s after it has begun to write", remark_value(x));
    return applies(REWRITE_IN_PLACE, n, "over %s", remark_value(x));
}

static void unite_in_place(Node *n)
{
    Value *y = n->n_out ? n->out[0] : NULL;
    if (!y || is_constant(y) || n->op->flags & (VIEW | CONTROL) || !(n->call.loop || n->call.kernel))
        return;
    for (int i = 0; i < n_read(n); i++)
        if (is_in_place(n, read_by(n, i), y)) {
            unite(read_by(n, i), y);
            return;
        }
}

/* ---- states of loops and of the model ---------------------------------------------------------------------------- */

/* The node that remarks about a state name: its loop, or the copy that stores a state of the model. */
static const Node *keeper(const Node *copy) { return copy->graph->owner ? copy->graph->owner : copy; }

/* Does n finish reading the state before it writes over it? */
static bool finishes_reading(const Node *n, const Value *state)
{
    for (int i = 0; i < n_read(n); i++) {
        const Value *x = read_by(n, i);
        if (x && !is_constant(x) && value_storage(x) == value_storage(state) && !reads_first(n, x))
            return false;
    }
    return true;
}

/* Can x, which `copy` copies to the state, have the state's storage? */
static bool fits_state(const Value *state, const Node *copy)
{
    const Value *x = copy->in[0], *a = value_storage(x);
    const Loop *l = copy->call.loop;
    if (a == value_storage(state))
        return false;
    if (is_constant(x))
        return declines(REWRITE_STATE, keeper(copy), "%s is a constant", remark_value(x));
    if (a->contiguous || !is_whole(x) || is_in_callers_buffer(a))
        return declines(REWRITE_STATE, keeper(copy), "%s shares its bytes with other values", remark_value(x));
    if ((l && (l->n_in != 1 || l->in[0] != x)) || !is_same_size(x, state) || value_storage(state)->bytes != a->bytes)
        return declines(REWRITE_STATE, keeper(copy), "%s and the state %s differ in the number or the size of elements",
                        remark_value(x), remark_value(state));
    return true;
}

/* Can the run fail at n, or by a size that becomes known there? */
static bool may_fail(const Node *n)
{
    bool fails = n->op->flags & (CONTROL | CUSTOM) || (n->call.kernel && n->call.kernel->fallible) || symbols_of(n);
    EACH_OUT (v, n)
        fails |= symbols_of(v) != NULL;
    return fails;
}

/* The first node from d on at which the run can fail; NULL: there is none. A state of the model must be as it was
 * then. */
static const Node *failing_from(const Node *d)
{
    while (d && !may_fail(d))
        d = d->next;
    return d;
}

/* Is it known at the start of a run that the next sizes of the states are within their bounds? */
static bool are_next_sizes_given(void)
{
    bool given = true;
    for (int i = 0; i < states()->sizes.n; i++)
        given &= is_given(states()->sizes.at[i].next);
    return given;
}

/* Is the state not read any more when x is written? */
static bool is_state_done(const Value *state, const Node *copy)
{
    const Value *x = copy->in[0], *a = value_storage(x);
    const Node *d = a->def, *fails;
    if (!d || d->graph != copy->graph)
        return declines(REWRITE_STATE, keeper(copy), "%s is not computed in the body", remark_value(x));
    if (d->time != a->live_from || d->out[0] != a || !(d->call.loop || d->call.kernel))
        return declines(REWRITE_STATE, keeper(copy), "%s is written by more than one node", remark_value(x));
    if (is_read_after(state, d->time))
        return declines(REWRITE_STATE, keeper(copy), "the state %s is read after %s has computed the next",
                        remark_value(state), remark_node(d));
    if (!finishes_reading(d, state))
        return declines(REWRITE_STATE, keeper(copy), "%s reads the state %s after it has begun to write",
                        remark_node(d), remark_value(state));
    if (state->in_state && !are_next_sizes_given())
        return declines(REWRITE_STATE, keeper(copy), "a state may still turn out to be too large");
    if (state->in_state && (fails = failing_from(d)) != NULL)
        return declines(REWRITE_STATE, keeper(copy), "%s could still end the run, after which %s must be as it was",
                        remark_node(fails), remark_value(state));
    return applies(REWRITE_STATE, keeper(copy), "%s, over %s", remark_value(x), remark_value(state));
}

/* Elides the copy of a result to the state: x is computed in the state's place if that is not read any more. */
static void unite_state(Value *state, Node *copy)
{
    Value *x = copy->in[0];
    if (!fits_state(state, copy) || !is_state_done(state, copy))
        return;
    unite(state, x);
    copy->elided = true;
}

/* ---- states that grow -------------------------------------------------------------------------------------------- */

/* Is the next state a concat of s and what is appended along the axis that has room? */
static bool appends(const KeptState *s)
{
    const Value *x = s->in, *y = s->copy->in[0];
    const Node *n = y->def;
    if (s->axis < 0)
        return !shape_identical(*x->shape, *s->copy->out[0]->shape) &&
               declines(REWRITE_STATE, s->copy, "%s grows along several axes", remark_value(x));
    if (!n || n->graph != s->copy->graph || !n->call.kernel || !(n->call.kernel->flags & CONCAT_LIKE) ||
        n->call.arg[0] != x || n->call.arg[n->call.n_arg - 1] != y)
        return declines(REWRITE_STATE, s->copy, "%s is not %s and what is appended", remark_value(y), remark_value(x));
    if (y->storage || x->storage || x->contiguous || y->contiguous || !is_whole(y) || !is_given(shape_count(*y->shape)))
        return declines(REWRITE_STATE, s->copy, "%s or %s shares its bytes with other values", remark_value(y),
                        remark_value(x));
    if (element_bits(x) % 8 || x->fallback)
        return declines(REWRITE_STATE, s->copy, "%s is packed, or has an initial value", remark_value(x));
    return true;
}

/* Can all readers of v, of which a row has `run` elements, take rows with a pitch? */
static bool may_be_in_rows(const KeptState *s, const Value *v, Dim run)
{
    if (!dim_is(v->placement->row, 0) && !dim_identical(v->placement->row, run))
        return declines(REWRITE_STATE, s->copy, "%s shares its bytes with other values", remark_value(v));
    return readers_take(REWRITE_STATE, s->copy, v, v, run);
}

/* Appends to state s in place: no byte of it moves. Each row has room for the bound, so that the state and the next one
 * are rows with that pitch. */
static bool append_state(const KeptState *s)
{
    Value *x = s->in, *y = s->copy->in[0];
    Node *n = y->def;
    if (!appends(s))
        return false;
    const Dim inner = shape_product(*x->shape, s->axis + 1, x->shape->rank);
    const Dim room = dim_mul(D(dim_high(x->shape->dim[s->axis])), inner);
    const Dim x_run = call_param(&n->call, "size")->d, y_run = call_param(&n->call, "y_pitch")->d;
    const bool one = dim_is(call_param(&n->call, "outer")->d, 1);
    s->copy->elided = true;
    s->copy->elided = one || (may_be_in_rows(s, x, x_run) && may_be_in_rows(s, y, y_run));
    if (!s->copy->elided)
        return false;
    if (one) {
        unite_piece(s->slot, x, D(0));
        unite_piece(s->slot, y, D(0));
    } else {
        unite_rows(s->slot, x, D(0), x_run, room);
        unite_rows(s->slot, y, D(0), y_run, room);
    }
    n->parts_in_place |= 1;
    n->elided = true;
    for (int i = 0; i < n->call.n_arg - 1; i++)
        n->elided &= !n->call.arg[i] || n->parts_in_place >> i & 1;
    return applies(REWRITE_STATE, s->copy, "%s appends to %s", remark_node(n), remark_value(x));
}

static void unite_states(const Model *m)
{
    EACH_AT (share, m->shares)
        if (share->copy && !share->a->in_state)
            unite_state(share->a, share->copy);
    EACH_AT (s, states()->at) {
        if (append_state(s))
            continue;
        unite_whole(s->in, s->copy->out[0]);
        unite_state(s->in, s->copy);
        unite_at(s->slot, value_storage(s->in), D(0));
    }
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

void share_values(Model *m, const bool *elide)
{
    unite_views_and_shares(m);
    unite_parts(m, elide);
    unite_states(m);
    EACH_NODE (n, m->graph)
        unite_in_place(n);
}

/* Makes v->storage the outermost storage. */
static void flatten(Value *v)
{
    Value *above = v->storage;
    if (!above || !above->storage)
        return;
    flatten(above);
    v->storage = above->storage;
    if (above->placement == &whole_storage)
        return;
    struct Placement *in = placement_of(v);
    in->offset = dim_add(in->offset, above->placement->offset);
    if (dim_is(in->pitch, 0))
        in->run = above->placement->run;
    if (!dim_is(above->placement->pitch, 0))
        in->pitch = above->placement->pitch;
}

static void flatten_node(Node *n)
{
    EACH_OUT (v, n)
        flatten(v);
    for (int i = 0; n->parts_in_place && !n->elided && i < n->call.n_arg - 1; i++)
        if (n->parts_in_place & 1u << i)
            n->call.arg[i] = NULL; /* already in place */
}

void share_flatten(Model *m)
{
    memset(&m->shares, 0, sizeof m->shares);
    for (int i = 0; i < states()->at.n; i++)
        flatten(states()->at.at[i].in);
    EACH_NODE (n, m->graph)
        flatten_node(n);
    EACH_NODE (n, m->graph)
        pitch_apply(n);
}
