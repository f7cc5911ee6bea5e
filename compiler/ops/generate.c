/* generate.c - GreedySearch of com.microsoft: its decoder runs on the prompt, then in a loop, each time on the token
 * before. */
#include "ir/call.h"
#include "generate.h"
#include "microsoft.h"
#include "passes/passes.h"

/* ---- onnxcc.TokenScores: the scores that are left of x for the next token ---------------------------------------- */

static void token_scores_infer(Node *n)
{
    Shape x = in_shape(n, 0), first = x;
    first.dim[0] = dim_div(x.dim[0], D(attr_int(n, "beams")));
    if (require_shape(n, 5, shape_list(1, x.dim[1])) && require_shape(n, 6, first))
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
                  .beams = D(attr_int(n, "beams")), .ngram = D(attr_int(n, "ngram")), .end = D(attr_int(n, "end")));
}

/* ---- the decoder ------------------------------------------------------------------------------------------------- */

enum {
    PAST = 3,
    PRESENT = 1,     /* inputs and outputs of a decoder before the cache */
    LONGEST = 4096, /* sequence */
};

typedef struct Search {
    Node *n;
    Graph *decoder, *starter; /* starter: the decoder for the prompt */
    Dim batch, rows, prompt, room; /* rows: of the decoder; room: of a sequence */
    int layers;
    Value *shortest, *penalty, *allowed, *first; /* inputs, or NULL */
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
                                 "of heads and elements",
                              i, attr);
    }
    return true;
}

static bool read_decoders(Node *n, Search *s)
{
    const Attr *first = node_attr(n, "init_decoder");
    s->decoder = node_attr(n, "decoder")->g;
    s->starter = first ? first->g : s->decoder;
    s->layers = s->decoder->out.n - PRESENT;
    if (!is_decoder(n, "decoder", s->decoder) || (first && !is_decoder(n, "init_decoder", s->starter)))
        return false;
    return s->starter->out.n == s->decoder->out.n || node_error(n, "decoder and init_decoder differ in their layers");
}

/* Gives the graph these inputs; its results. */
static Value **feed(Graph *g, Value *const *in)
{
    for (int i = 0; i < g->in.n; i++)
        value_replace(g->in.at[i], in[i]);
    return memcpy(NEWS(Value *, g->out.n), g->out.at, sizeof *g->out.at * (size_t)g->out.n);
}

/* Copies the decoder's nodes before n. */
static Value **run_before(Node *n, Graph *decoder, Value *const *in)
{
    Graph *g = graph_copy(decoder, n);
    Value **results = feed(g, in);
    graph_set_outputs(g, 0, 0, NULL);
    while (g->first)
        node_move(g->first, n);
    return results;
}

/* ---- the cache of a layer: room for all tokens along the last axis but one, of which the first are there --------- */

static void cache_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    const int axis = x.rank - 2;
    Dim length, room, pads[2 * MAX_RANK];
    if (axis < 0) {
        node_error(n, "a layer's keys and values are %s", shape_text(x));
        return;
    }
    if (in_dims(n, 1, &length, 1) != 1 || in_dims(n, 2, &room, 1) != 1 ||
        !require_dim(n, "tokens in a layer's cache", x.dim[axis], length))
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

/* ---- what a search is to do -------------------------------------------------------------------------------------- */

static bool read_search(Node *n, Search *s)
{
    Shape ids = in_shape(n, 0);
    if (ids.rank != 2)
        return node_error(n, "the prompt must have 2 dimensions, not %s", shape_text(ids));
    for (int i = 1; i < 4; i++)
        if (!require_one(n, i))
            return false;
    s->batch = s->rows = ids.dim[0];
    s->prompt = ids.dim[1];
    s->room = value_dim(n->in[1], 0);
    s->shortest = in(n, 2);
    s->penalty = in(n, 3);
    s->allowed = in(n, 4);
    s->first = in(n, 5);
    return read_decoders(n, s) && require_shape(n, 6, ids) &&
           require_dim(n, "max_length, more than the prompt's", dim_max(s->room, dim_add(s->prompt, D(1))), s->room) &&
           require_dim(n, "max_length", dim_min(s->room, D(LONGEST)), s->room);
}

/* ---- the tokens -------------------------------------------------------------------------------------------------- */

