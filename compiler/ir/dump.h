/* dump.h - the graph as text; the check of its invariants. */
#pragma once

#include "ir/graph.h"

void dump_model(Model *m, const char *stage);
void verify_model(Model *m, const char *stage); /* in debug builds: bug() if an invariant is broken */
