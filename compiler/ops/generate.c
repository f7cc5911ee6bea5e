/* generate.c - GreedySearch and BeamSearch of com.microsoft: a decoder, an attribute, runs on the prompt, then in a loop,
 * each time on the token before. */
#include "generate.h"
#include "ir/call.h"
#include "microsoft.h"
#include "passes/passes.h"

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* The scores that are left of x for the next token */
static void token_scores_infer(Node *n)
{
    Shape x = in_shape(n, 0), first = x;
    if (x.rank != 2) {
        node_error(n, "the logits of the last token are %s, not (batch, vocabulary)", shape_text(x));
        return;
    }
    first.dim[0] = in(n, 6) ? in_shape(n, 6).dim[0] : D(0);
    if (require_dim(n, "rows of logits", x.dim[0], in_shape(n, 1).dim[0]) &&
        require_shape(n, 5, shape_list(1, x.dim[1])) && require_shape(n, 6, first))
        infer_same(n);
}

static void token_scores_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    Dim length;
    if (in_dims(n, 2, &length, 1) == 1)
        BIND_ARGS(n, token_scores, F32, NO_TYPE,
                  ARGS(in(n, 0), in(n, 1), in(n, 3), in(n, 4), in(n, 5), in(n, 6), out(n, 0)), .rows = x.dim[0],
                  .vocabulary = x.dim[1], .room = in_shape(n, 1).dim[1], .length = length,
                  .beams = in(n, 6) ? dim_div(x.dim[0], in_shape(n, 6).dim[0]) : D(1),
                  .ngram = D(attr_int(n, "ngram")), .end = D(attr_int(n, "end")));
}

/* The results are the states of a beam search after a token, and the rows that each beam continues. */
static void beam_step_infer(Node *n)
{
    for (int i = 0; i < 6; i++)
        set_out(n, i, in_type(n, 2 + i), in_shape(n, 2 + i));
    set_out(n, 6, I64, in_shape(n, 4));
}

static void beam_step_bind(Node *n)
{
    Shape texts = in_shape(n, 5);
    Dim length, vocabulary;
    if (in_dims(n, 8, &length, 1) == 1 && in_dims(n, 9, &vocabulary, 1) == 1)
        BIND_ARGS(n, beam_step, F32, NO_TYPE,
                  ARGS(in(n, 0), in(n, 1), in(n, 2), in(n, 5), in(n, 6), in(n, 7), in(n, 10), out(n, 2), out(n, 1),
                       out(n, 6), out(n, 0), out(n, 3), out(n, 4), out(n, 5)),
                  .batch = texts.dim[0], .beams = texts.dim[1], .vocabulary = vocabulary, .room = texts.dim[2],
                  .length = length, .end = D(attr_int(n, "end")), .pad = D(attr_int(n, "pad")),
                  .early = D(attr_int(n, "early")));
}

static void beam_end_infer(Node *n)
{
    for (int i = 0; i < 2; i++)
        set_out(n, i, in_type(n, 2 + i), in_shape(n, 2 + i));
}

static void beam_end_bind(Node *n)
{
    Shape texts = in_shape(n, 2);
    BIND_ARGS(n, beam_end, F32, NO_TYPE,
              ARGS(in(n, 0), in(n, 1), in(n, 2), in(n, 3), in(n, 4), in(n, 5), out(n, 0), out(n, 1)),
              .batch = texts.dim[0], .beams = texts.dim[1], .room = texts.dim[2], .length = texts.dim[2],
              .pad = D(attr_int(n, "pad")));
}

/* ---- the cache of a layer: room for all tokens along the last axis but one, of which the first are there --------- */

static void cache_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    const int axis = x.rank - 2;
    Dim length, room, pads[2 * MAX_RANK];
    if (axis < 0) {
        node_error(n, "the keys and values of a layer are %s", shape_text(x));
        return;
    }
    if (in_dims(n, 1, &length, 1) != 1 || in_dims(n, 2, &room, 1) != 1 ||
        !require_dim(n, "tokens in the cache of a layer", x.dim[axis], length))
        return;
    for (int i = 0; i < 2 * x.rank; i++)
        pads[i] = D(0);
    pads[x.rank + axis] = dim_sub(room, x.dim[axis]);
    expand_to(n, make(n, "Pad", 2, in(n, 0), make_dims(n, 2 * x.rank, pads)));
}

