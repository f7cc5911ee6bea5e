/* util.c - memory of one run, interned names, growing arrays, hash tables, texts. */
#include "base/util.h"
#include "base/error.h"
#include "base/output.h"

#include <stdlib.h>
#ifdef __has_feature /* clang's way to say so */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define SANITIZED 1 /* memory serves once, and what lies between two pieces of it is poisoned */
#else
#define SANITIZED 0
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)(at))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at))
#endif

/* ---- the pool: small things are cut from chunks; a large one is a block of its own, so that growing it is a realloc */

enum { FIRST_CHUNK = 1 << 16, CHUNK = 1 << 20, LARGE = 1 << 14, ALIGN = 8, CLASSES = LARGE / ALIGN + 1 };

typedef struct Block {
    struct Block *next, **link; /* link: what points here */
} Block;
_Static_assert(sizeof(Block) % 16 == 0, "memory behind a block header is aligned");

static Block *blocks;
static char *chunk; /* what is left of the newest one */
static size_t chunk_left, chunk_next;
static size_t in_use, most = (size_t)POOL_MOST_MB << 20; /* bytes of all blocks; and as many as there may be */
static struct Free {                                     /* what was given back, by size */
    struct Free *next;
} *given_back[CLASSES];
static uint64_t any_back[CLASSES / 64 + 1]; /* a bit for each list that is not empty */

size_t pool_room(void) { return most - in_use; }

void pool_allow(size_t more) { most = more > SIZE_MAX / 2 - most ? SIZE_MAX / 2 : most + more; }

/* Before a block grows by so many bytes. */
static void pool_claim(size_t bytes)
{
    if (bytes > pool_room())
        fail(EXIT_MODEL, "%s%sthe model is too large: to compile it takes more than %zu MB of memory",
             error_file ? error_file : "", error_file ? ": " : "", most >> 20);
    in_use += bytes;
}

static Block *block_link(Block *b, size_t bytes)
{
    if (!b)
        fail(EXIT_IO, "out of memory: %zu more bytes are needed", bytes);
    b->next = blocks;
    b->link = &blocks;
    if (blocks)
        blocks->link = &b->next;
    return blocks = b;
}

static void *block_new(size_t bytes)
{
    pool_claim(bytes);
    return block_link(calloc(1, sizeof(Block) + bytes), bytes) + 1;
}

