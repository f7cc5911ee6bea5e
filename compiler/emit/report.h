/* report.h - what a model needs, and what is supported. */
#ifndef ONNXCC_REPORT_H
#define ONNXCC_REPORT_H

#include "ir/graph.h"

void report_model(Model *m);     /* for people, and --report=json */
void list_ops(const char *form); /* the support table as text, markdown or json */

#endif
