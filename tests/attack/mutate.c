/* mutate.c - changes ONNX files as the messages that they are: takes a file apart by the schema, then drops, repeats,
 * moves and alters fields, and puts in messages and strings of other files; what it makes parses more often than not.
 * libFuzzer calls the two functions at the foot. */
#include "mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most); /* libFuzzer's own */

/* ---- the schema: which fields are messages, numbers in a row, or strings of which kind ------------------------------ */

/* clang-format off */
enum { MODEL, OPSET, ENTRY, TRAINING, FUNCTION, GRAPH, NODE, ATTR, INFO, TYPE, ARRAY, SEQ, MAP, SHAPE, DIM, TENSOR, SPARSE,
       ANNOTATION, N_MESSAGES };
enum { VALUE, OPERATOR, DOMAIN, ATTRIBUTE, SYMBOL, TEXT, N_STRINGS };
/* clang-format on */

typedef struct Row {
    uint8_t message, field;
    char kind; /* m: a message, n: numbers, s: a string */
    uint8_t what;
} Row;

static const Row rows[] = {
    {MODEL, 4, 's', DOMAIN},       {MODEL, 7, 'm', GRAPH},
    {MODEL, 8, 'm', OPSET},        {MODEL, 14, 'm', ENTRY},
    {MODEL, 20, 'm', TRAINING},    {MODEL, 25, 'm', FUNCTION},
    {OPSET, 1, 's', DOMAIN},       {ENTRY, 1, 's', TEXT},
    {ENTRY, 2, 's', TEXT},         {TRAINING, 1, 'm', GRAPH},
    {TRAINING, 2, 'm', GRAPH},     {TRAINING, 3, 'm', ENTRY},
    {TRAINING, 4, 'm', ENTRY},     {FUNCTION, 1, 's', OPERATOR},
    {FUNCTION, 4, 's', VALUE},     {FUNCTION, 5, 's', VALUE},
    {FUNCTION, 6, 's', ATTRIBUTE}, {FUNCTION, 7, 'm', NODE},
    {FUNCTION, 9, 'm', OPSET},     {FUNCTION, 10, 's', DOMAIN},
    {FUNCTION, 11, 'm', ATTR},     {FUNCTION, 12, 'm', INFO},
    {FUNCTION, 13, 's', TEXT},     {GRAPH, 1, 'm', NODE},
    {GRAPH, 2, 's', TEXT},         {GRAPH, 5, 'm', TENSOR},
    {GRAPH, 11, 'm', INFO},        {GRAPH, 12, 'm', INFO},
    {GRAPH, 13, 'm', INFO},        {GRAPH, 14, 'm', ANNOTATION},
    {GRAPH, 15, 'm', SPARSE},      {GRAPH, 16, 'm', ENTRY},
    {NODE, 1, 's', VALUE},         {NODE, 2, 's', VALUE},
    {NODE, 3, 's', TEXT},          {NODE, 4, 's', OPERATOR},
    {NODE, 5, 'm', ATTR},          {NODE, 7, 's', DOMAIN},
    {NODE, 8, 's', TEXT},          {ATTR, 1, 's', ATTRIBUTE},
    {ATTR, 4, 's', TEXT},          {ATTR, 5, 'm', TENSOR},
    {ATTR, 6, 'm', GRAPH},         {ATTR, 8, 'n', 0},
    {ATTR, 9, 's', TEXT},          {ATTR, 10, 'm', TENSOR},
    {ATTR, 11, 'm', GRAPH},        {ATTR, 14, 'm', TYPE},
    {ATTR, 15, 'm', TYPE},         {ATTR, 21, 's', ATTRIBUTE},
    {ATTR, 22, 'm', SPARSE},       {ATTR, 23, 'm', SPARSE},
    {INFO, 1, 's', VALUE},         {INFO, 2, 'm', TYPE},
    {TYPE, 1, 'm', ARRAY},         {TYPE, 4, 'm', SEQ},
    {TYPE, 5, 'm', MAP},           {TYPE, 8, 'm', ARRAY},
    {TYPE, 9, 'm', SEQ},           {ARRAY, 2, 'm', SHAPE},
    {SEQ, 1, 'm', TYPE},           {MAP, 2, 'm', TYPE},
    {SHAPE, 1, 'm', DIM},          {DIM, 2, 's', SYMBOL},
    {TENSOR, 1, 'n', 0},           {TENSOR, 5, 'n', 0},
    {TENSOR, 6, 's', TEXT},        {TENSOR, 7, 'n', 0},
    {TENSOR, 8, 's', VALUE},       {TENSOR, 11, 'n', 0},
    {TENSOR, 13, 'm', ENTRY},      {SPARSE, 1, 'm', TENSOR},
    {SPARSE, 2, 'm', TENSOR},      {SPARSE, 3, 'n', 0},
    {ANNOTATION, 1, 's', VALUE},   {ANNOTATION, 2, 'm', ENTRY},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const Row *row_of(int message, int field)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].message == message && rows[i].field == field)
            return &rows[i];
    return NULL;
}

