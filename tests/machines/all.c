/* all.c - many tests in one program. Each line of the file "list" has the number of a test and the folder of its files.
 * Prints each test's number before it begins, so that the driver can tell which test ended the program. */
#include "call.h"

#define CASE(name) extern const struct suite_case name;
#include "cases.def"
#undef CASE
#define CASE(name) &name,
static const struct suite_case *const tests[] = {
#include "cases.def"
};

static char *in_folder(const char *folder, const char *file)
{
    char *path = room(strlen(folder) + strlen(file) + 2);
    strcat(strcat(strcpy(path, folder), "/"), file);
    return path;
}

int main(void)
{
    FILE *list = fopen("list", "r");
    char folder[1000];
    for (int i; list && fscanf(list, "%d %999s", &i, folder) == 2;) {
        printf("%d\n", i);
        fflush(stdout);
        char *in = in_folder(folder, "in.bin"), *out = in_folder(folder, "out.elsewhere");
        call_case(tests[i], in, out);
        free(in);
        free(out);
    }
    puts("done");
    return 0;
}
