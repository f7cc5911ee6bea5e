/* emit.h - what the files that print C share: emit.c (the program), names.c (identifiers), weights.c (constants). */
#ifndef ONNXCC_EMIT_H
#define ONNXCC_EMIT_H

#define NAMES_ARE_OPAQUE /* to all but quote.c, which includes the graph before this */
#include "ir/assume.h"
#include "emit/source.h"
#include "ir/loop.h"

/* ---- quote.c: the one way of a model's bytes into the output ------------------------------------------------- */
typedef enum Quote {
    IN_COMMENT, /* printable ASCII that neither ends nor begins a comment; at most 200 characters */
    IN_LITERAL, /* between the quotes of a C string */
    IN_NUMBERS, /* the elements of an array of char */
    IN_JSON,    /* a string, with its quotes */
    IDENTIFIER, /* letters, digits and single underscores, starting with a letter; at most 24 of its end */
    PREFIX,     /* the same of a file's name, without its extension; at most 63 */
} Quote;
enum { LONGEST_LITERAL = 4000 }; /* C compilers need to take 4095 */
void put_quoted(Text *t, Name n, Quote as);
const char *c_comment(Name n);
const char *c_tail(Name n, size_t width); /* its end, which tells most, where it has more characters */
/* The model's operator that n was made of: "GlobalAveragePool", of which ReduceMean is what runs. */
Name node_operator(const Node *n);
const char *c_shape(Shape s); /* "[1,3,batch]" for a comment */
const char *dim_c(Dim d);     /* a size as C */
const char *factor_c(Dim d);  /* the same, fit to be multiplied */
const char *wide_c(Dim d);    /* the same, of type i64 */
uint32_t name_length(Name n);
Name name_element(Name n, int i); /* "x_3": what is read from element 3 of x */
/* A text of C made of others, kept until the run ends. */
const char *c_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Texts with a model's names in them, which are not escaped for C; names come in by put_quoted alone. */
#ifndef QUOTE_C
#pragma GCC poison printable shape_text dim_print dim_print_c dim_print_factor_c dim_print_wide_c expr_text node_path attr_string deferred_text within path
#endif

/* ---- names.c: injective, legal in C and C++, distinct from everything the runtime defines ------------------- */
void names_reset(void);
void names_prefix(const char *p);                         /* of this program: its own names are taken */
const char *c_prefix(Name model_base, const char *given); /* given (which must do), or "kws.onnx" -> "kws" */
const char *c_name(Name n, const char *otherwise);        /* a new identifier each call, close to the model's name */
const char *c_tensor(Name n, const char *otherwise); /* the same for an input or output, which macros are named after */
const char *c_global(Name n, const char *otherwise); /* PREFIX_name, at file scope, beside what C's headers declare */
const char *c_own(const char *base, const char *between); /* PREFIX_base, or PREFIX_base BETWEEN number */
const char *c_function(Name n);                           /* PREFIX_n, which the user writes */
bool c_is_macro(const char *identifier);                  /* ... or another name of C's headers */
const char *c_upper(const char *identifier);

/* ---- weights.c: constants in the C file or beside it --------------------------------------------------------- */
typedef struct Constants {
    size_t inline_bytes, file_bytes;
    uint64_t hash; /* XXH64 of the weights file */
    bool in_file;  /* there is one, */
    bool loaded;   /* ... which the caller loads */
} Constants;
SHARED_PART(Constants, constants)

/* Names every constant that a call uses; writes the weights file when there is one. */
void write_constants(Model *m, const char *weights_path);
void put_constants(Text *t, const char *prefix); /* their definitions in the C file */
/* Where the weights file comes in: in the C file; in the header (`file` is its path). Nothing when there is none. */
void put_weights(Text *t, const char *p);
void put_weights_interface(Text *t, const char *p, const char *file);
/* Exact literals: hexadecimal floats, RT_NAN, RT_INF; integers of any width. */
void text_float(Text *t, Type type, double v);
void text_integer(Text *t, Type type, int64_t v);
/* The C expression for the constant's bytes, of element type. */
const char *constant_expression(const Value *v);

