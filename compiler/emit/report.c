/* report.c - the report on a model (--report) and the list of supported operators (--list-ops), as text and as JSON. */
#include "emit/emit.h"

#include <stdlib.h>

#include "emit/report.h"
#include "base/options.h"
#include "base/output.h"
#include "ir/schema.h"
#include "memory/plan.h"

/* ---- the model --------------------------------------------------------------------------------------------------- */

typedef struct Rows {
    Text *text;         /* NULL: rows are only counted */
    const char *before; /* begins each line */
    int n;
    int64_t macs;
    bool json;
} Rows;

int64_t report_weights(const Node *n)
{
    int64_t sum = 0;
    EACH_VALUE (v, n->call.arg, n->call.n_arg)
        if (v->data && !v->data->symbolic)
            sum += (int64_t)tensor_size(v->data);
    return sum;
}

/* The place of v's bytes: "0..8000" in the arena, or "output". */
static const char *place_text(const Value *v)
{
    int64_t at = 0, bytes = v->bytes;
    for (; v->storage; v = v->storage)
        at += dim_high(v->placement->offset);
    at += v->offset;
    Text t = {0};
    text_put(&t, "%lld..%lld", (long long)at, (long long)(at + bytes));
    return v->offset < 0 ? "output" : t.s;
}

static void put_also(Text *t, const Node *n)
{
    text_put(t, ", \"also\": [");
    for (const Also *a = n->also; a; a = a->next) {
        put_quoted(t, a->name, IN_JSON);
        text_put(t, "%s", a->next ? ", " : "");
    }
    text_put(t, "]");
}

static void print_row(Node *n, const Rows *r)
{
    const Value *y = n->n_out ? n->out[0] : NULL;
    const char *shape = y ? c_shape(*y->shape) : "", *where = y ? place_text(y) : "";
    Text op = {0};
    put_quoted(&op, node_operator(n), IN_COMMENT);
    text_put(&op, "%s", n->call.epilogue || n->also ? "+" : "");
    if (r->json) {
        text_put(r->text, "%s\n    {\"node\": %d, \"operator\": ", r->n ? "," : "", r->n);
        put_quoted(r->text, node_operator(n), IN_JSON);
        text_put(r->text, ", \"as\": \"%s\", \"name\": ", n->op->name);
        put_quoted(r->text, n->name, IN_JSON);
        put_also(r->text, n);
        text_put(r->text, ", \"output\": ");
        put_quoted(r->text, name(shape), IN_JSON);
        text_put(r->text, ", \"macs\": %lld, \"weights\": %lld, \"arena\": \"%s\", \"live\": [%d, %d]}",
                 (long long)n->macs, (long long)report_weights(n), where, y ? y->live_from : n->time,
                 y ? y->live_to : n->time);
    } else
        text_put(r->text, "%s%4d  %-20.20s %-24s %-20s %12lld %10lld  %s\n", r->before, r->n, op.s, c_tail(n->name, 24),
                 shape, (long long)n->macs, (long long)report_weights(n), where);
}

static void put_row(Node *n, Rows *r)
{
    if (n->elided || !(n->call.kernel || n->call.loop || n->op->flags & CONTROL))
        return;
    if (r->text)
        print_row(n, r);
    if (__builtin_add_overflow(r->macs, n->macs, &r->macs))
        r->macs = INT64_MAX;
    r->n++;
}

/* In the order of the code: a node before its nested graphs. */
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

static int known_stack(const char *kernel)
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
    return known_stack("others");
}

static int node_stack(const Node *n) { return n && n->call.kernel ? known_stack(n->call.kernel->name) : 0; }

const Node *report_deepest(Model *m)
{
    const Node *deepest = NULL;
    EACH_NODE (n, m->graph)
        deepest = node_stack(n) > node_stack(deepest) ? n : deepest;
    return deepest;
}

int report_stack(Model *m) { return (known_stack("entry") + node_stack(report_deepest(m)) + 63) / 64 * 64; }

static const char table_head[] = "   #  %-20s %-24s %-20s %12s %10s  arena\n";

