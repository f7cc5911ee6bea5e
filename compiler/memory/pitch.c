/* pitch.c - values in rows with a pitch: which calls can read and write them, and the change of their parameters. A
 * kernel can if it has a parameter x_pitch (first argument), r_pitch (residual), y_pitch (last one) or pitch[]
 * (CONCAT_LIKE), which binding sets to the length of a row. A STRIDED_COPY gets other strides; a loop uses the
 * placement of its values directly. */
#include "memory/pitch.h"
#include "ir/loop.h"

#include "rt.h"

#include "copy.h"

enum { WORTH = 4 }; /* elements: with shorter rows a loop costs more than a copy */

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Are the innermost axes of s, from some axis on, rows of `run` elements? */
static bool has_rows(Shape s, Dim run)
{
    if (dim_high(run) < WORTH)
        return false;
    for (int i = 0; i <= s.rank; i++)
        if (dim_identical(shape_product(s, i, s.rank), run))
            return true;
    return false;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* The parameter of c's kernel for the pitch of argument i; NULL: none. */
static Param *pitch_param(const Call *c, int i)
{
    const int residual = KERNEL_RESIDUAL(c->kernel);
    if (i == c->n_arg - 1)
        return call_param(c, "y_pitch");
    if (c->kernel->flags & CONCAT_LIKE)
        return call_param(c, "pitch") + i;
    return i == 0 ? call_param(c, "x_pitch") : i == residual ? call_param(c, "r_pitch") : NULL;
}

/* Is each group of channels of argument i (the first or the last one) within a row? */
static bool are_groups_in_rows(const Call *c, int i, Dim run)
{
    const Param *group = call_param(c, "group"), *on = call_param(c, i ? "y_group" : "x_group");
    return !on || (group && dim_is(group->d, 1)) || dim_is_at_most(dim_add(on->d, D(1)), run);
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

/* The strides along the batch axes of argument i of a product of matrices, which are at any distance from each other;
 * NULL: it is none. */
static Param *matrix_strides(const Call *c, int i)
{
    return i == 0 ? call_param(c, "a_batch") : i == 1 ? call_param(c, "b_batch") : NULL;
}

/* Is each matrix of argument i within a row of `run` elements, and the same part of it? */
static bool are_matrices_in_rows(const Call *c, int i, Dim run)
{
    enum { AXES = 4 };
    const Param *step = matrix_strides(c, i), *k = call_param(c, "k"), *other = call_param(c, i ? "n" : "m");
    bool rows = k && other && dim_identical(dim_mul(k->d, other->d), run);
    for (int j = 0; j < AXES && rows; j++)
        rows = dim_is(step[j].d, 0) || dim_identical(dim_mul(dim_div(step[j].d, run), run), step[j].d);
    return rows;
}

static void spread_matrices(const Call *c, int i, Dim run, Dim pitch)
{
    enum { AXES = 4 };
    Param *step = matrix_strides(c, i);
    for (int j = 0; j < AXES; j++)
        step[j].d = dim_mul(dim_div(step[j].d, run), pitch);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* The parameters of a copy whose source has rows of `run` elements with a pitch. False: an axis crosses rows. */
static bool spread_copy(const Call *c, Dim run, Dim pitch, struct copy_bind *to)
{
    const struct copy_bind *p = (const void *)c->param;
    struct copy_bind q = {.dim = {D(1), D(1), D(1), D(1)}, .to_at = p->to_at};
    if ((dim_low(run) < 1 && !dim_is(p->from_at, 0)) || dim_is(run, 0) ||
        (dim_is_const(run) && !dim_is_const(p->from_at)))
        return false;
    int k = 4;
    Dim within = dim_mod(p->from_at, run); /* of the last element, in its row */
    for (int i = 3; i >= 0; i--) {
        Dim n = p->dim[i], step = p->from[i];
        if (dim_is(n, 1))
            continue;
        bool across = dim_is(dim_mod(step, run), 0);
        if (!across && dim_is(step, 1) && dim_is(dim_mod(n, run), 0) &&
            !dim_identical(n, run)) { /* an axis over whole rows */
            if (k < 2)
                return false;
            q.dim[--k] = run, q.from[k] = D(1), q.to[k] = p->to[i];
            within = dim_add(within, dim_sub(run, D(1)));
            n = dim_div(n, run);
            q.dim[--k] = n, q.from[k] = pitch, q.to[k] = dim_mul(p->to[i], run);
            continue;
        }
        if (!k || (!across && !dim_is_at_most(D(0), step)))
            return false;
        q.dim[--k] = n, q.to[k] = p->to[i];
        q.from[k] = across ? dim_mul(dim_div(step, run), pitch) : step;
        within = across ? within : dim_add(within, dim_mul(dim_sub(n, D(1)), step));
    }
    q.from_at = dim_add(dim_mul(dim_div(p->from_at, run), pitch), dim_mod(p->from_at, run));
    *to = q;
    return dim_is_at_most(dim_add(within, D(1)), run);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static bool takes_rows(const Call *c, int i, Dim run)
{
    struct copy_bind copy;
    if (c->kernel->flags & STRIDED_COPY)
        return i == 0 && spread_copy(c, run, run, &copy);
    if (matrix_strides(c, i))
        return are_matrices_in_rows(c, i, run);
    const Param *p = pitch_param(c, i);
    return p && dim_identical(p->d, run) && are_groups_in_rows(c, i, run);
}

bool can_read_rows(const Node *n, const Value *v, Dim run)
{
    const Call *c = &n->call;
    for (int i = 0; i < c->n_arg; i++)
        if (c->arg[i] == v && !(c->loop ? has_rows(*v->shape, run) : takes_rows(c, i, run)))
            return false;
    return true;
}

bool can_write_rows(const Node *n, const Value *v, Dim run)
{
    const Call *c = &n->call;
    if (c->loop)
        return has_rows(*c->loop->shape, run);
    return c->kernel && c->arg[c->n_arg - 1] == v && takes_rows(c, c->n_arg - 1, run) &&
           (!c->epilogue || has_rows(*c->epilogue->shape, run));
}

Dim pitch_scratch(const Node *n, Dim pitch)
{
    const Call *c = &n->call;
    if (dim_is(pitch, 0) || dim_is(c->scratch_pitch, 0))
        return c->scratch;
    return dim_add(c->scratch, dim_mul(c->scratch_pitch, dim_sub(pitch, pitch_param(c, 0)->d)));
}

void pitch_apply(Node *n)
{
    Call *c = &n->call;
    if (!c->kernel || n->elided)
        return;
    c->scratch = pitch_scratch(n, c->arg[0] ? c->arg[0]->placement->pitch : D(0));
    for (int i = 0; i < c->n_arg; i++) {
        const Value *v = c->arg[i];
        if (!v || dim_is(v->placement->pitch, 0))
            continue;
        if (!(c->kernel->flags & STRIDED_COPY) && matrix_strides(c, i))
            spread_matrices(c, i, v->placement->run, v->placement->pitch);
        else if (!(c->kernel->flags & STRIDED_COPY))
            pitch_param(c, i)->d = v->placement->pitch;
        else if (!spread_copy(c, v->placement->run, v->placement->pitch, (void *)c->param))
            bug("a copy cannot read rows after all");
    }
}
