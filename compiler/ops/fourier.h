/* fourier.h - what a node onnxcc.Fourier transforms, in the order of the integers that it takes. */
#ifndef ONNXCC_OPS_FOURIER_H
#define ONNXCC_OPS_FOURIER_H

enum { OUTER, INNER, COUNT, LENGTH, BINS, FROM, TO = FROM + 3, FOURIER_DIMS = TO + 3 };

#endif
