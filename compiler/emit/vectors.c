/* vectors.c - --emit-test: a C file that runs the emitted model with inputs of its own and compares the results with
 * those that the compiler computed. It needs nothing but the model's header. */
#include "emit/emit.h"

#include "base/options.h"
#include "base/output.h"
#include "emit/eval.h"
#include "ir/random.h"
#include "passes/container.h"
#include "read/read.h"

typedef struct Vectors {
    Model *m;
    const char *p;      /* the prefix */
    Tensor **in, **out; /* in: NULL: the input's default */
    VEC(Value *) inputs;
    bool exact; /* the results have the same bits on every machine */
} Vectors;

static Value *output(const Vectors *v, int i) { return v->m->graph->out.at[i]; }

/* ---- inputs and results ------------------------------------------------------------------------------------------ */

static void check_tensors(const Model *m)
{
    const InterfaceGroup *group;
    for (int outputs = 0; outputs < 2; outputs++) {
        const int n = interface_groups(outputs, &group);
        const Graph *g = m->graph;
        for (int i = 0; i < n; i++) {
            const Value *v = (outputs ? g->out.at : g->in.at)[group[i].first];
            if ((group[i].ctype && group[i].ctype->form != TENSOR) || v->type == STR) {
                error_value(v, "ARG-07", "--emit-test: only tensors of numbers can be tested");
                stop_on_errors();
            }
        }
    }
}

static Tensor *random_input(const Value *v, uint64_t *state)
{
    enum { BELOW = 2 }; /* they may be indices */
    int64_t dim[MAX_RANK];
    for (int k = 0; k < v->shape->rank; k++)
        dim[k] = dim_high(v->shape->dim[k]);
    return random_tensor(v->type, v->shape->rank, dim, BELOW, state);
}

static void find_vectors(Vectors *v)
{
    const Graph *g = v->m->graph;
    uint64_t state = 1;
    EACH_OF (x, g->in)
        if (x->input >= 0)
            vec_push(&v->inputs, x);
    v->in = NEWS(Tensor *, v->inputs.n + 1);
    v->out = NEWS(Tensor *, g->out.n + 1);
    for (int i = 0; i < v->inputs.n; i++)
        v->in[i] = opt()->test_data            ? read_tensor_file(text_format("%s/input_%d.pb", opt()->test_data, i))
                   : v->inputs.at[i]->fallback ? NULL
                                               : random_input(v->inputs.at[i], &state);
    eval_graph(v->m, v->in, v->out);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* Floats are printed as numbers if all are finite, other elements that are no integers as their bits. */
static bool is_printed_as_number(const Tensor *t, Type part)
{
    if (type_is_int(part))
        return type_bits(part) % 8 == 0;
    return (part == F32 || part == F64) && tensor_is_finite(t);
}

static void put_element(Text *t, const Tensor *x, Type part, int64_t i)
{
    const unsigned char *b = tensor_data(x);
    if (part == F32 || part == F64)
        text_float(t, part,
                   part == F32 ? (double)((const float *)(const void *)b)[i] : ((const double *)(const void *)b)[i]);
    else
        text_integer(t, part, tensor_get_int(x, i));
}

static void put_bits(Text *t, const unsigned char *b, size_t width, int64_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, b + (size_t)i * width, width);
    text_put(t, width == 8 ? "UINT64_C(0x%llx)" : width == 1 ? "%llu" : "0x%llxu", (unsigned long long)bits);
}

/* The bytes of an element of an array of bits. */
static size_t width_of(Type part) { return type_bits(part) % 8 ? 1 : (size_t)type_bits(part) / 8; }

/* static const float name[12] = { ... }; */
static void put_vector(Text *t, const char *id, const Tensor *x)
{
    const Type part = type_part(x->type);
    const bool numbers = is_printed_as_number(x, part);
    const size_t width = width_of(part), size = tensor_size(x);
    const int64_t n = (int64_t)(size / width);
    text_put(t, "static const %s %s[%lld] = {\n", numbers ? type_public(part) : text_format("uint%zu_t", 8 * width), id,
             (long long)(n ? n : 1));
    Wrapped w = {.to = t, .first = "", .between = "", .indent = 4};
    for (int64_t i = 0; i < n || i < 1; i++) {
        TextMark mark = text_mark();
        Text number = {0};
        if (!n)
            text_put(&number, "0");
        else if (numbers)
            put_element(&number, x, part, i);
        else
            put_bits(&number, tensor_data(x), width, i);
        text_put(&number, ",");
        put_piece(&w, number.s);
        text_release(mark);
    }
    text_put(t, "\n};\n");
    tensor_drop(x);
}

/* ---- comparison -------------------------------------------------------------------------------------------------- */

