/* probe.h - what probes find out before the model is compiled (probe.c). infer: runs the stages up to inference. */
#pragma once

#include "ir/graph.h"

void find_types(Model *m, void (*infer)(void *));       /* declares the tensors of --from that the model does not */
void find_sizes(const Model *m, void (*infer)(void *)); /* of dimensions that cannot be the N of --all-dims=N */
void find_taps(const Model *m, void (*infer)(void *));  /* which tensors inside of nodes can be outputs, and how */
