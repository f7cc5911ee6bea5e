/* remark.h - remarks (--remarks): for each node that a rewrite is meant for, that it applied, or why it did not. */
#pragma once

#include "ir/graph.h"

/* The rewrites: identifier, stage, name on the command line, and the participle for a node that it applied to. */
#define REWRITES(X)                                                                                                    \
    X(INLINE, "inline", "inline", "inlined")                                                                           \
    X(EXPAND, "infer", "expand", "decomposed")                                                                         \
    X(INTEGER, "simplify", "integer", "computed in integers of 8 bits")                                                \
    X(DEAD, "simplify", "dead", "removed")                                                                             \
    X(IDENTITY, "simplify", "identity", "removed")                                                                     \
    X(DUPLICATE, "simplify", "duplicate", "merged with an equal node")                                                 \
    X(SCALE, "simplify", "scale", "folded into weights and bias")                                                      \
    X(CHANNELS_LAST, "layout", "channels-last", "made channels last")                                                  \
    X(SINK, "layout", "sink", "moved above the transposes of its inputs")                                              \
    X(TRANSPOSE, "layout", "transpose", "removed")                                                                     \
    X(PACK, "layout", "pack", "given packed weights")                                                                  \
    X(STORED, "layout", "stored", "given weights as they are stored")                                                  \
    X(MICRO, "layout", "micro", "given the kernel for small processors")                                               \
    X(FUSE, "fuse", "fuse", "fused with its reader")                                                                   \
    X(TABLE, "fuse", "table", "made a lookup table")                                                                   \
    X(EPILOGUE, "fuse", "epilogue", "fused with its reader")                                                           \
    X(OUTPUT, "bind", "output", "computed in the output's buffer")                                                     \
    X(CONCAT, "plan", "concat", "built in place")                                                                      \
    X(SLICE, "plan", "slice", "made a view")                                                                           \
    X(STATE, "plan", "state", "written in place")                                                                      \
    X(IN_PLACE, "plan", "in-place", "computed in place")
#define REWRITE_NUMBER(id, stage, word, done) REWRITE_##id,
typedef enum Rewrite { REWRITES(REWRITE_NUMBER) REWRITE_COUNT } Rewrite;
#undef REWRITE_NUMBER

/* Selects remarks: "table": of this rewrite; "fuse": of those of this stage; another word: about the node or value of
 * that name; NULL: all. */
void remarks_choose(const char *what);
/* Keeps every remark for a report, printed or not. */
void remarks_keep(void);
typedef struct Remark {
    Rewrite rewrite;
    const Source *source; /* of the node; NULL: the compiler made it */
    Name name;            /* the node's */
    const char *why;
    bool applied;
} Remark;
int remarks_kept(const Remark **list);
const char *rewrite_name(Rewrite r);
const char *rewrite_done(Rewrite r);
void remarks_end(void); /* after the last stage: a note if there was none */
/* Limits remarks to these rewrites (a bit each) until the next call: for a stage that repeats its attempts. */
void remarks_only(unsigned rewrites);
#define REMARKS_ALL (~0u)
#define REMARKS_NONE 0u

SHARED_PART(unsigned, remarks_wanted)
#define remarks_on(rewrite) (*remarks_wanted() >> (rewrite) & 1)
/* "remark[fuse]: graph.node[1] "r" (Relu): not fused with its reader: its result is an output". Always false, ... */
#define declines(rewrite, n, ...) ((remarks_on(rewrite) ? remark(rewrite, n, false, text_format(__VA_ARGS__)) : (void)0), false)
/* ... and the same without "not", always true. */
#define applies(rewrite, n, ...) ((remarks_on(rewrite) ? remark(rewrite, n, true, text_format(__VA_ARGS__)) : (void)0), true)
void remark(Rewrite r, const Node *n, bool applied, const char *why);
/* How a remark mentions another node or a value: `"conv1" (Conv)`, `"x"`. */
const char *remark_node(const Node *n);
const char *remark_value(const Value *v);
