/* mutate.c - mutates ONNX files as protobuf messages: drops, repeats, moves and alters fields, and inserts messages and
 * strings of other files; most results parse. libFuzzer calls the two functions at the foot. */
#include "mutate.h"
#include "tree.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t room); /* libFuzzer's own */

/* ---- pieces of other files --------------------------------------------------------------------------------------- */

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
int below(int n) { return n > 0 ? (int)(draw() % (uint64_t)n) : 0; }
bool one_of(int n) { return below(n) == 0; }

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

/* ---- changes ----------------------------------------------------------------------------------------------------- */

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

static void drop_field(Message *m, int i)
{
    memmove(m->at + i, m->at + i + 1, sizeof *m->at * (size_t)(m->n - i - 1));
    m->n--;
}

static bool drop(void)
{
    Message *m = some_message();
    if (!m || !m->n)
        return false;
    drop_field(m, below(m->n));
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

void become(Field *f, const void *at, size_t n)
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
    static const char *const texts[] = {"",
                                        "*/",
                                        "\"",
                                        "\\",
                                        "%s",
                                        "x",
                                        "int",
                                        "\xff\xfe",
                                        "NULL",
                                        "?\?/",
                                        "\n",
                                        "INT64_MAX",
                                        "fuzz_run",
                                        "linux",
                                        "/",
                                        "*",
                                        "*/" LIVE_MARK "/*",
                                        "\"" LIVE_MARK "\"",
                                        "\n#error " LIVE_MARK "\n",
                                        "\\\n" LIVE_MARK,
                                        "\x1b[2J" LIVE_MARK,
                                        "\u202e" LIVE_MARK,
                                        "\u2028" LIVE_MARK,
                                        "\xc2\x85\xd8\x9c",
                                        "\x7f",
                                        "\r" LIVE_MARK,
                                        "'" LIVE_MARK};
    for (int i = 0; i < 32; i++) {
        Field *f = some_field();
        if (!f || !f->row || f->row->kind != 's' || f->wire != 2)
            continue;
        const char *s = texts[below(sizeof texts / sizeof *texts)];
        const Piece *p = kept(strings[f->row->what]);
        if (one_of(12))
            become(f, s, strlen(s));
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

/* One number of a packed row is changed, removed or duplicated. */
static bool change_packed(void)
{
    for (int i = 0; i < 32; i++) {
        Field *f = some_field();
        if (!f || !f->row || f->row->kind != 'n' || f->wire != 2 || !f->n || f->n > LARGEST)
            continue;
        uint8_t *to = tree_alloc(f->n + 24), *at = to;
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
        uint8_t *to = tree_alloc(f->n + 16);
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
        become(f, "\1\2\3", (size_t)below(4));
    return true;
}

/* The first message of a type at or after one drawn. */
static Message *message_of(int type)
{
    for (int i = 0, at = below(n_all); i < n_all; i++)
        if (all[(at + i) % n_all]->type == type)
            return all[(at + i) % n_all];
    return NULL;
}

/* Field `number` has this text, and no other field of m this number. */
static void set_text(Message *m, int number, const char *s)
{
    Field *f = NULL;
    for (int i = 0; i < m->n && !f; i++)
        f = m->at[i].number == number ? &m->at[i] : NULL;
    if (!f && (f = add_field(m, m->n)) != NULL)
        *f = (Field){.number = number, .row = row_of(m->type, number)};
    if (f)
        become(f, s, strlen(s));
}

/* A node calls a custom operator. */
static bool make_custom(void)
{
    static const char *const operators[] = {"Op", ("*/" LIVE_MARK), "int", "f\"\\", "\xff", "\x1b[2J", "Op_1", "Op.1"};
    Message *n = message_of(NODE), *m = message_of(MODEL);
    Field *import = n && m ? add_field(m, m->n) : NULL;
    if (!import)
        return false;
    set_text(n, 4, operators[below(sizeof operators / sizeof *operators)]);
    set_text(n, 7, OWN_DOMAIN);
    *import = (Field){.number = 8, .row = row_of(MODEL, 8)};
    become(import, ("\x0a\x03" OWN_DOMAIN "\x10\x01"), 2 + strlen(OWN_DOMAIN) + 2);
    return true;
}

/* An entry of external_data; both texts are short. */
static bool add_entry(Message *t, const char *key, const char *value)
{
    const size_t k = strlen(key), v = strlen(value);
    Field *f = add_field(t, t->n);
    uint8_t *to = tree_alloc(k + v + 4);
    if (!f || !to)
        return false;
    *f = (Field){.number = 13, .row = row_of(TENSOR, 13)};
    become(f, to, k + v + 4);
    *to++ = 0x0A;
    to = put_varint(to, k);
    to = (uint8_t *)memcpy(to, key, k) + k;
    *to++ = 0x12;
    to = put_varint(to, v);
    memcpy(to, value, v);
    return true;
}

/* A tensor's bytes are declared to be in a file, which need not exist. */
static bool make_external(void)
{
    static const char *const keys[] = {"offset", "offset", "length", "checksum", "location"};
    static const char *const values[] = {"0", "8", "-1", "4096", "16", "99999999999999999999", "*", ""};
    static const char *const locations[] = {"data", "./data", "../data", ".", "\x1b[2J"};
    Message *t = message_of(TENSOR);
    if (!t)
        return false;
    for (int i = t->n; i--;)
        if (t->at[i].number >= 4 && t->at[i].number <= 11 && t->at[i].number != 8)
            drop_field(t, i);
    Field *where = add_field(t, t->n);
    if (!where)
        return false;
    *where = (Field){.number = 14, .v = 1};
    bool done = add_entry(t, "location", locations[one_of(4) ? below(5) : 0]);
    for (int k = below(3); k--;)
        done &= add_entry(t, keys[below(5)], values[below(8)]);
    return done;
}

static bool (*const changes[])(void) = {
    drop,          repeat,        exchange,      replace_message, replace_message, insert_piece,  insert_piece,
    insert_number, change_number, change_number, change_number,   change_string,   change_string, change_string,
    change_packed, change_packed, change_bytes,  change_bytes,    change_key,      make_custom,   make_external,
};

/* For the whole compiler most files are repaired: otherwise few would get past the parser. */
static size_t write_back(Message *m, uint8_t *data, size_t room)
{
    size_t n = write_file(m, data, room);
    if (n && below(8) < repairs_of_8 && (m = read_file(data, n)) != NULL) {
        repair(m);
        n = write_file(m, data, room);
    }
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t room, unsigned seed)
{
    state = ((uint64_t)seed << 20 | 1) * 0x9E3779B97F4A7C15u | 1;
    Message *m = one_of(40) ? NULL : read_file(data, n);
    if (!m)
        return LLVMFuzzerMutate(data, n, room);
    keep_some();
    for (int k = one_of(2) ? 1 : 1 + below(4), tries = 0; k && tries < 40; tries++)
        k -= changes[below(sizeof changes / sizeof *changes)]();
    size_t written = write_back(m, data, room);
    return written ? written : n;
}

/* Inserts messages and names of the second file into the first. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out, size_t room,
                                 unsigned seed)
{
    state = ((uint64_t)seed << 20 | 3) * 0x9E3779B97F4A7C15u | 1;
    if (read_file(b, n_b))
        keep_some();
    Message *m = read_file(a, n_a);
    for (int k = 1 + below(4), tries = 0; m && k && tries < 20; tries++)
        k -= one_of(2) ? replace_message() : insert_piece();
    return m ? write_back(m, out, room) : 0;
}
