/* fuse.c - fuse: consecutive elementwise loops become one, or a lookup table; a loop after a compute-bound kernel
 * becomes its clamp, residual and epilogue, applied while results are in registers or in the first-level cache.
 * Requires: bound. Leaves: fewer nodes; a fused node has the position of the last one. */
#include <math.h>

#include "ir/assume.h"
#include "ir/exec.h"
#include "ir/loop.h"
#include "ir/provenance.h"
#include "ir/remark.h"
#include "ir/schema.h"
#include "ir/scope.h"
#include "passes/passes.h"
#include "read/read.h"
#include "rt.h"

enum { MAX_STEPS = 48 };

PART(Map, measured) /* values whose elements are sizes that code uses */

static void measure_symbol(Symbol *s, void *unused)
{
    (void)unused;
    if (s->origin.kind == ORIGIN_ELEMENT)
        map_put(measured(), s->origin.value, s);
}

static void find_measured(Graph *g)
{
    EACH_NODE (n, g)
        node_symbols(n, measure_symbol, NULL);
    for (int i = 0; i < assumption_count(); i++) {
        dim_symbols(assumption_at(i)->d, measure_symbol, NULL);
        dim_symbols(assumption_at(i)->is, measure_symbol, NULL);
    }
}

/* The only node that reads v; NULL: there are several, v is an output, or sizes are read from it. */
static Node *only_reader(const Value *v)
{
    Node *n = v->uses.n && !map_get(measured(), v) ? v->uses.at[0].node : NULL;
    for (int i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node != n)
            return NULL;
    return n;
}

/* Why v has no only_reader; NULL: no node reads it at all. */
static const char *why_not_alone(const Value *v)
{
    bool is_read = false;
    for (int i = 0; i < v->uses.n; i++)
        is_read |= v->uses.at[i].node != NULL;
    if (!is_read)
        return NULL;
    if (map_get(measured(), v))
        return "a size depends on its result";
    const Node *first = v->uses.at[0].node;
    EACH_AT (u, v->uses)
        if (!u->node)
            return graph_is_entry(u->graph) ? "its result is also an output"
                                            : "its result is also an output of its graph";
        else if (u->node != first)
            return text_format("its result has several readers, %s and %s", remark_node(first), remark_node(u->node));
    return "";
}

/* Binds n to loop l, with l's inputs. */
static void set_loop(Node *n, Loop *l)
{
    node_set_inputs(n, l->n_in, l->in);
    pool_free(n->call.arg, sizeof *n->call.arg * (size_t)n->call.n_arg);
    bind_loop(n, l);
}

