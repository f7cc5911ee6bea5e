/* bounds.h - sizes that nothing bounds. */
#ifndef ONNXCC_BOUNDS_H
#define ONNXCC_BOUNDS_H

#include "ir/graph.h"

void check_bounds(Model *m); /* reports them, and what to write on the command line */

#endif
