/* emit_training.c - prints the state of a training model: its struct, and the functions that start, save and load
 * it. */
#include "emit/emit.h"

#include <stdlib.h>
#include <xxhash.h>

const char training_left_out[] = "its training information is left out: --training compiles it";

/* ---- the struct -------------------------------------------------------------------------------------------------- */

/* Bytes of one element of the field: packed elements are an array of bytes. */
static int width_of(const Variable *s)
{
    const int bits = type_bits(s->start->type);
    return bits % 8 ? 1 : bits / 8;
}

static int64_t count_of(const Variable *s) { return s->bytes / width_of(s); }

/* The fields in the struct's order: the widest elements first, so that there is no padding between them. */
typedef VEC(const Variable *) Fields;
static Fields fields(const Model *m)
{
    Fields f = {0};
    for (int width = 8; width; width /= 2)
        EACH_OF (state, m->states)
            if (width_of(state) == width)
                vec_push(&f, state);
    return f;
}

/* Bytes of the fields. */
static int64_t used_bytes(const Model *m)
{
    int64_t sum = 0;
    for (int i = 0; i < m->states.n; i++)
        sum += m->states.at[i]->bytes;
    return sum;
}

int64_t state_bytes(const Model *m)
{
    const int64_t used = used_bytes(m);
    return m->entries.n ? (used ? (used + 7) / 8 * 8 : 8) : 0;
}

void name_states(Model *m)
{
    int steps = 0;
    for (int i = 0; i < m->entries.n; i++)
        steps += m->entries.at[i]->kind == ENTRY_STEP;
    names_training(steps);
    EACH_OF (s, m->states)
        s->c = c_name(s->name, "variable");
}

const char *entry_name(const Entry *e)
{
    return e->kind == ENTRY_INIT ? "init" : e->kind == ENTRY_RUN ? "run" : text_format("step_%d", e->index);
}

void put_entry_comment(Text *t, const Entry *e)
{
    static const char *const what[] = {
        "/* Assigns the results of the initialization graphs to their state variables. */\n",
        "/* A step of algorithm %d: computes everything from the state as it is, then assigns the new values. */\n",
        "/* Runs the model with the state as it is. */\n"};
    text_put(t, what[e->kind], e->index);
}

/* The state of the random-number generator; NULL: the model draws none. */
static const Variable *generator(const Model *m)
{
    EACH_OF (s, m->states)
        if (s->generator)
            return s;
    return NULL;
}

static const char *seed_parameter(const Model *m) { return generator(m) ? ", uint64_t seed" : ""; }

/* ---- saved states ------------------------------------------------------------------------------------------------ */

enum { SAVED_HEAD = 16, SAVED_END = 8, SAVED_VERSION = 1 };

/* A hash of the fields' names, types and shapes: a saved state is loaded only if it has the same hash. */
static uint64_t layout_hash(const Model *m)
{
    Text t = {0};
    const Fields f = fields(m);
    EACH_OF (field, f) {
        put_quoted(&t, field->name, IN_JSON);
        text_put(&t, " %s %s\n", type_onnx(field->start->type), c_shape(*field->start->shape));
    }
    return t.n ? XXH3_64bits(t.s, t.n) : 0;
}

static void put_save(Text *t, const Model *m, const char *p)
{
    const char *u = c_upper(p);
    const Fields f = fields(m);
    int64_t at = SAVED_HEAD;
    text_put(t, "static const unsigned char %s_saved_head[%d] RT_CONST = {'o', 'n', 'n', 'x', 'c', 'c', %d, 0", p,
             SAVED_HEAD, SAVED_VERSION);
    for (uint64_t h = layout_hash(m), i = 0; i < 8; i++, h >>= 8)
        text_put(t, ", %d", (int)(h & 255));
    text_put(t, "};\n\nint %s_save(const struct %s_state *state, void *bytes, size_t size)\n{\n", p, p);
    text_put(t, "    unsigned char *const at = (unsigned char *)bytes;\n    if (size < %s_SAVED_BYTES)\n", u);
    text_put(t, "        return RT_BAD_STATE;\n    memcpy(at, %s_saved_head, %d);\n", p, SAVED_HEAD);
    for (int i = 0; i < f.n; at += f.at[i++]->bytes)
        text_put(t, "    rt_state_copy(at + %lld, state->%s, %lld, %d);\n", (long long)at, f.at[i]->c,
                 (long long)count_of(f.at[i]), width_of(f.at[i]));
    text_put(t, "%s    const u64 hash = rt_state_hash(at, %lld);\n", f.n ? "" : "    (void)state;\n", (long long)at);
    text_put(t, "    rt_state_copy(at + %lld, &hash, 1, 8);\n    return 0;\n}\n\n", (long long)at);
}