static int loop_input(const Loop *l, const Value *v)
{
    for (int i = 0; i < l->n_in; i++)
        if (l->in[i] == v)
            return i;
    return -1;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* Appends l's steps from `from` on to those of `to`. in[]: the arguments for l's inputs; map[]: set to the new steps.
 * Earlier steps are replaced by in[0]. */
static void copy_steps(Loop *to, const Loop *l, int from, const int *in, int *map)
{
    for (int i = 0; i < l->steps.n; i++) {
        Step s = l->steps.at[i];
        if (!s.fn)
            map[i] = loop_literal(to, s.type, s.f, s.i);
        else if (i < from)
            map[i] = in[0];
        else {
            for (int k = 0; k < s.n_arg; k++)
                s.arg[k] = s.arg[k] < 0 ? in[~s.arg[k]] : map[s.arg[k]];
            vec_push(&to->steps, s);
            map[i] = to->steps.n - 1;
        }
    }
}

/* Loop b, with its input that a computes replaced by a's steps. */
static Loop *joined(const Loop *a, const Loop *b)
{
    Loop *l = loop_new(*b->shape);
    int in_a[LOOP_IN], in_b[LOOP_IN], map_a[MAX_STEPS], map_b[MAX_STEPS];
    const Value *made = a->out[0];
    for (int i = 0; i < a->n_in; i++)
        in_a[i] = loop_in(l, a->in[i]);
    copy_steps(l, a, 0, in_a, map_a);
    const int base = a->out_step[0] < 0 ? in_a[~a->out_step[0]] : map_a[a->out_step[0]];
    for (int i = 0; i < b->n_in; i++)
        in_b[i] = b->in[i] == made ? base : loop_in(l, b->in[i]);
    copy_steps(l, b, 0, in_b, map_b);
    for (int i = 0; i < b->n_out; i++)
        loop_out(l, b->out_step[i] < 0 ? in_b[~b->out_step[i]] : map_b[b->out_step[i]], b->out[i]);
    return l;
}

static int count_inputs(const Loop *a, const Loop *b)
{
    int n = a->n_in;
    for (int i = 0; i < b->n_in; i++)
        n += loop_input(a, b->in[i]) < 0;
    return n;
}

/* Remarks that rewrite r does not fuse the node with the result v, which has no or several readers. */
static bool stands_alone(Rewrite r, const Node *n, const Value *v)
{
    const char *why = remarks_on(r) ? why_not_alone(v) : NULL;
    if (!why && r == REWRITE_FUSE)
        why = "no node reads its result, an output";
    return why && declines(r, n, "%s", why);
}

/* Can n's loop be fused with that of m, the only reader of its result (or NULL)? */
static bool loops_fit(const Node *n, const Node *m)
{
    const Loop *a = n->call.loop, *b = m ? m->call.loop : NULL;
    if (!m)
        return stands_alone(REWRITE_FUSE, n, a->out[0]);
    if (m->graph != n->graph)
        return declines(REWRITE_FUSE, n, "%s belongs to another graph", remark_node(m));
    if (!b)
        return declines(REWRITE_FUSE, n, "%s is no elementwise loop", remark_node(m));
    if (!shape_identical(*a->shape, *b->shape))
        return declines(REWRITE_FUSE, n, "%s broadcasts its result %s to %s", remark_node(m), shape_text(*a->shape),
                        shape_text(*b->shape));
    if (a->steps.n + b->steps.n > MAX_STEPS)
        return declines(REWRITE_FUSE, n, "a loop with %s would have more than %d steps", remark_node(m), MAX_STEPS);
    if (count_inputs(a, b) > LOOP_IN)
        return declines(REWRITE_FUSE, n, "a loop with %s would have more than %d inputs", remark_node(m), LOOP_IN);
    if (type_bits(a->out[0]->type) % 8)
        return declines(REWRITE_FUSE, n, "its result is packed, in elements of less than a byte");
    return applies(REWRITE_FUSE, n, "%s", remark_node(m));
}

/* Fuses n's loop with the loop of its only reader. */
static bool fuse_loops(Node *n)
{
    Loop *a = n->call.loop;
    if (!a)
        return false;
    if (a->n_out != 1)
        return declines(REWRITE_FUSE, n, "it has several results");
    Node *m = only_reader(a->out[0]);
    if (!loops_fit(n, m))
        return false;
    Loop *b = m->call.loop;
    set_loop(m, joined(a, b));
    m->name = m->name && m->name->n ? m->name : n->name;
    node_also(m, n);
    pool_free(n->call.arg, sizeof *n->call.arg * (size_t)n->call.n_arg);
    loop_free(a);
    loop_free(b);
    node_free(n);
    return true;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Can n's loop be a lookup table, over its one 8-bit input, and is that faster? */
static bool is_table(const Node *n)
{
    enum { WORTH = 1024, STEPS = 4 };
    const Loop *l = n->call.loop;
    if (!l || l->n_out != 1 || l->n_in < 1 || !type_is_int(l->in[0]->type) || type_bits(l->in[0]->type) != 8)
        return false;
    if (l->n_in != 1)
        return declines(REWRITE_TABLE, n, "it has %d inputs", l->n_in);
    if (type_bits(l->out[0]->type) != 8)
        return declines(REWRITE_TABLE, n, "its results, %s, do not have 8 bits", type_onnx(l->out[0]->type));
    if (!shape_identical(*l->in[0]->shape, *l->shape))
        return declines(REWRITE_TABLE, n, "it broadcasts its input");
    if (l->steps.n < STEPS)
        return declines(REWRITE_TABLE, n, "with %d steps it is faster to compute", l->steps.n);
    if (dim_high(shape_count(*l->shape)) < WORTH)
        return declines(REWRITE_TABLE, n, "it has fewer than %d elements", WORTH);
    return applies(REWRITE_TABLE, n, "its 256 results are constants");
}

/* Replaces a loop from one 8-bit value to another by a lookup table. */
static bool make_table(Node *n)
{
    enum { CODES = 256 };
    const Loop *l = n->call.loop;
    if (!is_table(n))
        return false;
    uint8_t code[CODES];
    for (int i = 0; i < CODES; i++)
        code[i] = (uint8_t)i;
    Tensor *table = tensor_new(l->out[0]->type, 1, (int64_t[]){CODES});
    Value *x = value_new(n->graph, NULL), *y = value_const(n->graph, table);
    x->type = l->in[0]->type;
    x->shape = y->shape;
    Loop f = *l;
    f.shape = y->shape;
    f.in = &x;
    f.out[0] = y;
    provenance_made(table, n, "onnxcc.Table", 0, NULL);
    loop_run(&f, (const void *[]){code}, (void *[]){(void *)(uintptr_t)table->data});
    node_set_inputs(n, 2, (Value *[]){l->in[0], y});
    n->op = op_find("onnxcc", "Table", 1);
    bind_node(n);
    return true;
}

/* ---- compute-bound kernels --------------------------------------------------------------------------------------- */

/* The value of a literal step. */
static bool read_literal(const Loop *l, int arg, double *v)
{
    if (arg < 0 || l->steps.at[arg].fn)
        return false;
    *v = l->steps.at[arg].f;
    return true;
}

/* The part of a loop over a kernel's output x that the kernel can do itself: add a residual of the same shape, then
 * clamp. */
typedef struct Tail {
    Value *residual;
    double lo, hi;
    bool clamp, rest;
    int from; /* first step of the epilogue */
    const char *why_not;
} Tail;

static int readers(const Loop *l, int arg)
{
    int n = 0;
    EACH_AT (s, l->steps)
        for (int k = 0; k < s->n_arg; k++)
            n += s->arg[k] == arg;
    for (int i = 0; i < l->n_out; i++)
        n += l->out_step[i] == arg;
    return n;
}

/* Splits the loop into a kernel's residual, clamp and epilogue; false: impossible, see t->why_not. */
static bool read_tail(const Loop *l, const Value *x, Tail *t)
{
    *t = (Tail){.lo = -INFINITY, .hi = INFINITY, .why_not = "it only copies"};
    int at = ~loop_input(l, x), first = 0;
    while (first < l->steps.n && !l->steps.at[first].fn)
        first++;
    if (first == l->steps.n)
        return false;
    const Step *s = &l->steps.at[first];
    if (l->n_in == 2 && !strcmp(s->fn, "add") && readers(l, ~0) == 1 && readers(l, ~1) == 1 &&
        (s->arg[0] == at || s->arg[1] == at)) {
        int other = s->arg[0] == at ? s->arg[1] : s->arg[0];
        t->why_not = "it adds a value of another shape or type";
        if (other >= 0 || !shape_identical(*l->in[~other]->shape, *l->shape) || l->in[~other]->type != x->type)
            return false;
        t->residual = l->in[~other];
        at = first++;
    } else if (l->n_in != 1) {
        t->why_not = "it also reads other values, and does not begin with the addition of one";
        return false;
    }
    t->from = first;
    int left = 0, last = -1;
    for (int i = first; i < l->steps.n; i++)
        if (l->steps.at[i].fn) {
            left++;
            last = i;
        }
    t->rest = left > 0;
    if (left != 1)
        return true;
    s = &l->steps.at[last];
    if (s->n_arg && s->arg[0] == at && !strcmp(s->fn, "relu"))
        t->clamp = true, t->lo = 0;
    else if (s->n_arg == 3 && s->arg[0] == at && !strcmp(s->fn, "clip"))
        t->clamp = read_literal(l, s->arg[1], &t->lo) && read_literal(l, s->arg[2], &t->hi);
    return true;
}

/* The steps of l from t->from on, as a loop over y in place: y's element replaces step from - 1, or the input. */
static Loop *epilogue_loop(const Loop *l, const Tail *t, Value *y)
{
    Loop *e = loop_new(*l->shape);
    int map[MAX_STEPS], in[LOOP_IN];
    const int x = loop_in(e, y);
    for (int i = 0; i < LOOP_IN; i++)
        in[i] = x;
    copy_steps(e, l, t->from, in, map);
    loop_out(e, l->out_step[0] < 0 ? x : map[l->out_step[0]], y);
    return e;
}

/* Moves n's call to m, which reads n's output: the call now computes m's output. */
static void take_over(Node *n, Node *m, Value *extra)
{
    Value *y = m->out[0];
    Call c = n->call;
    for (int i = 0; i < c.n_arg; i++)
        if (c.arg[i] == n->out[0])
            c.arg[i] = y;
    Value *in[MAX_ARGS];
    int k = 0;
    for (int i = 0; i < n->n_in; i++)
        in[k++] = n->in[i];
    if (extra)
        in[k++] = extra;
    node_also(n, m);
    m->op = n->op;
    m->source = n->source;
    m->name = n->name;
    m->also = n->also;
    m->channels_last = n->channels_last;
    m->macs = n->macs;
    m->n_attr = n->n_attr;
    m->attr = n->attr;
    node_set_inputs(m, k, in);
    m->call = c;
    n->n_attr = 0; /* they belong to m now */
    node_free(n);
}

/* An elementwise loop that reads n's result; NULL: there is none. */
static const Node *loop_after(const Node *n)
{
    const Value *v = n->n_out ? n->out[0] : NULL;
    for (int i = 0; v && !v->data && i < v->uses.n; i++)
        if (v->uses.at[i].node && v->uses.at[i].node->call.loop)
            return v->uses.at[i].node;
    return NULL;
}

/* Can n's kernel run steps on its results? */
static bool takes_epilogue(const Node *n)
{
    const Call *c = &n->call;
    if (c->kernel && n->op->flags & EPILOGUE && !c->epilogue)
        return true;
    const Node *m = remarks_on(REWRITE_EPILOGUE) && !c->loop ? loop_after(n) : NULL;
    if (!m)
        return false;
    if (n->op->flags & VIEW)
        return declines(REWRITE_EPILOGUE, n, "it is a view: it computes nothing that %s could be fused with",
                        remark_node(m));
    if (!c->kernel)
        return n->op->flags & CONTROL &&
               declines(REWRITE_EPILOGUE, n, "its results are computed by other nodes, in graphs of their own");
    if (c->epilogue)
        return declines(REWRITE_EPILOGUE, n, "its kernel already runs other steps on its results");
    return declines(REWRITE_EPILOGUE, n, "its kernel, %s, runs no steps on its results", c->kernel->name);
}

/* Is m, the only reader of n's result (or NULL), a loop that computes one float per float of it? */
static bool is_tail(const Node *n, const Node *m)
{
    const Loop *l = m ? m->call.loop : NULL;
    if (!m)
        return stands_alone(REWRITE_EPILOGUE, n, n->out[0]);
    if (m->graph != n->graph)
        return declines(REWRITE_EPILOGUE, n, "%s belongs to another graph", remark_node(m));
    if (!l || l->n_out != 1)
        return declines(REWRITE_EPILOGUE, n, "%s is no elementwise loop", remark_node(m));
    if (n->out[0]->type != F32 || l->out[0]->type != F32)
        return declines(REWRITE_EPILOGUE, n, "results of %s are %s, not float", remark_node(m),
                        type_onnx(l->out[0]->type));
    if (!shape_identical(*l->shape, *n->out[0]->shape))
        return declines(REWRITE_EPILOGUE, n, "%s broadcasts its result %s to %s", remark_node(m),
                        shape_text(*n->out[0]->shape), shape_text(*l->shape));
    return true;
}

/* Can n's kernel add the residual? */
static bool takes_residual(const Node *n, const Node *m, const Value *residual, bool clamped)
{
    const int slot = KERNEL_RESIDUAL(n->call.kernel);
    if (!slot)
        return declines(REWRITE_EPILOGUE, n, "its kernel adds no other value, as %s does", remark_node(m));
    if (clamped)
        return declines(REWRITE_EPILOGUE, n, "its kernel adds before it clamps, %s adds after that", remark_node(m));
    if (n->call.arg[slot])
        return declines(REWRITE_EPILOGUE, n, "its kernel already adds a value");
    if (residual->data)
        return declines(REWRITE_EPILOGUE, n, "%s, which is added, is a constant", remark_value(residual));
    return true;
}

/* Fuses a node of a compute-bound kernel with its only reader. */
static bool fuse_epilogue(Node *n)
{
    Call *c = &n->call;
    if (!takes_epilogue(n))
        return false;
    Node *m = only_reader(n->out[0]);
    if (!is_tail(n, m))
        return false;
    const Loop *l = m->call.loop;
    Param *lo = call_param(c, "lo"), *hi = call_param(c, "hi");
    Tail t;
    int slot = KERNEL_RESIDUAL(c->kernel);
    bool clamped = !lo || !isinf(lo->f) || !isinf(hi->f);
    if (!read_tail(l, n->out[0], &t))
        return declines(REWRITE_EPILOGUE, n, "%s: %s", remark_node(m), t.why_not);
    if (t.residual && !takes_residual(n, m, t.residual, clamped))
        return false;
    Value *y = m->out[0];
    Loop *e = t.rest && (!t.clamp || clamped) ? epilogue_loop(l, &t, y) : NULL;
    if (e && !(c->kernel->flags & EPILOGUES))
        return declines(REWRITE_EPILOGUE, n, "its kernel can only clamp, %s does more", remark_node(m));
    (void)applies(REWRITE_EPILOGUE, n, "%s%s%s%s", remark_node(m),
                  t.residual ? ", its kernel adds the other value" : "", t.clamp && !e ? ", its kernel clamps" : "",
                  e ? ", the steps run on its results in registers" : "");
    if (t.residual)
        c->arg[slot] = t.residual;
    if (t.clamp && !e) {
        lo->f = t.lo;
        hi->f = t.hi;
    }
    take_over(n, m, t.residual);
    m->call.epilogue = e;
    return true;
}

static void fuse_nodes(Graph *g, bool (*fuse)(Node *))
{
    EACH_NODE (n, g) {
        about_to_read(0);
        values_free();
        fuse(n);
    }
}

void fuse_model(Model *m)
{
    find_measured(m->graph);
    fuse_nodes(m->graph, fuse_loops);
    fuse_nodes(m->graph, make_table);
    fuse_nodes(m->graph, fuse_epilogue);
}
