/* depend.c - the dependency file. */
#include "base/depend.h"
#include "base/output.h"
#include "base/util.h"

typedef VEC(const char *) DependencyList;
PART(DependencyList, inputs)

void depend_input(const char *file)
{
    for (int i = 0; i < inputs()->n; i++)
        if (!strcmp(inputs()->at[i], file))
            return;
    vec_push(inputs(), file);
}

/* Appends the name of a file, escaped for make. */
static void put_file(Text *t, const char *file)
{
    for (; *file; file++)
        text_put(t, *file == '$' ? "$%c" : strchr(" #\t", *file) ? "\\%c" : "%c", *file);
}

void depend_write(const char *file)
{
    Text t = {0};
    int n;
    const char *const *const files = output_files(&n);
    for (int i = 0; i < n; i++) {
        text_put(&t, i ? " " : "");
        put_file(&t, files[i]);
    }
    text_put(&t, ":");
    for (int i = 0; i < inputs()->n; i++) {
        text_put(&t, " \\\n  ");
        put_file(&t, inputs()->at[i]);
    }
    text_put(&t, "\n");
    output_write(output_open(file), t.s, t.n);
}
