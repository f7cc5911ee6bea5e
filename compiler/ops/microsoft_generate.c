/* microsoft_generate.c - GreedySearch, Sampling, BeamSearch and WhisperBeamSearch of com.microsoft: a decoder, their
 * attribute, runs on the prompt, then in a loop, each time on the token before. */
#include "microsoft.h"
#include "passes/passes.h"

/* ---- what a search is to do -------------------------------------------------------------------------------------- */

/* The states of the loop, which the cache of each layer follows: tokens, (rows, room), and the last ones, (rows, 1), of
 * each row; of a greedy search, whether it has ended, and the generator of random numbers; of beams their scores, and
 * for each sample the texts that have ended, with scores and number. */
enum { TOKENS, LAST, ENDED, GENERATOR, GREEDY_STATES, SCORE = ENDED, TEXTS, TEXT_SCORES, FOUND, BEAM_STATES };

/* The cache is a tensor or two for each layer, and the last inputs and results of the decoder. */
typedef struct Generation {
    Node *n;
    Graph *decoder, *starter, *encoder;   /* starter: the decoder for the prompt; encoder: or NULL */
    Dim batch, beams, rows, prompt, room; /* rows: batch * beams; room: of a sequence */
    int64_t words;                        /* in the vocabulary */
    int past, caches, states;             /* inputs before the cache; tensors of the cache; states before it */
    bool greedy, samples, whole, begins;  /* whole: the decoder reads all tokens; begins: the encoder runs it first */
    Value *shortest, *penalty, *allowed, *first;                /* inputs, or NULL */
    Value *length_penalty, *processor, *temperature, *presence; /* presence: to be subtracted from the scores */
    Value *ids, *mask, *count; /* of the prompt: (rows, prompt); count: (rows, 1), its tokens that are no pads */
    Value **given;             /* with an encoder: the decoder's inputs, those that are the same in every turn */
    Value *parent;             /* of the last step: the row that each continues, or NULL: itself */
} Generation;

static bool is_read(const Node *n, int i) { return out(n, i) && out(n, i)->uses.n; }

static bool is_called(const Value *v, const char *name) { return v->name && !strcmp(v->name->s, name); }

/* Names of sizes in g hold for one run of g, neither for all nor for the model around it. */
static void forget_names(Graph *g)
{
    const Dim open = dim_symbol(symbol_by_name(name_bytes("?", 2))); /* as unspecified ones are read */
    EACH_NODE (m, g)
        EACH_OUT (v, m)
            for (int i = 0; v->desc && i < v->desc->shape.rank; i++)
                if (v->desc->dim_param[i]) {
                    v->desc->dim_param[i] = NULL;
                    v->desc->shape.dim[i] = open;
                }
}

/* Are the first of the values called so? */
static bool are_called(Node *n, const char *what, Value *const *v, int count, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (i >= count || !is_called(v[i], names[i]))
            return node_error(n, "%s %d is not %s", what, i, names[i]);
    return true;
}

/* Is v declared as float of `rank` dimensions, with numbers for those of the list? */
static bool is_declared(Node *n, const char *what, const Value *v, int rank, int a, int b)
{
    const TypeDesc *d = v->desc;
    return (d && d->form == TENSOR && d->elem == F32 && d->shape.rank == rank && dim_is_const(d->shape.dim[a]) &&
            dim_is_const(d->shape.dim[b])) ||
           node_error(n, "%s %s is not declared as float of %d dimensions, with numbers for dimensions %d and %d", what,
                      printable(v->name), rank, a, b);
}

/* Is g the decoder of a GPT-2? Its cache is a tensor per layer: (2, rows, heads, tokens, elements). */
static bool is_gpt(Node *n, const char *attr, const Graph *g)
{
    static const char *const in[] = {"input_ids", "position_ids", "attention_mask", "past_0", NULL}, *const out[] = {
                                                                                                         "logits",
                                                                                                         "present_0",
                                                                                                         NULL};
    if (!are_called(n, "decoder input", g->in.at, g->in.n, in) ||
        !are_called(n, "decoder output", g->out.at, g->out.n, out))
        return false;
    if (g->in.n != g->out.n + 2)
        return node_error(n, "%s has %d inputs and %d outputs; a layer has one of each, and there are 3 and 1 others",
                          attr, g->in.n, g->out.n);
    return is_declared(n, "decoder input", g->in.at[3], 5, 2, 4) &&
           is_declared(n, "decoder output", g->out.at[0], 3, 2, 2);
}

