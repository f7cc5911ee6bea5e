/* util.h - the memory pool of a run, interned names, growing arrays, hash tables, texts. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/session.h"

#define ONNXCC_VERSION "0.1.0"
#define MAX_RANK 16 /* dimensions of a tensor */

/* Zeroed memory, valid until pool_free or the run's end; never NULL (out of memory ends the run with a message). */
void *pool_alloc(size_t bytes);
void pool_free(void *p, size_t bytes);
/* Blocks whose size is a multiple of 16 are 16-byte aligned, others 8. Element buffers are rounded up so: */
#define ELEMENTS_ROOM(bytes) (((size_t)(bytes) + 16) & ~(size_t)15)
void *pool_grow(void *old, size_t old_bytes, size_t new_bytes);
void pool_end(void); /* frees everything; called by session_end */
#define POOL_MAX_MB 700       /* limit of the pool and big_alloc together; more is an error (exit 1) */
void pool_allow(size_t bytes); /* raises the limit of this run: for constants that the file contains */
size_t pool_room(void);        /* bytes left below the limit */
/* Zeroed memory for one tensor, 64-byte aligned; valid until big_free or the run's end. */
void *big_alloc(size_t bytes);
void big_free(void *p);
#define NEW(T) ((T *)pool_alloc(sizeof(T)))
#define NEWS(T, n) ((T *)pool_alloc(sizeof(T) * (size_t)(n)))

/* A growing array in the pool: VEC(Node *) v = {0}; vec_push(&v, n); v.at[i], v.n */
#define VEC(...)                                                                                                       \
    struct {                                                                                                           \
        __VA_ARGS__ *at;                                                                                               \
        int n, cap;                                                                                                    \
    }
#define vec_push(v, x)                                                                                                 \
    ((v)->n == (v)->cap ? ((v)->at = vec_more((v)->at, &(v)->cap, sizeof *(v)->at), 0) : 0, (v)->at[(v)->n++] = (x))
void *vec_more(void *at, int *cap, size_t size);
#define vec_trim(v) ((v)->at = vec_fit((v)->at, (v)->n, &(v)->cap, sizeof *(v)->at)) /* reduces the capacity to n */
void *vec_fit(void *at, int n, int *cap, size_t size);

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
/* The length of the well-formed UTF-8 sequence at s, of n bytes at most, and its code point; 0: there is none. */
int utf8_sequence(const void *s, size_t n, uint32_t *c);

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
/* A formatted text, valid until the run ends. */
const char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* text_release frees the bytes of all texts begun or grown since the mark; without it they live until the run ends. */
typedef struct TextMark {
    int pieces;
    size_t used;
} TextMark;
TextMark text_mark(void);
void text_release(TextMark m);
