/* graph.h - the data model: values, nodes, graphs, and how they are changed. */
#ifndef ONNXCC_GRAPH_H
#define ONNXCC_GRAPH_H

#include "base/error.h"
#include "ir/symbol.h"

#define MAX_ARGS 24 /* pointers one kernel call may take */
#define MAX_SIZES 4 /* that it may report */

typedef enum Form { TENSOR, SEQUENCE, OPTIONAL, MAP, SPARSE, OPAQUE } Form;
typedef struct TypeDesc { /* a TypeProto in full; a dimension it says nothing about is the symbol "?" */
    Form form;
    Type elem, key;
    Shape shape;
    struct TypeDesc *of;
    Name dim_param[MAX_RANK];
    bool hint; /* what a function's body says: true of some calls */
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

/* Where a value is in its storage: element i at offset + i / run * pitch + i % run; pitch 0: contiguous. */
struct Placement {
    Dim offset, run, pitch;
    Dim row; /* of a storage: the pitch of the values that are rows of it; 0: none is */
};
extern const struct Placement whole_storage; /* from its start, contiguous */

struct Value {
    /* the graph */
    Name name;
    Graph *graph; /* whose scope it belongs to */
    Node *def;    /* NULL: graph input or initializer */
    int def_i;
    int id;    /* dense numbering, for side tables */
    int input; /* index among the C inputs, or -1 */
    VEC(Use) uses;
    Type type;
    Form form : 8;
    bool default_only : 1; /* input with a default (IR >= 4): data is the default, not a constant */
    bool pinned : 1;       /* something besides nodes has its address: not to be freed */
    bool maybe_dead : 1;   /* it lost a use and may have none; values_free decides */
    bool poisoned : 1;     /* an error was reported here: no follow-up messages */
    const Shape *shape;
    TypeDesc *desc;                /* as declared (input, output, value_info), or NULL */
    struct Components *components; /* of a sequence or optional: container.h */
    Tensor *data;                  /* not NULL: constant (or, when data->symbolic, known integers) */
    Tensor *fallback;              /* of an input with a default: that default */
    const struct Scale *scale;     /* of its integers, where one scale holds for all; or NULL */
    int64_t text;                  /* of a STR made at run time: bytes of the longest element */
    /* the memory plan */
    bool persistent : 1;               /* its bytes are the text of strings: they stay until the end of the run */
    bool contiguous : 1;               /* of a storage: it cannot be rows of a larger one */
    Value *storage;                    /* what its bytes are part of (view, in place, concat); NULL: its own */
    const struct Placement *placement; /* where in it */
    int64_t offset;                    /* in the arena; -1: not there (constant, input, output) */
    int64_t bytes;                     /* reserved, for the bounds */
    int live_from, live_to;
    /* emission */
    bool read : 1;      /* some code has its pointer */
    bool mentioned : 1; /* ... c occurs there */
    const char *c;      /* pointer variable in the emitted C; of a constant: an expression */
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
    Name s;
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
    Loop *loop;     /* instead of a kernel: a fused elementwise loop (loop.c) */
    Loop *epilogue; /* after a kernel flagged EPILOGUE: what happens to each value before it is stored */
} Call;

/* What the file says of a node; shared by everything that the node is expanded into. */
typedef struct Source {
    Name name, op_type, domain, overload;
    const char *within;        /* path of the graph whose node `index` it is */
    const struct Source *call; /* copied from a function's body: the model's node that called it */
    int index;
} Source;

/* The model's nodes whose work a node does besides its own, in their order. */
typedef struct Also {
    const Source *source;
    Name name;
    struct Also *next;
} Also;

struct Node {
    /* the graph */
    Node *prev, *next;
    Graph *graph;
    const Op *op;
    const Source *source; /* NULL: the compiler's own */
    Name name;
    Also *also;
    int n_in, n_out, n_attr;
    Value **in, **out; /* NULL: omitted */
    int *use;          /* of each input, where it is in the value's uses */
    Attr *attr;
    bool known;         /* bound or folded already */
    bool expanded;      /* infer.c: replaced by what it means */
    bool pinned;        /* a symbol or an assumption has its address: not to be freed */
    bool channels_last; /* layout.c: inputs and outputs of rank >= 3 are N...C, not NC... */
    Call call;
    /* the memory plan */
    bool elided;             /* needs no code: a concat or split without copies */
    unsigned parts_in_place; /* of a concat: the parts that are computed where they belong (bits) */
    int time, end;           /* position in the linear order; where its nested graphs end */
    int64_t scratch_offset;
    /* reports */
    int64_t macs;
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
    bool resolved; /* its nodes have their operators */
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
    Map function_of; /* by function_key */
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
    VEC(Name) declared; /* names of the outputs, which inlined functions may make others of */
    VEC(Name) out;      /* names of the tensors that the outputs have become, in the C interface */
    int dir;            /* folder of the model, for external data; -1: none (standard input) */
    int n_nodes;        /* as read, for the report */
    int n_values;       /* ids given so far */
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
void values_stay(void); /* turns values_free off: containers hold values that have no recorded use */
/* Newest version; outputs made; not inserted. */
Node *node_new(Graph *g, const char *op, int n_in, Value **in, int n_out);
void node_also(Node *by, const Node *n); /* by does from now on what n does */
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
int64_t max_bytes(const Value *v);     /* at the bounds of its sizes */
bool value_is_output(const Value *v);
const char *node_path(const Node *n);             /* "graph.node[3]"; "a node": the compiler's own */
const char *node_place(const Node *n);            /* `graph.node[3] "name" (Op)` */
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

/* Messages about a node or a value, with its place in the file; see error_at. */
/* n (NULL: none) is in work: what fails now fails there. Returns what was in work before. */
const Node *node_in_work(const Node *n);
void error_node(const Node *n, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void error_value(const Value *v, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