static bool read_gpt(Generation *s)
{
    Node *n = s->n;
    const Attr *first = node_attr(n, "init_decoder");
    s->starter = first ? first->g : s->decoder;
    forget_names(s->starter);
    s->past = 3;
    s->caches = s->decoder->out.n - 1;
    s->prompt = in_shape(n, 0).dim[1];
    return is_gpt(n, "decoder", s->decoder) && is_gpt(n, "init_decoder", s->starter) &&
           (s->starter->out.n == s->decoder->out.n ||
            node_error(n, "decoder and init_decoder have %d and %d layers", s->caches, s->starter->out.n - 1));
}

/* The encoder gives keys and values for the decoder; or it also runs the decoder on its prompt, and gives logits,
 * states and the decoder's own keys and values before these. */
static bool read_encoder(Generation *s, bool masked)
{
    static const char *const names[][4] = {{"encoder_input_ids", "encoder_attention_mask", "decoder_input_ids", NULL},
                                           {"encoder_input_ids", "decoder_input_ids", NULL}},
                             *const key[] = {"present_key_cross_0", NULL},
                             *const all[] = {"logits", "encoder_hidden_states", "present_key_self_0", NULL};
    Node *n = s->n;
    const Graph *g = s->encoder;
    s->begins = !masked || g->in.n == 3;
    const int inputs = 1 + masked + s->begins, outputs = s->begins ? 2 + 2 * s->caches : s->caches;
    if (g->in.n != inputs || g->out.n != outputs)
        return node_error(n, "encoder has %d inputs and %d outputs, not %d and %d", g->in.n, g->out.n, inputs, outputs);
    if (!s->begins && s->past > 2)
        return node_error(n, "the decoder reads states of the encoder, which it does not give");
    const char *const *in = names[!masked];
    return are_called(n, "encoder input", g->in.at, g->in.n, s->begins ? in : (const char *[]){in[0], in[1], NULL}) &&
           are_called(n, "encoder output", g->out.at, g->out.n, s->begins ? all : key);
}

/* The decoder of a T5 or, without a mask, of whisper: its cache is a key and a value per layer, (rows, heads, tokens,
 * elements); behind these are as many of the encoder's. */
static bool read_crossed(Generation *s, bool masked)
{
    static const char *const in[] = {"input_ids", "encoder_attention_mask", NULL}, *const plain[] = {"input_ids", NULL},
                             *const out[] = {"logits", "present_key_self_0", NULL};
    Node *n = s->n;
    const Attr *encoder = node_attr(n, "encoder");
    Graph *g = s->decoder, *e = s->encoder = encoder ? encoder->g : NULL;
    if (!e)
        return node_error(n, "it has no encoder");
    forget_names(e);
    if (!are_called(n, "decoder input", g->in.at, g->in.n, masked ? in : plain) ||
        !are_called(n, "decoder output", g->out.at, g->out.n, out))
        return false;
    s->past = 1 + masked;
    s->past += s->past < g->in.n && is_called(g->in.at[s->past], "encoder_hidden_states");
    s->caches = g->out.n - 1;
    if (s->caches % 2 || g->in.n != s->past + 2 * s->caches)
        return node_error(n, "decoder has %d inputs and %d outputs; a layer has 4 and 2, and there are %d and 1 others",
                          g->in.n, g->out.n, s->past);
    const TypeDesc *d = g->in.at[0]->desc;
    s->whole = !d || d->form != TENSOR || d->shape.rank != 2 || !dim_is(d->shape.dim[1], 1);
    return is_declared(n, "decoder output", g->out.at[1], 4, 1, 3) &&
           is_declared(n, "decoder output", g->out.at[0], 3, 2, 2) && read_encoder(s, masked);
}

enum { GPT, T5, WHISPER };

/* Reads the decoder, the encoder, and the length of the prompt. */
static bool read_graphs(Generation *s)
{
    Node *n = s->n;
    const int64_t type = attr_int(n, "model_type"), words = attr_int(n, "vocab_size");
    Shape x = in_shape(n, 0);
    Graph *g = s->decoder = node_attr(n, "decoder")->g;
    s->prompt = type == GPT && x.rank == 2 ? x.dim[1] : D(1);
    forget_names(g);
    if (type < GPT || type > WHISPER || (s->greedy && type != GPT))
        return node_error(n, "model_type %lld is not supported", (long long)type);
    if (x.rank != (type == WHISPER ? 3 : 2) || in_type(n, 0) != (type == WHISPER ? F32 : I32))
        return node_error(n, "input 0, %s %s, does not fit model_type %lld", type_onnx(in_type(n, 0)), shape_text(x),
                          (long long)type);
    if (type == WHISPER && in(n, 10)) {
        Shape given = in_shape(n, 10);
        if (given.rank != 2 || !require_dim(n, "samples with decoder_input_ids", given.dim[0], x.dim[0]))
            return given.rank == 2 || node_error(n, "decoder_input_ids are %s", shape_text(given));
        s->prompt = given.dim[1];
    } else if (type != GPT && attr_int(n, "decoder_start_token_id") < 0)
        return node_error(n, "it has no decoder_start_token_id");
    if (type == GPT ? !read_gpt(s) : !read_crossed(s, type == T5))
        return false;
    const int64_t logits = dim_value(g->out.at[0]->desc->shape.dim[2]);
    s->words = logits;
    /* where others pad the logits, ONNX Runtime reads them from wrong places */
    return words <= 0 || words == logits ||
           node_error(n, "vocab_size is %lld, and there are %lld logits", (long long)words, (long long)logits);
}

