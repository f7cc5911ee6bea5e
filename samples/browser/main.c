/* main.c - the type of a file for the page, which passes its first and last bytes. WebAssembly without a libc: what the emitted C
 * needs of it is at the foot. */
#include "../filetype/type.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name)
#endif

static unsigned char head[BLOCK_SIZE], tail[BLOCK_SIZE];
static const struct type *type;
static float score;

/* The page writes n bytes, at most block(), to first() and last(), calls run(n), and reads the rest. */
EXPORT(block) unsigned block(void) { return BLOCK_SIZE; }
EXPORT(first) unsigned char *first(void) { return head; }
EXPORT(last) unsigned char *last(void) { return tail; }
EXPORT(run) int run(unsigned n)
{
    type = type_of(head, tail, n, &score);
    return type != NULL;
}
EXPORT(label) const char *label(void) { return type->name; }
EXPORT(description) const char *description(void) { return type->description; }
EXPORT(certainty) float certainty(void) { return score; }

#ifdef __wasm__ /* elsewhere there is a libc */
/* With -mbulk-memory the builtins of a length that is not known are instructions. */
void *memcpy(void *restrict to, const void *restrict from, size_t n) { return __builtin_memcpy(to, from, n); }
void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
void *memset(void *to, int value, size_t n) { return __builtin_memset(to, value, n); }
#endif