/* ---- a file as a tree ------------------------------------------------------------------------------------------------ */

typedef struct Message Message;
typedef struct Field {
    int number, wire;
    uint64_t v; /* wire 0 */
    const uint8_t *at;
    size_t n;
    Message *inside; /* else NULL */
    const Row *row;
} Field;
struct Message {
    int type, n, room;
    Field *at;
    size_t bytes; /* written */
};

static uint8_t memory[16 << 20] __attribute__((aligned(16)));
static size_t used;
static Message *all[1 << 14];
static int n_all;

static void *take(size_t n)
{
    n = (n + 15) & ~(size_t)15;
    if (n > sizeof memory - used)
        return NULL;
    used += n;
    return memory + used - n;
}

static bool varint(const uint8_t **s, const uint8_t *end, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; *s < end && shift < 70; shift += 7) {
        uint8_t b = *(*s)++;
        *v |= shift < 64 ? (uint64_t)(b & 127) << shift : 0;
        if (b < 128)
            return true;
    }
    return false;
}

static Field *add_field(Message *m, int where)
{
    if (m->n == m->room) {
        int room = m->room ? 2 * m->room : 8;
        Field *at = take(sizeof *at * (size_t)room);
        if (!at)
            return NULL;
        if (m->n)
            memcpy(at, m->at, sizeof *at * (size_t)m->n);
        m->at = at;
        m->room = room;
    }
    memmove(m->at + where + 1, m->at + where, sizeof *m->at * (size_t)(m->n - where));
    m->n++;
    return memset(&m->at[where], 0, sizeof *m->at);
}

static Message *read_message(int type, const uint8_t *s, size_t n, int depth);

static bool read_field(Message *m, const uint8_t **s, const uint8_t *end, int depth)
{
    Field f = {0};
    uint64_t key, n;
    if (!varint(s, end, &key))
        return false;
    f.number = (int)(key >> 3 & 0x1FFFFFFF);
    f.wire = (int)(key & 7);
    f.row = row_of(m->type, f.number);
    if (f.wire == 0 && !varint(s, end, &f.v))
        return false;
    if (f.wire) {
        n = f.wire == 1 ? 8 : 4;
        if ((f.wire != 1 && f.wire != 2 && f.wire != 5) || (f.wire == 2 && !varint(s, end, &n)) ||
            n > (size_t)(end - *s))
            return false;
        f.at = *s;
        f.n = (size_t)n;
        *s += n;
    }
    if (f.wire == 2 && f.row && f.row->kind == 'm' && depth < 60)
        f.inside = read_message(f.row->what, f.at, f.n, depth + 1);
    Field *to = add_field(m, m->n);
    if (to)
        *to = f;
    return to != NULL;
}

/* NULL: not a message, or too much of it. */
static Message *read_message(int type, const uint8_t *s, size_t n, int depth)
{
    Message *m = take(sizeof *m);
    if (!m || n_all == sizeof all / sizeof *all)
        return NULL;
    *m = (Message){.type = type};
    for (const uint8_t *end = s + n; s < end;)
        if (!read_field(m, &s, end, depth))
            return NULL;
    all[n_all++] = m;
    return m;
}

