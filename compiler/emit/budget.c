/* budget.c - the budgets of memory (--max-ram, --max-flash, --max-stack): an error names what takes most. */
#include "emit/emit.h"
#include "base/options.h"
#include "emit/facts.h"
#include "emit/report.h"
#include "memory/plan.h"
#include "passes/state.h"

static int64_t bytes_of(Value *const *v, int n, bool inputs)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (!v[i]->in_state && (!inputs || v[i]->input >= 0) && __builtin_add_overflow(sum, max_bytes(v[i]), &sum))
            return INT64_MAX;
    return sum;
}

/* Bytes of inputs and outputs; of several entry points, the most, as one is called at a time. */
void interface_bytes(const Model *m, int64_t *in, int64_t *out)
{
    *in = m->entries.n ? 0 : bytes_of(m->graph->in.at, m->graph->in.n, true);
    *out = bytes_of(m->graph->out.at, m->graph->out.n, false);
    for (int i = 0; i < m->entries.n; i++) {
        const Entry *e = m->entries.at[i];
        const int64_t x = bytes_of(e->in.at, e->in.n, true), y = bytes_of(e->graph->out.at, e->out.n, false);
        if (x + y > *in + *out) {
            *in = x;
            *out = y;
        }
    }
}

static void check_ram(Model *m)
{
    const int64_t arena = plan()->arena, stack = report_stack(m);
    int64_t in, out;
    interface_bytes(m, &in, &out);
    const int64_t state = (states()->at.n ? states()->bytes : 0) + state_bytes(m),
                  all = arena + in + out + stack + state;
    if (!opt()->max_ram || all <= opt()->max_ram)
        return;
    error_at("", "BUD-01",
             "%lld bytes of RAM, more than --max-ram %lld: arena %lld, inputs %lld, outputs %lld%s, stack %lld",
             (long long)all, (long long)opt()->max_ram, (long long)arena, (long long)in, (long long)out,
             state ? text_format(", state %lld", (long long)state) : "", (long long)stack);
    if (arena)
        note_help("the arena has %lld bytes%s", (long long)arena, report_peak(m));
}

static void check_flash(Model *m)
{
    const int64_t weights = (int64_t)(constants()->inline_bytes + constants()->file_bytes);
    const ObjectFacts *o = read_object(m);
    if (!opt()->max_flash || weights + (o ? o->code : 0) <= opt()->max_flash)
        return;
    const Node *largest = m->graph->first;
    EACH_NODE (n, m->graph)
        largest = report_weights(n) > report_weights(largest) ? n : largest;
    error_at("", "BUD-02", "%lld bytes of weights%s, more than --max-flash %lld", (long long)weights,
             o ? text_format(" and %lld of code", (long long)o->code) : "", (long long)opt()->max_flash);
    if (largest && report_weights(largest))
        note_help("the most weights, %lld bytes, has %s '%s'", (long long)report_weights(largest),
                  c_comment(node_operator(largest)), c_comment(largest->name));
    if (o && o->functions.n)
        note_help("the longest function, %lld bytes, is %s", (long long)o->functions.at[0].bytes,
                  o->functions.at[0].name);
}

static void check_stack(Model *m)
{
    const int bytes = report_stack(m);
    if (!opt()->max_stack || bytes <= opt()->max_stack)
        return;
    const Node *n = report_deepest(m);
    error_at("", "BUD-03", "%d bytes of stack, more than --max-stack %lld", bytes, (long long)opt()->max_stack);
    if (n)
        note_help("the deepest call is that of %s '%s'", c_comment(node_operator(n)), c_comment(n->name));
}

void check_budgets(Model *m)
{
    check_ram(m);
    check_flash(m);
    check_stack(m);
    stop_on_errors();
}
