/* ops.h - the interface for the files of ops/: schemas, and access to nodes for their functions. */
#pragma once

#include "ir/assume.h"

/* The schema of one operator version. It has exactly one of bind, pointwise, expand, body and the flag VIEW (control
 * flow: none). */
struct Op {
    const char *name; /* "Softmax" */
    int since_version;
    /* "x:T y?:T idx:int64|int32 rest*:T -> z:T": formal name, ? optional, * variadic (one type), ** variadic (any
     * types); type variables from `types`. A type set is names joined by |, or a group (type.c): F = float16 float
     * double, FB = F bfloat16, I = int8..int64, U = uint8..uint64, IU = I U, N = IU F,
     * ALL = every tensor type before bfloat16 ... */
    const char *signature;
    const char *types; /* "T=N|bool U=int64" */
    /* "axis:int=-1 perm:ints? mode:string=linear alpha:float=0.01 value:tensor? body:graph": no mark: required */
    const char *attrs;
    void (*infer)(Node *n);  /* sets type and shape of every output; reports what is wrong */
    void (*bind)(Node *n);   /* sets n->call, with BIND */
    const char *pointwise;   /* elementwise: the scalar function in scalar.def */
    void (*expand)(Node *n); /* replaces the node by newer or simpler ones (inline.c) */
    const char *body;        /* expand as text: "t = Sub(x, m)  y = Exp(t)"; @alpha: an attribute of the node */
    unsigned flags;
    const char *domain; /* NULL: ai.onnx */
    /* Compatible older versions, "22 T=FB; 8 T=F / alpha:float=1": with their types, if others (subsets of the
     * newest's), and after / their attributes, if others. A version that is not compatible has a schema of its own. */
    const char *compatible;
    /* What the specification allows and the compiler does not, for the table of operators; NULL: nothing. */
    const char *limit;
    /* After inference, from the last node to the first: replaces n or its neighbours by something cheaper; true: n is
     * removed. */
    bool (*simplify)(Node *n);
    /* Called when layout.c has made n channels last (inputs and output 0 of rank >= 3 are N,spatial...,C): adapts the
     * rest. Conv replaces its weights by a pack node, which folds. Operators with this hook and the flag CHANNELS_LAST
     * start a channels-last region; those with the flag alone join if their input is channels last; for those with the
     * hook alone it is called once (MatMul packs a constant matrix). */
    void (*layout)(Node *n);
    /* May layout.c make n channels last? NULL: always. */
    bool (*goes_last)(Node *n);
    /* Adapts the attributes to a transposition of all inputs and of the output by perm (new axis i is old axis
     * perm[i]); false: impossible. permute_axis does so for an attribute "axis". ELEMENTWISE operators need no hook. */
    bool (*permute)(Node *n, const int64_t *perm, int rank);
    /* With the flag SCALES or OFFSETS: the operator of c such that x * inverse(c), or x + inverse(c), is n's result if
     * x is its input 0 and c its input 1; NULL: it is x * c, or x + c, whichever comes first. */
    const char *inverse;
    /* The scalar function of two elements by which it makes one of many, for symbolic integers; NULL: it does not. */
    const char *reduces_by;
    /* Folds y * factor[channel] + offset[channel] (constants with one element per output channel, or NULL) into n's
     * constant weights and bias; false: impossible. */
    bool (*fold_scale)(Node *n, Value *factor, Value *offset);
    /* For attributes that name values of the graph: turns these into inputs, before inlining copies functions, whose
     * names are then no longer unique. */
    void (*named)(Node *n);
    /* 1 + the input whose elements the kernel checks at run time; 0: none */
    int checks;
    /* Drops outputs without uses, before dead code is sought in n's subgraphs. */
    void (*unread)(Node *n);
};

