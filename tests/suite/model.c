/* model.c - one test inside the compiler: compiles, emits and evaluates it, and describes the emitted C for call.c. */
#include "case.h"
#include "compile.h"
#include "suite.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLACK = 3 }; /* so much larger than a test's size is the bound of its run-time size, so that they differ */

typedef struct Case {
    const Test *t;
    Model *m;
    VEC(Data) data;     /* of the model's inputs; without a tensor: left out, it has a default */
    VEC(Value *) value; /* they belong to */
    Tensors in;         /* the same in the order of the C inputs */
    bool open;          /* an output has parts that a run may leave unwritten */
    const SizeField *size;
    int n_size;
} Case;

/* ---- reading --------------------------------------------------------------------------------------------------- */

static bool is_constant_input(const Value *v) { return v->data && !v->default_only; }

static bool is_frozen(const Value *v, const Result *r)
{
    for (int i = 0; i < r->n_frozen; i++)
        if (name_is(v->name, r->frozen[i]))
            return true;
    return false;
}

/* Inputs have files in graph order; those with an initializer have none. */
static void read_inputs(Case *c, const Result *r)
{
    for (int i = 0; i < r->n_bounded; i++)
        vec_push(&opt()->dims, ((struct DimOption){r->bounded[i], 0, BOUND, false}));
    if (r->all_bounded)
        opt()->all_dims = (struct DimOption){"", 0, BOUND_OF_ALL, false};
    Graph *g = c->m->graph;
    for (int i = 0, file = 0; i < g->in.n; i++) {
        Value *v = g->in.at[i];
        if (is_constant_input(v))
            continue;
        Data d = {.form = TENSOR};
        if (!v->default_only && !is_frozen(v, r) && !read_data(c->t, "input", file, form_of_type(v->desc), &d))
            fail(EXIT_IO, "no data for input %s", printable(v->name));
        if (!v->default_only)
            file++;
        if (is_frozen(v, r)) {
            const char *path = path_in(c->t->from, name_format("test_data_set_0/input_%d.pb", file - 1)->s);
            vec_push(&opt()->consts, ((struct ConstOption){v->name->s, path}));
            continue;
        }
        vec_push(&c->value, v);
        vec_push(&c->data, d);
    }
}

/* The maximum number of elements of a sequence and their largest sizes. */
static void give_bounds(const Value *v, const TypeDesc *type, const Data *d)
{
    struct ShapeOption o = {.input = v->name->s, .rank = 1, .dim = {d->n + SLACK}};
    const TypeDesc *of = type->of;
    for (int i = 0; i < d->n; i++)
        o.rank = d->item[i].t->rank >= o.rank ? d->item[i].t->rank + 1 : o.rank;
    if (of && of->shape.rank >= o.rank)
        o.rank = of->shape.rank + 1;
    for (int a = 1; a < o.rank; a++) {
        bool fixed = of && a <= of->shape.rank && dim_is_const(of->shape.dim[a - 1]);
        o.dim[a] = fixed ? dim_value(of->shape.dim[a - 1]) : SLACK;
        for (int i = 0; i < d->n && !fixed; i++)
            if (a <= d->item[i].t->rank && d->item[i].t->dim[a - 1] + SLACK > o.dim[a])
                o.dim[a] = d->item[i].t->dim[a - 1] + SLACK;
    }
    vec_push(&opt()->shapes, o);
}

static int64_t longest(const Tensor *t)
{
    int64_t n = 0;
    for (int64_t i = 0; i < tensor_count(t); i++)
        n = tensor_get_str(t, i)->n > n ? tensor_get_str(t, i)->n : n;
    return n;
}

/* Options as a user gives them: shapes of unranked inputs, bounds of run-time sizes. */
static void give_options(Case *c)
{
    static const Data none;
    for (int i = 0; i < c->data.n; i++) {
        const Value *v = c->value.at[i];
        const Data *d = &c->data.at[i];
        const TypeDesc *type = v->desc;
        if (d->form == OPTIONAL) {
            type = type->of;
            d = d->n ? d->item : &none;
        }
        if (type && type->form == SEQUENCE)
            give_bounds(v, type, d);
        if (d->form == MAP)
            vec_push(&opt()->dims, ((struct DimOption){name_format("%s_count", v->name->s)->s, 0,
                                                       (d->n ? tensor_count(d->item[0].t) : 0) + SLACK, false}));
        const Tensor *t = d->form == TENSOR ? d->t : NULL;
        if (t && v->shape->rank < 0) {
            struct ShapeOption o = {.input = v->name->s, .rank = t->rank};
            memcpy(o.dim, t->dim, sizeof *o.dim * (size_t)t->rank);
            vec_push(&opt()->shapes, o);
        }
        for (int a = 0; t && a < v->shape->rank && a < t->rank; a++) {
            Symbol *s = symbol_of(v->shape->dim[a]);
            if (s && s->high == INT64_MAX)
                s->high = t->dim[a] + SLACK;
        }
        if (t && t->type == STR)
            symbol_by_name(name_format("%s_text", v->name->s))->high = longest(t) + SLACK;
    }
}

