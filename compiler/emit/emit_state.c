/* emit_state.c - prints the block of states (--state): its struct, its initial values, and the sizes in it. */
#include "emit/emit.h"
#include "passes/state.h"

static bool has_states(void) { return states()->at.n > 0; }

static int64_t words(void)
{
    const int64_t n = (states()->bytes - 8 * states()->sizes.n) / 8;
    return n ? n : 1;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static void put_size(Text *t, const KeptSize *k)
{
    if (k->given)
        text_put(t, "    int64_t %s; /* the caller's size, the same until the reset; 0: no run yet */\n", k->symbol->c);
    else
        text_put(t, "    int64_t %s; /* 0 to %lld; after a run: %s */\n", k->symbol->c, (long long)k->symbol->high,
                 dim_c(k->next));
}

void put_state(Text *t, const Interface *f)
{
    const States *const s = states();
    if (!has_states())
        return;
    EACH_AT (each, s->at) {
        text_put(t, "/* state \"%s\": %s %s, after a run", c_comment(each->in->name), type_onnx(each->in->type),
                 c_shape(*each->in->shape));
        text_put(t, " \"%s\" */\n", c_comment(each->out));
    }
    text_put(
        t,
        "\n/* The state that is kept between runs. %s_reset sets it to its initial values; a run changes it only if it\n"
        " * returns 0. A copy of the struct is a copy of the state. */\n",
        f->p);
    text_put(t, "#define %s_STATE_BYTES %lld\n", f->u, (long long)(8 * (s->sizes.n + words())));
    text_put(t, "struct %s_state {\n", f->p);
    for (int i = 0; i < s->sizes.n; i++)
        put_size(t, &s->sizes.at[i]);
    text_put(t, "    uint64_t %s[%lld];\n};\n", c_name(name("tensors"), "tensors"), (long long)words());
    text_put(t, "int %s_reset(struct %s_state *state); /* returns 0%s */\n\n", f->p, f->p,
             constants()->loaded ? ", or a status if the weights are not loaded" : "");
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

/* The sizes of a state's initial value, where they are kept. */
static void put_initial_sizes(Text *t, const Value *x)
{
    for (int k = 0; k < x->shape->rank; k++) {
        const Symbol *s = symbol_of(x->shape->dim[k]);
        if (s && kept_size(s))
            text_put(t, "    state->%s = %lld;\n", s->c, (long long)x->fallback->dim[k]);
    }
}

void put_reset(Text *t, const Interface *f)
{
    if (!has_states())
        return;
    text_put(t, "int %s_reset(struct %s_state *state)\n{\n", f->p, f->p);
    if (constants()->loaded)
        text_put(t, "    if (!%s_weights)\n        return RT_BAD_WEIGHTS;\n", f->p);
    text_put(t, "    memset(state, 0, sizeof *state);\n");
    EACH_AT (each, states()->at) {
        const Value *x = each->in;
        if (!x->fallback)
            continue;
        text_put(t, "    memcpy((unsigned char *)state + %lld, %s, %zu);\n", (long long)each->slot->offset,
                 constant_expression(x), tensor_size(x->fallback));
        put_initial_sizes(t, x);
    }
    text_put(t, "    return 0;\n}\n\n");
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

void define_kept(Emitter *e)
{
    e->state = states()->sizes.n > 0;
    EACH_AT (k, states()->sizes) {
        if (k->given)
            fail_if(e, "RT_BAD_SIZE", "state->%s != 0 && state->%s != %s", k->symbol->c, k->symbol->c, k->symbol->c);
        else
            define_given(e, k->symbol, text_format("state->%s", k->symbol->c));
    }
}

void check_kept(Emitter *e, bool given)
{
    EACH_AT (k, states()->sizes)
        if (!k->given && is_given(k->next) == given && !dim_is_at_most(k->next, D(k->symbol->high)))
            fail_if(e, "RT_BAD_SIZE", "%s > %lld", dim_wide_c(k->next), (long long)k->symbol->high);
}

void put_next(Emitter *e)
{
    EACH_AT (size, states()->sizes)
        line(e, "state->%s = %s;", size->symbol->c, dim_wide_c(size->next));
}
