/* names.c - identifiers of the emitted C: as similar to the model's names as C, C++ and the names of the runtime
 * allow. */
#include <ctype.h>

#include "emit/emit.h"

#include "base/options.h"
#include "emit/taken.def"

typedef struct Identifiers {
    Map taken;                /* identifiers in use, and reserved ones -> the next number for this base */
    Map defined;              /* functions of the runtime, which are also in `taken` */
    Map runtime;              /* all that it defines, but for macros and the names that these make */
    VEC(const char *) pieces; /* what those begin with: "tile_" of tile_1_1 */
    Map outside;              /* names reserved at file scope only: functions of C's library */
    Map tensors;              /* tensors of the interface, in capitals: NAME in PREFIX_NAME_SIZE */
    Map given;                /* of `taken`, those that were made here: no keywords and no macros */
    const char *prefix, *prefix_upper;
} Identifiers;
PART(Identifiers, ids)

static const char reserved[] =
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex "
    "_Imaginary alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept bitand bitor bool catch "
    "char16_t char32_t char8_t class compl concept const_cast consteval constexpr constinit co_await co_return co_yield "
    "decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr "
    "operator or or_eq private protected public reflexpr reinterpret_cast requires static_assert static_cast "
    "synchronized template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq typeof "
    "typeof_unqual contract_assert "
    "NULL errno main memcpy memset memmove linux unix i386 arm near far interrupt arena status sizes T U EPI EPI_NAME";

/* The names that the C file and the header define: PREFIX_run ..., and in capitals PREFIX_OK ... (templates/,
 * emit_interface.c, weights.c). The NAME in PREFIX_NAME_SIZE must not be one of the words that would produce another of
 * them. */
static const char *const own[] = {"run",   "run_at", "arena", "status", "load", "weights",
                                  "sizes", "clock",  "ticks", "runs",   "steps"};
static const char own_tensors[] = "ARENA STACK WEIGHTS BAD";

/* Puts the words of the n characters at s, but for comments, into two maps; the second may be NULL. */
static void take_words(const char *s, size_t n, Map *in, Map *also)
{
    for (const char *const end = s + n; s < end;) {
        const char *const from = s;
        while (s < end && (isalnum((unsigned char)*s) || *s == '_'))
            s++;
        if (s > from) {
            Name w = name_bytes(from, (size_t)(s - from));
            map_put(in, w, (void *)2);
            if (also)
                map_put(also, w, (void *)2);
        }
        const char *const comment =
            s + 1 < end && s[0] == '/' && s[1] == '*' ? memmem(s, (size_t)(end - s), "*/", 2) : NULL;
        s = comment ? comment + 2 : s > from ? s : s + 1;
    }
}

static void take_list(const char *s, Map *in) { take_words(s, strlen(s), in, NULL); }

/* The number of characters at s before one of `stops` or s + n. */
static size_t length_before(const char *s, size_t n, const char *stops)
{
    size_t k = 0;
    while (k < n && !strchr(stops, s[k]))
        k++;
    return k;
}

