/* state.h - states (--state): inputs of the model that keep the value of an output between runs, in a block that the
 * caller places. They are no parameters of the C function. */
#pragma once

#include "ir/graph.h"

typedef struct KeptState {
    Value *in;
    Name out;    /* the output that it keeps */
    Value *slot; /* its storage in the block, for the input at the upper bounds of its sizes */
    Node *copy;  /* stores the output there */
    int axis;    /* the one along which it grows; -1: none, or several */
} KeptState;

typedef struct KeptSize { /* a size of a state */
    Symbol *symbol;
    Dim next;   /* what it is after a run */
    bool given; /* the caller passes it, the same in every run until the reset; otherwise only the block has it */
} KeptSize;

typedef struct States {
    VEC(KeptState) at;
    VEC(KeptSize) sizes;
    int64_t first, bytes; /* of the block: where the slots begin, and its end */
} States;
SHARED_PART(States, states)

void pair_states(Model *m);                 /* by the options */
const KeptSize *kept_size(const Symbol *s); /* NULL: it is no size of a state */
bool is_given(Dim d);                       /* known when a run begins? */
