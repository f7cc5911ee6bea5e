/* plain.c - C for --target plain. */
#include "plain/plain.h"
#include "plain/syntax.h"

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
    print_file(t);
}
