/* bifurcation.c - BifurcationDetector of com.microsoft. */
#include "bifurcation.h"
#include "ir/call.h"
#include "microsoft.h"

static Dim count(const Node *n, int i) { return shape_count(in_shape(n, i)); }

static void bifurcation_infer(Node *n)
{
    Dim most = dim_add(count(n, 1), count(n, 3));
    set_out(n, 0, in_type(n, 0), shape_list(1, reported_size(n, 0, NULL, most)));
}

static void bifurcation_bind(Node *n)
{
    BIND(n, bifurcation, .upper = reported_room(out(n, 0)->shape->dim[0]), .source = count(n, 0), .have = count(n, 1),
         .predicted = count(n, 3));
    bind_reported(n);
}

static void suffix_match_infer(Node *n) { set_out(n, 0, in_type(n, 0), (Shape){.rank = 0}); }

static void suffix_match_bind(Node *n)
{
    Dim have = count(n, 1); /* no longer suffix is sought */
    BIND(n, suffix_match, .source = count(n, 0), .have = have,
         .shortest = dim_min(D(attr_int(n, "min_ngram_size")), dim_add(have, D(1))),
         .longest = dim_min(D(attr_int(n, "max_ngram_size")), have));
}

/* A constant place in the source, behind which are all predicted tokens but one; others are checked by the kernel. */
static bool place_fits(Node *n)
{
    if (!in(n, 3) || !in_is_const(n, 2))
        return true;
    Dim source = count(n, 0), at = value_dim(in(n, 2), 0);
    return require_dim(n, "the place in the source", at, dim_max(dim_min(at, source), D(0))) &&
           require_dim(n, "predicted tokens", count(n, 3), dim_add(dim_sub(source, at), D(1)));
}

static void detector_expand(Node *n)
{
    static const int lists[] = {0, 1, 3};
    int64_t shortest = attr_int(n, "min_ngram_size"), longest = attr_int(n, "max_ngram_size");
    if (shortest < 1 || longest < shortest) {
        node_error(n, "min_ngram_size is %lld, max_ngram_size %lld", (long long)shortest, (long long)longest);
        return;
    }
    for (int k = 0; k < 3; k++)
        if (in(n, lists[k]) && in_shape(n, lists[k]).rank != 1) {
            node_error(n, "input %d %s must have one dimension", lists[k], shape_text(in_shape(n, lists[k])));
            return;
        }
    if (!require_one(n, 2) || !place_fits(n))
        return;
    Value *tokens = in(n, 3) ? make(n, "onnxcc.Bifurcation", 4, in(n, 0), in(n, 1), in(n, 2), in(n, 3)) : in(n, 1);
    Value *at = make(n, "onnxcc.SuffixMatch", 2, in(n, 0), tokens);
    attr_set_int(at->def, "min_ngram_size", shortest);
    attr_set_int(at->def, "max_ngram_size", longest);
    Shape s = in_shape(n, 2);
    replace_out(n, 0, tokens);
    replace_out(n, 1, make_reshape(n, at, s.rank, s.dim));
    expand_done(n);
}

static const Op bifurcation_ops[] = {
    {"BifurcationDetector", 1,
     "src_tokens:T cur_tokens:T prev_suffix_match_idx:T pred_tokens?:T -> tokens:T suffix_match_idx:T", "T=int64",
     "max_ngram_size:int=3 min_ngram_size:int=1", .expand = detector_expand, MICROSOFT},
    {"Bifurcation", 1, "source:T x:T at:T predicted:T -> y:T", "T=int64", "", .infer = bifurcation_infer,
     .bind = bifurcation_bind, .flags = NOFOLD | STOPS, .domain = "onnxcc"},
    {"SuffixMatch", 1, "source:T x:T -> at:T", "T=int64", "max_ngram_size:int min_ngram_size:int",
     .infer = suffix_match_infer, .bind = suffix_match_bind, .domain = "onnxcc"},
};
OPS(bifurcation_ops);
