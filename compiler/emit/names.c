/* names.c - identifiers of the emitted C: as close to the model's names as C, C++ and the runtime's own names allow. */
#include <ctype.h>

#include "emit/emit.h"

static Map taken; /* identifiers in use, the runtime's among them -> the number that the next one of this base gets */

static const char reserved[] =
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex "
    "_Imaginary alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept bitand bitor bool catch "
    "char16_t char32_t char8_t class compl concept const_cast consteval constexpr constinit co_await co_return co_yield "
    "decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept not not_eq nullptr "
    "operator or or_eq private protected public reflexpr reinterpret_cast requires static_assert static_cast "
    "synchronized template this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq typeof "
    "NULL errno main memcpy memset memmove linux unix i386 arm near far interrupt arena status sizes T U EPI EPI_NAME";

static void take_words(const char *s)
{
    while (*s) {
        size_t n = 0;
        while (isalnum((unsigned char)s[n]) || s[n] == '_')
            n++;
        if (n) {
            Name w = name_bytes(s, n);
            map_put(&taken, w, (void *)2);
        }
        s += n ? n : 1;
    }
}

static const char *span(const char *s, size_t n) { return c_format("%.*s", (int)n, s); }

/* The name that a function or variable has on the line that declares it: the word before the first ( [ = or ;
 * other than an attribute's. */
static void take_declarator(const char *s, size_t n)
{
    static const char attribute[] = "RT_ATTRIBUTE((";
    const char *line = span(s, n), *end;
    for (const char *a; (a = strstr(line, attribute)) != NULL && (end = strstr(a, "))")) != NULL;)
        line = end + 2;
    end = line + strcspn(line, "([=;");
    const char *from = end;
    while (from > line && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
        from--;
    take_words(span(from, (size_t)(end - from)));
}

/* What a header of the runtime defines for the whole file. Names that macros make end in a type's tag. */
static void take_declared(const char *text)
{
    static const char *const functions[] = {"HELPER ", "KERNEL ", "SHARED ", "static "};
    while (*text) {
        size_t n = strcspn(text, "\n"), all = strcspn(text, ";");
        if (!strncmp(text, "#define ", 8))
            take_words(span(text + 8, strcspn(text + 8, "( \n")));
        else if (!strncmp(text, "enum ", 5))
            take_words(span(text, all));
        else if (!strncmp(text, "typedef ", 8)) {
            const char *s = span(text, strcspn(text, ";(\n")), *members = strrchr(s, '}');
            take_words(members ? members : s);
        } else if (!strncmp(text, "} ", 2)) /* of a struct */
            take_words(span(text, strcspn(text, ";(\n")));
        else
            for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
                if (!strncmp(text, functions[i], strlen(functions[i])))
                    take_declarator(text, n);
        text += n + (text[n] != 0);
    }
}

void names_reset(void)
{
    memset(&taken, 0, sizeof taken);
    take_words(reserved);
    for (const Embedded *e = embedded; e->name; e++)
        if (!strstr(e->name, ".in"))
            take_declared(e->text);
}

/* Kernels, scalar functions and conversions end in a type's tag; so may no name of the model. */
static bool ends_in_tag(const char *id)
{
    const char *last = strrchr(id, '_');
    for (Type t = F32; last && t < N_TYPES; t++)
        if (!strcmp(last + 1, type_tag(t)))
            return true;
    return false;
}

const char *c_name(Name n, const char *otherwise)
{
    Text t = {0};
    put_quoted(&t, name_length(n) ? n : name(otherwise), IDENTIFIER);
    if (ends_in_tag(t.s))
        text_put(&t, "_v");
    const char *id = c_format("%s", t.s);
    intptr_t i = (intptr_t)map_get(&taken, name(t.s));
    for (i = i ? i : 2; map_get(&taken, name(id)); i++)
        id = c_format("%s_%d", t.s, (int)i);
    map_put(&taken, name(t.s), (void *)i);
    if (strcmp(id, t.s))
        map_put(&taken, name(id), (void *)2);
    return id;
}

const char *c_prefix(Name base)
{
    Text t = {0};
    put_quoted(&t, base, PREFIX);
    return map_get(&taken, name(t.s)) ? c_format("%s_model", t.s) : t.s;
}

const char *c_upper(const char *identifier)
{
    Text t = {0};
    for (; *identifier; identifier++)
        text_put(&t, "%c", toupper((unsigned char)*identifier));
    return t.s;
}
