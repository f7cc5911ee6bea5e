/* strided.h - strided copies: how Transpose, Slice, Expand ... are passed to the copy kernel. */
#pragma once

#include "ir/kernel.h"

/* y[to_at + i * to] = x[from_at + i * from] for every i in dim; strides and offsets in elements. */
typedef struct Strided {
    int rank;
    struct StridedAxis {
        Dim dim, from, to;
    } axis[2 * MAX_RANK];
    Dim from_at, to_at;
} Strided;

void shape_strides(Shape s, Dim *stride);                 /* row-major */
void strided_axis(Strided *s, Dim dim, Dim from, Dim to); /* appends an innermost axis */
/* Appends the axes of `list`, whose element for each index of `axis` is one of `data`, by strides of list and of data;
 * returns data's stride along the axis. */
Dim strided_along(Strided *s, Shape list, Shape data, int axis);
/* Merges axes and writes them as a kernel's parameters; from or to may be NULL. Returns their number, at least 1. */
Dim strided_axes(Strided *s, Dim *dim, Dim *from, Dim *to);
void strided_bind(Node *n, Strided s); /* binds a copy of input 0 to output 0 */