static void forget_output_shapes(Model *m)
{
    for (int i = 0; i < m->graph->out.n; i++) {
        Value *y = m->graph->out.at[i];
        y->shape = shape_keep((Shape){.rank = -1});
        if (y->desc)
            y->desc->shape.rank = -1;
    }
}

static const Tensor *given(const Case *c, const Value *v)
{
    for (int i = 0; i < c->value.n; i++)
        if (c->value.at[i] == v)
            return c->data.at[i].t;
    return NULL;
}

/* Is the first output a draw of ones and zeros by n? Bernoulli's function body casts comparisons with
 * RandomUniformLike. */
static bool is_bernoulli(const Graph *g, const Node *n)
{
    const Node *last = g->out.at[0]->def;
    return (name_is(node_op(n), "Bernoulli") && last == n) ||
           (name_is(node_op(n), "RandomUniformLike") && last && name_is(node_op(last), "Cast"));
}

/* Finds whether outputs are random, by the operators in the model. */
static void find_kind(const Case *c, Result *r)
{
    for (Node *n = c->m->graph->first; n; n = n->next) {
        if (is_bernoulli(c->m->graph, n))
            r->kind = BERNOULLI;
        if (!name_is(node_op(n), "Dropout") || n->n_in < 3 || !n->in[2])
            continue;
        const Tensor *t[3] = {0}; /* data, ratio, training_mode */
        for (int i = 0; i < 3; i++)
            if (n->in[i])
                t[i] = n->in[i]->data ? n->in[i]->data : given(c, n->in[i]);
        double ratio = t[1] ? tensor_get(t[1], 0) : 0.5;
        if (ratio > 0 && t[2] && tensor_get_int(t[2], 0)) {
            r->kind = DROPOUT;
            r->ratio = ratio;
        }
    }
}

/* ---- the description for call.c ---------------------------------------------------------------------------------- */

/* Names begin with the test's, since several tests may be in one translation unit. */
static void put_ints(Text *s, const char *type, const char *what, int n, const int64_t *v)
{
    text_put(s, "static %s %s_case_%s[] = {", type, opt()->prefix, what);
    for (int i = 0; i < n; i++)
        text_put(s, "%lld, ", (long long)v[i]);
    text_put(s, "0};\n");
}

/* Run-time sizes are passed as an array; in the C they are fields of a struct. */
static void put_call(Text *s, const Case *c)
{
    const char *p = opt()->prefix, *comma = "";
    text_put(s,
             "static int %s_case_call(void *const *in, void *const *out, int64_t *size)\n"
             "{\n    (void)in;\n    (void)out;\n    (void)size;\n",
             p);
    if (c->n_size)
        text_put(s, "    struct %s_sizes s;\n", p);
    for (int i = 0; i < c->n_size; i++)
        text_put(s, "    s.%s = size[%d];\n", c->size[i].name, i);
    text_put(s, "    int status = %s_run(", p);
    for (int i = 0; i < c->in.n; i++, comma = ", ")
        text_put(s, "%sin[%d]", comma, i);
    for (int i = 0; i < c->m->graph->out.n; i++, comma = ", ")
        text_put(s, "%sout[%d]", comma, i);
    text_put(s, "%s);\n", c->n_size ? ", &s" : "");
    for (int i = 0; i < c->n_size; i++)
        text_put(s, "    size[%d] = s.%s;\n", i, c->size[i].name);
    text_put(s, "    return status;\n}\n");
}

/* The run-time size that dimension k of an output is. */
static int size_of(const Case *c, const Value *y, int k)
{
    for (int i = 0; i < c->n_size; i++)
        if (c->size[i].symbol ? c->size[i].symbol == symbol_of(y->shape->dim[k])
                              : c->size[i].out == y && c->size[i].axis == k)
            return i;
    bug("the size of dimension %d of output %s is not in the interface", k, printable(y->name));
}

