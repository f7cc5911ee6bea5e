/* trace.h - executes the file's public functions on sets of values, every call anew, so that each expression's values
 * are those of the calls and loops that there are. Loops are executed a few times, then with all values that their
 * variables can have. More precise than analyse.c, which is asked where a value is not followed: those of globals, of
 * the caller's and of arrays that are too large. */
#pragma once

#include "plain/state.h"
#include "plain/syntax.h"

enum {
    KNOWN_MAX = 8,          /* calls of a function whose results are kept */
    CELLS_MAX = 256,        /* of a variable that is followed */
    UNROLLED_MAX = 8,       /* iterations that are executed one by one */
    NESTED_MAX = 32,        /* ... with those of the loops around */
    STEPS_MAX = 5000000,    /* expressions evaluated; beyond, only analyse.c's values are used */
    STEPS_PRECISE = 4000000 /* then no loop is unrolled any more */
};

typedef struct Enclosing { /* a loop or switch around the present point */
    Mark mark, iteration;
    Paths breaks, continues;
    bool is_switch;
    struct Enclosing *around;
} Enclosing;
typedef struct Activation {
    CFunction *function;
    Mark mark;
    Paths returns;
    struct Activation *caller;
} Activation;
typedef struct Trace {
    bool live; /* is the present point reached? */
    bool gives_up, is_done;
    int64_t steps;
    int nested; /* the present product of iterations that are executed one by one */
    Enclosing *loop;
    Activation *call;
    Content (*eval)(Syntax *e); /* for trace_place.c */
    void (*execute)(Syntax *n); /* for trace.c */
} Trace;
SHARED_PART(Trace, trace)

/* ---- trace_place.c: where values are ----------------------------------------------------------------------------- */

Object *object_of(Var *v); /* NULL: it is not followed */
Place whole(Object *o);
int rank(const Syntax *e);                   /* of an array: how many indices select an element */
int cells_of_type(TypeOf t);                 /* 0: not followed */
Place moved(Place p, ValueSet by, int size); /* by some of `by` times `size` cells */
Place place_of(Syntax *e);                   /* of a variable, field or element */
TypeOf type_of_element(const Var *v);
Content as_type(Content v, TypeOf to, TypeOf from);
void store(Place p, Content v, TypeOf to, const Syntax *e); /* a value of e's type, at a place of type `to` */
void declare(Var *v, Syntax *value);

/* ---- trace.c: conditions, expressions and calls ------------------------------------------------------------------ */

bool is_simple(Syntax *e);       /* can e be evaluated again, at little cost? */
void assume(Syntax *e, bool is); /* execution goes on only where the truth of e is `is` */
void join_paths(Paths *paths, Mark m);
TypeOf type_of_result(const CFunction *f);
Content eval(Syntax *e);
Content call(CFunction *f, const Content *arguments, const Syntax *e); /* e: NULL: by the caller of a public function */
