/* pool.h - the memory of a session, and growing arrays in it. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/part.h"

/* Zeroed memory, valid until pool_free or the session's end; never NULL (out of memory ends the session with a
 * message). */
void *pool_alloc(size_t bytes);
void pool_free(void *p, size_t bytes);
/* Blocks whose size is a multiple of 16 are 16-byte aligned, others 8. Element buffers are rounded up so: */
#define ELEMENTS_ROOM(bytes) (((size_t)(bytes) + 16) & ~(size_t)15)
void *pool_grow(void *old, size_t old_bytes, size_t new_bytes);
void pool_end(void); /* frees everything; called by session_end */
#define POOL_MAX_MB 700       /* limit of the pool and big_alloc together; more is an error (exit 1) */
void pool_allow(size_t bytes); /* raises the limit of this session: for constants that the file contains */
size_t pool_room(void);        /* bytes left below the limit */
/* Counts bytes that are about to be allocated otherwise, or that were freed; fails above the limit. */
void pool_claim(size_t bytes);
void pool_unclaim(size_t bytes);
/* Zeroed memory for one tensor, 64-byte aligned; valid until big_free or the session's end. */
void *big_alloc(size_t bytes);
void big_free(void *p);
#define NEW(T) ((T *)pool_alloc(sizeof(T)))
#define NEWS(T, n) ((T *)pool_alloc(sizeof(T) * (size_t)(n)))
#define NEW_COPY(...) memcpy(pool_alloc(sizeof(__VA_ARGS__)), &(__VA_ARGS__), sizeof(__VA_ARGS__)) /* of an object */

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
/* The index of the first element with the bytes of x; -1: none. vec_add: adds x if there is none. */
#define vec_find(v, x) find_element((v)->at, (v)->n, sizeof *(v)->at, (__typeof__((v)->at[0])[]){x})
#define vec_has(v, x) (vec_find(v, x) >= 0)
#define vec_add(v, x) ((void)(vec_has(v, x) || (vec_push(v, x), 0)))
int find_element(const void *at, int n, size_t size, const void *x);
/* The elements of a VEC in turn: p points to each, x is each. The loop may not add any. */
#define EACH_AT(p, v) for (__typeof__((v).at[0]) *p = (v).at; (v).n > 0 && p < (v).at + (v).n; p++)
#define EACH_OF(x, v)                                                                                                  \
    for (__typeof__((v).at[0]) *x##_at = (v).at, x; (v).n > 0 && x##_at < (v).at + (v).n && (x = *x##_at, 1); x##_at++)
