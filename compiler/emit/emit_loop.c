/* emit_loop.c - prints elementwise loops. */
#include "emit/emit.h"
#include "rt.h"

const char *loop_argument(const Loop *l, int arg, const char *const *loaded)
{
    if (arg < 0)
        return loaded[~arg];
    const Step *s = &l->steps.at[arg];
    if (s->fn)
        return text_format("v%d_", arg);
    Text t = {0};
    Type a = type_arith(s->type);
    if (type_is_float(s->type))
        text_float(&t, a, s->f);
    else
        text_integer(&t, a, s->i);
    return t.s;
}

void emit_steps(Emitter *e, const Loop *l, const char *const *loaded)
{
    for (int i = 0; i < l->steps.n; i++) {
        const Step *s = &l->steps.at[i];
        if (!s->fn)
            continue;
        Text t = {0};
        Type r = type_arith(s->type);
        bool round = step_rounds(s);
        text_put(&t, "const %s v%d_ = ", type_tag(r), i);
        if (round)
            text_put(&t, "rnd_%s(", type_tag(s->type));
        text_put(&t, "%s_%s(", loop_function(s), type_tag(s->a));
        for (int k = 0; k < s->n_arg; k++)
            text_put(&t, "%s%s", k ? ", " : "", loop_argument(l, s->arg[k], loaded));
        text_put(&t, round ? "));" : ");");
        line(e, "%s", t.s);
    }
}

static void emit_store(Emitter *e, const Loop *l, int k, const char *const *at, const char *const *loaded)
{
    Type type = l->out[k]->type;
    const char *v = NULL;
    if (l->out_step[k] < 0) {
        int in = ~l->out_step[k];
        type = copy_type(type);
        v = text_format("ld_%s(%s, %s)", type_tag(type), pointer(l->in[in]), at[in]);
    } else
        v = loop_argument(l, l->out_step[k], loaded);
    line(e, "st_%s(%s, %s, %s);", type_tag(type), pointer(l->out[k]), at[l->n_in + k], v);
}

void emit_loop(Emitter *e, const Loop *l)
{
    LoopDims d;
    loop_dims(l, &d);
    static const char *const index[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "w", "x", "y"};
    for (int i = 0; i < d.rank; i++) {
        declare_parts(e, d.dim[i]);
        for (int k = 0; k < l->n_in + l->n_out; k++)
            if (k >= l->n_in || loop_reads(l, k))
                declare_parts(e, d.stride[k][i]);
    }
    for (int i = 0; i < d.rank; i++) {
        line(e, "for (idx %s_ = 0; %s_ < %s; %s_++)%s", index[i], index[i], dim_c(d.dim[i]), index[i],
             i == d.rank - 1 ? " {" : "");
        e->depth++;
    }
    const char *at[LOOP_IN + LOOP_OUT], *loaded[LOOP_IN];
    for (int k = 0; k < l->n_in + l->n_out; k++) {
        Text x = {0};
        for (int i = 0; i < d.rank; i++) {
            Dim s = d.stride[k][i];
            if (dim_is(s, 0))
                continue;
            text_put(&x, x.n ? " + " : "");
            text_put(&x, dim_is(s, 1) ? "%s_" : "%s_ * %s", index[i], dim_factor_c(s));
        }
        at[k] = x.n ? x.s : "0";
    }
    for (int k = 0; k < l->n_in; k++) { /* loaded once, even if several steps use it */
        if (!loop_reads(l, k))
            continue;
        line(e, "const %s x%d_ = ld_%s(%s, %s);", type_tag(type_arith(l->in[k]->type)), k, type_tag(l->in[k]->type),
             pointer(l->in[k]), at[k]);
        loaded[k] = text_format("x%d_", k);
    }
    emit_steps(e, l, loaded);
    for (int k = 0; k < l->n_out; k++)
        emit_store(e, l, k, at, loaded);
    e->depth--;
    line(e, "}");
    e->depth -= d.rank - 1;
}
