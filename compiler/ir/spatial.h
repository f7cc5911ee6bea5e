/* spatial.h - windows over the spatial axes of an image, for convolutions and pools. */
#pragma once

#include "ir/call.h"

enum { AXES = MAX_RANK - 2 };

/* An image: N,C,spatial... or, if the node is channels last, N,spatial...,C. Up to three spatial axes are right-aligned
 * in the first three elements of size, padded with 1; more axes, which no kernel supports, start at element 0. */
typedef struct Image {
    Dim n, channels, size[AXES], pixels;
    int axes;
} Image;
static inline int image_first(const Image *m) { return m->axes < 3 ? 3 - m->axes : 0; }
static inline int image_end(const Image *m) { return m->axes < 3 ? 3 : m->axes; }
bool image_read(Node *n, int i, Image *m); /* reads input i; false: wrong rank, reported */
/* For more than three axes, after inference: turns n into onnxcc.NAMEInSteps, which is expanded next; true if so. */
bool image_in_steps(Node *n, const Image *m);
/* Copies n's attributes to `to`; of those with a number per axis, only the `count` axes from `from` on. */
void attrs_of_axes(const Node *n, int axes, int from, int count, Node *to);
Shape image_shape(const Node *n, const Image *m, Dim channels, const Dim *size);

/* Windows of `kernel` elements with distance `dilation`; the first one starts at -`pad`, each further one `stride`
 * later. */
typedef struct Windows {
    int64_t kernel[AXES], stride[AXES], dilation[AXES];
    Dim pad[AXES], pad_end[AXES], out[AXES];
    bool padded; /* some window may extend beyond the image */
} Windows;

/* Reads those of kernel_shape (unless `kernel`, of m->axes elements, is given), strides, dilations, pads, auto_pad and
 * ceil_mode that the operator has; false: wrong, reported. */
bool windows_read(Node *n, const Image *m, const int64_t *kernel, Windows *w);

/* The same for a transposed convolution, whose windows are on the output; also reads output_padding and output_shape.
 * padded: a part of the output may need pixels outside of the input. */
bool windows_read_transposed(Node *n, const Image *m, const int64_t *kernel, Windows *w);

/* An attribute with an integer per spatial axis, into these elements of v[AXES]; other elements, and absent ones:
 * `otherwise`. */
bool read_spatial_ints(Node *n, const Image *m, const char *attr, int64_t otherwise, int64_t low, int64_t *v);

/* The attribute pads (all begins, then all ends) into w->pad and w->pad_end; unchanged if it is absent. */
bool read_pads(Node *n, const Image *m, Windows *w);

/* For BIND: .kernel = THREE(w.kernel), .in = DIMS3(m.size) */
#define THREE(a) {D((a)[0]), D((a)[1]), D((a)[2])}
#define DIMS3(a) {(a)[0], (a)[1], (a)[2]}
