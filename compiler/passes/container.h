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

/* The type of a container, or of a tensor in one: what it is made of. In names: ctype. */
typedef struct ContainerType {
    Form form;    /* TENSOR, SEQUENCE, OPTIONAL; MAP: a map, or a sequence of them */
    Type type;    /* of the elements */
    Shape shape;  /* TENSOR */
    int64_t text; /* of strings: text_bound of a TENSOR, of an open SEQUENCE's data */
    /* of a SEQUENCE that is not open: its elements; of an OPTIONAL: its element, or none ever; of a MAP: values, keys */
    VEC(struct ContainerType *) item;
    bool open;              /* SEQUENCE: its length is known at run time only: */
    int64_t max_count;      /* how many elements there may be, */
    int rank, min_rank;     /* dimensions of an element; -1: none was ever put in */
    int64_t size[MAX_RANK]; /* the largest ones */
    bool fixed[MAX_RANK];   /* all elements have that size */
} ContainerType;

/* The tensors that a container is made of: those of the elements, or has; or count, dims, data. */
typedef struct Components {
    ContainerType ctype;
    Values item;
    Value *has, *count, *dims, *data;
} Components;

/* An input or output of the model in the C interface: tensors [first, first + n). */
typedef struct InterfaceGroup {
    Name name;
    ContainerType *ctype;
    int first, n;
} InterfaceGroup;

ContainerType *ctype_new(Form form, Type t);
ContainerType *ctype_of(const Value *v);
ContainerType *ctype_optional(const ContainerType *item);
ContainerType *ctype_open(const ContainerType *b); /* a sequence of known length as an open one; others as they are */
/* Elements of b may have one more shape; symbolic sizes count with their bounds. */
void ctype_widen(ContainerType *b, int rank, int min_rank, const int64_t *size, const bool *fixed);
void ctype_widen_shape(ContainerType *b, Shape s);
/* The type that both can become; NULL: an error at n, since their element types differ. */
ContainerType *ctype_join(const Node *n, const ContainerType *a, const ContainerType *b);
bool ctype_same(const ContainerType *a, const ContainerType *b);
int ctype_count(const ContainerType *b); /* tensors that it is made of */

Value *sequence_new(Graph *g, Type t, int n, Value *const *item);
Value *sequence_open(Graph *g, const ContainerType *b, Value *count, Value *dims, Value *data);
Value *map_new(Graph *g, Value *values, Value *keys);   /* values of rank 2: a sequence of maps, a row of each */
Value *optional_new(Graph *g, Value *has, Value *item); /* item: NULL, or what it holds when has is true */
/* An open sequence with x put in before place `at` (an int64, or NULL: at the end), as b, which has room for it. */
Value *sequence_insert(Node *n, const ContainerType *b, const Value *seq, Value *x, Value *at);
ContainerType *ctype_with(const Value *seq, const Value *x); /* an open sequence that can hold seq and x beside */
Value *optional_item(Node *n, Value *v); /* checked at run time when it is not known; NULL: not there, and reported */
Shape sequence_data(const ContainerType *b);
Shape sequence_dims(const ContainerType *b);
int sequence_width(const ContainerType *b); /* sizes in a row of those dims */
Dim sequence_slot(const ContainerType *b);  /* elements of one slot of an open sequence */

/* v converted to type b, by nodes before n. */
Value *container_convert(Node *n, Value *v, const ContainerType *b);
Value *container_placeholder(Node *n, const ContainerType *b); /* some value of that type; an open sequence is empty */
void container_flatten(Value *v, Values *to);                  /* its tensors in order */
Value *container_rebuild(Graph *g, const ContainerType *b, Value *const **from); /* the other way round */

/* All inputs of n in the shape that they broadcast to; false: they do not, and that is reported. */
bool infer_same_shapes(Node *n);

/* Of strings: bytes of the longest element of v; INT64_MAX: no bound is known. */
int64_t text_bound(const Value *v);
/* The same of input i; where no bound is known, an error and -1. */
int64_t known_text(Node *n, int i);
/* Makes output i a buffer for the text of new strings: in a loop each iteration has a part of its own, which stays. */
bool text_output(Node *n, int i, Dim bytes);
/* The bounds of this iteration's part of that buffer, which is output 1. */
void text_place(const Node *n, Dim *at, Dim *max);

/* Control flow takes tensors only. Outputs of the nested graph g from `first` on become the components of ctype[i]; */
void container_outputs(Graph *g, int first, ContainerType *const *ctype);
/* so do the results of its node n, whose users still read containers, or, where given[i], an optional's item; */
void container_results(Node *n, ContainerType *const *ctype, const bool *given);
/* inputs of g from `first` on; */
void container_inputs(Graph *g, int first, ContainerType *const *ctype);
/* arguments of n from `first` on. */
void container_arguments(Node *n, int first, ContainerType *const *ctype);
/* What a value can hold in at most `trips` iterations, if it is `first` at the start of the first one, and `now` and `after`
 * at the start and at the end of the one tried; ONE_ITERATION: after that one. From the second try on, growth of element
 * sizes is extrapolated over all iterations (in the first the sequence may have been empty). NULL: an error at n. */
enum { ONE_ITERATION = -1 };
ContainerType *ctype_grow(const Node *n, const ContainerType *first, const ContainerType *now,
                          const ContainerType *after, int64_t trips, int tries);
bool ctype_is_bounded(const ContainerType *b);             /* false: exceeds the limit */
ContainerType *ctype_empty(const ContainerType *elements); /* a sequence of none of these */

void containers_enter(Model *m);                                   /* inputs of the model become tensors */
void containers_leave(Model *m);                                   /* outputs do */
int interface_groups(bool outputs, const InterfaceGroup **groups); /* in the model's order */
/* The bounds of size k of each element of an input; false: it has no such size. */
bool element_limits(const InterfaceGroup *group, int k, int64_t *min, int64_t *max);
const ContainerType *
group_sequence(const InterfaceGroup *group);    /* an open sequence, by itself or as an optional; or NULL */
const char *container_note(bool output, int i); /* what the i-th input or output is a part of; "" for plain tensors */

#endif
