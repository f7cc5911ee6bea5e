/* load.c - for targets whose constants are in a memory of their own: every node gets copies of its constants, made just
 * before it runs.
 * Requires: fuse. Leaves: no call that reads a constant, but of Load, of few bytes, or of strings. */
#include "base/options.h"
#include "ir/loop.h"
#include "passes/passes.h"

enum { FEW = 8 }; /* bytes that are not worth a copy */

/* Can each node that reads v read a copy instead? Not those with graphs, nor custom ones. */
static bool is_loadable(const Value *v)
{
    if (!v->data || v->default_only || v->data->symbolic || v->form != TENSOR || v->type == STR ||
        tensor_size(v->data) <= FEW)
        return false;
    EACH_AT (use, v->uses)
        if (!use->node || use->node->op->flags & CONTROL || (use->node->call.kernel && !use->node->call.kernel->header))
            return false;
    return true;
}

static void replace(Value **list, int n, const Value *v, Value *by)
{
    for (int i = 0; i < n; i++)
        if (list[i] == v)
            list[i] = by;
}

static void load(Node *n, Value *v)
{
    Node *l = node_new(n->graph, "onnxcc.Load", 1, &v, 1);
    l->name = v->name;
    node_insert(l, n);
    infer_same(l);
    bind_node(l);
    v->loaded = true;
    Value *const copy = l->out[0];
    Loop *const loops[] = {n->call.loop, n->call.epilogue};
    replace(n->call.arg, n->call.n_arg, v, copy);
    for (int i = 0; i < 2; i++)
        if (loops[i])
            replace(loops[i]->in, loops[i]->n_in, v, copy);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] == v)
            node_set_in(n, i, copy);
}

/* lpm has 16 bits of address, and reads another byte beyond them; the interrupt vectors come first. */
static void check_reach(int64_t bytes)
{
    enum { REACH = UINT16_MAX - 512 };
    if (bytes > REACH)
        error_at("", "MEM-03", "the constants have %lld bytes, more than the %d of flash that an AVR's pointers reach",
                 (long long)bytes, REACH);
}

void load_constants(Model *m)
{
    if (!target_loads(opt()->target))
        return;
    int64_t bytes = 0;
    EACH_NODE (n, m->graph)
        for (int i = 0; i < n->n_in; i++) {
            Value *const v = n->in[i];
            if (!v || !call_takes(&n->call, v) || !is_loadable(v))
                continue;
            bytes += v->loaded ? 0 : (int64_t)tensor_size(v->data);
            load(n, v);
        }
    check_reach(bytes);
}
