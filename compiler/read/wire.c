/* wire.c - protobuf: collects a message's fields as spans of the file, one message at a time; errors have a place. */
#include "read/wire.h"
#include "onnx.pb.h"

enum { MAX_ENTRIES = 1 << 24 };

typedef struct Reader {
    Span file, message; /* message: the one being read; nanopb passes scalars in a buffer of its own */
    uint64_t copied;    /* bytes of messages given in several pieces, which were concatenated */
    unsigned order;
    const char *refused; /* why wire_field refused a field; NULL: it did not */
    const char *code;
} Reader;
PART(Reader, reader)

void wire_begin(Span file) { *reader() = (Reader){.file = file}; }

static bool is_within(Span s, const uint8_t *at)
{
    return s.at && (uintptr_t)at >= (uintptr_t)s.at && (uintptr_t)at <= (uintptr_t)(s.at + s.n);
}

/* Prints a path; of a deeply nested one only the outermost and the innermost steps. */
static void path_put(Text *t, const Path *p, int shown)
{
    if (p->up) {
        const Node *n = p->up->node;
        const Path *top = p->up;
        for (; shown == 0 && top->up; top = top->up)
            ;
        path_put(t, top, shown - 1);
        if (top != p->up)
            text_put(t, ". ... ");
        else if (n && n->name->n)
            text_put(t, " \"%s\"", printable(n->name));
        if (n && top == p->up)
            text_put(t, " (%s)", printable(node_op(n)));
        text_put(t, ".");
    }
    text_put(t, "%s", p->field);
    if (p->i >= 0)
        text_put(t, "[%d]", p->i);
    if (p->name)
        text_put(t, " \"%s\"", printable(p->name));
}

