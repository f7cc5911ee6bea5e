/* util.c - the memory of a run, interned names, growing arrays, hash tables, texts. */
#include "base/util.h"
#include "base/error.h"
#include "base/output.h"

#include <stdlib.h>
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
    struct Piece {
        char *at;
        size_t used, cap;
    } *pieces; /* the stack of texts; the last one is the top */
    int n_pieces;
} Pool;
PART(Pool, pool)

static size_t memory_limit(void) { return ((size_t)POOL_MAX_MB << 20) + pool()->allowed; }
size_t pool_room(void) { return memory_limit() - pool()->in_use; }

void pool_allow(size_t more)
{
    const size_t limit = SIZE_MAX / 2 - memory_limit();
    pool()->allowed += more < limit ? more : limit;
}

/* Counts bytes that are about to be allocated; fails above the limit. */
static void pool_claim(size_t bytes)
{
    if (bytes > pool_room())
        fail_as(EXIT_MODEL, "LIM-02", "%s%sthe model is too large: to compile it takes more than %zu MB of memory",
                error_file() ? error_file() : "", error_file() ? ": " : "", memory_limit() >> 20);
    pool()->in_use += bytes;
}

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
}

/* The first free list from `class` on that is not empty; 0: none. */
static size_t next_class(const Pool *p, size_t class)
{
    uint64_t bits = p->any_back[class / 64] >> class % 64 << class % 64;
    for (size_t i = class / 64;; bits = p->any_back[i]) {
        if (bits)
            return i * 64 + (size_t)__builtin_ctzll(bits);
        if (++i == sizeof p->any_back / sizeof *p->any_back)
            return 0;
    }
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
        if (!p->given_back[class])
            p->any_back[class / 64] &= ~((uint64_t)1 << class % 64);
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
        if (p->chunk)
            give_back(p->chunk, p->chunk_left);
        p->chunk_left = p->chunk_next ? p->chunk_next : FIRST_CHUNK;
        p->chunk = block_new(p->chunk_left);
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
        pool()->in_use -= bytes;
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
    pool()->in_use -= b->bytes;
    free(b);
}

void *vec_more(void *at, int *cap, size_t size)
{
    int more = *cap ? *cap * 2 : size < 32 ? 32 / (int)size : 1;
    if (*cap > INT32_MAX / 2)
        fail_as(EXIT_IO, "SYS-02", "out of memory: a list of more than %d things", *cap);
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

/* ---- names ---------------------------------------------------------------------------------------------- */

PART(Map, names) /* hash -> Name */

static uint64_t hash_bytes(const char *s, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001B3u;
    return h;
}

Name name_bytes(const char *s, size_t n)
{
    if (n > UINT32_MAX)
        fail(EXIT_MODEL, "a name of %zu bytes", n);
    uintptr_t h = (uintptr_t)hash_bytes(s, n) | 1;
    for (Name same; (same = map_get(names(), (void *)h)) != NULL; h += 2)
        if (same->n == n && (n == 0 || memcmp(same->s, s, n) == 0))
            return same;
    struct NameBytes *b = pool_alloc(sizeof *b + n + 1);
    b->n = (uint32_t)n;
    if (n)
        memcpy(b->s, s, n);
    map_put(names(), (void *)h, b);
    return b;
}

Name name(const char *s) { return name_bytes(s, strlen(s)); }

Name name_until(const char **s, const char *ends)
{
    const char *from = *s;
    *s += strcspn(from, ends);
    return name_bytes(from, (size_t)(*s - from));
}

bool name_is(Name a, const char *s) { return a && a->n == strlen(s) && memcmp(a->s, s, a->n) == 0; }

bool name_is_identifier(Name n)
{
    for (uint32_t i = 0; i < n->n; i++) {
        char c = n->s[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (i && c >= '0' && c <= '9')))
            return false;
    }
    return n->n > 0;
}

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

/* ---- maps ------------------------------------------------------------------------------------------------- */

static int map_slot(const Map *m, const void *key)
{
    uint64_t h = (uint64_t)(uintptr_t)key * 0x9E3779B97F4A7C15u;
    int k = (int)(h >> 32 & (uint64_t)(m->cap - 1));
    while (m->key[k] && m->key[k] != key)
        k = (k + 1) & (m->cap - 1);
    return k;
}

void *map_get(const Map *m, const void *key)
{
    if (!m->cap || !key)
        return NULL;
    int k = map_slot(m, key);
    return m->key[k] ? m->value[k] : NULL;
}

void map_free(Map *m)
{
    pool_free(m->key, sizeof *m->key * (size_t)m->cap);
    pool_free(m->value, sizeof *m->value * (size_t)m->cap);
    *m = (Map){0};
}

