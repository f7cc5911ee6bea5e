/* alternatives.c - results of an If whose branches give different ranks. */
#include "passes/alternatives.h"

#include "base/options.h"
#include "ir/ops.h"
#include "passes/container.h"
#include "passes/passes.h"

typedef struct Alternatives {
    const Node *by; /* the If, for messages */
    Value *condition, *of[2];
} Alternatives;

typedef struct Joint {
    const Node *node; /* an If whose results are containers of elements of any rank */
} Joint;

PART(Map, alternatives) /* Value -> Alternatives */
PART(int, copies)       /* nodes copied into branches */
PART(Joint, joint)

static const char *const branch_names[] = {"then_branch", "else_branch"};

static Alternatives *alternatives_of(const Value *v) { return map_get(alternatives(), v); }

/* One of the values that v stands for. */
static const Value *first_of(const Value *v)
{
    while (alternatives_of(v))
        v = alternatives_of(v)->of[0];
    return v;
}

static void add_alternatives(Value *v, const Node *by, Value *condition, Value *a, Value *b)
{
    Alternatives *x = NEW_COPY((Alternatives){by, condition, {a, b}});
    map_put(alternatives(), v, x);
    v->pinned = condition->pinned = a->pinned = b->pinned = true;
}

/* v has no other definition. */
static void undefine(Value *v)
{
    v->def = NULL;
    v->type = first_of(v)->type;
    v->form = first_of(v)->form;
    v->shape = first_of(v)->shape;
}

void help_freeze(const Value *condition)
{
    enum { DEEPEST = 12 };
    Map seen = {0};
    VEC(struct Step {
        const Value *v;
        int depth;
    }) todo = {0};
    vec_push(&todo, ((struct Step){condition, 0}));
    while (todo.n) {
        const struct Step s = todo.at[--todo.n];
        const Node *n = s.v->def;
        if (map_get(&seen, s.v))
            continue;
        map_put(&seen, s.v, &seen);
        if (s.v->input >= 0 && !type_is_float(s.v->type))
            note_help("the branch can be chosen at compile time: --const %s=FILE.pb",
                      printable(option_quoted(s.v->name)));
        for (int i = n && s.depth <= DEEPEST ? n->n_in : 0; i-- > 0;)
            if (n->in[i])
                vec_push(&todo, ((struct Step){n->in[i], s.depth + 1}));
    }
    map_free(&seen);
}

/* ---- results of branches ----------------------------------------------------------------------------------------- */

/* Adds y to n's results: in branch k it is v, in the other one memory with undefined contents. */
static void add_result(Node *n, Graph *const *branch, int k, Value *v, Value *y)
{
    Node *room = node_new(branch[1 - k], "onnxcc.Start", 0, NULL, 1);
    Value **all = NEWS(Value *, n->n_out + 1);
    set_out(room, 0, v->type, *v->shape);
    room->out[0]->text = v->text;
    node_insert(room, NULL);
    graph_add_output(branch[k], v);
    graph_add_output(branch[1 - k], room->out[0]);
    if (n->n_out)
        memcpy(all, n->out, sizeof *all * (size_t)n->n_out);
    n->out = all;
    node_set_out(n, n->n_out++, y);
    set_out(n, y->def_i, v->type, *v->shape);
    y->text = v->text;
}

static Value *exported(Node *n, Graph *const *branch, int k, Value *v);

static Value *exported_container(Node *n, Graph *const *branch, int k, Value *v)
{
    Values part = {0};
    container_flatten(v, &part);
    EACH_AT (one, part)
        *one = exported(n, branch, k, *one);
    Value *const *from = part.at;
    return container_rebuild(n->graph, ctype_of(v), &from);
}

