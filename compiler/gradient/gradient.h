/* gradient.h - between Gradient's files: one step back, from what a node's output counts for y to what an input does. */
#ifndef ONNXCC_GRADIENT_H
#define ONNXCC_GRADIENT_H

#include "ir/ops.h"
#include "passes/infer.h"

/* The node m, and d, what its output o counts for y. */
typedef struct Back {
    Node *n, *m; /* n: the Gradient node; new nodes go before it */
    Value *d;
    int i, o; /* the input in question, and the output */
} Back;

/* *v = gradient with respect to input i. False: no rule. *v unchanged: the gradient is zero. */
bool back_by_formula(const Back *b, Value **v);  /* formulas.c */
bool back_by_moves(const Back *b, Value **v);    /* moves.c */
bool back_by_function(const Back *b, Value **v); /* functions.c */
bool back_by_windows(const Back *b, Value **v);  /* windows.c: convolutions and pools */
Value *attention_back(const Back *b);            /* attention.c */
Value *fourier_back(const Back *b);              /* numeric.c */
Value *det_back(const Back *b);
Value *svm_kernel_back(const Back *b);
Value *svm_contest_back(const Back *b);
Value *affine_grid_back(const Back *b); /* sample.c */
Value *roi_align_back(const Back *b);

/* A tape: forward replay from xs to y through the nodes of one graph, and its reverse sweep. */
typedef struct Path {
    Node *n;                  /* new nodes go before it */
    const struct Path *outer; /* the way through the graph around it */
    bool plain;               /* nobody goes back */
    Map now;                  /* a value of the model: as it is on this way */
    Map live;                 /* of those, what depends on xs */
    Map back;                 /* what it counts for y */
    VEC(Node *) nodes;        /* in order */
    bool turns;               /* through a loop's body */
    VEC(Node *) slices;       /* of what is around: what they count is taken together for all turns */
} Path;

Value *now(const Path *p, Value *v);
bool has_element(const Value *v, int i); /* surely */
Dim size_now(const Path *p, Dim d);
bool is_live(const Path *p, const Value *v);
void go(Path *p, Node *m);                    /* m with what it reads as it is now */
void go_back(Path *p);                        /* what all that was gone through counts */
void count_back(Path *p, Value *v, Value *d); /* v counts d, too */
void back_through(Path *p, Node *m, int o);   /* what m's inputs count through its output o */
/* What m reads: its inputs and, when it has nested graphs, what these read. */
void each_read(Node *m, void (*visit)(Value *, void *), void *arg);

/* control.c */
Node *copied(const Path *p, Node *m,
             Value **in); /* m with these inputs, and its graphs with what they read as it is now */
Graph *taken(const Node *m, Value *const *in); /* the branch of an If with these inputs; NULL: none yet */
void control_back(Path *p, Node *m);           /* all that If or Loop m reads counts */
bool put_off(Path *p, Node *m);                /* is m one of the slices? */

/* A Loop before n, for so many turns, whose states begin as these. The nodes of a turn go before the node that it gives, in
 * whose graph input 0 is the turn and inputs 2, 3... are the states. */
Node *loop_begin(Node *n, Dim turns, int states, Value *const *from);
/* A turn ends with k values: the states, then what the Loop, which it gives, stacks. */
Node *loop_end(Node *end, int k, Value *const *of);

/* The recurrent node m with these inputs as a loop of ordinary nodes before n, which gives `out`; false: m is no such
 * node. */
bool recurrent_steps(Node *n, const Node *m, Value **in, Value **out);

/* The same for other nodes that have no gradient by themselves, or not by the inputs that count: words.c has a list
 * of them. */
bool in_other_words(Node *n, Node *m, const bool *counts, Value **out);
bool attention_words(Node *n, Node *m, Value **out); /* attention.c */
bool rotary_words(Node *n, Node *m, Value **out);
bool linear_attention_words(Node *n, Node *m, Value **out);
bool svm_probability_words(Node *n, Node *m, Value **out); /* numeric.c */
bool frames_words(Node *n, Node *m, Value **out);
bool grid_sample_words(Node *n, Node *m, Value **out); /* sample.c */
bool roi_align_words(Node *n, Node *m, Value **out);
bool deform_conv_words(Node *n, Node *m, Value **out);
bool resize_table_words(Node *n, Node *m, Value **out);

/* A function that gives the back of an operator in the shape of the input; NULL: it cannot. */
typedef struct BackFunction {
    const char *op;
    Value *(*back)(const Back *b);
} BackFunction;
bool back_by(const BackFunction *f, size_t count, const Back *b, Value **v);

/* The value of a formula (formulas.c says what is in one). */
Value *formula(const Back *b, const char *text);

/* nodes.c: new nodes before n */
Value *shape_like(Node *n, Value *v);
Value *filled(Node *n, Type t, double with, int rank, const Dim *dim);
Value *filled_like(Node *n, Value *v, double with);
Value *zeros_like(Node *n, Value *v);
/* Zeros of (size, size) with ones on the diagonal. */
Value *unit_matrix(Node *n, Type t, Dim size);
Value *reshape_like(Node *n, Value *v, Value *x);
/* Keeps the axes, of size 1. */
Value *sum_over(Node *n, Value *v, int k, const int64_t *axes);
/* v, of the shape `from`, summed over the axes along which x was broadcast to it. */
Value *gather_up(Node *n, Value *v, Shape from, Value *x);
/* New axis i is old axis perm[i]. */
Value *transpose(Node *n, Value *v, int rank, const int64_t *perm);
/* The product of two matrices, or of many. */
Value *matrices(Node *n, Value *left, bool trans_left, Value *right, bool trans_right);
/* What lies from `from` to before `to` along the axis. */
Value *part(Node *n, Value *v, int64_t axis, Dim from, Dim to);
/* Instead of the axis, so many windows that are `stride` apart, and their elements, which are `dilation` apart. */
Value *windows_along(Node *n, Value *v, int64_t axis, Dim count, Dim stride, Dim size, Dim dilation);
/* Of rank 0. */
Value *size_as(Node *n, Type t, Dim d);
/* Like x, its elements numbered from 1. */
Value *numbered(Node *n, Value *x, Type t);
/* Zeros like the input, to which d is added at the elements of these numbers; 0: nowhere. */
Value *put_back(const Back *b, Value *numbers, Value *d);
/* m with other inputs. */
Node *node_again(Node *n, const Node *m, Value **in, int n_in, int n_out);

#endif
