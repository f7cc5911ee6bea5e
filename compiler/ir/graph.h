/* graph.h - the data model: values, nodes, graphs, and the calls that edit them. */
#pragma once

#include "base/error.h"
#include "ir/symbol.h"

#define MAX_ARGS 24 /* limit of the pointers passed to a kernel */
#define MAX_SIZES 4 /* limit of the sizes that a kernel reports */

typedef enum Form { TENSOR, SEQUENCE, OPTIONAL, MAP, SPARSE, OPAQUE } Form;
typedef struct TypeDesc { /* a TypeProto; an unspecified dimension is the symbol "?" */
    Form form;
    Type elem, key;
    Shape shape;
    struct TypeDesc *of;
    Name dim_param[MAX_RANK];
    bool hint; /* declared in a function's body: need not hold for every call */
} TypeDesc;

typedef struct Use {
    Node *node; /* NULL: output `i` of `graph` */
    Graph *graph;
    int i;
} Use;

/* Quantisation: the integer q represents (q - zero) * scale. */
struct Scale {
    Tensor *scale, *zero; /* zero: NULL is 0 */
};

/* Where a value is in its storage: element i at offset + i / run * pitch + i % run; pitch 0: contiguous. */
struct Placement {
    Dim offset, run, pitch;
    Dim row; /* of a storage: the pitch of all its values in rows; 0: it has none */
};
extern const struct Placement whole_storage; /* from its start, contiguous */

struct Value {
    /* the graph */
    Name name;
    Graph *graph; /* whose scope it belongs to */
    Node *def;    /* NULL: graph input or initializer */
    int def_i;
    int id;    /* dense index, for side tables */
    int input; /* index among the C inputs, or -1 */
    VEC(Use) uses;
    Type type;
    Form form : 8;
    bool default_only : 1; /* input with a default (IR >= 4): data is the default, not a constant */
    bool pinned : 1;       /* something besides nodes has its address: not to be freed */
    bool maybe_dead : 1;   /* it lost a use and may have none; values_free decides */
    bool poisoned : 1;     /* an error was reported here: no follow-up messages */
    bool sparse : 1;       /* an initializer that the file has as a sparse tensor */
    bool loaded : 1;       /* a constant that only Load reads (load.c) */
    const Shape *shape;
    struct Variable *state;        /* with --training: the variable whose present or next value this is; or NULL */
    TypeDesc *desc;                /* declared type (input, output, value_info), or NULL */
    struct Components *components; /* of a sequence or optional: container.h */
    Tensor *data;                  /* not NULL: constant (or, when data->symbolic, known integers) */
    Tensor *fallback;              /* of an input with a default: that default */
    const struct Scale *scale;     /* quantisation, if one scale holds for all elements; or NULL */
    int64_t text;                  /* STR made at run time: upper bound of an element's bytes */
    /* the memory plan */
    bool persistent : 1;               /* its bytes are the text of strings: they stay until the end of the run */
    bool contiguous : 1;               /* of a storage: it cannot be rows of a larger one */
    bool in_state : 1;                 /* a state, or its storage: in the block that the caller keeps between runs */
    Value *storage;                    /* what its bytes are part of (view, in place, concat); NULL: its own */
    const struct Placement *placement; /* where in it */
    int64_t offset;                    /* in the arena; -1: not in the arena (constant, input, output) */
    int64_t bytes;                     /* reserved, at the upper bounds of its sizes */
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
} AttrType; /* ONNX's numbers */
/* clang-format on */
typedef struct Attr {
    Name name;
    Name ref; /* ref_attr_name, inside functions */
    AttrType type;
    int n;    /* of a list */
    Graph *g; /* A_GRAPH; else NULL */
    union {   /* by `type` */
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

/* The call of a bound node: a kernel with pointers and parameters (kernel.h), or a loop. */
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
    Dim scratch_pitch;          /* additional bytes of scratch per element of the kernel's x_pitch */
    Symbol **size;              /* sizes the kernel reports through int64_t pointers after the outputs */
    int n_size;
    Loop *loop;     /* instead of a kernel: an elementwise loop (loop.c) */
    Loop *epilogue; /* of a kernel flagged EPILOGUE: applied to each result before it is stored */
} Call;

/* A node as the file describes it; shared by all nodes that it is expanded into. */
typedef struct Source {
    Name name, op_type, domain, overload;
    const char *within;        /* path of its graph, where it is node `index` */
    const struct Source *call; /* for a copy from a function's body: the model's node that calls the function, ... */
    const struct Source *definition, *caller; /* ... the node of the body, and the call of that body */
    int index;
} Source;

/* A list of the model's nodes that were fused into a node, in their order. */
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
    const Source *source; /* NULL: made by the compiler */
    Name name;
    Also *also;
    int n_in, n_out, n_attr;
    Value **in, **out; /* NULL: omitted */
    int *use;          /* of each input: its index in the value's uses */
    Attr *attr;
    bool known;         /* already bound or folded */
    bool expanded;      /* infer.c: replaced by its expansion */
    bool pinned;        /* a symbol or an assumption has its address: not to be freed */
    bool fails;         /* it may never run, and when it does it fails: not folded, not removed */
    bool late;          /* computed at every run, even of constants */
    bool unsure;        /* its values may end the run, which its operator does not say: not removed */
    bool channels_last; /* layout.c: inputs and outputs of rank >= 3 are N...C, not NC... */
    Call call;
    /* the memory plan */
    bool elided;             /* needs no code: a concat or split without copies */
    unsigned parts_in_place; /* of a concat: a bit for each part that is computed in its place */
    int time, end;           /* position in the linear order; where its nested graphs end */
    int64_t scratch_offset;
    /* reports */
    int64_t macs;
};

