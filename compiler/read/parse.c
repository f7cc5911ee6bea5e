/* parse.c - reads a model: maps the file, recognises its format, checks the model's own fields and builds the
 * graphs, with names bound to values; tensors point into the file.
 * Leaves: every name resolved or reported; check.c checks order, arity and types. */
#include "read/parse.h"
#include "base/depend.h"
#include "base/options.h"
#include "ir/opset.h"
#include "read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { NEWEST_IR = 14 };
#define MAX_BYTES ((size_t)1 << 31)

/* ---- recognition of files that are no models --------------------------------------------------------------------- */

static bool starts_with(Span s, size_t at, const char *magic, size_t n)
{
    return s.n >= at + n && !memcmp(s.at + at, magic, n);
}

static bool is_text(Span s)
{
    size_t n = s.n < 512 ? s.n : 512, high = 0;
    for (size_t i = 0; i < n; i++) {
        if (s.at[i] == 0x7F || (s.at[i] < 0x20 && !strchr("\t\n\r\f", s.at[i])) || !s.at[i])
            return false;
        high += s.at[i] >= 0x80;
    }
    return high <= n / 2;
}

typedef struct FileKind { /* of files that have `magic` at this byte */
    int at;
    const char *magic, *what, *help;
} FileKind;

static const char *find_kind(Span s, const FileKind *kinds, size_t n, const char **help)
{
    for (size_t i = 0; i < n; i++)
        if (starts_with(s, (size_t)kinds[i].at, kinds[i].magic, strlen(kinds[i].magic))) {
            *help = kinds[i].help;
            return kinds[i].what;
        }
    return NULL;
}

/* The kind of a text file. */
static const char *text_kind(Span s, const char **help)
{
    static const FileKind kinds[] = {
        {0, "version https://git-lfs", "a Git LFS pointer", "fetch the file itself: git lfs pull"},
        {0, "<!DOCTYPE html", "a web page", "download the file itself, not the page that shows it"},
        {0, "<html", "a web page", "download the file itself, not the page that shows it"},
        {0, "<?xml", "XML", NULL},
        {0, "{", "JSON", NULL},
        {0, "ir_version:", "a model as protobuf text",
         "convert it: onnx.save(onnx.load(FILE, 'textproto'), 'model.onnx')"},
        {0, "<", "a model as ONNX text",
         "convert it: onnx.save(onnx.parser.parse_model(open(FILE).read()), 'model.onnx')"},
    };
    while (s.n && strchr(" \t\r\n", *s.at)) {
        s.at++;
        s.n--;
    }
    const char *what = find_kind(s, kinds, sizeof kinds / sizeof *kinds, help);
    return what ? what : "a text";
}

/* The name of another format, recognised by first bytes that no model has; NULL: it may be a model. */
static const char *other_format(Span s, const char **help)
{
    /* clang-format off */
    static const FileKind kinds[] = {
        {0, "\x1f\x8b", "gzip", "unpack it: gunzip"},
        {0, "PK\3\4", "a ZIP archive (PyTorch and Keras save such files)", "export the model as ONNX: torch.onnx.export"},
        {0, "\xfd" "7zXZ", "xz", "unpack it: unxz"},
        {0, "\x28\xb5\x2f\xfd", "zstd", "unpack it: unzstd"},
        {0, "BZh", "bzip2", "unpack it: bunzip2"},
        {0, "\x89HDF\r\n\x1a\n", "HDF5 (Keras saves such files)", "convert the model: tf2onnx"},
        {4, "TFL3", "TensorFlow Lite", "convert the model: tf2onnx --tflite"},
        {4, "ORTM", "ONNX Runtime's own format", "use the model that it was made of"},
        {0, "GGUF", "GGUF", NULL},
        {0, "\x93NUMPY", "a NumPy array", NULL},
        {0, "\x89PNG\r\n\x1a\n", "a PNG image", NULL},
        {0, "\x7f" "ELF", "an ELF object", NULL},
        {0, "%PDF-", "a PDF document", NULL},
        {0, "\x80\x02\x8a", "a Python pickle (old PyTorch saves such files)", "export the model as ONNX: torch.onnx.export"},
        {0, "\x80\x03" "c", "a Python pickle", "export the model as ONNX: skl2onnx"},
        {0, "\x80\x04\x95", "a Python pickle", "export the model as ONNX: skl2onnx"},
        {0, "\x80\x05\x95", "a Python pickle", "export the model as ONNX: skl2onnx"},
    };
    /* clang-format on */
    const char *what = find_kind(s, kinds, sizeof kinds / sizeof *kinds, help);
    if (!what && starts_with(s, 4, "\0\0\0\0{\"", 6))
        what = "safetensors (weights without a graph)";
    return what || !is_text(s) ? what : text_kind(s, help);
}