/* ---- the program in work ------------------------------------------------------------------------------------------- */
typedef struct KernelUse { /* a header of kernels, for these types */
    const char *header;
    Type t, u;
} KernelUse;
typedef struct EpilogueUse { /* what follows a compute-bound kernel, as a function of one value */
    const char *name, *body;
    const Kernel *kernel;
    bool first; /* of this body: the function has to be printed */
} EpilogueUse;
typedef struct CallFunction { /* a kernel with its parameters, for all calls that have the same */
    const Call *first;
    const char *name; /* once it is defined */
    int calls;
} CallFunction;
typedef struct Custom { /* a function of the user's, for all calls with such arguments and parameters */
    const char *name;
    const Node *first;
} Custom;
typedef struct Emitter {
    Model *m;
    const char *p; /* prefix */
    Text body;
    int depth; /* of nesting, for indentation */
    int step;  /* number of the next node in comments */
    VEC(KernelUse) kernels;
    Map pointer;          /* Value -> declared */
    Map used;             /* Symbol -> occurs in a size that the code needs */
    Map scope;            /* Symbol -> the Graph in whose block its variable is */
    Assumptions *assumed; /* of the graph that is printed, and not checked yet */
    VEC(EpilogueUse) epilogues;
    VEC(Custom) customs;
    Map custom;       /* Kernel, which each of these calls has its own of -> the function's name */
    Map functions;    /* hash of its text -> CallFunction */
    Map function;     /* Call -> CallFunction */
    Text definitions; /* of those functions */
    int n_definitions;
    bool arena;    /* the body mentions it */
    bool fallible; /* something can fail at run time */
    bool status;   /* ... by a kernel's status */
} Emitter;

/* ---- emit_kernels.c: what the code needs ------------------------------------------------------------------------------ */
void find_uses(Emitter *e); /* kernels, read, used; before anything is printed */
void put_kernels(Text *t,
                 const Emitter *e); /* the headers; the compute-bound kernels once more with what follows them */

/* ---- emit_interface.c: the header --------------------------------------------------------------------------------------- */
typedef struct Interface {
    const char *p, *u; /* prefix, and in capitals */
    VEC(Value *) in;
    VEC(const char *) parameter; /* of each: its name (the value's own pointer may be another, for a default) */
    VEC(Value *) out;
    VEC(SizeField) sizes;
} Interface;

/* Names the inputs, the outputs and the sizes between caller and model. */
void find_interface(Interface *f, Emitter *e);
/* The parameters of an entry: as declared in the header, as defined (restrict: C only), or as passed on. */
typedef enum How { PUBLIC, DEFINED, PASSED } How;
const char *parameters(const Interface *f, How how);
/* Macros of the arena, inputs, outputs; before the body. */
void put_tensors(Text *t, const Interface *f, const Emitter *e);
/* What else a caller must know: status codes, the sizes that vary, the file of weights; printed after the body: only then is it known what can fail. */
void put_calling(Text *t, const Interface *f, const Emitter *e, const char *weights);

/* ---- emit_sizes.c: variables of sizes ------------------------------------------------------------------------------------ */
void find_scopes(Emitter *e); /* before the body */
/* s becomes known: its variable, or its value where that is declared further out; and a check that it is within its bounds. */
void define_symbol(Emitter *e, Symbol *s, const char *value);
void define_elements(Emitter *e, Value *v); /* the sizes that are read from v's elements */
void define_iteration(Emitter *e, const Graph *body, const char *iteration);
/* Around the code of a node with graphs: variables of the sizes that become known in them and are used outside. */
void begin_sizes(Emitter *e, const Node *n);
void end_sizes(Emitter *e, const Node *n);
void check_assumptions(Emitter *e); /* those of e->assumed whose sizes are known by now */

/* ---- emit_code.c, emit_call.c: the body ----------------------------------------------------------------------------------- */
void line(Emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_graph(Emitter *e, Graph *g);
/* Where a value's bytes are: a constant, a parameter, or a pointer into the arena declared before. */
const char *pointer(Value *v);
/* A loop's steps, one variable each; the C expression of an argument: a loaded input, a literal, or a step's variable. */
void emit_steps(Emitter *e, const Loop *l, const char *const *loaded);
const char *loop_argument(const Loop *l, int arg, const char *const *loaded);
void count_call(Emitter *e, const Call *c); /* for every call, before any is printed */
void emit_kernel(Emitter *e, const Node *n);

/* ---- emit_custom.c: operators of the user's own ----------------------------------------------------------------------- */
void find_customs(Emitter *e);               /* names them and their parameters */
void put_customs(Text *t, const Emitter *e); /* their declarations */
bool is_custom(const Call *c);
const char *custom_name(const Emitter *e, const Call *c);

/* ---- report.c -------------------------------------------------------------------------------------------------------- */
/* The nodes, one a line, with what they cost, and the totals; safe inside a comment, `before` at the start of each line. */
void put_report_table(Text *t, Model *m, const char *before);
int report_stack(Model *m); /* bytes of stack at the deepest call, by stack.def */

/* ---- embedded.c (made by the Makefile): the texts of runtime-min/ and templates/ --------------------------------- */
typedef struct Embedded {
    const char *name, *text;
} Embedded;
extern const Embedded embedded[];
const char *embedded_text(const char *name); /* bug() when there is none */

#endif
