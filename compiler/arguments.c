/* arguments.c - parses the command line into this session's Options. */
#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/nearest.h"
#include "base/output.h"
#include "base/process.h"
#include "base/say.h"
#include "compile.h"
#include "emit/report.h"
#include "emit/source.h"
#include "ir/opset.h"
#include "ir/remark.h"
#include "manual.h"

/* The same as usage, with a suggestion. */
#define usage_near(near, code, ...)                                                                                    \
    (message_at(SAY_USAGE, "", code, __VA_ARGS__), nearest_help(near), leave_session(EXIT_USAGE))

/* ---- values ------------------------------------------------------------------------------------------------------ */

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

static bool is_quote(const char *s) { return *s == '\\' && s[1] && strchr("*=<\\", s[1]); }

/* The n bytes of s; in them \*, \=, \< and \\ stand for the second character. *star: where a * by itself is; -1:
 * nowhere; -2: there are several. */
static const char *unquoted(const char *s, size_t n, int *star)
{
    Text t = {0};
    text_put(&t, "%s", "");
    *star = -1;
    for (size_t i = 0; i < n; i++) {
        if (is_quote(s + i) && i + 1 < n)
            i++;
        else if (s[i] == '*')
            *star = *star == -1 ? (int)t.n : -2;
        text_bytes(&t, s + i, 1);
    }
    return t.s;
}

static const char *name_option(const char *s, size_t n)
{
    int star;
    return unquoted(s, n, &star);
}

/* The last '=' that is not quoted: names may contain others. NULL: there is none. */
static const char *equals(const char *s)
{
    const char *last = NULL;
    for (; *s; s += is_quote(s) ? 2 : 1)
        if (*s == '=')
            last = s;
    return last;
}

/* Is the character before `at` a quoted one? */
static bool ends_quoted(const char *s, const char *at)
{
    while (s + 1 < at && !(is_quote(s) && s + 2 == at))
        s += is_quote(s) ? 2 : 1;
    return s + 1 < at;
}

static void add_dim(const char *s)
{
    const char *eq = equals(s), *end;
    if (!eq || eq == s)
        usage("--dim %s: expected NAME=N or NAME<=N", s);
    bool bound = eq[-1] == '<' && !ends_quoted(s, eq);
    size_t n = (size_t)(eq - s) - bound;
    int64_t v = number(eq + 1, &end, "dim");
    if (*end || !n)
        usage("--dim %s: expected NAME=N or NAME<=N", s);
    const char *what = name_option(s, n);
    for (int i = 0; i < opt()->dims.n; i++)
        if (!strcmp(opt()->dims.at[i].name, what) &&
            (opt()->dims.at[i].high != v || (opt()->dims.at[i].low != v) != bound))
            usage("--dim %s: given twice", what);
    vec_push(&opt()->dims, ((struct DimOption){what, bound ? 0 : v, v, false}));
}

static void set_all_dims(const char *s)
{
    bool bound = !strncmp(s, "<=", 2);
    const char *end;
    int64_t v = number(bound ? s + 2 : s, &end, "all-dims");
    if (*end)
        usage("--all-dims=%s: expected N or <=N", s);
    opt()->all_dims = (struct DimOption){"", bound ? 0 : v, v, false};
}

/* Splits NAME=VALUE; returns the end of the name. */
static size_t split(const char *s, const char *option, const char **value)
{
    const char *eq = equals(s);
    if (!eq || eq == s || !eq[1])
        usage("--%s %s: expected %s", option, s, strcmp(option, "state") ? "INPUT=VALUE" : "OUTPUT=INPUT");
    *value = eq + 1;
    return (size_t)(eq - s);
}

static void add_shape(const char *s)
{
    struct ShapeOption o = {0};
    const char *v;
    o.input = name_option(s, split(s, "shape", &v));
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
    o.input = name_option(s, split(s, "const", &o.file));
    o.file = name_option(o.file, strlen(o.file));
    for (int i = 0; i < opt()->consts.n; i++)
        if (!strcmp(opt()->consts.at[i].input, o.input))
            usage("--const %s: given twice", o.input);
    vec_push(&opt()->consts, o);
}

