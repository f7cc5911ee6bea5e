/* memory.c - unit tests of compiler/memory: arenas whose smallest size is known; inputs of Concat and results of Slice in
 * the buffers of the whole; random graphs, in which no two buffers alive at the same time may overlap.
 * Parts: memory/plan, memory/share, memory/pitch, ir/call. */
#include <stdlib.h>
#include "unit.h"

#include "onnxcc.h"
#include "base/target.h"
#include "passes/passes.h"

/* Each model is a run of its own. */
static Model *model_new(void)
{
    session_end();
    session_begin();
    opt()->target = target_find("generic");
    Model *m = NEW(Model);
    m->file = "memory.onnx";
    m->base = name("memory");
    m->ir_version = 8;
    m->graph = NEW(Graph);
    m->graph->model = m;
    m->graph->name = name("g");
    m->graph->path = "graph";
    return m;
}

static Value *input_new(Model *m, Shape s)
{
    Value *v = value_new(m->graph, name_format("x%d", m->graph->in.n));
    v->type = F32;
    v->shape = shape_keep(s);
    v->desc = NEW(TypeDesc);
    *v->desc = (TypeDesc){.form = TENSOR, .elem = F32, .shape = s};
    v->input = m->graph->in.n;
    vec_push(&m->graph->in, v);
    return v;
}

static Value *add(Model *m, const char *op, int n_in, ...)
{
    Value *in[4];
    va_list list;
    va_start(list, n_in);
    for (int i = 0; i < n_in; i++)
        in[i] = va_arg(list, Value *);
    va_end(list);
    Node *n = node_new(m->graph, op, n_in, in, 1);
    node_insert(n, NULL);
    n->out[0]->name = name_format("v%d", n->out[0]->id);
    return n->out[0];
}

/* x (1, from) * w (from, to), which is no loop, so it is neither fused nor computed in place. */
static Value *product(Model *m, Value *x, int64_t from, int64_t to)
{
    float *w = NEWS(float, from *to);
    Tensor *t = tensor_new(F32, 2, (int64_t[]){from, to});
    for (int64_t i = 0; i < from * to; i++)
        w[i] = (float)(i % 7) - 3;
    t->data = w;
    return add(m, "MatMul", 2, x, value_const(m->graph, t));
}

static void plan_of(Model *m, Value *y)
{
    y->desc = NEW(TypeDesc);
    *y->desc = (TypeDesc){.form = TENSOR, .elem = F32, .shape = {.rank = -1}};
    vec_push(&m->graph->out, NULL);
    graph_set_output(m->graph, m->graph->out.n - 1, y);
    vec_push(&m->declared, y->name);
    infer_model(m);
    simplify_model(m);
    layout_model(m);
    bind_model(m);
    fuse_model(m);
    plan_model(m);
    stop_on_errors();
}

/* Only neighbours in a chain are alive together, so its arena is the largest sum of two. */
static void a_chain_needs_its_largest_pair(void **state)
{
    (void)state;
    static const int64_t size[] = {64, 128, 32, 256, 16, 512, 64, 64};
    Model *m = model_new();
    Value *v = input_new(m, shape_list(2, D(1), D(size[0])));
    for (int i = 1; i < 8; i++)
        v = product(m, v, size[i - 1], size[i]);
    plan_of(m, v);
    assert_int_equal(plan()->arena, (512 + 64) * 4);
    assert_int_equal(plan()->bound, plan()->arena);
}

/* Both products are computed in their halves of the concat. */
static void parts_of_a_concat_are_made_in_it(void **state)
{
    (void)state;
    Model *m = model_new();
    Value *x = input_new(m, shape_list(2, D(1), D(16)));
    Value *c = add(m, "Concat", 2, product(m, x, 16, 32), product(m, x, 16, 64));
    attr_set_int(c->def, "axis", 1);
    plan_of(m, product(m, c, 96, 16));
    const Node *concat = c->def;
    assert_true(concat->elided);
    for (int i = 0; i < 2; i++) {
        assert_ptr_equal(concat->in[i]->storage, c);
        assert_int_equal(dim_value(concat->in[i]->placement->offset), i * 32 * 4);
    }
    assert_int_equal(plan()->arena, 96 * 4);
}

/* A concat copies an input of the model, which is in the caller's buffer. */
static void an_input_is_copied(void **state)
{
    (void)state;
    Model *m = model_new();
    Value *x = input_new(m, shape_list(2, D(1), D(16)));
    Value *c = add(m, "Concat", 2, x, product(m, x, 16, 16));
    attr_set_int(c->def, "axis", 1);
    plan_of(m, product(m, c, 32, 16));
    assert_false(c->def->elided);
    assert_null(x->storage);
}

/* Each value reads one or two earlier ones. */
static Value *random_value(Model *m, Value **v, int n)
{
    Value *a = v[rand() % n], *b = v[rand() % n];
    switch (rand() % 4) {
    case 0: return add(m, "Relu", 1, a);
    case 1: return add(m, "Add", 2, a, b);
    case 2: return add(m, "Softmax", 1, a);
    default: return product(m, a, 64, 64);
    }
}

static void assert_apart(const Value *a, const Value *b)
{
    const bool together = a->live_from <= b->live_to && b->live_from <= a->live_to;
    if (together && !a->storage && !b->storage && a->offset >= 0 && b->offset >= 0)
        assert_true(a->offset + a->bytes <= b->offset || b->offset + b->bytes <= a->offset);
}

static void nothing_alive_overlaps(void **state)
{
    (void)state;
    enum { N = 30 };
    srand(1);
    for (int k = 0; k < 200; k++) {
        Value *v[N + 1];
        Model *m = model_new();
        v[0] = input_new(m, shape_list(2, D(1), D(64)));
        for (int i = 1; i <= N; i++)
            v[i] = random_value(m, v, i);
        plan_of(m, v[N]);
        for (const Node *a = m->graph->first; a; a = a->next)
            for (const Node *b = m->graph->first; b != a; b = b->next)
                assert_apart(a->out[0], b->out[0]);
        assert_true(plan()->bound <= plan()->arena);
    }
}

UNIT_TESTS(cmocka_unit_test(a_chain_needs_its_largest_pair), cmocka_unit_test(parts_of_a_concat_are_made_in_it),
           cmocka_unit_test(an_input_is_copied), cmocka_unit_test(nothing_alive_overlaps))
