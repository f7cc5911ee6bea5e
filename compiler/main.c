/* main.c - the command line. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "base/process.h"
#include "compile.h"
#include "emit/eval.h"
#include "base/output.h"
#include "emit/report.h"
#include "emit/source.h"
#include "ir/opset.h"

/* ---- options ------------------------------------------------------------------------------------------------------- */

static const char usage_text[] =
    "usage: onnxcc MODEL [-o FILE|-] [options]\n"
    "Compiles an ONNX model into one C file and its header.\n"
    "\n"
    "  -o FILE             write FILE, and its header beside it; - is standard output (default: MODEL.c here)\n"
    "      --prefix NAME   prefix of everything external (default: the model file's base name)\n"
    "      --dim NAME=N    fixes the symbolic dimension NAME; NAME<=N bounds it\n"
    "      --shape INPUT=D,D,...   shape of an input with dimensions that have no name; of a sequence: how many elements\n"
    "                              it may have, and their largest sizes\n"
    "      --const INPUT=FILE.pb   freezes an input to the tensor in FILE.pb, or to numbers: sr=16000\n"
    "      --custom-op DOMAIN.OP   an operator of yours: the C calls a function that you write, which the header declares\n"
    "      --target NAME   generic, x86-64-v2, x86-64-v3, x86-64-v4, aarch64, riscv64, cortex-m4, cortex-m7,\n"
    "                      cortex-m55\n"
    "      --max-arena BYTES   the most memory that a run may need (default 1G); 512K, 64M and 2G are understood\n"
    "      --weights WHERE inline: arrays in the C file; incbin: FILE.weights, brought in by the C file;\n"
    "                      file: FILE.weights, loaded by the caller (default: incbin above 1 MB, else inline)\n"
    "      --single        one C file that needs no header or library of onnxcc\n"
    "      --report[=json] what the model needs: flash, arena, operations; with -o - on standard error\n"
    "      --eval DIR      runs the model on DIR/input_I.pb in the compiler, writes DIR/actual_I.pb; no C\n"
    "      --list-ops[=markdown|json]   every operator, version and type that is supported\n"
    "      --strict        warnings about the model are errors\n"
    "  -d LETTERS          prints the graph after stages: p(arse) i(nline) f(old) s(implify) l(ayout) b(ind) u: fuse a: plan\n"
    "  -v, --verbose       each stage with its time and counts\n"
    "  -h, --help          this text\n"
    "      --version\n"
    "\n"
    "MODEL - is standard input. Exit: 0 done, 1 model rejected, 2 usage, 3 input or output, 70 a bug of onnxcc.\n";

enum {
    O_PREFIX = 256,
    O_DIM,
    O_SHAPE,
    O_CONST,
    O_CUSTOM_OP,
    O_TARGET,
    O_MAX_ARENA,
    O_WEIGHTS,
    O_SINGLE,
    O_REPORT,
    O_EVAL,
    O_LIST,
    O_STRICT,
    O_VERSION
};
static const struct option options[] = {
    {"prefix", required_argument, NULL, O_PREFIX},
    {"dim", required_argument, NULL, O_DIM},
    {"shape", required_argument, NULL, O_SHAPE},
    {"const", required_argument, NULL, O_CONST},
    {"custom-op", required_argument, NULL, O_CUSTOM_OP},
    {"target", required_argument, NULL, O_TARGET},
    {"max-arena", required_argument, NULL, O_MAX_ARENA},
    {"weights", required_argument, NULL, O_WEIGHTS},
    {"single", no_argument, NULL, O_SINGLE},
    {"report", optional_argument, NULL, O_REPORT},
    {"eval", required_argument, NULL, O_EVAL},
    {"list-ops", optional_argument, NULL, O_LIST},
    {"strict", no_argument, NULL, O_STRICT},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, O_VERSION},
    {NULL, 0, NULL, 0},
};

static int64_t number(const char *s, const char **end, const char *option)
{
    char *stop;
    errno = 0;
    long long v = strtoll(s, &stop, 10);
    if (stop == s || errno || v < 0 || v > (1ll << 40))
        usage("--%s: '%s' is not a size", option, s);
    *end = stop;
    return v;
}

