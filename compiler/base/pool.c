/* pool.c - the memory of a session. */
#include "base/pool.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>
#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define SANITIZED 1 /* freed memory is not reused, and gaps between blocks are poisoned */
#else
#define SANITIZED 0
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at))
#endif

/* ---- the pool: small blocks are cut from chunks; a large one is allocated alone, so that growing it is a realloc */

enum { FIRST_CHUNK = 1 << 16, CHUNK = 1 << 20, LARGE = 1 << 14, ALIGN = 8, CLASSES = LARGE / ALIGN + 1 };

typedef struct Block {
    struct Block *next, **link; /* link: the pointer that points here */
} Block;
_Static_assert(sizeof(Block) % 16 == 0, "memory behind a block header is aligned");

typedef struct Free {
    struct Free *next;
} Free;

typedef struct Pool {
    Block *blocks;
    char *chunk; /* the unused rest of the newest chunk */
    size_t chunk_left, chunk_next;
    size_t in_use, allowed;              /* bytes of all blocks; the sum of pool_allow */
    Free *given_back[CLASSES];           /* free lists, by size / ALIGN */
    uint64_t any_back[CLASSES / 64 + 1]; /* a bit for each list that is not empty */
    uint64_t words_back;                 /* a bit for each element of any_back that is not 0 */
} Pool;
_Static_assert(CLASSES / 64 + 1 < 64, "words_back has a bit for each element of any_back");
PART(Pool, pool)

static size_t memory_limit(void) { return ((size_t)POOL_MAX_MB << 20) + pool()->allowed; }
size_t pool_room(void) { return memory_limit() - pool()->in_use; }

void pool_allow(size_t more)
{
    const size_t limit = SIZE_MAX / 2 - memory_limit();
    pool()->allowed += more < limit ? more : limit;
}

void pool_claim(size_t bytes)
{
    if (bytes > pool_room())
        fail_as(EXIT_MODEL, "LIM-02", "%s%sthe model is too large: to compile it takes more than %zu MB of memory",
                error_file() ? error_file() : "", error_file() ? ": " : "", memory_limit() >> 20);
    pool()->in_use += bytes;
}

void pool_unclaim(size_t bytes) { pool()->in_use -= bytes; }

static Block *block_link(Block *b, size_t bytes)
{
    if (!b)
        fail_as(EXIT_IO, "SYS-02", "out of memory: %zu more bytes are needed", bytes);
    Block **first = &pool()->blocks;
    b->next = *first;
    b->link = first;
    if (b->next)
        b->next->link = &b->next;
    return *first = b;
}

static void *block_new(size_t bytes)
{
    pool_claim(bytes);
    return block_link(calloc(1, sizeof(Block) + bytes), bytes) + 1;
}