/* Reads the sizes and the inputs that change scores: from `at` on the penalty, tokens that are allowed, and those that
 * are at first; then a mask of the prompt. */
static bool read_search(Generation *s, int at)
{
    Node *n = s->n;
    for (int i = 1; i <= at; i++)
        if (!require_one(n, i))
            return false;
    if (!require_one(n, 11) || !require_one(n, 14) || !read_graphs(s))
        return false;
    Shape x = in_shape(n, 0), first = in_shape(n, at + 2);
    s->batch = x.dim[0];
    Dim beams = s->greedy ? D(1) : value_dim(n->in[3], 0);
    s->beams = dim_max(beams, D(1));
    s->rows = dim_mul(s->batch, s->beams);
    s->room = value_dim(n->in[1], 0);
    s->states = s->samples ? GREEDY_STATES : s->greedy ? GENERATOR : BEAM_STATES;
    s->shortest = in(n, 2);
    s->penalty = in(n, at);
    s->allowed = in(n, at + 1);
    s->first = in(n, at + 2);
    if (s->first && (first.rank != 2 || !require_dim(n, "samples with a mask", first.dim[0], s->batch)))
        return first.rank == 2 || node_error(n, "the mask of first tokens is %s", shape_text(first));
    return require_shape(n, at + 3, x) && require_dim(n, "num_beams", beams, s->beams) &&
           require_dim(n, "tokens of the prompt", s->prompt, dim_max(s->prompt, D(1))) &&
           require_dim(n, "max_length, which exceeds the prompt's", s->room,
                       dim_max(s->room, dim_add(s->prompt, D(1))));
}

/* ---- the runs of the decoder ------------------------------------------------------------------------------------- */

static Value *scalar(Node *at, const Generation *s, const char *attr)
{
    return make_scalar(at, I32, (double)(int32_t)attr_int(s->n, attr));
}

static Value *zeros(Node *n, Type t, int rank, Dim *dim)
{
    return make(n, "Expand", 2, make_scalar(n, t, 0), make_dims(n, rank, dim));
}

static Value *repeated(Node *n, const Generation *s, Value *v)
{
    return dim_is(s->beams, 1) ? v : make(n, "onnxcc.Repeat", 2, v, make_dims(n, 1, &s->beams));
}

/* Gives the graph these inputs; its results. */
static Value **feed(Graph *g, Value *const *in)
{
    for (int i = 0; i < g->in.n; i++)
        value_replace(g->in.at[i], in[i]);
    return memcpy(NEWS(Value *, g->out.n), g->out.at, sizeof *g->out.at * (size_t)g->out.n);
}

/* Copies the nodes of g before n. */
static Value **run_before(Node *n, Graph *g, Value *const *in)
{
    Graph *copy = graph_copy(g, n);
    Value **results = feed(copy, in);
    graph_set_outputs(copy, 0, 0, NULL);
    while (copy->first)
        node_move(copy->first, n);
    return results;
}

static Value *is_used(const Generation *s, Value *ids)
{
    Node *n = s->n;
    return make_cast(n, make(n, "Not", 1, make(n, "Equal", 2, ids, scalar(n, s, "pad_token_id"))), I32);
}

/* Pads are masked, unless there is a mask, and the positions of other tokens counted. */
static Value **run_gpt(Generation *s, Value *mask)
{
    Node *n = s->n;
    Value **in = NEWS(Value *, s->past + s->caches), *used = is_used(s, n->in[0]);
    Value *before = with_int(make(n, "CumSum", 2, used, make_int(n, 1)), "exclusive", 1);
    Value *count = make(n, "ReduceSum", 2, used, make_ints(n, 1, (int64_t[]){1}));
    in[0] = s->ids = repeated(n, s, n->in[0]);
    in[1] = repeated(n, s, make(n, "Mul", 2, before, used));
    in[2] = s->mask = repeated(n, s, mask ? mask : used);
    s->count = repeated(n, s, count);
    const Dim *past = s->starter->in.at[s->past]->desc->shape.dim;
    for (int i = 0; i < s->caches; i++)
        in[s->past + i] = zeros(n, F32, 5, (Dim[]){D(2), s->rows, past[2], D(0), past[4]});
    return run_before(n, s->starter, in);
}