static void add_dim(const char *s)
{
    const char *op = strstr(s, "<="), *eq = strchr(s, '='), *end;
    if (!eq || eq == s)
        usage("--dim %s: expected NAME=N or NAME<=N", s);
    bool bound = op && op + 1 == eq;
    size_t n = (size_t)((bound ? op : eq) - s);
    int64_t v = number(eq + 1, &end, "dim");
    if (*end || !n)
        usage("--dim %s: expected NAME=N or NAME<=N", s);
    const char *what = name_bytes(s, n)->s;
    for (int i = 0; i < opt()->dims.n; i++)
        if (!strcmp(opt()->dims.at[i].name, what) &&
            (opt()->dims.at[i].high != v || (opt()->dims.at[i].low != v) != bound))
            usage("--dim %s: given twice", what);
    vec_push(&opt()->dims, ((struct DimOption){what, bound ? 0 : v, v, false}));
}

/* The last = divides, for names may have one. */
static const char *split(const char *s, const char *option, const char **value)
{
    const char *eq = strrchr(s, '=');
    if (!eq || eq == s || !eq[1])
        usage("--%s %s: expected INPUT=VALUE", option, s);
    *value = eq + 1;
    return name_bytes(s, (size_t)(eq - s))->s;
}

static void add_shape(const char *s)
{
    struct ShapeOption o = {0};
    const char *v;
    o.input = split(s, "shape", &v);
    while (*v) {
        if (o.rank == MAX_RANK)
            usage("--shape: more than %d dimensions", MAX_RANK);
        o.dim[o.rank++] = number(v, &v, "shape");
        if (*v == ',' || *v == 'x')
            v++;
        else if (*v)
            usage("--shape: '%s' is not a list of sizes", v);
    }
    for (int i = 0; i < opt()->shapes.n; i++)
        if (!strcmp(opt()->shapes.at[i].input, o.input))
            usage("--shape %s: given twice", o.input);
    vec_push(&opt()->shapes, o);
}

static void add_const(const char *s)
{
    struct ConstOption o;
    o.input = split(s, "const", &o.file);
    for (int i = 0; i < opt()->consts.n; i++)
        if (!strcmp(opt()->consts.at[i].input, o.input))
            usage("--const %s: given twice", o.input);
    vec_push(&opt()->consts, o);
}

/* The last . divides, for domains have some. */
static void add_custom(const char *s)
{
    const char *dot = strrchr(s, '.');
    if (!(dot ? dot[1] : *s) || dot == s)
        usage("--custom-op %s: expected DOMAIN.OPERATOR", s);
    const char *domain = domain_normal(name_bytes(s, dot ? (size_t)(dot - s) : 0))->s;
    vec_push(&opt()->customs, ((struct CustomOption){domain, dot ? dot + 1 : s, false}));
}

static bool is_identifier(const char *s)
{
    if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z')))
        return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_'))
            return false;
    return true;
}

/* "64M": a number of bytes, with the usual letters for 2^10, 2^20 and 2^30. */
static int64_t bytes_option(const char *s, const char *option)
{
    static const char letters[] = "KMG";
    const char *end, *letter;
    int64_t v = number(s, &end, option);
    int shift = *end && (letter = strchr(letters, toupper((unsigned char)*end))) ? 10 * (int)(letter - letters + 1) : 0;
    if (end[shift > 0] || !v || v > INT64_MAX >> shift)
        usage("--%s %s: expected a number of bytes, such as 512K or 2G", option, s);
    return v << shift;
}

static Weights weights_option(const char *s)
{
    static const char *const names[] = {"auto", "inline", "incbin", "file"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(s, names[i]))
            return (Weights)i;
    usage("--weights %s: expected inline, incbin or file", s);
}

