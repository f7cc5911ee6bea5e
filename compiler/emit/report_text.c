/* report_text.c - prints the report on a model as text of at most 80 columns. */
#include "emit/emit.h"

#include <stdlib.h>

#include "base/options.h"
#include "emit/facts.h"
#include "memory/plan.h"

/* At most 7 characters: exact below 10 million, then 12.35M, 1.235G. */
static const char *figure(int64_t n)
{
    static const char letters[] = "MGTPE";
    double v = (double)n / 1e6;
    int i = 0;
    if (n < 10000000)
        return text_format("%lld", (long long)n);
    for (; v >= 999.95 && letters[i + 1]; i++)
        v /= 1000;
    return text_format(v < 9.9995 ? "%.3f%c" : v < 99.995 ? "%.2f%c" : "%.1f%c", v, letters[i]);
}

/* The node's name; of one without: the result's. */
static const char *node_name(const Node *n, size_t width)
{
    if (name_length(n->name) || !n->n_out || !n->out[0])
        return c_tail(n->name, width);
    return text_format("> %s", c_tail(n->out[0]->name, width - 2));
}

/* "1,64,56,56": of a long one its end. */
static const char *shape(const Node *n, size_t width)
{
    const char *s = n->n_out && n->out[0] ? c_shape(*n->out[0]->shape) : "[]";
    return c_tail(name(text_format("%.*s", (int)strlen(s) - 2, s + 1)), width);
}

/* "1.23ms", or a number of other units. */
static const char *duration(const Facts *f, double n)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int i = 0;
    if (strcmp(f->ticks->unit, "ns"))
        return figure((int64_t)n);
    for (; n >= 999.5 && i < 3; i++)
        n /= 1000;
    return text_format(n >= 99.95 ? "%.0f%s" : n >= 9.995 ? "%.1f%s" : "%.2f%s", n, units[i]);
}

static double all_ticks(const Facts *f)
{
    double sum = 0;
    for (int i = 0; i < f->steps.n; i++)
        sum += ticks_of(f, i);
    return sum;
}

static void put_step(Text *t, const Facts *f, int i, bool peak, double time)
{
    const StepFacts *s = &f->steps.at[i];
    const int indent = s->depth < 4 ? s->depth : 4;
    text_put(t, "%5d %*s%-*.*s %-19s %-13s %7s ", i, indent, "", 16 - indent, 16 - indent,
             report_operators(s->node, 16 - indent), node_name(s->node, 19), shape(s->node, 13), figure(s->node->macs));
    if (f->ticks)
        text_put(t, "%7s %6.1f%%\n", duration(f, ticks_of(f, i)), time > 0 ? 100 * ticks_of(f, i) / time : 0);
    else
        text_put(t, "%7s%8s\n", figure(s->weights), text_format("%s%s", peak ? "*" : "", figure(s->arena)));
}

static int peak_step(const Facts *f)
{
    int peak = 0;
    for (int i = 1; i < f->steps.n; i++)
        peak = f->steps.at[i].arena > f->steps.at[peak].arena ? i : peak;
    return peak;
}

/* ---- the arena's peak -------------------------------------------------------------------------------------------- */

static int larger(const void *a, const void *b)
{
    const TensorFacts *x = *(const TensorFacts *const *)a, *y = *(const TensorFacts *const *)b;
    const int order = compare_numbers(y->bytes, x->bytes);
    return order ? order : compare_numbers(x->offset, y->offset);
}

