/* process.c - the process around a compile: its stack, its signals, its standard output. */
#include "base/process.h"

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output.h"
#include "base/say.h"

enum { STACK = 64 << 20, GUARD = 1 << 20, SIGNAL_STACK = 1 << 14 }; /* the guard is larger than any stack frame */

typedef struct Stack {
    char *low;               /* lowest address; the guard pages are here */
    void (*at_signal)(void); /* see process_at_signal */
} Stack;
PART(Stack, stack)

/* ---- signals ---------------------------------------------------------------------------------------------------- */

void process_at_signal(void (*f)(void)) { stack()->at_signal = f; }

/* Removes incomplete files, then lets the signal take its default action. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    output_unlink();
    if (session_distance && stack()->at_signal)
        stack()->at_signal();
    const char *at = info->si_addr, *low = session_distance ? stack()->low : NULL;
    if (number == SIGSEGV && low && at >= low && at < low + GUARD) {
        say_signal("SYS-02", "out of memory: the compiler has used up its stack; the model is nested too deep for it");
        _exit(EXIT_IO);
    }
    if (number == SIGBUS && info->si_code == BUS_ADRERR) {
        say_signal("SYS-01", "cannot read: a file became shorter while it was in use, or its disk failed");
        _exit(EXIT_IO);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signal(int number)
{
    struct sigaction old, new = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    if (!sigaction(number, NULL, &old) && old.sa_handler != SIG_IGN) /* SIG_IGN stays, as under nohup */
        sigaction(number, &new, NULL);
}

static void catch_signals(void)
{
#ifndef __SANITIZE_ADDRESS__ /* it has an alternate stack of its own, and frees it */
    sigaltstack(&(stack_t){.ss_sp = stack()->low + STACK, .ss_size = SIGNAL_STACK}, NULL);
#endif
    const int caught[] = {
#ifndef __SANITIZE_ADDRESS__ /* it reports these itself */
        SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGABRT,
#endif
        SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        catch_signal(caught[i]);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the file size limit then fails with an error */
}

/* ---- the stack --------------------------------------------------------------------------------------------------- */

typedef struct Start {
    void (*f)(void *);
    void *arg;
    bool catches; /* handles signals */
    sigset_t before;
    char *low;
    int result;
} Start;

/* Sets the C locale and the default rounding mode for this thread, whatever the process uses. */
static void be_plain(void)
{
    uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    fesetenv(FE_DFL_ENV);
}

static void *on_stack(void *arg)
{
    Start *const start = arg;
    if (!session_begin())
        return NULL;
    stack()->low = start->low;
    be_plain();
    if (start->catches) {
        catch_signals();
        pthread_sigmask(SIG_SETMASK, &start->before, NULL);
    }
    start->result = error_catch(start->f, start->arg);
    say_end();
    session_end();
    return NULL;
}

/* False: the guard or the thread could not be made. */
static bool run_thread(Start *start)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all; /* signals go to the new thread alone if it catches them, else to the other threads */
    if (mprotect(start->low, GUARD, PROT_NONE) || pthread_attr_init(&attributes))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &start->before);
    const bool runs = !pthread_attr_setstack(&attributes, start->low + GUARD, STACK - GUARD) &&
                      !pthread_create(&thread, &attributes, on_stack, start);
    if (!start->catches)
        pthread_sigmask(SIG_SETMASK, &start->before, NULL);
    if (runs)
        pthread_join(thread, NULL);
    if (start->catches)
        pthread_sigmask(SIG_SETMASK, &start->before, NULL);
    pthread_attr_destroy(&attributes);
    return runs;
}

int process_run(void (*f)(void *), void *arg, bool signals)
{
    Start start = {.f = f, .arg = arg, .catches = signals, .result = -1};
    start.low =
        mmap(NULL, STACK + SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start.low == MAP_FAILED)
        return -1;
    const bool ran = run_thread(&start);
    munmap(start.low, STACK + SIGNAL_STACK);
    return ran ? start.result : -1;
}

void process_done(void)
{
    if (!fflush(stdout) && !ferror(stdout))
        exit(0);
    say_message(
        &(Message){SAY_ERROR, "SYS-01", "", text_format("standard output: cannot write: %s", strerror(errno)), ""});
    say_end();
    exit(EXIT_IO);
}