static void read_options(int argc, char **argv)
{
    int c;
    const char *list = NULL;
    while ((c = getopt_long(argc, argv, "o:d:vh", options, NULL)) != -1)
        switch (c) {
        case 'o': opt()->output = optarg; break;
        case 'd':
            opt()->dump = optarg;
            if (optarg[strspn(optarg, stage_letters())])
                usage("-d %s: the stages that print a graph are %s", optarg, stage_letters());
            break;
        case 'v': opt()->verbose = true; break;
        case 'h': fputs(usage_text, stdout); process_done();
        case O_PREFIX:
            if (!is_identifier(optarg) || strlen(optarg) > 63)
                usage("--prefix %s: not a C identifier of at most 63 characters that starts with a letter", optarg);
            if (!strcasecmp(optarg, "rt") || !strcasecmp(optarg, "onnxcc"))
                usage("--prefix %s: what onnxcc's own headers define begins so", optarg);
            opt()->prefix = optarg;
            break;
        case O_DIM: add_dim(optarg); break;
        case O_SHAPE: add_shape(optarg); break;
        case O_CONST: add_const(optarg); break;
        case O_CUSTOM_OP: add_custom(optarg); break;
        case O_MAX_ARENA: opt()->max_arena = bytes_option(optarg, "max-arena"); break;
        case O_TARGET:
            opt()->target = target_find(optarg);
            if (!opt()->target)
                usage("--target %s: not known, the nearest is %s; there are %s", optarg, target_nearest(optarg),
                      target_names());
            break;
        case O_WEIGHTS: opt()->weights = weights_option(optarg); break;
        case O_SINGLE: opt()->single = true; break;
        case O_REPORT:
            opt()->report = true;
            opt()->report_json = optarg && !strcmp(optarg, "json");
            if (optarg && strcmp(optarg, "json") && strcmp(optarg, "text"))
                usage("--report=%s: expected json", optarg);
            break;
        case O_EVAL: opt()->eval_dir = optarg; break;
        case O_LIST:
            opt()->list_ops = true;
            list = optarg ? optarg : "text";
            break;
        case O_STRICT: opt()->strict = true; break;
        case O_VERSION: printf("onnxcc %s\nONNX IR 1 to 14, ai.onnx 1 to 28\n", ONNXCC_VERSION); process_done();
        default: fprintf(stderr, "Try 'onnxcc --help'.\n"); exit(EXIT_USAGE);
        }
    if (opt()->list_ops) {
        if (strcmp(list, "text") && strcmp(list, "markdown") && strcmp(list, "json"))
            usage("--list-ops=%s: expected markdown or json", list);
        list_ops(list);
        process_done();
    }
    if (optind == argc)
        usage("no model given");
    if (argc - optind > 1)
        usage("one model at a time: '%s' and '%s' were given", argv[optind], argv[optind + 1]);
    opt()->model = argv[optind];
}

/* model.onnx -> model.c in this folder */
static const char *default_output(const char *model)
{
    const char *slash = strrchr(model, '/'), *base = slash ? slash + 1 : model, *dot = strrchr(base, '.');
    if (!strcmp(model, "-"))
        return "-";
    return name_format("%.*s.c", (int)(dot && dot > base ? dot - base : (ptrdiff_t)strlen(base)), base)->s;
}

static void check_output(void)
{
    const char *slash = strrchr(opt()->output, '/'), *file = slash ? slash + 1 : opt()->output;
    bool text = !strcmp(opt()->output, "-");
    if (opt()->eval_dir)
        return;
    if (text && (opt()->weights == WEIGHTS_INCBIN || opt()->weights == WEIGHTS_FILE))
        usage("--weights=incbin and --weights=file need a file beside the C file: -o FILE");
    if (!opt()->single && !text && !is_includable(file))
        usage("'%s' has characters that an #include of its header cannot have: another name, by -o FILE, or --single",
              printable(name(file)));
}

typedef struct Words {
    int n;
    char **at;
} Words;

static void compile(void *words)
{
    opt()->target = target_find("generic");
    read_options(((Words *)words)->n, ((Words *)words)->at);
    if (!opt()->output)
        opt()->output = default_output(opt()->model);
    check_output();
    Model *m = read_model(opt()->model);
    compile_model(m);
    if (opt()->eval_dir)
        eval_model(m, opt()->eval_dir);
    else
        emit_files(m);
}

int main(int argc, char **argv)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 17); /* a large block goes back to the system when it is freed */
#endif
    const int code = process_run(compile, &(Words){argc, argv}, true);
    if (code < 0)
        fprintf(stderr, "error: out of memory: no stack for the compiler\n");
    return code < 0 ? EXIT_IO : code;
}
