/* figures.c - figures of a model: its steps, the table of them in the C file, the stack, the arena's peak. */
#include "emit/emit.h"

#include <stdlib.h>

#include "base/options.h"
#include "memory/plan.h"

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct Rows {
    Text *text;
    const char *before; /* begins each line */
    int n;
    int64_t macs;
} Rows;

int64_t report_weights(const Node *n)
{
    int64_t sum = 0;
    EACH_VALUE (v, n->call.arg, n->call.n_arg)
        if (v->data && !v->data->symbolic)
            sum += (int64_t)tensor_size(v->data);
    return sum;
}

const char *report_operators(const Node *n, int width)
{
    int left = 0;
    for (const Also *a = n->also; a; a = a->next)
        left++;
    const char *best = c_comment(node_operator(n)), *rest = left ? text_format("+%d", left) : "";
    best = text_format("%.*s", width - (int)strlen(rest), best);
    for (const Also *a = n->also; a; a = a->next) {
        const char *with = text_format("%s+%s", best, a->source ? c_comment(a->source->op_type) : "");
        rest = left > 1 ? text_format("+%d", left - 1) : "";
        if ((int)(strlen(with) + strlen(rest)) <= width) {
            best = with;
            left--;
        }
    }
    return left ? text_format("%s+%d", best, left) : best;
}

/* The place of v's bytes: "0..8000" in the arena, "output" or "state". */
static const char *place_text(const Value *v)
{
    int64_t at = 0, bytes = v->bytes;
    for (; v->storage; v = v->storage)
        at += dim_high(v->placement->offset);
    at += v->offset;
    Text t = {0};
    text_put(&t, "%lld..%lld", (long long)at, (long long)(at + bytes));
    return v->in_state ? "state" : v->offset < 0 ? "output" : t.s;
}

static void print_row(const Node *n, const Rows *r)
{
    const Value *y = n->n_out ? n->out[0] : NULL;
    const char *shape = y ? c_tail(name(c_shape(*y->shape)), 20) : "", *where = y ? place_text(y) : "";
    text_put(r->text, "%s%4d  %-20.20s %-24s %-20s %12lld %10lld  %s\n", r->before, r->n, report_operators(n, 20),
             c_tail(n->name, 24), shape, (long long)n->macs, (long long)report_weights(n), where);
}

static void put_row(const Node *n, void *rows)
{
    Rows *const r = rows;
    print_row(n, r);
    if (__builtin_add_overflow(r->macs, n->macs, &r->macs))
        r->macs = INT64_MAX;
    r->n++;
}

void each_step(const Graph *g, void (*visit)(const Node *, void *), void *arg)
{
    static const char *const inside[] = {"then_branch", "else_branch", "body", "entry"};
    for (Node *n = g->first; n; n = n->next) {
        if (!n->elided && !node_graph(n, "entry") && (n->call.kernel || n->call.loop || n->op->flags & CONTROL))
            visit(n, arg);
        for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
            const Graph *nested = node_graph(n, inside[i]);
            if (nested)
                each_step(nested, visit, arg);
        }
    }
}

static void put_step_name(const Node *n, void *text)
{
    text_put(text, "    \"");
    put_quoted(text, name(text_format("%s %s", c_comment(node_operator(n)), c_comment(n->name))), IN_LITERAL);
    text_put(text, "\",\n");
}

void put_step_names(Text *t, Model *m) { each_step(m->graph, put_step_name, t); }

/* The buffers of the arena that are alive at its peak, largest first. */
typedef struct Peak {
    VEC(const Value *) live;
    int64_t scratch;
} Peak;

static void add_live(Peak *p, const Node *n)
{
    EACH_OUT (v, n)
        if (!v->storage && v->offset >= 0 && v->live_from <= plan()->peak_time && v->live_to >= plan()->peak_time)
            vec_push(&p->live, v);
    if (n->time == plan()->peak_time && !dim_is(n->call.scratch, 0))
        p->scratch = dim_high(n->call.scratch);
}

static int by_size(const void *a, const void *b)
{
    const Value *x = *(const Value *const *)a, *y = *(const Value *const *)b;
    const int order = compare_numbers(y->bytes, x->bytes);
    return order ? order : x->id - y->id;
}

static void put_peak(Text *t, Model *m)
{
    Peak p = {0};
    EACH_NODE (n, m->graph)
        add_live(&p, n);
    if (!p.live.n && !p.scratch)
        return;
    if (p.live.n)
        qsort(p.live.at, (size_t)p.live.n, sizeof *p.live.at, by_size);
    for (int i = 0; i < p.live.n && i < 4; i++)
        text_put(t, "%s %s %lld", i ? " +" : "",
                 c_comment(p.live.at[i]->name ? p.live.at[i]->name : name(p.live.at[i]->def->op->name)),
                 (long long)p.live.at[i]->bytes);
    if (p.live.n > 4)
        text_put(t, " + %d smaller ones", p.live.n - 4);
    if (p.scratch)
        text_put(t, "%s scratch %lld", p.live.n ? " +" : "", (long long)p.scratch);
}

const char *report_peak(Model *m)
{
    Text t = {0}, peak = {0};
    put_peak(&peak, m);
    text_put(&t, peak.n ? "; peak:%s" : "%s", peak.n ? peak.s : "");
    return t.s;
}

/* ---- the stack --------------------------------------------------------------------------------------------------- */

static int measured_stack(const char *kernel)
{
    static const struct {
        const char *kernel;
        int bytes[STACK_COLUMNS];
    } known[] = {
#define STACK(kernel, ...) {#kernel, {__VA_ARGS__}},
#include "emit/stack.def"
#undef STACK
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].kernel, kernel))
            return known[i].bytes[opt()->target->stack];
    return measured_stack("others");
}

int report_node_stack(const Node *n) { return n && n->call.kernel ? measured_stack(n->call.kernel->name) : 0; }

const Node *report_deepest(Model *m)
{
    const Node *deepest = NULL;
    EACH_NODE (n, m->graph)
        deepest = report_node_stack(n) > report_node_stack(deepest) ? n : deepest;
    return deepest;
}

int report_stack(Model *m) { return (measured_stack("entry") + report_node_stack(report_deepest(m)) + 63) / 64 * 64; }

static const char table_head[] = "   #  %-20s %-24s %-20s %12s %10s  arena\n";

/* "peak: a 32000", and lines of "+ b 16000". */
static void put_peak_lines(Text *t, Model *m, const char *before)
{
    const char *peak = report_peak(m), *end;
    Wrapped w = {.to = t, .first = text_format("%s ", before), .between = text_format("%s   ", before)};
    peak += strspn(peak, "; ");
    for (; *peak; peak = end + strspn(end, " ")) {
        end = strstr(peak, " + ");
        end = end ? end : peak + strlen(peak);
        put_piece(&w, text_format("%.*s", (int)(end - peak), peak));
    }
    text_put(t, w.column ? "\n" : "");
}

void put_report_table(Text *t, Model *m, const char *before)
{
    Rows r = {.text = t, .before = before};
    text_put(t, "%s", before);
    text_put(t, table_head, "operator", "name", "output", "MAC", "weights");
    each_step(m->graph, put_row, &r);
    text_put(t, "%s\n%s %lld MAC, %zu B of weights, arena %lld B, lower bound %lld B\n", before, before,
             (long long)r.macs, constants()->inline_bytes + constants()->file_bytes, (long long)plan()->arena,
             (long long)plan()->bound);
    put_peak_lines(t, m, before);
    if (m->entries.n)
        text_put(t, "%s state %lld B\n", before, (long long)state_bytes(m));
}
