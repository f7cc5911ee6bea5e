/* stack.c - onnxcc stack MODEL: the stack that the model's C takes, by the call graph and the frames that $CC
 * reports. */
#include "verify/verify.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/options.h"
#include "emit/source.h"

/* Upper bounds of the stack, in bytes, of functions of the compiler's libraries: memcpy, memset, memmove, and
 * arithmetic that the processor lacks. On x86-64, those of glibc and libgcc take the return address alone; on Arm,
 * newlib's take 20 and libgcc's 56. */
enum { LIBRARY_X86 = 8, LIBRARY_MEMORY = 24, LIBRARY = 64 };

typedef VEC(int) Indices;
typedef struct Called {
    Name name;
    int64_t frame, depth; /* depth: with all that it calls; -1: not known yet */
    int deepest;          /* the call that takes most; -1: none */
    bool defined, called; /* called: by name */
    Indices calls;
} Called;
typedef struct CallGraph {
    VEC(Called) at;
    Map index; /* name -> 1 + index */
} CallGraph;

/* The text between the quotes after `key` in a line; NULL: there is none. */
static Name quoted_after(const char *line, const char *key)
{
    const char *from = strstr(line, key), *to = from ? strchr(from + strlen(key), '"') : NULL;
    return to ? name_bytes(from + strlen(key), (size_t)(to - from) - strlen(key)) : NULL;
}

static int function_of(CallGraph *c, Name name)
{
    intptr_t i = (intptr_t)map_get(&c->index, name);
    if (i)
        return (int)i - 1;
    vec_push(&c->at, ((Called){.name = name, .depth = -1, .deepest = -1}));
    map_put(&c->index, name, (void *)(intptr_t)c->at.n);
    return c->at.n - 1;
}

/* The padding that aligns a frame to vectors of more than the stack pointer's 16 bytes: gcc does not count it in
 * figures that it marks "dynamic,bounded". */
static int64_t gap(void) { return opt()->target->vector > 16 ? opt()->target->vector - 16 : 0; }

/* label: name\\nfile:line\\nBYTES bytes (static)\\n... */
static void read_node(CallGraph *c, Name title, const char *line)
{
    const char *bytes = strstr(line, " bytes (");
    const int i = function_of(c, title);
    Called *f = &c->at.at[i];
    while (bytes && bytes > line && isdigit((unsigned char)bytes[-1]))
        bytes--;
    f->defined = bytes != NULL;
    f->frame = bytes ? strtoll(bytes, NULL, 10) + (strstr(bytes, "(dynamic") ? gap() : 0) : 0;
}

static void read_calls(CallGraph *c, const char *path)
{
    char line[8192];
    FILE *f = fopen(path, "re");
    if (!f)
        fail(EXIT_IO, "the C compiler ($CC) has written no call graph: onnxcc stack needs gcc's -fcallgraph-info");
    while (fgets(line, sizeof line, f)) {
        const Name title = quoted_after(line, "node: { title: \""), from = quoted_after(line, "sourcename: \""),
                   to = quoted_after(line, "targetname: \"");
        if (title)
            read_node(c, title, line);
        if (!from || !to)
            continue;
        const int caller = function_of(c, from), callee = function_of(c, to);
        vec_push(&c->at.at[caller].calls, callee);
        c->at.at[callee].called = true;
    }
    fclose(f);
}

/* A call by pointer may reach every static function that is not called by name. */
static void add_indirect(CallGraph *c)
{
    const intptr_t i = (intptr_t)map_get(&c->index, name("__indirect_call"));
    for (int k = 0; i && k < c->at.n; k++)
        if (c->at.at[k].defined && !c->at.at[k].called && strchr(c->at.at[k].name->s, ':'))
            vec_push(&c->at.at[i - 1].calls, k);
}

static int64_t library_bytes(const char *function, bool x86)
{
    return x86 ? LIBRARY_X86 : strncmp(function, "mem", 3) ? LIBRARY : LIBRARY_MEMORY;
}

static int64_t depth_of(CallGraph *c, int i, bool x86)
{
    Called *f = &c->at.at[i];
    if (f->depth >= 0)
        return f->depth;
    f->depth = 0; /* no function calls itself */
    const bool indirect = name_is(f->name, "__indirect_call");
    int64_t max = 0;
    for (int k = 0; k < f->calls.n; k++) {
        const int64_t d = depth_of(c, f->calls.at[k], x86);
        if (d > max || f->deepest < 0)
            f->deepest = f->calls.at[k];
        max = d > max ? d : max;
    }
    return f->depth = max + (f->defined ? f->frame : indirect ? 0 : library_bytes(f->name->s, x86));
}

static const char *without_file(const char *s)
{
    const char *colon = strrchr(s, ':');
    return colon ? colon + 1 : s;
}

static void print_path(const CallGraph *c, int i)
{
    for (; i >= 0; i = c->at.at[i].deepest) {
        const Called *f = &c->at.at[i];
        const int below = f->deepest;
        const int64_t frame = f->depth - (below < 0 ? 0 : c->at.at[below].depth);
        if (!name_is(f->name, "__indirect_call"))
            printf("%8lld  %s%s\n", (long long)frame, without_file(f->name->s),
                   f->defined ? "" : " (of a library; at most)");
    }
}

static bool is_x86_64(const char *folder)
{
    const char *const words[] = {"sh", "-c", "${CC:-cc} -dumpmachine | grep -q x86_64", NULL};
    const Ended e = run_program(words, folder, NULL, 0);
    return e.how == EXITED && e.code == 0;
}

/* Compiles without the red zone, the bytes below the stack pointer that leaf functions use and gcc does not count. */
static const char *flags_of_graph(bool x86)
{
    return x86 ? "-mno-red-zone -fcallgraph-info=su" : "-fcallgraph-info=su";
}

void stack(void *words)
{
    const Emitted e = emit_for_size(words, "stack");
    const bool x86 = is_x86_64(e.folder);
    const char *const by = compile_for_size(e.folder, flags_of_graph(x86),
                                            "\nhelp: onnxcc stack needs a gcc, which writes the call graph");
    CallGraph c = {0};
    read_calls(&c, output_path(".ci"));
    add_indirect(&c);
    int deepest = -1;
    for (int i = 0; i < c.at.n; i++)
        if (c.at.at[i].defined && depth_of(&c, i, x86) > (deepest < 0 ? -1 : c.at.at[deepest].depth))
            deepest = i;
    if (deepest < 0)
        fail(EXIT_IO, "the C compiler's call graph has no function");
    printf("stack   %lld B by %s, at the deepest path:\n", (long long)c.at.at[deepest].depth, by);
    print_path(&c, deepest);
}
