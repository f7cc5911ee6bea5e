/* check.h - what check.c and check_order.c share. */
#ifndef ONNXCC_CHECK_H
#define ONNXCC_CHECK_H

#include "ir/schema.h"

void check_order(Graph *g); /* with all graphs nested in it */

#endif
