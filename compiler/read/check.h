/* check.h - the interface between check.c and check_order.c. */
#pragma once

#include "ir/schema.h"

void check_order(Graph *g); /* of g and its nested graphs */