static void put_dims(Text *s, const Case *c)
{
    text_put(s,
             "static void %s_case_dims(const int64_t *size, int64_t (*dim)[CASE_RANK])\n"
             "{\n    (void)size;\n    (void)dim;\n",
             opt()->prefix);
    for (int i = 0; i < c->m->graph->out.n; i++) {
        const Value *y = c->m->graph->out.at[i];
        for (int k = 0; k < y->shape->rank; k++)
            if (dim_is_const(y->shape->dim[k]))
                text_put(s, "    dim[%d][%d] = %lld;\n", i, k, (long long)dim_value(y->shape->dim[k]));
            else
                text_put(s, "    dim[%d][%d] = size[%d];\n", i, k, size_of(c, y, k));
    }
    text_put(s, "}\n");
}

/* Is output i the slots of an open sequence? */
static bool is_open(int i)
{
    const InterfaceGroup *groups;
    for (int k = interface_groups(true, &groups); k-- > 0;)
        if (groups[k].first == i && groups[k].n > 0)
            return strchr(form_of_container(groups[k].ctype), 'o') != NULL;
    return false;
}

/* Bytes of the unit that has a byte order; lengths of strings are swapped when they are read. */
static int64_t unit_of(Type t)
{
    const bool complex = t == C64 || t == C128;
    return t == STR || type_bits(t) < 8 ? 1 : type_bits(t) / (complex ? 16 : 8);
}