static void put_peak(Text *t, const Facts *f, int step)
{
    enum { SHOWN = 5 };
    VEC(const TensorFacts *) live = {0};
    for (int i = 0; i < f->tensors.n; i++) {
        const TensorFacts *x = &f->tensors.at[i];
        if (x->region == REGION_ARENA && x->part_of < 0 && x->bytes && x->first <= step && x->last >= step)
            vec_push(&live, x);
    }
    if (!live.n)
        return;
    qsort(live.at, (size_t)live.n, sizeof *live.at, larger);
    text_put(t, "        at step %d (*), where most of it is in use:\n", step);
    for (int i = 0; i < live.n && i < SHOWN; i++)
        text_put(t, "%16lld  %s%s\n", (long long)live.at[i]->bytes, live.at[i]->value ? "" : "scratch of ",
                 c_tail(live.at[i]->name, 48));
    if (live.n > SHOWN)
        text_put(t, "%16s  and %d smaller ones\n", "", live.n - SHOWN);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* The variables of a training model. */
static void put_variables(Text *t, const Facts *f)
{
    enum { NAMED = 8 };
    const Model *m = f->model;
    int64_t twice = 0;
    Text names = {0};
    for (int i = 0, n = 0; i < m->states.n; i++)
        if (is_kept_twice(m, m->states.at[i])) {
            twice += m->states.at[i]->bytes;
            if (n++ < NAMED)
                text_put(&names, "%s%s", n > 1 ? ", " : ": ", c_tail(m->states.at[i]->name, 24));
        }
    text_put(t, "state   %lld B, %d variables; new values beside old ones: %lld B%s\n", (long long)f->state,
             m->states.n, (long long)twice, names.n ? names.s : "");
}

static void put_flash(Text *t, const Facts *f)
{
    enum { SHOWN = 5 };
    const ObjectFacts *o = f->object;
    if (!o) {
        text_put(t, "\nflash   %lld B of weights, and the code: see onnxcc size\n", (long long)f->weights);
        return;
    }
    text_put(t, "\nflash   %lld B = weights %lld + code %lld\n", (long long)facts_flash(f), (long long)f->weights,
             (long long)o->code);
    if (o->by)
        text_put(t, "        by %.69s\n", o->by);
    for (int i = 0; i < o->functions.n && i < SHOWN; i++)
        text_put(t, "%16lld  %.60s\n", (long long)o->functions.at[i].bytes, o->functions.at[i].name);
    if (o->functions.n > SHOWN)
        text_put(t, "%16s  and %d smaller functions\n", "", o->functions.n - SHOWN);
}

static void put_totals(Text *t, const Facts *f)
{
    const long long arena = (long long)plan()->arena;
    put_flash(t, f);
    text_put(t, "RAM     %lld B = arena %lld + inputs %lld + outputs %lld\n        + %sstack %d\n",
             (long long)facts_ram(f), arena, (long long)f->inputs, (long long)f->outputs,
             f->state ? text_format("state %lld + ", (long long)f->state) : "", f->stack);
    text_put(t, "arena   %lld B, lower bound %lld B; static in the C, or the caller's\n", arena,
             (long long)plan()->bound);
    if (f->steps.n)
        put_peak(t, f, peak_step(f));
    if (f->model->entries.n)
        put_variables(t, f);
    text_put(t, "compute %lld MAC\n", (long long)f->macs);
    if (f->model->training.n && !f->model->entries.n)
        text_put(t, "%s\n", training_left_out);
    if (f->ticks)
        text_put(t, "time    %s, the mean of %lld runs%s%s\n", duration(f, all_ticks(f)), (long long)f->ticks->runs,
                 *f->ticks->by ? ", by " : "", c_tail(name(f->ticks->by), 32));
}

void report_text(Text *t, const Facts *f)
{
    const Model *m = f->model;
    text_put(t, "%s: %d nodes in %d steps of C (IR %lld, for %s)\n\n", c_tail(m->base, 32), m->n_nodes, f->steps.n,
             (long long)m->ir_version, opt()->target->name);
    text_put(t, " step operator         node                output            MAC %s\n",
             f->ticks ? "   time   share" : "weights   arena");
    const double time = f->ticks ? all_ticks(f) : 0;
    const int peak = f->steps.n ? peak_step(f) : -1;
    for (int i = 0; i < f->steps.n; i++)
        put_step(t, f, i, i == peak && f->steps.at[i].arena, time);
    put_totals(t, f);
    text_put(t, "onnxcc: flash=%lld arena=%lld stack=%d macs=%lld nodes=%d\n", (long long)facts_flash(f),
             (long long)plan()->arena, f->stack, (long long)f->macs, f->steps.n);
}
