/* loop.h - elementwise loops: one pass over a broadcast index space, a few scalar functions per element. */
#pragma once

#include "ir/call.h"

#define LOOP_IN 16
#define LOOP_OUT 4

/* One step of a loop: a scalar function of runtime-min/scalar.def ("add"), a conversion ("to") or a literal. */
typedef struct Step {
    const char *fn; /* NULL: a literal */
    Type a : 8;     /* arithmetic type of its (last) argument */
    Type type : 8;  /* type of the result, which is rounded to it */
    int n_arg : 8;
    int arg[4]; /* >= 0: a step's result; < 0: input ~arg */
    double f;   /* the literal, for float types */
    int64_t i;  /* ... for integers */
} Step;

struct Loop {
    const Shape *shape; /* index space: the outputs' shape */
    int n_in, n_out;
    Value **in;
    Value *out[LOOP_OUT];
    int out_step[LOOP_OUT]; /* < 0: a copy of input ~out_step, of the same type */
    VEC(Step) steps;
};

Loop *loop_new(Shape s);
void loop_free(Loop *l);        /* frees a loop that no node uses */
int loop_in(Loop *l, Value *v); /* v as an argument of steps: an input, or a literal if v is one constant number */
int loop_literal(Loop *l, Type type, double f, int64_t i);
/* The step's number. The arguments are evaluated in order, as those of make. */
#define loop_step(l, fn, a, type, n_arg, ...) loop_step_list(l, fn, a, type, n_arg, (int[4]){__VA_ARGS__})
int loop_step_list(Loop *l, const char *fn, Type a, Type type, int n_arg, const int *arg);
int loop_convert(Loop *l, int arg, Type type); /* arg converted as by Cast; arg itself if it has the type */
void loop_out(Loop *l, int step, Value *v);
const char *loop_function(const Step *s); /* "add", "cast_i32": without the suffix of the argument's type */
bool loop_reads(const Loop *l, int in);   /* is it an argument of a step? A copy to an output is none */
Type copy_type(Type t);                   /* the type whose copies preserve all bits of type t */
bool step_rounds(const Step *s);          /* must its result be rounded to s->type? */
void bind_loop(Node *n, Loop *l);

/* Binds an elementwise node to a scalar function of its inputs, followed by literals of a float type. The result has
 * the type of output 0. */
void bind_map(Node *n, const char *fn, int n_literal, const double *literal);

/* The index space with as few dimensions as possible. Strides are in elements, by the placement of each value; 0:
 * broadcast. */
typedef struct LoopDims {
    int rank;
    Dim dim[MAX_RANK], stride[LOOP_IN + LOOP_OUT][MAX_RANK]; /* inputs, then outputs */
} LoopDims;
void loop_dims(const Loop *l, LoopDims *d);

/* Runs the loop inside the compiler, with the same bits as the emitted one. Pointers in the order of in[] and out[]. */
void loop_run(const Loop *l, const void *const *in, void *const *out);