static void put_load(Text *t, const Model *m, const char *p)
{
    const Fields f = fields(m);
    int64_t at = SAVED_HEAD;
    const int64_t end = SAVED_HEAD + used_bytes(m);
    text_put(t, "int %s_load(struct %s_state *state, const void *bytes, size_t size)\n{\n", p, p);
    text_put(t, "    const unsigned char *const at = (const unsigned char *)bytes;\n    u64 hash = 0;\n");
    text_put(t,
             "    if (size != %s_SAVED_BYTES || !rt_state_same(at, %s_saved_head, %d))\n        return RT_BAD_STATE;\n",
             c_upper(p), p, SAVED_HEAD);
    text_put(t, "    rt_state_copy(&hash, at + %lld, 1, 8);\n", (long long)end);
    text_put(t, "    if (hash != rt_state_hash(at, %lld))\n        return RT_BAD_STATE;\n", (long long)end);
    for (int i = 0; i < f.n; at += f.at[i++]->bytes)
        text_put(t, "    rt_state_copy(state->%s, at + %lld, %lld, %d);\n", f.at[i]->c, (long long)at,
                 (long long)count_of(f.at[i]), width_of(f.at[i]));
    text_put(t, "%s    return 0;\n}\n\n", f.n ? "" : "    (void)state;\n");
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

void put_training_state(Text *t, const Model *m, const char *p)
{
    const char *u = c_upper(p);
    const Fields f = fields(m);
    const int64_t used = used_bytes(m), all = state_bytes(m);
    text_put(
        t,
        "/* The state: weights and the optimiser's variables. The caller provides the memory; each struct is one trained model. */\n");
    text_put(t, "struct %s_state {\n", p);
    EACH_OF (field, f)
        text_put(t, "    %s %s[%lld]; /* \"%s\" %s */\n", type_public(field->start->type), field->c,
                 (long long)count_of(field), c_comment(field->name), c_shape(*field->start->shape));
    if (all > used)
        text_put(t, "    unsigned char %s[%lld];\n", c_name(name("padding"), "padding"), (long long)(all - used));
    text_put(t, "};\n#define %s_STATE_BYTES %lld\n\n", u, (long long)all);
    text_put(t, "/* Sets the state to the values in the model; to be called before anything else. */\n");
    text_put(t, "int %s_reset(struct %s_state *state%s);\n\n", p, p, seed_parameter(m));
    text_put(
        t,
        "/* Saves the state as bytes, which are the same on every machine, and loads them. %s_load returns %s_BAD_STATE and\n"
        " * changes nothing if the bytes are damaged, or are the state of a model with other variables, types or shapes. */\n",
        p, u);
    text_put(t, "#define %s_SAVED_BYTES %lld\n", u, (long long)(SAVED_HEAD + used + SAVED_END));
    text_put(t, "int %s_save(const struct %s_state *state, void *bytes, size_t size);\n", p, p);
    text_put(t, "int %s_load(struct %s_state *state, const void *bytes, size_t size);\n\n", p, p);
}

static void put_start(Text *t, const Model *m, const char *p)
{
    const Fields f = fields(m);
    text_put(t, "int %s_reset(struct %s_state *state%s)\n{\n", p, p, seed_parameter(m));
    if (constants()->loaded)
        text_put(t, "    if (!%s_weights)\n        return RT_BAD_WEIGHTS;\n", p);
    text_put(t, "    memset(state, 0, sizeof *state);\n");
    EACH_OF (field, f)
        if (field->start->c)
            text_put(t, "    memcpy(state->%s, %s, %lld);\n", field->c, constant_expression(field->start),
                     (long long)field->bytes);
    if (generator(m))
        text_put(t, "    state->%s[0] = seed;\n", generator(m)->c);
    text_put(t, "    return 0;\n}\n\n");
}

void put_training_functions(Text *t, const Model *m, const char *p)
{
    text_put(t, "\ntypedef char %s_state_check[sizeof(struct %s_state) == %s_STATE_BYTES ? 1 : -1];\n\n", p, p,
             c_upper(p));
    put_start(t, m, p);
    put_save(t, m, p);
    put_load(t, m, p);
}
