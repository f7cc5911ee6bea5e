/* facts.c - what a report says about a model. */
#include "emit/emit.h"

#include "emit/facts.h"
#include "memory/plan.h"
#include "passes/state.h"

typedef struct FactSearch {
    Facts *f;
    Map step, tensor;   /* Node, Value -> its index + 1 */
    int times;          /* the last time of the plan, + 1 */
    int *next, *before; /* of each time: the first step from it on, the last step until it; -1: none */
    int *seen;          /* of each value: 1 + the last step for which add_after visited it */
} FactSearch;

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static int index_of(const Map *m, const void *key) { return (int)(intptr_t)map_get(m, key) - 1; }

static void put_index(Map *m, const void *key, int i) { map_put(m, key, (void *)(intptr_t)(i + 1)); }

static int64_t sum(int64_t a, int64_t b) { return __builtin_add_overflow(a, b, &a) ? INT64_MAX : a; }

static void add_step(const Node *n, void *search)
{
    FactSearch *const s = search;
    const Node *owner = n->graph->owner;
    StepFacts step = {.node = n, .owner = owner ? index_of(&s->step, owner) : -1, .scratch = -1};
    step.depth = step.owner < 0 ? 0 : s->f->steps.at[step.owner].depth + 1;
    step.weights = report_weights(n);
    step.stack = report_node_stack(n);
    s->f->macs = sum(s->f->macs, n->macs);
    put_index(&s->step, n, s->f->steps.n);
    vec_push(&s->f->steps, step);
}

