/* bounds.h - sizes without an upper bound. */
#ifndef ONNXCC_BOUNDS_H
#define ONNXCC_BOUNDS_H

#include "ir/graph.h"

void check_bounds(Model *m); /* reports them, with the options that bound them */

#endif