/* A graph nested in a node directly. */
typedef struct Nested {
    Graph *graph; /* NULL: no further graph */
    int attr, i;  /* the attribute, and the index in its list */
} Nested;

struct Graph {
    Name name;
    Model *model;
    Graph *parent;             /* enclosing graph, whose names are visible */
    Node *owner;               /* node whose attribute it is */
    Nested place;              /* in owner; only set while EACH_NODE or EACH_NESTED visits the graph */
    struct Entry *entry;       /* with --training: the entry point whose body it is; or NULL */
    struct Function *function; /* the function whose body it is (not set in graphs nested in it) */
    Node *first, *last;
    VEC(Value *) in;
    VEC(Value *) out;
    VEC(Value *) init; /* initializers, including those that are inputs */
    Map scope;         /* Name -> Value, without enclosing graphs */
    const char *path;
};

typedef struct Import {
    Name domain;
    int64_t version;
} Import;
typedef VEC(Import) Imports;

typedef struct Function {
    Name domain, name, overload;
    VEC(Name) in;
    VEC(Name) out;
    VEC(Name) attr;     /* required attribute names */
    VEC(Attr) defaults; /* attribute_proto */
    Imports imports;
    Graph *body; /* nodes only; values by name in its scope */
    const char *path;
    bool resolved; /* its nodes have their schemas */
} Function;

/* A binding of training information: a state variable's name, and the output that is assigned to it. */
typedef struct Binding {
    Name key, value;
    const char *path;
} Binding;
typedef struct Training {
    Graph *init, *algorithm; /* or NULL */
    VEC(Binding) starts;     /* initialization_binding */
    VEC(Binding) updates;    /* update_binding */
    const char *path;
} Training;

/* A state variable: an initializer that a binding changes. */
typedef struct Variable {
    Name name;
    Value *start;   /* the constant with which it starts */
    int64_t bytes;  /* of its elements */
    const char *c;  /* its field in the emitted struct */
    bool generator; /* of random numbers: made by the compiler */
} Variable;

/* An entry point of a compiled training model. Its graph belongs to a node of the model's graph, whose inputs are those
 * of all entry points: a state variable is an input of each that uses it. */
typedef struct Entry {
    enum { ENTRY_INIT, ENTRY_STEP, ENTRY_RUN } kind;
    int index; /* of a step */
    Graph *graph;
    VEC(Value *) in;      /* the caller's inputs */
    VEC(Value *) state;   /* present value of each state variable; NULL: not used yet */
    VEC(Name) out;        /* names of the caller's outputs, which are the graph's first ones */
    VEC(Binding) updates; /* of the graph's further outputs, which are assigned to state variables after the run */
} Entry;

struct Model {
    const char *file; /* path as given, for messages */
    Name base;        /* base name of the file, for the banner */
    uint64_t hash;    /* XXH3 of the file's bytes */
    size_t bytes;
    int64_t ir_version, model_version;
    Name producer, producer_version, domain, doc;
    Imports imports;
    VEC(struct Prop { Name key, value; }) props;
    VEC(Function *) functions;
    Map function_of; /* by function_key */
    VEC(struct Devices {
        Name name;
        int64_t n;
    }) devices; /* only read with --strict */
    VEC(Training) training;
    VEC(Variable *) states; /* with --training */
    VEC(Entry *) entries;   /* the same; else none */
    VEC(struct Share {      /* a and b share storage; copy: the node that copies b there, or NULL */
                       Value *a, *b;
                       Node *copy;
    }) shares;
    Graph *graph;
    VEC(Name) declared; /* names of the outputs in the file; inlining may replace the values */
    VEC(Name) out;      /* names of the output tensors in the C interface */
    int dir;            /* folder of the model, for external data; -1: none (standard input) */
    int n_nodes;        /* number of nodes in the file, for the report */
    int n_values;       /* ids assigned so far */
};