/* v, a value of branch k, for n's graph. */
static Value *exported(Node *n, Graph *const *branch, int k, Value *v)
{
    const Alternatives *a = alternatives_of(v);
    if (v->graph != branch[k])
        return v;
    if (v->form != TENSOR && !a)
        return exported_container(n, branch, k, v);
    Value *y = v->data ? value_const(n->graph, v->data) : value_new(n->graph, v->name);
    if (v->data)
        v->data->pinned = true;
    else if (!a)
        add_result(n, branch, k, v, y);
    else {
        Value *condition = exported(n, branch, k, a->condition), *first = exported(n, branch, k, a->of[0]);
        add_alternatives(y, a->by, condition, first, exported(n, branch, k, a->of[1]));
        undefine(y);
    }
    return y;
}

typedef struct Ranks {
    int min, max;
} Ranks;

/* The ranks of v, or of its elements; none: min > max. */
static Ranks ranks_of(const ContainerType *v)
{
    Ranks r = {MAX_RANK + 1, -1};
    if (v->form == TENSOR)
        return (Ranks){v->shape.rank, v->shape.rank};
    if (v->form == SEQUENCE && v->open && v->rank >= 0)
        return (Ranks){v->min_rank, v->rank};
    for (int i = 0; i < v->item.n && v->form != MAP; i++) {
        const Ranks x = ranks_of(v->item.at[i]);
        r.min = x.min < r.min ? x.min : r.min;
        r.max = x.max > r.max ? x.max : r.max;
    }
    return r;
}

/* Do results of n differ in rank, or their elements, which have one rank each? */
static bool ranks_differ(const Node *n, const Value *a, const Value *b)
{
    if (alternatives_of(a) || alternatives_of(b))
        return true;
    if (a->form != b->form || (a->form != TENSOR && n == joint()->node))
        return false;
    const Ranks x = ranks_of(ctype_of(a)), y = ranks_of(ctype_of(b));
    return x.min <= x.max && y.min <= y.max && (x.min != y.min || x.max != y.max) && (x.min == x.max || y.min == y.max);
}

/* A list of sizes? */
static bool is_list_of_sizes(const Value *v)
{
    return v->form == TENSOR && (v->type == I64 || v->type == I32) && v->shape->rank == 1 &&
           dim_is_const(v->shape->dim[0]) && dim_value(v->shape->dim[0]) <= MAX_RANK;
}

/* Do lists of sizes differ in length, so that shapes made from them differ in rank? */
static bool lengths_differ(const Value *a, const Value *b)
{
    return is_list_of_sizes(a) && is_list_of_sizes(b) && !dim_identical(a->shape->dim[0], b->shape->dim[0]);
}

/* Removes the results that n no longer has. */
static void drop_results(Node *n, Graph *const *branch)
{
    int kept = 0;
    for (int i = 0; i < n->n_out; i++) {
        if (!n->out[i])
            continue;
        for (int k = 0; k < 2; k++)
            graph_set_output(branch[k], kept, branch[k]->out.at[i]);
        node_set_out(n, kept++, n->out[i]);
    }
    for (int k = 0; k < 2; k++)
        for (; branch[k]->out.n > kept; branch[k]->out.n--)
            graph_set_output(branch[k], branch[k]->out.n - 1, NULL);
    n->n_out = kept;
}

void alternatives_give(Node *n, Graph *const *branch)
{
    int results = n->n_out;
    bool any = false;
    for (int i = 0; i < results; i++) {
        Value *a = branch[0]->out.at[i], *b = branch[1]->out.at[i], *v = n->out[i];
        const bool ranks = ranks_differ(n, a, b) && first_of(a)->type == first_of(b)->type;
        any |= ranks;
        if (ranks && n->op->since_version < 11)
            warn_strict(node_path(n), "SUB-18",
                        "before version 11 both branches must give the same shape, not %s and %s",
                        shape_text(*first_of(a)->shape), shape_text(*first_of(b)->shape));
        if (!v || (!ranks && !lengths_differ(a, b)))
            continue;
        Value *first = exported(n, branch, 0, a);
        add_alternatives(v, n, n->in[0], first, exported(n, branch, 1, b));
        if (ranks) {
            undefine(v);
            n->out[i] = NULL;
        }
    }
    if (any)
        drop_results(n, branch);
}