/* Takes the name that a line declares: the word before the first ( [ = or ; that is not an attribute's. */
static void take_declarator(const char *s, size_t n)
{
    static const char attribute[] = "RT_ATTRIBUTE((";
    const char *const end = s + n;
    for (const char *a; (a = memmem(s, (size_t)(end - s), attribute, sizeof attribute - 1)) != NULL &&
                        (a = memmem(a, (size_t)(end - a), "))", 2)) != NULL;)
        s = a + 2;
    const char *const to = s + length_before(s, (size_t)(end - s), "([=;"), *from = to;
    while (from > s && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    take_words(from, (size_t)(to - from), &ids()->taken, &ids()->runtime);
    take_words(from, (size_t)(to - from), &ids()->defined, NULL);
}

/* Takes the names that a header of the runtime defines at file scope. (Names made by macros end in a type's tag.) */
static void take_declared(const char *text)
{
    static const char *const functions[] = {"HELPER ", "KERNEL ", "SHARED ", "static "};
    Map *const taken = &ids()->taken, *const runtime = &ids()->runtime;
    for (size_t n; *text; text += n + (text[n] != 0)) {
        const char *const line_end = strchr(text, '\n');
        n = line_end ? (size_t)(line_end - text) : strlen(text);
        if (*text == ' ' || *text == '\n') /* not at file scope */
            continue;
        if (!strncmp(text, "#define ", 8)) /* never with the prefix */
            take_words(text + 8, length_before(text + 8, n - 8, "( "), taken, NULL);
        else if (!strncmp(text, "enum ", 5))
            take_words(text, strcspn(text, "}"), taken, runtime);
        else if (!strncmp(text, "typedef ", 8)) {
            const size_t k = length_before(text, n, ";(");
            const char *const members = memrchr(text, '}', k), *const from = members ? members : text;
            take_words(from, (size_t)(text + k - from), taken, runtime);
        } else if (!strncmp(text, "} ", 2)) /* of a struct */
            take_words(text, length_before(text, n, ";("), taken, runtime);
        else
            for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
                if (!strncmp(text, functions[i], strlen(functions[i])))
                    take_declarator(text, n);
    }
}

/* Takes NAME_ of each NAME_##PARAMETER. */
static void take_pieces(const char *text)
{
    for (const char *s = text, *from; (s = strstr(s, "_##")) != NULL; s++) {
        for (from = s; from > text && (isalnum((unsigned char)from[-1]) || from[-1] == '_'); from--)
            ;
        vec_push(&ids()->pieces, text_format("%.*s", (int)(s + 1 - from), from));
    }
}

void names_reset(void)
{
    take_list(reserved, &ids()->taken);
    take_list(TAKEN_EVERYWHERE, &ids()->taken);
    take_list(TAKEN_AT_FILE_SCOPE, &ids()->outside);
    take_list("scratch", &ids()->outside); /* a parameter of functions at file scope, as are x0, y0 ... */
    take_list(own_tensors, &ids()->tensors);
    for (const Embedded *e = embedded; e->name; e++)
        if (!strstr(e->name, ".in")) {
            take_declared(e->text);
            take_pieces(e->text);
        }
}

/* Has id a type's tag after an underscore, as kernels, scalar functions and conversions have? Reserved for them. */
static bool has_tag(const char *id)
{
    for (const char *part = strchr(id, '_'); part; part = strchr(part, '_')) {
        size_t n = strcspn(++part, "_");
        for (Type t = F32; t < N_TYPES; t++)
            if (strlen(type_tag(t)) == n && !strncmp(part, type_tag(t), n))
                return true;
    }
    return false;
}

static bool starts_with(const char *id, const char *with) { return with && !strncmp(id, with, strlen(with)); }

/* x0, y12: parameters of functions for repeated calls. */
static bool is_formal(const char *id)
{
    return (*id == 'x' || *id == 'y') && id[1] && !id[1 + strspn(id + 1, "0123456789")];
}

/* Has the runtime this name, which begins with the prefix in a file of --single? */
static bool is_of_runtime(const char *id)
{
    EACH_AT (piece, ids()->pieces)
        if (starts_with(id, *piece) && isdigit((unsigned char)id[strlen(*piece)]))
            return true;
    return starts_with(id, "rt_") || map_get(&ids()->runtime, name(id));
}

/* Does id have a form that is reserved for the runtime, the header or epilogues? */
static bool is_own(const char *id)
{
    size_t n = ids()->prefix ? strlen(ids()->prefix) : 0;
    if (starts_with(id, "RT_") || starts_with(id, "rt_") || starts_with(id, "ONNXCC_") || strstr(id, "_epilogue") ||
        starts_with(id, ids()->prefix_upper))
        return true;
    if (ids()->prefix && starts_with(id, ids()->prefix) && id[n] == '_')
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (!strcmp(id + n + 1, own[i]))
                return true;
    if (opt()->single && ids()->prefix && starts_with(id, ids()->prefix) && id[n] == '_' && is_of_runtime(id + n + 1))
        return true;
    return false;
}

typedef enum Where { LOCAL, FILE_SCOPE, INTERFACE } Where;

static bool is_free(const char *id, Where where)
{
    if (map_get(&ids()->taken, name(id)))
        return false;
    if (where == FILE_SCOPE)
        return !map_get(&ids()->outside, name(id)) && !is_formal(id);
    return where == LOCAL || !map_get(&ids()->tensors, name(c_upper(id)));
}

/* The first free name of base, base_2, base_3 ... */
static const char *first_free(const char *base, Where where, const char *between)
{
    const char *id = text_format("%s", base);
    intptr_t i = (intptr_t)map_get(&ids()->taken, name(base));
    for (i = i ? i : 2; !is_free(id, where); i++)
        id = text_format("%s%s%d", base, between, (int)i);
    map_put(&ids()->taken, name(base), (void *)i);
    map_put(&ids()->given, name(id), (void *)1);
    if (strcmp(id, base))
        map_put(&ids()->taken, name(id), (void *)2);
    if (where == INTERFACE)
        map_put(&ids()->tensors, name(c_upper(id)), (void *)2);
    return id;
}

static const char *new_name(Name n, const char *otherwise, Where where)
{
    Text t = {0};
    if (where == FILE_SCOPE)
        text_put(&t, "%s_", ids()->prefix);
    put_quoted(&t, name_length(n) ? n : name(otherwise), IDENTIFIER);
    if (has_tag(where == FILE_SCOPE ? t.s + strlen(ids()->prefix) : t.s) || is_own(t.s))
        text_put(&t, "_v");
    return first_free(t.s, where, "_");
}

const char *c_name(Name n, const char *otherwise) { return new_name(n, otherwise, LOCAL); }
const char *c_tensor(Name n, const char *otherwise) { return new_name(n, otherwise, INTERFACE); }
const char *c_global(Name n, const char *otherwise) { return new_name(n, otherwise, FILE_SCOPE); }
const char *c_own(const char *base, const char *between)
{
    return first_free(text_format("%s_%s", ids()->prefix, base), FILE_SCOPE, between);
}

const char *c_function(Name n)
{
    Text t = {0};
    put_quoted(&t, n, IDENTIFIER);
    return c_own(is_own(text_format("%s_%s", ids()->prefix, t.s)) ? text_format("%s_v", t.s) : t.s, "_");
}

/* Names of values and functions are free in a struct. */
const char *c_field(Name n, Map *used)
{
    Text t = {0};
    put_quoted(&t, name_length(n) ? n : name("attribute"), IDENTIFIER);
    const char *base = is_own(t.s) ? text_format("%s_v", t.s) : t.s, *id = base;
    for (int i = 2; map_get(used, name(id)) || (!is_free(id, LOCAL) && !map_get(&ids()->given, name(id))); i++)
        id = text_format("%s_%d", base, i);
    map_put(used, name(id), (void *)1);
    return id;
}

/* Are all names with the prefix p free? */
static bool is_prefix(const char *p)
{
    static const char *const capitals[] = {"OK", "H"};
    bool good = strcmp(c_upper(p), "RT") && strcmp(c_upper(p), "ONNXCC") && !map_get(&ids()->taken, name(p));
    for (size_t i = 0; good && i < sizeof own / sizeof *own; i++)
        good = is_free(text_format("%s_%s", p, own[i]), FILE_SCOPE);
    for (size_t i = 0; good && i < sizeof capitals / sizeof *capitals; i++)
        good = is_free(text_format("%s_%s", c_upper(p), capitals[i]), FILE_SCOPE);
    return good;
}

const char *c_prefix(Name base, const char *given)
{
    Text t = {0};
    for (size_t i = 0; given && i < sizeof own / sizeof *own; i++)
        if (map_get(&ids()->defined, name(text_format("%s_%s", given, own[i]))))
            fail(EXIT_USAGE, "--prefix %s: the runtime has %s_%s, too; try %s_model", given, given, own[i], given);
    if (given)
        return given;
    put_quoted(&t, base, PREFIX);
    return is_prefix(t.s) ? t.s : text_format("%s_model", t.s);
}

void names_struct(void) { take_list(text_format("io %s_io", ids()->prefix), &ids()->taken); }

void names_state(void)
{
    take_list("state", &ids()->taken);
    take_list("STATE", &ids()->tensors);
    take_list(text_format("%s_state %s_reset", ids()->prefix, ids()->prefix), &ids()->taken);
}

void names_training(int steps)
{
    static const char *const functions[] = {"state", "state_check", "saved_head", "load_weights",
                                            "reset", "init",        "init_at",    "save"};
    take_list("state seed bytes at", &ids()->taken);
    take_list("STATE SAVED", &ids()->tensors);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        take_list(text_format("%s_%s", ids()->prefix, functions[i]), &ids()->taken);
    for (int i = 0; i < steps; i++)
        take_list(text_format("%s_step_%d %s_step_%d_at", ids()->prefix, i, ids()->prefix, i), &ids()->taken);
}

bool c_is_macro(const char *identifier) { return !is_free(identifier, FILE_SCOPE); }

void names_prefix(const char *p)
{
    ids()->prefix = p;
    ids()->prefix_upper = text_format("%s_", c_upper(p));
}

const char *c_upper(const char *identifier)
{
    Text t = {0};
    for (; *identifier; identifier++)
        text_put(&t, "%c", toupper((unsigned char)*identifier));
    return t.s;
}
