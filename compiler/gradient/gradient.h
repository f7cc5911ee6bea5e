/* gradient.h - reverse-mode differentiation: vector-Jacobian products (vjp) of nodes, and the tape. */
#pragma once

#include "ir/ops.h"
#include "passes/infer.h"

/* The argument of a vjp rule: node m, and d, the adjoint of its output o (the gradient of y with respect to that
 * output). */
typedef struct Vjp {
    Node *n, *m; /* n: the Gradient node, before which nodes are inserted */
    Value *d;
    int i, o; /* the input whose adjoint the rule computes, and the output */
} Vjp;

/* *v = gradient with respect to input i. False: no rule. *v unchanged: the gradient is zero. */
bool vjp_by_formula(const Vjp *b, Value **v);  /* formulas.c */
bool vjp_by_function(const Vjp *b, Value **v); /* rules.def, whose functions return NULL where they do not apply */
#define RULE(ops, rule) Value *rule(const Vjp *b);
#include "rules.def"
#undef RULE

/* A tape: the forward replay from xs to y through the nodes of one graph, and its reverse sweep. Replayed values are
 * those of the model or clones of them, by remap. */
typedef struct Tape {
    Node *n;                  /* new nodes are inserted before it */
    const struct Tape *outer; /* the tape of the enclosing graph */
    bool forward_only;        /* replayed without a reverse sweep */
    Map map;                  /* from a value of the model to its replayed value */
    Map active;               /* replayed values that depend on xs */
    Map adjoint;              /* adjoints of active values, as accumulated so far */
    Map stops;                /* active values whose adjoint is zero -> the node, in If or Loop, that passes none on */
    VEC(Node *) nodes;        /* the replayed nodes, in order */
    bool in_loop;             /* it is in a loop's body */
    VEC(Node *) gathers;      /* Gathers of captured values: their adjoints are accumulated once for all iterations */
} Tape;

Value *remap(const Tape *p, Value *v);
bool has_element(const Value *v, int i); /* has v an element i, for every run-time size? */
Dim remap_size(const Tape *p, Dim d);
bool is_active(const Tape *p, const Value *v);
void replay(Tape *p, Node *m);                  /* replays m with remapped inputs */
void backward(Tape *p);                         /* the reverse sweep: computes the adjoints of all replayed values */
void accumulate(Tape *p, Value *v, Value *d);   /* adds d to the adjoint of v */
void backward_through(Tape *p, Node *m, int o); /* accumulates the adjoints of m's inputs by that of output o */
/* After the reverse sweep: the last node that depends on x, has an adjoint, and passes none on; NULL: none. */
Node *last_without_vjp(const Tape *p, Value *x);
/* Visits the values that m reads: its inputs, and the outer values that its nested graphs read. */
void each_read(Node *m, void (*visit)(Value *, void *), void *arg);

/* control.c */
Node *clone_remapped(const Tape *p, Node *m,
                     Value **in); /* a clone of m with these inputs, whose graphs have remapped values */
Graph *decided_branch(const Node *m, Value *const *in); /* the branch of an If with a constant condition; else NULL */
void control_vjp(Tape *p, Node *m);  /* accumulates the adjoints of the values that If or Loop m reads */
bool defer_gather(Tape *p, Node *m); /* adds m to the tape's gathers, if it is one */

/* recurrent.c: decomposes the recurrent node m, with these inputs, into a loop of ordinary nodes before n; out: its
 * results. False: m is no such node. */
bool decompose_recurrent(Node *n, const Node *m, Value **in, Value **out);

/* decompose.c: the same for other nodes without a gradient rule for some active input, which it lists. */
bool decompose(Node *n, Node *m, const bool *active, Value **out);

/* attention.c */
bool decompose_attention(Node *n, Node *m, Value **out);
bool decompose_rotary(Node *n, Node *m, Value **out);
bool decompose_linear_attention(Node *n, Node *m, Value **out);

/* numeric.c */
bool decompose_svm_probability(Node *n, Node *m, Value **out);
bool decompose_frames(Node *n, Node *m, Value **out);

/* sample.c */
bool decompose_grid_sample(Node *n, Node *m, Value **out);
bool decompose_roi_align(Node *n, Node *m, Value **out);
bool decompose_deform_conv(Node *n, Node *m, Value **out);
bool decompose_resize_table(Node *n, Node *m, Value **out);

/* formulas.c: creates the nodes of a formula, whose syntax is there. */
Value *formula(const Vjp *b, const char *text);

/* loops.c: new graphs and loops */
/* Creates a graph of `owner`. Returns its end, before which nodes are inserted; n: the node for messages. */
Node *begin_graph(Node *owner, const Node *n, const Graph *like);
Graph *end_graph(Node *end);
Value *add_input(Graph *g, Name name, Type t, Shape s);
void add_iteration(Graph *g);      /* the first inputs of every Loop's body: the iteration's number and the condition */
Value *add_result(Node *m, int k); /* adds output k to Loop m */
Value *trip_count(Node *n, Dim trips); /* as an input of Loop */
/* Begins a Loop, inserted before n, of `trips` iterations and with initial states `from`. Returns the end of its body,
 * before which the body's nodes are inserted; input 0 of the body is the iteration's number, inputs 2, 3... are the
 * states. */
Node *loop_begin(Node *n, Dim trips, int states, Value *const *from);
/* Ends the body with k values: the new states, then scan outputs. Returns the Loop. */
Node *loop_end(Node *end, int k, Value *const *of);

/* nodes.c: new nodes before n */
Value *shape_like(Node *n, Value *v);
Value *filled(Node *n, Type t, double with, int rank, const Dim *dim);
Value *filled_like(Node *n, Value *v, double with);
Value *zeros_like(Node *n, Value *v);
/* The unit matrix, (size, size). */
Value *unit_matrix(Node *n, Type t, Dim size);
Value *reshape_like(Node *n, Value *v, Value *x);
/* The sum over the axes, which are kept with size 1. */
Value *sum_over(Node *n, Value *v, int k, const int64_t *axes);
/* v, of the shape `from`, summed over the axes along which x was broadcast to that shape. */
Value *sum_to_shape(Node *n, Value *v, Shape from, Value *x);
/* New axis i is old axis perm[i]. */
Value *transpose(Node *n, Value *v, int rank, const int64_t *perm);
/* The product of two (batches of) matrices, each transposed if trans_... */
Value *matrices(Node *n, Value *left, bool trans_left, Value *right, bool trans_right);
/* Elements [from, to) along the axis. */
Value *part(Node *n, Value *v, int64_t axis, Dim from, Dim to);
/* Replaces the axis by two: `count` windows with distance `stride`, and their `size` elements with distance
 * `dilation`. */
Value *windows_along(Node *n, Value *v, int64_t axis, Dim count, Dim stride, Dim size, Dim dilation);
/* d as a scalar of type t. */
Value *size_as(Node *n, Type t, Dim d);
/* 1, 2, 3... in the shape of x. */
Value *numbered(Node *n, Value *x, Type t);
/* Zeros in the shape of the input, with d added to the elements of these numbers, from 1 on (0: to none). */
Value *scatter_add(const Vjp *b, Value *numbers, Value *d);
/* A node like m with these inputs and new outputs. */
Node *clone_node(Node *n, const Node *m, Value **in, int n_in, int n_out);