static void recall_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    const int64_t axis = x.rank - 2, from = 0;
    Dim *length = &x.dim[axis];
    if (in_dims(n, 1, length, 1) != 1)
        return;
    Value *y = make(n, "Slice", 4, in(n, 0), make_ints(n, 1, &from), make_dims(n, 1, length), make_ints(n, 1, &axis));
    expand_to(n, make_reshape(n, y, x.rank, x.dim));
}

/* Every row of x as often as there are beams */
static void repeat_expand(Node *n)
{
    Shape x = in_shape(n, 0), y = x;
    Dim beams, many[MAX_RANK + 1];
    if (in_dims(n, 1, &beams, 1) != 1)
        return;
    if (!x.rank || x.rank == MAX_RANK) {
        node_error(n, "%s cannot be repeated for each beam", shape_text(x));
        return;
    }
    for (int i = 0; i < x.rank; i++)
        many[i + (i > 0)] = x.dim[i];
    many[1] = D(1);
    Value *v = make_reshape(n, in(n, 0), x.rank + 1, many);
    many[1] = beams;
    y.dim[0] = dim_mul(x.dim[0], beams);
    expand_to(n, make_reshape(n, make(n, "Expand", 2, v, make_dims(n, x.rank + 1, many)), y.rank, y.dim));
}

/* ---- what a search is to do -------------------------------------------------------------------------------------- */

enum {
    PAST = 3,
    PRESENT = 1, /* inputs and outputs of a decoder before the cache */
};

/* The states of the loop, which the cache of each layer follows: tokens, (rows, room), and the last ones, (rows, 1), of
 * each row; of a greedy search, whether it has ended; of beams their scores, and for each sample the texts that have
 * ended, with scores and number. */
enum { TOKENS, LAST, ENDED, GREEDY_STATES, SCORE = ENDED, TEXTS, TEXT_SCORES, FOUND, BEAM_STATES };

typedef struct Search {
    Node *n;
    Graph *decoder, *starter;             /* starter: the decoder for the prompt */
    Dim batch, beams, rows, prompt, room; /* rows: batch * beams; room: of a sequence */
    int layers, states;                   /* states: those before the cache */
    bool greedy;
    Value *shortest, *penalty, *allowed, *first, *length_penalty; /* inputs, or NULL */
    Value *ids, *mask, *position, *count; /* what the decoder reads of the prompt: (rows, prompt); count: (rows, 1) */
    Value *parent;                        /* of the last step: the row that each continues, or NULL: itself */
} Search;

static bool is_called(const Value *v, const char *name) { return v->name && !strcmp(v->name->s, name); }

/* Is g the decoder of a GPT-2: input_ids, position_ids, attention_mask, past_I -> logits, present_I? */
static bool is_decoder(Node *n, const char *attr, const Graph *g)
{
    static const char *const in_names[] = {"input_ids", "position_ids", "attention_mask", "past_0"},
                             *const out_names[] = {"logits", "present_0"};
    const int layers = g->out.n - PRESENT;
    if (layers < 1 || g->in.n != layers + PAST)
        return node_error(n, "%s has %d inputs and %d outputs, not %d and %d, and a past and a present for each layer",
                          attr, g->in.n, g->out.n, PAST, PRESENT);
    for (int i = 0; i <= PAST; i++)
        if (!is_called(g->in.at[i], in_names[i]))
            return node_error(n, "input %d of %s is not %s", i, attr, in_names[i]);
    for (int i = 0; i <= PRESENT; i++)
        if (!is_called(g->out.at[i], out_names[i]))
            return node_error(n, "output %d of %s is not %s", i, attr, out_names[i]);
    for (int i = PAST; i < g->in.n; i++) {
        const TypeDesc *d = g->in.at[i]->desc;
        if (!d || d->form != TENSOR || d->elem != F32 || d->shape.rank != 5 || !dim_is(d->shape.dim[0], 2) ||
            !dim_is_const(d->shape.dim[2]) || !dim_is_const(d->shape.dim[4]))
            return node_error(n, "input %d of %s is not declared as float (2, batch, heads, past, size), with numbers "
                                 "of heads and elements", i, attr);
    }
    return true;
}

