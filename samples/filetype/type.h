/* type.h - the type of a file from its first and last bytes, by magika's network.
 * magika.h and magika.c are onnxcc's output for the network; labels.h has the labels and thresholds of the network's
 * package. The rest is here: the network's input from the bytes, and the decision from its scores. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The type, and the network's score for it (1 if the network was not run), from the first n and the last n bytes, n <= BLOCK_SIZE: all
 * bytes of a short file. NULL: the run has failed. */
static const struct type *type_of(const unsigned char *head, const unsigned char *tail, size_t n, float *score)
{
    static int32_t seen[MAGIKA_BYTES_SIZE];
    static float scores[LABELS];

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
