/* data.h - inputs and results of a run: tensors, and sequences, optionals and maps of them. */
#pragma once

#include "ir/graph.h"
#include "ir/tensor.h"

typedef VEC(Tensor *) Tensors;
typedef struct Data {
    Form form;         /* TENSOR, SEQUENCE, OPTIONAL or MAP */
    Tensor *t;         /* TENSOR */
    int n;             /* of the others: how many items; of an OPTIONAL that is absent 0 */
    struct Data *item; /* of a MAP: its values and its keys, two tensors; n == 0: it is empty */
} Data;

Data data_tensor(const Tensor *t);
Data data_of_items(Form form, int n);     /* its items are set by the caller */
const char *tensor_text(const Tensor *t); /* "float [2,3]" */
const char *data_text(const Data *d);     /* "sequence of 2: float [1,4], float [2,4]" */
Data data_by_keys(const Data *map);       /* the same map, ordered by its keys */
