/* exec.c - runs nodes inside the compiler, with the kernels that they are bound to: for constant folding and for
 * --eval. */
#include <stdlib.h>

#include "ir/exec.h"
#include "ir/loop.h"
#include "ir/schema.h"
#include "ir/spatial.h"
#include "rt.h"

bool op_moves_input(const Node *n, int i)
{
    const Signature *s = op_signature(n->op);
    const Formal *f = formal_in(s, i);
    return i == 0 || (f && f->variable >= 0 && f->variable == s->in[0].variable);
}

/* ---- running one node -------------------------------------------------------------------------------------------- */

static void pack_params(const Call *c, unsigned char *to)
{
    EACH_SLOT (s, c) {
        void *at = to + s.field->offset;
        switch (s.field->type) {
        case FIELD_idx: ((ptrdiff_t *)at)[s.i] = (ptrdiff_t)dim_eval(s.param->d); break;
        case FIELD_int: ((int *)at)[s.i] = (int)dim_eval(s.param->d); break;
        case FIELD_i64: ((int64_t *)at)[s.i] = dim_eval(s.param->d); break;
        case FIELD_f32: ((float *)at)[s.i] = (float)s.param->f; break;
        case FIELD_f64: ((double *)at)[s.i] = s.param->f; break;
        case FIELD_text:
        case FIELD_END: break;
        }
    }
}

static size_t param_bytes(const Field *f)
{
    while (f->type != FIELD_END)
        f++;
    return f->offset;
}

static int run_loop(const Loop *l, void *(*bytes_of)(Value *, void *), void *arg)
{
    const void *in[LOOP_IN];
    void *out[LOOP_OUT];
    for (int i = 0; i < l->n_in; i++)
        in[i] = bytes_of(l->in[i], arg);
    for (int i = 0; i < l->n_out; i++)
        out[i] = bytes_of(l->out[i], arg);
    loop_run(l, in, out);
    return 0;
}

int run_call(const Node *n, void *(*bytes_of)(Value *, void *), void *arg, void *scratch)
{
    const Call *c = &n->call;
    if (c->loop)
        return run_loop(c->loop, bytes_of, arg);
    max_align_t params[64];
    if (param_bytes(c->fields) > sizeof params)
        bug("%s has too many parameters", c->kernel->name);
    memset(params, 0, sizeof params);
    pack_params(c, (unsigned char *)params);
    void *pointer[MAX_ARGS + 8] = {0};
    int64_t size[4] = {0};
    int k = 0;
    for (int i = 0; i < c->n_arg; i++)
        pointer[k++] = c->arg[i] ? bytes_of(c->arg[i], arg) : NULL;
    if (c->kernel->flags & SCRATCH)
        pointer[k++] = scratch;
    for (int i = 0; i < KERNEL_SIZES(c->kernel); i++)
        pointer[k++] = &size[i];
    int status = c->kernel->run(pointer, params);
    for (int i = 0; i < c->n_size && !status; i++)
        c->size[i]->value = size[i], c->size[i]->known = true;
    if (!status && c->epilogue)
        run_loop(c->epilogue, bytes_of, arg);
    return status;
}

/* ---- folding ----------------------------------------------------------------------------------------------------- */

static void *constant_bytes(Value *v, void *arg)
{
    const Node *n = arg;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] == v)
            return (void *)(uintptr_t)v->data->data;
    return (void *)(uintptr_t)tensor_data(v->data);
}

/* Copies the text of strings from the kernel's scratch to memory of the session; shares equal bytes of others. */
static void keep_result(const Value *v)
{
    for (int64_t i = 0; v->type == STR && i < tensor_count(v->data); i++)
        tensor_set_str(v->data, i, tensor_get_str(v->data, i));
    if (v->type != STR && !v->data->owned)
        tensor_keep(v->data);
}

PART(int64_t, work_done)

/* False: the model's constants take too much work, which is reported. Operations are counted rather than timed, so that
 * the result does not depend on the machine. */
static bool is_within_budget(const Node *n)
{
    static const int64_t max = (int64_t)1 << 34; /* operations: some seconds */
    int64_t work = n->macs;
    EACH_OUT (v, n)
        work += tensor_count(v->data);
    if (work <= max - *work_done()) {
        *work_done() += work;
        return true;
    }
    error_node(n, "LIM-03",
               "its result is constant, but to compute the model's constants takes more than %lld operations",
               (long long)max);
    note_help("store the result as an initializer, or make a value that it is computed from an input of the model");
    return false;
}

/* n's kernel failed. A node that may never run is not folded then, unless its result is needed now. */
static void report_failure(Node *n, int status)
{
    const char *what = status == RT_BAD_INDEX ? "an index is outside its range" : "a value is outside its range";
    bool lazy = false;
    EACH_OUT (v, n)
        lazy |= v->data->thunk != NULL;
    if (lazy || always_runs(n)) {
        error_node(n, "OPR-04", "%s", what);
        return;
    }
    warn_when_run(n, what);
    EACH_OUT (v, n) {
        if (v->data->owned)
            big_free((void *)(uintptr_t)v->data->data);
        v->data = NULL;
    }
}