static bool read_decoders(Search *s)
{
    const Attr *first = node_attr(s->n, "init_decoder");
    s->decoder = node_attr(s->n, "decoder")->g;
    s->starter = first ? first->g : s->decoder;
    s->layers = s->decoder->out.n - PRESENT;
    if (!is_decoder(s->n, "decoder", s->decoder) || (first && !is_decoder(s->n, "init_decoder", s->starter)))
        return false;
    return s->starter->out.n == s->decoder->out.n || node_error(s->n, "decoder and init_decoder differ in their layers");
}

/* Is d from low to high? */
static bool require_within(Node *n, const char *what, Dim d, Dim low, Dim high)
{
    return require_dim(n, what, dim_max(d, low), d) && require_dim(n, what, dim_min(d, high), d);
}

/* Reads the sizes and the inputs from `scores` on, which change the scores: penalty, allowed, first; then a mask. */
static bool read_search(Search *s, int scores)
{
    Node *n = s->n;
    Shape ids = in_shape(n, 0);
    if (attr_int(n, "model_type") != 0)
        return node_error(n, "model_type %lld is not supported", (long long)attr_int(n, "model_type"));
    if (ids.rank != 2)
        return node_error(n, "the prompt must have 2 dimensions, not %s", shape_text(ids));
    for (int i = 1; i <= scores; i++)
        if (!require_one(n, i))
            return false;
    s->batch = ids.dim[0];
    s->beams = s->greedy ? D(1) : value_dim(n->in[3], 0);
    s->rows = dim_mul(s->batch, s->beams);
    s->prompt = ids.dim[1];
    s->room = value_dim(n->in[1], 0);
    s->states = s->greedy ? GREEDY_STATES : BEAM_STATES;
    s->shortest = in(n, 2);
    s->penalty = in(n, scores);
    s->allowed = in(n, scores + 1);
    s->first = in(n, scores + 2);
    Shape first = in_shape(n, scores + 2);
    if (s->first && (first.rank != 2 || !require_dim(n, "samples with a mask", first.dim[0], s->batch)))
        return first.rank == 2 || node_error(n, "the mask of first tokens is %s", shape_text(first));
    return require_shape(n, scores + 3, ids) && read_decoders(s) &&
           require_dim(n, "tokens of the prompt", dim_max(s->prompt, D(1)), s->prompt) &&
           require_dim(n, "max_length, more than the prompt has", dim_max(s->room, dim_add(s->prompt, D(1))), s->room);
}

/* ---- the runs of the decoder ------------------------------------------------------------------------------------- */

static Value *scalar(Node *at, const Search *s, const char *attr)
{
    return make_scalar(at, I32, (double)(int32_t)attr_int(s->n, attr));
}

static Value *zeros(Node *n, Type t, int rank, Dim *dim)
{
    return make(n, "Expand", 2, make_scalar(n, t, 0), make_dims(n, rank, dim));
}

static Value *repeated(Node *n, const Search *s, Value *v)
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

/* Pads are masked, unless there is a mask, and the positions of other tokens counted. */
static Value **run_prompt(Search *s, Value *mask)
{
    Node *n = s->n;
    Value **in = NEWS(Value *, PAST + s->layers), *ids = n->in[0];
    Value *used = make_cast(n, make(n, "Not", 1, make(n, "Equal", 2, ids, scalar(n, s, "pad_token_id"))), I32);
    Value *before = with_int(make(n, "CumSum", 2, used, make_int(n, 1)), "exclusive", 1);
    Value *count = make(n, "ReduceSum", 2, used, make_ints(n, 1, (int64_t[]){1}));
    in[0] = s->ids = repeated(n, s, ids);
    in[1] = repeated(n, s, make(n, "Mul", 2, before, used));
    in[2] = s->mask = repeated(n, s, mask ? mask : used);
    s->count = repeated(n, s, count);
    for (int i = 0; i < s->layers; i++) {
        Shape x = s->starter->in.at[PAST + i]->desc->shape;
        in[PAST + i] = zeros(n, F32, 5, (Dim[]){D(2), s->rows, x.dim[2], D(0), x.dim[4]});
    }
    return run_before(n, s->starter, in);
}

