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

static void add_file(DataSet *to, const Value *v, const char *file)
{
    if (!access(file, F_OK) && !(v->desc && v->desc->form != TENSOR))
        vec_push(&to->tensors, ((Named){v->name, read_tensor_file(file)}));
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
        if (set.tensors.n)
            vec_push(&to->set, set);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
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
        read_npz(&set, path);
        vec_push(&to->set, set);
        return;
    }
    read_folders(to, m, path);
    if (to->set.n)
        return;
    read_folder(&set, m, path);
    if (!set.tensors.n)
        usage("%s has no data for this model: no test_data_set_0, no input_0.pb", printable(name(path)));
    vec_push(&to->set, set);
}

const Tensor *data_tensor(const DataSet *set, const char *tensor)
{
    for (int i = 0; i < set->tensors.n; i++)
        if (!strcmp(set->tensors.at[i].name->s, tensor))
            return set->tensors.at[i].tensor;
    return NULL;
}