enum {
    VIEW = 1 << 0,          /* output 0 has input 0's bytes under another shape: no code */
    INPLACE = 1 << 1,       /* output 0 may overwrite input 0 (same element size and count) */
    MOVES = 1 << 2,         /* only moves elements: a splat folds to a splat; symbolic integers pass through */
    RANDOM = 1 << 3,        /* never folded, never merged */
    EPILOGUE = 1 << 4,      /* its kernels apply an epilogue to what they store */
    CHANNELS_LAST = 1 << 5, /* infer and bind understand n->channels_last */
    ELEMENTWISE = 1
        << 6, /* commutes with any permutation of the axes of its (broadcast) inputs; pointwise operators always do */
    DEPRECATED = 1 << 7, /* removed: using this version is an error that names the last valid one */
    CONTROL = 1 << 8,    /* If and Loop: nested graphs; eval.c and emit_code.c run and print them without a kernel */
    NOFOLD = 1 << 9,
    INSPECTS_PRODUCERS = 1 << 10, /* its meaning depends on the nodes of its inputs, those of constants included */
    STOPS = 1 << 12,    /* a run may end in it, for its inputs' values: kept even if its results are not used */
    PRETYPED = 1 << 11, /* the creator sets type and shape (or its upper bound) of the outputs */
    CUSTOM = 1 << 13,   /* the user's (--custom-op): any number of arguments, any attributes */
    SCALES = 1 << 14,   /* multiplies two values, see `inverse` */
    OFFSETS = 1 << 15,  /* adds two values */
    PACKS = 1 << 17,    /* lays weights out for a kernel, which finds their codes by the constant's origin */
    REFUSED = 1 << 16,  /* stands for the operator of a node that is wrong: its results are unknown */
};

/* Registers a table of schemas, at the foot of its file. */
#define OPS(table)                                                                                                     \
    const Op *const table##_at __attribute__((section("onnxcc_ops"), used)) = table;                                   \
    const int table##_n __attribute__((section("onnxcc_opn"), used)) = (int)(sizeof table / sizeof *table)

/* ---- access to a node -------------------------------------------------------------------------------------------- */

static inline Value *in(const Node *n, int i) { return i < n->n_in ? n->in[i] : NULL; } /* NULL: omitted */
static inline Value *out(const Node *n, int i) { return i < n->n_out ? n->out[i] : NULL; }
Shape in_shape(const Node *n, int i);
Type in_type(const Node *n, int i);

/* Attributes, or the schema's defaults. */
int64_t attr_int(const Node *n, const char *name);
double attr_float(const Node *n, const char *name);
const char *attr_string(const Node *n, const char *name);          /* "" when absent */
int attr_ints(const Node *n, const char *name, const int64_t **v); /* the count; -1: absent, and no default */
int attr_floats(const Node *n, const char *name, const float **v);
int attr_strings(const Node *n, const char *name, const Name **v);
bool attr_is(const Node *n, const char *name, const char *value);
bool attr_is_given(const Node *n, const char *name);
/* The index of the attribute's text among `choices`, which ends with NULL; an error and -1 if it is none of them. */
int attr_choice(Node *n, const char *name, const char *const *choices);
/* Type number t, from the attribute `name`, if the first output may have it; else reports an error and returns
 * NO_TYPE. */
Type attr_type(Node *n, const char *name, int64_t t);
Type attr_precision(Node *n, const char *name);
/* The attribute `name`, or `axis`, as a non-negative axis; an error unless it is in [-rank, rank). */
int attr_axis(Node *n, const char *name, int rank);
int axis_of(Node *n, int64_t axis, int rank);
/* Marks an axis of a list; false: it is outside, or marked already, and reported. */
bool mark_axis(Node *n, int64_t axis, int rank, bool *marked);
bool require_rank(Node *n, int rank); /* rank <= MAX_RANK? Otherwise reports an error */

/* The integers of an input that determines a shape. Constant elements are numbers, symbolic ones expressions, and
 * elements known only at run time become symbols that are read from the tensor: so every operator accepts run-time
 * sizes. Returns their count, or -1 after an error if the count is unknown or above `max`. */