/* OUT=IN: two names, or two patterns with one * each. */
static void add_state(const char *s)
{
    struct StateOption o;
    const char *in;
    const size_t n = split(s, "state", &in);
    o.out.text = unquoted(s, n, &o.out.star);
    o.in.text = unquoted(in, strlen(in), &o.in.star);
    if ((o.out.star == -1) != (o.in.star == -1) || o.out.star < -1 || o.in.star < -1)
        usage("--state %s: expected OUTPUT=INPUT, with one * in both or in none", s);
    vec_push(&opt()->states, o);
}

static void add_custom(const char *s)
{
    if (!*s)
        usage("--custom-op: expected DOMAIN.OPERATOR");
    vec_push(&opt()->customs, ((struct CustomOption){s, false}));
}

static void add_tap(const char *s) { vec_push(&opt()->taps, name_option(s, strlen(s))); }
static void add_until(const char *s) { vec_push(&opt()->untils, name_option(s, strlen(s))); }
static void add_from(const char *s) { vec_push(&opt()->froms, name_option(s, strlen(s))); }

/* A number of bytes: "64M"; K, M and G are 2^10, 2^20 and 2^30. */
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

static void set_channel_block(const char *s)
{
    if (strcmp(s, "8") && strcmp(s, "16"))
        usage("--channel-block=%s: expected 8 or 16", s);
    opt()->channel_block = s[0] == '8' ? 8 : 16;
}

static void set_output(const char *s) { opt()->output = s; }
static void set_eval(const char *s) { opt()->eval_dir = s; }
static void set_eval_out(const char *s) { opt()->eval_out = s; }
static void set_max_arena(const char *s) { opt()->max_arena = bytes_option(s, "max-arena"); }
static void set_max_ram(const char *s) { opt()->max_ram = bytes_option(s, "max-ram"); }
static void set_max_flash(const char *s) { opt()->max_flash = bytes_option(s, "max-flash"); }
static void set_max_stack(const char *s) { opt()->max_stack = bytes_option(s, "max-stack"); }
static void set_custom_stub(const char *s) { opt()->custom_stub = s; }
static void set_depend(const char *s) { opt()->depend = s ? s : opt()->depend ? opt()->depend : ""; }

/* Options that take no value: it is NULL. */
static void set_struct(const char *value) { opt()->as_struct = !value; }
static void set_single(const char *value) { opt()->single = !value; }
static void set_training(const char *value) { opt()->training = !value; }
static void set_ticks(const char *s) { opt()->ticks = s; }
static void set_object(const char *s) { opt()->object = s; }
static void set_emit_test(const char *s) { opt()->emit_test = s; }
static void set_test_data(const char *s) { opt()->test_data = s; }
static void set_map(const char *s)
{
    opt()->map = s;
    remarks_keep();
}
static void set_profile(const char *value) { opt()->profile = !value; }
static void set_check(const char *value) { opt()->check = !value; }
static void set_expand_weights(const char *value) { opt()->expand_weights = !value; }
static void set_no_banner(const char *value) { opt()->no_banner = !value; }

static double tolerance_option(const char *s, const char *option)
{
    char *end;
    const double v = strtod(s, &end);
    if (end == s || *end || !(v >= 0))
        usage("--%s %s: expected a number, such as 1e-3", option, s);
    return v;
}

static int64_t whole_number(const char *s, const char *option)
{
    const char *end;
    const int64_t v = number(s, &end, option);
    if (*end)
        usage("--%s %s: expected a number", option, s);
    return v;
}

static void set_rtol(const char *s) { opt()->tolerance.relative = tolerance_option(s, "rtol"); }
static void set_atol(const char *s) { opt()->tolerance.absolute = tolerance_option(s, "atol"); }
static void set_steps(const char *s) { opt()->tolerance.steps = (double)whole_number(s, "steps"); }
static void set_ort(const char *s) { opt()->ort = s; }
static void set_seed(const char *s) { opt()->seed = whole_number(s, "seed"); }
static void set_timeout(const char *s) { opt()->timeout = whole_number(s, "timeout"); }

