/* attempt.c - an attempt of onnxcc verify: compiles a model in a separate session, builds the C and runs
 * it. */
#include "verify/verify.h"

#include <stdlib.h>

#include "arguments.h"
#include "base/codes.h"
#include "base/options.h"
#include "base/output.h"
#include "base/process.h"
#include "compile.h"
#include "emit/eval.h"
#include "emit/report.h"
#include "emit/source.h"
#include "passes/container.h"
#include "read/read.h"
#include "rt.h"

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static bool is_given(Name size)
{
    for (int i = 0; i < opt()->dims.n; i++)
        if (name_is(size, opt()->dims.at[i].name))
            return true;
    return false;
}

static bool has_shape(Name input)
{
    for (int i = 0; i < opt()->shapes.n; i++)
        if (name_is(input, opt()->shapes.at[i].input))
            return true;
    return false;
}

/* Collects the tensors of an input's data: all elements of a sequence; of a map its values (key 0) or its keys (1). */
static void gather(const Data *d, int key, Tensors *to)
{
    if (d->form == TENSOR && d->t)
        vec_push(to, d->t);
    for (int i = 0; i < d->n; i++)
        if (d->form != MAP || i == key)
            gather(&d->item[i], key, to);
}

static Tensors given_tensors(const Value *v, const DataSets *data, int key)
{
    Tensors all = {0};
    for (int i = 0; i < data->set.n; i++) {
        const Data *d = data_named(&data->set.at[i], v->name->s);
        if (d)
            gather(d, key, &all);
    }
    return all;
}

static void bound_size(Name size, int64_t low, int64_t high)
{
    if (!is_given(size))
        vec_push(&opt()->dims, ((struct DimOption){size->s, low == high ? low : 0, high, true}));
}

/* Gives an open dimension the size that the data sets have, or their largest as its bound. */
static void size_by_data(Name size, int k, const Tensors *all)
{
    int64_t low = INT64_MAX, high = -1;
    for (int i = 0; i < all->n; i++) {
        const Tensor *t = all->at[i];
        if (k >= t->rank)
            continue;
        low = t->dim[k] < low ? t->dim[k] : low;
        high = t->dim[k] > high ? t->dim[k] : high;
    }
    if (high >= 0)
        bound_size(size, low, high);
}

static void text_by_data(const Tensors *all, const char *component)
{
    uint64_t high = 8; /* the length of random strings */
    for (int i = 0; i < all->n; i++)
        for (int64_t k = 0; all->at[i]->type == STR && k < tensor_count(all->at[i]); k++)
            high = ((const str *)all->at[i]->data)[k].length > high ? ((const str *)all->at[i]->data)[k].length : high;
    bound_size(name_format("%s_text", component), 0, (int64_t)high);
}

/* An input of unknown rank has the shape that it has in the first data set. */
static void shape_by_data(const Value *v, const Tensors *all)
{
    if (!all->n)
        return;
    struct ShapeOption o = {.input = v->name->s, .rank = all->at[0]->rank};
    memcpy(o.dim, all->at[0]->dim, sizeof *o.dim * (size_t)o.rank);
    vec_push(&opt()->shapes, o);
}

static int length_of(const Data *d) { return !d ? 0 : d->form == OPTIONAL ? (d->n ? length_of(d->item) : 0) : d->n; }

/* The length of the longest sequence, and the largest sizes of an element. */
static void sequence_by_data(const Value *v, const TypeDesc *of, const DataSets *data, const Tensors *all)
{
    struct ShapeOption o = {.input = v->name->s, .rank = of->shape.rank < 0 ? 1 : of->shape.rank + 1};
    for (int i = 0; i < data->set.n; i++) {
        const int n = length_of(data_named(&data->set.at[i], v->name->s));
        o.dim[0] = n > o.dim[0] ? n : o.dim[0];
    }
    for (int k = 0; k < of->shape.rank; k++)
        o.dim[k + 1] = dim_is_const(of->shape.dim[k]) ? dim_value(of->shape.dim[k]) : 0;
    for (int i = 0; i < all->n; i++)
        for (int k = 0; k < all->at[i]->rank && k + 1 < MAX_RANK; k++) {
            o.rank = k + 2 > o.rank ? k + 2 : o.rank;
            o.dim[k + 1] = all->at[i]->dim[k] > o.dim[k + 1] ? all->at[i]->dim[k] : o.dim[k + 1];
        }
    if (!data->random)
        vec_push(&opt()->shapes, o);
}