static const char of_bytes[] = "/* Do n bytes differ? */\n"
                               "static int bytes_differ(const void *result, const void *expected, size_t n)\n"
                               "{\n"
                               "    const unsigned char *a = result, *b = expected;\n"
                               "    for (size_t i = 0; i < n; i++)\n"
                               "        if (a[i] != b[i])\n"
                               "            return 1;\n"
                               "    return 0;\n"
                               "}\n\n";

/* Of floats of T, in the unsigned type U of their bits, of which INF are those of infinity. */
static const char of_bits[] = "/* Do n numbers have different bits? Not every processor makes the same NaN. */\n"
                              "static int @_differ(const void *result, const void *expected, size_t n)\n"
                              "{\n"
                              "    const unsigned char *r = result, *e = expected;\n"
                              "    for (size_t i = 0; i < n; i++) {\n"
                              "        ^ a, b;\n"
                              "        unsigned char *x = (unsigned char *)&a, *y = (unsigned char *)&b;\n"
                              "        for (size_t k = 0; k < sizeof a; k++) {\n"
                              "            x[k] = r[i * sizeof a + k];\n"
                              "            y[k] = e[i * sizeof a + k];\n"
                              "        }\n"
                              "        const int nans = (^)(a << 1) > (^)((^)$ << 1) && (^)(b << 1) > (^)((^)$ << 1);\n"
                              "        if (a != b && !nans)\n"
                              "            return 1;\n"
                              "    }\n"
                              "    return 0;\n"
                              "}\n\n";

static const char of_numbers[] =
    "/* Is a number farther than ATOL + RTOL * |expected| from what is expected? */\n"
    "static int @_differ(const void *result, const void *expected, size_t n)\n"
    "{\n"
    "    const ^ *a = result, *b = expected;\n"
    "    for (size_t i = 0; i < n; i++) {\n"
    "        const ^ distance = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i], size = b[i] < 0 ? -b[i] : b[i];\n"
    "        const int nans = a[i] != a[i] && b[i] != b[i];\n"
    "        if (a[i] != b[i] && !nans && !(distance <= (^)ATOL + (^)RTOL * size))\n"
    "            return 1;\n"
    "    }\n"
    "    return 0;\n"
    "}\n\n";

/* Prints the function with its name, type and number in place. */
static void put_function(Text *t, const char *text, const char *of, const char *type, const char *infinity)
{
    for (; *text; text++)
        if (*text == '@')
            text_put(t, "%s", of);
        else if (*text == '^')
            text_put(t, "%s", type);
        else if (*text == '$')
            text_put(t, "%s", infinity);
        else
            text_bytes(t, text, 1);
}

typedef struct FloatForm { /* how outputs of floats are compared */
    Type type;
    const char *of, *bits, *infinity;
} FloatForm;
static const FloatForm floats[] = {{F32, "floats", "uint32_t", "0x7f800000u"},
                                   {F64, "doubles", "uint64_t", "UINT64_C(0x7ff0000000000000)"},
                                   {F16, "halves", "uint16_t", "0x7c00u"},
                                   {BF16, "bfloats", "uint16_t", "0x7f80u"}};

static const FloatForm *compared_as(Type t)
{
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (floats[i].type == type_part(t))
            return &floats[i];
    return NULL;
}

/* Floats of 32 and 64 bits have a tolerance where a target may round differently. */
static bool has_tolerance(const Vectors *v, const FloatForm *c)
{
    return c && !v->exact && (c->type == F32 || c->type == F64);
}