static size_t varint_size(uint64_t v)
{
    size_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

static size_t measure(Message *m)
{
    m->bytes = 0;
    for (int i = 0; i < m->n; i++) {
        Field *f = &m->at[i];
        if (f->inside)
            f->n = measure(f->inside);
        m->bytes += varint_size((uint64_t)f->number << 3) + (f->wire == 0 ? varint_size(f->v) : f->n) +
                    (f->wire == 2 ? varint_size(f->n) : 0);
    }
    return m->bytes;
}

static uint8_t *put_varint(uint8_t *to, uint64_t v)
{
    for (; v > 127; v >>= 7)
        *to++ = (uint8_t)(v | 128);
    *to++ = (uint8_t)v;
    return to;
}

static uint8_t *write_message(uint8_t *to, const Message *m)
{
    for (int i = 0; i < m->n; i++) {
        const Field *f = &m->at[i];
        to = put_varint(to, (uint64_t)f->number << 3 | (uint64_t)f->wire);
        if (f->wire == 0)
            to = put_varint(to, f->v);
        if (f->wire == 2)
            to = put_varint(to, f->n);
        if (f->inside)
            to = write_message(to, f->inside);
        else if (f->n) {
            memcpy(to, f->at, f->n);
            to += f->n;
        }
    }
    return to;
}

/* ---- what other files had -------------------------------------------------------------------------------------------- */

enum { KEPT = 512, LARGEST = 2048 };
typedef struct Piece {
    uint8_t *at;
    size_t n;
} Piece;
static Piece messages[N_MESSAGES][KEPT], strings[N_STRINGS][KEPT];

static uint64_t state;
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}
static int below(int n) { return n > 0 ? (int)(draw() % (uint64_t)n) : 0; }
static bool one_of(int n) { return below(n) == 0; }

static void keep(Piece *list, const uint8_t *at, size_t n)
{
    Piece *p = &list[below(KEPT)];
    if (n > LARGEST || !n)
        return;
    uint8_t *copy = realloc(p->at, n);
    if (!copy)
        return;
    memcpy(copy, at, n);
    *p = (Piece){copy, n};
}

static void keep_some(void)
{
    for (int i = 0; i < n_all; i++)
        for (int k = 0; k < all[i]->n; k++) {
            const Field *f = &all[i]->at[k];
            if (f->row && f->row->kind == 'm' && f->inside && one_of(4))
                keep(messages[f->row->what], f->at, f->n);
            else if (f->row && f->row->kind == 's' && f->wire == 2 && f->n < 64)
                keep(strings[f->row->what], f->at, f->n);
        }
}

static const Piece *kept(const Piece *list)
{
    for (int i = 0; i < 8; i++) {
        const Piece *p = &list[below(KEPT)];
        if (p->n)
            return p;
    }
    return NULL;
}

/* ---- changes --------------------------------------------------------------------------------------------------------- */

static Message *some_message(void) { return n_all ? all[below(n_all)] : NULL; }

static Field *some_field(void)
{
    for (int i = 0; i < 16; i++) {
        Message *m = some_message();
        if (m && m->n)
            return &m->at[below(m->n)];
    }
    return NULL;
}

static uint64_t some_number(uint64_t v)
{
    static const int64_t numbers[] = {0,    1,       2,         3,         4,         7,         8,         15,
                                      16,   17,      31,        64,        127,       128,       255,       256,
                                      1023, 4096,    65535,     65536,     1 << 20,   INT32_MAX, 1ll << 31, 1ll << 32,
                                      -1,   -2,      -3,        -8,        INT32_MIN, INT64_MAX, INT64_MIN, 1ll << 40,
                                      24,   1000003, 1ll << 47, 1ll << 62, 5,         6,         9,         10};
    switch (below(6)) {
    case 0: return v + 1;
    case 1: return v - 1;
    case 2: return v ^ 1ull << below(64);
    case 3: return (uint64_t)below(30);
    default: return (uint64_t)numbers[below(sizeof numbers / sizeof *numbers)];
    }
}