void alternatives_pass(Node *n, Graph *const *branch, int k)
{
    const int results = n->n_out;
    bool any = false;
    for (int i = 0; i < results; i++) {
        Value *a = branch[k]->out.at[i], *v = n->out[i];
        if (!alternatives_of(a))
            continue;
        any = true;
        if (!v)
            continue;
        const Alternatives *x = alternatives_of(exported(n, branch, k, a));
        add_alternatives(v, x->by, x->condition, x->of[0], x->of[1]);
        undefine(v);
        n->out[i] = NULL;
    }
    if (any)
        drop_results(n, branch);
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

/* The operands of a node, and those that its copy in a branch reads instead. */
typedef struct Operands {
    VEC(Value *) from;
    VEC(Value *) to;
    Value *condition;
} Operands;

/* Are both conditions the same, one value or one expression over sizes? */
static bool is_same_condition(Value *a, Value *b)
{
    if (a == b)
        return true;
    const bool sizes = a->data && a->data->symbolic && b->data && b->data->symbolic;
    return sizes && dim_is(shape_count(*a->shape), 1) && dim_is(shape_count(*b->shape), 1) &&
           dim_identical(value_dim(a, 0), value_dim(b, 0));
}

/* Collects the values that have alternatives on the condition of the first one that is found. */
static void look_at(Value *v, Operands *r)
{
    const Alternatives *a = v ? alternatives_of(v) : NULL;
    if (!a || (r->condition && !is_same_condition(a->condition, r->condition)))
        return;
    r->condition = a->condition;
    vec_push(&r->from, v);
}

static void search_node(Node *n, Operands *r)
{
    for (int i = 0; i < n->n_in; i++)
        look_at(n->in[i], r);
    EACH_NESTED (g, n) {
        for (Node *m = g->first; m; m = m->next)
            search_node(m, r);
        for (int i = 0; i < g->out.n; i++)
            look_at(g->out.at[i], r);
    }
}

static Graph *new_branch(Node *owner, int k)
{
    Graph *g = NEW_COPY(
        (Graph){.model = owner->graph->model, .parent = owner->graph, .owner = owner, .path = owner->graph->path});
    attr_set(owner, (Attr){.name = name(branch_names[k]), .type = A_GRAPH, .g = g});
    return g;
}

/* v as a node in g reads it. Integers are copied: sizes that the node takes from them are then known in this branch
 * alone, since in the other one they are undefined. */
static Value *inside(Graph *g, Value *v)
{
    if (alternatives_of(v) || v->data || type_is_float(v->type) || v->shape->rank > 1)
        return v;
    Node *n = node_new(g, "onnxcc.Inside", 1, &v, 1);
    node_insert(n, NULL);
    return n->out[0];
}

/* Sets the operands of the copy in g, branch k: alternative k, and the condition as a constant. */
static void choose_branch(Operands *r, const Node *n, Graph *g, int k)
{
    r->to.n = 0;
    EACH_OF (v, r->from) {
        for (const Alternatives *a; (a = alternatives_of(v)) && is_same_condition(a->condition, r->condition);)
            v = a->of[k];
        vec_push(&r->to, inside(g, v));
    }
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->type == B8 && is_same_condition(n->in[i], r->condition)) {
            vec_push(&r->from, n->in[i]);
            vec_push(&r->to, value_const(g, tensor_new_fill(B8, *n->in[i]->shape, &(uint8_t){k == 0})));
        }
}

/* An If before n, or at the end of g, on the condition of v's alternatives. */
static Node *begin_if(Graph *g, Node *n, const Value *v)
{
    const Alternatives *a = alternatives_of(v);
    Node *f = node_new(g, "If", 1, (Value *[]){a->condition}, 0);
    f->source = n ? n->source : a->by->source;
    f->name = n ? n->name : a->by->name;
    node_insert(f, n);
    return f;
}

/* The If takes over n's results that are used. */
static void take_results(Node *f, Node *n)
{
    f->out = NEWS(Value *, n->n_out);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            node_set_out(f, f->n_out++, n->out[i]);
    n->n_out = 0;
}

