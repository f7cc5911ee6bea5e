/* main.c - the command: one session, by the words of the command line. */
#include <malloc.h>

#include "arguments.h"
#include "base/process.h"
#include "base/progress.h"
#include "compile.h"
#include "verify/verify.h"

static void compile(void *words)
{
    read_arguments(words, BY_COMMAND);
    if (!opt()->verbose && !opt()->quiet)
        progress_on();
    write_model(read_model(opt()->model));
}

/* onnxcc NAME ...; without a name: compile. */
static const struct Command {
    const char *name;
    void (*run)(void *words); /* the words after the name */
} commands[] = {{"verify", verify}, {"profile", profile}, {"stack", stack}, {"size", size}};

int main(int argc, char **argv)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 17); /* a large block goes back to the system when it is freed */
#endif
    void (*run)(void *) = compile;
    argv += argc > 0;
    for (size_t i = 0; *argv && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(*argv, commands[i].name)) {
            run = commands[i].run;
            argv++;
            break;
        }
    const int code = process_run(run, argv, true);
    if (code < 0)
        fprintf(stderr, "error[SYS-02]: " NO_MEMORY_FOR_RUN "\n");
    return code < 0 ? EXIT_IO : code;
}
