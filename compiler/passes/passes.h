/* passes.h - the passes in order, and the functions that they share. */
#pragma once

#include "passes/infer.h"

/* cut.c */
void cut_model(Model *m); /* --tap, --until, --from: makes tensors of the model outputs or inputs */
bool taps_are_all(const Model *m, const char *tap); /* is it "all", and no tensor's name? */
/* Of --tap all: the paths of the tensors inside of the main graph's nodes, as far as something reads these. */
void taps_inside(const Model *m, Names *to);
/* The value that --from T names, if its type is not declared in full; else NULL. */
Value *cut_unknown(const Model *m, const char *tensor);

/* training.c */
void join_training(Model *m); /* with --training: makes the model's graph one of entry points */
/* The random-number generator of a training model, a state variable: the seed, and the number of calls that drew. The
 * first call adds it, as the last variable. NULL: g is not part of a training model. */
Value *training_generator(Graph *g);

/* inline.c */
Graph *graph_copy(Graph *g, Node *owner); /* a copy of a nested graph */
/* A copy of n at the end of g; it, and the graphs in it, read to[i] for from[i]. */
Node *node_copy(const Node *n, Graph *g, int k, Value *const *from, Value *const *to);
/* Copies the nodes of `from` to the end of g; values: Value -> its copy, to which those of the nodes are added. */
void graph_append(Graph *g, Graph *from, Map *values);
void bind_named(Model *m);       /* attributes that name values of the graph become inputs */
void inline_functions(Model *m); /* replaces calls of functions by their bodies */

/* fold.c */
void fold(Node *n);         /* folds the results of an inferred node if they are known */
void trace_value(Value *v); /* v determines a size: makes its elements expressions if possible */

/* bounds.c */
void check_bounds(const Model *m);    /* reports sizes without an upper bound, with the options that bound them */
bool bounds_apply(Dim d);             /* has d a bound? --all-dims='<=N' gives it one */
void bounds_help(Dim d);              /* after an error: suggests bounds of the symbols in d that have none */
void bounds_help_all(const Model *m); /* after such errors: one line with the options for all sizes that are open */
/* A size for a dimension of an input. */
typedef struct NamedSize {
    const char *dim;
    int64_t size;
} NamedSize;
typedef VEC(NamedSize) Sizes;
/* Sizes to suggest for the open dimensions of inputs, but for the first ones, which are `first`. */
void bounds_suggested(const Model *m, int64_t first, Sizes *dims);

/* simplify.c */
void simplify_model(Model *m); /* dead code, identities, duplicates, scales into weights */
void remove_dead(Graph *g);    /* removes nodes whose results are constant or unused */

/* layout.c */
void layout_model(Model *m); /* channels last, packed weights */

/* bind.c */
void bind_model(Model *m); /* gives every node its call */
/* Makes outputs first... of g values computed in g, each with storage of its own (copies where needed). */
void copy_outputs(Graph *g, int first);

/* fuse.c */
void fuse_model(Model *m); /* fuses loops, makes lookup tables and epilogues */

/* load.c */
void load_constants(Model *m);
