/* peak.c - runs a command and writes its time and peak of memory, "SECONDS BYTES", to a file. It is a small program, because
 * the system counts the memory that a process had before exec as the command's.
 * usage: peak FILE COMMAND ARGUMENT... */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec start, end;
    struct rusage used;
    int status;
    if (argc < 3)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) < 0)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &end);
    FILE *f = fopen(argv[1], "w");
    if (!f)
        return 2;
    fprintf(f, "%.3f %ld\n", (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9,
            used.ru_maxrss * 1024);
    return fclose(f) || !WIFEXITED(status) ? 2 : WEXITSTATUS(status);
}