/* ---- edits of the graph (graph.c) -------------------------------------------------------------------------------- */
Value *value_new(Graph *g, Name n); /* a new value; n: its name, or NULL */
Value *value_const(Graph *g, Tensor *t);
/* Requests, before memory is planned, that a and b share storage (a branch's output and the If's). */
void value_share(Value *a, Value *b);
/* The same for a loop's state and the body's result, which `copy` copies unless it is computed in place. */
void value_carry(Value *state, Node *copy);
void value_free(Value *v); /* frees a value without uses and without other pointers to it */
/* Frees values without uses and definition; to be called when no code holds a pointer to one. */
void values_free(void);
void values_stay(void); /* turns values_free off: containers hold values that have no recorded use */
/* A node of the operator's newest version, with new outputs; not inserted yet. */
Node *node_new(Graph *g, const char *op, int n_in, Value **in, int n_out);
void node_also(Node *by, const Node *n); /* records that `by` now does the work of n */
void node_insert(Node *n, Node *before); /* before == NULL: at the end */
void node_remove(Node *n);               /* with its uses */
void graph_discard(Graph *g);            /* removes its nodes, those of nested graphs, and its outputs */
void node_to_end(Node *n);               /* of its graph */
void node_free(Node *n);                 /* frees a node that nothing points to */
void node_inputs(Node *n, int n_in);     /* sets the number of inputs, all omitted */
void node_set_in(Node *n, int i, Value *v);
Value *node_set_out(Node *n, int i, Value *v); /* n computes v; returns v */
void node_set_inputs(Node *n, int n_in, Value *const *in);
void value_replace(Value *old, Value *by);        /* in every use, including graph outputs */
void graph_set_output(Graph *g, int i, Value *v); /* makes v output i */
void graph_add_output(Graph *g, Value *v);
void graph_set_outputs(Graph *g, int first, int n, Value *const *v); /* replaces those from `first` on by n others */
void node_move(Node *n, Node *before);                               /* with its outputs, into before's graph */
int64_t max_bytes(const Value *v);        /* bytes at the upper bounds of its sizes; saturates */
Value *value_storage(const Value *v);     /* v itself if it is not part of another's */
Dim value_storage_offset(const Value *v); /* bytes from its start to v */
bool value_is_output(const Value *v);
bool graph_is_entry(const Graph *g); /* does C call it: is it the model's graph, or with --training an entry point's? */
const char *node_path(const Node *n);  /* "graph.node[3]"; "a node": made by the compiler */
const char *node_place(const Node *n); /* `graph.node[3] "name" (Op)` */
const char *value_place(const Value *v);
Name node_op(const Node *n);                      /* its operator's name */
Attr *node_attr(const Node *n, const char *name); /* or NULL */
/* The nested graph of that name, or NULL. A custom operator has none: its attributes can have any name. */
Graph *node_graph(const Node *n, const char *name);
Attr *attr_named(Attr *list, int n, Name name); /* or NULL */
void attr_set_int(Node *n, const char *name, int64_t v);
void attr_set_ints(Node *n, const char *name, int k, const int64_t *v);
void attr_set_float(Node *n, const char *name, double v);
void attr_set_string(Node *n, const char *name, const char *v);
void attr_set(Node *n, Attr a);
/* Every node of g and of the graphs nested in it, in execution order, those before the node that owns them. The loop
 * may free n. */
#define EACH_NODE(n, g)                                                                                                \
    for (Node *n = node_first(g), *n##_next; n && (n##_next = node_after(n, g), true); n = n##_next)
Node *node_first(const Graph *g);
Node *node_after(const Node *n, const Graph *g);
/* Every graph that is nested in n directly. */
#define EACH_NESTED(g, n) for (Graph *g = nested_first(n); g; g = nested_next(n, g))
Graph *nested_first(const Node *n);
Graph *nested_next(const Node *n, const Graph *g);
/* The inputs and the outputs of a node that are present. The loop may not add any. */
#define EACH_IN(v, n) EACH_VALUE (v, (n)->in, (n)->n_in)
#define EACH_OUT(v, n) EACH_VALUE (v, (n)->out, (n)->n_out)
#define EACH_VALUE(v, list, count)                                                                                     \
    for (Value *v, **v##_at = list; (v = next_value(&v##_at, (count) ? (list) + (count) : (list))) != NULL;)
static inline Value *next_value(Value ***at, Value **end)
{
    while (*at < end && !**at)
        ++*at;
    return *at < end ? *(*at)++ : NULL;
}

/* Sets the node (or NULL) that a fatal message names. Returns the one before. */
const Node *node_in_work(const Node *n);
/* Errors of a node or a value, with its place in the file; see error_at. */
#define error_node(n, ...) error_at(node_place(n), __VA_ARGS__)
#define error_value(v, ...) error_at(value_place(v), __VA_ARGS__)