static bool is_model(Span s)
{
    const char *help = NULL, *what;
    if (!s.n)
        error_at("", "VER-01", "the file is empty");
    else if (s.n > MAX_BYTES)
        error_at("", "MOD-11", "the file has %zu bytes; a model has at most 2 GiB", s.n);
    else if (starts_with(s, 0, "\x0a\x09ONNXOPSET", 11))
        error_at("", "OPS-16", "this is a definition of an operator set, not a model");
    else if ((what = other_format(s, &help)))
        error_at("", "PB-01", "this is %s, not a binary ONNX model", what);
    else
        return true;
    if (help)
        note_help("%s", help);
    return false;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static Import *find_import(const Imports *all, Name domain)
{
    for (int i = 0; i < all->n; i++)
        if (all->at[i].domain == domain)
            return &all->at[i];
    return NULL;
}

/* p: of a function; NULL: of the model. */
static Imports read_imports(const Wire *w, const Path *p)
{
    Imports all = {0};
    if (w->n > MAX_IMPORTS) /* searches are linear */
        error_path(AT(p, "opset_import", -1), "LIM-01", "%d operator sets are imported; onnxcc allows %d", w->n,
                   MAX_IMPORTS);
    const Wire *const read = w->n <= MAX_IMPORTS ? w : &(Wire){0};
    EACH_MESSAGE (onnx_OperatorSetIdProto, proto, q, read, p, "opset_import") {
        const Import import = {domain_normal(wire_name(&proto.domain)), wire_int(&proto.version)};
        if (import.version < 1) {
            error_path(q, "OPS-09", "the operator set '%s' %s", domain_text(import.domain),
                       wire_has(&proto.version) ? "has a version below 1" : "has no version");
            continue;
        }
        Import *same = find_import(&all, import.domain);
        if (!same)
            vec_push(&all, import);
        else if (same->version != import.version && p)
            error_path(q, "FUN-15", "the function imports the operator set '%s' twice, versions %lld and %lld",
                       domain_text(import.domain), (long long)same->version, (long long)import.version);
        else if (same->version != import.version)
            warn_at(path_text(q), "OPS-07", "the operator set '%s' is imported twice; the higher version counts",
                    domain_text(import.domain));
        if (same && same->version < import.version)
            same->version = import.version;
    }
    return all;
}

static void check_ir(Model *m, const onnx_ModelProto *proto)
{
    m->ir_version = wire_int(&proto->ir_version);
    if (!m->ir_version) {
        error_at("ir_version", "VER-01", "the model has no IR version");
        note_help("is this file an ONNX model?");
    } else if (m->ir_version < 0 || m->ir_version > NEWEST_IR)
        error_at("ir_version", "VER-03",
                 m->ir_version < 0 ? "IR version %lld does not exist"
                                   : "IR version %lld is newer than the newest supported one (%d)",
                 (long long)m->ir_version, NEWEST_IR);
    stop_on_errors();
    m->imports = read_imports(&proto->opset_import, NULL);
    if (m->ir_version < 3 && proto->opset_import.n)
        error_at("opset_import", "VER-05", "a model of IR version %lld has no operator sets", (long long)m->ir_version);
    else if (m->ir_version >= 3 && !proto->opset_import.n)
        error_at("opset_import", "VER-06", "the model names no operator set");
    else if (m->ir_version < 3)
        vec_push(&m->imports, ((Import){name(""), 1}));
    stop_on_errors();
}

static void read_header(Model *m, const onnx_ModelProto *proto)
{
    check_ir(m, proto);
    m->producer = wire_name(&proto->producer_name);
    m->producer_version = wire_name(&proto->producer_version);
    m->domain = wire_name(&proto->domain);
    m->doc = wire_name(&proto->doc_string);
    m->model_version = wire_int(&proto->model_version);
    if (!m->domain->n) /* the specification recommends it, but exporters omit it */
        warn_hint("domain", "MOD-03", "the model has no domain");
    Map seen = {0};
    EACH_MESSAGE (onnx_StringStringEntryProto, entry, p, &proto->metadata_props, NULL, "metadata_props") {
        struct Prop prop = {wire_name(&entry.key), wire_name(&entry.value)};
        if (map_get(&seen, prop.key))
            warn_strict(path_text(p), "MET-02", "the key '%s' is there twice", printable(prop.key));
        map_put(&seen, prop.key, m);
        vec_push(&m->props, prop);
    }
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void read_attr_names(Model *m, Function *f, const onnx_FunctionProto *proto, const Path *p)
{
    Map seen = {0};
    for (int i = 0; i < proto->attribute.n; i++) {
        Name n = span_name(proto->attribute.list[i]);
        if (map_get(&seen, n) || !n->n)
            error_path(AT(p, "attribute", i), "FUN-10", "the attribute '%s' is %s", printable(n),
                       n->n ? "there twice" : "without a name");
        map_put(&seen, n, f);
        vec_push(&f->attr, n);
    }
    if (proto->attribute_proto.n && m->ir_version < 9)
        warn_strict(path_text(p), "FUN-11", "defaults of attributes came with IR version 9; this model has %lld",
                    (long long)m->ir_version);
    for (int i = 0; i < proto->attribute_proto.n; i++) {
        Attr a;
        const Path *q = AT(p, "attribute_proto", i);
        if (!read_attr(m, proto->attribute_proto.list[i], &a, q, f->body, NULL))
            continue;
        if (map_get(&seen, a.name))
            error_path(q, "FUN-10", "the attribute '%s' is there twice", printable(a.name));
        if (a.ref)
            error_path(q, "FUN-12", "the default of '%s' must be a value", printable(a.name));
        map_put(&seen, a.name, f);
        vec_push(&f->defaults, a);
    }
}

static Function *read_function(Model *m, Span s, const Path *p)
{
    onnx_FunctionProto proto = {0};
    if (!wire_read(onnx_FunctionProto_fields, s, &proto, p))
        return NULL;
    Function *f = NEW(Function);
    Path q = *p;
    f->name = q.name = wire_name(&proto.name);
    f->domain = domain_normal(wire_name(&proto.domain));
    f->overload = m->ir_version < 10 ? name("") : wire_name(&proto.overload);
    f->path = path_text(p);
    if (!f->name->n)
        error_at(f->path, "FUN-03", "the function has no name");
    if (!wire_has(&proto.domain))
        warn_strict(path_text(&q), "FUN-04", "the function has no domain; that of the standard operators is taken");
    for (int i = 0; i < proto.input.n; i++)
        vec_push(&f->in, span_name(proto.input.list[i]));
    for (int i = 0; i < proto.output.n; i++)
        vec_push(&f->out, span_name(proto.output.list[i]));
    f->imports = read_imports(&proto.opset_import, p);
    f->body = read_body(m, &proto, f, p);
    read_attr_names(m, f, &proto, &q);
    return f;
}

static void read_functions(Model *m, const Wire *w)
{
    if (w->n && m->ir_version < 8)
        warn_strict("functions", "FUN-02", "functions came with IR version 8; this model has %lld",
                    (long long)m->ir_version);
    if (w->n > MAX_FUNCTIONS) {
        error_at("functions", "FUN-24", "the model has %d functions; onnxcc allows %d", w->n, MAX_FUNCTIONS);
        return;
    }
    for (int i = 0; i < w->n; i++) {
        const Path *p = AT(NULL, "functions", i);
        Function *f = read_function(m, w->list[i], p);
        if (!f)
            continue;
        Name key = function_key(f->domain, f->name, f->overload);
        const Function *other = map_get(&m->function_of, key);
        if (other)
            error_path(p, "FUN-05", "the function '%s' of domain '%s' is there already: %s", printable(f->name),
                       printable(f->domain), other->path);
        map_put(&m->function_of, key, f);
        vec_push(&m->functions, f);
    }
}

/* ---- training information ---------------------------------------------------------------------------------------- */

/* The initializer of this name; NULL: there is none. */
static const Value *initializer(const Graph *g, Name n)
{
    const Value *v = g ? map_get(&g->scope, n) : NULL;
    return v && (v->data || v->fallback) ? v : NULL;
}

/* Map of (graph, output name), as keys of output_key; a graph itself: its names were added */
PART(Map, outputs)

static Name output_key(const Graph *g, Name n)
{
    const void *parts[] = {g, n};
    return name_bytes((const char *)parts, sizeof parts);
}

static const Value *output_named(const Graph *g, Name n)
{
    if (g && !map_get(outputs(), g))
        EACH_OF (v, g->out)
            map_put(outputs(), output_key(g, v->name), v);
    if (g)
        map_put(outputs(), g, (void *)(uintptr_t)g);
    return g ? map_get(outputs(), output_key(g, n)) : NULL;
}

/* Checks that the state variable b->key may become an output of `from`. */
static void check_binding(const Model *m, const Binding *b, const Graph *from, const Graph *algorithm)
{
    const Value *key = initializer(m->graph, b->key), *value = output_named(from, b->value);
    key = key ? key : initializer(algorithm, b->key);
    if (!key)
        error_at(b->path, "TRN-08", "the key '%s' is not an initializer", printable(b->key));
    else if (key->sparse)
        error_at(b->path, "TRN-28", "the key '%s' is a sparse initializer; state is dense", printable(b->key));
    if (!from)
        error_at(b->path, "TRN-07", "there is no graph whose output could be bound to '%s'", printable(b->key));
    else if (!value && from == algorithm && (value = output_named(m->graph, b->value)) != NULL)
        warn_strict(b->path, "TRN-09", "'%s' is an output of the model, not of the algorithm", printable(b->value));
    else if (!value)
        error_at(b->path, "TRN-09", "'%s' is not an output of the graph", printable(b->value));
    const TypeDesc *is = key ? type_of_tensor(key->data ? key->data : key->fallback) : NULL;
    const TypeDesc *becomes = value && value->data ? type_of_tensor(value->data) : value ? value->desc : NULL;
    if (types_clash(is, becomes))
        error_at(b->path, "TRN-18", "'%s' is %s, but '%s', which is bound to it, is %s", printable(b->key),
                 type_text(is), printable(b->value), type_text(becomes));
}

typedef VEC(Binding) Bindings;

/* Reads and checks bindings: pairs of an initializer and the output that becomes its new value. */
static Bindings read_bindings(const Model *m, const Wire *w, const char *field, const Graph *from,
                              const Graph *algorithm, const Path *p)
{
    Map seen = {0};
    Bindings list = {0};
    EACH_MESSAGE (onnx_StringStringEntryProto, entry, q, w, p, field) {
        const Binding b = {wire_name(&entry.key), wire_name(&entry.value), path_text(q)};
        if (map_get(&seen, b.key))
            error_path(q, "TRN-10", "the key '%s' is there twice", printable(b.key));
        map_put(&seen, b.key, (void *)(uintptr_t)w);
        check_binding(m, &b, from, algorithm);
        vec_push(&list, b);
    }
    map_free(&seen);
    return list;
}

static void read_training(Model *m, const Wire *w)
{
    if (w->n && m->ir_version < 7)
        warn_strict("training_info", "TRN-01", "training came with IR version 7; this model has %lld",
                    (long long)m->ir_version);
    EACH_MESSAGE (onnx_TrainingInfoProto, proto, p, w, NULL, "training_info") {
        Training t = {.path = path_text(p)};
        if (wire_has(&proto.initialization))
            t.init = read_graph(m, proto.initialization.s, AT(p, "initialization", -1), NULL, NULL);
        if (t.init && t.init->in.n)
            error_at(t.init->path, "TRN-17", "the initialization graph may not have inputs");
        if (wire_has(&proto.algorithm))
            t.algorithm = read_graph(m, proto.algorithm.s, AT(p, "algorithm", -1), m->graph, NULL);
        for (int k = 0; t.algorithm && k < t.algorithm->scope.cap; k++) {
            Name n = t.algorithm->scope.key[k];
            if (n && map_get(&m->graph->scope, n))
                error_at(t.algorithm->path, "TRN-15", "the name '%s' is one of the model's graph already",
                         printable(n));
        }
        Bindings starts =
            read_bindings(m, &proto.initialization_binding, "initialization_binding", t.init, t.algorithm, p);
        Bindings updates = read_bindings(m, &proto.update_binding, "update_binding", t.algorithm, t.algorithm, p);
        memcpy(&t.starts, &starts, sizeof starts);
        memcpy(&t.updates, &updates, sizeof updates);
        vec_push(&m->training, t);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void free_copy(void *copy) { free(*(void **)copy); }
static void close_folder(void *m)
{
    if (((Model *)m)->dir >= 0)
        close(((Model *)m)->dir);
}

/* folder: of external data, kept open until the session ends; NULL: none. */
static Model *model_new(const char *file, const char *folder)
{
    Model *m = NEW(Model);
    m->file = file;
    m->base = name(base_name(file));
    m->dir = -1;
    session_at_end(close_folder, m);
    m->dir = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    return m;
}

static Model *parse(Model *m, Span s)
{
    error_set_file(m->file);
    wire_begin(s);
    onnx_ModelProto proto = {0};
    if (!is_model(s) || !wire_read(onnx_ModelProto_fields, s, &proto, NULL))
        stop_on_errors();
    m->bytes = s.n;
    read_header(m, &proto);
    if (!wire_has(&proto.graph)) {
        error_at("graph", "MOD-02", "the model has no graph");
        note_help("is this file an ONNX model?");
        stop_on_errors();
    }
    m->hash = XXH3_64bits(s.at, s.n);
    read_devices(m, &proto.configuration);
    m->graph = read_graph(m, proto.graph.s, AT(NULL, "graph", -1), NULL, NULL);
    if (m->graph) {
        for (int i = 0; i < m->graph->out.n; i++)
            vec_push(&m->declared, m->graph->out.at[i]->name);
        read_functions(m, &proto.functions);
        read_training(m, &proto.training_info);
    }
    stop_on_errors();
    return m;
}

Model *parse_bytes(const char *file, const void *bytes, size_t n, const char *folder)
{
    return parse(model_new(file, folder), (Span){bytes, n});
}

/* Reads a file that cannot be mapped. */
static Span read_all(int fd, const char *file)
{
    size_t room = 1 << 16, n = 0;
    uint8_t **copy = NEW(uint8_t *), *at;
    session_at_end(free_copy, copy);
    at = *copy = malloc(room);
    while (at && n <= MAX_BYTES) {
        ssize_t got = read(fd, at + n, room - n);
        if (got < 0 && errno != EINTR)
            fail(EXIT_IO, "cannot read %s: %s", file, strerror(errno));
        if (!got)
            break;
        n += got > 0 ? (size_t)got : 0;
        if (n == room) {
            at = realloc(*copy, room *= 2);
            *copy = at ? at : *copy;
        }
    }
    if (!at)
        fail_as(EXIT_IO, "SYS-02", "out of memory: %zu bytes of %s", room, file);
    return (Span){at, n};
}

static Span open_file(const char *file)
{
    const char *shown = printable(name(file));
    files_begin();
    int fd = keep_open(open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    struct stat st;
    Span s = {NULL, 0};
    if (fd < 0 || fstat(fd, &st))
        fail(EXIT_IO, "cannot open '%s': %s", shown, strerror(errno));
    if (S_ISDIR(st.st_mode))
        fail(EXIT_IO, "cannot read '%s': it is a folder", shown);
    if (!S_ISREG(st.st_mode))
        s = read_all(fd, shown);
    else if ((uint64_t)st.st_size > MAX_BYTES)
        s.n = (size_t)st.st_size;
    else if (!map_file(fd, (size_t)st.st_size, &s))
        fail(EXIT_IO, "cannot read '%s': %s", shown, strerror(errno));
    close_kept();
    depend_input(file);
    return s;
}

static const char *folder_of(const char *file)
{
    const size_t n = (size_t)(base_name(file) - file);
    return n ? name_bytes(file, n)->s : ".";
}

Model *parse_model(const char *file)
{
    if (!strcmp(file, "-")) {
        Span s = read_all(0, "standard input");
        return parse(model_new("standard input", NULL), s);
    }
    Span s = open_file(file);
    return parse(model_new(file, folder_of(file)), s);
}

Tensor *parse_tensor(const void *bytes, size_t n, const char *path)
{
    Model none = {.file = path, .dir = -1, .ir_version = NEWEST_IR};
    wire_begin((Span){bytes, n});
    return read_tensor(&none, (Span){bytes, n}, AT(NULL, path, -1), NULL);
}

Data read_data_file(const char *file, Form form)
{
    Data d = {.form = form};
    Model none = {.file = file, .dir = -1, .ir_version = NEWEST_IR};
    Span s = open_file(file);
    wire_begin(s);
    if (s.n > MAX_BYTES)
        error_at(file, "MOD-11", "the file has %zu bytes; a tensor has at most 2 GiB", s.n);
    else
        d = parse_data(&none, form, s, AT(NULL, file, -1));
    stop_on_errors();
    return d;
}

Tensor *read_tensor_file(const char *file) { return read_data_file(file, TENSOR).t; }