/* The scores of the token after `length` ones, from the logits of the last of these. */
static Value *next_scores(Node *at, const Search *s, Value *logits, Value *tokens, Value *length, bool starts)
{
    Value *x = with_int(make(at, "Gather", 2, logits, make_int(at, -1)), "axis", 1);
    Value *y = make(at, "onnxcc.TokenScores", 7, x, tokens, length, s->shortest, s->penalty, s->allowed,
                    starts ? s->first : NULL);
    int64_t ngram = attr_int(s->n, "no_repeat_ngram_size");
    attr_set_int(y->def, "beams", 1);
    attr_set_int(y->def, "ngram", ngram > 0 ? ngram : 0);
    return with_int(y, "end", attr_int(s->n, "eos_token_id"));
}

/* tokens, (rows, room), with one more per row, after `length` ones */
static Value *appended(Node *at, const Search *s, Value *tokens, Value *length, Value *token)
{
    Value *room = make(at, "Squeeze", 1, make_dims(at, 1, &s->room));
    Value *place = make(at, "Range", 3, make_int(at, 0), room, make_int(at, 1));
    return make(at, "Where", 3, make(at, "Equal", 2, place, length), token, tokens);
}

/* ---- the loop: states are the tokens, which rows have ended, the last tokens, and a cache for each layer --------- */

enum { TOKENS, ENDED, LAST, CACHE };

/* The states after a run of the decoder on `length` - 1 tokens, or on the prompt. */
static void choose(Node *at, const Search *s, Value *const *results, Value *tokens, Value *ended, Value *length,
                   bool starts, Value **state)
{
    Value *scores = next_scores(at, s, results[0], tokens, length, starts);
    Value *best = make_cast(at, with_int(make(at, "ArgMax", 1, scores), "axis", 1), I32);
    Value *is_end = make(at, "Equal", 2, best, make_scalar(at, I32, (double)attr_int(s->n, "eos_token_id")));
    state[ENDED] = ended ? make(at, "Or", 2, ended, is_end) : is_end;
    state[LAST] = make(at, "Where", 3, state[ENDED], make_scalar(at, I32, (double)attr_int(s->n, "pad_token_id")), best);
    state[TOKENS] = appended(at, s, tokens, length, state[LAST]);
    for (int i = 0; i < s->layers; i++)
        state[CACHE + i] = make(at, "onnxcc.Cache", 3, results[PRESENT + i], length, make_dims(at, 1, &s->room));
}

/* Has a row not ended? */
static Value *goes_on(Node *at, Value *ended)
{
    Value *least = make(at, "ReduceMin", 1, make_cast(at, ended, I32));
    return make(at, "Not", 1, make_cast(at, with_int(least, "keepdims", 0), B8));
}

/* A node at the start or the end of g, to insert others before. */
static Node *position(const Node *n, Graph *g, Node *before)
{
    Node *at = node_new(g, "onnxcc.Start", 0, NULL, 0);
    at->source = n->source;
    node_insert(at, before);
    return at;
}

/* The values that the decoder of GPT-2 reads of a prompt: pads are masked, unless it has a mask, and
 * the positions of the others counted. */
typedef struct Prompt {
    Value *ids, *mask, *position, *count; /* (rows, prompt), count: (rows, 1) */
} Prompt;

static Prompt read_prompt(Node *n, int mask)
{
    Prompt p = {.ids = in(n, 0), .mask = in(n, mask)};
    Value *pad = make_scalar(n, I32, (double)attr_int(n, "pad_token_id"));
    Value *used = make_cast(n, make(n, "Not", 1, make(n, "Equal", 2, p.ids, pad)), I32);
    Value *before = with_int(make(n, "CumSum", 2, used, make_int(n, 1)), "exclusive", 1);
    p.mask = p.mask ? p.mask : used;
    p.position = make(n, "Mul", 2, before, used);
    p.count = make(n, "ReduceSum", 2, used, make_ints(n, 1, (int64_t[]){1}));
    return p;
}

/* The cache of a layer before the first token */
static Value *empty_cache(Node *n, const Search *s, int layer)
{
    Shape x = s->decoder->in.at[PAST + layer]->desc->shape;
    Dim dim[] = {D(2), s->rows, x.dim[2], D(0), x.dim[4]};
    return make(n, "Expand", 2, make_scalar(n, F32, 0), make_dims(n, 5, dim));
}