static void put_functions(Text *t, const Vectors *v)
{
    bool bytes = false, used[sizeof floats / sizeof *floats] = {false};
    for (int i = 0; i < v->m->graph->out.n; i++) {
        const FloatForm *c = compared_as(v->out[i]->type);
        if (c)
            used[c - floats] = true;
        bytes |= !c;
    }
    if (bytes)
        text_put(t, "%s", of_bytes);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        if (used[i] && has_tolerance(v, &floats[i]))
            put_function(t, of_numbers, floats[i].of, type_public(floats[i].type), "");
        else if (used[i])
            put_function(t, of_bits, floats[i].of, floats[i].bits, floats[i].infinity);
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

/* The argument for input i. */
static const char *passed_input(const Vectors *v, int i)
{
    if (!v->in[i])
        return "NULL";
    return text_format("(const %s *)(const void *)in_%d", type_public(v->in[i]->type), i);
}

static void put_call(Text *t, const Vectors *v, bool sizes)
{
    const int n_in = v->inputs.n, n = n_in + v->m->graph->out.n;
    Text call = {0};
    if (opt()->as_struct && (n || sizes)) {
        text_put(t, "    struct %s_io io = {0};\n", v->p);
        for (int i = 0; i < n; i++)
            text_put(t, "    io.%s = %s;\n", i < n_in ? v->inputs.at[i]->c : output(v, i - n_in)->c,
                     i < n_in ? passed_input(v, i) : text_format("out_%d", i - n_in));
        if (sizes)
            text_put(t, "    io.sizes = sizes;\n");
        text_put(t, "    const int status = %s_run(&io);\n", v->p);
        if (sizes)
            text_put(t, "    sizes = io.sizes;\n");
        return;
    }
    text_put(&call, "const int status = %s_run(", v->p);
    for (int i = 0; i < n; i++)
        text_put(&call, "%s%s", i ? ", " : "", i < n_in ? passed_input(v, i) : text_format("out_%d", i - n_in));
    text_put(&call, "%s);", sizes ? n ? ", &sizes" : "&sizes" : "");
    put_wrapped(t, 4, call.s);
}

static void put_comparison(Text *t, const Vectors *v, int i)
{
    const Tensor *x = v->out[i];
    const FloatForm *c = compared_as(x->type);
    const SizeField *field;
    const int n = emitted_sizes(&field);
    for (int k = 0; k < n; k++)
        if (field[k].out == output(v, i))
            text_put(t, "    if (sizes.%s != %lld)\n        return %d;\n", field[k].name,
                     (long long)x->dim[field[k].axis], i + 1);
    const size_t bytes = tensor_size(x), width = width_of(type_part(x->type));
    text_put(t, "    if (%s_differ(out_%d, expected_%d, %zu)) /* %s */\n        return %d;\n", c ? c->of : "bytes", i,
             i, c ? bytes / width : bytes, c_comment(output(v, i)->name), i + 1);
}

static void put_test(Text *t, const Vectors *v)
{
    const SizeField *field;
    const int n = emitted_sizes(&field);
    text_put(t, "int %s_test(void)\n{\n", v->p);
    if (n)
        text_put(t, "    struct %s_sizes sizes = {0};\n", v->p);
    for (int i = 0; i < n; i++)
        if (field[i].symbol)
            text_put(t, "    sizes.%s = %lld;\n", field[i].name, (long long)field[i].symbol->value);
    put_call(t, v, n > 0);
    text_put(t, "    if (status != 0)\n        return -status;\n");
    for (int i = 0; i < v->m->graph->out.n; i++)
        put_comparison(t, v, i);
    text_put(t, "    return 0;\n}\n");
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void put_head(Text *t, const Vectors *v)
{
    const char *header = base_name(output_path(".h"));
    text_put(t,
             "/* A test of %s: %sinputs, the results that onnxcc computed from them, and a function that compares.\n",
             c_comment(v->m->base), opt()->test_data ? "" : "random ");
    text_put(t,
             " * int %s_test(void) returns 0, the number of the first output that differs (from 1 on), or the negated\n"
             " * status of the run. It needs the static arena, and no libc.\n",
             v->p);
    text_put(
        t,
        v->exact
            ? " * Results are compared bit by bit: code for generic has the same ones everywhere. */\n"
            : " * Floats of 32 and 64 bits may differ by ATOL + RTOL * |expected|, others and integers not at all. */\n");
    text_put(t, "#include \"%s\"\n\n", header);
    if (!v->exact)
        text_put(t, "#ifndef RTOL\n#define RTOL %g\n#endif\n#ifndef ATOL\n#define ATOL %g\n#endif\n\n",
                 opt()->tolerance.relative, opt()->tolerance.absolute);
    text_put(t, "int %s_test(void);\n\n", v->p);
}

void write_test(Model *m)
{
    Vectors v = {.m = m, .p = c_prefix(m->base, opt()->prefix), .exact = !strcmp(opt()->target->name, "generic")};
    check_tensors(m);
    find_vectors(&v);
    Text t = {.to = output_open(opt()->emit_test)};
    put_head(&t, &v);
    for (int i = 0; i < v.inputs.n; i++)
        if (v.in[i]) {
            text_put(&t, "/* %s */\n", c_comment(v.inputs.at[i]->name));
            put_vector(&t, text_format("in_%d", i), v.in[i]);
        }
    for (int i = 0; i < m->graph->out.n; i++) {
        const int64_t n = max_bytes(output(&v, i)) / (int64_t)width_of(type_part(v.out[i]->type));
        text_put(&t, "/* %s */\n", c_comment(output(&v, i)->name));
        put_vector(&t, text_format("expected_%d", i), v.out[i]);
        text_put(&t, "static %s out_%d[%lld];\n", type_public(v.out[i]->type), i, (long long)(n ? n : 1));
    }
    text_put(&t, "\n");
    put_functions(&t, &v);
    put_test(&t, &v);
    text_flush(&t);
}
