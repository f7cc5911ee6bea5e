/* budget.c - the budgets of memory (--max-ram, --max-flash, --max-stack): an error names what takes most. */
#include "emit/emit.h"
#include "base/options.h"
#include "emit/report.h"
#include "memory/plan.h"
#include "passes/state.h"

static int64_t bytes_of(Value *const *v, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i]->in_state ? 0 : (int64_t)type_bytes(v[i]->type, dim_high(shape_count(*v[i]->shape)));
    return sum;
}

static void check_ram(Model *m)
{
    const int64_t arena = plan()->arena, stack = report_stack(m);
    const int64_t in = bytes_of(m->graph->in.at, m->graph->in.n), out = bytes_of(m->graph->out.at, m->graph->out.n);
    const int64_t state = states()->at.n ? states()->bytes : 0, all = arena + in + out + state + stack;
    if (!opt()->max_ram || all <= opt()->max_ram)
        return;
    error_at("", "", "%lld bytes of RAM, more than --max-ram %lld: arena %lld, inputs %lld, outputs %lld%s, stack %lld",
             (long long)all, (long long)opt()->max_ram, (long long)arena, (long long)in, (long long)out,
             state ? text_format(", state %lld", (long long)state) : "", (long long)stack);
    if (arena)
        note_help("the arena has %lld bytes%s", (long long)arena, report_peak(m));
}

static void check_flash(Model *m)
{
    const int64_t bytes = (int64_t)(constants()->inline_bytes + constants()->file_bytes);
    if (!opt()->max_flash || bytes <= opt()->max_flash)
        return;
    const Node *largest = m->graph->first;
    EACH_NODE (n, m->graph)
        largest = report_weights(n) > report_weights(largest) ? n : largest;
    error_at("", "", "%lld bytes of weights, more than --max-flash %lld", (long long)bytes,
             (long long)opt()->max_flash);
    if (largest)
        note_help("the most, %lld bytes, has %s '%s'", (long long)report_weights(largest),
                  c_comment(node_operator(largest)), c_comment(largest->name));
}

static void check_stack(Model *m)
{
    const int bytes = report_stack(m);
    if (!opt()->max_stack || bytes <= opt()->max_stack)
        return;
    const Node *n = report_deepest(m);
    error_at("", "", "%d bytes of stack, more than --max-stack %lld", bytes, (long long)opt()->max_stack);
    if (n)
        note_help("the most has %s '%s'", c_comment(node_operator(n)), c_comment(n->name));
}

void check_budgets(Model *m)
{
    check_ram(m);
    check_flash(m);
    check_stack(m);
    stop_on_errors();
}
