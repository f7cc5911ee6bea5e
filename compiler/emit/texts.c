/* texts.c - the embedded texts: by name, and with their holes filled. */
#include "emit/emit.h"

const char *embedded_text(const char *file)
{
    for (const Embedded *e = embedded; e->name; e++)
        if (!strcmp(e->name, file))
            return e->text;
    bug("no embedded file %s", file);
}

void fill_holes(Text *t, const char *template, const Hole *holes, struct Writer *w)
{
    const char *s = template;
    for (const char *at; (at = strchr(s, '@')) != NULL; s = at) {
        line_is(t, LINE_FRAME, NULL);
        text_bytes(t, s, (size_t)(at - s));
        const char *end = strchr(++at, '@');
        const Hole *h = holes;
        while (h->name && (strlen(h->name) != (size_t)(end - at) || memcmp(h->name, at, (size_t)(end - at))))
            h++;
        if (!h->name)
            bug("a template has an unknown hole: %.20s", at);
        line_is(t, h->lines, NULL);
        if (h->put)
            h->put(t, w);
        else
            text_put(t, "%s", h->text ? h->text : "");
        at = end + 1;
    }
    line_is(t, LINE_FRAME, NULL);
    text_put(t, "%s", s);
}
/* NULL: a header of the compiler's own, which is in a folder. */
const char *included_text(const char *file) { return strchr(file, '/') ? NULL : embedded_text(file); }