static void set_weights(const char *s)
{
    static const char *const names[] = {"auto", "inline", "incbin", "file"};
    int i = 0;
    while (i < 4 && strcmp(s, names[i]))
        i++;
    if (i == 4)
        usage("--weights %s: expected inline, incbin or file", s);
    opt()->weights = (Weights)i;
}

static void set_package(const char *s)
{
    if (!package_is_known(s))
        usage("--package=%s: expected arduino, espidf, zephyr or cmake", s);
    opt()->package = s;
}

static void set_dump(const char *s)
{
    if (s[strspn(s, stage_letters())])
        usage("-d %s: the stages that print a graph are %s", s, stage_letters());
    opt()->dump = s;
}

static void set_prefix(const char *s)
{
    if (!name_is_identifier(name(s)) || *s == '_' || strlen(s) > 63)
        usage("--prefix %s: not a C identifier of at most 63 characters that starts with a letter", s);
    if (!strcasecmp(s, "rt") || !strcasecmp(s, "onnxcc"))
        usage("--prefix %s: names in onnxcc's headers begin with it", s);
    opt()->prefix = s;
}

static const char target_words[] =
#define TARGET(name, ...) " " name
#include "base/target.def"
#undef TARGET
    ;

/* Do the names have the same digits, after the same letters? Otherwise they are two processors: cortex-m7,
 * cortex-a7. */
static bool may_be_misspelt(const char *s, const char *target)
{
    static const char digits[] = "0123456789";
    for (;; s++, target++) {
        const char *const from = s, *const to = target;
        s += strcspn(s, digits);
        target += strcspn(target, digits);
        if (*s != *target || !*s)
            return *s == *target;
        if (s > from && target > to && (s[-1] | ' ') != (target[-1] | ' '))
            return false;
    }
}

static void set_target(const char *s)
{
    const char *const suits = target_nearest(s);
    const Target *const target = target_find(s);
    Nearest near = nearest_to(s, strlen(s));
#define TARGET(name, ...)                                                                                              \
    if (may_be_misspelt(s, name))                                                                                      \
        nearest_try(&near, name, strlen(name));
#include "base/target.def"
#undef TARGET
    if (!target && suits)
        usage("--target %s: not known, the nearest is %s; there are %s", s, suits, target_names());
    if (!target)
        usage_near(&near, "ARG-02", "--target %s: not known, generic suits every processor; there are %s", s,
                   target_names());
    opt()->target = target;
}

static void set_report(const char *s)
{
    static const char *const names[] = {"none", "text", "json", "html"};
    int i = REPORT_TEXT;
    while (s && i <= REPORT_HTML && strcmp(s, names[i]))
        i++;
    if (i > REPORT_HTML)
        usage("--report=%s: expected text, json or html", s);
    opt()->report = (Report)i;
    if (i >= REPORT_JSON)
        remarks_keep();
}

static void set_list(const char *s) { opt()->list_ops = s ? s : "text"; }