static size_t rounded(size_t bytes) { return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* Bytes to skip so that a block of a 16-multiple size is 16-byte aligned. */
static size_t step_to_16(const void *at, size_t bytes) { return bytes & ALIGN ? 0 : (uintptr_t)at & ALIGN; }

static void give_back(char *at, size_t bytes)
{
    ASAN_POISON_MEMORY_REGION(at, bytes);
    if (!bytes || SANITIZED)
        return;
    const size_t class = bytes / ALIGN;
    Free *f = (Free *)(void *)at;
    Pool *const p = pool();
    f->next = p->given_back[class];
    p->given_back[class] = f;
    p->any_back[class / 64] |= (uint64_t)1 << class % 64;
    p->words_back |= (uint64_t)1 << class / 64;
}

/* The first free list from `class` on that is not empty; 0: none. */
static size_t next_class(const Pool *p, size_t class)
{
    size_t i = class / 64;
    uint64_t bits = p->any_back[i] >> class % 64 << class % 64;
    if (!bits) {
        const uint64_t words = p->words_back >> (i + 1) << (i + 1);
        if (!words)
            return 0;
        i = (size_t)__builtin_ctzll(words);
        bits = p->any_back[i];
    }
    return i * 64 + (size_t)__builtin_ctzll(bits);
}

/* Takes memory from the smallest free block that is large enough; NULL: none. */
static void *take_again(size_t bytes)
{
    Pool *const p = pool();
    for (size_t class = next_class(p, bytes / ALIGN); class; class = next_class(p, class + 1)) {
        char *at = (char *)p->given_back[class];
        const size_t skip = step_to_16(at, bytes), rest = class * ALIGN - bytes;
        if (skip > rest)
            continue;
        p->given_back[class] = p->given_back[class]->next;
        if (!p->given_back[class] && !(p->any_back[class / 64] &= ~((uint64_t)1 << class % 64)))
            p->words_back &= ~((uint64_t)1 << class / 64);
        give_back(at, skip);
        give_back(at + skip + bytes, rest - skip);
        return memset(at + skip, 0, bytes);
    }
    return NULL;
}

void *pool_alloc(size_t bytes)
{
    if (bytes > LARGE)
        return block_new(bytes);
    const size_t asked = bytes, gap = SANITIZED ? 16 : 0;
    bytes = rounded(bytes);
    void *again = bytes ? take_again(bytes) : NULL;
    if (again)
        return again;
    Pool *const p = pool();
    size_t skip = step_to_16(p->chunk, bytes);
    if (!p->chunk || skip + bytes + gap > p->chunk_left) {
        const size_t size = p->chunk_next ? p->chunk_next : FIRST_CHUNK;
        char *const next = block_new(size); /* if it fails, the message takes from what is left */
        if (p->chunk)
            give_back(p->chunk, p->chunk_left);
        p->chunk = next;
        p->chunk_left = size;
        p->chunk_next = p->chunk_left < CHUNK ? 2 * p->chunk_left : CHUNK;
        skip = 0;
    }
    if (skip)
        give_back(p->chunk, skip);
    char *at = p->chunk + skip;
    p->chunk += skip + bytes + gap;
    p->chunk_left -= skip + bytes + gap;
    ASAN_POISON_MEMORY_REGION(at + asked, bytes + gap - asked);
    return at;
}

static void block_unlink(Block *b)
{
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
}

void pool_free(void *p, size_t bytes)
{
    if (bytes > LARGE) {
        Block *b = (Block *)p - 1;
        block_unlink(b);
        free(b);
        pool_unclaim(bytes);
        return;
    }
    if (bytes)
        give_back(p, rounded(bytes));
}

void *pool_grow(void *old, size_t old_bytes, size_t new_bytes)
{
    if (new_bytes <= old_bytes)
        return old;
    if (old_bytes <= LARGE) {
        void *p = pool_alloc(new_bytes);
        if (old_bytes)
            memcpy(p, old, old_bytes);
        pool_free(old, old_bytes);
        return p;
    }
    Block *b = (Block *)old - 1;
    pool_claim(new_bytes - old_bytes);
    block_unlink(b);
    Block *grown = realloc(b, sizeof(Block) + new_bytes);
    if (!grown)
        block_link(b, 0);
    char *p = (char *)(block_link(grown, new_bytes) + 1);
    memset(p + old_bytes, 0, new_bytes - old_bytes);
    return p;
}

/* ---- tensors' memory ---------------------------------------------------------------------------------------- */

typedef struct Big {
    Block block;
    size_t bytes;
    char pad[64 - sizeof(Block) - sizeof(size_t)];
} Big;

void *big_alloc(size_t bytes)
{
    pool_claim(bytes);
    Big *b = aligned_alloc(64, sizeof *b + (bytes / 64 + 1) * 64);
    if (!b)
        fail_as(EXIT_IO, "SYS-02", "out of memory: a tensor of %zu bytes", bytes);
    memset(b + 1, 0, bytes);
    b->bytes = bytes;
    block_link(&b->block, bytes);
    return b + 1;
}

void big_free(void *p)
{
    Big *b = (Big *)p - 1;
    block_unlink(&b->block);
    pool_unclaim(b->bytes);
    free(b);
}

void pool_end(void)
{
    for (Block *b = pool()->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

/* ---- growing arrays ---------------------------------------------------------------------------------------------- */

void *vec_more(void *at, int *cap, size_t size)
{
    if (*cap > INT32_MAX / 2)
        fail_as(EXIT_IO, "SYS-02", "out of memory: a list of more than %d elements", *cap);
    int more = *cap ? *cap * 2 : size < 32 ? 32 / (int)size : 1;
    at = pool_grow(at, (size_t)*cap * size, (size_t)more * size);
    *cap = more;
    return at;
}

void *vec_fit(void *at, int n, int *cap, size_t size)
{
    if (n == *cap)
        return at;
    void *fit = memcpy(pool_alloc((size_t)n * size), at, (size_t)n * size);
    pool_free(at, (size_t)*cap * size);
    *cap = n;
    return fit;
}

int find_element(const void *at, int n, size_t size, const void *x)
{
    for (int i = 0; i < n; i++)
        if (!memcmp((const char *)at + (size_t)i * size, x, size))
            return i;
    return -1;
}
