/* fourier.h - the sizes of onnxcc.Fourier, in the order of its input of integers. */
#ifndef ONNXCC_OPS_FOURIER_H
#define ONNXCC_OPS_FOURIER_H

enum { OUTER, INNER, COUNT, LENGTH, BINS, FROM, TO = FROM + 3, FOURIER_DIMS = TO + 3 };

#endif