Node *alternatives_split(Node *n)
{
    enum { LIMIT = 10000 };
    Operands r = {.condition = NULL};
    if (!alternatives()->n)
        return n;
    search_node(n, &r);
    if (!r.condition || r.from.at[0]->poisoned)
        return n;
    if (++*copies() > LIMIT) {
        error_node(n, "LIM-01", "it would be copied more than %d times for branches of different rank", LIMIT);
        r.from.at[0]->poisoned = true;
        return n;
    }
    Node *f = begin_if(n->graph, n, r.from.at[0]);
    const int values = r.from.n;
    for (int k = 0; k < 2; k++, r.from.n = values) {
        Graph *g = new_branch(f, k);
        choose_branch(&r, n, g, k);
        Node *copy = node_copy(n, g, r.from.n, r.from.at, r.to.at);
        for (int i = 0; i < copy->n_out; i++)
            if (copy->out[i]) {
                copy->out[i]->desc = NULL; /* the If is compared with what is declared */
                graph_add_output(g, copy->out[i]);
            }
    }
    take_results(f, n);
    EACH_NESTED (g, n)
        graph_discard(g);
    node_remove(n);
    return f;
}

/* ---- outputs of graphs ------------------------------------------------------------------------------------------- */

static bool has_rank(const Value *v, int rank)
{
    const Alternatives *a = v->def ? NULL : alternatives_of(v);
    return a ? has_rank(a->of[0], rank) || has_rank(a->of[1], rank) : v->form != TENSOR || v->shape->rank == rank;
}

/* Those of v's alternatives that have the rank, as one value; NULL: none has. A list of sizes is a value of its own,
 * too. */
static Value *chosen(Graph *g, Value *v, int rank, TypeDesc *declared)
{
    const Alternatives *a = v->def ? NULL : alternatives_of(v);
    Value *of[2];
    if (!a)
        return has_rank(v, rank) ? v : NULL;
    for (int k = 0; k < 2; k++)
        of[k] = chosen(g, a->of[k], rank, NULL);
    if (!of[0] && !of[1])
        return NULL;
    Node *f = begin_if(g, NULL, v);
    f->n_out = 1;
    f->out = NEWS(Value *, 1);
    f->out[0] = value_new(g, v->name);
    f->out[0]->def = f;
    f->out[0]->desc = declared;
    for (int k = 0; k < 2; k++) {
        Graph *b = new_branch(f, k);
        const Value *like = of[k] ? of[k] : of[1 - k];
        Node *n = of[k] ? node_new(b, "Identity", 1, &of[k], 1) : node_new(b, "onnxcc.Fail", 0, NULL, 1);
        node_insert(n, NULL);
        if (!of[k])
            set_out(n, 0, like->type, *like->shape);
        graph_add_output(b, n->out[0]);
    }
    joint()->node = f;
    graph_add_output(g, f->out[0]); /* where a container will replace it */
    infer_node(f);
    Value *y = g->out.at[g->out.n - 1];
    graph_set_output(g, g->out.n - 1, NULL);
    g->out.n--;
    return y;
}

static void warn_choice(const Alternatives *a, const Value *v, int rank)
{
    warn_strict(node_place(a->by), "SUB-19",
                "the branches give results of different rank, %s and %s; the output '%s' has %d dimensions",
                shape_text(*first_of(a->of[0])->shape), shape_text(*first_of(a->of[1])->shape), printable(v->name),
                rank);
    note_help("should a branch of another rank be taken, the compiled model returns an error");
    help_freeze(a->condition);
}

void alternatives_choose(Graph *g, int i, int rank)
{
    Value *v = g->out.at[i];
    const Alternatives *a = alternatives_of(v);
    if (!a || v->def || v->poisoned)
        return;
    if (rank < 0 && v->desc && v->desc->form == TENSOR)
        rank = v->desc->shape.rank;
    if (!has_rank(v, rank))
        rank = first_of(v)->shape->rank;
    if (v->form == TENSOR)
        warn_choice(a, v, rank);
    graph_set_output(g, i, chosen(g, v, rank, v->desc));
}
