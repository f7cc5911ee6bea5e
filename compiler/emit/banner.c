/* banner.c - the comments that begin the C file and its header: which model, by which command, by whom. */
#include "emit/emit.h"
#include "base/options.h"
#include "base/output.h"

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void put_word(Text *t, const char *option, const char *what, const char *value)
{
    text_put(t, " %s%s", option, c_shell(name_format("%s%s", what, value)));
}

static void put_sizes(Text *t)
{
    EACH_AT (o, opt()->dims)
        put_word(t, "--dim ", option_word(o->name),
                 text_format(o->low == o->high ? "=%lld" : "<=%lld", (long long)o->high));
    EACH_AT (o, opt()->shapes) {
        Text sizes = {0};
        text_put(&sizes, "=");
        for (int k = 0; k < o->rank; k++)
            text_put(&sizes, "%s%lld", k ? "," : "", (long long)o->dim[k]);
        put_word(t, "--shape ", option_word(o->input), sizes.s);
    }
    const struct DimOption *all = &opt()->all_dims;
    if (all->name)
        put_word(t, "--all-dims=", text_format(all->low == all->high ? "%lld" : "<=%lld", (long long)all->high), "");
}

/* The command that writes these bytes, in the folder of the model. */
static void put_command(Text *t)
{
    static const char *const weights[] = {"auto", "inline", "incbin", "file"};
    text_put(t, "onnxcc");
    put_word(t, "", base_name(opt()->model), "");
    if (opt()->package)
        put_word(t, "--package=", opt()->package, "");
    put_word(t, "-o ", base_name(opt()->package ? opt()->folder : opt()->output), "");
    if (opt()->prefix)
        put_word(t, "--prefix ", opt()->prefix, "");
    text_put(t, " --target %s", opt()->target->name);
    put_sizes(t);
    EACH_AT (o, opt()->consts)
        put_word(t, "--const ", option_word(o->input), text_format("=%s", option_word(base_name(o->file))));
    EACH_AT (o, opt()->states)
        put_word(t, "--state ", pattern_word(&o->out), text_format("=%s", pattern_word(&o->in)));
    for (int i = 0; i < opt()->customs.n; i++)
        put_word(t, "--custom-op ", opt()->customs.at[i].name, "");
    for (int i = 0; i < opt()->froms.n; i++)
        put_word(t, "--from ", option_word(opt()->froms.at[i]), "");
    for (int i = 0; i < opt()->untils.n; i++)
        put_word(t, "--until ", option_word(opt()->untils.at[i]), "");
    for (int i = 0; i < opt()->taps.n; i++)
        put_word(t, "--tap ", option_word(opt()->taps.at[i]), "");
    if (opt()->channel_block)
        text_put(t, " --channel-block=%lld", (long long)opt()->channel_block);
    if (opt()->weights)
        text_put(t, " --weights=%s", weights[opt()->weights]);
    text_put(t, "%s", opt()->training ? " --training" : "");
    text_put(t, "%s%s%s", opt()->as_struct ? " --struct" : "", opt()->single && !opt()->package ? " --single" : "",
             opt()->no_banner ? " --no-banner" : "");
    text_put(t, "%s%s", opt()->profile ? " --profile" : "", opt()->expand_weights ? " --expand-weights" : "");
}

const char *banner(const Model *m)
{
    Text t = {0};
    text_put(&t, "%s (XXH3 %016llx) in C, by\n *   ", c_comment(m->base), (unsigned long long)m->hash);
    put_command(&t);
    if (!opt()->no_banner)
        text_put(&t, "\n * onnxcc %s", ONNXCC_VERSION);
    if (m->training.n && !m->entries.n)
        text_put(&t, "\n * %s", training_left_out);
    return t.s;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void put_text(Text *t, const char *before, Name n)
{
    if (name_length(n))
        text_put(t, "%s%s", before, c_comment(n));
}

/* A version: a number, and also as parts of 16, 16 and 32 bits if it is large. */
static void put_version(Text *t, int64_t v)
{
    uint64_t u = (uint64_t)v;
    text_put(t, " version %lld", (long long)v);
    if (u >> 32)
        text_put(t, " (%u.%u.%u)", (unsigned)(u >> 48), (unsigned)(u >> 32 & 0xFFFF), (unsigned)(u & 0xFFFFFFFF));
}

/* The model's graph, version, producer, author and licence, as a comment. */
const char *about(const Model *m)
{
    static const char *const keys[] = {"model_author",   "model_license", "author",     "company",
                                       "converted_from", "license",       "license_url"};
    Text t = {0};
    put_text(&t, "\n * graph ", m->graph->name);
    put_text(&t, " of ", m->domain);
    if (m->model_version)
        put_version(&t, m->model_version);
    put_text(&t, ", made by ", m->producer);
    put_text(&t, " ", m->producer_version);
    EACH_AT (prop, m->props)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (name_is(prop->key, keys[k])) {
                text_put(&t, "\n * %s:", keys[k]);
                put_text(&t, " ", prop->value);
            }
    return t.s;
}
