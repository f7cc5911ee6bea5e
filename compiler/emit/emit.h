/* emit.h - the interface between the files that print C. */
#pragma once

#define NAMES_ARE_OPAQUE /* except in quote.c, which includes graph.h before this */
#include "base/wrap.h"
#include "ir/assume.h"
#include "emit/source.h"
#include "ir/loop.h"

/* ---- quote.c: the only file that puts a model's bytes into the output -------------------------------------------- */
typedef enum Quote {
    IN_COMMENT, /* printable ASCII that neither ends nor begins a comment; at most 200 characters */
    IN_SHELL,   /* a word of a shell, which may be in a comment */
    IN_LITERAL, /* between the quotes of a C string */
    IN_NUMBERS, /* the elements of an array of char */
    IN_JSON,    /* a string, with its quotes */
    IDENTIFIER, /* letters, digits and single underscores, starting with a letter; at most 24 of its end */
    PREFIX,     /* the same for a file's name without its extension; at most 63 */
} Quote;
enum { LONGEST_LITERAL = 4000 }; /* C compilers need to take 4095 */
void put_quoted(Text *t, Name n, Quote as);
const char *c_comment(Name n);
const char *c_shell(Name n);
const char *c_tail(Name n, size_t width); /* a comment; of a longer name the end, which is most specific */
/* The model's operator that n was made from: "GlobalAveragePool" for a ReduceMean that replaces it. */
Name node_operator(const Node *n);
const char *c_shape(Shape s); /* "[1,3,batch]" for a comment; a long expression is "..." */
uint32_t name_length(Name n);
Name name_element(Name n, int i); /* "x_3": a size read from element 3 of x */

Name name_scratch(Name n); /* x_scratch: the memory of node x's call */

/* These return texts with a model's names that are not escaped for C; only put_quoted prints names. */
#ifndef QUOTE_C
#pragma GCC poison printable shape_text dim_print dim_text node_path attr_string deferred_text within path
#endif

/* ---- names.c: unique identifiers, legal in C and C++, distinct from the names of the runtime --------------------- */
void names_reset(void);
void names_prefix(const char *p);                         /* sets the program's prefix, and reserves its names */
void names_struct(void);                                  /* reserves those of --struct */
void names_state(void);                                   /* reserves those of a program with states */
void names_training(int steps);                           /* reserves the names of a training model */
const char *c_prefix(Name model_base, const char *given); /* `given`, or from the model: "kws.onnx" -> "kws" */
const char *c_name(Name n, const char *otherwise);        /* a new identifier at each call, similar to n */
const char *c_tensor(Name n,
                     const char *otherwise); /* the same for an input or output, whose macros are named after it */
const char *c_global(Name n, const char *otherwise);      /* PREFIX_name, for file scope */
const char *c_own(const char *base, const char *between); /* PREFIX_base, or PREFIX_base BETWEEN number */
const char *c_function(Name n);                           /* PREFIX_n, a function of the user */
const char *c_field(Name n, Map *used);                   /* of a struct: none of `used`, to which it is added */
bool c_is_macro(const char *identifier);                  /* is it a macro or another name of C's headers? */
const char *c_upper(const char *identifier);

/* ---- weights.c: constants in the C file or beside it --------------------------------------------------------- */
typedef struct Constants {
    size_t inline_bytes, file_bytes;
    uint64_t hash; /* XXH64 of the weights file */
    bool in_file;  /* there is a weights file */
    bool loaded;   /* ... that the caller loads */
} Constants;
SHARED_PART(Constants, constants)

/* Names every constant that a call uses; writes the weights file, if any. */
void write_constants(Model *m, const char *weights_path);
/* declare_constants: before the code, where short ones are also defined. put_constants: the other definitions, after
 * it. */
void declare_constants(Text *t, const char *prefix);
void put_constants(Text *t, bool (*is_needed)(const char *name)); /* NULL: all are needed */
/* The inclusion or loading of the weights file, in the C file and in the header (`file`: its path); nothing without
 * one. */
void put_weights(Text *t, const char *p);
void put_weights_interface(Text *t, const char *p, const char *file);
/* Exact literals: hexadecimal floats, RT_NAN, RT_INF; integers of any width. */
void text_float(Text *t, Type type, double v);
void text_integer(Text *t, Type type, int64_t v);
/* The C expression for the constant's bytes, of element type. */
const char *constant_expression(const Value *v);