/* Runs the encoder, and the decoder on its prompt. */
static Value **run_crossed(Generation *s, Value *mask)
{
    Node *n = s->n;
    const bool masked = attr_int(n, "model_type") == T5;
    Value *start = scalar(n, s, "decoder_start_token_id"), *ids = masked ? NULL : in(n, 10), *in[3] = {n->in[0]};
    Dim size[] = {s->batch, s->prompt}; /* require_dim has checked that given ids have it */
    ids = ids ? make_reshape(n, ids, 2, size) : make(n, "Expand", 2, start, make_dims(n, 2, size));
    s->ids = repeated(n, s, ids);
    s->given = NEWS(Value *, s->decoder->in.n);
    if (masked) { /* pads before the first token are masked */
        Value *seen = make(n, "CumSum", 2, is_used(s, n->in[0]), make_int(n, 1));
        in[1] = mask ? mask : make_cast(n, make(n, "Greater", 2, seen, make_scalar(n, I32, 0)), I32);
        s->given[1] = repeated(n, s, in[1]);
    }
    in[s->encoder->in.n - 1] = s->begins ? ids : in[1];
    Value **results = run_before(n, s->encoder, in);
    for (int i = 0; i < s->encoder->out.n; i++)
        results[i] = repeated(n, s, results[i]);
    if (s->past > 1 + masked)
        s->given[s->past - 1] = results[1];
    memcpy(s->given + s->past + s->caches, results + s->encoder->out.n - s->caches,
           sizeof *results * (size_t)s->caches);
    if (s->begins) {
        memmove(results + 1, results + 2, sizeof *results * (size_t)s->caches);
        return results;
    }
    Value **first = memcpy(NEWS(Value *, s->decoder->in.n), s->given, sizeof *first * (size_t)s->decoder->in.n);
    const Dim *past = s->decoder->out.at[1]->desc->shape.dim;
    first[0] = s->ids;
    for (int i = 0; i < s->caches; i++)
        first[s->past + i] = zeros(n, F32, 4, (Dim[]){s->rows, past[1], D(0), past[3]});
    return run_before(n, s->decoder, first);
}

/* The first `count` of v along an axis */
static Value *first_of(Node *n, Value *v, Value *count, int64_t axis)
{
    const int64_t from = 0;
    return make(n, "Slice", 4, v, make_ints(n, 1, &from), count, make_ints(n, 1, &axis));
}

/* What the decoder reads in turn `turn` of the loop, counted from 0; *length: the tokens with the last one. */
static Value **next_feed(Node *at, const Generation *s, Value *turn, Value *const *state, Value **length)
{
    Value **in = NEWS(Value *, s->decoder->in.n), *one = make_ints(at, 1, (int64_t[]){1});
    Value *past = make(at, "Add", 2, make_dims(at, 1, &s->prompt), turn);
    *length = make(at, "Add", 2, past, one);
    if (s->encoder)
        memcpy(in, s->given, sizeof *in * (size_t)s->decoder->in.n);
    else {
        Value *shape = make(at, "Concat", 2, make_dims(at, 1, &s->rows), make(at, "Add", 2, turn, one));
        Value *ones = make(at, "Expand", 2, make_scalar(at, I32, 1), with_int(shape, "axis", 0));
        in[1] = make(at, "Add", 2, s->count, make_cast(at, turn, I32));
        in[2] = with_int(make(at, "Concat", 2, s->mask, ones), "axis", 1);
    }
    in[0] = state[LAST];
    if (s->whole)
        in[0] = first_of(at, state[TOKENS], *length, 1);
    for (int i = 0; i < s->caches; i++)
        in[s->past + i] = make(at, "onnxcc.Recall", 2, state[s->states + i], past);
    return in;
}

/* ---- the next token ---------------------------------------------------------------------------------------------- */

static Value *with_timestamps(Node *at, const Generation *s, Value *scores, Value *tokens, Value *length)
{
    static const char *const words[] = {
        "eos_token_id",         "decoder_start_token_id", "beginning_timestamp_token_id", "no_timestamps_token_id",
        "start_of_lm_token_id", "translate_token_id",     "transcribe_token_id"};
    Value *y = make(at, "onnxcc.Timestamps", 4, scores, tokens, length, s->processor);
    for (int i = 0; i < 7; i++) /* BeamSearch has the first two */
        attr_set_int(y->def, words[i], node_attr(s->n, words[i]) ? attr_int(s->n, words[i]) : -1);
    return y;
}

