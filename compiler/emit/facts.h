/* facts.h - what a report says about a planned and emitted model, computed once; printed by report_text.c,
 * report_json.c and report_html.c. */
#pragma once

#include "emit/emit.h"
#include "ir/remark.h"

typedef VEC(int) Numbers;

typedef enum Region { REGION_ARENA, REGION_INPUT, REGION_OUTPUT, REGION_STATE, REGIONS } Region;

typedef struct TensorFacts {
    const Value *value; /* NULL: the scratch memory of a step */
    Name name;          /* the model's, or of the node that computes it */
    Region region;
    int64_t offset, bytes; /* in the arena or the caller's buffer, at the upper bounds of sizes */
    int part_of;           /* the tensor whose bytes these are part of: a view, computed in place; -1: none */
    bool rows;             /* its rows have a pitch: it is a block of columns of that tensor */
    int first, last;       /* the steps from which to which its bytes are needed */
} TensorFacts;

typedef struct StepFacts {
    const Node *node;
    int owner;                      /* the step, an If or Loop, in whose graph this is; -1: none */
    int depth;                      /* the number of Ifs and Loops around it */
    int64_t weights, read, written; /* bytes; constants apart */
    int64_t arena;                  /* bytes of it in use */
    int scratch;                    /* the tensor that is its scratch memory; -1: none */
    int stack;
    Numbers reads, writes, after; /* tensors; the steps whose results it reads */
} StepFacts;

typedef struct RemarkFacts {
    const Remark *remark;
    int step;
} RemarkFacts;

typedef struct Ticks { /* measured, of all runs together */
    int64_t runs;
    const char *unit, *by; /* "ns", "cycles"; what measured it */
    VEC(int64_t) step;
} Ticks;

typedef struct CodeFacts { /* of a function of the compiled C */
    const char *name;
    int64_t bytes;
} CodeFacts;

typedef struct ObjectFacts {  /* the C as compiled */
    int64_t bytes, code;      /* all that is stored in flash or loaded; that without the weights */
    const char *by;           /* the C compiler and its options; NULL: not known */
    VEC(CodeFacts) functions; /* the largest first */
} ObjectFacts;

typedef struct Facts {
    Model *model;
    VEC(StepFacts) steps;
    VEC(TensorFacts) tensors;
    VEC(RemarkFacts) remarks; /* on what was not done, and why; if remarks were kept */
    int64_t weights, macs, inputs, outputs, state;
    int stack;
    const Ticks *ticks;        /* NULL: not measured */
    const ObjectFacts *object; /* NULL: not compiled */
} Facts;

/* facts.c */
const Facts *find_facts(Model *m);
int64_t facts_ram(const Facts *f);   /* arena, inputs, outputs, states and stack */
int64_t facts_flash(const Facts *f); /* weights and, where it is known, code */
/* With --training: is a new value of s in the arena while s still has the old one, in init or a step? */
bool is_kept_twice(const Model *m, const Variable *s);

/* ticks.c */
const Ticks *read_ticks(int steps);        /* of --ticks; NULL: none */
double ticks_of(const Facts *f, int step); /* of one run */

/* object.c */
const ObjectFacts *read_object(const Model *m); /* of --object; NULL: none */

/* report_json.c: pieces of JSON that the report and the map share. */
void json_string(Text *t, const char *key, Name n);
void json_number(Text *t, const char *key, int64_t n); /* these two after another member */
void json_numbers(Text *t, const char *key, const Numbers *list);
void json_shape(Text *t, const Shape *s);
void json_tensor(Text *t, const TensorFacts *x);
void report_json(Text *t, const Facts *f); /* the whole */

/* report_text.c */
void report_text(Text *t, const Facts *f);

/* report_html.c */
void report_html(Text *t, const Facts *f);
