/* onnxcc.h - the data model of the compiler, then its stages in pipeline order. */
#ifndef ONNXCC_H
#define ONNXCC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ONNXCC_VERSION "0.1.0"
#define MAX_RANK 16
#define MAX_ARGS 24 /* pointers one kernel call may take */
#define MOST_SIZES 4 /* that it may report */

typedef struct Node Node;
typedef struct Graph Graph;
typedef struct Value Value;
typedef struct Model Model;
typedef struct Op Op;
typedef struct Loop Loop;
typedef struct Kernel Kernel;

/* ---- util.c: one pool per run, interned names, growing arrays -------------------------------------- */

/* Zeroed memory that lives until pool_free or pool_reset; never fails (out of memory is a located error). */
void *pool_alloc(size_t bytes);
void pool_free(void *p, size_t bytes);
/* What is a multiple of 16 is aligned to 16, else to 8; so elements, of which some want it, take: */
#define ELEMENTS_ROOM(bytes) (((size_t)(bytes) + 16) & ~(size_t)15)
void *pool_grow(void *old, size_t old_bytes, size_t new_bytes);
void pool_reset(void);
/* A variable that belongs to one run: zero at its start, and zeroed by pool_reset. A run that fails leaves nothing to the next. */
#define OF_RUN __attribute__((section("onnxcc_run")))
/* Zeroed memory for one tensor, aligned to 64; freed by big_free, or by pool_reset at the latest. */
void *big_alloc(size_t bytes);
void big_free(void *p);
#define NEW(T) ((T *)pool_alloc(sizeof(T)))
#define NEWS(T, n) ((T *)pool_alloc(sizeof(T) * (size_t)(n)))

/* A growing array in the pool: VEC(Node *) v = {0}; vec_push(&v, n); v.at[i], v.n */
#define VEC(...)                                                                                                       \
    struct {                                                                                                           \
        __VA_ARGS__ *at;                                                                                               \
        int n, cap;                                                                                                    \
    }
#define vec_push(v, x)                                                                                                 \
    ((v)->n == (v)->cap ? ((v)->at = vec_more((v)->at, &(v)->cap, sizeof *(v)->at), 0) : 0, (v)->at[(v)->n++] = (x))
void *vec_more(void *at, int *cap, size_t size);
#define vec_trim(v) ((v)->at = vec_fit((v)->at, (v)->n, &(v)->cap, sizeof *(v)->at)) /* to what is in it */
void *vec_fit(void *at, int n, int *cap, size_t size);

/* A model's string: any bytes, with a length; interned, so equal names are equal pointers. Always followed by a NUL.
 * Files that print C do not see the bytes: emit/quote.c escapes them. */
typedef const struct NameBytes *Name;
#ifndef NAMES_ARE_OPAQUE
struct NameBytes {
    uint32_t n;
    char s[];
};
#endif
Name name_bytes(const char *s, size_t n);
Name name(const char *s);
Name name_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool name_is(Name a, const char *s);

/* A pool-allocated hash table from pointers (names, values) to pointers. */
typedef struct Map {
    const void **key;
    void **value;
    int n, cap;
} Map;
void *map_get(const Map *m, const void *key);
void map_put(Map *m, const void *key, void *value);
void map_free(Map *m);