void put_report_table(Text *t, Model *m, const char *before)
{
    Rows r = {.text = t, .before = before};
    text_put(t, "%s", before);
    text_put(t, table_head, "operator", "name", "output", "MAC", "weights");
    put_rows(m->graph, &r);
    text_put(t, "%s\n%s %lld MAC, %zu B of weights, arena %lld B, lower bound %lld B", before, before,
             (long long)r.macs, constants()->inline_bytes + constants()->file_bytes, (long long)plan()->arena,
             (long long)plan()->bound);
    text_put(t, "%s\n", report_peak(m));
}

static void report_json(Text *t, Model *m, int64_t macs)
{
    text_put(t, "{\n  \"schema\": 1,\n  \"model\": ");
    put_quoted(t, m->base, IN_JSON);
    text_put(t, ",\n  \"hash\": \"%016llx\",\n  \"target\": \"%s\",\n", (unsigned long long)m->hash,
             opt()->target->name);
    text_put(t,
             "  \"weights\": %zu,\n  \"arena\": %lld,\n  \"arena_bound\": %lld,\n  \"stack\": %d,\n  \"macs\": %lld,\n"
             "  \"nodes\": [",
             constants()->inline_bytes + constants()->file_bytes, (long long)plan()->arena, (long long)plan()->bound,
             report_stack(m), (long long)macs);
    put_rows(m->graph, &(Rows){.text = t, .json = true});
    text_put(t, "\n  ]\n}\n");
}

static void report_text(Text *t, Model *m, const Rows *total)
{
    long long weights = (long long)(constants()->inline_bytes + constants()->file_bytes), macs = (long long)total->macs;
    text_put(t, "%s: %d nodes (%d in the file), IR %lld\n", c_comment(m->base), total->n, m->n_nodes,
             (long long)m->ir_version);
    text_put(t, table_head, "operator", "name", "output", "MAC", "weights");
    put_rows(m->graph, &(Rows){.text = t, .before = ""});
    text_put(t, "  flash   %lld B weights\n  arena   %lld B, lower bound %lld B", weights, (long long)plan()->arena,
             (long long)plan()->bound);
    text_put(t, "%s", report_peak(m));
    const int stack = report_stack(m);
    text_put(t, "\n  stack   %d B\n  compute %lld MAC\n", stack, macs);
    text_put(t, "onnxcc: ");
    text_printable(t, opt()->output, strlen(opt()->output), false);
    text_put(t, ": flash=%lld arena=%lld stack=%d macs=%lld nodes=%d\n", weights, (long long)plan()->arena, stack, macs,
             total->n);
}

void report_model(Model *m)
{
    Rows total = {0};
    put_rows(m->graph, &total);
    bool beside = !strcmp(opt()->output, "-"); /* standard output is the C file */
    Text t = {.to = beside ? NULL : output_open("-")};
    if (opt()->report_json)
        report_json(&t, m, total.macs);
    else
        report_text(&t, m, &total);
    if (beside)
        note("%s", t.s);
    else
        text_flush(&t);
}

/* ---- the operators ----------------------------------------------------------------------------------------------- */

/* Prints the names of a set's members, each in `quote`; grouped: with the abbreviations of the README's table. */
static void put_types(TypeSet set, bool grouped, const char *quote, const char *between)
{
    static const char *const forms[] = {"seq", "optional", "map"};
    static const char *const groups[][2] = {{"F", "FB"}, {"I", "I"}, {"U", "U"}, {"F8", "F8"}, {"C", "C"}};
    const char *comma = "";
    for (size_t i = 0; grouped && i < sizeof groups / sizeof *groups; i++) {
        const TypeSet group = type_group(groups[i][1], strlen(groups[i][1]));
        if ((set & group) == group) {
            printf("%s%s", comma, groups[i][0]);
            set &= ~group;
            comma = between;
        }
    }
    for (Type t = F32; t < N_TYPES; t++)
        if (set >> t & 1) {
            printf("%s%s%s%s", comma, quote, type_onnx(t), quote);
            comma = between;
        }
    for (int i = 0; i < 3; i++)
        if (set & TYPE_SEQUENCE << i) {
            printf("%s%s%s%s", comma, quote, forms[i], quote);
            comma = between;
        }
}

