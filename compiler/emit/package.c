/* package.c - folders around the C for build systems (--package): the files of templates/package, with their holes
 * filled. The model's names enter them as C identifiers only. */
#include "emit/emit.h"

#include "base/options.h"
#include "base/output.h"
#include "passes/state.h"

/* ---- the kinds --------------------------------------------------------------------------------------------------- */

typedef struct PackageFile {
    const char *kind, *file, *template; /* file: in the folder, with holes */
} PackageFile;
static const PackageFile files[] = {
    {"arduino", "library.properties", "arduino.library.properties.in"},
    {"arduino", "library.json", "arduino.library.json.in"},
    {"arduino", "keywords.txt", "arduino.keywords.txt.in"},
    {"arduino", "examples/@P@/@P@.ino", "arduino.example.ino.in"},
    {"arduino", "README.md", "arduino.README.md.in"},
    {"espidf", "CMakeLists.txt", "espidf.CMakeLists.txt.in"},
    {"espidf", "idf_component.yml", "espidf.idf_component.yml.in"},
    {"espidf", "Kconfig", "espidf.Kconfig.in"},
    {"espidf", "README.md", "espidf.README.md.in"},
    {"zephyr", "zephyr/module.yml", "zephyr.module.yml.in"},
    {"zephyr", "CMakeLists.txt", "zephyr.CMakeLists.txt.in"},
    {"zephyr", "Kconfig", "zephyr.Kconfig.in"},
    {"zephyr", "README.md", "zephyr.README.md.in"},
    {"cmake", "CMakeLists.txt", "cmake.CMakeLists.txt.in"},
    {"cmake", "README.md", "cmake.README.md.in"},
};
enum { FILES = sizeof files / sizeof *files };

bool package_is_known(const char *kind)
{
    for (int i = 0; i < FILES; i++)
        if (!strcmp(files[i].kind, kind))
            return true;
    return false;
}

/* ---- the example ------------------------------------------------------------------------------------------------- */

static Value *tensor_at(const Interface *f, int i) { return i < f->in.n ? f->in.at[i] : f->out.at[i - f->in.n]; }

/* A buffer for each tensor, the sizes, the state, and the struct of --struct, as members of a struct. */
static void put_members(Text *t, const Interface *f)
{
    for (int i = 0; i < f->in.n + f->out.n; i++) {
        const Value *v = tensor_at(f, i);
        const bool packed = type_bits(v->type) < 8;
        const int64_t n = packed ? max_bytes(v) : shape_high(*v->shape);
        if (n)
            text_put(t, "    %s %s[%s%s_%s_%s];\n", type_public(v->type), v->c,
                     type_part(v->type) == v->type ? "" : "2 * ", f->u, c_upper(v->c), packed ? "BYTES" : "SIZE");
        else
            text_put(t, "    %s %s[1];\n", type_public(v->type), v->c);
    }
    if (states()->at.n)
        text_put(t, "    struct %s_state state;\n", f->p);
    if (is_in_struct(f))
        text_put(t, "    struct %s_io io;\n", f->p);
    else if (f->sizes.n)
        text_put(t, "    struct %s_sizes sizes;\n", f->p);
    if (!f->in.n && !f->out.n && !states()->at.n)
        text_put(t, "    char nothing;\n");
}

/* The statements before the first run: sizes are the largest, the state is at its start. */
static void put_preparation(Text *t, const Interface *f)
{
    for (int i = 0; is_in_struct(f) && i < f->in.n + f->out.n; i++)
        text_put(t, "    data.io.%s = data.%s;\n", tensor_at(f, i)->c, tensor_at(f, i)->c);
    EACH_AT (size, f->sizes)
        if (size->symbol)
            text_put(t, "    data.%ssizes.%s = %lld;\n", is_in_struct(f) ? "io." : "", size->name,
                     (long long)size->symbol->high);
    if (states()->at.n)
        text_put(t, "    %s_reset(&data.state);\n", f->p);
}

