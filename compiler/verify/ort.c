/* ort.c - the same tensors by ONNX Runtime, where it is installed. */
#include "verify/verify.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/options.h"
#include "emit/source.h"

/* ---- the library ------------------------------------------------------------------------------------------------- */

/* The libraries in Python's package, which is not loaded. */
static void find_in_python(Runtime *r)
{
    static const char script[] =
        "import glob, importlib.util, os\n"
        "s = importlib.util.find_spec('onnxruntime')\n"
        "if s and s.origin:\n"
        "    print('\\n'.join(glob.glob(os.path.dirname(s.origin) + '/capi/libonnxruntime.so*')))\n";
    const char *const words[] = {"python3", "-c", script, NULL};
    const char *const file = text_format("%s/libraries", r->folder);
    const Ended e = run_program(words, r->folder, file, opt()->timeout);
    FILE *f = e.how == EXITED && !e.code ? fopen(file, "rbe") : NULL;
    char *line = NULL;
    size_t room = 0;
    for (ssize_t n; f && (n = getline(&line, &room, f)) > 1;)
        vec_push(&r->libraries, text_format("%.*s", (int)n - (line[n - 1] == '\n'), line));
    free(line);
    if (f)
        fclose(f);
}

static void build_runner(Runtime *r)
{
    const char *const source = text_format("%s/ort.c", r->folder), *text = embedded_text("verify_ort.c");
    r->program = text_format("%s/ort", r->folder);
    file_write(source, text, strlen(text));
    const char *const words[] = {"sh",   "-c", "exec ${CC:-cc} -O1 -w \"$@\"", "sh", "-o", r->program, source,
                                 "-ldl", NULL};
    const Ended e = run_program(words, r->folder, NULL, 0);
    if (e.how != EXITED || e.code)
        r->missing = text_format("the program that loads it cannot be built: %s", e.said);
}

void runtime_find(Runtime *r, const char *model)
{
    r->folder = text_format("%s/ort", temporary_folder());
    make_folder(r->folder);
    r->model = realpath(model, NULL);
    if (opt()->ort && !strcmp(opt()->ort, "none")) {
        r->missing = "not asked for";
        return;
    }
    if (opt()->froms.n) {
        r->missing = "it cannot start at the tensors of --from";
        return;
    }
    build_runner(r);
    if (r->missing)
        return;
    if (opt()->ort) {
        vec_push(&r->libraries, opt()->ort);
        return;
    }
    vec_push(&r->libraries, "libonnxruntime.so");
    vec_push(&r->libraries, "libonnxruntime.so.1");
    find_in_python(r);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Writes ONNX Runtime's inputs to the folder `to`: constants, tensors of the data, and those that the attempt has
 * made. */
static void write_feed(const char *to, const Model *m, const DataSet *data, const char *folder)
{
    Names made = {0}, given = {0}, feed = {0};
    read_names(text_format("%s/inputs", folder), &made);
    read_names(text_format("%s/consts", folder), &given);
    for (int i = 0; i < m->graph->in.n; i++) {
        const Value *v = m->graph->in.at[i];
        const Data *d = data_among(&given, v->name, folder, "const");
        if (!d && (v->form != TENSOR || v->input >= 0))
            d = data_named(data, v->name->s);
        if (!d)
            d = data_among(&made, v->name, to, "given");
        if (!d)
            continue;
        write_data_as(text_format("%s/feed_%d", to, feed.n), d);
        vec_push(&feed, v->name);
    }
    write_names(text_format("%s/feed", to), &feed);
}

bool runtime_run(Runtime *r, const Model *m, const DataSet *data, const char *folder, int k, const Names *fetch)
{
    enum { NOT_FOUND = 101 };
    const char *const to = text_format("%s/%d", folder, k), *version = text_format("%s/version", r->folder);
    VEC(const char *) words = {0};
    if (r->missing)
        return false;
    write_feed(to, m, data, folder);
    const Names as = model_with_outputs(text_format("%s/model", to), r->model, m, fetch, folder, k);
    write_names(text_format("%s/fetch", to), &as);
    vec_push(&words, "env"); /* some versions leave files there */
    vec_push(&words, text_format("TMPDIR=%s", r->folder));
    vec_push(&words, r->program);
    vec_push(&words, to);
    vec_push(&words, r->model);
    for (int i = 0; i < r->libraries.n; i++)
        vec_push(&words, r->libraries.at[i]);
    vec_push(&words, NULL);
    const Ended e = run_program(words.at, to, version, opt()->timeout);
    if (e.how == EXITED && e.code == NOT_FOUND)
        r->missing = opt()->ort ? text_format("%s cannot be loaded", printable(name(opt()->ort)))
                                : "not installed here, or not found (--ort libonnxruntime.so)";
    else if (e.how != EXITED || e.code)
        r->missing = text_format("it cannot run the model: %s", *e.said ? e.said : ended_text(&e));
    if (r->missing)
        return false;
    char text[40] = {0};
    FILE *f = fopen(version, "rbe");
    if (f) {
        (void)!fread(text, 1, sizeof text - 1, f);
        fclose(f);
    }
    r->version = printable(name(text));
    return true;
}
