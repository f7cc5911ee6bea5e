/* texts.c - the embedded texts, by name. */
#include "emit/emit.h"

const char *embedded_text(const char *file)
{
    for (const Embedded *e = embedded; e->name; e++)
        if (!strcmp(e->name, file))
            return e->text;
    bug("no embedded file %s", file);
}