/* The scores of the token after `length` ones, from the logits of the last of these. */
static Value *next_scores(Node *at, const Generation *s, Value *logits, Value *tokens, Value *length, bool starts)
{
    Value *x = with_int(make(at, "Gather", 2, logits, make_int(at, -1)), "axis", 1);
    x = s->greedy ? x : make(at, "LogSoftmax", 1, x);
    Value *y = make(at, "onnxcc.TokenScores", 7, x, tokens, length, s->shortest, s->penalty, s->allowed,
                    starts ? s->first : NULL);
    attr_set_int(y->def, "ngram", attr_int(s->n, "no_repeat_ngram_size"));
    with_int(y, "end", attr_int(s->n, "eos_token_id"));
    double heat = s->samples ? attr_float(s->n, "temperature") : 1;
    if (heat > 0 && heat != 1)
        y = make(at, "Div", 2, y, make_scalar(at, F32, heat));
    if (s->temperature) { /* only a positive one has an effect */
        Value *is_positive = make(at, "Greater", 2, s->temperature, make_scalar(at, F32, 0));
        y = make(at, "Div", 2, y, make(at, "Where", 3, is_positive, s->temperature, make_scalar(at, F32, 1)));
    }
    y = s->presence ? make(at, "Sub", 2, y, s->presence) : y;
    return s->processor ? with_timestamps(at, s, y, tokens, length) : y;
}

/* A token that is drawn from the likely ones */
static Value *draw(Node *at, const Generation *s, Value *scores, Value *const *old, Value **state)
{
    static const char *const attrs[] = {"min_tokens_to_keep", "custom"}, *const floats[] = {"top_p", "filter_value"};
    Node *top = make_node(at, "TopK", 2, (Value *[]){scores, make_ints(at, 1, &s->words)}, 2);
    attr_set_int(top, "largest", attr_int(s->n, "custom") != 0);
    Value *in[] = {scores, make(at, "Softmax", 1, top->out[0]), top->out[1], old[GENERATOR]};
    Node *y = make_node(at, "onnxcc.Sample", 4, in, 2);
    for (int i = 0; i < 2; i++) {
        attr_set_int(y, attrs[i], attr_int(s->n, attrs[i]));
        attr_set_float(y, floats[i], attr_float(s->n, floats[i]));
    }
    state[GENERATOR] = y->out[1];
    return y->out[0];
}

/* Each row continues with its best token, or a random one, and with pads when it has ended. */
static void choose_token(Node *at, const Generation *s, Value *scores, Value *length, Value *const *old, Value **state)
{
    Value *next = s->samples ? draw(at, s, scores, old, state)
                             : make_cast(at, with_int(make(at, "ArgMax", 1, scores), "axis", 1), I32);
    Value *is_end = make(at, "Equal", 2, next, scalar(at, s, "eos_token_id"));
    Value *room = make(at, "Squeeze", 1, make_dims(at, 1, &s->room));
    Value *place = make(at, "Range", 3, make_int(at, 0), room, make_int(at, 1));
    state[ENDED] = make(at, "Or", 2, old[ENDED], is_end);
    state[LAST] = make(at, "Where", 3, state[ENDED], scalar(at, s, "pad_token_id"), next);
    state[TOKENS] = make(at, "Where", 3, make(at, "Equal", 2, place, length), state[LAST], old[TOKENS]);
}

/* The beams of each sample continue with its best tokens; returns the scores. */
static Value *choose_beams(Node *at, Generation *s, Value *scores, Value *length, Value *const *old, Value **state)
{
    Dim many = dim_mul(s->beams, D(2));
    Value *all = make(at, "Add", 2, scores, make_reshape(at, old[SCORE], 2, (Dim[]){s->rows, D(1)}));
    Value *flat = make_reshape(at, all, 2, (Dim[]){s->batch, dim_mul(s->beams, D(s->words))});
    Node *top = make_node(at, "TopK", 2, (Value *[]){flat, make_dims(at, 1, &many)}, 2);
    Value *in[] = {top->out[0],      top->out[1],      old[TOKENS], old[LAST], old[SCORE],
                   old[TEXTS],       old[TEXT_SCORES], old[FOUND],  length,    make_ints(at, 1, &s->words),
                   s->length_penalty};
    Node *step = make_node(at, "onnxcc.BeamStep", 11, in, BEAM_STATES + 1);
    attr_set_int(step, "end", attr_int(s->n, "eos_token_id"));
    attr_set_int(step, "pad", attr_int(s->n, "pad_token_id"));
    attr_set_int(step, "early", attr_int(s->n, "early_stopping") == 1);
    memcpy(state, step->out, sizeof *state * BEAM_STATES);
    s->parent = step->out[BEAM_STATES];
    return make_reshape(at, all, 3, (Dim[]){s->batch, s->beams, D(s->words)});
}

