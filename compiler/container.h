/* container.h - sequences and optionals. They exist only while a model is compiled: each is made of ordinary tensors, which
 * are all that is left after infer.c.
 *
 * A sequence whose length is known is the list of its elements. One whose length is known at run time only ("open") is
 * three tensors: data, with one slot per element that has room for the largest, its elements in order, from the start of
 * the slot; dims, a row of sizes per element, -1 where it has fewer dimensions than others; and the count of elements.
 * An optional is its element, and a bool that says whether it is there. */
#ifndef ONNXCC_CONTAINER_H
#define ONNXCC_CONTAINER_H

#include "infer.h"

typedef VEC(Value *) Values;

/* What a value is made of, without the tensors themselves. */
typedef struct Box {
    Form form;              /* TENSOR, SEQUENCE or OPTIONAL */
    Type type;              /* of the elements */
    Shape shape;            /* TENSOR */
    VEC(struct Box *) item; /* SEQUENCE that is not open: its elements; OPTIONAL: its element, or none ever */
    bool open;              /* SEQUENCE: its length is known at run time only: */
    int64_t most;           /* how many elements there may be, */
    int rank, least_rank;   /* dimensions of an element; -1: none was ever put in */
    int64_t size[MAX_RANK]; /* the largest ones */
    bool fixed[MAX_RANK];   /* all elements have that size */
} Box;

/* The tensors of a container: those of the elements, or has; or count, dims, data. */
typedef struct Parts {
    Box box;
    Values item;
    Value *has, *count, *dims, *data;
} Parts;

/* What an input or output of the model is in the C interface: some tensors in a row. */
typedef struct Port {
    Name name;
    Box *box;
    int first, n;
} Port;

Box *box_of(const Value *v);
/* What both can become; NULL: nothing (different element types), and that is reported at n. */
Box *box_join(const Node *n, const Box *a, const Box *b);
bool box_same(const Box *a, const Box *b);
int box_count(const Box *b);      /* tensors that it is made of */

Value *sequence_new(Graph *g, Type t, int n, Value *const *item);
Value *sequence_open(Graph *g, const Box *b, Value *count, Value *dims, Value *data);
Value *optional_new(Graph *g, Value *has, Value *item); /* item: NULL, or what it holds when has is true */
/* An open sequence with x put in before place `at` (an int64, or NULL: at the end), as b, which has room for it. */
Value *sequence_insert(Node *n, const Box *b, const Value *seq, Value *x, Value *at);
Box *box_with(const Value *seq, const Value *x);    /* an open sequence that can hold seq and x beside */
Dim sequence_slot(const Box *b);   /* elements of one slot of an open sequence */

/* v made into what b says, by nodes before n. */
Value *container_convert(Node *n, Value *v, const Box *b);
void container_flatten(Value *v, Values *to);               /* its tensors in order */
Value *container_rebuild(Graph *g, const Box *b, Value *const **from); /* the other way round */

/* A node before n, inferred at once. Inputs as with make(). */
Value *infer_made(Node *n, const char *op, int n_in, ...);

void containers_enter(Model *m);    /* inputs of the model become tensors */
void containers_leave(Model *m);    /* outputs do */
int container_ports(bool outputs, const Port **ports); /* what they became, in the model's order */

#endif
