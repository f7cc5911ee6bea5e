/* container.h - sequences, optionals and maps. They exist only until infer.c: it replaces each by its components,
 * which are ordinary tensors.
 *
 * A sequence of known length is the list of its elements. One whose length is known only at run time ("open") is
 * three tensors: data, with a slot per element that has room for the largest one and is filled from its start; dims,
 * a row of sizes per element, with -1 where it has fewer dimensions than others; and the count of elements. An
 * optional is its element, and a bool: is it present? A map is its values and, in the same order, their keys; a
 * sequence of maps with the same keys is a row of values for each map, and the keys. */
#pragma once

#include "ir/data.h"

typedef VEC(Value *) Values;

/* The type of a container or of a tensor in one, as inferred: with the lengths, bounds and parts that a declared type
 * (TypeDesc) lacks. In names: ctype. */
typedef struct ContainerType {
    Form form;    /* TENSOR, SEQUENCE, OPTIONAL; MAP: a map, or a sequence of them */
    Type type;    /* of the elements */
    Shape shape;  /* TENSOR */
    int64_t text; /* strings: text_bound of a TENSOR or of an open SEQUENCE's data */
    /* of a SEQUENCE that is not open: its elements; of an OPTIONAL: its element, or none if always absent; of a MAP:
     * values, keys */
    VEC(struct ContainerType *) item;
    bool open;              /* SEQUENCE: its length is known only at run time: */
    int64_t max_count;      /* upper bound of the length */
    int rank, min_rank;     /* bounds of the elements' ranks; -1: always empty */
    int64_t size[MAX_RANK]; /* largest sizes */
    bool fixed[MAX_RANK];   /* all elements have this size */
} ContainerType;

/* The components of a container: its elements in `item`, with `has` of an optional; or count, dims, data of an open
 * sequence. */
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
    Form declared; /* as what the model has it: a file's form */
} InterfaceGroup;

ContainerType *ctype_new(Form form, Type t);
ContainerType *ctype_copy(const ContainerType *b);
ContainerType *ctype_of(const Value *v);
ContainerType *ctype_optional(const ContainerType *item);
ContainerType *
ctype_open(const ContainerType *b); /* converts a sequence of known length to an open one; others are unchanged */
/* Extends b to elements of another shape; symbolic sizes count by their bounds. */
void ctype_widen(ContainerType *b, int rank, int min_rank, const int64_t *size, const bool *fixed);
void ctype_widen_shape(ContainerType *b, Shape s);
/* The common type that both can be converted to; NULL: the element types differ, reported at n. */
ContainerType *ctype_join(const Node *n, const ContainerType *a, const ContainerType *b);
bool ctype_is_same(const ContainerType *a, const ContainerType *b);
int ctype_count(const ContainerType *b); /* number of components */

Value *sequence_new(Graph *g, Type t, int n, Value *const *item);
Value *sequence_open(Graph *g, const ContainerType *b, Value *count, Value *dims, Value *data);
Value *map_new(Graph *g, Value *values, Value *keys);   /* values of rank 2: a sequence of maps, a row per map */
Value *optional_new(Graph *g, Value *has, Value *item); /* item: NULL, or the element if `has` is true */
/* An open sequence with x inserted before position `at` (an int64; NULL: at the end), of type b, which has room for
 * it. */
Value *sequence_insert(Node *n, const ContainerType *b, const Value *seq, Value *x, Value *at);
ContainerType *ctype_with(const Value *seq, const Value *x); /* an open sequence with room for seq and x */
Value *optional_item(Node *n,
                     Value *v); /* its element, with a check at run time unless known; NULL: absent, reported */
Shape sequence_data(const ContainerType *b);
Shape sequence_dims(const ContainerType *b);
int sequence_width(const ContainerType *b); /* length of a row of dims */
Dim sequence_slot(const ContainerType *b);  /* elements per slot of an open sequence */

/* v converted to type b, by nodes before n. */
Value *container_convert(Node *n, Value *v, const ContainerType *b);
Value *container_placeholder(Node *n,
                             const ContainerType *b); /* an arbitrary value of the type; an open sequence is empty */
void container_flatten(Value *v, Values *to);         /* appends its components in order */
Value *container_rebuild(Graph *g, const ContainerType *b, Value *const **from); /* the inverse; advances *from */

/* For strings: upper bound of an element's bytes; INT64_MAX: none. */
int64_t text_bound(const Value *v);

/* Control flow passes only tensors. These replace containers by their components: in the outputs of the nested graph g
 * from `first` on, as ctype[i]; */
void container_outputs(Graph *g, int first, ContainerType *const *ctype);
/* in the results of its node n, whose uses then read rebuilt containers, or, if given[i], an optional's element; */
void container_results(Node *n, ContainerType *const *ctype, const bool *given);
/* in the inputs of g from `first` on; */
void container_inputs(Graph *g, int first, ContainerType *const *ctype);
/* in the arguments of n from `first` on. */
void container_arguments(Node *n, int first, ContainerType *const *ctype);
/* The type of a loop's state that has room for `trips` iterations (ONE_ITERATION: only for the simulated one). first:
 * the type before the loop; now, after: before and after the simulated iteration. From the second try on, the growth of
 * element sizes is extrapolated over all iterations (before, the sequence may have been empty). NULL: an error,
 * reported at n. */
enum { ONE_ITERATION = -1 };
ContainerType *ctype_grow(const Node *n, const ContainerType *first, const ContainerType *now,
                          const ContainerType *after, int64_t trips, int tries);
bool ctype_is_bounded(const ContainerType *b);             /* false: a size exceeds the limit */
ContainerType *ctype_empty(const ContainerType *elements); /* an empty sequence of the type */

void containers_enter(Model *m);                                   /* inputs of the model become tensors */
void containers_leave(Model *m);                                   /* outputs of the model become tensors */
int interface_groups(bool outputs, const InterfaceGroup **groups); /* in the model's order */
bool interface_is_tensor(bool output, Name n); /* a tensor by itself, rather than a part of a container? */
void container_drop_output(int i);             /* output i is none any more: those after it move up */
/* The bounds of dimension k of an input's elements; false: no element has this dimension. */
bool find_element_limits(const InterfaceGroup *group, int k, int64_t *min, int64_t *max);
const ContainerType *
group_sequence(const InterfaceGroup *group); /* the open sequence, which may be in an optional; or NULL */
const char *container_note(bool output,
                           int i); /* for the header: the role of input or output i in its container; "": none */

/* container_data.c: data as the tensors of the C interface. */
/* Appends the tensors in which the C takes an input; ends the session if it does not fit the type. */
void data_components(const Data *d, const ContainerType *b, const char *input, Tensors *to);
Data data_of_components(const ContainerType *b, Tensor *const **part); /* of results; advances *part */