/* What the decoder reads in turn `turn` of the loop, counted from 0; *length: the tokens with the last one. */
static Value **next_feed(Node *at, const Search *s, const Prompt *p, Value *turn, Value *const *state, Value **length)
{
    Value **in = NEWS(Value *, PAST + s->layers), *one = make_ints(at, 1, (int64_t[]){1});
    Value *past = make(at, "Add", 2, make_dims(at, 1, &s->prompt), turn);
    Value *shape = make(at, "Concat", 2, make_dims(at, 1, &s->rows), make(at, "Add", 2, turn, one));
    Value *ones = make(at, "Expand", 2, make_scalar(at, I32, 1), with_int(shape, "axis", 0));
    in[0] = state[LAST];
    in[1] = make(at, "Add", 2, p->count, make_cast(at, turn, I32));
    in[2] = with_int(make(at, "Concat", 2, p->mask, ones), "axis", 1);
    for (int i = 0; i < s->layers; i++)
        in[PAST + i] = make(at, "onnxcc.Recall", 2, state[CACHE + i], past);
    *length = make(at, "Add", 2, past, one);
    return in;
}

static void greedy_expand(Node *n)
{
    Search s = {.n = n};
    if (!read_search(n, &s))
        return;
    const int states = CACHE + s.layers;
    Value **in = NEWS(Value *, 2 + states), **next = NEWS(Value *, 1 + states);
    Prompt p = read_prompt(n, 6);
    memcpy(in, (Value *[]){p.ids, p.position, p.mask}, sizeof(Value *[PAST]));
    for (int i = 0; i < s.layers; i++)
        in[PAST + i] = empty_cache(n, &s, i);
    Value **results = run_before(n, s.starter, in), *pad = make_scalar(n, I32, (double)attr_int(n, "pad_token_id"));
    Value *tokens = make(n, "Pad", 3, p.ids, make_dims(n, 4, (Dim[]){D(0), D(0), D(0), dim_sub(s.room, s.prompt)}), pad);
    choose(n, &s, results, tokens, NULL, make_dims(n, 1, &s.prompt), true, in + 2);
    in[0] = make_dims(n, 1, (Dim[]){dim_sub(dim_sub(s.room, s.prompt), D(1))});
    in[1] = goes_on(n, in[2 + ENDED]);

    Graph *g = s.decoder;
    Value *length, **state = NEWS(Value *, 2 + states);
    for (int i = 0; i < 2 + states; i++)
        state[i] = value_new(g, NULL);
    Node *at = position(n, g, g->first);
    results = feed(g, next_feed(at, &s, &p, state[0], state + 2, &length));
    node_remove(at);
    at = position(n, g, NULL);
    choose(at, &s, results, state[2 + TOKENS], state[2 + ENDED], length, false, next + 1);
    next[0] = goes_on(at, next[1 + ENDED]);
    node_remove(at);
    g->in.n = 0;
    for (int i = 0; i < 2 + states; i++)
        vec_push(&g->in, state[i]);
    graph_set_outputs(g, 0, 1 + states, next);
    Node *loop = make_node(n, "Loop", 2 + states, in, states);
    attr_set(loop, (Attr){.name = name("body"), .type = A_GRAPH, .g = g});
    g->owner = loop;
    n->n_attr = 0; /* the body is the loop's now */
    expand_to(n, loop->out[TOKENS]);
}

/* clang-format off */
#define SEARCH "eos_token_id:int pad_token_id:int decoder:graph init_decoder:graph? encoder:graph? "                   \
    "no_repeat_ngram_size:int=0 vocab_size:int=-1 decoder_start_token_id:int=-1 model_type:int=0 "

static const Op generate_ops[] = {
    {"GreedySearch", 1,
     "input_ids:I max_length:I min_length?:I repetition_penalty?:T vocab_mask?:I prefix_vocab_mask?:I "
     "attention_mask?:I -> sequences:I", "T=float I=int32", SEARCH, .expand = greedy_expand, MICROSOFT},
    {"TokenScores", 1,
     "x:T tokens:int32 length:int64 shortest?:int32 penalty?:T allowed?:int32 first?:int32 -> y:T", "T=float",
     "beams:int ngram:int end:int", .infer = token_scores_infer, .bind = token_scores_bind, .domain = "onnxcc"},
    {"Cache", 1, "x:T length:int64 room:int64 -> y:T", "T=FB", "", .expand = cache_expand, .domain = "onnxcc"},
    {"Recall", 1, "x:T length:int64 -> y:T", "T=FB", "", .expand = recall_expand, .domain = "onnxcc"},
};
OPS(generate_ops);
