/* probe.c - probes: separate sessions that infer the model before it is compiled. They find the types of --from, the
 * sizes of dimensions that cannot have the N of --all-dims=N, and which tensors inside of nodes can be outputs (--tap).
 * A probe may fail; it leaves nothing but its result. */
#include "probe.h"

#include <stdlib.h>

#include "base/options.h"
#include "base/process.h"
#include "ir/opset.h"
#include "passes/passes.h"
#include "passes/taps.h"
#include "read/read.h"

/* Begins a probe: reads the model, with the same options but without taps. */
static Model *begin_probe(const Options *options)
{
    *opt() = *options;
    memset(&opt()->taps, 0, sizeof opt()->taps);
    opt()->dump = NULL;
    return parse_model(opt()->model);
}

/* ---- types of --from --------------------------------------------------------------------------------------------- */

/* The type of a tensor of --from that the model does not declare. `param` is from malloc, as it outlives the probe. */
typedef struct Probe {
    const Options *options;
    void (*infer)(void *);
    const char *tensor;
    Type type;
    int rank;
    int64_t dim[MAX_RANK]; /* -1: not a number */
    char *param[MAX_RANK]; /* name of a dimension; NULL: none */
} Probe;

static void drop_message(const Message *m, void *unused)
{
    (void)m;
    (void)unused;
}

/* Infers the model up to the tensor. If that fails, what is known by then may be enough. */
static void probe(void *arg)
{
    Probe *p = arg;
    say_to(drop_message, NULL);
    Model *m = begin_probe(p->options);
    memset(&opt()->froms, 0, sizeof opt()->froms);
    memset(&opt()->untils, 0, sizeof opt()->untils);
    vec_push(&opt()->untils, p->tensor);
    Value *v = map_get(&m->graph->scope, name(p->tensor));
    v->pinned = true;
    error_catch(p->infer, m);
    v = m->graph->out.n == 1 ? m->graph->out.at[0] : NULL;
    if (!v || v->form != TENSOR || !v->type || !v->shape || v->shape->rank < 0)
        return;
    p->type = v->type;
    p->rank = v->shape->rank;
    for (int k = 0; k < p->rank; k++) {
        const Dim d = v->shape->dim[k];
        const Symbol *s = symbol_of(d);
        p->dim[k] = dim_is_const(d) ? dim_value(d) : -1;
        p->param[k] = s && s->user ? strdup(s->name->s) : NULL;
    }
}

static void declare(Value *v, Probe *p)
{
    TypeDesc *d = NEW(TypeDesc);
    d->form = TENSOR;
    d->elem = p->type;
    d->shape.rank = p->rank;
    for (int k = 0; k < p->rank; k++) {
        d->dim_param[k] = p->param[k] ? name(p->param[k]) : NULL;
        d->shape.dim[k] = p->dim[k] >= 0
                              ? D(p->dim[k])
                              : dim_symbol(symbol_by_name(p->param[k] ? d->dim_param[k] : name_bytes("?", 2)));
        free(p->param[k]);
    }
    v->desc = d;
}

/* Declares the tensors of --from that the model does not. */
void find_types(Model *m, void (*infer)(void *))
{
    EACH_OF (tensor, opt()->froms) {
        Value *v = cut_unknown(m, tensor);
        Probe p = {.options = opt(), .infer = infer, .tensor = tensor};
        if (v && opt()->on_disk && process_run(probe, &p, false) == 0 && p.type)
            declare(v, &p);
    }
}

/* ---- sizes that --all-dims cannot give --------------------------------------------------------------------------- */

/* The search for the sizes of those dimensions that cannot be the N of --all-dims=N, since a window would not fit, or
 * since the model has a number for them. */
typedef struct SizeProbe {
    const Options *options;
    void (*infer)(void *);
    bool open, good; /* open: without --all-dims; good: the model was inferred */
    NamedSize *dim;
    int n;
} SizeProbe;

