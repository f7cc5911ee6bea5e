/* tree.c - parses an ONNX file into a tree by the schema, and serializes the tree. */
#include "tree.h"

#include <string.h>

const Row rows[N_ROWS] = {
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

const Row *row_of(int message, int field)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].message == message && rows[i].field == field)
            return &rows[i];
    return NULL;
}

/* ---- a file as a tree -------------------------------------------------------------------------------------------- */

static uint8_t memory[16 << 20] __attribute__((aligned(16)));
static size_t used;
Message *all[MAX_MESSAGES];
int n_all;

void *tree_alloc(size_t n)
{
    n = (n + 15) & ~(size_t)15;
    if (n > sizeof memory - used)
        return NULL;
    used += n;
    return memory + used - n;
}

bool varint(const uint8_t **s, const uint8_t *end, uint64_t *v)
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

Field *add_field(Message *m, int where)
{
    if (m->n == m->room) {
        int room = m->room ? 2 * m->room : 8;
        Field *at = tree_alloc(sizeof *at * (size_t)room);
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

/* NULL: not a message, or too large. */
static Message *read_message(int type, const uint8_t *s, size_t n, int depth)
{
    Message *m = tree_alloc(sizeof *m);
    if (!m || n_all == MAX_MESSAGES)
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

uint8_t *put_varint(uint8_t *to, uint64_t v)
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

size_t write_file(Message *model, uint8_t *to, size_t room)
{
    static uint8_t out[1 << 20];
    size_t n = measure(model);
    if (n > room || n > sizeof out)
        return 0;
    write_message(out, model);
    memcpy(to, out, n);
    return n;
}

Message *read_file(const uint8_t *data, size_t n)
{
    used = 0;
    n_all = 0;
    uint8_t *copy = tree_alloc(n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, data, n);
    return read_message(MODEL, copy, n, 0);
}
