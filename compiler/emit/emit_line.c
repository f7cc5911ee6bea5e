/* emit_line.c - prints lines of the body, and what they name. */
#include "emit/emit.h"

void line(Emitter *e, const char *format, ...)
{
    Text t = {0};
    va_list list;
    va_start(list, format);
    text_vput(&t, format, list);
    va_end(list);
    put_wrapped(&e->body, 4 * e->depth, t.s);
}

void fail_if_text(Emitter *e, const char *status, const char *condition)
{
    line(e, "if (%s)", condition);
    line(e, "    return %s;", status);
    e->fallible = true;
}

const char *pointer(Value *v)
{
    if (!v)
        return "NULL";
    if (v->data && !v->data->symbolic)
        return constant_expression(v);
    v->mentioned = true;
    return v->c;
}
