/* check.h - the interface between check.c and check_order.c. */
#ifndef ONNXCC_CHECK_H
#define ONNXCC_CHECK_H

#include "ir/schema.h"

void check_order(Graph *g); /* of g and its nested graphs */

#endif
