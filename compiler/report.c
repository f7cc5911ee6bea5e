/* report.c - what a model needs (--report) and what onnxcc supports (--list-ops), for people and for programs. */
#include <stdlib.h>

#include "emit.h"
#include "schema.h"

/* ---- the model ------------------------------------------------------------------------------------------------------- */

typedef struct Totals {
    int nodes, row;
    int64_t macs;
    bool json;
} Totals;

static void count(Node *n, void *arg)
{
    Totals *t = arg;
    if (n->free || !(n->call.kernel || n->call.loop || n->op->flags & CONTROL))
        return;
    t->nodes++;
    t->macs += n->macs;
}

static const Value *place_of(const Value *v, int64_t *offset)
{
    *offset = 0;
    for (; v->root; v = v->root)
        *offset += dim_high(v->root_offset);
    return v;
}

static int64_t constant_bytes(const Node *n)
{
    int64_t sum = 0;
    for (int i = 0; i < n->call.n_arg; i++)
        if (n->call.arg[i] && n->call.arg[i]->data && !n->call.arg[i]->data->symbolic)
            sum += (int64_t)tensor_size(n->call.arg[i]->data);
    return sum;
}

static void put_row(Node *n, void *arg)
{
    Totals *t = arg;
    if (n->free || !(n->call.kernel || n->call.loop || n->op->flags & CONTROL))
        return;
    const Value *y = n->n_out ? n->out[0] : NULL;
    char where[64] = "output";
    if (y) {
        int64_t at;
        const Value *p = place_of(y, &at);
        if (p->offset >= 0)
            snprintf(where, sizeof where, "[%lld, %lld)", (long long)(p->offset + at), (long long)(p->offset + at + y->bytes));
    }
    if (t->json)
        printf("%s\n    {\"node\": %d, \"operator\": \"%s\", \"shape\": \"%s\", \"macs\": %lld, \"weights\": %lld, \"arena\": \"%s\"}",
               t->row ? "," : "", t->row, n->op->name, y ? shape_text(y->shape) : "", (long long)n->macs,
               (long long)constant_bytes(n), where);
    else
        printf("%4d  %-20s %-24.24s %-20s %12lld %10lld  %s\n", t->row, n->op->name, n->name ? printable(n->name) : "",
               y ? shape_text(y->shape) : "", (long long)n->macs, (long long)constant_bytes(n), where);
    t->row++;
}

void report_model(Model *m)
{
    Totals t = {.json = opt.report_json};
    graph_each(m->graph, count, &t);
    long long weights = (long long)(constants.inline_bytes + constants.file_bytes);
    if (t.json) {
        Text base = {0};
        for (const char *s = m->base->s; *s; s++) /* as JSON wants it */
            text_put(&base, *s == '"' || *s == '\\' ? "\\%c" : (unsigned char)*s < 32 ? "\\u%04x" : "%c", (unsigned char)*s);
        printf("{\n  \"schema\": 1,\n  \"model\": \"%s\",\n  \"hash\": \"%016llx\",\n  \"target\": \"%s\",\n", base.s ? base.s : "",
               (unsigned long long)m->hash, opt.target->name);
        printf("  \"weights\": %lld,\n  \"arena\": %lld,\n  \"arena_bound\": %lld,\n  \"macs\": %lld,\n  \"nodes\": [", weights,
               (long long)plan.arena, (long long)plan.bound, (long long)t.macs);
        graph_each(m->graph, put_row, &t);
        printf("\n  ]\n}\n");
    } else {
        printf("%s: %d nodes (%d in the file), IR %lld\n", printable(m->base), t.nodes, m->n_nodes, (long long)m->ir_version);
        printf("   #  %-20s %-24s %-20s %12s %10s  arena\n", "operator", "name", "output", "MAC", "weights");
        graph_each(m->graph, put_row, &t);
        printf("  flash   %lld B weights\n  arena   %lld B, lower bound %lld B\n  compute %lld MAC\n", weights,
               (long long)plan.arena, (long long)plan.bound, (long long)t.macs);
        printf("onnxcc: %s: flash=%lld arena=%lld macs=%lld nodes=%d\n", opt.output, weights, (long long)plan.arena,
               (long long)t.macs, t.nodes);
    }
}

/* ---- the operators --------------------------------------------------------------------------------------------------------- */

static void put_types(TypeSet set)
{
    bool first = true;
    for (Type t = F32; t < N_TYPES; t++)
        if (set >> t & 1) {
            printf("%s%s", first ? "" : " ", type_onnx(t));
            first = false;
        }
}

/* The types of the first input (or output) of the newest version. */
static TypeSet main_types(const Op *op)
{
    const Signature *s = op_signature(op);
    return s->n_in ? s->in[0].set : s->n_out ? s->out[0].set : 0;
}

void list_ops(bool markdown)
{
    int n;
    const Op *const *rows = ops_sorted(&n);
    if (markdown)
        printf("| domain | operator | versions | types |\n|---|---|---|---|\n");
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && !strcmp(rows[end]->name, rows[i]->name) && !strcmp(op_domain(rows[end]), op_domain(rows[i])); end++)
            ;
        const char *domain = rows[i]->domain ? rows[i]->domain : "ai.onnx";
        if (!strcmp(domain, "onnxcc"))
            continue;
        printf(markdown ? "| %s | %s | " : "%-28s %-28s ", domain, rows[i]->name);
        for (int k = i; k < end; k++)
            printf("%s%d%s", k > i ? " " : "", rows[k]->since, rows[k]->flags & DEPRECATED ? " (removed)" : "");
        const Op *newest = rows[end - 1];
        printf(markdown ? " | " : "  ");
        if (!(newest->flags & DEPRECATED))
            put_types(main_types(newest));
        printf(markdown ? " |\n" : "\n");
    }
}
