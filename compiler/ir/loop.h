/* loop.h - elementwise loops: one pass over a broadcast index space, a few scalar functions per element. */
#ifndef ONNXCC_LOOP_H
#define ONNXCC_LOOP_H

#include "ir/call.h"

#define LOOP_IN 16
#define LOOP_OUT 4

/* One scalar function of a loop: "add" of runtime-min/scalar.def, or "to" (conversion), or a literal. */
typedef struct Step {
    const char *fn; /* NULL: a literal */
    Type a : 8;     /* arithmetic type of its (last) argument */
    Type type : 8;  /* of the result, which is rounded to it */
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
void loop_free(Loop *l);        /* one that no node has any more */
int loop_in(Loop *l, Value *v); /* an argument for steps: an input, or a literal when v is one constant number */
int loop_literal(Loop *l, Type type, double f, int64_t i);
/* ints: arguments, evaluated in this order (as those of make); a step's number */
#define loop_step(l, fn, a, type, n_arg, ...) loop_step_list(l, fn, a, type, n_arg, (int[4]){__VA_ARGS__})
int loop_step_list(Loop *l, const char *fn, Type a, Type type, int n_arg, const int *arg);
int loop_convert(Loop *l, int arg, Type type); /* arg as `type` (Cast's rule); itself when it is already */
void loop_out(Loop *l, int step, Value *v);
const char *loop_function(const Step *s); /* "add", "to_i32": without the argument type's suffix */
bool loop_reads(const Loop *l, int in);   /* does a step read it? A copy alone does not */
Type copy_type(Type t);                   /* what copies elements of type t, every bit of them */
bool step_rounds(const Step *s);          /* its result still has to be rounded to s->type */
void bind_loop(Node *n, Loop *l);

/* Binds an elementwise node to a scalar function: its inputs, then the literals, which are of a float type; the result has output 0's type. */
void bind_map(Node *n, const char *fn, int n_literal, const double *literal);

/* The index space with as few dimensions as possible. Strides in elements; 0: broadcast. As the values lie in memory: in
 * rows that are apart, perhaps. */
typedef struct LoopDims {
    int rank;
    Dim dim[MAX_RANK], stride[LOOP_IN + LOOP_OUT][MAX_RANK]; /* inputs, then outputs */
} LoopDims;
void loop_dims(const Loop *l, LoopDims *d);

/* Runs it on the host, with the bits that the emitted loop gives. Pointers in the order of in[], out[]. */
void loop_run(const Loop *l, const void *const *in, void *const *out);

#endif
