/* util.h - interned names, hash tables, texts. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "base/session.h"
#include "base/utf8.h"

#define ONNXCC_VERSION "0.1.0"
#define MAX_RANK 16 /* dimensions of a tensor */

/* A string of the model: any bytes, with a length, followed by a NUL; interned: equal names are equal pointers.
 * For files that print C the struct is incomplete: only emit/quote.c, which escapes the bytes, may read them. */
typedef const struct NameBytes *Name;
#ifndef NAMES_ARE_OPAQUE
struct NameBytes {
    uint32_t n;
    char s[];
};
#endif
Name name_bytes(const char *s, size_t n);
Name name(const char *s);
Name name_until(const char **s, const char *ends); /* takes the bytes up to one of `ends`, or up to the NUL */
#define name_format(...) name(text_format(__VA_ARGS__))
bool name_is(Name a, const char *s);
bool name_is_identifier(Name n); /* of C */

typedef VEC(Name) Names;

static inline int compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* A pool-allocated hash table from pointers (names, values) to pointers. */
typedef struct Map {
    const void **key;
    void **value;
    int n, cap;
} Map;
void *map_get(const Map *m, const void *key);
void map_put(Map *m, const void *key, void *value);
void map_free(Map *m);

/* A growing text. If `to` is set, its contents are written there when the buffer is full, and by text_flush at the
 * end. */
typedef struct Text {
    char *s;
    size_t n, cap;
    struct Output *to;
} Text;
void text_put(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vput(Text *t, const char *format, va_list args);
void text_bytes(Text *t, const void *bytes, size_t n);
void text_flush(Text *t);
const char *base_name(const char *file); /* without its folder */
/* A formatted text, valid until the session ends. */
const char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* text_release frees the bytes of all texts begun or grown since the mark; without it they live until the session
 * ends. */
typedef struct TextMark {
    int pieces;
    size_t used;
} TextMark;
TextMark text_mark(void);
void text_release(TextMark m);