/* The constants that calls use, in the order of the code. */
typedef struct StoredConstant {
    const Value *v;
    const char *c; /* its array's name, or an expression with it */
    bool own;      /* an array of its own; else it shares the bytes of an earlier one */
    bool in_file;  /* in the file of weights ... */
    size_t at;     /* ... where */
} StoredConstant;
void each_constant(void (*visit)(const StoredConstant *, void *), void *arg);

/* ---- the state of emission --------------------------------------------------------------------------------------- */
typedef struct KernelUse { /* a kernel header, instantiated for these types */
    const char *header;
    Type t, u;
} KernelUse;
typedef struct EpilogueUse { /* the epilogue of a kernel, a function of one value */
    const char *name, *body;
    const Kernel *kernel;
    bool first; /* the first with this body, which prints the function */
} EpilogueUse;
typedef struct CallFunction { /* a kernel with constant parameters, a function for all equal calls */
    const Call *first;
    const char *name; /* once it is defined */
    int calls;
} CallFunction;
typedef struct Custom { /* a function of the user, for all calls with these types, ranks and attributes */
    const char *name;
    const Node *first;
    int calls;
} Custom;
typedef struct SizePart { /* a part of sizes that is a variable of the emitted C */
    Dim d;
    const char *c;
    bool is_wide;
} SizePart;

typedef struct Emitter {
    Model *m;
    const char *p; /* prefix */
    Text body;
    int depth; /* of nesting, for indentation */
    int step;  /* number of the next node in comments */
    VEC(KernelUse) kernels;
    Map pointer;          /* Value -> declared */
    Map used;             /* Symbol -> it occurs in a size that the code uses */
    Map scope;            /* Symbol -> the Graph in whose block its variable is */
    Assumptions *assumed; /* those of the current graph that are not checked yet */
    VEC(SizePart) parts;  /* those of the open blocks */
    VEC(EpilogueUse) epilogues;
    VEC(Custom) customs;
    Map custom;       /* Kernel -> the function's name; each custom call has a Kernel of its own */
    Map functions;    /* hash of its text -> CallFunction */
    Map function;     /* Call -> CallFunction */
    Text definitions; /* definitions of those functions */
    int n_definitions;
    Map dims;           /* name of an output's dimension -> its SizeField, which entry points share */
    Map named;          /* name of an input or output -> the first such value: entry points share their macros */
    const Entry *entry; /* whose body is printed; NULL: not a training model */
    bool arena;         /* the body mentions it */
    bool state;         /* ... the block of states (--state) */
    bool fallible;      /* something can fail at run time */
    bool status;        /* ... by a kernel's status */
} Emitter;

/* ---- emit_kernels.c: kernels, pointers and sizes that the code uses ---------------------------------------------- */
Graph *emitted_graph(const Emitter *e); /* whose body is printed */
void find_uses(Emitter *e);             /* sets kernels, Value.read and used; before anything is printed */
void put_kernels(Text *t,
                 const Emitter *e); /* the headers, those of compute-bound kernels once more for each epilogue */

/* ---- emit_interface.c: the header -------------------------------------------------------------------------------- */
typedef struct Interface {
    const char *p, *u; /* prefix, and in capitals */
    const Entry *entry;
    VEC(Value *) in;
    VEC(const char *) parameter; /* the name of each (with a default, the value's pointer is another variable) */
    VEC(Value *) out;
    VEC(SizeField) sizes;
} Interface;

/* Names the inputs, the outputs and the sizes between caller and model. */
void find_interface(Interface *f, Emitter *e);
/* The parameters of an entry point: as declared in the header, as defined (with restrict, which C++ lacks), or as
 * passed on. */
typedef enum How { PUBLIC, DEFINED, PASSED } How;
const char *parameters(const Interface *f, How how);
bool is_in_struct(const Interface *f);        /* with --struct */
void put_fields(Text *t, const Interface *f); /* with --struct: variables of the fields' names */
/* The macros of arena, inputs and outputs; to be called before the body is printed. */
void put_memory(Text *t, const Interface *f, const Emitter *e);
void put_tensors(Text *t, const Interface *f, const Emitter *e);
/* Status codes, run-time sizes and the weights file. Printed after the body: only then is it known what can fail. */
void put_calling(Text *t, const Interface *f, const Emitter *e, const char *weights);

