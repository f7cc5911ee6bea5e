/* weights.c - the constants of the emitted code: arrays in the C file, or the file NAME.weights beside it. */
#include "emit/emit.h"

#include <math.h>
#include <xxhash.h>

#include "base/options.h"
#include "base/output.h"
#include "base/progress.h"
#include "read/read.h"
#include "rt.h"

enum { ALIGN = 64, FILE_LIMIT = 1 << 20, SHORT = 8 /* elements of an array that is a line */ };

SHARED_PART_IS(Constants, constants);
typedef struct Constant {
    Value *v;
    const char *id; /* NULL: it shares the bytes of an earlier one */
    Type printed;   /* as numbers of this type */
    bool in_file;
    size_t at; /* there */
} Constant;
typedef struct Store {
    VEC(Constant) list;
    VEC(const char *) long_texts; /* names of arrays for strings that are too long for literals, in order */
    Map seen;                     /* content -> the first value with it */
    Map defaults;                 /* inputs -> the constant of their default */
    const char *attributes;       /* of the arrays */
} Store;
PART(Store, store)

/* ---- the constants that calls use -------------------------------------------------------------------------------- */

static void add_constant(Value *v)
{
    if (v->data && !v->data->symbolic && !v->c) {
        v->c = ""; /* marks it as listed */
        vec_push(&store()->list, ((Constant){.v = v}));
    }
}

static void add_call(const Call *c)
{
    EACH_VALUE (v, c->arg, c->n_arg)
        add_constant(v);
    for (int i = 0; c->epilogue && i < c->epilogue->n_in; i++)
        add_constant(c->epilogue->in[i]);
}

/* ---- literals --------------------------------------------------------------------------------------------------- */

static void text_nan(Text *t, Type type, double v)
{
    const uint32_t narrow = rt_u32((float)v);
    const uint64_t wide = rt_u64(v);
    if (type != F64 ? narrow == 0x7fc00000 : wide == 0x7ff8000000000000)
        text_put(t, "RT_NAN%s", type == F64 ? "_F64" : "");
    else if (type != F64)
        text_put(t, "rt_f32(0x%08x)", narrow);
    else
        text_put(t, "rt_f64(UINT64_C(0x%016llx))", (unsigned long long)wide);
}

void text_float(Text *t, Type type, double v)
{
    const char *f = type == F64 ? "" : "f";
    if (isnan(v))
        text_nan(t, type, v);
    else if (isinf(v))
        text_put(t, "%sRT_INF%s", v < 0 ? "-" : "", type == F64 ? "_F64" : "");
    else if (fabs(v) < 1e6 && v == (double)(int64_t)v)
        text_put(t, "%.1f%s", v, f);
    else
        text_put(t, "%a%s", v, f);
}

void text_integer(Text *t, Type type, int64_t v)
{
    if (type == U64)
        text_put(t, "UINT64_C(%llu)", (unsigned long long)v);
    else if (type == I64 && v == INT64_MIN)
        text_put(t, "(-INT64_C(9223372036854775807) - 1)");
    else if (type == I64)
        text_put(t, v == (int32_t)v ? "%lld" : "INT64_C(%lld)", (long long)v);
    else if (type == I32 && v == INT32_MIN)
        text_put(t, "(-2147483647 - 1)");
    else
        text_put(t, type == U32 ? "%lluu" : "%lld",
                 type == U32 ? (unsigned long long)(uint32_t)v : (unsigned long long)v);
}

static void name_strings(const Value *v)
{
    int64_t n = tensor_count(v->data);
    for (int64_t i = 0; i < n; i++) {
        Name s = tensor_get_str(v->data, i);
        if (name_length(s) > LONGEST_LITERAL)
            vec_push(&store()->long_texts, c_global(v->name, "text"));
        else
            constants()->inline_bytes += name_length(s) + 1;
    }
    constants()->inline_bytes += (size_t)n * 16;
}

