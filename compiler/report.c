/* report.c - what a model needs (--report) and what onnxcc supports (--list-ops), for people and for programs. */
#include <stdlib.h>

#include "emit.h"
#include "schema.h"

/* ---- the model ------------------------------------------------------------------------------------------------------- */

typedef struct Rows {
    Text text;
    const char *before; /* of each line */
    int n;
    int64_t macs;
    bool json;
} Rows;

/* As JSON wants a string; bytes that are no UTF-8 would not be JSON, and stay away. */
static void text_json(Text *t, const char *s)
{
    text_put(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        text_put(t, c == '"' || c == '\\' ? "\\%c" : c < 32 || c > 126 ? "\\u%04x" : "%c", c);
    }
    text_put(t, "\"");
}

static int64_t constant_bytes(const Node *n)
{
    int64_t sum = 0;
    for (int i = 0; i < n->call.n_arg; i++)
        if (n->call.arg[i] && n->call.arg[i]->data && !n->call.arg[i]->data->symbolic)
            sum += (int64_t)tensor_size(n->call.arg[i]->data);
    return sum;
}

/* Where v's bytes are: "0..8000" in the arena, or "output". */
static const char *place_text(const Value *v)
{
    int64_t at = 0, bytes = v->bytes;
    for (; v->root; v = v->root)
        at += dim_high(v->root_offset);
    at += v->offset;
    return v->offset < 0 ? "output" : name_format("%lld..%lld", (long long)at, (long long)(at + bytes))->s;
}

static void put_row(Node *n, Rows *r)
{
    if (n->free || !(n->call.kernel || n->call.loop || n->op->flags & CONTROL))
        return;
    const Value *y = n->n_out ? n->out[0] : NULL;
    const char *shape = y ? shape_text(y->shape) : "", *where = y ? place_text(y) : "";
    Text op = {0};
    text_put(&op, "%s%s", n->op->name, n->call.epilogue ? "+" : "");
    if (r->json) {
        text_put(&r->text, "%s\n    {\"node\": %d, \"operator\": \"%s\", \"name\": ", r->n ? "," : "", r->n,
                 n->op->name);
        text_json(&r->text, n->name ? n->name->s : "");
        text_put(&r->text, ", \"output\": ");
        text_json(&r->text, shape);
        text_put(&r->text, ", \"macs\": %lld, \"weights\": %lld, \"arena\": \"%s\", \"live\": [%d, %d]}",
                 (long long)n->macs, (long long)constant_bytes(n), where, y ? y->live_from : n->time,
                 y ? y->live_to : n->time);
    } else
        text_put(&r->text, "%s%4d  %-20s %-24.24s %-20s %12lld %10lld  %s\n", r->before, r->n, op.s,
                 n->name ? c_comment(n->name) : "", c_comment(name(shape)), (long long)n->macs,
                 (long long)constant_bytes(n), where);
    r->macs += n->macs;
    r->n++;
}

/* In the order of the code: a node with graphs before what is in them. */
static void put_rows(const Graph *g, Rows *r)
{
    static const char *const inside[] = {"then_branch", "else_branch", "body"};
    for (Node *n = g->first; n; n = n->next) {
        put_row(n, r);
        for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
            const Attr *a = node_attr(n, inside[i]);
            if (a && a->g)
                put_rows(a->g, r);
        }
    }
}

/* The buffers of the arena that are alive at its fullest moment, largest first. */
typedef struct Peak {
    VEC(const Value *) live;
    int64_t scratch;
} Peak;

static void add_live(Node *n, void *arg)
{
    Peak *p = arg;
    for (int i = 0; i < n->n_out; i++) {
        const Value *v = n->out[i];
        if (v && !v->root && v->offset >= 0 && v->live_from <= plan.peak_time && v->live_to >= plan.peak_time)
            vec_push(&p->live, v);
    }
    if (n->time == plan.peak_time && !dim_is(n->call.scratch, 0))
        p->scratch = dim_high(n->call.scratch);
}

static int by_size(const void *a, const void *b)
{
    const Value *x = *(const Value *const *)a, *y = *(const Value *const *)b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x->id - y->id;
}

