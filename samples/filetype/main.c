/* main.c - classifies files by their contents: filetype FILE... */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "type.h"

/* The type of a file; NULL: see errno. */
static const struct type *tell(const char *file, float *score)
{
    static unsigned char head[BLOCK_SIZE], tail[BLOCK_SIZE]; /* the first and the last bytes; of a short file, all */

    FILE *f = fopen(file, "rb");
    if (!f)
        return NULL;
    const size_t n = fread(head, 1, BLOCK_SIZE, f);
    const bool good = !ferror(f) && !fseek(f, -(long)n, SEEK_END) && fread(tail, 1, n, f) == n;
    fclose(f);
    return good ? type_of(head, tail, n, score) : NULL;
}

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    int bad = 0;
    const double start = milliseconds();
    for (int i = 1; i < argc; i++) {
        float score;
        const struct type *t = tell(argv[i], &score);
        if (t)
            printf("%s: %s (%s), %.0f%%\n", argv[i], t->description, t->name, (double)score * 100);
        else
            fprintf(stderr, "%s: %s\n", argv[i], strerror(errno)), bad++;
    }
    const double took = milliseconds() - start;
    fflush(stdout);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, "%d files in %.1f ms, %.1f ms each; memory: %.1f MB for the network's tensors, %.1f MB in all\n",
            argc - 1 - bad, took, took / (argc - 1 - bad ? argc - 1 - bad : 1), MAGIKA_ARENA_BYTES * 1e-6,
            (double)used.ru_maxrss * 1.024e-3);
    return bad > 0;
}