void map_put(Map *m, const void *key, void *value)
{
    if (!key)
        bug("map_put: no key");
    if (m->n >= m->cap / 4 * 3) {
        Map old = *m;
        m->cap = old.cap ? old.cap * 2 : 8;
        m->key = NEWS(const void *, m->cap);
        m->value = NEWS(void *, m->cap);
        for (int i = 0; i < old.cap; i++)
            if (old.key[i]) {
                int k = map_slot(m, old.key[i]);
                m->key[k] = old.key[i];
                m->value[k] = old.value[i];
            }
        map_free(&old);
    }
    int k = map_slot(m, key);
    m->n += !m->key[k];
    m->key[k] = key;
    m->value[k] = value;
}

/* ---- texts: their bytes lie on a separate stack, so that temporary ones can be released together ----------------- */

enum { PIECE = 1 << 16 };

static void drop_pieces(int down_to)
{
    Pool *const p = pool();
    while (p->n_pieces > down_to) {
        p->in_use -= p->pieces[--p->n_pieces].cap;
        free(p->pieces[p->n_pieces].at);
    }
}

void pool_end(void)
{
    drop_pieces(0);
    free(pool()->pieces);
    for (Block *b = pool()->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

/* NULL: none. */
static struct Piece *top_piece(void) { return pool()->n_pieces ? &pool()->pieces[pool()->n_pieces - 1] : NULL; }

TextMark text_mark(void) { return (TextMark){pool()->n_pieces, pool()->n_pieces ? top_piece()->used : 0}; }

void text_release(TextMark m)
{
    drop_pieces(m.pieces);
    if (pool()->n_pieces)
        top_piece()->used = m.used;
}

static struct Piece *piece_new(void)
{
    Pool *const p = pool();
    void *more = realloc(p->pieces, sizeof *p->pieces * (size_t)(p->n_pieces + 1));
    if (!more)
        fail_as(EXIT_IO, "SYS-02", "out of memory");
    p->pieces = more;
    p->pieces[p->n_pieces] = (struct Piece){0};
    return &p->pieces[p->n_pieces++];
}

static void piece_room(struct Piece *p, size_t cap)
{
    const size_t room = cap > PIECE ? cap : PIECE;
    pool_claim(room > p->cap ? room - p->cap : 0);
    void *more = realloc(p->at, room);
    if (!more)
        fail_as(EXIT_IO, "SYS-02", "out of memory: a text of %zu bytes", cap);
    p->at = more;
    p->cap = room;
}

/* A text on top of the stack grows in place; others are copied to the top. */
static void text_grow(Text *t, size_t cap)
{
    struct Piece *p = top_piece();
    bool top = p && t->s && t->s + t->cap == p->at + p->used;
    size_t at = p ? p->used - (top ? t->cap : 0) : 0;
    if (!p || (at && p->cap - at < cap)) {
        p = piece_new();
        at = 0;
        top = false;
    }
    if (p->cap - at < cap)
        piece_room(p, cap);
    if (!top && t->n)
        memcpy(p->at + at, t->s, t->n);
    p->used = at + cap;
    t->s = p->at + at;
    t->cap = cap;
}

static void text_room(Text *t, size_t n)
{
    if (t->n + n < t->cap)
        return;
    if (t->to && t->n)
        text_flush(t);
    size_t cap = t->cap ? t->cap : t->to ? PIECE : 64;
    while (cap <= t->n + n)
        cap *= 2;
    if (!t->to)
        text_grow(t, cap);
    else if (cap > t->cap) { /* in the pool: text_release does not affect it */
        t->s = pool_grow(t->s, t->cap, cap);
        t->cap = cap;
    }
}

void text_flush(Text *t)
{
    output_write(t->to, t->s, t->n);
    t->n = 0;
}

void text_bytes(Text *t, const void *bytes, size_t n)
{
    text_room(t, n);
    if (n)
        memcpy(t->s + t->n, bytes, n);
    t->n += n;
    t->s[t->n] = 0;
}

void text_vput(Text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    text_room(t, 1);
    int n = vsnprintf(t->s + t->n, t->cap - t->n, format, args);
    if (n < 0)
        fail_as(EXIT_IO, "SYS-02", "out of memory: a text");
    if (n > 0 && (size_t)n >= t->cap - t->n) {
        text_room(t, (size_t)n);
        vsnprintf(t->s + t->n, t->cap - t->n, format, again);
    }
    t->n += (size_t)n;
    va_end(again);
}

void text_put(Text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vput(t, format, args);
    va_end(args);
}

const char *text_format(const char *format, ...)
{
    const TextMark mark = text_mark();
    Text t = {0};
    va_list args;
    va_start(args, format);
    text_vput(&t, format, args);
    va_end(args);
    const char *s = name_bytes(t.s, t.n)->s;
    text_release(mark);
    return s;
}
