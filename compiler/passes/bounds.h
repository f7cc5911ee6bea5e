/* bounds.h - sizes without an upper bound. */
#pragma once

#include "ir/graph.h"

void check_bounds(Model *m); /* reports them, with the options that bound them */