static void run_now(Node *n)
{
    enum { SMALL = 4096 }; /* bytes: up to here data is in the pool, above it in a block of its own */
    EACH_IN (v, n)         /* force lazy inputs one at a time, before memory for the results is taken */
        if (v->data->thunk)
            tensor_data(v->data);
    EACH_OUT (v, n) {
        if (!v->data)
            v->data = tensor_lazy(v->type, *v->shape);
        if (!v->data->data) {
            const size_t size = tensor_size(v->data);
            v->data->owned = size > SMALL || v->data->thunk;
            v->data->data = v->data->owned ? big_alloc(size) : pool_alloc(ELEMENTS_ROOM(size));
        }
    }
    if (n->op->flags & VIEW)
        memcpy((void *)(uintptr_t)n->out[0]->data->data, tensor_data(n->in[0]->data), tensor_size(n->out[0]->data));
    else {
        int errors = error_count();
        bind_node(n);
        if (error_count() > errors || !is_within_budget(n))
            return;
        void *scratch =
            n->call.kernel && !dim_is(n->call.scratch, 0) ? big_alloc((size_t)dim_eval(n->call.scratch)) : NULL;
        int status = run_call(n, constant_bytes, n, scratch);
        if (scratch)
            big_free(scratch);
        unbind_node(n);
        if (status)
            report_failure(n, status);
        else
            EACH_OUT (v, n)
                keep_result(v);
    }
    EACH_IN (v, n)
        tensor_drop(v->data);
}

void run_node(Node *n)
{
    const Node *before = node_in_work(n);
    run_now(n);
    node_in_work(before);
}

Tensor *run_one(Node *n)
{
    Value one = *n->out[0], *y = &one, **old = n->out;
    one.shape = shape_keep(shape_list(0));
    one.data = NULL;
    n->out = &y;
    bind_node(n);
    bool literals = n->call.loop && !n->call.loop->n_in;
    unbind_node(n);
    if (!literals) {
        n->out = old;
        return NULL;
    }
    run_node(n);
    n->out = old;
    return one.data ? tensor_new_fill(one.type, *n->out[0]->shape, one.data->data) : NULL;
}

/* Does n copy elements of v to its output? */
static bool moves_value(const Node *n, const Value *v)
{
    bool moved = false;
    for (int i = 0; i < n->n_in; i++)
        moved |= n->in[i] == v && op_moves_input(n, i);
    return moved;
}

/* The bytes of v for a run on Dims: as Dims if its elements are moved, unchanged otherwise (indices). */
static void *dims_bytes(Value *v, void *arg)
{
    if (v->data->symbolic)
        return (void *)(uintptr_t)v->data->data;
    if (!moves_value(arg, v))
        return (void *)(uintptr_t)tensor_data(v->data);
    int64_t k = tensor_count(v->data);
    Dim *d = NEWS(Dim, k + 1);
    for (int64_t i = 0; i < k; i++)
        d[i] = D(tensor_get_int(v->data, i));
    return d;
}

/* The 64-bit variant of the bound kernel, if it can run on Dims; NULL: it would need the value of an expression. */
static const Kernel *kernel_of_dims(const Node *n)
{
    const Kernel *k = n->call.kernel;
    for (int i = 0; k && i < k->n_in; i++)
        if (n->call.arg[i] && n->call.arg[i]->data->symbolic && !moves_value(n, n->call.arg[i]))
            return NULL;
    if (!k)
        return NULL;
    EACH_SIZE (s, &n->call)
        if (!dim_is_const(s.param->d))
            return NULL;
    return !(k->flags & SCRATCH) ? kernel_find(k->name, U64, k->u) : NULL;
}

/* Dims are 64-bit patterns, so a kernel that moves 64-bit elements can move them. */
bool run_symbolic(Node *n)
{
    EACH_OUT (v, n)
        v->data = tensor_symbolic(v->type, *v->shape);
    if (n->op->flags & VIEW)
        memcpy((void *)(uintptr_t)n->out[0]->data->data, dims_bytes(n->in[0], n),
               8 * (size_t)tensor_count(n->out[0]->data));
    else {
        bind_node(n);
        const Kernel *k = kernel_of_dims(n);
        if (!k) {
            EACH_OUT (v, n)
                v->data = NULL;
            return false;
        }
        n->call.kernel = k;
        if (run_call(n, dims_bytes, n, NULL))
            node_error(n, "an index is outside its range");
    }
    EACH_OUT (v, n)
        v->data = tensor_materialise(v->data);
    return true;
}
