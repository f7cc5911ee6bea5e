/* main.c - classifies files by their contents: filetype FILE...
 * magika.h and magika.c are onnxcc's output for the network; labels.h has the labels and thresholds of the network's
 * package. The rest is here: the network's input from a file, and the decision from its scores. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "labels.h"
#include "magika.h"

_Static_assert(MAGIKA_BYTES_SIZE == BEG_SIZE + END_SIZE && MAGIKA_TARGET_LABEL_SIZE == LABELS, "labels.h is another's");

static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Are these n bytes UTF-8, to the last character? */
static bool is_utf8(const unsigned char *s, size_t n)
{
    static const unsigned least[] = {0, 0x80, 0x800, 0x10000};
    for (size_t i = 0; i < n;) {
        const unsigned c = s[i++];
        const unsigned more = c < 0x80 ? 0 : c < 0xC0 ? 4 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : c < 0xF8 ? 3 : 4;
        unsigned code = more ? c & (0x3Fu >> more) : c;
        if (more > 3 || n - i < more)
            return false;
        for (unsigned k = 0; k < more; k++, i++) {
            if ((s[i] & 0xC0) != 0x80)
                return false;
            code = code << 6 | (s[i] & 0x3Fu);
        }
        if (code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
            return false;
    }
    return true;
}

/* The network's input: the first and the last bytes without white space around them, padded towards the middle. */
static void look(const unsigned char *head, const unsigned char *tail, size_t n, int32_t *seen)
{
    size_t from = 0, to = n;
    while (from < n && is_space(head[from]))
        from++;
    while (to > 0 && is_space(tail[to - 1]))
        to--;
    for (size_t i = 0; i < BEG_SIZE; i++)
        seen[i] = from + i < n ? head[from + i] : PADDING_TOKEN;
    for (size_t i = 1; i <= END_SIZE; i++)
        seen[BEG_SIZE + END_SIZE - i] = i <= to ? tail[to - i] : PADDING_TOKEN;
}

/* The type of a file, and the network's score for it (1 if the network was not run); NULL: see errno. */
static const struct type *tell(const char *file, float *score)
{
    static unsigned char head[BLOCK_SIZE], tail[BLOCK_SIZE]; /* the first and the last bytes; of a short file, all */
    static int32_t seen[MAGIKA_BYTES_SIZE];
    static float scores[LABELS];

    FILE *f = fopen(file, "rb");
    if (!f)
        return NULL;
    const size_t n = fread(head, 1, BLOCK_SIZE, f);
    const bool good = !ferror(f) && !fseek(f, -(long)n, SEEK_END) && fread(tail, 1, n, f) == n;
    fclose(f);
    if (!good)
        return NULL;

    *score = 1;
    if (n == 0)
        return &types[EMPTY];
    look(head, tail, n, seen);
    if (seen[MIN_FILE_SIZE_FOR_DL - 1] == PADDING_TOKEN)
        return &types[is_utf8(head, n) ? TXT : UNKNOWN];

    if (magika_run(seen, scores) != MAGIKA_OK)
        return NULL;
    int best = 0;
    for (int i = 1; i < LABELS; i++)
        best = scores[i] > scores[best] ? i : best;
    *score = scores[best];
    const struct type *t = &types[best];
    return *score >= t->threshold ? t : &types[t->text ? TXT : UNKNOWN];
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