static bool drop(void)
{
    Message *m = some_message();
    if (!m || !m->n)
        return false;
    int i = below(m->n);
    memmove(m->at + i, m->at + i + 1, sizeof *m->at * (size_t)(m->n - i - 1));
    m->n--;
    return true;
}

static bool repeat(void)
{
    Message *m = some_message();
    if (!m || !m->n)
        return false;
    Field f = m->at[below(m->n)];
    for (int k = one_of(8) ? 1 + below(40) : 1; k--;) {
        Field *to = add_field(m, one_of(2) ? m->n : below(m->n));
        if (!to)
            return false;
        *to = f;
    }
    return true;
}

static bool exchange(void)
{
    Message *m = some_message();
    if (!m || m->n < 2)
        return false;
    Field *a = &m->at[below(m->n)], *b = &m->at[below(m->n)], f = *a;
    *a = *b;
    *b = f;
    return true;
}

static void become(Field *f, const uint8_t *at, size_t n)
{
    f->wire = 2;
    f->inside = NULL;
    f->at = at;
    f->n = n;
}

/* Another message of the same type, of this file or of others. */
static bool replace_message(void)
{
    for (int i = 0; i < 16; i++) {
        Field *f = some_field();
        if (!f || !f->row || f->row->kind != 'm')
            continue;
        const Piece *p = kept(messages[f->row->what]);
        if (p && !one_of(3)) {
            become(f, p->at, p->n);
            return true;
        }
        for (int k = 0; k < 16; k++) {
            const Field *g = some_field();
            if (g && g != f && g->row && g->row->kind == 'm' && g->row->what == f->row->what && g->at) {
                become(f, g->at, g->n);
                return true;
            }
        }
    }
    return false;
}

/* A message or string of other files where this one has none. */
static bool insert_piece(void)
{
    Message *m = some_message();
    for (int i = 0; m && i < 32; i++) {
        const Row *r = &rows[below(N_ROWS)];
        const Piece *p = r->message != m->type ? NULL
                         : r->kind == 'm'      ? kept(messages[r->what])
                         : r->kind == 's'      ? kept(strings[r->what])
                                               : NULL;
        Field *f = p ? add_field(m, below(m->n + 1)) : NULL;
        if (!f)
            continue;
        *f = (Field){.number = r->field, .row = r};
        become(f, p->at, p->n);
        return true;
    }
    return false;
}

static bool insert_number(void)
{
    Message *m = some_message();
    Field *f = m ? add_field(m, below(m->n + 1)) : NULL;
    if (!f)
        return false;
    *f = (Field){.number = 1 + below(26), .v = some_number(1)};
    f->row = row_of(m->type, f->number);
    return true;
}

static bool change_number(void)
{
    for (int i = 0; i < 32; i++) {
        Field *f = some_field();
        if (!f || f->wire)
            continue;
        f->v = some_number(f->v);
        return true;
    }
    return false;
}

static bool change_string(void)
{
    static const char *const texts[] = {"",    "*/",       "\"",   "\\",   "%s", "x",
                                        "int", "\xff\xfe", "NULL", "?\?/", "\n", "INT64_MAX"};
    for (int i = 0; i < 32; i++) {
        Field *f = some_field();
        if (!f || !f->row || f->row->kind != 's' || f->wire != 2)
            continue;
        const char *s = texts[below(sizeof texts / sizeof *texts)];
        const Piece *p = kept(strings[f->row->what]);
        if (one_of(12))
            become(f, (const uint8_t *)s, strlen(s));
        else if (p && one_of(2))
            become(f, p->at, p->n);
        for (int k = 0; k < 32 && f->row->what != OPERATOR; k++) { /* a name of this file */
            const Field *g = some_field();
            if (g && g->row && g->row->kind == 's' && g->row->what == f->row->what && g->wire == 2) {
                become(f, g->at, g->n);
                break;
            }
        }
        return true;
    }
    return false;
}

