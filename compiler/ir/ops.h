/* ops.h - what a family file in ops/ is written with: schemas, and how infer and bind look at a node. */
#ifndef ONNXCC_OPS_H
#define ONNXCC_OPS_H

#include "ir/assume.h"

/* The schema of one operator version. Exactly one of bind, pointwise, expand, body, or the flag VIEW (control flow has only infer). */
struct Op {
    const char *name; /* "Softmax" */
    int since_version;
    /* "x:T y?:T idx:int64|int32 rest*:T -> z:T": formal name, ? optional, * variadic (one type), ** variadic (any
     * types); type variables from `types`. A type set is names joined by |, or a group (type.c): F = float16 float
     * double, FB = F bfloat16, I = int8..int64, U = uint8..uint64, N = I U FB, ALL = every tensor type of its time... */
    const char *signature;
    const char *types; /* "T=N|bool U=int64" */
    /* "axis:int=-1 perm:ints? mode:string=linear alpha:float=0.01 value:tensor? body:graph": no mark: required */
    const char *attrs;
    void (*infer)(Node *n);  /* sets type and shape of every output; reports what is wrong */
    void (*bind)(Node *n);   /* sets n->call, with BIND */
    const char *pointwise;   /* elementwise: the scalar function in scalar.def */
    void (*expand)(Node *n); /* replaces the node by newer or simpler ones (inline.c) */
    const char *body;        /* the same as text: "t = Sub(x, m)  y = Exp(t)", attributes of the node as @alpha */
    unsigned flags;
    const char *domain; /* NULL: ai.onnx */
    /* Compatible versions: older ones that mean the same, "22 T=FB; 8 T=F / alpha:float=1", with their types (among the
     * newest's), and attributes after / where they had others. A version that means something else has its own schema. */
    const char *compatible;
    const char
        *limit; /* what the specification allows and the compiler does not, for the support table; NULL: nothing */
    /* After inference, the last node first: replaces n, or its neighbours, by something better; true: n is gone. */
    bool (*simplify)(Node *n);
    /* layout.c has made n channels last (in and out 0 of rank >= 3 are N,spatial...,C): what else must change? Conv
     * replaces its weights by a pack node, which folds. Operators with this hook and the flag CHANNELS_LAST start a
     * channels-last region; those with the flag alone follow when their input is channels last already; for those with the
     * hook alone it is called once (MatMul packs a constant matrix). */
    void (*layout)(Node *n);
    /* All inputs are about to be transposed by perm (new axis i is old axis perm[i]), the output with them: adapt the
     * attributes; false: cannot. permute_axis does it for one attribute "axis". ELEMENTWISE operators need none. */
    bool (*permute)(Node *n, const int *perm, int rank);
    /* n is x * c, x + c ... with x at input k and c constant: c (or what is made of it, before `before`) as what x is
     * multiplied by, or as what is added to it; false: neither. */
    bool (*affine)(Node *before, int k, Value *c, Value **factor, Value **offset);
    /* y * factor[channel] + offset[channel] (constants of one element per output channel, or NULL): take it into the
     * constant weights and bias; false: cannot. */
    bool (*absorb)(Node *n, Value *factor, Value *offset);
    /* Attributes of n name values of its graph: makes them inputs, before functions are inlined, which have the same
     * names in every copy. */
    void (*named)(Node *n);
    /* 1 + the input whose elements the kernel checks when it runs; 0: it checks none */
    int checks;
    void (*unread)(Node *n); /* drops outputs without uses, before dead code is sought in n's subgraphs */
};

enum {
    VIEW = 1 << 0,          /* output 0 is input 0's bytes under another shape: no code */
    INPLACE = 1 << 1,       /* output 0 may be written over input 0 (same element size and count) */
    MOVES = 1 << 2,         /* only moves elements: folding a fill gives a fill; symbolic integers may pass through */
    RANDOM = 1 << 3,        /* never folded, never merged */
    EPILOGUE = 1 << 4,      /* its kernels apply an epilogue to what they store */
    CHANNELS_LAST = 1 << 5, /* infer and bind understand n->channels_last */
    ELEMENTWISE = 1 << 6,   /* commutes with any permutation of its (broadcast) inputs; pointwise ones always do */
    DEPRECATED = 1 << 7,    /* removed: using this version is an error that names the last valid one */
    CONTROL = 1 << 8,       /* has graphs: exec.c and emit.c know it by its kind */
    NOFOLD = 1 << 9,
    INSPECTS_PRODUCERS = 1 << 10, /* what it means depends on the nodes before it, those of constants too */
    STOPS = 1 << 12,              /* running it is an error, so it runs whoever reads its results */
    PRETYPED = 1 << 11,           /* the creator sets type and shape (or its upper bound) of the outputs */
    CUSTOM = 1 << 13,             /* the user's own: number of arguments, and attributes, are as the model has them */
};