const char *path_text(const Path *p)
{
    TextMark mark = text_mark();
    Text t = {0};
    if (p)
        path_put(&t, p, 12);
    const char *s = name_bytes(t.s, t.n)->s;
    text_release(mark);
    return s;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool refuse(const char *code, const char *why)
{
    reader()->code = code;
    reader()->refused = why;
    return false;
}

/* Appends s to w; copies only from the second piece on. */
static bool append(Wire *w, Span s, bool scalar, bool message)
{
    if (!w->s.n && !scalar) {
        w->s = s;
        w->room = 0;
        return true;
    }
    if (!s.n)
        return true;
    size_t n = w->s.n + s.n;
    if (message) {
        reader()->copied += s.n + (w->room ? 0 : w->s.n);
        if (reader()->copied > 2 * (uint64_t)reader()->file.n + 4096)
            return refuse("PB-07", "messages given in pieces, over and over");
    }
    if (n > w->room) {
        size_t room = w->room ? 2 * n : n < 16 ? 16 : n + n / 2;
        void *copy = pool_grow(w->room ? (void *)(uintptr_t)w->s.at : NULL, w->room, room);
        if (!w->room && w->s.n)
            memcpy(copy, w->s.at, w->s.n);
        w->s.at = copy;
        w->room = room;
    }
    memcpy((void *)(uintptr_t)(w->s.at + w->s.n), s.at, s.n);
    w->s.n = n;
    return true;
}

static bool push(Wire *w, Span s)
{
    if (w->n == w->cap) {
        if (w->n >= MAX_ENTRIES)
            return refuse("PB-12", "a field has more than 16777216 entries");
        int cap = w->cap ? 2 * w->cap : 2;
        w->list = pool_grow(w->list, sizeof(Span) * (size_t)w->cap, sizeof(Span) * (size_t)cap);
        w->cap = cap;
    }
    w->list[w->n++] = s;
    return true;
}

/* nanopb calls this for every field of the schema. A field with another wire type than the schema's is treated as
 * unknown, as protobuf requires. */
bool wire_field(pb_istream_t *in, pb_ostream_t *out, const pb_field_t *field)
{
    (void)out;
    Wire *w = field->pData;
    Span s = {in->state, in->bytes_left};
    bool number = PB_LTYPE(field->type) <= PB_LTYPE_FIXED64, repeated = PB_HTYPE(field->type) == PB_HTYPE_REPEATED;
    bool message = PB_LTYPE_IS_SUBMSG(field->type), scalar = !is_within(reader()->message, s.at);
    if (!pb_read(in, NULL, s.n))
        return false;
    if (scalar ? !number : number && !repeated)
        return true;
    w->order = ++reader()->order;
    if (number && !repeated) {
        w->s.n = 0;
        return append(w, s, true, false);
    }
    if (repeated && !number)
        return push(w, s);
    if (!number && !message) {
        w->s = s;
        return true;
    }
    return append(w, s, scalar, message);
}

/* ---- diagnosis of malformed messages ----------------------------------------------------------------------------- */

/* " at byte 123", or "" for a message that was concatenated from pieces. */
static const char *offset_text(const void *at)
{
    if (!is_within(reader()->file, at))
        return "";
    return text_format(" at byte %zu", (size_t)((const uint8_t *)at - reader()->file.at));
}

/* Decodes the message again, up to the field that nanopb refused, and reports it. Returns false. */
static bool explain(Span m, const char *message, const Path *p)
{
    pb_istream_t in = pb_istream_from_buffer(m.at, m.n);
    while (in.bytes_left) {
        const void *at = in.state;
        pb_wire_type_t type;
        uint32_t tag, length = 0;
        bool end;
        if (!pb_decode_tag(&in, &type, &tag, &end) || !tag)
            return error_path(p, "PB-03", "this is not a protobuf field%s", offset_text(at));
        if ((int)type == 3 || (int)type == 4)
            return error_path(p, "PB-02", "field %u is a group%s; ONNX never had groups", (unsigned)tag,
                              offset_text(at));
        pb_istream_t before = in;
        if (pb_skip_field(&in, type))
            continue;
        if (type == PB_WT_STRING && pb_decode_varint32(&before, &length) && length > before.bytes_left)
            return error_path(p, "PB-03", "truncated: field %u%s says it has %u bytes, but only %zu follow",
                              (unsigned)tag, offset_text(at), (unsigned)length, before.bytes_left);
        return error_path(p, "PB-03", "field %u%s is malformed or cut off", (unsigned)tag, offset_text(at));
    }
    return error_path(p, "PB-03", "malformed message: %s", message);
}

bool wire_read(const pb_msgdesc_t *type, Span s, void *message, const Path *p)
{
    static const uint8_t nothing[1];
    reader()->message = s.at ? s : (Span){nothing, 0};
    reader()->refused = NULL;
    reader()->order = 0;
    pb_istream_t in = pb_istream_from_buffer(reader()->message.at, s.n);
    if (pb_decode_ex(&in, type, message, PB_DECODE_NOINIT))
        return true;
    return reader()->refused ? error_path(p, reader()->code, "%s", reader()->refused)
                             : explain(reader()->message, PB_GET_ERROR(&in), p);
}

bool wire_read_next(const pb_msgdesc_t *type, const Wire *w, void *message, size_t size, Path *at)
{
    while (++at->i < w->n)
        if (memset(message, 0, size), wire_read(type, w->list[at->i], message, at))
            return true;
    return false;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

void wire_free(Wire *w)
{
    pool_free(w->list, sizeof *w->list * (size_t)w->cap);
    if (w->room)
        pool_free((void *)(uintptr_t)w->s.at, w->room);
    *w = (Wire){0};
}

Name span_name(Span s) { return name_bytes((const char *)s.at, s.n); }
Name wire_name(const Wire *w) { return span_name(w->s); }

int64_t wire_int(const Wire *w)
{
    Span s = w->s;
    return wire_varints(s) == 1 ? (int64_t)wire_next(&s) : 0;
}

float wire_float(const Wire *w)
{
    float f = 0;
    if (w->s.n == sizeof f)
        memcpy(&f, w->s.at, sizeof f);
    return f;
}

int64_t wire_varints(Span s)
{
    int64_t count = 0;
    size_t start = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < 0x80) {
            if (i - start > 9)
                return -1;
            count++;
            start = i + 1;
        }
    return start == s.n ? count : -1;
}

uint64_t wire_next(Span *s)
{
    uint64_t v = 0;
    for (int shift = 0; s->n; shift += 7) {
        uint8_t b = *s->at++;
        s->n--;
        v |= shift < 64 ? (uint64_t)(b & 0x7F) << shift : 0;
        if (b < 0x80)
            break;
    }
    return v;
}