/* The type set of variable v, from the first formal that has it. */
static TypeSet variable_types(const Signature *s, int v)
{
    for (int i = 0; i < s->n_in; i++)
        if (s->in[i].variable == v)
            return s->in[i].set;
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i].variable == v)
            return s->out[i].set;
    return 0;
}

/* "T: float16 float; Tind: int64"; for an operator without type variables, the types of its first input. */
static void put_variables(const Op *op, bool grouped)
{
    const Signature *s = op_signature(op);
    for (int v = 0; v < s->n_var; v++) {
        printf("%s%s: ", v ? "; " : "", c_comment(s->var[v]));
        put_types(variable_types(s, v), grouped, "", " ");
    }
    if (!s->n_var && s->n_in)
        put_types(s->in[0].set, grouped, "", " ");
}

static void put_formals(const Signature *s, const Formal *f, int n)
{
    for (int i = 0; i < n; i++) {
        printf("%s{\"name\": \"%s\", \"variable\": \"%s\", \"types\": [", i ? ", " : "", c_comment(f[i].name),
               f[i].variable < 0 ? "" : c_comment(s->var[f[i].variable]));
        put_types(f[i].set, false, "\"", ", ");
        printf("]}");
    }
}

/* A schema per line, as JSON. */
static void list_json(const Op *const *schemas, int n)
{
    const char *comma = "";
    printf("[");
    for (int i = 0; i < n; i++) {
        const Op *op = schemas[i];
        const Signature *s = op_signature(op);
        printf("%s\n{\"domain\": \"%s\", \"operator\": \"%s\", \"version\": %d, ", comma, op_domain(op), op->name,
               op->since_version);
        printf("\"removed\": %s, \"limit\": \"%s\", \"inputs\": [", op->flags & DEPRECATED ? "true" : "false",
               op->limit ? op->limit : "");
        put_formals(s, s->in, s->n_in);
        printf("], \"outputs\": [");
        put_formals(s, s->out, s->n_out);
        printf("]}");
        comma = ",";
    }
    printf("\n]\n");
}

/* A schema per line, as text. */
static void list_text(const Op *const *schemas, int n)
{
    for (int i = 0; i < n; i++) {
        const Op *op = schemas[i];
        printf("%-24s %-28s %2d  ", op->domain ? op->domain : "ai.onnx", op->name, op->since_version);
        if (op->flags & DEPRECATED)
            printf("removed");
        else
            put_variables(op, false);
        printf("%s%s%s\n", op->limit ? " (" : "", op->limit ? op->limit : "", op->limit ? ")" : "");
    }
}

/* An operator per line, with the types of its newest version. */
static void list_markdown(const Op *const *schemas, int n)
{
    printf("| domain | operator | versions | types | limits |\n|---|---|---|---|---|\n");
    for (int i = 0, end; i < n; i = end) {
        printf("| %s | %s | ", schemas[i]->domain ? schemas[i]->domain : "ai.onnx", schemas[i]->name);
        const Op *last = NULL;
        for (end = i; end < n && !strcmp(schemas[end]->name, schemas[i]->name) &&
                      !strcmp(op_domain(schemas[end]), op_domain(schemas[i]));
             end++) {
            bool removed = schemas[end]->flags & DEPRECATED;
            printf("%s%d%s", end > i ? " " : "", schemas[end]->since_version, removed ? " (removed)" : "");
            last = removed ? last : schemas[end];
        }
        printf(" | ");
        if (last)
            put_variables(last, true);
        printf(" | ");
        const char *between = "";
        for (int k = i; k < end; k++)
            if (schemas[k]->limit) {
                printf("%s%d: %s", between, schemas[k]->since_version, schemas[k]->limit);
                between = "; ";
            }
        printf(" |\n");
    }
}

void list_ops(const char *form)
{
    int n, kept = 0;
    const Op *const *all = ops_sorted(&n);
    const Op **schemas = NEWS(const Op *, n);
    for (int i = 0; i < n; i++)
        if (strcmp(op_domain(all[i]), "onnxcc")) /* internal operators */
            schemas[kept++] = all[i];
    if (!strcmp(form, "json"))
        list_json(schemas, kept);
    else if (!strcmp(form, "markdown"))
        list_markdown(schemas, kept);
    else
        list_text(schemas, kept);
}
