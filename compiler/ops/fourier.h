/* fourier.h - the sizes of onnxcc.Fourier, in the order of its input of integers. */
#pragma once

enum { OUTER, INNER, COUNT, LENGTH, BINS, FROM, TO = FROM + 3, FOURIER_DIMS = TO + 3 };