/* A growing text; one with `to` is written there whenever it has grown to some size, and at last by text_flush. */
typedef struct Text {
    char *s;
    size_t n, cap;
    struct Output *to;
} Text;
void text_put(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vput(Text *t, const char *format, va_list args);
void text_bytes(Text *t, const void *bytes, size_t n);
void text_flush(Text *t);
/* The bytes of all texts that were begun or have grown since the mark are given up; else they live until pool_reset. */
typedef struct TextMark {
    int pieces;
    size_t used;
} TextMark;
TextMark text_mark(void);
void text_release(TextMark m);

/* ---- type.c: element types, dimensions, shapes, tensors ------------------------------------------ */

/* ONNX's own numbers (TensorProto.DataType). */
/* clang-format off */
typedef enum Type {
    NO_TYPE = 0, F32 = 1, U8, I8, U16, I16, I32, I64, STR, B8, F16, F64, U32, U64, C64, C128, BF16,
    F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, U4, I4, F4E2M1, F8E8M0, U2, I2, F6E2M3, F6E3M2, N_TYPES
} Type;
/* clang-format on */

const char *type_tag(Type t);  /* "f32": suffix of kernels and C type of an element */
const char *type_onnx(Type t); /* "float": ONNX's name in messages */
Type type_by_tag(const char *tag);
int type_bits(Type t);   /* 32 for F32, 4 for I4 */
Type type_arith(Type t); /* the type kernels compute in: F32 for F16, I32 for I8 */
Type type_wide(
    Type t); /* F32 for F16 and BF16, so that what is computed in steps is rounded once; others as they are */
Type type_part(Type t);    /* what a complex number is two of; others as they are */
Type type_storage(Type t); /* the type that moves its bytes: U32 for F32, U4 for I4, C128 for C128, U64 for C64 */
size_t type_bytes(Type t, int64_t count); /* bytes of count elements, packed as ONNX packs them */
bool type_is_float(Type t);               /* any binary floating type, the 4-, 6- and 8-bit ones included */
bool type_is_int(Type t);                 /* signed or unsigned, bool excluded */
bool type_is_signed(Type t);

/* A size: a number, or an expression over symbols (hash-consed, so equal expressions are equal Dims).
 * Never look inside: D(3), dim_is(d, 3), dim_add(a, b) ... Arithmetic folds constants and saturates. */
typedef struct Dim {
    int64_t v;
} Dim;
#define DIM_TAG 0x6F6E6E78 /* "onnx": the upper half of the 2^32 numbers near 8e18 that stand for expressions */
static inline Dim D(int64_t v) { return (Dim){v >> 32 == DIM_TAG ? INT64_MAX : v}; } /* those are as good as infinite */
bool dim_const(Dim d);                                                               /* a plain number? */
int64_t dim_value(Dim d);         /* the number; bug() when it is an expression */
bool dim_is_number_ok(int64_t v); /* false for the numbers that D() cannot take as they are */
bool dim_at_most(Dim a, Dim b);   /* proven: a <= b whatever the symbols are */
static inline bool dim_same(Dim a, Dim b) { return a.v == b.v; }
static inline bool dim_is(Dim d, int64_t v) { return d.v == v; }
Dim dim_add(Dim a, Dim b);
Dim dim_sub(Dim a, Dim b);
Dim dim_mul(Dim a, Dim b);
Dim dim_div(Dim a, Dim b);  /* floor; b > 0 */
Dim dim_ceil(Dim a, Dim b); /* ceiling; b > 0 */
Dim dim_mod(Dim a, Dim b);  /* floor modulo; b > 0 */
Dim dim_min(Dim a, Dim b);
Dim dim_max(Dim a, Dim b);
Dim dim_less(Dim a, Dim b);          /* 1 or 0 */
Dim dim_equal(Dim a, Dim b);         /* 1 or 0 */
Dim dim_select(Dim c, Dim a, Dim b); /* c != 0 ? a : b */
int dim_size(Dim d);                 /* symbols and operations in it */
int64_t dim_low(Dim d);              /* proven bounds; INT64_MIN / INT64_MAX when there is none */
int64_t dim_high(Dim d);
void dim_print(Text *t, Dim d, bool as_c);        /* as_c: an expression over the emitted C's size variables */
void dim_print_factor(Text *t, Dim d, bool as_c); /* the same, in parentheses where it could not stand in a product */

/* A symbol: a dimension known only at run time. */
typedef struct Symbol {
    Name name;         /* dim_param, or a made-up one; unique */
    int64_t low, high; /* inclusive; high == INT64_MAX: no bound yet */
    Dim most;          /* over other symbols, perhaps: when these have a bound, so has it */
    bool user;         /* named in the model, so that --dim can set it */
    Value *from;       /* where its run-time value comes from: an element of an integer tensor, ... */
    int element;
    Value *input; /* ... or dimension `axis` of a graph input, ... */
    int axis;
    Node *node;          /* ... or the size that a kernel reports (NonZero) */
    struct Symbol *next; /* of the same node or `from` */
    int id;
    Dim fixed;             /* what it is, when that is known; else itself */
    int64_t value;         /* while exec.c runs */
    bool known;            /* it has its value: in this run, or where the emitted text is now */
    struct Symbol *beside; /* scope.c: of the same graph */
    const char *c;         /* variable in the emitted C */
} Symbol;
Symbol *symbol_by_name(Name n); /* model-wide: one meaning per name; made when missing */
Symbol *symbol_fresh(const char *why, int64_t low, int64_t high); /* within what --dim says of all such, or of it */
Dim dim_symbol(Symbol *s);
int symbol_count(void);
Symbol *symbol_at(int i);
void symbol_made_by(Symbol *s, Node *n); /* n reports its value */
void symbol_read_from(Symbol *s, Value *v, int element);
void symbols_move(Value *from, Value *to); /* which has the same elements */
Symbol *symbols_of(const void *origin);    /* the first of those that this node reports, or that this value gives */
void symbol_fix(Symbol *s, Dim d);         /* s is d from now on; expressions over s follow at their next dim_resolve */
Dim dim_resolve(Dim d);                    /* replaces fixed symbols */
Dim dim_replace(Dim d, Dim (*by)(Symbol *, void *), void *arg); /* d with other sizes for its symbols */
Symbol *symbol_of(Dim d); /* the symbol when d is nothing but a symbol; else NULL */
int64_t dim_eval(Dim d);  /* value under the symbols' current .value */
void dim_symbols(Dim d, void (*visit)(Symbol *, void *), void *arg);

typedef struct Shape {
    int rank; /* -1: unknown */
    Dim dim[MAX_RANK];
} Shape;
Shape shape_of(int rank, const Dim *dim);
const Shape *shape_keep(Shape s);                       /* kept once: equal shapes are one */
const int64_t *dims_keep(int rank, const int64_t *dim); /* the same for numbers */
Shape shape_list(int rank, ...);                        /* Dims */
Dim shape_count(Shape s);                               /* number of elements */
Dim shape_product(Shape s, int from, int to);           /* of dim[from..to) */
bool shape_same(Shape a, Shape b);
bool shape_const(Shape s);
bool shape_broadcast(Shape a, Shape b, Shape *out); /* numpy's rule; false when impossible */
const char *shape_text(Shape s);                    /* "[1,3,batch]" */

/* Constant contents. Packed as in ONNX raw data, little endian; may be unaligned, pointing into the mapped file. */
typedef struct Tensor {
    Type type;
    int rank;
    const int64_t *dim;
    const void *data; /* NULL while lazy */
    bool fill;        /* every element equals the one at data */
    bool symbolic;    /* I64 whose elements are Dims, some of them expressions */
    bool kept;        /* known by its address: not to be freed */
    bool owned;       /* data was malloc'ed by exec.c, so tensor_drop frees it */
    int thunk_out;    /* lazy: output of */
    Node *thunk;      /* ... the node to run (a fold of large constants) to get the data */
    void *copy;       /* the bytes as kernels want them, when data is unaligned or a fill; see tensor_data */
    uint64_t hash;
} Tensor;
int64_t tensor_count(const Tensor *t);
size_t tensor_size(const Tensor *t);                              /* bytes when not a fill */
Tensor *tensor_new(Type type, int rank, const int64_t *dim);      /* zeroed, in the pool */
Tensor *tensor_lazy(Type type, Shape s);                          /* no data yet; the caller sets thunk */
Tensor *tensor_new_fill(Type type, Shape s, const void *element); /* s constant; one element is copied */
bool tensor_uniform(const Tensor *t);                             /* a fill, or the same bytes in every element */
Tensor *tensor_view(const Tensor *t, Shape s);                    /* the same elements under another shape */
Tensor *tensor_ints(int n, const int64_t *v);                     /* I64, rank 1 */
Tensor *tensor_dims(int n, const Dim *v);                         /* I64, rank 1; symbolic when some are expressions */
Tensor *tensor_float(Type type, double v);                        /* rank 0 */
Tensor *tensor_int(Type type, int64_t v);                         /* rank 0 */
double tensor_get(const Tensor *t, int64_t i); /* element as double (floats), fills and lazy ones too */
int64_t tensor_get_int(const Tensor *t, int64_t i);
Name tensor_get_str(const Tensor *t, int64_t i); /* of STR, whose data are `str`s of rt.h */
void tensor_set_str(Tensor *t, int64_t i, Name s);
Shape tensor_shape(const Tensor *t);
const void *tensor_data(const Tensor *t); /* aligned, all elements: for kernels; computed if lazy; see tensor_drop */
Tensor *tensor_settle(Tensor *t);         /* a symbolic tensor without expressions becomes an ordinary constant */
void tensor_keep(Tensor *t);              /* of one that the pool holds: bytes that are there already are shared */
void tensor_drop(const Tensor *t);        /* the big ones: can be made again when asked for again */

/* ---- the graph -------------------------------------------------------------------------------------- */

typedef enum Form { TENSOR, SEQUENCE, OPTIONAL, MAP, SPARSE, OPAQUE } Form;
typedef struct TypeDesc { /* a TypeProto in full; a dimension it says nothing about is the symbol "?" */
    Form form;
    Type elem, key;
    Shape shape;
    struct TypeDesc *of;
    Name dim_param[MAX_RANK];
} TypeDesc;

typedef struct Use {
    Node *node; /* NULL: output `i` of `graph` */
    Graph *graph;
    int i;
} Use;

/* Integers q that stand for (q - zero) * scale. */
struct Scale {
    Tensor *scale, *zero; /* zero: NULL is 0 */
};

/* How a value lies in its root: element i from byte `offset` on at i / run * pitch + i % run; pitch 0: all together. */
struct Inside {
    Dim offset, run, pitch;
    Dim row; /* of a root: the pitch of what is inside in rows; 0: nothing is */
};
extern const struct Inside all_of_it; /* at its start, together */

struct Value {
    Name name;
    Graph *graph; /* whose scope it belongs to */
    Node *def;    /* NULL: graph input or initializer */
    int def_i;
    Type type;
    const Shape *shape;
    int id;              /* dense numbering, for side tables */
    int input;           /* index among the C inputs, or -1 */
    TypeDesc *desc;      /* as declared (input, output, value_info), or NULL */
    struct Parts *parts; /* of a sequence or optional: container.h */
    Tensor *data;        /* not NULL: constant (or, when data->symbolic, known integers) */
    VEC(Use) uses;
    Form form : 8;
    bool default_only : 1;     /* input with a default (IR >= 4): data is the default, not a constant */
    bool kept : 1;             /* something besides nodes has its address: not to be freed */
    bool left : 1;             /* nobody reads it any more, perhaps */
    bool poisoned : 1;         /* an error was reported here: no follow-up messages */
    bool lasting : 1;          /* its bytes stay until the end of the run: they are the text of strings */
    bool fixed : 1;            /* plan.c, of a root: cannot be rows of something larger */
    bool read : 1;             /* emit: some code has its pointer */
    bool mentioned : 1;        /* ... c occurs there */
    Tensor *fallback;          /* that default */
    const struct Scale *scale; /* what its integers stand for, where one scale holds for all; or NULL */
    int64_t text;              /* of a STR made at run time: bytes of the longest element */
    /* plan.c */
    Value *root;                 /* its storage is inside root's (views, in place, concat); NULL: its own */
    const struct Inside *inside; /* how */
    int64_t offset;              /* in the arena; -1: not there (constant, input, output) */
    int64_t bytes;               /* reserved, for the bounds */
    int live_from, live_to;
    const char *c; /* pointer variable in the emitted C; of a constant: an expression */
};

/* clang-format off */
typedef enum AttrType {
    A_NONE, A_FLOAT, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_FLOATS, A_INTS, A_STRINGS, A_TENSORS, A_GRAPHS,
    A_SPARSE, A_SPARSES, A_TYPE, A_TYPES
} AttrType; /* ONNX's own numbers */
/* clang-format on */
typedef struct Attr {
    Name name;
    Name ref; /* ref_attr_name, inside functions */
    AttrType type;
    int n;    /* of a list */
    Graph *g; /* A_GRAPH; else NULL */
    union {   /* by type */
        int64_t i;
        float f;
        Name s;
        Tensor *t;    /* A_SPARSE too */
        TypeDesc *tp; /* A_TYPES: a list of n */
        const int64_t *ints;
        const float *floats;
        Name *strings;
        Tensor **tensors; /* A_SPARSES too */
        Graph **graphs;
    };
} Attr;
static inline int attr_graphs(const Attr *a) { return a->type == A_GRAPHS ? a->n : 0; }

/* What a bound node calls: a kernel with pointers and parameters (kernel.h). */
typedef union Param {
    Dim d;
    double f;
} Param;
typedef struct Call {
    const Kernel *kernel;
    int n_arg;
    Value **arg;                /* inputs, then outputs; NULL: absent */
    const struct Field *fields; /* of the kernel's parameter struct */
    Param *param;               /* one per field, arrays in full */
    Dim scratch;                /* bytes of scratch, passed last; 0: none */
    Dim scratch_pitch;          /* ... and of more scratch for each element that the kernel's x_pitch grows by */
    Symbol **size;              /* sizes the kernel reports through int64_t pointers after the outputs */
    int n_size;
    Loop *loop;     /* instead of a kernel: a fused elementwise loop (map.c) */
    Loop *epilogue; /* after a kernel flagged EPILOGUE: what happens to each value before it is stored */
} Call;

/* What the file says of a node; shared by everything that the node is expanded into. */
typedef struct Source {
    Name name, op_type, domain, overload;
    const char *within;        /* path of the graph whose node `index` it is */
    const struct Source *call; /* copied from a function's body: the model's node that called it */
    int index;
} Source;

struct Node {
    Node *prev, *next;
    Graph *graph;
    const Op *op;
    const Source *source; /* NULL: the compiler's own */
    Name name;
    int n_in, n_out, n_attr;
    Value **in, **out; /* NULL: omitted */
    int *use;          /* of each input, where it is in the value's uses */
    Attr *attr;
    unsigned joined;    /* plan.c: the parts of a concat that are in their places (bits) */
    bool known;         /* bound or folded already */
    bool gone;          /* infer.c: replaced by what it means */
    bool kept;          /* a symbol or an assumption has its address: not to be freed */
    bool free;          /* plan.c: needs no code (a concat or split without copies) */
    bool channels_last; /* layout.c: inputs and outputs of rank >= 3 are N...C, not NC... */
    Call call;
    int time, end; /* plan.c: position in the linear order; where its nested graphs end */
    int64_t scratch_offset, macs;
};

struct Graph {
    Name name;
    Model *model;
    Graph *parent;             /* enclosing graph, for names */
    Node *owner;               /* node whose attribute it is */
    struct Function *function; /* whose body it is (not set in graphs nested there) */
    Node *first, *last;
    VEC(Value *) in;
    VEC(Value *) out;
    VEC(Value *) init; /* initializers (constants), also those that are inputs */
    Map scope;         /* Name -> Value, of this graph alone */
    const char *path;
};

typedef struct Function {
    Name domain, name, overload;
    VEC(Name) in;
    VEC(Name) out;
    VEC(Name) attr;     /* required attribute names */
    VEC(Attr) defaults; /* attribute_proto */
    VEC(struct Import {
        Name domain;
        int64_t version;
    }) imports;
    Graph *body; /* nodes only; values by name in its scope */
    const char *path;
} Function;

struct Model {
    const char *file; /* as given, for messages */
    Name base;        /* base name, for the banner */
    uint64_t hash;    /* XXH3 of the file's bytes */
    size_t bytes;
    int64_t ir_version, model_version;
    Name producer, producer_version, domain, doc;
    VEC(struct Import) imports;
    VEC(struct Prop { Name key, value; }) props;
    VEC(Function *) functions;
    VEC(struct Devices {
        Name name;
        int64_t n;
    }) devices; /* read under --strict alone */
    VEC(struct Training { Graph *init, *algorithm; }) training;
    VEC(struct Share { /* storage of a and b is one; copy: what puts b there */
        Value *a, *b;
        Node *copy;
    }) shares;
    Graph *graph;
    int dir;      /* folder of the model, for external data; -1: none (standard input) */
    int n_nodes;  /* as read, for the report */
    int n_values; /* ids given so far */
};

/* graph surgery (graph.c) */
Value *value_new(Graph *g, Name n); /* a fresh value; n may be NULL */
Value *value_const(Graph *g, Tensor *t);
/* Before memory is planned: one storage for both (a branch's result and the If's). */
void value_share(Value *a, Value *b);
/* The same for what a loop's iteration ends with: copied, unless it is made there. */
void value_carry(Value *state, Node *copy);
void value_free(Value *v); /* and its memory: nobody reads it, nothing has its address */
void values_free(
    void); /* gives back values that nobody reads and no node makes any more, when no code has one in hand */
void values_stay(void); /* from now on it does not: there are sequences, that have them */
/* Newest version; outputs made; not inserted. */
Node *node_new(Graph *g, const char *op, int n_in, Value **in, int n_out);
void node_insert(Node *n, Node *before); /* before == NULL: at the end */
void node_remove(Node *n);               /* and its uses */
void node_free(Node *n);                 /* and its memory: nothing in the model points to it any more */
void node_inputs(Node *n, int n_in);     /* room for so many, all omitted */
void node_set_in(Node *n, int i, Value *v);
void node_set_inputs(Node *n, int n_in, Value *const *in);
void value_replace(Value *old, Value *by);        /* every use, graph outputs too */
void graph_set_output(Graph *g, int i, Value *v); /* output i is v from now on */
void graph_add_output(Graph *g, Value *v);
void node_move(Node *n, Node *before); /* with its outputs, into before's graph */
bool value_is_output(const Value *v);
const char *node_path(const Node *n);             /* "graph.node[3]"; "a node": the compiler's own */
Name node_op(const Node *n);                      /* its operator's name */
Attr *node_attr(const Node *n, const char *name); /* or NULL */
void attr_set_int(Node *n, const char *name, int64_t v);
void attr_set_ints(Node *n, const char *name, int k, const int64_t *v);
void attr_set_float(Node *n, const char *name, double v);
void attr_set_string(Node *n, const char *name, const char *v);
void attr_set(Node *n, Attr a);
/* Visits every node in execution order, nested graphs before the node that owns them. */
void graph_each_node(Graph *g, void (*visit)(Node *, void *), void *arg);
void node_each_graph(const Node *n, void (*visit)(Graph *, void *), void *arg); /* nested in n directly */

/* ---- error.c: diagnostics ----------------------------------------------------------------------------- */

enum { EXIT_MODEL = 1, EXIT_USAGE = 2, EXIT_IO = 3, EXIT_BUG = 70 };

/* Each prints "error[CODE]: MESSAGE", where it is, and is counted; the stage goes on. CODE: a SPEC row or "". */
void error_node(const Node *n, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void error_value(const Value *v, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void error_at(const char *path, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same of a message whose place is found elsewhere; the text after "-->", without the file. */
void error_vat(bool warning, const char *code, const char *place, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));
void warn_at(const char *path, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void note_help(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a help: line to the last message */
void stop_on_errors(void); /* leaves the compiler (exit 1) when any error was counted */
_Noreturn void fail(int exit_code, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void bug(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *printable(Name n); /* escaped for a terminal */
int error_count(void);         /* errors so far */
void error_reset(void);        /* forgets what was reported; so does pool_reset */
/* Holds messages back: error_unhold ends that and says how many errors there were; then error_show prints and counts them
 * after all, or nobody does. error_held: the first one, in a line. */
typedef struct Held Held;
Held *error_hold(void);
int error_unhold(Held *h);
void error_show(const Held *h);
const char *error_held(const Held *h);
extern jmp_buf *error_exit;    /* not NULL: leaving is a longjmp there with the exit code (many models, one process) */
extern Text *error_sink;       /* not NULL: messages go here, not to stderr */
extern const char *error_file; /* the model in work, for messages */

/* ---- options ------------------------------------------------------------------------------------------ */

typedef enum Weights { WEIGHTS_AUTO, WEIGHTS_INLINE, WEIGHTS_INCBIN, WEIGHTS_FILE } Weights;
typedef struct Target {
    const char *name;
    int vector; /* bytes of a vector register the kernels may use */
    bool x86, arm;
    const char *cflags; /* what to give the C compiler */
} Target;
typedef struct Options {
    const char *model, *output, *prefix, *dump, *eval_dir;
    const Target *target;
    Weights weights;
    bool single, verbose, report, report_json, eval, list_ops, strict;
    VEC(struct DimOption {
        const char *name;
        int64_t low, high;
        bool used;
    }) dims;
    VEC(struct ShapeOption {
        const char *input;
        int rank;
        int64_t dim[MAX_RANK];
    }) shapes;
    VEC(struct ConstOption { const char *input, *file; }) consts;
} Options;
extern Options opt;

/* A warning; an error under --strict. */
#define doubt(...) (opt.strict ? error_at(__VA_ARGS__) : warn_at(__VA_ARGS__))
/* What most exporters do: reported only on request (--verbose), an error under --strict. */
#define doubt_common(...) (opt.strict ? error_at(__VA_ARGS__) : opt.verbose ? warn_at(__VA_ARGS__) : (void)0)

/* ---- the stages, in order ------------------------------------------------------------------------------ */

Model *parse_model(const char *file); /* parse.c: bytes -> graph, names bound to values */
Model *parse_bytes(const char *file, const void *bytes, size_t n);
Tensor *parse_tensor(const void *bytes, size_t n, const char *path); /* one TensorProto (.pb) */
Tensor *read_tensor_file(const char *file); /* a .pb file with one TensorProto; fails with exit 3 or 1 */
/* external.c: what was read of the mapped files need not stay in memory; it is still readable. */
void forget_pages(void);
/* The same for what was read before, when that is much: for walks that read constants. */
void about_to_read(size_t bytes);
void resolve_ops(Model *m);               /* opset.c: every node bound to its row */
Graph *graph_copy(Graph *g, Node *owner); /* inline.c: a nested graph once more; references of attributes are gone */
void inline_functions(Model *m);          /* inline.c: no functions, old versions or composites left */
void check_model(Model *m);               /* check.c: order, arity, attributes, names */
void check_inlined(Model *m);             /* check.c: what calls left out of functions' nodes */
bool check_types(const Node *n);          /* check.c: do the types of the inputs suit the row? Reports */
void infer_model(Model *m);               /* infer.c: types, shapes, folding */
void simplify_model(Model *m);            /* simplify.c: dead code, duplicates, identities, scales into weights */
void fuse_model(Model *m);                /* fuse.c: loops, epilogues */
void layout_model(Model *m);              /* layout.c: channels last, packed weights */
void bind_model(Model *m);                /* bind.c: every node has its call */
void plan_model(Model *m);                /* plan.c: order, arena */
void emit_model(Model *m);                      /* emit.c: writes the files */
void report_model(Model *m);                    /* report.c: for people, and --report=json */
void dump_model(Model *m, const char *stage);   /* dump.c */
void verify_model(Model *m, const char *stage); /* dump.c: what each stage promised; debug builds */
void list_ops(const char *form);                /* report.c: the support table as text, markdown or json */

void poison(Node *n); /* infer.c: what n gives is not known, which was reported; no more is said of what reads it */

/* infer.c, for stages that make nodes later: infers (and folds) one node. */
void infer_node(Node *n);
/* The same for a node that was made for its one result: when that is folded it is all that stays. */
Value *folded_node(Node *n);
/* exec.c */
void run_node(Node *n);                     /* computes its outputs' data from its inputs' */
void eval_model(Model *m, const char *dir); /* --eval */
/* Runs a planned model: in: the C inputs in order, NULL for one left to its default; out: fresh, of the sizes found. */
void eval_graph(Model *m, Tensor *const *in, Tensor **out);
/* emit.c, after emit_model: the fields of struct PREFIX_sizes in order; how many. */
typedef struct SizeField {
    const char *name;
    Symbol *symbol; /* set by the caller; or NULL: */
    Value *out;     /* written back: dimension axis of this output */
    int axis;
} SizeField;
int emitted_sizes(const SizeField **fields);

typedef struct Plan { /* what plan.c found, for emit and report */
    int64_t arena, bound, align;
    int peak_time;
} Plan;
extern Plan plan;

#endif
