/* data.c - the inputs to verify with, and the outputs that belong to them. */
#include "verify/verify.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "read/read.h"
#include "rt.h"

/* ---- files ------------------------------------------------------------------------------------------------------- */

static Form form_of(const Value *v) { return v->desc ? v->desc->form : TENSOR; }

static void add_file(DataSet *to, const Value *v, const char *file)
{
    if (!access(file, F_OK))
        vec_push(&to->of, ((Named){v->name, read_data_file(file, form_of(v))}));
}

/* DIR/input_I.pb and DIR/output_I.pb, by the order of the model's inputs and outputs. */
static void read_folder(DataSet *to, const Model *m, const char *dir)
{
    int k = 0;
    for (int i = 0; i < m->graph->in.n; i++) {
        const Value *v = m->graph->in.at[i];
        if (v->input >= 0)
            add_file(to, v, text_format("%s/input_%d.pb", dir, k++));
    }
    for (int i = 0; i < m->graph->out.n; i++)
        add_file(to, m->graph->out.at[i], text_format("%s/output_%d.pb", dir, i));
}

static int is_data_set(const struct dirent *d) { return !strncmp(d->d_name, "test_data_set_", 14); }

static bool is_folder(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISDIR(s.st_mode);
}

static void read_folders(DataSets *to, const Model *m, const char *path)
{
    struct dirent **entries;
    const int n = scandir(path, &entries, is_data_set, versionsort);
    for (int i = 0; i < n; i++) {
        DataSet set = {.title = text_format("%s", entries[i]->d_name)};
        const char *dir = text_format("%s/%s", path, set.title);
        if (is_folder(dir))
            read_folder(&set, m, dir);
        if (set.of.n)
            vec_push(&to->set, set);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* ---- arrays by their names --------------------------------------------------------------------------------------- */

/* Inputs or outputs of the model, to be assembled from arrays of a file. */
typedef struct Assembly {
    const Model *m;
    const DataSet *arrays;
} Assembly;

#define stop_at_array(a, n, ...)                                                                                       \
    fail(EXIT_IO, "%s: %s: %s", printable(name((a)->arrays->title)), printable(n), text_format(__VA_ARGS__))

static Data rows_of(const Assembly *a, Name n, const Tensor *t)
{
    if (!t->rank)
        stop_at_array(a, n,
                      "a scalar has no rows, which a sequence's elements are: %s_0, %s_1, ... are arrays of their own",
                      printable(n), printable(n));
    Data d = data_of_items(SEQUENCE, (int)t->dim[0]);
    const int64_t each = d.n ? tensor_count(t) / d.n : 0;
    for (int i = 0; i < d.n; i++) {
        Tensor *row = NEW(Tensor);
        *row = (Tensor){.type = t->type, .rank = t->rank - 1, .dim = t->dim + 1};
        row->data = (const char *)t->data + type_bytes(t->type, each) * (size_t)i;
        d.item[i] = data_tensor(row);
    }
    return d;
}

/* A map, or for a sequence of maps a row of values for each. False: there is nothing of this name. */
static bool assemble_map(const Assembly *a, bool one, Name n, Data *to)
{
    const Data *of = data_named(a->arrays, n->s), *keys = data_named(a->arrays, text_format("%s_keys", n->s));
    if (!of && !keys)
        return false;
    if (!of || !keys)
        stop_at_array(
            a, n, of ? "its keys are missing: the array %s_keys" : "its values are missing, beside the array %s_keys",
            printable(n));
    Data rows = one ? data_of_items(SEQUENCE, 1) : rows_of(a, n, of->t);
    if (one)
        rows.item[0] = *of;
    for (int i = 0; i < rows.n; i++) {
        Data map = data_of_items(MAP, 2);
        map.item[0] = rows.item[i];
        map.item[1] = *keys;
        rows.item[i] = map;
    }
    *to = one ? rows.item[0] : rows;
    return true;
}

static bool is_of_model(const Model *m, Name n)
{
    const Value *v = map_get(&m->graph->scope, n);
    return v && (!v->def || value_is_output(v));
}

/* The I of an array x_I, which is no input or output of the model itself; -1: it is none. */
static int element_index(const Assembly *a, Name array, Name x)
{
    if (array->n < x->n + 2 || memcmp(array->s, x->s, x->n) || array->s[x->n] != '_' || is_of_model(a->m, array))
        return -1;
    const char *const s = array->s + x->n + 1;
    const size_t digits = strspn(s, "0123456789");
    return digits && digits < 8 && !s[digits] && (*s != '0' || digits == 1) ? atoi(s) : -1;
}

/* The arrays x_0, x_1, ..., or the rows of x. */
static bool assemble_sequence(const Assembly *a, Name n, Data *to)
{
    const Data *of = data_named(a->arrays, n->s);
    int count = 0, last = -1;
    for (int i = 0; i < a->arrays->of.n; i++) {
        const int k = element_index(a, a->arrays->of.at[i].name, n);
        count += k >= 0;
        last = k > last ? k : last;
    }
    if (of && count)
        stop_at_array(a, n, "there are %s and %s_%d: a sequence is either the rows of the one, or %s_0, %s_1, ...",
                      printable(n), printable(n), last, printable(n), printable(n));
    if (of)
        *to = rows_of(a, n, of->t);
    else if (count)
        *to = data_of_items(SEQUENCE, last + 1);
    for (int i = 0; i <= last; i++) {
        const Data *item = data_named(a->arrays, text_format("%s_%d", n->s, i));
        if (!item)
            stop_at_array(a, n, "the array %s_%d is missing, but there is %s_%d", printable(n), i, printable(n), last);
        to->item[i] = *item;
    }
    return of || count;
}

/* False: there is nothing of this name. */
static bool assemble(const Assembly *a, const TypeDesc *d, Name n, Data *to)
{
    const Data *of = data_named(a->arrays, n->s);
    const bool sequence = d && d->form == SEQUENCE;
    if (d && d->form == OPTIONAL) {
        *to = data_of_items(OPTIONAL, 1);
        to->n = assemble(a, d->of, n, to->item);
        return true;
    }
    if (d && (d->form == MAP || (sequence && d->of && d->of->form == MAP)))
        return assemble_map(a, d->form == MAP, n, to);
    if (sequence)
        return assemble_sequence(a, n, to);
    *to = of ? *of : (Data){0};
    return of != NULL;
}

static void assemble_all(DataSet *to, const Assembly *a, Value *const *of, int n)
{
    Named named;
    for (int i = 0; i < n; i++)
        if (assemble(a, of[i]->desc, named.name = of[i]->name, &named.data))
            vec_push(&to->of, named);
}

void data_read(DataSets *to, const Model *m, const char *path)
{
    DataSet set = {.title = path};
    if (!path) {
        set.title = text_format("random inputs (seed %lld)", (long long)opt()->seed);
        to->random = true;
        vec_push(&to->set, set);
        return;
    }
    if (!is_folder(path)) {
        DataSet arrays = {.title = path};
        read_npz(&arrays, path);
        const Assembly a = {m, &arrays};
        assemble_all(&set, &a, m->graph->in.at, m->graph->in.n);
        assemble_all(&set, &a, m->graph->out.at, m->graph->out.n);
        vec_push(&to->set, set);
        return;
    }
    read_folders(to, m, path);
    if (to->set.n)
        return;
    read_folder(&set, m, path);
    if (!set.of.n)
        usage("%s has no data for this model: no test_data_set_0, no input_0.pb", printable(name(path)));
    vec_push(&to->set, set);
}

const Data *data_named(const DataSet *set, const char *name)
{
    for (int i = 0; i < set->of.n; i++)
        if (!strcmp(set->of.at[i].name->s, name))
            return &set->of.at[i].data;
    return NULL;
}
