/* passes.h - a graph becomes a better graph: the passes in order, and what they share. */
#ifndef ONNXCC_PASSES_H
#define ONNXCC_PASSES_H

#include "passes/infer.h"

/* inline.c */
Graph *graph_copy(Graph *g, Node *owner); /* a nested graph once more; references of attributes are gone */
void inline_functions(Model *m);          /* no functions, old versions or composites left */

/* fold.c */
void fold(Node *n);         /* the results of an inferred node, as far as they are known now */
void trace_value(Value *v); /* v's elements will decide a size: they are expressions, if it can be followed back */

/* simplify.c */
void simplify_model(Model *m); /* dead code, duplicates, identities, scales into weights */
void remove_dead(Graph *g);    /* nodes whose results are known or unused */

/* layout.c */
void layout_model(Model *m); /* channels last, packed weights */

/* bind.c */
void bind_model(Model *m); /* every node has its call */
/* Makes outputs first... of g values computed in g, each with storage of its own (copies where needed). */
void copy_outputs(Graph *g, int first);

/* fuse.c */
void fuse_model(Model *m); /* loops, epilogues */

#endif