/* ---- emit_training.c: a training model's state ------------------------------------------------------------------- */
void name_states(Model *m);             /* before the constants are written */
const char *entry_name(const Entry *e); /* "step_0" */
void put_training_state(Text *t, const Model *m,
                        const char *p); /* the struct, its sizes, the declarations of reset, save and load */
void put_entry_comment(Text *t, const Entry *e);
void put_training_functions(Text *t, const Model *m, const char *p);
int64_t state_bytes(const Model *m);
void interface_bytes(const Model *m, int64_t *in, int64_t *out); /* budget.c: of the caller's buffers */
extern const char training_left_out[];                           /* for comments and reports */

/* ---- emit_sizes.c: variables of sizes ---------------------------------------------------------------------------- */
void find_scopes(Emitter *e);                                  /* before the body */
void find_state_uses(void (*use)(Emitter *, Dim), Emitter *e); /* the sizes in the block of states, and the next ones */
/* Prints the definition of s where it becomes known: a declaration, or an assignment if it is declared in an outer
 * block; and the check of its bounds. */
void define_symbol(Emitter *e, Symbol *s, const char *value);
void define_given(Emitter *e, Symbol *s, const char *field); /* the same for a size in a field of 64 bits */
void define_elements(Emitter *e, Value *v);                  /* the sizes that are read from v's elements */
bool iterations_exceed_idx(const Node *loop); /* ... on some machine of the target; their number is then an i64 */
void define_iteration(Emitter *e, const Graph *body, const char *iteration);
/* Before the code of a node with graphs: the variables of sizes that become known there and are used outside. */
void begin_sizes(Emitter *e, const Node *n);
void check_assumptions(Emitter *e); /* prints the checks of e->assumed whose sizes are known */
/* Declares variables for parts of d, which the next statement uses. They hold until end_parts, at the end of the block,
 * with the number of e->parts at its begin. */
void declare_parts(Emitter *e, Dim d);
void end_parts(Emitter *e, int before);
void hide_parts(const Emitter *e, bool hide); /* while another function is printed */

/* ---- lines.c: what each line of the C belongs to (--map) --------------------------------------------------------- */
typedef enum LineKind {
    LINE_FRAME,     /* of a template */
    LINE_COMMENT,   /* of the file */
    LINE_INTERFACE, /* the include of the header, or its text */
    LINE_KERNELS,   /* includes, or their texts */
    LINE_EPILOGUE,  /* a kernel with an epilogue; the owner is its name */
    LINE_CONSTANTS, /* about them all */
    LINE_CONSTANT,  /* the owner is its value */
    LINE_FUNCTION,  /* for equal calls; the owner is its CallFunction */
    LINE_STATE,
    LINE_PROFILE,
    LINE_RUN,  /* of a run, but of no node: sizes, checks */
    LINE_NODE, /* the owner is the node */
} LineKind;
/* From here on the lines of t are of this kind; nothing without --map. */
void line_is(Text *t, LineKind kind, const void *owner);
/* The lines of that owner, an epilogue or a function, are part of the step with this call. */
void line_shared(LineKind kind, const void *owner, const Call *c);
const void *line_owner(LineKind kind, const Call *c);              /* NULL: none */
void step_called(Emitter *e, const Node *n, const char *function); /* the next line is n's call, or its loop */
/* from's lines are about to be appended; at: the line that each becomes, NULL: none is added. */
void lines_move(Text *to, const Text *from, const int64_t *at);
void lines_end(Text *t); /* t is the C file, and complete */
typedef struct LineSpan {
    int64_t first, last;
    LineKind kind;
    const void *owner;
} LineSpan;
int line_spans(const LineSpan **list);       /* of the C file, in order, without gaps */
int64_t line_of_call(const Node *n);         /* 0: it has none */
const char *function_of_call(const Node *n); /* NULL: it calls none */

