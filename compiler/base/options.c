/* options.c - the options of this session. */
#include "base/options.h"

#include <string.h>

SHARED_PART_IS(Options, opt);

Name option_quoted(Name n)
{
    Text t = {0};
    text_put(&t, "%s", "");
    for (uint32_t i = 0; n && i < n->n; i++) {
        if (n->s[i] && strchr("*=<\\", n->s[i]))
            text_bytes(&t, "\\", 1);
        text_bytes(&t, n->s + i, 1);
    }
    return name_bytes(t.s, t.n);
}

const char *option_word(const char *s) { return option_quoted(name(s))->s; }

const char *pattern_word(const Pattern *p)
{
    if (p->star < 0)
        return option_word(p->text);
    const Name head = name_bytes(p->text, (size_t)p->star);
    return text_format("%s*%s", option_quoted(head)->s, option_word(p->text + p->star + 1));
}