/* Prints an array of strings; *next_long: the index of its next name in long_texts. */
static void put_strings(Text *t, const Value *v, const char *id, int *next_long)
{
    const Tensor *d = v->data;
    int64_t n = tensor_count(d);
    Text all = {0};
    for (int64_t i = 0; i < n; i++) {
        Name s = tensor_get_str(d, i);
        if (name_length(s) > LONGEST_LITERAL) {
            const char *bytes = store()->long_texts.at[(*next_long)++];
            text_put(t, "static const char %s[] = {", bytes);
            put_quoted(t, s, IN_NUMBERS);
            text_put(t, "\n};\n");
            text_put(&all, "    {%s, %u},\n", bytes, name_length(s));
            continue;
        }
        text_put(&all, "    {\"");
        put_quoted(&all, s, IN_LITERAL);
        text_put(&all, "\", %u},\n", name_length(s));
    }
    text_put(t, "static const str %s[%lld] = {\n%s};\n", id, (long long)(n ? n : 1), n ? all.s : "    {\"\", 0}\n");
}

/* The attributes of v's array. */
static const char *attributes_of(const Value *v)
{
    const bool in_ram = target_loads(opt()->target) && !v->loaded;
    return v->type == STR ? "" : in_ram ? " RT_CONST" : store()->attributes;
}

static void put_text_array(Text *t, const Value *v, const char *id)
{
    const Tensor *d = v->data;
    Type type = v->type;
    const unsigned char *bytes = tensor_data(d);
    size_t width = (size_t)type_bits(type) / 8;
    bool packed = type_bits(type) % 8 != 0, bits = packed || (type_is_float(type) && type != F32 && type != F64);
    int64_t n = packed ? (int64_t)tensor_size(d) : tensor_count(d);
    if (packed)
        width = 1;
    const bool one_line = n <= SHORT;
    Text all = {0};
    text_put(one_line ? &all : t, "static const %s %s[%lld]%s = {%s", type_tag(type), id, (long long)(n ? n : 1),
             attributes_of(v), one_line ? n ? "" : "0" : "\n");
    Wrapped w = {.to = t, .first = "", .between = "", .indent = 4};
    Text number = {0};
    for (int64_t i = 0; i < n; i++) {
        number.n = 0;
        if (bits || type == U8 || type == B8)
            text_put(&number, width == 2 ? "0x%04x," : "%u,",
                     width == 2 ? (unsigned)(bytes[2 * i] | bytes[2 * i + 1] << 8) : bytes[i]);
        else if (type_is_float(type)) {
            text_float(&number, type, tensor_get(d, i));
            text_put(&number, ",");
        } else {
            text_integer(&number, type, tensor_get_int(d, i));
            text_put(&number, ",");
        }
        if (one_line)
            text_put(&all, "%s%.*s", i ? ", " : "", (int)number.n - 1, number.s);
        else
            put_piece(&w, number.s);
    }
    text_put(one_line ? &all : t, one_line ? "};" : "\n};\n");
    if (one_line)
        put_wrapped(t, 0, all.s);
    tensor_drop(d);
}

/* Must v be printed as integers with the same bits? NaNs have payloads, and some C compilers accept no infinity as a
 * constant. */
static bool needs_bits(const Value *v)
{
    const Type type = type_part(v->type);
    const bool needs = (type == F32 || type == F64) && !tensor_is_finite(v->data);
    tensor_drop(v->data);
    return needs;
}

static Type printed_type(const Value *v)
{
    const Type type = type_part(v->type);
    return !needs_bits(v) ? type : type == F32 ? U32 : U64;
}

static void name_array(Constant *c)
{
    Value *v = c->v;
    v->c = c->id = c_global(v->name, "constant");
    if (v->type == STR)
        name_strings(v);
    else
        constants()->inline_bytes += tensor_size(v->data);
    c->printed = printed_type(v);
    if (c->printed != v->type)
        v->c = text_format("(const %s *)(const void *)%s", type_tag(v->type), c->id);
}

