/* container.h - sequences, optionals and maps. They exist only while a model is compiled: each is made of ordinary tensors,
 * which are all that is left after infer.c.
 *
 * A sequence whose length is known is the list of its elements. One whose length is known at run time only ("open") is
 * three tensors: data, with one slot per element that has room for the largest, its elements in order, from the start of
 * the slot; dims, a row of sizes per element, -1 where it has fewer dimensions than others; and the count of elements.
 * An optional is its element, and a bool that says whether it is there. A map is its values and, in the same order, their
 * keys; a sequence of maps that all have the same keys is a row of values for each, and the keys. */
#ifndef ONNXCC_CONTAINER_H
#define ONNXCC_CONTAINER_H

#include "ir/graph.h"

typedef VEC(Value *) Values;

/* What a value is made of, without the tensors themselves. */
typedef struct Box {
    Form form;    /* TENSOR, SEQUENCE, OPTIONAL; MAP: a map, or a sequence of them */
    Type type;    /* of the elements */
    Shape shape;  /* TENSOR */
    int64_t text; /* of strings: text_bound of a TENSOR, of an open SEQUENCE's data */
    /* of a SEQUENCE that is not open: its elements; of an OPTIONAL: its element, or none ever; of a MAP: values, keys */
    VEC(struct Box *) item;
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

Box *box_new(Form form, Type t);
Box *box_of(const Value *v);
Box *box_optional(const Box *item);
Box *box_open(const Box *b); /* a sequence of known length as an open one; others as they are */
/* One more shape that an element of b may have; sizes that are no numbers count with their bounds. */
void box_widen(Box *b, int rank, int least_rank, const int64_t *size, const bool *fixed);
void box_widen_shape(Box *b, Shape s);
/* What both can become; NULL: nothing (different element types), and that is reported at n. */
Box *box_join(const Node *n, const Box *a, const Box *b);
bool box_same(const Box *a, const Box *b);
int box_count(const Box *b); /* tensors that it is made of */

Value *sequence_new(Graph *g, Type t, int n, Value *const *item);
Value *sequence_open(Graph *g, const Box *b, Value *count, Value *dims, Value *data);
Value *map_new(Graph *g, Value *values, Value *keys);   /* values of rank 2: a sequence of maps, a row of each */
Value *optional_new(Graph *g, Value *has, Value *item); /* item: NULL, or what it holds when has is true */
/* An open sequence with x put in before place `at` (an int64, or NULL: at the end), as b, which has room for it. */
Value *sequence_insert(Node *n, const Box *b, const Value *seq, Value *x, Value *at);
Box *box_with(const Value *seq, const Value *x); /* an open sequence that can hold seq and x beside */
Value *optional_item(Node *n, Value *v); /* checked at run time when it is not known; NULL: not there, and reported */
Shape sequence_data(const Box *b);
Shape sequence_dims(const Box *b);
int sequence_width(const Box *b); /* sizes in a row of those dims */
Dim sequence_slot(const Box *b);  /* elements of one slot of an open sequence */

/* v made into what b says, by nodes before n. */
Value *container_convert(Node *n, Value *v, const Box *b);
Value *container_placeholder(Node *n, const Box *b); /* such a value, with nothing in it: an open sequence is empty */
void container_flatten(Value *v, Values *to);        /* its tensors in order */
Value *container_rebuild(Graph *g, const Box *b, Value *const **from); /* the other way round */

/* All inputs of n in the shape that they broadcast to; false: they do not, and that is reported. */
bool infer_same_shapes(Node *n);

/* Of strings: bytes of the longest element of v; INT64_MAX: no bound is known. */
int64_t text_bound(const Value *v);
/* The same of input i; where no bound is known, an error and -1. */
int64_t known_text(Node *n, int i);
/* Makes output i a buffer for the text of new strings: in a loop each iteration has a part of its own, which stays. */
bool text_output(Node *n, int i, Dim bytes);
/* The bounds of this iteration's part of that buffer, which is output 1. */
void text_place(const Node *n, Dim *at, Dim *most);

/* Control flow takes tensors only. Outputs of the nested graph g from `first` on become what box[i] says, as tensors; */
void container_outputs(Graph *g, int first, Box *const *box);
/* so do the results of its node n, of which users see containers as before, or of an optional the item, given[i]; */
void container_results(Node *n, Box *const *box, const bool *given);
/* inputs of g from `first` on; */
void container_inputs(Graph *g, int first, Box *const *box);
/* arguments of n from `first` on. */
void container_arguments(Node *n, int first, Box *const *box);
/* What a value can hold in at most `trips` iterations, if it is `first` at the start of the first one, and `now` and `after`
 * at the start and at the end of the one tried; ONE_ITERATION: after that one. From the second try on, growth of element
 * sizes is extrapolated over all iterations (in the first the sequence may have been empty). NULL: an error at n. */
enum { ONE_ITERATION = -1 };
Box *box_grow(const Node *n, const Box *first, const Box *now, const Box *after, int64_t trips, int tries);
bool box_bounded(const Box *b);      /* false: exceeds the limit */
Box *box_empty(const Box *elements); /* a sequence of none of these */

void containers_enter(Model *m);                       /* inputs of the model become tensors */
void containers_leave(Model *m);                       /* outputs do */
int container_ports(bool outputs, const Port **ports); /* what they became, in the model's order */
/* What size k of every element of an input may be; false: it has none. */
bool element_limits(const Port *port, int k, int64_t *least, int64_t *most);
const Box *port_sequence(const Port *port);     /* an open sequence, by itself or as an optional; or NULL */
const char *container_note(bool output, int i); /* what the i-th input or output is a part of; "" for plain tensors */

#endif
