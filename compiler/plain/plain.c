/* plain.c - C for --target plain. */
#include "plain/plain.h"
#include "plain/syntax.h"

/* What dialect.h checks for other targets. tcc has no FLT_EVAL_METHOD. */
static const char precision[] =
    "#include <float.h>\n\n"
    "#ifdef FLT_EVAL_METHOD\n"
    "#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16\n"
    "#error \"excess precision: compile with -msse2 -mfpmath=sse on i386, with -fexcess-precision=fast on s390x\"\n"
    "#endif\n"
    "#elif defined __TINYC__ && defined __i386__\n"
    "#error \"on i386 tcc computes floats with excess precision: use another compiler\"\n"
    "#endif\n";

void plain_put(Text *t, const char *text, const char *declared, PlainHeader *header)
{
    file()->value_of = value_anywhere;
    parse_file(cpp_tokens(declared, header, true), true);
    parse_file(cpp_tokens(text, header, false), false);
    analyse();
    trace_file();
    cut();
    find_used();
    text_put(t, "%s", cpp_system_headers());
    if (plain_needs("f32") || plain_needs("f64"))
        text_put(t, "%s", precision);
    print_file(t);
}
