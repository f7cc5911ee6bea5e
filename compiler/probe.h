/* probe.h - what runs of their own find out before the model is compiled. infer: runs the stages up to inference. */
#pragma once

#include "ir/graph.h"

void find_types(Model *m, void (*infer)(void *));       /* declares the tensors of --from that the model does not */
void find_sizes(const Model *m, void (*infer)(void *)); /* for dimensions that cannot be the N of --all-dims=N */
void find_taps(const Model *m, void (*infer)(void *));  /* of the taps inside of nodes, which can be outputs, and how */
