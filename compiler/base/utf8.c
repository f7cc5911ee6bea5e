/* utf8.c - the sequences of UTF-8. */
#include "base/utf8.h"

#include <stdbool.h>

int utf8_sequence(const void *s, size_t n, uint32_t *c)
{
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *b = s;
    const int k = b[0] < 0x80 ? 1 : b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if ((size_t)k > n || b[0] > 0xF4 || (k > 1 && b[0] < 0xC2))
        return 0;
    uint32_t code = k == 1 ? b[0] : b[0] & (0x7Fu >> k);
    for (int i = 1; i < k; i++) {
        if ((b[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (b[i] & 0x3F);
    }
    if (code < min[k] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return 0;
    *c = code;
    return k;
}

int utf8_printable(const char *s, size_t n)
{
    uint32_t c = 0;
    const int k = utf8_sequence(s, n, &c);
    const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
    const bool direction = c == 0x61C || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
                           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;
    return control || direction ? 0 : k;
}
