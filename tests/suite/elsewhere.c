/* elsewhere.c - has a separate program (tests/machines/elsewhere.py) build and run the emitted C of all tests. */
#include "suite.h"

#include <stdlib.h>

static Class class_of(const char *name, size_t n)
{
    for (Class k = PASSED; k < N_CLASSES; k++)
        if (strlen(class_name[k]) == n && !strncmp(class_name[k], name, n))
            return k;
    return CRASHED;
}

/* "class: why" */
static void read_verdict(const Test *t, Verdict *v)
{
    char *path = path_in(t->dir, "verdict.elsewhere"), *s = read_file(path, NULL);
    free(path);
    if (!s)
        set_verdict(v, CRASHED, "it was not run");
    else {
        const size_t n = strcspn(s, ":\n");
        set_verdict(v, class_of(s, n), "%s", s[n] == ':' ? s + n + 2 : "");
    }
    free(s);
}

void run_elsewhere(const char *command, const Test *tests, Result *results, int n)
{
    char *list = path_in(set.build, "list"), *line = malloc(strlen(command) + strlen(list) + 2);
    FILE *f = fopen(list, "w");
    for (int i = 0; f && i < n; i++)
        if (results[i].emitted)
            fprintf(f, "%s\n", tests[i].dir);
    if (!f || fclose(f))
        fail(EXIT_IO, "cannot write %s", list);
    sprintf(line, "%s %s", command, list);
    if (system(line))
        printf("FAILED %s\n", line);
    for (int i = 0; i < n; i++)
        if (results[i].emitted)
            read_verdict(&tests[i], &results[i].way[WAY_ELSEWHERE]);
    free(line);
    free(list);
}