static size_t rounded(size_t bytes) { return (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

/* Bytes to skip so that a block of a 16-multiple size is 16-byte aligned. */
static size_t step_to_16(const void *at, size_t bytes) { return bytes & ALIGN ? 0 : (uintptr_t)at & ALIGN; }

static void give_back(char *p, size_t bytes)
{
    ASAN_POISON_MEMORY_REGION(p, bytes);
    if (!bytes || SANITIZED)
        return;
    const size_t class = bytes / ALIGN;
    struct Free *f = (struct Free *)(void *)p;
    f->next = given_back[class];
    given_back[class] = f;
    any_back[class / 64] |= (uint64_t)1 << class % 64;
}

/* The first list from this class on that is not empty; 0: there is none. */
static size_t next_class(size_t class)
{
    uint64_t bits = any_back[class / 64] >> class % 64 << class % 64;
    for (size_t i = class / 64;; bits = any_back[i]) {
        if (bits)
            return i * 64 + (size_t)__builtin_ctzll(bits);
        if (++i == sizeof any_back / sizeof *any_back)
            return 0;
    }
}

/* From the smallest thing that was given back and is large enough; NULL: there is none. */
static void *take_again(size_t bytes)
{
    for (size_t class = next_class(bytes / ALIGN); class; class = next_class(class + 1)) {
        char *p = (char *)given_back[class];
        const size_t skip = step_to_16(p, bytes), rest = class * ALIGN - bytes;
        if (skip > rest)
            continue;
        given_back[class] = given_back[class]->next;
        if (!given_back[class])
            any_back[class / 64] &= ~((uint64_t)1 << class % 64);
        give_back(p, skip);
        give_back(p + skip + bytes, rest - skip);
        return memset(p + skip, 0, bytes);
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
    size_t skip = step_to_16(chunk, bytes);
    if (!chunk || skip + bytes + gap > chunk_left) {
        if (chunk)
            give_back(chunk, chunk_left);
        chunk_left = chunk_next ? chunk_next : FIRST_CHUNK;
        chunk = block_new(chunk_left);
        chunk_next = chunk_left < CHUNK ? 2 * chunk_left : CHUNK;
        skip = 0;
    }
    if (skip)
        give_back(chunk, skip);
    char *p = chunk + skip;
    chunk += skip + bytes + gap;
    chunk_left -= skip + bytes + gap;
    ASAN_POISON_MEMORY_REGION(p + asked, bytes + gap - asked);
    return p;
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
        in_use -= bytes;
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
    struct Big *next, **link;
    size_t bytes;
    char pad[64 - 2 * sizeof(void *) - sizeof(size_t)];
} Big;

static Big *bigs;

void *big_alloc(size_t bytes)
{
    pool_claim(bytes);
    Big *b = aligned_alloc(64, sizeof *b + (bytes / 64 + 1) * 64);
    if (!b)
        fail(EXIT_IO, "out of memory: a tensor of %zu bytes", bytes);
    memset(b + 1, 0, bytes);
    b->bytes = bytes;
    b->next = bigs;
    b->link = &bigs;
    if (bigs)
        bigs->link = &b->next;
    bigs = b;
    return b + 1;
}

void big_free(void *p)
{
    Big *b = (Big *)p - 1;
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    in_use -= b->bytes;
    free(b);
}

static void drop_pieces(int down_to);

extern char __start_onnxcc_run[], __stop_onnxcc_run[];

void pool_reset(void)
{
    output_discard();
    drop_pieces(0);
    while (bigs)
        big_free(bigs + 1);
    while (blocks) {
        Block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
    chunk = NULL;
    chunk_left = chunk_next = in_use = 0;
    most = (size_t)POOL_MOST_MB << 20;
    memset(given_back, 0, sizeof given_back);
    memset(any_back, 0, sizeof any_back);
    memset(__start_onnxcc_run, 0, (size_t)(__stop_onnxcc_run - __start_onnxcc_run));
}

void *lasting_alloc(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (!p)
        fail(EXIT_IO, "out of memory: %zu more bytes are needed", bytes);
    return p;
}

void *vec_more(void *at, int *cap, size_t size)
{
    int more = *cap ? *cap * 2 : size < 32 ? 32 / (int)size : 1;
    if (*cap > INT32_MAX / 2)
        fail(EXIT_IO, "out of memory: a list of more than %d things", *cap);
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

OF_RUN static struct Names {
    Name *at; /* open addressing, cap a power of two */
    uint32_t *hash;
    uint32_t n, cap;
} names;

static uint32_t hash_bytes(const char *s, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001B3u;
    return (uint32_t)(h ^ h >> 32);
}

static void names_grow(void)
{
    struct Names old = names;
    names.cap = old.cap ? old.cap * 2 : 1024;
    names.at = NEWS(Name, names.cap);
    names.hash = NEWS(uint32_t, names.cap);
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.at[i]) {
            uint32_t k = old.hash[i] & (names.cap - 1);
            while (names.at[k])
                k = (k + 1) & (names.cap - 1);
            names.at[k] = old.at[i];
            names.hash[k] = old.hash[i];
        }
    pool_free(old.at, sizeof *old.at * old.cap);
    pool_free(old.hash, sizeof *old.hash * old.cap);
}

Name name_bytes(const char *s, size_t n)
{
    if (n > UINT32_MAX)
        fail(EXIT_MODEL, "a name of %zu bytes", n);
    if (names.n >= names.cap / 4 * 3)
        names_grow();
    uint32_t h = hash_bytes(s, n), k = h & (names.cap - 1);
    for (; names.at[k]; k = (k + 1) & (names.cap - 1))
        if (names.hash[k] == h && names.at[k]->n == n && (n == 0 || memcmp(names.at[k]->s, s, n) == 0))
            return names.at[k];
    struct NameBytes *b = pool_alloc(sizeof *b + n + 1);
    b->n = (uint32_t)n;
    if (n)
        memcpy(b->s, s, n);
    names.hash[k] = h;
    names.n++;
    return names.at[k] = b;
}

Name name(const char *s) { return name_bytes(s, strlen(s)); }

Name name_format(const char *format, ...)
{
    char small[256], *s = small;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, format, args);
    if (n < 0)
        fail(EXIT_IO, "out of memory: a name");
    if (n >= (int)sizeof small) {
        s = pool_alloc((size_t)n + 1);
        vsnprintf(s, (size_t)n + 1, format, again);
    }
    va_end(again);
    va_end(args);
    return name_bytes(s, (size_t)n);
}

bool name_is(Name a, const char *s) { return a && a->n == strlen(s) && memcmp(a->s, s, a->n) == 0; }

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

/* ---- texts: their bytes lie on a stack of their own, so that those of a moment can be dropped together ---------- */

enum { PIECE = 1 << 16 };

static struct Piece {
    char *at;
    size_t used, cap;
} *pieces; /* the last one is the top */
static int n_pieces;

static void drop_pieces(int down_to)
{
    while (n_pieces > down_to) {
        in_use -= pieces[--n_pieces].cap;
        free(pieces[n_pieces].at);
    }
}

TextMark text_mark(void) { return (TextMark){n_pieces, n_pieces ? pieces[n_pieces - 1].used : 0}; }

void text_release(TextMark m)
{
    drop_pieces(m.pieces);
    if (n_pieces)
        pieces[n_pieces - 1].used = m.used;
}

static void piece_new(void)
{
    void *more = realloc(pieces, sizeof *pieces * (size_t)(n_pieces + 1));
    if (!more)
        fail(EXIT_IO, "out of memory");
    pieces = more;
    pieces[n_pieces++] = (struct Piece){0};
}

static void piece_room(struct Piece *p, size_t cap)
{
    const size_t room = cap > PIECE ? cap : PIECE;
    pool_claim(room > p->cap ? room - p->cap : 0);
    void *more = realloc(p->at, room);
    if (!more)
        fail(EXIT_IO, "out of memory: a text of %zu bytes", cap);
    p->at = more;
    p->cap = room;
}

/* On top of the stack a text grows where it is. */
static void text_grow(Text *t, size_t cap)
{
    struct Piece *p = n_pieces ? &pieces[n_pieces - 1] : NULL;
    bool top = p && t->s && t->s + t->cap == p->at + p->used;
    size_t at = p ? p->used - (top ? t->cap : 0) : 0;
    if (!p || (at && p->cap - at < cap)) {
        piece_new();
        p = &pieces[n_pieces - 1];
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
    else if (cap > t->cap) { /* in the pool: it outlives every moment */
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
        fail(EXIT_IO, "out of memory: a text");
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