static void probe_sizes(void *arg)
{
    SizeProbe *p = arg;
    Sizes dims = {0};
    const int64_t first = p->options->all_dims.high;
    say_to(drop_message, NULL);
    Model *m = begin_probe(p->options);
    memset(&opt()->dims, 0, sizeof opt()->dims);
    EACH_AT (o, p->options->dims)
        vec_push(&opt()->dims, *o);
    for (int i = 0; i < p->n; i++)
        vec_push(&opt()->dims, ((struct DimOption){p->dim[i].dim, p->dim[i].size, p->dim[i].size, false}));
    if (p->open)
        memset(&opt()->all_dims, 0, sizeof opt()->all_dims);
    find_types(m, p->infer);
    p->good = !error_catch(p->infer, m);
    if (!p->open)
        return;
    bounds_suggested(m, first, &dims);
    p->dim = calloc((size_t)dims.n + 1, sizeof *p->dim);
    for (; p->dim && p->n < dims.n; p->n++) {
        p->dim[p->n] = (NamedSize){strdup(dims.at[p->n].dim), dims.at[p->n].size};
        if (!p->dim[p->n].dim)
            break;
    }
}

static bool try_sizes(SizeProbe *p, bool open)
{
    p->open = open;
    p->good = false;
    return process_run(probe_sizes, p, false) == 0 && p->good;
}

/* Is a dimension of an input open, other than its first, which is usually a batch of any size? */
static bool has_open_dims(const Model *m)
{
    EACH_OF (v, m->graph->in)
        for (int k = 1; v->desc && v->desc->form == TENSOR && k < v->desc->shape.rank; k++)
            if (!dim_is_const(v->desc->shape.dim[k]))
                return true;
    return false;
}

static void take_sizes(const SizeProbe *p)
{
    Text taken = {0};
    for (int i = 0; i < p->n; i++) {
        const char *const dim = name(p->dim[i].dim)->s;
        const int64_t size = p->dim[i].size;
        vec_push(&opt()->dims, ((struct DimOption){dim, size, size, false}));
        text_put(&taken, " --dim %s", printable(name_format("%s=%lld", option_word(dim), (long long)size)));
    }
    warn_at("", "ARG-16", "not every open dimension can be %lld; taken instead:%s", (long long)opt()->all_dims.high,
            taken.s);
    note_help("give the size that you need by --dim or --shape");
}

/* If some open dimensions cannot be the N of --all-dims=N: adds a size that they can have to the options, and warns. */
void find_sizes(const Model *m, void (*infer)(void *))
{
    SizeProbe p = {.options = opt(), .infer = infer};
    const struct DimOption *all = &opt()->all_dims;
    if (!opt()->on_disk || !all->name || all->low != all->high || !has_open_dims(m) || try_sizes(&p, false))
        return;
    try_sizes(&p, true);
    if (p.n && try_sizes(&p, false))
        take_sizes(&p);
    for (int i = 0; i < p.n; i++)
        free((char *)(uintptr_t)p.dim[i].dim);
    free(p.dim);
}

/* ---- taps inside of nodes ---------------------------------------------------------------------------------------- */

/* Probes that list the tensors inside of nodes, and probes that infer the model with some of them as outputs. */
typedef struct TapProbe {
    const Options *options;
    void (*infer)(void *);
    char **path; /* of all tensors; NULL: not listed yet */
    int n, from, to, tries;
    /* Given: the type of the last value if that is to be the output, rather than all values stacked. Set: the type if
     * only the last value can be one. Else NO_TYPE. */
    Type type;
    int rank;
    bool named, good; /* named: the user named them, so errors are reported when the model is compiled */
    char why[1000];   /* the first error */
} TapProbe;

static void keep_message(const Message *message, void *probe)
{
    TapProbe *p = probe;
    if (message->severity == SAY_ERROR && !*p->why)
        snprintf(p->why, sizeof p->why, "%.*s", (int)strcspn(message->text, "\n"), message->text);
}

static void list_taps(TapProbe *p, Model *m)
{
    Names all = {0};
    resolve_ops(m);
    check_model(m);
    stop_on_errors();
    taps_inside(m, &all);
    p->path = calloc((size_t)all.n + 1, sizeof *p->path);
    for (; p->path && p->n < all.n; p->n++)
        if (!(p->path[p->n] = strdup(all.at[p->n]->s)))
            break;
}