static void tensor_by_data(const Value *v, const TypeDesc *d, const Tensors *all)
{
    if (d->shape.rank < 0)
        shape_by_data(v, all);
    for (int k = 0; k < d->shape.rank && !opt()->all_dims.name; k++)
        if (!dim_is_const(d->shape.dim[k]))
            size_by_data(d->dim_param[k] ? d->dim_param[k] : name_format("%s_%d", v->name->s, k), k, all);
}

static void input_by_data(const Value *v, const TypeDesc *d, const DataSets *data)
{
    const Tensors all = given_tensors(v, data, 0);
    if (d->form == OPTIONAL && d->of)
        input_by_data(v, d->of, data);
    else if (d->form == TENSOR && d->elem == STR)
        text_by_data(&all, v->name->s);
    if (d->form == TENSOR)
        tensor_by_data(v, d, &all);
    if (d->form == SEQUENCE && d->of && d->of->form == TENSOR) {
        sequence_by_data(v, d->of, data, &all);
        if (d->of->elem == STR)
            text_by_data(&all, v->name->s);
    }
    if (d->form != MAP)
        return;
    const Tensors keys = given_tensors(v, data, 1);
    size_by_data(name_format("%s_count", v->name->s), 0, &all);
    if (d->of && d->of->elem == STR)
        text_by_data(&all, v->name->s);
    if (d->key == STR)
        text_by_data(&keys, text_format("%s_keys", v->name->s));
}