/* What the decoder reads in turn `turn` of the loop, counted from 0; *length: the tokens with the last one. */
static Value **next_feed(Node *at, const Search *s, Value *turn, Value *const *state, Value **length)
{
    Value **in = NEWS(Value *, PAST + s->layers), *one = make_ints(at, 1, (int64_t[]){1});
    Value *past = make(at, "Add", 2, make_dims(at, 1, &s->prompt), turn);
    Value *shape = make(at, "Concat", 2, make_dims(at, 1, &s->rows), make(at, "Add", 2, turn, one));
    Value *ones = make(at, "Expand", 2, make_scalar(at, I32, 1), with_int(shape, "axis", 0));
    in[0] = state[LAST];
    in[1] = make(at, "Add", 2, s->count, make_cast(at, turn, I32));
    in[2] = with_int(make(at, "Concat", 2, s->mask, ones), "axis", 1);
    for (int i = 0; i < s->layers; i++)
        in[PAST + i] = make(at, "onnxcc.Recall", 2, state[s->states + i], past);
    *length = make(at, "Add", 2, past, one);
    return in;
}

/* ---- the next token ---------------------------------------------------------------------------------------------- */

/* The scores of the token after `length` ones, from the logits of the last of these. */
static Value *next_scores(Node *at, const Search *s, Value *logits, Value *tokens, Value *length, bool starts)
{
    Value *x = with_int(make(at, "Gather", 2, logits, make_int(at, -1)), "axis", 1);
    int64_t words = attr_int(s->n, "vocab_size");
    if (words > 0) { /* the others pad the logits */
        int64_t from = 0, axis = 1;
        x = make(at, "Slice", 4, x, make_ints(at, 1, &from), make_ints(at, 1, &words), make_ints(at, 1, &axis));
    }
    x = s->greedy ? x : make(at, "LogSoftmax", 1, x);
    Value *y = make(at, "onnxcc.TokenScores", 7, x, tokens, length, s->shortest, s->penalty, s->allowed,
                    starts ? s->first : NULL);
    attr_set_int(y->def, "ngram", attr_int(s->n, "no_repeat_ngram_size"));
    return with_int(y, "end", attr_int(s->n, "eos_token_id"));
}

/* Each row continues with its best token, and with pads when it has ended. */
static void choose_best(Node *at, const Search *s, Value *scores, Value *length, Value *const *old, Value **state)
{
    Value *best = make_cast(at, with_int(make(at, "ArgMax", 1, scores), "axis", 1), I32);
    Value *is_end = make(at, "Equal", 2, best, scalar(at, s, "eos_token_id"));
    Value *room = make(at, "Squeeze", 1, make_dims(at, 1, &s->room));
    Value *place = make(at, "Range", 3, make_int(at, 0), room, make_int(at, 1));
    state[ENDED] = make(at, "Or", 2, old[ENDED], is_end);
    state[LAST] = make(at, "Where", 3, state[ENDED], scalar(at, s, "pad_token_id"), best);
    state[TOKENS] = make(at, "Where", 3, make(at, "Equal", 2, place, length), state[LAST], old[TOKENS]);
}

/* The beams of each sample continue with its best tokens; returns the scores. */
static Value *choose_beams(Node *at, Search *s, Value *scores, Value *length, Value *const *old, Value **state)
{
    Dim many = dim_mul(s->beams, D(2));
    Value *words = with_int(with_int(make(at, "Shape", 1, scores), "start", 1), "end", 2);
    Value *one = make_ints(at, 1, (int64_t[]){-1}), *rows = make_dims(at, 2, (Dim[]){s->rows, D(1)});
    Value *shape = make(at, "Concat", 3, make_dims(at, 1, &s->batch), make_dims(at, 1, &s->beams), words);
    Value *all = make(at, "Add", 2, scores, make(at, "Reshape", 2, old[SCORE], rows));
    Value *flat = make(at, "Reshape", 2, all, make(at, "Concat", 2, make_dims(at, 1, &s->batch), one));
    with_int(flat->def->in[1], "axis", 0);
    Value *y = make(at, "Reshape", 2, all, with_int(shape, "axis", 0));
    Node *top = make_node(at, "TopK", 2, (Value *[]){flat, make_dims(at, 1, &many)}, 2);
    Value *in[] = {top->out[0], top->out[1], old[TOKENS], old[LAST], old[SCORE], old[TEXTS], old[TEXT_SCORES],
                   old[FOUND], length, words, s->length_penalty};
    Node *step = make_node(at, "onnxcc.BeamStep", 11, in, BEAM_STATES + 1);
    attr_set_int(step, "end", attr_int(s->n, "eos_token_id"));
    attr_set_int(step, "pad", attr_int(s->n, "pad_token_id"));
    attr_set_int(step, "early", attr_int(s->n, "early_stopping") == 1);
    memcpy(state, step->out, sizeof *state * BEAM_STATES);
    s->parent = step->out[BEAM_STATES];
    return y;
}