int in_dims(Node *n, int i, Dim *out, int max);
/* The same for integers that must be constant (axes); otherwise an error that suggests --const. */
int in_ints(Node *n, int i, int64_t *out, int max);
Dim value_dim(Value *v, int e);         /* integer element e: a number, an expression, or a symbol read at run time */
bool in_is_const(const Node *n, int i); /* has a constant that is not symbolic */
double in_float(const Node *n, int i, double otherwise); /* a constant scalar; `otherwise` if it is none */

/* ---- infer ---------------------------------------------------------------------------------------------- */

void set_out(Node *n, int i, Type t, Shape s); /* sets output i, if present */
void infer_same(Node *n);                      /* output 0 has type and shape of input 0 */
void infer_broadcast(Node *n);                 /* output 0 has the type of input 0 and the broadcast shape of all */
void infer_compare(Node *n);                   /* the same, with type bool */
#define node_error(n, ...) error_node(n, "OPR-01", __VA_ARGS__)

/* ---- expand -------------------------------------------------------------------------------------------- */

/* These insert new nodes before n. Inputs may be NULL (omitted). */
/* A node with one output, which is returned; the inputs follow n_in. They are in a list because C evaluates lists from
 * left to right, but the arguments of a function in any order: nested calls of make create nodes in a fixed order. */
#define make(n, op, n_in, ...) make_list(n, op, n_in, (Value *[MAX_ARGS]){__VA_ARGS__})
Value *make_list(Node *n, const char *op, int n_in, Value **in);
Node *make_node(Node *n, const char *op, int n_in, Value **in, int n_out);
Value *make_cast(Node *n, Value *v, Type t);        /* v converted to t; v itself if it has the type */
Value *make_ints(Node *n, int k, const int64_t *v); /* constants */
Value *make_dims(Node *n, int k, const Dim *v);     /* the same with sizes */
/* ops/unfold.c: v, constant weights of n, computed from codes at every run; NULL: they are not made of codes */
Value *unfolded(Node *n, Value *v);
/* Constant weights of n times a factor: that of codes becomes a part of their scale, and they stay codes. */
Value *weights_times(Node *n, Value *w, Value *factor);
/* ops/slice.c: the `count` elements of v from `from` on; a piece of an axis whose pieces are certain to add up to it */
Value *make_piece(Node *n, Value *v, int axis, Dim from, Dim count);
Value *make_reshape(Node *n, Value *v, int rank, const Dim *dim); /* ops/view.c; a 0 in dim is the size 0 */
/* ops/within.c: v, checked at run time: low <= element <= high, or < high if `below`; NULL: NULL */
Value *make_within(Node *n, Value *v, int64_t low, Dim high, bool below);
Value *make_divisor(Node *n, Value *v);                 /* v, checked at run time not to be 0 */
Value *make_int(Node *n, int64_t v);                    /* I64, rank 0 */
Value *make_scalar(Node *n, Type t, double v);          /* rank 0 */
Value *with_int(Value *v, const char *attr, int64_t i); /* v, after setting the attribute on its node */
void replace_out(Node *n, int i, Value *by);            /* makes all uses of output i read `by` */
void expand_to(Node *n, Value *y);                      /* replaces n, which has one output, by y */
void expand_done(Node *n);                              /* removes n */
void expand_same(Node *n); /* replaces n by the newest version with the same inputs and attributes */
void expand_body(Node *n, const char *text);

/* ---- layout -------------------------------------------------------------------------------------------- */

/* ops/transpose.c. make_transpose: a Transpose of v for the node `by`, not inserted yet. is_transpose: is n (or NULL)
 * a Transpose? Sets perm. */
Node *make_transpose(Node *by, Value *v, const int64_t *perm);
bool is_transpose(const Node *n, int64_t *perm);

bool permute_axis(Node *n, const int64_t *perm, int rank);