/* Sets the states after a run of the decoder with these results, and one behind them: the scores of beams. */
static void choose(Node *at, Generation *s, Value *const *results, Value *length, Value *const *old, bool starts,
                   Value **state)
{
    Value *scores = next_scores(at, s, results[0], old[TOKENS], length, starts), **cache = state + s->states;
    s->parent = NULL;
    if (s->greedy)
        choose_token(at, s, scores, length, old, state);
    else
        cache[s->caches] = choose_beams(at, s, scores, length, old, state);
    for (int i = 0; i < s->caches; i++) {
        Value *v = results[1 + i];
        if (s->parent && !dim_is(s->beams, 1) && !(starts && s->begins)) /* then beams are still equal */
            v = with_int(make(at, "onnxcc.Gather", 2, v, s->parent), "axis", s->encoder ? 0 : 1);
        cache[i] = with_int(make(at, "onnxcc.Room", 3, v, make_dims(at, 1, &s->room), length), "axis", -2);
    }
}

/* Is there a row that has not ended, or a sample whose search is not over? */
static Value *goes_on(Node *at, const Generation *s, Value *const *state)
{
    Value *least = make(at, "ReduceMin", 1, s->greedy ? make_cast(at, state[ENDED], I32) : state[FOUND]);
    with_int(least, "keepdims", 0);
    Value *beams = make_cast(at, make(at, "Squeeze", 1, make_dims(at, 1, &s->beams)), I32);
    return make(at, s->greedy ? "Less" : "LessOrEqual", 2, least, beams);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* A node at the start or the end of g, to insert others before. */
static Node *position(const Node *n, Graph *g, Node *before)
{
    Node *at = node_new(g, "onnxcc.Start", 0, NULL, 0);
    at->source = n->source;
    node_insert(at, before);
    return at;
}

/* The states before the first token */
static void start_states(const Generation *s, Value **state)
{
    Node *n = s->n;
    Dim pads[] = {D(0), D(0), D(0), dim_sub(s->room, s->prompt)}, text[] = {s->batch, s->beams, s->room};
    state[TOKENS] = make(n, "Pad", 3, s->ids, make_dims(n, 4, pads), scalar(n, s, "pad_token_id"));
    state[LAST] = zeros(n, I32, 2, (Dim[]){s->rows, D(1)});
    if (s->greedy) {
        state[ENDED] = zeros(n, B8, 2, (Dim[]){s->rows, D(1)});
        if (s->samples)
            state[GENERATOR] = make_cast(n, in(n, 8) ? in(n, 8) : make_ints(n, 1, (int64_t[]){0}), I64);
        return;
    }
    /* All but one of the equal beams of a sample are out of the question. */
    Value *beams = make(n, "Squeeze", 1, make_dims(n, 1, &s->beams));
    Value *place = make(n, "Range", 3, make_int(n, 0), beams, make_int(n, 1));
    Value *score = make(n, "Where", 3, make(n, "Equal", 2, place, make_int(n, 0)), make_scalar(n, F32, 0),
                        make_scalar(n, F32, -1e9));
    score = make(n, "Expand", 2, score, make_dims(n, 2, text));
    state[SCORE] = make_reshape(n, score, 1, &s->rows);
    state[TEXTS] = zeros(n, I32, 3, text);
    state[TEXT_SCORES] = zeros(n, F32, 2, text);
    state[FOUND] = zeros(n, I32, 1, text);
}

/* Replaces the decoder by the loop over it: its results are the states, and the scores of beams in every turn. */
static Node *make_loop(Generation *s, Value *const *start, Value *go)
{
    Graph *g = s->decoder;
    const int states = s->states + s->caches;
    Dim turns = dim_sub(dim_sub(s->room, s->prompt), D(1));
    Value **in = NEWS(Value *, 2 + states), **now = NEWS(Value *, 2 + states), **next = NEWS(Value *, 2 + states),
          *length;
    memcpy(in + 2, start, sizeof *in * (size_t)states);
    in[0] = make_dims(s->n, 1, &turns);
    in[1] = go;
    for (int i = 0; i < 2 + states; i++)
        now[i] = value_new(g, i ? NULL : name("turn"));
    Node *at = position(s->n, g, g->first);
    Value **results = feed(g, next_feed(at, s, now[0], now + 2, &length));
    node_remove(at);
    at = position(s->n, g, NULL);
    choose(at, s, results, length, now + 2, false, next + 1);
    next[0] = goes_on(at, s, next + 1);
    node_remove(at);
    g->in.n = 0;
    for (int i = 0; i < 2 + states; i++)
        vec_push(&g->in, now[i]);
    graph_set_outputs(g, 0, 1 + states + !s->greedy, next);
    Node *loop = make_node(s->n, "Loop", 2 + states, in, states + !s->greedy);
    attr_set(loop, (Attr){.name = name("body"), .type = A_GRAPH, .g = g});
    g->owner = loop;
    return loop;
}

/* The probability of one token after the prompt, for each sample */
static Value *probability(const Generation *s, Value *logits, int64_t token)
{
    Node *n = s->n;
    Value *x = make(n, "Softmax", 1, with_int(make(n, "Gather", 2, logits, make_int(n, -1)), "axis", 1));
    x = with_int(make(n, "Gather", 2, x, make_int(n, token)), "axis", 1);
    x = make_reshape(n, x, 2, (Dim[]){s->batch, s->beams}); /* beams are still equal */
    return with_int(make(n, "Gather", 2, x, make_int(n, 0)), "axis", 1);
}

/* The loop after the run on the prompt; *scores: those of beams from it. */
static Node *search(Generation *s, Value *mask, Value **scores)
{
    Value **results = s->encoder ? run_crossed(s, mask) : run_gpt(s, mask);
    if (is_read(s->n, 4))
        replace_out(s->n, 4, probability(s, results[0], attr_int(s->n, "no_speech_token_id")));
    Value **before = NEWS(Value *, s->states), **start = NEWS(Value *, s->states + s->caches + 1);
    start_states(s, before);
    choose(s->n, s, results, make_dims(s->n, 1, &s->prompt), before, true, start);
    *scores = start[s->states + s->caches];
    /* After an encoder's token ONNX Runtime goes on even if the search is over. */
    return make_loop(s, start, s->begins ? make_scalar(s->n, B8, 1) : goes_on(s->n, s, start));
}

/* As in ONNX Runtime on a CPU, token 0 of the first row takes the penalties of all. */
static Value *presence_penalty(const Generation *s)
{
    Node *n = s->n;
    Value *sum = make_cast(n, make(n, "ReduceSum", 1, in(n, 7)), F32);
    Value *penalty = make(n, "Mul", 2, sum, make_scalar(n, F32, attr_float(n, "presence_penalty")));
    Dim pads[] = {D(0), D(0), dim_sub(s->rows, D(1)), D(s->words - 1)};
    return make(n, "Pad", 2, penalty, make_dims(n, 4, pads));
}

static bool read_sampling(Generation *s)
{
    Node *n = s->n;
    const int64_t keep = attr_int(n, "min_tokens_to_keep");
    if (is_read(n, 1))
        return node_error(n, "filtered_logits is not given, as by ONNX Runtime on a CPU");
    if (keep < 0 || keep >= s->words)
        return node_error(n, "min_tokens_to_keep is %lld, of %lld tokens", (long long)keep, (long long)s->words);
    if (!require_one(n, 8) || !require_shape(n, 7, shape_list(2, s->batch, D(s->words))))
        return false;
    if (in(n, 7) && attr_float(n, "presence_penalty") != 0)
        s->presence = presence_penalty(s);
    return true;
}

static void greedy_expand(Node *n)
{
    const bool samples = !strcmp(n->op->name, "Sampling");
    Generation s = {.n = n, .greedy = true, .samples = samples};
    Value *scores;
    if (!read_search(&s, 3) || (samples && !read_sampling(&s)))
        return;
    Node *loop = search(&s, in(n, 6), &scores);
    replace_out(n, 0, loop->out[TOKENS]);
    n->n_attr = 0; /* the decoder belongs to the loop now */
    expand_done(n);
}

static void beam_expand(Node *n)
{
    const bool whisper = attr_int(n, "model_type") == WHISPER;
    Generation s = {
        .n = n, .length_penalty = in(n, 5), .processor = whisper ? in(n, 11) : NULL, .temperature = in(n, 14)};
    const Attr *cross = node_attr(n, "decoder_output_cross_qk"), *silence = node_attr(n, "no_speech_token_id");
    const bool tells_silence = is_read(n, 4);
    if (is_read(n, 3) || (cross && cross->i)) {
        node_error(n, "cross_qk is not given, as by ONNX Runtime on a CPU");
        return;
    }
    if (tells_silence && (!silence || silence->i < 0)) {
        node_error(n, "non_speech_probs needs a no_speech_token_id");
        return;
    }
    if (!read_search(&s, 6))
        return;
    if (tells_silence && silence->i >= s.words) {
        node_error(n, "no_speech_token_id is %lld, of %lld tokens", (long long)silence->i, (long long)s.words);
        return;
    }
    Dim given = value_dim(n->in[4], 0), many = dim_min(dim_max(given, D(1)), s.beams);
    Value *first;
    if (!require_dim(n, "num_return_sequences", given, many))
        return;
    Node *loop = search(&s, in(n, 9), &first);
    Value **state = loop->out;
    Value *ends[] = {state[TOKENS], state[SCORE], state[TEXTS], state[TEXT_SCORES], state[FOUND], s.length_penalty};
    Node *end = make_node(n, "onnxcc.BeamEnd", 6, ends, 2);
    attr_set_int(end, "pad", attr_int(n, "pad_token_id"));
    Value *returned = make_dims(n, 1, &many);
    replace_out(n, 0, first_of(n, end->out[0], returned, 1));
    if (out(n, 1))
        replace_out(n, 1, first_of(n, end->out[1], returned, 1));
    if (out(n, 2)) {
        Value *y = make(n, "Unsqueeze", 2, first, make_ints(n, 1, (int64_t[]){0}));
        y = with_int(make(n, "Concat", 2, y, state[s.states + s.caches]), "axis", 0);
        Dim length = dim_sub(s.room, s.prompt);
        replace_out(n, 2, with_int(make(n, "onnxcc.Room", 2, y, make_dims(n, 1, &length)), "axis", 0));
    }
    n->n_attr = 0; /* the decoder belongs to the loop now */
    expand_done(n);
}

/* clang-format off */
#define SEARCH(type) "eos_token_id:int pad_token_id:int decoder:graph init_decoder:graph? encoder:graph? "             \
    "no_repeat_ngram_size:int=0 vocab_size:int=-1 decoder_start_token_id:int=-1 model_type:int=" type

static const Op search_ops[] = {
    {"GreedySearch", 1,
     "input_ids:I max_length:I min_length?:I repetition_penalty?:T vocab_mask?:I prefix_vocab_mask?:I "
     "attention_mask?:I -> sequences:I", "T=float I=int32", SEARCH("0"), .expand = greedy_expand, MICROSOFT},
    {"Sampling", 1,
     "input_ids:I max_length:I min_length?:I repetition_penalty?:T vocab_mask?:I prefix_vocab_mask?:I "
     "attention_mask?:I presence_mask?:I seed?:I -> sequences:I filtered_logits?:T", "T=float I=int32",
     SEARCH("0") " min_tokens_to_keep:int=0 temperature:float=1 filter_value:float=-1e20 custom:int=0 "
     "presence_penalty:float=0 top_p:float=0", .expand = greedy_expand,
     .limit = "no filtered_logits", MICROSOFT},
    {"BeamSearch", 1,
     "input_ids:F max_length:I min_length?:I num_beams:I num_return_sequences:I length_penalty?:T "
     "repetition_penalty?:T vocab_mask?:M prefix_vocab_mask?:M attention_mask?:I decoder_input_ids?:I "
     "logits_processor?:I -> sequences:I sequences_scores?:T scores?:T", "T=float F=int32|float I=int32 M=int32",
     SEARCH("0") " early_stopping:int=0", .expand = beam_expand, MICROSOFT},
    {"WhisperBeamSearch", 1,
     "input_ids:F max_length:I min_length?:I num_beams:I num_return_sequences:I length_penalty?:T "
     "repetition_penalty?:T vocab_mask?:M prefix_vocab_mask?:M attention_mask?:I decoder_input_ids?:I "
     "logits_processor?:I cross_qk_layer_head?:I extra_decoding_ids?:I temperature?:T -> sequences:I "
     "sequences_scores?:T scores?:T cross_qk?:V non_speech_probs?:T", "T=float F=float I=int32 M=int32 V=float",
     SEARCH("2") " early_stopping:int=0 decoder_output_cross_qk:int? translate_token_id:int? no_speech_token_id:int? "
     "transcribe_token_id:int? start_of_lm_token_id:int? no_timestamps_token_id:int? "
     "beginning_timestamp_token_id:int?", .expand = beam_expand,
     .limit = "no cross_qk", MICROSOFT},
};
OPS(search_ops);
