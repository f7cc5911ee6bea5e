/* object.c - the code's bytes, for the report, in the object that a C compiler made of the emitted C (--object): an ELF
 * file of any class and byte order. ELF: System V Application Binary Interface, chapter 4. */
#include "emit/emit.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/options.h"
#include "base/output.h"
#include "emit/facts.h"

enum { RELOCATABLE = 1, SYMBOLS = 2, NO_BYTES = 8, LOADED = 2, FUNCTION = 2, MAX_NAME = 256 };

typedef struct ElfSection {
    uint64_t name, type, flags, address, offset, size, link, info, align, row;
} ElfSection;
typedef struct Elf {
    FILE *f;
    bool wide, big; /* 64 bits; big-endian */
} Elf;

static _Noreturn void refuse(const char *what) { fail_as(EXIT_MODEL, "ARG-14", "%s: %s", opt()->object, what); }

static void read_at(const Elf *e, uint64_t at, void *to, size_t n)
{
    if (at > INT64_MAX || fseeko(e->f, (off_t)at, SEEK_SET) || fread(to, 1, n, e->f) != n)
        refuse("the object is cut short");
}

static uint64_t number(const Elf *e, const unsigned char *from, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)from[e->big ? bytes - 1 - i : i] << (8 * i);
    return v;
}

/* The header of section i: two words, four addresses or sizes, two words, two addresses or sizes. */
static ElfSection section(const Elf *e, uint64_t table, uint64_t i)
{
    unsigned char row[64];
    const int word = e->wide ? 8 : 4, size = e->wide ? 64 : 40;
    ElfSection s;
    uint64_t *const field[] = {&s.name, &s.type, &s.flags, &s.address, &s.offset,
                               &s.size, &s.link, &s.info,  &s.align,   &s.row};
    const int bytes[] = {4, 4, word, word, word, word, 4, 4, word, word};
    if (table > INT64_MAX - i * (uint64_t)size)
        refuse("the object is cut short");
    read_at(e, table + i * (uint64_t)size, row, (size_t)size);
    for (int k = 0, at = 0; k < 10; at += bytes[k++])
        *field[k] = number(e, row + at, bytes[k]);
    return s;
}

/* The name of a function: letters, digits and what compilers add; any other byte becomes '?'. */
static const char *symbol_name(const Elf *e, const ElfSection *names, uint64_t at)
{
    char s[MAX_NAME] = "";
    const uint64_t rest = at < names->size ? names->size - at : 0;
    read_at(e, names->offset + at, s, rest < MAX_NAME - 1 ? (size_t)rest : MAX_NAME - 1);
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.$", *c))
            *c = '?';
    return text_format("%s", s);
}

static void add_functions(const Elf *e, ObjectFacts *o, const ElfSection *symbols, const ElfSection *names)
{
    unsigned char row[24];
    const uint64_t size = e->wide ? 24 : 16;
    for (uint64_t i = 0; i < symbols->size / size; i++) {
        read_at(e, symbols->offset + i * size, row, (size_t)size);
        const uint64_t bytes = number(e, row + (e->wide ? 16 : 8), e->wide ? 8 : 4);
        if ((row[e->wide ? 4 : 12] & 15) == FUNCTION && bytes && bytes <= INT64_MAX)
            vec_push(&o->functions, ((CodeFacts){symbol_name(e, names, number(e, row, 4)), (int64_t)bytes}));
    }
}

static int larger(const void *a, const void *b)
{
    const CodeFacts *x = a, *y = b;
    const int order = compare_numbers(y->bytes, x->bytes);
    return order ? order : strcmp(x->name, y->name);
}

/* Does a function's name begin with the prefix, as those of the header do? */
static bool defines(const ObjectFacts *o, const char *prefix)
{
    const size_t n = strlen(prefix);
    for (int i = 0; i < o->functions.n; i++)
        if (!strncmp(o->functions.at[i].name, prefix, n) && o->functions.at[i].name[n] == '_')
            return true;
    return false;
}

static void read_sections(const Elf *e, ObjectFacts *o, uint64_t table, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const ElfSection s = section(e, table, i);
        if ((s.flags & LOADED) && s.type != NO_BYTES && __builtin_add_overflow(o->bytes, (int64_t)s.size, &o->bytes))
            refuse("the object's sections have impossible sizes");
        if (s.type == SYMBOLS) {
            const ElfSection names = section(e, table, s.link);
            add_functions(e, o, &s, &names);
        }
    }
}

const ObjectFacts *read_object(const Model *m)
{
    unsigned char head[64];
    if (!opt()->object)
        return NULL;
    Elf e = {.f = fopen(opt()->object, "rbe")};
    if (!e.f)
        fail(EXIT_IO, "cannot open '%s': %s", opt()->object, strerror(errno));
    output_spare(fileno(e.f));
    if (fread(head, 1, 52, e.f) != 52 || memcmp(head, "\177ELF", 4) || head[4] < 1 || head[4] > 2 || head[5] < 1 ||
        head[5] > 2)
        refuse("expected an ELF object, the C file as compiled");
    e.wide = head[4] == 2;
    e.big = head[5] == 2;
    if (number(&e, head + 16, 2) != RELOCATABLE)
        refuse("expected an object (-c), not a program or a library");
    read_at(&e, 0, head, e.wide ? 64 : 52);
    ObjectFacts *o = NEW(ObjectFacts);
    o->by = opt()->object_by;
    read_sections(&e, o, number(&e, head + (e.wide ? 40 : 32), e.wide ? 8 : 4),
                  number(&e, head + (e.wide ? 60 : 48), 2));
    fclose(e.f);
    const char *prefix = c_prefix(m->base, opt()->prefix);
    if (!defines(o, prefix))
        refuse(text_format("no function of it begins with %s_: is it of this model?", prefix));
    qsort(o->functions.at, (size_t)o->functions.n, sizeof *o->functions.at, larger);
    o->code = o->bytes - (int64_t)constants()->inline_bytes;
    if (!constants()->loaded)
        o->code -= (int64_t)constants()->file_bytes;
    if (o->code < 0)
        refuse(text_format("its %lld bytes are fewer than those of the weights: is it of this model and these options?",
                           (long long)o->bytes));
    return o;
}
