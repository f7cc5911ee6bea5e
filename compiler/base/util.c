/* util.c - interned names, hash tables, texts. */
#include "base/util.h"
#include "base/fail.h"
#include "base/output.h"

#include <stdlib.h>

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

typedef struct TextPiece {
    char *at;
    size_t used, cap;
} TextPiece;
typedef struct TextPieces {
    TextPiece *at; /* the last one is the top of the stack */
    int n;
} TextPieces;
PART(TextPieces, pieces)

static void drop_pieces(int down_to)
{
    TextPieces *const p = pieces();
    while (p->n > down_to) {
        pool_unclaim(p->at[--p->n].cap);
        free(p->at[p->n].at);
    }
}

static void end_pieces(void *unused)
{
    (void)unused;
    drop_pieces(0);
    free(pieces()->at);
}

/* NULL: none. */
static TextPiece *top_piece(void) { return pieces()->n ? &pieces()->at[pieces()->n - 1] : NULL; }

TextMark text_mark(void) { return (TextMark){pieces()->n, pieces()->n ? top_piece()->used : 0}; }

void text_release(TextMark m)
{
    drop_pieces(m.pieces);
    if (pieces()->n)
        top_piece()->used = m.used;
}

static TextPiece *piece_new(void)
{
    TextPieces *const p = pieces();
    if (!p->at)
        session_at_end(end_pieces, NULL);
    void *more = realloc(p->at, sizeof *p->at * (size_t)(p->n + 1));
    if (!more)
        fail_as(EXIT_IO, "SYS-02", "out of memory");
    p->at = more;
    p->at[p->n] = (TextPiece){0};
    return &p->at[p->n++];
}

static void piece_room(TextPiece *p, size_t cap)
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
    TextPiece *p = top_piece();
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

const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}