static Text describe(const Case *c, const Result *r)
{
    enum { MAX_VALUES = 1024 };
    Graph *g = c->m->graph;
    int64_t in_bytes[MAX_VALUES], in_strings[MAX_VALUES], in_type[MAX_VALUES], in_rank[MAX_VALUES], in_unit[MAX_VALUES],
        out_bytes[MAX_VALUES], out_type[MAX_VALUES], out_bits[MAX_VALUES], out_unit[MAX_VALUES], out_rank[MAX_VALUES],
        out_open[MAX_VALUES], size[MAX_VALUES];
    if (c->in.n > MAX_VALUES || g->out.n > MAX_VALUES || c->n_size > MAX_VALUES)
        fail(EXIT_MODEL, "too many inputs or outputs for the tests");
    for (int i = 0; i < c->in.n; i++) {
        const Tensor *t = c->in.at[i];
        in_bytes[i] = t ? (int64_t)tensor_size(t) : -1;
        in_type[i] = t ? (int64_t)t->type : 0;
        in_rank[i] = t ? t->rank : 0;
        in_unit[i] = t ? unit_of(t->type) : 1;
        in_strings[i] = t && t->type == STR ? tensor_count(t) : -1;
    }
    for (int i = 0; i < g->out.n; i++) {
        const Value *y = g->out.at[i];
        int64_t count = 1;
        for (int k = 0; k < y->shape->rank; k++)
            count *= dim_high(y->shape->dim[k]);
        out_bytes[i] = (int64_t)type_bytes(y->type, count);
        out_type[i] = y->type;
        out_bits[i] = type_bits(y->type);
        out_unit[i] = unit_of(y->type);
        out_rank[i] = y->shape->rank;
        out_open[i] = is_open(i);
    }
    for (int i = 0; i < c->n_size; i++) {
        const struct Origin *o = c->size[i].symbol ? &c->size[i].symbol->origin : NULL;
        size[i] = o && o->kind == ORIGIN_INPUT ? c->in.at[o->value->input]->dim[o->index] : 0;
    }
    Text s = {0};
    text_put(&s, "#include \"case.h\"\n#include \"m.c\"\n");
    put_ints(&s, "const int64_t", "in_bytes", c->in.n, in_bytes);
    put_ints(&s, "const int64_t", "in_strings", c->in.n, in_strings);
    put_ints(&s, "const int", "in_type", c->in.n, in_type);
    put_ints(&s, "const int", "in_rank", c->in.n, in_rank);
    put_ints(&s, "const int", "in_unit", c->in.n, in_unit);
    put_ints(&s, "const int64_t", "out_bytes", g->out.n, out_bytes);
    put_ints(&s, "const int", "out_type", g->out.n, out_type);
    put_ints(&s, "const int", "out_bits", g->out.n, out_bits);
    put_ints(&s, "const int", "out_unit", g->out.n, out_unit);
    put_ints(&s, "const int", "out_rank", g->out.n, out_rank);
    put_ints(&s, "const int", "out_open", g->out.n, out_open);
    put_ints(&s, "int64_t", "sizes", c->n_size, size);
    put_call(&s, c);
    put_dims(&s, c);
    static const char *const fields[] = {"in_bytes",  "in_strings", "in_type",  "in_rank",  "in_unit",
                                         "out_bytes", "out_type",   "out_bits", "out_unit", "out_rank",
                                         "out_open",  "sizes",      "call",     "dims"};
    text_put(&s,
             "extern const struct suite_case SUITE_CASE;\n"
             "const struct suite_case SUITE_CASE = {%d, %d, %d, %d",
             c->in.n, g->out.n, c->n_size, r->kind == COMPARED && !c->open);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        text_put(&s, ", %s_case_%s", opt()->prefix, fields[i]);
    text_put(&s, "};\n");
    return s;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static FILE *open_out(const Test *t, const char *file)
{
    FILE *f = fopen(path_in(t->dir, file), "wb");
    if (!f)
        fail(EXIT_IO, "cannot write %s/%s", t->dir, file);
    return f;
}

/* In the file's form: *n bytes. */
static const char *contents(const Tensor *t, size_t *n)
{
    const void *data = tensor_data(t);
    if (t->type == STR)
        *n = (size_t)case_put_strings(data, tensor_count(t), NULL);
    else
        *n = tensor_size(t);
    char *copy = malloc(*n + 1);
    if (t->type == STR)
        case_put_strings(data, tensor_count(t), copy);
    else {
        memcpy(copy, data, *n);
        case_clear_padding(copy, tensor_count(t) * type_bits(t->type));
    }
    return copy;
}

/* The inputs as the compiled model takes them; the forms of its outputs. */
static void use_groups(Case *c)
{
    const InterfaceGroup *groups;
    int n = interface_groups(false, &groups);
    for (int i = 0; i < n; i++)
        if (c->data.at[i].form == TENSOR)
            vec_push(&c->in, c->data.at[i].t);
        else
            data_components(&c->data.at[i], groups[i].ctype, printable(groups[i].name), &c->in);
    FILE *f = open_out(c->t, "forms");
    n = interface_groups(true, &groups);
    for (int i = 0; i < n; i++) {
        const char *form = form_of_container(groups[i].ctype);
        fprintf(f, "%s%s", i ? " " : "", form);
        c->open |= strpbrk(form, "o?") != NULL;
    }
    fclose(f);
}

static void write_inputs(const Case *c)
{
    FILE *f = open_out(c->t, "in.bin");
    for (int i = 0; i < c->in.n; i++) {
        const Tensor *t = c->in.at[i];
        size_t n = 0;
        const char *bytes = t ? contents(t, &n) : NULL;
        if (t)
            fwrite(bytes, 1, n, f);
    }
    fclose(f);
}

static void evaluate(const Case *c)
{
    int n = c->m->graph->out.n;
    Tensor **out = NEWS(Tensor *, n + 1);
    eval_graph(c->m, (Tensor *const *)c->in.at, out);
    FILE *f = open_out(c->t, "out.eval");
    for (int i = 0; i < n; i++) {
        size_t size;
        if (out[i]->type == STR && is_open(i))
            case_clear_unused((void *)(uintptr_t)out[i]->data, out[i]->dim, out[i + 1]->data, out[i + 1]->dim,
                              tensor_get_int(out[i + 2], 0));
        const char *bytes = contents(out[i], &size);
        case_write(f, out[i]->type, out[i]->rank, out[i]->dim, bytes, (int64_t)size);
    }
    fclose(f);
}

void compile_case(const Test *t, Result *r)
{
    Case c = {.t = t};
    const char *version = strchr(t->name, '/');
    session_begin();
    *opt() = (Options){.model = path_in(t->from, "model.onnx"),
                       .output = path_in(t->dir, "m.c"),
                       .prefix = version ? version + 1 : t->name,
                       .target = target_find(set.target ? set.target : "generic"),
                       .weights = set.incbin ? WEIGHTS_INCBIN : WEIGHTS_INLINE,
                       .single = set.single,
                       .channel_block = (int64_t)t->channel_block};
    c.m = parse_model(opt()->model);
    read_inputs(&c, r);
    find_kind(&c, r);
    give_options(&c);
    if (set.symbolic_outputs)
        forget_output_shapes(c.m);
    compile_model(c.m);
    emit_files(c.m);
    if (set.c_only)
        return;
    c.n_size = emitted_sizes(&c.size);
    use_groups(&c);
    write_inputs(&c);
    Text s = describe(&c, r);
    FILE *f = open_out(t, "case.c");
    fwrite(s.s, 1, s.n, f);
    fclose(f);
    r->emitted = true;
    evaluate(&c);
}
