/* compare.c - compares the files on disk with those that would be written. */
#include "base/compare.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Compared {
    int different;
} Compared;
PART(Compared, compared)

static bool has_bytes(FILE *f, const unsigned char *bytes, size_t n)
{
    char part[1 << 13];
    for (size_t got; (got = fread(part, 1, sizeof part, f)) > 0; bytes += got, n -= got)
        if (got > n || memcmp(part, bytes, got))
            return false;
    return !n && !ferror(f);
}

/* Writes all bytes; a reader that ends early is no error. */
static void feed(int fd, const char *bytes, size_t n)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGPIPE, &ignore, &old);
    while (n) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno != EINTR)
            break;
        bytes += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
    sigaction(SIGPIPE, &old, NULL);
}

/* Prints the difference by the program diff, which reads the bytes from a pipe. */
static void print_diff(const char *file, const void *bytes, size_t n)
{
    const char *const now = name_format("%s (as onnxcc writes it)", file)->s;
    char *words[] = {"diff",    "-u",
                     "--label", (char *)(uintptr_t)file,
                     "--label", (char *)(uintptr_t)now,
                     "--",      (char *)(uintptr_t)file,
                     "-",       NULL};
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    fflush(stdout);
    if (pipe2(ends, O_CLOEXEC))
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    const int error = posix_spawnp(&child, "diff", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (!error)
        feed(ends[1], bytes, n);
    close(ends[1]);
    while (!error && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

void compare_file(const char *file, const void *bytes, size_t n, void *unused)
{
    (void)unused;
    if (!strcmp(file, "-")) { /* the report */
        fwrite(bytes, 1, n, stdout);
        return;
    }
    FILE *f = fopen(file, "rb");
    const bool same = f && has_bytes(f, bytes, n);
    if (f)
        fclose(f);
    if (same)
        return;
    compared()->different++;
    note("%s: %s\n", printable(name(file)), f ? "has other bytes" : strerror(ENOENT));
    if (f)
        print_diff(file, bytes, n);
}

void compare_end(void)
{
    const int n = compared()->different;
    if (n)
        fail_as(EXIT_MODEL, "CHK-01",
                n == 1 ? "%d file is not what onnxcc writes" : "%d files are not what onnxcc writes", n);
}