/* One of numbers in a row becomes another, goes, or comes twice. */
static bool change_packed(void)
{
    for (int i = 0; i < 32; i++) {
        Field *f = some_field();
        if (!f || !f->row || f->row->kind != 'n' || f->wire != 2 || !f->n || f->n > LARGEST)
            continue;
        uint8_t *to = take(f->n + 24), *at = to;
        const uint8_t *s = f->at, *end = s + f->n;
        uint64_t v;
        for (int k = below((int)f->n), how = below(6); to && s < end && varint(&s, end, &v); k--) {
            if (k == 0 && how == 0)
                continue;
            if (k == 0 && how == 1)
                at = put_varint(at, v);
            at = put_varint(at, k == 0 && how > 1 ? some_number(v) : v);
        }
        if (to)
            become(f, to, (size_t)(at - to));
        return to != NULL;
    }
    return false;
}

/* Bytes that are neither messages nor names: contents of tensors, floats. */
static bool change_bytes(void)
{
    static const uint32_t words[] = {0,          0x3F800000, 0xBF800000, 0x7FC00000, 0x7F800000,
                                     0xFF800000, 0x7F7FFFFF, 1,          0x80000000};
    for (int i = 0; i < 32; i++) {
        Field *f = some_field();
        if (!f || f->inside || f->wire == 0 || f->n > LARGEST)
            continue;
        uint8_t *to = take(f->n + 16);
        size_t n = f->n;
        if (!to)
            return false;
        if (n)
            memcpy(to, f->at, n);
        if (n >= 4 && one_of(2))
            memcpy(to + (size_t)below((int)n / 4) * 4, &words[below(9)], 4);
        else if (n >= 8 && one_of(2)) {
            uint64_t v = some_number(0);
            memcpy(to + (size_t)below((int)n / 8) * 8, &v, 8);
        } else if (f->wire == 2 && one_of(3))
            n = (size_t)below((int)n + 9);
        else
            n = n ? LLVMFuzzerMutate(to, n, f->wire == 2 ? n + 8 : n) : 0;
        if (f->wire != 2 && n != f->n)
            n = f->n;
        f->at = to;
        f->n = n;
        return true;
    }
    return false;
}

static bool change_key(void)
{
    Field *f = some_field();
    if (!f || f->inside)
        return false;
    f->number = 1 + below(26);
    if (f->wire == 0 && one_of(4))
        become(f, (const uint8_t *)"\1\2\3", (size_t)below(4));
    return true;
}

static bool (*const changes[])(void) = {
    drop,          repeat,        exchange,      replace_message, replace_message, insert_piece,  insert_piece,
    insert_number, change_number, change_number, change_number,   change_string,   change_string, change_string,
    change_packed, change_packed, change_bytes,  change_bytes,    change_key,
};

static size_t write_back(Message *m, uint8_t *data, size_t most)
{
    size_t n = measure(m);
    static uint8_t out[1 << 20];
    if (n > most || n > sizeof out)
        return 0;
    write_message(out, m);
    memcpy(data, out, n);
    return n;
}

static Message *read_file(const uint8_t *data, size_t n)
{
    used = 0;
    n_all = 0;
    uint8_t *copy = take(n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, data, n);
    return read_message(MODEL, copy, n, 0);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
    state = ((uint64_t)seed << 20 | 1) * 0x9E3779B97F4A7C15u | 1;
    Message *m = one_of(40) ? NULL : read_file(data, n);
    if (!m)
        return LLVMFuzzerMutate(data, n, most);
    keep_some();
    for (int k = 1 + below(4), tries = 0; k && tries < 40; tries++)
        k -= changes[below(sizeof changes / sizeof *changes)]();
    size_t written = write_back(m, data, most);
    return written ? written : n;
}

/* Messages and names of the second file, put into the first. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out, size_t most,
                                 unsigned seed)
{
    state = ((uint64_t)seed << 20 | 3) * 0x9E3779B97F4A7C15u | 1;
    if (read_file(b, n_b))
        keep_some();
    Message *m = read_file(a, n_a);
    for (int k = 1 + below(4), tries = 0; m && k && tries < 20; tries++)
        k -= one_of(2) ? replace_message() : insert_piece();
    return m ? write_back(m, out, most) : 0;
}