static void probe_taps(void *arg)
{
    TapProbe *p = arg;
    say_to(keep_message, p);
    Model *m = begin_probe(p->options);
    memset(&opt()->inner, 0, sizeof opt()->inner);
    if (!p->path) {
        list_taps(p, m);
        return;
    }
    for (int i = p->from; i < p->to; i++)
        vec_push(&opt()->inner, ((struct InnerTap){p->path[i], (int)p->type, p->rank}));
    find_types(m, p->infer);
    p->good = !error_catch(p->infer, m);
    p->type = taps_varying(&p->rank);
}

/* Makes the tensors [from, to) outputs if the model can be inferred so; with a type and a rank: their last values. */
static bool try_taps(TapProbe *p, int from, int to, Type type, int rank)
{
    p->from = from;
    p->to = to;
    p->type = type;
    p->rank = rank;
    p->good = false;
    if (process_run(probe_taps, p, false) || !p->good)
        return false;
    for (int i = from; i < to; i++)
        vec_push(&opt()->inner, ((struct InnerTap){name(p->path[i])->s, (int)type, rank}));
    return true;
}

static void leave_out(const TapProbe *p, int i)
{
    const char *const tap = printable(name(p->path[i])), *const own = text_format("--tap %s: ", tap);
    const bool named = !strncmp(p->why, own, strlen(own));
    warn_at("", "ARG-15", "--tap all leaves out %s: %s", tap,
            *p->why ? p->why + (named ? strlen(own) : 0) : "it cannot be an output");
}

/* Makes outputs of those of the tensors [from, to) that can be: of all, or by halves. */
static void choose_taps(TapProbe *p, int from, int to)
{
    enum { MAX_TRIES = 500 };
    *p->why = 0;
    if (from == to || (p->tries++ < MAX_TRIES && try_taps(p, from, to, NO_TYPE, 0)))
        return;
    const Type type = p->type;
    const int rank = p->rank;
    if (p->tries == 1 && !try_taps(p, from, from, NO_TYPE, 0))
        return; /* without taps there is an error, too */
    if (to - from > 1) {
        choose_taps(p, from, from + (to - from) / 2);
        choose_taps(p, from + (to - from) / 2, to);
    } else if (!type || opt()->loose_taps || !try_taps(p, from, to, type, rank)) {
        if (!p->named)
            leave_out(p, from);
    }
}

static void free_paths(TapProbe *p)
{
    for (int i = 0; i < p->n; i++)
        free(p->path[i]);
    free(p->path);
}

/* Lists the taps that are no tensors of the main graph; with loose taps the option keeps only the others, so that it is
 * no error if these cannot be outputs. */
static void list_named(TapProbe *p, const Model *m)
{
    int kept = 0;
    p->path = calloc((size_t)opt()->taps.n + 1, sizeof *p->path);
    for (int i = 0; p->path && i < opt()->taps.n; i++) {
        const char *const tap = opt()->taps.at[i];
        const bool inner = !map_get(&m->graph->scope, name(tap)) && !taps_are_all(m, tap);
        if (inner && (p->path[p->n] = strdup(tap)) != NULL)
            p->n++;
        if (!inner || !opt()->loose_taps)
            opt()->taps.at[kept++] = tap;
    }
    opt()->taps.n = kept;
}

/* Sets the option `inner`: tensors inside of nodes that taps ask for, and how they can be outputs. */
void find_taps(const Model *m, void (*infer)(void *))
{
    TapProbe named = {.options = opt(), .infer = infer, .named = true}, inside = {.options = opt(), .infer = infer};
    bool all = false;
    if (!opt()->on_disk || !opt()->taps.n)
        return;
    for (int i = 0; i < opt()->taps.n; i++)
        all |= taps_are_all(m, opt()->taps.at[i]);
    list_named(&named, m);
    choose_taps(&named, 0, named.n);
    if (all && !opt()->outer_taps && !process_run(probe_taps, &inside, false))
        choose_taps(&inside, 0, inside.n);
    free_paths(&named);
    free_paths(&inside);
}