/* Sets the sizes of inputs that the options leave open. */
static void sizes_by_data(const Model *m, const DataSets *data)
{
    for (int i = 0; i < m->graph->in.n; i++) {
        const Value *v = m->graph->in.at[i];
        if (v->desc && !has_shape(v->name) && (v->form != TENSOR || v->input >= 0))
            input_by_data(v, v->desc, data);
    }
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

/* Text before verify_model.c: the model's C, and how to call it. */
static void write_program(const Model *m, const char *folder)
{
    const SizeField *size;
    const int n_sizes = emitted_sizes(&size);
    Text t = {0}, call = {0};
    int n_in = 0;
    for (int i = 0; i < m->graph->in.n; i++)
        if (m->graph->in.at[i]->input >= 0)
            text_put(&call, "%sin[%d]", n_in ? ", " : "", n_in), n_in++;
    text_put(
        &t,
        "#include \"model.c\"\n#include <stddef.h>\nenum { VERIFY_INPUTS = %d, VERIFY_OUTPUTS = %d, VERIFY_SIZES = %d };\n",
        n_in, m->graph->out.n, n_sizes);
    text_put(&t, "static const size_t verify_bytes[] = {");
    for (int i = 0; i < m->graph->out.n; i++)
        text_put(&t, "%lld, ", (long long)max_bytes(m->graph->out.at[i]));
    text_put(&t, "0};\nstatic const char verify_text[] = {");
    for (int i = 0; i < m->graph->out.n; i++) {
        text_put(&t, "%d, ", m->graph->out.at[i]->type == STR);
        text_put(&call, "%sout[%d]", call.n ? ", " : "", i);
    }
    text_put(&t, "0};\nstatic int VERIFY_CALL(void *const *in, void *const *out, int64_t *sizes)\n{\n"
                 "    (void)in, (void)out, (void)sizes;\n");
    if (n_sizes)
        text_put(&t, "    struct model_sizes s;\n");
    for (int i = 0; i < n_sizes; i++)
        text_put(&t, "    s.%s = sizes[%d];\n", size[i].name, i);
    text_put(&t, "    const int status = model_run(%s%s%s);\n", call.n ? call.s : "", call.n && n_sizes ? ", " : "",
             n_sizes ? "&s" : "");
    for (int i = 0; i < n_sizes; i++)
        text_put(&t, "    sizes[%d] = s.%s;\n", i, size[i].name);
    text_put(&t, "    return status;\n}\n\n%s", embedded_text("verify_model.c"));
    file_write(text_format("%s/program.c", folder), t.s, t.n);
}

/* False: p->failure says why. */
static bool build(Attempt *p)
{
    const char *const command =
        text_format(p->profile ? "exec ${CC:-cc} ${CFLAGS--O3} %s -DMODEL_PROFILE -DMODEL_CLOCK \"$@\""
                               : "exec ${CC:-cc} ${CFLAGS--O2} %s \"$@\"",
                    opt()->target->cflags);
    const char *const words[] = {
        "sh",  "-c", command, "sh", "-o", text_format("%s/program", p->folder), text_format("%s/program.c", p->folder),
        "-lm", NULL};
    const Ended e = run_program(words, p->folder, NULL, 0);
    if (e.how == EXITED && e.code == 0)
        return true;
    snprintf(p->failure, sizeof p->failure, "the C compiler ($CC) %s\n%s", ended_text(&e), e.said);
    return false;
}

/* ---- a data set -------------------------------------------------------------------------------------------------- */

static Data random_data(const ContainerType *b, int64_t below, uint64_t *state)
{
    int64_t dim[MAX_RANK];
    if (b->form == TENSOR) {
        for (int k = 0; k < b->shape.rank; k++)
            dim[k] = dim_high(dim_resolve(b->shape.dim[k]));
        return data_tensor(random_tensor(b->type, b->shape.rank, dim, below, state));
    }
    Data d = data_of_items(b->form, b->open ? (int)b->max_count : b->item.n);
    for (int i = 0; i < d.n; i++)
        d.item[i] = b->open ? data_tensor(random_tensor(b->type, b->rank, b->size, below, state))
                            : random_data(b->item.at[i], below, state);
    if (b->form == MAP) { /* its keys differ */
        Tensor *keys = d.item[1].t;
        for (int64_t i = 0; i < tensor_count(keys); i++)
            if (keys->type == STR)
                tensor_set_str(keys, i, name_format("key %lld", (long long)i));
            else
                memcpy((char *)(uintptr_t)keys->data + type_bytes(keys->type, i), &i, type_bytes(keys->type, 1));
    }
    return d;
}

/* Copies of the tensors, without their bytes: what tensor_data allocates for them belongs to this session. */
static Data data_of_this_run(const Data *of)
{
    Data d = *of;
    if (d.form == TENSOR) {
        d.t = memcpy(NEW(Tensor), of->t, sizeof *of->t);
        d.t->copy = NULL;
    } else
        d = data_of_items(of->form, of->n);
    for (int i = 0; i < d.n; i++)
        d.item[i] = data_of_this_run(&of->item[i]);
    return d;
}

/* The data of an input of the interface. False: it has its default. */
static bool read_input(const InterfaceGroup *group, const Value *first, const DataSets *data, const DataSet *set,
                       int64_t below, uint64_t *state, Data *to)
{
    const Data *given = data_named(set, group->name->s);
    if (given) {
        *to = data_of_this_run(given);
        return true;
    }
    if (first->fallback)
        return false;
    if (!data->random)
        fail(EXIT_USAGE, "%s has no tensor for the input '%s'", set->title, printable(group->name));
    *to = random_data(group->ctype, below, state);
    return true;
}

static int64_t size_of_input(const Symbol *s, Tensor *const *in)
{
    const Value *v = s->origin.kind == ORIGIN_INPUT ? s->origin.value : NULL;
    const Tensor *t = v && v->input >= 0 ? in[v->input] ? in[v->input] : v->fallback : NULL;
    return t && s->origin.index < t->rank ? t->dim[s->origin.index] : 0;
}

static void write_sizes(const char *folder, Tensor *const *in)
{
    const SizeField *size;
    const int n = emitted_sizes(&size);
    int64_t *sizes = NEWS(int64_t, n + 1);
    for (int i = 0; i < n; i++)
        sizes[i] = size[i].symbol ? size_of_input(size[i].symbol, in) : 0;
    file_write(text_format("%s/sizes_0", folder), sizes, sizeof *sizes * (size_t)n);
}

/* The dimension of an output that a run has written, or the caller has given. */
static int64_t size_of_output(const Value *v, int k, Tensor *const *in, const int64_t *sizes)
{
    const SizeField *size;
    const int n = emitted_sizes(&size);
    const Dim d = v->shape->dim[k];
    if (dim_is_const(d))
        return dim_value(d);
    for (int i = 0; i < n; i++)
        if (size[i].symbol ? size[i].symbol == symbol_of(d) : size[i].out == v && size[i].axis == k)
            return sizes[i];
    return symbol_of(d) ? size_of_input(symbol_of(d), in) : 0;
}

/* Writes the model's outputs, of which `tensor` are the C's, into folder/FILE_I. */
static void write_outputs(const char *folder, const char *file, Tensor *const *tensor)
{
    const InterfaceGroup *groups;
    const int n = interface_groups(true, &groups);
    for (int i = 0; i < n; i++) {
        Tensor *const *part = tensor + groups[i].first;
        const Data d = data_of_components(groups[i].ctype, &part);
        write_data_as(text_format("%s/%s_%d", folder, file, i), &d);
    }
}

/* Gives the raw outputs of the program their types and dimensions. */
static void collect_outputs(const Model *m, const char *folder, Tensor *const *in)
{
    const SizeField *size;
    const int n = emitted_sizes(&size);
    int64_t *sizes = NEWS(int64_t, n + 1), dim[MAX_RANK];
    Tensor **out = NEWS(Tensor *, m->graph->out.n + 1);
    FILE *f = fopen(text_format("%s/sizes_0", folder), "rbe");
    if (!f || fread(sizes, sizeof *sizes, (size_t)n, f) != (size_t)n)
        fail(EXIT_IO, "the program has written no sizes");
    fclose(f);
    for (int i = 0; i < m->graph->out.n; i++) {
        const Value *v = m->graph->out.at[i];
        for (int k = 0; k < v->shape->rank; k++)
            dim[k] = size_of_output(v, k, in, sizes);
        if (!(f = fopen(text_format("%s/raw_%d", folder, i), "rbe")))
            fail(EXIT_IO, "the program has written no output");
        out[i] = tensor_of_file(f, v->type, v->shape->rank, dim);
        fclose(f);
    }
    write_outputs(folder, "out", out);
    for (int i = 0; i < m->graph->out.n; i++)
        big_free((void *)(uintptr_t)out[i]->data);
}

static void write_evaluated(Model *m, const char *folder, Tensor *const *in)
{
    Tensor **out = NEWS(Tensor *, m->graph->out.n + 1);
    eval_graph(m, in, out);
    write_outputs(folder, "eval", out);
}

static const char *status_text(int status)
{
    static const char *const text[] = {"", "BAD_SIZE: a size is outside its bounds",
                                       "BAD_INDEX: an index is outside its range",
                                       "BAD_VALUE: a value is outside its range"};
    return status < 4 ? text[status] : "an unknown status";
}

/* Writes the inputs of a data set, as the model has them and as the C takes them; random integers are below `below`. */
static Tensor **write_inputs(const Attempt *p, Model *m, int k, const char *folder, int64_t below)
{
    uint64_t state = (uint64_t)opt()->seed;
    Tensor **in = NEWS(Tensor *, m->graph->in.n + 1);
    const InterfaceGroup *groups;
    const int n = interface_groups(false, &groups);
    for (int i = 0; i < n; i++) {
        Value *const *part = m->graph->in.at + groups[i].first;
        Data d;
        Tensors tensors = {0};
        if (!read_input(&groups[i], part[0], p->data, &p->data->set.at[k], below, &state, &d))
            continue;
        write_data_as(text_format("%s/given_%d", folder, i), &d);
        data_components(&d, groups[i].ctype, printable(groups[i].name), &tensors);
        for (int c = 0; c < tensors.n; c++)
            if (part[c]->input >= 0) {
                in[part[c]->input] = tensors.at[c];
                const Data t = data_tensor(tensors.at[c]);
                write_data_as(text_format("%s/in_%d", folder, part[c]->input), &t);
            }
    }
    eval_check(m, in);
    write_sizes(folder, in);
    return in;
}

static Ended run_built(const Attempt *p, const char *folder)
{
    const char *const words[] = {text_format("%s/program", p->folder), folder, NULL};
    return run_program(words, folder, NULL, opt()->timeout);
}

/* False: p->failure says why. */
static bool run_set(Attempt *p, Model *m, int k)
{
    enum { BELOW = 10, FEWEST = 2 };
    const char *const folder = text_format("%s/%d", p->folder, k);
    make_folder(folder);
    Tensor **in = write_inputs(p, m, k, folder, BELOW);
    Ended e = run_built(p, folder);
    if (p->data->random && e.how == EXITED && e.code == RT_BAD_INDEX) { /* an index into a table of fewer rows */
        in = write_inputs(p, m, k, folder, FEWEST);
        e = run_built(p, folder);
    }
    if (e.how != EXITED || e.code) {
        const bool status = e.how == EXITED && e.code > 0 && e.code < RT_BAD_WEIGHTS;
        snprintf(p->failure, sizeof p->failure, "%s: the program %s%s%s", p->data->set.at[k].title,
                 status ? text_format("returned status %d, %s", e.code, status_text(e.code)) : ended_text(&e),
                 *e.said ? "\n" : "", e.said);
        return false;
    }
    collect_outputs(m, folder, in);
    if (p->evaluate)
        write_evaluated(m, folder, in);
    return true;
}

/* ---- the attempt ------------------------------------------------------------------------------------------------- */

static void drop(const Message *m, void *unused)
{
    (void)m;
    (void)unused;
}

/* Returns the format of the report that was asked for. */
static Report set_options(const Attempt *p)
{
    read_arguments(p->words, BY_VERIFY);
    const Report form = opt()->report;
    opt()->output = text_format("%s/model.c", p->folder);
    opt()->prefix = "model";
    opt()->single = true;
    opt()->weights = WEIGHTS_AUTO;
    opt()->report = REPORT_NONE;
    opt()->profile = p->profile;
    opt()->as_struct = opt()->check = false;
    warnings_set("no-parameters"); /* every tensor may be one */
    opt()->custom_stub = opt()->depend = opt()->eval_dir = opt()->package = NULL;
    memset(&opt()->states, 0, sizeof opt()->states); /* a step's results do not depend on where its state is */
    opt()->outer_taps = p->outer;
    opt()->loose_taps = p->loose;
    for (int i = 0; p->taps[i]; i++)
        vec_push(&opt()->taps, p->taps[i]);
    return form;
}

/* The inputs that --const has made constants, for ONNX Runtime. */
static void write_constants_given(const Model *m, const char *folder)
{
    Names given = {0};
    for (int i = 0; i < m->graph->in.n; i++)
        if (m->graph->in.at[i]->input < 0 && m->graph->in.at[i]->data) {
            const Data d = data_tensor(m->graph->in.at[i]->data);
            write_data_as(text_format("%s/const_%d", folder, given.n), &d);
            vec_push(&given, m->graph->in.at[i]->name);
        }
    write_names(text_format("%s/consts", folder), &given);
}

static void write_interface(const Model *m, const char *folder)
{
    static const char *const file[] = {"inputs", "outputs"};
    for (int k = 0; k < 2; k++) {
        const InterfaceGroup *groups;
        const int n = interface_groups(k, &groups);
        Names names = {0};
        for (int i = 0; i < n; i++)
            vec_push(&names, groups[i].name);
        write_names(text_format("%s/%s", folder, file[k]), &names);
    }
    write_constants_given(m, folder);
    Names last = {0};
    EACH_AT (t, opt()->inner)
        if (t->type)
            vec_push(&last, name(t->tensor));
    write_names(text_format("%s/last", folder), &last);
}

/* Prints the report, with what the program measured on the first data set. */
static void report_times(const Attempt *p, Report form, Model *m)
{
    const char *cc = getenv("CC"), *flags = getenv("CFLAGS");
    opt()->ticks = text_format("%s/0/ticks_0", p->folder);
    opt()->report = form ? form : REPORT_TEXT;
    FILE *f = fopen(opt()->ticks, "ae");
    if (!f || fprintf(f, "by %s %s\n", cc && *cc ? cc : "cc", flags ? flags : "-O3") < 0 || fclose(f))
        fail(EXIT_IO, "the program has written no times");
    report_model(m);
    output_commit();
}

static void run_attempt(void *attempt)
{
    Attempt *p = attempt;
    if (p->quiet)
        say_to(drop, NULL);
    const Report form = set_options(p);
    Model *m = read_model(p->model);
    sizes_by_data(m, p->data);
    compile_model(m);
    emit_files(m);
    write_interface(m, p->folder);
    write_program(m, p->folder);
    if (!build(p))
        return;
    for (int k = 0; k < p->data->set.n; k++)
        if ((p->only < 0 || p->only == k) && !run_set(p, m, k))
            return;
    p->evaluated = p->evaluate;
    if (p->profile)
        report_times(p, form, m);
}

int attempt_run(Attempt *p)
{
    *p->failure = 0;
    p->evaluated = false;
    make_folder(p->folder);
    const int code = process_run(run_attempt, p, false);
    return code < 0 ? EXIT_IO : code;
}
