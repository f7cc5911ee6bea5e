/* order.h - the order in which a training model's new values are computed. */
#pragma once

#include "ir/graph.h"

void order_updates(Model *m);
