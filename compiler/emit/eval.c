/* eval.c - runs a planned model inside the compiler, with the arena and the calls of the emitted code. */
#include <stdlib.h>
#include <unistd.h>

#include "base/options.h"
#include "base/output.h"
#include "emit/eval.h"
#include "ir/difference.h"
#include "ir/exec.h"
#include "ir/ops.h"
#include "ir/scope.h"
#include "memory/plan.h"
#include "read/read.h"
#include "passes/container.h"
#include "rt.h"

typedef struct Eval {
    Model *m;
    Tensor *const *in;
    void **out; /* buffers of the graph's outputs */
    unsigned char *arena;
} Eval;

static void *bytes_of(Value *v, void *arg)
{
    const Eval *e = arg;
    if (v->data && !v->data->symbolic)
        return (void *)(uintptr_t)tensor_data(v->data);
    if (v->storage)
        return (unsigned char *)bytes_of(v->storage, arg) + dim_eval(v->placement->offset);
    if (v->input >= 0)
        return (void *)(uintptr_t)tensor_data(e->in[v->input] ? e->in[v->input] : v->fallback);
    for (int i = 0; i < e->m->graph->out.n; i++)
        if (e->m->graph->out.at[i] == v)
            return e->out[i];
    return e->arena + v->offset;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void set_symbol(Symbol *s, int64_t v)
{
    if (v < s->low || v > s->high)
        fail_as(EXIT_MODEL, "EVA-01", "size %lld of '%s' is outside %lld to %lld", (long long)v, printable(s->name),
                (long long)s->low, (long long)s->high);
    s->value = v;
    s->known = true;
}

/* Sets the symbols whose origin is v, after it was computed. */
static void read_elements(Eval *e, Value *v)
{
    for (Symbol *s = symbols_of(v); s; s = s->next) {
        Tensor t = {.type = v->type, .data = bytes_of(v, e)};
        const bool there = dim_eval(shape_count(*v->shape)) > s->origin.index; /* otherwise as in emit_sizes.c */
        set_symbol(s, there ? rt_size(tensor_get_int(&t, s->origin.index)) : 0);
    }
}

static void read_inputs(Eval *e)
{
    Graph *g = e->m->graph;
    EACH_OF (v, g->in) {
        if (v->input < 0 || v->form != TENSOR)
            continue;
        const Tensor *t = e->in[v->input] ? e->in[v->input] : v->fallback;
        if (t->type != v->type || t->rank != v->shape->rank)
            fail_as(EXIT_MODEL, "EVA-01", "input '%s' is %s %s, not %s of rank %d", printable(v->name),
                    type_onnx(v->type), shape_text(*v->shape), type_onnx(t->type), t->rank);
        for (int k = 0; k < t->rank; k++)
            if (symbol_of(v->shape->dim[k]))
                set_symbol(symbol_of(v->shape->dim[k]), t->dim[k]);
        for (int k = 0; k < t->rank; k++)
            if (dim_eval(v->shape->dim[k]) != t->dim[k])
                fail_as(EXIT_MODEL, "EVA-01", "input '%s' has %lld in dimension %d, the model %s", printable(v->name),
                        (long long)t->dim[k], k, shape_text(*v->shape));
        read_elements(e, v);
    }
}

/* Checks the sizes of an input sequence's elements. */
static void check_elements(Eval *e, const InterfaceGroup *group)
{
    const ContainerType *b = group_sequence(group);
    Value *const *part = e->m->graph->in.at + group->first;
    int width = sequence_width(b);
    if (part[1]->input < 0 || part[2]->input < 0 || (group->n > 3 && !*(const uint8_t *)bytes_of(part[3], e)))
        return;
    const int64_t *dims = bytes_of(part[1], e), count = *(const int64_t *)bytes_of(part[2], e);
    if (count < 0 || count > b->max_count)
        fail_as(EXIT_MODEL, "EVA-01", "the sequence '%s' has %lld elements, not 0 to %lld", printable(group->name),
                (long long)count, (long long)b->max_count);
    int64_t min, max;
    for (int k = 0; k < width && find_element_limits(group, k, &min, &max); k++)
        for (int64_t i = 0; i < count; i++)
            if (dims[i * width + k] < min || dims[i * width + k] > max)
                fail_as(EXIT_MODEL, "EVA-01", "element %lld of '%s' has size %lld in dimension %d", (long long)i,
                        printable(group->name), (long long)dims[i * width + k], k);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void eval_nodes(Eval *e, Graph *g);

static void start_symbol(Symbol *s, void *arg)
{
    (void)arg;
    s->value = symbol_start(s);
    s->known = false;
}

static void forget_symbols(const Graph *g)
{
    for (Symbol *s = symbols_born_in(g); s; s = s->beside)
        s->known = false;
}

#define stop_at(n, ...) (error_node(n, "OPR-04", __VA_ARGS__), stop_on_errors())

/* Checks that all slices of a scan output have the size of the first one, which is recorded in `size`. */
static void check_stacked(const Node *n, const Dims *stacked, int64_t iteration, int64_t *size)
{
    for (int i = 0; i < stacked->n; i++) {
        int64_t now = dim_eval(stacked->at[i]);
        if (iteration && now != size[i])
            stop_at(n, "at run time: the slices of a scan output differ in size: %lld and %lld", (long long)size[i],
                    (long long)now);
        size[i] = now;
    }
}

static void eval_if(Eval *e, Node *n)
{
    Graph *g = node_attr(n, *(const uint8_t *)bytes_of(n->in[0], e) ? "then_branch" : "else_branch")->g;
    forget_symbols(g);
    eval_nodes(e, g);
}

static void eval_loop(Eval *e, Node *n)
{
    Graph *g = node_attr(n, "body")->g;
    Symbol *trips = n->call.n_size ? n->call.size[0] : NULL;
    int64_t max = n->in[0] ? *(const int64_t *)bytes_of(n->in[0], e) : INT64_MAX, iteration = 0;
    bool on = !n->in[1] || *(const uint8_t *)bytes_of(n->in[1], e);
    const Dims stacked = stacked_sizes(n);
    int64_t *size = NEWS(int64_t, stacked.n);
    for (; on && iteration < max; iteration++) {
        forget_symbols(g);
        if (trips)
            set_symbol(trips, iteration + 1);
        for (Symbol *s = symbols_of(g->in.at[0]); s; s = s->next)
            set_symbol(s, iteration);
        if (g->in.at[0]->def) /* otherwise it is not read and has no storage */
            *(int64_t *)bytes_of(g->in.at[0], e) = iteration;
        if (g->in.at[1]->def)
            *(uint8_t *)bytes_of(g->in.at[1], e) = 1;
        eval_nodes(e, g);
        check_stacked(n, &stacked, iteration, size);
        for (int i = n->n_in - 2; i < n->n_out; i++) {
            Value *b = g->out.at[i + 1];
            int64_t count = dim_eval(shape_count(*b->shape));
            size_t bytes = type_bytes(b->type, count);
            if (n->out[i] && type_bits(b->type) % 8)
                rt_stack(bytes_of(n->out[i], e), iteration, bytes_of(b, e), count, type_bits(b->type));
            else if (n->out[i])
                memcpy((char *)bytes_of(n->out[i], e) + (size_t)iteration * bytes, bytes_of(b, e), bytes);
        }
        on = *(const uint8_t *)bytes_of(g->out.at[0], e);
    }
    pool_free(size, sizeof *size * (size_t)stacked.n);
    pool_free(stacked.at, sizeof *stacked.at * (size_t)stacked.cap);
    if (trips)
        set_symbol(trips, iteration);
}

/* Is v the iteration's number? The loop has set its size, and its bytes may be those of another value if nothing reads
 * them. */
static bool is_iteration(const Value *v)
{
    const Graph *g = v->graph;
    return g->owner && node_attr(g->owner, "body") && g->in.n && g->in.at[0] == v;
}

static void eval_node(Eval *e, Node *n)
{
    if (n->elided)
        ;
    else if (n->op->flags & CONTROL) {
        symbols_inside(n, start_symbol, NULL);
        (node_attr(n, "body") ? eval_loop : eval_if)(e, n);
        symbols_end(n);
    } else if (n->op->flags & CUSTOM)
        stop_at(n, "a custom operator's function exists only in the C program");
    else if (n->call.kernel || n->call.loop) {
        int status = run_call(n, bytes_of, e, dim_is(n->call.scratch, 0) ? NULL : e->arena + n->scratch_offset);
        if (status)
            stop_at(n, "at run time: %s",
                    status == RT_BAD_INDEX  ? "an index is outside its range"
                    : status == RT_BAD_SIZE ? "a size is outside its bounds"
                                            : "a value is outside its range");
        for (int i = 0; i < n->call.n_size; i++)
            set_symbol(n->call.size[i], n->call.size[i]->value);
    }
    EACH_OUT (v, n)
        if (v->form == TENSOR && !is_iteration(v))
            read_elements(e, v);
}

/* Checks, and removes, the assumptions whose sizes are known. */
static void check_assumptions(Assumptions *assumed)
{
    for (const Assumption *a; (a = assumption_to_check(assumed)) != NULL;)
        if (dim_eval(a->d) != dim_eval(a->is) || !rt_wide_fits(dim_eval(a->d)))
            fail_as(EXIT_MODEL, "EVA-01", "%s \"%s\" turned out to have another shape than declared", a->n->op->name,
                    printable(a->n->name));
}

static void eval_nodes(Eval *e, Graph *g)
{
    Assumptions assumed = assumptions_of(g);
    check_assumptions(&assumed);
    for (Node *n = g->first; n; n = n->next) {
        eval_node(e, n);
        check_assumptions(&assumed);
    }
}

void eval_check(Model *m, Tensor *const *in)
{
    Eval e = {.m = m, .in = in};
    scopes_begin();
    read_inputs(&e);
}

void eval_graph(Model *m, Tensor *const *in, Tensor **out)
{
    Graph *g = m->graph;
    Eval e = {.m = m, .in = in, .out = NEWS(void *, g->out.n + 1)};
    e.arena = big_alloc((size_t)plan()->arena);
    memset(e.arena, 0xA5, (size_t)plan()->arena);
    for (int i = 0; i < g->out.n; i++)
        e.out[i] = pool_alloc(ELEMENTS_ROOM(max_bytes(g->out.at[i])));
    scopes_begin();
    read_inputs(&e);
    const InterfaceGroup *groups;
    int n = interface_groups(false, &groups);
    for (int i = 0; i < n; i++)
        if (group_sequence(&groups[i]))
            check_elements(&e, &groups[i]);
    eval_nodes(&e, g);
    bool strings = false;
    for (int i = 0; i < g->out.n; i++) {
        const Value *v = g->out.at[i];
        Tensor *t = out[i] = NEW(Tensor);
        t->type = v->type;
        t->rank = v->shape->rank;
        int64_t dim[MAX_RANK];
        for (int k = 0; k < t->rank; k++)
            dim[k] = dim_eval(v->shape->dim[k]);
        t->dim = dims_keep(t->rank, dim);
        t->data = e.out[i];
        strings |= t->type == STR;
    }
    if (!strings) /* their text is in the arena */
        big_free(e.arena);
}

/* ---- --eval ------------------------------------------------------------------------------------------------------ */

void put_field(Text *b, const char *tag, uint64_t v)
{
    text_bytes(b, tag, 1);
    do {
        unsigned char c = (unsigned char)((v & 127) | (v > 127 ? 128 : 0));
        text_bytes(b, &c, 1);
    } while (v >>= 7);
}

/* A TensorProto up to the bytes of its elements, of which there are n. */
static size_t put_head(Text *b, const Tensor *t)
{
    const size_t n = t->type == STR ? 0 : tensor_size(t);
    for (int i = 0; i < t->rank; i++)
        put_field(b, "\x08", (uint64_t)t->dim[i]); /* dims = 1 */
    put_field(b, "\x10", (uint64_t)t->type);       /* data_type = 2 */
    if (t->type != STR)
        put_field(b, "\x4a", n); /* raw_data = 9 */
    for (int64_t i = 0; t->type == STR && i < tensor_count(t); i++) {
        const str *s = (const str *)t->data + i;
        put_field(b, "\x32", s->length); /* string_data = 6 */
        text_bytes(b, s->text, (size_t)s->length);
    }
    return n;
}

void put_tensor_proto(Text *b, const Tensor *t)
{
    const size_t n = put_head(b, t);
    text_bytes(b, tensor_data(t), n);
}

static void write_tensor(const char *file, const Tensor *t)
{
    Text b = {0};
    const size_t n = put_head(&b, t);
    Output *o = output_open(file);
    output_write(o, b.s, b.n);
    output_write(o, t->data, n);
}

/* Prints an output, and how far it is from what the file has; false: too far. */
static bool compare_output(Text *t, const Data *got, const InterfaceGroup *group, const char *file)
{
    text_put(t, "%s: %s", printable(group->name), data_text(got));
    if (access(file, F_OK)) {
        text_put(t, "; nothing to compare with\n");
        return true;
    }
    const Data expected = read_data_file(file, group->declared);
    const Difference d = data_difference(got, &expected, opt()->tolerance);
    text_put(t, ", ");
    put_difference(t, &d);
    if (d.count)
        text_put(t, ", first at %s", d.first);
    text_put(t, "\n");
    return is_alike(&d);
}

/* Compares the outputs with DIR/output_I.pb, as far as they are the model's own. */
static int compare_outputs(Tensor *const *out, const char *dir)
{
    const InterfaceGroup *groups;
    const int n = interface_groups(true, &groups);
    int different = 0;
    Text t = {.to = output_open("-")};
    for (int i = 0; i < n; i++) {
        Tensor *const *part = out + groups[i].first;
        const Data got = data_of_components(groups[i].ctype, &part);
        different +=
            !compare_output(&t, &got, &groups[i], opt()->untils.n ? "" : text_format("%s/output_%d.pb", dir, i));
    }
    text_flush(&t);
    return different;
}

/* DIR/input_I.pb is input I of the model; or, if there are so many files, parameter I of the C. */
static void read_files(const Model *m, const char *dir, int n, Tensor **in)
{
    const InterfaceGroup *groups;
    const int n_groups = interface_groups(false, &groups);
    const bool parameters = n == n_groups || !access(text_format("%s/input_%d.pb", dir, n - 1), F_OK);
    for (int i = 0; i < n && parameters; i++)
        in[i] = read_tensor_file(text_format("%s/input_%d.pb", dir, i));
    for (int i = 0; i < n_groups && !parameters; i++) {
        const Data d = read_data_file(text_format("%s/input_%d.pb", dir, i), groups[i].declared);
        Tensors part = {0};
        data_components(&d, groups[i].ctype, printable(groups[i].name), &part);
        for (int k = 0; k < part.n; k++)
            in[m->graph->in.at[groups[i].first + k]->input] = part.at[k];
    }
}

void eval_model(Model *m, const char *dir)
{
    Graph *g = m->graph;
    int n = 0;
    for (int i = 0; i < g->in.n; i++)
        n += g->in.at[i]->input >= 0;
    Tensor **in = NEWS(Tensor *, n + 1), **out = NEWS(Tensor *, g->out.n + 1);
    read_files(m, dir, n, in);
    eval_graph(m, in, out);
    for (int i = 0; opt()->eval_out && i < g->out.n; i++)
        write_tensor(text_format("%s/actual_%d.pb", opt()->eval_out, i), out[i]);
    const int different = compare_outputs(out, dir);
    output_commit();
    if (different)
        fail_as(EXIT_MODEL, "EVA-02", "%d of %d outputs differ from those in %s", different, m->declared.n, dir);
}