/* Sets the states after a run of the decoder with these results, and one behind them: the scores of beams. */
static void choose(Node *at, Search *s, Value *const *results, Value *length, Value *const *old, bool starts,
                   Value **state)
{
    Value *scores = next_scores(at, s, results[0], old[TOKENS], length, starts), **cache = state + s->states;
    s->parent = NULL;
    if (s->greedy)
        choose_best(at, s, scores, length, old, state);
    else
        cache[s->layers] = choose_beams(at, s, scores, length, old, state);
    for (int i = 0; i < s->layers; i++) {
        Value *v = results[PRESENT + i];
        if (s->parent && !dim_is(s->beams, 1))
            v = with_int(make(at, "onnxcc.Gather", 2, v, s->parent), "axis", 1);
        cache[i] = make(at, "onnxcc.Cache", 3, v, length, make_dims(at, 1, &s->room));
    }
}

/* Is there a row that has not ended, or a sample whose search is not over? */
static Value *goes_on(Node *at, const Search *s, Value *const *state)
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
static void start_states(const Search *s, Value **state)
{
    Node *n = s->n;
    Dim pads[] = {D(0), D(0), D(0), dim_sub(s->room, s->prompt)}, text[] = {s->batch, s->beams, s->room};
    state[TOKENS] = make(n, "Pad", 3, s->ids, make_dims(n, 4, pads), scalar(n, s, "pad_token_id"));
    state[LAST] = zeros(n, I32, 2, (Dim[]){s->rows, D(1)});
    if (s->greedy) {
        state[ENDED] = zeros(n, B8, 2, (Dim[]){s->rows, D(1)});
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
static Node *make_loop(Search *s, Value *const *start, Value *go)
{
    Graph *g = s->decoder;
    const int states = s->states + s->layers;
    Dim turns = dim_sub(dim_sub(s->room, s->prompt), D(1));
    Value **in = NEWS(Value *, 2 + states), **now = NEWS(Value *, 2 + states), **next = NEWS(Value *, 2 + states), *length;
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

/* The loop after the run on the prompt; *scores: those of beams from it. */
static Node *search(Search *s, Value *mask, Value **scores)
{
    Value **before = NEWS(Value *, s->states), **start = NEWS(Value *, s->states + s->layers + 1);
    Value **results = run_prompt(s, mask);
    start_states(s, before);
    choose(s->n, s, results, make_dims(s->n, 1, &s->prompt), before, true, start);
    *scores = start[s->states + s->layers];
    return make_loop(s, start, goes_on(s->n, s, start));
}

static void greedy_expand(Node *n)
{
    Search s = {.n = n, .greedy = true};
    Value *scores;
    if (!read_search(&s, 3))
        return;
    Node *loop = search(&s, in(n, 6), &scores);
    n->n_attr = 0; /* the decoder belongs to the loop now */
    expand_to(n, loop->out[TOKENS]);
}

/* The first `count` of v along an axis */
static Value *first_of(Node *n, Value *v, Dim count, int64_t axis)
{
    int64_t from = 0;
    return make(n, "Slice", 4, v, make_ints(n, 1, &from), make_dims(n, 1, &count), make_ints(n, 1, &axis));
}

static void beam_expand(Node *n)
{
    Search s = {.n = n, .length_penalty = in(n, 5)};
    if (!read_search(&s, 6))
        return;
    Dim returned = value_dim(n->in[4], 0);
    Value *first;
    if (!require_within(n, "num_return_sequences", returned, D(1), s.beams))
        return;
    Node *loop = search(&s, in(n, 9), &first);
    Value **state = loop->out;
    Value *ends[] = {state[TOKENS], state[SCORE], state[TEXTS], state[TEXT_SCORES], state[FOUND], s.length_penalty};
    Node *end = make_node(n, "onnxcc.BeamEnd", 6, ends, 2);
    attr_set_int(end, "pad", attr_int(n, "pad_token_id"));
    replace_out(n, 0, first_of(n, end->out[0], returned, 1));
    if (out(n, 1))
        replace_out(n, 1, first_of(n, end->out[1], returned, 1));
    if (out(n, 2)) {
        Value *y = make(n, "Unsqueeze", 2, first, make_ints(n, 1, (int64_t[]){0}));
        y = with_int(make(n, "Concat", 2, y, state[s.states + s.layers]), "axis", 0);
        Dim length = dim_sub(s.room, s.prompt);
        replace_out(n, 2, make(n, "onnxcc.Rows", 2, y, make_dims(n, 1, &length)));
    }
    n->n_attr = 0; /* the decoder belongs to the loop now */
    expand_done(n);
}

/* x with as many rows of zeros as are missing */
static void rows_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    Dim rows, pads[2 * MAX_RANK];
    if (in_dims(n, 1, &rows, 1) != 1)
        return;
    for (int i = 0; i < 2 * x.rank; i++)
        pads[i] = D(0);
    pads[x.rank] = dim_sub(rows, x.dim[0]);
    expand_to(n, make(n, "Pad", 2, in(n, 0), make_dims(n, 2 * x.rank, pads)));
}

/* clang-format off */
#define SEARCH "eos_token_id:int pad_token_id:int decoder:graph init_decoder:graph? encoder:graph? "                   \
    "no_repeat_ngram_size:int=0 vocab_size:int=-1 decoder_start_token_id:int=-1 model_type:int=0"
#define INTERNAL .domain = "onnxcc"

static const Op generate_ops[] = {
    {"GreedySearch", 1,
     "input_ids:I max_length:I min_length?:I repetition_penalty?:T vocab_mask?:I prefix_vocab_mask?:I "
     "attention_mask?:I -> sequences:I", "T=float I=int32", SEARCH, .expand = greedy_expand, MICROSOFT},
    {"BeamSearch", 1,
     "input_ids:F max_length:I min_length?:I num_beams:I num_return_sequences:I length_penalty?:T "
     "repetition_penalty?:T vocab_mask?:M prefix_vocab_mask?:M attention_mask?:I decoder_input_ids?:I "
     "logits_processor?:I -> sequences:I sequences_scores?:T scores?:T", "T=float F=int32 I=int32 M=int32",
     SEARCH " early_stopping:int=0", .expand = beam_expand, MICROSOFT},
    {"TokenScores", 1,
     "x:T tokens:int32 length:int64 shortest?:int32 penalty?:T allowed?:int32 first?:int32 -> y:T", "T=float",
     "ngram:int end:int", .infer = token_scores_infer, .bind = token_scores_bind, INTERNAL},
    {"BeamStep", 1,
     "top:T at:int64 tokens:int32 last:int32 score:T texts:int32 text_scores:T found:int32 length:int64 "
     "vocabulary:int64 penalty?:T -> tokens:int32 last:int32 score:T texts:int32 text_scores:T found:int32 "
     "parent:int64", "T=float", "end:int pad:int early:int", .infer = beam_step_infer, .bind = beam_step_bind, INTERNAL},
    {"BeamEnd", 1,
     "tokens:int32 score:T texts:int32 text_scores:T found:int32 penalty?:T -> texts:int32 text_scores:T", "T=float",
     "pad:int", .infer = beam_end_infer, .bind = beam_end_bind, INTERNAL},
    {"Cache", 1, "x:T length:int64 room:int64 -> y:T", "T=FB", "", .expand = cache_expand, INTERNAL},
    {"Recall", 1, "x:T length:int64 -> y:T", "T=FB", "", .expand = recall_expand, INTERNAL},
    {"Repeat", 1, "x:T beams:int64 -> y:T", "T=ALL", "", .expand = repeat_expand, INTERNAL},
    {"Rows", 1, "x:T rows:int64 -> y:T", "T=FB", "", .expand = rows_expand, INTERNAL},
};
OPS(generate_ops);
