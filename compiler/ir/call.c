/* call.c - the table of kernels, and binding of nodes to a kernel or to an elementwise loop. */
#include <stdlib.h>

#include "ir/assume.h"
#include "ir/call.h"
#include "ir/loop.h"
#include "ir/schema.h"
#include "rt.h"

/* ---- the table of kernels ---------------------------------------------------------------------------------------- */

extern const Kernel *const __start_onnxcc_kernels[], *const __stop_onnxcc_kernels[];

static int compare_kernels(const void *a, const void *b)
{
    const Kernel *x = *(const Kernel *const *)a, *y = *(const Kernel *const *)b;
    int c = strcmp(x->name, y->name);
    return c ? c : x->t != y->t ? (int)x->t - (int)y->t : (int)x->u - (int)y->u;
}

typedef const Kernel **Kernels;
PART(Kernels, sorted_kernels)

const Kernel *kernel_find(const char *kernel, Type t, Type u)
{
    const Kernel ***const sorted = sorted_kernels();
    const size_t n = (size_t)(__stop_onnxcc_kernels - __start_onnxcc_kernels);
    if (!*sorted) {
        *sorted = NEWS(const Kernel *, n + 1);
        memcpy(*sorted, __start_onnxcc_kernels, sizeof **sorted * n);
        qsort(*sorted, n, sizeof **sorted, compare_kernels);
    }
    Kernel key = {.name = kernel, .t = t, .u = u};
    const Kernel *at = &key;
    const Kernel **found = bsearch(&at, *sorted, n, sizeof **sorted, compare_kernels);
    return found ? *found : NULL;
}

/* ---- binding --------------------------------------------------------------------------------------------------- */

static int count_slots(const Field *f)
{
    int n = 0;
    for (; f->type != FIELD_END; f++)
        n += f->count ? f->count : 1;
    return n;
}

void bind_kernel(Node *n, const char *kernel, Type t, Type u, const Field *fields, const void *params,
                 Value *const *args, int n_args)
{
    if (t == NO_TYPE)
        t = in(n, 0) ? in(n, 0)->type : out(n, 0)->type;
    const Kernel *k = kernel_find(kernel, t, u);
    if (!k) {
        error_node(n, "NOD-10", "%s is not supported for %s%s%s", n->op->name, type_onnx(t), u ? " with " : "",
                   u ? type_onnx(u) : "");
        return;
    }
    n->call = (Call){.kernel = k, .fields = fields};
    int slots = count_slots(fields);
    n->call.param = NEWS(Param, slots);
    if (slots)
        memcpy(n->call.param, params, sizeof(Param) * (size_t)slots);
    int pointers = k->n_arg - KERNEL_SIZES(k) - (k->flags & SCRATCH ? 1 : 0);
    n->call.arg = NEWS(Value *, pointers);
    if (args) {
        if (n_args != pointers)
            bug("%s takes %d pointers, not %d", kernel, pointers, n_args);
        memcpy(n->call.arg, args, sizeof *args * (size_t)n_args);
    } else {
        for (int i = 0; i < k->n_in; i++)
            n->call.arg[i] = in(n, i);
        for (int i = k->n_in; i < pointers; i++)
            n->call.arg[i] = out(n, i - k->n_in);
    }
    n->call.n_arg = pointers;
}

bool call_takes(const Call *c, const Value *v)
{
    for (int i = 0; i < c->n_arg; i++)
        if (c->arg[i] == v)
            return true;
    return false;
}

void bind_scratch(Node *n, Dim bytes) { n->call.scratch = bytes; }

void bind_size(Node *n, int i, Symbol *s)
{
    if (!n->call.size)
        n->call.size = NEWS(Symbol *, MAX_SIZES);
    n->call.size[i] = s;
    n->call.n_size = i + 1 > n->call.n_size ? i + 1 : n->call.n_size;
    symbol_made_by(s, n);
}

Dim reported_size(Node *n, int i, const char *what, Dim max)
{
    Symbol *s = symbols_of(n);
    for (int k = 0; k < i && s; k++)
        s = s->next;
    if (s)
        return dim_symbol(s);
    const char *of = n->out[0]->name ? n->out[0]->name->s : n->op->name;
    s = symbol_fresh(what ? text_format("%s_%s", of, what) : of, 0, dim_high(max));
    s->upper = max;
    symbol_made_by(s, n);
    return dim_symbol(s);
}

void bind_reported(Node *n)
{
    int i = 0;
    for (Symbol *s = symbols_of(n); s && n->call.kernel; s = s->next)
        bind_size(n, i++, s);
}

Dim reported_room(Dim size) { return symbol_of(size) ? D(symbol_of(size)->high) : size; }

/* Op.pointwise: "prelu @alpha", the function, then attributes to pass as literals. */
static void bind_map_row(Node *n)
{
    double literal[4];
    int k = 0;
    const char *s = n->op->pointwise;
    Name fn = name_until(&s, " ");
    while (*s) {
        s += strlen(" @");
        const char *attr = name_until(&s, " ")->s;
        const FormalAttr *f = formal_attr(op_signature(n->op), attr);
        if (!f)
            bug("map of %s names attribute %s", n->op->name, attr);
        literal[k++] = f->type == A_FLOAT ? attr_float(n, attr) : (double)attr_int(n, attr);
    }
    bind_map(n, fn->s, k, literal);
}

/* Has n nothing to compute? Its outputs are all empty, and its kernel would neither report a size nor check a value. */
static bool gives_nothing(const Node *n)
{
    bool nothing = n->n_out > 0 && !(n->op->flags & CONTROL) && !checks_values(n) && !symbols_of(n);
    for (int i = 0; i < n->n_out && nothing; i++)
        nothing = !n->out[i] || (n->out[i]->form == TENSOR && dim_is(shape_count(*n->out[i]->shape), 0));
    return nothing;
}

void bind_node(Node *n)
{
    n->call = (Call){0};
    if (gives_nothing(n))
        return;
    if (n->op->pointwise)
        bind_map_row(n);
    else if (n->op->bind)
        n->op->bind(n);
}

void unbind_node(Node *n)
{
    Call *c = &n->call;
    pool_free(c->arg, sizeof *c->arg * (size_t)c->n_arg);
    if (c->loop)
        loop_free(c->loop);
    else if (c->kernel)
        pool_free(c->param, sizeof *c->param * (size_t)count_slots(c->fields));
    *c = (Call){0};
}

/* ---- parameters of a call ---------------------------------------------------------------------------------------- */

Param *call_param(const Call *c, const char *field)
{
    EACH_SLOT (s, c)
        if (!strcmp(s.field->name, field))
            return s.param;
    return NULL;
}