/* Registers a table; the one line a family file needs besides its schemas. */
#define OPS(table)                                                                                                     \
    const Op *const table##_at __attribute__((section("onnxcc_ops"), used)) = table;                                   \
    const int table##_n __attribute__((section("onnxcc_opn"), used)) = (int)(sizeof table / sizeof *table)

/* ---- looking at a node -------------------------------------------------------------------------------- */

static inline Value *in(const Node *n, int i) { return i < n->n_in ? n->in[i] : NULL; } /* NULL: omitted */
static inline Value *out(const Node *n, int i) { return i < n->n_out ? n->out[i] : NULL; }
Shape in_shape(const Node *n, int i);
Type in_type(const Node *n, int i);

/* Attributes, with the schema's default. */
int64_t attr_int(const Node *n, const char *name);
double attr_float(const Node *n, const char *name);
const char *attr_string(const Node *n, const char *name);          /* "" when absent */
int attr_ints(const Node *n, const char *name, const int64_t **v); /* how many; -1 when absent and without default */
int attr_floats(const Node *n, const char *name, const float **v);
int attr_strings(const Node *n, const char *name, const Name **v);
bool attr_is(const Node *n, const char *name, const char *value);
bool attr_given(const Node *n, const char *name);
/* Number t, of the attribute `name`, as a type that the first output can have; NO_TYPE after an error. */
Type attr_type(Node *n, const char *name, int64_t t);
/* The attribute `name` in [-rank, rank), made non-negative; an error on the node otherwise. */
int attr_axis(Node *n, const char *name, int rank);
int axis_of(Node *n, int64_t axis, int rank);
bool require_rank(Node *n, int rank); /* may a result have so many dimensions? Else it is reported */

/* Integers of an input that decide a shape. Constant elements are numbers, symbolic ones expressions, and elements
 * known only at run time become symbols read from the tensor: so every operator accepts run-time sizes. Returns how
 * many, or -1 (with an error reported) when even their count is unknown. out has room for `max`. */
int in_dims(Node *n, int i, Dim *out, int max);
/* The same, but they must be numbers now (axes): error with help (--const) otherwise. */
int in_ints(Node *n, int i, int64_t *out, int max);
Dim value_dim(Value *v, int e);      /* integer element e: number, expression, or a symbol read at run time */
bool in_const(const Node *n, int i); /* its contents are known */
double in_float(const Node *n, int i, double otherwise); /* a scalar known now, or `otherwise` when omitted */

/* ---- infer ---------------------------------------------------------------------------------------------- */

void set_out(Node *n, int i, Type t, Shape s); /* output i, if it is there */
void infer_same(Node *n);                      /* output 0: type and shape of input 0 */
void infer_broadcast(Node *n);                 /* all inputs broadcast; type of input 0 */
void infer_compare(Node *n);                   /* the same, bool */
#define node_error(n, ...) error_node(n, "", __VA_ARGS__)

/* ---- expand -------------------------------------------------------------------------------------------- */

/* New nodes before n. Inputs may be NULL (omitted); the last ones too. */
/* One output; then Value * ... Nodes are made in the order in which they are written: C leaves open which argument of a
 * function is evaluated first, and compilers differ, but all of them go through a list from left to right. */
#define make(n, op, n_in, ...) make_list(n, op, n_in, (Value *[MAX_ARGS]){__VA_ARGS__})
Value *make_list(Node *n, const char *op, int n_in, Value **in);
Node *make_node(Node *n, const char *op, int n_in, Value **in, int n_out);
Value *make_cast(Node *n, Value *v, Type t);                      /* v as t: v itself when it is known to be */
Value *make_ints(Node *n, int k, const int64_t *v);               /* constants */
Value *make_dims(Node *n, int k, const Dim *v);                   /* the same, of sizes */
Value *make_reshape(Node *n, Value *v, int rank, const Dim *dim); /* ops/view.c; 0 in it is 0 */
/* ops/within.c: v, all of whose elements must be from low to high, or below that; NULL: NULL */
Value *make_within(Node *n, Value *v, int64_t low, Dim high, bool below);
Value *make_divisor(Node *n, Value *v);                 /* an integer that is not 0 when the model runs */
Value *make_int(Node *n, int64_t v);                    /* I64, rank 0 */
Value *make_scalar(Node *n, Type t, double v);          /* rank 0 */
Value *with_int(Value *v, const char *attr, int64_t i); /* v, whose node has the attribute */
void replace_out(Node *n, int i, Value *by);            /* uses of output i now read `by` */
void expand_to(Node *n, Value *y);                      /* all that n gives is y */
void expand_done(Node *n);                              /* removes n */
void expand_same(Node *n); /* this version means the same as the newest (its attributes too): for most old versions */
void expand_body(Node *n, const char *text);

/* ---- layout -------------------------------------------------------------------------------------------- */

/* ops/transpose.c: a Transpose made for the node `by`, not inserted yet; is n one (NULL: no), and of which permutation? */
Node *make_transpose(Node *by, Value *v, const int64_t *perm);
bool transpose_perm(const Node *n, int *perm);

bool permute_axis(Node *n, const int *perm, int rank);

#endif
