/* plan.h - the memory plan: the order of nodes, and the offset of every buffer in the arena. */
#pragma once

#include "ir/graph.h"

void plan_model(Model *m);

typedef struct Plan { /* for emit and report */
    int64_t arena, bound, align;
    int peak_time;
} Plan;
SHARED_PART(Plan, plan)