static void print_version(const char *unused)
{
    (void)unused;
    printf("onnxcc %s\nONNX IR 1 to 14, ai.onnx 1 to 28\n", ONNXCC_VERSION);
    process_done();
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void set_strict(const char *value)
{
    opt()->strict = !value;
    warnings_strict();
}
static void set_verbose(const char *value)
{
    opt()->verbose = !value;
    warnings_all();
}
static void set_quiet(const char *unused)
{
    (void)unused;
    warnings_none();
    opt()->quiet = true;
}

/* The name of the warning in a word of -W, without no- and error=. */
static const char *warning_name(const char *s)
{
    s += strncmp(s, "no-", 3) ? 0 : 3;
    return s + (strncmp(s, "error=", 6) ? 0 : 6);
}

static void set_warning(const char *s)
{
    if (warnings_set(s))
        return;
    const char *const name = warning_name(s);
    const MessageCode *const code = code_find(name);
    if (code)
        usage("-W%s: %s is always an error", s, code->code);
    Nearest near = nearest_to(name, strlen(name));
    for (int i = 0; i < code_count; i++)
        nearest_try(&near, code_rows[i].warning, strlen(code_rows[i].warning));
    usage_near(&near, "ARG-02", "-W%s: there is no such warning; onnxcc --explain=all has their names", s);
}

static void set_diagnostics(const char *s)
{
    if (strcmp(s, "json") && strcmp(s, "text"))
        usage("--diagnostics=%s: expected text or json", s);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const char warning_words[] = "all error"
#define CODE(...)
#define WARNING(code, name, ...) " no-" name
#include "base/codes.def"
#undef CODE
#undef WARNING
    ;
#define REWRITE_WORD(id, stage, word, done) " " word
static const char remark_words[] =
    REWRITES(REWRITE_WORD) " simplify layout plan"; /* other stages have a rewrite's name, or one */

static void give_help(const char *unused);
static void give_man(const char *unused);
static void give_completions(const char *shell);

static const OptionRow option_rows[] = {
#define GROUP(title) {NULL, 0, NULL, NULL, false, NULL, title},
#define OPTION(...) {__VA_ARGS__},
#include "options.def"
};
enum { OPTIONS = sizeof option_rows / sizeof *option_rows };

static void give_help(const char *unused)
{
    (void)unused;
    print_help(option_rows, OPTIONS);
}
static void give_man(const char *unused)
{
    (void)unused;
    print_man(option_rows, OPTIONS);
}
static void give_completions(const char *shell) { print_completions(shell, option_rows, OPTIONS); }

static bool needs_value(const OptionRow *row) { return row->argument && *row->argument != '['; }

/* ---- words ------------------------------------------------------------------------------------------------------- */

typedef struct Words {
    const char *const *next; /* the words not read yet, followed by NULL */
    Caller caller;
    bool ended; /* by "--": all further words are models */
} Words;

static const char *as_written(const OptionRow *row)
{
    if (!row->name)
        return text_format("-%c", row->letter);
    return text_format("%s%s", isupper((unsigned char)row->name[0]) ? "-" : "--", row->name);
}

static void apply(const OptionRow *row, const char *value, const Words *w)
{
    if (row->command == BY_VERIFY && w->caller != BY_VERIFY)
        usage("--%s is an option of onnxcc verify", row->name);
    if (row->command && w->caller == BY_LIBRARY)
        usage("--%s is an option of the command alone", row->name);
    if (value && !*value && (!strcmp(row->values, FILES) || !strcmp(row->values, FOLDERS)))
        usage("%s: the name of a file or a folder is empty", as_written(row));
    row->set(value);
}

static bool starts_with(const char *name, const char *s, size_t n) { return name && !strncmp(name, s, n); }

_Noreturn static void ambiguous(const char *s, size_t n)
{
    Text t = {0};
    for (int i = 0; i < OPTIONS; i++)
        if (starts_with(option_rows[i].name, s, n))
            text_put(&t, " '--%s'", option_rows[i].name);
    usage_as("ARG-01", "option '--%.*s' is ambiguous; possibilities:%s", (int)n, s, t.s);
}

/* If the option that was meant takes a value, the next word is that value, and no model. */
_Noreturn static void unknown_option(const char *s, size_t n, Words *w)
{
    Nearest near = nearest_to(s, n);
    const OptionRow *meant = NULL;
    for (int i = 0; i < OPTIONS; i++) {
        const char *const name = option_rows[i].name;
        if (name)
            nearest_try(&near, name, strlen(name));
        meant = name && near.best == name ? &option_rows[i] : meant;
    }
    if (meant && needs_value(meant) && !s[n] && *w->next)
        w->next++;
    near.best = meant ? text_format("--%s", meant->name) : NULL;
    near.best_n += 2;
    usage_near(&near, "ARG-01", "unrecognized option '--%.*s'", (int)n, s);
}

/* Finds an option by its name or by an unambiguous prefix of it. */
static const OptionRow *find_row(const char *s, size_t n, Words *w)
{
    const OptionRow *found = NULL;
    int count = 0;
    for (int i = 0; i < OPTIONS; i++)
        if (starts_with(option_rows[i].name, s, n)) {
            if (!option_rows[i].name[n])
                return &option_rows[i];
            found = &option_rows[i];
            count++;
        }
    if (count > 1)
        ambiguous(s, n);
    if (!count)
        unknown_option(s, n, w);
    return found;
}

/* What follows "--": NAME, NAME=VALUE or NAME VALUE. */
static void read_name(const char *s, Words *w)
{
    const size_t n = strcspn(s, "=");
    const OptionRow *row = find_row(s, n, w);
    const char *value = s[n] ? s + n + 1 : needs_value(row) && *w->next ? *w->next++ : NULL;
    if (value && !row->argument)
        usage("option '%s' doesn't allow an argument", as_written(row));
    if (!value && needs_value(row))
        usage("option '%s' requires an argument", as_written(row));
    apply(row, value, w);
}

/* What follows "-": "v", "oFILE", "vo" FILE. */
static void read_letters(const char *s, Words *w)
{
    for (; *s; s++) {
        int i = 0;
        while (i < OPTIONS && option_rows[i].letter != *s)
            i++;
        if (i == OPTIONS)
            usage_as("ARG-01", "invalid option -- '%c'", *s);
        const char *value = !option_rows[i].argument ? NULL : s[1] ? s + 1 : *w->next ? *w->next++ : NULL;
        if (!value && needs_value(&option_rows[i]))
            usage("option requires an argument -- '%c'", *s);
        apply(&option_rows[i], value, w);
        if (value)
            return;
    }
}

static void read_model_word(const char *s, const Words *w)
{
    if (opt()->model && w->caller == BY_VERIFY && !opt()->data) {
        opt()->data = s;
        return;
    }
    if (opt()->model && error_count()) /* perhaps the value of an option that was not understood */
        leave_session(EXIT_USAGE);
    if (opt()->model)
        usage_as("ARG-03", "one model at a time: '%s' and '%s' were given", opt()->model, s);
    opt()->model = s;
}

static void list_and_end(const char *how)
{
    if (strcmp(how, "text") && strcmp(how, "markdown") && strcmp(how, "json"))
        usage("--list-ops=%s: expected markdown or json", how);
    list_ops(how);
    process_done();
}

/* dir/model.onnx -> model.c, or the folder of a package, in the current folder */
static const char *default_output(const char *model)
{
    const char *slash = strrchr(model, '/'), *base = slash ? slash + 1 : model, *dot = strrchr(base, '.');
    if (!strcmp(model, "-"))
        return "-";
    return text_format("%.*s%s", (int)(dot && dot > base ? dot - base : (ptrdiff_t)strlen(base)), base,
                       opt()->package ? "" : ".c");
}

/* Of --package: what -o names is a folder. */
static void check_package(void)
{
    if (output_is_stream(opt()->output))
        usage("--package makes a folder: -o FOLDER");
    if (opt()->training)
        usage("--package has a model that is run, not trained: --training goes without it");
    if (!strcmp(opt()->package, "arduino") && opt()->weights == WEIGHTS_FILE)
        usage("--package=arduino has an example that loads no file: --weights=inline or incbin");
    size_t n = strlen(opt()->output);
    while (n > 1 && opt()->output[n - 1] == '/')
        n--;
    opt()->folder = opt()->output = text_format("%.*s", (int)n, opt()->output);
    opt()->single = true;
}

void check_profile(void)
{
    if (target_is_plain(opt()->target))
        usage("--target plain has no --profile: what is analysed is what runs");
}

static void check_output(void)
{
    const char *slash = strrchr(opt()->output, '/'), *file = slash ? slash + 1 : opt()->output;
    if (opt()->training && (opt()->eval_dir || opt()->taps.n || opt()->untils.n || opt()->froms.n || opt()->states.n ||
                            opt()->profile || opt()->as_struct))
        usage(
            "--training compiles the whole model: --eval, --tap, --until, --from, --state, --struct and --profile go without it");
    if (opt()->eval_out && !opt()->eval_dir)
        usage("--eval-out needs --eval DIR, the folder of the inputs");
    if (opt()->eval_dir)
        return;
    if (output_is_stdout(opt()->output))
        opt()->output = "-";
    if (opt()->package)
        check_package();
    bool text = output_is_stream(opt()->output);
    const bool in_file = opt()->weights == WEIGHTS_INCBIN || opt()->weights == WEIGHTS_FILE;
    opt()->single |= text; /* nothing lies beside it */
    if (text && in_file)
        usage("--weights=incbin and --weights=file need a file beside the C file: -o FILE");
    if (target_is_plain(opt()->target) && (in_file || opt()->training || opt()->map))
        usage("--target plain has no --weights=incbin or file, no --training and no --map");
    if (opt()->profile)
        check_profile();
    if (target_loads(opt()->target) && in_file)
        usage("--target avr has no --weights=incbin or file: its constants are arrays in flash");
    if (opt()->custom_stub && !opt()->customs.n)
        usage("--custom-stub: of which operators? --custom-op DOMAIN.OPERATOR");
    if (text && opt()->custom_stub)
        usage("--custom-stub needs a C file: -o FILE");
    if (opt()->test_data && !opt()->emit_test)
        usage("--test-data needs --emit-test FILE, the C file that gets the data");
    if (opt()->emit_test && (opt()->training || opt()->states.n || opt()->customs.n))
        usage(
            "--emit-test calls a run once, and compares it with one in the compiler: --training, --state and --custom-op go "
            "without it");
    if (text && opt()->emit_test)
        usage("--emit-test includes the header, which needs a file: -o FILE");
    if (text && opt()->depend)
        usage("-MD needs a C file: -o FILE");
    if (text && opt()->check)
        usage("--check needs a C file to compare with: -o FILE");
    if (opt()->depend && !*opt()->depend)
        opt()->depend = output_path(".d");
    if (opt()->check)
        output_to(compare_file, NULL);
    if (!opt()->single && !text && !is_includable(file))
        usage("'%s' has characters that an #include of its header cannot have: another name, by -o FILE, or --single",
              printable(name(file)));
}

/* Reads the next word, and its value if that is a word of its own. */
static void read_word(void *words)
{
    Words *const w = words;
    const char *const s = *w->next++;
    if (w->ended || *s != '-' || !s[1])
        read_model_word(s, w);
    else if (!strncmp(s, "-MF", 3) && s[3])
        set_depend(s + 3);
    else if (s[1] == 'M')
        read_name(s + 1, w);
    else if (s[1] != '-')
        read_letters(s + 1, w);
    else if (s[2])
        read_name(s + 2, w);
    else
        w->ended = true;
}

static void check_words(void *words)
{
    const Words *const w = words;
    if (opt()->list_ops)
        list_and_end(opt()->list_ops);
    if (!opt()->model)
        usage_as("ARG-03", "no model given");
    if (w->caller == BY_VERIFY && !strcmp(opt()->model, "-"))
        usage("this command needs a file: it reads the model several times");
    if (w->caller == BY_VERIFY)
        return;
    if (!opt()->output)
        opt()->output = default_output(opt()->model);
    check_output();
}

/* Calls f(arg). A wrong option does not end the session yet, so that the words after it are checked, too. */
static void try_words(void (*f)(void *), void *arg)
{
    const int code = error_catch(f, arg);
    if (code && code != EXIT_USAGE)
        leave_session(code);
}

void read_arguments(const char *const *word, Caller caller)
{
    Words w = {word, caller, false};
    opt()->target = target_find("generic");
    opt()->tolerance = (Tolerance){1e-3, 1e-5, 0};
    opt()->seed = 1;
    opt()->timeout = 60;
    for (int i = 0; word[i] && strcmp(word[i], "--"); i++) /* messages about options are JSON, too */
        if (!strcmp(word[i], "--diagnostics=json")) {
            say_json();
            opt()->quiet = true;
        }
    while (*w.next)
        try_words(read_word, &w);
    if (!error_count())
        try_words(check_words, &w);
    if (error_count()) {
        note_help("onnxcc --help lists the options");
        leave_session(EXIT_USAGE);
    }
}
