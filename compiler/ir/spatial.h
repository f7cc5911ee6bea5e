/* spatial.h - windows that slide over the spatial axes of an image: what Conv and the pools have in common. */
#ifndef ONNXCC_SPATIAL_H
#define ONNXCC_SPATIAL_H

#include "ir/call.h"

enum { AXES = MAX_RANK - 2 };

/* An image: N,C,spatial... or, when the node is channels last, N,spatial...,C. Up to three spatial axes stand at the end of
 * the first three of arrays, those before are 1; more, which kernels do not have, stand from the beginning on. */
typedef struct Image {
    Dim n, channels, size[AXES], pixels;
    int axes;
} Image;
static inline int image_first(const Image *m) { return m->axes < 3 ? 3 - m->axes : 0; }
static inline int image_end(const Image *m) { return m->axes < 3 ? 3 : m->axes; }
bool image_read(Node *n, int i, Image *m); /* input i; false: wrong rank, and reported */
/* More than three axes: n, inferred, becomes an onnxcc.NAMEInSteps, which is expanded next. */
bool image_in_steps(Node *n, const Image *m);
/* n's attributes, those with a number for each of its axes as `count` of these have them, from axis `from` on. */
void attrs_of_axes(const Node *n, int axes, int from, int count, Node *to);
Shape image_shape(const Node *n, const Image *m, Dim channels, const Dim *size);

/* Windows: `kernel` elements, `dilation` apart, the first `pad` before the image, `stride` from one to the next. */
typedef struct Windows {
    int64_t kernel[AXES], stride[AXES], dilation[AXES];
    Dim pad[AXES], pad_end[AXES], out[AXES];
    bool padded; /* some window may stick out of the image */
} Windows;

/* Reads kernel_shape (or takes `kernel`, of m->axes elements, when it is not NULL), strides, dilations, pads, auto_pad and
 * ceil_mode, where the node's operator has them; false: wrong, and reported. */
bool windows_read(Node *n, const Image *m, const int64_t *kernel, Windows *w);

/* The same for windows of the output, which input pixels are spread over: output_padding and output_shape too. padded: some
 * part of the output may need pixels outside of the input. */
bool windows_read_transposed(Node *n, const Image *m, const int64_t *kernel, Windows *w);

/* The image that Col2Im makes, as if it was the input of a convolution whose kernel is one block (ops/col2im.c). */
bool col2im_read(Node *n, Image *m, Windows *w, Dim *block);

/* The attribute of one integer for each spatial axis, where those stand in v[AXES]; elsewhere (and when absent) `otherwise`. */
bool spatial_ints(Node *n, const Image *m, const char *attr, int64_t otherwise, int64_t low, int64_t *v);

/* The attribute pads, all begins and then all ends, into w->pad and w->pad_end, which stay as they are when it is absent. */
bool read_pads(Node *n, const Image *m, Windows *w);

/* For BIND: .kernel = THREE(w.kernel), .in = DIMS3(m.size) */
#define THREE(a) {D((a)[0]), D((a)[1]), D((a)[2])}
#define DIMS3(a) {(a)[0], (a)[1], (a)[2]}

#endif