/* ---- emit_line.c: lines of the body ------------------------------------------------------------------------------ */
void line(Emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints that the run ends with the status if the condition, a formatted text, holds. */
#define fail_if(e, status, ...) fail_if_text(e, status, text_format(__VA_ARGS__))
void fail_if_text(Emitter *e, const char *status, const char *condition);
/* The C expression for a value's bytes: a constant, a parameter, or a pointer into the arena declared before. */
const char *pointer(Value *v);

/* ---- emit_code.c: the body --------------------------------------------------------------------------------------- */
void emit_graph(Emitter *e, Graph *g);
void declare_state(Emitter *e, Value *v); /* the pointer to an input that is a state */

/* ---- emit_loop.c: elementwise loops ------------------------------------------------------------------------------ */
void emit_loop(Emitter *e, const Loop *l);
/* Prints a loop's steps, a variable each. loop_argument: the C expression of an argument: a loaded input, a literal or
 * a step's variable. */
void emit_steps(Emitter *e, const Loop *l, const char *const *loaded);
const char *loop_argument(const Loop *l, int arg, const char *const *loaded);

/* ---- emit_call.c: calls ------------------------------------------------------------------------------------------ */
/* The argument of c, an output, in whose bytes argument i, an input, is; -1: none. The output's pointer stands for
 * both, so that `restrict` is true. */
int written_over(const Call *c, int i);
void count_call(Emitter *e, const Node *n); /* for every call, before the first is printed */
void emit_kernel(Emitter *e, const Node *n);

/* ---- emit_custom.c: custom operators ----------------------------------------------------------------------------- */
void find_customs(Emitter *e);                          /* names them and their parameters */
void put_customs(Text *t, const Emitter *e);            /* their declarations */
void write_stubs(const Emitter *e, const char *header); /* --custom-stub: a file of empty definitions */
bool is_custom(const Call *c);
const char *custom_name(const Emitter *e, const Call *c);

/* ---- emit_state.c: the block of states (--state) ----------------------------------------------------------------- */
void put_state(Text *t, const Interface *f); /* in the header */
void put_reset(Text *t, const Interface *f); /* the function of its initial values */
void define_kept(Emitter *e);                /* the sizes in it, after those that the caller gives */
/* Prints the checks that the next sizes are within their bounds, which are known when the run begins (given) or not. */
void check_kept(Emitter *e, bool given);
void put_next(Emitter *e); /* at the end of a run */

/* ---- package.c: a folder for a build system (--package) ---------------------------------------------------------- */
void package_begin(const char *p); /* makes the folders, sets the C file's path */
void write_package(const Interface *f, const Model *m);

/* ---- banner.c ---------------------------------------------------------------------------------------------------- */
const char *banner(const Model *m); /* the model, the command, the version; for a comment */
const char *about(const Model *m);  /* the model's graph, version, producer, author and licence; for a comment */

/* ---- figures.c --------------------------------------------------------------------------------------------------- */
/* Calls visit for every step, a node that has code, in the order of the code: before those of its nested graphs. */
void each_step(const Graph *g, void (*visit)(const Node *, void *), void *arg);
void put_step_names(Text *t, Model *m); /* operator and name of each step, as the elements of an array of strings */
/* A table of the nodes with their costs, and the totals; safe inside a comment; `before` begins each line. */
void put_report_table(Text *t, Model *m, const char *before);
/* "Conv+Relu"; of many fused nodes those that there is room for, and how many more: "Conv+Relu+3". */
const char *report_operators(const Node *n, int width);
int report_node_stack(const Node *n);  /* bytes of its kernel, by stack.def */
int report_stack(Model *m);            /* bytes of stack at the deepest call, by stack.def */
const Node *report_deepest(Model *m);  /* whose call that is; NULL: none */
const char *report_peak(Model *m);     /* "; peak: ..." the largest buffers at the arena's peak; for a comment */
int64_t report_weights(const Node *n); /* bytes of the constants that n reads */

/* ---- embedded.c (made by the Makefile): the files that onnxcc contains ------------------------------------------- */
typedef struct Embedded {
    const char *name, *text;
} Embedded;
extern const Embedded embedded[];

/* ---- texts.c ----------------------------------------------------------------------------------------------------- */
const char *included_text(const char *file); /* of an #include in runtime-min/; NULL: it is none of its files */
struct Writer;                               /* what emit.c knows of the files */
typedef struct Hole {                        /* @NAME@ of a template: a text, or the function that prints it */
    const char *name, *text;
    void (*put)(Text *, struct Writer *);
    LineKind lines; /* what its lines are */
} Hole;
void fill_holes(Text *t, const char *template, const Hole *holes, struct Writer *w);
