/* main.c - the command: one run, by the words of the command line. */
#include <malloc.h>

#include "arguments.h"
#include "base/process.h"
#include "base/progress.h"
#include "compile.h"

static void compile(void *words)
{
    read_arguments(words, true);
    if (!opt()->verbose)
        progress_on();
    write_model(read_model(opt()->model));
}

int main(int argc, char **argv)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 17); /* a large block goes back to the system when it is freed */
#endif
    const int code = process_run(compile, argv + (argc > 0), true);
    if (code < 0)
        fprintf(stderr, "error: " NO_MEMORY_FOR_RUN "\n");
    return code < 0 ? EXIT_IO : code;
}
