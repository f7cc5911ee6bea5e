/* depend.c - the dependency file. */
#include "base/depend.h"
#include "base/error.h"
#include "base/output.h"

typedef VEC(const char *) Files;
typedef struct Rule {
    Files from, to;
} Rule;
PART(Rule, rule)

static void add(Files *files, const char *file)
{
    for (int i = 0; i < files->n; i++)
        if (!strcmp(files->at[i], file))
            return;
    vec_push(files, file);
}

void depend_input(const char *file) { add(&rule()->from, file); }
void depend_output(const char *file) { add(&rule()->to, file); }

/* As make reads it. */
static void put_file(Text *t, const char *file)
{
    for (; *file; file++)
        text_put(t, *file == '$' ? "$%c" : strchr(" #\t", *file) ? "\\%c" : "%c", *file);
}

void depend_write(const char *file)
{
    Text t = {0};
    const Rule *const r = rule();
    for (int i = 0; i < r->to.n; i++) {
        text_put(&t, i ? " " : "");
        put_file(&t, r->to.at[i]);
    }
    text_put(&t, ":");
    for (int i = 0; i < r->from.n; i++) {
        text_put(&t, " \\\n  ");
        put_file(&t, r->from.at[i]);
    }
    text_put(&t, "\n");
    output_write(output_open(file), t.s, t.n);
}