static void find_times(FactSearch *s)
{
    s->next = NEWS(int, s->times + 1);
    s->before = NEWS(int, s->times + 1);
    for (int t = 0; t <= s->times; t++)
        s->next[t] = s->before[t] = -1;
    for (int i = 0; i < s->f->steps.n; i++)
        s->next[s->f->steps.at[i].node->time] = s->before[s->f->steps.at[i].node->time] = i;
    for (int t = 1; t <= s->times; t++) /* branches are in any order in time */
        s->before[t] = s->before[t] < s->before[t - 1] ? s->before[t - 1] : s->before[t];
    for (int t = s->times - 1; t >= 0; t--)
        if (s->next[t] < 0 || (s->next[t + 1] >= 0 && s->next[t + 1] < s->next[t]))
            s->next[t] = s->next[t + 1];
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static int time_within(const FactSearch *s, int t) { return t < 0 ? 0 : t > s->times ? s->times : t; }

static void set_life(const FactSearch *s, TensorFacts *t, int from, int to)
{
    const int last = s->f->steps.n - 1, a = s->next[time_within(s, from)], b = s->before[time_within(s, to)];
    t->first = a < 0 ? (last < 0 ? 0 : last) : a;
    t->last = b < t->first ? t->first : b;
}

/* The name of a value that has none is that of the node which computes it. */
static Name name_of(const Value *v)
{
    if (name_length(v->name) || !v->def)
        return v->name;
    return name_length(v->def->name) ? v->def->name : node_operator(v->def);
}

static void add_tensor(FactSearch *s, const Value *v)
{
    if (!v || v->data || v->form != TENSOR || !v->shape || v->shape->rank < 0 || map_get(&s->tensor, v))
        return;
    TensorFacts t = {.value = v, .name = name_of(v), .bytes = max_bytes(v), .part_of = -1};
    const Value *root = v;
    for (; root->storage; root = root->storage) {
        t.offset += dim_high(root->placement->offset);
        t.rows |= !dim_is(root->placement->pitch, 0);
    }
    if (root != v) {
        add_tensor(s, root);
        t.part_of = index_of(&s->tensor, root);
    }
    t.region = root->in_state     ? REGION_STATE
               : root->input >= 0 ? REGION_INPUT
               : root->offset < 0 ? REGION_OUTPUT
                                  : REGION_ARENA;
    t.offset += t.region == REGION_ARENA || t.region == REGION_STATE ? root->offset : 0;
    set_life(s, &t, v->live_from, v->live_to);
    put_index(&s->tensor, v, s->f->tensors.n);
    vec_push(&s->f->tensors, t);
}

static void add_scratch(FactSearch *s, int i)
{
    StepFacts *const step = &s->f->steps.at[i];
    const Node *n = step->node;
    if (dim_is(n->call.scratch, 0))
        return;
    step->scratch = s->f->tensors.n;
    const bool nameless = !name_length(n->name) && n->n_out && n->out[0];
    vec_push(&s->f->tensors, ((TensorFacts){.name = nameless ? n->out[0]->name : n->name,
                                            .region = REGION_ARENA,
                                            .offset = n->scratch_offset,
                                            .bytes = dim_high(n->call.scratch),
                                            .part_of = -1,
                                            .first = i,
                                            .last = i}));
}

bool is_kept_twice(const Model *m, const Variable *s)
{
    bool twice = false;
    EACH_NODE (n, m->graph)
        twice |= !n->elided && n->n_out && n->out[0] && n->out[0]->state == s && n->in[0] && n->in[0]->def &&
                 n->in[0]->state == s && value_storage(n->in[0]) != value_storage(n->out[0]);
    return twice;
}

static void add_tensors(FactSearch *s)
{
    Facts *const f = s->f;
    const Graph *g = f->model->graph;
    f->state = (states()->at.n ? states()->bytes : 0) + state_bytes(f->model);
    for (int i = 0; i < states()->at.n; i++) {
        add_tensor(s, states()->at.at[i].slot);
        add_tensor(s, states()->at.at[i].in);
    }
    for (int i = 0; i < g->in.n; i++)
        if (g->in.at[i]->input >= 0)
            add_tensor(s, g->in.at[i]);
    for (int i = 0; i < g->out.n; i++)
        add_tensor(s, g->out.at[i]);
    EACH_NODE (n, f->model->graph)
        EACH_OUT (v, n)
            add_tensor(s, v);
    for (int i = 0; i < f->steps.n; i++)
        add_scratch(s, i);
}

/* ---- what a step reads and writes -------------------------------------------------------------------------------- */

enum { MAX_VIEWS = 1000 }; /* nodes without code between two steps; more are not followed */

/* Adds the steps whose results v is, through nodes that need no code. */
static void add_after(FactSearch *s, int step, const Value *v, int *left)
{
    if (!v || v->data || !v->def || s->seen[v->id] == step + 1 || --*left < 0)
        return;
    s->seen[v->id] = step + 1;
    const int from = index_of(&s->step, v->def);
    if (from >= 0 && from != step)
        vec_add(&s->f->steps.at[step].after, from);
    else if (from < 0)
        EACH_IN (u, v->def)
            add_after(s, step, u, left);
}

static void add_edges(FactSearch *s, int i)
{
    StepFacts *const step = &s->f->steps.at[i];
    const Node *n = step->node;
    int left = MAX_VIEWS, k;
    EACH_IN (v, n) {
        if ((k = index_of(&s->tensor, v)) >= 0)
            vec_add(&step->reads, k);
        add_after(s, i, v, &left);
    }
    EACH_OUT (v, n)
        if ((k = index_of(&s->tensor, v)) >= 0)
            vec_add(&step->writes, k);
    for (k = 0; !(n->op->flags & CONTROL) && k < step->reads.n; k++)
        step->read = sum(step->read, s->f->tensors.at[step->reads.at[k]].bytes);
    for (k = 0; !(n->op->flags & CONTROL) && k < step->writes.n; k++)
        step->written = sum(step->written, s->f->tensors.at[step->writes.at[k]].bytes);
}

/* Sets how many bytes of the arena each step finds in use. */
static void find_use(FactSearch *s)
{
    Facts *const f = s->f;
    int64_t *change = NEWS(int64_t, f->steps.n + 1), now = 0;
    for (int i = 0; i < f->tensors.n; i++) {
        const TensorFacts *t = &f->tensors.at[i];
        if (t->region != REGION_ARENA || t->part_of >= 0 || !f->steps.n)
            continue;
        change[t->first] += t->bytes;
        change[t->last + 1] -= t->bytes;
    }
    for (int i = 0; i < f->steps.n; i++)
        f->steps.at[i].arena = now += change[i];
}

/* ---- remarks ----------------------------------------------------------------------------------------------------- */

/* The key by which a remark's node is found among the steps' nodes: its source, or without one its name. */
static const void *key_of(const Source *source, Name name)
{
    return source ? (const void *)source : (const void *)name;
}

static void put_once(Map *m, const void *key, int i)
{
    if (key && !map_get(m, key))
        put_index(m, key, i);
}

/* Keeps the remarks that say why a rewrite was not applied to a node of a step. */
static void add_remarks(FactSearch *s)
{
    const Remark *list;
    const int n = remarks_kept(&list);
    Map done[REWRITE_COUNT] = {0}, step = {0};
    for (int i = 0; i < s->f->steps.n; i++) {
        const Node *by = s->f->steps.at[i].node;
        put_once(&step, key_of(by->source, by->name), i);
        for (const Also *a = by->also; a; a = a->next)
            put_once(&step, key_of(a->source, a->name), i);
    }
    for (int i = 0; i < n; i++)
        if (list[i].applied)
            put_once(&done[list[i].rewrite], key_of(list[i].source, list[i].name), i);
    for (int i = 0; i < n; i++) {
        const void *key = key_of(list[i].source, list[i].name);
        const int at = key ? index_of(&step, key) : -1;
        if (!list[i].applied && at >= 0 && !map_get(&done[list[i].rewrite], key))
            vec_push(&s->f->remarks, ((RemarkFacts){&list[i], at}));
    }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

const Facts *find_facts(Model *m)
{
    Facts *f = NEW(Facts);
    f->model = m;
    f->weights = (int64_t)(constants()->inline_bytes + constants()->file_bytes);
    f->stack = report_stack(m);
    interface_bytes(m, &f->inputs, &f->outputs);
    FactSearch s = {.f = f, .seen = NEWS(int, m->n_values + 1)};
    EACH_NODE (n, m->graph)
        s.times = n->end >= s.times ? n->end + 1 : s.times;
    each_step(m->graph, add_step, &s);
    find_times(&s);
    add_tensors(&s);
    for (int i = 0; i < f->steps.n; i++)
        add_edges(&s, i);
    find_use(&s);
    add_remarks(&s);
    f->ticks = read_ticks(f->steps.n);
    f->object = read_object(m);
    return f;
}

int64_t facts_ram(const Facts *f)
{
    return sum(sum(sum(plan()->arena, f->stack), sum(f->inputs, f->outputs)), f->state);
}

int64_t facts_flash(const Facts *f) { return sum(f->weights, f->object ? f->object->code : 0); }