static void put_peak(Text *t, Model *m)
{
    Peak p = {0};
    graph_each(m->graph, add_live, &p);
    if (!p.live.n && !p.scratch)
        return;
    if (p.live.n)
        qsort(p.live.at, (size_t)p.live.n, sizeof *p.live.at, by_size);
    text_put(t, "; peak:");
    for (int i = 0; i < p.live.n && i < 4; i++)
        text_put(t, "%s %s %lld", i ? " +" : "",
                 c_comment(p.live.at[i]->name ? p.live.at[i]->name : name(p.live.at[i]->def->op->name)),
                 (long long)p.live.at[i]->bytes);
    if (p.live.n > 4)
        text_put(t, " + %d smaller ones", p.live.n - 4);
    if (p.scratch)
        text_put(t, "%s scratch %lld", p.live.n ? " +" : "", (long long)p.scratch);
}

static const char table_head[] = "   #  %-20s %-24s %-20s %12s %10s  arena\n";

const char *report_table(Model *m, const char *before)
{
    Rows r = {.before = before};
    text_put(&r.text, "%s", before);
    text_put(&r.text, table_head, "operator", "name", "output", "MAC", "weights");
    put_rows(m->graph, &r);
    text_put(&r.text, "%s\n%s %lld MAC, %zu B of weights, arena %lld B, lower bound %lld B", before, before,
             (long long)r.macs, constants.inline_bytes + constants.file_bytes, (long long)plan.arena,
             (long long)plan.bound);
    put_peak(&r.text, m);
    text_put(&r.text, "\n");
    return r.text.s;
}

static void report_json(Model *m)
{
    Text t = {0};
    Rows r = {.json = true};
    put_rows(m->graph, &r);
    text_put(&t, "{\n  \"schema\": 1,\n  \"model\": ");
    text_json(&t, m->base->s);
    text_put(&t, ",\n  \"hash\": \"%016llx\",\n  \"target\": \"%s\",\n", (unsigned long long)m->hash, opt.target->name);
    text_put(&t, "  \"weights\": %zu,\n  \"arena\": %lld,\n  \"arena_bound\": %lld,\n  \"macs\": %lld,\n  \"nodes\": [",
             constants.inline_bytes + constants.file_bytes, (long long)plan.arena, (long long)plan.bound,
             (long long)r.macs);
    printf("%s%s\n  ]\n}\n", t.s, r.text.s ? r.text.s : "");
}

void report_model(Model *m)
{
    if (opt.report_json) {
        report_json(m);
        return;
    }
    Rows r = {.before = ""};
    put_rows(m->graph, &r);
    long long weights = (long long)(constants.inline_bytes + constants.file_bytes);
    Text peak = {0};
    put_peak(&peak, m);
    printf("%s: %d nodes (%d in the file), IR %lld\n", printable(m->base), r.n, m->n_nodes, (long long)m->ir_version);
    printf(table_head, "operator", "name", "output", "MAC", "weights");
    printf("%s  flash   %lld B weights\n  arena   %lld B, lower bound %lld B%s\n  compute %lld MAC\n",
           r.text.s ? r.text.s : "", weights, (long long)plan.arena, (long long)plan.bound, peak.s ? peak.s : "",
           (long long)r.macs);
    printf("onnxcc: %s: flash=%lld arena=%lld macs=%lld nodes=%d\n", opt.output, weights, (long long)plan.arena,
           (long long)r.macs, r.n);
}

/* ---- the operators --------------------------------------------------------------------------------------------------------- */

#define BIT(t) ((TypeSet)1 << (t))
static const struct TypeGroup { /* what the markdown table abbreviates */
    const char *name;
    TypeSet set;
} type_groups[] = {
    {"F", BIT(F16) | BIT(BF16) | BIT(F32) | BIT(F64)},
    {"I", BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64)},
    {"U", BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64)},
    {"F8", BIT(F8E4M3FN) | BIT(F8E4M3FNUZ) | BIT(F8E5M2) | BIT(F8E5M2FNUZ)},
    {"C", BIT(C64) | BIT(C128)},
};

static void put_types(TypeSet set, bool markdown)
{
    const char *comma = "";
    for (size_t i = 0; markdown && i < sizeof type_groups / sizeof *type_groups; i++)
        if ((set & type_groups[i].set) == type_groups[i].set) {
            printf("%s%s", comma, type_groups[i].name);
            set &= ~type_groups[i].set;
            comma = " ";
        }
    for (Type t = F32; t < N_TYPES; t++)
        if (set >> t & 1) {
            printf("%s%s", comma, type_onnx(t));
            comma = " ";
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
        for (end = i;
             end < n && !strcmp(rows[end]->name, rows[i]->name) && !strcmp(op_domain(rows[end]), op_domain(rows[i]));
             end++)
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
            put_types(main_types(newest), markdown);
        printf(markdown ? " |\n" : "\n");
    }
}
