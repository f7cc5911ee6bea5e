/* taps.h - tensors inside of branches, of bodies of loops and of functions, as outputs of the model (--tap). */
#pragma once

#include "ir/graph.h"

/* A step into a graph of a node, or into the body of the function that it calls. */
typedef struct TapStep {
    enum { INTO_CALL, INTO_BRANCH, INTO_LOOP, INTO_SCAN, INTO_OTHER } kind;
    Node *node;
    Name attr;      /* of the graph; NULL: a call */
    Function *call; /* the function; NULL: a graph */
    int at;         /* of the node in its graph: how many are before it */
} TapStep;

/* A tensor that a node computes, with the steps to it from the model's graph. */
typedef struct InnerTensor {
    Value *value;
    Name path; /* unique: the nodes' names, branches and the tensor's name, "loop/choose/then/y" */
    int n, at; /* at: of its node */
    TapStep *step;
    Type
        carried; /* if an iteration may change its size, so that the last value is the output: its type; else NO_TYPE */
    int rank;    /* ... and its rank */
    Name out;    /* name of the output */
    Name given;  /* of an output that is true where its branch has run; or NULL */
} InnerTensor;
typedef VEC(InnerTensor) InnerTensors;

InnerTensors inner_tensors(const Model *m); /* in execution order; of a model that is resolved */
int step_dims(const TapStep *s);            /* the dimensions that stacking adds */
Graph *step_graph(const TapStep *s);        /* the graph, or the function's body */
Graph *step_other(const TapStep *s);        /* of a branch: the other one */
/* The tensor that --tap names, by its path or its name; NULL: none, or *count of them have the name. */
InnerTensor *inner_tensor_named(const Model *m, InnerTensors *all, Name tensor, int *count);
/* Is it an output of its function, branch or loop, so that its value is also outside? */
bool is_result(const InnerTensor *t);

void tap_inner(Model *m, const InnerTensor *t); /* makes t an output, unless it is one */
/* After an inference that failed: was a tap refused because an iteration may change its size? The type and rank of its
 * value in an iteration; NO_TYPE: none was. */
Type taps_varying(int *rank);
void taps_check(const Model *m); /* after inference: can these outputs be stacked? */
/* Gives results of n that one branch does not compute, since they are taps in the other, a type. */
void taps_fill(Node *n, Graph *const *branch);
