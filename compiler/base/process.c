/* process.c - the process around a compile. */
#include "base/process.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output.h"

enum { STACK = 64 << 20, GUARD = 1 << 20, SIGNAL_STACK = 1 << 14 }; /* no function has as much as the guard */

static char *stack; /* its lowest bytes are the guard */

static struct Start {
    int (*f)(int, char **);
    int argc, result;
    char **argv;
    sigset_t signals;
} start;

/* ---- signals ---------------------------------------------------------------------------------------------------- */

static void say(const char *s)
{
    for (size_t n = strlen(s); n;) {
        ssize_t k = write(2, s, n);
        if (k <= 0)
            return;
        s += k;
        n -= (size_t)k;
    }
}

/* Removes what is not complete, then the signal does what it does without us. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    output_unlink();
    const char *at = info->si_addr;
    if (number == SIGSEGV && at >= stack && at < stack + GUARD) {
        say("error: out of memory: the compiler has used up its stack; the model is nested too deep for it\n");
        _exit(EXIT_IO);
    }
    if (number == SIGBUS && info->si_code == BUS_ADRERR) {
        say("error: cannot read: a file became shorter while it was in use, or its disk failed\n");
        _exit(EXIT_IO);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signal(int number)
{
    struct sigaction old, new = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    if (!sigaction(number, NULL, &old) && old.sa_handler != SIG_IGN) /* nohup */
        sigaction(number, &new, NULL);
}

static void catch_signals(void)
{
#ifndef __SANITIZE_ADDRESS__ /* which has one of its own, and frees it */
    static char small[SIGNAL_STACK] __attribute__((aligned(16)));
    sigaltstack(&(stack_t){.ss_sp = small, .ss_size = sizeof small}, NULL);
#endif
    const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        catch_signal(ends[i]);
#ifndef __SANITIZE_ADDRESS__ /* which has more to say about these */
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        catch_signal(faults[i]);
#endif
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails like any other */
}

/* ---- the stack --------------------------------------------------------------------------------------------------- */

static void *on_stack(void *unused)
{
    catch_signals();
    pthread_sigmask(SIG_SETMASK, &start.signals, NULL);
    start.result = start.f(start.argc, start.argv);
    return unused;
}

static _Noreturn void no_stack(void)
{
    say("error: out of memory: no stack for the compiler\n");
    exit(EXIT_IO);
}

int process_run(int (*f)(int, char **), int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    start = (struct Start){.f = f, .argc = argc, .argv = argv};
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) || pthread_attr_init(&attributes) ||
        pthread_attr_setstack(&attributes, stack + GUARD, STACK - GUARD))
        no_stack();
    sigset_t all; /* signals are the other thread's */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &start.signals);
    if (pthread_create(&thread, &attributes, on_stack, NULL))
        no_stack();
    pthread_join(thread, NULL);
    return start.result;
}

void process_done(void)
{
    if (!fflush(stdout) && !ferror(stdout))
        exit(0);
    fprintf(stderr, "error: standard output: cannot write: %s\n", strerror(errno));
    exit(EXIT_IO);
}
