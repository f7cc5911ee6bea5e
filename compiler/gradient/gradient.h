/* gradient.h - reverse-mode differentiation, between its files: vector-Jacobian products of nodes, and the tape. */
#ifndef ONNXCC_GRADIENT_H
#define ONNXCC_GRADIENT_H

#include "ir/ops.h"
#include "passes/infer.h"

/* What a vjp rule is given: node m, and d, the adjoint of its output o (the gradient of y with respect to it). */
typedef struct Vjp {
    Node *n, *m; /* n: the Gradient node; new nodes go before it */
    Value *d;
    int i, o; /* the input whose adjoint the rule computes, and the output */
} Vjp;

/* *v = gradient with respect to input i. False: no rule. *v unchanged: the gradient is zero. */
bool vjp_by_formula(const Vjp *b, Value **v);  /* formulas.c */
bool vjp_by_moves(const Vjp *b, Value **v);    /* moves.c */
bool vjp_by_function(const Vjp *b, Value **v); /* functions.c */
bool vjp_by_windows(const Vjp *b, Value **v);  /* windows.c: convolutions and pools */
Value *attention_vjp(const Vjp *b);            /* attention.c */
Value *fourier_vjp(const Vjp *b);              /* numeric.c */
Value *det_vjp(const Vjp *b);
Value *svm_kernel_vjp(const Vjp *b);
Value *svm_contest_vjp(const Vjp *b);
Value *affine_grid_vjp(const Vjp *b); /* sample.c */
Value *roi_align_vjp(const Vjp *b);

/* A tape: forward replay from xs to y through the nodes of one graph, and its reverse sweep. The values that it replays are
 * those of the model, or clones of them: remap says which. */
typedef struct Tape {
    Node *n;                  /* new nodes go before it */
    const struct Tape *outer; /* the tape of the graph around */
    bool forward_only;        /* replayed without a reverse sweep */
    Map map;                  /* from a value of the model to the one that stands for it */
    Map active;               /* of the latter: those that depend on xs */
    Map adjoint;              /* of active values, as far as accumulated */
    VEC(Node *) nodes;        /* in order */
    bool in_loop;             /* through a loop's body */
    VEC(Node *) gathers;      /* of captured values: their adjoints are accumulated once for all iterations */
} Tape;

Value *remap(const Tape *p, Value *v);
bool has_element(const Value *v, int i); /* whatever its size at run time */
Dim remap_size(const Tape *p, Dim d);
bool is_active(const Tape *p, const Value *v);
void replay(Tape *p, Node *m);                  /* with remapped inputs */
void backward(Tape *p);                         /* the reverse sweep: adjoints of all that was replayed */
void accumulate(Tape *p, Value *v, Value *d);   /* adds d to the adjoint of v */
void backward_through(Tape *p, Node *m, int o); /* from the adjoint of output o to those of m's inputs */
/* What m reads: its inputs and, when it has nested graphs, what these read. */
void each_read(Node *m, void (*visit)(Value *, void *), void *arg);

/* control.c */
Node *clone_remapped(const Tape *p, Node *m, Value **in); /* m with these inputs, its graphs with remapped ones */
Graph *decided_branch(const Node *m, Value *const *in);   /* of an If whose condition is known; else NULL */
void control_vjp(Tape *p, Node *m);                       /* adjoints of all that If or Loop m reads */
bool defer_gather(Tape *p, Node *m);                      /* true: m is one of the tape's gathers */

/* A Loop before n of so many iterations, whose states begin as `from`. Returns the end of its body: nodes of the body go
 * before it; input 0 of its graph is the iteration's number, inputs 2, 3... are the states. */
Node *loop_begin(Node *n, Dim trips, int states, Value *const *from);
/* Ends the body with k values: the new states, then scan outputs. Returns the Loop. */
Node *loop_end(Node *end, int k, Value *const *of);

/* The recurrent node m with these inputs as a loop of ordinary nodes before n, whose results are `out`; false: m is no
 * such node. */
bool decompose_recurrent(Node *n, const Node *m, Value **in, Value **out);

/* The same for other nodes without a gradient rule for some active input; decompose.c lists them. */
bool decompose(Node *n, Node *m, const bool *active, Value **out);
bool decompose_attention(Node *n, Node *m, Value **out); /* attention.c */
bool decompose_rotary(Node *n, Node *m, Value **out);
bool decompose_linear_attention(Node *n, Node *m, Value **out);
bool decompose_svm_probability(Node *n, Node *m, Value **out); /* numeric.c */
bool decompose_frames(Node *n, Node *m, Value **out);
bool decompose_grid_sample(Node *n, Node *m, Value **out); /* sample.c */
bool decompose_roi_align(Node *n, Node *m, Value **out);
bool decompose_deform_conv(Node *n, Node *m, Value **out);
bool decompose_resize_table(Node *n, Node *m, Value **out);

/* A rule as a function, which returns the adjoint of the input in the input's shape; NULL: no rule for this node. */
typedef struct VjpRule {
    const char *op;
    Value *(*rule)(const Vjp *b);
} VjpRule;
bool vjp_by_rule(const VjpRule *f, size_t count, const Vjp *b, Value **v);

/* The nodes of a formula (formulas.c has the syntax). */
Value *formula(const Vjp *b, const char *text);

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
/* v, of the shape `from`, summed over the axes along which x was broadcast to that shape. */
Value *sum_to_shape(Node *n, Value *v, Shape from, Value *x);
/* New axis i is old axis perm[i]. */
Value *transpose(Node *n, Value *v, int rank, const int64_t *perm);
/* The product of two matrices, or of many. */
Value *matrices(Node *n, Value *left, bool trans_left, Value *right, bool trans_right);
/* Elements [from, to) along the axis. */
Value *part(Node *n, Value *v, int64_t axis, Dim from, Dim to);
/* The axis becomes two: `count` windows that are `stride` apart, each of `size` elements that are `dilation` apart. */
Value *windows_along(Node *n, Value *v, int64_t axis, Dim count, Dim stride, Dim size, Dim dilation);
/* Of rank 0. */
Value *size_as(Node *n, Type t, Dim d);
/* Of the shape of x: 1, 2, 3... in the order of its elements. */
Value *numbered(Node *n, Value *x, Type t);
/* Zeros like the input, d added to the elements that have these numbers (from 1; 0: to none). */
Value *scatter_add(const Vjp *b, Value *numbers, Value *d);
/* A node like m with other inputs. */
Node *clone_node(Node *n, const Node *m, Value **in, int n_in, int n_out);

#endif
