/* options.h - the options of a session, which the command line or the library's caller sets. */
#pragma once

#include "base/error.h"
#include "base/target.h"

typedef enum Weights { WEIGHTS_AUTO, WEIGHTS_INLINE, WEIGHTS_INCBIN, WEIGHTS_FILE } Weights;
typedef enum Report { REPORT_NONE, REPORT_TEXT, REPORT_JSON, REPORT_HTML } Report;
/* got and expected are alike if |got - expected| <= absolute + relative * |expected|. For integers only `absolute`
 * counts, or, of at most 8 bits, `steps`; strings must be equal. For floats of less than 32 bits `relative` is 4 units
 * in the last place more. */
typedef struct Tolerance {
    double relative, absolute, steps;
} Tolerance;

typedef struct Pattern {
    const char *text;
    int star; /* where a * stands for any text; -1: the text is a name */
} Pattern;

typedef struct Options {
    const char *model, *output, *prefix, *dump, *eval_dir, *eval_out;
    const Target *target;
    int64_t max_arena;                     /* bytes; 0: the default, 1 GB */
    int64_t max_ram, max_flash, max_stack; /* budgets in bytes; 0: none */
    Weights weights;
    Report report;
    int64_t channel_block;  /* 8 or 16; 0: not given */
    const char *data, *ort; /* of onnxcc verify; NULL: not given */
    Tolerance tolerance;
    int64_t seed, timeout;        /* of a program, in seconds */
    const char *list_ops;         /* format: "text", "markdown" or "json"; NULL: not given */
    const char *custom_stub;      /* a file to start from; NULL: none */
    const char *ticks;            /* a file of ticks for the report; NULL: none */
    const char *object;           /* the compiled C, for the report; NULL: none */
    const char *object_by;        /* ... its compiler and options; NULL: not known */
    const char *map;              /* the file of --map; NULL: none */
    const char *emit_test;        /* a C file of inputs and results; NULL: none */
    const char *test_data;        /* ... the folder that has them; NULL: random ones */
    const char *depend;           /* the dependency file; NULL: none */
    const char *package, *folder; /* kind and place of a package, whose C file `output` is; NULL: none */
    bool as_struct, single, verbose, quiet, strict, profile, check, no_banner, training, expand_weights;
    bool on_disk; /* the model is a file that can be read again */
    VEC(struct DimOption {
        const char *name;
        int64_t low, high;
        bool used;
    }) dims;
    struct DimOption all_dims; /* of --all-dims; name == NULL: not given */
    VEC(struct ShapeOption {
        const char *input;
        int rank;
        int64_t dim[MAX_RANK];
    }) shapes;
    VEC(struct ConstOption { const char *input, *file; }) consts;
    VEC(const char *) taps, untils, froms; /* names of tensors; a tap may be "all" */
    VEC(struct InnerTap {
        const char *tensor;
        int type, rank; /* if an iteration may change its size: the last value is the output; type 0: all are stacked */
    }) inner;           /* tensors inside of nodes that taps ask for and that can be outputs */
    bool outer_taps, loose_taps; /* "all" means the main graph; taps that cannot be outputs are left out */
    VEC(struct StateOption { Pattern out, in; }) states; /* a * in both stands for the same text */
    VEC(struct CustomOption {
        const char *name; /* DOMAIN.OPERATOR */
        bool used;
    }) customs;
} Options;
SHARED_PART(Options, opt)

/* n as options take it: with \ before *, =, < and \. */
Name option_quoted(Name n);
const char *option_word(const char *name);
const char *pattern_word(const Pattern *p);