/* The number of elements of the array. */
static int64_t printed_count(const Constant *c)
{
    const Value *v = c->v;
    if (v->type == STR)
        return tensor_count(v->data);
    if (type_bits(v->type) % 8)
        return (int64_t)tensor_size(v->data);
    return tensor_count(v->data) * type_bits(v->type) / type_bits(c->printed);
}

static void put_array(Text *t, const Constant *c, int *next_long)
{
    const Value *v = c->v;
    if (v->type == STR)
        put_strings(t, v, c->id, next_long);
    else if (c->printed != v->type) {
        Value as = *v;
        Tensor data = *v->data;
        as.data = &data;
        as.type = data.type = c->printed;
        data.rank = 1;
        data.dim = &(int64_t){printed_count(c)};
        put_text_array(t, &as, c->id);
    } else
        put_text_array(t, v, c->id);
}

/* ---- duplicates ----------------------------------------------------------------------------------------------- */

static uint64_t content_hash(const Value *v)
{
    uint64_t h = XXH3_64bits(tensor_data(v->data), tensor_size(v->data));
    tensor_drop(v->data);
    return h ^ ((uint64_t)v->type << 56) ^ tensor_size(v->data);
}

/* An earlier constant of the same type with the same bytes, which are compared after the hashes; NULL: none. */
static Value *same_constant(Value *v)
{
    uint64_t h = content_hash(v);
    for (;; h++) {
        Value *w = map_get(&store()->seen, (void *)(uintptr_t)(h | 1));
        if (!w) {
            map_put(&store()->seen, (void *)(uintptr_t)(h | 1), v);
            return NULL;
        }
        bool same = w->type == v->type && w->loaded == v->loaded && tensor_size(w->data) == tensor_size(v->data) &&
                    !memcmp(tensor_data(w->data), tensor_data(v->data), tensor_size(v->data));
        tensor_drop(w->data);
        tensor_drop(v->data);
        if (same)
            return w;
    }
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static const char in_assembler[] = "extern const unsigned char %s_weights[] __attribute__((visibility(\"hidden\")));\n"
                                   "#ifndef %s_WEIGHTS_SECTION\n#define %s_WEIGHTS_SECTION \".rodata\"\n#endif\n"
                                   "__asm__(\".pushsection \" %s_WEIGHTS_SECTION \",\\\"a\\\",%%progbits\\n\"\n"
                                   "        \".global %s_weights\\n.hidden %s_weights\\n.balign 64\\n%s_weights:\\n\"\n"
                                   "        \".incbin \\\"\" %s_WEIGHTS_FILE \"\\\"\\n.byte 0\\n.popsection\\n\");\n";

/* __FILE__ does not give the folder with -ffile-prefix-map, in a renamed copy, or with a backslash in the path. */
static const char found_beside[] =
    "/* The weights, %zu bytes: %s, beside this file. The assembler searches the folders of -I and the one of\n"
    " * __FILE__; if it is in neither, give its path by -D%s_WEIGHTS_FILE='\"path\"'. */\n"
    "#if !defined %s_WEIGHTS_FILE && defined __has_include\n"
    "#if __has_include(<%s>)\n#define %s_WEIGHTS_FILE \"%s\"\n"
    "#elif !__has_include(\"%s\")\n"
    "#error \"%s is not beside this file, nor in a folder of -I: define %s_WEIGHTS_FILE\"\n"
    "#endif\n#endif\n"
    "#ifndef %s_WEIGHTS_FILE\n#define %s_WEIGHTS_FILE __FILE__ \".weights\"\n#endif\n";

static const char in_memory[] = "static const unsigned char *%s_weights;\n\n"
                                "int %s(const void *weights, size_t bytes)\n"
                                "{\n"
                                "    if (!weights || (uintptr_t)weights %% %d != 0 || bytes != %s_WEIGHTS_BYTES ||\n"
                                "        rt_hash((const unsigned char *)weights, bytes) != UINT64_C(0x%016llx))\n"
                                "        return RT_BAD_WEIGHTS;\n"
                                "    %s_weights = (const unsigned char *)weights;\n"
                                "    return 0;\n"
                                "}\n\n";

static const char little_endian[] =
    "#ifdef RT_BIG_ENDIAN\n"
    "#error \"the weights file is little-endian: for this machine use onnxcc --weights=inline\"\n"
    "#endif\n";

static const char in_section[] = "#ifdef %s_WEIGHTS_SECTION\n"
                                 "#define %s_CONST RT_CONST __attribute__((section(%s_WEIGHTS_SECTION)))\n"
                                 "#else\n#define %s_CONST RT_CONST%s\n#endif\n";

/* Are there arrays of numbers in the C file? */
static bool has_arrays(void)
{
    EACH_AT (c, store()->list)
        if (c->id && !c->in_file && c->v->type != STR)
            return true;
    return false;
}

static void put_assembler(Text *t, const char *p, const char *u)
{
    const char *w = text_format("%s.weights", base_name(opt()->output));
    if (strchr(w, '>') || !is_includable(w)) {
        text_put(t, "/* The weights, %zu bytes, beside this file: its name and .weights. */\n",
                 constants()->file_bytes);
        text_put(t, "#ifndef %s_WEIGHTS_FILE\n#define %s_WEIGHTS_FILE __FILE__ \".weights\"\n#endif\n", u, u);
    } else
        text_put(t, found_beside, constants()->file_bytes, c_comment(name(w)), u, u, w, u, w, w, w, u, u, u);
    text_put(t, in_assembler, p, u, u, u, p, p, p, u);
}

/* The function that the caller passes the weights to. */
static const char *loader(const char *p) { return text_format(opt()->training ? "%s_load_weights" : "%s_load", p); }

void put_weights(Text *t, const char *p)
{
    const char *u = c_upper(p);
    store()->attributes = target_is_plain(opt()->target) ? "" : text_format(" %s_CONST", u);
    if (has_arrays())
        text_put(t, in_section, u, u, u, u, target_loads(opt()->target) ? " RT_FLASH" : "");
    if (constants()->in_file)
        text_put(t, "%s", little_endian);
    if (constants()->loaded)
        text_put(t, in_memory, p, loader(p), ALIGN, u, (unsigned long long)constants()->hash, p);
    else if (constants()->in_file)
        put_assembler(t, p, u);
}

void put_weights_interface(Text *t, const char *p, const char *file)
{
    if (!constants()->loaded)
        return;
    const char *u = c_upper(p);
    text_put(t,
             "/* To be called before the first run, with the contents of %s, aligned to %d, which must stay at this\n"
             " * address. Returns 0, or %s_BAD_WEIGHTS if their XXH64 is not that of this model's weights. */\n",
             c_comment(name(base_name(file))), ALIGN, u);
    text_put(t, "#define %s_WEIGHTS_BYTES %zu\nint %s(const void *weights, size_t bytes);\n\n", u,
             constants()->file_bytes, loader(p));
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

static void write_in_file(Constant *c, Output *file)
{
    size_t n = tensor_size(c->v->data), pad = (ALIGN - constants()->file_bytes % ALIGN) % ALIGN;
    static const char zero[ALIGN];
    output_write(file, zero, pad);
    constants()->file_bytes += pad;
    output_write(file, tensor_data(c->v->data), n);
    tensor_drop(c->v->data);
    c->v->c = c->id = c_global(c->v->name, "constant");
    c->in_file = true;
    c->at = constants()->file_bytes;
    constants()->file_bytes += n;
}

static void write_list(const char *weights_path)
{
    progress("writing the weights");
    Output *file = constants()->in_file ? output_open(weights_path) : NULL;
    for (int i = 0; i < store()->list.n; i++) {
        Constant *c = &store()->list.at[i];
        progress_count(i, store()->list.n);
        about_to_read(tensor_size(c->v->data));
        Value *same = tensor_size(c->v->data) >= 64 ? same_constant(c->v) : NULL;
        if (same)
            c->v->c = same->c;
        else if (constants()->in_file && tensor_size(c->v->data) >= 64 && c->v->type != STR)
            write_in_file(c, file);
        else
            name_array(c);
    }
    map_free(&store()->seen);
    if (file)
        constants()->hash = output_hash(file);
}

void write_constants(Model *m, const char *weights_path)
{
    EACH_NODE (n, m->graph)
        add_call(&n->call);
    EACH_OF (s, m->states)
        if (!tensor_is_zero(s->start->data))
            add_constant(s->start);
    EACH_OF (v, m->graph->in) {
        if (!v->default_only)
            continue;
        Value *otherwise = NEW_COPY(*v);
        otherwise->data = v->fallback;
        otherwise->c = NULL;
        map_put(&store()->defaults, v, otherwise);
        add_constant(otherwise);
    }
    size_t total = 0;
    for (int i = 0; i < store()->list.n; i++)
        total += tensor_size(store()->list.at[i].v->data);
    constants()->in_file = !target_is_plain(opt()->target) && !target_loads(opt()->target) &&
                           (opt()->weights == WEIGHTS_INCBIN || opt()->weights == WEIGHTS_FILE ||
                            (opt()->weights == WEIGHTS_AUTO && total > FILE_LIMIT && weights_path));
    constants()->loaded = constants()->in_file && opt()->weights == WEIGHTS_FILE;
    write_list(weights_path);
}

/* Has c a definition at the end of the file, after the code? */
static bool is_behind(const Constant *c)
{
    return c->id && !c->in_file && (c->v->type == STR || printed_count(c) > SHORT);
}

void declare_constants(Text *t, const char *prefix)
{
    bool behind = false;
    EACH_AT (c, store()->list) {
        const char *type = type_tag(c->v->type);
        TextMark mark = text_mark();
        if (c->id)
            line_is(t, LINE_CONSTANT, c->v);
        if (c->in_file)
            text_put(t, "#define %s ((const %s *)(const void *)(%s_weights + %zu)) /* %lld */\n", c->id, type, prefix,
                     c->at, (long long)tensor_count(c->v->data));
        else if (is_behind(c)) {
            const long long n = (long long)printed_count(c);
            text_put(t, behind ? "" : "/* The weights, which are defined at the end of this file. */\n");
            text_put(t, "static const %s %s[%lld]%s;\n", c->v->type == STR ? type : type_tag(c->printed), c->id,
                     n ? n : 1, attributes_of(c->v));
            behind = true;
        } else if (c->id)
            put_array(t, c, NULL);
        text_release(mark);
    }
    line_is(t, LINE_CONSTANTS, NULL);
}

void put_constants(Text *t, bool (*is_needed)(const char *name))
{
    int next_long = 0;
    size_t done = 0, all = 0;
    progress("writing the constants");
    for (int i = 0; i < store()->list.n; i++)
        all += tensor_size(store()->list.at[i].v->data);
    forget_pages();
    EACH_AT (c, store()->list) {
        progress_count((int64_t)done, (int64_t)all);
        done += tensor_size(c->v->data);
        about_to_read(tensor_size(c->v->data));
        TextMark mark = text_mark();
        if (is_behind(c) && (!is_needed || is_needed(c->id))) {
            line_is(t, LINE_CONSTANT, c->v);
            text_put(t, "\n");
            put_array(t, c, &next_long);
        }
        text_release(mark);
    }
}

const char *constant_expression(const Value *v)
{
    const Value *otherwise = map_get(&store()->defaults, v);
    const char *s = otherwise ? otherwise->c : v->c;
    if (!s || !*s)
        bug("constant '%s' was not emitted", c_comment(v->name));
    return s;
}

void each_constant(void (*visit)(const StoredConstant *, void *), void *arg)
{
    EACH_AT (c, store()->list) {
        const StoredConstant s = {c->v, c->id ? c->id : c->v->c, c->id != NULL, c->in_file, c->at};
        visit(&s, arg);
    }
}
