/* generate.c - what the searches of microsoft_generate.c are made of: the scores of the next token, the choice of one,
 * or of several for beams, and the cache of a layer. */
#include "generate.h"
#include "ir/call.h"

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
                  .beams = in(n, 6) ? dim_div(x.dim[0], in_shape(n, 6).dim[0]) : D(1), .ngram = D(attr_int(n, "ngram")),
                  .end = D(attr_int(n, "end")));
}

/* The same for whisper's timestamps */
static void timestamps_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    Dim length;
    if (in_dims(n, 2, &length, 1) == 1)
        BIND_ARGS(n, timestamps, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 3), out(n, 0)), .rows = x.dim[0],
                  .vocabulary = x.dim[1], .room = in_shape(n, 1).dim[1], .length = length,
                  .begin = D(attr_int(n, "beginning_timestamp_token_id")), .end = D(attr_int(n, "eos_token_id")),
                  .never = {D(attr_int(n, "no_timestamps_token_id")), D(attr_int(n, "start_of_lm_token_id"))},
                  .inside = {D(attr_int(n, "decoder_start_token_id")), D(attr_int(n, "translate_token_id")),
                             D(attr_int(n, "transcribe_token_id"))});
}

static void sample_infer(Node *n)
{
    set_out(n, 0, I32, shape_list(2, in_shape(n, 0).dim[0], D(1)));
    set_out(n, 1, I64, in_shape(n, 3));
}

static void sample_bind(Node *n)
{
    Shape x = in_shape(n, 0);
    BIND_ARGS(n, sample, F32, NO_TYPE, ARGS(in(n, 0), in(n, 1), in(n, 2), in(n, 3), out(n, 0), out(n, 1)),
              .rows = x.dim[0], .vocabulary = x.dim[1], .keep = dim_sub(x.dim[1], D(attr_int(n, "min_tokens_to_keep"))),
              .custom = D(attr_int(n, "custom") != 0), .share = attr_float(n, "top_p"),
              .filler = attr_float(n, "filter_value"));
    bind_scratch(n, dim_mul(x.dim[1], D(4)));
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

/* x with zeros behind it along an axis, of which there are `length` elements, if that is given */
static void room_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    const int axis = (int)attr_int(n, "axis") + (attr_int(n, "axis") < 0 ? x.rank : 0);
    Dim room, length, pads[2 * MAX_RANK];
    if (axis < 0 || axis >= x.rank) {
        node_error(n, "the keys or values of a layer are %s", shape_text(x));
        return;
    }
    if (in_dims(n, 1, &room, 1) != 1 || (in(n, 2) && in_dims(n, 2, &length, 1) != 1) ||
        (in(n, 2) && !require_dim(n, "tokens in the cache of a layer", x.dim[axis], length)))
        return;
    for (int i = 0; i < 2 * x.rank; i++)
        pads[i] = D(0);
    pads[x.rank + axis] = dim_sub(room, x.dim[axis]);
    expand_to(n, make(n, "Pad", 2, in(n, 0), make_dims(n, 2 * x.rank, pads)));
}

/* The first tokens of a cache */
static void recall_expand(Node *n)
{
    Shape x = in_shape(n, 0);
    const int64_t axis = x.rank - 2, from = 0;
    if (in_dims(n, 1, &x.dim[axis], 1) != 1)
        return;
    Value *y = make(n, "Slice", 4, in(n, 0), make_ints(n, 1, &from), in(n, 1), make_ints(n, 1, &axis));
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

/* clang-format off */
static const Op generate_ops[] = {
    {"TokenScores", 1,
     "x:T tokens:int32 length:int64 shortest?:int32 penalty?:T allowed?:int32 first?:int32 -> y:T", "T=float",
     "ngram:int end:int", .infer = token_scores_infer, .bind = token_scores_bind, .flags = STOPS,
     .domain = "onnxcc"},
    {"Sample", 1, "x:T sorted:T at:int64 seed:int64 -> token:int32 next:int64", "T=float",
     "min_tokens_to_keep:int custom:int top_p:float filter_value:float", .infer = sample_infer, .bind = sample_bind,
     .flags = STOPS, .domain = "onnxcc"},
    {"Timestamps", 1, "x:T tokens:int32 length:int64 processor:int32 -> y:T", "T=float",
     "eos_token_id:int decoder_start_token_id:int beginning_timestamp_token_id:int no_timestamps_token_id:int "
     "start_of_lm_token_id:int translate_token_id:int transcribe_token_id:int", .infer = infer_same,
     .bind = timestamps_bind, .flags = STOPS, .domain = "onnxcc"},
    {"BeamStep", 1,
     "top:T at:int64 tokens:int32 last:int32 score:T texts:int32 text_scores:T found:int32 length:int64 "
     "vocabulary:int64 penalty?:T -> tokens:int32 last:int32 score:T texts:int32 text_scores:T found:int32 "
     "parent:int64", "T=float", "end:int pad:int early:int", .infer = beam_step_infer, .bind = beam_step_bind,
     .domain = "onnxcc"},
    {"BeamEnd", 1,
     "tokens:int32 score:T texts:int32 text_scores:T found:int32 penalty?:T -> texts:int32 text_scores:T", "T=float",
     "pad:int", .infer = beam_end_infer, .bind = beam_end_bind, .domain = "onnxcc"},
    {"Room", 1, "x:T room:int64 length?:int64 -> y:T", "T=FB", "axis:int", .expand = room_expand, .domain = "onnxcc"},
    {"Recall", 1, "x:T length:int64 -> y:T", "T=FB", "", .expand = recall_expand, .domain = "onnxcc"},
    {"Repeat", 1, "x:T beams:int64 -> y:T", "T=ALL", "", .expand = repeat_expand, .domain = "onnxcc"},
};
OPS(generate_ops);