static void put_arguments(Text *t, const Interface *f)
{
    if (states()->at.n)
        text_put(t, "&data.state");
    if (is_in_struct(f)) {
        text_put(t, "%s&data.io", t->n ? ", " : "");
        return;
    }
    for (int i = 0; i < f->in.n + f->out.n; i++)
        text_put(t, "%sdata.%s", t->n ? ", " : "", tensor_at(f, i)->c);
    if (f->sizes.n)
        text_put(t, "%s&data.sizes", t->n ? ", " : "");
}

/* Prints the first elements of the first output, if they are numbers of C. */
static void put_printing(Text *t, const Interface *f)
{
    enum { MOST = 16 };
    const Value *v = f->out.n ? f->out.at[0] : NULL;
    const int64_t n = v ? shape_high(*v->shape) : 0;
    const bool number =
        v && (v->type == F32 || v->type == F64 || v->type == I32 || v->type == U32 || v->type == I16 ||
              v->type == U16 || v->type == I8 || v->type == U8 || v->type == I64 || v->type == U64 || v->type == B8);
    if (number && n)
        text_put(t, "    for (int i = 0; i < %lld; i++)\n        Serial.println((double)data.%s[i]);\n",
                 (long long)(n < MOST ? n : MOST), v->c);
}

/* ---- the files --------------------------------------------------------------------------------------------------- */

static const char *text_of(void (*put)(Text *, const Interface *), const Interface *f)
{
    Text t = {0};
    put(&t, f);
    return t.n ? t.s : "";
}

/* The target's flags of the C compiler, as a list of CMake's. */
static const char *flags(void)
{
    char *s = (char *)(uintptr_t)text_format("%s", opt()->target->cflags);
    for (char *at = s; (at = strchr(at, ' ')) != NULL;)
        *at = ';';
    return s;
}

/* The package's version: that of the model, which is one number. */
static const char *version(const Model *m)
{
    enum { LARGEST = 65535 }; /* of Windows' resources, which some tools keep to */
    const int64_t v = m->model_version;
    return text_format("%lld.0.0", (long long)(v < 1 ? 1 : v > LARGEST ? LARGEST : v));
}

/* Opens a file in the folder, and makes the folders between. */
static Output *open_inside(const char *file)
{
    for (size_t n = 0; file[n += strcspn(file + n, "/")]; n++)
        output_folder(text_format("%s/%.*s", opt()->folder, (int)n, file));
    return output_open(text_format("%s/%s", opt()->folder, file));
}

void package_begin(const char *p)
{
    output_folder(opt()->folder);
    output_folder(text_format("%s/src", opt()->folder));
    opt()->output = text_format("%s/src/%s.c", opt()->folder, p);
}

void write_package(const Interface *f, const Model *m)
{
    const Hole holes[] = {
        {"P", f->p, NULL, LINE_FRAME},
        {"U", f->u, NULL, LINE_FRAME},
        {"VERSION", version(m), NULL, LINE_FRAME},
        {"FLAGS", flags(), NULL, LINE_FRAME},
        {"TAB", "\t", NULL, LINE_FRAME},
        {"MEMBERS", text_of(put_members, f), NULL, LINE_FRAME},
        {"PREPARE", text_of(put_preparation, f), NULL, LINE_FRAME},
        {"ARGUMENTS", text_of(put_arguments, f), NULL, LINE_FRAME},
        {"PRINT", text_of(put_printing, f), NULL, LINE_FRAME},
        {NULL, NULL, NULL, LINE_FRAME},
    };
    for (int i = 0; i < FILES; i++) {
        Text file = {0}, t = {0};
        if (strcmp(files[i].kind, opt()->package))
            continue;
        fill_holes(&file, files[i].file, holes, NULL);
        fill_holes(&t, embedded_text(files[i].template), holes, NULL);
        output_write(open_inside(file.s), t.s, t.n);
    }
}
